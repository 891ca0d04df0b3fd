"""Lock files: a whole tokenizer in one file, to hold against what it is tomorrow.

A lock file is one JSON object: ``bpe_interop_lock`` (the version of this layout, 5), ``source``
(how the tokenizer was named), ``versions`` (of this library and the engines), ``stated`` (what
people read, in the words of a ``tokenizer.json`` where it has words for it: a re-lock is a diff of
these lines), ``fingerprint`` (:mod:`bpe_interop.fingerprint`), ``settings`` (a sha256 of all but
the tables), ``model`` (the whole model, in one compressed line) and ``sha256`` of all that, so
that a file that was cut, merged or edited is refused.

A lock is a side like any other: :func:`as_source` gives the model that was locked.
"""

from __future__ import annotations

import base64
import bz2
import hashlib
import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, cast

from .. import model as model_module
from .. import steps as steps_module
from ..diff import template_parts
from ..diff.settings import step_form
from ..engines import versions
from ..errors import BpeInteropError, FormatError, SourceError
from ..fingerprint import PARTS, added_of, fingerprint
from ..formats import by_name
from ..formats.huggingface.decoders import write_decoder
from ..formats.huggingface.normalizers import write_normalizer
from ..formats.huggingface.pretokenizers import write_pretokenizer
from ..formats.huggingface.write import in_oniguruma, oniguruma_steps
from ..formats.names import MODEL_CONFIG
from ..io.names import spelled
from ..io.reader import TokenizerSource, beginning, read
from ..model import (
    BATCHING,
    CHATS,
    LOADING,
    NETWORK,
    AddedToken,
    BPEModel,
    Json,
    Origin,
    PairList,
    RankTable,
    Vocab,
)
from ..proof.added_tokens import left_to_chance
from ..strict_json import Node, parse
from ..tokenizer_config import CONFIG

KEY = "bpe_interop_lock"
VERSION = 5
"""The layout. It goes up where an older file would be misread, or not be read: with other keys,
another packing, or a field of the model that goes, or means something else. A new field with a
default needs none, if ``_LATER`` in ``fingerprint.py`` leaves it out where it is unset: such a lock
is read, and compared by its model, because its ``settings`` differ."""


@dataclass(frozen=True, slots=True)
class Lock:
    """What a lock file says.

    ``settings``: a sha256 (hex) of all fields of the model but its vocabulary and merges, those
    that change no id among them; ``packed``: the model.
    """

    source: str
    versions: Mapping[str, str]
    stated: Mapping[str, Json]
    fingerprint: Mapping[str, str]
    settings: str
    packed: str

    def is_of(self, model: BPEModel) -> bool:
        """Whether a model is the locked one, with all that it states: found without its tables."""
        return (
            self.settings == _settings(model)
            and model.added is not None
            and model.sequence_template is not None
            and not left_to_chance(model)
            and self.fingerprint["all"] == fingerprint(model)["all"]
        )


def lock(model: BPEModel, source: str, versions: Mapping[str, str]) -> Lock:
    """Freezes a model; ``versions`` of libraries are for people.

    Raises:
        UnstatedError: the pre-tokenizer or normalizer is not stated.
    """
    return Lock(
        source, versions, _stated(model), fingerprint(model), _settings(model), _pack(model)
    )


def as_source(held: Lock, path: str | Path) -> TokenizerSource[BPEModel | None]:
    """The locked tokenizer as a side of a comparison; there are no files for an engine.

    Raises:
        FormatError: the model cannot be read.
    """
    model = _unpack(held.packed, str(path))
    source = TokenizerSource(
        spelled(str(path)), by_name(model.origin.format or "huggingface"), {}, model
    )
    return cast("TokenizerSource[BPEModel | None]", source)


def locked(source: str | Path) -> Lock | None:
    """The lock file at a path, or None if there is none.

    Raises:
        FormatError: it is a lock file, and malformed or of another layout.
    """
    path = Path(source)
    if not path.is_file():
        return None
    try:
        if not is_lock(beginning(path)) and path.suffix != ".lock":
            return None
        data = read(path)
    except SourceError:
        return None  # opening it as a source says what is wrong
    return load(data, str(path))


def notes_on(
    held: Lock, path: str | Path, other: BPEModel | None, place: str = ""
) -> Iterator[str]:
    """With what it was locked, where that is another version now, and which files are lost.

    ``place`` is what the other side is called: a folder, if it is one.
    """
    now = versions()
    older = [
        f"{name} {number}" for name, number in held.versions.items() if now.get(name) != number
    ]
    if older:
        yield f"{spelled(str(path))}: locked with {', '.join(older)}"
    files = held.stated.get("files")
    if other is not None and isinstance(files, list) and other.origin.files:
        # What an engine reads that serves a whole folder is not among the files read here.
        missing = (str(name) for name in files if name not in other.origin.files)
        lost = [name for name in missing if not Path(place, name).is_file()]
        if lost:
            yield f"{', '.join(lost)}: read when the tokenizer was locked, and not there now"


# What people read.


def _stated(model: BPEModel) -> dict[str, Json]:
    added, template = added_of(model), model.sequence_template
    roles = sorted(f"{role} {token.text}" for token in model.added or () for role in token.roles)
    chat = model.chat_template
    further, batching, network, loading = (
        value if isinstance(value := model.extras.get(key), dict) else {}
        for key in (CHATS, BATCHING, NETWORK, LOADING)
    )
    return {
        "files": cast(Json, sorted(model.origin.files)),
        "settings": dict(model.origin.settings or {}),
        "alphabet": model.alphabet,
        "tokens": len(model.vocab.ids),
        "merges": len(_rule(model)),
        "ignore_merges": model.lookup_first,
        "fallback": cast(Json, step_form(model.fallback)),
        "affixes": [model.affixes.prefix.decode("latin-1"), model.affixes.suffix.decode("latin-1")],
        "normalizer": _words(
            model.normalizer, lambda: write_normalizer(in_oniguruma(model.normalizer or ()))
        ),
        "pre_tokenizer": _words(
            model.pretokenizer, lambda: write_pretokenizer(oniguruma_steps(model), model.alphabet)
        ),
        "decoder": _words(model.decoder, lambda: write_decoder(in_oniguruma(model.decoder or ()))),
        "template": None
        if template is None
        else [template_parts(template.single), template_parts(template.pair)],
        "roles": cast(Json, roles),
        "chat_template": None if chat is None else cast(Json, chat.splitlines()),
        **{f"chat_template {k}": cast(Json, str(v).splitlines()) for k, v in further.items()},
        **batching,
        **({MODEL_CONFIG: network} if network else {}),
        **({CONFIG: loading} if loading else {}),
        "added": None if added is None else [_token(token) for token in added],
    }


def _rule(model: BPEModel) -> Sequence[object] | Mapping[bytes, int]:
    return model.merges.ranks if isinstance(model.merges, RankTable) else model.merges.pairs


def _words(steps: Sequence[object] | None, write: Callable[[], Json]) -> Json:
    """Steps as a ``tokenizer.json`` spells them, component by component; else by our names."""
    if steps is None:
        return None
    try:
        written = write()
    except (ValueError, BpeInteropError):
        # tokenizers has no such step; this part is for people, the model is packed beside it.
        return cast(Json, [step_form(step) for step in steps])
    if isinstance(written, dict) and written.get("type") == "Sequence":
        return next(value for value in written.values() if isinstance(value, list))
    return [] if written is None else [written]


def _token(token: AddedToken) -> Json:
    flags = [f.name for f in fields(token) if getattr(token, f.name) is True]
    return {"id": token.id, "text": token.text, "flags": cast(Json, flags)}


# The file.


def dump(frozen: Lock) -> bytes:
    """A lock file. The same bytes for the same lock."""
    rows = [f'  "{KEY}": {VERSION}']
    for key, value in _content(frozen).items():
        written = json.dumps(value)
        if isinstance(value, dict):
            lines = (f"    {json.dumps(name)}: {_listed(each)}" for name, each in value.items())
            written = "{\n" + ",\n".join(lines) + "\n  }"
        rows.append(f"  {json.dumps(key)}: {written}")
    rows.append(f'  "sha256": "{_digest(frozen)}"')
    return ("{\n" + ",\n".join(rows) + "\n}\n").encode("ascii")


def _listed(value: Json) -> str:
    """JSON with each step, each token and each setting on a line of its own."""
    if isinstance(value, dict) and value:
        rows, ends = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in value.items()], "{}"
    elif isinstance(value, list) and value:
        rows, ends = list(map(json.dumps, value)), "[]"
    else:
        return json.dumps(value)
    return f"{ends[0]}\n      " + ",\n      ".join(rows) + f"\n    {ends[1]}"


def _content(frozen: Lock) -> dict[str, object]:
    return {
        "source": frozen.source,
        "versions": dict(frozen.versions),
        "stated": dict(frozen.stated),
        "fingerprint": {part: frozen.fingerprint[part] for part in PARTS},
        "settings": frozen.settings,
        "model": frozen.packed,
    }


def _digest(frozen: Lock) -> str:
    """The sha256 (hex) of all that a lock says, as JSON without line breaks."""
    return hashlib.sha256(json.dumps(_content(frozen)).encode("ascii")).hexdigest()


def is_lock(data: bytes) -> bool:
    return f'"{KEY}"'.encode() in data[:200]


_UPDATE = "update bpe-interop"
_AGAIN = (
    "take the file as it was committed, or lock the tokenizer again: bpe-interop lock SRC -o FILE"
)


def load(data: bytes, name: str) -> Lock:
    """Reads a lock file.

    Raises:
        FormatError: it is malformed, or of a layout that this version does not know.
    """
    try:
        return _read(parse(data, name), name)
    except FormatError as error:
        # What a reader of JSON proposes does not help with a file that a program wrote.
        error.fix = error.fix if error.fix == _UPDATE else _AGAIN
        raise


def _read(root: Node, name: str) -> Lock:
    version = root[KEY].be(int)
    if version != VERSION:
        raise FormatError(
            f"the lock file has layout {version}; this version reads layout {VERSION}",
            where=name,
            fix=_UPDATE if version > VERSION else _AGAIN,
        )
    keys = ("source", "versions", "stated", "fingerprint", "settings", "model")
    root.only(KEY, *keys, "sha256")
    named = root["versions"]
    held = Lock(
        root["source"].be(str),
        {key: named[key].be(str) for key in named.be(dict)},
        root["stated"].be(dict),
        {part: root["fingerprint"][part].be(str) for part in PARTS},
        root["settings"].be(str),
        root["model"].be(str),
    )
    if root["sha256"].be(str) != _digest(held):
        raise FormatError(
            "the lock file was edited or damaged: its sha256 is that of other contents", where=name
        )
    return held


# The model in one line.

_LARGEST = 1 << 28
"""Bytes of a model, unpacked: some fifty times that of the largest vocabulary."""
_KINDS: Mapping[str, type[Any]] = {
    name: kind
    for module in (model_module, steps_module)
    for name, kind in inspect.getmembers(module, inspect.isclass)
    if is_dataclass(kind)
}
_TABLES = ("vocab", "merges", "origin")


def _form(value: object) -> Json:
    """A value of a model's field as JSON that says its type."""
    if is_dataclass(value) and not isinstance(value, type):
        parts = {f.name: _form(getattr(value, f.name)) for f in fields(value)}
        return {"is": type(value).__name__, "has": parts}
    if isinstance(value, tuple):
        return {"is": "tuple", "has": [_form(each) for each in value]}
    if isinstance(value, bytes):
        return {"is": "bytes", "has": value.decode("latin-1")}
    if isinstance(value, Mapping):
        return {"is": "map", "has": {str(key): _form(each) for key, each in value.items()}}
    if isinstance(value, list):
        return [_form(each) for each in value]
    return cast(Json, value)


def _value(form: Any) -> Any:
    if isinstance(form, list):
        return [_value(each) for each in form]
    if not isinstance(form, dict):
        return form
    kind, has = form["is"], form["has"]
    if kind == "tuple":
        return tuple(_value(each) for each in has)
    if kind == "bytes":
        return has.encode("latin-1")
    parts = {key: _value(each) for key, each in has.items()}
    # Only dataclasses of the model and its steps: reading a lock runs nothing else.
    return parts if kind == "map" else _KINDS[kind](**parts)


def _others(model: BPEModel) -> dict[str, Json]:
    """All fields but the tables, and of the origin what loaders read."""
    named = {f.name: getattr(model, f.name) for f in fields(model) if f.name not in _TABLES}
    return {**{k: _form(v) for k, v in named.items()}, "loaders": _form(model.origin.settings)}


def _settings(model: BPEModel) -> str:
    written = json.dumps(_others(model), sort_keys=True)
    return hashlib.sha256(written.encode("ascii")).hexdigest()


def _pack(model: BPEModel) -> str:
    vocab, merges = model.vocab, model.merges
    order = sorted(vocab.ids.items(), key=lambda item: item[1])
    form: dict[str, Json] = {
        "others": _others(model),
        "format": model.origin.format,
        "tokens": [token.decode("latin-1") for token, _ in order],
        # Ids mostly are places in their order: then all of these are 0, which packs well.
        "ids": [number - place for place, (_, number) in enumerate(order)],
        "kinds": [[number, kind] for number, kind in sorted(vocab.kinds.items())],
        "scores": [[number, score] for number, score in sorted(vocab.scores.items())],
    }
    if isinstance(merges, RankTable):
        ranks = merges.ranks
        form["ranks"] = [
            ranks[token] - number if token in ranks else None for token, number in order
        ]
    else:
        # A pair is its product and where that is cut; products come nearly in the order of ids.
        places = {token: place for place, (token, _) in enumerate(order)}
        cut, before = len(model.affixes.prefix), 0
        products: list[Json] = []
        for left, right in merges.pairs:
            place = places[left + right[cut:]]
            products.append(place - before)
            before = place
        form["products"] = products
        form["lefts"] = [len(left) for left, _ in merges.pairs]
        form["cuts"] = [right[:cut].decode("latin-1") for _, right in merges.pairs] if cut else []
    written = json.dumps(form, ensure_ascii=False, separators=(",", ":"))
    return base64.b85encode(bz2.compress(written.encode("utf-8", "surrogatepass"))).decode("ascii")


def _unpack(packed: str, name: str) -> BPEModel:
    unpacking = bz2.BZ2Decompressor()
    try:
        form = json.loads(unpacking.decompress(base64.b85decode(packed), _LARGEST))
        return _model(form)
    except (BpeInteropError, OSError, ValueError, TypeError, LookupError, AttributeError) as error:
        raise FormatError(
            "the locked tokenizer cannot be read: the file was cut or edited",
            where=name,
            fix=_AGAIN,
        ) from error


def _model(form: Any) -> BPEModel:
    tokens = [token.encode("latin-1") for token in form["tokens"]]
    numbers = [place + gap for place, gap in enumerate(form["ids"])]
    ids = dict(zip(tokens, numbers, strict=True))
    others = {key: _value(each) for key, each in form["others"].items()}
    rule: RankTable | PairList
    if "ranks" in form:
        rows = zip(tokens, numbers, form["ranks"], strict=True)
        rule = RankTable({t: number + gap for t, number, gap in rows if gap is not None})
    else:
        rule = PairList(tuple(_pairs(tokens, form)))
    vocab = Vocab(ids, dict(form["kinds"]), dict(form["scores"]))
    origin = Origin(form["format"], settings=others.pop("loaders"))
    return replace(BPEModel(vocab, rule, **others), origin=origin)


def _pairs(tokens: Sequence[bytes], form: Any) -> Iterator[tuple[bytes, bytes]]:
    place = 0
    cuts = form["cuts"] or [""] * len(form["lefts"])
    for gap, left, cut in zip(form["products"], form["lefts"], cuts, strict=True):
        place += gap
        product = tokens[place]
        yield product[:left], cut.encode("latin-1") + product[left:]
