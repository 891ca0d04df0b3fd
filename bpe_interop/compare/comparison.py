"""Compares two tokenizers: proves what can be proved, and runs both on tokens, texts, corpora."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TypeAlias

from ..arguments import TEXTS, names, one_of, several
from ..engines.rows import SERVER, engine_row
from ..errors import ArgumentError, SourceError, UnstatedError
from ..model import BPEModel
from ..presets import ways_to_say
from ..proof.prove import ALL_STAGES, SCOPES, Proof, narrower, prove
from ..proof.stage import Scope, Stage, counts
from ..quoting import show
from ..special import checked
from ..ticks import Tick, begin, no_progress
from ..workers import LIMIT, Progress, Workers, pool_of
from .corpus import Corpora, check_corpora, compare_corpora
from .lock import Lock, locked
from .opening import noted_on_files, open_any, open_lock, open_source, served_otherwise, side_of
from .report import Report
from .run import Decoded, Pair, Sides, Tally, compare_in
from .sentences import name_as_served, written_as_served
from .sides import ORDINARY, OwnEngine, Side, inside_of, modes_of
from .stress import awkward, completed, every_token, known_to, texts_with, thorough
from .verdict import doubts, engines_of, report_of, witnessed

_CHUNK = 4_096
_APART = {"control", "unknown", "unused", "byte"}
"""Kinds of tokens to which no text encodes, or only in a row with others: what they decode to
alone is each format's own (docs/formats.md). Byte tokens in their rows are in the texts."""

_TRIED = 300
"""Of how many tokens that decode otherwise texts are tried."""

Asked: TypeAlias = tuple[bytes, tuple[int, ...]]
"""A token and the ids that are decoded."""
OddToken: TypeAlias = tuple[bytes, tuple[int, ...], Decoded]
"""The same with what each side made of them."""


def decode_tokens(
    pair: Pair, a: BPEModel, b: BPEModel, names: tuple[str, str]
) -> tuple[int, list[OddToken]]:
    """Decodes each token that both sides have under one id; ``names`` are the engines'.

    How many there were, and those on which the sides did not agree.
    """
    count, odd = 0, list[OddToken]()
    # Two of our own encoders with the same decoder look the same token up under the same id.
    if (
        names == (OwnEngine.name, OwnEngine.name)
        and a.decoder == b.decoder
        and a.alphabet == b.alphabet
    ):
        return count, odd
    asked = _sequences(a, b)
    while chunk := list(islice(asked, _CHUNK)):
        count += len(chunk)
        answers = pair.decode([ids for _, ids in chunk])
        for (content, ids), texts in zip(chunk, answers, strict=True):
            # A failure on both sides shows nothing equal, so it is noted too.
            if texts[0] != texts[1] or texts[0] is None:
                odd.append((content, ids, texts))
    return count, odd


def decoding_notes(count: int, odd: Sequence[OddToken]) -> Iterator[str]:
    if not count:
        return
    if not odd:
        yield f"each of {count:,} tokens decodes alone to the same text on both sides"
        return
    content, ids, texts = odd[0]
    one, two = ("a failure" if text is None else show(text) for text in texts)
    yield (
        f"{len(odd):,} of {count:,} tokens decode to other texts, each alone: "
        f"{show(content)} (ids {' '.join(map(str, ids))}): {one} and {two}"
    )


def _sequences(a: BPEModel, b: BPEModel) -> Iterator[Asked]:
    """Each token that both have, with the ids to decode.

    What is a part of a character is made whole by the tokens of single bytes, so that all of its
    bytes are seen.
    """
    ids = {t: n for t, n in a.vocab.ids.items() if b.vocab.ids.get(t) == n}
    kinds = {**b.vocab.kinds, **a.vocab.kinds}
    bytewise = a.alphabet == b.alphabet == "byte"
    for content, number in ids.items():
        if kinds.get(number) in _APART:
            continue
        missing = completed(content) if bytewise else None
        head, tail = (_of_bytes(ids, part) for part in missing or (b"", b""))
        yield content, (*head, number, *tail)


def _of_bytes(ids: dict[bytes, int], content: bytes) -> Sequence[int]:
    numbers = [ids.get(bytes([byte])) for byte in content]
    return [number for number in numbers if number is not None]


AFTER_PROOF = 1_024
"""How many awkward texts are run where a difference is proved and shown: the answer is known."""

PATIENCE = 1_000
"""How often one side alone may fail before a comparison ends."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How two tokenizers are run on texts.

    Attributes:
        isolate: run them in child processes, so that a text that kills an engine is an outcome.
        thorough: run every code point, and runs of a million letters and spaces, which takes
            minutes.
        tick: called with the number of awkward texts compared since the last call; a
            :class:`.PhaseTick` is told the phases and their totals as well.
        watch: called after each batch of a corpus.
        executor: compare corpora by parts in this executor: a process pool, Dask's
            ``client.get_executor()``, an MPI pool. Its workers read the corpora themselves. The
            report is the same.
        slots: how many parts the executor is given at once; by default as many as there are cores.
        limit: seconds after which a part is given to another worker, once.
    """

    isolate: bool = False
    thorough: bool = False
    tick: Tick = no_progress
    watch: Callable[[Progress], None] = no_progress
    executor: Executor | Workers | None = None
    slots: int | None = None
    limit: float = LIMIT


_AS_USUAL = RunOptions()
_NO_CORPORA = Corpora()


def verify(
    a: str | Path,
    b: str | Path,
    *,
    scope: Scope = "all",
    engine_a: str | None = None,
    engine_b: str | None = None,
    preset_a: str | None = None,
    preset_b: str | None = None,
    offline: bool = False,
    corpora: Corpora | str | Path | Iterable[str | Path] = (),
    options: RunOptions = _AS_USUAL,
) -> Report:
    """Decides whether two tokenizers are equal, and compares them on texts.

    Interrupted with Ctrl-C while it compares, it reports what it did so far.

    Args:
        a: a source, as :func:`bpe_interop.load` takes it, or a lock file.
        b: the other source.
        scope: what counts: ``"all"``; ``"ordinary"`` (special strings are text, added tokens that
            are not special still match); ``"text"`` (no added token matches).
        engine_a: run ``a`` in this engine (``tiktoken``, ``tokenizers``, ``transformers``,
            ``sentencepiece`` ...) instead of our encoder, or ask a server that runs:
            ``llama.cpp@http://HOST:PORT``.
        engine_b: the same for ``b``.
        preset_a: says what ``a`` leaves unsaid.
        preset_b: the same for ``b``.
        offline: never use the network.
        corpora: texts to compare on as well: the name of a file or folder, or several, or names
            with how they are read.
        options: how the texts are run.

    Raises:
        ArgumentError: there is no such scope.
        BpeInteropError: a source or a corpus cannot be read, or a named engine is missing.
    """
    for source in (a, b):
        if not isinstance(source, (str, Path)):
            raise TypeError(
                f"verify takes paths and names, not {type(source).__name__}: a live tokenizer is "
                "taken by bpe_interop.compare.parity(a, b)"
            )
    one_of(scope, SCOPES, "scope")
    read = corpora if isinstance(corpora, Corpora) else Corpora(names(corpora))
    served = engine_a is not None or engine_b is not None
    sides: dict[str, Side] = {}
    locks: list[tuple[str, str | Path, Lock]] = []
    for letter, source, engine, preset in (
        ("a", a, engine_a, preset_a),
        ("b", b, engine_b, preset_b),
    ):
        lock = locked(source)
        if lock is not None:
            _refuse_for_lock(source, engine, preset, options)
            locks.append((letter, source, lock))
            continue
        opened = open_source(source, preset=preset, offline=offline, served=served)
        if opened.model is not None and opened.model.pretokenizer is None:
            raise UnstatedError(
                "the source does not state the pattern that splits texts (pretokenizer)",
                where=opened.label,
                fix=ways_to_say(opened.model, f"--preset-{letter} (preset_{letter}=...)"),
            )
        sides[letter] = side_of(opened, engine, preset)
    # Where texts are asked for, or an engine, a lock runs for itself.
    shared = not served and not read.names and options.executor is None
    other = next(iter(sides.values()), None)
    for letter, source, lock in locks:
        sides[letter] = open_lock(lock, source, other, shared=shared)
    report = compare(sides["a"], sides["b"], scope, corpora=read, options=options)
    if report.verdict != "different" or other is None:
        return report
    noted = [_served_otherwise_than_locked(lock, other) for *_, lock in locks]
    return replace(report, notes=(*report.notes, *filter(None, noted)))


def _served_otherwise_than_locked(lock: Lock, other: Side) -> str:
    """What to do where a library serves files otherwise that are as they were locked; or empty."""
    source, name = other.source, other.engine.name
    if source.model is None or not engine_row(name).directories or not lock.is_of(source.model):
        return ""
    write, output = written_as_served(source.label), name_as_served(source.label)
    freeze = ["bpe-interop", "lock", output, "-o", f"{output}.lock"]
    return (
        f"{source.label} is as it was locked, and {name} {other.engine.version} serves it "
        "otherwise than it is read here; if it did so before an upgrade too, lock what it serves: "
        f"{write} && {shlex.join(freeze)}"
    )


def parity(
    a: object,
    b: object,
    texts: Iterable[str] | None = None,
    *,
    scope: Scope = "all",
    proof: bool = True,
    preset_a: str | None = None,
    preset_b: str | None = None,
) -> Report:
    """Holds two tokenizers against each other, each run by its own library.

    A file runs in the engine of its format (:func:`verify` runs our encoder), a live object as it
    is, and a :class:`.Tokenizer` in whatever encodes for it.

    Args:
        a: a source as :func:`bpe_interop.load` takes it, a lock file, a ``Tokenizer``, or an
            object of tiktoken, tokenizers, sentencepiece or transformers.
        b: the other one.
        texts: what to compare on; None for the awkward texts of both.
        scope: what counts, as in :func:`bpe_interop.verify`.
        proof: whether to decide, too, whether they are equal on every text.
        preset_a: says what ``a``, a path or a name, leaves unsaid, as :func:`bpe_interop.load`
            takes it.
        preset_b: the same for ``b``.

    Raises:
        ArgumentError: a preset is given for an object or a lock file (also ValueError).
        TypeError: an object is none of these; ``texts`` are one text, or hold no text.
        BpeInteropError: a source cannot be read.
    """
    one_of(scope, SCOPES, "scope")
    if texts is not None:
        texts = map(checked, several(texts, "texts", TEXTS))
    for letter, source, preset in (("a", a, preset_a), ("b", b, preset_b)):
        if preset is not None and not isinstance(source, (str, Path)):
            raise ArgumentError(
                f"preset_{letter} is for a path or a name, not for a {type(source).__name__}",
                fix="leave it out, or load the tokenizer with bpe_interop.load(..., preset=...)",
            )
    report = compare(open_any(a, preset_a), open_any(b, preset_b), scope, texts, proof=proof)
    if report.interrupted:  # a test that was interrupted has not passed
        raise KeyboardInterrupt
    return report


def _refuse_for_lock(
    lock: str | Path, engine: str | None, preset: str | None, options: RunOptions
) -> None:
    # A lock is the model alone: there are no files for an engine, or for workers to read.
    given = [
        what
        for what, value in (
            ("an engine", engine),
            ("a preset", preset),
            ("a scheduler", options.executor),
        )
        if value is not None
    ]
    if given:
        raise SourceError(
            f"a lock file is run by our encoder, as it was locked, so it takes no {given[0][2:]}"
            if given[0].startswith("a ")
            else "a lock file is run by our encoder: there are no files for another engine",
            where=str(lock),
            fix="leave it out, or name the tokenizer that was locked",
        )


def compare(
    a: Side,
    b: Side,
    scope: Scope = "all",
    texts: Iterable[str] | None = None,
    *,
    proof: bool = True,
    corpora: Corpora = _NO_CORPORA,
    options: RunOptions = _AS_USUAL,
) -> Report:
    """Decides whether two sides are equal, and runs both on texts.

    Args:
        a: one side.
        b: the other.
        scope: what counts.
        texts: what both are run on; None for the awkward texts of both, and for every token where
            an engine runs or nothing is proved.
        proof: whether to decide, too, whether they are equal on every text.
        corpora: texts to compare on as well.
        options: how the texts are run.

    Raises:
        BpeInteropError: a corpus cannot be read.
    """
    # A lock and the tokenizer that was locked share one encoder: no text could show anything.
    same = a.engine is b.engine
    sources = [side.source for side in (a, b) if side.source.files or not same]
    notes = [*noted_on_files(*sources), *a.notes, *b.notes]
    stated = a.source.model, b.source.model
    modes = [] if same else modes_of(scope, stated, (a.engine, b.engine), notes)
    sides = Sides(a, b, tuple(modes))
    if not any(engine_row(side.engine.name).directories for side in (a, b)):
        for letter, side in (("a", a), ("b", b)):
            notes += served_otherwise(letter, side.source, side.engine)
    if same:
        proved = Proof(
            scope, "proved", tuple(Stage(n, "proved", "the same fingerprint") for n in ALL_STAGES)
        )
        return report_of(scope, sides, proved, Tally(), notes)
    workers = None if options.executor is None else pool_of(options.executor, options.slots)
    if corpora.names:  # before a proof, which takes longer
        check_corpora(sides, corpora, scope, workers)
    begin(options.tick, "proving")
    found = None
    if proof and a.model is not None and b.model is not None:
        found = prove(a.model, b.model, scope)
    ran = _run(
        sides,
        scope,
        options,
        workers,
        texts=texts,
        corpora=corpora,
        proved=found is not None and found.outcome == "proved",
        known=witnessed(found, (a.engine, b.engine)) is not None,
    )
    report = report_of(scope, sides, found, ran, notes)
    report = replace(report, given=texts is not None)
    return report if found is None else _explained(a, b, found, report)


def _explained(a: Side, b: Side, proof: Proof, report: Report) -> Report:
    """The report with causes that are known, and with the scope in which the two are equal."""
    one, two = a.model, b.model
    if one is None or two is None:
        return report
    more = [*report.notes, *_idle_lookup(one, two, report)]
    if report.stage == "pre-tokenizer":
        more += [*_cause(a, b), *_cause(b, a)]
    report = replace(report, notes=tuple(more))
    # A narrower scope is offered where it is proved, the text that was found is outside it, and
    # a proof speaks for the engines.
    less = None if proof.outcome == "proved" else narrower(one, two, proof)
    if less is None or _shown_in(less, report) or doubts(engines_of((a, b))):
        return report
    sentence = f'proved equal with --scope {less} (scope="{less}"): {SCOPES[less]}'
    return replace(report, narrower=sentence)


def _idle_lookup(a: BPEModel, b: BPEModel, report: Report) -> Iterator[str]:
    """That one side looks whole pretokens up, where no field says so because no id differs."""
    fields = {each.field for each in report.differences}
    if a.lookup_first is b.lookup_first or "lookup_first" in fields:
        return
    yield (
        f"only {'b' if b.lookup_first else 'a'} looks up whole pretokens (ignore_merges), and "
        "merging builds each token, so no id differs"
    )


def _cause(side: Side, other: Side) -> Iterator[str]:
    if side.model is None or other.model is None:
        return
    why, is_mended = side.source.format.cause(side.model, other.model)
    if not why:
        return
    label = side.source.label
    command = (
        f"; a file that is right: bpe-interop convert {other.source.label} NEW"
        f"{Path(label).suffix} --into {label}"
    )
    yield f"{label}: {why}{command if is_mended else ''}"


def _shown_in(scope: Scope, report: Report) -> bool:
    """Whether the text of a report may differ in a narrower scope too: an engine differs on it."""
    if report.mismatch is None:
        return False
    if report.stage == "decoding":
        return report.mismatch.mode == ORDINARY
    return counts(report.stage or "", scope)


def _run(
    sides: Sides,
    scope: Scope,
    options: RunOptions,
    workers: Workers | None,
    *,
    texts: Iterable[str] | None,
    corpora: Corpora,
    proved: bool,
    known: bool,
) -> Tally:
    """Compares two sides on each token, on awkward texts, and on corpora.

    ``texts`` are run instead of tokens and awkward texts. The models may be ``proved`` equal, or a
    text be ``known`` on which the sides differ.
    """
    a, b, modes = sides.a, sides.b, sides.modes
    inside = inside_of(scope, (a.source.model, b.source.model))
    ran, cut_short, shown_early, left_out = Tally(), False, False, 0
    decoded, odd = 0, list[OddToken]()
    # An object, or an encoder that a lock shares, cannot be built again in another process.
    pair = sides.pair(options.isolate and a.name is not None and b.name is not None)
    try:
        if texts is None:
            # A proof is about models: where an engine runs, each token's own text is asked as well.
            own = a.engine.name == b.engine.name == OwnEngine.name
            texts = _awkward_texts(sides, every=options.thorough, tokens=not (proved and own))
            # The answer is known, so the texts only count how often the sides differ.
            if known and not options.thorough:
                texts, cut_short = islice(texts, AFTER_PROOF), True
            # Many texts are in both, and some in one again and again.
            engines = engines_of((a, b))
            texts = list(dict.fromkeys(known_to(engines, texts)))
            if a.model is not None and b.model is not None:
                begin(options.tick, "tokens, each alone")
                names = a.engine.name, b.engine.name
                decoded, odd = decode_tokens(pair, a.model, b.model, names)
                # If some text encodes to one of them, the difference shows there.
                for content, _, _ in odd[:_TRIED]:
                    texts += known_to(engines, texts_with(content, a.model))
        asked = list(texts)
        texts = list(filter(inside, asked))
        left_out = len(asked) - len(texts)
        begin(options.tick, "awkward texts", len(texts))
        names = f"a ({a.engine.name})", f"b ({b.engine.name})"
        # A server is asked text by text, which takes minutes; a difference soon shows.
        served = SERVER in (a.engine.name, b.engine.name) and not options.thorough
        enough = AFTER_PROOF if served else sys.maxsize
        ran = compare_in(pair, names, texts, modes, options.tick, PATIENCE, enough)
        shown_early = served and ran.differing > 0 and ran.texts < len(texts)
    except KeyboardInterrupt:
        ran.interrupted = True
    finally:
        pair.close()
    if not ran.interrupted and corpora.names:
        ran.corpus, ended = compare_corpora(
            sides,
            corpora,
            workers=workers,
            limit=options.limit,
            isolate=options.isolate,
            wanted=inside,
            scope=scope,
            patience=PATIENCE,
            tick=options.watch,
        )
        # A comparison that lost its patience is cut short as well, but nobody interrupted it.
        ran.interrupted = ran.corpus.interrupted and not ended
    ran.notes += decoding_notes(decoded, odd)
    if left_out:
        ran.notes.append(f"outside the scope, as added tokens are in them: {left_out:,} texts")
    if cut_short:
        ran.notes.append(
            f"the difference is proved and shown by a text, so only {ran.texts:,} awkward "
            "texts were run; --thorough (thorough=True) runs all"
        )
    if shown_early and not ran.interrupted:
        ran.notes.append(
            f"the server gives other ids, so only {ran.texts:,} awkward texts were run; "
            "--thorough (thorough=True) runs all"
        )
    if ran.ended:
        ran.notes.append(
            f"awkward texts ended early: one side alone failed {ran.one_failed:,} times"
        )
    if ran.corpus is not None:
        ran.notes += (f"corpora: {note}" for note in ran.corpus.notes)
    if ran.interrupted:
        ran.notes.append("interrupted: not all texts were compared")
    return ran


def _awkward_texts(sides: Sides, *, every: bool, tokens: bool) -> Iterator[str]:
    """The awkward texts of both models, and with ``tokens`` the text of every token."""
    a, b = sides.a.source.model, sides.b.source.model
    made = thorough if every else awkward
    yield from made(a)
    # Other random texts than those of the first model.
    yield from made(b, seed=1)
    if tokens:
        yield from every_token(a)
        yield from every_token(b)
