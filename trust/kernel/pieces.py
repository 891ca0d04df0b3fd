"""What the native kernel does with SentencePiece models, beside what Python does.

Models are small and random, with every kind of piece: scores in order, tied, and of both zeros;
UNUSED and user-defined pieces, pieces of characters that are none themselves; with the tokens of
bytes and without.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

from bpe_interop.encode import Encoder
from bpe_interop.fingerprint import fingerprint
from bpe_interop.formats import by_name
from bpe_interop.kernel import is_aside
from bpe_interop.kernel.tables import LazyDict
from bpe_interop.merging.canonical import canonical
from bpe_interop.model import AddedToken, BPEModel, Fallback, PairList, RankTable
from bpe_interop.steps import (
    ByteTokens,
    DecoderStep,
    Fuse,
    Lowercase,
    Metaspace,
    NormalizerStep,
    Pattern,
    Prefixing,
    Prepend,
    PreTokenizerStep,
    Replace,
    SentencePieceText,
    Split,
    StripToken,
)
from fixtures.piece_model import (
    BYTE_PIECES,
    CONTROL_PIECES,
    NORMAL,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    Piece,
    small_model,
)

from .comparing import Answered, Case
from .models import byte_level, listed
from .texts import Encoding, short_texts

_SPACE = "\u2581"
_PARTS = (
    *(
        "a",
        "b",
        "c",
        "ab",
        "ba",
        "aab",
        "abc",
        "cc",
        " ",
        "  ",
        _SPACE,
        "\n",
        "\t",
        "x",
        "xx",
        "\u00e9",
    ),
    *(
        "\u65e5",
        "\u65e5\u672c",
        "\U0001f600",
        "\x00",
        "\ud83d",
        "\ud83d\ude00",
        "<s>",
        "<unk>",
        "<t>",
    ),
    *("<0x61>", "\u2028", "\ufffd", "\U0010ffff", "\u0301"),
)
_LONG, _SEQUENCES = 4, 30
_SYMBOLS = ("a", "b", "c", _SPACE, "\u00e9", "\u65e5", "\U0001f600")


def random_pieces(rng: random.Random) -> list[Piece]:
    """The pieces that texts are made of."""
    symbols = [each for each in _SYMBOLS if rng.random() < 0.8] or ["a"]
    texts = [each for each in symbols if rng.random() < 0.95]
    for _ in range(rng.choice((0, 1, 4, 8, 14, 20))):
        text = rng.choice([*symbols, *texts]) + rng.choice([*symbols, *texts])
        if len(text) < 9 and text not in texts:
            texts.append(text)
    if rng.random() < 0.2:
        longer = "".join(rng.choices(symbols, k=rng.randrange(2, 6)))
        texts += [longer] if longer not in texts else []
    if rng.random() < 0.3:
        rng.shuffle(texts)
    step = rng.choice((1, 1, 1, 2, 5))
    scores = [-float(place // step) for place in range(len(texts))]
    if rng.random() < 0.2:
        scores = [rng.choice((0.0, -0.0, -1e-45, 1.5, -3e38, -2.0)) for _ in texts]
    likely = rng.choice(((100, 0, 0), (90, 6, 4), (60, 20, 20), (80, 20, 0), (80, 0, 20)))
    kinds = rng.choices((NORMAL, UNUSED, USER_DEFINED), likely, k=len(texts))
    return list(map(Piece, texts, scores, kinds))


def random_file(rng: random.Random) -> bytes:
    """A ``.model``."""
    pieces = random_pieces(rng)
    fallback = rng.random() < 0.5
    if fallback:
        pieces += BYTE_PIECES
    head = [Piece("<unk>", 0.0, UNKNOWN), *CONTROL_PIECES]
    return small_model(
        [*head, *pieces] if rng.random() < 0.9 else [*pieces, *head],
        fallback=fallback,
        prefix=rng.random() < 0.6,
        remove_extra=rng.random() < 0.1,
        escape=rng.random() < 0.85,
    )


def random_piece_model(rng: random.Random) -> BPEModel:
    """A model of characters, as its file has it or changed."""
    model = by_name("sentencepiece").load({"tokenizer.model": random_file(rng)})
    return _changed(model, rng) if rng.random() < 0.7 else model


def encoded_pieces(rng: random.Random) -> list[Case]:
    """Encodes texts with a model of characters, as :class:`.texts.Encoding` does."""
    model = random_piece_model(rng)
    texts = [*(random_text(rng) for _ in range(_LONG)), *short_texts(rng, _PARTS)]
    allowed = frozenset({"<s>"}) if rng.random() < 0.2 else frozenset[str]()
    return [Case(Encoding(model, texts, allowed), texts=len(texts))]


def fingerprints(rng: random.Random) -> list[Case]:
    """The fingerprint of a model of characters or of bytes, as its file has it or changed."""
    if rng.random() < 0.3:
        format, files = "huggingface", listed(byte_level(rng))
    else:
        format, files = "sentencepiece", {"tokenizer.model": random_file(rng)}
    state = rng.getstate() if format == "sentencepiece" and rng.random() < 0.5 else None

    def written() -> Answered:
        model = by_name(format).load(files)
        if state is not None:
            again = random.Random()
            again.setstate(state)
            model = _changed(model, again)
        found = fingerprint(model)
        return Answered(found, isinstance(canonical(model).splits, LazyDict))

    return [Case(written)]


def _changed(model: BPEModel, rng: random.Random) -> BPEModel:
    """The same as other formats may have it: listed merges, another fallback, a pre-tokenizer."""
    rule = model.merges
    if rng.random() < 0.6 and isinstance(rule, RankTable):
        rule = PairList(tuple(_pairs(rule.ranks, rng)))
    missing: Literal["error", "drop", "unknown"] = rng.choice(("error", "drop", "unknown"))
    fallback = Fallback(
        missing,
        0 if missing == "unknown" else None,
        fuse=missing == "unknown" and rng.random() < 0.6,
        byte_fallback=rng.random() < 0.5 and "byte" in model.vocab.kinds.values(),
        after_merging=rng.random() < 0.4,
    )
    ids, kinds = {**model.vocab.ids}, {**model.vocab.kinds}
    if rng.random() < 0.2:
        some = rng.choice([token for token in ids if token.startswith(b"<0x")] or [b""])
        if some and not isinstance(rule, RankTable):
            kinds.pop(ids.pop(some))
    steps: tuple[NormalizerStep, ...] = model.normalizer or ()
    if rng.random() < 0.3:
        steps = rng.choice(
            ((), (), (Lowercase(),), (Prepend(" x"), Replace(" ", _SPACE)), steps[:1])
        )
    if rng.random() < 0.3:
        shown = AddedToken("<t>", 2**21, special=False)
        model = replace(model, added=(*(model.added or ()), shown))
    pretokenizer = _steps(rng, steps)
    if rng.random() < 0.7 and Metaspace(_SPACE, "first") in pretokenizer:
        steps = ()
    return replace(
        model,
        vocab=replace(model.vocab, ids=ids, kinds=kinds),
        merges=rule,
        fallback=fallback,
        lookup_first=rng.random() < 0.2,
        normalizer=steps,
        pretokenizer=pretokenizer,
    )


def _steps(rng: random.Random, before: tuple[NormalizerStep, ...]) -> tuple[PreTokenizerStep, ...]:
    """A pre-tokenizer. What begins a text after SentencePiece's normalizer is asked of nobody."""
    first: tuple[Prefixing, ...] = ("always", "never")
    if not any(isinstance(step, SentencePieceText) for step in before):
        first = ("always", "never", "first", "first")
    written = Metaspace(rng.choice((_SPACE, _SPACE, "_")), rng.choice(first))
    return rng.choice(((), (), _CUT, _ISOLATED, (written,), (written, *_CUT)))


_CUT = (Split(_SPACE, "merged_with_next"),)
_ISOLATED = (Split(Pattern("[^a]+|a", "oniguruma"), "isolated"),)


def _pairs(ranks: Mapping[bytes, int], rng: random.Random) -> list[tuple[bytes, bytes]]:
    """Pairs that make ranked tokens: most of a token's cuts, perhaps one of them twice."""
    pairs = []
    for token in sorted(ranks, key=ranks.__getitem__):
        text = token.decode()
        parts = [(text[:cut].encode(), text[cut:].encode()) for cut in range(1, len(text))]
        pairs += [pair for pair in parts if {*pair} <= ranks.keys() and rng.random() < 0.8]
    if pairs and rng.random() < 0.3:
        pairs.append(rng.choice(pairs))
    if rng.random() < 0.2:
        rng.shuffle(pairs)
    return pairs


def random_text(rng: random.Random) -> str:
    """A text of characters that are tokens, and others, with runs that are merged with a heap."""
    parts = rng.choices(_PARTS, k=rng.choice((0, 1, 2, 4, 8, 13, 40)))
    if rng.random() < 0.2:
        letters = rng.choice(("a", "ab", "abc", "ab\u00e9\u65e5", "a ", "ab" + _SPACE, "xyz"))
        parts.append("".join(rng.choices(letters, k=rng.choice((15, 48, 49, 64, 65, 66, 300)))))
        rng.shuffle(parts)
    return "".join(parts)


_CHAINS: tuple[tuple[DecoderStep, ...], ...] = (
    (Replace(_SPACE, " "), ByteTokens(), Fuse(), StripToken(" ", 1, 0)),
    (Replace(_SPACE, " "), Replace("a", ""), Fuse(), StripToken(" ", 1, 1)),
    (ByteTokens(), Replace(_SPACE, " "), Fuse()),
    (Replace(_SPACE, " "), ByteTokens()),
    (ByteTokens(), Fuse(), Replace("ab", _SPACE)),
)


def decoded_pieces(rng: random.Random) -> list[Case]:
    """Decodes ids of a model of characters, few and many, by its own decoder or a chain."""
    model = by_name("sentencepiece").load({"tokenizer.model": random_file(rng)})
    if rng.random() < 0.5:
        model = replace(model, decoder=rng.choice(_CHAINS))
    own = model.vocab.ids
    encoder = Encoder(replace(model))

    def work(ids: Sequence[int]) -> Answered:
        text = encoder.decode(ids), encoder.decode(ids, skip_special=True)
        joiner = None if is_aside() else vars(encoder._decoder).get("_joiner")
        return Answered(text, native=joiner is not None)

    return [Case(partial(work, _random_ids(own, rng))) for _ in range(_SEQUENCES)]


def _random_ids(own: Mapping[bytes, int], rng: random.Random) -> list[int]:
    in_text = [own[token] for token in own if not token.startswith(b"<0x")]
    of_bytes = [own[token] for token in own if token.startswith((b"<0xE3", b"<0x81", b"<0x61"))]
    known = [*in_text, *in_text, *rng.choice(([], of_bytes, of_bytes * 2))]
    known += rng.choice(([], [], [0, 1, 2], [0]))
    ids = rng.choices(known, k=rng.choice((1, 31, 33, 60)))
    letters = [own[spelled] for spelled in (b"<0xE3>", b"<0x81>", b"<0x82>") if spelled in own]
    if letters and rng.random() < 0.3:
        letters.insert(rng.randrange(1, 3), rng.choice((0, 1, 3)))  # the bytes are apart then
    for place in range(0, len(ids), 7):
        ids[place:place] = letters
    if rng.random() < 0.3:
        ids = [1, *ids, 2]
    if rng.random() < 0.05:
        ids.append(2**22)
    return ids
