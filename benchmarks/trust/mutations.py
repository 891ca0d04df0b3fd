"""Comparisons of the proof removed one by one: does a test see it?

Each ``==``, ``is`` and ``in`` of a stage becomes true, each ``!=``, ``is not`` and ``not in``
false, as if there were no difference; then the quick tests of that stage run. What survives is a
comparison that no quick test needs.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from .page import made_of, put, table, write_option

ROOT = Path(__file__).parent.parent.parent
PACKAGE = "bpe_interop.verify.stages"

TESTS: dict[str, tuple[str, ...]] = {
    "numbering": ("test_prove_affixes.py", "test_prove_cuts.py", "test_proof_engines.py"),
    "merging": ("test_prove_affixes.py", "test_prove.py", "test_proof_engines.py"),
    "splitting": ("test_prove_cuts.py", "test_prove.py"),
    "normalizing": ("test_prove.py",),
}
"""The stages, and the files of their quick tests, the quickest first."""

_RUN = """
import importlib.abc, importlib.util, sys

name, path = sys.argv[1:3]

class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, wanted, paths, target=None):
        return importlib.util.spec_from_file_location(name, path) if wanted == name else None

sys.meta_path.insert(0, Finder())
# pytest looks for what it rewrites before other finders do.
importlib.import_module(name)
import pytest
sys.exit(pytest.main(["-q", "-x", "-p", "no:cacheprovider", *sys.argv[3:]]))
"""


@dataclass(frozen=True)
class Mutant:
    """A stage without one of its comparisons."""

    stage: str
    line: int
    removed: str
    source: str


def mutants(stage: str) -> Iterator[Mutant]:
    """Every mutant of a stage, in the order of its lines."""
    source = (ROOT / Path(*PACKAGE.split("."), f"{stage}.py")).read_text("utf-8")
    count = sum(isinstance(node, ast.Compare) for node in ast.walk(ast.parse(source)))
    for place in range(count):
        tree = ast.parse(source)
        node = [each for each in ast.walk(tree) if isinstance(each, ast.Compare)][place]
        same = {ast.Eq: True, ast.Is: True, ast.In: True}
        same |= {ast.NotEq: False, ast.IsNot: False, ast.NotIn: False}
        value = same.get(type(node.ops[0]))
        if value is not None:
            removed = ast.unparse(node)
            changed = ast.unparse(_Removed(node, value).visit(tree))
            yield Mutant(stage, node.lineno, removed, changed)


class _Removed(ast.NodeTransformer):
    def __init__(self, node: ast.Compare, value: bool) -> None:
        self._node, self._value = node, value

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        if node is self._node:
            return ast.copy_location(ast.Constant(self._value), node)
        self.generic_visit(node)
        return node


def is_seen(mutant: Mutant, *arguments: str, timeout: float = 600) -> bool:
    """Whether pytest with these arguments fails on a mutant. One that does not end is seen."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{mutant.stage}.py")
        path.write_text(mutant.source, "utf-8")
        command = [sys.executable, "-c", _RUN, f"{PACKAGE}.{mutant.stage}", str(path)]
        try:
            run = subprocess.run(
                [*command, *arguments], cwd=ROOT, capture_output=True, timeout=timeout, check=False
            )
        except subprocess.TimeoutExpired:
            return True
    return run.returncode == 1


@click.command()
@click.option("--stage", type=click.Choice([*TESTS]), multiple=True, help="Only this stage.")
@write_option
def mutations(stage: tuple[str, ...], page: Path | None) -> None:
    """Remove each comparison of the proof in turn, and see that a quick test fails."""
    started = time.monotonic()
    rows: list[list[object]] = []
    survived: list[str] = []
    for name in stage or TESTS:
        found = list(mutants(name))
        left = [each for each in found if not _seen_by_tests(each)]
        rows.append([name, len(found), len(found) - len(left), len(left)])
        survived += [f"- `{each.stage}.py:{each.line}`: `{each.removed}`" for each in left]
    head = made_of("mutations", time.monotonic() - started, {})
    lines = [*head, "", *table(["stage", "comparisons", "seen", "not seen"], rows)]
    put(page, "mutations", [*lines, *([""] if survived else []), *survived])
    if survived:
        raise SystemExit(1)


def _seen_by_tests(mutant: Mutant) -> bool:
    return any(is_seen(mutant, f"tests/{name}") for name in TESTS[mutant.stage])
