"""A shorter search for witnesses, so that many pairs can be tried.

Where a stage is not decided, ``prove`` looks through every character of the basic plane for a
text that shows a difference. That takes longer than all else, and a search that ends sooner makes
a verdict unknown, never proved. Small tokenizers differ on what they are made of.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product

from bpe_interop.proof import decoder, ids, merging, normalizer, pretokenizer, stage
from bpe_interop.steps import NormalizerStep
from bpe_interop.theory import normalizers
from bpe_interop.theory.acting_steps import characters, images

_NEAR = "ab \u2581\u00e9e\u0301\n\t\rA1.'xyzwc\u00c9\u65e5\ufb01<_-#\u00a0\u3000\U0001f642\x00"


def _characters() -> Iterator[str]:
    return iter(_NEAR)


def _strings() -> Iterator[str]:
    yield ""
    yield from _NEAR
    yield from map("".join, product("ab \n1.'\u2581\u00e9A", repeat=2))


def search_less() -> None:
    """Makes the search of this process short."""
    for module in (decoder, ids, merging, stage):
        vars(module)["single_characters"] = _characters
    for module in (normalizer, pretokenizer, stage):
        vars(module)["short_texts"] = _strings
    vars(normalizers)["images"] = _images


@lru_cache(maxsize=16)
def _changed(steps: Sequence[NormalizerStep]) -> dict[str, str]:
    """A table of every code point is made of few normalizers, again and again: what is no change
    is left out of it, which would take 90 MB."""
    written = zip(characters(), images(steps), strict=True)
    return {char: image for char, image in written if char != image}


def _images(steps: Sequence[NormalizerStep]) -> Iterator[str]:
    changed = _changed(steps)
    return (changed.get(char, char) for char in characters())
