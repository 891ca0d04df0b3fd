"""What a chat template writes that does not fit its tokenizer.

A marker such as ``<|im_start|>`` is one id only where it is a token. Where it is none, or is
misspelt, it is ordinary text, and becomes several ids without an error.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from jinja2 import TemplateSyntaxError, nodes

from .chat_jinja import environment
from .encode import Encoder
from .errors import BpeInteropError
from .model import CHATS, BPEModel, TemplateToken
from .quoting import show

_SHAPED = re.compile(
    r"<[|｜][^\s<>|｜]{1,60}[|｜]>|</?[A-Za-z_]\w{0,60}>|\[/?[A-Z][A-Z_]{0,60}\]",
)
"""What may be a marker. Tags and words in brackets are often meant as text."""

_SURE = re.compile(r"<[|｜].*|</?s>|<(bos|eos|(start|end)_of_turn)>")
"""What is written as text by mistake only."""

_ASKED = {
    *("count", "endswith", "find", "index", "lstrip", "partition", "removeprefix"),
    *("removesuffix", "replace", "rfind", "rpartition", "rsplit", "rstrip", "split"),
    *("startswith", "strip"),
}
"""Methods and filters that look for their arguments in a text, and do not write them."""

_MOST = 4


def marker_notes(model: BPEModel) -> tuple[str, ...]:
    """A sentence on the markers of the chat templates that are no tokens; none where all are."""
    # What is not stated may well be a token.
    if model.added is None:
        return ()
    texts = {token.text for token in model.added}
    markers = dict.fromkeys(_missing(model, texts))
    if not markers:
        return ()
    encoder = Encoder(model)
    sizes = {marker: _size(marker, encoder) for marker in markers}
    # A token of the vocabulary need not be an added one.
    told = [_told(marker, size, texts) for marker, size in sizes.items() if size != 1]
    if not told:
        return ()
    more = f" and {len(told) - _MOST:,} more" if told[_MOST:] else ""
    one = len(told) == 1
    return (
        f"the chat template writes {', '.join(told[:_MOST])}{more}, which {'is' if one else 'are'} "
        f"no {'token' if one else 'tokens'} here, but ordinary text: correct the template, or add "
        f"{'it' if one else 'them'} with bpe-interop extend SRC DST --special TOKEN",
    )


def chat_notes(model: BPEModel) -> tuple[str, ...]:
    """What is to be said of the chat templates of a tokenizer that is shown or written."""
    return (*marker_notes(model), *_bos_notes(model))


def _bos_notes(model: BPEModel) -> tuple[str, ...]:
    """A sentence where the sequence template and the chat template both place the first token."""
    template = model.sequence_template
    first = next(iter(template.single), None) if template else None
    if not isinstance(first, TemplateToken) or model.chat_template is None:
        return ()
    text = first.name
    names = {
        f"{role}_token" for token in model.added or () if token.text == text for role in token.roles
    }
    if not any(
        (isinstance(node, nodes.Name) and node.name in names) or text in _text(node)
        for node in _writing(model.chat_template)
    ):
        return ()
    return (
        f"both the sequence template and the chat template place {show(text)}: to encode a "
        "rendered chat with special tokens places it twice; give add_special_tokens=False, or "
        "let apply_chat_template tokenize",
    )


def unwritten_note(model: BPEModel, new: Iterable[str], *, eos_is_new: bool) -> str:
    """A sentence where the chat templates write none of some new tokens, or not the new eos.

    It is empty where one of them may be written: spelled out, by its role, or joined of parts.
    """
    roles = {token.text: token.roles for token in model.added or ()}
    # What pads or masks is never written, and what begins a text may be placed around it.
    texts = [text for text in new if {*roles[text]} <= {"eos"}]
    unused = bool(texts) and not any(_may_be_written(model, text, roles[text]) for text in texts)
    eos = [text for text, each in roles.items() if "eos" in each and (unused or eos_is_new)]
    missed = [text for text in eos if not _may_be_written(model, text, roles[text])]
    stop = f"does not learn to stop at {show(missed[0])} (eos)" if missed else ""
    another = "--chat-template FILE gives another"
    if unused:
        shown = ", ".join(map(show, texts[:_MOST]))
        shown += f" and {len(texts) - _MOST:,} more" if texts[_MOST:] else ""
        what = f"writes none of the new tokens {shown}"
        what = what if texts[1:] else f"never writes the new token {shown}"
        told = f", and a model that is trained on them {stop}" if stop else ""
        return f"the kept chat template {what}: chats are as before{told}; {another}"
    if stop:
        return (
            f"a model that is trained on chats {stop}, which the kept chat template never writes; "
            f"{another}"
        )
    return ""


def _may_be_written(model: BPEModel, text: str, roles: Iterable[str]) -> bool:
    """Whether a template holds a token's text, or its role, or a part to begin the text with."""
    names = (text, *(f"{role}_token" for role in roles))
    starts = tuple(text[:size] for size in range(1, len(text)))
    for template in _templates(model):
        if any(name in template for name in names):
            return True
        literals = map(_text, _writing(template))
        if any(text in literal or literal.endswith(starts) for literal in literals):
            return True
    return False


def _templates(model: BPEModel) -> Iterator[str]:
    """The chat template, and those that have names."""
    named = model.extras.get(CHATS)
    others = named.values() if isinstance(named, dict) else ()
    for template in (model.chat_template, *others):
        if isinstance(template, str):
            yield template


def _missing(model: BPEModel, texts: Collection[str]) -> Iterator[str]:
    """The markers that are no tokens, in the order in which templates hold them."""
    for template in _templates(model):
        for node in _writing(template):
            for marker in map(re.Match.group, _SHAPED.finditer(_text(node))):
                if marker not in texts and (_SURE.fullmatch(marker) or _near(marker, texts)):
                    yield marker


def _writing(template: str) -> Iterator[nodes.Node]:
    """The parts of a template that may become a part of what it writes."""
    try:
        todo: list[nodes.Node] = [environment().parse(template)]
    # What is no Jinja is passed over.
    except (TemplateSyntaxError, RecursionError):
        return
    while todo:
        node = todo.pop()
        yield node
        # A text that something is compared with, or searched for, is not written.
        inner = () if isinstance(node, (nodes.Compare, nodes.Test)) else node.iter_child_nodes()
        todo.extend(reversed([each for each in inner if not _is_asked(node, each)]))


def _is_asked(node: nodes.Node, inner: nodes.Node) -> bool:
    """Whether a part of a call is looked for, or is the message of an error."""
    if isinstance(node, nodes.Filter):
        return node.name in _ASKED and inner is not node.node
    if not isinstance(node, nodes.Call) or inner is node.node:
        return False
    called = node.node
    if isinstance(called, nodes.Getattr):
        return called.attr in _ASKED
    return isinstance(called, nodes.Name) and called.name == "raise_exception"


def _text(node: nodes.Node) -> str:
    if isinstance(node, nodes.TemplateData):
        return node.data
    return node.value if isinstance(node, nodes.Const) and isinstance(node.value, str) else ""


def _size(marker: str, encoder: Encoder) -> int:
    """How many ids a marker is; 0 where that is not known."""
    try:
        return len(encoder.encode(marker))
    except BpeInteropError:
        return 0


def _told(marker: str, size: int, texts: Iterable[str]) -> str:
    """A marker, what it is encoded as, and the token that may be meant."""
    near = _near(marker, texts)
    told = [f"{size:,} ids"] if size else []
    told += [f"did you mean {show(near)}?"] if near else []
    return f"{show(marker)} ({'; '.join(told)})" if told else show(marker)


def _near(marker: str, texts: Iterable[str]) -> str:
    """The token that a marker is a misspelling of; empty for none."""
    like = {text.casefold(): text for text in texts if _ends(text) == _ends(marker)}
    wanted = marker.casefold()
    from difflib import get_close_matches  # only a marker that is no token needs it

    near = wanted if wanted in like else next(iter(get_close_matches(wanted, like, 1, 0.85)), "")
    # </think> is none of <think>: a slash, a number and a plural differ on purpose.
    meant = near == wanted or _stem(near) != _stem(wanted)
    return like[near] if near and meant else ""


def _ends(text: str) -> tuple[str, str]:
    """How a marker begins and ends."""
    opened, closed = re.match(r"[<\[|｜/]*", text), re.search(r"[>\]|｜]*$", text)
    return opened.group() if opened else "", closed.group() if closed else ""


def _stem(text: str) -> str:
    return re.sub(r"\d+|s(?=\W*$)", "", text)
