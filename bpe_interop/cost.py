"""What it costs on a corpus to write a tokenizer in a format that does not hold it exactly."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .corpora import CorpusFile, find_files, read_documents
from .encode import Encoder
from .errors import BpeInteropError
from .formats import Format
from .formats.round_trip import RoundTrip
from .sources import load_source
from .ticks import Tick, no_progress

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .sources import SourceOptions


@dataclass(frozen=True, slots=True)
class Cost:
    """One file of a corpus, under one way to write the tokenizer.

    Attributes:
        under: the name under which it is written; empty where the format has no such names.
        file: the file of the corpus; empty for all of them.
        lines: its lines that are not blank.
        other: of these, those whose ids differ.
        tokens: the source's ids for them.
        tokens_then: the ids of what would be written.
        failed: lines that one of the two does not encode; they count in no other number.
    """

    under: str
    file: str
    lines: int = 0
    other: int = 0
    tokens: int = 0
    tokens_then: int = 0
    failed: int = 0

    def __add__(self, more: Cost) -> Cost:
        mine, others = asdict(self), asdict(more)
        numbers = {key: mine[key] + others[key] for key in mine if isinstance(mine[key], int)}
        return Cost(self.under, "", **numbers)

    def __str__(self) -> str:
        under = f"under {self.under}, " if self.under else ""
        share = 100 * self.other / self.lines if self.lines else 0.0
        more = 100 * (self.tokens_then / self.tokens - 1) if self.tokens else 0.0
        failed = f"; {self.failed:,} lines have no ids" if self.failed else ""
        return (
            f"{under}{self.file or 'all files'}: {self.other:,} of {self.lines:,} lines "
            f"({share:.1f} %) have other ids, {more:+.1f} % tokens, "
            f"special tokens as text{failed}"
        )


def costs(
    source: str | Path,
    to: Format,
    corpora: str | Path | Iterable[str | Path],
    tick: Tick = no_progress,
    **reading: Unpack[SourceOptions],
) -> list[Cost]:
    """What all that a format cannot hold of a tokenizer costs, by file.

    Where a format has names for what it cannot hold (GGUF's splitters), the nearest are compared.
    Both sides run in our own encoder, line by line, with special tokens as text.

    Args:
        source: the tokenizer, as :func:`bpe_interop.load` takes it.
        to: what it would be written in, everything dropped that the format cannot hold.
        corpora: texts, as :func:`.corpora.find_files` takes them.
        tick: called with the number of documents read since the last call.
        reading: how the source is read.

    Raises:
        SourceError: the source or a corpus cannot be read.
    """
    files = find_files(corpora)
    model = load_source(source, **reading).model
    trip = RoundTrip(model, to)
    named = to.nearest(model, trip.again) or {"": trip.again}
    own = Encoder(model)
    others = {name: Encoder(other) for name, other in named.items()}
    rows: list[Cost] = []
    for name, encoder in others.items():
        by_file = [_of_file(name, own, encoder, file, tick) for file in files]
        rows += by_file
        if len(by_file) > 1:
            rows.append(sum(by_file, Cost(name, "")))
    return rows


def _of_file(name: str, own: Encoder, other: Encoder, file: CorpusFile, tick: Tick) -> Cost:
    lines = differing = before = then = failed = 0
    for document in read_documents(file):
        for line in document.text.splitlines():
            if not line.strip():
                continue
            try:
                one, two = own.encode(line), other.encode(line)
            except BpeInteropError:
                failed += 1
                continue
            lines += 1
            differing += one != two
            before += len(one)
            then += len(two)
        tick(1)
    return Cost(name, file.label, lines, differing, before, then, failed)
