"""Load, pass the gate, write beside the target, check in the target's own engine, commit."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from .arguments import one_or_more
from .errors import BpeInteropError, CheckFailedError, LossyConversionError, PatternError
from .formats import Files, Format, FormatOption, by_name, check_name, way_of_writing
from .formats.names import MAIN, MODEL_CONFIG
from .formats.round_trip import RoundTrip
from .gate import admit, describe, renamed
from .gc_pause import paused
from .io.host_file import ExistingFile, existing_file
from .io.names import spelled
from .io.reader import TokenizerSource
from .io.target import Target, check_target, keep_apart
from .io.writer import staged
from .loss import Field, Loss
from .merging.canonical import canonical
from .model import (
    BPEModel,
    Json,
    PairList,
    RankTable,
    SequenceTemplate,
    TemplateToken,
    all_ids,
)
from .presets import fill
from .quoting import show
from .sources import SourceOptions, load_source, read_with
from .statement import Statement
from .steps import Pattern, Split
from .strict_json import parse as parse_json
from .text.patterns import parse
from .text.visible import LabelledLine, as_text
from .theory.automata import first_difference
from .ticks import Tick, no_progress
from .tokenizer_config import CONFIG
from .usage_notes import stale_template, usage_notes

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .compare.report import Report, Verdict


@dataclass(frozen=True, slots=True)
class Conversion:
    """What a conversion kept, rewrote and dropped, and what is known of what was written.

    ``report`` is None where it was not to be verified. ``to_check`` is a command that compares
    source and target again, where that needs to be asked for a scope; empty elsewhere.
    """

    source: str
    source_format: str
    target: str
    target_format: str
    files: tuple[str, ...]
    kept: tuple[str, ...]
    rewrote: tuple[str, ...]
    losses: tuple[Loss, ...]
    notes: tuple[str, ...]
    report: Report | None = None
    to_check: str = ""

    def __repr__(self) -> str:
        return (
            f"<Conversion {self.source} ({self.source_format}) to {self.target} "
            f"({self.target_format}): {self._outcome}>"
        )

    def __str__(self) -> str:
        """What ``bpe-interop convert`` prints of it."""
        return as_text(self.lines())

    def _repr_html_(self) -> str:
        """The head of a report's page, and below it what was kept, rewritten, lost and checked."""
        from .notebook import verdict_block

        sides = f"{self.source} ({self.source_format})", f"{self.target} ({self.target_format})"
        if self.report is None:
            lead = "What was written was not compared with the source."
        else:
            from .compare.sentences import summary

            lead = summary(self.report)
        rest = ((line.label or "", line.text) for line in self.lines())
        return verdict_block(self._outcome, sides, lead, rest)

    @property
    def verdict(self) -> Verdict:
        """The report's; unknown where it was not to be verified."""
        return "unknown" if self.report is None else self.report.verdict

    @property
    def _outcome(self) -> str:
        if self.report is None:
            return "not verified"
        dropped = self.report.dropped
        return (f"without {', '.join(dropped)}, " if dropped else "") + self.report.verdict

    def lines(
        self, costs: Iterable[object] = (), words: Sequence[str] = ()
    ) -> Iterator[LabelledLine]:
        """What it says to people.

        ``costs`` are those of what was lost, if they were measured, ``words`` the command that was
        given, if one was.
        """
        place = Target(Path(self.target), by_name(self.target_format))
        yield LabelledLine("wrote", place.listed(self.files))
        yield LabelledLine("kept", "; ".join(self.kept))
        for label, texts in (
            ("rewrote", self.rewrote),
            ("dropped", (describe(loss, happened=True) for loss in self.losses)),
            ("cost", map(str, costs)),
            ("note", self.notes),
        ):
            yield from (LabelledLine(label, text) for text in texts)
        yield from written_lines(self.report, to_check=self.to_check, words=words)


def written_lines(
    report: Report | None,
    to: str = "",
    *,
    has_source: bool = True,
    to_check: str = "",
    words: Sequence[str] = (),
) -> Iterator[LabelledLine]:
    """What was checked and what is known of what was written; None: nothing was asked.

    ``to`` and ``has_source`` are those of :func:`.compare.sentences.written`. ``to_check`` is a
    command that compares what was written, ``words`` the command that was given.
    """
    if report is None:
        yield LabelledLine("not checked", "--no-verify was given")
        return
    # There is a report, so this is imported.
    from .compare.sentences import check_lines, served_otherwise, ways_as_served, written

    for check in report.checks:
        yield from check_lines(check)
    if otherwise := served_otherwise(report):
        yield LabelledLine("differs", otherwise)
    yield LabelledLine("verdict", written(report, to, has_source=has_source))
    for note in report.notes:
        yield LabelledLine("note", note)
    if to_check:
        yield LabelledLine("to check", to_check)
    # Last, because it may replace what was written.
    yield from ways_as_served(report, words)


class ReadingOptions(SourceOptions, total=False):
    """How the source of a conversion is read, and what the user knows of it.

    The values are those of :func:`bpe_interop.load`: ``format``, ``preset``, ``offline``, and
    ``said``, a :class:`bpe_interop.Statement`.
    """

    said: Statement


def convert(
    source: str | Path,
    target: str | Path,
    to: str | None = None,
    *,
    drop: Field | Iterable[Field] = (),
    force: bool = False,
    verify: bool = True,
    options: FormatOption | Iterable[FormatOption] = (),
    into: str | Path | None = None,
    name: str = "",
    tick: Tick = no_progress,
    **reading: Unpack[ReadingOptions],
) -> Conversion:
    """Converts a tokenizer, and checks what was written before it takes the target's place.

    Args:
        source: a path or a name, as :func:`bpe_interop.load` takes it.
        target: a new or empty directory, or a file that ends as those of the format
            (``NAME.tiktoken``, ``NAME.json`` for a tokenizer.json alone).
        to: the target's format; needed unless the file's name says it.
        drop: fields that may be lost.
        force: replace the target as a whole.
        verify: re-read what was written, compare in the target's own engine, and prove.
        options: the target format's own options (``"vocab-names"``, ``"plugin"``,
            ``"vocab-listing"``).
        into: an existing file of the target's format that holds more than a tokenizer (GGUF). It
            is not changed: the target becomes the same file with this tokenizer in it, the rest
            copied as it is and compared by hash.
        name: the tokenizer's name, where the target holds one; else the target file's, or the
            source's own. One that the target's files cannot be called by is refused.
        tick: called with the number of texts compared since the last call.
        reading: how the source is read. ``format``: its format, where it cannot be told.
            ``preset``: the preset that says what it leaves unsaid. ``offline``: never use the
            network. ``said``: what it leaves unsaid and you know (template, roles, chat template).

    Raises:
        LossyConversionError: the target cannot hold the tokenizer exactly.
        CheckFailedError: what was written does not give the same ids; nothing is kept.
        BpeInteropError: anything else that :mod:`bpe_interop.errors` lists.
    """
    _check_names(reading)
    wanted = Target.of(Path(target), to)
    row = wanted.format
    check_name(row, name)
    ways = [way_of_writing(row, option) for option in one_or_more(options)]
    read = read_with(source, reading.get("preset"))
    keep_apart([*read, *([] if into is None else [into])], wanted.place)
    check_target(wanted.place, force=force)
    loaded = load_source(source, **reading)
    own_name = name or wanted.stem or loaded.model.origin.name
    model = _to_write(loaded, own_name, named=bool(ways))
    loaded = loaded.with_model(model)
    with contextlib.ExitStack() as opened:
        put = row.embedding(loaded.format.embedded(loaded.files) or loaded.files)
        ways += [] if put is None else [put]
        base = None if into is None else opened.enter_context(existing_file(Path(into), row))
        how = Writing(drop, force, verify, ways, base)
        done = write_checked(loaded, model, wanted, how, by_user=loaded.by_user, tick=tick)
    return _conversion(loaded, wanted, done, reading)


def _to_write(loaded: TokenizerSource[BPEModel], name: str, *, named: bool) -> BPEModel:
    """The model under a name; one that has none is called as its source where it must be named."""
    model = renamed(loaded.model, name)
    return renamed(model, _name_of(loaded.label)) if named and not model.origin.name else model


def _conversion(
    loaded: TokenizerSource[BPEModel], target: Target, done: Written, reading: ReadingOptions
) -> Conversion:
    model, again, row = loaded.model, done.again, target.format
    return Conversion(
        source=spelled(loaded.label),
        source_format=loaded.format.name,
        target=spelled(str(target.place)),
        target_format=row.name,
        files=tuple(done.files),
        kept=tuple(_kept(again, loaded.by_user, has_chat=model.chat_template is not None)),
        rewrote=tuple(_rewrote(model, again, done.losses)),
        losses=done.losses,
        notes=(
            *loaded.passed_over,
            *_given(again, loaded.by_user),
            *_notes(model, again, done.losses),
            *_embedded(row, done.files),
            *done.notes,
        ),
        report=done.report,
        to_check=_to_check(done.report, loaded.by_user, reading),
    )


def _to_check(report: Report | None, by_user: tuple[str, ...], reading: ReadingOptions) -> str:
    """The command that compares both sides in a scope, where they are equal in no other.

    ``verify`` is told no format, and nothing that a user said of the source.
    """
    if report is None or report.equal_in is None or by_user or reading.get("format"):
        return ""
    preset = reading.get("preset")
    options = [
        *(["--preset-a", preset] if preset else []),
        *(["--offline"] if reading.get("offline") else []),
    ]
    return shlex.join(
        ["bpe-interop", "verify", report.a, report.b, "--scope", report.equal_in, *options]
    )


def _check_names(reading: Iterable[str]) -> None:
    """What a user says is in a statement, and not given one by one."""
    for name in reading:
        if name in Statement.__dataclass_fields__:
            raise TypeError(f"convert takes {name} in a statement: said=Statement({name}=...)")
        if name not in ReadingOptions.__annotations__ | SourceOptions.__annotations__:
            raise TypeError(f"convert has no parameter {name}")


@dataclass(frozen=True, slots=True)
class Written:
    """Files that took their target's place, how they read back, and what is known of them.

    ``notes`` say what became of an existing file that the tokenizer was put into.
    """

    files: Files
    again: BPEModel
    losses: tuple[Loss, ...]
    notes: tuple[str, ...] = ()
    report: Report | None = None


@dataclass(frozen=True, slots=True)
class Writing:
    """How files are written.

    Attributes:
        drop: fields that may be lost.
        force: replace the target as a whole.
        verify: re-read what was written, compare in the target's own engine, and prove.
        ways: the format's own ways of writing.
        base: an existing file that the tokenizer is put into.
    """

    drop: Field | Iterable[Field] = ()
    force: bool = False
    verify: bool = True
    ways: Sequence[Callable[[BPEModel, Files], Files]] = ()
    base: ExistingFile | None = None


_AS_USUAL = Writing()


@paused()
def write_checked(
    source: TokenizerSource[BPEModel] | None,
    model: BPEModel,
    target: Target,
    how: Writing = _AS_USUAL,
    *,
    by_user: tuple[str, ...] = (),
    tick: Tick = no_progress,
) -> Written:
    """Passes the gate, writes beside the target, checks, and puts the files in its place.

    Args:
        source: the source, whose files are checked as well; None where the model was learned.
        model: what is written: the source's model, or what was made of it.
        target: where it is written.
        how: how it is written.
        by_user: fields that the user filled.
        tick: called with the number of texts compared since the last call.

    Raises:
        The errors of :func:`convert`.
    """
    row, base = target.format, how.base
    alone = target.alone(further=bool(how.ways))
    ways = [*how.ways, target.named]
    if base is not None:
        ways.append(base.kept)
    trip = RoundTrip(model, row, ways, alone)
    if how.verify:
        written = _verified(source, trip, target, how, by_user, tick)
    else:
        losses, again = _admitted(source, trip, how)
        with staged(target.place, trip.files, force=how.force) as staging:
            written = Written(trip.files, again, losses, _put_into(base, trip.files, staging))
    again = written.again
    untold = () if trip.alone or not row.served else _untold(source, again)
    # Without a loss all ids come back, and sets of all of them take memory.
    dropped = any(loss.grade != "metadata" for loss in written.losses)
    gone = _without_token(model, again) if dropped else ()
    notes = [*written.notes, *_settings_left(model, trip.files), *untold]
    if row.names.into and base is None:
        notes.append(
            "the file has a tokenizer and no model: convert --into puts one into a model's file"
        )
    return replace(written, notes=(*gone, *notes, *usage_notes(again)))


def _settings_left(model: BPEModel, files: Files) -> Iterator[str]:
    """The settings of the source's loader that the written one is not given."""
    if CONFIG not in files:
        return
    config, stated = parse_json(files[CONFIG], CONFIG), model.origin.settings or {}
    left = [
        f"{key} {value if isinstance(value, str) else json.dumps(value)}"
        for key, value in stated.items()
        if not key.startswith(MODEL_CONFIG) and not _is_written(value, config.get(key).value)
    ]
    if left:
        why = f", which no loader needs to run {MAIN} as it is" if MAIN in files else ""
        yield f"{CONFIG} is written without {', '.join(left)}{why}"


def _is_written(stated: Json, written: Json) -> bool:
    # Two names of a class: transformers 5 has one for both.
    if isinstance(stated, str) and isinstance(written, str):
        return stated.removesuffix("Fast") == written.removesuffix("Fast")
    return stated == written


def _without_token(model: BPEModel, again: BPEModel) -> Iterator[str]:
    """The ids that are lost, whatever the loss is called by which their tokens went."""
    if gone := all_ids(model) - all_ids(again):
        yield (
            f"{len(gone):,} ids of the source have no token in what is written "
            f"({_ranges([*gone])}): they cannot be decoded there"
        )


def _untold(source: TokenizerSource[BPEModel] | None, model: BPEModel) -> Iterator[str]:
    """What a library that serves a directory as a whole is not told by it."""
    named = {token.id: token.roles for token in model.added or ()}
    yield from _without_eos(model)
    first = next(iter((model.sequence_template or SequenceTemplate()).single), None)
    # What a stale id places has a note of its own.
    if (
        isinstance(first, TemplateToken)
        and not any(map(named.get, first.ids))
        and not any(stale_template(model))
    ):
        yield (
            f"the template places {show(first.name)} first, which has no role, so bos_token is "
            "None where a chat template asks for it: --bos TOKEN names it"
        )
    # A folder of the same library that has none is of a model without chats.
    if source is not None and not source.format.served and model.chat_template is None:
        yield "no chat template is stated, so a server refuses chats: --chat-template FILE adds one"


def _without_eos(model: BPEModel) -> Iterator[str]:
    roles = {role for token in model.added or () for role in token.roles}
    if "eos" not in roles:
        yield (
            "no token has the role eos, so a server knows none to stop at: --eos TOKEN names it"
            + ("" if "pad" in roles else ", --pad TOKEN the one for padding")
        )


def _admitted(
    source: TokenizerSource[BPEModel] | None, trip: RoundTrip, how: Writing
) -> tuple[tuple[Loss, ...], BPEModel]:
    """What the gate lets pass, and what reading the files gives."""
    try:
        losses = admit(trip, how.drop)
    except LossyConversionError as error:
        if any(isinstance(e, Loss) and e.field == "sequence_template" for e in error.losses):
            error.fix = "\n  ".join([*stale_template(trip.model), error.fix])
        # What else decides how to go on: another file, and what has to be said anyhow.
        told = [] if source is None else [*source.passed_over]
        if trip.format.names.into and how.base is None:
            told += _without_eos(trip.model)
        error.fix = "\n  ".join([*told, error.fix])
        if how.base is not None and _is_lost_already(error.losses, trip, how.base):
            error.fix = (
                f"the old file, {how.base.path.name}, has "
                f"{'this loss' if len(error.losses) == 1 else 'these losses'} as well, so nothing "
                f"gets worse than it is\n  {error.fix}"
            )
        raise
    if source is not None:
        _check_embedded(source, trip)
    return losses, fill(trip.again, None)


def _is_lost_already(losses: Iterable[object], trip: RoundTrip, base: ExistingFile) -> bool:
    """Whether an existing file has just what would be written of all fields that are refused."""
    try:
        old = load_source(base.path, format=trip.format.name, offline=True).model
    except BpeInteropError:
        return False  # a file that is to be repaired need not be readable as a tokenizer
    return all(
        isinstance(loss, Loss)
        and _said(old, trip, loss.field) == _said(trip.again, trip, loss.field)
        for loss in losses
    )


def _said(model: BPEModel, trip: RoundTrip, field: Field) -> object:
    """What a model says of a field; of added tokens, those that the source has, but for roles."""
    if field != "added":
        return getattr(model, field)
    texts = {token.text for token in trip.model.added or ()}
    return {replace(token, roles=()) for token in model.added or () if token.text in texts}


def _verified(
    source: TokenizerSource[BPEModel] | None,
    trip: RoundTrip,
    target: Target,
    how: Writing,
    by_user: tuple[str, ...],
    tick: Tick,
) -> Written:
    """Compares in engines and proves, while the files stand beside their target."""
    from .compare.conversion import EngineProcesses, verify_written

    with EngineProcesses(trip.model, trip.format, alone=bool(trip.alone)) as processes:
        losses, again = _admitted(source, trip, how)
        with staged(target.place, trip.files, force=how.force) as staging:
            name = spelled(str(target.place))
            report = verify_written(
                source,
                trip,
                again,
                losses,
                staging,
                processes,
                name=name,
                by_user=by_user,
                tick=tick,
            )
            notes = _put_into(how.base, trip.files, staging)
    return Written(trip.files, again, losses, notes, report)


def _check_embedded(source: TokenizerSource[BPEModel], trip: RoundTrip) -> None:
    """Raises CheckFailedError where files that were put in as they are read back otherwise."""
    row = trip.format
    inner = row.embedded(trip.files) if trip.files else {}
    given = source.format.embedded(source.files) or source.files
    for name, data in inner.items():
        if given.get(name) != data:
            raise CheckFailedError(
                f"{name}, which was put in as it is, reads back otherwise",
                fix="nothing was written; keep that file beside the target instead",
            )


def _embedded(row: Format, files: Files) -> Iterable[str]:
    for name, data in row.embedded(files).items():
        yield (
            f"{name} of the source was put in as it is ({len(data):,} bytes), and read back "
            f"byte for byte (sha256 {sha256(data).hexdigest()[:16]})"
        )


def _put_into(base: ExistingFile | None, files: Files, staging: Path) -> tuple[str, ...]:
    """Copies behind what was written what an existing file has there; what became of the rest."""
    if base is None:
        return ()
    [name] = files
    return (*base.kept.notes(files), base.append(staging / name))


_GENERIC = frozenset({"tokenizer", "encoder", "vocab", "merges", "vocabulary"})
"""File names that say nothing of which tokenizer it is; the folder's name does."""


def _name_of(source: str) -> str:
    """A name from a source's: its file's, its folder's, or what stands after ``hf:org/``.

    Two plugins that are both called "tokenizer" would overwrite each other where they are
    installed.
    """
    path = Path(source.partition("@")[0])
    stem = path.name.partition(".")[0] if path.is_file() else path.name
    if stem in _GENERIC:
        stem = path.resolve().parent.name
    return re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("._-")


def _notes(model: BPEModel, again: BPEModel, losses: Iterable[Loss]) -> tuple[str, ...]:
    """What the readers found and is no loss, and what only the target states."""
    told = {loss.what for loss in losses}
    stated = []
    if model.normalizer is None and again.normalizer is not None:
        stated.append("the source does not say its normalizer; the target says there is none")
    if again.vocab.scores and not model.vocab.scores:
        stated.append(
            "the source has no scores, so those that are written follow the ranks; scores and "
            "trainer settings of a .model that it was once made from are not known here"
        )
    asked, served = model.origin.served_as, again.origin.served_as
    if asked and again.origin.format == model.origin.format and asked != served:
        stated.append(
            f"the source asks to be served by {asked}; what is written asks for a class that runs "
            f"its files as they are, so code that looks for {asked} does not find it"
        )
    notes = (*model.origin.notes, *(n for n in again.origin.notes if n not in model.origin.notes))
    return (*(note for note in notes if note not in told), *stated)


def _given(model: BPEModel, by_user: tuple[str, ...]) -> Iterator[str]:
    """What is not the source's, and was not lost on the way."""
    if "normalizer" in by_user and model.normalizer:
        yield (
            "the normalizer is the one that was given: who runs the source itself has to "
            "normalize a text before"
        )
    if (
        "sequence_template" in by_user
        and model.sequence_template
        and model.sequence_template.single
    ):
        yield f"the sequence template, {model.sequence_template}, is the one that was given"
    if "chat_template" in by_user and model.chat_template is not None:
        yield "the chat template is the one that was given; the source has none"


def _kept(model: BPEModel, by_user: tuple[str, ...], *, has_chat: bool) -> list[str]:
    size = len(model.vocab.ids)
    rule = model.merges
    merges = "ranks" if isinstance(rule, RankTable) else f"tokens, {len(rule.pairs):,} merges"
    kept = [f"{size:,} {merges}"]
    special = [t.id for t in model.added or () if t.special]
    plain = [t.id for t in model.added or () if not t.special]
    if special:
        kept.append(f"{_count(special, 'special token')} ({_ranges(special)})")
    if plain:
        kept.append(f"{_count(plain, 'added token')}, not special ({_ranges(plain)})")
    template = None if "sequence_template" in by_user else model.sequence_template
    if template and template.single:
        kept.append(f"the sequence template, {template}")
    if model.chat_template is not None and "chat_template" not in by_user:
        # An existing file may keep its own.
        kept.append("the chat template" if has_chat else "the old file's chat template")
    if model.origin.served_as:
        kept.append(f"the class {model.origin.served_as}, which serves the same ids")
    return kept


def _count(ids: list[int], noun: str) -> str:
    return f"1 {noun} with its id" if len(ids) == 1 else f"{len(ids):,} {noun}s with their ids"


def _ranges(ids: list[int]) -> str:
    runs: list[list[int]] = []
    for number in sorted(set(ids)):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    shown = [str(a) if a == b else f"{a}-{b}" for a, b in runs[:6]]
    return ", ".join(shown) + (", ..." if len(runs) > 6 else "")


def _rewrote(model: BPEModel, again: BPEModel, losses: Iterable[Loss]) -> list[str]:
    rewrote = []
    if isinstance(model.merges, RankTable) and isinstance(again.merges, PairList):
        count, used = len(again.merges.pairs), len(canonical(model).splits)
        # A token that merging builds is always built of the same two (Lemma 2).
        which = "one for each token that merging builds"
        which = which if count == used else f"{used:,} of them can be used"
        rewrote.append(f"ranks as {count:,} merges: {which}, in rank order")
    elif isinstance(model.merges, PairList) and isinstance(again.merges, RankTable):
        count, used = len(model.merges.pairs), len(canonical(model).splits)
        rewrote.append(f"{count:,} listed merges as ranks; {used:,} of them can be used")
    # In the place of steps that are lost stand others, not theirs in another spelling.
    if any(loss.field == "pretokenizer" for loss in losses):
        return rewrote
    steps, written = model.pretokenizer or (), again.pretokenizer or ()
    names = [type(step).__name__ for step in steps]
    if len(written) == 1 and names not in ([], ["Split"]):
        rewrote.append(f"pattern: {', '.join(names)} as one that is proved to cut every text alike")
        return rewrote
    for before, after in zip(_patterns(model), _patterns(again), strict=False):
        if before.source != after.source:
            rewrote.append(f"pattern: {_why_respelled(before, after)}")
    return rewrote


def _patterns(model: BPEModel) -> list[Pattern]:
    steps = [step for step in model.pretokenizer or () if isinstance(step, Split)]
    return [step.pattern for step in steps if isinstance(step.pattern, Pattern)]


def _why_respelled(before: Pattern, after: Pattern) -> str:
    """Why a pattern was not copied: what the copy would split otherwise, if it would."""
    try:
        meant, copied = parse(before), parse(Pattern(before.source, after.dialect))
        witness = first_difference(meant, copied)
    except PatternError:
        return f"spelled as {after.dialect} can read it"
    if witness is None:
        return "in the spelling that most engines recognise"
    return (
        f"changed, because {after.dialect} splits {show(witness)} differently with the same pattern"
    )
