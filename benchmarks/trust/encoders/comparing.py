"""One damaged tokenizer in our encoder and in its engine."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from bpe_interop.encode import Encoder
from bpe_interop.engines import Engine, from_files
from bpe_interop.errors import BpeInteropError, EngineError
from bpe_interop.formats import Files, by_name
from bpe_interop.model import BPEModel
from bpe_interop.presets import PRESETS

from .damage import damaged

FORMATS = {
    "huggingface": "tokenizers",
    "gpt2": "tokenizers",
    "tiktoken": "tiktoken",
    "sentencepiece": "sentencepiece",
    "minbpe": "tokenizers",
}
"""Each format that is damaged, and the engine that reads it."""

TEXTS = (
    *("", "a", "ab a", " a  b\n", "The warm bread is 1234.", "caf\u00e9 cafe\u0301 \u65e5\u672c"),
    *(
        "<s> x</s><unk>",
        "\U0001f642\u2581a\u2581\u2581b",
        "\0\t a",
        "it's IT'S  \n\n",
        "\u00df\u017f",
    ),
)

KNOWN: tuple[tuple[str, str, str], ...] = (
    (
        "gpt2",
        "expected a GPT-2 pair",
        "the pair is handed to tokenizers by us, which names its halves",
    ),
)
"""What an engine refuses and we do not, rightly: the format, words of the engine, the reason."""

FOLDER = Path(__file__).parents[3] / "fixtures" / "tokenizers"


@dataclass
class Found:
    """What became of damaged tokenizers, by format and outcome, and the ones that went wrong."""

    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    texts: int = 0
    failures: list[str] = field(default_factory=list)


def sources(format: str) -> list[tuple[str, dict[str, bytes]]]:
    """The small tokenizers of a format: names and files."""
    return [
        (folder.parent.name, {file.name: file.read_bytes() for file in sorted(folder.iterdir())})
        for folder in sorted(FOLDER.glob(f"*/{format}"))
    ]


def run(count: int, seed: int) -> Found:
    """Damages so many tokenizers, and compares our encoder with the engine on each."""
    found = Found()
    for number, (format, name, files, what) in enumerate(_damaged(count, seed)):
        outcome, why = compared(format, files, found)
        found.outcomes[format, outcome] += 1
        if outcome in ("different", "only we load it"):
            found.failures.append(f"{outcome}: {format} {name}, {what}, {seed}/{number}: {why}")
    return found


def _damaged(count: int, seed: int) -> Iterator[tuple[str, str, dict[str, bytes], str]]:
    rng = Random(seed)
    listed = {format: sources(format) for format in FORMATS}
    names = [format for format in FORMATS if listed[format]]
    for _ in range(count):
        format = rng.choice(names)
        name, files = rng.choice(listed[format])
        changed, what = damaged(files, rng)
        yield format, name, changed, what


def compared(format: str, files: Files, found: Found) -> tuple[str, str]:
    """What became of one tokenizer, and why."""
    model = _read(format, files)
    if model is None:
        return "we refuse it", ""
    try:
        engine = from_files(FORMATS[format], format, files, model)
    except (BpeInteropError, KeyError, ValueError, TypeError) as error:
        said = str(error)
        if any(format == known and words in said for known, words, _ in KNOWN):
            return "a known exception", ""
        return "only we load it", said
    return _encoded(Encoder(model), engine, found)


def _read(format: str, files: Files) -> BPEModel | None:
    try:
        model = by_name(format).load(files)
        if model.pretokenizer is None:
            stated = PRESETS["gpt2"].pretokenizer
            model = replace(model, pretokenizer=stated, normalizer=())
        model = replace(model, added=model.added or ())
        Encoder(model).pretokenize("a")
    except BpeInteropError:
        return None
    return model


def _encoded(ours: Encoder, engine: Engine, found: Found) -> tuple[str, str]:
    compared = 0
    for text in TEXTS:
        try:
            theirs = engine.encode(text)
        except EngineError:
            theirs = None
        try:
            ids = ours.encode(text)
        except BpeInteropError:
            continue  # we refuse the text, whatever the engine does
        if ids != theirs:
            return "different", json.dumps([text, ids, theirs])
        compared += 1
    found.texts += compared
    return ("the same ids" if compared else "both load it, we refuse each text"), ""
