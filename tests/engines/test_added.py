"""Added tokens against tokenizers itself and, for subsets of special tokens, tiktoken."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import tiktoken
import tokenizers
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from in_tokenizers import token_of
from tokenizers import AddedToken as EngineToken
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from bpe_interop.encode import Encoder
from bpe_interop.errors import EncodeError, UnsupportedError
from bpe_interop.formats import by_name
from bpe_interop.kernel import running
from bpe_interop.model import AddedToken, Allowed, BPEModel, PairList, Vocab
from bpe_interop.steps import (
    Lowercase,
    NormalizerStep,
    Prepend,
    Strip,
    UnicodeForm,
)
from bpe_interop.text.added_tokens import AddedMatcher
from bpe_interop.text.bytechars import to_chars
from bpe_interop.text.normalize import normalize

ALPHABET = "ab<>|A .\n\u00a0_é"
NORMALIZERS: list[tuple[tuple[NormalizerStep, ...], normalizers.Normalizer | None]] = [
    ((), None),
    ((Lowercase(),), normalizers.Lowercase()),
    ((Prepend("_"),), normalizers.Prepend("_")),
    (
        (Strip(True, True), Lowercase()),
        normalizers.Sequence([normalizers.Strip(), normalizers.Lowercase()]),
    ),
]

tokens = st.builds(
    AddedToken,
    # No single letter: it would be a token of the engine's model too.
    text=st.one_of(st.just(" "), st.text("ab<>|A ", min_size=2, max_size=4)),
    id=st.just(0),
    special=st.booleans(),
    lstrip=st.booleans(),
    rstrip=st.booleans(),
    single_word=st.booleans(),
    normalized=st.booleans(),
)
token_lists = st.lists(tokens, max_size=6, unique_by=lambda token: token.text.lower()).map(
    lambda listed: [
        AddedToken(t.text, 100 + i, t.special, t.lstrip, t.rstrip, t.single_word, t.normalized)
        for i, t in enumerate(listed)
    ]
)
texts = st.lists(st.sampled_from([*ALPHABET, "<a>", "<|b|>", "  "]), max_size=16).map("".join)


def engine_of(added: list[AddedToken], normalizer: normalizers.Normalizer | None) -> Tokenizer:
    """A tokenizer with one token for each character, which shows what is cut out."""
    vocab = {char: number for number, char in enumerate(pre_tokenizers.ByteLevel.alphabet())}
    vocab |= {f"filler {number}": number for number in range(len(vocab), 1000)}
    engine = Tokenizer(models.BPE(vocab, []))
    engine.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    if normalizer is not None:
        engine.normalizer = normalizer
    engine.add_tokens(
        [
            EngineToken(
                token.text,
                single_word=token.single_word,
                lstrip=token.lstrip,
                rstrip=token.rstrip,
                normalized=token.normalized,
                special=token.special,
            )
            for token in added
        ]
    )
    return engine


def by_engine(engine: Tokenizer, added: list[AddedToken], text: str) -> list[str | int] | None:
    """Ids of added tokens, and the text between them; None where the engine panics."""
    try:
        ids = engine.encode(text, add_special_tokens=False).ids
    except BaseException as panic:  # pyo3's PanicException is no Exception
        if "bad split" in str(panic):
            return None
        # Stripping White_Space beside characters of several bytes breaks the engine's alignment.
        assume("char boundary" not in str(panic))
        raise
    names = {engine.token_to_id(token.text): token.id for token in added}
    found: list[str | int] = []
    for number in ids:
        if number in names:
            found.append(names[number])
        elif found and isinstance(found[-1], str):
            found[-1] += token_of(engine, number)
        else:
            found.append(token_of(engine, number))
    return found


def by_us(
    added: list[AddedToken],
    steps: tuple[NormalizerStep, ...],
    text: str,
    allowed: Allowed = "all",
) -> list[str | int] | None:
    matcher = AddedMatcher(added, lambda part: normalize(steps, part))
    try:
        cut = matcher.cut(text, allowed, lambda part: normalize(steps, part))
    except EncodeError as error:
        if "taken along" in str(error):
            return None
        raise
    found: list[str | int] = []
    for part in cut:
        if isinstance(part, str):
            part = to_chars(part.encode())
            if found and isinstance(found[-1], str):
                found[-1] += part
                continue
        found.append(part)
    return found


@pytest.mark.parametrize("allowed", [pytest.param("all", marks=pytest.mark.long), frozenset()])
@pytest.mark.parametrize(("steps", "normalizer"), NORMALIZERS, ids=str)
@given(added=token_lists, text=texts)
def test_all_or_none_allowed_is_what_tokenizers_does(
    steps: tuple[NormalizerStep, ...],
    normalizer: normalizers.Normalizer | None,
    allowed: Allowed,
    added: list[AddedToken],
    text: str,
) -> None:
    """None allowed is its ``encode_special_tokens``."""
    shapes = [normalize(steps, token.text) for token in added if token.normalized]
    # The engine takes one of two equal shapes by chance, and does not end on an empty one.
    assume(len(set(shapes)) == len(shapes) and "" not in shapes)
    engine = engine_of(added, normalizer)
    engine.encode_special_tokens = allowed != "all"
    assert by_us(added, steps, text, allowed) == by_engine(engine, added, text)


names = st.lists(st.text("ab<", min_size=1, max_size=4), unique=True, min_size=1, max_size=5)


@given(names, st.data(), st.text("ab<", max_size=14))
def test_a_subset_is_allowed_as_in_tiktoken(
    texts: list[str], data: st.DataObject, text: str
) -> None:
    """Where no special token is a prefix of another: there tiktoken's choice is left to chance."""
    assume(not any(a != b and b.startswith(a) for a in texts for b in texts))
    allowed = frozenset(data.draw(st.lists(st.sampled_from(texts))))
    special = {name: 300 + number for number, name in enumerate(texts)}
    engine = tiktoken.Encoding(
        "t",
        pat_str="(?s).",
        mergeable_ranks={bytes([byte]): byte for byte in range(256)},
        special_tokens=special,
    )
    added = [AddedToken(name, number) for name, number in special.items()]
    found: list[int] = []
    for part in AddedMatcher(added, str).cut(text, allowed, str):
        found += [part] if isinstance(part, int) else part.encode()
    assert found == engine.encode(text, allowed_special=allowed, disallowed_special=())


def find(added: list[AddedToken], text: str, allowed: frozenset[str]) -> list[str | int]:
    return AddedMatcher(added, str).cut(text, allowed, str)


def test_inside_a_special_token_that_is_not_allowed() -> None:
    """An allowed special token that begins inside matches, one that is not special does not."""
    added = [
        AddedToken("<a>", 0),
        AddedToken("a>b", 1),
        AddedToken(">", 2, special=False),
        AddedToken("b", 3, special=False),
    ]
    assert find(added, "<a>b", frozenset()) == ["<a>", 3]
    assert find(added, "<a>b", frozenset({"a>b"})) == ["<", 1]
    assert find(added, "<a>b", frozenset({"<a>"})) == [0, 3]


def test_two_texts_of_one_id_both_match() -> None:
    added = [AddedToken("<x>", 7), AddedToken("<y>", 7)]
    assert find(added, "<y>a<x>", frozenset({"<x>", "<y>"})) == [7, "a", 7]


def test_nothing_to_find() -> None:
    matcher = AddedMatcher([AddedToken("<x>", 7)], str)
    assert matcher.is_idle(frozenset())
    assert not matcher.is_idle(frozenset({"<x>"}))
    assert not matcher.is_idle("all")
    assert not AddedMatcher([AddedToken("x", 7, special=False)], str).is_idle(frozenset())
    assert AddedMatcher([], str).is_idle("all")


def test_tokens_that_normalize_to_one_are_refused_where_they_match() -> None:
    added = [AddedToken("ab", 1, normalized=True), AddedToken("AB", 2, normalized=True)]
    matcher = AddedMatcher(added, str.lower)
    assert matcher.cut("xyz", "all", str.lower) == ["xyz"]
    with pytest.raises(EncodeError, match="by chance"):
        matcher.cut("xAb", "all", str.lower)


@pytest.mark.long
@pytest.mark.parametrize("context", [("{}", "<a>"), ("<a>", "{}")])
def test_every_code_point_beside_a_single_word(context: tuple[str, str]) -> None:
    added = [AddedToken("<a>", 100, special=False, single_word=True)]
    engine = engine_of(added, None)
    matcher = AddedMatcher(added, str)
    wrong = []
    # Of planes that are unassigned, ideographs or private use, a sample.
    rest = (*range(0x20000, 0xE0000, 97), *range(0xE0000, 0xE1000), *range(0xE1000, 0x110000, 97))
    for code in (*range(0xD800), *range(0xE000, 0x20000), *rest):
        text = "".join(context).format(chr(code))
        ours = matcher.cut(text, "all", str) != [text]
        theirs = engine.token_to_id("<a>") in engine.encode(text).ids
        if ours != theirs:
            wrong.append(f"U+{code:04X}")
    assert not wrong


@pytest.mark.long
def test_many_tokens_and_long_texts() -> None:
    added = [AddedToken(f"<|{number / 50:.2f}|>", number) for number in range(1600)]
    added.append(AddedToken(" ", 2000, special=False, lstrip=True, rstrip=True))
    matcher = AddedMatcher(added, str)
    assert matcher.cut("<| " + " " * 300_000 + "x", "all", str)[-1] == "x"
    assert len(matcher.cut("<|0.02|>" * 20_000, "all", str)) == 20_000
    assert matcher.cut("<|9.99|" * 8_000, frozenset({"<|0.00|>"}), str) == ["<|9.99|" * 8_000]
    assert len(matcher.cut("<|0.02|>" * 20_000, frozenset({"<|0.00|>"}), str)) == 1


@pytest.mark.parametrize("flags", [{"single_word": True}, {"special": True}, {"rstrip": True}])
def test_what_the_first_of_two_equal_shapes_would_pass_over_is_refused(
    flags: dict[str, bool],
) -> None:
    """tokenizers may take the other one, which has no such flag."""
    plain: dict[str, Any] = {"special": False, "normalized": True}
    added = [AddedToken("ab", 1, **{**plain, **flags}), AddedToken("AB", 2, **plain)]
    for order in (added, added[::-1]):
        matcher = AddedMatcher(order, str.lower)
        with pytest.raises(EncodeError, match="by chance"):
            matcher.cut("xAbx", frozenset(), str.lower)


def test_equal_shapes_that_are_not_looked_for_leave_nothing_to_chance() -> None:
    added = [AddedToken("ab", 1, normalized=True), AddedToken("AB", 2, normalized=True)]
    matcher = AddedMatcher(added, str.lower)
    assert matcher.cut("xAb", frozenset(), str.lower) == ["xab"]
    with pytest.raises(EncodeError, match="by chance"):
        matcher.cut("xAb", frozenset({"AB"}), str.lower)


STRIP = {"type": "Strip", "strip_left": True, "strip_right": True}


@pytest.mark.parametrize(
    ("flags", "text", "ids"),
    [
        ({"lstrip": True}, "a b", [0, 3, 1]),
        ({"rstrip": True}, "a b", [0, 3, 1]),
        ({}, "ab", [0, 1]),
        ({"normalized": False}, "ab", [4]),
    ],
)
def test_a_token_that_normalizing_leaves_nothing_of_is_refused(
    flags: dict[str, bool], text: str, ids: list[int]
) -> None:
    """tokenizers finds it everywhere: without it, ``ab`` is one token and the space is ordinary."""
    token = {"id": 3, "content": "\n", "single_word": False, "lstrip": False, "rstrip": False}
    whole = {
        "added_tokens": [{**token, "normalized": True, "special": False, **flags}],
        "normalizer": STRIP,
        "model": {
            "type": "BPE",
            "vocab": {"a": 0, "b": 1, " ": 2, "\n": 3, "ab": 4},
            "merges": [["a", "b"]],
        },
    }
    assert tokenizers.Tokenizer.from_str(json.dumps(whole)).encode(text).ids == ids
    files = {"tokenizer.json": json.dumps(whole).encode()}
    if flags == {"normalized": False}:
        assert Encoder(by_name("huggingface").load(files)).encode(text) == ids
        return
    with pytest.raises(UnsupportedError, match=r"normalizing leaves nothing .*") as refused:
        by_name("huggingface").load(files)
    assert refused.value.where == "tokenizer.json: $.added_tokens[0]"


@pytest.mark.parametrize("first", [True, False])
def test_a_content_that_stands_twice_is_decoded_as_tokenizers_does_or_refused(first: bool) -> None:
    token = {"id": 3, "content": "<s>", "single_word": False, "lstrip": False, "rstrip": False}
    entries = [{**token, "special": True, "normalized": flag} for flag in (first, not first)]
    whole = {
        "added_tokens": entries,
        "normalizer": {"type": "Prepend", "prepend": "x"},
        "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "x": 2}, "merges": []},
    }
    engine = tokenizers.Tokenizer.from_str(json.dumps(whole))
    assert engine.decode([3], skip_special_tokens=False) == "x<s>"
    assert engine.encode("<s>").ids == [3]
    files = {"tokenizer.json": json.dumps(whole).encode()}
    if first:
        with pytest.raises(UnsupportedError, match="decodes the id as"):
            by_name("huggingface").load(files)
        return
    encoder = Encoder(by_name("huggingface").load(files))
    assert (encoder.decode([3]), encoder.encode("<s>", "all")) == ("x<s>", [3])


@pytest.mark.parametrize("before", ["\t", "q"])
def test_a_normal_form_that_an_earlier_token_of_the_id_left_behind_is_refused(before: str) -> None:
    """A token that is not in the vocabulary is numbered after a hole in it, as ``b`` is there."""
    token = {"single_word": False, "lstrip": False, "rstrip": False, "special": False}
    entries = [
        {**token, "id": 4, "content": before, "normalized": True},
        {**token, "id": 4, "content": "b", "normalized": True},
    ]
    vocabulary = {"a": 0, "bb": 1, " ": 2, "b": 4}
    whole = {
        "added_tokens": entries,
        "normalizer": {"type": "Replace", "pattern": {"String": "\t"}, "content": " "},
        "model": {"type": "BPE", "vocab": vocabulary, "merges": [["b", "b"]]},
    }
    engine = tokenizers.Tokenizer.from_str(json.dumps(whole))
    files = {"tokenizer.json": json.dumps(whole).encode()}
    if before == "q":
        assert engine.encode("bb a").ids == [4, 4, 2, 0]
        assert Encoder(by_name("huggingface").load(files)).encode("bb a", "all") == [4, 4, 2, 0]
        return
    assert engine.encode("bb a").ids == [1, 4, 0]
    with pytest.raises(UnsupportedError, match='for "b" tokenizers looks for " "') as refused:
        by_name("huggingface").load(files)
    assert refused.value.where == "tokenizer.json: $.added_tokens[1]"


def ids_of(
    added: list[AddedToken], steps: tuple[NormalizerStep, ...], *, allowed: Allowed
) -> Callable[[str], list[int] | None]:
    """The kernel's encoder of single bytes around which these tokens are found."""
    model = BPEModel(
        vocab=Vocab({bytes([byte]): byte for byte in range(256)}),
        merges=PairList(()),
        normalizer=steps,
        pretokenizer=(),
        added=tuple(replace(token, id=1000 + token.id) for token in added),
    )
    whole = Encoder(model)._whole(allowed)
    assert whole is not None
    return whole.encode


ENGINE_FORMS: list[tuple[tuple[NormalizerStep, ...], normalizers.Normalizer | None]] = [
    ((), None),
    ((UnicodeForm("NFC"),), normalizers.NFC()),
    ((UnicodeForm("NFKC"),), normalizers.NFKC()),
    ((Prepend("_"),), normalizers.Prepend("_")),
]


@pytest.mark.skipif(running().kernel != "native", reason="no kernel")
@pytest.mark.parametrize("allowed", ["all", frozenset()], ids=["all", "none"])
@pytest.mark.parametrize(("steps", "normalizer"), ENGINE_FORMS, ids=str)
@settings(max_examples=300)
@given(added=token_lists, text=texts)
def test_the_kernel_finds_what_tokenizers_does(
    steps: tuple[NormalizerStep, ...],
    normalizer: normalizers.Normalizer | None,
    allowed: Allowed,
    added: list[AddedToken],
    text: str,
) -> None:
    shapes = [normalize(steps, token.text) for token in added if token.normalized]
    assume(len(set(shapes)) == len(shapes) and "" not in shapes)
    engine = engine_of(added, normalizer)
    engine.encode_special_tokens = allowed != "all"
    found = ids_of(added, steps, allowed=allowed)(text)
    if found is None:
        # It writes NFC and prefixes itself, and passes on only what NFKC changes.
        changed = UnicodeForm("NFKC") in steps and normalize(steps, text) != text
        assert changed or by_us(added, steps, text, allowed) is None
        return
    ours: list[str | int] = []
    for number in found:
        part = number - 1000 if number >= 1000 else to_chars(bytes([number]))
        if ours and isinstance(part, str) and isinstance(ours[-1], str):
            ours[-1] += part
        else:
            ours.append(part)
    assert ours == by_engine(engine, added, text)


@pytest.mark.skipif(running().kernel != "native", reason="no kernel")
def test_the_kernel_takes_the_white_space_of_tokenizers() -> None:
    added = [AddedToken("<a>", 100, special=False, lstrip=True, rstrip=True)]
    engine, encode = engine_of(added, None), ids_of(added, (), allowed="all")
    for code in (*range(0x3100), 0xFEFF, 0x1F600):
        text = f"{chr(code)}<a>{chr(code)}"
        assert (encode(text) == [1100]) == (engine.encode(text).ids == [1000]), f"U+{code:04X}"
