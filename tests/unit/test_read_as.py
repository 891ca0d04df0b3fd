"""JSON as dataclasses: what was written is read again, and nothing else."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpe_interop.errors import FormatError
from bpe_interop.strict_json import parse, read_as


@dataclass(frozen=True)
class Inner:
    name: str
    sizes: tuple[int, ...]
    pair: tuple[str, bool] | None


@dataclass(frozen=True)
class Outer:
    kind: Literal["one", "two"]
    share: float | None
    inner: Inner
    rows: tuple[Inner, ...]
    by_name: Mapping[str, Inner]
    times: Counter[int]


FINITE = st.floats(allow_nan=False, allow_infinity=False)
WHOLE = st.builds(
    Outer,
    share=st.none() | FINITE,
    by_name=st.dictionaries(st.text(), st.builds(Inner)),
    times=st.builds(Counter, st.dictionaries(st.integers(0, 1 << 60), st.integers())),
)


@given(WHOLE)
def test_what_was_written_is_read_again(value: Outer) -> None:
    data = json.dumps({**asdict(replace(value, times=Counter())), "times": value.times})
    assert read_as(Outer, parse(data.encode(), "f")) == value


INNER = {"name": "n", "sizes": [1, 2], "pair": ["a", True]}
OUTER = {
    "kind": "one",
    "share": 1,
    "inner": INNER,
    "rows": [INNER],
    "by_name": {"x": INNER},
    "times": {"1": 2},
}


@pytest.mark.parametrize(
    ("key", "value", "where", "what"),
    [
        ("kind", "three", "$.kind", "'three' is not known"),
        ("share", "1", "$.share", "expected a number, found a string"),
        ("inner", {**INNER, "more": 1}, "$.inner", "the key 'more' is not known"),
        ("inner", {"name": "n"}, "$.inner", "the key 'sizes' is missing"),
        ("inner", {**INNER, "sizes": [True]}, "$.inner.sizes[0]", "expected an integer"),
        ("inner", {**INNER, "pair": ["a"]}, "$.inner.pair", "expected 2 members, found 1"),
        ("rows", [INNER, 1], "$.rows[1]", "expected an object, found an integer"),
        ("times", {"-1": 1}, "$.times", 'the key "-1" is no number'),
        ("times", {"1" * 5000: 1}, "$.times", "is no number"),
        ("by_name", [INNER], "$.by_name", "expected an object, found an array"),
        ("by_name", {"x": {**INNER, "name": None}}, "$.by_name.x.name", "found null"),
    ],
)
def test_nothing_else_is(key: str, value: object, where: str, what: str) -> None:
    assert read_as(Outer, parse(json.dumps(OUTER).encode(), "f")).share == 1
    with pytest.raises(FormatError) as raised:
        read_as(Outer, parse(json.dumps({**OUTER, key: value}).encode(), "f"))
    assert raised.value.where == f"f: {where}"
    assert what in raised.value.what


def test_keys_beside_the_fields_are_named() -> None:
    node = parse(json.dumps({**OUTER, "schema": 1}).encode(), "f")
    assert read_as(Outer, node, "schema").kind == "one"
    with pytest.raises(FormatError, match="'schema' is not known"):
        read_as(Outer, node)
