"""Why a GGUF file cannot hold a value: reasons that follow from what the keys can say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TypeAlias

from ...diff import diff
from ...loss import Loss
from ...model import Affixes, BPEModel, SequenceTemplate, show
from ...steps import JoinPieces, MetaspaceText, StripToken
from ...text.normalize import normalize
from ...theory.merges import whole_lookups
from ...theory.pretokens import missing_bytes
from ...theory.rewrite import as_pairs, as_ranks
from ...theory.witness import decoded_otherwise, first_changed, text_for, text_with
from ..reasons import affixes_lost
from ..round_trip import RoundTrip
from .added_losses import added_lost
from .into import Kept
from .pre_names import Near, chosen, nearest_names
from .types import BYTE_NAMES

Losses: TypeAlias = Iterator[Loss]

_TEXTS = ("a", " ", " a", "a  b", "A", "\u00e9", "e\u0301", "\ufb01", "\u2126", "\u2581a", "\n")


def explain(trip: RoundTrip) -> Iterator[Loss]:
    """A loss for each field that comes back otherwise and whose reason is known."""
    for difference in trip.differences:
        if difference.field == "extras" and any(isinstance(way, Kept) for way in trip.ways):
            yield from _put_into(trip.model)
        elif difference.field in _BY_FIELD:
            yield from _BY_FIELD[difference.field](trip.model, trip.again)


def _put_into(model: BPEModel) -> Iterator[Loss]:
    settings = ", ".join(sorted(model.extras))
    yield Loss(
        "extras",
        "metadata",
        f"settings of the source's file: {settings}",
        "the keys of the file that the tokenizer is put into stay as they are; no id changes",
    )


def _shown(field: str, what: str, consequence: str, witness: str | None) -> Loss:
    return Loss(field, "ids", what, consequence, witness=witness, shown=witness is not None)


def _affixes(model: BPEModel, again: BPEModel) -> Losses:
    yield from affixes_lost(model, "llama.cpp")


def _vocab(model: BPEModel, again: BPEModel) -> Losses:
    ours, theirs = model.vocab.ids, again.vocab.ids
    moved = next((token for token in ours if theirs.get(token) != ours[token]), None)
    if moved is not None:
        place = theirs.get(moved)
        why = (
            "another token or an added one is spelled like it, and no two may be"
            if place is None
            else "ids are places in a list, and these have too large holes"
        )
        yield _shown(
            "vocab",
            f"{show(moved)} would be {'gone' if place is None else place}, not {ours[moved]}: "
            f"{why}",
            "texts that need it would have other ids",
            text_for(model, moved),
        )
        return
    more = [token for token in theirs if token not in ours]
    if any(token.decode("utf-8", "replace") in BYTE_NAMES for token in more):
        yield _shown(
            "vocab",
            "the 256 byte tokens must be there, and some are not",
            "characters without a token would become bytes",
            None,
        )
    elif more:
        yield Loss(
            "vocab",
            "metadata",
            f"llama.cpp looks up every token, those that are found first too: {show(more[0])}",
            "where it is not found first, a text gives its id all the same",
        )
    elif model.vocab.kinds != again.vocab.kinds:
        yield Loss(
            "vocab", "metadata", "kinds that only SentencePiece's tokens have", "no id changes"
        )
    elif model.vocab.scores:
        yield Loss(
            "vocab", "metadata", "scores that say another order than the merges", "no id changes"
        )


def _merges(model: BPEModel, again: BPEModel) -> Losses:
    rewrite = as_pairs(model) if model.alphabet == "byte" else as_ranks(model)
    yield from rewrite.losses()
    if rewrite.rule is None:
        return
    if model.alphabet == "char" and rewrite.left_out:
        yield _shown(
            "merges",
            f"no merge builds {show(rewrite.left_out[0])}; in llama.cpp any two tokens whose text "
            "together is a token may merge",
            "other pairs would merge first",
            None,
        )
    elif model.affixes != Affixes() or model.vocab.ids != again.vocab.ids:
        yield _shown(
            "merges", "merges of tokens that are lost", "other pairs would merge first", None
        )


def _lookup_first(model: BPEModel, again: BPEModel) -> Losses:
    first = model if model.lookup_first else again
    tokens = sorted(whole_lookups(first), key=first.vocab.ids.__getitem__)
    witness = next(filter(None, (text_for(again, token) for token in tokens[:40])), None)
    yield _shown(
        "lookup_first",
        "whether a pretoken that is a token is looked up belongs to the name of the splitter, "
        "and none has both",
        f"such as {show(tokens[0])} would have other ids" if tokens else "ids may differ",
        witness if model.lookup_first else None,
    )


def _fallback(model: BPEModel, again: BPEModel) -> Losses:
    if model.alphabet == "byte":
        missing = missing_bytes(model.vocab.ids)
        yield Loss(
            "fallback",
            "ids" if missing else "metadata",
            f"what becomes of bytes without a token ({model.fallback.missing})",
            "in llama.cpp they vanish" if missing else "none is missing; no id changes",
            witness=text_with(min(missing)) if missing else None,
        )
    else:
        yield _shown(
            "fallback",
            f"what becomes of characters without a token ({model.fallback.missing})",
            "in llama.cpp they become the tokens of their bytes, after merging",
            None,
        )


def _normalizer(model: BPEModel, again: BPEModel) -> Losses:
    ours, theirs = model.normalizer or (), again.normalizer or ()
    witness = first_changed(ours) if not theirs else None
    if theirs:
        texts = (text for text in _TEXTS if normalize(ours, text) != normalize(theirs, text))
        witness = next(texts, None)
    yield _shown(
        "normalizer",
        "texts are normalized otherwise than by writing spaces as U+2581, with one before a text"
        if theirs
        else "texts are normalized before they are cut; llama.cpp never does that",
        "texts that the normalizer changes would have other ids",
        witness,
    )


def _pretokenizer(model: BPEModel, again: BPEModel) -> Losses:
    if model.alphabet == "char":
        yield _shown(
            "pretokenizer",
            "texts are cut before they are merged; in SentencePiece's kind they are not",
            "tokens could merge across the cuts, and spaces be put in otherwise",
            None,
        )
        return
    name = chosen(model)
    if name is not None:
        yield Loss(
            "pretokenizer",
            "metadata",
            f"texts are cut as llama.cpp does it under {name.name}, which gives the same tokens "
            f"({name.by})",
            "no id changes",
        )
        return
    near = nearest_names(model)
    yield _shown(
        "pretokenizer",
        "llama.cpp has splitters by name, and none is proved to cut every text as this one does "
        f"(nearest: {', '.join(map(_told, near))})",
        f"texts would be cut elsewhere; without this field the file names {near[0].name}",
        near[0].text or None,
    )


def _told(near: Near) -> str:
    """What shows that a near name is another splitter."""
    if not near.cut and not near.text:
        return f"{near.name}, for which this is not decided"
    words = [f"cuts {show(near.cut)} differently"] if near.cut and near.cut != near.text else []
    words += [f"gives {show(near.text)} other ids"] if near.text else []
    return f"{near.name} {' and '.join(words)}"


def _added(model: BPEModel, again: BPEModel) -> Losses:
    bare = replace(model, added=tuple(replace(token, roles=()) for token in model.added or ()))
    plain = replace(again, added=tuple(replace(token, roles=()) for token in again.added or ()))
    if all(difference.field != "added" for difference in diff(bare, plain)):
        yield Loss(
            "added",
            "metadata",
            "roles: llama.cpp takes some ids for bos, eos and unk where none are named, and does "
            "not know all names",
            "no id changes",
        )
        return
    yield from added_lost(bare, plain)


def _sequence_template(model: BPEModel, again: BPEModel) -> Losses:
    ours, theirs = (each.sequence_template or SequenceTemplate() for each in (model, again))
    if ours.placed == theirs.placed:
        what = "the type ids and names in the sequence template"
        yield Loss("sequence_template", "metadata", what, "llama.cpp has none; no id changes")
        return
    yield Loss(
        "sequence_template",
        "text",
        "what is placed around a text is more than a bos before and an eos after each",
        "llama.cpp would place something else",
        witness="a",
    )


def _decoder(model: BPEModel, again: BPEModel) -> Losses:
    steps = model.decoder or ()
    strips = any(isinstance(step, StripToken) for step in again.decoder or ())
    first = steps[0] if steps else None
    if isinstance(first, JoinPieces) and not first.collapse and not first.charsmap:
        alike = (first.dummy == "prefix") == strips and first.dummy != "suffix"
    else:
        alike = isinstance(first, MetaspaceText) and (first.prepend != "never") == strips
    if alike and again.fallback.byte_fallback and "\u2581".encode() in model.vocab.ids:
        yield Loss(
            "decoder",
            "metadata",
            "SentencePiece's own decoder is said as llama.cpp's steps",
            "ids of texts are decoded alike; malformed bytes and special tokens are not",
        )
        return
    witness = decoded_otherwise(model)
    yield Loss(
        "decoder",
        "text",
        "llama.cpp joins the tokens' bytes"
        if model.alphabet == "byte"
        else "llama.cpp joins the tokens, writes U+2581 as a space and leaves the first one out",
        "some ids would decode to another text",
        witness=witness,
        shown=witness is not None,
    )


def _extras(model: BPEModel, again: BPEModel) -> Losses:
    others = sorted(key for key in model.extras if key != "gguf")
    if others:
        yield Loss(
            "extras",
            "metadata",
            f"settings of the source format: {', '.join(others)}",
            "they are left out; no id changes",
        )


_BY_FIELD: Mapping[str, Callable[[BPEModel, BPEModel], Losses]] = MappingProxyType(
    {
        "affixes": _affixes,
        "vocab": _vocab,
        "merges": _merges,
        "lookup_first": _lookup_first,
        "fallback": _fallback,
        "normalizer": _normalizer,
        "pretokenizer": _pretokenizer,
        "added": _added,
        "sequence_template": _sequence_template,
        "decoder": _decoder,
        "extras": _extras,
    }
)
