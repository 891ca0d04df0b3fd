"""Reading and writing the two files of a pair."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NoReturn

from ...entries import numbered
from ...errors import FormatError, not_utf8
from ...kernel import may_hold, pairs_text, read_pair, vocabulary_text
from ...model import Affixes, BPEModel, Fallback, Kind, Origin, PairList, Vocab, show
from ...steps import JoinBytes
from ...strict_json import Node, parse
from ...text.bytechars import is_mapped, to_bytes, to_chars
from ...theory.utf8 import missing_bytes
from .. import Files
from .names import NAMES, find_pairs

_HEADER = "#version: 0.2"
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
            files={
                key: hashlib.sha256(files[key]).hexdigest() for key in (vocab_name, merges_name)
            },
        ),
    )


def dump(model: BPEModel, *, names: str = "encoder") -> Files:
    """Writes the pair, as OpenAI's own files are written.

    Added tokens stand in the vocabulary with their ids. For a rank table, the merges are the
    split of each token that merging reaches, in rank order.

    Args:
        model: the model.
        names: ``encoder`` (``encoder.json`` and ``vocab.bpe``) or ``vocab`` (``vocab.json`` and
            ``merges.txt``).
    """
    if model.alphabet != "byte":
        from ...theory.byte_ranks import over_bytes  # reading does not wait for it

        model = over_bytes(model) or model
    vocab_name, merges_name = NAMES[names]
    return {vocab_name: _vocabulary(model), merges_name: _merges(model)}


def with_vocab_names(model: BPEModel, files: Files) -> Files:
    """The pair under the names that Hugging Face uses."""
    return dump(model, names="vocab")


def _vocabulary(model: BPEModel) -> bytes:
    literal = _literal(model)
    if not any(map(is_mapped, literal.values())):
        others = {**{text: model.vocab.ids[token] for token, text in literal.items()}}
        others.update(added_entries(model))
        spelled = [(json.dumps(text), number) for text, number in others.items()]
        text = vocabulary_text(
            model.vocab.ids, spelled, literal=literal, ascii_only=True, between=b", "
        )
        if text is not None:
            return b"".join((b"{", text, b"}"))
    return json.dumps(dict(sorted(entries(model).items(), key=lambda item: item[1]))).encode()


def _merges(model: BPEModel) -> bytes:
    pairs = pair_list(model)
    text = pairs_text(pairs)
    if text is None:
        each = pairs.values() if isinstance(pairs, Mapping) else pairs
        lines = (f"{to_chars(left)} {to_chars(right)}\n" for left, right in each)
        text = bytearray("".join(lines), "utf-8")
    return b"".join((f"{_HEADER}\n".encode(), text))


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


def entries(model: BPEModel) -> dict[str, int]:
    """Spellings to ids: the vocabulary, and each added token that it has a place for."""
    ids, literal = model.vocab.ids, _literal(model)
    own = {literal.get(content) or to_chars(content): number for content, number in ids.items()}
    return own | added_entries(model)


def _literal(model: BPEModel) -> dict[bytes, str]:
    """The tokens that are not spelled in the byte alphabet, and how they are."""
    control = {number for number, kind in model.vocab.kinds.items() if kind == "control"}
    literal = numbered(model.vocab.ids, control).values() if control else ()
    return {content: content.decode("utf-8", "replace") for content in literal}


def added_entries(model: BPEModel) -> dict[str, int]:
    """The added tokens that the vocabulary has a place for."""
    ids = model.vocab.ids
    placed: dict[str, int] = {}
    taken = set(ids.values())
    for token in model.added or ():
        text = token.text
        read_as = to_bytes(text) if is_mapped(text) else text.encode()
        if token.id not in taken and read_as not in ids and len(read_as) > 1:
            placed[text] = token.id
            taken.add(token.id)
    return placed


def pair_list(
    model: BPEModel,
) -> Sequence[tuple[bytes, bytes]] | Mapping[bytes, tuple[bytes, bytes]]:
    """The merges to write: as listed, or each reachable token's split in rank order.

    Those that name what is no token are left out, because no reader takes them: bytes without a
    token, and what a model that merges something else than bytes has.
    """
    from ...merging.canonical import canonical

    pairs = model.merges.pairs if isinstance(model.merges, PairList) else canonical(model).splits
    plain = model.alphabet == "byte" and model.affixes == Affixes()
    if plain and not missing_bytes(model.vocab.ids):
        return pairs
    ids, each = model.vocab.ids, pairs.values() if isinstance(pairs, Mapping) else pairs
    return [(x, y) for x, y in each if x in ids and y in ids and x + y in ids]


def first_comment(model: BPEModel) -> tuple[bytes, bytes] | None:
    """The first merge to write that readers take for a comment."""
    ids, start = model.vocab.ids, COMMENT.encode()
    if not may_hold(ids, start):
        return None
    pairs = pair_list(model)
    each = pairs.values() if isinstance(pairs, Mapping) else pairs
    return next((pair for pair in each if pair[0].startswith(start)), None)
