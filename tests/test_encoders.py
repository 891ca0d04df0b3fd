"""Damaged files of every format: our ids against the engine's (a short run), and its parts."""

from __future__ import annotations

from random import Random

import pytest

from benchmarks.trust.encoders import comparing
from benchmarks.trust.encoders.comparing import FORMATS, KNOWN, Found, run, sources
from benchmarks.trust.encoders.damage import damaged
from bpe_interop.encode import Encoder


def test_damaged_files_give_the_engines_ids_or_are_refused() -> None:
    found = run(250, 100)
    assert found.failures == []
    same = {format for format, outcome in found.outcomes if outcome == "the same ids"}
    refused = {format for format, outcome in found.outcomes if outcome == "we refuse it"}
    assert same == refused == set(FORMATS)
    assert found.texts > 1000


@pytest.mark.parametrize("format", FORMATS)
def test_files_that_are_not_damaged_give_the_same_ids(format: str) -> None:
    for _, files in sources(format):
        assert comparing.compared(format, files, Found()) == ("the same ids", "")


def test_damage_changes_files_and_is_the_same_for_one_seed() -> None:
    for format in FORMATS:
        _, files = sources(format)[0]
        one, other = (damaged(files, Random(3)) for _ in range(2))
        assert one == other
        assert any(damaged(files, Random(seed))[0] != files for seed in range(3))


def test_a_wrong_id_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Encoder, "encode", lambda self, text: [1])
    assert any(failure.startswith("different") for failure in run(20, 100).failures)


def test_what_only_we_load_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*arguments: object) -> None:
        raise ValueError("no")

    monkeypatch.setattr(comparing, "from_files", fails)
    assert any(failure.startswith("only we load it") for failure in run(20, 100).failures)


def test_known_exceptions_have_reasons() -> None:
    assert all(format in FORMATS and words and reason for format, words, reason in KNOWN)
