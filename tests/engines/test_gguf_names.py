"""llama.cpp's names for splitters: which are one, what a file's own means, and what it costs.

A file under a name that is not its own is DIFFERENT, with a text that both engines show.
"""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command_line import Command
from conftest import Data
from test_composition import BYTES, digits, model_of, tokenizer_json
from tokenizers import Tokenizer

from bpe_interop.encode import Encoder
from bpe_interop.engines.llamacpp import LlamaCppEngine
from bpe_interop.formats.gguf import pre_names as grouping
from bpe_interop.formats.gguf.pre_names import (
    chosen,
    group_of,
    groups,
    nearest_names,
    particulars,
    written_name,
)
from bpe_interop.formats.gguf.read import load
from bpe_interop.formats.gguf.splitters import NOT_HELD, OVER_CHARACTERS, SPLITTERS
from bpe_interop.formats.gguf.write import dump
from bpe_interop.model import BPEModel, RankTable, Vocab
from bpe_interop.proof.prove import prove
from bpe_interop.sources import load_source
from bpe_interop.steps import Pattern, Split
from bpe_interop.text.spellings import CL100K, CL100K_TRAILING, GPT2, O200K
from bpe_interop.text.split import split
from bpe_interop.theory.splitters import first_cut_difference
from fixtures import TOKENIZERS
from fixtures import gguf_models as made
from fixtures.gguf_models import under_name


def test_every_name_is_in_one_group() -> None:
    listed = [name for group in groups() for name in group.names]
    assert sorted(listed) == sorted(SPLITTERS)
    assert not {*listed} & NOT_HELD.keys()
    assert not any(group.open for group in groups())


def test_another_spelling_of_the_same_splitter_is_found() -> None:
    """``\\s*[\\r\\n]`` and ``\\s*[\\r\\n]+`` take the same text: the first part is greedy."""
    assert SPLITTERS["bailingmoe"].patterns != SPLITTERS["qwen2"].patterns
    assert group_of("bailingmoe") == group_of("qwen2")
    assert group_of("qwen2").by == "Theorem 14"
    assert group_of("gpt-2") != group_of("qwen2")


def test_names_in_a_group_cut_as_one_in_llama_cpp() -> None:
    characters = "aZ's \n\r1.\u00e9"
    rng = random.Random(11)
    texts = ["".join(rng.choice(characters) for _ in range(1 + n % 9)) for n in range(400)]
    ids = [
        LlamaCppEngine(made.every_string(characters, 2, name)).encode_batch(texts)
        for name in ("qwen2", "bailingmoe", "gpt-2")
    ]
    assert ids[0] == ids[1]
    assert ids[0] != ids[2]


def test_a_splitter_that_is_not_decided_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two that no probe tells apart and no proof equals stay apart, and each names the other."""
    both = [SPLITTERS[name].steps for name in ("superbpe", "viking")]
    monkeypatch.setattr(grouping, "cuts", lambda steps: () if steps in both else steps)
    grouping.groups.cache_clear()
    try:
        found = {group.names[0]: group.open for group in groups()}
    finally:
        grouping.groups.cache_clear()
    assert (found["superbpe"], found["viking"]) == (("viking",), ("superbpe",))
    assert sum(map(bool, found.values())) == 2


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "characters"),
    [
        ("chameleon", "aIMG<\t \n1>$A"),
        ("superbpe", "a 1234\u00b2\u0663"),
        ("kimi-k2", "as' 1\u4e2d\u0301\ufa70\u2f00\x00"),
        ("afmoe", "a \n12\u00b2\u4e2d\u0301\u0e01\x00$"),
        ("tiny_aya", "a_ 12\u00b2'\u0301"),
    ],
)
def test_splitters_written_by_hand_cut_as_llama_cpp_does(name: str, characters: str) -> None:
    file = made.every_string(characters, 2, name)
    encoder, engine = Encoder(load({"x.gguf": file})), LlamaCppEngine(file)
    rng = random.Random(7)
    texts = ["".join(rng.choice(characters) for _ in range(1 + n % 9)) for n in range(900)]
    if name == "chameleon":
        texts += ["IMGIMGAZ", "IMGIMGAAAAZ", "IMGIMGAAAAAZ", "<sentinel:11>a", "<sentinel:>"]
    assert [encoder.encode(text) for text in texts] == engine.encode_batch(texts)


@pytest.mark.parametrize("name", NOT_HELD)
def test_names_that_are_refused_are_known_to_llama_cpp(name: str) -> None:
    every = [f"<0x{byte:02X}>" for byte in range(256)] + ["a", "\u2581"]
    types = [made.BYTE] * 256 + [made.NORMAL] * 2
    LlamaCppEngine(made.by_merges(every, types, ["a a"], name))


def test_the_groups_as_a_table_and_as_json(command: Command) -> None:
    rows: list[dict[str, Any]] = json.loads(command("formats", "--pre", "--json").raw)
    refused = rows.pop()["refused"]
    assert {*refused} == {*NOT_HELD}
    assert all("llama-vocab.cpp" in row["source"] for row in rows)
    names = [*SPLITTERS, *OVER_CHARACTERS]
    assert sorted(name for row in rows for name in row["names"]) == sorted(names)
    shown = command("formats", "--pre")
    assert (shown.code, shown.err) == (0, "")
    for row in rows:
        assert all(name in shown.out for name in row["names"])
    assert "refused" in shown.out
    assert "llama-vocab.cpp" in shown.out


def test_inspect_says_what_the_name_of_a_file_means(command: Command, tmp_path: Path) -> None:
    source = TOKENIZERS / "gguf-llama3-tiny/gguf"
    facts = json.loads(command("inspect", source, "--json").raw)["particulars"]["pre"]
    assert facts["name"] == "llama-bpe"
    assert {"llama3", "dbrx", "smaug-bpe"} <= {*facts["equal"]}
    assert facts["bos"] is True
    assert "splits as llama3, " in command("inspect", source).out
    bare = tmp_path / "bare.gguf"
    bare.write_bytes(made.every_string("ab", 2, None))
    assert "default, as the file names none" in command("inspect", bare).out
    by_scores = TOKENIZERS / "gguf-spm-tiny/gguf"
    assert json.loads(command("inspect", by_scores, "--json").raw)["particulars"] == {}


def test_a_name_is_chosen_by_what_proves_it() -> None:
    ranks = {bytes([byte]): byte for byte in range(256)}
    plain = BPEModel(
        Vocab(ranks), RankTable(ranks), normalizer=(), added=(), sequence_template=None
    )
    for source, expected in (
        (GPT2, ("gpt-2", "Theorem 14")),
        (CL100K, ("llama3", "Theorem 10")),
    ):
        step = Split(Pattern(source, "fancy-regex"), "removed", invert=True)
        found = chosen(replace(plain, pretokenizer=(step,)))
        assert found is not None
        assert (found.name, found.by) == expected


def test_a_token_across_the_cut_keeps_a_name_from_being_chosen() -> None:
    """Under cl100k ``\\n\\t`` at the end of a text is one pretoken; under llama3 it is two."""
    step = Split(Pattern(CL100K_TRAILING, "fancy-regex"), "removed", invert=True)
    for extra, name in ((b"\n\t", None), (b"\t\t", "llama3")):
        ranks = {bytes([byte]): byte for byte in range(256)} | {extra: 256}
        model = BPEModel(
            Vocab(ranks), RankTable(ranks), normalizer=(), pretokenizer=(step,), added=()
        )
        found = chosen(model)
        assert (found and found.name) == name


@pytest.mark.long
def test_the_nearest_names_are_those_that_give_fewest_texts_other_ids() -> None:
    ranks = {bytes([byte]): byte for byte in range(256)}
    step = Split(Pattern(O200K, "fancy-regex"), "removed", invert=True)
    model = BPEModel(Vocab(ranks), RankTable(ranks), normalizer=(), pretokenizer=(step,))
    near = nearest_names(model)
    assert "gpt-4o" in [each.name for each in near]
    for each in near:
        assert split(SPLITTERS[each.name].steps, each.cut) != split((step,), each.cut)
        assert not each.text  # all tokens are single bytes: no cut changes ids
    more = {**ranks, "\u00c0".encode(): 256, "a\u00c0".encode(): 257}
    merged = replace(model, vocab=Vocab(more), merges=RankTable(more))
    for each in nearest_names(merged):
        under = replace(merged, pretokenizer=SPLITTERS[each.name].steps)
        if each.text:
            assert Encoder(under).encode(each.text) != Encoder(merged).encode(each.text)
    assert any(each.text for each in nearest_names(merged))


@pytest.mark.long
def test_a_splitter_that_is_dropped_is_written_as_the_nearest(
    command: Command, tmp_path: Path
) -> None:
    """Not as ``default``, which no publisher has; the refusal says which one it would be."""
    source = TOKENIZERS / "o200k-tiny/huggingface"
    refused = command("convert", source, tmp_path / "a.gguf")
    assert refused.code == 1
    [said] = re.findall(r"without this field the file names ([\w.-]+)", refused.err)
    assert said not in ("default", "gpt-2")
    command("convert", source, tmp_path / "a.gguf", "--drop", "pretokenizer", "--no-verify")
    again = load({"a.gguf": (tmp_path / "a.gguf").read_bytes()})
    said_again: Any = particulars(again)["pre"]
    assert said_again["name"] == said
    assert written_name(load_source(source).model) == said


def test_falcons_splitter_is_told_from_the_name_by_a_text_with_other_ids(data: Data) -> None:
    """Its tables of punctuation are older, so U+061D (Unicode 14) is none for tokenizers."""
    path = data / "falcon/tokenizer.json"
    model = load_source(path).model
    near = nearest_names(model, 1)[0]
    assert (near.name, near.text) == ("falcon", " \u061d")
    theirs = Tokenizer.from_file(str(path)).encode(near.text, add_special_tokens=False).ids
    file = under_name(replace(model, added=()), "falcon")
    assert LlamaCppEngine(file).encode(near.text) != theirs


def test_between_two_groups_there_is_a_text() -> None:
    """A seeded choice of pairs; each text is shown to be cut otherwise by running both."""
    decided = [SPLITTERS[group.names[0]] for group in groups()]
    decided = [row for row in decided if not any("(?=" in source for source in row.patterns)]
    rng = random.Random(2)
    for _ in range(6):
        one, two = (row.steps for row in rng.sample(decided, 2))
        text = first_cut_difference(one, two)
        assert text is not None
        assert split(one, text) != split(two, text)


def test_no_check_asks_for_what_the_proof_takes_to_be_in_no_text(
    tmp_path: Path, command: Command
) -> None:
    """StarCoder's steps, and a token of two spaces, which a newer digit after them would divide."""
    source = json.loads((TOKENIZERS / "gpt2-tiny/huggingface/tokenizer.json").read_text())
    steps = [{"type": "Digits", "individual_digits": True}, source["pre_tokenizer"]]
    source["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": steps}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(source))
    written = command("convert", path, tmp_path / "a.gguf")
    assert written.code == 0, written.err
    assert "PROVED equal for every text" in written.out
    assumed = "no text holds one of the characters that Unicode 16.0 or a later version added"
    assert assumed in written.out
    for engine in ([], ["--engine-b", "llama.cpp"]):
        report = command("verify", path, tmp_path / "a.gguf", "--require", "proved", *engine)
        assert report.out.startswith("PROVED"), report.out
        assert assumed in report.out
    # One of 16.0, and one of 17.0, which is a digit to tokenizers alone.
    llama_cpp = LlamaCppEngine((tmp_path / "a.gguf").read_bytes())
    for character in "\U000116db\U00011de0":
        text = f"  {character}"
        assert list(llama_cpp.encode(text)) != Tokenizer.from_file(str(path)).encode(text).ids


def test_digits_are_numbers_to_a_name_but_for_newer_characters() -> None:
    """``Digits`` has the table of Unicode 17, ``\\p{N}`` that of 16, and llama.cpp's is older."""
    steps = [digits(True), BYTES]
    model = model_of(steps)
    choice = chosen(model)
    assert choice is not None
    assert choice.by == "Theorem 14"
    text = first_cut_difference(model.pretokenizer or (), SPLITTERS[choice.name].steps)
    assert text is not None
    assert "\U00011de0" in text
    texts = [
        "1\u0663 \u00b2\u2167x\u0664",
        "a1 22 333's",
        " \u0f33\u3007\u4e2d1",
        "\u2460\u00bd!1 ",
    ]
    own = Tokenizer.from_str(tokenizer_json(steps)).encode_batch(texts)
    (head,) = dump(model).values()
    ids = LlamaCppEngine(head).encode_batch(texts)
    assert [encoding.ids for encoding in own] == [list(each) for each in ids]


def test_a_wrong_name_is_shown_by_a_text_in_both_engines() -> None:
    """o200k's pattern under ``gpt-4o``, which knows no marks, as the converter writes it."""
    source = TOKENIZERS / "o200k-tiny/huggingface/tokenizer.json"
    model = load_source(source).model
    file = under_name(model, "gpt-4o")
    proof = prove(load({"wrong.gguf": file}), model, "ordinary")
    assert (proof.outcome, proof.stage) == ("different", "pre-tokenizer")
    assert proof.witness is not None
    theirs = Tokenizer.from_file(str(source)).encode(proof.witness, add_special_tokens=False).ids
    assert LlamaCppEngine(file).encode(proof.witness) != theirs


@pytest.mark.parametrize(
    ("path", "name", "text"),
    [
        ("gpt-oss/tokenizer.json", "gpt-4o", "\u0928\u092e\u0938\u094d\u0924\u0947"),
        # Behind U+017F, which the model's (?i) takes for an s, a token that only lookup finds.
        ("llama-3.2/tokenizer.json", "llama-bpe", "'\u017fNgo\u00e0i"),
    ],
)
def test_published_tokenizers_under_the_name_that_is_given_to_them(
    path: str, name: str, text: str, data: Data
) -> None:
    theirs = Tokenizer.from_file(str(data / path)).encode(text, add_special_tokens=False).ids
    engine = LlamaCppEngine(under_name(load_source(data / path).model, name))
    assert engine.encode(text) != theirs
    assert engine.encode("Hello world") == engine.encode("Hello") + engine.encode(" world")


@pytest.mark.usefixtures("few_texts")
@pytest.mark.long
def test_the_verdict_says_the_cause_and_the_cure_that_it_names_works(
    command: Command, tmp_path: Path
) -> None:
    source = TOKENIZERS / "gpt2-tiny" / "huggingface"
    wrong, right = tmp_path / "wrong.gguf", tmp_path / "right.gguf"
    wrong.write_bytes(under_name(load_source(source).model, "qwen2"))
    done = command("verify", source, wrong)
    assert done.code == 1
    [said] = [line for line in done.out.splitlines() if "tokenizer.ggml.pre is qwen2" in line]
    assert "under gpt-2" in said
    assert said.endswith(f"bpe-interop convert {source} NEW.gguf --into {wrong}")
    assert command("convert", source, right, "--into", wrong).code == 0
    assert command("verify", source, right, "--require", "proved").code == 0


@pytest.mark.usefixtures("few_texts")
@pytest.mark.long
def test_a_file_that_is_as_right_as_a_name_can_make_it_is_told(
    command: Command, data: Data, tmp_path: Path
) -> None:
    source = data("gpt-oss/tokenizer.json")
    model = load_source(source).model
    near, far = tmp_path / "near.gguf", tmp_path / "far.gguf"
    near.write_bytes(under_name(model, nearest_names(model)[0].name))
    far.write_bytes(under_name(model, "gpt-2"))
    for file, end in (
        (near, ", the nearest name that there is: none is proved to cut every text as the other"),
        (far, f"and the nearest is {nearest_names(model)[0].name}\n"),
    ):
        done = command("verify", source, file)
        assert done.code == 1
        assert end in done.out
        assert "a file that is right" not in done.out
