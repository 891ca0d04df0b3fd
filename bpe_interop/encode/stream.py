"""Ids to text one at a time: a text that was given is never taken back, none waits without need.

All texts that were given are, joined, what decoding all the ids at once gives. So a text waits
for what could still change it: for the rest of a character; where a run of byte tokens is read as
a whole (Hugging Face's ``ByteFallback``: one malformed byte makes all of the run U+FFFD), for the
end of the run; where the last token is written otherwise, for the next one; where a step looks at
the whole text, for its end.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import index
from typing import Protocol, TypeVar

from ..errors import DecodeError
from ..steps import (
    ByteTokens,
    DecoderStep,
    Fuse,
    JoinBytes,
    JoinPieces,
    JoinTokens,
    MetaspaceText,
    Replace,
    StripToken,
    Verbatim,
    WordEnds,
    WordPieces,
    no_branch,
)
from ..text.decoders import Malformed, apply_step, byte_of, decode_tokens, token_bytes

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)


class Sink(Protocol[T_contra]):
    """Takes tokens in the form that a decoder sees, and tells the text that is settled."""

    def add(self, token: T_contra) -> str:
        """The text that one more token settles."""
        ...

    def add_all(self, tokens: Sequence[T_contra]) -> str:
        """The text that some more tokens settle: what :meth:`add` gives for each, joined."""
        ...

    def end(self) -> str:
        """The rest."""
        ...


class DecodeStream:
    """The text of ids that come one at a time. For one sequence of ids, and one thread.

    Made by ``Tokenizer.decode_stream``.
    """

    def __init__(
        self,
        find: Callable[[int], T | None],
        sink: Sink[T],
        find_all: Callable[[Sequence[int]], Sequence[T]] | None = None,
    ) -> None:
        """``find_all`` is for sinks that take many tokens, or fail and are as they were."""

        def add(number: int) -> str:
            token = find(number)
            return "" if token is None else sink.add(token)

        def add_all(numbers: Sequence[int]) -> str | None:
            if find_all is None:
                return None
            try:
                return sink.add_all(find_all(numbers))
            except (DecodeError, UnicodeDecodeError):
                return None  # one by one, the ids before that one give their text

        self._add, self._add_all, self._end = add, add_all, sink.end
        self._finished = False

    def step(self, id: int) -> str:
        """The text that one more id settles; often empty.

        Raises:
            DecodeError: the id is not in the model (also KeyError); the stream is as it was.
            UnicodeDecodeError: ``errors="strict"``, and the bytes are not UTF-8.
            ValueError: the stream is finished.
        """
        self._check()
        return self._add(index(id))

    def finish(self) -> str:
        """The text that was waited with; what is left of a character is U+FFFD.

        Raises:
            UnicodeDecodeError: ``errors="strict"``, and a character is not complete.
            ValueError: the stream is finished.
        """
        self._check()
        self._finished = True
        return self._end()

    def texts(self, ids: Iterable[int]) -> Iterator[str]:
        """The texts that ids settle, as they come, and the rest; none of them is empty.

        Raises:
            The errors of :meth:`step` and :meth:`finish`.
        """
        for number in ids:
            if text := self.step(number):
                yield text
        if text := self.finish():
            yield text

    def texts_of(self, batches: Iterable[Sequence[int]]) -> Iterator[str]:
        """As :meth:`texts`, for ids that come many at a time: a text for each batch at most.

        Raises:
            The errors of :meth:`step` and :meth:`finish`, after the text of the ids before.
        """
        for numbers in batches:
            self._check()
            text, error = self._add_all(numbers), None
            if text is None:
                text, error = self._one_by_one(numbers)
            if text:
                yield text
            if error is not None:
                raise error
        if text := self.finish():
            yield text

    def _one_by_one(
        self, numbers: Sequence[int]
    ) -> tuple[str, DecodeError | UnicodeDecodeError | None]:
        """The text up to the first id that has none, and the error of that id."""
        parts: list[str] = []
        try:
            for number in numbers:
                parts.append(self.step(number))
        except (DecodeError, UnicodeDecodeError) as error:
            return "".join(parts), error
        return "".join(parts), None

    def _check(self) -> None:
        if self._finished:
            raise ValueError("this stream is finished; begin another one")


class Bytes:
    """Tokens that are bytes, joined and read as UTF-8."""

    def __init__(self, errors: Malformed) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors)

    def add(self, token: bytes) -> str:
        """The characters that are complete."""
        return self._decoder.decode(token)

    def add_all(self, tokens: Sequence[bytes]) -> str:
        return self._decoder.decode(b"".join(tokens))

    def end(self) -> str:
        """What is left of a character."""
        return self._decoder.decode(b"", True)


class AsItIs(str):
    """A token that no step changes by itself, because it stands for itself."""

    __slots__ = ()


class Chain:
    """Tokens through the steps of a decoder; see :func:`.text.decoders.decode_tokens`."""

    def __init__(self, steps: Sequence[DecoderStep], errors: Malformed) -> None:
        self._stages = _stages(steps or (JoinTokens(),), errors)
        # The steps that see a token by itself stand before the one that joins all.
        joining = (at for at, step in enumerate(steps) if isinstance(step, Fuse))
        self._alone = next(joining, 0)
        self._begun = False
        self.takes_many = _takes_many(self._stages, errors)

    def add(self, token: str) -> str:
        """What comes out of the last step."""
        first, self._begun = not self._begun, True
        if first and isinstance(token, AsItIs) and not token:
            self._stages = [stage for stage in self._stages if not isinstance(stage, _Start)]
        if not isinstance(token, AsItIs):
            return self.add_all([token])
        before: list[str] = []
        for stage in self._stages[: self._alone]:  # a run of bytes ends here
            before = [*self._through(before, (stage,)), *stage.end()]
        return "".join(self._through([*before, str(token)], self._stages[self._alone :]))

    def add_all(self, tokens: Sequence[str]) -> str:
        """What comes out of the last step; only where ``takes_many`` is it for many tokens."""
        return "".join(self._through([*tokens], self._stages))

    def end(self) -> str:
        """What the steps have held back, each through those after it."""
        tokens: list[str] = []
        for stage in self._stages:
            tokens = [*self._through(tokens, (stage,)), *stage.end()]
        return "".join(tokens)

    @staticmethod
    def _through(tokens: list[str], stages: Iterable[_Stage]) -> list[str]:
        for stage in stages:
            tokens = stage.add(tokens) if tokens else tokens
        return tokens


class _Stage(Protocol):
    """A step of a decoder, by tokens; behind one that joins all of them, by parts of that one."""

    def add(self, tokens: list[str]) -> list[str]: ...

    def end(self) -> list[str]: ...


def _stages(steps: Sequence[DecoderStep], errors: Malformed) -> list[_Stage]:
    stages: list[_Stage] = []
    joined = False
    for place, step in enumerate(steps):
        if not joined:
            stages.append(_by_token(step, errors))
            joined = isinstance(step, (Fuse, JoinBytes, JoinTokens))
        # Behind a step that joins all there is one token, the text: a start can be stripped as it
        # comes, anything at its end not.
        elif isinstance(step, StripToken) and not step.stop:
            stages.append(_Start(step))
        elif isinstance(step, Replace) and isinstance(step.pattern, str) and step.pattern:
            stages.append(_Replaced(step.pattern, step.content))
        elif not isinstance(step, (Fuse, JoinTokens)):
            stages.append(_Whole(steps[place:]))
            break
    return stages


def _takes_many(stages: Sequence[_Stage], errors: Malformed) -> bool:
    """Whether stages that fail on one of many tokens are as they were before all of them."""
    alone = [isinstance(stage, _Each) and not stage.of_first for stage in stages]
    read = [at for at, stage in enumerate(stages) if isinstance(stage, (_Runs, _Joined))]
    if any(isinstance(stage, _Each) and stage.may_fail for stage in stages):
        return False
    return errors == "replace" or not read or all(alone[: read[-1]])


def _by_token(step: DecoderStep, errors: Malformed) -> _Stage:
    if isinstance(step, ByteTokens):
        return _Runs(step, errors)
    if isinstance(step, WordEnds):
        return _Ends(step)
    if isinstance(step, JoinBytes):
        return _Joined(errors)
    if isinstance(step, JoinTokens):
        return _Spaced()
    if isinstance(step, (Replace, Fuse, StripToken)):
        return _Each(step, of_first=False)
    # What these do to a token depends on whether it is the first.
    if isinstance(step, (MetaspaceText, WordPieces)):
        return _Each(step, of_first=True)
    if isinstance(step, (Verbatim, JoinPieces)):
        raise ValueError(f"{type(step).__name__} takes ids and their kinds, not tokens")
    raise no_branch(step)


class _Each:
    """A step that does the same to each token, or the same to each but the first."""

    def __init__(self, step: DecoderStep, *, of_first: bool) -> None:
        self._step = step
        self.of_first = of_first
        self._before: list[str] = []
        self.may_fail = isinstance(step, StripToken) or (
            isinstance(step, Replace) and not isinstance(step.pattern, str)
        )

    def add(self, tokens: list[str]) -> list[str]:
        # An empty token is enough for the step to see that another one is not the first.
        ready = apply_step(self._step, [*self._before, *tokens])[len(self._before) :]
        if self.of_first:
            self._before = [""]
        return ready

    def end(self) -> list[str]:
        return []


class _Ends:
    """A step that does something else to the last token."""

    def __init__(self, step: WordEnds) -> None:
        self._step = step
        self._held: list[str] = []

    def add(self, tokens: list[str]) -> list[str]:
        # The last token is written otherwise, so it waits; an empty one stands in for it.
        ready = apply_step(self._step, [*self._held, *tokens[:-1], ""])[:-1]
        self._held = tokens[-1:]
        return ready

    def end(self) -> list[str]:
        return apply_step(self._step, self._held)


class _Runs:
    """Runs of byte tokens, each read when it is over."""

    def __init__(self, step: ByteTokens, errors: Malformed) -> None:
        self._step = step
        self._strict = errors == "strict"
        self._run: list[str] = []

    def add(self, tokens: list[str]) -> list[str]:
        # A run at the end may go on: it waits (ByteFallback reads a run as a whole).
        over = len(tokens)
        while over and byte_of(tokens[over - 1]) is not None:
            over -= 1
        if not over:
            self._run += tokens
            return []
        ready = self._read([*self._run, *tokens[:over]])
        self._run = tokens[over:]
        return ready

    def end(self) -> list[str]:
        run, self._run = self._run, []
        return self._read(run)

    def _read(self, tokens: list[str]) -> list[str]:
        if self._strict:
            run = map(byte_of, tokens)
            # Raises; the step itself writes U+FFFD.
            bytes(byte for byte in run if byte is not None).decode("utf-8")
        return apply_step(self._step, tokens)


class _Joined:
    """All tokens as one, read as UTF-8."""

    def __init__(self, errors: Malformed) -> None:
        self._bytes = Bytes(errors)

    def add(self, tokens: list[str]) -> list[str]:
        return [self._bytes.add_all([*map(token_bytes, tokens)])]

    def end(self) -> list[str]:
        return [self._bytes.end()]


class _Spaced:
    """All tokens as one, with spaces between them."""

    def __init__(self) -> None:
        self._space = ""

    def add(self, tokens: list[str]) -> list[str]:
        ready = self._space + " ".join(tokens)
        self._space = " "
        return [ready]

    def end(self) -> list[str]:
        return []


class _Start:
    """Removes up to so many of a character from the start of a text that comes in parts."""

    def __init__(self, step: StripToken) -> None:
        self._content = step.content
        self._left = step.start

    def add(self, tokens: list[str]) -> list[str]:
        token = "".join(tokens)
        while self._left and token:
            if not token.startswith(self._content):
                self._left = 0
                break
            token = token[len(self._content) :]
            self._left -= 1
        return [token]

    def end(self) -> list[str]:
        return []


class _Replaced:
    """Replaces a text in a text that comes in parts."""

    def __init__(self, pattern: str, content: str) -> None:
        self._pattern = pattern
        self._content = content
        self._pending = ""

    def add(self, tokens: list[str]) -> list[str]:
        *done, rest = "".join([self._pending, *tokens]).split(self._pattern)
        # The longest end that may be the beginning of a match waits for what follows.
        kept = next(
            n
            for n in range(min(len(self._pattern) - 1, len(rest)), -1, -1)
            if rest.endswith(self._pattern[:n])
        )
        self._pending = rest[len(rest) - kept :]
        return [self._content.join([*done, rest[: len(rest) - kept]])]

    def end(self) -> list[str]:
        return [self._pending]


class _Whole:
    """Steps that are done to the whole text, at the end."""

    def __init__(self, steps: Sequence[DecoderStep]) -> None:
        self._steps = steps
        self._parts: list[str] = []

    def add(self, tokens: list[str]) -> list[str]:
        self._parts += tokens
        return []

    def end(self) -> list[str]:
        return [decode_tokens(self._steps, ["".join(self._parts)])]
