"""The account of a batch: what became of its documents, as a report."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import reduce
from operator import add
from typing import NamedTuple, TypeAlias

from ..corpora import Document, size_of
from .corpus_report import CorpusReport, Counts, Failed, Found, Source, keep
from .outcomes import Outcome
from .sides import Failure, Mismatch

BATCH_BYTES = 1 << 19
"""Bytes of UTF-8 after which a batch is given to both sides; one document may be more."""
BATCH_DOCUMENTS = 1 << 10

_SHOWN = 1_000
"""Characters that are kept of a text on which a side failed."""

Wanted: TypeAlias = Callable[[str], bool]


class Item(NamedTuple):
    """A document, the number of its shard, and whether it is given to the sides."""

    shard: int
    document: Document
    wanted: bool


def batches(documents: Iterable[tuple[int, Document]], wanted: Wanted) -> Iterator[list[Item]]:
    """Documents in batches, each of them whole."""
    batch: list[Item] = []
    size = 0
    for number, document in documents:
        batch.append(Item(number, document, wanted(document.text)))
        size += document.size
        if size >= BATCH_BYTES or len(batch) >= BATCH_DOCUMENTS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def texts_of(batch: list[Item]) -> list[str]:
    """The texts that are given to the sides."""
    return [item.document.text for item in batch if item.wanted]


def account(empty: CorpusReport, batch: list[Item], outcomes: list[Outcome]) -> CorpusReport:
    """The report on one batch.

    Args:
        empty: the report on nothing, on the same sides.
        batch: the documents.
        outcomes: what became of those that were given to the sides.
    """
    files: dict[str, Counts] = {}
    found: list[Found] = []
    failures: list[Failed] = []
    given = iter(outcomes)
    for _, document, wanted in batch:
        label = document.shard.label
        outcome = next(given) if wanted else Outcome()
        counts = _counted(document, outcome, wanted)
        files[label] = files[label] + counts if label in files else counts
        if outcome.mismatch is not None:
            rank = empty.scopes.index(outcome.mismatch.mode.scope)
            found.append(_found(document, outcome.mismatch, rank, outcome.common))
        for side, failed in (("a", outcome.failures_a), ("b", outcome.failures_b)):
            failures += [_failed(document, side, each) for each in failed]
    return replace(
        empty,
        counts=reduce(add, files.values()),
        files=files,
        found=keep(found),
        failures=keep(failures),
    )


def _counted(document: Document, outcome: Outcome, wanted: bool) -> Counts:
    found = outcome.mismatch
    return Counts(
        documents=1,
        bytes=document.size,
        tokens_a=outcome.tokens_a,
        tokens_b=outcome.tokens_b,
        compared=int(outcome.compared > 0),
        differing=int(found is not None),
        decoding=int(found is not None and found.decoding is not None),
        failed_a=int(bool(outcome.failures_a)),
        failed_b=int(bool(outcome.failures_b)),
        replaced=int(document.replaced),
        left_out=int(not wanted),
        left_out_bytes=0 if wanted else document.size,
    )


def _found(document: Document, mismatch: Mismatch, rank: int, common: int) -> Found:
    return Found(
        source=_source(document, common),
        scope=mismatch.mode.scope,
        rank=rank,
        text=mismatch.text,
        ids_a=mismatch.ids_a,
        ids_b=mismatch.ids_b,
        decoding=mismatch.decoding,
    )


def _failed(document: Document, side: str, failure: Failure) -> Failed:
    text = document.text[:_SHOWN]
    return Failed(_source(document, 0), side, failure.how, failure.what, text)


def _source(document: Document, common: int) -> Source:
    """Where something was found: in plain text the line itself, else the record."""
    text, place = document.text, document.place
    before = text[:common] if document.shard.kind == "text" else ""
    return Source(
        file=document.shard.label,
        line=place.line + before.count("\n"),
        offset=place.offset + size_of(before),
        size=len(text),
        plain=text.isascii() and text.isprintable(),
        digest=hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16],
    )
