"""What is known of each engine before it is imported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Facts:
    """What an engine does.

    Attributes:
        parses_special: whether it finds special tokens in a text when it is asked to.
        applies_template: whether it places tokens around a text, as the sequence template says.
        directories: whether it reads a directory as a whole, and may build another tokenizer
            than the files say.
        all_cores: whether one process of it uses all cores for many texts.
        doubt: why what it does is not held to what a model says; empty where it is.
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
        assumes: what a proof takes for granted of it besides, as a sentence; empty for nothing.
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
    assumes: str = ""


FACTS: Mapping[str, Facts] = MappingProxyType(
    {
        "tiktoken": Facts(
            all_cores=True,
            applies_template=False,
            first="tiktoken",
            bare=True,
            without_tokens=True,
        ),
        "tokenizers": Facts(all_cores=True, first="tokenizers", without_tokens=True),
        "transformers": Facts(
            directories=True,
            doubt="transformers may do more than the pipeline it built",
            first="transformers.models.auto.tokenization_auto",
        ),
        "sentencepiece": Facts(parses_special=False),
        "gigatoken": Facts(
            bare=True, doubt="gigatoken splits texts without a regex engine, which is only tested"
        ),
        "mistral-common": Facts(parses_special=False, applies_template=False),
        "llama.cpp": Facts(
            distribution="xllamacpp",
            instead="llama_cpp_python",
            slow=True,
            served="llamacpp_server:LlamaServerEngine",
            assumes="no text holds one of the characters that Unicode 16.0 or a later version "
            "added: llama.cpp's classes are those of 15.1",
        ),
    }
)
"""The engines there are."""


def is_address(name: str) -> bool:
    """Whether this names an engine as a server, ``ENGINE@http://HOST:PORT``."""
    engine, at, _ = name.partition("@")
    return bool(at) and bool(facts(engine).served)


def facts(name: str) -> Facts:
    """What is known of an engine; of one that another package brings, nothing but the usual."""
    return FACTS.get(name, Facts())
