"""Reports in files: written whole or not at all, and refused before anything is compared."""

from __future__ import annotations

import html
import importlib
import json
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
from click.testing import CliRunner, Result
from reports import CL100K, GPT2, example, few_texts, real

from bpe_interop import reports as pages
from bpe_interop.cli import cli
from bpe_interop.compare import Report
from bpe_interop.compare.corpus_report import Source
from bpe_interop.errors import TargetError
from bpe_interop.text.visible import LabelledLine
from fixtures import TOKENIZERS

SCHEMA = json.loads((Path(pages.__file__).parent / "report.schema.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def report() -> Report:
    with pytest.MonkeyPatch.context() as patch:
        few_texts(patch)
        return real(GPT2, CL100K)


def test_each_suffix_writes_its_kind(report: Report, tmp_path: Path) -> None:
    paths = [tmp_path / f"out{suffix}" for suffix in pages.SUFFIXES] + [tmp_path / "Out.HTML"]
    paths[0].write_text("before", "utf-8")
    assert pages.write_reports(report, paths) == paths
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in paths}
    assert (tmp_path / "out.json").read_text("utf-8") == pages.to_json(report)
    assert (tmp_path / "out.xml").read_text("utf-8") == pages.to_junit(report)
    assert (tmp_path / "out.html").read_text("utf-8") == pages.to_html(report)
    assert (tmp_path / "Out.HTML").read_text("utf-8") == pages.to_html(report)
    assert (tmp_path / "out.md").read_text("utf-8") == pages.to_markdown(report)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("out.txt", r"\.json, \.xml, \.html, \.md"),
        ("out", r"\.json, \.xml, \.html, \.md"),
        ("none/out.json", "make the directory first"),
        ("file.md/out.json", "file.md"),
        ("folder.html", "name a file in it"),
        ("x" * 300 + ".md", "long"),
        ("nul\0.md", "NUL"),
    ],
)
def test_what_cannot_be_written_is_found_out_before(tmp_path: Path, name: str, says: str) -> None:
    (tmp_path / "file.md").write_text("before", "utf-8")
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(TargetError, match=says):
        pages.check_targets([tmp_path / "fine.md", tmp_path / name])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file.md", "folder.html"]


def test_one_report_that_cannot_be_written_does_not_cost_the_others(
    report: Report, tmp_path: Path
) -> None:
    (tmp_path / "taken.md").mkdir()
    (tmp_path / "taken.md" / "file").touch()
    paths = [tmp_path / "taken.md", tmp_path / "gone" / "out.xml", tmp_path / "out.json"]
    with pytest.raises(TargetError, match=re.escape("taken.md")):
        pages.write_reports(report, paths)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.json", "taken.md"]
    with pytest.raises(TargetError, match="does not say"):
        pages.write_reports(report, ["out.txt"])


def words_of(page: str) -> str:
    """What a page or Markdown says, without markup."""
    return html.unescape(re.sub("<[^>]*>", "", page)).replace("\n", " ")


def test_each_form_says_that_a_proof_found_the_text(report: Report) -> None:
    found = replace(report, differing=0, compared=969)
    sentence = "o text that was run differs (of 969 awkward texts); a proof found the one that does"
    for text in (pages.to_json(found), pages.to_html(found), pages.to_markdown(found), str(found)):
        assert sentence in words_of(text)
    again = replace(report, differing=7, compared=969)
    for text in (pages.to_json(again), pages.to_html(again), pages.to_markdown(again), str(again)):
        assert "7 of 969 awkward texts differ" in words_of(text)


def test_each_form_says_where_a_text_was_made_from_a_document(report: Report) -> None:
    document, left = "It was hello.", "hello"
    made = "the text was made from what stands there, with fewer and other characters"
    digest = sha256(document.encode()).hexdigest()[:16]
    source = Source("part.txt", 12, 345, len(document), True, digest)
    for text in (document, left):
        shown = replace(report, examples=(example(text, source),))
        for page in (pages.to_html(shown), pages.to_markdown(shown)):
            place = "found in part.txt at line 12, byte 345"
            assert place in words_of(page)
            assert (f"{place}; {made}" in words_of(page)) == (text == left)


# The command line


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["verify", *map(str, arguments)], prog_name="bpe-interop")


def test_verify_writes_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few_texts(monkeypatch)
    paths = [tmp_path / f"out{suffix}" for suffix in pages.SUFFIXES]
    options = [word for path in paths for word in ("--report", path)]
    done = run(TOKENIZERS / GPT2, TOKENIZERS / CL100K, *options, "--json")
    assert done.exit_code == 1
    assert done.stdout == paths[0].read_text("utf-8")
    jsonschema.validate(json.loads(done.stdout), SCHEMA)
    root = ElementTree.parse(paths[1]).getroot()
    assert root.get("failures") != "0"
    [failed] = root.findall(".//testcase[@name='verdict']/failure")
    for note in json.loads(done.stdout)["notes"]:
        assert note in (failed.text or "")
    assert sorted(tmp_path.iterdir()) == sorted(paths)


def test_what_is_required_is_followed_by_junit_and_said_in_each_head(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few_texts(monkeypatch)
    both = [TOKENIZERS / "spm-tiny" / name for name in ("sentencepiece", "huggingface")]
    for require, code, errors in (("tested", 0, "0"), ("proved", 2, "1")):
        path, page, text = (tmp_path / f"{require}{end}" for end in (".xml", ".html", ".md"))
        files = [word for file in (path, page, text) for word in ("--report", file)]
        done = run(*both, *files, "--require", require)
        assert done.exit_code == code
        root = ElementTree.parse(path).getroot()
        assert root.get("errors") == errors
        for failed in root.iter("error"):
            assert "not proved: stage " in (failed.text or "")
        first, second = done.stdout.splitlines()[:2]
        heads = [text.read_text("utf-8").splitlines()[0], first]
        heads.append(re.findall("<h1>.*?<span>(.*?)</span>", page.read_text("utf-8"), re.S)[0])
        assert {head.endswith("; but not accepted") for head in heads} == {require == "proved"}
        sign, name, cross = ("❌", "different", "M7.5 7.5l9 9M16.5 7.5l-9 9")
        if require == "tested":
            sign, name, cross = ("☑️", "tested", "M6.5 9.7h11M6.5 14.3h11")
        assert heads[0].startswith(f"## {sign} Equal where tested")
        written = page.read_text("utf-8")
        assert f'<html lang="en" class="{name}">' in written
        assert re.findall('<h1>.*? d="(.*?)"', written, re.S) == [cross]
        why = "because     --require proved asks for a proof"
        assert (second == why) == (require == "proved")


def test_a_lock_file_gives_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few_texts(monkeypatch)
    lock, path = tmp_path / "tokenizer.lock", tmp_path / "out.json"
    made = CliRunner().invoke(cli, ["lock", str(TOKENIZERS / GPT2), "-o", str(lock)])
    assert made.exit_code == 0
    assert run(lock, TOKENIZERS / CL100K, "--report", path, "--report", f"{path}.md").exit_code == 1
    data = json.loads(path.read_text("utf-8"))
    jsonschema.validate(data, SCHEMA)
    assert data["a"]["source"] == str(lock)
    assert data["examples"][0]["text"] == data["witness"]["text"]


@pytest.mark.parametrize("name", ["out.txt", "none/out.xml", "folder.html"])
def test_a_report_that_cannot_be_written_costs_no_comparison(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / "folder.html").mkdir()
    monkeypatch.setattr(importlib.import_module("bpe_interop.cli.verify"), "verify", None)
    done = run("no-such-source", "nor-this", "--report", tmp_path / name)
    assert done.exit_code == 2
    assert "--report" in done.output
    assert "Traceback" not in done.output
    if name == "out.txt":
        assert ".json, .xml, .html, .md" in done.output


def test_a_report_lost_at_the_end_still_leaves_the_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few_texts(monkeypatch)
    path = tmp_path / "out.json"
    module = importlib.import_module("bpe_interop.cli.verify")
    verify = module.verify

    def slow(*given: Any, **more: Any) -> Any:
        path.mkdir()  # what happens to a path in the hours of a comparison
        return verify(*given, **more)

    monkeypatch.setattr(module, "verify", slow)
    fine = tmp_path / "fine.md"
    done = run(TOKENIZERS / GPT2, TOKENIZERS / CL100K, "--report", path, "--report", fine)
    assert isinstance(done.exception, TargetError)
    assert "DIFFERENT" in done.output
    assert fine.exists()


def test_a_closed_pipe_does_not_cost_the_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few_texts(monkeypatch)

    def closed(listed: Iterable[LabelledLine]) -> None:
        raise BrokenPipeError

    module = importlib.import_module("bpe_interop.cli.verify")
    monkeypatch.setattr(module, "print_lines", closed)
    path = tmp_path / "out.json"
    run(TOKENIZERS / GPT2, TOKENIZERS / CL100K, "--report", path)
    assert path.exists()


@pytest.mark.skipif(shutil.which("bash") is None, reason="the command is a shell's")
@pytest.mark.parametrize("text", ["the cat's \\n", "\n\u202eab\u00e9\x1b"])
def test_a_page_names_commands_that_a_shell_runs(report: Report, text: str) -> None:
    """The texts are given here; what the command prints is the text that it was given."""
    sources = str(TOKENIZERS / GPT2), str(TOKENIZERS / CL100K)
    mismatch = replace(report.examples[0].mismatch, text=text)
    shown = replace(
        report,
        a=sources[0],
        b=sources[1],
        mismatch=mismatch,
        notes=("the pattern is another one; bpe-interop convert B new --into A", "a note"),
    )
    page = ElementTree.fromstring(pages.to_html(shown).replace("<!DOCTYPE html>", ""))
    commands = [each.text or "" for each in page.iter("code") if each.get("class") == "command"]
    assert len(commands) == 2
    for command, source in zip(commands, sources, strict=True):
        words = command.replace("bpe-interop", "printf '%s\\0'", 1)
        ran = subprocess.run(["bash", "-c", words], capture_output=True, check=True)
        given = ran.stdout.decode("utf-8").split("\0")
        assert given[:3] == ["encode", source, text]
    [steps] = [each for each in page.iter("section") if each.get("aria-labelledby") == "next"]
    assert "bpe-interop convert B new --into A" in "".join(steps.itertext())
    assert "a note" not in "".join(steps.itertext())
    assert "What to do next" in pages.to_markdown(shown)
