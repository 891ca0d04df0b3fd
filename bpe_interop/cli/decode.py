"""``bpe-interop decode``."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterable, Iterator
from io import BufferedIOBase
from typing import Literal, cast

import click

from ..encode.stream import DecodeStream
from ..errors import BpeInteropError, DecodeError, OutOfRangeError, SourceError, UnstatedError
from ..model import MAX_ID
from ..presets import ways_to_say
from ..quoting import show
from ..sources import SourceOptions, load_source
from ..text.visible import replace_control_characters
from ..tokenizer import Tokenizer
from .manual import command
from .options import file_names, json_option, source_options
from .screen import as_json, as_text, read_stdin, stdin_lines, write_stdout

_LAID_OUT = "\n\t"
"""What a terminal may be given as it is; other control characters it would obey."""

_NUMBER = re.compile("[+-]?[0-9]+")
_PART = re.compile(rb"[\s,\[\]]")


@command(
    "decode",
    short_help="Print the text of IDS.",
    context_settings={"ignore_unknown_options": True},
    examples={
        "bpe-interop decode my-tok 72 101 108": "Print the text of three ids",
        "bpe-interop encode my-tok Hello --json | bpe-interop decode my-tok": "Ids from a pipe",
    },
)
@click.argument("source", shell_complete=file_names, metavar="SRC")
@click.argument("ids", nargs=-1)
@click.option("--lines", "by_line", is_flag=True, help="Decode each line of ids by itself.")
@click.option(
    "--stream", is_flag=True, help="Print text as soon as the ids on standard input settle it."
)
@click.option("--strict", is_flag=True, help="Fail on bytes that are not UTF-8.")
@click.option("--skip-special-tokens", is_flag=True, help="Leave special tokens out.")
@source_options
@json_option
def decode_command(
    source: str,
    ids: tuple[str, ...],
    by_line: bool,
    stream: bool,
    strict: bool,
    skip_special_tokens: bool,
    reading: SourceOptions,
    json_output: bool,
) -> None:
    r"""Print the text of IDS, or of the ids on standard input; no newline is added.

    Ids are whole numbers between spaces or commas, or a JSON array. Bytes that are not UTF-8
    become U+FFFD. With --json: one string; with --lines as well, an array of strings.

    A terminal is shown control characters as such (\u001b), line feeds and tabs apart; a pipe
    or a file gets the text as it is.
    """
    ctx = click.get_current_context()
    for given in ids:
        if given.lstrip("-")[:1].isalpha() and given.startswith("-"):  # a number may be negative
            known = [name for parameter in ctx.command.params for name in parameter.opts]
            raise click.NoSuchOption(given, possibilities=known, ctx=ctx)
    if stream and (ids or by_line or json_output):
        raise click.UsageError(
            "--stream reads ids from standard input and prints their text: give it without IDs, "
            "--lines and --json"
        )
    tokenizer = Tokenizer(load_source(source, **reading).model)
    with _explained(tokenizer):
        if stream:
            coming = _stream_of(tokenizer, skip_special_tokens, strict)
            _write_stream(coming.texts_of(_coming()))
            return
        texts = (
            _decode(tokenizer, _numbers(row), skip_special_tokens, strict)
            for row in _rows(ids, by_line)
        )
        if json_output:
            as_json(list(texts) if by_line else next(texts))
            return
        for text in texts:
            _write(text + "\n" if by_line else text)


def _write(text: str) -> None:
    if _is_terminal():
        text = replace_control_characters(text, keep=_LAID_OUT)
    write_stdout(text.encode("utf-8"))


def _write_stream(texts: Iterable[str]) -> None:
    """Writes texts as they come. A terminal's line is ended before anything else is told on it."""
    last = "\n"
    try:
        for text in texts:
            _write(text)
            last = text[-1:] or last
    except (BpeInteropError, UnicodeDecodeError, KeyboardInterrupt):
        if _is_terminal() and last != "\n":
            _write("\n")
        raise


def _is_terminal() -> bool:
    return sys.stdout.isatty()


def _rows(ids: tuple[str, ...], by_line: bool) -> Iterator[str]:
    if ids:
        yield " ".join(ids)
    elif by_line:
        for number, line in enumerate(stdin_lines(), 1):
            yield as_text(line, where=f"standard input, line {number}")
    else:
        yield as_text(read_stdin())


def _coming() -> Iterator[list[int]]:
    """The ids on standard input: those that are there, each when it is there as a whole."""
    rest = b""
    stdin = cast(BufferedIOBase, sys.stdin.buffer)
    while data := stdin.read1(1 << 16):
        *whole, rest = _PART.split(rest + data)
        yield from _batches(whole)
    yield from _batches([rest])


def _batches(words: list[bytes]) -> Iterator[list[int]]:
    """The ids of words; those before a word that is none come alone, and then its error."""
    try:
        numbers = _numbers(as_text(b" ".join(words)))
    except (SourceError, OutOfRangeError):
        yield from (_numbers(as_text(word)) for word in words)
        return
    yield numbers


def _decode(tokenizer: Tokenizer, ids: list[int], skip: bool, strict: bool) -> str:
    if strict:
        return "".join(_stream_of(tokenizer, skip, strict).texts_of([ids]))
    return tokenizer.decode(ids, skip_special_tokens=skip)


def _stream_of(tokenizer: Tokenizer, skip: bool, strict: bool) -> DecodeStream:
    errors: Literal["replace", "strict"] = "strict" if strict else "replace"
    return tokenizer.decode_stream(errors=errors, skip_special_tokens=skip)


@contextlib.contextmanager
def _explained(tokenizer: Tokenizer) -> Iterator[None]:
    """Says what to do about ids that have no text."""
    try:
        yield
    except UnstatedError as error:
        raise UnstatedError(
            error.what, where=error.where, fix=ways_to_say(tokenizer.model, "--preset")
        ) from None
    except UnicodeDecodeError as error:
        raise DecodeError(
            f"not UTF-8: {error.object[error.start : error.end]!r}, {error.reason}",
            where="the bytes of the ids",
            fix="leave --strict out to have U+FFFD there",
        ) from None


def _numbers(row: str) -> list[int]:
    for mark in "[],":
        row = row.replace(mark, " ")
    numbers = []
    for word in row.split():
        if not (word.isascii() and word.isdigit() and len(word) < 20):
            what = f"{show(word[:40])} is not an id"
            fix = "give whole numbers from 0, or a JSON array of them"
            if _NUMBER.fullmatch(word):
                raise OutOfRangeError(f"{what}: they are 0 to {MAX_ID}", where="the ids", fix=fix)
            raise SourceError(what, where="the ids", fix=fix)
        numbers.append(int(word))
    return numbers
