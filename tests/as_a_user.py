"""What a user's program looks like to ``mypy --strict``; .ci/run checks it, nothing runs it."""

from __future__ import annotations

from pathlib import Path

import bpe_interop
from bpe_interop import tiktoken


def ids(text: str) -> list[int]:
    """Of an encoding that has tiktoken's names."""
    encoding: tiktoken.Encoding = tiktoken.get_encoding("gpt2")
    ranks: dict[bytes, int] = encoding._mergeable_ranks
    assert ranks
    return encoding.encode(text, allowed_special={"<|endoftext|>"}, disallowed_special=None)


def convert(source: Path, target: Path) -> str:
    """What is known of a conversion."""
    tokenizer = bpe_interop.load(source, engine="auto")
    losses: tuple[bpe_interop.Loss, ...] = tokenizer.save(target, format="minbpe")
    done: bpe_interop.Conversion = bpe_interop.convert(source, target, "huggingface")
    report: bpe_interop.Report = bpe_interop.verify(source, target)
    outcome: str = "" if done.report is None else done.report.verdict
    return outcome + report.verdict + str(losses)


def differences(a: bpe_interop.Tokenizer, b: bpe_interop.Tokenizer) -> list[str]:
    """The fields in which two tokenizers differ."""
    return [difference.field for difference in bpe_interop.diff(a.model, b.model)]


def served(tokenizer: bpe_interop.Tokenizer, text: str) -> list[int]:
    """The ids that transformers gives."""
    live = tokenizer.to_transformers()
    again: bpe_interop.Tokenizer = bpe_interop.Tokenizer.from_transformers(live)
    assert again.n_vocab == len(live)
    return live(text)["input_ids"]
