"""A frozen class of ``values`` is what the standard library makes of it."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable, Mapping
from typing import Any, get_type_hints

import pytest

from bpe_interop import values


def _classes(dataclass: Callable[..., Any]) -> dict[str, Any]:
    @dataclass(frozen=True, slots=True)
    class Point:
        """Two numbers, a note that is not compared, and a mapping that is not shown."""

        x: float
        y: float = 0.0
        note: str = dataclasses.field(default="", compare=False)
        tags: Mapping[str, int] = dataclasses.field(default_factory=dict, repr=False)

        def __post_init__(self) -> None:
            if self.x == 99:
                raise ValueError("99")

    @dataclass(frozen=True)
    class One:
        """A field, and a place for what is not one."""

        x: float

    @dataclass(frozen=True)
    class More(One):
        """Inherits a field."""

        z: tuple[int, ...] = ()

    @dataclass(frozen=True, slots=True)
    class Empty:
        """No field."""

    @dataclass(frozen=True, eq=False)
    class Itself:
        """Equal to itself alone."""

        x: int

    @dataclass(frozen=True, slots=True)
    class Own:
        """Has methods of its own."""

        x: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own)

        def __repr__(self) -> str:
            return "own"

    @dataclass(frozen=True, slots=True)
    class Hashed:
        """Has a hash of its own."""

        x: int

        def __hash__(self) -> int:
            return 7

    @dataclass(frozen=True)
    class Bare:
        x: int
        y: str = "a"

    found = locals()
    return {name: found[name] for name in found if name != "dataclass"}


OURS, THEIRS = _classes(values.dataclass), _classes(dataclasses.dataclass)
GIVEN: list[tuple[str, tuple[object, ...], dict[str, object]]] = [
    ("Point", (1,), {}),
    ("Point", (1, 0.0, "a"), {}),
    ("Point", (1, 2), {"note": "b", "tags": {"a": 1}}),
    ("One", (1,), {}),
    ("More", (1,), {}),
    ("More", (1, (2,)), {}),
    ("Empty", (), {}),
    ("Itself", (1,), {}),
    ("Own", (1,), {}),
    ("Own", (2,), {}),
    ("Hashed", (1,), {}),
    ("Bare", (1,), {}),
]
PAIRS = [tuple(kinds[name](*a, **k) for kinds in (OURS, THEIRS)) for name, a, k in GIVEN]


@pytest.mark.parametrize(("ours", "theirs"), PAIRS, ids=repr)
def test_an_object_is_shown_compared_hashed_and_copied_alike(ours: Any, theirs: Any) -> None:
    assert repr(ours) == repr(theirs)
    assert dataclasses.asdict(ours) == dataclasses.asdict(theirs)
    assert [ours == other for other, _ in PAIRS] == [theirs == other for _, other in PAIRS]
    made = [dataclasses.replace(value) == value for value in (ours, theirs)]
    assert made[0] == made[1]
    assert (copy.copy(ours) == ours) == (copy.copy(theirs) == theirs)
    if type(ours).__name__ != "Itself":
        assert _hash(ours) == _hash(theirs)


def _hash(value: object) -> object:
    try:
        return hash(value)
    except TypeError as error:
        return str(error)


@pytest.mark.parametrize("name", sorted(OURS))
def test_a_class_is_described_alike(name: str) -> None:
    ours, theirs = OURS[name], THEIRS[name]
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
    hints = [get_type_hints(kind.__init__) for kind in (ours, theirs)]
    assert hints[0] == hints[1]
    assert ours.__init__.__qualname__ == theirs.__init__.__qualname__
    assert ours.__match_args__ == theirs.__match_args__
    assert hasattr(ours, "__dict__") == hasattr(theirs, "__dict__")


@pytest.mark.parametrize(("ours", "theirs"), PAIRS, ids=repr)
@pytest.mark.parametrize("name", ["x", "other"])
def test_nothing_can_be_set_or_deleted(ours: Any, theirs: Any, name: str) -> None:
    changes: list[Callable[[Any], None]] = [
        lambda value: setattr(value, name, 1),
        lambda value: delattr(value, name),
    ]
    for change in changes:
        errors = []
        for value in (ours, theirs):
            with pytest.raises((AttributeError, TypeError)) as caught:
                change(value)
            errors.append(caught.value)
        assert isinstance(errors[0], dataclasses.FrozenInstanceError)


def test_a_value_that_holds_itself_is_shown() -> None:
    shown = []
    for kinds in (OURS, THEIRS):
        inside: list[object] = []
        inside.append(kinds["One"](inside))
        shown.append(repr(inside[0]))
    assert shown[0] == shown[1]


@values.dataclass(frozen=True, slots=True)
class Sent:
    """Goes through pickle."""

    x: int
    y: str = "y"


def test_a_class_with_slots_goes_through_pickle() -> None:
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(Sent(1, "z"), protocol)) == Sent(1, "z")


def test_what_post_init_raises_is_raised() -> None:
    with pytest.raises(ValueError, match="99"):
        OURS["Point"](99)


def test_a_class_without_a_docstring_has_its_signature_as_one() -> None:
    assert OURS["Bare"].__doc__ == THEIRS["Bare"].__doc__
    assert OURS["Bare"].__doc__.startswith("Bare(x: 'int'")


def test_a_field_that_is_not_positional_is_refused() -> None:
    with pytest.raises(TypeError, match="no positional field"):

        @values.dataclass(frozen=True)
        class Kept:
            """A field that is not given."""

            x: int = dataclasses.field(default=0, init=False)


def test_a_class_that_is_not_frozen_can_be_changed() -> None:
    @values.dataclass(slots=True)
    class Count:
        """A number."""

        x: int

    count = Count(1)
    count.x = 2
    assert count == Count(2)
