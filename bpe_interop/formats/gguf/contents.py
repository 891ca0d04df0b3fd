"""What llama.cpp takes a model's tokens for, where they stand in a GGUF file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from ...memo import Memo
from ...model import (
    AddedToken,
    Affixes,
    BPEModel,
    Fallback,
    Kind,
    MergeRule,
    PairList,
    RankTable,
    SequenceTemplate,
    Vocab,
)
from ...steps import JoinBytes
from ...text.bytechars import is_mapped, to_bytes, to_chars
from ...theory.pretokens import missing_bytes
from ..bos_eos import ends_of, template_of
from ..round_trip import RoundTrip
from .characters import PATTERN, built, name_over_characters
from .into import FILLER_SCORE, Kept
from .key_bytes import Typed
from .keys import DEFAULTS, MODEL, NAME, ROLES, TOKENS
from .overlaps import in_order_of_length, overlaps
from .pre_names import written_name
from .read import built_by_scores, bytes_first, decoder_of, is_pretoken, normalizer_of
from .splitters import SPLITTERS, Splitter
from .token_list import listing_of, spelled
from .tokens import gaps_named, is_phi3, phi3, taking_spaces
from .types import BYTE_NAMES, FOUND_FIRST, UNUSED, USER_DEFINED, effective, fills_hole
from .write import kept_of, keys_of, pairs_of, puts_space, scores_of


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
            return _kinds_of_bytes(ids)
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
    def read_back(self) -> Mapping[str, Any]:
        """What the fields of the model become, but for what changes no id."""
        ends = ends_of(self.model)
        template = SequenceTemplate()
        if ends is not None:
            template = template_of(*(end and self._placed(end) for end in ends))
        kind = self._of_bytes if self.model.alphabet == "byte" else self._of_characters
        return {
            **kind(),
            "affixes": Affixes(),
            "lookup_first": self.splitter.lookup_first,
            "pretokenizer": self.splitter.steps,
            "added": self.added,
            "sequence_template": template,
        }

    def _of_bytes(self) -> dict[str, Any]:
        """What is read of GPT-2's kind."""
        listed = {*self.listing.texts}
        pairs = tuple(
            pair
            for pair in pairs_of(self.model)
            if all(pair) and {to_chars(part) for part in (*pair, b"".join(pair))} <= listed
        )
        products = {part for pair in pairs for part in (*pair, b"".join(pair))}
        ids: dict[bytes, int] = {}
        kinds: dict[int, Kind] = {}
        for place, (text, type_) in enumerate(self._rows):
            found_only = type_ in FOUND_FIRST or fills_hole(text, type_, place)
            content = self._content(text)
            if not is_mapped(text):
                if not found_only:
                    ids[content], kinds[place] = place, "control"
            elif not found_only or content in products or is_pretoken(content, self.splitter):
                ids[content] = place
        every = [byte for byte in ids if len(byte) == 1 and ids[byte] not in kinds]
        return {
            "alphabet": "byte",
            "vocab": Vocab(ids, kinds),
            "merges": PairList(pairs),
            "fallback": Fallback("drop", after_merging=True)
            if missing_bytes(every)
            else Fallback(),
            "normalizer": (),
            "decoder": (JoinBytes(),),
        }

    def _of_characters(self) -> dict[str, Any]:
        """What is read of SentencePiece's kind, and where merges of characters are listed."""
        every = {text.encode(): place for place, (text, _) in enumerate(self._rows)}
        scores: list[float] = []
        merges: MergeRule
        if self.over_characters is None:
            scores = scores_of(self.model, self.listing)
            scores += [FILLER_SCORE] * (len(every) - len(scores))
            places = {score: place for place, score in enumerate(sorted({*scores}, reverse=True))}
            merges = RankTable({t: places[scores[place]] for t, place in every.items()})
        else:
            merges = PairList(tuple(p for p in pairs_of(self.model) if b" " not in b"".join(p)))
        reached = built(every, merges)
        ids = {
            content: place
            for place, (content, (text, type_)) in enumerate(zip(every, self._rows, strict=True))
            if content in reached or not (type_ in FOUND_FIRST or fills_hole(text, type_, place))
        }
        if isinstance(merges, RankTable):
            merges = RankTable({t: rank for t, rank in merges.ranks.items() if t in ids})
        spaced = self.over_characters is None and puts_space(self.model)
        return {
            "alphabet": "char",
            "vocab": Vocab(ids, _kinds_of_bytes(ids), dict(enumerate(scores))),
            "merges": merges,
            "fallback": bytes_first(self.added),
            "normalizer": normalizer_of(spaced),
            "decoder": decoder_of(spaced),
        }

    @cached_property
    def _rows(self) -> Sequence[tuple[str, int]]:
        """Each token as it is spelled and the type that llama.cpp gives it, fillers too."""
        texts, types = [*self.listing.texts], [*self.listing.types]
        count = len(self._keys[TOKENS][1][1])
        types += [UNUSED] * (count - len(texts))
        texts += [f"[PAD{place}]" for place in range(len(texts), count)]
        named = {key: typed[1] for key, typed in self._keys.items() if typed[0] == "uint32"}
        types = effective(texts, types, gaps_named(named.get, count), "")
        return list(zip(texts, types, strict=True))

    def _placed(self, token: AddedToken) -> AddedToken:
        place = self.listing.places[token.id]
        return AddedToken(self.listing.texts[place], place)

    @cached_property
    def added(self) -> tuple[AddedToken, ...]:
        """The tokens that are found in a text, with the roles that they have there."""
        keys = self._keys
        named = {key: typed[1] for key, typed in keys.items() if typed[0] == "uint32"}
        roles: dict[int, list[str]] = defaultdict(list)
        kind = str(keys[MODEL][1])
        for role, key in ROLES.items():
            roles[named.get(key, DEFAULTS[kind].get(role, -1))].append(role)
        tokens = tuple(
            AddedToken(text, place, type_ != USER_DEFINED, roles=tuple(sorted(roles[place])))
            for place, (text, type_) in enumerate(self._rows)
            if type_ in FOUND_FIRST
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


def _kinds_of_bytes(ids: Mapping[bytes, int]) -> dict[int, Kind]:
    return {ids[byte]: "byte" for byte in map(str.encode, BYTE_NAMES) if byte in ids}


@Memo
def contents_of(trip: RoundTrip) -> Contents:
    """The contents of a model in a file of its own, or in the existing one of a way of writing."""
    return Contents(trip.model, next((way for way in trip.ways if isinstance(way, Kept)), None))


def read_back(trip: RoundTrip) -> Mapping[str, Any]:
    """What the fields of a model become, but for what changes no id."""
    return contents_of(trip).read_back
