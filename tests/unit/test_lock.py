"""Lock files: a tokenizer as it was, compared with what it is."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from command_line import Command

from bpe_interop.compare import verify
from bpe_interop.compare.lock import as_source, dump, load, lock
from bpe_interop.diff import diff
from bpe_interop.errors import FormatError, SourceError
from bpe_interop.fingerprint import fingerprint
from bpe_interop.pytest_plugin import assert_parity
from bpe_interop.sources import load_source
from fixtures import TOKENIZERS

HUB = TOKENIZERS / "cl100k-tiny" / "huggingface"
BOS, END = "<|fim_prefix|>", "<|endoftext|>"


def locked(source: Path, folder: Path) -> Path:
    path = folder / "tokenizer.lock"
    path.write_bytes(dump(lock(load_source(source).model, source.name, {"bpe-interop": "0"})))
    return path


@pytest.fixture
def served(tmp_path: Path) -> Path:
    """A directory as a team has it: a template, a chat template, roles, a token to look up."""
    folder = tmp_path / "served"
    shutil.copytree(HUB, folder)
    (folder / "special_tokens_map.json").unlink()  # it would say eos a second time
    root = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    root["model"]["vocab"]["zqxjk"] = 900
    root["model"]["ignore_merges"] = True
    places = [{"SpecialToken": {"id": BOS, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    root["post_processor"] = {
        "type": "TemplateProcessing",
        "single": places,
        "pair": [*places, {"Sequence": {"id": "B", "type_id": 0}}],
        "special_tokens": {BOS: {"id": BOS, "ids": [802], "tokens": [BOS]}},
    }
    write(folder / "tokenizer.json", root)
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": BOS,
        "eos_token": END,
        "add_bos_token": True,
        "chat_template": "{{ messages }}",
    }
    write(folder / "tokenizer_config.json", config)
    return folder


def write(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False), "utf-8")


Edit = Callable[[dict[str, Any]], None]


def swap_merges(root: dict[str, Any]) -> None:
    """The first one, and the first that may take one of its parts: which is first matters."""
    merges = root["model"]["merges"]
    left, right = merges[0]
    other = next(n for n, pair in enumerate(merges) if n and (pair[0] == right or pair[1] == left))
    merges[0], merges[other] = merges[other], merges[0]


def swap_ids(root: dict[str, Any]) -> None:
    vocab = root["model"]["vocab"]
    vocab["a"], vocab["b"] = vocab["b"], vocab["a"]


def fewer_digits(root: dict[str, Any]) -> None:
    pattern = root["pre_tokenizer"]["pretokenizers"][0]["pattern"]
    pattern["Regex"] = pattern["Regex"].replace(r"\p{N}{1,3}", r"\p{N}")


def lowercase(root: dict[str, Any]) -> None:
    root["normalizer"] = {"type": "Lowercase"}


def no_byte_decoder(root: dict[str, Any]) -> None:
    root["decoder"] = {"type": "Fuse"}


def no_template(root: dict[str, Any]) -> None:
    root["post_processor"] = None


def no_lookup(root: dict[str, Any]) -> None:
    root["model"]["ignore_merges"] = False


@pytest.mark.long
@pytest.mark.parametrize(
    ("edit", "stage"),
    [
        (swap_merges, "core"),
        (swap_ids, "ids"),
        (fewer_digits, "pre-tokenizer"),
        (lowercase, "normalizer"),
        (no_byte_decoder, "decoding"),
        (no_template, "sequence template"),
        (no_lookup, "lookup"),
    ],
)
def test_an_edit_that_changes_ids_or_texts_is_shown_by_a_text(
    served: Path, tmp_path: Path, edit: Edit, stage: str
) -> None:
    """The text's ids on both sides are those of tokenizers."""
    old = tokenizers.Tokenizer.from_file(str(served / "tokenizer.json"))
    path = locked(served, tmp_path)
    root = json.loads((served / "tokenizer.json").read_text("utf-8"))
    edit(root)
    write(served / "tokenizer.json", root)
    new = tokenizers.Tokenizer.from_file(str(served / "tokenizer.json"))
    report = verify(path, served)
    assert (report.verdict, report.stage) == ("different", stage)
    shown = report.mismatch
    assert shown is not None
    placed = shown.mode.add_special_tokens
    ids = [each.encode(shown.text, add_special_tokens=placed).ids for each in (old, new)]
    assert ids == [list(shown.ids_a), list(shown.ids_b)]
    if shown.decoding is None:
        assert ids[0] != ids[1]
    else:
        texts = [each.decode(ids[0], skip_special_tokens=False) for each in (old, new)]
        assert texts == list(shown.decoding)
        assert texts[0] != texts[1]
    assert verify(path, HUB, scope="text").verdict in ("different", "proved")


def changed(**settings: object) -> Edit:
    def edit(config: dict[str, Any]) -> None:
        config.update(settings)

    return edit


@pytest.mark.long
@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (changed(chat_template="{{ messages[0] }}"), "chat_template: "),
        (changed(add_bos_token=False), "add_bos_token: True and False"),
        (changed(eos_token=BOS), 'roles: eos "<|endoftext|>" and "<|fim_prefix|>"'),
        (
            changed(tokenizer_class="GPT2Tokenizer"),
            'tokenizer_class: "PreTrainedTokenizerFast" and "GPT2Tokenizer"',
        ),
        (changed(split_special_tokens=True), "split_special_tokens: none and True"),
        (changed(legacy=True), "legacy: none and True"),
        (None, "tokenizer_class: "),
    ],
)
def test_an_edit_beside_the_file_is_named_and_fails_where_it_is_asked_for(
    command: Command, served: Path, tmp_path: Path, edit: Edit | None, said: str
) -> None:
    path = locked(served, tmp_path)
    config = served / "tokenizer_config.json"
    asked = ("verify", path, served, "--require", "proved", "--metadata")
    assert command(*asked).code == 0
    if edit is None:
        config.unlink()
    else:
        content = json.loads(config.read_text("utf-8"))
        edit(content)
        write(config, content)
    done = command(*asked)
    assert done.code == 1
    assert f"because     {said}" in done.out
    if edit is None:
        assert "tokenizer_config.json: read when the tokenizer was locked" in done.out


@pytest.mark.long
def test_an_unchanged_tokenizer_is_proved_without_a_text(served: Path, tmp_path: Path) -> None:
    report = verify(locked(served, tmp_path), served)
    assert (report.verdict, report.texts) == ("proved", 0)
    assert {stage.why for stage in report.stages} == {"the same fingerprint"}
    run = verify(tmp_path / "tokenizer.lock", served, engine_b="tokenizers")
    assert run.verdict == "proved"
    assert run.texts > 1_000


STATING_ALL = [path for path in sorted(TOKENIZERS.glob("*/*")) if path.name != "gpt2"]
"""GPT-2's pair says no pattern, so it is locked with a preset."""


@pytest.mark.parametrize("folder", STATING_ALL, ids=lambda path: str(path.parts[-2:]))
def test_a_lock_gives_back_the_model(folder: Path) -> None:
    model = load_source(folder).model
    held = load(dump(lock(model, "x", {})), "x")
    again = as_source(held, "x").model
    assert again is not None
    assert diff(model, again) == ()
    assert fingerprint(again) == fingerprint(model) == held.fingerprint
    assert lock(again, "x", {}).packed == held.packed


def test_the_head_is_in_the_words_of_the_file(served: Path, tmp_path: Path) -> None:
    """A re-lock after one edit is a diff of the line of that edit and of four hashes."""
    before = locked(served, tmp_path).read_text("ascii").splitlines()
    root = json.loads((served / "tokenizer.json").read_text("utf-8"))
    root["normalizer"] = {"type": "NFC"}
    write(served / "tokenizer.json", root)
    after = locked(served, tmp_path).read_text("ascii").splitlines()
    assert '      {"type": "NFC"}' in after
    new = [line for line in after if line not in before]
    keys = [line.split('"')[1] for line in new]
    assert keys == ["normalizer", "type", "text", "all", "settings", "model", "sha256"]


CHATS = [
    {"name": "default", "template": "{{ messages }}"},
    {"name": "tool_use", "template": "first\n{{ tools }}"},
]
PADDING = {
    "strategy": {"Fixed": 8},
    "direction": "Right",
    "pad_to_multiple_of": None,
    "pad_id": 0,
    "pad_type_id": 0,
    "pad_token": "!",
}


@pytest.mark.parametrize(
    ("file", "before", "after", "line"),
    [
        (
            "tokenizer_config.json",
            {"chat_template": CHATS},
            {"chat_template": [CHATS[0], {**CHATS[1], "template": "first\n{{ tool }}"}]},
            '      "{{ tool }}"',
        ),
        ("tokenizer_config.json", {}, {"model_max_length": 77}, '      "model_max_length": 77'),
        ("config.json", {"vocab_size": 1000}, {"vocab_size": 1024}, '      "vocab_size": 1024'),
        (
            "tokenizer.json",
            {"padding": PADDING},
            {"padding": {**PADDING, "strategy": {"Fixed": 9}}},
            '      "strategy": {"Fixed": 9},',
        ),
    ],
)
def test_an_edit_of_what_is_not_applied_is_a_line_of_the_head_too(
    served: Path, tmp_path: Path, file: str, before: Any, after: Any, line: str
) -> None:
    path = served / file
    root = json.loads(path.read_text("utf-8")) if path.exists() else {}
    heads = []
    for edit in (before, after):
        write(path, {**root, **edit})
        lines = locked(served, tmp_path).read_text("ascii").splitlines()
        heads.append([each for each in lines if not each.startswith('  "model": ')])
    old, new = heads
    assert line in new
    assert line not in old


def test_a_live_object_is_held_against_a_lock(served: Path, tmp_path: Path) -> None:
    path = locked(served, tmp_path)
    assert_parity(path, tokenizers.Tokenizer.from_file(str(served / "tokenizer.json")), ["a b"])
    other = tokenizers.Tokenizer.from_file(str(TOKENIZERS / "gpt2-tiny/huggingface/tokenizer.json"))
    with pytest.raises(AssertionError):
        assert_parity(path, other, ["Hello world"])


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b'"bpe_interop_lock": 5', b'"bpe_interop_lock": 6', "layout 6(?s:.)*update bpe-interop"),
        (b'"bpe_interop_lock": 5', b'"bpe_interop_lock": 4', "layout 4(?s:.)*bpe-interop lock SRC"),
        (b'"bpe_interop_lock": 5', b'"bpe_interop_lock": "5"', "expected"),
        (b'"source": "', b'"source": "other/', "edited or damaged"),
        (b'"model": "', b'"model": "0', "edited or damaged"),
        (b'"stated"', b'"said"', "stated|said"),
        (b"}\n", b"", "tokenizer.lock"),
    ],
)
def test_a_damaged_lock_file_is_refused(tmp_path: Path, old: bytes, new: bytes, said: str) -> None:
    data = locked(HUB, tmp_path).read_bytes()
    with pytest.raises(FormatError, match=said):
        load(data.replace(old, new), "tokenizer.lock")


@pytest.mark.usefixtures("few_texts")
def test_what_a_lock_cannot_do_is_an_error(command: Command, tmp_path: Path) -> None:
    path = locked(HUB, tmp_path)
    with pytest.raises(SourceError, match="no files for another engine"):
        verify(path, HUB, engine_a="tokenizers")
    with pytest.raises(SourceError, match="takes no preset"):
        verify(path, HUB, preset_a="gpt2")
    for words in (("inspect", path), ("encode", path, "hi")):
        done = command(*words)
        assert (done.code, done.out) == (2, "")
        assert f"bpe-interop verify {path} SRC" in done.err
    other = tmp_path / "notes.txt"
    other.write_text("mine", "utf-8")
    done = command("lock", HUB, "-o", other)
    assert (done.code, other.read_text("utf-8")) == (2, "mine")
    assert command("lock", HUB, "-o", path).code == 0
    assert verify(path, path).verdict == "proved"


def test_what_a_lock_replaces_is_said(served: Path, command: Command, tmp_path: Path) -> None:
    """A lock is what others are held against, so a new one is no small thing."""

    def wrote(source: Path) -> tuple[str, Any]:
        """What is said, and what is printed as JSON where the same file is replaced again."""
        old = file.read_bytes() if file.exists() else None
        ran = command("lock", source, "-o", file)
        new = file.read_bytes()
        if old is None:
            file.unlink()
        else:
            file.write_bytes(old)
        document = json.loads(command("lock", source, "-o", file, "--json").out)
        assert file.read_bytes() == new
        written = json.loads(new)
        assert document["fingerprint"] == written["fingerprint"]
        counted = ("tokens", "merges")
        assert [document[key] for key in counted] == [written["stated"][key] for key in counted]
        said = ran.out.split("\n")[0].removeprefix("wrote").strip().removeprefix(str(file))
        return said, document["replaced"]

    def changed(differs: str, parts: str = "", stated: str = "") -> dict[str, Any]:
        return {"differs": differs, "parts": parts.split(), "stated": stated.split()}

    file = tmp_path / "t.lock"
    assert wrote(served) == ("", None)
    same = ", in place of one of the same tokenizer"
    assert wrote(served) == (same, changed("nothing"))
    config = served / "tokenizer_config.json"
    config.write_text(json.dumps({**json.loads(config.read_bytes()), "model_max_length": 77}))
    metadata = changed("metadata", stated="settings tokenizer_config.json")
    assert wrote(served) == (f"{same} with other metadata", metadata)
    root = json.loads((served / "tokenizer.json").read_text("utf-8"))
    write(served / "tokenizer.json", {**root, "decoder": {"type": "Fuse"}})
    edited = changed("tokenizer", "decoder", "decoder")
    assert wrote(served) == (", in place of one of another tokenizer", edited)
    other = TOKENIZERS / "o200k-tiny" / "huggingface"
    assert wrote(other)[0] == ", in place of one of another tokenizer"
    file.write_bytes(file.read_bytes()[:200])
    assert wrote(other) == (", in place of a lock file that cannot be read", changed("unknown"))


def test_notes_of_a_lock_are_in_json_too(command: Command, tmp_path: Path) -> None:
    """A rank file says no special tokens, and only its preset says a pattern."""
    ranks, preset = tmp_path / "x.tiktoken", tmp_path / "mine.json"
    shutil.copyfile(TOKENIZERS / "gpt2-tiny" / "tiktoken" / "gpt2-tiny.tiktoken", ranks)
    write(preset, {"pat_str": "(?s:.+)"})
    asked = ("lock", ranks, "-o", tmp_path / "x.lock", "--preset", preset)
    said = [line for line in command(*asked).out.splitlines() if line.startswith("note ")]
    document = json.loads(command(*asked, "--json").out)
    assert [line.removeprefix("note").strip() for line in said] == document["notes"]
    unstated, supplied = document["notes"]
    assert unstated.startswith("special tokens are not stated")
    assert supplied.startswith("the pre-tokenizer supplied by the preset mine.json")
    assert (document["source"], document["format"]) == (str(ranks), "tiktoken")
    assert document["lock"] == str(tmp_path / "x.lock")


@pytest.mark.usefixtures("few_texts")
def test_a_lookup_that_changes_no_id_is_told(tmp_path: Path, command: Command) -> None:
    shutil.copytree(HUB, tmp_path / "other")
    file = tmp_path / "other" / "tokenizer.json"
    root = json.loads(file.read_text("utf-8"))
    before = root["model"].get("ignore_merges", False)
    root["model"]["ignore_merges"] = not before
    write(file, root)
    one, two = (
        tokenizers.Tokenizer.from_file(str(each)) for each in (HUB / "tokenizer.json", file)
    )
    for text in ("hello world", " the quick", "don't 12345"):
        assert one.encode(text).ids == two.encode(text).ids
    done = command("verify", locked(HUB, tmp_path), tmp_path / "other", "--require", "proved")
    assert done.code == 0
    which = "a" if before else "b"
    assert f"only {which} looks up whole pretokens (ignore_merges)" in done.out
