"""What runs have found, kept in files; each seed runs once, so that runs add up."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple

from .works import Tally


class Chunk(NamedTuple):
    """Cases of a work: from which number on they are drawn, and how many times."""

    name: str
    seed: int
    first: int
    times: int

    def __str__(self) -> str:
        return f"{self.name}:{self.seed}:{self.first} and {self.times - 1} more"


@dataclass(slots=True)
class Run:
    """What one run has found by now.

    Attributes:
        seed: what it drew from.
        commit, how: of the tree, and what built the kernel, with the hash of its sources.
        seconds: how long it took.
        works: what became of the cases, by work.
        crashes: what ran when a process ended.
    """

    seed: int
    commit: str
    how: str
    seconds: float = 0.0
    works: dict[str, Tally] = field(default_factory=dict)
    crashes: list[str] = field(default_factory=list)

    def keep(self, folder: Path | None) -> None:
        """Writes it into a folder, over what it wrote there before."""
        if folder is None:
            return
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"seed-{self.seed}.json"
        partial = path.with_suffix(".part")
        partial.write_text(json.dumps(asdict(self)), "utf-8")
        partial.replace(path)


def kept(folder: Path | None) -> list[Run]:
    """The runs of a folder, by seed."""
    paths = [] if folder is None else folder.glob("seed-*.json")
    runs = []
    for path in paths:
        found = json.loads(path.read_text("utf-8"))
        works = {name: Tally(**tally) for name, tally in found.pop("works").items()}
        runs.append(Run(**found, works=works))
    return sorted(runs, key=lambda run: run.seed)
