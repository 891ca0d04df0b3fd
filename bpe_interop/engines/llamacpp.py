"""llama.cpp (https://github.com/ggml-org/llama.cpp) as an engine: the vocabulary of a GGUF file.

It runs in a process of its own (``llamacpp_child``): it fails on long runs of one class of
characters by a crash, which is then reported as the engine's, and the process begun anew.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..errors import EngineError, EngineMissingError
from ..formats import Files
from ..model import BPEModel
from ..text.visible import short_text
from .child_process import ChildProcess, EndedError
from .library import SHOWN, Special, installed, to_install
from .llamacpp_child import loaded
from .rows import engine_row

NAME = "llama.cpp"
DISTRIBUTION = "xllamacpp"
OTHER = "llama_cpp_python"
"""What brings llama.cpp too; it is taken where the first is not installed."""
UNKNOWN_BUILD = "UnknownBuildError"

_SECONDS = 600.0
"""A process that does not answer for so long is ended."""
_TEXTS = 256
"""So many texts are sent at once; a crash costs one of these batches."""


class LlamaCppEngine:
    """A vocabulary that llama.cpp loaded, in another process.

    ``special="parse"`` finds control tokens in a text; user-defined ones are found either way
    (``tokenizer_st_partition``).
    """

    name = NAME
    parses_special = engine_row(NAME).parses_special
    applies_template = engine_row(NAME).applies_template

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
        self._child: ChildProcess | None = None
        self._asked("on the file", None)

    def encode(
        self, text: str, *, special: Special = "text", add_special_tokens: bool = False
    ) -> list[int]:
        """The ids of a text; with ``add_special_tokens``, bos and eos as the file asks for."""
        flags = add_special_tokens, special == "parse"
        ids: list[int] = self._asked("on the text", text, "encode", text, *flags)
        return ids

    def encode_batch(
        self,
        texts: Sequence[str],
        *,
        special: Special = "text",
        add_special_tokens: bool = False,
    ) -> list[list[int]]:
        rows: list[list[int]] = []
        for start in range(0, len(texts), _TEXTS):
            part = list(texts[start : start + _TEXTS])
            flags = add_special_tokens, special == "parse"
            doing = f"on one of {len(part)} texts"
            rows += self._asked(doing, None, "encode_all", part, *flags)
        return rows

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids, control tokens spelled out, what is not UTF-8 as U+FFFD."""
        text: str = self._asked(f"to decode {list(ids[:8])}", None, "decode", list(ids))
        return text

    def decode_batch(self, rows: Sequence[Sequence[int]]) -> list[str]:
        texts: list[str] = []
        for start in range(0, len(rows), _TEXTS):
            part = [list(ids) for ids in rows[start : start + _TEXTS]]
            texts += self._asked(f"to decode one of {len(part)} rows", None, "decode_all", part)
        return texts

    def close(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.close()

    def __del__(self) -> None:
        self.close()

    def _asked(self, doing: str, text: str | None, *question: Any) -> Any:
        """The answer to a question; without one, the process is begun, if it is not running."""
        on = "" if text is None else f" {short_text(text, SHOWN)}"
        try:
            if self._child is None or self._child.ended:
                self._child = ChildProcess(
                    partial(loaded, str(self._path)),
                    quiet=True,
                    # ggml starts a debugger where it ends itself, unless it is told not to.
                    env={"GGML_NO_BACKTRACE": "1"},
                )
                self._child.answer(_SECONDS)
            return self._child.call(*question, seconds=_SECONDS) if question else None
        except EndedError as error:
            how = error.what
            if not error.late:
                code = error.code
                how = f"crashed (signal {-code})" if code < 0 else f"ended (exit code {code})"
            raise EngineError(f"{NAME} {how} {doing}{on}") from None
        except EngineError as error:
            why = error.what.strip().splitlines()[-1]
            kind, _, known = why.partition(": ")
            if kind == UNKNOWN_BUILD:
                raise EngineMissingError(
                    f"not checked: this build of {NAME} is not known: {known}",
                    fix=f"install another version of {DISTRIBUTION}",
                ) from None
            raise EngineError(f"{NAME} failed {doing}{on}: {why}") from None


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
