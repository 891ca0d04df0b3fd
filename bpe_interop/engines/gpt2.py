"""tokenizers' ``BPE`` and ``ByteLevel`` as the engine of a GPT-2 pair (vocabulary and merges)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import EngineError, UnstatedError
from ..formats import Files, by_name
from ..model import (
    AddedToken,
    BPEModel,
    PairList,
    show,
)
from .library import guarded, library, written
from .tokenizers import TokenizersEngine

if TYPE_CHECKING:
    from tokenizers import Tokenizer


def read(files: Files, model: BPEModel | None) -> TokenizersEngine:
    """``BPE.from_file`` on the pair, inside the model's own pipeline.

    The pair states neither pattern nor special tokens, so both come from the model.

    Raises:
        EngineMissingError: tokenizers is not installed.
        EngineError: tokenizers refuses the pair, or numbers an added token otherwise.
        UnstatedError: the model does not state the pattern.
    """
    tokenizers = library("tokenizers")
    if model is None or model.pretokenizer is None:
        raise UnstatedError(
            "a GPT-2 pair does not state the pattern that splits texts",
            fix="name a preset with --preset (preset=...), for example gpt2",
        )
    vocab, merges = _halves(files)
    pair = {"vocab.json": vocab, "merges.txt": merges}
    with guarded("tokenizers", "on the pair"), written(pair) as folder:
        bpe = tokenizers.models.BPE.from_file(*(str(folder / name) for name in pair))
        tokenizer = _pipeline(tokenizers.Tokenizer, model)
        tokenizer.model = bpe
        for token in sorted(model.added or (), key=lambda token: token.id):
            _add(tokenizer, tokenizers.AddedToken, token)
    return TokenizersEngine(tokenizer)


def _halves(files: Files) -> tuple[bytes, bytes]:
    vocabularies = [name for name in files if name.endswith(".json")]
    merges = [name for name in files if name.endswith((".bpe", ".txt"))]
    if len(vocabularies) != 1 or len(merges) != 1:
        raise EngineError(f"expected a GPT-2 pair, found {', '.join(sorted(files)) or 'none'}")
    return files[vocabularies[0]], files[merges[0]]


def _pipeline(kind: type[Tokenizer], model: BPEModel) -> Tokenizer:
    """The model's normalizer, pre-tokenizer and decoder; its merges are another's to bring.

    The vocabulary stays: which spellings of a pattern split alike can depend on it.
    """
    shell = replace(model, merges=PairList(()), added=(), sequence_template=None)
    files = by_name("huggingface").dump(shell)
    return kind.from_str(files["tokenizer.json"].decode("utf-8"))


def _add(tokenizer: Tokenizer, kind: type, token: AddedToken) -> None:
    entry = kind(
        token.text,
        single_word=token.single_word,
        lstrip=token.lstrip,
        rstrip=token.rstrip,
        normalized=token.normalized,
        special=token.special,
    )
    if token.special:
        tokenizer.add_special_tokens([entry])
    else:
        tokenizer.add_tokens([entry])
    number = tokenizer.token_to_id(token.text)
    if number != token.id:
        raise EngineError(
            f"tokenizers numbers the added token {show(token.text)} {number}, not {token.id}: "
            "a pair has no place for its id"
        )
