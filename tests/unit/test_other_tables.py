"""Patterns of Python's ``regex`` converted: what its tables and misreadings change is a loss."""

from __future__ import annotations

from pathlib import Path

import pytest
import regex
import tokenizers
from test_prove_conditions import NEW_LETTER, by_regex

from bpe_interop import Tokenizer, convert, load
from bpe_interop.encode import Encoder
from bpe_interop.engines.choice import exact_engine, fastest_engine
from bpe_interop.errors import LossyConversionError
from bpe_interop.formats import by_name
from bpe_interop.formats.round_trip import RoundTrip
from bpe_interop.model import BPEModel
from bpe_interop.text.bytechars import BYTE_TO_CHAR

pytestmark = pytest.mark.usefixtures("few_texts")

LETTERS = r"\p{L}+|[^\p{L}]+"
TEXT = f".{NEW_LETTER}"
TARGETS = ("huggingface", "tiktoken", "tekken", "gguf")
MISREAD = ("[^a]|[^b]", r"[^\s\S]|b", r"(?i:k)?[^k]")


def by_tokenizers(pattern: str, *merges: str) -> BPEModel:
    """What :func:`by_regex` gives, but cut by tokenizers."""
    files = by_name("huggingface").dump(by_regex("(?:a|[^a])", *merges))
    data = files["tokenizer.json"].replace(b"(?:a|[^a])", pattern.replace("\\", "\\\\").encode())
    return by_name("huggingface").load({**files, "tokenizer.json": data})


def test_the_engines_differ() -> None:
    steps = tokenizers.pre_tokenizers.Split(tokenizers.Regex(LETTERS), "removed", invert=True)
    assert [piece for piece, _ in steps.pre_tokenize_str(TEXT)] == [TEXT]
    assert regex.findall(LETTERS, TEXT) == [".", NEW_LETTER]


@pytest.mark.parametrize("target", TARGETS)
def test_what_the_tables_change_is_a_loss(target: str) -> None:
    losses = RoundTrip(by_regex(LETTERS, TEXT), by_name(target)).losses
    assert any(
        loss.field == "pretokenizer" and loss.grade == "ids" and loss.witness == TEXT
        for loss in losses
    ), losses


@pytest.mark.parametrize("parts", [(46, 0xD5), (0x98, 46), (0xB3, 0xB3, 46, 0xD5)])
def test_parts_of_characters_show_it_too(parts: tuple[int, ...]) -> None:
    """A token with the first byte of such a letter, or its last, or more of others."""
    lines, left = ["minbpe v1", LETTERS, "0"], parts[0]
    for number, right in enumerate(parts[1:], 256):
        lines.append(f"{left} {right}")
        left = number
    model = by_name("minbpe").load({"t.model": "\n".join([*lines, ""]).encode()})
    files = by_name("huggingface").dump(model)
    [loss] = RoundTrip(model, by_name("huggingface")).losses
    assert loss.witness is not None
    engine = tokenizers.Tokenizer.from_str(files["tokenizer.json"].decode())
    assert Encoder(model).encode(loss.witness) != engine.encode(loss.witness).ids


@pytest.mark.long
@pytest.mark.parametrize("pattern", MISREAD)
@pytest.mark.parametrize("target", TARGETS)
def test_what_regex_misreads_is_a_loss(target: str, pattern: str) -> None:
    losses = RoundTrip(by_regex(pattern, "ab"), by_name(target)).losses
    assert any(loss.field == "pretokenizer" and loss.grade == "ids" for loss in losses), losses


@pytest.mark.parametrize(
    ("pattern", "token"), [(LETTERS, "ab"), ("[a-z]+|[^a-z]+", TEXT), ("", TEXT)]
)
@pytest.mark.parametrize("target", ["huggingface", "tiktoken", "tekken"])
def test_where_no_token_shows_it_nothing_is_lost(target: str, pattern: str, token: str) -> None:
    losses = RoundTrip(by_regex(pattern, token), by_name(target)).losses
    assert all(loss.field != "pretokenizer" for loss in losses), losses


def test_a_conversion_names_it_with_or_without_the_check(tmp_path: Path) -> None:
    source = tmp_path / "t.model"
    Tokenizer(by_regex(LETTERS, TEXT)).save(source, format="minbpe")
    for verify in (True, False):
        with pytest.raises(LossyConversionError, match="Unicode tables of another version"):
            convert(source, tmp_path / "out", "huggingface", verify=verify)
    convert(source, tmp_path / "out", "huggingface", drop=["pretokenizer"])
    engine = tokenizers.Tokenizer.from_file(str(tmp_path / "out" / "tokenizer.json"))
    assert (
        load(tmp_path / "out").encode(TEXT) == engine.encode(TEXT).ids != load(source).encode(TEXT)
    )


def test_into_minbpe_it_is_a_loss_too() -> None:
    losses = RoundTrip(by_tokenizers(LETTERS, TEXT), by_name("minbpe")).losses
    assert [loss.witness for loss in losses if loss.field == "pretokenizer"] == [TEXT]
    assert not RoundTrip(by_tokenizers(LETTERS, "ab"), by_name("minbpe")).losses


@pytest.mark.parametrize("name", ["tokenizers", "tiktoken"])
def test_no_engine_with_other_tables_is_taken_for_exact(name: str) -> None:
    model = by_regex(LETTERS, TEXT)
    with pytest.raises(LossyConversionError, match="cannot run this tokenizer exactly"):
        exact_engine(name, model)
    assert fastest_engine(model) is None
    assert exact_engine(name, by_regex(LETTERS, "ab")).encode("ab") == [256]
    assert len(BYTE_TO_CHAR) == 256
