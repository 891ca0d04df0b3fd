"""The laws that hold for every format, over every fixture and every conversion between formats."""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path

import pytest

from bpe_interop.diff import diff
from bpe_interop.encode import Encoder
from bpe_interop.engines import from_files
from bpe_interop.errors import BpeInteropError, LossyConversionError, UnstatedError
from bpe_interop.formats import Files, all_formats, by_name
from bpe_interop.gate import refuse
from bpe_interop.loss import Loss
from bpe_interop.model import BPEModel
from bpe_interop.presets import fill

FIXTURES = Path(__file__).parent.parent / "fixtures"
FORMATS = [row.name for row in all_formats()]
ENOUGH = 8_000
"""Bytes of each corpus; test_golden.py encodes them whole."""


def _sources() -> list[tuple[str, str]]:
    folders = sorted((FIXTURES / "tokenizers").glob("*/*/"))
    return [(p.parent.name, p.name) for p in folders if p.is_dir() and p.name in FORMATS]


SOURCES = _sources()


@cache
def files_of(name: str, format: str) -> Files:
    folder = FIXTURES / "tokenizers" / name / format
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@cache
def model_of(name: str, format: str) -> BPEModel:
    """Read once: what is done with a model does not change it (:func:`test_untouched`)."""
    model = by_name(format).load(files_of(name, format))
    return fill(model, None)


@cache
def written(name: str, format: str, target: str) -> Files:
    return by_name(target).dump(model_of(name, format))


@cache
def again(name: str, format: str, target: str) -> BPEModel:
    """What was written, read back."""
    return by_name(target).load(written(name, format, target))


@cache
def passes(name: str, format: str, target: str) -> tuple[Loss, ...] | None:
    """What the gate lets pass as lost; None where it refuses."""
    try:
        return refuse(model_of(name, format), by_name(target))
    except (LossyConversionError, UnstatedError):
        return None


every_source = pytest.mark.parametrize(("name", "format"), SOURCES)
every_target = pytest.mark.parametrize("target", FORMATS)


@cache
def part_of(corpus: Path) -> str:
    """Lines from all over a corpus."""
    data = corpus.read_bytes()
    step = -(-len(data) // ENOUGH)
    return "".join(data.decode("utf-8").splitlines(keepends=True)[::step])


def _writable(model: BPEModel, target: str) -> bool:
    return all(getattr(model, field) is not None for field in by_name(target).needs)


def test_there_are_fixtures_for_every_format() -> None:
    assert {format for _, format in SOURCES} == set(FORMATS)


@every_source
@every_target
def test_honest(name: str, format: str, target: str) -> None:
    """Fields that differ after writing and reading are exactly those named as lost."""
    model, row = model_of(name, format), by_name(target)
    if not _writable(model, target):
        with pytest.raises(UnstatedError):
            refuse(model, row)
        return
    lost = {loss.field for loss in row.losses(model)}
    changed = {
        d.field
        for d in diff(model, again(name, format, target))
        if d.kind == "different" or getattr(model, d.field) is not None
    }
    assert changed == lost


@every_source
@every_target
def test_stable(name: str, format: str, target: str) -> None:
    """Writing what was read back gives the same bytes."""
    if not _writable(model_of(name, format), target):
        return
    once = written(name, format, target)
    assert by_name(target).dump(again(name, format, target)) == once


@every_source
@every_target
def test_same_ids(name: str, format: str, target: str, corpora: list[Path]) -> None:
    """Where no loss changes ids or text, ids agree in our encoder and in the format's own engine,
    and so does what they decode to.
    """
    model, row = model_of(name, format), by_name(target)
    if passes(name, format, target) is None or model.pretokenizer is None:
        return
    back = fill(again(name, format, target), None)
    engine = from_files(row.engine, row.name, written(name, format, target), back)
    ours, theirs = Encoder(model), Encoder(back)
    for corpus in corpora:
        text = part_of(corpus)
        expected = engine.encode(text)
        assert ours.encode(text) == expected
        assert theirs.encode(text) == expected
        assert ours.decode(expected) == theirs.decode(expected) == engine.decode(expected)
        if engine.parses_special and model.added is not None and back.added is not None:
            assert ours.encode(text, "all") == engine.encode(text, special="parse")


def _complaint(format: str, files: Files) -> str | None:
    try:
        by_name(format).load(files)
    except BpeInteropError as error:
        return error.what
    return None


@every_source
def test_one_owner(name: str, format: str) -> None:
    """Exactly one sniffer says yes."""
    files = files_of(name, format)
    assert [row.name for row in all_formats() if row.sniff(files)] == [format]


@every_source
def test_well_mannered(name: str, format: str) -> None:
    """Any truncation and many bit flips give a model or our own error."""
    files = files_of(name, format)
    for key, data in files.items():
        cuts = [data[: len(data) * part // 17] for part in range(17)]
        flips = [
            data[:place] + bytes([data[place] ^ (1 << place % 8)]) + data[place + 1 :]
            for place in range(0, len(data), max(1, len(data) // 70))
        ]
        for damaged in [*cuts, *flips]:
            assert _complaint(format, {**files, key: damaged}) != ""


@every_source
def test_sniffers_never_raise(name: str, format: str) -> None:
    files = files_of(name, format)
    for row in all_formats():
        for key, data in files.items():
            for part in range(7):
                assert row.sniff({**files, key: data[: len(data) * part // 7]}) in (True, False)


@pytest.mark.parametrize("middle", FORMATS)
@every_source
@every_target
def test_roundabout(name: str, format: str, middle: str, target: str) -> None:
    """A to B to C equals A to C, where A to B loses nothing."""
    if passes(name, format, middle) != () or passes(name, format, target) is None:
        return
    end = by_name(target)
    through = fill(again(name, format, middle), None)
    assert not diff(end.load(end.dump(through)), again(name, format, target))


@every_source
@every_target
def test_untouched(name: str, format: str, target: str) -> None:
    """Neither files nor models change by being read and written."""
    files = files_of(name, format)
    before = copy.deepcopy(dict(files))
    model = by_name(format).load(files)
    facts = json.dumps(sorted((t.hex(), i) for t, i in model.vocab.ids.items())), repr(model.added)
    if _writable(model, target):
        by_name(target).dump(model)
        list(by_name(target).losses(model))
    assert files == before
    after = json.dumps(sorted((t.hex(), i) for t, i in model.vocab.ids.items())), repr(model.added)
    assert after == facts
