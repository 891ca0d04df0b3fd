"""The table of formats: one row each, with the names of its files.

A row's module is imported when the format is asked for. Where a file lies and what belongs to it
is known without that.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from .names import FileNames, SideFiles

BESIDE = (
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "config.json",
    "generation_config.json",
    "chat_template.jinja",
    "additional_chat_templates/*.jinja",
    "bpe_interop.json",
)
"""What lies beside a ``tokenizer.json``, and in a model's directory beside any other format."""

KEPT_BESIDE = frozenset({"tekken"})
"""Formats whose settings a directory of another format keeps, in a file that no engine reads.

Anybody can edit that file, so the writers of these formats take any value for their settings.
"""

TABLE: Mapping[str, FileNames] = MappingProxyType(
    {
        "gpt2": FileNames(
            common=(".json", ".txt", ".bpe"),
            halves={"encoder.json": "vocab.bpe", "vocab.json": "merges.txt"},
            whole="a GPT-2 pair",
            hub=("vocab.json", "merges.txt", "encoder.json", "vocab.bpe"),
        ),
        "tiktoken": FileNames(
            endings=(".tiktoken", ".model"),
            beside=(SideFiles("", ("{}.json",)),),
            one_file=".tiktoken",
            called="rank file",
            written=("plugin/pyproject.toml", "plugin/tiktoken_ext/encoding_*"),
            hub=("*.tiktoken", "*.tiktoken.json"),
        ),
        "huggingface": FileNames(
            common=(".json",),
            alone=".json",
            first="tokenizer.json",
            beside=(SideFiles("tokenizer.json", BESIDE),),
            hub=("tokenizer.json", *BESIDE),
        ),
        "sentencepiece": FileNames(
            endings=(".model",),
            alone=".model",
            beside=(SideFiles(".model", ("tokenizer_config.json",), sniffed=True),),
            hub=("*.model",),
        ),
        "minbpe": FileNames(endings=(".model",), alone=".model"),
        "tekken": FileNames(common=(".json",), alone=".json"),
        "gguf": FileNames(
            endings=(".gguf",),
            one_file=".gguf",
            called="GGUF file",
            magic=b"GGUF",
            head="formats.gguf.head:read_head",
            later_part=r"-(?!00001)[0-9]{5}-of-[0-9]{5}\.gguf$",
            into="formats.gguf.into:kept_of_file",
        ),
    }
)
"""A key is the name of a format and of the folder here whose ``FORMAT`` it is."""
