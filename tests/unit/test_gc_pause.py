"""The garbage collector is off within a pause, and afterwards as it was."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from bpe_interop.gc_pause import paused


@pytest.fixture(autouse=True)
def collecting() -> Iterator[None]:
    yield
    gc.enable()


def test_pauses_nest_and_end_with_errors_too() -> None:
    with paused():
        assert not gc.isenabled()
        with pytest.raises(ValueError, match="x"), paused():
            raise ValueError("x")
        assert not gc.isenabled()
    assert gc.isenabled()


def test_what_was_off_stays_off() -> None:
    gc.disable()
    with paused():
        pass
    assert not gc.isenabled()
