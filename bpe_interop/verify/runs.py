"""Runs two sides on single tokens, on awkward texts and on corpora."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TypeAlias

from ..errors import EngineError
from ..model import BPEModel, show
from ..shards import LIMIT, Progress, Workers
from ..ticks import begin, untold
from .children import ChildPair
from .compare import Decoded, LocalPair, Pair, Tally, compare_in
from .corpus import ENDED_EARLY, Corpora, Sides, compare_corpora
from .corpus_report import CorpusReport, Found
from .sides import Inside, Mismatch, Mode, Own, Side
from .stress import awkward, completed, every_token, texts_with, thorough

_CHUNK = 4_096
_APART = {"control", "unknown", "unused", "byte"}
"""Kinds of tokens to which no text encodes, or only in a row with others: what they decode to
alone is each format's own (docs/formats.md). Byte tokens in their rows are in the texts."""

_TRIED = 300
"""Of how many tokens that decode otherwise texts are tried."""

Asked: TypeAlias = tuple[bytes, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Odd:
    """A token that two sides decode otherwise, or on which one fails (None)."""

    content: bytes
    ids: tuple[int, ...]
    texts: Decoded


@dataclass(frozen=True, slots=True)
class Alone:
    """How many tokens were decoded alone, and those on which the sides did not agree."""

    count: int = 0
    odd: tuple[Odd, ...] = ()

    def texts(self, model: BPEModel) -> Iterator[str]:
        """Texts with these tokens: if some text encodes to one, the difference shows there."""
        for each in self.odd[:_TRIED]:
            yield from texts_with(each.content, model)

    def notes(self) -> Iterator[str]:
        """What is to be said of it."""
        if self.count and not self.odd:
            yield f"each of {self.count:,} tokens decodes alone to the same text on both sides"
        elif self.odd:
            first = self.odd[0]
            one, two = ("a failure" if text is None else show(text) for text in first.texts)
            yield (
                f"{len(self.odd):,} of {self.count:,} tokens decode to other texts, each alone: "
                f"{show(first.content)} (ids {' '.join(map(str, first.ids))}): {one} and {two}"
            )


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


def mismatch_of(difference: Found, modes: Sequence[Mode]) -> Mismatch:
    """What a corpus report says of a text, as the difference that it is."""
    mode = next(mode for mode in modes if mode.scope == difference.scope)
    return Mismatch(mode, difference.text, difference.ids_a, difference.ids_b, difference.decoding)


@dataclass(slots=True)
class Ran:
    """What was run; ``interrupted`` where Ctrl-C ended it."""

    tally: Tally = field(default_factory=Tally)
    alone: Alone = field(default_factory=Alone)
    corpus: CorpusReport | None = None
    interrupted: bool = False
    ended: bool = False

    def total(self) -> Tally:
        """The tally of the awkward texts and of the corpora, with the plainer difference."""
        total = replace(self.tally)
        if self.corpus is not None:
            counts, plainest = self.corpus.counts, self.corpus.plainest
            total.texts += counts.documents - counts.left_out
            total.bytes += counts.bytes - counts.left_out_bytes
            total.compared += counts.compared
            total.differing += counts.differing
            if plainest is not None:
                total.see(mismatch_of(plainest, total.modes))
        return total


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
