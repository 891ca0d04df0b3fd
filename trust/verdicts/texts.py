"""Texts on which two small tokenizers may differ."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import chain, islice, product, zip_longest
from random import Random

from bpe_interop.text.bytechars import to_bytes

from .byte_formats import RANDOM, longer_tokens, special_texts
from .sources import Source

SHORT = 90
"""About how many short texts over the letters are tried."""

MOST = 150
"""How many texts are tried with a pair, at most."""


def texts_for(rng: Random, one: Source, two: Source) -> list[str]:
    """Short texts over the letters, then those of tokens and added tokens and their neighbours.

    The same texts for the same generator, whatever it drew before.
    """
    letters = one.letters
    first = dict.fromkeys(_short(letters))
    added = list(dict.fromkeys(chain(_added(one), _added(two))))
    first.update(dict.fromkeys(_of_added(added, letters)))
    rest = list(dict.fromkeys(_of_tokens(one, two, letters)))
    words = [*letters, *added, *rest, " ", "\n"]
    rest += ["".join(rng.choices(words, k=rng.randint(2, 6))) for _ in range(30)]
    rest = [text for text in dict.fromkeys(rest) if text not in first]
    room = max(30, MOST - len(first))
    return [*first, *(rng.sample(rest, room) if len(rest) > room else rest)]


def _short(letters: str) -> Iterator[str]:
    yield ""
    for length in range(1, 9):
        if len(letters) ** length > SHORT and length > 2:
            return
        yield from map("".join, product(letters, repeat=length))


def _added(source: Source) -> Iterator[str]:
    facts = source.facts
    yield from (token["content"] for token in source.beside)
    if source.format == "huggingface":
        yield from (token["content"] for token in facts["added_tokens"])
    elif source.format == "tiktoken":
        yield from facts["special_tokens"]
    elif source.format == "sentencepiece":
        yield from (row[0].replace("\u2581", " ") for row in facts["pieces"] if row[2] in (3, 4))
    elif source.format in RANDOM:
        yield from special_texts(source.format, facts)


def _of_added(added: list[str], letters: str) -> Iterator[str]:
    for text in added:
        yield text
        for letter in letters:
            yield from (letter + text, text + letter, letter + text + letter)
        yield from (f" {text} ", f"a {text} b", f"{text} {text}", text.lower(), text.strip())
    for one, two in product(added, repeat=2):
        yield from (one + two, f"{one} {two}")
        for cut in range(1, len(one)):
            if two.startswith(one[cut:]):
                yield one[:cut] + two
                yield from (one[:cut] + two + letter for letter in letters)
    if len(added) > 2:
        yield "".join(added)
    for text in added:
        yield from islice(_overlapped(text, added), 30)


def _overlapped(text: str, added: list[str], most: int = 3) -> Iterator[str]:
    """A text gone on with added tokens that begin with its end."""
    for other in added if most else ():
        cut = next((n for n in range(1, len(other)) if text.endswith(other[:n])), 0)
        if cut:
            yield text + other[cut:]
            yield from _overlapped(text + other[cut:], added, most - 1)


def _of_tokens(one: Source, two: Source, letters: str) -> Iterator[str]:
    ends = [*letters, " "]
    for text in dict.fromkeys(chain(_tokens(one), _tokens(two))):
        yield text
        for letter in ends:
            yield from (letter + text, text + letter)


def _tokens(source: Source) -> Iterator[str]:
    """The texts of tokens that are not single bytes of 256."""
    facts = source.facts
    if source.format == "sentencepiece":
        for row in facts["pieces"]:
            if row[2] != 6:
                yield from dict.fromkeys([row[0], row[0].replace("\u2581", " ")])
    elif source.format == "tiktoken":
        for token, _ in facts["ranks"]:
            if len(token) > 1:
                yield from whole_texts(token.encode("latin-1"))
    elif source.format in RANDOM:
        for content in longer_tokens(source.format, facts):
            yield from whole_texts(content)
    else:
        vocab = facts["vocab"] if source.format == "gpt2" else facts["model"]["vocab"]
        affixes = [None] if source.format == "gpt2" else _affixes(source)
        for token in vocab:
            if len(vocab) > 100 and (len(token) == 1 or token.startswith("<0x")):
                continue
            for affix in affixes:
                yield from _as_text(token.replace(affix, "") if affix else token)


def _affixes(source: Source) -> list[str | None]:
    model = source.facts["model"]
    return [None, model["continuing_subword_prefix"], model["end_of_word_suffix"]]


_MARK = re.compile("[\u2581_]")


def _as_text(token: str) -> Iterator[str]:
    yield token
    if _MARK.search(token):
        yield _MARK.sub(" ", token)
    try:
        content = to_bytes(token)
    except (ValueError, KeyError):
        return
    yield from whole_texts(content)


def whole_texts(content: bytes) -> Iterator[str]:
    """The text of a token, its ends made whole by characters of every kind."""
    text = content.decode("utf-8", "ignore")
    inner = text.encode("utf-8")
    starts, ends = _by_part()
    for at in range(len(content) - len(inner) + 1):
        before, after = content[:at], content[at + len(inner) :]
        lefts, rights = ends.get(before, []), starts.get(after, [])
        if content[at:].startswith(inner) and (lefts or not before) and (rights or not after):
            for left, right in zip_longest(lefts or [""], rights or [""], fillvalue=""):
                yield left + text + right


@cache
def _by_part() -> tuple[dict[bytes, list[str]], dict[bytes, list[str]]]:
    """The characters that begin with a part of one, and that end with it, one of each category."""
    starts: dict[bytes, dict[str, str]] = {}
    ends: dict[bytes, dict[str, str]] = {}
    for point in chain(range(0x80, 0xD800), range(0xE000, 0x10000)):
        char = chr(point)
        content, kind = char.encode("utf-8"), unicodedata.category(char)
        for cut in range(1, len(content)):
            starts.setdefault(content[:cut], {}).setdefault(kind, char)
            ends.setdefault(content[cut:], {}).setdefault(kind, char)
    listed = ({part: [*chars.values()] for part, chars in each.items()} for each in (starts, ends))
    first, second = listed
    return first, second
