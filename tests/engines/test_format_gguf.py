"""GGUF: the head of the file, what its keys mean, and llama.cpp itself beside it."""

from __future__ import annotations

import io
import random
import re
import struct
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from conftest import Data
from in_llama_cpp import ids_in_each

from bpe_interop import Statement
from bpe_interop.compare.stress import awkward
from bpe_interop.convert import convert
from bpe_interop.encode import Encoder
from bpe_interop.engines.llamacpp import LlamaCppEngine
from bpe_interop.engines.llamacpp import read as from_llama_cpp
from bpe_interop.errors import (
    EngineError,
    FormatError,
    LossyConversionError,
    UnsupportedError,
)
from bpe_interop.formats.gguf.head import parse_head, read_head
from bpe_interop.formats.gguf.read import load
from bpe_interop.formats.gguf.splitters import SPLITTERS
from bpe_interop.formats.gguf.write import dump, without_tensors
from bpe_interop.limits import GGUF_HEAD_BYTES
from bpe_interop.model import BPEModel
from fixtures import TOKENIZERS
from fixtures import gguf_models as made
from fixtures.file_formats import TO_CHAR
from fixtures.newer_code_points import NEWER, has_newer

BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def read(file: bytes) -> BPEModel:
    return load({"tiny.gguf": file})


def by_scores(
    more: list[tuple[str, int, float]], keys: made.Keys | None = None, name: str = "tiny"
) -> bytes:
    """SentencePiece's kind: unk, bos, eos, the bytes, then some tokens."""
    rows = [("<unk>", made.UNKNOWN, 0.0), ("<s>", made.CONTROL, 0.0), ("</s>", made.CONTROL, 0.0)]
    rows += [(text, made.BYTE, 0.0) for text in BYTES] + more
    tokens, types, scores = zip(*rows, strict=True)
    return made.by_scores(tokens, types, scores, keys, name)


def by_merges(
    tokens: list[str], merges: list[str], pre: str | None = "gpt-2", keys: made.Keys | None = None
) -> bytes:
    """GPT-2's kind: the bytes, then some tokens; those in angle brackets are control tokens."""
    every = [TO_CHAR[byte] for byte in range(256)] + tokens
    types = [made.CONTROL if token.startswith("<|") else made.NORMAL for token in every]
    return made.by_merges(every, types, merges, pre, keys)


def agree(file: bytes, texts: list[str]) -> None:
    """Our encoder gives each text the ids that llama.cpp gives, specials parsed and not."""
    encoder, engine = Encoder(read(file)), LlamaCppEngine(file)
    for text, ids in zip(texts, engine.encode_batch(texts), strict=True):
        assert encoder.encode(text) == ids, text
    for text, ids in zip(texts, engine.encode_batch(texts, special="parse"), strict=True):
        assert encoder.encode(text, "all") == ids, text


# What llama.cpp does.


@pytest.mark.parametrize("name", ["gpt-2", "llama-spm", "phi-3", "falcon", "deepseek-llm"])
def test_published_vocabularies_and_their_vectors(name: str, data: Data) -> None:
    file = (data / f"gguf/ggml-vocab-{name}.gguf").read_bytes()
    texts = (data / f"gguf/ggml-vocab-{name}.gguf.inp").read_bytes().decode("utf-8")
    lines = (data / f"gguf/ggml-vocab-{name}.gguf.out").read_text("ascii").split("\n")
    encoder = Encoder(read(file))
    engine = LlamaCppEngine(file)
    cases = texts.split("\n__ggml_vocab_test__\n")
    assert len(cases) == 47
    for text, line in zip(cases, lines, strict=False):
        ids = [int(number) for number in line.split()]
        assert encoder.encode(text) == ids
        assert engine.encode(text) == ids
    texts_known = [text for text in dict.fromkeys(awkward(read(file))) if not has_newer(text)]
    agree(file, texts_known[::64])


def test_classes_differ_for_the_characters_that_unicode_16_added() -> None:
    """Each code point after a letter, a digit and a mark, which show its class."""
    every = [TO_CHAR[byte] for byte in range(256)]
    leads = [TO_CHAR[byte] for byte in range(0xC2, 0xF5)]
    merges = [f"{probe} {lead}" for probe in "a1!" for lead in leads]
    tokens = every + [merge.replace(" ", "") for merge in merges]
    file = made.by_merges(tokens, [made.NORMAL] * len(tokens), merges, "gpt-2")
    encoder, engine = Encoder(read(file)), LlamaCppEngine(file)
    newer = [code for first, last in NEWER for code in range(first, last + 1)]
    beside = [code + step for pair in NEWER for code, step in zip(pair, (-1, 1), strict=True)]
    assert len(newer) == 5_185
    known = [code for code in beside if not has_newer(chr(code))]
    other = set()
    for code in [*newer[::40], *known, *range(0xA0, 0x3000, 41)]:
        texts = [probe + chr(code) for probe in "a1!"]
        if [encoder.encode(text) for text in texts] != engine.encode_batch(texts):
            other.add(code)
    assert other <= {*newer}
    assert len(other) > 100


SPLIT = "aZs'S \n\r1.~$/\u00e9\u00b2\u4e2d\u0301\u3000\u00a0\u017f`|(,-"
DIFFERENT = {row.patterns: name for name, row in reversed([*SPLITTERS.items()])}
"""One name for each splitter."""


@pytest.mark.long
@pytest.mark.parametrize("name", DIFFERENT.values())
def test_splitters_cut_as_llama_cpp_does(name: str) -> None:
    file = made.every_string(SPLIT, 2, name)
    rng = random.Random(3)
    texts = ["".join(letters) for letters in product(SPLIT, repeat=2)]
    texts += ["".join(rng.choice(SPLIT) for _ in range(3 + n % 6)) for n in range(300)]
    encoder, engine = Encoder(read(file)), LlamaCppEngine(file)
    # No token is special, so parsing them would cut the same again.
    for text, ids in zip(texts, engine.encode_batch(texts), strict=True):
        assert encoder.encode(text) == ids, text


@pytest.mark.long
def test_every_name_is_known_to_llama_cpp(tmp_path: Path) -> None:
    no_bos: made.Keys = {"tokenizer.ggml.add_bos_token": (made.BOOL, False)}
    files = [by_merges([], [], name, no_bos) for name in SPLITTERS]
    expected = [Encoder(read(file)).encode("ab") for file in files]
    assert ids_in_each("ab", files, tmp_path) == expected


def test_a_file_without_a_splitter_takes_the_default() -> None:
    file = by_merges(["ab"], ["a b"], None)
    model = read(file)
    assert model.pretokenizer == SPLITTERS["default"].steps
    assert any("'default'" in note for note in model.origin.notes)
    agree(file, ["ab", "ab12345", "a$b", "$$ab"])


def test_the_first_of_two_equal_merges_counts() -> None:
    file = by_merges(["ab", "bc"], ["a b", "b c", "a b"])
    agree(file, ["abc", "bc", "aabcc"])
    assert Encoder(read(file)).encode("abc") == [256, ord("c")]


def test_a_byte_that_is_no_token_vanishes() -> None:
    every = [TO_CHAR[byte] for byte in range(256) if byte != ord("b")]
    file = made.by_merges([*every, "ac"], [made.NORMAL] * 256, ["a c"], "gpt-2")
    agree(file, ["abc", "b", "ac", "aabbcc"])


def test_the_longest_special_token_is_found_first() -> None:
    file = by_merges(["<|a|>", "<|b|>x", "<|>"], [], keys=None)
    agree(file, ["<|a|>", "<|a|><|b|>x", "<|<|>|a|>"])
    overlapping = by_merges(["<|ab", "<|bcd"], [])
    agree(overlapping, ["<|ab<|bcd"])
    types = [made.NORMAL] * 256 + [made.USER_DEFINED] * 2
    every = [TO_CHAR[byte] for byte in range(256)]
    overlapping = made.by_merges([*every, "xy", "yzz"], types, [], "gpt-2")
    agree(overlapping, ["xyzz", "xyz", "yzzxy", "xyxyzz"])


def test_space_again_after_every_special_token() -> None:
    rows = [("\u2581a", made.NORMAL, -1.0), ("a", made.NORMAL, -2.0), ("\u2581", made.NORMAL, -3.0)]
    rows.append(("<tool>", made.USER_DEFINED, 0.0))
    file = by_scores(rows)
    agree(file, ["a", " a", "a<tool>a", "<s>a</s>a", "<s> a", "", " ", "\u4e2d"])
    agree(by_scores(rows, {"tokenizer.ggml.add_space_prefix": (made.BOOL, False)}), ["a", "<s>a"])


def test_a_special_token_that_merging_builds() -> None:
    rows = [("a", made.NORMAL, -9.0), ("x", made.CONTROL, 0.0), ("ab", made.CONTROL, -1.0)]
    file = by_scores([*rows, ("b", made.NORMAL, -9.0)])
    agree(file, ["x", "axb", "ab", "aabx"])
    assert Encoder(read(file)).encode("x")[-1] == 260


def test_both_zeros_are_a_tie() -> None:
    rows = [("a", made.NORMAL, -9.0), ("b", made.NORMAL, -9.0)]
    for first, second in ((0.0, -0.0), (-0.0, 0.0)):
        tied = [("aa", made.NORMAL, first), ("ba", made.NORMAL, second)]
        agree(by_scores(rows + tied), ["baa", "aab", "abaa", "aabaab"])


def test_phi_3_takes_ascii_space_behind_a_special_token() -> None:
    rows = [("a", made.NORMAL, -9.0), ("<|end|>", made.CONTROL, 0.0)]
    file = by_scores([*rows, ("<|endoftext|>", made.CONTROL, 0.0)], name="Phi-3 mini")
    agree(file, ["<|end|> \n a", "<|end|>\u00a0a", "<|end|>\x1ca", "<|endoftext|> a", "</s> a"])
    agree(by_scores(rows), ["<|end|> a"])


def test_phi_3_takes_along_the_space_that_another_token_begins_with() -> None:
    """The longest is found first, and then its white space is gone; of equally long ones, which?"""
    rows = [("a", made.NORMAL, -9.0), ("<|end|>", made.CONTROL, 0.0)]
    rows.append(("<|endoftext|>", made.CONTROL, 0.0))
    for text in ("  a", "   ", "        a"):
        file = by_scores([*rows, (text, made.USER_DEFINED, 0.0)], name="Phi-3 mini")
        agree(file, ["<|end|>  a", f"<|end|>{text}", f"</s>{text}a", 3 * text, f"<s>{text} {text}"])
    file = by_scores([*rows, ("  aa", made.USER_DEFINED, 0.0)], name="Phi-3 mini")
    with pytest.raises(UnsupportedError, match="equally long"):
        read(file)


def test_spellings_that_are_made_control_tokens() -> None:
    every = [TO_CHAR[byte] for byte in range(256)]
    words = ["<|im_end|>", "<|fim_prefix|>", "<|channel|>", "<|end|>", "<|return|>", "<|call|>"]
    for kind in (made.NORMAL, made.USER_DEFINED, made.CONTROL):
        file = made.by_merges([*every, *words], [made.NORMAL] * 256 + [kind] * 6, [], "gpt-2")
        agree(file, [*words, "a<|im_end|>b", "<|channel|><|end|>"])


def test_a_crash_of_the_engine_is_told_and_it_goes_on() -> None:
    engine = LlamaCppEngine(by_merges(["ab"], ["a b"], "gpt-4o"))
    with pytest.raises(EngineError, match=r"llama\.cpp crashed \(signal 11\) on the text"):
        engine.encode("a" * 300_000)
    assert engine.encode("ab") == [256]


# Writing.


def test_written_again_it_has_the_same_keys(data: Data) -> None:
    for name in ("gpt-2", "llama-spm", "phi-3", "falcon"):
        file = (data / f"gguf/ggml-vocab-{name}.gguf").read_bytes()
        model = read(file)
        [written] = dump(model).values()
        again = parse_head(written, "again").keys
        for key, found in parse_head(file, "first").keys.items():
            if key.startswith("tokenizer."):
                one: Any = again[key].value
                other: Any = found.value
                assert list(one) == list(other) if found.members else one == other, key


def test_every_chat_template_stays() -> None:
    named = {"tool_use": "{{ tools }}", "rag": "{{ documents }}"}
    more: dict[str, tuple[int, Any]] = {
        "tokenizer.chat_template": (made.STRING, "{{ messages }}"),
        "tokenizer.chat_templates": (made.ARRAY, (made.STRING, [*named])),
    }
    more |= {f"tokenizer.chat_template.{key}": (made.STRING, text) for key, text in named.items()}
    spelled = [TO_CHAR[byte] for byte in range(256)]
    file = made.by_merges([*spelled, "ab"], [made.NORMAL] * 257, ["a b"], "gpt-2", more)
    [again] = dump(read(file)).values()
    before, after = (parse_head(data, "x.gguf").keys for data in (file, again))
    assert all("no eos token is named" in note for note in read(file).origin.notes)
    assert {key: after[key].value for key in more} == {key: before[key].value for key in more}


def test_the_head_alone_is_what_the_engine_loads() -> None:
    head = by_merges(["ab"], ["a b"])
    file = head[:8] + struct.pack("<Q", 5) + head[16:] + b"tensors and much more"
    assert without_tensors(file, "a.gguf") == head
    assert from_llama_cpp({"a.gguf": file}, None).encode("ab") == [256]


@pytest.mark.usefixtures("few_texts")
@pytest.mark.long
def test_a_conversion_is_one_file_proved_in_llama_cpp(tmp_path: Path) -> None:
    done = convert(TOKENIZERS / "gpt2-tiny/huggingface", tmp_path / "mine.gguf")
    assert done.files == ("mine.gguf",)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.gguf"]
    assert done.report is not None
    assert (done.report.verdict, done.report.scope) == ("proved", "all")
    assert any(check.engine == "llama.cpp" and check.texts for check in done.report.checks)


def test_a_splitter_that_no_name_has_is_refused_with_the_nearest(tmp_path: Path) -> None:
    source = TOKENIZERS / "o200k-tiny/tiktoken"
    with pytest.raises(LossyConversionError) as refused:
        convert(source, tmp_path / "mine.gguf", said=Statement(template="none"))
    said = str(refused.value)
    assert "pretokenizer" in {loss.field for loss in refused.value.losses}
    # Under the nearest names case is ASCII's.
    assert re.search(
        r'granite-embed-multi-97m (cuts ".+?" differently|gives ".+?" other ids)', said
    )


# The head.


def test_only_the_head_of_a_large_file_is_read() -> None:
    head = by_merges(["ab"], ["a b"])

    class Endless(io.BytesIO):
        """A file whose tensors never end, and that counts what is read of it."""

        taken = 0

        def read(self, size: int | None = -1) -> bytes:
            assert size is not None
            assert size >= 0
            self.taken += size
            part = super().read(size)
            return part + bytes(size - len(part))

    file = Endless(head)
    assert read_head(file, "large.gguf") == head
    assert file.taken <= 1 << 21


@pytest.mark.parametrize("size", [0, 3, 4, 8, 23, 24, 40, 500])
def test_a_head_that_is_cut_off(size: int) -> None:
    head = by_merges(["ab"], ["a b"])[:size]
    with pytest.raises(FormatError, match=r"cut off|does not begin with GGUF|the file ends after"):
        read_head(io.BytesIO(head), "cut.gguf")
    with pytest.raises(FormatError):
        load({"cut.gguf": head})


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 2**63), "limit GGUF_KEYS"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 2**63), "a length of"),
        (b"GGUF" + struct.pack("<IQQ", 9, 0, 0), "the version of the file is 9"),
        (made.gguf({"a": (made.BOOL, True)})[:-1] + b"\x02", "a bool must be 0 or 1"),
        (
            made.gguf({"a": (made.ARRAY, (made.STRING, []))})[:-8] + struct.pack("<Q", 2**60),
            "a length of",
        ),
        (
            made.gguf({"a": (made.ARRAY, (made.UINT32, []))})[:-12] + struct.pack("<IQ", 9, 1),
            "an array of arrays",
        ),
        (made.gguf({"a": (made.UINT32, 1)})[:-8] + struct.pack("<II", 77, 1), "type 77"),
    ],
)
def test_what_no_head_is(data: bytes, what: str) -> None:
    with pytest.raises((FormatError, UnsupportedError), match=what):
        parse_head(data, "odd.gguf")
    assert len(data) < GGUF_HEAD_BYTES.most


def test_a_big_endian_head() -> None:
    little = parse_head(made.gguf({"a": (made.UINT32, 5), "b": (made.STRING, "x")}), "a")
    swapped = b"GGUF" + struct.pack(">IQQ", 3, 0, 2)
    swapped += struct.pack(">Q", 1) + b"a" + struct.pack(">II", 4, 5)
    swapped += struct.pack(">Q", 1) + b"b" + struct.pack(">IQ", 8, 1) + b"x"
    big = parse_head(swapped, "b")
    assert (big.order, big.keys) == ("big", little.keys)


# What is refused.


def _changed(key: str, value: Any) -> Callable[[], bytes]:
    return lambda: by_merges(["ab"], ["a b"], keys={key: value})


@pytest.mark.parametrize(
    ("file", "what"),
    [
        (lambda: made.gguf({}), "the key is missing: there is no tokenizer"),
        (_changed("tokenizer.ggml.model", (made.STRING, "bert")), "WordPiece"),
        (_changed("tokenizer.ggml.model", (made.STRING, "bert")), "run the file in the library"),
        (_changed("tokenizer.ggml.model", (made.STRING, "none")), "a tokenizer.json for example"),
        (
            _changed("tokenizer.ggml.model", (made.STRING, "rwkv")),
            "verify A B --engine-a llama.cpp",
        ),
        (_changed("tokenizer.ggml.model", (made.STRING, "new")), '"new" is not known'),
        (_changed("tokenizer.ggml.model", (made.STRING, "new")), "upgrade bpe-interop"),
        (_changed("tokenizer.ggml.model", (made.UINT32, 3)), "expected string, found uint32"),
        (_changed("tokenizer.ggml.pre", (made.STRING, "gpt-9")), 'llama.cpp knows no "gpt-9"'),
        (_changed("tokenizer.ggml.pre", (made.STRING, "whitespace")), "is not read"),
        (
            _changed("tokenizer.ggml.tokens", (made.ARRAY, (made.STRING, ["a", "b", "a"]))),
            'the token "a" is already there',
        ),
        (_changed("tokenizer.ggml.tokens", (made.ARRAY, (made.STRING, []))), "there are no tokens"),
        (
            _changed("tokenizer.ggml.tokens", (made.ARRAY, (made.INT32, [1]))),
            "expected an array of string, found int32",
        ),
        (
            _changed("tokenizer.ggml.token_type", (made.ARRAY, (made.INT32, [1]))),
            "1 types for 257 tokens",
        ),
        (
            _changed("tokenizer.ggml.merges", (made.ARRAY, (made.STRING, ["ab"]))),
            "expected two tokens in GPT-2's byte alphabet",
        ),
        (
            _changed("tokenizer.ggml.merges", (made.ARRAY, (made.STRING, ["a c"]))),
            'needs the token "ac"',
        ),
        (
            lambda: by_scores([("a", made.NORMAL, float("nan"))]),
            "the score is no number",
        ),
        (
            lambda: made.by_scores(["<unk>", "a"], [made.UNKNOWN, made.NORMAL], [0.0, 0.0]),
            "256 of the 256 byte tokens are missing",
        ),
    ],
)
def test_what_a_reader_refuses(file: Callable[[], bytes], what: str) -> None:
    with pytest.raises((FormatError, UnsupportedError)) as error:
        read(file())
    assert what in str(error.value)
    assert "tiny.gguf" in str(error.value)
