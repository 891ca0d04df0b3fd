"""Are two tokenizers equal for every text? Decided stage by stage.

A stage is proved, different by a text, or unknown. Two tokenizers are *proved equal* in a scope if
every stage that counts there is proved, and *different* if a text of the scope has other ids, or
ids that decode to another text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial

from ..gc_pause import paused
from ..model import BPEModel
from .added_tokens import NO_TEMPLATE, added_stage, template_stage
from .decoder import decoding_stage
from .ids import ids_stage, lookup_stage
from .merging import core_stage
from .normalizer import normalizer_stage
from .pretokenizer import pretokenizer_stage
from .stage import Outcome, Scope, Stage, TwoModels, counts

SCOPES: dict[Scope, str] = {
    "all": "every text, special tokens and the sequence template included",
    "ordinary": "every text with special tokens as text, and other added tokens found",
    "text": "every text without added tokens",
}
"""What a verdict is about, by name."""


STAGES: dict[str, tuple[str, ...]] = {
    "alphabet": ("core", "ids"),
    "affixes": ("core", "ids"),
    "vocab": ("core", "ids"),
    "merges": ("core",),
    "lookup_first": ("lookup",),
    "fallback": ("core", "ids"),
    "normalizer": ("normalizer",),
    "pretokenizer": ("pre-tokenizer",),
    "added": ("added tokens", "special tokens"),
    "sequence_template": ("sequence template",),
    "decoder": ("decoding",),
    "chat_template": (),
    "extras": (),
}
"""The stages that look at a field of the model; none where it is metadata."""


def about(scope: Scope, stages: Iterable[Stage]) -> str:
    """What a verdict is about, and what it cannot be about because no side says it."""
    if scope == "all" and any(stage.why == NO_TEMPLATE for stage in stages):
        return "every text, special tokens included; no side says what is placed around a text"
    return SCOPES[scope]


@dataclass(frozen=True, slots=True)
class Proof:
    """What was established of two models. All stages are here, whatever the scope.

    ``stage`` is the first that a text refutes, ``witness`` that text.
    """

    scope: Scope
    outcome: Outcome
    stages: tuple[Stage, ...]
    stage: str | None = None
    witness: str | None = None

    @property
    def counted(self) -> tuple[Stage, ...]:
        """The stages that count in the scope."""
        return tuple(s for s in self.stages if counts(s.name, self.scope))


@paused()
def prove(a: BPEModel, b: BPEModel, scope: Scope = "all", most: int | None = None) -> Proof:
    """Decides what can be decided of two models.

    Args:
        a: one of them.
        b: the other.
        scope: which texts count.
        most: how many texts a stage that nothing decides runs on both; None for all that it has.

    Raises:
        UnstatedError: a pre-tokenizer is not stated, so nothing can be encoded.
        PatternError: a pattern does not run to its end.
    """
    pair = TwoModels(a, b, scope, most)
    stages = [stage_of(name, pair) for name in ALL_STAGES]
    counted = [stage for stage in stages if counts(stage.name, scope)]
    apart = [stage for stage in counted if stage.outcome == "different"]
    if apart:
        first = apart[0]
        return Proof(scope, "different", tuple(stages), first.name, first.witness)
    proved = all(stage.outcome == "proved" for stage in counted)
    return Proof(scope, "proved" if proved else "unknown", tuple(stages))


def stage_of(name: str, pair: TwoModels) -> Stage:
    return _replayed(_BY_NAME[name](pair), pair)


def narrower(a: BPEModel, b: BPEModel, proof: Proof) -> Scope | None:
    """The widest scope below a proof's in which the two are proved equal; None where none is."""
    for scope in list(SCOPES)[list(SCOPES).index(proof.scope) + 1 :]:
        # How ids become text depends on which ids the texts of a scope have.
        open_ = [s for s in proof.stages if s.outcome != "proved" and s.name != "decoding"]
        left = any(counts(s.name, scope) for s in open_)
        if not left and prove(a, b, scope).outcome == "proved":
            return scope
    return None


_BY_NAME: dict[str, Callable[[TwoModels], Stage]] = {
    "normalizer": normalizer_stage,
    "pre-tokenizer": pretokenizer_stage,
    "core": core_stage,
    "lookup": lookup_stage,
    "ids": ids_stage,
    "added tokens": partial(added_stage, special=False),
    "special tokens": partial(added_stage, special=True),
    "sequence template": template_stage,
    "decoding": decoding_stage,
}
ALL_STAGES = tuple(_BY_NAME)
"""The stages, in order."""


def _replayed(stage: Stage, pair: TwoModels) -> Stage:
    """The stage with a witness on which the ids of the scope differ, or else as unknown."""
    # A witness of decoding has the same ids on both sides.
    if (
        stage.outcome != "different"
        or not counts(stage.name, pair.scope)
        or stage.name == "decoding"
    ):
        return stage
    text = stage.witness or ""
    # The stage compared without special tokens; as the scope has it, the text may need something
    # beside it.
    for candidate in (text, f"a{text}", f"{text}a", f"a{text}a", f" {text}", f"{text} "):
        if pair.differ_in_scope(candidate):
            return replace(stage, witness=candidate)
    return replace(stage, outcome="unknown", witness=None)
