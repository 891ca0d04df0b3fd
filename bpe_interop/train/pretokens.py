"""The texts to learn from, given as they are or in corpora, and the pretokens in them, counted."""

from __future__ import annotations

import codecs
import contextlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, TypeAlias, Union

from ..corpora import (
    CorpusFile,
    find_files,
    names_file,
    naming,
    opened,
    read_documents,
    refuse_json,
)
from ..errors import PatternError, SourceError, not_utf8
from ..kernel import defect
from ..kernel.learner import PretokenCounter, counter_of
from ..kernel.splitter import splitter_of
from ..steps import Pattern, PreTokenizerStep, Split
from ..text.patterns import parse
from ..text.spellings import is_known
from ..text.split import compiled
from ..text.surrogates import repair
from ..theory.split_tables import split_tables
from ..ticks import Tick, no_progress
from .training import StepTick, empty

Texts: TypeAlias = Union[str, Path, Iterable[Union[str, Path]]]
"""A ``str`` is a text; a ``Path`` stands for files, as :func:`.corpora.find_files` says."""

WINDOW = 1 << 20
"""Bytes of a file that are read at once, where its text can be cut."""

LINES = re.compile(r"(?<=\n)")
"""Cuts behind line feeds."""

_LETTER = r"0-9A-Za-z\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fa5\uac00-\ud7a3"

PRETOKENS = re.compile(
    rf"(?<=[!-~])(?= )|(?<=[!-~\u3001\u3002{_LETTER}]\n)(?=[{_LETTER}])",
)
r"""Cuts where every known pattern (``text.spellings``) begins a pretoken, whatever follows.

Before a space behind ASCII that is no white space: no alternative takes a space but as its first
character or among white space, and none looks further than one character on, where a space and
the end of the text are the same to ``(?!\S)``, and ``$`` stands behind white space only. Behind
one single line feed before a letter or digit: none takes a letter behind a line feed, and one
line feed is one pretoken, or the end of one, for whichever alternative. All these characters have
been what they are in every version of Unicode that the engines know.
"""


def cuts(steps: tuple[PreTokenizerStep, ...]) -> re.Pattern[str] | None:
    """Where a text can be cut without changing its pretokens; None where that is not known."""
    step = steps[0] if len(steps) == 1 else None
    if not isinstance(step, Split) or not isinstance(step.pattern, Pattern):
        return None
    with contextlib.suppress(PatternError):  # said when it is used
        if is_known(parse(step.pattern)):
            return PRETOKENS
    return None


_NAMED = 3
"""How many files a message names."""


def refuse_names(texts: Texts) -> None:
    """Refuses a ``str`` that names a file, from whose letters nobody wants to learn.

    Raises:
        SourceError: it is the name of a file or a folder; or, in a list, all are.
        TypeError: it is bytes.
    """
    if isinstance(texts, (bytes, bytearray)):
        raise TypeError(f"a text is str and a file is Path, not {type(texts).__name__}")
    given = [texts] if isinstance(texts, str) else texts
    if not isinstance(given, (list, tuple)) or not given:
        return
    if all(isinstance(each, str) and names_file(each) for each in given):
        raise SourceError(
            "a str is a text to learn from, and this is the name of a file",
            where=str(given[0]),
            fix=f"to learn from the file, give Path({str(given[0])!r})",
        )


def names_of(texts: Texts) -> str:
    """The files of a training for a message, the first of them where there are many."""
    given = [texts] if isinstance(texts, (str, Path)) else texts
    if not isinstance(given, (list, tuple)):  # it is read once
        return ""
    files = [str(each) for each in given if isinstance(each, Path)]
    more = [f"{len(files) - _NAMED:,} more"] if files[_NAMED:] else []
    return ", ".join([*files[:_NAMED], *more])


def read_texts(
    texts: Texts, cut: re.Pattern[str] | None = None, tick: StepTick = lambda what, number: None
) -> Iterator[str]:
    """The texts one after the other, of files as every command reads corpora.

    A file of plain text is one text, or several where it may be ``cut``; a record of JSONL or a row
    of Parquet is a text. Line ends stay as they are. ``tick`` is told ``"files"``, and how many
    bytes of files on disk were read.

    Raises:
        SourceError, EngineMissingError: as :func:`.corpora.find_files` and
            :func:`.corpora.read_documents`.
    """
    before = 0

    def read(size: int) -> None:
        tick("files", before + size)

    for one in (texts,) if isinstance(texts, (str, Path)) else texts:
        if isinstance(one, str):
            yield repair(one)
        elif isinstance(one, Path):
            for file in find_files([one]):
                if file.kind == "text":
                    yield from _windows(file, cut, read)
                else:
                    for document in read_documents(file):
                        read(document.read)
                        yield document.text
                before += file.size or 0
        else:
            raise TypeError(f"a text is str and a file is Path, not {type(one).__name__}")


class Handed:
    """Texts for a library that asks for them one by one, their bytes counted as they go."""

    # Libraries make errors of their own of what is raised while they ask, or lose it; so it is
    # kept, and raised again behind the block that they ran in.

    def __init__(self, texts: Iterator[str], tick: Tick, where: str = "") -> None:
        self.size = 0
        self._texts = texts
        self._tick = tick
        self._where = where
        self._raised: BaseException | None = None

    def __iter__(self) -> Iterator[str]:
        try:
            for text in self._texts:
                self.size += len(text.encode("utf-8"))
                self._tick(self.size)
                yield text
            if not self.size:
                raise empty(where=self._where)
        except GeneratorExit:
            raise
        except BaseException as error:
            self._raised = error
            raise

    def keep(self, error: Exception) -> Exception:
        """The same error, which will be what comes out."""
        self._raised = error
        return error

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """A block in which the library runs: raises what was raised while it asked."""
        try:
            yield
        finally:
            if self._raised is not None:
                raise self._raised


def _windows(file: CorpusFile, cut: re.Pattern[str] | None, read: Tick) -> Iterator[str]:
    """A file of plain text as one text, or as several where it may be cut."""
    held: list[str] = []
    with naming(file.label), opened(file.path, file.label) as (stream, bytes_read):
        for text in _decoded(stream, file):
            read(bytes_read())
            place = _last(cut, text) if cut else 0
            if place:
                yield "".join([*held, text[:place]])
                held = []
            held.append(text[place:])
    if held:
        yield "".join(held)


def _decoded(stream: BinaryIO, file: CorpusFile) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")()
    read = 0
    while True:
        data, kept = stream.read(WINDOW), decoder.getstate()[0]
        if not read:
            refuse_json(file, data)
        try:
            text = decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            raise SourceError(
                not_utf8(error, read - len(kept)),
                where=file.label,
                fix="a tokenizer learns from text, so make it UTF-8 first",
            ) from None
        if not data:
            return
        read += len(data)
        yield text


def _last(cut: re.Pattern[str], text: str) -> int:
    """The last place where a text can be cut, behind its second character; 0 if there is none.

    What a cut depends on stands within two characters before it.
    """
    start = len(text)
    while start > 2:
        stop, start = start, max(2, start - (1 << 16))
        places = [match.start() for match in cut.finditer(text, start) if match.start() <= stop]
        if places and places[-1] < len(text):
            return places[-1]
    return 0


@dataclass(slots=True)
class Pretokens:
    """Distinct pretokens in the order they first came, and how often each came.

    ``size`` bytes were read; ``unmatched`` of them are in no pretoken.
    """

    counts: Counter[str] = field(default_factory=Counter)
    size: int = 0
    unmatched: int = 0


def native_counter(steps: tuple[PreTokenizerStep, ...]) -> PretokenCounter | None:
    """A counter of the pretokens of a pre-tokenizer that tables can hold."""
    if not steps:
        return None
    try:
        splitter = splitter_of(split_tables(steps))
    except PatternError:
        return None
    return None if splitter is None else counter_of(splitter)


def count(
    texts: Iterable[str],
    steps: tuple[PreTokenizerStep, ...],
    tick: Tick = no_progress,
) -> Pretokens:
    """Cuts texts into pretokens and counts these; ``tick`` is called with the bytes read.

    Raises:
        PatternError: the pattern cannot be run, or not to its end.
    """
    counted, cut = Pretokens(), compiled(steps)
    counter = native_counter(steps)
    for text in texts:
        data = text.encode("utf-8")
        unmatched = None if counter is None else counter.add(data)
        if unmatched is None:
            if counter is not None:  # Python goes on from here
                _take(counted, counter)
                counter = None
            pretokens = cut(text)
            counted.counts.update(pretokens)
            unmatched = 0
            if sum(map(len, pretokens)) != len(text):
                unmatched = len(data) - len("".join(pretokens).encode("utf-8"))
        counted.size += len(data)
        counted.unmatched += unmatched
        tick(counted.size)
    if counter is not None:
        _take(counted, counter)
    return counted


def _take(counted: Pretokens, counter: PretokenCounter) -> None:
    """Takes over what the kernel has counted."""
    counts = counter.counts()
    if counts is None:
        raise defect()
    counted.counts.update(counts)
