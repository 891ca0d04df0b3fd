"""Pages of the site: their links lead somewhere, their commands and numbers are the code's."""

from __future__ import annotations

import pkgutil
import re
import shlex
from pathlib import Path

import click
import pytest
import reference
from site_links import broken
from test_examples import blocks

import bpe_interop
from bpe_interop.cli import cli
from bpe_interop.cli.view import view_command
from bpe_interop.formats import each_format
from bpe_interop.tokenizer import Tokenizer
from bpe_interop.view.live import LIVE_LIMIT
from bpe_interop.view.page import LIMIT
from fixtures import ROOT

DOCS = ROOT / "docs"
PAGES = {
    path.relative_to(DOCS).as_posix(): path.read_text("utf-8")
    for path in sorted(DOCS.rglob("*.md"))
}
LINK = re.compile(r"(?<!\!)\[[^\]]*\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)")


def test_every_recipe_has_an_example() -> None:
    pages = [name for name in PAGES if name == "start.md" or name.startswith("recipes/")]
    assert [name for name in pages if not blocks(f"docs/{name}")] == ["recipes/index.md"]


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files(page: str) -> None:
    for target in LINK.findall(PAGES[page]):
        found = (DOCS / page).parent.joinpath(target).resolve()
        assert found.is_file(), target
        assert found.is_relative_to(DOCS), f"{target} is no part of the site"


def test_every_name_of_the_reference_is_there() -> None:
    """Only the build of the site reads the page as Sphinx does."""
    named = re.findall(
        r"^\.\. auto(?:function|class)?(?:module)?:: (\S+)$", PAGES["reference/api.md"], re.M
    )
    assert len(named) > 30
    for name in named:
        assert pkgutil.resolve_name(name) is not None


def test_the_tables_of_the_reference_have_every_name_and_say_what_it_is() -> None:
    page = PAGES["reference/api.md"]
    assert page == reference.rewritten(page), "python tests/reference.py writes the sentences"
    listed = reference.named(page)
    assert len(listed) == len({*listed})
    of_package = {f"bpe_interop.{name}" for name in bpe_interop.__all__}
    of_tokenizer = {name for name in dir(Tokenizer) if not name.startswith("_")}
    assert of_package <= {*listed}
    assert of_tokenizer == {
        name.rpartition(".")[2] for name in listed if not name.startswith("bpe_interop.")
    }
    described = re.findall(r"^\.\. auto\w+:: (\S+)$", page, re.M)
    assert {pkgutil.resolve_name(name).__name__.rpartition(".")[2] for name in described} <= {
        name.rpartition(".")[2] for name in listed
    }


def test_every_page_is_in_the_contents_of_the_site() -> None:
    listed = {"index.md"}
    lists = [(Path(), "index.md"), (Path(), "trust.md"), (Path("refusals"), "refusals/index.md")]
    for folder, page in lists:
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
    # It brings tables of countries and languages: 19 MB in every worker that collects this file.
    from mistral_common.tokens.tokenizers.base import TokenizerVersion

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


def test_limits_of_the_view_are_those_of_the_code() -> None:
    page = PAGES["view.md"]
    assert f"at most {LIMIT:,} bytes" in page
    assert f"up to {LIVE_LIMIT:,} bytes" in page
    port = next(each for each in view_command.params if each.name == "port")
    assert f"port {port.default};" in page
