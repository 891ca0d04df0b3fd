"""Classes of ``bpe_interop.values`` beside the same ones of ``dataclasses``."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import math
import pickle
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from bpe_interop import values
from bpe_interop.model import AddedToken, BPEModel, PairList, Vocab


def classes(library: ModuleType) -> Any:
    dataclass, field = library.dataclass, library.field

    @dataclass(frozen=True, slots=True)
    class Slotted:
        """A docstring."""

        a: int
        b: str = "b"
        c: list[int] = field(default_factory=list)

    @dataclass(frozen=True)
    class Open:
        a: int
        hidden: float = field(default=0.0, repr=False)
        uncounted: float = field(default=0.0, compare=False)

        @property
        def twice(self) -> int:
            return 2 * self.a

    @dataclass(frozen=True)
    class Derived(Open):
        a: int = 5
        more: tuple[int, ...] = ()

        def __post_init__(self) -> None:
            if self.a < 0:
                raise ValueError("below 0")

    @dataclass(frozen=True, slots=True)
    class Empty:
        pass

    @dataclass(frozen=True, eq=False)
    class Identity:
        a: int

    @dataclass(frozen=True)
    class Own:
        a: int

        def __repr__(self) -> str:
            return "own"

    @dataclass
    class Changing:
        a: int
        b: list[int] = field(default_factory=list)

    @dataclass(slots=True)
    class ChangingSlots:
        a: int = 1

    return SimpleNamespace(**{k: v for k, v in locals().items() if isinstance(v, type)})


SIDES = [classes(dataclasses), classes(values)]


def refused(work: Callable[[], object]) -> str:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - which one is what is compared
        work()
    return f"{caught.type.__name__}: {caught.value}"


CASES: dict[str, Callable[[Any], object]] = {
    "repr": lambda of: [repr(of.Slotted(1)), repr(of.Open(1, 2.0)), repr(of.Empty())],
    "own repr": lambda of: repr(of.Own(1)),
    "repr of a derived one": lambda of: repr(of.Derived(more=(1,))),
    "doc": lambda of: of.Slotted.__doc__,
    "name": lambda of: (of.Slotted.__name__, of.Slotted.__qualname__, of.Slotted.__module__),
    "slots": lambda of: [of.Slotted.__slots__, of.Empty.__slots__],
    "no dictionary": lambda of: hasattr(of.Slotted(1), "__dict__"),
    "match": lambda of: [of.Slotted.__match_args__, of.Derived.__match_args__],
    "by name": lambda of: repr(of.Slotted(c=[1], a=2)),
    "fresh default": lambda of: of.Slotted(1).c is of.Slotted(1).c,
    "default of the class": lambda of: (of.Open.hidden, of.Derived.a, of.Derived(more=()).twice),
    "no default of the class": lambda of: hasattr(of.Changing, "b"),
    "equal": lambda of: [of.Slotted(1) == of.Slotted(1), of.Slotted(1) == of.Slotted(2)],
    "equal to others": lambda of: [of.Open(1) == of.Derived(1), of.Open(1) == 1],
    "not compared": lambda of: of.Open(1, 0.0, 1.0) == of.Open(1, 0.0, 2.0),
    "empty": lambda of: [of.Empty() == of.Empty(), hash(of.Empty()) == hash(())],
    "nan": lambda of: of.Open(math.nan) == of.Open(math.nan),
    "hash": lambda of: [hash(of.Open(1, 2.0, 3.0)), hash(of.Derived(1))],
    "no hash of lists": lambda of: refused(lambda: hash(of.Slotted(1))),
    "no hash of what changes": lambda of: refused(lambda: hash(of.Changing(1))),
    "identity": lambda of: [of.Identity(1) == of.Identity(1), len({of.Identity(1)})],
    "changed": lambda of: refused(lambda: setattr(of.Slotted(1), "a", 2)),
    "changed open": lambda of: refused(lambda: setattr(of.Open(1), "new", 2)),
    "deleted": lambda of: refused(lambda: delattr(of.Slotted(1), "a")),
    "missing": lambda of: refused(lambda: of.Slotted()),
    "unknown": lambda of: refused(lambda: of.Slotted(1, d=2)),
    "too many": lambda of: refused(lambda: of.Open(1, 2, 3, 4)),
    "refused by itself": lambda of: refused(lambda: of.Derived(-1)),
    "fields": lambda of: [
        (f.name, f.type, f.default is dataclasses.MISSING, f.repr, f.compare)
        for kind in (of.Slotted, of.Derived, of.Empty)
        for f in dataclasses.fields(kind)
    ],
    "signature": lambda of: [str(inspect.signature(of.Open)), str(inspect.signature(of.Slotted))],
    "asdict": lambda of: [dataclasses.asdict(of.Slotted(1)), dataclasses.asdict(of.Derived())],
    "replaced": lambda of: repr(dataclasses.replace(of.Slotted(1), b="x")),
    "replaced by nothing there": lambda of: refused(
        lambda: dataclasses.replace(of.Slotted(1), d="x")
    ),
    "copied": lambda of: [
        copy.copy(of.Open(1)) == of.Open(1),
        copy.deepcopy(of.Slotted(1, "x", [1])) == of.Slotted(1, "x", [1]),
    ],
}


@pytest.mark.parametrize("case", CASES)
def test_they_are_as_pythons_own(case: str) -> None:
    pythons, ours = (CASES[case](side) for side in SIDES)
    assert ours == pythons


def test_what_changes_is_changed() -> None:
    for kind in (SIDES[1].Changing, SIDES[1].ChangingSlots):
        value = kind(1)
        value.a = 2
        assert value.a == 2
        assert value != kind(1)


def test_replace_is_pythons() -> None:
    value = SIDES[1].Slotted(1)
    assert values.replace(value, b="x") == dataclasses.replace(value, b="x")
    assert refused(lambda: values.replace(value, d=1)) == refused(
        lambda: dataclasses.replace(value, d=1)
    )


def test_values_of_the_package_are_pickled_and_hashed() -> None:
    token = AddedToken("<s>", 1, roles=("bos",))
    model = BPEModel(Vocab({b"a": 0, b"b": 1, b"ab": 2}), PairList(((b"a", b"b"),)), added=(token,))
    again = pickle.loads(pickle.dumps(model))
    assert again.added == (token,)
    assert hash(again.added) == hash((token,))
    assert (again.vocab, again.merges) == (model.vocab, model.merges)
    assert dataclasses.is_dataclass(token)
    assert not dataclasses.is_dataclass(ModuleType)
