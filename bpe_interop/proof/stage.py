"""A stage of a proof: its outcome, the scopes in which it counts, the two models it is about."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice, product
from typing import Literal, TypeAlias

from ..encode import Encoder
from ..encode.plan import with_fields
from ..errors import EncodeError, PatternError, UnstatedError
from ..merging.canonical import canonical
from ..model import AddedToken, Affixes, BPEModel, text_of
from ..steps import ByteChars, Metaspace, SentencePieceText
from ..theory.pretokens import occurrence
from ..theory.user_defined import found_as_added

Outcome: TypeAlias = Literal["proved", "different", "unknown"]
Scope: TypeAlias = Literal["all", "ordinary", "text"]
StepField: TypeAlias = Literal["normalizer", "pretokenizer"]

OUTSIDE: dict[Scope, frozenset[str]] = {
    "all": frozenset(),
    "ordinary": frozenset({"special tokens", "sequence template", "template"}),
    "text": frozenset(
        {"added tokens", "special tokens", "sequence template", "specials", "template"}
    ),
}
"""The stages, and the parts of a lock file (``specials``, ``template``), that do not count.

A lock file's ``specials`` are all added tokens, of which some match where special strings are
text.
"""

CONTEXTS = ("{}", "a{}", "{}a", " {}", "{} ", "a{}b", " {} ", "{}\u0301", "{}\n", "{}1", ".{}")
"""Where a text that two patterns split otherwise is put, so that the ids may show it."""

_BESIDE = "ab1.x"
"""What may stand beside a symbol with affixes."""

_SAMPLE = " \t\n\r\u00a0\u3000\u2581aA1.'\u00e9e\u0301\u0340\u4e2d\U0001f642\u200d\x00"
_LENGTH = 3
"""Up to this length, all strings over the sample characters are tried."""

_FURTHER = 2_000
"""So many further texts are tried for one that differs by the stage itself."""
_PLAIN = 200
"""Of so many of these, one in ASCII is chosen, if there is one."""

_SEARCHED = "; no text was found"
_UNDECIDED = re.compile(f"(?:^|, )not decided: |{_SEARCHED}")
"""What a reason has behind it, or is, till a text shows that a stage differs."""
_NOT_ALONE = "; other stages have a part in the ids of the text"
NO_TEXT = f"{_SEARCHED} on which this changes ids"
NO_DECODED = f"{_SEARCHED} whose ids are the same on both sides and decode otherwise"
"""How a reason ends where the search for a text gave none."""


@dataclass(frozen=True, slots=True)
class Stage:
    """What was established of one stage; ``witness`` is a text that shows a refutation."""

    name: str
    outcome: Outcome
    why: str
    witness: str | None = None

    def shown_by(self, text: str) -> Stage:
        """The stage, different by a text that a run found."""
        return Stage(
            self.name, "different", _UNDECIDED.split(self.why)[0] or "a text shows it", text
        )


def counts(stage: str, scope: Scope) -> bool:
    """Whether a stage, or a part of a lock file, counts in a scope."""
    return stage not in OUTSIDE[scope]


def changed_by(a: BPEModel, b: BPEModel, field: StepField) -> Callable[[str], bool] | None:
    """Whether a text has other ids on a side that is given the other side's steps of a field.

    Where it has not, two sides that differ in these steps differ on the text by something else.
    None: neither side can be given the other's.
    """
    mapped = {ByteChars() in (model.pretokenizer or ()) for model in (a, b)}
    if a.alphabet != b.alphabet or len(mapped) > 1:
        return None  # neither merges what the other's steps would give it
    pairs: list[tuple[Encoder, Encoder]] = []
    for one, two in ((a, b), (b, a)):
        given = with_fields(one, **{field: getattr(two, field)})
        # No engine has SentencePiece's normalizer and a step that asks for the first character.
        asks = any(
            isinstance(s, Metaspace) and s.prepend == "first" for s in given.pretokenizer or ()
        )
        if not asks or not any(isinstance(s, SentencePieceText) for s in given.normalizer or ()):
            pairs.append((Encoder(one), Encoder(given)))
    return lambda text: any(_ids(one, text) != _ids(two, text) for one, two in pairs)


def _ids(side: Encoder, text: str) -> list[int] | None:
    """A text's ids, special strings being text; None where it has none."""
    try:
        return side.encode(text)
    except (EncodeError, PatternError, UnstatedError):
        return None


class InScope:
    """A model's ids as a scope asks for them: special tokens, template and all, or not."""

    def __init__(self, model: BPEModel, scope: Scope) -> None:
        self._parses = scope == "all" and model.added is not None
        self._placed = scope == "all" and model.sequence_template is not None
        self.encoder = Encoder(with_fields(model, added=()) if scope == "text" else model)

    def ids(self, text: str) -> list[int] | None:
        """The ids of a text; None where it has none."""
        try:
            ids = self.encoder.encode(text, "all" if self._parses else frozenset())
        except (EncodeError, PatternError, UnstatedError):
            return None  # as in `_ids`: no ids that could differ
        return self.encoder.template(ids) if self._placed else ids


class TwoModels:
    """Two models side by side, on texts in which no special token is looked for.

    Args:
        a: one of them.
        b: the other.
        scope: whether the other added tokens are looked for: in ``"text"`` none is.
        most: how many texts a stage that nothing decides runs on both, in search of one that
            differs; None for all that it has.
    """

    def __init__(
        self, a: BPEModel, b: BPEModel, scope: Scope = "all", most: int | None = None
    ) -> None:
        self.a, self.b, self.scope, self.most = a, b, scope, most
        self.one, self.two = (Encoder(with_fields(m, added=self._plain(m))) for m in (a, b))
        self.in_scope = InScope(a, scope), InScope(b, scope)
        below = [(InScope(a, "ordinary"), InScope(b, "ordinary"))] if scope == "all" else []
        self._asked = [self.in_scope, *below]

    def _plain(self, model: BPEModel) -> tuple[AddedToken, ...]:
        """The added tokens that may stand for user-defined ones of the other side (Theorem 24)."""
        if self.scope == "text":
            return ()
        other = self.b if model is self.a else self.a
        wanted = {(token.text, token.id) for token in found_as_added(other)}
        return tuple(t for t in model.added or () if (t.text, t.id) in wanted)

    def differ(self, text: str) -> bool:
        """Whether both sides encode a text, and otherwise."""
        try:
            return self.one.encode(text) != self.two.encode(text)
        except (EncodeError, PatternError, UnstatedError):
            return False  # a side without ids shows nothing

    def differ_in_scope(self, text: str) -> bool:
        """Whether both sides encode a text as the scope says, and otherwise."""
        # The whole scope holds texts whose special strings are text, too.
        answers = ((one.ids(text), two.ids(text)) for one, two in self._asked)
        return any(a is not None and b is not None and a != b for a, b in answers)

    def equal_in_scope(self, text: str) -> bool:
        """Whether both sides encode a text as the scope says, and alike."""
        answers = ((one.ids(text), two.ids(text)) for one, two in self._asked)
        return all(a is not None and a == b for a, b in answers)

    def tried(
        self, name: str, why: str, texts: Iterable[str], field: StepField | None = None
    ) -> Stage:
        """Refuted by the first of the texts on which the ids differ, else unknown.

        Of a stage that looks at a ``field`` alone, the first on which they differ by that field.
        """
        coming = islice(texts, self.most)
        witness = next(filter(self.differ, coming), None)
        if witness is None:
            return Stage(name, "unknown", why + NO_TEXT)
        # A text may differ by another stage's doing. The best witness differs by this field, and is
        # in ASCII if such a one comes soon.
        by_field = field and changed_by(self.one.model, self.two.model, field)
        if by_field:
            differing = filter(self.differ, islice(coming, _FURTHER))
            own = filter(by_field, chain([witness], differing))
            shown = next(own, None)
            if shown is None:
                why += _NOT_ALONE
            elif shown.isascii():
                witness = shown
            else:
                witness = next(filter(str.isascii, islice(own, _PLAIN)), shown)
        if is_stray(witness) and self.differ(f"e{witness}"):
            witness = f"e{witness}"
        return Stage(name, "different", why, witness)

    def built_once(self) -> list[bytes]:
        """The tokens that one side builds and the other does not, the shortest first."""
        built = canonical(self.a).splits.keys() ^ canonical(self.b).splits.keys()
        return sorted(built, key=lambda token: (len(token), token))

    def token_texts(self) -> Iterator[str]:
        """Texts of which one token or another may be a pretoken."""
        for content in chain(self.a.vocab.ids, self.b.vocab.ids):
            yield from self.texts_of_token(content)

    def texts_of_token(self, token: bytes) -> Iterator[str]:
        """Texts in which this token may stand, its affixes being where they ask for others."""
        yield from self.texts_of(token)
        if self.a.affixes != Affixes():
            yield from self._in_places(token.decode("utf-8", "replace"))

    def texts_of(self, content: bytes) -> Iterator[str]:
        """Texts of which this content may be a pretoken."""
        text = text_of(content)
        if text is None:
            return
        yield text
        if "\u2581" in text:
            spaced = text.replace("\u2581", " ")
            yield spaced
            if spaced.startswith(" "):
                yield spaced[1:]
        for model in (self.a, self.b):
            occurs = occurrence(model.pretokenizer or (), content)
            if occurs.text is not None:
                yield occurs.text

    def _in_places(self, token: str) -> Iterator[str]:
        """What a token stands for, and other characters where its affixes ask for some."""
        prefix, suffix = (each.decode() for each in (self.a.affixes.prefix, self.a.affixes.suffix))
        for start in {token, token.removeprefix(prefix)}:
            for text in {start, start.removesuffix(suffix)}:
                yield text
                for other in dict.fromkeys((*text[:1], *text[-1:], *_BESIDE)):
                    yield from (other + text, text + other, other + text + other)


def differing_in(field: str, one: BPEModel, other: BPEModel, most: int | None) -> TwoModels:
    """A model beside the same with another one's value of a field."""
    return TwoModels(one, with_fields(one, **{field: getattr(other, field)}), most=most)


def is_stray(text: str) -> bool:
    """Whether a text begins with a mark that has no letter to stand on, which reads badly."""
    return unicodedata.category(text[:1] or "a")[0] == "M"


def short_texts() -> Iterator[str]:
    """The empty text, every code point of the basic plane, then strings of sample characters.

    First those that people know, for the first that differs is shown.
    """
    yield from ("", *"aA1 ")
    yield from single_characters()
    yield from short_strings()


def short_strings() -> Iterator[str]:
    """Strings of two and more sample characters."""
    for length in range(2, _LENGTH + 1):
        yield from map("".join, product(_SAMPLE, repeat=length))


def single_characters() -> Iterator[str]:
    """Every code point of the basic plane."""
    return (chr(point) for point in range(0x10000) if not 0xD800 <= point < 0xE000)


def unstated_side(pair: TwoModels, field: str) -> str:
    """Which side does not state a field, as the start of a sentence."""
    left, right = getattr(pair.a, field), getattr(pair.b, field)
    if left is None and right is None:
        return "neither side says"
    return "the first does not say" if left is None else "the second does not say"
