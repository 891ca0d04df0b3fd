"""What is measured: works, the sides that do them, and the limits that ours is held to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Measure: TypeAlias = Literal["call", "process", "peak"]
"""Seconds of the call alone, seconds of the whole process with its imports, bytes of memory."""

Form: TypeAlias = Literal["ratio", "speed", "absolute", "over", "rate"]
"""How a limit is meant: ours / the peer's; the peer's / ours; ours alone; ours less the peer's;
bytes of text for each second of ours."""

OURS = "bpe_interop"

SINGLE = {"RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
"""The environment in which peers that would start threads work on one."""

THREADS = {"TOKENIZERS_PARALLELISM": "true"}
"""The environment in which tokenizers uses all cores, whatever this process was told."""


@dataclass(frozen=True, slots=True)
class Side:
    """Somebody who does a work.

    ``run`` is a function of :mod:`benchmarks.sides`, called with ``settings``; these may hold
    ``{data}`` (the folder of real files), ``{made}/NAME`` (what :mod:`.made` makes once) and
    ``{out}`` (a new folder for each sample). ``code`` instead is a bare ``python -c``.
    ``packages`` are the distributions without which it is absent; ``quick`` replaces settings
    where things have to be quick. ``once``: it takes so long that the first run has to do.
    """

    name: str
    run: str = ""
    packages: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    quick: Mapping[str, str] = field(default_factory=dict)
    code: str = ""
    once: bool = False


@dataclass(frozen=True, slots=True)
class Limit:
    """What ours is held to, against a side named ``peer`` where it is not absolute.

    ``text`` is the target in words; ``bound`` is in seconds where it is absolute. With the forms
    ``speed`` and ``rate`` it is a lower bound, an upper one else.
    """

    text: str
    bound: float
    form: Form = "ratio"
    measure: Measure = "call"
    peer: str = ""
    title: str = ""
    of: str = OURS


@dataclass(frozen=True, slots=True)
class Work:
    """One thing that is measured.

    Each sample is a process of its own; with ``inside``, all sides share one and take turns, and
    ``inside`` is the function that gives them. ``rounds`` and ``quick`` are how often each side
    is run; ``processes`` how many processes share ``rounds`` where they share one.
    ``corpus`` and ``share`` say what one run reads, for MB/s. With ``family`` memory is that of a
    process and all that it started, at one time. ``compared`` says what the sides
    have to agree on with each other, or with ``truth``, which is run once and not measured.
    ``why`` is the reason why a limit is not met; it is not shown where it is. ``long``: it takes
    many minutes, and is put off unless it is asked for.
    """

    name: str
    group: str
    title: str
    sides: tuple[Side, ...]
    limits: tuple[Limit, ...] = ()
    measure: Measure = "call"
    rounds: int = 5
    quick: int = 2
    inside: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    processes: int = 0
    corpus: str = ""
    share: float = 1.0
    family: bool = False
    environ: Mapping[str, str] = field(default_factory=dict)
    compared: str = ""
    truth: Side | None = None
    note: str = ""
    why: str = ""
    long: bool = False
