"""A plugin for pytest: two tokenizers give the same ids, or the test fails with a text.

pytest loads this module in every run of everyone who installs the library, so it imports
nothing but what pytest has imported anyway; the rest is imported when a tokenizer is compared.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, Protocol

import pytest

if TYPE_CHECKING:
    from .compare import Report, Scope

Required = Literal["tested", "proved"]

_SCOPES = ("all", "ordinary", "text")
_REQUIRED = ("tested", "proved")


class Parity(Protocol):
    """What the fixture ``tokenizer_parity`` gives: :func:`assert_parity` with a run's settings."""

    def __call__(
        self,
        a: object,
        b: object,
        texts: Iterable[str] | None = None,
        *,
        scope: Scope | None = None,
        require: Required | None = None,
        metadata: bool = False,
        preset_a: str | None = None,
        preset_b: str | None = None,
    ) -> Report:
        """See :func:`assert_parity`; None is what the ini file says."""
        ...


def pytest_addoption(parser: pytest.Parser) -> None:
    """Settings of the fixture, for the ini file."""
    parser.addini(
        "tokenizer_parity_scope",
        "what tokenizer_parity compares: all, ordinary or text",
        None,
        "all",
    )
    parser.addini(
        "tokenizer_parity_require",
        "what tokenizer_parity accepts: tested or proved",
        None,
        "tested",
    )


@pytest.fixture(scope="session")
def tokenizer_parity(pytestconfig: pytest.Config) -> Parity:
    """Asserts that two tokenizers give the same ids, as the ini file's settings say."""
    scope = _setting(pytestconfig, "tokenizer_parity_scope", _SCOPES)
    require = _setting(pytestconfig, "tokenizer_parity_require", _REQUIRED)
    usual = {"scope": scope, "require": require}

    def assert_usual_parity(
        a: object, b: object, texts: Iterable[str] | None = None, **given: Any
    ) -> Report:
        __tracebackhide__ = True
        said = {name: value for name, value in given.items() if value is not None}
        return assert_parity(a, b, texts, **(usual | said))

    return assert_usual_parity


def _setting(config: pytest.Config, name: str, known: tuple[str, ...]) -> str:
    value = str(config.getini(name))
    if value not in known:
        raise pytest.UsageError(f"{name} is {value!r}; expected one of {', '.join(known)}")
    return value


def assert_parity(
    a: object,
    b: object,
    texts: Iterable[str] | None = None,
    *,
    scope: Scope = "all",
    require: Required = "tested",
    metadata: bool = False,
    preset_a: str | None = None,
    preset_b: str | None = None,
) -> Report:
    """Asserts that two tokenizers give the same ids.

    Args:
        a: a path, ``tiktoken:NAME``, ``hf:org/name``, a lock file, a ``bpe_interop.Tokenizer``,
            or an object of tiktoken, tokenizers, sentencepiece or transformers. A file runs in
            its format's own library, an object as it is.
        b: the other one.
        texts: compare on these; each must have ids on both sides. None: on awkward texts, and
            decide whether the two are equal on every text.
        scope: ``"all"``; ``"ordinary"`` (special strings are text); ``"text"`` (no added token
            matches).
        require: ``"proved"`` asks for a proof that covers every text of the scope, whatever
            ``texts`` are; ``"tested"`` for no difference.
        metadata: whether the metadata must be the same, too: roles of tokens, the chat template,
            truncation and padding, and what loaders read.
        preset_a: says what ``a``, a path or a name, leaves unsaid: the special tokens of a rank
            file, for example.
        preset_b: the same for ``b``.

    Returns:
        What was found.

    Raises:
        AssertionError: they differ, with a text that shows it; or what is required was not
            established.
        ArgumentError: ``scope`` or ``require`` is none of these, ``texts`` are none, or a preset
            is given for an object (also ValueError).
        TypeError: an object is no tokenizer; ``texts`` are one text.
        BpeInteropError: a source cannot be read, or does not say what is needed to encode.
    """
    __tracebackhide__ = True
    from .arguments import TEXTS, one_of, several
    from .compare import parity
    from .errors import ArgumentError

    one_of(scope, _SCOPES, "scope")
    one_of(require, _REQUIRED, "require")
    listed = None if texts is None else list(several(texts, "texts", TEXTS))
    if listed == []:
        raise ArgumentError("texts are empty", fix="leave texts out, for awkward texts of ours")
    report = parity(
        a,
        b,
        listed,
        scope=scope,
        proof=listed is None or require == "proved" or metadata,
        preset_a=preset_a,
        preset_b=preset_b,
    )
    reasons = _unmet(report, require, metadata, len(listed or ()))
    if reasons or report.verdict in ("different", "unknown"):
        from .compare.sentences import report_lines
        from .text.visible import as_text

        raise AssertionError(as_text(report_lines(report, reasons)))
    return report


def _unmet(report: Report, require: Required, metadata: bool, given: int) -> tuple[str, ...]:
    """Why a verdict of equality is not accepted. Of ``given`` texts all must be compared."""
    from .compare.sentences import unmet

    reasons = unmet(report, require, metadata=metadata)
    if report.verdict != "different" and (report.compared < given or (given and report.failures)):
        times = f"{len(report.failures):,} times a side failed"
        return (f"{report.compared:,} of {given:,} texts compared; {times}", *reasons)
    return reasons
