"""Small ``tokenizer.json`` documents, and what tokenizers makes of texts with them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import tokenizers

from bpe_interop.formats import by_name
from bpe_interop.model import BPEModel
from bpe_interop.proof.stage import Scope
from bpe_interop.testing.tiny import document_of, model_of

Json: TypeAlias = dict[str, Any]

_FLAGS = {"w": "single_word", "l": "lstrip", "r": "rstrip", "n": "normalized", "s": "special"}


def added(text: str, flags: str = "") -> Json:
    """An added token with flags by their letters: w, l, r, n, s."""
    return {"id": 0, "content": text, **{name: f in flags for f, name in _FLAGS.items()}}


def document(
    vocab: Mapping[str, int],
    *,
    merges: Iterable[Sequence[str]] = (),
    added_tokens: Iterable[Json] = (),
    normalizer: Json | None = None,
    pre_tokenizer: Json | None = None,
    post_processor: Json | None = None,
    decoder: Json | None = None,
    **settings: object,
) -> Json:
    """A document over characters; ``settings`` are the model's own."""
    model = model_of(vocab=dict(vocab), merges=[list(pair) for pair in merges])
    return document_of(
        {**model, **settings},
        added_tokens=list(added_tokens),
        normalizer=normalizer,
        pre_tokenizer=pre_tokenizer,
        post_processor=post_processor,
        decoder=decoder,
    )


WITHIN: Mapping[Scope, tuple[Scope, ...]] = {
    "all": ("all", "ordinary"),
    "ordinary": ("ordinary",),
    "text": ("text",),
}
"""How ids are asked for in a scope: the whole one has texts whose special strings are text, too."""


class Side:
    """A document as a model, and as tokenizers runs it."""

    def __init__(self, stated: Json) -> None:
        text = json.dumps(stated)
        self.model: BPEModel = by_name("huggingface").load({"tokenizer.json": text.encode()})
        self._engine = tokenizers.Tokenizer.from_str(text)

    def ids(self, text: str, scope: Scope = "all") -> list[int] | None:
        """The ids in a scope; None where the engine panics."""
        self._engine.encode_special_tokens = scope != "all"
        try:
            return self._engine.encode(text, add_special_tokens=scope == "all").ids
        except BaseException as panic:  # pyo3's PanicException is no Exception
            if type(panic).__name__ == "PanicException":
                return None
            raise

    def answer(self, text: str, scope: Scope = "all") -> tuple[list[int], str] | None:
        """The ids in a scope and what they decode to; None where the engine panics."""
        ids = self.ids(text, scope)
        return None if ids is None else (ids, self._engine.decode(ids, skip_special_tokens=False))
