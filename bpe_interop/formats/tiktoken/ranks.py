"""The lines of a rank file: ``base64 SP number``, one token each."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator, Mapping
from typing import NoReturn

from ...errors import FormatError
from ...kernel.files import ranks_text
from ...kernel.files import read_ranks as read_in_kernel
from ...kernel.tables import in_order
from ...model import BPEModel
from ...quoting import show

MAX_RANK = 2**32 - 2
"""The largest rank: tiktoken marks "no merge" with 2**32 - 1 (``src/lib.rs``, ``Rank::MAX``)."""

EMPTY = "="
"""How the empty token is written; base64 of nothing would leave the line without a token."""

SUFFIX = ".tiktoken"
PLUGIN = "plugin/"
"""How the name of a rank file ends, and how those begin that are not read."""

_LINE = re.compile(rb"(\S+) (\S+)", re.ASCII)
_NUMBER = re.compile(rb"0|[1-9][0-9]*")
_BASE64 = re.compile(rb"[A-Za-z0-9+/]*={0,2}")


def looks_like_ranks(data: bytes) -> bool:
    """Whether the first lines that are not blank read ``base64 SP number``."""
    lines = [line for line in data[:4096].splitlines() if line][:3]
    if len(data) > 4096 and len(lines) < 3:
        lines = lines[:-1]
    return bool(lines) and all(_seems_a_line(line) for line in lines)


def _seems_a_line(line: bytes) -> bool:
    match = _LINE.fullmatch(line)
    if match is None or _NUMBER.fullmatch(match[2]) is None:
        return False
    token = match[1]
    return token == b"=" or (len(token) % 4 == 0 and _BASE64.fullmatch(token) is not None)


def read_ranks(data: bytes, name: str) -> Mapping[bytes, int]:
    """Tokens and their numbers in the order of the file, the empty token included.

    Args:
        data: the file's bytes; lines end in LF or CRLF, and empty lines are passed over.
        name: the file's name, for messages.

    Raises:
        FormatError: a line is malformed, or a token or a number appears twice; with the line.
    """
    by_kernel = read_in_kernel(data)
    if by_kernel is not None:
        return by_kernel
    ranks: dict[bytes, int] = {}
    token_lines: dict[bytes, int] = {}
    number_lines: dict[int, int] = {}
    for at, token, number in _lines(data, name):
        first = token_lines.setdefault(token, at)
        if first != at:
            _fail(name, at, f"the token {show(token)} stands already in line {first}")
        first = number_lines.setdefault(number, at)
        if first != at:
            _fail(name, at, f"the number {number} stands already in line {first}")
        ranks[token] = number
    if not ranks:
        raise FormatError("the file holds no tokens", where=name, fix="get the file again")
    return ranks


def written_tokens(model: BPEModel) -> Mapping[bytes, int]:
    """The tokens that have a line, in the order of their ids; the empty token is one of them."""
    from ...theory.byte_ranks import rank_table  # reading does not wait for it

    table = rank_table(model)
    if max(table.values(), default=0) > MAX_RANK:
        table = {token: rank for token, rank in table.items() if rank <= MAX_RANK}
    if b"" in model.vocab.ids:
        table = {**table, b"": model.vocab.ids[b""]}
    if in_order(table):
        return table
    return dict(sorted(table.items(), key=lambda item: item[1]))


def write_ranks(ranks: Mapping[bytes, int]) -> bytes:
    native = ranks_text(ranks)
    if native is not None:
        return native
    # b2a_base64 ends each token with a newline: one join and one split encode them all.
    spelled = b"".join(map(binascii.b2a_base64, ranks)).decode().splitlines()
    lines = [
        f"{word or EMPTY} {rank}\n" for word, rank in zip(spelled, ranks.values(), strict=True)
    ]
    return "".join(lines).encode()


def _lines(data: bytes, name: str) -> Iterator[tuple[int, bytes, int]]:
    """Line number (from 1), token and rank of each line that is not blank."""
    if data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        _fail(name, 1, "the file begins with a byte order mark", "save it without one, as ASCII")
    for at, line in enumerate(data.split(b"\n"), 1):
        line = line.removesuffix(b"\r")
        if not line:
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            _fail(name, at, f"expected `base64 number`, found {_excerpt(line)}")
        yield at, _token(match[1], name, at), _number(match[2], name, at)


def _token(word: bytes, name: str, at: int) -> bytes:
    if word == EMPTY.encode():
        return b""
    if _BASE64.fullmatch(word) is None:
        _fail(name, at, f"{_excerpt(word)} is not base64 (A-Z a-z 0-9 + / and = at the end)")
    if len(word) % 4:
        _fail(name, at, f"the base64 {_excerpt(word)} has the wrong length or padding")
    token = binascii.a2b_base64(word)
    if binascii.b2a_base64(token, newline=False) != word:
        _fail(
            name, at, f"the base64 {_excerpt(word)} has stray bits: it is not what encoding gives"
        )
    return token


def _number(word: bytes, name: str, at: int) -> int:
    if word.startswith(b"-") and _NUMBER.fullmatch(word[1:]):
        _fail(name, at, f"the rank {_excerpt(word)} is negative")
    if _NUMBER.fullmatch(word) is None:
        _fail(name, at, f"the rank {_excerpt(word)} is not a plain decimal number")
    # A number of many thousand digits is never converted: int() refuses those.
    if len(word) > 10 or int(word) > MAX_RANK:
        _fail(
            name,
            at,
            f"the rank {_excerpt(word)} is above {MAX_RANK}",
            "tiktoken holds ranks in 32 bits and keeps the last one for `no merge`",
        )
    return int(word)


def _excerpt(word: bytes) -> str:
    shown = ascii(word[:40])[1:]
    return shown + ("..." if len(word) > 40 else "")


def _fail(name: str, at: int, what: str, fix: str = "") -> NoReturn:
    raise FormatError(what, where=f"{name}:{at}", fix=fix)
