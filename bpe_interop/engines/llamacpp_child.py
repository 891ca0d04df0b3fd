"""llama.cpp in a process of its own: reads texts on standard input, answers with ids.

Run as ``python -m bpe_interop.engines.llamacpp_child FILE.gguf``. Each line that is read is a
JSON array ``["encode", text, add_special, parse_special]`` or ``["decode", ids]``; each answer is
a line of JSON, ``{"ok": value}`` or ``{"error": why}``. The first line that is written says that
the model is loaded, or why not. The process is what a crash of the library takes with it.

The library is the one inside the wheel ``xllamacpp``, called by its C interface
(``include/llama.h``). Its structure of parameters differs between versions, so what
``llama_model_default_params`` gives is held to what is expected before it is used.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import sys
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar, Final

SIZE: Final = 80
"""Bytes of ``llama_model_params`` in the builds that are known."""
VOCAB_ONLY: Final = 72
_EXPECTED: Final[dict[int, bytes]] = {
    0: bytes(16),  # devices, tensor_buft_overrides: null
    16: b"\xff\xff\xff\xff",  # n_gpu_layers: -1
    20: b"\x01\x00\x00\x00",  # split_mode: layer
    32: bytes(4),  # main_gpu
    40: bytes(32),  # four pointers: null
    VOCAB_ONLY: b"\x00",
}
"""Places in the structure to what a new one holds there."""


class _Params(ctypes.Structure):
    _fields_: ClassVar[list[tuple[str, Any]]] = [("bytes", ctypes.c_ubyte * SIZE)]


class UnknownBuildError(Exception):
    """The library is not laid out as the builds that are known."""


class Vocabulary:
    """A vocabulary that llama.cpp loaded from a file."""

    def __init__(self, path: str) -> None:
        library = _library()
        params = library.llama_model_default_params()
        defaults = bytes(params.bytes)
        for place, expected in _EXPECTED.items():
            if defaults[place : place + len(expected)] != expected:
                raise UnknownBuildError(f"its parameters are laid out otherwise at byte {place}")
        params.bytes[VOCAB_ONLY] = 1
        self._library = library
        self._model = library.llama_model_load_from_file(os.fsencode(path), params)
        if not self._model:
            raise ValueError(_last_message() or "llama.cpp does not load the file")
        self._vocab = library.llama_model_get_vocab(self._model)

    def encode(self, text: str, add_special: bool, parse_special: bool) -> list[int]:
        """The ids of a text."""
        data = text.encode("utf-8")
        room = len(data) + 16
        while True:
            ids = (ctypes.c_int32 * room)()
            count = self._library.llama_tokenize(
                self._vocab, data, len(data), ids, room, add_special, parse_special
            )
            if count >= 0:
                return list(ids[:count])
            room = -count

    def decode(self, ids: list[int]) -> str:
        """The text of ids, control tokens spelled out.

        llama.cpp gives bytes. Where they are not UTF-8, each malformed part is U+FFFD here, and
        in a malformed run of SentencePiece's byte tokens each byte, as tokenizers has it. Of
        GPT-2's kind the pieces are joined, as llama.cpp does while it generates;
        ``llama_detokenize`` would take spaces before punctuation out.
        """
        pieces = [self._piece(number) for number in ids]
        joined = b"".join(pieces)
        if self._library.llama_vocab_type(self._vocab) == _BPE:
            return joined.decode("utf-8", "replace")
        given = (ctypes.c_int32 * len(ids))(*ids)
        whole = self._filled(
            lambda text, room: self._library.llama_detokenize(
                self._vocab, given, len(ids), text, room, False, True
            )
        )
        parts = groupby(zip(ids, pieces, strict=True), lambda each: self._is_byte(each[0]))
        text = "".join(
            _read(b"".join(piece for _, piece in run), as_run=is_byte) for is_byte, run in parts
        )
        return text if whole == joined else text.removeprefix(" ")

    def _is_byte(self, number: int) -> bool:
        return bool(self._library.llama_vocab_get_attr(self._vocab, number) & _BYTE)

    def known(self) -> list[int]:
        """The ids that decode to something."""
        count = self._library.llama_vocab_n_tokens(self._vocab)
        return [number for number in range(count) if self._piece(number)]

    def _piece(self, number: int) -> bytes:
        return self._filled(
            lambda text, room: self._library.llama_token_to_piece(
                self._vocab, number, text, room, 0, True
            )
        )

    @staticmethod
    def _filled(write: Callable[[Any, int], int]) -> bytes:
        """What a function writes, which gives minus the room it needs where there is too little."""
        room = 256
        while True:
            text = ctypes.create_string_buffer(room)
            count = write(text, room)
            if count >= 0:
                return text.raw[:count]
            room = -count


def _read(data: bytes, *, as_run: bool) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return "\ufffd" * len(data) if as_run else data.decode("utf-8", "replace")


_BYTE: Final = 1 << 5
"""``LLAMA_TOKEN_ATTR_BYTE``."""
_BPE: Final = 2
"""``LLAMA_VOCAB_TYPE_BPE``."""
_ERROR: Final = 4
"""``GGML_LOG_LEVEL_ERROR``."""

_messages: list[str] = []


def _last_message() -> str:
    """What the library said last of an error."""
    return _messages[-1] if _messages else ""


def _library() -> Any:
    """The library of the wheel, its functions declared as ``include/llama.h`` has them."""
    spec = importlib.util.find_spec("xllamacpp")
    if spec is None or spec.origin is None:
        raise UnknownBuildError("xllamacpp is not installed")
    names = sorted(Path(spec.origin).parent.glob("xllamacpp*.so"))
    if not names:
        raise UnknownBuildError("the wheel holds no library")
    library = ctypes.CDLL(str(names[0]))
    pointer, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int32
    ids = ctypes.POINTER(ctypes.c_int32)
    for name, result, arguments in (
        ("llama_model_default_params", _Params, []),
        ("llama_model_load_from_file", pointer, [text, _Params]),
        ("llama_model_get_vocab", pointer, [pointer]),
        (
            "llama_tokenize",
            number,
            [pointer, text, number, ids, number, ctypes.c_bool, ctypes.c_bool],
        ),
        (
            "llama_detokenize",
            number,
            [pointer, ids, number, text, number, ctypes.c_bool, ctypes.c_bool],
        ),
        ("llama_vocab_type", ctypes.c_int, [pointer]),
        ("llama_vocab_get_attr", ctypes.c_int, [pointer, number]),
        ("llama_vocab_n_tokens", number, [pointer]),
        (
            "llama_token_to_piece",
            number,
            [pointer, number, text, number, number, ctypes.c_bool],
        ),
        ("llama_log_set", None, [pointer, pointer]),
    ):
        function = getattr(library, name, None)
        if function is None:
            raise UnknownBuildError(f"it has no function {name}")
        function.restype, function.argtypes = result, arguments
    library.llama_log_set(ctypes.cast(_KEEP, pointer), None)
    return library


def _keep(level: int, message: bytes, _: object) -> None:
    """Keeps messages of errors; nothing is written to the screen."""
    if level == _ERROR and message:
        _messages.append(message.decode("utf-8", "replace").strip())


_KEEP: Final = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(_keep)
"""As the library calls it; it must outlive the library."""


def main(path: str) -> None:
    """Loads the file, then answers until there is nothing more to read."""
    answers = sys.stdout

    def say(key: str, value: object) -> None:
        answers.write(json.dumps({key: value}) + "\n")
        answers.flush()

    try:
        vocabulary = Vocabulary(path)
    except (UnknownBuildError, ValueError, OSError) as error:
        say("error", f"{type(error).__name__}: {error}")
        return
    asked: dict[str, Callable[..., object]] = {
        "encode": vocabulary.encode,
        "encode_all": lambda texts, *flags: [vocabulary.encode(each, *flags) for each in texts],
        "decode": vocabulary.decode,
    }
    say("ok", True)
    for line in sys.stdin:
        what, *arguments = json.loads(line)
        say("ok", asked[what](*arguments))


if __name__ == "__main__":
    main(sys.argv[1])
