"""Corpora that can be read only once, as files of ids."""

from __future__ import annotations

import io
import json
import os
import sys
import threading
from pathlib import Path

import pytest
from command_line import Command

from bpe_interop.errors import TargetError
from bpe_interop.sources import load_source
from bpe_interop.token_files import Settings, check_token_files, encode_corpora
from bpe_interop.token_files.layouts import LayoutName
from fixtures import TOKENIZERS

GPT2 = TOKENIZERS / "gpt2-tiny" / "huggingface"
RECORDS = b"".join(
    json.dumps({"body": f"text {number} of many"}).encode() + b"\n" for number in range(500)
)


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.long
@pytest.mark.parametrize("more", [[], ["--scheduler", "local:2"]])
@pytest.mark.parametrize("layout", ["megatron", "npy"])
def test_standard_input_becomes_the_files_that_a_file_becomes(
    command: Command, tmp_path: Path, layout: LayoutName, more: list[str]
) -> None:
    (tmp_path / "c.jsonl").write_bytes(RECORDS)
    how = ["--layout", layout, "--shard-bytes", "3000"]
    there, piped = tmp_path / "there", tmp_path / "new" / "piped"
    assert (
        command("encode", GPT2, "--corpus", tmp_path / "c.jsonl:body", "-o", there, *how).code == 0
    )
    done = command("encode", GPT2, "--corpus", "-:body", "-o", piped, *how, *more, stdin=RECORDS)
    assert (done.code, done.err) == (0, "")
    assert f"verify-shards {piped} --sample 0" in done.out.replace("\n            ", " ")
    names = [name for name in left(there) if name.startswith("shard-")]
    assert len(names) >= 10
    assert left(piped) == left(there)
    assert all((piped / name).read_bytes() == (there / name).read_bytes() for name in names)
    assert left(piped.parent) == ["piped"]


def test_a_pipe_with_a_name_is_read_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b"some words\n" * 5_000,))
    writer.start()
    written = encode_corpora(
        load_source(GPT2), [pipe], tmp_path / "ids", Settings("parquet", special="text")
    )
    writer.join()
    assert written.manifest is not None
    assert written.manifest.counts["bytes"] == 55_000
    [origin] = written.manifest.origins
    assert (origin.label, origin.path) == (str(pipe), "")
    assert left(tmp_path) == ["ids", "pipe"]


def test_what_was_wrong_in_standard_input_is_named_so(command: Command, tmp_path: Path) -> None:
    target = tmp_path / "new" / "ids"
    data = b'{"body": "a"}\n{"body": 1}\n'
    done = command("encode", GPT2, "--corpus", "-:body", "-o", target, stdin=data)
    assert done.code == 2
    assert done.err.startswith("error: standard input:2: the field 'body' is no text")
    assert left(tmp_path) == []


def test_a_state_needs_what_can_be_read_again(command: Command, tmp_path: Path) -> None:
    state = tmp_path / "state"
    done = command(
        "encode", GPT2, "--corpus", "-", "-o", tmp_path / "ids", "--state", state, stdin=b"a"
    )
    assert done.code == 2
    assert "leave --state out" in done.err
    assert left(tmp_path) == []


class _Ending(io.RawIOBase):
    """A stream that Ctrl-C ends."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        raise KeyboardInterrupt


def test_an_interrupt_leaves_no_copy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(_Ending())))
    with pytest.raises(KeyboardInterrupt):
        encode_corpora(load_source(GPT2), ["-"], tmp_path / "new" / "ids", Settings())
    assert left(tmp_path) == []


def test_a_copy_that_has_no_room_is_an_error_of_the_target(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"text")))
    with pytest.raises(TargetError, match="is a file"):
        encode_corpora(load_source(GPT2), ["-"], tmp_path / "file" / "ids", Settings())


def test_a_check_says_what_cannot_be_read_again(command: Command, tmp_path: Path) -> None:
    folder, text = tmp_path / "ids", tmp_path / "t.txt"
    text.write_text("words")
    corpora = ["--corpus", "-", "--corpus", text]
    assert command("encode", GPT2, *corpora, "-o", folder, stdin=b"more").code == 0
    text.unlink()
    done = command("verify-shards", folder)
    assert done.code == 2
    assert "standard input: it was read from a pipe, and cannot be read again" in done.out
    assert f"{text}: it is not there any more" in done.out.replace("\n            ", " ")
    assert "no document was compared" in done.out
    assert "nothing in the files" in done.out
    assert "--sample 0 checks the files only" in done.out
    found = check_token_files(folder)
    assert (found.sampled, found.wrong, len(found.unread)) == (0, (), 2)
    alone = command("verify-shards", folder, "--sample", "0")
    assert alone.code == 0
    assert "not read" not in alone.out
    (folder / "shard-00000.bin").write_bytes(b"")
    assert command("verify-shards", folder, "--sample", "0").code == 1
