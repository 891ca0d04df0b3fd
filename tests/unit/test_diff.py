"""In which fields two models differ: by what the fields mean, not by how they are written."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from bpe_interop.diff import describe_step, diff, difference
from bpe_interop.merging.canonical import canonical
from bpe_interop.model import (
    AddedToken,
    Affixes,
    BPEModel,
    Fallback,
    PairList,
    RankTable,
    SequenceTemplate,
    TemplateText,
    TemplateToken,
    Vocab,
)
from bpe_interop.sources import load_source
from bpe_interop.steps import (
    Behavior,
    ByteChars,
    Dialect,
    JoinPieces,
    Metaspace,
    Pattern,
    Precompiled,
    PrefixSpace,
    Prepend,
    Replace,
    SentencePieceText,
    Split,
    StripToken,
    UnicodeForm,
)
from bpe_interop.text.split import split as split_text
from bpe_interop.theory.normalizers import plain_steps
from fixtures import TOKENIZERS

IDS = {b"a": 0, b"b": 1, b"c": 2, b"ab": 3, b"bc": 4, b"abc": 5}
PLAIN = BPEModel(vocab=Vocab(IDS), merges=RankTable(IDS), normalizer=(), pretokenizer=(), added=())


def fields(a: BPEModel, b: BPEModel) -> dict[str, str]:
    return {each.field: each.kind for each in diff(a, b)}


@pytest.mark.parametrize("name", ["gpt2-tiny", "cl100k-tiny", "o200k-tiny", "nonmonotone-tiny"])
def test_ranks_and_the_merges_of_the_same_system_are_equal(name: str) -> None:
    ranks = load_source(TOKENIZERS / name / "tiktoken").model
    pairs = load_source(TOKENIZERS / name / "huggingface").model
    assert isinstance(ranks.merges, RankTable)
    assert isinstance(pairs.merges, PairList)
    assert not fields(ranks, pairs).keys() & {"merges", "vocab", "pretokenizer", "lookup_first"}


def test_merges_that_never_fire_do_not_count() -> None:
    listed = PairList(tuple(canonical(PLAIN).splits.values()))
    assert fields(PLAIN, replace(PLAIN, merges=listed)) == {}
    more = PairList((*listed.pairs, (b"ab", b"c"), (b"a", b"bc")))
    assert fields(PLAIN, replace(PLAIN, merges=more)) == {}
    fewer = PairList(listed.pairs[1:])
    [found] = diff(PLAIN, replace(PLAIN, merges=fewer))
    assert found.field == "merges"
    assert '"a" + "b"' in found.how


def test_lookup_counts_only_where_merging_cannot_reach() -> None:
    assert fields(PLAIN, replace(PLAIN, lookup_first=True)) == {}
    ids = {**IDS, b"cab": 6}
    odd = replace(PLAIN, vocab=Vocab(ids), merges=PairList(((b"a", b"b"),)))
    [found] = diff(odd, replace(odd, lookup_first=True))
    assert found.field == "lookup_first"


UNREACHED = {**IDS, b"acca": 6}


@pytest.mark.parametrize("ids", [IDS, UNREACHED])
@pytest.mark.parametrize("looks", [(True, True), (True, False), (False, True), (False, False)])
def test_one_canonical_form_is_enough_for_the_lookups_of_two(
    ids: dict[bytes, int], looks: tuple[bool, bool]
) -> None:
    listed = PairList(tuple(canonical(PLAIN).splits.values()))
    one = replace(PLAIN, vocab=Vocab(ids), merges=listed, lookup_first=looks[0])
    two = replace(one, merges=RankTable({**ids}), lookup_first=looks[1])
    assert (b"acca" in canonical(one).unreachable) == (ids is UNREACHED)
    differs = ids is UNREACHED and looks[0] != looks[1]
    assert fields(one, two) == ({"lookup_first": "different"} if differs else {})
    assert canonical.known(two) == (ids is UNREACHED)


def test_equal_merges_over_other_tokens_are_looked_up_otherwise() -> None:
    """Of two that merge alike, one may have more tokens that merging never builds."""
    listed = PairList(tuple(canonical(PLAIN).splits.values()))
    one, two = (
        replace(PLAIN, vocab=Vocab(ids), merges=listed, lookup_first=True)
        for ids in (IDS, {**IDS, b"acca": 6})
    )
    assert fields(one, two) == {"vocab": "different", "lookup_first": "different"}


def test_unstated_is_not_different() -> None:
    assert fields(PLAIN, replace(PLAIN, added=None)) == {"added": "unstated"}
    assert fields(replace(PLAIN, pretokenizer=None), PLAIN) == {"pretokenizer": "unstated"}
    assert fields(replace(PLAIN, added=None), replace(PLAIN, added=None)) == {}


GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
R50K = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"


def split(source: str, dialect: Dialect, behavior: Behavior, invert: bool) -> BPEModel:
    step = Split(Pattern(source, dialect), behavior, invert)
    return replace(PLAIN, pretokenizer=(step,))


def test_spellings_that_split_alike_are_equal() -> None:
    old = split(GPT2, "oniguruma", "isolated", False)
    assert fields(old, split(GPT2, "oniguruma", "isolated", True)) == {}
    assert fields(old, split(GPT2, "fancy-regex", "removed", True)) == {}
    assert fields(old, split(R50K, "fancy-regex", "removed", True)) == {}


def test_patterns_that_split_otherwise_show_a_text() -> None:
    a = split(r"\p{N}{1,3}|\P{N}+", "oniguruma", "isolated", False)
    b = split(r"\p{N}{1,2}|\P{N}+", "oniguruma", "isolated", False)
    [found] = diff(a, b)
    assert found.field == "pretokenizer"
    assert r"\p{N}{1,3}" in found.how
    assert 'they split "000" differently' in found.how
    both = diff(a, replace(b, vocab=Vocab({**IDS, b"x": 6})))
    assert ["they split" in each.how for each in both] == [each is both[-1] for each in both]
    assert [each.field for each in both] == ["vocab", "pretokenizer"]
    assert fields(a, split(r"\p{N}{1,3}+|\P{N}+", "oniguruma", "isolated", False))


def test_added_tokens_by_their_flags() -> None:
    one = AddedToken("<x>", 9)
    a = replace(PLAIN, added=(one,))
    for other, said in (
        (replace(one, lstrip=True), "lstrip no in the first; lstrip yes in the second"),
        (replace(one, special=False), "special yes in the first; special no in the second"),
        (replace(one, id=10), "id 9 in the first; id 10 in the second"),
        (replace(one, roles=("eos",)), "roles none in the first; roles eos in the second"),
    ):
        [found] = diff(a, replace(PLAIN, added=(other,)))
        assert said in found.how
    [found] = diff(a, PLAIN)
    assert found.how == '1 and 0 tokens; 1 only in the first: "<x>" 9'
    assert fields(a, replace(PLAIN, added=(replace(one, normalized=True),))) == {}
    normalized = replace(PLAIN, normalizer=(UnicodeForm("NFC"),))
    assert fields(
        replace(normalized, added=(one,)),
        replace(normalized, added=(replace(one, normalized=True),)),
    )


def test_added_tokens_of_each_side_are_counted() -> None:
    def having(*added: AddedToken) -> BPEModel:
        return replace(PLAIN, added=added)

    alone = [AddedToken(f"<{n}>", 10 + n) for n in range(4)]
    one, two = AddedToken("<x>", 20), AddedToken("<y>", 21)
    [both] = diff(
        having(one, two, *alone[:3]),
        having(replace(one, id=5), replace(two, lstrip=True), alone[3]),
    )
    assert both.how == (
        '5 and 3 tokens; 3 only in the first, such as "<0>" 10; 1 only in the second: "<3>" 13; '
        '2 differ, such as "<x>": id 20 in the first; id 5 in the second'
    )
    flagged = replace(one, lstrip=True)
    for left, right, how in (
        ((one, flagged), (one,), '"<x>": lstrip yes in the first; lstrip no in the second'),
        ((flagged, one), (one,), '"<x>": lstrip yes in the first; lstrip no in the second'),
        ((one,), (one, flagged), '"<x>": lstrip no in the first; lstrip yes in the second'),
        ((one, flagged), (flagged, one), "the order of texts that share an id"),
    ):
        [repeated] = diff(having(*left), having(*right))
        assert repeated.how == how


def test_the_example_of_added_tokens_is_one_that_matters() -> None:
    def differing(*left: AddedToken) -> str:
        right = [replace(token, roles=(), lstrip=False, id=token.id % 100) for token in left]
        [found] = diff(replace(PLAIN, added=left), replace(PLAIN, added=tuple(right)))
        return found.how

    unk, end = AddedToken("<u>", 20, roles=("unk",)), AddedToken("<e>", 21, roles=("eos",))
    flagged, moved = AddedToken("<f>", 22, lstrip=True), AddedToken("<m>", 123)
    assert differing(unk, end).startswith('2 differ, such as "<e>": roles eos in the first')
    assert differing(unk, end, flagged).startswith('3 differ, such as "<f>": lstrip yes in the')
    assert differing(unk, end, flagged, moved).startswith('4 differ, such as "<m>": id 123 in the')


def test_vocabularies_by_token_and_id() -> None:
    other = {**{t: i for t, i in IDS.items() if t != b"abc"}, b"c\x01": 6, b"c": 7}
    [found] = [
        each
        for each in diff(PLAIN, replace(PLAIN, vocab=Vocab(other), merges=PairList(())))
        if each.field == "vocab"
    ]
    assert '"abc"' in found.how
    assert r'"c\x01"' in found.how
    assert "2 in the first, 7 in the second" in found.how


def test_steps_for_people() -> None:
    assert describe_step(UnicodeForm("NFC")) == "Unicode NFC"
    assert describe_step(Split("\n", "isolated")) == r'Split "\n" isolated'
    step = Split(Pattern("a+", "oniguruma"), "removed", True)
    assert describe_step(step) == "Split `a+` keeping what matches"
    assert describe_step(replace(step, behavior="isolated")) == "Split `a+` isolated invert"
    assert describe_step(JoinPieces("?", "none", False)) == (
        'as SentencePiece does: unknown token as "?"'
    )
    assert describe_step(JoinPieces("?", "suffix", False)) == (
        'as SentencePiece does: unknown token as "?", dummy space as suffix'
    )
    assert describe_step(StripToken(" ", 1, 0)) == 'Strip " ", up to 1 at the start'
    assert (
        describe_step(StripToken("x", 1, 2)) == 'Strip "x", up to 1 at the start and 2 at the end'
    )
    assert describe_step(Replace(" ", "_")) == 'Replace " " with "_"'
    assert describe_step(Replace(Pattern("a+", "oniguruma"), "_")) == 'Replace `a+` "_"'


_ALONE: tuple[Behavior, bool] = ("isolated", False)


def test_whose_dialect_a_pattern_is_in_is_said_where_nothing_else_differs() -> None:
    # "$" is before each line feed to tokenizers, and only at the end to tiktoken.
    one, other = split(r"a$", "oniguruma", *_ALONE), split(r"a$", "fancy-regex", *_ALONE)
    found = difference(one, other, "pretokenizer")
    assert found is not None
    reads = " and ".join(
        rf"Split `a$` (as {library} reads it) isolated" for library in ("tokenizers", "tiktoken")
    )
    assert found.how.startswith(reads)


def characters(**changes: Any) -> BPEModel:
    """A model of characters, as both a .model and a tokenizer.json have it."""
    ids = {b"a": 0, b"b": 1, b"ab": 2, b"\n": 3, b"<x>": 4}
    model = BPEModel(
        vocab=Vocab(ids),
        merges=RankTable({b"ab": 0, b"a": 1, b"b": 2, b"\n": 3}),
        alphabet="char",
        fallback=Fallback("unknown", 9),
        normalizer=(Replace(" ", "\u2581"),),
        pretokenizer=(),
        added=(AddedToken("<unk>", 9),),
    )
    return replace(model, **changes)


def test_kinds_and_scores_count_where_they_change_an_id() -> None:
    model = characters()
    vocab, listed = model.vocab, PairList(((b"a", b"b"),))
    scored = replace(model, vocab=replace(vocab, scores=dict.fromkeys(range(5), 0.0)))
    assert not diff(model, scored)
    falling = replace(model, vocab=replace(vocab, scores={n: -n / 2 for n in range(5)}))
    assert fields(scored, falling) == {"vocab": "different"}
    twice = replace(model, vocab=replace(vocab, scores={n: -float(n) for n in range(5)}))
    assert not diff(falling, twice)
    idle = replace(model, vocab=replace(vocab, kinds={4: "unused"}))
    assert not diff(model, replace(idle, merges=listed))
    built = replace(model, vocab=replace(vocab, kinds={2: "unused"}))
    assert fields(model, built) == {"merges": "different"}


def test_user_defined_tokens_are_added_tokens_where_the_normalizer_leaves_them() -> None:
    model = characters()
    ids = model.vocab.ids
    found = AddedToken("<x>", 4, special=False, normalized=True)
    users = replace(model, vocab=Vocab(ids, {4: "user_defined"}))
    others = {content: n for content, n in ids.items() if n != 4}
    token = replace(model, vocab=Vocab(others), added=(*(model.added or ()), found))
    assert not diff(users, token)
    assert fields(users, model) == {"vocab": "different", "added": "different"}
    prefix = (Prepend("\u2581"), Replace(" ", "\u2581"))
    left, right = replace(users, normalizer=prefix), replace(token, normalizer=prefix)
    assert fields(left, right) == {"vocab": "different", "added": "different"}
    newline = replace(left, vocab=Vocab(ids, {3: "user_defined"}))
    assert not diff(newline, replace(model, normalizer=prefix))


def test_fallbacks_count_where_something_falls_back() -> None:
    everything = {f"<0x{byte:02X}>".encode(): 10 + byte for byte in range(256)}
    ids = {**characters().vocab.ids, **everything}
    model = characters(vocab=Vocab(ids, {10 + byte: "byte" for byte in range(256)}))
    bytes_first = Fallback("unknown", 9, fuse=True, byte_fallback=True)
    one = replace(model, fallback=bytes_first)
    assert not diff(one, replace(one, fallback=Fallback("drop", byte_fallback=True)))
    spelled_only = replace(one, vocab=Vocab(ids))
    assert diff(spelled_only, replace(spelled_only, fallback=Fallback("drop", byte_fallback=True)))
    assert "fallback" in fields(one, model)
    late = replace(model, fallback=Fallback("unknown", 9, after_merging=True))
    assert not diff(model, late)
    ids = {content: n for content, n in model.vocab.ids.items() if content != b"b"}
    through = RankTable({b"ab": 0, b"a": 1})
    missing = replace(late, vocab=Vocab(ids), merges=through)
    [said] = diff(missing, replace(missing, fallback=model.fallback))[-1:]
    assert said.how == (
        "in the first missing symbols become token 9 after merging; "
        "in the second missing symbols become token 9 before merging"
    )


def test_spaces_removed_by_either_family_are_the_same() -> None:
    step = SentencePieceText(b"", collapse=True, dummy="prefix", escape=True)
    model = characters(normalizer=(step,))
    assert not diff(model, characters(normalizer=plain_steps(step)))
    suffix = replace(step, dummy="suffix")
    assert "normalizer" in fields(model, characters(normalizer=(suffix,)))


def test_affixes_and_character_maps_are_described() -> None:
    model = characters()
    [found] = diff(model, replace(model, affixes=Affixes(suffix=b"</w>")))
    assert found.how == 'prefix "", suffix "" in the first; prefix "", suffix "</w>" in the second'
    assert describe_step(Precompiled(b"abc")) == (
        "Precompiled charsmap of 3 bytes, sha256 ba7816bf8f01"
    )


def test_what_differs_is_said_in_words() -> None:
    text = TemplateText("A")
    before = SequenceTemplate((TemplateToken("<s>", (1,)), text))
    after = replace(before, pair=(text, TemplateText("B", 1)))
    how = [
        diff(replace(PLAIN, sequence_template=a), replace(PLAIN, sequence_template=b))[0].how
        for a, b in ((None, before), (SequenceTemplate(), before), (before, after))
    ]
    assert how == [
        "the first does not say",
        'nothing and "<s>" (1) text A',
        "for a pair nothing and text A text B (type ids 0, 1)",
    ]
    [found] = diff(PLAIN, replace(PLAIN, normalizer=(UnicodeForm("NFC"),)))
    assert found.how == "none and Unicode NFC"
    one, two = (replace(PLAIN, chat_template=text) for text in ("{{ a }}\n", "b" * 90))
    [found] = diff(one, two)
    assert found.how == f'"{{{{ a }}}}\\n" and "{"b" * 77}..."'
    one, two = (replace(PLAIN, chat_template="x" * 200 + end) for end in ("a", "b"))
    [found] = diff(one, two)
    assert found.how == f"at character 189: `{'x' * 12}a` and `{'x' * 12}b`"
    assert any(
        "bytes and characters" in f.how for f in diff(PLAIN, replace(PLAIN, alphabet="char"))
    )


def test_who_does_not_say_is_named() -> None:
    said = {each.how for each in diff(PLAIN, replace(PLAIN, added=None))}
    assert said == {"the second does not say"}
    said = {each.how for each in diff(replace(PLAIN, added=None), PLAIN)}
    assert said == {"the first does not say"}


def test_settings_of_a_format_are_compared() -> None:
    one = replace(PLAIN, extras={"x": 1, "y": 2})
    assert fields(one, replace(PLAIN, extras={"x": 1, "y": 2})) == {}
    [found] = diff(one, replace(PLAIN, extras={"x": 1, "y": 3, "z": 4}))
    assert found.field == "extras"
    assert found.how == "further settings, which change no id: y, z"
    many = [f"a_setting_of_a_format_{n}" for n in range(10)]
    [found] = diff(PLAIN, replace(PLAIN, extras=dict.fromkeys(many, 1)))
    assert found.how == f"further settings, which change no id: {', '.join(many)}"
    assert not found.whole


def test_lookups_beside_an_unsaid_pattern_are_all_compared() -> None:
    """Where it is not said how texts are split, any token may be a pretoken."""
    ids = {**IDS, b"cab": 6}
    looking = replace(
        PLAIN,
        vocab=Vocab(ids),
        merges=PairList(((b"a", b"b"),)),
        pretokenizer=None,
    )
    first, second = (replace(looking, lookup_first=each) for each in (True, False))
    assert fields(first, second) == {"lookup_first": "different"}
    letters = (Split(Pattern(r"[\s\S]", "oniguruma"), "isolated"),)
    first, second = (replace(each, pretokenizer=letters) for each in (first, second))
    assert fields(first, second) == {}


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (Split(Pattern("a+", "oniguruma"), "removed", True), ("isolated", False)),
        (Split(Pattern("a+", "oniguruma"), "removed", True), ("removed", False)),
        (Split(Pattern(r"[\s\S]", "oniguruma"), "isolated"), ("contiguous", False)),
        (Split(Pattern(r"[\s\S]", "oniguruma"), "isolated"), ("removed", False)),
    ],
)
def test_behaviors_that_cut_otherwise_are_different(one: Split, two: tuple[Behavior, bool]) -> None:
    other = replace(one, behavior=two[0], invert=two[1])
    assert split_text((one,), "ab") != split_text((other,), "ab")
    sides = [replace(PLAIN, pretokenizer=(step,)) for step in (one, other)]
    assert fields(*sides) == fields(*sides[::-1]) == {"pretokenizer": "different"}


def test_a_text_is_named_for_two_single_patterns_only() -> None:
    short, long, literal = (
        (Split(Pattern("a", "oniguruma"), "isolated"),),
        (Split(Pattern("aa", "oniguruma"), "isolated"),) * 2,
        (Split("a", "isolated"),),
    )
    for one, two in ((short, long), (long, short), (short, literal), (literal, short)):
        sides = [replace(PLAIN, pretokenizer=steps) for steps in (one, two)]
        [found] = diff(*sides)
        assert "otherwise" not in found.how


def kept(source: str) -> Split:
    return Split(Pattern(source, "oniguruma"), "removed", True)


@pytest.mark.parametrize(
    ("steps", "pattern", "alike"),
    [
        ((Split("1", "isolated"), kept("a+|[^a]+")), "1|a+|[^a1]+", True),
        ((Split("1", "isolated"), kept("a+|[^a]+")), "a+|[^a]+", False),
        ((), r"[\s\S]+", True),
        ((), ".+", False),
    ],
)
def test_one_pattern_that_cuts_as_a_sequence_does_is_equal(
    steps: tuple[Split, ...], pattern: str, alike: bool
) -> None:
    """Theorem 29 in ``docs/theory.md``. A pattern that takes texts whole still says something."""
    one, two = (replace(PLAIN, pretokenizer=each) for each in (steps, (kept(pattern),)))
    told = {} if alike and steps else {"pretokenizer": "different"}
    assert fields(one, two) == fields(two, one) == told
    texts = ["".join(text) for size in range(1, 5) for text in product("a1\n", repeat=size)]
    cuts = [[split_text(model.pretokenizer or (), t) for t in texts] for model in (one, two)]
    assert (cuts[0] == cuts[1]) is alike


# Each pair is told apart, or is not, by one condition alone.

CHARS = replace(PLAIN, alphabet="char")
BC = AddedToken("bc", 9, special=False, normalized=True)
AB_BC = PairList(((b"a", b"b"), (b"b", b"c")))
BC_AB = PairList(AB_BC.pairs[::-1])
LATE = Fallback("unknown", 9, after_merging=True)
TURNED = {b"a": 0, b"b": 1, b"c": 2, b"bc": 3, b"ab": 4}
TIED = {b"a": 0, b"b": 1, b"c": 2, b"ab": 3, b"bc": 3}
HALF = {b"\xc3": 0, b"\xa9": 1, b"\xa9b": 2, b"b": 3}
HALVES = BPEModel(
    vocab=Vocab(HALF), merges=RankTable(HALF), normalizer=(), pretokenizer=(), added=(BC,)
)


def with_kind(kind: Any, number: int = 3) -> BPEModel:
    return replace(CHARS, vocab=Vocab(IDS, {number: kind}))


def listed(*pairs: tuple[bytes, bytes], **others: Any) -> BPEModel:
    return replace(CHARS, merges=PairList(pairs), **others)


FOUR = {token: n for n, token in enumerate((b"a", b"b", b"c", b"d", b"ab", b"bc", b"cd"))}
SPACED = {**IDS, b" ": 6, b" a": 7}
SPACE_A = replace(BC, text=" a", id=7)


def with_space(*pairs: tuple[bytes, bytes], **others: Any) -> BPEModel:
    return listed(*pairs, vocab=Vocab(SPACED), **others)


WITHOUT_BC = {token: number for token, number in IDS.items() if token != b"bc"}
APART: dict[str, tuple[BPEModel, BPEModel, str]] = {
    "a kind": (with_kind("control"), CHARS, "vocab"),
    "a user-defined token that merges build too": (with_kind("user_defined"), CHARS, "vocab"),
    "the id of a token that is always found": (
        listed((b"a", b"b"), added=(BC,)),
        listed((b"a", b"b"), added=(BC,), vocab=Vocab(WITHOUT_BC)),
        "vocab",
    ),
    "the same tokens of other parts": (
        listed(*AB_BC.pairs, (b"ab", b"c")),
        listed(*AB_BC.pairs, (b"a", b"bc")),
        "merges",
    ),
    "ties, and a list in one order": (
        replace(CHARS, merges=RankTable(TIED)),
        replace(CHARS, merges=BC_AB),
        "merges",
    ),
    "ties, and a list in the order of their ids": (
        replace(CHARS, vocab=Vocab(TURNED), merges=RankTable({**TURNED, b"ab": 3})),
        replace(CHARS, vocab=Vocab(TURNED), merges=BC_AB),
        "merges",
    ),
    "merges that leave other tokens to a lookup": (
        listed(*AB_BC.pairs, lookup_first=True),
        listed(AB_BC.pairs[0], lookup_first=True),
        "lookup_first",
    ),
    "affixes that leave other tokens to a lookup": (
        listed(*AB_BC.pairs, lookup_first=True, fallback=LATE),
        listed(*AB_BC.pairs, lookup_first=True, fallback=LATE, affixes=Affixes(suffix=b"x")),
        "lookup_first",
    ),
    "merges that a special token does not hide": (
        listed(*AB_BC.pairs, added=(replace(BC, special=True),)),
        listed(AB_BC.pairs[0], added=(replace(BC, special=True),)),
        "merges",
    ),
    "the pass in which a token is found": (
        replace(CHARS, added=(AddedToken("a", 7, rstrip=True), AddedToken(" b", 8))),
        replace(
            CHARS, added=(AddedToken("a", 7, rstrip=True), AddedToken(" b", 8, normalized=True))
        ),
        "added",
    ),
    "an alphabet": (listed(*AB_BC.pairs), replace(PLAIN, merges=BC_AB), "alphabet"),
    "affixes": (
        listed(*AB_BC.pairs, affixes=Affixes(suffix=b"c")),
        listed(AB_BC.pairs[0], affixes=Affixes(suffix=b"b")),
        "affixes",
    ),
    "merges of parts of characters": (HALVES, replace(HALVES, merges=PairList(())), "merges"),
    "merges that an added token hides, if nothing else is written into a text": (
        listed(*AB_BC.pairs, added=(BC,), pretokenizer=None),
        listed(AB_BC.pairs[0], added=(BC,), pretokenizer=None),
        "merges",
    ),
    "merges of characters that stand for bytes": (
        listed((b"a", b"b"), added=(replace(BC, text="ab", id=3),), pretokenizer=(ByteChars(),)),
        listed(added=(replace(BC, text="ab", id=3),), pretokenizer=(ByteChars(),)),
        "merges",
    ),
    "affixes, and the same tokens of other parts": (
        listed(*AB_BC.pairs, (b"ab", b"c")),
        listed(*BC_AB.pairs, (b"a", b"bc"), affixes=Affixes(suffix=b"x")),
        "affixes",
    ),
    "merges that a token hides, where what stands between vanishes": (
        listed(*AB_BC.pairs, added=(BC,), fallback=Fallback("drop")),
        listed(AB_BC.pairs[0], added=(BC,), fallback=Fallback("drop")),
        "merges",
    ),
    "whether what stands between vanishes before merging": (
        replace(CHARS, fallback=Fallback("drop")),
        replace(CHARS, fallback=Fallback("drop", after_merging=True)),
        "fallback",
    ),
    "merges with a space that is written before a text": (
        with_space((b" ", b"a"), added=(SPACE_A,), pretokenizer=(PrefixSpace(),)),
        with_space(added=(SPACE_A,), pretokenizer=(PrefixSpace(),)),
        "merges",
    ),
}


@pytest.mark.parametrize("what", APART)
def test_what_differs_in_one_thing_is_told(what: str) -> None:
    one, two, field = APART[what]
    assert field in fields(one, two)
    assert field in fields(two, one)


def test_other_fields_are_not_told() -> None:
    """The merges of a control token are the same, and characters may merge as bytes do."""
    assert fields(with_kind("control"), CHARS).keys() == {"vocab"}
    more = PairList(((b"a", b"b"), (b"b", b"c"), (b"ab", b"c"), (b"a", b"bc")))
    fewer = PairList(more.pairs[:3])
    one, two = replace(CHARS, merges=more), replace(PLAIN, merges=fewer)
    assert fields(one, two).keys() == {"alphabet"}


def test_what_is_compared_stays_as_it_is() -> None:
    """Without a suffix, no text could be ``a</w>``."""
    suffixed = replace(
        CHARS,
        vocab=Vocab({**IDS, b"a</w>": 6}),
        merges=PairList((*AB_BC.pairs, (b"ab", b"c"))),
        affixes=Affixes(suffix=b"</w>"),
    )
    alone = canonical(replace(suffixed)).unreachable
    assert alone == ()
    assert "affixes" in fields(CHARS, suffixed)
    assert canonical(suffixed).unreachable == alone


TEMPLATE = SequenceTemplate((TemplateToken("a", (0,)), TemplateText("A")), (TemplateText("A"),))
ALIKE: dict[str, tuple[BPEModel, BPEModel]] = {
    "scores that one side has": (
        replace(CHARS, vocab=Vocab(IDS, {}, {3: -1.0, 4: -2.0})),
        replace(CHARS, vocab=Vocab(IDS)),
    ),
    "merges that never meet, in another order": (
        listed((b"a", b"b"), (b"c", b"c"), vocab=Vocab({**IDS, b"cc": 6})),
        listed((b"c", b"c"), (b"a", b"b"), vocab=Vocab({**IDS, b"cc": 6})),
    ),
    "merges that a token hides": (
        listed(*AB_BC.pairs, added=(BC,)),
        listed(AB_BC.pairs[0], added=(BC,)),
    ),
    "merges that a token hides, where what stands between vanishes after merging": (
        listed(*AB_BC.pairs, added=(BC,), fallback=Fallback("drop", after_merging=True)),
        listed(AB_BC.pairs[0], added=(BC,), fallback=Fallback("drop", after_merging=True)),
    ),
    "merges that a token hides, beside a space that is written": (
        listed(*AB_BC.pairs, added=(BC,), pretokenizer=(PrefixSpace(), Metaspace("_", "always"))),
        listed(AB_BC.pairs[0], added=(BC,), pretokenizer=(PrefixSpace(), Metaspace("_", "always"))),
    ),
    "merges that a token with a space hides, where texts are only cut": (
        with_space((b" ", b"a"), added=(SPACE_A,), pretokenizer=(Split("x", "isolated"),)),
        with_space(added=(SPACE_A,), pretokenizer=(Split("x", "isolated"),)),
    ),
    "ties, put in an order, beside merges that a token hides": (
        replace(
            CHARS,
            vocab=Vocab(FOUR),
            merges=RankTable({**FOUR, b"ab": 5, b"bc": 5, b"cd": 5}),
            added=(BC,),
        ),
        listed((b"a", b"b"), (b"c", b"d"), vocab=Vocab(FOUR), added=(BC,)),
    ),
    "the id of a token of bytes that is always found": (
        replace(
            listed(*AB_BC.pairs[:1], added=(replace(BC, id=4),), vocab=Vocab(IDS)), alphabet="byte"
        ),
        replace(
            listed(*AB_BC.pairs[:1], added=(replace(BC, id=4),), vocab=Vocab(WITHOUT_BC)),
            alphabet="byte",
        ),
    ),
    "what would be fused, where it vanishes": (
        replace(CHARS, fallback=Fallback("drop", fuse=True)),
        replace(CHARS, fallback=Fallback("drop")),
    ),
    "one template": (
        replace(CHARS, sequence_template=TEMPLATE),
        replace(CHARS, sequence_template=replace(TEMPLATE)),
    ),
}


@pytest.mark.parametrize("what", ALIKE)
def test_what_no_text_shows_is_not_told(what: str) -> None:
    one, two = ALIKE[what]
    assert fields(one, two) == fields(two, one) == {}


def test_only_single_patterns_are_said_to_split_a_text_otherwise() -> None:
    one, two = (Split(Pattern(source, "oniguruma"), "isolated", False) for source in ("a", "b"))
    single = [replace(PLAIN, pretokenizer=(step,)) for step in (one, two)]
    assert "they split" in str(diff(*single))
    more = Split("x", "isolated", False)
    for left, right in (((one, more), (two,)), ((one,), (two, more))):
        pair = (replace(PLAIN, pretokenizer=steps) for steps in (left, right))
        assert "they split" not in str(diff(*pair))


_BRANCHES = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|@| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+(?!\S)|\s+"
)


def _branched(digits: str, dialect: Dialect = "oniguruma") -> Split:
    return Split(Pattern(_BRANCHES.replace("@", digits), dialect), "isolated")


def test_of_long_patterns_only_the_parts_that_differ_are_said() -> None:
    a = replace(PLAIN, pretokenizer=(ByteChars(), _branched(r"\p{N}{1,3}")))
    b = replace(PLAIN, pretokenizer=(ByteChars(), _branched(r"\p{N}")))
    [found] = diff(a, b)
    place = _BRANCHES.index("@") + 1
    said = rf"step 2: pattern at character {place}: `\p{{N}}{{1,3}}` and `\p{{N}}`"
    assert found.how == said
    read = replace(PLAIN, pretokenizer=(ByteChars(), _branched(r"\p{N}", "python")))
    assert diff(a, read)[0].how == said
    for digits in (r"\p{N}{1,3}", r"\p{N}"):
        assert _BRANCHES.replace("@", digits) in found.whole
    more = replace(PLAIN, pretokenizer=(PrefixSpace(), *(a.pretokenizer or ())))
    assert diff(a, more)[0].how == "only in the second: step 1, PrefixSpace"
    assert diff(more, a)[0].how == "only in the first: step 1, PrefixSpace"
    assert _BRANCHES[:40] in diff(more, a)[0].whole


def test_a_long_part_of_a_pattern_is_said_with_a_little_around_it() -> None:
    """Branches are what is between bars; a bar in a class is one too, for people."""
    many = "".join(map(chr, range(0x4E00, 0x4E50)))
    a, b = (
        replace(PLAIN, pretokenizer=(_branched(f"{many}{each}{many}"),)) for each in ("x", "yz")
    )
    [found] = diff(a, b)
    start = _BRANCHES.index("@") + len(many) - 12
    one, two = (f"{many[-12:]}{each}{many[:12]}" for each in ("x", "yz"))
    assert f"pattern at character {start + 1}: `{one}` and `{two}`" in found.how
    gone = replace(PLAIN, pretokenizer=(_branched("x|y"),))
    less = replace(PLAIN, pretokenizer=(_branched("y"),))
    assert f"character {_BRANCHES.index('@') + 1}: `x` and nothing" in diff(gone, less)[0].how


def test_short_patterns_and_other_kinds_of_steps_are_said_whole() -> None:
    short = [
        replace(PLAIN, pretokenizer=(Split(Pattern(each, "oniguruma"), "isolated"),))
        for each in ("a+", "b+")
    ]
    [found] = diff(short[0], short[1])
    assert found.how.startswith("Split `a+` isolated and Split `b+` isolated; ")
    assert not found.whole
    other = replace(PLAIN, pretokenizer=(Metaspace("_", "always"),))
    [found] = diff(replace(PLAIN, pretokenizer=(_branched("x"),)), other)
    assert found.how.startswith("Split ")
    assert not found.whole
