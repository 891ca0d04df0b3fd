"""Pre-tokenizers of a ``tokenizer.json``, from JSON to typed steps and back.

Source of the meanings: tokenizers' ``pre_tokenizers/`` (Rust), version 0.23.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...errors import compared_in
from ...limits import FIXED_LENGTH
from ...model import Alphabet, Json
from ...steps import (
    Behavior,
    ByteChars,
    Digits,
    Metaspace,
    Pattern,
    PrefixSpace,
    PreTokenizerStep,
    Punctuation,
    Split,
    UnicodeScripts,
    Words,
)
from ...strict_json import Node
from ...text.spellings import GPT2
from .component import (
    MetaspaceSettings,
    byte_level_json,
    check_byte_level,
    components,
    kind_of,
    metaspace_json,
    pattern_json,
    read_char,
    read_metaspace,
    read_pattern,
)

BYTE_LEVEL_PATTERN = Pattern(GPT2, "oniguruma")
"""The regex that ``ByteLevel`` splits with (tokenizers, ``pre_tokenizers/byte_level.rs``)."""

BYTE_LEVEL_SPLIT = Split(BYTE_LEVEL_PATTERN, "isolated")

_WHITE_SPACE_SPLIT = Split(Pattern(r"\s", "oniguruma"), "removed")
"""``WhitespaceSplit``: Rust's ``char::is_whitespace`` and Oniguruma's class are the same."""

_PREFIX_SPACE = Metaspace(" ", "always")
"""The same as ``PrefixSpace``."""

_BEHAVIORS: dict[str, Behavior] = {
    "Removed": "removed",
    "Isolated": "isolated",
    "MergedWithPrevious": "merged_with_previous",
    "MergedWithNext": "merged_with_next",
    "Contiguous": "contiguous",
}
_BEHAVIOR_NAMES = {value: key for key, value in _BEHAVIORS.items()}


def read_pretokenizer(node: Node) -> tuple[tuple[PreTokenizerStep, ...], bool]:
    """The steps of a pre-tokenizer, and whether it maps text to bytes.

    Raises:
        UnsupportedError: a pre-tokenizer that is not understood, by its path.
    """
    steps = list(_read_steps(node))
    mappings = steps.count(ByteChars())
    if mappings > 1:
        node.refuse(
            "ByteLevel appears twice, so bytes would be mapped to characters twice",
            fix=compared_in("tokenizers"),
        )
    if mappings:
        check_mapped(node, steps[steps.index(ByteChars()) :])
    # A byte-level model implies the last mapping. An earlier one stays: the steps after it see the
    # mapped characters.
    if steps and steps[-1] == ByteChars():
        steps.pop()
    return tuple(steps), mappings == 1


def check_mapped(node: Node, steps: Sequence[PreTokenizerStep]) -> None:
    """Refuses steps that put characters into what is spelled in the byte alphabet already."""
    for step in steps:
        if isinstance(step, (Metaspace, PrefixSpace)):
            node.refuse(
                "a Metaspace after ByteLevel puts in what is no byte",
                fix=compared_in("tokenizers"),
            )


def _read_steps(node: Node) -> tuple[PreTokenizerStep, ...]:
    if not node.given:
        return ()
    kind = kind_of(node)
    if kind not in _READERS:
        node.refuse(f"the pre-tokenizer {kind!r} is not supported", fix=compared_in("tokenizers"))
    return _READERS[kind](node)


def _read_sequence(node: Node) -> tuple[PreTokenizerStep, ...]:
    node.only("type", "pretokenizers")
    return tuple(s for child in components(node["pretokenizers"]) for s in _read_steps(child))


def _read_byte_level(node: Node) -> tuple[PreTokenizerStep, ...]:
    check_byte_level(node)
    # Taken apart into what it does, in its order: a prefix space, a split, the byte alphabet.
    steps: list[PreTokenizerStep] = []
    if node.flag("add_prefix_space"):
        steps.append(PrefixSpace())
    if node.flag("use_regex", default=True):
        steps.append(BYTE_LEVEL_SPLIT)
    return (*steps, ByteChars())


def _read_split(node: Node) -> tuple[PreTokenizerStep, ...]:
    node.only("type", "pattern", "behavior", "invert")
    pattern = read_pattern(node["pattern"])
    return (Split(pattern, _behavior(node["behavior"]), node.flag("invert")),)


def _behavior(node: Node) -> Behavior:
    name = node.be(str)
    if name not in _BEHAVIORS:
        node.fail(f"{name!r} is not a split behavior", fix=f"one of {', '.join(_BEHAVIORS)}")
    return _BEHAVIORS[name]


def _read_digits(node: Node) -> tuple[PreTokenizerStep, ...]:
    node.only("type", "individual_digits")
    return (Digits(node.flag("individual_digits")),)


def _read_punctuation(node: Node) -> tuple[PreTokenizerStep, ...]:
    node.only("type", "behavior")
    return (Punctuation(_behavior(node["behavior"]) if "behavior" in node else "isolated"),)


def _read_metaspace_steps(node: Node) -> tuple[PreTokenizerStep, ...]:
    """A Metaspace that writes spaces as spaces only puts one in front, as a ``ByteLevel`` may."""
    settings = read_metaspace(node)
    step: PreTokenizerStep = Metaspace(settings.replacement, settings.prepend)
    if step == _PREFIX_SPACE:
        step = PrefixSpace()
    return (step, _metaspace_split(settings.replacement)) if settings.split else (step,)


def _metaspace_split(replacement: str) -> Split:
    return Split(replacement, "merged_with_next")


def _read_delimiter(node: Node) -> tuple[PreTokenizerStep, ...]:
    node.only("type", "delimiter")
    return (Split(read_char(node["delimiter"]), "removed"),)


def _read_fixed_length(node: Node) -> tuple[PreTokenizerStep, ...]:
    """Stretches of so many characters from the left, as a greedy pattern cuts them too."""
    node.only("type", "length")
    length = node["length"].be(int) if "length" in node else 5
    if length > FIXED_LENGTH.most:
        node["length"].refuse(FIXED_LENGTH.passed("a length"))
    if length < 1:
        node["length"].refuse(f"expected a length of 1 or more, found {length}")
    return (Split(Pattern(rf"[\s\S]{{1,{length}}}", "oniguruma"), "isolated"),)


def _plain(*steps: PreTokenizerStep) -> Callable[[Node], tuple[PreTokenizerStep, ...]]:
    def read(node: Node) -> tuple[PreTokenizerStep, ...]:
        node.only("type")
        return steps

    return read


_READERS: dict[str, Callable[[Node], tuple[PreTokenizerStep, ...]]] = {
    "Sequence": _read_sequence,
    "ByteLevel": _read_byte_level,
    "Split": _read_split,
    "Digits": _read_digits,
    "Punctuation": _read_punctuation,
    "Metaspace": _read_metaspace_steps,
    "CharDelimiterSplit": _read_delimiter,
    "FixedLength": _read_fixed_length,
    "Whitespace": _plain(Words()),
    "WhitespaceSplit": _plain(_WHITE_SPACE_SPLIT),
    "BertPreTokenizer": _plain(_WHITE_SPACE_SPLIT, Punctuation("isolated")),
    "UnicodeScripts": _plain(UnicodeScripts()),
}


def write_pretokenizer(steps: Sequence[PreTokenizerStep], alphabet: Alphabet = "byte") -> Json:
    """The JSON of pre-tokenizer steps, with the byte mapping that a byte-level model implies.

    Patterns must be in Oniguruma's dialect already.
    """
    rest = list(steps)
    if alphabet == "byte" and ByteChars() not in rest:
        rest.append(ByteChars())
    parts: list[Json] = []
    while rest:
        used, part = _next_component(rest)
        parts.append(part)
        del rest[:used]
    if len(parts) < 2:
        return parts[0] if parts else None
    return {"type": "Sequence", "pretokenizers": parts}


def _next_component(rest: Sequence[PreTokenizerStep]) -> tuple[int, Json]:
    # The longest ByteLevel that the next steps make.
    for prefix in (True, False):
        for regex in (True, False):
            shape = [PrefixSpace()] * prefix + [BYTE_LEVEL_SPLIT] * regex + [ByteChars()]
            if list(rest[: len(shape)]) == shape:
                return len(shape), byte_level_json(prefix, regex)
    step = _PREFIX_SPACE if rest[0] == PrefixSpace() else rest[0]
    if isinstance(step, Metaspace):
        split = list(rest[1:2]) == [_metaspace_split(step.replacement)]
        settings = MetaspaceSettings(step.replacement, step.prepend, split)
        return 1 + split, metaspace_json(settings)
    return 1, _component_json(step)


def _component_json(step: PreTokenizerStep) -> Json:
    if step == _WHITE_SPACE_SPLIT:
        return {"type": "WhitespaceSplit"}
    if isinstance(step, Split):
        return {
            "type": "Split",
            "pattern": pattern_json(step.pattern),
            "behavior": _BEHAVIOR_NAMES[step.behavior],
            "invert": step.invert,
        }
    if isinstance(step, Digits):
        return {"type": "Digits", "individual_digits": step.individual}
    if isinstance(step, Punctuation):
        return {"type": "Punctuation", "behavior": _BEHAVIOR_NAMES[step.behavior]}
    if isinstance(step, Words):
        return {"type": "Whitespace"}
    if isinstance(step, UnicodeScripts):
        return {"type": "UnicodeScripts"}
    raise ValueError(f"{type(step).__name__} cannot stand here in a tokenizer.json")
