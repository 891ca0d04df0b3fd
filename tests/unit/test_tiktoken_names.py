"""``bpe_interop.tiktoken`` in tiktoken's place: the same calls, answers and kinds of errors."""

from __future__ import annotations

import hashlib
import importlib
import json
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from inspect import isfunction, signature
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import tiktoken
import tiktoken.load
import tiktoken.model
import tiktoken.registry
from conftest import Data
from test_tokenizer import outcome
from tiktoken_encodings import CL100K, GPT2

from bpe_interop import tiktoken as ours
from bpe_interop.engines.tiktoken import cached
from bpe_interop.errors import (
    BpeInteropError,
    EngineError,
    EngineMissingError,
    FormatError,
    UnknownEncodingError,
    UnknownModelError,
)
from bpe_interop.openai_encodings import ENCODINGS, FILES
from bpe_interop.text.bytechars import BYTE_TO_CHAR
from fixtures import ROOT

RANKS = {bytes([byte]): byte for byte in range(256)} | {b"he": 256, b"ll": 257, b"hell": 258}
SPECIAL = {"<|pad|>": 259, "<|endoftext|>": 260}
TEXTS = ("", "hello world", "  <|endoftext|>", "日本 \n\n 123!!!", "\ud800 lone", "'LL don't")


def made(module: Any, **changes: Any) -> Any:
    given: dict[str, Any] = {"pat_str": GPT2, "mergeable_ranks": RANKS, "special_tokens": SPECIAL}
    name = changes.pop("name", "made")
    return module.Encoding(name, **{**given, **changes})


CALLS: dict[str, Callable[[Any], object]] = {
    "a name": lambda m: m.encoding_name_for_model("gpt-4o"),
    "a name by prefix": lambda m: m.encoding_name_for_model("gpt-4o-2030-01-01"),
    "a fine-tuned name": lambda m: m.encoding_name_for_model("ft:gpt-4o:us"),
    "a fine-tuned older name": lambda m: m.encoding_name_for_model("ft:gpt-4:us"),
    "an open one": lambda m: m.encoding_name_for_model("gpt-oss-20b"),
    "another case": lambda m: m.encoding_name_for_model("GPT-4"),
    "an unknown model": lambda m: m.encoding_name_for_model("mistral"),
    "an empty model": lambda m: m.encoding_name_for_model(""),
    "no model": lambda m: m.encoding_name_for_model(None),
    "the encoding of an unknown model": lambda m: m.encoding_for_model("gpt"),
    "an encoding for a model": lambda m: m.encoding_for_model("nothing"),
    "an unknown encoding": lambda m: m.get_encoding("cl100k"),
    "a model's name": lambda m: m.get_encoding("gpt-4"),
    "an empty encoding": lambda m: m.get_encoding(""),
    "no encoding": lambda m: m.get_encoding(None),
    "a number": lambda m: m.get_encoding(7),
    "list": lambda m: m.list_encoding_names(),
    "made": lambda m: [made(m).encode(text, allowed_special="all") for text in TEXTS],
    "made otherwise": lambda m: [made(m, pat_str=CL100K).encode_ordinary(text) for text in TEXTS],
    "made, its name": lambda m: made(m, name="any name / at all").name,
    "made, of no name": lambda m: made(m, name="").name,
    "made, counted": lambda m: made(m, explicit_n_vocab=261).n_vocab,
    "made, counted by None": lambda m: made(m, explicit_n_vocab=None).n_vocab,
    "made, counted by 0": lambda m: made(m, explicit_n_vocab=0).n_vocab,
    "made, counted wrong": lambda m: made(m, explicit_n_vocab=260),
    "made, with a hole": lambda m: made(m, special_tokens={"a": 300}, explicit_n_vocab=260),
    "made, of nothing": lambda m: made(m, mergeable_ranks={}),
    "made, of one": lambda m: made(m, mergeable_ranks={b"a": 0}).encode("aa"),
    "made, no special": lambda m: made(m, special_tokens={}).special_tokens_set,
    "made, no special, eot": lambda m: made(m, special_tokens={}).eot_token,
    "made, with a hole in the ranks": lambda m: made(m, mergeable_ranks={b"a": 5, b"b": 2}).n_vocab,
    "made, an empty token": lambda m: made(
        m, mergeable_ranks={**RANKS, b"": 300}
    ).decode_single_token_bytes(300),
    "made, a pattern that is none": lambda m: made(m, pat_str="(a"),
    "made, a pattern that leaves text out": lambda m: made(m, pat_str=r"\w+").encode("he! ll"),
    "made, no pattern": lambda m: m.Encoding("x", mergeable_ranks=RANKS, special_tokens={}),
    "made, by position": lambda m: m.Encoding("x", GPT2, RANKS, SPECIAL),
    "made, ranks": lambda m: made(m)._mergeable_ranks,
    "made, special": lambda m: made(m)._special_tokens,
    "made, pattern": lambda m: made(m)._pat_str,
    "made, disallowed": lambda m: made(m).encode("<|pad|>"),
    "made, pickled": lambda m: pickle.loads(pickle.dumps(made(m))).encode("hello"),
    "made, pickled special": lambda m: pickle.loads(pickle.dumps(made(m)))._special_tokens,
}


@pytest.mark.parametrize("what", CALLS)
def test_calls_do_what_tiktokens_do(what: str) -> None:
    expected, failure = outcome(lambda: CALLS[what](tiktoken))
    found, error = outcome(lambda: CALLS[what](ours))
    assert found == expected
    if failure is None:
        assert error is None
    else:
        assert error is not None
        assert issubclass(error, failure)
        assert issubclass(error, (BpeInteropError, TypeError, AttributeError))


def test_every_model_that_tiktoken_knows() -> None:
    """Whatever version is installed; a newer one may know more than the lowest."""
    for name in tiktoken.model.MODEL_TO_ENCODING:
        assert ours.encoding_name_for_model(name) == tiktoken.encoding_name_for_model(name)
    for prefix in tiktoken.model.MODEL_PREFIX_TO_ENCODING:
        for name in (prefix, f"{prefix}x", f"{prefix}-2030"):
            assert ours.encoding_name_for_model(name) == tiktoken.encoding_name_for_model(name)


def test_words_for_a_disallowed_token_say_what_tiktokens_say() -> None:
    for module in (tiktoken, ours):
        with pytest.raises(ValueError, match="Encountered text corresponding to") as caught:
            made(module).encode("<|pad|>")
        for part in (
            "Encountered text corresponding to disallowed special token '<|pad|>'.",
            "allowed_special={'<|pad|>', ...}",
            "disallowed_special=(enc.special_tokens_set - {'<|pad|>'})",
            "disallowed_special=()",
        ):
            assert part in str(caught.value)


@pytest.mark.parametrize("name", ENCODINGS)
def test_an_encoding_is_tiktokens(name: str, data: Data) -> None:
    data("tiktoken_cache")
    theirs, found = tiktoken.get_encoding(name), ours.get_encoding(name)
    assert isinstance(found, ours.Encoding)
    assert ours.get_encoding(name) is found
    assert (found.name, found.n_vocab) == (theirs.name, theirs.n_vocab)
    assert found._mergeable_ranks == theirs._mergeable_ranks
    assert found._special_tokens == theirs._special_tokens
    text = data("corpora/taylorswift.txt").read_text("utf-8")[:20_000]
    for each in (*TEXTS, text):
        ids = theirs.encode(each, allowed_special="all")
        assert found.encode(each, allowed_special="all") == ids
        assert found.decode(ids) == theirs.decode(ids)


def test_a_named_encoding_pickles_by_its_name(data: Data) -> None:
    data("tiktoken_cache")
    found = ours.get_encoding("r50k_base")
    content = pickle.dumps(found)
    assert len(content) < 100
    assert pickle.loads(content) is found
    # Not the named object itself: by value, as in tiktoken.
    other = ours.Encoding(
        "r50k_base",
        pat_str=found._pat_str,
        mergeable_ranks=found._mergeable_ranks,
        special_tokens={"<|new|>": 60000},
    )
    again = pickle.loads(pickle.dumps(other))
    assert isinstance(again, ours.Encoding)
    assert again.encode("<|new|>", allowed_special="all") == [60000]


def test_an_encoding_comes_of_other_objects_too() -> None:
    encoding = ours.Encoding.from_tiktoken(made(tiktoken))
    assert isinstance(encoding, ours.Encoding)
    assert encoding.encode("hello") == made(tiktoken).encode("hello")


def run(script: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False
    )
    return done.stdout + done.stderr


WITHOUT = """
import sys
sys.modules["tiktoken"] = None
from bpe_interop import tiktoken
from bpe_interop.errors import EngineMissingError
print(tiktoken.list_encoding_names())
for name in ("gpt2", "cl100k_base", "o200k_harmony"):
    try:
        print(tiktoken.get_encoding(name).encode("hello world"))
    except EngineMissingError as error:
        print("missing", error)
"""


def test_files_at_hand_need_no_tiktoken(data: Data, tmp_path: Path) -> None:
    root = str(ROOT)
    said = run(WITHOUT, PYTHONPATH=root, TIKTOKEN_CACHE_DIR=str(data("tiktoken_cache")))
    assert said.splitlines() == [
        str([*ENCODINGS]),
        *(
            str(tiktoken.get_encoding(name).encode("hello world"))
            for name in ("gpt2", "cl100k_base", "o200k_harmony")
        ),
    ]
    # The pair alone, and the older name of the folder.
    for file in FILES:
        if "gpt-2" in file.address:
            name = hashlib.sha1(file.address.encode()).hexdigest()
            shutil.copy(data(f"tiktoken_cache/{name}"), tmp_path / name)
    said = run(WITHOUT, PYTHONPATH=root, DATA_GYM_CACHE_DIR=str(tmp_path))
    lines = said.splitlines()
    assert lines[1] == str(tiktoken.get_encoding("gpt2").encode("hello world"))
    assert "not in tiktoken's cache" in lines[2]
    assert "tiktoken is not installed" in lines[2]


def test_a_damaged_or_absent_cache_is_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, sha = FILES[0].address, FILES[0].sha256
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    assert cached(address, sha) is None
    file = tmp_path / hashlib.sha1(address.encode()).hexdigest()
    file.write_bytes(b"IQ== 0\n")
    assert cached(address, sha) is None
    assert cached(address, hashlib.sha256(b"IQ== 0\n").hexdigest()) == b"IQ== 0\n"
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    assert cached(address, hashlib.sha256(b"IQ== 0\n").hexdigest()) is None


PLUGIN = f"""
from tiktoken.load import read_file_cached  # as plugins do

ENCODING_CONSTRUCTORS = {{
    "of_a_plugin": lambda: {{
        "name": "of_a_plugin",
        "pat_str": {GPT2!r},
        "mergeable_ranks": {RANKS!r},
        "special_tokens": {SPECIAL!r},
    }}
}}
"""


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of plugins, which nobody has looked into."""
    folder = tmp_path / "tiktoken_ext"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    theirs: Any = tiktoken.registry
    theirs._available_plugin_modules.cache_clear()
    for module in (tiktoken.registry, ours.registry):
        monkeypatch.setattr(module, "ENCODING_CONSTRUCTORS", None)
        monkeypatch.setattr(module, "ENCODINGS", {})
    before = set(sys.modules)
    yield folder
    for name in {*sys.modules} - before:
        if name.startswith("tiktoken_ext."):
            del sys.modules[name]
    theirs._available_plugin_modules.cache_clear()


def test_a_plugins_encoding_is_found_by_its_name(plugins: Path) -> None:
    (plugins / "of_a_test.py").write_text(PLUGIN, "utf-8")
    assert ours.registry.ENCODING_CONSTRUCTORS is None
    assert ours.list_encoding_names()[-1] == "of_a_plugin"
    assert {*ours.list_encoding_names()} == {*tiktoken.list_encoding_names()}
    assert {*(ours.registry.ENCODING_CONSTRUCTORS or ())} == {*ours.list_encoding_names()}
    found = ours.get_encoding("of_a_plugin")
    assert found.encode("hello") == tiktoken.get_encoding("of_a_plugin").encode("hello")
    # What a plugin gives elsewhere is not known, so it goes by value.
    assert len(pickle.dumps(found)) > 1000


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("x = 1", "has no ENCODING_CONSTRUCTORS"),
        (PLUGIN.replace("of_a_plugin", "gpt2"), "gives 'gpt2', which another plugin gives too"),
    ],
)
def test_a_plugin_that_is_broken_is_named(source: str, error: str, plugins: Path) -> None:
    (plugins / "of_a_test.py").write_text(source, "utf-8")
    with pytest.raises(ValueError, match=r"ENCODING_CONSTRUCTORS|gpt2"):
        tiktoken.list_encoding_names()
    with pytest.raises(ValueError, match=error) as caught:
        ours.list_encoding_names()
    assert str(caught.value).startswith("tiktoken_ext.o")


def test_a_plugin_that_fails_is_named(plugins: Path) -> None:
    (plugins / "of_a_test.py").write_text("import no_such_module", "utf-8")
    with pytest.raises(EngineError, match=r"tiktoken_ext\.of_a_test, a plugin"):
        ours.get_encoding("of_a_plugin")


def test_constructors_give_what_an_encoding_is_made_of(data: Data) -> None:
    data("tiktoken_cache")
    ours.list_encoding_names()
    given: Any = ours.registry.ENCODING_CONSTRUCTORS
    tiktoken.list_encoding_names()
    theirs: Any = tiktoken.registry.ENCODING_CONSTRUCTORS
    for name in ENCODINGS:
        made_of = given[name]()
        expected = {key: value for key, value in theirs[name]().items() if key in made_of}
        assert {**made_of, "pat_str": ""} == {**expected, "pat_str": ""}
        assert tiktoken.Encoding(**made_of).encode("hello World's") == (
            tiktoken.get_encoding(name).encode("hello World's")
        )


def test_a_constructor_that_a_program_adds_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = {"name": "mine", "pat_str": GPT2, "mergeable_ranks": RANKS, "special_tokens": {}}
    for module in (tiktoken, ours):
        module.list_encoding_names()
        known: Any = module.registry.ENCODING_CONSTRUCTORS
        monkeypatch.setattr(module.registry, "ENCODINGS", {})
        monkeypatch.setitem(known, "mine", lambda: mine)
        monkeypatch.setitem(known, "gpt2", lambda: mine)
        assert "mine" in module.list_encoding_names()
        for name in ("mine", "gpt2"):
            assert module.get_encoding(name).encode("hello") == made(tiktoken).encode("hello")


STANDS_IN = """
import sys
import bpe_interop.tiktoken
for name in ("", ".core", ".load", ".model", ".registry"):
    sys.modules[f"tiktoken{name}"] = __import__("importlib").import_module(
        f"bpe_interop.tiktoken{name}"
    )
import tiktoken
from tiktoken.load import read_file_cached
print(tiktoken.list_encoding_names())
print(tiktoken.get_encoding("of_a_plugin").encode("hello"))
for name in ("nothing", "gpt2"):
    try:
        tiktoken.get_encoding(name)
    except Exception as error:
        print(type(error).__name__, str(error).splitlines()[0])
"""


def test_what_stands_in_for_tiktoken_finds_plugins_and_is_no_engine(plugins: Path) -> None:
    """Asking tiktoken, which it stands in for, would be asking itself without end."""
    (plugins / "of_a_test.py").write_text(PLUGIN, "utf-8")
    root = str(ROOT)
    said = run(
        STANDS_IN, PYTHONPATH=f"{root}:{plugins.parent}", TIKTOKEN_CACHE_DIR=str(plugins / "none")
    )
    assert said.splitlines() == [
        str([*ENCODINGS, "of_a_plugin"]),
        str(made(tiktoken).encode("hello")),
        "UnknownEncodingError there is no encoding 'nothing'",
        "EngineMissingError the files of gpt2 are not in tiktoken's cache, and not checked: "
        "bpe_interop.tiktoken stands in for tiktoken (sys.modules), so tiktoken itself is not "
        "there",
    ]


def test_without_tiktoken_plugins_are_unknown(
    monkeypatch: pytest.MonkeyPatch, plugins: Path
) -> None:
    (plugins / "of_a_test.py").write_text("from tiktoken.load import read_file_cached", "utf-8")
    module: ModuleType | None = None
    monkeypatch.setitem(sys.modules, "tiktoken", module)
    monkeypatch.setitem(sys.modules, "tiktoken.load", module)
    monkeypatch.setitem(sys.modules, "tiktoken.registry", module)
    assert ours.list_encoding_names() == [*ENCODINGS]
    with pytest.raises(UnknownEncodingError, match="cl100k_base"):
        ours.get_encoding("of_a_plugin")


@pytest.mark.parametrize(
    ("name", "encoding", "model"),
    [
        ("cl100k", "cl100k_base? ", None),
        ("gpt4", "cl100k_base, as gpt-4 has? ", "gpt-4? "),
        ("zebra", None, None),
    ],
)
def test_a_name_that_is_nearly_right_is_answered(
    name: str, encoding: str | None, model: str | None
) -> None:
    for call, meant in ((ours.get_encoding, encoding), (ours.encoding_for_model, model)):
        with pytest.raises((UnknownEncodingError, UnknownModelError)) as caught:
            call(name)
        assert caught.value.fix.startswith(f"did you mean {meant}") is (meant is not None)


def test_files_that_are_nowhere_are_told_of(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(ours.registry, "ENCODINGS", {})
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    with pytest.raises(EngineMissingError, match="cl100k_base are not in tiktoken's cache"):
        ours.get_encoding("cl100k_base")


def test_tables_of_ranks_are_read_and_written_as_tiktoken_does(tmp_path: Path) -> None:
    """tiktoken itself writes them with a library that is seldom there; its lines are these."""
    mine = tmp_path / "mine.tiktoken"
    ours.load.dump_tiktoken_bpe(dict(sorted(RANKS.items(), reverse=True)), str(mine))
    assert tiktoken.load.load_tiktoken_bpe(str(mine)) == RANKS
    assert mine.read_bytes().startswith(b"AA== 0\nAQ== 1\n")
    sha = hashlib.sha256(mine.read_bytes()).hexdigest()
    for expected in (None, sha):
        assert ours.load.load_tiktoken_bpe(str(mine), expected) == RANKS
    with pytest.raises(ValueError, match="was expected"):
        ours.load.load_tiktoken_bpe(str(mine), "0" * 64)
    for load in (tiktoken.load.load_tiktoken_bpe, ours.load.load_tiktoken_bpe):
        with pytest.raises(FileNotFoundError):
            load(str(tmp_path / "none.tiktoken"))
    with pytest.raises(BpeInteropError, match="no address is fetched here"):
        ours.load.load_tiktoken_bpe("https://example.org/a.tiktoken", sha)


def test_files_are_read_and_hashed_as_tiktoken_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "cache"))
    file = tmp_path / "a.tiktoken"
    file.write_bytes(b"IQ== 0\n")
    sha = hashlib.sha256(b"IQ== 0\n").hexdigest()
    address = "https://example.org/a.tiktoken"
    for load in (tiktoken.load, ours.load):
        assert load.read_file(str(file)) == b"IQ== 0\n"
        assert load.check_hash(b"IQ== 0\n", sha)
        assert not load.check_hash(b"IQ== 0\n", sha.upper())
        for expected in (None, "", sha):
            assert load.read_file_cached(str(file), expected) == b"IQ== 0\n"
        with pytest.raises(ValueError, match="0" * 64):
            load.read_file_cached(str(file), "0" * 64)
        with pytest.raises(FileNotFoundError):
            load.read_file(str(tmp_path / "none"))
    for cached_name in (tmp_path / "cache").iterdir():
        cached_name.unlink()
    with pytest.raises(BpeInteropError, match="no address is fetched here"):
        ours.load.read_file_cached(address, sha)
    (tmp_path / "cache" / hashlib.sha1(address.encode()).hexdigest()).write_bytes(b"IQ== 0\n")
    for load in (tiktoken.load, ours.load):
        assert load.read_file_cached(address, sha) == b"IQ== 0\n"
    with pytest.raises(BpeInteropError, match="no address is fetched here"):
        ours.load.read_file_cached(address)
    # A program that fetches files in its own way puts its function there.
    for load in (tiktoken.load, ours.load):
        monkeypatch.setattr(load, "read_file", lambda _: b"IQ== 7\n")
        assert load.load_tiktoken_bpe("https://example.org/b") == {b"!": 7}


def test_a_pair_whose_bytes_have_other_ids(tmp_path: Path) -> None:
    letters = sorted(BYTE_TO_CHAR.values())
    (tmp_path / "vocab.bpe").write_text("#version: 0.2\nh e\n", "utf-8")
    for turned, clobber, is_right in (
        (letters, False, True),
        (letters, True, True),
        (letters[::-1], False, False),
        (letters[::-1], True, True),
    ):
        ids = {each: number for number, each in enumerate([*turned, "he", "<|endoftext|>"])}
        (tmp_path / "encoder.json").write_text(json.dumps(ids), "utf-8")
        pair = str(tmp_path / "vocab.bpe"), str(tmp_path / "encoder.json")
        shas = [hashlib.sha256(Path(each).read_bytes()).hexdigest() for each in pair]
        calls = [
            partial(module.load.data_gym_to_mergeable_bpe_ranks, *pair, *shas, clobber)
            for module in (tiktoken, ours)
        ]
        if is_right:
            assert calls[0]() == calls[1]()
        else:
            with pytest.raises(AssertionError):
                calls[0]()
            with pytest.raises(FormatError, match="not those of GPT-2's 256 bytes"):
                calls[1]()


def test_the_error_for_a_disallowed_token_is_that_of_encode() -> None:
    for module in (tiktoken, ours):
        core: Any = importlib.import_module(f"{module.__name__}.core")
        with pytest.raises(ValueError, match="pad") as raised:
            core.raise_disallowed_special_token("<|pad|>")
        with pytest.raises(ValueError, match="pad") as caught:
            made(module).encode("<|pad|>")
        assert str(raised.value) == str(caught.value)


def test_gpt2s_pair_gives_the_ranks_that_tiktoken_gives(data: Data) -> None:
    pair = str(data("gpt2/vocab.bpe")), str(data("gpt2/encoder.json"))
    theirs = tiktoken.load.data_gym_to_mergeable_bpe_ranks(*pair)
    assert ours.load.data_gym_to_mergeable_bpe_ranks(*pair) == theirs


LEFT_OUT: dict[str, str] = {}
"""Public names of tiktoken's that are not ours (``load.read_file``), and why each is not."""


@pytest.mark.parametrize("module", ["", ".core", ".load", ".model", ".registry"])
def test_the_public_names_of_tiktokens_modules_are_there(module: str) -> None:
    """What a program may import from them, and what it may give to each function."""
    theirs = importlib.import_module(f"tiktoken{module}")
    made_there = {
        name
        for name, value in vars(theirs).items()
        if name[0] != "_"
        and (getattr(value, "__module__", "").startswith(theirs.__name__) or name.isupper())
        and not isinstance(value, ModuleType)
        and name != "TYPE_CHECKING"
    }
    assert made_there
    mine = importlib.import_module(f"bpe_interop.tiktoken{module}")
    lacking = {f"{module[1:]}.{name}" for name in made_there if not hasattr(mine, name)}
    assert lacking == {name for name in LEFT_OUT if name.startswith(f"{module[1:]}.")}
    for name in made_there & vars(mine).keys():
        if isfunction(vars(theirs)[name]):
            taken = [*signature(vars(theirs)[name]).parameters]
            assert [*signature(vars(mine)[name]).parameters][: len(taken)] == taken, name


def test_the_public_names_of_tiktokens_encoding_are_there() -> None:
    public = {name for name in vars(tiktoken.Encoding) if name[0] != "_"}
    assert len(public) > 15
    assert {name for name in public if not hasattr(ours.Encoding, name)} == set()


def test_which_encoding_a_model_has_as_tables() -> None:
    """An older tiktoken knows fewer models, and other beginnings of their names."""
    theirs = tiktoken.model.MODEL_TO_ENCODING
    assert len(theirs) > 5
    assert theirs.items() <= ours.model.MODEL_TO_ENCODING.items()
    for beginning, encoding in tiktoken.model.MODEL_PREFIX_TO_ENCODING.items():
        assert ours.encoding_name_for_model(f"{beginning}x") == encoding
    assert {*ours.model.MODEL_PREFIX_TO_ENCODING.values()} <= {*ENCODINGS}
