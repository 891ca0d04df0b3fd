"""Changes to the files of a tokenizer that leave most of it as it was."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any, TypeAlias

from bpe_interop.formats import Files
from fixtures.piece_model import NORMALIZER, TRAINER, Piece, pieces_of, with_field, with_pieces

from .gguf_damage import damaged_gguf

_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, 2, -1, 1.5, "", "a", " ", "\n", "\u00e9", "##", "</w>", [], {}),
    *("Isolated", "Removed", "MergedWithNext", "Contiguous", "always", "never", "first", "[ab]+"),
)
_PATTERNS = (
    *(
        "a*",
        "a|b",
        r"\s+|\S+",
        "(?<=a)b",
        "(?<!(a))b",
        r"\p{L}+|.",
        "(?i:S)s",
        "[^a",
        "(?>a+)b",
        "",
    ),
    *(
        r"\w+|[^\w\s]+",
        "(a)(b)?",
        "a{2,1}",
        "(?=b)",
        r"\X",
        r"\bA\b",
        "^a|b$",
        "a++|.",
        "[[:alpha:]]+",
    ),
)
_WORDS = ("a", "b", "ab", " ", "\n", "<s>", "\u00e9", "\u2581", "\0", "x y", "\U0001f642")

Change: TypeAlias = Callable[[bytes, Random], bytes]


def damaged(files: Files, rng: Random) -> tuple[dict[str, bytes], str]:
    """The files with one to three changes, and what was changed."""
    changed, said = dict(files), []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        name = rng.choice(sorted(changed))
        change = _of(name)
        changed[name] = change(changed[name], rng)
        said.append(name.rpartition("/")[2])
    return changed, " + ".join(said)


def _of(name: str) -> Change:
    if name.endswith(".json"):
        return _json
    if name.endswith("tokenizer.model"):
        return _pieces
    if name.endswith(".gguf"):
        return damaged_gguf
    return _ranks if name.endswith(".tiktoken") else _lines


def _json(data: bytes, rng: Random) -> bytes:
    try:
        whole = json.loads(data)
    except ValueError:
        return data
    places = _places(whole, rng)
    if places:
        _change(*rng.choice(places), rng)
    return json.dumps(whole, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")


def _places(whole: Any, rng: Random) -> list[tuple[Any, Any]]:
    """Containers and keys: all of the small ones, a few of the large ones."""
    found: list[tuple[Any, Any]] = []
    stack = [whole]
    while stack:
        node = stack.pop()
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        for key in rng.sample(keys, 4) if len(keys) > 60 else keys:
            found.append((node, key))
            if isinstance(node[key], (dict, list)):
                stack.append(node[key])
    return found


def _change(node: Any, key: Any, rng: Random) -> None:
    value = node[key]
    chance = rng.random()
    if key in ("Regex", "String", "pat_str"):
        node[key] = rng.choice(_PATTERNS)
    elif isinstance(value, bool) and chance < 0.8:
        node[key] = not value
    elif isinstance(value, int) and chance < 0.7:
        node[key] = value + rng.choice((-1, 1, 1000))
    elif isinstance(value, str) and chance < 0.6:
        node[key] = rng.choice((value + "a", value[1:], value.upper(), rng.choice(_WORDS)))
    elif isinstance(value, list) and value and chance < 0.7:
        at = rng.randrange(len(value))
        rng.choice((lambda: value.pop(at), lambda: value.append(value[at]), value.reverse))()
    elif chance < 0.5 and isinstance(node, dict):
        del node[key]
    else:
        node[key] = rng.choice(_VALUES)


def _pieces(data: bytes, rng: Random) -> bytes:
    if rng.random() < 0.3:
        part = rng.choice((TRAINER, NORMALIZER))
        number = rng.choice((3, 24, 35, 40, 44) if part == TRAINER else (3, 4, 5))
        return with_field(data, part, number, rng.choice((0, 1, None)))
    pieces = pieces_of(data)
    at, other = rng.randrange(len(pieces)), rng.randrange(len(pieces))
    piece = pieces[at]
    what = rng.randrange(7)
    if what == 0:
        pieces[at] = replace(piece, score=rng.choice((0.0, -0.0, -1e-45, 3.5, pieces[other].score)))
    elif what == 1:
        pieces[at] = replace(piece, kind=rng.randint(1, 6))
    elif what == 2:
        pieces[at] = replace(piece, text=rng.choice((*_WORDS, piece.text + "a", piece.text[1:])))
    elif what == 3:
        pieces[at], pieces[other] = pieces[other], pieces[at]
    elif what == 4:
        del pieces[at]
    elif what == 5:
        pieces.append(Piece(rng.choice(_WORDS), piece.score, rng.randint(1, 6)))
    else:
        pieces[at] = replace(piece, text=piece.text + pieces[other].text)
    return with_pieces(data, pieces)


def _ranks(data: bytes, rng: Random) -> bytes:
    lines = data.split(b"\n")
    at = rng.randrange(max(1, len(lines) - 1))
    word, _, number = lines[at].partition(b" ")
    what = rng.randrange(5)
    if what == 0:
        lines[at] = word + b" %d" % rng.choice((0, 1, len(lines), 5000))
    elif what == 1:
        token = rng.choice(_WORDS).encode() * rng.randint(0, 3)
        lines[at] = (base64.b64encode(token) or b"=") + b" " + number
    elif what == 2:
        del lines[at]
    elif what == 3:
        other = rng.randrange(max(1, len(lines) - 1))
        lines[at], lines[other] = lines[other], lines[at]
    else:
        return _lines(data, rng)
    return b"\n".join(lines)


def _lines(data: bytes, rng: Random) -> bytes:
    lines = data.split(b"\n")
    at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    what = rng.randrange(6)
    if what == 0:
        del lines[at]
    elif what == 1:
        lines.insert(other, lines[at])
    elif what == 2:
        lines[at], lines[other] = lines[other], lines[at]
    elif what == 3:
        lines[at] = lines[at].replace(b" ", rng.choice((b"  ", b"\t", b"", b" a ")), 1)
    elif what == 4:
        lines[at] += rng.choice((b"\r", b" ", b"a", b"#version"))
    else:
        lines[at] = b" ".join(lines[at].split(b" ")[::-1])
    return b"\n".join(lines)
