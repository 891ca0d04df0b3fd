"""Small files that stand for much, and paths that the system refuses: one error, and at once."""

from __future__ import annotations

import base64
import io
import json
import random
import struct
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest

from bpe_interop.convert import convert
from bpe_interop.errors import FormatError, SourceError, TargetError, UnsupportedError
from bpe_interop.formats.gguf.head import read_head
from bpe_interop.formats.gguf.into import kept_of_file
from bpe_interop.formats.gguf.overlaps import overlaps
from bpe_interop.formats.minbpe.read import load as load_minbpe
from bpe_interop.formats.tekken.read import load as load_tekken
from bpe_interop.formats.tekken.write import dump as dump_tekken
from bpe_interop.io.host_file import ExistingFile
from bpe_interop.io.writer import check_file_target
from bpe_interop.sources import load_source
from bpe_interop.text.borders import borders
from fixtures import TOKENIZERS

SOURCE = next((TOKENIZERS / "gguf-tiny/gguf").iterdir())


def test_overlaps_are_those_of_the_definition() -> None:
    chosen = random.Random(5)
    for _ in range(300):
        count = chosen.randint(0, 7)
        texts = ["".join(chosen.choices("ab", k=chosen.randint(1, 5))) for _ in range(count)]
        expected = {
            (one, two)
            for one in texts
            for two in texts
            if one != two and not (len({*one}) == 1 and len({*two}) == 1)
            if any(one[-n:] == two[:n] for n in range(1, min(len(one), len(two))))
        }
        assert {*overlaps(texts)} == expected


def test_a_long_special_token_takes_no_memory() -> None:
    long = "".join(random.Random(5).choices("abc", k=10_000))
    tracemalloc.start()
    list(overlaps([long, "<s>"]))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1 << 20


class Counted:
    """A character that counts how often one is compared."""

    compared = 0

    def __init__(self, char: str) -> None:
        self.char = char

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return isinstance(other, Counted) and other.char == self.char


@pytest.mark.parametrize(("one", "two"), [("ab", "ba"), ("aa", "aa"), ("aab", "aaa")])
def test_long_texts_are_compared_in_linear_steps(one: str, two: str) -> None:
    for first, second in ((one, two), (two, one)):
        Counted.compared = 0
        texts = [tuple(map(Counted, text * 2_000)) for text in (first, second)]
        lengths = [*borders(*texts)]
        assert Counted.compared < 8 * len(texts[0])
        plain = first * 2_000, second * 2_000
        most = range(len(plain[0]) - 1, 0, -1)
        assert lengths == [n for n in most if plain[0].endswith(plain[1][:n])]


def test_very_long_special_tokens_are_compared_or_too_many() -> None:
    shared = "a" * 5_000 + "b"
    texts = [f"y{shared}", f"{shared}z", "zy"]
    expected = [(texts[0], texts[1]), (texts[1], texts[2]), (texts[2], texts[0])]
    assert [*overlaps(texts)] == expected
    with pytest.raises(UnsupportedError, match="limit OVERLAP_CHARACTERS"):
        [*overlaps([f"{number}{shared}" for number in range(60)])]


class Endless(io.BytesIO):
    """A file that goes on with zeros; it counts what is read."""

    taken = 0

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(size)
        self.taken += size or 0
        return data + bytes((size or 0) - len(data))


def test_a_length_in_a_list_of_strings_is_not_trusted() -> None:
    counts = struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1) + b"k"
    file = Endless(b"GGUF" + counts + struct.pack("<IIQ", 9, 8, 3) + struct.pack("<Q", 1 << 60))
    with pytest.raises(FormatError, match="limit GGUF_HEAD_BYTES"):
        read_head(file, "x.gguf")
    assert file.taken <= 1 << 20


def entry(rank: int, token: bytes) -> dict[str, object]:
    spelled = base64.b64encode(token).decode()
    text = token.decode() if token.isascii() else None
    return {"rank": rank, "token_bytes": spelled, "token_str": text}


BYTES = [entry(byte, bytes([byte])) for byte in range(256)]


def test_a_number_makes_no_millions_of_special_tokens() -> None:
    config = {
        "pattern": r"[\s\S]+",
        "num_vocab_tokens": 256,
        "default_vocab_size": 256 + 9_999_999,
        "default_num_special_tokens": 9_999_999,
        "version": "v13",
    }
    data = json.dumps({"config": config, "vocab": BYTES, "special_tokens": []}).encode()
    with pytest.raises(FormatError, match="SPECIAL_TOKENS"):
        load_tekken({"tekken.json": data})


def test_tokens_beyond_the_cut_of_a_bare_list_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bpe_interop.formats.tekken.read.BARE_SIZE", 1_000 + 257)
    vocab = [*BYTES, entry(256, b"ab"), entry(257, b"cd"), entry(258, b"ef")]
    model = load_tekken({"vocab.json": json.dumps(vocab).encode()})
    assert "2 of the 259 tokens are beyond" in model.origin.notes[-1]
    assert model.extras == {"bare list": {"beyond": ["Y2Q=", "ZWY="]}}
    assert load_tekken(dump_tekken(replace(model, pretokenizer=()))).vocab == model.vocab
    assert max(model.vocab.ids.values()) == 1_256


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        (["<a> 300", "<ab> 300"], "has the id of another one, 300"),
        (["<x 300", "<y> 301", "<x> 302"], '"<x" begins "<x>"'),
        (["<x> 300", "<y> 301", "<x> 302"], "appears twice"),
    ],
)
def test_special_tokens_of_minbpe(lines: list[str], what: str) -> None:
    text = "\n".join(["minbpe v1", "", str(len(lines)), *lines, ""])
    with pytest.raises(FormatError, match=what):
        load_minbpe({"x.model": text.encode()})


def test_paths_that_the_system_refuses(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="NUL"):
        convert(SOURCE, "a\0b", to="hf")
    with pytest.raises(TargetError, match="NUL"):
        check_file_target(Path("a\0b.md"))
    with pytest.raises(SourceError, match="NUL"):
        load_source("a\0b")
    with pytest.raises(SourceError):
        load_source("a" * 5_000)
    for force in (False, True):
        with pytest.raises(TargetError):
            convert(SOURCE, "b" * 5_000, to="hf", force=force)
    with pytest.raises(SourceError):
        convert(SOURCE, tmp_path / "new.gguf", into="c" * 5_000)

    def refused(self: Path) -> NoReturn:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "is_dir", refused)
    with pytest.raises(SourceError, match="Permission denied"):
        load_source(tmp_path / "closed" / "tokenizer.json")


class Broken(io.BytesIO):
    def read(self, size: int | None = -1) -> NoReturn:
        raise OSError(5, "Input/output error")


def test_a_read_error_is_told_of_the_file_that_is_read(tmp_path: Path) -> None:
    written = tmp_path / "new.gguf"
    written.write_bytes(b"begin")

    data = SOURCE.read_bytes()
    kept = kept_of_file(io.BytesIO(data), len(data), "old.gguf")
    old = tmp_path / "old.gguf"
    existing = ExistingFile(old, kept, Broken(), (0, 0))
    with pytest.raises(SourceError, match="Input/output error") as raised:
        existing.append(written)
    assert raised.value.where == str(old)
