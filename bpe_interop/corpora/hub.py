"""Data sets of the Hugging Face hub, as they lie in its local cache; nothing is downloaded."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

from ..errors import SourceError
from .optional import optional

PREFIX = "hf:datasets/"
_NAME = re.compile(r"(?P<repository>[\w.-]+/[\w.-]+)(@(?P<revision>[^/:]+))?(/(?P<inner>.*))?")


def local_dataset(name: str) -> tuple[Path, str]:
    """Where the files of a data set lie, and what is named inside it (empty: all of it).

    Args:
        name: ``hf:datasets/org/name[@revision][/PATTERN]``.

    Raises:
        SourceError: it is no such name, or the data set is not in the local cache.
        EngineMissingError: huggingface_hub is not installed.
    """
    match = _NAME.fullmatch(name.removeprefix(PREFIX))
    if match is None:
        raise SourceError(
            "this is not the name of a data set",
            where=name,
            fix="write hf:datasets/org/name[@revision][/PATTERN][:FIELD]",
        )
    hub = optional("huggingface_hub", "hub")
    missing = importlib.import_module("huggingface_hub.errors").LocalEntryNotFoundError
    repository, revision = match["repository"], match["revision"]
    try:
        folder = hub.snapshot_download(
            repository, repo_type="dataset", revision=revision, local_files_only=True
        )
    except (missing, OSError, ValueError) as error:
        at = f" --revision {revision}" if revision else ""
        raise SourceError(
            "this data set is not in the local cache, and corpora are never downloaded",
            where=name,
            fix=f"get it once: hf download {repository} --repo-type dataset{at}",
        ) from error
    return Path(folder), match["inner"] or ""
