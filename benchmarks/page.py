"""A run as pages: Markdown for the screen, and the page of the documentation."""

from __future__ import annotations

import json
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from . import tables
from .exact import KINDS, REFERENCE
from .plots import draw
from .results import Run, WorkRun, from_json, to_json

TEMPLATES = Path(__file__).resolve().parent
COMPACT = {
    "encode": "Our encoder, warm",
    "unseen": "Our encoder, never-seen text",
    "arrays": "Our encoder, never-seen text, ids in numpy",
    "warm-arrays": "Our encoder, warm, ids in numpy",
    "own": "Our encoder, beside itself on cl100k",
    "split": "Splitting only",
}
"""Groups that have so many works that one table shows all of them."""


def markdown(run: Run) -> str:
    """All tables, for the screen."""
    parts = []
    if any(work.limits for work in run.works):
        parts += ["## Targets", tables.targets(run)]
    if missed := tables.reasons(run):
        parts += ["\n".join(f"- {line}" for line in missed)]
    for group, works in groups(run):
        parts += [f"## {group}", *(part for work in works for part in _section(work))]
    for curve in run.growth:
        parts += [f"## {curve.title}", tables.growth(curve) if curve.series else curve.said]
    if run.exactness is not None:
        for kind, title in KINDS.items():
            parts += [f"## {title}", tables.whose_ids(run.exactness, kind)]
        parts += [tables.told_apart(run.exactness)]
    parts += ["## Machine", ", ".join(f"{k}: {v}" for k, v in run.machine.items())]
    parts += [tables.packages(run)]
    if run.corpora:
        parts.append(tables.corpora(run))
    return "\n\n".join(part for part in parts if part) + "\n"


def _section(work: WorkRun) -> list[str]:
    return [f"**{work.title}** (rounds: {work.rounds})", tables.sides(work)]


def capital(title: str) -> str:
    """A title that begins with a capital, unless with a name: ``o200k``."""
    return title[:1].upper() + title[1:] if title.split()[0].isalpha() else title


def groups(run: Run) -> list[tuple[str, list[WorkRun]]]:
    """The works by group, in their order."""
    found: dict[str, list[WorkRun]] = {}
    for work in run.works:
        found.setdefault(work.group, []).append(work)
    return list(found.items())


def as_text(run: Run) -> str:
    """A run as JSON."""
    return json.dumps(to_json(run), indent=1, ensure_ascii=False) + "\n"


def read(path: Path) -> Run:
    """A run that was kept.

    Raises:
        ValueError: the file holds something else.
        OSError: it cannot be read.
    """
    return from_json(json.loads(path.read_text("utf-8")))


def rendered(run: Run, pictures: dict[str, str]) -> str:
    """The page of the documentation.

    Args:
        run: what was measured.
        pictures: the names of curves, and the files that show them.
    """
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    limits = [limit for work in run.works for limit in work.limits]
    met = sum(limit.met is True for limit in limits)
    return environment.get_template("performance.md.jinja").render(
        run=run,
        tables=tables,
        capital=capital,
        compact=COMPACT,
        groups=groups(run),
        pictures=pictures,
        met=met,
        total=len(limits),
        unmet=len(limits) - met,
        missed=tables.reasons(run),
        kinds=KINDS,
        reference=REFERENCE,
    )


def write(run: Run, target: Path) -> list[Path]:
    """Writes the page and its pictures; returns what was written."""
    written = []
    pictures: dict[str, str] = {}
    for curve in run.growth:
        drawn = draw(curve)
        if drawn is not None:
            file = target.with_name(f"performance-{curve.name}.svg")
            file.write_text(drawn, "utf-8")
            pictures[curve.name] = file.name
            written.append(file)
    target.write_text(rendered(run, pictures), "utf-8")
    return [target, *written]
