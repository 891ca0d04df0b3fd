"""What a value holds that a ``.model`` cannot.

A reason is looked for where a field comes back otherwise, and found in the value alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, islice
from typing import Any

from ...diff import diff
from ...errors import BpeInteropError
from ...loss import Loss
from ...merging.canonical import canonical, whole_lookups
from ...model import BPEModel, PairList, Vocab, show
from ...steps import (
    ByteTokens,
    DecoderStep,
    Fuse,
    JoinPieces,
    MetaspaceText,
    Replace,
    SentencePieceText,
    StripToken,
)
from ...text.bytechars import to_chars
from ...text.charsmap import SPACE
from ...text.decoders import decode_pieces, decode_tokens
from ...text.normalize import normalize
from ...theory.idle import acting_splits
from ...theory.piece_level import Obstruction, obstruction
from ...witnesses import TEXTS, Probe, difference, missing_character, plain_texts
from ..bos_eos import ends_of, template_of
from ..reasons import changed_fields, extras_told, shown_by
from ..round_trip import RoundTrip, stated
from .contents import added_losses, is_too_large, merge_losses, vocab_losses
from .flags import begins_with_space_only, flags_of, has_byte_tokens, nearest, settings_of
from .piece_list import fallback_of, lacks_characters
from .pieces import found_as_piece, pieces_of
from .read import fields_back
from .specs import idle_settings, outline_of
from .write import spelled

_SPACES = Replace(SPACE, " ")
_ONE_SPACE = StripToken(" ", 1, 0)
_LIKE_BYTE = re.compile(rb"<0x(\+[0-9A-Fa-f]|[0-9A-Fa-f]{2})>")
_MARKED = ("\u2581", "\u2581a", "\u2581\u2581a", "a\u2581")
"""Texts with the character that stands for a space, which is not told from one."""

_BESIDE = ("sequence_template", "chat_template")
"""The fields that the file beside a ``.model`` says, whatever its pieces are made of."""

_LOOKED_AT = 2_000
"""How many texts are decoded to find a difference."""


def explain(trip: RoundTrip) -> Iterator[Loss]:
    """What ``dump`` would lose of this model, each with its consequence."""
    if trip.model.alphabet == "byte":
        yield from _byte_level(trip)
        return
    for field in changed_fields(trip):
        if field in _REASONS:
            yield from _REASONS[field](trip.model, trip.expected)


def read_back(trip: RoundTrip) -> Mapping[str, Any]:
    """What a model becomes in the file, by its pieces and by what else it holds."""
    ends = ends_of(trip.model)
    written = spelled(trip.model)
    return {
        **fields_back(written, pieces_of(written)),
        "sequence_template": None if ends is None else template_of(*ends),
    }


def _respelled(model: BPEModel) -> bool:
    """Whether some token that merges build is spelled otherwise as characters."""
    return any(to_chars(token).encode("utf-8") != token for token in canonical(model).splits)


def _outlined(model: BPEModel) -> BPEModel:
    """A model without its tokens, which are known to differ, and would take long to compare."""
    return replace(model, vocab=Vocab({b"-": 0}), merges=PairList(()))


def _byte_level(trip: RoundTrip) -> Iterator[Loss]:
    """Whole texts: what is lost beside the alphabet is lost with it."""
    model, again = trip.model, trip.again
    differences = (
        stated(model, again, diff(model, _outlined(again)))
        if _respelled(model)
        else trip.differences
    )
    clash = _contradiction(model)
    reason = ""
    if clash is not None:
        first, second = (show(char) for char in clash.shorter)
        reason = (
            f": {first} and {second} are a token each in {show(clash.longer)} and not in "
            f"{show(clash.shorter)}, but SentencePiece keeps two tokens apart everywhere or "
            "nowhere"
        )
    yield Loss(
        "alphabet",
        "ids",
        f"SentencePiece merges the characters of a whole text, not the bytes of pretokens{reason}",
        "the ids of most texts would differ; those of single pretokens, spelled in GPT-2's byte "
        "alphabet, are the same (--pretoken-level of convert)",
        witness=clash.longer if clash else None,
        shown=clash is not None,
    )
    for field, how in ((each.field, each.how) for each in differences):
        kept = field in _BESIDE and not (
            field in _REASONS and [*_REASONS[field](model, trip.expected)]
        )
        if field != "alphabet" and not kept:
            yield Loss(field, "metadata", how, "it goes with the alphabet")


def _contradiction(model: BPEModel) -> Obstruction | None:
    """Two texts that prove that no SentencePiece model gives the ids of both, if found."""
    probe = Probe(model)

    def encode(text: str) -> list[int]:
        try:
            return probe.ids(text) or []
        except BpeInteropError:  # a text that says nothing
            return []

    return obstruction(encode)


def _affixes(model: BPEModel, again: BPEModel) -> Iterator[Loss]:
    affix = model.affixes.suffix or model.affixes.prefix
    if affix:
        yield shown_by(
            difference(model, again, plain_texts(model)),
            "affixes",
            "ids",
            f"{show(affix)} is glued to symbols before they are merged",
            "SentencePiece glues nothing to them, and tokens spelled so would never be found",
        )


def _lookup_first(model: BPEModel, again: BPEModel) -> Iterator[Loss]:
    looked_up = sorted(whole_lookups(model), key=len)
    if looked_up:
        yield shown_by(
            difference(model, again, plain_texts(model)),
            "lookup_first",
            "ids",
            f"{len(looked_up)} tokens are found only by looking whole pretokens up, such as "
            f"{show(looked_up[0])}",
            "SentencePiece looks nothing up, and would leave them in parts",
        )


def _fallback(model: BPEModel, again: BPEModel) -> Iterator[Loss]:
    ours, whole, pieces = model.fallback, has_byte_tokens(model), pieces_of(model)
    if ours == fallback_of(outline_of(pieces), lacks_characters(pieces)):
        return
    if ours.byte_fallback and not whole:
        yield shown_by(
            missing_character(model),
            "fallback",
            "ids",
            "byte fallback without all 256 byte tokens",
            "SentencePiece refuses such a model; missing characters would become unknown",
        )
    elif ours.missing == "unknown" and ours.fuse and ours.after_merging:
        if is_too_large(model):
            yield Loss("fallback", "metadata", "the id of the unknown token", "it is another one")
    elif ours.byte_fallback or ours.missing == "error":
        yield Loss(
            "fallback",
            "metadata",
            f"what becomes of characters without a token ({ours.missing}), which never happens",
            "an unknown piece is named, and no text gives it",
        )
    elif ours.missing == "drop":
        yield shown_by(
            missing_character(model),
            "fallback",
            "ids",
            "characters without a token vanish",
            "SentencePiece writes the unknown piece for them",
        )
    elif not ours.fuse:
        char = missing_character(model)
        yield shown_by(
            None if char is None else char * 2,
            "fallback",
            "ids",
            "each character without a token is an unknown token of its own",
            "SentencePiece makes one of a run of them",
        )
    else:
        # SentencePiece merges first. All that could be built of a missing character is UNUSED.
        yield Loss(
            "fallback",
            "metadata",
            "characters without a token are replaced before merging",
            "SentencePiece replaces them afterwards; no id changes",
        )


def _normalizer(model: BPEModel, again: BPEModel) -> Iterator[Loss]:
    steps = model.normalizer or ()
    flags = flags_of(steps)
    if flags is None:
        yield shown_by(
            _normalized_otherwise(model, again),
            "normalizer",
            "ids",
            "these steps are not a character map and rules for spaces",
            "texts would be normalized otherwise",
        )
    elif any(isinstance(step, SentencePieceText) for step in steps):
        if any(isinstance(s, SentencePieceText) and {*s.kept} != _kept(model) for s in steps):
            yield Loss(
                "normalizer",
                "ids",
                "the texts that the normalizer leaves alone are not the user-defined pieces",
                "these would be normalized too, or others not",
                shown=False,
            )
    elif model.pretokenizer or flags.steps() != tuple(steps):
        yield Loss(
            "normalizer",
            "metadata",
            "its rules for spaces exist only in SentencePiece",
            "no id changes by that",
        )


def _kept(model: BPEModel) -> set[str]:
    """The texts of the user-defined pieces."""
    kinds = model.vocab.kinds
    own = {c.decode() for c, n in model.vocab.ids.items() if kinds.get(n) == "user_defined"}
    return own | {token.text for token in model.added or () if found_as_piece(token, model)}


def _normalized_otherwise(model: BPEModel, again: BPEModel) -> str | None:
    ours, theirs = model.normalizer or (), again.normalizer or ()
    basic = (chr(point) for point in range(0x21, 0x10000) if not 0xD800 <= point < 0xE000)
    for text in (*TEXTS, "\u0340", "A", "\u00e9", "\uff21", "``", "''"):
        if normalize(ours, text) != normalize(theirs, text):
            return text
    return next((c for c in basic if normalize(ours, c) != normalize(theirs, c)), None)


def _pretokenizer(model: BPEModel, again: BPEModel) -> Iterator[Loss]:
    fits = flags_of(model.normalizer or ()) is not None
    plain = model if fits else replace(model, normalizer=())
    if not acting_splits(model):
        return
    if settings_of(plain) is not None:
        yield Loss(
            "pretokenizer",
            "metadata",
            "spaces are written as U+2581 by the normalizer, and cuts at them change nothing",
            "no id changes",
        )
        return
    yield shown_by(
        difference(model, again, plain_texts(model)),
        "pretokenizer",
        "ids",
        "texts are cut before they are merged, or spaces put before the parts; SentencePiece "
        "merges the whole text, and always adds its one space or never",
        "tokens could merge across the cuts",
    )


def _sequence_template(model: BPEModel, again: BPEModel) -> Iterator[Loss]:
    ends = ends_of(model)
    if ends is not None:
        if template_of(*ends) != model.sequence_template:
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


def _decoder(model: BPEModel, again: BPEModel) -> Iterator[Loss]:
    """The loss of a decoder that is not SentencePiece's own, or not that of its normalizer."""
    if _is_own(model):
        return
    target = next(step for step in again.decoder or () if isinstance(step, JoinPieces))
    if _does_the_same(model, target):
        yield Loss(
            "decoder",
            "metadata",
            "a chain of decoders is written as SentencePiece's own",
            f"ids of texts are decoded alike; malformed bytes and special tokens are not: the "
            f"unknown token becomes {show(target.unknown)}, other special tokens become nothing",
        )
    else:
        witness = _decoded_otherwise(model, target)
        yield Loss(
            "decoder",
            "text",
            "this decoder is not SentencePiece's",
            "ids of some texts would be decoded to other texts",
            witness=witness,
            shown=witness is not None,
        )


def _is_own(model: BPEModel) -> bool:
    """Whether the decoder is SentencePiece's, with the spaces that the normalizer puts in."""
    steps, flags = model.decoder or (), nearest(model)
    if len(steps) != 1 or not isinstance(steps[0], JoinPieces):
        return False
    return (steps[0].dummy, steps[0].collapse) == (flags.dummy, flags.collapse)


def _unknown_alike(model: BPEModel, target: JoinPieces) -> bool:
    """Whether the unknown token is decoded alike, where a text can give it."""
    if model.fallback.missing != "unknown" or has_byte_tokens(model):
        return True
    return target.unknown == decode_tokens(model.decoder or (), [target.unknown])


def _does_the_same(model: BPEModel, target: JoinPieces) -> bool:
    """Whether the chain is one that is known to decode real texts as ``target`` does.

    A real text begins with its dummy prefix. ``SPACE`` must be a token: if it fell back to
    bytes, those would not become a space.
    """
    if SPACE.encode() not in model.vocab.ids:
        return False
    if target.charsmap or target.collapse or target.dummy == "suffix":
        return False
    steps = list(model.decoder or ())
    if not has_byte_tokens(model) and not any(map(_LIKE_BYTE.fullmatch, model.vocab.ids)):
        steps = [step for step in steps if step != ByteTokens()]
    if steps[-1:] == [Fuse()]:
        del steps[-1]
    bytes_too: list[DecoderStep] = [ByteTokens()] if has_byte_tokens(model) else []
    if target.dummy == "prefix":
        chains = [[_SPACES, *bytes_too, Fuse(), _ONE_SPACE]]
        if begins_with_space_only(model):  # all spaces of the first token are left out
            chains += [[MetaspaceText(SPACE, "always"), *bytes_too]]
            chains += [[MetaspaceText(SPACE, "first"), *bytes_too]]
    else:
        chains = [[_SPACES, *bytes_too], [MetaspaceText(SPACE, "never"), *bytes_too]]
    return steps in chains and _unknown_alike(model, target)


def _decoded_otherwise(model: BPEModel, target: JoinPieces) -> str | None:
    """A text whose tokens are decoded to different texts, if one of a few thousand is."""
    probe = Probe(model)
    for text in chain(_MARKED, islice(plain_texts(model), _LOOKED_AT)):
        try:
            contents = probe.tokens(text)
            if contents is None:
                continue
            tokens = [token.decode("utf-8") for token in contents]
            ours = decode_tokens(model.decoder or (), tokens)
        except (BpeInteropError, UnicodeDecodeError):
            continue
        if ours != decode_pieces(target, [(token, "piece") for token in tokens]):
            return text
    return None


def _extras(model: BPEModel, again: BPEModel) -> Iterator[Loss]:
    """Settings of other formats; of its own, those that follow from tokens written otherwise."""
    others = sorted(key for key in model.extras if key != "sentencepiece")
    idle = idle_settings(model, pieces_of(model))
    named = others or idle
    if not named and not [*vocab_losses(model, again), *added_losses(model, again)]:
        return
    yield Loss(
        "extras",
        "metadata",
        f"settings of the source {'format' if others else 'file'}: "
        f"{extras_told(model.extras, named)}"
        if named
        else "settings that name or count tokens that are written otherwise",
        "they are left out; no id changes",
    )


_REASONS: dict[str, Callable[[BPEModel, BPEModel], Iterator[Loss]]] = {
    "affixes": _affixes,
    "vocab": vocab_losses,
    "merges": merge_losses,
    "lookup_first": _lookup_first,
    "fallback": _fallback,
    "normalizer": _normalizer,
    "pretokenizer": _pretokenizer,
    "added": added_losses,
    "sequence_template": _sequence_template,
    "decoder": _decoder,
    "extras": _extras,
}
