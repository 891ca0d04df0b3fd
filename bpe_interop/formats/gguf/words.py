"""What is said of a field that a GGUF file cannot hold: by what llama.cpp makes of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from ...kernel.tables import as_dict
from ...merging.canonical import whole_lookups
from ...model import CHATS, FLAGS_IN_WORDS, LOOKS_BESIDE, AddedToken, BPEModel
from ...quoting import show
from ...text.decoders import verbatim_of
from ...text.visible import many
from ...theory.pretokens import text_for
from ...theory.rewrite import as_pairs, as_ranks
from ...theory.utf8 import missing_bytes, text_with
from ...witnesses import merging_across_dropped
from ..losses import Decided, Words, extras_told, flag_witness, gained_roles, merges_words
from ..round_trip import RoundTrip
from .into import KeptHead
from .overlaps import all_equally_long, in_order_of_length
from .pre_names import Near, chosen, name_over_characters, nearest_names
from .write import kept_of, puts_space, spelled

_FLAGS = (*LOOKS_BESIDE, "normalized", "ascii_space")
_BEFORE = "in the text as it stands, SentencePiece in what the normalizer makes of it"
"""Where user-defined tokens are looked for."""
_BEHIND = "; behind it llama.cpp puts a space"
"""What more happens where one is put before each text."""


def words(trip: RoundTrip, decided: Decided) -> Iterable[Words]:
    """The sentences of a GGUF file; none where what differs says enough."""
    if decided.field == "added":
        return _added(trip, decided)
    made = _words(trip, decided)
    return () if made is None else (made,)


def _words(trip: RoundTrip, decided: Decided) -> Words | None:
    model, field = trip.model, decided.field
    if field == "vocab":
        return _vocab(trip, decided)
    if field == "merges" and decided.refused:
        pairs = model.alphabet == "byte" or name_over_characters(model, kept_of(model)) is not None
        return merges_words(as_pairs(model) if pairs else as_ranks(model)) or _merges(trip)
    if field == "lookup_first" and decided.refused:
        return _lookup_first(trip)
    if field == "fallback" and decided.refused:
        return _fallback(model)
    if field == "normalizer" and decided.refused and model.alphabet == "char":
        return (
            "texts are normalized otherwise than by writing spaces as U+2581, with one before a "
            "text",
            "texts that the normalizer changes would have other ids",
        )
    if field == "pretokenizer":
        return _pretokenizer(model, decided)
    if field == "sequence_template" and decided.refused:
        return (
            "what is placed around a text is more than a bos before and an eos after each",
            "llama.cpp would place something else",
        )
    if field == "decoder":
        return _decoder(trip, decided)
    return _extras(trip) if field == "extras" else None


def _vocab(trip: RoundTrip, decided: Decided) -> Words | None:
    model, again = trip.model, trip.again
    ids, there = as_dict(model.vocab.ids), as_dict(again.vocab.ids)
    lost = next((t for t, number in ids.items() if t and there.get(t) != number), None)
    if lost is not None and not decided.refused:
        return (
            f"llama.cpp finds {show(lost)} before the text is normalized, and SentencePiece "
            "afterwards",
            "no id changes",
        )
    if lost is not None:
        return (
            f"{show(lost)} would be {there.get(lost, 'gone')}, not {ids[lost]}: "
            + _why_gone(trip, lost),
            "texts that need it would have other ids",
            text_for(model, lost),
        )
    if b"" in ids:
        return (
            f"the empty token {ids[b'']} has no text, and llama.cpp needs one: it gets a stand-in",
            "no text has it, so no id changes",
        )
    more = next((token for token in there if token not in ids), None)
    if more is not None and more.startswith(b"<0x"):
        return (
            "the 256 byte tokens must be there, and some are not",
            "characters without a token would become bytes",
        )
    if more is not None:
        return (
            f"llama.cpp looks up every token, those that are found first too: {show(more)}",
            "where it is not found first, a text gives its id all the same",
        )
    return None


def _why_gone(trip: RoundTrip, lost: bytes) -> str:
    """Why a token cannot have its id, or is not merged or looked up into."""
    model = trip.model
    if "\0" in spelled(model, lost):
        return "llama.cpp reads a token up to its first U+0000"
    if lost in trip.again.vocab.ids:
        return "ids are places in a list, and these have too large holes"
    text, number = spelled(model, lost), model.vocab.ids[lost]
    others = {(spelled(model, t), n) for t, n in model.vocab.ids.items() if n != number}
    others |= {(token.text, token.id) for token in model.added or ()}
    if any(other == text and n != number for other, n in others) or not any(
        token.id == number for token in trip.again.added or ()
    ):
        return "another token or an added one is spelled like it, and no two may be"
    if model.vocab.kinds.get(number) == "user_defined":
        return f"llama.cpp finds such a token {_BEFORE}{_BEHIND if puts_space(model) else ''}"
    return "llama.cpp finds it in a text before anything is merged, and merges nothing into it"


def _merges(trip: RoundTrip) -> Words:
    model = trip.model
    kinds = model.vocab.kinds
    unused = {number for number, kind in kinds.items() if kind == "unused"}
    if unused:
        first = next(token for token, number in model.vocab.ids.items() if number in unused)
        return (
            f"{show(first)} is UNUSED: sentencepiece splits it again, llama.cpp gives its id",
            "texts in which it is merged would have other ids",
        )
    if trip.again.vocab.ids != model.vocab.ids:
        return "merges of tokens that are lost", "other pairs would merge first"
    return (
        "in llama.cpp any two tokens whose text together is a token may merge",
        "other pairs would merge first",
    )


def _lookup_first(trip: RoundTrip) -> Words:
    model = trip.model
    lookups = whole_lookups(replace(model, lookup_first=True))
    tokens = sorted(lookups, key=model.vocab.ids.__getitem__)
    return (
        "whether a pretoken that is a token is looked up belongs to the name of the splitter, "
        "and none has both",
        f"such as {show(tokens[0])} would have other ids" if tokens else "ids may differ",
    )


def _fallback(model: BPEModel) -> Words:
    missing = missing_bytes(model.vocab.ids) if model.alphabet == "byte" else None
    if not missing:
        return (
            f"what becomes of characters without a token ({model.fallback.missing})",
            "in llama.cpp they become the tokens of their bytes, after merging",
        )
    text = text_with(min(missing))
    if model.fallback.missing == "drop":
        return (
            "bytes without a token vanish before merging (drop), in llama.cpp after it",
            "their neighbours would not merge",
            merging_across_dropped(model, text),
        )
    return (
        f"what becomes of bytes without a token ({model.fallback.missing})",
        "in llama.cpp they vanish",
        text,
    )


def _pretokenizer(model: BPEModel, decided: Decided) -> Words | None:
    over = name_over_characters(model, kept_of(model))
    if model.alphabet == "char" and over is None:
        return (
            "texts are cut before they are merged; in SentencePiece's kind they are not",
            "tokens could merge across the cuts, and spaces be put in otherwise",
        )
    name = chosen(model) if over is None else None
    if name is not None or over is not None:
        told = over if name is None else f"{name.name}, which gives the same tokens ({name.by})"
        return f"texts are cut as llama.cpp does it under {told}", (
            "texts would be cut elsewhere" if decided.refused else "no id changes"
        )
    near = nearest_names(model)
    return (
        "llama.cpp has splitters by name, and none is proved to cut every text as this one "
        f"does (nearest: {', '.join(map(_told, near))})",
        f"texts would be cut elsewhere; without this field the file names {near[0].name}",
        near[0].text or None,
    )


def _told(near: Near) -> str:
    """What shows that a near name is another splitter."""
    if not near.cut and not near.text:
        return f"{near.name}, for which this is not decided"
    told = [f"cuts {show(near.cut)} differently"] if near.cut and near.cut != near.text else []
    told += [f"gives {show(near.text)} other ids"] if near.text else []
    return f"{near.name} {' and '.join(told)}"


def _added(trip: RoundTrip, decided: Decided) -> Iterator[Words]:
    """For each way in which tokens are found otherwise a sentence, with the first token of it."""
    ours = {token.text: token for token in trip.model.added or ()}
    theirs = {token.text: token for token in trip.again.added or ()}
    if not decided.refused:
        yield f"roles: {_roles_apart(trip)}", "no id changes"
        return
    ways: dict[str, list[tuple[str, str | None]]] = {}
    for way, what, witness in (
        *_found_otherwise(ours, theirs),
        *_found_too(trip.model, ours, theirs),
    ):
        ways.setdefault(way, []).append((what, witness))
    for (what, witness), *others in ways.values():
        more = f", and so for {many(len(others), 'other token')}" if others else ""
        yield f"{what}{more}", "texts that hold it would be read otherwise", witness


def _roles_apart(trip: RoundTrip) -> str:
    """Which roles tokens lose in llama.cpp, and which they gain."""
    kept = {(token.text, role) for token in trip.again.added or () for role in token.roles}
    ours = [(token.text, role) for token in trip.model.added or () for role in token.roles]
    lost = [f"{show(text)} is no longer {role}" for text, role in ours if (text, role) not in kept]
    parts = [f"{', '.join(lost)}: a GGUF file cannot say it"] if lost else []
    gained = gained_roles(trip)
    return "; ".join([*parts, gained] if gained else parts) or (
        "those of a token stand in another order"
    )


def _never_found(text: str, ours: Iterable[str], taking: Collection[str]) -> tuple[str, str]:
    """Why a token is not in the file: the way, and a sentence."""
    lost = f"{show(text)} would not be found"
    if "\0" in text:
        return "nul", f"{lost}: it holds a NUL, where llama.cpp ends a text"
    pairs = (pair for pair in all_equally_long([*ours], taking) if text in pair)
    for one, two in pairs:
        other = two if one == text else one
        why = f"{show(other)} overlaps it and is equally long, and llama.cpp takes one by chance"
        return "chance", f"{lost}: {why}"
    return "none", f"{lost}: a token has one text there, and no two tokens have the same"


def _found_otherwise(
    ours: dict[str, AddedToken], theirs: dict[str, AddedToken]
) -> Iterator[tuple[str, str, str | None]]:
    """What llama.cpp has otherwise: the way, a sentence, and a text that shows it."""
    taking = {text for text, token in ours.items() if token.rstrip}
    for text, token in ours.items():
        other = theirs.get(text)
        if other is None:
            yield (*_never_found(text, ours, taking), text)
            continue
        if token.id != other.id:
            yield "id", f"{show(text)} would be {other.id}, not {token.id}", text
        if token.special != other.special:
            kind = "control token" if other.special else "user-defined token"
            yield kind, f"llama.cpp takes {show(text)} for a {kind} by its spelling", text
        flag = next((n for n in _FLAGS if getattr(token, n) != getattr(other, n)), None)
        if flag is not None:
            if flag == "ascii_space" and other.ascii_space:
                what = f"llama.cpp takes no white space but ASCII's along with {show(text)}"
                yield flag, what, f"{text}\u00a0"
                continue
            holder = token if getattr(token, flag) else other
            witness = flag_witness(holder) if flag in LOOKS_BESIDE else None
            says = "no key says" if holder is token else "the source does not say"
            named = f"is {flag}" if flag != "ascii_space" else FLAGS_IN_WORDS[flag]
            yield flag, f"{show(text)} {named}, which {says}", witness
    order = any(
        token.longest_first != theirs[text].longest_first
        for text, token in ours.items()
        if text in theirs
    )
    pair = in_order_of_length([*ours.values()], taking) if order else None
    if pair is not None and not theirs.keys() - ours.keys():
        how = f"is in {show(pair[1])}" if pair[0] in pair[1] else f"and {show(pair[1])} overlap"
        yield "order", f"llama.cpp looks for the longest first: {show(pair[0])} {how}", None


def _found_too(
    model: BPEModel, ours: dict[str, AddedToken], theirs: dict[str, AddedToken]
) -> Iterator[tuple[str, str, str | None]]:
    """Tokens that llama.cpp finds in a text, and that are no added tokens of the model."""
    for more in (token for text, token in theirs.items() if text not in ours):
        if model.vocab.kinds.get(more.id) == "user_defined":
            behind = _BEHIND if puts_space(model) else ""
            yield "first", f"llama.cpp finds {show(more.text)} {_BEFORE}{behind}", None
        else:
            said = f"llama.cpp takes {show(more.text)} for a special token by its spelling"
            yield "too", said, more.text


def _decoder(trip: RoundTrip, decided: Decided) -> Words:
    model = trip.model
    verbatim = verbatim_of(trip.again.decoder or ())[0]
    if decided.refused and set(verbatim) - set(verbatim_of(model.decoder or ())[0]):
        return (
            "llama.cpp decodes tokens that it finds first as they are spelled (U+2581 is no "
            "space), and unused ones to nothing",
            "some ids would decode to another text",
        )
    if not decided.refused:
        return (
            "SentencePiece's own decoder is stated as llama.cpp's steps",
            "ids of texts are decoded alike; malformed bytes and special tokens are not",
        )
    return (
        "llama.cpp joins the tokens, writes U+2581 as a space and leaves the first one out"
        if model.alphabet == "char"
        else "llama.cpp joins the tokens' bytes",
        "some ids would decode to another text",
    )


def _extras(trip: RoundTrip) -> Words | None:
    if not any(isinstance(way, KeptHead) for way in trip.ways):
        return None
    settings = sorted(key for key in trip.model.extras if key != CHATS)
    return (
        f"settings of the source's file: {extras_told(trip.model.extras, {}, settings)}",
        "the keys of the file that the tokenizer is put into stay as they are; no id changes",
    )
