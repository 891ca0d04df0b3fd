"""The tool that removes comparisons of the proof: some of them, and the tests that see it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import bpe_interop
from trust.mutants import with_switches
from trust.mutations import MODULES, UNASKED, turned
from trust.needless import NEEDLESS

TESTS = Path(__file__).parents[1]


@pytest.mark.long
def test_a_removed_comparison_is_seen() -> None:
    found = turned(["theory.cuts"], ["test_prove_cuts.py"], "-k", "suffix or drops", timeout=300)
    assert found["failed"] == []
    seen = {row["text"]: row["seen"] for row in found["rows"]}
    assert "a suffix is glued" in seen["model.affixes == Affixes()"]
    assert "drops what lies across" in seen["place + 1 < len(model.pretokenizer or ())"]
    # The models of these two tests have all bytes.
    assert seen["has_utf8_bytes(model)"] == ""


@pytest.mark.parametrize("module", MODULES)
def test_every_module_has_comparisons_and_tests(module: str) -> None:
    tree, found = with_switches(f"bpe_interop.{module}")
    assert len(found) > 0
    compile(tree, module, "exec")
    assert all(any(TESTS.glob(f"*/{name}")) for name in MODULES[module])


def test_every_module_that_decides_or_proves_has_a_row() -> None:
    package = Path(bpe_interop.__file__).parent
    modules = {
        f"{room}.{path.stem}"
        for room in ("theory", "proof")
        for path in (package / room).glob("*.py")
        if path.stem != "__init__"
    }
    assert modules - MODULES.keys() == UNASKED.keys()


def test_each_comparison_and_condition_has_a_switch(monkeypatch: pytest.MonkeyPatch) -> None:
    source = "x = a == b and f(c) or not d or (e < g and h)\ny = i or ()\nz = j not in k\n"
    tree = ast.parse(source)
    monkeypatch.setattr(Path, "read_text", lambda *_: source)
    tree, found = with_switches("bpe_interop.diff")
    monkeypatch.undo()
    assert [(each.text, each.value) for each in found] == [
        ("a == b", True),
        ("f(c)", True),
        ("not d", False),
        ("e < g", True),
        ("j not in k", False),
    ]
    assert ast.unparse(tree).count("__switch__(") == len(found)


def test_what_is_called_needless_is_there() -> None:
    for module, reasons in NEEDLESS.items():
        _, found = with_switches(f"bpe_interop.{module}")
        assert reasons.keys() <= {each.key for each in found}, module
