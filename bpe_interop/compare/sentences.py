"""Every sentence about a report, and the lines that the screen, a test and ``str`` show of it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..engines import versions
from ..engines.rows import engine_row
from ..proof.prove import STAGES, about
from ..proof.stage import Scope, Stage, counts
from ..quoting import escaped, show
from ..text.visible import LabelledLine, columns_of, fitted, folded, many, short_text, show_text
from .alignment import as_rows
from .corpus_report import CorpusReport, Counts, Source
from .sides import AROUND, ORDINARY, PARSED, TEMPLATED, Mismatch

if TYPE_CHECKING:
    from ..diff import Difference
    from .report import Check, Example, Report

OUTCOMES: Mapping[str, str] = {
    "proved": "proved",
    "different": "different",
    "unknown": "not proved",
}
"""What is said of a stage; of two sides as a whole it is the verdict that is said."""


def subject(report: Report) -> str:
    """What a verdict is about: the scope, and what of it was not compared.

    A proof is about the whole scope; a run is about what both sides were asked.
    """
    whole = about(report.scope, report.stages)
    if report.scope != "all" or report.verdict == "proved":
        return whole
    asked = {*report.scopes}
    if asked.isdisjoint({PARSED.scope, TEMPLATED.scope}):
        if AROUND.scope in asked and whole == about("all", ()):
            return "every text, the sequence template included; special tokens are not compared"
        return "every text; special tokens and the sequence template are not compared"
    if asked.isdisjoint({AROUND.scope, TEMPLATED.scope}) and whole == about("all", ()):
        return "every text, special tokens included; the sequence template is not compared"
    return whole


def texts_differ(report: Report) -> str:
    """On how many of the texts that were run the sides differ; on none where a proof found one.

    The texts of a corpus are counted apart: how many of the awkward ones differ is no rate.
    """
    counts = Counts() if report.corpus is None else report.corpus.counts
    kind = "given" if report.given else "awkward"
    ran = [(report.differing - counts.differing, report.compared - counts.compared, f"{kind} text")]
    if report.corpus is not None:
        ran.append((counts.differing, counts.compared, "document"))
    if not report.differing:
        whole = " and ".join(many(compared, what) for _, compared, what in ran)
        return f"no text that was run differs (of {whole}); a proof found the one that does"
    by_mode = [
        f"{_ASKED[scope]} {differing:,}"
        for scope, differing in report.differing_in.items()
        if len({*report.differing_in.values()}) > 1
    ]
    ways = [f" ({', '.join(by_mode)})" if by_mode else "", ""]
    return " and ".join(
        f"{differing:,} of {many(compared, what)} {'differs' if differing == 1 else 'differ'}{way}"
        for (differing, compared, what), way in zip(ran, ways, strict=False)
    )


_ASKED = {
    ORDINARY.scope: "as text",
    PARSED.scope: "parsed",
    AROUND.scope: "template applied",
    TEMPLATED.scope: "template applied",
}
"""How special tokens are asked for, in a word or two."""


def found_in(example: Example) -> str:
    """Where in a corpus a text was found; empty where it is of none."""
    source = example.source
    if source is None:
        return ""
    made = "" if source.holds(example.mismatch.text) else f"; {MADE}"
    where = f"found in {source.file} at line {source.line:,}, byte {source.offset:,}"
    if made and source.after:
        # The bar is where the ids begin to differ.
        where += f": {show(source.before) if source.before else ''} | {show(source.after)}"
    return f"{where}{made}"


MADE = "the text was made from what stands there, with fewer and other characters"
"""What is said of a text that is not the document in which it was found."""


def unmet(report: Report, require: str = "tested", *, metadata: bool = False) -> tuple[str, ...]:
    """Why a verdict that is not "different" is not accepted, though it may be a good one.

    Args:
        report: what was found.
        require: what is required: ``"tested"`` or ``"proved"``.
        metadata: whether the metadata must be the same.
    """
    if report.verdict == "different":
        return ()
    other = [f"{each}; --metadata asks for the same" for each in other_metadata(report)]
    proof = report.verdict == "tested" and require == "proved"
    return (*(other if metadata else ()), *(["--require proved asks for a proof"] if proof else ()))


def but_not_accepted(report: Report, reasons: Sequence[str]) -> str:
    """What stands behind a verdict that is not accepted; nothing where there are no reasons."""
    joined = "and" if report.verdict == "unknown" else "but"
    return f"; {joined} not accepted" if reasons else ""


def other_metadata(report: Report) -> tuple[str, ...]:
    return tuple(f"{each.field}: {each.how}" for each in report.metadata)


def omitted(report: Report) -> str:
    """Who does not state special tokens that count; empty where all do."""
    if not report.unstated:
        return ""
    return f"special tokens are not stated by {' and '.join(report.unstated)}, so not compared"


def reason(stage: Stage, scope: Scope) -> str:
    """What is known of a stage, as a line on a screen; it says where the stage does not count."""
    return stage.why if counts(stage.name, scope) else f"outside the scope: {stage.why}"


def word(stage: Stage, scope: Scope) -> str:
    outside = "" if counts(stage.name, scope) else ", outside the scope"
    return f"{OUTCOMES[stage.outcome]}{outside}"


def remarks(report: Report) -> tuple[str, ...]:
    """All that there is to say besides, why it is not called proved first."""
    served = filter(None, [served_otherwise(report)])
    return (*(f"not called proved: {each}" for each in report.against), *served, *report.notes)


def next_steps(report: Report) -> tuple[list[str], list[str]]:
    """What to do about a difference: the repairs that are known, and commands that show its cause.

    The commands are for the sides that are sources, with the text that shows the difference.
    """
    if report.verdict != "different":
        return [], []
    known = [each for each in remarks(report) if "bpe-interop " in each]
    text = "" if report.mismatch is None else report.mismatch.text
    if not 0 < len(text) <= _TYPED or "\0" in text or any(0xD800 <= ord(c) < 0xE000 for c in text):
        return known, []
    sides = dict.fromkeys((report.a, report.b))
    named = (each for each in sides if each.startswith(_NAMED) or Path(each).exists())
    return known, [
        f"bpe-interop encode {shlex.quote(side)} {_typed(text)} --explain"
        for side in named
        if not side.endswith(".lock")
    ]


_TYPED = 200
"""Characters of the longest text that a command shows."""

_NAMED = ("tiktoken:", "hf:", "git:")


def _typed(text: str) -> str:
    """A text as an argument of a shell's command; bash and zsh take what cannot be typed."""
    # What a page would escape is escaped here, as a shell reads it.
    if escaped(text) == text:
        return shlex.quote(text)
    escapes = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t"}
    letters = (
        escapes.get(char, char if escaped(char) == char else f"\\U{ord(char):08x}") for char in text
    )
    return f"$'{''.join(letters)}'"


def why_not_proved(report: Report) -> str:
    """What keeps a verdict from being a proof; empty where it is one."""
    if report.verdict == "proved":
        return ""
    if report.verdict == "different":
        return f"stage {report.stage}"
    left = (s for s in report.stages if counts(s.name, report.scope) and s.outcome != "proved")
    first = [f"stage {stage.name} ({stage.why})" for stage in left][:1]
    return "; ".join(report.against or first)


def summary(report: Report) -> str:
    if not report.dropped:
        return _summary(report)
    return (
        f"This is not the same tokenizer: {_fields_dropped(report)}. Of all else: "
        f"{_summary(report)}"
    )


def _fields_dropped(report: Report) -> str:
    changed = "" if report.changed is None else f", which changes {show(report.changed)}"
    return f"{', '.join(report.dropped)} dropped{changed}"


def _summary(report: Report) -> str:
    if report.verdict == "proved":
        return f"Both give the same ids for {subject(report)}."
    ran = many(report.compared, "text")
    ran += f" ({report.bytes:,} bytes)"
    if report.verdict == "tested":
        why = "".join(f" Not called proved: {each}." for each in report.against)
        return f"Both gave the same ids for each of {ran}; that is not every text.{why}"
    if report.verdict == "unknown" and report.compared:
        why = omitted(report)
        but = f"; but {why}" if why else "; that is not enough to tell"
        return f"Both gave the same ids for each of {ran}{but}."
    if report.verdict == "unknown" and not report.texts:
        return "Nothing was run."
    if report.verdict == "unknown":
        return f"None of {report.texts:,} texts was answered by both."
    at = f"The first stage that differs is: {report.stage}. " if report.stage else ""
    but = f" But they are {report.narrower}." if report.narrower else ""
    differ = texts_differ(report)
    return f"{at}{differ[:1].upper()}{differ[1:]}.{but}"


def written(report: Report, to: str = "", *, has_source: bool = True) -> str:
    """The verdict on what was written, as a line on a screen.

    Args:
        report: what is known of it.
        to: what it equals, where that is not the source as it is.
        has_source: it was made of a source, which could have said another template.
    """
    also = [
        f"; the output tested in {check.engine} {check.version}"
        for check in report.checks
        if check.of == "target" and check.texts and engine_row(check.engine).directories
    ]
    if report.stray_ids:
        also.insert(0, "; ids that no text gives decode otherwise")
    parsed = {PARSED.scope, TEMPLATED.scope}.intersection(report.scopes)
    if report.scope == "ordinary" and parsed and report.verdict == "proved":
        also.insert(0, f"; with special tokens parsed, tested on {report.texts:,} texts")
    served = report.source_served
    if served is not None and not served.saved:
        also.append(f"; {served.engine} gives other ids with the source (see: differs)")
    return _written(report, to, has_source) + "".join(also)


def served_otherwise(report: Report) -> str:
    """That a library serves the source of a conversion otherwise; empty where it does not."""
    found = report.source_served
    if found is None:
        return ""
    mismatch = found.mismatch
    library = f"{found.engine} {found.version}"
    runs = {check.engine for check in report.checks if check.of == "source" and check.texts}
    reads = next((f"as {engine} reads" for engine in runs - {found.engine}), "by")
    told = (
        f"{library} gives other ids with the source folder, for {found.differing:,} of "
        f"{many(found.texts, 'text')}, such as {short_text(mismatch.text)} "
        f"({mismatch.mode.scope}): {_ids(mismatch.ids_b)}, and {_ids(mismatch.ids_a)} {reads} its "
        "files; "
    )
    if found.saved:
        return told + (
            f"{found.engine} wrote that folder, so its tokenizer.json, and {report.b}, have the "
            f"ids of what it was saved from: serve {report.b}, for the class that "
            f"tokenizer_config.json names in {report.a} makes other ids of it"
        )
    return told + f"a model that was trained with {found.engine} needs the ids that it gives"


def ways_as_served(report: Report, words: Sequence[str] = ()) -> Iterator[LabelledLine]:
    """What to do where a library serves the source otherwise, and a model was trained with it.

    ``words``: the command that was given.
    """
    found = report.source_served
    if found is None or not found.command:
        return
    yield LabelledLine("to have it", found.command)
    if not found.before:
        return
    name = name_as_served(report.a)
    again = f"the same of {name}, with --force"
    if report.a in words[1:]:  # a folder may be called as the command is
        place = words.index(report.a, 1)
        others = [word for word in words[place + 1 :] if word != "--force"]
        again = shlex.join(["bpe-interop", *words[:place], name, *others, "--force"])
    yield LabelledLine("then", again)


def name_as_served(folder: str) -> str:
    """What :func:`written_as_served` calls the folder that it writes, if nothing else is said."""
    return f"{Path(folder).resolve().name}-served"


def written_as_served(folder: str, output: str = "", to: str = "hf") -> str:
    """A command that writes what transformers serves of a folder.

    What it saves is converted, because it may be served otherwise than what it was saved from; and
    compared, because it may be saved otherwise than it is served. ``output`` is replaced.
    """
    name = Path(folder).resolve().name
    # What an earlier one of these commands wrote is replaced too.
    force = ["--force"] if output or Path(name_as_served(folder)).exists() else []
    output = output or name_as_served(folder)
    quoted, saved = json.dumps(folder), json.dumps(f"{name}-saved")  # as a shell needs no escape
    code = (
        f"from transformers import AutoTokenizer; AutoTokenizer.from_pretrained({quoted})."
        f"save_pretrained({saved})"
    )
    commands = [
        ["python", "-c", code],
        ["bpe-interop", "convert", f"{name}-saved", output, "--to", to, *force],
        ["bpe-interop", "verify", output, folder, "--engine-b", "transformers"],
    ]
    return " && ".join(map(shlex.join, commands))


def _written(report: Report, to: str, has_source: bool) -> str:
    but = f"not the same tokenizer: {_fields_dropped(report)}; all else " if report.dropped else ""
    if report.verdict == "proved":
        text = about(report.scope, report.stages)
        said = {"sequence_template": "template", "normalizer": "normalizer"}
        given = [name for field, name in said.items() if field in report.by_user]
        if given:
            one = "is the one that was" if len(given) == 1 else "are those that were"
            text += f"; the {' and the '.join(given)} {one} given"
            text += ", not the source's" * has_source
        return f"{but}PROVED equal {to}for {text} ({', '.join(engines(report))})"
    if report.mismatch is not None:
        text = show(report.mismatch.text)
        return f"DIFFERENT by more than what was dropped, {why_not_proved(report)}; a text: {text}"
    if report.verdict == "tested":
        why = why_not_proved(report)
        return f"{but}TESTED equal {to}on {report.texts:,} texts; not proved: {why}"
    return f"NONE: {why_not_proved(report)}"


def engines(report: Report) -> tuple[str, ...]:
    """The engines of both formats of a conversion, which its proof is about, with versions.

    One that is there and was given nothing to run is not among them.
    """
    installed = versions()
    names = {
        each.engine
        for each in report.checks
        if engine_row(each.engine).examined and not (each.skipped and installed[each.engine])
    }
    return tuple(f"{name} {installed[name] or 'not installed'}" for name in sorted(names))


def accepted(report: Report, require: str) -> bool:
    """Whether a verdict of equality is as strong as what is required, on all that was asked for."""
    if report.interrupted:
        return False
    return report.verdict == "proved" or (report.verdict == "tested" and require != "proved")


def differences(report: Report) -> list[tuple[Difference, str]]:
    """The fields in which the models differ, and of each whether it matters; empty: not known."""
    told = report.matters if len(report.matters) == len(report.differences) else ()
    return list(zip(report.differences, told or [""] * len(report.differences), strict=True))


class Trouble(NamedTuple):
    """A text on which a side failed, wherever it was found."""

    side: str
    text: str
    how: str
    what: str
    found_in: str = ""


def failed(report: Report) -> int:
    """On how many texts a side failed, those of corpora included."""
    counted = Counts() if report.corpus is None else report.corpus.counts
    return len(report.failures) + counted.failed_a + counted.failed_b


def troubles(report: Report) -> list[Trouble]:
    """The texts on which a side failed that a report has kept, those of corpora last."""
    failures = [Trouble(each.side, each.text, each.how, each.what) for each in report.failures]
    for each in report.corpus.failures if report.corpus is not None else ():
        side = each.side.upper()
        failures.append(Trouble(side, each.text, each.how, each.what, place(each.source)))
    return failures


def place(source: Source | None) -> str:
    if source is None:
        return ""
    return f"{source.file}, line {source.line:,}, byte {source.offset:,}"


def file_outcome(counted: Counts) -> str:
    """``different``, ``failed``, ``not compared`` or ``equal``, of a file in a corpus."""
    if counted.differing:
        return "different"
    if counted.failed_a or counted.failed_b:
        return "failed"
    return "equal" if counted.compared else "not compared"


# What is shown of a report, line by line.

_ROWS = 12
_WIDEST = 48
"""Columns of the widest cell of a table."""
_HOW = 240
"""Characters of what says how a field differs; two patterns may be in it."""
_GIVEN = 200
"""Characters of a text of the caller's."""
_IDS = 24
_FILES = 6
_EXAMPLES_IN_LINES = 3
"""How many differing texts are named after the first one; JSON has all that are kept."""
_FAILURES = 5


def report_lines(
    report: Report, reasons: Sequence[str] = (), *, full: bool = False
) -> Iterator[LabelledLine]:
    """The verdict and the text that shows it, the stages, what was run.

    Args:
        report: what was found.
        reasons: why it is not accepted, whatever the verdict is.
        full: show long patterns whole; without it they have no middle.
    """
    accepted = but_not_accepted(report, reasons)
    if report.mismatch is not None:
        yield from mismatch_lines(report, report.mismatch)
    else:
        yield LabelledLine(report.verdict.upper(), f"{_without_mismatch(report)}{accepted}")
    for each in report.against:
        yield LabelledLine("not proved", each)
    for each in reasons:
        yield LabelledLine("because", each)
    # A gate that is asked about ids only must not be taken for one of all that is locked.
    if report.verdict in ("proved", "tested") and not reasons and _of_a_lock(report):
        yield from (
            LabelledLine("but", f"{each}; with --metadata this is not accepted")
            for each in other_metadata(report)
        )
    if report.verdict == "tested" or (report.verdict == "unknown" and report.compared > 0):
        yield LabelledLine("scope", subject(report))
    for stage in report.stages:
        outcome = OUTCOMES[stage.outcome]
        outcome = outcome.upper() if stage.outcome == "different" else outcome
        yield LabelledLine("stage", f"{stage.name:<18} {outcome:<10} {_why(stage, report)}")
    size = f"{many(report.compared, 'text')} ({many(report.bytes, 'byte')})"
    size += f": {'; '.join(report.scopes)}"
    yield LabelledLine("ran", size if report.compared else "no text")
    if report.corpus is not None:
        for line in corpus_lines(report.corpus):
            yield LabelledLine("corpus", line)
    yield LabelledLine("a", f"{report.a} ({report.engine_a})")
    yield LabelledLine("b", f"{report.b} ({report.engine_b})")
    for each in report.assumptions:
        yield LabelledLine("assumed", each)
    for difference, matter in differences(report):
        how = difference.whole or difference.how if full else folded(difference.how, _HOW)
        told = "; ".join(filter(None, (matter, how)))
        yield LabelledLine("field", f"{difference.field:<18} {told}")
    for note in report.notes:
        yield LabelledLine("note", note)
    yield from _failure_lines(report)


def _of_a_lock(report: Report) -> bool:
    return any(side.endswith(".lock") for side in (report.a, report.b))


def check_lines(check: Check) -> Iterator[LabelledLine]:
    """What was compared with what, or why nothing was."""
    if check.skipped:
        yield LabelledLine("not checked", f"{check.of} in {check.engine}: {check.skipped}")
        return
    same = f"same ids in {check.engine} {check.version} on {check.texts:,} texts"
    yield LabelledLine(
        "checked", f"{check.of}: {same} ({check.bytes:,} bytes): {'; '.join(check.scopes)}"
    )
    if check.failures:
        yield LabelledLine("not checked", f"{check.failures:,} of these texts: {check.failed}")


def _without_mismatch(report: Report) -> str:
    """What stands behind a verdict that no text shows."""
    if report.verdict == "proved":
        return f"equal for {subject(report)}"
    if not report.compared:
        return f"no side answered any of {report.texts:,} texts that the other did"
    some = "" if report.compared == report.texts else f" of {report.texts:,}"
    texts = f"{report.compared:,}{some} texts" if some else many(report.compared, "text")
    parts = [f"equal on {texts} ({many(report.bytes, 'byte')})"]
    if report.verdict == "tested":
        parts += ["interrupted before all were compared"] if report.interrupted else []
        return "; ".join([*parts, "not proved"])
    corpus = report.corpus
    failed = 0 if corpus is None else max(corpus.counts.failed_a, corpus.counts.failed_b)
    parts += [f"a side failed on {failed:,} of the corpora's documents"] if failed else []
    return "; ".join(filter(None, [*parts, omitted(report), "not enough to tell"]))


def mismatch_lines(report: Report, mismatch: Mismatch) -> Iterator[LabelledLine]:
    """The text that shows a difference, and what both sides make of it."""
    at = f" at stage: {report.stage}" if report.stage else ""
    what = "the ids of a text" if mismatch.decoding else "a text"
    asked = mismatch.mode.scope
    given = report.whole if report.given else None
    if report.given and given is None:
        asked += "; none of yours: a proof gave it"
    elif given is not None and given != mismatch.text:
        asked += "; made small from yours"
    yield LabelledLine(None, f"DIFFERENT{at}; {what}: {short_text(mismatch.text)} ({asked})")
    if given is not None and given != mismatch.text:
        yield LabelledLine("yours", show(given[:_GIVEN]) + (" ..." if len(given) > _GIVEN else ""))
    also = [
        stage.name
        for stage in report.stages
        if stage.outcome == "different"
        and stage.name != report.stage
        and counts(stage.name, report.scope)
    ]
    causes: dict[str, str] = {}  # each field once, at the first of its stages
    for each in report.differences:
        at_first = next((name for name in also if name in STAGES.get(each.field, ())), "")
        causes.setdefault(at_first, folded(each.how, _HOW))
    for name in also:
        yield LabelledLine("also at", f"{name}: {causes[name]}" if name in causes else name)
    if report.narrower:
        yield LabelledLine("but", report.narrower)
    if mismatch.decoding:
        yield LabelledLine("ids", _ids(mismatch.ids_a))
        answers = [short_text(text) for text in mismatch.decoding]
    else:
        answers = [_ids(mismatch.ids_a), _ids(mismatch.ids_b)]
    for side, answer in zip("ab", answers, strict=True):
        yield LabelledLine(f"{side} gives", answer)
    for first in report.examples[:1]:
        yield from _aligned_lines(first)
        if place := found_in(first).removeprefix("found in "):
            yield LabelledLine("found in", place)
    if report.replayed:
        yield LabelledLine("replayed", f"in {', '.join(report.replayed)}")
    yield LabelledLine("texts", texts_differ(report))
    others = report.examples[1:]
    for other in others[:_EXAMPLES_IN_LINES]:
        where = found_in(other)
        text = f"{short_text(other.mismatch.text)} ({other.mismatch.mode.scope})"
        yield LabelledLine("another", f"{text}; {where}" if where else text)
    if len(others) > _EXAMPLES_IN_LINES:
        yield LabelledLine("another", f"... {len(others) - _EXAMPLES_IN_LINES:,} more in --json")


def _why(stage: Stage, report: Report) -> str:
    """What is known of a stage, and the text that shows it, where that is not named yet."""
    why = reason(stage, report.scope)
    if stage.witness is None or show_text(stage.witness) in why:
        return why
    what = "a text with this id" if stage.name == "decoding" else "a text"
    return f"{why}; {what}: {show_text(stage.witness)}"


def _ids(ids: tuple[int, ...]) -> str:
    more = f" ... ({len(ids):,} ids)" if len(ids) > _IDS else ""
    return f"{' '.join(map(str, ids[:_IDS])) or 'no ids'}{more}"


def _aligned_lines(example: Example) -> Iterator[LabelledLine]:
    """Both sides' tokens beside each other, in columns; rows that differ are marked."""
    rows = as_rows(example.mismatch.text, example.spans)
    if all(equal for equal, *_ in rows):  # what the ids decode to differs
        return
    cut = rows[:_ROWS]
    cells: list[tuple[str, ...]] = [("text", "a", "b"), *((text, a, b) for _, text, a, b in cut)]
    if not any(text for _, text, *_ in cut):  # which part of the text it is, is not known
        cells = [row[1:] for row in cells]
    widths = [min(_WIDEST, max(map(columns_of, column))) for column in zip(*cells, strict=True)]
    differs = [False, *(not equal for equal, *_ in cut)]
    for place, (marked, row) in enumerate(zip(differs, cells, strict=True)):
        line = "  ".join(map(fitted, row, widths)).rstrip()
        label = "" if place else "aligned"
        yield LabelledLine(label, f"{'> ' if marked else '  '}{line}", row=True, marked=marked)
    if len(rows) > _ROWS:
        yield LabelledLine("", f"  ... {len(rows) - _ROWS:,} rows more", row=True)


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


def _eventless(counted: Counts) -> bool:
    return not (counted.differing or counted.failed_a or counted.failed_b)


def _events(files: Sequence[Counts]) -> str:
    """In how many files something was found, of those that are not shown."""
    differing = sum(bool(counted.differing) for counted in files)
    failing = sum(bool(counted.failed_a or counted.failed_b) for counted in files)
    told = [f"{many(differing, 'differs', 'differ')}"] if differing else []
    told += [f"a side failed in {failing:,}"] if failing else []
    return f", of which {' and '.join(told)}" if told else ""


def _counted(counted: Counts) -> str:
    parts = [
        f"{many(counted.documents, 'document')} ({many(counted.bytes, 'byte')})",
        many(counted.differing, "differs", "differ"),
    ]
    if counted.tokens_a != counted.tokens_b and not (counted.failed_a or counted.failed_b):
        parts.append(f"{counted.tokens_a:,} and {counted.tokens_b:,} tokens")
    for number, what in (
        (counted.failed_a, "failed in a"),
        (counted.failed_b, "failed in b"),
        (counted.left_out, "left out (outside the scope)"),
        (counted.replaced, "not UTF-8, read with U+FFFD"),
    ):
        parts += [f"{number:,} {what}"] if number else []
    return ", ".join(parts)


def _failure_lines(report: Report) -> Iterator[LabelledLine]:
    """The first failures: the side, the text, where it stands, and what happened."""
    found = () if report.corpus is None else report.corpus.failures
    sentences = [
        *(
            f"{f.side} {f.how} on {short_text(f.text)} ({f.source.file}:{f.source.line}): {f.what}"
            for f in found
        ),
        *(f"{f.side} {f.how} on {short_text(f.text)}: {f.what}" for f in report.failures),
    ]
    # A text may fail in more than one way of asking.
    told = list(dict.fromkeys(sentences))[:_FAILURES]
    for sentence in told:
        yield LabelledLine("failed", sentence)
    if failed(report) > len(told):
        yield LabelledLine("failed", f"... {failed(report) - len(told):,} times more")
