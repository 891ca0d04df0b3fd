"""The tokens that ``extend`` is asked for, by options and in files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click

from ..errors import FormatError, not_utf8
from ..io.names import spelled
from ..io.reader import read
from ..presets.own import read_entry
from ..quoting import show
from ..strict_json import Node, parse

_FILES = {True: "--specials", False: "--tokens"}
"""The options that name a file of special tokens, and of others."""

_CALLED = {" ": "a space", "\t": "a tab"}


@dataclass(slots=True)
class NewTokens:
    """Texts with their ids (None: the next one) and flags, and what is to be said of the files."""

    special: dict[str, int | None] = field(default_factory=dict)
    plain: dict[str, int | None] = field(default_factory=dict)
    flags: dict[str, dict[str, bool]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    places: dict[str, str] = field(default_factory=dict)

    def add(self, text: str, number: int | None, place: str, *, special: bool) -> str:
        """Takes a token; where it was given before, that place, and it stays as it was."""
        if text in self.places:
            return self.places[text]
        self.places[text] = place
        (self.special if special else self.plain)[text] = number
        return ""


def tokens_of_options(special: Sequence[str], plain: Sequence[str]) -> NewTokens:
    """What ``--special`` and ``--token`` ask for.

    Raises:
        click.UsageError: a token is given twice, or means a file.
    """
    tokens = NewTokens()
    for option, given, is_special in (("--special", special, True), ("--token", plain, False)):
        for each in given:
            text, number = _split_id(each)
            if number is None and text[:1] == "@" and Path(text[1:]).is_file():
                raise click.UsageError(
                    f"{option} {text}: to add the tokens of that file give {option}s "
                    f"{text[1:]}; for a token of this very text give its id: {option} {text}=ID"
                )
            place = f"with {option} {show(each)}"
            before = tokens.add(text, number, place, special=is_special)
            if before:
                raise click.UsageError(f"{show(text)} is given twice: {before}, and {place}")
    return tokens


def _split_id(given: str) -> tuple[str, int | None]:
    """``TOKEN=ID`` or ``TOKEN``."""
    text, equals, number = given.rpartition("=")
    if equals and number.isascii() and number.isdigit() and len(number) < 20:
        return text, int(number)
    return given, None


def add_tokens_of(file: Path, tokens: NewTokens, *, special: bool) -> None:
    """Takes the tokens of a file, one on each line, or a list in JSON.

    Raises:
        SourceError: it cannot be read.
        FormatError: it is not UTF-8, or no such JSON; or a token is given elsewhere too.
    """
    data, name = read(file), spelled(str(file))
    if file.suffix == ".json":
        _add_list(parse(data, name), tokens, special=special)
    else:
        _add_lines(data, name, tokens, special=special)


def _add_list(listed: Node, tokens: NewTokens, *, special: bool) -> None:
    """Takes the tokens of a list. An entry that says what another one says changes nothing."""
    first: dict[str, tuple[str, int | None, dict[str, bool]]] = {}
    repeats: list[str] = []
    for entry in listed.items():
        number: int | None = None
        flags: dict[str, bool] = {}
        if isinstance(entry.value, str):
            text = entry.value
        else:
            text, is_special, flags = read_entry(entry, special=special)
            tokens.flags[text] = flags
            number = entry["id"].id() if "id" in entry else None
            if is_special is not special:
                entry["special"].fail(
                    f"these are to be {'special' if special else 'not special'}",
                    fix="give it in a file for --specials, or for --tokens",
                )
        place, *said = first.setdefault(text, (entry.path, number, flags))
        if place != entry.path and said == [number, flags]:
            repeats.append(f"{entry.path} repeats {show(text)} of {place}")
            continue
        before = tokens.add(text, number, f"with {_FILES[special]} {entry.where}", special=special)
        if before:
            entry.fail(f"the token {show(text)} is given twice: {before}, and here")
    tokens.notes += _once_each(listed.file, repeats)


def _add_lines(data: bytes, name: str, tokens: NewTokens, *, special: bool) -> None:
    """Takes the token of each line. A line that says what another one says changes nothing."""
    try:
        listed = [line.removesuffix("\r") for line in data.decode("utf-8-sig").split("\n")]
    except UnicodeDecodeError as error:
        raise FormatError(not_utf8(error), where=name, fix="save it as UTF-8") from None
    first: dict[str, int] = {}
    repeats: list[str] = []
    for number, line in enumerate(listed, 1):
        if not line:
            continue
        if line in first:
            repeats.append(f"line {number} repeats {show(line)} of line {first[line]}")
            continue
        first[line] = number
        place = f"with {_FILES[special]} {name}, line {number}"
        before = tokens.add(line, None, place, special=special)
        if before:
            raise FormatError(
                f"the token {show(line)} is given twice: {before}, and here",
                where=f"{name}, line {number}",
            )
    tokens.notes += [*_once_each(name, repeats), *_white_space(name, first)]


def _once_each(name: str, repeats: Sequence[str]) -> Iterator[str]:
    if repeats:
        more = len(repeats) - 1
        others = f", and {more:,} more {'does' if more == 1 else 'do'} so" if more else ""
        yield f"{name}: {repeats[0]}{others}; {'each' if more else 'it'} is added once"


def _white_space(name: str, lines: dict[str, int]) -> Iterator[str]:
    """That white space at the end of a line is taken, which is not seen in a file."""
    spaced = [line for line in lines if line[-1].isspace()]
    if spaced:
        text = spaced[0]
        what = f"{show(text)} ends with {_CALLED.get(text[-1], 'white space')}"
        more = f"; {len(spaced):,} lines end so" if spaced[1:] else ""
        yield f"{name}: line {lines[text]}: {what}, which is part of the token{more}"
