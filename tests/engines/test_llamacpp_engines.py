"""llama.cpp otherwise than from its wheel: as a server by its address, and as llama-cpp-python.

Both are stand-ins here. The server answers as ``tools/server/README.md`` of llama.cpp says, and
gives the ids of the library in the wheel; the module declares the functions of that library as
llama-cpp-python does. Neither is the real one; a real server is in ``test_llama_server.py``.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from command_line import Command

from bpe_interop.compare import verify
from bpe_interop.convert import convert
from bpe_interop.engines import (
    check_installed,
    from_address,
    from_files,
    llamacpp,
    llamacpp_server,
    versions,
)
from bpe_interop.engines.llamacpp import LlamaCppEngine
from bpe_interop.engines.llamacpp_server import LlamaServerEngine
from bpe_interop.errors import EngineError, EngineMissingError
from fixtures import TOKENIZERS

SOURCE = next((TOKENIZERS / "gguf-llama3-tiny/gguf").iterdir())
OTHER = next((TOKENIZERS / "gguf-tiny/gguf").iterdir())


class Handler(BaseHTTPRequestHandler):
    """``llama-server`` as far as its documentation says what it answers."""

    protocol_version = "HTTP/1.1"
    engine: LlamaCppEngine
    lock: threading.Lock
    key = ""

    def do_GET(self) -> None:
        self._answer(200, {"build_info": "b9999-stand-in", "model_path": "/models/a.gguf"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.key and self.headers.get("Authorization") != f"Bearer {self.key}":
            self._answer(401, {"error": {"code": 401, "message": "Invalid API Key"}})
        elif self.path == "/tokenize":
            special = "parse" if body.get("parse_special", True) else "text"
            with self.lock:
                ids = self.engine.encode(
                    body["content"],
                    special="parse" if special == "parse" else "text",
                    add_special_tokens=body.get("add_special", False),
                )
            self._answer(200, {"tokens": ids})
        elif self.path == "/detokenize":
            with self.lock:
                self._answer(200, {"content": self.engine.decode(body["tokens"])})
        else:
            self._answer(404, {"error": {"code": 404, "message": "File Not Found"}})

    def _answer(self, status: int, value: object) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Tests print nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    """The name of a server that runs ``SOURCE``."""
    named: dict[str, Any] = {
        "engine": LlamaCppEngine(SOURCE.read_bytes()),
        "lock": threading.Lock(),
        "key": os.environ.get("LLAMA_API_KEY", ""),
    }
    http = ThreadingHTTPServer(("127.0.0.1", 0), type("One", (Handler,), named))
    thread = threading.Thread(target=http.serve_forever, daemon=True)
    thread.start()
    yield f"llama.cpp@http://127.0.0.1:{http.server_address[1]}"
    http.shutdown()
    thread.join()


TEXTS = ("Hello kestrel", "a<tool>b", "x<|im_end|>", "na\u00efve \u4e16\U0001f600", "")


def test_a_server_gives_the_ids_of_its_file(server: str) -> None:
    engine, library = from_address(server), LlamaCppEngine(SOURCE.read_bytes())
    assert engine.version == "b9999-stand-in, /models/a.gguf"
    for special in ("text", "parse"):
        for places in (False, True):
            ids = engine.encode_batch(TEXTS, special=special, add_special_tokens=places)
            assert ids == library.encode_batch(TEXTS, special=special, add_special_tokens=places)
    assert engine.decode(engine.encode("Hello")) == "Hello"


@pytest.mark.long
def test_a_file_is_held_to_a_server(
    server: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is proved of it; another file than the server runs is seen to be another."""
    comparison = sys.modules["bpe_interop.compare.comparison"]
    monkeypatch.setattr(comparison, "awkward", lambda model, seed=0: iter(TEXTS))
    monkeypatch.setattr(comparison, "every_token", lambda model: iter(()))
    report = verify(SOURCE, SOURCE, engine_b=server)
    assert (report.verdict, report.engine_b.split()[0]) == ("tested", "llama-server")
    done = command("verify", OTHER, OTHER, "--engine-b", server)
    assert done.code == 1
    assert "llama-server" in done.out
    # A difference ends it, as a server is asked text by text.
    texts = [f"text {number}" for number in range(600)]
    monkeypatch.setattr(comparison, "awkward", lambda model, seed=0: iter(texts))
    monkeypatch.setattr(comparison, "AFTER_PROOF", 1)
    report = verify(OTHER, OTHER, engine_b=server)
    assert 0 < report.texts < len(texts)
    assert any("--thorough" in note for note in report.notes)


def test_a_server_that_ends_is_no_answer(command: Command) -> None:
    """Whatever it answered before: the texts that it did not get are no test."""
    asked: list[str] = []

    class Ending(Handler):
        engine = LlamaCppEngine(SOURCE.read_bytes())
        lock = threading.Lock()

        def do_GET(self) -> None:
            self._answer(200, {})  # one that says nothing of itself

        def do_POST(self) -> None:
            asked.append(self.path)
            if len(asked) > 40:
                self.close_connection = True
                self.connection.close()
            else:
                super().do_POST()

    with ThreadingHTTPServer(("127.0.0.1", 0), Ending) as http:
        threading.Thread(target=http.serve_forever, daemon=True).start()
        address = f"llama.cpp@http://127.0.0.1:{http.server_address[1]}"
        done = command("verify", SOURCE, SOURCE, "--engine-b", address, "--require", "tested")
        http.shutdown()
    assert (done.code, done.out) == (2, "")
    assert len(asked) > 40
    assert " answers no more; last it was asked " in done.err
    assert "start it again, and run the command again" in done.err


@pytest.mark.long
def test_a_server_that_fails_too_often_is_no_answer(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It gives the right ids of the texts that it takes, and the others are given up."""
    comparison: Any = sys.modules["bpe_interop.compare.comparison"]
    texts = [f"text {number}" for number in range(20)]
    monkeypatch.setattr(comparison, "awkward", lambda model, seed=0: iter(texts))
    monkeypatch.setattr(comparison, "every_token", lambda *given, **more: iter(()))
    report = verify(SOURCE, SOURCE, engine_b=server)
    assert (report.verdict, report.failures) == ("tested", ())
    encode = LlamaServerEngine.encode

    def failing(self: LlamaServerEngine, text: str, **how: Any) -> list[int]:
        if "7" in text:
            raise EngineError("HTTP 500")
        return encode(self, text, **how)

    monkeypatch.setattr(LlamaServerEngine, "encode", failing)
    few = verify(SOURCE, SOURCE, engine_b=server)
    assert few.verdict == "tested"
    assert 3 <= len(few.failures) < len(texts)
    monkeypatch.setattr(comparison, "PATIENCE", 3)
    assert verify(SOURCE, SOURCE, engine_b=server).verdict == "unknown"


def test_a_server_of_another_kind_is_told_what_is_asked(command: Command) -> None:
    class Other(Handler):
        def do_GET(self) -> None:
            self._answer(404, {"error": {"code": 404, "message": "File Not Found"}})

    with ThreadingHTTPServer(("127.0.0.1", 0), Other) as http:
        threading.Thread(target=http.serve_forever, daemon=True).start()
        address = f"llama.cpp@http://127.0.0.1:{http.server_address[1]}"
        done = command("verify", SOURCE, SOURCE, "--engine-b", address)
        http.shutdown()
    assert done.code == 2
    assert "GET /props" in done.err
    assert "/tokenize and /detokenize" in done.err


def test_a_server_with_a_key(monkeypatch: pytest.MonkeyPatch, request: Any) -> None:
    monkeypatch.setenv("LLAMA_API_KEY", "open sesame")
    name: str = request.getfixturevalue("server")
    assert from_address(name).encode("a")
    monkeypatch.setenv("LLAMA_API_KEY", "wrong")
    with pytest.raises(EngineError, match="HTTP 401: Invalid API Key"):
        from_address(name).encode("a")


def test_where_no_server_is(command: Command) -> None:
    nobody = "llama.cpp@http://127.0.0.1:9"
    with pytest.raises(EngineError, match="check the address"):
        from_address(nobody)
    done = command("verify", SOURCE, SOURCE, "--engine-b", nobody)
    assert (done.code, "Traceback" in done.err) == (2, False)
    for name in ("tokenizers@http://127.0.0.1:9", "llama.cpp@file:///etc/passwd"):
        with pytest.raises(EngineError):
            from_address(name)
    assert command("verify", SOURCE, SOURCE, "--engine-b", "tiktoken@http://x").code == 2


@pytest.mark.parametrize(
    "address",
    ["http://localhost:abc", "http://[::1", "http://127.0.0.1:99999", "http://a\nb", "http://h:0"],
)
def test_what_no_address_is(address: str) -> None:
    with pytest.raises(EngineError, match="is no address"):
        LlamaServerEngine(address)


def test_nothing_secret_is_printed(monkeypatch: pytest.MonkeyPatch, server: str) -> None:
    with pytest.raises(EngineError) as raised:
        LlamaServerEngine("http://user:s3cret@127.0.0.1:9")
    assert "s3cret" not in str(raised.value)
    monkeypatch.setenv("LLAMA_API_KEY", "sk-secret\r\n")
    with pytest.raises(EngineError, match="LLAMA_API_KEY") as raised:
        from_address(server)
    assert "sk-secret" not in str(raised.value)


@pytest.mark.long
@pytest.mark.parametrize("status", [200, 500])
@pytest.mark.parametrize(
    "body",
    [
        b"[" * 200_000,
        json.dumps({"error": {"message": "\x1b]0;name\x07" + "x" * 9_999}}).encode(),
        b"\x1b[2J" + b"x" * 9_999,
    ],
)
def test_what_a_server_says_is_cut_and_plain(
    status: int, body: bytes, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = from_address(server)
    monkeypatch.setattr(engine, "_sent", lambda *_: (status, body))
    with pytest.raises(EngineError) as raised:
        engine.encode("a")
    assert not {"\x1b", "\x07"} & {*str(raised.value)}
    assert len(str(raised.value)) < 500


def test_a_server_that_never_ends_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llamacpp_server, "_IN_ALL", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=_drips, args=[listening], daemon=True).start()
        with pytest.raises(EngineError, match="no whole answer"):
            LlamaServerEngine(f"http://127.0.0.1:{listening.getsockname()[1]}")


def _drips(listening: socket.socket) -> None:
    connection, _ = listening.accept()
    with connection, contextlib.suppress(OSError):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        for _ in range(1000):
            connection.sendall(b" ")
            time.sleep(0.05)


def test_a_process_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = LlamaCppEngine(SOURCE.read_bytes())
    monkeypatch.setattr(llamacpp, "_SECONDS", 0.3)
    assert engine._child is not None
    os.kill(engine._child.pid, signal.SIGSTOP)
    with pytest.raises(EngineError, match=r"gave no answer in 0\.3 seconds on the text"):
        engine.encode("a")


_MODULE = """
import ctypes, importlib.util, pathlib
spec = importlib.util.find_spec(REAL)
_library = ctypes.CDLL(str(sorted(pathlib.Path(WHERE).glob("xllamacpp*.so"))[0]))
P, T, N, F = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int32, ctypes.c_bool
class llama_model_params(ctypes.Structure):
    _fields_ = [("head", ctypes.c_ubyte * 72), ("vocab_only", F), ("tail", ctypes.c_ubyte * 7)]
def _declared(name, result, arguments):
    function = getattr(_library, name)
    function.restype, function.argtypes = result, arguments
    globals()[name] = function
I = ctypes.POINTER(N)
_declared("llama_model_default_params", llama_model_params, [])
_declared("llama_model_load_from_file", P, [T, llama_model_params])
_declared("llama_model_get_vocab", P, [P])
_declared("llama_tokenize", N, [P, T, N, I, N, F, F])
_declared("llama_detokenize", N, [P, I, N, T, N, F, F])
_declared("llama_vocab_type", ctypes.c_int, [P])
_declared("llama_vocab_get_attr", ctypes.c_int, [P, N])
_declared("llama_vocab_n_tokens", N, [P])
_declared("llama_token_to_piece", N, [P, N, T, N, N, F])
_declared("llama_log_set", None, [ctypes.CFUNCTYPE(None, ctypes.c_int, T, P), P])
"""

_WITHOUT_WHEEL = """
import importlib.util, sys
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name == "xllamacpp" else real(name, *more)
import json
from bpe_interop.engines.llamacpp_child import loaded
from bpe_interop.errors import EngineError
try:
    print(json.dumps(loaded(FILE, print).encode_all(TEXTS, True, True)))
except EngineError as error:
    print(json.dumps(error.what))
"""


def _child(folder: Path, module: str, file: Path) -> Any:
    """What the child process gives where only a module ``llama_cpp`` is there."""
    found = find_spec("xllamacpp")
    assert found is not None
    assert found.origin is not None
    where = str(Path(found.origin).parent)
    module = module.replace("REAL", "'sys'").replace("WHERE", repr(where))
    (folder / "llama_cpp.py").write_text(module, "utf-8")
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            _WITHOUT_WHEEL.replace("FILE", repr(str(file))).replace("TEXTS", repr(list(TEXTS))),
        ],
        env={**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{Path.cwd()}"},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def test_llama_cpp_python_where_only_that_is_installed(tmp_path: Path) -> None:
    said = _child(tmp_path, _MODULE, SOURCE)
    library = LlamaCppEngine(SOURCE.read_bytes())
    ids = library.encode_batch(TEXTS, special="parse", add_special_tokens=True)
    assert said == ids


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("del llama_vocab_type", "it has no function llama_vocab_type"),
        (
            "_real = llama_tokenize\ndef llama_tokenize(v, t, n, i, m, a, b):\n"
            "    count = _real(v, t, n, i, m, a, b)\n    i[0] += 1\n    return count",
            "it gives a tiny vocabulary the ids",
        ),
        ("def llama_model_load_from_file(path, params): return None", "does not load a tiny"),
    ],
)
def test_a_build_that_is_not_known_is_not_used(change: str, why: str, tmp_path: Path) -> None:
    said = _child(tmp_path, f"{_MODULE}\n{change}\n", SOURCE)
    assert said.startswith("UnknownBuildError: ")
    assert why in said


def test_it_is_told_as_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llamacpp, "loaded", _unknown)
    files = {SOURCE.name: SOURCE.read_bytes()}
    with pytest.raises(EngineMissingError, match="this build of llama"):
        from_files("llama.cpp", "gguf", files)


def _unknown(path: str, say: object) -> Any:
    raise EngineError("UnknownBuildError: it has no function llama_tokenize")


def test_its_version_is_that_of_the_package_which_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Before a training it is not called missing, and a verdict does not name another version."""
    there = {"llama_cpp_python": "0.3.36"}
    monkeypatch.setattr("bpe_interop.engines.installed", there.get)
    check_installed("llama.cpp")
    assert versions()["llama.cpp"] == "0.3.36"
    there.clear()
    with pytest.raises(EngineMissingError, match=r"install 'bpe-interop\[llamacpp\]'"):
        check_installed("llama.cpp")


@pytest.mark.usefixtures("few_texts")
@pytest.mark.long
def test_a_conversion_says_what_its_proof_takes_for_granted_of_texts(tmp_path: Path) -> None:
    """As ``verify`` does of the same files: llama.cpp's character classes are older."""
    source, target = TOKENIZERS / "gpt2-tiny/huggingface", tmp_path / "t.gguf"
    done = convert(source, target, "gguf")
    assert done.report is not None
    assert done.report.verdict == "proved"
    (said,) = (note for note in done.report.notes if "Unicode 16.0" in note)
    report = verify(source, target, engine_b="llama.cpp")
    (assumed,) = (each for each in report.assumptions if "llama.cpp's" in each)
    assert said == f"the proof takes for granted that {assumed}"
    other = convert(source, tmp_path / "t.tiktoken", "tiktoken")
    assert other.report is not None
    assert other.report.verdict == "proved"
    assert not any("takes for granted" in note for note in other.report.notes)
