"""What a lock file says in words that people can read, and what of it changed.

Only fingerprints decide; this explains. A sentence is about a field whose hash is another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ..diff import template_parts
from ..diff.places import Place, changed_part, places, quoted, step_form
from ..fingerprint import added_of, fields_of
from ..model import AddedToken, BPEModel, show
from ..strict_json import Node, read_as

Steps: TypeAlias = tuple[Mapping[str, str], ...]

_FLAGS = tuple(name for name in AddedToken.__slots__ if name not in ("text", "id", "roles"))
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class LockedToken:
    """An added token. ``flags`` has the names of those of its flags that are set."""

    id: int
    text: str
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stated:
    """What a tokenizer states, by field; None where it states nothing.

    ``fields``: see :func:`.fields_of`; ``settings``: of base symbols. Steps have their name
    under ``step`` and each setting under its own.
    """

    fields: Mapping[str, str]
    settings: Mapping[str, str]
    normalizer: Steps | None
    pretokenizer: Steps | None
    decoder: Steps | None
    template: Mapping[str, str] | None
    added: tuple[LockedToken, ...] | None


def stated_by(model: BPEModel) -> Stated:
    """What a model states."""
    added, template = added_of(model), model.sequence_template
    return Stated(
        fields=fields_of(model),
        settings={
            "alphabet": model.alphabet,
            "prefix": show(model.affixes.prefix),
            "suffix": show(model.affixes.suffix),
            **{key: text for key, text in step_form(model.fallback).items() if key != "step"},
        },
        normalizer=_steps(model.normalizer),
        pretokenizer=_steps(model.pretokenizer),
        decoder=_steps(model.decoder),
        template=None
        if template is None
        else {"single": template_parts(template.single), "pair": template_parts(template.pair)},
        added=None if added is None else tuple(map(_token, added)),
    )


def read_stated(node: Node) -> Stated:
    """What a lock file states.

    Raises:
        FormatError: it is malformed.
    """
    for key in _STEPS:
        for step in node[key].items() if node[key].given else ():
            step["step"].be(str)
    return read_as(Stated, node)


def _steps(steps: Iterable[object] | None) -> Steps | None:
    return None if steps is None else tuple(map(step_form, steps))


def _token(token: AddedToken) -> LockedToken:
    return LockedToken(token.id, token.text, tuple(f for f in _FLAGS if getattr(token, f)))


_LINES = {
    "text": {
        "normalizer": "normalizer",
        "pretokenizer": "pre-tokenizer",
        "alphabet": "base symbols",
        "affixes": "affixes",
        "fallback": "fallback of missing symbols",
        "merges": "merges",
        "tokens": "tokens and their ids",
        "lookup": "whole pretokens that are looked up",
    },
    "decoder": {"decoder": "decoder", "contents": "contents of tokens"},
}
"""The fields of a line of the fingerprint, and what they are called."""
_STEPS = ("normalizer", "pretokenizer", "decoder")


def other_fields(then: Stated, now: Stated, line: str) -> list[str]:
    """What makes a line of the fingerprint another, in words; empty where it is not known."""
    other = [key for key in _LINES.get(line, {}) if then.fields.get(key) != now.fields[key]]
    if "pretokenizer" in other:  # which tokens can be whole pretokens follows from it
        other = [key for key in other if key not in ("tokens", "lookup")]
    return [_LINES[line][key] for key in other]


def other_decoder(then: Stated, now: Stated) -> bool:
    """Whether the steps that decode are other ones."""
    return then.fields.get("decoder") != now.fields["decoder"]


def what_changed(then: Stated, now: Stated, changed: Sequence[str]) -> Iterator[str]:
    """Sentences on what the changed lines of a fingerprint are of; merges and tokens aside."""
    for line in changed:
        for key in _LINES.get(line, {}):
            if key in _STEPS and then.fields.get(key) != now.fields[key]:
                yield from _other_steps(_LINES[line][key], getattr(then, key), getattr(now, key))
    if "text" in changed:
        for place in places(then.settings, now.settings):
            yield f"the setting {place.name} {_was(place)}"
    if "template" in changed and then.template is not None and now.template is not None:
        for place in places(then.template, now.template):
            what = "a text" if place.name == "single" else "a pair"
            yield f"what is placed around {what} was {place.first}, is {place.second}"
    if "specials" in changed and then.added is not None and now.added is not None:
        yield from _other_tokens(then.added, now.added)


def _was(place: Place) -> str:
    if not place.at:
        return f"was {quoted(place.first)}, is {quoted(place.second)}"
    at = f" (character {place.at:,})"
    if not place.first:
        return f"{quoted(place.second)} is new{at}"
    if not place.second:
        return f"{quoted(place.first)} is gone{at}"
    return f"{quoted(place.first)} was, {quoted(place.second)} is{at}"


def _other_steps(name: str, then: Steps | None, now: Steps | None) -> Iterator[str]:
    if then is None or now is None:
        yield f"the {name} {_stated(then, 'was')}, {_stated(now, 'is')}"
        return
    ahead, old, new = changed_part(then, now)
    if len(old) == len(new):
        for number, (one, two) in enumerate(zip(old, new, strict=True), ahead + 1):
            yield from _other_step(f"step {number} of the {name}", one, two)
        return
    for word, steps in (("gone", old), ("new", new)):
        for number, step in enumerate(steps, ahead + 1):
            place = f"step {number} of the {'locked ' if word == 'gone' else ''}{name}"
            yield f"{place} is {word}: {_told(step)}"


def _other_step(where: str, one: Mapping[str, str], two: Mapping[str, str]) -> Iterator[str]:
    if one["step"] != two["step"]:
        yield f"{where} was {_told(one)}, is {_told(two)}"
        return
    differing = list(places(one, two))
    for place in differing[:_SHOWN]:
        of = ", the pattern:" if place.at else f" ({one['step']}): {place.name}"
        yield f"{where}{of} {_was(place)}"
    if len(differing) > _SHOWN:
        yield f"{where}: {len(differing):,} parts differ in all"


def _stated(steps: Steps | None, verb: str) -> str:
    if steps is None:
        return f"{verb} not stated"
    return f"{verb} " + (" then ".join(map(_told, steps)) or "empty")


def _told(step: Mapping[str, str]) -> str:
    settings = (f"{name} {quoted(value)}" for name, value in step.items() if name != "step")
    return " ".join([step["step"], *settings])


def _other_tokens(then: Sequence[LockedToken], now: Sequence[LockedToken]) -> Iterator[str]:
    """First what became of those that there were, then the new ones."""
    old, new = ({token.text: token for token in side} for side in (then, now))
    taken = {token.id: token for token in now if token.text not in old}
    differ: list[str] = []
    for text, was in old.items():
        if text in new:
            differ += _other_token(was, new[text])
        elif was.id in taken:
            then_is = f"was {show(text)}, is {show(taken.pop(was.id).text)}"
            differ.append(f"the added token with the id {was.id} {then_is}")
        else:
            differ.append(f"added token {show(text)} (id {was.id}) is gone")
    yield from first_of(differ, "changes of added tokens")
    fresh = [f"added token {show(token.text)} (id {token.id}) is new" for token in taken.values()]
    yield from first_of(fresh, "added tokens are new")


def _other_token(was: LockedToken, token: LockedToken) -> Iterator[str]:
    kind = "special" if "special" in was.flags and "special" in token.flags else "added"
    if was.id != token.id:
        yield f"{kind} token {show(was.text)} had id {was.id}, has id {token.id}"
    flags = [
        f"{flag} was {'true' if flag in was.flags else 'false'}, "
        f"is {'true' if flag in token.flags else 'false'}"
        for flag in _FLAGS
        if (flag in was.flags) != (flag in token.flags)
    ]
    if flags:
        yield f"{kind} token {show(token.text)} (id {token.id}): {'; '.join(flags)}"


def first_of(sentences: Sequence[str], what: str) -> Iterator[str]:
    """A few sentences, and how many there are in all."""
    yield from sentences[:_SHOWN]
    if len(sentences) > _SHOWN:
        yield f"{len(sentences):,} {what} in all"
