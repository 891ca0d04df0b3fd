"""What is known of each engine before it is imported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True)
class EngineRow:
    """What an engine does.

    Attributes:
        parses_special: whether it finds special tokens in a text when it is asked to.
        applies_template: whether it places tokens around a text, as the sequence template says.
        directories: whether it reads a directory as a whole, and may build another tokenizer
            than the files say.
        all_cores: whether one process of it uses all cores for many texts.
        doubt: why what it does is not compared with what a model says; empty where it is.
        distribution: the package that brings it, where that has another name.
        instead: another package that brings it, which is taken where the first is missing.
        served: what runs it as a server that is asked by its address, as ``module:class``; empty
            for nothing. On the command line it is ``ENGINE@http://HOST:PORT``.
        first: the module to import ahead of its use, where that takes long.
        bare: whether it takes a text as it is, and of added tokens their texts alone: no normalizer
            and no flags.
        slow: whether a text takes it so long that only texts with added tokens, and a few others,
            are worth to be asked for in each way.
        without_tokens: whether, beside files, it needs nothing of a model that its tokens say.
        unicode: the version of its character classes, where that is older than ours.
        examined: the versions that our tests hold our encoder to, code point by code point.
    """

    parses_special: bool = True
    applies_template: bool = True
    directories: bool = False
    all_cores: bool = False
    doubt: str = ""
    distribution: str = ""
    instead: str = ""
    served: str = ""
    first: str = ""
    bare: bool = False
    slow: bool = False
    without_tokens: bool = False
    unicode: str = ""
    examined: tuple[str, ...] = ()


ROWS: Mapping[str, EngineRow] = MappingProxyType(
    {
        "tiktoken": EngineRow(
            all_cores=True,
            applies_template=False,
            first="tiktoken",
            bare=True,
            without_tokens=True,
            examined=("0.14.0",),
        ),
        "tokenizers": EngineRow(
            all_cores=True, first="tokenizers", without_tokens=True, examined=("0.23.3",)
        ),
        "transformers": EngineRow(
            directories=True,
            doubt="transformers may do more than the pipeline it built",
            first="transformers.models.auto.tokenization_auto",
        ),
        "sentencepiece": EngineRow(parses_special=False, examined=("0.2.3",)),
        "gigatoken": EngineRow(
            applies_template=False,
            bare=True,
            doubt="gigatoken splits texts without a regex engine, which is only tested",
        ),
        "mistral-common": EngineRow(
            parses_special=False, applies_template=False, examined=("1.13.1",)
        ),
        "llama.cpp": EngineRow(
            distribution="xllamacpp",
            instead="llama_cpp_python",
            slow=True,
            examined=("2026.10.11549",),
            served="llamacpp_server:LlamaServerEngine",
            unicode="15.1",
        ),
    }
)
"""The engines there are."""

SERVER: Final = "llama-server"
"""What a running server of llama.cpp is called."""


def assumed_of_texts(names: Iterable[str]) -> tuple[str, ...]:
    """What a proof that speaks of these engines takes for granted of texts, as sentences."""
    return tuple(
        "no text holds one of the characters that Unicode 16.0 or a later version added: "
        f"{name}'s classes are those of {engine_row(name).unicode}"
        for name in sorted(names)
        if engine_row(name).unicode
    )


def is_address(name: str) -> bool:
    """Whether this names an engine as a server, ``ENGINE@http://HOST:PORT``."""
    engine, at, _ = name.partition("@")
    return bool(at) and bool(engine_row(engine).served)


def engine_row(name: str) -> EngineRow:
    """What is known of an engine; of one that another package brings, nothing but the usual."""
    return ROWS.get(name, EngineRow())
