"""The laws that every format keeps, as functions that raise :class:`BrokenError`.

A law takes a :class:`LawSource` (a tokenizer's files, read by their format) or a
:class:`LawCase` (a source and the format that it is written in). ``check_format`` runs them on a
format from outside.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ..diff import diff
from ..encode import Encoder
from ..engines import Engine, of_format
from ..errors import BpeInteropError, LossyConversionError, UnstatedError
from ..formats import Files, Format
from ..formats.round_trip import RoundTrip
from ..gate import admit
from ..loss import Loss
from ..model import FIELDS, BPEModel
from ..presets import fill

SAID_BY_USERS = ("normalizer", "pretokenizer", "added", "sequence_template")
"""What a format may leave to whoever reads it; a preset or the user says it then."""


TEXTS = ("", " ", "a", " a  b", "don't\n\n1234", "é🙂", "the  theme\t12 <|x|> \u2581 e\u0301\r\n")
"""Texts that ids are compared on, where no others are given."""


class BrokenError(AssertionError):
    """A law that does not hold; the message says for what, and how."""


def need(holds: object, what: str) -> None:
    if not holds:
        raise BrokenError(what)


@dataclass(frozen=True, eq=False)
class LawSource:
    """A tokenizer's files, and the format that reads them.

    ``told`` is what the files leave unsaid and whoever wrote them knows.
    """

    name: str
    format: Format
    files: Files
    told: Mapping[str, Any] | None = None

    @cached_property
    def model(self) -> BPEModel:
        """Read once: what is done with a model does not change it (:func:`untouched`)."""
        model = fill(self.format.load(self.files), None)
        return replace(model, **self.told) if self.told else model

    @property
    def label(self) -> str:
        """The fixture and its format; ``+`` where something was told."""
        return f"{self.name}/{self.format.name}{'+' if self.told else ''}"


@dataclass(frozen=True, eq=False)
class LawCase:
    source: LawSource
    target: Format

    @cached_property
    def trip(self) -> RoundTrip:
        return RoundTrip(self.source.model, self.target)

    @property
    def label(self) -> str:
        return f"{self.source.label}-{self.target.name}"

    @property
    def pair(self) -> tuple[str, str]:
        return self.source.format.name, self.target.name

    @cached_property
    def writable(self) -> bool:
        """Whether the source says all that the target has to say."""
        model = self.source.model
        return all(getattr(model, field) is not None for field in self.target.needs)

    @cached_property
    def back(self) -> BPEModel:
        return fill(self.trip.again, None)

    @cached_property
    def supplied(self) -> dict[str, Any]:
        """What the target leaves to whoever reads it, and the source says."""
        model = self.source.model
        return {
            field: getattr(model, field)
            for field in SAID_BY_USERS
            if field not in self.target.holds
            and getattr(self.back, field) is None
            and getattr(model, field) is not None
        }

    @cached_property
    def lossless(self) -> bool:
        """Whether the gate lets it pass, and nothing at all is lost."""
        return self.admitted(()) == ()

    @cached_property
    def passes(self) -> bool:
        """Whether the gate lets it pass as it stands."""
        return self.writable and self.admitted(()) is not None

    def admitted(self, drop: Iterable[str]) -> tuple[Loss, ...] | None:
        """What the gate lets pass as lost; None where it refuses."""
        try:
            return admit(self.trip, drop)
        except (LossyConversionError, UnstatedError):
            return None


# Of a source.


def home(source: LawSource) -> None:
    """What a format's own reader gives, its writer holds: every field, and without any loss."""
    trip = RoundTrip(read_alone(source), source.format)
    losses = list(trip.losses)
    need(not losses, f"its own writer loses {[loss.field for loss in losses]}")
    for field in FIELDS:
        before, after = getattr(trip.model, field), getattr(trip.again, field)
        need(before == after, f"{field} comes back otherwise")


def read_alone(source: LawSource) -> BPEModel:
    """The model as the reader gives it."""
    return source.format.load(source.files) if source.told else source.model


def one_owner(source: LawSource, rows: Iterable[Format]) -> None:
    """Exactly one sniffer says yes."""
    owners = [row.name for row in rows if row.sniff(source.files)]
    need(owners == [source.format.name], f"recognised as {owners}")


def well_mannered(source: LawSource) -> None:
    """Any truncation and many bit flips give a model or our own error, with words."""
    for key, data in source.files.items():
        cuts = [data[: len(data) * part // 17] for part in range(17)]
        flips = [
            data[:place] + bytes([data[place] ^ (1 << place % 8)]) + data[place + 1 :]
            for place in range(0, len(data), max(1, len(data) // 70))
        ]
        for damaged in [*cuts, *flips]:
            try:
                source.format.load({**source.files, key: damaged})
            except BpeInteropError as error:
                need(error.what, "an error says nothing")
            except Exception as error:  # this is the law: no other class may come
                raise BrokenError(f"damaged {key} is no error of ours but {error!r}") from error


def sniffs_calmly(source: LawSource, rows: Iterable[Format]) -> None:
    """Sniffers never raise."""
    for row in rows:
        for key, data in source.files.items():
            for part in range(7):
                cut = {**source.files, key: data[: len(data) * part // 7]}
                need(row.sniff(cut) in (True, False), f"{row.name} gives no answer")


# Of a case.


def stable(case: LawCase) -> None:
    """Writing what was read back gives the same bytes."""
    once = case.trip.files
    need(case.target.dump(case.trip.again) == once, "written again, it has other bytes")


def comparable(case: LawCase) -> bool:
    """Whether ids can be held to the source's: nothing is lost that changes them.

    What the target leaves to whoever reads it is said by the source.
    """
    if not case.writable or case.source.model.pretokenizer is None:
        return False
    if case.admitted(()) is not None:
        return True
    return case.admitted(case.supplied) is not None


def same_ids(case: LawCase, texts: Sequence[str] = TEXTS) -> None:
    """Ids agree in our encoder of both models and in the target's engine on what was written.

    So does what they decode to, special tokens that are found, and what stands around a text,
    as far as the engine does these things.
    """
    model = case.source.model
    back = replace(case.back, **case.supplied)
    ours, theirs = Encoder(model), Encoder(back)
    engine = of_format(case.target.engine, case.target, case.trip.files, back)
    plain = "added" in case.supplied and model.added
    for text in texts:
        ids = engine.encode(text)
        if not plain or not any(token.text in text for token in model.added or ()):
            need(ours.encode(text) == ids, f"another id than the engine's in {text[:40]!r}")
            need(theirs.encode(text) == ids, f"read back, another id in {text[:40]!r}")
            decoded = engine.decode(ids)
            need(ours.decode(ids) == decoded, f"decoded otherwise: {text[:40]!r}")
            need(theirs.decode(ids) == decoded, f"read back, decoded otherwise: {text[:40]!r}")
    if not plain:
        _same_specials(model, case.back, engine, ours, texts)


def _same_specials(
    model: BPEModel, back: BPEModel, engine: Engine, ours: Encoder, texts: Sequence[str]
) -> None:
    if engine.parses_special and model.added is not None:
        around = [f"a {token.text} b{token.text}" for token in model.added]
        for text in [*texts, *around]:
            ids = engine.encode(text, special="parse")
            need(ours.encode(text, "all") == ids, f"specials in {text[:40]!r}")
    if model.sequence_template is None or back.sequence_template is None:
        return
    if engine.applies_template:
        for text in ("a", "don't 1234"):
            ids = engine.encode(text, add_special_tokens=True)
            need(ours.template(ours.encode(text)) == ids, f"what stands around {text!r}")


def run_alike(source: LawSource, texts: Sequence[str] = TEXTS) -> None:
    """The format's engine gives on its files the ids that our encoder gives of what was read."""
    model = source.model
    engine = of_format(source.format.engine, source.format, source.files, model)
    ours = Encoder(model)
    for text in texts:
        ids = engine.encode(text)
        need(ours.encode(text) == ids, f"another id than the engine's in {text[:40]!r}")
        need(ours.decode(ids) == engine.decode(ids), f"decoded otherwise: {text[:40]!r}")
    _same_specials(model, model, engine, ours, texts)


def untouched(source: LawSource, fresh: LawSource) -> None:
    """Neither files nor models change by being written: they are as when read anew."""
    need(source.files == fresh.files, "the files changed")
    need(facts_of(source.model) == facts_of(fresh.model), "the model changed")


def facts_of(model: BPEModel) -> dict[str, str]:
    """Every field of a model, spelled out in order."""
    return {field: repr(getattr(model, field)) for field in (*FIELDS, "origin")}


def roundabout(source: LawSource, middle: Format, target: Format) -> None:
    """A to B to C equals A to C, where A to B loses nothing."""
    direct, there = LawCase(source, target), LawCase(source, middle)
    onward = RoundTrip(there.back, target)
    apart = [found.field for found in diff(onward.again, direct.trip.again)]
    need(not apart, f"other {apart} by way of {middle.name}")
