"""Normalizers of a ``tokenizer.json``, from JSON to typed steps and back.

Source of the meanings: tokenizers' ``normalizers/`` (Rust), version 0.23.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Callable, Iterator, Sequence

from ...errors import InvalidModelError, compared_in
from ...model import Json
from ...steps import (
    BertText,
    Lowercase,
    Nmt,
    NormalizerStep,
    Precompiled,
    Prepend,
    Replace,
    Strip,
    StripAccents,
    UnicodeForm,
)
from ...strict_json import Node
from ...text.charsmap import rules
from .component import components, kind_of, read_replace, replace_json


def read_normalizer(node: Node) -> tuple[tuple[NormalizerStep, ...], bool]:
    """The steps of a normalizer (none for null), and whether it maps text to bytes in the end.

    Raises:
        UnsupportedError: a normalizer that is not understood, by its path.
    """
    parts = list(_components(node))
    mapped = bool(parts) and kind_of(parts[-1]) == "ByteLevel"
    if mapped:
        parts.pop().only("type")
    return tuple(map(_read_step, parts)), mapped


def _components(node: Node) -> Iterator[Node]:
    if not node.given:
        return
    if kind_of(node) != "Sequence":
        yield node
        return
    node.only("type", "normalizers")
    for child in components(node["normalizers"]):
        yield from _components(child)


def _read_step(node: Node) -> NormalizerStep:
    kind = kind_of(node)
    if kind == "ByteLevel":
        # It writes text in the byte alphabet; what stands after it would see mapped characters.
        node.refuse(
            "a ByteLevel normalizer before another one is not supported",
            fix=compared_in("tokenizers"),
        )
    if kind not in _READERS:
        node.refuse(f"the normalizer {kind!r} is not supported", fix=compared_in("tokenizers"))
    return _READERS[kind](node)


def _read_plain(node: Node) -> NormalizerStep:
    node.only("type")
    return _PLAIN[kind_of(node)]


def _read_strip(node: Node) -> Strip:
    node.only("type", "strip_left", "strip_right")
    return Strip(node.flag("strip_left"), node.flag("strip_right"))


def _read_prepend(node: Node) -> Prepend:
    node.only("type", "prepend")
    text = node["prepend"].be(str)
    if not text:
        # The engine's alignment breaks: ByteLevel after it doubles characters, or panics.
        node["prepend"].refuse("prepending nothing is not well-defined in tokenizers")
    return Prepend(text)


def _read_bert(node: Node) -> BertText:
    node.only("type", "clean_text", "handle_chinese_chars", "strip_accents", "lowercase")
    lowercase = node.flag("lowercase")
    return BertText(
        clean=node.flag("clean_text"),
        chinese_chars=node.flag("handle_chinese_chars"),
        # A null follows lowercase (normalizers/bert.rs).
        strip_accents=node.flag("strip_accents", default=lowercase),
        lowercase=lowercase,
    )


def _read_precompiled(node: Node) -> Precompiled:
    node.only("type", "precompiled_charsmap")
    encoded = node["precompiled_charsmap"]
    try:
        charsmap = b64decode(encoded.be(str), validate=True)
    except (Base64Error, ValueError):
        encoded.fail("this is not base64")
    if not charsmap:
        encoded.fail("the character map is empty; tokenizers does not read it")
    try:
        rules(charsmap)
    except InvalidModelError as error:
        encoded.fail(error.what)
    return Precompiled(charsmap)


_PLAIN: dict[str, NormalizerStep] = {
    "NFC": UnicodeForm("NFC"),
    "NFD": UnicodeForm("NFD"),
    "NFKC": UnicodeForm("NFKC"),
    "NFKD": UnicodeForm("NFKD"),
    "Lowercase": Lowercase(),
    "StripAccents": StripAccents(),
    "Nmt": Nmt(),
}
_NAMES = {step: name for name, step in _PLAIN.items()}

_READERS: dict[str, Callable[[Node], NormalizerStep]] = {
    **dict.fromkeys(_PLAIN, _read_plain),
    "Strip": _read_strip,
    "StripNormalizer": _read_strip,
    "Replace": read_replace,
    "Prepend": _read_prepend,
    "BertNormalizer": _read_bert,
    "Precompiled": _read_precompiled,
}


def write_normalizer(steps: Sequence[NormalizerStep]) -> Json:
    """The JSON of normalizer steps; null for none. Patterns must be in Oniguruma's dialect."""
    parts: list[Json] = [_step_json(step) for step in steps]
    if len(parts) < 2:
        return parts[0] if parts else None
    return {"type": "Sequence", "normalizers": parts}


def _step_json(step: NormalizerStep) -> Json:
    if step in _NAMES:
        return {"type": _NAMES[step]}
    if isinstance(step, Strip):
        return {"type": "Strip", "strip_left": step.left, "strip_right": step.right}
    if isinstance(step, Replace):
        return replace_json(step)
    if isinstance(step, Prepend):
        return {"type": "Prepend", "prepend": step.text}
    if isinstance(step, BertText):
        return {
            "type": "BertNormalizer",
            "clean_text": step.clean,
            "handle_chinese_chars": step.chinese_chars,
            "strip_accents": step.strip_accents,
            "lowercase": step.lowercase,
        }
    if isinstance(step, Precompiled):
        encoded = b64encode(step.charsmap).decode("ascii")
        return {"type": "Precompiled", "precompiled_charsmap": encoded}
    raise ValueError(f"{type(step).__name__} has no component in a tokenizer.json")
