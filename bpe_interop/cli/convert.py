"""``bpe-interop convert``."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..convert import Conversion, convert
from ..formats import all_formats, by_name, way_of_writing
from ..gate import describe
from ..io import plain_names, target_format
from ..publish import PREFIX, Publication, address, prepared, send
from ..sources import SourceOptions
from ..statement import Statement
from .manual import DECIDING, command
from .options import (
    OneOf,
    Writing,
    corpus_option,
    format_option,
    gathers,
    json_option,
    offline_option,
    preset_option,
    source_and_target,
    statement_options,
    to_option,
    writing_options,
)
from .outcome import refusals, show_how_to_load, show_outcome
from .screen import as_json, counting, lines

if TYPE_CHECKING:
    from ..cost import Cost

_PRETOKENS = "pretoken-level"


@dataclass(frozen=True, slots=True)
class _Asked(Writing):
    """The same with the options that only this command has."""

    names: str | None
    plugin: bool
    name: str
    vocab_listing: bool
    pretoken_level: bool
    into: Path | None
    corpora: tuple[str, ...]

    @property
    def options(self) -> list[str]:
        """The target format's own options."""
        asked = {
            "vocab-names": self.names == "vocab",
            "plugin": self.plugin,
            "vocab-listing": self.vocab_listing,
        }
        return [option for option, given in asked.items() if given]

    def check(self, target: Path) -> None:
        """Raises TargetError where the target's format has no such option, as it was typed."""
        for option in self.options:
            typed = _TYPED.get(option, f"--{option}")
            way_of_writing(target_format(target, self.to), option, typed)


_TYPED = {"vocab-names": "--names vocab"}
"""How an option is asked for that is not called as here."""


@command(
    "convert",
    short_help="Convert SRC to DST, and check the result.",
    examples={
        "bpe-interop convert my-tok out --to hf": "Write what transformers loads",
        "bpe-interop convert my-tok mine.tiktoken": "Write a rank file for tiktoken",
        "bpe-interop convert my-tok a.gguf --corpus story.txt": "Say what it costs if it loses ids",
        "bpe-interop convert old-tok new.gguf --into old.gguf": "Mend the tokenizer in a GGUF file",
    },
    codes=DECIDING,
)
@source_and_target
@to_option("The target's format: hf, tiktoken, gpt2, spm, gguf, tekken, minbpe.")
@format_option
@preset_option
@writing_options
@click.option(
    "--names",
    type=OneOf(["encoder", "vocab"]),
    help="How to name a GPT-2 pair: encoder.json + vocab.bpe, or vocab.json + merges.txt.",
)
@click.option("--plugin", is_flag=True, help="Write an installable tiktoken plugin as well.")
@click.option("--name", default="", metavar="NAME", help="The tokenizer's name in the target.")
@click.option(
    "--vocab-listing", is_flag=True, help="Write the .vocab listing as well (spm, minbpe)."
)
@click.option(
    "--pretoken-level",
    is_flag=True,
    help="For spm: write a byte-level tokenizer for single pretokens in GPT-2's byte alphabet.",
)
@click.option(
    "--into",
    type=click.Path(path_type=Path),
    metavar="MODEL.gguf",
    help="Write DST as this file with the tokenizer of SRC in it; MODEL.gguf is not changed.",
)
@corpus_option("Say what is refused, or dropped, costs on these texts")
@click.option("--publish", is_flag=True, help="Send to hf:org/name; without it nothing is sent.")
@click.option("--private", is_flag=True, help="A repository that --publish makes is private.")
@statement_options
@offline_option
@json_option
@gathers(asked=_Asked, reading=SourceOptions)
def convert_command(
    source: str,
    target: Path,
    asked: _Asked,
    reading: SourceOptions,
    said: Statement,
    publish: bool,
    private: bool,
    json_output: bool,
) -> None:
    """Convert SRC to DST, a new directory, and check the result.

    A DST that ends as a file of the format (NAME.tiktoken, NAME.gguf; with --to also NAME.json,
    NAME.model) is that one file.

    With --to hf, DST may be a repository of the hub, hf:org/name[@branch]. Without
    --publish nothing is sent: the command shows what it would send.

    What the target cannot hold is refused, with what would be lost. What was written is read
    back and run in the target's own engine before it takes its place. The line "verdict" says
    whether the two are proved equal for every text.

    --template, --eos and the like say what SRC does not state. What it states, extend changes.

    With --corpus, what is refused, or dropped with --drop, has its cost for each file: how many
    lines have other ids, and how many tokens more they take; for GGUF under each of the nearest
    names.

    With --into, DST is a copy of a GGUF file with another tokenizer in it. Tensors and all other
    keys are copied as they are, and compared.

    With --json: what was kept, rewrote, lost, checked and proved; where it is refused,
    "refused" lists the losses.
    """
    if asked.into is not None and is_repository(target):
        raise click.UsageError("--into writes a file: name one as DST")
    check_options(target, publish=publish, private=private, offline=reading["offline"])
    _check_corpora(asked.corpora)
    measured = partial(_measured, source, target, asked, reading)
    told = refusals(source, target, json_output=json_output, costs=measured)
    with told, place_for(target) as place:
        asked.check(place)
        with counting("checking") as tick:
            done = convert(
                source,
                place,
                asked.to,
                drop=(*asked.drop, *_dropped(asked)),
                force=asked.force,
                verify=not asked.no_verify,
                options=asked.options,
                into=asked.into,
                name=asked.name,
                tick=tick,
                said=said,
                **reading,
            )
        costs = measured() if done.losses else []
        if is_repository(target):
            done, wanted = prepared(done, place, str(target))
            commit = send(wanted, force=asked.force, private=private) if publish else None
            _show_published(done, wanted, commit, target, costs, json_output=json_output)
            return
    if json_output:
        as_json(_as_dict(done, costs))
    else:
        _show(done, target, costs)
        show_how_to_load(by_name(done.target_format), done.files, target)


def _check_corpora(corpora: tuple[str, ...]) -> None:
    """Names a corpus that is not there before anything is written."""
    if corpora:
        from ..corpora import find_shards  # most conversions need none

        find_shards(corpora)


def _measured(source: str, target: Path, asked: _Asked, reading: SourceOptions) -> list[Cost]:
    """What is lost, on the corpora that were named."""
    if not asked.corpora:
        return []
    from ..cost import costs  # it reads corpora, and most conversions none

    with counting("measuring") as tick:
        return costs(source, target_format(target, asked.to), asked.corpora, tick, **reading)


def _as_dict(done: Conversion, costs: list[Cost]) -> dict[str, object]:
    from ..pages.document import written_data

    told = {**asdict(replace(done, report=None)), **written_data(done.report)}
    del told["report"]
    return {**told, **({"costs": [*map(asdict, costs)]} if costs else {})}


def _show_published(
    done: Conversion,
    wanted: Publication,
    commit: str | None,
    target: Path,
    costs: list[Cost],
    *,
    json_output: bool,
) -> None:
    if json_output:
        as_json({**_as_dict(done, costs), "published": commit})
        return
    _show(done, target, costs)
    if commit is None:
        show_unsent(wanted)
    else:
        show_sent(wanted, commit)


def _dropped(asked: _Asked) -> tuple[str, ...]:
    """The fields that are lost by an option that is asked for knowing that."""
    if not asked.pretoken_level:
        return ()
    for row in all_formats():
        if asked.to in (row.name, *row.aliases) and _PRETOKENS in row.drops:
            return row.drops[_PRETOKENS]
    raise click.UsageError(f"--{_PRETOKENS} belongs to --to spm")


def _show(done: Conversion, target: Path, costs: list[Cost]) -> None:
    lines(
        "made" if is_repository(target) else "wrote",
        [plain_names(dict.fromkeys(done.files, b""), target)],
    )
    lines("kept", ["; ".join(done.kept)])
    lines("rewrote", done.rewrote)
    lines("dropped", [describe(loss, happened=True) for loss in done.losses])
    lines("cost", [str(cost) for cost in costs])
    lines("note", done.notes)
    show_outcome(done.report)


def is_repository(target: Path) -> bool:
    """Whether a target is a repository's name; ``./hf:name`` is a folder."""
    return str(target).startswith(PREFIX)


def check_options(target: Path, *, publish: bool, private: bool, offline: bool) -> None:
    """Refuses options that do not fit the target or each other.

    Raises:
        click.UsageError: they do not.
        TargetError: the target is ``hf:`` and no repository's name.
    """
    if not is_repository(target):
        if publish or private:
            asked = "--publish" if publish else "--private"
            raise click.UsageError(f"{asked} belongs to a target hf:org/name")
        return
    address(str(target))
    if private and not publish:
        raise click.UsageError("--private belongs to --publish")
    if publish and offline:
        raise click.UsageError("--publish needs the network, which --offline forbids")


@contextlib.contextmanager
def place_for(target: Path) -> Iterator[Path]:
    """Where the files are written: the target, or a folder that goes when the block ends."""
    if not is_repository(target):
        yield target
        return
    with tempfile.TemporaryDirectory(prefix="bpe-interop-") as folder:
        yield Path(folder) / "tokenizer"


def show_unsent(wanted: Publication) -> None:
    """Prints what would be sent."""
    at = f" in branch {wanted.revision}" if wanted.revision else ""
    lines("not sent", [f"{wanted.repository}{at} would be given {_listed(wanted)}"])
    lines("card", [wanted.section])
    lines("to send", ["give --publish; the rest of the repository's card stays as it is"])


def show_sent(wanted: Publication, commit: str) -> None:
    """Prints what was sent, and the commit's address."""
    lines("published", [f"{_listed(wanted)}: {commit}"])


def _listed(wanted: Publication) -> str:
    held = sorted(wanted.files.items())
    return ", ".join(f"{name} ({len(data):,} bytes)" for name, data in held)
