"""What is explained is what the encoder does: the steps replayed give the reference's ids."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from itertools import accumulate, pairwise
from math import inf
from random import Random
from typing import Any

import pytest
from brute_force import random_rule, random_tokens
from command_line import Command
from golden_models import NAMES, model_of
from hypothesis import given, settings
from hypothesis import strategies as st

from bpe_interop import load
from bpe_interop.encode import Encoder
from bpe_interop.encode.explain import Explained, Explainer, SymbolRun
from bpe_interop.encode.offsets import in_bytes
from bpe_interop.errors import EncodeError
from bpe_interop.model import Affixes, BPEModel, Fallback, PairList, Vocab
from fixtures import TOKENIZERS


def replay(run: SymbolRun, model: BPEModel) -> list[bytes]:
    """The symbols after the merges, each of which must be the first of those that may merge."""
    cut = len(model.affixes.prefix)
    rule = model.merges
    places = {pair: n for n, pair in enumerate(rule.pairs)} if isinstance(rule, PairList) else {}
    symbols, ends = list(run.symbols), [n + 1 for n in range(len(run.symbols))]

    def rank(at: int) -> float:
        pair = symbols[at], symbols[at + 1]
        if isinstance(rule, PairList):
            return places.get(pair, inf)
        return rule.ranks.get(pair[0] + pair[1][cut:], inf)

    for merge in run.merges:
        ranks = [rank(at) for at in range(len(symbols) - 1)]
        at = ranks.index(min(ranks))
        assert merge.rank == ranks[at]
        assert (merge.left, merge.right) == (symbols[at], symbols[at + 1])
        assert (merge.middle, merge.last) == (ends[at], ends[at + 1])
        assert merge.first == (ends[at - 1] if at else 0)
        symbols[at : at + 2] = [merge.left + merge.right[cut:]]
        del ends[at]
        assert merge.token == symbols[at]
        assert merge.id == model.vocab.ids.get(merge.token)
    assert all(rank(at) == inf for at in range(len(symbols) - 1))
    assert [end for _, end in run.groups()] == ends
    return symbols


def check(found: list[Explained], model: BPEModel) -> None:
    for each in found:
        ends = [token for run in each.runs for token in replay(run, model)]
        if each.how == "merged" and not each.replaced:
            assert [model.vocab.ids[token] for token in ends] == list(each.ids)
        if each.how == "whole":
            assert each.merges_alike == ([*map(model.vocab.ids.get, ends)] == [*each.ids])
        assert len(each.ids) == len(each.spans)
        assert each.ids or {"dropped"} == {one.became for one in each.replaced}


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_replayed_steps_give_the_reference_ids(
    name: str, golden: Callable[[str], dict[str, Any]]
) -> None:
    model = model_of(name)
    explainer = Explainer(model)
    for entry in golden(name)["texts"]:
        for mode in ("ordinary", "all"):
            if mode not in entry["ids"]:
                continue
            text = entry["text"]
            if len(text) > 500:  # replaying looks at every pair in every step
                continue
            found = explainer.explain(text, frozenset() if mode == "ordinary" else "all")
            assert [n for each in found for n in each.ids] == entry["ids"][mode], text
            check(found, model)


@given(st.randoms(use_true_random=False), st.text("abc", min_size=1, max_size=12), st.data())
@settings(max_examples=150)
def test_any_merges_of_any_text(rng: Random, text: str, data: st.DataObject) -> None:
    """Also with a letter that is no token, before merging and after, and with affixes."""
    tokens = random_tokens(rng, "ab", 6)
    rule = random_rule(rng, tokens)
    fallbacks = [Fallback("drop"), Fallback("drop", after_merging=True), Fallback("error")]
    fallbacks += [Fallback("unknown", 999, fuse) for fuse in (False, True)]
    model = BPEModel(
        Vocab({token: n for n, token in enumerate(tokens)} | {b"<unk>": 999}),
        rule,
        alphabet="char",
        lookup_first=rng.random() < 0.2,
        fallback=data.draw(st.sampled_from(fallbacks)),
        affixes=Affixes(suffix=data.draw(st.sampled_from([b"", b"a"]))),
        normalizer=(),
        pretokenizer=(),
    )
    try:
        ids = Encoder(model).encode(text)
    except EncodeError:
        with pytest.raises(EncodeError):
            Explainer(model).explain(text)
        return
    found = Explainer(model).explain(text)
    assert [number for each in found for number in each.ids] == ids
    check(found, model)


@pytest.mark.parametrize("name", ["gpt2-tiny/tiktoken", "spm-tiny/sentencepiece"])
@given(st.text(max_size=30))
@settings(max_examples=60)
def test_places_are_those_of_the_encoder(name: str, text: str) -> None:
    explainer = EXPLAINERS[name]
    found = explainer.explain(text)
    ids, offsets = explainer.encode_with_offsets(text)
    assert [number for each in found for number in each.ids] == ids
    pairs = [(each.start, each.end) for each in found for _ in each.ids]
    assert all(
        start <= first and last <= end
        for (start, end), (first, last) in zip(pairs, offsets, strict=True)
    )


EXPLAINERS = {
    name: Explainer(model_of(name)) for name in ("gpt2-tiny/tiktoken", "spm-tiny/sentencepiece")
}


def test_what_is_missing_is_told() -> None:
    explainer = EXPLAINERS["spm-tiny/sentencepiece"]
    replaced = [each for found in explainer.explain("a\u65e5b") for each in found.replaced]
    assert [(each.symbol, each.became) for each in replaced] == [("\u65e5".encode(), "bytes")]
    assert [explainer.token_bytes(n) for n in replaced[0].ids] == [b"\xe6", b"\x97", b"\xa5"]


def test_an_unused_token_is_told_apart() -> None:
    model = BPEModel(
        Vocab({b"a": 0, b"b": 1, b"ab": 2}, {2: "unused"}),
        PairList(((b"a", b"b"),)),
        alphabet="char",
        normalizer=(),
        pretokenizer=(),
    )
    (found,) = Explainer(model).explain("ab")
    assert found.ids == (0, 1)
    assert [merge.token for run in found.runs for merge in run.merges] == [b"ab"]
    assert [(each.symbol, each.became, each.ids) for each in found.replaced] == [
        (b"ab", "split", (0, 1))
    ]


@pytest.fixture
def run(command: Command) -> Command:
    """Runs ``encode``."""
    return partial(command, "encode")


CL100K = str(TOKENIZERS / "cl100k-tiny" / "tiktoken")
TEMPLATE = str(TOKENIZERS / "template-tiny" / "huggingface")


def test_tokens_on_a_screen(run: Command) -> None:
    code, out, err = run(CL100K, "the\u65e5", "--show")
    assert (code, err) == (0, "")
    assert [line.split() for line in out.splitlines()] == [
        ["83", "74", '"t"'],
        ["256", "68", "65", '"he"'],
        ["426", "E6", "97", "A5", '"\u65e5"'],
        ["3", "tokens,", "6", "bytes,", "2.00", "bytes", "per", "token"],
    ]


def test_colours_only_where_they_can_be_seen(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b" not in run(CL100K, "the", "--show")[1]
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    coloured = run(CL100K, "t\x1bhe", "--show")[1]
    assert "\x1b[30;" in coloured
    assert "\\x1b" in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured).splitlines()[0] == "t\\x1bhe"
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in run(CL100K, "the", "--show")[1]


def test_merges_on_a_screen(run: Command) -> None:
    code, out, _ = run(TEMPLATE, "Hello", "--explain", "--add-special-tokens")
    assert code == 0
    assert out.splitlines() == [
        'template    "<|begin_of_text|>" 480',
        'pretoken    "Hello"  characters 0 to 5',
        '  symbols   "H" "e" "l" "l" "o"',
        '  merge     rank  70  "e" + "l" -> "el" 326',
        '  merge     rank 163  "l" + "o" -> "lo" 419',
        '  tokens    "H" 39  "el" 326  "lo" 419',
        'template    "<|end_of_text|>" 481',
    ]


def test_tokens_and_merges_as_json(run: Command) -> None:
    tokens = json.loads(run(CL100K, "--show", "--json", "--lines", stdin=b"the\n")[1])
    assert tokens == [
        [
            {"id": 83, "hex": "74", "text": "t", "characters": [0, 1], "bytes": [0, 1]},
            {"id": 256, "hex": "6865", "text": "he", "characters": [1, 3], "bytes": [1, 3]},
        ]
    ]
    (found,) = json.loads(run(CL100K, "the", "--explain", "--json")[1])
    assert found["runs"][0]["merges"] == [
        {"rank": 256, "symbols": [1, 2, 3], "hex": "6865", "text": "he", "id": 256}
    ]
    around = json.loads(run(TEMPLATE, "", "--show", "--json", "--add-special-tokens")[1])
    assert [token["characters"] for token in around] == [None, None]
    assert [token["bytes"] for token in around] == [None, None]


@pytest.mark.parametrize("text", ["the 日本 🎉 é!", "👩‍👩‍👧\n\nخارج e\u0301", "plain"])
def test_places_in_bytes_are_those_of_the_tokens_bytes(run: Command, text: str) -> None:
    """Also of tokens that hold parts of characters; characters begin where tiktoken says."""
    shown = json.loads(run(CL100K, text, "--show", "--json")[1])
    ends = [*accumulate(len(bytes.fromhex(token["hex"])) for token in shown)]
    assert [token["bytes"] for token in shown] == [[*pair] for pair in pairwise([0, *ends])]
    assert any(token["text"] is None for token in shown) == (not text.isascii())
    engine = load(CL100K).to_tiktoken()
    starts = engine.decode_with_offsets([token["id"] for token in shown])[1]
    assert [token["characters"][0] for token in shown] == starts


def test_places_in_bytes_are_whole_characters_where_the_text_was_changed() -> None:
    # A normalizer made one byte of three; a token of the added space; a character in two tokens.
    places = [(b"e", (0, 2)), (b" ", (2, 3)), (b"\xe4\xb8", (2, 3)), (b"\xad", (2, 3))]
    tokens = [*places, (b"x", (3, 4)), (b"new", None)]
    found = in_bytes("e\u0301中x", tokens)
    assert found == [(0, 3), (3, 6), (3, 5), (5, 6), (6, 7), None]


def test_what_encoding_refuses_is_refused(run: Command) -> None:
    code, out, err = run(CL100K, "a<|endoftext|>", "--show")
    assert (code, out) == (2, "")
    assert "--special parse" in err
    assert run(CL100K, "a", "--show", "--explain")[0] == 2
    found = run(CL100K, "a<|endoftext|>", "--explain", "--special", "parse")[1]
    assert 'added token "<|endoftext|>" ' in found
