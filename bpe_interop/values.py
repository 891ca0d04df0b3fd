"""``dataclass``, ``field`` and ``replace`` as those of ``dataclasses``, quickly made.

Python's own writes six methods of each class and compiles them: 0.4 ms for each class in every
process, which was a third of the time to load a tokenizer. Here a method is compiled when it is
first called, so a class takes 0.02 ms. To ``dataclasses`` these classes are dataclasses too
(``fields``, ``asdict``, ``replace``), and type checkers see Python's own.
"""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers take the name as True; to import typing takes longer
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from dataclasses import dataclass, field, replace
    from typing import Any, TypeAlias

    __all__ = ["dataclass", "field", "replace"]


class _Field:
    """The text of a field's type, and what ``dataclasses.field`` is given."""

    __slots__ = ("options", "type")

    def __init__(self, **options: object) -> None:
        self.options: dict[str, Any] = options
        self.type = ""


def _dataclass(
    cls: type | None = None, /, *, frozen: bool = False, slots: bool = False, eq: bool = True
) -> type | Callable[[type], type]:
    """Decorates a class, with options as those of ``dataclasses.dataclass``.

    It knows what this package uses: ``field``, ``__post_init__``, inheritance.
    """

    def made(cls: type) -> type:
        fields: dict[str, _Field] = {}
        for base in cls.__mro__[:0:-1]:
            fields |= vars(base).get("__value_fields__", {})
        for name, its_type in cls.__annotations__.items():
            default = vars(cls).get(name, _NOTHING)
            if not isinstance(default, _Field):
                default = _Field() if default is _NOTHING else _Field(default=default)
            fields[name], default.type = default, its_type
        own = {**vars(cls)}
        cls = _with_members(cls, fields, frozen=frozen, slots=slots, eq=eq)
        written = {"__init__": _write_init, "__repr__": _write_repr}
        if eq:
            written["__eq__"] = _write_eq
            if frozen:
                written["__hash__"] = _write_hash
        for name, write in written.items():
            if own.get(name) is None:
                _write_later(cls, name, write, fields)
        return cls

    return made if cls is None else made(cls)


def _with_members(
    cls: type, fields: dict[str, _Field], *, frozen: bool, slots: bool, eq: bool
) -> type:
    """The class with what needs no compiling; made anew, as only a new class gets slots."""
    members: dict[str, object] = {
        "__value_fields__": fields,
        "__match_args__": tuple(fields),
        **{name: _AsPythons(name) for name in ("__dataclass_fields__", "__signature__")},
        "__replace__": _replace,
    }
    if frozen:
        members |= {"__setattr__": _setattr, "__delattr__": _delattr}
    elif eq:
        members["__hash__"] = None
    own = {**vars(cls)}
    for name in ("__dict__", "__weakref__"):
        own.pop(name, None)
    for name in cls.__annotations__:
        own.pop(name, None)
        if not slots and "default" in fields[name].options:
            own[name] = fields[name].options["default"]
    if slots:
        own["__slots__"] = (*cls.__annotations__,)
        members |= {"__getstate__": _getstate, "__setstate__": _setstate}
    made = type(cls)(cls.__name__, cls.__bases__, {**members, **own})
    made.__qualname__ = cls.__qualname__
    return made


_Written: TypeAlias = tuple[str, str, dict[str, object]]
"""The parameters of a method, its text, and what its names stand for."""


def _write_init(fields: Mapping[str, _Field], cls: type) -> _Written:
    known: dict[str, object] = {"_absent": _NOTHING, "_set": object.__setattr__}
    parameters, lines = "self", ["pass"]
    for name, each in fields.items():
        value = name
        if "default" in each.options:
            known[f"_default_{name}"] = each.options["default"]
            parameters += f", {name}=_default_{name}"
        elif "default_factory" in each.options:
            known[f"_make_{name}"] = each.options["default_factory"]
            parameters += f", {name}=_absent"
            value = f"_make_{name}() if {name} is _absent else {name}"
        else:
            parameters += f", {name}"
        lines.append(f"_set(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    return parameters, "; ".join(lines), known


def _compared(fields: Mapping[str, _Field], owner: str) -> str:
    names = [name for name, each in fields.items() if each.options.get("compare", True)]
    return "(" + "".join(f"{owner}.{name}, " for name in names) + ")"


def _write_repr(fields: Mapping[str, _Field], cls: type) -> _Written:
    names = [name for name, each in fields.items() if each.options.get("repr", True)]
    parts = ", ".join(f"{name}={{self.{name}!r}}" for name in names)
    return "self", f"return f'{{type(self).__qualname__}}({parts})'", {}


def _write_eq(fields: Mapping[str, _Field], cls: type) -> _Written:
    same = f"{_compared(fields, 'self')} == {_compared(fields, 'other')}"
    text = f"return {same} if other.__class__ is self.__class__ else NotImplemented"
    return "self, other", text, {}


def _write_hash(fields: Mapping[str, _Field], cls: type) -> _Written:
    return "self", f"return hash({_compared(fields, 'self')})", {}


def _write_later(
    cls: type,
    name: str,
    write: Callable[[Mapping[str, _Field], type], _Written],
    fields: dict[str, _Field],
) -> None:
    """Gives a class a method that puts the compiled one in its own place when it is called."""

    def first(self: object, *given: object, **named: object) -> object:
        parameters, text, known = write(fields, cls)
        known["__name__"] = cls.__module__
        exec(f"def {name}({parameters}): {text}", known)
        method: Any = known[name]
        method.__qualname__ = f"{cls.__qualname__}.{name}"
        setattr(cls, name, method)
        return method(self, *given, **named)

    setattr(cls, name, first)


class _AsPythons:
    """An attribute by which ``dataclasses`` or ``inspect`` knows a class; made when asked for."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, value: object, owner: Any) -> object:
        import dataclasses
        import inspect

        fields = owner.__value_fields__.items()
        parts = [(name, each.type, dataclasses.field(**each.options)) for name, each in fields]
        twin: Any = dataclasses.make_dataclass(owner.__name__, parts)
        owner.__dataclass_fields__ = twin.__dataclass_fields__
        owner.__signature__ = inspect.signature(twin)
        return getattr(owner, self._name)


_NOTHING = object()


def _setattr(self: object, name: str, value: object) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _delattr(self: object, name: str) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _getstate(self: Any) -> list[object]:
    return [getattr(self, name) for name in self.__match_args__]


def _setstate(self: Any, state: list[object]) -> None:
    for name, value in zip(self.__match_args__, state, strict=True):
        object.__setattr__(self, name, value)


def _replace(value: object, /, **changes: object) -> object:
    names: tuple[str, ...] = getattr(value, "__match_args__", ())
    return type(value)(**{name: getattr(value, name) for name in names} | changes)


if not TYPE_CHECKING:
    dataclass, field, replace = _dataclass, _Field, _replace
