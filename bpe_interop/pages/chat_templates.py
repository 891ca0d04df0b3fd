"""The text that a tokenizer's chat template makes of a chat.

It is rendered as transformers renders it: with ``messages``, ``tools``, ``add_generation_prompt``
and the special tokens by their roles, in Jinja as :mod:`..chat_jinja` makes it. It is a program
that came with a file: it runs for a limited time and to a limited length.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from types import FrameType
from typing import Any

from jinja2 import TemplateError

from ..chat_jinja import environment
from ..errors import SourceError
from ..limits import CHAT_CHARACTERS, CHAT_SECONDS
from ..model import BPEModel, escaped
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
            fix="name a directory whose tokenizer_config.json or chat_template.jinja has one, or "
            "write one with bpe-interop extend SRC DST --chat-template FILE",
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
    for piece in environment().from_string(source).generate(given):
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
