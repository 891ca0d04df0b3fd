"""What a type checker sees of the public names: every part has a type, and none is ``Any``."""

from __future__ import annotations

import ast
import importlib
import inspect
import types
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import bpe_interop
import bpe_interop.errors
import bpe_interop.pytest_plugin
import bpe_interop.statistics
import bpe_interop.tiktoken

MODULES = (bpe_interop, bpe_interop.errors, bpe_interop.statistics, bpe_interop.tiktoken)
START = [
    getattr(module, name)
    for module in MODULES
    for name in getattr(module, "__all__", dir(module))
    if not name.startswith("_")
    and getattr(getattr(module, name), "__module__", "").startswith("bpe_interop")
]


def is_own(value: object) -> bool:
    return inspect.isclass(value) and value.__module__.startswith("bpe_interop")


def functions(value: object) -> Iterator[tuple[str, Any]]:
    """The functions that are written in a class or a function, public ones and operators."""
    if isinstance(value, types.FunctionType):
        yield value.__qualname__, value
    if not inspect.isclass(value):
        return
    for base in filter(is_own, value.__mro__):
        for name, member in vars(base).items():
            inner = getattr(member, "__func__", None) or getattr(member, "fget", None)
            inner = inner or getattr(member, "func", None) or member
            public = not name.startswith("_") or name in ("__init__", "__call__", "__getitem__")
            own = getattr(inner, "__module__", "").startswith("bpe_interop")
            if public and own and isinstance(inner, types.FunctionType):
                yield f"{base.__qualname__}.{name}", inner


def annotated(value: object) -> Iterator[tuple[str, str, str]]:
    """Where a type stands in what is public, the type as it is written, and its module."""
    for where, function in functions(value):
        own = "self" if "." in where else ""
        for name, parameter in inspect.signature(function).parameters.items():
            if name in (own, "cls"):
                continue
            said = parameter.annotation
            if said is inspect.Parameter.empty and function.__name__ == "__init__":
                continue  # a dataclass's own is told by its fields
            yield f"{where}({name})", str(said), function.__module__
        if function.__name__ != "__init__":
            yield f"{where} ->", str(function.__annotations__.get("return")), function.__module__
    if inspect.isclass(value):
        for base in filter(is_own, value.__mro__):
            for name, said in vars(base).get("__annotations__", {}).items():
                if not name.startswith("_"):
                    yield f"{base.__qualname__}.{name}", str(said), base.__module__


def names(annotation: str) -> set[str]:
    tree = ast.parse(annotation, mode="eval")
    found = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return found | {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


@cache
def imports(path: str) -> list[ast.ImportFrom]:
    tree = ast.parse(Path(path).read_text("utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]


@cache
def meant(name: str, module: str) -> object:
    """What a name of a module stands for, where it is imported for types alone too."""
    loaded = importlib.import_module(module)
    if hasattr(loaded, name):
        return getattr(loaded, name)
    package = loaded.__package__ or ""
    for node in imports(str(loaded.__file__)):
        if node.level:
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    source = importlib.import_module(
                        "." * node.level + (node.module or ""), package
                    )
                    return getattr(source, alias.name)
    return None


def reached() -> dict[str, tuple[str, str]]:
    """All types that can be met from the public names: where, and how each is written."""
    found: dict[str, tuple[str, str]] = {}
    seen: set[int] = set()
    todo: list[object] = list(START)
    while todo:
        value = todo.pop()
        if id(value) in seen or isinstance(value, types.ModuleType):
            continue
        seen.add(id(value))
        for where, said, module in annotated(value):
            found[f"{module}: {where}"] = said, module
            if "_empty" not in said:
                todo += [m for n in names(said) if is_own(m := meant(n, module))]
    return found


ALL = reached()


def test_nothing_that_is_public_is_any() -> None:
    assert len(ALL) > 200
    untyped = [where for where, (said, _) in ALL.items() if "_empty" in said]
    assert untyped == []
    loose = [
        where
        for where, (said, module) in ALL.items()
        if "Any" in names(said) or any(meant(name, module) is Any for name in names(said))
    ]
    assert loose == []


def test_an_any_would_be_seen() -> None:
    class Loose:
        __module__ = "bpe_interop.loose"
        field: dict[str, Any]

    assert [where for where, said, _ in annotated(Loose) if "Any" in names(said)]


@pytest.mark.parametrize("name", ["Tokenizer.to_transformers ->", "Report.verdict"])
def test_what_is_looked_at(name: str) -> None:
    assert any(where.endswith(name) for where in ALL)
