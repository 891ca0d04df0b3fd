"""Frozen dataclasses, made in a tenth of the time that Python's own take.

Python writes the methods of each dataclass as source text and compiles it, half a millisecond
for a class, and imports ``inspect``: for the classes that a load needs, that is longer than to
read most files. Here all classes share their methods, which look up the fields in the class.
What is seldom asked for (``dataclasses.fields``, a signature, the words of an error) is asked of
Python's own dataclass, made then out of the same class.

Only what the package uses is here: ``frozen=True``, with or without ``slots`` and ``eq``, and
classes that add fields to one of ours. To a type checker these are Python's.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from dataclasses import dataclass, field, replace

__all__ = ["dataclass", "field", "replace"]

_NONE: Any = object()
"""That something was not given; None is a default that a field can have."""


class _Field:
    """What a class says of a field beside its name, as for ``dataclasses.field``."""

    __slots__ = ("compare", "default", "default_factory", "repr")

    def __init__(
        self,
        *,
        default: Any = _NONE,
        default_factory: Any = _NONE,
        repr: bool = True,
        compare: bool = True,
    ) -> None:
        self.default = default
        self.default_factory = default_factory
        self.repr = repr
        self.compare = compare


class _Shape:
    """What the methods of a class look up: its fields, and the class as it was written."""

    def __init__(self, written: type, *, slots: bool, eq: bool) -> None:
        self._written = written
        self._slots = slots
        self._eq = eq
        self.own: dict[str, _Field] = {}
        for name, annotation in written.__annotations__.items():
            if not annotation.startswith("ClassVar"):
                stated = vars(written).get(name, _NONE)
                self.own[name] = stated if isinstance(stated, _Field) else _Field(default=stated)
        above: _Shape | None = getattr(written, "__shape__", None)
        self.fields: dict[str, _Field] = {**above.fields, **self.own} if above else self.own
        self.names = (*self.fields,)
        self.is_checked = hasattr(written, "__post_init__")
        self.shown = [name for name, each in self.fields.items() if each.repr]
        self.all_of = _getter(self.names)
        self.compared_of = _getter([name for name, each in self.fields.items() if each.compare])

    @cached_property
    def python_class(self) -> Any:
        """Python's own dataclass out of the same class."""
        import dataclasses

        body = _body(self._written)
        for name, each in self.own.items():
            if isinstance(body.get(name), _Field):
                settings = {key: getattr(each, key) for key in _Field.__slots__}
                stated = {key: value for key, value in settings.items() if value is not _NONE}
                body[name] = dataclasses.field(**stated)
        same = type(self._written)(self._written.__name__, self._written.__bases__, body)
        return dataclasses.dataclass(frozen=True, slots=self._slots, eq=self._eq)(same)

    def values(self, given: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """The value of each field, in order, for what a caller gave; defaults where it did not.

        Raises:
            TypeError: what was given does not fit.
        """
        values = [*given]
        for name in self.names[len(given) :]:
            each = self.fields[name]
            if name in named:
                values.append(named.pop(name))
            elif each.default_factory is not _NONE:
                values.append(each.default_factory())
            elif each.default is not _NONE:
                values.append(each.default)
            else:
                break
        if named or len(values) != len(self.names):
            raise TypeError
        return (*values,)


class _AskedOfPython:
    """An attribute that Python's own dataclass has, made when somebody asks for it."""

    def __init__(self, ask: Callable[[Any], Any]) -> None:
        self._ask = ask

    def __get__(self, value: object, owner: Any) -> Any:
        return self._ask(owner.__shape__.python_class)


def _signature(python_class: Any) -> Any:
    from inspect import signature

    return signature(python_class)


def _getter(names: tuple[str, ...] | list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Gives the values of attributes; ``attrgetter`` gives a tuple of two or more only."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple([getattr(value, name) for name in names])


def _body(kind: type) -> dict[str, Any]:
    """What was written into a class, without the places that Python made for its attributes."""
    return {key: each for key, each in vars(kind).items() if key not in _PLACES}


_PLACES = {"__dict__", "__weakref__"}


def _init(self: Any, /, *given: Any, **named: Any) -> None:
    shape = type(self).__shape__
    if named or len(given) != len(shape.names):
        try:
            given = shape.values(given, dict(named))
        except TypeError:
            shape.python_class(*given, **named)  # raises, and says what does not fit
            raise
    _fill(self, given)
    if shape.is_checked:
        self.__post_init__()


def _fill(self: Any, values: tuple[Any, ...] | list[Any]) -> None:
    """Writes the fields of a new value; nothing else ever does."""
    for name, value in zip(type(self).__shape__.names, values, strict=True):
        object.__setattr__(self, name, value)


def _state(self: Any) -> list[Any]:
    """What is pickled of a value with slots, as Python's own dataclasses have it."""
    return [*type(self).__shape__.all_of(self)]


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{name}={getattr(self, name)!r}" for name in type(self).__shape__.shown)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _eq(self: Any, other: Any) -> object:
    if type(other) is not type(self):
        return NotImplemented
    compared_of = type(self).__shape__.compared_of
    return compared_of(self) == compared_of(other)


def _hash(self: Any) -> int:
    return hash(type(self).__shape__.compared_of(self))


def _refuse_to_set(self: object, name: str, value: object) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: object, name: str) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _replace(value: Any, /, **changes: Any) -> Any:
    """A copy with some fields changed, as ``dataclasses.replace``."""
    if not hasattr(value, "__shape__"):
        from dataclasses import replace

        return replace(value, **changes)
    shape = type(value).__shape__
    return type(value)(**dict(zip(shape.names, shape.all_of(value), strict=True)) | changes)


def _dataclass(
    *, frozen: Literal[True], slots: bool = False, eq: bool = True
) -> Callable[[type], type]:
    """Decorates a class, as ``dataclasses.dataclass(frozen=True)`` does."""

    def made(written: type) -> type:
        shape = _Shape(written, slots=slots, eq=eq)
        body = _body(written)
        for name, each in shape.own.items():
            if slots or each.default is _NONE:
                body.pop(name, None)
            else:
                body[name] = each.default
        methods: dict[str, Any] = {"__init__": _init, "__repr__": _repr, "__replace__": _replace}
        if eq:
            methods |= {"__eq__": _eq, "__hash__": _hash}
        if slots:
            methods |= {"__getstate__": _state, "__setstate__": _fill}
        asked = {
            "__shape__": shape,
            "__match_args__": shape.names,
            "__setattr__": _refuse_to_set,
            "__delattr__": _refuse_to_delete,
            "__dataclass_fields__": _AskedOfPython(lambda kind: kind.__dataclass_fields__),
            "__dataclass_params__": _AskedOfPython(lambda kind: kind.__dataclass_params__),
            "__signature__": _AskedOfPython(_signature),
        }
        places = {"__slots__": (*shape.own,)} if slots else {}
        return type(written)(written.__name__, written.__bases__, methods | body | asked | places)

    return made


if not TYPE_CHECKING:
    dataclass, field, replace = _dataclass, _Field, _replace
