"""From the model to a ``.model`` file, and the configuration beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...limits import SENTENCEPIECE_PIECES
from ...memo import Memo
from ...merging.canonical import canonical
from ...merging.scores import float32, order_of
from ...model import AddedToken, Affixes, BPEModel, RankTable, Vocab
from ...steps import SPACE
from ...text.bytechars import to_chars
from ...text.normalize import normalize
from ...theory.added_tokens import overlap
from ...theory.rewrite import ranks_of
from .. import Files
from .config_file import write_beside
from .message import DEFAULT_PIECES, PRETOKEN_LEVEL, Piece, message_of, written_pieces
from .normalizer import nearest
from .read import BYTE_PIECES, MAIN
from .schema import BYTE, CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED

LISTING = "tokenizer.vocab"
"""The name of the listing, for people; sentencepiece itself reads it only as a vocabulary."""


def dump(model: BPEModel) -> dict[str, bytes]:
    """Writes ``tokenizer.model``, and ``tokenizer_config.json`` where there is a template."""
    written = spelled(model)
    pieces = pieces_of(written)
    message = message_of(written, nearest(written), pieces)
    if model.alphabet == "byte":
        # The ids are those of single pretokens, spelled in GPT-2's byte alphabet, and not of whole
        # texts: the file says so.
        message.trainer_spec.model_prefix = PRETOKEN_LEVEL.encode()
    # They go by surface, as sentencepiece_processor.cc (bos_id) finds them.
    spec, types = message.trainer_spec, {piece.surface: piece.type for piece in pieces}
    named = {
        role: getattr(spec, f"{role}_piece") or default.encode()
        for role, default in DEFAULT_PIECES.items()
    }
    own = {
        role: surface.decode()
        for role, surface in named.items()
        if types.get(surface) == (UNKNOWN if role == "unk" else CONTROL)
    }
    return {MAIN: written_pieces(written, pieces) + message.written(), **write_beside(model, own)}


def vocab_listing(model: BPEModel, files: Files) -> Files:
    """Adds ``tokenizer.vocab``: a line with surface, tab and score for each piece."""
    model = spelled(model)
    spec = message_of(model, nearest(model), []).trainer_spec
    scored = spec.vocabulary_output_piece_score
    lines = [
        # As src/trainer_interface.cc (SaveVocab): six digits, as a C++ stream prints them.
        piece.surface + (f"\t{piece.score:g}".encode() if scored else b"") + b"\n"
        for piece in pieces_of(model)
    ]
    return {**files, LISTING: b"".join(lines)}


def spelled(model: BPEModel) -> BPEModel:
    """A byte-level model's tokens in GPT-2's byte alphabet, merged as characters.

    That is the same for each pretoken that is spelled so; for whole texts it is another
    tokenizer. A character-level model is returned as it is.
    """
    return model if model.alphabet == "char" else _spelled_out(model)


@Memo
def _spelled_out(model: BPEModel) -> BPEModel:
    ids, kinds = model.vocab.ids, model.vocab.kinds
    words = {
        content: content if kinds.get(number) == "control" else to_chars(content).encode()
        for content, number in ids.items()
    }
    numbers = {words[content]: number for content, number in ids.items()}
    ranks = {words[token]: rank for rank, token in enumerate(canonical(model).splits)}
    return replace(
        model,
        alphabet="char",
        affixes=Affixes(
            to_chars(model.affixes.prefix).encode(), to_chars(model.affixes.suffix).encode()
        ),
        vocab=Vocab(numbers, kinds, model.vocab.scores),
        merges=RankTable(ranks),
        normalizer=(),
        pretokenizer=(),
        decoder=None,
    )


_KINDS = {"user_defined": USER_DEFINED, "unused": UNUSED, "byte": BYTE, "control": CONTROL}


@Memo
def pieces_of(model: BPEModel) -> list[Piece]:
    """The pieces, one for every id up to the greatest. Computed once for each model.

    A token of several characters that nothing merges into, and an id that stands for nothing,
    become UNUSED pieces of the least score: no text is encoded otherwise, and the id is decoded to
    its surface.
    """
    return _Listing(model).pieces()


def found_as_piece(token: AddedToken, model: BPEModel) -> bool:
    """Whether a user-defined piece is found wherever this added token is, and nowhere else."""
    flags = token.special or token.looks_around
    if flags or not token.normalized:
        return False
    # A piece is found in the normalized text as it is spelled, an added token in its own normalized
    # form, before a Metaspace writes spaces otherwise.
    if model.pretokenizer and (" " in token.text or SPACE in token.text):
        return False
    if any(
        # Such a token hides it where they stand together, even where special tokens are text.
        other.special and other.normalized and overlap(other.text, token.text)
        for other in model.added or ()
    ):
        return False
    return normalize(model.normalizer or (), token.text) == token.text


class _Listing:
    def __init__(self, model: BPEModel) -> None:
        self._model = model
        self._ranks = ranks_of(model)
        self._found: dict[int, tuple[bytes, int]] = {}
        self._taken: set[bytes] = set()

    def pieces(self) -> list[Piece]:
        self._put_vocabulary()
        for token in self._model.added or ():
            self._put_added(token)
        self._put_unknown()
        if max(self._found) >= SENTENCEPIECE_PIECES.most:  # too many to fill up to
            self._found = dict(enumerate(self._found[number] for number in sorted(self._found)))
        for number in range(max(self._found)):
            if number not in self._found:
                self._put(number, f"<unused_{number}>".encode(), UNUSED)
        scores = self._scores()
        return [Piece(self._found[n][0], scores[n], self._found[n][1]) for n in sorted(scores)]

    def _put(self, number: int, surface: bytes, kind: int) -> None:
        """Adds a piece. One whose surface no piece can have gets another and stands for nothing."""
        # A null character can be an UNUSED piece, and nothing else.
        null = 0 in surface and (surface, kind) != (b"\0", UNUSED)
        if surface in self._taken or not surface or null:
            surface, kind = _free(f"<unused_{number}>", self._taken), UNUSED
        self._taken.add(surface)
        self._found[number] = surface, kind

    def _put_vocabulary(self) -> None:
        ids, kinds, ranks = self._model.vocab.ids, self._model.vocab.kinds, self._ranks
        unknown = self._model.fallback.unknown
        whole = self._model.fallback.byte_fallback and ids.keys() >= BYTE_PIECES
        for content, number in ids.items():
            kind = _KINDS.get(kinds[number], NORMAL) if number in kinds else NORMAL
            if number == unknown:
                kind = UNKNOWN
            elif kind == BYTE:
                kind = BYTE if whole else UNUSED
            elif kind == NORMAL and content not in ranks and len(content.decode()) > 1:
                # Merged into last of all, and split again. No ranked token is ever built of it:
                # that has one pair which can build it (Lemma 2), and it is found before.
                kind = UNUSED
            self._put(number, content, kind)

    def _put_added(self, token: AddedToken) -> None:
        surface = token.text.encode()
        defined = found_as_piece(token, self._model)
        if token.id not in self._found:
            kind = CONTROL
            if token.id == self._model.fallback.unknown:
                kind = UNKNOWN
            elif defined:
                kind = USER_DEFINED
            self._put(token.id, surface, kind)
        elif defined and self._found[token.id] == (surface, NORMAL):
            self._found[token.id] = surface, USER_DEFINED

    def _put_unknown(self) -> None:
        # sentencepiece loads no model without one (src/model_interface.cc).
        if all(kind != UNKNOWN for _, kind in self._found.values()):
            number = next(n for n in range(len(self._found) + 1) if n not in self._found)
            self._put(number, _free("<unk>", self._taken), UNKNOWN)

    def _scores(self) -> dict[int, float]:
        """The scores of all pieces, by id: the model's own, if they order it as its ranks do."""
        merging = {n: s for n, (s, kind) in self._found.items() if kind in (NORMAL, UNUSED)}
        own = self._model.vocab.scores
        if own.keys() >= self._found.keys():
            held = float32([own[n] for n in self._found])
            scores = dict(zip(self._found, held or (), strict=False))
            # The model's own scores stay where they order it as its ranks do.
            if held and _places(merging, scores) == self._ranks:
                return scores
        order = _dense(self._ranks)
        last = max(order.values(), default=-1)
        scores = dict.fromkeys(self._found, 0.0)
        for number in sorted(merging):
            rank = order.get(merging[number])
            if rank is None:
                rank = last = last + 1
            scores[number] = -float(rank)
        return scores


def _places(merging: Mapping[int, bytes], scores: Mapping[int, float]) -> dict[bytes, int]:
    return _dense({surface: -order_of(scores[n]) for n, surface in merging.items()})


def _dense(numbers: Mapping[bytes, float]) -> dict[bytes, int]:
    places = {number: place for place, number in enumerate(sorted(set(numbers.values())))}
    return {surface: places[number] for surface, number in numbers.items()}


def _free(surface: str, taken: set[bytes]) -> bytes:
    while surface.encode() in taken:
        surface = f"<{surface}>"
    return surface.encode()
