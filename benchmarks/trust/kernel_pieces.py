"""What the native kernel does with SentencePiece models, beside what Python does.

Models are small and random, with every kind of piece: scores in order, tied, and of both zeros;
UNUSED and user-defined pieces, pieces of characters that are none themselves; with the tokens of
bytes and without. Files are also damaged in their bytes.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from pathlib import Path

from bpe_interop.formats import by_name
from fixtures.piece_model import (
    BYTE,
    CONTROL,
    DUMMY_PREFIX,
    ESCAPE,
    NORMAL,
    NORMALIZER,
    REMOVE_EXTRA,
    TRAINER,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    Piece,
    with_field,
    with_pieces,
)

from .readers import damaged

_FOLDER = Path(__file__).parents[2] / "fixtures" / "tokenizers" / "spm-tiny" / "sentencepiece"
_BYTE_FALLBACK = 35
_SPACE = "\u2581"
_SYMBOLS = ("a", "b", "c", _SPACE, "\u00e9", "\u65e5", "\U0001f600")


@cache
def _base() -> bytes:
    return (_FOLDER / "tokenizer.model").read_bytes()


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
        pieces += [Piece(f"<0x{byte:02X}>", 0.0, BYTE) for byte in range(256)]
    head = [Piece("<unk>", 0.0, UNKNOWN), Piece("<s>", 0.0, CONTROL), Piece("</s>", 0.0, CONTROL)]
    model = with_pieces(_base(), [*head, *pieces] if rng.random() < 0.9 else [*pieces, *head])
    model = with_field(model, TRAINER, _BYTE_FALLBACK, int(fallback))
    model = with_field(model, NORMALIZER, DUMMY_PREFIX, int(rng.random() < 0.6))
    model = with_field(model, NORMALIZER, REMOVE_EXTRA, int(rng.random() < 0.1))
    return with_field(model, NORMALIZER, ESCAPE, int(rng.random() < 0.85))


def pieces_read(rng: random.Random) -> Callable[[], object]:
    """Reads a ``.model``, mostly a random one, half of them damaged."""
    files = {"tokenizer.model": random_file(rng)}
    if rng.random() < 0.2:
        folders = sorted(_FOLDER.parents[1].glob("spm-*/sentencepiece"))
        folder = rng.choice(folders)
        files = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
    if rng.random() < 0.5:
        files = damaged(files, rng)
    return lambda: by_name("sentencepiece").load(files)
