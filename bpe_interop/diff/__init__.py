"""In which fields two models differ, and how."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Literal

from ..errors import PatternError
from ..merging.canonical import canonical, not_merged, whole_lookups
from ..model import FIELDS, BPEModel, TemplatePart, TemplateText, checked_model
from ..quoting import show
from ..steps import (
    ByteChars,
    ByteTokens,
    Fuse,
    JoinBytes,
    JoinPieces,
    Pattern,
    PreTokenizerStep,
    Replace,
    Split,
    StripToken,
    UnicodeForm,
)
from ..text.patterns import parse
from ..theory.acting_steps import acting_splits
from ..theory.automata import first_difference, uncovered
from ..theory.cuts import preferred_in
from ..theory.normalizers import plain_normalizer
from ..theory.pretokens import occurrence
from ..theory.splitters import first_cut_difference
from .settings import (
    SettingDifference,
    changed_part,
    narrowed,
    quoted,
    setting_differences,
    step_form,
)
from .tokens import (
    builds_the_same,
    compare_added,
    compare_affixes,
    compare_fallback,
    compare_merges,
    compare_vocab,
)

__all__ = ["Difference", "describe_step", "diff", "difference", "template_parts"]


@dataclass(frozen=True, slots=True)
class Difference:
    """One field in which two models differ.

    Attributes:
        field: its name.
        kind: ``"unstated"`` where one of them does not say (None).
        how: in which way; of long patterns only the parts that differ.
        whole: both sides whole, where ``how`` has parts; else empty.
    """

    field: str
    kind: Literal["different", "unstated"]
    how: str
    whole: str = ""


def diff(a: BPEModel, b: BPEModel) -> tuple[Difference, ...]:
    """The fields in which two models differ, by what the fields mean.

    A rank table and the merge list of the same system are equal, and so are patterns that are
    proved to split every text alike. The engines that match the patterns are not compared:
    Python's ``regex`` has other Unicode tables than the others, and takes some patterns for
    others. ``prove`` compares this, and a conversion names it as a loss.
    """
    for model in (a, b):
        checked_model(model, "diff")
    return tuple(found for field in FIELDS if (found := difference(a, b, field)) is not None)


def difference(a: BPEModel, b: BPEModel, field: str) -> Difference | None:
    """How two models differ in one field; None where they do not."""
    left, right = getattr(a, field), getattr(b, field)
    if left is None and right is None:
        return None
    if left is None or right is None:
        unstated = "the first does not say" if left is None else "the second does not say"
        return Difference(field, "unstated", unstated)
    compare = _COMPARE.get(field)
    if compare is not None:
        how = compare(a, b)
    else:
        how = "" if left == right else _texts(str(left), str(right))
    if not how:
        return None
    long = field in _STEPS and len(how) > _LONG
    parts = _step_differences(left, right) if long else ""
    more = _split_otherwise(a, b) if field == "pretokenizer" else ""
    if parts:
        return Difference(field, "different", parts + more, whole=how + more)
    return Difference(field, "different", how + more)


def _texts(left: str, right: str) -> str:
    """Two texts, of long ones what differs: they may begin alike."""
    at, one, two = narrowed(0, left, right)
    if at > 1:
        return f"at character {at:,}: {quoted(one)} and {quoted(two)}"
    return f"{_short(left)} and {_short(right)}"


def _short(text: str) -> str:
    return show(text if len(text) <= 80 else text[:77] + "...")


def _alphabet(a: BPEModel, b: BPEModel) -> str:
    symbols = {"byte": "bytes", "char": "characters"}
    return "" if a.alphabet == b.alphabet else f"{symbols[a.alphabet]} and {symbols[b.alphabet]}"


def _extras(a: BPEModel, b: BPEModel) -> str:
    left, right = a.extras, b.extras
    keys = {key for key in (*left, *right) if left.get(key) != right.get(key)}
    return f"further settings, which change no id: {', '.join(sorted(keys))}" if keys else ""


def _lookup_first(a: BPEModel, b: BPEModel) -> str:
    # Theorem 8: lookup matters only for tokens that merging does not reach.
    if not a.lookup_first and not b.lookup_first:
        return ""
    # Of two that build the same, one canonical form is enough.
    if builds_the_same(a, b):
        if a.lookup_first == b.lookup_first:
            return ""
        either = not_merged(a if canonical.known(a) else b)
        left, right = (either if each.lookup_first else frozenset() for each in (a, b))
    else:
        left, right = whole_lookups(a), whole_lookups(b)
    if left == right:
        return ""
    found = (t for t in sorted(left | right) if _found(a, left, t) != _found(b, right, t))
    token = next(found, None)
    if token is None:
        return ""
    return f"{len(left):,} and {len(right):,} tokens that only lookup finds, such as {show(token)}"


def _found(model: BPEModel, tokens: frozenset[bytes], token: bytes) -> bool:
    """Whether one of the tokens may be a whole pretoken; the others are never looked up."""
    steps = model.pretokenizer
    return token in tokens and (steps is None or occurrence(steps, token).possible is not False)


def _normalizer(a: BPEModel, b: BPEModel) -> str:
    # Theorems 15 and 30: the steps that can act, those of SentencePiece as simple ones.
    return _both(plain_normalizer(a.normalizer or ()), plain_normalizer(b.normalizer or ()))


def _pretokenizer(a: BPEModel, b: BPEModel) -> str:
    if _steps(a) == _steps(b) or _one_pattern_for_all(acting_splits(a), acting_splits(b)):
        return ""
    return _both(a.pretokenizer or (), b.pretokenizer or ())


def _one_pattern_for_all(
    left: tuple[PreTokenizerStep, ...], right: tuple[PreTokenizerStep, ...]
) -> bool:
    """Whether one side's pattern cuts every text as the other's sequence of steps (Theorem 29)."""
    # A pattern that takes texts whole says something where there is none.
    if _is_one_pattern(left) == _is_one_pattern(right) or not left or not right:
        return False
    try:
        return first_cut_difference(left, right) is None
    except PatternError:
        return False


def _is_one_pattern(steps: tuple[PreTokenizerStep, ...]) -> bool:
    return len(steps) == 1 and isinstance(steps[0], Split) and steps[0].invert


def _decoder(a: BPEModel, b: BPEModel) -> str:
    return _both(a.decoder or (), b.decoder or ())


def _both(a: tuple[object, ...], b: tuple[object, ...]) -> str:
    """Two lists of steps in words; empty where they are equal."""
    if a == b:
        return ""
    one, two = (" then ".join(map(describe_step, steps)) or "none" for steps in (a, b))
    if one == two:  # the same patterns, which two libraries read otherwise
        one, two = (" then ".join(describe_step(s, reader=True) for s in steps) for steps in (a, b))
    return (
        f"{one} and {two}" if " then " not in one + two else f"the first: {one}; the second: {two}"
    )


_STEPS = ("normalizer", "pretokenizer", "decoder")
_LONG = 160
"""Characters of a sentence with two patterns that is too long to be compared by eye."""


def _step_differences(a: tuple[object, ...], b: tuple[object, ...]) -> str:
    """What differs of two lists of steps; empty where other kinds of steps stand there."""
    left, right = (list(map(step_form, steps)) for steps in (a, b))
    ahead, old, new = changed_part(left, right)
    if not old or not new:
        which, steps = ("first", a) if old else ("second", b)
        only = steps[ahead : ahead + len(old or new)]
        listed = (f"step {n}, {describe_step(step)}" for n, step in enumerate(only, ahead + 1))
        return f"only in the {which}: {'; '.join(listed)}"
    if [step["step"] for step in old] != [step["step"] for step in new]:
        return ""
    settings: list[str] = []
    for n, pair in enumerate(zip(old, new, strict=True), ahead + 1):
        found = [*setting_differences(*pair)]
        # Which library's dialect it is says something only where nothing else differs.
        found = [each for each in found if each.name != "dialect"] or found
        step = f"step {n}: " if len(left) > 1 else ""
        settings += [step + _place(each) for each in found]
    return "; ".join(settings)


_READERS: dict[str, str] = {"fancy-regex": "tiktoken", "oniguruma": "tokenizers", "python": "regex"}
"""The libraries whose dialects of patterns there are."""


def _place(place: SettingDifference) -> str:
    name = f"{place.name} at character {place.at:,}:" if place.at else place.name
    if place.name == "dialect":
        one, two = (_READERS.get(each, "text") for each in (place.first, place.second))
        return f"read as {one} and as {two} read it"
    one, two = (quoted(each) if each else "nothing" for each in (place.first, place.second))
    return f"{name} {one} and {two}"


def describe_step(step: object, *, reader: bool = False) -> str:
    """A normalizer, pre-tokenizer or decoder step for people: what it is, and its settings.

    ``reader``: with the library that reads a pattern so.
    """
    if isinstance(step, JoinBytes):
        return "the tokens' bytes joined, as UTF-8"
    if isinstance(step, ByteTokens):
        return "byte tokens (<0x0A>) become what they are in UTF-8"
    if isinstance(step, Fuse):
        return "all tokens joined"
    if isinstance(step, ByteChars):
        return "bytes written as GPT-2's letters"
    if isinstance(step, JoinPieces):
        parts = [f"as SentencePiece does: unknown token as {show(step.unknown)}"]
        parts += [] if step.dummy == "none" else [f"dummy space as {step.dummy}"]
        parts += ["spaces collapsed"] if step.collapse else []
        parts += [_told_bytes("charsmap", step.charsmap)] if step.charsmap else []
        return ", ".join(parts)
    if isinstance(step, StripToken):
        ends = [("start", step.start), ("end", step.stop)]
        counts = [f"{most:,} at the {end}" for end, most in ends if most]
        return f"Strip {show(step.content)}, up to {' and '.join(counts) or 'none'}"
    if isinstance(step, Replace) and isinstance(step.pattern, str):
        return f"Replace {show(step.pattern)} with {show(step.content)}"
    words = ["Unicode" if isinstance(step, UnicodeForm) else type(step).__name__]
    keeping = isinstance(step, Split) and step.behavior == "removed" and step.invert
    for name in getattr(step, "__slots__", ()):
        value = getattr(step, name)
        if keeping and name in ("behavior", "invert"):
            words += ["keeping what matches"] if name == "behavior" else []
        elif isinstance(value, Pattern):
            words.append(f"`{value.source}`")
            words += [f"(as {_READERS[value.dialect]} reads it)"] if reader else []
        elif isinstance(value, bool):
            words += [name] if value else []
        elif isinstance(value, bytes):
            words += [_told_bytes(name, value)] if value else []
        elif name in ("pattern", "content", "text", "unknown"):
            words.append(show(value))
        elif isinstance(value, tuple):
            words += [f"{name} {len(value):,}"] if value else []
        else:
            words.append(str(value))
    return " ".join(words)


def _told_bytes(name: str, value: bytes) -> str:
    return f"{name} of {len(value):,} bytes, sha256 {sha256(value).hexdigest()[:12]}"


def _split_otherwise(a: BPEModel, b: BPEModel) -> str:
    """A text that two single patterns split otherwise, where it can be found."""
    left, right = a.pretokenizer or (), b.pretokenizer or ()
    if len(left) != 1 or len(right) != 1:
        return ""
    patterns = [s.pattern for s in (*left, *right) if isinstance(s, Split)]
    trees = [p for p in patterns if isinstance(p, Pattern)]
    if len(trees) != 2:
        return ""
    try:
        text = first_difference(parse(trees[0]), parse(trees[1]))
    except PatternError:
        return ""
    return "" if not text else f"; they split {show(text)} differently"


def _steps(model: BPEModel) -> tuple[object, ...]:
    steps = acting_splits(model)
    alone = model if steps == model.pretokenizer else replace(model, pretokenizer=steps)
    return tuple(_step(step, place, alone) for place, step in enumerate(steps))


def _step(step: PreTokenizerStep, place: int, model: BPEModel) -> object:
    """A step in the form in which equal meanings are equal values."""
    if not isinstance(step, Split) or not isinstance(step.pattern, Pattern):
        return step
    try:
        tree = parse(preferred_in(model, step, place, "oniguruma"))  # Theorem 27
        # Where a pattern covers every text (Theorem 11), nothing is left between its matches, so
        # to isolate them is to keep them only.
        if step.behavior in ("removed", "isolated") and uncovered(tree) is None:
            kept = step.invert if step.behavior == "removed" else True
            return ("pretokens are the matches", tree) if kept else (step, tree)
    except PatternError:
        return step
    return (replace(step, pattern=""), tree)


def _sequence_template(a: BPEModel, b: BPEModel) -> str:
    left, right = a.sequence_template, b.sequence_template
    if left is None or right is None or left == right:
        return ""
    if left.single == right.single:
        return f"for a pair {template_parts(left.pair)} and {template_parts(right.pair)}"
    return f"{template_parts(left.single)} and {template_parts(right.single)}"


def template_parts(parts: tuple[TemplatePart, ...]) -> str:
    """What is placed around texts, in order, as ``inspect`` shows it."""
    words = [
        f"text {part.which}"
        if isinstance(part, TemplateText)
        else f"{show(part.name)} ({', '.join(map(str, part.ids))})"
        for part in parts
    ]
    types = [part.type_id for part in parts]
    more = f" (type ids {', '.join(map(str, types))})" if any(types) else ""
    return (" ".join(words) or "nothing") + more


_COMPARE: dict[str, Callable[[BPEModel, BPEModel], str]] = {
    "alphabet": _alphabet,
    "affixes": compare_affixes,
    "fallback": compare_fallback,
    "vocab": compare_vocab,
    "merges": compare_merges,
    "lookup_first": _lookup_first,
    "normalizer": _normalizer,
    "pretokenizer": _pretokenizer,
    "added": compare_added,
    "sequence_template": _sequence_template,
    "decoder": _decoder,
    "extras": _extras,
}
