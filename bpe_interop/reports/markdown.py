"""A report as GitHub flavoured Markdown, for the summary of a CI job."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from ..compare.alignment import as_rows
from ..compare.corpus_report import Counts
from ..compare.report import Example, Report
from ..compare.sentences import (
    OUTCOMES,
    but_not_accepted,
    differences,
    file_outcome,
    found_in,
    next_steps,
    remarks,
    subject,
    summary,
    troubles,
    unmet,
    word,
)
from ..notebook import HEADLINES
from ..quoting import escaped, show
from ..text.visible import is_ambiguous, many
from .fragments import shortened

if TYPE_CHECKING:
    from jinja2 import Environment

LIMIT = 900_000
"""How many bytes a page has at most: GitHub takes 1 MiB for each step of a job."""
ROWS = 200
"""How many rows a table has at most."""
_TEXT = 200
_IDS = 100

SIGNS = {
    "proved": "✅",
    "tested": "☑️",
    "different": "❌",
    "not proved": "❔",
    "unknown": "❔",
}
_FILES = {"equal": "☑️ equal", "different": "❌ different", "failed": "❌ failed"}


def to_markdown(report: Report, require: str = "tested", metadata: bool = False) -> str:
    """The report as Markdown, of less than 1 MiB; it says which ends of lists are left out.

    Args:
        report: what was found.
        require: ``"proved"``: what is only tested is not accepted, and the head says so.
        metadata: whether other metadata is not accepted.
    """
    page = _templates().get_template("report.md")
    reasons = unmet(report, require, metadata=metadata)
    known, commands = next_steps(report)
    for rows in (ROWS, ROWS // 4, ROWS // 20, 0):
        # All examples that are kept, then six, then one.
        text = page.render(
            report=report,
            accepted=but_not_accepted(report, reasons),
            reasons=reasons,
            sign="different" if reasons else report.verdict,
            scope=subject(report),
            examples=report.examples[: rows // 2 + 1],
            rows=rows,
            files=[] if report.corpus is None else sorted(report.corpus.files.items()),
            differences=differences(report),
            failures=troubles(report),
            notes=[each for each in remarks(report) if each not in known],
            known=known,
            commands=commands,
        )
        if len(text.encode("utf-8")) <= LIMIT:
            return text
    raise AssertionError("all that a page shows is cut to a length")


@cache
def _templates() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        autoescape=False,  # for HTML only; here every value goes through a filter
        loader=PackageLoader("bpe_interop.reports"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    texts = {"plain": plain, "code": code, "shown": shown, "ids": ids}
    numbers = {"number": "{:,}".format, "many": many}
    told = {"found_in": found_in, "summary": summary, "aligned": _aligned, "of_file": _of_file}
    made.filters.update({**texts, **numbers, **told})
    made.globals.update(
        {"HEADLINES": HEADLINES, "SIGNS": SIGNS, "OUTCOMES": OUTCOMES, "word": word}
    )
    return made


_SYNTAX = r"[^\w \-.,:;()/+='\"]|_|(?<=www)\.|:(?=/)|(?<=[:/])/"
"""What may be syntax inside a line: "://" and "www." are links anywhere, in HTML's code too."""


def plain(text: str) -> str:
    """Words on one line that say only themselves: nothing in them is Markdown or HTML.

    A numeric character reference never opens or closes anything (CommonMark 0.31, 2.5).
    """
    # At the start of a line a digit or a dash may begin a list. A colon may begin an emoji, but
    # not before a space; one that only ends it is as good as any.
    return _references(rf"^[^A-Za-z]|:(?! )|{_SYNTAX}", _cut(text, 1_000))


def code(text: str) -> str:
    """The same in the letters of code, where GitHub looks for no names or emoji."""
    # HTML shows one space where there are more.
    spaced = re.sub(" {2,}", lambda spaces: "\\x20" * len(spaces[0]), _cut(text, 1_000))
    return f"<code>{_references(_SYNTAX, spaced)}</code>" if text else ""


def shown(text: str) -> str:
    """A text for people: quoted, with everything unseen escaped, and cut where it is long."""
    start, cut = shortened(text, _TEXT)
    escapes = f" = {code(ascii(start))}" if is_ambiguous(start) else ""
    return code(show(start)) + escapes + (f" ({cut})" if cut else "")


def ids(numbers: Sequence[int]) -> str:
    more = f" and {len(numbers) - _IDS:,} more" if len(numbers) > _IDS else ""
    return code(" ".join(map(str, numbers[:_IDS])) or "no ids") + more


def _cut(text: str, limit: int) -> str:
    start, cut = shortened(escaped(text), limit)
    return f"{start} ({cut})" if cut else start


def _references(pattern: str, text: str) -> str:
    # What is not ASCII is no syntax, and stays as it is.
    return re.sub(pattern, lambda m: f"&#{ord(m[0])};" if m[0].isascii() else m[0], text)


def _aligned(example: Example) -> list[tuple[bool, str, str, str]]:
    # HTML shows one space where there are more; the commas keep tokens apart.
    return as_rows(example.mismatch.text, example.spans, between=", ")


def _of_file(counted: Counts) -> str:
    outcome = file_outcome(counted)
    return _FILES.get(outcome, outcome)
