"""What a model refuses to be made of."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bpe_interop.errors import InvalidModelError
from bpe_interop.model import Affixes, BPEModel, PairList, Vocab


def test_merges_that_fit_are_looked_at_again_where_something_else_changes() -> None:
    ids = {b"a": 0, b"##b": 1, b"a##b": 2}
    model = BPEModel(Vocab(ids), PairList(((b"a", b"##b"),)), alphabet="char")
    with pytest.raises(InvalidModelError, match='needs the token "ab"'):
        replace(model, affixes=Affixes(prefix=b"##"))
    with pytest.raises(InvalidModelError, match='needs the token "a##b"'):
        replace(model, vocab=Vocab({b"a": 0, b"##b": 1}))
    assert replace(model, lookup_first=True).merges is model.merges
