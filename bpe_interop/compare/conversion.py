"""Is what was written the same tokenizer? Tested in the formats' own engines, and proved."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from ..engines import Engine, from_directory, from_files, versions
from ..engines.child_process import ChildProcess, EndedError, Say, cores
from ..engines.library import library
from ..engines.rows import assumed_of_texts, engine_row
from ..errors import (
    BpeInteropError,
    CheckFailedError,
    EngineError,
    EngineMissingError,
    UnstatedError,
)
from ..formats import Files, Format
from ..formats.losses import lost_by_tables
from ..formats.names import MAIN, MODEL_CONFIG
from ..formats.round_trip import RoundTrip
from ..gate import refusal
from ..gc_pause import paused
from ..io.reader import TokenizerSource
from ..loss import MERGING, Loss
from ..model import BPEModel, PairList, TemplateToken, Vocab
from ..proof.prove import Proof, narrower, prove
from ..proof.stage import Scope
from ..quoting import show
from ..ticks import Tick, begin
from ..tokenizer_config import CONFIG
from ..usage_notes import texts_of_ids
from .report import Check, Report, ServedOtherwise, Whose
from .run import Sides, Tally, ask_both, compare_texts
from .sentences import written_as_served
from .sides import (
    AROUND,
    ORDINARY,
    PARSED,
    TEMPLATED,
    Build,
    Failure,
    Mismatch,
    Mode,
    OwnEngine,
    Side,
    as_run_by,
    decode,
    decoding,
    encode_all,
)
from .stress import around_added, awkward, fixed, known_to
from .verdict import engines_of, report_of

_LARGE = 50_000
"""Tokens from which a process of its own pays: it takes 0.2 s to start."""


def worth_processes(model: BPEModel) -> bool:
    """Whether engines of a model are better run each in a process of its own."""
    return len(model.vocab.ids) >= _LARGE and cores() > 1


def without_tokens(model: BPEModel) -> BPEModel:
    """A model that says of a tokenizer what rank files do not; it is quickly sent elsewhere.

    It keeps one token: there is no model without any.
    """
    one = dict(islice(model.vocab.ids.items(), 1))
    return replace(model, vocab=Vocab(one), merges=PairList(()), decoder=None)


@dataclass(frozen=True, slots=True)
class Expected:
    """What an engine has to give for texts in a mode: for each, ids, and what they decode to.

    None stands for what is not compared: it was in a mode before.
    """

    mode: Mode
    texts: list[str]
    ids: list[list[int]]
    decoded: list[str | None]


def expected(own: OwnEngine, texts: list[str], modes: Iterable[Mode]) -> list[Expected] | None:
    """What our encoder gives in each mode; None where it fails on a text."""
    wanted = []
    agreed: list[list[int] | None] = [None] * len(texts)
    for mode in modes:
        answers: list[list[int]] = []
        decoded: list[str | None] = []
        for place, ids in enumerate(encode_all(own, texts, mode)):
            if isinstance(ids, Failure):
                return None
            answers.append(ids)
            # The same ids decode to the same text in every mode.
            if not mode.decodes or ids == agreed[place]:
                decoded.append(None)
                continue
            text, agreed[place] = decode(own, ids, texts[place]), ids
            if isinstance(text, Failure):
                return None
            decoded.append(text)
        wanted.append(Expected(mode, texts, answers, decoded))
    return wanted


def gives_all(engine: Engine, wanted: Iterable[Expected]) -> bool:
    return all(
        encode_all(engine, each.texts, each.mode) == each.ids
        and all(
            meant is None or decode(engine, ids, text) == meant
            for text, ids, meant in zip(each.texts, each.ids, each.decoded, strict=True)
        )
        for each in wanted
    )


class _EngineInChild:
    """An engine in the child, whose module is imported at once."""

    def __init__(self, first: str, say: Say) -> None:
        library(first)
        self._engine: Engine | None = None

    def build(self, build: Build) -> None:
        self._engine = None  # one that cannot be built is not answered for by the one before
        with paused():
            self._engine = build()

    def gives_all(self, wanted: list[Expected]) -> bool:
        with paused():
            return self._engine is not None and gives_all(self._engine, wanted)


class EngineProcess:
    """A process that imports a module at once, then builds an engine, and then is asked.

    Then it may build another. It ends with the block. None of its methods but :meth:`agrees` waits
    for it.
    """

    def __init__(self, first: str) -> None:
        self._child = ChildProcess(partial(_EngineInChild, first), quiet=True)
        self._thread = ThreadPoolExecutor(1)  # it waits for one answer after the other
        self._answers: list[Future[Any]] = [self._thread.submit(self._child.answer)]
        self._asked: dict[Whose, int] = {}

    def __enter__(self) -> EngineProcess:
        return self

    def __exit__(self, *raised: object) -> None:
        self._child.close()
        self._thread.shutdown(cancel_futures=True)

    def build(self, build: Build) -> None:
        self._answers.append(self._thread.submit(self._child.call, "build", build))

    def ask(self, of: Whose, wanted: list[Expected]) -> None:
        self._answers.append(self._thread.submit(self._child.call, "gives_all", wanted))
        self._asked[of] = len(self._answers)

    def agrees(self, of: Whose) -> bool:
        """Whether it gives just that; False too where it did not work, or was not asked."""
        answers = self._answers[: self._asked.get(of, 0)]
        try:
            return [answer.result() for answer in answers][-1:] == [True]
        except (EndedError, BpeInteropError, pickle.PickleError):
            # Whatever went wrong there, the engine is run again in this process, which says what it
            # is.
            return False


class EngineProcesses(ExitStack):
    """The engine of a format and the library that serves it, each in a process of its own.

    They import what they need from the start, and work while this process does something else.
    For a small tokenizer they are not worth it, and there are none; then nothing is done here.
    """

    def __init__(self, model: BPEModel, row: Format, *, alone: bool) -> None:
        super().__init__()
        self._model, self._row, self._begun = model, row, False
        self._children: dict[str, EngineProcess] = {}
        if not worth_processes(model) or model.pretokenizer is None:
            return
        for name, asked in (
            (row.engine, engine_row(row.engine).without_tokens),
            (row.served, row.served and not alone),
        ):
            if asked and versions()[name]:
                child = self.enter_context(EngineProcess(engine_row(name).first))
                self._children[name] = child

    def begin(
        self, files: Files, own: OwnEngine, stage: Path, source: _SourceFolder | None
    ) -> None:
        """Has them compare what was written, and the source's folder, with what our encoder gives.

        Args:
            files: what was written.
            own: our encoder of what was written.
            stage: the folder where the files stand.
            source: the source, where it is served as a whole as well.
        """
        row, model, self._begun = self._row, self._model, True
        for name, child in self._children.items():
            if name == row.engine:
                texts = _texts(model, name)
                child.build(partial(from_files, name, row.name, files, without_tokens(model)))
            else:
                texts = _few(model, name)
                child.build(partial(from_directory, name, stage))
            wanted = expected(own, texts, _modes(name, model))
            if wanted is not None:
                child.ask("target", wanted)
            if source is not None and source.library == name:
                child.build(partial(from_directory, name, source.folder))
                wanted = expected(source.own, source.texts, source.modes)
                if wanted is not None:
                    child.ask("source", wanted)

    def check(
        self,
        name: str,
        texts: list[str],
        modes: Sequence[Mode],
        tick: Tick,
        of: Whose = "target",
    ) -> Check | None:
        """The check that an engine did in its process; None where all is not equal."""
        if not self._begun or name not in self._children:
            return None
        begin(tick, f"running {_RUN[of]} in {name}", len(texts))
        if not self._children[name].agrees(of):
            return None
        tick(len(texts))
        size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
        scopes = tuple(mode.scope for mode in modes)
        return Check(name, versions()[name] or "", scopes, len(texts), size, of=of)


_FEW_ADDED = 20
"""So many added tokens, the last ones, begin texts of chats that may show a difference."""

_LIBRARY = "transformers"
"""What serves a folder in which a tokenizer stands beside its configuration."""
_RUN: Mapping[Whose, str] = {"source": "the source", "target": "what was written"}


@dataclass(frozen=True)
class _SourceFolder:
    """A source that a library serves as a whole, and may serve otherwise than its files say.

    Attributes:
        folder: the directory.
        library: what serves it.
        own: our encoder of its files.
        modes: a plain call of the library, without and with the tokens around a text.
        texts: what both are run on.
    """

    folder: Path
    library: str
    own: OwnEngine
    modes: tuple[Mode, ...]
    texts: list[str]

    @classmethod
    def of(
        cls,
        source: TokenizerSource[BPEModel] | None,
        trip: RoundTrip,
        own: OwnEngine,
        by_user: tuple[str, ...],
    ) -> _SourceFolder | None:
        """None where nothing serves the source, or what is written is a file without its folder."""
        if source is None or source.directory is None or (trip.alone and trip.format.served):
            return None
        library, model = _LIBRARY, source.model
        says = (source.directory / name for name in (CONFIG, MODEL_CONFIG))
        # A folder without a configuration is no library's, unless both are of its format.
        both = source.format.served == trip.format.served == library
        if not both and not any(map(Path.is_file, says)):
            return None
        if model.pretokenizer is None or "normalizer" in by_user:
            return None
        # Code of the repository serves it, which is never run here.
        if (model.origin.settings or {}).get("auto_map"):
            return None
        # Who calls it with nothing said has special tokens parsed. What ids decode to is not asked:
        # every control token has its own text in each library.
        modes = [replace(mode, decodes=False) for mode in _modes(library, model)]
        modes = modes[1:] if PARSED.scope in {mode.scope for mode in modes} else modes
        if "sequence_template" in by_user:
            modes = [mode for mode in modes if not mode.add_special_tokens]
        own = own if own.model is model else OwnEngine(model)
        return cls(source.directory, library, own, tuple(modes), _few(model, library))

    def run(self, processes: EngineProcesses, tick: Tick) -> Check | ServedOtherwise | None:
        """What the library gives, compared with what the files say; None where nothing is known."""
        agreed = processes.check(self.library, self.texts, self.modes, tick, "source")
        if agreed is not None:
            return agreed
        begin(tick, f"running {_RUN['source']} in {self.library}", len(self.texts))
        try:
            engine = from_directory(self.library, self.folder)
        except EngineMissingError as error:
            return Check(self.library, "", skipped=error.fix, of="source")
        except EngineError as error:
            why = "; ".join(filter(None, (error.what, error.fix.partition("; ")[0])))
            return Check(self.library, "", skipped=why, of="source")
        tally = ask_both(self.own, engine, self.texts, self.modes, tick, patience=1)
        if tally.mismatch is not None:
            # transformers 5 says which backend it saved (save_pretrained).
            settings = self.own.model.origin.settings or {}
            saved = "backend" in settings and (self.folder / MAIN).is_file()
            found = self._usual(engine) or tally.mismatch, tally.compared, tally.differing
            return ServedOtherwise(engine.name, engine.version, *found, saved)
        if tally.one_failed or not tally.compared:
            why = f"it fails on {show(tally.failures[0].text)}: {tally.failures[0].what}"
            return Check(engine.name, engine.version, skipped=why, of="source")
        scopes = tuple(mode.scope for mode in self.modes)
        return Check(engine.name, engine.version, scopes, tally.texts, tally.bytes, of="source")

    def _usual(self, engine: Engine) -> Mismatch | None:
        """A difference on a text that people know: the beginning of a chat, or two words."""
        added = [token.text for token in self.own.model.added or ()][-_FEW_ADDED:]
        texts = (*(f"{text}user" for text in reversed(added)), "Hello world")
        asked = known_to((self.library,), texts)
        outcomes = compare_texts(self.own, engine, [*asked], self.modes)
        return next(filter(None, (outcome.mismatch for outcome in outcomes)), None)


def verify_written(
    source: TokenizerSource[BPEModel] | None,
    trip: RoundTrip,
    again: BPEModel,
    losses: tuple[Loss, ...],
    staging: Path,
    processes: EngineProcesses,
    *,
    name: str,
    by_user: tuple[str, ...],
    tick: Tick,
) -> Report:
    """Runs source and target in their own engines, proves, and reports.

    Args:
        source: what was converted; None where the model was learned.
        trip: the model in the target's format, and back.
        again: what reading the files gives, with what presets know of them.
        losses: what the gate let pass.
        staging: the folder where the files stand.
        processes: the engines that may work beside this process.
        name: what the report calls the target.
        by_user: the fields of the source that the user filled.
        tick: called with the number of texts compared since the last call.

    Raises:
        CheckFailedError, LossyConversionError, EngineMissingError, EngineError: as
            :func:`check_written` and :func:`check_source`.
    """
    model, row = trip.model, trip.format
    own, checks = OwnEngine(model), list[Check]()
    served = _SourceFolder.of(source, trip, own, by_user)
    if all(loss.grade == "metadata" for loss in losses):
        processes.begin(trip.files, own, staging, served)
    if source is not None:
        # Its engine gets its own files, without what stands beside them.
        alone = source.alone
        if alone is None or None in (alone.pretokenizer, alone.added):
            alone = source.model
        alone = as_run_by(source.format.engine, alone)
        checks += check_source(source, own if alone is model else OwnEngine(alone), tick)
    checks += check_written(trip, again, losses, staging, tick, own, processes)
    otherwise = None if served is None else served.run(processes, tick)
    if isinstance(otherwise, Check):
        checks.append(otherwise)
    begin(tick, "proving")
    # The files of both were run above, so the report needs none of them.
    label, read_as = ("what was learned", row) if source is None else (source.label, source.format)
    report = compare_written(
        TokenizerSource(label, read_as, {}, model),
        TokenizerSource(name, row, {}, again),
        losses,
        checks,
        by_user,
    )
    if not isinstance(otherwise, ServedOtherwise):
        return report
    return replace(report, source_served=_with_command(otherwise, report, source, trip))


def _with_command(
    found: ServedOtherwise,
    report: Report,
    source: TokenizerSource[BPEModel] | None,
    trip: RoundTrip,
) -> ServedOtherwise:
    """The finding, with a command that writes what the library serves."""
    # A path with bytes that are no UTF-8 is spelled otherwise here.
    if found.saved or source is None or not Path(report.a).is_dir():
        return found
    # Only a whole folder of what serves the source can be replaced by it as it is.
    if source.model is not trip.model or report.dropped or trip.format.served != found.engine:
        return replace(found, command=written_as_served(report.a), before=True)
    to = (*trip.format.aliases, trip.format.name)[0]
    return replace(found, command=written_as_served(report.a, report.b, to))


def check_written(
    trip: RoundTrip,
    again: BPEModel,
    losses: tuple[Loss, ...],
    stage: Path,
    tick: Tick,
    own: OwnEngine,
    processes: EngineProcesses,
) -> tuple[Check, ...]:
    """Compares written files with their source, in the target's own engine.

    Where a library serves a directory of the format as a whole, and is installed, that is run too.
    ``again`` is what reading the files in the folder ``stage`` gives, ``losses`` what the gate let
    pass, ``own`` our encoder of the source.

    Raises:
        CheckFailedError: the files give other ids or texts.
        LossyConversionError: they do because of Unicode tables alone.
        EngineMissingError: the target's own engine is not installed.
        EngineError: it fails on the files, or on a text that the source encodes.
    """
    row, model = trip.format, trip.model
    if model.pretokenizer is None:
        why = "no pattern is known, so nothing can be run; name a preset"
        return (Check(row.engine, "", skipped=why),)
    held = model
    # What was dropped on purpose is no fault: the files are held to what they say themselves.
    if any(loss.grade != "metadata" for loss in losses):
        held = replace(
            again,
            pretokenizer=model.pretokenizer if again.pretokenizer is None else again.pretokenizer,
            normalizer=again.normalizer or (),
            added=again.added or (),
        )
    if held is not model:
        own = OwnEngine(held)  # and no process was begun
    checks = [*_own_engine(row, trip.files, own, again, tick, processes)]
    if row.served and trip.alone:
        why = f"{row.served} serves directories, and this is one file"
        checks.append(Check(row.served, "", skipped=why))
    elif row.served:
        checks += _served(row.served, own, again, stage, tick, processes)
    return tuple(checks)


def _texts(model: BPEModel, engine: str) -> list[str]:
    return list(dict.fromkeys(known_to((engine,), awkward(model))))


def _few(model: BPEModel, engine: str) -> list[str]:
    """A few hundred texts are enough to see whether a library built the same pipeline."""
    return [*known_to((engine,), (*fixed(), *around_added(model, 20)))]


def _own_engine(
    row: Format,
    files: Files,
    own: OwnEngine,
    again: BPEModel,
    tick: Tick,
    processes: EngineProcesses,
) -> tuple[Check, ...]:
    held = own.model
    texts = _texts(held, row.engine)
    agreed = processes.check(row.engine, texts, _modes(row.engine, held), tick)
    if agreed is not None:
        return (agreed,)
    try:
        engine = from_files(row.engine, row.name, files, held)
    except EngineMissingError as error:
        raise EngineMissingError(
            error.what,
            fix=f"{error.fix}; or write without the check: --no-verify (verify=False); "
            "nothing was written",
        ) from error
    except UnstatedError as error:  # the pattern was dropped on purpose
        return (Check(row.engine, "", skipped=error.what),)
    return _run(engine, own, texts, tick, again)


def check_source(
    source: TokenizerSource[BPEModel], own: OwnEngine, tick: Tick
) -> tuple[Check, ...]:
    """Compares the source in its own engine with our reading of it, which ``own`` runs.

    A template that the files do not say is none that their engine could apply.

    Raises:
        CheckFailedError: the engine gives other ids or texts than we do.
        EngineError: it fails on the files, or on a text that we encode.
    """
    row, model = source.format, own.model
    if model.pretokenizer is None:
        return (Check(row.engine, "", skipped="no pattern is known", of="source"),)
    try:
        engine = from_files(row.engine, row.name, source.files, model)
    except EngineMissingError as error:
        # A source may be of a library that is not installed; what is written may not go unchecked.
        return (Check(row.engine, "", skipped=error.fix, of="source"),)
    says_template = source.says_template
    checks = _run(engine, own, _texts(model, row.engine), tick, says_template=says_template)
    return tuple(replace(check, of="source") for check in checks)


def _served(
    name: str,
    own: OwnEngine,
    again: BPEModel,
    stage: Path,
    tick: Tick,
    processes: EngineProcesses,
) -> tuple[Check, ...]:
    texts = _few(own.model, name)
    agreed = processes.check(name, texts, _modes(name, own.model), tick)
    if agreed is not None:
        return (agreed,)
    try:
        engine = from_directory(name, stage)
    except EngineMissingError as error:
        return (Check(name, "", skipped=error.fix),)
    return _run(engine, own, texts, tick, again)


def _run(
    engine: Engine,
    own: OwnEngine,
    texts: list[str],
    tick: Tick,
    again: BPEModel | None = None,
    *,
    says_template: bool = True,
) -> tuple[Check, ...]:
    """Runs a source's own files, or those that were written, which read back as ``again``."""
    modes = _modes(engine.name, own.model)
    if not says_template:
        modes = [mode for mode in modes if not mode.add_special_tokens]
    if not engine_row(engine.name).slow or len(modes) < 2:
        return (_checked(engine, own, texts, modes, tick, again),)
    # A slow engine runs all texts in the first mode only: the others differ from it where there is
    # an added token, or a template.
    few = _about_added(own.model, texts, engine.name)
    return (
        _checked(engine, own, texts, modes[:1], tick, again),
        _checked(engine, own, few, modes[1:], tick, again),
    )


def _about_added(model: BPEModel, texts: list[str], engine: str) -> list[str]:
    """The texts that hold an added token, and a few hundred others."""
    added = "|".join(re.escape(token.text) for token in model.added or () if token.text)
    found = re.compile(added or "(?!)")
    return list(dict.fromkeys([*_few(model, engine), *filter(found.search, texts)]))


def _checked(
    engine: Engine,
    own: OwnEngine,
    texts: list[str],
    modes: list[Mode],
    tick: Tick,
    again: BPEModel | None,
) -> Check:
    what = _RUN["source" if again is None else "target"]
    begin(tick, f"running {what} in {engine.name}", len(texts))
    tally = ask_both(own, engine, texts, modes, tick, patience=1)
    if tally.mismatch is not None and again is not None:
        _raise_if_tables_differ(own.model, again, tally.mismatch.text)
    _raise_if_different(tally, engine, what, of_source=again is None)
    first = tally.failures[0] if tally.failures else None
    failed = f"on {show(first.text[:40])}, {first.side}: {first.what}" if first else ""
    if tally.one_failed or not tally.compared:
        raise EngineError(
            f"not checked: one side failed, so its ids cannot be compared: {failed}",
            where=f"{engine.name} {engine.version}",
            fix="nothing was written; the engine cannot run this tokenizer, so take another format",
        )
    return Check(
        engine.name,
        engine.version,
        tuple(mode.scope for mode in modes),
        tally.texts,
        tally.bytes,
        len({failure.text for failure in tally.failures}),
        failed,
    )


def _modes(engine: str, model: BPEModel) -> list[Mode]:
    known, modes = engine_row(engine), [ORDINARY]
    # Such a folder asks its loader for this, and so does the one that is written of it.
    as_text = known.directories and (model.origin.settings or {}).get("split_special_tokens")
    parses = known.parses_special and not as_text
    if model.added and parses:
        modes.append(PARSED)
    if model.sequence_template is not None and known.applies_template:
        modes.append(TEMPLATED if parses else AROUND)
    return decoding(modes, [model])


def _raise_if_different(tally: Tally, engine: Engine, what: str, *, of_source: bool) -> None:
    mismatch = tally.mismatch
    if mismatch is None:
        return
    answers = f"{list(mismatch.ids_a)} and {list(mismatch.ids_b)}"
    if mismatch.decoding:
        answers = f"the text {show(mismatch.decoding[0])} and {show(mismatch.decoding[1])}"
    raise CheckFailedError(
        f"{what} is not the tokenizer that we read, in {engine.name} {engine.version}: "
        f"{show(mismatch.text)} ({mismatch.mode.scope}) gives {answers}",
        fix=_way_on(engine.name, of_source=of_source),
    )


def _way_on(engine: str, *, of_source: bool) -> str:
    """What is to be done where an engine gives other ids than the files that it was handed say."""
    if of_source:
        return (
            f"nothing was written; to see every difference: bpe-interop verify SRC SRC --engine-b "
            f"{engine}; what {engine} gives is what it serves: another version of it may do as the "
            "file says, and --no-verify (verify=False) writes what the file says"
        )
    return (
        "nothing was written; another target format may do, or another version of "
        f"{engine}; to look at it, write it with --no-verify (verify=False), then: bpe-interop "
        f"verify SRC DST --engine-b {engine}"
    )


def _raise_if_tables_differ(model: BPEModel, again: BPEModel, text: str) -> None:
    """Raises LossyConversionError where a text has other ids because of Unicode tables alone."""
    lost = lost_by_tables(model, again, text)
    if lost is not None:
        raise refusal("what was written gives other ids", (lost,))


def compare_written(
    source: TokenizerSource[BPEModel],
    target: TokenizerSource[BPEModel],
    losses: Iterable[Loss],
    checks: Sequence[Check],
    by_user: tuple[str, ...] = (),
) -> Report:
    """The report on what was written; it is about all but the fields that were dropped.

    ``losses`` are those that the gate let pass, ``by_user`` the fields of the source that the user
    filled.

    Raises:
        CheckFailedError: a text has other ids, and nothing was dropped.
        LossyConversionError: it has them because of Unicode tables alone.
        PatternError: a pattern does not run to its end.
    """
    model, again = source.model, target.model
    lost = [loss for loss in losses if loss.grade != "metadata"]
    dropped = tuple(sorted({loss.field for loss in lost}))
    kept, written = _compared(model, again, dropped)
    one = Side(source, kept, partial(OwnEngine, kept))
    two = Side(target, written, partial(OwnEngine, written))
    sides = one, two
    notes, against = [*_unstated(model, again)], list[str]()
    scope, proof, ran = _scope(kept, written), None, Tally()
    # Then a proof would compare symbols that are not the same.
    if "alphabet" in dropped:
        against = ["the alphabet was dropped, so most texts have other ids"]
    elif kept.pretokenizer is None:
        against = ["nothing says how texts are split"]
    if against:
        scope = "text"
    else:
        deaf = sorted(name for name in engines_of(sides) if not engine_row(name).parses_special)
        if scope == "all" and deaf:
            scope = "ordinary"
            notes.append(f"{' and '.join(deaf)} never finds special tokens in a text")
        engine = target.format.engine
        notes += _left_to_callers(again, engine)
        # Also where fields were dropped: it is about all others, which `kept` has as the source.
        proof = prove(kept, written, scope)
        if proof.outcome == "different" and not dropped:
            _raise_if_tables_differ(kept, written, proof.witness or "")
            raise _check_failed(proof, engine)
        ran = next((_tally(each) for each in checks if each.of == "target"), Tally())
    report = report_of(scope, Sides(one, two, ()), proof, ran, notes, against)
    # What `verify` will say of the two.
    if proof is not None and (
        dropped or (scope != "all" and any(loss.field == "decoder" for loss in losses))
    ):
        one_side, other_side = _compared(model, again, ())
        whole = prove(one_side, other_side, "all")
        if whole.outcome == "different":
            apart = {stage.name for stage in whole.counted if stage.outcome == "different"}
            tested = scope if report.verdict == "tested" and not dropped else None
            report = replace(
                report,
                stray_ids="decoding" in apart and "decoder" not in dropped,
                equal_in=narrower(one_side, other_side, whole) or tested,
            )
    if report.verdict == "proved":
        taken = assumed_of_texts(engines_of(sides))
        notes = [*report.notes, *(f"the proof takes for granted that {each}" for each in taken)]
        report = replace(report, notes=tuple(notes))
    return replace(
        report,
        scopes=next((each.scopes for each in checks if each.of == "target"), ()),
        checks=tuple(checks),
        dropped=dropped,
        changed=next((loss.witness for loss in lost if loss.witness is not None), None),
        by_user=by_user,
    )


def _tally(check: Check) -> Tally:
    """What a check of the target's own engine ran; it agreed, or there would be no report."""
    return Tally(texts=check.texts, bytes=check.bytes, compared=check.texts)


def _check_failed(proof: Proof, engine: str) -> CheckFailedError:
    otherwise = "decodes the ids of {} otherwise" if proof.stage == "decoding" else ""
    otherwise = (otherwise or "gives {} other ids").format(show(proof.witness or ""))
    return CheckFailedError(
        f"what was written {otherwise} ({proof.stage})", fix=_way_on(engine, of_source=False)
    )


def _compared(
    model: BPEModel, again: BPEModel, dropped: tuple[str, ...]
) -> tuple[BPEModel, BPEModel]:
    """The two models that the proof is about.

    A target that does not say how texts are split is run with what the source says.
    """
    kept = _kept(model, again, dropped)
    if kept.pretokenizer is not None and again.pretokenizer is not None:
        return kept, again
    steps = model.normalizer, model.pretokenizer
    one, two = (replace(m, normalizer=steps[0], pretokenizer=steps[1]) for m in (kept, again))
    return one, two


def _kept(model: BPEModel, again: BPEModel, dropped: tuple[str, ...]) -> BPEModel:
    """The source with what was dropped as the target has it."""
    fields = set(dropped)
    if fields.intersection(MERGING):
        # These fields say only together what becomes of a pretoken: none is taken over alone.
        fields.update(MERGING)
    if not fields:
        return model  # what is known of it already stays known
    return replace(model, **{field: getattr(again, field) for field in fields})


def _scope(a: BPEModel, b: BPEModel) -> Scope:
    """The widest scope about which neither side is silent."""
    stated = [side.added for side in (a, b) if side.added is not None]
    if len(stated) < 2 and any(not token.special for added in stated for token in added):
        return "text"
    left, right = a.sequence_template, b.sequence_template
    one_sided = (left is None) != (right is None)
    return "ordinary" if len(stated) < 2 or one_sided else "all"


def _left_to_callers(model: BPEModel, engine: str) -> Iterator[str]:
    """That the target's engine does not do what the target's file says of a text's ends."""
    template = model.sequence_template
    if engine_row(engine).applies_template or template is None:
        return
    # A stale template names another token than the one that it places.
    parts = [part for part in template.single if isinstance(part, TemplateToken)]
    texts = texts_of_ids(model, {number for part in parts for number in part.ids})
    tokens = [
        show(texts[number]) if number in texts else f"the id {number}"
        for part in parts
        for number in part.ids
    ]
    if tokens:
        yield (
            f"{engine} places no tokens around a text: add {' and '.join(tokens)} "
            "in your own code; the file keeps the sequence template for other tools"
        )


def _unstated(model: BPEModel, again: BPEModel) -> Iterator[str]:
    """What either side leaves out, and the verdict with it."""
    if again.pretokenizer is None and model.pretokenizer is not None:
        yield "the target does not say how texts are split; the verdict is about the source's way"
    for side, name in ((model, "source"), (again, "target")):
        if side.added is None:
            yield f"the {name} does not say which special tokens there are"
        if side.sequence_template is None:
            yield f"the {name} does not say what is placed around a text"
