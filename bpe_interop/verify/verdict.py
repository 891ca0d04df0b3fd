"""The verdict on two sides: what a proof and a comparison say together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from ..encode import Encoder
from ..engines import NAMES, Engine, from_files
from ..engines.facts import facts
from ..errors import EngineError, EngineMissingError, UnstatedError
from ..model import BPEModel, show
from ..proof.prove import Proof
from ..proof.stage import Scope, Stage, is_stray
from .assumptions import assumptions, unexamined
from .compare import Tally, compare, first_stage
from .sides import (
    ORDINARY,
    PARSED,
    TEMPLATED,
    Failure,
    Mismatch,
    Mode,
    Own,
    Side,
    as_run_by,
    decode,
    encode_one,
)
from .stress import fixed

Verdict: TypeAlias = Literal["proved", "tested", "refuted", "unknown"]
"""What is said of two tokenizers, or of what was written and its source."""


_NOT_PROVED = "not called proved: "


def verdict_of(*, refuted: bool, proved: bool, tested: bool) -> Verdict:
    """The verdict: a text that differs outweighs a proof, a proof outweighs texts that agree.

    Args:
        refuted: the sides differ on a text.
        proved: they agree on every text, in engines of which :func:`doubts` has none.
        tested: both answered what was to be answered, and agreed.
    """
    if refuted:
        return "refuted"
    if proved:
        return "proved"
    return "tested" if tested else "unknown"


def not_called_proved(why: str) -> str:
    """The note on why there is no proof, though the models may be equal."""
    return f"{_NOT_PROVED}{why}"


def reasons_against_proof(notes: Iterable[str]) -> tuple[str, ...]:
    """What :func:`not_called_proved` says among the notes, each as the reason alone."""
    return tuple(note.removeprefix(_NOT_PROVED) for note in notes if note.startswith(_NOT_PROVED))


def doubts(engines: Iterable[str]) -> tuple[str, ...]:
    """Why a proof, which is about models, does not speak for engines; empty where it does."""
    names = {*engines}
    strangers = tuple(facts(name).doubt for name in NAMES if name in names and facts(name).doubt)
    other = unexamined(names)
    if strangers or not other:
        return strangers
    return (f"our tests do not run on {', '.join(other)}",)


def engines_of(sides: Iterable[Side]) -> set[str]:
    """The engines that a proof about two sides speaks of: those they are run in, and their own."""
    engines = {n for side in sides for n in (side.source.format.engine, side.engine.name)}
    return engines & {*NAMES}


@dataclass(frozen=True, slots=True)
class Conclusion:
    """A verdict, and what it rests on."""

    verdict: Verdict
    stages: tuple[Stage, ...]
    mismatch: Mismatch | None = None
    stage: str | None = None
    assumptions: tuple[str, ...] = ()
    replayed: tuple[str, ...] = ()


def conclude(
    proof: Proof | None,
    tally: Tally,
    sides: tuple[Side, Side],
    notes: list[str],
    unanswered: int = 0,
    unstated: Sequence[str] = (),
) -> Conclusion:
    """Puts together what was proved and what was run.

    A text on which the sides differ refutes, whatever was proved. A proof counts only for engine
    versions that our tests run on. Awkward texts are ours; the documents of a corpus are what
    somebody asked about, so one that a side did not answer leaves the question open.

    Args:
        proof: what was proved; None where nothing was tried.
        tally: what was run.
        sides: what was compared.
        notes: what there is to say besides; more is added to them.
        unanswered: on how many documents of corpora a side failed.
        unstated: the sides that do not state special tokens which count; they leave it open too.
    """
    shown = witnessed(proof, (sides[0].engine, sides[1].engine))
    if shown is not None or tally.mismatch is not None:
        return _refuted(proof, shown, tally, sides, notes)
    proved, assumed = False, tuple[str, ...]()
    if proof is not None and proof.outcome == "proved":
        one, two = (side.model for side in sides)
        engines = engines_of(sides)
        reasons = doubts(engines)
        notes += map(not_called_proved, reasons)
        known = one is not None and two is not None and not reasons
        for side in sides:  # engines take much memory
            if isinstance(side.engine, Own):
                side.engine.forget()
        proved = known and all(_runs_alike(side, notes) for side in sides)
        if one is not None and two is not None and proved:
            assumed = assumptions((one, two), engines)
    complete = bool(tally.compared) and not unanswered and not unstated
    verdict = verdict_of(refuted=False, proved=proved, tested=complete)
    stages = () if proof is None else proof.stages
    return Conclusion(verdict, stages, assumptions=assumed)


def _runs_alike(side: Side, notes: list[str]) -> bool:
    """Whether the engine of a source's format runs it as our encoder does.

    A proof is about models; a file that its engine refuses, or runs otherwise, is not its model.
    """
    source = side.source
    if not isinstance(side.engine, Own) or source.model is None or not source.files:
        return True  # of a lock file there is a model alone
    name, model = source.format.engine, source.model
    if model.added is None:
        # Special strings are asked for as text only, so it is no matter which there are.
        model = replace(model, added=())
    try:
        engine = from_files(name, source.format.name, source.files, model)
    except EngineMissingError as error:
        notes.append(f"{source.label}: not run in {name}: {error.fix}")
        return True
    except (EngineError, UnstatedError) as error:
        notes.append(not_called_proved(f"{name} does not run {source.label}: {error.what}"))
        return False
    run = as_run_by(name, side.engine.encoder.model)
    own = side.engine if run is side.engine.encoder.model else Own(run)
    tally = compare(own, engine, fixed(), [replace(ORDINARY, decodes=False)])
    if tally.mismatch is not None:
        text = show(tally.mismatch.text)
        notes.append(not_called_proved(f"{name} gives {source.label} other ids on {text}"))
    return tally.mismatch is None


def _refuted(
    proof: Proof | None,
    shown: Mismatch | None,
    tally: Tally,
    sides: tuple[Side, Side],
    notes: list[str],
) -> Conclusion:
    stages, mismatch, stage = _first(proof, shown, tally.mismatch, sides)
    if proof is not None and proof.outcome == "proved":
        notes.append(_unexplained(mismatch, sides))
    # Not in threads: an interrupt would wait for the one that waits for a child process.
    ids = mismatch.ids_a, mismatch.ids_b
    replayed = [_replay(side, mismatch, each, notes) for side, each in zip(sides, ids, strict=True)]
    engines = tuple(dict.fromkeys(filter(None, replayed)))
    return Conclusion("refuted", stages, mismatch, stage, replayed=engines)


def _unexplained(mismatch: Mismatch, sides: tuple[Side, Side]) -> str:
    """A note on an engine that differs where the models are proved equal."""
    doubts = [facts(side.engine.name).doubt for side in sides]
    if mismatch.decoding and any(doubts):
        return (
            f"the models were proved equal: {next(filter(None, doubts))} when it decodes; "
            "bpe-interop inspect says what is known of it"
        )
    if any(doubts):
        return (
            f"the models that were read are equal: {next(filter(None, doubts))}, and by its own "
            "settings it gives other ids; bpe-interop inspect says what is known of it"
        )
    names = " and ".join(side.engine.name for side in sides if side.engine.name != Own.name)
    for side in sides:
        model = side.source.model
        if model is not None and as_run_by(side.engine.name, model) is not model:
            return (
                f"the models that were read are equal: {side.engine.name} takes a text as it is, "
                "and of added tokens their texts alone, so what a normalizer and flags do is left "
                "to its callers"
            )
    return (
        f"the models that were read are equal, and {names or 'an engine'} gives something else "
        "than its files say: what an engine gives is what it serves, so run both sides in the one "
        "that you use (--engine-a, --engine-b)"
    )


def _first(
    proof: Proof | None, shown: Mismatch | None, plainest: Mismatch | None, sides: tuple[Side, Side]
) -> tuple[tuple[Stage, ...], Mismatch, str | None]:
    """The stages with what the run found, the text to show, and the stage where it differs.

    Of two texts that is the one whose stage is first; of one stage, the shorter one.

    Args:
        proof: what was established of the models; None where nothing was tried.
        shown: the text of the proof's first stage that differs, where the sides differ on it.
        plainest: the text that the run found.
        sides: what was compared.
    """
    stages = {stage.name: stage for stage in (() if proof is None else proof.stages)}
    order = {name: at for at, name in enumerate(stages)}
    stage = None if plainest is None else _stage(sides[0].model, sides[1].model, plainest)
    if stage is not None and stage in stages and stages[stage].outcome == "proved":
        stage = None  # the models agree there, so an engine does otherwise
    mismatch = plainest
    if proof is not None and proof.stage is not None and shown is not None:
        at, proved_at = (order.get(name or "", len(order)) for name in (stage, proof.stage))
        own = proved_at, is_stray(shown.text), len(shown.text)
        if plainest is None or (at, is_stray(plainest.text), len(plainest.text)) >= own:
            mismatch, stage = shown, proof.stage
    if mismatch is None:
        raise AssertionError("a refutation has a text")
    if stage is not None and stage in stages:
        stages[stage] = stages[stage].shown_by(mismatch.text)
    return tuple(stages.values()), mismatch, stage


def witnessed(proof: Proof | None, sides: tuple[Engine, Engine]) -> Mismatch | None:
    """The witness of a proof, run on the two sides; None if they do not differ on it."""
    if proof is None or proof.witness is None:
        return None
    modes = [mode_of(proof.scope, proof.stage), ORDINARY]
    if proof.scope == "all" and all(side.parses_special for side in sides):
        modes += [PARSED, TEMPLATED]
    shown = (_shown(proof.witness, mode, proof.stage, sides) for mode in dict.fromkeys(modes))
    return next(filter(None, shown), None)


def _shown(
    text: str, mode: Mode, stage: str | None, sides: tuple[Engine, Engine]
) -> Mismatch | None:
    one, two = (encode_one(side, text, mode) for side in sides)
    if isinstance(one, Failure) or isinstance(two, Failure):
        return None
    if one != two:
        return Mismatch(mode, text, tuple(one), tuple(two))
    if stage != "decoding":
        return None
    left, right = (decode(side, one, text) for side in sides)
    if isinstance(left, Failure) or isinstance(right, Failure) or left == right:
        return None
    return Mismatch(mode, text, tuple(one), tuple(two), (left, right))


def mode_of(scope: Scope, stage: str | None) -> Mode:
    """The plainest way of asking for ids in which a difference at a stage shows."""
    if scope == "all" and stage == "special tokens":
        return PARSED
    placed = stage in ("sequence template", "decoding")
    return TEMPLATED if scope == "all" and placed else ORDINARY


def _stage(a: BPEModel | None, b: BPEModel | None, mismatch: Mismatch) -> str | None:
    if mismatch.decoding is not None:
        return "decoding"
    if a is None or b is None:
        return None
    return first_stage(Encoder(a), Encoder(b), mismatch.text, mismatch.mode)


def _replay(
    side: Side, mismatch: Mismatch, expected: tuple[int, ...], notes: list[str]
) -> str | None:
    """Runs a witness in the engine of a side's format; a note where it says otherwise."""
    run, source, mode = side.engine, side.source, mismatch.mode
    if run.name != Own.name:
        return f"{run.name} {run.version}"
    if mismatch.decoding is not None or not source.files:
        return None
    name = source.format.engine
    try:
        engine = from_files(name, source.format.name, source.files, source.model)
    except (EngineError, UnstatedError) as error:
        notes.append(f"{source.label}: the text was not run in {name}: {error.what}")
        return None
    if mode.special == "parse" and not engine.parses_special:
        return None
    if mode.add_special_tokens and not engine.applies_template:
        return None
    ids = encode_one(engine, mismatch.text, mode)
    if isinstance(ids, Failure):
        notes.append(f"{source.label}: {name} failed on the text: {ids.what}")
        return None
    if tuple(ids) != expected:
        notes.append(f"{source.label}: {name} {engine.version} gives {ids}")
        return None
    return f"{name} {engine.version}"
