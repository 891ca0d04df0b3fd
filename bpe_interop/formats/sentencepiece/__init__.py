"""SentencePiece ``.model`` files (https://github.com/google/sentencepiece) of BPE models.

One protobuf message, ``ModelProto`` (``src/sentencepiece_model.proto``):

- ``pieces``: the tokens, each a surface, a float32 score and a type; the id is the position.
  NORMAL and UNUSED pieces are what may be merged into, highest score first, then leftmost; what
  is UNUSED is split again in the end. USER_DEFINED pieces are found in the normalized text first
  and never merged. BYTE pieces (``<0x00>`` to ``<0xFF>``) stand for what no piece spells, where
  ``byte_fallback`` is on; else the one UNKNOWN piece does. CONTROL pieces no text gives.
- ``trainer_spec``: how it was trained. ``model_type``, ``byte_fallback``, ``unk_surface``,
  ``treat_whitespace_as_suffix`` and the names of the bos, eos, pad and unk pieces matter here.
- ``normalizer_spec``: ``precompiled_charsmap`` (empty: none), ``add_dummy_prefix``,
  ``remove_extra_whitespaces``, ``escape_whitespaces``; ``denormalizer_spec``: for decoded text.
- ``self_test_data``: texts and pieces, which sentencepiece checks when it loads.

Beside it, ``tokenizer_config.json`` may say what stands around a text, and the chat template.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...model import FIELDS, BPEModel
from ...tokenizer_config import CONFIG
from .. import Files, Format, when_called
from ..names import TABLE
from .read import SUFFIX, load, main_file
from .schema import looks_like_model

__all__ = ["FORMAT", "load", "sniff"]


def sniff(files: Files) -> bool:
    """Whether there is a ``.model`` that begins as a message does, or pieces under another name."""
    own = [name for name in files if name != CONFIG]
    named = main_file(files)
    if named.endswith(SUFFIX):
        return looks_like_model(files.get(named, b""), named=True)
    return len(own) == 1 and looks_like_model(files[own[0]], named=False)


_ELSEWHERE = (
    "transformers builds a tokenizer of its own from a .model, and its ids may differ: for "
    "transformers, write --to hf"
)


def _how_to_load(files: Files, path: Callable[[str], str]) -> list[str]:
    models = [path(name) for name in files if name.endswith(SUFFIX)]
    return [f"sentencepiece.SentencePieceProcessor({name!r}); {_ELSEWHERE}" for name in models]


def _told(model: BPEModel) -> Iterator[tuple[str, str]]:
    yield "served", f"by sentencepiece; {_ELSEWHERE}"


FORMAT = Format(
    name="sentencepiece",
    aliases=("spm",),
    title="SentencePiece model",
    spec="https://github.com/google/sentencepiece/blob/master/src/sentencepiece_model.proto",
    engines={"sentencepiece": "bpe_interop.engines.sentencepiece:read"},
    holds=frozenset(FIELDS) - {"affixes", "lookup_first", "pretokenizer"},
    sniff=sniff,
    load=load,
    dump=when_called(".write", "dump", __name__),
    words=when_called(".words", "words", __name__),
    proves=when_called(".normalizer", "proves", __name__),
    holder="SentencePiece",
    options={"vocab-listing": when_called(".write", "vocab_listing", __name__)},
    drops={"pretoken-level": ("alphabet",)},
    names=TABLE["sentencepiece"],
    handed=("sentencepiece",),
    how_to_load=_how_to_load,
    told=_told,
)
