"""The live page: an application that shows typed texts in the tokens of several tokenizers.

It answers four questions and knows nothing else: the page itself, the tokens of a text or a chat,
how one token was merged, and, where the reader sits at this machine, that of one more tokenizer.
All of it is escaped by the templates; no answer may run a script but the page's own
(Content-Security-Policy), and none is given to another name than the page's own, so that no other
site can ask through a reader's browser (DNS rebinding).
"""

from __future__ import annotations

import codecs
import errno
import json
import logging
import socket
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from ..encode.explain import Explained, Merge, Replaced
from ..engines import Special
from ..errors import BpeInteropError, SourceError, TargetError
from ..limits import PAGE_CONNECTIONS, PAGE_SECONDS, PAGE_TOKENIZERS
from ..optional import optional
from ..presets import PRESETS
from ..reports.page import digest, templates
from .chats import Chat, read_chat
from .page import flows, sheet, shortest
from .panels import Viewed, chat_panels, chat_text, check_size, panels

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment
    from werkzeug import Request, Response

T = TypeVar("T")
Load: TypeAlias = "Callable[[str, str | None], Viewed]"
"""Loads a tokenizer by the name of its source and of a preset."""

LIVE_LIMIT = 20_000
"""Bytes of UTF-8 of a text that is encoded as it is typed."""
BODY_LIMIT = 8 * LIVE_LIMIT
"""Bytes of a request: JSON spells a control character in six."""
SAMPLE = "Tokens are pieces of words: 3,141 naïve cafés, 東京, नमस्ते 👋 if x == 10_000:"
"""What the page shows before anything is typed: words, digits, other scripts, code."""
_HTML = "text/html; charset=utf-8"
_PLAIN = "text/plain; charset=utf-8"


def _needed(name: str) -> ModuleType:
    page = "or write a page that needs no server: -o PAGE.html"
    return optional(name, "view", to="to serve a page", instead=page)


class _Refused(Exception):
    """A request that is not answered: an HTTP status and why."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status, self.why = status, why


class _Request(NamedTuple):
    """A text that was sent, and how to read special tokens in it; or a chat."""

    text: str
    special: Special
    chat: Chat | None


class LivePage:
    """The application (WSGI).

    Args:
        sides: the tokenizers.
        hosts: the values of ``Host`` that are answered, as ``127.0.0.1:8765``.
        load: loads a tokenizer that a reader adds; None where readers may add none.

    Raises:
        EngineMissingError: werkzeug is not installed.
    """

    def __init__(
        self, sides: Sequence[Viewed], hosts: Collection[str], load: Load | None = None
    ) -> None:
        self._sides, self._hosts = list(sides), frozenset(map(str.lower, hosts))
        self._given, self._load, self._adding = len(sides), load, Lock()
        _needed("werkzeug")
        self._answers: dict[str, tuple[str, Callable[[Request], tuple[str, str]]]] = {
            "/": ("GET", self._page),
            "/tokens.js": ("GET", _script),
            "/view.js": ("GET", _script),
            "/tokens": ("POST", self._tokens),
            "/merges": ("POST", self._merges),
        }
        if load is not None:
            self._answers["/add"] = ("POST", self._add)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answers a request."""
        from werkzeug import Request

        request = Request(environ)
        request.max_content_length = BODY_LIMIT
        return self._respond(request)(environ, start_response)

    def _respond(self, request: Request) -> Response:
        from werkzeug import Response

        try:
            body, kind = self._answer(request)
            made = Response(body, content_type=kind)
        except _Refused as refused:
            made = Response(refused.why, refused.status, content_type=_PLAIN)
        made.headers.update(_headers())
        return made

    def _answer(self, request: Request) -> tuple[str, str]:
        if request.environ.get("HTTP_HOST", "").lower() not in self._hosts:
            raise _Refused(421, "this page is not served under that name")
        if request.path not in self._answers:
            raise _Refused(404, "there is no such page")
        method, answer = self._answers[request.path]
        if request.method != method and (request.method, method) != ("HEAD", "GET"):
            raise _Refused(405, f"ask by {method}")
        return answer(request)

    def _page(self, request: Request) -> tuple[str, str]:
        page = templates().get_template("view.html")
        adding = self._load is not None
        return page.render(
            live=True,
            labels=[side.label for side in self._shown()[: self._given]],
            known=[side.label for side in self._sides],  # as links name them
            adding=adding,
            presets=[*PRESETS],
            sheet=sheet(),
            sample=SAMPLE,
        ), _HTML

    def _tokens(self, request: Request) -> tuple[str, str]:
        sent = _sent(request)
        asked, numbers = _asked(sent), self._numbers(sent)
        named = self._shown()
        sides = [named[number] for number in numbers]
        if asked.chat is not None:
            columns = chat_panels(sides, asked.chat, LIVE_LIMIT)
        else:
            columns = _found(lambda: panels(sides, asked.text, asked.special))
        page = templates().get_template("panels.html")
        return page.render(live=True, flows=flows(columns), numbers=numbers, chat=asked.chat), _HTML

    def _merges(self, request: Request) -> tuple[str, str]:
        sent = _sent(request)
        asked = _asked(sent)
        side, at = sent.get("side"), sent.get("token")
        if type(side) is not int or type(at) is not int or at < 0:
            raise _Refused(400, "side and token are numbers from 0")
        viewed, chat, text = self._side(side), asked.chat, asked.text
        if chat is not None:
            text = _found(lambda: chat_text(viewed, chat, LIVE_LIMIT))
        explained, made = _found(lambda: how_merged(viewed, text, at, asked.special))
        page = templates().get_template("merges.html")
        return page.render(found=explained, answer=made), _HTML

    def _add(self, request: Request) -> tuple[str, str]:
        """Adds a tokenizer, and says its number; one that is there already keeps its own."""
        sent = _sent(request)
        source, preset = sent.get("source"), sent.get("preset") or None
        if not isinstance(source, str) or not isinstance(preset, str | None):
            raise _Refused(400, "send a source, and perhaps a preset")
        label = f"{source} ({preset})" if preset else source
        with self._adding:
            labels = [side.label for side in self._sides]
            if label not in labels:
                if len(labels) >= PAGE_TOKENIZERS.most:
                    raise _Refused(409, PAGE_TOKENIZERS.passed("with one more, the page"))
                self._sides.append(self._loaded(label, source.strip(), preset))
                labels.append(label)
        return json.dumps({"side": labels.index(label), "label": label}), "application/json"

    def _loaded(self, label: str, source: str, preset: str | None) -> Viewed:
        assert self._load is not None
        try:
            return Viewed(label, self._load(source, preset).encoder)
        except BpeInteropError as error:
            message = "; ".join(part for part in (f"{label}: {error.what}", error.fix) if part)
            raise _Refused(422, message) from None

    def _numbers(self, sent: dict[str, Any]) -> list[int]:
        """The tokenizers that are asked for, in order; those of the command where none is named."""
        numbers = sent.get("sides", [*range(self._given)])
        if not isinstance(numbers, list) or not 0 < len(numbers) <= PAGE_TOKENIZERS.most:
            raise _Refused(400, "sides is a list of numbers from 0")
        for number in numbers:
            self._side(number)
        return numbers

    def _side(self, number: object) -> Viewed:
        if type(number) is not int or not 0 <= number < len(self._sides):
            raise _Refused(400, "there is no such tokenizer")
        return self._shown()[number]

    def _shown(self) -> list[Viewed]:
        """The tokenizers under the shortest names that tell all of them apart."""
        names = shortest([side.label for side in self._sides])
        return [replace(side, label=name) for side, name in zip(self._sides, names, strict=True)]


def _script(request: Request) -> tuple[str, str]:
    script = templates().get_template(request.path.removeprefix("/")).render()
    return script, "text/javascript; charset=utf-8"


def _sent(request: Request) -> dict[str, Any]:
    """The object that a request sends."""
    from werkzeug.exceptions import RequestEntityTooLarge

    # Other sites' pages can send forms and plain text unasked, but not this.
    if request.mimetype != "application/json":
        raise _Refused(415, "send JSON")
    try:
        sent = json.loads(request.get_data())
    except RequestEntityTooLarge:
        raise _Refused(413, f"the text has more than {LIVE_LIMIT:,} bytes") from None
    except (ValueError, RecursionError):
        raise _Refused(400, "this is not JSON") from None
    if not isinstance(sent, dict):
        raise _Refused(400, "send an object")
    return sent


def _asked(sent: dict[str, Any]) -> _Request:
    """The text or the chat that was sent, checked."""
    text = sent.get("text")
    if not isinstance(text, str):
        raise _Refused(400, "send an object with a text")
    try:
        check_size(len(text.encode("utf-8", "surrogatepass")), LIVE_LIMIT)
    except SourceError as error:
        raise _Refused(413, error.what) from None
    if sent.get("chat") is True and text.strip():
        return _Request("", "parse", _found(lambda: read_chat(text)))
    return _Request(text, "parse" if sent.get("special") is True else "text", None)


def _found(find: Callable[[], T]) -> T:
    """What is found, or why a tokenizer cannot say it."""
    try:
        return find()
    except BpeInteropError as error:
        raise _Refused(422, f"{error.what}: {error.fix}" if error.fix else error.what) from None


def _headers() -> dict[str, str]:
    """What every answer tells the browser: obey nothing but this page, and keep nothing."""
    policy = {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": f"'sha256-{digest(sheet())}'",
        "connect-src": "'self'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    return {
        "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in policy.items()),
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cache-Control": "no-store",
    }


SHOWN = 200
"""How many symbols and merges of a token, and bytes of its pretoken, are shown at most."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A token, the symbols that it began as, and their merges in order.

    ``pretoken`` is its beginning only where ``cut`` says so.
    """

    label: str
    id: int
    content: bytes
    digits: str
    pretoken: bytes
    cut: bool
    symbols: tuple[bytes, ...]
    merges: tuple[Merge, ...]
    replaced: tuple[Replaced, ...]


def how_merged(side: Viewed, text: str, at: int, special: Special) -> tuple[Explained, Answer]:
    """How the token at a place among a text's ids came about, and the pretoken it is from.

    Raises:
        SourceError: there is no such place.
        The errors of :meth:`.Explainer.explain`.
    """
    explained, inner = _at(
        side.encoder.explain(text, "all" if special == "parse" else frozenset()), at
    )
    number, span = explained.ids[inner], explained.spans[inner]
    content = side.encoder.token_bytes(number)
    symbols: list[bytes] = []
    merges: list[Merge] = []
    for run in explained.runs:
        for first, last in run.groups():
            if _meet((run.spans[first][0], run.spans[last - 1][1]), span):
                symbols += run.symbols[first:last]
                merges += [m for m in run.merges if first <= m.first and m.last <= last]
    return explained, Answer(
        side.label,
        number,
        content,
        content.hex(" ").upper(),
        _whole_characters(explained.content[:SHOWN]),
        len(explained.content) > SHOWN,
        tuple(symbols[:SHOWN]),
        tuple(merges[:SHOWN]),
        tuple(each for each in explained.replaced if _meet(each.span, span) and number in each.ids),
    )


def _at(explained: list[Explained], at: int) -> tuple[Explained, int]:
    """What holds the id at a place, and which of its ids that is."""
    for each in explained:
        if at < len(each.ids):
            return each, at
        at -= len(each.ids)
    raise SourceError("the text has no such token")


def _meet(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _whole_characters(content: bytes) -> bytes:
    """Without the bytes at the end that begin a character that is not complete."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    decoder.decode(content)
    return content.removesuffix(decoder.getstate()[0])


# A port of this machine.

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
    create_server = _needed("waitress.server").create_server
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
