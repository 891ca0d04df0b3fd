"""What reaches a terminal, and how a command ends when it is stopped or nobody listens."""

from __future__ import annotations

import ast
import io
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from command_line import Command

from bpe_interop.cli.terminal import wrapped
from bpe_interop.limits import MESSAGE_CHARACTERS
from fixtures import ROOT, TOKENIZERS

pytestmark = pytest.mark.usefixtures("few_texts")

TINY = TOKENIZERS / "cl100k-tiny"
EVIL = "\x1b[31m\x1b]0;owned\x07\x9b2J\u202e\x08\r"
HUB = json.loads((TINY / "huggingface" / "tokenizer.json").read_bytes())


def is_clean(text: str) -> bool:
    return all(char.isprintable() or char == "\n" for char in text)


def test_no_control_character_of_a_file_reaches_the_terminal(
    command: Command, tmp_path: Path
) -> None:
    folder = tmp_path / f"dir{EVIL}".replace("\r", "")
    folder.mkdir()
    corpus = folder / f"corpus{EVIL}.txt"
    corpus.write_text("some text\n", "utf-8")
    for name, whole in {
        "key": {**HUB, "model": {**HUB["model"], EVIL: 1}},
        "top": {**HUB, EVIL: [1]},
        "type": {**HUB, "normalizer": {"type": EVIL}},
        "pattern": {**HUB, "pre_tokenizer": {"type": "Split", "pattern": {"Regex": f"({EVIL}"}}},
        "fine": HUB,
    }.items():
        (folder / name).mkdir()
        (folder / name / "tokenizer.json").write_text(json.dumps(whole), "utf-8")
    asked: list[tuple[object, ...]] = [
        *(("inspect", folder / name) for name in ("key", "top", "type", "pattern", "none", "fine")),
        ("inspect", folder),
        ("inspect", folder / "fine", "--corpus", corpus),
        ("encode", folder / "fine", EVIL, "--show"),
        ("encode", folder / "fine", EVIL, "--explain"),
        ("convert", folder / "fine", folder / f"out{EVIL}", "--to", "hf", "--no-verify"),
        ("convert", folder / "fine", folder / f"out{EVIL}", "--to", "hf", "--no-verify"),
        ("lock", folder / "fine", "-o", folder / f"lock{EVIL}"),
        ("lock", folder / "fine", "--preset", EVIL),
        ("train", corpus, "-o", folder / "t", "--to", "hf", "--merges", "1", "--special", EVIL),
        ("train", corpus, "-o", folder / "t", "--option", EVIL),
        ("formats", EVIL),
        (EVIL,),
    ]
    for one in asked:
        done = command(*one)
        assert is_clean(done.err), (one, done.err)
        assert is_clean(done.out), (one, done.out)


def test_a_message_is_cut_in_its_middle(command: Command, tmp_path: Path) -> None:
    whole = {**HUB, "x" * 9_000: [1]}
    (tmp_path / "tokenizer.json").write_text(json.dumps(whole), "utf-8")
    done = command("inspect", tmp_path)
    assert done.code == 2
    assert len(done.err) <= MESSAGE_CHARACTERS.most + 1
    assert done.err.startswith("error: ")
    assert "remove the key" in done.err


class Terminal(io.StringIO):
    """Looks like a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("before", range(60, 80))
@pytest.mark.parametrize("quoted", ['" !A"', '"a \\" b"', "b'\\xc3 a'", "' x'", '" it\'s "'])
def test_no_line_is_broken_in_a_quoted_text(
    monkeypatch: pytest.MonkeyPatch, quoted: str, before: int
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = ("isn't it " * 10)[:before] + f" {quoted} and what stands behind it; don't"
    lines = [*wrapped(text, Terminal(), used=12)]
    assert len(lines) > 1
    assert any(quoted in line for line in lines)
    assert " ".join(lines).split() == text.split()


def test_the_lines_of_an_item_stand_under_its_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    text = "refused:\n  - vocab: a text that is longer than a line"
    assert [*wrapped(text, Terminal())] == [
        "refused:",
        "  - vocab: a text that is",
        "    longer than a line",
    ]


def test_only_one_module_writes_messages() -> None:
    """Data (JSON and ids) is ASCII, and what decode writes is bytes."""
    data = {"as_json", "ids_as_json", "verify_command", "encode_command"}
    for path in (ROOT / "bpe_interop" / "cli").glob("*.py"):
        if path.name == "terminal.py":
            continue
        for function in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(function, ast.FunctionDef) and function.name not in data:
                calls = [ast.unparse(n.func) for n in ast.walk(function) if isinstance(n, ast.Call)]
                assert "click.echo" not in calls, f"{path.name}: {function.name}"


@pytest.mark.parametrize("closed", [(1,), (0, 1), (0, 1, 2), (1, 2)])
def test_a_closed_standard_output_is_told(tmp_path: Path, closed: tuple[int, ...]) -> None:
    shut = " ".join(f"{number}>&-" for number in closed)
    line = f'exec "$0" -m bpe_interop convert "$1" out --to hf --no-verify {shut}'
    done = subprocess.run(
        ["sh", "-c", line, sys.executable, str(TINY / "tiktoken")],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert 2 in closed or done.stderr.startswith("error: standard output is closed")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("closed", ["0<&-", "2>&-", "0<&- 2>&-"])
def test_other_closed_streams_do_not_matter(tmp_path: Path, closed: str) -> None:
    line = f'exec "$0" -m bpe_interop convert "$1" out --to hf --no-verify {closed}'
    done = subprocess.run(
        ["sh", "-c", line, sys.executable, str(TINY / "tiktoken")],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        check=False,
    )
    assert done.returncode == 0
    assert b"wrote" in done.stdout


@pytest.mark.parametrize("delay", [0.05, 0.1, 0.2, 0.3, 0.5])
def test_an_early_interrupt_is_130(tmp_path: Path, delay: float) -> None:
    """From the moment that the package is imported: before it, Python itself is interrupted."""
    script = f"""
        import os, signal, sys, threading
        sys.argv = ["bpe-interop", "verify", {str(TINY / "tiktoken")!r}, {str(TINY)!r}]
        from bpe_interop.__main__ import main
        threading.Timer({delay}, os.kill, (os.getpid(), signal.SIGINT)).start()
        main()
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (130, 2), done.stderr
    assert "Traceback" not in done.stderr
    assert (
        done.returncode == 130
        or "several tokenizers" in done.stderr
        or "no tokenizer" in done.stderr
    )


LOST = {
    "a finalizer": """
        class Late:
            def __del__(self):
                {kill}
                for _ in range(100_000): pass
        def invoked(*a, **k):
            Late()
            time.sleep(20)
    """,
    "a library that makes another error of it": """
        def invoked(*a, **k):
            try:
                {kill}
                time.sleep(20)
            except BaseException:
                raise ValueError("something else")
    """,
    "an error of ours": """
        def invoked(*a, **k):
            try:
                {kill}
                time.sleep(20)
            except BaseException:
                raise bpe_interop.errors.EngineError("it failed")
    """,
    "an import": """
        def invoked(*a, **k):
            try:
                {kill}
                time.sleep(20)
            except BaseException:
                raise ImportError("cannot import")
    """,
}


@pytest.mark.long
@pytest.mark.parametrize(("how", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
@pytest.mark.parametrize("where", LOST)
def test_no_signal_is_lost_nor_called_a_difference(where: str, how: str, code: int) -> None:
    kill = f"os.kill(os.getpid(), signal.{how})"
    script = "import os, signal, sys, time, bpe_interop.cli, bpe_interop.errors\n"
    script += textwrap.dedent(LOST[where]).replace("{kill}", kill)
    script += (
        "import bpe_interop.cli.formats as f\n"
        "f.formats_command.callback = invoked\n"
        "sys.argv = ['bpe-interop', 'formats']\n"
        "bpe_interop.cli.main()\n"
    )
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert time.monotonic() - start < 15


def test_an_ignored_interrupt_stays_ignored() -> None:
    """``nohup`` and shells' background jobs start programs so."""
    script = """
        import os, signal, sys
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        import bpe_interop.cli, bpe_interop.cli.formats as f
        f.formats_command.callback = lambda **k: os.kill(os.getpid(), signal.SIGINT)
        sys.argv = ["bpe-interop", "formats"]
        bpe_interop.cli.main()
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert done.returncode == 0
    assert signal.SIGINT


NAMES = {
    "not UTF-8": (b"out\xff", {}),
    "not ASCII under LANG=C": (
        "a\u00f6\u4e2d".encode(),
        {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
    ),
}


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
@pytest.mark.parametrize("what", NAMES)
def test_transformers_reads_folders_of_any_name(tmp_path: Path, what: str) -> None:
    name, locale = NAMES[what]
    folder = os.path.join(os.fsencode(tmp_path), name)
    os.mkdir(folder)
    for path in (TINY / "huggingface").iterdir():
        Path(os.fsdecode(folder), path.name).write_bytes(path.read_bytes())
    script = """
        import sys
        from bpe_interop.engines.transformers import read_directory
        print(read_directory(sys.argv[1]).encode("a"))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), folder],
        env={**os.environ, "PYTHONPATH": str(ROOT), **locale},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
