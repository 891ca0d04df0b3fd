"""Runs works: child processes turn by turn, and what they say put together."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from .child import rotated
from .made import ROOT, AbsentDataError, Place
from .memory import watched
from .results import Sample, SideRun, WorkRun, held_to
from .works import OURS, Side, Work

PATIENCE = 900.0
"""Seconds after which a child is given up."""

Tick = Callable[[str], None]


class FailedError(Exception):
    """A child ended otherwise than it should; the message is the last thing it said."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a child said, and what its process cost."""

    said: dict[str, Any]
    process: float
    cpu: float | None

    def sample(self) -> Sample:
        """The sample of a child that ran one side."""
        return Sample(self.said.get("call"), self.process, self.cpu, self.said.get("peak"))


def run_child(
    place: Place,
    words: list[str],
    environ: Mapping[str, str],
    *,
    family: bool = False,
    patience: float = PATIENCE,
) -> Said:
    """Runs Python with arguments, to its end; with ``family``, memory is that of all it started.

    Raises:
        FailedError: it failed, or took longer than ``patience`` (seconds).
    """
    before, began = _cpu(), time.perf_counter()
    try:
        with (
            subprocess.Popen(
                [sys.executable, *words],
                cwd=ROOT,
                env=place.environ(environ),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            ) as child,
            watched(child.pid if family else None) as memory,
        ):
            out, errors = _ended(child, patience)
    except subprocess.TimeoutExpired:
        raise FailedError(f"took longer than {patience:.0f} s") from None
    process, after = time.perf_counter() - began, _cpu()
    if child.returncode:
        raise FailedError(place.without_paths(_last_line(errors) or f"code {child.returncode}"))
    said = json.loads(_last_line(out)) if "benchmarks.child" in words else {}
    if family:
        own, together = said.get("peak"), memory.most
        said["peak"] = None if own is None or together is None else max(own, together)
    return Said(said, process, None if before is None or after is None else after - before)


def _ended(child: subprocess.Popen[bytes], patience: float) -> tuple[bytes, bytes]:
    """What a child wrote until its end. One that takes too long, or is left alone, is killed."""
    try:
        return child.communicate(timeout=patience)
    except BaseException:
        child.kill()
        raise


def _cpu() -> float | None:
    """The CPU seconds of all children so far, where that is known."""
    with contextlib.suppress(ImportError):
        resource = import_module("resource")
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        used: float = usage.ru_utime + usage.ru_stime
        return used
    return None


def _last_line(data: bytes) -> str:
    lines = [line for line in data.decode("utf-8", "replace").splitlines() if line.strip()]
    return lines[-1].strip() if lines else ""


def run_work(
    work: Work, place: Place, versions: Mapping[str, str | None], tick: Tick = lambda what: None
) -> WorkRun:
    """Measures one work: whoever can do it, and why the others cannot."""
    rounds = work.quick if place.quick else work.rounds
    sides = {side.name: SideRun(side.name) for side in work.sides}
    for side in work.sides:
        missing = [name for name in side.packages if versions.get(name) is None]
        if missing:
            named = " ".join(missing)
            sides[side.name].state = "absent"
            sides[side.name].said = f"absent: not installed (pip install {named})"
    size = None
    try:
        if work.corpus:
            size = int(place.corpora()[work.corpus].bytes * work.share)
        if work.inside:
            _Together(work, place, sides, rounds, tick).measure()
        else:
            _run_apart(work, place, sides, rounds, tick)
    except FailedError as error:
        for found in sides.values():
            if found.state == "measured":
                _fail(found, error)
    except AbsentDataError as error:
        for found in sides.values():
            if found.state == "measured":
                found.state, found.said, found.samples = "absent", f"absent: {error}", []
    return WorkRun(
        name=work.name,
        group=work.group,
        title=work.title,
        measure=work.measure,
        rounds=max((len(found.samples) for found in sides.values()), default=0),
        sides=list(sides.values()),
        limits=[held_to(work, limit, sides, size) for limit in work.limits],
        compared=work.compared,
        size=size,
        note=work.note,
        why=work.why,
    )


def put_off(work: Work) -> WorkRun:
    """A work that was not measured, because it takes long."""
    sides = {side.name: SideRun(side.name, "absent", "measured with --long") for side in work.sides}
    return WorkRun(
        name=work.name,
        group=work.group,
        title=work.title,
        measure=work.measure,
        rounds=0,
        sides=list(sides.values()),
        limits=[held_to(work, limit, sides) for limit in work.limits],
        note=work.note,
    )


@contextlib.contextmanager
def _settled(side: Side, place: Place) -> Iterator[dict[str, str]]:
    settings = place.settle({**side.settings, **(side.quick if place.quick else {})})
    try:
        yield settings
    finally:
        place.swept(settings)


def _sample(side: Side, work: Work, place: Place, mode: str) -> Said:
    if side.code:
        return run_child(place, ["-c", side.code], work.environ, family=work.family)
    with _settled(side, place) as settings:
        given = [f"{key}={value}" for key, value in settings.items()]
        words = ["-m", "benchmarks.child", mode, side.run, *given]
        return run_child(place, words, work.environ, family=work.family)


def _run_apart(
    work: Work, place: Place, sides: dict[str, SideRun], rounds: int, tick: Tick
) -> None:
    """A process for each sample. The first of each side is not counted: it is checked."""
    declared = {side.name: side for side in work.sides}
    answers: dict[str, Any] = {}

    def taken(name: str, mode: str) -> Said | None:
        tick(f"{work.name}: {name}")
        try:
            return _sample(declared[name], work, place, mode)
        except FailedError as error:
            _fail(sides[name], error)
            return None

    for name in [name for name in declared if sides[name].state == "measured"]:
        found = taken(name, "check")
        if found is not None:
            answers[name] = found.said.get("answer")
            if declared[name].once:
                sides[name].samples.append(found.sample())
                sides[name].note = found.said.get("note", "")
    against = _truth(work, place, answers)
    if work.compared and against is not None:
        _compare(work, sides, answers, against)
    for turn in range(rounds):
        names = [
            side.name
            for side in work.sides
            if sides[side.name].state == "measured" and not side.once
        ]
        for name in rotated(names, turn):
            found = taken(name, "time")
            if found is not None:
                sides[name].samples.append(found.sample())
                sides[name].note = found.said.get("note", "")


def _truth(work: Work, place: Place, answers: Mapping[str, Any]) -> tuple[str, Any] | None:
    """Who says what is right, and the answer: the peer that ours is compared with, if nobody else.

    None where there is nobody to ask.
    """
    if work.truth is not None:
        with contextlib.suppress(FailedError):
            return work.truth.name, _sample(work.truth, work, place, "check").said.get("answer")
    peers = [limit.peer for limit in work.limits if answers.get(limit.peer) is not None]
    named = (peers or [name for name in answers if name != OURS])[:1]
    return (named[0], answers[named[0]]) if named else None


def _compare(
    work: Work, sides: dict[str, SideRun], answers: Mapping[str, Any], truth: tuple[str, Any]
) -> None:
    """Notes whose answer is another one."""
    against, expected = truth
    for name, answer in answers.items():
        if answer is not None and answer != expected:
            where = _extent(answer, expected)
            sides[name].differs = f"{work.compared} differ from {against}'s{where}"


def _extent(answer: Any, expected: Any) -> str:
    if not isinstance(answer, dict) or not isinstance(expected, dict):
        return ""
    wrong = [key for key in expected if answer.get(key) != expected[key]]
    return f" ({', '.join(wrong)})"


class _Together:
    """All sides in one process, turn by turn; or in several, each with its share of the rounds."""

    def __init__(
        self, work: Work, place: Place, sides: dict[str, SideRun], rounds: int, tick: Tick
    ) -> None:
        self._work, self._place, self._sides, self._tick = work, place, sides, tick
        self._processes = min(work.processes, rounds) or 1
        self._rounds = -(-rounds // self._processes)

    def measure(self) -> None:
        """Compares what they give, and then takes the samples."""
        try:
            compared = self._run("compare", 0, self._names())
        except FailedError:
            self._blame()
            if not self._names():
                return
            compared = self._run("compare", 0, self._names())
        for name, differs in compared["differing"].items():
            self._sides[name].differs = differs
        for turn in range(self._processes):
            for name, calls in self._run("rounds", turn, self._names())["calls"].items():
                self._sides[name].samples += [Sample(call=call) for call in calls]

    def _names(self) -> list[str]:
        return [name for name, found in self._sides.items() if found.state == "measured"]

    def _run(self, mode: str, turn: int, names: list[str]) -> dict[str, Any]:
        self._tick(f"{self._work.name}: {', '.join(names)}")
        given = self._place.settle({**self._work.settings, "sides": ",".join(names)})
        given |= {"rounds": str(self._rounds), "turn": str(turn)}
        words = ["-m", "benchmarks.child", mode, self._work.inside]
        words += [f"{key}={value}" for key, value in given.items()]
        return run_child(self._place, words, self._work.environ).said

    def _blame(self) -> None:
        """Marks those who fail, each tried alone."""
        for name in self._names():
            try:
                self._run("compare", 0, [name])
            except FailedError as error:
                _fail(self._sides[name], error)


def _fail(found: SideRun, error: FailedError) -> None:
    found.state, found.said, found.samples = "failed", f"failed: {str(error)[:200]}", []


def selected(works: tuple[Work, ...], only: tuple[str, ...]) -> tuple[Work, ...]:
    """The works of these names or groups, all where none is named.

    Raises:
        KeyError: a name that nothing has.
    """
    known = {name for work in works for name in (work.name, work.group)}
    for name in only:
        if name not in known:
            raise KeyError(name)
    return tuple(work for work in works if not only or work.name in only or work.group in only)
