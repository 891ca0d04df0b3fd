"""What sides have to agree on: ids of awkward texts, or the ranks of tokens, as hashes."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

Encode = Callable[[str], Iterable[int]]

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "corpora"
LEFT_OUT = "special.txt"
"""Libraries differ on purpose in whether they find special tokens in a text."""


def digest(ids: Iterable[int]) -> str:
    """A hash of ids."""
    return hashlib.blake2b(array("I", ids).tobytes(), digest_size=8).hexdigest()


def of_ids(encode: Encode) -> dict[str, str]:
    """What an encoder makes of each corpus of the repository."""
    files = sorted(file for file in FIXTURES.iterdir() if file.name != LEFT_OUT)
    return {file.stem: digest(encode(file.read_bytes().decode("utf-8"))) for file in files}


def of_tokenizer_json(path: str | Path) -> dict[str, str]:
    """What tokenizers makes of them with a ``tokenizer.json``."""
    import tokenizers

    made = tokenizers.Tokenizer.from_file(str(path))
    return of_ids(lambda text: made.encode(text, add_special_tokens=False).ids)


def of_ranks(ranks: Mapping[bytes, int], special: Iterable[bytes]) -> dict[str, str]:
    """The ranks of all tokens that are not special."""
    out = frozenset(special)
    kept: list[tuple[int, bytes]] = sorted((n, t) for t, n in ranks.items() if t not in out)
    content = b"".join(b"%d %s\n" % (number, token.hex().encode()) for number, token in kept)
    return {"ranks": hashlib.blake2b(content, digest_size=8).hexdigest(), "tokens": str(len(kept))}


def nothing(result: Any) -> None:
    """Where there is nothing to agree on."""
