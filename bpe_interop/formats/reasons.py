"""How formats explain why a value comes back otherwise, and the reasons that several have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from ..diff import diff
from ..loss import Grade, Loss
from ..merging.canonical import canonical
from ..model import AddedToken, Affixes, BPEModel, Json, show
from ..steps import JoinBytes, PreTokenizerStep, Split
from ..text.patterns import asks_other_tables, is_misread
from ..theory.byte_ranks import as_byte_ranks
from ..theory.cuts_apart import compared_cuts, texts_across
from ..theory.pretokens import missing_bytes
from ..theory.rewrite import Rewrite
from ..theory.witness import decoded_otherwise, first_changed, with_affixes
from ..witnesses import first_apart
from .round_trip import RoundTrip

NETWORK = "model_config"
"""The further settings that are of the network beside a tokenizer."""

Apart: TypeAlias = Callable[[Iterable[str]], "str | None"]
"""The first of some texts, or of a few plain ones, with other ids in the format, if any is."""

Reason: TypeAlias = Callable[[BPEModel, Apart], Iterable[Loss]]
"""What this value holds in a field that the format cannot: nothing, where it can hold it.

It does not see what came back. So a fault of a writer, which a comparison shows as well, is not
taken for something that the format cannot hold.
"""


def explained(trip: RoundTrip, reasons: Mapping[str, Reason]) -> Iterator[Loss]:
    """The reasons for the fields that come back otherwise, in their order.

    Args:
        trip: the model in the format, and back.
        reasons: why a field comes back otherwise, by its name.
    """

    def apart(texts: Iterable[str]) -> str | None:
        return first_apart(trip.model, trip.expected, texts)

    for field in changed_fields(trip):
        if field in reasons:
            yield from reasons[field](trip.model, apart)


def changed_fields(trip: RoundTrip) -> list[str]:
    """The fields that come back otherwise, where the format says so of the value (``read_back``).

    Of extras, of which every format keeps its own, it says nothing.
    """
    named = [difference.field for difference in trip.differences]
    if not trip.unexpected:  # then what came back differs from the model where it should
        return [field for field in named if field in trip.foretold or field == "extras"]
    changed = {difference.field for difference in diff(trip.model, trip.expected)}
    return [field for field in named if field in changed or field == "extras"]


def shown_by(witness: str | None, field: str, grade: Grade, what: str, consequence: str) -> Loss:
    """A loss that a text shows, or that is only not excluded where none is found."""
    return Loss(field, grade, what, consequence, witness=witness, shown=witness is not None)


def of_bytes(holder: str) -> dict[str, Reason]:
    """The reasons of a format that merges bytes, normalizes nothing and joins bytes.

    Args:
        holder: what the sentences call it.
    """

    def decoder(model: BPEModel, apart: Apart) -> Iterator[Loss]:
        if model.decoder != (JoinBytes(),):
            yield shown_by(
                decoded_otherwise(model),
                "decoder",
                "text",
                f"{holder} joins the tokens' bytes and reads them as UTF-8",
                "some ids would decode to another text",
            )

    def chat_template(model: BPEModel, apart: Apart) -> Iterator[Loss]:
        yield Loss("chat_template", "metadata", "the chat template", "it is left out")

    return {
        "affixes": lambda model, apart: affixes_lost(model, holder),
        "normalizer": lambda model, apart: normalizer_lost(model, holder),
        "decoder": decoder,
        "chat_template": chat_template,
        "extras": lambda model, apart: extras_lost(model),
    }


def with_changed(trip: RoundTrip, losses: Iterable[Loss]) -> Iterator[Loss]:
    """The losses that were found, and what merging over bytes makes of a model that does not.

    Args:
        trip: the model in the format, and back.
        losses: those that have a reason of their own.
    """
    model, named = trip.model, list(losses)
    yield from named
    if model.alphabet == "byte" and model.affixes == Affixes():
        return
    rewrite = as_byte_ranks(model)
    exact, witness = rewrite.rule is not None, rewrite.witness
    fields = _rewritten(model) - {loss.field for loss in named}
    for difference in diff(model, trip.expected):
        if difference.field in fields:
            yield Loss(
                difference.field,
                "metadata" if exact else "ids",
                f"{_OTHERWISE[difference.field]} otherwise: {difference.how}",
                "no id changes" if exact else "texts would have other ids",
                witness=witness,
                shown=exact or witness is not None,
            )


_OTHERWISE = {
    "added": "added tokens are found",
    "fallback": "missing characters are treated",
    "lookup_first": "whole pretokens are looked up",
    "merges": "symbols merge",
    "vocab": "tokens are kept",
}
"""What changes where merging starts from bytes, by field; no other field has that for a reason."""


def _rewritten(model: BPEModel) -> set[str]:
    fields = {*_OTHERWISE}
    return fields if "user_defined" in model.vocab.kinds.values() else fields - {"added"}


def built_of_missing(model: BPEModel) -> list[bytes]:
    """The tokens that are merged from a byte which has no token itself."""
    alone = {bytes([byte]) for byte in missing_bytes(model.vocab.ids)}
    splits = canonical(model).splits if alone else {}
    return [token for token, pair in splits.items() if alone.intersection(pair)]


def merges_of_missing(built: Sequence[bytes], consequence: str) -> Iterator[Loss]:
    """The loss of merges of bytes without a token."""
    if built:
        what = f"{len(built)} merges of bytes without a token, such as that of {show(built[0])}"
        yield Loss("merges", "ids", what, consequence, shown=False)


def merges_lost(rewrite: Rewrite) -> Iterator[Loss]:
    """The loss of merges that have no other form; nothing where there is a rule."""
    if rewrite.rule is None:
        what, consequence = rewrite.what, rewrite.consequence
        yield Loss("merges", "ids", what, consequence, rewrite.witness, rewrite.shown)


def affixes_lost(model: BPEModel, holder: str) -> Iterator[Loss]:
    """The loss of affixes; ``holder`` is what the sentence calls the target."""
    if model.affixes != Affixes():
        witness = with_affixes(model)
        yield Loss(
            "affixes",
            "ids",
            f"symbols are merged with something glued to them; {holder} has no such thing",
            "the ids of most texts would differ",
            witness=witness,
            shown=witness is not None,
        )


def normalizer_lost(model: BPEModel, holder: str) -> Iterator[Loss]:
    """The loss of a normalizer where there is none."""
    if model.normalizer:
        yield shown_by(
            first_changed(model.normalizer),
            "normalizer",
            "ids",
            f"texts are normalized before they are cut; {holder} never does",
            "texts that the normalizer changes would have other ids, unless they are normalized "
            "before",
        )


def flag_witness(token: AddedToken) -> str | None:
    """A text on which the first of a token's flags does something; None for other flags."""
    if token.lstrip:
        return f" {token.text}"
    if token.rstrip:
        return f"{token.text} "
    return f"a{token.text}" if token.single_word else None


def alphabet_lost(rewrite: Rewrite, holder: str, witness: str | None) -> Loss:
    """The loss of merging characters; of metadata only, where ``rewrite`` proves it equal."""
    exact = rewrite.rule is not None
    return Loss(
        "alphabet",
        "metadata" if exact else "ids",
        f"merging starts from characters, {holder}'s from bytes",
        f"no id changes ({rewrite.proof})" if exact else "the ids of most texts would differ",
        witness=None if exact else witness,
        shown=exact or witness is not None,
    )


def extras_told(extras: Mapping[str, Json], keys: Iterable[str]) -> str:
    """Further settings for people: by their format, and those of the network by their files."""
    return ", ".join(
        f"those of the network ({' and '.join(network_files(extras))})" if key == NETWORK else key
        for key in keys
    )


def network_files(extras: Mapping[str, Json]) -> tuple[str, ...]:
    """The files of the network beside a tokenizer, of which some settings were kept."""
    settings = extras.get(NETWORK)
    keys = {*settings} if isinstance(settings, dict) else set[str]()
    if "generation" not in keys:
        return ("config.json",)
    return (*(("config.json",) if len(keys) > 1 else ()), "generation_config.json")


def extras_lost(model: BPEModel) -> Iterator[Loss]:
    """The loss of settings that only the source's format understands."""
    if model.extras:
        yield Loss(
            "extras",
            "metadata",
            f"settings of the source format: {extras_told(model.extras, sorted(model.extras))}",
            "they are left out; no id changes",
        )


def tables_lost(trip: RoundTrip) -> Iterator[Loss]:
    """What is lost with the engine that a model's pattern is matched by.

    The Unicode tables of Python's ``regex`` are of another version than those of tiktoken and
    tokenizers (``text/unicode.py``), and it takes some patterns for others
    (``text/misreadings.py``). So the same pattern may cut a text elsewhere, in the steps that the
    format says it has (``read_back``).

    A loss is named where ``regex`` may misread the pattern, and where a text shows that tables
    differ. Where no text is found, nothing is named: whether one exists is for a proof to say. A
    format whose patterns are all ``regex``'s loses none of its tables: another pattern is another
    reason.
    """
    model, left = trip.model, trip.model.pretokenizer or ()
    if (trip.format.dialect == "python") is any(map(asks_other_tables, left)):
        return
    again, right = trip.expected, trip.expected.pretokenizer or ()
    if not _have_other_tables(model, again):
        return
    if any(map(_is_misread, (*left, *right))):
        yield Loss(
            "pretokenizer",
            "ids",
            "Python's regex may take the pattern for another one than it says",
            "texts would be cut elsewhere; write it without negated classes of one character",
            shown=False,
        )
        return
    compared = compared_cuts(left, right)
    if compared.text is None and not compared.why:
        return
    texts = [] if compared.text is None else [compared.text]
    texts += texts_across((model, again), left, right)
    yield from shown_by_text(model, again, texts)


def shown_by_text(model: BPEModel, again: BPEModel, texts: Iterable[str]) -> Iterator[Loss]:
    """The loss of Unicode tables, where one of these texts shows it, or a few plain ones."""
    if not _have_other_tables(model, again):
        return
    witness = first_apart(model, replace(model, pretokenizer=again.pretokenizer), texts)
    if witness is not None:
        yield Loss(
            "pretokenizer",
            "ids",
            "Python's regex cuts with Unicode tables of another version than the other engine's",
            "texts would be cut elsewhere; write out in the pattern which characters are meant",
            witness=witness,
        )


def _have_other_tables(a: BPEModel, b: BPEModel) -> bool:
    """Whether two models, which both split texts, match patterns by other tables."""
    left, right = a.pretokenizer, b.pretokenizer
    if not left or not right or left == right:
        return False
    return any(map(asks_other_tables, left)) is not any(map(asks_other_tables, right))


def _is_misread(step: PreTokenizerStep) -> bool:
    pattern = step.pattern if isinstance(step, Split) else ""
    return not isinstance(pattern, str) and is_misread(pattern)
