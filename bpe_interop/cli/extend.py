"""``bpe-interop extend``."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from ..convert import Writing, Written, write_checked, written_lines
from ..errors import BpeInteropError, FormatError, LossyConversionError
from ..extend import Surgery, one_token_each, spaces_before, surgery, with_tokens
from ..formats.names import MODEL_CONFIG
from ..gate import describe, renamed
from ..io.names import spelled
from ..io.reader import TokenizerSource, read
from ..io.target import Target, check_target, is_file_target, keep_apart
from ..model import NETWORK, AddedToken, BPEModel
from ..quoting import show
from ..sources import SourceOptions, load_source, read_with
from ..statement import Statement, as_stated
from ..tokenizer import Tokenizer
from .manual import DECIDING, command
from .new_tokens import add_tokens_of, tokens_of_options
from .options import (
    WritingOptions,
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
from .outcome import refusals, show_how_to_load
from .progress import progress
from .screen import as_json, lines, print_lines

if TYPE_CHECKING:
    from . import documents


@dataclass(frozen=True, slots=True)
class _ExtendOptions(WritingOptions):
    special: tuple[str, ...]
    specials: Path | None
    token: tuple[str, ...]
    tokens: Path | None
    rename: tuple[str, ...]
    config: Path | None
    multiple_of: int


@command(
    "extend",
    short_help="Add tokens, and say how many rows a network needs.",
    examples={
        "bpe-interop extend my-tok out --special '<a>' --special '<b>'": "Add two special tokens",
        "bpe-interop extend my-tok out --token cardiomegaly": "Add a word",
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
@click.option(
    "--specials",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Special tokens, one on each line; or FILE.json, a list of texts or of added tokens as "
    "in a tokenizer.json.",
)
@click.option(
    "--token",
    multiple=True,
    metavar="TOKEN[=ID]",
    help="A token that is not special, such as a word: it is found in every text, and decoding "
    "never leaves it out; may be repeated. In a .model it is a user-defined piece.",
)
@click.option(
    "--tokens",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Such tokens, as with --specials.",
)
@click.option(
    "--rename",
    multiple=True,
    metavar="OLD=NEW",
    help="Another text for an added token, such as a reserved one; it keeps its id.",
)
@to_option("The target's format, where it is not the source's.")
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The network's config.json, where it is not beside the source.",
)
@click.option(
    "--multiple-of",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    help="Round the rows up to a multiple of N, such as 64.",
)
@format_option
@preset_option
@statement_options
@writing_options
@offline_option
@json_option
@gathers(asked=_ExtendOptions, reading=SourceOptions)
def extend_command(
    source: str,
    target: Path,
    asked: _ExtendOptions,
    reading: SourceOptions,
    said: Statement,
    json_output: bool,
) -> None:
    """Write SRC with further tokens to DST, and say how many rows a network needs.

    No id that is there changes. What is written goes through the same gate and the same checks
    as with convert. A TOKEN that ends in = and digits is written with its id behind it.
    """
    wanted = tokens_of_options(asked.special, asked.token)
    for file, special in ((asked.specials, True), (asked.tokens, False)):
        if file is not None:
            add_tokens_of(file, wanted, special=special)
    if not (wanted.special or wanted.plain or asked.rename or said):
        raise click.UsageError(
            "nothing to do: give --special, --token, --specials, --tokens, --rename, --role (or "
            "--bos, --eos, --pad, --unk), --template or --chat-template"
        )
    read = read_with(source, reading.get("preset"))
    also = [each for each in (asked.config, asked.tokens, asked.specials) if each is not None]
    keep_apart([*read, *also], target)
    check_target(target, force=asked.force)
    loaded = load_source(source, **reading)
    usual = None if is_file_target(target) else loaded.format.name
    place = Target.of(target, usual if asked.to is None else asked.to)
    bare = [t for t, n in wanted.plain.items() if n is None and t not in wanted.flags]
    there = one_token_each(loaded.model, bare)
    model = with_tokens(
        renamed(loaded.model, place.stem) if place.stem else loaded.model,
        wanted.special,
        dict(said.roles),
        plain={text: n for text, n in wanted.plain.items() if text not in there},
        flags=wanted.flags,
        names=_names(asked.rename),
    )
    model = as_stated(model, replace(said, roles={}))
    changes = _surgery(loaded, model, asked.config, asked.multiple_of)
    with refusals(source, target, json_output=json_output), progress("checking") as tick:
        how = Writing(asked.drop, asked.force, not asked.no_verify)
        try:
            done = write_checked(loaded, model, place, how, by_user=said.fields, tick=tick)
        except LossyConversionError as error:
            if asked.to is None:
                error.fix = f"name a format that holds it, such as --to hf; or {error.fix}"
            raise
    untold = [*_untold(loaded, model, changes, place)]
    if said.chat_template is None and done.again.chat_template is not None:
        untold += _unwritten(model, changes, eos_is_new="eos" in said.roles)
    # What a statement contradicts is no note of the model any more.
    supplied = [note for note in loaded.supplied if note in model.origin.notes]
    known = (*_there_already(there), *loaded.passed_over, *supplied)
    notes = (*wanted.notes, *known, *untold, *done.notes)
    if json_output:
        as_json(_as_dict(source, place, changes, notes, done))
    else:
        _show(place, changes, said, notes, done)
        show_how_to_load(place.format, done.files, target)


def _untold(
    source: TokenizerSource[BPEModel], model: BPEModel, changes: Surgery, target: Target
) -> Iterator[str]:
    """What new tokens leave to their user."""
    special = any(token.special for token in changes.new)
    # Of a source that is no folder for a server, every conversion says so.
    served = source.format.served and target.format.served
    if special and model.chat_template is None and served:
        yield (
            "no chat template is stated, so nothing writes the new tokens in chats: "
            "--chat-template FILE adds one"
        )
    words = {token.text: token for token in changes.new if not token.special}
    apart = {
        text: space
        for text, space in spaces_before(model, words.values())
        if f" {text}" not in words and text[:1] != " "
    }
    if apart:
        text, space = next(iter(apart.items()))
        more = len(apart) - 1
        each = f", and so {'does' if more == 1 else 'do'} {more:,} more" if more else ""
        yield (
            f"behind a space, {show(text)} leaves the space as a token of its own ({space}){each}; "
            f"to have both in one token, add {show(' ' + text)} as well"
        )
    yield from _decoded_apart(source.model, model, words)


def _decoded_apart(source: BPEModel, model: BPEModel, words: Iterable[str]) -> Iterator[str]:
    """That a space comes in behind a new token: a normalizer puts one before every part."""
    before, after = Tokenizer(source), Tokenizer(model)
    for word in words:
        text = f"{word}-x"
        try:
            was, now = (each.decode(each.encode(text)) for each in (before, after))
        except BpeInteropError:
            return
        if was == text != now:
            yield (
                f"text behind a new token comes back with a space before it: {show(text)} is "
                f"decoded as {show(now)}, because the normalizer puts a space before each part "
                "between added tokens; a tokenizer.model of the same tokenizer does not"
            )
        return


def _unwritten(model: BPEModel, changes: Surgery, *, eos_is_new: bool) -> Iterator[str]:
    """That a chat template, which stays as it is, does not know the new special tokens."""
    from ..chat_notes import unwritten_note  # it imports Jinja, and most have no chat template

    new = (*changes.new, *(after for _, after in changes.renamed))
    note = unwritten_note(model, (t.text for t in new if t.special), eos_is_new=eos_is_new)
    if note:
        yield note


def _there_already(tokens: Mapping[str, int]) -> Iterator[str]:
    if tokens:
        some = ", ".join(f"{show(text)} {number}" for text, number in [*tokens.items()][:_SHOWN])
        more = ", ..." if len(tokens) > _SHOWN else ""
        yield f"not added, for each is one token already ({len(tokens):,}): {some}{more}"


def _names(given: tuple[str, ...]) -> dict[str, str]:
    """``OLD=NEW``; where an = is in a name, the first that leaves two texts divides them."""
    names: dict[str, str] = {}
    for each in given:
        old, equals, new = each.partition("=")
        if not old or not equals or not new:
            raise click.UsageError(f"--rename {show(each)}: write OLD=NEW")
        if old in names:
            raise click.UsageError(f"--rename {show(old)} is given twice")
        names[old] = new
    return names


_NO_ROWS = "give the network's config.json, where vocab_size stands; or leave --config out"


def _surgery(
    loaded: TokenizerSource[BPEModel], model: BPEModel, config: Path | None, multiple_of: int
) -> Surgery:
    """What the network needs; a file that was given is named, and has to say its rows.

    Raises:
        FormatError: the file is malformed, or does not say how many rows the network has.
    """
    try:
        changes = surgery(loaded.model, model, _config(loaded, config), multiple_of)
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
    beside = loaded.directory / MODEL_CONFIG if loaded.directory else None
    if config is None and NETWORK not in loaded.model.extras:
        config = beside if beside is not None and beside.is_file() else None
    return None if config is None else read(config)


def _show(
    target: Target, changes: Surgery, said: Statement, notes: tuple[str, ...], done: Written
) -> None:
    lines("wrote", [target.listed(done.files)])
    shown = list(zip(changes.new, changes.was, strict=True))[:_SHOWN]
    lines("new", [_said_new(token, was) for token, was in shown])
    if len(changes.new) > _SHOWN:
        lines("new", [f"... {len(changes.new):,} in all; --json has each"])
    if any(changes.was):
        what = "the ids that a text had before: the mean of their rows is a start for the new row"
        lines("was", [what])
    lines("renamed", [f"{_said(old)} is {show(new.text)}" for old, new in changes.renamed])
    lines(
        "special",
        [f"{_said(token)}, which was there and not special" for token in changes.made_special],
    )
    lines("role", [f"{role} is {show(text)}" for role, text in said.roles.items()])
    if said.chat_template is not None:
        lines("chat", [f"the chat template has {len(said.chat_template):,} characters"])
    lines("rows", [_rows(changes)])
    lines("dropped", [describe(loss, happened=True) for loss in done.losses])
    lines("note", [*changes.notes, *notes])
    to = "to the source with these tokens "
    print_lines(written_lines(done.report, to, words=sys.argv[1:]))


def _said(token: AddedToken) -> str:
    return f"{token.id} {show(token.text)}"


_SHOWN = 20
"""So many new tokens are shown."""


def _said_new(token: AddedToken, was: tuple[int, ...]) -> str:
    kind = "" if token.special else ", not special"
    before = f", was {' '.join(map(str, was))}" if was else ""
    return f"{_said(token)}{kind}{before}"


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
            "or fewer if the network has spare ones (--config config.json says how many it has)"
        )
    else:
        sentence = f"{where} need {changes.rows_after:,} rows, as before"
    if changes.in_place:
        count = len(changes.in_place)
        sentence += f"; {count:,} of the new ids {'has' if count == 1 else 'have'} a row already"
    return sentence


def _as_dict(
    source: str,
    target: Target,
    changes: Surgery,
    notes: tuple[str, ...],
    done: Written,
) -> documents.Extended:
    from ..reports.document import written_data

    return {
        "source": spelled(source),
        "target": spelled(str(target.place)),
        "target_format": target.format.name,
        "files": list(done.files),
        "surgery": _as_data(changes),
        "notes": list(notes),
        "losses": list(done.losses),
        **written_data(done.report),
    }


def _as_data(changes: Surgery) -> documents.SurgeryFacts:
    """What changed, with each new token's former ids beside it."""
    return {
        "new": [
            cast("documents.NewToken", {**asdict(token), "was": was})
            for token, was in zip(changes.new, changes.was, strict=True)
        ],
        "renamed": [
            {"id": old.id, "text": new.text, "was": old.text} for old, new in changes.renamed
        ],
        "made_special": list(changes.made_special),
        "rows_before": changes.rows_before,
        "rows_declared": changes.rows_declared,
        "rows_after": changes.rows_after,
        "in_place": list(changes.in_place),
        "notes": list(changes.notes),
        "rows_added": changes.rows_added,
    }
