"""The text that a tokenizer's chat template makes of a chat.

A chat template is Jinja's source. It is rendered as transformers renders it: with ``messages``,
``tools``, ``add_generation_prompt`` and the special tokens by their roles, ``raise_exception``,
``strftime_now``, a ``tojson`` that escapes nothing, loop controls, ``{% generation %}``, and
blocks that take their line feed with them. It is a program that came with a file: it runs in
Jinja's sandbox, for a limited time and to a limited length.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from types import FrameType
from typing import Any, NoReturn

from jinja2 import Environment, TemplateError, nodes
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from ..errors import SourceError
from ..limits import CHAT_CHARACTERS, CHAT_SECONDS
from ..model import BPEModel, Json, escaped
from .chats import Chat


def written(chat: Chat, model: BPEModel) -> str:
    """The text that a tokenizer's chat template makes of a chat.

    Raises:
        SourceError: there is no chat template, or it fails, or refuses the chat, or makes more
            or takes longer than is allowed.
    """
    if model.chat_template is None:
        raise SourceError(
            "no chat template is known",
            fix="name a directory whose tokenizer_config.json or chat_template.jinja has one",
        )
    given: dict[str, Any] = {
        f"{role}_token": token.text for token in model.added or () for role in token.roles
    }
    given |= {
        "messages": list(chat.messages),
        "tools": list(chat.tools) or None,
        "documents": None,
        "add_generation_prompt": chat.answered,
    }
    try:
        with _Deadline(CHAT_SECONDS.most):
            return _render(model.chat_template, given)
    except SourceError:
        raise
    except TemplateError as error:
        message = escaped(error.message or type(error).__name__)
        raise SourceError(f"the chat template does not take this chat: {message}") from None
    except Exception as error:  # a program from a file may raise whatever Python can
        message = escaped(f"{type(error).__name__}: {error}")
        raise SourceError(f"the chat template fails on this chat: {message}") from None


def _render(source: str, given: Mapping[str, Any]) -> str:
    held: list[str] = []
    size = 0
    for piece in _environment().from_string(source).generate(given):
        size += len(piece)
        if size > CHAT_CHARACTERS.most:
            raise SourceError(CHAT_CHARACTERS.passed("what the chat template writes"))
        held.append(piece)
    return "".join(held)


class _Deadline:
    """Ends what runs in this thread, at the next line of Python, when its time is over."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._before = sys.gettrace()

    def __enter__(self) -> None:
        sys.settrace(self._look)

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def _look(self, frame: FrameType, event: str, argument: object) -> Any:
        if time.monotonic() > self._end:
            raise SourceError(CHAT_SECONDS.passed("the chat template"))
        return self._look


class _Generation(Extension):
    """``{% generation %}``: marks what an assistant says; it is written as it is."""

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        self.tags = {"generation"}

    def parse(self, parser: Parser) -> list[nodes.Node]:
        """What stands in the block."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class _Sandbox(ImmutableSandboxedEnvironment):
    """Repeats nothing beyond what may be written."""

    intercepted_binops = frozenset({"*", "**"})

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        sized = next((len(x) for x in (left, right) if hasattr(x, "__len__")), 0)
        times = max((abs(x) for x in (left, right) if isinstance(x, int)), default=0)
        if operator == "**" or sized * times > CHAT_CHARACTERS.most:
            raise SecurityError("it repeats something too often")
        return super().call_binop(context, operator, left, right)


@cache
def _environment() -> Environment:
    """Jinja as chat templates expect it; a template can change nothing outside itself."""
    made = _Sandbox(trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols])
    made.filters["tojson"] = _tojson
    made.globals["raise_exception"] = _refuse
    made.globals["strftime_now"] = _now
    return made


def _tojson(
    value: Json,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
    )


def _now(form: str) -> str:
    return datetime.now().strftime(form)


def _refuse(message: str) -> NoReturn:
    raise TemplateError(message)
