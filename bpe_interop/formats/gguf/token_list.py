"""The tokens of a model as a GGUF file lists them: a text and a type for each id."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ...model import BPEModel
from ...steps import Metaspace, Prepend, SentencePieceText
from ...text.bytechars import to_chars
from .overlaps import equally_long
from .tokens import PHI3, phi3, taking_spaces
from .types import (
    BYTE,
    BYTE_NAMES,
    CONTROL,
    NORMAL,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    ambiguous,
    effective,
)

_KINDS: Final = {"byte": BYTE, "unused": UNUSED, "user_defined": USER_DEFINED}
_NUL: Final = "\0"
"""Where llama.cpp ends a text (:func:`.tokens.as_c_strings`); a token with one gets a stand-in."""
_HOLES: Final = 1 << 20
"""So many ids without a token are filled; a file that has more would be of no use."""


@dataclass(frozen=True, slots=True)
class TokenListing:
    """Texts and types by the place in the file, and the place of each id of the model."""

    texts: tuple[str, ...]
    types: tuple[int, ...]
    places: Mapping[int, int]


def written_as_phi3(model: BPEModel) -> bool:
    """Whether all added tokens take white space along as under the name Phi-3, and one does."""
    added = model.added or ()
    return any(token.ascii_space for token in added) and tuple(map(phi3, added)) == added


def listing_of(model: BPEModel, kept: Mapping[str, Any]) -> TokenListing:
    """Every id with a text that no other has: where two would be spelled alike, a stand-in.

    Args:
        model: what is written.
        kept: what a GGUF file that it was read from said besides.
    """
    over_characters = model.alphabet == "char"
    entries: dict[int, tuple[str, int]] = {}
    taken: set[str] = set()
    symbols = _no_more_than_symbols(model)
    of_vocab = {number: content for content, number in model.vocab.ids.items()}
    for token in model.added or ():
        content = of_vocab.get(token.id)
        own = None if content is None else spelled(model, content)
        if token.id in entries or token.text in taken or own not in (None, token.text):
            continue
        if _NUL in token.text:
            continue
        unknown = token.id == model.fallback.unknown or "unk" in token.roles
        kind = UNKNOWN if unknown else CONTROL
        entries[token.id] = (token.text, kind if token.special else USER_DEFINED)
        taken.add(token.text)
    for content, number in model.vocab.ids.items():
        if number in entries:
            continue
        text = spelled(model, content)
        if text and text not in taken and _NUL not in text:
            named = "normal" if number in symbols else model.vocab.kinds.get(number, "normal")
            entries[number] = (text, _KINDS.get(named, NORMAL))
            taken.add(text)
    numbers = {*of_vocab, *(token.id for token in model.added or ())}
    size = max(numbers) + 1
    if size > len(numbers) + _HOLES:
        places = {number: place for place, number in enumerate(sorted(numbers))}
        size = len(numbers)
    else:
        places = {number: number for number in numbers}
    by_place = {places[number]: each for number, each in entries.items()}
    rows = [by_place.get(place, (_unlike(place, taken), UNUSED)) for place in range(size)]
    if over_characters:
        rows += [(name, BYTE) for name in sorted(BYTE_NAMES - taken)]
    texts, types = [text for text, _ in rows], [kind for _, kind in rows]
    for number, kind in kept.get("types", {}).items():
        if int(number) < size:
            types[int(number)] = int(kind)
    _without_chance(texts, types, PHI3 if written_as_phi3(model) else "")
    return TokenListing(tuple(texts), tuple(types), places)


def effective_of(listing: TokenListing) -> list[int]:
    """The types as llama.cpp treats them."""
    return _effective(listing.texts, listing.types)


def _effective(texts: Sequence[str], types: Sequence[int]) -> list[int]:
    named = frozenset(role for role, _ in ambiguous(texts, types))
    return effective(texts, types, named, "")


def _without_chance(texts: list[str], types: list[int], name: str) -> None:
    """Takes out of each two special tokens that llama.cpp would find by chance the later one.

    Args:
        texts: of all tokens; changed in place, as are their types.
        types: as the file says them.
        name: of the model, by which special tokens may take white space along.
    """
    while True:
        now = _effective(texts, types)
        places = {
            text: place
            for place, text in enumerate(texts)
            if now[place] in (CONTROL, UNKNOWN, USER_DEFINED)
        }
        pair = equally_long(places, taking_spaces(name, places))
        if pair is None:
            return
        place = max(map(places.__getitem__, pair))
        texts[place], types[place] = _unlike(place, {*texts}), UNUSED


def puts_space(model: BPEModel) -> bool:
    """Whether a space is put before each text."""
    return any(
        isinstance(step, Prepend)
        or (isinstance(step, SentencePieceText) and step.dummy == "prefix")
        or (isinstance(step, Metaspace) and step.prepend != "never")
        for step in (*(model.normalizer or ()), *(model.pretokenizer or ()))
    )


def _no_more_than_symbols(model: BPEModel) -> frozenset[int]:
    """The user-defined tokens that are written as normal ones, where a space is put before texts.

    llama.cpp puts one behind each user-defined token, too. One character that no other token
    holds is a symbol of its own, whatever its kind; the tokens of bytes are none of a text's.
    """
    if not puts_space(model):
        return frozenset()
    kinds = model.vocab.kinds
    texts = [content for content, n in model.vocab.ids.items() if kinds.get(n) != "byte"]
    held = Counter(char for text in texts for char in {*text.decode("utf-8")})
    held.update(char for token in model.added or () for char in {*token.text})
    return frozenset(
        number
        for content, number in model.vocab.ids.items()
        if kinds.get(number) == "user_defined"
        and len(text := content.decode("utf-8")) == 1
        and held[text] == 1
    )


def spelled(model: BPEModel, content: bytes) -> str:
    """How a file spells a token of the vocabulary."""
    if model.alphabet == "char" or model.vocab.kinds.get(model.vocab.ids[content]) == "control":
        return content.decode("utf-8", "replace")
    return to_chars(content)


def _unlike(place: int, taken: set[str]) -> str:
    """A text for an id that has no token, which no token has."""
    text = f"[PAD{place}]"
    while text in taken:
        text += "_"
    return text
