"""What a proof is about: which stages count in a scope, and in which all are proved."""

from __future__ import annotations

from dataclasses import replace

from conftest import FIXTURES

from bpe_interop.model import AddedToken, BPEModel
from bpe_interop.proof.prove import SCOPES, about, narrower, prove
from bpe_interop.sources import load_source
from bpe_interop.steps import Fuse

GPT2: BPEModel = load_source(FIXTURES / "tokenizers" / "gpt2-tiny" / "huggingface").model


def with_token(text: str) -> BPEModel:
    return replace(GPT2, added=(*(GPT2.added or ()), AddedToken(text, 9_999, special=True)))


def test_what_no_side_states_is_not_what_a_verdict_is_about() -> None:
    silent = replace(GPT2, sequence_template=None)
    assert GPT2.sequence_template is not None
    said = {
        scope: about(scope, prove(silent, silent, scope).stages) for scope in ("all", "ordinary")
    }
    assert said["all"].endswith("no side says what is placed around a text")
    assert said["ordinary"] == SCOPES["ordinary"]
    assert about("all", prove(GPT2, GPT2).stages) == SCOPES["all"]


def test_what_does_not_count_in_a_scope_is_still_shown() -> None:
    """The text of a special token differs; where none matches, that changes no id."""
    proof = prove(with_token("<one>"), with_token("<two>"), "text")
    shown = {stage.name: stage.outcome for stage in proof.stages}
    assert shown["special tokens"] == "refuted"
    assert proof.outcome == "proved"


def test_tokens_that_decode_otherwise_leave_the_ids_of_ordinary_texts() -> None:
    pair = with_token("<one>"), with_token("<two>")
    proof = prove(*pair)
    shown = {stage.name: stage.outcome for stage in proof.stages}
    assert (shown["special tokens"], shown["decoding"]) == ("refuted", "unknown")
    assert narrower(*pair, proof) == "ordinary"


def test_ids_that_decode_otherwise_may_do_so_in_every_scope() -> None:
    pair = GPT2, replace(GPT2, decoder=(Fuse(),))
    proof = prove(*pair)
    assert [stage.name for stage in proof.counted if stage.outcome != "proved"] == ["decoding"]
    assert narrower(*pair, proof) is None
