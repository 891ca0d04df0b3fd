"""Verdicts about decoding: what ids become counts, and not only the steps that decode them.

``BPE_INTEROP_DECODED=20000`` compares so many random pairs instead of the few of every run.
"""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import product
from random import Random

import pytest
import sentencepiece
from small_documents import WITHIN, Json, Side, added, document

from bpe_interop.compare import parity
from bpe_interop.encode import Encoder
from bpe_interop.formats import by_name
from bpe_interop.model import AddedToken, BPEModel, RankTable, SequenceTemplate, Vocab
from bpe_interop.proof.prove import prove
from bpe_interop.proof.stage import Scope, Stage
from bpe_interop.steps import (
    ByteTokens,
    DecoderStep,
    Fuse,
    JoinBytes,
    JoinPieces,
    Replace,
    StripToken,
)
from bpe_interop.tokenizer import Tokenizer
from fixtures.piece_model import (
    BYTE_PIECES,
    CONTROL_PIECES,
    TRAINER,
    UNKNOWN,
    USER_DEFINED,
    Piece,
    small_model,
    with_field,
)

PAIRS = int(os.environ.get("BPE_INTEROP_DECODED") or 300)
SEEDS = 3
UNK_SURFACE = 44
VOCAB = {char: number for number, char in enumerate("ab _\u2581")}
BYTE_LEVEL: Json = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
FUSE: Json = {"type": "Fuse"}
PREFIX: Json = {"continuing_subword_prefix": "##"}
SCOPES: tuple[Scope, ...] = ("all", "ordinary", "text")


def template(name: str, number: int) -> Json:
    """Places one id before every text."""
    token = {"SpecialToken": {"id": name, "type_id": 0}}
    text = {"Sequence": {"id": "A", "type_id": 0}}
    return {
        "type": "TemplateProcessing",
        "single": [token, text],
        "pair": [token, text, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {name: {"id": name, "ids": [number], "tokens": [name]}},
    }


def check(one: Side, other: Side, scope: Scope, text: str) -> None:
    """The ids of the text are the same and decode otherwise, and the verdict says so."""
    left, right = one.answer(text, scope), other.answer(text, scope)
    assert left is not None
    assert right is not None
    assert left[0] == right[0]
    assert left[1] != right[1]
    proof = prove(one.model, other.model, scope)
    assert (proof.outcome, proof.stage) == ("different", "decoding")
    witness = proof.witness or ""
    assert one.answer(witness, scope) != other.answer(witness, scope)


def decoding(one: BPEModel, other: BPEModel) -> Stage:
    [found] = [s for s in prove(one, other, "ordinary").stages if s.name == "decoding"]
    return found


# Equal steps, and ids that mean something else.


@pytest.mark.parametrize("scope", SCOPES)
def test_the_name_of_the_unknown_token_counts(scope: Scope) -> None:
    one = Side(document(VOCAB | {"<unk>": 5}, unk_token="<unk>"))
    other = Side(document(VOCAB | {"[UNK]": 5}, unk_token="[UNK]"))
    check(one, other, scope, "az")


def test_the_name_of_an_unknown_token_that_no_text_gives_does_not_count() -> None:
    spelled = {f"<0x{byte:02X}>": 10 + byte for byte in range(256)}
    vocab = VOCAB | spelled
    one = Side(document(vocab | {"<unk>": 5}, unk_token="<unk>", byte_fallback=True))
    other = Side(document(vocab | {"[UNK]": 5}, unk_token="[UNK]", byte_fallback=True))
    assert prove(one.model, other.model).outcome == "proved"
    assert one.answer("az\u00e9") == other.answer("az\u00e9")


def test_an_unknown_token_is_decoded_as_it_is_normalized() -> None:
    """Where no special token is looked for, one of two flags still shows in what is decoded."""
    prepend: Json = {"type": "Prepend", "prepend": "\u2581"}
    decoder: Json = {
        "type": "Replace",
        "pattern": {"String": "<unk>"},
        "content": " ?? ",
    }
    sides = [
        Side(
            document(
                VOCAB | {"<unk>": 5},
                unk_token="<unk>",
                added_tokens=[added("<unk>", flags)],
                normalizer=prepend,
                decoder={"type": "Sequence", "decoders": [decoder, {"type": "Fuse"}]},
            )
        )
        for flags in ("s", "sn")
    ]
    check(sides[0], sides[1], "ordinary", "az")


def test_a_token_of_the_template_counts_where_the_template_does() -> None:
    """No text spells the token that is placed around it."""
    one = Side(document(VOCAB | {"one": 5}, post_processor=template("T", 5)))
    other = Side(document(VOCAB | {"two": 5}, post_processor=template("T", 5)))
    check(one, other, "all", "a")
    assert prove(one.model, other.model, "ordinary").outcome == "proved"
    assert one.answer("a", "ordinary") == other.answer("a", "ordinary")


def test_a_special_token_numbered_onto_another_one_is_what_that_one_decodes_to() -> None:
    """tokenizers numbers what the vocabulary lacks by its size, hole or not."""
    vocab = VOCAB | {"bb": 6}
    one = Side(document(vocab, merges=["bb"], added_tokens=[added("<s>", "s")]))
    other = Side(document(vocab | {"<s>": 5}, merges=["bb"], added_tokens=[added("<s>", "s")]))
    check(one, other, "ordinary", "bb")
    check(one, other, "text", "bb")


def test_names_of_tokens_that_no_text_gives_do_not_count() -> None:
    one, other = (Side(document(VOCAB | {name: 5})) for name in ("one", "two"))
    assert prove(one.model, other.model).outcome == "proved"


@pytest.mark.parametrize("affix", [{"end_of_word_suffix": "</w>"}, PREFIX])
def test_names_of_tokens_that_no_text_gives_do_not_count_beside_affixes(affix: Json) -> None:
    places = {spelled: 10 + n for n, spelled in enumerate(["a</w>", "b</w>", "##a", "##b"])}
    one, other = (Side(document(VOCAB | places | {name: 5}, **affix)) for name in ("one", "two"))
    assert prove(one.model, other.model).outcome == "proved"
    for text in ("ab", "one", "two", "a ", "zb"):
        assert one.answer(text) == other.answer(text)


def test_bytes_of_one_side_are_not_compared_with_texts_of_the_other() -> None:
    """Each id decodes alike in both; by which steps is all that a proof can say of these."""
    one, other = (Side(document({"a": 0, "b": 1}, decoder=d)) for d in (BYTE_LEVEL, FUSE))
    assert one.answer("ab") == other.answer("ab")
    for pair in ((one, other), (other, one)):
        assert decoding(*(side.model for side in pair)).why == "other steps; compared on texts"


def test_the_id_that_is_named_is_one_that_decodes_otherwise() -> None:
    """Behind one that is placed before the text and decodes alike."""
    one, two = (
        Side(document(VOCAB | {name: 5}, unk_token=name, post_processor=template("T", 0)))
        for name in ("<unk>", "[UNK]")
    )
    check(one, two, "all", "z")
    [said] = [s for s in prove(one.model, two.model).stages if s.name == "decoding"]
    assert said.why == 'the id 5 decodes to "<unk>" in the first, to "[UNK]" in the second'


def test_the_id_that_is_named_is_that_of_the_text() -> None:
    """Though another one is placed before it that decodes otherwise, too."""
    letters = {char: number for number, char in enumerate("abst<> ")} | {"<S>": 8, "<T>": 9}
    one, two = (
        Side(
            document(
                letters,
                added_tokens=[added("<S>", flags), added("<T>", flags)],
                normalizer={"type": "Lowercase"},
                post_processor=template("<T>", 9),
            )
        )
        for flags in ("s", "sn")
    )
    assert one.answer("<S>") == ([9, 8], "<T> <S>")
    assert two.answer("<S>") == ([9, 8], "<t> <s>")
    [said] = [s for s in prove(one.model, two.model).stages if s.name == "decoding"]
    assert said.witness == "<S>"
    assert said.why == 'the id 8 decodes to "<S>" in the first, to "<s>" in the second'


@pytest.mark.parametrize("spelled", ["in the vocabulary", "as a special token"])
def test_one_token_is_a_character_here_and_bytes_there(spelled: str) -> None:
    """ByteLevel takes the character U+00E9 for the byte E9, and joins the bytes of the other.

    The text that shows it holds nothing but that token, whatever else is spelled with it.
    """
    more: Json = {"decoder": BYTE_LEVEL}
    first: dict[str, int] = {"x": 2}
    if spelled == "in the vocabulary":
        first["x\u00e9"] = 9
    else:
        more["added_tokens"] = [added("x\u00e9", "s")]
    one = Side(document(first | {"\u00e9": 0}, **more))
    bytes_of = {"x": 2, "\u00c3": 1, "\u00a9": 3, "\u00c3\u00a9": 0}
    merges = [["\u00c3", "\u00a9"]]
    other = Side(document(bytes_of, merges=merges, pre_tokenizer=BYTE_LEVEL, **more))
    for text in ("\u00e9", "x\u00e9"):
        left, right = one.answer(text, "ordinary"), other.answer(text, "ordinary")
        assert left is not None
        assert right is not None
        assert left[0] == right[0]
        assert left[1] != right[1]
    for pair in ((one, other), (other, one)):
        stage = decoding(*(side.model for side in pair))
        assert (stage.outcome, stage.witness) == ("different", "\u00e9")


# SentencePiece's decoding, and chains of steps that do the same.


def ranked(listed: list[AddedToken]) -> BPEModel:
    ranks = {bytes([byte]): byte for byte in range(256)}
    return BPEModel(
        vocab=Vocab(ranks),
        merges=RankTable(ranks),
        pretokenizer=(),
        normalizer=(),
        added=tuple(listed),
        sequence_template=SequenceTemplate(),
        decoder=(JoinBytes(),),
    )


BY_CHANCE = [AddedToken("<a>", 300), AddedToken("<b>", 300)]


def test_ids_that_tiktoken_decodes_by_chance_are_compared() -> None:
    """The same special tokens in another order: whether tiktoken decodes 300 alike is open."""
    one, again, other = map(ranked, (BY_CHANCE, BY_CHANCE, BY_CHANCE[::-1]))
    assert prove(one, again, "all").outcome == "proved"
    assert prove(one, other, "ordinary").outcome == "proved"
    [stage] = [s for s in prove(one, other, "all").stages if s.name == "decoding"]
    assert stage.outcome == "unknown"


def test_what_one_side_decodes_by_chance_shows_no_difference() -> None:
    """It may be what the other side gives."""
    chance, sure = ranked(BY_CHANCE), ranked(BY_CHANCE[:1])
    for pair, words in (
        ((chance, sure), 'to nothing in the first, to "<a>" in the second'),
        ((sure, chance), 'to "<a>" in the first, to nothing in the second'),
    ):
        [stage] = [s for s in prove(*pair, "all").stages if s.name == "decoding"]
        assert stage.outcome == "unknown"
        assert stage.why.startswith(f"the id 300 decodes {words}")


def pieces_of(listed: list[Piece], *, fallback: bool, dummy: bool = True) -> bytes:
    return small_model(listed, fallback=fallback, prefix=dummy, remove_extra=False, escape=True)


HEAD = [Piece("<unk>", 0.0, UNKNOWN), *CONTROL_PIECES]
LETTERS = [Piece(char, -float(place)) for place, char in enumerate("\u2581ab<unk>")]
BYTES = [*BYTE_PIECES]


def both(data: bytes) -> tuple[BPEModel, BPEModel]:
    """A ``.model``, and what is written of it as a ``tokenizer.json``."""
    pieces = by_name("sentencepiece").load({"tokenizer.model": data})
    return pieces, by_name("huggingface").load(by_name("huggingface").dump(pieces))


def stage_of(one: BPEModel, other: BPEModel) -> str:
    return decoding(one, other).outcome


STEPS: tuple[DecoderStep, ...] = (Replace("\u2581", " "), ByteTokens(), Fuse())
SPACE = StripToken(" ", 1, 0)


@pytest.mark.parametrize("dummy", [True, False])
def test_written_chains_decode_as_sentencepiece_does(dummy: bool) -> None:
    """Theorem 20 in ``docs/theory.md``."""
    for fallback in (True, False):
        pieces, other = both(
            pieces_of(
                [*HEAD, *LETTERS, *(BYTES if fallback else [])], fallback=fallback, dummy=dummy
            )
        )
        assert stage_of(pieces, other) == stage_of(other, pieces) == "proved"


@pytest.mark.parametrize(
    "steps",
    [
        STEPS,  # the dummy prefix stays
        (*STEPS, StripToken(" ", 2, 0)),
        (*STEPS, StripToken(" ", 1, 1)),
        (*STEPS, StripToken("a", 1, 0)),
        (*STEPS[1:], SPACE),  # U+2581 stays
        (Replace("\u2581", "_"), *STEPS[1:], SPACE),
        (*STEPS[:2], SPACE, Fuse()),  # of each token
        (STEPS[0], Fuse(), SPACE),  # byte tokens stay
        (STEPS[0], Fuse(), ByteTokens(), SPACE),
        (STEPS[0], Replace("a", "b"), *STEPS[1:], SPACE),
        (*STEPS, Replace("ab", "b"), SPACE),  # across tokens
    ],
)
def test_each_step_of_a_chain_is_compared(steps: tuple[DecoderStep, ...]) -> None:
    """Each chain breaks one condition of Theorem 20, and sentencepiece decodes otherwise."""
    data = pieces_of([*HEAD, *LETTERS, *BYTES], fallback=True)
    pieces, other = both(data)
    assert stage_of(pieces, replace(other, decoder=(*STEPS, SPACE))) == "proved"
    assert stage_of(pieces, replace(other, decoder=steps)) != "proved"


def test_what_replaces_the_unknown_token_must_not_be_joined_before() -> None:
    data = pieces_of([*HEAD, *LETTERS], fallback=False)
    engine = sentencepiece.SentencePieceProcessor(model_proto=data)
    pieces, other = both(data)
    surface = Replace("<unk>", " \u2047 ")
    before = replace(other, decoder=(STEPS[0], surface, Fuse(), SPACE))
    after = replace(other, decoder=(STEPS[0], Fuse(), surface, SPACE))
    assert stage_of(pieces, before) == "proved"
    assert engine.decode(engine.encode("<unk>")) == "<unk>"
    assert stage_of(pieces, after) != "proved"
    assert engine.decode(engine.encode("az")) == "a \u2047 "
    for steps in ((Replace("<unk>", "?"), Fuse(), SPACE), (Fuse(), SPACE)):
        spelled = replace(other, decoder=(STEPS[0], *steps))
        assert Encoder(spelled).decode(engine.encode("az")) != "a \u2047 "
        assert stage_of(pieces, spelled) != "proved"


@pytest.mark.long
@pytest.mark.parametrize("fallback", [False, True])
def test_what_the_unknown_piece_becomes_counts_where_a_text_gives_it(fallback: bool) -> None:
    """Theorem 20. With byte fallback only the special token's own text gives the unknown id.

    sentencepiece finds none in a text, so it is asked what it decodes the ids to.
    """
    listed = [*HEAD, *LETTERS, *(BYTES if fallback else [])]
    one = pieces_of(listed, fallback=fallback)
    other = with_field(one, TRAINER, UNK_SURFACE, b"?")
    engines = [sentencepiece.SentencePieceProcessor(model_proto=data) for data in (one, other)]
    a, b = sides = [
        by_name("sentencepiece").load({"tokenizer.model": data}) for data in (one, other)
    ]
    proof = prove(a, b, "all")
    assert (proof.outcome, proof.stage) == ("different", "decoding")
    [text] = [stage.witness for stage in proof.stages if stage.name == "decoding"]
    assert text is not None
    ids = Encoder(sides[0]).encode(text, {"<unk>"})
    assert 0 in ids
    assert engines[0].decode(ids) != engines[1].decode(ids)
    assert [Encoder(side).decode(ids) for side in sides] == [e.decode(ids) for e in engines]
    assert parity(Tokenizer(a), Tokenizer(b), proof=False).verdict == "different"
    assert prove(a, b, "ordinary").outcome == ("proved" if fallback else "different")
    missing = engines[0].encode("z")
    assert (0 in missing) is not fallback
    assert (engines[0].decode(missing) == engines[1].decode(missing)) is fallback


def test_a_piece_is_named_with_its_kind() -> None:
    one, other = (
        both(pieces_of([Piece(name, 0.0, UNKNOWN), *HEAD[1:], *LETTERS], fallback=False))[0]
        for name in ("<unk>", "[U]")
    )
    why = 'the id 0 decodes to "<unk>" (unknown) in the first, to "[U]" (unknown) in the second'
    assert decoding(one, other).why.startswith(why)
    assert decoding(one, one).outcome == "proved"


def test_what_is_as_long_as_a_byte_token_is_decoded_as_it_is_spelled() -> None:
    """sentencepiece has byte pieces for all bytes; ``<0xab>`` is none of them to it."""
    for text, outcome in (("ababab", "proved"), ("<0xzz>", "proved"), ("<0xab>", "different")):
        data = pieces_of([*HEAD, *LETTERS, Piece(text, 0.0, USER_DEFINED), *BYTES], fallback=True)
        engine = sentencepiece.SentencePieceProcessor(model_proto=data)
        pieces, other = both(data)
        chain = replace(other, decoder=(*STEPS, SPACE))
        numbers = engine.encode(f"b{text}")
        assert engine.decode(numbers) == f"b{text}"
        assert (Encoder(chain).decode(numbers) == f"b{text}") is (outcome == "proved")
        assert stage_of(pieces, chain) == stage_of(chain, pieces) == outcome
        # What is replaced besides is in none of the tokens.
        more = replace(other, decoder=(STEPS[0], Replace("xyz", "x"), *STEPS[1:], SPACE))
        assert stage_of(pieces, more) == outcome


def test_what_is_spelled_like_a_byte_token_must_not_be_read_as_one() -> None:
    listed = [*HEAD, *LETTERS, Piece("<0x61>", 0.0, USER_DEFINED)]
    data = pieces_of(listed, fallback=False, dummy=False)
    engine = sentencepiece.SentencePieceProcessor(model_proto=data)
    pieces, other = both(data)
    surface = Replace("<unk>", " \u2047 ")
    assert stage_of(pieces, replace(other, decoder=(STEPS[0], surface, Fuse()))) == "proved"
    assert engine.decode(engine.encode("b<0x61>")) == "b<0x61>"
    read = (STEPS[0], surface, ByteTokens(), Fuse())
    assert stage_of(pieces, replace(other, decoder=read)) != "proved"


def test_the_first_token_must_begin_with_the_dummy_prefix() -> None:
    """Without a token for it, the text begins with the unknown token and the space of that."""
    data = pieces_of([*HEAD, *LETTERS[1:]], fallback=False)
    engine = sentencepiece.SentencePieceProcessor(model_proto=data)
    pieces, other = both(data)
    assert engine.decode(engine.encode("a")) == " \u2047 a"
    steps = (STEPS[0], Replace("<unk>", " \u2047 "), Fuse(), SPACE)
    assert stage_of(pieces, replace(other, decoder=steps)) != "proved"


def test_what_else_happens_to_decoded_pieces_is_compared() -> None:
    pieces, other = both(pieces_of([*HEAD, *LETTERS, *BYTES], fallback=True))
    [step] = pieces.decoder or ()
    assert isinstance(step, JoinPieces)
    assert stage_of(pieces, other) == "proved"
    for odd in (
        replace(step, collapse=True),
        replace(step, dummy="suffix"),
        replace(step, dummy="none"),
        replace(step, charsmap=b"map"),
    ):
        decoded_so = replace(pieces, decoder=(odd,))
        assert stage_of(decoded_so, other) != "proved"
        assert stage_of(decoded_so, decoded_so) == "proved"
        assert stage_of(decoded_so, pieces) != "proved"
    cut_out = AddedToken(" x", 900, special=False)
    early, late = (replace(m, added=(*(m.added or ()), cut_out)) for m in (pieces, other))
    assert Encoder(early).decode([900]) != Encoder(late).decode([900])
    assert stage_of(early, late) != "proved"


# Random pairs.


def random_decoder(rng: Random) -> Json | None:
    steps: list[Json] = [
        {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
        {"type": "Replace", "pattern": {"String": "<unk>"}, "content": "?"},
        {"type": "Fuse"},
        {"type": "ByteFallback"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0},
        {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": False},
    ]
    chosen = [step for step in steps if rng.random() < 0.4]
    return {"type": "Sequence", "decoders": chosen} if rng.random() < 0.8 else None


def random_document(rng: Random) -> Json:
    """Names that texts give by one way only: as unknown, template, added, or by merging."""
    names = ["<unk>", "[U]", "<0x61>", "ab", "ba", "<s>", "T"]
    vocab = dict(VOCAB)
    for name in rng.sample(names, rng.randint(1, 5)):
        vocab[name] = len(vocab)
    if rng.random() < 0.3:
        vocab["hole"] = len(vocab) + rng.randint(0, 2)
    merges = [name for name in ("ab", "ba") if name in vocab and rng.random() < 0.7]
    unknown = rng.choice([None, *(name for name in ("<unk>", "[U]") if name in vocab)])
    flags = ["", "s", "n", "sn"]
    tokens = [added(name, rng.choice(flags)) for name in names if rng.random() < 0.3]
    placed = template("T", rng.choice([*vocab.values()])) if rng.random() < 0.4 else None
    prepend: Json = {"type": "Prepend", "prepend": rng.choice("_\u2581")}
    return document(
        vocab,
        merges=merges,
        added_tokens=tokens,
        normalizer=prepend if rng.random() < 0.4 else None,
        post_processor=placed,
        decoder=random_decoder(rng),
        unk_token=unknown,
    )


def renamed(rng: Random, stated: Json) -> Json:
    """The document with a token renamed, a flag turned, or another decoder."""
    made: Json = {**stated, "model": dict(stated["model"])}
    chance = rng.random()
    if chance < 0.6:
        vocab = dict(made["model"]["vocab"])
        old = rng.choice([name for name in vocab if name not in VOCAB])
        new = rng.choice(["<x>", "[U]", "<0x61>", "bb"])
        if new not in vocab and old not in ("ab", "ba"):
            vocab = {new if name == old else name: number for name, number in vocab.items()}
            if made["model"]["unk_token"] == old:
                made["model"]["unk_token"] = new
            made["model"]["vocab"] = vocab
    elif chance < 0.8 and made["added_tokens"]:
        tokens = [dict(token) for token in made["added_tokens"]]
        flag = rng.choice(["normalized", "special"])
        token = rng.choice(tokens)
        token[flag] = not token[flag]
        made["added_tokens"] = tokens
    else:
        made["decoder"] = random_decoder(rng)
    return made


@pytest.mark.long
@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_verdict_about_decoding_is_that_of_the_engine(seed: int) -> None:
    rng = Random(seed)
    parts = ["a", "b", "ab", "z", " ", "<unk>", "<s>", "<0x61>", "T", "[U]", "bb"]
    tried = ["", *parts, *("".join(rng.choices(parts, k=3)) for _ in range(80))]
    verdicts: dict[str, int] = {"proved": 0, "different": 0, "unknown": 0}
    for _ in range(PAIRS // SEEDS):
        stated = random_document(rng)
        one, other = Side(stated), Side(renamed(rng, stated))
        for scope in SCOPES[:2]:
            proof = prove(one.model, other.model, scope)
            verdicts[proof.outcome] += 1
            if proof.outcome == "proved":
                for text, way in product(tried, WITHIN[scope]):
                    assert one.answer(text, way) == other.answer(text, way), text
            elif proof.outcome == "different":
                text = proof.witness or ""
                assert any(one.answer(text, w) != other.answer(text, w) for w in WITHIN[scope])
    assert verdicts["proved"]
    assert verdicts["different"]
