"""Decoding ids one at a time gives what the reference engines give for all of them at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import tiktoken
from command_line import Command
from hypothesis import given, settings
from hypothesis import strategies as st
from in_tokenizers import id_of
from tokenizers import Tokenizer as HuggingFaceTokenizer
from tokenizers import decoders

from bpe_interop import load
from bpe_interop.encode.stream import Chain, DecodeStream
from bpe_interop.errors import DecodeError
from bpe_interop.formats import by_name
from bpe_interop.steps import (
    ByteTokens,
    DecoderStep,
    Fuse,
    JoinBytes,
    MetaspaceText,
    Pattern,
    Replace,
    StripToken,
    WordEnds,
    WordPieces,
)
from bpe_interop.tokenizer import Tokenizer
from fixtures import TOKENIZERS

BY_TOKENIZERS = (
    "clip-tiny", "drop-tiny", "gpt1-tiny", "gpt2-tiny", "hash-tiny", "metaspace-tiny",
    "never-tiny", "nfc-tiny", "scripts-tiny", "spm-tiny", "spm-unk-tiny", "spm-user-tiny",
)  # fmt: skip
BY_SENTENCEPIECE = (
    "spm-charsmap-tiny", "spm-odd-tiny", "spm-plain-tiny", "spm-suffix-tiny", "spm-tiny",
    "spm-unk-tiny", "spm-user-tiny",
)  # fmt: skip
Decode = Callable[[list[int]], str]


def read(folder: Path) -> Tokenizer:
    return Tokenizer(
        by_name(folder.name).load({path.name: path.read_bytes() for path in folder.iterdir()})
    )


def streamed(stream: DecodeStream, ids: Sequence[int]) -> str:
    return "".join([*map(stream.step, ids), stream.finish()])


def sequences(tokenizer: Tokenizer) -> st.SearchStrategy[list[int]]:
    """Ids, with many bytes and special tokens among them."""
    model = tokenizer.model
    tokens = list(tokenizer.vocab)
    kinds = [n for n, kind in model.vocab.kinds.items() if kind == "byte"]
    if model.alphabet == "byte":
        kinds = [n for content, n in model.vocab.ids.items() if len(content) == 1]
    special = [token.id for token in model.added or ()]
    some = [st.sampled_from(numbers) for numbers in (tokens, kinds, special) if numbers]
    return st.lists(st.one_of(*some), max_size=12)


def engine_of(folder: Path) -> Decode:
    """The format's own engine, decoding all ids at once."""
    if folder.name == "huggingface":
        found = HuggingFaceTokenizer.from_file(str(folder / "tokenizer.json"))
        return lambda ids: found.decode(ids, skip_special_tokens=False)
    if folder.name == "sentencepiece":
        name = str(next(folder.glob("*.model")))
        return sentencepiece.SentencePieceProcessor(model_file=name).decode
    encoding: tiktoken.Encoding = read(folder).to_tiktoken()
    return encoding.decode


FOLDERS = [
    *(TOKENIZERS / name / "huggingface" for name in BY_TOKENIZERS),
    *(TOKENIZERS / name / "sentencepiece" for name in BY_SENTENCEPIECE),
    TOKENIZERS / "o200k-tiny" / "tiktoken",
]


@pytest.mark.long
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f"{f.parent.name}/{f.name}")
def test_a_stream_gives_what_the_engine_gives_at_once(folder: Path) -> None:
    tokenizer, decode = read(folder), engine_of(folder)

    @settings(max_examples=50)
    @given(sequences(tokenizer))
    def same(ids: list[int]) -> None:
        assert streamed(tokenizer.decode_stream(), ids) == decode(ids)

    same()


@pytest.mark.parametrize("name", ["gpt2-tiny", "nfc-tiny", "spm-tiny"])
def test_special_tokens_are_left_out_as_the_engine_leaves_them_out(name: str) -> None:
    folder = TOKENIZERS / name / "huggingface"
    tokenizer = read(folder)
    engine = HuggingFaceTokenizer.from_file(str(folder / "tokenizer.json"))

    @settings(max_examples=50)
    @given(sequences(tokenizer))
    def same(ids: list[int]) -> None:
        found = streamed(tokenizer.decode_stream(skip_special_tokens=True), ids)
        assert found == engine.decode(ids, skip_special_tokens=True)

    same()


# Decoders of all kinds, in any order, against tokenizers' own.

STEPS: dict[str, tuple[DecoderStep, Any]] = {
    "replace": (Replace("▁", " "), decoders.Replace("▁", " ")),
    "replace two": (Replace("ab", "b"), decoders.Replace("ab", "b")),
    "replace three": (Replace("aba", ""), decoders.Replace("aba", "")),
    "bytes": (ByteTokens(), decoders.ByteFallback()),
    "fuse": (Fuse(), decoders.Fuse()),
    "strip start": (StripToken(" ", 1, 0), decoders.Strip(" ", 1, 0)),
    "strip more": (StripToken("a", 2, 0), decoders.Strip("a", 2, 0)),
    "metaspace": (MetaspaceText("▁", "always"), decoders.Metaspace("▁", "always")),
    "metaspace never": (MetaspaceText("▁", "never"), decoders.Metaspace("▁", "never")),
    "word ends": (WordEnds("b"), decoders.BPEDecoder("b")),
    "word pieces": (WordPieces("▁", True), decoders.WordPiece("▁", True)),
    "joined bytes": (JoinBytes(mapped_added=True), decoders.ByteLevel()),
}
PARTS = [
    "a",
    "b",
    "ab",
    "aba",
    "▁",
    "▁a",
    " a",
    " ",
    "<0xE4>",
    "<0xB8>",
    "<0xAD>",
    "<0x41>",
    "Ġ",
    "é",
]


@settings(max_examples=600)
@given(
    st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=4),
    st.lists(st.sampled_from(PARTS), max_size=8),
)
def test_any_chain_of_steps_gives_what_tokenizers_gives(
    names: list[str], tokens: list[str]
) -> None:
    chain = Chain([STEPS[name][0] for name in names], "replace")
    engine = decoders.Sequence([STEPS[name][1] for name in names])
    assert "".join([*map(chain.add, tokens), chain.end()]) == engine.decode(tokens)


def test_steps_that_need_the_whole_text_wait_for_it() -> None:
    fused = Chain([Fuse(), StripToken("a", 0, 1)], "replace")
    assert [fused.add("ba"), fused.add("ca"), fused.end()] == ["", "", "bac"]
    pattern = Chain([Fuse(), Replace(Pattern("a+", "oniguruma"), "x")], "replace")
    assert [pattern.add("ba"), pattern.add("ab"), pattern.end()] == ["", "", "bxb"]
    literal = Chain([Fuse(), Replace("aab", "x")], "replace")
    assert [literal.add("caa"), literal.add("a"), literal.add("bd")] == ["c", "a", "xd"]


# How soon.


def test_text_is_told_as_soon_as_its_characters_are_complete() -> None:
    tokenizer = read(TOKENIZERS / "gpt2-tiny" / "huggingface")
    ids = [tokenizer.encode_single_token(bytes([byte])) for byte in "a中é".encode()]
    stream = tokenizer.decode_stream()
    assert [stream.step(number) for number in ids] == ["a", "", "", "中", "", "é"]
    assert stream.finish() == ""


def test_byte_pieces_are_told_as_soon_as_sentencepiece_would_not_change_them() -> None:
    tokenizer = read(TOKENIZERS / "spm-tiny" / "sentencepiece")
    ids = [
        tokenizer.model.vocab.ids[f"<0x{byte:02X}>".encode()] for byte in b"\xe4\xb8\xad\xff\xe4"
    ]
    stream = tokenizer.decode_stream()
    assert [stream.step(number) for number in ids] == ["", "", "中", "\ufffd", ""]
    assert stream.finish() == "\ufffd"


@pytest.mark.parametrize("text", ["Hello, world! 日本 🎉🇩🇪 e\u0301\n\n  x", "مرحبا\t\x00 \ufffd."])
def test_nothing_waits_longer_than_in_tokenizers_own_stream(text: str) -> None:
    folder = TOKENIZERS / "gpt2-tiny" / "huggingface"
    engine = HuggingFaceTokenizer.from_file(str(folder / "tokenizer.json"))
    theirs, ours = decoders.DecodeStream(skip_special_tokens=False), read(folder).decode_stream()
    told = found = ""
    for number in engine.encode(text, add_special_tokens=False).ids:
        told += theirs.step(engine, number) or ""
        found += ours.step(number)
        assert found.startswith(told)
    assert found + ours.finish() == text


def test_what_tokenizers_own_stream_takes_back_is_not_told() -> None:
    """One malformed byte makes the whole run U+FFFD there: the run has to end first."""
    folder = TOKENIZERS / "spm-tiny" / "huggingface"
    engine = HuggingFaceTokenizer.from_file(str(folder / "tokenizer.json"))
    ids = [id_of(engine, f"<0x{byte:02X}>") for byte in b"\xe4\xb8\xad\xff"]
    theirs = decoders.DecodeStream(skip_special_tokens=False)
    assert [theirs.step(engine, number) for number in ids] == [None, None, "中", None]
    stream = read(folder).decode_stream()
    assert [stream.step(number) for number in ids] == ["", "", "", ""]
    assert stream.finish() == engine.decode(ids) == "\ufffd" * 4


# Errors.


@pytest.mark.parametrize(
    "kind", ["gpt2-tiny/huggingface", "spm-tiny/huggingface", "spm-tiny/sentencepiece"]
)
def test_bytes_that_are_not_utf8_are_replaced_or_raised(kind: str) -> None:
    tokenizer = read(TOKENIZERS / kind)
    spelled = [bytes([b]) if "gpt2" in kind else f"<0x{b:02X}>".encode() for b in b"\xe4\xb8\xad"]
    first, second, third = (tokenizer.model.vocab.ids[content] for content in spelled)
    whole = tokenizer.decode_stream(errors="strict")
    assert list(whole.texts([first, second, third])) == ["中"]
    for wrong in ([first, second], [second], [first, first]):
        with pytest.raises(UnicodeDecodeError):
            list(tokenizer.decode_stream(errors="strict").texts(wrong))
        assert set("".join(tokenizer.decode_stream().texts(wrong))) == {"\ufffd"}
    not_a_way: Any = "ignore"
    with pytest.raises(ValueError, match='"replace" or "strict"'):
        tokenizer.decode_stream(errors=not_a_way)


def test_an_id_that_is_not_there_leaves_the_stream_as_it_was() -> None:
    tokenizer = read(TOKENIZERS / "gpt2-tiny" / "huggingface")
    first, *rest = (tokenizer.encode_single_token(bytes([byte])) for byte in "中".encode())
    stream = tokenizer.decode_stream()
    assert stream.step(first) == ""
    for wrong in (-1, tokenizer.n_vocab, 2**32, 2**64):
        with pytest.raises(DecodeError, match=f"no token with the id {wrong}"):
            stream.step(wrong)
    no_ids: tuple[Any, ...] = ("a", 1.0, None)
    for wrong in no_ids:
        with pytest.raises(TypeError):
            stream.step(wrong)
    assert [stream.step(number) for number in rest] == ["", "中"]
    assert stream.finish() == ""
    for call in (stream.finish, lambda: stream.step(first)):
        with pytest.raises(ValueError, match="finished"):
            call()


@pytest.mark.parametrize(
    ("arguments", "stdin", "page"),
    [
        (["--strict", "231"], b"", "ERROR-decode"),
        (["--strict", "--stream"], b"231", "ERROR-decode"),
        (["999999"], b"", "ERROR-decode"),
        (["4294967296"], b"", "ERROR-out-of-range"),
        (["--", "-100"], b"", "ERROR-out-of-range"),
        (["--stream"], b"5 -100", "ERROR-out-of-range"),
        (["9" * 30], b"", "ERROR-out-of-range"),
        (["x"], b"", "ERROR-source"),
    ],
)
def test_an_error_names_the_page_about_it(
    command: Command, arguments: list[str], stdin: bytes, page: str
) -> None:
    found = command("decode", TOKENIZERS / "spm-tiny" / "sentencepiece", *arguments, stdin=stdin)
    assert found.code == 2
    assert found.err.endswith(f"see {page}\n")


# Many at a time.


@pytest.mark.long
@pytest.mark.parametrize("errors", ["replace", "strict"])
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f"{f.parent.name}/{f.name}")
def test_batches_give_the_text_of_their_ids_one_by_one(folder: Path, errors: Any) -> None:
    tokenizer = read(folder)
    absent = tokenizer.n_vocab + 7

    @settings(max_examples=50)
    @given(st.lists(sequences(tokenizer), max_size=4), st.booleans())
    def same(batches: list[list[int]], wrong: bool) -> None:
        batches = [*batches, [absent]] if wrong else batches
        told: list[list[str]] = []
        ends: list[str] = []
        for texts in (
            tokenizer.decode_stream(errors=errors).texts_of(batches),
            tokenizer.decode_stream(errors=errors).texts(n for batch in batches for n in batch),
        ):
            told.append([])
            try:
                told[-1].extend(texts)
            except (DecodeError, UnicodeDecodeError) as error:
                ends.append(str(error))
            else:
                ends.append("")
        assert "".join(told[0]) == "".join(told[1])
        assert ends[0] == ends[1]
        if errors == "replace" and not wrong:
            ids = [number for batch in batches for number in batch]
            assert "".join(told[0]) == engine_of(folder)(ids)

    same()


@settings(max_examples=600)
@given(
    st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=4),
    st.lists(st.lists(st.sampled_from(PARTS), min_size=1, max_size=4), max_size=4),
)
def test_any_chain_gives_what_tokenizers_gives_for_tokens_that_come_together(
    names: list[str], batches: list[list[str]]
) -> None:
    chain = Chain([STEPS[name][0] for name in names], "replace")
    engine = decoders.Sequence([STEPS[name][1] for name in names])
    tokens = [token for batch in batches for token in batch]
    assert "".join([*map(chain.add_all, batches), chain.end()]) == engine.decode(tokens)


def test_many_ids_of_a_stream_are_one_text(command: Command, monkeypatch: Any) -> None:
    folder = TOKENIZERS / "gpt2-tiny" / "huggingface"
    written: list[bytes] = []
    monkeypatch.setattr("bpe_interop.cli.decode.write_stdout", written.append)
    assert command("decode", folder, "--stream", stdin=b"39 " * 5_000).code == 0
    assert written == [b"H" * 5_000]


# The command.


def test_the_command_prints_text_as_ids_come(command: Command) -> None:
    folder = TOKENIZERS / "spm-tiny" / "sentencepiece"
    engine = sentencepiece.SentencePieceProcessor(model_file=str(next(folder.glob("*.model"))))
    ids = engine.encode("hello 안녕하세요\n")
    for given_ids in (" ".join(map(str, ids)), str(ids), "\n".join(map(str, ids))):
        found = command("decode", folder, "--stream", stdin=given_ids.encode())
        assert (found.code, found.out) == (0, engine.decode(ids))
    assert command("decode", folder, "--stream", stdin=b"").out == ""
    cut = engine.piece_to_id("<0xE4>")
    assert command("decode", folder, "--stream", stdin=b"%d" % cut).out == "\ufffd"


@pytest.mark.parametrize(
    ("arguments", "stdin", "said"),
    [
        (["--stream"], b"1 2 x", '"x" is not an id'),
        (["--stream"], b"5 999999", "there is no token with the id 999999"),
        (["--stream", "--lines"], b"5", "--stream reads ids from standard input"),
        (["--stream", "5"], b"", "--stream reads ids from standard input"),
        (["--stream", "--strict"], b"228", "not UTF-8"),
        (["--strict", "228"], b"", "leave --strict out"),
        (["--strict", "--lines"], b"5\n228", "unexpected end of data"),
    ],
)
def test_bad_ids_are_one_clear_error(
    command: Command, arguments: list[str], stdin: bytes, said: str
) -> None:
    folder = TOKENIZERS / "spm-tiny" / "sentencepiece"
    arguments = [{"228": "231"}.get(word, word) for word in arguments]
    found = command("decode", folder, *arguments, stdin=stdin.replace(b"228", b"231"))
    assert found.code == 2
    assert said in found.err
    assert "Traceback" not in found.err


def test_a_terminal_is_shown_control_characters_and_a_pipe_gets_them(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = TOKENIZERS / "gpt2-tiny" / "huggingface"
    ids = load(folder).encode("a\x1b[2J\r\n\tb\u202e")
    assert command("decode", folder, *ids).out == "a\x1b[2J\r\n\tb\u202e"
    monkeypatch.setattr("bpe_interop.cli.decode._is_terminal", lambda: True)
    assert command("decode", folder, *ids).out == "a\\u001b[2J\\u000d\n\tb\\u202e"


@pytest.mark.parametrize(
    ("stdin", "arguments", "out"),
    [
        (b"39 x", [], "H"),
        (b"39 999999", [], "H"),
        (b"39 163", ["--strict"], "H"),
        (b"39 198 x", [], "H\n"),  # the line is ended
        (b"x", [], ""),  # nothing is written
    ],
)
def test_an_error_stands_on_a_line_of_its_own_in_a_terminal(
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
    stdin: bytes,
    arguments: list[str],
    out: str,
) -> None:
    folder = TOKENIZERS / "gpt2-tiny" / "huggingface"
    asked = ("decode", folder, "--stream", *arguments)
    ended = command(*asked, stdin=stdin)
    assert (ended.code, ended.out) == (2, out)  # a pipe gets the text alone
    monkeypatch.setattr("bpe_interop.cli.decode._is_terminal", lambda: True)
    ended = command(*asked, stdin=stdin)
    assert (ended.code, ended.out) == (2, f"{out}\n" if out == "H" else out)
