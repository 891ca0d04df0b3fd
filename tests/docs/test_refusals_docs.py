"""``docs/refusals``: every code that can be printed has a page, whose example prints that code."""

from __future__ import annotations

import importlib
import pkgutil
import re

import pytest
from test_examples import blocks

import bpe_interop
from bpe_interop.errors import BpeInteropError
from bpe_interop.formats.losses import TEXT
from bpe_interop.gate import describe
from bpe_interop.loss import Loss
from bpe_interop.model import FIELDS
from fixtures import ROOT
from trust.laws import DECISIONS

FOLDER = ROOT / "docs" / "refusals"
PAGES = {path.stem: path.read_text("utf-8") for path in sorted(FOLDER.glob("*.md"))}
INDEX = PAGES.pop("index")


def classes(parent: type[BpeInteropError]) -> set[type[BpeInteropError]]:
    """A class of errors and all that are derived from it in the package."""
    found = {parent}.union(*map(classes, parent.__subclasses__()))
    return {each for each in found if each.__module__.startswith("bpe_interop.")}


def code_of(error: type[BpeInteropError]) -> str:
    return error.__new__(error).code


def printable() -> set[str]:
    """Every code: of each field that can be lost, and of each class that is raised."""
    for module in pkgutil.walk_packages(bpe_interop.__path__, "bpe_interop."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    errors = classes(BpeInteropError) - {BpeInteropError}
    return {Loss(field, "ids", "", "").code for field in FIELDS} | set(map(code_of, errors))


def test_every_code_has_a_page_and_every_page_a_code() -> None:
    assert PAGES.keys() == printable()
    assert set(re.findall(r"\[([A-Z]+-[a-z_-]+)\]\(\1\.md\)", INDEX)) == PAGES.keys()


@pytest.mark.parametrize("code", PAGES)
def test_a_page_says_what_happened_what_it_costs_and_what_to_do(code: str) -> None:
    page = PAGES[code]
    assert page.startswith(f"# {code}: ")
    headings = ["An example", "What it costs", "What to do"]
    if code.startswith("LOSS-"):
        headings.insert(0, "Grades")
    assert re.findall(r"^## (.*)$", page, re.M) == headings


def test_a_loss_names_its_page_at_the_end() -> None:
    for shown in (True, False):
        loss = Loss("decoder", "text", "spaces", "they vanish", "é", shown)
        assert describe(loss).endswith("; see LOSS-decoder")


def test_the_grades_of_a_page_are_those_that_formats_give() -> None:
    """Those of the rule, and those of the table of decisions."""
    given: set[tuple[str, str]] = {(field, "metadata") for field in FIELDS}
    for row in DECISIONS.read_text("utf-8").splitlines():
        refused = row.split("refused: ")[1].partition(";")[0].replace("*", "").split()
        given |= {(field, "text" if field in TEXT else "ids") for field in refused if field != "-"}
    for field, grade in sorted(given):
        assert f"\n- `{grade}`: " in PAGES[f"LOSS-{field}"], (field, grade)


def test_every_page_has_one_example_that_prints_the_code() -> None:
    """It is run in ``test_examples.py``."""
    for code in PAGES:
        [block] = blocks(f"docs/refusals/{code}.md")
        assert not block.shell or f"see {code}" in block.text.rpartition("$ ")[2], code
