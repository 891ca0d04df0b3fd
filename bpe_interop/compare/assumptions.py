"""On what a proof rests: which engines it is about, and what it takes for granted of them."""

from __future__ import annotations

from collections.abc import Iterator

from ..engines import versions
from ..engines.facts import facts
from ..model import BATCHING, BPEModel
from ..steps import BertText, Lowercase, Nmt, Precompiled, StripAccents, UnicodeForm
from ..text.unicode import UNICODE_TABLES

EXAMINED = {
    "tiktoken": ("0.14.0",),
    "tokenizers": ("0.23.3",),
    "sentencepiece": ("0.2.3",),
    "mistral-common": ("1.13.1",),
    "llama.cpp": ("2026.10.11549",),
}
"""The engine versions that our tests hold our encoder to, code point by code point."""


def unexamined(engines: set[str]) -> tuple[str, ...]:
    """The installed ones of these engines whose version our tests do not run on."""
    installed = versions()
    return tuple(
        f"{name} {installed[name]}"
        for name in sorted(engines)
        if installed.get(name) is not None and installed[name] not in EXAMINED.get(name, ())
    )


def assumptions(models: tuple[BPEModel, BPEModel], engines: set[str]) -> tuple[str, ...]:
    """What a proof about two models, run in these engines, takes for granted."""
    installed = versions()
    known = sorted(engines & EXAMINED.keys())
    named = ", ".join(f"{name} {installed.get(name) or EXAMINED[name][-1]}" for name in known)
    sentences = [
        f"the engines do what our encoder does (tested, on {named or 'none'})",
        f"character classes are those of Unicode {UNICODE_TABLES.unicode}",
        "the engines' resources suffice: no limit of a regex engine or of memory is reached",
        "texts are valid Unicode",
    ]
    sentences += filter(None, (facts(name).assumes for name in sorted(engines)))
    for name in sorted(engines):
        if facts(name).bare:
            sentences += _left_to_callers(name, models)
    borrowed = (UnicodeForm, Lowercase, StripAccents, Nmt, BertText, Precompiled)
    if any(isinstance(step, borrowed) for model in models for step in model.normalizer or ()):
        sentences.append("normal forms and case are those of the installed tokenizers")
    sentences += dict.fromkeys(each for model in models for each in model.origin.assumed)
    if any(model.extras.get(BATCHING) for model in models):
        sentences.append("truncation and padding are off, though a file asks for them")
    return tuple(sentences)


def _left_to_callers(engine: str, models: tuple[BPEModel, BPEModel]) -> Iterator[str]:
    """What an engine that is bare does only with its caller's help."""
    added = [token for model in models for token in model.added or ()]
    if not all(token.special for token in added):
        yield (
            f"who calls {engine} asks it for the added tokens that are not special: "
            "encode(text, allowed_special={...}, disallowed_special=())"
        )
    if any(token.looks_around for token in added):
        yield f"who calls {engine} does what the flags of added tokens say (lstrip, rstrip, ...)"
    if any(model.normalizer for model in models):
        yield f"who calls {engine} normalizes a text before"
