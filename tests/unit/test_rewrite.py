"""Merges in another form: what is given is the same in the engines, what is refused is not."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import islice, permutations
from random import Random

import pytest
import sentencepiece
import tiktoken
from brute_force import random_pairs, random_ranks, random_tokens, strings
from conftest import Data
from tokenizers import Tokenizer, models, normalizers

from bpe_interop import load
from bpe_interop.formats import sentencepiece as pieces_format
from bpe_interop.model import (
    AddedToken,
    Affixes,
    BPEModel,
    Fallback,
    Kind,
    MergeRule,
    PairList,
    RankTable,
    Vocab,
)
from bpe_interop.theory.byte_ranks import as_byte_ranks, rank_table
from bpe_interop.theory.rewrite import Obstruction, Rewrite, as_pairs, as_ranks, obstruction
from fixtures import TOKENIZERS
from fixtures.piece_model import (
    BYTE_FALLBACK,
    BYTE_PIECES,
    CONTROL,
    DUMMY_PREFIX,
    NORMALIZER,
    TRAINER,
    UNKNOWN,
    UNUSED,
    Piece,
    pieces_of,
    with_field,
    with_pieces,
    write,
)

Ids = Callable[[str], list[int]]

PLAIN = write([(2, write([(3, 2), (4, 8)])), (3, write([(3, 0), (4, 0), (5, 0)]))])
"""A BPE model without pieces, dummy prefix, or anything done to spaces."""


def model_of(pieces: list[Piece], empty: bytes = PLAIN) -> tuple[BPEModel, Ids]:
    """A SentencePiece model as we read it, and as sentencepiece runs it."""
    data = with_pieces(empty, [Piece("<unk>", 0, UNKNOWN), *pieces])
    engine = sentencepiece.SentencePieceProcessor(model_proto=data)
    return pieces_format.load({"tokenizer.model": data}), lambda text: list(engine.encode(text))


def listed(model: BPEModel, rule: MergeRule | None) -> Ids:
    """The ids of tokenizers with a list of merges; UNUSED pieces are not in its vocabulary."""
    assert isinstance(rule, PairList)
    ids, kinds = model.vocab.ids, model.vocab.kinds
    vocab = {token.decode(): n for token, n in ids.items() if kinds.get(n) != "unused"}
    pairs = [(left.decode(), right.decode()) for left, right in rule.pairs]
    engine = models.BPE(
        {"<unk>": 0, **vocab}, pairs, unk_token="<unk>", fuse_unk=True, cache_capacity=0
    )
    return lambda text: [token.id for token in engine.tokenize(text)]


def random_pieces(rng: Random) -> tuple[str, list[Piece]]:
    """Scores in order or not, with ties; some pieces UNUSED, some letters none."""
    letters = rng.choice(["ab", "abc"])
    tokens = random_tokens(rng, letters, longest=5)
    ranks = random_ranks(rng, tokens).ranks
    missing = {b"c"} if rng.random() < 0.3 else set[bytes]()
    unused = rng.random() < 0.3
    return letters, [
        Piece(
            token.decode(),
            -float(ranks[token]),
            UNUSED if unused and len(token) > 1 and rng.random() < 0.3 else 1,
        )
        for token in tokens
        if token not in missing
    ]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(40))
def test_scores_become_a_list_that_does_the_same_or_none(seed: int) -> None:
    """Theorem 7 in ``docs/theory.md``."""
    rng = Random(seed)
    for _ in range(25):
        letters, pieces = random_pieces(rng)
        model, ours = model_of(pieces)
        rewrite = as_pairs(model)
        if rewrite.rule is not None:
            theirs = listed(model, rewrite.rule)
            for content in strings(letters, 7 if len(letters) == 2 else 5):
                assert theirs(content.decode()) == ours(content.decode()), (pieces, content)
        else:
            assert rewrite.shown, pieces
            assert rewrite.witness is not None
            assert listed(model, rewrite.nearest)(rewrite.witness) != ours(rewrite.witness), pieces


def test_what_is_refused_for_a_circle_no_list_can_do() -> None:
    """By every order of the splits, on every short string (Theorem 7)."""
    rng = Random(0)
    found = 0
    while found < 25:
        tokens = random_tokens(rng, "ab", longest=3)
        pieces = [Piece(t.decode(), -float(rng.randrange(3)) if t[1:] else -9.0) for t in tokens]
        model, ours = model_of(pieces)
        rewrite = as_pairs(model)
        if rewrite.rule is not None or "each comes before the next" not in rewrite.what:
            continue
        found += 1
        longer = [token for token in tokens if len(token) > 1]
        pairs = [(t[:at], t[at:]) for t in longer for at in range(1, len(t))]
        pairs = [pair for pair in pairs if pair[0] in tokens and pair[1] in tokens]
        texts = [content.decode() for content in strings("ab", 5)]
        expected = [ours(text) for text in texts]
        for order in islice(permutations(pairs), 2000):
            theirs = listed(model, PairList(order))
            assert any(theirs(t) != ids for t, ids in zip(texts, expected, strict=True)), pieces


def test_a_circle_is_shown_by_a_text_that_begins_as_every_text_does() -> None:
    """On ``aba`` the list fails; no text is normalized to it, with U+2581 before each."""
    dummy = with_field(PLAIN, NORMALIZER, DUMMY_PREFIX, 1)
    letters = [Piece(letter, -9.0) for letter in "\u2581ab"]
    model, ours = model_of([*letters, Piece("ba", -1.0), Piece("ab", -1.0)], dummy)
    rewrite = as_pairs(model)
    assert "each comes before the next" in rewrite.what
    assert rewrite.witness is not None
    assert listed(model, rewrite.nearest)("\u2581" + rewrite.witness) != ours(rewrite.witness)


def char_model(tokens: list[bytes], rule: MergeRule, first: int = 1) -> BPEModel:
    return BPEModel(
        Vocab({token: first + place for place, token in enumerate(tokens)}),
        rule,
        alphabet="char",
        fallback=Fallback("unknown", 0, fuse=True) if first else Fallback(),
        normalizer=(),
        pretokenizer=(),
        added=(AddedToken("<unk>", 0),) if first else (),
    )


def scored(model: BPEModel, rule: RankTable) -> Ids:
    """The ids of sentencepiece, ranks as scores; nothing merges into what is left out."""
    kept = [token for token in model.vocab.ids if token in rule.ranks]
    pieces = [
        Piece(token.decode(), -float(rule.ranks[token]))
        if token in kept
        else Piece(token.decode(), 0.0, CONTROL)
        for token in model.vocab.ids
    ]
    return model_of(pieces)[1]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(40))
def test_a_list_becomes_scores_that_do_the_same(seed: int) -> None:
    """Theorem 13 in ``docs/theory.md``."""
    rng = Random(seed)
    for _ in range(25):
        letters = rng.choice(["ab", "abc"])
        tokens = random_tokens(rng, letters, longest=5)
        rng.shuffle(tokens)
        rule = random_pairs(rng, tokens)
        model = char_model(tokens, rule)
        ours, rewrite = listed(model, rule), as_ranks(model)
        assert isinstance(rewrite.rule, RankTable)
        assert {*rewrite.rule.ranks, *rewrite.left_out} == set(tokens)
        theirs = scored(model, rewrite.rule)
        for content in strings(letters, 7 if len(letters) == 2 else 5):
            assert theirs(content.decode()) == ours(content.decode()), (rule, content)


@pytest.mark.parametrize("seed", range(20))
def test_ids_are_ranks_over_bytes_or_not(seed: int) -> None:
    """Against tiktoken, on texts that it does not look up."""
    rng = Random(seed)
    for _ in range(20):
        letters = rng.choice(["ab", "aé", "abé"])
        tokens = [letter.encode() for letter in letters]
        for _ in range(rng.randrange(1, 9)):
            token = rng.choice(tokens) + rng.choice(tokens)
            if token not in tokens and len(token.decode()) < 5:
                tokens.append(token)
        order = tokens[:]
        if rng.random() < 0.5:
            order.insert(rng.randrange(len(order)), order.pop(rng.randrange(len(order))))
        pairs = tuple(
            (token[:at], token[at:])
            for token in order
            for at in range(1, len(token))
            if token[:at] in tokens and token[at:] in tokens
        )
        model = char_model(tokens, PairList(pairs), first=0)
        ours, rewrite = listed(model, model.merges), as_byte_ranks(model)
        table = dict(rank_table(model))
        engine = tiktoken.Encoding("t", pat_str="(?s).+", mergeable_ranks=table, special_tokens={})
        texts = [content.decode() for content in strings(letters, 6)]
        if rewrite.rule is not None:
            assert rewrite.rule == RankTable(table)
            for text in texts:
                if text.encode() not in table:
                    assert engine.encode_ordinary(text) == [n - 0 for n in ours(text)], pairs
        elif rewrite.witness is not None:
            assert engine.encode_ordinary(rewrite.witness) != ours(rewrite.witness), pairs
        else:
            assert not rewrite.shown


def test_a_character_of_three_bytes_is_refused_by_its_text() -> None:
    """Theorem 25 in ``docs/theory.md``."""
    model = char_model([b"a", "中".encode()], PairList(()), first=0)
    rewrite = as_byte_ranks(model)
    assert (rewrite.rule, rewrite.witness, rewrite.shown) == (None, "中", True)
    assert '"中" is one token, and 3 bytes' in rewrite.what


def test_missing_characters_are_bytes_only_with_byte_fallback() -> None:
    rewrite = as_byte_ranks(char_model([b"a", b"b"], PairList(())))
    assert rewrite.witness == "!"
    tokens = [b"a", *(b"<0x%02X>" % byte for byte in range(256))]
    ids = {token: number for number, token in enumerate(tokens)}
    vocab = Vocab(ids, dict.fromkeys(range(1, 257), "byte"))
    model = BPEModel(
        vocab,
        PairList(()),
        alphabet="char",
        fallback=Fallback("unknown", 300, fuse=True, byte_fallback=True),
        normalizer=(),
        pretokenizer=(),
    )
    rewrite = as_byte_ranks(model)
    assert isinstance(rewrite.rule, RankTable)
    assert rewrite.rule.ranks[b"a"] == 0  # not the id of <0x61>
    assert rewrite.rule.ranks[b"\xe4"] == ids[b"<0xE4>"]
    few = {token: number for token, number in ids.items() if token != b"<0xC3>"}
    vocab = Vocab(few, {number: "byte" for number in few.values() if number})
    lacking = BPEModel(vocab, PairList(()), alphabet="char", fallback=model.fallback)
    rewrite = as_byte_ranks(lacking)
    assert (rewrite.rule, rewrite.witness) == (None, "\u00c0")


FALLS_BACK = with_field(PLAIN, TRAINER, BYTE_FALLBACK, 1)


def over_ranks(ranks: Mapping[bytes, int]) -> Ids:
    return tiktoken.Encoding(
        "t", pat_str="(?s).+", mergeable_ranks={**ranks}, special_tokens={}
    ).encode_ordinary


@pytest.mark.parametrize("texts", [["a", "aé"], ["éé"], ["a一"], ["éa"]])
def test_a_missing_character_that_merges_is_not_its_bytes(texts: list[str]) -> None:
    """sentencepiece merges characters that are no pieces (Theorem 25)."""
    pieces = [*BYTE_PIECES, *(Piece(text, -float(place)) for place, text in enumerate(texts))]
    model, ours = model_of(pieces, FALLS_BACK)
    rewrite = as_byte_ranks(model)
    assert (rewrite.rule, rewrite.shown) == (None, True)
    assert "which is no token" in rewrite.what
    assert rewrite.witness is not None
    assert over_ranks(rank_table(model))(rewrite.witness) != ours(rewrite.witness)


def test_a_missing_character_of_one_byte_merges_as_that_byte() -> None:
    model, ours = model_of([*BYTE_PIECES, Piece("ab", -1.0), Piece("aba", -2.0)], FALLS_BACK)
    rewrite = as_byte_ranks(model)
    assert isinstance(rewrite.rule, RankTable)
    theirs = over_ranks(rewrite.rule.ranks)
    for content in strings("abé", 5):
        if content not in rewrite.rule.ranks:
            assert theirs(content.decode()) == ours(content.decode()), content


def over_all_bytes(longer: list[bytes], rule: MergeRule) -> BPEModel:
    tokens = [*map(bytes, zip(range(256))), *longer]
    ids = {token: number for number, token in enumerate(tokens)}
    if isinstance(rule, RankTable):
        above = {token: 256 + rank for token, rank in rule.ranks.items()}
        rule = RankTable({**{token: ids[token] for token in tokens[:256]}, **above})
    return BPEModel(Vocab(ids), rule, normalizer=(), pretokenizer=())


@pytest.mark.parametrize("ranks", [(0, 0, 0), (1, 1, 0), (1, 2, 0), (0, 1, 1)])
def test_ranks_over_bytes_are_ids_only_in_their_order(ranks: tuple[int, ...]) -> None:
    """Held to sentencepiece, whose scores may be tied, on letters; ids to tiktoken."""
    longer = [b"aa", b"ab", b"ba"]
    model = over_all_bytes(longer, RankTable(dict(zip(longer, ranks, strict=True))))
    pieces = [Piece(text, -9.0) for text in "ab"]
    pieces += [Piece(t.decode(), -float(n)) for t, n in zip(longer, ranks, strict=True)]
    names = [b"", b"a", b"b", *longer]
    _, engine = model_of(pieces)
    theirs = over_ranks(model.vocab.ids)

    def same(text: str) -> bool:
        return [model.vocab.ids[names[number]] for number in engine(text)] == theirs(text)

    texts = [t.decode() for t in strings("ab", 6) if t not in model.vocab.ids]
    rewrite = as_byte_ranks(model)
    assert (rewrite.rule is not None) == all(map(same, texts))
    assert rewrite.witness is None or not same(rewrite.witness)


@pytest.mark.parametrize("kind", ["user_defined", "unused"])
def test_kinds_that_a_rank_file_does_not_know_are_refused(kind: Kind) -> None:
    model = BPEModel(
        Vocab({b"a": 0, b"aa": 1}, {1: kind}),
        PairList(()),
        alphabet="char",
    )
    rewrite = as_byte_ranks(model)
    assert (rewrite.rule, rewrite.shown) == (None, False)
    assert kind in rewrite.what


@pytest.mark.parametrize("function", [as_pairs, as_ranks, as_byte_ranks])
def test_affixes_are_refused(function: Callable[[BPEModel], Rewrite]) -> None:
    vocab = Vocab({b"a": 0, b"a$": 1, b"aa$": 2, b"b": 3}, {3: "unused"})
    model = BPEModel(vocab, PairList(((b"a", b"a$"),)), affixes=Affixes(suffix=b"$"))
    assert (function(model).rule, function(model).shown) == (None, False)


def same_list(pieces: list[Piece]) -> tuple[tuple[bytes, bytes], ...]:
    """The list that scores become, which tokenizers runs with the ids of sentencepiece."""
    model, ours = model_of(pieces)
    rewrite = as_pairs(model)
    assert isinstance(rewrite.rule, PairList)
    theirs = listed(model, rewrite.rule)
    for content in strings("abcd" if len(pieces) > 6 else "ab", 5):
        assert theirs(content.decode()) == ours(content.decode()), content
    return tuple(rewrite.rule.pairs)


def test_of_equal_scores_the_winners_come_first_whatever_their_ids() -> None:
    """``ac`` and ``bc`` are left of ``cd`` in ``acd`` and ``bcd``; the ids have it between."""
    singles = [Piece(letter, -9.0) for letter in "abcd"]
    tied = [Piece(token, -1.0) for token in ("ac", "cd", "bc")]
    assert same_list([*singles, *tied]) == ((b"a", b"c"), (b"b", b"c"), (b"c", b"d"))


def test_every_split_of_some_ranks_stands_beside_the_one_of_others() -> None:
    scores = {"a": -9.0, "b": -9.0, "ab": -2.0, "abab": -1.0, "aba": -2.0, "ababa": -3.0}
    pairs = same_list([Piece(token, score) for token, score in scores.items()])
    assert pairs[-1][0] + pairs[-1][1] == b"ababa"
    assert len(pairs) > 4  # more than one split for a token


@pytest.mark.parametrize("unused", [[], [Piece("b", -9.0, UNUSED)]])
def test_a_symbol_that_is_no_token_is_named_with_what_it_builds(unused: list[Piece]) -> None:
    dummy = with_field(PLAIN, NORMALIZER, DUMMY_PREFIX, 1)
    pieces = [Piece("\u2581", -8.0), Piece("a", -9.0), Piece("ab", -1.0), *unused]
    model, ours = model_of(pieces, dummy)
    rewrite = as_pairs(model)
    assert rewrite.what.startswith('"ab" is merged from "b", which is no token itself')
    assert rewrite.witness is not None
    assert listed(model, rewrite.nearest)("\u2581" + rewrite.witness) != ours(rewrite.witness)


def test_what_is_no_utf8_is_no_reason_to_refuse_a_list() -> None:
    """``C3 C3``, of a byte that has no token, is in no text; ``C3 A9`` is."""
    ids = {b"a": 0, b"\xa9": 1, b"\xc3\xc3": 2}
    assert as_pairs(BPEModel(Vocab(ids), RankTable(ids))).rule == PairList(())
    ids = {b"a": 0, b"\xa9": 1, b"\xc3\xa9": 2}
    assert as_pairs(BPEModel(Vocab(ids), RankTable(ids))).witness == "\u00e9"
    whole = tiktoken.Encoding("t", pat_str="(?s).+", mergeable_ranks=ids, special_tokens={})
    assert whole.encode_ordinary("\u00e9") == [2]


def test_a_user_defined_symbol_has_no_rank() -> None:
    """sentencepiece finds it before merging, by no score."""
    model = replace(
        char_model([b"a", b"b"], PairList(())), vocab=Vocab({b"a": 1}, {1: "user_defined"})
    )
    assert as_ranks(model) == replace(as_ranks(model), rule=RankTable({}), left_out=(b"a",))


def test_rules_that_are_of_the_form_already_stay() -> None:
    pairs, ranks = PairList(((b"a", b"a"),)), RankTable({b"a": 0, b"aa": 1})
    ids = {b"a": 0, b"aa": 1}
    assert as_pairs(BPEModel(Vocab(ids), pairs)).rule is pairs
    assert as_ranks(BPEModel(Vocab(ids), ranks)).rule is ranks


def test_tokens_that_a_list_never_builds_are_not_ranked() -> None:
    """``a`` and ``b`` merge first, so ``aba`` is not built; with a rank, ``ab`` and ``a`` do it.

    Theorem 13 in ``docs/theory.md``.
    """
    rule = PairList(((b"a", b"b"), (b"b", b"a"), (b"a", b"ba")))
    model = char_model([b"a", b"b", b"ab", b"ba", b"aba"], rule)
    rewrite = as_ranks(model)
    assert rewrite.left_out == (b"aba",)
    assert rewrite.rule == RankTable({b"ab": 0, b"ba": 1, b"a": 2, b"b": 3})
    every = RankTable({**rewrite.rule.ranks, b"aba": 4})
    assert scored(model, every)("aba") != scored(model, rewrite.rule)("aba")
    assert scored(model, rewrite.rule)("aba") == listed(model, rule)("aba")


# Real files.


@pytest.mark.parametrize("name", ["llama-2", "mistral-v1"])
def test_published_scores_become_a_list_with_the_same_ids(data: Data, name: str) -> None:
    path = data(f"{name}/tokenizer.model")
    model = load(path).model
    rewrite = as_pairs(model)
    assert isinstance(rewrite.rule, PairList)
    pairs = [(x.decode(), y.decode()) for x, y in rewrite.rule.pairs]
    vocab = {token.decode(): number for token, number in model.vocab.ids.items()}
    engine = Tokenizer(models.BPE({"<unk>": 0, **vocab}, pairs, byte_fallback=True, fuse_unk=True))
    engine.normalizer = normalizers.Sequence(
        [normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")]
    )
    ours = sentencepiece.SentencePieceProcessor(model_file=str(path))
    spaces = [" " * length + "a" * (length % 3) for length in range(1, 60)]
    lines = data("corpora/udhr/udhr_all.txt").read_text("utf-8").splitlines()[:4000:7]
    for text in (*spaces, *lines, "def f(x):\n        return    x\t\n"):
        if text:
            assert engine.encode(text).ids == ours.encode(text), text


@pytest.mark.parametrize("name", ["llama-2", "mistral-v1", "phi-3-mini"])
def test_published_lists_are_those_of_scores(data: Data, name: str) -> None:
    rewrite = as_ranks(load(data(f"{name}/tokenizer.json")).model)
    assert rewrite.rule is not None
    assert set(rewrite.left_out) == {b"<0x%02X>" % byte for byte in range(256)}


def test_chinese_pieces_of_score_0_have_no_list(data: Data) -> None:
    """As Chinese-LLaMA adds them: pieces that overlap in a circle, all with one score."""
    published = data("llama-2/tokenizer.model").read_bytes()
    pieces = pieces_of(published)
    known = {piece.text for piece in pieces}
    for line in data("qwen/qwen.tiktoken").read_bytes().splitlines():
        text = b64decode(line.split()[0]).decode("utf-8", "replace")
        if all("\u4e00" <= char <= "\u9fff" for char in text):
            pieces += [Piece(p) for p in dict.fromkeys((*text, text)) if p not in known]
            known.update((*text, text))
    changed = with_pieces(published, pieces)
    model = pieces_format.load({"tokenizer.model": changed})
    rewrite = as_pairs(model)
    assert rewrite.rule is None
    assert rewrite.witness is not None
    assert len(rewrite.witness) == 3
    assert "in one of" in rewrite.what
    ours = sentencepiece.SentencePieceProcessor(model_proto=changed)
    assert isinstance(rewrite.nearest, PairList)
    pairs = [(x.decode(), y.decode()) for x, y in rewrite.nearest.pairs]
    vocab = {token.decode(): number for token, number in model.vocab.ids.items()}
    theirs = models.BPE(vocab, pairs, byte_fallback=True, cache_capacity=0)
    expected = [token.id for token in theirs.tokenize("\u2581" + rewrite.witness)]
    assert ours.encode(rewrite.witness) != expected


@pytest.mark.parametrize(
    "name", ["gpt2/tokenizer.json", "gpt-neox/tokenizer.json", "llama-3.2/tokenizer.json"]
)
def test_published_ids_are_ranks(data: Data, name: str) -> None:
    assert as_byte_ranks(load(data(name)).model).rule is not None


def test_roberta_has_its_ids_in_another_order(data: Data) -> None:
    model = load(data("roberta/tokenizer.json")).model
    rewrite = as_byte_ranks(model)
    assert rewrite.rule is None
    assert rewrite.witness is not None
    table = dict(rank_table(model))
    engine = tiktoken.Encoding("t", pat_str="(?s).+", mergeable_ranks=table, special_tokens={})
    ours = Tokenizer.from_file(str(data("roberta/tokenizer.json")))
    expected = ours.encode(rewrite.witness, add_special_tokens=False).ids
    assert engine.encode_ordinary(rewrite.witness) != expected


def shows(found: Obstruction | None, encode: Ids) -> bool:
    """Whether texts are what Theorem 12 asks for."""
    assert found is not None
    first, second = (encode(char) for char in found.shorter)
    longer = encode(found.longer)
    together = [number for char in found.two_tokens for number in encode(char)]
    return (
        len(first) == len(second) == 1
        and found.shorter in found.longer
        and encode(found.shorter) != first + second
        and any(longer[i : i + 2] == first + second for i in range(len(longer)))
        and (len(together), encode(found.two_tokens)) == (2, together)
    )


@pytest.mark.parametrize("name", ["gpt2", "p50k_base", "cl100k_base", "o200k_base"])
def test_two_texts_show_that_whole_texts_have_no_sentencepiece_model(data: Data, name: str) -> None:
    """Theorem 12 in ``docs/theory.md``."""
    data("tiktoken_cache")
    encode = tiktoken.get_encoding(name).encode_ordinary
    assert shows(obstruction(encode), encode)


@pytest.mark.parametrize("name", ["gpt2-tiny", "cl100k-tiny", "stacked-tiny"])
def test_two_texts_show_it_of_small_vocabularies(name: str) -> None:
    """Theorem 12: many of the characters that are tried have no token of their own there."""
    engine = Tokenizer.from_file(str(TOKENIZERS / name / "huggingface" / "tokenizer.json"))

    def encode(text: str) -> list[int]:
        return list(engine.encode(text, add_special_tokens=False).ids)

    assert shows(obstruction(encode), encode)


def test_a_sentencepiece_model_has_no_such_texts(data: Data) -> None:
    published = data("llama-2/tokenizer.model").read_bytes()
    plain = with_field(published, NORMALIZER, DUMMY_PREFIX, 0)
    engine = sentencepiece.SentencePieceProcessor(model_proto=plain)
    assert obstruction(engine.encode) is None


def test_two_characters_with_one_id_show_nothing() -> None:
    """In ``\\t1`` stands the id of ``'``, and not the text ``'1``, which is one token."""
    ids = {char: place for place, char in enumerate("\n a1.'\u00a0\u00e9\u2776\u4e00")}
    ids["\t"] = ids["'"]

    def encode(text: str) -> list[int]:
        first, one, rest = text.partition("'1")
        parts = [ids[char] for char in first]
        return [*parts, 99, *encode(rest)] if one else parts

    assert encode("\t1") == [ids["'"], ids["1"]]
    assert obstruction(encode) is None
