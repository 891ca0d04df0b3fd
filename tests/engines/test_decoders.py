"""Decoders against tokenizers' own, alone and in chains, and pieces against SentencePiece."""

from __future__ import annotations

from itertools import product
from typing import Any, Literal

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st
from sentencepiece import SentencePieceNormalizer, SentencePieceProcessor
from tokenizers import Regex, Tokenizer, decoders, models

from bpe_interop.errors import DecodeError, InvalidModelError
from bpe_interop.steps import (
    ByteTokens,
    DecoderStep,
    Fuse,
    JoinBytes,
    JoinPieces,
    JoinTokens,
    MetaspaceText,
    Pattern,
    Replace,
    StripToken,
    WordEnds,
    WordPieces,
)
from bpe_interop.text.decoders import PieceKind, decode_pieces, decode_tokens
from fixtures.piece_model import (
    BYTE,
    CHARSMAP,
    CONTROL,
    DENORMALIZER,
    DUMMY_PREFIX,
    ESCAPE,
    NORMAL,
    NORMALIZER,
    PIECES,
    REMOVE_EXTRA,
    TRAINER,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    field_of,
    write,
)

sentencepiece.set_min_log_level(2)

ONE_STEP: list[tuple[DecoderStep, decoders.Decoder]] = [
    (Replace("▁", " "), decoders.Replace("▁", " ")),
    (Replace("", "-"), decoders.Replace("", "-")),
    (Replace(Pattern(r"\s+|a*", "oniguruma"), "-"), decoders.Replace(Regex(r"\s+|a*"), "-")),
    (ByteTokens(), decoders.ByteFallback()),
    (Fuse(), decoders.Fuse()),
    (StripToken(" ", 1, 0), decoders.Strip(" ", 1, 0)),
    (StripToken("▁", 2, 0), decoders.Strip("▁", 2, 0)),
    (MetaspaceText("▁", "always"), decoders.Metaspace("▁", "always")),
    (MetaspaceText("▁", "first"), decoders.Metaspace("▁", "first")),
    (MetaspaceText("_", "never"), decoders.Metaspace("_", "never")),
    (WordEnds("</w>"), decoders.BPEDecoder("</w>")),
    (WordEnds(""), decoders.BPEDecoder("")),
    (WordPieces("##", True), decoders.WordPiece("##", True)),
    (WordPieces("a", False), decoders.WordPiece("a", False)),
    (WordPieces("", True), decoders.WordPiece("", True)),
    (JoinBytes(mapped_added=True), decoders.ByteLevel()),
]

PARTS = [
    *(
        "▁",
        "▁▁",
        "▁a",
        "a",
        "ab</w>",
        "</w>",
        "##b",
        "Ġa",
        "Ã",
        "©",
        "_",
        " ",
        "  ",
        " a ",
        "",
        "é",
    ),
    *("<0x41>", "<0xE4>", "<0xBD>", "<0xa0>", "<0xf0>", "<0x9F>", "<0x98>", "<0x80>", "<0xFF>"),
    *("<0x+a>", "<0x-1>", "<0x1>", "<0xg0>", "<0xé>", "<0x 1>", "<0x٣>", "a<0x41>", "<0X41>"),
    *(".", "?", "!", ",", "'", "n't", "'m", "do not", " do not", "'s", "'ve", "'re", "don ' t"),
]
tokens = st.lists(
    st.one_of(
        st.sampled_from(PARTS), st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
    ),
    max_size=8,
)


@pytest.mark.long
@pytest.mark.parametrize(("step", "engine"), ONE_STEP, ids=[repr(step) for step, _ in ONE_STEP])
@given(tokens=tokens)
def test_each_step(step: DecoderStep, engine: decoders.Decoder, tokens: list[str]) -> None:
    assert decode_tokens((step,), tokens) == engine.decode(tokens)


@given(st.lists(st.sampled_from(ONE_STEP), min_size=1, max_size=5), tokens)
def test_any_chain(chosen: list[tuple[DecoderStep, decoders.Decoder]], tokens: list[str]) -> None:
    engine = decoders.Sequence([engine for _, engine in chosen])
    assert decode_tokens([step for step, _ in chosen], tokens) == engine.decode(tokens)


@given(tokens)
def test_the_chain_of_llama(tokens: list[str]) -> None:
    engine = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    steps = (Replace("▁", " "), ByteTokens(), Fuse(), StripToken(" ", 1, 0))
    assert decode_tokens(steps, tokens) == engine.decode(tokens)


def test_without_a_decoder_spaces_join() -> None:
    tokenizer = Tokenizer(models.BPE(vocab={"a": 0, "▁b": 1}, merges=[]))
    assert tokenizer.decode([0, 1, 0]) == "a ▁b a"
    for steps in ((), (JoinTokens(),)):
        assert decode_tokens(steps, ["a", "▁b", "a"]) == "a ▁b a"


def decoded(engine: decoders.Strip, tokens: list[str]) -> str | None:
    """What an engine gives; None where it panics, which can be told by the name only."""
    try:
        return engine.decode(tokens)
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        return None


@pytest.mark.parametrize("token", ["", " ", "  ", "a", "a ", " a", " a  ", "   ", "é▁"])
@pytest.mark.parametrize(("start", "stop"), [(0, 1), (1, 1), (2, 0), (0, 2), (2, 3)])
def test_strip_fails_where_the_engine_does(token: str, start: int, stop: int) -> None:
    step, engine = StripToken(" ", start, stop), decoders.Strip(" ", start, stop)
    expected = decoded(engine, [token])
    if expected is None:
        with pytest.raises(DecodeError, match="Strip decoder fails"):
            decode_tokens((step,), [token])
    else:
        assert decode_tokens((step,), [token]) == expected


def test_pieces_are_not_tokens() -> None:
    with pytest.raises(ValueError, match="JoinPieces"):
        decode_tokens((JoinPieces("?", "prefix", True),), ["a"])


KINDS: dict[int, PieceKind] = {
    NORMAL: "piece",
    USER_DEFINED: "piece",
    UNUSED: "piece",
    UNKNOWN: "unknown",
    CONTROL: "control",
    BYTE: "byte",
}
VOCABULARY = [
    ("<unk>", UNKNOWN),
    ("<s>", CONTROL),
    ("▁", NORMAL),
    ("▁▁", NORMAL),
    ("▁a", NORMAL),
    ("a", NORMAL),
    ("a▁b", USER_DEFINED),
    (" ", USER_DEFINED),
    ("▁u", UNUSED),
    ("Ａ", NORMAL),
    *((f"<0x{byte:02X}>", BYTE) for byte in range(256)),
]
PLAIN = len(VOCABULARY) - 256
BYTES = [PLAIN + byte for byte in b"A \0\xe4\xbd\xa0\xf0\x9f\x98\x80\xed\xb0\xc3\xff\xe2\x96\x81"]
ids = st.lists(
    st.one_of(
        st.integers(0, PLAIN - 1),
        st.sampled_from(BYTES),
        st.integers(0, len(VOCABULARY) - 1),
    ),
    max_size=12,
)


def processor(
    *, prefix: bool, collapse: bool, suffix: bool, unknown: str | None, charsmap: bytes
) -> SentencePieceProcessor:
    surface = [] if unknown is None else [(44, unknown.encode())]
    flags: list[Any] = [(DUMMY_PREFIX, int(prefix)), (REMOVE_EXTRA, int(collapse)), (ESCAPE, 1)]
    none = [(DUMMY_PREFIX, 0), (REMOVE_EXTRA, 0), (ESCAPE, 0)]
    fields = [
        *((PIECES, write([(1, text.encode()), (2, 0.0), (3, kind)])) for text, kind in VOCABULARY),
        (TRAINER, write([(3, 2), (24, int(suffix)), (35, 1), *surface])),
        (NORMALIZER, write(flags)),
        *([(DENORMALIZER, write([(CHARSMAP, charsmap), *none]))] if charsmap else []),
    ]
    return SentencePieceProcessor(model_proto=write(fields))


@pytest.mark.long
@pytest.mark.parametrize("denormalizes", [False, True])
@pytest.mark.parametrize("unknown", [None, "", " ▁？"])
def test_pieces(unknown: str | None, denormalizes: bool) -> None:
    charsmap = b""
    if denormalizes:
        engine = SentencePieceNormalizer(rule_name="nfkc_cf")
        found = field_of(engine.serialized_model_proto(), NORMALIZER, CHARSMAP)
        assert isinstance(found, bytes)
        charsmap = found
    pairs = []
    for prefix, collapse, suffix in product([False, True], repeat=3):
        dummy: Literal["prefix", "suffix"] = "suffix" if suffix else "prefix"
        surface = " \u2047 " if unknown is None else unknown
        pairs.append(
            (
                processor(
                    prefix=prefix,
                    collapse=collapse,
                    suffix=suffix,
                    unknown=unknown,
                    charsmap=charsmap,
                ),
                JoinPieces(surface, dummy if prefix else "none", collapse, charsmap),
            )
        )

    @given(ids)
    def same(ids: list[int]) -> None:
        pieces = [(VOCABULARY[i][0], KINDS[VOCABULARY[i][1]]) for i in ids]
        for engine, step in pairs:
            assert decode_pieces(step, pieces) == engine.decode(ids), step

    same()


def test_a_damaged_denormalizer_is_refused() -> None:
    with pytest.raises(InvalidModelError, match="character map is damaged"):
        decode_pieces(JoinPieces("?", "none", False, b"abc"), [("a", "piece")])
