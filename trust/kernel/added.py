"""Added tokens, normalizers and templates in the native kernel, beside what Python does.

Tokens have every flag, and overlap: texts of a few characters, of which some are white space,
marks, or parts of a word. Texts are made of them, of their beginnings, and of what normal forms
compose, decompose and move.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from bpe_interop.encode.plan import _mapper, _normal_form
from bpe_interop.kernel import is_aside
from bpe_interop.model import (
    AddedToken,
    Allowed,
    SequenceTemplate,
    TemplatePart,
    TemplateText,
    TemplateToken,
)
from bpe_interop.steps import Lowercase, NormalizerStep, Prepend, Replace, UnicodeForm
from bpe_interop.text.character_maps import is_character_map
from bpe_interop.text.normalize import normalize
from bpe_interop.text.unicode import FormName, form_table

from .comparing import Answered, Case
from .pieces import random_piece_model
from .texts import Encoding, random_map, random_model, random_normalizer, short_texts

_LETTERS = "ab<>|A .\n\t\x0b\u00a0_\u00e9e\u0301\u65e5\u2028\u2581"
_BESIDE = ("a", "b", "ab", " ", "  ", "\n", "\u00a0", "e\u0301", "\u00e9", "<", "A", "\u2581", "_")
_NORMALIZERS: tuple[tuple[NormalizerStep, ...], ...] = (
    *((), (), (), (UnicodeForm("NFC"),), (UnicodeForm("NFC"),), (UnicodeForm("NFKC"),)),
    *((UnicodeForm("NFD"),), (UnicodeForm("NFKD"),), (Lowercase(),), (Replace("a", ""),)),
    *((Prepend("\u2581"), Replace(" ", "\u2581")), (Prepend("b "),), (Replace(" ", "\u2581"),)),
    (UnicodeForm("NFKC"), Prepend(" a"), Replace(" ", "\u2581")),
)
_MARKS = "\u0301\u0323\u0327\u0334\u0345\u05b0\u3099\u0bbe\u0bd7\u09be\u1161\u11a8\u0f71\u0f72"
_MAPPED = "aabbAB  \n\t\x1c\u00a0\u2028\u3000\u00e9\u00c9\u0130\u03a3\u1e9e\u023a\u0301\u65e5\u0378"
_STARTERS = (
    "aeo\u00e9\u1ec7\u0bc6\u09c7\u1100\uac00\uac01\u0b95\u304b\u304c\u1e69\u0f40\u2126\ufb01"
)


def random_tokens(rng: random.Random) -> tuple[AddedToken, ...]:
    """Added tokens, most of which share their letters."""
    letters = rng.sample(_LETTERS, rng.choice((2, 4, 8, len(_LETTERS))))
    texts = {"".join(rng.choices(letters, k=rng.choice((1, 2, 2, 3, 4, 7)))) for _ in range(9)}
    texts = {*sorted(texts)[: rng.randrange(9)]}
    if rng.random() < 0.3:
        texts |= {text + rng.choice(letters) for text in texts}
    likely = [rng.choice((0.0, 0.0, 0.3, 1.0)) for _ in range(5)]
    in_turn, ascii_space = rng.random() < 0.1, rng.random() < 0.2
    tokens = []
    for place, text in enumerate(sorted(texts, key=lambda _: rng.random())):
        special, lstrip, rstrip, single, normalized = (rng.random() < each for each in likely)
        number = 2**21 + (place if rng.random() < 0.95 else 0)
        flags = (special, lstrip, rstrip, single, normalized)
        tokens.append(AddedToken(text, number, *flags, (), ascii_space, in_turn))
    return tuple(tokens)


def token_texts(rng: random.Random, tokens: Sequence[AddedToken]) -> list[str]:
    """Texts of tokens, of their beginnings and ends, and of what may stand beside them."""
    named = [token.text for token in tokens]
    parts = [
        *_BESIDE,
        *_BESIDE,
        *named,
        *named,
        *(text[:-1] for text in named),
        *(t[1:] for t in named),
    ]
    texts = short_texts(rng, list(filter(None, parts)))
    long = "".join(rng.choices(parts, k=300))
    return [*texts, long, "x" * 40 + long, " " * 90 + "".join(named) + " " * 70]


def around_encoded(rng: random.Random) -> list[Case]:
    """Encodes texts with added tokens in every way, as :class:`.texts.Encoding` does."""
    model = random_model(rng) if rng.random() < 0.6 else random_piece_model(rng)
    tokens = random_tokens(rng)
    model = replace(model, added=tokens, sequence_template=_template(rng))
    chance = rng.random()
    if chance < 0.7:
        steps = random_normalizer(rng) if chance < 0.3 else rng.choice(_NORMALIZERS)
        model = replace(model, normalizer=steps)
    special = [token.text for token in tokens if token.special]
    allowed: Allowed = rng.choice(("all", "all", frozenset(), frozenset(special[::2])))
    texts = token_texts(rng, tokens)
    work = Encoding(model, texts, allowed, template=rng.random() < 0.3)
    return [Case(work, texts=len(texts))]


def _template(rng: random.Random) -> SequenceTemplate:
    parts: list[TemplatePart] = [TemplateToken("<s>", (7, 8)), TemplateText("A")]
    parts = rng.choice((parts, parts[::-1], [*parts, parts[0]], parts[1:], [*parts, *parts]))
    return SequenceTemplate(tuple(parts), ())


@cache
def _odd() -> str:
    """The characters that a normal form has anything to do with, half of them not of Hangul."""
    codes = [code for code, number in enumerate(form_table("NFKD").classes) if number]
    rest = [code for code in codes if not 0xAC00 <= code <= 0xD7A3]
    return "".join(map(chr, [*codes[::7], *rest]))


def forms_written(rng: random.Random) -> list[Case]:
    """Texts in a normal form, and whether they are in it, beside tokenizers."""
    name: FormName = rng.choice(("NFC", "NFC", "NFKC", "NFD", "NFKD"))
    form = _normal_form(name)
    steps = (UnicodeForm(name),)
    texts = []
    for _ in range(200):
        chars = rng.choices(_STARTERS + _MARKS, k=rng.randrange(1, 7))
        if rng.random() < 0.5:
            chars = [rng.choice(_odd()) if rng.random() < 0.5 else char for char in chars]
        text = "".join(chars)
        texts.append(normalize(steps, text) if rng.random() < 0.5 else text)

    def work() -> Answered:
        expected = [normalize(steps, text) for text in texts]
        if is_aside() or form is None:
            return Answered(expected, native=False)
        # It may leave a text undecided, never take one for unchanged that is changed.
        written = [text if form.keeps(text) else form.write(text) for text in texts]
        pairs = zip(written, expected, strict=True)
        return Answered([real if ours is None else ours for ours, real in pairs], native=True)

    return [Case(work, texts=len(texts))]


def maps_written(rng: random.Random) -> list[Case]:
    """Texts that steps change which write each character as one, as one map does it."""
    steps = tuple(filter(is_character_map, (random_map(rng) for _ in range(rng.randrange(1, 6)))))
    few = rng.sample(_MAPPED, rng.choice((3, 5, len(_MAPPED))))
    texts = ["".join(rng.choices(few, k=rng.randrange(1, 20))) for _ in range(200)]

    def work() -> Answered:
        expected = [normalize(steps, text) for text in texts]
        mapper = None if is_aside() or not steps else _mapper(steps)
        if mapper is None:
            return Answered(expected, native=False)
        pairs = zip(map(mapper.write, texts), expected, strict=True)
        return Answered([real if ours is None else ours for ours, real in pairs], native=True)

    return [Case(work, texts=len(texts))]
