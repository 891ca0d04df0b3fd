"""Ids as ranks over bytes, as a rank file has them (Theorem 13), of characters too (Theorem 25)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import chain, pairwise

from ..entries import numbered
from ..memo import Memo
from ..model import Affixes, BPEModel, Fallback, RankTable, Vocab
from ..quoting import show
from ..steps import ByteChars
from .contexts import plain_contexts
from .equality import System, decide, system_of
from .pretokens import text_for
from .rewrite import Rewrite, refused, refused_affixes
from .utf8 import UTF8_BYTES, text_with


@Memo
def rank_table(model: BPEModel) -> Mapping[bytes, int]:
    """The tokens that a rank file would rank, each by its id: not control, UNUSED or empty ones.

    A token for a byte (``<0xE4>``) is that byte.
    """
    kinds, ids = model.vocab.kinds, model.vocab.ids
    if not kinds:
        return ids if b"" not in ids else {t: number for t, number in ids.items() if t}
    of_bytes = {number for number, kind in kinds.items() if kind == "byte"}
    out = {number for number, kind in kinds.items() if kind in ("byte", "control", "unused")}
    bytes_of = numbered(ids, of_bytes)
    table = {bytes([int(name[3:5], 16)]): number for number, name in bytes_of.items()}
    table |= {content: number for content, number in ids.items() if number not in out}
    table.pop(b"", None)
    return table


def as_byte_ranks(model: BPEModel) -> Rewrite:
    """The ids as ranks over the bytes of the normalized text, as tiktoken runs them.

    Whole-pretoken lookup is left aside.
    """
    if model.affixes != Affixes():
        return refused_affixes()
    table = rank_table(model)
    ranks = RankTable(table)
    ours, theirs = system_of(model), System(ranks, table)
    if model.alphabet == "char":
        # The conditions of Theorem 25; with them, it is decided.
        refusal = _frozen(model) or _fallback(model, table) or _long_character(model)
        refusal = refusal or _merged_missing(model, ours, theirs)
        if refusal is not None:
            return refusal
    elif isinstance(model.merges, RankTable) and _same_order(model.merges.ranks, table):
        return Rewrite(ranks, "the ids are in the order of the ranks")
    utf8 = ByteChars() not in (model.pretokenizer or ())

    # tiktoken looks a whole pretoken up first, so one that is a token shows nothing (Theorem 8).
    def ok(content: bytes) -> bool:
        return content not in table and text_for(model, content) is not None

    decision = decide(ours, theirs, ok=ok, utf8=utf8)
    if decision.verdict == "proved":
        return Rewrite(ranks, decision.why)
    what = "the ids are not in the order of the merges"
    inverted = _first_inversion(ours, table)
    if inverted is not None:
        left, right = inverted
        ids = f"{table[left]} and {table[right]}"
        what += f" ({show(left)} merges before {show(right)}, with ids {ids})"
    return refused(
        model,
        decision,
        ranks,
        what,
        "a rank file writes one number for id and rank, so other pairs would merge first",
    )


def over_bytes(model: BPEModel) -> BPEModel | None:
    """A character-level model with the same ids over bytes, where that is proved; else None."""
    rule = as_byte_ranks(model).rule
    if rule is None:
        return None
    tokens = Vocab(rank_table(model))
    return replace(model, alphabet="byte", vocab=tokens, merges=rule, fallback=Fallback())


def _frozen(model: BPEModel) -> Rewrite | None:
    kinds = model.vocab.kinds.values()
    for kind in ("user_defined", "unused"):
        if kind in kinds:
            return Rewrite(
                None,
                what=f"tokens are of kind {kind}",
                consequence="a rank file has only tokens that merge",
                shown=False,
            )
    return None


def _fallback(model: BPEModel, table: Mapping[bytes, int]) -> Rewrite | None:
    """Refuses what becomes of missing characters, where that is not their bytes."""
    fallback, witness = model.fallback, None
    if fallback.byte_fallback:
        lacking = UTF8_BYTES - {token[0] for token in table if len(token) == 1}
        if not lacking:
            return None
        what = f"{len(lacking)} bytes have no token"
        witness = text_with(min(lacking))
    elif fallback.missing == "error":
        return None
    else:
        what = f"characters without a token are handled ({fallback.missing})"
        # Printable ones; 0x7F to 0x9F are controls.
        chars = (chr(point) for point in range(0x21, 0x3000) if not 0x7F <= point < 0xA0)
        missing = (char for char in chars if char.encode("utf-8") not in table)
        witness = next(missing, "\U0001f642")
    return Rewrite(
        None,
        what=what,
        consequence="merging bytes leaves the bytes of such a character, which have no tokens",
        witness=witness,
    )


def _long_character(model: BPEModel) -> Rewrite | None:
    """Refuses a character of three or four bytes that is one token."""
    # Theorem 25: the last merge that builds it would join one byte and the others, which are no
    # UTF-8, so no token of the model.
    for content in model.vocab.ids:
        if 2 < len(content) <= 4 and len(content.decode("utf-8")) == 1:
            texts = (text_for(model, whole) for whole in plain_contexts(content))
            witness = next((text for text in texts if text is not None), None)
            if witness is not None:
                return Rewrite(
                    None,
                    what=f"{show(content)} is one token, and {len(content)} bytes",
                    consequence="merging bytes, it would have to be built from a part of it, "
                    "which is no token",
                    witness=witness,
                )
    return None


def _merged_missing(model: BPEModel, ours: System, theirs: System) -> Rewrite | None:
    """Refuses a token that is merged from a missing character of several bytes."""
    # Theorem 25: SentencePiece merges such a character before it falls back; over bytes it would
    # have to be built first, and is no token.
    table = theirs.tokens

    def missing(content: bytes) -> bool:
        return any(char.encode() not in table for char in content.decode())

    merged = next((token for token in ours.form.splits if missing(token)), None)
    if merged is None:
        return None

    def differ(content: bytes) -> bool:
        parts = ours.run(content)
        known = ([part] if part in table else [bytes([byte]) for byte in part] for part in parts)
        return tuple(chain.from_iterable(known)) != theirs.run(content)

    contents = (content for content in plain_contexts(merged) if content not in table)
    texts = (text_for(model, content) for content in contents if differ(content))
    witness = next((text for text in texts if text is not None), None)
    char = next(char for char in merged.decode() if missing(char.encode()))
    return Rewrite(
        None,
        what=f"{show(merged)} is merged from {show(char.encode())}, which is no token",
        consequence="merging bytes leaves the bytes of such a character as they are",
        witness=witness,
        shown=witness is not None,
    )


def _same_order(ranks: Mapping[bytes, int], table: Mapping[bytes, int]) -> bool:
    """Whether they have the same tokens in one order, none of them tied."""
    if ranks == table:
        return True
    if any(len(set(numbers.values())) < len(numbers) for numbers in (ranks, table)):
        return False
    return sorted(ranks, key=ranks.__getitem__) == sorted(table, key=table.__getitem__)


def _first_inversion(own: System, table: Mapping[bytes, int]) -> tuple[bytes, bytes] | None:
    """Two tokens of which the first merges earlier and has the greater id."""
    pairs = pairwise(token for token in own.form.splits if token in table)
    return next(((one, two) for one, two in pairs if table[two] < table[one]), None)
