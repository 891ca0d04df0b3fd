"""The message that a model is written as, and what a read message says beyond it.

What a model states is written from the model. Everything else of a source's specs (the trainer's
settings, and whether a field that holds its default is present) is kept as the *difference*
between the source's message and the plain one, in ``extras["sentencepiece"]``; writing the
plain message and applying the difference gives the source's message again.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias, cast

from ...errors import FormatError
from ...model import AddedToken, BPEModel, Json
from ...steps import SPACE, JoinPieces, NormalizerStep, Prepend, Replace, SentencePieceText
from ..bos_eos import ends_of
from .schema import (
    BPE,
    BYTE,
    CONTROL,
    NORMAL,
    NORMALIZER_SPEC,
    TRAINER_SPEC,
    UNKNOWN,
    USER_DEFINED,
    Message,
    piece_bytes,
)

Dummy: TypeAlias = Literal["none", "prefix", "suffix"]

ROLES = ("unk", "bos", "eos", "pad")
"""The tokens that a ``TrainerSpec`` has fields for."""

PRETOKEN_LEVEL = "pretoken-level: pieces in GPT-2's byte alphabet, one pretoken at a time"
"""What ``trainer_spec.model_prefix`` says of a file that is no tokenizer of whole texts."""

DEFAULT_PIECES = {"unk": "<unk>", "bos": "<s>", "eos": "</s>", "pad": "<pad>"}
"""What a role's piece is called where the spec leaves its name empty (``model_interface.cc``)."""

DEFAULT_SURFACE = " \u2047 "
"""What the unknown piece decodes to where the spec does not say."""

_SPECS = {
    "trainer_spec": TRAINER_SPEC,
    "normalizer_spec": NORMALIZER_SPEC,
    "denormalizer_spec": NORMALIZER_SPEC,
}
_STATED = {
    "trainer_spec": ("model_type", "byte_fallback", "unk_surface"),
    "normalizer_spec": (
        "precompiled_charsmap",
        "add_dummy_prefix",
        "remove_extra_whitespaces",
        "escape_whitespaces",
    ),
    "denormalizer_spec": ("precompiled_charsmap",),
}
"""Fields that the model states: a difference may leave them out, and never says another value."""


class Flags(NamedTuple):
    """The settings of a ``NormalizerSpec``, and where its dummy space stands."""

    charsmap: bytes = b""
    dummy: Dummy = "none"
    collapse: bool = False
    escape: bool = True

    def steps(self, kept: Sequence[str] = ()) -> tuple[NormalizerStep, ...]:
        """The normalizer: simple steps where they say it all, which other formats have too.

        ``kept`` are the user-defined pieces, which only a character map and the removal of
        spaces could touch.
        """
        if self.charsmap or self.collapse or self.dummy == "suffix":
            return (
                SentencePieceText(
                    self.charsmap, self.collapse, self.dummy, self.escape, tuple(kept)
                ),
            )
        steps: list[NormalizerStep] = []
        if self.dummy == "prefix":
            steps.append(Prepend(SPACE if self.escape else " "))
        if self.escape:
            steps.append(Replace(" ", SPACE))
        return tuple(steps)

    def decoder(self, unknown: str, charsmap: bytes = b"") -> JoinPieces:
        """The decoder; ``charsmap`` is the denormalizer's."""
        return JoinPieces(unknown, self.dummy, self.collapse, charsmap)


class Piece(NamedTuple):
    """A ``ModelProto.SentencePiece``; its id is its position."""

    surface: bytes
    score: float
    type: int


@dataclass(frozen=True, slots=True)
class Outline:
    """How many pieces there are, and by id those that are not NORMAL, in their order."""

    count: int
    others: Mapping[int, Piece]


def outline_of(pieces: Sequence[Piece]) -> Outline:
    others = {number: piece for number, piece in enumerate(pieces) if piece.type != NORMAL}
    return Outline(len(pieces), others)


def written_pieces(model: BPEModel, pieces: Sequence[Piece]) -> bytes:
    """The pieces, which are the first field of the message."""
    own = model.extras.get("sentencepiece")
    unscored, typed = (
        {*cast("list[int]", own.get(key) or [])} if isinstance(own, dict) else set[int]()
        for key in ("unscored", "typed")
    )
    return b"".join(
        piece_bytes(
            surface,
            # What is left out is 0.0, and no -0.0.
            None if number in unscored and str(score) == "0.0" else score,
            None if kind == NORMAL and number not in typed else kind,
        )
        for number, (surface, score, kind) in enumerate(pieces)
    )


def message_of(model: BPEModel, flags: Flags, pieces: Sequence[Piece]) -> Message:
    """The message but for its pieces: what the model states, and the source's own settings.

    ``flags`` are those of the model's normalizer and pre-tokenizer.
    """
    message = Message()
    _fill_specs(message, model, flags, outline_of(pieces))
    extras = model.extras.get("sentencepiece")
    if isinstance(extras, dict):
        _apply(message, extras)
        _place_dummy(message.trainer_spec, flags)
    return message


def _place_dummy(spec: Message, flags: Flags) -> None:
    """Where there is a dummy space, the model says on which side, whatever the source's spec."""
    suffix = flags.dummy == "suffix"
    if flags.dummy != "none" and spec.treat_whitespace_as_suffix != suffix:
        spec.treat_whitespace_as_suffix = suffix


def _fill_specs(message: Message, model: BPEModel, flags: Flags, outline: Outline) -> None:
    _fill_trainer(message.trainer_spec, model, flags, outline)
    _fill_normalizer(message.normalizer_spec, flags)
    decoder = join_pieces(model)
    if decoder.charsmap:
        _fill_normalizer(message.denormalizer_spec, Flags(decoder.charsmap, escape=False))


def join_pieces(model: BPEModel) -> JoinPieces:
    """The decoder. Other formats decode the unknown token to its own text."""
    for step in model.decoder or ():
        if isinstance(step, JoinPieces):
            return step
    unknown = model.fallback.unknown
    texts = [token.text for token in model.added or () if token.id == unknown]
    texts += [content.decode() for content, n in model.vocab.ids.items() if n == unknown]
    return JoinPieces(texts[0] if texts else DEFAULT_SURFACE, "none", False)


def _fill_trainer(spec: Message, model: BPEModel, flags: Flags, outline: Outline) -> None:
    added, others = model.added or (), outline.others.values()
    spec.model_type = BPE
    spec.vocab_size = outline.count
    spec.byte_fallback = any(piece.type == BYTE for piece in others)
    spec.unk_surface = join_pieces(model).unknown.encode()
    if flags.dummy == "suffix":
        spec.treat_whitespace_as_suffix = True
    named: set[bytes] = set()
    ends = ends_of(model)
    placed = {} if ends is None else {r: t for r, t in zip(("bos", "eos"), ends, strict=True) if t}
    for role in ROLES:
        number = _holder(role, added, outline, placed.get(role))
        surface = DEFAULT_PIECES[role].encode() if number < 0 else outline.others[number].surface
        setattr(spec, f"{role}_id", number)
        setattr(spec, f"{role}_piece", surface)
        named.add(surface)
    spec.control_symbols.extend(
        piece.surface for piece in others if piece.type == CONTROL and piece.surface not in named
    )
    spec.user_defined_symbols.extend(
        piece.surface for piece in others if piece.type == USER_DEFINED
    )


def _holder(
    role: str, added: Sequence[AddedToken], outline: Outline, placed: AddedToken | None
) -> int:
    """The id of a role's piece; -1 if there is none."""
    kind = UNKNOWN if role == "unk" else CONTROL
    others = outline.others
    stated = sorted(token.id for token in added if role in token.roles)
    name = DEFAULT_PIECES[role].encode()
    if role == "unk":
        named = [number for number, piece in others.items() if piece.type == UNKNOWN]
    else:
        named = [number for number, piece in others.items() if piece.surface == name]
    # As stated, else as SentencePiece finds it by name, else what the template places there:
    # sentencepiece places nothing else (add_bos, add_eos).
    for number in (*stated, *named, *([] if placed is None else [placed.id])):
        if number in others and others[number].type == kind:
            return number
    return -1


def _fill_normalizer(spec: Message, flags: Flags) -> None:
    spec.name = b"user_defined" if flags.charsmap else b"identity"
    spec.precompiled_charsmap = flags.charsmap
    spec.add_dummy_prefix = flags.dummy != "none"
    spec.remove_extra_whitespaces = flags.collapse
    spec.escape_whitespaces = flags.escape


# The difference between a source's message and the plain one.


def extras_of(
    message: Message,
    model: BPEModel,
    flags: Flags,
    outline: Outline,
    presence: Mapping[str, Json],
    file: str,
) -> dict[str, Json]:
    """What a source's message says beyond the model; ``presence`` is what it says of its pieces.

    Raises:
        FormatError: a number in a spec is not finite.
    """
    plain = Message()
    _fill_specs(plain, model, flags, outline)
    extras: dict[str, Json] = {}
    for name, fields in _SPECS.items():
        if not message.has(name):
            if plain.has(name):
                extras[name] = None
            continue
        theirs, ours = getattr(message, name), getattr(plain, name)
        others: dict[str, Json] = {}
        for field, _, kind, _ in fields:
            value = _json_of(theirs, field, kind, f"{file}: {name}.{field}")
            if value != _json_of(ours, field, kind, file):
                others[field] = value
        if others or not plain.has(name):
            extras[name] = others
    if message.has("self_test_data"):
        samples = message.self_test_data.samples
        extras["self_test_data"] = [
            {
                key: _json_of(sample, key, "string", f"{file}: self_test_data.samples")
                for key in ("input", "expected")
            }
            for sample in samples
        ]
    extras.update(presence)
    return extras


def _json_of(spec: Message, field: str, kind: str, where: str) -> Json:
    if kind == "strings":
        return [_text(value) for value in getattr(spec, field)]
    if not spec.has(field):
        return None
    value = getattr(spec, field)
    if isinstance(value, bytes):
        return _text(value)
    if kind == "float" and not math.isfinite(value):
        raise FormatError(f"{value} is not a finite number", where=where)
    return cast(Json, value)


def _text(value: bytes) -> Json:
    """Bytes as JSON: text where they are UTF-8."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode("ascii")}


def _bytes(value: Json) -> bytes:
    if isinstance(value, dict):
        return base64.b64decode(str(value["base64"]))
    return str(value).encode("utf-8")


def _apply(message: Message, extras: Mapping[str, Json]) -> None:
    for name, fields in _SPECS.items():
        if name not in extras:
            continue
        stated = extras[name]
        if stated is None:
            if not _says_more(getattr(message, name), _STATED[name]):
                message.clear(name)
        elif isinstance(stated, dict):
            spec = getattr(message, name)
            # A spec that is there without a field is written, too.
            spec.state()
            for field, _, kind, _ in fields:
                if field in stated:
                    _set(spec, field, kind, stated[field], stated=field in _STATED[name])
    samples = extras.get("self_test_data")
    if isinstance(samples, list):
        message.self_test_data.state()
        for sample in samples:
            made = message.self_test_data.add("samples")
            for key, value in cast("dict[str, Json]", sample).items():
                _set(made, key, "string", value)


def _says_more(spec: Message, stated: tuple[str, ...]) -> bool:
    """Whether leaving a spec out would change what the model states."""
    return any(getattr(spec, field) != spec.default(field) for field in stated)


def _set(spec: Message, field: str, kind: str, value: Json, *, stated: bool = False) -> None:
    if value is None:
        if not stated or getattr(spec, field) == spec.default(field):
            spec.clear(field)
    elif stated:
        return
    elif kind == "strings":
        spec.clear(field)
        getattr(spec, field).extend(_bytes(entry) for entry in cast("list[Json]", value))
    else:
        setattr(spec, field, _bytes(value) if kind in ("string", "bytes") else value)
