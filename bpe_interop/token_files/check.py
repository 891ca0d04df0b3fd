"""Checks a folder of token files: each file by its sha256, and a sample against the texts."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import cast

from ..corpora import CorpusFile, Document, Part, PartReader, identity, named, naming
from ..corpora.documents import Kind
from ..errors import SourceError
from ..fingerprint import fingerprint
from ..io.reader import read
from ..ticks import Tick, no_progress
from ..tokenizer import Tokenizer
from ..workers import Ticket, opened_from
from .job import NANOGPT, encode_batch, eos_id, sha256_of_file, stem_of
from .layouts import LAYOUTS, SIZES, document_id
from .manifest import NAME, TOKENIZER, Manifest, WrittenPart, joined_name, read_manifest

_IN_SHARD = 10
"""Of one shard at most so many documents are taken, where there are enough shards."""


@dataclass(frozen=True)
class Checked:
    """What a check found.

    ``wrong`` names everything that is not as it should be, each with its file; ``unread`` the
    sources that are not there, not as they were, or were read from a pipe. Of ``sampled``
    documents the ids are those that our encoder gives, and ``same_bytes`` of them decode to the
    source's text; the others are texts that the tokenizer itself does not give back (a
    normalizer, an unknown token).
    """

    manifest: Manifest
    files: int
    sampled: int
    same_bytes: int
    wrong: tuple[str, ...]
    unread: tuple[str, ...]


def check_token_files(
    folder: str | Path,
    *,
    sample: int = 100,
    seed: int = 0,
    tick: Tick = no_progress,
) -> Checked:
    """Checks that a folder is as its manifest says, and that a sample is what the texts say.

    Args:
        folder: a folder that :func:`.encode_corpora` wrote.
        sample: how many documents are compared with their source; 0 for none.
        seed: draws others.
        tick: is told how many files and documents were looked at.

    Raises:
        SourceError: there is no manifest.
        FormatError: the manifest is damaged.
    """
    place = Path(folder)
    manifest = read_manifest(place)
    wrong = [*_wrong_files(place, manifest, tick)]
    unread: list[str] = []
    sampled = same = 0
    if sample and not wrong:
        compared = _Compared(place, manifest)
        wrong += compared.wrong
        for number, wanted in _drawn(manifest, sample, seed).items():
            try:
                for document, stored in _documents(place, manifest, number, wanted, compared):
                    same += compared.gives_back(document, stored, number)
                    sampled += 1
                    tick(1)
            except SourceError as error:
                unread.append(str(error).split("\n")[0])
        wrong = compared.wrong
    files = len({file.name for piece in manifest.shards for file in piece.encoded.files})
    return Checked(manifest, files, sampled, same, tuple(wrong), tuple(dict.fromkeys(unread)))


def _wrong_files(folder: Path, manifest: Manifest, tick: Tick) -> Iterator[str]:
    """Files that are missing, changed, or not of the folder."""
    settings, names = manifest.settings, LAYOUTS[manifest.settings.layout].names
    ends = Counter[str]()
    pieces: list[tuple[Path, int, int, str]] = []
    for number, piece in enumerate(manifest.shards):
        encoded = piece.encoded
        training = encoded.documents - encoded.val_documents
        filled = dict(zip(settings.sides, (training, encoded.val_documents), strict=False))
        expected = {
            joined_name(side) if settings.layout == NANOGPT else f"{stem_of(number, side)}.{name}"
            for side in settings.sides
            for name in names
            if filled[side]
        }
        if {file.name for file in encoded.files} != expected:
            yield f"{NAME}: shard {number} has other files than its layout"
        for file in encoded.files:
            pieces.append((folder / file.name, ends[file.name], file.bytes, file.sha256))
            ends[file.name] += file.bytes
    for path, start, size, sha256 in pieces:
        tick(1)
        if not path.is_file():
            yield f"{path.name}: it is missing"
        elif path.stat().st_size != ends[path.name]:
            there = path.stat().st_size
            yield f"{path.name}: it has {there:,} bytes, and not {ends[path.name]:,}"
        elif sha256_of_file(path, start, size) != sha256:
            yield f"{path.name}: its sha256 is another"
    for name, digest in manifest.tokenizer.files.items():
        path = folder / TOKENIZER / name
        if not path.is_file():
            yield f"{TOKENIZER}/{name}: it is missing"
        elif sha256_of_file(path) != digest:
            yield f"{TOKENIZER}/{name}: its sha256 is another"
    for path in sorted(folder.iterdir()):
        if path.name not in {*ends, NAME, TOKENIZER}:
            yield f"{path.name}: the manifest does not know it"


def _drawn(manifest: Manifest, sample: int, seed: int) -> dict[int, list[int]]:
    """Numbers of documents by the number of their shard."""
    chosen = random.Random(seed)
    ends = [*accumulate(piece.encoded.documents for piece in manifest.shards)]
    full = [number for number, piece in enumerate(manifest.shards) if piece.encoded.documents]
    if not full:
        return {}
    # Each shard that is looked into is read up to the last document that was drawn.
    few = sorted(chosen.sample(full, min(len(full), max(1, -(-sample // _IN_SHARD)))))
    within = [(n, at) for n in few for at in range(manifest.shards[n].encoded.documents)]
    drawn: dict[int, list[int]] = {}
    for number, at in sorted(chosen.sample(within, min(sample, len(within), ends[-1]))):
        drawn.setdefault(number, []).append(at)
    return drawn


def _documents(
    folder: Path, manifest: Manifest, number: int, wanted: list[int], compared: _Compared
) -> Iterator[tuple[Document, Sequence[int]]]:
    """Documents of a shard out of their source, and the ids that are stored for them."""
    settings, layout = manifest.settings, LAYOUTS[manifest.settings.layout]
    drawn: dict[str, dict[int, Document]] = {side: {} for side in settings.sides}
    places: dict[str, dict[int, tuple[int, int]]] = {side: {} for side in settings.sides}
    before, tokens = Counter[str](), Counter[str]()
    reader = PartReader(_part(manifest, number)).documents(settings.selection)
    for at, document in enumerate(each for each in reader if not each.skipped):
        side = settings.side_of(document.text)
        if not settings.marks_documents:
            # Only the ids of the documents before say where those of this one begin.
            length = len(compared.ids_of(document))
            places[side][before[side]] = tokens[side], length
            tokens[side] += length
        if at in wanted:
            drawn[side][before[side]] = document
        before[side] += 1
        if at >= wanted[-1]:
            break
    for side, documents in drawn.items():
        stem, first = stem_of(number, side), 0
        if settings.layout == NANOGPT:
            name = joined_name(side)
            earlier = (f for each in manifest.shards[:number] for f in each.encoded.files)
            first = sum(f.bytes for f in earlier if f.name == name) // SIZES[manifest.dtype]
            stem = Path(name).stem
        if layout.read is not None and settings.marks_documents:
            names = {at: document_id(document) for at, document in documents.items()}
            stored = layout.read(folder, stem, manifest.dtype, names)
            yield from ((document, stored[at]) for at, document in documents.items())
            continue
        for at, document in documents.items():
            start, length = places[side][at]
            yield document, layout.span(folder, stem, manifest.dtype, first + start, length)


def _part(manifest: Manifest, number: int) -> Part:
    """The part of the corpus out of which a shard was made.

    Raises:
        SourceError: its file is not there, or not as it was.
    """
    piece: WrittenPart = manifest.shards[number]
    origin = manifest.origins[piece.file]
    kind = cast(Kind, origin.kind)
    if not origin.path:
        raise SourceError("it was read from a pipe, and cannot be read again", where=origin.label)
    path = named(origin.path)
    with naming(origin.label):
        if not path.is_file():
            raise SourceError("it is not there any more", where=origin.label)
    file = CorpusFile(origin.label, path, kind, origin.field, origin.name)
    own = identity(file)
    if own != origin.identity:
        raise SourceError("it is not as it was when it was encoded", where=origin.label)
    return Part(number, piece.file, file, piece.start, piece.end, piece.size, own)


class _Compared:
    """Compares stored ids with what our own encoder makes of the text."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        facts, self._settings = manifest.tokenizer, manifest.settings
        files = {name: read(folder / TOKENIZER / name) for name in facts.files}
        model = opened_from(Ticket(facts.label, facts.format, facts.sha256, facts.preset), files)
        self._tokenizer = Tokenizer(model)
        self._end = eos_id(self._settings, model)
        self.wrong: list[str] = []
        if fingerprint(model)["all"] != facts.fingerprint:
            self.wrong.append(f"{TOKENIZER}: another fingerprint than the manifest's")

    def ids_of(self, document: Document) -> list[int]:
        """The ids that are to be stored for a document."""
        [ids] = encode_batch(self._tokenizer, [document.text], self._settings)
        return ids if self._end is None else [*ids, self._end]

    def gives_back(self, document: Document, stored: Sequence[int], number: int) -> bool:
        """Whether the ids, without what was put around them, decode to the text.

        Ids that our encoder does not give are wrong.
        """
        plain = replace(self._settings, template=False)
        [inner] = encode_batch(self._tokenizer, [document.text], plain)
        ids = self.ids_of(document)
        if ids != [*stored]:
            at = next((n for n, (a, b) in enumerate(zip(ids, stored, strict=False)) if a != b), -1)
            place = min(len(ids), len(stored)) if at < 0 else at
            self.wrong.append(
                f"{stem_of(number)}: {document_id(document)} has other ids from the id {place} on"
            )
            return False
        return self._tokenizer.decode(inner) == document.text
