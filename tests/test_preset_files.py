"""A preset of a user's own: the pair that tokenizers saves, which states too little."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tokenizers
from command_line import Command

from bpe_interop import convert, load
from bpe_interop.errors import BpeInteropError, TargetError
from bpe_interop.shards.orders import carry, opened_from
from bpe_interop.sources import load_source
from bpe_interop.text.spellings import GPT2

pytestmark = pytest.mark.usefixtures("few_texts")

TEXTS = ("Hello, hello world's 12", "</s>lo <s>\n  wo", "h\u00e9llo")


@pytest.fixture
def saved(tmp_path: Path) -> tuple[Path, tokenizers.ByteLevelBPETokenizer]:
    """``vocab.json`` and ``merges.txt``, and the engine that wrote them."""
    engine = tokenizers.ByteLevelBPETokenizer()
    names = ["<s>", "</s>"]
    engine.train_from_iterator(["hello world hello"] * 9, 270, 2, False, names)
    folder = tmp_path / "pair"
    folder.mkdir()
    engine.save_model(str(folder))
    return folder, engine


@pytest.fixture
def preset(tmp_path: Path) -> Path:
    path = tmp_path / "mine.json"
    said = {"pat_str": GPT2, "special_tokens": {"<s>": 0, "</s>": 1}, "roles": {"bos": "<s>"}}
    path.write_text(json.dumps(said), "utf-8")
    return path


def test_a_pair_with_a_preset_of_its_own_serves_the_ids_of_tokenizers(
    saved: tuple[Path, tokenizers.ByteLevelBPETokenizer],
    preset: Path,
    tmp_path: Path,
    command: Command,
) -> None:
    folder, engine = saved
    done = command(
        "convert", folder, tmp_path / "hf", "--to", "hf", "--preset", preset, "--template", "bos"
    )
    assert done.code == 0, done.err
    written = tokenizers.Tokenizer.from_file(str(tmp_path / "hf" / "tokenizer.json"))
    ours = load(folder, preset=str(preset))
    for text in TEXTS:
        ids = engine.encode(text).ids
        assert ours.encode(text, allowed_special="all") == ids
        assert written.encode(text).ids == [0, *ids]
    alike = command("verify", folder, tmp_path / "hf", "--preset-a", preset, "--scope", "ordinary")
    assert (alike.code, "PROVED" in alike.out) == (0, True)


def test_the_file_travels_with_its_contents(
    saved: tuple[Path, tokenizers.ByteLevelBPETokenizer], preset: Path
) -> None:
    loaded = load_source(saved[0], preset=str(preset))
    carried = carry("pair", "gpt2", loaded.files, str(preset))
    preset.unlink()
    again = opened_from(carried.ticket, carried.files)
    assert (again.added, again.pretokenizer) == (loaded.model.added, loaded.model.pretokenizer)


def test_a_preset_that_is_read_is_not_replaced(
    saved: tuple[Path, tokenizers.ByteLevelBPETokenizer], preset: Path, tmp_path: Path
) -> None:
    with pytest.raises(TargetError, match="the target holds the source"):
        convert(saved[0], tmp_path, to="huggingface", preset=str(preset), force=True)
    assert preset.is_file()


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "empty"),
        ("[]", "expected an object"),
        ('{"pat_str": ".", "special_tokens": {}, "normalizer": 1}', "$.normalizer: this key"),
        ('{"special_tokens": {}}', "the key 'pat_str' is missing"),
        ('{"pat_str": 1, "special_tokens": {}}', "$.pat_str: expected a string"),
        ('{"pat_str": "."}', "the key 'special_tokens' is missing"),
        ('{"pat_str": ".", "special_tokens": {"": 3}}', "a special token is empty"),
        ('{"pat_str": ".", "special_tokens": {"<s>": -1}}', "-1 is not an id"),
        ('{"pat_str": ".", "special_tokens": {"<s>": true}}', "expected an integer"),
        ('{"pat_str": ".", "special_tokens": {"<s>": 2}}', 'the id 2 is the token "!"'),
        ('{"pat_str": ".", "special_tokens": {"<s>": 900}}', '"<s>" has id 0 in it'),
        ('{"pat_str": ".", "special_tokens": {"<t>": 0}}', 'the id 0 is the token "<s>"'),
        ('{"pat_str": ".", "special_tokens": {}, "roles": {"bos": "x"}}', "none of special_tokens"),
        ('{"pat_str": "(", "special_tokens": {}}', "pat"),
    ],
)
def test_what_is_wrong_with_it_is_said(
    saved: tuple[Path, tokenizers.ByteLevelBPETokenizer], preset: Path, text: str, named: str
) -> None:
    preset.write_text(text, "utf-8")
    with pytest.raises(BpeInteropError) as refused:
        load(saved[0], preset=str(preset)).encode("a")
    assert named in f"{refused.value.where}: {refused.value.what}"
    absent = preset.with_name("absent.json")
    with pytest.raises(BpeInteropError, match="No such file"):
        load(saved[0], preset=str(absent))
