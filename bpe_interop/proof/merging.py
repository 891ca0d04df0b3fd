"""The core: what merging makes of a pretoken (Theorems 5, 23, 25 and 28)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain, islice

from ..diff import difference
from ..encode.pretoken import byte_ids
from ..merging.canonical import canonical
from ..merging.symbols import UserDefined, textual, user_defined
from ..model import Affixes, BPEModel
from ..quoting import show
from ..steps import ByteChars
from ..theory.added_tokens import same_in_one_pass
from ..theory.equality import Decision, base_symbols, decide, system_of
from ..theory.normalizers import plain_normalizer
from ..theory.unused_pieces import decide_resplit, without_unused_characters
from ..theory.user_defined import found_as_added, stays_symbol
from ..theory.utf8 import UTF8_BYTES, has_utf8_bytes
from .stage import Stage, TwoModels, single_characters

_NAME = "core"
_MERGING = ("vocab", "merges", "alphabet", "affixes", "fallback")
_MOST_TEXTS = 1000
"""How many characters with tokens for their bytes on one side only are tried."""


def core_stage(pair: TwoModels) -> Stage:
    """What merging makes of a pretoken, missing symbols and UNUSED tokens included."""
    a, b = pair.a, pair.b
    if all(getattr(a, field) == getattr(b, field) for field in _MERGING):
        return Stage(_NAME, "proved", "the same vocabulary and merges")
    # Theorem 28: without UNUSED characters that are as if missing, the same is asked again.
    left, right = without_unused_characters(a), without_unused_characters(b)
    if left is not a or right is not b:
        return core_stage(TwoModels(left, right, pair.scope))
    if a.alphabet != b.alphabet or a.affixes != b.affixes:
        return pair.tried(_NAME, "merging starts from other symbols", pair.token_texts())
    lone = base_symbols(a) ^ base_symbols(b)
    # Where every byte of UTF-8 has a token, nothing falls back. Without lone ones both have all of
    # them, or neither.
    fallback = difference(pair.a, pair.b, "fallback")
    if fallback is not None and (lone or not has_utf8_bytes(a)):
        why = f"other rules for symbols without a token: {fallback.how}"
        return pair.tried(_NAME, why, chain(single_characters(), pair.token_texts()))
    if lone:
        why = f"{show(min(lone))} is a base symbol on one side only"
        texts = chain.from_iterable(map(pair.texts_of_token, sorted(lone)))
        return pair.tried(_NAME, why, chain(texts, single_characters(), pair.token_texts()))
    in_bytes = [*islice(_characters_of_other_bytes(a, b), _MOST_TEXTS)]
    if in_bytes:
        why = f"{show(in_bytes[0].encode())} has tokens for its bytes on one side only"
        return pair.tried(_NAME, why, chain(in_bytes, pair.token_texts()))
    why = _other_user_defined(pair) or _other_unused(a, b)
    if why:
        return pair.tried(_NAME, why, pair.token_texts())
    if pair.most is not None:
        # Any text will do: one of a token that one side only builds spares the search (Theorem 5).
        only = pair.built_once()
        why = f"{show(only[0])} is built on one side only" if only else ""
        stage = pair.tried(_NAME, why, chain.from_iterable(map(pair.texts_of, only)))
        if stage.outcome == "different":
            return stage
    return _decided(pair)


def _decided(pair: TwoModels) -> Stage:
    texts: dict[bytes, str] = {}

    def shows(content: bytes) -> bool:
        text = next(filter(pair.differ, pair.texts_of(content)), None)
        if text is not None:
            # A decision names a content only; the stage needs its text.
            texts[content] = text
        return text is not None

    decision = _decision(pair, shows)
    if decision.verdict == "proved":
        return Stage(_NAME, "proved", decision.why)
    if decision.content is not None:
        split = " and ".join("+".join(map(show, t)) for t in (decision.ours, decision.theirs))
        return Stage(_NAME, "different", f"merging gives {split}", texts[decision.content])
    return Stage(_NAME, "unknown", f"not decided: {decision.why}")


def _decision(pair: TwoModels, shows: Callable[[bytes], bool]) -> Decision:
    a, b = pair.a, pair.b
    frozen = UserDefined({*user_defined(a), *user_defined(b)})

    def holds(content: bytes) -> bool:
        return any(frozen.find(content.decode("utf-8", "replace")))

    # Theorem 24: user-defined tokens are cut out first, so nothing that merges holds one.
    never = holds if frozen else None
    ours, theirs = unused(a), unused(b)
    if ours == theirs:
        # Theorem 24: equal UNUSED tokens with equal splits are split alike in the end, so they are
        # compared as ordinary ones.
        utf8 = _whole_characters(a) and _whole_characters(b)
        return decide(system_of(a), system_of(b), ok=shows, never=never, utf8=utf8)
    # One side only has any by now, and the other builds none of them: the conditions of Theorem 23
    # that `_other_unused` asks for.
    if not theirs:
        return decide_resplit(system_of(a), ours, system_of(b), ok=shows, never=never)
    return decide_resplit(system_of(b), theirs, system_of(a), ok=shows, never=never)


def _whole_characters(model: BPEModel) -> bool:
    """Whether only whole characters are merged: no step cuts inside one, no byte is dropped."""
    if ByteChars() in (model.pretokenizer or ()):
        return False
    return model.fallback.missing != "drop" or has_utf8_bytes(model)


def _characters_of_other_bytes(a: BPEModel, b: BPEModel) -> Iterator[str]:
    """The characters that may become the tokens of their bytes on one side only.

    Both sides have the same single symbols.
    """
    # A missing symbol is one character, and becomes bytes where all of them have tokens; affixes
    # are bytes of it too.
    if not (a.fallback.byte_fallback and b.fallback.byte_fallback):
        return
    ours, theirs = ({*byte_ids(model)} for model in (a, b))
    one_sided = (ours ^ theirs) & UTF8_BYTES
    for point in range(0x110000) if one_sided else ():
        if 0xD800 <= point < 0xE000:
            continue
        symbol = chr(point).encode("utf-8")
        if one_sided.isdisjoint(symbol):
            continue
        if a.affixes != Affixes() or (
            (ours.issuperset(symbol) or theirs.issuperset(symbol)) and symbol not in textual(a)
        ):
            yield chr(point)


def _other_user_defined(pair: TwoModels) -> str:
    """Why the two may not cut out the same user-defined tokens, if so."""
    # Theorem 24: they do if these are the same, or if all of them are added tokens of the other
    # side, nothing else is looked for in the normalized text, and nothing splits it.
    a, b = pair.a, pair.b
    left, right = _frozen(a), _frozen(b)
    added_a, added_b = (_found_first(model) for model in (a, b))
    placed = pair.scope != "text" and added_a is not None and added_a == added_b
    placed = placed and not (a.pretokenizer or b.pretokenizer)
    if left != right and not placed:
        text = min(left ^ right)
        return f"{show(text)} is a user-defined token on one side only"
    # A single character that neither side merges with anything is cut out by itself.
    singles = {t for t in {*user_defined(a)} ^ {*user_defined(b)} if len(t) == 1}
    if placed:
        singles -= {text for text, _ in added_a or ()}
    for model in (a, b):
        for token in canonical(model).splits if singles else ():
            if not singles.isdisjoint(token.decode("utf-8", "replace")):
                return f"{show(token)} holds a user-defined token of the other side"
    return ""


def _frozen(model: BPEModel) -> set[str]:
    """The user-defined tokens that are more than one symbol, and that a text can hold."""
    return {text for text in user_defined(model) if not stays_symbol(model, text)}


def _found_first(model: BPEModel) -> set[tuple[str, int]] | None:
    """All that is found in the normalized text: user-defined tokens, added ones that are alike.

    None where there is more to it: a token that added ones cannot stand for, or with flags.
    """
    as_added, plain = found_as_added(model), [t for t in model.added or () if not t.special]
    added = {(token.text, token.id) for token in as_added}
    texts = {text for text, _ in added}
    if not _frozen(model) <= texts:
        return None
    steps = plain_normalizer(model.normalizer or ())
    late = [replace(token, normalized=True) for token in plain]
    # Theorem 18: whether they may as well be found before the normalizer.
    either = same_in_one_pass(steps, [*plain, *as_added]) and same_in_one_pass(steps, late)
    for token in model.added or ():
        if token.normalized and (token.special or token.looks_around):
            return None
        alike = either and not (token.special or token.looks_around or token.longest_first)
        if token.normalized or alike:
            added.add((token.text, token.id))
    return added


def _other_unused(a: BPEModel, b: BPEModel) -> str:
    """Why UNUSED tokens may not be split alike, if so."""
    ours, theirs = unused(a), unused(b)
    if not ours and not theirs:
        return ""
    if ours == theirs:
        one, two = canonical(a).splits, canonical(b).splits
        other = next((token for token in ours if one.get(token) != two.get(token)), None)
        return "" if other is None else f"the unused {show(other)} is split otherwise"
    if ours and theirs:
        return "other unused tokens"
    # Theorem 23 asks that the other side builds none of them.
    tokens, other_model = (ours, b) if ours else (theirs, a)
    built = canonical(other_model).splits
    for token in tokens:
        if len(token.decode("utf-8")) == 1 or token in built or a.affixes != Affixes():
            return f"the unused {show(token)} is a token on the other side"
    return ""


def unused(model: BPEModel) -> set[bytes]:
    """The tokens that are split again in the end."""
    ids, kinds = model.vocab.ids, model.vocab.kinds
    if "unused" not in kinds.values():
        return set()
    return {token for token, number in ids.items() if kinds.get(number) == "unused"}
