"""A tokenizer put into an existing GGUF file: a new file, and nothing but the tokenizer changed."""

from __future__ import annotations

import io
import json
import random
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest
from command_line import Command
from tokenizers import Tokenizer

from bpe_interop.compare import verify
from bpe_interop.compare.stress import fixed
from bpe_interop.convert import Conversion, convert
from bpe_interop.diff import diff
from bpe_interop.engines.llamacpp import LlamaCppEngine
from bpe_interop.errors import (
    CheckFailedError,
    FormatError,
    LossyConversionError,
    SourceError,
    TargetError,
    UnsupportedError,
)
from bpe_interop.formats.gguf.head import parse_head
from bpe_interop.formats.gguf.into import read_tensors
from bpe_interop.formats.gguf.read import load
from bpe_interop.formats.gguf.write import without_tensors
from bpe_interop.io.reader import find
from bpe_interop.model import BPEModel
from bpe_interop.statement import Statement
from fixtures import TOKENIZERS
from fixtures import gguf_models as made

SOURCE = TOKENIZERS / "gpt2-tiny/huggingface/tokenizer.json"
ROWS = 701
"""Tokens of the source: 700 and one that is special."""


def model_file(rows: int = ROWS, sign: str = "<", more: made.Keys | None = None) -> bytes:
    """A file with tensors whose tokenizer has the wrong splitter and other texts."""
    tokens = [f"t{number}" for number in range(rows - 1)] + ["<|endoftext|>"]
    keys: dict[str, tuple[int, Any]] = {
        "general.architecture": (made.STRING, "llama"),
        "general.name": (made.STRING, "mine"),
        "llama.block_count": (made.UINT32, 1),
        "tokenizer.ggml.model": (made.STRING, "gpt2"),
        "tokenizer.ggml.pre": (made.STRING, "qwen2"),
        "tokenizer.ggml.tokens": (made.ARRAY, (made.STRING, tokens)),
        "tokenizer.ggml.token_type": (made.ARRAY, (made.INT32, [made.NORMAL] * rows)),
        "tokenizer.ggml.merges": (made.ARRAY, (made.STRING, ["t 1"])),
        "tokenizer.ggml.eot_token_id": (made.UINT32, rows - 1),
        "tokenizer.ggml.fim_pad_token_id": (made.UINT32, 3),
        "tokenizer.chat_template": (made.STRING, "{{ messages }}"),
        "llama.behind": (made.ARRAY, (made.FLOAT32, [0.5, 1.5])),
        **(more or {}),
    }
    odd = random.Random(5).randbytes
    return made.with_tensors(
        keys,
        {
            "token_embd.weight": ((3, rows), odd(12 * rows)),
            "output_norm.weight": ((3,), odd(12)),
            "odd.weight": ((5, 1, 1), odd(20)),
        },
        sign,
    )


def put(tmp_path: Path, data: bytes, **named: Any) -> tuple[Conversion, Path]:
    old, new = tmp_path / "old.gguf", tmp_path / "new.gguf"
    old.write_bytes(data)
    done = convert(named.pop("source", SOURCE), new, into=old, **named)
    assert old.read_bytes() == data
    return done, new


def find_model(path: Path) -> BPEModel:
    found = find(path)
    return found.format.load(found.files)


def read_by_gguf(path: Path) -> Any:
    """As the package ``gguf`` reads it."""
    from gguf import GGUFReader  # it takes 27 MB, and not every worker runs this file

    return GGUFReader(path)


def tensors_of(path: Path) -> dict[str, tuple[list[int], bytes]]:
    return {
        tensor.name: (tensor.shape.tolist(), tensor.data.tobytes())
        for tensor in read_by_gguf(path).tensors
    }


@pytest.mark.parametrize(
    ("sign", "alignment"), [("<", None), ("<", 1), ("<", 8), (">", None), (">", 4096)]
)
def test_tensors_and_other_keys_are_the_same(
    sign: str, alignment: int | None, tmp_path: Path
) -> None:
    more = {"general.alignment": (made.UINT32, alignment)} if alignment else {}
    done, new = put(tmp_path, model_file(sign=sign, more=more), verify=False)
    assert tensors_of(new) == tensors_of(tmp_path / "old.gguf")
    assert len(tensors_of(new)) == 3
    before, after = (parse_head(path.read_bytes(), "x") for path in (tmp_path / "old.gguf", new))
    assert after.order == ("little" if sign == "<" else "big")
    for key, value in before.keys.items():
        if not key.startswith("tokenizer."):
            assert after.keys[key] == value
    assert next(iter(after.keys)) == "general.architecture"
    assert {*after.keys} >= {"llama.behind", "tokenizer.ggml.eot_token_id"}
    assert after.keys["tokenizer.chat_template"].value == b"{{ messages }}"
    assert "tokenizer.ggml.fim_pad_token_id" not in after.keys
    assert any("fim_pad" in note for note in done.notes)
    assert any("700 of 701 ids had another token" in note for note in done.notes)
    assert any("bytes of" in note and "sha256" in note for note in done.notes)


@pytest.mark.parametrize("sign", ["<", ">"])
def test_it_is_the_source_in_llama_cpp(sign: str, tmp_path: Path) -> None:
    _, new = put(tmp_path, model_file(sign=sign), verify=False)
    engine = LlamaCppEngine(without_tensors(new.read_bytes(), "new.gguf"))
    texts = ["Hello world! It's 2024, na\u00efve \u4e16\u754c<|endoftext|>", *fixed()]
    expected = [each.ids for each in Tokenizer.from_file(str(SOURCE)).encode_batch(texts)]
    assert engine.encode_batch(texts, special="parse") == expected


def test_rows_without_a_token_are_filled(tmp_path: Path) -> None:
    _, new = put(tmp_path, model_file(rows=704), verify=False)
    head = parse_head(new.read_bytes(), "x")
    tokens: Any = head.keys["tokenizer.ggml.tokens"].value
    assert (len(tokens), tokens[-1]) == (704, b"[PAD703]")
    source = find(SOURCE)
    again = load({"new.gguf": new.read_bytes()[: head.size]})
    found = diff(source.format.load(source.files), again)
    assert {each.field for each in found} <= {"chat_template", "extras"}


def test_from_one_gguf_file_into_another(tmp_path: Path) -> None:
    source = TOKENIZERS / "gguf-llama3-tiny/gguf"
    rows = len(find(source).format.load(find(source).files).vocab.ids) + 8
    done, _ = put(tmp_path, model_file(rows=rows), source=source, verify=False)
    assert {loss.grade for loss in done.losses} <= {"metadata"}


def test_a_role_that_only_the_existing_file_names_is_explained(tmp_path: Path) -> None:
    """Its key stays, as both have the same token there; the source names no token for padding."""
    more = {"tokenizer.ggml.padding_token_id": (made.UINT32, ROWS - 1)}
    done, new = put(tmp_path, model_file(more=more), verify=False)
    assert [token.roles for token in find_model(new).added or ()] == [("bos", "eos", "pad")]
    assert [(loss.grade, loss.what) for loss in done.losses if loss.field == "added"] == [
        (
            "metadata",
            'roles: "<|endoftext|>" becomes pad: the source names no token for it, '
            "llama.cpp or the file does",
        )
    ]


def with_an_end(tmp_path: Path, roles: bool) -> Path:
    """A SentencePiece tokenizer with ``<|end|>``, with the files that name its roles or without."""
    folder = TOKENIZERS / "spm-tiny/huggingface"
    made = json.loads((folder / "tokenizer.json").read_bytes())
    end = made["added_tokens"][2] | {"id": 1200, "content": "<|end|>"}
    made["added_tokens"].append(end)
    path = tmp_path / ("named" if roles else "bare") / "tokenizer.json"
    path.parent.mkdir()
    if roles:
        shutil.copytree(folder, path.parent, dirs_exist_ok=True)
    path.write_text(json.dumps(made))
    return path.parent if roles else path


def test_a_role_of_the_existing_file_comes_before_what_llama_cpp_takes_of_itself(
    tmp_path: Path,
) -> None:
    """It takes 2 for eos where a file says nothing; generation would end elsewhere in silence."""
    bare, old = with_an_end(tmp_path, roles=False), tmp_path / "old.gguf"
    convert(bare, old, verify=False)
    convert(bare, tmp_path / "end.gguf", said=Statement(roles={"eos": "<|end|>"}), verify=False)
    for file, number in ((old, 2), (tmp_path / "end.gguf", 1200)):
        done = convert(bare, tmp_path / f"new-{number}.gguf", into=file, verify=False)
        fields = read_by_gguf(tmp_path / f"new-{number}.gguf").fields
        assert fields["tokenizer.ggml.eos_token_id"].contents() == number
        assert not any("token was" in note for note in done.notes)
    named = with_an_end(tmp_path, roles=True)
    done = convert(named, tmp_path / "new.gguf", into=tmp_path / "end.gguf", verify=False)
    fields = read_by_gguf(tmp_path / "new.gguf").fields
    assert fields["tokenizer.ggml.eos_token_id"].contents() == 2
    assert 'end.gguf: its eos token was 1200 "<|end|>", and is 2 "</s>" now' in done.notes


def test_a_bos_that_is_placed_no_more_is_named(tmp_path: Path) -> None:
    more = {"tokenizer.ggml.add_bos_token": (made.BOOL, True)}
    done, new = put(tmp_path, model_file(more=more), verify=False)
    assert read_by_gguf(new).fields["tokenizer.ggml.add_bos_token"].contents() is False
    assert "old.gguf: the tokenizer placed a bos around a text, the new one none" in done.notes


def test_a_role_that_a_token_gains_is_named_where_added_tokens_are_dropped(tmp_path: Path) -> None:
    made = json.loads((TOKENIZERS / "spm-tiny/huggingface/tokenizer.json").read_bytes())
    made["added_tokens"][2]["single_word"] = True  # llama.cpp has no such flag
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(made))
    done = convert(path, tmp_path / "new.gguf", drop=["added"], verify=False)
    roles = [loss for loss in done.losses if loss.what.startswith("roles: ")]
    assert [(loss.field, loss.grade, loss.witness) for loss in roles] == [
        ("added", "metadata", None)
    ]
    assert '"</s>" becomes eos' in roles[0].what


def test_the_command_says_what_became_of_the_file(tmp_path: Path, command: Command) -> None:
    (tmp_path / "old.gguf").write_bytes(model_file())
    new = tmp_path / "new.gguf"
    done = command("convert", SOURCE, new, "--into", tmp_path / "old.gguf", "--no-verify")
    assert "were copied as they are (sha256" in done.out
    [bare] = (TOKENIZERS / "gguf-llama3-tiny/gguf").glob("*.gguf")
    done = command("convert", bare, tmp_path / "bare.gguf", "--into", bare, "--no-verify")
    assert f"{bare} holds nothing behind its keys" in done.out


def test_the_target_is_never_the_existing_file(tmp_path: Path) -> None:
    old = tmp_path / "old.gguf"
    old.write_bytes(model_file())
    for target in (old, tmp_path / "link.gguf"):
        if target != old:
            target.symlink_to(old)
        with pytest.raises(TargetError, match="which would be deleted"):
            convert(SOURCE, target, into=old, force=True)
    assert old.read_bytes() == model_file()


def test_only_a_format_that_holds_more_takes_one(tmp_path: Path) -> None:
    (tmp_path / "old.gguf").write_bytes(model_file())
    with pytest.raises(TargetError, match="nothing but a tokenizer"):
        convert(SOURCE, tmp_path / "out", "huggingface", into=tmp_path / "old.gguf")


@pytest.mark.parametrize(
    ("data", "error", "what"),
    [
        (model_file(rows=400), TargetError, "400 rows of embedding, and the tokenizer 701"),
        (model_file(rows=70_000), TargetError, "70,000 rows"),
        (model_file()[:-6_000], FormatError, "the file ends after"),
        (
            model_file()[: parse_head(model_file(), "x").size + 30],
            FormatError,
            "within the descriptions",
        ),
        (b"GGML" + model_file()[4:], FormatError, "does not begin with GGUF"),
        (
            model_file(more={"general.alignment": (made.UINT32, 48)}),
            FormatError,
            "must be a power of two, and is 48",
        ),
        (
            model_file(more={"general.name": (made.STRING, "phi-3 of mine")}),
            FormatError,
            'under this name llama.cpp needs the token "</s>"',
        ),
    ],
    ids=["rows", "many-rows", "no-data", "no-shapes", "magic", "alignment", "phi-3"],
)
def test_what_is_refused(data: bytes, error: type[Exception], what: str, tmp_path: Path) -> None:
    old = tmp_path / "old.gguf"
    old.write_bytes(data)
    with pytest.raises(error, match=what):
        convert(SOURCE, tmp_path / "new.gguf", into=old)
    assert sorted(tmp_path.iterdir()) == [old]


def test_a_version_that_nobody_reads_any_more(tmp_path: Path) -> None:
    old = tmp_path / "old.gguf"
    old.write_bytes(b"GGUF" + struct.pack("<III", 1, 0, 0))
    with pytest.raises(UnsupportedError, match="version 1"):
        convert(SOURCE, tmp_path / "new.gguf", into=old)


def test_what_is_not_there_or_no_file(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.gguf"):
        with pytest.raises(SourceError):
            convert(SOURCE, tmp_path / "new.gguf", into=path)


def test_a_copy_that_reads_back_otherwise_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bpe_interop.io.host_file._hash", lambda file: "0" * 64)
    with pytest.raises(CheckFailedError, match="reads back otherwise"):
        put(tmp_path, model_file(), verify=False)
    assert [path.name for path in tmp_path.iterdir()] == ["old.gguf"]


def part_of(number: int, more: made.Keys | None = None) -> bytes:
    keys: made.Keys = {"general.architecture": (made.STRING, "llama"), **(more or {})}
    head = made.gguf({**keys, "x": (made.UINT32, 0)})
    # ``split.no`` and ``split.count`` are uint16, which the fixture has no need of otherwise.
    split = b"".join(
        struct.pack("<Q", len(key)) + key.encode() + struct.pack("<IH", 2, value)
        for key, value in (("split.no", number), ("split.count", 3))
    )
    return head[:16] + struct.pack("<Q", len(keys) + 3) + head[24:] + split


def test_only_the_first_of_several_files_takes_one(tmp_path: Path) -> None:
    for number in (0, 1):
        (tmp_path / f"m-0000{number + 1}-of-00003.gguf").write_bytes(part_of(number))
    new = tmp_path / "n-00001-of-00003.gguf"
    done = convert(SOURCE, new, into=tmp_path / "m-00001-of-00003.gguf", verify=False)
    assert any("the first of 3 files" in note for note in done.notes)
    with pytest.raises(TargetError, match="part 2 of a model in several files"):
        convert(SOURCE, tmp_path / "o.gguf", into=tmp_path / "m-00002-of-00003.gguf")
    (tmp_path / "m-00001-of-00003.gguf").unlink()
    (tmp_path / "n-00002-of-00003.gguf").write_bytes(part_of(1))
    with pytest.raises(UnsupportedError, match="name n-00001-of-00003"):
        find_model(tmp_path / "n-00002-of-00003.gguf")
    # Of a folder with all parts the first is read.
    assert find_model(tmp_path).vocab.ids == find_model(new).vocab.ids


@pytest.mark.parametrize("length", [1 << 63, 5_000])
def test_lengths_in_descriptions_are_not_trusted(length: int, tmp_path: Path) -> None:
    head = made.gguf({}, tensors=1)
    path = tmp_path / "odd.gguf"
    path.write_bytes(head + struct.pack("<Q", length) + b"x" * 100)
    with path.open("rb") as file, pytest.raises(FormatError, match="limit GGUF_NAME_BYTES"):
        read_tensors(file, parse_head(head, "x"), path.stat().st_size, "odd.gguf")


def test_more_than_any_model_has_is_refused_by_its_limit() -> None:
    described = struct.pack("<Q", 1) + b"t" + struct.pack("<I", 9)
    aligned = {"general.alignment": (made.UINT32, 1 << 25)}
    for head, more, limit in (
        (made.gguf({}, tensors=1), described, "GGUF_DIMENSIONS"),
        (made.gguf({}, tensors=(1 << 20) + 1), b"", "GGUF_TENSORS"),
        (made.gguf(aligned), b"", "GGUF_ALIGNMENT"),
    ):
        with pytest.raises(FormatError, match=f"limit {limit}"):
            read_tensors(io.BytesIO(head + more), parse_head(head, "x"), 1 << 30, "odd.gguf")


def test_texts_of_the_old_tokenizer_go_and_are_named(tmp_path: Path) -> None:
    model = find_model(SOURCE)
    there = next(token.text for token in model.added or ())
    more = {
        f"tokenizer.ggml.{name}_tokens": (made.ARRAY, (made.STRING, texts))
        for name, texts in (("added", ["<old>", there]), ("other", [there]))
    }
    done, new = put(tmp_path, model_file(more=more), verify=False)
    keys = parse_head(new.read_bytes(), "new.gguf").keys
    assert "tokenizer.ggml.added_tokens" not in keys
    assert keys["tokenizer.ggml.other_tokens"].value == [there.encode()]
    assert any("tokenizer.ggml.added_tokens" in note for note in done.notes)


@pytest.mark.usefixtures("few_texts")
def test_a_loss_that_the_old_file_has_is_told(tmp_path: Path) -> None:
    source, old, other = tmp_path / "tokenizer.json", tmp_path / "old.gguf", tmp_path / "x.gguf"
    document = json.loads(SOURCE.read_bytes())
    document["added_tokens"][0]["rstrip"] = True
    source.write_text(json.dumps(document))
    done = convert(source, old, drop="added")
    # The command that shows what is equal all the same.
    assert done.to_check == f"bpe-interop verify {source} {old} --scope ordinary"
    assert verify(source, old, scope="ordinary").verdict == "proved"
    assert verify(source, old).verdict == "different"
    with pytest.raises(LossyConversionError) as refused:
        convert(source, tmp_path / "new.gguf", into=old)
    first, *rest = refused.value.fix.split("\n")
    assert (
        first == "the old file, old.gguf, has this loss as well, so nothing gets worse than it is"
    )
    assert rest[0].strip().startswith("to accept this loss: --drop added")
    # A file whose added tokens are other ones.
    other.write_bytes(model_file(more={"tokenizer.ggml.eos_token_id": (made.UINT32, 0)}))
    with pytest.raises(LossyConversionError) as refused:
        convert(source, tmp_path / "new.gguf", into=other)
    assert "as well" not in refused.value.fix
