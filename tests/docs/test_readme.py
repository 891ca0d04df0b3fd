"""The README is true: its examples run, and print what it says they print."""

from __future__ import annotations

import doctest
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks.marks import replaced
from benchmarks.readme import PERFORMANCE, PICTURE, SHOWN, drawn, numbers

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
BLOCK = re.compile(r"(<!-- example: real -->\n)?```(console|python)\n(.*?)```", re.DOTALL)
BLOCKS = [(bool(real), kind, text) for real, kind, text in BLOCK.findall(README)]
CHECKER = doctest.OutputChecker()
Data = Callable[[str], Path]


def unversioned(text: str) -> str:
    """Without the version numbers of libraries, which change while the README does not."""
    return re.sub(r"(?<=[a-z] )\d+\.\d+\.\d+\b", "VERSION", text)


def run(command: str, folder: Path) -> str:
    words = shlex.split(command)
    assert words[0] == "bpe-interop"
    done = subprocess.run(
        [sys.executable, "-m", "bpe_interop", *words[1:]],
        cwd=folder,
        env={**os.environ, "COLUMNS": "100"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    # On a busy machine a run that takes longer than ten seconds says how far it is.
    return done.stdout + re.sub(r"(?m)^\d+ s: .*\n", "", done.stderr)


def llama_2(data: Data, folder: Path) -> None:
    """Llama-2's directory, with the class that many publish beside it."""
    folder.mkdir()
    for name in ("tokenizer.json", "tokenizer.model"):
        shutil.copyfile(data(f"llama-2/{name}"), folder / name)
    config = {"tokenizer_class": "LlamaTokenizer", "bos_token": "<s>", "eos_token": "</s>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")


def test_the_numbers_are_those_of_the_page_of_performance() -> None:
    page = PERFORMANCE.read_text("utf-8")
    assert replaced(README, "numbers", numbers(page)) == README
    assert numbers(page).count("\n| ") == 1 + len(SHOWN)


def test_the_picture_is_the_example_that_is_run_here() -> None:
    """``python -m benchmarks.readme`` draws it; what the example prints is tested below."""
    assert PICTURE.read_text("utf-8") == drawn(README)
    assert f"](docs/{PICTURE.name})" in README
    assert len(PICTURE.read_bytes()) < 10_000
    shown = "".join(ElementTree.parse(PICTURE).getroot().itertext())
    assert "PROVED      equal for every text" in shown
    with pytest.raises(ValueError, match="no example"):
        drawn(README.replace("<!-- picture -->", ""))


def test_what_comes_first_fits_on_two_screens() -> None:
    assert len(README.partition("\n|")[0].splitlines()) <= 90


def test_there_are_examples() -> None:
    assert {kind for _, kind, _ in BLOCKS} == {"console", "python"}


@pytest.mark.parametrize(
    "number", [n for n, (_, kind, _) in enumerate(BLOCKS) if kind == "console"]
)
def test_console_examples_print_what_they_say(number: int, data: Data, tmp_path: Path) -> None:
    real, _, text = BLOCKS[number]
    if real:
        data("tiktoken_cache")
        llama_2(data, tmp_path / "Llama-2-7b")
    shutil.copytree(ROOT / "fixtures", tmp_path / "fixtures")
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        printed, said = unversioned(run(command, tmp_path)), unversioned(expected)
        # A line of three dots stands for lines that the README leaves out.
        assert printed == said or CHECKER.check_output(said, printed, doctest.ELLIPSIS)


@pytest.mark.parametrize("number", [n for n, (_, kind, _) in enumerate(BLOCKS) if kind == "python"])
def test_python_examples_give_what_they_say(
    number: int, data: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, _, text = BLOCKS[number]
    if real:
        data("tiktoken_cache")
    monkeypatch.chdir(ROOT)
    example = doctest.DocTestParser().get_doctest(text, {}, f"README-{number}", "README.md", 0)
    report: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(example, out=report.append)
    assert result.attempted > 0
    assert not result.failed, "".join(report)
