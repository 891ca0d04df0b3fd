"""The files beside a ``tokenizer.json``: every claim is held to what transformers really does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers.models.auto import tokenization_auto as auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

from bpe_interop.formats.huggingface import FORMAT
from bpe_interop.formats.huggingface.beside import Serving
from bpe_interop.formats.huggingface.beside.classes import (
    CLASSES,
    DEFAULT,
    FORCED,
    MEASURED,
    MODEL_TYPES,
    UNKNOWN,
)
from bpe_interop.formats.huggingface.survey import serving
from bpe_interop.model import BPEModel

TOKENIZERS = Path(__file__).parent.parent / "fixtures" / "tokenizers"
BYTE = (TOKENIZERS / "cl100k-tiny" / "huggingface" / "tokenizer.json").read_bytes()
CHAR = (TOKENIZERS / "spm-tiny" / "huggingface" / "tokenizer.json").read_bytes()
PLAIN = {"tokenizer_class": "PreTrainedTokenizerFast"}
END = "<|endoftext|>"
PREFIX = "<|fim_prefix|>"


def files_of(main: bytes = BYTE, **beside: Any) -> dict[str, bytes]:
    """``tokenizer_config={...}`` is ``tokenizer_config.json``; a text is a file of that name."""
    files = {"tokenizer.json": main}
    for name, value in beside.items():
        if isinstance(value, (bytes, str)):
            data = value if isinstance(value, bytes) else value.encode()
            files[f"{name.replace('__', '/')}.jinja"] = data
        else:
            files[f"{name}.json"] = json.dumps(value).encode()
    return files


@contextmanager
def served(files: dict[str, bytes]) -> Iterator[Any]:
    """What AutoTokenizer makes of the files."""
    with TemporaryDirectory() as folder:
        for name, data in files.items():
            place = Path(folder, name)
            place.parent.mkdir(exist_ok=True)
            place.write_bytes(data)
        yield transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)


def told(files: dict[str, bytes]) -> Serving:
    found = serving(files, FORMAT.load(files))
    assert found is not None
    return found


def notes_of(files: dict[str, bytes]) -> str:
    return "\n".join(FORMAT.load(files).origin.notes)


def pipeline(tokenizer: Any) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(tokenizer.backend_tokenizer.to_str())
    return document


def test_the_tables_are_those_of_the_installed_transformers() -> None:
    if not transformers.__version__.startswith(MEASURED):
        return
    expected = {}
    for kind, name in auto.TOKENIZER_MAPPING_NAMES.items():
        plain = (name or "").removesuffix("Fast")
        if kind in CONFIG_MAPPING_NAMES or plain == DEFAULT:
            expected[kind] = plain if plain in CLASSES or plain == DEFAULT else UNKNOWN
    assert dict(MODEL_TYPES) == expected
    wrong = auto.MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS
    assert set(FORCED) == {kind for kind in wrong if expected[kind] != DEFAULT}


SETTINGS = [
    {},
    {"add_prefix_space": True},
    {"add_prefix_space": False},
    {"legacy": True},
    {"legacy": True, "add_prefix_space": False},
]


def steps_of(document: dict[str, Any]) -> BPEModel:
    """The pipeline of a ``tokenizer.json`` over a vocabulary that every pipeline can have."""
    model = {**document["model"], "vocab": {"a": 0}, "merges": [], "unk_token": None}
    bare = {**document, "model": model, "added_tokens": [], "post_processor": None}
    return FORMAT.load({"tokenizer.json": json.dumps(bare).encode()})


@pytest.mark.parametrize("main", [BYTE, CHAR], ids=["bytes", "characters"])
@pytest.mark.parametrize("name", CLASSES)
def test_a_class_builds_what_the_table_says(name: str, main: bytes) -> None:
    """Held to the model that reads what AutoTokenizer built, field by field."""
    own = steps_of(json.loads(main))
    for config in SETTINGS:
        files = files_of(main, tokenizer_config={"tokenizer_class": name, **config})
        with served(files) as tokenizer:
            document = pipeline(tokenizer)
        built, found = steps_of(document), told(files)
        fields = {
            field: getattr(own, field) != getattr(built, field)
            for field in ("normalizer", "pretokenizer", "affixes", "lookup_first", "decoder")
        }
        assert {field: field in found.fields for field in fields} == fields, config
        added = {token["content"]: token["id"] for token in document["added_tokens"]}
        assert {token.text: token.id for token in found.added} == added


KINDS = ["llama", "mistral", "phi3", "gemma", "idefics", "qwen2", "qwen3", "gpt2", "nosuch", ""]
NAMED = [
    "LlamaTokenizer",
    "LlamaTokenizerFast",
    "GPT2Tokenizer",
    "Qwen2TokenizerFast",
    "GemmaTokenizer",
    "PreTrainedTokenizerFast",
    "TokenizersBackend",
    "BloomTokenizerFast",
    None,
]


@pytest.mark.parametrize("main", [BYTE, CHAR], ids=["bytes", "characters"])
@pytest.mark.parametrize("name", NAMED)
def test_the_class_is_the_one_that_autotokenizer_takes(name: str | None, main: bytes) -> None:
    for kind in KINDS:
        for model in ({"model_type": kind}, {"model_type": kind, "tokenizer_class": name}, {}):
            named = {} if "tokenizer_class" in model else {"tokenizer_class": name}
            files = files_of(main, tokenizer_config=named, config=model)
            with served(files) as tokenizer:
                assert told(files).choice.name == type(tokenizer).__name__, (kind, model)


def test_a_class_that_is_not_known_is_said_to_be_unknown() -> None:
    notes = notes_of(files_of(tokenizer_config={"tokenizer_class": "NoSuchTokenizer"}))
    assert "NoSuchTokenizer is not known here" in notes
    assert "--engine-b transformers" in notes
    notes = notes_of(files_of(config={"model_type": "t5"}))
    assert 'model_type "t5"' in notes
    assert "not known here" in notes
    notes = notes_of(files_of(tokenizer_config={"auto_map": {"AutoTokenizer": ["a.B", None]}}))
    assert "code of its own (auto_map)" in notes


# Roles and added tokens.

TEXTS = [END, PREFIX, "<new>", "<x>", "a"]
FLAG_NAMES = ("lstrip", "rstrip", "single_word", "normalized", "special")
FLAGS = st.fixed_dictionaries({flag: st.booleans() for flag in FLAG_NAMES})


def token_json(text: str, flags: dict[str, bool]) -> dict[str, Any]:
    return {"content": text, **flags}


tokens = st.builds(token_json, st.sampled_from(TEXTS), FLAGS)
roles = st.dictionaries(
    st.sampled_from(["bos_token", "eos_token", "pad_token", "image_token"]),
    st.sampled_from([*TEXTS[:4], None]),
)
decoders = st.dictionaries(st.sampled_from(["1", "5", "9", "12"]), tokens)


TINY = json.dumps(
    {
        "version": "1.0",
        "added_tokens": [
            {"id": number, **token_json(text, dict.fromkeys(FLAG_NAMES, False))}
            for number, text in ((9, END), (5, PREFIX))
        ],
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True},
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True},
        "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, END: 9}, "merges": []},
    }
)
"""A vocabulary with holes, and an added token that it does not number."""

SEEN = ("lstrip", "rstrip", "single_word", "normalized")


@st.composite
def directories(draw: st.DrawFn) -> dict[str, bytes]:
    """Small directories whose files contradict each other and their ``tokenizer.json``."""
    document = json.loads(TINY)
    for token in document["added_tokens"]:
        token["special"] = draw(st.booleans())
    config: dict[str, Any] = {
        "tokenizer_class": draw(st.sampled_from(["PreTrainedTokenizerFast", "GPT2Tokenizer"])),
        **{key: text for key, text in draw(roles).items() if text or key != "image_token"},
    }
    if draw(st.booleans()):
        config["added_tokens_decoder"] = draw(decoders)
    if draw(st.booleans()):
        config["extra_special_tokens"] = draw(st.lists(st.sampled_from(TEXTS), unique=True))
    beside: dict[str, Any] = {"tokenizer_config": config}
    if draw(st.booleans()):
        named = draw(roles)
        beside["special_tokens_map"] = {k: t for k, t in named.items() if k != "image_token"}
    if draw(st.booleans()):
        beside["added_tokens"] = draw(
            st.dictionaries(st.sampled_from(TEXTS), st.sampled_from([1, 3, 5, 9, 12]))
        )
    return files_of(json.dumps(document).encode(), **beside)


@settings(max_examples=300)
@given(directories())
def test_roles_and_added_tokens_are_those_of_autotokenizer(files: dict[str, bytes]) -> None:
    found = told(files)
    with served(files) as tokenizer:
        document = pipeline(tokenizer)
        named = tokenizer.special_tokens_map
        backend = tokenizer.backend_tokenizer
        backend.encode_special_tokens = True
        found_as_text = {t.text: t.id in backend.encode(t.text).ids for t in found.added}
    assert all(found_as_text[t.text] is not t.special for t in found.added if t.text != "a")
    expected = {
        token["content"]: (token["id"], *(token[flag] for flag in SEEN))
        for token in document["added_tokens"]
    }
    assert {
        token.text: (token.id, *(getattr(token, flag) for flag in SEEN)) for token in found.added
    } == expected
    own = {token.text: token for token in FORMAT.load(files).added or ()}
    for role, text in named.items():
        if text in own:
            assert role.removesuffix("_token") in own[text].roles
    said = {role for token in own.values() for role in token.roles}
    assert {f"{role}_token" for role in said} <= named.keys()
