"""Every command of the command line on every file of a folder, and on every folder in it.

A command ends with 0 (done), or 1 (different, or a conversion that is refused with its losses).
Exit code 2 is right only where a row of ``REFUSALS`` says why.
"""

from __future__ import annotations

import io
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from random import Random
from typing import NamedTuple

import click

from bpe_interop.cli import main as bpe_interop
from bpe_interop.formats import all_formats
from fixtures import TOKENIZERS

from .page import made_of, put, table, write_option

TEXT = "Hello 12, \u00e9\u4e2d x\n"
LONG = ("lock", "verify")
"""The commands that take long, because they run thousands of texts; a short run is without them."""
_MOST_TO_TRAIN = 1 << 20
"""Bytes of the largest file that ``train`` learns from."""


class Refusal(NamedTuple):
    """Sources and commands (patterns of ``fnmatch``), words of the answer, and the reason."""

    sources: tuple[str, ...]
    commands: str
    words: str
    reason: str


_BESIDE = ("*_config.json", "*special_tokens_map.json", "*.tiktoken.json", "*/minbpe/*.vocab")
_TEXTS = ("corpora*", "seeds*", "*README*", "*MANIFEST*", "*.inp", "*.out", "versions.json")
_PAIRS = ("*/gpt2", "*/gpt2/*", "gpt2", "gpt2/*", "roberta", "roberta/*", "tiktoken_cache/*")
_RANKS = (
    "*.tiktoken",
    "tiktoken_cache/*",
    "llama-3",
    "llama-3/*",
    "[a-z]*_base",
    "qwen*",
    "whisper",
)
_WORDS = "[!t]*"
"""Every command but ``train``, which takes a file for a text."""

REFUSALS: tuple[Refusal, ...] = (
    Refusal(_BESIDE, _WORDS, "this is none of:", "a file beside a tokenizer, alone"),
    Refusal(_BESIDE, _WORDS, "this belongs beside a tokenizer", "a file beside a tokenizer, alone"),
    Refusal(_TEXTS, _WORDS, "this is none of:", "a text or a table, and no tokenizer"),
    Refusal(_TEXTS, _WORDS, "no tokenizer is here", "a text or a table, and no tokenizer"),
    Refusal(_TEXTS, _WORDS, "not a JSON object", "a text or a table, and no tokenizer"),
    Refusal(("clip/*.gz",), _WORDS, "this is packed", "a compressed list of merges"),
    Refusal(("bert*",), _WORDS, "is WordPiece, not BPE", "a tokenizer without merges"),
    Refusal(("t5*",), _WORDS, "not BPE", "a tokenizer without merges"),
    Refusal(_PAIRS, _WORDS, "not known", "a GPT-2 pair, which does not state its normalizer"),
    Refusal(_PAIRS, _WORDS, "does not state", "a GPT-2 pair, which states no special tokens"),
    Refusal(_RANKS, _WORDS, "not known", "a rank file, which does not state its pattern"),
    Refusal(_RANKS, _WORDS, "does not state", "a rank file, which states no special tokens"),
    Refusal(_RANKS, "verify", "UNKNOWN", "a rank file, which states no special tokens"),
    Refusal(("roberta*",), _WORDS, "contradicts it", "a preset that is another tokenizer's"),
    Refusal(("gguf", "whisper"), _WORDS, "several tokenizers", "a folder of several tokenizers"),
    Refusal(("tiktoken_cache",), _WORDS, "no tokenizer is here", "files of hashed names"),
    Refusal(("tiktoken_cache/*",), _WORDS, " without ", "merges under a hashed name, alone"),
    Refusal(
        ("*",), "train", "not UTF-8", "a file or folder of bytes that are no text, as a corpus"
    ),
    Refusal(("*",), "train", "it begins as JSON does", "a file of JSON, as a corpus of plain text"),
    Refusal(("*",), "train", "merges were asked for", "a corpus in which no pair is twice"),
)
"""Exit code 2 is right where a row fits the source and the command, and its words were said."""

PRESETS: dict[str, str] = {
    "shuffled-tiny/gpt2*": "gpt2",
    "gpt2": "gpt2",
    "gpt2/[evm]*": "gpt2",
    "roberta*": "gpt2",
}
"""Sources that do not state all, and a preset that does: these are run with it, too."""


class Source(NamedTuple):
    """A file or folder: its name in the folder that was given, where it is, and a preset."""

    name: str
    path: Path
    preset: str | None = None


class Answer(NamedTuple):
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str


@dataclass
class Found:
    """What became of commands: exit codes by command, refusals by reason, and the faults."""

    sources: int = 0
    codes: Counter[tuple[str, int]] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


def call(*arguments: object) -> Answer:
    """Runs ``bpe-interop`` in this process, with other streams."""
    buffers = io.BytesIO(), io.BytesIO()
    out, err = (io.TextIOWrapper(each, "utf-8", write_through=True) for each in buffers)
    before = sys.argv, sys.stdin, sys.stdout, sys.stderr
    sys.argv = ["bpe-interop", *map(str, arguments)]
    sys.stdin, sys.stdout, sys.stderr = io.TextIOWrapper(io.BytesIO(), "utf-8"), out, err
    code = 0
    try:
        bpe_interop()
    except SystemExit as done:
        code = int(done.code or 0)
    finally:
        sys.argv, sys.stdin, sys.stdout, sys.stderr = before
    said = [each.getvalue().decode("utf-8", "replace") for each in buffers]
    return Answer(code, *said)


def sources(root: Path) -> list[Source]:
    """Every file below a folder and every folder that holds files; some with a preset as well."""
    found = []
    for path in sorted(root.rglob("*")):
        if path.is_file() or any(each.is_file() for each in path.iterdir()):
            name = path.relative_to(root).as_posix()
            found.append(Source(name, path))
            known = (preset for pattern, preset in PRESETS.items() if fnmatch(name, pattern))
            found += [Source(name, path, preset) for preset in list(known)[:1]]
    return found


def lines(source: Source, scratch: Path) -> Iterator[tuple[str, list[object]]]:
    """The command lines for a source: what each is called, and its arguments."""
    path, said = source.path, ["--preset", source.preset] if source.preset else []
    text = scratch / "text"
    text.write_text(TEXT, "utf-8")
    yield "inspect", ["inspect", path, *said]
    yield "fingerprint", ["fingerprint", path, *said]
    yield "encode", ["encode", path, TEXT, "--special", "text", *said]
    yield "encode --explain", ["encode", path, "ab", "--explain", *said]
    yield "decode", ["decode", path, "1", *said]
    yield "inspect --corpus", ["inspect", path, "--corpus", text, *said]
    yield "lock", ["lock", path, "-o", scratch / "tokenizer.lock", *said]
    both = ["--preset-a", source.preset, "--preset-b", source.preset] if source.preset else []
    yield "verify", ["verify", path, path, *both]
    yield "view", ["view", path, "--text", text, "-o", scratch / "page.html", *said]
    more = ["--special", "<|new token|>", "--no-verify", *said]
    yield "extend", ["extend", path, scratch / "extended", *more]
    for row in all_formats():
        target = scratch / row.name
        yield (
            f"convert {row.name}",
            ["convert", path, target, "--to", row.name, "--no-verify", *said],
        )
    if not source.preset and (path.is_dir() or path.stat().st_size <= _MOST_TO_TRAIN):
        learned = ["--merges", 1, "--pattern", "gpt2", "--to", "hf", "-o", scratch / "learned"]
        yield "train", ["train", path, *learned]


def try_all(
    listed: Sequence[Source], without: Sequence[str] = (), refusals: Sequence[Refusal] = REFUSALS
) -> Found:
    """Runs the commands on sources; an exit code 2 must be that of a row, with its words."""
    found = Found(sources=len(listed))
    for source in listed:
        with tempfile.TemporaryDirectory() as folder:
            for command, arguments in lines(source, Path(folder)):
                if command not in without:
                    _try(source, command, call(*arguments), refusals, found)
    return found


def _try(
    source: Source, command: str, answer: Answer, refusals: Sequence[Refusal], found: Found
) -> None:
    found.codes[command, answer.code] += 1
    where = f"{command}, {source.name}" + (f" as {source.preset}" if source.preset else "")
    if "Traceback" in answer.err:
        found.faults.append(f"{where}: a traceback: {answer.err[-300:]}")
    elif answer.code == 2:
        said = answer.err or answer.out  # a verdict is no error
        for row in refusals:
            if row.words in said and _fits(row, source.name, command):
                found.refused[row.reason] += 1
                return
        found.faults.append(f"{where}: {said[:300]}")
    elif answer.code not in (0, 1):
        found.faults.append(f"{where}: exit code {answer.code}")


def _fits(row: Refusal, name: str, command: str) -> bool:
    return fnmatch(command, row.commands) and any(fnmatch(name, each) for each in row.sources)


def some(root: Path, count: int, seed: int) -> list[Source]:
    """So many sources of a folder, drawn."""
    return Random(seed).sample(sources(root), count)


@click.command("commands")
@click.option("--every", default=1, show_default=True, help="Take each so many-th source only.")
@click.option("--without", multiple=True, help="Leave this command out; may be repeated.")
@click.option("--only", default="*", show_default=True, help="Sources of such a name only.")
@write_option
def commands(every: int, without: tuple[str, ...], only: str, page: Path | None) -> None:
    """Run every command on every fixture and published tokenizer; no exit code 2 without reason.

    Published tokenizers are those of the folder that BPE_INTEROP_DATA names.
    """
    start = time.monotonic()
    roots = [TOKENIZERS, *map(Path, filter(None, [os.environ.get("BPE_INTEROP_DATA")]))]
    listed = [each for root in roots for each in sources(root) if fnmatch(each.name, only)]
    found = try_all(listed[::every], without)
    settings: dict[str, object] = {"every": every} if every > 1 else {}
    settings |= {"without": " --without ".join(without)} if without else {}
    named = sorted({command for command, _ in found.codes})
    rows = [[name, *(found.codes[name, code] for code in (0, 1, 2))] for name in named]
    head = [*made_of("commands", time.monotonic() - start, settings), ""]
    head += [f"{found.sources:,} files and folders, {len(found.faults):,} faults.", ""]
    put(
        page,
        "commands",
        [
            *head,
            *table(["command", "exit 0", "exit 1", "exit 2"], rows),
            "",
            *table(
                ["refused with exit code 2, because it is", "times"], found.refused.most_common()
            ),
        ],
    )
    for fault in found.faults:
        click.echo(fault, err=True)
    if found.faults:
        raise SystemExit(1)
