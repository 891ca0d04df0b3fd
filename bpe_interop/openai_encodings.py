"""The encodings that OpenAI publishes: one table of their files, patterns, tokens and models.

All of it is what tiktoken 0.14 says (``tiktoken_ext/openai_public.py``, ``tiktoken/model.py``).
Presets, tiktoken's names, the names that a plugin cannot have, and the files that are fetched for
tests come from here. ``tests/unit/test_tiktoken_names.py`` and ``tests/unit/test_presets.py``
compare it with tiktoken.

With a new encoding, lists of names change: by hand in ``docs/refusals/ERROR-unknown-encoding.md``
and ``ERROR-unknown-model.md``; ``python tests/transcripts.py`` writes those of messages, and
``python -m trust matrix`` the table of ``docs/conversions.md``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from .text.spellings import CL100K_TRAILING, O200K, R50K

_SITE = "https://openaipublic.blob.core.windows.net"


class PublishedFile(NamedTuple):
    """A file of a vocabulary: where it is, and its sha256 (hex)."""

    address: str
    sha256: str

    @property
    def name(self) -> str:
        return self.address.rpartition("/")[2]


class PublishedEncoding(NamedTuple):
    """An encoding.

    ``pattern`` is in fancy-regex syntax; ``files`` are sets of files, each of which is the
    vocabulary; ``models`` are names of models that have it, ``prefixes`` how those of others begin.
    """

    name: str
    pattern: str
    special_tokens: Mapping[str, int]
    files: tuple[tuple[PublishedFile, ...], ...]
    models: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()


_GPT2_BPE = PublishedFile(
    f"{_SITE}/gpt-2/encodings/main/vocab.bpe",
    "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5",
)
_GPT2_JSON = PublishedFile(
    f"{_SITE}/gpt-2/encodings/main/encoder.json",
    "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783",
)
_R50K = PublishedFile(
    f"{_SITE}/encodings/r50k_base.tiktoken",
    "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
)
_P50K = PublishedFile(
    f"{_SITE}/encodings/p50k_base.tiktoken",
    "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
)
_CL100K = PublishedFile(
    f"{_SITE}/encodings/cl100k_base.tiktoken",
    "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
)
_O200K = PublishedFile(
    f"{_SITE}/encodings/o200k_base.tiktoken",
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
)

# The rank file says the same vocabulary as the pair.
_GPT2_FILES = ((_R50K,), (_GPT2_JSON, _GPT2_BPE))

_END = {"<|endoftext|>": 50256}
_O200K_SPECIAL = {"<|endoftext|>": 199999, "<|endofprompt|>": 200018}

_ALL = (
    PublishedEncoding("gpt2", R50K, _END, _GPT2_FILES, models=("gpt2", "gpt-2")),
    PublishedEncoding(
        "r50k_base",
        R50K,
        _END,
        _GPT2_FILES,
        models=(
            *("text-davinci-001", "text-curie-001", "text-babbage-001", "text-ada-001"),
            *("davinci", "curie", "babbage", "ada"),
            *("text-similarity-davinci-001", "text-similarity-curie-001"),
            *("text-similarity-babbage-001", "text-similarity-ada-001"),
            *("text-search-davinci-doc-001", "text-search-curie-doc-001"),
            *("text-search-babbage-doc-001", "text-search-ada-doc-001"),
            *("code-search-babbage-code-001", "code-search-ada-code-001"),
        ),
    ),
    PublishedEncoding(
        "p50k_base",
        R50K,
        _END,
        ((_P50K,),),
        models=(
            *("text-davinci-003", "text-davinci-002", "code-davinci-002", "code-davinci-001"),
            *("code-cushman-002", "code-cushman-001", "davinci-codex", "cushman-codex"),
        ),
    ),
    PublishedEncoding(
        "p50k_edit",
        R50K,
        {**_END, "<|fim_prefix|>": 50281, "<|fim_middle|>": 50282, "<|fim_suffix|>": 50283},
        ((_P50K,),),
        models=("text-davinci-edit-001", "code-davinci-edit-001"),
    ),
    PublishedEncoding(
        "cl100k_base",
        CL100K_TRAILING,
        {
            "<|endoftext|>": 100257,
            "<|fim_prefix|>": 100258,
            "<|fim_middle|>": 100259,
            "<|fim_suffix|>": 100260,
            "<|endofprompt|>": 100276,
        },
        ((_CL100K,),),
        models=(
            *("gpt-4", "gpt-3.5-turbo", "gpt-3.5", "gpt-35-turbo", "davinci-002", "babbage-002"),
            *("text-embedding-ada-002", "text-embedding-3-small", "text-embedding-3-large"),
        ),
        prefixes=(
            *("gpt-4-", "gpt-3.5-turbo-", "gpt-35-turbo-", "ft:gpt-4", "ft:gpt-3.5-turbo"),
            *("ft:davinci-002", "ft:babbage-002"),
        ),
    ),
    PublishedEncoding(
        "o200k_base",
        O200K,
        _O200K_SPECIAL,
        ((_O200K,),),
        models=("o1", "o3", "o4-mini", "gpt-5", "gpt-4.1", "gpt-4o"),
        prefixes=(
            *("o1-", "o3-", "o4-mini-", "gpt-5", "gpt-4.5-", "gpt-4.1-", "chatgpt-4o-", "gpt-4o-"),
            "ft:gpt-4o",
        ),
    ),
    PublishedEncoding(
        "o200k_harmony",
        O200K,
        {
            **_O200K_SPECIAL,
            "<|startoftext|>": 199998,
            "<|reserved_200000|>": 200000,
            "<|reserved_200001|>": 200001,
            "<|return|>": 200002,
            "<|constrain|>": 200003,
            "<|reserved_200004|>": 200004,
            "<|channel|>": 200005,
            "<|start|>": 200006,
            "<|end|>": 200007,
            "<|message|>": 200008,
            "<|reserved_200009|>": 200009,
            "<|reserved_200010|>": 200010,
            "<|reserved_200011|>": 200011,
            "<|call|>": 200012,
            # 200018 has two names: <|endofprompt|> too.
            **{f"<|reserved_{number}|>": number for number in range(200013, 201088)},
        },
        ((_O200K,),),
        prefixes=("gpt-oss-",),
    ),
)

ENCODINGS: Mapping[str, PublishedEncoding] = MappingProxyType({each.name: each for each in _ALL})
"""The encodings by name, in tiktoken's order."""

FILES = tuple(dict.fromkeys(file for each in _ALL for files in each.files for file in files))
"""Every file once."""

MODEL_TO_ENCODING: Mapping[str, str] = MappingProxyType(
    {model: each.name for each in _ALL for model in each.models}
)
"""The name of a model to the name of its encoding."""

MODEL_PREFIX_TO_ENCODING: Mapping[str, str] = MappingProxyType(
    {prefix: each.name for each in _ALL for prefix in each.prefixes}
)
"""How the names of further models begin; of several that fit, the longest says it."""


def meant(name: str, names: Iterable[str]) -> str:
    """Which of some names was probably meant, as a question; or nothing, where none is near.

    For a name that is rather that of one of OpenAI's models, that of the model's encoding.
    """
    import difflib

    known = [*names]
    [near] = difflib.get_close_matches(name.lower(), [*known, *MODEL_TO_ENCODING], 1) or [""]
    if near in known:
        return f"did you mean {near}? "
    return f"did you mean {MODEL_TO_ENCODING[near]}, as {near} has? " if near else ""


def encoding_of(model: str) -> str | None:
    """The name of a model's encoding; None where no published name and no prefix is its."""
    if model in MODEL_TO_ENCODING:
        return MODEL_TO_ENCODING[model]
    fitting = [prefix for prefix in MODEL_PREFIX_TO_ENCODING if model.startswith(prefix)]
    return MODEL_PREFIX_TO_ENCODING[max(fitting, key=len)] if fitting else None
