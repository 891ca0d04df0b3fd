"""What can be asked of a tokenizer without encoding anything: its tokens and their ids."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import cached_property
from operator import index

from .encode import Encoder
from .errors import DecodeError, UnstatedError
from .model import (
    MAX_ID,
    BPEModel,
    RankTable,
    show,
)
from .theory.merges import canonical

_END_OF_TEXT = "<|endoftext|>"


class OutOfRangeError(DecodeError, OverflowError):
    """A number that no id can be: below 0 or above 2**32 - 1 (tiktoken: ``OverflowError``)."""


class Vocabulary:
    """The tokens of a model, under tiktoken's names. Everything is found when first asked for."""

    def __init__(self, model: BPEModel) -> None:
        self._model = model
        self._encoder = Encoder(model)

    @property
    def model(self) -> BPEModel:
        """The tokenizer's facts."""
        return self._model

    @property
    def name(self) -> str:
        """The source's name for it, for example ``cl100k_base``; may be empty."""
        return self._model.origin.name

    @cached_property
    def vocab(self) -> dict[int, bytes]:
        """Id to bytes, by id; added tokens are the UTF-8 of their text."""
        ids = {*self._model.vocab.ids.values(), *(t.id for t in self._model.added or ())}
        return {number: self._encoder.token_bytes(number) for number in sorted(ids)}

    @cached_property
    def merges(self) -> dict[tuple[int, int], int]:
        """The pair of ids that each token is built of, to the token's id, in rank order.

        One pair for each token that merging can build: the only one it is ever built by.
        """
        ids = self._model.vocab.ids
        splits = canonical(self._model).splits
        return {(ids[left], ids[right]): ids[token] for token, (left, right) in splits.items()}

    @property
    def n_vocab(self) -> int:
        """The largest id plus one: ids may have holes."""
        return self.max_token_value + 1

    @cached_property
    def max_token_value(self) -> int:
        """The largest id, special tokens included."""
        added = (token.id for token in self._model.added or ())
        return max(max(self._model.vocab.ids.values()), max(added, default=0))

    @property
    def eot_token(self) -> int:
        """The id of ``<|endoftext|>``.

        Raises:
            DecodeError: there is no such special token (also KeyError).
        """
        for token in self._model.added or ():
            if token.text == _END_OF_TEXT and token.special:
                return token.id
        raise DecodeError(f"there is no special token {_END_OF_TEXT}")

    @property
    def special_tokens_set(self) -> set[str]:
        """The texts of the special tokens.

        Raises:
            UnstatedError: the source does not say which there are.
        """
        return set(self._special_texts)

    def is_special_token(self, token: int) -> bool:
        """Whether an id is a special token's."""
        if not isinstance(token, int):
            raise AssertionError(f"an id is an integer, not {token!r}")
        return token in self._special_ids

    def token_byte_values(self) -> list[bytes]:
        """The bytes of every token that is not an added one, sorted."""
        return list(self._ordinary_tokens)

    def token_to_id(self, token: str | bytes) -> int | None:
        """The id of a token, special ones included: its text or its bytes; None if there is none.

        Bytes are the token's own, not spelled in GPT-2's byte alphabet: ``" world"``.
        """
        if isinstance(token, str):
            token = token.encode("utf-8")
        if not isinstance(token, bytes):
            raise TypeError(f"a token is str or bytes, not {type(token).__name__}")
        found = self._model.vocab.ids.get(token)
        return self._added_ids.get(token) if found is None else found

    def id_to_token(self, id: int) -> bytes | None:
        """The bytes of the token with this id; None if there is none."""
        return self.vocab.get(index(id))

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """The id of one token, special ones included.

        Raises:
            DecodeError: there is no such token (also KeyError).
        """
        found = self.token_to_id(text_or_bytes)
        if found is None:
            raise DecodeError(f"there is no token {show(text_or_bytes)}")
        return found

    def decode_single_token_bytes(self, token: int) -> bytes:
        """One token's own bytes, special ones included.

        Raises:
            DecodeError: there is no such token (also KeyError).
        """
        return self.decode_tokens_bytes((token,))[0]

    def decode_tokens_bytes(self, tokens: Sequence[int]) -> list[bytes]:
        """Each token's own bytes.

        Raises:
            DecodeError: an id is not in the model (also KeyError).
        """
        return list(map(self._encoder.token_bytes, self._numbers(tokens)))

    def _numbers(self, tokens: Sequence[int]) -> Sequence[int]:
        """Ids checked as tiktoken does: numpy's integers too, but no float and no text."""
        if isinstance(tokens, (bytes, bytearray)):
            tokens = list(tokens)
        try:
            return array("I", tokens)
        except OverflowError:
            wrong = next(number for number in tokens if not 0 <= number <= MAX_ID)
            raise OutOfRangeError(f"{wrong} is not an id: they are 0 to {MAX_ID}") from None

    @cached_property
    def _special_texts(self) -> frozenset[str]:
        if self._model.added is None:
            raise UnstatedError(
                "the source does not state its special tokens, so whether a text holds one "
                "is not known",
                where=self.name,
                fix="name a preset (preset=...) or give a sidecar file; or treat the text of "
                "special tokens as ordinary text: encode(text, disallowed_special=())",
            )
        return frozenset(token.text for token in self._model.added if token.special)

    @cached_property
    def _special_ids(self) -> frozenset[int]:
        return frozenset(token.id for token in self._model.added or () if token.special)

    @cached_property
    def _added_ids(self) -> dict[bytes, int]:
        return {token.text.encode("utf-8"): token.id for token in self._model.added or ()}

    @cached_property
    def _ordinary_tokens(self) -> list[bytes]:
        """The tokens that merging or lookup is about: not those that only number an added one."""
        rule, vocab = self._model.merges, self._model.vocab
        built: set[bytes] = set()
        if isinstance(rule, RankTable):
            built.update(rule.ranks)
        else:
            for left, right in rule.pairs:
                built.add(left + right)
        added = self._added_ids
        return sorted(
            token
            for token, number in vocab.ids.items()
            if vocab.kinds.get(number) != "control"
            and (token in built or added.get(token) != number)
        )
