"""Bad input through the command line: one clear error, exit 2, nothing written."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from command_line import Command
from tokenizers import Tokenizer

import bpe_interop
from bpe_interop.limits import PATTERN_SECONDS
from bpe_interop.text import matcher
from fixtures import TOKENIZERS

pytestmark = pytest.mark.usefixtures("few_texts")

HUB = json.loads((TOKENIZERS / "cl100k-tiny/huggingface/tokenizer.json").read_bytes())
RANKS = (TOKENIZERS / "cl100k-tiny/tiktoken/cl100k-tiny.tiktoken").read_bytes()
SIDECAR = json.loads((TOKENIZERS / "cl100k-tiny/tiktoken/cl100k-tiny.tiktoken.json").read_bytes())
ENCODER = (TOKENIZERS / "gpt2-tiny/gpt2/encoder.json").read_bytes()
MERGES = (TOKENIZERS / "gpt2-tiny/gpt2/vocab.bpe").read_bytes()

Files: TypeAlias = dict[str, bytes]


def hub(change: Callable[[dict[str, Any]], object]) -> Files:
    whole = copy.deepcopy(HUB)
    change(whole)
    return {"tokenizer.json": json.dumps(whole).encode()}


def ranks(data: bytes, **stated: object) -> Files:
    return {"t.tiktoken": data, "t.tiktoken.json": json.dumps({**SIDECAR, **stated}).encode()}


def pattern(source: str) -> Files:
    return hub(lambda w: w["pre_tokenizer"]["pretokenizers"][0].update(pattern={"Regex": source}))


LINES = RANKS.splitlines()
SOME = LINES[3].split()[0]

BAD: dict[str, tuple[Files, str, list[str]]] = {
    # what is wrong: the files, the target, what the error says
    "empty tokenizer.json": ({"tokenizer.json": b""}, "tiktoken", ["tokenizer.json", "empty"]),
    "empty rank file": ({"t.tiktoken": b""}, "hf", ["t.tiktoken", "no tokens"]),
    "truncated json": (
        {"tokenizer.json": json.dumps(HUB).encode()[:-99]}, "tiktoken", ["line 1, column"]),
    "truncated pair": (
        {"encoder.json": ENCODER[:-9], "vocab.bpe": MERGES}, "tiktoken", ["encoder.json"]),
    "malformed json": (
        {"tokenizer.json": b'{"model": {"type": "BPE", "vocab": {,}}}'}, "tiktoken", ["column 37"]),
    "deep json": (
        {"tokenizer.json": b'{"model":' * 50_000 + b"1" + b"}" * 50_000}, "tiktoken", ["too deeply"]
    ),
    "NaN": ({"tokenizer.json": b'{"model": NaN}'}, "tiktoken", ["NaN"]),
    "no object": ({"tokenizer.json": b"[1, 2]"}, "tiktoken", ["not a JSON object"]),
    "bad base64": (ranks(RANKS.replace(LINES[5], b"!!!= 5")), "hf", ["t.tiktoken:6", "base64"]),
    "short base64": (ranks(RANKS.replace(LINES[5], b"QQ 5")), "hf", ["t.tiktoken:6"]),
    "duplicate token": (ranks(RANKS + SOME + b" 900\n"), "hf", ["t.tiktoken:801", "line 4"]),
    "duplicate rank": (ranks(RANKS + b"enp6enp6 7\n"), "hf", ["t.tiktoken:801", "line 8"]),
    "negative rank": (ranks(RANKS + b"enp6enp6 -7\n"), "hf", ["t.tiktoken:801", "negative"]),
    "no number": (ranks(RANKS + b"enp6enp6 x\n"), "hf", ["t.tiktoken:801", "number"]),
    "a fraction": (ranks(RANKS + b"enp6enp6 1.5\n"), "hf", ["t.tiktoken:801"]),
    "33 bits": (ranks(RANKS + b"enp6enp6 4294967296\n"), "hf", ["t.tiktoken:801", "4294967296"]),
    "merge of unknown parts": (
        hub(lambda w: w["model"]["merges"].append(["qqq", "zzz"])),
        "tiktoken", ["$.model.merges[544]", "qqq"]),
    "merge of unknown parts in a pair": (
        {"encoder.json": ENCODER, "vocab.bpe": MERGES + b"qqq zzz\n"},
        "tiktoken", ["vocab.bpe:446", "qqq"]),
    "merge of unknown product": (
        hub(lambda w: w["model"]["merges"].append(["!", "!!!!!"])), "tiktoken", ["merges[544]"]),
    "json not UTF-8": (
        {"tokenizer.json": b"\xff" + json.dumps(HUB).encode()}, "tiktoken", ["not UTF-8", "0xFF"]),
    "merges not UTF-8": (
        {"encoder.json": ENCODER, "vocab.bpe": MERGES + b"\xff a\n"},
        "tiktoken", ["vocab.bpe:446", "not UTF-8"]),
    "pattern does not compile": (
        ranks(RANKS, pat_str="(unclosed"), "tiktoken", ["closing parenthesis"]),
    "pattern of an unknown class": (ranks(RANKS, pat_str=r"\p{Nope}"), "hf", ["Nope"]),
    "pattern does not compile in json": (pattern("(unclosed"), "tiktoken", ["(unclosed"]),
    "pattern matches nothing": (
        ranks(RANKS, pat_str="a*"), "hf", ["t.tiktoken.json: $.pat_str", "tiktoken panics", "x+"]),
    "rank file named tokenizer.json": ({"tokenizer.json": b"PK\x03\x04"}, "hf", ["tokenizer.json"]),
    "tokenizer.json named x.tiktoken": (
        {"x.tiktoken": json.dumps(HUB).encode()}, "hf", ["x.tiktoken:1", "base64"]),
    "tokenizer.json in a pair": (
        {"encoder.json": json.dumps(HUB).encode(), "vocab.bpe": MERGES}, "hf", ["encoder.json"]),
    "rank file in a pair": ({"encoder.json": ENCODER, "vocab.bpe": RANKS}, "hf", ["vocab.bpe:"]),
    "encoder.json named tokenizer.json": ({"tokenizer.json": ENCODER}, "hf", ["a vocabulary"]),
    "another kind of model": (
        {"tokenizer.json": b'{"model": {"type": "Unigram", "vocab": [["a", 0.0]]}}'},
        "tiktoken", ["Unigram"]),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_one_clear_error(command: Command, tmp_path: Path, what: str) -> None:
    files, target, said = BAD[what]
    source = tmp_path / "source"
    source.mkdir()
    for name, data in files.items():
        (source / name).write_bytes(data)
    found = command("convert", source, tmp_path / "out", "--to", target)
    assert (found.code, found.out) == (2, ""), found.err
    for word in said:
        assert word in found.err
    assert found.err.startswith("error: ")
    assert found.err.count("error: ") == 1
    assert "Traceback" not in found.err
    assert "--no-verify" not in found.err
    assert [path.name for path in tmp_path.iterdir()] == ["source"]


@pytest.mark.parametrize("name", ["tokenizer.json", "t.tiktoken"])
def test_what_cannot_be_read_is_an_error(command: Command, tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    found = command("inspect", tmp_path / name)
    assert found.code == 2
    assert found.err.startswith("error: ")


SOURCE = str(TOKENIZERS / "cl100k-tiny/tiktoken")
UNREADABLE = ("missing", "empty", "folder", "binary.json", "half.encoder.json", "x.gguf")
COMMANDS: dict[str, tuple[str, ...]] = {
    # what is to be read stands for {}; a second word says what may be wrong with it
    "inspect": ("inspect", "{}"),
    "convert": ("convert", "{}", "out", "--to", "hf"),
    "convert from": ("convert", "{}", "out", "--to", "hf", "--from", "spm"),
    "verify a": ("verify", "{}", SOURCE),
    "verify b": ("verify", SOURCE, "{}"),
    "fingerprint": ("fingerprint", "{}"),
    "lock": ("lock", "{}"),
    "encode": ("encode", "{}", "x"),
    "decode": ("decode", "{}", "1"),
    "view": ("view", "{}", "-o", "out.html"),
    "extend": ("extend", "{}", "out", "--special", "<x>"),
    "train": ("train", "{}", "-o", "out", "--to", "hf", "--vocab-size", "300"),
    "corpus": ("verify", SOURCE, SOURCE, "--corpus", "{}"),
    "corpus of inspect": ("inspect", SOURCE, "--corpus", "{}"),
    "text": ("view", SOURCE, "-o", "out.html", "--text", "{}"),
    "config": ("extend", SOURCE, "out", "--special", "<x>", "--config", "{}"),
    "state": ("verify", SOURCE, SOURCE, "--corpus", "text", "--state", "{}"),
}
FINE = {
    *(("corpus", "empty"), ("corpus of inspect", "empty"), ("text", "empty")),
    *(("state", "missing"), ("state", "empty"), ("config", "half.encoder.json")),
    *((command, name) for command in ("train", "corpus", "corpus of inspect", "text")
      for name in UNREADABLE[4:]),
}  # fmt: skip
"""What can be read: no text is a text, half of a pair is one too, and an object besides; in an
empty state nothing is done yet."""


@pytest.mark.parametrize(
    ("command_name", "name"),
    [(c, n) for c in COMMANDS for n in UNREADABLE if (c, n) not in FINE],
)
def test_what_cannot_be_read_says_what_to_do(
    command: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command_name: str,
    name: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    contents = {"empty": b"", "binary.json": b"\x89\xff\0", "x.gguf": b"GGUF", "text": b"a\n"}
    for each, data in {**contents, "half.encoder.json": ENCODER}.items():
        Path(each).write_bytes(data)
    found = command(*(name if word == "{}" else word for word in COMMANDS[command_name]))
    assert (found.code, found.out) == (2, "")
    said, *fixes = found.err.splitlines()
    assert said.startswith("error: ")
    assert name in said or command_name == "config" or (command_name, name) == ("train", "empty")
    assert fixes
    assert fixes[0].startswith("  ")
    assert not Path("out").exists()


def test_unmatched_text_that_the_target_would_drop_is_matched_there(
    command: Command, tmp_path: Path
) -> None:
    """tiktoken drops what its pattern does not match, so what stands between is matched too."""

    def loose(whole: dict[str, Any]) -> None:
        step = whole["pre_tokenizer"]["pretokenizers"][0]
        step.update(pattern={"Regex": "[a-z]+"}, behavior="Isolated", invert=False)

    (tmp_path / "tokenizer.json").write_bytes(hub(loose)["tokenizer.json"])
    found = command("convert", tmp_path, tmp_path / "out", "--to", "tiktoken")
    assert found.code == 0, found.err
    theirs = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    ours = bpe_interop.load(tmp_path / "out", engine="tiktoken")
    for text in ("the 12 cats!", "  A\n", "!"):
        assert ours.encode(text) == theirs.encode(text).ids


def test_a_pattern_that_backtracks_without_end_ends(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matcher, "PATTERN_SECONDS", PATTERN_SECONDS._replace(most=1))
    for name, data in pattern(r"(?:\w+\w+)+$|[\s\S]").items():
        (tmp_path / name).write_bytes(data)
    found = command("encode", tmp_path, "--special", "text", "a" * 5_000 + "!")
    assert (found.code, found.out) == (2, "")
    assert found.err.startswith("error: ")


def test_a_missing_byte_matters_only_where_it_is_needed(command: Command, tmp_path: Path) -> None:
    kept = [line for line in LINES if b"!" not in base64.b64decode(line.split()[0])]
    for name, data in ranks(b"\n".join(kept)).items():
        (tmp_path / name).write_bytes(data)
    assert "21" in command("inspect", tmp_path).out
    assert command("encode", tmp_path, "hello").code == 0
    found = command("encode", tmp_path, "hello!")
    assert (found.code, found.out) == (2, "")
    assert '"!"' in found.err
    refused = command("convert", tmp_path, tmp_path / "out", "--to", "hf")
    assert refused.code == 1
    assert "fallback" in refused.err


def test_a_link_to_a_device_is_told_from_one_to_nothing(command: Command, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").symlink_to("/dev/null")
    assert "this is not a regular file" in command("inspect", tmp_path).err
    (tmp_path / "tokenizer.json").unlink()
    (tmp_path / "tokenizer.json").symlink_to(tmp_path / "gone")
    assert "which is not there" in command("inspect", tmp_path).err


PAIRS = [("encoder.json", "vocab.bpe"), ("vocab.json", "merges.txt"),
         ("gpt2-vocab.json", "gpt2-merges.txt")]  # fmt: skip


@pytest.mark.parametrize(("vocab", "merges"), PAIRS)
def test_a_pair_with_the_token_model_is_inspected(
    command: Command, tmp_path: Path, vocab: str, merges: str
) -> None:
    """In a ``tokenizer.json`` the key ``model`` holds the model; here it is a token."""
    tokens = json.loads(ENCODER)
    tokens["model"] = len(tokens)
    (tmp_path / vocab).write_text(json.dumps(tokens))
    (tmp_path / merges).write_bytes(MERGES)
    for source in (tmp_path, tmp_path / vocab, tmp_path / merges):
        found = command("inspect", source)
        assert (found.code, found.err) == (0, "")
        assert "GPT-2 vocabulary and merges" in found.out
    (tmp_path / merges).unlink()
    for source in (tmp_path, tmp_path / vocab):
        said = command("inspect", source).err
        assert "half of a GPT-2 pair" in said or vocab not in ("encoder.json", "vocab.json")
        assert "expected an object" not in said
