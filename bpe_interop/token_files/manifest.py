"""The manifest of a folder of shards: what is there, out of which texts, by which tokenizer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from ..corpora import Selection
from ..errors import FormatError, SourceError
from ..io import unreadable
from ..strict_json import Node, parse
from .encoding import COUNTED, Encoded
from .settings import SIZES, Dtype, Layout, Settings, Special

KIND = "bpe-interop token files"
SCHEMA = 1
NAME = "manifest.json"
TOKENIZER = "tokenizer"
"""The folder inside that holds the tokenizer's files."""


@dataclass(frozen=True)
class Origin:
    """A file of the corpus: its name, where it was, what its texts are in, and what tells it from
    another one in its place.
    """

    label: str
    path: str
    kind: str
    field: str
    name: str
    identity: str


@dataclass(frozen=True)
class Piece:
    """A part of the corpus, and the shard that it became."""

    file: int
    start: int
    end: int | None
    size: int
    encoded: Encoded


@dataclass(frozen=True)
class TokenizerFacts:
    """The tokenizer that encoded: ``fingerprint`` is of what it does, ``sha256`` of its files."""

    label: str
    format: str
    preset: str | None
    sha256: str
    fingerprint: str
    engine: str | None
    files: Mapping[str, str]


@dataclass(frozen=True)
class Manifest:
    """What a folder of shards says of itself."""

    settings: Settings
    dtype: Dtype
    tokenizer: TokenizerFacts
    versions: Mapping[str, str]
    origins: tuple[Origin, ...]
    pieces: tuple[Piece, ...]

    @property
    def counts(self) -> dict[str, int]:
        """The counts of all shards together."""
        return {
            name: sum(getattr(piece.encoded, name) for piece in self.pieces) for name in COUNTED
        }

    def to_json(self) -> str:
        """The manifest as one JSON document in ASCII; equal ones give equal text."""
        data = {
            "kind": KIND,
            "schema": SCHEMA,
            "settings": asdict(self.settings),
            "dtype": self.dtype,
            "tokenizer": asdict(self.tokenizer),
            "versions": dict(self.versions),
            "counts": self.counts,
            "origins": [asdict(each) for each in self.origins],
            "shards": [asdict(each) for each in self.pieces],
        }
        return json.dumps(data, ensure_ascii=True, indent=1) + "\n"


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a folder.

    Raises:
        SourceError: there is none, or it cannot be read.
        FormatError: it is none, or one of another version.
    """
    place = folder / NAME
    try:
        data = place.read_bytes()
    except FileNotFoundError:
        raise SourceError(
            f"there is no {NAME}: this is no folder of token files, or one that was not finished",
            where=str(folder),
            fix="name a folder that encode --corpus wrote",
        ) from None
    except OSError as error:
        raise unreadable(error, str(place)) from None
    node = parse(data, str(place))
    if node.get("kind").value != KIND:
        node.fail(f"this is no manifest of {KIND}")
    schema = node["schema"].be(int)
    if schema != SCHEMA:
        node.fail(f"its schema is {schema}, and this version reads {SCHEMA}")
    dtype = node["dtype"].be(str)
    if dtype not in SIZES:
        node["dtype"].fail(f"{dtype!r} is not known")
    manifest = Manifest(
        _settings(node["settings"]),
        dtype,
        _tokenizer(node["tokenizer"]),
        {name: node["versions"][name].be(str) for name in node["versions"].be(dict)},
        tuple(map(_origin, node["origins"].items())),
        tuple(map(_piece, node["shards"].items())),
    )
    if {name: node["counts"][name].be(int) for name in COUNTED} != manifest.counts:
        raise FormatError("the counts of the shards do not add up to counts", where=str(place))
    return manifest


def _settings(node: Node) -> Settings:
    chosen = node["selection"]
    selection = Selection(
        sample=None if chosen["sample"].value is None else float(chosen["sample"].be(float)),
        seed=chosen["seed"].be(int),
        errors="replace" if chosen["errors"].be(str) == "replace" else "strict",
    )
    return Settings(
        cast(Layout, node["layout"].be(str)),
        cast("Dtype | None", _or_none(node["dtype"], str)),
        cast(Special, node["special"].be(str)),
        node["template"].be(bool),
        _or_none(node["eos"], str),
        _or_none(node["max_length"], int),
        selection,
    )


def _or_none(node: Node, kind: type[Any]) -> Any:
    return None if node.value is None else node.be(kind)


def _tokenizer(node: Node) -> TokenizerFacts:
    return TokenizerFacts(
        node["label"].be(str),
        node["format"].be(str),
        _or_none(node["preset"], str),
        node["sha256"].be(str),
        node["fingerprint"].be(str),
        _or_none(node["engine"], str),
        {name: node["files"][name].be(str) for name in node["files"].be(dict)},
    )


def _origin(node: Node) -> Origin:
    names = "label", "path", "kind", "field", "name", "identity"
    return Origin(*(node[name].be(str) for name in names))


def _piece(node: Node) -> Piece:
    return Piece(
        node["file"].be(int),
        node["start"].be(int),
        _or_none(node["end"], int),
        node["size"].be(int),
        Encoded.of(node["encoded"]),
    )
