"""The files beside a ``tokenizer.json``: every claim is held to what transformers really does."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import tokenizers
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers.models.auto import configuration_auto
from transformers.models.auto import tokenization_auto as auto

from bpe_interop.compare import verify
from bpe_interop.convert import convert
from bpe_interop.encode import Encoder
from bpe_interop.engines.transformers import read_directory, serving
from bpe_interop.errors import EngineError, FormatError, LossyConversionError
from bpe_interop.formats import Files, by_name, file_names
from bpe_interop.formats.huggingface import FORMAT
from bpe_interop.formats.huggingface.companions import files as companions
from bpe_interop.formats.huggingface.companions.auto_class import Serving
from bpe_interop.formats.names import BESIDE
from bpe_interop.gate import refuse
from bpe_interop.limits import COMPANION_BYTES
from bpe_interop.model import FIELDS, BPEModel
from bpe_interop.sources import load_source
from bpe_interop.tokenizer import Tokenizer
from bpe_interop.tokenizer_config import CONFIG, DECODER, EXTRA, KEYS, LOCKED
from bpe_interop.transformers_classes import (
    CLASSES,
    DEFAULT,
    FORCED,
    LOADED_ALIKE,
    MEASURED,
    MODEL_TYPES,
    REBUILT_SINCE,
    UNKNOWN,
)
from fixtures import TOKENIZERS

BYTE = (TOKENIZERS / "cl100k-tiny" / "huggingface" / "tokenizer.json").read_bytes()
CHAR = (TOKENIZERS / "spm-tiny" / "huggingface" / "tokenizer.json").read_bytes()
Data = Callable[[str], Path]
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
def served(files: Files) -> Iterator[Any]:
    """What AutoTokenizer makes of the files."""
    with TemporaryDirectory() as folder:
        for name, data in files.items():
            place = Path(folder, name)
            place.parent.mkdir(exist_ok=True)
            place.write_bytes(data)
        yield transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)


def told(files: Files) -> Serving:
    found = serving(files, FORMAT.load(files))
    assert found is not None
    return found


def notes_of(files: Files) -> str:
    return "\n".join(FORMAT.load(files).origin.notes)


def pipeline(tokenizer: Any) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(tokenizer.backend_tokenizer.to_str())
    return document


def release(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")[:2]))


MEASURED_ON = release(transformers.__version__) >= release(MEASURED)
of_the_measured = pytest.mark.skipif(
    not MEASURED_ON, reason=f"the table says what transformers {MEASURED} builds"
)
"""What an older one does: ``test_before_it_rebuilt_classes_transformers_ran_the_file``."""


@of_the_measured
def test_the_tables_are_those_of_the_installed_transformers() -> None:
    """A newer one than was measured may know further model types, and change none.

    An older one has other classes.
    """
    kinds: Any = vars(configuration_auto)["CONFIG_MAPPING_NAMES"]
    expected = {}
    for kind, name in auto.TOKENIZER_MAPPING_NAMES.items():
        plain = (name or "").removesuffix("Fast")
        if plain == "MistralCommonBackend":  # where mistral-common is; only for a tekken.json
            plain = DEFAULT
        if kind in kinds or plain == DEFAULT:
            expected[kind] = plain if plain in CLASSES or plain == DEFAULT else UNKNOWN
    wrong = auto.MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS
    forced = {kind for kind in wrong if expected[kind] != DEFAULT}
    added = expected.keys() - MODEL_TYPES.keys()
    if added and release(transformers.__version__) > release(MEASURED):
        warnings.warn(f"not in the table of transformers {MEASURED}: {sorted(added)}", stacklevel=1)
        expected = {kind: name for kind, name in expected.items() if kind in MODEL_TYPES}
        forced &= MODEL_TYPES.keys()
    assert dict(MODEL_TYPES) == expected
    assert set(FORCED) == forced


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


@pytest.mark.long
@of_the_measured
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


NOT_IN_LOWEST = {"Qwen3_5Tokenizer"}
"""Classes that the lowest transformers does not have."""
RUN_AS_IT_IS = sorted(CLASSES.keys() - NOT_IN_LOWEST)


if release(transformers.__version__) < release(REBUILT_SINCE):

    @pytest.mark.parametrize("name", RUN_AS_IT_IS)
    def test_before_it_rebuilt_classes_transformers_ran_the_file(name: str) -> None:
        document = json.loads(BYTE)
        with served(files_of(tokenizer_config={"tokenizer_class": name})) as tokenizer:
            run = pipeline(tokenizer)
        fields = ("normalizer", "pretokenizer", "affixes", "lookup_first", "decoder")
        own, built = steps_of(document), steps_of(run)
        assert [field for field in fields if getattr(own, field) != getattr(built, field)] == []
        assert run["post_processor"] == document["post_processor"] or name not in LOADED_ALIKE


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


@pytest.mark.long
@of_the_measured
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
extras = st.dictionaries(
    st.sampled_from(["extra_special_tokens", "additional_special_tokens"]),
    st.lists(st.sampled_from(TEXTS), unique=True),
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
    config |= draw(extras)
    beside: dict[str, Any] = {"tokenizer_config": config}
    if draw(st.booleans()):
        named = draw(roles)
        beside["special_tokens_map"] = {
            **{key: text for key, text in named.items() if key != "image_token"},
            **draw(extras),
        }
    if draw(st.booleans()):
        beside["added_tokens"] = draw(
            st.dictionaries(st.sampled_from(TEXTS), st.sampled_from([1, 3, 5, 9, 12]))
        )
    return files_of(json.dumps(document).encode(), **beside)


# Every key that a transformers reads, of those that are admitted.

NEW = {"content": "the", **dict.fromkeys(FLAG_NAMES, False), "special": True}
CODE = {"AutoTokenizer": ["a.B", None]}
ROLE_KEYS = ["bos_token", "unk_token", "mask_token", "image_token", "padding_token"]
ANY: list[Any] = [True, False, "x", 3]
READ_KEYS: dict[str, list[Any]] = {
    **dict.fromkeys(KEYS, ANY),
    **{key: [["the"], ["<zz>"], {"image_token": "the"}] for key in EXTRA},
    "added_tokens_decoder": [{}, {"9000": NEW}],
    **{key: ["the", None] for key in ROLE_KEYS},
    "model_specific_special_tokens": [{"x_token": "the"}, {}],
    # Where no file names a class, transformers 4.57 guesses one from the folder's name.
    "tokenizer_class": ["LlamaTokenizerFast", "Qwen2Tokenizer", "TokenizersBackend"],
    "auto_map": [CODE],
    "sp_model_kwargs": [{"enable_sampling": True}],
    "fast_tokenizer_files": [["tokenizer.json"], ["tokenizer.4.0.0.json"]],
    "chat_template": ["{{ x }}"],
    **{
        key: [True, False, 3, "x"]
        for key in (
            "chat_control_tokens", "response_template", "response_schema", "processor_class",
            "max_len", "verbose", "special_tokens_pattern", "token_type_ids_pattern",
            "token_type_ids_include_special_tokens", "unk_id", "_commit_hash", "subfolder",
            "revision", "tokenizer_type", "src_lang", "tgt_lang", "bos_token_id", "padding",
            "truncation", "max_length", "stride", "pad_to_multiple_of", "add_special_tokens",
            "use_source_tokenizer", "sanitize_control_tokens", "transformers_version", "dropout",
            "byte_fallback", "normalizer", "pre_tokenizer", "decoder", "prepend_scheme", "nonesuch",
        )
    },
}  # fmt: skip
SAID = ["the quick  brown <s> it 's . Hello , world ! 2023", f" the{END}  x", "\u2581a the </s>the"]


def answers(folder: str, call: Callable[[Any, str], list[int]], load: Callable[[str], Any]) -> Any:
    """Ids and decoded texts of a folder; the name of the error where there are none."""
    try:
        tokenizer = load(folder)
        ids = [call(tokenizer, text) for text in SAID]
        return ids, [tokenizer.decode(each) for each in ids]
    except Exception as error:  # transformers raises many classes; which one is what is compared
        return error.__class__.__name__


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "main"),
    [("PreTrainedTokenizerFast", BYTE), ("GPT2Tokenizer", BYTE), ("LlamaTokenizer", CHAR)],
    ids=["as it is", "bytes", "characters"],
)
def test_every_key_acts_as_in_a_users_call_and_is_locked_and_told(name: str, main: bytes) -> None:
    """In the installed transformers, whichever of the admitted ones that is."""
    before: Any = None
    for key, values in {"": [0], **READ_KEYS}.items():
        for value in values:
            config = {"tokenizer_class": name, **({key: value} if key else {})}
            files, case = files_of(main, tokenizer_config=config), (key, value)
            with TemporaryDirectory() as folder:
                for file, data in files.items():
                    Path(folder, file).write_bytes(data)
                given = answers(
                    folder,
                    lambda tokenizer, text: list(tokenizer(text)["input_ids"]),
                    transformers.AutoTokenizer.from_pretrained,
                )
                ours = answers(
                    folder,
                    lambda engine, text: engine.encode(
                        text, special="parse", add_special_tokens=True
                    ),
                    read_directory,
                )
            before = before or given
            assert not isinstance(before, str), "AutoTokenizer does not read the folder at all"
            if isinstance(given, str):
                assert isinstance(ours, str), case
                continue
            assert ours == given, case
            named = key.endswith("_token") or key in (*EXTRA, DECODER)
            assert given == before or named or key in LOCKED, case
            try:
                model = FORMAT.load(files)
            except FormatError:
                continue
            notes = [*told(files).notes, *model.origin.notes]
            unversioned = [note for note in notes if "ransformer" in note and "4.57" not in note]
            assert [note for note in unversioned if f"transformers {MEASURED}" not in note] == []
            own = Tokenizer(model)
            ids = [
                own.encode(text, allowed_special="all", add_special_tokens=True) for text in SAID
            ]
            alike = ids == given[0] and [own.decode(each) for each in ids] == given[1]
            assert alike or notes, case


@pytest.mark.long
@of_the_measured
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
    lost = FORMAT.load(files).origin.lost
    assert set(lost) <= set(found.notes)
    if found.choice.name == DEFAULT:
        alike = {
            text: (token.id, *(getattr(token, flag) for flag in SEEN[:3]), token.special)
            for text, token in own.items()
        } == {
            token.text: (token.id, *expected[token.text][1:4], token.special)
            for token in found.added
        }
        assert bool(lost) is not alike
        if not lost:
            stated = {f"{role}_token": t.text for t in own.values() for role in t.roles}
            assert named == stated


@settings(max_examples=150)
@given(directories())
def test_what_is_written_is_served_as_it_is_read(files: dict[str, bytes]) -> None:
    """Whatever contradictions were read, AutoTokenizer runs what we write, with the same roles."""
    model = FORMAT.load(files)
    written = FORMAT.dump(model)
    again = FORMAT.load(written)
    assert again.added == model.added
    assert again.extras == model.extras
    assert again.origin.notes == ()
    assert told(written).notes == ()
    with served(written) as tokenizer:
        added = pipeline(tokenizer)["added_tokens"]
        named = tokenizer.special_tokens_map
    # Before 5 these are named too, and special if nothing else is said of them.
    listed = {*named.pop("additional_special_tokens", ())}
    ours = {t.text: (t.id, t.special or t.text in listed, t.lstrip) for t in model.added or ()}
    assert {
        t["content"]: (t["id"], t["special"] or t["content"] in listed, t["lstrip"]) for t in added
    } == ours
    stated = {f"{role}_token": t.text for t in model.added or () for role in t.roles}
    assert named == stated


@pytest.mark.parametrize(
    ("beside", "said"),
    [
        (
            {
                "tokenizer_config": {**PLAIN, "eos_token": END},
                "special_tokens_map": {"eos_token": PREFIX},
            },
            'special_tokens_map.json says "<|fim_prefix|>", tokenizer_config.json says '
            '"<|endoftext|>"; transformers 5.24 goes by special_tokens_map.json',
        ),
        (
            {
                "tokenizer_config": {**PLAIN, "eos_token": END, "added_tokens_decoder": {}},
                "special_tokens_map": {"eos_token": PREFIX},
            },
            "goes by tokenizer_config.json, because tokenizer_config.json has added_tokens_decoder",
        ),
        (
            {"tokenizer_config": {**PLAIN, "bos_token": "<s>"}},
            'tokenizer_config.json asks for "<s>" as 821, which tokenizer.json lacks',
        ),
        ({"added_tokens": {"<s>": 5000}}, 'added_tokens.json asks for "<s>" as 821'),
        (
            {"tokenizer_config": {"tokenizer_class": "GPTNeoXTokenizer"}},
            "discards tokenizer.json's normalizer, pre-tokenizer and ignore_merges",
        ),
        (
            {"tokenizer_config": PLAIN, "config": {"model_type": "qwen2"}},
            "PreTrainedTokenizerFast.from_pretrained serves the file as it is, AutoTokenizer does "
            "not, whatever tokenizer_config.json names",
        ),
        (
            {
                "tokenizer_config": {
                    "added_tokens_decoder": {
                        "801": {"content": END, "rstrip": True, "special": True}
                    }
                }
            },
            'transformers 5.24 makes "<|endoftext|>" rstrip, as tokenizer_config.json says',
        ),
        (
            {"tokenizer_config": {"add_bos_token": True, "bos_token": END}},
            "add_bos_token is true, but tokenizer.json's post-processor puts none there",
        ),
        ({"tokenizer_config": {"clean_up_tokenization_spaces": True}}, "5.24 does not for BPE"),
        ({"tokenizer_config": {"split_special_tokens": True}}, "split_special_tokens"),
        ({"tokenizer_config": {"fix_mistral_regex": True}}, "fix_mistral_regex"),
        (
            {"config": {"vocab_size": 820}},
            "config.json declares 820 rows (vocab_size), but ids go to 820",
        ),
        (
            {"tokenizer_config": {"eos_token": END}, "config": {"eos_token_id": 2}},
            'config.json says 2, but the tokenizer\'s eos token "<|endoftext|>" is 801',
        ),
        (
            {"config": {"eos_token_id": 2}, "generation_config": {"eos_token_id": [2, 801]}},
            "eos_token_id: config.json says 2, generation_config.json says [2, 801]",
        ),
        (
            {"tokenizer_config": {"chat_template": "a"}, "chat_template": "b"},
            "chat_template.jinja and tokenizer_config.json hold different ones",
        ),
        (
            {"tokenizer_config": {"chat_template": [{"name": "rag", "template": "b"}]}},
            "none is the default",
        ),
    ],
)  # fmt: skip
def test_contradictions_are_told(beside: dict[str, Any], said: str) -> None:
    assert said in notes_of(files_of(**beside))


def test_what_agrees_is_not_told() -> None:
    files = files_of(
        tokenizer_config={**PLAIN, "eos_token": END, "chat_template": "a", "add_bos_token": False},
        special_tokens_map={"eos_token": {"content": END, "lstrip": False}},
        added_tokens={END: 801},
        config={"model_type": "llama", "vocab_size": 821, "eos_token_id": 801},
        generation_config={"eos_token_id": 801},
        chat_template="a",
    )
    assert notes_of(files) == ""


BOS = {"content": "<a>", "lstrip": False, "normalized": False, "special": True}


@pytest.mark.parametrize(
    ("beside", "said"),
    [
        ({"tokenizer_config": {**PLAIN, "bos_token": "<a>"}}, "so it has no token for bos"),
        ({"tokenizer_config": {"added_tokens_decoder": {"9": BOS}}}, 'asks for "<a>" as 821'),
        ({"special_tokens_map": {"pad_token": "<a>"}}, "so it has no token for pad"),
        ({"added_tokens": {"<a>": 821}}, 'added_tokens.json asks for "<a>" as 821'),
        (
            {"tokenizer_config": {"added_tokens_decoder": {"801": {**BOS, "content": END}}}},
            "",
        ),
        (
            {
                "tokenizer_config": {
                    "added_tokens_decoder": {"801": {**BOS, "content": END, "lstrip": True}}
                }
            },
            '"<|endoftext|>" lstrip, as tokenizer_config.json says',
        ),
        ({"tokenizer_config": {**PLAIN, "eos_token": END}, "added_tokens": {END: 801}}, ""),
        (
            {
                "tokenizer_config": {**PLAIN, "eos_token": END},
                "special_tokens_map": {"eos_token": PREFIX},
            },
            "",
        ),
    ],
)
def test_tokens_and_roles_that_only_other_files_have_are_a_loss(
    beside: dict[str, Any], said: str, tmp_path: Path
) -> None:
    """In every format; what the files say alike, or nothing depends on, is none."""
    model = FORMAT.load(files_of(**beside))
    for target in ("huggingface", "tiktoken"):
        found = [
            loss
            for loss in refuse(model, by_name(target), FIELDS)
            if loss.what in model.origin.lost
        ]
        assert [(loss.field, loss.grade) for loss in found] == [("added", "text")] * bool(said)
        assert all(said in loss.what for loss in found)
    if said:
        with pytest.raises(LossyConversionError, match=r"contradict each other(.|\n)*--drop added"):
            refuse(model, FORMAT)
    else:
        refuse(model, FORMAT)


def test_a_loss_is_told_once_and_the_way_out_of_it_is_one(tmp_path: Path) -> None:
    """What AutoTokenizer saves anew holds its tokens, and is converted exactly."""
    files = files_of(CHAR, tokenizer_config={**PLAIN, "bos_token": "<a>"})
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    done = convert(tmp_path, tmp_path / "out", "hf", drop=["added"], verify=False)
    assert [loss.field for loss in done.losses] == ["added"]
    assert not {loss.what for loss in done.losses} & {*done.notes}
    with served(files) as tokenizer:
        tokenizer.save_pretrained(tmp_path / "anew")
        number = tokenizer.bos_token_id
    model = load_source(tmp_path / "anew").model
    assert refuse(model, FORMAT) == ()
    [token] = [token for token in model.added or () if "bos" in token.roles]
    assert (token.text, token.id) == ("<a>", number)


@pytest.mark.parametrize(
    ("added", "config", "said"),
    [
        ({"<e>": 5000}, {"added_tokens_decoder": {}}, '"<e>" 5000, but it has none; transformers'),
        ({END: 7}, {"added_tokens_decoder": {}}, '(which is "'),
        ({"<e>": 7}, {}, "but it has 821; transformers 5.24 goes by the texts"),
        ({END: 801}, {"added_tokens_decoder": {}}, ""),
        ({"<e>": 821}, {}, ""),
    ],
)
def test_ids_of_added_tokens_json_that_do_not_hold_are_told(
    added: dict[str, int], config: dict[str, Any], said: str
) -> None:
    notes = notes_of(files_of(added_tokens=added, tokenizer_config={**PLAIN, **config}))
    assert said in notes
    assert ("gives ids that do not hold" in notes) is bool(said)


@of_the_measured
def test_decoded_text_is_left_alone_by_the_transformers_that_was_measured() -> None:
    """What is said of ``clean_up_tokenization_spaces``."""
    files = files_of(tokenizer_config={**PLAIN, "clean_up_tokenization_spaces": True})
    with served(files) as tokenizer:
        ids = tokenizer("a , b").input_ids
        assert tokenizer.decode(ids) == "a , b"


# Chat templates.

LISTED = [{"name": "default", "template": "D"}, {"name": "rag", "template": "R"}]


@pytest.mark.parametrize(
    "beside",
    [
        {"tokenizer_config": {"chat_template": "C"}},
        {"tokenizer_config": {"chat_template": LISTED}},
        {"tokenizer_config": {"chat_template": {"default": "D", "rag": "R"}}},
        {"tokenizer_config": {"chat_template": LISTED[1:]}},
        {"tokenizer_config": {"chat_template": "C"}, "chat_template": "J\r\nK\rL\n"},
        {"chat_template": "J", "additional_chat_templates__rag": "R"},
        {"chat_template": "J", "additional_chat_templates__default": "R"},
        {"tokenizer_config": {"chat_template": "C"}, "additional_chat_templates__rag": "R"},
        {"chat_template": "\ufeffé"},
        {},
    ],
    ids=lambda beside: "-".join(beside) or "none",
)
def test_chat_templates_are_those_of_transformers_and_travel(beside: dict[str, Any]) -> None:
    files = files_of(
        **{**beside, "tokenizer_config": {**PLAIN, **beside.get("tokenizer_config", {})}}
    )
    with served(files) as tokenizer:
        expected = tokenizer.chat_template
    model = FORMAT.load(files)
    named = expected if isinstance(expected, dict) else {"default": expected}
    others = model.extras.get("chat_templates", {})
    assert model.chat_template == named.get("default")
    assert others == {name: text for name, text in named.items() if name != "default"}
    written = FORMAT.dump(model)
    with served(written) as tokenizer:
        assert tokenizer.chat_template == expected
    assert FORMAT.load(written).chat_template == model.chat_template
    assert FORMAT.load(written).extras == model.extras


# What is kept, and what is written.


def test_harmless_settings_travel_and_those_of_other_classes_do_not() -> None:
    kept = {"model_max_length": 1000000000000000019884624838656, "padding_side": "left", "x": [1]}
    config = {
        **kept,
        "tokenizer_class": "LlamaTokenizer",
        "name_or_path": "/somewhere",
        "add_prefix_space": True,
        "legacy": False,
        "auto_map": {},
        "extra_special_tokens": [END, "<new>"],
        "image_token": PREFIX,
    }
    model = FORMAT.load(files_of(tokenizer_config=config))
    settings = {**kept, "additional_special_tokens": [END]}
    assert model.extras == {"tokenizer_config": settings}
    written = json.loads(FORMAT.dump(model)[CONFIG])
    assert written == {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        "extra_special_tokens": {"image_token": PREFIX},
        **settings,
    }
    with served(FORMAT.dump(model)) as tokenizer:
        assert tokenizer.image_token == PREFIX
        assert {END, PREFIX} <= {*tokenizer.all_special_tokens}


def test_the_models_own_configuration_is_kept_apart() -> None:
    config = {
        "model_type": "gemma3",
        "eos_token_id": [1, 106],
        "text_config": {"vocab_size": 262208, "pad_token_id": 0},
        "time_step_limit": [0.0, float("inf")],
    }
    files = files_of(tokenizer_config=PLAIN, config=config, generation_config={"bos_token_id": 2})
    model = FORMAT.load(files)
    assert model.extras == {
        "model_config": {
            "model_type": "gemma3",
            "eos_token_id": [1, 106],
            "vocab_size": 262208,
            "pad_token_id": 0,
            "generation": {"bos_token_id": 2},
        }
    }
    assert set(FORMAT.dump(model)) == {"tokenizer.json", CONFIG, "special_tokens_map.json"}
    [loss] = FORMAT.losses(model)
    assert (loss.field, loss.grade) == ("extras", "metadata")
    beside = "beside the tokenizer, which the network reads"
    assert loss.what == f"config.json and generation_config.json {beside}"
    assert loss.consequence == "not copied; no id and no text changes"
    for left_out, name in (
        ("generation_config.json", "config.json"),
        ("config.json", "generation_config.json"),
    ):
        [loss] = FORMAT.losses(FORMAT.load({n: d for n, d in files.items() if n != left_out}))
        assert loss.what == f"{name} {beside}"


@pytest.mark.parametrize(
    ("single", "flags"),
    [
        ("<|endoftext|> $A", {"add_bos_token": True}),
        ("<|endoftext|> $A <|fim_prefix|>", {"add_bos_token": True, "add_eos_token": True}),
        ("$A <|fim_prefix|>", {"add_eos_token": True}),
        ("<|fim_middle|> $A", {}),
        ("<|endoftext|> <|endoftext|> $A", {}),
        ("$A", {}),
    ],
)
def test_flags_are_written_where_they_are_true(single: str, flags: dict[str, bool]) -> None:
    """Only programs beside transformers read them; it goes by the post-processor."""
    tokenizer = tokenizers.Tokenizer.from_str(BYTE.decode())
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single=single,
        pair=f"{single} $B:1",
        special_tokens=[(END, 801), (PREFIX, 802), ("<|fim_middle|>", 803)],
    )
    config = {"bos_token": END, "eos_token": PREFIX}
    files = files_of(tokenizer.to_str().encode(), tokenizer_config={**PLAIN, **config})
    written = FORMAT.dump(FORMAT.load(files))
    stated = json.loads(written[CONFIG])
    assert {key: value for key, value in stated.items() if key.startswith("add_")} == flags
    assert notes_of(written) == ""
    with served(written) as loaded:
        assert loaded("ab").input_ids == tokenizer.encode("ab").ids
        assert loaded("ab", "c").input_ids == tokenizer.encode("ab", "c").ids


@pytest.mark.parametrize("prefix", [True, False])
@pytest.mark.parametrize("said", [True, False, None])
def test_the_lowest_takes_the_space_of_a_pretokenizer_from_the_configuration(
    prefix: bool, said: bool | None
) -> None:
    """In the installed transformers, whichever of the admitted ones that is."""
    document = json.loads(BYTE)
    document["pre_tokenizer"] = {**json.loads(TINY)["pre_tokenizer"], "add_prefix_space": prefix}
    main = json.dumps(document)
    ids = tokenizers.Tokenizer.from_str(main).encode("hello").ids
    stated = {} if said is None else {"add_prefix_space": said}
    files = files_of(main.encode(), tokenizer_config={**PLAIN, **stated})
    told = "goes by tokenizer_config.json, where none is false" in notes_of(files)
    assert told is (bool(said) is not prefix)
    with served(files) as tokenizer:
        assert (tokenizer("hello").input_ids == ids) is (MEASURED_ON or not told)
    written = FORMAT.dump(FORMAT.load(files))
    assert notes_of(written) == ""
    with served(written) as tokenizer:
        assert tokenizer("hello").input_ids == ids


def test_settings_that_are_true_of_what_is_written_are_kept_and_others_are_named(
    tmp_path: Path,
) -> None:
    true: dict[str, Any] = {"add_bos_token": False, "add_prefix_space": False}
    false = {"legacy": True, "add_eos_token": True, "fix_mistral_regex": False}
    config = {**PLAIN, **true, "backend": "tokenizers", **false}
    for file, data in files_of(tokenizer_config=config).items():
        (tmp_path / file).write_bytes(data)
    done = convert(tmp_path, tmp_path / "out", "hf")
    stated = json.loads((tmp_path / "out" / CONFIG).read_bytes())
    assert stated.items() >= {**true, "backend": "tokenizers"}.items()
    assert stated.keys().isdisjoint(false)
    [note] = [note for note in done.notes if "is written without" in note]
    for key, value in false.items():
        assert f"{key} {json.dumps(value)}" in note
    for text in SAID:
        ids = [
            transformers.AutoTokenizer.from_pretrained(folder)(text).input_ids
            for folder in (tmp_path, tmp_path / "out")
        ]
        assert ids[0] == ids[1]


# Bad input.


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        (CONFIG, "[]", "tokenizer_config.json: $: expected an object"),
        (CONFIG, "{", "tokenizer_config.json: line 1"),
        (CONFIG, '{"tokenizer_class": 3}', "tokenizer_config.json: $.tokenizer_class"),
        (CONFIG, '{"eos_token": 3}', "tokenizer_config.json: $.eos_token: expected a string"),
        (CONFIG, '{"eos_token": {}}', "tokenizer_config.json: $.eos_token: the key 'content'"),
        (CONFIG, '{"chat_template": 3}', "tokenizer_config.json: $.chat_template"),
        (CONFIG, '{"chat_template": [{"name": "x"}]}', "$.chat_template[0]: the key 'template'"),
        (CONFIG, '{"added_tokens_decoder": {"x": {"content": "y"}}}', "the key \"x\" is not an id"),
        (CONFIG, '{"added_tokens_decoder": {"1": {}}}', "$.added_tokens_decoder.1"),
        ("special_tokens_map.json", "3", "special_tokens_map.json: $: expected an object"),
        ("added_tokens.json", '{"a": "b"}', "added_tokens.json: $.a: expected an integer"),
        ("config.json", "[]", "config.json: $: expected an object"),
        ("config.json", "{", "config.json: not JSON"),
        ("config.json", b"\xff", "config.json: not JSON"),
        ("config.json", '{"vocab_size": 0}', "config.json: $.vocab_size: 0 is no number of rows"),
        ("config.json", '{"vocab_size": true}', "config.json: $.vocab_size: expected an integer"),
        ("config.json", '{"eos_token_id": "2"}', "config.json: $.eos_token_id"),
        ("generation_config.json", '{"eos_token_id": [null]}', "$.eos_token_id[0]"),
        ("chat_template.jinja", b"a\xff", "chat_template.jinja: offset 1: not UTF-8"),
        ("additional_chat_templates/x.jinja", b"\xff", "x.jinja: offset 0: not UTF-8"),
    ],
)  # fmt: skip
def test_bad_files_are_named_with_the_place(name: str, value: str | bytes, said: str) -> None:
    data = value if isinstance(value, bytes) else value.encode()
    with pytest.raises(FormatError) as caught:
        FORMAT.load({"tokenizer.json": BYTE, name: data})
    assert said in str(caught.value).replace("$.added_tokens_decoder.x: ", "")


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from([*TEXTS, "", "\n", "content"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(TEXTS), inner),
    max_leaves=3,
)
ODD_KEYS = [
    "tokenizer_class", "auto_map", "added_tokens_decoder", "extra_special_tokens", "eos_token",
    "additional_special_tokens", "image_token", "chat_template", "add_bos_token", "legacy",
    "add_prefix_space", "model_type", "vocab_size", "text_config", "eos_token_id", "<new>",
]  # fmt: skip


@given(
    st.dictionaries(st.sampled_from(BESIDE[:5]), st.dictionaries(st.sampled_from(ODD_KEYS), ODD))
)
def test_any_value_is_read_or_refused_by_name(beside: dict[str, Any]) -> None:
    files = {"tokenizer.json": TINY.encode()}
    files |= {name: json.dumps(value).encode() for name, value in beside.items()}
    try:
        model = FORMAT.load(files)
    except FormatError as error:
        place = error.where.split(":")[0]
    else:
        assert FORMAT.load(FORMAT.dump(model)).added == model.added
        return
    assert place in beside


def test_a_tokenizer_json_of_another_name_is_what_transformers_does_not_read(
    tmp_path: Path,
) -> None:
    (tmp_path / "dolma.json").write_bytes(BYTE)
    # transformers 4.57 asks config.json where no class is named, and ends without it.
    (tmp_path / CONFIG).write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    with pytest.raises(EngineError) as caught:
        read_directory(tmp_path)
    assert "transformers reads tokenizer.json, and this folder has dolma.json: rename it" in (
        caught.value.fix
    )
    (tmp_path / "dolma.json").rename(tmp_path / "tokenizer.json")
    assert read_directory(tmp_path).model() is not None


def test_a_file_beside_may_not_be_huge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(companions, "COMPANION_BYTES", COMPANION_BYTES._replace(most=10))
    with pytest.raises(FormatError, match=r"chat_template\.jinja: .* 10 bytes \(limit COMPANION"):
        FORMAT.load(files_of(chat_template="x" * 11))


def test_all_of_them_are_read_from_a_directory(tmp_path: Path) -> None:
    files = files_of(
        tokenizer_config={"a": 1},
        special_tokens_map={},
        added_tokens={},
        config={"model_type": "gpt2"},
        generation_config={},
        bpe_interop={},
        chat_template="J",
        additional_chat_templates__rag="R",
    )
    for name, data in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    spelled = {name.replace("*", "rag") for name in BESIDE}
    assert spelled | {"tokenizer.json"} == set(files)
    loaded = load_source(tmp_path)
    assert dict(loaded.files) == files
    assert loaded.twins == ()
    assert read_directory(tmp_path).model() is not None
    asked = [pattern for row in file_names() for pattern in row.hub]
    assert all(any(fnmatch(name, pattern) for pattern in asked) for name in files), (
        "the hub is asked for each of them"
    )


# Real files.


def directory(folder: Path, main: Path, **beside: Any) -> Path:
    (folder / "tokenizer.json").symlink_to(main)
    for name, data in files_of(b"", **beside).items():
        if name != "tokenizer.json":
            (folder / name).write_bytes(data)
    return folder


LLAMA = {"tokenizer_class": "LlamaTokenizer", "legacy": False, "add_bos_token": True}


@of_the_measured
def test_llama_served_by_its_class_is_found_out(data: Data, tmp_path: Path) -> None:
    """``" Hello"`` is one token through AutoTokenizer, and two by the file."""
    folder = directory(tmp_path, data("llama-2/tokenizer.json"), tokenizer_config=LLAMA)
    auto = transformers.AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
    file = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    hello = auto(" Hello", add_special_tokens=False).input_ids
    assert hello == [15043]
    assert file.encode(" Hello", add_special_tokens=False).ids == [29871, 15043]
    report = verify(folder, folder, engine_b="transformers")
    assert (report.verdict, report.stage) == ("different", "normalizer")
    assert {d.field for d in report.differences} >= {"normalizer", "pretokenizer"}
    named = [note for note in report.notes if "LlamaTokenizer" in note]
    [note] = {each.removeprefix(f"{folder}: ") for each in named}  # on its files, and on what runs
    assert "discards tokenizer.json's normalizer and pre-tokenizer" in note
    assert "names PreTrainedTokenizerFast, it serves the file as it is" in note
    built = read_directory(folder).model()
    assert built is not None
    assert Encoder(built).encode(" Hello") == hello


def test_mistral_is_served_as_it_is_once_its_model_type_is_known(
    data: Data, tmp_path: Path
) -> None:
    main = data("mistral-v1/tokenizer.json")
    folder = directory(tmp_path, main, tokenizer_config=LLAMA, config={"model_type": "mistral"})
    model = load_source(folder).model
    found = serving({path.name: path.read_bytes() for path in folder.iterdir()}, model)
    assert found is not None
    assert (found.choice.name, found.notes) == (DEFAULT, ())
    auto = transformers.AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
    ours = Encoder(model)
    for text in (" Hello", "Hello", " ", "a  b", "é", "<s>x"):
        assert ours.encode(text, "all") == auto(text, add_special_tokens=False).input_ids


@of_the_measured
def test_whisper_is_served_with_its_template_and_without_timestamps(data: Data) -> None:
    """The class builds what the file says here; other settings would change its template."""
    folder = data("whisper-tiny/tokenizer.json").parent
    auto = transformers.AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
    file = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    assert auto("hello").input_ids == file.encode("hello").ids
    plain = file.encode("a<|0.0|>b", add_special_tokens=False).ids
    assert (auto.decode(plain), file.decode(plain)) == ("ab", "a<|0.0|>b")
    read = {path.name: path.read_bytes() for path in folder.iterdir()}
    model = FORMAT.load(read)
    [note] = [note for note in model.origin.notes if "WhisperTokenizer" in note]
    assert "post-processor" not in note
    assert "leaves out of decoded text" in note
    config = {**json.loads(read[CONFIG]), "language": "german"}
    changed = FORMAT.load({**read, CONFIG: json.dumps(config).encode()})
    assert any("discards tokenizer.json's post-processor" in n for n in changed.origin.notes)


@of_the_measured
def test_a_class_that_decodes_otherwise_is_no_defect(
    data: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = data("whisper-tiny/tokenizer.json").parent
    comparison = sys.modules["bpe_interop.compare.comparison"]
    monkeypatch.setattr(comparison, "awkward", lambda *given, **more: iter(("a", "a<|0.00|>b")))
    monkeypatch.setattr(comparison, "every_token", lambda *given, **more: iter(()))
    report = verify(folder, folder, engine_b="transformers")
    assert report.verdict == "different"
    assert not any("please report" in note for note in report.notes)
    assert any(
        "may do more than the pipeline it built when it decodes" in note for note in report.notes
    )
