"""GGUF measured: ``python -m trust gguf`` writes the tables of ``docs/gguf.md``.

The ids come from llama.cpp itself: each tokenizer is written as a GGUF file under the name that
llama.cpp's converter gives it, and run.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import click

from benchmarks.marks import replaced
from bpe_interop.compare.stress import awkward
from bpe_interop.convert import convert
from bpe_interop.encode import Encoder
from bpe_interop.engines.llamacpp import LlamaCppEngine
from bpe_interop.errors import LossyConversionError
from bpe_interop.formats.gguf.pre_names import groups
from bpe_interop.formats.gguf.read import load
from bpe_interop.formats.gguf.splitters import (
    LINES_PATTERN,
    LINES_STEPS,
    NOT_HELD,
    OVER_CHARACTERS,
    SPACES,
    OverCharacters,
)
from bpe_interop.formats.gguf.write import dump, kept_of, under_name
from bpe_interop.model import BPEModel
from bpe_interop.sources import load_source
from bpe_interop.steps import ByteTokens, Fuse, Replace
from fixtures.code_points import SCALARS
from fixtures.newer_code_points import has_newer

from .gguf_files import families, published, tekken

PAGE = Path(__file__).resolve().parent.parent / "docs" / "gguf.md"
_TOGETHER = 32
"""So many code points stand in one text, with letters between them; one that differs is found."""


@dataclass(frozen=True)
class Real:
    """A published tokenizer, and the name that llama.cpp's converter gives it."""

    name: str
    path: str
    pre: str


REAL = (
    Real("GPT-2", "gpt2/tokenizer.json", "gpt-2"),
    Real("Llama-3.2", "llama-3.2/tokenizer.json", "llama-bpe"),
    Real("Qwen3", "qwen3/tokenizer.json", "qwen2"),
    Real("gpt-oss", "gpt-oss/tokenizer.json", "gpt-4o"),
    Real("tekken (240911)", "tekken", "tekken"),
    Real("GPT-NeoX", "gpt-neox/tokenizer.json", "olmo"),
    Real("Falcon", "falcon/tokenizer.json", "falcon"),
    Real("Phi-3-mini", "phi-3-mini/tokenizer.json", "default"),
    Real("Llama-2 tokenizer.json", "llama-2/tokenizer.json", "default"),
    Real("Llama-2 .model", "llama-2/tokenizer.model", "default"),
    Real("Mistral-v1 tokenizer.json", "mistral-v1/tokenizer.json", "default"),
    Real("Mistral-v1 .model", "mistral-v1/tokenizer.model", "default"),
)
MEASURED = REAL[:5]


def path_of(real: Real, data: Path) -> Path:
    """Where a tokenizer lies."""
    return tekken() if real.path == "tekken" else data / real.path


def languages(data: Path) -> Iterator[tuple[str, list[str]]]:
    """The Universal Declaration of Human Rights by language: its lines that are not empty."""
    for file in sorted((data / "corpora" / "udhr").glob("udhr_*.txt")):
        name = file.stem.removeprefix("udhr_")
        if name != "all":
            lines = file.read_text("utf-8").splitlines()
            yield name, [line for line in lines if line.strip()]


def costs(data: Path) -> str:
    """For each language and tokenizer, the share of lines with other ids, and the tokens more."""
    engines: list[tuple[Encoder, LlamaCppEngine]] = []
    for real in MEASURED:
        model = load_source(path_of(real, data)).model
        engines.append((Encoder(model), LlamaCppEngine(under_name(model, real.pre))))
    rows = ["| language | " + " | ".join(f"{r.name} (`{r.pre}`)" for r in MEASURED) + " |"]
    rows.append("|---" * (len(MEASURED) + 1) + "|")
    for language, lines in languages(data):
        cells = []
        for encoder, engine in engines:
            ours = [encoder.encode(line) for line in lines]
            theirs = engine.encode_batch(lines)
            other = sum(map(list.__ne__, ours, theirs))
            before, after = (sum(map(len, ids)) for ids in (ours, theirs))
            cells.append(f"{other} of {len(lines)}, {100 * (after / before - 1):+.1f} %")
        blank = [re.sub(r"^0 of .*", "-", cell) for cell in cells]
        rows.append(f"| {language} | " + " | ".join(blank) + " |")
        print(rows[-1], file=sys.stderr, flush=True)
    return "\n".join(rows)


def written(path: Path) -> str:
    """What becomes of a tokenizer as GGUF: proved, tested, or refused for which fields."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = convert(path, Path(folder, "out.gguf"))
        except LossyConversionError as error:
            return f"refused: {', '.join(sorted({loss.field for loss in error.losses}))}"
    if done.report is None:
        raise AssertionError("a conversion that is verified has a verdict")
    return done.report.verdict


def texts_of(model: BPEModel, data: Path) -> Iterator[tuple[str, list[str]]]:
    """Kinds of texts, each with its name."""
    yield "awkward", list(awkward(model))
    tokens = []
    for content in model.vocab.ids:
        try:
            tokens.append(content.decode("utf-8"))
        except UnicodeDecodeError:
            continue
    yield "token texts", tokens
    lines = [line for _, each in languages(data) for line in each]
    yield "lines of UDHR", list(dict.fromkeys(lines))
    points = [SCALARS[at : at + _TOGETHER] for at in range(0, len(SCALARS), _TOGETHER)]
    yield "code points", ["".join(f"a{character}b1 " for character in part) for part in points]


def agreement(data: Path, asked: str = "") -> str:
    """Whether our reading of each file gives llama.cpp's ids, by kinds of texts.

    Of one tokenizer that is asked for, the row is made anew; the others stay as the page has them.
    """
    rows = [
        "| source | to GGUF | `pre` run | awkward | token texts | lines of UDHR | code points |",
        "|---|---|---|---|---|---|---|",
    ]
    if asked and asked not in [real.name for real in REAL]:
        raise SystemExit(f"{asked} is none of {', '.join(real.name for real in REAL)}")
    there = {line.split(" | ")[0]: line for line in PAGE.read_text("utf-8").splitlines()}
    for real in REAL:
        head = f"| {real.name}"
        if not asked or asked == real.name:
            rows.append(f"{head} | {' | '.join(_row(real, data))} |")
            print(rows[-1], file=sys.stderr, flush=True)
        elif head in there:
            rows.append(there[head])
    return "\n".join(rows)


def characters(data: Path) -> str:
    """The same for the names under which characters are merged, with a published vocabulary.

    llama.cpp knows three names of the kind, and no file under one is among the tokenizers here:
    the vocabulary is Llama-2's, its merges those of its tokenizer.json, and the runs of newlines
    that no merge builds are left out.
    """
    path = data / "llama-2" / "tokenizer.json"
    model = load_source(path).model
    rows = [
        "| vocabulary | `pre` run | awkward | token texts | lines of UDHR | code points |",
        "|---|---|---|---|---|---|",
    ]
    for name in OVER_CHARACTERS:
        as_there = replace(
            model,
            normalizer=SPACES,
            pretokenizer=LINES_STEPS,
            decoder=(Replace("\u2581", " "), ByteTokens(), Fuse()),
            extras={"gguf": {"pre": name}},
        )
        [file] = dump(as_there).values()
        read = load({"x.gguf": file})
        if kept_of(read).get("pre") != name:
            raise AssertionError(f"it was not written under {name}")
        encoder, engine = Encoder(read), LlamaCppEngine(file)
        cells = [compared(encoder, engine, *each) for each in texts_of(read, data)]
        rows.append(f"| Llama-2's merges | `{name}` | {' | '.join(cells)} |")
        print(rows[-1], file=sys.stderr, flush=True)
    return "\n".join(rows)


def _row(real: Real, data: Path) -> Iterator[str]:
    path = path_of(real, data)
    model = load_source(path).model
    file = under_name(model, real.pre)
    encoder, engine = Encoder(load({"x.gguf": file})), LlamaCppEngine(file)
    yield written(path)
    yield f"`{real.pre}`"
    for kind, texts in texts_of(model, data):
        yield compared(encoder, engine, kind, texts)


def compared(encoder: Encoder, engine: LlamaCppEngine, kind: str, texts: list[str]) -> str:
    """How many texts were run, and on how many the ids differ; Unicode 16's characters apart."""
    known = [text for text in texts if not has_newer(text)]
    count = len(known)
    if kind == "code points":
        count = len(SCALARS) - sum(map(has_newer, SCALARS))
        cut = ["".join(part for part in _parts(text)) for text in texts]
        known = [text for text in cut if text]
    other = [
        text
        for at in range(0, len(known), 4096)
        for text, ids in zip(
            known[at : at + 4096], engine.encode_batch(known[at : at + 4096]), strict=True
        )
        if encoder.encode(text) != ids
    ]
    if other:
        print(f"{kind}: {other[0]!a}"[:300], file=sys.stderr)
    return f"{count:,}: {len(other)} differ"


def _parts(text: str) -> Iterator[str]:
    """The code points of a text, each with the letters beside it, without those of Unicode 16."""
    for at in range(0, len(text), 5):
        if not has_newer(text[at + 1]):
            yield text[at : at + 5]


def names(data: Path) -> str:
    """llama.cpp's names in their groups."""
    rows = ["| names that split as one | shown by | patterns |", "|---|---|---|"]
    for group in groups():
        listed = ", ".join(f"`{name}`" for name in group.names)
        how = group.by if len(group.names) > 1 else "-"
        spelled = " *then* ".join(_code(source) for source in group.spellings[0])
        rows.append(f"| {listed} | {how} | {spelled} |")
    alike: dict[OverCharacters, list[str]] = {}
    for name, row in OVER_CHARACTERS.items():
        alike.setdefault(row, []).append(name)
    for row, together in alike.items():
        listed = ", ".join(f"`{name}`" for name in together)
        more = "; a run of newlines that is a token is looked up" if row.lines else ""
        how = "the same patterns" if len(together) > 1 else "-"
        rows.append(f"| {listed} | {how} | {_code(LINES_PATTERN)}, characters are merged{more} |")
    rows += [f"| `{name}` | refused | {why} |" for name, why in NOT_HELD.items()]
    return "\n".join(rows)


def _code(source: str) -> str:
    short = source if len(source) <= 70 else f"{source[:70]} ..."
    shown = short.encode("unicode_escape").decode().replace("\\\\", "\\").replace("|", "\\|")
    return f"`` {shown} ``"


TABLES: dict[str, Callable[..., str]] = {
    "names": names,
    "costs": costs,
    "agreement": agreement,
    "characters": characters,
    "published": published,
    "families": families,
}


@click.command("gguf")
@click.argument("asked", nargs=-1, metavar="[TABLE[=NAME]]...")
def gguf(asked: tuple[str, ...]) -> None:
    """Write the tables of docs/gguf.md, or those that are named, into the page.

    agreement=NAME makes one row of that table again; families=NAME prints the rows of the
    tokenizers whose path has the name. Needs the files in BPE_INTEROP_DATA, and the extras
    `llamacpp` and `mistral`.
    """
    data = Path(os.environ["BPE_INTEROP_DATA"])
    for each in asked or TABLES:
        table, _, name = each.partition("=")
        if table not in TABLES:
            raise click.BadParameter(f"{table!r} is none of {', '.join(TABLES)}")
        made = TABLES[table](data, name) if name else TABLES[table](data)
        if not name or table == "agreement":
            PAGE.write_text(replaced(PAGE.read_text("utf-8"), table, f"\n{made}\n"), "utf-8")
