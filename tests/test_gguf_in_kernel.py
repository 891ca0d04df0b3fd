"""The kernel reads the lists of a GGUF file as Python does, or leaves them to it."""

from __future__ import annotations

import io
import pickle
from itertools import pairwise

import pytest
from conftest import Data
from hypothesis import given
from hypothesis import strategies as st

from bpe_interop.diff import diff
from bpe_interop.errors import FormatError
from bpe_interop.formats.gguf import read as reading
from bpe_interop.formats.gguf.head import HeadBytes, parse_head, read_head
from bpe_interop.formats.gguf.read import load
from bpe_interop.formats.gguf.write import without_tensors
from bpe_interop.kernel import Numbers
from bpe_interop.model import BPEModel
from fixtures import gguf_models as made

SPELLED = [made.TO_CHAR[byte] for byte in range(256)]


def both(file: bytes, monkeypatch: pytest.MonkeyPatch) -> tuple[BPEModel, BPEModel]:
    """What the kernel's reader gives, where it gives anything, and what Python's gives."""
    first = load({"x.gguf": file})
    with monkeypatch.context() as patch:
        patch.setattr(reading, "taken", lambda *lists: None)
        return first, load({"x.gguf": file})


def alike(one: BPEModel, two: BPEModel) -> bool:
    return not diff(one, two) and [*one.vocab.ids.items()] == [*two.vocab.ids.items()]


@pytest.mark.parametrize("name", ["gpt-2", "deepseek-llm"])
def test_published_vocabularies(name: str, data: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    file = (data / f"gguf/ggml-vocab-{name}.gguf").read_bytes()
    one, two = both(file, monkeypatch)
    assert isinstance(one.vocab.ids, Numbers)
    assert alike(one, two)


HEADER = ["#version2"[:end] for end in range(2, 10)]
BUILT = [f"{a} {b[-1]}" for a, b in pairwise(["#", *HEADER])]

CASES = {
    "plain": (["ab", "abc"], ["a b", "ab c"], True),
    "no merges": (["ab"], [], False),
    "a merge twice": (["ab", "bc"], ["a b", "b c", "a b"], False),
    "a special token that is a product": (["<|", "<|a", "b"], ["< |", "<| a"], None),
    "special tokens": (["<|x|>", "ab", "<|y|>"], ["a b"], True),
    "spelled otherwise": (["\u4e2d", "ab"], ["a b"], True),
    "what begins as a header": (
        HEADER,
        [f"{a} {b[-1]}" for a, b in pairwise(["#", *HEADER])],
        False,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_regular_and_irregular_lists(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    more, merges, native = CASES[case]
    tokens = [*SPELLED, *(token for token in more if token not in SPELLED)]
    types = [made.CONTROL if token.startswith("<|") else made.NORMAL for token in tokens]
    one, two = both(made.by_merges(tokens, types, merges, "gpt-2"), monkeypatch)
    assert alike(one, two)
    if native is not None:
        assert isinstance(one.vocab.ids, Numbers) is native


def test_a_product_that_is_no_token_is_an_error() -> None:
    file = made.by_merges([*SPELLED, "abc"], [made.NORMAL] * 257, ["a b", "ab c"], "gpt-2")
    with pytest.raises(FormatError, match='needs the token "ab"'):
        load({"x.gguf": file})


@pytest.mark.parametrize("line", ["ab", "a b c", "a\nb c", "a\r b", "", "\u4e2d a", "a  b"])
def test_a_line_that_is_no_merge_is_an_error(line: str) -> None:
    file = made.by_merges([*SPELLED, "ab"], [made.NORMAL] * 257, ["a b", line], "gpt-2")
    with pytest.raises(FormatError, match=r"merges\[1\]"):
        load({"x.gguf": file})


def test_what_was_read_is_parsed_once_and_gives_the_same() -> None:
    file = made.by_merges([*SPELLED, "ab"], [made.NORMAL] * 257, ["a b"], "gpt-2")
    head = read_head(io.BytesIO(file + bytes(5_000_000)), "x.gguf")
    assert isinstance(head, HeadBytes)
    first, second = parse_head(head, "x.gguf"), parse_head(head, "x.gguf")
    assert first == second == parse_head(bytes(head), "x.gguf")
    assert first is not second
    assert without_tensors(head, "x.gguf") == without_tensors(bytes(head), "x.gguf")
    assert type(pickle.loads(pickle.dumps(head))) is bytes


@given(st.lists(st.integers(1, 60), min_size=1, max_size=6), st.integers(0, 9))
def test_a_head_that_comes_in_parts(sizes: list[int], seed: int) -> None:
    """Strings that are there are not read again where the next ones are fetched."""
    tokens = [f"{number}x" * (5_000 + seed) for number in range(sum(sizes))]
    file = made.by_merges(tokens, [made.NORMAL] * len(tokens), [], None)
    assert parse_head(read_head(io.BytesIO(file), "x"), "x") == parse_head(file, "x")
