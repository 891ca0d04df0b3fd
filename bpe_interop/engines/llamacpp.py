"""llama.cpp (https://github.com/ggml-org/llama.cpp) as an engine: the vocabulary of a GGUF file.

It runs in a process of its own (``llamacpp_child``): it fails on long runs of one class of
characters by a crash, which is then reported as the engine's, and the process begun anew.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..errors import EngineError, EngineMissingError
from ..formats import Files
from ..model import BPEModel
from .child_process import python
from .library import Special, installed, shortened, to_install

NAME = "llama.cpp"
DISTRIBUTION = "xllamacpp"
OTHER = "llama_cpp_python"
"""What brings llama.cpp too; it is taken where the first is not installed."""
UNKNOWN_BUILD = "UnknownBuildError"

_START = (
    "import json; sys.path[:] = json.loads(sys.stdin.readline()); "
    "from bpe_interop.engines.llamacpp_child import main; main(sys.argv[1])"
)

_SECONDS = 600.0
"""A process that does not answer for so long is ended."""
_GLANCE = 0.2
"""Seconds between two looks at the clock."""
_TEXTS = 256
"""So many texts are sent at once; a crash costs one of these batches."""


class _Watch:
    """Ends a process that does not answer in time. One thread for all answers: it takes longer to
    start one than llama.cpp takes for a text.
    """

    def __init__(self) -> None:
        self.deadline: float | None = None
        self.late = False

    def over(self, process: subprocess.Popen[str]) -> None:
        """Watches while the process runs."""
        while process.poll() is None:
            time.sleep(_GLANCE)
            until = self.deadline
            if until is not None and time.monotonic() > until:
                self.late = True
                process.kill()


class LlamaCppEngine:
    """A vocabulary that llama.cpp loaded, in another process.

    ``special="parse"`` finds control tokens in a text; user-defined ones are found either way
    (``tokenizer_st_partition``).
    """

    name = NAME
    parses_special = True
    applies_template = True

    def __init__(self, head: bytes) -> None:
        """``head`` is a GGUF file without tensors.

        Raises:
            EngineMissingError: its build is not known.
            EngineError: llama.cpp does not load it.
        """
        self.version = installed(DISTRIBUTION) or installed(OTHER) or ""
        self._folder = tempfile.TemporaryDirectory(prefix="bpe-interop-")
        self._path = Path(self._folder.name, "vocabulary.gguf")
        self._path.write_bytes(head)
        self._process: subprocess.Popen[str] | None = None
        self._watch = _Watch()
        self._started()

    def encode(
        self, text: str, *, special: Special = "text", add_special_tokens: bool = False
    ) -> list[int]:
        """The ids of a text; with ``add_special_tokens``, bos and eos as the file asks for."""
        ids: list[int] = self._ask(
            ["encode", text, add_special_tokens, special == "parse"], "on the text", text
        )
        return ids

    def encode_batch(
        self,
        texts: Sequence[str],
        *,
        special: Special = "text",
        add_special_tokens: bool = False,
    ) -> list[list[int]]:
        """The ids of each text."""
        rows: list[list[int]] = []
        for start in range(0, len(texts), _TEXTS):
            part = list(texts[start : start + _TEXTS])
            flags = [add_special_tokens, special == "parse"]
            rows += self._ask(["encode_all", part, *flags], f"on one of {len(part)} texts", None)
        return rows

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids, control tokens spelled out, what is not UTF-8 as U+FFFD."""
        text: str = self._ask(["decode", list(ids)], f"to decode {list(ids[:8])}", None)
        return text

    def decode_batch(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """The text of each row of ids."""
        texts: list[str] = []
        for start in range(0, len(rows), _TEXTS):
            part = [list(ids) for ids in rows[start : start + _TEXTS]]
            texts += self._ask(["decode_all", part], f"to decode one of {len(part)} rows", None)
        return texts

    def close(self) -> None:
        """Ends the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):  # what it has not read
                        pipe.close()
            process.wait()

    def __del__(self) -> None:
        self.close()

    def _started(self) -> subprocess.Popen[str]:
        """The process, begun if it is not running."""
        if self._process is not None:
            return self._process
        self._process = subprocess.Popen(
            python(_START, str(self._path)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            # ggml starts a debugger where it ends itself, unless it is told not to.
            env={**os.environ, "GGML_NO_BACKTRACE": "1"},
        )
        self._watch = _Watch()
        # A daemon, or an interrupted program would wait for it to end.
        threading.Thread(target=self._watch.over, args=[self._process], daemon=True).start()
        self._tell(self._process, [each for each in sys.path if isinstance(each, str)])
        self._answer("on the file", None)
        return self._process

    def _ask(self, question: list[Any], doing: str, text: str | None) -> Any:
        self._tell(self._started(), question)
        return self._answer(doing, text)

    @staticmethod
    def _tell(process: subprocess.Popen[str], value: list[Any]) -> None:
        if process.stdin is None:
            raise EngineError(f"{NAME} cannot be asked")
        try:
            process.stdin.write(json.dumps(value) + "\n")
            process.stdin.flush()
        except BrokenPipeError:
            pass  # it has ended, which is told of its answer

    def _answer(self, doing: str, text: str | None) -> Any:
        process, watch = self._process, self._watch
        watch.deadline = time.monotonic() + _SECONDS
        try:
            line = process.stdout.readline() if process and process.stdout else ""
        except BaseException:
            self.close()  # the answer that comes later is not that of the next question
            raise
        finally:
            watch.deadline = None
        if not line:
            code = process.wait() if process else 0
            self.close()
            on = "" if text is None else f" {shortened(text)}"
            if watch.late:
                raise EngineError(f"{NAME} gave no answer in {_SECONDS:g} seconds {doing}{on}")
            how = f"crashed (signal {-code})" if code < 0 else f"ended (exit code {code})"
            raise EngineError(f"{NAME} {how} {doing}{on}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            self.close()
            kind, _, why = str(answer["error"]).partition(": ")
            if kind == UNKNOWN_BUILD:
                raise EngineMissingError(
                    f"not checked: this build of {NAME} is not known: {why}",
                    fix=f"install another version of {DISTRIBUTION}",
                )
            raise EngineError(f"{NAME} failed {doing}: {answer['error']}")
        return answer["ok"]


def read(files: Files, model: BPEModel | None) -> LlamaCppEngine:
    """Reads a GGUF file, or its head.

    Raises:
        EngineMissingError: neither xllamacpp nor llama-cpp-python is installed, or its build is
            not known.
        EngineError: llama.cpp does not load the file.
    """
    if find_spec(DISTRIBUTION) is None and find_spec("llama_cpp") is None:
        raise EngineMissingError(
            f"not checked: {NAME} is not installed", fix=to_install(DISTRIBUTION)
        )
    if len(files) != 1:
        raise EngineError(f"expected one GGUF file, found {len(files)}")
    from ..formats.gguf.write import without_tensors

    [(name, data)] = files.items()
    return LlamaCppEngine(without_tensors(data, name))
