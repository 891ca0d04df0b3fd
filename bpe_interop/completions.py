"""Which tokens of a text stay when more text follows, and how the rest may go on.

A text that is cut anywhere ends in tokens that more text may change. The meaning is that of
tiktoken's ``encode_with_unstable`` (``_encode_unstable_native`` in its ``src/lib.rs``), rules of
thumb included, so that both give the same answer.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from .encode import Encoder
from .errors import EncodeError
from .merging.merger import Merger
from .merging.symbols import symbols_of
from .model import Affixes, BPEModel
from .steps import Metaspace, PrefixSpace
from .text.added_tokens import AddedMatcher
from .text.unicode import WHITE_SPACE


class Completer:
    """Splits a text's ids into stable ones and the ways in which the rest may go on.

    Args:
        model: what is encoded with.
        encoder: its encoder.
        tokens: the tokens that merging or lookup can give, sorted.

    Raises:
        EncodeError: the model changes texts before it cuts them, or merges characters.
    """

    def __init__(self, model: BPEModel, encoder: Encoder, tokens: Sequence[bytes]) -> None:
        steps = model.pretokenizer or ()
        # Tokens must be parts of the text: nothing is normalized, or put before or after it.
        spelled = model.alphabet == "byte" and model.affixes == Affixes() and not model.normalizer
        if not spelled or any(isinstance(step, (PrefixSpace, Metaspace)) for step in steps):
            raise EncodeError(
                "unstable tokens are defined only where a text's tokens spell the text itself, "
                "byte by byte; this model normalizes texts, puts something before or after them, "
                "or merges characters"
            )
        self._encoder = encoder
        self._ids = model.vocab.ids
        self._merger = Merger(model.merges)
        self._tokens = tokens
        self._added = AddedMatcher(model.added or (), str)
        self._blank = {self._ids[token] for token in tokens if not token.strip(b" \n\t")}

    def complete(self, text: str, allowed: AbstractSet[str]) -> tuple[list[int], list[list[int]]]:
        """The stable ids of a text, and the sequences of ids that may follow them, sorted.

        Each sequence begins with all that is left of the text, and may reach beyond its end.
        """
        ids = self._encoder.encode(text, allowed)
        count = self._unstable_count(ids, text, allowed)
        if count == 0:
            return ids, []
        stable = ids[:-count]
        rest = b"".join(self._encoder.token_bytes(number) for number in ids[-count:])
        return stable, sorted(map(list, set(self._completions(rest))))

    def encode_bytes(self, content: bytes, valid: int) -> list[int]:
        """The ids of bytes of which the first ``valid`` are UTF-8."""
        text = content[:valid].decode("utf-8")
        ids = self._encoder.encode(text)
        # The ids that more text may change are taken back; their bytes and the rest are one
        # pretoken (_encode_bytes in tiktoken's src/py.rs).
        stable = len(ids) - self._unstable_count(ids, text, frozenset())
        rest = b"".join(map(self._encoder.token_bytes, ids[stable:])) + content[valid:]
        return ids[:stable] + self._encoder.encode_pretoken(rest)

    def _unstable_count(self, ids: list[int], text: str, allowed: AbstractSet[str]) -> int:
        """How many ids at the end more text may change: those of the last pretoken."""
        pretokens = self._encoder.pretokenize(self._after_added(text, allowed))
        if not pretokens:
            return 0
        last = pretokens[-1]
        content = last.encode("utf-8") if isinstance(last, str) else last
        count = len(self._encoder.encode_pretoken(content))
        # A pattern such as \s*[\r\n]+ may take in the white space before it.
        if count and ids[-count] in self._blank:
            while count < len(ids) and ids[-count - 1] in self._blank:
                count += 1
        return count

    def _after_added(self, text: str, allowed: AbstractSet[str]) -> str:
        """The text behind the last added token that is found in it."""
        parts = self._added.cut(text, allowed, str)
        return parts[-1] if parts and isinstance(parts[-1], str) else ""

    def _completions(self, rest: bytes) -> Iterator[tuple[int, ...]]:
        for token in self._beginning_with(rest):
            yield (self._ids[token],)
        for cut in range(1, len(rest)):
            before = rest[:cut]
            for token in self._beginning_with(rest[cut:]):
                yield self._covering(before + token, len(rest))
        yield from self._split_off_space(rest)

    def _beginning_with(self, prefix: bytes) -> Iterator[bytes]:
        tokens = self._tokens
        for at in range(bisect_left(tokens, prefix), len(tokens)):
            if not tokens[at].startswith(prefix):
                return
            yield tokens[at]

    def _covering(self, content: bytes, size: int) -> tuple[int, ...]:
        """The first ids of a content, as many as hold its first ``size`` bytes."""
        try:
            ids = self._encoder.encode(content.decode("utf-8"))
        except UnicodeDecodeError:
            # The pattern needs text; where a character is cut, the whole is one pretoken.
            ids = self._merge(content)
        held = 0
        for count, number in enumerate(ids, 1):
            held += len(self._encoder.token_bytes(number))
            if held >= size:
                return tuple(ids[:count])
        return tuple(ids)

    def _split_off_space(self, rest: bytes) -> Iterator[tuple[int, ...]]:
        r"""A last white space on its own: ``\s+(?!\S)`` gives it up when more text follows."""
        try:
            last = rest.decode("utf-8")[-1]
        except UnicodeDecodeError:
            return
        head = rest[: -len(last.encode("utf-8"))]
        if head and last in WHITE_SPACE:
            yield (*self._merge(head), *self._merge(last.encode("utf-8")))

    def _merge(self, content: bytes) -> list[int]:
        """One pretoken by merging alone, without looking it up first."""
        symbols = self._merger.run(symbols_of(content))
        return [self._ids[symbol] for symbol in symbols]
