"""The laws that hold for every format, over every fixture and every conversion between formats.

The laws are in :mod:`trust.laws`. An item is a law and a fixture, in all formats: what
is read and written once serves all laws, so the items of a fixture run in one process. The table
of decisions (``fixtures/decisions.txt``) says which conversions there are and what each loses, so
that no law holds for want of cases.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache

import pytest

from bpe_interop.formats import all_formats
from bpe_interop.testing.laws import (
    BrokenError,
    LawCase,
    LawSource,
    comparable,
    home,
    one_owner,
    roundabout,
    sniffs_calmly,
    stable,
    untouched,
    well_mannered,
)
from fixtures import TOKENIZERS
from trust import laws

FORMATS = all_formats()
PLACES = [f"{path.parent.name}/{path.name}" for path in sorted(TOKENIZERS.glob("*/*/"))]

LEAST_SOURCES = {
    "gpt2": 3,
    "tiktoken": 5,
    "huggingface": 22,
    "sentencepiece": 10,
    "minbpe": 2,
    "tekken": 2,
    "gguf": 4,
}

# With this scope pytest runs all laws of a fixture before those of the next.
every_fixture = pytest.mark.parametrize("place", PLACES, scope="module")


@lru_cache(maxsize=1)
def sources_of(place: str) -> list[LawSource]:
    """A fixture, and the fixture told what it leaves unsaid."""
    row = next(row for row in FORMATS if row.name == place.partition("/")[2])
    return laws.sources_in(TOKENIZERS / place, row)


@lru_cache(maxsize=1)
def cases_of(place: str) -> list[LawCase]:
    return [LawCase(source, row) for source in sources_of(place) for row in FORMATS]


def hold(law: Callable[..., None], cases: Iterable[tuple[object, ...]]) -> None:
    """Runs a law on all cases, and fails with those in which it does not hold."""
    broken = []
    for case in cases:
        try:
            law(*case)
        except BrokenError as error:
            names = [getattr(each, "label", getattr(each, "name", "")) for each in case]
            broken.append(f"{' '.join(names)}: {error}")
    assert not broken, "\n".join(broken)


def test_every_format_has_its_fixtures() -> None:
    formats = Counter(place.partition("/")[2] for place in PLACES)
    assert formats.keys() == {row.name for row in FORMATS}
    assert all(formats[name] >= least for name, least in LEAST_SOURCES.items()), formats


def test_the_table_has_rows_of_fixtures_only() -> None:
    rows = laws.decisions()
    assert {row.rpartition("-")[0].rstrip("+") for row in rows} == {*PLACES}
    wanted = {row.name for row in FORMATS}
    assert {row.rpartition("-")[2] for row in rows} == wanted


@pytest.mark.long
@every_fixture
def test_decided(place: str) -> None:
    hold(laws.decided, ((case,) for case in cases_of(place)))
    labels = [case.label for case in cases_of(place) if case.writable]
    own = {source.label for source in sources_of(place)}
    assert [row for row in laws.decisions() if row.rpartition("-")[0] in own] == labels


@every_fixture
def test_home(place: str) -> None:
    hold(home, ((source,) for source in sources_of(place)))


@every_fixture
def test_repeated(place: str) -> None:
    hold(laws.repeated, ((source,) for source in sources_of(place) if not source.told))


@pytest.mark.long
@every_fixture
def test_stable(place: str) -> None:
    hold(stable, ((case,) for case in cases_of(place) if case.writable))


@pytest.mark.long
@every_fixture
def test_same_ids(place: str) -> None:
    hold(laws.same_ids, ((case,) for case in cases_of(place) if comparable(case)))


@pytest.mark.long
@every_fixture
def test_roundabout(place: str) -> None:
    written = [case for case in cases_of(place) if case.writable]
    hold(
        roundabout,
        (
            (there.source, there.target, onward.target)
            for there in written
            if there.lossless and there.target is not there.source.format
            for onward in written
            if onward.source is there.source and onward.passes and onward.target is not there.target
        ),
    )


@pytest.mark.long
@every_fixture
def test_untouched(place: str) -> None:
    for case in cases_of(place):
        if case.writable:
            assert case.trip.files
            assert case.trip.losses is not None
    hold(untouched, zip(sources_of(place), sources_of.__wrapped__(place), strict=True))


@every_fixture
def test_sniffers(place: str) -> None:
    for law in (one_owner, sniffs_calmly):
        hold(law, ((source, FORMATS) for source in sources_of(place)))


@pytest.mark.long
@every_fixture
def test_well_mannered(place: str) -> None:
    hold(well_mannered, ((source,) for source in sources_of(place)))
