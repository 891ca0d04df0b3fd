"""Added tokens, and what is placed around a text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ...diff import normalized_matters
from ...model import AddedToken, BPEModel, TemplatePart, TemplateText, show
from ...steps import JoinPieces
from ...theory.plain import found_as_added
from .pair import Outcome, Pair, Stage, silent


def added_stages(pair: Pair) -> Iterator[Stage]:
    """Added tokens that are not special (they match in every text), then the special ones."""
    a, b = pair.a, pair.b
    for name, special in (("added tokens", False), ("special tokens", True)):
        if a.added is None or b.added is None:
            side = silent(pair, "added")
            if not special:
                known = [t for t in (a.added or b.added or ()) if not t.special]
                outcome: Outcome = "unknown" if known else "proved"
                yield Stage(name, outcome, f"{side} which there are" if known else "there are none")
            else:
                yield Stage(name, "unknown", f"{side} which there are")
            continue
        left = {t for t in _matching(a) if t.special is special}
        right = {t for t in _matching(b) if t.special is special}
        hidden = None if special or pair.scope != "ordinary" else _hidden(pair, left)
        if left == right and hidden:
            yield Stage(name, "refuted", *hidden)
            continue
        if left == right:
            why = f"the same {len(left):,}" if left else "none on either side"
            if special and left and _is_pieces(a) != _is_pieces(b):
                why += "; sentencepiece finds none in a text and spells them out, tokenizers does"
                yield Stage(name, "unknown", why)
            else:
                yield Stage(name, "proved", why)
            continue
        only = sorted(left ^ right, key=lambda t: (len(t.text), t.text))
        sides = f"{len(left):,} and {len(right):,}"
        yield Stage(name, "refuted", f"{sides}; {show(only[0].text)} differs", only[0].text)


def _hidden(pair: Pair, plain: set[AddedToken]) -> tuple[str, str] | None:
    """Why a special token of one side only may hide added tokens that are not special; a text.

    tokenizers passes over a special token that is to be text, but not over what overlaps it
    (``added_vocabulary.rs``). Once normalized, any two may overlap.
    """
    one, two = ({t for t in _matching(m) if t.special} for m in (pair.a, pair.b))
    looks = {(t.text, t.normalized) for t in one} ^ {(t.text, t.normalized) for t in two}
    for text, normalized in sorted(looks):
        for token in sorted(plain, key=lambda t: t.text):
            if token.normalized is not normalized:
                continue
            both = _overlapped(text, token.text) or (text + token.text if normalized else "")
            if both:
                why = f"{show(text)}, special on one side only, may hide {show(token.text)}"
                return why, both
    return None


def _overlapped(first: str, second: str) -> str:
    """A text in which the second begins inside the first, or nothing."""
    for place in range(len(first)):
        if first.startswith(second, place):
            return first
        if second.startswith(first[place:]):
            return first[:place] + second
    return ""


def _is_pieces(model: BPEModel) -> bool:
    return any(isinstance(step, JoinPieces) for step in model.decoder or ())


def _matching(model: BPEModel) -> list[AddedToken]:
    """Added tokens by what decides whether and where they match, user-defined ones among them."""
    added = [*(model.added or ()), *found_as_added(model)]
    if model.normalizer or normalized_matters(added):
        return [replace(token, roles=()) for token in added]
    return [replace(token, roles=(), normalized=False) for token in added]


def template_stage(pair: Pair) -> Stage:
    """What is placed around a text where special tokens are asked for."""
    name = "sequence template"
    left, right = pair.a.sequence_template, pair.b.sequence_template
    if left is None and right is None:
        return Stage(name, "proved", "neither side says that anything is placed around a text")
    if left is None or right is None:
        said = silent(pair, "sequence_template")
        return Stage(name, "unknown", f"{said} what is placed around a text")
    if _placed(left.single, "A") != _placed(right.single, "A"):
        return Stage(name, "refuted", "other templates", "a")
    if _placed(left.pair, "AB") != _placed(right.pair, "AB"):
        why = "the same ids around a text; pairs of texts are placed otherwise"
        return Stage(name, "unknown", why)
    if _placed(left.single, "A") == ["A"] and _placed(left.pair, "AB") == ["A", "B"]:
        return Stage(name, "proved", "nothing is placed around a text on either side")
    return Stage(name, "proved", "the same template")


def _placed(parts: Sequence[TemplatePart], empty: str) -> list[int | str]:
    """The ids that are placed around texts, and the letters of the texts."""
    found: list[int | str] = []
    for part in parts:
        found += [part.which] if isinstance(part, TemplateText) else part.ids
    return found or list(empty)
