"""Comparing two tokenizers over documents, and proving them equal."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeAlias

from .converting import command
from .texts import read, tokenizer

Inside: TypeAlias = "tuple[dict[str, Callable[[], Any]], Callable[[], dict[str, str]]]"
Side: TypeAlias = "tuple[Callable[[], Any], Callable[[Any], object]]"

LOOP, BATCHES = "naive loop", "both engines' batch calls"


def documents(
    sides: str, corpus: str, source: str, preset: str, size: str, share: str = "1"
) -> Inside:
    """tiktoken and tokenizers, compared with each other."""
    from bpe_interop.compare.run import ask_both
    from bpe_interop.compare.sides import ORDINARY
    from bpe_interop.engines import from_model

    texts, model = read(corpus, share, size), tokenizer(source, preset)
    a, b = (from_model(name, model.model) for name in ("tiktoken", "tokenizers"))
    one, two = import_module("tiktoken").get_encoding(preset), model.to_tokenizers()
    threads = os.cpu_count() or 1

    def ours() -> Any:
        return ask_both(a, b, texts, [ORDINARY])

    def loop() -> bool:
        return all(
            one.encode_ordinary(text) == two.encode(text, add_special_tokens=False).ids
            for text in texts
        )

    def batches() -> Any:
        left = one.encode_ordinary_batch(texts, num_threads=threads)
        right = two.encode_batch_fast(texts, add_special_tokens=False)
        return left, [encoding.ids for encoding in right]

    known: dict[str, Callable[[], Any]] = {"bpe_interop": ours, LOOP: loop, BATCHES: batches}

    def check() -> dict[str, str]:
        tally, (left, right) = ours(), batches()
        alike = tally.compared == len(texts) and not tally.differing
        if alike and left == right and loop():
            return {}
        return {"bpe_interop": f"{tally.differing:,} of {len(texts):,} texts differ"}

    return {name: known[name] for name in sides.split(",")}, check


def both_ours(sides: str, corpus: str, source: str, preset: str) -> Inside:
    """Our encoder of a rank file against our encoder of the ``tokenizer.json`` made of it."""
    from bpe_interop import Tokenizer
    from bpe_interop.compare.run import ask_both
    from bpe_interop.compare.sides import ORDINARY, OwnEngine

    texts, model = read(corpus), tokenizer(source, preset)
    a, b = OwnEngine(model.model), OwnEngine(Tokenizer.from_tokenizers(model.to_tokenizers()).model)

    def ours() -> Any:
        return ask_both(a, b, texts, [ORDINARY])

    ours()

    def check() -> dict[str, str]:
        tally = ours()
        if tally.compared == len(texts) and not tally.differing:
            return {}
        return {"bpe_interop": f"{tally.differing:,} of {len(texts):,} texts differ"}

    return {"bpe_interop": ours}, check


def proof(source: str, other: str) -> Side:
    """``bpe-interop verify --scope ordinary --require proved``, as its console script runs it."""
    words = ["verify", source, other, "--scope", "ordinary", "--require", "proved"]
    return command(words), lambda result: {"proved": True}


def proof_alone(source: str, other: str, preset: str) -> Side:
    """Reading both files and proving them equal, without running a text."""

    def run() -> Any:
        from bpe_interop.proof.prove import prove
        from bpe_interop.sources import load_source

        left, right = load_source(source).model, load_source(other, preset=preset).model
        return prove(left, right, "ordinary").outcome

    return run, lambda result: {"proved": result == "proved"}
