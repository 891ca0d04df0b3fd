"""Our frozen dataclasses behave as Python's own do, of the same classes."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import inspect
import math
import pickle
import pkgutil
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Generic, TypeVar

import pytest

import bpe_interop
from bpe_interop.frozen import dataclass, field, replace

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Point:
    """Two numbers."""

    x: int
    y: int = 2
    names: Mapping[str, int] = field(default_factory=dict)
    hidden: str = field(default="", repr=False)
    beside: int = field(default=0, compare=False)
    origin: ClassVar[int] = 0


@dataclass(frozen=True)
class Checked:
    """One field, which is checked; the class has a place for more."""

    size: float

    def __post_init__(self) -> None:
        if self.size < 0:
            raise ValueError(self.size)


@dataclass(frozen=True, eq=False)
class Alone:
    """Equal to itself only."""

    name: str = "a"

    def __repr__(self) -> str:
        return "alone"


@dataclass(frozen=True, slots=True)
class Holder(Generic[T]):
    """Of some kind."""

    held: T
    beside: Any = None


@dataclass(frozen=True, slots=True)
class Nothing:
    """No fields."""


@dataclass(frozen=True, slots=True)
class Further(Point):
    """More than two numbers."""

    z: int = 3
    more: list[int] = field(default_factory=list, compare=False)


SMALL: tuple[Any, ...] = (Point, Checked, Alone, Holder, Nothing, Further)


def of_the_package() -> Iterator[Any]:
    """Every class of ours in the package."""
    for found in pkgutil.walk_packages(bpe_interop.__path__, "bpe_interop."):
        if not found.name.endswith(("__main__", "pytest_plugin", "shards.dask")):
            for kind in vars(importlib.import_module(found.name)).values():
                if isinstance(kind, type) and "__shape__" in vars(kind):
                    yield kind


ALL = sorted({*SMALL, *of_the_package()}, key=lambda kind: (kind.__module__, kind.__qualname__))


def test_the_classes_of_the_package_are_found() -> None:
    assert {bpe_interop.BPEModel, bpe_interop.Loss, bpe_interop.Statement} <= {*ALL}


def like_python(kind: Any) -> Any:
    """Python's own dataclass of the same class."""
    return kind.__shape__.python_class


def named(kind: Any) -> Any:
    return pytest.param(kind, id=f"{kind.__module__}.{kind.__qualname__}")


@pytest.mark.parametrize("kind", [named(kind) for kind in ALL])
def test_a_class_says_of_itself_what_pythons_says(kind: Any) -> None:
    python = like_python(kind)
    assert kind.__name__ == python.__name__
    assert kind.__qualname__ == python.__qualname__
    assert kind.__module__ == python.__module__
    assert kind.__doc__ == python.__doc__
    assert kind.__annotations__ == python.__annotations__
    assert kind.__match_args__ == python.__match_args__
    assert inspect.signature(kind) == inspect.signature(python)
    assert dataclasses.is_dataclass(kind)
    assert [each.name for each in dataclasses.fields(kind)] == [*kind.__match_args__]
    assert repr(dataclasses.fields(kind)) == repr(dataclasses.fields(python))
    assert vars(kind).get("__slots__") == vars(python).get("__slots__")
    assert (kind.__hash__ is object.__hash__) == (python.__hash__ is object.__hash__)
    stated = {name for name in vars(python) if not name.startswith("__")}
    assert {name for name in vars(kind) if not name.startswith("__")} == stated


GIVEN: tuple[tuple[Any, tuple[Any, ...], dict[str, Any]], ...] = (
    (Point, (1,), {}),
    (Point, (1, 3), {"hidden": "h"}),
    (Point, (1, 3, {}, "h", 5), {}),
    (Point, (), {"beside": 4, "x": 1}),
    (Checked, (2.5,), {}),
    (Checked, (), {"size": math.inf}),
    (Alone, (), {}),
    (Holder, ([1],), {}),
    (Holder, (math.nan,), {}),
    (Nothing, (), {}),
    (Further, (1, 2), {"z": 4}),
    (Further, (1, 2), {"z": 4, "more": [1]}),
    (Further, (1,), {}),
)


@pytest.mark.parametrize(("kind", "given", "more"), GIVEN)
def test_values_are_as_pythons(kind: Any, given: tuple[Any, ...], more: dict[str, Any]) -> None:
    ours, python = kind(*given, **more), like_python(kind)(*given, **more)
    assert repr(ours) == repr(python)
    assert dataclasses.astuple(ours) == dataclasses.astuple(python)
    assert dataclasses.asdict(ours) == dataclasses.asdict(python)
    assert hasattr(ours, "__dict__") == hasattr(python, "__dict__")
    for other_given, other_more in ((g, m) for k, g, m in GIVEN if k is kind):
        other = kind(*other_given, **other_more)
        other_python = like_python(kind)(*other_given, **other_more)
        assert (ours == other) == (python == other_python)
        assert (ours != other) == (python != other_python)
    if kind not in (Point, Alone, Further) and not isinstance(getattr(ours, "held", None), list):
        assert hash(ours) == hash(python)
    for copied in (copy.copy(ours), copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
        assert type(copied) is kind
        assert repr(copied) == repr(ours)
    assert replace(ours) is not ours
    assert repr(replace(ours)) == repr(dataclasses.replace(ours)) == repr(ours)


def test_another_class_is_never_equal() -> None:
    assert Holder(1) != Nothing()
    assert Checked(1) != 1
    assert Point(1).__eq__(1) is NotImplemented
    assert Further(1) != Point(1)
    assert Point(1) != Further(1)


def test_what_is_not_compared_is_not_hashed() -> None:
    one, other = (Holder(each) for each in (Checked(1), Checked(1.0)))
    assert hash(one) == hash(other)
    assert Point(1, beside=1) == Point(1, beside=2)
    with pytest.raises(TypeError, match="unhashable"):
        hash(Point(1))


WRONG: tuple[tuple[Any, tuple[Any, ...], dict[str, Any]], ...] = (
    (Point, (), {}),
    (Point, (), {"y": 1}),
    (Point, (1,), {"x": 1}),
    (Point, (1,), {"z": 1}),
    (Point, (1, 2, {}, "", 3, 4), {}),
    (Nothing, (1,), {}),
    (Further, (), {"z": 1}),
    (Checked, (-1,), {}),
)


@pytest.mark.parametrize(("kind", "given", "more"), WRONG)
def test_errors_are_pythons(kind: Any, given: tuple[Any, ...], more: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError)) as python:
        like_python(kind)(*given, **more)
    with pytest.raises(python.type) as ours:
        kind(*given, **more)
    assert str(ours.value) == str(python.value)


@pytest.mark.parametrize("value", [Point(1), Checked(1), Alone("b"), Further(1)])
@pytest.mark.parametrize("name", ["x", "size", "name", "other"])
def test_nothing_changes_a_value(value: Any, name: str) -> None:
    before = repr(value), pickle.dumps(value)
    with pytest.raises(dataclasses.FrozenInstanceError, match=f"cannot assign to field '{name}'"):
        setattr(value, name, 2)
    with pytest.raises(dataclasses.FrozenInstanceError, match=f"cannot delete field '{name}'"):
        delattr(value, name)
    assert (repr(value), pickle.dumps(value)) == before


def test_a_value_within_itself_is_shown() -> None:
    held: list[Any] = []
    value = Holder(held)
    held.append(value)
    assert repr(value) == "Holder(held=[...], beside=None)"


def test_values_of_pythons_own_are_replaced_too() -> None:
    python = like_python(Point)(1)
    assert replace(python, y=5).y == 5
    with pytest.raises(TypeError):
        replace(Point(1), z=5)


def test_a_field_is_matched_by_its_place() -> None:
    match Point(1, 5):
        case Point(x, y):
            assert (x, y) == (1, 5)
