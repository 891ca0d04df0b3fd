"""Chats as people paste them, and the text that a tokenizer's chat template makes of one.

A template (:mod:`..chat_jinja`) is a program that came with a file: it runs for a limited time.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any

from ..errors import SourceError
from ..limits import CHAT_SECONDS
from ..model import BPEModel, Json

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


@dataclass(frozen=True, slots=True)
class ChatText:
    """The text that a chat template makes of a chat.

    ``places``: characters of it inside texts of special tokens that a message holds, so that
    whoever wrote the message, and not the template, puts these tokens there. None: the template
    changes what messages say, and it cannot be told.
    """

    text: str
    places: tuple[int, ...] | None


def apply_template(chat: Chat, model: BPEModel) -> ChatText:
    """What a tokenizer's chat template makes of a chat.

    Raises:
        SourceError: as :func:`..chat_jinja.rendered`; or it takes longer than is allowed.
    """
    from ..chat_jinja import rendered  # a page without chats needs no Jinja

    with _Deadline(CHAT_SECONDS.most):
        text = rendered(model, chat.messages, chat.tools, chat.answered)
        special = sorted((t.text for t in model.added or () if t.special and t.text), key=len)
        given = [*chat.messages], [*chat.tools]
        there = {*text, *json.dumps(given, ensure_ascii=False)}
        mark = next(chr(point) for point in range(0xE000, 0xF900) if chr(point) not in there)
        pattern = re.compile("|".join(map(re.escape, reversed(special))) or "(?!)")
        messages, tools = (_marked(each, pattern, mark) for each in given)
        if (messages, tools) == given:
            return ChatText(text, ())
        try:
            marked = rendered(model, messages, tools, chat.answered)
        except SourceError:
            return ChatText(text, None)
    if marked.replace(mark, "") != text:
        return ChatText(text, None)
    places = (found.start() for found in re.finditer(mark, marked))
    return ChatText(text, tuple(place - count for count, place in enumerate(places)))


def _marked(value: Any, pattern: re.Pattern[str], mark: str) -> Any:
    """The same with a mark inside each special token's text, but not in the names of speakers."""
    if isinstance(value, str):
        return pattern.sub(lambda found: f"{found[0][0]}{mark}{found[0][1:]}", value)
    if isinstance(value, list):
        return [_marked(each, pattern, mark) for each in value]
    if isinstance(value, dict):
        return {k: v if k == "role" else _marked(v, pattern, mark) for k, v in value.items()}
    return value


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
