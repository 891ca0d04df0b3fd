"""The laws that hold for every format, over every fixture and every conversion between formats.

The laws are in :mod:`benchmarks.trust.laws`; here is what they are held to, and how many cases
each must have at the least. Only cases that a law has something to say about are collected.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

import pytest

from benchmarks.trust import laws
from benchmarks.trust.laws import Case, Source
from bpe_interop.formats import Format, all_formats

FORMATS = all_formats()
SOURCES = laws.sources(FORMATS)
UNTOLD = [source for source in SOURCES if not source.told]
CASES = [Case(source, row) for source in SOURCES for row in FORMATS]
WRITABLE = [case for case in CASES if case.writable]
COMPARED = [case for case in CASES if laws.comparable(case)]
ROUNDABOUT = [
    (there.source, there.target, onward.target)
    for there in WRITABLE
    if there.lossless and there.target is not there.source.format
    for onward in WRITABLE
    if onward.source is there.source and onward.passes and onward.target is not there.target
]

LEAST_SOURCES = {
    "gpt2": 3,
    "tiktoken": 5,
    "huggingface": 22,
    "sentencepiece": 10,
    "minbpe": 2,
    "tekken": 2,
    "gguf": 4,
}

LEAST_WRITTEN = {(one, row.name): least for one, least in LEAST_SOURCES.items() for row in FORMATS}
"""Of each pair of formats, how many conversions are written: every fixture, in every format."""

LEAST_ROUNDABOUT = {
    ("gpt2", "gguf"): 3,
    ("gpt2", "huggingface"): 3,
    ("gpt2", "minbpe"): 2,
    ("gpt2", "tiktoken"): 3,
    ("minbpe", "gguf"): 2,
    ("minbpe", "huggingface"): 2,
    ("minbpe", "minbpe"): 4,
    ("minbpe", "tiktoken"): 2,
    ("tekken", "tiktoken"): 2,
    ("tiktoken", "gguf"): 4,
    ("tiktoken", "huggingface"): 2,
    ("tiktoken", "minbpe"): 1,
    ("tiktoken", "tiktoken"): 7,
}
"""Of each pair of formats, how many conversions there are by way of a third one.

Another pair has none: no third format holds such a fixture without any loss, or the target
refuses it.
"""


def labels(cases: Iterable[Case | Source]) -> list[str]:
    return [case.label for case in cases]


every_source = pytest.mark.parametrize("source", SOURCES, ids=labels(SOURCES))
every_case = pytest.mark.parametrize("case", CASES, ids=labels(CASES))
every_written = pytest.mark.parametrize("case", WRITABLE, ids=labels(WRITABLE))


def test_every_format_has_its_fixtures() -> None:
    found = Counter(source.format.name for source in SOURCES if not source.told)
    assert found.keys() == {row.name for row in FORMATS}
    assert all(found[name] >= least for name, least in LEAST_SOURCES.items()), found


def test_every_pair_of_formats_has_cases() -> None:
    laws.enough(WRITABLE, LEAST_WRITTEN)
    laws.enough(COMPARED, laws.LEAST_COMPARED)
    laws.enough((Case(source, target) for source, _, target in ROUNDABOUT), LEAST_ROUNDABOUT)


@every_source
def test_home(source: Source) -> None:
    laws.home(source)


@pytest.mark.parametrize("source", UNTOLD, ids=labels(UNTOLD))
def test_repeated(source: Source) -> None:
    laws.repeated(source)


@every_case
def test_decided(case: Case) -> None:
    laws.decided(case)


def test_the_table_has_each_case_once() -> None:
    rows = laws.DECISIONS.read_text("utf-8").splitlines()
    assert [row.split()[0] for row in rows] == labels(WRITABLE)


@every_written
def test_stable(case: Case) -> None:
    laws.stable(case)


@pytest.mark.parametrize("case", COMPARED, ids=labels(COMPARED))
def test_same_ids(case: Case) -> None:
    laws.same_ids(case)


@pytest.mark.parametrize(
    ("source", "middle", "target"),
    ROUNDABOUT,
    ids=[f"{a.label}-{b.name}-{c.name}" for a, b, c in ROUNDABOUT],
)
def test_roundabout(source: Source, middle: Format, target: Format) -> None:
    laws.roundabout(source, middle, target)


@every_case
def test_untouched(case: Case) -> None:
    laws.untouched(case)


@pytest.mark.parametrize("law", [laws.one_owner, laws.sniffs_calmly])
@every_source
def test_sniffers(source: Source, law: Callable[[Source, Iterable[Format]], None]) -> None:
    law(source, FORMATS)


@every_source
def test_well_mannered(source: Source) -> None:
    laws.well_mannered(source)
