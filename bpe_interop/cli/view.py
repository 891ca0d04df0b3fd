"""``bpe-interop view``."""

from __future__ import annotations

import re
import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..engines import Special
from ..errors import SourceError, UnstatedError
from ..io.foreign import OWN_FILE
from ..io.names import spelled
from ..io.reader import unreadable
from ..io.target import keep_apart
from ..io.writer import replace_file
from ..presets import ways_to_say
from ..sources import SourceOptions, load_source, readings
from ..view.live import LOOPBACK, Load, listen
from ..view.page import LIMIT, to_view
from ..view.panels import Panel, Viewed, check_size, panels
from .interrupts import INTERRUPTED
from .manual import CODES, command
from .options import (
    OneOf,
    ends_in,
    file_names,
    format_option,
    gathers,
    json_option,
    offline_option,
    presets_option,
)
from .screen import as_json, as_text, lines, read_stdin
from .terminal import tell

if TYPE_CHECKING:
    from . import documents


@command(
    "view",
    short_help="Show a text as coloured tokens on a page.",
    examples={
        "bpe-interop view my-tok old-tok --text story.txt -o page.html": "Write one page",
        "echo Hello | bpe-interop view my-tok -o page.html": "Show a text that is typed",
        "bpe-interop view --serve my-tok old-tok": "Type texts in the browser",
    },
    codes={**CODES, INTERRUPTED: "interrupted, as a live page always ends"},
)
@click.argument("sources", shell_complete=file_names, metavar="SRC...", nargs=-1, required=True)
@click.option(
    "--text",
    "file",
    shell_complete=file_names,
    metavar="FILE",
    help=f"The text to show, UTF-8, at most {LIMIT:,} bytes; standard input by default.",
)
@click.option(
    "-o",
    "--output",
    metavar="PAGE.html",
    type=click.Path(path_type=Path),
    callback=ends_in("a page is written, in HTML", ".html", ".htm"),
    help="The page, a file that ends in .html or .htm; one that is there is replaced.",
)
@click.option("--serve", is_flag=True, help="Serve a live page: type a text, see its tokens.")
@click.option(
    "--host",
    metavar="ADDRESS",
    default=LOOPBACK,
    show_default=True,
    help="Where to serve it; others than this machine reach it by another address only.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8765,
    show_default=True,
    help="The port; 0 is any that is free.",
)
@click.option(
    "--special",
    type=OneOf(["text", "parse"]),
    default="text",
    show_default=True,
    help="What a special token's text is: ordinary text, or the token.",
)
@format_option
@presets_option
@offline_option
@json_option
@gathers(reading=SourceOptions)
def view_command(
    sources: tuple[str, ...],
    file: str | None,
    output: Path | None,
    serve: bool,
    host: str,
    port: int,
    special: Special,
    reading: SourceOptions,
    presets: tuple[str, ...],
    json_output: bool,
) -> None:
    """Show a text as coloured tokens, in one tokenizer or in several side by side.

    With -o: a page of one text that needs nothing else. With --serve: a live page, until Ctrl-C.

    With --json: the ids of the text in each tokenizer, and how many differ from the first one's;
    with --serve as well, the address.
    """
    if serve and output is not None:
        raise click.UsageError("give -o PAGE.html or --serve, not both")
    if not serve and output is None:
        raise click.UsageError("give -o PAGE.html, or --serve")
    if serve and file is not None:
        raise click.UsageError("--text is for a page of one text: -o PAGE.html")
    if output is not None:
        keep_apart([*sources, *([file] if file else [])], output)
    each = zip(sources, readings(sources, reading, presets), strict=True)
    sides = [_viewed(source, how) for source, how in each]
    if output is None:
        load = partial(_added, offline=reading["offline"])
        _serve(sides, host, port, load, json_output=json_output)
        return
    text = _text(file)
    replace_file(output, to_view(sides, text, special).encode("utf-8"))
    if not json_output:
        lines("wrote", [str(output)])
        return
    shown = zip(sources, panels(sides, text, special), strict=True)
    done: documents.ViewedPage = {
        "page": spelled(str(output)),
        "bytes": len(text.encode("utf-8")),
        "special": special,
        "sides": [_as_dict(source, panel) for source, panel in shown],
    }
    as_json(done)


def _as_dict(source: str, panel: Panel) -> documents.ViewedSide:
    ids = [tile.id for line in panel.lines for tile in line.tiles]
    return {
        "source": spelled(source),
        "ids": None if panel.error else ids,
        "cut": panel.cut if panel.compared else None,
        "other": panel.other if panel.compared else None,
        "missed": panel.missed if panel.compared else None,
        "error": panel.error or None,
    }


def _added(source: str, preset: str | None, offline: bool) -> Viewed:
    """A tokenizer that is added on the page."""
    return _viewed(source, {"preset": preset, "offline": offline}, "the list of presets")


def _viewed(source: str, reading: SourceOptions, way: str = "--preset") -> Viewed:
    """A tokenizer, which is refused here where its source does not say how it encodes.

    ``way`` is what a preset is named with.
    """
    try:
        model = load_source(source, **reading).model
    except SourceError as error:
        if error.fix == OWN_FILE:
            error.fix += f"; to show the text in it: --text {shlex.quote(source)}"
        elif not re.match(r"[\w-]+:", source) and not Path(source).exists():
            error.fix += "; to show a text: --text FILE, or echo TEXT | bpe-interop view ..."
        raise
    side = Viewed.of(source, model)
    try:
        side.encoder.encode("")
    except UnstatedError as error:
        where = error.where or source
        raise UnstatedError(error.what, where=where, fix=ways_to_say(model, way)) from None
    return side


def _serve(sides: list[Viewed], host: str, port: int, load: Load, *, json_output: bool) -> None:
    address, answer = listen(sides, host, port, load)
    if json_output:
        done: documents.ServedPage = {"address": address}
        as_json(done)
    else:
        lines("serving", [f"{address}  (Ctrl-C ends it)"])
    answer()
    tell("ended")


def _text(file: str | None) -> str:
    """The text to show; no more is read of a file than shows that it is too long."""
    if file is None or file == "-":
        return as_text(read_stdin())
    path = Path(file)
    try:
        check_size(path.stat().st_size, LIMIT)
        with path.open("rb") as text:
            data = text.read(LIMIT + 1)
    except FileNotFoundError:
        raise SourceError(
            "No such file or directory; --text names a file",
            where=file,
            fix="to show a text itself: echo TEXT | bpe-interop view SRC -o PAGE.html",
        ) from None
    except OSError as error:
        raise unreadable(error, file) from None
    check_size(len(data), LIMIT)
    return as_text(data, where=file)
