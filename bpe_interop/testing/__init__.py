"""For authors of formats: the laws that every format keeps, and tiny tokenizers to try it on.

A package brings a format by an entry point in the group ``bpe_interop.formats``; its tests then
need no clone::

    from bpe_interop.testing import check_format

    def test_it() -> None:
        assert check_format(FORMAT, "tests/tokenizers").compared["huggingface"] > 0
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..formats import Format, all_formats, by_name
from ..formats.losses import EMPTY
from ..model import Affixes, Fallback
from . import laws
from .laws import BrokenError, LawCase, LawSource
from .tiny import tiny_tokenizers

__all__ = [
    "BrokenError",
    "LawCase",
    "LawSource",
    "LawsHeld",
    "check_format",
    "laws",
    "tiny_tokenizers",
]


@dataclass(frozen=True)
class LawsHeld:
    """What was checked by the laws.

    Attributes:
        sources: the names of the format's own tokenizers.
        compared: for each other format, how many conversions from or to it had their ids compared.
        refused: the names of the tiny tokenizers that the format cannot hold, and what it loses.
    """

    sources: tuple[str, ...]
    compared: Mapping[str, int]
    refused: Mapping[str, tuple[str, ...]]


def check_format(format: Format, folder: str | Path | None = None) -> LawsHeld:
    """Holds a format to the laws: on its own files, on tiny tokenizers, and with other formats.

    Its reader takes damaged files with a model or an error of ours; what it reads it writes
    without a loss, and writing changes nothing; what it wrote and read is written with the same
    bytes; ids, decoded texts, special tokens and templates are those of its engine wherever nothing
    is lost that they depend on; what it says that it holds (``Format.holds``) it holds of one
    tokenizer at least, where it has files of its own; no other format claims these.

    Args:
        format: the format; it need not be installed.
        folder: tokenizers of the format: each file, or the files of each folder, is one. None for
            the tiny ones alone.

    Raises:
        BrokenError: a law does not hold; the message says for which files, and how.
    """
    rows = [row for row in all_formats() if row.name != format.name]
    own = list(_sources(format, Path(folder))) if folder is not None else []
    laws.need(own or folder is None, f"{folder}: there is no tokenizer")
    json = by_name("huggingface")
    tiny = [LawSource(name, json, files) for name, files in tiny_tokenizers().items()]
    for source in own:
        with _named(source.label):
            claimed = [row.name for row in rows if row.sniff(source.files)]
            laws.need(not claimed, f"recognised as {claimed}")
            laws.home(source)
            laws.run_alike(source)
            laws.well_mannered(source)
            laws.sniffs_calmly(source, [format, *rows])
    cases = [LawCase(source, format) for source in (*own, *tiny)]
    if own:
        _holds(format, cases)
    cases += [LawCase(source, row) for source in own for row in rows]
    compared: Counter[str] = Counter()
    refused: dict[str, tuple[str, ...]] = {}
    for case in cases:
        with _named(case.label):
            if case.writable:
                laws.stable(case)
            if laws.comparable(case):
                laws.same_ids(case)
                compared[(case.target if case.source in own else json).name] += 1
            elif case.source in tiny:
                refused[case.source.name] = tuple(loss.field for loss in case.trip.losses)
    again = _sources(format, Path(folder)) if folder is not None else ()
    for source, fresh in zip(own, again, strict=True):
        with _named(source.label):
            laws.untouched(source, fresh)
    return LawsHeld(tuple(source.name for source in own), compared, refused)


_PLAIN = {
    **EMPTY,
    "affixes": Affixes(),
    "fallback": Fallback(),
    "lookup_first": False,
    "extras": {},
}
"""What a field is where a tokenizer has nothing of the kind."""


def _holds(format: Format, cases: Sequence[LawCase]) -> None:
    """What a format says that it holds, it holds of one tokenizer at least that has it."""
    for field in sorted(format.holds):
        having = [case for case in cases if case.writable and _says(case, field)]
        kept = (field not in {loss.field for loss in case.trip.losses} for case in having)
        laws.need(not having or any(kept), f"it says that it holds {field}, and loses every one")


def _says(case: LawCase, field: str) -> bool:
    value = getattr(case.source.model, field)
    return value is not None and value != _PLAIN.get(field)


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Puts the name of what was tried before what did not hold."""
    try:
        yield
    except BrokenError as error:
        raise BrokenError(f"{name}: {error}") from None


def _sources(format: Format, folder: Path) -> Iterator[LawSource]:
    for path in sorted(folder.iterdir()):
        inside = sorted(path.iterdir()) if path.is_dir() else [path]
        files = {each.name: each.read_bytes() for each in inside if each.is_file()}
        if files:
            yield LawSource(path.name, format, files)
