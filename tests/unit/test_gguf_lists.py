"""The lists of a GGUF file: what is wrong in them is told with its place."""

from __future__ import annotations

import io
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpe_interop.errors import FormatError
from bpe_interop.formats.gguf.head import HeadBytes, parse_head, read_head
from bpe_interop.formats.gguf.read import load
from bpe_interop.formats.gguf.write import without_tensors
from fixtures import gguf_models as made
from fixtures.file_formats import TO_CHAR

SPELLED = [TO_CHAR[byte] for byte in range(256)]


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
