"""What the native kernel splits and encodes, beside what Python does: small random models.

Pre-tokenizers are the published patterns and small ones of every shape that has a table, one
after the other, with each behavior. Merges are those of :func:`.kernel.merge_system`, mostly with
all bytes. Texts have what the patterns tell apart, and pretokens that are longer than is merged
by looking through all symbols.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, get_args

from bpe_interop.encode import Encoder
from bpe_interop.errors import BpeInteropError, PatternError
from bpe_interop.kernel import is_aside
from bpe_interop.kernel.splitter import splitter_of
from bpe_interop.model import (
    AddedToken,
    Affixes,
    Allowed,
    BPEModel,
    Fallback,
    MergeRule,
    PairList,
    RankTable,
    Vocab,
)
from bpe_interop.steps import (
    Behavior,
    ByteChars,
    Digits,
    JoinBytes,
    Lowercase,
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
from bpe_interop.text import spellings
from bpe_interop.text.split import compiled
from bpe_interop.text.surrogates import repair
from bpe_interop.theory.split_tables import split_tables

from .comparing import Answered, Case
from .merges import merge_system

_PUBLISHED = (
    *(spellings.GPT2, spellings.R50K, spellings.CL100K, spellings.CL100K_POSSESSIVE),
    *(spellings.CL100K_TRAILING, spellings.QWEN2, spellings.O200K),
)

_SMALL = (
    *("a+|b", r"\s+", r"ab*c?|\s+(?!\S)|\s+", "(?:ab)+|c", "[^ab]+", "a*?b|c", "a++b|.", "ab|a"),
    *(r" ?[a-z]+| ?[^a-z]+", r"\p{N}{1,3}", r"\p{Lu}\p{M}*|\p{Ll}+(?=\s|$)", "(?i:AB)+|[b-\u00e9]"),
    *(
        "a{2,3}?b",
        "(?:a|ab)(?:c|bcd)?",
        r"[\r\n]+|[^\r\n]+",
        "a(?!b)|b(?=c)",
        "(?s:.)",
        "(?:a|b)*c",
    ),
)

_PARTS = (
    *("a", "b", "c", "ab", "abc", "aab", "ba", "aa", "bb", " ", "  ", "\n", "\r\n", "\t", "A", "B"),
    *("1", "23", "4567", ".", "-", "'s", "'LL", "\u00e9", "e\u0301", "\u00a0", "\u2028", "\u0085"),
    *("\u65e5\u672c", "\U0001f600", "\u0378", "\ufffd", "\U0010ffff", "\x00", "\u0130", "\u212a"),
    *("\u01c5", "\u00b2", "\u0e01\u0e33", "\ud83d\ude00", "<s>", "a b"),
)


_DROPPING = (
    *(r"\p{L}+|\p{N}|[^\s\p{L}\p{N}]+", r"\p{L}+", "[^ ]+", r"a b|'s|\p{L}+|'", "[^ab ]+|a+b?"),
    *(r"\p{L}+(?=\s|$)|\p{L}|\p{N}+", r"\S\s|\S+", r"(?i:'s)|[^\s\p{L}]{1,3}|\p{L}+"),
)
"""Words; what lies between them is dropped."""

_REPLACED = (
    *(r"\s+", r"\s+", "[ab]+", "a", " ", "\u00e9", "[a\u00e9]+", "[a\u00e9]", "[A-Z]++", "B"),
    *("[ a]+", r"\p{Zs}", " {2,}", "a+?", "ab", "[^ ]", "(?:a|b)+"),
)
_REPLACEMENTS = (
    *(" ", " ", " ", "a", "a", "b", "A", "\u00e9", "\u0130", "\u2581"),
    *("", "ab", "\u0301"),
)

_SHORT, _LONG, _SHARED = (100, 100, 100, 9_000), 4, 30
"""How many short and long texts a model has, and sequences of ids."""
_MANY = 32
"""Ids from which the kernel decodes."""


def random_normalizer(rng: random.Random) -> tuple[NormalizerStep, ...]:
    """Steps of every kind that the kernel has, in any order, and others."""
    return tuple(_change(rng) for _ in range(rng.choice((1, 1, 2, 2, 3, 3, 5))))


def _change(rng: random.Random) -> NormalizerStep:
    chance = rng.random()
    if chance < 0.2:
        return UnicodeForm(rng.choice(("NFC", "NFC", "NFD", "NFKC", "NFKD")))
    if chance < 0.25:
        return Strip(rng.random() < 0.5, rng.random() < 0.5)
    if chance < 0.3:
        return Prepend(rng.choice(("b a", " ", "\u2581")))
    return random_map(rng)


def random_map(rng: random.Random) -> NormalizerStep:
    """A step that mostly writes each character as one."""
    if rng.random() < 0.3:
        return Lowercase()
    source = rng.choice(_REPLACED)
    literal = rng.random() < 0.2
    return Replace(source if literal else Pattern(source, "oniguruma"), rng.choice(_REPLACEMENTS))


def random_steps(rng: random.Random) -> tuple[PreTokenizerStep, ...]:
    """The steps of a pre-tokenizer."""
    chance = rng.random()
    if chance < 0.35:
        return (_whole(rng),)
    if chance < 0.55:
        words = Split(Pattern(rng.choice(_DROPPING), "oniguruma"), "removed", invert=True)
        return (words, *(_step(rng) for _ in range(rng.choice((0, 0, 1, 2)))))
    return tuple(_step(rng) for _ in range(rng.choice((0, 1, 1, 1, 2, 2, 3))))


def _spelled_steps(rng: random.Random) -> tuple[PreTokenizerStep, ...]:
    """The same, now and then with steps that see the letters of bytes, as Falcon's."""
    if rng.random() < 0.8:
        return random_steps(rng)
    return (*random_steps(rng), ByteChars(), *(_step(rng) for _ in range(rng.choice((1, 1, 2)))))


def _whole(rng: random.Random) -> Split:
    pattern = Pattern(rng.choice(_PUBLISHED), rng.choice(("fancy-regex", "oniguruma")))
    removed = rng.random() < 0.5
    return Split(pattern, "removed" if removed else "isolated", removed)


def _step(rng: random.Random) -> PreTokenizerStep:
    behavior: Behavior = rng.choice(get_args(Behavior))
    chance = rng.random()
    if chance < 0.1:
        return Digits(rng.random() < 0.5)
    if chance < 0.2:
        return Punctuation(behavior)
    if chance < 0.25:
        return Words()
    if chance < 0.35:
        return Split(rng.choice(("ab", "a", " ", "\u00e9", "aa")), behavior, rng.random() < 0.5)
    source = rng.choice((*_PUBLISHED, *_SMALL, *_SMALL))
    return Split(Pattern(source, "oniguruma"), behavior, rng.random() < 0.5)


def random_text(rng: random.Random) -> str:
    """A text, now and then with a long stretch of few letters."""
    parts = rng.choices(_PARTS, k=rng.choice((0, 1, 2, 3, 5, 8, 13, 40)))
    if rng.random() < 0.15:
        letters = rng.choice(("a", "ab", "abc", "ab\u00e9"))
        parts.append("".join(rng.choices(letters, k=rng.choice((15, 16, 17, 63, 64, 65, 300)))))
        rng.shuffle(parts)
    return "".join(parts)


def short_texts(rng: random.Random, parts: Sequence[str] = _PARTS) -> list[str]:
    """Short texts over a few parts, so that the same comes in many orders; now and then many."""
    half = rng.choice(_SHORT) // 2
    few = rng.sample(parts, rng.choice((2, 4, 8, 16, len(parts))))
    letters = [each for each in few if len(each) == 1] or few
    texts = ["".join(rng.choices(few, k=rng.randrange(9))) for _ in range(half)]
    texts += ["".join(rng.choices(letters, k=rng.randrange(1, 25))) for _ in range(half)]
    return texts


def cuts(rng: random.Random) -> list[Case]:
    """Cuts texts into pretokens."""
    steps = random_steps(rng)
    texts = [*map(repair, (*short_texts(rng), *(random_text(rng) for _ in range(_LONG))))]

    def work() -> Answered:
        splitter = None
        if not is_aside():
            with suppress(PatternError):
                splitter = splitter_of(split_tables(steps))
        by_python = compiled(steps)
        rows = []
        for text in texts:
            pretokens = None if splitter is None else splitter.cut(text)
            rows.append(by_python(text) if pretokens is None else pretokens)
        return Answered(rows, native=splitter is not None)

    return [Case(work, texts=len(texts))]


def random_model(rng: random.Random) -> BPEModel:
    """A model of bytes."""
    while True:
        rule, ids, alphabet = merge_system(rng)
        if alphabet == "byte" and ids:
            break
    if rng.random() < 0.85:
        missing = [bytes((byte,)) for byte in range(256) if bytes((byte,)) not in ids]
        more = {token: len(ids) + place for place, token in enumerate(missing)}
        if isinstance(rule, RankTable):
            ranks = {**rule.ranks, **{token: 2**20 + at for token, at in more.items()}}
            rule = RankTable(ranks)
        ids = {**ids, **more}
        if isinstance(rule, RankTable) and rule.ranks == ids:
            rule = RankTable(ids)
    added = [AddedToken("<s>", 2**21), AddedToken("a b", 2**21 + 1, special=False)]
    model = BPEModel(
        vocab=Vocab(ids),
        merges=rule,
        lookup_first=rng.random() < 0.5,
        normalizer=(),
        pretokenizer=_spelled_steps(rng),
        added=tuple(added[: rng.choice((0, 0, 1, 2))]),
    )
    return replace(model, **_suffixed(rule, ids, rng))


def _suffixed(rule: MergeRule, ids: Mapping[bytes, int], rng: random.Random) -> dict[str, Any]:
    """Now and then, what a list of merges becomes where a suffix ends pretokens, as CLIP's."""
    if not isinstance(rule, PairList) or rng.random() < 0.7:
        return {}
    suffix = rng.choice((b"</w>", b"a"))
    most = rng.choice((256, 256, 250))
    ends = (bytes((byte,)) + suffix for byte in (*b"abc", *range(most)))
    tokens = dict.fromkeys((*ids, *ends))
    pairs = [*rule.pairs]
    for left, right in rule.pairs:
        if rng.random() < 0.5:
            pairs.insert(rng.randrange(len(pairs) + 1), (left, right + suffix))
            tokens.update(dict.fromkeys((right + suffix, left + right + suffix)))
    missing = Fallback("unknown", ids[rng.choice([*ids])]) if rng.random() < 0.5 else Fallback()
    numbers = {token: ids.get(token, 2**16 + place) for place, token in enumerate(tokens)}
    return {
        "vocab": Vocab(numbers),
        "merges": PairList(tuple(pairs)),
        "affixes": Affixes(suffix=suffix),
        "fallback": missing,
    }


def encoded(rng: random.Random) -> list[Case]:
    """Encodes texts: all at once, and some one by one, twice, as arrays and with offsets."""
    model = random_model(rng)
    if rng.random() < 0.3:
        model = replace(model, normalizer=random_normalizer(rng))
    texts = [*(random_text(rng) for _ in range(_LONG)), *short_texts(rng)]
    return [Case(Encoding(model, texts, _allowed(rng)), texts=len(texts))]


def _allowed(rng: random.Random) -> frozenset[str]:
    return frozenset({"<s>"}) if rng.random() < 0.3 else frozenset()


@dataclass(frozen=True, slots=True)
class Encoding:
    """Encodes texts in every way that there is; errors count as answers."""

    model: BPEModel
    texts: Sequence[str]
    allowed: Allowed
    template: bool = False

    def __call__(self) -> Answered:
        encoder = Encoder(replace(self.model))
        encode = partial(encoder.encode, template=self.template)
        first = self.texts[: 2 * _LONG]
        rows = [self._said(encode, text) for text in (*first, *first)]
        rows += [self._said(encoder.encode_array, text) for text in first]
        rows += [self._said(encoder.encode_with_offsets, text) for text in first]
        each = self._at_once(encoder, self.texts)
        try:
            by_kernel = encoder._whole(self.allowed) is not None
        except BpeInteropError:
            by_kernel = False
        return Answered((rows, each), native=by_kernel)

    def _at_once(self, encoder: Encoder, texts: Sequence[str]) -> Sequence[object]:
        encode_each = partial(encoder.encode_each, threads=2, template=self.template)
        try:
            return encode_each(texts, self.allowed)
        except BpeInteropError:  # of which text, is told one by one
            encode = partial(encoder.encode, template=self.template)
            answers = [self._said(encode, text) for text in texts]
        whole = [text for text, ids in zip(texts, answers, strict=True) if isinstance(ids, list)]
        return [*answers, encode_each(whole, self.allowed)]

    def _said(self, call: Callable[..., Sequence[object]], text: str) -> object:
        try:
            ids = call(text, self.allowed)
        except BpeInteropError as error:
            return str(error)
        return ids if isinstance(ids, tuple) else [*ids]


def decoded(rng: random.Random) -> list[Case]:
    """Decodes ids, few and many; now and then one of them has no token."""
    model = replace(random_model(rng), decoder=(JoinBytes(),))
    known = [*model.vocab.ids.values(), *(token.id for token in model.added or ())]
    beyond = (2**22, 2**32 - 1, max(model.vocab.ids.values()) + 1)
    sequences = [rng.choices(known, k=rng.choice((0, 3, 31, 32, 40, 200))) for _ in range(_SHARED)]
    for ids in sequences:
        if rng.random() < 0.1:
            ids.insert(rng.randrange(len(ids) + 1), rng.choice(beyond))
    encoder = Encoder(replace(model))

    def work(ids: Sequence[int]) -> Answered:
        text = encoder.decode(ids, skip_special=len(ids) % 2 > 0), encoder.decode_bytes(ids)
        return Answered(text, native=not is_aside() and len(ids) >= _MANY)

    return [Case(partial(work, ids)) for ids in sequences]
