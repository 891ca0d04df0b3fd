"""The tokenizer that people hold in their hands: tiktoken's names and meanings over a model."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, overload

from .arguments import one_or_more, several
from .errors import EngineError
from .formats import FormatOption, by_name, way_of_writing
from .kernel import THREADS
from .loss import Field, Loss
from .model import Allowed, BPEModel, Json
from .special import (
    ALL,
    NONE,
    ORDINARY,
    Disallowed,
    SpecialRule,
    checked,
    content_of,
    refuse_disallowed,
    special_rule,
)
from .text.surrogates import repair
from .vocabulary import Vocabulary

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import tiktoken
    import tokenizers
    from sentencepiece import SentencePieceProcessor
    from typing_extensions import Self

    from .completions import Completer
    from .engines import Engine, Special
    from .engines.live import TransformersTokenizer
    from .extend import Flags, Wanted
    from .token_counts import Statistics


_TEXT = -1
"""What stands for the ids of a text between those that a template places; no id is negative."""


class Tokenizer(Vocabulary):
    """Texts to ids and back. Picklable, and many threads may use one.

    Args:
        model: the tokenizer's facts.
        engine: encode with an installed library: its name, or ``"auto"`` for the fastest that
            runs this model exactly (ours where there is none, and with the native kernel where
            that holds the model, which is faster). The ids are the same. A text
            that the library fails on is encoded by our own encoder.

    Raises:
        LossyConversionError: the named engine cannot run this model exactly.
        EngineError: there is no such engine, or (EngineMissingError) it is not installed.
    """

    def __init__(self, model: BPEModel, engine: str | None = None) -> None:
        super().__init__(model)
        self._asked_engine = engine
        self._engine: Engine | None = None
        if engine is not None:
            from .engines.choice import exact_engine, fastest_engine

            auto = engine == "auto"
            self._engine = fastest_engine(model) if auto else exact_engine(engine, model)

    def __repr__(self) -> str:
        with_engine = f", engine {self.engine}" if self.engine else ""
        name = f" {self.name!r}" if self.name else ""
        return f"<{type(self).__name__}{name}, {self.n_vocab:,} ids{with_engine}>"

    def __reduce__(self) -> tuple[object, ...]:
        return Tokenizer, (self._model, self._asked_engine)

    @classmethod
    def _of(cls, model: BPEModel, engine: str | None = None) -> Self:
        """One of a model, also where a subclass is made of something else."""
        made = cls.__new__(cls)
        Tokenizer.__init__(made, model, engine)
        return made

    # Other libraries' objects.

    @classmethod
    def from_tiktoken(cls, encoding: tiktoken.Encoding, *, engine: str | None = None) -> Self:
        """The tokenizer of a ``tiktoken.Encoding``."""
        from .engines.live import files_from_encoding

        return cls._of(by_name("tiktoken").load(files_from_encoding(encoding)), engine)

    @classmethod
    def from_tokenizers(cls, tokenizer: tokenizers.Tokenizer, *, engine: str | None = None) -> Self:
        """The tokenizer of a ``tokenizers.Tokenizer``.

        Raises:
            UnsupportedError: it is not BPE, or has a part that is refused by name.
        """
        from .engines.live import model_from_tokenizers

        return cls._of(model_from_tokenizers(tokenizer), engine)

    @classmethod
    def from_transformers(cls, tokenizer: object, *, engine: str | None = None) -> Tokenizer:
        """What a live tokenizer of transformers runs (``AutoTokenizer``), with roles, not settings.

        Raises:
            EngineError: it is a class in Python, without a pipeline that could be read.
            UnsupportedError: as :meth:`from_tokenizers`.
        """
        from .engines.live import model_from_transformers

        return cls(model_from_transformers(tokenizer), engine)

    @classmethod
    def from_sentencepiece(
        cls, processor: SentencePieceProcessor, *, engine: str | None = None
    ) -> Self:
        """The tokenizer of a ``sentencepiece.SentencePieceProcessor``.

        Its extra options (``add_bos`` ...) are not part of it.

        Raises:
            UnsupportedError: it is not a BPE model.
        """
        from .engines.live import files_from_sentencepiece

        return cls._of(by_name("sentencepiece").load(files_from_sentencepiece(processor)), engine)

    def to_tiktoken(self, *, drop: Field | Iterable[Field] = ()) -> tiktoken.Encoding:
        """A ``tiktoken.Encoding`` with the same ids, or ``LossyConversionError``."""
        from .engines.live import to_tiktoken

        return to_tiktoken(self._model, drop)

    def to_tokenizers(self, *, drop: Field | Iterable[Field] = ()) -> tokenizers.Tokenizer:
        """A ``tokenizers.Tokenizer`` with the same ids, or ``LossyConversionError``."""
        from .engines.live import to_tokenizers

        return to_tokenizers(self._model, drop)

    def to_sentencepiece(self, *, drop: Field | Iterable[Field] = ()) -> SentencePieceProcessor:
        """A ``sentencepiece.SentencePieceProcessor`` with the same ids.

        Raises:
            LossyConversionError: it cannot hold this tokenizer exactly.
        """
        from .engines.live import to_sentencepiece

        return to_sentencepiece(self._model, drop)

    def to_transformers(self, *, drop: Field | Iterable[Field] = ()) -> TransformersTokenizer:
        """A ``transformers.PreTrainedTokenizerFast`` with the same ids, roles and chat template.

        Raises:
            LossyConversionError: it cannot hold this tokenizer exactly.
        """
        from .engines.live import to_transformers

        return to_transformers(self._model, drop)

    def save(
        self,
        target: str | Path,
        format: str | None = None,
        *,
        drop: Field | Iterable[Field] = (),
        force: bool = False,
        options: FormatOption | Iterable[FormatOption] = (),
    ) -> tuple[Loss, ...]:
        """Writes the tokenizer, all or nothing; returns what the target does not hold.

        Args:
            target: a new or empty directory, or a file that ends as those of the format.
            format: a format's name; needed unless the file's name says it.
            drop: fields of the model that may be lost.
            force: replace the target as a whole.
            options: the format's own options, as :func:`bpe_interop.convert` takes them.

        Raises:
            LossyConversionError: the format cannot hold the tokenizer exactly.
            UnstatedError: the format has to say what the model does not.
            TargetError: the target cannot be written, or already holds something.
        """
        from . import gate
        from .formats.round_trip import RoundTrip
        from .io.target import Target, check_target
        from .io.writer import staged

        wanted = Target.of(Path(target), format)
        ways = [way_of_writing(wanted.format, option) for option in one_or_more(options)]
        model = gate.renamed(self._model, wanted.stem) if wanted.stem else self._model
        check_target(wanted.place, force=force)
        alone = wanted.alone(further=bool(ways))
        trip = RoundTrip(model, wanted.format, (*ways, wanted.named), alone)
        losses = gate.admit(trip, drop)
        with staged(wanted.place, trip.files, force=force):
            return losses

    @property
    def engine(self) -> str | None:
        """The library that encodes, None where our own encoder does."""
        return None if self._engine is None else self._engine.name

    def with_engine(self, engine: str | None) -> Tokenizer:
        """The same tokenizer, encoding with another engine; see :class:`Tokenizer`."""
        return Tokenizer(self._model, engine)

    # Special tokens.

    def with_special_tokens(
        self, tokens: Wanted, *, roles: Mapping[str, str] | None = None
    ) -> Tokenizer:
        """A tokenizer with further special tokens, on the same engine; this one stays as it is.

        Args:
            tokens: texts, or texts with their ids (None: the next one that is free). Texts that
                the tokenizer has as tokens keep their ids.
            roles: role (``bos``, ``eos``, ``unk``, ``sep``, ``pad``, ``cls``, ``mask``) to the
                text of a special token, one of the new ones or another.

        Raises:
            SpecialTokenError: see :func:`.extend.with_tokens` (also ValueError).
            UnstatedError: the source does not say which special tokens there are.
            LossyConversionError: the engine cannot run the new tokenizer exactly.
        """
        from .extend import with_tokens

        return Tokenizer(with_tokens(self._model, tokens, roles), self._asked_engine)

    def with_tokens(
        self,
        tokens: Wanted = (),
        *,
        flags: Flags | None = None,
        names: Mapping[str, str] | None = None,
    ) -> Tokenizer:
        """A tokenizer with further added tokens that are not special: they are found in all texts.

        Args:
            tokens: texts, or texts with their ids, as :meth:`with_special_tokens` takes them.
            flags: ``lstrip``, ``rstrip``, ``single_word`` or ``normalized`` of new tokens.
            names: other texts for added tokens that are there; they keep their ids.

        Raises:
            SpecialTokenError, UnstatedError, LossyConversionError: as the method above.
        """
        from .extend import with_tokens

        model = with_tokens(self._model, plain=tokens, flags=flags, names=names)
        return Tokenizer(model, self._asked_engine)

    # Encoding.

    def encode(
        self,
        text: str,
        *,
        allowed_special: Allowed = NONE,
        disallowed_special: Disallowed = ALL,
        add_special_tokens: bool = False,
    ) -> list[int]:
        """The ids of a text.

        Args:
            text: any text; surrogates are joined where they pair, else read as U+FFFD.
            allowed_special: special tokens to be found in the text; ``"all"``: every one.
            disallowed_special: texts that are refused if the text holds them. ``"all"``: every
                special token that is not allowed; ``()`` or None: none, their text is ordinary.
            add_special_tokens: apply the sequence template.

        Raises:
            DisallowedSpecialError: the text holds a disallowed one (also ValueError).
            EncodeError: the text has no encoding here (also ValueError).
            UnstatedError: the source does not state its pattern or special tokens.
        """
        rule = self._rule(allowed_special, disallowed_special)
        refuse_disallowed(text, rule)
        return self._ids(text, rule, self._template(add_special_tokens))

    def encode_ordinary(self, text: str) -> list[int]:
        """The ids of a text: special tokens are ordinary text, other added tokens are found."""
        if self._engine is None:
            return self._encoder.encode(checked(text))
        return self._ids(checked(text), ORDINARY)

    def encode_batch(
        self,
        text: Iterable[str],
        *,
        num_threads: int = THREADS,
        allowed_special: Allowed = NONE,
        disallowed_special: Disallowed = ALL,
        add_special_tokens: bool = False,
        pad: bool = False,
    ) -> list[list[int]]:
        """The ids of each text, as :meth:`encode`. An engine chooses its own threads.

        Args:
            text: the texts.
            num_threads: of the native kernel.
            allowed_special: as in :meth:`encode`.
            disallowed_special: as in :meth:`encode`.
            add_special_tokens: apply the sequence template.
            pad: truncate and fill up as the ``tokenizer.json`` says (``truncation``, ``padding``).

        Raises:
            UnstatedError: ``pad`` is asked for, and the tokenizer does not say how.
            BpeInteropError: as in :meth:`encode`.
        """
        texts, rule = self._texts_and_rule(text, allowed_special, disallowed_special)
        template = self._template(add_special_tokens)
        if not pad:
            return self._ids_of_each(texts, rule, num_threads, template)
        from .batches import as_batch

        rows = self._ids_of_each(texts, rule, num_threads)
        return as_batch(self._model, rows, self._encoder.template if template else None)

    def encode_ordinary_batch(
        self, text: Iterable[str], *, num_threads: int = THREADS
    ) -> list[list[int]]:
        """The ids of each text, as :meth:`encode_ordinary`."""
        return self._ids_of_each(list(map(checked, several(text, "texts"))), ORDINARY, num_threads)

    def encode_to_arrays(
        self,
        text: Iterable[str],
        *,
        num_threads: int = THREADS,
        allowed_special: Allowed = NONE,
        disallowed_special: Disallowed = ALL,
        add_special_tokens: bool = False,
    ) -> tuple[array[int], array[int]]:
        """The ids of all texts one after the other, and where those of each text end.

        What :meth:`encode_batch` gives, without a list of each text: ids as 32 bits (type code
        ``"I"``), ends as 64 (``"Q"``). ``numpy.asarray`` takes both as they are.
        """
        texts, rule = self._texts_and_rule(text, allowed_special, disallowed_special)
        template = self._template(add_special_tokens)
        if self._engine is None:
            return self._encoder.encode_joined(
                texts, rule.allowed, threads=num_threads, template=template
            )
        from .encode import joined_rows

        return joined_rows(self._ids_of_each(texts, rule, num_threads, template))

    def encode_to_numpy(
        self,
        text: str,
        *,
        allowed_special: Allowed = NONE,
        disallowed_special: Disallowed = ALL,
    ) -> npt.NDArray[np.uint32]:
        """The ids of a text as an array; needs ``numpy``."""
        import numpy as np

        if self._engine is not None:
            listed = self.encode(
                text, allowed_special=allowed_special, disallowed_special=disallowed_special
            )
            return np.array(listed, np.uint32)
        rule = self._rule(allowed_special, disallowed_special)
        refuse_disallowed(text, rule)
        ids = self._encoder.encode_array(text, rule.allowed)
        return np.frombuffer(ids, np.uint32) if isinstance(ids, array) else np.array(ids, np.uint32)

    def encode_with_offsets(
        self,
        text: str,
        *,
        allowed_special: Allowed = NONE,
        disallowed_special: Disallowed = ALL,
        add_special_tokens: bool = False,
    ) -> tuple[list[int], list[tuple[int, int]]]:
        """The ids of a text and, for each, the characters (start, end) that it came from.

        A token that begins or ends inside a character covers it. Where the text is normalized,
        the characters are those that the token's were made from: all of ``e`` and an accent, where
        tokenizers names the first alone, or the last. White space at a token's ends is always in,
        also where ``trim_offsets`` makes tokenizers leave it out. What the sequence template
        places has (0, 0), as there.

        Args:
            text: the text.
            allowed_special: as in :meth:`encode`.
            disallowed_special: as in :meth:`encode`.
            add_special_tokens: apply the sequence template.

        Raises:
            The errors of :meth:`encode`.
        """
        rule = self._rule(allowed_special, disallowed_special)
        refuse_disallowed(text, rule)
        ids, offsets = self._encoder.encode_with_offsets(text, rule.allowed)
        if not add_special_tokens:
            return ids, offsets
        self._template(add_special_tokens)
        around = self._encoder.template([_TEXT])
        at = around.index(_TEXT)
        before, after = around[:at], around[at + 1 :]
        nowhere = (0, 0)
        spans = [*(nowhere for _ in before), *offsets, *(nowhere for _ in after)]
        return [*before, *ids, *after], spans

    def encode_with_unstable(
        self,
        text: str,
        *,
        allowed_special: Allowed = NONE,
        disallowed_special: Disallowed = ALL,
    ) -> tuple[list[int], list[list[int]]]:
        """The ids that stay if more text follows, and the sequences that may follow them.

        Raises:
            EncodeError: not defined for this model: it normalizes, puts something before or
                after texts, or merges characters.
        """
        rule = self._rule(allowed_special, disallowed_special)
        refuse_disallowed(text, rule)
        return self._completer.complete(repair(text), rule.allowed)

    def _encode_single_piece(self, text_or_bytes: str | bytes) -> list[int]:
        """The ids of one pretoken, special tokens as ordinary text; tiktoken's private name.

        Raises:
            EncodeError: a byte or character of it has no token.
        """
        return self._encoder.encode_pretoken(content_of(text_or_bytes))

    def _encode_bytes(self, text: bytes) -> list[int]:
        """The ids of bytes that need not be UTF-8; tiktoken's private name and its meaning.

        What follows the first byte that is not UTF-8 is one pretoken with the last one before
        it; :class:`.completions.Completer` says how that is found.

        Raises:
            EncodeError: the bytes are not UTF-8, and :meth:`encode_with_unstable` has no meaning
                for this model.
        """
        if not isinstance(text, bytes):
            raise TypeError(f"bytes are expected, not {type(text).__name__}")
        try:
            return self.encode_ordinary(text.decode("utf-8"))
        except UnicodeDecodeError as error:
            return self._completer.encode_bytes(text, error.start)

    def count(
        self,
        text: str,
        *,
        allowed_special: Allowed = NONE,
        disallowed_special: Disallowed = ALL,
        add_special_tokens: bool = False,
    ) -> int:
        """How many ids a text has; arguments and errors of :meth:`encode`."""
        if self._engine is not None:
            return len(
                self.encode(
                    text,
                    allowed_special=allowed_special,
                    disallowed_special=disallowed_special,
                    add_special_tokens=add_special_tokens,
                )
            )
        rule = self._rule(allowed_special, disallowed_special)
        refuse_disallowed(text, rule)
        placed = len(self._encoder.template([])) if self._template(add_special_tokens) else 0
        return len(self._encoder.encode_array(text, rule.allowed)) + placed

    def truncate(
        self,
        text: str,
        most: int,
        *,
        allowed_special: Allowed = NONE,
        disallowed_special: Disallowed = ALL,
    ) -> str:
        """The longest beginning of a text that ends where a token does and has few enough ids.

        No character is cut, and it is what the beginning has by itself that counts: a beginning
        may have other ids than it has in the text.

        Args:
            text: the text.
            most: how many ids it may have, without those of the sequence template.
            allowed_special: as in :meth:`encode`.
            disallowed_special: as in :meth:`encode`.

        Raises:
            ValueError: ``most`` is negative.
            BpeInteropError: as in :meth:`encode`.
        """
        if most < 0:
            raise ValueError(f"a text has no fewer than 0 ids, and not {most}")
        rule = self._rule(allowed_special, disallowed_special)
        refuse_disallowed(text, rule)
        ids, spans = self._encoder.encode_with_offsets(text, rule.allowed, most=most)
        if len(ids) <= most:
            return text
        for kept in range(most, 0, -1):
            end = spans[kept - 1][1]
            # Where the next token begins before this one ends, a character is in both.
            if spans[kept][0] >= end:
                beginning = text[:end]
                if len(self._encoder.encode_array(beginning, rule.allowed)) <= most:
                    return beginning
        return ""

    @overload
    def apply_chat_template(
        self,
        messages: Sequence[Mapping[str, Json]],
        *,
        tools: Sequence[Json] = (),
        add_generation_prompt: bool = False,
        chat_template: str | None = None,
        tokenize: Literal[True] = True,
        **more: Json,
    ) -> list[int]: ...
    @overload
    def apply_chat_template(
        self,
        messages: Sequence[Mapping[str, Json]],
        *,
        tools: Sequence[Json] = (),
        add_generation_prompt: bool = False,
        chat_template: str | None = None,
        tokenize: Literal[False],
        **more: Json,
    ) -> str: ...
    def apply_chat_template(
        self,
        messages: Sequence[Mapping[str, Json]],
        *,
        tools: Sequence[Json] = (),
        add_generation_prompt: bool = False,
        chat_template: str | None = None,
        tokenize: bool = True,
        **more: Json,
    ) -> list[int] | str:
        """The ids of a chat, or its text: the chat template as transformers renders it.

        A marker in what a *message* says is found as a token too, as there.

        Args:
            messages: each a mapping with ``role`` and mostly ``content``.
            tools: those that may be called, as JSON.
            add_generation_prompt: write the beginning of an answer.
            chat_template: one of the tokenizer's by its name, or Jinja; None is its own.
            tokenize: ids, and not the text.
            more: further variables of the template.

        Raises:
            SourceError: there is no chat template, or it fails on this chat.
        """
        from .chat_jinja import rendered

        text = rendered(self._model, messages, tools, add_generation_prompt, chat_template, more)
        return self.encode(text, allowed_special="all", disallowed_special=()) if tokenize else text

    def measure(self, text: Iterable[str]) -> Statistics:
        """Tokens per word, bytes per token, and which tokens do not occur; special tokens in the
        texts are ordinary text. :func:`bpe_interop.measure` measures files of any size.

        Raises:
            EncodeError: a text has no encoding here (also ValueError).
        """
        from .token_counts import Statistics, special_ids

        documents = size = words = 0
        counts: Counter[int] = Counter()
        for each in several(text, "texts"):
            counts.update(self.encode_ordinary(each))
            documents, words = documents + 1, words + len(each.split())
            size += len(repair(each).encode())
        sizes = {number: len(content) for number, content in self.vocab.items()}
        special = special_ids(self._model)
        read = documents, size, words
        return Statistics(self.name or "", "", *read, counts, sizes, special)

    def pretokenize(self, text: str) -> list[str | bytes]:
        """What is merged separately: texts, or bytes where a character was cut."""
        return self._encoder.pretokenize(checked(text))

    # What these are made of.

    def _rule(self, allowed: Allowed, disallowed: Disallowed) -> SpecialRule:
        if allowed is NONE:  # what a caller says who says nothing, or only that none is refused
            if disallowed is ALL:
                return self._usual_rule
            if not disallowed:
                return ORDINARY
        return special_rule(allowed, disallowed, lambda: self._special_texts)

    @cached_property
    def _usual_rule(self) -> SpecialRule:
        return special_rule(NONE, ALL, lambda: self._special_texts)

    def _texts_and_rule(
        self, texts: Iterable[str], allowed: Allowed, disallowed: Disallowed
    ) -> tuple[list[str], SpecialRule]:
        rule, listed = self._rule(allowed, disallowed), list(several(texts, "texts"))
        for text in listed:
            refuse_disallowed(text, rule)
        return listed, rule

    def _ids(self, text: str, rule: SpecialRule, template: bool = False) -> list[int]:
        special = None if self._engine is None else self._engine_mode(rule)
        if self._engine is not None and special is not None:
            try:
                ids = self._engine.encode(text, special=special)
            except EngineError:
                # The library failed on this text (a panic, a lone surrogate); ours does not.
                pass
            else:
                return self._encoder.template(ids) if template else ids
        return self._encoder.encode(text, rule.allowed, template=template)

    def _ids_of_each(
        self, texts: list[str], rule: SpecialRule, threads: int, template: bool = False
    ) -> list[list[int]]:
        if self._engine is None:
            return self._encoder.encode_each(
                texts, rule.allowed, threads=threads, template=template
            )
        special = self._engine_mode(rule)
        if special is not None:
            try:
                rows = self._engine.encode_batch(texts, special=special)
            except EngineError:
                pass
            else:
                return list(map(self._encoder.template, rows)) if template else rows
        return [self._ids(text, rule, template) for text in texts]

    def _template(self, wanted: bool) -> bool:
        """Whether the template is rule for; an error where it is, and is not stated."""
        if wanted and self._model.sequence_template is None:
            from .gate import template_unsaid

            raise template_unsaid(self._model)
        return wanted

    def _engine_mode(self, rule: SpecialRule) -> Special | None:
        """How an engine finds the special tokens that are rule for; None if it has no way.

        Engines know all or none, or none only. All will do for some, where the others were
        refused in the text, unless a normalizer can bring one of those about.
        """
        if self._engine is None:
            return None
        allowed = rule.allowed & self._special_texts
        if not allowed:
            return "text"
        if not self._engine.parses_special:
            return None
        others = self._special_texts - allowed
        if not others or (others <= rule.disallowed and not self._model.normalizer):
            return "parse"
        return None

    @cached_property
    def _completer(self) -> Completer:
        from .completions import Completer

        return Completer(self._model, self._encoder, self._ordinary_tokens)
