"""What a small tokenizer has: the names by which a run is counted."""

from __future__ import annotations

import math
from collections.abc import Iterator

from .sources import Json, Source

_KINDS = {2: "unknown piece", 3: "control piece", 4: "user-defined", 5: "unused", 6: "byte pieces"}


def features(source: Source) -> frozenset[str]:
    """The names of what a source has."""
    listing = {
        "huggingface": _of_document,
        "tiktoken": _of_ranks,
        "sentencepiece": _of_pieces,
    }
    found = listing[source.format](source.facts) if source.format in listing else ()
    beside = [f"files beside: {source.format}"] if source.beside else []
    return frozenset([source.format, *found, *beside])


def _of_document(facts: Json) -> Iterator[str]:
    model = facts["model"]
    if model["continuing_subword_prefix"]:
        yield "prefix"
    if model["end_of_word_suffix"]:
        yield "suffix"
    for name in ("ignore_merges", "fuse_unk", "byte_fallback", "unk_token"):
        if model[name]:
            yield name
    yield from _steps("normalizer", facts["normalizer"], "normalizers")
    yield from _steps("splitter", facts["pre_tokenizer"], "pretokenizers")
    yield from _steps("decoder", facts["decoder"], "decoders")
    for token in facts["added_tokens"]:
        yield "added token"
        flags = ("single_word", "lstrip", "rstrip", "normalized", "special")
        yield from (f"added token: {name}" for name in flags if token[name])
    if facts["post_processor"]:
        yield f"template: {facts['post_processor']['type']}"
    pairs = [tuple(pair) for pair in model["merges"]]
    if len(set(pairs)) < len(pairs):
        yield "merge twice"
    ids = model["vocab"].values()
    if len(ids) and max(ids) >= len(ids):
        yield "hole in the ids"


def _steps(part: str, found: Json | None, inner: str) -> Iterator[str]:
    if found is None:
        return
    if found["type"] == "Sequence":
        if len(found[inner]) > 1:
            yield f"{part}: Sequence"
        for step in found[inner]:
            yield from _steps(part, step, inner)
        return
    yield f"{part}: {found['type']}"


def _of_ranks(facts: Json) -> Iterator[str]:
    ranks = [rank for _, rank in facts["ranks"]]
    if facts["special_tokens"]:
        yield "special tokens of a rank file"
    if ranks != sorted(ranks):
        yield "ranks out of order"
    if max(ranks) >= len(ranks):
        yield "hole in the ranks"


def _of_pieces(facts: Json) -> Iterator[str]:
    yield from dict.fromkeys(_KINDS[kind] for _, _, kind in facts["pieces"] if kind in _KINDS)
    scores = [score for _, score, kind in facts["pieces"] if kind == 1]
    if len(set(scores)) < len(scores):
        yield "tied scores"
    if len({math.copysign(1, score) for score in scores if score == 0}) > 1:
        yield "zeros of both signs"
    for name in ("dummy", "remove_extra", "suffix"):
        if facts[name]:
            yield f"model: {name}"
