"""Ctrl-C and SIGTERM end a command at once, whatever it waits for."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import FIXTURES

GGUF = FIXTURES / "tokenizers/gguf-tiny/gguf/tiny.gguf"
SOURCE = FIXTURES / "tokenizers/gpt2-tiny/huggingface"

RUN = """
import sys
from pathlib import Path
{before}
sys.argv = ["bpe-interop", *{words!r}]
from bpe_interop.cli import main
main()
"""
LLAMA = """
import bpe_interop.engines.child_process as child
child._START = "import time; open('waiting', 'w').close(); time.sleep(300)"
"""
LISTENING = """
from http.client import HTTPConnection
answer = HTTPConnection.getresponse
def getresponse(self):
    Path("waiting").touch()
    return answer(self)
HTTPConnection.getresponse = getresponse
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX's")
@pytest.mark.parametrize(("how", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize(
    ("before", "words"),
    [
        pytest.param(LLAMA, ["convert", SOURCE, "out", "--to", "gguf"], id="check"),
        pytest.param(LLAMA, ["verify", GGUF, SOURCE, "--engine-a", "llama.cpp"], id="side"),
        pytest.param(
            LISTENING, ["verify", GGUF, SOURCE, "--engine-a", "llama.cpp@{server}"], id="server"
        ),
    ],
)
def test_a_wait_ends(
    before: str, words: list[object], how: signal.Signals, code: int, tmp_path: Path
) -> None:
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
    assert [path.name for path in tmp_path.iterdir()] == ["waiting"]
