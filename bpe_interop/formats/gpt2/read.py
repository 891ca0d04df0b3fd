"""From the two files of a pair to the model."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NoReturn

from ...errors import FormatError, not_utf8
from ...kernel.files import read_pair
from ...model import BPEModel, Fallback, Kind, Origin, PairList, Vocab, digests
from ...quoting import show
from ...steps import JoinBytes
from ...strict_json import Node, parse
from ...text.bytechars import to_bytes
from ...theory.utf8 import missing_bytes
from .. import Files
from . import NAMES, find_pairs

COMMENT = "#version"


def load(files: Files) -> BPEModel:
    """Reads ``encoder.json`` + ``vocab.bpe``, or ``vocab.json`` + ``merges.txt``.

    Longer names with these endings are accepted too (``gpt2-vocab.json``).

    Raises:
        FormatError: a file is missing or malformed; the message names the line or the JSON path.
    """
    vocab_name, merges_name, name = _one_pair(files)
    ids: Mapping[bytes, int]
    pairs: Sequence[tuple[bytes, bytes]]
    native = read_pair(files[vocab_name], files[merges_name])
    if native is not None:
        ids, pairs, literal = native
    else:
        contents, ids, spellings = _read_vocab(parse(files[vocab_name], vocab_name))
        pairs = tuple(_read_merges(files[merges_name], merges_name, contents, spellings))
        literal = tuple(text.encode() for text in spellings)
    kinds: dict[int, Kind] = {ids[content]: "control" for content in sorted(literal)}
    bytes_there = map(bytes, zip(range(256)))
    spelled = {each for each in bytes_there if each in ids and ids[each] not in kinds}
    return BPEModel(
        vocab=Vocab(ids, kinds),
        merges=PairList(pairs),
        fallback=fallback_of(spelled),
        decoder=(JoinBytes(),),
        origin=Origin(
            "gpt2",
            name=name,
            files=digests({key: files[key] for key in (vocab_name, merges_name)}),
        ),
    )


def _one_pair(files: Files) -> tuple[str, str, str]:
    pairs = find_pairs(files)
    if len(pairs) == 1:
        return pairs[0]
    known = " or ".join(f"{vocab} + {merges}" for vocab, merges in NAMES.values())
    if pairs:
        listed = "; ".join(f"{vocab} + {merges}" for vocab, merges, _ in pairs)
        raise FormatError(f"more than one pair is here: {listed}", fix="name one of them")
    raise FormatError(
        f"no vocabulary with its merges among {', '.join(sorted(files)) or 'no files'}",
        fix=f"a pair is {known}, with the same beginning",
    )


def _read_vocab(root: Node) -> tuple[dict[str, bytes], dict[bytes, int], frozenset[str]]:
    """Spelling to content, content to id, and the spellings outside the byte alphabet."""
    spelled = root.ids()
    contents: dict[str, bytes] = {}
    ids: dict[bytes, int] = {}
    owners: dict[int, str] = {}
    literal: list[str] = []
    for text, number in spelled.items():
        other = owners.setdefault(number, text)
        if other is not text:
            root[text].fail(f"the id {number} is also that of {show(other)}")
        try:
            content = to_bytes(text)
        except ValueError:
            content = text.encode()
            literal.append(text)
        if content in ids:
            root[text].fail(f"it stands for the same bytes as {show(owners[ids[content]])}")
        contents[text] = content
        ids[content] = number
    return contents, ids, frozenset(literal)


def _read_merges(
    data: bytes, name: str, contents: Mapping[str, bytes], literal: frozenset[str]
) -> Iterator[tuple[bytes, bytes]]:
    for at, line in _lines(data, name):
        left, _, right = line.partition(" ")
        if not (left and right) or " " in right:
            wrong = f"expected a merge, found {show(line[:60])}" if line else "the line is empty"
            _fail(name, at, wrong, "a merge is two tokens with one space between them")
        for token in (left, right, left + right):
            if token not in contents:
                role = "the merge gives" if token == left + right else "the merge names"
                what = f"{role} {show(token)}, which is not in the vocabulary"
                _fail(name, at, what, "do the two files belong together?")
            if token in literal:
                _fail(name, at, f"{show(token)} is not spelled in GPT-2's byte alphabet")
        yield contents[left], contents[right]


def _lines(data: bytes, name: str) -> Iterator[tuple[int, str]]:
    """Number (from 1) and text of each merge line, cut as Rust's ``BufRead::lines`` does."""
    if not data.strip():
        raise FormatError("the file is empty", where=name, fix="get the file again")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        at = data.count(b"\n", 0, error.start) + 1
        _fail(name, at, not_utf8(error), "the file may be damaged; get it again")
    if text.startswith("\ufeff"):
        _fail(name, 1, "the file begins with a byte order mark", "save it as UTF-8 without one")
    *ended, last = text.split("\n")
    lines = [line.removesuffix("\r") for line in ended]
    if last:
        lines.append(last)
    for at, line in enumerate(lines, 1):
        if not line.startswith(COMMENT):
            yield at, line


def _fail(name: str, at: int, what: str, fix: str = "") -> NoReturn:
    raise FormatError(what, where=f"{name}:{at}", fix=fix)


def fallback_of(contents: Collection[bytes]) -> Fallback:
    """A byte without a token vanishes: tokenizers reads a pair without an unknown token."""
    return Fallback("drop") if missing_bytes(contents) else Fallback()
