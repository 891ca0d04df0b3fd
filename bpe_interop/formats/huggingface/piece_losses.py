"""What tokenizers does otherwise than SentencePiece, in a model that is written for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ...loss import Loss
from ...merging.canonical import canonical
from ...merging.merger import Merger
from ...merging.symbols import Symbols
from ...model import BPEModel, RankTable, show
from ...steps import JoinPieces, Prepend, SentencePieceText
from ...text.charsmap import SPACE, is_identity, rules
from ...text.normalize import normalize
from ...theory.plain import (
    found_as_added,
    has_plain_steps,
    is_as_good_as_normal,
    pairs_of,
    stays_symbol,
)
from .pieces import ALL_SPACES, left_spaces, unknown_spelling, unused_characters, written_steps

_MARKS = ("\u0301", "\u0308", "\u0327", "\u3099", "\u200d", "\ufe0f")
"""Characters that Unicode's grapheme rules (UAX 29) never cut off from the one before."""


def piece_losses(model: BPEModel) -> Iterator[Loss]:
    """What is lost of what only SentencePiece has, each with its consequence."""
    for step in model.normalizer or ():
        if isinstance(step, SentencePieceText) and not has_plain_steps(step):
            yield _normalizer(model, step)
    yield from _user_defined(model)
    yield from _unused(model)
    yield from _after_merging(model)
    for last in model.decoder or ():
        if isinstance(last, JoinPieces):
            yield from _decoder(model, last)


def _normalizer(model: BPEModel, step: SentencePieceText) -> Loss:
    if step.dummy == "suffix":
        return Loss(
            "normalizer",
            "ids",
            "tokenizers has no step that puts a space after a text",
            "every text would lose it",
            witness=next((c for c in _characters(model) if c not in (" ", SPACE)), "a"),
        )
    witness = _normalized_otherwise(model, step, _candidates(step))
    if is_identity(step.charsmap):
        what = "user-defined pieces keep their doubled spaces, and tokenizers removes them"
    else:
        what = (
            "tokenizers applies a character map to whole graphemes, SentencePiece to the longest "
            "text that the map has"
        )
    return Loss(
        "normalizer",
        "ids",
        what,
        "texts would be normalized otherwise",
        witness=witness,
        shown=witness is not None,
    )


def _characters(model: BPEModel) -> Iterator[str]:
    """The characters that are tokens."""
    kinds = model.vocab.kinds
    texts = (_text(c) for c, n in model.vocab.ids.items() if kinds.get(n) != "unused")
    return (text for text in texts if len(text) == 1)


def _normalized_otherwise(
    model: BPEModel, step: SentencePieceText, texts: Iterable[str]
) -> str | None:
    """A text of which other characters are left, so that its ids cannot be the same."""
    written = tuple(written_steps(step))
    known = {*_characters(model)}

    def told(normalized: str) -> str:
        if model.fallback.byte_fallback:
            return normalized
        return re.sub("\0+", "\0", "".join(c if c in known else "\0" for c in normalized))

    for text in texts:
        if told(normalize((step,), text)) != told(normalize(written, text)):
            return text
    return None


def _text(content: bytes) -> str:
    return content.decode("utf-8")


def _candidates(step: SentencePieceText) -> Iterator[str]:
    """Texts on which graphemes or user-defined pieces may matter, the simplest first."""
    yield from (f"a{text}a" for text in step.kept)
    mapped = sorted(rules(step.charsmap), key=lambda key: (len(key), key))
    for key in mapped[:4096]:
        yield key
        yield from (key + mark for mark in _MARKS)


def _user_defined(model: BPEModel) -> Iterator[Loss]:
    held = {token.id for token in found_as_added(model)}
    kinds = model.vocab.kinds
    for content, number in model.vocab.ids.items():
        text = content.decode("utf-8")
        if kinds.get(number) != "user_defined" or number in held or stays_symbol(model, text):
            continue
        yield Loss(
            "vocab",
            "ids",
            f"{show(text)} is user-defined: SentencePiece finds it in the normalized text; an "
            "added token would be looked for as the normalizer writes it, "
            f"{show(normalize(model.normalizer or (), text))}",
            "it would be cut into other tokens",
            witness=f"a{text}a",
        )
        return


def _unused(model: BPEModel) -> Iterator[Loss]:
    kinds, hidden = model.vocab.kinds, unused_characters(model)
    for content, number in model.vocab.ids.items():
        if kinds.get(number) != "unused" or is_as_good_as_normal(model, content):
            continue
        if number in hidden:
            yield Loss(
                "vocab",
                "metadata",
                f"{show(content)} is unused, and as a token of one character it would be found",
                f"the id {number} could not be decoded",
            )
            continue
        pairs = pairs_of(model)
        yield Loss(
            "vocab",
            "ids",
            f"{show(content)} is unused: SentencePiece merges it and splits it again in the end, "
            "and tokenizers cannot",
            "it would be a token, or it would not keep others from merging",
            witness=pairs.witness,
            shown=pairs.shown,
        )
        return


def _alone(model: BPEModel, content: bytes) -> str:
    """A text in which a token stands between characters that no token has."""
    known = set("".join(token.decode("utf-8") for token in model.vocab.ids))
    stranger = next(c for c in map(chr, range(0x4E00, 0x110000)) if c not in known)
    return stranger + content.decode("utf-8") + stranger


def _after_merging(model: BPEModel) -> Iterator[Loss]:
    """Tokens that are built through a character which is no token itself."""
    if not model.fallback.after_merging or not isinstance(model.merges, RankTable):
        return
    ids, kinds = model.vocab.ids, model.vocab.kinds
    entries = [
        (token, part)
        for token, pair in canonical(model).splits.items()
        for part in pair
        if part not in ids
    ]
    if not entries:
        return
    given = (
        entry
        for entry in entries
        if kinds.get(ids[entry[0]]) != "unused"
        and entry[0].decode("utf-8") in normalize(model.normalizer or (), _alone(model, entry[0]))
    )
    shown = next(given, None)
    token, part = shown or entries[0]
    yield Loss(
        "fallback",
        "ids",
        f"{show(token)} is merged from {show(part)}, which is no token; SentencePiece merges "
        "first and replaces what is missing afterwards",
        "tokenizers replaces it first, and nothing would merge there",
        witness=_alone(model, token) if shown else None,
        shown=shown is not None,
    )


def _decoder(model: BPEModel, step: JoinPieces) -> Iterator[Loss]:
    yield Loss(
        "decoder",
        "metadata",
        "of ids that no text gives: tokenizers writes special tokens out, and U+FFFD for each byte "
        "token of a run that is no UTF-8",
        f"such ids would be decoded otherwise{_shown_unknown(model, step)}",
    )
    if not is_identity(step.charsmap):
        yield Loss(
            "decoder",
            "text",
            "decoded texts go through a character map, which tokenizers' decoders do not have",
            "texts that hold what it replaces would be decoded otherwise",
            witness=next(k for k, text in rules(step.charsmap).items() if k != text),
            shown=False,
        )
    spaces = left_spaces(model, step)
    if step.collapse and spaces != ALL_SPACES and _begins_with_space(model):
        text = f"{SPACE}a"
        yield Loss(
            "decoder",
            "text",
            "SentencePiece leaves a space out of each token until there is text, tokenizers so "
            "many of the whole text",
            f"a text that begins with {SPACE!a} would be decoded otherwise",
            witness=text,
            shown=_begins_with_two(model, text),
        )
    if _loses_space(model, step, spaces):
        yield Loss(
            "decoder",
            "text",
            "the space before the surface of an unknown token would be left out",
            "a text that begins with an unknown character would be decoded otherwise",
            witness=_alone(model, b""),
        )


def _shown_unknown(model: BPEModel, step: JoinPieces) -> str:
    """What becomes of the unknown token's id, where bytes stand for what has no token."""
    number = model.fallback.unknown
    if number is None or not model.fallback.byte_fallback:
        return ""
    texts = [token.text for token in model.added or () if token.id == number]
    if not texts or texts[0] == step.unknown:
        return ""
    return f": {number} as {show(texts[0])}, not {show(step.unknown)}"


def _begins_with_space(model: BPEModel) -> bool:
    return any(content.startswith(SPACE.encode("utf-8")) for content in model.vocab.ids)


def _begins_with_two(model: BPEModel, text: str) -> bool:
    """Whether the first two tokens of a text begin with U+2581, and the first is nothing more."""
    content = normalize(model.normalizer or (), text).encode("utf-8")
    run = Merger(model.merges).run
    tokens = [token for symbols in Symbols(model).segments(content) for token in run(symbols)]
    space = SPACE.encode("utf-8")
    return tokens[0] == space and any(token.startswith(space) for token in tokens[1:2])


def _loses_space(model: BPEModel, step: JoinPieces, spaces: int) -> bool:
    """Whether the first token of a text may be the unknown one, with a surface that has a space."""
    if not spaces or model.fallback.byte_fallback or not unknown_spelling(model):
        return False
    prefixed = step.dummy == "prefix" or Prepend(SPACE) in (model.normalizer or ())
    number = model.vocab.ids.get(SPACE.encode("utf-8"))
    known = number is not None and model.vocab.kinds.get(number) != "unused"
    return step.unknown.startswith(" ") and not (prefixed and known)
