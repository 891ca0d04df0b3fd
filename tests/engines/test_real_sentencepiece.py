"""Real SentencePiece models between their two formats: exact, or refused with what shows why."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from test_real import chunks, corpus_texts

from bpe_interop.compare import verify
from bpe_interop.convert import convert
from bpe_interop.diff import diff
from bpe_interop.engines import Engine, from_files
from bpe_interop.errors import LossyConversionError, UnsupportedError
from bpe_interop.formats import by_name
from bpe_interop.model import AddedToken, BPEModel
from bpe_interop.sources import load_source
from fixtures.piece_model import Piece, pieces_of, with_pieces

Data = Callable[[str], Path]


def engine_of(path: Path) -> Engine:
    loaded = load_source(path)
    return from_files(loaded.format.engine, loaded.format.name, loaded.files, loaded.model)


def first_difference(texts: Iterable[str], one: Engine, *others: Engine) -> str | None:
    """The first text that another engine encodes, or decodes what it encoded, otherwise."""
    for chunk in chunks(texts, 200):
        expected = one.encode_batch(chunk)
        for other in others:
            for text, ids, found in zip(chunk, expected, other.encode_batch(chunk), strict=True):
                if ids != found or one.decode(ids) != other.decode(ids):
                    return text
    return None


def without_roles(model: BPEModel) -> tuple[AddedToken, ...]:
    """A .model names the tokens for unk, bos and eos; this tokenizer.json did not."""
    return tuple(replace(token, roles=()) for token in model.added or ())


def test_llama_2_model_becomes_a_tokenizer_json(data: Data, tmp_path: Path) -> None:
    """It gives the ids of the .model and of the published tokenizer.json on every corpus."""
    model = data("llama-2/tokenizer.model")
    convert(model, tmp_path / "out", "huggingface")
    engines = [engine_of(p) for p in (model, tmp_path / "out", data("llama-2/tokenizer.json"))]
    assert [engine.name for engine in engines] == ["sentencepiece", "tokenizers", "tokenizers"]
    assert (
        first_difference(corpus_texts(data("corpora"), "sentencepiece-llama-2"), *engines) is None
    )


def test_llama_2_tokenizer_json_becomes_a_model_and_comes_back(data: Data, tmp_path: Path) -> None:
    source = data("llama-2/tokenizer.json")
    convert(source, tmp_path / "model", "sentencepiece")
    convert(tmp_path / "model", tmp_path / "back", "huggingface")
    engines = [engine_of(path) for path in (source, tmp_path / "model", tmp_path / "back")]
    assert [engine.name for engine in engines] == ["tokenizers", "sentencepiece", "tokenizers"]
    assert first_difference(corpus_texts(data("corpora"), "huggingface-llama-2"), *engines) is None
    before, after = load_source(source).model, load_source(tmp_path / "back").model
    assert not diff(before, replace(after, added=without_roles(after)))


def test_mistral_v1_published_pair_differs_on_a_space(data: Data) -> None:
    model, document = (data(f"mistral-v1/tokenizer.{kind}") for kind in ("model", "json"))
    report = verify(model, document)
    assert report.verdict == "different"
    assert report.mismatch is not None
    assert report.mismatch.text == " "
    assert report.stage == "normalizer"
    assert list(report.mismatch.ids_a) == engine_of(model).encode(" ") == [259]
    assert list(report.mismatch.ids_b) == engine_of(document).encode(" ") == [28705]


def test_mistral_v1_model_becomes_a_tokenizer_json(data: Data, tmp_path: Path) -> None:
    model = data("mistral-v1/tokenizer.model")
    convert(model, tmp_path / "out", "huggingface")
    engines = engine_of(model), engine_of(tmp_path / "out")
    assert (
        first_difference(corpus_texts(data("corpora"), "sentencepiece-mistral-v1"), *engines)
        is None
    )


def learned_pieces(path: Path, size: int) -> list[str]:
    """Pieces that sentencepiece's own trainer learns from a text."""
    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(path.read_text("utf-8")[:200_000].split("\n")),
        model_writer=model,
        model_type="bpe",
        vocab_size=size,
        num_threads=1,
        minloglevel=2,
    )
    return [piece.text for piece in pieces_of(model.getvalue())]


def test_a_chinese_llama_merge_is_refused(data: Data, tmp_path: Path) -> None:
    """Pieces of another model are added with score 0, as that project does; they are tied."""
    original = data("llama-2/tokenizer.model").read_bytes()
    known = [piece.text for piece in pieces_of(original)]
    learned = learned_pieces(data("corpora/xiyou.txt"), 6_000)
    more = [Piece(text, 0.0) for text in learned if text not in known]
    assert len(more) > 3_000
    merged = tmp_path / "tokenizer.model"
    merged.write_bytes(with_pieces(original, [*pieces_of(original), *more]))
    with pytest.raises(LossyConversionError) as caught:
        convert(merged, tmp_path / "out", "huggingface")
    assert not (tmp_path / "out").exists()
    losses = [loss for loss in caught.value.losses if loss.field == "merges"]
    assert losses
    assert losses[0].grade == "ids"
    assert losses[0].shown
    witness = losses[0].witness
    assert witness is not None
    loaded = load_source(merged)
    row = by_name("huggingface")
    target = from_files(row.engine, row.name, row.dump(loaded.model))
    assert engine_of(merged).encode(witness) != target.encode(witness)


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("t5/spiece.model", "Unigram"),
        ("t5/tokenizer.json", "Unigram"),
        ("bert-base-cased/tokenizer.json", "WordPiece"),
    ],
)
def test_other_models_are_refused_by_name(path: str, named: str, data: Data) -> None:
    with pytest.raises(UnsupportedError, match=rf"(?i)\b{named}\b"):
        load_source(data(path))


def test_a_unigram_model_is_refused_whatever_its_name_says(data: Data, tmp_path: Path) -> None:
    misnamed = tmp_path / "sentencepiece.bpe.model"
    shutil.copy(data("t5/spiece.model"), misnamed)
    for source in (misnamed, tmp_path):
        with pytest.raises(UnsupportedError, match=r"(?i)\bUnigram\b"):
            load_source(source)


@pytest.mark.parametrize("name", ["llama-2", "mistral-v1"])
def test_models_are_written_byte_for_byte(name: str, data: Data) -> None:
    path = data(f"{name}/tokenizer.model")
    model = load_source(path).model
    assert by_name("sentencepiece").dump(model)["tokenizer.model"] == path.read_bytes()
