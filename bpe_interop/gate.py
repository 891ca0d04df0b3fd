"""The one gate: what a target cannot hold is refused here, or dropped on purpose."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from hashlib import sha256

from .arguments import one_or_more
from .diff import diff
from .errors import ArgumentError, FormatError, LossyConversionError, UnstatedError
from .formats import Format, all_formats
from .formats.round_trip import RoundTrip
from .loss import Loss
from .model import (
    FIELDS,
    BPEModel,
    RankTable,
)
from .presets import by_sha256, candidates, fill, ways_to_say, with_template
from .quoting import show


def refuse(model: BPEModel, target: Format, drop: str | Iterable[str] = ()) -> tuple[Loss, ...]:
    """The losses of writing a model in a format: :func:`admit` of its round trip."""
    return admit(RoundTrip(model, target), drop)


def admit(trip: RoundTrip, drop: str | Iterable[str] = ()) -> tuple[Loss, ...]:
    """The losses of a round trip, once those that matter are allowed.

    Losses of ``ids`` and ``text`` are refused unless their field is in ``drop``; losses of
    ``metadata`` never are. A fact that the source does not state and that the target always
    states is a loss too: "unknown" would be read back as "none". A fact that a reader restores
    from a known sha256 is no loss. What reading the source has lost is a loss in every format.

    Raises:
        LossyConversionError: a loss is refused; the error holds and names each.
        UnstatedError: the target needs a fact that the source does not state.
        ArgumentError: a name in ``drop`` is no field of the model (also ValueError).
    """
    model, target, dropped = trip.model, trip.format, one_or_more(drop)
    for name in dropped:
        if name not in FIELDS:
            fix = f"the fields are {', '.join(FIELDS)}"
            raise ArgumentError(f"drop: {name!r} is not a field of the model", fix=fix)
    _need(model, target)
    losses = trip.losses
    if losses:
        restored = _restored(trip)
        losses = tuple(loss for loss in losses if loss.field not in restored)
    unsaid = tuple(_unsaid(model, target))
    losses = (*_lost(model), *unsaid, *losses)
    refused = tuple(x for x in losses if x.grade != "metadata" and x.field not in dropped)
    if refused:
        say = bool(set(unsaid) & set(refused))
        error = refusal(_why(model, target, refused, unsaid), refused, say * f"{_SAY}; ", dropped)
        # A network with a bos token was mostly trained with it: to drop the fact would be worse.
        if say and any("bos" in token.roles for token in model.added or ()):
            error.stating = {"sequence_template": ("--template", "bos")}
        if any(loss.field == "alphabet" for loss in refused):
            _name_another(error, model, target)
        raise error
    return losses


def _name_another(error: LossyConversionError, model: BPEModel, target: Format) -> None:
    """Says that no file of the format has the ids, and names a format whose file has them."""
    holder = next(row for row in all_formats() if row.holds.issuperset(FIELDS))
    symbols = "characters" if model.alphabet == "char" else "bytes"
    name = "" if model.origin.format == holder.name else (*holder.aliases, holder.name)[0]
    way = f"--to {name} (to={name!r})" if name else f"the source's own {holder.title}"
    error.another = name
    error.fix += (
        f"\n  no {target.title} has the ids of a tokenizer that merges {symbols}; {way} has them"
        + (":" if name else "")
    )


def refusal(
    why: str, refused: tuple[Loss, ...], fix: str = "", dropped: Iterable[str] = ()
) -> LossyConversionError:
    """The error that names each loss, and how to convert all the same.

    ``dropped`` are the fields that may be lost already.
    """
    fields = {loss.field for loss in refused}
    lost = sorted({*fields, *dropped})
    options = " ".join(f"--drop {field}" for field in lost)
    what = "accept this loss" if len(refused) == 1 else "accept these losses"
    if "alphabet" in fields:  # the verdict on what is written would be NONE
        what = "write other ids all the same"
    return LossyConversionError(
        f"{why}:\n" + "\n".join(f"  - {describe(loss)}" for loss in refused),
        refused,
        fix=f"{fix}to {what}: {options} (drop={lost})",
    )


_SAY = (
    "to say it: --template none, bos, bos-eos or '<s> $A' (said=Statement(template=...)), and "
    "--bos TOKEN where no token has that role"
)


def _unsaid(model: BPEModel, target: Format) -> Iterator[Loss]:
    """What the source does not say, and a file of the target's format always does."""
    for field in sorted(target.says):
        if getattr(model, field) is None:
            yield Loss(
                field,
                "ids",
                "the source does not say what is placed around a text (BOS, EOS), and "
                f"{target.title} has to: it would say that nothing is",
                "a network that was trained with a BOS token would be served without it",
                shown=False,
            )


def _why(model: BPEModel, target: Format, refused: Iterable[Loss], unsaid: Iterable[Loss]) -> str:
    """The first line of a refusal."""
    others = [loss for loss in refused if loss not in unsaid]
    if not others:
        return f"the source does not state all that {target.title} has to"
    if all(loss.what in model.origin.lost for loss in others):
        return "the source's files contradict each other, and only one of them can be followed"
    return f"{target.title} cannot hold this tokenizer exactly"


def _lost(model: BPEModel) -> Iterator[Loss]:
    """What the source's files ask for and the model has not, whatever the target can hold."""
    if model.origin.lost:
        from .transformers_classes import SAVE_ANEW  # a sentence alone, of a large table

        yield from (Loss("added", "text", what, SAVE_ANEW) for what in model.origin.lost)


_QUOTED_OR_WOULD = re.compile(r'"(?:[^"\\]|\\.)*"|\bwould\b')


def describe(loss: Loss, *, happened: bool = False) -> str:
    """A loss as a sentence: the field, what is lost, the consequence, a text, the page's code.

    What has ``happened`` is no longer said as what would be; names of tokens stay as they are.
    """
    text = f"{loss.field}: {loss.what}; {loss.consequence}"
    if happened:
        text = _QUOTED_OR_WOULD.sub(lambda m: "will" if m[0] == "would" else m[0], text)
    if loss.witness is not None:
        shown = show(loss.witness)
        text += f"; such a text: {shown}"
        if not shown.isascii():
            text += f" = {loss.witness!a}"
    # What a source leaves unsaid is no question of texts.
    if not loss.shown and loss.field != "sequence_template":
        text += " (no text was found that shows it, and no proof that there is none)"
    return f"{text}; see {loss.code}"


def _need(model: BPEModel, target: Format) -> None:
    """That everything is known which the target has to say; all that is not, in one error."""
    lacking = [name for name in FIELDS if name in target.needs and getattr(model, name) is None]
    if not lacking:
        return
    what = {
        "normalizer": "how texts are normalized",
        "pretokenizer": "the pattern that splits texts",
        "added": "special tokens",
        "sequence_template": "what is placed around a text",
    }
    lacking += [name for name in target.says if getattr(model, name) is None]
    *most, last = (f"{what[name]} ({name})" for name in FIELDS if name in lacking)
    listed = f"{', '.join(most)} and {last}" if most else last
    raise UnstatedError(
        f"the source does not state {listed}, and a {target.title} has to", fix=ways_to_say(model)
    )


def template_unsaid(model: BPEModel, preset: str = "preset=...") -> UnstatedError:
    """That neither the source nor a preset that was named says what is placed around texts.

    ``preset`` is the option to name one with.
    """
    stating = with_template(model)
    if not stating:
        way = "no preset that fits these files says it"
    elif model.added is not None and candidates(model):
        way = f"of the presets that these files serve, {', '.join(stating)} says it ({preset})"
    else:
        way = f"name a preset that says it ({preset}): {', '.join(stating)}"
    if isinstance(model.merges, RankTable):
        way += "; a sidecar file beside the source may say it"
    return UnstatedError(
        "what is placed around a text (the sequence template) is not known: neither the source "
        "nor a preset that was named says it",
        where=model.origin.name,
        fix=f"{way}; or encode without it, and place such tokens yourself",
    )


def _restored(trip: RoundTrip) -> frozenset[str]:
    """Fields that a reader of the written files gets back because it knows their sha256."""
    if not by_sha256(sha256(data).hexdigest() for data in trip.files.values()):
        return frozenset()
    try:
        again = fill(trip.again, None)
    except FormatError:  # what is lost makes the files unreadable, so nothing is restored
        return frozenset()
    differing = {difference.field for difference in diff(trip.model, again)}
    return frozenset(each.field for each in trip.differences) - differing


def renamed(model: BPEModel, name: str) -> BPEModel:
    """The same model with another name, for formats that write one."""
    return replace(model, origin=replace(model.origin, name=name))
