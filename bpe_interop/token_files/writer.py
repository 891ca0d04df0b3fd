"""Encodes corpora to a folder of shards: all of it, or no folder."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, replace
from math import ceil
from pathlib import Path
from typing import Any

from ..corpora import (
    TEXT_BYTES,
    CorpusFile,
    CutCorpus,
    check_parts_can_be_read,
    find_files,
    spooled,
    whole_name,
)
from ..errors import SourceError, TargetError
from ..fingerprint import fingerprint
from ..formats import Files
from ..io.names import spelled
from ..io.reader import TokenizerSource
from ..io.target import check_target
from ..io.writer import held_alone, replace_file, staged
from ..kernel import THREADS
from ..model import BPEModel
from ..quoting import show
from ..text.visible import many
from ..tokenizer import Tokenizer
from ..workers import (
    LIMIT,
    Carried,
    Progress,
    Run,
    Workers,
    carry,
    opened_from,
    pool_of,
    run_corpus,
)
from ..workers.state import holds_nothing
from ..workers.worker import versions_here
from .job import (
    NANOGPT,
    SHARD,
    TRAIN,
    VAL,
    Encoded,
    EncodeJob,
    Settings,
    check_skips,
    dtype_of,
    encode_batch,
    eos_id,
    sha256_of_file,
    stem_of,
)
from .layouts import chunks
from .manifest import (
    NAME,
    TOKENIZER,
    Manifest,
    OriginFile,
    TokenizerFacts,
    WrittenPart,
    joined_name,
)

SHARD_BYTES = 1 << 26
"""About how many bytes of the corpus on disk become a shard."""

_JOINED = (joined_name(TRAIN), joined_name(VAL))

UNFINISHED = ".unfinished"
"""What is put behind the target's name while a state is kept."""


@dataclass(frozen=True, slots=True)
class Step(Progress):
    """How far the encoding is; ``tokens`` are the ids that were written."""

    tokens: int = 0


@dataclass(frozen=True)
class EncodedCorpus:
    """What was written. ``interrupted``: Ctrl-C ended it, and ``done`` of ``parts`` shards are
    kept, if there is a state. ``notes`` say what happened to workers on the way; ``seconds`` is
    the time that they worked, ``memory`` the largest size of one, in bytes.
    """

    manifest: Manifest | None
    done: int
    parts: int
    notes: tuple[str, ...]
    interrupted: bool
    seconds: float
    memory: int


@dataclass(frozen=True, slots=True)
class Way:
    """Who works, and how it is gone on with.

    Attributes:
        executor: who works; the workers read the corpora and write the folder themselves. By
            default this process alone.
        slots: how many parts it is given at once.
        limit: seconds after which a part is given to another worker, once.
        state: a file in which it is kept which shards are done.
        tick: called after each shard.
        fresh: begin again where the state is of another run.
    """

    executor: Executor | Workers | None = None
    slots: int | None = None
    limit: float = LIMIT
    state: str | Path | None = None
    tick: Callable[[Step], None] = lambda step: None
    fresh: bool = False


_ALONE = Way()


def encode_corpora(
    loaded: TokenizerSource[BPEModel],
    corpora: str | Path | Iterable[str | Path],
    target: str | Path,
    settings: Settings,
    *,
    preset: str | None = None,
    field: str | None = None,
    shard_bytes: int = SHARD_BYTES,
    way: Way = _ALONE,
) -> EncodedCorpus:
    """Encodes corpora to a new folder: shards, a manifest and the tokenizer's files.

    The folder appears when all is written. Its bytes do not depend on who worked. With a state,
    what is done stays in ``TARGET.unfinished`` where a run ends before, and the next goes on.

    Args:
        loaded: the tokenizer, with what only its files and the preset say.
        corpora: files, directories and globs (:func:`.corpora.find_files`).
        target: the folder; new or empty.
        settings: how documents become rows of ids.
        preset: the preset that says what the files do not.
        field: the key or column with the texts, where a name has none.
        shard_bytes: about how many bytes of a file become a shard.
        way: who works, and how it is gone on with.

    Raises:
        SourceError: a corpus cannot be read, changes meanwhile or has no documents; none of them
            is for validation, or none for training; there is no such token; the model is not what
            its files say.
        EncodeError, DisallowedSpecialError: a document has no encoding.
        UnstatedError: the tokenizer does not state what encoding needs.
        TargetError: the folder is there, or cannot be written; the ids do not fit.
        EngineError: a part was not done in two attempts.
    """
    place = Path(target)
    check_target(place, force=None)
    tokenizer = Tokenizer(loaded.model, engine="auto")
    encode_batch(tokenizer, [""], settings)
    eos_id(settings, loaded.model)
    dtype = dtype_of(settings, tokenizer)
    check_parts_can_be_read(settings.selection)
    carried = carry(loaded.label, loaded.format.name, loaded.files, preset, loaded.beside)
    _check_files_say(loaded, carried)
    files = find_files(corpora, field=field)
    tokenizer_files = {f"{TOKENIZER}/{name}": data for name, data in carried.files.items()}
    state = way.state
    kept = (
        staged(place, tokenizer_files)
        if state is None
        else _kept(place, tokenizer_files, Path(state) if way.fresh else None)
    )
    try:
        with _cut(files, place, shard_bytes, state) as corpus, kept as folder:
            threads = THREADS if way.executor is None else 1
            job = EncodeJob(carried.ticket, settings, dtype, str(folder.resolve()), threads)
            run = _run(job, carried, _about(job, place), corpus, way)
            if run.interrupted:
                raise _InterruptedError
            if empty := _empty_side(settings, run):
                # Another fraction or seed is another run, which cannot go on from these shards.
                if state is not None:
                    Path(state).unlink(missing_ok=True)
                    shutil.rmtree(folder)
                raise empty
            manifest = _manifest(job, _facts(loaded, carried, tokenizer), corpus, run)
            _clean(folder, manifest)
            if settings.layout == NANOGPT:
                manifest = _joined(folder, manifest)
            replace_file(folder / NAME, manifest.to_json().encode("ascii"))
    except _InterruptedError:
        return _written(None, run, len(corpus.parts))
    if state is not None:
        Path(state).unlink(missing_ok=True)
    return _written(manifest, run, len(corpus.parts), _cut_texts(corpus, run))


def _empty_side(settings: Settings, run: Run[Encoded]) -> SourceError | None:
    """The error where validation was asked for and all documents are on one side."""
    documents = sum(part.documents for part in run.results.values())
    validation = sum(part.val_documents for part in run.results.values())
    if settings.validation is None or not documents or 0 < validation < documents:
        return None
    side, part = ("training", "smaller") if validation else ("validation", "larger")
    # A part in which all of so many documents miss one time in a hundred.
    share = ceil(100 * (1 - 0.01 ** (1 / documents)))
    enough = 100 - share if validation else share
    such = f", such as {enough}%" if 0 < enough < 100 else ""
    return SourceError(
        f"of {many(documents, 'document')} none is for {side}",
        where="--validation",
        fix=f"give a {part} part{such}, another --seed or more documents, or leave it out",
    )


@contextlib.contextmanager
def _cut(
    files: tuple[CorpusFile, ...], place: Path, size: int, state: str | Path | None
) -> Iterator[CutCorpus]:
    """The corpora in parts; what can be read only once is copied first."""
    with spooled(files, place, again=state is not None) as copies:
        yield CutCorpus(copies, size)


def _manifest(
    job: EncodeJob, facts: TokenizerFacts, corpus: CutCorpus, run: Run[Encoded]
) -> Manifest:
    cut_as = {part.file_number: part.identity for part in corpus.parts}
    return Manifest(
        job.settings,
        job.dtype,
        facts,
        versions_here(job.libraries),
        tuple(
            OriginFile(f.label, whole_name(f), f.kind, f.field, f.name, cut_as[number])
            for number, f in enumerate(corpus.files)
        ),
        tuple(
            WrittenPart(p.file_number, p.start, p.end, p.size, run.results[p.number])
            for p in corpus.parts
        ),
    )


def _joined(folder: Path, manifest: Manifest) -> Manifest:
    """Puts the shards of each side one after another in one file; a shard is gone when it is in it,
    so that the disk holds the ids once.
    """
    made: dict[str, str] = {}
    for side in manifest.settings.sides:
        with (folder / joined_name(side)).open("wb") as file:
            for number in range(len(manifest.shards)):
                shard = folder / f"{stem_of(number, side)}.bin"
                if shard.is_file():
                    made[shard.name] = joined_name(side)
                    for data in chunks(shard):
                        file.write(data)
                    shard.unlink()
            file.flush()
            os.fsync(file.fileno())
        if joined_name(side) not in made.values():
            (folder / joined_name(side)).unlink()  # a memory map cannot be empty

    def in_joined(piece: WrittenPart) -> WrittenPart:
        files = tuple(replace(file, name=made[file.name]) for file in piece.encoded.files)
        return replace(piece, encoded=replace(piece.encoded, files=files))

    return replace(manifest, shards=tuple(map(in_joined, manifest.shards)))


def _check_files_say(loaded: TokenizerSource[BPEModel], carried: Carried) -> None:
    """What travels to workers are files: a model that was changed in memory is not in them.

    Raises:
        SourceError: the model is another than the one that its files and the preset say.
    """
    carried_model = opened_from(carried.ticket, carried.files) if carried.files else None
    if carried_model is None or (
        carried_model != loaded.model
        and fingerprint(carried_model)["all"] != fingerprint(loaded.model)["all"]
    ):
        raise SourceError(
            "the model is not what its files say: it was changed in memory, and to workers the "
            "files travel",
            where=loaded.label,
            fix="save it, and encode with what was saved",
        )


class _InterruptedError(Exception):
    """Ctrl-C ended the run: there is no folder."""


def _cut_texts(corpus: CutCorpus, run: Run[Encoded]) -> Iterator[str]:
    """That files of plain text are several documents each: whoever asks for a text may mean one."""
    documents: dict[str, int] = {}
    for part in corpus.parts:
        if part.file.kind == "text":
            label = part.file.label
            documents[label] = documents.get(label, 0) + run.results[part.number].documents
    cut = [label for label, count in documents.items() if count > 1]
    if cut:
        yield (
            f"plain text is cut at line ends into documents of about {TEXT_BYTES >> 10} KiB, each "
            f"encoded by itself: {show(cut[0])} is {documents[cut[0]]:,} of them; a whole text is "
            "one document in a record of JSONL or a row of Parquet"
        )


def _written(
    manifest: Manifest | None, run: Run[Encoded], parts: int, notes: Iterable[str] = ()
) -> EncodedCorpus:
    notes = (*notes, *sorted(run.notes))
    return EncodedCorpus(
        manifest, len(run.results), parts, notes, run.interrupted, run.seconds, run.memory
    )


def _run(
    job: EncodeJob,
    carried: Carried,
    about: Mapping[str, Any],
    corpus: CutCorpus,
    way: Way,
) -> Run[Encoded]:
    """Encodes the parts that are not done yet; the results are of all that are."""
    tokens = skipped = 0

    def told(seen: Progress, part: Encoded) -> None:
        nonlocal tokens, skipped
        tokens += part.tokens
        skipped += len(part.skips)
        check_skips(job.settings, skipped)
        way.tick(Step(**asdict(seen), tokens=tokens))

    errors = job.settings.selection.errors

    def is_there(part: Encoded) -> bool:
        if (part.skips and errors != "skip") or (part.replaced and errors != "replace"):
            return False  # it was read by another rule
        paths = [(Path(job.folder, file.name), file.sha256) for file in part.files]
        return all(path.is_file() and sha256_of_file(path) == sha256 for path, sha256 in paths)

    return run_corpus(
        job,
        [carried],
        corpus,
        pool_of(way.executor, way.slots),
        state=way.state,
        about=about,
        kind=Encoded,
        limit=way.limit,
        tick=told,
        is_there=is_there,
        fresh=way.fresh,
    )


@contextlib.contextmanager
def _kept(place: Path, files: Files, state: Path | None) -> Iterator[Path]:
    """A folder beside the target that stays where the block fails, and else becomes the target.

    With a ``state`` that nobody named, nothing stays of a run that has done nothing.
    """
    place = place.resolve()  # a link to an empty folder becomes the folder
    folder = place.with_name(f"{place.name}{UNFINISHED}")
    try:
        with held_alone(folder) as alone:
            _check_ours(folder, alone)
            shutil.rmtree(folder / TOKENIZER, ignore_errors=True)
            for name, data in files.items():
                path = folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
            try:
                yield folder
            except BaseException:
                # While the folder is held: another run may wait for it.
                if state is not None and holds_nothing(state):
                    state.unlink(missing_ok=True)
                    shutil.rmtree(folder, ignore_errors=True)
                raise
            os.rename(folder, place)
    except OSError as error:
        raise TargetError(
            f"cannot be written: {error.strerror or error}",
            where=str(folder),
            fix="choose a folder where you may write, with enough free space",
        ) from None


def _check_ours(folder: Path, alone: bool) -> None:
    """Refuses a folder that another run has, or that holds what no run of ours left."""
    if not alone:
        raise TargetError(
            "another run writes there",
            where=str(folder),
            fix="wait for it, or choose another target",
        )
    others = sorted(
        path.name
        for path in folder.iterdir()
        if path.name not in (TOKENIZER, NAME, *_JOINED) and not path.name.startswith(SHARD)
    )
    if others:
        raise TargetError(
            f"it holds what no run of ours left: {', '.join(map(show, others[:5]))}",
            where=str(folder),
            fix="move it away, or choose another target",
        )


def _clean(folder: Path, manifest: Manifest) -> None:
    """Removes what killed workers left."""
    named = {file.name for piece in manifest.shards for file in piece.encoded.files}
    for path in folder.iterdir():
        ours = path.name.startswith(SHARD) or path.name in _JOINED
        if path.is_file() and ours and path.name not in named:
            path.unlink()


def _about(job: EncodeJob, place: Path) -> dict[str, Any]:
    return {
        "work": "encode",
        "tokenizer": asdict(job.ticket),
        # What is done was read without a fault, or its result says what was done with one.
        "settings": asdict(
            replace(
                job.settings,
                selection=replace(job.settings.selection, errors="strict"),
                most_skipped=None,
            )
        ),
        "dtype": job.dtype,
        "target": spelled(str(place.resolve())),
        "versions": versions_here(job.libraries),
    }


def _facts(
    loaded: TokenizerSource[BPEModel], carried: Carried, tokenizer: Tokenizer
) -> TokenizerFacts:
    ticket = carried.ticket
    return TokenizerFacts(
        ticket.label,
        ticket.format,
        ticket.preset,
        ticket.sha256,
        fingerprint(loaded.model)["all"],
        tokenizer.engine,
        {name: hashlib.sha256(data).hexdigest() for name, data in sorted(carried.files.items())},
    )
