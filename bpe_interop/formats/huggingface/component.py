"""What several kinds of components of a ``tokenizer.json`` have in common."""

from __future__ import annotations

from typing import NamedTuple

from ...errors import PatternError
from ...model import Json
from ...quoting import show
from ...steps import Pattern, Prefixing, Replace
from ...strict_json import Node
from ...text.spellings import PREFERRED


def kind_of(node: Node) -> str:
    return node["type"].be(str)


def components(sequence: Node) -> list[Node]:
    """The parts of a sequence, none of which may be null; tokenizers loads no such file."""
    children = list(sequence.items())
    for child in children:
        child.be(dict)
    return children


def read_char(node: Node) -> str:
    char = node.be(str)
    if len(char) != 1:
        node.fail(f"expected one character, found {len(char)}")
    return char


def read_pattern(node: Node) -> Pattern | str:
    """A pattern: ``{"Regex": ...}``, or ``{"String": ...}`` for a literal text.

    One that is not understood is refused here: tokenizers compiles patterns when it loads a file,
    and loads none with a pattern that does not compile.
    """
    node.exactly("String", "Regex")
    if "Regex" in node and "String" in node:
        node.refuse("a pattern is a String or a Regex, and this is both", fix="remove one of them")
    if "Regex" not in node:
        return node["String"].be(str)
    pattern = Pattern(node["Regex"].be(str), "oniguruma")
    if pattern.source in PREFERRED:  # known to be understood
        return pattern
    from ...text.patterns import parse

    try:
        parse(pattern)
    except PatternError as error:
        node["Regex"].refuse(f"in the pattern {show(pattern.source)}, {error.what}", fix=error.fix)
    return pattern


def pattern_json(pattern: Pattern | str) -> Json:
    """The JSON of a pattern, which must be in Oniguruma's dialect."""
    return {"String": pattern} if isinstance(pattern, str) else {"Regex": pattern.source}


def read_replace(node: Node) -> Replace:
    """A ``Replace``, which is a normalizer and a decoder."""
    node.only("type", "pattern", "content")
    pattern = read_pattern(node["pattern"])
    if not pattern or (isinstance(pattern, Pattern) and _matches_empty(pattern)):
        node["pattern"].refuse("replacing empty matches is not well-defined in tokenizers")
    return Replace(pattern, node["content"].be(str))


def _matches_empty(pattern: Pattern) -> bool:
    from ...text.patterns import parse
    from ...text.regex_syntax import matches_empty

    return matches_empty(parse(pattern))


def replace_json(step: Replace) -> Json:
    return {"type": "Replace", "pattern": pattern_json(step.pattern), "content": step.content}


class MetaspaceSettings(NamedTuple):
    """What a ``Metaspace`` says, which is a pre-tokenizer and a decoder."""

    replacement: str
    prepend: Prefixing
    split: bool


_SCHEMES: dict[str, Prefixing] = {"always": "always", "first": "first", "never": "never"}


def read_metaspace(node: Node) -> MetaspaceSettings:
    """A ``Metaspace`` in any of its spellings."""
    node.only("type", "replacement", "str_rep", "add_prefix_space", "prepend_scheme", "split")
    if node.get("str_rep").given:
        node["str_rep"].be(str)
    # As tokenizers 0.23 reads it (pre_tokenizers/metaspace.rs); str_rep says nothing.
    scheme = node["prepend_scheme"].be(str) if "prepend_scheme" in node else "always"
    if scheme not in _SCHEMES:
        node["prepend_scheme"].fail(
            f"{scheme!r} is not a prepend scheme", fix=f"one of {', '.join(_SCHEMES)}"
        )
    # A true one says nothing, a false one only repeats "never": with any other scheme tokenizers
    # does not load the file, and before there were schemes it meant "never".
    if not node.flag("add_prefix_space", default=True) and scheme != "never":
        node["add_prefix_space"].refuse(
            'tokenizers does not load a false "add_prefix_space" with any other prepend_scheme '
            'than "never"',
            fix='in files older than schemes it means "never": add "prepend_scheme": "never"',
        )
    return MetaspaceSettings(
        read_char(node["replacement"]), _SCHEMES[scheme], node.flag("split", default=True)
    )


def metaspace_json(settings: MetaspaceSettings) -> Json:
    return {
        "type": "Metaspace",
        "replacement": settings.replacement,
        "prepend_scheme": settings.prepend,
        "split": settings.split,
    }


def check_byte_level(node: Node) -> None:
    """Refuses a ``ByteLevel`` whose flags tokenizers would not load, whatever they are for."""
    node.only("type", "add_prefix_space", "trim_offsets", "use_regex")
    for name in ("add_prefix_space", "trim_offsets"):
        node.flag(name)
    if "use_regex" in node:
        node["use_regex"].be(bool)


def byte_level_json(prefix: bool = False, regex: bool = False, trim: bool = False) -> Json:
    """A ``ByteLevel`` component; the same keys serve all its kinds but the normalizer."""
    return {
        "type": "ByteLevel",
        "add_prefix_space": prefix,
        "trim_offsets": trim,
        "use_regex": regex,
    }
