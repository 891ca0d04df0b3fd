"""What a SentencePiece model cannot hold: losses by their texts, exact claims in both engines."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import pytest
import sentencepiece
from conftest import Data
from tokenizers import Tokenizer

from bpe_interop.diff import diff
from bpe_interop.formats import by_name
from bpe_interop.formats.round_trip import RoundTrip
from bpe_interop.loss import Loss
from bpe_interop.model import (
    AddedToken,
    BPEModel,
    Fallback,
    PairList,
    RankTable,
    SequenceTemplate,
    TemplateText,
    TemplateToken,
    Vocab,
)
from bpe_interop.steps import JoinPieces, SentencePieceText
from bpe_interop.testing.tiny import document_of, model_of
from fixtures import TOKENIZERS
from fixtures.piece_model import BYTE, CONTROL, UNKNOWN, UNUSED, USER_DEFINED, Piece, pieces_of

FORMAT = by_name("sentencepiece")
JSON = by_name("huggingface")

PREFIX = {"type": "Prepend", "prepend": "\u2581"}
TO_MARK = {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}
FROM_MARK = {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}
LLAMA = {"type": "Sequence", "normalizers": [PREFIX, TO_MARK]}
LEFT = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
TAIL = [FROM_MARK, {"type": "ByteFallback"}, {"type": "Fuse"}]


def metaspace(scheme: str, *, split: bool = False) -> dict[str, Any]:
    return {
        "type": "Metaspace",
        "replacement": "\u2581",
        "prepend_scheme": scheme,
        "split": split,
    }


def once(*before: dict[str, Any]) -> dict[str, Any]:
    """``remove_extra_whitespaces`` in steps of tokenizers."""
    patterns = [(" {2,}", " "), (r"\A ", ""), ("\u2581+\\z", "")]
    first, start, end = (
        {"type": "Replace", "pattern": {"Regex": regex}, "content": content}
        for regex, content in patterns
    )
    return {"type": "Sequence", "normalizers": [first, start, *before, TO_MARK, end]}


def decoder(*, strip: bool) -> dict[str, Any]:
    return {"type": "Sequence", "decoders": [*TAIL, *([LEFT] if strip else [])]}


def added(text: str, number: int, **flags: bool) -> dict[str, Any]:
    names = ("single_word", "lstrip", "rstrip", "normalized", "special")
    return {"id": number, "content": text, **{name: flags.get(name, False) for name in names}}


def document(
    tokens: str = "\u2581 a b c ab bc \u2581a",
    merges: str = "a b, b c, \u2581 a",
    *,
    fallback: bool = False,
    tags: tuple[dict[str, Any], ...] = (),
    normalizer: Any = None,
    pre_tokenizer: Any = None,
    decoding: Any = None,
    holes: int = 1,
    **model: Any,
) -> bytes:
    """A small character-level tokenizer.json, with an unknown token and runs of it fused."""
    listed = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256) if fallback), *tokens.split()]
    vocab = {token: number * holes for number, token in enumerate(listed)}
    for tag in tags:
        vocab.setdefault(tag["content"], tag["id"])
    stated = {
        "unk_token": "<unk>",
        "fuse_unk": True,
        "byte_fallback": fallback,
        "vocab": vocab,
        "merges": [pair.split() for pair in merges.split(", ") if pair],
    }
    value = document_of(
        model_of(**{**stated, **model}),
        added_tokens=[added("<unk>", 0, special=True), *tags],
        normalizer=normalizer or (None if pre_tokenizer else TO_MARK),
        pre_tokenizer=pre_tokenizer,
        decoder=decoding or decoder(strip=normalizer == LLAMA),
    )
    return json.dumps(value).encode()


def load(data: bytes) -> BPEModel:
    return JSON.load({"tokenizer.json": data})


def losses(model: BPEModel) -> dict[str, list[Loss]]:
    """The losses by field, those of metadata left out; and the law that each field is named."""
    found = list(FORMAT.losses(model))
    again = FORMAT.load(FORMAT.dump(model))
    changed = {
        d.field
        for d in diff(model, again)
        if d.kind == "different" or getattr(model, d.field) is not None
    }
    if all(again.extras.get(key) == value for key, value in model.extras.items()):
        changed.discard("extras")  # what only the target has is not lost
    assert changed == {loss.field for loss in found}
    assert FORMAT.dump(again) == FORMAT.dump(model)
    grave: dict[str, list[Loss]] = {}
    for loss in found:
        if loss.grade != "metadata":
            grave.setdefault(loss.field, []).append(loss)
    return grave


class Both:
    """A tokenizer.json in tokenizers, and the ``.model`` that it becomes in sentencepiece."""

    def __init__(self, data: bytes) -> None:
        self._one = Tokenizer.from_str(data.decode())
        self._one.encode_special_tokens = True
        model = FORMAT.dump(load(data))["tokenizer.model"]
        self.pieces = pieces_of(model)
        self._two = sentencepiece.SentencePieceProcessor(model_proto=model)

    def agree(self, text: str, *, decoded: bool = True) -> bool:
        """Whether they give the same ids, and the same text for these."""
        one = self._one.encode(text, add_special_tokens=False).ids
        two = self._two.encode(text)
        if one != two or not decoded:
            return bool(one == two)
        return bool(self._one.decode(one, skip_special_tokens=False) == self._two.decode(two))


TEXTS = ["".join(text) for n in range(5) for text in product(" abc", repeat=n)]
TEXTS += [
    "<unk>",
    "<t>",
    "a<t>b",
    "x",
    "xx",
    "a xy",
    "\u2581a",
    "<0x41>",
    "caf\u00e9 ab",
    " ab  abc",
]


@pytest.mark.parametrize(
    "data",
    [
        document(normalizer=LLAMA, fallback=True),
        document(normalizer=LLAMA),
        document(fallback=True),
        document(holes=3),
        document(pre_tokenizer=metaspace("never")),
        document(pre_tokenizer=metaspace("never", split=True)),
        document(pre_tokenizer=metaspace("never"), decoding=metaspace("never")),
        document(normalizer=LLAMA, decoding=metaspace("always")),
        document(tags=(added("<t>", 8, normalized=True), added("ab", 5, normalized=True))),
        document(tags=(added("<t>", 8, special=True), added("\u2581a", 7, normalized=True))),
        document("\u2581 a b c ab bc abc cab", "a b, b c, ab c", normalizer=LLAMA),
        document("\u2581 a b c bb bbb", "b b, bb b", unk_token=None, fallback=True),
        document("\u2581 a b c ab cab ca", "a b, c a"),
        document(),
    ],
)
def test_what_is_exact_is_the_same_in_both_engines(data: bytes) -> None:
    assert losses(load(data)) == {}
    both = Both(data)
    assert [text for text in TEXTS if not both.agree(text)] == []


@pytest.mark.parametrize("before", [(), (PREFIX,)])
def test_spaces_that_are_removed(before: tuple[dict[str, Any], ...]) -> None:
    """Ids are exact; at the start, SentencePiece's decoder removes more than one U+2581."""
    data = document(normalizer=once(*before), decoding=decoder(strip=bool(before)))
    found = losses(load(data))
    assert list(found) == ["decoder"]
    both = Both(data)
    assert [text for text in TEXTS if not both.agree(text, decoded=False)] == []
    witness = found["decoder"][0].witness
    assert witness is not None
    assert not both.agree(witness)


def shown(data: bytes, field: str, *, grade: str = "ids", alone: bool = True) -> Loss:
    """The one loss of a field; its text is encoded (or decoded) otherwise in the real engines."""
    found = losses(load(data))
    assert not alone or list(found) == [field]
    (loss,) = found[field]
    assert loss.grade == grade
    if loss.grade == "ids":
        assert loss.shown
        assert loss.witness is not None
        assert not Both(data).agree(loss.witness, decoded=False)
    return loss


def test_a_pair_that_is_not_listed() -> None:
    """``ab`` and ``c`` are no merge, and ``abc`` is a token; as a piece it is split again."""
    data = document("\u2581 a b c ab bc abc", "a b, b c, a bc")
    assert losses(load(data)) == {}
    both = Both(data)
    assert both.agree("abc")
    assert Piece("abc", -3, UNUSED) in both.pieces or both.pieces[-1].kind == UNUSED


def test_fallbacks() -> None:
    assert shown(document(fuse_unk=False), "fallback").witness == "!!"
    assert "vanish" in shown(document(unk_token=None), "fallback").what


def test_an_incomplete_set_of_byte_tokens() -> None:
    """sentencepiece refuses it with byte_fallback, so it is written without."""
    tokens = "\u2581 a b ab <0xC3> <0xA9>"
    data = document(tokens, "a b", unk_token=None, byte_fallback=True)
    found = losses(load(data))
    assert "fallback" in found
    assert "256 byte tokens" in found["fallback"][0].what
    assert not Both(data).agree("\u00e9", decoded=False)


def test_pretokenizers() -> None:
    always = document(pre_tokenizer=metaspace("always"), decoding=decoder(strip=True))
    assert shown(always, "pretokenizer").witness == " "
    first = document(pre_tokenizer=metaspace("first", split=True), decoding=decoder(strip=True))
    shown(first, "pretokenizer")
    across = document(
        "\u2581 a b a\u2581", "a \u2581", pre_tokenizer=metaspace("never", split=True)
    )
    shown(across, "pretokenizer")
    words = document("\u2581 a b a\u2581", "a \u2581", pre_tokenizer={"type": "WhitespaceSplit"})
    shown(words, "pretokenizer", alone=False)


def test_an_unknown_space_stands_across_a_cut() -> None:
    data = document("a b", "", pre_tokenizer=metaspace("never", split=True))
    assert "pretokenizer" in losses(load(data))
    assert not Both(data).agree("  ")


@pytest.mark.long
def test_normalizers() -> None:
    lower = {"type": "Sequence", "normalizers": [{"type": "Lowercase"}, TO_MARK]}
    assert shown(document(normalizer=lower), "normalizer", alone=False).witness is not None
    nfc = {"type": "Sequence", "normalizers": [{"type": "NFC"}, TO_MARK]}
    data = document("\u2581 a e \u0301 \u00e9", "", normalizer=nfc)
    (loss,) = losses(load(data))["normalizer"]
    assert not Both(data).agree(loss.witness or "", decoded=False)


def test_lookups() -> None:
    data = document("\u2581 a b c ab cab", "a b", ignore_merges=True)
    assert shown(data, "lookup_first").witness == "cab"


def test_affixes() -> None:
    data = document("a b a</w> b</w> ab</w>", "a b</w>", end_of_word_suffix="</w>")
    found = losses(load(data))
    (loss,) = found["affixes"]
    assert loss.shown
    assert loss.witness == "a"
    assert not Both(data).agree("a", decoded=False)


@pytest.mark.parametrize(
    ("tag", "said"),
    [
        (added("<t>", 8), "found in every text"),
        (added("<t>", 8, normalized=True, lstrip=True), "found in every text"),
        (added("t t", 8, normalized=True), "found in every text"),
        (added("<t>", 8, special=True, rstrip=True), "with lstrip, rstrip or single_word"),
        (added("<t>", 8, special=True, single_word=True), "with lstrip, rstrip or single_word"),
        (added("t t", 8, special=True, normalized=True), "looked for in normalized text"),
        (added("ab", 5, special=True), "share their id or their text"),
    ],
)
def test_added_tokens(tag: dict[str, Any], said: str) -> None:
    loss = shown(document(tags=(tag,)), "added", grade="text")
    assert said in loss.what
    assert tag["content"] in (loss.witness or "")


def test_user_defined_pieces_need_the_text_as_it_is_normalized() -> None:
    tag = added("<t>", 8, normalized=True)
    assert not losses(load(document(tags=(tag,))))
    assert "added" in losses(load(document(tags=(tag,), normalizer=LLAMA)))
    spaced = added("\u2581\u2581", 8, normalized=True)
    assert not losses(load(document(tags=(spaced,))))
    assert "added" in losses(load(document(tags=(spaced,), pre_tokenizer=metaspace("never"))))
    hidden = (added("ba", 8, normalized=True), added("cba", 9, normalized=True, special=True))
    data = document(tags=hidden)
    assert "added" in losses(load(data))
    engine = Tokenizer.from_str(data.decode())
    engine.encode_special_tokens = True
    assert engine.encode("cba").tokens == ["c", "b", "a"]
    assert engine.encode("ba").tokens == ["ba"]


def test_decoders() -> None:
    data = document(normalizer=LLAMA, decoding=decoder(strip=False))
    loss = shown(data, "decoder", grade="text")
    assert loss.witness is not None
    assert Both(data).agree(loss.witness, decoded=False)
    assert not Both(data).agree(loss.witness)
    spaces = document(
        "\u2581 a \u2581\u2581", "\u2581 \u2581", normalizer=LLAMA, decoding=metaspace("first")
    )
    assert not Both(spaces).agree(shown(spaces, "decoder", grade="text").witness or "")


def test_templates() -> None:
    model = load(document(tags=(added("<s>", 8, special=True), added("<t>", 9, special=True))))
    s, t = TemplateToken("<s>", (8,)), TemplateToken("<t>", (9,))
    a, b = TemplateText("A", 0), TemplateText("B", 1)
    held = SequenceTemplate((s, a), (s, a, replace(s, type_id=1), b))
    typed = SequenceTemplate((s, a), (s, a, s, b))
    assert losses(replace(model, sequence_template=held)) == {}
    assert losses(replace(model, sequence_template=typed)) == {}
    for odd in (
        SequenceTemplate((s, a), (s, a, b)),
        SequenceTemplate((s, t, a), (s, t, a, s, t, b)),
        SequenceTemplate((TemplateToken("x", (8, 9)), a), (a, b)),
    ):
        found = losses(replace(model, sequence_template=odd))
        assert [loss.grade for loss in found["sequence_template"]] == ["text"]


def char_model(**parts: Any) -> BPEModel:
    contents = ["\u2581", "a", "b", "ab"]
    base: dict[str, Any] = {
        "vocab": Vocab({text.encode(): 3 + place for place, text in enumerate(contents)}),
        "merges": RankTable({b"ab": 0}),
        "alphabet": "char",
        "fallback": Fallback("unknown", 0, fuse=True),
        "normalizer": (),
        "pretokenizer": (),
        "added": tuple(AddedToken(text, i) for i, text in enumerate(("<unk>", "<s>", "</s>"))),
        "decoder": (JoinPieces(" \u2047 ", "none", False),),
    }
    return BPEModel(**{**base, **parts})


def test_contents_that_no_piece_can_have() -> None:
    model = char_model(vocab=Vocab({b"a": 3, b"a\0": 4, b"b": 5}), merges=PairList(()))
    (loss,) = losses(model)["vocab"]
    assert 'such as "a\\x00"' in loss.what
    late = char_model(vocab=Vocab({b"a": 3, b"b": 1 << 30, b"ab": 5}))
    (loss,) = losses(late)["vocab"]
    assert loss.grade == "ids"
    taken = char_model(vocab=Vocab({b"a": 3, b"<s>": 4}), merges=PairList(()))
    assert "vocab" in losses(taken) or "added" in losses(taken)


def test_texts_kept_from_normalization_are_the_user_defined_pieces() -> None:
    step = SentencePieceText(b"", True, "none", True, ("  b",))
    decoding = (JoinPieces(" \u2047 ", "none", True),)
    model = char_model(normalizer=(step,), decoder=decoding)
    (loss,) = losses(model)["normalizer"]
    assert not loss.shown
    own = replace(model, normalizer=(replace(step, kept=()),))
    assert losses(own) == {}


def test_ids_and_types_of_pieces() -> None:
    """Holes, idle tokens and an unknown piece that the source does not have."""
    model = char_model(
        vocab=Vocab({b"a": 2, b"b": 5, b"ab": 6, b"ba": 9}, {2: "normal"}),
        fallback=Fallback("error"),
        added=(AddedToken("<s>", 1),),
    )
    kinds = [(p.text, p.kind) for p in pieces_of(FORMAT.dump(model)["tokenizer.model"])]
    assert kinds == [
        ("<unk>", UNKNOWN),
        ("<s>", CONTROL),
        ("a", 1),
        ("<unused_3>", UNUSED),
        ("<unused_4>", UNUSED),
        ("b", 1),
        ("ab", 1),
        ("<unused_7>", UNUSED),
        ("<unused_8>", UNUSED),
        ("ba", UNUSED),
    ]
    assert losses(model).keys() == {"fallback"}  # a missing character is no error there


def test_types_that_are_written() -> None:
    both = Both(
        document(
            fallback=True,
            tags=(added("<t>", 264, normalized=True), added("<c>", 265, special=True)),
        )
    )
    assert both.pieces[0] == Piece("<unk>", 0, UNKNOWN)
    assert both.pieces[1:257] == [Piece(f"<0x{byte:02X}>", 0, BYTE) for byte in range(256)]
    assert both.pieces[264:] == [Piece("<t>", 0, USER_DEFINED), Piece("<c>", 0, CONTROL)]
    scores = {piece.text: piece.score for piece in both.pieces[257:264]}
    assert scores["ab"] > scores["bc"] > scores["\u2581a"]


# Bytes.


@cache
def byte_level(name: str, format: str) -> BPEModel:
    folder = TOKENIZERS / name / format
    return by_name(format).load({path.name: path.read_bytes() for path in folder.iterdir()})


@pytest.mark.parametrize(
    ("name", "format"),
    [("gpt2-tiny", "tiktoken"), ("cl100k-tiny", "huggingface"), ("stacked-tiny", "huggingface")],
)
def test_byte_level_is_refused_with_two_texts(name: str, format: str) -> None:
    model = byte_level(name, format)
    found = losses(model)
    assert list(found) == ["alphabet"]
    (loss,) = found["alphabet"]
    assert loss.grade == "ids"
    assert loss.shown
    assert loss.witness is not None
    spelled = FORMAT.dump(model)["tokenizer.model"]
    assert sentencepiece.SentencePieceProcessor(model_proto=spelled).get_piece_size() > 256
    if format == "huggingface":
        path = TOKENIZERS / name / format / "tokenizer.json"
        engine = Tokenizer.from_file(str(path))
        longer, shorter = loss.witness, loss.witness[:2]
        assert len(engine.encode(longer).ids) >= 3
        assert len(engine.encode(shorter).ids) == 1
        assert engine.encode(longer).tokens[0] != engine.encode(shorter).tokens[0]


@pytest.mark.parametrize(
    ("name", "texts"),
    [("gpt2", ("\n\na", "\n\n")), ("gpt-oss", ("  \u2776", "  "))],
)
def test_the_proofs_texts_for_published_tokenizers(
    data: Data, name: str, texts: tuple[str, str]
) -> None:
    """In the first text two characters are a token each, alone they are one token."""
    engine = Tokenizer.from_file(str(data(f"{name}/tokenizer.json")))
    longer, shorter = (engine.encode(text).ids for text in texts)
    assert len(shorter) == 1
    assert longer[0] != shorter[0]


def grave(data: bytes) -> dict[str, str | None]:
    found = [loss for loss in FORMAT.losses(load(data)) if loss.grade != "metadata"]
    return {loss.field: loss.witness for loss in found}


# Published files.


def test_llama_2_is_exact_and_mistral_is_not(data: Data) -> None:
    assert grave(data("llama-2/tokenizer.json").read_bytes()) == {}
    assert grave(data("mistral-v1/tokenizer.json").read_bytes()) == {"pretokenizer": " "}


def test_gpt_2_is_refused_with_two_texts(data: Data) -> None:
    found = grave(data("gpt2/tokenizer.json").read_bytes())
    assert list(found) == ["alphabet"]
    witness = found["alphabet"]
    assert witness is not None
    engine = Tokenizer.from_file(str(data("gpt2/tokenizer.json")))
    assert len(engine.encode(witness[:2]).ids) == 1
    assert engine.encode(witness).ids[0] != engine.encode(witness[:2]).ids[0]


# Many small tokenizers.


def random_documents(rng: random.Random) -> Iterator[bytes]:
    """Tokenizers of which about half are exact."""
    while True:
        tokens = ["\u2581", "a", "b", *(["c"] if rng.random() < 0.8 else [])]
        merges: list[str] = []
        for _ in range(rng.randint(2, 9)):
            left, right = rng.choice(tokens), rng.choice(tokens)
            if len(left + right) < 6:
                merges.append(f"{left} {right}")
                tokens += [left + right] if left + right not in tokens else []
        if rng.random() < 0.3:
            rng.shuffle(merges)
        tokens += {"".join(rng.choices("\u2581abc", k=3))} - set(tokens)
        names = rng.sample(
            ["ab", "\u2581\u2581", "<t>", "cab", "ba\u2581"], rng.choice([0, 0, 1, 2])
        )
        fallback = rng.random() < 0.4
        first = 1 + 256 * fallback
        ids = {token: first + place for place, token in enumerate(tokens)}
        for name in names:
            ids.setdefault(name, max(ids.values()) + 1)
        tags = [
            added(name, ids[name], normalized=True, special=rng.random() < 0.15) for name in names
        ]
        normalizer, pre_tokenizer = rng.choice(
            [(LLAMA, None), (TO_MARK, None), (None, metaspace("never", split=rng.random() < 0.5))]
        )
        yield document(
            " ".join(tokens),
            ", ".join(merges),
            fallback=fallback,
            tags=tuple(tags),
            normalizer=normalizer,
            pre_tokenizer=pre_tokenizer,
        )


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2))
def test_exact_claims_hold_in_the_engines(seed: int) -> None:
    rng = random.Random(seed)
    texts = ["".join(text) for n in range(4) for text in product(" abc", repeat=n)]
    texts += ["".join(rng.choices("abc  \u2581x\u00e9", k=rng.randint(4, 14))) for _ in range(100)]
    exact = 0
    documents = random_documents(rng)
    for _ in range(60):
        data = next(documents)
        found, both = losses(load(data)), Both(data)
        if not found:
            exact += 1
            assert [text for text in texts if not both.agree(text)] == []
        else:
            assert "merges" not in found
    assert exact > 15


def test_roles_that_are_gained_are_not_called_lost() -> None:
    file = TOKENIZERS / "spm-tiny" / "huggingface" / "tokenizer.json"
    trip = RoundTrip(JSON.load({file.name: file.read_bytes()}), FORMAT)
    [loss] = [each for each in trip.losses if each.field == "added"]
    assert loss.grade == "metadata"
    assert loss.what == (
        '"<unk>", "<s>", "</s>" gain the roles that SentencePiece gives them, and lose none'
    )


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"typed": [10**6]}, "typed"),
        ({"odd": 1}, "odd"),
        ({"trainer_spec": None}, "trainer_spec"),
        ({"trainer_spec": {"no_such": 1, "num_threads": 3}}, "trainer_spec.no_such"),
        ({"trainer_spec": {"model_type": 3}}, "trainer_spec.model_type"),
    ],
)
def test_settings_that_come_back_otherwise_are_named(more: dict[str, Any], named: str) -> None:
    path = TOKENIZERS / "spm-tiny" / "sentencepiece" / "tokenizer.model"
    model = FORMAT.load({path.name: path.read_bytes()})
    own = model.extras["sentencepiece"]
    assert isinstance(own, dict)
    [loss] = FORMAT.losses(replace(model, extras={"sentencepiece": {**own, **more}}))
    assert (loss.field, loss.what) == ("extras", f"settings of the source file: {named}")
