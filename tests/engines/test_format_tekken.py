"""tekken.json: read and written as mistral-common does, and what it cannot hold."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files as resources
from pathlib import Path
from typing import Any

import pytest
import tiktoken
from conftest import Data
from transformers import AutoTokenizer

from bpe_interop import Tokenizer, load
from bpe_interop.compare.stress import code_points, fixed
from bpe_interop.convert import convert
from bpe_interop.diff import diff
from bpe_interop.encode import Encoder
from bpe_interop.engines import from_files
from bpe_interop.errors import (
    EngineError,
    FormatError,
    LossyConversionError,
    UnstatedError,
    UnsupportedError,
)
from bpe_interop.formats import by_name
from bpe_interop.gate import refuse
from bpe_interop.loss import Field
from bpe_interop.model import RankTable, SequenceTemplate
from bpe_interop.proof.prove import prove
from bpe_interop.statement import Statement
from fixtures import TOKENIZERS

TEKKEN = by_name("tekken")
NAMES = ("tekken-tiny", "tekken-listed-tiny")
PUBLISHED = ("tekken_240718.json", "tekken_240911.json")


def data_of(name: str) -> bytes:
    return (TOKENIZERS / name / "tekken" / "tekken.json").read_bytes()


def published(name: str) -> bytes:
    """One of the files that mistral-common brings."""
    return (resources("mistral_common") / "data" / name).read_bytes()


def document_of(name: str = "tekken-listed-tiny") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(data_of(name))
    return found


def read(document: object) -> Any:
    return TEKKEN.load({"tekken.json": json.dumps(document).encode()})


# Reading and writing.


def test_what_a_file_says() -> None:
    model = TEKKEN.load({"tekken.json": data_of("tekken-tiny")})
    assert len(model.vocab.ids) == 600
    assert [model.vocab.ids[bytes([byte])] for byte in (0, 97, 255)] == [22, 119, 277]
    assert model.merges == RankTable(model.vocab.ids)
    assert model.lookup_first
    assert [(t.text, t.id, t.special) for t in (model.added or ())[:2]] == [
        ("<unk>", 0, True),
        ("<s>", 1, True),
    ]
    assert [t.text for t in (model.added or ())[19:]] == [
        "[TOOL_CONTENT]",
        "<SPECIAL_20>",
        "<SPECIAL_21>",
    ]
    roles = {token.text: token.roles for token in model.added or () if token.roles}
    assert roles == {"<unk>": ("unk",), "<s>": ("bos",), "</s>": ("eos",), "<pad>": ("pad",)}
    assert (model.normalizer, model.sequence_template) == ((), None)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_bytes_again(name: str) -> None:
    data = data_of(name)
    assert TEKKEN.dump(TEKKEN.load({"tekken.json": data})) == {"tekken.json": data}


@pytest.mark.long
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_files_give_the_same_bytes_again(name: str) -> None:
    data = published(name)
    assert TEKKEN.dump(TEKKEN.load({name: data}))["tekken.json"] == data


@pytest.mark.long
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_ids_are_those_of_mistral_common(name: str, data: Data) -> None:
    """On awkward texts, and on lines of the Universal Declaration in all its languages."""
    from mistral_common.tokens.tokenizers.base import SpecialTokenPolicy
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    model = TEKKEN.load({"tekken.json": published(name)})
    path = resources("mistral_common") / "data" / name
    reference = Tekkenizer.from_file(str(path))
    encoder = Encoder(model)
    lines = data("corpora/udhr/udhr_all.txt").read_text("utf-8").splitlines()
    texts = [*fixed(), *code_points(300), *lines[:: len(lines) // 700]]
    assert len(texts) > 1_500
    keep: Any = SpecialTokenPolicy.KEEP
    for text in texts:
        ids = reference.encode(text, bos=False, eos=False)
        assert encoder.encode(text) == ids, text
        assert encoder.decode(ids) == reference.decode(ids, keep)
    for number in (0, 1, 9, 20, 999):
        assert encoder.decode([number]) == reference.decode([number], keep)


@pytest.mark.long
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_files_as_a_tokenizer_json_and_back(name: str) -> None:
    """Proved on ordinary text, and the same bytes again; the ids are mistral-common's above."""
    data = published(name)
    model = TEKKEN.load({"tekken.json": data})
    huggingface = by_name("huggingface")
    files = huggingface.dump(replace(model, sequence_template=SequenceTemplate()))
    again = huggingface.load(files)
    assert prove(model, again, "ordinary").outcome == "proved"
    assert TEKKEN.dump(again)["tekken.json"] == data
    other = replace(again, pretokenizer=())
    assert prove(model, other, "ordinary").outcome == "different"


def test_no_text_spells_a_special_token() -> None:
    engine = from_files("mistral-common", "tekken", {"tekken.json": data_of("tekken-listed-tiny")})
    model = TEKKEN.load({"tekken.json": data_of("tekken-listed-tiny")})
    text = "a[INST]b</s>"
    assert engine.encode(text) == Encoder(model).encode(text)
    assert min(engine.encode(text)) >= 12
    with pytest.raises(EngineError, match="never finds special tokens"):
        engine.encode(text, special="parse")


def _without(*path: str) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        for key in path[:-1]:
            document = document[key]
        del document[path[-1]]

    return change


def _with(value: object, *path: Any) -> Callable[[dict[str, Any]], None]:
    def change(document: Any) -> None:
        for key in path[:-1]:
            document = document[key]
        document[path[-1]] = value

    return change


# To other formats and back.


@pytest.mark.usefixtures("few_texts")
@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_to_a_tokenizer_json_and_back(name: str, tmp_path: Path) -> None:
    source = TOKENIZERS / name / "tekken"
    there = convert(source, tmp_path / "hf", "hf", said=Statement(template="none"))
    assert there.report is not None
    assert (there.report.verdict, there.report.scope) == ("proved", "ordinary")
    assert not there.losses
    back = convert(tmp_path / "hf", tmp_path / "tekken", "tekken", drop=("sequence_template",))
    assert back.report is not None
    assert back.report.verdict == "proved"
    assert (tmp_path / "tekken" / "tekken.json").read_bytes() == data_of(name)
    served = AutoTokenizer.from_pretrained(tmp_path / "hf")
    assert served.encode("Some text, 123.") == load(source).encode("Some text, 123.")


def test_one_tokenizer_json_alone_says_what_it_leaves_out(tmp_path: Path) -> None:
    source = TOKENIZERS / "tekken-listed-tiny" / "tekken"
    said = Statement(template="none")
    done = convert(source, tmp_path / "t.json", "hf", said=said, verify=False)
    assert "extras" in {loss.field for loss in done.losses}
    assert not (tmp_path / "bpe_interop.json").exists()


def _kept(change: Callable[[dict[str, Any]], None]) -> dict[str, bytes]:
    """The files of a ``tokenizer.json`` whose kept settings somebody edited."""
    model = TEKKEN.load({"tekken.json": data_of("tekken-listed-tiny")})
    files = dict(by_name("huggingface").dump(replace(model, sequence_template=SequenceTemplate())))
    document = json.loads(files["bpe_interop.json"])
    change(document)
    return files | {"bpe_interop.json": json.dumps(document).encode()}


@pytest.mark.parametrize(
    "change",
    [
        _with({}, "tekken"),
        _with(None, "tekken", "config"),
        _with("v99", "tekken", "config", "version"),
        _with(3, "tekken", "config", "default_vocab_size"),
        _with("a pattern", "tekken", "config", "pattern"),
        _with(2, "tekken", "listed"),
        _with(None, "tekken", "listed"),
        _with(2**40, "tekken", "layout", "indent"),
        _with(1, "tekken", "layout", "ascii"),
        _with(["?"], "tekken", "beyond"),
        _with(["AA=="], "tekken", "beyond"),
        _with(["//////", "//////"], "tekken", "beyond"),
        _with(["[THINK]", "[NOT THERE]"], "tekken", "plain"),
        _with(["config"], "tekken", "keys"),
        _with({"charsmap": 1}, "tekken", "blocks"),
        _with({"image": {"image_patch_size": 0}}, "tekken", "blocks"),
        _with(1, "tekken", "more"),
    ],
)
def test_settings_that_somebody_edited_change_nothing_but_themselves(
    change: Callable[[dict[str, Any]], None],
) -> None:
    model = by_name("huggingface").load(_kept(change))
    losses = refuse(model, TEKKEN, drop=("sequence_template",))
    assert "extras" in {loss.field for loss in losses}
    again = TEKKEN.load(TEKKEN.dump(model))
    assert prove(model, again, "ordinary").outcome == "proved"


def test_settings_of_others_are_passed_over_and_no_object_is_refused() -> None:
    files = _kept(lambda document: document.update(other={"a": 1}))
    assert any('"other"' in note for note in by_name("huggingface").load(files).origin.notes)
    with pytest.raises(FormatError, match=r"bpe_interop\.json"):
        by_name("huggingface").load(_kept(lambda document: document.update(tekken=[])))


def _last_first(document: dict[str, Any]) -> None:
    document["config"] = dict(reversed(document["config"].items()))


@pytest.mark.parametrize(
    "change",
    [_without("config", "num_vocab_tokens"), _with(1, "config", "comment"), _last_first],
    ids=["no count", "a key that nobody reads", "another order"],
)
def test_a_configuration_that_the_engine_takes_is_written_again(
    change: Callable[[dict[str, Any]], None], tmp_path: Path
) -> None:
    document = copy.deepcopy(document_of())
    change(document)
    data = (json.dumps(document, indent=2) + "\n").encode()
    from_files("mistral-common", "tekken", {"tekken.json": data})
    path = tmp_path / "one.json"
    path.write_bytes(data)
    done = convert(path, tmp_path / "two.json", "tekken", verify=False)
    assert not done.losses
    assert (tmp_path / "two.json").read_bytes() == data


@pytest.mark.long
def test_to_a_rank_file_ids_stay(tmp_path: Path) -> None:
    source = TOKENIZERS / "tekken-tiny" / "tekken"
    convert(source, tmp_path / "tok.tiktoken")
    ids = load(source).encode("Une phrase, \u0928\u092e\u0938\u094d\u0924\u0947.")
    assert load(tmp_path / "tok.tiktoken").encode_ordinary(
        "Une phrase, \u0928\u092e\u0938\u094d\u0924\u0947."
    ) == list(ids)


@pytest.mark.parametrize(
    ("name", "fields"),
    [("gpt2-tiny", {"vocab"}), ("nfc-tiny", {"vocab", "normalizer", "added"})],
)
def test_what_it_cannot_hold_is_refused(name: str, fields: set[str]) -> None:
    folder = TOKENIZERS / name
    form = "tiktoken" if (folder / "tiktoken").is_dir() else "huggingface"
    model = load(folder / form).model
    with pytest.raises(LossyConversionError) as refused:
        refuse(model, TEKKEN)
    assert fields <= {loss.field for loss in refused.value.losses}


@pytest.mark.parametrize("pattern", ["(?s:.)+", r"[\s\S]+", "", r"\p{Lu}+|[^\p{Lu}]+"])
def test_a_minbpe_file_is_written_as_tekken(pattern: str, tmp_path: Path) -> None:
    """A pattern that takes texts whole comes back as none, which is said and no defect."""
    (tmp_path / "t.model").write_text(f"minbpe v1\n{pattern}\n0\n97 98\n")
    dropped: list[Field] = ["sequence_template", "vocab"]
    done = convert(tmp_path / "t.model", tmp_path / "out", "tekken", drop=dropped, verify=False)
    whole = pattern in ("(?s:.)+", r"[\s\S]+")
    assert ("pretokenizer" in {loss.field for loss in done.losses}) is whole
    text = "ab abA Bab\nab"
    first = len(load(tmp_path / "out").model.added or ())
    ids = load(tmp_path / "t.model").encode_ordinary(text)
    assert load(tmp_path / "out").encode_ordinary(text) == [number + first for number in ids]


def test_a_tokenizer_is_saved_as_tekken(tmp_path: Path) -> None:
    tokenizer = load(TOKENIZERS / "tekken-listed-tiny" / "tekken")
    assert isinstance(tokenizer, Tokenizer)
    tokenizer.save(tmp_path / "out", format="tekken")
    assert (tmp_path / "out" / "tekken.json").read_bytes() == data_of("tekken-listed-tiny")
    assert not diff(tokenizer.model, load(tmp_path / "out").model)


# What is refused.


@pytest.mark.parametrize(
    ("change", "where", "what"),
    [
        (_without("config"), "$", "the key 'config' is missing"),
        (_without("vocab"), "$", "the key 'vocab' is missing"),
        (_without("config", "pattern"), "$.config", "the key 'pattern' is missing"),
        (_with(3, "vocab", 300, "rank"), "$.vocab[300].rank", "must be the place in the list, 300"),
        (_with(True, "vocab", 1, "rank"), "$.vocab[1].rank", "expected an integer, found true"),
        (_with("a", "vocab", 9, "token_bytes"), "$.vocab[9].token_bytes", "not base64"),
        (
            _with("x", "vocab", 97, "token_str"),
            "$.vocab[97].token_str",
            'not the text of the bytes, "a"',
        ),
        (_with("x", "vocab", 200, "token_str"), "$.vocab[200].token_str", "must be null"),
        (_with("a*", "config", "pattern"), "$.config.pattern", "can match the empty text"),
        (_with("3", "config", "default_vocab_size"), "$.config.default_vocab_size", "an integer"),
        (
            _with(2**40, "config", "default_vocab_size"),
            "$.config.default_vocab_size",
            "limit TEKKEN",
        ),
        (_with(9_999, "config", "default_vocab_size"), "$.vocab", "asks for 9,987"),
        (_with(-1, "config", "default_num_special_tokens"), "special_tokens", "expected 0 or more"),
        (
            _with([], "special_tokens", 2),
            "$.special_tokens[2]",
            "expected an object, found an array",
        ),
        (_with(5, "special_tokens", 2, "rank"), "$.special_tokens[2].rank", "place in the list, 2"),
        (_with("<s>", "special_tokens", 2, "token_str"), "[2].token_str", "is there already"),
        (_with("", "special_tokens", 2, "token_str"), "[2].token_str", "is empty"),
        (_with("<SPECIAL_9>", "special_tokens", 2, "token_str"), "$.special_tokens", "unnamed id"),
        (_with(None, "special_tokens"), "$", "version v13 must list its special tokens"),
        (_with("v99", "config", "version"), "$.config.version", 'the version "v99" is not known'),
        (_with(1, "charsmap"), "$.charsmap", "not understood"),
        (_with("x", "image"), "$.image", "expected an object"),
        (_with({"image_patch_size": 1}, "image"), "$.image", "'max_image_size' is missing"),
        (_with("x", "image", "max_image_size"), "$.image.max_image_size", "an integer"),
        (_with(0, "image", "image_patch_size"), "$.image.image_patch_size", "more than 0"),
        (_with(1, "image", "size"), "$.image.size", "not understood"),
        (_with({"image_patch_size": 0}, "multimodal"), "$.multimodal", "version v13"),
        (_with(1, "vocab", 3, "flag"), "$.vocab[3].flag", "not understood"),
    ],
)
def test_what_a_reader_refuses(
    change: Callable[[dict[str, Any]], None], where: str, what: str
) -> None:
    document = copy.deepcopy(document_of())
    change(document)
    with pytest.raises((FormatError, UnsupportedError)) as error:
        read(document)
    assert where in error.value.where
    assert what in error.value.what


def test_two_tokens_alike() -> None:
    document = document_of()
    for key in ("token_bytes", "token_str"):
        document["vocab"][300][key] = document["vocab"][299][key]
    with pytest.raises(FormatError, match=r"is already there, as \$.vocab\[299\]"):
        read(document)


def test_the_bytes_come_first() -> None:
    document = document_of()
    one, two = document["vocab"][65], document["vocab"][300]
    for key in ("token_bytes", "token_str"):
        one[key], two[key] = two[key], one[key]
    with pytest.raises(FormatError, match="number 65 is not"):
        read(document)


def test_more_special_tokens_than_room() -> None:
    document = document_of()
    document["config"]["default_num_special_tokens"] = 4
    document["config"]["default_vocab_size"] -= 8
    with pytest.raises(FormatError, match="there are 8 special tokens, and room for 4"):
        read(document)


# Megatron's and NeMo's file: the list of tokens alone.


PATTERNS = {
    "megatron-v1": (
        r"[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
    ),
    "megatron-v2": (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
        r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
}
"""As ``tiktoken_tokenizer.py`` of Megatron-core has them."""


@pytest.mark.long
@pytest.mark.parametrize("preset", PATTERNS)
def test_a_bare_list_gives_the_ids_that_megatron_makes(preset: str, tmp_path: Path) -> None:
    """Megatron runs tiktoken without special tokens, and adds their number to every id."""
    vocab = document_of()["vocab"]
    path = tmp_path / "vocab.json"
    path.write_text(json.dumps(vocab), "utf-8")
    ranks = {base64.b64decode(entry["token_bytes"]): entry["rank"] for entry in vocab}
    theirs = tiktoken.Encoding(
        "nemo", pat_str=PATTERNS[preset], mergeable_ranks=ranks, special_tokens={}
    )
    ours = load(path, preset=preset)
    for text in [*fixed(), "aB\u0301\u0928\u092e\u0938\u094d\u0924\u0947 \n\n x"]:
        expected = [number + 1_000 for number in theirs.encode(text, disallowed_special=())]
        assert ours.encode_ordinary(text) == expected
    named = ["<unk>", "<s>", "</s>", "<mask>", "<pad>", "<cls>", "<sep>", "<SPECIAL_999>"]
    ids = [ours.encode(text, allowed_special="all") for text in named]
    assert ids == [[0], [1], [2], [3], [4], [5], [6], [999]]
    done = convert(
        path, tmp_path / "hf", "huggingface", preset=preset, said=Statement(template="none")
    )
    assert done.report is not None
    assert done.report.verdict == "proved"


def test_a_bare_list_says_no_pattern(tmp_path: Path) -> None:
    path = tmp_path / "vocab.json"
    path.write_text(json.dumps(document_of()["vocab"]), "utf-8")
    with pytest.raises(UnstatedError, match="megatron-v1, megatron-v2"):
        convert(path, tmp_path / "out", "huggingface")
    assert not TEKKEN.sniff({"x.json": b'[{"rank": 0}]'})
    for change in ({"rank": 7}, {"token_bytes": "?"}, {"more": 1}):
        vocab = document_of()["vocab"]
        vocab[3] = {**vocab[3], **change}
        with pytest.raises(FormatError, match=r"\[3\]"):
            read(vocab)
