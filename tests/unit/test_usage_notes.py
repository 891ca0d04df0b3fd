"""What is read exactly and is of no use is said: stale ids, decoders, patterns, files of others."""

from __future__ import annotations

import base64
import gzip
import io
import json
import pickle
import struct
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tiktoken
from command_line import Command
from in_tokenizers import id_of
from tokenizers import Tokenizer

from bpe_interop import load
from bpe_interop.encode import Encoder
from bpe_interop.model import AddedToken, BPEModel, PairList, Vocab
from bpe_interop.quoting import show
from bpe_interop.steps import JoinBytes, JoinTokens, Pattern, Replace, Split
from bpe_interop.text.bytechars import to_chars
from bpe_interop.text.spellings import GPT2
from bpe_interop.usage_notes import usage_notes
from fixtures import TOKENIZERS

pytestmark = pytest.mark.usefixtures("few_texts")

SOURCE = TOKENIZERS / "gpt2-tiny/huggingface/tokenizer.json"
END = "<|endoftext|>"


def changed(folder: Path, **parts: Any) -> Path:
    """A copy of a tokenizer.json with other parts, which tokenizers reads."""
    root = {**json.loads(SOURCE.read_text("utf-8")), **parts}
    (folder / "tokenizer.json").write_text(json.dumps(root), "utf-8")
    Tokenizer.from_file(str(folder / "tokenizer.json"))
    return folder


def placing(*ids: int) -> dict[str, Any]:
    part, text = (
        {"SpecialToken": {"id": END, "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
    )
    named = {END: {"id": END, "ids": [*ids], "tokens": [END] * len(ids)}}
    pair = [part, text, {"Sequence": {"id": "B", "type_id": 1}}]
    return {
        "type": "TemplateProcessing",
        "single": [part, text],
        "pair": pair,
        "special_tokens": named,
    }


def test_an_id_of_a_template_that_no_token_has(tmp_path: Path, command: Command) -> None:
    source = changed(tmp_path, post_processor=placing(128000))
    assert Tokenizer.from_file(str(source / "tokenizer.json")).encode("the").ids[0] == 128000
    shown = command("inspect", source)
    assert "\ntemplate    id 128000 + text A\n" in shown.out
    assert "places the id 128000, which no token has" in shown.out
    refused = command("convert", source, tmp_path / "x.gguf", "--to", "gguf")
    assert refused.code == 1
    assert "places the id 128000, which no token has" in refused.err
    written = command("convert", source, tmp_path / "out", "--to", "hf")
    assert "places the id 128000, which no token has" in written.out


def test_an_id_of_a_template_that_is_another_tokens(tmp_path: Path, command: Command) -> None:
    source = changed(tmp_path, post_processor=placing(7))
    engine = Tokenizer.from_file(str(source / "tokenizer.json"))
    placed = engine.encode("the").ids[0]
    text = engine.id_to_token(placed)
    shown = command("inspect", source)
    assert f'\ntemplate    "{text}" + text A\n' in shown.out
    assert f'places the id 7, which is "{text}" here' in shown.out
    right = changed(tmp_path, post_processor=placing(id_of(engine, END)))
    assert "places the id" not in command("inspect", right).out


def test_a_decoder_of_another_kind(tmp_path: Path, command: Command) -> None:
    pieces = {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}
    source = changed(tmp_path, decoder={"type": "Sequence", "decoders": [pieces, {"type": "Fuse"}]})
    engine = Tokenizer.from_file(str(source / "tokenizer.json"))
    back = engine.decode(engine.encode("a the").ids)
    assert back != "a the"
    shown = command("inspect", source).out
    assert f'the ids of "a the" decode to "{back}"' in shown
    assert '"decoder": {"type": "ByteLevel"}' in shown
    written = command("convert", source, tmp_path / "out", "--to", "hf").out
    assert f'decode to "{back}"' in written
    assert not usage_notes(load(SOURCE).model)


def test_a_pattern_that_leaves_text_without_ids(tmp_path: Path, command: Command) -> None:
    ranks = {bytes([byte]): byte for byte in range(256)}
    pattern = r"[a-z ]+"
    engine = tiktoken.Encoding("x", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    lines = b"".join(base64.b64encode(t) + b" %d\n" % n for t, n in ranks.items())
    (tmp_path / "x.tiktoken").write_bytes(lines)
    sidecar = {"name": "x", "pat_str": pattern, "special_tokens": {}}
    (tmp_path / "x.tiktoken.json").write_text(json.dumps(sidecar))
    (note,) = usage_notes(load(tmp_path / "x.tiktoken").model)
    lost = json.loads(note.partition("without ids: ")[2].partition(" has none")[0])
    assert lost
    assert engine.encode_ordinary(lost) == []
    assert note in command("convert", tmp_path / "x.tiktoken", tmp_path / "out", "--to", "hf").out


@pytest.mark.parametrize(
    ("changes", "back"),
    [
        ({}, ""),
        ({"added": (AddedToken("the", 900, lstrip=True, special=False),)}, "athe"),
        ({"added": (AddedToken("the", 900, special=False),)}, ""),
        ({"added": (AddedToken("zzz", 257, special=False),)}, "a tzzz"),
        ({"normalizer": (Replace("t", "d"),)}, "a dhe"),
        ({"decoder": (JoinTokens(),)}, "a \u0120t he"),
        ({"pretokenizer": (Split(Pattern(GPT2, "oniguruma"), "removed"),)}, ""),
        ({"pretokenizer": (Split(Pattern("[a-z]+", "oniguruma"), "removed", True),)}, "athe"),
    ],
)
def test_what_needs_no_encoder_is_what_an_encoder_gives(changes: dict[str, Any], back: str) -> None:
    ids = {bytes([byte]): byte for byte in range(256)} | {b" t": 256, b"he": 257}
    model = BPEModel(
        Vocab(ids),
        PairList(((b" ", b"t"), (b"h", b"e"))),
        normalizer=(),
        pretokenizer=(Split(Pattern(GPT2, "oniguruma"), "isolated"),),
        added=(),
        decoder=(JoinBytes(),),
    )
    model = replace(model, **changes)
    encoder = Encoder(model)
    text = "a the"
    if back:
        assert encoder.decode(encoder.encode(text)) == back
    notes = [note for note in usage_notes(model) if "does not give it back" in note]
    assert [f"decode to {show(back)}" in note for note in notes] == [True] * bool(back)


SPACE = {"type": "Replace", "pattern": {"String": " "}}
REMOVED = {"type": "Split", "pattern": {"String": " "}, "behavior": "Removed", "invert": False}
LEFT = {"content": "the", "single_word": False, "lstrip": True, "rstrip": False}
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"normalizer": {**SPACE, "content": ""}}, "the normalizer removes spaces"),
        (
            {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [REMOVED, BYTES]}},
            "the pre-tokenizer removes spaces",
        ),
        (
            {"added_tokens": [{**LEFT, "id": 0, "normalized": False, "special": False}]},
            "an added token takes the spaces beside it along",
        ),
    ],
)
def test_where_spaces_are_lost_the_decoder_is_not_to_blame(
    tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    source = changed(tmp_path, **changes)
    engine = Tokenizer.from_file(str(source / "tokenizer.json"))
    assert not any("\u0120" in token for token in engine.encode("a the").tokens)
    assert engine.decode(engine.encode("a the").ids) == "athe"
    (note,) = usage_notes(load(source).model)
    assert f"; {said}, so no token has them, and no decoder can bring them back" in note
    assert "the decoder does" not in note


def packed() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("archive/data.pkl", "x")
    return stream.getvalue()


def exported(*pieces: bytes) -> bytes:
    """What llama2.c's ``tokenizer.py`` writes."""
    return struct.pack("<i", max(map(len, pieces))) + b"".join(
        struct.pack("<fi", 0.0, len(piece)) + piece for piece in pieces
    )


HEADER = b'{"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}'


@pytest.mark.parametrize(
    ("name", "data", "what"),
    [
        ("tokenizer.pkl", pickle.dumps({b"a": 1}), "a pickle"),
        ("tokenizer.model", pickle.dumps({b"a": 1}, 2), "a pickle"),
        ("tokenizer.bin", exported(b"<unk>", b"\n<s>\n", b" t"), "tokenizer.bin of llama2.c"),
        ("vocab.txt", b"[PAD]\n[UNK]\n[CLS]\nthe\n##s\n", "WordPiece"),
        ("pytorch_model.bin", packed(), "weights of PyTorch"),
        ("model.safetensors", struct.pack("<Q", len(HEADER)) + HEADER + bytes(4), "safetensors"),
        ("tokenizer.json", b"<!DOCTYPE html><html></html>", "a web page"),
        ("tokenizer.model", b"version https://git-lfs.github.com/spec/v1\noid", "Git LFS"),
        ("tokenizer.json", b"\xef\xbb\xbf{}", "a byte order mark"),
        ("tokenizer.json", b'{"a": 0, "b": 1}', "a vocabulary, ids by tokens, without merges"),
        ("tokenizer.json.gz", gzip.compress(b"{}", mtime=0), "packed (gzip)"),
        ("rwkv_vocab_v20230424.txt", b"1 '\\x00' 1\n257 'the' 3\n", "RWKV"),
        ("codes.bpe", b"#version: 0.2\nt h\nth e</w>\n", "merges without ids"),
        ("bpe.codes", b"t h 100\nth e</w> 90\n", "merges without ids"),
        ("m.vocab", b"<unk>\t0\n<s>\t0\n\xe2\x96\x81the\t-3.2\n", "the .model file"),
        ("tokenizer_config.json", b'{"tokenizer_class": "A"}', "belongs beside a tokenizer"),
    ],
)
def test_a_file_of_another_kind_is_named(
    name: str, data: bytes, what: str, tmp_path: Path, command: Command
) -> None:
    (tmp_path / name).write_bytes(data)
    shown = command("inspect", tmp_path / name)
    assert shown.code == 2
    assert what in shown.err
    folder = command("inspect", tmp_path)
    assert folder.code == 2
    # Weights lie in every folder of a model: the folder has no tokenizer, whatever they are.
    weights = name in {"pytorch_model.bin", "model.safetensors"}
    assert ("no tokenizer is here" if weights else what) in folder.err


def test_a_folder_of_the_hubs_cache_names_the_folder_to_take(
    tmp_path: Path, command: Command
) -> None:
    (tmp_path / "models--a--b/snapshots/0f").mkdir(parents=True)
    (tmp_path / "models--a--b/refs").mkdir()
    # What may stand beside a tokenizer stands above its folder here, and hides no folder.
    (tmp_path / "config.json").write_text("{}")
    assert "models--a--b/snapshots/0f\n" in command("inspect", tmp_path).err
    assert "in it: snapshots/0f\n" in command("inspect", tmp_path / "models--a--b").err


def test_the_command_for_a_pickle_writes_its_encoding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"th": 256, b"the": 257}
    pattern = r"\w+|\W+"
    engine = tiktoken.Encoding(
        "x", pat_str=pattern, mergeable_ranks=ranks, special_tokens={END: 258}
    )
    monkeypatch.chdir(tmp_path)
    Path("tokenizer.pkl").write_bytes(pickle.dumps(engine))
    shown = command("inspect", ".")
    code = shown.err.partition('python -c "')[2].partition('"\n')[0]
    exec(code, {})  # the very line that is shown
    written = Tokenizer.from_file("DST/tokenizer.json")
    for text in ("the theme", f"a{END}b"):
        assert written.encode(text).ids == engine.encode(text, allowed_special="all")


def test_a_rank_file_in_the_letters_of_gpt_2(tmp_path: Path, command: Command) -> None:
    tokens = [to_chars(bytes([byte])) for byte in range(256)] + ["\u0120the"]
    lines = [b"%s %d\n" % (base64.b64encode(t.encode()), n) for n, t in enumerate(tokens)]
    (tmp_path / "x.tiktoken").write_bytes(b"".join(lines))
    shown = command("inspect", tmp_path / "x.tiktoken")
    assert shown.code == 2
    assert "spelled in GPT-2's letters" in shown.err


def test_word_as_special_token_is_left_out_and_found_inside_words(tmp_path: Path) -> None:
    flags = dict.fromkeys(("lstrip", "rstrip", "single_word", "normalized"), False)
    added = [
        {"id": 9000 + place, "content": text, "special": True, **flags}
        for place, text in enumerate(("card", "<x>", "s_1"))
    ]
    folder = changed(tmp_path, added_tokens=added, post_processor=None)
    engine = Tokenizer.from_file(str(folder / "tokenizer.json"))
    ids, number = engine.encode("cardio").ids, engine.token_to_id("card")
    assert ids[0] == number
    assert engine.decode(ids) == "io"
    [note] = [each for each in usage_notes(load(folder).model) if "look like words" in each]
    assert f'"card" {number};' in note


def test_an_id_of_a_template_that_is_a_byte_which_is_no_text(
    tmp_path: Path, command: Command
) -> None:
    first = id_of(Tokenizer.from_file(str(SOURCE)), to_chars(b"\xa5"))
    source = changed(tmp_path, post_processor=placing(first))
    assert Tokenizer.from_file(str(source / "tokenizer.json")).encode("the").ids[0] == first
    said = f"places the id {first}, which is b'\\xa5' here"
    assert said in command("inspect", source).out
    written = command("convert", source, tmp_path / "hf", "--to", "hf", "--no-verify")
    assert said in written.out
    assert 'places "<|endoftext|>" first' not in written.out
    ranks = command("convert", source, tmp_path / "ranks", "--to", "tiktoken")
    assert f"add the id {first} in your own code" in ranks.out.replace("\n            ", " ")


def test_template_of_a_source_that_does_not_state_its_tokens_is_not_called_stale(
    tmp_path: Path,
) -> None:
    folder = changed(tmp_path, post_processor=placing(9999))
    model = load(folder).model
    assert any("9999" in note for note in usage_notes(model))
    assert not any("9999" in note for note in usage_notes(replace(model, added=None)))
