"""A lock file as a side: does a tokenizer still do what was locked?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TypeAlias

from ..encode import Encoder
from ..engines import Engine
from ..errors import SourceError
from ..fingerprint import PARTS, fingerprint
from ..io import read
from ..model import BPEModel
from .alignment import align
from .assumptions import EXAMINED, assumptions, unexamined
from .compare import oddness
from .lock import Lock, answers, is_lock, load
from .lock_changes import changes
from .opening import Opened, run_in_transformers
from .prove import Scope
from .report import Example, Report, Verdict
from .sides import ORDINARY, PARSED, TEMPLATED, Failure, Mismatch, Own, encode_one
from .stages import Stage, counts

Golden: TypeAlias = tuple[str, str, tuple[int, ...]]
"""How ids are asked for, a text, and its locked ids."""

_MODES = {"text": ORDINARY, "parse": PARSED, "template": TEMPLATED}
_LINES = tuple(part for part in PARTS if part != "all")
_IDS = ("text", "specials", "template")
"""The lines of a fingerprint of which ids depend; of the decoder none do."""


def locked(source: str | Path) -> Lock | None:
    """The lock file at a path, or None if there is none.

    Raises:
        FormatError: it is a lock file, and malformed or newer than this version.
    """
    path = Path(source)
    if not path.is_file():
        return None
    try:
        data = read(path)
    except SourceError:
        return None
    return load(data, str(path)) if is_lock(data) else None


def compare_with_lock(
    held: Lock,
    path: str | Path,
    opened: Opened,
    side: Engine,
    *,
    scope: Scope,
    first: bool,
    tick: Callable[[int], None],
) -> Report:
    """Holds a tokenizer against what was locked.

    Args:
        held: the lock file.
        path: where it lies.
        opened: the tokenizer.
        side: what runs it: our encoder, or a library. Of one whose version our tests do not run
            on, and of transformers, nothing is proved.
        scope: what counts.
        first: whether the lock file is side ``a``.
        tick: called with the number of texts compared since the last call.

    Raises:
        SourceError: the tokenizer is none that our encoder reads.
    """
    model = opened.model
    if model is None:
        raise SourceError(opened.unread, where=opened.label, fix="give the tokenizer's own files")
    now = fingerprint(model)
    stages = tuple(
        Stage(part, "proved", "the same fingerprint")
        if now[part] == held.fingerprint[part]
        else Stage(part, "unknown", "another fingerprint")
        for part in _LINES
    )
    changed = _changed(stages, scope)
    ways = _ways(model, side, scope)
    asked = _hold(_asked(held, ways, model, scope), side, first, tick)
    found = asked.mismatch
    notes = [f"locked with {name} {number}" for name, number in held.versions.items()]
    if changed:
        notes += changes(held, model)
    elif found is not None:
        notes.append(f"the fingerprint is the locked one, but {side.name} gives other ids")
    if found is not None and side.name == "transformers":
        run_in_transformers(opened, notes)  # it notes which class is to blame, and what to do
    verdict: Verdict = "refuted"
    if found is None:
        told = bool(asked.asked) and not asked.failures
        proved = not changed and _speaks_for_all_texts(side, notes)
        verdict = "unknown" if not told else "proved" if proved else "tested"
        lines = [name for name in changed if name in _IDS]
        if lines:
            verdict = "unknown"
            notes.insert(0, _unfound(lines))
    names = (str(path), opened.label) if first else (opened.label, str(path))
    run = f"{side.name} {side.version}"
    engines = ("locked ids", run) if first else (run, "locked ids")
    return Report(
        verdict=verdict,
        scope=scope,
        a=names[0],
        b=names[1],
        engine_a=engines[0],
        engine_b=engines[1],
        texts=asked.asked,
        bytes=asked.bytes,
        compared=asked.asked - len(asked.failures),
        differing=asked.differing,
        scopes=tuple(_MODES[how].scope for how in ways),
        mismatch=found,
        stage=next(iter(changed), None) if found else None,
        stages=stages,
        assumptions=_assumed(model, side) if verdict == "proved" else (),
        replayed=(),
        failures=tuple(asked.failures),
        differences=(),
        notes=tuple(notes),
        examples=() if found is None else (_example(found, model, first),),
    )


def _ways(model: BPEModel, side: Engine, scope: Scope) -> tuple[str, ...]:
    """The ways of asking for ids that count and that a side can answer."""
    if scope != "all" or not side.parses_special:
        return ("text",)
    return tuple(how for how in answers(model) if how != "template" or side.applies_template)


def _changed(stages: tuple[Stage, ...], scope: Scope) -> list[str]:
    """The lines of the fingerprint that are others and count."""
    changed = (stage.name for stage in stages if stage.outcome != "proved")
    return [name for name in changed if counts(name, scope)]


def _unfound(lines: list[str]) -> str:
    """Another tokenizer than was locked must not pass because the texts were the wrong ones."""
    return (
        f"the fingerprint is not the locked one ({', '.join(lines)}), and none of the locked texts "
        "has other ids: whether ids changed could not be told; if the change is meant, lock again"
    )


def _speaks_for_all_texts(side: Engine, notes: list[str]) -> bool:
    """Whether a side is known to do what our encoder does; a note where it is not."""
    other = unexamined({side.name})
    if other:
        notes.append(f"not called proved: our tests do not run on {', '.join(other)}")
    return not other


def _assumed(model: BPEModel, side: Engine) -> tuple[str, ...]:
    hashed = "no two normal forms have one sha256"
    if side.name not in EXAMINED:
        return (hashed,)
    return hashed, *assumptions((model, model), {side.name})


def _example(found: Mismatch, model: BPEModel, first: bool) -> Example:
    """What the locked ids stood for is known only as far as the tokenizer says."""
    sides = (None, Encoder(model)) if first else (Encoder(model), None)
    spans = align(found.text, found.ids_a, found.ids_b, sides[0], sides[1], found.mode)
    return Example(found, spans)


@dataclass(slots=True)
class _Held:
    """What became of the locked texts: how many were asked for, and how many have other ids."""

    asked: int = 0
    bytes: int = 0
    differing: int = 0
    mismatch: Mismatch | None = None
    failures: list[Failure] = field(default_factory=list)

    def keep(self, found: Mismatch) -> None:
        """Keeps a difference, if it is plainer than the one there is."""
        self.differing += 1
        if self.mismatch is None or oddness(found) < oddness(self.mismatch):
            self.mismatch = found


def _hold(
    golden: Iterable[Golden], side: Engine, first: bool, tick: Callable[[int], None]
) -> _Held:
    """Asks a side for the ids of locked texts.

    Where a library fails, nothing is said of the text; where our encoder has no ids for it any
    more, that is a difference.
    """
    held = _Held()
    for how, text, then in golden:
        held.asked += 1
        held.bytes += len(text.encode("utf-8", "surrogatepass"))
        tick(1)
        answer = encode_one(side, text, _MODES[how])
        if isinstance(answer, Failure):
            held.failures.append(answer)
            if not isinstance(side, Own):
                continue
        now = () if isinstance(answer, Failure) else tuple(answer)
        if now != then or isinstance(answer, Failure):
            ids = (then, now) if first else (now, then)
            held.keep(Mismatch(_MODES[how], text, *ids))
    return held


def _asked(held: Lock, ways: tuple[str, ...], model: BPEModel, scope: Scope) -> Iterator[Golden]:
    """The locked answers that count. Engines find added tokens that are not special anyway."""
    added = [] if scope != "text" else [token.text for token in model.added or ()]
    own: Iterator[Golden] = (("text", row.text, row.ids) for row in held.tokens)
    for how, text, ids in chain(held.golden, own):
        if how in ways and not any(token in text for token in added):
            yield how, text, ids
