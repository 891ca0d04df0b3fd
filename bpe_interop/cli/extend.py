"""``bpe-interop extend``."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path

import click

from ..convert import Target, Written, write_checked
from ..errors import FormatError, LossyConversionError
from ..extend import Surgery, surgery, with_special_tokens
from ..formats import Format
from ..formats.huggingface.companions import MODEL_CONFIG
from ..gate import describe, renamed
from ..io import (
    TokenizerSource,
    check_target,
    is_file_target,
    keep_apart,
    plain_names,
    read,
    spelled,
    stem_of,
    target_format,
)
from ..model import AddedToken, BPEModel, show
from ..sources import SourceOptions, load_source, read_with
from ..statement import Statement, restated
from .manual import DECIDING, command
from .options import (
    Writing,
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


@dataclass(frozen=True, slots=True)
class _Asked(Writing):
    """The same, and what is added."""

    special: tuple[str, ...]
    config: Path | None


@command(
    "extend",
    short_help="Add special tokens, and say how many rows a network needs.",
    examples={
        "bpe-interop extend my-tok out --special '<a>' --special '<b>'": "Add two tokens",
        "bpe-interop extend my-tok out --special '<pad>' --pad '<pad>'": "Add one for padding",
    },
    codes=DECIDING,
)
@source_and_target
@click.option(
    "--special",
    multiple=True,
    metavar="TOKEN[=ID]",
    help="A special token, with the next id or this one; may be repeated.",
)
@to_option("The target's format, where it is not the source's.")
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The network's config.json, where it is not beside the source.",
)
@format_option
@preset_option
@statement_options
@writing_options
@offline_option
@json_option
@gathers(asked=_Asked, reading=SourceOptions)
def extend_command(
    source: str,
    target: Path,
    asked: _Asked,
    reading: SourceOptions,
    said: Statement,
    json_output: bool,
) -> None:
    """Write SRC with further special tokens to DST, and say how many rows a network needs.

    No id that is there changes. What is written goes through the same gate and the same checks
    as with convert. A TOKEN that ends in = and digits is written with its id behind it.
    """
    if not asked.special and not said:
        raise click.UsageError(
            "nothing to do: give --special, --role (or --bos, --eos, --pad, --unk), --template or "
            "--chat-template"
        )
    tokens, named = _numbered(asked.special), dict(said.roles)
    read = read_with(source, reading.get("preset"))
    keep_apart(read if asked.config is None else [*read, asked.config], target)
    check_target(target, force=asked.force)
    loaded = load_source(source, **reading)
    usual = None if is_file_target(target) else loaded.format.name
    row = target_format(target, usual if asked.to is None else asked.to)
    model = with_special_tokens(_renamed(loaded.model, target), tokens, named)
    model = restated(model, replace(said, roles={}))
    changes = _surgery(loaded, model, asked.config)
    with refusals(source, target, json_output=json_output), counting("checking") as tick:
        place = Target(row, target, asked.drop, asked.force, not asked.no_verify)
        try:
            done = write_checked(loaded, model, place, by_user=said.fields, tick=tick)
        except LossyConversionError as error:
            if asked.to is None:
                error.fix = f"name a format that holds it, such as --to hf; or {error.fix}"
            raise
    if json_output:
        as_json(_as_dict(source, target, row, changes, done))
    else:
        _show(target, changes, said, done)
        show_how_to_load(row, done.files, target)


def _numbered(special: tuple[str, ...]) -> dict[str, int | None]:
    """``TOKEN=ID`` and ``TOKEN``, as tokens with their ids."""
    asked: dict[str, int | None] = {}
    for given in special:
        text, equals, number = given.rpartition("=")
        has_id = bool(equals and number.isascii() and number.isdigit() and len(number) < 20)
        token = text if has_id else given
        if token in asked:
            raise click.UsageError(f"--special {show(token)} is given twice")
        asked[token] = int(number) if has_id else None
    return asked


def _renamed(model: BPEModel, target: Path) -> BPEModel:
    if not is_file_target(target):
        return model
    return renamed(model, stem_of(target))


_NO_ROWS = "give the network's config.json, where vocab_size stands; or leave --config out"


def _surgery(loaded: TokenizerSource[BPEModel], model: BPEModel, config: Path | None) -> Surgery:
    """What the network needs; a file that was given is named, and has to say its rows.

    Raises:
        FormatError: the file is malformed, or does not say how many rows the network has.
    """
    try:
        changes = surgery(loaded.model, model, _config(loaded, config))
    except FormatError as error:
        if config is not None and error.where.startswith(MODEL_CONFIG):
            error.where = f"{config}{error.where.removeprefix(MODEL_CONFIG)}"
            error.fix = _NO_ROWS
        raise
    if config is not None and not changes.rows_declared:
        what = "there is no vocab_size, which says how many rows the network has"
        raise FormatError(what, where=str(config), fix=_NO_ROWS)
    return changes


def _config(loaded: TokenizerSource[BPEModel], config: Path | None) -> bytes | None:
    """The ``config.json`` that is given, or lies beside a source whose format does not read it."""
    beside = loaded.directory / "config.json" if loaded.directory else None
    if config is None and "model_config" not in loaded.model.extras:
        config = beside if beside is not None and beside.is_file() else None
    return None if config is None else read(config)


def _show(target: Path, changes: Surgery, said: Statement, done: Written) -> None:
    lines("wrote", [plain_names(dict.fromkeys(done.files, b""), target)])
    lines("new", [_said(token) for token in changes.new])
    lines(
        "special",
        [f"{_said(token)}, which was there and not special" for token in changes.made_special],
    )
    lines("role", [f"{role} is {show(text)}" for role, text in said.roles.items()])
    if said.chat_template is not None:
        lines("chat", [f"the chat template has {len(said.chat_template):,} characters"])
    lines("rows", [_rows(changes)])
    lines("dropped", [describe(loss, happened=True) for loss in done.losses])
    lines("note", [*changes.notes, *done.notes])
    show_outcome(done.checks, done.verdict, to="to the source with these tokens ")


def _said(token: AddedToken) -> str:
    return f"{token.id} {show(token.text)}"


def _rows(changes: Surgery) -> str:
    """How many rows the network needs, as a sentence."""
    where = "the embedding matrix and the output layer"
    if changes.rows_declared:
        sentence = f"config.json declares {changes.rows_before:,} rows in {where}"
        sentence += (
            f": add {changes.rows_added:,}, which makes {changes.rows_after:,}"
            if changes.rows_added
            else ", which are enough"
        )
    elif changes.rows_added:
        sentence = (
            f"{where} need {changes.rows_after:,} rows: add {changes.rows_added:,}, "
            "or fewer if the network has spare ones (--config says how many it has)"
        )
    else:
        sentence = f"{where} need {changes.rows_after:,} rows, as before"
    if changes.in_place:
        count = len(changes.in_place)
        sentence += f"; {count:,} of the new ids {'has' if count == 1 else 'have'} a row already"
    return sentence


def _as_dict(
    source: str, target: Path, row: Format, changes: Surgery, done: Written
) -> dict[str, object]:
    return {
        "source": spelled(source),
        "target": spelled(str(target)),
        "target_format": row.name,
        "files": list(done.files),
        "surgery": {**asdict(changes), "rows_added": changes.rows_added},
        "notes": list(done.notes),
        "losses": [asdict(loss) for loss in done.losses],
        "checks": [asdict(check) for check in done.checks],
        "verdict": None if done.verdict is None else asdict(done.verdict),
    }
