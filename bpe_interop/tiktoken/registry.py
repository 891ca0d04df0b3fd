"""Encodings by name, as ``tiktoken.registry`` has them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from ..engines import constructors, registry
from ..engines.tiktoken import cached
from ..errors import EngineMissingError, UnknownEncodingError
from ..formats import Files, by_name
from ..model import BPEModel
from ..openai_encodings import ENCODINGS as PUBLISHED
from ..openai_encodings import meant
from ..presets import PRESETS, fill
from .core import Encoding, stated

__all__ = ["ENCODINGS", "ENCODING_CONSTRUCTORS", "get_encoding", "list_encoding_names"]

ENCODINGS: dict[str, Encoding] = {}
"""The encodings that were asked for, by name."""

ENCODING_CONSTRUCTORS: dict[str, Callable[[], dict[str, Any]]] | None = None
"""Names to functions that give the arguments of an ``Encoding``; yours may be added.

None until :func:`list_encoding_names` or a name that is not OpenAI's is asked for: then those of
OpenAI and of tiktoken's plugins.
"""


def get_encoding(encoding_name: str) -> Encoding:
    """The encoding of a name; the same object each time.

    Raises:
        UnknownEncodingError: neither OpenAI nor a plugin of tiktoken has it (also ValueError).
        SourceError: tiktoken cannot get its files.
        EngineMissingError: its files are not at hand, and tiktoken is not installed.
        EngineError, FormatError: a plugin is broken.
    """
    if not isinstance(encoding_name, str):
        raise UnknownEncodingError(
            f"the name of an encoding is a text, not {type(encoding_name).__name__}"
        )
    with _lock:
        if encoding_name not in ENCODINGS:
            ENCODINGS[encoding_name] = _made(encoding_name)
        return ENCODINGS[encoding_name]


def list_encoding_names() -> list[str]:
    """The names that :func:`get_encoding` takes: OpenAI's, then those of tiktoken's plugins.

    Raises:
        EngineError, FormatError: a plugin is broken.
    """
    return list(_constructors())


_lock = threading.RLock()


def is_published(encoding: Encoding) -> bool:
    """Whether it is the object that :func:`get_encoding` gives for one of OpenAI's names."""
    return encoding.name in PUBLISHED and ENCODINGS.get(encoding.name) is encoding


def _constructors() -> dict[str, Callable[[], dict[str, Any]]]:
    """``ENCODING_CONSTRUCTORS``, which is made where it is not there yet."""
    global ENCODING_CONSTRUCTORS
    with _lock:
        if ENCODING_CONSTRUCTORS is None:
            of_plugins = constructors()
            others = {name: of_plugins[name] for name in of_plugins if name not in PUBLISHED}
            ENCODING_CONSTRUCTORS = {**_OWN, **others}
        return ENCODING_CONSTRUCTORS


def _arguments(name: str) -> dict[str, Any]:
    """What one of OpenAI's encodings is made of."""
    encoding = Encoding._of(_model_of(name))
    return {
        "name": name,
        "pat_str": encoding._pat_str,
        "mergeable_ranks": dict(encoding._mergeable_ranks),
        "special_tokens": dict(encoding._special_tokens),
    }


_OWN = {name: partial(_arguments, name) for name in PUBLISHED}


def _made(name: str) -> Encoding:
    own = _OWN.get(name)
    if own is not None and (
        ENCODING_CONSTRUCTORS is None or ENCODING_CONSTRUCTORS.get(name) is own
    ):
        return Encoding._of(_model_of(name))
    constructor = _constructors().get(name)
    if constructor is None:
        raise UnknownEncodingError(
            f"there is no encoding {name!r}",
            fix=f"{meant(name, PUBLISHED)}there are {', '.join(list_encoding_names())}; a plugin "
            "of tiktoken adds others",
        )
    return Encoding(**constructor())


def _model_of(name: str) -> BPEModel:
    at_hand = _files_at_hand(name)
    if at_hand is not None:
        return _published(name, at_hand)
    try:
        return by_name("tiktoken").load(registry(name))
    except EngineMissingError as error:
        error.what = f"the files of {name} are not in tiktoken's cache, and {error.what}"
        raise


def _files_at_hand(name: str) -> Files | None:
    """The first set of files that is this encoding's vocabulary and is in tiktoken's cache."""
    for published in PUBLISHED[name].files:
        files: dict[str, bytes] = {}
        for file in published:
            data = cached(file.address, file.sha256)
            if data is None:
                break
            files[file.name] = data
        else:
            return files
    return None


def _published(name: str, files: Files) -> BPEModel:
    """What the published files and the preset of the same name say, as tiktoken has it."""
    preset = PRESETS[name]
    if len(files) > 1:
        pair = fill(by_name("gpt2").load(files), preset)
        written = by_name("tiktoken").dump(pair)
        files = {file: data for file, data in written.items() if not file.endswith(".json")}
    (ranks,) = files.values()
    return stated(name, preset.pattern, ranks, preset.special_tokens)
