"""What is said of a field that a ``.model`` cannot hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...errors import BpeInteropError
from ...kernel.tables import as_dict
from ...merging.canonical import whole_lookups
from ...model import AddedToken, BPEModel, Json
from ...quoting import show
from ...steps import JoinPieces
from ...theory.rewrite import Obstruction, as_ranks, obstruction, ranks_of
from ...witnesses import Probe, missing_character
from ..losses import Decided, Words, flag_witness, merges_words, one_sentence
from ..round_trip import RoundTrip
from .normalizer import flags_of
from .write import found_as_piece


@one_sentence
def words(trip: RoundTrip, decided: Decided) -> Words | None:
    """The sentences of a ``.model``; None where what differs says enough."""
    model, field = trip.model, decided.field
    if field == "alphabet":
        return _alphabet(model)
    if field == "affixes":
        affix = model.affixes.suffix or model.affixes.prefix
        return (
            f"{show(affix)} is glued to symbols before they are merged",
            "SentencePiece glues nothing to them, and tokens spelled so would never be found",
        )
    if field == "vocab":
        return _vocab(trip)
    if field == "merges":
        return merges_words(as_ranks(model))
    if field == "lookup_first" and decided.refused:
        tokens = sorted(whole_lookups(model), key=lambda each: (len(each), each))
        return (
            f"{len(tokens)} tokens are found only by looking whole pretokens up, such as "
            f"{show(tokens[0])}",
            "SentencePiece looks nothing up, and would leave them in parts",
        )
    if field == "fallback":
        return _fallback(model, decided)
    if field == "normalizer" and decided.refused:
        return _normalizer(model)
    if field == "pretokenizer" and decided.refused:
        return "texts are cut before they are merged", "tokens would be merged across the cuts"
    if field == "added":
        return _added(trip, decided)
    if field == "sequence_template" and decided.refused:
        return (
            "the sequence template is more than a bos before and an eos after each text",
            "neither a .model nor the file beside it can say it",
        )
    if field == "decoder" and not decided.refused:
        return _decoder(trip)
    return _extras(trip) if field == "extras" else None


def _alphabet(model: BPEModel) -> Words:
    clash, reason = _contradiction(model), ""
    if clash is not None:
        first, second = (show(char) for char in clash.shorter)
        reason = (
            f": {first} and {second} are a token each in {show(clash.longer)} and not in "
            f"{show(clash.shorter)}, but SentencePiece keeps two tokens apart everywhere or "
            "nowhere"
        )
    return (
        f"SentencePiece merges the characters of a whole text, not the bytes of pretokens{reason}",
        "the ids of most texts would differ; those of single pretokens, spelled in GPT-2's byte "
        "alphabet, are the same (--pretoken-level of convert)",
        clash.longer if clash else None,
    )


def _contradiction(model: BPEModel) -> Obstruction | None:
    """Two texts that prove that no SentencePiece model gives the ids of both, if found."""
    probe = Probe(model)

    def encode(text: str) -> list[int]:
        try:
            return probe.ids(text) or []
        except BpeInteropError:  # a text that says nothing
            return []

    return obstruction(encode)


def _vocab(trip: RoundTrip) -> Words | None:
    model, again = trip.model, trip.again
    ids, unknown = model.vocab.ids, model.fallback.unknown
    there = as_dict(again.vocab.ids)
    lost = [t for t, n in ids.items() if there.get(t) != n and n != unknown]
    if lost:
        return (
            f"{len(lost)} tokens cannot be pieces with their ids, such as {show(lost[0])}",
            "a piece has no null character, one surface and one id, and its id is its position",
        )
    taken = {*ids.values(), *(token.id for token in model.added or ())}
    empty = next((number for number in range(max(taken)) if number not in taken), None)
    if empty is not None:
        return (
            f"{max(taken) + 1 - len(taken)} ids stand for nothing, such as {empty}",
            "each becomes an UNUSED piece, which no text gives",
        )
    ranks, kinds = ranks_of(model), model.vocab.kinds
    idle = [n for t, n in ids.items() if n not in kinds and t not in ranks and len(t.decode()) > 1]
    if idle:
        return (
            f"{len(idle)} tokens are never built, such as id {idle[0]}",
            "they become UNUSED pieces of the least score, which no text gives either",
        )
    return None


def _fallback(model: BPEModel, decided: Decided) -> Words:
    ours = model.fallback
    if not decided.refused:
        if ours.missing == "unknown":
            return (
                "characters without a token are replaced before merging",
                "SentencePiece replaces them afterwards; no id changes",
            )
        return (
            f"what becomes of characters without a token ({ours.missing}), which never happens",
            "an unknown piece is named, and no text gives it",
        )
    char = missing_character(model)
    if ours.byte_fallback:
        return (
            "byte fallback without all 256 byte tokens",
            "SentencePiece refuses such a model; missing characters would become unknown",
            char,
        )
    if ours.missing != "unknown":
        vanish = "vanish" if ours.missing == "drop" else "are an error"
        return (
            f"characters without a token {vanish}",
            "SentencePiece writes the unknown piece for them",
            char,
        )
    if not ours.fuse:
        return (
            "each character without a token is an unknown token of its own",
            "SentencePiece makes one of a run of them",
            None if char is None else char * 2,
        )
    return (
        "characters without a token are replaced before merging",
        "SentencePiece replaces them afterwards",
    )


def _normalizer(model: BPEModel) -> Words:
    if flags_of(model.normalizer or ()) is None:
        return (
            "these steps are not a character map and rules for spaces",
            "texts would be normalized otherwise",
        )
    return (
        "the texts that the normalizer leaves alone are not the user-defined pieces",
        "these would be normalized too, or others not",
    )


def _added(trip: RoundTrip, decided: Decided) -> Words | None:
    """The tokens that come back otherwise, by the first reason that one of them has."""
    model, read = trip.model, {token.text: token for token in trip.again.added or ()}
    if not decided.refused:
        return _renamed(model, read)
    reasons: dict[tuple[str, str], list[AddedToken]] = {}
    for token in model.added or ():
        other = read.get(token.text)
        if other is None or replace(other, roles=token.roles) != token:
            reasons.setdefault(_reason(token, read.get(token.text)), []).append(token)
    if not reasons:
        return None
    (what, consequence), tokens = next(iter(reasons.items()))
    return (
        f"added tokens {what} ({len(tokens):,}), such as {show(tokens[0].text)}",
        consequence,
        flag_witness(tokens[0]) or ("a" * tokens[0].normalized + tokens[0].text),
    )


def _reason(token: AddedToken, read: AddedToken | None) -> tuple[str, str]:
    """What is lost of an added token, and what follows."""
    if not token.special:
        return (
            "that are found in every text",
            "SentencePiece finds user-defined pieces only, as they are spelled and in normalized "
            "text, and would spell these tokens in parts",
        )
    if read is None:
        return (
            "share their id or their text with another token",
            "a piece has one type: it would be an ordinary piece, not a special token",
        )
    if token.looks_around:
        return (
            "with lstrip, rstrip or single_word",
            "a control piece has no such flags: where it is looked for, the text around it would "
            "be kept or matched",
        )
    if read.id != token.id:
        return "with ids that are no positions", "the pieces are numbered anew"
    return (
        "that are looked for in normalized text",
        "a control piece is looked for in the text as it is, if at all",
    )


def _renamed(model: BPEModel, read: dict[str, AddedToken]) -> Words | None:
    """Which tokens become pieces of another kind, or have other roles."""
    added = {token.text: token for token in model.added or ()}
    defined = [show(text) for text, token in added.items() if found_as_piece(token, model)]
    roles = {
        text: ({*token.roles}, {*read[text].roles}) for text, token in added.items() if text in read
    }
    gained = [show(text) for text, (ours, theirs) in roles.items() if ours < theirs]
    renamed = [show(text) for text, (ours, theirs) in roles.items() if not ours <= theirs]
    more = [show(text) for text in read if text not in added]
    changes = []
    if defined:
        changes.append(
            f"added tokens become user-defined pieces ({len(defined):,}), as {defined[0]}"
        )
    if gained:
        changes.append(
            f"{', '.join(gained[:4])} gain the roles that SentencePiece gives them, and lose none"
        )
    if renamed:
        changes.append(f"the roles of {', '.join(renamed[:4])} are those that SentencePiece gives")
    if more:
        changes.append(f"the piece {more[0]} is added, which every .model has")
    return ("; ".join(changes), "no text is encoded otherwise") if changes else None


def _decoder(trip: RoundTrip) -> Words | None:
    target = next((s for s in trip.again.decoder or () if isinstance(s, JoinPieces)), None)
    if target is None:
        return None
    return (
        "a chain of decoders is written as SentencePiece's own",
        "ids of texts are decoded alike; malformed bytes and special tokens are not: the unknown "
        f"token becomes {show(target.unknown)}, other special tokens become nothing",
    )


def _extras(trip: RoundTrip) -> Words | None:
    """The settings of the source's file that come back otherwise: those that pieces rule out."""
    if trip.model.extras.keys() != {"sentencepiece"}:
        return None
    own, back = trip.model.extras["sentencepiece"], trip.again.extras.get("sentencepiece")
    if not isinstance(own, dict):
        return None
    named = _lost(own, back if isinstance(back, dict) else {})
    what = "settings that name or count tokens that are written otherwise"
    if named:
        what = f"settings of the source file: {', '.join(named)}"
    return what, "they are left out; no id changes"


def _lost(own: Mapping[str, Json], back: Mapping[str, Json], before: str = "") -> list[str]:
    """The keys whose values come back otherwise, in order; of a spec its fields."""
    names: list[str] = []
    for key, value in sorted(own.items()):
        there = back.get(key)
        if key not in back or there != value:
            fields = value if isinstance(value, dict) else {}
            inner = _lost(fields, there if isinstance(there, dict) else {}, f"{key}.")
            names += inner or [f"{before}{key}"]
    return names
