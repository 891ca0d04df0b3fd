"""Damaged files for every reader: the short run of ``python -m trust readers``."""

from __future__ import annotations

import contextlib
import json
import random
import sqlite3
import struct
from pathlib import Path

import pytest

from bpe_interop.errors import FormatError, SourceError
from bpe_interop.formats import Files, all_formats
from fixtures.piece_model import read
from trust import readers
from trust.other_files import beside


def test_every_format_is_tried() -> None:
    assert set(readers.seeds()) == {row.name for row in all_formats()}
    assert set(beside()) == {"lock file", "state file", "report", "corpus"}


@pytest.mark.parametrize("kind", ["lock file", "state file", "report", "corpus"])
def test_files_that_are_not_damaged_are_read(kind: str) -> None:
    for files in beside()[kind].seeds:
        beside()[kind].read(files)


@pytest.mark.parametrize(
    ("part", "value"),
    [("file_number", -1), ("file_number", 2), ("offset", -1), ("offset", 2**63), ("line", -1)],
)
def test_a_place_that_no_corpus_has_is_refused(part: str, value: int, tmp_path: Path) -> None:
    """Kinds of a fault of the long run: a seek that no system makes."""
    state, path = beside()["state file"], tmp_path / "compared.state"
    path.write_bytes(state.seeds[0]["compared.state"])
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        [(result,)] = database.execute("SELECT result FROM parts").fetchall()
        whole = {**json.loads(result), part: value}
        database.execute("UPDATE parts SET result = ?", (json.dumps(whole),))
    with pytest.raises(FormatError, match="it ends in no"):
        state.read({"compared.state": path.read_bytes()})


def test_a_state_with_damaged_tables_is_refused(tmp_path: Path) -> None:
    """Other kinds of a fault of the long run: a schema that is not UTF-8, a name that is NULL."""
    state, path = beside()["state file"], tmp_path / "compared.state"
    data = state.seeds[0]["compared.state"]
    with pytest.raises(FormatError, match="this is no state"):
        state.read({path.name: data.replace(b"CREATE TABLE about", b"CREATE TABL\xae about")})
    path.write_bytes(data)
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute("INSERT INTO about VALUES (NULL, 'x')")
    with pytest.raises(SourceError, match="it was begun"):
        state.read({path.name: path.read_bytes()})


@pytest.mark.parametrize(
    ("inputs", "seed"),
    [(220, 3), *(pytest.param(600, seed, marks=pytest.mark.long) for seed in (1, 2))],
)
def test_damaged_files_are_read_or_refused(inputs: int, seed: int) -> None:
    found = readers.try_readers(inputs, seed)
    assert {name: each.faults for name, each in found.items() if each.faults} == {}
    assert all(each.refused.total() > inputs / 60 for each in found.values())
    assert sum(each.read for each in found.values()) > inputs / 6
    assert all(each.converted for name, each in found.items() if name not in beside())


def test_the_same_seed_makes_the_same_inputs() -> None:
    small = [each for some in readers.seeds().values() for each in some]
    for files in [*small, *(each for kind in beside().values() for each in kind.seeds)]:
        assert readers.damaged(files, random.Random("1")) == readers.damaged(
            files, random.Random("1")
        )
        changed = [readers.damaged(files, random.Random(str(n))) != files for n in range(20)]
        assert sum(changed) > 10


def test_a_run_ends_when_its_time_is_over() -> None:
    assert sum(each.inputs for each in readers.try_readers(1000, 0, seconds=-1).values()) == 0


@pytest.mark.parametrize("name", [row.name for row in all_formats()])
def test_random_tokenizers_of_every_format_are_damaged(name: str) -> None:
    rng = random.Random(1)
    assert len({tuple(readers.generated(name, rng).values()) for _ in range(5)}) > 1
    if name == "sentencepiece":
        [whole] = readers.generated(name, rng).values()
        damaged = [readers.damaged({"tokenizer.model": whole}, rng) for _ in range(200)]
        assert sum(_is_message(files["tokenizer.model"]) for files in damaged) > 100


def _is_message(data: bytes) -> bool:
    try:
        return len(read(data)) > 2
    except (ValueError, IndexError, struct.error):
        return False


def test_faults_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception that is not ours, and a reader that does not end, are faults."""

    def failing(files: Files) -> object:
        raise KeyError("x")

    def endless(files: Files) -> object:
        while True:
            pass

    for load, said, seconds in ((failing, "KeyError", 60), (endless, "took more than", 0.05)):
        monkeypatch.setattr(readers, "_reader", lambda row, load=load: load)
        monkeypatch.setattr(readers, "SECONDS", seconds)
        monkeypatch.setattr(readers, "_converted", lambda files: iter(()))
        found = readers.try_readers(len(readers.seeds()) + len(beside()), 0)
        read = [each for name, each in found.items() if name not in beside()]
        assert all(said in each.faults[0] for each in read)


@pytest.mark.parametrize("data", [b"5", b'"a"', b"null", b"[]", b"{}", b"[[5]]"])
def test_a_document_without_members_is_damaged_too(data: bytes) -> None:
    """What was damaged before may be a number, which has no place to change."""
    for seed in range(40):
        assert isinstance(readers._in_tree(data, random.Random(seed)), bytes)


@pytest.mark.long
def test_two_processes_read_what_one_reads() -> None:
    one = readers._in_processes(300, 4, 60.0, 1)
    two = readers._in_processes(300, 4, 60.0, 2)
    assert {name: (f.inputs, f.read, f.refused, f.faults) for name, f in one.items()} == {
        name: (f.inputs, f.read, f.refused, f.faults) for name, f in two.items()
    }
