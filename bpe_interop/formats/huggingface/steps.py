"""The pipeline of a ``tokenizer.json``, from its JSON components to typed steps and back.

Sources of the meanings: tokenizers' ``normalizers/``, ``pre_tokenizers/``, ``processors/`` and
``decoders/`` (Rust), version 0.23.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...model import Json
from ...steps import (
    Behavior,
    ByteChars,
    Digits,
    Lowercase,
    NormalizerStep,
    Pattern,
    PrefixSpace,
    Prepend,
    PreTokenizerStep,
    Punctuation,
    Replace,
    Split,
    Strip,
    UnicodeForm,
)
from ...strict_json import Node
from ...text.patterns import parse
from ...text.regex_syntax import matches_empty

BYTE_LEVEL_PATTERN = Pattern(
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+", "oniguruma"
)
"""The regex that ``ByteLevel`` splits with (tokenizers, ``pre_tokenizers/byte_level.rs``)."""

BYTE_LEVEL_SPLIT = Split(BYTE_LEVEL_PATTERN, "isolated")

_BEHAVIORS: dict[str, Behavior] = {
    "Removed": "removed",
    "Isolated": "isolated",
    "MergedWithPrevious": "merged_with_previous",
    "MergedWithNext": "merged_with_next",
    "Contiguous": "contiguous",
}
_BEHAVIOR_NAMES = {value: key for key, value in _BEHAVIORS.items()}


def _type(node: Node) -> str:
    return node["type"].be(str)


def _behavior(node: Node) -> Behavior:
    name = node.be(str)
    if name not in _BEHAVIORS:
        node.fail(f"{name!r} is not a split behavior", fix=f"one of {', '.join(_BEHAVIORS)}")
    return _BEHAVIORS[name]


def _pattern(node: Node) -> Pattern | str:
    node.only("String", "Regex")
    if "Regex" in node:
        return Pattern(node["Regex"].be(str), "oniguruma")
    return node["String"].be(str)


def _pattern_json(pattern: Pattern | str) -> Json:
    return {"String": pattern} if isinstance(pattern, str) else {"Regex": pattern.source}


# Normalizers.


def read_normalizer(node: Node) -> tuple[NormalizerStep, ...]:
    """The steps of a normalizer; a null is none.

    Raises:
        UnsupportedError: a normalizer that is not understood, by its path.
    """
    if not node.given:
        return ()
    kind = _type(node)
    if kind == "Sequence":
        node.only("type", "normalizers")
        return tuple(
            step for child in node["normalizers"].items() for step in read_normalizer(child)
        )
    reader = _NORMALIZERS.get(kind)
    if reader is None:
        node.refuse(f"the normalizer {kind!r} is not supported")
    return (reader(node),)


def _read_form(node: Node) -> UnicodeForm:
    node.only("type")
    return _FORMS[_type(node)]


def _read_lowercase(node: Node) -> Lowercase:
    node.only("type")
    return Lowercase()


def _read_strip(node: Node) -> Strip:
    node.only("type", "strip_left", "strip_right")
    return Strip(node.flag("strip_left"), node.flag("strip_right"))


def _read_replace(node: Node) -> Replace:
    node.only("type", "pattern", "content")
    pattern = _pattern(node["pattern"])
    if not pattern or (isinstance(pattern, Pattern) and matches_empty(parse(pattern))):
        node["pattern"].refuse("replacing empty matches is not well-defined in tokenizers")
    return Replace(pattern, node["content"].be(str))


def _read_prepend(node: Node) -> Prepend:
    node.only("type", "prepend")
    return Prepend(node["prepend"].be(str))


_FORMS = {
    "NFC": UnicodeForm("NFC"),
    "NFD": UnicodeForm("NFD"),
    "NFKC": UnicodeForm("NFKC"),
    "NFKD": UnicodeForm("NFKD"),
}

_NORMALIZERS: dict[str, Callable[[Node], NormalizerStep]] = {
    **dict.fromkeys(_FORMS, _read_form),
    "Lowercase": _read_lowercase,
    "Strip": _read_strip,
    "Replace": _read_replace,
    "Prepend": _read_prepend,
}


def write_normalizer(steps: Sequence[NormalizerStep]) -> Json:
    """The JSON of normalizer steps; null for none."""
    parts: list[Json] = [_normalizer_json(step) for step in steps]
    if len(parts) < 2:
        return parts[0] if parts else None
    return {"type": "Sequence", "normalizers": parts}


def _normalizer_json(step: NormalizerStep) -> Json:
    if isinstance(step, UnicodeForm):
        return {"type": step.form}
    if isinstance(step, Lowercase):
        return {"type": "Lowercase"}
    if isinstance(step, Strip):
        return {"type": "Strip", "strip_left": step.left, "strip_right": step.right}
    if isinstance(step, Replace):
        return {"type": "Replace", "pattern": _pattern_json(step.pattern), "content": step.content}
    return {"type": "Prepend", "prepend": step.text}


# Pre-tokenizers.


def read_pretokenizer(node: Node) -> tuple[tuple[PreTokenizerStep, ...], bool]:
    """The steps of a pre-tokenizer, and whether it maps text to bytes.

    ``ByteLevel`` is taken apart into what it does, in its order: a prefix space, a split, the
    byte alphabet. The last mapping is implied by a byte-level model and is not listed; an
    earlier one stays, because the steps after it see the mapped characters.

    Raises:
        UnsupportedError: a pre-tokenizer that is not understood, by its path.
    """
    steps = list(_read_steps(node))
    mappings = steps.count(ByteChars())
    if mappings > 1:
        node.refuse("ByteLevel stands here twice, so bytes would be mapped to characters twice")
    if steps and steps[-1] == ByteChars():
        steps.pop()
    return tuple(steps), mappings == 1


def _read_steps(node: Node) -> tuple[PreTokenizerStep, ...]:
    if not node.given:
        return ()
    kind = _type(node)
    if kind == "Sequence":
        node.only("type", "pretokenizers")
        return tuple(s for child in node["pretokenizers"].items() for s in _read_steps(child))
    if kind == "ByteLevel":
        return _read_byte_level(node)
    if kind == "Split":
        node.only("type", "pattern", "behavior", "invert")
        pattern = _pattern(node["pattern"])
        return (Split(pattern, _behavior(node["behavior"]), node.flag("invert")),)
    if kind == "Digits":
        node.only("type", "individual_digits")
        return (Digits(node.flag("individual_digits")),)
    if kind == "Punctuation":
        node.only("type", "behavior")
        behavior = node.get("behavior")
        return (Punctuation(_behavior(behavior) if behavior.given else "isolated"),)
    return node.refuse(f"the pre-tokenizer {kind!r} is not supported")


def _read_byte_level(node: Node) -> tuple[PreTokenizerStep, ...]:
    node.only("type", "add_prefix_space", "trim_offsets", "use_regex")
    steps: list[PreTokenizerStep] = []
    if node.flag("add_prefix_space"):
        steps.append(PrefixSpace())
    if node.flag("use_regex", default=True):
        steps.append(BYTE_LEVEL_SPLIT)
    return (*steps, ByteChars())


def write_pretokenizer(steps: Sequence[PreTokenizerStep]) -> Json:
    """The JSON of pre-tokenizer steps, with the byte mapping that the model implies.

    Patterns must be in Oniguruma's dialect already.
    """
    rest = list(steps)
    if ByteChars() not in rest:
        rest.append(ByteChars())
    parts: list[Json] = []
    while rest:
        used, part = _next_component(rest)
        parts.append(part)
        del rest[:used]
    return parts[0] if len(parts) == 1 else {"type": "Sequence", "pretokenizers": parts}


def _next_component(rest: Sequence[PreTokenizerStep]) -> tuple[int, Json]:
    for prefix in (True, False):
        for regex in (True, False):
            shape = [PrefixSpace()] * prefix + [BYTE_LEVEL_SPLIT] * regex + [ByteChars()]
            if list(rest[: len(shape)]) == shape:
                return len(shape), byte_level_json(prefix, regex)
    step = rest[0]
    if isinstance(step, Split):
        return 1, {
            "type": "Split",
            "pattern": _pattern_json(step.pattern),
            "behavior": _BEHAVIOR_NAMES[step.behavior],
            "invert": step.invert,
        }
    if isinstance(step, Digits):
        return 1, {"type": "Digits", "individual_digits": step.individual}
    if isinstance(step, Punctuation):
        return 1, {"type": "Punctuation", "behavior": _BEHAVIOR_NAMES[step.behavior]}
    raise ValueError(f"{type(step).__name__} cannot stand here in a tokenizer.json")


def byte_level_json(prefix: bool = False, regex: bool = False, trim: bool = False) -> Json:
    """A ``ByteLevel`` component; the same keys serve all its four kinds."""
    return {
        "type": "ByteLevel",
        "add_prefix_space": prefix,
        "trim_offsets": trim,
        "use_regex": regex,
    }
