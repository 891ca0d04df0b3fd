"""Names of tokenizers to models: a path, ``tiktoken:NAME``, ``hf:org/name``, ``git:REV:PATH``."""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, Final, TypedDict

from . import gc_pause, presets, statement
from .errors import BpeInteropError, EngineMissingError, FormatError, SourceError
from .formats import Files, Format, by_name, each_format, file_names
from .formats.huggingface.companions import with_companions
from .io.names import before, spelled
from .io.reader import TokenizerSource, find, find_head, read
from .model import BPEModel

_BLOCK: Final = 1 << 20
"""So many bytes are asked of the hub at once, besides those that are needed."""

_NO_OWNERS: Final = ("buckets", "datasets", "kernels", "models", "spaces")
"""What begins the names of other things on the hub."""


class SourceOptions(TypedDict, total=False):
    """How a source is read, as :func:`load_source` takes it."""

    format: str | None
    preset: str | None
    offline: bool


@gc_pause.paused()
def load_source(
    source: str | Path,
    *,
    format: str | None = None,
    preset: str | None = None,
    offline: bool = False,
    said: statement.Statement = statement.NOTHING,
) -> TokenizerSource[BPEModel]:
    """Reads the tokenizer that a name or a path stands for.

    Args:
        source: a file, a directory, ``tiktoken:NAME`` (or ``tiktoken:MODEL``),
            ``hf:org/name[@revision]``, or one file there, ``hf:org/name[@revision]:FILE``: that
            file alone, and nothing beside it. Of a file that holds a model besides (GGUF) only the
            head is read, by ranges. ``git:REV:PATH`` is a path in a commit of the repository that
            the current folder is in.
        format: read it as this format; otherwise it is recognised by content.
        preset: the preset that says what the files leave unsaid: a name, or a JSON file of the
            user's own (``presets/own.py``), whose name ends in ``.json``.
        offline: never use the network.
        said: what the user says that the files leave unsaid.

    Raises:
        SourceError: the source cannot be found, read or told apart, or it states something else
            than the user.
        FormatError: a file is malformed, or (UnsupportedError) asks for what is refused.
    """
    if not isinstance(said, statement.Statement):
        kind = type(said).__name__
        raise TypeError(f'said is a Statement, not {kind}: said=Statement(template="bos")')
    if not isinstance(source, (str, os.PathLike)):
        raise TypeError(f"a source is a path or a name, not {type(source).__name__}")
    named = _preset(preset) if preset else None
    label = str(source)
    if not label or label in ("tiktoken:", "hf:"):
        raise SourceError(
            f"{label!r} names no tokenizer",
            fix="name a file, a directory, tiktoken:NAME, hf:org/name[@revision][:FILE], or "
            "git:REV:PATH",
        )
    named_by = _registered(label)
    if named_by is not None:
        if format and by_name(format).name != named_by.name:
            raise SourceError(
                f"{named_by.registry} gives rank files only",
                where=label,
                fix="leave --from (format=...) out",
            )
        from .engines import registry

        files = registry(label.partition(":")[2], offline=offline)
        loaded = _read(TokenizerSource(label, named_by, files, None), "")
    elif label.startswith("hf:"):
        loaded = _from_hub(label, format, offline)
    elif label.startswith("git:"):
        loaded = _from_git(label, format)
    else:
        loaded = _from_path(Path(source), format, spelled(label))
    alone, known, model = completed(loaded.model, loaded.beside, named, said, spelled(label))
    whole = presets.fill_template(model)
    steps = ((loaded.model, alone), (model, whole))
    return replace(
        loaded,
        model=whole,
        supplied=tuple(n for a, b in steps for n in b.origin.notes if n not in a.origin.notes),
        says_template=loaded.model.sequence_template is not None,
        alone=None if known is alone else alone,
        by_user=statement.fields_filled(known, model),
    )


def completed(
    model: BPEModel,
    beside: Files,
    preset: presets.Preset | None,
    said: statement.Statement = statement.NOTHING,
    where: str = "",
) -> tuple[BPEModel, BPEModel, BPEModel]:
    """A model with what its own files leave unsaid, from all who may say it.

    ``where`` is what errors call the source.

    Returns:
        The model with the preset; with the files beside it too; and with what the user says.

    Raises:
        SourceError: the preset or the user contradicts the files.
        FormatError: a file beside it is malformed.
    """
    alone = presets.fill(model, preset, where)
    known = with_companions(alone, beside)
    return alone, known, statement.with_gaps_filled(known, said.over(preset))


def readings(
    sources: Sequence[str], reading: SourceOptions, named: Sequence[str] = ()
) -> list[SourceOptions]:
    """How each of several sources is read: a preset is for those that leave something unsaid.

    That is the pattern or the special tokens. A source that is alone is read with the preset. Of
    several presets there is one for each such source, in their order.

    Raises:
        SourceError: there are several presets, and not as many as such sources.
        The errors of :func:`load_source`.
    """
    if not named:
        return [reading] * len(sources)
    if len(sources) == len(named) == 1:
        return [{**reading, "preset": named[0]}]
    models = (load_source(source, **reading).model for source in sources)
    unsaid = [None in (model.pretokenizer, model.added) for model in models]
    each = iter(named if named[1:] else [named[0]] * len(sources))
    if named[1:] and sum(unsaid) != len(named):
        lacking = [source for source, is_lacking in zip(sources, unsaid, strict=True) if is_lacking]
        raise SourceError(
            f"{len(named)} presets are named, and the sources that leave the pattern or the "
            f"special tokens unsaid are {', '.join(lacking) or 'none'}",
            fix="name one for all of these, or one for each in their order",
        )
    return [{**reading, "preset": next(each)} if is_one else reading for is_one in unsaid]


def _preset(preset: str) -> presets.Preset:
    if not preset.endswith(presets.SUFFIX):
        return presets.by_name(preset)
    from .presets.own import read_preset

    return read_preset(read(Path(preset)), spelled(preset))


def carried_preset(preset: str | None) -> str | None:
    """A preset that can travel: of a file its contents, because another machine has no such path.

    Raises:
        SourceError: the file cannot be read.
    """
    if preset is None or not preset.endswith(presets.SUFFIX):
        return preset
    return read(Path(preset)).decode("utf-8", "replace").strip()


def read_with(source: str | Path, preset: str | None) -> list[str | Path]:
    """The names of what is read: a source, and a preset that is a file."""
    return [source, *([preset] if preset and preset.endswith(presets.SUFFIX) else [])]


def _registered(label: str) -> Format | None:
    """The format of what a library has under a name: ``LIBRARY:NAME``."""
    library, colon, _ = label.partition(":")
    if not colon or not library.isidentifier():
        return None
    return next((row for row in each_format() if row.registry == library), None)


def _from_path(
    path: Path, format: str | None, label: str, *, alone: bool = False
) -> TokenizerSource[BPEModel]:
    source = replace(find(path, format, alone=alone), label=label)
    return _read(source, before(source.directory or path.parent))


def _read(source: TokenizerSource[None], folder: str) -> TokenizerSource[BPEModel]:
    try:
        return source.with_model(source.format.load(source.files))
    except FormatError as error:
        error.where = f"{folder}{error.where}" if error.where else source.label
        raise


def _from_git(label: str, format: str | None) -> TokenizerSource[BPEModel]:
    from .io.git import as_committed  # most sources are not in git

    with as_committed(label) as path:
        try:
            loaded = _from_path(path, format, label)
        except BpeInteropError as error:
            # The copy is gone when the message is read.
            error.where, error.what = (
                text.replace(f"{path}", label) for text in (error.where, error.what)
            )
            raise
        return replace(loaded, label=label)


def _from_hub(label: str, format: str | None, offline: bool) -> TokenizerSource[BPEModel]:
    """A repository of the hub, or one file in it."""
    try:
        import huggingface_hub
    except ImportError:
        from .engines.library import to_install

        raise EngineMissingError(
            "huggingface_hub is needed to read from the hub", fix=to_install("huggingface_hub")
        ) from None
    name = label.removeprefix("hf:")
    address, colon, file = name.partition(":")
    repository, _, revision = address.partition("@")
    if not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", repository) or bool(colon) != bool(file):
        raise SourceError(
            "this is not the name of a repository",
            where=label,
            fix="write hf:org/name[@revision], and :FILE behind it for one file",
        )
    kind, slash, _ = repository.partition("/")
    if slash and kind in _NO_OWNERS:
        raise SourceError(
            f"{kind}/ is no owner of models on the hub",
            where=label,
            fix="write hf:org/name for a model; what else is there, download, and name the file",
        )
    here = offline or bool(importlib.import_module("huggingface_hub.constants").HF_HUB_OFFLINE)
    note = ""
    there: TokenizerSource[None] | Path
    try:
        with _quietly():
            if file:
                there, note = _file_of_hub(repository, revision, file, format, here)
            else:
                patterns = [pattern for names in file_names() for pattern in names.hub]
                there = Path(
                    huggingface_hub.snapshot_download(
                        repository,
                        revision=revision or None,
                        allow_patterns=patterns,
                        local_files_only=here,
                    )
                )
    except (BpeInteropError, RecursionError):
        raise
    except _hub_failures() as error:
        raise _not_had(label, here, error) from None
    if isinstance(there, TokenizerSource):
        return _read(replace(there, label=label), f"hf:{address}:")
    loaded = _from_path(there, format, label, alone=bool(file))
    if file and (loaded.format.names.beside or loaded.format.names.halves):
        loaded = _with_note(loaded, f"{file}: of {address} this file alone was read")
    return _with_note(loaded, f"{file}: {note}") if note else loaded


def _file_of_hub(
    repository: str, revision: str, file: str, format: str | None, here: bool
) -> tuple[TokenizerSource[None] | Path, str]:
    """The head of a file, or the path of the whole file in the cache; and what to say of it.

    ``here`` asks the local cache only.
    """
    import huggingface_hub

    errors = importlib.import_module("huggingface_hub.utils")
    place: dict[str, Any] = {"repo_id": repository, "filename": file, "revision": revision or None}
    if here:
        return Path(huggingface_hub.hf_hub_download(**place, local_files_only=True)), ""
    try:
        source = _head_by_ranges(repository, revision, file, format)
        if source is not None:
            return source, ""
        return Path(huggingface_hub.hf_hub_download(**place)), ""
    except (BpeInteropError, RecursionError, FileNotFoundError):
        raise
    except (errors.EntryNotFoundError, errors.RevisionNotFoundError):
        raise
    except _hub_failures() as error:
        kept = huggingface_hub.try_to_load_from_cache(**place)
        if not isinstance(kept, str):
            raise
        note = f"the copy in the local cache was read, as the hub failed: {_told(error)}"
        return Path(kept), note


def _hub_failures() -> tuple[type[Exception], ...]:
    """What fails where the hub, the network or the cache does, and nothing else."""
    # A defect of ours must not look like a hub that fails. huggingface_hub's own errors have no
    # common base; beside them stands that of the library by which it asks. Older versions have
    # some of them in ``utils`` only. Of hf_xet, which fetches large files, they are RuntimeError.
    rooms = map(importlib.import_module, ("huggingface_hub.errors", "huggingface_hub.utils"))
    named = chain.from_iterable(vars(room).values() for room in rooms)
    kinds = (each for each in named if isinstance(each, type) and issubclass(each, Exception))
    return (OSError, RuntimeError, *kinds)


def _head_by_ranges(
    repository: str, revision: str, file: str, format: str | None
) -> TokenizerSource[None] | None:
    """The head of a file that holds more than a tokenizer; None where it is no such file.

    Nothing is kept on the disk, and of the file only what was read is fetched.
    """
    from huggingface_hub import HfApi, HfFileSystem

    # All is read of one commit: the branch may move between two requests.
    info = HfApi().repo_info(repository, revision=revision or None)
    if not info.sha:
        raise SourceError(
            "the hub does not say which commit this is", where=f"hf:{repository}", fix="download it"
        )
    files = HfFileSystem(skip_instance_cache=True)
    path = f"{info.id or repository}/{file}"
    with files.open(path, "rb", revision=info.sha, block_size=_BLOCK) as stream:
        try:
            return find_head(stream, file.rpartition("/")[2], format)
        except FormatError as error:
            error.where = f"hf:{repository}:{error.where}"
            raise


def _with_note(loaded: TokenizerSource[BPEModel], note: str) -> TokenizerSource[BPEModel]:
    origin = loaded.model.origin
    notes = (*origin.notes, note)
    return loaded.with_model(replace(loaded.model, origin=replace(origin, notes=notes)))


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """A block in which huggingface_hub shows no progress where there is no terminal."""
    utils = importlib.import_module("huggingface_hub.utils")
    quiet = not sys.stderr.isatty() and not utils.are_progress_bars_disabled()
    if quiet:
        utils.disable_progress_bars()
    try:
        yield
    finally:
        if quiet:
            utils.enable_progress_bars()


def _not_had(label: str, here: bool, error: Exception) -> SourceError:
    if here:
        address, _, file = label.removeprefix("hf:").partition(":")
        repository, _, revision = address.partition("@")
        words = ["hf download", repository, file, f"--revision {revision}" if revision else ""]
        return SourceError(
            "it is not in the local cache, and the hub is not asked: --offline (offline=True) or "
            "HF_HUB_OFFLINE",
            where=label,
            fix=f"get it once with `{' '.join(filter(None, words))}`, or set HF_HOME to the cache "
            "that holds it",
        )
    return SourceError(
        f"cannot be downloaded from the hub: {_told(error)}",
        where=label,
        fix="check the name and the network; for files behind a gate, log in with `hf auth login`",
    )


def _told(error: Exception) -> str:
    return (str(error).strip().splitlines() or [repr(error)])[0]
