"""The parts that are done, in a file from which a later run goes on.

The file is a line of JSON that says what the run is about, and then one line for each part that is
done. Lines are only added, so a run that is killed loses at most the last one.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, BinaryIO, Generic, TypeVar

from ..corpora import Part, Shard, signatures
from ..errors import FormatError, SourceError, TargetError
from ..io import take_lock, unreadable
from ..strict_json import Node, parse, read_as

KIND = "bpe-interop parts done"
SCHEMA = 3
_SYNCED_EVERY = 10.0
"""Seconds after which what was written must be on the disk."""
_ANOTHER = "name another state file"


R = TypeVar("R")


def state_of(path: Path) -> bytes | None:
    """What a state file holds; None where there is none yet.

    Raises:
        SourceError: it cannot be read.
    """
    if path.exists() and not path.is_file():
        raise SourceError("a state is kept in a regular file", where=str(path), fix=_ANOTHER)
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unreadable(error, str(path)) from None


def parse_state(data: bytes, where: str, kind: str) -> Node:
    """The JSON of a state file of some kind.

    Raises:
        FormatError: it is none.
    """
    try:
        node = parse(data, where)
    except FormatError as error:
        raise FormatError(error.what, where=error.where, fix=_ANOTHER) from None
    if node.get("kind").value != kind:
        node.fail(f"this is no file of {kind}", fix=_ANOTHER)
    return node


class Done:
    """Which parts are done, and what became of them.

    Args:
        path: the state file.
        about: what the run does, as JSON: tokenizers, versions, settings.
        shards: the files of the corpus.
        parts: its parts.

    Raises:
        SourceError: the file is about another run, or a file of the corpus cannot be read.
        FormatError: it is no such file.
        TargetError: it cannot be written.
    """

    def __init__(
        self,
        path: Path,
        about: Mapping[str, object],
        shards: Iterable[Shard],
        parts: Iterable[Part],
    ) -> None:
        self._path = path
        ends = [[part.file, part.start, part.end] for part in parts]
        listed = json.dumps(ends).encode("ascii")
        self._head = {
            "kind": KIND,
            "schema": SCHEMA,
            "about": json.loads(json.dumps(about)),
            "files": signatures(shards),
            "parts": [len(ends), hashlib.sha256(listed).hexdigest()],
        }
        self._file: BinaryIO | None = None
        self._anew = False
        self._synced = time.monotonic()

    def read(self, kind: type[R], *, fresh: bool = False) -> dict[int, R]:
        """The results by the number of the part; none where there is no file yet.

        Args:
            kind: the dataclass that a result is.
            fresh: begin the file again where it is about another run.
        """
        where, data = str(self._path), state_of(self._path)
        if not data or (b"\n" not in data and self._begins(data)):
            return {}
        lines = data.split(b"\n")
        head = parse_state(lines[0], where, KIND)
        for key, what in (
            ("schema", "by another version"),
            ("files", "on another corpus, or the files have changed"),
            ("parts", "with parts of another size"),
            ("about", "for other tokenizers, versions or settings"),
        ):
            if head[key].value != self._head[key]:
                if fresh:
                    self._anew = True
                    return {}
                raise SourceError(
                    f"it was begun {what}",
                    where=where,
                    fix="start again with another state file",
                )
        results: dict[int, R] = {}
        # What stands behind the last LF was cut off as it was written.
        for line in lines[1:-1]:
            node = parse(line, where)
            results[node["part"].be(int)] = read_as(kind, node["result"])
        return results

    def __enter__(self) -> Done:
        """Opens the file for more lines, and locks it.

        Raises:
            TargetError: it cannot be written, or another run has it.
        """
        try:
            new = not self._path.exists() or not self._path.stat().st_size
            self._file = self._path.open("ab" if new else "r+b")
            if not take_lock(self._file.fileno()):
                self._file.close()
                raise TargetError(
                    "another run keeps its state there",
                    where=str(self._path),
                    fix="wait for it, or name another state file",
                )
            if self._anew:
                self._file.truncate(0)
            if new or not self._end_at_a_line(self._file):
                self._add(self._head)
        except OSError as error:
            raise self._unwritable(error) from None
        return self

    def __exit__(self, *error: object) -> None:
        """Closes it."""
        if self._file is not None:
            self._file.close()

    def add(self, number: int, result: object) -> None:
        """Keeps the result of a part, a dataclass, as JSON.

        Raises:
            TargetError: it cannot be written.
        """
        self._add({"part": number, "result": result})

    def _add(self, line: object) -> None:
        if self._file is None:
            return
        try:
            written = json.dumps(line, ensure_ascii=True, default=_fields_of)
            self._file.write(written.encode("ascii") + b"\n")
            self._file.flush()
            if time.monotonic() - self._synced > _SYNCED_EVERY:
                os.fsync(self._file.fileno())
                self._synced = time.monotonic()
        except OSError as error:
            raise self._unwritable(error) from None

    def _begins(self, data: bytes) -> bool:
        """Whether this is the beginning of our first line, cut off as it was written."""
        return json.dumps(self._head).encode("ascii").startswith(data)

    def _end_at_a_line(self, file: BinaryIO) -> int:
        """Takes away a line that was cut off, and says how many bytes are left."""
        data = file.read()
        left = data.rfind(b"\n") + 1
        file.truncate(left)
        return file.seek(left)

    def _unwritable(self, error: OSError) -> TargetError:
        return TargetError(
            f"cannot be written: {error.strerror}",
            where=str(self._path),
            fix="choose a folder where you may write, with enough free space",
        )


@dataclass
class Kept(Generic[R]):
    """The results that a run before had by the number of the part, and the file for more."""

    results: dict[int, R]
    file: Done | None

    def add(self, number: int, result: R) -> None:
        """Keeps the result of a part, where there is a file.

        Raises:
            TargetError: it cannot be written.
        """
        if self.file is not None:
            self.file.add(number, result)


def _fields_of(result: Any) -> dict[str, object]:
    return {each.name: getattr(result, each.name) for each in fields(result)}


@contextlib.contextmanager
def keeping(
    state: str | Path | None,
    about: Mapping[str, object],
    shards: Iterable[Shard],
    parts: Iterable[Part],
    kind: type[R],
    *,
    fresh: bool = False,
) -> Iterator[Kept[R]]:
    """What a state has, and keeps while the block runs; without a state, nothing.

    Args:
        state: the file.
        about: what the run does.
        shards: the files of the corpus.
        parts: its parts.
        kind: the dataclass that a result is.
        fresh: begin again where the state is of another run.

    Raises:
        The errors of :class:`Done`.
    """
    if state is None:
        yield Kept({}, None)
        return
    done = Done(Path(state), about, shards, parts)
    results = done.read(kind, fresh=fresh)
    with done:
        yield Kept(results, done)
