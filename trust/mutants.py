"""Modules with a switch at each comparison, and a pytest plugin that turns these, one by one.

``python -m trust.mutants RESULT MODULE... -- FILE...`` collects the tests once. A
first child process runs all of them, and records at which switches each test would see another
value. Then there is a child for each switch: it turns it and runs only these tests, the quickest
first, up to the first that fails.
"""

from __future__ import annotations

import ast
import importlib
import importlib.abc
import importlib.util
import json
import math
import os
import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any, TypeVar

import pytest
from _pytest.runner import runtestprotocol

ROOT = Path(__file__).parent.parent

_SWITCH = "__switch__"

Named = TypeVar("Named", ast.FunctionDef, ast.ClassDef)
_SECONDS = 15
"""How much CPU time a mutant has beyond five times that of its tests."""


@dataclass(frozen=True, slots=True)
class Removed:
    """A comparison or condition, and what it becomes, as if there were no difference.

    ``place`` names the function, with its class, that it stands in.
    """

    module: str
    place: str
    line: int
    text: str
    value: bool

    @property
    def key(self) -> str:
        """In which function it is, and what it is: the same when lines move."""
        return f"{self.place}: {self.text}"


class _Switches(ast.NodeTransformer):
    """Puts a switch at each comparison, and at each condition joined by ``and`` or ``or``."""

    def __init__(self, module: str, start: int) -> None:
        self.found: list[Removed] = []
        self._module, self._start = module, start
        self._place: list[str] = []

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return self._within(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        return self._within(node)

    def _within(self, node: Named) -> Named:
        self._place.append(node.name)
        self.generic_visit(node)
        self._place.pop()
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.Assert:
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        value = _SAME.get(type(node.ops[0]))
        text = ast.unparse(node)
        self.generic_visit(node)
        return node if value is None else self._switched(node, text, value)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        # What ``and`` and ``or`` join is left out: it becomes true, or false.
        value = isinstance(node.op, ast.And)
        if not value and isinstance(node.values[-1], (ast.Constant, ast.Tuple, ast.List)):
            self.generic_visit(node)
            return node
        node.values = [self._left_out(each, value) for each in node.values]
        return node

    def _left_out(self, node: ast.expr, value: bool) -> ast.expr:
        if not isinstance(node, (ast.Compare, ast.Call, ast.UnaryOp)):
            found: ast.expr = self.visit(node)
            return found
        text = ast.unparse(node)
        if isinstance(node, ast.UnaryOp):
            # The switch at a negation is that of what it negates.
            node.operand = self._inside(node.operand)
        else:
            self.generic_visit(node)
        return self._switched(node, text, value)

    def _inside(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Compare):
            self.generic_visit(node)
            return node
        found: ast.expr = self.visit(node)
        return found

    def _switched(self, node: ast.expr, text: str, value: bool) -> ast.expr:
        number = ast.Constant(self._start + len(self.found))
        place = ".".join(self._place)
        self.found.append(Removed(self._module, place, node.lineno, text, value))
        called = ast.Call(ast.Name(_SWITCH, ast.Load()), [number, node], [])
        return ast.fix_missing_locations(ast.copy_location(called, node))


_SAME: dict[type[ast.cmpop], bool] = {ast.Eq: True, ast.Is: True, ast.In: True}
_SAME |= {ast.NotEq: False, ast.IsNot: False, ast.NotIn: False}


def with_switches(module: str, start: int = 0) -> tuple[ast.Module, list[Removed]]:
    """A module with its switches, numbered from ``start``, and what they remove."""
    switches = _Switches(module, start)
    tree = switches.visit(ast.parse(path_of(module).read_text("utf-8")))
    return tree, switches.found


def path_of(module: str) -> Path:
    """The source of a module of the package."""
    place = ROOT.joinpath(*module.split("."))
    return place / "__init__.py" if place.is_dir() else place.with_suffix(".py")


class Switchboard(importlib.abc.MetaPathFinder):
    """Loads modules with their switches; one of them may be turned."""

    def __init__(self, modules: Sequence[str]) -> None:
        self.modules = {*modules}
        self.removed: list[Removed] = []
        self.turned = -1
        self.reached: set[int] = set()

    def install(self) -> None:
        """Imports the modules, before pytest looks for what it rewrites."""
        sys.meta_path.insert(0, self)
        for name in sorted(self.modules):
            importlib.import_module(name)

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """The module with its switches, if it is one of those asked for."""
        if fullname not in self.modules:
            return None
        source = path_of(fullname)
        loader = _Loader(fullname, str(source))
        loader.board = self
        return importlib.util.spec_from_file_location(fullname, source, loader=loader)

    def switch(self, number: int, value: object) -> object:
        """The value of a comparison, or what it becomes where its switch is turned."""
        other = self.removed[number].value
        if number == self.turned:
            return other
        if bool(value) is not other:
            self.reached.add(number)
        return value


class _Loader(SourceFileLoader):
    board: Switchboard

    def get_code(self, fullname: str) -> CodeType:
        tree, found = with_switches(fullname, len(self.board.removed))
        self.board.removed += found
        return compile(tree, self.path, "exec")

    def exec_module(self, module: Any) -> None:
        setattr(module, _SWITCH, self.board.switch)
        super().exec_module(module)


class Plugin:
    """Runs the collected tests with each switch turned; each time in a child process."""

    def __init__(self, board: Switchboard, result: Path) -> None:
        self._board, self._result = board, result

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Instead of running each test once."""
        if session.testsfailed:
            raise session.Interrupted("the tests could not be collected")
        record = self._child(session.items, None)
        seconds = {name: spent for name, (spent, _, _) in record.items()}
        failed = [name for name, (_, _, passed) in record.items() if not passed]
        rows = []
        for number, removed in enumerate(self._board.removed):
            named = [
                each
                for each in sorted(session.items, key=lambda item: seconds[item.nodeid])
                if number in record[each.nodeid][1] and each.nodeid not in failed
            ]
            limit = _SECONDS + 5 * sum(seconds[each.nodeid] for each in named)
            ran = self._child(named, number, limit) if named else {}
            seen = next((name for name, (*_, passed) in ran.items() if not passed), "")
            rows.append(
                {
                    "module": removed.module,
                    "key": removed.key,
                    "line": removed.line,
                    "text": removed.text,
                    "value": removed.value,
                    "tests": len(named),
                    "seen": seen,
                }
            )
            self._result.write_text(json.dumps({"failed": failed, "rows": rows}), "utf-8")
        return True

    def _child(
        self, items: Sequence[pytest.Item], turned: int | None, limit: float = 0.0
    ) -> dict[str, tuple[float, list[int], bool]]:
        """By test: seconds, switches with another value, whether it passed; up to a failure.

        A child that is ended by its limit, or otherwise, did not pass its next test.
        """
        into, out = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(into)
            self._run(items, turned, limit, out)
        os.close(out)
        with open(into, encoding="utf-8") as lines:
            found = {
                name: (spent, reached, passed)
                for name, spent, reached, passed in map(json.loads, lines)
            }
        _, status = os.waitpid(child, 0)
        if status:
            ended = items[len(found)].nodeid if len(found) < len(items) else "the end"
            found[ended] = (0.0, [], False)
        return found

    def _run(
        self, items: Sequence[pytest.Item], turned: int | None, limit: float, out: int
    ) -> None:
        if turned is not None:
            self._board.turned = turned
            resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(limit),) * 2)
        with open(out, "w", encoding="utf-8", buffering=1) as lines:
            for item, following in zip(items, [*items[1:], None], strict=True):
                self._board.reached = set()
                started = time.process_time()
                reports = runtestprotocol(item, log=False, nextitem=following)
                passed = not any(report.failed for report in reports)
                spent = time.process_time() - started
                row = [item.nodeid, spent, sorted(self._board.reached), passed]
                lines.write(json.dumps(row) + "\n")
                if turned is not None and not passed:
                    break
        os._exit(0)


def main(arguments: Sequence[str]) -> int:
    """Turns each switch of the modules, and writes what the tests saw."""
    cut = arguments.index("--")
    board = Switchboard(arguments[1:cut])
    board.install()
    options = ["-q", "-m", "", "-p", "no:cacheprovider", "-p", "no:xdist"]
    plugin = Plugin(board, Path(arguments[0]))
    return int(pytest.main([*options, *arguments[cut + 1 :]], plugins=[plugin]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
