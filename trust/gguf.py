"""GGUF measured: ``python -m trust gguf`` writes the tables of two pages.

The ids come from llama.cpp itself: each tokenizer is written as a GGUF file under the name that
llama.cpp's converter gives it, and run.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import sentencepiece
from tokenizers import Tokenizer

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
from bpe_interop.formats.gguf.write import dump, kept_of
from bpe_interop.model import BPEModel
from bpe_interop.sources import load_source
from bpe_interop.steps import ByteTokens, Fuse, Replace
from fixtures import ROOT
from fixtures.code_points import SCALARS
from fixtures.gguf_models import under_name
from fixtures.newer_code_points import has_newer

_DOCS = ROOT / "docs"
_MEASURED, _NAMES = _DOCS / "trust" / "gguf.md", _DOCS / "gguf-names.md"
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
    there = {line.split(" | ")[0]: line for line in _MEASURED.read_text("utf-8").splitlines()}
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


# Files converted to GGUF and from it: runs of the command line, each in a process of its own.

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
    """Write all tables, or those that are named, into docs/gguf-names.md and docs/trust/gguf.md.

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
            page = _NAMES if table in ("names", "costs") else _MEASURED
            page.write_text(replaced(page.read_text("utf-8"), table, f"\n{made}\n"), "utf-8")
