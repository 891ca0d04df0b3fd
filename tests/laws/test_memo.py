"""What is worked out once for a frozen value, and that nothing else remembers or changes one."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from weakref import ref

import pytest
from test_structure import PACKAGE, offenders

from bpe_interop import model as model_module
from bpe_interop.errors import InvalidModelError
from bpe_interop.memo import Memo
from bpe_interop.merging.canonical import canonical
from bpe_interop.model import BPEModel, PairList, RankTable, Vocab


@dataclass(frozen=True)
class Number:
    value: int


def test_an_answer_is_worked_out_once_for_each_value_and_not_for_its_equals() -> None:
    asked: list[Number] = []

    @Memo
    def twice(number: Number) -> int:
        asked.append(number)
        return 2 * number.value

    one, other = Number(1), Number(1)
    assert not twice.known(one)
    assert [twice(one), twice(one), twice(other)] == [2, 2, 2]
    assert [id(number) for number in asked] == [id(one), id(other)]
    assert twice.known(one)


def test_an_answer_that_is_none_is_remembered_too() -> None:
    asked: list[Number] = []
    nothing = Memo[Number, None](asked.append)
    one = Number(1)
    nothing(one)
    nothing(one)
    assert asked == [one]


def test_an_answer_goes_with_its_value_and_none_is_given_to_the_next() -> None:
    answer = Memo[Number, list[int]](lambda number: [number.value])
    for value in range(100):  # they stand, one after the other, at the same address
        assert answer(Number(value)) == [value]
    kept = Number(7)
    held = ref(kept)
    answer(kept)
    del kept
    gc.collect()
    assert held() is None
    assert answer._answers == {}


def test_what_was_found_by_another_way_is_kept() -> None:
    answer = Memo[Number, int](lambda number: pytest.fail("is known"))
    one = Number(1)
    answer.keep(one, 5)
    assert answer(one) == 5


def test_a_model_and_its_canonical_form_are_forgotten_together() -> None:
    model = BPEModel(Vocab({b"a": 0, b"b": 1, b"ab": 2}), RankTable({b"ab": 0}))
    assert canonical(model).splits == {b"ab": (b"a", b"b")}
    assert canonical.known(model)
    held = ref(model)
    del model
    gc.collect()
    assert held() is None


def test_a_list_of_merges_is_not_seen_again_where_the_vocabulary_is_the_same() -> None:
    vocab = Vocab({b"a": 0, b"b": 1, b"ab": 2})
    model = BPEModel(vocab, PairList(((b"a", b"b"),)))
    assert isinstance(model.merges, PairList)
    assert model_module._fitting_vocab(model.merges) is vocab
    assert replace(model, lookup_first=True).merges is model.merges
    with pytest.raises(InvalidModelError, match="needs the token"):
        replace(model, vocab=Vocab({b"a": 0, b"b": 1}))


def test_an_answer_that_outlived_its_value_is_not_that_of_another() -> None:
    """An interrupt while an answer is forgotten leaves it there, and identities come again."""
    twice = Memo[Number, int](lambda number: 2 * number.value)
    old, new = Number(1), Number(2)
    assert twice(old) == 2
    twice._answers[id(new)] = twice._answers[id(old)]
    assert not twice.known(new)
    assert twice(new) == 4
    assert twice.known(new)


AS_TIKTOKEN = {PACKAGE / "tiktoken" / "registry.py"}
"""``ENCODING_CONSTRUCTORS`` is None until it is asked for: code that replaces it expects that."""


def other_memories(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Global) and path not in AS_TIKTOKEN:
            yield f"global in line {node.lineno}"
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "object.__setattr__":
            yield f"object.__setattr__ in line {node.lineno}"
        if isinstance(node, ast.ImportFrom):
            yield from {"WeakKeyDictionary", "WeakValueDictionary"} & {a.name for a in node.names}


def test_no_frozen_value_is_changed_and_nothing_else_remembers_models() -> None:
    assert offenders(other_memories) == []
