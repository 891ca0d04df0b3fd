"""Ids of two sides beside each other: spans in bytes, cuts that both have, and rows for people."""

from __future__ import annotations

from itertools import pairwise

import pytest
from conftest import Data
from hypothesis import given
from hypothesis import strategies as st

from bpe_interop.compare.alignment import Span, align, as_rows
from bpe_interop.compare.sides import ORDINARY, PARSED, TEMPLATED, Mode
from bpe_interop.encode import Encoder
from bpe_interop.sources import load_source
from fixtures import TOKENIZERS

TEXTS = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from(" 's12é🙂\n"), max_size=30
)


def encoder(name: str) -> Encoder:
    return Encoder(load_source(TOKENIZERS / name).model)


def asked(side: Encoder, text: str, mode: Mode = ORDINARY) -> list[int]:
    ids = side.encode(text, "all" if mode.special == "parse" else frozenset())
    return side.template(ids) if mode.add_special_tokens else ids


def aligned(text: str, a: Encoder, b: Encoder, mode: Mode = ORDINARY) -> tuple[Span, ...]:
    return align(text, asked(a, text, mode), asked(b, text, mode), a, b, mode)


def check(text: str, a: Encoder, b: Encoder, spans: tuple[Span, ...], mode: Mode) -> None:
    """Both sides' ids whole and in order, and every byte of the text once."""
    assert [i for span in spans for i in span.ids_a] == asked(a, text, mode)
    assert [i for span in spans for i in span.ids_b] == asked(b, text, mode)
    places = [(span.start, span.end) for span in spans]
    assert places[:1] in ([], [(0, places[0][1] if places else 0)])
    assert all(one[1] == two[0] for one, two in pairwise(places))
    assert (places[-1][1] if places else 0) == len(text.encode("utf-8"))
    for span in spans:
        assert span.equal == (span.ids_a == span.ids_b)
        assert len(span.tokens_a) == len(span.ids_a)


GPT2, CL100K = encoder("gpt2-tiny/tiktoken"), encoder("cl100k-tiny/huggingface")


@given(TEXTS)
def test_spans_are_between_the_cuts_that_both_sides_have(text: str) -> None:
    spans = aligned(text, GPT2, CL100K)
    check(text, GPT2, CL100K, spans, ORDINARY)

    def cuts(side: Encoder) -> set[int]:
        ends, end = {0}, 0
        for number in asked(side, text):
            end += len(side.token_bytes(number))
            ends.add(end)
        return ends

    assert {span.end for span in spans} | {0} == cuts(GPT2) & cuts(CL100K)
    data = text.encode("utf-8")
    for span in spans:
        for side, ids in ((GPT2, span.ids_a), (CL100K, span.ids_b)):
            assert b"".join(map(side.token_bytes, ids)) == data[span.start : span.end]


PAIRS = [
    ("nfc-tiny/huggingface", "gpt2-tiny/tiktoken", ORDINARY),
    ("template-tiny/huggingface", "template-tiny/huggingface", TEMPLATED),
    ("template-tiny/huggingface", "cl100k-tiny/huggingface", PARSED),
    ("metaspace-tiny/huggingface", "never-tiny/huggingface", ORDINARY),
    ("spm-tiny/sentencepiece", "spm-user-tiny/sentencepiece", ORDINARY),
    ("spm-charsmap-tiny/sentencepiece", "spm-unk-tiny/sentencepiece", ORDINARY),
    ("clip-tiny/huggingface", "hash-tiny/huggingface", ORDINARY),
]


@pytest.mark.parametrize(("a", "b", "mode"), PAIRS, ids=[f"{a}-{b}" for a, b, _ in PAIRS])
def test_spans_where_tokens_are_not_the_text(a: str, b: str, mode: Mode) -> None:
    """Normalizers, prefixes, templates, byte fallback and unknown tokens."""
    one, two = encoder(a), encoder(b)
    for text in (
        "",
        " ",
        "a",
        "Hello world, it's 1234!",
        "  two  spaces  ",
        "e\u0301 \u00e9 \u1112\u1161\u11ab",
        "日本語 🙂 text",
        "<s>a</s> <|endoftext|>",
        "ﬁ Ｆｕｌｌ ①",
        "line\nbreak\r\n\ttab",
    ):
        check(text, one, two, aligned(text, one, two, mode), mode)


@given(TEXTS)
def test_a_side_beside_itself_is_equal(text: str) -> None:
    assert all(span.equal for span in aligned(text, CL100K, CL100K))


def spans_of(*rows: tuple[int | None, int | None, tuple[int, ...], tuple[int, ...]]) -> list[Span]:
    return [Span(start, end, a, b, a == b) for start, end, a, b in rows]


def bare(spans: tuple[Span, ...]) -> list[Span]:
    return [Span(s.start, s.end, s.ids_a, s.ids_b, s.equal) for s in spans]


def test_ids_alone_are_aligned_from_both_ends() -> None:
    def by_ids(one: list[int], two: list[int]) -> list[Span]:
        return bare(align("some text", one, two))

    assert by_ids([1, 2, 3, 4], [1, 5, 6, 3, 4]) == spans_of(
        (None, None, (1,), (1,)),
        (None, None, (2,), (5, 6)),
        (None, None, (3,), (3,)),
        (None, None, (4,), (4,)),
    )
    assert by_ids([1, 1], [1, 1, 1]) == spans_of(
        (None, None, (1,), (1,)), (None, None, (1,), (1,)), (None, None, (), (1,))
    )
    assert by_ids([], [7]) == spans_of((None, None, (), (7,)))
    assert by_ids([7], [7]) == spans_of((None, None, (7,), (7,)))


def test_ids_that_the_model_does_not_give_are_aligned_as_ids() -> None:
    """What a library serves need not be what the model of its files says."""
    text = "e\u0301 and more"
    nfc = encoder("nfc-tiny/huggingface")
    ids = nfc.encode(text)
    spans = align(text, ids, [*ids[:-1], 0], nfc, nfc)
    assert [span.start for span in spans] == [None] * len(ids)
    assert [span.equal for span in spans] == [True] * (len(ids) - 1) + [False]


def test_a_template_stands_before_and_behind_the_text() -> None:
    """Each of its tokens by itself, so that a missing one is seen alone."""
    one = encoder("template-tiny/huggingface")
    placed, plain = asked(one, "ab", TEMPLATED), asked(one, "ab")
    before = placed.index(plain[0])
    after = len(placed) - before - len(plain)
    assert before + after > 0
    spans = aligned("ab", one, one, TEMPLATED)
    assert [(s.start, s.end) for s in spans if s.start == s.end] == [(0, 0)] * before + [
        (2, 2)
    ] * after
    without = align("ab", placed, plain, one, one, TEMPLATED)
    assert [span.equal for span in without if span.start != span.end] == [True] * len(plain)
    assert sum(not span.equal for span in without) == before + after


def test_rows_for_a_terminal() -> None:
    text = "one two 3456 é ten"
    spans = aligned(text, GPT2, CL100K)
    rows = as_rows(text, spans, around=1)
    differing = [row for row in rows if not row[0]]
    assert len(differing) == sum(not span.equal for span in spans)
    assert all(
        str(i) in row[2]
        for row, s in zip(rows, spans, strict=False)
        for i in s.ids_a[:1]
        if not row[0]
    )
    equal = align(text, asked(GPT2, text), asked(GPT2, text), GPT2, GPT2)
    assert as_rows(text, equal) == [(True, f"... {len(equal)} times alike ...", "", "")]
    assert as_rows("ab", align("ab", [1], [2, 3])) == [(False, "", "1", "2 3")]


# Real tokenizers, with figures that the engines give (docs/formats.md and the issue).


def test_llama_and_mistral(data: Data) -> None:
    one = Encoder(load_source(data("mistral-v1/tokenizer.model")).model)
    two = Encoder(load_source(data("mistral-v1/tokenizer.json")).model)
    spans = aligned(" ", one, two)
    assert [(s.start, s.end, s.equal) for s in spans] == [(0, 1, False)]
    served = Encoder(load_source(data("llama-2/tokenizer.model")).model)
    text = " Hello"
    spans = align(text, served.encode(text), [15043], served, served)
    assert bare(spans) == spans_of((0, 6, (29871, 15043), (15043,)))


def test_byte_fallback_covers_its_character(data: Data) -> None:
    llama = Encoder(load_source(data("llama-2/tokenizer.model")).model)
    spans = aligned("x \U0001fae8y", llama, llama)
    [fallback] = [span for span in spans if span.start == 2]
    assert (fallback.end, len(fallback.ids_a)) == (6, 4)


def test_splits_of_a_long_number(data: Data) -> None:
    gpt2 = Encoder(load_source(data("gpt2/tokenizer.json")).model)
    cl100k = Encoder(
        load_source(data("cl100k_base/cl100k_base.tiktoken"), preset="cl100k_base").model
    )
    spans = aligned("in 2023年", gpt2, cl100k)
    assert [(s.start, s.end) for s in spans] == [(0, 2), (2, 7), (7, 10)]
    assert spans[1].tokens_a == ('" 20"', '"23"')
    assert spans[1].tokens_b == ('" "', '"202"', '"3"')
