"""Lock files: what a tokenizer did is held against what it does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tiktoken
from click.testing import CliRunner
from conftest import FIXTURES

from bpe_interop.cli import cli
from bpe_interop.errors import FormatError
from bpe_interop.sources import load_source
from bpe_interop.verify import verify
from bpe_interop.verify.lock import dump, load, lock

TOKENIZERS = FIXTURES / "tokenizers"
TINY = TOKENIZERS / "cl100k-tiny"


def locked(source: Path, folder: Path) -> Path:
    path = folder / "tokenizer.lock"
    path.write_bytes(dump(lock(load_source(source).model, source.name, {"bpe-interop": "0"})))
    return path


def test_golden_ids_are_the_engines(tmp_path: Path) -> None:
    from bpe_interop.engines import from_files

    loaded = load_source(TINY / "tiktoken")
    held = load(locked(TINY / "tiktoken", tmp_path).read_bytes(), "x")
    engine = from_files("tiktoken", "tiktoken", loaded.files, loaded.model)
    assert len(held.golden) > 500
    for how, text, ids in held.golden:
        if how != "template":
            special = "parse" if how == "parse" else "text"
            assert tuple(engine.encode(text, special=special)) == ids


def test_the_same_tokenizer_in_another_format_is_proved(tmp_path: Path) -> None:
    path = locked(TINY / "tiktoken", tmp_path)
    report = verify(path, TINY / "huggingface", scope="ordinary")
    assert (report.verdict, report.differing) == ("proved", 0)
    run = verify(path, TINY / "huggingface", scope="ordinary", engine_b="tokenizers")
    assert (run.verdict, run.engine_b.split()[0]) == ("tested", "tokenizers")


def test_changed_ids_are_found_and_said_where(tmp_path: Path) -> None:
    path = locked(TINY / "tiktoken", tmp_path)
    report = verify(TOKENIZERS / "o200k-tiny" / "tiktoken", path)
    assert (report.verdict, report.stage) == ("refuted", "text")
    assert report.mismatch is not None
    ranks = load_source(TOKENIZERS / "o200k-tiny" / "tiktoken")
    assert ranks.model.pretokenizer
    other = load_source(TINY / "tiktoken").model
    sidecar = json.loads((TINY / "tiktoken" / "cl100k-tiny.tiktoken.json").read_text("utf-8"))
    theirs = tiktoken.Encoding(
        "x",
        pat_str=sidecar["pat_str"],
        mergeable_ranks=dict(other.vocab.ids),
        special_tokens=sidecar["special_tokens"],
    )
    assert theirs.encode_ordinary(report.mismatch.text) == list(report.mismatch.ids_b)


def test_locking_again_gives_the_same_bytes(tmp_path: Path) -> None:
    path = locked(TINY / "tiktoken", tmp_path)
    assert dump(load(path.read_bytes(), "x")) == path.read_bytes()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"bpe_interop_lock": 1', '"bpe_interop_lock": 2', "layout 2"),
        ('"bpe_interop_lock": 1', '"bpe_interop_lock": "1"', "expected"),
        ('["text", "",', '["aloud", "",', "expected one of"),
        ('["text", "",', '["", ', "expected"),
        ('"golden"', '"silver"', "golden|silver"),
    ],
)
def test_a_damaged_lock_file_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = locked(TINY / "tiktoken", tmp_path)
    text = path.read_text("ascii")
    assert old in text
    with pytest.raises(FormatError, match=said):
        load(text.replace(old, new, 1).encode("ascii"), "tokenizer.lock")


def test_the_commands(tmp_path: Path) -> None:
    out = tmp_path / "my.lock"
    done = CliRunner().invoke(cli, ["lock", str(TINY / "tiktoken"), "-o", str(out)])
    assert done.exit_code == 0
    assert out.stat().st_mode & 0o444
    held = CliRunner().invoke(cli, ["verify", str(out), str(TINY / "tiktoken")])
    assert held.exit_code == 0
    assert held.stdout.startswith("PROVED")
    changed = CliRunner().invoke(cli, ["verify", str(out), str(TOKENIZERS / "gpt2-tiny/tiktoken")])
    assert changed.exit_code == 1
    prints = CliRunner().invoke(cli, ["fingerprint", str(TINY / "tiktoken")])
    assert [line.split(" ")[0] for line in prints.stdout.splitlines()] == [
        "text",
        "specials",
        "template",
        "decoder",
        "all",
    ]
    assert json.loads(out.read_text("ascii"))["fingerprint"]["all"] in prints.stdout
