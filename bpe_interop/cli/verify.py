"""``bpe-interop verify``."""

from __future__ import annotations

import sys
from dataclasses import asdict

import click

from ..engines import NAMES
from ..verify import SCOPES, Mismatch, Report, Scope, verify
from .options import json_option, offline_option
from .screen import as_json, counting, lines, show_text

_ENGINES = click.Choice(NAMES)
_CODES = {"proved": 0, "tested": 0, "refuted": 1, "unknown": 2}


@click.command("verify")
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option(
    "--scope",
    type=click.Choice(list(SCOPES)),
    default="all",
    show_default=True,
    help="What counts: all; ordinary (special strings are text); text (no added token matches).",
)
@click.option(
    "--require",
    type=click.Choice(["proved", "tested"]),
    default="tested",
    show_default=True,
    help="With proved, what is only tested ends with exit code 2.",
)
@click.option("--preset-a", metavar="NAME", help="Says what A leaves unsaid.")
@click.option("--preset-b", metavar="NAME", help="Says what B leaves unsaid.")
@click.option("--engine-a", type=_ENGINES, help="Run A in this engine instead of ours.")
@click.option("--engine-b", type=_ENGINES, help="Run B in this engine instead of ours.")
@click.option(
    "--corpus",
    "corpora",
    multiple=True,
    metavar="FILE",
    help="Compare on these texts as well: a file, a directory, a glob, FILE.jsonl:FIELD; plain "
    "text, JSONL or Parquet, gzip or zstd. May be repeated.",
)
@offline_option
@json_option
def verify_command(
    a: str,
    b: str,
    scope: Scope,
    require: str,
    preset_a: str | None,
    preset_b: str | None,
    engine_a: str | None,
    engine_b: str | None,
    corpora: tuple[str, ...],
    offline: bool,
    json_output: bool,
) -> None:
    """Compare tokenizers A and B on awkward texts and on corpora.

    Is what you serve what you ship? verify DIR DIR --engine-b transformers runs the directory as
    AutoTokenizer does and compares with what its files say.

    Exit code 0: the same on everything that was run. 1: different. 2: could not tell.
    """
    with counting("comparing") as tick:
        report = verify(
            a,
            b,
            scope=scope,
            engine_a=engine_a,
            engine_b=engine_b,
            preset_a=preset_a,
            preset_b=preset_b,
            corpora=corpora,
            offline=offline,
            tick=tick,
        )
    if json_output:
        as_json(asdict(report))
    else:
        _show(report)
    enough = report.verdict != "tested" or require == "tested"
    sys.exit(_CODES[report.verdict] if enough else _CODES["unknown"])


def _show(report: Report) -> None:
    scope = SCOPES[report.scope]
    if report.mismatch is not None:
        _show_mismatch(report, report.mismatch)
    elif report.verdict == "proved":
        lines("PROVED", [f"equal for {scope}"])
    elif report.verdict == "tested":
        lines(
            "TESTED",
            [
                f"equal on {report.compared:,} texts ({report.bytes:,} bytes); not proved",
                f"for {scope}",
            ],
        )
    else:
        lines("UNKNOWN", [f"no side answered any of {report.texts:,} texts that the other did"])
    for stage in report.stages:
        shown = "" if stage.witness is None else f"; a text: {show_text(stage.witness)}"
        lines("stage", [f"{stage.name:<18} {_OUTCOMES[stage.outcome]:<10} {stage.why}{shown}"])
    lines(
        "ran", [f"{report.compared:,} texts ({report.bytes:,} bytes): {', '.join(report.scopes)}"]
    )
    lines("a", [f"{report.a} ({report.engine_a})"])
    lines("b", [f"{report.b} ({report.engine_b})"])
    lines("assumed", list(report.assumptions))
    lines("field", [f"{d.field} ({d.kind}): {d.how}" for d in report.differences])
    lines("note", list(report.notes))
    failed = [f"{f.side} on {show_text(f.text[:60])}: {f.what}" for f in report.failures]
    more = [f"... {len(failed) - 5:,} times more"] if len(failed) > 5 else []
    lines("failed", failed[:5] + more)


_OUTCOMES = {"proved": "proved", "refuted": "DIFFERENT", "unknown": "not proved"}


def _show_mismatch(report: Report, found: Mismatch) -> None:
    at = f" at stage: {report.stage}" if report.stage else ""
    click.echo(f"DIFFERENT{at}; a text: {show_text(found.text)} ({found.mode.scope})")
    if found.decoding:
        lines("ids", [" ".join(map(str, found.ids_a))])
        said = tuple(map(show_text, found.decoding))
    else:
        said = tuple(" ".join(map(str, ids)) or "no ids" for ids in (found.ids_a, found.ids_b))
    lines("a gives", [said[0]])
    lines("b gives", [said[1]])
    lines("replayed", [f"in {', '.join(report.replayed)}"] if report.replayed else [])
    lines("texts", [f"{report.differing:,} of {report.compared:,} differ"])
