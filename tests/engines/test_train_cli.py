"""``bpe-interop train`` as its users meet it."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
import tiktoken.load
import zstandard
from command_line import Command

from fixtures import FIXTURES

pytestmark = pytest.mark.usefixtures("few_texts")

ENGLISH = FIXTURES / "corpora" / "english.txt"


@pytest.fixture
def run(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs ``train`` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return partial(command, "train")


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_what_was_written_is_checked_and_proved(run: Command) -> None:
    """A preset's pattern is meant as minbpe means it, so that its file is the same tokenizer."""
    for form, engine in (("tiktoken", "tiktoken"), ("minbpe", "tokenizers")):
        given = ("-o", f"out-{form}", "--to", form, "--vocab-size", "300", "--pattern", "gpt2")
        done = run(ENGLISH, *given)
        assert done.code == 0, done.err
        assert f"checked     target: same ids in {engine} " in done.out
        assert "verdict     PROVED equal to what was learned for every text" in done.out
        assert ("to load " in done.out) is (engine == "tiktoken")


def test_an_engine_that_is_missing_is_told_before_anything_is_learned(
    run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bpe_interop.engines.installed", lambda name: None)
    given = ("-o", "out.gguf", "--vocab-size", "300", "--pattern", "gpt2")
    done = run("not-there.txt", *given)
    assert (done.code, done.out) == (2, "")
    done = run(ENGLISH, *given)
    assert (done.code, done.out) == (2, "")
    told = "llama.cpp is to check what is written, and xllamacpp is not installed"
    assert told in done.err
    assert "write without the check: --no-verify" in " ".join(done.err.split())
    assert not Path("out.gguf").exists()
    done = run(ENGLISH, *given, "--no-verify")
    assert done.code == 0, done.err


@pytest.mark.long
@pytest.mark.parametrize(
    "arguments",
    [
        ("--vocab-size", 400, "--pattern", "o200k", "--special", "<|end|>", "--to", "tiktoken"),
        ("--vocab-size", 400, "--pattern", "gpt2", "--algorithm", "huggingface", "--to", "hf"),
        (
            *("--vocab-size", 500, "--algorithm", "sentencepiece", "--to", "spm"),
            *("--option", "byte_fallback=true", "--option", "character_coverage=0.9995"),
        ),
    ],
)
def test_training_again_gives_the_same_files(tmp_path: Path, arguments: tuple[object, ...]) -> None:
    for name, seed in (("first", 1), ("second", 2)):
        (tmp_path / name).mkdir()
        subprocess.run(
            [
                sys.executable,
                "-m",
                "bpe_interop",
                "train",
                ENGLISH,
                "-o",
                "out",
                "--no-verify",
                *list(map(str, arguments)),
            ],
            cwd=tmp_path / name,
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            check=True,
        )
    first, second = contents(tmp_path / "first"), contents(tmp_path / "second")
    assert first
    assert first == second


def test_a_rank_file_for_tiktoken(run: Command, tmp_path: Path) -> None:
    asked = ("--vocab-size", 300, "--pattern", "gpt2", "--special", "<|end|>")
    done = run(ENGLISH, "-o", "mine.tiktoken", *asked, "--json")
    said = json.loads(done.out)
    assert (said["ids"], said["merges"], said["unmatched_bytes"]) == (301, 44, 0)
    assert said["files"] == ["mine.tiktoken", "mine.tiktoken.json"]
    stated = json.loads((tmp_path / "mine.tiktoken.json").read_text("utf-8"))
    ranks = tiktoken.load.load_tiktoken_bpe(str(tmp_path / "mine.tiktoken"))
    assert stated["special_tokens"] == {"<|end|>": 300}
    encoding = tiktoken.Encoding(
        stated["name"],
        pat_str=stated["pat_str"],
        mergeable_ranks=ranks,
        special_tokens=stated["special_tokens"],
    )
    assert len(encoding.encode_ordinary(ENGLISH.read_bytes().decode())) == said["tokens"]


def jsonl(*texts: str, field: str = "text") -> bytes:
    return b"".join(json.dumps({"id": 1, field: text}).encode() + b"\n" for text in texts)


@pytest.fixture
def corpora(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The texts "abab" and "cdcd" in every shape of a corpus."""
    cache = tmp_path / "hub" / "datasets--org--name"
    folder = cache / "snapshots" / ("0" * 40)
    (folder / "data").mkdir(parents=True)
    (cache / "refs").mkdir()
    (cache / "refs" / "main").write_text("0" * 40)
    (folder / "README.md").write_text("# zzzz zzzz")
    (folder / "data" / "train.jsonl").write_bytes(jsonl("abab", "cdcd"))
    (folder / "data" / "test.txt").write_text("yyyyyy")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    (tmp_path / "a.jsonl").write_bytes(jsonl("abab", "cdcd"))
    (tmp_path / "b.jsonl").write_bytes(jsonl("abab", "cdcd", field="body"))
    (tmp_path / "odd.txt").write_bytes(jsonl("abab", "cdcd", field="body"))
    (tmp_path / "c.jsonl.gz").write_bytes(gzip.compress(jsonl("abab", "cdcd")))
    (tmp_path / "d.jsonl.zst").write_bytes(zstandard.compress(jsonl("abab", "cdcd")))
    table = pyarrow.table({"text": ["abab", "cdcd"]})
    pyarrow.parquet.write_table(table, tmp_path / "e.parquet")
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "1.txt").write_text("abab")
    (tmp_path / "parts" / "2.txt.gz").write_bytes(gzip.compress(b"cdcd"))
    return tmp_path


@pytest.mark.parametrize(
    "names",
    [
        ["a.jsonl"],
        ["b.jsonl:body"],
        ["odd.txt:body"],
        ["c.jsonl.gz"],
        ["d.jsonl.zst"],
        ["e.parquet"],
        ["e.parquet:text"],
        ["parts"],
        ["parts/*.txt*"],
        ["parts/1.txt", "parts/2.txt.gz"],
        ["--", "-:text"],
        ["hf:datasets/org/name/data/train.jsonl"],
        ["hf:datasets/org/name/data/*.jsonl:text"],
        ["hf:datasets/org/name@main/**/train*"],
    ],
    ids=" ".join,
)
def test_it_learns_from_texts_and_not_from_their_files(
    run: Command, corpora: Path, names: list[str]
) -> None:
    asked = ("-o", "out", "--to", "hf", "--min-frequency", 2, "--no-verify", "--json")
    done = run(*asked, *names, stdin=jsonl("abab", "cdcd"))
    assert done.code == 0, done.err
    said = json.loads(done.out)
    assert (said["bytes"], said["merges"]) == (8, 2)
    assert [merge[:2] for merge in said["first_merges"]] == [[97, 98], [99, 100]]


def test_of_a_data_set_files_with_texts_are_read(run: Command, corpora: Path) -> None:
    asked = ("-o", "out", "--to", "hf", "--min-frequency", 9, "--json")
    done = run("hf:datasets/org/name", *asked)
    assert (done.code, json.loads(done.out)["bytes"]) == (0, len("yyyyyyababcdcd"))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("hf:datasets/org/nowhere", "hf download org/nowhere --repo-type dataset"),
        ("hf:datasets/org", "write hf:datasets/org/name"),
        ("hf:datasets/org/name/README.md", "there is: README.md"),
        ("hf:datasets/org/name/nothing", "there is: no file"),
    ],
)
def test_what_cannot_be_read_is_not_learned_from(
    run: Command, corpora: Path, name: str, message: str
) -> None:
    done = run(name, "-o", "out", "--to", "hf", "--min-frequency", 2)
    assert done.code == 2
    assert message in done.err
    assert not (corpora / "out").exists()


RECORDS = b'{"text": "abab"}\n{"text": "abab"}\n'


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("q.json", "q.json"),
        ("q.dat", "q.dat"),
        ("q.json.gz", "q.json.gz"),
        ("folder/a.txt", "folder"),
        ("", "-"),
    ],
)
def test_json_is_not_learned_as_text(run: Command, tmp_path: Path, name: str, given: str) -> None:
    if name:
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(gzip.compress(RECORDS) if name.endswith(".gz") else RECORDS)
    asked = ("-o", "out", "--to", "hf", "--merges", 2, "--no-verify")
    done = run(*asked, given, stdin=RECORDS)
    assert (done.code, (tmp_path / "out").exists()) == (2, False)
    assert "begins as JSON does, and would be read as plain text" in done.err
    typed = name or given
    assert f"put the field of the texts behind its name: {typed}:FIELD;" in done.err
    assert f"if it is plain text all the same: {typed}:-\n" in done.err


def test_json_of_a_pipe_is_not_learned_as_text(run: Command) -> None:
    read, write = os.pipe()
    with open(read, "rb"):
        with open(write, "wb") as file:
            file.write(RECORDS)
        done = run(f"/dev/fd/{read}", "-o", "out", "--to", "hf", "--merges", 2, "--no-verify")
    assert done.code == 2
    assert done.err.startswith(f"error: /dev/fd/{read}: it begins as JSON does")
    assert "behind its name: NAME:FIELD; if it is plain text all the same: NAME:-\n" in done.err


def test_json_is_learned_as_text_where_that_is_said(run: Command, tmp_path: Path) -> None:
    (tmp_path / "q.json").write_bytes(RECORDS)
    asked = ("-o", "out", "--to", "hf", "--merges", 2, "--no-verify", "--force")
    for field, size in (("-", len(RECORDS)), ("text", 8)):
        for name in (f"q.json:{field}", f"-:{field}"):
            done = run(*asked, "--", name, stdin=RECORDS)
            assert f"merges from {size} bytes" in done.out, done.err


def test_a_file_that_holds_the_others_again_is_named(run: Command, tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    texts = {"a.txt": "apples and pears\n" * 9, "b.txt": "plums, or none of them\n" * 9}
    for name, text in {**texts, "short.txt": "plums", "other.txt": "figs " * 60}.items():
        (tmp_path / "texts" / name).write_text(text)
    asked = ("texts", "-o", "out", "--to", "hf", "--merges", 2, "--no-verify", "--force")
    done = run(*asked)
    assert " bytes in 4 files: " in done.out
    assert "again" not in done.out
    (tmp_path / "texts" / "whole.txt").write_text("".join(texts.values()))
    folder = Path("texts")
    said = f"{folder / 'whole.txt'} holds again what {folder / 'a.txt'}, {folder / 'b.txt'} begins"
    assert f"note        {said} with" in run(*asked).out
    assert any(note.startswith(said) for note in json.loads(run(*asked, "--json").out)["notes"])


def test_a_field_of_standard_input_stands_behind_the_options(run: Command) -> None:
    asked = ("-o", "out", "--to", "hf", "--merges", 2, "--no-verify")
    done = run("-:text", *asked, stdin=RECORDS)
    assert done.code == 2
    assert (
        "error: -:text looks like an option: put it last, behind --, as in: -- -:text" in done.err
    )
    assert "merges from 8 bytes" in run(*asked, "--", "-:text", stdin=RECORDS).out
    assert "-- -:FIELD, behind all options" in " ".join(run("--help").out.split())


@pytest.mark.parametrize("to", ["hf", "tiktoken"])
def test_roles_of_what_is_learned(run: Command, tmp_path: Path, to: str) -> None:
    text = b"abab abab"
    asked = ("-o", "out", "--to", to, "--merges", 2, "--special", "<end>", "--pattern", "gpt2")
    lost = ("--drop", "added") if to == "tiktoken" else ()
    said = ("--role", "eos=<end>", "--role", "pad=<pad>", "--bos", "<s>")
    done = run("-", *asked, *said, *lost, stdin=text)
    assert done.code == 0, done.err
    assert "3 of them special" in done.out
    shown = re.search(r"^special +(.*)$", done.out, re.M)
    assert shown is not None
    told = {re.sub(r" \d+", "", each) for each in shown[1].split(", ")}
    assert told == {'"<end>" eos', '"<pad>" pad', '"<s>" bos'}
    if to == "hf":
        config = json.loads((tmp_path / "out" / "tokenizer_config.json").read_text("utf-8"))
        named = [config[f"{role}_token"] for role in ("eos", "pad", "bos")]
        assert named == ["<end>", "<pad>", "<s>"]


def test_what_is_there_is_not_replaced(run: Command, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "merges.txt").write_bytes(b"")
    asked = ("-", "-o", "out", "--to", "hf", "--merges", 1)
    done = run(*asked, stdin=b"abab")
    assert (done.code, "already there" in done.err) == (2, True)
    assert run(*asked, "--force", stdin=b"abab").code == 0
    assert "merges.txt" not in contents(tmp_path / "out")
