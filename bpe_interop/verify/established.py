"""What is established of a conversion: do written files do what their source does?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from ..engines import versions
from ..engines.facts import facts
from ..errors import CheckFailedError
from ..loss import Loss
from ..model import BPEModel, show
from .assumptions import EXAMINED, assumptions, unexamined
from .prove import Proof, Scope, prove
from .stages import Stage

Standing: TypeAlias = Literal["proved", "tested", "refuted", "unknown"]

_MERGING = ("alphabet", "affixes", "vocab", "merges", "lookup_first", "fallback")
"""Fields that say only together what becomes of a pretoken."""


@dataclass(frozen=True, slots=True)
class Established:
    """What is established of written files and their source, the fields ``dropped`` apart.

    ``outcome``: ``"proved"`` (every text of the scope has the same ids, under the
    ``assumptions``), ``"tested"`` (``texts`` texts have), ``"refuted"`` (``witness`` has not;
    only where fields were dropped) or ``"unknown"`` (nothing was run). ``why`` says what keeps
    it from being proved, ``notes`` what a side leaves unstated. ``engines`` are those of the two
    formats. ``given`` are fields of the source that the user filled.
    """

    outcome: Standing
    scope: Scope
    stages: tuple[Stage, ...] = ()
    why: str = ""
    witness: str | None = None
    engines: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    texts: int = 0
    dropped: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    given: tuple[str, ...] = ()


def establish(
    model: BPEModel,
    again: BPEModel,
    losses: Iterable[Loss],
    engines: Iterable[str],
    texts: int,
    given: tuple[str, ...] = (),
) -> Established:
    """Proves what can be proved of written files.

    Args:
        model: the source.
        again: what reading the files gives.
        losses: what the gate let pass.
        engines: the names of the engines of both formats.
        texts: on how many texts the target's engine was found to agree.
        given: the fields of the source that the user filled.

    Raises:
        CheckFailedError: a text has other ids, and nothing was dropped.
        PatternError: a pattern does not run to its end.
    """
    dropped = tuple(sorted({loss.field for loss in losses if loss.grade != "metadata"}))
    notes = tuple(_unstated(model, again))
    kept, written = _kept(model, again, dropped), again
    if kept.pretokenizer is None or again.pretokenizer is None:
        # A target that does not say how texts are split is run with what the source says.
        steps = model.normalizer, model.pretokenizer
        kept, written = (
            replace(side, normalizer=steps[0], pretokenizer=steps[1]) for side in (kept, again)
        )
    why = _why_not_asked(kept, dropped)
    if why:
        return Established("unknown", "text", why=why, dropped=dropped, notes=notes, given=given)
    names = {*engines} & EXAMINED.keys()
    scope = _scope(kept, written)
    deaf = sorted(name for name in names if not facts(name).parses_special)
    if scope == "all" and deaf:
        scope = "ordinary"
        notes += (f"{' and '.join(deaf)} never finds special tokens in a text",)
    proof = prove(kept, written, scope)
    if proof.outcome == "refuted" and not dropped:
        otherwise = "decodes the ids of {} otherwise" if proof.stage == "decoding" else ""
        otherwise = (otherwise or "gives {} other ids").format(show(proof.witness or ""))
        raise CheckFailedError(
            f"what was written {otherwise} ({proof.stage})",
            fix="nothing was kept; please report this with the source file",
        )
    outcome, why = _outcome(proof, unexamined(names), texts)
    return Established(
        outcome,
        proof.scope,
        proof.stages,
        why,
        proof.witness,
        tuple(f"{name} {versions()[name] or EXAMINED[name][-1]}" for name in sorted(names)),
        assumptions((kept, written), names),
        texts,
        dropped,
        notes,
        given,
    )


def _why_not_asked(kept: BPEModel, dropped: tuple[str, ...]) -> str:
    if "alphabet" in dropped:
        return "the alphabet was dropped, so most texts have other ids"
    return "" if kept.pretokenizer is not None else "nothing says how texts are split"


def _kept(model: BPEModel, again: BPEModel, dropped: tuple[str, ...]) -> BPEModel:
    """The source with what was dropped as the target has it."""
    fields = set(dropped)
    if fields.intersection(_MERGING):
        fields.update(_MERGING)
    return replace(model, **{field: getattr(again, field) for field in fields})


def _scope(a: BPEModel, b: BPEModel) -> Scope:
    """The widest scope about which neither side is silent."""
    said = [side.added for side in (a, b) if side.added is not None]
    if len(said) < 2 and any(not token.special for added in said for token in added):
        return "text"
    left, right = a.sequence_template, b.sequence_template
    one_sided = (left is None) != (right is None)
    return "ordinary" if len(said) < 2 or one_sided else "all"


def _unstated(model: BPEModel, again: BPEModel) -> Iterator[str]:
    """What either side leaves out, and the verdict with it."""
    if again.pretokenizer is None and model.pretokenizer is not None:
        yield "the target does not say how texts are split; the verdict is about the source's way"
    for side, name in ((model, "source"), (again, "target")):
        if side.added is None:
            yield f"the {name} does not say which special tokens there are"
        if side.sequence_template is None:
            yield f"the {name} does not say what is placed around a text"


def _outcome(proof: Proof, other: tuple[str, ...], texts: int) -> tuple[Standing, str]:
    if proof.outcome == "proved" and not other:
        return "proved", ""
    if proof.outcome == "refuted":
        return "refuted", f"stage {proof.stage}"
    if proof.outcome == "proved":
        why = f"our tests do not run on {', '.join(other)}"
    else:
        stage = next(stage for stage in proof.counted if stage.outcome != "proved")
        why = f"stage {stage.name} ({stage.why})"
    return "tested" if texts else "unknown", why
