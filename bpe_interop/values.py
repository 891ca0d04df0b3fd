"""``dataclass`` for frozen classes, made in a third of the time.

``dataclasses`` compiles six functions for each frozen class, 0.7 ms in all (Python 3.11): for the
classes that a load needs, a third of its time in a new process. Here only ``__init__`` is compiled.
"""

from __future__ import annotations

import dataclasses
import inspect
import reprlib
import sys
from dataclasses import MISSING, FrozenInstanceError
from operator import attrgetter

TYPE_CHECKING = False  # type checkers take the name as True: to them it is dataclasses' own
if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass as dataclass
    from typing import Any
else:

    def dataclass(*, frozen=False, slots=False, eq=True):
        """What ``dataclasses.dataclass`` makes of a class with these arguments.

        Raises:
            TypeError: a field of a frozen class is ``kw_only`` or has ``init=False``.
        """
        if not frozen:
            return dataclasses.dataclass(slots=slots, eq=eq)
        fields = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)

        def make(cls):
            described = bool(cls.__doc__)
            cls.__doc__ = cls.__doc__ or "Is written below, when there is a signature."
            made = _finish(cls, fields(cls), eq)
            if not described:
                made.__doc__ = cls.__name__ + str(inspect.signature(made)).replace(" -> None", "")
            return made

        return make


def _finish(written: type, made: Any, eq: bool) -> Any:
    """Adds to a class with fields the methods that are not written in it."""
    own = vars(written)  # one with slots is another class
    made.__setattr__ = _set
    made.__delattr__ = _delete
    if "__slots__" in vars(made):
        made.__getstate__ = _state
        made.__setstate__ = _set_state
    if "__init__" not in own:
        made.__init__ = _initializer(made)
    if "__repr__" not in own:
        made.__repr__ = _shown
    if eq:
        compared = _values([field.name for field in dataclasses.fields(made) if field.compare])
        if "__eq__" not in own:
            made.__eq__ = _equality(compared)
        if own.get("__hash__") is None:  # Python writes None where there is only an __eq__
            made.__hash__ = lambda self: hash(compared(self))
    return made


class _MadeByFactory:
    """The default that a signature shows for a field with a factory."""

    def __repr__(self) -> str:
        return "<factory>"


def _initializer(made: Any) -> Any:
    names: dict[str, object] = {"set_": object.__setattr__, "made_by": _MadeByFactory()}
    parameters, lines, annotations = [], [], {}
    for field in dataclasses.fields(made):
        if field.kw_only or not field.init:
            raise TypeError(f"{made.__name__}.{field.name} is no positional field")
        name = field.name
        annotations[name] = field.type
        value, default = name, ""
        if field.default is not MISSING:
            names[f"default_{name}"], default = field.default, f"=default_{name}"
        elif field.default_factory is not MISSING:
            names[f"factory_{name}"], default = field.default_factory, "=made_by"
            value = f"factory_{name}() if {name} is made_by else {name}"
        parameters.append(name + default)
        lines.append(f"set_(self, {name!r}, {value})")
    if hasattr(made, "__post_init__"):
        lines.append("self.__post_init__()")
    text = (
        f"def within({', '.join(names)}):\n"
        f" def __init__({', '.join(['self', *parameters])}):\n  "
        + "\n  ".join(lines or ["pass"])
        + "\n return __init__"
    )
    found: dict[str, Any] = {}
    # The globals are the module's, where typing looks up what the annotations name.
    exec(text, vars(sys.modules[made.__module__]), found)
    function = found["within"](**names)
    function.__qualname__ = f"{made.__qualname__}.__init__"
    function.__annotations__ = {**annotations, "return": None}
    return function


def _values(names: list[str]) -> Callable[[Any], tuple[object, ...]]:
    """The fields of an object as a tuple; attrgetter alone makes one of two and more."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple(getattr(value, name) for name in names)


def _equality(compared: Callable[[Any], tuple[object, ...]]) -> Callable[[Any, object], Any]:
    def equal(self: Any, other: object) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return compared(self) == compared(other)

    return equal


@reprlib.recursive_repr()
def _shown(self: Any) -> str:
    fields = [field.name for field in dataclasses.fields(self) if field.repr]
    shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in fields)
    return f"{self.__class__.__qualname__}({shown})"


def _set(self: Any, name: str, value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _delete(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


# Without these, pickle sets what is in slots one by one, which a frozen object refuses.
def _state(self: Any) -> list[object]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[object]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
