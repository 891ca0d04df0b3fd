"""What can be asked of a tokenizer without encoding anything: its tokens, ids, and decoding."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from operator import index
from typing import TYPE_CHECKING, Literal, overload

from .errors import DecodeError, OutOfRangeError, PatternError, UnstatedError
from .kernel import THREADS
from .kernel.tables import as_dict
from .loss import Loss
from .model import (
    MAX_ID,
    BPEModel,
    RankTable,
    all_ids,
    checked_model,
)
from .quoting import show
from .special import content_of

if TYPE_CHECKING:
    from .encode import Encoder
    from .encode.stream import DecodeStream
    from .extend import Surgery

_END_OF_TEXT = "<|endoftext|>"


class RoleId:
    """The id of the special token with a role; None where none has it.

    Raises:
        UnstatedError: the source does not say which special tokens there are.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._role = name.removesuffix("_token_id")

    @overload
    def __get__(self, instance: None, owner: type) -> RoleId: ...
    @overload
    def __get__(self, instance: Vocabulary, owner: type) -> int | None: ...
    def __get__(self, instance: Vocabulary | None, owner: type) -> RoleId | int | None:
        if instance is None:
            return self
        role, texts = self._role, instance.special_tokens_set
        found = (t.id for t in instance.model.added or () if role in t.roles and t.text in texts)
        return next(found, None)


class Vocabulary:
    """The tokens of a model and the texts of ids, under tiktoken's names.

    Everything is found when first asked for.
    """

    def __init__(self, model: BPEModel) -> None:
        self._model = checked_model(model, type(self).__name__)

    def __len__(self) -> int:
        """How many ids have a token, as in transformers; a network needs :attr:`n_vocab` rows."""
        return len(all_ids(self._model))

    def __str__(self) -> str:
        """The facts, a line each; what no source states is not stated."""
        return "\n".join([repr(self), *str(self._model).splitlines()[1:]])

    def _repr_html_(self) -> str:
        """What a notebook shows: the facts, and tokens from all over the vocabulary."""
        from .notebook import framed

        head, *rest = str(self).splitlines()
        numbers = self._model.sample()
        return framed(head, rest, ((each, self._encoder.token_bytes(each)) for each in numbers))

    @cached_property
    def _encoder(self) -> Encoder:
        from .encode import Encoder

        return Encoder(self._model)

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
        """Id to the token's own bytes, by id; added tokens are the UTF-8 of their text.

        Where tokens are spelled as text (SentencePiece, ``tokenizer.json`` without byte level),
        the spelling is undone as far as the decoder undoes it for a token by itself:
        U+2581 is a space, ``<0xE4>`` a byte. Of several special tokens with one id, which is not
        decoded, this is the first listed.
        """
        return {n: self._encoder.token_bytes(n) for n in sorted(all_ids(self._model))}

    @cached_property
    def merges(self) -> dict[tuple[int, int], int]:
        """The pair of ids that each token is built of, to the token's id, in rank order.

        One pair for each token that merging can build: the only one it is ever built by. Pairs
        in which a part is no token (SentencePiece merges those too) are left out.
        """
        ids = self._model.vocab.ids
        from .merging.canonical import canonical

        splits = canonical(self._model).splits
        return {
            (ids[left], ids[right]): ids[token]
            for token, (left, right) in splits.items()
            if left in ids and right in ids
        }

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

    @property
    def roles(self) -> dict[str, str]:
        """What special tokens are for: ``bos``, ``eos`` and so on, to their texts.

        Raises:
            UnstatedError: the source does not say which special tokens there are.
        """
        texts = self._special_texts
        tokens = [token for token in self._model.added or () if token.text in texts]
        return {role: token.text for token in tokens for role in token.roles}

    bos_token_id = RoleId()
    eos_token_id = RoleId()
    unk_token_id = RoleId()
    sep_token_id = RoleId()
    pad_token_id = RoleId()
    cls_token_id = RoleId()
    mask_token_id = RoleId()

    def is_special_token(self, token: int) -> bool:
        """Whether an id is a special token's."""
        if not isinstance(token, int):
            raise AssertionError(f"an id is an integer, not {token!r}")
        return token in self._special_ids

    def token_byte_values(self) -> list[bytes]:
        """The own bytes of every token that is not an added one, sorted; see :attr:`vocab`."""
        if self._model.alphabet == "byte":
            return list(self._ordinary_tokens)
        from .encode.decode import own_bytes

        undo = own_bytes(self._model)
        return sorted(map(undo, self._ordinary_tokens))

    def token_to_id(self, token: str | bytes) -> int | None:
        """The id of a token, special ones included: its text or its bytes; None if there is none.

        Bytes are the token's own, not spelled in GPT-2's byte alphabet: ``" world"``. A token
        that is spelled as text is found by its spelling too, which comes first; of those with
        the same bytes, one that does not stand for a byte, and the first listed.
        """
        token = content_of(token)
        for ids in (self._model.vocab.ids, self._added_ids, self._own_ids):
            if token in ids:
                return ids[token]
        return None

    def id_to_token(self, id: int) -> bytes | None:
        """The own bytes of the token with this id; None if there is none."""
        return self.vocab.get(index(id))

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """The id of one token, special ones included.

        Raises:
            DecodeError: there is no such token (also KeyError).
        """
        number = self.token_to_id(text_or_bytes)
        if number is None:
            raise DecodeError(f"there is no token {show(text_or_bytes)}")
        return number

    def decode_single_token_bytes(self, token: int) -> bytes:
        """One token's own bytes, special ones included; see :attr:`vocab`.

        Raises:
            DecodeError: there is no such token (also KeyError).
        """
        return self.decode_tokens_bytes((token,))[0]

    def decode_tokens_bytes(self, tokens: Sequence[int]) -> list[bytes]:
        """Each token's own bytes.

        Raises:
            DecodeError: an id is not in the model, or is that of several special tokens (also
                KeyError).
        """
        return [self._encoder.decode_bytes((number,)) for number in self._numbers(tokens)]

    def surgery(self, before: Vocabulary, *, config: bytes | None = None) -> Surgery:
        """What a network made for the tokenizer ``before`` needs to take the ids of this one.

        Args:
            before: the tokenizer that the network was made for.
            config: the network's ``config.json``, where it was not read with the tokenizer.

        Raises:
            FormatError: ``config`` is malformed.
        """
        from .extend import surgery

        return surgery(before.model, self._model, config)

    # Decoding.

    def decode(
        self, tokens: Sequence[int], errors: str = "replace", *, skip_special_tokens: bool = False
    ) -> str:
        """The text of ids, by the model's decoder.

        Args:
            tokens: ids.
            errors: what becomes of bytes that are not UTF-8, as in ``bytes.decode``. Where
                tokens are not bytes but text, the decoder says it: U+FFFD.
            skip_special_tokens: leave special tokens out.

        Raises:
            DecodeError: an id is not in the model (also KeyError).
            UnicodeDecodeError: ``errors="strict"``, and the bytes are not UTF-8.
        """
        return self._decode(self._numbers(tokens), skip_special_tokens, errors)

    def decode_stream(
        self,
        *,
        errors: Literal["replace", "strict"] = "replace",
        skip_special_tokens: bool = False,
    ) -> DecodeStream:
        """Decodes ids that come one at a time: ``step(id)`` gives what text is settled by it.

        What the steps and ``finish()`` give is, joined, the text that :meth:`decode` gives for
        all the ids at once.

        Args:
            errors: bytes that are not UTF-8, such as a character that is not complete at the
                end, are U+FFFD, or an error; an error too where the model's decoder itself says
                U+FFFD, and :meth:`decode` raises none.
            skip_special_tokens: leave special tokens out.

        Raises:
            ValueError: ``errors`` is something else.
            UnstatedError: the source does not say how ids are decoded.
        """
        if errors not in ("replace", "strict"):
            raise ValueError(f'errors is "replace" or "strict", not {errors!r}')
        return self._encoder.decode_stream(skip_special=skip_special_tokens, errors=errors)

    def decode_bytes(self, tokens: Sequence[int]) -> bytes:
        """The tokens' own bytes, joined."""
        return self._encoder.decode_bytes(self._numbers(tokens))

    def decode_batch(
        self, batch: Iterable[Sequence[int]], *, errors: str = "replace", num_threads: int = THREADS
    ) -> list[str]:
        """The text of each sequence of ids.

        ``num_threads`` is tiktoken's, and does nothing here.
        """
        return [self.decode(tokens, errors=errors) for tokens in batch]

    def decode_bytes_batch(
        self, batch: Iterable[Sequence[int]], *, num_threads: int = THREADS
    ) -> list[bytes]:
        """The bytes of each sequence of ids.

        ``num_threads`` is tiktoken's, and does nothing here.
        """
        return [self.decode_bytes(tokens) for tokens in batch]

    def decode_with_offsets(self, tokens: Sequence[int]) -> tuple[str, list[int]]:
        """The text of ids and, for each, the character in which its first byte stands.

        The text is that of the tokens' own bytes, as in tiktoken. Where :meth:`decode` leaves
        out a space at the start, it is there.

        Raises:
            UnicodeDecodeError: the bytes are not UTF-8.
        """
        contents = self.decode_tokens_bytes(tokens)
        offsets: list[int] = []
        length = 0
        for content in contents:
            # A token that begins inside a character counts from that character's start.
            inside = bool(content) and 0x80 <= content[0] < 0xC0
            offsets.append(max(0, length - inside))
            length += sum(not 0x80 <= byte < 0xC0 for byte in content)
        return b"".join(contents).decode("utf-8"), offsets

    # tiktoken's private names, which its users rely on.

    @property
    def _special_tokens(self) -> dict[str, int]:
        """The special tokens' texts to their ids; changing it changes nothing here.

        Raises:
            UnstatedError: the source does not say which there are.
        """
        texts = self._special_texts
        return {token.text: token.id for token in self._model.added or () if token.text in texts}

    @property
    def _pat_str(self) -> str:
        """The one pattern whose matches are the pretokens, as tiktoken takes it.

        Raises:
            UnstatedError: the source does not say it.
            PatternError: there is no such pattern.
        """
        from .formats.one_pattern import express
        from .presets import ways_to_say

        if self._model.pretokenizer is None:
            raise UnstatedError(
                "the source does not state its pattern",
                where=self.name,
                fix=ways_to_say(self._model),
            )
        pattern = express(self._model.pretokenizer)
        if isinstance(pattern, Loss):
            raise PatternError(f"tiktoken has no pattern for this tokenizer: {pattern.what}")
        return pattern.source

    @property
    def _mergeable_ranks(self) -> dict[bytes, int]:
        """The tokens' bytes to their ranks, as tiktoken takes them; one dictionary, to be read.

        Raises:
            LossyConversionError: merging in an order of ranks does not give this tokenizer's ids.
        """
        return self._ranks

    # What these are made of.

    @cached_property
    def _ranks(self) -> dict[bytes, int]:
        from .formats import by_name
        from .formats.tiktoken.ranks import written_tokens
        from .gate import refuse

        model = self._model
        ranked = isinstance(model.merges, RankTable) and model.alphabet == "byte"
        if not (ranked and model.lookup_first):
            refuse(model, by_name("tiktoken"))
        return dict(as_dict(written_tokens(model)))

    @cached_property
    def _decode(self) -> Callable[[Sequence[int], bool, str], str]:
        return self._encoder.decoding

    def _numbers(self, tokens: Sequence[int]) -> Sequence[int]:
        """Ids checked as tiktoken does: numpy's integers too, but no float and no text."""
        if isinstance(tokens, (bytes, bytearray, str)):
            if isinstance(tokens, str):
                raise TypeError("ids are int, not str")
            tokens = list(tokens)
        try:
            return array("I", tokens)
        except OverflowError:
            wrong = next(number for number in tokens if not 0 <= number <= MAX_ID)
            raise OutOfRangeError(f"{wrong} is not an id: they are 0 to {MAX_ID}") from None

    @cached_property
    def _special_texts(self) -> frozenset[str]:
        if self._model.added is None:
            from .presets import ways_to_say

            raise UnstatedError(
                "the source does not state its special tokens, so whether a text holds one "
                "is not known",
                where=self.name,
                fix=f"{ways_to_say(self._model)}\n  or treat the text of special tokens as "
                "ordinary text: encode(text, disallowed_special=())",
            )
        return frozenset(token.text for token in self._model.added if token.special)

    @cached_property
    def _special_ids(self) -> frozenset[int]:
        return frozenset(token.id for token in self._model.added or () if token.special)

    @cached_property
    def _added_ids(self) -> dict[bytes, int]:
        return {token.text.encode("utf-8"): token.id for token in self._model.added or ()}

    @cached_property
    def _own_ids(self) -> Mapping[bytes, int]:
        """Tokens by their own bytes, where they are spelled in another way."""
        ids, kinds = self._model.vocab.ids, self._model.vocab.kinds
        if self._model.alphabet == "byte":
            return {}
        from .encode.decode import own_bytes

        undo = own_bytes(self._model)
        numbers: dict[bytes, int] = {}
        for token in sorted(ids, key=lambda token: kinds.get(ids[token]) == "byte"):
            numbers.setdefault(undo(token), ids[token])
        return numbers

    @cached_property
    def _ordinary_tokens(self) -> list[bytes]:
        """The tokens that merging or lookup is about: not those that only number an added one."""
        rule, vocab = self._model.merges, self._model.vocab
        built: set[bytes] = set()
        if isinstance(rule, RankTable):
            built.update(rule.ranks)
        else:
            cut = len(self._model.affixes.prefix)
            built.update(left + right[cut:] for left, right in rule.pairs)
        added = self._added_ids
        return sorted(
            token
            for token, number in vocab.ids.items()
            if vocab.kinds.get(number) != "control"
            and (token in built or added.get(token) != number)
        )
