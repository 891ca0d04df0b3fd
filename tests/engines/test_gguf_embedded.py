"""``tokenizer.huggingface.json`` in a GGUF file: the source's tokenizer.json as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command_line import Command
from tokenizers import Tokenizer

from bpe_interop.convert import convert
from bpe_interop.engines.llamacpp import LlamaCppEngine
from bpe_interop.errors import CheckFailedError, FormatError, SourceError
from bpe_interop.formats.gguf import write
from bpe_interop.formats.gguf.head import with_key
from bpe_interop.formats.gguf.read import load
from bpe_interop.sources import load_source
from fixtures import TOKENIZERS
from fixtures import gguf_models as made

pytestmark = pytest.mark.usefixtures("few_texts")

JSON = TOKENIZERS / "gpt2-tiny/huggingface/tokenizer.json"
KEY = "tokenizer.huggingface.json"


def fields(path: Path) -> dict[str, Any]:
    """As the package ``gguf`` reads them."""
    from gguf import GGUFReader  # it takes 27 MB, and not every worker runs this file

    return GGUFReader(path).fields


def inside(path: Path) -> str | None:
    field = fields(path).get(KEY)
    return None if field is None else bytes(field.parts[field.data[0]]).decode()


@pytest.mark.parametrize("source", [JSON, JSON.parent], ids=["file", "directory"])
def test_it_is_there_where_the_source_has_one(source: Path, tmp_path: Path) -> None:
    done = convert(source, tmp_path / "a.gguf", verify=source == JSON)
    assert inside(tmp_path / "a.gguf") == JSON.read_text("utf-8")
    assert any("byte for byte" in note for note in done.notes)
    assert done.report is None or done.report.verdict == "proved"
    # llama.cpp loads the file all the same.
    engine = LlamaCppEngine((tmp_path / "a.gguf").read_bytes())
    text = "Hello na\u00efve world"
    theirs = Tokenizer.from_file(str(JSON)).encode(text, add_special_tokens=False).ids
    assert engine.encode(text) == theirs


def test_it_goes_along_from_one_gguf_file_to_another(tmp_path: Path) -> None:
    convert(JSON, tmp_path / "a.gguf", verify=False)
    convert(tmp_path / "a.gguf", tmp_path / "b.gguf", verify=False)
    assert inside(tmp_path / "b.gguf") == JSON.read_text("utf-8")


def test_where_the_source_has_none_there_is_none(tmp_path: Path) -> None:
    done = convert(TOKENIZERS / "gguf-tiny/gguf", tmp_path / "a.gguf", verify=False)
    assert inside(tmp_path / "a.gguf") is None
    assert not any("byte for byte" in note for note in done.notes)


def test_it_is_read_where_it_is_asked_for(tmp_path: Path, command: Command) -> None:
    """The keys say another splitter than the tokenizer.json, which ``--from hf`` reads."""
    keys = {KEY: (made.STRING, JSON.read_text("utf-8"))}
    odd = tmp_path / "odd.gguf"
    odd.write_bytes(made.by_merges(["a", "b"], [made.NORMAL] * 2, [], "qwen2", keys))
    model = load_source(odd, format="huggingface").model
    assert model.vocab == load_source(JSON).model.vocab
    assert load_source(odd).model.vocab != model.vocab
    done = command("convert", odd, tmp_path / "out", "--from", "hf", "--to", "hf", "--no-verify")
    assert done.code == 0
    ids = [
        Tokenizer.from_file(str(p)).encode("Hello").ids
        for p in (JSON, *tmp_path.glob("o*/t*r.json"))
    ]
    assert ids[0] == ids[1]
    assert "--from hf" in command("inspect", odd).out


def test_what_is_inside_may_be_bad(tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    for value, error in (
        ((made.STRING, "{"), FormatError),
        ((made.UINT32, 1), FormatError),
        ((made.STRING, "[]"), (FormatError, SourceError)),
    ):
        path.write_bytes(made.by_merges(["a"], [made.NORMAL], [], "gpt-2", {KEY: value}))
        with pytest.raises(error):
            load_source(path, format="huggingface")
    path.write_bytes(made.by_merges(["a"], [made.NORMAL], [], "gpt-2"))
    with pytest.raises((FormatError, SourceError)):
        load_source(path, format="huggingface")
    assert load({"x.gguf": path.read_bytes()}).vocab.ids


def test_one_that_reads_back_otherwise_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    another = ("string", b"{}")
    monkeypatch.setattr(write, "with_key", lambda data, name, _: with_key(data, name, another))
    with pytest.raises(CheckFailedError, match="reads back otherwise"):
        convert(JSON, tmp_path / "a.gguf", verify=False)
    assert not [*tmp_path.iterdir()]


def test_it_goes_into_an_existing_file(tmp_path: Path) -> None:
    """With other keys kept, and in the place of the one of another tokenizer."""
    old = tmp_path / "old.gguf"
    keys: made.Keys = {KEY: (made.STRING, "{}"), "mine": (made.UINT32, 7)}
    tokens = [f"t{number}" for number in range(701)]
    old.write_bytes(made.by_merges(tokens, [made.NORMAL] * 701, [], "gpt-2", keys))
    convert(JSON, tmp_path / "new.gguf", into=old, verify=False)
    assert inside(tmp_path / "new.gguf") == JSON.read_text("utf-8")
    assert "mine" in fields(tmp_path / "new.gguf")
