"""Types of tokens in a GGUF file that its texts do not fit, and tokens within special ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest

from bpe_interop.encode import Encoder
from bpe_interop.engines.llamacpp import LlamaCppEngine
from bpe_interop.errors import EngineError, LossyConversionError, UnsupportedError
from bpe_interop.formats import by_name
from bpe_interop.formats.gguf.read import load
from bpe_interop.gate import refuse
from bpe_interop.loss import Loss
from bpe_interop.merging.canonical import canonical
from bpe_interop.model import RankTable
from fixtures import TOKENIZERS
from fixtures import gguf_models as made
from fixtures.file_formats import TO_CHAR

LETTERS = [TO_CHAR[byte] for byte in range(256)]
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
SPACE, NEWLINE = (TO_CHAR[ord(character)] for character in " \n")

Rows = Sequence[tuple[str, int]]


def by_merges(
    rows: Rows, merges: Sequence[str] = (), pre: str = "gpt-2", letters: Sequence[str] = LETTERS
) -> bytes:
    """GPT-2's kind: the bytes, and some tokens with their types."""
    every = [*((letter, made.NORMAL) for letter in letters), *rows]
    tokens, types = zip(*every, strict=True)
    return made.by_merges(tokens, types, merges, pre)


def by_scores(rows: Rows, marked: int = made.BYTE, scores: Sequence[float] = ()) -> bytes:
    """SentencePiece's kind; ``marked`` is the type of the bytes, ``scores`` are the rows'."""
    every = [("<unk>", made.UNKNOWN), ("<s>", made.CONTROL), ("</s>", made.CONTROL)]
    every += [*((name, marked) for name in BYTES), ("\u2581", made.NORMAL), *rows]
    tokens, types = zip(*every, strict=True)
    before = [0.0] * (len(tokens) - len(rows))
    return made.by_scores(tokens, types, [*before, *(scores or [0.0] * len(rows))][: len(tokens)])


@pytest.mark.parametrize(
    ("file", "where"),
    [
        (by_merges([("the", made.BYTE)]), "token_type[256]"),
        (by_merges([("ab", made.BYTE)]), "token_type[256]"),
        (by_scores([("a", made.BYTE)]), "token_type[260]"),
        (by_scores([("<0xZZ>", made.BYTE)]), "token_type[260]"),
        (by_scores([("<0x0a>", made.BYTE)]), "token_type[260]"),
    ],
    ids=["gpt2", "gpt2-short", "llama", "no number", "small letters"],
)
def test_a_byte_that_no_text_names_is_refused(file: bytes, where: str) -> None:
    with pytest.raises(UnsupportedError, match="marked as a byte") as refused:
        load({"x.gguf": file})
    assert where in refused.value.where


def test_llama_cpp_takes_it_for_some_byte_or_does_not_load() -> None:
    assert LlamaCppEngine(by_merges([("abc41", made.BYTE)])).decode([256]) == "A"
    for file in (by_merges([("ab", made.BYTE)]), by_scores([("a", made.BYTE)])):
        with pytest.raises(EngineError, match="basic_string"):
            LlamaCppEngine(file)


@pytest.mark.parametrize("kind", [made.CONTROL, made.USER_DEFINED, made.UNKNOWN])
def test_a_byte_that_is_special_is_refused(kind: int) -> None:
    """llama.cpp looks the byte up by its name, whatever its type is."""
    with pytest.raises(UnsupportedError, match=r"token_type\[3\].*marked as a special token"):
        load({"x.gguf": by_scores([], kind)})


MERGED = [
    by_merges([("\t", made.NORMAL)]),
    by_merges([(SPACE * 2, made.NORMAL), ("  ", made.UNUSED)], [f"{SPACE} {SPACE}"]),
    by_merges([("  ", made.NORMAL), (SPACE * 2, made.NORMAL)], [f"{SPACE} {SPACE}"]),
    by_merges([("\n\n", made.NORMAL)], [f"{NEWLINE} {NEWLINE}"], "llama-bpe"),
]


@pytest.mark.parametrize("file", MERGED, ids=["a byte", "merged", "before", "only as text"])
def test_a_token_spelled_as_text_takes_no_other_ones_place(file: bytes) -> None:
    with pytest.raises(UnsupportedError, match="gives its id to no text"):
        load({"x.gguf": file})


def test_a_token_spelled_as_text_that_nothing_else_is_stays() -> None:
    file = by_merges([("\t\t", made.NORMAL), (SPACE + "a", made.NORMAL)], [f"{SPACE} a"])
    encoder, engine = Encoder(load({"x.gguf": file})), LlamaCppEngine(file)
    for text in ("a\t\tb a", "\t\t", " a\t"):
        assert encoder.encode(text) == engine.encode(text)


WITHIN = [("<|x|>", made.CONTROL), ("|x", made.USER_DEFINED)]


def test_a_token_is_found_within_a_special_one_that_is_text() -> None:
    """llama.cpp looks for each alone; tokenizers passes over the special one and what is in it."""
    file = by_merges(WITHIN)
    encoder, engine = Encoder(load({"x.gguf": file})), LlamaCppEngine(file)
    for text in ("<|x|>", "a<|x|>|x x", "<|<|x|>|x|>"):
        assert encoder.encode(text) == engine.encode(text)
        assert encoder.encode(text, "all") == engine.encode(text, special="parse")
    assert 257 in encoder.encode("<|x|>")


def test_a_token_within_a_special_one_is_told_on_the_way() -> None:
    model = load({"x.gguf": by_merges(WITHIN)})
    with pytest.raises(LossyConversionError, match="the longest is found first"):
        refuse(model, by_name("huggingface"))
    leftmost = tuple(replace(token, longest_first=False) for token in model.added or ())
    with pytest.raises(LossyConversionError, match=r'"\|x" is in "<\|x\|>"'):
        refuse(replace(model, added=leftmost), by_name("gguf"))


def test_what_llama_cpp_decodes_as_it_is_spelled() -> None:
    for file in (
        by_scores([], made.NORMAL),
        by_scores([("\u2581x", made.USER_DEFINED)]),
        by_scores([]),
    ):
        encoder, engine = Encoder(load({"x.gguf": file})), LlamaCppEngine(file)
        ids = [*encoder.model.vocab.ids.values(), *(t.id for t in encoder.model.added or ())]
        for number in ids:
            for each in ([number], [*engine.encode("\u00e9"), number, *engine.encode("\u00e9")]):
                assert encoder.decode(each) == engine.decode(each)


def test_an_end_that_llama_cpp_takes_by_itself_is_noted() -> None:
    """It ends generation at the id 11 where no eos token is named (``llama-vocab.cpp``)."""
    [note] = load({"x.gguf": by_merges([])}).origin.notes
    assert "ends generation at the id 11, which is" in note
    named: made.Keys = {"tokenizer.ggml.eos_token_id": (made.UINT32, 256)}
    spelled = [TO_CHAR[byte] for byte in range(256)]
    file = made.by_merges(
        [*spelled, "<e>"], [made.NORMAL] * 256 + [made.CONTROL], [], "gpt-2", named
    )
    assert not load({"x.gguf": file}).origin.notes


def test_an_empty_token_changes_no_id() -> None:
    """Whisper's multilingual vocabulary has one."""
    model = load({"x.gguf": by_merges([("ab", made.NORMAL)], ["a b"])})
    ids = {**model.vocab.ids, b"": len(model.vocab.ids)}
    losses = refuse(replace(model, vocab=replace(model.vocab, ids=ids)), by_name("gguf"))
    assert [(loss.field, loss.grade) for loss in losses] == [("vocab", "metadata")]
    assert "the empty token 257" in losses[0].what


def test_where_a_user_defined_piece_is_found_is_told() -> None:
    """Mistral's models from version 3 on have some."""
    [file] = (TOKENIZERS / "spm-user-tiny/sentencepiece").glob("*.model")
    model = by_name("sentencepiece").load({file.name: file.read_bytes()})
    with pytest.raises(LossyConversionError) as refused:
        refuse(model, by_name("gguf"))
    told = {loss.field: loss.what for loss in refused.value.losses}
    for field in ("vocab", "added"):
        assert "SentencePiece in what the normalizer makes of it" in told[field]


@pytest.mark.parametrize(
    "file",
    [
        by_scores([("a", made.NORMAL), ("\0", made.NORMAL), ("b\0c", made.NORMAL)]),
        by_scores([("a", made.NORMAL), ("\0x", made.CONTROL), ("b\0c", made.USER_DEFINED)]),
        by_merges([("ab", made.NORMAL), ("qq\0c", made.CONTROL)], ["a b\0c"]),
    ],
    ids=["normal", "found first", "merges"],
)
def test_a_text_ends_at_its_first_nul(file: bytes) -> None:
    """llama.cpp makes a string of a pointer (``gguf_get_arr_str``)."""
    ours, engine = Encoder(load({"x.gguf": file})), LlamaCppEngine(file)
    for text in ("a", "b", "\0", "a\0b", "b\0c", "ab", "q", "q\0c", "\0x"):
        assert ours.encode(text) == engine.encode(text)
        assert ours.encode(text, "all") == engine.encode(text, special="parse")
    for number in range(256, 262):
        if number in engine.encode("ab\0"):
            assert ours.decode([number]) == engine.decode([number])


def test_a_token_with_a_nul_goes_to_no_gguf() -> None:
    """Such a token was written, and llama.cpp gave a text that holds one other ids."""
    [file] = (TOKENIZERS / "spm-tiny/sentencepiece").glob("*.model")
    model = by_name("sentencepiece").load({file.name: file.read_bytes()})
    number = max(model.vocab.ids.values()) + 1
    ids = {**model.vocab.ids, b"\0": number}
    scores = {**model.vocab.scores, number: -1e4}
    assert isinstance(model.merges, RankTable)
    merges = RankTable({**model.merges.ranks, b"\0": number})
    changed = replace(model, vocab=replace(model.vocab, ids=ids, scores=scores), merges=merges)
    with pytest.raises(LossyConversionError) as refused:
        refuse(changed, by_name("gguf"))
    [loss] = [
        each for each in refused.value.losses if isinstance(each, Loss) and each.field == "vocab"
    ]
    assert loss.witness is not None
    assert "\0" in loss.witness
    assert "up to its first U+0000" in loss.what


@pytest.mark.parametrize("seed", range(40))
def test_the_form_that_reading_finds_is_the_model_s(seed: int) -> None:
    """Lemma 2: what merging never builds may be out of the vocabulary, and of equal scores."""
    random = Random(seed)
    words = {"".join(random.choices("ab\u2581", k=random.randint(1, 4))) for _ in range(14)}
    rows = [
        (word, random.choice([made.NORMAL, made.NORMAL, made.UNUSED]))
        for word in sorted(words - {"\u2581"})
    ]
    rows[-1] = rows[-1][0], random.choice([made.CONTROL, made.UNKNOWN, made.USER_DEFINED])
    for file in (by_scores(rows), by_scores(rows, scores=random.choices([-1.0, -2.0, -3.0], k=14))):
        model = load({"x.gguf": file})
        assert canonical.known(model)
        assert canonical(model) == canonical(replace(model))
