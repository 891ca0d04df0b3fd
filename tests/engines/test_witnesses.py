"""Published tokenizers, changed in one place: a shortest text shows it, or it is proved harmless.

Every witness is run in the real engines, and what is proved harmless is run there as well.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import tiktoken
import tokenizers
from conftest import Data

from bpe_interop import Tokenizer, convert, load
from bpe_interop.engines.llamacpp import LlamaCppEngine
from bpe_interop.errors import LossyConversionError
from bpe_interop.merging.canonical import canonical
from bpe_interop.model import BPEModel, PairList, RankTable
from bpe_interop.proof.prove import prove
from bpe_interop.text.bytechars import BYTE_TO_CHAR, to_bytes
from bpe_interop.theory.equality import Decision, System, decide, system_of
from fixtures import FIXTURES

ENGLISH = (FIXTURES / "corpora" / "english.txt").read_text("utf-8")

# cl100k.


@pytest.fixture(scope="module")
def cl100k(data: Data) -> BPEModel:
    data("tiktoken_cache")
    return load("tiktoken:cl100k_base").model


def ranks_of(model: BPEModel) -> dict[bytes, int]:
    assert isinstance(model.merges, RankTable)
    return {token: int(rank) for token, rank in model.merges.ranks.items()}


@pytest.mark.parametrize(("behavior", "invert"), [("Isolated", False), ("Removed", True)])
def test_the_pattern_of_tiktoken_pasted_into_a_split(
    cl100k: BPEModel, behavior: str, invert: bool
) -> None:
    """Oniguruma reads ``{1,3}+`` as ``{1,3}`` repeated, not as possessive.

    The pattern is the point, so the first of the ranks are enough for both sides.
    """
    ranks = {token: rank for token, rank in ranks_of(cl100k).items() if rank < 2_000}
    pattern = tiktoken.get_encoding("cl100k_base")._pat_str
    engine = tiktoken.Encoding("p", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    own = Tokenizer.from_tiktoken(engine)
    document: dict[str, Any] = json.loads(own.to_tokenizers().to_str())
    split = document["pre_tokenizer"]["pretokenizers"][0]
    split |= {"pattern": {"Regex": pattern}, "behavior": behavior, "invert": invert}
    pasted = tokenizers.Tokenizer.from_str(json.dumps(document))
    proof = prove(own.model, Tokenizer.from_tokenizers(pasted).model, "ordinary")
    assert (proof.outcome, proof.stage, proof.witness) == ("different", "pre-tokenizer", "0000")
    assert engine.encode("0000") == engine.encode("000") + engine.encode("0")
    assert pasted.encode("0000").ids != engine.encode("0000")
    for shorter in ("0", "00", "000"):
        assert pasted.encode(shorter).ids == engine.encode(shorter)


def swapped(model: BPEModel, one: bytes, other: bytes) -> tuple[Decision, Callable[[str], bool]]:
    """Two ranks swapped: what is decided, and whether tiktoken gives a text the same tokens."""
    ranks = ranks_of(model)
    assert ranks[other] == ranks[one] + 1
    ranks[one], ranks[other] = ranks[other], ranks[one]
    found = decide(system_of(model), System(RankTable(ranks), ranks))
    published = tiktoken.get_encoding("cl100k_base")
    engine = tiktoken.Encoding(
        "swapped", pat_str=published._pat_str, mergeable_ranks=ranks, special_tokens={}
    )

    def same(text: str) -> bool:
        ours = published.decode_tokens_bytes(published.encode_ordinary(text))
        return ours == engine.decode_tokens_bytes(engine.encode_ordinary(text))

    return found, same


def test_adjacent_ranks_that_meet_in_a_letter_matter(cl100k: BPEModel) -> None:
    """``out`` ends in what ``turn`` begins with, so their order decides ``outurn``."""
    found, same = swapped(cl100k, b"out", b"turn")
    assert (found.verdict, found.content, found.shortest) == ("different", b"outurn", True)
    assert (found.ours, found.theirs) == ((b"out", b"urn"), (b"ou", b"turn"))
    assert not same("outurn")
    assert same("out turn ou urn")


def test_adjacent_ranks_that_never_meet_are_proved_harmless(cl100k: BPEModel) -> None:
    found, same = swapped(cl100k, b"in", b" t")
    assert (found.verdict, found.content) == ("proved", None)
    assert same(ENGLISH)
    assert same(" tin in tint intin  t" * 3)


# Llama 3.


@pytest.fixture(scope="module")
def llama_3(data: Data) -> BPEModel:
    return load(data("llama-3/tokenizer.model"), preset="llama-3").model


@pytest.fixture(scope="module")
def listed(data: Data) -> dict[str, Any]:
    """The published ``tokenizer.json``, with a list of pairs."""
    found: dict[str, Any] = json.loads(data("llama-3.2/tokenizer.json").read_bytes())
    found["model"]["merges"] = [
        merge.split(" ") if isinstance(merge, str) else merge for merge in found["model"]["merges"]
    ]
    return found


def test_llama_3_without_its_unreachable_tokens_merges_is_proved_the_same(
    llama_3: BPEModel, listed: dict[str, Any]
) -> None:
    unreachable = canonical(llama_3).unreachable
    assert len(unreachable) == 588
    published = ((to_bytes(x), to_bytes(y)) for x, y in listed["model"]["merges"])
    pairs = [pair for pair in published if b"".join(pair) not in unreachable]
    assert len(pairs) < len(listed["model"]["merges"])
    found = decide(system_of(llama_3), System(PairList(tuple(pairs)), llama_3.vocab.ids))
    assert found.verdict == "proved"


def recovered(ids: dict[bytes, int], token: bytes) -> list[bytes]:
    """What the usual conversion of rank files is left with: the merges of less rank, on the token.

    It takes the token's pair from the two parts that remain, and has none where there are more.
    """
    parts = [bytes([byte]) for byte in token]
    while True:
        found = [
            (rank, place)
            for place, pair in enumerate(pairwise(parts))
            if (rank := ids.get(b"".join(pair), ids[token])) < ids[token]
        ]
        if not found:
            return parts
        place = min(found)[1]
        parts[place : place + 2] = [b"".join(parts[place : place + 2])]


def not_recovered(model: BPEModel) -> set[bytes]:
    """The tokens whose own run needs a merge of greater rank: for them the recovery fails."""
    ids, splits = dict(model.vocab.ids), canonical(model).splits
    greatest: dict[bytes, int] = {}

    def greatest_within(token: bytes) -> int:
        if token not in splits:
            return -1
        if token not in greatest:
            greatest[token] = max(ids[token], *map(greatest_within, splits[token]))
        return greatest[token]

    found = {token for token in splits if greatest_within(token) > ids[token]}
    assert all(len(recovered(ids, token)) > 2 for token in found)
    others = [token for token in splits if token not in found][:1_000]
    assert all(tuple(recovered(ids, token)) == splits[token] for token in others)
    return found


def test_llama_3_without_the_merges_that_the_usual_recovery_misses(
    llama_3: BPEModel, listed: dict[str, Any], data: Data
) -> None:
    """``.:.:`` is looked up where it is a whole pretoken, so one more character is needed."""
    lost = not_recovered(llama_3)
    assert b".:.:" in lost
    pairs = [pair for token, pair in canonical(llama_3).splits.items() if token not in lost]
    proof = prove(llama_3, replace(llama_3, merges=PairList(tuple(pairs))), "ordinary")
    assert (proof.outcome, proof.stage) == ("different", "core")
    witness = proof.witness or ""
    assert ".:.:" in witness
    assert len(witness) == 5
    published = tokenizers.Tokenizer.from_file(str(data("llama-3.2/tokenizer.json")))
    spelled = [["".join(map(BYTE_TO_CHAR.__getitem__, part)) for part in pair] for pair in pairs]
    changed = listed | {"model": listed["model"] | {"merges": spelled}}
    dropped = tokenizers.Tokenizer.from_str(json.dumps(changed))
    assert published.encode(witness).ids != dropped.encode(witness).ids
    for text in (".:.:", ".:.:9", ENGLISH):
        assert published.encode(text).ids == dropped.encode(text).ids


def test_a_byte_that_vanishes_before_merging_lets_its_neighbours_meet(
    data: Data, tmp_path: Path
) -> None:
    """Tokenizers leaves it out before it merges, llama.cpp after: the text of the loss shows it."""
    path = data("falcon/tokenizer.json")
    with pytest.raises(LossyConversionError) as refused:
        convert(path, tmp_path / "falcon.gguf", "gguf")
    [loss] = [each for each in refused.value.losses if each.field == "fallback"]
    assert loss.witness is not None
    assert loss.shown
    published = tokenizers.Tokenizer.from_file(str(path))
    there = LlamaCppEngine(data("gguf/ggml-vocab-falcon.gguf").read_bytes())
    without = loss.witness.replace("\x03", "")
    ids = published.encode(loss.witness).ids
    assert ids == published.encode(without).ids == there.encode(without)
    assert there.encode(loss.witness) != ids
