"""Normalizers against tokenizers' own: every code point alone and in context, random texts."""

from __future__ import annotations

import json
import sys
from itertools import product
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import NormalizedString, PreTokenizedString, Regex, Tokenizer, normalizers

from bpe_interop.errors import EncodeError, EngineMissingError
from bpe_interop.formats import by_name
from bpe_interop.proof.prove import prove
from bpe_interop.steps import (
    BertText,
    Lowercase,
    Nmt,
    NormalizerStep,
    Pattern,
    Prepend,
    Replace,
    SentencePieceText,
    Strip,
    StripAccents,
    UnicodeForm,
)
from bpe_interop.text.normalize import (
    _engine,
    align,
    leading,
    normalize,
)
from bpe_interop.text.surrogates import repair, repaired_spans
from bpe_interop.text.unicode import WHITE_SPACE
from bpe_interop.theory.normalizers import canonical_steps, has_plain_steps, plain_steps
from fixtures import TOKENIZERS
from fixtures.code_points import SCALARS

AWKWARD = (
    "aZ ß'İΣσςıſK\u0301\u0300\u0323\u0340\u07fd\u1100\u1161\u11a8가ﬁ①½\u0085\u001c\t\n ▁_é\u200b"
    "中\u0e31\x00\x7f\u200d\ufeff\ufffd"
)

texts = st.text(st.one_of(st.sampled_from(AWKWARD), st.characters(exclude_categories=["Cs"])))


def onig(source: str) -> Pattern:
    return Pattern(source, "oniguruma")


ONE_STEP: list[tuple[NormalizerStep, normalizers.Normalizer]] = [
    (UnicodeForm("NFC"), normalizers.NFC()),
    (UnicodeForm("NFD"), normalizers.NFD()),
    (UnicodeForm("NFKC"), normalizers.NFKC()),
    (UnicodeForm("NFKD"), normalizers.NFKD()),
    (Lowercase(), normalizers.Lowercase()),
    (StripAccents(), normalizers.StripAccents()),
    (Nmt(), normalizers.Nmt()),
    (BertText(True, True, True, True), normalizers.BertNormalizer(True, True, True, True)),
    (Strip(True, True), normalizers.Strip(left=True, right=True)),
    (Strip(True, False), normalizers.Strip(left=True, right=False)),
    (Strip(False, True), normalizers.Strip(left=False, right=True)),
    (Strip(False, False), normalizers.Strip(left=False, right=False)),
    (Prepend("▁x"), normalizers.Prepend("▁x")),
    (Replace(" ", "▁"), normalizers.Replace(" ", "▁")),
    (Replace("a", ""), normalizers.Replace("a", "")),
    (Replace("", "-"), normalizers.Replace("", "-")),
    (Replace("a.", "^"), normalizers.Replace("a.", "^")),
    (Replace(onig(r"\s+"), " "), normalizers.Replace(Regex(r"\s+"), " ")),
    (Replace(onig(r"a*"), "<>"), normalizers.Replace(Regex(r"a*"), "<>")),
    (Replace(onig(r"\p{L}(?!\p{L})"), r"\0"), normalizers.Replace(Regex(r"\p{L}(?!\p{L})"), r"\0")),
]
IDS = [f"{step!r}" for step, _ in ONE_STEP]


@pytest.mark.long
@pytest.mark.parametrize(("step", "engine"), ONE_STEP[:5], ids=IDS[:5])
@pytest.mark.parametrize("context", ["{}", " a{}b ", "A{}\u0301", "\u0323{}\u0323\u0301Z"])
def test_every_code_point(
    step: NormalizerStep, engine: normalizers.Normalizer, context: str
) -> None:
    if context == "{}":
        wrong = [c for c in SCALARS if normalize((step,), c) != engine.normalize_str(c)]
        assert not wrong, [f"U+{ord(c):04X}" for c in wrong[:10]]
    for start in range(0, len(SCALARS), 4096):
        text = "|".join(context.format(c) for c in SCALARS[start : start + 4096])
        assert normalize((step,), text) == engine.normalize_str(text), f"from U+{start:04X}"


@pytest.mark.parametrize(("step", "engine"), ONE_STEP[5:8], ids=IDS[5:8])
def test_every_code_point_of_the_engines_own(
    step: NormalizerStep, engine: normalizers.Normalizer
) -> None:
    for start in range(0, len(SCALARS), 4096):
        text = "|".join(SCALARS[start : start + 4096])
        assert normalize((step,), text) == engine.normalize_str(text), f"from U+{start:04X}"
    assert [normalize((step,), c) for c in SCALARS[:128]] == list(
        map(engine.normalize_str, SCALARS[:128])
    )


@pytest.mark.parametrize("flags", list(product([False, True], repeat=4)), ids=str)
@given(text=texts)
def test_each_part_of_bert(flags: tuple[bool, bool, bool, bool], text: str) -> None:
    step = BertText(*flags)
    assert normalize((step,), text) == normalizers.BertNormalizer(*flags).normalize_str(text)
    assert align((step,), text)[0] == normalize((step,), text)


@pytest.mark.parametrize(("step", "engine"), ONE_STEP, ids=IDS)
@given(text=texts)
def test_any_text(step: NormalizerStep, engine: normalizers.Normalizer, text: str) -> None:
    assert normalize((step,), text) == engine.normalize_str(text)


# After a replacement of empty matches, the engine's alignment breaks and it panics.
SAFE = [pair for pair in ONE_STEP if "pattern=''" not in str(pair[0]) and "a*" not in str(pair[0])]


@given(st.lists(st.sampled_from(SAFE), max_size=4), texts)
def test_any_sequence(
    chosen: list[tuple[NormalizerStep, normalizers.Normalizer]], text: str
) -> None:
    engine = normalizers.Sequence([engine for _, engine in chosen])
    assert normalize([step for step, _ in chosen], text) == engine.normalize_str(text)


def test_white_space_is_what_tokenizers_strips() -> None:
    engine = normalizers.Strip(left=True, right=True)
    assert {c for c in SCALARS if engine.normalize_str(c) == ""} == set(WHITE_SPACE)


def test_without_tokenizers_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    _engine.cache_clear()
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    assert normalize((UnicodeForm("NFC"), Lowercase(), Strip(True, True)), " Ab ") == "ab"
    with pytest.raises(EngineMissingError, match="install tokenizers"):
        normalize((UnicodeForm("NFC"),), "e\u0301")
    _engine.cache_clear()


@given(st.lists(st.sampled_from([step for step, _ in ONE_STEP]), max_size=4), texts)
def test_alignment_gives_the_same_text(steps: list[NormalizerStep], text: str) -> None:
    normalized, spans = align(steps, text)
    assert normalized == normalize(steps, text)
    assert len(spans) == len(normalized)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert spans == sorted(spans)


@pytest.mark.parametrize(
    ("step", "text", "expected"),
    [
        (UnicodeForm("NFC"), "xe\u0301y", [("x", "x"), ("é", "e\u0301"), ("y", "y")]),
        (UnicodeForm("NFD"), "xéy", [("x", "x"), ("e", "é"), ("\u0301", "é"), ("y", "y")]),
        (UnicodeForm("NFKC"), "ﬁn", [("f", "ﬁ"), ("i", "ﬁ"), ("n", "n")]),
        (Lowercase(), "İA", [("i", "İ"), ("\u0307", "İ"), ("a", "A")]),
        (Strip(True, True), " a b ", [("a", "a"), (" ", " "), ("b", "b")]),
        (Prepend("▁"), "ab", [("▁", "a"), ("a", "a"), ("b", "b")]),
        (Replace("ab", "XYZ"), "cab", [("c", "c"), ("X", "ab"), ("Y", "ab"), ("Z", "ab")]),
        (Replace("b", ""), "abc", [("a", "a"), ("c", "c")]),
        (StripAccents(), "ae\u0301b", [("a", "a"), ("e", "e"), ("b", "b")]),
        (Nmt(), "\x01a\x02\tb", [("a", "a"), (" ", "\t"), ("b", "b")]),
        (
            BertText(True, True, True, True),
            "\x00É中",
            [("e", "É"), (" ", "中"), ("中", "中"), (" ", "中")],
        ),
        (
            SentencePieceText(b"", True, "prefix", True),
            " a  b",
            [("▁", "a"), ("a", "a"), ("▁", " "), ("b", "b")],
        ),
    ],
)
def test_alignment(step: NormalizerStep, text: str, expected: list[tuple[str, str]]) -> None:
    normalized, spans = align((step,), text)
    origin = [text[start:end] for start, end in spans]
    assert list(zip(normalized, origin, strict=True)) == expected


@pytest.mark.parametrize(
    ("steps", "text", "expected"),
    [
        ((), "ab", 1),
        ((), "", 0),
        ((UnicodeForm("NFKC"),), "ﬁa", 2),
        ((Prepend("▁▁"),), "ab", 3),
        ((Strip(True, False),), " a", 0),
        ((StripAccents(),), "\u0301a", 0),
        ((Replace("ab", "c"),), "abc", 0),
        ((Replace("a", "c"),), "abc", 1),
        ((Strip(True, True),), " ", 0),
    ],
)
def test_what_comes_from_where_the_text_begins(
    steps: tuple[NormalizerStep, ...], text: str, expected: int
) -> None:
    """Held to tokenizers in tests/engines/test_split.py."""
    assert leading(steps, text) == expected


def test_a_normalizer_of_sentencepiece_has_no_such_place() -> None:
    with pytest.raises(EncodeError, match="no engine has both"):
        leading((SentencePieceText(b"", True, "none", False),), "a")


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
@given(text=texts)
def test_a_form_behind_itself_changes_nothing(
    form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str
) -> None:
    """Theorem 15: neither what is written, nor what comes from the first character."""
    once, twice = (UnicodeForm(form),), (UnicodeForm(form), UnicodeForm(form))
    engine = getattr(normalizers, form)()
    assert canonical_steps(twice) == once
    written = engine.normalize_str(text)
    assert engine.normalize_str(written) == written
    assert leading(twice, text) == leading(once, text)


@pytest.mark.parametrize("dummy", ["none", "prefix"])
@pytest.mark.parametrize("collapse", [True, False])
@pytest.mark.parametrize("escape", [True, False])
def test_spaces_of_sentencepiece_are_simple_steps(
    dummy: Literal["none", "prefix"], collapse: bool, escape: bool
) -> None:
    """Theorem 15: on every short text of spaces, U+2581 and letters."""
    step = SentencePieceText(b"", collapse, dummy, escape, ("a b",))
    assert has_plain_steps(step)
    for size in range(6):
        for chosen in product(" \u2581ab", repeat=size):
            text = "".join(chosen)
            assert normalize(plain_steps(step), text) == normalize((step,), text), text


@given(texts)
def test_decomposing_aligns_as_in_tokenizers(text: str) -> None:
    """Where no mark is moved, the engine's own spans are exact."""
    if normalize((UnicodeForm("NFC"),), text) != text:
        return

    def cut(_: int, whole: NormalizedString) -> list[NormalizedString]:
        whole.lowercase()
        return whole.split(Regex("(?m:.)"), "isolated")

    whole = PreTokenizedString(text)
    whole.split(cut)
    expected = [span for _, span, _ in whole.get_splits("original", "char")]
    assert align((Lowercase(),), text)[1] == expected


@pytest.mark.parametrize(
    "text", ["", "a", "é\ud800", "\ud83d\ude00x", "\ude00\ud83d", "\ud83d\ud83d\ude00"]
)
def test_surrogates_are_repaired_as_tiktoken_does(text: str) -> None:
    repaired = repair(text)
    assert repaired == text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    spans = repaired_spans(text)
    assert [repair(text[start:end]) for start, end in spans] == list(repaired)
    assert "".join(text[start:end] for start, end in spans) == text


_DOUBLED = {
    "type": "Sequence",
    "normalizers": [
        {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
        {"type": "Replace", "pattern": {"Regex": "\\A\u2581"}, "content": "\u2581\u2581"},
    ],
}
_PREFIXED = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always"}


@pytest.mark.parametrize(
    ("changes", "equal"),
    [
        ({}, True),
        ({"pre_tokenizer": _PREFIXED | {"split": False, "prepend_scheme": "first"}}, False),
        ({"pre_tokenizer": None}, False),
        ({"normalizer": _DOUBLED["normalizers"][0]}, False),
        ({"normalized": "</s>"}, False),
        ({"normalized": "\u2581x"}, False),  # both write it so that it begins with two U+2581
    ],
)
def test_a_first_space_that_is_doubled_before_metaspace_is_a_prefix(
    changes: dict[str, Any], equal: bool
) -> None:
    """As transformers 5 saves a ``LlamaTokenizer`` (Theorem 15)."""
    plain = json.loads((TOKENIZERS / "spm-tiny/huggingface/tokenizer.json").read_bytes())
    saved = {**plain, "normalizer": _DOUBLED, "pre_tokenizer": _PREFIXED | {"split": False}}
    saved |= {key: value for key, value in changes.items() if key != "normalized"}
    for each in (plain, saved):
        added = {token["content"]: token for token in each["added_tokens"]}
        if text := changes.get("normalized"):
            new = {"content": text, "id": len(each["model"]["vocab"])}
            added[text] = {**added["</s>"], **new, **added.get(text, {}), "normalized": True}
        each["added_tokens"] = [*added.values()]
    one, two = (json.dumps(each) for each in (plain, saved))
    texts = ["", " ", "  ", "a", " a", "\u2581", "\u2581a", "a b", "</s>", "</s> a", "</s>a</s>"]
    texts += [
        "a</s>\u2581b",
        " </s> </s>  x",
        "\u2581\u2581</s>",
        "the cat</s>\nthe</s> dog ",
        "a  xb",
    ]
    ids = [
        [Tokenizer.from_str(each).encode(text, add_special_tokens=False).ids for text in texts]
        for each in (one, two)
    ]
    assert (ids[0] == ids[1]) is equal
    left, right = (
        by_name("huggingface").load({"tokenizer.json": each.encode()}) for each in (one, two)
    )
    outcome = prove(left, right, "all").outcome
    assert outcome == "proved" if equal else outcome != "proved"
