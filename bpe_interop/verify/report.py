"""What a verification found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from ..diff import Difference
from .prove import Scope
from .sides import Failure, Mismatch
from .stages import Stage

Verdict: TypeAlias = Literal["proved", "tested", "refuted", "unknown"]


@dataclass(frozen=True, slots=True)
class Report:
    """What a verification found, and what it is about.

    ``verdict``: ``"proved"`` (every text of the scope has the same ids on both sides, under the
    ``assumptions``), ``"refuted"`` (``mismatch`` has a text that has not, ``stage`` is the first
    that differs), ``"tested"`` (the sides agreed on every text that both answered) or
    ``"unknown"`` (they answered none): ``compared`` of ``texts`` were answered. ``stages`` says
    what was established of each stage; ``replayed`` in which engines the text of ``mismatch``
    was run again. ``differences`` are the fields in which the models differ that the two sides
    really run.
    """

    verdict: Verdict
    scope: Scope
    a: str
    b: str
    engine_a: str
    engine_b: str
    texts: int
    bytes: int
    compared: int
    differing: int
    scopes: tuple[str, ...]
    mismatch: Mismatch | None
    stage: str | None
    stages: tuple[Stage, ...]
    assumptions: tuple[str, ...]
    replayed: tuple[str, ...]
    failures: tuple[Failure, ...]
    differences: tuple[Difference, ...]
    notes: tuple[str, ...]
