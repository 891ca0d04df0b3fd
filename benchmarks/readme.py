"""``python -m benchmarks.readme``: the README's numbers and its picture, from what is committed.

The numbers are those of the run that ``docs/performance.md`` shows. The picture is drawn from the
README's own example behind the mark, which the tests run.
"""

from __future__ import annotations

import html
import re
from pathlib import Path

import click

from .marks import replaced

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
PICTURE = ROOT / "docs" / "verdict.svg"
PERFORMANCE = ROOT / "docs" / "performance.md"

SHOWN = (
    ("`import bpe_interop`", 0),
    ("load o200k rank file", 0),
    ("o200k rank file to `tokenizer.json`", 0),
    ("`verify` proof, gpt-oss json vs o200k_base", 0),
    ("`verify` over documents of about 4 kB |", 0),
    ("our encoder, warm, English, cl100k", 0),
    ("our encoder, never-seen text, ids in numpy: English, cl100k", 0),
    ("train 10 MB English", 1),
)
"""How the rows of the page's targets begin that are shown, and which of several."""

_BLOCK = re.compile(r"<!-- picture -->\n(?:<!-- .* -->\n)?```console\n(.*?)```", re.DOTALL)
_WIDE, _HIGH, _EDGE = 7.83, 19, 18
"""Pixels of a character and of a line, and around the text."""
_COLOURS = (
    (r"^\$ .*", "#ffffff"),
    (r"^(?:PROVED|verdict +PROVED)\b|\bproved\b", "#7ee787"),
    (r"^DIFFERENT\b|\bDIFFERENT\b", "#ff9b8e"),
    (r"^[a-z]+(?: gives)?(?= {2,})", "#9fb3c8"),
)


def numbers(page: str) -> str:
    """The table of the README, with when and on what it was measured.

    Args:
        page: ``docs/performance.md``.
    """
    targets = page.partition("\n## Targets\n")[2].partition("\n## ")[0].strip().splitlines()
    rows = [
        [row for row in targets if row.startswith(f"| {title}")][place] for title, place in SHOWN
    ]
    head = "| work | ours | theirs | reached (least - most) | target |  |"
    of_machine = dict(re.findall(r"^\| (CPU|cores|Python) \| (.*) \|$", page, re.MULTILINE))
    where = f"{of_machine['CPU']}, {of_machine['cores']} cores, {of_machine['Python']}"
    [(commit, date)] = re.findall(r"^Commit (\S+), (\S+);", page, re.MULTILINE)
    table = "\n".join([head, targets[1], *rows])
    return f"{table}\n\nMeasured on {date}, commit {commit}: {where}."


def drawn(readme: str) -> str:
    """The example behind the mark as a drawing of a terminal (SVG), which needs nothing else.

    Raises:
        ValueError: no example stands behind the mark.
    """
    found = _BLOCK.search(readme)
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
    """Put the numbers into README.md, and draw its picture."""
    text = replaced(README.read_text("utf-8"), "numbers", numbers(PERFORMANCE.read_text("utf-8")))
    README.write_text(text, "utf-8")
    PICTURE.write_text(drawn(text), "utf-8")


if __name__ == "__main__":
    main()
