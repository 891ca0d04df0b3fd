"""The pages for a first hour are true: ``docs/start.md`` and ``docs/recipes`` print what they say.

Each page is run from its top in a fresh folder that holds the repository's fixtures.
"""

from __future__ import annotations

import doctest
import re
import shlex
import shutil
from pathlib import Path

import click
import pytest
from command_line import Command, in_process
from conftest import FIXTURES, ROOT, Data
from mistral_common.tokens.tokenizers.base import TokenizerVersion
from site_links import broken

from bpe_interop.cli import cli
from bpe_interop.formats import each_format

DOCS = ROOT / "docs"
PAGES = {
    path.relative_to(DOCS).as_posix(): path.read_text("utf-8")
    for path in sorted(DOCS.rglob("*.md"))
}
RUN = [name for name in PAGES if name == "start.md" or name.startswith("recipes/")]
BLOCK = re.compile(r"^(<!-- example: real -->\n)?```(console|python)\n(.*?)^```$", re.M | re.S)
LINK = re.compile(r"(?<!\!)\[[^\]]*\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)")
CHECKER = doctest.OutputChecker()


def unversioned(text: str) -> str:
    """Without the version numbers of libraries, and without spaces at the ends of lines."""
    return re.sub(r" +$", "", re.sub(r"(?<=[a-z] )\d+\.\d+\.\d+\b", "VERSION", text), flags=re.M)


def console(text: str, call: Command) -> None:
    for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
        command, _, expected = part.partition("\n")
        words = shlex.split(command)
        assert words[0] == "bpe-interop"
        done = call(*words[1:])
        printed = unversioned(done.err + done.out)
        assert CHECKER.check_output(unversioned(expected), printed, doctest.ELLIPSIS), printed


@pytest.mark.long
@pytest.mark.parametrize("page", [name for name in RUN if BLOCK.search(PAGES[name])])
def test_examples_give_what_the_page_says(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_examples(page, tmp_path, monkeypatch, real=False)


@pytest.mark.parametrize("page", [name for name in RUN if "<!-- example: real" in PAGES[name]])
def test_examples_with_real_files_give_what_the_page_says(
    page: str, data: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data("tiktoken_cache")
    run_examples(page, tmp_path, monkeypatch, real=True)


def run_examples(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, real: bool) -> None:
    """The blocks of a page in their order; those marked as real need tiktoken's own files."""
    shutil.copytree(FIXTURES, tmp_path / "fixtures")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    names: dict[str, object] = {}
    report: list[str] = []
    with in_process(monkeypatch) as call:
        for number, (marked, kind, text) in enumerate(BLOCK.findall(PAGES[page])):
            if marked and not real:
                continue
            if kind == "console":
                console(text, call)
                continue
            example = doctest.DocTestParser().get_doctest(text, names, f"{page}-{number}", page, 0)
            runner = doctest.DocTestRunner(verbose=False)
            result = runner.run(example, out=report.append, clear_globs=False)
            assert result.attempted > 0
            assert not result.failed, "".join(report)
            names = example.globs


def test_every_recipe_has_an_example() -> None:
    assert [name for name in RUN if not BLOCK.search(PAGES[name])] == ["recipes/index.md"]


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files(page: str) -> None:
    for target in LINK.findall(PAGES[page]):
        found = (DOCS / page).parent.joinpath(target).resolve()
        assert found.is_file(), target
        assert found.is_relative_to(DOCS), f"{target} is no part of the site"


def test_every_page_is_in_the_contents_of_the_site() -> None:
    listed = {"index.md"}
    for folder, page in [(Path(), "index.md"), (Path("refusals"), "refusals/index.md")]:
        for text in re.findall(r"^```\{toctree\}\n(.*?)^```$", PAGES[page], re.M | re.S):
            for line in text.splitlines():
                if line and not line.startswith(":"):
                    found = DOCS.joinpath(folder).glob(f"{line}.md")
                    listed |= {path.relative_to(DOCS).as_posix() for path in found}
    assert listed == PAGES.keys()


def test_links_of_the_built_site_that_lead_nowhere_are_found(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "b.html").write_text('<p id="here"><a href="../a.html#top">a</a></p>')
    links = ["in/b.html#here", "#own", "https://example.org/x", "in/b.html#away", "c.html", "#no"]
    page = "".join(f'<a href="{link}">x</a>' for link in links)
    (tmp_path / "a.html").write_text(f'<h1 id="own">{page}</h1><img src="in/x.png">')
    wrong = ["in/b.html#away", "c.html", "#no", "in/x.png"]
    assert broken(tmp_path) == [f"a.html: {link}" for link in wrong]


def commands() -> list[tuple[str, str]]:
    """Every call of the command line in a block of a page, those with made-up names too."""
    blocks = re.compile(r"^```(?:console|sh)\n(.*?)^```$", re.M | re.S)
    return [
        (page, line.removeprefix("$ "))
        for page, text in PAGES.items()
        for block in blocks.findall(text)
        for line in block.splitlines()
        if re.match(r"(\$ )?bpe-interop ", line)
    ]


def test_commands_have_options_that_there_are() -> None:
    assert len(commands()) > 50
    context = click.Context(cli)
    for page, line in commands():
        words = [word for word in shlex.split(line, comments=True)[1:] if word not in ("|", ">")]
        command = cli.get_command(context, words[0]) if words[0][0] != "-" else cli
        assert command is not None, (page, line)
        known = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
        asked = {word.partition("=")[0] for word in words if word.startswith("-") and word != "-"}
        assert asked <= {*known, "--help", "--version"}, (page, line)


def test_the_page_of_formats_names_all_that_is_read() -> None:
    page = PAGES["formats.md"]
    *most, last = [version.value for version in TokenizerVersion.__members__.values()]
    assert f"versions {', '.join(most)} and {last}." in page
    kinds = re.search(r"^- Kinds: (.*?)\. All other kinds", page, re.M)
    assert kinds
    assert {*re.findall(r"`(\w+)` \(", kinds[1])} == {"gpt2", "gemma4", "llama"}
    for row in each_format():
        assert re.search(rf"^## .*\(`{row.name}`[,)]", page, re.M), row.name
        for beside in row.names.beside:
            for name in beside.names:
                assert name.partition("*")[0].format("NAME.tiktoken") in page, name
