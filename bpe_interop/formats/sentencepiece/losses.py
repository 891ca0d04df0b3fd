"""What a ``.model`` cannot hold of a model.

A model is written, read back and compared; each field that comes back otherwise is a loss,
graded by what it changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from ...diff import diff
from ...loss import Loss
from ...model import FIELDS, BPEModel, PairList, Vocab, show
from ...steps import SentencePieceText
from ...text.bytechars import to_chars
from ...text.normalize import normalize
from ...theory.merges import canonical, whole_lookups
from ..bos_eos import around
from ..round_trip import RoundTrip, stated
from .alphabet import contradiction
from .contents import added_losses, merge_losses, vocab_losses
from .decoding import decoder_loss
from .flags import flags_of, settings_of
from .probe import TEXTS, difference, missing_character, plain_texts


def explain(trip: RoundTrip) -> Iterator[Loss]:
    """What ``dump`` would lose of this model, each with its consequence."""
    model, again = trip.model, trip.again
    found = (
        stated(model, again, diff(model, _outlined(again)))
        if _respelled(model)
        else trip.differences
    )
    differing = {difference.field: difference.how for difference in found}
    if model.alphabet == "byte":
        yield from _byte_level(model, differing)
        return
    for field in FIELDS:
        if field in differing:
            yield from _GRADERS[field](model, again)


def _respelled(model: BPEModel) -> bool:
    """Whether some token that merges build is spelled otherwise as characters."""
    if model.alphabet == "char":
        return False
    return any(to_chars(token).encode("utf-8") != token for token in canonical(model).splits)


def _outlined(model: BPEModel) -> BPEModel:
    """A model without its tokens, which are known to differ, and would take long to compare."""
    return replace(model, vocab=Vocab({b"-": 0}), merges=PairList(()))


def _byte_level(model: BPEModel, differing: Mapping[str, str]) -> Iterator[Loss]:
    """Whole texts: what is lost beside the alphabet is lost with it."""
    found = contradiction(model)
    reason = ""
    if found is not None:
        first, second = (show(char) for char in found.shorter)
        reason = (
            f": {first} and {second} are a token each in {show(found.longer)} and not in "
            f"{show(found.shorter)}, but SentencePiece keeps two tokens apart everywhere or "
            "nowhere"
        )
    yield Loss(
        "alphabet",
        "ids",
        f"SentencePiece merges the characters of a whole text, not the bytes of pretokens{reason}",
        "the ids of most texts would differ; those of single pretokens, spelled in GPT-2's byte "
        "alphabet, are the same (--pretoken-level)",
        witness=found.longer if found else None,
        shown=found is not None,
    )
    for field, how in differing.items():
        if field != "alphabet":
            yield Loss(field, "metadata", how, "it goes with the alphabet")


def _affixes(model: BPEModel, again: BPEModel) -> Iterator[Loss]:
    affix = model.affixes.suffix or model.affixes.prefix
    witness = difference(model, again, plain_texts(model))
    yield Loss(
        "affixes",
        "ids",
        f"{show(affix)} is glued to symbols before they are merged",
        "SentencePiece glues nothing to them, and tokens spelled so would never be found",
        witness=witness,
        shown=witness is not None,
    )


def _lookup_first(model: BPEModel, again: BPEModel) -> Iterator[Loss]:
    looked_up = sorted(whole_lookups(model), key=len)
    witness = difference(model, again, plain_texts(model))
    example = f", such as {show(looked_up[0])}" if looked_up else ""
    yield Loss(
        "lookup_first",
        "ids",
        f"{len(looked_up)} tokens are found only by looking whole pretokens up{example}",
        "SentencePiece looks nothing up, and would leave them in parts",
        witness=witness,
        shown=witness is not None,
    )


def _fallback(model: BPEModel, again: BPEModel) -> Iterator[Loss]:
    ours, theirs = model.fallback, again.fallback
    if ours.byte_fallback and not theirs.byte_fallback:
        yield _fallback_loss(
            "byte fallback without all 256 byte tokens",
            "SentencePiece refuses such a model; missing characters would become unknown",
            missing_character(model),
        )
    elif theirs.byte_fallback or ours.missing == "error":
        yield Loss(
            "fallback",
            "metadata",
            f"what becomes of characters without a token ({ours.missing}), which never happens",
            "an unknown piece is named, and no text gives it",
        )
    elif ours.missing == "drop":
        yield _fallback_loss(
            "characters without a token vanish",
            "SentencePiece writes the unknown piece for them",
            missing_character(model),
        )
    elif not ours.fuse:
        char = missing_character(model)
        yield _fallback_loss(
            "each character without a token is an unknown token of its own",
            "SentencePiece makes one of a run of them",
            None if char is None else char * 2,
        )
    else:
        # SentencePiece merges first. All that could be built of a missing character is UNUSED.
        yield Loss(
            "fallback",
            "metadata",
            "characters without a token are replaced before merging",
            "SentencePiece replaces them afterwards; no id changes",
        )


def _fallback_loss(what: str, consequence: str, witness: str | None) -> Loss:
    return Loss("fallback", "ids", what, consequence, witness=witness, shown=witness is not None)


def _normalizer(model: BPEModel, again: BPEModel) -> Iterator[Loss]:
    if flags_of(model.normalizer or ()) is None:
        witness = _normalized_otherwise(model, again)
        yield Loss(
            "normalizer",
            "ids",
            "these steps are not a character map and rules for spaces",
            "texts would be normalized otherwise",
            witness=witness,
            shown=witness is not None,
        )
    elif any(isinstance(step, SentencePieceText) for step in model.normalizer or ()):
        yield Loss(
            "normalizer",
            "ids",
            "the texts that the normalizer leaves alone are not the user-defined pieces",
            "these would be normalized too, or others not",
            shown=False,
        )
    else:
        yield Loss(
            "normalizer",
            "metadata",
            "its rules for spaces exist only in SentencePiece",
            "no id changes by that",
        )


def _normalized_otherwise(model: BPEModel, again: BPEModel) -> str | None:
    ours, theirs = model.normalizer or (), again.normalizer or ()
    basic = (chr(point) for point in range(0x21, 0x10000) if not 0xD800 <= point < 0xE000)
    for text in (*TEXTS, "\u0340", "A", "\u00e9", "\uff21", "``", "''"):
        if normalize(ours, text) != normalize(theirs, text):
            return text
    return next((c for c in basic if normalize(ours, c) != normalize(theirs, c)), None)


def _pretokenizer(model: BPEModel, again: BPEModel) -> Iterator[Loss]:
    plain = model if flags_of(model.normalizer or ()) is not None else _unnormalized(model)
    if settings_of(plain) is not None:
        yield Loss(
            "pretokenizer",
            "metadata",
            "spaces are written as U+2581 by the normalizer, and cuts at them change nothing",
            "no id changes",
        )
        return
    witness = difference(model, again, plain_texts(model))
    yield Loss(
        "pretokenizer",
        "ids",
        "texts are cut before they are merged, or spaces put before the parts; SentencePiece "
        "merges the whole text, and always adds its one space or never",
        "tokens could merge across the cuts",
        witness=witness,
        shown=witness is not None,
    )


def _unnormalized(model: BPEModel) -> BPEModel:
    return replace(model, normalizer=())


def _sequence_template(model: BPEModel, again: BPEModel) -> Iterator[Loss]:
    template = model.sequence_template
    if template is not None and around(template) == around(again.sequence_template):
        yield Loss(
            "sequence_template",
            "metadata",
            "the type ids and names in the sequence template",
            "they are written as LlamaTokenizer has them; no id changes",
        )
        return
    yield Loss(
        "sequence_template",
        "text",
        "the sequence template is more than a bos before and an eos after each text",
        "neither a .model nor the file beside it can say it",
        witness="a",
    )


def _extras(model: BPEModel, again: BPEModel) -> Iterator[Loss]:
    others = sorted(key for key in model.extras if key != "sentencepiece")
    yield Loss(
        "extras",
        "metadata",
        f"settings of the source format: {', '.join(others)}"
        if others
        else "settings that sentencepiece does not have",
        "they are left out; no id changes",
    )


def _chat_template(model: BPEModel, again: BPEModel) -> Iterator[Loss]:
    yield Loss("chat_template", "metadata", "the chat template", "it would be read otherwise")


_GRADERS: dict[str, Callable[[BPEModel, BPEModel], Iterator[Loss]]] = {
    "affixes": _affixes,
    "vocab": vocab_losses,
    "merges": merge_losses,
    "lookup_first": _lookup_first,
    "fallback": _fallback,
    "normalizer": _normalizer,
    "pretokenizer": _pretokenizer,
    "added": added_losses,
    "sequence_template": _sequence_template,
    "decoder": decoder_loss,
    "chat_template": _chat_template,
    "extras": _extras,
}
