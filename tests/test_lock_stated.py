"""Lock files say in words what a tokenizer states, so that a report says what of it changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from conftest import FIXTURES
from edited_files import Edit, edited_file
from tokenizers import Tokenizer as Engine

from bpe_interop.cli import cli
from bpe_interop.errors import FormatError
from bpe_interop.proof.stage import Scope
from bpe_interop.pytest_plugin import assert_parity
from bpe_interop.sources import load_source
from bpe_interop.verify import Report, verify
from bpe_interop.verify.lock import Lock, OwnText, dump, load, lock

HUB = FIXTURES / "tokenizers" / "cl100k-tiny" / "huggingface"

LAYOUT_3 = r"""{
  "bpe_interop_lock": 3,
  "source": "my-tok",
  "fingerprint": {
    "text": "0000000000000000000000000000000000000000000000000000000000000000",
    "specials": "0000000000000000000000000000000000000000000000000000000000000000",
    "template": "0000000000000000000000000000000000000000000000000000000000000000",
    "decoder": "0000000000000000000000000000000000000000000000000000000000000000",
    "all": "0000000000000000000000000000000000000000000000000000000000000000"
  },
  "versions": {
    "bpe-interop": "0"
  },
  "roles": [
    "eos \"<s>\""
  ],
  "chat_template": "",
  "merges": [
    "0123456789ab"
  ],
  "sha256": "21354e755f4f54a2254fe59402a20e1f080e9de3a803406e90e2c3156b5f3987",
  "golden": [
    "LRx4!F+o`-Q(2(D(|7;?3Y&ls1Q-PX3Nip(Kp+4isisXZn1wI^O(NyE94LYt1!!awPEfT?D0O(5@pmLsg$W7^{WpL"
  ],
  "tokens": [
    "LRx4!F+o`-Q(3WMwiy5b9UFiU1W*tF3O3+eN+1AKP&ClU$%ryWjSUHcHmrixpHQ=!nH4GnfR7;ojN?CVjii{4_@lap_`8xR!i0s3",
    "6|l$"
  ]
}
"""
"""As it was written before there was another layout."""


@pytest.fixture(scope="module")
def written() -> bytes:
    return dump(lock(load_source(HUB).model, "x", {"bpe-interop": "0"}))


def held_against(data: bytes, folder: Path, edit: Edit) -> Report:
    (folder / "tokenizer.lock").write_bytes(data)
    return verify(folder / "tokenizer.lock", edited_file(HUB, folder, edit))


def added(root: dict[str, Any], text: str) -> dict[str, Any]:
    return next(token for token in root["added_tokens"] if token["content"] == text)


def split(root: dict[str, Any]) -> dict[str, Any]:
    steps = root["pre_tokenizer"]["pretokenizers"]
    return next(step for step in steps if step["type"] == "Split")


def take_along(root: dict[str, Any]) -> None:
    added(root, "<|endoftext|>").update(rstrip=True, special=False)


def renumber(root: dict[str, Any]) -> None:
    added(root, "<|endofprompt|>")["id"] = 821
    root["model"]["vocab"]["<|endofprompt|>"] = 821


def rename(root: dict[str, Any]) -> None:
    added(root, "<|endofprompt|>")["content"] = "<|end|>"
    root["model"]["vocab"]["<|end|>"] = root["model"]["vocab"].pop("<|endofprompt|>")


def forget(root: dict[str, Any]) -> None:
    root["added_tokens"].remove(added(root, "<|endofprompt|>"))


def fewer_digits(root: dict[str, Any]) -> None:
    pattern = split(root)["pattern"]
    assert r"|\p{N}{1,3}|" in pattern["Regex"]
    pattern["Regex"] = pattern["Regex"].replace(r"|\p{N}{1,3}|", r"|\p{N}|")


def normalize(root: dict[str, Any]) -> None:
    root["normalizer"] = {"type": "NFC"}


def digits_first(root: dict[str, Any]) -> None:
    step = {"type": "Digits", "individual_digits": True}
    root["pre_tokenizer"]["pretokenizers"].insert(0, step)


def merge_matches(root: dict[str, Any]) -> None:
    split(root)["behavior"] = "MergedWithNext"


def another_decoder(root: dict[str, Any]) -> None:
    root["decoder"] = {"type": "Fuse"}


def swap_merges(root: dict[str, Any]) -> None:
    merges = root["model"]["merges"]
    merges[0], merges[1] = merges[1], merges[0]


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (
            take_along,
            'added token "<|endoftext|>" (id 801): special was true, is false; '
            "rstrip was false, is true",
        ),
        (renumber, 'special token "<|endofprompt|>" had id 820, has id 821'),
        (rename, 'the added token with the id 820 was "<|endofprompt|>", is "<|end|>"'),
        (forget, 'added token "<|endofprompt|>" (id 820) is gone'),
        (
            fewer_digits,
            "step 1 of the pre-tokenizer, the pattern: `\\p{N}{1,3}` was, `\\p{N}` is "
            "(character @)",
        ),
        (normalize, "step 1 of the normalizer is new: UnicodeForm form `NFC`"),
        (digits_first, "step 1 of the pre-tokenizer is new: Digits individual `true`"),
        (
            merge_matches,
            "step 1 of the pre-tokenizer (Split): behavior was `isolated`, is `merged_with_next`",
        ),
        (another_decoder, "step 1 of the decoder was JoinBytes mapped_added `false`, is Fuse"),
    ],
)
def test_what_changed_is_said_in_words(
    written: bytes, tmp_path: Path, edit: Edit, said: str
) -> None:
    report = held_against(written, tmp_path, edit)
    pattern = json.loads((HUB / "tokenizer.json").read_text("utf-8"))
    place = split(pattern)["pattern"]["Regex"].find(r"\p{N}{1,3}") + 1
    assert said.replace("@", str(place)) in report.notes
    [text] = (stage for stage in report.stages if stage.name == "text")
    assert (text.outcome == "proved") == (edit not in _OF_TEXT)
    if edit in _OF_TEXT:
        assert f"another fingerprint ({_OF_TEXT[edit]})" in text.why
    assert not any("layout 3" in note for note in report.notes)


_OF_TEXT = {
    fewer_digits: "pre-tokenizer",
    normalize: "normalizer",
    digits_first: "pre-tokenizer",
    merge_matches: "pre-tokenizer",
}


def test_a_lock_can_be_read(written: bytes) -> None:
    """By people, and line by line by what shows differences."""
    lines = written.decode("ascii").splitlines()
    token = '      {"id": 801, "text": "<|endoftext|>", "flags": ["special"]},'
    assert token in lines
    root = json.loads(written)
    [step] = root["stated"]["pretokenizer"]
    given = json.loads((HUB / "tokenizer.json").read_text("utf-8"))
    assert step["pattern"] == split(given)["pattern"]["Regex"]
    assert sum(json.dumps(step) in line for line in lines) == 1
    assert len(json.dumps(root["stated"])) < 5_000


def test_the_older_layout_is_read_and_written_as_it_was() -> None:
    held = load(LAYOUT_3.encode("ascii"), "x")
    assert held == Lock(
        "my-tok",
        dict.fromkeys(("text", "specials", "template", "decoder", "all"), "0" * 64),
        {"bpe-interop": "0"},
        (("text", "ab", (2,)), ("parse", "<s>", (3,))),
        ("0123456789ab",),
        (OwnText(0, "a", (0,)), OwnText(2, "ab", (2,))),
        ('eos "<s>"',),
        "",
    )
    assert dump(held).decode("ascii") == LAYOUT_3


def test_the_older_layout_decides_alike_and_says_to_lock_again(
    written: bytes, tmp_path: Path
) -> None:
    older = dump(replace(load(written, "x"), stated=None))
    assert b'"bpe_interop_lock": 3' in older
    report = held_against(older, tmp_path, take_along)
    (tmp_path / "new.lock").write_bytes(written)
    newer = verify(tmp_path / "new.lock", tmp_path / "edited")
    assert (report.verdict, report.stage, report.mismatch) == (
        newer.verdict,
        newer.stage,
        newer.mismatch,
    )
    assert sum("lock again (bpe-interop lock SRC -o FILE)" in each for each in report.notes) == 1
    assert not any("rstrip" in note for note in report.notes)
    same = verify(tmp_path / "tokenizer.lock", HUB)
    assert same.verdict == "proved"
    assert sum("layout 3" in note for note in same.notes) == 1


def forged(data: bytes, edit: Callable[[dict[str, Any]], None]) -> bytes:
    """A lock file of which the words were edited, with a sha256 that fits."""
    root, held = json.loads(data), load(data, "x")
    edit(root["stated"])
    head = {key: root[key] for key in root if key not in ("sha256", "golden", "tokens")}
    content = json.dumps([head, held.golden, held.tokens])
    root["sha256"] = hashlib.sha256(content.encode("ascii")).hexdigest()
    return json.dumps(root).encode("ascii")


def unspecial(stated: dict[str, Any]) -> None:
    stated["added"][0]["flags"] = []
    stated["fields"]["pretokenizer"] = "0" * 64
    stated["pretokenizer"][0]["pattern"] = "a"


def test_words_that_contradict_the_hashes_decide_nothing(written: bytes, tmp_path: Path) -> None:
    words = json.loads(written)
    unspecial(words["stated"])
    with pytest.raises(FormatError, match="edited or damaged"):
        load(json.dumps(words).encode("ascii"), "x")
    path = tmp_path / "forged.lock"
    path.write_bytes(forged(written, unspecial))
    report = verify(path, HUB)
    assert (report.verdict, report.stage, report.differences) == ("proved", None, ())
    assert all(note.startswith("locked with") for note in report.notes)
    other = verify(path, edited_file(HUB, tmp_path, swap_merges))
    assert other.verdict == "unknown"


def nameless(stated: dict[str, Any]) -> None:
    del stated["pretokenizer"][0]["step"]


def no_text(stated: dict[str, Any]) -> None:
    stated["added"][0]["text"] = 5


@pytest.mark.parametrize(("edit", "said"), [(nameless, "step"), (no_text, "a string")])
def test_malformed_words_are_refused(written: bytes, edit: Edit, said: str) -> None:
    with pytest.raises(FormatError, match=said):
        load(forged(written, edit), "x")


def strip_spaces(root: dict[str, Any]) -> None:
    strip = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
    root["decoder"] = {"type": "Sequence", "decoders": [root["decoder"], strip]}


@pytest.mark.parametrize("scope", ["all", "ordinary", "text"])
@pytest.mark.parametrize("engine", [None, "tokenizers", "transformers"])
def test_another_decoder_is_not_the_locked_tokenizer(
    written: bytes, tmp_path: Path, scope: Scope, engine: str | None
) -> None:
    path, copy = tmp_path / "tokenizer.lock", edited_file(HUB, tmp_path, strip_spaces)
    path.write_bytes(written)
    then, now = (Engine.from_file(str(each / "tokenizer.json")) for each in (HUB, copy))
    ids = then.encode(" the").ids
    assert now.encode(" the").ids == ids
    assert (then.decode(ids), now.decode(ids)) == (" the", "the")
    report = verify(path, copy, scope=scope, engine_b=engine)
    assert (report.verdict, report.differing) == ("unknown", 0)
    which = "no locked text has other ids" if engine == "transformers" else "no id changed"
    assert report.known == (
        f"not the locked tokenizer (other decoder): {which}, "
        "but what ids decode to may have changed"
    )
    [note] = (each for each in report.notes if "the fingerprint is not the locked one" in each)
    assert "but what ids decode to is not in a lock file, and may have changed; " in note


def test_another_decoder_fails_a_build(written: bytes, tmp_path: Path) -> None:
    path, copy = tmp_path / "tokenizer.lock", edited_file(HUB, tmp_path, strip_spaces)
    path.write_bytes(written)
    page = tmp_path / "lock.xml"
    command = ["verify", str(path), str(copy), "--engine-b", "tokenizers", "--report", str(page)]
    ran = CliRunner().invoke(cli, command)
    assert ran.exit_code == 2
    assert ran.stdout.startswith("UNKNOWN     not the locked tokenizer (other decoder): no id ")
    assert ElementTree.parse(page).getroot().get("errors") == "1"
    with pytest.raises(AssertionError, match=r"tokenizer \(other decoder\): no id "):
        assert_parity(path, copy)


def test_other_added_tokens_outside_the_scope_are_no_other_decoder(
    written: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "tokenizer.lock"
    path.write_bytes(written)
    fewer = edited_file(HUB, tmp_path / "fewer", forget)
    assert verify(path, fewer, scope="text").verdict == "tested"

    def both(root: dict[str, Any]) -> None:
        forget(root)
        strip_spaces(root)

    report = verify(path, edited_file(HUB, tmp_path / "both", both), scope="text")
    assert report.verdict == "unknown"
    assert "(other decoder, contents of tokens): no id changed" in report.known
