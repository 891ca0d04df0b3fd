"""What llama.cpp takes a model's tokens for, where they stand in a GGUF file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

from ...model import AddedToken, BPEModel, Kind, PairList
from ...text.bytechars import is_mapped, to_bytes
from .characters import PATTERN, built, name_over_characters
from .into import Kept
from .keys import DEFAULTS, MODEL, NAME, ROLES
from .listing import listing_of, spelled
from .overlaps import in_order_of_length, overlaps
from .pre_names import written_name
from .read import built_by_scores, is_pretoken
from .rendering import Typed
from .splitters import SPLITTERS, Splitter
from .tokens import gaps_named, is_phi3, phi3, taking_spaces
from .types import BYTE_NAMES, CONTROL, UNKNOWN, USER_DEFINED, effective
from .write import kept_of, keys_of, pairs_of, scores_of


class Contents:
    """The tokens of a model in a GGUF file, and those of them that the file cannot have.

    Args:
        model: what is written.
        into: the existing file that it is put into; None for a file of its own.
    """

    def __init__(self, model: BPEModel, into: Kept | None) -> None:
        self.model = model
        self.listing = listing_of(model, kept_of(model))
        self.into = into

    @cached_property
    def over_characters(self) -> str | None:
        """The name under which merges of characters are written; None if they are not."""
        return name_over_characters(self.model, kept_of(self.model))

    @cached_property
    def splitter(self) -> Splitter:
        """What the written name stands for; SentencePiece's kind has none, and cuts nothing."""
        if self.over_characters is not None:
            return Splitter((PATTERN,))
        if self.model.alphabet == "char":
            return Splitter(())
        return SPLITTERS[written_name(self.model)]

    @cached_property
    def crowded(self) -> frozenset[int]:
        """The ids that cannot have the text of their token: another has it, or none may."""
        texts: dict[int, set[str]] = defaultdict(set)
        for content, number in self.model.vocab.ids.items():
            texts[number].add(spelled(self.model, content))
        for token in self.model.added or ():
            texts[token.id].add(token.text)
        ids: dict[str, set[int]] = defaultdict(set)
        for number, own in texts.items():
            for text in own:
                ids[text].add(number)
        kinds, added = self.model.vocab.kinds, {token.id for token in self.model.added or ()}
        looked_for = {
            text
            for number, own in texts.items()
            if number in added or kinds.get(number) == "user_defined"
            for text in own
        }
        looked_for.update(token.text for token in self.added)
        by_chance = {
            text
            for pair in overlaps(looked_for, taking_spaces(self._name, looked_for))
            for text in pair
            if pair[0] != pair[1] and len(pair[0].encode()) == len(pair[1].encode())
        }
        return frozenset(
            number
            for number, own in texts.items()
            if len(own) > 1
            or not own.isdisjoint({"", *by_chance})
            or any(len(ids[text]) > 1 for text in own)
        )

    @cached_property
    def gone(self) -> frozenset[bytes]:
        """The tokens of the vocabulary that no text is merged or looked up into any more."""
        only_found = {token.id for token in self.added} - self._looked_up.keys()
        return frozenset(
            content
            for content, number in self.model.vocab.ids.items()
            if number in only_found
            or self._content(text := spelled(self.model, content)) != content
            or (number in self.crowded and self._text_of(number) != text)
        )

    @cached_property
    def more(self) -> Mapping[bytes, int]:
        """The tokens that are looked up too, though the model finds them in texts only."""
        ids = self.model.vocab.ids
        return {content: place for place, content in self._looked_up.items() if content not in ids}

    @cached_property
    def missing_bytes(self) -> frozenset[str]:
        """The names of bytes that SentencePiece's kind must have, and the model has not."""
        if self.model.alphabet == "byte":
            return frozenset()
        return BYTE_NAMES.difference(token.decode() for token in self.model.vocab.ids)

    @cached_property
    def kinds(self) -> Mapping[int, Kind]:
        """The kinds that a file gives to the tokens of the vocabulary."""
        ids = self.model.vocab.ids
        if self.model.alphabet == "char":
            return {ids[byte]: "byte" for byte in map(str.encode, BYTE_NAMES) if byte in ids}
        return {n: kind for n, kind in self.model.vocab.kinds.items() if kind == "control"}

    @cached_property
    def as_before(self) -> bool:
        """Whether the vocabulary that merging and looking up end in is the model's."""
        return not (self.moved or self.gone or self.more or self.missing_bytes)

    @cached_property
    def moved(self) -> frozenset[int]:
        """The ids that are another place in the file's lists."""
        return frozenset(n for n, place in self.listing.places.items() if n != place)

    @cached_property
    def added(self) -> tuple[AddedToken, ...]:
        """The tokens that are found in a text, with the roles that they have there."""
        keys, texts = self._keys, self.listing.texts
        named = {key: typed[1] for key, typed in keys.items() if typed[0] == "uint32"}
        roles: dict[int, list[str]] = defaultdict(list)
        kind = str(keys[MODEL][1])
        for role, key in ROLES.items():
            roles[named.get(key, DEFAULTS[kind].get(role, -1))].append(role)
        types = effective(texts, self.listing.types, gaps_named(named.get, len(texts)), "")
        tokens = tuple(
            AddedToken(text, place, type_ != USER_DEFINED, roles=tuple(sorted(roles[place])))
            for place, (text, type_) in enumerate(zip(texts, types, strict=True))
            if type_ in (CONTROL, UNKNOWN, USER_DEFINED)
        )
        taking = taking_spaces(self._name, (token.text for token in tokens))
        if in_order_of_length(tokens, taking) is not None:
            tokens = tuple(replace(token, longest_first=True) for token in tokens)
        return tuple(map(phi3, tokens)) if is_phi3(self._name) else tokens

    @cached_property
    def _keys(self) -> Mapping[str, Typed]:
        """The keys about tokens; those of a splitter by name are not looked for."""
        keys = keys_of(self.model, "default")
        return self.into.tokenizer_keys(keys) if self.into is not None else keys

    @cached_property
    def _name(self) -> str:
        kept = self.into.head.keys.get(NAME) if self.into is not None else None
        value = self._keys.get(NAME, ("string", ""))[1] if kept is None else kept.value
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)

    @cached_property
    def _looked_up(self) -> Mapping[int, bytes]:
        """The tokens that are found in a text, and that merging or a look-up gives as well."""
        contents = {token.id: self._content(token.text) for token in self.added}
        if self.model.alphabet == "char":
            texts = self.listing.texts
            if self.over_characters is None:
                reached = built_by_scores(texts, scores_of(self.model, self.listing))
            else:
                every = {text.encode(): place for place, text in enumerate(texts)}
                reached = built(every, PairList(tuple(pairs_of(self.model))))
            return {place: each for place, each in contents.items() if each in reached}
        products = {part for pair in pairs_of(self.model) for part in (*pair, b"".join(pair))}
        return {
            place: content
            for place, content in contents.items()
            if is_mapped(self.listing.texts[place])
            and (content in products or is_pretoken(content, self.splitter))
        }

    def _text_of(self, number: int) -> str:
        return self.listing.texts[self.listing.places[number]]

    def _content(self, text: str) -> bytes:
        """The bytes that a text in the file stands for."""
        over_characters = self.model.alphabet == "char"
        return text.encode() if over_characters or not is_mapped(text) else to_bytes(text)
