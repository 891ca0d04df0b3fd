"""What the command line says to somebody who uses it for the first time."""

from __future__ import annotations

import gzip
import inspect
import json
import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest
from command_line import Command
from conftest import FIXTURES, ROOT, Data
from transformers import AutoTokenizer

import bpe_interop
from bpe_interop.errors import ArgumentError, TargetError, UnstatedError
from bpe_interop.gate import describe
from bpe_interop.loss import Loss
from bpe_interop.model import show
from bpe_interop.verify import RunOptions

pytestmark = pytest.mark.usefixtures("few_texts")

TINY = FIXTURES / "tokenizers"
ENGLISH = FIXTURES / "corpora" / "english.txt"
RANKS, HUB = TINY / "gpt2-tiny" / "tiktoken", TINY / "gpt2-tiny" / "huggingface"


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (("encode", RANKS, "a", "--template"), "to place what the tokenizer's template says: "),
        (("convert", RANKS, "x", "--add-special-tokens"), "around each text: --template"),
        (("decode", RANKS, "--skip-special-token", "1"), "Did you mean '--skip-special-tokens'?"),
        (("view", RANKS, "hello", "-o", "page.html"), "to show a text: --text FILE"),
        (
            ("view", RANKS, ENGLISH, "-o", "page.html"),
            f"to show the text in it: --text {ENGLISH.as_posix()}",
        ),
    ],
)
def test_what_was_meant_is_named(
    command: Command, arguments: tuple[object, ...], answer: str
) -> None:
    done = command(*arguments)
    assert (done.code, done.out) == (2, "")
    assert answer in done.err


@pytest.mark.parametrize(
    ("preset", "answer"),
    [
        ("llama-3.2", "name llama-3.1: its tokens are those of the tokenizer.json of Llama 3.2; "),
        ("llama3.2", "name llama-3.1: its tokens are those of the tokenizer.json of Llama 3.2; "),
        ("llama-4", "llama-3 is another version, whose tokens may be others; "),
        ("qwen3", "qwen is another version, whose tokens may be others; "),
        ("gpt-5", "name o200k_base, which gpt-5 has; "),
        ("gpt-oss", "name o200k_harmony: tiktoken has it for gpt-oss; "),
        ("llama3.1", "did you mean llama-3.1? "),
        ("cl100kbase", "did you mean cl100k_base? "),
        ("phi-4", ""),
    ],
)
def test_a_preset_of_another_version_is_not_called_a_misspelling(
    command: Command, preset: str, answer: str
) -> None:
    done = command("inspect", RANKS, "--preset", preset)
    assert done.code == 2
    assert done.err.splitlines()[1].startswith(f"  {answer}presets: gpt2, ")


@pytest.mark.parametrize("name", ["gpt2", "cl100k_base", "o200k_harmony", "gpt-4o"])
@pytest.mark.parametrize(
    "words",
    [
        ("encode", "{}", "x"),
        ("decode", "{}", "1"),
        ("inspect", "{}"),
        ("convert", "{}", "out", "--to", "hf"),
        ("verify", "{}", RANKS),
        ("lock", "{}", "-o", "a.lock"),
    ],
)
def test_a_name_of_tiktoken_is_known_where_a_path_is_meant(
    command: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[object, ...],
    name: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    done = command(*(str(word).format(name) for word in words))
    assert done.code == 2
    assert f"{name}: there is no such file or directory" in done.err
    assert f"did you mean tiktoken:{name}?" in done.err


def test_a_name_that_nothing_has_is_only_a_path(command: Command) -> None:
    assert "did you mean" not in command("inspect", "nonesuch").err


def test_scores_that_are_made_up_are_told(command: Command, tmp_path: Path) -> None:
    """On the way back from a format without scores; not where the source has its own."""
    source, dropped = (
        TINY / "spm-tiny" / "sentencepiece",
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
    source = TINY / "spm-tiny" / "sentencepiece"
    words = ("--to", "spm", "--template", "bos", "--no-verify")
    refused = command("convert", source, tmp_path / "a.model", *words)
    assert refused.code == 1
    assert "sequence_template: " in refused.err
    assert "to keep it, name a directory as the target, not a file" in refused.err
    assert command("convert", source, tmp_path / "a", *words).code == 0
    options = ("--drop", "sequence_template")
    assert "to accept this loss: " + " ".join(options) in refused.err
    assert command("convert", source, tmp_path / "b.model", *words, *options).code == 0


def test_a_number_that_is_negative_is_no_option(command: Command) -> None:
    done = command("decode", RANKS, "-5")
    assert (done.code, done.out) == (2, "")
    assert 'the ids: "-5" is not an id' in done.err


@pytest.mark.parametrize(
    ("name", "pattern"),
    [("gpt-4", "cl100k_base"), ("GPT4o", "o200k_base"), ("cl100kbase", "cl100k_base")],
)
def test_a_pattern_that_is_nearly_named_is_answered(
    command: Command, tmp_path: Path, name: str, pattern: str
) -> None:
    text = tmp_path / "text.txt"
    text.write_text("hello", "utf-8")
    done = command(
        "train", text, "-o", tmp_path / "x", "--to", "hf", "--merges", 3, "--pattern", name
    )
    assert (done.code, done.out) == (2, "")
    assert f"did you mean {pattern}" in done.err


@pytest.mark.parametrize("content", ["", "{", "<<<<<<< HEAD", '{"bpe_interop_lock": 1', "{}"])
def test_a_lock_file_that_cannot_be_read_says_what_to_do(
    command: Command, tmp_path: Path, content: str
) -> None:
    lock = tmp_path / "tokenizer.lock"
    lock.write_text(content, "utf-8")
    for sides in ((lock, RANKS), (RANKS, lock)):
        done = command("verify", *sides)
        assert (done.code, done.out) == (2, "")
        assert "or lock the tokenizer again: bpe-interop lock SRC -o FILE" in done.err


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
    source = TINY / "cl100k-tiny" / "huggingface"
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


def test_who_serves_a_directory_is_told_that_nothing_ends_a_text(
    command: Command, tmp_path: Path
) -> None:
    for place, options, is_told in (
        ("plain", (), True),
        ("named", ("--eos", "<|endoftext|>"), False),
        ("alone.json", (), False),
    ):
        done = command("convert", RANKS, tmp_path / place, "--to", "hf", "--no-verify", *options)
        assert done.code == 0
        assert ("no token has the role eos" in done.out) is is_told


def test_what_a_directory_names_is_asked_for_no_more(command: Command, tmp_path: Path) -> None:
    """The padding that is named already; the first token of a template, until it has a role."""
    target = ("--to", "hf", "--no-verify", "--force")
    given = ("extend", RANKS, tmp_path / "out", "--special", "<pad>", "--pad", "<pad>", *target)
    done = command(*given)
    assert "no token has the role eos" in done.out
    assert "the one for padding" not in done.out
    first, source = "<|begin_of_text|>", TINY / "template-tiny" / "huggingface" / "tokenizer.json"
    alone = Path(shutil.copy(source, tmp_path))
    for options, is_told in (((), True), (("--bos", first), False)):
        done = command("convert", alone, tmp_path / "there", *target, *options)
        assert done.code == 0, done.err
        assert ("so bos_token is None" in done.out) is is_told
        served = AutoTokenizer.from_pretrained(tmp_path / "there")
        assert served.convert_ids_to_tokens(served("a")["input_ids"])[0] == first
        assert served.bos_token == (None if is_told else first)


def test_a_pair_is_extended_in_another_format(command: Command, tmp_path: Path) -> None:
    pair = TINY / "shuffled-tiny" / "gpt2"
    given = ("extend", pair, tmp_path / "out", "--preset", "gpt2", "--special", "<new>")
    done = command(*given)
    assert done.code == 1
    assert "name a format that holds it, such as --to hf; or to accept" in done.err


def test_ids_beyond_the_size_that_was_asked_for_are_said(command: Command, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("hello hello hello", "utf-8")
    given = ("--to", "hf", "--vocab-size", "258", "--no-verify")
    done = command("train", text, "-o", tmp_path / "x", *given, "--special", "<a>")
    assert "259 ids, 1 of them special, beyond the 258 of --vocab-size" in done.out
    done = command("train", text, "-o", tmp_path / "y", *given)
    assert "258 ids, 0 of them special\n" in done.out


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


def test_a_packed_file_is_to_be_unpacked(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "merges.txt.gz"
    path.write_bytes(gzip.compress(b"#version\na b\n"))
    done = command("inspect", path)
    assert (done.code, done.out) == (2, "")
    assert "this is packed (gzip)" in done.err


def test_another_kind_of_model_is_told_what_runs_it(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({"version": "1.0", "model": {"type": "Unigram"}}), "utf-8")
    done = command("inspect", path)
    assert (done.code, done.out) == (2, "")
    assert "run the file in the library that made it" in done.err


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


@pytest.mark.parametrize(("name", "meant"), [("transformers", "hf"), ("llama.cpp", "gguf")])
def test_an_engine_that_is_named_for_a_format_is_understood(
    command: Command, tmp_path: Path, name: str, meant: str
) -> None:
    done = command("convert", RANKS, tmp_path / "out", "--to", name)
    assert done.code == 2
    assert f"did you mean {meant}?" in done.err


def test_a_text_that_names_a_file_is_told_of(command: Command) -> None:
    done = command("encode", RANKS, HUB / "tokenizer.json")
    assert done.code == 0
    assert "tokenizer.json is encoded as a text, and is the name of a file" in done.err
    assert command("encode", RANKS, "hello").err == ""


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


def test_a_format_is_advised_where_it_tells_tokenizers_apart(
    command: Command, tmp_path: Path
) -> None:
    ranks = (RANKS / "gpt2-tiny.tiktoken").read_bytes()
    for name in ("a.tiktoken", "b.tiktoken"):
        (tmp_path / name).write_bytes(ranks)
    done = command("inspect", tmp_path)
    assert done.code == 2
    assert "\n  name one of the files\n" in done.err
    for name in ("encoder.json", "vocab.bpe"):
        (tmp_path / name).write_bytes((TINY / "gpt2-tiny" / "gpt2" / name).read_bytes())
    done = command("inspect", tmp_path)
    assert "\n  name one of the files, or a format with --from (format=...): gpt2\n" in done.err
    assert command("inspect", tmp_path, "--from", "gpt2").code == 0
    assert command("inspect", tmp_path / "b.tiktoken").code == 0


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


@pytest.mark.parametrize("options", [("--to", "word2vec"), ("--to", "hf", "--from", "word2vec")])
def test_a_format_that_there_is_not_is_a_wrong_word(
    command: Command, tmp_path: Path, options: tuple[str, ...]
) -> None:
    done = command("convert", RANKS, tmp_path / "x", *options)
    assert (done.code, done.out) == (2, "")
    assert done.err.endswith("\n  see ERROR-argument\n")
    with pytest.raises(ArgumentError, match="there is no format 'word2vec'"):
        bpe_interop.load(RANKS, format="word2vec")


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("openai-community/gpt2", True),
        ("Qwen/Qwen2.5-0.5B@main", True),
        ("models/gpt2.json", False),
        ("a/b/c", False),
        ("../gpt2", False),
        ("here/gpt2", False),
    ],
)
def test_a_name_of_the_hub_is_guessed(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, is_one: bool
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path)
    done = command("inspect", name)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"error: {name}: there is no such file or directory\n")
    assert (f"; did you mean hf:{name}?\n" in done.err) is is_one


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


def test_json_of_a_verdict_that_cannot_be_had_is_nothing(command: Command, tmp_path: Path) -> None:
    for sides in ((tmp_path / "none", RANKS), (RANKS, HUB, "--preset-a", "llama-3")):
        done = command("verify", *sides, "--json")
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith("error: ")


def test_help_says_where_the_pages_of_messages_are(command: Command) -> None:
    done = command("--help")
    words = " ".join(done.out.split())
    assert "LOSS-added or ERROR-source is a page in docs/refusals" in words
    for name in ("LOSS-added", "ERROR-source"):
        assert (ROOT / "docs" / "refusals" / f"{name}.md").is_file()


@pytest.mark.parametrize("name", ["phi-3-mini", "falcon"])
def test_the_usual_refusals_of_gguf_are_as_the_recipe_says(
    command: Command, data: Data, tmp_path: Path, name: str
) -> None:
    page = (ROOT / "docs" / "recipes" / "gguf.md").read_text("utf-8")
    asked = f"```text\n$ bpe-interop convert {name} "
    _, _, lines = page.partition(asked)[2].partition("```")[0].partition("\n")
    done = command("convert", data / name, tmp_path / "x.gguf", "--to", "gguf")
    assert (done.code, done.out) == (1, "")
    pattern = ".*".join(map(re.escape, lines.split("...")))
    assert re.fullmatch(pattern, done.err), done.err


def test_a_default_that_help_shows_has_a_name() -> None:
    assert "lambda" not in str(inspect.signature(RunOptions))


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("encode", "some text", HUB), ("encode", HUB, "'some text'")),
        (("encode", "some text", "tiktoken:gpt2"), ("encode", "tiktoken:gpt2", "'some text'")),
        (("decode", "12", "13", HUB), ("decode", HUB, "12", "13")),
        (("convert", "--to", "hf", "new", HUB), ("convert", HUB, "new")),
        (("extend", "new", HUB), ("extend", HUB, "new")),
    ],
)
def test_a_source_behind_the_other_arguments_is_named(
    command: Command, tmp_path: Path, arguments: tuple[object, ...], line: tuple[object, ...]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        done = command(*arguments)
    assert (done.code, done.out) == (2, "")
    said = " ".join(done.err.split())
    assert "is no source, and" in said
    assert f"did you mean: bpe-interop {' '.join(map(str, line))} see ERROR-source" in said


def test_a_text_that_names_a_file_of_another_kind_is_no_source(
    command: Command, tmp_path: Path
) -> None:
    (tmp_path / "README").write_text("words")
    done = command("encode", tmp_path / "mistyped", tmp_path / "README")
    assert "there is no such file or directory" in done.err
    assert "did you mean" not in done.err


def test_a_text_of_two_words_needs_quotes(command: Command) -> None:
    done = command("encode", HUB, "hello", "world")
    assert done.code == 2
    assert "TEXT is one argument, and here are 2: put quotes around it: 'hello world'" in done.err
    assert command("encode", HUB, "hello world", "--json").code == 0
    assert command("encode", HUB, "", "--json").out == "[]\n"
    assert command("encode", HUB, "--json", stdin=b"hello").out.startswith("[")
