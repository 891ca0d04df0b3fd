"""GPT-2's byte alphabet against the engines that use it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import pre_tokenizers

from bpe_interop.text.bytechars import BYTE_TO_CHAR, CHAR_TO_BYTE, is_mapped, to_bytes, to_chars


def test_it_is_a_bijection_of_256_bytes() -> None:
    assert sorted(BYTE_TO_CHAR) == list(range(256))
    assert len(CHAR_TO_BYTE) == 256
    assert all(CHAR_TO_BYTE[char] == byte for byte, char in BYTE_TO_CHAR.items())


def test_it_is_the_alphabet_of_tokenizers() -> None:
    assert set(CHAR_TO_BYTE) == set(pre_tokenizers.ByteLevel.alphabet())


def test_it_is_the_map_of_transformers() -> None:
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    assert bytes_to_unicode() == BYTE_TO_CHAR


@pytest.mark.long
@given(st.text(max_size=20))
def test_it_spells_as_the_byte_level_pre_tokenizer(text: str) -> None:
    engine = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    spelled = "".join(part for part, _ in engine.pre_tokenize_str(text))
    assert to_chars(text.encode()) == spelled


@given(st.binary())
def test_bytes_come_back(content: bytes) -> None:
    assert to_bytes(to_chars(content)) == content
    assert is_mapped(to_chars(content))


@pytest.mark.parametrize("char", [chr(c) for c in range(0x250) if chr(c) not in CHAR_TO_BYTE])
def test_other_characters_are_refused(char: str) -> None:
    assert not is_mapped("a" + char)
    with pytest.raises(ValueError, match=f"U\\+{ord(char):04X}"):
        to_bytes("a" + char)


@pytest.mark.parametrize("char", ["\uffff", "\U0001f600", "▁"])
def test_far_characters_are_refused(char: str) -> None:
    assert not is_mapped(char)
    with pytest.raises(ValueError, match="byte alphabet"):
        to_bytes(char)
