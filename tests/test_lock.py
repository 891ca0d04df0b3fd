"""Lock files: what a tokenizer did is held against what it does."""

from __future__ import annotations

import base64
import bz2
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tiktoken
import tokenizers
import transformers
from click.testing import CliRunner
from command_line import Command
from conftest import FIXTURES
from edited_files import Edit, edited_file

from bpe_interop.cli import cli
from bpe_interop.engines import Engine, Special, from_files
from bpe_interop.errors import EngineError, FormatError, UnstatedError
from bpe_interop.model import AddedToken, BPEModel
from bpe_interop.pytest_plugin import assert_parity
from bpe_interop.sources import load_source
from bpe_interop.verify import Report, verify
from bpe_interop.verify.lock import answered_by, dump, load, lock
from bpe_interop.verify.lock_report import compare_with_lock
from bpe_interop.verify.sides import open_side

TOKENIZERS = FIXTURES / "tokenizers"
TINY = TOKENIZERS / "cl100k-tiny"
HUB = TINY / "huggingface"


def locked(source: Path, folder: Path) -> Path:
    path = folder / "tokenizer.lock"
    path.write_bytes(dump(lock(load_source(source).model, source.name, {"bpe-interop": "0"})))
    return path


def test_golden_ids_are_the_engines(tmp_path: Path) -> None:
    loaded = load_source(TINY / "tiktoken")
    held = load(locked(TINY / "tiktoken", tmp_path).read_bytes(), "x")
    engine = from_files("tiktoken", "tiktoken", loaded.files, loaded.model)
    assert len(held.golden) > 500
    for how, text, ids in held.golden:
        if how != "template":
            special: Special = "parse" if how == "parse" else "text"
            assert tuple(engine.encode(text, special=special)) == ids


def test_the_same_tokenizer_in_another_format_is_proved(tmp_path: Path) -> None:
    path = locked(TINY / "tiktoken", tmp_path)
    report = verify(path, TINY / "huggingface", scope="ordinary")
    assert (report.verdict, report.differing) == ("proved", 0)
    run = verify(path, TINY / "huggingface", scope="ordinary", engine_b="tokenizers")
    assert (run.verdict, run.engine_b.split()[0]) == ("proved", "tokenizers")
    assert any("tokenizers 0.23.3" in said for said in run.assumptions)


def test_changed_ids_are_found_and_said_where(tmp_path: Path) -> None:
    path = locked(TINY / "tiktoken", tmp_path)
    report = verify(TOKENIZERS / "o200k-tiny" / "tiktoken", path)
    assert (report.verdict, report.stage) == ("refuted", "text")
    assert report.mismatch is not None
    ranks = load_source(TOKENIZERS / "o200k-tiny" / "tiktoken")
    assert ranks.model.pretokenizer
    other = load_source(TINY / "tiktoken").model
    sidecar = json.loads((TINY / "tiktoken" / "cl100k-tiny.tiktoken.json").read_text("utf-8"))
    theirs = tiktoken.Encoding(
        "x",
        pat_str=sidecar["pat_str"],
        mergeable_ranks=dict(other.vocab.ids),
        special_tokens=sidecar["special_tokens"],
    )
    assert theirs.encode_ordinary(report.mismatch.text) == list(report.mismatch.ids_b)


def test_locking_again_gives_the_same_bytes(tmp_path: Path) -> None:
    path = locked(TINY / "tiktoken", tmp_path)
    assert dump(load(path.read_bytes(), "x")) == path.read_bytes()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"bpe_interop_lock": 4', '"bpe_interop_lock": 5', "layout 5"),
        (
            '"bpe_interop_lock": 4',
            '"bpe_interop_lock": 1',
            "layout 1(?s:.)*lock the token",
        ),
        ('"bpe_interop_lock": 4', '"bpe_interop_lock": "1"', "expected"),
        ('["text","",', '["aloud","",', "expected one of"),
        ('["text","",', '["",', "expected"),
        ('"golden"', '"silver"', "golden|silver"),
        ('["text","",', '["text","x",', "edited or damaged"),
        ('"all": "', '"all": "0', "edited or damaged"),
        ('"source": "', '"source": "other/', "edited or damaged"),
        ('"gaps":[0,', '"gaps":[0,1,', "texts cannot be read"),
        ('"gaps":[0,', '"gaps":["0",', "texts cannot be read"),
        ('"gaps":[0,', '"gaps":[-7,', "texts cannot be read"),
        ('"shared":[0', '"shared":[null', "texts cannot be read"),
        ('"ids":[0', '"ids":[true', "texts cannot be read"),
        ('"ids":[0', '"ids":[["0"]', "texts cannot be read"),
        ('"ids":[0', '"ids":[[5]', "edited or damaged"),
        ('"merges": [\n    "', '"merges": [\n    "0', "edited or damaged"),
        ('"tokens": [\n    "', '"tokens": [\n    "0', "texts cannot be read"),
        ('"golden": [\n    "', '"golden": [\n    " ', "texts cannot be read"),
    ],
)
def test_a_damaged_lock_file_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = locked(TINY / "tiktoken", tmp_path)
    data = path.read_bytes()
    changed = data.replace(old.encode("ascii"), new.encode("ascii"), 1)
    if changed == data:
        changed = repacked(data, old, new)
    with pytest.raises(FormatError, match=said):
        load(changed, "tokenizer.lock")


def repacked(data: bytes, old: str, new: str) -> bytes:
    """A lock file in which somebody edited the packed answers, or the packed tokens."""
    root = json.loads(data)
    found = 0
    for name in ("golden", "tokens"):
        written = bz2.decompress(base64.b85decode("".join(root[name]))).decode("utf-8")
        found += written.count(old)
        edited = bz2.compress(written.replace(old, new, 1).encode("utf-8"))
        root[name] = [base64.b85encode(edited).decode("ascii")]
    assert found
    return json.dumps(root).encode("ascii")


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def newer(data: bytes) -> bytes:
    return data.replace(b'"bpe_interop_lock": 4', b'"bpe_interop_lock": 7')


def edited(data: bytes) -> bytes:
    return repacked(data, '["text","a",[', '["text","a",[0,')


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (cut, "tokenizer.lock"),
        (newer, "layout 7; this version reads layouts 3 and 4\n  update bpe-interop"),
        (edited, "edited or damaged: its sha256 is that of other contents\n  take the file"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_bad_lock_file_is_an_error_of_the_command_line(
    command: Command, tmp_path: Path, damage: Callable[[bytes], bytes], said: str
) -> None:
    path = locked(TINY / "tiktoken", tmp_path)
    path.write_bytes(damage(path.read_bytes()))
    done = command("verify", path, TINY / "tiktoken")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"error: {path}")
    assert said in done.err


def test_a_lock_file_in_the_wrong_place_is_an_error(command: Command, tmp_path: Path) -> None:
    path = locked(TINY / "tiktoken", tmp_path)
    for words in (("verify", path, path), ("lock", path, "-o", tmp_path / "other")):
        done = command(*words)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith("error: ")
    for words in (("inspect", path), ("encode", path, "hi"), ("verify", path, path)):
        done = command(*words)
        assert (done.code, done.out) == (2, "")
        assert "this is a lock file" in done.err
        assert f"bpe-interop verify {path} SRC" in done.err
    done = command("convert", path, tmp_path / "other", "--to", "hf")
    assert (done.code, "this is a lock file" in done.err) == (2, True)
    assert not (tmp_path / "other").exists()


def test_a_difference_is_said_with_its_text_ids_and_line_of_the_fingerprint(
    command: Command, tmp_path: Path
) -> None:
    path = locked(TINY / "tiktoken", tmp_path)
    done = command("verify", path, TOKENIZERS / "gpt2-tiny" / "tiktoken")
    assert done.code == 1
    report = verify(path, TOKENIZERS / "gpt2-tiny" / "tiktoken")
    assert report.mismatch is not None
    assert report.stage == "text"
    assert [s.outcome for s in report.stages if s.name == "text"] == ["refuted"]
    assert sum("locked with" in note for note in report.notes) == 1
    assert len(report.mismatch.text) <= 2
    assert report.mismatch.text.isascii()
    for expected in (
        f'"{report.mismatch.text}"',
        "DIFFERENT at stage: text",
        " ".join(map(str, report.mismatch.ids_a)),
        " ".join(map(str, report.mismatch.ids_b)),
        f"{report.differing:,} of {report.compared:,} locked texts differ",
    ):
        assert expected in done.out
    [example] = report.examples
    for span in example.spans:
        assert len(span.tokens_a) == len(span.ids_a)
        assert len(span.tokens_b) == len(span.ids_b)


def test_roles_and_a_chat_template_that_change_are_said(tmp_path: Path) -> None:
    """They change no id, so the verdict stays."""
    changed = tmp_path / "changed"
    shutil.copytree(TINY / "huggingface", changed)
    path = locked(changed, tmp_path)
    assert verify(path, changed).differences == ()
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        written = (changed / name).read_text("utf-8")
        (changed / name).write_text(written.replace("endoftext", "fim_prefix"), "utf-8")
    (changed / "chat_template.jinja").write_text("{{ messages }}", "utf-8")
    report = verify(path, changed)
    assert report.verdict == "proved"
    assert [(each.field, each.how) for each in report.differences] == [
        ("added", 'other roles: eos "<|fim_prefix|>"; locked: eos "<|endoftext|>"'),
        ("chat_template", "a chat template, where none was locked"),
    ]


def test_special_tokens_that_change_are_said_as_such(tmp_path: Path) -> None:
    """The text's own line of the fingerprint stays, and ordinary text is still proved equal."""
    path = locked(TINY / "tiktoken", tmp_path)
    folder = tmp_path / "renumbered"
    shutil.copytree(TINY / "tiktoken", folder)
    sidecar = folder / "cl100k-tiny.tiktoken.json"
    stated = json.loads(sidecar.read_text("utf-8"))
    stated["special_tokens"]["<|endofprompt|>"] += 1
    sidecar.write_text(json.dumps(stated), "utf-8")
    for engine in (None, "tiktoken"):
        report = verify(path, folder, engine_b=engine)
        assert (report.verdict, report.stage) == ("refuted", "added tokens")
        assert report.mismatch is not None
        assert report.mismatch.text == "<|endofprompt|>"
        assert (report.mismatch.ids_a, report.mismatch.ids_b) == ((820,), (821,))
        outcomes = [stage.outcome for stage in report.stages]
        # tiktoken places nothing around a text, so that was not compared.
        placed = "proved" if engine is None else "unknown"
        assert outcomes == ["proved", "refuted", placed, "unknown"]
    assert verify(path, folder, scope="text").verdict == "tested"


@pytest.mark.parametrize(
    ("name", "format", "engine"),
    [
        ("spm-tiny", "sentencepiece", "sentencepiece"),
        ("template-tiny", "huggingface", "tokenizers"),
        ("cl100k-tiny", "tiktoken", "tiktoken"),
    ],
)
def test_a_library_is_asked_what_it_can_answer(
    tmp_path: Path, name: str, format: str, engine: str
) -> None:
    """sentencepiece finds no special tokens, and tiktoken applies no template."""
    path = locked(TOKENIZERS / name / format, tmp_path)
    report = verify(path, TOKENIZERS / name / format, engine_b=engine)
    assert (report.verdict, report.failures) == ("proved", ())
    assert 500 < report.compared <= report.texts


class Broken:
    """An engine that gives other ids for a text, or fails on it."""

    name = "tokenizers"
    version = "0.23.3"
    parses_special = True
    applies_template = True

    def __init__(self, engine: Engine, text: str, ids: list[int] | None) -> None:
        self._engine, self._text, self._ids = engine, text, ids

    def encode(
        self, text: str, *, special: Special = "text", add_special_tokens: bool = False
    ) -> list[int]:
        if text != self._text:
            return self._engine.encode(text, special=special, add_special_tokens=add_special_tokens)
        if self._ids is None:
            raise EngineError("tokenizers panicked on the text")
        return self._ids

    def encode_batch(
        self, texts: Sequence[str], *, special: Special = "text", add_special_tokens: bool = False
    ) -> list[list[int]]:
        return [
            self.encode(text, special=special, add_special_tokens=add_special_tokens)
            for text in texts
        ]

    def decode(self, ids: Sequence[int]) -> str:
        return self._engine.decode(ids)


def test_an_upgraded_library_that_gives_other_ids_is_found_out(tmp_path: Path) -> None:
    """The fingerprint is that of the files, and stays."""
    source = TINY / "huggingface"
    path = locked(source, tmp_path)
    opened, held = open_side(source), load(path.read_bytes(), "x")
    engine = from_files("tokenizers", "huggingface", opened.files, opened.model)

    def hold(ids: list[int] | None) -> Report:
        side = Broken(engine, "Hello world", ids)
        return compare_with_lock(
            held, path, opened, side, scope="all", first=True, tick=lambda count: None
        )

    other = hold([1, 2])
    assert (other.verdict, other.stage) == ("refuted", None)
    assert other.mismatch is not None
    assert other.mismatch.ids_a == tuple(engine.encode("Hello world"))
    assert other.mismatch.ids_b == (1, 2)
    assert any("the fingerprint is the locked one" in note for note in other.notes)
    failed = hold(None)
    assert (failed.verdict, failed.differing) == ("unknown", 0)
    assert {failure.text for failure in failed.failures} == {"Hello world"}


def test_what_transformers_serves_otherwise_is_noted(tmp_path: Path) -> None:
    """Of a directory that our encoder runs; not where transformers itself is asked."""
    source = TOKENIZERS / "gpt2-tiny" / "huggingface"
    copy = tmp_path / "copy"
    copy.mkdir()
    shutil.copy(source / "tokenizer.json", copy)
    config = {"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": True}
    (copy / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")
    served = verify(copy, copy, engine_b="transformers")
    assert served.verdict == "refuted"
    assert not any("compared as its files say" in note for note in served.notes)
    path = locked(copy, tmp_path)
    for a, b, side in ((path, copy, "b"), (copy, path, "a"), (copy, source, "a")):
        report = verify(a, b)
        assert report.verdict == "proved"
        [note] = (each for each in report.notes if "compared as its files say" in each)
        assert note.startswith(f"{side} is compared as its files say; AutoTokenizer runs GPT2")
        assert f"--engine-{side} transformers (engine_{side}=...) compares" in note
    assert not any("AutoTokenizer" in note for note in verify(path, source).notes)
    run = verify(path, copy, engine_b="tokenizers")
    assert any("b is compared as its files say; AutoTokenizer" in note for note in run.notes)


@pytest.mark.parametrize("with_lock", [True, False])
def test_the_class_that_transformers_takes_is_noted_once(tmp_path: Path, with_lock: bool) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(HUB, copy)
    (copy / "tokenizer_config.json").write_text('{"tokenizer_class": "GPT2Tokenizer"}', "utf-8")
    report = verify(locked(copy, tmp_path) if with_lock else copy, copy, engine_b="transformers")
    assert report.verdict == "refuted"
    [note] = (each for each in report.notes if "names GPT2Tokenizer" in each)
    assert note.startswith(f"{copy}: tokenizer_config.json names GPT2Tokenizer: ")


def test_a_lock_file_without_answers_says_nothing(tmp_path: Path) -> None:
    whole = load(locked(TINY / "tiktoken", tmp_path).read_bytes(), "x")
    (tmp_path / "empty.lock").write_bytes(dump(replace(whole, golden=(), tokens=())))
    assert verify(tmp_path / "empty.lock", TINY / "tiktoken").verdict == "unknown"


def test_the_commands(tmp_path: Path) -> None:
    out = tmp_path / "my.lock"
    done = CliRunner().invoke(cli, ["lock", str(TINY / "tiktoken"), "-o", str(out)])
    assert done.exit_code == 0
    assert " awkward texts and of " in done.stdout
    assert "not stated" not in done.stdout
    assert out.stat().st_mode & 0o444
    held = CliRunner().invoke(cli, ["verify", str(out), str(TINY / "tiktoken")])
    assert held.exit_code == 0
    assert held.stdout.startswith("PROVED")
    changed = CliRunner().invoke(cli, ["verify", str(out), str(TOKENIZERS / "gpt2-tiny/tiktoken")])
    assert changed.exit_code == 1
    prints = CliRunner().invoke(cli, ["fingerprint", str(TINY / "tiktoken")])
    assert [line.split(" ")[0] for line in prints.stdout.splitlines()] == [
        "text",
        "specials",
        "template",
        "decoder",
        "all",
    ]
    assert json.loads(out.read_text("ascii"))["fingerprint"]["all"] in prints.stdout


def test_what_reading_the_source_noted_is_said_once(command: Command, tmp_path: Path) -> None:
    def misnumber(root: dict[str, Any]) -> None:
        root["added_tokens"][0]["id"] = 9_000

    copy = edited_file(HUB, tmp_path, misnumber)
    done = command("lock", copy, "-o", tmp_path / "x.lock")
    assert done.code == 0
    for out in (done.out, command("verify", tmp_path / "x.lock", copy).out):
        [line] = (line for line in out.splitlines() if "has id 9000" in line)
        assert line.startswith("note        ")


def test_a_table_has_no_column_for_texts_that_are_not_known(
    command: Command, tmp_path: Path
) -> None:
    """What a locked token stood for is not always known; of two tokenizers it is."""
    path, report = locked(HUB, tmp_path), tmp_path / "report.md"
    other = edited_copy(HUB, tmp_path, delete_merge)
    for side, heading in ((path, "| | A | B |"), (HUB, "| | text | A | B |")):
        command("verify", side, other, "--report", report)
        assert heading in report.read_text("utf-8").splitlines()


@pytest.mark.parametrize("side", [HUB, None])
def test_what_the_texts_are_is_said_with_their_number(
    command: Command, tmp_path: Path, side: Path | None
) -> None:
    a, other = side or locked(HUB, tmp_path), TOKENIZERS / "gpt2-tiny" / "huggingface"
    what = "awkward texts" if side else "locked texts"
    report = verify(a, other)
    said = f"{report.differing:,} of {report.compared:,} {what} differ"
    assert f"\ntexts       {said}\n" in command("verify", a, other).out
    assert said in repr(report)
    assert f"texts: {said} (" in str(report)
    with pytest.raises(AssertionError, match=f" of [0-9,]+ {what} differ"):
        assert_parity(a, other)


def test_texts_of_ones_own_are_called_given() -> None:
    with pytest.raises(AssertionError, match="texts      1 of 1 given text differs"):
        assert_parity(HUB, TOKENIZERS / "gpt2-tiny" / "huggingface", ["a 12345 b"])


def test_only_a_lock_file_is_replaced(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes.md").write_text("my notes", "utf-8")
    Path("folder").mkdir()
    for name, says in (
        ("notes.md", "notes.md: this exists and is no lock file, so it is not replaced"),
        ("/dev/null", "no lock file"),
        ("folder", "name a file in it"),
        ("no/such/x.lock", "make the directory first"),
    ):
        done = command("lock", TINY / "tiktoken", "-o", name)
        assert (done.code, done.out) == (2, ""), name
        assert says in done.err
    assert Path("notes.md").read_text("utf-8") == "my notes"
    Path("tokenizer.lock").write_text("of poetry", "utf-8")
    assert "no lock file" in command("lock", TINY / "tiktoken").err
    Path("tokenizer.lock").write_text('{"bpe_interop_lock": 1, "of": "old"}', "utf-8")
    for _ in range(2):
        assert command("lock", TINY / "tiktoken").code == 0
        assert "golden" in Path("tokenizer.lock").read_text("utf-8")


def bare_ranks(folder: Path) -> Path:
    """A rank file whose sidecar states the pattern, and no special tokens."""
    source = folder / "ranks.tiktoken"
    [ranks] = (TINY / "tiktoken").glob("*.tiktoken")
    source.write_bytes(ranks.read_bytes())
    stated = json.loads(ranks.with_name(f"{ranks.name}.json").read_text("utf-8"))
    del stated["special_tokens"]
    source.with_name(f"{source.name}.json").write_text(json.dumps(stated), "utf-8")
    return source


def test_special_tokens_that_are_not_locked_are_said(command: Command, tmp_path: Path) -> None:
    """And no stage is called proved of which the headline says that it is not compared."""
    source = bare_ranks(tmp_path)
    path = tmp_path / "ranks.lock"
    done = command("lock", source, "-o", path)
    assert done.code == 0
    assert "special tokens are not stated, so they are not locked" in done.out
    out = command("verify", path, source).out
    assert out.startswith("PROVED")
    assert "special tokens and the sequence template are not compared" in out
    report = verify(path, source)
    assert report.unstated == ("a", "b")
    assert {stage.name: (stage.outcome, stage.why) for stage in report.stages} == {
        "text": ("proved", "the same fingerprint"),
        "added tokens": ("unknown", "neither side says which there are"),
        "sequence template": ("unknown", "the same fingerprint, but not compared"),
        "decoding": ("proved", "the same fingerprint"),
    }


def test_what_one_side_does_not_state_did_not_change(tmp_path: Path) -> None:
    """To lock again would lose the special tokens; it is said how to state them, on either side."""
    bare, preset = bare_ranks(tmp_path), tmp_path / "preset.json"
    stated = json.loads((TINY / "tiktoken" / "cl100k-tiny.tiktoken.json").read_text("utf-8"))
    kept = {key: stated[key] for key in ("pat_str", "special_tokens")}
    preset.write_text(json.dumps(kept), "utf-8")
    path = tmp_path / "full.lock"
    path.write_bytes(dump(lock(load_source(bare, preset=str(preset)).model, "x", {})))
    assert verify(path, bare, preset_b=str(preset)).verdict == "proved"
    for report, side in ((verify(path, bare), "b"), (verify(bare, path), "a")):
        assert (report.verdict, report.unstated, report.differences) == ("unknown", (side,), ())
        assert report.notes == (
            f"special tokens are not stated by {side}: say which there are with --preset-{side} "
            f"(preset_{side}=...); or compare without: --scope text (scope='text')",
        )
    assert verify(path, bare, scope="text").verdict == "tested"
    (tmp_path / "bare.lock").write_bytes(dump(lock(load_source(bare).model, "x", {})))
    report = verify(tmp_path / "bare.lock", bare, preset_b=str(preset))
    assert (report.verdict, report.unstated) == ("unknown", ("a",))
    assert report.scopes == ("special strings as text",)
    note, beside = report.notes
    assert note.startswith("special tokens are not stated by a, the lock file: say which there are")
    assert beside.startswith(f"{bare}: ")
    assert "the added tokens supplied by" in beside


def test_what_stands_around_a_text_may_be_stated_by_one_side_only(tmp_path: Path) -> None:
    pieces, file = TOKENIZERS / "spm-tiny" / "sentencepiece", TOKENIZERS / "spm-tiny/huggingface"
    said = set()
    for one, two in ((pieces, pieces), (pieces, file), (file, pieces)):
        report = verify(locked(one, tmp_path), two)
        [stage] = (each for each in report.stages if each.name == "sequence template")
        assert stage.outcome == "unknown"
        assert report.verdict == ("proved" if one == two else "unknown")
        assert "special tokens parsed, template applied" not in report.scopes
        said.add(stage.why if one == two else report.notes[0].partition(":")[0])
    assert said == {
        "neither side says what is placed around a text",
        "what is placed around a text is not stated by a, the lock file",
        "what is placed around a text is not stated by b",
    }


def test_a_source_without_a_pattern_names_the_preset_of_its_side(tmp_path: Path) -> None:
    path = locked(HUB, tmp_path)
    with pytest.raises(UnstatedError, match="--preset-b"):
        verify(path, TOKENIZERS / "gpt2-tiny" / "gpt2")


def swap_ids(model: dict[str, Any]) -> None:
    vocab = model["vocab"]
    one, two = (next(token for token in vocab if vocab[token] == number) for number in (700, 701))
    vocab[one], vocab[two] = 701, 700


def delete_merge(model: dict[str, Any]) -> None:
    del model["merges"][430]


def swap_merges(model: dict[str, Any]) -> None:
    merges = model["merges"]
    merges[0], merges[1] = merges[1], merges[0]


def rename_token(model: dict[str, Any]) -> None:
    """The last that is no added token, so that no merge needs it under its old name."""
    vocab = model["vocab"]
    last = next(token for token in vocab if vocab[token] == 799)
    vocab["zqzqzq"] = vocab.pop(last)
    model["merges"] = [pair for pair in model["merges"] if "".join(pair) != last]


def edited_copy(source: Path, folder: Path, edit: Edit) -> Path:
    return edited_file(source, folder, lambda root: edit(root["model"]))


@pytest.mark.parametrize("edit", [swap_ids, delete_merge, rename_token])
def test_one_changed_token_is_found_and_named(tmp_path: Path, edit: Edit) -> None:
    """In our encoder, in the library, and in the pytest plugin."""
    path = locked(HUB, tmp_path)
    copy = edited_copy(HUB, tmp_path, edit)
    before, after = (
        tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json")) for folder in (HUB, copy)
    )
    for engine in (None, "tokenizers"):
        report = verify(path, copy, engine_b=engine)
        assert (report.verdict, report.stage) == ("refuted", "text")
        found = report.mismatch
        assert found is not None
        assert list(found.ids_a) == before.encode(found.text, add_special_tokens=False).ids
        assert list(found.ids_b) == after.encode(found.text, add_special_tokens=False).ids
    with pytest.raises(AssertionError, match="first at stage: text"):
        assert_parity(path, copy)


def test_a_changed_fingerprint_without_a_text_is_no_yes(command: Command, tmp_path: Path) -> None:
    path = locked(HUB, tmp_path)
    copy = edited_copy(HUB, tmp_path, swap_merges)
    report = verify(path, copy)
    assert (report.verdict, report.differing, report.mismatch) == ("unknown", 0, None)
    assert report.notes[0].startswith("the fingerprint is not the locked one (text)")
    assert any(note.startswith("within the first 256 merges") for note in report.notes)
    for words in ((), ("--engine-b", "tokenizers"), ("--require", "tested")):
        done = command("verify", path, copy, *words, "--report", tmp_path / "lock.md")
        assert done.code == 2
        first = done.out.splitlines()[0]
        said = "not the locked tokenizer (other merges), but no text shows whether ids changed"
        assert first.startswith(f"UNKNOWN     {said}: equal on ")
        assert "not enough to tell" not in first
        assert "another fingerprint (merges)" in done.out
        assert "git show REV:PATH > OLD, then bpe-interop verify OLD NEW decides" in done.out
        page = (tmp_path / "lock.md").read_text("utf-8")
        assert "Could not tell" in page
        assert "Not the locked tokenizer (other merges), but no text shows" in page
    assert verify(HUB, copy).verdict == "proved"
    with pytest.raises(AssertionError, match=r"no answer(?s:.)*; not the locked(?s:.)*is not the"):
        assert_parity(path, copy)


def ids_in(folder: Path, text: str, *, special: bool) -> tuple[int, ...]:
    engine = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    engine.encode_special_tokens = not special
    return tuple(engine.encode(text, add_special_tokens=False).ids)


@pytest.mark.parametrize("text", ["<|pad|>", "<|im_start|>user\n"])
@pytest.mark.parametrize("special", [True, False])
def test_an_added_token_that_is_new_is_shown_by_its_text(
    tmp_path: Path, text: str, special: bool
) -> None:
    """The lock file does not have its ids: they follow from the fingerprint without the token."""

    def add(root: dict[str, Any]) -> None:
        token = {"id": 805, "content": text, "special": special}
        root["added_tokens"].append({**root["added_tokens"][0], **token})

    path = locked(HUB, tmp_path)
    copy = edited_file(HUB, tmp_path, add)
    for engine in (None, "tokenizers"):
        report = verify(path, copy, engine_b=engine)
        assert (report.verdict, report.stage) == ("refuted", "added tokens")
        assert report.mismatch is not None
        assert report.mismatch.text == text
        assert report.mismatch.ids_a == ids_in(HUB, text, special=True)
        assert report.mismatch.ids_b == ids_in(copy, text, special=True) == (805,)
        assert any("the fingerprint is the locked one" in note for note in report.notes)
    narrow = verify(path, copy, scope="ordinary")
    assert narrow.verdict == ("unknown" if special else "refuted")
    assert verify(path, copy, scope="text").verdict == "tested"


def test_ids_that_do_not_follow_from_the_fingerprint_are_not_claimed(tmp_path: Path) -> None:
    """Merges changed too, so what the locked tokenizer made of the new token's text is open."""

    def edit(root: dict[str, Any]) -> None:
        swap_merges(root["model"])
        root["added_tokens"].append({**root["added_tokens"][0], "id": 805, "content": "<|pad|>"})

    report = verify(locked(HUB, tmp_path), edited_file(HUB, tmp_path, edit))
    assert (report.verdict, report.mismatch) == ("unknown", None)
    assert "but other texts may have changed" in report.notes[0]
    assert 'added token "<|pad|>" (id 805) is new' in report.notes


@pytest.mark.parametrize("merges_too", [False, True])
def test_a_token_that_is_special_no_more_is_shown_at_its_stage(
    command: Command, tmp_path: Path, merges_too: bool
) -> None:
    """Where special strings are text it matches now. No stage is named if merges may be why."""

    def edit(root: dict[str, Any]) -> None:
        token = next(t for t in root["added_tokens"] if t["content"] == "<|endoftext|>")
        token["special"] = False
        if merges_too:
            swap_merges(root["model"])

    path = locked(HUB, tmp_path)
    copy = edited_file(HUB, tmp_path, edit)
    report = verify(path, copy)
    assert report.mismatch is not None
    text = report.mismatch.text
    assert (text, report.mismatch.mode.special) == ("<|endoftext|>", "text")
    assert report.mismatch.ids_a == ids_in(HUB, text, special=False)
    assert report.mismatch.ids_b == ids_in(copy, text, special=False)
    assert report.stage == (None if merges_too else "added tokens")
    refuted = [stage.name for stage in report.stages if stage.outcome == "refuted"]
    assert refuted == ([] if merges_too else ["added tokens"])
    at = "" if merges_too else " at stage: added tokens"
    assert command("verify", path, copy).out.startswith(f"DIFFERENT{at}; a text:")


def test_a_token_that_is_new_is_said(tmp_path: Path) -> None:
    path = locked(HUB, tmp_path)

    def add(model: dict[str, Any]) -> None:
        model["vocab"].update({"zqzqzq": 5_000, "zq": 5_001, "zqzq": 5_002})
        model["merges"] += [["z", "q"], ["zq", "zq"], ["zqzq", "zq"]]

    report = verify(path, edited_copy(HUB, tmp_path, add))
    assert report.verdict in ("unknown", "refuted")
    assert any('id 5000 is "zqzqzq"' in note for note in report.notes)


def test_every_added_token_is_locked(tmp_path: Path) -> None:
    loaded = load_source(HUB)
    held = load(locked(HUB, tmp_path).read_bytes(), "x")
    parsed = {text: ids for _, text, ids in held.golden if text in _texts_of(loaded.model)}
    assert set(parsed) == _texts_of(loaded.model) != set()


def _texts_of(model: BPEModel) -> set[str]:
    return {token.text for token in model.added or ()}


def test_each_token_has_a_text_in_which_it_stands(tmp_path: Path) -> None:
    """Of a rank file every token can be reached; whole pretokens are looked up, so twice."""
    loaded = load_source(TINY / "tiktoken")
    held = load(locked(TINY / "tiktoken", tmp_path).read_bytes(), "x")
    engine = from_files("tiktoken", "tiktoken", loaded.files, loaded.model)
    standing = [row for row in held.tokens if row.id in row.ids]
    assert len({row.id for row in standing}) > 0.95 * len(loaded.model.vocab.ids)
    assert any(len(row.ids) > 1 for row in standing)
    for row in held.tokens:
        assert tuple(engine.encode(row.text)) == row.ids


def test_an_upgraded_library_is_asked_for_every_token(tmp_path: Path) -> None:
    path = locked(HUB, tmp_path)
    opened, held = open_side(HUB), load(path.read_bytes(), "x")
    engine = from_files("tokenizers", "huggingface", opened.files, opened.model)
    locked_texts = {text for _, text, _ in held.golden}
    text = next(row.text for row in held.tokens if row.text not in locked_texts)
    report = compare_with_lock(
        held,
        path,
        opened,
        Broken(engine, text, [1, 2]),
        scope="all",
        first=True,
        tick=lambda count: None,
    )
    assert report.verdict == "refuted"
    assert report.mismatch is not None
    assert report.mismatch.text == text


def test_what_the_engine_leaves_to_chance_is_not_proved(tmp_path: Path) -> None:
    """``Xa`` and ``xA`` are looked for as ``xa``: tokenizers finds one of them, by its hashes."""
    token = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": True}
    whole = {
        "added_tokens": [
            {**token, "id": 2, "content": "Xa", "special": False},
            {**token, "id": 3, "content": "xA", "special": False},
        ],
        "normalizer": {"type": "Lowercase"},
        "model": {"type": "BPE", "vocab": {"a": 0, "x": 1}, "merges": []},
    }
    source = tmp_path / "tokenizer.json"
    source.write_text(json.dumps(whole), "utf-8")
    assert tokenizers.Tokenizer.from_file(str(source)).encode("XA").ids in ([2], [3])
    path = locked(source, tmp_path)
    report = verify(path, source, scope="ordinary")
    assert report.verdict == "tested"
    assert any("by chance: nothing is proved" in note for note in report.notes)
    assert verify(path, source, scope="text").verdict == "proved"


@pytest.mark.parametrize("flag", ["special", "lstrip", "rstrip", "single_word"])
def test_a_flag_of_any_added_token_is_seen_in_its_ids(flag: str) -> None:
    """Also of one among many, of which only some stand in the awkward texts."""
    model = load_source(HUB).model
    first = max(model.vocab.ids.values()) + 1_000
    many = tuple(AddedToken(f"<|{n}|>", first + n) for n in range(100))
    changed = replace(many[57], **{flag: not getattr(many[57], flag)})
    held = lock(replace(model, added=many), "x", {})
    other = replace(model, added=(*many[:57], changed, *many[58:]))
    asked = [(how, text) for how, text, _ in held.golden]
    answers = dict(zip(asked, answered_by(other, asked), strict=True))
    apart = [key for key, row in zip(asked, held.golden, strict=True) if answers[key] != row]
    assert apart
    assert all("<|57|>" in text for _, text in apart)


def test_split_special_tokens_of_a_directory_acts_in_our_run(
    command: Command, tmp_path: Path
) -> None:
    """A user's call says nothing of it, so a run in transformers does not either."""
    folder = tmp_path / "split"
    shutil.copytree(HUB, folder)
    config = folder / "tokenizer_config.json"
    stated = {**json.loads(config.read_text("utf-8")), "split_special_tokens": True}
    config.write_text(json.dumps(stated), "utf-8")
    served = transformers.AutoTokenizer.from_pretrained(folder)("<|endoftext|>")["input_ids"]
    report = verify(folder, folder, engine_b="transformers")
    assert (report.verdict, report.mismatch and report.mismatch.text) == (
        "refuted",
        "<|endoftext|>",
    )
    assert report.mismatch is not None
    assert list(report.mismatch.ids_b) == served
    assert not any("please report" in note for note in report.notes)
    shown = command("inspect", folder).out
    assert "it gives the ids that are read here" not in shown
    assert "split_special_tokens makes AutoTokenizer take special tokens as text" in shown
