"""A lock file as a side: does a tokenizer still do what was locked?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..engines import Engine
from ..errors import SourceError
from ..fingerprint import fingerprint
from ..io import read
from ..model import BPEModel
from .lock import Lock, answers, is_lock, load
from .opening import Opened
from .prove import Scope
from .report import Report, Verdict
from .sides import ORDINARY, PARSED, TEMPLATED, Failure, Mismatch, Mode, Own, encode_one
from .stages import Stage

_MODES = {"text": ORDINARY, "parse": PARSED, "template": TEMPLATED}
_COUNT: dict[Scope, tuple[str, ...]] = {
    "all": ("text", "specials", "template", "decoder"),
    "ordinary": ("text", "specials", "decoder"),
    "text": ("text", "decoder"),
}


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
        side: what runs it: our encoder, or a library, of which nothing is proved.
        scope: what counts.
        first: whether the lock file is side ``a``.
        tick: called with the number of texts compared since the last call.

    Raises:
        SourceError: the tokenizer is none that our encoder reads.
    """
    model = opened.model
    if model is None:
        raise SourceError(opened.unread, where=opened.label)
    now = fingerprint(model)
    stages = tuple(
        Stage(part, "proved", "the same fingerprint")
        if now[part] == held.fingerprint[part]
        else Stage(part, "unknown", "another fingerprint")
        for part in _COUNT["all"]
    )
    same = all(stage.outcome == "proved" for stage in stages if stage.name in _COUNT[scope])
    found, asked, differing = _golden(held, model, side, scope, first, tick)
    proved = same and side.name == Own.name
    verdict: Verdict = "refuted" if found else "proved" if proved else "tested"
    changed = next((stage.name for stage in stages if stage.outcome != "proved"), None)
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
        texts=asked,
        bytes=sum(len(text.encode("utf-8")) for how, text, _ in held.golden if how == "text"),
        compared=asked,
        differing=differing,
        scopes=tuple(_MODES[how].scope for how in _ways(model, scope)),
        mismatch=found,
        stage=changed if found else None,
        stages=stages,
        assumptions=("no two normal forms have one sha256",) if verdict == "proved" else (),
        replayed=(),
        failures=(),
        differences=(),
        notes=tuple(f"locked with {name} {number}" for name, number in held.versions.items()),
    )


def _ways(model: BPEModel, scope: Scope) -> tuple[str, ...]:
    return answers(model) if scope == "all" else ("text",)


def _golden(
    held: Lock,
    model: BPEModel,
    side: Engine,
    scope: Scope,
    first: bool,
    tick: Callable[[int], None],
) -> tuple[Mismatch | None, int, int]:
    """The shortest locked text with other ids, how many were asked for, and how many differ."""
    ways = _ways(model, scope)
    added = [] if scope != "text" else [token.text for token in model.added or ()]
    shortest: tuple[Mode, str, tuple[int, ...], tuple[int, ...]] | None = None
    asked = differing = 0
    for how, text, ids in held.golden:
        if how not in ways or any(token in text for token in added):
            continue
        asked += 1
        tick(1)
        answer = encode_one(side, text, _MODES[how])
        now = () if isinstance(answer, Failure) else tuple(answer)
        if now == ids and not isinstance(answer, Failure):
            continue
        differing += 1
        if shortest is None or len(text) < len(shortest[1]):
            shortest = (_MODES[how], text, ids, now)
    if shortest is None:
        return None, asked, differing
    mode, text, then, later = shortest
    return Mismatch(mode, text, *((then, later) if first else (later, then))), asked, differing
