"""A running ``llama-server`` of llama.cpp as an engine, by its address.

Defined by ``tools/server/README.md`` of llama.cpp (https://github.com/ggml-org/llama.cpp):
``POST /tokenize`` with ``content``, ``add_special`` and ``parse_special`` gives ``tokens``,
``POST /detokenize`` with ``tokens`` gives ``content``, and ``GET /props`` has ``build_info``. Which
file it runs is its own business: nothing is proved of it. A key, where it asks for one, stands in
``LLAMA_API_KEY``, as it does for the server itself.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Mapping, Sequence
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from socket import SHUT_RDWR
from typing import Any, Final
from urllib.parse import urlsplit

from ..errors import EngineError, SourceError
from ..text.visible import short_text
from .library import SHOWN, OneByOne, Special
from .rows import SERVER as NAME
from .rows import engine_row

_SECONDS: Final = 60
"""A server that does not answer for so long is given up."""
_IN_ALL: Final = 300.0
"""Nor may a whole answer take longer: a server could send a byte from time to time."""
_SHOWN: Final = 200
"""So many characters of what it says are shown."""
_ANSWER: Final = 1 << 28
"""So many bytes of an answer are read at most."""


class LlamaServerEngine(OneByOne):
    """The tokenizer of a server that runs. It is asked text by text.

    ``special="parse"`` finds control tokens in a text; user-defined ones are found either way.
    """

    name = NAME
    parses_special = engine_row(NAME).parses_special
    applies_template = engine_row(NAME).applies_template

    def __init__(self, address: str) -> None:
        """``address`` begins with ``http://`` or ``https://``.

        Raises:
            EngineError: nothing answers there, or it is no such server.
        """
        if "@" in address:
            raise EngineError(
                "the address of a server holds @: a name and a password are not sent",
                fix="write http://HOST:PORT, and put a key into LLAMA_API_KEY",
            )
        try:
            parts = urlsplit(address)
            named = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        except ValueError:
            named = None
        if not named or not address.isascii() or not address.isprintable():
            raise EngineError(f"{address!r} is no address", fix="write http://HOST:PORT")
        self._address = address.rstrip("/")
        self._path = parts.path.rstrip("/")
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._connection = kind(parts.netloc, timeout=_SECONDS)
        self._has_answered = False
        props = self._asked("/props", None, "to say what it is (GET /props)")
        self._has_answered = True
        # The file that it was started with, which need not be the one that is named here.
        told = (props.get("build_info"), props.get("model_path"))
        self.version = ", ".join(_plain(str(each)) for each in told if each)

    def __reduce__(self) -> tuple[type[LlamaServerEngine], tuple[str]]:
        return LlamaServerEngine, (self._address,)

    def encode(
        self, text: str, *, special: Special = "text", add_special_tokens: bool = False
    ) -> list[int]:
        """The ids of a text; with ``add_special_tokens``, bos and eos as the file asks for.

        Raises:
            EngineError: the server fails on it, or gives no ids.
            SourceError: the server is there no more.
        """
        question = {
            "content": text,
            "add_special": add_special_tokens,
            "parse_special": special == "parse",
            "with_pieces": False,
        }
        doing = f"on the text {short_text(text, SHOWN)}"
        ids = self._asked("/tokenize", question, doing).get("tokens")
        if not isinstance(ids, list) or not all(type(each) is int for each in ids):
            raise EngineError(f"{NAME} at {self._address} gave no ids {doing}")
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        doing = f"to decode {list(ids[:8])}"
        text = self._asked("/detokenize", {"tokens": list(ids)}, doing).get("content")
        if not isinstance(text, str):
            raise EngineError(f"{NAME} at {self._address} gave no text {doing}")
        return text

    def _asked(self, path: str, question: object, doing: str) -> dict[str, Any]:
        """The answer to a question, which must be a JSON object."""
        key = os.environ.get("LLAMA_API_KEY")
        if key and not (key.isascii() and key.isprintable()):
            raise EngineError(
                "the key in LLAMA_API_KEY holds a character that none can have (a line end?)",
                fix="set it to the key alone",
            )
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        data = None if question is None else json.dumps(question).encode()
        if data is not None:
            headers["Content-Type"] = "application/json"
        try:
            status, body = self._sent(path, data, headers)
            value = json.loads(body) if status == 200 else None
        except (OSError, HTTPException, ValueError, RecursionError) as error:
            if self._has_answered and isinstance(error, (ConnectionError, HTTPException)):
                # It answered before, so this is no word on a text: the run cannot go on.
                raise SourceError(
                    f"{NAME} at {self._address} answers no more; last it was asked {doing}: "
                    f"{_plain(str(error) or repr(error))}",
                    fix="see why it ended, start it again, and run the command again",
                ) from None
            raise EngineError(
                f"{NAME} at {self._address} failed {doing}: {_plain(str(error) or repr(error))}",
                fix="check the address, and that a llama-server of llama.cpp runs there",
            ) from None
        if status != 200:
            raise EngineError(
                f"{NAME} at {self._address} failed {doing}: {path} gave HTTP {status}: "
                f"{_told(body)}",
                fix="ask a llama-server of llama.cpp, which answers /props, /tokenize and "
                "/detokenize"
                if status == 404
                else "",
            )
        if not isinstance(value, dict):
            raise EngineError(f"{NAME} at {self._address} gave no JSON object {doing}")
        return value

    def _sent(self, path: str, data: bytes | None, headers: Mapping[str, str]) -> tuple[int, bytes]:
        """The status and the body of an answer; a connection that was closed is opened again."""
        method = "GET" if data is None else "POST"
        for last in (False, True):
            late = threading.Event()
            timer = threading.Timer(_IN_ALL, self._give_up, [late])
            timer.daemon = True  # or an interrupted program would wait for it to end
            timer.start()
            try:
                self._connection.request(method, f"{self._path}{path}", data, dict(headers))
                answer = self._connection.getresponse()
                body = answer.read(_ANSWER)
            except (OSError, HTTPException) as error:
                self._connection.close()
                again = isinstance(error, (ConnectionError, HTTPException)) and not last
                if not late.is_set() and not again:
                    raise
            else:
                if not late.is_set():
                    return answer.status, body
            finally:
                timer.cancel()
            if late.is_set():
                self._connection.close()
                raise TimeoutError(f"no whole answer within {_IN_ALL:g} seconds")
        raise AssertionError("the second time gives or raises")

    def _give_up(self, late: threading.Event) -> None:
        """Ends the connection under a request that takes too long."""
        late.set()
        socket = self._connection.sock
        if socket is not None:
            with contextlib.suppress(OSError):  # it has ended meanwhile
                socket.shutdown(SHUT_RDWR)


def _told(body: bytes) -> str:
    """The message in the body of an error, or what there is."""
    text = body.decode("utf-8", "replace")
    try:
        return _plain(str(json.loads(text)["error"]["message"]))
    except (ValueError, TypeError, KeyError, RecursionError):
        return _plain(text.strip()) or "no reason"


def _plain(text: str) -> str:
    """The begin of what a server says, without characters that a terminal obeys."""
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text[:_SHOWN])
    return shown + ("..." if len(text) > _SHOWN else "")
