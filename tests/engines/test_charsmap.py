"""SentencePiece's normalizer against SentencePiece: every rule, every code point, all its flags."""

from __future__ import annotations

import struct
from functools import cache
from itertools import product
from typing import Any, Literal

import pytest
import sentencepiece
from hypothesis import assume, given
from hypothesis import strategies as st
from sentencepiece import SentencePieceNormalizer, SentencePieceProcessor
from tokenizers import normalizers

from bpe_interop.errors import InvalidModelError
from bpe_interop.steps import Precompiled, SentencePieceText
from bpe_interop.text.charsmap import (
    align_pieces,
    findable,
    is_identity,
    normalize_pieces,
    rules,
)
from bpe_interop.text.normalize import align, normalize
from fixtures.code_points import SCALARS
from fixtures.piece_model import (
    CHARSMAP,
    CONTROL,
    DUMMY_PREFIX,
    ESCAPE,
    NORMALIZER,
    PIECES,
    REMOVE_EXTRA,
    TRAINER,
    UNKNOWN,
    USER_DEFINED,
    field_of,
    write,
)

sentencepiece.set_min_log_level(2)

NAMES = ["nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf"]
AWKWARD = (
    "   aaAé\u2581\u3000\xa0\u200b\ufeff\u0301\u0327\u0345\u1100\u1161\u11a8가Ａ１ｶﾞﬁſİß½\ufdfa"
    "\x00\x01\x7f\x8f\t\n\r\u2028\ufffd"
)
texts = st.text(st.one_of(st.sampled_from(AWKWARD), st.characters(exclude_categories=["Cs"])))

FLAGS: list[dict[str, Any]] = [
    dict(zip(("prefix", "collapse", "escape", "suffix"), flags, strict=True))
    for flags in product([False, True], repeat=4)
]


@cache
def charsmap(name: str) -> bytes:
    """A map that comes with SentencePiece."""
    return compiled(SentencePieceNormalizer(rule_name=name))


def compiled(engine: SentencePieceNormalizer) -> bytes:
    value = field_of(engine.serialized_model_proto(), NORMALIZER, CHARSMAP)
    assert isinstance(value, bytes)
    return value


def model(
    charsmap: bytes,
    *,
    prefix: bool = False,
    collapse: bool = False,
    escape: bool = False,
    suffix: bool = False,
    kept: tuple[str, ...] = (),
) -> SentencePieceProcessor:
    pieces = [("<unk>", UNKNOWN), ("<s>", CONTROL), *((text, USER_DEFINED) for text in kept)]
    fields = [
        *((PIECES, write([(1, text.encode()), (2, 0.0), (3, kind)])) for text, kind in pieces),
        (TRAINER, write([(3, 2), (24, int(suffix))])),
        (
            NORMALIZER,
            write(
                [
                    (CHARSMAP, charsmap),
                    (DUMMY_PREFIX, int(prefix)),
                    (REMOVE_EXTRA, int(collapse)),
                    (ESCAPE, int(escape)),
                ]
            ),
        ),
    ]
    return SentencePieceProcessor(model_proto=write(fields))


def step_of(
    charsmap: bytes,
    *,
    prefix: bool = False,
    collapse: bool = False,
    escape: bool = False,
    suffix: bool = False,
    kept: tuple[str, ...] = (),
) -> SentencePieceText:
    dummy: Literal["prefix", "suffix"] = "suffix" if suffix else "prefix"
    return SentencePieceText(charsmap, collapse, dummy if prefix else "none", escape, kept)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_every_rule(name: str) -> None:
    assert rules(charsmap(name)) == dict(SentencePieceNormalizer(rule_name=name).decompile())


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "context"),
    [
        *((name, "{}\u0301|") for name in NAMES),
        ("nmt_nfkc_cf", " {} "),
        ("nmt_nfkc_cf", "a{}b"),
        ("nmt_nfkc_cf", "\u1112{}\u11ab"),
    ],
)
def test_every_code_point(name: str, context: str) -> None:
    blob = charsmap(name)
    engine, step = model(blob, collapse=True), step_of(blob, collapse=True)
    for start in range(0, len(SCALARS), 4096):
        text = "".join(context.format(c) for c in SCALARS[start : start + 4096])
        assert normalize_pieces(step, text) == engine.normalize(text), f"from U+{start:04X}"


@pytest.mark.long
@pytest.mark.parametrize("escape", [False, True])
def test_every_code_point_alone(escape: bool) -> None:
    blob = charsmap("nmt_nfkc")
    flags: dict[str, Any] = {"prefix": True, "collapse": True, "escape": escape}
    engine, step = model(blob, **flags).normalize, step_of(blob, **flags)
    wrong = [c for c in SCALARS[:0x30000] if normalize_pieces(step, c) != engine(c)]
    assert not wrong, [f"U+{ord(c):04X}" for c in wrong[:10]]


KEPT = [(), (" a", "a", "\u2581", "\u2581\u2581"), ("a\u0301", "Ａ", "  ", " \u2581")]


@pytest.mark.long
@pytest.mark.parametrize("name", ["", *NAMES])
@pytest.mark.parametrize("kept", KEPT, ids=len)
def test_any_text(name: str, kept: tuple[str, ...]) -> None:
    blob = charsmap(name) if name else b""
    pairs = [
        (model(blob, **flags, kept=kept), step_of(blob, **flags, kept=kept)) for flags in FLAGS
    ]

    @given(texts)
    def same(text: str) -> None:
        for engine, step in pairs:
            assert normalize_pieces(step, text) == engine.normalize(text), step

    same()


letters = st.text("ab \u2581é", max_size=3)
small_maps = st.dictionaries(letters.filter(bool), letters, min_size=1, max_size=8)


@given(
    small_maps,
    st.lists(letters.filter(bool), max_size=3, unique=True),
    st.sampled_from(FLAGS),
    st.lists(st.text("ab \u2581é", max_size=9), min_size=3, max_size=9),
)
def test_any_rules(
    mapping: dict[str, str], kept: list[str], flags: dict[str, Any], texts: list[str]
) -> None:
    """Rules that put in spaces, take them away, overlap each other and what is kept."""
    mapping = {key: text for key, text in mapping.items() if key != text}
    assume(mapping)
    blob = small(mapping)
    assert rules(blob) == mapping
    assert not is_identity(blob)
    engine, step = model(blob, **flags, kept=tuple(kept)), step_of(blob, **flags, kept=tuple(kept))
    for text in texts:
        assert normalize_pieces(step, text) == engine.normalize(text), ascii(text)


def small(mapping: dict[str, str]) -> bytes:
    return compiled(SentencePieceNormalizer(norm_map=list(mapping.items())))


def test_identity() -> None:
    assert is_identity(b"")
    assert not is_identity(charsmap("nfkc"))
    # SentencePiece compiles no such map, but reads it.
    blob = (
        small({"ab": "xy", "é": "è"}).replace(b"xy\0", b"ab\0").replace("è".encode(), "é".encode())
    )
    assert rules(blob) == {"ab": "ab", "é": "é"}
    assert is_identity(blob)
    assert model(blob).normalize("xabé") == "xabé"


@pytest.mark.parametrize("count", [63, 64, 65, 70])
def test_only_so_many_kept_texts_begin_one_another(count: int) -> None:
    kept = tuple("b" * length for length in range(1, count + 1))
    assert len(findable(kept)) == min(count, 64)
    blob = small({"b" * 65: "x", "b": "c"})
    engine, step = model(blob, kept=kept), step_of(blob, kept=kept)
    for text in ("b" * 64, "b" * 65, "b" * 70):
        assert normalize_pieces(step, text) == engine.normalize(text)


@pytest.mark.long
@pytest.mark.parametrize("name", ["", "nmt_nfkc"])
@pytest.mark.parametrize("flags", FLAGS, ids=str)
@given(text=texts)
def test_alignment(name: str, flags: dict[str, Any], text: str) -> None:
    step = step_of(charsmap(name) if name else b"", **flags, kept=("a\u0301",))
    changed, spans = align_pieces(step, text)
    assert changed == normalize_pieces(step, text)
    assert len(spans) == len(changed)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert spans == sorted(spans)


@pytest.mark.parametrize("collapse", [False, True])
@given(text=texts)
def test_alignment_begins_where_the_engines_does(collapse: bool, text: str) -> None:
    blob = charsmap("nmt_nfkc")
    changed, spans = align_pieces(step_of(blob, collapse=collapse), text)
    engine = SentencePieceNormalizer(
        rule_name="nmt_nfkc",
        add_dummy_prefix=False,
        remove_extra_whitespaces=collapse,
        escape_whitespaces=False,
    )
    expected, places = engine.normalize(text, with_offsets=True)
    assert changed == expected
    assert [start for start, _ in spans] == list(places[: len(changed)])


@pytest.mark.parametrize(
    ("flags", "text", "expected"),
    [
        ({"prefix": True, "escape": True}, "ab", [("▁", "a"), ("a", "a"), ("b", "b")]),
        ({"prefix": True, "suffix": True}, "ab", [("a", "a"), ("b", "b"), (" ", "b")]),
        ({"collapse": True}, "  a  b ", [("a", "a"), (" ", " "), ("b", "b")]),
        ({"prefix": True, "collapse": True}, "  ", []),
        ({"collapse": True}, "ﬁe\u0301", [("f", "ﬁ"), ("i", "ﬁ"), ("é", "e\u0301")]),
        ({"prefix": True}, "\x01", [(" ", "\x01")]),
        ({"prefix": True, "collapse": True}, "\x01", []),
        ({"prefix": True, "collapse": True, "suffix": True}, "\x01", [(" ", "\x01")]),
    ],
)
def test_alignment_says_what_from_what(
    flags: dict[str, Any], text: str, expected: list[tuple[str, str]]
) -> None:
    changed, spans = align_pieces(step_of(charsmap("nmt_nfkc"), **flags), text)
    assert [(c, text[a:b]) for c, (a, b) in zip(changed, spans, strict=True)] == expected


@pytest.mark.parametrize("name", NAMES)
@given(text=texts)
def test_precompiled_is_what_tokenizers_makes_of_the_same_map(name: str, text: str) -> None:
    step = Precompiled(charsmap(name))
    expected = normalizers.Precompiled(charsmap(name)).normalize_str(text)
    assert normalize((step,), text) == expected
    changed, spans = align((step,), text)
    assert changed == expected
    assert len(spans) == len(changed)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert spans == sorted(spans)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("e\u0301x", [("é", "e\u0301"), ("x", "x")]),
        ("½x", [("1", "½"), ("\u2044", "½"), ("2", "½"), ("x", "x")]),
        ("\x01ab", [("a", "a"), ("b", "b")]),
        ("\x01", []),
        ("a\x01b", [("a", "a\x01"), ("b", "b")]),
        ("\n\tb", [(" ", "\n"), (" ", "\t"), ("b", "b")]),
        # A cluster of six bytes and more is not looked up as a whole.
        ("\u1112\u1161", [("\u1112", "\u1112"), ("\u1161", "\u1161")]),
    ],
)
def test_alignment_of_a_precompiled_map(text: str, expected: list[tuple[str, str]]) -> None:
    changed, spans = align((Precompiled(charsmap("nmt_nfkc")),), text)
    assert [(c, text[a:b]) for c, (a, b) in zip(changed, spans, strict=True)] == expected


@given(small_maps, st.text("ab \u2581é", max_size=9))
def test_a_precompiled_map_may_leave_nothing_of_a_line_end(
    mapping: dict[str, str], text: str
) -> None:
    mapping = {key: value for key, value in mapping.items() if key != value}
    step = Precompiled(small({**mapping, "\n": "", "\r": ""}))
    changed, spans = align((step,), text)
    assert changed == normalize((step,), text)
    assert len(spans) == len(changed)
    assert spans == sorted(spans)


def trie(*units: int) -> bytes:
    """A trie with its first units, as a map with the replacements ``x`` and one not UTF-8."""
    return struct.pack("<I256I", 1024, *units, *[0] * (256 - len(units))) + b"x\0\xff\0"


def unit(label: int = 0, *, children: int = 0, ends: bool = False) -> int:
    return label | ends << 8 | children << 10


def edge(label: str, value: int, *, ends: bool = True) -> bytes:
    """A map of one rule: unit 1's children begin at 128, so its edge is there."""
    code = ord(label)
    # As Darts does, what is not used has a label that leads to it from nowhere.
    units = [place ^ 255 for place in range(256)]
    units[0] = unit(children=128)
    units[128 ^ code] = unit(code, children=2, ends=ends)
    units[128 ^ code ^ 2] = value
    return trie(*units)


VALUE = 1 << 31


def test_the_hand_made_map_is_sound() -> None:
    blob = edge("a", VALUE)
    assert rules(blob) == {"a": "x"}
    assert model(blob).normalize("bab") == "bxb"


@pytest.mark.parametrize(
    ("blob", "what"),
    [
        (b"abc", "ends after 3 bytes"),
        (struct.pack("<I", 0) + b"x\0", "0 bytes, which is no multiple of 1024"),
        (struct.pack("<I", 1025) + bytes(2000), "1025 bytes, which is no multiple of 1024"),
        (struct.pack("<I", 1 << 30) + bytes(2000), "limit CHARSMAP_EDGES"),
        (struct.pack("<I", 1024) + bytes(1023), "should have 1024 bytes, and 1023 follow"),
        (struct.pack("<I", 1024) + bytes(1024), "should have 1024 bytes, and 1024 follow"),
        (edge("a", VALUE)[:-1], "its last replacement is not ended by a NUL"),
        (edge("a", VALUE + 4), "points to byte 4 of 4 bytes of replacements"),
        (edge("a", VALUE + 2), "the replacement at byte 2 is not UTF-8"),
        (edge("é", VALUE), r"the rule for b'\\xe9' is not UTF-8"),
        (edge("a", 0), "has no value"),
        (trie(unit(children=1 << 12)), "unit 0 of its trie points outside it"),
        (trie(unit(children=2), 0, 0, unit(1)), "goes in circles"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_damaged_map_is_refused(blob: bytes, what: str) -> None:
    with pytest.raises(InvalidModelError, match=what) as caught:
        rules(blob)
    assert caught.value.field == "normalizer"
    with pytest.raises(InvalidModelError):
        is_identity(blob)
    with pytest.raises(InvalidModelError):
        normalize_pieces(step_of(blob), "a")


def test_too_many_rules_that_begin_one_another_are_refused() -> None:
    """SentencePiece compiles up to 31 of them."""
    most = {"b" * length: "x" for length in range(1, 32)}
    assert rules(small(most)) == most
    with pytest.raises(RuntimeError, match="must be less than 32"):
        small({**most, "b" * 32: "x"})


@given(st.integers(0, 1023), st.integers(0, 2**32 - 1))
def test_any_damage_to_a_trie_is_refused_or_harmless(place: int, value: int) -> None:
    blob = small({"ab": "x", "abc": "é", "é": ""})
    damaged = blob[: 4 + place] + struct.pack("<I", value) + blob[8 + place :]
    try:
        found = rules(damaged)
    except InvalidModelError:
        return
    assert all(isinstance(text, str) for text in found.values())


def test_the_engine_refuses_such_maps_too() -> None:
    for blob in (b"abc", edge("a", VALUE)[:-1], struct.pack("<I", 1025) + bytes(2000)):
        with pytest.raises(RuntimeError):
            model(blob)
