"""What serves a tokenizer: live objects of transformers, a folder in it, and tiktoken's plugins."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tokenizers
import transformers
from command_line import Command
from sentencepiece import SentencePieceProcessor
from tiktoken_encodings import CL100K, HOLDS, small

import bpe_interop
from bpe_interop.convert import convert
from bpe_interop.errors import EngineError, LossyConversionError, TargetError
from bpe_interop.model import FIELDS, all_ids
from bpe_interop.proof.prove import prove
from bpe_interop.reports import to_markdown
from bpe_interop.sources import load_source
from bpe_interop.statement import Statement
from bpe_interop.tokenizer import Tokenizer
from fixtures import TOKENIZERS

pytestmark = pytest.mark.usefixtures("few_texts")

RANKS = TOKENIZERS / "cl100k-tiny" / "tiktoken"
END = "<|endoftext|>"
TEXT = f"Hello world{END} 2023"


def test_a_tokenizer_of_transformers_and_back(tmp_path: Path) -> None:
    said = Statement(template="bos", roles={"pad": "</s>"}, chat_template="{{ messages }}")
    source = TOKENIZERS / "spm-tiny" / "sentencepiece"
    convert(source, tmp_path / "my-tok", "hf", said=said, verify=False)
    live: Any = transformers.AutoTokenizer.from_pretrained(tmp_path / "my-tok")
    own = Tokenizer.from_transformers(live)
    text = "Hello world</s> 2023"
    expected = live(text)["input_ids"]
    assert own.encode(text, allowed_special="all", add_special_tokens=True) == expected
    assert own.name == "my-tok"
    again = own.to_transformers()
    assert again(text)["input_ids"] == expected
    both: tuple[Any, Any] = live, again
    for one in both:
        assert (one.bos_token, one.pad_token, one.mask_token) == ("<s>", "</s>", None)
        assert one.chat_template == "{{ messages }}"
    with pytest.raises(EngineError, match="from_transformers"):
        Tokenizer.from_tokenizers(live)
    with pytest.raises(EngineError, match="no pipeline"):
        Tokenizer.from_transformers(object())


@pytest.fixture
def tuned(tmp_path: Path) -> Path:
    """A fine-tuned folder: a `.model`, with a special token beside it."""
    folder = tmp_path / "tuned"
    folder.mkdir()
    shutil.copy(TOKENIZERS / "spm-tiny" / "sentencepiece" / "tokenizer.model", folder)
    (folder / "added_tokens.json").write_text('{"<|im_end|>": 1200}')
    config = {"tokenizer_class": "LlamaTokenizer", "add_bos_token": True, "eos_token": "<|im_end|>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return folder


TURN = "<|im_end|>\nthere<|im_end|> a"


def served(folder: Path) -> Any:
    live: Any = transformers.AutoTokenizer.from_pretrained(folder)
    return live(TURN)["input_ids"]


def pasted(line: str, folder: Path) -> int:
    """A command as a shell runs it."""
    line = line.replace("bpe-interop ", f"{shlex.quote(sys.executable)} -m bpe_interop ")
    line = line.replace("python -c", f"{shlex.quote(sys.executable)} -c")
    return subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True).returncode


@pytest.mark.long
def test_a_source_that_is_served_otherwise_is_told(
    command: Command, tmp_path: Path, tuned: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = convert("tuned", "written", "hf")
    assert done.report is not None
    found = done.report.source_served
    assert found is not None
    assert done.report.verdict == "proved"
    # Of the text that is shown, the ids of the folder itself, and of what was written.
    for folder, ids in (("tuned", found.mismatch.ids_b), ("written", found.mismatch.ids_a)):
        live: Any = transformers.AutoTokenizer.from_pretrained(folder)
        assert live(found.mismatch.text, add_special_tokens=False)["input_ids"] == list(ids)
    assert 0 < found.differing < found.texts
    lines = list(done.lines())
    labels = [line.label for line in lines]
    assert labels[-5:] == ["differs", "verdict", "note", "to check", "to have it"]
    verdict, to_check, to_have = (lines[place].text for place in (-4, -2, -1))
    assert "; ids that no text gives decode otherwise; the output tested in" in verdict
    assert "with special tokens parsed, tested on" in verdict
    assert served(Path("tuned")) != served(Path("written"))
    assert "gives other ids with the source folder" in to_markdown(done.report)
    assert verdict.endswith("; transformers gives other ids with the source (see: differs)")
    assert pasted("bpe-interop verify tuned written", tmp_path) == 1
    assert pasted(to_check, tmp_path) == 0
    # What is offered works: what transformers saves is converted to what it serves.
    assert pasted(to_have, tmp_path) == 0
    assert served(Path("written")) == served(tuned)
    saved = convert("tuned-saved", "again", "hf")
    assert saved.report is not None
    assert saved.report.source_served is None
    assert served(Path("again")) == served(tuned)
    told = json.loads(command("convert", "tuned", "third", "--to", "hf", "--json").out)
    assert told["to_check"] == to_check.replace("written", "third")
    assert told["verdict"]["stray_ids"] is True
    assert told["source_served"] == {
        "engine": "transformers",
        "version": transformers.__version__,
        "texts": found.texts,
        "differing": found.differing,
        "text": found.mismatch.text,
        "asked": found.mismatch.mode.scope,
        "ids": list(found.mismatch.ids_b),
        "read": list(found.mismatch.ids_a),
        "command": to_have.replace("written", "third"),
    }


def test_a_lock_of_what_is_served_otherwise_says_what_to_do(
    command: Command, tmp_path: Path, tuned: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command("lock", tuned.name, "-o", "tuned.lock")
    ran = command("verify", "tuned.lock", tuned.name, "--engine-b", "transformers")
    assert ran.code == 1
    *_, note = ran.out.rstrip().split("\n")
    told, commands = note.split(": ", 1)
    assert told.endswith("if it did so before an upgrade too, lock what it serves")
    assert pasted(commands, tmp_path) == 0
    for each in ("tuned-served", "tuned"):
        ran = command("verify", "tuned-served.lock", each, "--engine-b", "transformers")
        assert ran.code == 0, ran.out
        assert "before an upgrade" not in ran.out
    # A token that is placed around the text is not what its decoding is shown by.
    stages = prove(load_source(tuned).model, load_source("tuned-served").model).stages
    [decoding] = [stage for stage in stages if stage.name == "decoding"]
    assert decoding.witness == "<unk>"
    assert decoding.why.startswith('the id 0 decodes to " \u2047 " in the first, to "<unk>" in')


def test_what_is_no_folder_of_the_library_is_not_replaced_by_one(
    tuned: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command writes beside it, and the one that was given is said again, of that folder."""
    monkeypatch.chdir(tuned.parent)
    tuned.rename("convert")  # called as the command is
    done = convert("convert", "spm", "spm")
    assert done.report is not None
    found = done.report.source_served
    assert found is not None
    assert found.before
    assert " convert-saved convert-served --to hf && " in found.command
    words = ["convert", "convert", "spm", "--to", "spm"]
    *_, then = done.lines(words=words)
    assert then.label == "then"
    assert then.text == "bpe-interop convert convert-served spm --to spm --force"
    *_, then = done.lines()
    assert then.text == "the same of convert-served, with --force"


def test_ids_of_a_corpus_come_with_what_was_noted_of_their_files(
    command: Command, tmp_path: Path, tuned: Path
) -> None:
    (tmp_path / "a.txt").write_text("Hello world")
    given = ("--corpus", tmp_path / "a.txt", "-o", tmp_path / "shards", "--special", "text")
    told = json.loads(command("encode", tuned, *given, "--json").out)
    assert any("LlamaTokenizer puts none before a part" in note for note in told["notes"])


@pytest.mark.parametrize("legacy", [True, False])
def test_an_extended_model_file_is_served_with_the_settings_of_its_source(
    command: Command, tmp_path: Path, tuned: Path, monkeypatch: pytest.MonkeyPatch, legacy: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tuned / "tokenizer_config.json"
    kept = {"legacy": legacy, "padding_side": "left", "model_max_length": 4096}
    file.write_text(json.dumps({**json.loads(file.read_bytes()), **kept, "pad_token": "<unk>"}))
    ran = command("extend", "tuned", "more", "--token", "zzyzx")
    assert ran.code == 0, ran.err
    before, after = map(served, (tuned, Path("more")))
    assert after == before
    live: Any = transformers.AutoTokenizer.from_pretrained("more")
    assert {key: getattr(live, key) for key in kept if key != "legacy"}.items() <= kept.items()
    assert (live.eos_token, live.pad_token) == ("<|im_end|>", "<unk>")
    assert "extras" not in ran.out
    # What transformers serves of the source is written first, and then extended.
    lines = ran.out.split("\n")
    [write], [then] = (
        [line[12:] for line in lines if line.startswith(label)] for label in ("to have it", "then ")
    )
    assert pasted(f"{write} && {then}", tmp_path) == 0
    assert served(Path("more")) == before
    names = load_source("more").model.vocab.ids
    assert b"zzyzx" in names or "zzyzx" in {t.text for t in load_source("more").model.added or ()}


@pytest.mark.long
def test_what_was_saved_is_not_to_be_saved_again(
    tmp_path: Path, tuned: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """transformers 5 does not save ``legacy``, so it serves what it saved otherwise."""
    monkeypatch.chdir(tmp_path)
    config = json.loads((tuned / "tokenizer_config.json").read_bytes())
    (tuned / "tokenizer_config.json").write_text(json.dumps({**config, "legacy": True}))
    first = convert("tuned", "first", "hf").report
    assert first is not None
    assert first.source_served is not None
    assert served(Path("first")) != served(tuned)
    assert pasted(first.source_served.command, tmp_path) == 0
    assert served(Path("first")) == served(tuned) != served(Path("tuned-saved"))
    again = convert("tuned-saved", "again", "hf")
    assert again.report is not None
    assert again.report.source_served is not None
    assert again.report.source_served.saved
    labels = [line.label for line in again.lines()]
    assert "differs" in labels
    assert "to have it" not in labels
    assert served(Path("again")) == served(tuned)


@pytest.mark.long
@pytest.mark.parametrize("name", ["gpt2-tiny", "cl100k-tiny"])
def test_tokens_that_only_a_configuration_has_are_had_by_a_command(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Where ids have holes, transformers 5 does not serve what it saved: the command fails."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(TOKENIZERS / name / "huggingface", "tuned")
    size = max(all_ids(load_source("tuned").model)) + 1
    file = Path("tuned/tokenizer_config.json")
    config = json.loads(file.read_bytes())
    config.setdefault("added_tokens_decoder", {})[str(size)] = {"content": "<|tool|>"}
    file.write_text(json.dumps(config))
    ran = command("convert", "tuned", "out", "--to", "hf")
    assert ran.code == 1
    start = "  to have them: "
    [line] = [line for line in ran.err.split("\n") if line.startswith(start)]
    assert pasted(line.removeprefix(start), tmp_path) == (name == "cl100k-tiny")
    ids = [
        transformers.AutoTokenizer.from_pretrained(folder)("a<|tool|>b")["input_ids"]
        for folder in ("tuned", "tuned-served")
    ]
    assert size in ids[0]
    assert (ids[0] == ids[1]) == (name == "gpt2-tiny")


def test_a_source_that_is_served_as_it_is_read_is_checked_there(tmp_path: Path) -> None:
    done = convert(TOKENIZERS / "cl100k-tiny" / "huggingface", tmp_path / "written", "hf")
    assert done.report is not None
    assert done.report.source_served is None
    assert done.to_check == ""
    checks = [(each.of, each.engine) for each in done.report.checks]
    assert checks[-2:] == [("target", "transformers"), ("source", "transformers")]


def test_a_source_that_cannot_be_served_is_a_note(tmp_path: Path, tuned: Path) -> None:
    config = json.loads((tuned / "tokenizer_config.json").read_text("utf-8"))
    config["tokenizer_class"] = "MarianTokenizer"
    (tuned / "tokenizer_config.json").write_text(json.dumps(config))
    done = convert(tuned, tmp_path / "written", "hf")
    assert done.report is not None
    assert done.report.source_served is None
    [skipped] = [line.text for line in done.lines() if line.label == "not checked"]
    assert skipped.startswith("source in transformers: ")
    assert done.report.verdict == "proved"


@pytest.mark.long
def test_what_code_of_a_repository_serves_is_not_run(tmp_path: Path, tuned: Path) -> None:
    """AutoTokenizer without that code, as it is run here, is not what serves the folder."""
    file = tuned / "tokenizer_config.json"
    config = json.loads(file.read_bytes())
    config["auto_map"] = {"AutoTokenizer": ["tokenization_own.OwnTokenizer", None]}
    file.write_text(json.dumps(config))
    report = convert(tuned, tmp_path / "written", "hf").report
    assert report is not None
    assert report.source_served is None
    ran = [(check.of, check.engine) for check in report.checks]
    assert ("target", "transformers") in ran
    assert ("source", "transformers") not in ran


@pytest.mark.parametrize("way", ["a file", "no tokenizer_config.json"])
@pytest.mark.parametrize("to", ["hf", "gguf"])
def test_what_transformers_does_not_serve_is_not_run(
    tmp_path: Path, tuned: Path, way: str, to: str
) -> None:
    source = tuned
    if way == "a file":
        source = tuned / "tokenizer.model"
    else:
        (tuned / "tokenizer_config.json").unlink()
    target = tmp_path / ("written.gguf" if to == "gguf" else "written")
    said = Statement(template="bos")
    # Without its configuration a token says nothing of its kind.
    done = convert(source, target, to, said=said, drop="added" if to == "gguf" else ())
    assert done.report is not None
    assert done.report.source_served is None
    asked = [each.of for each in done.report.checks if each.engine == "transformers"]
    assert asked == ([] if to == "gguf" else ["target"])


def test_a_source_that_is_served_otherwise_is_told_whatever_is_written(
    tmp_path: Path, tuned: Path
) -> None:
    """Its network was trained with what transformers served, and is to run in llama.cpp now."""
    done = convert(tuned, tmp_path / "written.gguf")
    assert done.report is not None
    found = done.report.source_served
    assert found is not None
    live: Any = transformers.AutoTokenizer.from_pretrained(tuned)
    assert live(found.mismatch.text, add_special_tokens=False)["input_ids"] == [
        *found.mismatch.ids_b
    ]
    assert [line.label for line in done.lines()].count("differs") == 1


def test_two_plugins_live_side_by_side(command: Command, tmp_path: Path) -> None:
    """Each has the name of its source, or the one that is given, and both load in tiktoken."""
    places = {}
    for source in ("cl100k-tiny", "gpt2-tiny"):
        given = (TOKENIZERS / source / "huggingface", tmp_path / source, "--to=tiktoken")
        done = command("convert", *given, "--plugin", "--no-verify", *_named(source))
        assert done.code == 0, done.err
        assert f"tiktoken.get_encoding('{_name(source)}')" in done.out
        places[source] = tmp_path / source / "plugin"
    path = os.pathsep.join(map(str, places.values()))
    code = (
        "import sys, tiktoken\n"
        f"print([tiktoken.get_encoding(name).encode_ordinary({TEXT!r}) for name in sys.argv[1:]])"
    )
    names = [_name(source) for source in places]
    done_there = subprocess.run(
        [sys.executable, "-c", code, *names],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    expected = []
    for source in places:
        file = TOKENIZERS / source / "huggingface"
        expected.append(Tokenizer.from_transformers(_live(file)).encode_ordinary(TEXT))
    assert json.loads(done_there.stdout) == expected


def _named(source: str) -> list[str]:
    return ["--name", "my-cl100k"] if source == "cl100k-tiny" else []


def _name(source: str) -> str:
    return "my-cl100k" if source == "cl100k-tiny" else "huggingface"


def _live(folder: Path) -> object:
    return transformers.AutoTokenizer.from_pretrained(folder)


def test_the_printed_snippet_loads_a_rank_file(command: Command, tmp_path: Path) -> None:
    """Also where the file is written anew: tiktoken keeps copies of files by their paths."""
    out, environment = tmp_path / "mine.tiktoken", {"TIKTOKEN_CACHE_DIR": str(tmp_path / "cache")}
    for source in ("cl100k-tiny", "gpt2-tiny"):
        given = TOKENIZERS / source / "huggingface"
        done = command("convert", given, out, "--no-verify", "--force")
        assert done.code == 0, done.err
        snippet = done.out.partition("to load     in Python:\n")[2].splitlines()
        snippet.append(f"print(encoding.encode({TEXT!r}, allowed_special='all'))")
        there = subprocess.run(
            [sys.executable, "-c", "\n".join(snippet)],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=True,
        )
        hub = Tokenizer.from_transformers(_live(given))
        assert json.loads(there.stdout) == hub.encode(TEXT, allowed_special="all")


def test_a_class_that_is_not_kept_is_named(command: Command, tmp_path: Path) -> None:
    convert(RANKS, tmp_path / "in", "hf", verify=False)
    config = tmp_path / "in" / "tokenizer_config.json"
    for named, told in (("Qwen2Tokenizer", True), ("PreTrainedTokenizerFast", False)):
        stated = json.loads(config.read_text("utf-8"))
        config.write_text(json.dumps({**stated, "tokenizer_class": named}), "utf-8")
        given = ("--to", "hf", "--no-verify", "--force", "--drop", "added")
        done = command("convert", tmp_path / "in", tmp_path / "out", *given)
        assert done.code == 0, done.err
        assert ("asks to be served by Qwen2Tokenizer" in done.out) == told


def test_a_class_that_is_kept_is_named(command: Command, tmp_path: Path) -> None:
    convert(TOKENIZERS / "gpt2-tiny" / "huggingface", tmp_path / "in", "hf", verify=False)
    config = tmp_path / "in" / "tokenizer_config.json"
    stated = json.loads(config.read_text("utf-8"))
    roles = dict.fromkeys(["bos_token", "eos_token", "unk_token"])
    named = {**stated, **roles, "tokenizer_class": "GPT2TokenizerFast"}
    config.write_text(json.dumps(named), "utf-8")
    done = command("convert", tmp_path / "in", tmp_path / "out", "--to", "hf")
    assert done.code == 0, done.err
    assert "the class GPT2Tokenizer, which serves the same ids" in done.out
    assert type(_live(tmp_path / "out")).__name__.removesuffix("Fast") == "GPT2Tokenizer"


CHARS = TOKENIZERS / "spm-tiny"


@pytest.mark.parametrize(
    ("source", "name", "target"),
    [
        (RANKS, "y.json", "hf"),
        (CHARS / "sentencepiece", "y.json", "hf"),
        (CHARS / "sentencepiece", "y.model", "spm"),
        (TOKENIZERS / "minbpe-tiny" / "minbpe", "y.model", "minbpe"),
        (TOKENIZERS / "tekken-tiny" / "tekken", "y.json", "tekken"),
    ],
)
def test_a_name_that_ends_as_a_file_of_the_format_is_that_file(
    command: Command, tmp_path: Path, source: Path, name: str, target: str
) -> None:
    said = ["--template", "none"] if name == "y.json" and source != RANKS else []
    given = ("convert", source, tmp_path / name, "--to", target, "--drop", "sequence_template")
    done = command(*given, *said)
    assert done.code == 0, done.err
    assert [path.name for path in tmp_path.iterdir()] == [name]
    ours = bpe_interop.load(source).encode_ordinary(TEXT)
    assert bpe_interop.load(tmp_path / name).encode_ordinary(TEXT) == ours
    assert command(*given, *said, "--no-verify").code == 2
    assert command(*given, *said, "--no-verify", "--force").code == 0


def test_the_loss_of_decoding_shows_what_the_unknown_token_becomes(tmp_path: Path) -> None:
    source = CHARS / "sentencepiece"
    done = convert(source, tmp_path / "out", "hf", said=Statement(template="none"), verify=False)
    before = SentencePieceProcessor(model_file=str(source / "tokenizer.model"))
    number = before.unk_id()
    after = tokenizers.Tokenizer.from_file(str(tmp_path / "out" / "tokenizer.json"))
    told = f'{number} as "{after.decode([number], skip_special_tokens=False)}"'
    told += f', not "{before.decode([number])}"'
    assert [told in loss.consequence for loss in done.losses if loss.field == "decoder"] == [True]


def test_what_one_file_leaves_out_is_a_loss(command: Command, tmp_path: Path) -> None:
    source = tmp_path / "in"
    said = Statement(template="bos", roles={"pad": "</s>"}, chat_template="{{ messages }}")
    convert(CHARS / "sentencepiece", source, "hf", said=said, verify=False)
    one = convert(source, tmp_path / "y.json", "hf", verify=False)
    assert one.files == ("y.json",)
    assert {(loss.field, loss.grade) for loss in one.losses} >= {
        ("added", "metadata"),
        ("chat_template", "metadata"),
    }
    assert all(
        "tokenizer_config.json" in loss.what for loss in one.losses if loss.field != "extras"
    )
    with pytest.raises(LossyConversionError, match="what is placed around a text"):
        convert(source, tmp_path / "y.model", "spm", verify=False)
    with pytest.raises(TargetError, match="further file"):
        convert(
            source,
            tmp_path / "y.model",
            "spm",
            verify=False,
            options=["vocab-listing"],
            drop=FIELDS,
        )
    with pytest.raises(LossyConversionError, match="what is placed around a text"):
        bpe_interop.load(source).save(tmp_path / "y.model", format="spm")
    bpe_interop.load(source).save(tmp_path / "z.json", format="hf")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "y.json", "z.json"]


def test_live_objects_there_and_back() -> None:
    encoding = small(CL100K)
    tokenizer = bpe_interop.Tokenizer.from_tiktoken(encoding)
    texts = ["hello world", HOLDS, "日本 123456 don't\n\n  x\t\n", "  \n\n  "]
    there = tokenizer.to_tiktoken()
    file = tokenizer.to_tokenizers()
    served = tokenizer.to_transformers()
    for text in texts:
        ids = encoding.encode(text, allowed_special="all")
        assert there.encode(text, allowed_special="all") == ids
        assert file.encode(text, add_special_tokens=False).ids == ids
        assert served.encode(text, add_special_tokens=False) == ids
        assert served.decode(ids) == text
        again = Tokenizer.from_tokenizers(file)
        assert again.encode(text, allowed_special="all") == ids
    assert there.special_tokens_set == encoding.special_tokens_set
    assert there.name == served.name_or_path == encoding.name
