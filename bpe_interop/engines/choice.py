"""Which engine runs a model exactly."""

from __future__ import annotations

from ..errors import EngineError, LossyConversionError, PatternError
from ..formats import by_name
from ..gate import describe
from ..loss import Loss
from ..model import BPEModel
from . import Engine, engine_format, from_model

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
    lost = _lost(name, model)
    if lost:
        listed = "\n".join(f"  - {describe(loss)}" for loss in lost)
        raise LossyConversionError(
            f"{name} cannot run this tokenizer exactly:\n{listed}",
            lost,
            fix='encode with our own encoder (engine=None), or with what fits (engine="auto")',
        )
    return from_model(name, model)


def fastest_engine(model: BPEModel) -> Engine | None:
    """The fastest installed engine that runs a model exactly; None where there is none."""
    for name in FASTEST:
        needs = by_name(engine_format(name)).needs
        if any(getattr(model, field) is None for field in needs) or _lost(name, model):
            continue
        try:
            return from_model(name, model)
        except (EngineError, PatternError):
            continue
    return None


def _lost(name: str, model: BPEModel) -> tuple[Loss, ...]:
    """What changes ids or texts. What a reader of ours restores, the engine does not."""
    found = by_name(engine_format(name)).losses(model)
    return tuple(loss for loss in found if loss.grade != "metadata")
