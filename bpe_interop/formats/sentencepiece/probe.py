"""What a model makes of a text, as far as it takes to show a difference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...errors import BpeInteropError
from ...model import BPEModel
from ...text.bytechars import to_bytes
from ...text.normalize import normalize
from ...text.split import split
from ...theory.merges import Merger, textual
from ...theory.symbols import Symbols, symbols_of

TEXTS = (
    " ",
    "a",
    " a",
    "a b",
    "ab",
    "a.b",
    "1a",
    "12",
    "a  b",
    "a ",
    "\n",
    "a\nb",
    "\t",
    "aA",
    "é",
)
"""Plain texts on which pipelines differ, the plainest first."""


class Probe:
    """A model's pipeline, ready for many texts."""

    def __init__(self, model: BPEModel) -> None:
        self._model = model
        self._tokens = textual(model)
        self._symbols = Symbols(model)
        self._merger = Merger(model.merges, model.affixes)

    def __call__(self, text: str) -> list[bytes]:
        """The contents of a text's tokens, added tokens and fallback left aside."""
        model = self._model
        normalized = normalize(model.normalizer or (), text)
        pretokens, mapped = split(model.pretokenizer or (), normalized)
        found: list[bytes] = []
        for pretoken in pretokens:
            content = to_bytes(pretoken) if mapped else pretoken.encode("utf-8")
            if model.lookup_first and content in self._tokens:
                found.append(content)
                continue
            for segment in self._symbols.segments(content):
                for token in self._merger.run(segment):
                    found += self._resplit(token)
        return found

    def _resplit(self, token: bytes) -> list[bytes]:
        """An UNUSED token as the two that it was merged from, and so on."""
        vocab = self._model.vocab
        if vocab.kinds.get(vocab.ids.get(token, -1)) != "unused":
            return [token]
        symbols = symbols_of(token, self._model.alphabet, self._model.affixes)
        parts = self._merger.run(symbols, 2)
        if len(parts) != 2:
            return [token]
        return [piece for part in parts for piece in self._resplit(part)]


def difference(a: BPEModel, b: BPEModel, texts: Iterable[str] = TEXTS) -> str | None:
    """The first of some texts on which two models differ, if there is one.

    Texts with symbols that both models lack do not count: what becomes of them is another
    question.
    """
    one, two = Probe(a), Probe(b)
    for text in texts:
        try:
            left, right = one(text), two(text)
        except BpeInteropError:
            continue
        if left == right:
            continue
        lacks = (_lacks(a, left), _lacks(b, right))
        if lacks == (False, False):
            return text
        if lacks == (False, True) and _is_told_apart(a, left, b):
            return text
        if lacks == (True, False) and _is_told_apart(b, right, a):
            return text
    return None


def _lacks(model: BPEModel, tokens: list[bytes]) -> bool:
    return not all(map(model.vocab.ids.__contains__, tokens))


def _is_told_apart(model: BPEModel, tokens: list[bytes], other: BPEModel) -> bool:
    """Whether tokens are surely not what another model gives, which falls back in this text.

    It gives an unknown token or those of bytes then, and one of these stands for no more than
    a character.
    """
    if other.fallback.missing not in ("unknown", "error"):
        return False
    ids, kinds = model.vocab.ids, model.vocab.kinds
    if any(ids[token] == model.fallback.unknown for token in tokens):
        return False
    return len(tokens) == 1 or all(kinds.get(ids[token]) != "byte" for token in tokens)


def plain_texts(model: BPEModel) -> Iterator[str]:
    """Plain texts, and the tokens themselves as texts, short ones first."""
    yield from TEXTS
    for content in sorted(model.vocab.ids, key=len):
        try:
            text = content.decode("utf-8").replace("\u2581", " ")
        except UnicodeDecodeError:
            continue
        yield text
        yield text.strip()


def missing_character(model: BPEModel) -> str | None:
    """The first character from ``!`` on that has no token and that no step changes, if any."""
    steps = model.normalizer or ()
    before = normalize(steps, "")
    for point in range(0x21, 0x30000):
        char = chr(point)
        if 0xD800 <= point < 0xE000 or char.encode("utf-8") in model.vocab.ids:
            continue
        if normalize(steps, char).removeprefix(before).endswith(char):
            return char
    return None
