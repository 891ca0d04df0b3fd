"""The command line as its users meet it: words, exit codes, pipes, and bad input."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import click
import pytest
import tokenizers
from command_line import Command
from conftest import Data
from tiktoken_encodings import reference

from bpe_interop.cli import cli
from fixtures import TOKENIZERS

pytestmark = pytest.mark.usefixtures("few_texts")

TINY = TOKENIZERS / "gpt2-tiny"
RANKS = TOKENIZERS / "cl100k-tiny" / "tiktoken"
HUB = TOKENIZERS / "cl100k-tiny" / "huggingface"


@pytest.fixture
def run(command: Command) -> Command:
    """The command line."""
    return command


# encode and decode.

TEXTS = [
    "",
    "x",
    "x\r\n",
    "\n",
    "\r",
    " a\tb \x0b\x0c\x1c\u2028\x85 ",
    "é e\u0301 👋 안녕",
    "\x00",
    "\ufeffa",
]


@pytest.mark.parametrize("text", TEXTS)
def test_encode_strips_nothing_and_decode_gives_it_back(run: Command, text: str) -> None:
    encoded = run("encode", RANKS, stdin=text.encode())
    ids = [int(word) for word in encoded.raw.split()]
    assert (encoded.code, encoded.err) == (0, "")
    assert ids == reference(RANKS).encode_ordinary(text)
    assert run("decode", RANKS, stdin=encoded.raw).raw == text.encode()
    assert run("encode", RANKS, "--", text).raw == encoded.raw


def test_lines_are_cut_at_lf_only(run: Command) -> None:
    data = "a\r\nb\x0bc\x85d\u2028e\n\nf\rg".encode()
    encoded = run("encode", RANKS, "--lines", stdin=data)
    rows = [[int(word) for word in row.split()] for row in encoded.out.splitlines()]
    assert rows == [reference(RANKS).encode_ordinary(each) for each in data.decode().split("\n")]
    assert run("decode", RANKS, "--lines", stdin=encoded.raw).raw == data + b"\n"
    assert run("encode", RANKS, "--lines", stdin=data + b"\n").raw == encoded.raw


def test_json_of_ids_and_texts(run: Command) -> None:
    ids = reference(RANKS).encode_ordinary("hi \ud83d\udc4b\x07")
    assert json.loads(run("encode", RANKS, "hi 👋\x07", "--json").raw) == ids
    assert json.loads(run("encode", RANKS, "--lines", "--json", stdin=b"a\nb\n").raw) == [
        reference(RANKS).encode_ordinary("a"),
        reference(RANKS).encode_ordinary("b"),
    ]
    assert json.loads(run("decode", RANKS, str(ids), "--json").raw) == "hi 👋\x07"
    assert json.loads(run("decode", RANKS, "--lines", "--json", stdin=b"64\n65 66\n").raw) == [
        reference(RANKS).decode([64]),
        reference(RANKS).decode([65, 66]),
    ]


def test_special_tokens_are_an_error_text_or_parsed(run: Command) -> None:
    text = "a<|endoftext|>b"
    refused = run("encode", RANKS, text)
    assert refused.code == 2
    assert refused.raw == b""
    assert "--special parse" in refused.err
    assert "disallowed_special" not in refused.err
    own = reference(RANKS)
    for special, ids in (
        ("text", own.encode_ordinary(text)),
        ("parse", own.encode(text, allowed_special="all")),
    ):
        assert run("encode", RANKS, text, "--special", special).raw.split() == [
            str(number).encode() for number in ids
        ]


def test_the_template_is_added_on_demand(run: Command) -> None:
    folder = TOKENIZERS / "template-tiny" / "huggingface"
    engine = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    found = run("encode", folder, "hello", "--add-special-tokens")
    assert list(map(int, found.raw.split())) == engine.encode("hello").ids


def test_input_that_is_not_utf8_is_refused(run: Command) -> None:
    for command, options in (("encode", []), ("encode", ["--lines"]), ("decode", [])):
        found = run(command, RANKS, *options, stdin=b"12\n\xff")
        assert found.code == 2
        assert "not UTF-8" in found.err
    found = run("encode", RANKS, os.fsdecode(b"\xff"))
    assert (found.code, found.raw) == (2, b"")
    assert "not UTF-8" in found.err


def test_bytes_that_are_not_utf8_decode_to_the_replacement_character(run: Command) -> None:
    number = reference(RANKS).encode_single_token(b"\xff")
    assert run("decode", RANKS, number).out == "\ufffd"


def test_what_is_unsaid_says_how_to_say_it(run: Command, tmp_path: Path) -> None:
    for folder in (TINY / "gpt2", bare_rank_file(tmp_path)):
        for special in ("error", "text", "parse"):
            found = run("encode", folder, "hello", "--special", special)
            assert (found.code, found.raw) == (2, b"")
            assert "--preset" in found.err
            assert "preset=" not in found.err


def bare_rank_file(folder: Path) -> Path:
    shutil.copy(RANKS / "cl100k-tiny.tiktoken", folder / "bare.tiktoken")
    return folder / "bare.tiktoken"


# Pipes, terminals, signals.


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "bpe_interop", *map(str, arguments)]


def test_a_closed_pipe_ends_quietly() -> None:
    with subprocess.Popen(
        command("encode", RANKS, "--lines"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdin.write(b"hello\n")
        process.stdin.flush()
        assert process.stdout.readline().split() == [
            str(number).encode() for number in reference(RANKS).encode_ordinary("hello")
        ], "a line is answered before the next one comes"
        process.stdout.close()
        process.stdin.write(b"hello\n")
        process.stdin.close()
        assert process.wait() == 141
        assert process.stderr.read() == b""


@pytest.mark.long
@pytest.mark.parametrize(
    "words",
    [("formats",), ("--help",), ("--version",), ("encode", "--help"), ("encode", RANKS, "a")],
)
def test_a_pipe_that_is_closed_at_once_is_not_a_no(words: tuple[object, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command(*words), stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.long
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", [("encode", RANKS, "a"), ("formats",), ("--help",)])
def test_a_full_disk_is_no_answer(words: tuple[object, ...], unbuffered: str) -> None:
    if not Path("/dev/full").exists():
        return
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            command(*words),
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )
    assert done.returncode == 2
    assert (
        done.stderr.splitlines()[-1]
        == b"  check the path, your permission to write there, and the free space"
    )
    assert b"Traceback" not in done.stderr


def test_an_error_that_nobody_foresaw_is_not_a_no() -> None:
    script = """
        import sys, bpe_interop.cli, bpe_interop.cli.encode as encode
        encode.load_source = lambda *arguments, **options: 1 / 0
        sys.argv = ["bpe-interop", "encode", "x", "y"]
        bpe_interop.cli.main()
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, check=False
    )
    assert done.returncode == 2
    assert b"ZeroDivisionError" in done.stderr


# formats and inspect.


def test_formats(run: Command) -> None:
    shown = run("formats")
    assert shown.code == 0
    for word in ("gpt2", "tiktoken", "huggingface", "hf", "tokenizers", "pretokenizer"):
        assert word in shown.out
    rows = json.loads(run("formats", "--json").raw)
    names = [row["name"] for row in rows]
    assert names == [
        "gpt2",
        "tiktoken",
        "huggingface",
        "sentencepiece",
        "minbpe",
        "tekken",
        "gguf",
    ]
    assert all(set(row) == set(rows[0]) for row in rows)
    assert "normalizer" in rows[2]["holds"]
    assert "normalizer" not in rows[1]["holds"]


KEYS = {
    "source", "format", "files", "in_part", "unread_keys", "not_read", "others", "alphabet",
    "affixes", "tokens", "ids", "rows", "merges", "unreachable", "missing_bytes", "fallback",
    "normalizer", "pretokenizer", "decoder", "added", "roles", "sequence_template",
    "chat_template", "extras", "unsaid", "particulars", "presets", "encoding", "unicode", "served",
    "notes",
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize(
    "folder",
    sorted(TOKENIZERS.glob("*/*")),
    ids=lambda path: f"{path.parent.name}-{path.name}",
)
def test_inspect_shows_all_and_its_json_keeps_its_shape(run: Command, folder: Path) -> None:
    facts: dict[str, Any] = json.loads(run("inspect", folder, "--json").raw)
    assert set(facts) == KEYS
    shown = run("inspect", folder)
    assert (shown.code, shown.err) == (0, "")
    assert all(char.isprintable() or char == "\n" for char in shown.out)
    for name, digest in facts["files"].items():
        assert f"{name}  sha256 {digest}" in shown.out
    for name in facts["unsaid"]:
        assert facts.get(name) is None
    encoding = facts["encoding"]
    how = "by the native kernel" if encoding["by"] == "native" else encoding["because"]
    assert f"encoding    {how}"[:40] in shown.out.replace("in Python: ", "")
    assert encoding["because"] in " ".join(shown.out.split())
    assert encoding["because"] or encoding["by"] == "native"


def test_inspect_of_what_states_no_pattern_says_how_to_state_it(
    run: Command, tmp_path: Path, data: Data
) -> None:
    name = tmp_path / "my ranks.tiktoken"
    tokens = [(bytes([number]), number) for number in range(256)] + [(b"ab", 100257)]
    lines = [f"{base64.b64encode(token).decode()} {rank}\n" for token, rank in tokens]
    name.write_text("".join(lines), "ascii")
    shown = " ".join(run("inspect", name).out.split())
    assert "presets no preset knows these files by their sha256 to state" in shown
    assert (
        f"to state bpe-interop inspect '{name}' --preset FILE.json: a preset of your own" in shown
    )
    assert "with the pattern and the special tokens that the publisher states" in shown
    assert "gpt2" not in shown
    assert "cl100k_base" not in shown
    assert "to state" not in run("inspect", name, "--preset", "gpt2").out

    qwen = " ".join(run("inspect", data("qwen/qwen.tiktoken")).out.split())
    assert "presets qwen, qwen2, qwen2.5 fit by sha256" in qwen
    assert 'presets qwen2.5 has 22 added tokens, 151646 is "<|object_ref_start|>"; from ' in qwen
    assert "qwen/qwen.tiktoken --preset NAME" in qwen


def test_inspect_of_holes_and_unreachable_tokens(run: Command) -> None:
    facts = json.loads(run("inspect", RANKS, "--json").raw)
    assert facts["ids"] == {"smallest": 0, "largest": 820, "holes": 16, "first_hole": 800}
    odd = json.loads(run("inspect", TOKENIZERS / "nonmonotone-tiny" / "tiktoken", "--json").raw)
    found = odd["unreachable"]
    assert found["count"] == len(found["tokens"]) > 0
    assert not odd["merges"]["in_order"]
    own = reference(TOKENIZERS / "nonmonotone-tiny" / "tiktoken")
    for each in found["tokens"]:
        content = bytes.fromhex(each["hex"])
        assert own.decode_single_token_bytes(each["id"]) == content


def test_inspect_says_which_file_wins_and_how_it_is_served(run: Command, tmp_path: Path) -> None:
    for part in ("gpt2", "huggingface"):
        shutil.copytree(TINY / part, tmp_path, dirs_exist_ok=True)
    config = tmp_path / "tokenizer_config.json"
    for name, served in {
        "GPT2Tokenizer": "transformers 5.24 runs GPT2Tokenizer (tokenizer_config.json names "
        "GPT2Tokenizer): it gives the ids that are read here",
        "GPTNeoXTokenizer": "it has another normalizer",
        "NoSuchTokenizer": "it is not known here what transformers 5.24 runs",
    }.items():
        config.write_text(json.dumps({"tokenizer_class": name}), "utf-8")
        shown = run("inspect", tmp_path).out
        assert "encoder.json, vocab.bpe; tokenizer.json was read" in shown
        assert served in shown
        assert ("--engine-b transformers" in shown) is (name != "GPT2Tokenizer")
    assert run("inspect", tmp_path, "--from", "gpt2", "--json").out.count("not_read") == 1
    facts = json.loads(run("inspect", tmp_path, "--from", "gpt2", "--json").raw)
    assert (facts["format"], facts["served"]) == ("gpt2", None)


def test_inspect_counts_rows_of_the_model(run: Command, tmp_path: Path) -> None:
    """The fixture's ids are 0 to 820, and 16 of these have no token."""
    shutil.copytree(HUB, tmp_path, dirs_exist_ok=True)
    for declared, rows, said in (
        (
            896,
            {"used": 805, "padding": 75, "beyond": 0},
            "896 rows declared, 805 ids used, 75 rows",
        ),
        (821, {"used": 805, "padding": 0, "beyond": 0}, "16 ids below without a token"),
        (820, {"used": 804, "padding": 0, "beyond": 1}, "1 id without a row"),
    ):
        (tmp_path / "config.json").write_text(json.dumps({"vocab_size": declared}), "utf-8")
        facts = json.loads(run("inspect", tmp_path, "--json").raw)
        assert facts["rows"] == {"declared": declared, **rows}
        assert said in run("inspect", tmp_path).out


def test_inspect_counts_one_thing_as_one(run: Command, tmp_path: Path) -> None:
    (tmp_path / "one.tiktoken").write_bytes(b"YQ== 0\n")
    assert "1 token; id 0, all in use" in run("inspect", tmp_path / "one.tiktoken").out
    (tmp_path / "empty.tiktoken").write_bytes(b"YQ== 0\n= 2\n")
    shown = run("inspect", tmp_path / "empty.tiktoken").out
    assert "2 tokens; ids 0 to 2, but 1 has no token" in shown
    assert "the empty token 2 is in no text" in shown
    shown = run("inspect", RANKS).out
    assert "ids 0 to 820, but 16 of these have no token (the first is 800)" in shown


def test_inspect_tells_what_becomes_of_characters(run: Command) -> None:
    folder = TOKENIZERS / "spm-tiny" / "huggingface"
    assert "becomes the byte tokens of its UTF-8" in run("inspect", folder).out
    facts = json.loads(run("inspect", folder, "--json").raw)
    assert (facts["alphabet"], facts["missing_bytes"]) == ("char", None)
    assert facts["fallback"]["byte_fallback"] is True


def test_odd_tokens_are_escaped(run: Command, tmp_path: Path) -> None:
    target = tmp_path / "tokenizer.json"
    whole = json.loads((HUB / "tokenizer.json").read_text("utf-8"))
    odd = "\x1b[31m\u202e\n\x07"
    whole["added_tokens"][0]["content"] = odd
    entries = whole["model"]["vocab"]
    whole["model"]["vocab"] = {
        (odd if number == 801 else token): number for token, number in entries.items()
    }
    target.write_text(json.dumps(whole), "utf-8")
    shown = run("inspect", target)
    assert shown.code == 0, shown.err
    assert all(char.isprintable() or char == "\n" for char in shown.out)
    assert r"\x1b[31m\u202e\n\x07" in shown.out
    assert json.loads(run("inspect", target, "--json").raw)["added"][0]["text"] == odd
    refused = run("encode", target, f"a{odd}")
    assert refused.code == 2
    assert "\x1b" not in refused.err


# Usage.


def test_help_says_in_whole_sentences_what_commands_do(run: Command) -> None:
    said = run("--help").out.partition("Commands:\n")[2].splitlines()
    assert [line.split()[0] for line in said] == cli.list_commands(click.Context(cli))
    assert all(line.endswith(".") and not line.endswith("...") for line in said)


@pytest.mark.parametrize(
    "drop",
    [("--drop", "normalizer,added,decoder"), ("--drop", "normalizer,added", "--drop", "decoder")],
    ids=["commas", "both"],
)
def test_fields_may_be_dropped_in_one_list(
    run: Command, tmp_path: Path, drop: tuple[str, ...]
) -> None:
    source = TOKENIZERS / "nfc-tiny" / "huggingface"
    refused = run("convert", source, tmp_path / "out", "--to", "tiktoken", "--no-verify")
    assert refused.code == 1
    done = run("convert", source, tmp_path / "out", "--to", "tiktoken", "--no-verify", *drop)
    assert done.code == 0, done.err
