"""The command line on SentencePiece models, and what verify is asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from sentencepiece import SentencePieceProcessor
from tokenizers import Tokenizer

from bpe_interop.cli import cli
from bpe_interop.compare import comparison
from bpe_interop.compare.stress import fixed
from bpe_interop.errors import LossyConversionError
from bpe_interop.text.bytechars import to_chars
from fixtures import TOKENIZERS


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


def test_a_byte_level_tokenizer_is_refused_with_two_texts(tmp_path: Path) -> None:
    done = run("convert", TOKENIZERS / "gpt2-tiny/huggingface", tmp_path / "out", "--to", "spm")
    assert isinstance(done.exception, LossyConversionError)
    (loss,) = done.exception.losses
    assert "a token each in" in str(done.exception)
    assert "--pretoken-level" in str(done.exception)
    assert not (tmp_path / "out").exists()
    own = Tokenizer.from_file(str(TOKENIZERS / "gpt2-tiny/huggingface/tokenizer.json"))
    witness = getattr(loss, "witness", None)
    assert witness
    assert len(own.encode(witness).ids) == len(witness)


@pytest.mark.long
def test_the_same_for_single_pretokens_is_written_on_request(tmp_path: Path) -> None:
    source, out = TOKENIZERS / "gpt2-tiny/huggingface", tmp_path / "out"
    done = run("convert", source, out, "--to", "spm", "--pretoken-level")
    assert done.exit_code == 0
    assert "pretoken-level" in done.output
    own = Tokenizer.from_file(str(source / "tokenizer.json"))
    pieces = SentencePieceProcessor(model_file=str(out / "tokenizer.model"))
    for pretoken in ("the", " the", "Hello", " world", "!!!", "\n\n", "é"):
        spelled = to_chars(pretoken.encode("utf-8"))
        assert pieces.encode(spelled) == own.encode(pretoken, add_special_tokens=False).ids
    again = run("inspect", out)
    assert "labelled as pretoken-level" in again.output


def test_pretoken_level_belongs_to_sentencepiece(tmp_path: Path) -> None:
    source = TOKENIZERS / "gpt2-tiny/huggingface"
    done = run("convert", source, tmp_path / "out", "--to", "tiktoken", "--pretoken-level")
    assert done.exit_code != 0
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("scope", "require", "verdict", "code"),
    [
        ("ordinary", "proved", "proved", 0),
        ("all", "tested", "tested", 0),
        ("all", "proved", "tested", 2),
    ],
)
def test_what_is_required_decides_the_exit_code(
    scope: str, require: str, verdict: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ``.model`` does not say what is placed around a text, so ``all`` is not proved."""
    monkeypatch.setattr(comparison, "awkward", lambda model, seed=0: fixed())
    both = [TOKENIZERS / "spm-tiny" / name for name in ("sentencepiece", "huggingface")]
    done = run("verify", *both, "--scope", scope, "--require", require, "--json")
    report = json.loads(done.stdout)
    assert (done.exit_code, report["verdict"]) == (code, verdict)
    assert report["scope"] == scope
    assert {stage["name"] for stage in report["stages"]} >= {"normalizer", "core", "decoding"}
