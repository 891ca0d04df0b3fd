"""Encodings by name, through tiktoken's own registry and cache."""

from __future__ import annotations

import contextlib
import importlib
import pkgutil
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ..errors import BpeInteropError, EngineError, EngineMissingError, FormatError, SourceError
from ..formats import Files
from .library import guarded, library

if TYPE_CHECKING:
    from tiktoken import Encoding

_offline = threading.Lock()


class EncodingFiles(dict[str, bytes]):
    """The files of an encoding that tiktoken holds, and it: nobody builds a second one of them.

    In another process they are files alone.
    """

    def __init__(self, files: Files, encoding: Encoding) -> None:
        super().__init__(files)
        self.encoding = encoding

    def __reduce__(self) -> tuple[object, ...]:
        return dict, (dict(self),)


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
        raise SourceError(
            f"tiktoken cannot get {known}: {error.what.partition(': ')[2]}",
            where=f"tiktoken:{name}",
            fix="set TIKTOKEN_CACHE_DIR to a folder that holds tiktoken's files, or name a "
            "rank file and a preset instead",
        ) from error


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
