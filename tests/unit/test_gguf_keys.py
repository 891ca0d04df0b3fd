"""Keys of a GGUF file: what says nothing of ids comes back with its type and value.

What is wrong in a list is told with its place; the head comes in parts and is parsed once.
"""

from __future__ import annotations

import io
import json
import pickle
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpe_interop.errors import FormatError
from bpe_interop.formats.gguf.head import (
    HeadBytes,
    Typed,
    parse_head,
    read_head,
    rendered,
    typed_of,
)
from bpe_interop.formats.gguf.read import load
from bpe_interop.formats.gguf.write import dump, without_tensors
from bpe_interop.formats.huggingface.read import load as load_huggingface
from bpe_interop.formats.huggingface.write import dump as dump_huggingface
from bpe_interop.model import BPEModel
from fixtures import TOKENIZERS
from fixtures import gguf_models as made
from fixtures.file_formats import TO_CHAR

SOURCE = next((TOKENIZERS / "gguf-tiny/gguf").iterdir()).read_bytes()
KEY = "tokenizer.ggml.further"
CHAT = "tokenizer.chat_template"
NAMES = "tokenizer.chat_templates"
SPELLED = [TO_CHAR[byte] for byte in range(256)]


def model_with(**more: Typed) -> BPEModel:
    keys = {key: typed_of(entry) for key, entry in parse_head(SOURCE, "x").keys.items()}
    return load({"x.gguf": rendered({**keys, **more})})


def written(model: BPEModel) -> dict[str, Typed]:
    [data] = dump(model).values()
    return {key: typed_of(entry) for key, entry in parse_head(data, "x").keys.items()}


def test_a_role_of_an_ordinary_token_stays_its() -> None:
    """llama.cpp ends generation at any token that is named; no default takes its place."""
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "a"]
    types = [made.UNKNOWN, made.CONTROL, made.CONTROL, *[made.BYTE] * 256, made.NORMAL]
    for number in (259, 13, 2):
        named: made.Keys = {"tokenizer.ggml.eos_token_id": (made.UINT32, number)}
        model = load({"x.gguf": made.by_scores(tokens, types, [0.0] * len(tokens), named)})
        assert written(model)["tokenizer.ggml.eos_token_id"] == ("uint32", number)
        assert load(dump(model)).extras == model.extras


@pytest.mark.parametrize(
    "typed",
    [
        ("int32", -1),
        ("uint64", 1 << 40),
        ("int64", 5),
        ("uint8", 7),
        ("float64", 1e300),
        ("float64", 0.1),
        ("float32", float("nan")),
        ("float32", float("-inf")),
        ("bool", True),
        ("string", "bar é".encode()),
        ("array", ("int32", [3, -1])),
        ("array", ("string", [b"a", b""])),
        ("array", ("float32", [float("nan"), 1.0])),
    ],
)
def test_a_key_comes_back_as_it_was(typed: Typed) -> None:
    model = model_with(**{KEY: typed})
    again = written(model)[KEY]
    assert _bits(again) == _bits(typed)
    assert load(dump(model)).extras == model.extras


def _bits(typed: Typed) -> Any:
    kind, value = typed
    if kind == "array":
        return kind, value[0], [_bits((value[0], each)) for each in value[1]]
    return kind, struct.pack("<d", value) if isinstance(value, float) else value


def test_chat_templates_with_names_cross_the_formats() -> None:
    chats: dict[str, Typed] = {
        CHAT: ("string", b"D"),
        f"{CHAT}.tool_use": ("string", b"T"),
        f"{CHAT}.rag": ("string", b"R"),
        NAMES: ("array", ("string", [b"rag", b"tool_use"])),
    }
    model = model_with(**chats)
    files = dump_huggingface(model)
    config = json.loads(files["tokenizer_config.json"])
    assert {each["name"]: each["template"] for each in config["chat_template"]} == {
        "default": "D", "tool_use": "T", "rag": "R"
    }  # fmt: skip
    assert {key: written(model)[key] for key in chats} == chats
    there = load_huggingface(files)
    assert {key: written(there)[key] for key in chats} == chats


def test_a_list_of_names_of_another_order_is_kept() -> None:
    names: Typed = ("array", ("string", [b"tool_use", b"default"]))
    model = model_with(**{f"{CHAT}.tool_use": ("string", b"T"), NAMES: names})
    assert written(model)[NAMES] == names


def test_a_key_that_this_kind_does_not_read_is_kept() -> None:
    """llama.cpp's converter writes it into files of GPT-2's kind too."""
    letters = [TO_CHAR[byte] for byte in range(256)]
    key = "tokenizer.ggml.add_space_prefix"
    more: made.Keys = {key: (made.BOOL, False)}
    file = made.by_merges(letters, [made.NORMAL] * 256, [], "gpt-2", more)
    [again] = dump(load({"x.gguf": file})).values()
    assert parse_head(again, "x.gguf").keys[key].value is False


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
