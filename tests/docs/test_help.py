"""Help, completion and near misses: what somebody meets who has never used a command."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import shutil
import struct
import subprocess
import sys
import termios
from fcntl import ioctl
from pathlib import Path

import click
import pytest
from command_line import Command

from bpe_interop.cli import COMMANDS, cli
from bpe_interop.cli.manual import DocumentedCommand
from fixtures import ROOT, TOKENIZERS
from fixtures.gguf_models import STRING, gguf

pytestmark = pytest.mark.usefixtures("few_texts")

QWEN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+"
ENDLESS = "--serve"


def commands() -> dict[str, click.Command]:
    context = click.Context(cli)
    found = {name: cli.get_command(context, name) for name in COMMANDS}
    return {name: command for name, command in found.items() if command is not None}


def explained(name: str) -> DocumentedCommand:
    found = commands()[name]
    assert isinstance(found, DocumentedCommand)
    return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the examples are about: two tokenizers and a `.model`, a text and JSONL."""
    for name, fixture in (("my-tok", "cl100k-tiny"), ("old-tok", "gpt2-tiny")):
        shutil.copytree(TOKENIZERS / fixture / "huggingface", tmp_path / name)
    pieces = TOKENIZERS / "spm-tiny" / "sentencepiece" / "tokenizer.model"
    shutil.copyfile(pieces, tmp_path / "tokenizer.model")
    (tmp_path / "story.txt").write_text("the year 2023 and the year 2024\n" * 3, "utf-8")
    (tmp_path / "parts").mkdir()
    line = json.dumps({"body": "the year 2023 and the year 2024"})
    (tmp_path / "parts" / "1.jsonl").write_text(f"{line}\n{line}\n", "utf-8")
    (tmp_path / "old.gguf").write_bytes(gguf({"general.architecture": (STRING, "gpt2")}))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def examples() -> list[str]:
    return [line for name in COMMANDS for line in explained(name).examples]


def test_the_list_of_commands_has_their_own_first_sentences() -> None:
    """It is shown without importing them."""
    assert {name: each.get_short_help_str(100) for name, each in commands().items()} == COMMANDS


@pytest.mark.parametrize("name", COMMANDS)
def test_help_ends_with_examples_and_exit_codes(command: Command, name: str) -> None:
    done = command(name, "--help")
    assert done.code == 0
    _, _, rest = done.out.partition("\nExamples:\n")
    shown, _, codes = rest.partition("\nExit codes:\n")
    lines = explained(name).examples
    assert len(lines) >= 2
    assert all(f"\n    {line}\n" in shown for line in lines)
    assert max(map(len, done.out.splitlines())) <= 80
    assert any(
        line.startswith(f"bpe-interop {name} ") or line == f"bpe-interop {name}" for line in lines
    )
    assert {"0", "2"} <= {row.split()[0] for row in codes.splitlines() if row.startswith("  ")}


@pytest.mark.long
@pytest.mark.parametrize("line", examples())
def test_examples_do_what_they_say(command: Command, folder: Path, line: str) -> None:
    if ENDLESS in line:
        parsed = commands()["view"].make_context("view", shlex.split(line)[2:])
        assert parsed.params["serve"] is True
        return
    if line.startswith("bpe-interop verify tokenizer.lock"):
        assert command("lock", "my-tok").code == 0
    if line.startswith("bpe-interop verify-shards ids"):
        assert command("encode", "my-tok", "--corpus", "story.txt", "-o", "ids").code == 0
    line, _, file = line.partition(" < ")
    stdin = Path(file).read_bytes() if file else b""
    if line.startswith("echo "):
        typed, _, line = line.removeprefix("echo ").partition(" | ")
        stdin = typed.encode() + b"\n"
    for part in line.split(" | "):
        done = command(*shlex.split(part)[1:], stdin=stdin)
        stdin = done.raw
        # The two tokenizers differ, which verify answers with 1.
        assert done.code == ("verify my-tok old-tok" in part), done.err
    if "-o " in line:
        assert Path(line.partition("-o ")[2].split()[0]).exists()


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("ver", "plain,verify"),
        ("convert a b --to hu", "plain,huggingface"),
        ("inspect a --preset cl100k", "plain,cl100k_base"),
        ("verify a b --preset-b gpt", "plain,gpt2"),
        ("verify a b --engine-b sent", "plain,sentencepiece"),
        ("inspect my", "file,my"),
        ("train sto", "file,sto"),
        ("verify a b --corpus sto", "file,sto"),
    ],
)
def test_a_shell_is_told_what_can_follow(words: str, offered: str) -> None:
    asked = ["bpe-interop", *words.split()]
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from bpe_interop.cli import cli; cli.main(prog_name='bpe-interop')",
        ],
        env={
            **os.environ,
            "_BPE_INTEROP_COMPLETE": "bash_complete",
            "COMP_WORDS": " ".join(asked),
            "COMP_CWORD": str(len(asked) - 1),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert offered in done.stdout.splitlines()


def on_a_terminal(columns: int, *words: object, **environment: str) -> str:
    """What a command shows on a terminal of so many columns."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    kept = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    with subprocess.Popen(
        [sys.executable, "-m", "bpe_interop", *map(str, words)],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env={**kept, "TERM": "xterm-256color", **environment},
    ) as process:
        os.close(theirs)
        said = b""
        try:
            while data := os.read(ours, 4096):
                said += data
        except OSError:  # the other end is closed
            pass
        process.wait(30)
    os.close(ours)
    return said.decode().replace("\r\n", "\n")


@pytest.fixture
def long_pattern(folder: Path) -> Path:
    path = folder / "my-tok" / "tokenizer.json"
    whole = json.loads(path.read_bytes())
    whole["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = QWEN
    path.write_text(json.dumps(whole), "utf-8")
    return path


def test_long_patterns_are_folded(command: Command, long_pattern: Path) -> None:
    shown, whole = command("inspect", "my-tok"), command("inspect", "my-tok", "--full")
    assert QWEN not in shown.out
    assert "--full shows them" in shown.out
    assert QWEN in whole.out


def test_a_terminal_gets_lines_that_end_between_words(folder: Path) -> None:
    words = set(on_a_terminal(400, "inspect", "my-tok").split())
    narrow = on_a_terminal(60, "inspect", "my-tok")
    assert set(narrow.split()) == words
    assert all(len(line) <= 60 or len(line.split()) < 3 for line in narrow.splitlines())
    message = on_a_terminal(40, "inspect", "my-tok", "--from", "hugginface")
    assert all(len(line) <= 40 for line in message.splitlines())
    assert message.split()[:3] == ["error:", "there", "is"]


@pytest.mark.long
def test_a_table_that_is_too_wide_becomes_blocks(folder: Path) -> None:
    asked = ("inspect", "my-tok", "old-tok", "--corpus", "story.txt")
    wide, narrow = on_a_terminal(200, *asked), on_a_terminal(60, *asked)
    assert "story.txt  my-tok        96 " in wide
    assert "story.txt  my-tok\n  bytes          96\n" in narrow
    for columns in (60, 80):
        shown = re.sub(r"\x1b\[[0-9;]*m", "", on_a_terminal(columns, "formats"))
        assert max(map(len, shown.splitlines())) <= columns
    # A usual terminal shows it as a table.
    assert re.search("\nsequence_template +- +holds ", shown)


def test_no_color(folder: Path) -> None:
    asked = ("encode", "my-tok", "the year", "--show")
    assert "\x1b[" in on_a_terminal(80, *asked)
    assert "\x1b[" not in on_a_terminal(80, *asked, NO_COLOR="1")


def test_the_longest_text_of_a_page_is_the_one_that_help_and_docs_name(
    command: Command, tmp_path: Path
) -> None:
    told = " ".join(command("view", "--help").out.split())
    [most] = re.findall(r"--text FILE The text to show, UTF-8, at most ([\d,]+) bytes", told)
    assert f"at most {most} bytes of text" in (ROOT / "docs" / "view.md").read_text("utf-8")
    text, source = tmp_path / "a.txt", TOKENIZERS / "gpt2-tiny" / "huggingface"
    for more, code in ((0, 0), (1, 2)):
        text.write_text("ab" * (int(most.replace(",", "")) // 2) + "a" * more)
        done = command("view", source, "--text", text, "-o", tmp_path / "page.html")
        assert done.code == code
