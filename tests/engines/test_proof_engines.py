"""What is proved and refuted, held to the engines: every short string over two or three letters.

The engines alone are the oracle here. ``BPE_INTEROP_VOCABULARIES=100000`` compares so many pairs
of random vocabularies instead of the 1,200 of every run, over longer strings.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random
from typing import Any, TypeAlias

import pytest
import sentencepiece
import tiktoken
import tokenizers
from brute_force import (
    disturbed,
    first_difference,
    hold_to_brute_force,
    random_pairs,
    random_ranks,
    random_tokens,
    strings,
)

from bpe_interop.formats import Files, by_name
from bpe_interop.merging.canonical import canonical_of
from bpe_interop.model import BPEModel, MergeRule, PairList, RankTable
from bpe_interop.proof.prove import prove
from bpe_interop.testing.tiny import document_of, model_of
from bpe_interop.text.bytechars import BYTE_TO_CHAR
from bpe_interop.theory.equality import Decision, System, decide, system_of
from fixtures.piece_model import UNKNOWN, Piece, with_pieces, write

Run: TypeAlias = Callable[[bytes], list[bytes]]
"""The tokens that an engine gives for a string."""

ASKED = os.environ.get("BPE_INTEROP_VOCABULARIES")
VOCABULARIES = int(ASKED or 1_200)
SEEDS = 20
LONGEST = {"ab": 10, "abc": 8} if ASKED else {"ab": 8, "abc": 6}
END = b"x"
"""Merges with nothing, so what stands before it is merged as if alone, and never looked up."""

PLAIN = write([(2, write([(3, 2), (4, 8)])), (3, write([(3, 0), (4, 0), (5, 0)]))])
"""A SentencePiece BPE model without pieces, dummy prefix, or anything done to spaces."""


# The engines.


def tiktoken_run(tokens: list[bytes], rule: MergeRule) -> Run:
    """Where every string is one pretoken. ``END`` keeps it from being looked up whole."""
    assert isinstance(rule, RankTable)
    ranks = {token: int(rank) for token, rank in rule.ranks.items()}
    ranks[END] = max(ranks.values()) + 1
    engine = tiktoken.Encoding("t", pat_str=r"[\s\S]+", mergeable_ranks=ranks, special_tokens={})
    names = {rank: token for token, rank in ranks.items()}
    return lambda content: [
        names[rank] for rank in engine.encode_ordinary((content + END).decode())[:-1]
    ]


def tokenizers_run(tokens: list[bytes], rule: MergeRule) -> Run:
    assert isinstance(rule, PairList)
    vocab = {token.decode(): number for number, token in enumerate(tokens)}
    engine = tokenizers.models.BPE(vocab, [(x.decode(), y.decode()) for x, y in rule.pairs])
    return lambda content: [found.value.encode() for found in engine.tokenize(content.decode())]


def sentencepiece_run(tokens: list[bytes], rule: MergeRule) -> Run:
    assert isinstance(rule, RankTable)
    pieces = [Piece(token.decode(), -float(rule.ranks[token])) for token in tokens]
    proto = with_pieces(PLAIN, [Piece("<unk>", 0, UNKNOWN), *pieces])
    engine = sentencepiece.SentencePieceProcessor(model_proto=proto)
    return lambda content: [
        found.encode() for found in engine.encode(content.decode(), out_type=str)
    ]


RUNS = {
    "tiktoken": tiktoken_run,
    "tokenizers": tokenizers_run,
    "sentencepiece": sentencepiece_run,
}


# Random vocabularies, as each engine can hold them.


def random_rule(rng: Random, engine: str, tokens: list[bytes]) -> MergeRule:
    """Pairs listed twice for tokenizers, equal scores for sentencepiece, any order for all."""
    if engine == "tokenizers":
        return random_pairs(rng, tokens)
    if engine == "sentencepiece":
        return random_ranks(rng, tokens)
    order = list(range(len(tokens)))
    if rng.random() < 0.5:
        rng.shuffle(order)
    return RankTable(dict(zip(tokens, order, strict=True)))


def related_rule(rng: Random, engine: str, tokens: list[bytes], a: MergeRule) -> MergeRule:
    """A rule that is much like another: the same in the other form, or with one thing changed."""
    form = canonical_of(a, tokens)
    splits = list(form.splits.values())
    if engine == "tokenizers":
        if isinstance(a, PairList) and rng.random() < 0.3:
            splits = list(a.pairs)
        rule: MergeRule = PairList(tuple(splits))
        if splits and rng.random() < 0.3:
            rule = PairList(tuple(rng.sample(splits, len(splits) - 1)))
        return disturbed(rng, rule) if rng.random() < 0.4 else rule
    order = [*(t for t in tokens if t not in form.splits), *form.splits]
    if isinstance(a, RankTable):
        order = sorted(tokens, key=lambda token: (a.ranks[token], tokens.index(token)))
    if len(order) > 2 and rng.random() < 0.5:
        place = rng.randrange(len(order) - 1)
        order[place], order[place + 1] = order[place + 1], order[place]
    ranks = {token: place for place, token in enumerate(order)}
    if engine == "sentencepiece" and rng.random() < 0.5:
        ranks = {token: place // 2 for token, place in ranks.items()}
    return RankTable(ranks)


def random_pair(rng: Random, letters: str) -> tuple[list[bytes], list[tuple[str, MergeRule]]]:
    """A vocabulary, and two rules for it, each with the engine that it is for."""
    tokens = random_tokens(rng, letters, rng.choice([4, 5, 6]))
    one, other = rng.choice([*RUNS]), rng.choice([*RUNS])
    a = random_rule(rng, one, tokens)
    if rng.random() < 0.75:
        b = related_rule(rng, other, tokens, a)
    else:
        b = random_rule(rng, other, tokens)
    return tokens, [(one, a), (other, b)]


# Merging alone.


def check(found: Decision, one: Run, other: Run, contents: list[bytes]) -> None:
    """No string of the list that shows a difference is shorter than the witness, or missed."""
    assert found.verdict in ("proved", "different")
    if found.content is None:
        assert first_difference(one, other, contents) is None
        return
    assert found.shortest
    shorter = (content for content in contents if len(content) < len(found.content or b""))
    assert first_difference(one, other, shorter) is None
    assert one(found.content) == list(found.ours)
    assert other(found.content) == list(found.theirs)
    assert found.ours != found.theirs


@pytest.mark.long
@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_verdict_about_merges_is_that_of_the_engines(seed: int) -> None:
    """Theorem 5 in ``docs/theory.md``."""
    rng = Random(seed)
    verdicts: dict[str, int] = {"proved": 0, "different": 0}
    for _ in range(VOCABULARIES // SEEDS):
        letters = rng.choice(["ab", "abc"])
        tokens, sides = random_pair(rng, letters)
        one, other = (RUNS[engine](tokens, rule) for engine, rule in sides)
        a, b = (System(rule, tokens) for _, rule in sides)
        found = decide(a, b)
        verdicts[found.verdict] += 1
        check(found, one, other, strings(letters, LONGEST[letters]))
        assert decide(b, a).verdict == found.verdict
    assert min(verdicts.values()) > VOCABULARIES // SEEDS // 20


# Whole files.


@dataclass(frozen=True)
class File:
    """A tokenizer as a file says it, and the ids that its engine gives."""

    model: BPEModel
    ids: Callable[[str], list[int]]


ALL_BYTES = [bytes([byte]) for byte in range(256)]


def with_bytes(tokens: list[bytes]) -> list[bytes]:
    return [*ALL_BYTES, *(token for token in tokens if len(token) > 1)]


def tiktoken_file(rng: Random, tokens: list[bytes]) -> File:
    """All bytes, then tokens in some order: rank and id are one number."""
    ranks = {token: rank for rank, token in enumerate(with_bytes(tokens))}
    stated: dict[str, Any] = {"name": "t", "pat_str": r"[\s\S]+", "special_tokens": {}}
    lines = (b"%s %d\n" % (base64.b64encode(t), rank) for t, rank in ranks.items())
    files: Files = {
        "t.tiktoken": b"".join(lines),
        "t.tiktoken.json": json.dumps(stated | {"explicit_n_vocab": None}).encode(),
    }
    engine = tiktoken.Encoding("t", pat_str=r"[\s\S]+", mergeable_ranks=ranks, special_tokens={})
    return File(by_name("tiktoken").load(files), engine.encode_ordinary)


def byte_level_file(rng: Random, tokens: list[bytes]) -> File:
    """``tokenizer.json`` over bytes, with or without looking whole pretokens up."""
    listed = with_bytes(tokens)
    vocab = {"".join(map(BYTE_TO_CHAR.__getitem__, t)): n for n, t in enumerate(listed)}
    table = RankTable({token: place for place, token in enumerate(listed)})
    pairs: Iterable[tuple[bytes, bytes]] = canonical_of(table, listed).splits.values()
    if rng.random() < 0.4:
        pairs = random_pairs(rng, tokens).pairs
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}
    return hugging_face_file(rng, vocab, pairs, byte_level | {"trim_offsets": True})


def character_file(rng: Random, tokens: list[bytes]) -> File:
    """``tokenizer.json`` over characters: some pairs, or each token's own, or one of them moved."""
    rule = random_pairs(rng, tokens)
    if rng.random() < 0.7:
        table = RankTable({token: place for place, token in enumerate(tokens)})
        rule = PairList(tuple(canonical_of(table, tokens).splits.values()))
        moved = disturbed(rng, rule)
        if rng.random() < 0.5 and isinstance(moved, PairList):
            rule = moved
    vocab = {token.decode(): number for number, token in enumerate(tokens)}
    known = set(tokens)
    # tokenizers takes no pair of what is no token.
    pairs = [pair for pair in rule.pairs if known >= {*pair, b"".join(pair)}]
    return hugging_face_file(rng, vocab, pairs, None)


def hugging_face_file(
    rng: Random, vocab: dict[str, int], pairs: Iterable[tuple[bytes, bytes]], step: Any
) -> File:
    spell = (lambda t: "".join(map(BYTE_TO_CHAR.__getitem__, t))) if step else bytes.decode
    merges = [[spell(x), spell(y)] for x, y in pairs]
    stated = model_of(ignore_merges=rng.random() < 0.5, vocab=vocab, merges=merges)
    document = document_of(stated, pre_tokenizer=step, decoder=step)
    text = json.dumps(document)
    engine = tokenizers.Tokenizer.from_buffer(text.encode())
    model = by_name("huggingface").load({"tokenizer.json": text.encode()})
    return File(model, lambda content: engine.encode(content, add_special_tokens=False).ids)


def piece_file(rng: Random, tokens: list[bytes]) -> File:
    """A ``.model`` with scores in order, out of order, or tied."""
    table = random_ranks(rng, tokens)
    if rng.random() < 0.5:
        table = RankTable({token: place // 2 for place, token in enumerate(tokens)})
    pieces = [Piece(token.decode(), -float(table.ranks[token])) for token in tokens]
    proto = with_pieces(PLAIN, [Piece("<unk>", 0, UNKNOWN), *pieces])
    engine = sentencepiece.SentencePieceProcessor(model_proto=proto)
    return File(
        by_name("sentencepiece").load({"tokenizer.model": proto}),
        lambda content: list(engine.encode(content)),
    )


KINDS = [
    (tiktoken_file, tiktoken_file),
    (tiktoken_file, byte_level_file),
    (byte_level_file, byte_level_file),
    (character_file, character_file),
    (piece_file, piece_file),
]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_verdict_about_files_is_that_of_the_engines(seed: int) -> None:
    """Ids, lookups and all: neither is anything proved that differs, nor refuted that does not.

    Theorem 8 in ``docs/theory.md``.
    """
    rng = Random(seed)
    for _ in range(VOCABULARIES // SEEDS // 10):
        letters = rng.choice(["ab", "abc"])
        make_a, make_b = rng.choice(KINDS)
        tokens = random_tokens(rng, letters, rng.choice([3, 4, 5]))
        if rng.random() < 0.2 and make_a in (character_file, piece_file):
            tokens.remove(rng.choice(letters).encode())  # unknown, or gone
        other = tokens[:]
        if rng.random() < 0.4 and len(tokens) - len(letters) > 1:
            place = rng.randrange(len(letters), len(tokens)) - 1
            other[place], other[place + 1] = other[place + 1], other[place]
        a, b = make_a(rng, tokens), make_b(rng, other)
        proof = prove(a.model, b.model)
        texts = [content.decode() for content in strings(letters, LONGEST[letters])]
        differing = next((text for text in texts if a.ids(text) != b.ids(text)), None)
        outcomes = {stage.name: stage.outcome for stage in proof.stages}
        if proof.outcome == "proved":
            assert differing is None
        elif proof.outcome == "different":
            witness = proof.witness
            assert witness is not None
            assert a.ids(witness) != b.ids(witness)
            shown = [stage.witness for stage in proof.stages if stage.witness is not None]
            assert differing is None or min(map(len, shown)) <= len(differing)
        else:
            assert differing is None, f"{outcomes} on {differing}"


def test_characters_and_bytes_are_held_to_their_engines() -> None:
    """sentencepiece or tokenizers over characters beside tiktoken over bytes (Theorem 25)."""
    rng = Random(0)
    letters = "aé"
    for _ in range(VOCABULARIES // 20):
        tokens = random_tokens(rng, letters, 4)
        engine = rng.choice(["tokenizers", "sentencepiece"])
        rule = random_rule(rng, engine, tokens)
        listed = [*ALL_BYTES, *tokens]
        if rng.random() < 0.5:
            listed.append(listed.pop(rng.randrange(256, len(listed))))
        table = RankTable({token: rank for rank, token in enumerate(listed) if token != END})
        one, other = RUNS[engine](tokens, rule), tiktoken_run(listed, table)
        found = decide(System(rule, tokens, "char"), System(table, table.ranks))
        hold_to_brute_force(found, one, other, sorted(strings(letters, 6), key=len))


def test_the_systems_of_files_are_those_of_the_rules() -> None:
    """What ``system_of`` takes from files of two formats, held to the engines of both."""
    rng = Random(0)
    for _ in range(VOCABULARIES // 100):
        tokens = random_tokens(rng, "ab")
        a, b = piece_file(rng, tokens), character_file(rng, tokens)
        found = decide(system_of(a.model), system_of(b.model))
        whole = set(tokens) if b.model.lookup_first else set()
        contents = [content for content in strings("ab", 7) if content not in whole]
        hold_to_brute_force(found, named_run(a), named_run(b), contents)


def named_run(file: File) -> Run:
    names = {number: token for token, number in file.model.vocab.ids.items()}
    return lambda content: [names[number] for number in file.ids(content.decode())]
