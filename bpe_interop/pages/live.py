"""The live page: an application that shows typed texts in the tokens of several tokenizers.

It answers three questions and knows nothing else: the page itself, the tokens of a text, and how
one token was merged. All of it is escaped by the templates; no answer may run a script but the
page's own (Content-Security-Policy), and none is given to another name than the page's own, so
that no other site can ask through a reader's browser (DNS rebinding).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ..engines import Special
from ..errors import BpeInteropError, EngineMissingError, SourceError
from .merged import how_merged
from .page import digest, templates
from .panels import Viewed, check_size, panels
from .view import sheet

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment
    from werkzeug import Request, Response

T = TypeVar("T")

LIVE_LIMIT = 20_000
"""Bytes of UTF-8 of a text that is encoded as it is typed."""
BODY_LIMIT = 8 * LIVE_LIMIT
"""Bytes of a request: JSON spells a control character in six."""
_HTML = "text/html; charset=utf-8"
_PLAIN = "text/plain; charset=utf-8"


def missing(name: str) -> EngineMissingError:
    """The error for a library that only the live page needs."""
    return EngineMissingError(
        f"{name} is needed to serve a page and is not installed",
        fix="install bpe-interop[view]; or write a page that needs no server: -o PAGE.html",
    )


class _Refused(Exception):
    """A request that is not answered: an HTTP status and why."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status, self.why = status, why


class _Asked(NamedTuple):
    """A text that was sent, how to read special tokens in it, and all that was sent."""

    text: str
    special: Special
    all: dict[str, Any]


class LivePage:
    """The application (WSGI).

    Args:
        sides: the tokenizers.
        hosts: the values of ``Host`` that are answered, as ``127.0.0.1:8765``.

    Raises:
        EngineMissingError: werkzeug is not installed.
    """

    def __init__(self, sides: Sequence[Viewed], hosts: Collection[str]) -> None:
        self._sides, self._hosts = tuple(sides), frozenset(map(str.lower, hosts))
        try:
            import_module("werkzeug")
        except ImportError as error:
            raise missing("werkzeug") from error
        self._answers: dict[str, tuple[str, Callable[[Request], tuple[str, str]]]] = {
            "/": ("GET", self._page),
            "/view.js": ("GET", _script),
            "/tokens": ("POST", self._tokens),
            "/merges": ("POST", self._merges),
        }

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
        labels = [side.label for side in self._sides]
        page = templates().get_template("view.html")
        return page.render(live=True, labels=labels, sheet=sheet()), _HTML

    def _tokens(self, request: Request) -> tuple[str, str]:
        asked = _asked(request)
        found = _found(lambda: panels(self._sides, asked.text, asked.special))
        return templates().get_template("panels.html").render(live=True, panels=found), _HTML

    def _merges(self, request: Request) -> tuple[str, str]:
        asked = _asked(request)
        side, at = asked.all.get("side"), asked.all.get("token")
        if type(side) is not int or type(at) is not int or at < 0:
            raise _Refused(400, "side and token are numbers from 0")
        if not 0 <= side < len(self._sides):
            raise _Refused(400, "there is no such tokenizer")
        viewed = self._sides[side]
        found, made = _found(lambda: how_merged(viewed, asked.text, at, asked.special))
        page = templates().get_template("merges.html")
        return page.render(found=found, answer=made), _HTML


def _script(request: Request) -> tuple[str, str]:
    script = templates().get_template("view.js").render()
    return script, "text/javascript; charset=utf-8"


def _asked(request: Request) -> _Asked:
    """What a request sends, checked."""
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
    if not isinstance(sent, dict) or not isinstance(sent.get("text"), str):
        raise _Refused(400, "send an object with a text")
    text = sent["text"]
    try:
        check_size(len(text.encode("utf-8", "surrogatepass")), LIVE_LIMIT)
    except SourceError as error:
        raise _Refused(413, error.what) from None
    return _Asked(text, "parse" if sent.get("special") is True else "text", sent)


def _found(find: Callable[[], T]) -> T:
    """What is found, or why a tokenizer cannot say it."""
    try:
        return find()
    except BpeInteropError as error:
        raise _Refused(422, error.what) from None


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
