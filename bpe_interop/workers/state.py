"""What a long run has done, in a file of SQLite from which a later run goes on.

The table ``about`` says what the run is about, ``parts`` has what became of each part, as JSON.
A run that is killed loses what it did since the last commit, and no more: SQLite's journal takes
back what was half written.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Generic, TypeVar

from ..corpora import CorpusFile, Part, signatures
from ..errors import BpeInteropError, FormatError, SourceError, TargetError
from ..strict_json import parse, read_as

SCHEMA = 4
_APPLICATION = 0x62706573
_TABLES = (
    "CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT)",
    "CREATE TABLE parts (number INTEGER PRIMARY KEY, result TEXT)",
)
_ANOTHER = "start again with another state file"
_SHARE = 20
"""A commit waits for the disk; at most one part in so many of the time is spent on it."""

R = TypeVar("R")


def holds_nothing(path: Path) -> bool:
    """Whether a file is a state of ours in which no part is done, or is not there."""
    if not path.exists():
        return True
    try:
        with contextlib.closing(sqlite3.connect(os.fsencode(path), timeout=0)) as database:
            [(application,)] = database.execute("PRAGMA application_id")
            done = database.execute("SELECT 1 FROM parts LIMIT 1").fetchall()
            return application == _APPLICATION and not done
    except sqlite3.Error:
        return False


def digest_of(parts: Iterable[Part]) -> list[object]:
    """What tells the parts of a corpus from others."""
    ends = [[part.file_number, part.start, part.end] for part in parts]
    return [len(ends), hashlib.sha256(json.dumps(ends).encode("ascii")).hexdigest()]


class State(Generic[R]):
    """The results of a run before by the number of their part, and the file for more.

    Without a file, nothing is kept.
    """

    def __init__(self, path: Path | None, kind: type[R]) -> None:
        self.results: dict[int, R] = {}
        self._path, self._kind = path, kind
        self._database: sqlite3.Connection | None = None
        self._committed = self._took = 0.0

    def add(self, number: int, result: R) -> None:
        """Keeps the result of a part, a dataclass; TargetError where it cannot be written."""
        self._insert(number, result)

    def replace(self, number: int, result: R) -> None:
        """Keeps one result in place of all others."""
        if self._database is not None:
            with self._telling():
                self._begin(self._database)
                self._database.execute("DELETE FROM parts")
        self._insert(number, result)

    def open(self, about: Mapping[str, object], *, fresh: bool) -> None:
        """Opens the file alone, and reads it.

        Raises:
            The errors of :func:`keeping`.
        """
        path = self._path
        if path is None:
            return
        if path.exists() and not path.is_file():
            raise SourceError(
                "a state is kept in a regular file", where=str(path), fix="name another state file"
            )
        with self._telling():
            # As bytes: a name need not be UTF-8.
            name = os.fsencode(path.absolute())
            database = sqlite3.connect(name, timeout=0, isolation_level=None)
            self._database = database
            database.text_factory = bytes
            database.execute("PRAGMA trusted_schema = OFF")
            # What is locked once stays so until it is closed: a second run finds it locked.
            database.execute("PRAGMA locking_mode = EXCLUSIVE")
            database.execute("BEGIN EXCLUSIVE")
            told = {name: json.dumps(value, sort_keys=True) for name, value in about.items()}
            if self._is_ours(database) and self._is_about(database, told, fresh):
                self.results = dict(self._read(database))
                database.execute("ROLLBACK")
                return
            database.execute("DELETE FROM parts")
            database.execute("DELETE FROM about")
            database.executemany("INSERT INTO about VALUES (?, ?)", told.items())
            self._commit(database)

    def close(self) -> None:
        """Writes what is left, and gives the file back."""
        database, self._database = self._database, None
        if database is None:
            return
        with contextlib.closing(database), self._telling():
            if database.in_transaction:
                database.execute("COMMIT")

    def abandon(self) -> None:
        """Gives the file back as it was."""
        if self._database is not None:
            self._database.close()

    def _is_ours(self, database: sqlite3.Connection) -> bool:
        """Whether it is a state; made one where it is empty."""
        made = database.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
        [(application,)] = database.execute("PRAGMA application_id")
        [(schema,)] = database.execute("PRAGMA user_version")
        if not made and not application:
            for table in _TABLES:
                database.execute(table)
            database.execute(f"PRAGMA application_id = {_APPLICATION}")
            database.execute(f"PRAGMA user_version = {SCHEMA}")
            return False
        tables = {table.encode("ascii") for table in _TABLES}
        if (application, schema, {sql for (sql,) in made}) != (_APPLICATION, SCHEMA, tables):
            raise self._foreign("this is no state of bpe-interop, or one of another version")
        return True

    def _is_about(self, database: sqlite3.Connection, told: Mapping[str, str], fresh: bool) -> bool:
        """Whether it was begun for the same; where it was not, and ``fresh``, it is begun again."""
        begun = dict(database.execute("SELECT name, value FROM about").fetchall())
        now = {name.encode("utf-8"): value.encode("utf-8") for name, value in told.items()}
        if begun == now or fresh:
            return begun == now
        other = {name for name in begun.keys() | now if begun.get(name) != now.get(name)}
        what = "for other tokenizers, versions or settings"
        if b"files" in other:
            what = "on another corpus, or the files have changed"
        elif other == {b"parts"}:
            what = "with parts of another size"
        raise SourceError(f"it was begun {what}", where=str(self._path), fix=_ANOTHER)

    def _read(self, database: sqlite3.Connection) -> Iterator[tuple[int, R]]:
        for number, result in database.execute("SELECT number, result FROM parts"):
            if not isinstance(result, bytes):
                raise self._foreign(f"the result of part {number} is no text")
            where = f"{self._path}, part {number}"
            try:
                yield number, read_as(self._kind, parse(result, where))
            except FormatError as error:
                error.where, error.fix = error.where or where, error.fix or _ANOTHER
                raise

    def _insert(self, number: int, result: R) -> None:
        database = self._database
        if database is None:
            return
        with self._telling():
            self._begin(database)
            text = json.dumps(result, ensure_ascii=True, default=_fields_of)
            database.execute("INSERT OR REPLACE INTO parts VALUES (?, ?)", (number, text))
            if time.monotonic() - self._committed > _SHARE * self._took:
                self._commit(database)

    @staticmethod
    def _begin(database: sqlite3.Connection) -> None:
        if not database.in_transaction:
            database.execute("BEGIN")

    def _commit(self, database: sqlite3.Connection) -> None:
        began = time.monotonic()
        database.execute("COMMIT")
        self._committed = time.monotonic()
        self._took = self._committed - began

    @contextlib.contextmanager
    def _telling(self) -> Iterator[None]:
        """A block in which what goes wrong in SQLite becomes an error that names the file."""
        try:
            yield
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise TargetError(
                    "another run keeps its state there",
                    where=str(self._path),
                    fix="wait for it, or name another state file",
                ) from None
            raise TargetError(
                f"cannot be written: {error}",
                where=str(self._path),
                fix="choose a folder where you may write, with enough free space",
            ) from None
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            # Python reads SQLite's messages as UTF-8, and they quote a damaged schema.
            raise self._foreign(f"this is no state of bpe-interop: {error}") from None

    def _foreign(self, what: str) -> FormatError:
        return FormatError(what, where=str(self._path), fix=_ANOTHER)


def _fields_of(result: Any) -> dict[str, object]:
    return {each.name: getattr(result, each.name) for each in fields(result)}


@contextlib.contextmanager
def keeping(
    path: str | Path | None,
    about: Mapping[str, object],
    files: Iterable[CorpusFile],
    kind: type[R],
    *,
    fresh: bool = False,
) -> Iterator[State[R]]:
    """What a state has, and keeps while the block runs; without a path, nothing.

    Args:
        path: the file.
        about: tokenizers, versions, settings, and how the corpus is cut (``parts``), as JSON.
        files: the files of a corpus.
        kind: the dataclass that a result is.
        fresh: begin again where the state is of another run.

    Raises:
        SourceError: the file is about another run, or a file of the corpus cannot be read.
        FormatError: it is no such file, or damaged.
        TargetError: it cannot be written, or another run has it.
    """
    state = State(None if path is None else Path(path), kind)
    if path is not None:
        about = {**about, "files": signatures(files)}
    try:
        state.open(about, fresh=fresh)
    except BpeInteropError:
        state.abandon()
        raise
    try:
        yield state
    finally:
        state.close()
