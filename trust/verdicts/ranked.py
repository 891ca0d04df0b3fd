"""Random small rank files, SentencePiece models and GPT-2 pairs."""

from __future__ import annotations

from random import Random

from fixtures.piece_model import BYTE, CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED
from fixtures.spellings import SPELLINGS

from .documents import PATTERNS
from .sources import ALL_BYTES, Json, Source, spelled

SCORES = (0.0, -0.0, 1e-45, -1e-45, 1.0, -1.0, 2.0**-126, 16777216.0, 16777217.0)
"""Scores at the edges of float32, equal ones among them."""


def random_ranks(rng: Random) -> Source:
    """A rank file and its sidecar."""
    some = ["ab", "ab ", "a\n\t", "a\u00e9", "a1 ", "xyzw", "a \n", "a'b ", ".\u055a\u0561"]
    letters = rng.choice(some)
    base = [bytes([byte]).decode("latin-1") for byte in range(256)]
    if rng.random() < 0.5:
        base = list(dict.fromkeys(letters.encode().decode("latin-1")))
    tokens = [*base, *_grown(rng, letters.encode().decode("latin-1"))]
    if rng.random() < 0.2:
        rng.shuffle(tokens)
    ranks = list(range(len(tokens)))
    if rng.random() < 0.3:
        hole = rng.choice([256, len(ranks) - 1, rng.randrange(len(ranks))])
        ranks = [rank + (rank >= hole) for rank in ranks]
    pattern = rng.choice([r"[\s\S]+", *(given.source for given in SPELLINGS.values()), *PATTERNS])
    special: dict[str, int] = {}
    number = ranks[-1] + 1
    for _ in range(rng.choice([0, 0, 1, 2, 3])):
        text = "".join(rng.choices(letters, k=rng.randint(1, 3)))
        text = rng.choice([text, text, "<s>", "a b"])
        special.setdefault(text, number)
        number += rng.choice([1, 1, 1, 3])
    if special and rng.random() < 0.3:
        free = sorted(set(range(ranks[-1])) - set(ranks))
        if free:
            special[next(iter(special))] = free[0]
    facts: Json = {
        "name": "t",
        "pat_str": pattern,
        "special_tokens": special,
        "ranks": [list(row) for row in zip(tokens, ranks, strict=True)],
    }
    return Source("tiktoken", facts, letters)


def _grown(rng: Random, letters: str) -> list[str]:
    """Strings of letters as training makes them, or arbitrary ones."""
    known = list(dict.fromkeys(letters))
    grown: list[str] = []
    for _ in range(rng.randint(1, 8)):
        new = rng.choice(known) + rng.choice(known)
        if rng.random() < 0.2:
            new = "".join(rng.choices(letters, k=rng.randint(2, 4)))
        if new not in known and len(new) <= 6:
            known.append(new)
            grown.append(new)
    return grown


def random_pieces(rng: Random) -> Source:
    """A SentencePiece model."""
    letters = rng.choice(["ab", "ab ", "abc", "a ", "a\u00e9", "ab\u2581", "a\x00"])
    marked = letters.replace(" ", "\u2581")
    texts = list(dict.fromkeys([*marked, *_grown(rng, marked)]))
    if rng.random() < 0.3:
        texts.append("\u2581")
    if rng.random() < 0.2:
        texts.remove(rng.choice(texts))
    kind = rng.randrange(4)
    scores: list[float] = [-float(place) for place in range(len(texts))]
    if kind == 1:
        scores = [-float(place // 2) for place in range(len(texts))]
    elif kind == 2:
        scores = [rng.choice(SCORES) for _ in texts]
    elif kind == 3:
        scores = [-float(rng.randrange(4)) for _ in texts]
    if scores and rng.random() < 0.3:
        scores[-1] = -0.0
    pieces: list[list[object]] = [["<unk>", 0.0, UNKNOWN]]
    if rng.random() < 0.6:
        pieces += [["<s>", 0.0, CONTROL], ["</s>", 0.0, CONTROL]]
    byte_fallback = rng.random() < 0.3
    if byte_fallback:
        pieces += [[f"<0x{byte:02X}>", 0.0, BYTE] for byte in range(256)]
    for text, score in dict(zip(texts, scores, strict=False)).items():
        pieces.append([text, score, rng.choices([NORMAL, UNUSED, USER_DEFINED], [17, 2, 1])[0]])
    pieces = list({str(row[0]): row for row in pieces}.values())
    facts: Json = {
        "pieces": pieces,
        "byte_fallback": byte_fallback,
        "suffix": rng.random() < 0.1,
        "unknown": rng.choice([None, None, None, "<unk>", "?"]),
        "dummy": rng.random() < 0.5,
        "remove_extra": rng.random() < 0.3,
        "escape": rng.random() < 0.9,
    }
    return Source("sentencepiece", facts, letters)


def random_gpt2(rng: Random) -> Source:
    """A GPT-2 pair over all bytes; sometimes a token is spelled as a key of other files."""
    letters = rng.choice(["ab", "ab ", "a\n", "a1 ", "a'b ", ".\u055a\u0561"])
    shown = spelled(letters.encode())
    tokens, merges = list(ALL_BYTES), []
    grown = list(dict.fromkeys(shown))
    for _ in range(rng.randint(1, 8)):
        pair = [rng.choice(grown), rng.choice(grown)]
        if "".join(pair) not in tokens:
            tokens.append("".join(pair))
            grown.append("".join(pair))
        merges.append(pair)
    merges = [list(pair) for pair in dict.fromkeys(map(tuple, merges))]
    if rng.random() < 0.2:
        rng.shuffle(merges)
    if rng.random() < 0.1:
        tokens += ["model", "vocab", "merges"]
    ids = list(range(len(tokens)))
    if rng.random() < 0.3:
        rng.shuffle(ids)
    vocab = dict(zip(tokens, ids, strict=True))
    return Source("gpt2", {"vocab": vocab, "merges": merges}, letters)
