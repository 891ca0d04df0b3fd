"""Files beside tokenizers: lock files, state files, reports and corpora, and how each is read."""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

from bpe_interop.compare.corpus import Corpora, compare_corpora, empty_report
from bpe_interop.compare.corpus_report import CorpusReport, FailedDocument, SideName
from bpe_interop.compare.lock import as_source, lock
from bpe_interop.compare.lock import dump as dump_lock
from bpe_interop.compare.lock import load as load_lock
from bpe_interop.compare.run import Sides
from bpe_interop.compare.sides import ORDINARY, PARSED, OwnEngine, Side
from bpe_interop.corpora.selection import find_files, select
from bpe_interop.encode import Encoder
from bpe_interop.formats import Files, by_name
from bpe_interop.io.reader import TokenizerSource
from bpe_interop.model import BPEModel
from fixtures import FIXTURES, TOKENIZERS

_TEXTS = (
    "Hello 12, \u00e9\u4e2d\U0001f600 <|endoftext|>  x\n",
    "",
    "a\nb",
    "1234567",
    "\u2028",
    "ab",
)
_CORPUS = FIXTURES / "corpora" / "controls.txt"


@dataclass(frozen=True, slots=True)
class Beside:
    """A kind of file: small ones, by name, and what reads them."""

    seeds: tuple[Mapping[str, bytes], ...]
    read: Callable[[Files], None]


@cache
def beside() -> dict[str, Beside]:
    """The kinds of files beside tokenizers, by what a table calls them."""
    reports, state = _compared()
    lines = [json.dumps({"id": n, "text": text}) for n, text in enumerate(_TEXTS * 3)]
    records = "".join(f"{line}\n" for line in lines).encode()
    corpora = {"a.jsonl": records}, {"a.jsonl.gz": gzip.compress(records, mtime=0)}
    return {
        "lock file": Beside(tuple({"tokenizer.lock": data} for data in _locks()), _read_lock),
        "state file": Beside(({"compared.state": state},), _read_state),
        "report": Beside(tuple({"report.json": data} for data in reports), _read_report),
        "corpus": Beside((*corpora, {"a.txt": "\n".join(_TEXTS * 3).encode()}), _read_corpus),
    }


@cache
def _models() -> list[BPEModel]:
    names = "cl100k-tiny", "gpt2-tiny"
    return [
        by_name("tiktoken").load({p.name: p.read_bytes() for p in folder.iterdir()})
        for folder in (TOKENIZERS / name / "tiktoken" for name in names)
    ]


def _locks() -> list[bytes]:
    return [dump_lock(lock(model, "a", {})) for model in _models()]


def _read_lock(files: Files) -> None:
    for name, data in files.items():
        as_source(load_lock(data, name), name)


def two_sides() -> Sides:
    """Two small tokenizers, our own encoder on each."""
    a, b = (
        Side(
            TokenizerSource(name, by_name("huggingface"), {}, model),
            model,
            partial(OwnEngine, model),
            partial(SideName, name, OwnEngine.name, "1", name),
        )
        for name, model in zip("ab", _models(), strict=True)
    )
    return Sides(a, b, (ORDINARY, PARSED))


@cache
def _compared() -> tuple[tuple[bytes, ...], bytes]:
    """Reports on two tokenizers over a corpus, and the state that such a comparison leaves."""
    sides = two_sides()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "compared.state")
        report, _ = compare_corpora(sides, Corpora((_CORPUS,), processes=0, state=path))
        state = path.read_bytes()
    failed = tuple(
        FailedDocument(each.source, "a", "killed", "no", "a") for each in report.found[:2]
    )
    reports = empty_report(sides), replace(report, failures=failed, notes=("a note",))
    return tuple(each.to_json().encode() for each in reports), state


def _read_state(files: Files) -> None:
    """Goes on from a state file, which is written again where that works."""
    with tempfile.TemporaryDirectory() as folder:
        for name, data in files.items():
            path = Path(folder, name)
            path.write_bytes(data)
            compare_corpora(two_sides(), Corpora((_CORPUS,), processes=0, state=path))


def _read_report(files: Files) -> None:
    """A report that is read is written and added to another one."""
    for name, data in files.items():
        report = CorpusReport.from_json(data, name)
        CorpusReport.from_json(report.to_json())
        sum([report, report])
        _ = report.plainest


def _read_corpus(files: Files) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, data in files.items():
            path = Path(folder, name)
            path.write_bytes(data)
            for _, document in select(find_files([path])):
                _encoder().encode(document.text)


@cache
def _encoder() -> Encoder:
    return Encoder(_models()[0])
