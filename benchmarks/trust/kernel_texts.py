"""What the native kernel splits and encodes, beside what Python does: small random models.

Pre-tokenizers are the published patterns and small ones of every shape that has a table, one
after the other, with each behavior. Merges are those of :func:`.kernel.merge_system`, mostly with
all bytes. Texts have what the patterns tell apart, and pretokens that are longer than is merged
by looking through all symbols.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import get_args

from bpe_interop.encode import Encoder
from bpe_interop.encode.native import native
from bpe_interop.errors import PatternError
from bpe_interop.kernel import is_aside, splitter_of
from bpe_interop.model import AddedToken, Alphabet, BPEModel, MergeRule, RankTable, Vocab
from bpe_interop.steps import (
    Behavior,
    Digits,
    JoinBytes,
    Pattern,
    PreTokenizerStep,
    Punctuation,
    Split,
    Words,
)
from bpe_interop.text import spellings
from bpe_interop.text.split import Splitter
from bpe_interop.theory.split_tables import split_tables

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


System = Callable[[random.Random], tuple[MergeRule, dict[bytes, int], Alphabet]]
"""A source of random merges."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What was found, and whether the kernel found it."""

    value: object
    native: bool


def random_steps(rng: random.Random) -> tuple[PreTokenizerStep, ...]:
    """The steps of a pre-tokenizer."""
    if rng.random() < 0.4:
        return (_whole(rng),)
    return tuple(_step(rng) for _ in range(rng.choice((0, 1, 1, 1, 2, 2, 3))))


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


def cut(rng: random.Random) -> Callable[[], object]:
    """Cuts a text into pretokens."""
    steps = random_steps(rng)
    text = random_text(rng).encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def work() -> Answered:
        if not is_aside():
            try:
                splitter = splitter_of(split_tables(steps))
            except PatternError:
                splitter = None
            pretokens = None if splitter is None else splitter.cut(text)
            if pretokens is not None:
                return Answered(pretokens, native=True)
        return Answered(Splitter(steps)(text), native=False)

    return work


def random_model(rng: random.Random, system: System) -> BPEModel:
    """A model of bytes."""
    while True:
        rule, ids, alphabet = system(rng)
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
    return BPEModel(
        vocab=Vocab(ids),
        merges=rule,
        lookup_first=rng.random() < 0.5,
        normalizer=(),
        pretokenizer=random_steps(rng),
        added=tuple(added[: rng.choice((0, 0, 1, 2))]),
    )


def encoded(rng: random.Random, system: System) -> Callable[[], object]:
    """Encodes texts one by one, twice, and all of them at once."""
    model = random_model(rng, system)
    texts = [random_text(rng) for _ in range(4)]
    allowed = frozenset({"<s>"}) if rng.random() < 0.3 else frozenset[str]()

    def work() -> Answered:
        encoder = Encoder(replace(model))
        one_by_one = [encoder.encode(text, allowed) for text in (*texts, *texts)]
        at_once = encoder.encode_each(texts, allowed, threads=2)
        arrays = [[*encoder.encode_array(text, allowed)] for text in texts]
        by_kernel = not is_aside() and native(encoder.model).encoder is not None
        return Answered((one_by_one, at_once, arrays), native=by_kernel)

    return work


def decoded(rng: random.Random, system: System) -> Callable[[], object]:
    """Decodes ids, few and many; now and then one of them has no token."""
    model = replace(random_model(rng, system), decoder=(JoinBytes(),))
    known = [*model.vocab.ids.values(), *(token.id for token in model.added or ())]
    if rng.random() < 0.2:
        known.append(rng.choice((2**22, 2**32 - 1, max(model.vocab.ids.values()) + 1)))
    ids = rng.choices(known, k=rng.choice((0, 3, 40, 200)))

    def work() -> Answered:
        encoder = Encoder(replace(model))
        text = encoder.decode(ids, skip_special=len(ids) % 2 > 0), encoder.decode_bytes(ids)
        return Answered(text, native=not is_aside() and "_native_bytes" in vars(encoder._decoder))

    return work
