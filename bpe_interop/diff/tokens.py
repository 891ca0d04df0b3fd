"""How vocabularies, merges, fallbacks and added tokens differ: what ``diff`` says of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, zip_longest
from operator import eq
from typing import TypeAlias

from ..entries import Entries, compare_entries, without
from ..kernel.tables import as_dict
from ..memo import Memo
from ..merging.canonical import Canonical, canonical
from ..merging.scores import order_of
from ..merging.symbols import UserDefined, user_defined
from ..model import FLAGS_IN_WORDS, AddedToken, Affixes, BPEModel, Fallback, Kind, PairList
from ..quoting import show
from ..steps import ByteChars, Metaspace, PrefixSpace
from ..text.normalize import normalize
from ..theory.added_tokens import overlap
from ..theory.equality import System, decide, plainly_equal, system_of
from ..theory.normalizers import plain_normalizer
from ..theory.rewrite import as_pairs
from ..theory.user_defined import found_as_added, is_as_good_as_normal, matching_tokens
from ..theory.utf8 import UTF8_BYTES

Splits: TypeAlias = Mapping[bytes, tuple[bytes, bytes]]


def compare_affixes(a: BPEModel, b: BPEModel) -> str:
    """What is glued to symbols."""
    if a.affixes == b.affixes:
        return ""
    left, right = (
        f"prefix {show(affixes.prefix)}, suffix {show(affixes.suffix)}"
        for affixes in (a.affixes, b.affixes)
    )
    return f"{left} in the first; {right} in the second"


def compare_vocab(a: BPEModel, b: BPEModel) -> str:
    """Contents and ids, kinds that change an id, and the order of scores where both have them."""
    left, right = _ids(a), _ids(b)
    entries = compare_entries(left, right)
    if not entries.same:
        return _ids_differ(left, right, entries)
    kinds_a, kinds_b = _kinds(a), _kinds(b)
    for content, number in left.items() if kinds_a or kinds_b else ():
        x, y = kinds_a.get(number, "normal"), kinds_b.get(number, "normal")
        if x != y:
            return f"{show(content)} is of kind {x} in the first, {y} in the second"
    if not a.vocab.scores or not b.vocab.scores:
        return ""  # a source that has none does not contradict one that has
    # By their order only: the merges say what scores mean.
    return "" if _order(a, left) == _order(b, left) else "the order of the tokens' scores"


def _ids(model: BPEModel) -> Mapping[bytes, int]:
    """The vocabulary without what is always found as an added token of that id."""
    ids = model.vocab.ids
    numbers = {token.text.encode("utf-8"): token.id for token in _always_found(model)}
    return without(ids, [text for text, number in numbers.items() if ids.get(text) == number])


def _ids_differ(left: Mapping[bytes, int], right: Mapping[bytes, int], entries: Entries) -> str:
    parts = []
    for tokens, text in ((entries.only_a, "first"), (entries.only_b, "second")):
        if tokens:
            parts.append(f"{len(tokens):,} only in the {text}, such as {show(tokens[0])}")
    if entries.moved:
        token = entries.moved[0]
        ids = f"{left[token]} in the first, {right[token]} in the second"
        parts.append(f"{len(entries.moved):,} with other ids, such as {show(token)}: {ids}")
    return "; ".join(parts)


def _kinds(model: BPEModel) -> dict[int, Kind]:
    """The kinds of tokens that are not as good as normal, by id."""
    kinds = dict(model.vocab.kinds)
    if not {"user_defined", "unused"}.isdisjoint(kinds.values()):
        for content, number in model.vocab.ids.items():
            kind = kinds.get(number)
            if kind in ("user_defined", "unused") and is_as_good_as_normal(model, content):
                del kinds[number]
    return kinds


def _order(model: BPEModel, ids: Mapping[bytes, int]) -> list[int]:
    """For each token, the place of its score among all of them."""
    scores = model.vocab.scores
    own = [order_of(scores.get(number, 0.0)) for number in ids.values()]
    places = {score: place for place, score in enumerate(sorted(set(own)))}
    return [places[score] for score in own]


def compare_merges(a: BPEModel, b: BPEModel) -> str:
    """Merges by what they build: other pairs and ranks that are proved to do the same are equal."""
    if a.merges == b.merges and _unused(a) == _unused(b):
        return ""
    # Merging never builds a token that holds a text which is always found before.
    always = frozenset(token.text for model in (a, b) for token in _always_found(model))
    plain = not (always or a.vocab.kinds or b.vocab.kinds) and a.affixes == b.affixes
    if plain and plainly_equal(system_of(a), system_of(b)):
        return ""
    # Without UNUSED tokens where pairs can do without.
    systems = [_system(model) if _unused(model) else None for model in (a, b)]
    one, two = (
        canonical(model) if system is None else system.form
        for model, system in zip((a, b), systems, strict=True)
    )
    left, right = _splits(a, one, always), _splits(b, two, always)
    if _same_order(left, right, one, two):
        return ""
    if a.alphabet == b.alphabet and a.affixes == b.affixes:
        # Perhaps the same tokens are given, though other pairs are listed.
        ours, theirs = (own or _system(model) for own, model in zip(systems, (a, b), strict=True))
        paired = left if ours.form is one else _splits(a, ours.form, always)
        other = right if theirs.form is two else _splits(b, theirs.form, always)
        if _same_order(paired, other, ours.form, theirs.form):
            return ""
        if paired.keys() == other.keys() and decide(ours, theirs).verdict == "proved":
            return ""
    for place, (x, y) in enumerate(zip_longest(left.items(), right.items())):
        if x != y:
            merges = " and ".join(
                "nothing" if z is None else f"{show(z[1][0])} + {show(z[1][1])}" for z in (x, y)
            )
            used = f"{len(left):,} and {len(right):,} merges that can be used"
            return f"{used}; the first that differs, at place {place}: {merges}"
    if a.affixes != Affixes():
        return "a token that is spelled in two ways is merged otherwise in one of them"
    return "the order of merges of equal rank"


def builds_the_same(a: BPEModel, b: BPEModel) -> bool:
    """Whether both have the same tokens, and are plainly seen to merge every content into the same.

    Where the canonical form of one of them is known, that of the other need not be found.
    """
    if a.vocab.kinds or b.vocab.kinds or not (a.affixes == b.affixes == Affixes()):
        return False
    same = a.vocab.ids == b.vocab.ids
    return same and plainly_equal(system_of(a), system_of(b)) is not None


def _unused(model: BPEModel) -> set[int]:
    return {number for number, kind in model.vocab.kinds.items() if kind == "unused"}


def _system(model: BPEModel) -> System:
    """The merges as pairs where that is the same, so that equal ranks are in some order."""
    priority = canonical(model).priority
    if not _unused(model) and len(set(priority.values())) == len(priority):
        return system_of(model)
    rule = as_pairs(model).rule
    return system_of(model) if rule is None else System(rule, model.vocab.ids, model.alphabet)


def _same_order(left: Splits, right: Splits, one: Canonical, two: Canonical) -> bool:
    """Whether the splits, no two of which are tied, stand in one order, and say all there is."""
    if len(left) != len(right) or not all(map(eq, left.items(), right.items())):
        return False
    return all(
        not form.twofold and len(set(map(as_dict(form.priority).__getitem__, left))) == len(left)
        for form in (one, two)
    )


def _always_found(model: BPEModel) -> list[AddedToken]:
    """The added tokens that are found wherever their text stands in what is split and merged.

    So no token that merging builds holds one.
    """
    late = [t for t in (*(model.added or ()), *found_as_added(model)) if t.normalized]
    # No affix and no step of the pre-tokenizer may write such a text, nor a symbol vanish from it
    # before merging.
    if model.affixes != Affixes() or model.pretokenizer is None:
        return []
    fallback = _effective(model)
    if fallback.missing == "drop" and not fallback.after_merging:
        return []
    # Theorem 19: special tokens, and those that ask for borders of words, hide what they overlap.
    steps = plain_normalizer(model.normalizer or ())
    passed_over = [normalize(steps, t.text) for t in late if t.special or t.single_word]
    return [
        token
        for token in late
        if normalize(steps, token.text) == token.text
        and not _may_be_written(model, token.text)
        and not any(overlap(token.text, other) for other in passed_over)
    ]


def _may_be_written(model: BPEModel, text: str) -> bool:
    """Whether pre-tokenizing may write a part of a text, after added tokens were looked for."""
    return any(
        isinstance(step, ByteChars)
        or (isinstance(step, PrefixSpace) and " " in text)
        or (isinstance(step, Metaspace) and step.replacement in text)
        for step in model.pretokenizer or ()
    )


def _splits(model: BPEModel, form: Canonical, always: frozenset[str]) -> Splits:
    """The splits of tokens that hold no text which is found first, the model's own included."""
    splits = as_dict(form.splits)
    always = always.union(user_defined(model))
    if not always or model.alphabet == "byte":
        return splits
    holds = UserDefined(always).find
    return {t: pair for t, pair in splits.items() if not any(holds(t.decode("utf-8")))}


def compare_fallback(a: BPEModel, b: BPEModel) -> str:
    """What becomes of missing symbols, where there can be any."""
    left, right = _effective(a), _effective(b)
    if left == right:
        return ""
    when = left.after_merging is not right.after_merging
    one, two = (_fallback_in_words(each, when) for each in (left, right))
    return f"in the first {one}; in the second {two}"


def _fallback_in_words(fallback: Fallback, when: bool) -> str:
    words = {
        "error": "missing symbols are an error",
        "drop": "missing symbols vanish",
        "unknown": f"missing symbols become token {fallback.unknown}",
    }[fallback.missing]
    words += ", fused" if fallback.fuse else ""
    words += ", bytes first" if fallback.byte_fallback else ""
    return words + f" {'after' if fallback.after_merging else 'before'} merging" * when


@Memo
def _effective(model: BPEModel) -> Fallback:
    """The fallback without what never matters."""
    fallback, ids, kinds = model.fallback, model.vocab.ids, model.vocab.kinds
    if fallback.missing != "unknown":  # only what becomes an unknown token is fused
        fallback = replace(fallback, unknown=None, fuse=False)
    # Where every byte has a token, nothing is unknown.
    names = (ids.get(b"<0x%02X>" % byte, -1) for byte in UTF8_BYTES)
    if fallback.byte_fallback and all(kinds.get(number) == "byte" for number in names):
        fallback = Fallback(byte_fallback=True, after_merging=fallback.after_merging)
    if fallback.after_merging and fallback.missing != "drop" and not _merges_symbols(model):
        # A missing symbol stays between its neighbours till all is merged: whether it might merge
        # is no matter where no token holds one.
        return replace(fallback, after_merging=False)
    return fallback


def _merges_symbols(model: BPEModel) -> bool:
    """Whether a symbol that is no token is merged: a list of pairs names tokens only."""
    if isinstance(model.merges, PairList):
        return False
    parts = chain.from_iterable(canonical(model).splits.values())
    return not all(map(as_dict(model.vocab.ids).__contains__, parts))


def compare_added(a: BPEModel, b: BPEModel) -> str:
    """Added tokens and their flags, with the user-defined ones that they can stand for."""
    left, right = (sorted(matching_tokens(model), key=lambda token: token.id) for model in (a, b))
    if left == right:
        return ""
    how = added_difference(left, right)
    if {token.text for token in left} != {token.text for token in right}:
        return f"{len(left):,} and {len(right):,} tokens; {how}"
    return how or "the order of texts that share an id"


def added_difference(left: Sequence[AddedToken], right: Sequence[AddedToken]) -> str:
    """How many added tokens stand on one side only, and how many differ, with an example of each.

    Empty where both sides have the same ones, in whatever order.
    """
    either = {*left} ^ {*right}
    differing = {token.text for token in either}
    # A text may be listed twice, with other flags: what the other side has too comes first.
    names_a, names_b = (
        {token.text: token for token in sorted(side, key=lambda token: token in either)}
        for side in (left, right)
    )
    parts = []
    for side, other, which in ((left, names_b, "first"), (right, names_a, "second")):
        only = [token for token in side if token.text not in other]
        if only:
            such_as = ":" if len(only) == 1 else ", such as"
            example = f"{such_as} {show(only[0].text)} {only[0].id}"
            parts.append(f"{len(only):,} only in the {which}{example}")
    changed = [text for text in names_a if text in names_b and text in differing]
    if changed:
        text = min(changed, key=lambda text: _weight(names_a[text], names_b[text]))
        count = f"{len(changed):,} differ, such as " if len(changed) > 1 else ""
        parts.append(f"{count}{show(text)}: {_flags(names_a[text], names_b[text])}")
    return "; ".join(parts)


def _weight(x: AddedToken, y: AddedToken) -> tuple[bool, bool, bool]:
    """What is shown first of tokens that differ: other ids and flags, then who ends a text."""
    only_roles = replace(x, roles=y.roles) == y
    return x.id == y.id, only_roles, "eos" not in {*x.roles} ^ {*y.roles}


def _flags(x: AddedToken, y: AddedToken) -> str:
    """The fields in which two added tokens of one text differ, of each side."""
    words = {name: f"{said}:" for name, said in FLAGS_IN_WORDS.items()}
    names = [name for name in AddedToken.__slots__ if getattr(x, name) != getattr(y, name)]
    left, right = (
        ", ".join(f"{words.get(name, name)} {_value(getattr(side, name))}" for name in names)
        for side in (x, y)
    )
    return f"{left} in the first; {right} in the second"


def _value(value: object) -> str:
    if isinstance(value, tuple):
        return "/".join(map(str, value)) or "none"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
