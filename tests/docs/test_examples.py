"""Examples of pages are true: they run from the top of the page, and print what it says.

A block behind ``<!-- example: real -->`` needs real files, and is run where these are.
"""

from __future__ import annotations

import doctest
import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from command_line import Command, in_process
from conftest import Data

import bpe_interop
from fixtures import FIXTURES, ROOT, TOKENIZERS
from fixtures.gguf_models import under_name

DOCS = ROOT / "docs"
BLOCK = re.compile(
    r"^(<!-- example: real -->\n)?```(console|python|pycon)\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
CHECKER = doctest.OutputChecker()


class Block(NamedTuple):
    """A fenced block: whether it needs real files, whether it is of a shell, and its lines."""

    real: bool
    shell: bool
    text: str


def blocks(name: str) -> list[Block]:
    page = (ROOT / name).read_text("utf-8")
    return [Block(bool(real), kind == "console", text) for real, kind, text in BLOCK.findall(page)]


# What pages need in the folder where they are run.


def fixtures(folder: Path) -> None:
    shutil.copytree(FIXTURES, folder / "fixtures")


def nothing(folder: Path) -> None:
    """The page makes all that it reads."""


def viewed(folder: Path) -> None:
    for name, fixture in (("my-tok", "cl100k-tiny"), ("old-tok", "gpt2-tiny")):
        shutil.copytree(TOKENIZERS / fixture / "tiktoken", folder / name)
    (folder / "story.txt").write_text("the year 2023\n" * 8, "utf-8")


def no_files(data: Data, folder: Path) -> None:
    """tiktoken's own files, which every real example may read, are enough."""


def llama_2(data: Data, folder: Path) -> None:
    """Llama-2's directory, with the class that many publish beside it."""
    (folder / "Llama-2-7b").mkdir()
    for name in ("tokenizer.json", "tokenizer.model"):
        shutil.copyfile(data(f"llama-2/{name}"), folder / "Llama-2-7b" / name)
    config = {"tokenizer_class": "LlamaTokenizer", "bos_token": "<s>", "eos_token": "</s>"}
    (folder / "Llama-2-7b" / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")


def readme(data: Data, folder: Path) -> None:
    """Llama-2's directory, and gpt-oss with a GGUF file under the name that published ones have."""
    llama_2(data, folder)
    (folder / "gpt-oss").mkdir()
    shutil.copyfile(data("gpt-oss/tokenizer.json"), folder / "gpt-oss" / "tokenizer.json")
    model = bpe_interop.load(folder / "gpt-oss").model
    (folder / "gpt-oss.gguf").write_bytes(under_name(model, "gpt-4o"))
    shutil.copyfile(data("corpora/udhr/udhr_hin.txt"), folder / "hindi.txt")


def published(data: Data, folder: Path) -> None:
    """Rank files and directories as their publishers have them."""
    for name in ("llama-3/tokenizer.model", "llama-3.2", "qwen/qwen.tiktoken", "qwen3"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).symlink_to(data(name))


def of_the_road(data: Data, folder: Path) -> None:
    """What the table of the page names, and no other file."""
    page = (DOCS / "from-bytes-to-gpt-4.md").read_text("utf-8")
    table = page.partition("| file | needed for |")[2].partition("\n\n")[0]
    (folder / "gpt2").mkdir()
    for name in ("seeds/unicode_intro.txt", "seeds/toy.txt", "gpt2/encoder.json", "gpt2/vocab.bpe"):
        there = name.removeprefix("seeds/")
        assert f"`{there}`" in table
        shutil.copy(data(name), folder / there)


REAL_FILES = {"gguf.md": readme, "convert.md": published}
"""What recipes need that read other real files than tiktoken's own."""


class Page(NamedTuple):
    """Blocks that are run one after the other, and what must be there."""

    name: str
    blocks: list[Block]
    needs: Callable[[Path], None] = fixtures
    real: Callable[[Data, Path], None] = no_files
    long: bool = False


def pages() -> list[Page]:
    """Every page with examples; of README each block by itself."""
    found = [
        Page(f"{name} {number}", [block], real=readme if name == "README.md" else no_files)
        for name in ("README.md", "docs/conversions.md")
        for number, block in enumerate(blocks(name))
    ]
    for path in [DOCS / "start.md", *sorted((DOCS / "recipes").glob("*.md"))]:
        name = path.relative_to(ROOT).as_posix()
        listed = blocks(name)
        if any(block.real for block in listed):
            found.append(Page(f"{name} real", listed, real=REAL_FILES.get(path.name, no_files)))
            if os.environ.get("BPE_INTEROP_REQUIRE_DATA") == "1":
                continue  # then that is run, with all of the page's blocks
        if plain := [block for block in listed if not block.real]:
            found.append(Page(name, plain, long=True))
    for path in sorted((DOCS / "refusals").glob("*.md")):
        if listed := blocks(path.relative_to(ROOT).as_posix()):
            found.append(Page(f"refusals/{path.name}", listed, long=listed[0].shell))
    found.append(Page("view.md", blocks("docs/view.md"), viewed))
    for name in ("offsets.md", "terminal.md"):
        found.append(Page(name, blocks(f"docs/{name}")))
    training = [block for block in blocks("docs/training.md") if not block.shell]
    found.append(Page("training.md", training, nothing))
    road = blocks("docs/from-bytes-to-gpt-4.md")
    start = Block(True, False, ">>> import bpe_interop\n")  # all that it needs of the other blocks
    real = [start, *(block for block in road if block.real)]
    found.append(Page("from-bytes-to-gpt-4.md real", real, nothing, of_the_road))
    found.append(Page("from-bytes-to-gpt-4.md", [b for b in road if not b.real], nothing))
    return found


PAGES = pages()
REAL = [page for page in PAGES if any(block.real for block in page.blocks)]
PLAIN = [page for page in PAGES if page not in REAL]


def parameters(listed: list[Page]) -> pytest.MarkDecorator:
    """A parameter ``page``, marked where it takes long."""
    given = [
        pytest.param(page, id=page.name, marks=[pytest.mark.long] if page.long else [])
        for page in listed
    ]
    return pytest.mark.parametrize("page", given)


def test_there_are_examples() -> None:
    """None is lost where a fence is written otherwise."""
    least = {"README": 4, "docs/": 40, "refusals": 30, "view": 3, "training": 4, "from-": 15}
    for start, count in least.items():
        found = [block for page in PAGES if page.name.startswith(start) for block in page.blocks]
        assert len(found) >= count, start


@parameters(PLAIN)
def test_examples_give_what_the_page_says(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page.needs(tmp_path)
    run(page.blocks, tmp_path, monkeypatch)


@parameters(REAL)
def test_examples_with_real_files_give_what_the_page_says(
    page: Page, data: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data("tiktoken_cache")
    page.needs(tmp_path)
    page.real(data, tmp_path)
    run(page.blocks, tmp_path, monkeypatch)


def run(listed: list[Block], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs blocks in a folder; Python's have the names of those before them."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    names: dict[str, object] = {}
    report: list[str] = []
    with in_process(monkeypatch) as call:
        for block in listed:
            if block.shell:
                console(block.text, call)
                continue
            example = doctest.DocTestParser().get_doctest(block.text, names, "page", None, 0)
            runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
            result = runner.run(example, out=report.append, clear_globs=False)
            assert result.attempted > 0
            assert not result.failed, "".join(report)
            names = example.globs


def console(text: str, call: Command) -> None:
    """Commands behind ``$``, each with what it prints; a line of three dots stands for several."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        printed = [""]
        if command.startswith("bpe-interop "):
            done = call(*shlex.split(command)[1:])
            printed = [done.err + done.out, done.out + done.err]
        else:
            subprocess.run(["bash", "-c", command], check=True)
        assert any(
            CHECKER.check_output(unversioned(expected), unversioned(each), doctest.ELLIPSIS)
            for each in printed
        ), printed[0]


def unversioned(text: str) -> str:
    """Without version numbers of libraries, spaces at the ends of lines, and line breaks.

    A page shows long lines as a terminal does: what is continued stands under the words of its
    label, or of its item.
    """
    text = re.sub(r"\n(?: {12}| {4})(?=[^ ])", " ", text)
    text = re.sub(r"(?<=[a-z] )\d+\.\d+\.\d+\b", "VERSION", text)
    return re.sub(r" +$", "", text, flags=re.MULTILINE).rstrip("\n") + "\n"
