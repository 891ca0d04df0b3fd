"""Ctrl-C and SIGTERM end a command at once, whatever it waits for, and leave all as it was."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fixtures import FIXTURES, TOKENIZERS

GGUF = TOKENIZERS / "gguf-tiny/gguf/tiny.gguf"
SOURCE = TOKENIZERS / "gpt2-tiny/huggingface"
TEXT = FIXTURES / "corpora/english.txt"

RUN = """
import sys, time
from pathlib import Path
{before}
sys.argv = ["bpe-interop", *{words!r}]
from bpe_interop.cli import main
main()
"""
WAIT = "open('waiting', 'w').close(); time.sleep(300)"
LEARNING = f"""
import bpe_interop.train
def learned(*given):
    {WAIT}
sys.modules['bpe_interop.train'].learned = learned
"""
CHECKING = f"""
import bpe_interop.compare.conversion
def check_written(*given):
    {WAIT}
bpe_interop.compare.conversion.check_written = check_written
"""
LLAMA = f"""
import bpe_interop.engines.child_process as child
child._START = "import time; {WAIT}"
"""
LISTENING = """
from http.client import HTTPConnection
answer = HTTPConnection.getresponse
def getresponse(self):
    Path("waiting").touch()
    return answer(self)
HTTPConnection.getresponse = getresponse
"""
TRAIN = ["train", TEXT, "-o", "out", "--to", "hf", "--vocab-size", "300"]
CONVERT = ["convert", SOURCE, "out", "--to", "hf", "--force"]
SERVER = ["verify", GGUF, SOURCE, "--engine-a", "llama.cpp@{server}"]


def tree(folder: Path) -> dict[str, bytes | None]:
    """What is in a folder: files with their content, folders."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX's")
@pytest.mark.parametrize(("how", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize(
    ("before", "words", "there"),
    [
        pytest.param(LEARNING, TRAIN, [], id="training"),
        pytest.param(CHECKING, CONVERT, [], id="check"),
        pytest.param(CHECKING, CONVERT, ["tokenizer.json"], id="check beside a target"),
        pytest.param(
            LLAMA,
            ["convert", SOURCE, "out", "--to", "gguf"],
            [],
            id="check in a child process",
            marks=pytest.mark.long,
        ),
        pytest.param(
            LLAMA,
            ["verify", GGUF, SOURCE, "--engine-a", "llama.cpp"],
            [],
            id="side",
            marks=pytest.mark.long,
        ),
        pytest.param(LISTENING, SERVER, [], id="server", marks=pytest.mark.long),
    ],
)
def test_a_wait_ends(
    before: str,
    words: list[object],
    there: list[str],
    how: signal.Signals,
    code: int,
    tmp_path: Path,
) -> None:
    for name in there:
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / name).write_bytes(b"old")
    was = tree(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        server = f"http://127.0.0.1:{silent.getsockname()[1]}"
        named = [str(word).format(server=server) for word in words]
        script = RUN.format(before=before, words=named)
        process = subprocess.Popen([sys.executable, "-c", script], cwd=tmp_path)
        try:
            while not (tmp_path / "waiting").exists():
                assert process.poll() is None, "it ended before it waited"
                time.sleep(0.05)
            process.send_signal(how)
            assert process.wait(30) == code
        finally:
            process.kill()
    assert tree(tmp_path) == was | {"waiting": b""}
