"""tiktoken's functions and its ``Encoding``, to be imported in tiktoken's place.

>>> from bpe_interop import tiktoken
>>> enc = tiktoken.get_encoding("gpt2")
>>> enc.decode(enc.encode("hello world"))
'hello world'

The names, arguments, ids and kinds of errors are those of tiktoken 0.14. OpenAI's encodings are
read from the folder in which tiktoken keeps its files, checked by sha256; tiktoken itself is asked
only for what is not there, and for the encodings of its plugins.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from .engines import listed, registry
from .errors import (
    EngineMissingError,
    UnknownEncodingError,
    UnknownModelError,
    WrongSizeError,
)
from .formats import Files, by_name
from .formats.tiktoken.ranks import write_ranks
from .io import cached
from .model import BPEModel
from .presets import PRESETS, fill
from .presets.openai import ADDRESSES, ENCODINGS, encoding_of
from .tokenizer import Tokenizer

if TYPE_CHECKING:
    from typing import TypeGuard

__all__ = [
    "Encoding",
    "encoding_for_model",
    "encoding_name_for_model",
    "get_encoding",
    "list_encoding_names",
]


class Encoding(Tokenizer):
    """A tokenizer that is made of what ``tiktoken.Encoding`` is made of.

    Args:
        name: any name.
        pat_str: the pattern whose matches are the pretokens, in fancy-regex syntax.
        mergeable_ranks: the tokens' bytes to their ids, which are their priorities too.
        special_tokens: the special tokens' texts to their ids.
        explicit_n_vocab: how many tokens there are, to be checked; None or 0: not stated.

    Raises:
        WrongSizeError: there are not ``explicit_n_vocab`` tokens, or their ids have holes (also
            AssertionError).
        FormatError: the ranks or special tokens contradict each other (also ValueError).
        PatternError: the pattern cannot be read (also ValueError).
    """

    def __init__(
        self,
        name: str,
        *,
        pat_str: str,
        mergeable_ranks: Mapping[bytes, int],
        special_tokens: Mapping[str, int],
        explicit_n_vocab: int | None = None,
    ) -> None:
        if explicit_n_vocab:
            _check_size(mergeable_ranks, special_tokens, explicit_n_vocab)
        model = _read(name, pat_str, mergeable_ranks, special_tokens)
        super().__init__(model)
        self.pretokenize("")  # a pattern that cannot be run is told of now

    def __reduce__(self) -> tuple[object, ...]:
        # The published files are the same everywhere: their sha256 was checked.
        if self.name in ENCODINGS and _found.get(self.name) is self:
            return get_encoding, (self.name,)
        return _again, (self.model, self._asked_engine)


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


def encoding_for_model(model_name: str) -> Encoding:
    """The encoding of one of OpenAI's models.

    Raises:
        UnknownModelError: no such model is known (also KeyError).
        SourceError, EngineMissingError: as :func:`get_encoding`.
    """
    return get_encoding(encoding_name_for_model(model_name))


def encoding_name_for_model(model_name: str) -> str:
    """The name of the encoding of one of OpenAI's models.

    Raises:
        UnknownModelError: no such model is known (also KeyError).
    """
    encoding = encoding_of(model_name)
    if encoding is None:
        raise UnknownModelError(
            f"no encoding is known for the model {model_name!r}",
            fix="name the encoding itself: get_encoding(...) takes "
            f"{', '.join(list_encoding_names())}",
        )
    return encoding


def list_encoding_names() -> list[str]:
    """The names that :func:`get_encoding` takes: OpenAI's, then those of tiktoken's plugins."""
    return [*ENCODINGS, *(name for name in _of_plugins() if name not in ENCODINGS)]


_found: dict[str, Encoding] = {}
_lock = threading.RLock()


def _of_plugins() -> list[str]:
    try:
        return listed()
    except EngineMissingError:
        return []


def _again(model: BPEModel, engine: str | None) -> Encoding:
    return Encoding._of(model, engine)


def _check_size(ranks: Mapping[bytes, int], special: Mapping[str, int], stated: int) -> None:
    count = len(ranks) + len(special)
    top = max(max(ranks.values(), default=0), max(special.values(), default=0))
    if count != stated or top != stated - 1:
        raise WrongSizeError(
            f"explicit_n_vocab is {stated}, but there are {len(ranks)} ranks and {len(special)} "
            f"special tokens, and the largest id is {top}",
            fix="correct the number, or leave it out",
        )


def _read(
    name: str, pattern: str, ranks: Mapping[bytes, int], special: Mapping[str, int]
) -> BPEModel:
    ordered = dict(sorted(ranks.items(), key=lambda item: item[1]))
    return _stated(name, pattern, write_ranks(ordered), special)


def _stated(name: str, pattern: str, ranks: bytes, special: Mapping[str, int]) -> BPEModel:
    """The model of the lines of a rank file and what they do not say."""
    stated = {"name": name, "pat_str": pattern, "special_tokens": dict(special)}
    sidecar = json.dumps(stated).encode("utf-8")
    file = "mergeable_ranks"
    return by_name("tiktoken").load({file: ranks, f"{file}.json": sidecar})


def _model_of(name: str) -> BPEModel:
    if name in ENCODINGS:
        at_hand = _files_at_hand(name)
        if at_hand is not None:
            return _published(name, at_hand)
    elif name not in _of_plugins():
        raise UnknownEncodingError(
            f"there is no encoding {name!r}",
            fix=f"there are {', '.join(list_encoding_names())}; a plugin of tiktoken adds others",
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
    return _stated(name, preset.pattern, ranks, preset.special_tokens)
