"""A short run of the long test of verdicts, with a fixed seed; and that it sees what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pytest

from bpe_interop.compare import Scope
from bpe_interop.model import BPEModel
from bpe_interop.proof import added_tokens
from bpe_interop.proof.prove import Proof, prove
from trust.verdicts import trial as trials_of_one
from trust.verdicts.changes import CHANGES
from trust.verdicts.running import Lost, trials
from trust.verdicts.shrinking import shrunk
from trust.verdicts.sources import Source
from trust.verdicts.tally import STAGES, Tally, as_json
from trust.verdicts.trial import Trial, random_pair, trial

SEED = 7
PAIRS = 60


@pytest.fixture(scope="module", autouse=True)
def patient() -> Iterator[None]:
    """What is found does not depend on how fast a machine is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trials_of_one, "PATIENCE", 120.0)
        yield


@pytest.fixture(scope="module")
def run() -> Tally:
    tally = Tally()
    for number, found in trials(SEED, PAIRS):
        tally.add(number, found)
    return tally


@pytest.mark.long
def test_no_verdict_of_a_short_run_is_wrong(run: Tally) -> None:
    assert run.pairs == PAIRS
    assert run.compared > PAIRS // 2
    assert run.texts > 100 * run.compared
    assert list(as_json(run.wrong)) == []


@pytest.mark.long
def test_a_short_run_proves_and_refutes(run: Tally) -> None:
    for outcome in ("proved", "different"):
        assert run.verdicts["prove", "all", outcome] > 3
    assert {name for name, _ in run.stages} == {*STAGES}


def test_the_same_numbers_give_the_same_pair() -> None:
    assert random_pair(SEED, 3) == random_pair(SEED, 3)
    assert random_pair(SEED, 3) != random_pair(SEED, 4)


def equal_to_all(a: BPEModel, b: BPEModel, scope: Scope) -> Proof:
    """What a prover says that believes everything."""
    return replace(prove(a, b, scope), outcome="proved")


@pytest.mark.long
def test_a_prover_that_believes_everything_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials_of_one, "prove", equal_to_all)
    changes = {name for number in range(8) for name in wrong_in(number)}
    assert changes


def test_fields_that_are_all_called_equal_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials_of_one, "diff", lambda one, two: ())
    assert any(change for number in range(8) for change in wrong_in(number, "no field differs"))


def wrong_in(number: int, kind: str = "called proved") -> Iterator[str]:
    """What was changed where something is called equal that differs."""
    found = trial(SEED, number)
    if any(wrong.kind.startswith(kind) for wrong in found.wrong):
        yield found.change


def test_a_special_token_that_an_engine_does_not_look_for_is_no_wrong_verdict() -> None:
    """sentencepiece finds none in a text; the first difference here is of an added token."""
    found = trial(5001, 39216)
    assert found.verdicts["prove", "all"] == "different"
    assert found.wrong == []
    files = trial(9001, 7500, verified=True)
    assert files.verdicts["verify", "all"] == "different"
    assert files.wrong == []


def test_diff_claims_nothing_of_the_tables_of_engines() -> None:
    """A minbpe file and its tokenizer.json: U+0558 is a letter in one of the engines only."""
    found = trial(6001, 1359)
    assert found.verdicts["prove", "all"] == "different"
    assert found.wrong == []


def test_a_text_that_shows_nothing_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def different(a: BPEModel, b: BPEModel, scope: Scope) -> Proof:
        return replace(prove(a, b, scope), outcome="different", stage="added tokens", witness="a")

    monkeypatch.setattr(trials_of_one, "prove", different)
    wrong = {found.scope for found in trial(5001, 39216).wrong}
    assert wrong == {"all", "ordinary", "text"}


def test_a_long_run_without_refutations_has_holes() -> None:
    tally = Tally(compared=30_000)
    assert "no pair differed at the stage ids" in [*tally.holes()]
    assert "the change merge moved was never made" in [*tally.holes()]
    assert [*Tally(compared=10).holes()] == []


def test_a_pair_that_was_lost_or_refused_is_counted() -> None:
    tally = Tally()
    tally.add(0, Lost(0, "died"))
    source = Source("gpt2", {}, "ab")
    tally.add(1, Trial("nothing", (source, source), frozenset(), refused="we: no"))
    said = "\n".join(tally.lines())
    assert tally.compared == 0
    assert "1 on which an engine did not come back" in said
    assert "| we: no | 1 |" in said


@pytest.mark.parametrize("format", CHANGES)
def test_every_change_of_a_format_can_be_made(format: str) -> None:
    made = set[str]()
    rng = Random(0)
    for number in range(3_000):
        _, source, _ = random_pair(0, number)
        if source.format == format:
            for name, change in CHANGES[format].items():
                if name not in made and change(rng, source.copy().facts, source.letters):
                    made.add(name)
        if made == {*CHANGES[format]}:
            return
    raise AssertionError(f"never made: {CHANGES[format].keys() - made}")


HIDDEN = 14
"""The number of a pair of which one side has a special token that hides another one."""


@pytest.mark.long
def test_a_special_token_that_hides_another_is_found_and_the_pair_made_small(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert trial(SEED, HIDDEN).wrong == []
    monkeypatch.setattr(added_tokens, "_hidden", lambda pair, tokens: None)
    found = trial(SEED, HIDDEN)
    assert {(wrong.kind, wrong.scope) for wrong in found.wrong} >= {
        ("called proved, and ids differ", "ordinary")
    }
    small = shrunk(found, "1")
    assert any(wrong.scope == "ordinary" for wrong in small.wrong)
    left, right = (len(source.facts["added_tokens"]) for source in small.sources)
    assert {left, right} == {1, 2}
    assert all(source.facts["model"]["merges"] == [] for source in small.sources)
