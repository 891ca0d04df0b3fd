"""JSON read strictly: errors say which file and which path, and nothing is guessed.

Stricter than RFC 8259 asks: a key that appears twice in one object, ``NaN`` and ``Infinity``,
and a string that is not valid Unicode (a lone surrogate) are errors, because the readers in
other engines disagree about them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import chain
from typing import Any, Literal, NoReturn, TypeVar, cast, get_args, get_origin, get_type_hints

from .errors import FormatError, UnsupportedError
from .limits import JSON_NESTING
from .model import MAX_ID, Json
from .quoting import show

T = TypeVar("T")
_DIGITS = 20
"""More than any counted number has."""

_LONE = re.compile(
    r"\\u[dD](?:[89abAB]..(?!\\u[dD][c-fC-F])|(?<![^\\]\\u[dD][89abAB]..\\u[dD])[c-fC-F])"
)
"""Each lone surrogate; also a backslash by itself before what would be one."""

_NAMES: dict[type, str] = {
    dict: "an object",
    list: "an array",
    str: "a string",
    bool: "true or false",
    int: "an integer",
    float: "a number",
    type(None): "null",
}


class Node:
    """A JSON value, the file it stands in and its path there (``$.model.vocab``)."""

    __slots__ = ("file", "path", "value")

    def __init__(self, value: object, file: str, path: str = "$") -> None:
        self.value = cast(Any, value)
        self.file = file
        self.path = path

    @property
    def where(self) -> str:
        """The file and the path, for messages."""
        return f"{self.file}: {self.path}"

    def fail(self, what: str, *, fix: str = "") -> NoReturn:
        """Raises FormatError at this place."""
        raise FormatError(what, where=self.where, fix=fix)

    def refuse(self, what: str, *, fix: str = "") -> NoReturn:
        """Raises UnsupportedError at this place: well-formed, but not understood."""
        raise UnsupportedError(what, where=self.where, fix=fix)

    def be(self, kind: type[T]) -> T:
        """The value, which must be of this JSON type (a bool is not an integer)."""
        value = self.value
        if isinstance(value, kind) and not (kind is int and isinstance(value, bool)):
            return value
        other = _NAMES.get(type(value), "something else")
        return self.fail(f"expected {_NAMES[kind]}, found {other}")

    def __contains__(self, key: str) -> bool:
        return key in self.be(dict)

    def __getitem__(self, key: str) -> Node:
        value = self.be(dict)
        if key not in value:
            self.fail(f"the key {key!r} is missing")
        return Node(value[key], self.file, f"{self.path}.{key}")

    def get(self, key: str) -> Node:
        """The value under a key; a null where the key is absent."""
        return Node(self.be(dict).get(key), self.file, f"{self.path}.{key}")

    @property
    def given(self) -> bool:
        """Whether the value is there and is not null."""
        return self.value is not None

    def id(self) -> int:
        """The value, which must be an id: 32 unsigned bits."""
        number = self.be(int)
        if not 0 <= number <= MAX_ID:
            self.fail(f"{number} is not an id (0 to {MAX_ID})")
        return number

    def ids(self) -> dict[str, int]:
        """The value, which must be an object of texts with their ids, and not empty."""
        ids: dict[str, Any] = self.be(dict)
        if not ids:
            self.fail("the vocabulary is empty")
        numbers = ids.values()
        if set(map(type, numbers)) != {int} or min(numbers) < 0 or max(numbers) > MAX_ID:
            for text, number in ids.items():
                if type(number) is not int or not 0 <= number <= MAX_ID:
                    where = Node(number, self.file, f"{self.path}[{show(text)}]")
                    where.fail(f"expected an id (an integer from 0 to {MAX_ID})")
        return ids

    def items(self) -> Iterator[Node]:
        """The members of an array."""
        for index, value in enumerate(self.be(list)):
            yield Node(value, self.file, f"{self.path}[{index}]")

    def flag(self, key: str, default: bool | None = None) -> bool:
        """A boolean under a key; null and absent are the default, if there is one."""
        child = self.get(key)
        if not child.given:
            if default is None:
                self.fail(f"the key {key!r} is missing")
            return default
        return child.be(bool)

    def only(self, *known: str) -> dict[str, Json]:
        """Refuses unknown keys that say something; returns those that say nothing.

        A key that is not understood could change ids, so it is refused by its path, unless its
        value is null, false or empty.
        """
        idle: dict[str, Json] = {}
        for key, value in self.be(dict).items():
            if key in known:
                continue
            if value or (value == 0 and value is not False):
                Node(value, self.file, f"{self.path}.{key}").refuse(
                    "this key is not understood and could change the ids",
                    fix="remove the key if it has no meaning, or report the file that holds it",
                )
            idle[key] = value
        return idle

    def exactly(self, *known: str) -> None:
        """Refuses unknown keys, whatever they say: the engine loads no file that has one here."""
        for key, value in self.be(dict).items():
            if key not in known:
                Node(value, self.file, f"{self.path}.{key}").refuse(
                    "this key is not understood, and tokenizers loads no file that has it",
                    fix="remove the key",
                )


LATER = "later"
"""Marks in a field's metadata that an earlier version did not write it: it is as usual then."""


def read_as(kind: type[T], node: Node, *beside: str) -> T:
    """A dataclass out of an object that has its fields, as ``dataclasses.asdict`` writes them.

    Fields may be texts, numbers, truth values, dataclasses, literals, tuples, mappings from
    texts, counters of numbers, and None.

    Args:
        kind: the dataclass.
        node: the object.
        beside: keys that it has besides.

    Raises:
        FormatError: a field is missing that is not marked as :data:`LATER`, or one is no such
            value, or a key is not known.
    """
    forms = _forms_of(cast(Any, kind))
    for key in node.be(dict):
        if key not in forms and key not in beside:
            node.fail(f"the key {key!r} is not known")
    fields = getattr(kind, "__dataclass_fields__", {})
    return kind(
        **{
            name: _read(form, node[name])
            for name, form in forms.items()
            if name in node or LATER not in fields[name].metadata
        }
    )


@cache
def _forms_of(kind: type[Any]) -> Mapping[str, Any]:
    return get_type_hints(kind)


def _read(form: Any, node: Node) -> Any:
    """A value of a type, as far as :func:`read_as` knows types."""
    origin, inner = get_origin(form), get_args(form)
    if type(None) in inner:
        (only,) = (each for each in inner if each is not type(None))
        return _read(only, node) if node.given else None
    if origin is Literal:
        return node.value if node.value in inner else node.fail(f"{node.value!r} is not known")
    if origin is tuple and inner[-1] is ...:
        return tuple(_read(inner[0], each) for each in node.items())
    if origin is tuple:
        given = list(node.items())
        if len(given) != len(inner):
            node.fail(f"expected {len(inner)} members, found {len(given)}")
        return tuple(map(_read, inner, given))
    if origin is Counter:
        for key in node.be(dict):
            if not (key.isdecimal() and len(key) < _DIGITS):
                node.fail(f"the key {show(key[:_DIGITS])} is no number")
        return Counter({int(key): node[key].be(int) for key in node.be(dict)})
    if origin is Mapping:
        return {key: _read(inner[1], node[key]) for key in node.be(dict)}
    from dataclasses import is_dataclass

    if is_dataclass(form):
        return read_as(cast("type[Any]", form), node)
    return node.value if form is float and type(node.value) is int else node.be(form)


def check_schema(node: Node, known: int) -> None:
    """Refuses JSON of another version than the known one.

    Raises:
        FormatError: it is another.
    """
    schema = node["schema"].be(int)
    if schema != known:
        newer = "upgrade bpe-interop" if schema > known else "make it again"
        node.fail(f"its schema is {schema}, and this version reads {known}", fix=newer)


def parse(data: bytes, file: str, *, with_paths: bool = False) -> Node:
    """Parses a JSON document.

    Args:
        data: the document.
        file: its name, for messages.
        with_paths: whether strings may be paths, of which bytes that are no UTF-8 are half
            surrogate pairs, as Python has them (PEP 383).

    Raises:
        FormatError: the bytes are not UTF-8 or not JSON, a key appears twice in an object, or a
            string holds a lone surrogate.
    """
    if not data.strip():
        raise FormatError("the file is empty", where=file)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(
            f"not UTF-8: byte 0x{data[error.start]:02X} at offset {error.start}", where=file
        ) from None
    try:
        value = _values(text)
        if _LONE.search(text):
            errors = "surrogateescape" if with_paths else "strict"
            json.dumps(value, ensure_ascii=False).encode("utf-8", errors)
    except json.JSONDecodeError as error:
        raise FormatError(
            f"not JSON: {error.msg}",
            where=f"{file}: line {error.lineno}, column {error.colno}",
            fix="the file may be cut off; get it again" if error.pos >= len(text) - 1 else "",
        ) from None
    except UnicodeEncodeError:
        raise FormatError(
            "a string holds a lone surrogate (\\uD800 to \\uDFFF)", where=file
        ) from None
    except RecursionError:
        raise _too_deep(file) from None
    except _RepeatedKeyError as error:
        lines = [n for n, line in enumerate(text.splitlines(), 1) if error.spelled in line]
        at = f" (lines {', '.join(map(str, lines[:4]))})" if len(lines) > 1 else ""
        raise FormatError(
            f"the key {error.spelled} appears twice in one object{at}", where=file
        ) from None
    except ValueError as error:
        raise FormatError(f"not JSON: {error}", where=file) from None
    if _is_too_deep(value):
        raise _too_deep(file)
    return Node(cast(Json, value), file)


def _values(text: str) -> Any:
    return json.loads(
        text,
        object_pairs_hook=_unique,
        parse_constant=_no_constant,
        parse_int=_integer if "-0" in text else None,
    )


def _too_deep(file: str) -> FormatError:
    return FormatError(
        f"the JSON is nested too deeply: {JSON_NESTING.passed('it')}",
        where=file,
        fix="the file is damaged, or was made to harm",
    )


def _is_too_deep(value: object) -> bool:
    level: list[Any] = [value] if isinstance(value, (dict, list)) else []
    for _ in range(JSON_NESTING.most):
        inner = list(chain.from_iterable(v.values() if type(v) is dict else v for v in level))
        if set(map(type, inner)).isdisjoint((dict, list)):
            return False
        level = [v for v in inner if type(v) is dict or type(v) is list]
    return True


class _RepeatedKeyError(Exception):
    def __init__(self, key: str) -> None:
        self.spelled = json.dumps(key, ensure_ascii=False)


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    unique = dict(pairs)
    if len(unique) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _RepeatedKeyError(key)
            seen.add(key)
    return unique


def _integer(digits: str) -> float:
    """``-0`` is a float to the engines (serde_json), which no id, count or flag may be."""
    return -0.0 if digits == "-0" else int(digits)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
