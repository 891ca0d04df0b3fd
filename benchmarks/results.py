"""What a run found, as it is kept in JSON: samples, and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias

from .ratios import Spread, over, ratio, spread
from .works import OURS, Form, Limit, Measure, Work

State: TypeAlias = Literal["measured", "absent", "failed"]

FORMAT = 1
"""The number of the layout of the JSON."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Seconds of the call, of the whole process and of its CPU; most memory in bytes."""

    call: float | None = None
    process: float | None = None
    cpu: float | None = None
    peak: int | None = None


@dataclass(slots=True)
class SideRun:
    """What became of a side. ``said`` is why it was not measured, ``differs`` how it is wrong."""

    name: str
    state: State = "measured"
    said: str = ""
    differs: str = ""
    note: str = ""
    samples: list[Sample] = field(default_factory=list)

    def values(self, measure: str) -> list[float]:
        """One measure of all samples, round by round."""
        found = (getattr(sample, measure) for sample in self.samples)
        return [float(value) for value in found if value is not None]

    def spread(self, measure: str) -> Spread | None:
        """The spread of a measure."""
        return spread(self.values(measure))


@dataclass(frozen=True, slots=True)
class LimitRun:
    """A limit, and what was reached; ``met`` is None where it could not be measured."""

    title: str
    text: str
    form: Form
    measure: Measure
    of: str
    peer: str
    ours: Spread | None
    theirs: Spread | None
    reached: Spread | None
    met: bool | None
    said: str = ""


@dataclass(slots=True)
class WorkRun:
    """What became of a work. ``size`` is in bytes of text where it is about text."""

    name: str
    group: str
    title: str
    measure: Measure
    rounds: int
    sides: list[SideRun]
    limits: list[LimitRun] = field(default_factory=list)
    compared: str = ""
    size: int | None = None
    note: str = ""
    why: str = ""

    def side(self, name: str) -> SideRun:
        """A side by its name."""
        return next(side for side in self.sides if side.name == name)

    def against(self, side: SideRun, measure: str) -> Spread | None:
        """Ours divided by another side."""
        return ratio(self.side(OURS).values(measure), side.values(measure))


@dataclass(frozen=True, slots=True)
class Point:
    """One point of a curve; ``peak`` in bytes."""

    size: int
    seconds: float
    peak: int | None = None


@dataclass(slots=True)
class Curve:
    """How a cost grows. ``slopes`` are powers of the size over the last doublings."""

    name: str
    title: str
    unit: str
    series: dict[str, list[Point]] = field(default_factory=dict)
    slopes: dict[str, float | None] = field(default_factory=dict)
    note: str = ""
    said: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """An encoder's ids of texts in one mode, beside those of the engine of the format.

    ``raised`` of the ``differing`` texts ended with an error. ``text`` is the shortest of them, cut
    to what still differs, ``expected`` its ids, and ``theirs`` the encoder's, their number where
    it only counts, or the error.
    """

    mode: Literal["special", "ordinary"]
    texts: int
    differing: int
    raised: int
    text: str = ""
    expected: list[int] = field(default_factory=list)
    theirs: list[int] | int | str = ""


@dataclass(frozen=True, slots=True)
class Tried:
    """An encoder and a tokenizer; ``differing`` of ``texts`` have other ids in some mode."""

    peer: str
    tokenizer: str
    kind: str
    state: Literal["ran", "refuses", "other kind", "absent", "failed"]
    said: str = ""
    differing: int = 0
    texts: int = 0
    modes: list[Asked] = field(default_factory=list)


@dataclass(slots=True)
class Exactness:
    """Whose ids are right. ``versions`` are those of the encoders."""

    date: str
    commit: str
    versions: dict[str, str | None]
    tried: list[Tried] = field(default_factory=list)


@dataclass(slots=True)
class Run:
    """A whole run: what is needed to write the page."""

    date: str
    commit: str
    quick: bool
    machine: dict[str, str]
    packages: dict[str, str | None]
    corpora: list[dict[str, Any]] = field(default_factory=list)
    works: list[WorkRun] = field(default_factory=list)
    growth: list[Curve] = field(default_factory=list)
    exactness: Exactness | None = None
    seconds: float = 0.0


def held_to(
    work: Work, limit: Limit, sides: Mapping[str, SideRun], size: int | None = None
) -> LimitRun:
    """What a work reached of a limit, over a text of ``size`` bytes. Other answers meet none."""
    ours, peer = sides[limit.of], sides.get(limit.peer)
    mine = ours.values(limit.measure)
    others = peer.values(limit.measure) if peer is not None else []
    if limit.form == "absolute":
        reached = spread(mine)
    elif limit.form == "rate":
        reached = spread([size / taken for taken in mine if taken > 0]) if size else None
    elif limit.form == "over":
        reached = over(mine, others)
    elif limit.form == "speed":
        reached = ratio(others, mine)
    else:
        reached = ratio(mine, others)
    met: bool | None = None
    told = dict.fromkeys(side.said for side in (ours, peer) if side is not None and side.said)
    said = "; ".join(told)
    if reached is not None:
        if limit.form in ("speed", "rate"):
            met = reached.median >= limit.bound
        else:
            met = reached.median <= limit.bound
        if ours.differs:
            met, said = False, ours.differs
        elif peer is not None and peer.differs:
            said = f"{peer.name}'s {peer.differs}"
    return LimitRun(
        title=limit.title or work.title,
        text=limit.text,
        form=limit.form,
        measure=limit.measure,
        of=limit.of,
        peer=limit.peer,
        ours=ours.spread(limit.measure),
        theirs=peer.spread(limit.measure) if peer is not None else None,
        reached=reached,
        met=met,
        said=said,
    )


def to_json(run: Run) -> dict[str, Any]:
    """A run as JSON: everything that was measured, and the spreads of the samples."""
    found: dict[str, Any] = {"format": FORMAT, **asdict(run)}
    for work, shown in zip(run.works, found["works"], strict=True):
        for side, entry in zip(work.sides, shown["sides"], strict=True):
            entry["spreads"] = {
                measure: asdict(taken)
                for measure in ("call", "process", "cpu", "peak")
                if (taken := side.spread(measure)) is not None
            }
    return found


def from_json(found: Mapping[str, Any]) -> Run:
    """A run that was kept.

    Raises:
        ValueError: it is of another layout.
    """
    if found.get("format") != FORMAT:
        raise ValueError(f"the data are of format {found.get('format')!r}, expected {FORMAT}")
    given = {key: value for key, value in found.items() if key != "format"}
    given["works"] = [_work(entry) for entry in found["works"]]
    given["growth"] = [_curve(entry) for entry in found["growth"]]
    if given.get("exactness"):
        given["exactness"] = _exactness(found["exactness"])
    return Run(**given)


def _work(entry: Mapping[str, Any]) -> WorkRun:
    sides = [
        SideRun(
            **{key: value for key, value in side.items() if key not in ("spreads", "samples")},
            samples=[Sample(**sample) for sample in side["samples"]],
        )
        for side in entry["sides"]
    ]
    limits = [_limit(limit) for limit in entry["limits"]]
    return WorkRun(**{**entry, "sides": sides, "limits": limits})


def _limit(entry: Mapping[str, Any]) -> LimitRun:
    spreads = {key: Spread(**value) for key, value in entry.items() if isinstance(value, dict)}
    plain: dict[str, Any] = {**entry, **spreads}
    return LimitRun(**plain)


def _curve(entry: Mapping[str, Any]) -> Curve:
    series = {
        name: [Point(**point) for point in points] for name, points in entry["series"].items()
    }
    return Curve(**{**entry, "series": series})


def _exactness(entry: Mapping[str, Any]) -> Exactness:
    tried = [
        Tried(**{**one, "modes": [Asked(**mode) for mode in one["modes"]]})
        for one in entry["tried"]
    ]
    return Exactness(**{**entry, "tried": tried})
