"""tiktoken (https://github.com/openai/tiktoken): an engine, its rank files, and what it publishes.

Rank files are read here once more, as tiktoken reads them, and not by our own reader.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import os
import threading
from binascii import a2b_base64
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import (
    BpeInteropError,
    EngineError,
    EngineMissingError,
    FormatError,
    SourceError,
    UnstatedError,
)
from ..formats import Files
from ..limits import FILE_BYTES
from ..model import BPEModel
from .library import LibraryEngine, Special, guarded, installed, library, reading

if TYPE_CHECKING:
    from tiktoken import Encoding

_THREADS = min(8, os.cpu_count() or 1)

_offline = threading.Lock()


class TiktokenEngine(LibraryEngine):
    """An ``Encoding`` as an engine. It has no sequence template, so nothing is ever added.

    ``plain`` are its special tokens that are to be found in any text. It does not know them: its
    callers name them with ``allowed_special``, as Qwen's tokenizer in Python does.
    """

    name = "tiktoken"

    def __init__(self, encoding: Encoding, plain: Iterable[str] = ()) -> None:
        self.encoding = encoding
        self._plain = encoding.special_tokens_set.intersection(plain)
        self.version = installed("tiktoken") or ""

    def _encode(self, text: str, special: Special, add_special_tokens: bool) -> list[int]:
        if special == "parse":
            return self.encoding.encode(text, allowed_special="all")
        if not self._plain:
            return self.encoding.encode_ordinary(text)
        return self.encoding.encode(text, allowed_special=self._plain, disallowed_special=())

    def _encode_batch(
        self, texts: list[str], special: Special, add_special_tokens: bool
    ) -> list[list[int]]:
        if special == "text" and not self._plain:
            return self.encoding.encode_ordinary_batch(texts, num_threads=_THREADS)
        return self.encoding.encode_batch(
            texts,
            num_threads=_THREADS,
            allowed_special="all" if special == "parse" else self._plain,
            disallowed_special=(),
        )

    def _decode(self, ids: list[int]) -> str:
        return self.encoding.decode(ids)


class EncodingFiles(dict[str, bytes]):
    """The files of an encoding that tiktoken holds, and it: nobody builds a second one of them.

    In another process they are files alone.
    """

    def __init__(self, files: Files, encoding: Encoding) -> None:
        super().__init__(files)
        self.encoding = encoding

    def __reduce__(self) -> tuple[object, ...]:
        return dict, (dict(self),)


def read(files: Files, model: BPEModel | None) -> TiktokenEngine:
    """Reads a rank file and its sidecar ``NAME.json``; the model says what they do not.

    Raises:
        EngineMissingError, EngineError, UnstatedError: as :func:`engines.from_files`.
    """
    tiktoken = library("tiktoken")
    if isinstance(files, EncodingFiles):
        return TiktokenEngine(files.encoding)
    name = rank_file(files)
    with reading("tiktoken", f"the rank file {name}"):
        ranks = ranks_of(files[name])
        stated = stated_beside(files, name)
        pattern, special, plain = unsaid(stated, model)
        encoding = tiktoken.Encoding(
            stated.get("name") or name,
            pat_str=pattern,
            mergeable_ranks=ranks,
            special_tokens=special,
            explicit_n_vocab=stated.get("explicit_n_vocab"),
        )
    return TiktokenEngine(encoding, plain)


def rank_file(files: Files) -> str:
    """The name of the rank file: it is no sidecar and no part of a plugin's folder.

    Raises:
        EngineError: there is none, or several.
    """
    names = [
        name
        for name in files
        if "/" not in name and not (name.endswith(".json") and name.removesuffix(".json") in files)
    ]
    if len(names) != 1:
        raise EngineError(f"expected one rank file, found {', '.join(sorted(names)) or 'none'}")
    return names[0]


def ranks_of(data: bytes) -> dict[bytes, int]:
    """The ranks of a rank file, by the rule of ``load_tiktoken_bpe`` (``tiktoken/load.py``)."""
    # That function itself copies whatever it reads into its cache, so it is not called.
    ranks: dict[bytes, int] = {}
    for line in data.splitlines():
        if line:
            token, rank = line.split()
            ranks[a2b_base64(token)] = int(rank)
    return ranks


def stated_beside(files: Files, name: str) -> dict[str, Any]:
    """What the sidecar of a rank file says; nothing where there is none."""
    stated: dict[str, Any] = json.loads(files.get(f"{name}.json", b"{}"))
    return stated


def unsaid(
    stated: Mapping[str, Any], model: BPEModel | None
) -> tuple[str, dict[str, int], frozenset[str]]:
    """Pattern and added tokens of a rank file: what its sidecar says, else the model.

    Returns:
        The pattern, the ids of the added tokens, and those of them that are not special: they
        are to be found in any text.

    Raises:
        UnstatedError: neither says it.
    """
    pattern = stated.get("pat_str")
    if pattern is None and model is not None:
        from ..formats.one_pattern import pat_str  # most files say it

        pattern = pat_str(model)
    special, plain = stated.get("special_tokens"), frozenset[str]()
    if special is None and model is not None and model.added is not None:
        special = {token.text: token.id for token in model.added}
        plain = frozenset(token.text for token in model.added if not token.special)
    if pattern is None:
        raise _unstated("the pattern of this rank file is not stated")
    if special is None:
        raise _unstated("the special tokens of this rank file are not stated")
    return pattern, special, plain


def _unstated(what: str) -> UnstatedError:
    return UnstatedError(
        what, fix="name a preset with --preset (preset=...), or give a sidecar file"
    )


def registry(name: str, *, offline: bool = False) -> Files:
    """The rank file and sidecar of an encoding or of a model that tiktoken knows.

    Args:
        name: ``cl100k_base`` or ``gpt-4o``; ``tiktoken:`` may stand before it.
        offline: use what tiktoken's cache holds, never the network.

    Raises:
        EngineMissingError: tiktoken is not installed.
        SourceError: tiktoken does not know the name, or cannot get the files.
    """
    from .live import files_from_encoding

    published = encoding(name, offline=offline)
    return EncodingFiles(files_from_encoding(published), published)


def listed() -> list[str]:
    """The names of the encodings that the installed tiktoken and its plugins have.

    Raises:
        EngineMissingError: tiktoken is not installed.
        EngineError: a plugin is broken.
    """
    registered = library("tiktoken.registry")
    with guarded("tiktoken", "to list its encodings"):
        return list(registered.list_encoding_names())


def constructors() -> dict[str, Callable[[], dict[str, Any]]]:
    """What the plugins of tiktoken give: names to functions that give an encoding's arguments.

    A plugin is a module of the namespace package ``tiktoken_ext``. One that needs tiktoken where it
    is not installed is passed over; where ``bpe_interop.tiktoken`` stands in for tiktoken, plugins
    import that.

    Raises:
        EngineError: a plugin cannot be imported.
        FormatError: a plugin gives no encodings, or one that another gives too (also ValueError).
    """
    try:
        plugins = library("tiktoken_ext", "tiktoken")
    except EngineMissingError:
        return {}
    every: dict[str, Callable[[], dict[str, Any]]] = {}
    import pkgutil

    for each in pkgutil.iter_modules(plugins.__path__, f"{plugins.__name__}."):
        try:
            with guarded(f"{each.name}, a plugin of tiktoken,", "to be imported"):
                plugin = importlib.import_module(each.name)
        except EngineError as error:
            cause = error.__cause__
            if isinstance(cause, ImportError) and (cause.name or "").startswith("tiktoken"):
                continue
            raise
        own = getattr(plugin, "ENCODING_CONSTRUCTORS", None)
        if own is None:
            raise FormatError(
                "the plugin of tiktoken has no ENCODING_CONSTRUCTORS",
                where=each.name,
                fix="correct or uninstall it",
            )
        if twice := sorted(own.keys() & every.keys()):
            raise FormatError(
                f"the plugin of tiktoken gives {twice[0]!r}, which another plugin gives too",
                where=each.name,
                fix="uninstall one of them",
            )
        every |= own
    return every


def encoding(name: str, *, offline: bool = False) -> Encoding:
    """The ``tiktoken.Encoding`` of an encoding or of a model that tiktoken knows.

    Raises:
        EngineMissingError, SourceError: as :func:`registry`.
    """
    library("tiktoken")
    name = name.removeprefix("tiktoken:")
    known = _encoding_name(name)
    try:
        with guarded("tiktoken", f"to get {known}"), _network(offline):
            published: Encoding = library("tiktoken").get_encoding(known)
            return published
    except EngineError as error:
        if isinstance(error.__cause__, BpeInteropError):
            raise
        cause = error.__cause__
        # An error of requests has a response where somebody answered.
        silent = isinstance(cause, OSError) and getattr(cause, "response", cause) is None
        why = "no network" if silent else error.what.partition(": ")[2]
        raise SourceError(
            f"tiktoken cannot get {known}: {why}",
            where=f"tiktoken:{name}",
            fix="set TIKTOKEN_CACHE_DIR to a folder that holds tiktoken's files, or name a "
            "rank file and a preset instead",
        ) from None


def _encoding_name(name: str) -> str:
    models = library("tiktoken.model")
    encodings = listed()
    if name in encodings:
        return name
    try:
        return str(models.encoding_name_for_model(name))
    except KeyError:
        import difflib

        known = dict.fromkeys([*encodings, *models.MODEL_TO_ENCODING])
        near = difflib.get_close_matches(name, known, n=5)
        shown = ", ".join(near) if near else ", ".join(sorted(encodings))
        raise SourceError(
            f"tiktoken knows no encoding and no model {name!r}",
            where=f"tiktoken:{name}",
            fix=f"{'near names' if near else 'its encodings'}: {shown}",
        ) from None


@contextlib.contextmanager
def _network(offline: bool) -> Iterator[None]:
    """Keeps ``tiktoken.load`` from the network while the block runs.

    tiktoken has no switch for that: everything that is not in its cache goes through
    ``tiktoken.load.read_file``.
    """
    if not offline:
        yield
        return
    load: Any = library("tiktoken.load")
    with _offline:
        before = load.read_file

        def read_file(blobpath: str) -> bytes:
            if "://" in blobpath:
                raise OSError(f"{blobpath} is not in the cache, and --offline was given")
            data: bytes = before(blobpath)
            return data

        load.read_file = read_file
        try:
            yield
        finally:
            load.read_file = before


def cached(address: str, sha256: str) -> bytes | None:
    """The file of an address, if tiktoken's cache has it with this sha256 (hex).

    The folder is that of ``read_file_cached`` in tiktoken's ``load.py``: ``TIKTOKEN_CACHE_DIR``,
    else ``DATA_GYM_CACHE_DIR``, else ``data-gym-cache`` in the system's temporary folder; an
    empty name is no cache. Anyone may write to the last one, so the sha256 decides.
    """
    named = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    if named == "":
        return None
    if named:
        folder = Path(named)
    else:
        import tempfile  # to import it takes longer than to read the file

        folder = Path(tempfile.gettempdir(), "data-gym-cache")
    file = folder / hashlib.sha1(address.encode()).hexdigest()
    try:
        if not file.is_file() or file.stat().st_size > FILE_BYTES.most:
            return None
        data = file.read_bytes()
    except OSError:
        return None
    return data if hashlib.sha256(data).hexdigest() == sha256 else None
