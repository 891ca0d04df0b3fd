"""The manifest of a folder of shards: what is there, out of which texts, by which tokenizer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from ..errors import FormatError, SourceError
from ..io.reader import unreadable
from ..strict_json import check_schema, parse, read_as
from .job import COUNTED, TRAIN, Encoded, Settings
from .layouts import Dtype

KIND = "bpe-interop token files"
SCHEMA = 1
NAME = "manifest.json"
TOKENIZER = "tokenizer"
"""The folder inside that holds the tokenizer's files."""


def joined_name(side: str) -> str:
    """The file of nanoGPT's that the shards of a side become, one after another."""
    return f"{side or TRAIN}.bin"


@dataclass(frozen=True)
class OriginFile:
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
class WrittenPart:
    """A part of the corpus, and the shard that it became; the files of nanoGPT are of all shards,
    and what is said of one is said of the piece that the shard is of it.
    """

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
    origins: tuple[OriginFile, ...]
    shards: tuple[WrittenPart, ...]

    @property
    def counts(self) -> dict[str, int]:
        """The counts of all shards together."""
        return {
            name: sum(getattr(piece.encoded, name) for piece in self.shards) for name in COUNTED
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
            "shards": [asdict(each) for each in self.shards],
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
    node = parse(data, str(place), with_paths=True)
    if node.get("kind").value != KIND:
        node.fail(f"this is no manifest of {KIND}")
    check_schema(node, SCHEMA)
    manifest = read_as(Manifest, node, "kind", "schema", "counts")
    counts = node["counts"]
    said = {name: counts[name].be(int) if name in counts else 0 for name in COUNTED}
    if said != manifest.counts:
        raise FormatError("the counts of the shards do not add up to counts", where=str(place))
    return manifest
