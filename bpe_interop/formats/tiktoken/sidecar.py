"""The sidecar of a rank file: what ``tiktoken.Encoding`` takes beside the ranks.

::

    {
      "name": "cl100k_base",
      "pat_str": "...",
      "special_tokens": {"<|endoftext|>": 100257},
      "explicit_n_vocab": null,
      "bpe_interop": {
        "sequence_template": {
          "single": [{"token": "<s>", "ids": [1], "type_id": 0}, {"text": "A", "type_id": 0}],
          "pair": [...]
        },
        "roles": {"eos": "<|endoftext|>"},
        "chat_template": "..."
      }
    }

A key that is absent is not stated. The key ``bpe_interop`` holds what tiktoken has no word for,
and tiktoken itself does not apply it. A sidecar without it says that nothing is placed around a
sequence, which is what tiktoken does.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from itertools import pairwise
from typing import NamedTuple

from ...entries import numbered
from ...model import (
    AddedToken,
    Json,
    SequenceTemplate,
    TemplatePart,
    TemplateText,
    TemplateToken,
)
from ...quoting import show
from ...strict_json import Node, parse
from ...text.spellings import is_a_name
from ...theory.added_tokens import LEAVE_OUT, unlike_tiktoken

OWN_KEY = "bpe_interop"


class Sidecar(NamedTuple):
    """What a sidecar states; ``None`` where it does not."""

    name: str | None = None
    pattern: str | None = None
    added: tuple[AddedToken, ...] | None = None
    explicit_n_vocab: int | None = None
    sequence_template: SequenceTemplate | None = None
    chat_template: str | None = None


def read_sidecar(data: bytes, file: str, ranks: Mapping[bytes, int]) -> Sidecar:
    """Reads a sidecar and checks it against the ranks as ``tiktoken.Encoding`` does.

    Raises:
        FormatError: it is not what the sidecar of these ranks can be; with the JSON path.
    """
    root = parse(data, file)
    _only(root, "name", "pat_str", "special_tokens", "explicit_n_vocab", OWN_KEY)
    own = root.get(OWN_KEY)
    if OWN_KEY in root:
        _only(own, "sequence_template", "roles", "chat_template")
    added = None
    if "special_tokens" in root:
        added = _read_added(root["special_tokens"], ranks, _read_roles(own))
    elif own.given and "roles" in own:
        own["roles"].fail("there are roles but no special_tokens")
    template: SequenceTemplate | None = None
    if OWN_KEY not in root:
        template = SequenceTemplate()
    elif "sequence_template" in own:
        template = _read_template(own["sequence_template"])
    return Sidecar(
        name=_text(root, "name"),
        pattern=_pattern(root),
        added=added,
        explicit_n_vocab=_read_n_vocab(root, ranks, added),
        sequence_template=template,
        chat_template=_text(own, "chat_template") if own.given else None,
    )


def write_sidecar(sidecar: Sidecar) -> bytes:
    """The bytes of a sidecar: two spaces of indent, UTF-8, a final newline."""
    stated: dict[str, Json] = {"name": sidecar.name}
    if sidecar.pattern is not None:
        stated["pat_str"] = sidecar.pattern
    if sidecar.added is not None:
        stated["special_tokens"] = {token.text: token.id for token in sidecar.added}
    stated["explicit_n_vocab"] = sidecar.explicit_n_vocab
    own: dict[str, Json] = {}
    template = sidecar.sequence_template
    if template is not None:
        own["sequence_template"] = {
            "single": [_part_json(part) for part in template.single],
            "pair": [_part_json(part) for part in template.pair],
        }
    roles = _roles_json(sidecar.added or ())
    if roles:
        own["roles"] = roles
    if sidecar.chat_template is not None:
        own["chat_template"] = sidecar.chat_template
    if template != SequenceTemplate() or len(own) > 1:
        stated[OWN_KEY] = own
    return (json.dumps(stated, ensure_ascii=False, indent=2) + "\n").encode()


def n_vocab(ranks: Mapping[bytes, int], added: tuple[AddedToken, ...]) -> int | None:
    """``explicit_n_vocab`` where tiktoken's own check of it holds, else None."""
    special = {token.text: token.id for token in added}
    count = len(ranks) + len(special)
    top = max(max(ranks.values()), max(special.values(), default=0))
    return count if top == count - 1 else None


def _only(node: Node, *known: str) -> None:
    for key in node.be(dict):
        if key not in known:
            node[key].refuse("this key is not known", fix=f"a sidecar may hold {', '.join(known)}")


def _text(node: Node, key: str) -> str | None:
    return node[key].be(str) if key in node else None


def _pattern(root: Node) -> str | None:
    pattern = _text(root, "pat_str")
    if pattern is not None and is_a_name(pattern):
        root["pat_str"].fail(
            f"{show(pattern)} is a name, and tiktoken takes it as a regular expression",
            fix="write the pattern out; bpe-interop convert with --preset NAME writes a sidecar "
            "that has it",
        )
    return pattern


def _read_roles(own: Node) -> dict[str, list[str]]:
    roles: dict[str, list[str]] = {}
    if not own.given or "roles" not in own:
        return roles
    node = own["roles"]
    for role in sorted(node.be(dict)):
        value = node[role]
        texts = (
            [child.be(str) for child in value.items()]
            if isinstance(value.value, list)
            else [value.be(str)]
        )
        for text in texts:
            roles.setdefault(text, []).append(role)
    return roles


def _read_added(
    node: Node, ranks: Mapping[bytes, int], roles: Mapping[str, list[str]]
) -> tuple[AddedToken, ...]:
    asked = {number for number in node.be(dict).values() if type(number) is int}
    tokens_by_rank = numbered(ranks, asked)
    added: list[AddedToken] = []
    for text in node.be(dict):
        if not text:
            node.fail("a special token is empty", fix="tiktoken would find it everywhere")
        number = node[text].id()
        other = tokens_by_rank.get(number)
        if other is not None and other != text.encode():
            node[text].fail(
                f"the id {number} is also the rank of the token {show(other)}",
                fix="give the special token a number that no line of the rank file has",
            )
        added.append(AddedToken(text, number, roles=tuple(roles.get(text, ()))))
    if reason := unlike_tiktoken(added):
        node.refuse(reason, fix=LEAVE_OUT)
    for text in roles:
        if text not in node:
            node.fail(f"{show(text)} has a role but is not a special token")
    return tuple(added)


def held_tokens(
    added: Collection[AddedToken], ranks: Mapping[bytes, int]
) -> tuple[AddedToken, ...]:
    """The added tokens that can stand beside some ranks."""
    # Their ids are no other token's rank.
    contents = numbered(ranks, {token.id for token in added})
    listed = [t for t in added if contents.get(t.id, t.text.encode()) == t.text.encode()]
    begin = beginnings(token.text for token in listed)
    return tuple(token for token in listed if token.text not in begin)


def beginnings(texts: Iterable[str]) -> dict[str, str]:
    """Texts that begin another one, and which: tiktoken takes one of the two by chance."""
    return {x: y for x, y in pairwise(sorted({*texts})) if y.startswith(x)}


def _read_n_vocab(
    root: Node, ranks: Mapping[bytes, int], added: tuple[AddedToken, ...] | None
) -> int | None:
    node = root.get("explicit_n_vocab")
    if not node.given:
        return None
    stated = node.be(int)
    if added is None:
        node.fail("the number of tokens is stated, but not special_tokens")
    # tiktoken passes over a zero (``core.py``: ``if explicit_n_vocab``).
    if stated and n_vocab(ranks, added) != stated:
        special = {token.text: token.id for token in added}
        top = max(max(ranks.values()), max(special.values(), default=0))
        node.fail(
            f"{stated} is stated, but there are {len(ranks)} ranks and {len(special)} special "
            f"tokens, and the largest id is {top}",
            fix="tiktoken refuses this; correct the number or set it to null",
        )
    return stated or None


def _read_template(node: Node) -> SequenceTemplate:
    _only(node, "single", "pair")
    return SequenceTemplate(
        tuple(_read_part(part) for part in node["single"].items()),
        tuple(_read_part(part) for part in node["pair"].items()),
    )


def _read_part(node: Node) -> TemplatePart:
    if "text" in node:
        _only(node, "text", "type_id")
        which = node["text"].be(str)
        if which not in ("A", "B"):
            node["text"].fail(f'expected "A" or "B", found {show(which)}')
        return TemplateText("A" if which == "A" else "B", node["type_id"].be(int))
    _only(node, "token", "ids", "type_id")
    ids = tuple(child.id() for child in node["ids"].items())
    return TemplateToken(node["token"].be(str), ids, node["type_id"].be(int))


def _part_json(part: TemplatePart) -> Json:
    if isinstance(part, TemplateText):
        return {"text": part.which, "type_id": part.type_id}
    return {"token": part.name, "ids": list(part.ids), "type_id": part.type_id}


def _roles_json(added: tuple[AddedToken, ...]) -> dict[str, Json]:
    texts: dict[str, list[Json]] = {}
    for token in added:
        for role in token.roles:
            texts.setdefault(role, []).append(token.text)
    return {role: named[0] if len(named) == 1 else named for role, named in sorted(texts.items())}
