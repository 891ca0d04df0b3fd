"""Jinja as chat templates expect it, in its sandbox; and whether a text is such a template.

As transformers has it: ``raise_exception``, ``strftime_now``, a ``tojson`` that escapes nothing,
loop controls, ``{% generation %}``, and blocks that take their line feed with them.
"""

from __future__ import annotations

import json
from datetime import datetime
from functools import cache
from typing import Any, NoReturn

from jinja2 import Environment, TemplateError, TemplateSyntaxError, nodes
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from .errors import SourceError
from .limits import CHAT_CHARACTERS
from .model import Json, escaped


def check(source: str, file: str) -> None:
    """Finds out whether a chat template can be read as Jinja, before anything holds it.

    Raises:
        SourceError: it cannot; the message names the file and the line.
    """
    try:
        environment().parse(source)
    except TemplateSyntaxError as error:
        what = f"this is no chat template: {escaped(error.message or 'it is no Jinja')}"
        fix = "correct the template, or name another file"
        raise SourceError(what, where=f"{file}: line {error.lineno}", fix=fix) from None
    except RecursionError:
        raise SourceError("the chat template is nested too deeply", where=file) from None


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
def environment() -> Environment:
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
