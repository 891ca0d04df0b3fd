"""Chats as people paste them: JSON, or lines that say who speaks."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from ..errors import SourceError
from ..model import Json

SPEAKERS = ("system", "developer", "user", "assistant", "tool")
"""The roles of a chat that is pasted as plain lines."""
_BEGINS = re.compile(rf"^({'|'.join(SPEAKERS)})[ \t]*:[ \t]*", re.I | re.M)
_FORMS = 'paste [{"role": "user", "content": "..."}], or lines that begin with user: or assistant:'


@dataclass(frozen=True, slots=True)
class Chat:
    """Messages in order, the tools that may be called, and who speaks next.

    ``answered`` is whether the beginning of an answer is to be written (a generation prompt).
    """

    messages: tuple[Mapping[str, Json], ...]
    tools: tuple[Json, ...]
    answered: bool


def read_chat(text: str) -> Chat:
    """A chat as people paste it: JSON, or lines that say who speaks.

    JSON is an array of messages (objects with ``role``), or an object with ``messages`` and
    perhaps ``tools`` and ``add_generation_prompt``, as services take it. Where it does not say
    so, an answer begins unless the last message is one.

    Raises:
        SourceError: it is neither.
    """
    if text.lstrip()[:1] in ("[", "{"):
        return _from_json(text)
    parts = _BEGINS.split(text)
    if len(parts) < 3 or parts[0].strip():
        raise SourceError("this is no chat", fix=_FORMS)
    turns = zip(parts[1::2], parts[2::2], strict=True)
    messages = [{"role": who.lower(), "content": what.removesuffix("\n")} for who, what in turns]
    return Chat(tuple(messages), (), messages[-1]["role"] != "assistant")


def _from_json(text: str) -> Chat:
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        raise SourceError("this is no chat: it begins as JSON and is none", fix=_FORMS) from None
    whole = given if isinstance(given, dict) else {"messages": given}
    messages, tools = whole.get("messages"), whole.get("tools") or []
    if not isinstance(messages, list) or not isinstance(tools, list):
        raise SourceError("this is no chat: it has no list of messages", fix=_FORMS)
    for number, message in enumerate(messages, 1):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise SourceError(f"message {number} of the chat has no role", fix=_FORMS)
    last = messages[-1]["role"] if messages else ""
    asked = whole.get("add_generation_prompt")
    answered = asked if isinstance(asked, bool) else last != "assistant"
    return Chat(tuple(messages), tuple(tools), answered)
