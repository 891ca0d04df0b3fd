"""Conditions of a proof, each by a small pair that breaks it alone; the engines say what is right.

Without the condition the pair would be called equal, or an equal pair would not be.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import pytest
import regex
import sentencepiece
import tokenizers
from small_documents import Json, Side, added, document
from test_prove_decoding import HEAD, LETTERS, SPACE, STEPS, VOCAB, both, pieces_of

from bpe_interop.encode import Encoder
from bpe_interop.engines import from_files as engine_from_files
from bpe_interop.errors import EngineError
from bpe_interop.fingerprint import fingerprint
from bpe_interop.formats import by_name
from bpe_interop.model import AddedToken, BPEModel, SequenceTemplate, TemplateText, TemplateToken
from bpe_interop.proof import pretokenizer, stage
from bpe_interop.proof.added_tokens import added_stage, template_stage
from bpe_interop.proof.decoder import decoding_stage
from bpe_interop.proof.merging import core_stage
from bpe_interop.proof.normalizer import normalizer_stage
from bpe_interop.proof.pretokenizer import pretokenizer_stage
from bpe_interop.proof.prove import prove
from bpe_interop.proof.stage import Scope, Stage, TwoModels
from bpe_interop.steps import (
    DecoderStep,
    Fuse,
    Lowercase,
    Pattern,
    Prepend,
    Replace,
    SentencePieceText,
    Split,
    StripAccents,
)
from bpe_interop.text.bytechars import BYTE_TO_CHAR
from bpe_interop.theory import cuts
from bpe_interop.theory.cuts import DifferingCuts
from fixtures.piece_model import BYTE_PIECES, NORMAL, TRAINER, UNUSED, Piece, with_field

_SUFFIX_FIELD = 24
"""``treat_whitespace_as_suffix`` of a ``.model``."""

SURFACE = Replace("<unk>", " \u2047 ")

UNSAID: dict[str, Any] = {"pretokenizer": None}


STAGES: dict[str, Callable[[TwoModels], Stage]] = {
    "normalizer": normalizer_stage,
    "pre-tokenizer": pretokenizer_stage,
    "core": core_stage,
    "sequence template": template_stage,
    "decoding": decoding_stage,
    "added tokens": partial(added_stage, special=False),
    "special tokens": partial(added_stage, special=True),
}


@pytest.fixture(autouse=True)
def few_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few texts are tried where nothing is decided, not some ten thousand."""
    monkeypatch.setattr(stage, "_LENGTH", 2)
    monkeypatch.setattr(stage, "single_characters", lambda: iter("aAb."))
    monkeypatch.setattr(pretokenizer, "_STRINGS", 300)


def found(one: BPEModel, two: BPEModel, name: str, scope: Scope = "all") -> Stage:
    """What is said of one stage, the same in both orders."""
    said = STAGES[name](TwoModels(one, two, scope))
    assert said.name == name
    assert said.outcome == STAGES[name](TwoModels(two, one, scope)).outcome
    return said


def stage_of(one: BPEModel, two: BPEModel) -> str:
    return found(one, two, "decoding", "ordinary").outcome


def replaced(pattern: str, content: str) -> Json:
    return {"type": "Replace", "pattern": {"String": pattern}, "content": content}


def in_order(*steps: Json) -> Json:
    return {"type": "Sequence", "decoders": [*steps]}


BYTE_LEVEL: Json = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
BYTE_LEVEL |= {"use_regex": False}


# Decoders.


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (replaced("a", "x"), replaced("a", "y")),
        (in_order(BYTE_LEVEL, replaced("a", "x")), in_order(BYTE_LEVEL, replaced("a", "y"))),
        (BYTE_LEVEL, in_order(BYTE_LEVEL, replaced("a", "x"))),
        (None, {"type": "Fuse"}),
        (BYTE_LEVEL, {"type": "Fuse"}),
    ],
)
def test_other_decoders_are_not_equal(one: Json | None, two: Json) -> None:
    vocab = {"a": 0, "b": 1, "\u0120": 2}
    left, right = (
        Side(document(vocab, decoder=each, pre_tokenizer=BYTE_LEVEL)) for each in (one, two)
    )
    assert left.answer("a b") != right.answer("a b")
    assert found(left.model, right.model, "decoding").outcome == "unknown"


def test_an_unknown_token_counts_where_a_byte_is_missing() -> None:
    """``byte_fallback`` alone leaves nothing known: there is no token of a byte."""
    one, two = (
        Side(document(VOCAB | {name: 5}, unk_token=name, byte_fallback=True))
        for name in ("<unk>", "[UNK]")
    )
    assert one.answer("az") != two.answer("az")
    said = found(one.model, two.model, "decoding")
    assert said.outcome == "different"
    assert said.why == ('the id 5 decodes to "<unk>" in the first, to "[UNK]" in the second')


def test_an_unknown_token_counts_where_one_byte_of_all_is_missing() -> None:
    """No reader gives such a model; one that is put together may be."""
    spelled = {f"<0x{byte:02X}>": 10 + byte for byte in range(256)}
    one, two = (
        Side(document(VOCAB | spelled | {name: 5}, unk_token=name, byte_fallback=True)).model
        for name in ("<unk>", "[UNK]")
    )
    assert found(one, two, "decoding").outcome == "proved"
    left, right = (_without(model, b"<0xC3>") for model in (one, two))
    assert found(left, right, "decoding").outcome != "proved"


def _without(model: BPEModel, token: bytes) -> BPEModel:
    vocab, number = model.vocab, model.vocab.ids[token]
    ids = {each: n for each, n in vocab.ids.items() if n != number}
    kinds = {n: kind for n, kind in vocab.kinds.items() if n != number}
    return replace(model, vocab=replace(vocab, ids=ids, kinds=kinds))


def test_an_unknown_token_that_bytes_leave_no_text_for_does_not_count() -> None:
    vocab = {char: number for number, char in enumerate(BYTE_TO_CHAR.values())}
    one, two = (
        Side(
            document(
                vocab | {name: 300},
                unk_token=name,
                pre_tokenizer=BYTE_LEVEL,
                decoder=BYTE_LEVEL,
            )
        )
        for name in ("<unk>", "[UNK]")
    )
    assert all(one.answer(text) == two.answer(text) for text in ("az", "\u00e9\u4e2d", "\x00"))
    assert found(one.model, two.model, "decoding").outcome == "proved"


def test_what_is_placed_around_a_text_may_be_unsaid() -> None:
    one, two = (Side(document(VOCAB | {n: 5}, unk_token=n)).model for n in ("<unk>", "[U]"))
    left, right = (replace(model, sequence_template=None) for model in (one, two))
    assert found(left, right, "decoding").outcome == "different"


def test_ids_that_only_one_side_gives_show_nothing_of_decoding() -> None:
    one, two = (Side(document({"a": a, "b": 1 - a})) for a in (0, 1))
    assert one.answer("ab") == ([0, 1], "a b")
    assert two.answer("ab") == ([1, 0], "a b")
    assert found(one.model, two.model, "decoding").outcome == "unknown"
    assert prove(one.model, two.model).stage == "ids"


def test_a_text_without_ids_shows_nothing_of_decoding() -> None:
    """What has no token is an error in a rank file."""
    one, two = (
        by_name("tiktoken").load(
            {
                "t.tiktoken": b"YQ== 0\nYg== 1\n",
                "t.tiktoken.json": b'{"name": "t", "pat_str": "[\\\\s\\\\S]", "special_tokens": {"'
                + name
                + b'": 3}, "explicit_n_vocab": null}',
            }
        )
        for name in (b"zzzz", b"yyyy")
    )
    assert found(one, two, "decoding").outcome == "unknown"
    assert prove(one, two, "ordinary").outcome == "proved"


# Chains of steps that do what SentencePiece's decoding does (Theorem 20).


@pytest.mark.parametrize(
    "more",
    [(Replace("a", "b"),), (Fuse(),)],
)
def test_only_the_joining_of_pieces_is_undone(more: tuple[DecoderStep, ...]) -> None:
    pieces, other = both(pieces_of([*HEAD, *LETTERS], fallback=False))
    assert pieces.decoder is not None
    odd = replace(pieces, decoder=(*pieces.decoder, *more))
    assert stage_of(pieces, other) == "proved"
    assert stage_of(odd, other) == "unknown"
    assert stage_of(odd, pieces) == "unknown"


@pytest.mark.parametrize("steps", [(), (Fuse(),)])
def test_what_joins_no_pieces_does_not_do_what_joining_them_does(
    steps: tuple[DecoderStep, ...],
) -> None:
    """sentencepiece leaves out the space that it wrote, and these steps write U+2581 for it."""
    data = pieces_of([*HEAD, *LETTERS], fallback=False)
    engine = sentencepiece.SentencePieceProcessor(model_proto=data)
    pieces, _ = both(data)
    other = replace(pieces, decoder=steps)
    assert engine.decode(engine.encode("ab")) == "ab"
    assert Encoder(other).decode(engine.encode("ab")) != "ab"
    assert stage_of(pieces, other) == "unknown"


def test_spaces_after_a_text_are_decoded_otherwise() -> None:
    """With the dummy as a suffix, sentencepiece still leaves out a space at the start."""
    data = pieces_of([*HEAD, *LETTERS], fallback=False)
    data = with_field(data, TRAINER, _SUFFIX_FIELD, 1)
    engine = sentencepiece.SentencePieceProcessor(model_proto=data)
    assert engine.decode(engine.encode(" a")) == "a "
    pieces = by_name("sentencepiece").load({"tokenizer.model": data})
    chain = replace(pieces, decoder=(STEPS[0], SURFACE, Fuse()))
    assert Encoder(chain).decode(engine.encode(" a")) == " a "
    assert stage_of(pieces, chain) != "proved"


def test_an_unused_space_is_not_what_a_text_begins_with() -> None:
    listed = [Piece("\u2581", 0.0, UNUSED), *LETTERS[1:]]
    data = pieces_of([*HEAD, *listed], fallback=False)
    engine = sentencepiece.SentencePieceProcessor(model_proto=data)
    assert engine.decode(engine.encode("a")) == " \u2047 a"
    pieces, other = both(data)
    chain = replace(other, decoder=(STEPS[0], SURFACE, Fuse(), SPACE))
    assert Encoder(chain).decode(engine.encode("a")) == "\u2047 a"
    assert stage_of(pieces, replace(other, decoder=(STEPS[0], SURFACE, Fuse(), SPACE))) != "proved"
    assert stage_of(pieces, chain) != "proved"


def test_the_space_that_is_left_out_must_have_been_written() -> None:
    """Decoding leaves out a space at the start; here the normalizer wrote none."""
    pieces, other = both(pieces_of([*HEAD, *LETTERS], fallback=False))
    written = SentencePieceText(b"", collapse=False, dummy="prefix", escape=True)
    unescaped = replace(written, escape=False)
    bare = replace(written, dummy="none")
    # It keeps two spaces of a token, which no plain steps do.
    late = replace(written, collapse=True, kept=("  ",))
    for steps, outcome in [
        ((Replace(" ", "\u2581"), Prepend("\u2581")), "proved"),
        ((written,), "proved"),
        ((Replace(" ", "\u2581"), Prepend("a")), "unknown"),
        ((Prepend("\u2581"), Lowercase()), "unknown"),
        ((), "unknown"),
        ((bare,), "unknown"),
        ((unescaped,), "unknown"),
        ((replace(late, dummy="none"),), "unknown"),
        ((replace(late, escape=False),), "unknown"),
        ((late,), "proved"),
    ]:
        assert stage_of(replace(pieces, normalizer=steps), other) == outcome, steps


def test_patterns_in_a_chain_are_applied_as_patterns() -> None:
    pieces, other = both(pieces_of([*HEAD, *LETTERS], fallback=False))
    for pattern, outcome in (("\u2581", "proved"), ("[\u2581a]", "different")):
        space = Replace(Pattern(pattern, "oniguruma"), " ")
        chain = replace(other, decoder=(space, SURFACE, Fuse(), SPACE))
        assert stage_of(pieces, chain) == outcome


def test_a_piece_that_the_chain_does_not_know_is_not_equal() -> None:
    pieces, other = both(pieces_of([*HEAD, *LETTERS], fallback=False))
    ids = {token: number for token, number in other.vocab.ids.items() if token != b"a"}
    less = replace(other, vocab=replace(other.vocab, ids=ids))
    assert stage_of(pieces, less) == "proved"  # "a" is no id that both give
    assert prove(pieces, less, "ordinary").outcome != "proved"


def test_a_token_that_the_chain_spells_otherwise_is_not_equal() -> None:
    """What sentencepiece gives for ``a`` is the id of ``z`` in the chain's vocabulary."""
    data = pieces_of([*HEAD, *LETTERS, *BYTE_PIECES], fallback=True)
    engine = sentencepiece.SentencePieceProcessor(model_proto=data)
    pieces, other = both(data)
    chain = replace(other, decoder=(*STEPS, SPACE))
    ids = {b"z" if token == b"a" else token: n for token, n in chain.vocab.ids.items()}
    moved = replace(chain, vocab=replace(chain.vocab, ids=ids))
    assert engine.decode(engine.encode("ba")) == Encoder(chain).decode(engine.encode("ba")) == "ba"
    assert Encoder(moved).decode(engine.encode("ba")) == "bz"
    assert stage_of(pieces, chain) == "proved"
    assert stage_of(pieces, moved) == "unknown"  # no text has this id on both sides


def test_the_sides_are_named_in_their_order() -> None:
    """The template places an id that is a control piece on one side, and nothing on the other."""
    pieces, other = both(pieces_of([*HEAD, *LETTERS], fallback=False))
    placed = SequenceTemplate((TemplateToken("<x>", (900,)), TemplateText("A")))
    special = AddedToken("<x>", 900, special=True)
    one = replace(pieces, added=(special,), sequence_template=placed)
    two = replace(other, added=(), sequence_template=placed)
    words = ['"<x>" (control)', "nothing"]
    for pair, (first, second) in (((one, two), words), ((two, one), words[::-1])):
        why = f"the id 900 decodes to {first} in the first, to {second} in the second"
        assert found(*pair, "decoding").why.startswith(why)


# Normalizers.


def test_normalizers_beside_an_unsaid_pre_tokenizer_are_compared() -> None:
    plain = replace(Side(document(VOCAB)).model, normalizer=(Replace("aa", "b"),))
    spelled = replace(plain, normalizer=(Replace(Pattern("a[a]", "oniguruma"), "b"),))
    none = replace(plain, normalizer=())
    for unsaid in (plain, replace(plain, **UNSAID)):
        assert found(unsaid, none, "normalizer").outcome != "proved"
        assert found(unsaid, spelled, "normalizer").outcome == "proved"


def test_the_character_that_is_written_otherwise_is_named() -> None:
    lower, two, plain = (
        Side(document(VOCAB | {"A": 8, "B": 9}, normalizer=steps))
        for steps in (
            {"type": "Lowercase"},
            {"type": "Replace", "pattern": {"String": "ab"}, "content": "b"},
            None,
        )
    )
    assert lower.ids("A") != plain.ids("A")
    said = found(lower.model, plain.model, "normalizer")
    assert (said.outcome, said.witness) == ("different", "A")
    assert said.why.endswith("; they write 'A' differently")
    assert lower.ids("a_b") == plain.ids("a_b")
    # Several characters together are written otherwise: what is said is the steps.
    said = found(two.model, plain.model, "normalizer")
    assert "they write" not in said.why


def test_what_metaspace_asks_is_not_decided_where_a_pattern_looks_around() -> None:
    """It writes every text alike, and each character stays where it was."""
    first: Json = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first"}
    looks = {"type": "Replace", "pattern": {"Regex": "a(?=b)"}, "content": "a"}
    one, two = (
        Side(document(VOCAB, normalizer=steps, pre_tokenizer=first)) for steps in (looks, None)
    )
    for text in ("ab", "aab ab", " ab"):
        assert one.ids(text) == two.ids(text)
    assert found(one.model, two.model, "normalizer").outcome == "unknown"


def test_a_pair_that_does_not_say_how_it_splits_has_a_verdict() -> None:
    """No text has ids then, and none shows a difference; that is no error."""
    one, two = (
        replace(Side(document(VOCAB | {name: 8}, added_tokens=[added(name)])).model, **UNSAID)
        for name in ("<x>", "<y>")
    )
    assert found(one, two, "added tokens").outcome == "unknown"
    assert found(one, two, "pre-tokenizer").outcome == "unknown"


# Added tokens, and templates.


def test_tokens_that_one_side_takes_by_chance_are_not_equal() -> None:
    """In lower case both are looked for as one text, of which tokenizers takes either."""
    tokens = [added("b", "n"), added("B", "n")]
    plain, lower = (
        replace(
            Side(document(VOCAB | {"b": 8, "B": 9}, added_tokens=tokens)).model, normalizer=steps
        )
        for steps in ((StripAccents(),), (Lowercase(),))
    )
    assert found(plain, lower, "added tokens").why == '"b" and "B" are looked for as one text'
    assert found(plain, plain, "added tokens").outcome == "proved"


def test_a_special_token_hides_another_only_where_it_is_to_be_text() -> None:
    tokens = [added("zw")], ["yz", "xy"]
    one, two = (
        Side(
            document(
                {char: n for n, char in enumerate("wxyz")} | {"zw": 9, name: 10},
                added_tokens=[*tokens[0], added(name, "s")],
            )
        )
        for name in tokens[1]
    )
    assert one.ids("xyzw", "ordinary") != two.ids("xyzw", "ordinary")
    assert found(one.model, two.model, "added tokens", "ordinary").outcome == "different"
    assert found(one.model, two.model, "added tokens", "all").outcome == "proved"
    assert found(one.model, two.model, "special tokens", "all").outcome == "different"


def test_added_tokens_that_only_one_side_has_are_counted() -> None:
    """A token that is special on one side only stands on both."""
    model = Side(document({char: n for n, char in enumerate("wxyz")})).model
    one = [AddedToken(f"<{n}>", n, special=True) for n in range(3)]
    shared = AddedToken("<both>", 3, special=True)
    left = replace(model, added=(*one, shared))
    right = replace(model, added=(replace(shared, special=False),))
    assert found(left, right, "special tokens", "ordinary").why == (
        '4 and 0 special tokens; 3 only in the first, such as "<0>" 0; "<both>": special yes '
        "in the first; special no in the second"
    )
    assert found(left, right, "added tokens", "ordinary").why == (
        '0 and 1 added tokens; "<both>": special yes in the first; special no in the second'
    )
    assert found(right, left, "special tokens", "ordinary").why.startswith(
        '0 and 4 special tokens; 3 only in the second, such as "<0>" 0; '
    )


def test_no_template_is_one_that_places_nothing() -> None:
    nothing = replace(Side(document(VOCAB)).model, sequence_template=SequenceTemplate())
    parts: list[Json] = [{"Sequence": {"id": letter, "type_id": 0}} for letter in "AB"]
    template = partial(dict[str, object], type="TemplateProcessing", special_tokens={})
    empty = Side(document(VOCAB, post_processor=template(single=parts[:1], pair=parts)))
    swapped = Side(document(VOCAB, post_processor=template(single=parts[:1], pair=parts[::-1])))
    assert empty.model.sequence_template is not None
    swapped_back = empty.model.sequence_template.pair
    said = found(nothing, empty.model, "sequence template")
    assert said.outcome == "proved"
    assert said.why == "nothing is placed around a text on either side"
    said = found(swapped.model, swapped.model, "sequence template")
    assert said.why == "the same template"
    before = SequenceTemplate((TemplateToken("a", (0,)), TemplateText("A")), swapped_back)
    first = replace(empty.model, sequence_template=before)
    assert found(first, first, "sequence template").why == "the same template"
    single = replace(empty.model, sequence_template=SequenceTemplate())
    assert found(single, swapped.model, "sequence template").outcome == "unknown"


# Pre-tokenizers.

LETTERS_AND_MERGES: Json = {
    "vocab": {char: n for n, char in enumerate("ab \u2581.")} | {"ab": 10, "a.": 11},
    "merges": ["ab", "a."],
}


def cutting(*steps: Json, **settings: object) -> Side:
    cut: Json = {"type": "Sequence", "pretokenizers": [*steps]}
    return Side(
        document(pre_tokenizer=cut if steps else None, **{**LETTERS_AND_MERGES, **settings})
    )


def at(pattern: Json, behavior: str = "Removed", *, invert: bool = True) -> Json:
    return {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert}


METASPACE: Json = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "never"}
METASPACE |= {"split": False}
RUN: Json = {"Regex": "a+"}


@pytest.mark.parametrize(
    ("one", "two", "text"),
    [
        ([METASPACE], [], "a b"),
        ([at(RUN)], [at(RUN, "Isolated")], "ab"),
        ([at(RUN)], [at(RUN, "Removed", invert=False)], "ab"),
        ([at(RUN)], [at({"String": "a"}, "Isolated", invert=False)], "ab"),
        ([at({"String": "a"})], [at({"String": "b"})], "ab"),
        ([at({"Regex": "a|b"})], [at({"Regex": "ab"}), at({"Regex": "ab"})], "ab"),
        ([at({"Regex": "a|b"})], [at({"String": "ab"}), at({"Regex": "ab"})], "ab"),
        # What only one side drops.
        ([at({"Regex": "a|b"})], [at({"Regex": "[ab. ]"})], "a."),
    ],
)
def test_steps_that_cut_otherwise_are_not_equal(
    one: list[Json], two: list[Json], text: str
) -> None:
    left, right = cutting(*one), cutting(*two)
    assert left.ids(text) != right.ids(text)
    assert found(left.model, right.model, "pre-tokenizer").outcome != "proved"


def test_steps_that_drop_alike_are_equal() -> None:
    left, right = cutting(at({"Regex": "a|b"})), cutting(at({"Regex": "[ab]"}))
    spelled = cutting(at({"Regex": "[ab]"}), at({"Regex": "a|b"}))
    for text in ("ab", "a.b", "a b"):
        assert left.ids(text) == right.ids(text) == spelled.ids(text)
    assert found(left.model, right.model, "pre-tokenizer").outcome == "proved"
    assert found(left.model, spelled.model, "pre-tokenizer").outcome == "proved"


def test_what_a_step_writes_may_be_what_the_normalizer_writes() -> None:
    left = cutting(METASPACE)
    right = cutting(normalizer={"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"})
    assert left.ids("a b") == right.ids("a b")
    assert found(left.model, right.model, "pre-tokenizer").outcome == "proved"
    unsaid = replace(left.model, normalizer=None)
    assert found(unsaid, right.model, "pre-tokenizer").outcome != "proved"
    unsaid = replace(left.model, pretokenizer=None)
    assert found(unsaid, right.model, "pre-tokenizer").why.endswith("how texts are split")


def test_what_was_tried_is_said_where_nothing_is_decided() -> None:
    looks = at({"Regex": "(?<=a)b"}, "Isolated", invert=False)
    one, two = cutting(looks, merges=[]), cutting(merges=[])
    said = found(one.model, two.model, "pre-tokenizer")
    assert said.outcome == "unknown"
    assert "tested on all strings of up to" in said.why
    assert "engines with other tables" not in said.why


def test_a_reason_names_a_text_that_is_cut_otherwise() -> None:
    """Where nothing merges, no cut changes ids, and those of U+2581 differ where both cut alike."""
    cut = cutting(at({"Regex": "b"}, "Isolated", invert=False), merges=[])
    one = cutting(merges=[])
    other = cutting(merges=[], vocab={**LETTERS_AND_MERGES["vocab"], "\u2581": 20})
    for text in ("ab", "!b", "b."):
        assert cut.ids(text) == one.ids(text) == other.ids(text)
    said = found(cut.model, one.model, "pre-tokenizer")
    assert (said.outcome, said.witness) == ("unknown", None)
    assert said.why.startswith('they split "!b" differently; no text')
    said = found(cut.model, other.model, "pre-tokenizer")
    assert said.witness is not None
    assert "b" not in said.witness
    assert cut.ids(said.witness) != other.ids(said.witness)
    assert said.why.startswith('they split "!b" differently; other stages')
    merging, uncut = cutting(at({"Regex": "b"}, "Isolated", invert=False)), cutting()
    assert merging.ids("!b") == uncut.ids("!b")
    assert merging.ids("a!b") != uncut.ids("a!b")  # what has no token vanishes
    said = found(merging.model, uncut.model, "pre-tokenizer")
    assert (said.outcome, said.witness) == ("different", "a!b")
    assert said.why == 'they split "a!b" differently'


# Patterns of Python's regex, which minbpe runs: its Unicode tables are others.

NEW_LETTER = next(
    chr(point)
    for point in range(0x80, 0x110000)
    if regex.match(r"\p{L}", chr(point))
    and not tokenizers.pre_tokenizers.Split(
        tokenizers.Regex(r"\p{L}"), "isolated", invert=True
    ).pre_tokenize_str(f".{chr(point)}")[1:]
)
"""A letter to the installed ``regex``, and none to tokenizers."""


def _minbpe_file(pattern: str, *merges: str) -> bytes:
    """A minbpe model; what is merged is bytes, left to right."""
    lines, size = ["minbpe v1", pattern, "0"], 256
    for text in merges:
        first, *rest = text.encode()
        left = first
        for byte in rest:
            lines.append(f"{left} {byte}")
            left, size = size, size + 1
    return "\n".join([*lines, ""]).encode()


def by_regex(pattern: str, *merges: str) -> BPEModel:
    return by_name("minbpe").load({"t.model": _minbpe_file(pattern, *merges)})


def test_letters_that_only_one_engine_knows_are_cut_otherwise() -> None:
    pattern, text = r"\p{L}+|[^\p{L}]+", f".{NEW_LETTER}"
    one = by_regex(pattern, text)
    two = by_name("huggingface").load(by_name("huggingface").dump(one))
    engine = tokenizers.Tokenizer.from_str(
        by_name("huggingface").dump(one)["tokenizer.json"].decode()
    )
    assert regex.findall(pattern, text) == [".", NEW_LETTER]
    assert Encoder(one).encode(text) != engine.encode(text).ids
    assert found(one, two, "pre-tokenizer").outcome != "proved"
    assert fingerprint(one)["text"] != fingerprint(two)["text"]
    # Where no token shows it, or no class is asked for, they are equal.
    for source, token in ((pattern, "ab"), ("[a-z]+|[^a-z]+", text)):
        one = by_regex(source, token)
        two = by_name("huggingface").load(by_name("huggingface").dump(one))
        assert found(one, two, "pre-tokenizer").outcome == "proved"


def test_the_engine_of_minbpe_has_the_tables_of_regex() -> None:
    text = f".{NEW_LETTER}"
    data = {"t.model": _minbpe_file(r"\p{L}+|[^\p{L}]+", text)}
    engine = engine_from_files("tokenizers", "minbpe", data)
    assert engine.encode(text) == Encoder(by_name("minbpe").load(data)).encode(text)


@pytest.mark.parametrize("pattern", ["[^a]|[^b]", r"[^\s\S]|b", r"(?i:k)?[^k]"])
def test_the_engine_of_minbpe_refuses_what_regex_misreads(pattern: str) -> None:
    data = {"t.model": _minbpe_file(pattern, "ab")}
    with pytest.raises(EngineError, match="as Python's regex does"):
        engine_from_files("tokenizers", "minbpe", data)


def test_a_match_that_regex_may_miss_is_not_decided() -> None:
    """Where ``(?i:`` begins a match, releases of ``regex`` look without case for others too."""
    pattern = r"(?i:'s)?[^\p{Lu}k]+.|[\s\S]"
    one = by_regex(pattern, "ab")
    two = by_name("huggingface").load(by_name("huggingface").dump(one))
    assert found(one, two, "pre-tokenizer").outcome == "unknown"


@pytest.mark.parametrize("pattern", ["[^a]|[^b]", r"[^\s\S]|b", r"(?i:k)?[^k]"])
def test_a_class_that_regex_misreads_is_not_proved(pattern: str) -> None:
    one = by_regex(pattern, "ab")
    two = by_name("huggingface").load(by_name("huggingface").dump(one))
    assert found(one, two, "pre-tokenizer").outcome != "proved"
    assert fingerprint(one)["text"] != fingerprint(two)["text"]


# Tokens across a cut that only one side makes (Theorem 10).


@pytest.mark.parametrize(
    ("token", "text"),
    [
        (b".\xc3", ".\u00e9"),  # the first half of U+00E9, which may be U+00C0 to U+00FF
        (b"\xa9.", "\u00e9."),  # its second half, which is that of many characters
        (b"\xc3\xa9.", "\u00e9."),
    ],
)
def test_parts_of_characters_stand_across_a_cut(token: bytes, text: str) -> None:
    spelled = "".join(BYTE_TO_CHAR[byte] for byte in token)
    vocab = {char: n for n, char in enumerate([*BYTE_TO_CHAR.values(), spelled])}
    merges = [[spelled[0], spelled[1]]]
    if len(spelled) == 3:
        vocab |= {spelled[:2]: 300}
        merges.append([spelled[:2], spelled[2]])
    sides = []
    for pattern in ("!", "[!\u00e9]"):
        steps = [at({"Regex": pattern}, "Isolated", invert=False), BYTE_LEVEL]
        cut: Json = {"type": "Sequence", "pretokenizers": steps}
        sides.append(Side(document(vocab, merges=merges, pre_tokenizer=cut)))
    one, two = sides
    assert one.ids(text) != two.ids(text)
    assert found(one.model, two.model, "pre-tokenizer").outcome == "different"


def test_a_lookup_of_what_ends_at_a_cut_is_asked_for() -> None:
    """Only one side cuts before a full stop: there ``ab`` is a whole pretoken, and is found."""
    vocab = {char: n for n, char in enumerate(BYTE_TO_CHAR.values())} | {"ab": 300}
    sides = []
    for pattern in ("!", "[!.]"):
        steps = [at({"Regex": pattern}, "MergedWithNext", invert=False), BYTE_LEVEL]
        cut: Json = {"type": "Sequence", "pretokenizers": steps}
        sides.append(Side(document(vocab, pre_tokenizer=cut, ignore_merges=True)))
    one, two = sides
    assert one.ids("ab.") != two.ids("ab.") == [300, vocab["."]]
    assert found(one.model, two.model, "pre-tokenizer").outcome != "proved"


def test_a_cut_is_left_out_only_where_both_sides_merge_bytes_alone() -> None:
    """A byte of one side has no token, so its pretokens are more than their bytes."""
    every = {char: n for n, char in enumerate(BYTE_TO_CHAR.values())}
    sides = []
    for pattern, vocab in (
        ("!", every),
        ("[!.]", every),
        ("[!.]", {char: n for char, n in every.items() if char != "\u010a"}),
    ):
        steps = [at({"Regex": pattern}, "Isolated", invert=False), BYTE_LEVEL]
        cut: Json = {"type": "Sequence", "pretokenizers": steps}
        sides.append(Side(document(vocab, pre_tokenizer=cut)))
    one, two, less = (side.model for side in sides)
    assert found(one, two, "pre-tokenizer").outcome == "proved"
    assert found(one, less, "pre-tokenizer").outcome != "proved"


def test_very_many_doubtful_tokens_are_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where not all were looked at, nothing is proved, though those looked at stand aside."""
    places = DifferingCuts(
        (Split("!", "isolated"),), (Split(Pattern("[!.]", "oniguruma"), "isolated"),)
    )
    assert places.none_across([b"ab", b"!a"])
    assert not places.none_across([b"ab", b"b."])
    monkeypatch.setattr(cuts, "_MOST_TOKENS", -1)
    assert not places.none_across([b"ab", b"b."])


# Merging: characters, bytes, affixes.


def test_characters_are_not_bytes() -> None:
    vocab = {"a": 0, "b": 1, "\u00c3": 2, "\u00a9": 3, "\u00c3\u00a9": 4, "\u00e9": 5}
    merges = [["\u00c3", "\u00a9"]]
    one = Side(document(vocab, merges=merges))
    two = Side(document(vocab, merges=merges, pre_tokenizer=BYTE_LEVEL))
    assert one.ids("\u00e9") == [5]
    assert two.ids("\u00e9") == [4]
    assert found(one.model, two.model, "core").outcome == "different"
    # The same ids, but for what is merged.
    plain = {char: n for n, char in enumerate("ab")}
    one = Side(document(plain | {"ab": 2}, merges=["ab"]))
    two = Side(document(plain | {"ab": 2}, merges=["ab"], pre_tokenizer=BYTE_LEVEL))
    assert found(one.model, two.model, "core").outcome != "proved"


AFFIXED: Json = {"a": 0, "b": 1, "##a": 2, "##b": 3, "a</w>": 4, "b</w>": 5, "##a</w>": 6}
AFFIXED |= {"##b</w>": 7, "ab": 10, "##ab": 11, "ab</w>": 12, "a</w>b": 13}


@pytest.mark.parametrize(
    ("one", "two", "text", "settings"),
    [
        ([["a", "##b"]], [], "aba", {"end_of_word_suffix": "</w>"}),
        ([["##a", "##b"]], [], "aabb", {"end_of_word_suffix": "</w>"}),
        ([["a", "##b</w>"]], [], "ab", {"end_of_word_suffix": "</w>"}),
        ([["a", "##b"]], [], "ab", {}),
        ([["##a", "##b"]], [], "aab", {}),
    ],
)
def test_merges_by_their_places_are_compared(
    one: list[list[str]], two: list[list[str]], text: str, settings: Json
) -> None:
    usual: Json = {"continuing_subword_prefix": "##", **settings}
    left, right = (Side(document(AFFIXED, merges=each, **usual)) for each in (one, two))
    assert left.ids(text) != right.ids(text)
    said = found(left.model, right.model, "core")
    assert said.outcome == "different"
    assert said.witness is not None
    assert left.ids(said.witness) != right.ids(said.witness)


def test_merges_that_no_place_has_do_not_count() -> None:
    """The end of a pretoken is followed by nothing; a symbol that is missing is never merged."""
    usual: Json = {"continuing_subword_prefix": "##", "end_of_word_suffix": "</w>"}
    texts = ["".join(letters) for n in range(5) for letters in product("ab", repeat=n)]
    ended = Side(document(AFFIXED, merges=[["a</w>", "##b"]], **usual))
    none = Side(document(AFFIXED, **usual))
    assert all(ended.ids(text) == none.ids(text) for text in texts)
    assert found(ended.model, none.model, "core").outcome == "proved"


# UNUSED pieces, and pretokens that are cut inside a character.


def scored(*pieces: tuple[str, int]) -> tuple[BPEModel, sentencepiece.SentencePieceProcessor]:
    """Pieces by their kinds, the first merged first."""
    listed = [Piece(text, -float(place), kind) for place, (text, kind) in enumerate(pieces)]
    data = pieces_of([*HEAD, *listed], fallback=False, dummy=False)
    engine = sentencepiece.SentencePieceProcessor(model_proto=data)
    return by_name("sentencepiece").load({"tokenizer.model": data}), engine


def test_unused_pieces_must_be_split_alike() -> None:
    letters = [(char, NORMAL) for char in "abc"]
    one, first = scored(("ab", NORMAL), ("bc", NORMAL), ("abc", UNUSED), *letters)
    two, second = scored(("bc", NORMAL), ("ab", NORMAL), ("abc", UNUSED), *letters)
    assert first.encode("abc", out_type=str) == ["ab", "c"]
    assert second.encode("abc", out_type=str) == ["a", "bc"]
    assert found(one, two, "core").outcome != "proved"


@pytest.mark.parametrize(("unused", "text"), [("c", "c"), ("ab", "ab")])
def test_what_is_unused_on_one_side_only_is_not_equal(unused: str, text: str) -> None:
    sides = [
        scored(*((piece, kind if piece == unused else NORMAL) for piece in ("ab", "a", "b", "c")))
        for kind in (UNUSED, NORMAL)
    ]
    (one, first), (two, second) = sides
    assert first.encode(text) != second.encode(text)
    assert found(one, two, "core").outcome != "proved"


@pytest.mark.parametrize(
    ("cut_at", "missing"),
    [([], ""), ([at({"String": "\u00c3"}, "Isolated", invert=False)], ""), ([], "\u00c3")],
)
def test_bytes_inside_a_character_may_begin_a_pretoken(cut_at: list[Json], missing: str) -> None:
    """0xA9 merges with what is before it, but for what is cut off, or has no token and vanishes.

    So it does behind another one, in characters of four bytes such as U+40A69.
    """
    end = BYTE_TO_CHAR[0xA9]
    before = [BYTE_TO_CHAR[byte] for byte in (*range(0x80, 0xC0), *range(0xC2, 0xE0))]
    before = [char for char in before if char != missing]
    merges = [[char, end] for char in (*before, *(char + end for char in before))]
    known = [char for char in BYTE_TO_CHAR.values() if char != missing]
    tokens = [*known, *("".join(pair) for pair in merges), f"{end}b"]
    vocab = {token: n for n, token in enumerate(tokens)}
    steps: Json = {"type": "Sequence", "pretokenizers": [BYTE_LEVEL, *cut_at]}
    one, two = (
        Side(document(vocab, merges=each, pre_tokenizer=steps))
        for each in (merges, [*merges, [end, "b"]])
    )
    differ = any(one.ids(text) != two.ids(text) for text in ("\u00e9b", "\U00040a69b"))
    assert differ is bool(cut_at or missing)
    assert (found(one.model, two.model, "core").outcome == "proved") is not differ
