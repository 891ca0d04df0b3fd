"""From the model to a ``.model`` file, and the configuration beside it."""

from __future__ import annotations

from dataclasses import replace

from ...memo import Memo
from ...merging.canonical import canonical
from ...model import Affixes, BPEModel, RankTable, Vocab
from ...text.bytechars import to_chars
from .. import Files
from .config_file import write_beside
from .pieces import pieces_of
from .read import MAIN
from .specs import PRETOKEN_LEVEL, message_of

LISTING = "tokenizer.vocab"
"""The name of the listing, for people; sentencepiece itself reads it only as a vocabulary."""


def dump(model: BPEModel) -> dict[str, bytes]:
    """Writes ``tokenizer.model``, and ``tokenizer_config.json`` where there is a template.

    Ids are positions. Scores are the model's own where they order its tokens as its ranks do,
    else minus the rank. Bytes are written as the characters of GPT-2's byte alphabet: the ids are
    those of single pretokens then, not of whole texts, and the file says so.
    """
    written = spelled(model)
    message = message_of(written, pieces_of(written))
    if model.alphabet == "byte":
        message.trainer_spec.model_prefix = PRETOKEN_LEVEL.encode()
    data: bytes = message.SerializeToString(deterministic=True)
    return {MAIN: data, **write_beside(model)}


def vocab_listing(model: BPEModel, files: Files) -> Files:
    """Adds ``tokenizer.vocab``: a line with surface, tab and score for each piece.

    As sentencepiece's trainer writes it (``src/trainer_interface.cc``, ``SaveVocab``): scores
    with up to six digits, as a C++ stream prints them.
    """
    model = spelled(model)
    spec = message_of(model, []).trainer_spec
    scored = spec.vocabulary_output_piece_score
    lines = [
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
