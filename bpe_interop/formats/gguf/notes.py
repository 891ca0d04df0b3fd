"""Notes on a GGUF file: what llama.cpp does without being told, and what it asks for."""

from __future__ import annotations

from collections.abc import Iterable

from ...model import show
from ...text.bytechars import is_mapped, to_bytes
from .characters import OVER_CHARACTERS
from .keys import ARCHITECTURE, DEFAULTS, EMBEDDED, PRE, ROLES, Keys
from .tokens import Tokens
from .types import NORMAL


def notes_on(keys: Keys, kind: str, tokens: Tokens) -> Iterable[str]:
    """The notes that follow from the keys; ``kind`` is ``tokenizer.ggml.model``."""
    if kind == "gpt2" and keys.text(PRE) is None:
        yield (
            f"{keys.file}: there is no {PRE}, so llama.cpp splits texts by its 'default', which "
            "is no publisher's; it warns of that when it loads the file"
        )
    yield from _ended_by_default(keys, kind, tokens)
    architecture = keys.head.keys.get(ARCHITECTURE)
    if architecture is None or not architecture.value:
        yield f"{keys.file}: it names no {ARCHITECTURE}, and llama.cpp loads no file without one"
    if keys.head.keys.get(EMBEDDED) is not None:
        yield (
            f"{keys.file} also holds a tokenizer.json, as the key {EMBEDDED}; llama.cpp does not "
            "read it, --from hf does"
        )


def _ended_by_default(keys: Keys, kind: str, tokens: Tokens) -> Iterable[str]:
    """Where no eos token is named, llama.cpp ends generation at an id of its own choice.

    ``llama_vocab::impl::load`` in ``llama-vocab.cpp``, ``special_eog_ids``.
    """
    if keys.number(ROLES["eos"]) is not None:
        return
    number = tokens.role("eos", DEFAULTS[kind].get("eos"))
    if number is None or tokens.types[number] != NORMAL:
        return
    text = tokens.texts[number]
    of_bytes = kind == "gpt2" and keys.text(PRE) not in OVER_CHARACTERS and is_mapped(text)
    yield (
        f"{keys.file}: no eos token is named, so llama.cpp ends generation at the id {number}, "
        f"which is {show(to_bytes(text) if of_bytes else text)}; name one with convert --eos TOKEN"
    )
