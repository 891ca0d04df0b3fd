"""``bpe-interop inspect``."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import click

from ..corpora import find_files
from ..diff import describe_step
from ..engines.transformers import tell_served
from ..io.names import spelled
from ..io.reader import TokenizerSource
from ..io.target import keep_apart
from ..io.writer import replace_file
from ..model import (
    AddedToken,
    BPEModel,
    Json,
    TemplateText,
)
from ..presets import telling_apart
from ..quoting import escaped, show
from ..sources import SourceOptions, load_source, readings
from ..statement import Statement
from ..statistics import Measurement, measure
from ..text.visible import folded, many
from ..token_counts import Statistics
from ..tokenizer import Tokenizer
from ..usage_notes import texts_of_ids
from ..view.plot import to_svg
from ..workers import Carried, Workers, carry
from .facts import facts_of
from .interrupts import INTERRUPTED
from .manual import command
from .options import (
    corpus_option,
    ends_in,
    file_names,
    format_option,
    gathers,
    json_option,
    offline_option,
    presets_option,
    scheduler_options,
    statement_options,
    workers_of,
)
from .progress import progress
from .screen import as_json, lines, print_table
from .terminal import say

if TYPE_CHECKING:
    from . import documents

_FOLDED = ("normalize", "split", "decode", "pre")
"""Lines that hold patterns."""


@command(
    "inspect",
    short_help="Show what SRC holds, and what is unusual in it.",
    examples={
        "bpe-interop inspect my-tok": "Show what a tokenizer does and what it does not state",
        "bpe-interop inspect tokenizer.model --template bos": "The same, with what you state",
        "bpe-interop inspect my-tok old-tok --corpus story.txt": "Measure two tokenizers on a text",
    },
)
@click.argument("sources", shell_complete=file_names, metavar="SRC...", nargs=-1, required=True)
@corpus_option("Measure on these texts instead")
@scheduler_options
@click.option(
    "--state",
    shell_complete=file_names,
    metavar="FILE",
    help="Keep here which parts of the corpora were measured, and go on from it.",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path),
    callback=ends_in("a drawing is written, in SVG", ".svg"),
    metavar="OUT.svg",
    help="Draw what was measured, as SVG.",
)
@format_option
@presets_option
@statement_options
@click.option("--full", is_flag=True, help="Show long patterns and lists whole.")
@offline_option
@json_option
@gathers(reading=SourceOptions)
def inspect_command(
    sources: tuple[str, ...],
    corpora: tuple[str, ...],
    scheduler: str | None,
    limit: float,
    state: str | None,
    plot: Path | None,
    reading: SourceOptions,
    presets: tuple[str, ...],
    said: Statement,
    full: bool,
    json_output: bool,
) -> None:
    """Show what SRC holds, what it does not state, and what is unusual in it.

    With --corpus: for each file and each SRC, bytes per token, tokens per word, tokens that are
    never met, and how long tokens are.

    With --template, --bos and the like, which convert takes too: SRC as it will be.
    """
    _check_options(sources, corpora, plot, scheduler or state)
    if corpora and said:
        raise click.UsageError("what SRC leaves unsaid is stated to look at it, without --corpus")
    each = readings(sources, reading, presets)
    loaded = [
        load_source(source, said=said, **how) for source, how in zip(sources, each, strict=True)
    ]
    if corpora:
        measured = [*zip(sources, loaded, strict=True)]
        with workers_of(scheduler) as workers:
            named = [how.get("preset") for how in each]
            show_statistics(measured, corpora, plot, json_output, named, workers, limit, state)
        return
    facts = facts_of(loaded[0])
    if json_output:
        as_json(facts)
        return
    for label, text in _rows(loaded[0], facts, full):
        lines(label, [text if full or label not in _FOLDED else folded(text)])


def _check_options(
    sources: tuple[str, ...], corpora: tuple[str, ...], plot: Path | None, by_parts: str | None
) -> None:
    if corpora:
        return
    if by_parts is not None:
        raise click.UsageError("--scheduler and --state are about corpora: name one with --corpus")
    if len(sources) > 1:
        raise click.UsageError(
            "several sources are measured beside each other on texts: name some with --corpus; or "
            "inspect one, or compare two with bpe-interop verify A B"
        )
    if plot is not None:
        raise click.UsageError("--plot draws what is measured on a --corpus: name one")


_OTHERS = 12
"""How many files that were not read are named."""


def _rows(
    loaded: TokenizerSource[BPEModel], facts: documents.Inspection, full: bool
) -> Iterator[tuple[str, str]]:
    model = loaded.model
    yield "format", f"{loaded.format.title} ({loaded.format.name})"
    for name, digest in facts["files"].items():
        of = "rows, ids of roles" if name.endswith(".json") else "its head, no tensors"
        part = f"  (in part: {of})" if name in facts["in_part"] else ""
        keys = facts["unread_keys"].get(name, ())
        unread = f"  (not read: {', '.join(map(spelled, keys))})" if keys else ""
        yield "file", f"{name}  sha256 {digest}{part}{unread}"
    if facts["not_read"]:
        yield "not read", f"{', '.join(facts['not_read'])}; {next(iter(facts['files']))} was read"
    if facts["others"]:
        shown = facts["others"] if full else facts["others"][:_OTHERS]
        more = len(facts["others"]) - len(shown)
        yield "not read", ", ".join(map(spelled, shown)) + (f" and {more:,} more" if more else "")
    yield from _vocabulary(facts, full)
    for step in _steps(model.normalizer):
        yield "normalize", step
    for step in _steps(model.pretokenizer):
        yield "split", step
    yield from loaded.format.told(model)
    for tokens in _added(model, full):
        yield "added", tokens
    for tokens in _flagged(model.added or (), full):
        yield "flags", tokens
    roles = [f"{each['role']} {show(each['text'])} {each['id']}" for each in facts["roles"]]
    if roles or model.added:
        yield "roles", ", ".join(roles) or "none: no file names a token for one"
    yield "template", _template(model)
    for step in _steps(model.decoder):
        yield "decode", step
    if model.chat_template is not None:
        yield "chat", _chat(model.chat_template, full)
    for key, value in model.extras.items():
        yield "also kept", f"{key}: {_extra(value)}"
    if facts["unsaid"]:
        yield "not stated", ", ".join(facts["unsaid"])
    if model.pretokenizer is None or model.added is None:
        yield from _to_state(loaded, facts["presets"])
    yield "encoding", _encoding(facts["encoding"])
    engines = ", ".join(f"{name} {number}" for name, number in facts["unicode"]["engines"].items())
    yield "unicode", f"{facts['unicode']['version']}, as in {engines}"
    if facts["served"]:
        asked = f"verify {facts['source']} {facts['source']} --engine-b transformers"
        yield "served", tell_served(facts["served"], f"to see: bpe-interop {asked}")
    for note in facts["notes"]:
        yield "note", note


def _to_state(loaded: TokenizerSource[BPEModel], presets: list[str]) -> Iterator[tuple[str, str]]:
    """How to say the pattern and the special tokens that a source does not state."""
    label = shlex.quote(loaded.label)
    if not presets:
        yield "presets", "no preset knows these files by their sha256"
        yield (
            "to state",
            f"bpe-interop inspect {label} --preset FILE.json: a preset of your own, with the "
            "pattern and the special tokens that the publisher states (see ERROR-unstated)",
        )
        return
    yield "presets", f"{', '.join(presets)} fit by sha256"
    for line in telling_apart(presets).splitlines():
        yield "presets", line.strip()
    name = presets[0] if len(presets) == 1 else "NAME"
    command = f"bpe-interop inspect {label} --preset {name}"
    yield "to state", f"{command}, or --preset FILE.json, your own (see ERROR-unstated)"


def _extra(value: Json) -> str:
    """Keys, with the values that are no longer than a word."""
    if not isinstance(value, dict):
        return show(str(value))
    settings = [
        f"{key} {inner}" if isinstance(inner, (int, float)) else key for key, inner in value.items()
    ]
    return ", ".join(settings)


def _encoding(encoding: documents.EncodingFacts) -> str:
    if encoding["by"] == "native":
        return "; ".join(filter(None, ("by the native kernel", encoding["because"])))
    return f"in Python: {encoding['because']}"


def _vocabulary(facts: documents.Inspection, full: bool) -> Iterator[tuple[str, str]]:
    ids, rows, merges = facts["ids"], facts["rows"], facts["merges"]
    added = "" if facts["added"] is None else f", {many(len(facts['added']), 'added token')}"
    first, last = ids["smallest"], ids["largest"]
    span = f"id {last}" if first == last else f"ids {first} to {last}"
    yield "tokens", f"{many(facts['tokens'], 'token')}{added}; {span}{_holes(ids)}"
    if rows:
        yield "rows", _embedding(rows, facts["ids"]["holes"])
    order = "" if merges["in_order"] else "; some tokens merge before their own parts"
    rule = "by rank" if merges["rule"] == "ranks" else f"{merges['listed']:,} listed"
    yield "merges", f"{rule}; {merges['firing']:,} can ever be used{order}"
    yield "unreachable", _unreachable(facts["unreachable"], full)
    glued = (("prefix", facts["affixes"]["prefix"]), ("suffix", facts["affixes"]["suffix"]))
    affixes = [f"{name} {show(text)}" for name, text in glued if text]
    if affixes:
        yield "affixes", f"{', '.join(affixes)}, glued to symbols before merging"
    yield "missing", _missing(facts, full)


def _holes(ids: documents.IdRange) -> str:
    count = ids["holes"]
    if not count:
        return ", all in use"
    if count == 1:
        return f", but {ids['first_hole']} has no token"
    return f", but {count:,} of these have no token (the first is {ids['first_hole']})"


def _embedding(rows: documents.RowFacts, holes: int) -> str:
    counts = [f"{many(rows['declared'], 'row')} declared", f"{many(rows['used'], 'id')} used"]
    if rows["padding"]:
        counts.append(f"{many(rows['padding'], 'row')} of padding")
    if holes:
        counts.append(f"{many(holes, 'id')} below without a token")
    if rows["beyond"]:
        counts.append(f"{many(rows['beyond'], 'id')} without a row")
    return ", ".join(counts)


def _unreachable(lost: documents.Unreachable, full: bool) -> str:
    tokens = [each for each in lost["tokens"] if each["hex"]]
    empty = [
        f"the empty token {each['id']} is in no text" for each in lost["tokens"] if not each["hex"]
    ]
    how = "found only as whole pretokens" if lost["whole"] else "never produced"
    shown = _first(list(map(_token, tokens)), 5, full)
    sentence = (
        f"{many(len(tokens), 'token')} that no merge builds, {how}: {shown}"
        if tokens
        else "none: merging builds every token"
    )
    return "; ".join([sentence, *empty])


def _missing(facts: documents.Inspection, full: bool) -> str:
    """What has no token, and what becomes of it."""
    fallback = facts["fallback"]
    becomes = {
        "error": "an error",
        "drop": "dropped",
        "unknown": f"the unknown token {fallback.unknown}",
    }[fallback.missing]
    if facts["missing_bytes"] is None:
        by = "becomes the byte tokens of its UTF-8" if fallback.byte_fallback else f"is {becomes}"
        return f"a character without a token {by}"
    missing = facts["missing_bytes"]
    if not missing:
        return "none: every byte of UTF-8 has a token"
    listed = _first([f"{byte:02X}" for byte in missing], 16, full, " ")
    have = "byte of UTF-8 has" if len(missing) == 1 else "bytes of UTF-8 have"
    return f"{len(missing)} {have} no token ({listed}); then: {becomes}"


def _token(each: documents.TokenFacts) -> str:
    return f"{show(bytes.fromhex(each['hex']))} {each['id']}"


def _steps(steps: tuple[object, ...] | None) -> list[str]:
    if steps is None:
        return ["not stated"]
    return [describe_step(step) for step in steps] or ["none"]


def _chat(template: str, full: bool) -> str:
    size = f"a chat template of {many(len(template), 'character')}"
    return f"{size}: {show(template)}" if full else size


def _added(model: BPEModel, full: bool) -> list[str]:
    if model.added is None:
        return ["not stated"]
    lines = []
    for name, special in (("special", True), ("not special", False)):
        tokens = [token for token in model.added if token.special is special]
        if tokens:
            lines.append(f"{len(tokens):,} {name}: {_tokens(tokens, full)}")
    return lines or ["none"]


def _flagged(added: Iterable[AddedToken], full: bool) -> Iterator[str]:
    """The tokens that change what stands beside them, or match only beside some characters."""
    for flag, what in (
        ("lstrip", "white space before is taken along"),
        ("rstrip", "white space behind is taken along"),
        ("single_word", "found only as a word of its own"),
    ):
        tokens = [token for token in added if getattr(token, flag)]
        if tokens:
            yield f"{many(len(tokens), 'token')} with {flag} ({what}): {_tokens(tokens, full)}"


def _tokens(tokens: Iterable[AddedToken], full: bool) -> str:
    return _first([f"{show(token.text)} {token.id}" for token in tokens], 4, full)


def _first(words: list[str], most: int, full: bool, between: str = ", ") -> str:
    """The first of a list; all of it where that is asked for."""
    more = [] if full or not words[most:] else ["..."]
    return between.join([*(words if full else words[:most]), *more])


def _template(model: BPEModel) -> str:
    """What is placed around one text: the tokens of the ids, which is what engines place."""
    template = model.sequence_template
    if template is None:
        return "not stated"
    placed = (part.ids for part in template.single if not isinstance(part, TemplateText))
    texts = texts_of_ids(model, {*chain.from_iterable(placed)})
    shown: list[str] = []
    for part in template.single:
        if isinstance(part, TemplateText):
            shown.append(f"text {part.which}")
        else:
            shown += [show(texts[n]) if n in texts else f"id {n}" for n in part.ids]
    return " + ".join(shown) or "none"


# Statistics of corpora.

_LENGTHS = ((1, 1), (2, 2), (3, 3), (4, 4), (5, 6), (7, 8), (9, 12), (13, 16))
"""Bytes of tokens, from and to, that are counted together in a table."""


def show_statistics(
    sources: Sequence[tuple[str, TokenizerSource[BPEModel]]],
    corpora: Sequence[str],
    plot: Path | None,
    as_data: bool,
    presets: Sequence[str | None],
    workers: Workers | None,
    limit: float,
    state: str | None,
) -> None:
    """Measures tokenizers on corpora, and prints tables or JSON; draws a plot where asked to.

    ``presets`` are those of the sources, ``limit`` is in seconds.
    """
    files = find_files(corpora)
    read = [file.local for file in files if file.local]
    for target in (plot, None if state is None else Path(state)):
        if target is not None:
            keep_apart([*(name for name, _ in sources), *read], target)
    with progress("measuring") as tick:
        tokenizers: list[tuple[str, Tokenizer] | Carried] = []
        for (name, loaded), preset in zip(sources, presets, strict=True):
            if workers is None and state is None:
                tokenizers.append((name, Tokenizer(loaded.model, engine="auto")))
            else:
                own, beside = loaded.files, loaded.beside
                tokenizers.append(carry(name, loaded.format.name, own, preset, beside))
        done = measure(
            *(tokenizers, files),
            executor=workers,
            limit=limit,
            state=state,
            tick=tick,
            watch=tick.watch,
        )
    if plot is not None and not done.interrupted:
        replace_file(plot, to_svg(done.statistics).encode("utf-8"))
    if as_data:
        as_json(_report(done))
    else:
        _show(done, plot, state)
    if done.interrupted:
        sys.exit(INTERRUPTED)


def _report(done: Measurement) -> documents.Measured:
    """Where it was measured by parts, how many are done, and what happened on the way."""
    statistics = [_as_data(each) for each in done.statistics]
    if not done.parts:
        return {"statistics": statistics}
    return {
        "statistics": statistics,
        "interrupted": done.interrupted,
        "done": done.done,
        "parts": done.parts,
        "notes": list(done.notes),
    }


def _show(done: Measurement, plot: Path | None, state: str | None) -> None:
    for headings, rows in (_numbers(done.statistics), _lengths(done.statistics)):
        print_table(headings, rows, names=2)
        say("")
    lines("note", list(done.notes))
    if done.interrupted:
        went = f"name the same state to go on: {state}" if state else "nothing is kept"
        so_far = f"{done.done:,} of {done.parts:,} parts were measured"
        lines("not whole", [f"interrupted: {so_far}; {went}"])
    else:
        lines("drawn", [] if plot is None else [str(plot)])


_Table: TypeAlias = tuple[list[str], list[list[str]]]
"""Headings, and rows of cells."""


def _named(each: Statistics) -> list[str]:
    return [escaped(each.file or "all files"), escaped(each.tokenizer)]


def _numbers(statistics: Sequence[Statistics]) -> _Table:
    headings = ["bytes", "words", "tokens", "bytes/token", "tokens/word", "unused tokens"]
    rows: list[list[str]] = []
    for each in statistics:
        counts = [f"{number:,}" for number in (each.bytes, each.words, each.tokens)]
        rates = [_rate(each.bytes_per_token), _rate(each.tokens_per_word)]
        unused = f"{len(each.unused):,} of {each.usable:,}"
        rows.append([*_named(each), *counts, *rates, unused])
    return ["file", "tokenizer", *headings], rows


def _rate(number: float | None) -> str:
    return "-" if number is None else f"{number:.2f}"


def _lengths(statistics: Sequence[Statistics]) -> _Table:
    """Of all tokens, the parts that have so many bytes."""
    ranges = [f"{first}" if first == last else f"{first}-{last}" for first, last in _LENGTHS]
    most = _LENGTHS[-1][1]
    headings = ["bytes: " + ranges[0], *ranges[1:], f"over {most}"]
    rows: list[list[str]] = []
    for each in statistics:
        lengths = each.lengths.items()
        counts = [sum(n for size, n in lengths if a <= size <= b) for a, b in _LENGTHS]
        # A token without bytes is in no column.
        counts.append(sum(n for size, n in lengths if size > most))
        parts = [f"{n / each.tokens:.1%}" if each.tokens else "-" for n in counts]
        rows.append([*_named(each), *parts])
    return ["file", "tokenizer", *headings], rows


def _as_data(each: Statistics) -> documents.StatisticsRow:
    """``file`` is null for all files together; ``lengths`` counts tokens by their bytes."""
    return {
        "file": each.file or None,
        "tokenizer": each.tokenizer,
        "documents": each.documents,
        "bytes": each.bytes,
        "words": each.words,
        "tokens": each.tokens,
        "bytes_per_token": each.bytes_per_token,
        "tokens_per_word": each.tokens_per_word,
        "usable": each.usable,
        "unused": each.unused,
        "lengths": {str(length): count for length, count in each.lengths.items()},
    }
