"""Files converted to GGUF and from it: ``published`` and ``families`` in ``docs/gguf.md``.

All runs are those of the command line, each in a process of its own.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sentencepiece
from tokenizers import Tokenizer

from bpe_interop.encode import Encoder
from bpe_interop.engines.llamacpp import LlamaCppEngine
from bpe_interop.sources import load_source

_SEPARATOR = "\n__ggml_vocab_test__\n"
"""Between the texts of a file of vectors, as llama.cpp's ``test-tokenizer-0`` reads it."""


@dataclass(frozen=True)
class Converted:
    """What the command line did.

    Attributes:
        outcome: ``proved`` or ``tested``; empty where it was refused.
        reasons: the fields that the target cannot hold; or the message of an error.
    """

    outcome: str
    reasons: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.outcome or f"refused: {', '.join(self.reasons)}"


def converted(source: Path, target: Path, *options: str) -> Converted:
    """Runs ``bpe-interop convert``.

    Raises:
        AssertionError: it ended otherwise than with a result, a refusal, or an error in words.
    """
    command = [sys.executable, "-m", "bpe_interop", "convert", str(source), str(target)]
    done = subprocess.run(
        [*command, *options, "--json"], capture_output=True, text=True, check=False
    )
    faults = ("Traceback", "bug in bpe-interop", "BPE_INTEROP_")
    if done.returncode not in (0, 1, 2) or any(each in done.stderr for each in faults):
        raise AssertionError(f"{source} to {target}: {done.stderr[-2000:]}")
    if not done.stdout.strip():
        return Converted("", (done.stderr.strip().splitlines()[0],))
    answer: dict[str, Any] = json.loads(done.stdout)
    if answer.get("refused"):
        fields = {str(loss["field"]) for loss in answer["refused"]}
        return Converted("", tuple(sorted(fields)))
    return Converted(str(answer["verdict"]["outcome"]))


def tekken() -> Path:
    """The file that the wheel of mistral-common brings."""
    found = importlib.util.find_spec("mistral_common")
    if found is None or found.origin is None:
        raise SystemExit("install mistral-common")
    return Path(found.origin).parent / "data" / "tekken_240911.json"


def vectors(file: Path) -> list[tuple[str, list[int]]]:
    """llama.cpp's texts for a vocabulary, and the ids that they must give."""
    texts = file.with_name(f"{file.name}.inp").read_bytes().decode().split(_SEPARATOR)
    lines = file.with_name(f"{file.name}.out").read_text("ascii").split("\n")
    rows = [[int(number) for number in line.split()] for line in lines[: len(texts)]]
    return list(zip(texts, rows, strict=True))


def kept(path: Path, pairs: Sequence[tuple[str, list[int]]]) -> Iterator[str]:
    """Each reader of a file, and on how many of the texts it gives the ids."""
    encoder = Encoder(load_source(path).model)
    readers: dict[str, Callable[[str], list[int]]] = {"ours": encoder.encode}
    if path.suffix == ".gguf":
        readers["llama.cpp"] = LlamaCppEngine(path.read_bytes()).encode
    elif path.suffix == ".model":
        pieces = sentencepiece.SentencePieceProcessor(model_file=str(path))
        readers["sentencepiece"] = pieces.encode
    else:
        tokenizer = Tokenizer.from_file(str(path / "tokenizer.json"))
        tokenizer.encode_special_tokens = True
        readers["tokenizers"] = lambda text: list(
            tokenizer.encode(text, add_special_tokens=False).ids
        )
    for name, read in readers.items():
        same = sum(read(text) == ids for text, ids in pairs)
        yield f"{name} {same} of {len(pairs)}"


def published(data: Path) -> str:
    """llama.cpp's own vocabularies: to ``tokenizer.json`` and to ``.model``, and back.

    Where it is refused for fields that can be left out, it is done without these, to see that
    the vectors still hold.
    """
    rows = [
        "| vocabulary | its vectors | to | there | its vectors | back | its vectors |",
        "|---|---|---|---|---|---|---|",
    ]
    for file in sorted((data / "gguf").glob("*.gguf")):
        pairs = vectors(file)
        own = ", ".join(kept(file, pairs))
        for target, name in (("hf", "tokenizer.json"), ("spm", ".model")):
            with tempfile.TemporaryDirectory() as folder:
                middle = Path(folder, "there.model" if target == "spm" else "there")
                back = Path(folder, "back.gguf")
                cells = [*_with_vectors(file, middle, pairs, "--to", target), "-", "-"]
                if middle.exists():
                    cells[2:] = _with_vectors(middle, back, pairs)
            label = file.stem.removeprefix("ggml-vocab-")
            rows.append(f"| {label} | {own} | {name} | {' | '.join(cells)} |")
            print(rows[-1], file=sys.stderr, flush=True)
    return "\n".join(rows)


def _with_vectors(
    source: Path, target: Path, pairs: Sequence[tuple[str, list[int]]], *options: str
) -> list[str]:
    """What became of a conversion, and of the vectors."""
    done = converted(source, target, *options)
    if "alphabet" in done.reasons:  # without it, it is another tokenizer
        return [str(done), "-"]
    if not done.outcome:
        dropped = [word for field in done.reasons for word in ("--drop", field)]
        without = converted(source, target, *options, *dropped)
        if not without.outcome:
            return [str(done), "-"]
    return [str(done), ", ".join(kept(target, pairs))]


PRESETS = {
    "cl100k_base": "cl100k_base", "o200k_base": "o200k_base", "p50k_base": "p50k_base",
    "r50k_base": "r50k_base", "llama-3/": "llama-3", "qwen": "qwen", "gpt2.tiktoken": "gpt2",
    "multilingual.tiktoken": "gpt2",
}  # fmt: skip
"""What files of ranks leave unsaid, by a part of their path."""


def sources(data: Path) -> Iterator[tuple[str, Path, tuple[str, ...]]]:
    """Every tokenizer: its name, where it is, and what is to be said of it."""
    for pattern in ("*/*tokenizer.json", "*/*dolma2.json", "*/*.model", "*/*.tiktoken"):
        for file in sorted(data.glob(pattern)):
            name = f"{file.parent.name}/{file.name}"
            preset = next((preset for part, preset in PRESETS.items() if part in name), None)
            ranks = file.suffix == ".tiktoken" or file.parent.name == "llama-3"
            yield name, file, ("--preset", preset) if ranks and preset else ()
    yield "gpt2 (vocab.json, merges.txt)", data / "gpt2" / "vocab.json", ("--preset", "gpt2")
    for file in sorted(tekken().parent.iterdir()):
        if file.name.startswith(("tekken", "tokenizer.model", "mistral_instruct")):
            yield f"mistral-common/{file.name}", file, ()


def families(data: Path, asked: str = "") -> str:
    """Every tokenizer to GGUF, and what was written back to where it came from.

    Of those whose path has a text that is asked for, it is only printed on the way.
    """
    rows = ["| source | to GGUF | what it cannot hold | back |", "|---|---|---|---|"]
    for name, file, options in sources(data):
        if asked and asked not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            there = Path(folder, "there.gguf")
            done = converted(file, there, *options)
            again = "-"
            if done.outcome:
                target = "spm" if file.suffix == ".model" and not options else "hf"
                end = "back.model" if target == "spm" else "back"
                again = f"{target}: {converted(there, Path(folder, end), '--to', target)}"
        why = ", ".join(done.reasons).replace("|", "\\|").replace(f"{data}/", "")
        rows.append(f"| {name} | {done.outcome or 'refused'} | {why or '-'} | {again} |")
        print(rows[-1], file=sys.stderr, flush=True)
    return "\n".join(rows)
