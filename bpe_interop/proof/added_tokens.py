"""Added tokens (Theorems 18, 19 and 24), and what is placed around a text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, islice, product

from ..diff.tokens import added_difference
from ..model import AddedToken, BPEModel
from ..quoting import show
from ..steps import Replace
from ..text.decoders import joins_pieces
from ..theory.added_tokens import (
    SoughtText,
    chained_texts,
    hiding_tokens,
    overlapping_texts,
)
from ..theory.user_defined import matching_tokens, normal_form
from .stage import NO_TEXT, Stage, TwoModels, counts, unstated_side

_BESIDE = (
    *("{}", "a{}", "{}a", "a{}a", " {}", "{} ", "a {} a", "A{}", "_{}", "{}_"),
    *("a\u00a0{}", "{}\u00a0a"),
)
"""Where a token is put, so that its flags may show; some take white space beyond ASCII along."""

_TRIED = 5_000
_CHAINED = 300
"""How many texts are tried, and how many of them for each token."""
_CHARACTERS = 500_000
"""How long the texts are in all, but for the last: added tokens of a file may be very long."""


def added_stage(pair: TwoModels, *, special: bool) -> Stage:
    """Added tokens: those that are not special, which match in every text, or the special ones."""
    a, b, name = pair.a, pair.b, "special tokens" if special else "added tokens"
    if a.added is None or b.added is None:
        return _unsaid(pair, name, special)
    one, two = ([replace(token, roles=()) for token in matching_tokens(model)] for model in (a, b))
    tokens = one, two
    left, right = ({t for t in each if t.special is special} for each in tokens)
    if left != right:
        return _compared(pair, name, left, right, tokens)
    chance = left_to_chance(a) or left_to_chance(b)
    if chance:
        return Stage(name, "unknown", chance)
    if special and left and joins_pieces(a.decoder) is not joins_pieces(b.decoder):
        why = "sentencepiece finds none in a text and spells them out, the other side does"
        return Stage(name, "unknown", f"the same {len(left):,}; {why}")
    hidden = None if special or pair.scope != "ordinary" else _hidden(pair, tokens)
    why = f"the same {len(left):,}" if left else "none on either side"
    return hidden or Stage(name, "proved", why)


def _unsaid(pair: TwoModels, name: str, special: bool) -> Stage:
    unsaid = f"{unstated_side(pair, 'added')} which there are"
    known = [t for t in (pair.a.added or pair.b.added or ()) if not t.special]
    # A side that does not say which there are has special ones, and no others.
    if special or known:
        return Stage(name, "unknown", unsaid)
    return Stage(name, "proved", "there are none")


def _compared(
    pair: TwoModels,
    name: str,
    left: set[AddedToken],
    right: set[AddedToken],
    every: tuple[list[AddedToken], list[AddedToken]],
) -> Stage:
    only = sorted(left ^ right, key=_by_length)
    differing_texts = {token.text for token in only}
    # Of both kinds: what is special on one side only may stand on both.
    one, two = (sorted((t for t in e if t.text in differing_texts), key=_by_length) for e in every)
    why = f"{len(left):,} and {len(right):,} {name}; {added_difference(one, two)}"
    if not counts(name, pair.scope):
        return Stage(name, "different", why, only[0].text)
    texts = _some(chain(_unreplaced(pair, only), _texts_with(only, chain(*every))))
    witness = next(filter(pair.differ_in_scope, texts), None)
    if witness is None:
        return Stage(name, "unknown", why + NO_TEXT)
    return Stage(name, "different", why, witness)


def _by_length(token: AddedToken) -> tuple[int, str]:
    return len(token.text), token.text


def _some(texts: Iterable[str]) -> Iterator[str]:
    length = 0
    for text in islice(texts, _TRIED):
        yield text
        length += len(text)
        if length > _CHARACTERS:
            return


def _texts_with(tokens: Iterable[AddedToken], others: Iterable[AddedToken]) -> Iterator[str]:
    """Texts in which a token, or a flag of it, may show: alone, beside and across others."""
    listed = sorted({token.text for token in others}, key=lambda text: (len(text), text))
    names = list(dict.fromkeys(token.text for token in tokens))
    for text in names:
        yield from (context.format(text) for context in _BESIDE)
    for text, other in product(names, listed):
        yield from overlapping_texts(text, other)
        for space in ("", " "):
            yield from (f"{text}{space}{other}", f"{other}{space}{text}")


def _unreplaced(pair: TwoModels, tokens: Iterable[AddedToken]) -> Iterator[str]:
    """Texts that a replacement of the normalizer makes into a token's, or out of one."""
    steps = (*(pair.a.normalizer or ()), *(pair.b.normalizer or ()))
    for token, step in product(tokens, dict.fromkeys(steps)):
        if isinstance(step, Replace) and isinstance(step.pattern, str):
            # Where nothing is put, this is the pattern between all characters.
            yield token.text.replace(step.content, step.pattern)
            yield from overlapping_texts(token.text, step.pattern)


def left_to_chance(model: BPEModel) -> str:
    """Which tokens are looked for as one text, so that tokenizers takes one of them by chance."""
    forms: dict[tuple[str, bool], AddedToken] = {}
    for token in model.added or ():
        other = forms.setdefault(_form(model, token), token)
        if other.id != token.id:
            return f"{show(other.text)} and {show(token.text)} are looked for as one text"
    return ""


def _hidden(pair: TwoModels, tokens: tuple[list[AddedToken], list[AddedToken]]) -> Stage | None:
    """A stage, where special tokens of one side only may hide added tokens that are not special."""
    # Theorem 19: tokenizers skips each match of a special token that is to be text, and goes on
    # after it, so what begins inside is not found.
    left, right = (
        {_form(model, token): token for token in each}
        for model, each in zip((pair.a, pair.b), tokens, strict=True)
    )
    one, two = (set[SoughtText](), set[SoughtText]())
    if {f for f in left if left[f].special} != {f for f in right if right[f].special}:
        one, two = _hiding(left), _hiding(right)
    if one == two:
        return None
    forms = sorted({*left, *right})
    start = min(one ^ two, key=lambda form: (len(form.text), form))
    why = f"{show(start.text)}, special on one side only, may hide an added token"
    texts = chain.from_iterable(chained_texts(form, forms, _CHAINED) for form in sorted(one ^ two))
    shortest = sorted(_some(texts), key=len)
    witness = next(filter(pair.differ_in_scope, shortest), None)
    if witness is None:
        return Stage("added tokens", "unknown", why + NO_TEXT)
    return Stage("added tokens", "different", why, witness)


def _hiding(tokens: Mapping[SoughtText, AddedToken]) -> set[SoughtText]:
    """What may hide an added token where special tokens are to be text."""
    special = {form for form, token in tokens.items() if token.special}
    return hiding_tokens(special, tokens.keys() - special)


def _form(model: BPEModel, token: AddedToken) -> SoughtText:
    text = token.text
    # Such a token is looked for as the normalizer writes it (added_vocabulary.rs).
    if token.normalized:
        text = normal_form(model, text)
    return SoughtText(text, token.normalized)


NO_TEMPLATE = "neither side says what is placed around a text"
"""Why the stage counts as equal though nothing is known: a verdict names it."""


def template_stage(pair: TwoModels) -> Stage:
    """What is placed around a text where special tokens are asked for."""
    name = "sequence template"
    left, right = pair.a.sequence_template, pair.b.sequence_template
    if left is None and right is None:
        return Stage(name, "proved", NO_TEMPLATE)
    if left is None or right is None:
        unsaid = unstated_side(pair, "sequence_template")
        return Stage(name, "unknown", f"{unsaid} what is placed around a text")
    (left_single, left_pair), (right_single, right_pair) = left.placed, right.placed
    if left_single != right_single:
        return Stage(name, "different", "other templates", "a")
    if left_pair != right_pair:
        why = "the same ids around a text; pairs of texts are placed otherwise"
        return Stage(name, "unknown", why)
    if left.places_nothing:
        return Stage(name, "proved", "nothing is placed around a text on either side")
    return Stage(name, "proved", "the same template")
