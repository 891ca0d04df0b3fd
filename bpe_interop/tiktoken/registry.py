"""Encodings by name, as ``tiktoken.registry`` has them."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..engines import listed, registry
from ..errors import EngineMissingError, UnknownEncodingError
from ..formats import Files, by_name
from ..io import cached
from ..model import BPEModel
from ..presets import PRESETS, fill
from ..presets.openai import ADDRESSES, ENCODINGS, meant
from .core import Encoding, stated

if TYPE_CHECKING:
    from typing import TypeGuard

__all__ = ["get_encoding", "list_encoding_names"]


def get_encoding(encoding_name: str) -> Encoding:
    """The encoding of a name; the same object each time.

    Raises:
        UnknownEncodingError: neither OpenAI nor a plugin of tiktoken has it (also ValueError).
        SourceError: tiktoken cannot get its files.
        EngineMissingError: its files are not at hand, and tiktoken is not installed.
    """
    if not isinstance(encoding_name, str):
        raise UnknownEncodingError(
            f"the name of an encoding is a text, not {type(encoding_name).__name__}"
        )
    with _lock:
        if encoding_name not in _found:
            _found[encoding_name] = Encoding._of(_model_of(encoding_name))
        return _found[encoding_name]


def list_encoding_names() -> list[str]:
    """The names that :func:`get_encoding` takes: OpenAI's, then those of tiktoken's plugins."""
    return [*ENCODINGS, *(name for name in _of_plugins() if name not in ENCODINGS)]


_found: dict[str, Encoding] = {}
_lock = threading.RLock()


def is_published(encoding: Encoding) -> bool:
    """Whether it is the object that :func:`get_encoding` gives for one of OpenAI's names."""
    return encoding.name in ENCODINGS and _found.get(encoding.name) is encoding


def _of_plugins() -> list[str]:
    try:
        return listed()
    except EngineMissingError:
        return []


def _model_of(name: str) -> BPEModel:
    if name in ENCODINGS:
        at_hand = _files_at_hand(name)
        if at_hand is not None:
            return _published(name, at_hand)
    elif name not in _of_plugins():
        raise UnknownEncodingError(
            f"there is no encoding {name!r}",
            fix=f"{meant(name, ENCODINGS)}there are {', '.join(list_encoding_names())}; a plugin "
            "of tiktoken adds others",
        )
    try:
        return by_name("tiktoken").load(registry(name))
    except EngineMissingError as error:
        error.what = f"the files of {name} are not in tiktoken's cache, and {error.what}"
        raise


def _files_at_hand(name: str) -> Files | None:
    """The first set of files that is this encoding's vocabulary and is in tiktoken's cache."""
    for hashes in PRESETS[name].files:
        files = {ADDRESSES.get(sha, ""): cached(ADDRESSES.get(sha, ""), sha) for sha in hashes}
        if _all_there(files):
            return {address.rpartition("/")[2]: data for address, data in files.items()}
    return None


def _all_there(files: Mapping[str, bytes | None]) -> TypeGuard[Mapping[str, bytes]]:
    return None not in files.values()


def _published(name: str, files: Files) -> BPEModel:
    """What the published files and the preset of the same name say, as tiktoken has it."""
    preset = PRESETS[name]
    if len(files) > 1:
        pair = fill(by_name("gpt2").load(files), preset)
        written = by_name("tiktoken").dump(pair)
        files = {file: data for file, data in written.items() if not file.endswith(".json")}
    (ranks,) = files.values()
    return stated(name, preset.pattern, ranks, preset.special_tokens)
