"""In which fields two models differ, and how."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Literal

from .errors import PatternError
from .model import (
    FIELDS,
    AddedToken,
    BPEModel,
    SequenceTemplate,
    show,
)
from .steps import Pattern, PreTokenizerStep, Split
from .text.patterns import parse, preferred
from .theory.automata import first_difference, uncovered
from .theory.merges import canonical, whole_lookups
from .theory.pretokens import occurrence


@dataclass(frozen=True, slots=True)
class Difference:
    """One field in which two models differ.

    ``kind`` is ``"unstated"`` where one of them does not say (None), else ``"different"``.
    """

    field: str
    kind: Literal["different", "unstated"]
    how: str


def diff(a: BPEModel, b: BPEModel) -> tuple[Difference, ...]:
    """The fields in which two models differ, by what the fields mean.

    Merges are compared in canonical form, so a rank table and the merge list of the same system
    are equal; whole-pretoken lookup counts only for tokens that merging cannot reach; patterns
    are compared up to spellings proved to split every text alike.
    """
    found: list[Difference] = []
    for field in FIELDS:
        left, right = getattr(a, field), getattr(b, field)
        if left is None and right is None:
            continue
        if left is None or right is None:
            said = "the first does not say" if left is None else "the second does not say"
            found.append(Difference(field, "unstated", said))
            continue
        how = _COMPARE.get(field, _plain(field))(a, b)
        if how:
            found.append(Difference(field, "different", how))
    return tuple(found)


def _plain(field: str) -> Callable[[BPEModel, BPEModel], str]:
    def compare(a: BPEModel, b: BPEModel) -> str:
        left, right = getattr(a, field), getattr(b, field)
        return "" if left == right else f"{_short(left)} and {_short(right)}"

    return compare


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _vocab(a: BPEModel, b: BPEModel) -> str:
    left, right = a.vocab, b.vocab
    if left.ids == right.ids and left.kinds == right.kinds and left.scores == right.scores:
        return ""
    only_a = [t for t in left.ids if t not in right.ids]
    only_b = [t for t in right.ids if t not in left.ids]
    moved = [t for t in left.ids if t in right.ids and left.ids[t] != right.ids[t]]
    parts = []
    for tokens, text in ((only_a, "only in the first"), (only_b, "only in the second")):
        if tokens:
            parts.append(f"{len(tokens)} {text}, such as {show(tokens[0])}")
    if moved:
        token = moved[0]
        ids = f"{left.ids[token]} and {right.ids[token]}"
        parts.append(f"{len(moved)} with other ids, such as {show(token)}: {ids}")
    return "; ".join(parts) or "kinds or scores of tokens"


def _merges(a: BPEModel, b: BPEModel) -> str:
    if a.merges == b.merges:
        return ""
    left, right = canonical(a).splits, canonical(b).splits
    for place, (x, y) in enumerate(zip_longest(left.items(), right.items())):
        if x != y:
            said = " and ".join(
                "nothing" if z is None else f"{show(z[1][0])} + {show(z[1][1])}" for z in (x, y)
            )
            return (
                f"{len(left):,} and {len(right):,} merges that fire; first at place {place}: {said}"
            )
    return ""


def _lookup_first(a: BPEModel, b: BPEModel) -> str:
    left, right = whole_lookups(a), whole_lookups(b)
    if left == right:
        return ""
    left, right = _that_occur(a, left), _that_occur(b, right)
    if left == right:
        return ""
    token = min(left ^ right)
    return f"{len(left)} and {len(right)} tokens found only by lookup, such as {show(token)}"


def _that_occur(model: BPEModel, tokens: frozenset[bytes]) -> frozenset[bytes]:
    """The tokens that may be whole pretokens; the others are never looked up."""
    steps = model.pretokenizer
    if steps is None:
        return tokens
    return frozenset(t for t in tokens if occurrence(steps, t).possible is not False)


def _normalizer(a: BPEModel, b: BPEModel) -> str:
    return _said(a.normalizer or (), b.normalizer or ())


def _pretokenizer(a: BPEModel, b: BPEModel) -> str:
    if _steps(a) == _steps(b):
        return ""
    return _said(a.pretokenizer or (), b.pretokenizer or ()) + _split_otherwise(a, b)


def _decoder(a: BPEModel, b: BPEModel) -> str:
    return _said(a.decoder or (), b.decoder or ())


def _said(a: tuple[object, ...], b: tuple[object, ...]) -> str:
    if a == b:
        return ""
    return " and ".join(" then ".join(map(describe_step, steps)) or "none" for steps in (a, b))


def describe_step(step: object) -> str:
    """A normalizer, pre-tokenizer or decoder step for people: what it is, and its settings."""
    said = [type(step).__name__]
    for name in getattr(step, "__slots__", ()):
        value = getattr(step, name)
        if isinstance(value, Pattern):
            said.append(f"{value.source} ({value.dialect})")
        elif isinstance(value, bool):
            said += [name] if value else []
        elif name in ("pattern", "content", "text"):
            said.append(show(value))
        else:
            said.append(str(value))
    return " ".join(said)


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
    return "" if text is None else f"; they split {show(text)} otherwise"


def _steps(model: BPEModel) -> tuple[object, ...]:
    return tuple(_step(step, model) for step in model.pretokenizer or ())


def _step(step: PreTokenizerStep, model: BPEModel) -> object:
    """A step in the form in which equal meanings are equal values."""
    if not isinstance(step, Split) or not isinstance(step.pattern, Pattern):
        return step
    try:
        tree = parse(
            preferred(
                step.pattern,
                "oniguruma",
                vocabulary=model.vocab.ids,
                unreachable=lambda: whole_lookups(model),
            )
        )
        if step.behavior in ("removed", "isolated") and uncovered(tree) is None:
            kept = step.invert if step.behavior == "removed" else True
            return ("pretokens are the matches", tree) if kept else (step, tree)
    except PatternError:
        return step
    return (replace(step, pattern=""), tree)


def _added(a: BPEModel, b: BPEModel) -> str:
    left, right = _tokens(a), _tokens(b)
    if left == right:
        return ""
    names_a, names_b = {t.text: t for t in left}, {t.text: t for t in right}
    for text in (*names_a, *names_b):
        x, y = names_a.get(text), names_b.get(text)
        if x is None or y is None:
            where = "second" if x is None else "first"
            return f"{len(left):,} and {len(right):,} tokens; {show(text)} is only in the {where}"
        if x != y:
            return f"{show(text)}: {_flags(x, y)}"
    return "the order of texts that share an id"


def _flags(x: AddedToken, y: AddedToken) -> str:
    """The fields in which two added tokens of one text differ."""
    return ", ".join(
        f"{name} {_value(getattr(x, name))} and {_value(getattr(y, name))}"
        for name in AddedToken.__slots__
        if getattr(x, name) != getattr(y, name)
    )


def _value(value: object) -> str:
    if isinstance(value, tuple):
        return "/".join(map(str, value)) or "none"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _tokens(model: BPEModel) -> tuple[AddedToken, ...]:
    """Added tokens by id, without the ``normalized`` flag where it cannot matter."""
    added = sorted(model.added or (), key=lambda token: token.id)
    if model.normalizer or normalized_matters(added):
        return tuple(added)
    return tuple(replace(token, normalized=False) for token in added)


def normalized_matters(added: list[AddedToken]) -> bool:
    """Whether the two matching phases can differ from one although nothing is normalized."""
    early = [t.text for t in added if not t.normalized]
    late = [t.text for t in added if t.normalized]
    return bool(early and late) and any(_overlap(x, y) for x in early for y in late)


def _overlap(x: str, y: str) -> bool:
    if x in y or y in x:
        return True
    return any(x[-n:] == y[:n] or y[-n:] == x[:n] for n in range(1, min(len(x), len(y))))


def _sequence_template(a: BPEModel, b: BPEModel) -> str:
    left = a.sequence_template or SequenceTemplate()
    right = b.sequence_template or SequenceTemplate()
    return "" if left == right else f"{_short(left)} and {_short(right)}"


_COMPARE: dict[str, Callable[[BPEModel, BPEModel], str]] = {
    "vocab": _vocab,
    "merges": _merges,
    "lookup_first": _lookup_first,
    "normalizer": _normalizer,
    "pretokenizer": _pretokenizer,
    "added": _added,
    "sequence_template": _sequence_template,
    "decoder": _decoder,
}
