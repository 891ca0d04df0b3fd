"""Names under which llama.cpp merges the characters of a text, not GPT-2's letters for bytes.

The kind is still that of merges (``llm_tokenizer_bpe`` in ``src/llama-vocab.cpp``, with
``byte_encode`` false; read at llama.cpp 00ad355e, October 2026): spaces become U+2581, runs of
newlines are cut off, characters are merged by rank, and what is no token in the end becomes the
tokens ``<0xE4>`` of its bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from ...merging.canonical import canonical, whole_lookups
from ...model import BPEModel, MergeRule, PairList, Vocab
from ...steps import Pattern, PreTokenizerStep, Replace, Split
from ...theory.acting_steps import acting_normalizer, acting_splits
from ..bos_eos import ends_of
from .pre_names import same_cuts

GEMMA4: Final = "gemma4"
"""A name, and a kind of its own (``tokenizer.ggml.model``) that stands for the name."""

PATTERN: Final = r"[^\n]+|[\n]+"
STEPS: Final[tuple[PreTokenizerStep, ...]] = (Split(Pattern(PATTERN, "fancy-regex"), "isolated"),)
NORMALIZER: Final = (Replace(" ", "\u2581"),)


@dataclass(frozen=True, slots=True)
class OverCharacters:
    """What else a name decides.

    ``lines``: a run of newlines that is a token is not merged. ``bos``: BOS is added whatever
    the file says, and llama.cpp ends itself where there is none. ``cleans``: as
    :attr:`.splitters.Splitter.cleans`.
    """

    lines: bool
    bos: bool
    cleans: bool


_GEMMA4: Final = OverCharacters(lines=True, bos=True, cleans=True)

OVER_CHARACTERS: Final[Mapping[str, OverCharacters]] = MappingProxyType(
    {
        GEMMA4: _GEMMA4,
        "granite-embed-multi-311m": _GEMMA4,
        "sarvam-moe": OverCharacters(lines=False, bos=False, cleans=False),
    }
)
"""The names."""


def built(ids: Mapping[bytes, int], merges: MergeRule) -> set[bytes]:
    """The tokens that merging builds out of their characters, single characters too."""
    whole = BPEModel(Vocab(ids), merges, alphabet="char")
    single = {content for content in ids if len(content.decode("utf-8", "replace")) == 1}
    return single | (canonical(whole).splits.keys() & ids.keys())


def lines_of(contents: Iterable[bytes]) -> Iterator[bytes]:
    """Those that are runs of newlines."""
    return (content for content in contents if content and not content.strip(b"\n"))


def name_over_characters(model: BPEModel, kept: Mapping[str, Any]) -> str | None:
    """The name under which llama.cpp does what the model does; None if there is none.

    Args:
        model: what is written.
        kept: what a GGUF file that it was read from said besides; its name comes first.
    """
    if model.alphabet != "char" or not isinstance(model.merges, PairList):
        return None
    if acting_normalizer(model.normalizer or ()) != NORMALIZER:
        return None
    if same_cuts(STEPS, acting_splits(model)) is None:
        return None
    if whole_lookups(model):
        return None
    for name in dict.fromkeys([str(kept.get("pre")), "sarvam-moe", GEMMA4]):
        row = OVER_CHARACTERS.get(name)
        if row is not None and _fits(row, model):
            return name
    return None


def _fits(row: OverCharacters, model: BPEModel) -> bool:
    """Whether newlines are looked up, and BOS is added, as under a name."""
    if row.lines:
        every = {**model.vocab.ids, **{t.text.encode(): t.id for t in model.added or ()}}
        if any(lines_of(every.keys() - built(every, model.merges))):
            return False
    ends = ends_of(model)
    return not row.bos or (ends is not None and ends[0] is not None)
