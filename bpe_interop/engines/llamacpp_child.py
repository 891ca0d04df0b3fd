"""llama.cpp as it runs in a process of its own: a vocabulary, out of a file.

:mod:`.llamacpp` starts it (:mod:`.child_process`) and asks a :class:`LoadedVocabulary`. The process
is what a crash of the library takes with it.

The library is the one inside the wheel ``xllamacpp``, called by its C interface
(``include/llama.h``). Its structure of parameters differs between versions, so what
``llama_model_default_params`` gives is held to what is expected before it is used. Where only
``llama-cpp-python`` is installed, the functions are those of its module ``llama_cpp``, which
declares the structure for its own build. Either must give known ids for a tiny vocabulary first.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import tempfile
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar, Final

from ..errors import EngineError
from ..formats.gguf.head import rendered
from ..formats.gguf.tokens import NORMAL
from ..text.bytechars import to_chars
from .child_process import Say

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

    def ask_for_vocabulary(self) -> None:
        """Sets ``vocab_only``, once everything is found where it is expected."""
        defaults = bytes(self.bytes)
        for place, expected in _EXPECTED.items():
            if defaults[place : place + len(expected)] != expected:
                raise UnknownBuildError(f"its parameters are laid out otherwise at byte {place}")
        self.bytes[VOCAB_ONLY] = 1


class UnknownBuildError(Exception):
    """The library is not laid out as the builds that are known."""


class LoadedVocabulary:
    """A vocabulary that llama.cpp loaded from a file."""

    def __init__(self, path: str, library: Any = None) -> None:
        """``library`` has the functions; by default the one that is installed.

        Raises:
            UnknownBuildError: it is not laid out as the builds that are known.
            ValueError: it does not load the file.
        """
        library = _library() if library is None else library
        params = library.llama_model_default_params()
        if isinstance(params, _Params):
            params.ask_for_vocabulary()
        else:  # llama-cpp-python's own declaration
            params.vocab_only = True
        self._library = library
        self._model = library.llama_model_load_from_file(os.fsencode(path), params)
        if not self._model:
            # What it says after its first message is only that it failed.
            raise ValueError(_messages[0] if _messages else "llama.cpp does not load the file")
        self._vocab = library.llama_model_get_vocab(self._model)

    def encode(self, text: str, add_special: bool, parse_special: bool) -> list[int]:
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

    def encode_all(self, texts: list[str], *flags: bool) -> list[list[int]]:
        return [self.encode(text, *flags) for text in texts]

    def decode_all(self, rows: list[list[int]]) -> list[str]:
        return [self.decode(ids) for ids in rows]

    def decode(self, ids: list[int]) -> str:
        """The text of ids, control tokens spelled out.

        llama.cpp gives bytes. Where they are not UTF-8, each malformed part is U+FFFD here, and
        in a malformed run of SentencePiece's byte tokens each byte, as tokenizers has it. Of
        GPT-2's kind the pieces are joined, as llama.cpp does while it generates;
        ``llama_detokenize`` would take spaces before punctuation out.
        """
        pieces = [self._piece(number) for number in ids]
        joined = b"".join(pieces)
        merges = self._library.llama_vocab_type(self._vocab) == _BPE
        if merges and not any(map(self._is_byte, ids)):
            return joined.decode("utf-8", "replace")
        parts = groupby(zip(ids, pieces, strict=True), lambda each: self._is_byte(each[0]))
        text = "".join(
            _read(b"".join(piece for _, piece in run), as_run=is_byte) for is_byte, run in parts
        )
        return text if merges or self._whole(ids) == joined else text.removeprefix(" ")

    def _whole(self, ids: list[int]) -> bytes:
        given = (ctypes.c_int32 * len(ids))(*ids)
        return self._filled(
            lambda text, room: self._library.llama_detokenize(
                self._vocab, given, len(ids), text, room, False, True
            )
        )

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


def _library() -> Any:
    """The library that is installed, with its functions as ``include/llama.h`` has them."""
    spec = importlib.util.find_spec("xllamacpp")
    if spec is not None and spec.origin is not None:
        library = _of_wheel(spec.origin)
    elif importlib.util.find_spec("llama_cpp") is not None:
        library = importlib.import_module("llama_cpp")
    else:
        raise UnknownBuildError("neither xllamacpp nor llama-cpp-python is installed")
    for name in _FUNCTIONS:
        if getattr(library, name, None) is None:
            raise UnknownBuildError(f"it has no function {name}")
    library.llama_log_set(_KEEP, None)
    _check(library)
    return library


def _check(library: Any) -> None:
    """Holds a library to known ids: a build that is laid out otherwise may give anything."""
    keys = {
        "general.architecture": ("string", "gpt2"),
        "tokenizer.ggml.model": ("string", "gpt2"),
        "tokenizer.ggml.pre": ("string", "gpt-2"),
        "tokenizer.ggml.tokens": (
            "array",
            ("string", [to_chars(bytes([byte])).encode() for byte in range(256)] + [b"ab"]),
        ),
        "tokenizer.ggml.token_type": ("array", ("int32", [NORMAL] * 257)),
        "tokenizer.ggml.merges": ("array", ("string", [b"a b"])),
    }
    with tempfile.TemporaryDirectory(prefix="bpe-interop-") as folder:
        path = Path(folder, "known.gguf")
        path.write_bytes(rendered(keys))
        try:
            ids = LoadedVocabulary(str(path), library).encode("aab \u00e9", False, False)
        except ValueError as error:
            raise UnknownBuildError(f"it does not load a tiny vocabulary: {error}") from None
    if ids != [97, 256, 32, 195, 169]:
        raise UnknownBuildError(f"it gives a tiny vocabulary the ids {ids}")


def _of_wheel(origin: str) -> Any:
    names = sorted(Path(origin).parent.glob("xllamacpp*.so"))
    if not names:
        raise UnknownBuildError("the wheel holds no library")
    library = ctypes.CDLL(str(names[0]))
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, name, None)
        if function is not None:
            function.restype, function.argtypes = result, arguments
    return library


_POINTER, _TEXT, _NUMBER, _FLAG = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int32, ctypes.c_bool
_IDS: Final = ctypes.POINTER(ctypes.c_int32)
_LOG: Final = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)

_FUNCTIONS: Final[dict[str, tuple[Any, list[Any]]]] = {
    "llama_model_default_params": (_Params, []),
    "llama_model_load_from_file": (_POINTER, [_TEXT, _Params]),
    "llama_model_get_vocab": (_POINTER, [_POINTER]),
    "llama_tokenize": (_NUMBER, [_POINTER, _TEXT, _NUMBER, _IDS, _NUMBER, _FLAG, _FLAG]),
    "llama_detokenize": (_NUMBER, [_POINTER, _IDS, _NUMBER, _TEXT, _NUMBER, _FLAG, _FLAG]),
    "llama_vocab_type": (ctypes.c_int, [_POINTER]),
    "llama_vocab_get_attr": (ctypes.c_int, [_POINTER, _NUMBER]),
    "llama_vocab_n_tokens": (_NUMBER, [_POINTER]),
    "llama_token_to_piece": (_NUMBER, [_POINTER, _NUMBER, _TEXT, _NUMBER, _NUMBER, _FLAG]),
    "llama_log_set": (None, [_LOG, _POINTER]),
}
"""The functions that are called: what each gives, and what it takes."""


def _keep(level: int, message: bytes, _: object) -> None:
    """Keeps messages of errors; nothing is written to the screen."""
    if level == _ERROR and message:
        _messages.append(message.decode("utf-8", "replace").strip())


_KEEP: Final = _LOG(_keep)
"""As the library calls it; it must outlive the library."""


def loaded(path: str, say: Say) -> LoadedVocabulary:
    """The vocabulary of a file.

    Raises:
        EngineError: it cannot be loaded; its sentence begins with the kind of error.
    """
    try:
        return LoadedVocabulary(path)
    except (UnknownBuildError, ValueError, OSError) as error:
        raise EngineError(f"{type(error).__name__}: {error}") from None
