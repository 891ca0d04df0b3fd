"""What a verification found, as lines on a screen."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size

from ..compare import Example, Mismatch, Report, Stage
from ..compare.alignment import as_rows
from ..compare.corpus_report import CorpusReport, Counts, Source
from ..compare.words import but_not_accepted, found_in, omitted, reason, subject, texts_differ
from ..text.visible import many
from .screen import LABEL, folded, lines, short_text, show_text
from .terminal import say, say_line

_OUTCOMES = {"proved": "proved", "refuted": "DIFFERENT", "unknown": "not proved"}
_ROWS = 12
_HOW = 240
"""Characters of what says how a field differs; two patterns may be in it."""
_WIDEST = 48
"""Columns of the widest cell of a table."""
_IDS = 24
_FILES = 6
_MORE = 3
"""How many further texts are shown; JSON has all that are kept."""


def show_report(report: Report, *, reasons: Sequence[str] = (), full: bool = False) -> None:
    """Prints a report: the verdict and the text that shows it, the stages, what was run.

    Args:
        report: what was found.
        reasons: why it is not accepted, whatever the verdict is.
        full: show long patterns whole; without it they have no middle.
    """
    _show_verdict(report, but_not_accepted(report, reasons))
    lines("not proved", report.against)
    lines("because", list(reasons))
    lines("scope", [subject(report)] if _names_scope(report) else [])
    for stage in report.stages:
        lines("stage", [f"{stage.name:<18} {_OUTCOMES[stage.outcome]:<10} {_why(stage, report)}"])
    lines(
        "ran", [f"{report.compared:,} texts ({report.bytes:,} bytes): {'; '.join(report.scopes)}"]
    )
    if report.corpus is not None:
        lines("corpus", corpus_lines(report.corpus))
    lines("a", [f"{report.a} ({report.engine_a})"])
    lines("b", [f"{report.b} ({report.engine_b})"])
    lines("assumed", list(report.assumptions))
    for difference, matter in zip(report.differences, report.matters, strict=True):
        how = difference.whole or difference.how if full else folded(difference.how, _HOW)
        lines("field", [f"{difference.field:<18} {matter}; {how}"])
    lines("note", report.notes)
    lines("failed", _failed(report))


def _why(stage: Stage, report: Report) -> str:
    """What is known of a stage, and the text that shows it, where that is not named yet."""
    why = reason(stage, report.scope)
    if stage.witness is None or show_text(stage.witness) in why:
        return why
    return f"{why}; a text: {show_text(stage.witness)}"


def _names_scope(report: Report) -> bool:
    """Whether the scope has a line of its own."""
    return report.verdict == "tested" or (report.verdict == "unknown" and report.compared > 0)


def _show_verdict(report: Report, accepted: str) -> None:
    """The first line, at whose end ``accepted`` says where it is not accepted."""
    if report.mismatch is not None:
        _show_mismatch(report, report.mismatch)
    elif report.verdict == "proved":
        lines("PROVED", [f"equal for {subject(report)}{accepted}"])
    elif report.verdict == "tested":
        some = "" if report.compared == report.texts else f" of {report.texts:,}"
        ended = "interrupted before all were compared; " if report.interrupted else ""
        sentence = f"equal on {report.compared:,}{some} texts ({report.bytes:,} bytes); {ended}"
        lines("TESTED", [f"{sentence}not proved{accepted}"])
    elif report.compared:
        some = "" if report.compared == report.texts else f" of {report.texts:,}"
        sentence = f"equal on {report.compared:,}{some} texts ({report.bytes:,} bytes)"
        corpus = report.corpus
        failed = 0 if corpus is None else max(corpus.counts.failed_a, corpus.counts.failed_b)
        why = f"a side failed on {failed:,} of the corpora's documents; " if failed else ""
        why += f"{unstated}; " if (unstated := omitted(report)) else ""
        why += "not enough to tell"
        lines("UNKNOWN", ["; ".join(filter(None, (sentence, why))) + accepted])
    else:
        none = f"no side answered any of {report.texts:,} texts that the other did"
        lines("UNKNOWN", [f"{none}{accepted}"])


def _show_mismatch(report: Report, mismatch: Mismatch) -> None:
    at = f" at stage: {report.stage}" if report.stage else ""
    what = "the ids of a text" if mismatch.decoding else "a text"
    say(f"DIFFERENT{at}; {what}: {short_text(mismatch.text)} ({mismatch.mode.scope})")
    lines("but", [report.narrower] if report.narrower else [])
    if mismatch.decoding:
        lines("ids", [_ids(mismatch.ids_a)])
        lines("a gives", [short_text(mismatch.decoding[0])])
        lines("b gives", [short_text(mismatch.decoding[1])])
    else:
        lines("a gives", [_ids(mismatch.ids_a)])
        lines("b gives", [_ids(mismatch.ids_b)])
    first, *others = report.examples or [None]
    if first is not None:
        _show_aligned(first)
        place = found_in(first).removeprefix("found in ")
        lines("found in", [place] if place else [])
    lines("replayed", [f"in {', '.join(report.replayed)}"] if report.replayed else [])
    lines("texts", [texts_differ(report)])
    shown = [_example(other) for other in others[:_MORE] if other is not None]
    more = [f"... {len(others) - _MORE:,} more in --json"] if len(others) > _MORE else []
    lines("another", shown + more)


def _ids(ids: tuple[int, ...]) -> str:
    if len(ids) <= _IDS:
        return " ".join(map(str, ids)) or "no ids"
    shown = " ".join(map(str, ids[:_IDS]))
    return f"{shown} ... ({len(ids):,} ids)"


def _show_aligned(example: Example) -> None:
    """Both sides' tokens beside each other; rows that differ are marked."""
    rows = as_rows(example.mismatch.text, example.spans)
    if all(equal for equal, *_ in rows):  # what the ids decode to differs
        return
    cut = rows[:_ROWS]
    cells: list[tuple[str, ...]] = [("text", "a", "b"), *((line, a, b) for _, line, a, b in cut)]
    if not any(line for _, line, *_ in cut):  # which part of the text it is, is not known
        cells = [row[1:] for row in cells]
    widths = [min(_WIDEST, max(map(cell_len, column))) for column in zip(*cells, strict=True)]
    marks = ["  ", *("  " if equal else "> " for equal, *_ in cut)]
    for place, (mark, row) in enumerate(zip(marks, cells, strict=True)):
        line = "  ".join(_padded(cell, width) for cell, width in zip(row, widths, strict=True))
        label = "aligned" if place == 0 else ""
        text = f"{mark}{line.rstrip()}"
        say_line(f"{label:<{LABEL}}{text}", bold=mark == "> ")
    if len(rows) > _ROWS:
        say_line(" " * LABEL + f"  ... {len(rows) - _ROWS:,} rows more")


def _padded(cell: str, width: int) -> str:
    """A cell of just this width; one that is too long is cut."""
    if cell_len(cell) <= width:
        return set_cell_size(cell, width)
    return set_cell_size(cell, width - 3) + "..."


def _example(example: Example) -> str:
    where = found_in(example)
    asked = example.mismatch.mode.scope
    return f"{short_text(example.mismatch.text)} ({asked}){f'; {where}' if where else ''}"


def _place(source: Source) -> str:
    return f"{source.file}:{source.line}"


def corpus_lines(corpus: CorpusReport) -> list[str]:
    """The counts of all files, then of those where something was found, then of some others."""
    names = sorted(corpus.files, key=lambda name: (_eventless(corpus.files[name]), name))
    ended = "; not read to its end" if corpus.interrupted else ""
    if len(names) == 1:
        return [f"{names[0]}: {_counted(corpus.counts)}{ended}"]
    files = [f"  {name}: {_counted(corpus.files[name])}" for name in names[:_FILES]]
    left = [corpus.files[name] for name in names[_FILES:]]
    more = [f"  ... {many(len(left), 'file')} more{_events(left)}"] if left else []
    return [f"{len(names):,} files: {_counted(corpus.counts)}{ended}", *files, *more]


def _eventless(counts: Counts) -> bool:
    return not (counts.differing or counts.failed_a or counts.failed_b)


def _events(files: Sequence[Counts]) -> str:
    """In how many files something was found, of those that are not shown."""
    differing = sum(bool(counts.differing) for counts in files)
    failed = sum(bool(counts.failed_a or counts.failed_b) for counts in files)
    told = [f"{many(differing, 'differs', 'differ')}"] if differing else []
    told += [f"a side failed in {failed:,}"] if failed else []
    return f", of which {' and '.join(told)}" if told else ""


def _counted(counts: Counts) -> str:
    counted = [
        f"{many(counts.documents, 'document')} ({many(counts.bytes, 'byte')})",
        many(counts.differing, "differs", "differ"),
    ]
    for number, what in (
        (counts.failed_a, "failed in a"),
        (counts.failed_b, "failed in b"),
        (counts.left_out, "left out (outside the scope)"),
        (counts.replaced, "not UTF-8, read with U+FFFD"),
    ):
        counted += [f"{number:,} {what}"] if number else []
    return ", ".join(counted)


def _failed(report: Report) -> list[str]:
    """The first failures; each says the side, the text, where it stands, and what happened."""
    sentences = [f"{f.side} {f.how} on {short_text(f.text)}: {f.what}" for f in report.failures]
    count = len(sentences)
    if report.corpus is not None:
        counts = report.corpus.counts
        count += counts.failed_a + counts.failed_b
        sentences[:0] = [
            f"{f.side} {f.how} on {short_text(f.text)} ({_place(f.source)}): {f.what}"
            for f in report.corpus.failures
        ]
    told = list(dict.fromkeys(sentences))[:5]  # a text may fail in more than one way of asking
    return told + ([f"... {count - len(told):,} times more"] if count > len(told) else [])
