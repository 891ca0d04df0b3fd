"""How ids become text, on ids that some text encodes to (``docs/theory.md``, Theorem 20)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice, takewhile

from ..encode import Encoder
from ..encode.decode import Meaning, shared_ids
from ..entries import compare_entries, numbered
from ..errors import DecodeError
from ..model import BPEModel, TemplateToken
from ..quoting import show
from ..steps import (
    ByteTokens,
    DecoderStep,
    Fuse,
    JoinBytes,
    JoinPieces,
    Prepend,
    Replace,
    SentencePieceText,
    StripToken,
)
from ..text.decoders import BYTE_TOKEN, apply_step, verbatim_of
from ..theory import normalizers
from .ids import given_tokens, unknown_id
from .stage import NO_DECODED, Scope, Stage, TwoModels, single_characters, unstated_side

_NAME = "decoding"
_SPACE = "\u2581"

_TRIED = 50
_CHARACTERS = 5_000
"""Of how many ids texts are tried, and how many characters for the unknown one."""

Meanings = Mapping[int, Meaning]


def decoding_stage(pair: TwoModels) -> Stage:
    """How ids become text."""
    a, b = pair.a.decoder, pair.b.decoder
    if a is None or b is None:
        return Stage(_NAME, "unknown", f"{unstated_side(pair, 'decoder')} how ids become text")
    left, right = Encoder(pair.a), Encoder(pair.b)
    # What ids become whatever the steps do (Verbatim) is in their meanings.
    (_, steps_a), (_, steps_b) = verbatim_of(a), verbatim_of(b)
    equal = tuple(steps_a) == tuple(steps_b)
    but_unknown = not equal and _differ_in_unknown(steps_a, steps_b)
    joined = _joins_bytes(steps_a) and _joins_bytes(steps_b)
    if not equal and not joined and not but_unknown:
        return _other_steps(pair, steps_a, steps_b)
    if joined and pair.a.alphabet == pair.b.alphabet == "byte":
        # Of two large vocabularies, only these ids need be looked at.
        asked = _perhaps_differing(pair)
        one, two = left.meanings_of(a, asked), right.meanings_of(b, asked)
    else:
        one, two = left.meanings(a), right.meanings(b)
    # Theorem 20: equal steps decode alike where what they see of each id that a text can get is
    # the same; those that write another text for the unknown id, where no text gets it.
    differing = [
        number
        for number in one.keys() | two.keys()
        if one.get(number) != two.get(number) or (but_unknown and number == pair.a.fallback.unknown)
    ]
    differing = _possible(pair, {*differing, *_by_chance(pair)})
    if differing:
        return _tried(pair, differing, one, two)
    how = (
        " but for the unknown token, which no text gives" if but_unknown else ", on the same tokens"
    )
    return Stage(_NAME, "proved", f"the same steps{how}")


def _perhaps_differing(pair: TwoModels) -> set[int]:
    """All ids but those of tokens that both have alike, and that no added token has."""
    entries = compare_entries(pair.a.vocab.ids, pair.b.vocab.ids)
    numbers = {token.id for model in (pair.a, pair.b) for token in model.added or ()}
    for model in (pair.a, pair.b):
        numbers.update(verbatim_of(model.decoder or ())[0])
    for ids in (pair.a.vocab.ids, pair.b.vocab.ids):
        numbers.update(ids[token] for token in entries.differing if token in ids)
    return numbers


def _differ_in_unknown(a: Sequence[DecoderStep], b: Sequence[DecoderStep]) -> bool:
    """Whether both join pieces, and write another text for the unknown one only."""
    if len(a) != 1 or len(b) != 1:
        return False
    one, two = a[0], b[0]
    if not isinstance(one, JoinPieces) or not isinstance(two, JoinPieces):
        return False
    return replace(one, unknown="") == replace(two, unknown="")


def _other_steps(pair: TwoModels, a: Sequence[DecoderStep], b: Sequence[DecoderStep]) -> Stage:
    why = "other steps; compared on texts"
    # One side may join pieces and the other run a chain of steps (Theorem 20).
    for model, steps, order in ((pair.a, b, 1), (pair.b, a, -1)):
        if not _is_undone_by(model, steps):
            continue
        one, two = (Encoder(each).meanings(each.decoder or ()) for each in (pair.a, pair.b))
        pieces, tokens = (one, two)[::order]
        only = (model.decoder or ())[0]
        assert isinstance(only, JoinPieces)
        alike = _spelled_alike(only, steps)
        differing = [
            number for number, piece in pieces.items() if not alike(piece, tokens.get(number))
        ]
        differing = _possible(pair, {*differing, *_by_chance(pair)})
        if differing:
            return _tried(pair, differing, one, two)
        why = "equal on ids that texts encode to; control tokens and byte tokens out of place "
        return Stage(_NAME, "proved", f"{why}decode otherwise")
    return Stage(_NAME, "unknown", why)


def _by_chance(pair: TwoModels) -> set[int]:
    """The ids of which tiktoken takes one token or another, unless both take the same."""
    if pair.a.added == pair.b.added:
        return set()
    return {*shared_ids(pair.a), *shared_ids(pair.b)}


def _joins_bytes(steps: Sequence[DecoderStep]) -> bool:
    return len(steps) == 1 and isinstance(steps[0], JoinBytes)


# Which ids a text can give.


def _possible(pair: TwoModels, numbers: Iterable[int]) -> list[int]:
    """Those of the ids that a text may have on both sides."""
    wanted = {*numbers}
    for model in (pair.a, pair.b) if wanted else ():
        wanted &= _ids_of_texts(model, pair.scope, wanted)
    return sorted(wanted)


def _ids_of_texts(model: BPEModel, scope: Scope, wanted: set[int]) -> set[int]:
    """Of some ids those that a text of a scope may have; and perhaps others."""
    numbers = wanted.intersection(given_tokens(model).values())
    unknown = unknown_id(model)
    if unknown is not None:
        numbers.add(unknown)
    if scope != "text":
        numbers |= {t.id for t in model.added or () if scope == "all" or not t.special}
    if scope == "all" and model.sequence_template is not None:
        parts = (*model.sequence_template.single, *model.sequence_template.pair)
        numbers.update(n for part in parts if isinstance(part, TemplateToken) for n in part.ids)
    return numbers


# A difference, and a text that shows it.


def _tried(pair: TwoModels, differing: list[int], one: Meanings, two: Meanings) -> Stage:
    decoders = tuple(map(Encoder, (pair.a, pair.b)))
    texts = chain(_texts_of(pair, differing[:_TRIED]), islice(single_characters(), _CHARACTERS))
    for text in dict.fromkeys(texts):
        ids = [side.ids(text) for side in pair.in_scope]
        # Other ids are another stage's difference; this one is about the same ids.
        if ids[0] is None or ids[0] != ids[1]:
            continue
        back = [decoded(decoder, ids[0]) for decoder in decoders]
        if None not in back and back[0] != back[1]:
            # That of the text itself before one that is placed around it.
            apart = [number for number in ids[0] if number in {*differing}] or differing
            own = {token.id for token in pair.a.added or () if token.text == text}
            number = next(filter(own.__contains__, apart), apart[0])
            return Stage(_NAME, "different", _how_they_differ(number, one, two, decoders), text)
    return Stage(_NAME, "unknown", _how_they_differ(differing[0], one, two, decoders) + NO_DECODED)


def _how_they_differ(number: int, one: Meanings, two: Meanings, decoders: Sequence[Encoder]) -> str:
    """What an id decodes to: as text where that tells the sides apart, else what its token is."""
    alone = [decoded(decoder, [number]) for decoder in decoders]
    left, right = (_in_words(each.get(number)) for each in (one, two))
    if None not in alone and alone[0] != alone[1]:
        left, right = (show(text or "") for text in alone)
    return f"the id {number} decodes to {left} in the first, to {right} in the second"


def decoded(decoder: Encoder, ids: Sequence[int]) -> str | None:
    """The text of ids; None where they have none."""
    try:
        return decoder.decode(ids)
    except DecodeError:
        return None  # an id that this model does not have


def _in_words(meaning: Meaning | None) -> str:
    if meaning is None:
        return "nothing"
    if isinstance(meaning, (bytes, str)):
        return show(meaning)
    text, kind = meaning
    return show(text) if kind == "piece" else f"{show(text)} ({kind})"


def _texts_of(pair: TwoModels, some: Sequence[int]) -> Iterator[str]:
    models = [(model, numbered(model.vocab.ids, {*some})) for model in (pair.a, pair.b)]
    for number in some:
        for model, contents in models:
            for token in model.added or ():
                if token.id == number:
                    yield token.text
            if number in contents:
                yield from pair.texts_of(contents[number])


# SentencePiece's decoding, and a chain of steps that does the same.


def _is_undone_by(model: BPEModel, steps: Sequence[DecoderStep]) -> bool:
    """Whether steps join a model's pieces as SentencePiece does, if each is spelled alike."""
    # The conditions of Theorem 20. First, nothing else happens to decoded texts (1).
    own = model.decoder or ()
    if len(own) != 1 or not isinstance(step := own[0], JoinPieces):
        return False
    if step.collapse or step.charsmap or step.dummy == "suffix":
        return False
    # A text that begins with an added token, cut out before the prefix is written, would begin
    # otherwise (3).
    if not all(token.special for token in model.added or ()):
        return False
    if step.dummy == "prefix" and not _begins_with_space(model):
        return False
    # Replaced in each token, byte tokens read, joined, one space removed at the start (2).
    rest = list(steps[len(_replaced_in_tokens(steps)) :])
    if rest[:1] == [ByteTokens()]:
        del rest[0]
    return rest == [Fuse()] + [StripToken(" ", 1, 0)] * (step.dummy == "prefix")


def _replaced_in_tokens(steps: Iterable[DecoderStep]) -> list[Replace]:
    replacing = takewhile(lambda step: isinstance(step, Replace), steps)
    return [step for step in replacing if isinstance(step, Replace)]


def _begins_with_space(model: BPEModel) -> bool:
    """Whether the first token of every text begins with U+2581: written first, and a token."""
    number = model.vocab.ids.get(_SPACE.encode())
    if number is None or model.vocab.kinds.get(number) == "unused":
        return False
    last = normalizers.canonical_steps(model.normalizer or ())[-1:]
    return any(
        (isinstance(step, Prepend) and step.text.startswith(_SPACE))
        or (isinstance(step, SentencePieceText) and step.dummy == "prefix" and step.escape)
        for step in last
    )


def _spelled_alike(
    step: JoinPieces, steps: Sequence[DecoderStep]
) -> Callable[[Meaning, Meaning | None], bool]:
    """Whether a token becomes what a piece does, before they are joined: condition 4."""
    replacing, reads = _replaced_in_tokens(steps), ByteTokens() in steps
    as_pieces = replacing == [Replace(_SPACE, " ")]

    def alike(piece: Meaning, token: Meaning | None) -> bool:
        if not isinstance(token, str):
            return False
        assert isinstance(piece, tuple)
        text, kind = piece
        # The many of a large vocabulary; only what is as long as ``<0x00>`` may be read as a byte.
        if as_pieces and token == text and kind == "piece" and len(text) != 6:
            return True
        if kind == "byte":
            expected = text
        # SentencePiece's Decode leaves these out, and a chain of steps writes every token.
        elif kind == "control":
            return False
        else:
            expected = step.unknown if kind == "unknown" else text.replace(_SPACE, " ")
        replaced = token
        for each in replacing:
            if isinstance(each.pattern, str) and each.pattern:
                replaced = replaced.replace(each.pattern, each.content)
            else:
                [replaced] = apply_step(each, [replaced])
        read = reads and BYTE_TOKEN.fullmatch(replaced) is not None
        return replaced == expected and read is (kind == "byte")

    return alike
