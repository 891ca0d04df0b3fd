"""What the command line says to somebody who uses it for the first time."""

from __future__ import annotations

import inspect
import json
import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest
from command_line import Command
from conftest import Data
from transformers import AutoTokenizer

import bpe_interop
from bpe_interop.compare import RunOptions
from bpe_interop.errors import ArgumentError, TargetError, UnstatedError
from bpe_interop.gate import describe
from bpe_interop.loss import Loss
from bpe_interop.quoting import show
from fixtures import FIXTURES, ROOT, TOKENIZERS

pytestmark = pytest.mark.usefixtures("few_texts")

ENGLISH = FIXTURES / "corpora" / "english.txt"
RANKS, HUB = TOKENIZERS / "gpt2-tiny" / "tiktoken", TOKENIZERS / "gpt2-tiny" / "huggingface"


def test_scores_that_are_made_up_are_told(command: Command, tmp_path: Path) -> None:
    """On the way back from a format without scores; not where the source has its own."""
    source, dropped = (
        TOKENIZERS / "spm-tiny" / "sentencepiece",
        ("--drop", "decoder", "--drop", "extras", "--no-verify"),
    )
    there = command("convert", source, tmp_path / "hf", "--to", "hf", "--template", "bos", *dropped)
    assert there.code == 0, there.err
    for read, is_told in ((source, False), (tmp_path / "hf", True)):
        target = tmp_path / f"back-{is_told}"
        done = command("convert", read, target, "--to", "spm", *dropped)
        assert done.code == 0, done.err
        assert ("note        the source has no scores, so those" in done.out) is is_told


def test_who_names_a_file_for_what_needs_a_directory_is_told(
    command: Command, tmp_path: Path
) -> None:
    source = TOKENIZERS / "spm-tiny" / "sentencepiece"
    words = ("--to", "spm", "--template", "bos", "--no-verify")
    refused = command("convert", source, tmp_path / "a.model", *words)
    assert refused.code == 1
    assert "sequence_template: " in refused.err
    assert "to keep it, name a directory as the target, not a file" in refused.err
    assert command("convert", source, tmp_path / "a", *words).code == 0
    options = ("--drop", "sequence_template")
    assert "to accept this loss: " + " ".join(options) in refused.err
    assert command("convert", source, tmp_path / "b.model", *words, *options).code == 0


def test_what_would_be_of_no_use_is_said_where_it_is_offered(
    command: Command, tmp_path: Path
) -> None:
    """tiktoken runs no file without a pattern, and none that merges characters."""
    source = TOKENIZERS / "metaspace-tiny" / "huggingface"
    refused = command("convert", source, tmp_path / "a", "--to", "tiktoken")
    assert refused.code == 1
    [loss] = [line for line in refused.err.splitlines() if "- pretokenizer: " in line]
    assert "no pattern would be stated, and tiktoken needs one" in loss
    assert "  to write other ids all the same: --drop alphabet " in refused.err
    assert "to accept" not in refused.err
    bytewise = TOKENIZERS / "prefix-tiny" / "huggingface"
    refused = command("convert", bytewise, tmp_path / "a", "--to", "tiktoken")
    [loss] = [line for line in refused.err.splitlines() if "- pretokenizer: " in line]
    assert "tiktoken needs one; what bpe_interop.load gives has tiktoken's methods" in loss
    assert "  to accept " in refused.err


def test_a_mark_does_not_stand_on_the_quotation_mark() -> None:
    assert show("\u0301") == r'"\u0301"'
    assert show("\u0301e\u0301") == '"\\u0301e\u0301"'
    assert show("e\u0301") == '"e\u0301"'
    assert show("\u095b\u00e9") == '"\\u095b\u00e9"'  # NFC makes two characters of the first


def test_what_happened_is_not_said_as_what_would_happen() -> None:
    loss = Loss("added", "text", '"would" would be lost', "texts would differ", "would")
    assert describe(loss, happened=True) == (
        'added: "would" will be lost; texts will differ; such a text: "would"; see LOSS-added'
    )
    assert "texts would differ" in describe(loss)


def test_a_refusal_names_all_that_is_to_be_dropped(command: Command, tmp_path: Path) -> None:
    source = TOKENIZERS / "cl100k-tiny" / "huggingface"
    target = tmp_path / "pair"
    done = command("convert", source, target, "--to", "gpt2", "--drop", "added")
    assert (done.code, done.out) == (1, "")
    [line] = [line for line in done.err.splitlines() if "to accept this loss: " in line]
    shown, _, in_python = line.partition(": ")[2].partition(" (drop=")
    options = shown.split()
    assert in_python == f"{options[1::2]})"
    assert "added" in options
    done = command("convert", source, target, "--to", "gpt2", *options)
    assert (done.code, done.err) == (0, "")
    assert " would " not in "".join(
        line for line in done.out.splitlines(keepends=True) if line.startswith("dropped")
    )


def test_what_a_directory_names_is_asked_for_no_more(command: Command, tmp_path: Path) -> None:
    """The padding that is named already; the first token of a template, until it has a role."""
    target = ("--to", "hf", "--no-verify", "--force")
    given = ("extend", RANKS, tmp_path / "out", "--special", "<pad>", "--pad", "<pad>", *target)
    done = command(*given)
    assert "no token has the role eos" in done.out
    assert "the one for padding" not in done.out
    first, source = (
        "<|begin_of_text|>",
        TOKENIZERS / "template-tiny" / "huggingface" / "tokenizer.json",
    )
    alone = Path(shutil.copy(source, tmp_path))
    for options, is_told in (((), True), (("--bos", first), False)):
        done = command("convert", alone, tmp_path / "there", *target, *options)
        assert done.code == 0, done.err
        assert ("so bos_token is None" in done.out) is is_told
        served = AutoTokenizer.from_pretrained(tmp_path / "there")
        assert served.convert_ids_to_tokens(served("a")["input_ids"])[0] == first
        assert served.bos_token == (None if is_told else first)


def test_what_is_locked_is_said(command: Command, tmp_path: Path) -> None:
    done = command("lock", RANKS, "-o", tmp_path / "x.lock")
    [line] = [line for line in done.out.splitlines() if line.startswith("locked ")]
    tokens = [line for line in RANKS.glob("*.tiktoken").__next__().read_text().split("\n") if line]
    assert f"the whole tokenizer: {len(tokens):,} tokens, " in line


def test_inspect_says_it_in_words(command: Command) -> None:
    done = command("inspect", RANKS)
    assert done.code == 0
    for word in ("JoinBytes", "removed invert", "unsaid"):
        assert word not in done.out
    assert "decode      the tokens' bytes joined, as UTF-8\n" in done.out


def test_the_time_of_a_verdict_is_in_its_junit_file(command: Command, tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    assert command("verify", RANKS, HUB, "--scope", "text", "--report", report).code == 0
    root = ElementTree.parse(report).getroot()
    [case] = root.findall("testsuite[@name='verdict']/testcase")
    assert float(case.attrib["time"]) > 0
    assert root.attrib["time"] == case.attrib["time"]


@pytest.mark.parametrize(
    ("name", "formats"), [("x.model", "spm, minbpe"), ("x.json", "hf, tekken"), ("x", "gpt2, ")]
)
def test_a_target_of_several_formats_is_asked_about_those(
    command: Command, tmp_path: Path, name: str, formats: str
) -> None:
    done = command("convert", HUB, tmp_path / name)
    assert (done.code, done.out) == (2, "")
    way = "name it with --to (to=...; in Tokenizer.save format=...)"
    assert f"{way}: {formats}" in done.err
    with pytest.raises(TargetError, match=f"{re.escape(way)}: {formats}"):
        bpe_interop.load(HUB).save(tmp_path / name)


def test_a_preset_is_for_the_sources_that_leave_something_unsaid(
    command: Command, tmp_path: Path
) -> None:
    bare = tmp_path / "bare.tiktoken"
    bare.write_bytes((RANKS / "gpt2-tiny.tiktoken").read_bytes())
    own = tmp_path / "own.json"
    stated = {"pat_str": "a|[^a]+", "special_tokens": {"<|x|>": 900}}
    own.write_text(json.dumps(stated), "utf-8")
    page = tmp_path / "page.html"
    assert command("view", bare, HUB, "--text", own, "--preset", own, "-o", page).code == 0
    done = command("view", HUB, "--text", own, "--preset", own, "-o", page)
    assert done.code == 2
    assert done.err.startswith(f"error: {HUB}: the preset ")


@pytest.mark.parametrize("source", ["line\n{% for x in %}", "line\n{% end %}", "line\n{{ ( }}"])
def test_what_is_no_chat_template_is_refused_with_its_line(
    command: Command, tmp_path: Path, source: str
) -> None:
    (tmp_path / "chat.jinja").write_text(source, "utf-8")
    given = ("--chat-template", tmp_path / "chat.jinja")
    done = command("extend", HUB, tmp_path / "out", *given)
    assert done.code == 2
    assert "chat.jinja: line 2: this is no chat template" in done.err
    assert not (tmp_path / "out").exists()


def test_only_commands_that_have_an_option_are_sent_to_it(command: Command, tmp_path: Path) -> None:
    text = tmp_path / "latin.txt"
    text.write_bytes("caf\u00e9\n".encode("latin-1"))
    done = command("inspect", RANKS, "--corpus", text)
    assert (done.code, done.out) == (2, "")
    assert "verify and encode can also read malformed parts as U+FFFD: --errors replace" in done.err
    for name in ("inspect", "convert", "train"):
        assert "--errors" not in command(name, "--help").out
    for given in (("verify", RANKS, RANKS), ("encode", RANKS, "-o", tmp_path / "ids")):
        assert command(*given, "--corpus", text, "--errors", "replace").code == 0


def test_presets_of_a_rank_file_are_named_wherever_its_special_tokens_are_needed(
    command: Command, data: Data, tmp_path: Path
) -> None:
    ranks = data / "llama-3/tokenizer.model"
    names = "name one of llama-3, llama-3.1, llama-3.1-reference with --preset"
    done = command("convert", ranks, tmp_path / "x", "--to", "hf", "--template", "bos")
    assert (done.code, done.out) == (2, "")
    assert f"{names} (preset=...); " in done.err
    done = command("encode", ranks, "hi")
    assert (done.code, done.out) == (2, "")
    assert f"{names}; " in done.err
    assert "or give --special text: " in done.err
    assert command("encode", ranks, "hi", "--special", "text").code == 0
    tokenizer = bpe_interop.load(ranks)
    for call in (lambda: tokenizer.encode("hi"), lambda: tokenizer.with_special_tokens(["<x>"])):
        with pytest.raises(UnstatedError, match=re.escape(f"{names} (preset=...); ")):
            call()


def test_a_format_that_there_is_not_is_a_wrong_word() -> None:
    with pytest.raises(ArgumentError, match="there is no format 'word2vec'"):
        bpe_interop.load(RANKS, format="word2vec")


def test_a_conversion_says_which_of_several_tokenizers_it_read(
    command: Command, tmp_path: Path
) -> None:
    both = tmp_path / "both"
    both.mkdir()
    for file in (HUB / "tokenizer.json", RANKS / "gpt2-tiny.tiktoken"):
        (both / file.name).write_bytes(file.read_bytes())
    given = ("--to", "hf", "--no-verify", "--force")
    done = command("convert", both, tmp_path / "out", *given)
    told = (
        "note        tokenizer.json was read; beside it there is gpt2-tiny.tiktoken, which was not"
    )
    assert told in done.out
    extending = ("--no-verify", "--force", "--special", "<new>")
    assert told in command("extend", both, tmp_path / "out", *extending).out
    done = command("extend", both, tmp_path / "out", *extending, "--json")
    (note,) = [each for each in json.loads(done.out)["notes"] if "was read" in each]
    assert told.endswith(note.partition(":")[0])
    assert told in command("lock", both, "-o", tmp_path / "both.lock").out
    for sides in ((both, HUB), (tmp_path / "both.lock", both)):
        assert note in " ".join(command("verify", *sides).out.split())
    for source in (both / "tokenizer.json", HUB):
        for way in (("convert", *given), ("extend", *extending)):
            assert "was read" not in command(way[0], source, tmp_path / "out", *way[1:]).out


def test_an_error_is_a_document_too(command: Command, tmp_path: Path) -> None:
    for sides in ((tmp_path / "none", RANKS), (RANKS, HUB, "--preset-a", "llama-3")):
        done = command("verify", *sides, "--json")
        assert done.code == 2
        assert done.err.startswith("error: ")
        error = json.loads(done.out)["error"]
        assert error["code"] == "ERROR-source"
        assert error["what"] in done.err
        assert error["fix"] in done.err
        assert command("verify", *sides).out == ""
    done = command("verify", RANKS, "--json")
    assert json.loads(done.out)["error"]["code"] == "ERROR-usage"


def test_every_page_of_a_message_is_printed(command: Command) -> None:
    listed = command("explain").out.splitlines()
    pages = {p.stem: p.read_text("utf-8") for p in (ROOT / "docs/refusals").glob("*-*.md")}
    assert sorted(line.split()[0] for line in listed) == sorted(pages)
    as_data = json.loads(command("explain", "--json").out)
    assert len(as_data) == len(pages)
    for code, page in pages.items():
        assert command("explain", code).out == page
        told = {"code": code, "title": page.split("\n")[0].removeprefix(f"# {code}: ")}
        assert json.loads(command("explain", code, "--json").out) == {**told, "page": page}
        assert told in as_data
    assert command("explain", "loss-ADDED").out == pages["LOSS-added"]
    done = command("explain", "LOSS-aded")
    assert done.code == 2
    assert "did you mean loss-added?" in done.err


@pytest.mark.parametrize("name", ["phi-3-mini", "falcon"])
def test_the_usual_refusals_of_gguf_are_as_the_recipe_says(
    command: Command, data: Data, tmp_path: Path, name: str
) -> None:
    page = (ROOT / "docs" / "recipes" / "gguf.md").read_text("utf-8")
    asked = f"```text\n$ bpe-interop convert {name} "
    target, _, lines = page.partition(asked)[2].partition("```")[0].partition("\n")
    given = ("convert", str(data / name), str(tmp_path / "x.gguf"))
    lines = lines.replace(f"convert {name} {target.split()[0]}", " ".join(given))
    done = command(*given, "--to", "gguf")
    assert (done.code, done.out) == (1, "")
    pattern = ".*".join(map(re.escape, lines.split("...")))
    assert re.fullmatch(pattern, done.err), done.err


def test_a_default_that_help_shows_has_a_name() -> None:
    assert "lambda" not in str(inspect.signature(RunOptions))
