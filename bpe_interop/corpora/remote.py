"""Files of corpora that fsspec opens: object stores, web servers, archives, memory."""

from __future__ import annotations

import contextlib
import errno
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, BinaryIO, Literal

from ..errors import EngineMissingError, SourceError
from ..io.reader import unreadable
from ..optional import optional

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(::.*)?://")
_ON_DISK = re.compile(r"(file|local)://", re.IGNORECASE)
_PASSWORD = re.compile(r"://[^/@:]*:[^/@]*@")
_WEB = ("http", "https")
_PACKED = frozenset({"zip", "tar", "libarchive"})
"""Archives: a file in one is read from its start."""
_VERSIONED = (
    *("ETag", "etag", "VersionId", "version_id", "generation", "md5Hash", "content_md5", "crc"),
    *("checksum", "CRC", "LastModified", "last_modified", "updated", "mtime", "modified"),
    *("created", "timeModified", "date_time", "sha"),
)
"""What stores say of a file that is another when the file is."""
_BUFFER = 1 << 20
_AHEAD = 1 << 23
"""Bytes that are asked of a store at once."""


def is_url(name: str) -> bool:
    """Whether a name is fsspec's to open, and not a path."""
    return bool(_URL.match(name)) and not _ON_DISK.match(name)


def without_scheme(name: str) -> str:
    """The path of ``file:///PATH``; other names as they are."""
    return _ON_DISK.sub("", name, count=1)


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file by its URL, of which the methods are those of ``pathlib.Path``.

    Errors of all stores come as ``OSError``. It can be sent to another process.
    """

    url: str

    @property
    def name(self) -> str:
        """The last part of the URL, without what is asked of a web server."""
        first = next((part for part in self.url.split("::") if "://" in part), self.url)
        path = first.partition("://")[2]
        if first.partition("://")[0].lower() in _WEB:
            path = re.split(r"[?#]", path, maxsplit=1)[0]
        return PurePosixPath(path).name

    @property
    def suffixes(self) -> list[str]:
        """The endings of the name."""
        return PurePosixPath(self.name).suffixes

    @property
    def suffix(self) -> str:
        """The last of them."""
        return PurePosixPath(self.name).suffix

    @property
    def packed(self) -> bool:
        """Whether nothing in it can be found without what stands before it."""
        schemes = {part.partition("://")[0].lower() for part in self.url.split("::")}
        return not schemes.isdisjoint(_PACKED)

    def is_file(self) -> bool:
        """Whether it is there; OSError where the store does not answer."""
        with _one_kind_of_error(self.url):
            system, path = _found(self.url)
            return bool(system.isfile(path))

    def size(self) -> int:
        """Its bytes as they are stored.

        Raises:
            OSError: it is not there, or the store does not say how large it is.
        """
        size = self._info().get("size")
        if size is None:
            raise OSError("the server does not say how large it is: copy it first")
        return int(size)

    def version(self) -> str:
        """What the store says of it that is another when the file is; its size at least."""
        told = self._info()
        return repr([(name, str(told[name])) for name in ("size", *_VERSIONED) if name in told])

    def open(self, mode: Literal["rb"] = "rb") -> BinaryIO:
        """Its bytes, buffered."""
        with _one_kind_of_error(self.url):
            system, path = _found(self.url)
            inner = system.open(path, mode, block_size=_AHEAD)
        return io.BufferedReader(_Stream(inner, system, self.url), _BUFFER)

    def _info(self) -> dict[str, Any]:
        with _one_kind_of_error(self.url):
            system, path = _found(self.url)
            system.invalidate_cache(path)
            told: dict[str, Any] = system.info(path)
            return told


class _Stream(io.RawIOBase):
    """A file of fsspec's, with one kind of error."""

    def __init__(self, inner: Any, system: Any, url: str) -> None:
        # An archive is closed when nobody holds its file system any more.
        self._inner, self._system, self._url = inner, system, url

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return bool(self._inner.seekable())

    def readinto(self, buffer: Any) -> int:
        with _one_kind_of_error(self._url):
            data = self._inner.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        with _one_kind_of_error(self._url):
            return int(self._inner.seek(offset, whence))

    def tell(self) -> int:
        return int(self._inner.tell())

    def close(self) -> None:
        if not self.closed:
            self._inner.close()
        super().close()


def expanded(url: str) -> list[tuple[RemoteFile, str]]:
    """The files that a URL stands for in order, each with its path below what was named.

    That is the file, those below a directory (hidden ones left out), or those that match ``*``,
    ``**``, ``?`` and ``[...]``. Of a web server a ``?`` begins a query, and there are no
    directories.

    Raises:
        SourceError: there is none, or its store does not answer; or the URL holds a password.
        EngineMissingError: fsspec, or what it needs for this store, is not installed.
    """
    if _PASSWORD.search(url):
        raise SourceError(
            "a corpus is named in reports and manifests, and this URL holds a password",
            where=_PASSWORD.sub("://", url),
            fix="give it to fsspec by its configuration or in the environment",
        )
    try:
        with _one_kind_of_error(url):
            system, path = _found(url)
            root = ""
            if has_magic(url):
                paths = [each for each in system.glob(path) if system.isfile(each)]
            elif system.isfile(path) or not system.isdir(path):
                file = RemoteFile(_url_of(system, path, url))
                return [(file, file.name)]
            else:
                paths, root = system.find(path), path
            named = path.split("/")
            return [
                (RemoteFile(_url_of(system, each, url)), each.removeprefix(root).lstrip("/"))
                for each in sorted(paths)
                if not any(part[:1] == "." and part not in named for part in each.split("/"))
            ]
    except OSError as error:
        raise unreadable(error, url) from error


def has_magic(url: str) -> bool:
    """Whether a URL is a pattern."""
    web = url.partition("://")[0].lower() in _WEB
    return any(sign in url for sign in ("*[" if web else "*?["))


def _url_of(system: Any, path: str, asked: str) -> str:
    """The URL of a file that was found, within what the other one names."""
    head, chained, rest = asked.partition("::")
    if not chained:
        return str(system.unstrip_protocol(path))
    if "://" in head:
        return f"{head.partition('://')[0]}://{path}::{rest}"
    return f"{head}::{rest.partition('://')[0]}://{path.lstrip('/')}"


def _found(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path in it."""
    library = optional("fsspec.core", "fsspec")
    there: tuple[Any, str] = library.url_to_fs(url)
    return there


@contextlib.contextmanager
def _one_kind_of_error(url: str) -> Iterator[None]:
    """A block in which what a store raises becomes an ``OSError``.

    Raises:
        EngineMissingError: a library that the store needs is not installed.
    """
    try:
        yield
    except FileNotFoundError as error:  # which says the path only
        raise FileNotFoundError(errno.ENOENT, "no such file or directory", url) from error
    except (OSError, EngineMissingError):
        raise
    except ImportError as error:
        raise EngineMissingError(
            f"fsspec cannot open this: {error}", where=url, fix="install what it names"
        ) from error
    except Exception as error:  # each store's library raises classes of its own (botocore, aiohttp)
        told = str(error).strip().split("\n")[0]
        raise OSError(f"{type(error).__name__}: {told}") from error
