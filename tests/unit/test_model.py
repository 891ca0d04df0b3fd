"""What a model refuses to be made of, and what runs its steps refuses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from bpe_interop.encode.decode import own_bytes
from bpe_interop.encode.stream import Chain
from bpe_interop.errors import InvalidModelError
from bpe_interop.model import Affixes, BPEModel, PairList, Vocab
from bpe_interop.steps import Split
from bpe_interop.text.decoders import decode_tokens
from bpe_interop.text.normalize import align, leading, normalize
from bpe_interop.text.regex_syntax import children
from bpe_interop.text.split import split


def test_merges_that_fit_are_looked_at_again_where_something_else_changes() -> None:
    ids = {b"a": 0, b"##b": 1, b"a##b": 2}
    model = BPEModel(Vocab(ids), PairList(((b"a", b"##b"),)), alphabet="char")
    with pytest.raises(InvalidModelError, match='needs the token "ab"'):
        replace(model, affixes=Affixes(prefix=b"##"))
    with pytest.raises(InvalidModelError, match='needs the token "a##b"'):
        replace(model, vocab=Vocab({b"a": 0, b"##b": 1}))
    assert replace(model, lookup_first=True).merges is model.merges


@dataclass(frozen=True)
class Unknown:
    """A step that nothing knows, with the fields of ``Replace`` and ``Split``."""

    pattern: str = "a"
    content: str = "b"
    behavior: str = "isolated"
    invert: bool = False


@pytest.mark.parametrize(
    "run",
    [
        lambda step: normalize((step,), "a"),
        lambda step: align((step,), "a"),
        lambda step: leading((step,), "a"),
        lambda step: split((step,), "a"),
        lambda step: decode_tokens((step,), ["a"]),
        lambda step: Chain((step,), "replace"),
        lambda step: own_bytes(
            BPEModel(Vocab({b"a": 0}), PairList(()), alphabet="char", decoder=(step,))
        ),
        lambda step: split((Split("a", step),), "ab"),
        children,
    ],
)
def test_what_has_no_branch_is_an_error(run: Callable[[Any], object]) -> None:
    with pytest.raises(TypeError, match="no branch for Unknown"):
        run(Unknown())
