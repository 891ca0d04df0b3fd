"""What changes no id of a text, and still what a served model does: ``--metadata`` compares it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..diff import Difference
from ..formats.names import MODEL_CONFIG
from ..model import BATCHING, CHATS, BPEModel, Json
from ..quoting import show

COVERED = "roles of tokens, the chat template, truncation and padding, and what loaders read"
"""What is compared; pages and helps say it in these words. Truncation and padding are those of a
``tokenizer.json``, which are not applied."""
_SETTINGS = ("truncation", "padding")


def metadata_apart(
    a: BPEModel | None,
    b: BPEModel | None,
    differences: Iterable[Difference],
    files: tuple[BPEModel | None, BPEModel | None],
) -> tuple[Difference, ...]:
    """In which metadata two models differ: roles, chat template, truncation and padding.

    What one side does not state differs too: a chat template that is gone is not served. A model
    is None where a side's files cannot be read as one; ``differences`` are those of all fields.
    ``files`` are the models of the sides' own files, which loaders read, whatever engine runs.
    """
    # Flags of added tokens are not among these: those that change ids are compared as such.
    if a is None or b is None:
        how = "a side's files cannot be read as a model, so it is not compared"
        return (Difference("metadata", "unstated", how),)
    chat = (each for each in differences if each.field == "chat_template")
    loaders = _loaders(files[0] or a, files[1] or b)
    return (*_roles(a, b), *chat, *_named_chats(a, b), *_batching(a, b), *loaders)


def _loaders(a: BPEModel, b: BPEModel) -> Iterator[Difference]:
    """The keys of ``tokenizer_config.json`` that loaders obey, beside files of one format.

    What a key does depends on the format of the file that the loader finds.
    """
    left, right = a.origin.settings, b.origin.settings
    if left is None or right is None or a.origin.format != b.origin.format:
        return
    for key in dict.fromkeys((*left, *right)):
        if left.get(key) != right.get(key):
            how = f"{_value(left.get(key))} and {_value(right.get(key))}"
            if key.startswith(MODEL_CONFIG) and None in (left.get(key), right.get(key)):
                how += f" (to have it, copy {MODEL_CONFIG} there)"
            yield Difference(key, "different", how)


def _roles(a: BPEModel, b: BPEModel) -> Iterator[Difference]:
    if a.added is None and b.added is None:
        return
    if a.added is None or b.added is None:
        silent = "first" if a.added is None else "second"
        yield Difference("roles", "unstated", f"the {silent} does not say")
        return
    left, right = _by_role(a), _by_role(b)
    apart = [
        f"{role} {_listed(left.get(role, ()))} and {_listed(right.get(role, ()))}"
        for role in dict.fromkeys((*left, *right))
        if left.get(role) != right.get(role)
    ]
    if apart:
        yield Difference("roles", "different", ", ".join(apart))


def _named_chats(a: BPEModel, b: BPEModel) -> Iterator[Difference]:
    """Chat templates that are asked for by name, such as ``tool_use``."""
    left, right = (each if isinstance(each := m.extras.get(CHATS), dict) else {} for m in (a, b))
    for name in sorted(left.keys() | right.keys()):
        if left.get(name) != right.get(name):
            silent = "first" if name not in left else "second" if name not in right else ""
            what = f"the {silent} has none" if silent else "another text"
            yield Difference("chat_template", "different", f"{show(name)}: {what}")


def _by_role(model: BPEModel) -> dict[str, list[str]]:
    """The texts of the tokens that have a role, in order."""
    held: dict[str, list[str]] = {}
    for token in model.added or ():
        for role in token.roles:
            held.setdefault(role, []).append(token.text)
    return {role: sorted(texts) for role, texts in held.items()}


def _listed(texts: Sequence[str]) -> str:
    return "/".join(map(show, texts)) or "none"


def _batching(a: BPEModel, b: BPEModel) -> Iterator[Difference]:
    for key in _SETTINGS:
        left, right = _settings(a, key), _settings(b, key)
        if left != right:
            apart = [name for name in {**left, **right} if left.get(name) != right.get(name)]
            how = f"{_said(left, apart)} and {_said(right, apart)}"
            yield Difference(key, "different", how)


def _settings(model: BPEModel, key: str) -> dict[str, Json]:
    """What a file asks for, with what tokenizers takes where it says nothing."""
    batching = model.extras.get(BATCHING)
    asked = batching.get(key) if isinstance(batching, dict) else None
    if not isinstance(asked, dict):
        return {}
    # What tokenizers takes where the file says nothing.
    settings: dict[str, Json] = {"direction": "Right"}
    settings.update({name: value for name, value in asked.items() if value is not None})
    return settings


def _said(settings: Mapping[str, Json], names: Iterable[str]) -> str:
    if not settings:
        return "none"
    return " ".join(f"{name} {_value(settings.get(name))}" for name in names)


def _value(value: Json) -> str:
    if isinstance(value, dict):
        return " ".join(f"{key} {_value(inner)}" for key, inner in value.items())
    if value is None:
        return "none"
    return show(value) if isinstance(value, str) else str(value)
