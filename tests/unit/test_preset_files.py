"""A preset of a user's own: the pair that tokenizers saves, which states too little."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import tiktoken
import tiktoken.load
import tokenizers
from command_line import Command

from bpe_interop import Statement, convert, load
from bpe_interop.errors import BpeInteropError, TargetError
from bpe_interop.model import FIELDS
from bpe_interop.sources import load_source
from bpe_interop.text.spellings import CL100K, GPT2
from bpe_interop.workers.orders import carry, opened_from
from fixtures import TOKENIZERS

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


ALL = {
    "pat_str": "r50k_base",
    "special_tokens": {"<s>": 0},
    "added_tokens": [
        {"id": 1, "content": "</s>", "lstrip": True},
        {"id": 268, "content": "<w>", "special": False, "single_word": True},
    ],
    "roles": {"bos": "<s>"},
    "normalizer": "NFC",
    "template": "bos",
    "chat_template": "{{ bos_token }}",
}


def test_a_preset_of_ones_own_says_all_that_a_tokenizer_json_says(
    saved: tuple[Path, tokenizers.ByteLevelBPETokenizer], preset: Path, tmp_path: Path
) -> None:
    folder, engine = saved
    preset.write_text(json.dumps(ALL), "utf-8")
    convert(folder, tmp_path / "hf", to="huggingface", preset=str(preset))
    written = tokenizers.Tokenizer.from_file(str(tmp_path / "hf" / "tokenizer.json"))
    expected = tokenizers.Tokenizer.from_str(engine.to_str())
    expected.normalizer = tokenizers.normalizers.NFC()
    expected.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    expected.add_special_tokens([tokenizers.AddedToken("</s>", lstrip=True, normalized=False)])
    for text in ("he\u0301llo", "a </s> b", "</s>he\u0301", " <s>x"):
        assert written.encode(text).ids == [0, *expected.encode(text).ids]
    assert written.encode("a<w> <w>").ids[-1] == 268
    assert 268 not in written.encode("a<w>b").ids
    config = json.loads((tmp_path / "hf" / "tokenizer_config.json").read_text("utf-8"))
    chat = tmp_path / "hf" / "chat_template.jinja"
    assert "{{ bos_token }}" in (config.get("chat_template"), chat.is_file() and chat.read_text())


def test_the_file_travels_with_its_contents(
    saved: tuple[Path, tokenizers.ByteLevelBPETokenizer], preset: Path
) -> None:
    preset.write_text(json.dumps(ALL), "utf-8")
    loaded = load_source(saved[0], preset=str(preset))
    carried = carry("pair", "gpt2", loaded.files, str(preset))
    preset.unlink()
    again = opened_from(carried.ticket, carried.files)
    for field in FIELDS:
        assert getattr(again, field) == getattr(loaded.model, field)


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ({"template": "none"}, "--template says"),
        ({"normalizer": "nfd"}, "--normalizer says"),
        ({"chat_template": "x"}, "--chat-template says"),
    ],
)
def test_what_is_said_twice_and_otherwise_is_an_error(
    saved: tuple[Path, tokenizers.ByteLevelBPETokenizer],
    preset: Path,
    said: dict[str, Any],
    named: str,
) -> None:
    preset.write_text(json.dumps(ALL), "utf-8")
    with pytest.raises(BpeInteropError, match=named):
        load(saved[0], preset=str(preset), said=Statement(**said))


def test_a_normalizer_is_said_of_files_that_cannot_say_it(tmp_path: Path) -> None:
    ranks = TOKENIZERS / "gpt2-tiny" / "tiktoken"
    convert(ranks, tmp_path / "hf", to="huggingface", said=Statement(normalizer="NFC"))
    written = tokenizers.Tokenizer.from_file(str(tmp_path / "hf" / "tokenizer.json"))
    source = tokenizers.Tokenizer.from_file(
        str(TOKENIZERS / "gpt2-tiny" / "huggingface" / "tokenizer.json")
    )
    assert written.encode("e\u0301").ids == source.encode("\u00e9").ids
    assert source.encode("e\u0301").ids != source.encode("\u00e9").ids
    with pytest.raises(BpeInteropError, match="normalizer is another one"):
        load(tmp_path / "hf", said=Statement(normalizer="none"))


def test_files_beside_a_model_travel_to_workers(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    model = TOKENIZERS / "spm-tiny" / "sentencepiece" / "tokenizer.model"
    (folder / "tokenizer.model").write_bytes(model.read_bytes())
    size = sentencepiece.SentencePieceProcessor(model_file=str(model)).get_piece_size()
    added = {str(size): {"content": "<|im_start|>", "special": True}}
    stated = {"added_tokens_decoder": added, "add_bos_token": True}
    (folder / "tokenizer_config.json").write_text(json.dumps(stated))
    loaded = load_source(folder)
    assert size in {token.id for token in loaded.model.added or ()}
    carried = carry("model", "sentencepiece", loaded.files, None, loaded.beside)
    again = opened_from(carried.ticket, carried.files)
    for field in FIELDS:
        assert getattr(again, field) == getattr(loaded.model, field)


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
        ('{"pat_str": ".", "special_tokens": {}, "normal": 1}', "$.normal: this key"),
        ('{"pat_str": ".", "special_tokens": {}, "normalizer": 1}', "$.normalizer: expected a str"),
        (
            '{"pat_str": ".", "special_tokens": {}, "normalizer": "x"}',
            "no normalizer that",
        ),
        ('{"pat_str": "my-own", "special_tokens": {}}', "a name, and no pattern"),
        ('{"pat_str": ".", "added_tokens": [{"id": 1}]}', "[0]: the key 'content' is missing"),
        ('{"pat_str": ".", "added_tokens": [{"id": 1, "content": ""}]}', "is empty"),
        (
            '{"pat_str": ".", "special_tokens": {"<s>": 0}, "added_tokens": '
            '[{"id": 1, "content": "<s>"}]}',
            "there twice",
        ),
        ('{"special_tokens": {}}', "the key 'pat_str' is missing"),
        ('{"pat_str": 1, "special_tokens": {}}', "$.pat_str: expected a string"),
        ('{"pat_str": ".", "special_tokens": {"": 3}}', "a special token is empty"),
        ('{"pat_str": ".", "special_tokens": {"<s>": -1}}', "-1 is not an id"),
        ('{"pat_str": ".", "special_tokens": {"<s>": true}}', "expected an integer"),
        ('{"pat_str": ".", "special_tokens": {"<s>": 2}}', 'the id 2 is the token "!"'),
        ('{"pat_str": ".", "special_tokens": {"<s>": 900}}', '"<s>" has id 0 in it'),
        ('{"pat_str": ".", "special_tokens": {"<t>": 0}}', 'the id 0 is the token "<s>"'),
        (
            '{"pat_str": ".", "special_tokens": {}, "roles": {"bos": "x"}}',
            "none of its special",
        ),
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


def test_added_tokens_of_a_rank_file_are_found_as_tiktoken_is_asked_for_them(
    tmp_path: Path, command: Command
) -> None:
    """Those that are not special in every text; flags and a normalizer are left to its callers."""
    [ranks] = (TOKENIZERS / "cl100k-tiny" / "tiktoken").glob("*.tiktoken")
    plain = tmp_path / "plain.tiktoken"
    plain.write_bytes(ranks.read_bytes())
    size = len(ranks.read_bytes().splitlines())
    added = [
        {"id": size, "content": "<tool>", "special": False},
        {"id": size + 1, "content": "<end>"},
    ]
    said = {"pat_str": "cl100k", "added_tokens": added, "template": "none"}
    own = tmp_path / "own.json"
    own.write_text(json.dumps(said), "utf-8")
    done = command("convert", plain, tmp_path / "hf", "--to", "hf", "--preset", own)
    assert done.code == 0, done.err
    assert "verdict     PROVED equal" in done.out
    written = tokenizers.Tokenizer.from_file(str(tmp_path / "hf" / "tokenizer.json"))
    encoding = tiktoken.Encoding(
        "plain",
        pat_str=CL100K,
        mergeable_ranks=tiktoken.load.load_tiktoken_bpe(str(plain)),
        special_tokens={"<tool>": size, "<end>": size + 1},
    )
    for text in ("a<tool>b", "<tool>", "x <end> y"):
        ids = encoding.encode(text, allowed_special={"<tool>", "<end>"})
        assert written.encode(text).ids == ids
    added[0]["rstrip"] = True
    own.write_text(json.dumps({**said, "normalizer": "NFC"}), "utf-8")
    done = command("convert", plain, tmp_path / "hf2", "--to", "hf", "--preset", own)
    assert done.code == 0, done.err
    verified = command("verify", plain, tmp_path / "hf2", "--preset-a", own, "--require", "proved")
    assert verified.code == 0, verified.out
    for told in ("allowed_special={...}", "flags of added tokens", "normalizes a text before"):
        assert told in verified.out


def test_what_files_beside_state_of_added_tokens_need_not_be_repeated(
    tmp_path: Path, command: Command
) -> None:
    """The same files with a preset that repeats it: the same tokenizer, which tiktoken gives."""
    folder = tmp_path / "ranks"
    folder.mkdir()
    ranks = TOKENIZERS / "gpt2-tiny/tiktoken/gpt2-tiny.tiktoken"
    (folder / "tokenizer.model").write_bytes(ranks.read_bytes())
    stated = {
        "700": {"content": "<|a|>", "special": True},
        "701": {"content": "<w>", "special": False},
    }
    config = {"added_tokens_decoder": stated, "eos_token": "<|a|>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")
    preset = tmp_path / "mine.json"
    preset.write_text(
        json.dumps({"pat_str": GPT2, "roles": {"bos": "<|a|>"}, "template": "bos"}), "utf-8"
    )
    short = load(folder, preset=str(preset))
    engine = tiktoken.Encoding(
        "x",
        pat_str=GPT2,
        mergeable_ranks=tiktoken.load.load_tiktoken_bpe(str(folder / "tokenizer.model")),
        special_tokens={"<|a|>": 700, "<w>": 701},
    )
    text = "a<|a|>the<w> end"
    assert short.encode(text, allowed_special="all") == engine.encode(text, allowed_special="all")
    (first, second) = short.model.added or ()
    assert (first.special, first.roles, second.special) == (True, ("bos", "eos"), False)
    done = command("convert", folder, tmp_path / "hf", "--to", "hf", "--preset", preset)
    assert done.code == 0, done.err
    (folder / "tokenizer_config.json").unlink()
    alone = command("convert", folder, tmp_path / "no", "--to", "hf", "--preset", preset)
    assert alone.code == 2
    assert "special tokens" in alone.err
