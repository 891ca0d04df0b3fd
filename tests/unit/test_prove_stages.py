"""Each comparison of a stage, by a pair that needs it; ids and texts are those of the engine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command_line import Command
from small_documents import Json, Side, added, document

from bpe_interop.compare.sides import ORDINARY
from bpe_interop.compare.verdict import first_stage
from bpe_interop.encode import Encoder
from bpe_interop.formats import by_name
from bpe_interop.proof import merging as of_merging
from bpe_interop.proof.prove import Proof, prove
from bpe_interop.proof.stage import Scope, Stage, TwoModels
from bpe_interop.sources import load_source
from bpe_interop.steps import Metaspace, Replace, SentencePieceText
from fixtures import TOKENIZERS

VOCAB = {char: number for number, char in enumerate("abcAB _")}
MERGES = {"ab": 10, "bc": 11}


def stage(proof: Proof, name: str) -> tuple[str, str]:
    [found] = [each for each in proof.stages if each.name == name]
    return found.outcome, found.why


def refuted(one: Side, two: Side, name: str, text: str, scope: Scope = "all") -> None:
    """The engine differs on the text; both verdicts say so, with a text that shows it."""
    assert one.answer(text, scope) != two.answer(text, scope)
    for left, right in ((one, two), (two, one)):
        proof = prove(left.model, right.model, scope)
        assert stage(proof, name)[0] == "different"
        assert proof.witness is not None
        assert left.answer(proof.witness, scope) != right.answer(proof.witness, scope)


def unsaid(side: Side, field: str, name: str) -> None:
    """Where one side does not say it, nothing is known of the stage."""
    nothing: dict[str, Any] = {field: None}
    other = replace(side.model, **nothing)
    for pair in ((side.model, other), (other, side.model), (other, other)):
        assert stage(prove(*pair), name)[0] == "unknown"
    assert stage(prove(side.model, side.model), name)[0] == "proved"


# Normalizers.


@pytest.mark.long
@pytest.mark.parametrize(
    ("normalizer", "text"),
    [
        ({"type": "Lowercase"}, "A"),
        ({"type": "Replace", "pattern": {"String": "aA"}, "content": "c"}, "aA"),
        ({"type": "Replace", "pattern": {"Regex": "a+A"}, "content": "c"}, "aA"),
        ({"type": "Strip", "strip_left": True, "strip_right": False}, " a"),
        ({"type": "Prepend", "prepend": "_"}, "a"),
    ],
)
def test_normalizers_are_compared(normalizer: Json, text: str) -> None:
    one, two = Side(document(VOCAB, normalizer=normalizer)), Side(document(VOCAB))
    refuted(one, two, "normalizer", text)


def test_normalizers_that_write_alike_are_equal() -> None:
    twice = {"type": "Sequence", "normalizers": [{"type": "Lowercase"}] * 2}
    one = Side(document(VOCAB, normalizer={"type": "Lowercase"}))
    two = Side(document(VOCAB, normalizer=twice))
    assert stage(prove(one.model, two.model), "normalizer")[0] == "proved"
    assert all(one.ids(text) == two.ids(text) for text in ("AB", "aA b", "cC"))


@pytest.mark.parametrize(
    ("field", "name"),
    [
        ("normalizer", "normalizer"),
        ("pretokenizer", "pre-tokenizer"),
        ("decoder", "decoding"),
    ],
)
def test_what_is_not_said_is_not_compared(field: str, name: str) -> None:
    decoder = {"type": "Fuse"}
    unsaid(Side(document(VOCAB, normalizer={"type": "Lowercase"}, decoder=decoder)), field, name)


# Merging.


def merging(**settings: Any) -> Side:
    merges = [["a", "b"], ["b", "c"]]
    return Side(document(VOCAB | MERGES, merges=merges, **settings))


def test_merges_in_another_order_are_compared() -> None:
    other = Side(document(VOCAB | MERGES, merges=[["b", "c"], ["a", "b"]]))
    refuted(merging(), other, "core", "abc")


def test_where_any_text_will_do_no_search_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """A token that one side only builds shows it; the search of a large vocabulary takes long."""
    one, two = merging(), Side(document(VOCAB | MERGES, merges=[["a", "b"]]))
    assert one.answer("bc") != two.answer("bc")
    monkeypatch.setattr(of_merging, "decide", lambda *_, **__: pytest.fail("searched"))
    found = of_merging.core_stage(TwoModels(one.model, two.model, most=10))
    assert (found.outcome, found.witness) == ("different", "bc")


def test_where_any_text_will_do_equal_merges_are_proved() -> None:
    """In another order, which never meet: no token shows anything, and the search is made."""
    pairs = [["a", "b"], ["A", "B"]]
    one, two = (
        Side(document(VOCAB | {"ab": 10, "AB": 11}, merges=merges))
        for merges in (pairs, pairs[::-1])
    )
    assert one.answer("abABbaBA") == two.answer("abABbaBA")
    assert of_merging.core_stage(TwoModels(one.model, two.model, most=10)).outcome == "proved"


def test_a_base_symbol_of_one_side_is_compared() -> None:
    less = {token: number for token, number in VOCAB.items() if token != "_"}
    merges = [["a", "b"], ["b", "c"]]
    other = Side(document(less | MERGES, merges=merges))
    refuted(merging(), other, "core", "a_")


@pytest.mark.parametrize(
    ("one", "two", "text"),
    [
        ({"continuing_subword_prefix": "_"}, {}, "aa"),
        ({"end_of_word_suffix": "_"}, {}, "a"),
    ],
)
def test_affixes_are_compared(one: Json, two: Json, text: str) -> None:
    vocab = VOCAB | {f"_{char}": 20 + n for n, char in enumerate("abc")}
    vocab |= {f"{char}_": 30 + n for n, char in enumerate("abc")}
    refuted(Side(document(vocab, **one)), Side(document(vocab, **two)), "core", text)


@pytest.mark.parametrize(
    ("one", "two", "text"),
    [
        ({"unk_token": "_"}, {}, "z"),
        ({"unk_token": "_"}, {"unk_token": "c"}, "z"),
    ],
)
def test_fallbacks_are_compared(one: Json, two: Json, text: str) -> None:
    refuted(Side(document(VOCAB, **one)), Side(document(VOCAB, **two)), "core", text)


# Decoding.


@pytest.mark.parametrize("scope", ["all", "ordinary", "text"])
def test_decoders_of_bytes_are_compared_by_what_they_join(scope: Scope) -> None:
    """A token of another name under the id of one that texts have."""
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    fields: Json = {"decoder": level | {"use_regex": False}, "pre_tokenizer": level}
    one = Side(document({"a": 0, "b": 1, "[U]": 2}, unk_token="[U]", **fields))
    two = Side(document({"a": 0, "b": 1, "[V]": 2}, unk_token="[V]", **fields))
    refuted(one, two, "decoding", "az", scope)


def test_names_of_special_tokens_count_where_they_are_parsed() -> None:
    """The same texts and ids in one pass; the id is another token to the decoder."""
    one = Side(document(VOCAB | {"<s>": 9}, added_tokens=[added("<s>", "s")]))
    two = Side(document(VOCAB | {"<t>": 9}, added_tokens=[added("<t>", "s")]))
    proof = prove(one.model, two.model, "all")
    assert one.answer("<s>") != two.answer("<s>")
    assert proof.outcome == "different"
    assert stage(prove(one.model, two.model, "text"), "decoding")[0] == "proved"


def test_steps_that_no_engine_has_together_are_not_tried(command: Command, tmp_path: Path) -> None:
    """A side given the other's steps may be SentencePiece's normalizer before tokenizers' own."""
    source = TOKENIZERS / "spm-charsmap-tiny" / "sentencepiece"
    model = load_source(source).model
    assert isinstance((model.normalizer or ())[0], SentencePieceText)
    other = replace(
        model,
        normalizer=(Replace(" ", "\u2581"),),
        pretokenizer=(Metaspace("\u2581", "first"),),
        extras={},
    )
    for name, content in by_name("huggingface").dump(other).items():
        (tmp_path / name).write_bytes(content)
    done = command("verify", source, tmp_path, "--scope", "text")
    assert done.code == 1, done.err
    assert "DIFFERENT at stage: normalizer" in done.out
    assert "replayed    in sentencepiece" in done.out


def test_bytes_and_characters_are_given_no_steps_of_each_other() -> None:
    """A step that cuts letters for bytes would give characters halves of them."""
    drop, stacked = (
        Encoder(load_source(TOKENIZERS / name / "huggingface").model)
        for name in ("drop-tiny", "stacked-tiny")
    )
    text = "\u3000ab \uff21"
    for one, two in ((drop, stacked), (stacked, drop)):
        assert first_stage(one, two, text, ORDINARY) == "pre-tokenizer"


def test_a_stage_that_a_text_shows_is_not_called_undecided() -> None:
    for why, shown in (
        (
            "other steps (x and y), not decided: z; tested on all; no ids differ",
            "other steps (x and y)",
        ),
        ("not decided: too many states", "a text shows it"),
        ("2 and 3 tokens; no text was found on which this changes ids", "2 and 3 tokens"),
    ):
        stage = Stage("core", "unknown", why).shown_by("ab")
        assert (stage.outcome, stage.why, stage.witness) == ("different", shown, "ab")
