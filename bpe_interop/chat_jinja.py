"""Chat templates: Jinja as they expect it, in its sandbox, and the text that one makes of a chat.

As transformers has it: ``raise_exception``, ``strftime_now``, a ``tojson`` that escapes nothing,
loop controls, ``{% generation %}``, and blocks that take their line feed with them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
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
from .model import CHATS, BPEModel, Json
from .quoting import escaped


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


def rendered(
    model: BPEModel,
    messages: Sequence[Mapping[str, Json]],
    tools: Sequence[Json] = (),
    answered: bool = False,
    template: str | None = None,
    more: Mapping[str, Json] | None = None,
) -> str:
    """The text that a chat template makes of a chat, as transformers renders it.

    Args:
        model: its chat templates, and its special tokens by their roles.
        messages: each a mapping with ``role``.
        tools: those that may be called.
        answered: whether the beginning of an answer is written (``add_generation_prompt``).
        template: one of the model's by name, or Jinja; None is the model's own, and with tools
            the one named ``tool_use`` where there is one.
        more: further variables of the template.

    Raises:
        SourceError: there is no chat template, or it fails, or refuses the chat, or makes more
            than is allowed.
    """
    source = _chosen(model, template, with_tools=bool(tools))
    given: dict[str, Any] = {
        f"{role}_token": token.text for token in model.added or () for role in token.roles
    }
    given |= {
        "messages": list(messages),
        "tools": list(tools) or None,
        "documents": None,
        "add_generation_prompt": answered,
        **(more or {}),
    }
    pieces: list[str] = []
    size = 0
    try:
        for piece in environment().from_string(source).generate(given):
            size += len(piece)
            if size > CHAT_CHARACTERS.most:
                raise SourceError(CHAT_CHARACTERS.passed("what the chat template writes"))
            pieces.append(piece)
    except SourceError:
        raise
    except TemplateError as error:
        message = escaped(error.message or type(error).__name__)
        raise SourceError(f"the chat template does not take this chat: {message}") from None
    except Exception as error:  # a program from a file may raise whatever Python can
        message = escaped(f"{type(error).__name__}: {error}")
        raise SourceError(f"the chat template fails on this chat: {message}") from None
    return "".join(pieces)


def _chosen(model: BPEModel, template: str | None, *, with_tools: bool) -> str:
    """The Jinja of a chat template (``PreTrainedTokenizerBase.get_chat_template``)."""
    named = model.extras.get(CHATS)
    others = named if isinstance(named, dict) else {}
    if template is None and with_tools and "tool_use" in others:
        template = "tool_use"
    source = model.chat_template if template is None else others.get(template, template)
    if source is None:
        raise SourceError(
            "no chat template is known",
            fix="name a directory whose tokenizer_config.json or chat_template.jinja has one, or "
            "write one with bpe-interop extend SRC DST --chat-template FILE",
        )
    return str(source)


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
