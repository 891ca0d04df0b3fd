"""The matrix of real tokenizers and formats: proved, tested, or refused and why.

Each cell that is not refused is a conversion that was written, read back, run in the target's own
engine, and proved equal, or only tested.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import click

from bpe_interop.convert import convert
from bpe_interop.errors import LossyConversionError, UnstatedError
from bpe_interop.formats import by_name
from bpe_interop.formats.round_trip import RoundTrip
from bpe_interop.gate import admit
from bpe_interop.io.reader import TokenizerSource
from bpe_interop.model import BPEModel
from bpe_interop.sources import load_source

FORMATS = ("gpt2", "tiktoken", "huggingface", "sentencepiece", "tekken", "gguf")


@dataclass(frozen=True)
class Real:
    """A published tokenizer: where it lies under the data folder, and the preset it needs."""

    name: str
    path: str
    format: str
    preset: str | None = None


REAL = (
    Real("GPT-2 pair", "gpt2/encoder.json", "gpt2"),
    Real("GPT-2 tokenizer.json", "gpt2/tokenizer.json", "huggingface"),
    Real("gpt2.tiktoken", "gpt2/gpt2.tiktoken", "tiktoken", "gpt2"),
    Real("p50k_base", "p50k_base/p50k_base.tiktoken", "tiktoken", "p50k_base"),
    Real("p50k_edit", "p50k_base/p50k_base.tiktoken", "tiktoken", "p50k_edit"),
    Real("cl100k_base", "cl100k_base/cl100k_base.tiktoken", "tiktoken"),
    Real("o200k_base", "o200k_base/o200k_base.tiktoken", "tiktoken", "o200k_base"),
    Real("o200k_harmony", "o200k_base/o200k_base.tiktoken", "tiktoken", "o200k_harmony"),
    Real("gpt-oss", "gpt-oss/tokenizer.json", "huggingface"),
    Real("dolma2", "olmo-dolma2/allenai_dolma2.json", "huggingface"),
    Real("Llama-3 rank file", "llama-3/tokenizer.model", "tiktoken", "llama-3"),
    Real("Llama-3.2", "llama-3.2/tokenizer.json", "huggingface"),
    Real("Qwen rank file", "qwen/qwen.tiktoken", "tiktoken", "qwen"),
    Real("Qwen3", "qwen3/tokenizer.json", "huggingface"),
    Real("GPT-NeoX", "gpt-neox/tokenizer.json", "huggingface"),
    Real("Falcon", "falcon/tokenizer.json", "huggingface"),
    Real("RoBERTa", "roberta/tokenizer.json", "huggingface"),
    Real("RoBERTa pair", "roberta/vocab.json", "gpt2"),
    Real("Whisper tiny", "whisper-tiny/tokenizer.json", "huggingface"),
    Real("CLIP", "clip/tokenizer.json", "huggingface"),
    Real("Llama-2 .model", "llama-2/tokenizer.model", "sentencepiece"),
    Real("Llama-2 tokenizer.json", "llama-2/tokenizer.json", "huggingface"),
    Real("Mistral-v1 .model", "mistral-v1/tokenizer.model", "sentencepiece"),
    Real("Mistral-v1 tokenizer.json", "mistral-v1/tokenizer.json", "huggingface"),
    Real("Phi-3-mini", "phi-3-mini/tokenizer.json", "huggingface"),
    Real("GPT-2 GGUF", "gguf/ggml-vocab-gpt-2.gguf", "gguf"),
    Real("Llama-2 GGUF", "gguf/ggml-vocab-llama-spm.gguf", "gguf"),
    Real("Falcon GGUF", "gguf/ggml-vocab-falcon.gguf", "gguf"),
    Real("DeepSeek-LLM GGUF", "gguf/ggml-vocab-deepseek-llm.gguf", "gguf"),
)


def opened(real: Real, data: Path) -> TokenizerSource[BPEModel]:
    """The tokenizer, read."""
    return load_source(data / real.path, format=real.format, preset=real.preset)


def refusal(trip: RoundTrip) -> str:
    """The fields for which a format refuses a tokenizer; empty where it does not."""
    try:
        admit(trip)
    except LossyConversionError as error:
        return ", ".join(sorted({loss.field for loss in error.losses}))
    except UnstatedError:
        return "not stated"
    return ""


def cell(real: Real, model: BPEModel, target: str, data: Path) -> str:
    """What becomes of one tokenizer in one format; ``proved`` or ``tested`` where it is written."""
    if target == real.format:
        return "(source)"
    refused = refusal(RoundTrip(model, by_name(target)))
    if refused:
        return f"refused: {refused}"
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        done = convert(data / real.path, out, target, format=real.format, preset=real.preset)
    if done.report is None:
        raise AssertionError("a conversion that is verified has a verdict")
    return done.report.verdict


def row(real: Real, data: Path) -> str:
    """One line of the matrix."""
    model = opened(real, data).model
    return f"| {real.name} | " + " | ".join(cell(real, model, to, data) for to in FORMATS) + " |"


@click.command("matrix")
def matrix() -> None:
    """Print the table of docs/conversions.md, made of the files in BPE_INTEROP_DATA."""
    data = Path(os.environ["BPE_INTEROP_DATA"])
    click.echo("| source | " + " | ".join(FORMATS) + " |")
    click.echo("|---" * (len(FORMATS) + 1) + "|")
    for real in REAL:
        click.echo(row(real, data))
