"""Transcripts of commands: what each printed, and how it ended.

``tests/docs/transcripts/NAME.txt`` holds commands, each behind ``$`` and followed by its exit code
(where it is not 0), stdout, and stderr behind ``!``. ``python tests/transcripts.py`` runs the
commands that are there and writes down what they print now: the difference is to be reviewed.
A command that fails must leave all files as they were.
"""

from __future__ import annotations

import gzip
import json
import re
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

import pytest
from command_line import Command, Outcome, in_process
from reports import few_texts

from bpe_interop.cli import progress

ROOT = Path(__file__).resolve().parents[1]
TRANSCRIPTS = ROOT / "tests" / "docs" / "transcripts"

_TOKENIZERS = {
    "ranks": "gpt2-tiny/tiktoken",
    "hub": "gpt2-tiny/huggingface",
    "pair": "gpt2-tiny/gpt2",
    "shuffled": "shuffled-tiny/gpt2",
    "cl100k": "cl100k-tiny/huggingface",
    "pieces": "spm-tiny/sentencepiece",
    "models/one": "gpt2-tiny/huggingface",
    "models/two": "cl100k-tiny/huggingface",
}
_FILES = {
    "text.txt": b"hello hello hello",
    "abab.txt": b"abab abab\n",
    "empty.txt": b"",
    "long.txt": b"a" * 100_001,
    "latin.txt": b"caf\xe9\n",
    "packed.txt.gz": gzip.compress(b"#version\na b\n", mtime=0),
    "unigram.json": json.dumps({"version": "1.0", "model": {"type": "Unigram"}}).encode(),
    "empty.lock": b"",
    "conflict.lock": b"<<<<<<< HEAD",
    "half.lock": b'{"bpe_interop_lock": 1',
    "other.lock": b"{}",
    "newer.lock": b'{"bpe_interop_lock": 99}',
    "README": b"words",
    "short.model": b"IQ== 0\nIg= 1\n",
    "binary.model": b"\n\x0e\x0f",
    "ranks.model": b"IQ== 0\n",
    "three.json": b'{"model": 3}',
    "rows.jsonl": b'{"id": 1, "body": "abab"}\n',
    "twice.txt": b"a b\nc\na b\n",
    "object.json": b"{}",
    "number.json": b'[{"content": 1}]',
    "twice.json": b'["a", {"content": "a", "lstrip": true}]',
    "special.json": b'[{"content": "a", "special": true}]',
}


def prepare(folder: Path) -> None:
    """What the commands are about: tokenizers, two of them in one folder, and files."""
    tiny = ROOT / "fixtures" / "tokenizers"
    for name, place in _TOKENIZERS.items():
        shutil.copytree(tiny / place, folder / name)
    for name, content in _FILES.items():
        (folder / name).write_bytes(content)
    (folder / "here").mkdir()
    (folder / "two").mkdir()
    ranks = (folder / "ranks" / "gpt2-tiny.tiktoken").read_bytes()
    for name in ("a.tiktoken", "b.tiktoken"):
        (folder / "two" / name).write_bytes(ranks)
    shutil.copytree(folder / "two", folder / "mixed")
    shutil.copytree(folder / "pair", folder / "mixed", dirs_exist_ok=True)


def commands(transcript: str) -> list[str]:
    """The commands of a transcript."""
    return re.findall(r"^\$ (.*)$", transcript, re.M)


def run(lines: list[str], folder: Path) -> str:
    """The transcript of commands that run one after the other in a new folder."""
    prepare(folder)
    with pytest.MonkeyPatch.context() as patch, in_process(patch) as call:
        patch.chdir(folder)
        patch.setenv("COLUMNS", "100")
        # click would name the program that runs the tests.
        patch.setattr(sys.modules["__main__"], "__package__", None, raising=False)
        patch.setattr(progress, "BEAT", 1e6)
        few_texts(patch)
        return "\n".join(shown(line, ended(line, call)) for line in lines)


def ended(line: str, call: Command) -> Outcome:
    """How a command ended; behind ``<`` stands the file that it reads."""
    words, _, file = line.partition(" < ")
    program, *arguments = shlex.split(words)
    assert program == "bpe-interop", line
    before = tree()
    done = call(*arguments, stdin=Path(file).read_bytes() if file else b"")
    assert done.code == 0 or tree() == before, f"it failed, and left something: {line}"
    return done


def tree() -> dict[Path, tuple[int, int] | None]:
    """What is in the current folder: files with their size and when they were written, folders."""
    found: dict[Path, tuple[int, int] | None] = {}
    for path in Path().rglob("*"):
        about = path.stat()
        found[path] = (about.st_size, about.st_mtime_ns) if path.is_file() else None
    return found


def shown(line: str, done: Outcome) -> str:
    """A command and what came of it, without the versions of libraries."""
    errors = re.sub("^", "! ", done.err.rstrip("\n"), flags=re.M) if done.err else ""
    parts = [f"$ {line}", f"[{done.code}]" if done.code else "", done.out.rstrip("\n"), errors]
    text = "\n".join(part for part in parts if part)
    text = re.sub(r"(?<=[a-z] )\d+\.\d+\.\d+\b", "VERSION", text)
    text = re.sub(r"^encoding {4}.*", "encoding    BY", text, flags=re.M)  # the kernel, or Python
    return re.sub(r" +$", "", text, flags=re.M) + "\n"


def main() -> None:
    """Writes all transcripts again."""
    for path in sorted(TRANSCRIPTS.glob("*.txt")):
        with tempfile.TemporaryDirectory() as folder:
            path.write_text(run(commands(path.read_text("utf-8")), Path(folder)), "utf-8")


if __name__ == "__main__":
    main()
