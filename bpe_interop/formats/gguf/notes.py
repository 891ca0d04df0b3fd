"""Notes on a GGUF file: what llama.cpp decodes otherwise than the model, and what it asks for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ...model import BPEModel, show
from ...text.bytechars import is_mapped, to_bytes
from .characters import OVER_CHARACTERS
from .keys import ARCHITECTURE, DEFAULTS, EMBEDDED, PRE, ROLES, Keys
from .tokens import Tokens
from .types import BYTE, BYTE_NAMES, FOUND_FIRST, NORMAL, UNDEFINED, UNUSED, fills_hole


def notes_on(keys: Keys, kind: str, tokens: Tokens) -> Iterable[str]:
    """The notes that follow from the keys; ``kind`` is ``tokenizer.ggml.model``."""
    by_characters = kind != "gpt2" or keys.text(PRE) in OVER_CHARACTERS
    yield from _decoded_to_nothing(keys, tokens)
    yield from (_spelled_otherwise if by_characters else _not_mapped)(keys, tokens)
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


def _decoded_to_nothing(keys: Keys, tokens: Tokens) -> Iterable[str]:
    """Tokens of which llama.cpp shows nothing (``llama_vocab::impl::token_to_piece``)."""
    typed = list(zip(tokens.texts, tokens.types, strict=True))
    silent = [
        text
        for number, (text, kind) in enumerate(typed)
        if kind in (UNUSED, UNDEFINED) and not fills_hole(text, kind, number)
    ]
    if silent:
        yield (
            f"{keys.file}: {len(silent):,} tokens are marked as unused or have no known type, such "
            f"as {show(silent[0])}; llama.cpp decodes these to nothing, here they are their text"
        )


def _not_mapped(keys: Keys, tokens: Tokens) -> Iterable[str]:
    """Where merging starts from bytes: what no letters for bytes spell (``llama_decode_text``)."""
    typed = list(zip(tokens.texts, tokens.types, strict=True))
    marked = [text for text, kind in typed if kind == BYTE]
    if marked:
        yield (
            f"{keys.file}: {len(marked):,} tokens such as {marked[0]} are marked as bytes; "
            "llama.cpp decodes these to the bytes that they name, here they are their text"
        )
    if is_mapped("".join(tokens.texts)):
        return
    odd = [text for text, kind in typed if kind == NORMAL and not is_mapped(text)]
    if odd:
        yield (
            f"{keys.file}: {len(odd):,} tokens are not spelled in GPT-2's letters for bytes, such "
            f"as {show(odd[0])}; llama.cpp decodes these with marks such as [UNK_BYTE_0xe29681], "
            "here they are their text"
        )


def _spelled_otherwise(keys: Keys, tokens: Tokens) -> Iterable[str]:
    """Where merging starts from characters: what llama.cpp decodes as it is spelled."""
    typed = list(zip(tokens.texts, tokens.types, strict=True))
    unmarked = [text for text, kind in typed if kind == NORMAL and text in BYTE_NAMES]
    if unmarked:
        yield (
            f"{keys.file}: {len(unmarked):,} tokens such as {unmarked[0]} are not marked as bytes; "
            "llama.cpp decodes these as they are spelled, here they are the bytes"
        )
    spaces = [text for text, kind in typed if kind in FOUND_FIRST and "\u2581" in text]
    if spaces:
        yield (
            f"{keys.file}: {len(spaces):,} special tokens have U+2581, such as {show(spaces[0])}; "
            "llama.cpp decodes it as it is, here it is a space"
        )


def with_fillers_told(model: BPEModel, tokens: Tokens) -> BPEModel:
    """The model with a note on tokens that fill a hole, and may be pretokens all the same."""
    given = {
        content: number
        for number, (text, kind) in enumerate(zip(tokens.texts, tokens.types, strict=True))
        if kind == UNUSED
        and fills_hole(text, kind, number)
        and model.vocab.ids.get(content := text.encode()) == number
    }
    if not given:
        return model
    note = (
        f"{tokens.keys.file}: {len(given):,} tokens are marked as unused, such as "
        f"{show(next(iter(given)))}, and may be a pretoken as a whole; llama.cpp decodes these to "
        "nothing, here they are their text"
    )
    return replace(model, origin=replace(model.origin, notes=(*model.origin.notes, note)))
