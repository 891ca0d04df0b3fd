"""A run as tables in Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from .ratios import Spread
from .results import Asked, Curve, Exactness, LimitRun, Run, SideRun, Tried, WorkRun
from .works import OURS

BARE = "bare interpreter"

HEADLINES = {
    "load-o200k": "loading o200k's rank file takes {} the time of {}",
    "load-qwen3": "loading Qwen3's `tokenizer.json` {} that of {}",
    "convert-o200k": "converting o200k {} that of {}",
    "encode-cl100k-english": "our own encoder has {} the speed of {} on English that it has seen",
    "arrays-cl100k-english": "and {} that of {} on English that it has not",
}

_UNIT = re.compile(r"^-?[\d.,]+")


class Loss(NamedTuple):
    """A work in which others take less time than ours, or less memory: who, and ours / theirs."""

    work: str
    time: list[tuple[SideRun, Spread]]
    memory: list[tuple[SideRun, Spread]]

    @property
    def worst(self) -> float:
        """The greatest of the ratios."""
        return max(ratio.median for _, ratio in (*self.time, *self.memory))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def seconds(value: float) -> str:
    """A time for people, with three digits."""
    if value < 0:
        return f"-{seconds(-value)}"
    if value < 0.001:
        return f"{value * 1e6:.0f} µs"
    if value < 0.0995:
        return f"{value * 1e3:.1f} ms"
    if value < 0.9995:
        return f"{value * 1e3:.0f} ms"
    if value < 10_000:
        return f"{value:.2f} s" if value < 99.5 else f"{value:.0f} s"
    return f"{value / 3600:,.1f} h"


def size(count: float) -> str:
    """A number of bytes for people."""
    for unit, power in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= power:
            return f"{count / power:.3g} {unit}"
    return f"{count:.0f} B"


def mebibytes(count: float) -> str:
    """An amount of memory for people."""
    return f"{count / 2**20:.0f} MiB"


def rate(value: float) -> str:
    """Bytes of text for each second, for people."""
    return f"{value / 1e6:.3g} MB/s"


def times(value: float) -> str:
    """A ratio for people."""
    if value >= 99.5:
        return f"{value:,.0f}x"
    return f"{value:.1f}x" if value >= 9.95 else f"{value:.2f}x"


def spread(found: Spread | None, shown: Callable[[float], str] = seconds) -> str:
    """A median, with the least and the most where they are not the same: ``25 ms (24 - 31)``."""
    if found is None:
        return "-"
    median, least, most = map(shown, (found.median, found.least, found.most))
    if least == most:
        return median
    units = {_UNIT.sub("", text) for text in (median, least, most)}
    if len(units) == 1:
        [unit] = units
        least, most = least.removesuffix(unit), most.removesuffix(unit)
    return f"{median} ({least} - {most})"


def _shown(limit: LimitRun) -> tuple[str, str, str]:
    """Ours, the peer's and what was reached, of a limit."""
    unit = mebibytes if limit.measure == "peak" else seconds
    reached = unit if limit.form in ("absolute", "over") else times
    if limit.form == "rate":
        reached = rate
    theirs = "-" if limit.theirs is None else f"{unit(limit.theirs.median)} ({limit.peer})"
    ours = "-" if limit.ours is None else unit(limit.ours.median)
    return ours, theirs, spread(limit.reached, reached)


def verdict(limit: LimitRun) -> str:
    """Whether a limit was met, in a word."""
    found = "not measured" if limit.met is None else "met" if limit.met else "**not met**"
    return f"{found}; {limit.said}" if limit.met and limit.said else found


def target(limit: LimitRun) -> tuple[str, ...]:
    """A row of the table of targets."""
    return (limit.title, *_shown(limit), limit.text, verdict(limit))


def targets(run: Run) -> str:
    """The table of targets."""
    rows = [target(limit) for work in run.works for limit in work.limits]
    return table(("work", "ours", "peer", "reached (min - max)", "target", "met"), rows)


def reasons(run: Run) -> list[str]:
    """A line for each limit that was not met or not measured: what was reached, and why."""
    lines = []
    for work in run.works:
        for limit in work.limits:
            if limit.met:
                continue
            why = [work.why if limit.met is False else "", limit.said and f"{limit.said}."]
            _, _, reached = _shown(limit)
            told = f"{limit.title}: {reached}, where the target is {limit.text}."
            lines.append(" ".join([told, *filter(None, why)]))
    return lines


def losses(run: Run) -> list[Loss]:
    """Every work in which somebody takes less time than ours, or less memory, the worst first."""
    found = []
    for work in run.works:
        loss = Loss(work.title, _less(work, work.measure), _less(work, "peak"))
        if loss.time or loss.memory:
            found.append(loss)
    return sorted(found, key=lambda loss: -loss.worst)


def _less(work: WorkRun, measure: str) -> list[tuple[SideRun, Spread]]:
    """Who needs less of something, the one that needs least first."""
    if not any(side.name == OURS for side in work.sides):
        return []
    ratios = (
        (side, work.against(side, measure))
        for side in work.sides
        if side.state == "measured" and not side.name.startswith((OURS, BARE))
    )
    found = [(side, ratio) for side, ratio in ratios if ratio is not None and ratio.median > 1]
    return sorted(found, key=lambda pair: -pair[1].median)


def losing(run: Run) -> str:
    """The table of where we lose."""
    rows = [(loss.work, _listed(loss.time), _listed(loss.memory)) for loss in losses(run)]
    if not rows:
        return "Nowhere in this run."
    return table(("work", "our time / theirs", "our memory / theirs"), rows)


def _listed(found: list[tuple[SideRun, Spread]]) -> str:
    return ", ".join(
        f"{side.name} {times(ratio.median)}" + (" (its answers differ)" if side.differs else "")
        for side, ratio in found
    )


def compact(works: Sequence[WorkRun]) -> str:
    """One table of several works on texts: a line each, a column for each side."""
    names = list(dict.fromkeys(side.name for work in works for side in work.sides))
    rows = []
    for work in works:
        there = {side.name: side for side in work.sides}
        cells = [_rate(work, there[name]) if name in there else "" for name in names]
        rows.append((work.title, *cells))
    return table(("MB/s, and our time / its", *names), rows)


def _rate(work: WorkRun, side: SideRun) -> str:
    taken = side.spread(work.measure)
    if taken is None or not work.size:
        return side.said or "-"
    against = _against(work, side)
    rate = f"{work.size / taken.median / 1e6:.1f}"
    mark = " †" if side.differs else ""
    return f"{rate}, {against}{mark}" if side.name != OURS else f"{rate}{mark}"


def remarks(works: Sequence[WorkRun]) -> list[str]:
    """A line for each side of the works that gives other answers."""
    return [
        f"† {work.title}, {side.name}: {side.differs}"
        for work in works
        for side in work.sides
        if side.differs
    ]


def headline(run: Run) -> str:
    """What to take away, of the works that were measured."""
    said = []
    for name, words in HEADLINES.items():
        limits = [limit for work in run.works if work.name == name for limit in work.limits]
        if limits and limits[0].reached is not None:
            said.append(words.format(times(limits[0].reached.median), limits[0].peer))
    return "; ".join(said)


def sides(work: WorkRun) -> str:
    """The table of one work: everybody who does it, and who cannot."""
    columns = ["call", "process", "peak"]
    kept = [c for c in columns if any(side.values(c) for side in work.sides)]
    head = ["", *kept, *(["MB/s"] if work.size else []), "ours / it", ""]
    rows = []
    for side in work.sides:
        cells = [spread(side.spread(c), mebibytes if c == "peak" else seconds) for c in kept]
        if work.size:
            taken = side.spread(work.measure)
            cells.append(f"{work.size / taken.median / 1e6:.1f}" if taken else "-")
        rows.append((side.name, *cells, _against(work, side), _remark(side)))
    return table(head, rows)


def _against(work: WorkRun, side: SideRun) -> str:
    if side.name == OURS or not any(one.name == OURS for one in work.sides):
        return "-"
    return spread(work.against(side, work.measure), times)


def _remark(side: SideRun) -> str:
    return "; ".join(part for part in (side.said, side.differs, side.note) if part)


def power(slope: float | None) -> str:
    """How a cost grows, in a word."""
    return "-" if slope is None else f"n^{slope:.2f}"


def growth(curve: Curve) -> str:
    """The table of a curve: sizes across, and the power with which it grows."""
    sizes = sorted({point.size for points in curve.series.values() for point in points})
    rows = []
    for name, points in curve.series.items():
        taken = {point.size: point for point in points}
        cells = [_point(taken[n].seconds, taken[n].peak) if n in taken else "-" for n in sizes]
        rows.append((name, *cells, power(curve.slopes.get(name))))
    shown = [size(n) if curve.unit == "bytes" else f"{n:,}" for n in sizes]
    return table((curve.unit, *shown, "grows as"), rows)


def _point(taken: float, peak: int | None) -> str:
    return seconds(taken) if peak is None else f"{seconds(taken)}, {mebibytes(peak)}"


def whose_ids(found: Exactness, kind: str) -> str:
    """The table of encoders and the tokenizers of one kind: who takes them, and is right."""
    tried = [one for one in found.tried if one.kind == kind]
    names = list(dict.fromkeys(one.tokenizer for one in tried))
    rows = []
    for peer in takers(found, kind):
        cells = {one.tokenizer: _right(one) for one in tried if one.peer == peer}
        version = found.versions.get(peer) or ""
        rows.append((f"{peer} {version}".strip(), *(cells.get(name, "") for name in names)))
    return table(("", *names), rows)


def takers(found: Exactness, kind: str) -> list[str]:
    """The encoders that have something to say of a kind of file."""
    peers = (one.peer for one in found.tried if one.kind == kind and one.state != "other kind")
    return [peer for peer in dict.fromkeys(peers) if peer]


def _right(one: Tried) -> str:
    if one.state == "ran":
        return f"{one.differing:,} of {one.texts:,}" if one.differing else "ok"
    return {"other kind": "-", "failed": "fails"}.get(one.state, one.state)


def told_apart(found: Exactness) -> str:
    """The table behind these: what was refused, and one text of each difference."""
    rows = []
    for one in sorted(found.tried, key=lambda one: one.peer):
        name = f"{one.tokenizer} ({one.kind})"
        if one.state in ("refuses", "failed"):
            rows.append((one.peer, name, _right(one), code(one.said)))
        rows += [(one.peer, name, _count(asked), _shown_text(asked)) for asked in one.modes]
    return table(("encoder", "tokenizer", "", "shortest text"), (row for row in rows if row[2]))


def _count(asked: Asked) -> str:
    if not asked.differing:
        return ""
    raised = f", {asked.raised:,} with an error" if asked.raised else ""
    return f"{asked.mode}: {asked.differing:,} of {asked.texts:,}{raised}"


def _shown_text(asked: Asked) -> str:
    """A text, and where its ids part: at most five from there on."""
    text = code(ascii(asked.text))
    if isinstance(asked.theirs, int):
        return f"{text}: {asked.theirs} ids, the engine has {len(asked.expected)}"
    if isinstance(asked.theirs, str):
        return f"{text}: {code(asked.theirs)}"
    same = 0
    for one, other in zip(asked.theirs, asked.expected, strict=False):
        if one != other:
            break
        same += 1
    theirs, right = (_some(ids[same:]) for ids in (asked.theirs, asked.expected))
    return f"{text}: {theirs}, the engine {right}" + (f" (after {same})" if same else "")


def _some(ids: Sequence[int]) -> str:
    return str([*ids[:5]]).removesuffix("]") + (", ...]" if len(ids) > 5 else "]")


def code(text: str, longest: int = 100) -> str:
    """A text as code, cut where it is long."""
    text = text.replace("`", "'")
    return f"`{text if len(text) <= longest else text[: longest - 3] + '...'}`"


def packages(run: Run) -> str:
    """The versions of everything."""
    return ", ".join(f"{name} {version or 'absent'}" for name, version in run.packages.items())


def corpora(run: Run) -> str:
    """The texts, with sizes and hashes."""
    head = ("corpus", "bytes", "documents", "sha256", "made of")
    rows = [
        (c["name"], f"{c['bytes']:,}", f"{c['documents']:,}", f"`{c['sha256']}`", c["made_of"])
        for c in run.corpora
    ]
    return table(head, rows)
