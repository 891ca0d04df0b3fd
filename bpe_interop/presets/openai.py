"""What OpenAI publishes of its encodings: their models, and where their files are.

The names are those of tiktoken 0.14 (``tiktoken/model.py``, ``tiktoken_ext/openai_public.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

_MODELS = {
    "o200k_base": "o1 o3 o4-mini gpt-5 gpt-4.1 gpt-4o",
    "cl100k_base": (
        "gpt-4 gpt-3.5-turbo gpt-3.5 gpt-35-turbo davinci-002 babbage-002 "
        "text-embedding-ada-002 text-embedding-3-small text-embedding-3-large"
    ),
    "p50k_base": (
        "text-davinci-003 text-davinci-002 code-davinci-002 code-davinci-001 code-cushman-002 "
        "code-cushman-001 davinci-codex cushman-codex"
    ),
    "r50k_base": (
        "text-davinci-001 text-curie-001 text-babbage-001 text-ada-001 davinci curie babbage ada "
        "text-similarity-davinci-001 text-similarity-curie-001 text-similarity-babbage-001 "
        "text-similarity-ada-001 text-search-davinci-doc-001 text-search-curie-doc-001 "
        "text-search-babbage-doc-001 text-search-ada-doc-001 code-search-babbage-code-001 "
        "code-search-ada-code-001"
    ),
    "p50k_edit": "text-davinci-edit-001 code-davinci-edit-001",
    "gpt2": "gpt2 gpt-2",
}

_PREFIXES = {
    "o200k_base": "o1- o3- o4-mini- gpt-5 gpt-4.5- gpt-4.1- chatgpt-4o- gpt-4o- ft:gpt-4o",
    "cl100k_base": (
        "gpt-4- gpt-3.5-turbo- gpt-35-turbo- ft:gpt-4 ft:gpt-3.5-turbo ft:davinci-002 "
        "ft:babbage-002"
    ),
    "o200k_harmony": "gpt-oss-",
}


def _turned(table: Mapping[str, str]) -> Mapping[str, str]:
    return MappingProxyType(
        {name: encoding for encoding, names in table.items() for name in names.split()}
    )


MODEL_TO_ENCODING = _turned(_MODELS)
"""The name of a model to the name of its encoding."""

MODEL_PREFIX_TO_ENCODING = _turned(_PREFIXES)
"""How the names of further models begin; of several that fit, the longest says it."""

ENCODINGS = (
    *("gpt2", "r50k_base", "p50k_base", "p50k_edit"),
    *("cl100k_base", "o200k_base", "o200k_harmony"),
)
"""The encodings, each of which is a preset, in tiktoken's order."""

_SITE = "https://openaipublic.blob.core.windows.net"

ADDRESSES: Mapping[str, str] = MappingProxyType(
    {
        "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5": (
            f"{_SITE}/gpt-2/encodings/main/vocab.bpe"
        ),
        "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783": (
            f"{_SITE}/gpt-2/encodings/main/encoder.json"
        ),
        "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930": (
            f"{_SITE}/encodings/r50k_base.tiktoken"
        ),
        "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069": (
            f"{_SITE}/encodings/p50k_base.tiktoken"
        ),
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7": (
            f"{_SITE}/encodings/cl100k_base.tiktoken"
        ),
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d": (
            f"{_SITE}/encodings/o200k_base.tiktoken"
        ),
    }
)
"""The sha256 of each published file (hex) to its address."""


REGISTERED = frozenset({*MODEL_TO_ENCODING, *ENCODINGS})
"""What tiktoken has under a name: encodings, and models."""


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
