"""What is said of a field that a rank file and its sidecar cannot hold.

One number is both id and rank there, and whole pretokens are looked up. Numbers are decided as in
Theorem 13, lookups as in Theorem 8 (``docs/theory.md``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...entries import numbered
from ...loss import Loss
from ...model import BPEModel
from ...quoting import show
from ...theory.added_tokens import normalized_matters
from ...theory.byte_ranks import as_byte_ranks, rank_table
from ...theory.utf8 import missing_bytes, text_with
from ..losses import Decided, Words, flag_witness, looked_up_words, merges_words
from ..one_pattern import express
from ..round_trip import RoundTrip
from .ranks import MAX_RANK, written_tokens
from .sidecar import beginnings

_OURS = "what bpe_interop.load gives has tiktoken's methods, and the ids as they are"


def words(trip: RoundTrip, decided: Decided) -> Iterable[Words]:
    """The sentences of a rank file; nothing where what differs says enough."""
    if decided.field == "added" and decided.refused:
        return _added(trip.model)
    sentence = _sentence(trip, decided)
    return () if sentence is None else (sentence,)


def _sentence(trip: RoundTrip, decided: Decided) -> Words | None:
    model, field = trip.model, decided.field
    if field == "alphabet" and decided.refused:
        return (
            "merging starts from characters, tiktoken's from bytes",
            f"the ids of most texts would differ; {_OURS}",
        )
    if field == "vocab":
        return _vocab(model, decided)
    if field == "merges" and decided.refused:
        return merges_words(as_byte_ranks(model))
    if field == "lookup_first" and decided.refused:
        return looked_up_words(trip, decided, "tiktoken would find it")
    if field == "fallback":
        missing = missing_bytes(rank_table(model))
        if not missing:
            return None
        return (
            f"{len(missing)} bytes without a token are handled ({model.fallback.missing})",
            "tiktoken panics on a text that needs one of them",
            text_with(min(missing)),
        )
    if field == "pretokenizer" and model.pretokenizer is not None:
        expressed = express(model.pretokenizer)
        if isinstance(expressed, Loss):
            use = f"{expressed.consequence}; no pattern would be stated, and tiktoken needs one"
            if model.alphabet == "byte":  # said once, of the alphabet, where that is lost too
                use += f"; {_OURS}"
            return expressed.what, use, expressed.witness
    return None


def _vocab(model: BPEModel, decided: Decided) -> Words | None:
    table, kinds = rank_table(model), model.vocab.kinds
    for content, number in model.vocab.ids.items():
        if content not in table and content and kinds.get(number) != "byte":
            return (
                f"token {number}, {show(content)}, is no sequence of bytes that a text can contain",
                "the id could not be decoded",
            )
    if max(model.vocab.ids.values()) > MAX_RANK:
        return (
            f"an id above {MAX_RANK}, which means `no merge` to tiktoken",
            "the token would be left out",
        )
    return None


def _added(model: BPEModel) -> Iterator[Words]:
    added = model.added or ()
    plain = [token for token in added if not token.special]
    begin = beginnings(token.text for token in added)
    if plain:
        spelled = (token.text for token in plain if token.text.encode() not in model.vocab.ids)
        yield (
            f"added tokens that are not special ({len(plain):,}), which match in every text",
            f"{'those that are not left out' if begin else 'they'} would become special tokens "
            "with the same ids, which tiktoken matches only where they are allowed; elsewhere "
            "encode refuses them, and encode_ordinary takes them for text",
            next(spelled, None),
        )
    flagged = [token for token in added if token.looks_around]
    if flagged:
        yield (
            f"added tokens with lstrip, rstrip or single_word ({len(flagged):,})",
            "tiktoken knows no such flags: the text around the token would be kept or matched",
            flag_witness(flagged[0]),
        )
    late = [token for token in added if token.normalized]
    if late and (model.normalizer or normalized_matters(list(added))):
        yield (
            f"added tokens that are looked for in normalized text ({len(late):,})",
            "tiktoken looks for all special tokens at once, in the text as it stands",
        )
    if begin:
        short, long = next(iter(begin.items()))
        number = next(token.id for token in added if token.text == short)
        yield (
            f"added tokens that begin another one ({len(begin):,}), such as {show(short)} "
            f"({number}), which begins {show(long)}",
            "which of two tiktoken finds goes by the order of a hash table; they would be left "
            "out, and their ids could not be decoded",
        )
    contents = numbered(written_tokens(model), {token.id for token in added})
    for token in added:
        other = contents.get(token.id)
        if other is not None and other != token.text.encode():
            yield (
                f"{show(token.text)} has the id {token.id}, which is also the rank of "
                f"{show(other)}",
                "tiktoken could not distinguish the two; the special token would be left out",
            )
