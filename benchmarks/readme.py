"""``python -m benchmarks.readme``: the README's two pictures, from what is committed.

The chart has numbers of the run that ``docs/performance.md`` shows. The other picture is drawn from
an example behind a mark, which the tests run.
"""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import NamedTuple

import click

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "docs" / "conversions.md"
PICTURE = ROOT / "docs" / "verdict.svg"
CHART = ROOT / "docs" / "speed.svg"
PERFORMANCE = ROOT / "docs" / "performance.md"

SHOWN = (
    ("load o200k rank file", 0, "load o200k's rank file"),
    ("load gpt-oss `tokenizer.json`", 0, "load gpt-oss's tokenizer.json"),
    ("o200k rank file to `tokenizer.json`", 0, "o200k to tokenizer.json, a process"),
    ("our encoder, warm, English, cl100k", 0, "encode English, cl100k, seen before"),
    (
        "our encoder, never-seen text, ids in numpy: English, cl100k",
        0,
        "encode English, cl100k, never seen",
    ),
    (
        "our encoder, never-seen text, ids in numpy: English, cl100k",
        1,
        "encode English, cl100k, never seen",
    ),
    ("our encoder, warm, English, Llama-2 `.model`", 0, "encode English, Llama-2"),
    ("train 10 MB English", 1, "learn 32,000 tokens from 10 MB"),
)
"""How the rows of the page's targets begin that are shown, which of several, and their titles."""

_BLOCK = re.compile(r"<!-- picture -->\n(?:<!-- .* -->\n)?```console\n(.*?)```", re.DOTALL)
_WIDE, _HIGH, _EDGE = 7.83, 19, 18
"""Pixels of a character and of a line, and around the text."""
_COLOURS = (
    (r"^\$ .*", "#ffffff"),
    (r"^(?:PROVED|verdict +PROVED)\b|\bproved\b", "#7ee787"),
    (r"^DIFFERENT\b|\bDIFFERENT\b", "#ff9b8e"),
    (r"^[a-z]+(?: gives)?(?= {2,})", "#9fb3c8"),
)


class Bars(NamedTuple):
    """A row of the chart: what was done, and the time that we and a peer take, as text."""

    title: str
    ours: str
    theirs: str
    peer: str


def shown(page: str) -> list[Bars]:
    """The rows of ``docs/performance.md`` that the chart shows."""
    targets = page.partition("\n## Targets\n")[2].partition("\n## ")[0].splitlines()
    found = []
    for start, place, title in SHOWN:
        row = [row for row in targets if row.startswith(f"| {start}")][place]
        _, _, ours, theirs, *_ = (cell.strip() for cell in row.split("|"))
        time, _, peer = theirs.partition(" (")
        found.append(Bars(title, ours, time, peer.rstrip(")")))
    return found


def chart(page: str) -> str:
    """Those rows as pairs of bars (SVG): the longer one of each pair has the whole width.

    Args:
        page: ``docs/performance.md``.
    """
    of_machine = dict(
        re.findall(r"^\| (CPU|cores|Python|installed) \| (.*) \|$", page, re.MULTILINE)
    )
    where = f"{of_machine['CPU']}, {of_machine['cores']} cores, {of_machine['Python']}"
    installed = of_machine.get("installed", "from the sources")
    [(commit, date)] = re.findall(r"^Commit (\S+), (\S+);", page, re.MULTILINE)
    rows, wide, left, high = shown(page), 860, 290, 40
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {len(rows) * high + 40}" '
        'role="img" aria-labelledby="what" font-family="system-ui, sans-serif" font-size="13">',
        '<title id="what">Times compared with other libraries, shorter is better: '
        + html.escape("; ".join(f"{r.title}: {r.ours}, {r.peer} {r.theirs}" for r in rows))
        + "</title>",
        f'<rect width="{wide}" height="{len(rows) * high + 40}" rx="8" fill="#17202b"/>',
    ]
    for number, row in enumerate(rows):
        top = 12 + number * high
        longest = max(_seconds(row.ours), _seconds(row.theirs))
        lines.append(f'<text x="16" y="{top + 21}" fill="#d6dee7">{html.escape(row.title)}</text>')
        for at, (time, name, colour) in enumerate(
            ((row.ours, "bpe-interop", "#7ee787"), (row.theirs, row.peer, "#9fb3c8"))
        ):
            bar = max(2, round(_seconds(time) / longest * (wide - left - 230)))
            y = top + at * 16
            lines.append(f'<rect x="{left}" y="{y}" width="{bar}" height="13" fill="{colour}"/>')
            lines.append(
                f'<text x="{left + bar + 8}" y="{y + 11}" fill="{colour}">'
                f"{html.escape(f'{time} {name}')}</text>"
            )
    said = html.escape(f"Shorter is better. {date}, commit {commit}, {installed}: {where}.")
    lines.append(f'<text x="16" y="{len(rows) * high + 26}" fill="#9fb3c8">{said}</text>')
    return "\n".join([*lines, "</svg>\n"])


_UNITS = {"h": 3600.0, "min": 60.0, "s": 1.0, "ms": 1e-3, "\u00b5s": 1e-6, "ns": 1e-9}


def _seconds(time: str) -> float:
    number, unit = time.split()
    return float(number) * _UNITS[unit]


def drawn(page: str) -> str:
    """The example behind the mark as a drawing of a terminal (SVG), which needs nothing else.

    Raises:
        ValueError: no example stands behind the mark.
    """
    found = _BLOCK.search(page)
    if found is None:
        raise ValueError("no example stands behind <!-- picture -->")
    lines = [line for line in found[1].rstrip().splitlines() if line != "..."]
    wide = round(max(map(len, lines)) * _WIDE + 2 * _EDGE)
    high = len(lines) * _HIGH + 2 * _EDGE
    rows = [
        f'<text x="{_EDGE}" y="{_EDGE + 13 + n * _HIGH}" xml:space="preserve">'
        f"{_coloured(line)}</text>"
        for n, line in enumerate(lines)
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" role="img" '
            'aria-labelledby="what" font-family="ui-monospace, Menlo, Consolas, monospace" '
            'font-size="13" fill="#d6dee7">',
            f'<title id="what">{html.escape(" / ".join(lines))}</title>',
            f'<rect width="{wide}" height="{high}" rx="8" fill="#17202b"/>',
            *rows,
            "</svg>\n",
        ]
    )


def _coloured(line: str) -> str:
    marks = sorted(
        (match.start(), match.end(), colour)
        for pattern, colour in _COLOURS
        for match in re.finditer(pattern, line)
    )
    said, done = "", 0
    for start, end, colour in marks:
        if start >= done:
            said += html.escape(line[done:start])
            said += f'<tspan fill="{colour}">{html.escape(line[start:end])}</tspan>'
            done = end
    return said + html.escape(line[done:])


@click.command()
def main() -> None:
    """Draw the README's pictures."""
    CHART.write_text(chart(PERFORMANCE.read_text("utf-8")), "utf-8")
    PICTURE.write_text(drawn(EXAMPLE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
