"""The pytest plugin: what passes, what fails and how that reads, and that it disturbs nobody."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import tiktoken
import tokenizers
import transformers

import bpe_interop
from bpe_interop import compare
from bpe_interop.compare import comparison
from bpe_interop.compare.lock import dump, lock
from bpe_interop.compare.stress import fixed
from bpe_interop.errors import SourceError
from bpe_interop.model import BPEModel
from bpe_interop.pytest_plugin import assert_parity
from bpe_interop.sources import load_source
from fixtures import TOKENIZERS

pytest_plugins = ["pytester"]

GPT2 = TOKENIZERS / "gpt2-tiny"
TEXT = "hello <|endoftext|> 1234 wörld\n\n"


def encoding(name: str) -> tiktoken.Encoding:
    return bpe_interop.load(TOKENIZERS / name / "tiktoken").to_tiktoken()


def hub(name: str) -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer.from_file(str(TOKENIZERS / name / "huggingface" / "tokenizer.json"))


def served(name: str) -> transformers.PreTrainedTokenizerFast:
    return transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(TOKENIZERS / name / "huggingface" / "tokenizer.json")
    )


# In a run of pytest.


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project with the tiny tokenizers beside its tests."""
    for name in ("gpt2-tiny", "cl100k-tiny"):
        shutil.copytree(TOKENIZERS / name, pytester.path / name)
    return pytester


PASSES_AND_FAILS = """
    def test_same(tokenizer_parity):
        found = tokenizer_parity("gpt2-tiny/tiktoken", "gpt2-tiny/huggingface", ["a 1234", "b"])
        assert (found.verdict, found.compared) == ("tested", 2)

    def test_other(tokenizer_parity):
        tokenizer_parity("gpt2-tiny/tiktoken", "cl100k-tiny/huggingface", ["a 1234"], scope="text")
"""


def test_a_failing_test_shows_a_text_and_both_sides_ids(project: pytest.Pytester) -> None:
    project.makepyfile(PASSES_AND_FAILS)
    result = project.runpytest_inprocess()
    result.assert_outcomes(passed=1, failed=1)
    found = assert_fails(
        GPT2 / "tiktoken", TOKENIZERS / "cl100k-tiny" / "huggingface", ["a 1234"], scope="text"
    )
    head = found.splitlines()[0]
    shown = ast.literal_eval(head.partition("a text: ")[2].rpartition(" (")[0])
    ids_a = encoding("gpt2-tiny").encode_ordinary(shown)
    ids_b = hub("cl100k-tiny").encode(shown, add_special_tokens=False).ids
    assert ids_a != ids_b
    result.stdout.fnmatch_lines(
        [
            ">*tokenizer_parity(*",
            "E * AssertionError: DIFFERENT at stage: *; a text: *",
            "E*yours *a 1234*",
            f"E*a gives *{' '.join(map(str, ids_a))}",
            f"E*b gives *{' '.join(map(str, ids_b))}",
            "E*aligned * a * b",
            "E*> *",
            "E*texts *1 of 1 given text differs",
            f"E*a  *gpt2-tiny?tiktoken (tiktoken {tiktoken.__version__})",
            f"E*b  *cl100k-tiny?huggingface (tokenizers {tokenizers.__version__})",
        ]
    )
    result.stdout.no_fnmatch_line("*pytest_plugin.py*")


@pytest.mark.long
def test_under_xdist_and_with_warnings_as_errors(project: pytest.Pytester) -> None:
    project.makepyfile(PASSES_AND_FAILS)
    without = ("-p", "no:hypothesispytest", "-p", "no:anyio")  # which take long to import
    result = project.runpytest_subprocess("-p", "xdist", "-n", "1", "-W", "error", *without)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["E * AssertionError: DIFFERENT at stage: *"])


def test_the_ini_file_says_what_is_usual(project: pytest.Pytester) -> None:
    project.makeini(
        "[pytest]\ntokenizer_parity_require = proved\ntokenizer_parity_scope = ordinary\n"
    )
    project.makepyfile(
        """
        def test_proved(tokenizer_parity):
            found = tokenizer_parity("gpt2-tiny/tiktoken", "gpt2-tiny/huggingface", ["one text"])
            assert (found.verdict, found.scope, found.compared) == ("proved", "ordinary", 1)

        def test_said_otherwise(tokenizer_parity):
            sides = "gpt2-tiny/tiktoken", "gpt2-tiny/huggingface"
            found = tokenizer_parity(*sides, ["a"], require="tested", scope="text")
            assert (found.verdict, found.scope) == ("tested", "text")
        """
    )
    project.runpytest_inprocess().assert_outcomes(passed=2)
    project.makeini("[pytest]\ntokenizer_parity_require = perhaps\n")
    result = project.runpytest_inprocess("-k", "test_proved")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*tokenizer_parity_require is 'perhaps'; expected one of tested*"])


def test_other_peoples_runs_are_left_alone(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_nothing_of_ours_is_loaded():
            heavy = {"regex", "tiktoken", "tokenizers", "sentencepiece", "numpy", "rich", "click"}
            assert not heavy & set(sys.modules)
        """
    )
    result = pytester.runpytest_subprocess("-W", "error", "-p", "no:hypothesispytest")
    result.assert_outcomes(passed=1)
    off = pytester.runpytest_inprocess("-p", "no:bpe_interop", "--fixtures")
    off.stdout.no_fnmatch_line("tokenizer_parity*")


def test_importing_the_plugin_loads_nothing_but_itself() -> None:
    script = (
        "import sys, pytest; old = set(sys.modules); import bpe_interop.pytest_plugin;"
        "print(*sorted(set(sys.modules) - old))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    own = ["bpe_interop", "bpe_interop.exports", "bpe_interop.pytest_plugin"]
    assert done.stdout.split() == own


# As a function.


def assert_fails(*sides: Any, **settings: Any) -> str:
    with pytest.raises(AssertionError) as caught:
        assert_parity(*sides, **settings)
    return str(caught.value)


@pytest.mark.parametrize(
    "side",
    [
        lambda: bpe_interop.load(GPT2 / "huggingface"),
        lambda: bpe_interop.load(GPT2 / "huggingface", engine="tokenizers"),
        lambda: encoding("gpt2-tiny"),
        lambda: hub("gpt2-tiny"),
        lambda: served("gpt2-tiny"),
        lambda: str(GPT2 / "tiktoken"),
    ],
    ids=["Tokenizer", "Tokenizer with an engine", "tiktoken", "tokenizers", "transformers", "path"],
)
def test_live_objects_and_sources_are_compared_as_they_are(side: Callable[[], object]) -> None:
    opened = side()
    report = assert_parity(opened, GPT2 / "huggingface", ["a", TEXT])
    assert (report.verdict, report.compared, report.differing) == ("tested", 2, 0)
    said = assert_fails(
        opened, TOKENIZERS / "cl100k-tiny" / "huggingface", ["1234"], scope="ordinary"
    )
    assert said.startswith("DIFFERENT at stage: ")


def test_sentencepiece_objects() -> None:
    path = TOKENIZERS / "spm-tiny" / "sentencepiece" / "tokenizer.model"
    live = sentencepiece.SentencePieceProcessor(model_file=str(path), add_bos=True)
    report = assert_parity(live, TOKENIZERS / "spm-tiny" / "huggingface", ["a", TEXT])
    assert (report.engine_a.split()[0], report.engine_b.split()[0]) == (
        "sentencepiece",
        "tokenizers",
    )
    assert "at stage: " in assert_fails(live, TOKENIZERS / "spm-user-tiny" / "huggingface", ["  a"])


def test_what_a_live_object_was_told_is_left_as_it_was() -> None:
    live = hub("gpt2-tiny")
    live.enable_truncation(3)
    live.enable_padding(length=9)
    assert_parity(live, GPT2 / "tiktoken", [TEXT])
    assert live.truncation is not None
    assert live.truncation["max_length"] == 3
    assert live.padding is not None
    assert not live.encode_special_tokens


def test_a_token_that_a_copy_would_number_otherwise_keeps_its_id() -> None:
    """tokenizers numbers a token that was added after a hole anew when it is copied."""
    live = hub("cl100k-tiny")
    live.add_tokens(["zzz"])
    number = live.token_to_id("zzz")
    report = assert_parity(live, live, ["zzz"], scope="ordinary")
    assert any("gives added tokens other ids" in note for note in report.notes)
    said = assert_fails(live, hub("cl100k-tiny"), ["a zzz"], scope="ordinary")
    assert f"a gives     {number}\n" in said


def test_a_proof_can_be_required() -> None:
    sides = GPT2 / "tiktoken", hub("gpt2-tiny")
    assert assert_parity(*sides, ["a"], require="proved").verdict == "proved"
    spm = TOKENIZERS / "spm-tiny"
    one, two = spm / "sentencepiece", spm / "huggingface"
    assert assert_parity(one, two, ["a"]).verdict == "tested"
    said = assert_fails(one, two, ["a"], require="proved")
    assert said.startswith("TESTED      equal on 1 text (1 byte); not proved; but not accepted\n")
    assert "\nbecause     --require proved asks for a proof\n" in said
    assert "\nstage       sequence template  not proved " in said


def test_without_texts_the_awkward_ones_of_both_are_run(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def few(model: BPEModel | None, *, seed: int = 0) -> Iterator[str]:
        assert model is not None
        asked.append(seed)
        return fixed()

    monkeypatch.setattr(comparison, "awkward", few)
    monkeypatch.setattr(comparison, "every_token", lambda model: ())
    report = assert_parity(GPT2 / "tiktoken", GPT2 / "huggingface")
    assert report.verdict == "proved"
    assert asked == [0, 1]
    assert report.compared == len({*fixed()})


def test_of_given_texts_one_is_shown_as_it_was_given() -> None:
    sides = GPT2 / "tiktoken", TOKENIZERS / "cl100k-tiny" / "tiktoken"
    told = assert_fails(*sides, ["Hello, world!", "na\u00efve 12345"], scope="ordinary")
    assert '\nyours       "Hello, world!"\n' in told or '\nyours       "na\u00efve 12345"\n' in told
    assert "; made small from yours)" in told.splitlines()[0]


def test_a_required_proof_finds_what_no_given_text_shows() -> None:
    other = TOKENIZERS / "cl100k-tiny" / "tiktoken"
    assert (
        assert_parity(TOKENIZERS / "cl100k-tiny" / "huggingface", other, [""]).verdict == "tested"
    )
    said = assert_fails(GPT2 / "tiktoken", other, [""], require="proved")
    assert said.startswith("DIFFERENT at stage: ")
    assert "; none of yours: a proof gave it)" in said.splitlines()[0]


def test_a_stage_that_does_not_count_says_so() -> None:
    other = TOKENIZERS / "cl100k-tiny" / "huggingface"
    for scope, outside in (("text", "outside the scope: "), ("all", "")):
        text = assert_fails(GPT2 / "huggingface", other, [""], require="proved", scope=scope)
        assert f"special tokens     DIFFERENT  {outside}1 and 5 special tokens; " in text


def test_a_text_without_ids_is_no_success() -> None:
    said = assert_fails(encoding("gpt2-tiny"), hub("gpt2-tiny"), ["a", "\ud800"])
    assert "\nbecause     1 of 2 texts compared; " in said
    assert "\nfailed      b (tokenizers) failed on " in said
    nfc = TOKENIZERS / "nfc-tiny" / "huggingface"
    added = next(token.text for token in bpe_interop.load(nfc).model.added or ())
    said = assert_fails(nfc, nfc, ["a", added], scope="text")
    assert "\nbecause     1 of 2 texts compared; 0 times" in said
    assert "outside the scope" in said


@pytest.mark.usefixtures("few_texts")
@pytest.mark.long
def test_a_lock_file_is_a_side(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.lock"
    path.write_bytes(dump(lock(load_source(GPT2 / "tiktoken").model, "x", {})))
    for live in (encoding("gpt2-tiny"), GPT2 / "huggingface"):
        assert assert_parity(path, live, scope="ordinary", require="proved").verdict == "proved"
    said = assert_fails(path, encoding("cl100k-tiny"))
    assert str(path) in said
    assert_parity(path, GPT2 / "tiktoken", ["a"])
    assert assert_parity(path, path).verdict == "proved"


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A rank file whose sidecar states the pattern, and no special tokens."""
    shutil.copytree(TOKENIZERS / "cl100k-tiny" / "tiktoken", tmp_path / "bare")
    path = tmp_path / "bare" / "cl100k-tiny.tiktoken.json"
    stated = json.loads(path.read_bytes())
    path.write_text(json.dumps({key: stated[key] for key in ("name", "pat_str")}))
    return path.parent


@pytest.mark.long
def test_special_tokens_that_are_not_stated_are_not_asked_for(bare: Path) -> None:
    other = TOKENIZERS / "cl100k-tiny" / "huggingface"
    report = assert_parity(bare, other, scope="ordinary", require="proved")
    assert (report.engine_a, report.verdict) == (f"tiktoken {tiktoken.__version__}", "proved")
    report = bpe_interop.verify(
        bare, other, scope="ordinary", engine_a="tiktoken", engine_b="tokenizers"
    )
    assert (report.verdict, report.engine_a) == ("proved", f"tiktoken {tiktoken.__version__}")
    assert "special tokens are not stated by a" in assert_fails(bare, other)


def test_a_preset_is_named_for_a_path(bare: Path) -> None:
    with pytest.raises(ValueError, match="preset_b is for a path or a name"):
        assert_parity(bare, hub("cl100k-tiny"), preset_b="cl100k_base")
    with pytest.raises(SourceError, match="no-such"):
        assert_parity(bare, TOKENIZERS / "cl100k-tiny" / "huggingface", preset_a="no-such")


def test_what_is_no_tokenizer_is_an_error() -> None:
    with pytest.raises(TypeError, match="int is no tokenizer"):
        assert_parity(1, GPT2 / "tiktoken")
    with pytest.raises(SourceError):
        assert_parity(GPT2 / "nowhere", GPT2 / "tiktoken")
    scope: Any = "some"
    with pytest.raises(ValueError, match="scope is one of"):
        assert_parity(GPT2, GPT2, scope=scope)


def test_a_difference_that_only_a_proof_found_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = (TOKENIZERS / name / "tiktoken" for name in ("cl100k-tiny", "o200k-tiny"))
    found = comparison.parity(a, b, ["Hello world 2023"])
    assert found.mismatch is not None
    none = r"no text that was run differs \(of 1 given text\); a proof found the one that does"
    for differing, said in ((1, "1 of 1 given text differs"), (0, none)):
        report = replace(found, differing=differing)
        monkeypatch.setattr(compare, "parity", lambda *_, report=report, **__: report)
        with pytest.raises(AssertionError, match=said):
            assert_parity(a, b, texts=["Hello world 2023"])
