"""Finding sources on disk, and writing targets that are wholly old or wholly new."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from bpe_interop.errors import FormatError, SourceError, TargetError
from bpe_interop.io.reader import find, unreadable
from bpe_interop.io.writer import staged
from fixtures import TOKENIZERS

TINY = TOKENIZERS / "gpt2-tiny"


def test_a_directory_with_tokenizer_json_is_a_hugging_face_directory(tmp_path: Path) -> None:
    for part in ("gpt2", "tiktoken", "huggingface"):
        shutil.copytree(TINY / part, tmp_path, dirs_exist_ok=True)
    found = find(tmp_path)
    assert found.format.name == "huggingface"
    assert set(found.twins) >= {"encoder.json", "vocab.bpe", "gpt2-tiny.tiktoken"}
    assert find(tmp_path, "gpt2").format.name == "gpt2"
    assert set(find(tmp_path, "tiktoken").files) == {
        "gpt2-tiny.tiktoken",
        "gpt2-tiny.tiktoken.json",
    }


def test_two_candidates_are_an_error_that_lists_them(tmp_path: Path) -> None:
    shutil.copytree(TINY / "tiktoken", tmp_path, dirs_exist_ok=True)
    shutil.copy(TINY / "tiktoken" / "gpt2-tiny.tiktoken", tmp_path / "other.tiktoken")
    with pytest.raises(SourceError, match=r"gpt2-tiny\.tiktoken.*other\.tiktoken"):
        find(tmp_path)


def test_two_formats_without_a_tokenizer_json_are_an_error(tmp_path: Path) -> None:
    for part in ("gpt2", "tiktoken"):
        shutil.copytree(TINY / part, tmp_path, dirs_exist_ok=True)
    with pytest.raises(SourceError, match=r"encoder\.json.*gpt2-tiny\.tiktoken"):
        find(tmp_path)
    assert find(tmp_path, "gpt2").format.name == "gpt2"


def test_either_half_of_a_pair_finds_the_other() -> None:
    for half in ("encoder.json", "vocab.bpe"):
        assert set(find(TINY / "gpt2" / half).files) == {"encoder.json", "vocab.bpe"}


def test_half_a_pair_says_what_is_missing(tmp_path: Path) -> None:
    shutil.copy(TINY / "gpt2" / "encoder.json", tmp_path)
    with pytest.raises(SourceError, match=r"vocab\.bpe"):
        find(tmp_path / "encoder.json")


def test_a_tokenizer_json_may_have_another_name(tmp_path: Path) -> None:
    shutil.copy(TINY / "huggingface" / "tokenizer.json", tmp_path / "20B_tokenizer.json")
    assert find(tmp_path).format.name == "huggingface"
    assert find(tmp_path / "20B_tokenizer.json").format.name == "huggingface"


def test_a_rank_file_may_have_another_name(tmp_path: Path) -> None:
    shutil.copy(TINY / "tiktoken" / "gpt2-tiny.tiktoken", tmp_path / "tokenizer.model")
    assert find(tmp_path / "tokenizer.model").format.name == "tiktoken"
    assert find(tmp_path).format.name == "tiktoken"


def test_a_sentencepiece_model_is_told_from_a_rank_file_of_the_same_name(tmp_path: Path) -> None:
    shutil.copy(TINY.parent / "spm-tiny" / "sentencepiece" / "tokenizer.model", tmp_path)
    assert find(tmp_path / "tokenizer.model").format.name == "sentencepiece"
    assert find(tmp_path).format.name == "sentencepiece"


SPM = TINY.parent / "spm-unk-tiny"


def test_a_model_takes_the_configuration_beside_it(tmp_path: Path) -> None:
    shutil.copytree(SPM / "sentencepiece", tmp_path, dirs_exist_ok=True)
    for path in (tmp_path, tmp_path / "tokenizer.model"):
        found = find(path)
        assert found.format.name == "sentencepiece"
        assert set(found.files) == {"tokenizer.model", "tokenizer_config.json"}


def test_a_rank_file_called_tokenizer_model_takes_none(tmp_path: Path) -> None:
    shutil.copy(TINY / "tiktoken" / "gpt2-tiny.tiktoken", tmp_path / "tokenizer.model")
    (tmp_path / "tokenizer_config.json").write_text('{"add_bos_token": true}')
    for path in (tmp_path, tmp_path / "tokenizer.model"):
        found = find(path)
        assert found.format.name == "tiktoken"
        assert set(found.files) == {"tokenizer.model"}


def test_a_directory_with_both_forms_of_a_model(tmp_path: Path) -> None:
    for form in ("sentencepiece", "huggingface"):
        shutil.copytree(SPM / form, tmp_path, dirs_exist_ok=True)
    assert find(tmp_path).format.name == "huggingface"
    found = find(tmp_path)
    assert "tokenizer_config.json" in found.files
    assert "tokenizer.model" in found.twins
    assert found.files.keys().isdisjoint(found.twins)
    for name in ("spm", "sentencepiece"):
        found = find(tmp_path, name)
        assert found.format.name == "sentencepiece"
        assert "tokenizer.model" in found.files
    assert find(tmp_path / "tokenizer.model").format.name == "sentencepiece"


def test_a_model_may_have_another_name(tmp_path: Path) -> None:
    for name in ("spiece.model", "sentencepiece.bpe.model", "piece.bin"):
        shutil.copy(SPM / "sentencepiece" / "tokenizer.model", tmp_path / name)
        assert find(tmp_path / name).format.name == "sentencepiece"
    (tmp_path / "half.model").write_bytes(b"\n\x05")
    with pytest.raises(SourceError, match="this is none of"):
        find(tmp_path / "half.model")


def test_a_head_that_is_cut_off_says_so(tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_bytes(b"GGUF\x03\x00\x00\x00")
    for path in (tmp_path / "model.gguf", tmp_path):
        with pytest.raises(FormatError, match=r"model\.gguf: the file ends after 8 bytes"):
            find(path)


@pytest.mark.parametrize("data", [b"", b"\n\n", b"hello\n", b"\x00" * 64, b"{}", b"\xff\xfe"])
def test_files_that_are_nothing_we_know(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "thing.json").write_bytes(data)
    with pytest.raises(SourceError):
        find(tmp_path / "thing.json")
    with pytest.raises(SourceError):
        find(tmp_path)


def test_what_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no such file"):
        find(tmp_path / "nowhere")


def test_a_target_must_be_new_or_empty(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.mkdir()
    with staged(target, {"vocab.json": b"1"}):
        pass
    assert (target / "vocab.json").read_bytes() == b"1"
    with pytest.raises(TargetError, match="already there"), staged(target, {"merges.txt": b"2"}):
        pass
    with staged(target, {"merges.txt": b"2"}, force=True):
        assert (target / "vocab.json").exists()
    assert [path.name for path in target.iterdir()] == ["merges.txt"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_failed_block_leaves_the_target_as_it_was(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with staged(target, {"vocab.json": b"1"}):
        pass
    with pytest.raises(RuntimeError), staged(target, {"merges.txt": b"2"}, force=True):
        raise RuntimeError
    assert [path.name for path in target.iterdir()] == ["vocab.json"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_rank_file_target_is_a_file_with_its_sidecar(tmp_path: Path) -> None:
    files = {"x.tiktoken": b"1", "x.tiktoken.json": b"2"}
    with staged(tmp_path / "x.tiktoken", files):
        pass
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == files
    with pytest.raises(TargetError), staged(tmp_path / "x.tiktoken", files):
        pass


def test_names_cannot_lead_outside_the_target(tmp_path: Path) -> None:
    for name in ("../x", "/tmp/x-outside", "a/../../x"):
        with pytest.raises(TargetError), staged(tmp_path / "out", {name: b""}):
            pass
    assert not list(tmp_path.iterdir())


def test_force_never_replaces_a_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "keep").write_bytes(b"")
    inner = tmp_path / "inner"
    inner.mkdir()
    monkeypatch.chdir(inner)
    for target in (Path(), tmp_path, Path("..")):
        with (
            pytest.raises(TargetError, match="more than a tokenizer"),
            staged(target, {"a": b""}, force=True),
        ):
            pass
    assert (tmp_path / "keep").exists()


def test_a_target_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(TargetError), staged(tmp_path / "file" / "out", {"a": b""}):
        pass


@pytest.mark.parametrize("name", ["special_tokens_map.json", "tokenizer.json"])
def test_a_link_to_nothing_is_an_error_and_no_missing_file(tmp_path: Path, name: str) -> None:
    shutil.copytree(TINY / "huggingface", tmp_path, dirs_exist_ok=True)
    (tmp_path / name).unlink(missing_ok=True)
    (tmp_path / name).symlink_to("blobs/none")
    with pytest.raises(SourceError, match=f"{name}: this is a link to blobs/none, which is not"):
        find(tmp_path)
    with pytest.raises(SourceError, match="this is a link to blobs/none"):
        find(tmp_path / name if name == "tokenizer.json" else tmp_path / "tokenizer.json")


@pytest.mark.parametrize("name", ["tokenizer_config.json", "tokenizer.json"])
def test_a_folder_with_the_name_of_a_file_is_an_error(tmp_path: Path, name: str) -> None:
    shutil.copytree(TINY / "huggingface", tmp_path, dirs_exist_ok=True)
    (tmp_path / name).unlink()
    (tmp_path / name).mkdir()
    with pytest.raises(SourceError, match=f"{name}: this is a folder, and a file of this name"):
        find(tmp_path)


def test_what_the_system_refuses_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no such file or directory\n  check the path"):
        find(tmp_path / "nope")
    for name in ("x" * 300, f"{'x' * 300}.tiktoken"):
        with (
            pytest.raises(TargetError, match=r"cannot be written: .*\n  choose a folder"),
            staged(tmp_path / name, {name: b""}),
        ):
            pass


def test_what_may_not_be_read_says_what_to_check() -> None:
    error = unreadable(PermissionError(13, "Permission denied"), "a.json")
    assert str(error) == "a.json: Permission denied\n  check that you may read it, or name another"
