"""``bpe-interop inspect``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from ..diff import describe_step
from ..model import (
    BPEModel,
    TemplatePart,
    TemplateText,
    show,
)
from ..sources import Loaded, load_source
from .facts import FAITHFUL_CLASSES, facts_of
from .options import format_option, json_option, offline_option, preset_option
from .screen import as_json, lines


@click.command("inspect")
@click.argument("source", metavar="SRC")
@format_option
@preset_option
@offline_option
@json_option
def inspect_command(
    source: str, format: str | None, preset: str | None, offline: bool, json_output: bool
) -> None:
    """Show what SRC holds, what it leaves unsaid, and what is peculiar about it."""
    loaded = load_source(source, format=format, preset=preset, offline=offline)
    facts = facts_of(loaded)
    if json_output:
        as_json(facts)
        return
    for label, text in _rows(loaded, facts):
        lines(label, [text])


def _rows(loaded: Loaded, facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    model = loaded.model
    yield "format", f"{loaded.format.title} ({loaded.format.name})"
    for name, digest in facts["files"].items():
        yield "file", f"{name}  sha256 {digest}"
    if facts["not_read"]:
        yield "not read", f"{', '.join(facts['not_read'])}; {next(iter(facts['files']))} wins"
    yield from _vocabulary(facts)
    for step in _steps(model.normalizer):
        yield "normalize", step
    for step in _steps(model.pretokenizer):
        yield "split", step
    for said in _added(model):
        yield "added", said
    yield "template", _template(model)
    for step in _steps(model.decoder):
        yield "decode", step
    if model.chat_template is not None:
        yield "chat", f"a chat template of {len(model.chat_template):,} characters"
    for key, value in model.extras.items():
        inner = ", ".join(value) if isinstance(value, dict) else show(str(value))
        yield "extras", f"{key}: {inner}"
    if facts["unsaid"]:
        yield "unsaid", ", ".join(facts["unsaid"])
    if facts["presets"]:
        yield "presets", f"{', '.join(facts['presets'])} (name one with --preset)"
    engines = ", ".join(f"{name} {number}" for name, number in facts["unicode"]["engines"].items())
    yield "unicode", f"{facts['unicode']['version']}, as in {engines}"
    for note in _notes(loaded, facts):
        yield "note", note


def _vocabulary(facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    ids, merges, lost = facts["ids"], facts["merges"], facts["unreachable"]
    yield (
        "tokens",
        f"{facts['tokens']:,}; ids {ids['smallest']} to {ids['largest']}, added included",
    )
    count = ids["holes"]
    many = f"{count:,} ids have no token" if count > 1 else "one id has no token"
    yield "holes", f"{many}, the first is {ids['first_hole']}" if count else "none"
    order = "" if merges["in_order"] else "; some tokens merge before their own parts"
    rule = "by rank" if merges["rule"] == "ranks" else f"{merges['listed']:,} listed"
    yield "merges", f"{rule}; {merges['firing']:,} can ever be used{order}"
    shown = ", ".join(_token(each) for each in lost["tokens"][:5])
    how = "found only as whole pretokens" if lost["whole"] else "never produced"
    yield (
        "unreachable",
        f"{lost['count']:,} tokens that no merge builds, {how}: {shown}"
        if shown
        else "none: merging builds every token",
    )
    missing = facts["missing_bytes"]
    listed = " ".join(f"{byte:02X}" for byte in missing[:16]) + (" ..." if missing[16:] else "")
    yield (
        "bytes",
        f"{len(missing)} bytes of UTF-8 have no token ({listed}); then: {facts['missing']}"
        if missing
        else "every byte of UTF-8 has a token",
    )


def _token(each: dict[str, Any]) -> str:
    return f"{show(bytes.fromhex(each['hex']))} {each['id']}"


def _steps(steps: tuple[object, ...] | None) -> list[str]:
    if steps is None:
        return ["not stated"]
    return [describe_step(step) for step in steps] or ["none"]


def _added(model: BPEModel) -> list[str]:
    if model.added is None:
        return ["not stated"]
    said = []
    for name, special in (("special", True), ("not special", False)):
        tokens = [token for token in model.added if token.special is special]
        if tokens:
            shown = ", ".join(f"{show(t.text)} {t.id}" for t in tokens[:4])
            said.append(f"{len(tokens):,} {name}: {shown}{', ...' if tokens[4:] else ''}")
    roles = [f"{role} is {show(t.text)}" for t in model.added for role in t.roles]
    return [*said, *([", ".join(roles)] if roles else [])] or ["none"]


def _template(model: BPEModel) -> str:
    template = model.sequence_template
    if template is None:
        return "not stated"
    return " + ".join(map(_part, template.single)) or "none"


def _part(part: TemplatePart) -> str:
    return f"text {part.which}" if isinstance(part, TemplateText) else show(part.name)


def _notes(loaded: Loaded, facts: dict[str, Any]) -> Iterator[str]:
    yield from facts["notes"]
    named = facts["served_as"]
    if named and named not in FAITHFUL_CLASSES:
        yield (
            f"tokenizer_config.json names {show(named)}: transformers may rebuild that class and "
            "give other ids than tokenizer.json; to see: bpe-interop verify "
            f"{loaded.label} {loaded.label} --engine-b transformers"
        )
