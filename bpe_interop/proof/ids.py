"""Whole-pretoken lookup (Theorem 8), and the ids of tokens."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

from ..entries import compare_entries, numbered, without
from ..errors import EncodeError
from ..kernel.tables import as_dict
from ..memo import Memo
from ..merging.canonical import canonical, whole_lookups
from ..merging.symbols import user_defined
from ..model import BPEModel
from ..quoting import show
from ..theory.added_tokens import overlap
from ..theory.equality import base_symbols
from ..theory.pretokens import occurrence
from ..theory.utf8 import falls_back_to_bytes, has_utf8_bytes
from .stage import Stage, TwoModels, single_characters


def lookup_stage(pair: TwoModels) -> Stage:
    """Tokens that are found only because whole pretokens are looked up before merging."""
    name = "lookup"
    lookups = {"a": whole_lookups(pair.a), "b": whole_lookups(pair.b)}
    tokens = lookups["a"] | lookups["b"]
    if not tokens:
        return Stage(name, "proved", "no token is found by lookup only")
    if lookups["a"] == lookups["b"]:
        return Stage(name, "proved", f"the same {len(tokens):,} tokens are found by lookup only")
    open_questions = []
    # The shortest token makes the plainest witness.
    for content in sorted(tokens, key=lambda each: (len(each), each)):
        if _alike(pair, content):
            continue
        # Theorem 8: it matters only if it can be a pretoken.
        steps = (m.pretokenizer or () for m in (pair.a, pair.b))
        if all(occurrence(each, content).possible is False for each in steps):
            continue
        # Theorem 32 says nothing in the scope "text", in which no added token is looked for.
        if pair.scope != "text" and all(_always_cut_out(m, content) for m in (pair.a, pair.b)):
            continue
        witness = next(filter(pair.differ, pair.texts_of(content)), None)
        why = f"{show(content)} is looked up whole on one side only"
        if witness is not None:
            return Stage(name, "different", why, witness)
        open_questions.append(why)
    if open_questions:
        return Stage(name, "unknown", f"{open_questions[0]}; whether it can be a pretoken is open")
    why = "no pretoken is a token on which the lookups differ (Theorems 8 and 32)"
    return Stage(name, "proved", why)


def _always_cut_out(model: BPEModel, content: bytes) -> bool:
    """Whether no text that added tokens leave holds this: the conditions of Theorem 32."""
    if model.normalizer:
        return False
    own = [token for token in model.added or () if token.text.encode() == content]
    return any(
        not (token.special or token.single_word or token.normalized) for token in own
    ) and not any(
        overlap(token.text, own[0].text)
        for token in model.added or ()
        if token.special or token.single_word
    )


def _alike(pair: TwoModels, content: bytes) -> bool:
    try:
        return pair.one.encode_pretoken(content) == pair.two.encode_pretoken(content)
    except (EncodeError, UnicodeDecodeError):
        return False  # not shown to be alike, so the caller looks closer


def ids_stage(pair: TwoModels) -> Stage:
    """The ids of all tokens that a text can be given; the core compares that of what is none."""
    name = "ids"
    left, right = (given_tokens(model) for model in (pair.a, pair.b))
    entries = compare_entries(left, right)
    moved = sorted(entries.moved, key=len)
    if not moved:
        return Stage(name, "proved", f"{entries.shared:,} tokens that texts give: the same ids")
    texts = chain.from_iterable(pair.texts_of_token(token) for token in moved)
    why = f"{show(moved[0])} has the id {left[moved[0]]} in the first, {right[moved[0]]} in"
    why += " the second"
    return pair.tried(name, why, chain(texts, single_characters()))


@Memo
def given_tokens(model: BPEModel) -> Mapping[bytes, int]:
    """The tokens that merging, lookup or fallback give, and their ids."""
    ids, kinds = model.vocab.ids, model.vocab.kinds
    others = base_symbols(model) | whole_lookups(model)
    if not kinds:
        # What merging does not build is a single symbol, or unreachable.
        rest = {*canonical(model).unreachable, *map(bytes, zip(range(256)))}
        return without(ids, [token for token in rest - others if token in ids])
    built = as_dict(canonical(model).splits)
    others |= {text.encode("utf-8") for text in user_defined(model)}
    unused, of_bytes = ({n for n in kinds if kinds[n] == kind} for kind in ("unused", "byte"))
    given = {t: n for t, n in ids.items() if (t in built or t in others) and n not in unused}
    return given | {token: n for n, token in numbered(ids, of_bytes).items()}


def unknown_id(model: BPEModel) -> int | None:
    """The id of what is no token, where a text can have such a thing."""
    if falls_back_to_bytes(model) or has_utf8_bytes(model):
        return None
    return model.fallback.unknown
