"""Kills a command before each of its file-system calls, and looks at what it leaves.

A command runs in a forked child, which counts the calls of Python's file system (its audit
events) that are about the working folder, and the statements of SQLite, and kills itself before
the n-th, for every n. After each kill the target must be as it was, or as it was to be, or refused;
all else in the folder must be untouched; and the same command must then end well and leave nothing
behind.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pkgutil
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import click

import bpe_interop
from bpe_interop.compare.corpus import Corpora, compare_corpora
from bpe_interop.compare.lock import dump, lock
from bpe_interop.errors import BpeInteropError
from bpe_interop.sources import load_source

from .other_files import two_sides
from .page import made_of, put, table, write_option

_TOKENIZERS = Path(__file__).parents[1] / "fixtures" / "tokenizers"
_TINY, _OTHER = _TOKENIZERS / "cl100k-tiny", _TOKENIZERS / "gpt2-tiny"
_EVENTS = ("open", "os.", "shutil.", "tempfile.", "ctypes.dlsym")
_LITTER = ".bpe-interop-"

State: TypeAlias = Literal["old", "new", "refused"]
Tree: TypeAlias = Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Operation:
    """A command or a call, what lies in its folder before, and where it writes.

    ``target`` is a file or a folder; ``pair`` says that a sidecar belongs to it, ``again`` that
    it is a database of SQLite, with its journal beside it, which is written several times.
    """

    name: str
    does: tuple[str, ...] | Callable[[], object]
    target: str
    prepare: Callable[[Path], None] = lambda folder: None
    pair: bool = False
    again: bool = False


@dataclass(slots=True)
class Found:
    """What was left after the kills of one operation."""

    points: int = 0
    left: Counter[State] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


def _copied(folder: Path) -> None:
    shutil.copytree(_TINY, folder / "in")
    (folder / "text.txt").write_text("one two three\nfour five\n" * 20, "utf-8")


def _save(target: str) -> Callable[[], object]:
    """``Tokenizer.save`` in the place of what is there."""

    def save() -> None:
        format = None if target.endswith(".tiktoken") else "hf"
        bpe_interop.load("in/tiktoken").save(target, format=format, force=True)

    return save


def _compare() -> None:
    """What ``verify --state`` does with its corpora and its state file."""
    compare_corpora(two_sides(), Corpora(("text.txt",), processes=0, state=Path("compared.state")))


def _with_folder(folder: Path) -> None:
    _copied(folder)
    shutil.copytree(_OTHER / "huggingface", folder / "out")


def _with_pair(folder: Path) -> None:
    _copied(folder)
    ranks = _OTHER / "tiktoken" / "gpt2-tiny.tiktoken"
    shutil.copy(ranks, folder / "x.tiktoken")
    shutil.copy(ranks.with_name(f"{ranks.name}.json"), folder / "x.tiktoken.json")


def _with_plugin(folder: Path) -> None:
    _copied(folder)
    bpe_interop.convert(
        _OTHER / "tiktoken", folder / "out", "tiktoken", options=["plugin"], verify=False
    )


def _with_files(folder: Path) -> None:
    _copied(folder)
    for name in ("view.html", "report.json"):
        (folder / name).write_bytes(b"old")
    old = bpe_interop.load(_OTHER / "tiktoken").model
    (folder / "tokenizer.lock").write_bytes(dump(lock(old, "old", {})))


_CONVERT = ("convert", "in/tiktoken")
_PLUGIN = (*_CONVERT, "out", "--to", "tiktoken", "--plugin")
_EXTEND = ("extend", "in/tiktoken")
_TRAIN = ("train", "text.txt", "--merges", "3", "--pattern", "gpt2", "--force", "-o")
_REST = ("--no-verify", "--force")
OPERATIONS: tuple[Operation, ...] = (
    Operation("convert, new folder", (*_CONVERT, "out", "--to", "hf", *_REST), "out", _copied),
    Operation("convert, folder", (*_CONVERT, "out", "--to", "hf", *_REST), "out", _with_folder),
    Operation("convert, new pair", (*_CONVERT, "x.tiktoken", *_REST), "x.tiktoken", _copied, True),
    Operation("convert, pair", (*_CONVERT, "x.tiktoken", *_REST), "x.tiktoken", _with_pair, True),
    Operation(
        "convert, folders above",
        (*_CONVERT, "a/b/out", "--to", "gpt2", "--drop", "added", "--drop", "pretokenizer",
         "--drop", "lookup_first", "--drop", "sequence_template", *_REST),
        "a/b/out",
        _copied,
    ),
    Operation(
        "extend, folder",
        (*_EXTEND, "out", "--to", "hf", "--special", "<x>", *_REST),
        "out",
        _with_folder,
    ),
    Operation(
        "extend, pair",
        (*_EXTEND, "x.tiktoken", "--special", "<x>", *_REST),
        "x.tiktoken",
        _with_pair,
        True,
    ),
    Operation("train, folder", (*_TRAIN, "out", "--to", "hf"), "out", _with_folder),
    Operation("train, pair", (*_TRAIN, "x.tiktoken"), "x.tiktoken", _with_pair, True),
    Operation("lock", ("lock", "in/tiktoken"), "tokenizer.lock", _with_files),
    Operation("view", ("view", "in/tiktoken", "--text", "text.txt", "-o", "view.html"),
              "view.html", _with_files),
    Operation("convert --plugin, new folder", (*_PLUGIN, *_REST), "out", _copied),
    Operation("convert --plugin, folder", (*_PLUGIN, *_REST), "out", _with_plugin),
    Operation("Tokenizer.save, folder", _save("out"), "out", _with_folder),
    Operation("Tokenizer.save, pair", _save("x.tiktoken"), "x.tiktoken", _with_pair, True),
    Operation("verify --state", _compare, "compared.state", _copied, again=True),
)  # fmt: skip


def kill_everywhere(operation: Operation, again: int = 1) -> Found:
    """Kills an operation before each of its calls, and looks.

    Args:
        operation: what to run.
        again: after every so many kills the command is run once more, to its end.
    """
    _import_all()
    found = Found()
    with tempfile.TemporaryDirectory() as root:
        whole = Path(root, "whole")
        before = _prepared(operation, whole)
        code, found.points = _run(operation, whole, None)
        after = _tree(whole)
        if code != 0:
            found.faults.append(f"exit {code} without a kill")
            return found
        for point in range(1, found.points + 1):
            folder = Path(root, str(point))
            _prepared(operation, folder)
            code, _ = _run(operation, folder, point)
            if code != -signal.SIGKILL:
                found.faults.append(f"{point}: not killed, exit {code}")
                continue
            try:
                found.left[_left(operation, folder, before, after)] += 1
            except ValueError as error:
                found.faults.append(f"{point}: {error}")
            if point % again == 0:
                found.faults += _faults_again(operation, folder, after, point)
            shutil.rmtree(folder)
    return found


def _import_all() -> None:
    """Imports what commands import when they run, so that no child has to."""
    for found in pkgutil.walk_packages(bpe_interop.__path__, "bpe_interop."):
        if not found.name.endswith(("__main__", "pytest_plugin")):
            importlib.import_module(found.name)
    importlib.import_module("regex")


def _faults_again(operation: Operation, folder: Path, after: Tree, point: int) -> Iterator[str]:
    """What is wrong with a second run, which must end well and leave what the first was to."""
    code, _ = _run(operation, folder, None)
    tree = _tree(folder)
    if code != 0:
        yield f"{point}: exit {code} where it ran again"
    elif not _alike(operation, tree, after):
        yield f"{point}: run again, it left {sorted(set(tree) ^ set(after)) or 'other bytes'}"


def _alike(operation: Operation, again: Tree, after: Tree) -> bool:
    """Whether two runs left the same; a state that was gone on with has another report inside."""
    if operation.again:
        return set(again) == set(after)
    return again == after


def _prepared(operation: Operation, folder: Path) -> Tree:
    folder.mkdir()
    operation.prepare(folder)
    return _tree(folder)


def _tree(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): b"" if path.is_dir() else path.read_bytes()
        for path in sorted(folder.rglob("*"))
    }


def _left(operation: Operation, folder: Path, before: Tree, after: Tree) -> State:
    """What a killed run left.

    Raises:
        ValueError: neither the old target nor the new one, and not refused; or more is changed.
    """
    now = {name: data for name, data in _tree(folder).items() if not _is_litter(name)}
    parts = {operation.target, *(f"{operation.target}.json" for _ in range(operation.pair))}
    parts |= {f"{operation.target}-journal" for _ in range(operation.again)}
    parts |= {str(above) for above in Path(operation.target).parents} - {"."}

    def part(tree: Tree, own: bool) -> dict[str, bytes]:
        return {
            name: data
            for name, data in tree.items()
            if any(name == each or name.startswith(f"{each}/") for each in parts) == own
        }

    if part(now, False) != part(before, False):
        raise ValueError("what is beside the target has changed")
    if part(now, True) == part(before, True):
        return "old"
    if part(now, True) == part(after, True):
        return "new"
    if set(now) < set(after) and not (folder / operation.target).exists() and not operation.pair:
        return "old"
    if operation.again:
        with contextlib.closing(sqlite3.connect(folder / operation.target)) as database:
            if database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]:
                return "new"
    try:
        load_source(folder / operation.target)
    except BpeInteropError:
        return "refused"
    raise ValueError(f"the target is torn: {sorted(part(now, True))}")


def _is_litter(name: str) -> bool:
    return any(step.startswith(_LITTER) for step in Path(name).parts)


def _run(operation: Operation, folder: Path, point: int | None) -> tuple[int, int]:
    """Runs an operation in a child; its exit code (or minus its signal), and the calls it made."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _child(operation, folder, point, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), int(said or b"0")


def _child(operation: Operation, folder: Path, point: int | None, writing: int) -> None:
    from bpe_interop.cli import main

    code, calls = 70, 0
    try:
        os.chdir(folder)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nowhere, number)
        sys.stdout, sys.stderr = (os.fdopen(number, "w") for number in (1, 2))
        does: Callable[[], object] = main
        if isinstance(operation.does, tuple):
            sys.argv = ["bpe-interop", *operation.does]
        else:
            does = operation.does
        home, live = f"{folder.resolve()}{os.sep}", True

        def hook(event: str, arguments: tuple[object, ...]) -> None:
            if not live or not event.startswith(_EVENTS) or event == "os.listdir":
                return
            if event == "open" and arguments[1] in ("r", "rb"):
                return
            named = [os.fsdecode(a) for a in arguments if isinstance(a, (str, bytes, Path))]
            if any(os.path.abspath(a).startswith(home) or a == "renameat2" for a in named):
                count()

        def count() -> None:
            nonlocal calls
            calls += 1
            if calls == point:
                os.kill(os.getpid(), signal.SIGKILL)

        def counted_fsync(fd: Any) -> None:
            count()
            fsync(fd)

        def traced(*given: Any, **more: Any) -> sqlite3.Connection:
            count()
            database: sqlite3.Connection = connect(*given, **more)
            database.set_trace_callback(lambda statement: count())
            return database

        fsync, os.fsync = os.fsync, counted_fsync
        connect, sqlite3.connect = sqlite3.connect, traced  # type: ignore[assignment]
        sys.dont_write_bytecode = True
        sys.addaudithook(hook)
        try:
            does()
            code = 0
        except SystemExit as done:
            code = int(done.code or 0)
        live = False
        os.write(writing, str(calls).encode())
    finally:
        os._exit(code)


def kill_all() -> Iterator[tuple[Operation, Found]]:
    """Each operation, and what its kills left."""
    for operation in OPERATIONS:
        yield operation, kill_everywhere(operation)


@click.command("kills")
@write_option
def kills(page: Path | None) -> None:
    """Kill each command that writes before every file-system call it makes."""
    start = time.monotonic()
    rows: list[list[object]] = []
    faults: list[str] = []
    for operation, found in kill_all():
        left = [found.left[state] for state in ("old", "new", "refused")]
        rows.append([operation.name, found.points, *left, len(found.faults)])
        faults += [f"{operation.name}: {fault}" for fault in found.faults]
    head = ("command", "kills", "left as it was", "left as new", "refused", "faults")
    lines = [*made_of("kills", time.monotonic() - start, {}), "", *table(head, rows)]
    put(page, "kills", [*lines, *(f"- {fault}" for fault in faults)])
    if faults:
        raise SystemExit(1)
