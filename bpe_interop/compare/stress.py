"""Awkward texts: where tokenizers that look alike turn out not to be. Seeded, so repeatable."""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice, product
from unicodedata import normalize

from ..engines.rows import assumed_of_texts
from ..entries import tokens_at
from ..model import BPEModel
from ..text.unicode import range_source
from ..theory.splitters import newer_characters

SCALARS = sys.maxunicode + 1 - 0x800
"""How many Unicode scalar values there are: all code points but the surrogates."""

_SPACES = (
    " ", "  ", "   ", "\t", "\n", "\n\n", "\r", "\r\n", "\r\r\n", " \n", "\n ", "\t\n", "\n\t",
    "\u0085", "\u00a0", "\u1680", "\u2000", "\u2003", "\u2028", "\u2029", "\u202f", "\u205f",
    "\u3000", "\u200b", "\u200d", "\ufeff", "\x0b", "\x0c", "\x1c", "\x1f", "\u180e",
)  # fmt: skip

_FIXED = (
    "", "a", "Hello world", "hello world!!!", "    hello world!!!", "The quick brown fox",
    "안녕하세요 👋 (hello in Korean!)", "My name is صفوان", "你好，世界", "こんにちは世界",
    "Привет, мир", "नमस्ते दुनिया", "สวัสดีชาวโลก", "შემოგვიერთდით", "ሰላም ልዑል", "שלום עולם",
    "e\u0301 é \u0065\u0300\u0301 a\u0340\u0341", "ﬁ ﬂ Å Ω K ſ K", "İ I ı i ß ẞ ΑΣ ας Σ",
    "👩‍👩‍👧‍👦🏳️‍🌈👍🏽🇪🇺🇪", "①②③ ¹²³ ½ Ⅷ 〇 ७८९ ٣٤٥", "don't DON'T Don’t I'LL we'Re 'S's'ſ",
    "x=1234567;y=0x1F;z=1e-9", "def f(x):\n    return x  # ok\n\n\n", "<p class=\"a\">b&amp;c</p>",
    "https://example.org/a?b=c#d", "a\x00b\x01c\x7fd\x80e\x9f", "\ue000\uf8ff\U000f0000\U0010ffff",
    "\u0378\u0530\U000e0080", "a" * 300, " " * 300, "\n" * 300, "ab" * 200, "1" * 40, "é" * 90,
    "<|endoftext|>", "<s>a</s>", "<|endoftext|", "<|im_start|>user\n", "...", ".:.:9", " Việt",
)  # fmt: skip

_SEQUENCES = (
    "👨‍👩‍👧‍👦", "👩🏽‍🚀", "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "🏴‍☠️",
    "1️⃣2️⃣#️⃣*⃣", "🇫🇷🇩🇪🇯", "❤️❤︎❤", "☺️☹", "👋🏻👋🏿👋", "🧑‍🤝‍🧑", "\u200d", "a\u200db", "\ufe0f\ufe0e",
    "🙂🙂 🙂\n🙂", "क्‍ष क्ष क्‌ष", "ก็ที่ กำ", "ᄒ\u1161\u11ab한 ㅎㅏㄴ", "ক্ত", "\u1100\u1100",
    "שָׁלוֹם \u200fאבג 123\u200e abc", "مَرْحَبًا ١٢٣ (abc)", "\u202eabc\u202c def", "\u2067א\u2069!",
    "לָ1א", "\u0378\u0379\u0380", "\ufdd0\ufffe\uffff", "\U0001fffe\U0010ffff", "\U000e0fff",
    "\U0003fffd", "\ue000 \uf8ff", "\U000f0000a\U00100000", "\u00ad\u034f\u061c\u115f\u2060",
    "a\u2581b", "\u2581", " \u2581\u2581 ", "<0x41><0xE4>", "a</w>b", "##ing", "Ġthe Ċ", "ĠĠ",
    "\x00", "\x00\x00a", "\x7f\x80\x9f", "\r\n\n\r", "'", "''", "'S 'ſ 'K",
)  # fmt: skip

_APOSTROPHES = ("'", "\u2019", "\u02bc")
_SUFFIXES = ("s", "t", "re", "ve", "m", "ll", "d", "\u017f", "x")


def fixed() -> Iterator[str]:
    """Texts chosen by hand, white space at both ends, contractions in every case, digits."""
    yield from _FIXED
    yield from _SEQUENCES
    for space in _SPACES:
        yield from (space, f"{space}a", f"a{space}", f"a{space}b", f"{space}{space}1", f"!{space}?")
    for one, two in product(_SPACES[:13], _SPACES[:20]):
        yield f"a{one}{two}b"
    for mark, suffix in product(_APOSTROPHES, _SUFFIXES):
        for spelled in (suffix, suffix.upper(), suffix.title()):
            yield from (f"we{mark}{spelled}", f" {mark}{spelled}lo", f"WE{mark}{spelled}1")
    for length in range(1, 10):
        digits = "1234567890"[:length]
        yield from (digits, f" {digits}", f"a{digits}b", digits.translate(_ARABIC))


_ARABIC = {ord(str(digit)): 0x0660 + digit for digit in range(10)}


# Heads and tails that may complete bytes which begin or end inside a character.
_MISSING = tuple(
    (head, tail)
    for head in (b"", b"\xe4", b"\xe4\xb8", b"\xf0\x9f", b"\xf0\x9f\x99", b"\xc3", b"\xf0")
    for tail in (b"", b"\x80", b"\xa0", b"\xb8\x80", b"\xa0\x80", b"\x80\x80", b"\x9f\x99\x82")
)
_PARTS = 5_000
"""How many tokens at most are taken apart."""
# Blocks in which no character that decomposes was added since Unicode 13 (Python 3.10 has it).
_SETTLED = [chr(point) for r in (range(0xA0, 0x3400), range(0xF900, 0xFF00)) for point in r]
_MARKS = [chr(point) for point in (*range(0x300, 0x34F), 0x5B0, 0x64B, 0x651, 0x93C, 0x94D, 0x3099)]
_REPEATED = (
    "a", "A", "ab", " ", "\n", "\r\n", "\t", "0", "12", ".", "=-", "'", "'s", "_", "é", "e\u0301",
    "中", "한", "ن", "🙂", "👍🏽", "\u0301", "\u200d", "\u00a0", "\x00", "a ", " a", "A1", "<|",
    "\ue000",
)  # fmt: skip


def _chars(*parts: str | tuple[int, int]) -> str:
    ranges = (p if isinstance(p, str) else "".join(map(chr, range(p[0], p[1] + 1))) for p in parts)
    return "".join(ranges)


# Spelled out, because every Python has its own Unicode tables and these texts are for all of them.
_CLASSES = (
    _chars((0x41, 0x5A), (0xC0, 0xD6), (0x391, 0x3A1), (0x410, 0x42F), "ǅΩ"),
    _chars((0x61, 0x7A), (0xE0, 0xF6), (0x3B1, 0x3C9), (0x430, 0x44F), "ıſ"),
    _chars((0x30, 0x39)),
    _chars(
        (0x660, 0x669),
        (0x966, 0x96F),
        (0x2160, 0x216B),
        (0x2460, 0x2473),
        "²³¹½",
        (0x1D7CE, 0x1D7FF),
    ),
    _chars(" "),
    _chars("\t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0", (0x2000, 0x200A), "\u2028\u2029\u3000\u1680"),
    _chars((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)),
    _chars((0xA1, 0xBF), (0x2010, 0x2027), (0x3001, 0x3011), (0xFF01, 0xFF0F)),
    _chars((0x20A0, 0x20BF), (0x2190, 0x21FF), (0x2200, 0x22FF), (0x2580, 0x259F)),
    _chars((0x300, 0x36F), (0x591, 0x5BD), (0x64B, 0x65F), (0x93A, 0x94D), (0xFE00, 0xFE0F)),
    _chars(
        (0x4E00, 0x4E40), (0x3041, 0x3096), (0x30A1, 0x30FA), (0xAC00, 0xAC40), (0x20000, 0x20020)
    ),
    _chars((0x5D0, 0x5EA), (0x621, 0x64A), (0x710, 0x72F)),
    _chars((0x904, 0x939), (0xE01, 0xE2E), (0x1000, 0x102A), (0x1780, 0x17B3)),
    _chars((0x1F600, 0x1F64F), (0x1F1E6, 0x1F1FF), (0x1F3FB, 0x1F3FF), "\u200d\ufe0f"),
    _chars((0, 8), (0xE, 0x1B), (0x7F, 0x84), (0x86, 0x9F), "\u200b\u200c\u2060\ufeff"),
    _chars((0xE000, 0xE010), (0xF0000, 0xF0010), (0x378, 0x379), (0xFDD0, 0xFDD5), "\U0010ffff"),
    _chars("'\u2019\u02bcsStTmMdDrReEvVlL"),
)


def around_added(model: BPEModel, limit: int) -> Iterator[str]:
    """Each added token alone, beside spaces and letters, doubled, cut short."""
    added = model.added or ()
    step = max(1, len(added) // limit)
    for token in added[::step]:
        text = token.text
        yield from (text, f" {text}", f"{text} ", f"a{text}b", f"a {text} b", text + text)
        yield from (f"\n{text}\n", f"  {text}  x", text[:-1], text[1:], f"{text[:-1]} {text}")
    for one, two in zip(added[::step], added[1::step], strict=False):
        yield from (one.text + two.text, f"{one.text} {two.text}", f"x{two.text}{one.text}y")


def tokens(model: BPEModel, limit: int, seed: int = 0) -> Iterator[str]:
    """Tokens' own texts, with a space on either side, doubled, and pairs of tokens.

    Bytes that are a part of a character are made whole.
    """
    chosen = random.Random(seed)
    texts = _token_texts(model, limit, chosen)
    for text in texts:
        yield from (text, f" {text}", f"{text} ", text + text)
    for text in texts:
        yield text + chosen.choice(texts)


def every_token(model: BPEModel | None) -> Iterator[str]:
    if model is not None:
        yield from _token_texts(model, len(model.vocab.ids), random.Random(0))


def cuts(model: BPEModel, limit: int, seed: int = 0) -> Iterator[str]:
    """Pairs of tokens between which another token fits: it ends in one and begins in the other.

    Merging across such a cut is where one order of merges differs from another.
    """
    chosen = random.Random(seed)
    texts = [text for text in _token_texts(model, 4 * limit, chosen) if len(text) > 1]
    ending: dict[str, str] = {}
    beginning: dict[str, str] = {}
    for text in texts[:_PARTS]:
        for place in range(1, len(text)):
            ending.setdefault(text[place:], text)
            beginning.setdefault(text[:place], text)
    for text in texts[:limit]:
        for place in chosen.sample(range(1, len(text)), min(2, len(text) - 1)):
            left, right = text[:place], text[place:]
            one, two = ending.get(left, left), beginning.get(right, right)
            yield from (one + two, left + two, one + right)


def _token_texts(model: BPEModel, limit: int, chosen: random.Random) -> list[str]:
    ids = model.vocab.ids
    places: Sequence[int] = range(len(ids))
    if len(ids) > limit:
        places = chosen.sample(places, limit)
    contents = tokens_at(ids, places)
    whole = (_whole(_unaffixed(content, model)) for content in contents)
    return [text for text in whole if text is not None]


def _unaffixed(content: bytes, model: BPEModel) -> bytes:
    content = content.removesuffix(model.affixes.suffix).removeprefix(model.affixes.prefix)
    return content if model.alphabet == "byte" else content.replace("\u2581".encode(), b" ")


def completed(content: bytes) -> tuple[bytes, bytes] | None:
    """What bytes lack at either end to be text; None where nothing makes them text."""
    for head, tail in _MISSING:
        try:
            (head + content + tail).decode("utf-8")
        except UnicodeDecodeError:
            continue  # other bytes are tried beside it
        return head, tail
    return None


def texts_with(content: bytes, model: BPEModel) -> Iterator[str]:
    """Texts in which a token may stand: alone, beside spaces, between letters.

    A part of a character is made whole in many ways: some of them are tokens by themselves.
    """
    content = _unaffixed(content, model)
    missing = completed(content)
    if missing is None:
        return
    head, tail = missing
    # The last byte of a character may be any of these 64.
    tails = [tail[:-1] + bytes([last]) for last in range(0x80, 0xC0)] if tail else [tail]
    for each in tails:
        text = (head + content + each).decode("utf-8", "replace")
        yield from (text, f" {text}", f"{text} ", f"a{text}a", f"a {text} a")


def _whole(content: bytes) -> str | None:
    """Bytes as text; what is a part of a character at either end gets the rest of one."""
    missing = completed(content)
    return None if missing is None else content.join(missing).decode("utf-8")


def code_points(limit: int, seed: int = 0) -> Iterator[str]:
    """Code points between letters, spaces and beside a combining mark, many to a text."""
    few = limit < SCALARS
    points = sorted({*range(0x3000), *_sample(limit, seed)}) if few else [*_scalars()]
    for start in range(0, len(points), 200):
        chars = [chr(point) for point in points[start : start + 200]]
        yield "".join(f"a{c}b" for c in chars)
        yield "".join(f" {c} " for c in chars)
        yield "".join(f"{c}\u0301" for c in chars)
        yield "".join(chars)


def alone(limit: int, seed: int = 0) -> Iterator[str]:
    """Code points each in a text of its own: controls, Latin, and others at random."""
    if limit < SCALARS:
        yield from map(chr, (*range(0x180), *_sample(limit, seed)))
    else:
        yield from map(chr, _scalars())


def _sample(count: int, seed: int) -> Iterator[int]:
    return map(_scalar, random.Random(seed).sample(range(SCALARS), count))


def _scalars() -> Iterator[int]:
    return map(_scalar, range(SCALARS))


def _scalar(place: int) -> int:
    # Past the surrogates, which are no scalar values.
    return place if place < 0xD800 else place + 0x800


def twins(limit: int, seed: int = 0) -> Iterator[str]:
    """Texts composed and decomposed, marks in every order, compatibility characters.

    Only blocks in which Unicode decomposes nothing new, so that every Python gives the same.
    """
    chosen = random.Random(seed)
    syllables = [*map(chr, chosen.sample(range(0xAC00, 0xD7A4), limit))]
    composed = [c for c in _SETTLED if normalize("NFD", c) != c]
    alike = [c for c in _SETTLED if normalize("NFKD", c) != normalize("NFD", c)]
    for chars in (composed, syllables, alike):
        for start in range(0, len(chars), 50):
            for text in ("".join(chars[start : start + 50]), " ".join(chars[start : start + 50])):
                yield from (text, normalize("NFD" if chars is not alike else "NFKC", text))
    for _ in range(limit):
        marks = "".join(chosen.choices(_MARKS, k=chosen.randint(1, 4)))
        yield (
            chosen.choice("aeoAEOu\u00e9\u03b1\u0627\u05d0 1")
            + marks
            + chosen.choice(("", "b", " "))
        )


def runs(longest: int) -> Iterator[str]:
    """One thing again and again: a few times in contexts, and to ``longest`` characters alone."""
    for unit in _REPEATED:
        for length in (2, 3, 17, 64):
            text = (unit * length)[:length]
            yield from (text, f"{text}x", f" {text}\n")
        yield (unit * longest)[:longest]


def random_texts(model: BPEModel, count: int, seed: int = 0) -> Iterator[str]:
    """Random strings over short tokens, spaces, digits and marks."""
    chosen = random.Random(seed)
    parts = [text for text in tokens(model, 300, seed) if len(text) <= 6]
    parts += [*_SPACES[:13], "'s", "'LL", "1", "23", ".", "!", "\u0301", "é", "中", "🙂"]
    for _ in range(count):
        yield "".join(chosen.choices(parts, k=chosen.randint(1, 12)))


def random_classes(count: int, seed: int = 0) -> Iterator[str]:
    """Random strings over classes of code points: what patterns tell apart, run after run."""
    chosen = random.Random(seed)
    for _ in range(count):
        # Few classes at once, so that the same borders between classes are met again and again.
        few = chosen.sample(_CLASSES, 3)
        runs = (chosen.choices(chosen.choice(few), k=chosen.randint(1, 4)) for _ in range(6))
        yield "".join(map("".join, islice(runs, chosen.randint(1, 6))))


def known_to(engines: Iterable[str], texts: Iterable[str]) -> Iterable[str]:
    """The texts, without the characters that a proof about these engines takes to be in none."""
    if not assumed_of_texts(engines):
        return texts
    inside = range_source(newer_characters().ranges)
    return map(partial(re.compile(f"[{inside}]").sub, ""), texts)


def awkward(
    model: BPEModel | None, *, scale: int = 1, seed: int = 0, longest: int = 1_000
) -> Iterator[str]:
    """All kinds of awkward texts for a model, about 15,000 of them per ``scale``.

    Without a model, those that need no tokens.

    Args:
        model: its tokens and added tokens are in the texts.
        scale: how many texts, roughly; from 56 on every code point is in them.
        seed: gives other ones.
        longest: characters of the longest runs; a million makes some engines fail.
    """
    yield from fixed()
    if model is not None:
        yield from around_added(model, 60 * scale)
        yield from tokens(model, 1_500 * scale, seed)
        yield from cuts(model, 300 * scale, seed)
    yield from code_points(20_000 * scale, seed)
    yield from alone(300 * scale, seed)
    # There are 11,172 syllables of Hangul.
    yield from twins(min(200 * scale, 11_172), seed)
    yield from runs(longest)
    if model is not None:
        yield from random_texts(model, 2_000 * scale, seed)
    yield from random_classes(1_000 * scale, seed)


def thorough(model: BPEModel | None, *, seed: int = 0) -> Iterator[str]:
    """Some 800,000 awkward texts: every code point, and runs up to a million letters or spaces."""
    yield from awkward(model, scale=56, seed=seed, longest=100_000)
    # tiktoken's regex engine gives up where a lookahead makes it take back a million spaces.
    yield from ("a" * 1_000_000, " " * 1_000_000, " " * 1_000_000 + "a")
