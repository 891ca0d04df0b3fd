"""Conversion: what it says it did, the check in the target's own engine, and what it leaves."""

from __future__ import annotations

import importlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any, cast

import pytest
import tiktoken
import tokenizers
import transformers
from click.testing import CliRunner
from conftest import Data
from test_composition import SEQUENCES, tokenizer_json

import bpe_interop
from bpe_interop.cli.convert import convert_command
from bpe_interop.compare.conversion import compare_written
from bpe_interop.compare.report import Check, Report
from bpe_interop.compare.sentences import engines, why_not_proved
from bpe_interop.convert import Conversion, convert
from bpe_interop.engines import rows
from bpe_interop.engines.tokenizers import TokenizersEngine
from bpe_interop.errors import (
    BpeInteropError,
    CheckFailedError,
    EngineError,
    EngineMissingError,
    LossyConversionError,
    TargetError,
    UnstatedError,
    by_extra,
)
from bpe_interop.formats import by_name
from bpe_interop.io.reader import TokenizerSource
from bpe_interop.model import BPEModel
from bpe_interop.sources import load_source
from bpe_interop.statement import Statement, as_stated
from fixtures import TOKENIZERS

TINY = TOKENIZERS / "gpt2-tiny"
RANKS = TOKENIZERS / "cl100k-tiny" / "tiktoken"


def checks_of(done: Conversion) -> tuple[Check, ...]:
    assert done.report is not None
    return done.report.checks


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.long
def test_it_says_what_it_kept_rewrote_and_checked(tmp_path: Path) -> None:
    done = convert(RANKS, tmp_path / "out", "hf")
    assert (done.source_format, done.target_format) == ("tiktoken", "huggingface")
    assert done.kept[0] == "800 tokens, 544 merges"
    assert "801-804, 820" in done.kept[1]
    assert any("544 merges" in line for line in done.rewrote)
    read, own, served = checks_of(done)
    assert (read.of, read.engine, read.version) == ("source", "tiktoken", tiktoken.__version__)
    assert read.texts > 5_000
    assert own.of == served.of == "target"
    assert (own.engine, own.version) == ("tokenizers", tokenizers.__version__)
    assert own.texts > 5_000
    assert own.failures == 0
    assert len(own.scopes) == 3
    assert served.engine == "transformers"
    assert names(tmp_path / "out") == sorted(done.files)
    verdict = done.report
    assert verdict is not None
    assert (verdict.verdict, verdict.scope, verdict.notes) == ("proved", "all", ())
    assert {stage.outcome for stage in verdict.stages} == {"proved"}
    assert engines(verdict) == (
        f"tiktoken {tiktoken.__version__}",
        f"tokenizers {tokenizers.__version__}",
    )
    assert verdict.texts == own.texts


@pytest.mark.parametrize("name", ["words, digits", "cut again", "StarCoder"])
def test_steps_that_are_lost_are_not_said_to_be_rewritten(tmp_path: Path, name: str) -> None:
    """In GGUF other steps stand in their place, which cut a text otherwise than tokenizers does."""
    source = tmp_path / "tokenizer.json"
    source.write_text(tokenizer_json(SEQUENCES[name]))
    dropped = convert(source, tmp_path / "a.gguf", drop=["pretokenizer", "merges"], verify=False)
    assert [line for line in dropped.rewrote if "pattern" in line] == []
    [text] = [loss.witness for loss in dropped.losses if loss.field == "pretokenizer"]
    engine = tokenizers.Tokenizer.from_file(str(source))
    there = bpe_interop.load(tmp_path / "a.gguf")
    is_lost = text is not None and there.encode(text) != engine.encode(text).ids
    assert is_lost == (name != "StarCoder")  # of which llama.cpp knows the very steps
    if name != "cut again":
        one = convert(source, tmp_path / "a.tiktoken", verify=False)
        assert [line for line in one.rewrote if "as one that is proved" in line]


@pytest.mark.usefixtures("few_texts")
def test_a_rank_file_target_and_its_plugin(tmp_path: Path) -> None:
    done = convert(TINY / "huggingface", tmp_path / "x.tiktoken")
    assert done.target_format == "tiktoken"
    ran = [(check.of, check.engine) for check in checks_of(done)]
    assert ran == [("source", "tokenizers"), ("target", "tiktoken"), ("source", "transformers")]
    versions = [module.__version__ for module in (tokenizers, tiktoken, transformers)]
    assert [check.version for check in checks_of(done)] == versions
    assert names(tmp_path) == ["x.tiktoken", "x.tiktoken.json"]
    convert(TINY / "tiktoken", tmp_path / "out", "tiktoken", options=["plugin"])
    assert (tmp_path / "out" / "plugin" / "pyproject.toml").is_file()
    for place, to in ((tmp_path / "y.tiktoken", "hf"), (tmp_path / "y.tiktoken", "tiktoken")):
        with pytest.raises(TargetError, match="rank file"):
            convert(TINY / "tiktoken", place, to, options=["plugin"] if to == "tiktoken" else [])
    assert names(tmp_path) == ["out", "x.tiktoken", "x.tiktoken.json"]


def test_ids_that_are_lost_are_named(tmp_path: Path) -> None:
    """tiktoken takes one of two special tokens by chance where one begins the other."""
    made = bpe_interop.load(TINY / "huggingface").with_special_tokens(["<|im|>", "<|im|>start"])
    made.save(tmp_path / "in", format="hf")
    done = convert(tmp_path / "in", tmp_path / "out", "tiktoken", drop="added")
    engine = bpe_interop.load(tmp_path / "out").to_tiktoken()
    lost = [made.encode_single_token(text) for text in ("<|im|>", "<|im|>start")]
    with pytest.raises(KeyError):
        engine.decode([lost[0]])
    assert engine.decode([lost[1]]) == "<|im|>start"
    [line] = [line.text for line in done.lines() if "have no token" in line.text]
    assert line.startswith(f"1 ids of the source have no token in what is written ({lost[0]})")


def test_what_the_source_leaves_unsaid_is_said(tmp_path: Path) -> None:
    done = convert(TINY / "gpt2", tmp_path / "pair", "gpt2", options=["vocab-names"])
    assert names(tmp_path / "pair") == ["merges.txt", "vocab.json"]
    assert "no pattern is known" in checks_of(done)[0].skipped
    assert done.report is not None
    assert done.report.verdict == "unknown"
    with pytest.raises(UnstatedError, match="--preset"):
        convert(TINY / "gpt2", tmp_path / "hub", "hf")
    assert names(tmp_path) == ["pair"]


@pytest.mark.usefixtures("few_texts")
def test_a_refused_loss_writes_nothing_and_drop_allows_it(tmp_path: Path) -> None:
    source = TOKENIZERS / "shuffled-tiny" / "huggingface"
    with pytest.raises(LossyConversionError) as refused:
        convert(source, tmp_path / "out", "tiktoken")
    assert {"merges", "added"} == {getattr(loss, "field", "") for loss in refused.value.losses}
    with pytest.raises(LossyConversionError):
        convert(source, tmp_path / "out", "tiktoken", drop=["merges"])
    assert names(tmp_path) == []
    done = convert(source, tmp_path / "out", "tiktoken", drop=["merges", "added"])
    assert {"merges", "added"} <= {loss.field for loss in done.losses}
    assert checks_of(done)[0].texts
    assert done.report is not None
    assert (done.report.verdict, done.report.dropped) == ("proved", ("added", "merges"))


@pytest.fixture
def few_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs two texts only: the proof needs none."""
    written = importlib.import_module("bpe_interop.compare.conversion")
    monkeypatch.setattr(written, "awkward", lambda model: ["hello", " world"])
    monkeypatch.setattr(written, "around_added", lambda model, count: [])


@pytest.mark.usefixtures("few_texts")
def test_the_command_ends_with_the_verdict(tmp_path: Path) -> None:
    source = str(TOKENIZERS / "shuffled-tiny" / "huggingface")
    dropped = ["--drop", "merges", "--drop", "added"]
    for where, extra, said in (
        (RANKS, ["--to", "hf"], "PROVED equal for every text, special tokens and the "),
        (source, ["--to", "tiktoken", *dropped], "not the same tokenizer: added"),
        (RANKS, ["--to", "spm", "--pretoken-level"], "NONE: the alphabet was dropped"),
    ):
        target = str(tmp_path / "out")
        done = CliRunner().invoke(convert_command, [str(where), target, "--force", *extra])
        assert [line for line in done.stdout.splitlines() if f"verdict     {said}" in line]
    done = CliRunner().invoke(
        convert_command, [str(RANKS), target, "--to", "hf", "--force", "--json"]
    )
    verdict = json.loads(done.stdout)["verdict"]
    assert (verdict["outcome"], len(verdict["stages"])) == ("proved", 9)


@pytest.mark.usefixtures("few_texts")
def test_a_conversion_has_a_verdict_of_the_same_words(tmp_path: Path) -> None:
    for verify, verdict, shown in ((True, "proved", "proved"), (False, "unknown", "not verified")):
        done = convert(RANKS, tmp_path / verdict, "hf", verify=verify)
        assert done.verdict == verdict
        assert repr(done).endswith(f"(huggingface): {shown}>")
        assert (done.report is not None) is verify


@pytest.mark.usefixtures("few_texts")
def test_a_verdict_is_about_what_is_stated(tmp_path: Path) -> None:
    done = convert(RANKS, tmp_path / "out", "gpt2", drop=["added", "pretokenizer"])
    assert done.report is not None
    assert (done.report.verdict, done.report.scope) == ("proved", "ordinary")
    assert [note[:31] for note in done.report.notes] == [
        "the target does not say how tex",
        "the target does not say which s",
        "the target does not say what is",
    ]


@pytest.mark.usefixtures("few_texts")
def test_a_verdict_is_about_what_both_engines_do(tmp_path: Path) -> None:
    """sentencepiece places nothing that a ``.model`` states, and finds no special tokens."""
    for source, to, said in (
        ("sentencepiece", "huggingface", Statement(template="bos")),
        ("huggingface", "sentencepiece", Statement()),
    ):
        done = convert(TOKENIZERS / "spm-tiny" / source, tmp_path / to, to, said=said)
        assert done.report is not None
        assert (done.report.verdict, done.report.scope) == ("proved", "ordinary")


def established(
    model: BPEModel,
    again: BPEModel,
    formats: tuple[str, str] = ("tiktoken", "tiktoken"),
    texts: int = 10,
) -> Report:
    """The report on what was written, its own engine having agreed on so many texts."""
    one, two = (
        TokenizerSource("", by_name(name), {}, each)
        for name, each in zip(formats, (model, again), strict=True)
    )
    check = Check(by_name(formats[1]).engine, "", texts=texts)
    return compare_written(one, two, (), [check])


def test_a_template_that_the_targets_engine_does_not_apply_is_noted() -> None:
    """tiktoken reads no template: whoever moves to it would lose BOS without a word."""
    said = Statement(template="bos", roles={"bos": "<|endoftext|>"})
    model = load_source(RANKS).model
    placed = as_stated(model, said)
    for each, formats, noted in (
        (placed, ("huggingface", "tiktoken"), 1),
        (placed, ("tiktoken", "huggingface"), 0),
        (model, ("huggingface", "tiktoken"), 0),
    ):
        notes = [n for n in established(each, each, formats).notes if "places no" in n]
        assert len(notes) == noted
        assert all("tiktoken places no tokens" in n and '"<|endoftext|>"' in n for n in notes)


def examined(monkeypatch: pytest.MonkeyPatch, *versions: str) -> None:
    """As if our tests had run on these versions of tiktoken."""
    row = replace(rows.ROWS["tiktoken"], examined=versions)
    monkeypatch.setattr(rows, "ROWS", {**rows.ROWS, "tiktoken": row})


def test_other_engine_versions_are_tested_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    examined(monkeypatch, "0.1.0")
    model = load_source(RANKS).model
    for texts, outcome in ((10, "tested"), (0, "unknown")):
        found = established(model, model, texts=texts)
        assert found.verdict == outcome
        assert "our tests do not run on tiktoken" in why_not_proved(found)


def test_a_proof_names_the_versions_that_it_is_about(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = metadata.version("tiktoken")
    examined(monkeypatch, installed, "99.0")
    model = load_source(RANKS).model
    found = established(model, model)
    assert found.verdict == "proved"
    assert engines(found) == (f"tiktoken {installed}",)
    assert f"tested, on tiktoken {installed})" in found.assumptions[0]


def test_what_is_written_wrong_is_refuted_without_an_engine(tmp_path: Path) -> None:
    """The proof sees what no text that was run shows."""
    model = load_source(RANKS).model
    ids = dict(model.vocab.ids)
    one, other = sorted(ids, key=len)[-2:]
    ids[one], ids[other] = ids[other], ids[one]
    swapped = replace(model, vocab=replace(model.vocab, ids=ids))
    with pytest.raises(CheckFailedError, match="other ids"):
        established(model, swapped, texts=0)


@pytest.mark.long
@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("how", ["ids", "decoding", "fails"])
def test_an_engine_that_disagrees_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, force: bool
) -> None:
    encode, decode = TokenizersEngine.encode, TokenizersEngine.decode

    def lie(self: TokenizersEngine, text: str, **asked: Any) -> list[int]:
        ids = encode(self, text, **asked)
        if "fox" not in text:
            return ids
        if how == "fails":
            raise EngineError("it failed")
        return [*ids, 1] if how == "ids" else ids

    def lie_back(self: TokenizersEngine, ids: Sequence[int]) -> str:
        return decode(self, ids).replace("fox", "cat" if how == "decoding" else "fox")

    def lie_all(self: TokenizersEngine, texts: Sequence[str], **asked: Any) -> list[list[int]]:
        return [lie(self, text, **asked) for text in texts]

    monkeypatch.setattr(TokenizersEngine, "encode", lie)
    monkeypatch.setattr(TokenizersEngine, "encode_batch", lie_all)

    def lie_back_on_all(self: TokenizersEngine, rows: Sequence[Sequence[int]]) -> list[str]:
        return [lie_back(self, ids) for ids in rows]

    monkeypatch.setattr(TokenizersEngine, "decode", lie_back)
    monkeypatch.setattr(TokenizersEngine, "decode_batch", lie_back_on_all)
    if force:
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "tokenizer.json").touch()
    with pytest.raises(BpeInteropError) as found:
        convert(RANKS, tmp_path / "out", "hf", force=force)
    assert isinstance(found.value, EngineError if how == "fails" else CheckFailedError)
    assert "fox" in str(found.value)
    assert names(tmp_path) == (["out"] if force else [])
    if force:
        assert names(tmp_path / "out") == ["tokenizer.json"]
        assert (tmp_path / "out" / "tokenizer.json").read_bytes() == b""


def without(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes a library impossible to import."""
    real = importlib.import_module

    def missing(wanted: str, package: str | None = None) -> object:
        if wanted.split(".")[0] == name:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(wanted, package)

    monkeypatch.setattr("bpe_interop.engines.library.importlib.import_module", missing)


@pytest.mark.usefixtures("few_texts")
def test_a_missing_engine_is_said_and_required(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        without("tiktoken", patch)
        with pytest.raises(
            EngineMissingError, match="tiktoken is not installed\n  pip install tiktoken; or"
        ):
            convert(TINY / "huggingface", tmp_path / "x.tiktoken")
        assert names(tmp_path) == []
        done = convert(TINY / "huggingface", tmp_path / "x.tiktoken", verify=False)
        assert done.report is None
    with monkeypatch.context() as patch:
        without("transformers", patch)
        done = convert(RANKS, tmp_path / "out", "hf")
        assert [bool(check.skipped) for check in checks_of(done)] == [False, False, True]
        assert checks_of(done)[2].skipped == by_extra("transformers")


def test_force_replaces_as_a_whole(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.mkdir()
    for name in ("tokenizer.json", "chat_template.jinja"):
        (target / name).write_text("old", "utf-8")
    with pytest.raises(TargetError, match="--force"):
        convert(RANKS, target, "hf", verify=False)
    done = convert(RANKS, target, "hf", verify=False, force=True)
    assert names(target) == sorted(done.files)
    (tmp_path / "file").touch()
    convert(RANKS, tmp_path / "file", "hf", verify=False, force=True)
    assert names(tmp_path) == ["file", "out"]


def test_gpt_oss_gives_the_published_rank_file(data: Data, tmp_path: Path) -> None:
    convert(data / "gpt-oss", tmp_path / "o200k.tiktoken", verify=False)
    published = data / "o200k_base/o200k_base.tiktoken"
    assert (tmp_path / "o200k.tiktoken").read_bytes() == published.read_bytes()


def test_dolma2_gives_the_published_rank_file_once_its_tokens_are_dropped(
    data: Data, tmp_path: Path
) -> None:
    source = data / "olmo-dolma2/allenai_dolma2.json"
    target = tmp_path / "cl100k.tiktoken"
    with pytest.raises(LossyConversionError, match="such a text: "):
        convert(source, target)
    convert(source, target, drop=["added"], verify=False)
    assert target.read_bytes() == (data / "cl100k_base/cl100k_base.tiktoken").read_bytes()


@pytest.mark.long
@pytest.mark.usefixtures("misread")
def test_a_source_that_its_engine_reads_otherwise_is_refused(tmp_path: Path) -> None:
    """Whatever we misread, the source's own engine is asked before anything is written."""
    with pytest.raises(CheckFailedError, match="the source is not the tokenizer that we read"):
        convert(TINY / "huggingface", tmp_path / "out", "tiktoken")
    assert names(tmp_path) == []


def test_a_target_never_replaces_its_own_source(tmp_path: Path) -> None:
    shutil.copytree(TINY / "huggingface", tmp_path / "tok")
    before = names(tmp_path / "tok")
    for source in (tmp_path / "tok", tmp_path / "tok" / "tokenizer.json"):
        with pytest.raises(TargetError, match="holds the source"):
            convert(source, tmp_path / "tok", "tiktoken", force=True)
    assert names(tmp_path / "tok") == before


def test_a_keyword_that_is_not_known_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="presett"):
        cast(Any, convert)(RANKS, tmp_path / "out", "hf", presett="gpt2")
    assert not (tmp_path / "out").exists()
