"""Compares two tokenizers, objects of other libraries among them; each runs as it is."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ..arguments import TEXTS, one_of, several
from ..errors import ArgumentError
from ..proof.prove import SCOPES
from ..proof.stage import Scope
from ..special import checked
from .comparison import compare
from .opening import open_any
from .report import Report


def parity(
    a: object,
    b: object,
    texts: Iterable[str] | None = None,
    *,
    scope: Scope = "all",
    proof: bool = True,
    preset_a: str | None = None,
    preset_b: str | None = None,
) -> Report:
    """Holds two tokenizers against each other, each run by its own library.

    A file runs in the engine of its format, a live object as it is, and a
    :class:`.Tokenizer` in whatever encodes for it.

    Args:
        a: a source as :func:`bpe_interop.load` takes it, a lock file, a ``Tokenizer``, or an
            object of tiktoken, tokenizers, sentencepiece or transformers.
        b: the other one.
        texts: what to compare on; None for the awkward texts of both.
        scope: what counts, as in :func:`bpe_interop.verify`.
        proof: whether to decide, too, whether they are equal on every text.
        preset_a: says what ``a``, a path or a name, leaves unsaid, as :func:`bpe_interop.load`
            takes it.
        preset_b: the same for ``b``.

    Raises:
        ArgumentError: a preset is given for an object or a lock file (also ValueError).
        TypeError: an object is none of these; ``texts`` are one text, or hold no text.
        BpeInteropError: a source cannot be read.
    """
    one_of(scope, SCOPES, "scope")
    if texts is not None:
        texts = map(checked, several(texts, "texts", TEXTS))
    for letter, source, preset in (("a", a, preset_a), ("b", b, preset_b)):
        if preset is not None and not isinstance(source, (str, Path)):
            raise ArgumentError(
                f"preset_{letter} is for a path or a name, not for a {type(source).__name__}",
                fix="leave it out, or load the tokenizer with bpe_interop.load(..., preset=...)",
            )
    report = compare(open_any(a, preset_a), open_any(b, preset_b), scope, texts, proof=proof)
    if report.interrupted:  # a test that was interrupted has not passed
        raise KeyboardInterrupt
    return report
