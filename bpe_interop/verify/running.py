"""Runs two sides on everything that they are compared on: tokens, awkward texts, corpora."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from ..corpora import EVERYTHING, Selection
from ..engines import Engine
from ..model import BPEModel
from .compare import Tally, compare_in
from .corpus_report import CorpusReport
from .decoded import Alone, decode_alone
from .examples import mismatch_of
from .opening import Opened
from .pairs import ChildPair, LocalPair, Pair
from .scoping import Inside
from .sides import Own
from .stress import awkward, every_token, thorough
from .sweep import Progress, Sides, check_corpora, compare_corpora

PATIENCE = 1_000
"""How often one side alone may fail before a comparison ends."""


@dataclass(frozen=True, slots=True)
class Corpora:
    """The corpora to compare on, and how; see :func:`.sweep.compare_corpora`."""

    names: tuple[str | Path, ...] = ()
    field: str | None = None
    selection: Selection = EVERYTHING
    state: str | Path | None = None
    processes: int | None = None

    def check(self, sides: Sides) -> None:
        """Looks at the files before anything else is done, which takes longer.

        Raises:
            SourceError, TargetError: as :func:`.sweep.check_corpora`.
        """
        if self.names:
            check_corpora(sides, self.names, self.field, self.selection, self.state)


@dataclass(frozen=True, slots=True)
class Pairing:
    """Two sides as they are compared: what was opened, what runs it, and what that really runs.

    ``sides`` builds the engines again where they are needed elsewhere.
    """

    opened: tuple[Opened, Opened]
    engines: tuple[Engine, Engine]
    models: tuple[BPEModel | None, BPEModel | None]
    sides: Sides


@dataclass(slots=True)
class Ran:
    """What was run; ``interrupted`` where Ctrl-C ended it."""

    tally: Tally = field(default_factory=Tally)
    alone: Alone = field(default_factory=Alone)
    corpus: CorpusReport | None = None
    interrupted: bool = False

    def total(self) -> Tally:
        """The tally of the awkward texts and of the corpora, with the plainer difference."""
        total = replace(self.tally)
        if self.corpus is not None:
            counts, found = self.corpus.counts, self.corpus.plainest
            total.texts += counts.documents - counts.left_out
            total.bytes += counts.bytes - counts.left_out_bytes
            total.compared += counts.compared
            total.differing += counts.differing
            if found is not None:
                total.see(mismatch_of(found, total.modes))
        return total


def run(
    pairing: Pairing,
    inside: Inside,
    corpora: Corpora,
    *,
    every: bool,
    proved: bool,
    isolate: bool,
    tick: Callable[[int], None],
    watch: Callable[[Progress], None],
) -> Ran:
    """Compares two sides on each token, on awkward texts, and on corpora.

    Args:
        pairing: the two sides.
        inside: which texts are in the scope.
        corpora: the corpora.
        every: run all awkward texts that there are, which takes minutes.
        proved: the models are proved equal. Where they are not, or an engine runs, every token's
            own text is run.
        isolate: work in child processes, so that a text that kills an engine is an outcome.
        tick: called with the number of awkward texts compared since the last call.
        watch: called after each batch of a corpus.

    Raises:
        BpeInteropError: as :func:`.sweep.compare_corpora`.
    """
    ran, sides = Ran(), pairing.sides
    pair: Pair
    if isolate:
        pair = ChildPair(sides.a, sides.b, sides.modes)
    else:
        pair = LocalPair(*pairing.engines, sides.modes)
    try:
        alone = not proved or any(engine.name != Own.name for engine in pairing.engines)
        made = thorough if every else awkward
        _awkward(ran, pairing, pair, inside, made, every_token if alone else _none, tick)
    except KeyboardInterrupt:
        ran.interrupted = True
    finally:
        pair.close()
    if not ran.interrupted and corpora.names:
        ran.corpus = compare_corpora(
            sides,
            corpora.names,
            field=corpora.field,
            selection=corpora.selection,
            processes=corpora.processes,
            isolate=isolate,
            state=corpora.state,
            wanted=inside,
            patience=PATIENCE,
            tick=watch,
        )
        ran.interrupted = ran.corpus.interrupted and not ran.corpus.notes
    return ran


def _awkward(
    ran: Ran,
    pairing: Pairing,
    pair: Pair,
    inside: Inside,
    made: Callable[..., Iterable[str]],
    tokens: Callable[[BPEModel | None], Iterable[str]],
    tick: Callable[[int], None],
) -> None:
    """Tokens alone, and awkward texts."""
    one, two = (side.model for side in pairing.opened)
    # Many texts are in both, and some in one again and again.
    given = chain(made(one), made(two, seed=1), tokens(one), tokens(two))
    texts: Iterable[str] = dict.fromkeys(given)
    engines = pairing.engines[0].name, pairing.engines[1].name
    a, b = pairing.models
    if a is not None and b is not None:
        ran.alone = decode_alone(pair, a, b, engines)
        texts = chain(texts, ran.alone.texts(a))
    names = f"a ({engines[0]})", f"b ({engines[1]})"
    ran.tally = compare_in(pair, names, inside.of(texts), pairing.sides.modes, tick, PATIENCE)
    ran.interrupted = ran.tally.interrupted


def _none(model: BPEModel | None) -> Iterable[str]:
    return ()
