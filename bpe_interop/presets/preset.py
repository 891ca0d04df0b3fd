"""What a preset is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..model import AddedToken, SequenceTemplate
from ..steps import (
    NormalizerStep,
    Pattern,
    PreTokenizerStep,
    Split,
)


@dataclass(frozen=True)
class ModelFamily:
    """What is published about a ``.model``, which says everything but what stands around a text.

    ``file`` is its sha256 (hex).
    """

    name: str
    file: str
    source: str
    template: SequenceTemplate
    note: str = ""


@dataclass(frozen=True)
class Preset:
    """What is published about one tokenizer, and where.

    ``pattern`` is in fancy-regex syntax, its matches are the pretokens. ``special_tokens`` map
    texts to ids in the order published; ``plain_tokens`` are added tokens that are not special.
    ``normalizer`` is that of the publisher's files that do not say it (a pair); a rank file says
    that nothing is normalized.
    ``files`` lists the sets of files (by sha256, hex) that are this tokenizer's vocabulary.
    ``roles`` maps ``bos`` and the like to a special token's text. ``template`` is None where
    the publisher leaves it to the caller. ``flags`` are those of an added token that has any, by
    its text (``lstrip, rstrip, single_word, normalized``).
    """

    name: str
    pattern: str
    special_tokens: Mapping[str, int]
    files: tuple[frozenset[str], ...]
    source: str
    roles: Mapping[str, str] = field(default_factory=dict)
    template: SequenceTemplate | None = field(default_factory=SequenceTemplate)
    plain_tokens: Mapping[str, int] = field(default_factory=dict)
    normalizer: tuple[NormalizerStep, ...] = ()
    note: str = ""
    flags: Mapping[str, Mapping[str, bool]] = field(default_factory=dict)

    @property
    def pretokenizer(self) -> tuple[PreTokenizerStep, ...]:
        """The pattern as a step: its matches are the pretokens, other text is dropped."""
        return (Split(Pattern(self.pattern, "fancy-regex"), "removed", invert=True),)

    @property
    def added(self) -> tuple[AddedToken, ...]:
        """The special tokens, then the plain ones, in the order published."""
        return tuple(
            AddedToken(
                text,
                number,
                special=text in self.special_tokens,
                roles=tuple(sorted(role for role, named in self.roles.items() if named == text)),
                **self.flags.get(text, {}),
            )
            for text, number in (*self.special_tokens.items(), *self.plain_tokens.items())
        )
