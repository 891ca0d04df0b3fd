"""What a rank file and its sidecar cannot hold.

One number is both id and rank there, and whole pretokens are looked up. Numbers are decided as in
Theorem 13, lookups as in Theorem 8 (``docs/theory.md``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...diff import normalized_matters
from ...entries import numbered
from ...loss import Loss
from ...merging.canonical import canonical
from ...model import AddedToken, Affixes, BPEModel, Fallback, RankTable, Vocab, show
from ...steps import JoinBytes, JoinPieces
from ...text.charsmap import SPACE
from ...theory.byte_ranks import as_byte_ranks, rank_table
from ...theory.pretokens import missing_bytes, occurrence
from ...theory.witness import decoded_otherwise, text_with
from ..one_pattern import express, pat_str, read_pattern
from ..reasons import (
    affixes_lost,
    alphabet_lost,
    extras_lost,
    flag_witness,
    merges_lost,
    normalizer_lost,
    with_changed,
)
from ..round_trip import RoundTrip
from .ranks import MAX_RANK, written_tokens
from .sidecar import held_tokens, prefixed_text


def explain(trip: RoundTrip) -> Iterable[Loss]:
    """What would be lost, by field. Sequence template, roles and chat template are kept."""
    return with_changed(trip, _losses(trip.model))


def read_back(trip: RoundTrip) -> Mapping[str, Any]:
    """What a model becomes in a rank file and its sidecar, by what it holds."""
    model = trip.model
    numbers, pattern = written_tokens(model), pat_str(model)
    named = {token.text: token for token in held_tokens(model.added or (), numbers)}
    added = tuple(AddedToken(text, each.id, roles=each.roles) for text, each in named.items())
    ranks = {token: number for token, number in numbers.items() if token}
    return {
        "alphabet": "byte",
        "affixes": Affixes(),
        "vocab": Vocab(numbers),
        "merges": RankTable(ranks),
        "lookup_first": True,
        "fallback": Fallback(),
        "normalizer": (),
        "pretokenizer": None if pattern is None else read_pattern(pattern),
        "added": None if model.added is None else added,
        "sequence_template": model.sequence_template,
        "decoder": (JoinBytes(),),
        "chat_template": model.chat_template,
    }


def _losses(model: BPEModel) -> Iterator[Loss]:
    yield from rank_file_losses(model)
    yield from _vocab_losses(model)
    yield from _fallback_losses(model)
    yield from normalizer_lost(model, "tiktoken")
    if model.pretokenizer is not None:
        expressed = express(model.pretokenizer)
        if isinstance(expressed, Loss):
            yield expressed
    yield from _added_losses(model)
    yield from _numbers_taken(model)
    yield from _decoder_losses(model)
    yield from extras_lost(model)


def _vocab_losses(model: BPEModel) -> Iterator[Loss]:
    yield from affixes_lost(model, "tiktoken")
    if model.alphabet != "byte":
        rewrite = as_byte_ranks(model)
        yield alphabet_lost(rewrite, "tiktoken", rewrite.witness)
    if model.alphabet == "byte" and (
        model.vocab.scores or any(kind != "control" for kind in model.vocab.kinds.values())
    ):
        yield Loss(
            "vocab", "metadata", "kinds and scores of tokens", "they are left out; no id changes"
        )
    if max(model.vocab.ids.values()) > MAX_RANK:
        yield Loss(
            "vocab",
            "ids",
            f"an id above {MAX_RANK}, which means `no merge` to tiktoken",
            "the token would be left out",
            shown=False,
        )


def _fallback_losses(model: BPEModel) -> Iterator[Loss]:
    if model.fallback == Fallback():
        return
    missing = missing_bytes(rank_table(model))
    if missing:
        yield Loss(
            "fallback",
            "ids",
            f"{len(missing)} bytes without a token are handled ({model.fallback.missing})",
            "tiktoken panics on a text that needs one of them",
            witness=text_with(min(missing)),
        )
    else:
        yield Loss(
            "fallback", "metadata", "a rule for missing bytes", "no byte is missing; no id changes"
        )


def _decoder_losses(model: BPEModel) -> Iterator[Loss]:
    if model.decoder in (None, (JoinBytes(),)):
        return
    plain = any(step == JoinPieces(step.unknown, "none", False) for step in _pieces(model))
    same = plain and not any(SPACE.encode() in token for token in model.vocab.ids)
    yield Loss(
        "decoder",
        "metadata" if same and model.fallback.byte_fallback else "text",
        "tiktoken joins the tokens' bytes and reads them as UTF-8",
        "ids that no text gives would decode to another text"
        if same
        else "some ids would decode to another text",
        witness=decoded_otherwise(model),
    )


def _pieces(model: BPEModel) -> list[JoinPieces]:
    return [step for step in model.decoder or () if isinstance(step, JoinPieces)]


def _added_losses(model: BPEModel) -> Iterator[Loss]:
    added, normalizes = model.added or (), bool(model.normalizer)
    plain = [token for token in added if not token.special]
    if plain:
        spelled = [t.text for t in plain if t.text.encode() not in model.vocab.ids]
        yield _added_loss(
            f"{len(plain)} added tokens that are not special, which match in every text",
            "they would become special tokens with the same ids, which tiktoken matches only "
            "where they are allowed; elsewhere encode refuses them, and encode_ordinary takes them "
            "for text",
            next(iter(spelled), None),
        )
    flagged = [token for token in added if token.looks_around]
    if flagged:
        yield _added_loss(
            f"{len(flagged)} added tokens with lstrip, rstrip or single_word",
            "tiktoken knows no such flags: the text around the token would be kept or matched",
            flag_witness(flagged[0]),
        )
    late = [token for token in added if token.normalized]
    if late and (normalizes or normalized_matters(list(added))):
        yield _added_loss(
            f"{len(late)} added tokens that are looked for in normalized text",
            "tiktoken looks for all special tokens at once, in the text as it stands",
            None,
        )
    prefixed = prefixed_text(token.text for token in added)
    if prefixed is not None:
        short, long = prefixed
        yield _added_loss(
            f"the special token {show(short)} begins another one, {show(long)}",
            "which of the two tiktoken finds goes by the order of a hash table",
            None,
        )


def _added_loss(what: str, consequence: str, witness: str | None) -> Loss:
    return Loss("added", "text", what, consequence, witness=witness, shown=witness is not None)


def _numbers_taken(model: BPEModel) -> Iterator[Loss]:
    """Special tokens whose id is another token's rank: a rank file with them cannot be read."""
    contents = numbered(written_tokens(model), {token.id for token in model.added or ()})
    for token in model.added or ():
        other = contents.get(token.id)
        if other is not None and other != token.text.encode():
            yield _added_loss(
                f"{show(token.text)} has the id {token.id}, which is also the rank of "
                f"{show(other)}",
                "tiktoken could not distinguish the two; the special token would be left out",
                None,
            )
            return


def rank_file_losses(model: BPEModel) -> Iterator[Loss]:
    """What is lost where one number is both id and rank, and whole pretokens are looked up."""
    table = rank_table(model)
    kinds = model.vocab.kinds
    ids = model.vocab.ids
    for content, number in ids.items() if table is not ids else ():
        if content not in table and content and kinds.get(number) != "byte":
            yield Loss(
                "vocab",
                "text",
                f"token {number}, {show(content)}, is no sequence of bytes that a text can contain",
                "the id could not be decoded",
            )
    if model.alphabet == "byte":
        yield from merges_lost(as_byte_ranks(model))
    if not model.lookup_first:
        yield from _lookups(model, table)


def _lookups(model: BPEModel, table: Mapping[bytes, int]) -> Iterator[Loss]:
    """Tokens that a rank file finds by looking whole pretokens up, and the model never does."""
    undecided = []
    for content in canonical(model).unreachable:
        if content not in table:
            continue
        occurs = occurrence(model.pretokenizer or (), content)
        if occurs.possible:
            yield Loss(
                "lookup_first",
                "ids",
                f"{show(content)} is a token that no merge builds, and tiktoken would find it",
                "a pretoken that is such a token would be encoded as its id",
                witness=occurs.text,
            )
            return
        if occurs.possible is None:
            undecided.append(content)
    if undecided:
        yield Loss(
            "lookup_first",
            "ids",
            f"{len(undecided)} tokens that no merge builds would be looked up whole, such as "
            f"{show(undecided[0])}; whether a pretoken can be one of them is not decided",
            "a pretoken that is such a token would be encoded as its id",
            shown=False,
        )
