"""From a ``.model`` file, and the configuration beside it, to the model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import copysign, isfinite
from typing import NamedTuple, NoReturn

from ...errors import ONLY_BPE, FormatError, InvalidModelError, UnsupportedError, compared_in
from ...kernel.files import take_pieces
from ...kernel.tables import is_checked
from ...limits import SENTENCEPIECE_BYTES, SENTENCEPIECE_PIECES
from ...merging.scores import both_zeros, order_of
from ...model import (
    LOADING,
    AddedToken,
    BPEModel,
    Fallback,
    Json,
    Kind,
    Origin,
    RankTable,
    Vocab,
    digests,
)
from ...quoting import show
from ...text.bytechars import BYTE_TOKENS
from ...tokenizer_config import CONFIG
from .message import (
    DEFAULT_PIECES,
    DEFAULT_SURFACE,
    PRETOKEN_LEVEL,
    ROLES,
    Dummy,
    Flags,
    Outline,
    Piece,
    extras_of,
    outline_of,
)
from .schema import (
    BPE,
    BYTE,
    CONTROL,
    MODEL_TYPES,
    NORMAL,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    Message,
    PieceFields,
    parse,
)

MAIN = "tokenizer.model"
SUFFIX = ".model"

BYTE_PIECES = frozenset(map(str.encode, BYTE_TOKENS.values()))


def load(files: Mapping[str, bytes]) -> BPEModel:
    """Reads a SentencePiece BPE model.

    Raises:
        FormatError: the file is malformed, or sentencepiece would refuse it; the message names
            the piece, the field or the byte.
        UnsupportedError: it is no BPE model, or uses something that is not understood.
    """
    name = main_file(files)
    taken = take(files[name], name)
    notes: list[str] = []
    if taken is None:
        message, listing = _read(files[name], name, notes)
    else:
        message, listing = taken
        _check_type(message, name)
    spec, outline = message.trainer_spec, listing.outline
    _check_bytes(outline, spec.byte_fallback, name)
    _check_charsmaps(message, name)
    unknown = _unknown(outline, name)
    # What the kernel takes is written again byte for byte (`take`).
    if not taken and not notes and message.written() != files[name]:
        notes.append(f"{name}: written again it has the same fields, and not the same bytes")
    if spec.model_prefix == PRETOKEN_LEVEL.encode():
        notes.append(f"{name} is labelled as {PRETOKEN_LEVEL}; it must not be used for whole texts")
    notes += _zeros(listing, name)
    added = _added(listing, spec, unknown)
    template, chat_template = None, None
    settings: Mapping[str, Json] = {}
    if CONFIG in files:
        from .config_file import read_beside

        added, template, chat_template, settings = read_beside(files[CONFIG], added, notes)
    origin = Origin(
        "sentencepiece",
        files=digests({key: files[key] for key in (name, CONFIG) if key in files}),
        notes=tuple(notes),
    )
    try:
        flags = _flags(message)
        model = BPEModel(
            vocab=listing.vocab,
            merges=RankTable(listing.ranks),
            alphabet="char",
            fallback=fallback_of(outline, listing.lacking),
            normalizer=flags.steps(_left_alone(outline)),
            pretokenizer=(),
            added=added,
            sequence_template=template,
            decoder=(flags.decoder(_surface(message, name), _denormalizer(message, name)),),
            chat_template=chat_template,
            origin=origin,
        )
    except InvalidModelError as error:
        raise FormatError(error.what, where=f"{name}: pieces") from None
    extras = extras_of(message, model, flags, outline, listing.presence, name)
    kept = {"sentencepiece": extras, LOADING: dict(settings)}
    named = {key: each for key, each in kept.items() if each}
    return replace(model, extras=named) if named else model


def _read(data: bytes, file: str, notes: list[str]) -> tuple[Message, PieceListing]:
    """The message and its pieces, as Python reads them; adds notes."""
    message, unread = parse(data, file)
    notes += unread
    if not message.pieces:
        raise FormatError("there are no pieces", where=file, fix="is this a SentencePiece model?")
    _check_type(message, file)
    fallback = message.trainer_spec.byte_fallback
    pieces = _null_unused(_read_pieces(message, file), fallback, notes, file)
    return message, listing_of(pieces, presence_of(message))


def _left_alone(outline: Outline) -> list[str]:
    """The texts of the user-defined pieces, which a normalizer does not change."""
    others = outline.others.values()
    return [piece.surface.decode() for piece in others if piece.type == USER_DEFINED]


def main_file(files: Mapping[str, bytes]) -> str:
    """The name of the model among the files, which may be called otherwise."""
    named = [name for name in files if name.endswith(SUFFIX)]
    rest = [name for name in files if name != CONFIG]
    if MAIN in files or not rest:
        return MAIN
    return named[0] if len(named) == 1 else rest[0]


def _check_type(message: Message, file: str) -> None:
    kind = message.trainer_spec.model_type
    if kind == BPE:
        return
    stated = message.trainer_spec.has("model_type")
    raise UnsupportedError(
        f"the model is {MODEL_TYPES[kind]}, not BPE: it cannot be held as merges"
        + ("" if stated else " (no type is given, which means UNIGRAM)"),
        where=f"{file}: trainer_spec.model_type",
        fix=ONLY_BPE,
    )


def _read_pieces(message: Message, file: str) -> list[Piece]:
    """The pieces, each checked as ``ModelInterface::InitializePieces`` does, and more strictly."""
    surfaces = [surface or b"" for surface, _, _ in message.pieces]
    scores = [0.0 if score is None else score for _, score, _ in message.pieces]
    joined = b"".join(surfaces)
    sound = len(set(surfaces)) == len(surfaces) and all(surfaces)
    if not sound or not all(map(isfinite, scores)):
        _explain_pieces(surfaces, scores, file)
    try:
        joined.decode("utf-8")
    except UnicodeDecodeError:
        _explain_surfaces(surfaces, file)
    return list(map(Piece, surfaces, scores, [kind or NORMAL for _, _, kind in message.pieces]))


def _null_unused(
    pieces: list[Piece], byte_fallback: bool, notes: list[str], file: str
) -> list[Piece]:
    """The pieces, of which a null character is UNUSED where byte fallback stands in for it."""
    for index, piece in enumerate(pieces):
        if 0 not in piece.surface:
            continue
        # So does sentencepiece 0.2.3 (sentencepiece_processor.cc), which refuses all other pieces
        # that hold one; 0.2.0 takes them as they are.
        if piece.surface != b"\0" or not (byte_fallback or piece.type == UNUSED):
            _fail(file, index, f"the piece {show(piece.surface)} holds a null character")
        if piece.type != UNUSED:
            notes.append(
                f"{file}: pieces[{index}] is a null character, and byte_fallback is true; "
                "sentencepiece treats it as an UNUSED piece, and so do we"
            )
            pieces[index] = piece._replace(type=UNUSED)
    return pieces


def _explain_pieces(surfaces: Sequence[bytes], scores: Sequence[float], file: str) -> NoReturn:
    first: dict[bytes, int] = {}
    for index, (surface, score) in enumerate(zip(surfaces, scores, strict=True)):
        if not surface:
            _fail(file, index, "the piece is empty")
        if first.setdefault(surface, index) != index:
            _fail(
                file,
                index,
                f"the piece {show(surface)} is already there, as pieces[{first[surface]}]",
            )
        if not isfinite(score):
            _fail(file, index, f"the score of {show(surface)} is {score}, which is no number")
    raise FormatError("a piece is malformed", where=file)


def _explain_surfaces(surfaces: Iterable[bytes], file: str) -> NoReturn:
    for index, surface in enumerate(surfaces):
        try:
            surface.decode("utf-8")
        except UnicodeDecodeError as error:
            _fail(file, index, f"the piece {show(surface)} is not UTF-8 (byte {error.start} of it)")
    raise FormatError("a piece is not UTF-8", where=file)


def _fail(file: str, index: int, what: str) -> NoReturn:
    raise FormatError(what, where=f"{file}: pieces[{index}]")


def _check_bytes(outline: Outline, byte_fallback: bool, file: str) -> None:
    contents = set[bytes]()
    for index, piece in outline.others.items():
        if piece.type != BYTE:
            continue
        if not byte_fallback:
            _fail(file, index, f"a byte piece, {show(piece.surface)}, and byte_fallback is false")
        if piece.surface not in BYTE_PIECES:
            _fail(file, index, f"the byte piece {show(piece.surface)} is not <0x00> to <0xFF>")
        contents.add(piece.surface)
    missing = sorted(BYTE_PIECES - contents)
    if byte_fallback and missing:
        raise FormatError(
            f"byte_fallback is true, and {len(missing)} of the 256 byte pieces are missing, "
            f"such as {missing[0].decode()}",
            where=f"{file}: pieces",
        )


def _unknown(outline: Outline, file: str) -> int:
    places = [index for index, piece in outline.others.items() if piece.type == UNKNOWN]
    if not places:
        raise FormatError("there is no UNKNOWN piece", where=f"{file}: pieces")
    if len(places) > 1:
        _fail(file, places[1], f"a second UNKNOWN piece; pieces[{places[0]}] is one already")
    return places[0]


def _added(listing: PieceListing, spec: Message, unknown: int) -> tuple[AddedToken, ...]:
    roles = _roles(listing, spec, unknown)
    return tuple(
        AddedToken(piece.surface.decode(), number, roles=tuple(sorted(roles.get(number, ()))))
        for number, piece in listing.outline.others.items()
        if piece.type in (CONTROL, UNKNOWN)
    )


def _roles(listing: PieceListing, spec: Message, unknown: int) -> dict[int, list[str]]:
    others, ids = listing.outline.others, listing.vocab.ids
    # They go by surface (sentencepiece_processor.cc, bos_id). The ids that the spec names are the
    # trainer's wish, and sentencepiece does not read them.
    numbers = {piece.surface: number for number, piece in others.items()}
    roles: dict[int, list[str]] = {}
    for role in ROLES:
        name: bytes = getattr(spec, f"{role}_piece") or DEFAULT_PIECES[role].encode()
        number = numbers.get(name, ids.get(name, unknown))
        kind = UNKNOWN if role == "unk" else CONTROL
        if number in others and others[number].type == kind:
            roles.setdefault(number, []).append(role)
    return roles


def _zeros(listing: PieceListing, file: str) -> list[str]:
    """A note where sentencepiece's versions order the pieces otherwise."""
    if is_checked(listing.ranks):
        return []  # the kernel leaves such pieces to Python
    ids, scores = listing.vocab.ids, listing.vocab.scores
    merged = [surface for surface in listing.ranks if len(surface.decode()) > 1]
    zeros = [surface for surface in merged if not scores[ids[surface]]]
    if not both_zeros(scores[ids[surface]] for surface in zeros):
        return []
    high, low = (
        show(next(surface for surface in zeros if copysign(1, scores[ids[surface]]) == sign))
        for sign in (1, -1)
    )
    return [
        f"{file}: {high} has the score 0.0 and {low} -0.0: sentencepiece since 0.2.2 merges the "
        "first before the second, as is done here; up to 0.2.1 they are a tie"
    ]


def _flags(message: Message) -> Flags:
    spec = message.normalizer_spec
    dummy: Dummy = "none"
    if spec.add_dummy_prefix:
        dummy = "suffix" if message.trainer_spec.treat_whitespace_as_suffix else "prefix"
    return Flags(
        spec.precompiled_charsmap, dummy, spec.remove_extra_whitespaces, spec.escape_whitespaces
    )


def _surface(message: Message, file: str) -> str:
    """What the unknown piece is decoded to."""
    spec = message.trainer_spec
    if not spec.has("unk_surface"):
        return DEFAULT_SURFACE
    try:
        surface: str = spec.unk_surface.decode("utf-8")
    except UnicodeDecodeError:
        raise FormatError("not UTF-8", where=f"{file}: trainer_spec.unk_surface") from None
    if "\0" in surface:
        raise FormatError("a null character", where=f"{file}: trainer_spec.unk_surface")
    return surface


def _denormalizer(message: Message, file: str) -> bytes:
    """The character map of decoded texts; the other settings are the trainer's (all off)."""
    spec = message.denormalizer_spec
    charsmap: bytes = spec.precompiled_charsmap
    if charsmap:
        for field in ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces"):
            if getattr(spec, field):
                raise UnsupportedError(
                    "white space rules for decoded text are not supported",
                    where=f"{file}: denormalizer_spec.{field}",
                    fix=compared_in("sentencepiece"),
                )
    return charsmap


def _check_charsmaps(message: Message, file: str) -> None:
    """Refuses a damaged character map; sentencepiece reads outside it."""
    for field in ("normalizer_spec", "denormalizer_spec"):
        charsmap = getattr(message, field).precompiled_charsmap
        if not charsmap:
            continue
        from ...text.charsmap import rules  # many have no such map, and do not wait for it

        try:
            rules(charsmap)
        except InvalidModelError as error:
            where = f"{file}: {field}.precompiled_charsmap"
            raise FormatError(error.what, where=where) from None


_KINDS: dict[int, Kind] = {USER_DEFINED: "user_defined", UNUSED: "unused", BYTE: "byte"}


class PieceListing(NamedTuple):
    """The pieces of a file.

    Attributes:
        outline: those that are not NORMAL, and how many there are.
        vocab: all but those that no text gives (CONTROL, UNKNOWN), with all scores.
        ranks: of those that others may merge into, by descending score, without gaps; equal
            scores are equal ranks.
        lacking: whether one of these holds a character that is no piece itself.
        presence: what ``extras`` say of fields that are there or not.
    """

    outline: Outline
    vocab: Vocab
    ranks: Mapping[bytes, int]
    lacking: bool
    presence: Mapping[str, Json]


def take(data: bytes, file: str) -> tuple[Message, PieceListing] | None:
    """The message of a file without its pieces, and these; None where Python reads them."""
    if len(data) > SENTENCEPIECE_BYTES.most:
        return None
    # The kernel leaves pieces to Python in which something is wrong, which tells the error.
    pieces = take_pieces(data)
    if pieces is None or pieces.count > SENTENCEPIECE_PIECES.most:
        return None
    # So is a rest that is malformed, or has fields that are not known, or would be written
    # otherwise.
    message = Message()
    if pieces.rest:
        try:
            message, notes = parse(pieces.rest, file)
        except (FormatError, UnsupportedError):
            return None
        if message.pieces or notes or message.written() != pieces.rest:
            return None
    others = {number: Piece(surface, score, kind) for number, surface, score, kind in pieces.others}
    outline = Outline(pieces.count, others)
    vocab = Vocab(pieces.ids, _kinds(outline), pieces.scores)
    presence: dict[str, Json] = {"typed": [*pieces.typed]} if pieces.typed else {}
    return message, PieceListing(outline, vocab, pieces.ranks, pieces.lacking, presence)


def listing_of(pieces: Sequence[Piece], presence: Mapping[str, Json]) -> PieceListing:
    """The same of pieces that Python has read."""
    outline = outline_of(pieces)
    ids = {
        piece.surface: number
        for number, piece in enumerate(pieces)
        if piece.type not in (CONTROL, UNKNOWN)
    }
    scores = {number: piece.score for number, piece in enumerate(pieces)}
    vocab = Vocab(ids, _kinds(outline), scores)
    return PieceListing(outline, vocab, _ranks_of(pieces), lacks_characters(pieces), presence)


def presence_of(message: Message) -> dict[str, Json]:
    """The pieces that leave their score out, and those that say that they are normal."""
    fields: list[PieceFields] = message.pieces
    unscored: list[Json] = [n for n, (_, score, _) in enumerate(fields) if score is None]
    typed: list[Json] = [n for n, (_, _, kind) in enumerate(fields) if kind == NORMAL]
    present: dict[str, Json] = {}
    if unscored:
        present["unscored"] = unscored
    if typed:
        present["typed"] = typed
    return present


def _kinds(outline: Outline) -> dict[int, Kind]:
    others = outline.others.items()
    return {number: _KINDS[piece.type] for number, piece in others if piece.type in _KINDS}


def _ranks_of(pieces: Iterable[Piece]) -> dict[bytes, int]:
    orders = {piece.surface: order_of(piece.score) for piece in pieces if merges(piece)}
    places = {order: place for place, order in enumerate(sorted({*orders.values()}, reverse=True))}
    return {surface: places[order] for surface, order in orders.items()}


def merges(piece: Piece) -> bool:
    """Whether other pieces may merge into it."""
    return piece.type in (NORMAL, UNUSED)


def lacks_characters(pieces: Sequence[Piece]) -> bool:
    """Whether a piece that merges holds a character that is no piece itself."""
    merging = [piece.surface for piece in pieces if merges(piece)]
    # A character has at most four bytes.
    single = {surface.decode() for surface in merging if len(surface) <= 4}
    single |= {piece.surface.decode() for piece in pieces if piece.type == USER_DEFINED}
    return not set(b"".join(merging).decode()) <= single


def fallback_of(outline: Outline, lacking: bool) -> Fallback:
    """What becomes of characters without a piece; with one byte piece there are all of them."""
    # Reversed, so that of each type the first stays.
    types = {piece.type: number for number, piece in reversed([*outline.others.items()])}
    return Fallback(
        "unknown",
        types[UNKNOWN],
        fuse=True,
        byte_fallback=BYTE in types,
        after_merging=lacking,
    )
