"""Texts and added tokens: ids at once, and tokens, words and offsets where they are asked for."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..encode import Encoder
from ..engines.library import guarded, library
from ..errors import EngineError
from ..model import FILE_FLAGS, Affixes, Allowed, BPEModel, Fallback, Json
from ..quoting import show
from ..steps import ByteChars, Digits, Punctuation, Split, UnicodeForm
from .encoding import Fixed, Span

if TYPE_CHECKING:
    import tokenizers


class AddedToken:
    """A token that is looked for in texts before they are cut.

    Args:
        content: its text.
        single_word: only between characters that are in no word.
        lstrip: with White_Space before it.
        rstrip: with White_Space after it.
        normalized: in its normal form, in the normalized text; None: where it is not special.
        special: ``decode`` may leave it out.
    """

    def __init__(
        self,
        content: str = "",
        *,
        single_word: bool = False,
        lstrip: bool = False,
        rstrip: bool = False,
        normalized: bool | None = None,
        special: bool = False,
    ) -> None:
        self.content = content
        self.special = special
        self._single_word, self._lstrip, self._rstrip = single_word, lstrip, rstrip
        self._normalized = normalized

    @property
    def single_word(self) -> bool:
        """Whether it stands alone."""
        return self._single_word

    @property
    def lstrip(self) -> bool:
        """Whether it takes White_Space before it along."""
        return self._lstrip

    @property
    def rstrip(self) -> bool:
        """Whether it takes White_Space after it along."""
        return self._rstrip

    @property
    def normalized(self) -> bool:
        """Whether it is looked for in its normal form."""
        return not self.special if self._normalized is None else self._normalized

    def as_json(self) -> dict[str, Any]:
        """Its content and flags, under the keys of a ``tokenizer.json``."""
        return {"content": self.content, **{flag: getattr(self, flag) for flag in FILE_FLAGS}}

    def __repr__(self) -> str:
        flags = ("rstrip", "lstrip", "single_word", "normalized", "special")
        told = ", ".join(f"{flag}={getattr(self, flag)}" for flag in flags)
        return f'AddedToken("{self.content}", {told})'

    def __str__(self) -> str:
        return self.content

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AddedToken) and self.as_json() == other.as_json()

    def __hash__(self) -> int:
        return hash(tuple(self.as_json().values()))


class AddedVocabulary:
    """Added tokens, numbered as tokenizers numbers them (``tokenizer/added_vocabulary.rs``).

    ``by_text`` holds every text that was added, ``by_id`` the last token of each id.
    """

    def __init__(self, vocab: Mapping[str, int]) -> None:
        self._vocab = vocab
        self.by_text: dict[str, int] = {}
        self.by_id: dict[int, AddedToken] = {}

    def add(self, tokens: Iterable[AddedToken]) -> int:
        """Adds tokens; returns how many were not there, or not with these flags."""
        size, top = len(self._vocab), max(self.by_id, default=-1)
        following = top + 1 if top >= size else size
        count = 0
        for token in tokens:
            known = self.by_text.get(token.content)
            if not token.content or (known is not None and self.by_id.get(known) == token):
                continue
            number = self._vocab.get(token.content) if known is None else known
            if number is None:
                number, following = following, following + 1
            self.by_text[token.content] = number
            self.by_id[number] = token
            count += 1
        return count


_SAME_CHARACTERS = (Split, Digits, Punctuation, ByteChars)
"""Pre-tokenizers that cut a text and put nothing into it."""


class Pipeline:
    """What a tokenizer does to texts, before templates and padding. Threads may share it.

    Args:
        model: the tokenizer's facts.
        document: the ``tokenizer.json`` that it was read from.
        added: its added tokens.
        later: those that calls have added to the document's, call by call.
    """

    def __init__(
        self,
        model: BPEModel,
        document: Mapping[str, Any],
        added: AddedVocabulary,
        later: Sequence[Sequence[AddedToken]],
    ) -> None:
        self.model = model
        self.encoder = Encoder(model)
        self._document = document
        self._added = added
        self._later = later
        self._turn = threading.Lock()
        same = all(isinstance(step, _SAME_CHARACTERS) for step in model.pretokenizer or ())
        self._bytes_alone = (
            same
            and model.alphabet == "byte"
            and model.affixes == Affixes()
            and model.fallback == Fallback()
            and all(isinstance(step, UnicodeForm) for step in model.normalizer or ())
        )

    def keeps(self, text: str) -> bool:
        """Whether tokenizers' offsets are known here: those of the characters of each token.

        So it is where tokens are bytes of the text itself: a byte that begins inside a character
        has that character's place in both (``pre_tokenizers/byte_level.rs``). What normalizers and
        prefixes do to places there, only tokenizers says.
        """
        # A part of a text in a normal form is in it too, so added tokens change nothing here.
        return self._bytes_alone and (
            not self.model.normalizer or text.isascii() or self.encoder.normalize(text) == text
        )

    @cached_property
    def spelled(self) -> dict[int, str]:
        """The token of each id of the vocabulary; an id of an added token's has that one's text."""
        vocab = {number: token for token, number in self._document["model"]["vocab"].items()}
        return {**vocab, **{number: t.content for number, t in self._added.by_id.items()}}

    @cached_property
    def sizes(self) -> dict[int, int]:
        """How many bytes each token of the vocabulary has."""
        return {number: len(token) for token, number in self.model.vocab.ids.items()}

    @cached_property
    def _doubtful(self) -> frozenset[int]:
        """Ids of added tokens that may stand in a text otherwise than by their own text."""
        vocab = self._document["model"]["vocab"]
        ids = set(vocab.values())
        return frozenset(
            number
            for number, token in self._added.by_id.items()
            if token.lstrip
            or token.rstrip
            or (token.normalized and self.model.normalizer)
            or (number in ids and vocab.get(token.content) != number)
        )

    def named(self, ids: Sequence[int]) -> list[str] | None:
        """The tokens of ids; None where the text decides how one is spelled."""
        if self._doubtful and not self._doubtful.isdisjoint(ids):
            return None
        return [*map(self.spelled.__getitem__, ids)]

    def ask(self, text: str, ids: Sequence[int], allowed: Allowed) -> Fixed:
        """What the installed tokenizers says of a text.

        Raises:
            EngineMissingError: it is not installed.
            EngineError: it fails, or gives other ids.
        """
        with guarded("tokenizers", "encode", text):
            with self._turn:  # the way of special tokens is a state of its object
                asked = self._oracle
                asked.encode_special_tokens = not allowed
                found = asked.encode(text, add_special_tokens=False)
            answer = Fixed(found.ids, found.tokens, found.word_ids, found.offsets)
        if answer.ids != ids:
            raise EngineError(
                f"the installed tokenizers gives other ids for {show(text)}, so its offsets are "
                "not those of ours",
                fix="bpe-interop verify FILE --against tokenizers shows the difference",
            )
        return answer

    @cached_property
    def _oracle(self) -> tokenizers.Tokenizer:
        why = "offsets of a text that is changed before it is cut are asked of tokenizers"
        there = library("tokenizers", without=why)
        idle: dict[str, Json] = dict.fromkeys(("post_processor", "truncation", "padding"))
        asked: tokenizers.Tokenizer = there.Tokenizer.from_str(
            json.dumps({**self._document, **idle})
        )
        for tokens in self._later:
            asked.add_tokens([there.AddedToken(**token.as_json()) for token in tokens])
        return asked


class Text:
    """A text and its ids. ``word`` is the word of all its tokens, where it is itself one of many.

    It is a :class:`.encoding.TokenSource`.
    """

    __slots__ = ("_allowed", "_asked", "_pipeline", "_text", "_word", "ids")

    def __init__(
        self,
        pipeline: Pipeline,
        text: str,
        ids: list[int],
        allowed: Allowed,
        word: int | None = None,
    ) -> None:
        self._pipeline = pipeline
        self._text = text
        self.ids = ids
        self._allowed = allowed
        self._word = word
        self._asked: dict[str, Any] = {}

    @property
    def tokens(self) -> Sequence[str]:
        """Each token, as the vocabulary spells it."""
        tokens: Sequence[str] = self._once("tokens")
        return tokens

    @property
    def words(self) -> Sequence[int | None]:
        """Each token's pretoken."""
        if self._word is not None:
            return [self._word] * len(self.ids)
        words: Sequence[int | None] = self._once("words")
        return words

    @property
    def offsets(self) -> Sequence[Span]:
        spans: Sequence[Span] = self._once("offsets")
        return spans

    def _once(self, what: str) -> Any:
        if what not in self._asked:
            self._find(what)
        return self._asked[what]

    def _find(self, what: str) -> None:
        pipeline, text = self._pipeline, self._text
        tokens = pipeline.named(self.ids) if what == "tokens" else None
        if tokens is not None:
            self._asked[what] = tokens
        elif not pipeline.keeps(text):
            self._asked.update(pipeline.ask(text, self.ids, self._allowed)._asdict())
        elif what == "offsets":
            _, self._asked[what] = pipeline.encoder.encode_with_offsets(text, self._allowed)
        else:
            words, alone = self._cut()
            self._asked["words"] = words
            if what == "tokens":
                # An added token is what of the text it took, with the White_Space beside it.
                self._asked[what] = [
                    text[slice(*self.offsets[index])] if index in alone else pipeline.spelled[id]
                    for index, id in enumerate(self.ids)
                ]

    def _cut(self) -> tuple[list[int], set[int]]:
        """The pretoken of each token, and which tokens are added ones. Tokens are bytes here."""
        sizes, ids = self._pipeline.sizes, self.ids
        words: list[int] = []
        alone: set[int] = set()
        for word, (number, length) in enumerate(
            self._pipeline.encoder.pieces(self._text, self._allowed)
        ):
            place = len(words)
            if number is not None:
                alone.add(place)
                words.append(word)
                continue
            while length > 0:
                length -= sizes[ids[place]]
                words.append(word)
                place += 1
        return words, alone
