"""The maps: what docs/theory.md, docs/architecture.md and CONTRIBUTING.md name is there."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from fixtures import FIXTURES, ROOT, TOKENIZERS
from trust.__main__ import main as trust

PACKAGE = ROOT / "bpe_interop"

_HEADING = re.compile(r"^### ((?:Theorem|Lemma) \d+) \(", re.MULTILINE)
_MENTION = re.compile(
    r"\b(Theorem|Lemma|theorem|lemma)s?\s+(\d+(?:(?:,\s+|\s+and\s+|\s+or\s+)\d+)*)"
)
_CODE = re.compile(r"`(bpe_interop/[\w/]+\.py|native/src/\w+\.rs)`")
_PATH = re.compile(
    r"(?<![\w./-])((?:bpe_interop|tests|benchmarks|trust|fixtures|docs|\.ci)(?:/[\w.*-]+)*/[\w.*-]*|pyproject\.toml)"
)
_MODULE = re.compile(r"python -m ((?:benchmarks|trust|fixtures)[\w.]*)(?: ([a-z]+))?")
_LINK = re.compile(r"\]\(([^)#:]+)\)")
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def mentions(text: str) -> set[str]:
    """``Theorems 4 and 13`` are ``Theorem 4`` and ``Theorem 13``."""
    return {
        f"{kind.title()} {number}"
        for kind, numbers in _MENTION.findall(text)
        for number in re.findall(r"\d+", numbers)
    }


@cache
def statements() -> dict[str, str]:
    """Each theorem and lemma of docs/theory.md, with all that stands below its heading."""
    page = (ROOT / "docs" / "theory.md").read_text("utf-8")
    parts = _HEADING.split(page)[1:]
    names = parts[::2]
    assert len(set(names)) == len(names), "a number stands twice"
    return dict(zip(names, (part.split("\n## ")[0] for part in parts[1::2]), strict=True))


def references(statement: str) -> str:
    """The line of a statement that names modules and tests."""
    lines = [line for line in statements()[statement].splitlines() if line.startswith("*Code:* ")]
    assert len(lines) == 1, f"{statement} needs one line that begins with *Code:*"
    return lines[0]


def docstring_of(path: str, test: str) -> str:
    """What a test says of itself, and what its file says."""
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == test:
            return f"{ast.get_docstring(node)}\n{ast.get_docstring(tree)}"
    raise AssertionError(f"{path} has no {test}")


every_statement = pytest.mark.parametrize("statement", sorted(statements()))


@every_statement
def test_each_theorem_names_modules_that_name_it(statement: str) -> None:
    named = _CODE.findall(references(statement))
    assert named, "no module"
    for path in named:
        assert statement in mentions((ROOT / path).read_text("utf-8")), f"{path} does not name it"


@every_statement
def test_each_theorem_names_tests_that_name_it(statement: str) -> None:
    named = _TEST.findall(references(statement))
    assert named, "no test"
    for path, test in named:
        assert statement in mentions(docstring_of(path, test)), f"{path}::{test} does not name it"


def test_theorems_that_are_named_anywhere_exist() -> None:
    files = [
        path
        for folder in ("bpe_interop", "tests", "benchmarks", "trust", "fixtures")
        for path in (ROOT / folder).rglob("*.py")
    ]
    unknown = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in [*files, ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
        for name in mentions(path.read_text("utf-8")) - statements().keys()
    }
    assert not unknown


PROVING = sorted(
    path
    for room in ("theory", "proof")
    for path in (PACKAGE / room).glob("*.py")
    if path.name not in ("__init__.py", "stage.py", "prove.py")
)
"""The modules that decide or prove something; ``prove.py`` asks the others."""


@pytest.mark.parametrize("path", PROVING, ids=[str(path.relative_to(ROOT)) for path in PROVING])
def test_each_module_of_proofs_says_on_which_theorem_it_rests(path: Path) -> None:
    said = mentions(ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "")
    assert said & statements().keys()


@pytest.mark.parametrize("path", PROVING, ids=[str(path.relative_to(ROOT)) for path in PROVING])
def test_each_theorem_names_the_modules_of_proofs_that_rest_on_it(path: Path) -> None:
    named = mentions(ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "")
    own = str(path.relative_to(ROOT))
    assert not {each for each in named if own not in _CODE.findall(references(each))}


POINTERS = {"Theorem 3": {"Theorem 16"}, "Theorem 4": {"Theorem 8"}}
"""Statements that say where more is to be found, further on; no proof rests on it."""


def test_the_theory_reads_from_front_to_back() -> None:
    order = [*statements()]
    ahead = {
        statement: {each for each in mentions(text) if order.index(each) > order.index(statement)}
        for statement, text in statements().items()
    }
    assert {statement: later for statement, later in ahead.items() if later} == POINTERS
    assert all(
        re.search(rf"\({later}\)", statements()[statement])
        for statement, named in POINTERS.items()
        for later in named
    )


MAPS = ("docs/architecture.md", "CONTRIBUTING.md")

every_map = pytest.mark.parametrize("page", MAPS)


@every_map
def test_every_path_on_a_map_exists(page: str) -> None:
    paths = {
        path
        for path in _PATH.findall((ROOT / page).read_text("utf-8"))
        if not {"NAME", "FORMAT"} & set(path.split("/"))
    }
    assert len(paths) > 15, "paths are not seen"
    assert not {path for path in paths if not any(ROOT.glob(path.rstrip("/")))}


def test_every_short_path_of_the_architecture_exists() -> None:
    """Those of its tables are below the package, or below the tests."""
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    paths = re.findall(r"`([\w.*-]+/[\w./*-]*)`", text)
    assert len(paths) > 200, "paths are not seen"
    roots = (ROOT, PACKAGE, ROOT / "tests")
    assert not {p for p in paths if not any(any(root.glob(p.rstrip("/"))) for root in roots)}


@every_map
def test_a_name_without_a_path_is_that_of_a_module(page: str) -> None:
    """``merging.py`` stands behind the folder that it is in."""
    names = set(re.findall(r"`(\w+\.py)`", (ROOT / page).read_text("utf-8")))
    modules = {path.name for path in (ROOT / "bpe_interop").rglob("*.py")}
    assert names
    assert names <= modules | {path.name for path in ROOT.glob("*.py")}


@every_map
def test_every_link_on_a_map_leads_somewhere(page: str) -> None:
    place = (ROOT / page).parent
    links = _LINK.findall((ROOT / page).read_text("utf-8"))
    assert links
    assert not [link for link in links if not (place / link).is_file()]


@every_map
def test_every_command_on_a_map_is_there(page: str) -> None:
    commands = set(_MODULE.findall((ROOT / page).read_text("utf-8")))
    assert commands
    for module, command in commands:
        place = ROOT.joinpath(*module.split("."))
        assert place.with_suffix(".py").is_file() or (place / "__main__.py").is_file(), module
        if module == "trust" and command:
            assert command in trust.commands


def test_every_room_is_on_the_map() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    rooms = {
        f"bpe_interop/{path.name}/" if path.is_dir() else f"bpe_interop/{path.name}"
        for path in PACKAGE.iterdir()
        if (path / "__init__.py").is_file() or (path.suffix == ".py" and path.stem[0] != "_")
    }
    assert not {room for room in rooms if f"`{room}`" not in page}


def test_the_contents_of_the_theory_name_every_statement() -> None:
    page = (ROOT / "docs" / "theory.md").read_text("utf-8")
    contents = page[page.index("| section |") : page.index("## Terms")]
    assert mentions(contents) == {*statements()}


def test_every_fixture_is_described() -> None:
    page = (FIXTURES / "README.md").read_text("utf-8")
    rows = {
        (name, held)
        for name, formats in re.findall(r"^\| `([\w-]+-tiny)` \| ([^|]+) \|", page, re.MULTILINE)
        for held in re.findall(r"\w+", re.sub(r"\([^)]*\)", "", formats))
    }
    there = {(path.parent.name, path.name) for path in TOKENIZERS.glob("*/*") if path.is_dir()}
    assert rows == there


_DEFINED = re.compile(
    r"^ *(?:pub(?:\(crate\))? )?(?:unsafe )?(?:extern \"C\" )?"
    r"(?:def|class|fn|struct|enum|mod|const|static) (\w+)",
    re.MULTILINE,
)
_NAME = re.compile(r"`([A-Za-z_]\w*(?:\.\w+)?)`")


@cache
def defined() -> set[str]:
    """The names that code defines: functions, classes, fields, constants, options, modules."""
    found: set[str] = set()
    for folder in ("bpe_interop", "tests", "trust", "benchmarks", "fixtures", "native/src"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".py", ".rs"):
                found.add(path.stem)
                text = path.read_text("utf-8")
                found.update(_DEFINED.findall(text))
                found.update(re.findall(r"^ *(\w+)(?:: [^\n]+)? = ", text, re.MULTILINE))
                found.update(re.findall(r"^ +(\w+): ", text, re.MULTILINE))
    return found


_ENDS = (".html", ".md", ".py", ".rs", ".toml")
_OTHERS = {
    *("AutoTokenizer", "BPE_INTEROP_DATA", "FixedLength", "dev", "functools", "helpers"),
    *("importlib", "manager", "mod", "xllamacpp"),
}
"""Names on the maps that are not ours to define."""


@every_map
def test_the_names_on_a_map_are_defined(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    named = [name for name in _NAME.findall(text) if "." + name.rpartition(".")[2] not in _ENDS]
    names = {part for name in named for part in name.split(".")}
    folders = {path.name for path in ROOT.glob("**/bpe_interop/**/") if path.is_dir()}
    assert len(names) > 20
    assert names - defined() - folders - _OTHERS == set()
