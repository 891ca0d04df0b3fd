"""From the model to the two files of a pair."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from ...entries import numbered
from ...kernel.files import pairs_text, vocabulary_text
from ...kernel.tables import may_hold
from ...model import Affixes, BPEModel, PairList
from ...text.bytechars import is_mapped, to_bytes, to_chars
from ...theory.utf8 import missing_bytes
from .. import Files
from . import NAMES
from .read import COMMENT

_HEADER = "#version: 0.2"


def dump(model: BPEModel, *, names: str = "encoder") -> Files:
    """Writes the pair, as OpenAI's own files are written.

    ``names``: ``encoder`` (``encoder.json``, ``vocab.bpe``) or ``vocab`` (``vocab.json``,
    ``merges.txt``).
    """
    if model.alphabet != "byte":
        from ...theory.byte_ranks import over_bytes  # reading does not wait for it

        model = over_bytes(model) or model
    vocab_name, merges_name = NAMES[names]
    return {vocab_name: _vocabulary(model), merges_name: _merges(model)}


def with_vocab_names(model: BPEModel, files: Files) -> Files:
    """The pair under the names that Hugging Face uses."""
    return dump(model, names="vocab")


def _vocabulary(model: BPEModel) -> bytes:
    literal = _literal(model)
    if not any(map(is_mapped, literal.values())):
        others = {**{text: model.vocab.ids[token] for token, text in literal.items()}}
        others.update(added_entries(model))
        spelled = [(json.dumps(text), number) for text, number in others.items()]
        text = vocabulary_text(
            model.vocab.ids, spelled, literal=literal, ascii_only=True, between=b", "
        )
        if text is not None:
            return b"".join((b"{", text, b"}"))
    return json.dumps(dict(sorted(entries(model).items(), key=lambda item: item[1]))).encode()


def _merges(model: BPEModel) -> bytes:
    pairs = pair_list(model)
    text = pairs_text(pairs)
    if text is None:
        each = pairs.values() if isinstance(pairs, Mapping) else pairs
        lines = (f"{to_chars(left)} {to_chars(right)}\n" for left, right in each)
        text = bytearray("".join(lines), "utf-8")
    return b"".join((f"{_HEADER}\n".encode(), text))


def entries(model: BPEModel) -> dict[str, int]:
    """Spellings to ids: the vocabulary, and each added token that it has a place for."""
    ids, literal = model.vocab.ids, _literal(model)
    own = {literal.get(content) or to_chars(content): number for content, number in ids.items()}
    return own | added_entries(model)


def _literal(model: BPEModel) -> dict[bytes, str]:
    """The tokens that are not spelled in the byte alphabet, and how they are."""
    control = {number for number, kind in model.vocab.kinds.items() if kind == "control"}
    literal = numbered(model.vocab.ids, control).values() if control else ()
    return {content: content.decode("utf-8", "replace") for content in literal}


def added_entries(model: BPEModel) -> dict[str, int]:
    """The added tokens that the vocabulary has a place for."""
    ids = model.vocab.ids
    placed: dict[str, int] = {}
    taken = set(ids.values())
    for token in model.added or ():
        text = token.text
        read_as = to_bytes(text) if is_mapped(text) else text.encode()
        if token.id not in taken and read_as not in ids and len(read_as) > 1:
            placed[text] = token.id
            taken.add(token.id)
    return placed


def pair_list(
    model: BPEModel,
) -> Sequence[tuple[bytes, bytes]] | Mapping[bytes, tuple[bytes, bytes]]:
    """The merges to write: as listed, or each reachable token's split in rank order."""
    from ...merging.canonical import canonical

    pairs = model.merges.pairs if isinstance(model.merges, PairList) else canonical(model).splits
    plain = model.alphabet == "byte" and model.affixes == Affixes()
    if plain and not missing_bytes(model.vocab.ids):
        return pairs
    # No reader takes a merge that names what is no token: bytes without one, and what a model that
    # merges something else than bytes has.
    ids, each = model.vocab.ids, pairs.values() if isinstance(pairs, Mapping) else pairs
    return [(x, y) for x, y in each if x in ids and y in ids and x + y in ids]


def first_comment(model: BPEModel) -> tuple[bytes, bytes] | None:
    """The first merge to write that readers take for a comment."""
    ids, start = model.vocab.ids, COMMENT.encode()
    if not may_hold(ids, start):
        return None
    pairs = pair_list(model)
    each = pairs.values() if isinstance(pairs, Mapping) else pairs
    return next((pair for pair in each if pair[0].startswith(start)), None)
