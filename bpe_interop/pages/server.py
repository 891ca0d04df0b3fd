"""The live page on a port of this machine."""

from __future__ import annotations

import errno
import logging
import socket
from collections.abc import Callable, Sequence

from ..errors import TargetError
from ..limits import PAGE_CONNECTIONS, PAGE_SECONDS
from .live import BODY_LIMIT, LivePage, Load, missing
from .panels import Viewed

LOOPBACK = "127.0.0.1"
_LOOPBACK = (LOOPBACK, "localhost", "::1")
_EVERY = ("0.0.0.0", "::", "")
_THREADS = 4


def listen(
    sides: Sequence[Viewed], host: str = LOOPBACK, port: int = 0, load: Load | None = None
) -> tuple[str, Callable[[], None]]:
    """Opens a port for the live page.

    Args:
        sides: the tokenizers.
        host: the address to listen at, and with this machine's own names the only one that is
            answered.
        port: the port; 0 is any that is free.
        load: loads a tokenizer that a reader adds. At another address than the loopback readers
            may add none: they are not at this machine, and would name its files.

    Returns:
        The page's address, and what answers until it is interrupted.

    Raises:
        TargetError: the port is in use, or the address cannot be listened at.
        EngineMissingError: werkzeug or waitress is not installed.
    """
    try:
        from waitress.server import create_server
    except ImportError as error:
        raise missing("waitress") from error
    # That a request waits for a moment is not for people.
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    bound = _bound(host, port)
    number = bound.getsockname()[1]
    page = LivePage(sides, _names(host, number), load if host in _LOOPBACK else None)
    # The page's own limit is lower, and answers in words.
    limit = 2 * BODY_LIMIT
    server = create_server(
        page,
        sockets=[bound],
        threads=_THREADS,
        max_request_body_size=limit,
        ident=None,
        connection_limit=PAGE_CONNECTIONS.most,
        channel_timeout=PAGE_SECONDS.most,
        cleanup_interval=2,
        asyncore_use_poll=True,
    )

    def answer() -> None:
        try:
            server.run()
        finally:
            server.close()

    return f"http://{_bracketed(host)}:{number}/", answer


def _bound(host: str, port: int) -> socket.socket:
    if host in _EVERY:
        raise TargetError(
            f"{host or 'nothing'} stands for every address, and the page answers to one",
            fix="name the address at which it is to be reached",
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        where = f"{_bracketed(host)}:{port}"
        if error.errno == errno.EADDRINUSE:
            fix = "name another with --port, or 0 for any that is free"
            raise TargetError("the port is in use", where=where, fix=fix) from None
        what = error.strerror or "cannot be listened at"
        fix = "name an address of this machine with --host, a port with --port"
        raise TargetError(what, where=where, fix=fix) from None


def _names(host: str, port: int) -> set[str]:
    """The values of Host by which a browser asks for the page."""
    names = [_bracketed(name) for name in {host, *_LOOPBACK}]
    return {f"{name}:{port}" for name in names} | ({*names} if port == 80 else set())


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
