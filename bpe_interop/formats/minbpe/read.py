"""From a ``.model`` file of minbpe to the model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from ...errors import FormatError, PatternError, not_utf8
from ...model import (
    MAX_ID,
    AddedToken,
    BPEModel,
    Origin,
    PairList,
    SequenceTemplate,
    Vocab,
    digests,
)
from ...quoting import show
from ...steps import JoinBytes, Pattern, Split
from ...text.matcher import compiled_by_regex
from ...text.patterns import has_other_tables
from .. import Files
from ..names import STEM

VERSION = b"minbpe v1"
SUFFIX = ".model"
BYTES = 256

_NUMBER = re.compile(r"0|[1-9][0-9]{0,9}")
_UNICODE = (
    "minbpe cuts texts with Python's regex, whose Unicode tables are of another version than those "
    "of tiktoken and tokenizers: code points that only one of them knows may be cut otherwise"
)


@dataclass
class _LineReader:
    name: str
    lines: list[str]
    at: int = 0

    def next(self, what: str) -> str:
        if self.at == len(self.lines):
            raise FormatError(f"the file ends before {what}", where=self.name, fix="get it again")
        self.at += 1
        return self.lines[self.at - 1]

    def rest(self) -> Iterator[str]:
        while self.at < len(self.lines):
            yield self.next("a merge")

    def fail(self, what: str, fix: str = "") -> NoReturn:
        raise FormatError(what, where=f"{self.name}:{self.at}", fix=fix)

    def number(self, word: str) -> int:
        if not _NUMBER.fullmatch(word) or int(word) > MAX_ID:
            self.fail(f"expected a number from 0 to {MAX_ID}, found {show(word[:40])}")
        return int(word)


def load(files: Files) -> BPEModel:
    """Reads the ``.model`` file; a ``.vocab`` beside it is for people.

    Raises:
        FormatError: it is malformed, or it is not clear what minbpe would do with it; the
            message names the line.
    """
    name = main_file(files)
    lines = _LineReader(name, _lines(files[name], name))
    if lines.next("the version").strip().encode() != VERSION:
        lines.fail(f"the first line is not {VERSION.decode()!r}", "this is not a minbpe model")
    source = _pattern(lines)
    cut = cut_by(source)
    added = _special(lines)
    contents, pairs = _merges(lines)
    for token in added:
        if token.id < len(contents):
            raise FormatError(
                f"the special token {show(token.text)} has the id {token.id}, which is also that "
                f"of {show(contents[token.id])}",
                where=name,
                fix=f"give it {len(contents)} or more",
            )
    return BPEModel(
        vocab=Vocab({content: number for number, content in enumerate(contents)}),
        merges=PairList(tuple(pairs)),
        normalizer=(),
        pretokenizer=cut,
        added=added,
        sequence_template=SequenceTemplate(),
        decoder=(JoinBytes(),),
        origin=Origin(
            "minbpe",
            name=stem_of(name.removesuffix(SUFFIX)),
            files=digests({name: files[name]}),
            notes=(_UNICODE,) if any(has_other_tables(step.pattern) for step in cut) else (),
        ),
    )


def cut_by(source: str) -> tuple[Split, ...]:
    """The pre-tokenizer of a pattern; an empty one cuts nothing."""
    return (Split(Pattern(source, "python"), "removed", invert=True),) if source else ()


def main_file(files: Files) -> str:
    """The name of the model file.

    Raises:
        FormatError: there is none, or more than one.
    """
    names = [name for name, data in files.items() if data.startswith(VERSION)]
    names = names or [name for name in files if name.endswith(SUFFIX)] or [*files]
    if len(names) != 1:
        names_there = ", ".join(sorted(names)) or "none"
        raise FormatError(
            f"expected one model of minbpe, found {names_there}", fix="name one of them"
        )
    return names[0]


def stem_of(name: str) -> str:
    """The name where it says something and is a file name, else nothing."""
    return name if name != "tokenizer" and STEM.fullmatch(name) else ""


def _lines(data: bytes, name: str) -> list[str]:
    """The lines as Python's text files give them; the last one may lack its end."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        at = data.count(b"\n", 0, error.start) + 1
        raise FormatError(
            not_utf8(error),
            where=f"{name}:{at}",
            fix="the file may be damaged; get it again",
        ) from None
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


def _pattern(lines: _LineReader) -> str:
    """The pattern; empty if nothing is cut."""
    source = lines.next("the pattern")
    if source != source.strip():
        lines.fail(
            "the pattern begins or ends with white space, which minbpe takes off when it reads it",
            "whether it belongs to the pattern is not known; write it as (?:...)",
        )
    try:
        captured = captures(source)
    except PatternError as error:
        lines.fail(
            f"minbpe cuts texts with Python's regex, and there {error.what}",
            "the file may be damaged; get it again, or mend the pattern where it was made",
        )
    if captured:
        lines.fail(
            "the pattern has groups that capture, and regex.findall gives what they hold instead "
            "of what is matched",
            "write them as (?:...)",
        )
    return source


def captures(source: str) -> bool:
    """Whether a pattern has capturing groups.

    Raises:
        PatternError: Python's ``regex`` refuses it.
    """
    return compiled_by_regex(source).groups > 0


def _special(lines: _LineReader) -> tuple[AddedToken, ...]:
    count = lines.number(lines.next("the number of special tokens").strip())
    ids: dict[str, int] = {}
    numbers: set[int] = set()
    lengths: set[int] = set()
    for _ in range(count):
        words = lines.next(f"the last of {count} special tokens").split()
        if len(words) != 2:
            lines.fail("expected a special token and its id", "a special token has no white space")
        text, number = words[0], lines.number(words[1])
        if text in ids:
            lines.fail(f"the special token {show(text)} appears twice")
        if number in numbers:
            lines.fail(f"the special token {show(text)} has the id of another one, {number}")
        shorter = next((text[:end] for end in lengths if text[:end] in ids), None)
        if shorter is not None:
            lines.fail(
                f"the special token {show(shorter)} begins {show(text)} and stands before it, so "
                f"minbpe never finds {show(text)}",
                "put the longer one first",
            )
        ids[text] = number
        numbers.add(number)
        lengths.add(len(text))
    return tuple(AddedToken(text, number) for text, number in ids.items())


def _merges(lines: _LineReader) -> tuple[list[bytes], list[tuple[bytes, bytes]]]:
    """The contents by id, and the merges as pairs of contents."""
    contents = [bytes([byte]) for byte in range(BYTES)]
    numbers = {content: number for number, content in enumerate(contents)}
    pairs: list[tuple[bytes, bytes]] = []
    for line in lines.rest():
        words = line.split()
        if len(words) != 2:
            lines.fail(f"expected the two ids of a merge, found {show(line[:40])}")
        left, right = map(lines.number, words)
        if max(left, right) >= len(contents):
            lines.fail(
                f"the merge names the id {max(left, right)}, and is itself {len(contents)}",
                "a merge comes after those of its parts",
            )
        content = contents[left] + contents[right]
        other = numbers.setdefault(content, len(contents))
        if other != len(contents):
            lines.fail(
                f"the merge makes {show(content)}, which the id {other} is already",
                "two ids for the same bytes: minbpe's trainer never does this",
            )
        pairs.append((contents[left], contents[right]))
        contents.append(content)
    return contents, pairs
