"""What lies beside a ``.model``, a GPT-2 pair or a rank file: ids and roles are AutoTokenizer's."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import Command
from tokenizers import Tokenizer as Engine

import bpe_interop
from bpe_interop.errors import (
    FormatError,
    LossyConversionError,
    UnstatedError,
    UnsupportedError,
)
from bpe_interop.formats.huggingface.companions.other_formats import _PAIR_CLASSES
from bpe_interop.model import all_ids
from bpe_interop.transformers_classes import NO_PAIR
from fixtures import TOKENIZERS
from trust.verdicts.beside import Finder

transformers = pytest.importorskip("transformers")

TEXTS = ("<|im_start|>hi<|im_end|>", "a<tool>b", "a <tool> b<|im_end|>", "<tool><|im_end|>zz")
FLAGS = {"lstrip": False, "rstrip": False, "single_word": False, "normalized": False}


def pair(folder: Path) -> int:
    """A pair that nobody published: all bytes and two merges; the first id that is free."""
    from bpe_interop.text.bytechars import BYTE_TO_CHAR

    words = {char: number for number, char in enumerate(BYTE_TO_CHAR.values())}
    words |= {"hi": 256, "zz": 257}
    folder.mkdir()
    (folder / "vocab.json").write_text(json.dumps(words), "utf-8")
    (folder / "merges.txt").write_text("#version: 0.2\nh i\nz z\n", "utf-8")
    return 258


def model_file(folder: Path) -> int:
    """A ``.model`` that was trained on made-up text; the first id that is free."""
    sentencepiece = pytest.importorskip("sentencepiece")
    folder.mkdir()
    lines = ["hi there zz tool", "the im start and the end of a b", "so it is hi hi zz"] * 20
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_prefix=str(folder / "tokenizer"),
        model_type="bpe",
        vocab_size=300,
        byte_fallback=True,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        minloglevel=3,
        hard_vocab_limit=False,
    )
    (folder / "tokenizer.vocab").unlink()
    processor = sentencepiece.SentencePieceProcessor(str(folder / "tokenizer.model"))
    return int(processor.get_piece_size())


def state(folder: Path, name: str, first: int, **more: Any) -> None:
    """``tokenizer_config.json`` with two special tokens and a plain one."""
    tokens = {
        str(first): {"content": "<|im_start|>", "special": True, **FLAGS},
        str(first + 1): {"content": "<|im_end|>", "special": True, **FLAGS},
        str(first + 2): {"content": "<tool>", "special": False, **FLAGS, "rstrip": True},
    }
    config = {"tokenizer_class": name, "added_tokens_decoder": tokens, "legacy": True}
    config |= {"eos_token": "<|im_end|>", "pad_token": "<|im_start|>", **more}
    (folder / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")


def served(folder: Path) -> dict[str, Any]:
    """What AutoTokenizer gives."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    roles = (tokenizer.bos_token, tokenizer.eos_token, tokenizer.pad_token)
    ids = [tokenizer(text)["input_ids"] for text in TEXTS]
    return {"roles": roles, "ids": ids, "plain": [tokenizer.tokenize(text) for text in TEXTS]}


@pytest.mark.parametrize(
    "more", [{}, {"add_prefix_space": True}, {"add_bos_token": True, "bos_token": "<|im_start|>"}]
)
@pytest.mark.parametrize("name", _PAIR_CLASSES)
def test_ids_of_a_pair_of_a_known_class(tmp_path: Path, name: str, more: dict[str, Any]) -> None:
    state(tmp_path / "A", name, pair(tmp_path / "A"), **more)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "A")
    ours = bpe_interop.load(tmp_path / "A")
    for text in (*TEXTS, "a 1\u0301234  !!\n", " zz"):
        ids = ours.encode(text, allowed_special="all", add_special_tokens=True)
        assert ids == theirs(text)["input_ids"]


@pytest.mark.parametrize("name", sorted(NO_PAIR))
def test_a_class_that_reads_no_pair_is_named(tmp_path: Path, name: str) -> None:
    pair(tmp_path / "A")
    (tmp_path / "A" / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": name}))
    assert "hi" not in transformers.AutoTokenizer.from_pretrained(tmp_path / "A").get_vocab()
    with pytest.raises(UnstatedError) as refused:
        bpe_interop.convert(tmp_path / "A", tmp_path / "B", "hf")
    assert f"for {name}, transformers 5.24 reads no vocab.json" in str(refused.value)


@pytest.mark.usefixtures("few_texts")
@pytest.mark.long
@pytest.mark.parametrize("name", ["Qwen2Tokenizer", "GPT2Tokenizer", "RobertaTokenizer"])
def test_a_pair_of_a_known_class(tmp_path: Path, name: str) -> None:
    state(tmp_path / "A", name, pair(tmp_path / "A"))
    bpe_interop.convert(tmp_path / "A", tmp_path / "B", "hf")
    assert served(tmp_path / "B") == served(tmp_path / "A")
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "A")
    written = Engine.from_file(str(tmp_path / "B" / "tokenizer.json"))
    for texts in (("a 1\u0301234  !!\n",), ("hi zz", "a<tool>b")):
        assert written.encode(*texts).ids == theirs(*texts)["input_ids"]


def test_an_added_token_of_a_pair_decodes_as_autotokenizer_does(tmp_path: Path) -> None:
    first = pair(tmp_path / "A")
    tokens = {str(first): {"content": "\u00e9\u00e9", "special": True, **FLAGS}}
    config = {"tokenizer_class": "GPT2Tokenizer", "added_tokens_decoder": tokens}
    (tmp_path / "A" / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "A")
    assert theirs.decode([first]) == "\ufffd\ufffd"
    assert bpe_interop.load(tmp_path / "A").decode([first]) == "\ufffd\ufffd"
    bpe_interop.convert(tmp_path / "A", tmp_path / "B", "hf")


@pytest.mark.parametrize("beside", [True, False])
@pytest.mark.parametrize(
    ("texts", "plain", "why"),
    [(("<a", "<a>"), (), "order of a hash table"), (("<a>", ">b"), (">b",), "overlap")],
)
def test_added_tokens_of_a_rank_file_that_tiktoken_finds_otherwise_are_refused(
    tmp_path: Path, texts: tuple[str, ...], plain: tuple[str, ...], why: str, beside: bool
) -> None:
    """Whether a file beside it or a preset brings them; the overlap is held to both engines."""
    source = tmp_path / "A"
    source.mkdir()
    ranks = {bytes([n]): n for n in range(256)}
    lines = (f"{base64.b64encode(token).decode()} {n}\n" for token, n in ranks.items())
    (source / "t.tiktoken").write_text("".join(lines))
    tokens = [
        {"id": 256 + n, "content": text, "special": text not in plain, **FLAGS}
        for n, text in enumerate(texts)
    ]
    own: dict[str, Any] = {"pat_str": r"\S+|\s+", "special_tokens": {}}
    own |= {} if beside else {"added_tokens": tokens}
    (tmp_path / "own.json").write_text(json.dumps(own), "utf-8")
    if beside:
        listed = {str(token.pop("id")): token for token in tokens}
        config = json.dumps({"added_tokens_decoder": listed})
        (source / "tokenizer_config.json").write_text(config, "utf-8")
    with pytest.raises(UnsupportedError, match=why):
        bpe_interop.load(source, preset=str(tmp_path / "own.json"))
    if plain:
        numbers = {"<a>": 256, ">b": 257}
        theirs = pytest.importorskip("tiktoken").Encoding(
            "t", pat_str=own["pat_str"], mergeable_ranks=ranks, special_tokens=numbers
        )
        hidden = Finder([{"content": t, "id": n, "special": n == 256} for t, n in numbers.items()])
        assert 257 in theirs.encode("<a>b", allowed_special={">b"}, disallowed_special=())
        assert [*hidden.parts("<a>b", special=False)] == ["<a>b"]


@pytest.mark.usefixtures("few_texts")
@pytest.mark.long
def test_a_model_that_was_tuned(tmp_path: Path) -> None:
    source = tmp_path / "A"
    state(source, "LlamaTokenizer", model_file(source), add_bos_token=True, bos_token="<s>")
    done = bpe_interop.convert(source, tmp_path / "B", "hf")
    theirs, ours = served(source), served(tmp_path / "B")
    assert ours["roles"] == theirs["roles"]
    assert ours["ids"][0] == theirs["ids"][0]
    assert ours["ids"][1] == theirs["ids"][1]
    assert ours["ids"][3] == theirs["ids"][3]
    assert any("</s>" in note and "<|im_end|>" in note for note in done.notes)
    # Between added tokens LlamaTokenizer is no sentencepiece, so a proof says what it rests on.
    assert any("a space is put" in each for each in bpe_interop.verify(source, source).assumptions)


@pytest.mark.parametrize(
    "files",
    [
        {"chat_template": [{"name": "default", "template": "D"}, {"name": "t", "template": "T"}]},
        {"chat_template": {"default": "D", "t": "T"}},
        {"chat_template": {"t": "T"}},
        {"chat_template": "old", "chat_template.jinja": "new"},
        {"chat_template.jinja": "new", "additional_chat_templates/rag.jinja": "R"},
        {"chat_template": "old", "additional_chat_templates/rag.jinja": "R"},
    ],
)
@pytest.mark.parametrize("main", [pair, model_file])
def test_all_chat_templates_of_the_folder_are_written(
    tmp_path: Path, main: Callable[[Path], int], files: dict[str, Any]
) -> None:
    first = main(tmp_path / "A")
    name = "Qwen2Tokenizer" if main is pair else "LlamaTokenizer"
    stated = {key: value for key, value in files.items() if "jinja" not in key}
    state(tmp_path / "A", name, first, add_bos_token=False, **stated)
    for path, text in files.items():
        if "jinja" in path:
            (tmp_path / "A" / path).parent.mkdir(exist_ok=True)
            (tmp_path / "A" / path).write_text(text, "utf-8")
    bpe_interop.convert(tmp_path / "A", tmp_path / "B", "hf", verify=False)
    a, b = (transformers.AutoTokenizer.from_pretrained(tmp_path / each) for each in "AB")
    assert b.chat_template == a.chat_template


def test_a_gguf_keeps_its_own_chat_templates_and_takes_further_ones(tmp_path: Path) -> None:
    (tmp_path / "A").mkdir()
    (source,) = (TOKENIZERS / "gguf-llama3-tiny" / "gguf").glob("*.gguf")
    shutil.copy(source, tmp_path / "A" / "model.gguf")
    chats = [{"name": "default", "template": "D"}, {"name": "t", "template": "T"}]
    config = json.dumps({"chat_template": chats})
    (tmp_path / "A" / "tokenizer_config.json").write_text(config, "utf-8")
    bpe_interop.convert(tmp_path / "A", tmp_path / "B", "hf", verify=False)
    bpe_interop.convert(source, tmp_path / "C", "hf", verify=False)
    b, c = (transformers.AutoTokenizer.from_pretrained(tmp_path / each) for each in "BC")
    assert b.chat_template == {"default": c.chat_template, "t": "T"}


@pytest.mark.parametrize(
    "roles",
    [
        {"add_eos_token": True},
        {"bos_token": "<|im_start|>"},
        {"eos_token": "<|im_start|>", "add_eos_token": True, "add_bos_token": False},
    ],
)
def test_a_template_places_the_tokens_that_have_the_roles(
    tmp_path: Path, roles: dict[str, Any]
) -> None:
    first = model_file(tmp_path / "A")
    state(tmp_path / "A", "LlamaTokenizer", first, **{"add_bos_token": True, **roles})
    bpe_interop.convert(tmp_path / "A", tmp_path / "B", "hf", verify=False)
    a, b = (transformers.AutoTokenizer.from_pretrained(tmp_path / each) for each in "AB")
    assert [b(text)["input_ids"] for text in ("hi", "")] == [
        a(text)["input_ids"] for text in ("hi", "")
    ]


def test_a_template_that_asks_for_a_token_that_is_none_is_not_stated(tmp_path: Path) -> None:
    """transformers 5.24 places no token then, and 4.57 does not load the folder."""
    first = model_file(tmp_path / "A")
    state(tmp_path / "A", "LlamaTokenizer", first, add_bos_token=True, bos_token=None)
    tokenizer = bpe_interop.load(tmp_path / "A")
    assert any("has no such bos token" in note for note in tokenizer.model.origin.notes)
    with pytest.raises(LossyConversionError, match="sequence_template"):
        bpe_interop.convert(tmp_path / "A", tmp_path / "B", "hf", verify=False)


@pytest.mark.parametrize("stated", [{}, {"padding_side": "right"}])
@pytest.mark.parametrize("name", ["LlamaTokenizer", "GemmaTokenizer"])
def test_batches_are_padded_on_the_side_of_the_class(
    tmp_path: Path, name: str, stated: dict[str, str]
) -> None:
    first = model_file(tmp_path / "A")
    state(tmp_path / "A", name, first, add_bos_token=False, **stated)
    bpe_interop.convert(tmp_path / "A", tmp_path / "B", "hf", verify=False)
    # Beside a tokenizer.json, too.
    shutil.copytree(tmp_path / "B", tmp_path / "C")
    config = {"tokenizer_class": name, **stated}
    (tmp_path / "C" / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")
    bpe_interop.convert(tmp_path / "C", tmp_path / "D", "hf", verify=False, drop=["added"])
    a, b, c, d = (
        transformers.AutoTokenizer.from_pretrained(tmp_path / each).padding_side for each in "ABCD"
    )
    assert (b, d) == (a, c)
    assert a == stated.get("padding_side", "left")


def test_a_space_that_is_said_otherwise_is_told_without_added_tokens_too(tmp_path: Path) -> None:
    model_file(tmp_path / "A")
    config = {"tokenizer_class": "LlamaTokenizer", "add_bos_token": False}
    config |= {"add_prefix_space": False}
    (tmp_path / "A" / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")
    ids = bpe_interop.load(tmp_path / "A").encode("hi")
    assert transformers.AutoTokenizer.from_pretrained(tmp_path / "A")("hi")["input_ids"] != ids
    notes = bpe_interop.load(tmp_path / "A").model.origin.notes
    assert any("add_prefix_space in tokenizer_config.json is false" in note for note in notes)


@pytest.mark.parametrize(
    ("name", "fixture", "said"),
    [
        ("GemmaTokenizer", "spm-tiny", "then put no space before a text"),
        ("LlamaTokenizer", "spm-user-tiny", "does not say add_prefix_space, which is true then"),
        ("T5Tokenizer", "spm-tiny", "what that makes of tokenizer.model is not known here"),
        ("LlamaTokenizer", "spm-tiny", ""),
        ("GemmaTokenizer", "spm-user-tiny", ""),
    ],
)
def test_a_class_that_reads_a_model_otherwise_is_told(
    tmp_path: Path, name: str, fixture: str, said: str
) -> None:
    shutil.copytree(TOKENIZERS / fixture / "sentencepiece", tmp_path / "A")
    config = {"tokenizer_class": name, "add_bos_token": False}
    (tmp_path / "A" / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")
    ours = bpe_interop.load(tmp_path / "A")
    assumed = ours.model.origin.assumed
    assert any(said in each for each in assumed) if said else not any("space" in e for e in assumed)
    try:
        theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "A")
    except Exception:  # 4.57 reads some of them with no class of its own
        assert int(transformers.__version__.split(".")[0]) < 5
        return
    text = "hello you"
    alike = theirs(text, add_special_tokens=False)["input_ids"] == ours.encode(text)
    assert alike is not bool(said)
    last = max(all_ids(ours.model))
    new = [text for text, number in theirs.get_added_vocab().items() if number > last]
    told = [each for each in assumed if "adds tokens of that class" in each]
    if name == "GemmaTokenizer" and int(transformers.__version__.split(".")[0]) >= 5:
        assert new
        assert all(f'"{text}"' in told[0] for text in new)
    elif name == "LlamaTokenizer":
        assert not told
        assert not new


@pytest.mark.parametrize("extended", [False, True])
def test_roles_that_are_stated_beside_a_model_are_written_beside_one(
    command: Command, tmp_path: Path, extended: bool
) -> None:
    first = model_file(tmp_path / "A")
    state(tmp_path / "A", "LlamaTokenizer", first, add_bos_token=True, mask_token="<unk>")
    path = tmp_path / "A" / "tokenizer_config.json"
    config = json.loads(path.read_text("utf-8"))
    del config["added_tokens_decoder"][str(first + 2)]  # a plain one, which a .model refuses
    path.write_text(json.dumps(config), "utf-8")
    usual = ("--to", "spm", "--no-verify")
    line = ("extend", tmp_path / "A", tmp_path / "B", "--special", "<new>")
    done = command(*(line if extended else ("convert", *line[1:3])), *usual)
    assert done.code == 0, done.err
    assert "dropped     added" not in done.out
    a, b = (transformers.AutoTokenizer.from_pretrained(tmp_path / each) for each in "AB")
    for role in ("bos_token", "eos_token", "pad_token", "mask_token"):
        assert getattr(b, role) == getattr(a, role)
    assert (a.eos_token, a.pad_token, a.mask_token) == ("<|im_end|>", "<|im_start|>", "<unk>")


def test_special_tokens_map_alone_gives_the_roles_of_a_model(tmp_path: Path) -> None:
    model_file(tmp_path / "A")
    roles = {"bos_token": "</s>", "eos_token": {"content": "<s>"}, "mask_token": "<unk>"}
    (tmp_path / "A" / "special_tokens_map.json").write_text(json.dumps(roles), "utf-8")
    # Without it 4.57 knows no class of the folder.
    (tmp_path / "A" / "config.json").write_text('{"model_type": "llama"}', "utf-8")
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "A")
    named = {role: getattr(theirs, f"{role}_token") for role in ("bos", "eos", "mask", "unk")}
    added = bpe_interop.load(tmp_path / "A").model.added or ()
    assert {role: token.text for token in added for role in token.roles} == named
    assert named == {"bos": "</s>", "eos": "<s>", "mask": "<unk>", "unk": "<unk>"}


def test_an_added_token_that_is_normalized_is_told(tmp_path: Path) -> None:
    """It begins with the space that stands before texts, and then takes it (transformers 4.57)."""
    first = model_file(tmp_path / "A")
    (tmp_path / "A" / "added_tokens.json").write_text(json.dumps({"<tool>": first}), "utf-8")
    config = {"tokenizer_class": "LlamaTokenizer", "add_bos_token": False, "legacy": True}
    (tmp_path / "A" / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")
    tokenizer = bpe_interop.load(tmp_path / "A")
    assert any('"<tool>", is found only' in said for said in tokenizer.model.origin.assumed)
    bpe_interop.convert(tmp_path / "A", tmp_path / "B", "hf", verify=False)
    served = transformers.AutoTokenizer.from_pretrained(tmp_path / "B")
    ids = served("hi <tool>")["input_ids"]
    assert ids == tokenizer.encode("hi <tool>")
    assert ids[-1] == first
    assert first not in served("hi<tool>")["input_ids"]
    if int(transformers.__version__.split(".")[0]) >= 5:
        theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "A")
        assert first in theirs("hi<tool>")["input_ids"]


@pytest.mark.long
@pytest.mark.parametrize("stated", [True, False])
def test_a_model_whose_space_is_said_otherwise_beside_it(tmp_path: Path, stated: bool) -> None:
    source = tmp_path / "A"
    state(source, "LlamaTokenizer", model_file(source), add_prefix_space=stated)
    theirs = transformers.AutoTokenizer.from_pretrained(source)
    loaded = bpe_interop.load(source)
    alike = theirs("hi", add_special_tokens=False)["input_ids"] == loaded.encode("hi")
    assert alike is stated
    told = any("add_prefix_space" in note for note in loaded.model.origin.notes)
    assert told is not stated
    report = bpe_interop.verify(source, source)
    assert any("add_prefix_space" in each for each in report.assumptions) is not stated


@pytest.mark.long
def test_ids_that_no_engine_gives_are_refused(tmp_path: Path) -> None:
    source = tmp_path / "A"
    state(source, "LlamaTokenizer", model_file(source) + 7, add_bos_token=False)
    with pytest.raises(LossyConversionError, match="in transformers"):
        bpe_interop.convert(source, tmp_path / "B", "hf")
    bpe_interop.convert(source, tmp_path / "B", "hf", drop="added")


@pytest.mark.usefixtures("few_texts")
@pytest.mark.long
def test_added_tokens_alone(tmp_path: Path) -> None:
    first = pair(tmp_path / "A")
    (tmp_path / "A" / "added_tokens.json").write_text(
        json.dumps({"<|im_start|>": first, "<tool>": first + 1}), "utf-8"
    )
    (tmp_path / "A" / "config.json").write_text('{"model_type": "qwen2"}', "utf-8")
    bpe_interop.convert(tmp_path / "A", tmp_path / "B", "hf")
    shutil.copy(tmp_path / "A" / "config.json", tmp_path / "B")
    assert served(tmp_path / "B")["ids"] == served(tmp_path / "A")["ids"]


def test_a_class_that_is_not_taken_over(tmp_path: Path) -> None:
    state(tmp_path / "A", "DebertaTokenizer", pair(tmp_path / "A"))
    with pytest.raises(UnstatedError, match=r"DebertaTokenizer does .*save_pretrained"):
        bpe_interop.convert(tmp_path / "A", tmp_path / "B", "hf")


def test_damaged(tmp_path: Path) -> None:
    pair(tmp_path / "A")
    (tmp_path / "A" / "tokenizer_config.json").write_text("{", "utf-8")
    with pytest.raises(FormatError, match=r"tokenizer_config\.json"):
        bpe_interop.load(tmp_path / "A")


def test_beside_a_rank_file(tmp_path: Path) -> None:
    """The ids are those that are stated, as publishers' own code takes them."""
    source = tmp_path / "A"
    source.mkdir()
    tokens = [bytes([byte]) for byte in range(256)] + [b"hi", b"zz"]
    lines = (f"{base64.b64encode(t).decode()} {rank}\n" for rank, t in enumerate(tokens))
    (source / "tokenizer.tiktoken").write_text("".join(lines))
    state(source, "OwnTokenizer", 1000, chat_template="{{ messages }}")
    loaded = bpe_interop.load(source)
    added = {token.text: token for token in loaded.model.added or ()}
    assert {text: token.id for text, token in added.items()} == {
        "<|im_start|>": 1000,
        "<|im_end|>": 1001,
        "<tool>": 1002,
    }
    assert added["<|im_end|>"].roles == ("eos",)
    assert added["<tool>"].rstrip
    assert not added["<tool>"].special
    assert loaded.model.chat_template == "{{ messages }}"


def test_inspect_names_every_file_of_the_folder(command: Command, tmp_path: Path) -> None:
    folder = tmp_path / "tok"
    shutil.copytree(TOKENIZERS / "cl100k-tiny" / "huggingface", folder)
    for name in ("config.json", "model.safetensors", "README.md", ".hidden"):
        (folder / name).write_text("{}", "utf-8")
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "backend": "x", "eos_token": None}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), "utf-8")
    found = json.loads(command("inspect", folder, "--json").out)
    assert found["in_part"] == ["config.json"]
    assert found["unread_keys"] == {"tokenizer_config.json": ["backend"]}
    assert found["others"] == ["README.md", "model.safetensors"]
    named = {*found["files"], *found["not_read"], *found["others"], ".hidden"}
    assert named == {path.name for path in folder.iterdir()}
    said = command("inspect", folder).out
    assert "\nnot read    README.md, model.safetensors\n" in said
    assert "(in part: rows, ids of roles)" in said
    assert "(not read: backend)" in said
    pair(tmp_path / "pair")
    other = {"add_eos_token": False, "legacy": True, "eos_token": "zz"}
    (tmp_path / "pair" / "tokenizer_config.json").write_text(json.dumps(other), "utf-8")
    found = json.loads(command("inspect", tmp_path / "pair", "--json").out)
    assert found["unread_keys"] == {"tokenizer_config.json": ["legacy"]}


@pytest.mark.usefixtures("few_texts")
@pytest.mark.long
@pytest.mark.parametrize("source", ["spm-tiny/sentencepiece", "gpt2-tiny/huggingface"])
def test_settings_that_mean_the_same_to_every_class_are_written(
    source: str, tmp_path: Path
) -> None:
    """Whatever file they lie beside: ``AutoTokenizer`` serves the same on both sides."""
    folder, out = tmp_path / "served", tmp_path / "out"
    shutil.copytree(TOKENIZERS / source, folder)
    config = folder / "tokenizer_config.json"
    stated = json.loads(config.read_text("utf-8")) if config.exists() else {"eos_token": "</s>"}
    stated |= {"split_special_tokens": True, "model_max_length": 99, "padding_side": "left"}
    if source.startswith("spm"):
        stated["tokenizer_class"] = "LlamaTokenizer"
    config.write_text(json.dumps(stated), "utf-8")
    said = bpe_interop.Statement(template="none" if source.startswith("spm") else None)
    done = bpe_interop.convert(folder, out, "hf", said=said)
    assert done.report is not None
    assert done.report.verdict == "proved"
    one, two = (transformers.AutoTokenizer.from_pretrained(each) for each in (folder, out))
    text = f"a {one.eos_token} b"
    ids = one.encode(text, add_special_tokens=False)
    assert one.eos_token_id not in ids
    assert two.encode(text, add_special_tokens=False) == ids
    assert (two.model_max_length, two.padding_side) == (99, "left")
    if source.startswith("spm"):  # beside a ``.model`` they are written, too
        back = bpe_interop.convert(folder, tmp_path / "spm", "spm", said=said, verify=False)
        assert "extras" not in {loss.field for loss in back.losses}
        three = transformers.AutoTokenizer.from_pretrained(tmp_path / "spm")
        assert three.encode(text, add_special_tokens=False) == ids
        assert (three.model_max_length, three.padding_side) == (99, "left")
