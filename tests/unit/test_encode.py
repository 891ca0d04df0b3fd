"""The encoder against tiktoken and tokenizers, on tiny vocabularies (test_real has real ones)."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken as EngineToken
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from bpe_interop.encode import Encoder
from bpe_interop.errors import DecodeError, EncodeError, InvalidModelError, UnstatedError
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
from bpe_interop.steps import (
    ByteChars,
    Digits,
    JoinBytes,
    JoinTokens,
    Pattern,
    PrefixSpace,
    Split,
    UnicodeForm,
)
from bpe_interop.text.bytechars import to_chars

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
TEMPLATE = SequenceTemplate(
    (TemplateToken("<s>", (1,)), TemplateText("A")),
    (TemplateText("B"), TemplateToken("</s>", (2, 3)), TemplateText("A")),
)


def model_of(encoding: tiktoken.Encoding) -> BPEModel:
    """What tiktoken does with an Encoding, as a model."""
    pattern = Pattern(encoding._pat_str, "fancy-regex")
    return BPEModel(
        Vocab(encoding._mergeable_ranks),
        RankTable(encoding._mergeable_ranks),
        lookup_first=True,
        normalizer=(),
        pretokenizer=(Split(pattern, "removed", invert=True),),
        added=tuple(AddedToken(t, i) for t, i in encoding._special_tokens.items()),
        decoder=(JoinBytes(),),
    )


BYTES = {bytes([byte]): byte for byte in range(256)}
SMALL = tiktoken.Encoding(
    "small",
    pat_str=GPT2,
    mergeable_ranks=BYTES | {b"ab": 256, b" a": 257, b"\xc3\xa9": 258, b"abab": 259, b"xyz": 260},
    special_tokens={"<|end|>": 300, "<|pad|>": 301},
)


def random_tokens(rng: random.Random, letters: str) -> list[str]:
    tokens = list(letters)
    for _ in range(rng.randrange(1, 12)):
        new = rng.choice(tokens) + rng.choice(tokens)
        if rng.random() < 0.3:
            new = "".join(rng.choices(letters, k=rng.randrange(2, 6)))
        if new not in tokens and len(new) < 9:
            tokens.append(new)
    return tokens


def random_pairs(rng: random.Random, tokens: list[str]) -> list[tuple[str, str]]:
    pairs = [
        (token[:at], token[at:])
        for token in tokens
        for at in range(1, len(token))
        if token[:at] in tokens and token[at:] in tokens
    ]
    rng.shuffle(pairs)
    return pairs[: rng.randrange(len(pairs) + 1)]


def strings(letters: str) -> Iterator[str]:
    for length in range(1, 9 if len(letters) == 2 else 6):
        yield from map("".join, product(letters, repeat=length))


@pytest.mark.parametrize("letters", ["ab", "ab "])
@pytest.mark.parametrize("seed", range(150))
def test_random_rank_files_encode_as_in_tiktoken(seed: int, letters: str) -> None:
    rng = random.Random(seed)
    tokens = random_tokens(rng, letters)
    ranks = rng.sample(range(2 * len(tokens)), len(tokens))
    pattern = rng.choice(["(?s).+", GPT2, r"\S+|\s"])
    table = {token.encode(): rank for token, rank in zip(tokens, ranks, strict=True)}
    engine = tiktoken.Encoding("t", pat_str=pattern, mergeable_ranks=table, special_tokens={})
    encoder = Encoder(model_of(engine))
    for text in strings(letters):
        assert encoder.encode(text) == engine.encode_ordinary(text), (table, pattern, text)


@pytest.mark.long
@pytest.mark.parametrize("fallback", ["drop", "unknown", "fuse"])
@pytest.mark.parametrize("lookup", [False, True])
@pytest.mark.parametrize("seed", range(60))
def test_random_merges_encode_as_in_tokenizers(seed: int, lookup: bool, fallback: str) -> None:
    """Also with a letter that is not in the vocabulary: ``c``, U+00E9."""
    rng = random.Random(seed)
    tokens = random_tokens(rng, "ab")
    pairs = random_pairs(rng, tokens)
    unknown = fallback != "drop"
    vocab = {token: number for number, token in enumerate([*tokens, "<unk>"])}
    engine = models.BPE(
        vocab,
        pairs,
        ignore_merges=lookup,
        fuse_unk=fallback == "fuse",
        **({"unk_token": "<unk>"} if unknown else {}),
    )
    rule = Fallback("unknown", vocab["<unk>"], fallback == "fuse") if unknown else Fallback("drop")
    model = BPEModel(
        Vocab({token.encode(): number for token, number in vocab.items()}),
        PairList(tuple((x.encode(), y.encode()) for x, y in pairs)),
        lookup_first=lookup,
        fallback=rule,
    )
    encoder = Encoder(model)
    for text in (*strings("abc"), "aéb", "éé", "a" * 200 + "c" + "ab" * 100):
        spelled = to_chars(text.encode())
        expected = [token.id for token in engine.tokenize(spelled)]
        assert encoder.encode_pretoken(text.encode()) == expected, (vocab, pairs, text)


@given(st.text(st.sampled_from("ab xyzé\u0301世😀'\n<|end|>"), max_size=20))
def test_any_text_with_special_tokens(text: str) -> None:
    encoder = Encoder(model_of(SMALL))
    assert encoder.encode(text) == SMALL.encode_ordinary(text)
    for allowed in (frozenset({"<|end|>"}), frozenset({"<|pad|>"})):
        ids = SMALL.encode(f"{text}<|pad|>", allowed_special=allowed, disallowed_special=())
        assert encoder.encode(f"{text}<|pad|>", allowed) == ids
        assert encoder.decode(ids) == SMALL.decode(ids)
        assert encoder.decode_bytes(ids) == SMALL.decode_bytes(ids)


@pytest.mark.parametrize("text", ["a\ud800b", "é\ud83d\ude00", "\udc00\ud900", "é\ud83d<|end|>"])
def test_surrogates_as_in_tiktoken(text: str) -> None:
    encoder = Encoder(model_of(SMALL))
    ids = SMALL.encode(text, allowed_special="all")
    assert encoder.encode(text, "all") == ids
    found, spans = encoder.encode_with_offsets(text, "all")
    assert found == ids
    assert spans[0][0] == 0
    assert spans[-1][1] == len(text)


def byte_level(*steps: pre_tokenizers.PreTokenizer) -> Tokenizer:
    """A tokenizer over all bytes with the merges of SMALL."""
    vocab = {to_chars(token): rank for token, rank in SMALL._mergeable_ranks.items()}
    merges = [("a", "b"), ("Ġ", "a"), ("Ã", "©"), ("ab", "ab")]
    engine = Tokenizer(models.BPE(vocab, merges))
    mapping = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    engine.pre_tokenizer = pre_tokenizers.Sequence([*steps, mapping])
    engine.decoder = decoders.ByteLevel()
    engine.add_special_tokens(["<|end|>"])
    engine.add_tokens([EngineToken("(c)", lstrip=True, normalized=False)])
    return engine


BASE = BPEModel(
    Vocab(SMALL._mergeable_ranks),
    PairList(((b"a", b"b"), (b" ", b"a"), (b"\xc3", b"\xa9"), (b"ab", b"ab"))),
    normalizer=(),
    pretokenizer=(Split(Pattern(GPT2, "oniguruma"), "isolated"),),
    added=(AddedToken("<|end|>", 261), AddedToken("(c)", 262, special=False, lstrip=True)),
    sequence_template=TEMPLATE,
    decoder=(JoinBytes(),),
)
GPT2_STEP = pre_tokenizers.Split(Regex(GPT2), "isolated")


@given(st.text(st.sampled_from("ab xyzé\u0301ò²1世😀'\n<|end|>(c)"), max_size=20))
def test_ids_and_offsets_as_in_tokenizers(text: str) -> None:
    engine = byte_level(GPT2_STEP)
    expected = engine.encode(text)
    ids, spans = Encoder(BASE).encode_with_offsets(text, "all")
    assert ids == expected.ids == Encoder(BASE).encode(text, "all")
    assert spans == expected.offsets
    engine.encode_special_tokens = True
    assert Encoder(BASE).encode(text) == engine.encode(text).ids


@given(st.text(st.sampled_from("ab é\u0301\u0323ò²1世ﬁ(c)"), max_size=20))
def test_a_normalizer_and_steps_after_the_byte_alphabet(text: str) -> None:
    engine = byte_level()
    engine.normalizer = normalizers.NFC()
    engine.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.ByteLevel(add_prefix_space=True), pre_tokenizers.Digits(True)]
    )
    steps = (PrefixSpace(), *(BASE.pretokenizer or ()), ByteChars(), Digits(True))
    encoder = Encoder(replace(BASE, normalizer=(UnicodeForm("NFC"),), pretokenizer=steps))
    ids, spans = encoder.encode_with_offsets(text)
    assert ids == engine.encode(text).ids == encoder.encode(text)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert spans == sorted(spans)


def test_offsets_cover_what_a_normalizer_joined() -> None:
    encoder = Encoder(replace(BASE, normalizer=(UnicodeForm("NFC"),)))
    assert encoder.encode_with_offsets("ae\u0301b") == ([97, 258, 98], [(0, 1), (1, 3), (3, 4)])


def test_offsets_of_dropped_and_unknown_symbols() -> None:
    ids = {b"a": 0, b"b": 1, b"ab": 2, b"<unk>": 3}
    model = replace(BASE, vocab=Vocab(ids), merges=PairList(((b"a", b"b"),)), added=())
    dropping = Encoder(replace(model, fallback=Fallback("drop")))
    assert dropping.encode_with_offsets("azb") == ([2], [(0, 3)])
    unknown = Encoder(replace(model, fallback=Fallback("unknown", 3)))
    assert unknown.encode_with_offsets("aéb") == ([0, 3, 3, 1], [(0, 1), (1, 2), (1, 2), (2, 3)])
    fused = Encoder(replace(model, fallback=Fallback("unknown", 3, fuse=True)))
    assert fused.encode_with_offsets("aéb") == ([0, 3, 1], [(0, 1), (1, 2), (2, 3)])


def test_pretokens_are_bytes_where_a_character_is_cut() -> None:
    encoder = Encoder(replace(BASE, pretokenizer=(ByteChars(), Digits(True))))
    assert encoder.pretokenize("aò1") == [b"a\xc3", b"\xb2", "1"]
    assert Encoder(BASE).pretokenize("ab é1") == ["ab", " é", "1"]
    composing = Encoder(replace(BASE, normalizer=(UnicodeForm("NFC"),)))
    assert composing.pretokenize("e\u0301") == ["é"]
    assert composing.normalize("e\u0301\ud800") == "é\ufffd"


def test_a_missing_byte_is_an_error_where_the_model_has_no_fallback() -> None:
    ids = {b"a": 0, b"ab": 1}
    encoder = Encoder(replace(BASE, vocab=Vocab(ids), merges=RankTable(ids), added=()))
    assert encoder.encode("abab") == [1, 1]  # as tiktoken: the part b is never given out
    with pytest.raises(EncodeError, match="not in the vocabulary"):
        encoder.encode("b")


def test_nothing_is_not_the_empty_token() -> None:
    ids = {b"a": 0, b"": 1}
    encoder = Encoder(replace(BASE, vocab=Vocab(ids), merges=RankTable(ids), lookup_first=True))
    assert encoder.encode_pretoken(b"") == encoder.encode("") == []
    assert encoder.encode_with_offsets("") == ([], [])


def test_a_merge_with_the_unknown_token_is_refused() -> None:
    ids = {b"a": 0, b"u": 1, b"ua": 2}
    model = replace(
        BASE, vocab=Vocab(ids), merges=PairList(((b"u", b"a"),)), fallback=Fallback("unknown", 1)
    )
    with pytest.raises(InvalidModelError, match="unknown"):
        Encoder(model).encode_pretoken(b"ua")


@pytest.mark.parametrize(
    ("field", "says"),
    [("pretokenizer", "pattern"), ("normalizer", "normalizer"), ("added", "special tokens")],
)
def test_what_is_not_stated_is_asked_for(field: str, says: str) -> None:
    unsaid: dict[str, Any] = {field: None}
    model = replace(BASE, **unsaid)
    for call in (Encoder(model).encode, Encoder(model).encode_with_offsets):
        with pytest.raises(UnstatedError, match=rf"(?s){says}.*--preset"):
            call("a", "all")
    assert Encoder(model).encode_pretoken(b"ab") == [256]
    assert Encoder(model).decode([256]) == "ab"


def test_special_tokens_need_not_be_known_where_none_is_looked_for() -> None:
    unsaid, none = Encoder(replace(BASE, added=None)), Encoder(replace(BASE, added=()))
    assert unsaid.encode("ab c") == none.encode("ab c")
    assert unsaid.encode_with_offsets("ab c") == none.encode_with_offsets("ab c")


def test_no_decoder_or_template_stated() -> None:
    encoder = Encoder(replace(BASE, decoder=None, sequence_template=None))
    assert encoder.decode_bytes([97]) == b"a"
    with pytest.raises(UnstatedError, match="decoder"):
        encoder.decode([97])
    with pytest.raises(UnstatedError, match="template"):
        encoder.template([97])


def test_templates() -> None:
    encoder = Encoder(BASE)
    assert encoder.template([7]) == [1, 7]
    assert encoder.template([7], [8, 9]) == [8, 9, 2, 3, 7]
    empty = Encoder(replace(BASE, sequence_template=SequenceTemplate()))
    assert empty.template([7]) == [7]
    assert empty.template([7], [8]) == [7, 8]


@given(st.lists(st.integers(0, 262), max_size=12))
def test_decoding_any_ids_as_in_tokenizers(ids: list[int]) -> None:
    engine, encoder = byte_level(GPT2_STEP), Encoder(BASE)
    assert encoder.decode(ids) == engine.decode(ids, skip_special_tokens=False)
    assert encoder.decode(ids, skip_special=True) == engine.decode(ids)
    engine.decoder = None
    spelled = Encoder(replace(BASE, decoder=(JoinTokens(),)))
    assert spelled.decode(ids) == engine.decode(ids, skip_special_tokens=False)


@given(st.lists(st.sampled_from([*range(261), 300, 301]), max_size=12))
def test_decoding_any_ids_as_in_tiktoken(ids: list[int]) -> None:
    encoder = Encoder(model_of(SMALL))
    assert encoder.decode(ids) == SMALL.decode(ids)
    assert encoder.decode(ids, errors="ignore") == SMALL.decode(ids, errors="ignore")
    assert encoder.decode_bytes(ids) == SMALL.decode_bytes(ids)


def test_decoding_what_is_not_text_or_not_there() -> None:
    encoder = Encoder(BASE)
    with pytest.raises(UnicodeDecodeError):
        encoder.decode([0xC3], errors="strict")
    for call in (encoder.decode, encoder.decode_bytes):
        with pytest.raises(DecodeError, match="999"):
            call([97, 999])
    with pytest.raises(KeyError):
        encoder.token_bytes(999)


def test_the_added_token_wins_and_of_two_the_first() -> None:
    added = (AddedToken("<one>", 97), AddedToken("<two>", 97), AddedToken("Ġx", 500))
    encoder = Encoder(replace(BASE, added=added))
    assert encoder.token_bytes(97) == b"<one>"
    assert encoder.encode("<two>", "all") == [97]
    assert encoder.decode([500]) == "Ġx"
    mapped = Encoder(replace(BASE, added=added, decoder=(JoinBytes(mapped_added=True),)))
    assert mapped.decode([500]) == " x"
    assert mapped.decode_bytes([500]) == "Ġx".encode()


def test_it_pickles_and_threads_share_it() -> None:
    encoder = Encoder(model_of(SMALL))
    texts = [f"ab {number} xyz é" * 20 for number in range(200)]
    expected = [SMALL.encode_ordinary(text) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(encoder.encode, texts)) == expected
    again = pickle.loads(pickle.dumps(encoder))
    assert [again.encode(text) for text in texts] == expected


# tokenizers takes 150 bytes a letter: the million is run where memory is not counted.
@pytest.mark.parametrize("letters", [300_000, pytest.param(1_000_000, marks=pytest.mark.long)])
def test_a_pretoken_of_many_letters(letters: int) -> None:
    """Expected of tokenizers: older versions of tiktoken fail on such a text."""
    encoder, engine = Encoder(model_of(SMALL)), byte_level().model
    for text in ("a" * letters, "ab" * (letters // 2)):
        assert encoder.encode(text) == [token.id for token in engine.tokenize(text)]


@pytest.mark.long
def test_long_pretokens_are_cut_only_where_nothing_merges() -> None:
    """Lemma 1 in ``docs/theory.md``."""
    rng = random.Random(16)
    letters = "中丮国é¢🙂🙃кa"
    crossing = 0
    for _ in range(150):
        tokens = [bytes([byte]) for byte in range(256)]
        for _ in range(rng.randrange(5, 60)):
            text = "".join(rng.choices(letters, k=4)).encode()
            ids = tiktoken.Encoding(
                "x", pat_str=r"(?s).+", mergeable_ranks=ranked(tokens), special_tokens={}
            ).encode_ordinary(text.decode())
            at = rng.randrange(len(ids) - 1) if len(ids) > 1 else 0
            new = b"".join(tokens[number] for number in ids[at : at + 2])
            if new not in tokens:
                tokens.append(new)
        rng.shuffle(tokens)
        encoding = tiktoken.Encoding(
            "x", pat_str=r"(?s).+", mergeable_ranks=ranked(tokens), special_tokens={}
        )
        own = Encoder(model_of(encoding))
        crossing += sum(1 for t in tokens if len(t) > 1 and t[0] & 0xC0 == 0x80)
        for _ in range(40):
            drawn = "".join(rng.choices(letters, k=rng.randrange(5, 40)))
            assert own.encode(drawn) == encoding.encode_ordinary(drawn)
    assert crossing > 500


def ranked(tokens: list[bytes]) -> dict[bytes, int]:
    return {token: rank for rank, token in enumerate(tokens)}
