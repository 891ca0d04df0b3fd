"""The fixtures that have golden ids, and the models that these are of."""

from __future__ import annotations

from dataclasses import replace

from bpe_interop.formats import all_formats
from bpe_interop.formats.huggingface.pretokenizers import BYTE_LEVEL_SPLIT
from bpe_interop.model import BPEModel
from bpe_interop.sources import load_source
from fixtures import FIXTURES, TOKENIZERS

FORMATS = [row.name for row in all_formats()]
NAMES = [
    f"{path.parent.name}/{path.stem}"
    for path in sorted((FIXTURES / "golden").glob("*/*.json"))
    if path.stem in FORMATS
]


def model_of(name: str) -> BPEModel:
    """The fixture's model; a pair's golden ids are those of GPT-2's pattern, with no specials."""
    model = load_source(TOKENIZERS / name).model
    if model.pretokenizer is None:
        return replace(model, normalizer=(), pretokenizer=(BYTE_LEVEL_SPLIT,), added=())
    return model
