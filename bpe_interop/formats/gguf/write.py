"""From the model to a GGUF file that holds a tokenizer and no tensors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from ...kernel.tables import as_dict
from ...merging.canonical import canonical
from ...model import BPEModel, PairList
from ...steps import Metaspace, Prepend, SentencePieceText
from ...text.bytechars import to_chars
from ...theory.rewrite import as_pairs, ranks_of
from .. import Files
from ..bos_eos import ends_of
from ..names import STEM
from .head import Typed, layout_of, parse_head, rendered, typed_of, with_key
from .keys import (
    ADD,
    ARCHITECTURE,
    CHAT,
    CHATS,
    DEFAULTS,
    EMBEDDED,
    EMBEDDED_NAME,
    MERGES,
    MODEL,
    NAME,
    PRE,
    PREFIXED,
    ROLES,
    SCORES,
    TOKENS,
    TYPES,
    keys_of_templates,
    typed_kept,
)
from .overlaps import equally_long
from .pre_names import name_over_characters, written_name
from .splitters import GEMMA4
from .tokens import (
    BYTE,
    BYTE_NAMES,
    CONTROL,
    GAPS,
    NORMAL,
    NUL,
    PHI3,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    ambiguous,
    effective,
    is_modern_bert,
    is_phi3,
    phi3,
    taking_spaces,
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


def dump(model: BPEModel) -> Files:
    """Writes ``NAME.gguf``: a head without tensors, which llama.cpp loads as a vocabulary."""
    name = model.origin.name if STEM.fullmatch(model.origin.name) else "tokenizer"
    return {f"{name}.gguf": rendered(keys_of(model))}


def keys_of(model: BPEModel) -> dict[str, Typed]:
    """The keys that say what the model is."""
    kept = kept_of(model)
    held: Mapping[str, Any] = kept.get("keys", {})
    over_characters = name_over_characters(model, kept)
    # Characters are merged as SentencePiece's kind does, or, where it is what they do, under a
    # name.
    kind = "llama" if model.alphabet == "char" else "gpt2"
    if over_characters is not None:
        kind = GEMMA4 if over_characters == GEMMA4 else "gpt2"
    llama = kind == "llama"
    listing = listing_of(model, kept)
    keys: dict[str, Typed] = {}
    keys[ARCHITECTURE] = ("string", str(held.get(ARCHITECTURE, "llama" if llama else "gpt2")))
    name = _name(model, listing)
    if name:
        keys[NAME] = ("string", name)
    keys[MODEL] = ("string", kind)
    if over_characters is not None:
        keys[PRE] = ("string", over_characters)
    elif llama and "pre" in kept:
        keys[PRE] = ("string", str(kept["pre"]))
    elif not llama and (kept.get("pre") or not kept):
        # A name whose splitter is proved to cut every text as the model's pre-tokenizer does, or to
        # give this vocabulary the same tokens; where there is none, the nearest.
        keys[PRE] = ("string", written_name(model))
    keys[TOKENS] = ("array", ("string", [text.encode("utf-8") for text in listing.texts]))
    if llama:
        keys[SCORES] = ("array", ("float32", scores_of(model, listing)))
    keys[TYPES] = ("array", ("int32", listing.types))
    if not llama:
        keys[MERGES] = ("array", ("string", [*_merges(model, listing)]))
    keys |= _roles(model, listing, kind)
    if llama:
        keys[PREFIXED] = ("bool", puts_space(model))
    for role, number in ambiguous(listing.texts, listing.types):
        keys[GAPS[role]] = ("uint32", number)
    keys |= keys_of_templates(model)
    for key, value in held.items():
        if key.startswith("tokenizer.") and (key not in keys or key == CHATS):
            keys[key] = typed_kept(value)
    if model.chat_template is not None:
        keys[CHAT] = ("string", model.chat_template)
    return keys


def without_tensors(data: bytes, name: str) -> bytes:
    """The head alone, saying that no tensors follow: what llama.cpp loads as a vocabulary.

    Raises:
        FormatError, UnsupportedError: as :func:`.head.parse_head`.
    """
    head = layout_of(data, name)
    # llama.cpp loads the order of its machine only.
    if head.order == "big":
        head = parse_head(data, name)
        return rendered({key: typed_of(value) for key, value in head.keys.items()})
    size = 4 if head.version == 1 else 8
    return data[:8] + bytes(size) + data[8 + size : head.size]


def kept_of(model: BPEModel) -> Mapping[str, Any]:
    """What the GGUF file that the model was read from said besides; empty if it was none."""
    kept = model.extras.get("gguf", {})
    return kept if isinstance(kept, dict) else {}


def _name(model: BPEModel, listing: TokenListing) -> str:
    """A name with which llama.cpp does with special tokens what the model does; mostly none."""
    # Only a GGUF file's is kept: on the way from other formats the name is lost.
    name = str(kept_of(model).get("keys", {}).get(NAME, ""))
    if written_as_phi3(model):
        return name if is_phi3(name) else PHI3
    if is_phi3(name) or (is_modern_bert(name) and "[MASK]" in listing.texts):
        return ""
    return name


def scores_of(model: BPEModel, listing: TokenListing) -> list[float]:
    """The scores that the model has, where they are in the order of its ranks, else new ones."""
    ranks, ids, count = ranks_of(model), as_dict(model.vocab.ids), len(listing.texts)
    if scores_stay(model):
        scores = model.vocab.scores
        given = {listing.places.get(number, number): score for number, score in scores.items()}
        return [given.get(place, 0.0) for place in range(count)]
    by_rank = [-float(len(ranks) + 1)] * count
    for token, rank in ranks.items():
        if token in ids:
            by_rank[listing.places[ids[token]]] = -float(rank)
    return by_rank


def scores_stay(model: BPEModel) -> bool:
    """Whether the model's own scores say the order of its merges."""
    scores, ids, ranks = model.vocab.scores, as_dict(model.vocab.ids), ranks_of(model)
    if ranks and not scores:
        return False
    ranked = [(rank, scores.get(ids[token])) for token, rank in ranks.items() if token in ids]
    return all(score is not None for _, score in ranked) and _in_order(ranked)


def _in_order(ranked: Iterable[tuple[int, float | None]]) -> bool:
    by_rank: dict[int, float | None] = {}
    for rank, score in ranked:
        if by_rank.setdefault(rank, score) != score:
            return False
    ordered = [by_rank[rank] for rank in sorted(by_rank)]
    return all(one is not None and two is not None and one > two for one, two in pairwise(ordered))


def _merges(model: BPEModel, listing: TokenListing) -> Iterator[bytes]:
    """The merges in order whose tokens are all listed, as lines; of characters all."""
    if model.alphabet == "char":
        for one, two in pairs_of(model):
            # A line is cut at a space, and ends at a NUL: such a merge cannot be written.
            if b" " not in one + two and NUL not in one + two:
                yield one + b" " + two
        return
    listed = {*listing.texts}
    for pair in pairs_of(model):
        left, right = map(to_chars, pair)
        if left and right and {left, right, left + right} <= listed:
            yield f"{left} {right}".encode()


def pairs_of(model: BPEModel) -> Iterator[tuple[bytes, bytes]]:
    """The merges in order, each once."""
    rule = model.merges
    if isinstance(rule, PairList):
        # Of a pair that is listed twice tokenizers obeys the last place, and llama.cpp the first.
        last = {pair: place for place, pair in enumerate(rule.pairs)}
        yield from sorted(last, key=last.__getitem__)
        return
    nearest = as_pairs(model).rule
    if isinstance(nearest, PairList):
        yield from nearest.pairs
    else:
        yield from canonical(model).splits.values()


def _roles(model: BPEModel, listing: TokenListing, kind: str) -> dict[str, Typed]:
    """Ids by role, those that llama.cpp takes of itself too, and what is placed around a text."""
    by_role: dict[str, int] = {}
    for token in model.added or ():
        for role in token.roles:
            by_role.setdefault(role, listing.places[token.id])
    size = len(listing.texts)
    numbers = {
        place
        for place, kind in enumerate(effective_of(listing))
        if kind in (CONTROL, UNKNOWN, USER_DEFINED)
    }
    stated, ends = stated_ids(model), ends_of(model)
    for role, place in DEFAULTS[kind].items():
        if place in numbers and ROLES[role] not in stated:
            by_role[role] = place
    for role, end in zip(("bos", "eos"), ends or (None, None), strict=True):
        if end is not None:
            by_role[role] = listing.places[end.id]
    keys: dict[str, Typed] = {
        key: ("uint32", by_role[role])
        for role, key in ROLES.items()
        if by_role.get(role, size) < size
    }
    for at, role in enumerate(("bos", "eos")):
        keys[ADD[role]] = ("bool", ends is not None and ends[at] is not None)
    return keys


def stated_ids(model: BPEModel) -> frozenset[str]:
    """The keys of roles that the model has a token for; llama.cpp chooses one for some others."""
    kept = kept_of(model).get("keys", {})  # a role of an ordinary token among them
    placed = zip(("bos", "eos"), ends_of(model) or (None, None), strict=True)
    roles = {role for token in model.added or () for role in token.roles}
    roles |= {role for role, end in placed if end is not None}
    return frozenset({key for role, key in ROLES.items() if role in roles} | {*kept})


def embedding(files: Files) -> Callable[[BPEModel, Files], Files] | None:
    """A way of writing that puts the tokenizer.json among some files in; None without one."""
    content = files.get(EMBEDDED_NAME)
    if content is None:
        return None

    def put(model: BPEModel, written: Files) -> Files:
        [(name, data)] = written.items()
        return {name: with_key(data, EMBEDDED, ("string", content))}

    return put


def written_as_phi3(model: BPEModel) -> bool:
    """Whether all added tokens take white space along as under the name Phi-3, and one does."""
    added = model.added or ()
    return any(token.ascii_space for token in added) and tuple(map(phi3, added)) == added


def listing_of(model: BPEModel, kept: Mapping[str, Any]) -> TokenListing:
    """Every id with a text that no other has: where two would be spelled alike, a stand-in.

    ``kept``: what a GGUF file that the model was read from said besides.
    """
    over_characters = model.alphabet == "char"
    entries: dict[int, tuple[str, int]] = {}
    taken: set[str] = set()
    symbols = _no_more_than_symbols(model)
    ids, kinds = as_dict(model.vocab.ids), model.vocab.kinds
    of_vocab = dict(zip(ids.values(), ids, strict=True))
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
    for content, number in ids.items():
        if number in entries:
            continue
        text = content.decode("utf-8", "replace") if over_characters else spelled(model, content)
        if text and text not in taken and _NUL not in text:
            named = "normal" if number in symbols else kinds.get(number, "normal")
            entries[number] = (text, _KINDS.get(named, NORMAL))
            taken.add(text)
    numbers = {*of_vocab, *(token.id for token in model.added or ())}
    size = max(numbers) + 1
    # Where ids leave more holes than can be filled, tokens move together.
    if size > len(numbers) + _HOLES:
        places = {number: place for place, number in enumerate(sorted(numbers))}
        size = len(numbers)
    else:
        places = {number: number for number in numbers}
    by_place = {places[number]: each for number, each in entries.items()}
    rows = [by_place.get(place) or (_unlike(place, taken), UNUSED) for place in range(size)]
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

    The lists are changed in place. By ``name``, the model's, tokens may take white space along.
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
    return any(
        isinstance(step, Prepend)
        or (isinstance(step, SentencePieceText) and step.dummy == "prefix")
        or (isinstance(step, Metaspace) and step.prepend != "never")
        for step in (*(model.normalizer or ()), *(model.pretokenizer or ()))
    )


def _no_more_than_symbols(model: BPEModel) -> frozenset[int]:
    """The user-defined tokens that are written as normal ones."""
    if not puts_space(model):
        return frozenset()
    # llama.cpp puts a space behind each user-defined token, too. One character that no other token
    # holds is a symbol of its own, whatever its kind; tokens of bytes are none of a text's.
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
    if model.alphabet == "char" or model.vocab.kinds.get(model.vocab.ids[content]) == "control":
        return content.decode("utf-8", "replace")
    return to_chars(content)


def _unlike(place: int, taken: set[str]) -> str:
    """A text for an id that has no token, which no token has."""
    text = f"[PAD{place}]"
    while text in taken:
        text += "_"
    return text
