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
from hub_server import HubHandler, serving

from bpe_interop import sources
from bpe_interop.errors import FormatError, SourceError, UnsupportedError
from bpe_interop.formats.gguf.read import load
from bpe_interop.sources import load_source
from fixtures import TOKENIZERS
from fixtures import gguf_models as made

COMMIT = "0123456789abcdef0123456789abcdef01234567"
HEAD = next((TOKENIZERS / "gguf-llama3-tiny/gguf").iterdir()).read_bytes()
LARGE = 100 * 10**9
MODEL = next((TOKENIZERS / "spm-tiny/sentencepiece").glob("*.model")).read_bytes()
JSON = (TOKENIZERS / "template-tiny/huggingface/tokenizer.json").read_bytes()
CONFIG = json.dumps({"chat_template": "{{ messages }}"}).encode()
FILES = {
    "model.gguf": (HEAD, LARGE),
    "deep/model.gguf": (HEAD, LARGE),
    "cut.gguf": (HEAD[:300], 300),
    "bert.gguf": (made.gguf({"tokenizer.ggml.model": (made.STRING, "bert")}), LARGE),
    "tokenizer.model": (MODEL, len(MODEL)),
    "tokenizer.json": (JSON, len(JSON)),
    "tokenizer_config.json": (CONFIG, len(CONFIG)),
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
    asked_of: set[str]

    def answer(self, status: int, data: bytes, **headers: str) -> None:
        super().answer(status, data, **headers)
        if self.command != "HEAD":
            self.sent.append(len(data))

    def do_GET(self) -> None:
        file = re.fullmatch(r"/org/tiny/resolve/([^/]+)/(.+)", self.path)
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
        if file[2] not in FILES:
            self.answer(404, b"", X_Error_Code="EntryNotFound", X_Repo_Commit=COMMIT)
            return
        content, size = FILES[file[2]]
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range") or "")
        about = {"ETag": f'"{size}"', "X_Repo_Commit": COMMIT}
        if asked is None:
            assert self.command == "HEAD" or size == len(content), "the whole file was asked for"
            self.answer(200, content, **about)
            return
        self.asked_of.add(file[1])
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
    revisions: set[str] = set()
    named = {"sent": lengths, "asked_of": revisions}
    with serving(type("OneHub", (Handler,), named), monkeypatch, tmp_path):
        yield lengths
    assert revisions <= {COMMIT}, "parts of a file were asked of a branch, which may move"


@pytest.mark.long
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


@pytest.mark.usefixtures("few_texts")
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
def test_one_file_is_the_same_whatever_lies_in_the_cache() -> None:
    alone = load_source("hf:org/tiny:tokenizer.json")
    assert "this file alone" in alone.model.origin.notes[-1]
    assert load_source("hf:org/tiny").model.chat_template == "{{ messages }}"
    again = load_source("hf:org/tiny:tokenizer.json")
    assert (again.files, again.model.added) == (alone.files, alone.model.added)
    assert (again.model.chat_template, again.model.origin) == (None, alone.model.origin)


@pytest.mark.usefixtures("sent")
@pytest.mark.parametrize("name", ["tokenizer.model", "model.gguf"])
def test_where_the_hub_is_not_reached(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    constants = pytest.importorskip("huggingface_hub.constants")
    label = f"hf:org/tiny:{name}"
    folder = tmp_path / "cache/models--org--tiny"
    for place, data in (("refs/main", COMMIT.encode()), (f"snapshots/{COMMIT}/{name}", b"")):
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_bytes(data or FILES[name][0])
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    assert "the hub failed" in load_source(label).model.origin.notes[-1]
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert load_source(label).files == {name: FILES[name][0]}
    (folder / f"snapshots/{COMMIT}/{name}").unlink()
    with pytest.raises(SourceError, match="HF_HUB_OFFLINE"):
        load_source(label)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    with pytest.raises(SourceError, match="cannot be downloaded"):
        load_source(label)


@pytest.mark.usefixtures("sent")
@pytest.mark.parametrize("error", [KeyError("key"), TypeError("type"), RecursionError("deep")])
def test_a_defect_of_ours_is_not_taken_for_a_hub_that_fails(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    label = "hf:org/tiny:tokenizer.model"
    load_source(label)  # a copy lies in the cache now

    def defect(*given: object) -> None:
        raise error

    monkeypatch.setattr(sources, "find_head", defect)
    with pytest.raises(type(error)):
        load_source("hf:org/tiny:model.gguf")
    monkeypatch.setattr(sources, "_head_by_ranges", defect)
    with pytest.raises(type(error)):
        load_source(label)


@pytest.mark.usefixtures("sent")
@pytest.mark.parametrize(
    "error", [RuntimeError("CAS service error"), OSError("reset"), TimeoutError("late")]
)
def test_a_hub_that_fails_midway_leaves_the_copy(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    label = "hf:org/tiny:tokenizer.model"
    load_source(label)

    def fails(*given: object) -> None:
        raise error

    monkeypatch.setattr(sources, "_head_by_ranges", fails)
    assert f"the hub failed: {error}" in load_source(label).model.origin.notes[-1]


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
    with pytest.raises(SourceError, match="--offline") as raised:
        load_source("hf:org/tiny@v1:model.gguf", offline=True)
    assert "hf download org/tiny model.gguf --revision v1" in raised.value.fix
    for kind in ("datasets", "spaces"):
        with pytest.raises(SourceError, match="no owner of models"):
            load_source(f"hf:{kind}/org:tiny/model.gguf")
    for label in ("hf:org/tiny:", "hf:a b:model.gguf", "hf::model.gguf"):
        with pytest.raises(SourceError, match="not the name of a repository"):
            load_source(label)
