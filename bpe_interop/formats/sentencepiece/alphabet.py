"""Byte-level models as characters, and why no ``.model`` gives their ids on whole texts."""

from __future__ import annotations

from ...derived import Derived
from ...errors import BpeInteropError
from ...frozen import replace
from ...merging.canonical import canonical
from ...model import Affixes, BPEModel, RankTable, Vocab
from ...text.bytechars import to_chars
from ...theory.piece_level import Obstruction, obstruction
from ...witnesses import Probe


def spelled(model: BPEModel) -> BPEModel:
    """A byte-level model's tokens in GPT-2's byte alphabet, merged as characters.

    That is the same for each pretoken that is spelled so; for whole texts it is another
    tokenizer. A character-level model is returned as it is.
    """
    return model if model.alphabet == "char" else _spelled_out(model)


@Derived
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


def contradiction(model: BPEModel) -> Obstruction | None:
    """Two texts that prove that no SentencePiece model gives the ids of both, if found."""
    probe = Probe(model)

    def encode(text: str) -> list[int]:
        try:
            return probe.ids(text) or []
        except BpeInteropError:  # a text that says nothing
            return []

    return obstruction(encode)
