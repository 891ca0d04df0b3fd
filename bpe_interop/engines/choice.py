"""Which engine runs a model exactly."""

from __future__ import annotations

from ..encode.plan import plan_of
from ..errors import EngineError, LossyConversionError, PatternError
from ..formats.round_trip import RoundTrip
from ..gate import describe
from ..loss import Loss
from ..model import BPEModel
from . import Engine, engine_format, from_trip

FASTEST = ("tiktoken", "tokenizers", "sentencepiece")
"""The engines that ``"auto"`` tries, the fastest first."""


def exact_engine(name: str, model: BPEModel) -> Engine:
    """An engine that gives the model's ids on every text that it does not fail on.

    Raises:
        LossyConversionError: the engine's format cannot hold the model exactly.
        EngineMissingError: the library is not installed.
        EngineError: there is no such engine, or it refuses the model.
        UnstatedError: the model does not state what the engine needs.
    """
    trip = RoundTrip(model, engine_format(name))
    lost = _lost(trip)
    if lost:
        listed = "\n".join(f"  - {describe(loss)}" for loss in lost)
        raise LossyConversionError(
            f"{name} cannot run this tokenizer exactly:\n{listed}",
            lost,
            fix='encode with our own encoder (engine=None), or with what fits (engine="auto")',
        )
    return from_trip(name, trip)


def fastest_engine(model: BPEModel) -> Engine | None:
    """The fastest installed engine that runs a model exactly; None where our encoder is as fast."""
    # No engine that is proved to give the ids is faster than the native kernel.
    if plan_of(model).part is not None:
        return None
    for name in FASTEST:
        trip = RoundTrip(model, engine_format(name))
        if any(getattr(model, field) is None for field in trip.format.needs) or _lost(trip):
            continue
        try:
            return from_trip(name, trip)
        except (EngineError, PatternError):
            continue
    return None


def _lost(trip: RoundTrip) -> tuple[Loss, ...]:
    # What a reader of ours would restore, the engine does not.
    return tuple(loss for loss in trip.losses if loss.grade != "metadata")
