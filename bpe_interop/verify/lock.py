"""Lock files: what a tokenizer does today, to compare with what it does tomorrow.

A lock file is one JSON object: ``bpe_interop_lock`` (the version of this layout, 4), ``source``
(how the tokenizer was named), ``fingerprint`` (:mod:`bpe_interop.fingerprint`), ``versions``
(of this library and the engines), ``roles`` and ``chat_template`` (which change no id),
``merges``: hashes of blocks of them, ``stated`` (:mod:`.lock_stated`): steps and added tokens to
read, not in layout 3, which is read too, ``golden``: texts with their ids, for each of the ways of
asking for ids that the tokenizer answers, ``tokens``: the ids of each token's own texts, both
packed, and ``sha256`` of all that, so that a file that was cut, merged or edited is refused.
Equal fingerprints mean equal tokenizers. Where they are not equal, the texts' ids show whether
and where ids changed.
"""

from __future__ import annotations

import base64
import bz2
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import NamedTuple, cast

from ..encode import Encoder
from ..errors import EncodeError, FormatError
from ..fingerprint import PARTS, fingerprint
from ..merging.canonical import canonical
from ..model import MAX_ID, BPEModel, show
from ..strict_json import Node, parse
from .lock_stated import Stated, read_stated, stated_by
from .stress import around_added, code_points, fixed, random_texts, texts_with, tokens

KEY = "bpe_interop_lock"
VERSION, OLDER = 4, 3
BLOCK = 256
"""How many merges a hash is of."""

ASKED = ("text", "parse", "template")
"""How ids are asked for: special strings as text; parsed; parsed with the template applied."""


@dataclass(frozen=True, slots=True)
class Lock:
    """What a lock file says. ``golden``: (how asked, text, ids).

    ``merges``: see :func:`merge_blocks`; ``tokens``: every token in a text; ``roles``: see
    :func:`roles_of`; ``chat_template``: its sha256 (hex), empty where there is none; ``stated``:
    what people can read of it, None in layout 3.
    """

    source: str
    fingerprint: Mapping[str, str]
    versions: Mapping[str, str]
    golden: tuple[tuple[str, str, tuple[int, ...]], ...]
    merges: tuple[str, ...]
    tokens: tuple[OwnText, ...]
    roles: tuple[str, ...]
    chat_template: str
    stated: Stated | None = None


def lock(model: BPEModel, source: str, versions: Mapping[str, str]) -> Lock:
    """Freezes what a model does.

    Args:
        model: the tokenizer.
        source: how it was named.
        versions: libraries to their versions, for people.

    Raises:
        UnstatedError: the pre-tokenizer or normalizer is not stated.
    """
    golden, tokens = tuple(_golden(model)), tuple(own_texts(model))
    return Lock(
        source,
        fingerprint(model),
        versions,
        golden,
        merge_blocks(model),
        tokens,
        roles_of(model),
        chat_template_of(model),
        stated_by(model),
    )


def roles_of(model: BPEModel) -> tuple[str, ...]:
    """What special tokens are for, in words, in order: ``eos "</s>"``."""
    tokens = model.added or ()
    return tuple(sorted(f"{role} {show(token.text)}" for token in tokens for role in token.roles))


def chat_template_of(model: BPEModel) -> str:
    """The sha256 (hex) of the chat template; empty where there is none."""
    if model.chat_template is None:
        return ""
    return hashlib.sha256(model.chat_template.encode("utf-8", "surrogatepass")).hexdigest()


def merge_blocks(model: BPEModel) -> tuple[str, ...]:
    """A short hash of each 256 merges in canonical form, in order of priority.

    Equal fingerprints are not decided by them: they say where merges changed.
    """
    form = canonical(model)
    rows, before = [], None
    for token, (left, right) in form.splits.items():
        rows.append(f"{left.hex()} {right.hex()} {form.priority[token] == before}")
        before = form.priority[token]
    blocks = (rows[start : start + BLOCK] for start in range(0, len(rows), BLOCK))
    return tuple(hashlib.sha256("\n".join(each).encode()).hexdigest()[:12] for each in blocks)


def answers(model: BPEModel) -> tuple[str, ...]:
    """The ways of asking for ids that a model can answer."""
    if model.added is None:
        return ASKED[:1]
    return ASKED if model.sequence_template is not None else ASKED[:2]


def _ask(encoder: Encoder, how: str, text: str) -> tuple[int, ...] | None:
    """The ids of a text, asked for in one of the ways of ``ASKED``; None where it has none."""
    try:
        ids = encoder.encode(text, frozenset() if how == "text" else "all")
    except EncodeError:
        return None
    return tuple(encoder.template(ids) if how == "template" else ids)


def answered_by(
    model: BPEModel, asked: Iterable[tuple[str, str]]
) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    """The ids that a model gives for texts, each asked for in a way; none where it has none."""
    encoder = Encoder(model)
    for how, text in asked:
        ids = _ask(encoder, how, text)
        if ids is not None:
            yield how, text, ids


def _golden(model: BPEModel) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    encoder = Encoder(model)
    seen: dict[str, tuple[int, ...] | None] = {}
    for text in _texts(model):
        if text in seen:
            continue
        seen[text] = plain = _ask(encoder, "text", text)
        if plain is None:
            continue
        yield "text", text, plain
        previous = plain
        for how in answers(model)[1:]:
            ids = _ask(encoder, how, text)
            # What is asked in another way and answered alike need not be said again.
            if ids is not None and ids != previous:
                yield how, text, ids
    for how in answers(model)[1:]:
        ids = _ask(encoder, how, "a")
        if ids is not None:
            yield how, "a", ids
    if len(answers(model)) > 1:
        for token in model.added or ():
            # Each flag of a token changes the ids of one of these.
            for text in (token.text, f"a {token.text} b", f"a{token.text}b"):
                plain = None
                for how in ASKED[:2] if text not in seen else ():
                    ids = _ask(encoder, how, text)
                    if ids is not None and ids != plain:
                        yield how, text, ids
                    plain = ids


def _texts(model: BPEModel) -> Iterator[str]:
    yield from fixed()
    yield from around_added(model, 20)
    yield from tokens(model, 150)
    # One of the four contexts: a lock file is for a repository, and should stay small.
    yield from islice(code_points(500), 0, None, 4)
    yield from random_texts(model, 200)


def dump(frozen: Lock) -> bytes:
    """A lock file. The same bytes for the same lock."""
    head = {**_head(frozen), "sha256": _digest(frozen)}
    stated = head.pop("stated", None)
    written = [json.dumps(head, indent=2)[:-2]]
    if isinstance(stated, dict):
        fields = (f"    {json.dumps(key)}: {_listed(value)}" for key, value in stated.items())
        written.append('  "stated": {\n' + ",\n".join(fields) + "\n  }")
    for name, table in (("golden", frozen.golden), ("tokens", as_table(frozen.tokens))):
        listed = ",\n".join("    " + json.dumps(line) for line in pack(table))
        written.append(f'  "{name}": [\n{listed}\n  ]')
    return (",\n".join(written) + "\n}\n").encode("ascii")


def _listed(value: object) -> str:
    """JSON with each step, each token and each setting on a line of its own."""
    if isinstance(value, dict) and value:
        rows = [f"{json.dumps(key)}: {json.dumps(each)}" for key, each in value.items()]
    elif isinstance(value, (list, tuple)) and value:
        rows = [json.dumps(each) for each in value]
    else:
        return json.dumps(value)
    left, right = "{}" if isinstance(value, dict) else "[]"
    return f"{left}\n      " + ",\n      ".join(rows) + f"\n    {right}"


def _head(frozen: Lock) -> dict[str, object]:
    stated = {} if frozen.stated is None else {"stated": asdict(frozen.stated)}
    return {
        KEY: VERSION if stated else OLDER,
        "source": frozen.source,
        "fingerprint": {part: frozen.fingerprint[part] for part in PARTS},
        "versions": dict(frozen.versions),
        "roles": frozen.roles,
        "chat_template": frozen.chat_template,
        "merges": frozen.merges,
        **stated,
    }


def _digest(frozen: Lock) -> str:
    """The sha256 (hex) of all that a lock says, as JSON without line breaks."""
    content = json.dumps([_head(frozen), frozen.golden, frozen.tokens])
    return hashlib.sha256(content.encode("ascii")).hexdigest()


def is_lock(data: bytes) -> bool:
    """Whether a file looks like a lock file."""
    return f'"{KEY}"'.encode() in data[:200]


def load(data: bytes, name: str) -> Lock:
    """Reads a lock file.

    Raises:
        FormatError: it is malformed, or of a layout that this version does not know.
    """
    try:
        return _read(data, name)
    except FormatError as error:
        error.fix = error.fix if error.fix == _UPDATE else _AGAIN
        raise


_UPDATE = "update bpe-interop"
_AGAIN = (
    "take the file as it was committed, or lock the tokenizer again: bpe-interop lock SRC -o FILE"
)


_KEYS = (
    "source",
    "fingerprint",
    "versions",
    "roles",
    "chat_template",
    "merges",
    "sha256",
    "golden",
    "tokens",
)


def _read(data: bytes, name: str) -> Lock:
    root = parse(data, name)
    version = root[KEY].be(int)
    if version not in (OLDER, VERSION):
        raise FormatError(
            f"the lock file has layout {version}; this version reads layouts {OLDER} and {VERSION}",
            where=name,
            fix=_UPDATE if version > VERSION else _AGAIN,
        )
    root.only(KEY, *_KEYS, *(["stated"] if version == VERSION else []))
    prints = {part: root["fingerprint"][part].be(str) for part in PARTS}
    versions = root["versions"]
    named = {key: versions[key].be(str) for key in cast("dict[str, object]", versions.be(dict))}
    golden = tuple(_row(row) for row in unpack(root["golden"], name).items())
    digest = root["sha256"].be(str)
    merges = tuple(block.be(str) for block in root["merges"].items())
    tokens = from_table(unpack(root["tokens"], name), name)
    roles = tuple(role.be(str) for role in root["roles"].items())
    chat_template = root["chat_template"].be(str)
    stated = read_stated(root["stated"]) if version == VERSION else None
    source = root["source"].be(str)
    lock = Lock(source, prints, named, golden, merges, tokens, roles, chat_template, stated)
    if digest != _digest(lock):
        raise FormatError(
            "the lock file was edited or damaged: its sha256 is that of other contents", where=name
        )
    return lock


def _row(row: Node) -> tuple[str, str, tuple[int, ...]]:
    parts = list(row.items())
    if len(parts) != 3:
        row.fail("expected how ids were asked for, a text, and its ids")
    how, text = parts[0].be(str), parts[1].be(str)
    if how not in ASKED:
        parts[0].fail(f"expected one of {', '.join(ASKED)}")
    return how, text, tuple(number.id() for number in parts[2].items())


_LINE = 100
_LARGEST = 1 << 28
"""Bytes of a table, unpacked: some hundred times that of the largest vocabulary."""


def pack(table: object) -> list[str]:
    """A table of JSON values as lines of ASCII."""
    written = json.dumps(table, ensure_ascii=False, separators=(",", ":"))
    compressed = bz2.compress(written.encode("utf-8", "surrogatepass"))
    packed = base64.b85encode(compressed).decode("ascii")
    return [packed[start : start + _LINE] for start in range(0, len(packed), _LINE)]


def unpack(lines: Node, name: str) -> Node:
    """A table from its lines, read strictly; the file is called ``name`` in errors.

    Raises:
        FormatError: these are no packed JSON.
    """
    packed = "".join(line.be(str) for line in lines.items())
    unpacking = bz2.BZ2Decompressor()
    try:
        written = unpacking.decompress(base64.b85decode(packed), _LARGEST)
    except (ValueError, OSError):
        raise damaged(name) from None
    if not unpacking.eof:
        raise damaged(name)
    return parse(written, name)


def damaged(name: str) -> FormatError:
    """The error for a table that was never packed so."""
    return FormatError("the lock file's texts cannot be read: it was cut or edited", where=name)


_COLUMNS = ("gaps", "shared", "texts", "ids")
_COMPANIONS = ("\ua64d", "\ua60e", "\ua620")
"""A letter, a punctuation mark and a digit that are rarely tokens, or parts of any.

The letter is a small one: patterns that tell case let it follow any other.
"""


class OwnText(NamedTuple):
    """A token's id, a text in which the token stands, and the text's ids.

    Special strings are text.
    """

    id: int
    text: str
    ids: tuple[int, ...]


def own_texts(model: BPEModel) -> Iterator[OwnText]:
    """The table of a model, by id. Tokens that no bytes complete to text have no row.

    The text is the token alone where that gives its id, else one of a few around it that does,
    else the token alone. Where whole pretokens are looked up, the token alone says nothing of
    its merges: there is a second row, with the token inside a longer pretoken.
    """
    encoder = Encoder(model)
    for content, number in sorted(model.vocab.ids.items(), key=lambda item: item[1]):
        row = _choose(encoder, number, texts_with(content, model))
        if row is None:
            continue
        yield row
        if model.lookup_first and row.ids == (number,):
            longer = (row.text + companion for companion in _COMPANIONS)
            inside = (text for text in longer if row.text not in encoder.pretokenize(text))
            merged = _choose(encoder, number, inside)
            if merged is not None and number in merged.ids:
                yield merged


def _choose(encoder: Encoder, number: int, texts: Iterable[str]) -> OwnText | None:
    """The first text with an id among its ids; the first of all where there is none."""
    first: OwnText | None = None
    for text in texts:
        try:
            row = OwnText(number, text, tuple(encoder.encode(text)))
        except EncodeError:
            continue
        if number in row.ids:
            return row
        first = first or row
    return first


def as_table(rows: Sequence[OwnText]) -> dict[str, object]:
    """A table as the JSON of a lock file."""
    before = OwnText(0, "", ())
    gaps: list[int] = []
    shared: list[int] = []
    texts: list[str] = []
    ids: list[object] = []
    for row in rows:
        longer = row.id == before.id and row.text.startswith(before.text)
        common = len(before.text) if longer else 0
        gaps.append(row.id - before.id)
        shared.append(common)
        texts.append(row.text[common:])
        ids.append(0 if row.ids == (row.id,) else [-1 if n == row.id else n for n in row.ids])
        before = row
    return {"gaps": gaps, "shared": shared, "texts": texts, "ids": ids}


def from_table(table: Node, name: str) -> tuple[OwnText, ...]:
    """A table from its JSON.

    Raises:
        FormatError: this is none.
    """
    columns = [cast("list[object]", table[key].be(list)) for key in _COLUMNS]
    if len({len(column) for column in columns}) != 1:
        raise damaged(name)
    return tuple(_rows(columns, name))


def _rows(columns: list[list[object]], name: str) -> Iterator[OwnText]:
    number, before = 0, ""
    for gap, shared, text, ids in zip(*columns, strict=True):
        if not isinstance(gap, int) or not isinstance(shared, int) or not isinstance(text, str):
            raise damaged(name)
        number += gap
        before = before[:shared] + text
        yield OwnText(number, before, _ids(number, ids, name))


def _ids(number: int, ids: object, name: str) -> tuple[int, ...]:
    listed = [-1] if ids == 0 else ids
    if not isinstance(listed, list):
        raise damaged(name)
    numbers = tuple(number if each == -1 else each for each in listed)
    if not all(type(each) is int and 0 <= each <= MAX_ID for each in numbers):
        raise damaged(name)
    return numbers
