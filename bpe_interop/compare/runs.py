"""Compares two sides: proves what can be proved, and runs both on tokens, texts and corpora."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TypeAlias

from ..engines.facts import facts
from ..errors import EngineError
from ..io import TokenizerSource
from ..model import BPEModel
from ..proof.prove import ALL_STAGES, SCOPES, Proof, narrower, prove
from ..proof.stage import Scope, Stage, counts
from ..ticks import begin, untold
from ..workers import LIMIT, Carried, Progress, Workers, carry, pool_of
from .children import ChildPair
from .corpus import ENDED_EARLY, ByParts, Corpora, Sides, check_corpora, compare_corpora
from .report import Report
from .sides import ORDINARY, Inside, Mode, Own, Side, modes_of, noted_on_files, served_otherwise
from .stress import awkward, completed, every_token, thorough
from .texts import LocalPair, Pair, compare_in
from .verdict import Alone, Odd, Ran, doubts, engines_of, report_of, witnessed

_CHUNK = 4_096
_APART = {"control", "unknown", "unused", "byte"}
"""Kinds of tokens to which no text encodes, or only in a row with others: what they decode to
alone is each format's own (docs/formats.md). Byte tokens in their rows are in the texts."""

Asked: TypeAlias = tuple[bytes, tuple[int, ...]]


def decode_alone(pair: Pair, a: BPEModel, b: BPEModel, names: tuple[str, str]) -> Alone:
    """Decodes each token that both sides have under one id.

    What is a part of a character is made whole by the tokens of single bytes, so that all of its
    bytes are seen. Two of our own encoders with the same decoder are not asked: they look the
    same token up under the same id.

    Args:
        pair: the two sides.
        a: one side's model.
        b: the other's.
        names: the engines' names.
    """
    if names == (Own.name, Own.name) and a.decoder == b.decoder and a.alphabet == b.alphabet:
        return Alone()
    count, odd = 0, []
    asked = _sequences(a, b)
    while chunk := list(islice(asked, _CHUNK)):
        count += len(chunk)
        answers = pair.decode([ids for _, ids in chunk])
        for (content, ids), texts in zip(chunk, answers, strict=True):
            if texts[0] != texts[1] or texts[0] is None:
                odd.append(Odd(content, ids, texts))
    return Alone(count, tuple(odd))


def _sequences(a: BPEModel, b: BPEModel) -> Iterator[Asked]:
    """Each token that both have, with the ids to decode."""
    ids, kinds = _shared(a, b), {**b.vocab.kinds, **a.vocab.kinds}
    bytewise = a.alphabet == b.alphabet == "byte"
    for content, number in ids.items():
        if kinds.get(number) in _APART:
            continue
        missing = completed(content) if bytewise else None
        head, tail = (_of_bytes(ids, part) for part in missing or (b"", b""))
        yield content, (*head, number, *tail)


def _shared(a: BPEModel, b: BPEModel) -> dict[bytes, int]:
    return {t: n for t, n in a.vocab.ids.items() if b.vocab.ids.get(t) == n}


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
            :class:`.StageTick` is told the stages and their totals as well.
        watch: called after each batch of a corpus.
        executor: compare corpora by parts in this executor: a process pool, Dask's
            ``client.get_executor()``, an MPI pool. Its workers read the corpora themselves. The
            report is the same.
        slots: how many parts the executor is given at once; by default as many as there are cores.
        limit: seconds after which a part is given to another worker, once.
    """

    isolate: bool = False
    thorough: bool = False
    tick: Callable[[int], None] = untold
    watch: Callable[[Progress], None] = untold
    executor: Executor | Workers | None = None
    slots: int | None = None
    limit: float = LIMIT


_AS_USUAL = RunOptions()
_NO_CORPORA = Corpora()


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
    notes += _served_otherwise(a, b)
    inside = Inside(scope, stated)
    if same:
        proved = Proof(
            scope, "proved", tuple(Stage(n, "proved", "the same fingerprint") for n in ALL_STAGES)
        )
        return report_of(scope, (a, b), modes, proved, Ran(), notes)
    if options.executor is not None:
        workers = pool_of(options.executor, options.slots)
        corpora = replace(corpora, by_parts=_by_parts(a, b, workers, options.limit))
    if corpora.names:  # before a proof, which takes longer
        check_corpora(sides_of((a, b), modes), corpora, scope)
    begin(options.tick, "proving")
    found = None
    if proof and a.model is not None and b.model is not None:
        found = prove(a.model, b.model, scope)
    ran = run(
        (a, b),
        modes,
        inside,
        options,
        texts=texts,
        corpora=corpora,
        proved=found is not None and found.outcome == "proved",
        known=witnessed(found, (a.engine, b.engine)) is not None,
    )
    report = report_of(scope, (a, b), modes, found, ran, [*notes, *_notes(ran, inside)])
    report = replace(report, given=texts is not None)
    return report if found is None else _explained(a, b, found, report)


def _served_otherwise(a: Side, b: Side) -> Iterator[str]:
    """Which directories are run as their files say, where ``AutoTokenizer`` may not do so."""
    if any(facts(side.engine.name).directories for side in (a, b)):
        return
    for letter, side in (("a", a), ("b", b)):
        yield from served_otherwise(letter, side.source, side.engine)


def _by_parts(a: Side, b: Side, workers: Workers, limit: float) -> ByParts:
    """Who compares corpora by parts, and what is sent there."""

    def carried(source: TokenizerSource[BPEModel | None], preset: str | None) -> Carried:
        return carry(source.label, source.format.name, source.files, preset, source.beside)

    sent = carried(a.source, a.preset), carried(b.source, b.preset)
    one, two = (None if isinstance(s.engine, Own) else s.engine.name for s in (a, b))
    return ByParts(workers, sent, (one, two), limit)


def _notes(ran: Ran, inside: Inside) -> Iterator[str]:
    """What is to be said of what was run and what was not."""
    yield from ran.alone.notes()
    if inside.left_out:
        yield f"outside the scope, as added tokens are in them: {inside.left_out:,} texts"
    if ran.ended:
        yield (
            f"the difference is proved and shown by a text, so only {ran.tally.texts:,} awkward "
            "texts were run; --thorough (thorough=True) runs all"
        )
    if ran.tally.alone >= PATIENCE:
        yield f"awkward texts ended early: one side alone failed {ran.tally.alone:,} times"
    if ran.corpus is not None:
        yield from (f"corpora: {note}" for note in ran.corpus.notes)
    if ran.interrupted:
        yield "interrupted: not all texts were compared"


def _explained(a: Side, b: Side, proof: Proof, report: Report) -> Report:
    """The report with causes that are known, and with the scope in which the two are equal."""
    one, two = a.model, b.model
    if one is None or two is None:
        return report
    more = [*report.notes, *_idle_lookup(one, two, report)]
    if report.stage == "pre-tokenizer":
        more += [*_cause(a, b), *_cause(b, a)]
    report = replace(report, notes=tuple(more))
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
    """What in a side's file makes its pretokens others, and how the file is repaired."""
    if side.model is None or other.model is None:
        return
    why = side.source.format.cause(side.model, other.model)
    if why:
        label = side.source.label
        yield (
            f"{label}: {why}; a file that is right: bpe-interop convert {other.source.label} NEW"
            f"{Path(label).suffix} --into {label}"
        )


def _shown_in(scope: Scope, report: Report) -> bool:
    """Whether the text of a report may differ in a narrower scope too: an engine differs on it."""
    if report.mismatch is None:
        return False
    if report.stage == "decoding":
        return report.mismatch.mode == ORDINARY
    return counts(report.stage or "", scope)


def run(
    both: tuple[Side, Side],
    modes: Sequence[Mode],
    inside: Inside,
    options: RunOptions,
    *,
    texts: Iterable[str] | None,
    corpora: Corpora,
    proved: bool,
    known: bool,
) -> Ran:
    """Compares two sides on each token, on awkward texts, and on corpora.

    Args:
        both: the two sides.
        modes: how they are asked.
        inside: which texts are in the scope.
        options: how the texts are run.
        texts: what both are run on instead of tokens and awkward texts.
        corpora: the corpora.
        proved: the models are proved equal. Where they are not, or an engine runs, every token's
            own text is run.
        known: a text is known on which the sides differ. Then the first ``AFTER_PROOF`` awkward
            texts are run, unless all are asked for (``options.thorough``).

    Raises:
        BpeInteropError: as :func:`.corpus.compare_corpora`.
    """
    a, b = both
    ran = Ran()
    pair: Pair = LocalPair(a.engine, b.engine, modes)
    if options.isolate and a.build is not None and b.build is not None:
        pair = ChildPair(a.build, b.build, modes)
    try:
        if texts is None:
            own = a.engine.name == b.engine.name == Own.name
            texts = _awkward_texts(both, every=options.thorough, tokens=not (proved and own))
            if known and not options.thorough:
                texts, ran.ended = islice(texts, AFTER_PROOF), True
            # Many texts are in both, and some in one again and again.
            texts = list(dict.fromkeys(texts))
            if a.model is not None and b.model is not None:
                begin(options.tick, "tokens, each alone")
                ran.alone = decode_alone(pair, a.model, b.model, (a.engine.name, b.engine.name))
                texts += ran.alone.texts(a.model)
        texts = list(inside.of(texts))
        begin(options.tick, "awkward texts", len(texts))
        names = f"a ({a.engine.name})", f"b ({b.engine.name})"
        ran.tally = compare_in(pair, names, texts, modes, options.tick, PATIENCE)
        ran.interrupted = ran.tally.interrupted
    except KeyboardInterrupt:
        ran.interrupted = True
    finally:
        pair.close()
    if not ran.interrupted and corpora.names:
        ran.corpus = compare_corpora(
            sides_of(both, modes),
            corpora,
            isolate=options.isolate,
            wanted=inside,
            scope=inside.scope,
            patience=PATIENCE,
            tick=options.watch,
        )
        ended = any(note.startswith(ENDED_EARLY) for note in ran.corpus.notes)
        ran.interrupted = ran.corpus.interrupted and not ended
    return ran


def sides_of(both: tuple[Side, Side], modes: Sequence[Mode]) -> Sides:
    """Two sides as other processes build them.

    Raises:
        EngineError: a side is an object, which is here alone.
    """
    built = []
    for side in both:
        if side.build is None or side.name is None:
            raise EngineError(
                "an object is not compared on corpora: it cannot be built again elsewhere",
                where=side.source.label,
                fix="write it to a file, and compare that",
            )
        built.append((side.build, side.name))
    (build_a, name_a), (build_b, name_b) = built
    return Sides(build_a, build_b, name_a, name_b, tuple(modes))


def _awkward_texts(both: tuple[Side, Side], *, every: bool, tokens: bool) -> Iterator[str]:
    """The awkward texts of both models, and with ``tokens`` the text of every token."""
    a, b = (side.source.model for side in both)
    made = thorough if every else awkward
    yield from made(a)
    yield from made(b, seed=1)
    if tokens:
        yield from every_token(a)
        yield from every_token(b)
