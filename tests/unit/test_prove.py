"""What is proved, compared with our encoder on every short text, stage by stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from random import Random

import pytest

from bpe_interop.encode import Encoder
from bpe_interop.engines import from_model
from bpe_interop.errors import PatternError
from bpe_interop.merging.canonical import whole_lookups
from bpe_interop.merging.symbols import textual
from bpe_interop.model import AddedToken, BPEModel, RankTable, Vocab
from bpe_interop.proof.prove import SCOPES, about, narrower, prove
from bpe_interop.sources import load_source
from bpe_interop.steps import (
    Behavior,
    Digits,
    Fuse,
    Lowercase,
    Metaspace,
    NormalizerStep,
    Pattern,
    Prepend,
    PreTokenizerStep,
    Punctuation,
    Replace,
    Split,
    Strip,
    UnicodeForm,
    Words,
)
from bpe_interop.text.normalize import normalize
from bpe_interop.text.spellings import CL100K, CL100K_TRAILING, GPT2, QWEN2
from bpe_interop.text.split import Splitter
from bpe_interop.theory.cuts import DifferingCuts, _parts
from bpe_interop.theory.normalizers import canonical_steps, first_different_character, pipeline
from bpe_interop.theory.splitters import first_cut_difference
from fixtures import TOKENIZERS

LETTERS = "ab1 !"
TEXTS = ["".join(chosen) for size in range(5) for chosen in product(LETTERS, repeat=size)]
BEHAVIORS: tuple[Behavior, ...] = (
    "removed",
    "isolated",
    "merged_with_previous",
    "merged_with_next",
    "contiguous",
)
PATTERNS = (
    *(r"\d{1,2}", r"\d+", "a+", "a+b?", "ab|a", " ?a+", r"\s+(?!\S)|\s+", r"\s+", "a++"),
    *("(?:ab)+", r" ?[^\s\d]+|\d|\s+(?!\S)|\s", "a+$|a", "a(?=b)|b+", r"a\s*b", r"\s*!|\s+"),
)


def pattern(source: str, behavior: Behavior = "isolated", *, invert: bool = False) -> Split:
    return Split(Pattern(source, "oniguruma"), behavior, invert)


def random_step(rng: Random) -> PreTokenizerStep:
    kind, behavior = rng.randrange(8), rng.choice(BEHAVIORS)
    if kind == 0:
        return Digits(rng.random() < 0.5)
    if kind == 1:
        return Punctuation(behavior)
    if kind == 2:
        return Words()
    if kind == 3:
        return Split(rng.choice([" ", "a", "ab", "!"]), behavior, rng.random() < 0.3)
    return pattern(rng.choice(PATTERNS), behavior, invert=rng.random() < 0.25)


def cuts(splitter: Splitter, text: str) -> list[tuple[tuple[int, int], ...]]:
    return [tuple(spans) for _, spans in splitter.align(text)]


@pytest.mark.long
def test_sequences_of_splitters_are_decided_as_they_cut() -> None:
    """Theorem 14 in ``docs/theory.md``."""
    rng = Random(14)
    proved = 0
    for _ in range(400):
        a = [random_step(rng) for _ in range(rng.randrange(4))]
        b = [random_step(rng) for _ in range(rng.randrange(4))]
        if rng.random() < 0.6 and a:
            b = [*a]
            b[rng.randrange(len(b))] = random_step(rng)
        one, other = Splitter(a), Splitter(b)
        found = first_cut_difference(a, b)
        tried = next((t for t in TEXTS if cuts(one, t) != cuts(other, t)), None)
        if found is None:
            proved += 1
            assert tried is None
        else:
            assert cuts(one, found) != cuts(other, found)
            assert tried is None or len(found) <= len(tried)
            assert set(found) - set(LETTERS) or tried is None or len(found) == len(tried)
    assert proved > 20


DIGITS_FIRST = (pattern(r"\p{N}{1,3}"), pattern("[\u4e00-\u9fa5]+"))


@pytest.mark.parametrize(
    ("a", "b", "text"),
    [
        ((*DIGITS_FIRST, pattern(GPT2)), (*DIGITS_FIRST[::-1], pattern(GPT2)), None),
        ((Digits(individual=True),), (pattern(r"\p{N}"),), "!\U00011de0"),
        ((Digits(individual=False), Digits(individual=True)), (Digits(individual=True),), None),
        ((pattern(QWEN2),), (pattern(r"\p{N}"), pattern(QWEN2)), "\t\t0"),
        ((pattern(CL100K), pattern(r"\p{N}")), (pattern(QWEN2),), None),
        (
            (pattern(r"\s+", "removed"), Punctuation("isolated")),
            (Punctuation("isolated"), pattern(r"\s+", "removed")),
            None,
        ),
        ((Split(" ", "merged_with_next"),), (pattern(" [^ ]*|[^ ]+"),), None),
    ],
)
def test_published_kinds_of_splitters(
    a: Sequence[PreTokenizerStep], b: Sequence[PreTokenizerStep], text: str | None
) -> None:
    found = first_cut_difference(a, b)
    assert found == text or (found and text and len(found) == len(text))


def test_what_looks_behind_is_not_decided() -> None:
    with pytest.raises(PatternError):
        first_cut_difference([pattern("(?: |^)[^ ]*")], [pattern(" ?[^ ]+")])


def bytes_model(rng: Random, steps: Sequence[PreTokenizerStep]) -> BPEModel:
    """All bytes and a few tokens over the letters below."""
    tokens = [bytes([byte]) for byte in range(256)]
    for _ in range(rng.randrange(1, 5)):
        text = "".join(rng.choice("ab1 \n!\u00e9\u00b2") for _ in range(3)).encode()
        start = rng.randrange(len(text) - 1)
        tokens.append(text[start : start + rng.randrange(2, 4)])
    ids = {token: place for place, token in enumerate(dict.fromkeys(tokens))}
    return BPEModel(
        Vocab(ids),
        RankTable(ids),
        lookup_first=rng.random() < 0.3,
        normalizer=(),
        pretokenizer=tuple(steps),
        added=(),
    )


def test_cuts_that_no_token_crosses_change_nothing() -> None:
    """Theorem 26 in ``docs/theory.md``."""
    rng = Random(10)
    sides = [
        *((pattern(source),) for source in (GPT2, CL100K, QWEN2, r"\S+|\s+", r" ?\S+|\s+")),
        (Split(Pattern(CL100K_TRAILING, "fancy-regex"), "removed", True),),
        (Digits(individual=True), pattern(GPT2)),
        (pattern(r"[ab]+|[^ab]+"),),
    ]
    letters = "ab1 \n!\u00e9\u00b2"
    texts = ["".join(chosen) for size in range(4) for chosen in product(letters, repeat=size)]
    texts += ["".join(rng.choices(letters, k=rng.randrange(4, 12))) for _ in range(300)]
    harmless = 0
    for _ in range(25):
        a, b = rng.sample(sides, 2)
        places = DifferingCuts(a, b)
        for _ in range(3):
            one = bytes_model(rng, a)
            other = replace(one, pretokenizer=tuple(b))
            if places.none_beside(whole_lookups(one)) and places.none_across(textual(one)):
                harmless += 1
                left, right = Encoder(one), Encoder(other)
                assert all(left.encode(text) == right.encode(text) for text in texts)
    assert harmless > 5


def test_what_a_cut_off_character_may_be_is_all_that_ends_with_its_bytes() -> None:
    rng = Random(4)
    codes = [0x80, 0xBF, 0xFF, 0x100, 0x17F, 0x7FF, 0x800, 0xFFFF, 0x10000, 0x10FFFF]
    for code in codes + [rng.randrange(0x80, 0xD800) for _ in range(200)]:
        data = chr(code).encode("utf-8")
        for start in range(1, len(data)):
            [part] = _parts(data[start:])
            assert code in part
            for other in (*part[:3], *rng.sample(part, 3)):
                if not 0xD800 <= other < 0xE000:
                    assert other >= 0x80
                    assert (
                        chr(other).encode("utf-8")[-(len(data) - start) :][1:] == data[start:][1:]
                    )
                    assert (ord(chr(other)) - code) % (1 << 6 * (len(data) - start)) == 0


LEFT_OUT = (Replace("\ue000", ""), Replace("a", "\ue000" * 16383))
"""The next characters were once read as written together, and so as written alike."""

CHAINS: tuple[tuple[tuple[NormalizerStep, ...], tuple[NormalizerStep, ...], bool], ...] = (
    ((Prepend("\u2581"), Replace(" ", "\u2581")), (Replace(" ", "\u2581"), Prepend(" ")), False),
    ((Prepend(" "), Replace(" ", "\u2581")), (Replace(" ", "\u2581"), Prepend("\u2581")), True),
    ((Replace(Pattern(r"\x20", "oniguruma"), "x"),), (Replace(" ", "x"),), True),
    ((Prepend("x"), Replace("a", "")), (Replace("a", ""), Prepend("x")), False),
    ((Replace("A", "a"), Lowercase()), (Lowercase(),), True),
    ((Replace("A", "b"), Lowercase()), (Lowercase(),), False),
    ((Strip(left=False, right=False),), (), True),
    ((UnicodeForm("NFC"),), (), False),
    ((UnicodeForm("NFC"), UnicodeForm("NFC")), (UnicodeForm("NFC"),), True),
    ((Prepend("a"), Prepend("a")), (Prepend("a"),), False),
    ((Replace("a", "aa"), Replace("a", "aa")), (Replace("a", "aa"),), False),
    ((Replace(Pattern("[ac]", "oniguruma"), "b"),), (Replace("a", "b"),), False),
    ((Replace(Pattern("[a-c]", "oniguruma"), "b"),), (Replace("a", "b"),), False),
    ((Lowercase(), Replace("b", "c")), (Replace("b", "c"), Lowercase()), False),
    ((Prepend("ab"), Replace("ab", "c")), (Replace("ab", "c"), Prepend("c")), False),
    (
        (Prepend("a"), Replace(Pattern("[ac]", "oniguruma"), "b")),
        (Replace(Pattern("[ac]", "oniguruma"), "b"), Prepend("b")),
        False,
    ),
    ((Replace("a", "\ue000"), Lowercase()), (Lowercase(), Replace("a", "\ue000")), False),
    (
        (Replace("a", "\ue000"), Replace("b", "c")),
        (Replace("b", "c"), Replace("a", "\ue000")),
        True,
    ),
    (
        (*LEFT_OUT, Replace("b", "x"), Replace("c", "")),
        (*LEFT_OUT, Replace("b", ""), Replace("c", "x")),
        False,
    ),
)


@pytest.mark.long
@pytest.mark.parametrize(("a", "b", "same"), CHAINS)
def test_chains_of_normalizers(
    a: tuple[NormalizerStep, ...], b: tuple[NormalizerStep, ...], same: bool
) -> None:
    """Theorem 15 in ``docs/theory.md``."""
    try:
        found = first_different_character(a, b)
    except PatternError:
        assert not same
        assert canonical_steps(a) != canonical_steps(b)
        return
    assert (found is None) is same
    if found is not None:
        assert normalize(a, found) != normalize(b, found)


def test_metaspace_asks_where_the_first_character_comes_from() -> None:
    """Theorem 15: what writes every text alike may not leave the first character its place."""
    model = load_source(TOKENIZERS / "spm-tiny" / "huggingface").model
    first = (Metaspace("\u2581", "first"),)
    plain = replace(model, normalizer=(), pretokenizer=first, sequence_template=None)
    for step, text in (
        (Replace("th", "th"), "the"),
        (Replace(Pattern("er", "oniguruma"), "er"), "er"),
    ):
        other = replace(plain, normalizer=(step,))
        ids = [from_model("tokenizers", each).encode(text) for each in (plain, other)]
        assert ids[0] != ids[1]
        found = prove(plain, other)
        assert (found.outcome, found.stage) == ("different", "normalizer")
        never = (replace(plain, pretokenizer=()), replace(other, pretokenizer=()))
        assert prove(*never).outcome != "different"
    single = replace(plain, normalizer=(Replace("t", "t"),))
    assert prove(plain, single).outcome == "proved"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((Replace("a", "xb"), Replace("x", "")), (Replace("x", ""), Replace("a", "b"))),
        ((Prepend("a"), Replace("t", "t")), (Prepend("a"),)),
    ],
)
def test_theorem_15_shows_no_places_of_other_steps_or_of_what_is_prepended(
    one: tuple[NormalizerStep, ...], other: tuple[NormalizerStep, ...]
) -> None:
    """These write every text alike, which is all that other steps need, or one that never asks."""
    model = load_source(TOKENIZERS / "spm-tiny" / "huggingface").model
    assert first_different_character(one, other) is None
    for step, outcome in (
        (Metaspace("\u2581", "first"), "unknown"),
        (Metaspace("\u2581", "always"), "proved"),
        (Words(), "proved"),
    ):
        plain = replace(model, pretokenizer=(step,), sequence_template=None)
        a, b = replace(plain, normalizer=one), replace(plain, normalizer=other)
        assert prove(a, b, most=100).outcome == outcome  # where no theorem says it, few texts do


def test_metaspace_that_never_prepends_is_a_replacement() -> None:
    """Theorem 15 in ``docs/theory.md``."""
    model = load_source(TOKENIZERS / "spm-tiny" / "huggingface").model
    one = replace(
        model, normalizer=(), pretokenizer=(Metaspace("\u2581", "never"),), sequence_template=None
    )
    other = replace(one, normalizer=(Replace(" ", "\u2581"),), pretokenizer=())
    assert prove(one, other).outcome == "proved"
    added = AddedToken(" ", 600, special=False, normalized=True)
    looked_for = [pipeline(replace(m, added=(*(m.added or ()), added))) for m in (one, other)]
    assert looked_for[0] != looked_for[1]
    first = Metaspace("_", "first")
    behind = replace(one, pretokenizer=(Metaspace("\u2581", "never"), first))
    assert prove(behind, replace(other, pretokenizer=(first,))).outcome == "proved"
    always = replace(one, pretokenizer=(Metaspace("\u2581", "always"),))
    found = prove(always, other)
    assert found.outcome == "different"
    assert found.witness is not None


@pytest.mark.parametrize("name", ["spm-user-tiny", "spm-odd-tiny", "spm-unk-tiny", "spm-tiny"])
def test_what_is_read_twice_is_proved(name: str) -> None:
    source = TOKENIZERS / name / "sentencepiece"
    assert prove(load_source(source).model, load_source(source).model).outcome == "proved"


def test_user_defined_tokens_stand_for_added_ones_but_not_as_text() -> None:
    """Theorem 24 in ``docs/theory.md``."""
    one = load_source(TOKENIZERS / "spm-user-tiny" / "sentencepiece").model
    other = load_source(TOKENIZERS / "spm-user-tiny" / "huggingface").model
    assert prove(one, other, "ordinary").outcome == "proved"
    assert prove(one, other, "text").outcome == "different"
    fewer = replace(other, added=(other.added or ())[:-1])
    assert prove(one, fewer, "ordinary").outcome == "different"


def test_every_byte_fallback_and_template_is_said() -> None:
    model = load_source(TOKENIZERS / "template-tiny" / "huggingface").model
    silent = replace(model, sequence_template=None, added=None)
    stages = {stage.name: stage for stage in prove(model, silent).stages}
    assert stages["sequence template"].why.startswith("the second does not say")
    assert stages["special tokens"].outcome == "unknown"
    neither = {stage.name: stage for stage in prove(silent, silent).stages}
    assert neither["sequence template"].outcome == "proved"
    assert neither["special tokens"].why.startswith("neither side says")


def test_a_special_token_that_is_text_hides_what_overlaps_it() -> None:
    model = load_source(TOKENIZERS / "gpt2-tiny" / "huggingface").model
    plain = AddedToken("|tool>", 900, special=False)
    for text, outcome in (("<|end|", "different"), ("<|end>", "proved"), ("|tool>|", "different")):
        one = replace(model, added=(plain, AddedToken(text, 901)))
        found = prove(one, replace(model, added=(plain,)), "ordinary")
        assert found.outcome == outcome
        assert found.witness == {"<|end|": "<|end|tool>", "|tool>|": "|tool>|"}.get(text)


def outcome_of(a: BPEModel, b: BPEModel, stage: str) -> str:
    [found] = [each for each in prove(a, b).stages if each.name == stage]
    return found.outcome


def test_special_tokens_that_only_one_engine_finds_are_not_proved() -> None:
    """sentencepiece spells out ``<s>`` in a text, and tokenizers finds it."""
    pieces, document = (
        load_source(TOKENIZERS / "spm-tiny" / name).model
        for name in ("sentencepiece", "huggingface")
    )
    pieces = replace(pieces, added=document.added)
    assert outcome_of(pieces, pieces, "special tokens") == "proved"
    assert outcome_of(pieces, document, "special tokens") == "unknown"


def test_templates_that_place_pairs_otherwise_are_not_proved() -> None:
    model = load_source(TOKENIZERS / "template-tiny" / "huggingface").model
    template = model.sequence_template
    assert template is not None
    assert template.pair
    other = replace(template, pair=(*template.pair, *template.pair[:1]))
    changed = replace(model, sequence_template=other)
    assert outcome_of(model, model, "sequence template") == "proved"
    assert outcome_of(model, changed, "sequence template") == "unknown"
    fewer = replace(model, sequence_template=replace(template, single=template.single[1:]))
    assert outcome_of(model, fewer, "sequence template") == "different"


# What a proof is about.

GPT2_TINY: BPEModel = load_source(TOKENIZERS / "gpt2-tiny" / "huggingface").model


def with_token(text: str) -> BPEModel:
    return replace(
        GPT2_TINY, added=(*(GPT2_TINY.added or ()), AddedToken(text, 9_999, special=True))
    )


def test_what_no_side_states_is_not_what_a_verdict_is_about() -> None:
    silent = replace(GPT2_TINY, sequence_template=None)
    assert GPT2_TINY.sequence_template is not None
    said = {
        scope: about(scope, prove(silent, silent, scope).stages) for scope in ("all", "ordinary")
    }
    assert said["all"].endswith("no side says what is placed around a text")
    assert said["ordinary"] == SCOPES["ordinary"]
    assert about("all", prove(GPT2_TINY, GPT2_TINY).stages) == SCOPES["all"]


def test_what_does_not_count_in_a_scope_is_still_shown() -> None:
    """The text of a special token differs; where none matches, that changes no id."""
    proof = prove(with_token("<one>"), with_token("<two>"), "text")
    shown = {stage.name: stage.outcome for stage in proof.stages}
    assert shown["special tokens"] == "different"
    assert proof.outcome == "proved"


def test_tokens_that_decode_otherwise_leave_the_ids_of_ordinary_texts() -> None:
    pair = with_token("<one>"), with_token("<two>")
    proof = prove(*pair)
    shown = {stage.name: stage.outcome for stage in proof.stages}
    assert (shown["special tokens"], shown["decoding"]) == ("different", "unknown")
    assert narrower(*pair, proof) == "ordinary"


def test_ids_that_decode_otherwise_may_do_so_in_every_scope() -> None:
    pair = GPT2_TINY, replace(GPT2_TINY, decoder=(Fuse(),))
    proof = prove(*pair)
    assert [stage.name for stage in proof.counted if stage.outcome != "proved"] == ["decoding"]
    assert narrower(*pair, proof) is None
