"""Live objects of other libraries: their files as they would be written, and such objects."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, overload

from ..errors import EngineError
from ..formats import Files, by_name
from ..formats.round_trip import RoundTrip
from ..gate import admit
from ..model import CHATS, BPEModel
from .library import folder_of, guarded, library

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor
    from tiktoken import Encoding
    from tokenizers import Tokenizer


class TransformersTokenizer(Protocol):
    """What people ask of a ``transformers.PreTrainedTokenizerFast``, which it is at run time.

    ``isinstance(tokenizer, transformers.PreTrainedTokenizerFast)`` tells a type checker the rest.
    """

    # A checker that follows an import of transformers reads thousands of modules; where it is not
    # installed, it would take the object for an ``Any``.

    name_or_path: str
    chat_template: str | None
    bos_token: str | None
    eos_token: str | None
    pad_token: str | None
    unk_token: str | None

    @property
    def bos_token_id(self) -> int | None:
        """None where there is no such token."""
        ...

    @property
    def eos_token_id(self) -> int | None:
        """None where there is no such token."""
        ...

    @property
    def pad_token_id(self) -> int | None:
        """None where there is no such token."""
        ...

    def __len__(self) -> int:
        """How many tokens there are, added ones included."""
        ...

    @overload
    def __call__(
        self, text: str, *, add_special_tokens: bool = True
    ) -> Mapping[str, list[int]]: ...

    @overload
    def __call__(
        self, text: list[str], *, add_special_tokens: bool = True
    ) -> Mapping[str, list[list[int]]]: ...

    def encode(self, text: str, *, add_special_tokens: bool = True) -> list[int]: ...

    def decode(self, token_ids: Sequence[int], skip_special_tokens: bool = False) -> str: ...

    def get_vocab(self) -> dict[str, int]:
        """The tokens as they are spelled, and their ids."""
        ...

    def save_pretrained(self, save_directory: str | Path) -> tuple[str, ...]: ...


def files_from_encoding(encoding: Encoding) -> Files:
    """The rank file and sidecar of a ``tiktoken.Encoding``.

    Raises:
        EngineError: this tiktoken keeps them elsewhere.
    """
    from ..formats.tiktoken.ranks import write_ranks

    # tiktoken has no public way to ask for these; the names are those of tiktoken/core.py, which
    # its pickles rely on as well.
    with guarded("tiktoken", "to take an encoding apart"):
        ranks: dict[bytes, int] = encoding._mergeable_ranks
        sidecar = {
            "name": encoding.name,
            "pat_str": encoding._pat_str,
            "special_tokens": encoding._special_tokens,
            "explicit_n_vocab": None,
        }
    ordered = dict(sorted(ranks.items(), key=lambda item: item[1]))
    return {
        "tokenizer.tiktoken": write_ranks(ordered),
        "tokenizer.tiktoken.json": json.dumps(sidecar, ensure_ascii=False).encode("utf-8"),
    }


def files_from_tokenizers(tokenizer: Tokenizer) -> Files:
    """The ``tokenizer.json`` of a ``tokenizers.Tokenizer``.

    Raises:
        EngineError: tokenizers cannot write it (a component in Python).
    """
    if hasattr(tokenizer, "added_tokens_decoder"):
        raise EngineError(
            f"this is a tokenizer of transformers ({type(tokenizer).__name__})",
            fix="use Tokenizer.from_transformers, which reads its roles and chat template as well",
        )
    with guarded("tokenizers", "to write the tokenizer"):
        return {"tokenizer.json": tokenizer.to_str().encode("utf-8")}


def model_from_tokenizers(tokenizer: Tokenizer) -> BPEModel:
    """The model of a live ``tokenizers.Tokenizer``, with the ids that it has now.

    Raises:
        EngineError: tokenizers cannot write it (a component in Python).
        UnsupportedError: it is not BPE, or has a part that is refused by name.
    """
    model = by_name("huggingface").load(files_from_tokenizers(tokenizer))
    # What it writes gives a token that was added after a hole another id when it is read.
    numbers = {t.content: n for n, t in tokenizer.get_added_tokens_decoder().items()}
    added = (replace(t, id=numbers.get(t.text, t.id)) for t in model.added or ())
    return replace(model, added=tuple(added))


def model_from_transformers(tokenizer: Any) -> BPEModel:
    """The model of a live tokenizer of transformers: what it runs, with roles and chat template.

    Raises:
        EngineError: it has no ``tokenizers`` pipeline inside (a class in Python).
        UnsupportedError: it is not BPE, or has a part that is refused by name.
    """
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise EngineError(
            f"{type(tokenizer).__name__} runs no pipeline of tokenizers that could be read",
            fix="give a tokenizer of transformers that is_fast, or load its files",
        )
    with guarded("transformers", "to say its special tokens"):
        named = dict(tokenizer.special_tokens_map)
        template = tokenizer.chat_template
        name = str(tokenizer.name_or_path)
    model = model_from_tokenizers(backend)
    roles: dict[str, list[str]] = {}
    for key in sorted(named):
        # transformers 4 lists further special tokens here, under a key that is no role's.
        if not isinstance(named[key], list):
            roles.setdefault(str(named[key]), []).append(key.removesuffix("_token"))
    added = (replace(t, roles=tuple(roles.get(t.text, ()))) for t in model.added or ())
    templates = dict(template) if isinstance(template, dict) else {"default": template}
    default = templates.pop("default", None)
    extras = dict(model.extras)
    if templates:
        extras[CHATS] = {name: templates[name] for name in sorted(templates)}
    return replace(
        model,
        added=tuple(added),
        extras=extras,
        chat_template=default,
        origin=replace(model.origin, name=Path(name).name),
    )


def files_from_sentencepiece(processor: SentencePieceProcessor) -> Files:
    """The ``.model`` of a ``sentencepiece.SentencePieceProcessor``.

    Raises:
        EngineError: no model is loaded.
    """
    # What only the object was told (add_bos, reverse, enable_sampling) is no part of its model.
    with guarded("sentencepiece", "to write the model"):
        return {"tokenizer.model": bytes(processor.serialized_model_proto())}


def to_tiktoken(model: BPEModel, drop: str | Iterable[str] = ()) -> Encoding:
    """A ``tiktoken.Encoding`` that gives the model's ids.

    Raises:
        LossyConversionError: tiktoken cannot hold the model exactly.
        EngineMissingError, EngineError, UnstatedError: as :func:`engines.from_files`.
    """
    from .tiktoken import read

    library("tiktoken")
    return read(_admitted("tiktoken", model, drop), model).encoding


def to_tokenizers(model: BPEModel, drop: str | Iterable[str] = ()) -> Tokenizer:
    """A ``tokenizers.Tokenizer`` that gives the model's ids.

    Raises:
        LossyConversionError: tokenizers cannot hold the model exactly.
        EngineMissingError, EngineError, UnstatedError: as :func:`engines.from_files`.
    """
    tokenizers = library("tokenizers")
    files = _admitted("huggingface", model, drop)
    with guarded("tokenizers", "on the model"):
        tokenizer: Tokenizer = tokenizers.Tokenizer.from_str(
            files["tokenizer.json"].decode("utf-8")
        )
        return tokenizer


def to_sentencepiece(model: BPEModel, drop: str | Iterable[str] = ()) -> SentencePieceProcessor:
    """A ``sentencepiece.SentencePieceProcessor`` that gives the model's ids.

    It adds no bos and no eos of itself; ``encode`` takes ``add_bos`` and ``add_eos``.

    Raises:
        LossyConversionError: SentencePiece cannot hold the model exactly.
        EngineMissingError, EngineError, UnstatedError: as :func:`engines.from_files`.
    """
    from .sentencepiece import processor_of

    library("sentencepiece")
    return processor_of(_admitted("sentencepiece", model, drop)["tokenizer.model"])


def to_transformers(model: BPEModel, drop: str | Iterable[str] = ()) -> TransformersTokenizer:
    """A ``transformers.PreTrainedTokenizerFast`` that gives the model's ids.

    It is read from the files that ``save`` would write, so roles (``bos_token`` ...), chat
    template and settings are the same.

    Raises:
        LossyConversionError: tokenizers, which it runs on, cannot hold the model exactly.
        EngineMissingError, EngineError, UnstatedError: as :func:`engines.from_files`.
    """
    transformers = library("transformers")
    files = _admitted("huggingface", model, drop)
    with guarded("transformers", "on the model"), folder_of(files) as folder:
        fast = transformers.PreTrainedTokenizerFast
        tokenizer: TransformersTokenizer = fast.from_pretrained(folder, local_files_only=True)
        tokenizer.name_or_path = model.origin.name
        return tokenizer


def _admitted(format: str, model: BPEModel, drop: str | Iterable[str]) -> Files:
    """The files of a model, past the gate."""
    trip = RoundTrip(model, by_name(format))
    admit(trip, drop)
    return trip.files
