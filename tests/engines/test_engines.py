"""Other people's libraries behind one protocol: their own ids, and their failures as ours."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tiktoken
import tiktoken.load as tiktoken_load
from conftest import Data
from sentencepiece import SentencePieceProcessor
from tokenizers import Tokenizer as HuggingFaceTokenizer
from tokenizers import models

from bpe_interop import load, presets, verify
from bpe_interop.compare import stress
from bpe_interop.encode import Encoder
from bpe_interop.engines import (
    NAMES,
    from_directory,
    from_files,
    from_model,
    registry,
    versions,
)
from bpe_interop.engines.choice import exact_engine, fastest_engine
from bpe_interop.engines.live import (
    files_from_encoding,
    files_from_sentencepiece,
    files_from_tokenizers,
    model_from_tokenizers,
    to_sentencepiece,
)
from bpe_interop.engines.tiktoken import TiktokenEngine
from bpe_interop.engines.tokenizers import TokenizersEngine
from bpe_interop.engines.transformers import TransformersEngine, read_directory
from bpe_interop.errors import (
    EngineError,
    EngineMissingError,
    FormatError,
    LossyConversionError,
    SourceError,
    UnstatedError,
    by_extra,
)
from bpe_interop.formats import by_name
from bpe_interop.kernel import set_aside
from bpe_interop.model import BPEModel
from bpe_interop.steps import Pattern, Split
from bpe_interop.text.spellings import CL100K, CL100K_TRAILING
from fixtures import FIXTURES, TOKENIZERS

FIXED = sorted((path.parent.name, path.name) for path in TOKENIZERS.glob("*/*") if path.is_dir())
MODES: dict[str, dict[str, Any]] = {
    "ordinary": {"special": "text"},
    "all": {"special": "parse"},
    "template": {"special": "parse", "add_special_tokens": True},
}


def files_of(name: str, format: str) -> dict[str, bytes]:
    folder = TOKENIZERS / name / format
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def model_of(name: str, format: str) -> BPEModel | None:
    """The model; a pair's pattern is that of GPT-2, which its golden ids were made with."""
    if format == "sentencepiece":
        return None
    model = by_name(format).load(files_of(name, format))
    if model.pretokenizer is None:
        model = replace(model, pretokenizer=presets.by_name("gpt2").pretokenizer, added=())
    return model


def engine_of(format: str) -> str:
    return format if format == "sentencepiece" else by_name(format).engine


def texts_of(golden: dict[str, Any], mode: str) -> tuple[list[str], list[list[int]]]:
    pairs = [(entry["text"], entry["ids"].get(mode)) for entry in golden["texts"]]
    kept = [(text, ids) for text, ids in pairs if ids is not None]
    return [text for text, _ in kept], [ids for _, ids in kept]


@pytest.mark.long
@pytest.mark.parametrize(("name", "format"), FIXED)
def test_engines_give_the_golden_ids(
    name: str, format: str, golden: Callable[[str], dict[str, Any]]
) -> None:
    files = files_of(name, format)
    engine = from_files(engine_of(format), format, files, model_of(name, format))
    expected = golden(f"{name}/{format}")
    # minbpe's golden ids are those of its algorithm, written out; no package has it.
    assert engine.name == expected["engine"] or expected["engine"] == "minbpe"
    assert engine.version == versions()[engine.name]
    seen = 0
    for mode, asked in MODES.items():
        texts, ids = texts_of(expected, mode)
        seen += len(texts)
        assert engine.encode_batch(texts, **asked) == ids
        assert [engine.encode(text, **asked) for text in texts] == ids
    assert seen > 20
    for entry in expected["decoded"][:50]:
        assert engine.decode(entry["ids"]) == entry["text"]


@pytest.mark.parametrize(("name", "format"), [f for f in FIXED if f[1] in ("huggingface",)])
def test_models_are_handed_over_in_the_engines_format(
    name: str, format: str, golden: Callable[[str], dict[str, Any]]
) -> None:
    model = model_of(name, format)
    assert model is not None
    engine = from_model("tokenizers", model)
    expected = golden(f"{name}/{format}")
    for mode, asked in MODES.items():
        texts, ids = texts_of(expected, mode)
        assert engine.encode_batch(texts, **asked) == ids


@pytest.mark.parametrize("name", ["gpt2-tiny", "nfc-tiny", "template-tiny"])
def test_transformers_serves_a_directory(
    name: str, golden: Callable[[str], dict[str, Any]]
) -> None:
    folder = TOKENIZERS / name / "huggingface"
    files = files_of(name, "huggingface")
    expected = golden(f"{name}/huggingface")
    for engine in (
        from_directory("transformers", folder),
        from_files("transformers", "hf", files),
    ):
        assert engine.name == "transformers"
        for mode, asked in MODES.items():
            texts, ids = texts_of(expected, mode)
            assert engine.encode_batch(texts, **asked) == ids, mode
        assert engine.decode(engine.encode("hello world")) == "hello world"
    served = read_directory(folder).model()
    assert served is not None
    assert served.normalizer == by_name("hf").load(files).normalizer


def test_transformers_may_serve_another_model(tmp_path: Path) -> None:
    """GPT2Tokenizer is rebuilt from vocabulary and merges; the file's normalizer is discarded."""
    for name, data in files_of("nfc-tiny", "huggingface").items():
        (tmp_path / name).write_bytes(data)
    config = json.loads((tmp_path / "tokenizer_config.json").read_text())
    config["tokenizer_class"] = "GPT2Tokenizer"
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    served = read_directory(tmp_path).model()
    assert served is not None
    assert served.normalizer == ()
    text = "e\u0301"
    file = from_files("tokenizers", "huggingface", files_of("nfc-tiny", "huggingface"))
    assert from_directory("transformers", tmp_path).encode(text) != file.encode(text)


def test_what_transformers_serves_has_its_roles_and_its_template(tmp_path: Path) -> None:
    files = dict(files_of("cl100k-tiny", "huggingface"))
    config = {"eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>", "bos_token": "<s>"}
    files["tokenizer_config.json"] = json.dumps(config).encode()
    files["chat_template.jinja"] = b"D"
    files["additional_chat_templates/rag.jinja"] = b"R"
    engine = from_files("transformers", "hf", files)
    assert isinstance(engine, TransformersEngine)
    assert engine.class_name == "TokenizersBackend"
    model = engine.model()
    assert model is not None
    assert model.chat_template == "D"
    roles = {token.text: token.roles for token in model.added or () if token.roles}
    assert roles == {"<|endoftext|>": ("eos", "pad"), "<s>": ("bos",)}
    assert {token.text: token.id for token in model.added or ()}["<s>"] == 821


def test_transformers_runs_no_code_and_reads_only_what_is_there(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps(
            {
                "tokenizer_class": "Evil",
                "auto_map": {"AutoTokenizer": ["evil.Evil", None]},
            }
        )
    )
    (tmp_path / "evil.py").write_text(f"open({str(marker)!r}, 'w').write('x')\nclass Evil: ...\n")
    with pytest.raises(EngineError, match="transformers failed on the directory") as failed:
        from_directory("transformers", tmp_path)
    assert "AutoTokenizer.from_pretrained(DIR) fails alike" in failed.value.fix
    assert not marker.exists()
    with pytest.raises(EngineError, match="directory"):
        from_directory("transformers", tmp_path / "none")
    with pytest.raises(EngineError, match="not the name of a file"):
        from_files("transformers", "hf", {"../evil.json": b"{}"})


LETTERS = {bytes([byte]): byte for byte in range(97, 123)} | {b" ": 32, b"ab": 200}


def lettered() -> tiktoken.Encoding:
    return tiktoken.Encoding(
        "letters", pat_str=r"\S+|\s", mergeable_ranks=LETTERS, special_tokens={"<e>": 300}
    )


def test_a_panic_is_an_error_that_names_the_text() -> None:
    engine = from_files("tiktoken", "tiktoken", files_from_encoding(lettered()))
    assert engine.encode("ab<e>ab", special="parse") == [200, 300, 200]
    for call in (
        lambda: engine.encode("ab \t\xe9"),
        lambda: engine.encode("ab \t\xe9", special="parse"),
        lambda: engine.encode_batch(["ab", "ab \t\xe9"]),
    ):
        with pytest.raises(EngineError) as caught:
            call()
        assert "tiktoken panicked on the text" in caught.value.what
        assert '"ab \\té"' in caught.value.what
        assert type(caught.value.__cause__).__name__ == "PanicException"
    with pytest.raises(EngineError, match="panicked"):
        engine.encode_batch(["ab " * 1000, "\xe9" * 3000])
    with pytest.raises(EngineError, match=r"failed to decode \[7\]"):
        engine.decode([7])


def test_a_long_text_is_shortened_in_the_message() -> None:
    engine = from_files("tiktoken", "tiktoken", files_from_encoding(lettered()))
    with pytest.raises(EngineError) as caught:
        engine.encode("ab" * 5000 + "\x1b\xe9")
    assert len(caught.value.what) < 300
    assert "10,002 characters" in caught.value.what
    assert "\x1b" not in caught.value.what


def test_interrupts_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = from_files("tiktoken", "tiktoken", files_from_encoding(lettered()))

    class Interrupted:
        def encode_ordinary(self, text: str) -> list[int]:
            raise KeyboardInterrupt

    monkeypatch.setattr(engine, "encoding", Interrupted())
    with pytest.raises(KeyboardInterrupt):
        engine.encode("ab")


def test_lone_surrogates_fail_in_tokenizers() -> None:
    files = files_of("gpt2-tiny", "huggingface")
    for name in ("tokenizers", "transformers"):
        with pytest.raises(EngineError, match=r"failed on the text .*ud800"):
            from_files(name, "huggingface", files).encode("a\ud800")


FIXTURE_OF = {
    "tiktoken": ("gpt2-tiny", "tiktoken"),
    "gigatoken": ("gpt2-tiny", "tiktoken"),
    "sentencepiece": ("spm-tiny", "sentencepiece"),
    "mistral-common": ("tekken-tiny", "tekken"),
    "llama.cpp": ("gguf-tiny", "gguf"),
}
MODULE_OF = {
    "mistral-common": "mistral_common.tokens.tokenizers.tekken",
    "llama.cpp": "xllamacpp",
}
BROUGHT_BY = {
    "transformers": "transformers",
    "gigatoken": "gigatoken",
    "mistral-common": "mistral",
    "llama.cpp": "llamacpp",
}


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_library_is_said(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, MODULE_OF.get(name, name), None)
    fixture, format = FIXTURE_OF.get(name, ("gpt2-tiny", "huggingface"))
    with pytest.raises(EngineMissingError) as caught:
        from_files(name, format, files_of(fixture, format), model_of(fixture, format))
    assert caught.value.what == f"not checked: {name} is not installed"
    brought = by_extra(BROUGHT_BY[name]) if name in BROUGHT_BY else f"pip install {name}"
    assert caught.value.fix == brought


def test_engines_that_there_are_not() -> None:
    files = files_of("gpt2-tiny", "tiktoken")
    with pytest.raises(EngineError, match="there is no engine 'fast'"):
        from_files("fast", "tiktoken", files)
    with pytest.raises(EngineError, match="tokenizers does not run tiktoken"):
        from_files("tokenizers", "tiktoken", files)
    with pytest.raises(EngineError, match="does not run a directory"):
        from_directory("tokenizers", FIXTURES)
    model = model_of("gpt2-tiny", "tiktoken")
    assert model is not None
    with pytest.raises(EngineError, match="sentencepiece does not run tiktoken"):
        from_files("sentencepiece", "tiktoken", files)


def test_malformed_files_are_an_error() -> None:
    for name, format, files in (
        ("tiktoken", "tiktoken", {"a.tiktoken": b"YQ== x\n", "a.tiktoken.json": b"{}"}),
        ("tokenizers", "huggingface", {"tokenizer.json": b"{"}),
        ("transformers", "huggingface", {"tokenizer.json": b"{"}),
        ("sentencepiece", "sentencepiece", {"a.model": b"nonsense"}),
    ):
        with pytest.raises(EngineError, match=f"{name} (failed|panicked)"):
            from_files(name, format, files)


def test_what_neither_file_nor_model_says_is_an_error() -> None:
    files = files_of("gpt2-tiny", "tiktoken")
    bare = {name: data for name, data in files.items() if not name.endswith(".json")}
    with pytest.raises(UnstatedError, match="pattern"):
        from_files("tiktoken", "tiktoken", bare)
    full = model_of("gpt2-tiny", "tiktoken")
    assert full is not None
    with pytest.raises(UnstatedError, match="special tokens"):
        from_files("tiktoken", "tiktoken", bare, replace(full, added=None))
    engine = from_files("tiktoken", "tiktoken", bare, full)
    whole = from_files("tiktoken", "tiktoken", files)
    text = "hello<|endoftext|> world"
    assert engine.encode(text, special="parse") == whole.encode(text, special="parse")
    for name in ("tiktoken", "tokenizers"):
        with pytest.raises(UnstatedError):
            from_model(name, replace(full, pretokenizer=None))
    with pytest.raises(UnstatedError, match="pattern"):
        from_files("tokenizers", "gpt2", files_of("gpt2-tiny", "gpt2"))


def test_a_pair_runs_with_the_models_pattern_and_added_tokens() -> None:
    """cl100k's pattern cuts numbers in threes, GPT-2's does not; the engine must be told."""
    files = files_of("gpt2-tiny", "gpt2")
    model = by_name("gpt2").load(files)
    said = model_of("gpt2-tiny", "tiktoken")
    assert said is not None
    gpt2 = replace(
        model, normalizer=(), pretokenizer=presets.by_name("gpt2").pretokenizer, added=said.added
    )
    other = replace(gpt2, pretokenizer=presets.by_name("cl100k_base").pretokenizer)
    for each in (gpt2, other):
        ranks = from_model("tiktoken", each)
        pair = from_files("tokenizers", "gpt2", files, each)
        for text in ("hello 1234567 world's", "a\n\n b\t\n  c", "x<|endoftext|>y"):
            for special in ("text", "parse"):
                assert pair.encode(text, special=special) == ranks.encode(text, special=special)


def test_truncation_and_padding_are_switched_off() -> None:
    document = json.loads(files_of("gpt2-tiny", "huggingface")["tokenizer.json"])
    plain = from_files("tokenizers", "hf", {"tokenizer.json": json.dumps(document).encode()})
    document["truncation"] = {
        "direction": "Right",
        "max_length": 2,
        "strategy": "LongestFirst",
        "stride": 0,
    }
    document["padding"] = {
        "strategy": {"Fixed": 40},
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "!",
    }
    files = {"tokenizer.json": json.dumps(document).encode()}
    for name in ("tokenizers", "transformers"):
        engine = from_files(name, "huggingface", files)
        assert engine.encode("hello wide world") == plain.encode("hello wide world")


def test_rows_in_a_batch_are_decoded_as_each_alone() -> None:
    model = model_of("gpt2-tiny", "huggingface")
    assert model is not None
    engine = from_model("tokenizers", model)
    assert isinstance(engine, TokenizersEngine)
    texts = ["", "hello world", "<|endoftext|>", "\u00e9\u4e16", "\ufffd" * 3]
    rows = [*engine.encode_batch(texts, special="parse"), [195], [999_999]]
    assert engine.decode_batch(rows) == [engine.decode(row) for row in rows]
    with pytest.raises(EngineError, match="one of 2 rows"):
        engine.decode_batch([[1], [-1]])


def test_long_texts_in_batches_give_the_same_ids() -> None:
    texts = [f"the quick brown fox {number} <|endoftext|> " * 80 for number in range(5)]
    for name, format in (("tiktoken", "tiktoken"), ("tokenizers", "huggingface")):
        engine = from_files(name, format, files_of("gpt2-tiny", format))
        for asked in MODES.values():
            single = [engine.encode(text, **asked) for text in texts]
            assert engine.encode_batch(texts, **asked) == single


SPM = TOKENIZERS / "spm-unk-tiny" / "sentencepiece"


def spm_files(**config: Any) -> dict[str, bytes]:
    files = {"tokenizer.model": (SPM / "tokenizer.model").read_bytes()}
    return files | ({"tokenizer_config.json": json.dumps(config).encode()} if config else {})


def test_sentencepiece_puts_bos_and_eos_where_the_configuration_says() -> None:
    reference = SentencePieceProcessor(model_file=str(SPM / "tokenizer.model"))
    text = "the lamp"
    for config, bos, eos in (
        ({}, False, False),
        ({"add_bos_token": True}, True, False),
        ({"add_bos_token": False, "add_eos_token": True}, False, True),
        ({"add_bos_token": True, "add_eos_token": True}, True, True),
    ):
        engine = from_files("sentencepiece", "spm", spm_files(**config))
        assert engine.encode(text) == reference.encode(text)
        expected = reference.encode(text, add_bos=bos, add_eos=eos)
        assert engine.encode(text, add_special_tokens=True) == expected
        assert (
            engine.encode_batch([text * 200] * 3, add_special_tokens=True)
            == [reference.encode(text * 200, add_bos=bos, add_eos=eos)] * 3
        )


def test_sentencepiece_never_finds_special_tokens() -> None:
    engine = from_files("sentencepiece", "spm", spm_files())
    assert not engine.parses_special
    assert engine.encode_batch([], special="parse") == []
    for call in (
        lambda: engine.encode("a", special="parse"),
        lambda: engine.encode_batch(["a" * 2000] * 2, special="parse"),
    ):
        with pytest.raises(EngineError, match="never finds special tokens"):
            call()
    for name in ("tiktoken", "tokenizers"):
        format = "tiktoken" if name == "tiktoken" else "huggingface"
        assert from_files(name, format, files_of("gpt2-tiny", format)).parses_special


def test_sentencepieces_failures_are_errors_and_it_is_quiet(
    capfd: pytest.CaptureFixture[str],
) -> None:
    engine = from_files("sentencepiece", "spm", spm_files())
    with pytest.raises(EngineError, match=r"sentencepiece failed to decode \[99999\]"):
        engine.decode([99999])
    with pytest.raises(EngineError, match="sentencepiece failed on the text"):
        engine.encode("a\ud800")
    with pytest.raises(EngineError, match="sentencepiece failed on the model"):
        from_files("sentencepiece", "spm", {"a.model": b"\n\x03\n\x01a"})
    with pytest.raises(EngineError, match="file, found 2"):
        from_files("sentencepiece", "spm", {"a.model": b"", "b.model": b""})
    assert capfd.readouterr() == ("", "")


def test_models_are_handed_to_sentencepiece() -> None:
    files = spm_files(add_bos_token=True)
    model = by_name("spm").load(files)
    reference = SentencePieceProcessor(model_file=str(SPM / "tokenizer.model"))
    engine = from_model("sentencepiece", model)
    assert exact_engine("sentencepiece", model).name == "sentencepiece"
    odd = by_name("spm").load(files_of("spm-odd-tiny", "sentencepiece"))
    with set_aside():  # else ours is the fastest
        fastest = fastest_engine(odd)
    assert fastest is not None
    assert fastest.name == "sentencepiece"
    live = to_sentencepiece(model)
    for text in ("the lamp \u65e5\u672c", "  a", ""):
        ids = reference.encode(text)
        assert engine.encode(text) == live.encode(text) == ids
        assert engine.decode(ids) == live.decode(ids) == reference.decode(ids)
        added = reference.encode(text, add_bos=True)
        assert engine.encode(text, add_special_tokens=True) == added
    gpt2 = model_of("gpt2-tiny", "tiktoken")
    assert gpt2 is not None
    with pytest.raises(LossyConversionError, match="alphabet"):
        to_sentencepiece(gpt2)
    with pytest.raises(LossyConversionError, match="alphabet"):
        exact_engine("sentencepiece", gpt2)


def test_a_live_processor_gives_its_file() -> None:
    processor = SentencePieceProcessor(model_file=str(SPM / "tokenizer.model"))
    assert files_from_sentencepiece(processor) == spm_files()
    empty = files_from_sentencepiece(SentencePieceProcessor())
    with pytest.raises(FormatError, match="the file is empty"):
        by_name("spm").load(empty)


def test_versions_import_nothing() -> None:
    code = (
        "import sys; from bpe_interop.engines import versions; found = versions();"
        "print(found['tiktoken'], sorted(set(found) & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == [tiktoken.__version__, "[]"]


def test_names_that_tiktoken_does_not_know() -> None:
    with pytest.raises(SourceError, match=r"near names: .*cl100k_base"):
        registry("cl100k_bas")
    with pytest.raises(SourceError, match=r"its encodings: .*o200k_base"):
        registry("tiktoken:zzzzzzzz")


def test_without_cache_and_network_the_error_says_how(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("tiktoken.registry.ENCODINGS", {})
    before = tiktoken_load.read_file
    with pytest.raises(SourceError, match=r"--offline was given\n.*TIKTOKEN_CACHE_DIR"):
        registry("gpt-4o", offline=True)
    assert tiktoken_load.read_file is before
    for name in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    with pytest.raises(SourceError, match=r"cannot get o200k_base: no network\n") as found:
        registry("gpt-4o")
    assert found.value.__suppress_context__  # one short error, no chain of five
    assert list(tmp_path.iterdir()) == []


def test_encodings_by_name_and_by_model(data: Data) -> None:
    data("tiktoken_cache")
    files = registry("tiktoken:gpt-4", offline=True)
    assert files == registry("cl100k_base")
    engine = from_files("tiktoken", "tiktoken", files)
    assert isinstance(engine, TiktokenEngine)
    assert engine.encoding is tiktoken.get_encoding("cl100k_base")
    assert type(pickle.loads(pickle.dumps(files))) is dict
    rank_file = next(content for name, content in files.items() if name.endswith(".tiktoken"))
    assert rank_file == data("cl100k_base/cl100k_base.tiktoken").read_bytes()
    model = by_name("tiktoken").load(files)
    assert {token.text: token.id for token in model.added or ()} == {
        "<|endoftext|>": 100257,
        "<|fim_prefix|>": 100258,
        "<|fim_middle|>": 100259,
        "<|fim_suffix|>": 100260,
        "<|endofprompt|>": 100276,
    }


def test_files_of_live_objects_are_read_by_their_engine() -> None:
    encoding = lettered()
    files = files_from_encoding(encoding)
    engine = from_files("tiktoken", "tiktoken", files)
    assert engine.encode("abba<e>", special="parse") == encoding.encode(
        "abba<e>", allowed_special="all"
    )
    path = TOKENIZERS / "nfc-tiny/huggingface/tokenizer.json"
    live = HuggingFaceTokenizer.from_file(str(path))
    again = from_files("tokenizers", "huggingface", files_from_tokenizers(live))
    assert again.encode("e\u0301 <|x|>") == live.encode("e\u0301 <|x|>").ids


REAL = [
    ("gpt-oss", "tokenizer.json"),
    ("qwen3", "tokenizer.json"),
    ("gpt-neox", "tokenizer.json"),
]


@pytest.mark.parametrize(("folder", "name"), REAL)
def test_real_files_in_their_engine(data: Data, folder: str, name: str) -> None:
    path = data(f"{folder}/{name}")
    engine = from_files("tokenizers", "huggingface", {name: path.read_bytes()})
    reference = HuggingFaceTokenizer.from_file(str(path))
    text = "Hello  wörld 123\n<|endoftext|> e\u0301  \t x"
    expected = reference.encode(text, add_special_tokens=False).ids
    assert engine.encode(text, special="parse") == expected
    reference.encode_special_tokens = True
    assert engine.encode(text) == reference.encode(text, add_special_tokens=False).ids


def test_tiktokens_cache_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``load_tiktoken_bpe`` copies every file that it reads into the cache; the engine does not."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    from_files("tiktoken", "tiktoken", files_of("gpt2-tiny", "tiktoken"))
    assert list(tmp_path.iterdir()) == []


def test_a_token_added_live_after_a_hole_keeps_the_id_it_has() -> None:
    live = HuggingFaceTokenizer(models.BPE({"a": 0, "b": 7, "ab": 9}, [("a", "b")]))
    live.add_special_tokens(["<x>"])
    ours = Encoder(model_from_tokenizers(live))
    assert ours.encode("ab<x>", "all") == live.encode("ab<x>").ids


GIGATOKEN = {
    "cl100k_base": "cl100k_base/cl100k_base.tiktoken",
    "o200k_base": "o200k_base/o200k_base.tiktoken",
    "o200k_harmony": "o200k_base/o200k_base.tiktoken",
    "gpt2": "gpt2/gpt2.tiktoken",
    "qwen": "qwen/qwen.tiktoken",
}


@pytest.mark.parametrize("preset", GIGATOKEN)
def test_gigatoken_gives_the_ids_of_tiktoken(data: Data, preset: str) -> None:
    source = load(data(GIGATOKEN[preset]), preset=preset)
    fast, engine = exact_engine("gigatoken", source.model), source.to_tiktoken()
    special = [token.text for token in source.model.added or ()]
    texts = [
        *stress.fixed(),
        *stress.code_points(6_000),
        *stress.alone(6_000),
        *stress.tokens(source.model, 1_500),
        *stress.random_classes(2_000),
        *(f"a{text}b {text}{text}c {text[:-1]}" for text in special),
    ]
    for name in ("udhr/udhr_all.txt", "xiyou.txt", "code/ggml.c"):
        text = data(f"corpora/{name}").read_text("utf-8")[:400_000]
        texts += [text[start : start + 2_000] for start in range(0, len(text), 2_000)]
    assert fast.encode_batch(texts) == [engine.encode_ordinary(text) for text in texts]
    parsed = [engine.encode(text, allowed_special="all") for text in texts]
    assert fast.encode_batch(texts, special="parse") == parsed
    assert [fast.decode(ids) for ids in parsed[:3_000]] == [*map(engine.decode, parsed[:3_000])]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("p50k_base/p50k_base.tiktoken", "ranks must be dense"),
        ("llama-3/tokenizer.model", "gigatoken panicked on the rank file"),
    ],
)
def test_gigatoken_refuses_what_it_cannot_run(data: Data, source: str, said: str) -> None:
    model = load(data(source), preset=source.split("/")[0]).model
    with pytest.raises(EngineError, match=said):
        exact_engine("gigatoken", model)


def test_gigatoken_is_not_given_a_pattern_that_it_has_not() -> None:
    model = load(TOKENIZERS / "cl100k-tiny" / "tiktoken").model
    other = replace(model, pretokenizer=(Split(Pattern(r"\S+|\s+", "fancy-regex"), "isolated"),))
    with pytest.raises(EngineError, match="no pre-tokenizer that is known to be this pattern"):
        exact_engine("gigatoken", other)
    assert exact_engine("gigatoken", model).encode("Hello, world") == load(
        TOKENIZERS / "cl100k-tiny" / "tiktoken"
    ).encode("Hello, world")


@pytest.mark.parametrize(
    ("without", "more", "text"),
    [
        ("", b"\t\t\t", "\n\t\t\t"),
        ("", b"\n\t", "\n\t"),
        ("\x01", b"\t\t", ""),
    ],
)
def test_gigatoken_is_not_given_a_spelling_where_the_vocabulary_shows_it(
    without: str, more: bytes, text: str
) -> None:
    """A token that only a lookup finds, one across the cut, and a byte that is no token."""
    tokens = [bytes([byte]) for byte in range(256) if chr(byte) not in (*without,)] + [more]
    ranks = {token: number for number, token in enumerate(tokens)}
    encodings = [
        tiktoken.Encoding("x", pat_str=source, mergeable_ranks=ranks, special_tokens={})
        for source in (CL100K, CL100K_TRAILING)
    ]
    if text:
        assert encodings[0].encode(text) != encodings[1].encode(text)
    model = by_name("tiktoken").load(files_from_encoding(encodings[1]))
    with pytest.raises(EngineError, match="no pre-tokenizer that is known to be this pattern"):
        exact_engine("gigatoken", model)


def test_what_gigatoken_gives_is_not_called_proved() -> None:
    source = TOKENIZERS / "cl100k-tiny" / "tiktoken"
    found = verify(source, TOKENIZERS / "cl100k-tiny" / "huggingface", engine_a="gigatoken")
    assert (found.verdict, found.differing) == ("tested", 0)
    assert any("without a regex engine" in why for why in found.against)


def test_a_million_spaces_before_a_letter_are_a_limit_of_tiktoken(data: Data) -> None:
    """``docs/limits.md`` says so, and ``verify --thorough`` meets it."""
    data("tiktoken_cache")
    text = " " * 1_000_000 + "a"
    assert text in stress.thorough(None)
    for name in ("gpt2", "cl100k_base", "o200k_base"):
        engine = TiktokenEngine(tiktoken.get_encoding(name))
        with pytest.raises(EngineError, match="StackOverflow"):
            engine.encode(text)
        short = " " * 100_000 + "a"
        tokenizer = load(f"tiktoken:{name}", offline=True)
        assert engine.encode(short) == tokenizer.encode_ordinary(short)
        assert tokenizer.decode(tokenizer.encode_ordinary(text)) == text
