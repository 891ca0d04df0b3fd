"""One file of the hub: ``hf:org/name:FILE``. Of a GGUF file the head is fetched by ranges.

The hub is a server on loopback that answers the requests which huggingface_hub makes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import Command
from conftest import FIXTURES
from hub_server import HubHandler, serving

from bpe_interop.errors import FormatError, SourceError, UnsupportedError
from bpe_interop.formats.gguf.read import load
from bpe_interop.sources import load_source
from fixtures import gguf_models as made

COMMIT = "0123456789abcdef0123456789abcdef01234567"
HEAD = next((FIXTURES / "tokenizers/gguf-llama3-tiny/gguf").iterdir()).read_bytes()
LARGE = 100 * 10**9
MODEL = next((FIXTURES / "tokenizers/spm-tiny/sentencepiece").glob("*.model")).read_bytes()
FILES = {
    "model.gguf": (HEAD, LARGE),
    "deep/model.gguf": (HEAD, LARGE),
    "cut.gguf": (HEAD[:300], 300),
    "bert.gguf": (made.gguf({"tokenizer.ggml.model": (made.STRING, "bert")}), LARGE),
    "tokenizer.model": (MODEL, len(MODEL)),
}
"""Contents, and how large the files are; what is behind the contents is zeros."""


def _rows(folder: str) -> list[dict[str, object]]:
    """The files of a folder as the hub lists them."""
    return [
        {"type": "file", "path": name, "size": size, "oid": "0"}
        for name, (_, size) in FILES.items()
        if name.rpartition("/")[0] == folder
    ]


class Handler(HubHandler):
    """The part of the hub's interface that reading takes."""

    sent: list[int]

    def answer(self, status: int, data: bytes, **headers: str) -> None:
        super().answer(status, data, **headers)
        if self.command != "HEAD":
            self.sent.append(len(data))

    def do_GET(self) -> None:
        file = re.fullmatch(r"/org/tiny/resolve/[^/]+/(.+)", self.path)
        if file is None:
            tree = re.fullmatch(r"/api/models/org/tiny/tree/[^/?]+/?([^?]*)(\?.*)?", self.path)
            info = {"id": "org/tiny", "sha": COMMIT, "siblings": []}
            if tree is not None:
                self.answer(200, json.dumps(_rows(tree[1])).encode())
            elif self.path.startswith("/api/models/org/tiny"):
                self.answer(200, json.dumps(info).encode())
            else:
                self.answer(404, b"{}", X_Error_Code="RepoNotFound")
            return
        if file[1] not in FILES:
            self.answer(404, b"", X_Error_Code="EntryNotFound", X_Repo_Commit=COMMIT)
            return
        content, size = FILES[file[1]]
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range") or "")
        about = {"ETag": f'"{size}"', "X_Repo_Commit": COMMIT}
        if asked is None:
            assert self.command == "HEAD" or size == len(content), "the whole file was asked for"
            self.answer(200, content, **about)
            return
        first, last = int(asked[1]), min(int(asked[2]), size - 1)
        part = content[first : last + 1]
        part += bytes(last + 1 - first - len(part))
        self.answer(206, part, Content_Range=f"bytes {first}-{last}/{size}", **about)

    do_HEAD = do_GET

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"] or 0))
        self.answer(200, json.dumps(_rows("") + _rows("deep")).encode())


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[int]]:
    """The lengths of the answers of a hub, whose cache is empty."""
    lengths: list[int] = []
    with serving(type("OneHub", (Handler,), {"sent": lengths}), monkeypatch, tmp_path):
        yield lengths


@pytest.mark.parametrize("name", ["model.gguf", "deep/model.gguf"])
@pytest.mark.parametrize("at", ["", "@main", f"@{COMMIT}"])
def test_of_a_large_file_only_the_head_is_fetched(
    name: str, at: str, sent: list[int], tmp_path: Path
) -> None:
    loaded = load_source(f"hf:org/tiny{at}:{name}")
    assert loaded.model.vocab == load({"model.gguf": HEAD}).vocab
    assert (loaded.format.name, loaded.label) == ("gguf", f"hf:org/tiny{at}:{name}")
    assert sum(sent) < 4 << 20
    assert not (tmp_path / "cache").exists()


def test_as_a_user_asks_for_it(sent: list[int], command: Command, tmp_path: Path) -> None:
    here = tmp_path / "here.gguf"
    here.write_bytes(HEAD)
    done = command("verify", "hf:org/tiny:model.gguf", here)
    assert (done.code, "PROVED" in done.out) == (0, True)
    assert "llama-bpe" in command("inspect", "hf:org/tiny:model.gguf").out
    assert sum(sent) < 8 << 20


def test_any_other_file_is_fetched_whole(sent: list[int]) -> None:
    assert load_source("hf:org/tiny:tokenizer.model").format.name == "sentencepiece"
    assert load_source("hf:org/tiny:tokenizer.model", offline=True).model.vocab.ids


@pytest.mark.usefixtures("sent")
def test_what_is_not_there_or_not_read() -> None:
    for name, error, what in (
        ("cut.gguf", FormatError, "the file ends after 300 bytes"),
        ("bert.gguf", UnsupportedError, "WordPiece"),
        ("none.gguf", SourceError, "cannot be downloaded"),
    ):
        with pytest.raises(error, match=what) as raised:
            load_source(f"hf:org/tiny:{name}")
        assert raised.value.where.startswith("hf:org/tiny:")
    with pytest.raises(SourceError, match="--offline"):
        load_source("hf:org/tiny:model.gguf", offline=True)
    for label in ("hf:org/tiny:", "hf:a b:model.gguf", "hf::model.gguf"):
        with pytest.raises(SourceError, match="not the name of a repository"):
            load_source(label)
