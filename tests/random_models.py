"""Random small SentencePiece models, with every kind of piece and setting of spaces."""

from __future__ import annotations

from random import Random

from fixtures.piece_model import (
    BYTE_PIECES,
    CONTROL_PIECES,
    NORMAL,
    TRAINER,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    Piece,
    small_model,
    with_field,
)

SUFFIX = 24
"""The field of ``TrainerSpec`` that says where spaces are written."""

_PARTS = (
    *("a", "b", "ab", "aab", "c", "cc", "\u00e9", " ", "  ", "\u2581", "\u65e5", "x", "\n"),
    *("\U0001f642", "<u>", "<un>k", "<s>", "<unk>", "?"),
)


def random_model_text(rng: Random) -> str:
    """A text of characters that are in some models and not in others."""
    return "".join(rng.choice(_PARTS) for _ in range(rng.randint(0, 9)))


def random_model(rng: Random) -> bytes:
    """A ``.model``: a handful of pieces; scores in order, tied, or at random."""
    pieces = _pieces(rng)
    fallback = rng.random() < 0.5
    if fallback:
        pieces += BYTE_PIECES
    unknown = Piece(rng.choice(["<unk>", "[UNK]", "?"]), 0.0, UNKNOWN)
    model = small_model(
        [unknown, *CONTROL_PIECES, *pieces],
        fallback=fallback,
        prefix=rng.random() < 0.6,
        remove_extra=rng.random() < 0.25,
        escape=rng.random() < 0.85,
    )
    return with_field(model, TRAINER, SUFFIX, 1) if rng.random() < 0.05 else model


def _pieces(rng: Random) -> list[Piece]:
    texts = [char for char in "ab\u2581c\u00e9\u65e5" if rng.random() < 0.85] or ["a"]
    if rng.random() < 0.8 and "\u2581" not in texts:
        texts.append("\u2581")
    for _ in range(rng.randint(0, 14)):
        text = rng.choice(texts) + rng.choice(texts)
        if len(text) < 7 and text not in texts:
            texts.append(text)
    style = rng.choice(["ordered", "ordered", "ordered", "tied", "random"])
    scores = {
        "ordered": [-float(place) for place in range(len(texts))],
        "tied": [-float(rng.randint(0, 6)) for _ in texts],
        "random": [rng.random() * -10 for _ in texts],
    }[style]
    kinds = rng.choices([NORMAL, UNUSED, USER_DEFINED], [90, 6, 4], k=len(texts))
    # What becomes of an unused character is not the merges' business, which witnesses go by.
    kinds = [NORMAL if len(t) == 1 else kind for t, kind in zip(texts, kinds, strict=True)]
    pieces = list(map(Piece, texts, scores, kinds))
    for text in ("<u>", "  ", "\n", "\u2581\u2581", "ab ", "<un>k"):
        if rng.random() < 0.07 and text not in texts:
            pieces.append(Piece(text, 0.0, rng.choice([USER_DEFINED, USER_DEFINED, NORMAL])))
    if rng.random() < 0.3:
        rng.shuffle(pieces)
    return pieces
