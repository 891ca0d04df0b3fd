"""What a run of many pairs found, and the tables of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from ..page import table
from .changes import CHANGES
from .running import Lost
from .trial import Trial

STAGES = (
    "normalizer",
    "pre-tokenizer",
    "core",
    "lookup",
    "ids",
    "added tokens",
    "special tokens",
    "sequence template",
    "decoding",
)
"""Every stage of a verdict: a long run finds pairs that differ at each."""

ENOUGH = 20_000
"""From so many pairs on, every stage, feature and change must have been told apart once."""

_OUTCOMES = ("proved", "different", "unknown")

_NEVER = {
    ("nothing", "different"),
    ("ranks swapped", "proved"),
    ("ids of GGUF swapped", "proved"),
}
"""What no run can show: a pair of two equal files differs nowhere, and where two ranks or ids
change places they decode otherwise."""


@dataclass
class Tally:
    """Counts of a run."""

    pairs: int = 0
    compared: int = 0
    texts: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    lost: list[Lost] = field(default_factory=list)
    verdicts: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    stages: Counter[tuple[str, str]] = field(default_factory=Counter)
    reasons: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    features: Counter[tuple[str, str]] = field(default_factory=Counter)
    changes: Counter[tuple[str, str]] = field(default_factory=Counter)
    wrong: list[tuple[int, Trial]] = field(default_factory=list)

    def add(self, number: int, found: Trial | Lost) -> None:
        """Counts one pair."""
        self.pairs += 1
        if isinstance(found, Lost):
            self.lost.append(found)
            return
        if found.refused:
            self.refused[found.refused] += 1
            return
        self.compared += 1
        self.texts += found.texts
        for (who, scope), outcome in found.verdicts.items():
            self.verdicts[who, scope, outcome] += 1
            if who == "prove":
                for name in found.features:
                    self.features[name, outcome] += 1
                for name in _single(found.change):
                    self.changes[name, outcome] += 1
        for name, outcome in {(name, outcome) for name, outcome, _ in found.stages}:
            self.stages[name, outcome] += 1
        self.reasons.update(found.stages)
        if found.wrong:
            self.wrong.append((number, found))

    def holes(self) -> Iterator[str]:
        """What a long run left untried."""
        if self.compared < ENOUGH:
            return
        for name in STAGES:
            if not self.stages[name, "different"]:
                yield f"no pair differed at the stage {name}"
            if not self.stages[name, "proved"]:
                yield f"the stage {name} proved nothing"
        for kind, counts in (("feature", self.features), ("change", self.changes)):
            for name in sorted({name for name, _ in counts}):
                for outcome in ("proved", "different"):
                    if not counts[name, outcome] and (name, outcome) not in _NEVER:
                        yield f"no pair was {outcome} with the {kind} {name}"
        for name in (name for changes in CHANGES.values() for name in changes):
            if not any(self.changes[name, outcome] for outcome in _OUTCOMES):
                yield f"the change {name} was never made"

    def lines(self) -> Iterator[str]:
        """The tables."""
        kinds = Counter(wrong.kind for _, found in self.wrong for wrong in found.wrong)
        yield (
            f"{self.pairs:,} pairs, {self.compared:,} of them read by us and by the engines, "
            f"{self.texts:,} texts; **{len(self.wrong):,} pairs with a wrong verdict**, "
            f"{len(self.lost):,} on which an engine did not come back."
        )
        yield ""
        if kinds:
            yield from table(["wrong", "times"], kinds.most_common())
            yield ""
        yield from table(
            ["verdict of", "scope", "PROVED", "DIFFERENT", "unknown or TESTED"],
            [
                [who, scope, *self._outcomes(self.verdicts, who, scope)]
                for who, scope in sorted({(who, scope) for who, scope, _ in self.verdicts})
            ],
        )
        yield ""
        yield from table(
            ["stage", *_OUTCOMES],
            [[name, *(self.stages[name, each] for each in _OUTCOMES)] for name in STAGES],
        )
        yield ""
        yield from table(["argument of a stage", *_OUTCOMES], self._reasons())
        yield ""
        for title, counts in (("feature", self.features), ("what was changed", self.changes)):
            names = sorted({name for name, _ in counts})
            rows = [[name, *(counts[name, each] for each in _OUTCOMES)] for name in names]
            yield from table([title, "PROVED", "DIFFERENT", "unknown"], rows)
            yield ""
        yield from table(["files that were refused", "pairs"], self._refusals())
        holes = list(self.holes())
        if holes:
            yield ""
            yield "Left untried: " + "; ".join(holes) + "."

    def _refusals(self) -> list[tuple[str, int]]:
        """By whom files were refused, and the rest of the reasons as one row."""
        common = self.refused.most_common(12)
        rest = self.refused.total() - sum(count for _, count in common)
        return [*common, *([("other reasons", rest)] if rest else [])]

    def _outcomes(self, counts: Counter[Any], *key: str) -> list[int]:
        found = {k[-1]: n for k, n in counts.items() if k[:-1] == key}
        proved, different = found.pop("proved", 0), found.pop("different", 0)
        return [proved, different, sum(found.values())]

    def _reasons(self) -> list[list[object]]:
        names: dict[tuple[str, str], None] = {}
        for name, _, why in sorted(self.reasons, key=lambda row: (STAGES.index(row[0]), row[2])):
            names[name, why] = None
        return [
            [f"{name}: {_literal(why)}", *(self.reasons[name, each, why] for each in _OUTCOMES)]
            for name, why in names
            if sum(self.reasons[name, each, why] for each in _OUTCOMES) > 1
        ]


def _literal(why: str) -> str:
    """A reason for a page: one that holds a pattern is no markup."""
    return f"`{why}`" if "[" in why and "`" not in why else why


def as_json(found: Iterable[tuple[int, Trial]]) -> Iterator[str]:
    """A line for each pair with a wrong verdict: all that is needed to see it again."""
    for number, pair in found:
        entry = {
            "number": number,
            "change": pair.change,
            "sources": [asdict(source) for source in pair.sources],
            "wrong": [asdict(wrong) for wrong in pair.wrong],
        }
        yield json.dumps(entry, ensure_ascii=False)


def _single(change: str) -> set[str]:
    """The single changes of a pair; a conversion is one."""
    return {part for part in change.split(" + ") if not part.startswith("to ")}
