"""A converted tokenizer in a repository of the Hugging Face hub, with what was proved in its card.

Nothing is sent by :func:`prepared`: it needs no network. :func:`send` is asked for by name.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .convert import Conversion
from .engines import own_version
from .engines.library import guarded, library
from .errors import SourceError, TargetError
from .formats import by_name

PREFIX = "hf:"
CARD = "README.md"
BEGIN, END = "<!-- bpe-interop begins -->", "<!-- bpe-interop ends -->"
"""What stands between is ours, and is replaced by the next conversion; the rest is the owner's."""

_NAME = re.compile(r"hf:(?P<repository>[\w.-]+/[\w.-]+)(?:@(?P<revision>[\w./-]+))?")
_FRESH = "---\nlibrary_name: transformers\ntags:\n- tokenizer\n---\n\n# {name}\n\n"


@dataclass(frozen=True, slots=True)
class Publication:
    """What a repository is given.

    Attributes:
        repository: ``org/name``.
        revision: the branch; None for the repository's own first one.
        files: the tokenizer's files by name, as they were checked; no model card is among them.
        section: the part of the model card that says what was proved, in Markdown.
    """

    repository: str
    revision: str | None
    files: Mapping[str, bytes]
    section: str


def address(name: str) -> tuple[str, str | None]:
    """The repository and the branch of ``hf:org/name[@branch]``.

    Raises:
        TargetError: it is no such name.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        raise TargetError(
            "this is not the name of a repository to publish in",
            where=name,
            fix="write hf:org/name[@branch]",
        )
    return match["repository"], match["revision"]


def prepared(done: Conversion, folder: Path, name: str) -> tuple[Conversion, Publication]:
    """What would be published of a conversion, and the conversion as one to that repository.

    Args:
        done: the conversion; it wrote into ``folder``.
        folder: where its files are.
        name: ``hf:org/name[@branch]``.

    Raises:
        TargetError: ``name`` is no such name, or the conversion's format is not Hugging Face's.
    """
    repository, revision = address(name)
    if not by_name(done.target_format).served:
        raise TargetError(
            f"a repository of the hub is given Hugging Face's files, not {done.target_format}",
            where=name,
            fix="convert with --to hf",
        )
    done = replace(done, source=_public(done.source), target=name)
    files = {file: (folder / file).read_bytes() for file in done.files}
    return done, Publication(repository, revision, files, card_section(done))


def _public(source: str) -> str:
    """A source's name for others: of a path, only its end."""
    if source.startswith(("hf:", "tiktoken:")):
        return source
    return Path(source).name or source


def card_section(done: Conversion) -> str:
    """What was done and what is known of it, as a section of a model card."""
    # A name in it may end the block of code, or hold the mark of the section's end.
    plain = str(done).replace("`", "'").replace("<!--", "<! --")
    told = "\n".join(plain.splitlines())
    return "\n".join(
        [
            BEGIN,
            "## Tokenizer",
            "",
            f"Converted with bpe-interop {own_version()}. PROVED means equal for every "
            "text, under the assumptions that `bpe-interop verify` prints; TESTED means equal on "
            "the texts that are counted.",
            "",
            "```text",
            told,
            "```",
            END,
        ]
    )


def with_section(card: str | None, section: str, name: str) -> str:
    """A model card with our section in it: in its old place, or at the end.

    Args:
        card: the card that is there; None where there is none.
        section: what :func:`card_section` gave.
        name: the heading of a new card.

    Raises:
        TargetError: the card does not hold each mark of our section once, in order.
    """
    if card is None:
        return _FRESH.format(name=name) + section + "\n"
    marks = card.count(BEGIN), card.count(END)
    if marks == (0, 0):
        return card.rstrip("\n") + "\n\n" + section + "\n"
    if marks != (1, 1) or card.index(BEGIN) > card.index(END):
        raise TargetError(
            "the model card does not hold each mark of our section exactly once",
            where=CARD,
            fix=f"leave {BEGIN} and {END} once each, in this order, or neither",
        )
    before, _, rest = card.partition(BEGIN)
    return before + section + rest.partition(END)[2]


def send(wanted: Publication, *, force: bool = False, private: bool = False) -> str:
    """Sends everything as one commit, and gives the commit's address.

    The repository is made where there is none. The commit is refused by the hub where somebody
    else has changed the branch meanwhile.

    Args:
        wanted: what is sent.
        force: replace files of the repository; our part of its model card is always replaced.
        private: a repository that is made here is seen by its owners only.

    Raises:
        TargetError: the repository holds one of the files, and ``force`` is False.
        SourceError: the repository's model card is not UTF-8.
        EngineMissingError: huggingface_hub is not installed.
        EngineError: the hub, or huggingface_hub, failed.
    """
    hub = library("huggingface_hub")
    missing = importlib.import_module("huggingface_hub.errors").RepositoryNotFoundError
    api = hub.HfApi(library_name="bpe-interop")
    where = f"{PREFIX}{wanted.repository}"
    with guarded("huggingface_hub", f"to publish in {where}"):
        try:
            repository = api.repo_info(wanted.repository, revision=wanted.revision)
        except missing:
            api.create_repo(wanted.repository, private=private)
            repository = api.repo_info(wanted.repository)
        there = {file.rfilename for file in repository.siblings or ()}
        _keep_others(there & wanted.files.keys(), where, force)
        card = _card(api, wanted, repository.sha) if CARD in there else None
        text = with_section(card, wanted.section, wanted.repository.split("/")[1])
        files = {**wanted.files, CARD: text.encode("utf-8")}
        commit = api.create_commit(
            wanted.repository,
            [hub.CommitOperationAdd(file, data) for file, data in files.items()],
            commit_message="Convert the tokenizer with bpe-interop",
            revision=wanted.revision,
            parent_commit=repository.sha,
        )
    return str(commit.commit_url)


def _keep_others(held: set[str], where: str, force: bool) -> None:
    if held and not force:
        raise TargetError(
            f"the repository already holds {', '.join(sorted(held))}",
            where=where,
            fix="replace them with --force (force=True), or publish in another branch: @branch",
        )


def _card(api: Any, wanted: Publication, commit: str) -> str:
    """The model card that a repository has."""
    path = api.hf_hub_download(wanted.repository, CARD, revision=commit)
    try:
        return Path(path).read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise SourceError("the model card is not UTF-8", where=CARD) from error
