"""SentencePiece (https://github.com/google/sentencepiece) as an engine: a ``.model`` file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ..errors import EngineError
from ..formats import Files
from ..model import BPEModel
from ..tokenizer_config import CONFIG
from .library import LibraryEngine, Special, installed, library, reading

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor

_QUIET = 3
"""A log level above ``ERROR``: what goes wrong is raised as well."""


class SentencePieceEngine(LibraryEngine):
    """A ``SentencePieceProcessor`` as an engine.

    Control symbols are never found in a text and user-defined ones always are, so there is no
    ``special="parse"`` (``src/sentencepiece_processor.cc``).
    """

    name = "sentencepiece"

    def __init__(
        self, processor: SentencePieceProcessor, *, bos: bool = False, eos: bool = False
    ) -> None:
        self.processor = processor
        self.version = installed("sentencepiece") or ""
        self._bos = bos
        self._eos = eos

    def _encode(self, text: str, special: Special, add_special_tokens: bool) -> list[int]:
        bos, eos = add_special_tokens and self._bos, add_special_tokens and self._eos
        return list(self.processor.encode(text, add_bos=bos, add_eos=eos))

    def _encode_batch(
        self, texts: list[str], special: Special, add_special_tokens: bool
    ) -> list[list[int]]:
        bos, eos = add_special_tokens and self._bos, add_special_tokens and self._eos
        return [list(ids) for ids in self.processor.encode(texts, add_bos=bos, add_eos=eos)]

    def _decode(self, ids: list[int]) -> str:
        return str(self.processor.decode(ids))


def read(files: Files, model: BPEModel | None = None) -> SentencePieceEngine:
    """Reads the one ``.model`` file, and what is placed around a text.

    That is said by ``tokenizer_config.json``, else by the model's sequence template: sentencepiece
    places nothing but BOS and EOS, and only if it is asked to.

    Raises:
        EngineMissingError, EngineError: as :func:`engines.from_files`.
    """
    names = [name for name in files if name.endswith(".model")]
    names = names or [name for name in files if name != CONFIG]
    if len(names) != 1:
        raise EngineError(f"expected one .model file, found {len(names)}")
    library("sentencepiece")
    with reading("sentencepiece", names[0]):
        processor = processor_of(files[names[0]])
        if CONFIG in files or model is None or model.sequence_template is None:
            config = json.loads(files.get(CONFIG, b"{}"))
            bos, eos = (bool(config.get(f"add_{end}_token")) for end in ("bos", "eos"))
        else:
            placed = model.sequence_template.placed[0]
            bos = placed[0] == processor.bos_id()
            eos = placed[-1] == processor.eos_id()
        return SentencePieceEngine(processor, bos=bos, eos=eos)


def processor_of(data: bytes) -> SentencePieceProcessor:
    """A processor for a ``.model``; its library writes nothing to the screen from then on.

    Raises:
        EngineMissingError: sentencepiece is not installed.
        EngineError: it refuses the model.
    """
    sentencepiece = library("sentencepiece")
    with reading("sentencepiece", "the model"):
        sentencepiece.set_min_log_level(_QUIET)
        processor: SentencePieceProcessor = sentencepiece.SentencePieceProcessor(model_proto=data)
        return processor
