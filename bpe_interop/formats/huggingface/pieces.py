"""A character-level model in tokenizers' terms: what only SentencePiece has is said otherwise.

Where that cannot be exact, what is written is the nearest, and the losses say so. User-defined
tokens as splits are Theorem 31 in ``docs/theory.md``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, chain, groupby

from ...errors import PatternError
from ...memo import Memo
from ...merging.canonical import canonical, not_merged
from ...merging.merger import Merger
from ...merging.symbols import symbols_of, user_defined
from ...model import Affixes, BPEModel, Kind, PairList, Vocab
from ...steps import (
    SPACE,
    ByteTokens,
    DecoderStep,
    Fuse,
    JoinPieces,
    NormalizerStep,
    Pattern,
    Precompiled,
    Prepend,
    Replace,
    SentencePieceText,
    Split,
    StripToken,
)
from ...text.charsmap import is_identity
from ...text.patterns import parse
from ...text.regex_syntax import Alternation
from ...theory.normalizers import literal, plain_steps
from ...theory.rewrite import as_pairs
from ...theory.user_defined import found_as_added, stays_symbol
from ...theory.utf8 import falls_back_to_bytes
from .vocab import Pairs

ALL_SPACES = 2**31
"""More spaces than a text begins with."""

_SYNTAX = frozenset(r"\.^$*+?()[]{}|")


@Memo
def in_own_terms(model: BPEModel) -> BPEModel:
    """The character-level model that is written for this one; itself where it is of the kind."""
    vocab, held = model.vocab, found_as_added(model)
    unused, kinds = unused_characters(model), model.vocab.kinds
    own = replace(
        model,
        vocab=Vocab(
            # Unused tokens stay without a merge, but for single characters, which would be found.
            {content: number for content, number in vocab.ids.items() if number not in unused},
            {n: kind for n, kind in kinds.items() if kind in ("byte", "user_defined")},
        ),
        merges=PairList(written_pairs(model)),
        fallback=replace(model.fallback, after_merging=False),
        normalizer=tuple(s for step in model.normalizer or () for s in written_steps(step)),
        decoder=None if model.decoder is None else written_decoder(model, model.decoder),
    )
    only_bytes = {number: kind for number, kind in kinds.items() if kind == "byte"}
    found = {token.text for token in held}
    # Where the normalizer would change one that is looked for, all become splits, if that is exact;
    # else they become added tokens, or stay without a merge.
    if any(text not in found and not stays_symbol(model, text) for text in user_defined(model)):
        steps = splits(own)
        if steps is not None:
            plain = Vocab(own.vocab.ids, only_bytes)
            return replace(own, vocab=plain, lookup_first=True, pretokenizer=steps)
    left_out = {token.id for token in held if len(token.text) > 1}
    ids = {content: number for content, number in own.vocab.ids.items() if number not in left_out}
    return replace(own, vocab=Vocab(ids, only_bytes), added=(*(model.added or ()), *held))


def splits(model: BPEModel) -> tuple[Split, ...] | None:
    """User-defined tokens as splits before which whole pretokens are looked up (Theorem 31).

    None where that is not exact.
    """
    if model.pretokenizer or model.lookup_first or model.affixes != Affixes():
        return None
    frozen = user_defined(model)
    words = sorted(frozen, key=lambda text: (-len(text), text))
    # The first cuts the tokens out, the longest first.
    first = Split(_pattern("|".join(map(_escaped, words))), "isolated")
    listed = {token.text.encode() for token in model.added or ()}
    whole = {content.decode() for content in not_merged(model) | listed}
    whole = {text for text in whole if not any(frozen.find(text))}
    merger = Merger(model.merges)
    # The second cuts a pretoken that is a token which merging does not build, between two of the
    # tokens that merging gives.
    rests: dict[str, list[str]] = {}
    for text in sorted(whole):
        cuts = accumulate(map(len, _tokens(model, merger, text)))
        free = (cut for cut in cuts if whole.isdisjoint((text[:cut], text[cut:])))
        cut = next(free, len(text))
        if cut == len(text):
            return None
        rests.setdefault(text[:cut], []).append(text[cut:])
    if not rests:
        return (first,)
    options = "|".join(
        rf"{_escaped(start)}(?=(?:{'|'.join(map(_escaped, ends))})\z)"
        for start, ends in rests.items()
    )
    return first, Split(_pattern(rf"\A(?:{options})"), "isolated")


def _pattern(text: str) -> Pattern:
    return Pattern(text, "oniguruma")


def _tokens(model: BPEModel, merger: Merger, text: str) -> Iterator[str]:
    ids, fallback = model.vocab.ids, model.fallback
    symbols = symbols_of(text.encode(), "char")
    bytes_ = falls_back_to_bytes(model)
    if not all(map(ids.__contains__, symbols)) and not (bytes_ or fallback.missing == "unknown"):
        # A missing character that vanishes lets its neighbours merge, so there is no place to cut
        # at.
        yield text
        return
    for known, group in groupby(symbols, ids.__contains__):
        run = [*group]
        yield from (each.decode() for each in (merger.run(run) if known else [b"".join(run)]))


def with_user_defined(model: BPEModel) -> BPEModel:
    """A model whose splits are those of user-defined tokens (:func:`splits`), with these tokens.

    Any other model is returned as it is, and so is one that would be written otherwise.
    """
    steps = model.pretokenizer or ()
    if model.alphabet != "char" or not model.lookup_first or not 1 <= len(steps) <= 2:
        return model
    words = _words(steps[0])
    ids, pairs = model.vocab.ids, model.merges.pairs if isinstance(model.merges, PairList) else ()
    kinds: dict[int, Kind] = dict(model.vocab.kinds)
    for text in words:
        number = ids.get(text.encode(), -1)
        if number < 0 or number in kinds:
            return model
        kinds[number] = "user_defined"
    if not words:
        return model
    used = {*chain.from_iterable(pairs), *map(b"".join, pairs)}
    numbering = {token.text.encode() for token in model.added or () if len(token.text) > 1} - used
    kept = {c: n for c, n in ids.items() if c not in numbering or n in kinds}
    found = replace(model, vocab=Vocab(kept, kinds), lookup_first=False, pretokenizer=())
    own = in_own_terms(found)
    # Read so only if it is written again with the same steps (Theorem 31).
    same = own.lookup_first and own.pretokenizer == steps and own.merges == model.merges
    return found if same else model


def _words(step: object) -> list[str]:
    """The texts of which a split cuts each out; empty where it is another split."""
    if not isinstance(step, Split) or not isinstance(step.pattern, Pattern):
        return []
    try:
        node = parse(step.pattern)
    except PatternError:
        return []  # then it is another split
    words = [literal(each) for each in (node.options if isinstance(node, Alternation) else [node])]
    return words if all(words) else []


def unused_characters(model: BPEModel) -> frozenset[int]:
    """The ids of unused tokens of one character, which SentencePiece does not give for it."""
    kinds = model.vocab.kinds
    return frozenset(
        number
        for content, number in model.vocab.ids.items()
        if kinds.get(number) == "unused" and len(content.decode("utf-8")) == 1
    )


def written_pairs(model: BPEModel) -> Pairs:
    """The merges as pairs; where none do the same, the nearest.

    Neither unused tokens are built nor what holds a user-defined one, nor anything from them.
    """
    rewrite = as_pairs(model)
    rule = rewrite.rule or rewrite.nearest
    if isinstance(rule, PairList) and rule is model.merges:
        return tuple(rule.pairs)
    pairs = rule.pairs if isinstance(rule, PairList) else canonical(model).splits.values()
    kinds, frozen = model.vocab.kinds, user_defined(model)
    given = {token for token, n in model.vocab.ids.items() if kinds.get(n) != "unused"}
    return tuple(
        (left, right)
        for left, right in pairs
        if given.issuperset((left, right, left + right))
        and not any(frozen.find((left + right).decode("utf-8")))
    )


def written_steps(step: NormalizerStep) -> Iterator[NormalizerStep]:
    """A normalizer step as tokenizers has it; a character map by itself, before the rest."""
    if not isinstance(step, SentencePieceText):
        yield step
        return
    if not is_identity(step.charsmap):
        yield Precompiled(step.charsmap)
    yield from plain_steps(step)


def written_decoder(model: BPEModel, steps: Sequence[DecoderStep]) -> tuple[DecoderStep, ...]:
    """Decoder steps as tokenizers has them: those of Llama's family for SentencePiece's one.

    The unknown token is spelled as its surface only where a text can give it.
    """
    if len(steps) != 1 or not isinstance(step := steps[0], JoinPieces):
        return tuple(steps)
    written: list[DecoderStep] = [Replace(SPACE, " ")]
    unknown = unknown_spelling(model)
    if model.fallback.byte_fallback:
        written.append(ByteTokens())
    elif unknown and unknown != step.unknown:
        written.append(_in_place(model, unknown, step.unknown))
    written.append(Fuse())
    spaces = left_spaces(model, step)
    return (*written, StripToken(" ", spaces, 0)) if spaces else tuple(written)


def unknown_spelling(model: BPEModel) -> str:
    """The unknown token's text, its spaces undone; empty where there is none."""
    texts = (token.text for token in model.added or () if token.id == model.fallback.unknown)
    return next(texts, "").replace(SPACE, " ")


def _in_place(model: BPEModel, spelling: str, surface: str) -> Replace:
    for content in model.vocab.ids:
        # As a part of another token it must stay.
        if spelling in content.decode("utf-8").replace(SPACE, " "):
            return Replace(_pattern(rf"\A{_escaped(spelling)}\z"), surface)
    return Replace(spelling, surface)


def _escaped(text: str) -> str:
    return "".join("\\" + c if c in _SYNTAX else c for c in text)


def left_spaces(model: BPEModel, step: JoinPieces) -> int:
    """How many spaces at the start of a decoded text SentencePiece leaves out."""
    escaped = not any(
        step == Prepend(" ") or (isinstance(step, SentencePieceText) and not step.escape)
        for step in model.normalizer or ()
    )
    space = SPACE.encode("utf-8")
    if not any(content.startswith(space) for content in model.vocab.ids):
        return 0
    # It looks for U+2581 only.
    if step.dummy == "prefix" and not escaped:
        return 0
    # It leaves one out of each token until there is text: all of them, if no token begins with two;
    # but none of an unknown token's surface.
    if step.collapse and escaped and model.fallback.byte_fallback:
        double = any(content.startswith(2 * space) for content in model.vocab.ids)
        return int(step.dummy != "none") if double else ALL_SPACES
    return int(step.dummy != "none")
