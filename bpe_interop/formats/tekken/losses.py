"""What a value holds that tekken.json cannot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from ...loss import Loss
from ...model import BPEModel, Fallback, PairList, show
from ...steps import Pattern, Split
from ...text.patterns import same
from ...theory.byte_ranks import as_byte_ranks, rank_table
from ...theory.pretokens import missing_bytes
from ...theory.witness import text_for, text_with
from ..one_pattern import express, read_pattern
from ..reasons import Apart, Reason, explained, extras_told, of_bytes, shown_by
from ..round_trip import RoundTrip
from .extras import KEY, kept_of, unfit
from .read import ROLES
from .write import special_names, written_tokens


def explain(trip: RoundTrip) -> Iterator[Loss]:
    """Why fields come back otherwise, where the value gives a reason."""
    return explained(trip, _REASONS)


def _alphabet(model: BPEModel, apart: Apart) -> Iterator[Loss]:
    if model.alphabet != "byte":
        yield Loss(
            "alphabet",
            "ids",
            "merging starts from characters, tekken's from bytes",
            "the ids of most texts would differ",
            shown=False,
        )


def _vocab(model: BPEModel, apart: Apart) -> Iterator[Loss]:
    """Ids follow from the order: special tokens, the 256 bytes, then the other tokens."""
    ids, table = model.vocab.ids, rank_table(model)
    first = min(table.values(), default=0)
    missing = next((byte for byte in range(256) if bytes([byte]) not in table), None)
    by_id = sorted(table, key=table.__getitem__)
    follows = (
        by_id[:256] == [bytes([byte]) for byte in range(256)]
        and len(by_id) == max(table.values()) - first + 1
        and all(token.id < first for token in model.added or ())
    )
    left_out = next((content for content in ids if content not in table), None)
    if missing is not None or not follows or left_out is not None:
        start = len(special_names(model))
        places = {token: start + rank for rank, token in enumerate(written_tokens(model))}
        moved = next((token for token in ids if places.get(token) != ids[token]), None)
        if moved is not None:
            witness = text_for(model, moved)
            yield shown_by(
                witness,
                "vocab",
                "ids",
                "ids follow from the order of the tokens, after the special tokens: "
                f"{show(moved)} would be {places.get(moved, 'gone')}, not {ids[moved]}",
                "the ids of most texts would differ",
            )
        elif missing is not None:
            yield Loss(
                "vocab",
                "ids",
                f"{show(bytes([missing]))} must be a token: the first 256 are the bytes",
                "texts that need it would have other ids",
                shown=False,
            )
    elif model.vocab.kinds or model.vocab.scores:
        yield Loss("vocab", "metadata", "kinds and scores of tokens", "no id changes")


def _merges(model: BPEModel, apart: Apart) -> Iterator[Loss]:
    if as_byte_ranks(model).rule is None or missing_bytes(rank_table(model)):
        yield Loss(
            "merges",
            "ids",
            "a rank is an id here, and the ids are not in the order of the merges",
            "other pairs would merge first",
            shown=False,
        )
    elif model.alphabet == "char" or isinstance(model.merges, PairList):
        yield Loss(
            "merges",
            "ids",
            "ranks belong to tokens here, and any pair that makes a token may merge",
            "it is not shown that the same pairs merge",
            shown=False,
        )


def _lookup_first(model: BPEModel, apart: Apart) -> Iterator[Loss]:
    if not model.lookup_first:
        yield Loss(
            "lookup_first",
            "ids",
            "a pretoken that is a token is looked up before anything is merged",
            "a pretoken that no merge builds would be encoded as its id",
            shown=False,
        )


def _fallback(model: BPEModel, apart: Apart) -> Iterator[Loss]:
    missing = missing_bytes(rank_table(model))
    if missing or model.fallback != Fallback():
        yield Loss(
            "fallback",
            "ids" if missing else "metadata",
            "a rule for missing bytes",
            "tekken.json has a token for each byte" if missing else "no byte is missing",
            witness=text_with(min(missing)) if missing else None,
        )


def _pretokenizer(model: BPEModel, apart: Apart) -> Iterator[Loss]:
    steps = model.pretokenizer or ()
    pattern = express(steps)
    if isinstance(pattern, Loss):
        yield pattern
        return
    own = steps[0].pattern if steps and isinstance(steps[0], Split) else pattern
    if not isinstance(own, Pattern) or not same(own, pattern):
        yield Loss(
            "pretokenizer",
            "ids",
            "the pattern is another one in the dialect of tekken.json",
            "it is not shown that both cut all texts alike",
            shown=False,
        )
    elif not read_pattern(pattern.source):
        yield Loss(
            "pretokenizer",
            "metadata",
            "the pattern takes each text whole, and is read back as none",
            "no id changes",
        )


def _added(model: BPEModel, apart: Apart) -> Iterator[Loss]:
    if not _only_names(model):
        yield Loss(
            "added",
            "text",
            "special tokens must have the ids below the vocabulary's, and have no flags",
            "they would have other ids, or be found otherwise",
            shown=False,
        )


def _only_names(model: BPEModel) -> bool:
    """Whether added tokens are names of all ids below the vocabulary's, and nothing more."""
    added = model.added or ()
    first = min(rank_table(model).values(), default=0)
    plain = all(
        token.special
        and not (token.looks_around or token.normalized)
        and not (token.ascii_space or token.longest_first)
        and token.roles == ((ROLES[token.text],) if token.text in ROLES else ())
        for token in added
    )
    numbers = sorted(token.id for token in added)
    return plain and numbers == [*range(first)] and "user_defined" not in model.vocab.kinds.values()


def _sequence_template(model: BPEModel, apart: Apart) -> Iterator[Loss]:
    yield Loss(
        "sequence_template",
        "text",
        "tekken.json has no place for the tokens around a text",
        "who reads it must ask for bos and eos",
        shown=False,
    )


def _extras(model: BPEModel, apart: Apart) -> Iterator[Loss]:
    """Settings of other formats; of its own, those that are not of this vocabulary."""
    others = sorted(model.extras.keys() - {KEY})
    if others:
        yield Loss(
            "extras",
            "metadata",
            f"settings of the source format: {extras_told(model.extras, others)}",
            "they are left out; no id changes",
        )
    kept = kept_of(model)
    why = (
        "they are not in the form that is kept"
        if kept is None
        else unfit(model, kept, special_names(model))
    )
    if KEY in model.extras and (why or not _only_names(model)):
        yield Loss(
            "extras",
            "metadata",
            "what was kept of a tekken.json is not that of this vocabulary"
            + (f": {why}" if why else ""),
            "it comes back otherwise; no id changes",
        )


_REASONS: Mapping[str, Reason] = MappingProxyType(
    {
        **of_bytes("tekken"),
        "alphabet": _alphabet,
        "vocab": _vocab,
        "merges": _merges,
        "lookup_first": _lookup_first,
        "fallback": _fallback,
        "pretokenizer": _pretokenizer,
        "added": _added,
        "sequence_template": _sequence_template,
        "extras": _extras,
    }
)
