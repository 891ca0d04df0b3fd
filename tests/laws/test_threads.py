"""A short run of the long test of threads, and that it sees what is wrong."""

from __future__ import annotations

import pytest

from bpe_interop import load
from fixtures import TOKENIZERS
from trust import threads
from trust.threads import SHARED, Shared, in_forked, in_spawned, in_threads


@pytest.mark.long
@pytest.mark.parametrize("name", [SHARED[0], SHARED[2]])
def test_threads_and_processes_get_the_ids_of_one(name: str) -> None:
    found = threads.shared(name, 4_000, 3)
    assert found.wrong == []
    assert found.encodes == 4_000
    assert (found.forks, found.spawned) == (3, 50)


def test_other_ids_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer, found = load(TOKENIZERS / SHARED[0]), Shared("x")
    rows = [("ab c", [7, 7])]
    in_threads(tokenizer, rows, 2, 0, found)
    assert found.wrong == ["in a thread, 'ab c' has other ids"] * threads.THREADS
    assert in_forked(tokenizer, rows, 1) == [3]
    assert in_spawned(tokenizer, rows, found) == ["in a spawned process, 'ab c' has other ids"]
    monkeypatch.setattr(threads, "MOST_GROWTH", -1_000)
    grown = threads.shared(SHARED[0], 160, 0)
    assert [said for said in grown.wrong if said.startswith("the process grew")]
