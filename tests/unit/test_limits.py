"""What is too much ends at once, with an error that names the limit; nothing is a traceback."""

from __future__ import annotations

import copy
import json
import os
import socket
import subprocess
import sys
import time
import tracemalloc
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from command_line import Command

from bpe_interop import limits
from bpe_interop.errors import FormatError, PatternError, SourceError
from bpe_interop.io.reader import read
from bpe_interop.steps import Dialect, Pattern
from bpe_interop.strict_json import parse as parse_json
from bpe_interop.text.pattern_parser import parse
from fixtures import ROOT, TOKENIZERS

HUB = TOKENIZERS / "cl100k-tiny/huggingface"
WHOLE = json.loads((HUB / "tokenizer.json").read_bytes())
DIALECTS: tuple[Dialect, ...] = ("oniguruma", "fancy-regex", "python")


def test_the_page_has_the_table() -> None:
    page = (ROOT / "docs" / "limits.md").read_text("utf-8")
    named = [value for value in vars(limits).values() if isinstance(value, limits.Limit)]
    rows = [f"| `{x.name}` | {x.about} | {x.most:,} {x.unit} | {x.why} |" for x in named]
    table = ["| limit | of what | the most | why |", "|---|---|---|---|", *rows]
    assert "\n".join(table) in page
    assert len(named) > 10
    assert all(vars(limits)[one.name] is one for one in named)


def nested(opening: str, inner: str, closing: str, times: int) -> str:
    return opening * times + inner + closing * times


BOMBS = {
    "counts": ("a" + "{1,2}" * 14 + "{2}", "PATTERN_STEPS"),
    "more counts": ("a" + "{1,2}" * 49, "PATTERN_STEPS"),
    "counts of groups": ("(?:(?:a{1,900}){1,900}b{900}){900}", "PATTERN_STEPS"),
    "quantifiers": ("a" + "{1}" * 600, "PATTERN_NESTING"),
    "groups": (nested("(?:", "a", ")", 240), "PATTERN_NESTING"),
    "groups without an end": ("(?:" * 240, "PATTERN_NESTING"),
    "captures": (nested("(", "a", ")", 400), "PATTERN_NESTING"),
    "atomic": (nested("(?>", "a", ")", 400), "PATTERN_NESTING"),
    "lookaheads": (nested("(?=", "a", ")", 400), "PATTERN_NESTING"),
    "classes": (nested("[", "a", "]", 600), "PATTERN_NESTING"),
    "classes without an end": ("[" * 600, "PATTERN_NESTING"),
    "count": ("a{1001}", "PATTERN_COUNT"),
    "length": ("a|" * 10_001 + "a", "PATTERN_CHARACTERS"),
}


def with_pattern(source: str) -> dict[str, Any]:
    whole: dict[str, Any] = copy.deepcopy(WHOLE)
    whole["pre_tokenizer"]["pretokenizers"][0]["pattern"] = {"Regex": source}
    return whole


@pytest.mark.parametrize("what", BOMBS)
def test_a_pattern_that_is_too_much_is_refused_by_its_limit(
    command: Command, tmp_path: Path, what: str
) -> None:
    source, limit = BOMBS[what]
    (tmp_path / "tokenizer.json").write_text(json.dumps(with_pattern(source)), "utf-8")
    start = time.process_time()
    for asked in (("inspect", tmp_path), ("encode", tmp_path, "a")):
        done = command(*asked)
        assert done.code == 2
        assert f"limit {limit}" in done.err
        assert len(done.err) < 3_000
    assert time.process_time() - start < 5
    dialect: Dialect = "fancy-regex" if "{1}{1}" not in source else "oniguruma"
    with pytest.raises(PatternError):
        parse(Pattern(source, dialect))


WITHIN = {
    "groups": nested("(?:", "a", "|b)", limits.PATTERN_NESTING.most - 2),
    "repeated groups": nested("(?:", "a", "|b){1,1}", limits.PATTERN_NESTING.most // 2),
    "lookaheads": nested("(?=", "a", "|b)", limits.PATTERN_NESTING.most - 2) + "a",
    "classes": nested("[b", "a", "]", limits.PATTERN_NESTING.most - 2),
    "quantifiers": "a" + "{1,2}" * 14,
}


@pytest.mark.long
@pytest.mark.parametrize("what", WITHIN)
def test_what_is_within_the_limits_never_takes_long_nor_too_deep(
    command: Command, tmp_path: Path, what: str
) -> None:
    """``a{1,2}`` fourteen times took years: each count asked three times for what is in it."""
    whole = with_pattern(WITHIN[what])
    (tmp_path / "tokenizer.json").write_text(json.dumps(whole), "utf-8")
    start = time.process_time()
    for asked in (
        ("inspect", tmp_path),
        ("encode", tmp_path, "ab aab"),
        ("fingerprint", tmp_path),
        ("convert", tmp_path, tmp_path / "out", "--to", "tiktoken", "--no-verify"),
        ("convert", tmp_path, tmp_path / "out", "--to", "hf", "--no-verify", "--force"),
    ):
        done = command(*asked)
        assert done.code in (0, 1, 2)
        assert "bug" not in done.err
    assert time.process_time() - start < 20


@pytest.mark.parametrize("key", ["pre_tokenizer", "normalizer", "decoder", "post_processor"])
def test_nested_sequences_are_refused_by_the_limit(
    command: Command, tmp_path: Path, key: str
) -> None:
    inner = {"pre_tokenizer": "pretokenizers", "normalizer": "normalizers", "decoder": "decoders"}
    for times, code in ((330, 2), (40, None)):
        step: dict[str, Any] = dict(WHOLE[key] or {"type": "NFC"})
        for _ in range(times):
            step = {"type": "Sequence", inner.get(key, "processors"): [step]}
        whole = {**copy.deepcopy(WHOLE), key: step}
        (tmp_path / "tokenizer.json").write_text(json.dumps(whole), "utf-8")
        done = command("encode", tmp_path, "a")
        assert "bug" not in done.err
        if code:
            assert done.code == code
            assert "limit JSON_NESTING" in done.err


def test_json_is_as_deep_as_the_limit_and_no_deeper() -> None:
    most = limits.JSON_NESTING.most
    for opening, closing in (("[", "]"), ('{"a":', "}")):
        for depth in (1, most):
            parse_json((opening * depth + "1" + closing * depth).encode(), "f")
        for depth in (most + 1, 500, 100_000):
            with pytest.raises(FormatError, match="limit JSON_NESTING"):
                parse_json((opening * depth + "1" + closing * depth).encode(), "f")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_devices_and_pipes_are_refused(command: Command, tmp_path: Path) -> None:
    pipe = tmp_path / "tokenizer.json"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero"), tmp_path):
        for asked in (("inspect", path), ("lock", path), ("verify", HUB, path)):
            done = command(*asked)
            assert done.code == 2
            assert "not a regular file" in done.err
    with pytest.raises(SourceError, match="not a regular file"):
        read(pipe)
    done = command("extend", HUB, tmp_path / "out", "--special", "<x>", "--config", "/dev/zero")
    assert "not a regular file" in done.err
    done = command("train", "/dev/zero", "-o", tmp_path / "t", "--to", "hf", "--merges", "3")
    assert (done.code, "not a regular file" in done.err) == (2, True)
    done = command("view", HUB, "-o", tmp_path / "x.html", "--text", "/dev/zero")
    assert (done.code, "at most 100,000" in done.err) == (2, True)


def test_a_file_is_read_no_further_than_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bpe_interop.io import reader

    less = limits.Limit("FILE_BYTES", 10, "bytes", "", "")
    monkeypatch.setattr(reader, "FILE_BYTES", less)
    (tmp_path / "f").write_bytes(b"x" * 10)
    assert read(tmp_path / "f") == b"x" * 10
    (tmp_path / "f").write_bytes(b"x" * 11)
    with pytest.raises(SourceError, match="limit FILE_BYTES"):
        read(tmp_path / "f")


@pytest.mark.parametrize("name", ["tokenizer.json", "model.gguf", "o200k.tiktoken"])
def test_nothing_is_read_of_a_file_that_says_it_is_too_large(tmp_path: Path, name: str) -> None:
    with (tmp_path / name).open("wb") as file:
        file.truncate(100 << 30)
    tracemalloc.start()
    with pytest.raises(SourceError, match="limit FILE_BYTES"):
        read(tmp_path / name)
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_half_open_connections_do_not_stop_the_page() -> None:
    command = [sys.executable, "-m", "bpe_interop", "view", str(HUB), "--serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as server:
        try:
            assert server.stdout
            address = server.stdout.readline().split()[1].decode()
            port = int(address.rstrip("/").rpartition(":")[2])
            held = [socket.create_connection(("127.0.0.1", port)) for _ in range(150)]
            for one in held:
                one.sendall(b"GET / HTTP/1.1\r\n")
            start = time.monotonic()
            with urllib.request.urlopen(address, timeout=20) as page:
                assert page.status == 200
            assert time.monotonic() - start < 5
            for one in held:
                one.close()
        finally:
            server.terminate()
