"""``bpe-interop encode``."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar, get_args

import click
from rich.style import Style
from rich.text import Text

from ..corpora import Errors, Selection, find_files, parse_sample
from ..encode import Encoder
from ..encode.explain import Explained, Explainer, Merge, SymbolRun
from ..encode.offsets import in_bytes
from ..errors import BpeInteropError, DisallowedSpecialError, SourceError, UnstatedError
from ..gate import template_unsaid
from ..io.reader import TokenizerSource
from ..io.target import check_target, keep_apart
from ..model import Allowed, BPEModel, SequenceTemplate, TemplateText, text_of
from ..presets import ways_to_say
from ..quoting import escaped, show
from ..sources import SourceOptions, load_source
from ..text.visible import many
from ..token_files import LAYOUTS, SHARD_BYTES, EncodedCorpus, Settings, Step, Way, encode_corpora
from ..token_files.job import NANOGPT, SpecialTexts
from ..token_files.layouts import Dtype, LayoutName
from ..token_files.writer import UNFINISHED
from ..tokenizer import Tokenizer
from .interrupts import INTERRUPTED
from .manual import command
from .options import (
    OneOf,
    corpus_option,
    file_names,
    gathers,
    json_option,
    scheduler_options,
    source_options,
    workers_of,
)
from .progress import amount, progress
from .screen import as_json, as_text, console_on_stdout, ids_as_json, lines, read_stdin, stdin_lines
from .terminal import say, tell

if TYPE_CHECKING:
    from . import documents


@dataclass(frozen=True)
class CorpusOptions:
    """The corpora, the folder, and how the one becomes the other, as the options say it."""

    corpora: tuple[str, ...]
    folder: Path | None
    layout: LayoutName
    dtype: Dtype | None
    eos: str | None
    max_length: int | None
    pack: bool
    validation: str | None
    field: str | None
    sample: str | None
    seed: int
    errors: str
    shard_bytes: int
    state: str | None
    scheduler: str | None
    limit: float

    def check(self, text: bool) -> None:
        """Refuses options that do not go together; ``text``: there are some for one text."""
        if self.corpora and text:
            raise click.UsageError("with --corpus there is no TEXT, --lines, --show or --explain")
        if self.corpora and self.folder is None:
            raise click.UsageError("name the folder for the ids with -o")
        about = (self.folder, self.dtype, self.eos, self.max_length, self.pack or None)
        chosen = (self.validation, self.field, self.sample, self.state, self.scheduler)
        if not self.corpora and any(each is not None for each in (*about, *chosen)):
            raise click.UsageError(
                "-o, --dtype, --eos, --max-length, --pack, --validation, --field, --sample, "
                "--state and --scheduler are "
                "about corpora: name one with --corpus FILE, or --corpus - for standard input; "
                f"--layout says in which files ({', '.join(LAYOUTS)}). The ids of one text go to "
                "standard output: > FILE"
            )

    def settings(self, special: SpecialTexts, template: bool) -> Settings:
        """How documents become rows of ids, as the options say it."""
        sample = None if self.sample is None else parse_sample(self.sample)
        errors, most = _rule(self.errors)
        return Settings(
            self.layout,
            self.dtype,
            special,
            template,
            self.eos,
            self.max_length,
            Selection(None, sample, self.seed, errors),
            most,
            self.pack,
            None if self.validation is None else parse_sample(self.validation),
        )


def _rule(text: str) -> tuple[Errors, int | None]:
    """What is done with what cannot be read, and with how much at most."""
    rule, equals, most = text.partition("=")
    if rule == "skip" and equals and most.isascii() and most.isdigit():
        return "skip", int(most)
    for errors in ERRORS:
        if text == errors:
            return errors, None
    raise click.UsageError(f"--errors {text}: say {', '.join(ERRORS)} or skip=N")


ERRORS: tuple[Errors, ...] = get_args(Errors)


def corpus_options(command: Callable[..., object]) -> Callable[..., object]:
    """The options of ``encode`` that are about corpora: a ``CorpusOptions``."""
    options: list[Callable[[Callable[..., object]], Callable[..., object]]] = [
        corpus_option("Encode these texts to files in the folder -o"),
        click.option(
            "-o",
            "folder",
            type=click.Path(path_type=Path),
            shell_complete=file_names,
            metavar="FOLDER",
            help="The new folder for the ids of --corpus.",
        ),
        click.option(
            "--layout",
            type=OneOf([*LAYOUTS]),
            default="megatron",
            show_default=True,
            help="The files: Megatron-LM's .bin and .idx, arrays for numpy.load, Parquet, or "
            "nanoGPT's train.bin.",
        ),
        click.option(
            "--dtype",
            type=OneOf(["uint16", "uint32"]),
            help="The numbers in .bin and .npy; by default the smallest that hold every id.",
        ),
        click.option(
            "--eos",
            metavar="TOKEN",
            help="End each document with this special token. Plain text is cut into documents of "
            "about 16 KiB.",
        ),
        click.option(
            "--max-length",
            type=click.IntRange(min=1),
            metavar="N",
            help="Cut documents into rows of at most N ids; no row has ids of two documents.",
        ),
        click.option(
            "--pack",
            is_flag=True,
            help="Join the documents of a shard, and cut them into rows of --max-length; only its "
            "last row is shorter.",
        ),
        click.option(
            "--validation",
            metavar="PART",
            help="Write this part of the documents, 1% or 0.01, to files of their own (val). A "
            "hash of the text and of --seed decides.",
        ),
        click.option(
            "--shard-bytes",
            type=click.IntRange(min=1),
            default=SHARD_BYTES,
            show_default=True,
            metavar="N",
            help="About how many bytes of a file become a shard.",
        ),
        click.option(
            "--field", metavar="NAME", help="The field of JSONL or Parquet with the texts."
        ),
        click.option("--sample", metavar="N", help="Take a part of the documents: 1% or 0.01."),
        click.option("--seed", type=int, default=0, show_default=True, help="Take another sample."),
        click.option(
            "--errors",
            metavar="RULE",
            default="strict",
            show_default=True,
            help="What is not UTF-8, or a record without a text: refuse it (strict), read U+FFFD "
            "for bytes that are not UTF-8 (replace), or leave such records out (skip), or N at "
            "most (skip=N); the manifest lists them.",
        ),
        click.option(
            "--state",
            shell_complete=file_names,
            metavar="FILE",
            help="Keep here which shards are done, and go on from it (default: beside -o).",
        ),
        scheduler_options,
    ]
    for option in reversed(options):
        command = option(command)
    return command


T = TypeVar("T")


def _one_text(ctx: click.Context, param: click.Parameter, words: tuple[str, ...]) -> str | None:
    if len(words) > 1:
        whole = shlex.quote(" ".join(words))
        raise click.UsageError(
            f"TEXT is one argument, and here are {len(words)}: put quotes around it: {whole}", ctx
        )
    return words[0] if words else None


@command(
    "encode",
    short_help="Print the ids of TEXT, its tokens, or how they were merged.",
    examples={
        'bpe-interop encode my-tok "Hello world" --show': "Show each token",
        'bpe-interop encode my-tok "Hello world" --show --json': (
            "Offsets: where in the text each token stands, in characters and in bytes"
        ),
        "bpe-interop encode my-tok --lines --json < story.txt": "Encode each line of a file",
        "bpe-interop encode my-tok --corpus story.txt -o ids --special text": (
            "Encode a corpus to files that Megatron-LM reads"
        ),
    },
)
@click.argument("source", shell_complete=file_names, metavar="SRC")
@click.argument("text", nargs=-1, metavar="[TEXT]", callback=_one_text)
@click.option("--lines", "by_line", is_flag=True, help="Encode each line (split at LF only).")
@click.option(
    "--special",
    type=OneOf(["text", "parse", "error"]),
    default="error",
    show_default=True,
    help="What a special token's text in the input is: ordinary text, the token, or an error.",
)
@click.option("--add-special-tokens", is_flag=True, help="Apply the sequence template.")
@click.option("--show", "shown", is_flag=True, help="Show each token: its id, bytes and text.")
@click.option(
    "--explain", is_flag=True, help="Show the pretokens, and each merge in order with its rank."
)
@corpus_options
@source_options
@json_option
@gathers(texts=CorpusOptions)
def encode_command(
    source: str,
    text: str | None,
    by_line: bool,
    special: SpecialTexts,
    add_special_tokens: bool,
    shown: bool,
    explain: bool,
    reading: SourceOptions,
    texts: CorpusOptions,
    json_output: bool,
) -> None:
    """Print the ids of TEXT, or of standard input as it is (nothing is stripped).

    Standard input is one text, held in memory with its ids (some 40 times its size); --lines and
    --corpus, whose lines or documents are texts of their own, take any size.

    With --corpus: write the ids of all documents to the folder -o, by shards, with a manifest.

    With --json: one array of ids; with --lines as well, an array of such arrays. With --show or
    --explain, an array of objects in place of ids; those of --show have offsets: "characters" and
    "bytes" say where in the text each token stands, [start, end].
    """
    if shown and explain:
        raise click.UsageError("--show and --explain are two views: give one")
    texts.check(text is not None or by_line or shown or explain)
    if text is not None and os.path.isfile(text):
        tell(
            f"note: {text} is encoded as a text, and is the name of a file; to encode that: < FILE"
        )
    loaded = load_source(source, **reading)
    if texts.corpora:
        settings = texts.settings(special, add_special_tokens)
        with _advising(loaded.model, special, add_special_tokens):
            write_corpora(source, loaded, reading.get("preset"), settings, texts, json_output)
        return
    tokenizer = Tokenizer(loaded.model)
    if shown or explain:
        view = _ShownTexts(tokenizer, special, add_special_tokens)
        (view.explain if explain else view.show)(_texts(text, by_line), by_line, json_output)
        return
    encoded = (
        _encode(tokenizer, each, special, add_special_tokens) for each in _texts(text, by_line)
    )
    if json_output:
        ids_as_json(list(encoded) if by_line else next(encoded))
        return
    for ids in encoded:
        click.echo(" ".join(map(str, ids)))


def _texts(text: str | None, by_line: bool) -> Iterator[str]:
    if text is None and by_line:
        for number, line in enumerate(stdin_lines(), 1):
            yield as_text(line, where=f"standard input, line {number}")
        return
    if text is None:
        yield as_text(read_stdin())
        return
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise SourceError("not UTF-8", where="TEXT", fix="make it UTF-8 first") from None
    if by_line:
        yield from text.removesuffix("\n").split("\n") if text else ()
    else:
        yield text


class _ShownTexts:
    """Texts as tokens and as explanations, for people or as JSON."""

    def __init__(self, tokenizer: Tokenizer, special: str, template: bool) -> None:
        self._tokenizer, self._special, self._template = tokenizer, special, template
        self._explainer = Explainer(tokenizer.model)
        self._allowed: Allowed = "all" if special == "parse" else frozenset()

    def show(self, texts: Iterator[str], by_line: bool, as_data: bool) -> None:
        if not as_data:
            for text in texts:
                show_tokens(text, self._placed(text))
            return
        data = [tokens_as_data(text, self._placed(text)) for text in texts]
        as_json(data if by_line else data[0])

    def explain(self, texts: Iterator[str], by_line: bool, as_data: bool) -> None:
        if not as_data:
            for text in texts:
                show_explained(self._explained(text), self._explainer)
            return
        data = [explained_as_data(self._explained(text)) for text in texts]
        as_json(data if by_line else data[0])

    def _placed(self, text: str) -> list[Placed]:
        self._check(text)
        ids, places = self._explainer.encode_with_offsets(text, self._allowed)
        around = self._around([*zip(ids, places, strict=True)])
        alone = [(each, None) if isinstance(each, int) else each for each in around]
        return [Placed(each, self._explainer.token_bytes(each), place) for each, place in alone]

    def _explained(self, text: str) -> list[Explained | int]:
        self._check(text)
        return self._around(self._explainer.explain(text, self._allowed))

    def _check(self, text: str) -> None:
        """Refuses what encoding refuses, in the same words."""
        _encode(self._tokenizer, text, self._special, self._template)

    def _around(self, inner: list[T]) -> list[T | int]:
        """What was found, and the ids that the sequence template puts around it."""
        if not self._template:
            return [*inner]
        # Numbers below 0 are no ids: they hold the places of what was found.
        places = self._explainer.template([-1 - at for at in range(len(inner))])
        return [inner[-1 - place] if place < 0 else place for place in places]


def _encode(tokenizer: Tokenizer, text: str, special: str, template: bool) -> list[int]:
    with _advising(tokenizer.model, special, template):
        if special == "parse":
            return tokenizer.encode(text, allowed_special="all", add_special_tokens=template)
        disallowed = "all" if special == "error" else ()
        return tokenizer.encode(text, disallowed_special=disallowed, add_special_tokens=template)


@contextlib.contextmanager
def _advising(model: BPEModel, special: str, template: bool) -> Iterator[None]:
    """A block in which errors name the options that help."""
    try:
        yield
    except DisallowedSpecialError as error:
        raise DisallowedSpecialError(
            error.what,
            where=error.where,
            fix="--special parse encodes it as that token, --special text as ordinary text",
        ) from None
    except UnstatedError as error:
        if template and None not in (model.added, model.pretokenizer):
            raise template_unsaid(model, "--preset") from None
        fix = ways_to_say(model, "--preset")
        if template and model.sequence_template is None:
            fix += "; or leave --add-special-tokens out"
        if special != "text" and model.added is None and model.pretokenizer is not None:
            fix += "\n  or give --special text: the text of special tokens is ordinary text then"
        raise UnstatedError(error.what, where=error.where, fix=fix) from None


# Tokens and explanations.

_STYLES = tuple(
    Style(color="black", bgcolor=f"bright_{colour}")
    for colour in ("cyan", "yellow", "green", "magenta", "blue", "red")
)


class Placed(NamedTuple):
    """A token and the characters (start, end) of the text; None for what a template put there."""

    id: int
    content: bytes
    place: tuple[int, int] | None


def show_tokens(text: str, tokens: Sequence[Placed]) -> None:
    """Prints the text in coloured tokens where colours can be seen, and a row for each token."""
    console = console_on_stdout(soft_wrap=True)
    coloured = console.is_terminal and console.color_system is not None
    if coloured and tokens:
        line = Text()
        for number, token in enumerate(tokens):
            line.append(_inner(token.content), _STYLES[number % len(_STYLES)])
        console.print(line)
    width = max((len(str(token.id)) for token in tokens), default=0)
    spelled = [token.content.hex(" ").upper() for token in tokens]
    room = min(36, max(map(len, spelled), default=0))
    for number, (token, digits) in enumerate(zip(tokens, spelled, strict=True)):
        row = Text(f"{token.id:>{width}}  {digits:<{room}}  ")
        row.append(show(token.content), _STYLES[number % len(_STYLES)] if coloured else "")
        if token.place is None:
            row.append("  put there by the sequence template")
        console.print(row) if coloured else say(row.plain)
    say(counted(len(tokens), len(text.encode("utf-8"))))


def counted(tokens: int, size: int) -> str:
    """How many tokens and bytes there are, and how many bytes to a token."""
    sentence = f"{many(tokens, 'token')}, {many(size, 'byte')}"
    return f"{sentence}, {size / tokens:.2f} bytes per token" if tokens else sentence


def _inner(content: bytes) -> str:
    """A token as it reads between its neighbours, what would not show escaped."""
    try:
        return escaped(content.decode("utf-8"))
    except UnicodeDecodeError:
        return "".join(f"\\x{byte:02x}" for byte in content)


def tokens_as_data(text: str, tokens: Sequence[Placed]) -> list[documents.PlacedToken]:
    """What ``encode --show --json`` prints."""
    places = in_bytes(text, ((token.content, token.place) for token in tokens))
    return [
        {
            "id": token.id,
            "hex": token.content.hex(),
            "text": text_of(token.content),
            "characters": None if token.place is None else list(token.place),
            "bytes": None if place is None else list(place),
        }
        for token, place in zip(tokens, places, strict=True)
    ]


def show_explained(explained: Sequence[Explained | int], encoder: Encoder) -> None:
    """Prints the pretokens of a text, and the merges of each in order."""
    for each in explained:
        if isinstance(each, int):
            lines("template", [f"{show(encoder.token_bytes(each))} {each}"])
            continue
        where = f"characters {each.start} to {each.end}"
        if each.how == "added":
            lines("added token", [f"{show(each.content)} {each.ids[0]}  {where}"])
            continue
        lines("pretoken", [f"{show(each.content)}  {where}"])
        if each.how == "whole":
            lines("  whole", [_looked_up(each)])
        for run in each.runs:
            _show_run(run)
        for replaced in each.replaced:
            tokens = _named(replaced.ids, encoder)
            lines(f"  {replaced.became}", [f"{show(replaced.symbol)} is no token: {tokens}"])
        lines("  tokens", [_named(each.ids, encoder)])


def _looked_up(explained: Explained) -> str:
    sentence = "it is a token, and looked up before anything is merged"
    if not explained.runs:
        return sentence
    same = "gives the same" if explained.merges_alike else "would not give it"
    return f"{sentence}; merging {same}:"


def _show_run(run: SymbolRun) -> None:
    lines("  symbols", [" ".join(map(show, run.symbols))])
    width = max((len(str(merge.rank)) for merge in run.merges), default=0)
    lines("  merge", [_merge(merge, width) for merge in run.merges])


def _merge(merge: Merge, width: int) -> str:
    made = "no token" if merge.id is None else str(merge.id)
    parts = f"{show(merge.left)} + {show(merge.right)}"
    return f"rank {merge.rank:>{width}}  {parts} -> {show(merge.token)} {made}"


def _named(ids: Sequence[int], encoder: Encoder) -> str:
    return "  ".join(f"{show(encoder.token_bytes(n))} {n}" for n in ids) or "nothing"


def explained_as_data(explained: Sequence[Explained | int]) -> list[documents.Explanation]:
    """What ``encode --explain --json`` prints."""
    return [
        {"how": "template", "ids": [each]} if isinstance(each, int) else _as_data(each)
        for each in explained
    ]


def _as_data(explained: Explained) -> documents.Explanation:
    return {
        "how": explained.how,
        "hex": explained.content.hex(),
        "text": text_of(explained.content),
        "characters": [explained.start, explained.end],
        "ids": list(explained.ids),
        "runs": [
            {
                "symbols": [symbol.hex() for symbol in run.symbols],
                "merges": [
                    {
                        "rank": merge.rank,
                        "symbols": [merge.first, merge.middle, merge.last],
                        "hex": merge.token.hex(),
                        "text": text_of(merge.token),
                        "id": merge.id,
                    }
                    for merge in run.merges
                ],
            }
            for run in explained.runs
        ],
        "replaced": [
            {"hex": each.symbol.hex(), "became": each.became, "ids": list(each.ids)}
            for each in explained.replaced
        ],
    }


# Corpora.


def write_corpora(
    source: str,
    loaded: TokenizerSource[BPEModel],
    preset: str | None,
    settings: Settings,
    asked: CorpusOptions,
    as_data: bool,
) -> None:
    """Encodes corpora to a folder, and says what is in it."""
    folder = asked.folder
    if folder is None:
        return
    files = find_files(asked.corpora, field=asked.field)
    read: list[str | Path] = [source, *(file.local for file in files if file.local)]
    for output in (folder, *([Path(asked.state)] if asked.state else [])):
        keep_apart(read, output)
    check_target(folder, force=None)
    # What can be read only once is not there for a later run.
    again = all(file.path is not None and file.size is not None for file in files)
    usual = str(folder.with_name(f"{folder.name}{UNFINISHED}.state")) if again else None
    state = asked.state or usual
    seen: list[Step] = []
    with (
        _going_on(asked, state),
        workers_of(asked.scheduler) as workers,
        progress("encoding") as tick,
    ):

        def watch(step: Step) -> None:
            seen[:] = [step]
            tick.watch(step)

        written = encode_corpora(
            loaded,
            asked.corpora,
            folder,
            settings,
            preset=preset,
            field=asked.field,
            shard_bytes=asked.shard_bytes,
            way=Way(workers, None, asked.limit, state, watch, fresh=asked.state is None),
        )
    # How the files were read, for a library that is handed the folder may read it otherwise.
    notes = [*loaded.passed_over, *loaded.model.origin.notes]
    if not settings.template:
        notes += _left_out(loaded.model.sequence_template, settings)
    _show_written(written, asked, state, notes, as_data)
    for last in seen:
        if last.seconds >= 1:  # else it is mostly how long the start took
            size, rate = amount(last.bytes, "bytes"), amount(int(last.rate), "bytes")
            tell(f"encoded {size} of text at {rate}/s")
    if written.interrupted:
        sys.exit(INTERRUPTED)


@contextlib.contextmanager
def _going_on(asked: CorpusOptions, state: str | None) -> Iterator[None]:
    """A block whose errors say what is kept, and how it is gone on with."""
    try:
        yield
    except BpeInteropError as error:
        if asked.state is None and state is not None and Path(state).is_file():
            error.fix = f"{error.fix}; {_kept_beside(asked)}" if error.fix else _kept_beside(asked)
        raise


def _kept_beside(asked: CorpusOptions) -> str:
    return (
        f"the shards that are done are kept in {asked.folder}{UNFINISHED}, and the same command "
        "goes on from there (with another --errors too)"
    )


def _left_out(template: SequenceTemplate | None, settings: Settings) -> Iterator[str]:
    """What the tokenizer places around each text, which nobody asked to have in the files."""
    parts = template.single if template else ()
    placed = [None if isinstance(part, TemplateText) else part.name for part in parts]
    if None not in placed:
        return
    text = placed.index(None)
    before = [name for name in placed[:text] if name is not None]
    after = [name for name in placed[text:] if name is not None]
    if after[-1:] == [settings.eos]:
        after.pop()
    places = [
        f"{' '.join(map(show, names))} {where}"
        for names, where in ((before, "before"), (after, "after"))
        if names
    ]
    if places:
        one = len(before) + len(after) == 1
        yield (
            f"the sequence template places {' and '.join(places)} each text, which "
            f"{'is' if one else 'are'} left out here; --add-special-tokens places "
            f"{'it' if one else 'them'}"
        )


def _show_written(
    written: EncodedCorpus,
    asked: CorpusOptions,
    state: str | None,
    notes: Sequence[str],
    as_data: bool,
) -> None:
    manifest = written.manifest
    if as_data:
        document: documents.EncodedCorpusDocument = {
            "folder": str(asked.folder),
            "interrupted": written.interrupted,
            "done": written.done,
            "parts": written.parts,
            "counts": None if manifest is None else manifest.counts,
            "notes": [*written.notes, *notes],
        }
        as_json(document)
        return
    lines("note", list(written.notes))
    if manifest is None:
        went = f"name the same state to go on: {asked.state}" if asked.state else "nothing is kept"
        if asked.state is None and state is not None and Path(state).is_file():
            went = _kept_beside(asked)
        done = f"interrupted: {written.done:,} of {written.parts:,} shards were done; {went}"
        lines("not written", [done])
        return
    counts = manifest.counts
    full = sum(piece.encoded.documents > 0 for piece in manifest.shards)
    settings = manifest.settings
    in_files = many(full, "shard")
    if settings.layout == NANOGPT:
        in_files = " and ".join(
            sorted({f.name for each in manifest.shards for f in each.encoded.files})
        )
    lines("wrote", [f"{asked.folder}: {in_files}, {settings.layout}"])
    lines(
        "documents",
        [f"{counts['documents']:,} ({many(counts['bytes'], 'byte')} of UTF-8)"],
    )
    rows = f" in {many(counts['rows'], 'row')}" if counts["rows"] else ""
    if settings.pack and settings.max_length:
        sides = [
            (e.val_tokens, e.tokens - e.val_tokens) for e in (p.encoded for p in manifest.shards)
        ]
        full_rows = sum(tokens // settings.max_length for side in sides for tokens in side)
        rows += f" ({full_rows:,} of {settings.max_length:,})"
    lines("ids", [f"{counts['tokens']:,}{rows}, as {manifest.dtype}"])
    if settings.validation is not None:
        of_validation = f"{many(counts['val_documents'], 'document')}, {counts['val_tokens']:,} ids"
        lines("validation", [of_validation])
    if settings.eos is None and not settings.template:
        marked = ", which the index marks" if settings.marks_documents else ""
        between = f"no id stands between documents{marked}; --eos TOKEN puts one there"
        lines("note", [between])
    lines("note", notes)
    empty, replaced = counts["empty"], counts["replaced"]
    if empty:
        have = "has" if empty == 1 else "have"
        nothing = "no row" if settings.marks_documents else "no place"
        lines("note", [f"{many(empty, 'document')} without ids {have} {nothing}"])
    skips = [(piece, skip) for piece in manifest.shards for skip in piece.encoded.skips]
    if skips:
        piece, first = skips[0]
        where = f"{manifest.origins[piece.file].label}:{first.line}"
        lines(
            "skipped",
            [f"{many(len(skips), 'record')}, listed in manifest.json; {where}: {first.why}"],
        )
    if replaced:
        lines("note", [f"{many(replaced, 'document')} had malformed UTF-8, read as U+FFFD"])
    again = all(origin.path for origin in manifest.origins)
    files_only = "" if again else " --sample 0 (what came from a pipe cannot be read again)"
    lines("to check", [f"bpe-interop verify-shards {asked.folder}{files_only}"])
