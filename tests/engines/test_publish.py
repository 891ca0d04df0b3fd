"""``convert SRC hf:org/name``: nothing is sent unasked, and what is sent is what was checked.

The hub is a server on loopback that answers the requests which huggingface_hub makes. It takes
every file in the commit itself; large-file storage is not imitated.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import Command, in_process
from conftest import FIXTURES
from hub_server import HubHandler, serving

from bpe_interop.convert import convert
from bpe_interop.errors import TargetError
from bpe_interop.publish import BEGIN, END, address, card_section, with_section

TINY = str(FIXTURES / "tokenizers" / "cl100k-tiny" / "tiktoken")
NAME = "hf:someone/tiny"
PLACE = "https://huggingface.co/someone/tiny"


class Hub:
    """One repository (none at first) and what was asked."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] | None = None
        self.private: object = None
        self.commits: list[dict[str, object]] = []
        self.asked: list[str] = []

    @property
    def commit(self) -> str:
        return f"{len(self.commits):040x}"


class Handler(HubHandler):
    """The part of the hub's interface that publishing takes."""

    hub: Hub

    def _answer(self, status: int, value: object, **headers: str) -> None:
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.answer(status, data, **headers)

    def do_GET(self) -> None:
        self.hub.asked.append(f"{self.command} {self.path}")
        if self.hub.files is None:
            self._answer(404, {"error": "none"}, X_Error_Code="RepoNotFound")
        elif "/resolve/" in self.path:
            data = self.hub.files[self.path.rsplit("/", 1)[1]]
            self._answer(200, data, ETag=f'"{len(data)}"', X_Repo_Commit=self.hub.commit)
        else:
            siblings = [{"rfilename": name} for name in self.hub.files]
            found = {"id": "someone/tiny", "sha": self.hub.commit, "siblings": siblings}
            self._answer(200, found)

    do_HEAD = do_GET

    def do_POST(self) -> None:
        self.hub.asked.append(f"POST {self.path}")
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        if self.path == "/api/repos/create":
            self.hub.files = {".gitattributes": b""}
            asked = json.loads(body)  # the key changed between versions of huggingface_hub
            self.hub.private = asked.get("private") or asked.get("visibility") == "private"
            self._answer(200, {"url": PLACE})
        elif self.path == "/api/validate-yaml":
            self._answer(200, {"errors": [], "warnings": []})
        elif "/preupload/" in self.path:
            asked = json.loads(body)["files"]
            modes = [
                {"path": f["path"], "uploadMode": "regular", "shouldIgnore": False} for f in asked
            ]
            self._answer(200, {"files": modes})
        elif "/commit/" in self.path:
            assert self.hub.files is not None
            lines = [json.loads(line) for line in body.splitlines()]
            (header,) = [line["value"] for line in lines if line["key"] == "header"]
            for line in lines:
                if line["key"] == "file":
                    found = line["value"]
                    self.hub.files[found["path"]] = base64.b64decode(found["content"])
            self.hub.commits.append(header)
            told = {"commitOid": self.hub.commit, "commitUrl": f"{PLACE}/commit/{self.hub.commit}"}
            self._answer(200, {**told, "success": True, "hookOutput": ""})
        else:
            self._answer(404, {"error": self.path})


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    monkeypatch.setenv("HF_TOKEN", "hf_none")
    one = Hub()
    with serving(type("OneHub", (Handler,), {"hub": one}), monkeypatch, tmp_path):
        yield one


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Command]:
    monkeypatch.chdir(tmp_path)
    with in_process(monkeypatch) as found:
        yield found


QUICK = ("--to", "hf", "--no-verify")


def test_a_dry_run_asks_nothing_and_leaves_nothing(hub: Hub, call: Command, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    done = call("convert", TINY, NAME, *QUICK)
    assert done.code == 0, done.err
    assert "--publish" in done.out
    assert "tokenizer.json" in done.out
    assert hub.asked == []
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.long
def test_what_is_published_is_what_is_converted_with_a_card(
    hub: Hub, call: Command, tmp_path: Path
) -> None:
    done = call("convert", TINY, NAME, "--to", "hf", "--publish", "--private")
    assert done.code == 0, done.err
    assert f"{PLACE}/commit/{hub.commit}" in done.out
    assert hub.private is True
    assert hub.files is not None
    assert call("convert", TINY, "local", *QUICK).code == 0
    for path in (tmp_path / "local").iterdir():
        assert hub.files.pop(path.name) == path.read_bytes()
    card = hub.files.pop("README.md").decode("utf-8")
    assert card.startswith("---\nlibrary_name: transformers\n")
    assert "\nPROVED: tiktoken to hf:someone/tiny\n" in card
    assert "tokenizers" in card
    assert str(FIXTURES) not in card
    assert "/tmp" not in card
    assert hub.files == {".gitattributes": b""}


def test_a_repository_is_not_overwritten_and_its_card_stays(hub: Hub, call: Command) -> None:
    hub.files = {"README.md": b"---\nlicense: mit\n---\n# Mine\n", "tokenizer.json": b"{}"}
    refused = call("convert", TINY, NAME, *QUICK, "--publish")
    assert refused.code == 2
    assert "already holds tokenizer.json" in refused.err
    assert hub.commits == []
    done = call("convert", TINY, NAME, *QUICK, "--publish", "--force")
    assert done.code == 0, done.err
    assert hub.commits[0]["parentCommit"] == f"{0:040x}"
    card = hub.files["README.md"].decode("utf-8")
    assert card.startswith("---\nlicense: mit\n---\n# Mine\n\n" + BEGIN)
    assert "NOT VERIFIED: " in card
    again = call("convert", TINY, NAME, *QUICK, "--publish", "--force")
    assert again.code == 0, again.err
    assert hub.files["README.md"].decode("utf-8") == card


def test_a_refused_loss_is_refused_before_the_hub_is_asked(hub: Hub, call: Command) -> None:
    charsmap = str(FIXTURES / "tokenizers" / "spm-plain-tiny" / "sentencepiece")
    done = call("convert", charsmap, NAME, *QUICK, "--publish")
    assert done.code == 1
    assert "see LOSS-sequence_template" in done.err
    assert hub.asked == []


@pytest.mark.long
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((NAME, "--to", "tiktoken"), "--to hf"),
        (("hf:tiny", *QUICK), "hf:org/name"),
        (("hf:a/b/c", *QUICK), "hf:org/name"),
        (("folder", *QUICK, "--publish"), "--publish belongs to"),
        ((NAME, *QUICK, "--publish", "--offline"), "--offline"),
        ((NAME, *QUICK, "--private"), "--private"),
    ],
)
def test_what_cannot_be_published_is_said(
    options: tuple[str, ...], said: str, hub: Hub, call: Command
) -> None:
    done = call("convert", TINY, *options)
    assert done.code == 2
    assert said in done.err
    assert hub.asked == []


def test_a_hub_that_is_not_there_is_an_error(
    hub: Hub, call: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    done = call("convert", TINY, NAME, *QUICK, "--publish")
    assert done.code == 2
    assert "see ERROR-engine" in done.err


def test_json_says_whether_it_was_sent(hub: Hub, call: Command) -> None:
    kept = call("convert", TINY, NAME, *QUICK, "--json")
    assert json.loads(kept.out)["published"] is None
    sent = call("convert", TINY, NAME, *QUICK, "--json", "--publish")
    assert json.loads(sent.out)["published"] == f"{PLACE}/commit/{hub.commit}"


def test_names_of_repositories() -> None:
    assert address("hf:a/b") == ("a/b", None)
    assert address("hf:a/b@next") == ("a/b", "next")


@pytest.mark.parametrize("card", [BEGIN, END + BEGIN, BEGIN + END + BEGIN + END])
def test_a_card_with_odd_marks_is_left_alone(card: str) -> None:
    with pytest.raises(TargetError, match="exactly once"):
        with_section(card, f"{BEGIN}new{END}", "tiny")


def test_only_our_part_of_a_card_changes() -> None:
    old = f"before {BEGIN}old{END} after"
    assert with_section(old, f"{BEGIN}new{END}", "x") == f"before {BEGIN}new{END} after"


def test_a_name_that_holds_a_mark(tmp_path: Path) -> None:
    done = convert(TINY, tmp_path / "out", "huggingface", verify=False)
    section = card_section(replace(done, source=f"{END} {BEGIN} ```"))
    assert (section.count(BEGIN), section.count(END), section.count("```")) == (1, 1, 2)
    assert with_section(with_section(None, section, "x"), section, "x").count(END) == 1
