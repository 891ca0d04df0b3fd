"""Affixes, and symbols that are missing: what tokenizers gives otherwise is never called equal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import chain, islice, product
from random import Random
from typing import Any, TypeAlias

import pytest
import tokenizers

from bpe_interop.errors import BpeInteropError
from bpe_interop.fingerprint import fingerprint
from bpe_interop.formats import by_name
from bpe_interop.model import BPEModel
from bpe_interop.proof.prove import Proof, prove
from bpe_interop.testing.tiny import document_of, model_of
from trust.verdicts.changes import CHANGES
from trust.verdicts.documents import of_affixes

Settings: TypeAlias = Mapping[str, Any]

FORMAT = by_name("huggingface")
PREFIX, SUFFIX = {"continuing_subword_prefix": "##"}, {"end_of_word_suffix": "</w>"}
LETTER = {"end_of_word_suffix": "b"}
"""A suffix that is a letter: ``ab`` may be ``a`` at the end, or two symbols elsewhere."""


def opened(model: Mapping[str, Any]) -> tuple[BPEModel, tokenizers.Tokenizer]:
    text = json.dumps(document_of(model_of(**model))).encode()
    return FORMAT.load({"tokenizer.json": text}), tokenizers.Tokenizer.from_buffer(text)


def ids(engine: tokenizers.Tokenizer, text: str) -> list[int]:
    found: list[int] = engine.encode(text, add_special_tokens=False).ids
    return found


def stage(proof: Proof, name: str) -> str:
    return next(each.outcome for each in proof.stages if each.name == name)


def numbered(*tokens: str, **moved: int) -> dict[str, int]:
    return {token: number for number, token in enumerate(tokens)} | moved


@pytest.mark.parametrize(
    ("text", "stage_name", "settings", "a", "b"),
    [
        # The id of a base symbol with a prefix, a suffix, both.
        *(
            ("ab", "ids", PREFIX, (numbered("a", "b", "##a", "##b"), []), (vocab, []))
            for vocab in [numbered("a", "b", "##a") | {"##b": 9}]
        ),
        (
            "ab",
            "ids",
            SUFFIX,
            (numbered("a", "b", "a</w>", "b</w>"), []),
            (numbered("a", "b", "a</w>") | {"b</w>": 9}, []),
        ),
        (
            "ab",
            "ids",
            PREFIX | SUFFIX,
            (numbered("a", "b", "##b</w>"), []),
            (numbered("a", "b") | {"##b</w>": 9}, []),
        ),
        # One that only one side has.
        ("ab", "core", PREFIX, (numbered("a", "b", "##b"), []), (numbered("a", "b"), [])),
        # A token spelled in two ways, which only one side builds in both.
        (
            "aa",
            "core",
            LETTER,
            (numbered("a", "b", "ab", "aa", "bb", "aab"), [["a", "a"], ["aa", "b"], ["a", "ab"]]),
            (numbered("a", "b", "ab", "aa", "bb", "aab"), [["a", "a"], ["aa", "b"]]),
        ),
        # A symbol that ends in the suffix and is not the last.
        (
            "bbba",
            "core",
            PREFIX | LETTER,
            (
                numbered("a", "b", "##a", "##b", "##ab", "##bb", "##bab"),
                [["##b", "##b"], ["##b", "##ab"]],
            ),
            (
                numbered("a", "b", "##a", "##b", "##ab", "##bb", "##bab"),
                [["##b", "##ab"], ["##b", "##b"]],
            ),
        ),
        # What begins with a prefix, after a symbol that is dropped; or that is unknown.
        (
            "xab",
            "core",
            PREFIX,
            (numbered("##a", "##b", "##ab"), [["##a", "##b"]]),
            (numbered("##a", "##b", "##ab"), []),
        ),
        (
            "xab",
            "core",
            PREFIX | {"unk_token": "u"},
            (numbered("u", "##a", "##b", "##ab"), [["##a", "##b"]]),
            (numbered("u", "##a", "##b", "##ab"), []),
        ),
        # What has no suffix, before a symbol that is dropped.
        (
            "abx",
            "core",
            SUFFIX,
            (numbered("a", "b", "ab"), [["a", "b"]]),
            (numbered("a", "b", "ab"), []),
        ),
    ],
)
def test_what_tokenizers_gives_otherwise_is_refuted(
    text: str, stage_name: str, settings: Settings, a: Any, b: Any
) -> None:
    (one, first), (two, second) = (
        opened({"vocab": vocab, "merges": merges, **settings}) for vocab, merges in (a, b)
    )
    assert ids(first, text) != ids(second, text)
    assert fingerprint(one)["text"] != fingerprint(two)["text"]
    for pair in ((one, two), (two, one)):
        proof = prove(*pair)
        assert stage(proof, stage_name) == "different"
        witness = proof.witness or ""
        assert ids(first, witness) != ids(second, witness)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2))
def test_no_verdict_contradicts_tokenizers(seed: int) -> None:
    """Random vocabularies with affixes and fallbacks, and one thing changed (Theorem 22)."""
    rng = Random(seed)
    verdicts: dict[str, int] = {}
    for _ in range(60):
        a = of_affixes(rng)
        b = a.copy()
        CHANGES["huggingface"][rng.choice(a.likely)](rng, b.facts, b.letters)
        first, second = a.oracle(), b.oracle()
        try:
            one, two = a.model(), b.model()
            proof = prove(one, two)
        except BpeInteropError:
            continue
        verdicts[proof.outcome] = verdicts.get(proof.outcome, 0) + 1
        sizes = (product(f"{a.letters}x", repeat=size) for size in range(6))
        texts = [*map("".join, islice(chain.from_iterable(sizes), 200))]
        same = first.ids(texts, "text") == second.ids(texts, "text")
        same_print = fingerprint(one)["text"] == fingerprint(two)["text"]
        assert same or not (proof.outcome == "proved" or same_print), (a, b)
        if proof.outcome == "different":
            witness = [proof.witness or ""]
            assert first.ids(witness, "text") != second.ids(witness, "text"), (a, b)
    assert verdicts["proved"] > 5
    assert verdicts["different"] > 5
