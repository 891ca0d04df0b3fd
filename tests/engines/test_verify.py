"""Verification: two sides on the same texts, the plainest difference, and its stage."""

from __future__ import annotations

import gzip
import importlib
import json
import shutil
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import NoReturn

import pytest
import tokenizers
import transformers
from command_line import Command
from conftest import Data
from small_documents import Json, document
from small_documents import Side as ByDocument

from bpe_interop.compare import Report, Scope, comparison, counts, verify
from bpe_interop.compare.comparison import decode_tokens, decoding_notes
from bpe_interop.compare.lock import dump, lock
from bpe_interop.compare.opening import open_source, side_of
from bpe_interop.compare.run import LocalPair, Sides, Tally, ask_both
from bpe_interop.compare.sentences import summary
from bpe_interop.compare.shrink import shrink
from bpe_interop.compare.sides import ORDINARY, PARSED, Mismatch, OwnEngine, inside_of
from bpe_interop.compare.stress import around_added, fixed, texts_with
from bpe_interop.compare.verdict import matters, report_of
from bpe_interop.diff import Difference
from bpe_interop.engines import Engine, from_files
from bpe_interop.errors import EngineError, SourceError, UnstatedError, UnsupportedError
from bpe_interop.model import FIELDS, AddedToken, BPEModel
from bpe_interop.proof.normalizer import normalizer_stage
from bpe_interop.proof.prove import STAGES, Proof, prove
from bpe_interop.proof.stage import Outcome, Stage, TwoModels
from bpe_interop.sources import load_source
from bpe_interop.steps import Lowercase
from fixtures import TOKENIZERS


@pytest.fixture
def few_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand awkward texts, where more would find nothing else."""

    def few(model: BPEModel | None, seed: int = 0) -> Iterator[str]:
        yield from fixed()
        if model is not None:
            yield from around_added(model, 20)

    monkeypatch.setattr(comparison, "awkward", few)


def served_as(source: Path, folder: Path, name: str) -> Path:
    """A directory whose tokenizer_config.json names a class of transformers."""
    shutil.copy(source, folder / "tokenizer.json")
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": name}), "utf-8")
    return folder


def confirmed(folder: Path, text: str, ids_a: Sequence[int], ids_b: Sequence[int]) -> bool:
    """Whether the libraries themselves give these ids for a text without special tokens."""
    own = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    auto = transformers.AutoTokenizer.from_pretrained(str(folder))
    return own.encode(text, add_special_tokens=False).ids == list(ids_a) and auto(
        text, add_special_tokens=False
    )["input_ids"] == list(ids_b)


@pytest.mark.usefixtures("few_texts")
def test_a_rank_file_under_two_names_is_proved_where_special_strings_are_text(
    tmp_path: Path,
) -> None:
    source = TOKENIZERS / "cl100k-tiny" / "tiktoken" / "cl100k-tiny.tiktoken"
    stated = json.loads(source.with_name(f"{source.name}.json").read_text("utf-8"))
    del stated["special_tokens"]
    sides = [tmp_path / name for name in ("one.tiktoken", "two.tiktoken")]
    for path in sides:
        shutil.copy(source, path)
        path.with_name(f"{path.name}.json").write_text(json.dumps(stated), "utf-8")
    verdicts = [verify(*sides, scope=scope).verdict for scope in ("ordinary", "text", "all")]
    assert verdicts == ["proved", "proved", "unknown"]


@pytest.mark.usefixtures("few_texts")
@pytest.mark.parametrize(
    ("name", "stage"), [("cl100k-tiny", "pre-tokenizer"), ("stacked-tiny", "pre-tokenizer")]
)
def test_a_directory_served_as_gpt2_is_found_out(tmp_path: Path, name: str, stage: str) -> None:
    folder = served_as(
        TOKENIZERS / name / "huggingface" / "tokenizer.json", tmp_path, "GPT2Tokenizer"
    )
    report = verify(folder, folder, engine_b="transformers")
    assert report.verdict == "different"
    assert report.stage == stage
    assert report.mismatch
    assert len(report.mismatch.text) <= 6
    assert report.mismatch.text.isascii()
    assert 0 < report.differing <= report.compared <= report.texts
    assert confirmed(folder, report.mismatch.text, report.mismatch.ids_a, report.mismatch.ids_b)
    assert "pretokenizer" in {difference.field for difference in report.differences}


@pytest.mark.usefixtures("few_texts")
def test_a_lost_normalizer_is_named(tmp_path: Path) -> None:
    folder = served_as(
        TOKENIZERS / "nfc-tiny" / "huggingface" / "tokenizer.json", tmp_path, "GPT2Tokenizer"
    )
    report = verify(folder, folder, engine_b="transformers")
    assert report.verdict == "different"
    assert {"normalizer", "pretokenizer"} <= {each.field for each in report.differences}


def with_token(folder: Path, *, special: bool) -> Path:
    """A directory with one more added token."""
    data = json.loads((TOKENIZERS / "gpt2-tiny/huggingface/tokenizer.json").read_text("utf-8"))
    token = {"id": 9_999, "content": "<think>", "special": special, "normalized": False}
    token |= {"single_word": False, "lstrip": False, "rstrip": False}
    data["added_tokens"].append(token)
    folder.mkdir()
    (folder / "tokenizer.json").write_text(json.dumps(data), "utf-8")
    return folder


def check_stages(report: Report) -> None:
    """The head is the first row that differs, with that row's text; no row says otherwise."""
    assert report.verdict == "different"
    assert report.mismatch is not None
    [row] = [row for row in report.stages if row.name == report.stage]
    assert (row.outcome, row.witness) == ("different", report.mismatch.text)
    assert "no text was found" not in row.why
    counted = [each for each in report.stages if counts(each.name, report.scope)]
    assert next(each for each in counted if each.outcome == "different") is row


@pytest.mark.usefixtures("few_texts")
@pytest.mark.parametrize("scope", ["all", "ordinary"])
def test_a_stage_of_which_the_run_found_a_text_is_not_said_to_have_none(
    tmp_path: Path, scope: Scope
) -> None:
    sides = (with_token(tmp_path / str(special), special=special) for special in (False, True))
    report = verify(*sides, scope=scope)
    check_stages(report)
    assert report.stage == "added tokens"
    assert [said for said in report.matters if "not established" in said] == []


@pytest.mark.usefixtures("few_texts")
def test_a_narrower_scope_in_which_both_are_proved_equal_is_named(tmp_path: Path) -> None:
    plain = TOKENIZERS / "gpt2-tiny/huggingface"
    special, other = (with_token(tmp_path / str(each), special=each) for each in (True, False))
    asked: list[tuple[Path, Scope, str]] = [
        (special, "all", "ordinary"),
        (other, "all", "text"),
        (other, "ordinary", "text"),
        (special, "ordinary", ""),
        (TOKENIZERS / "cl100k-tiny/huggingface", "all", ""),
    ]
    for side, scope, less in asked:
        narrower = verify(plain, side, scope=scope).narrower.partition(" (scope=")[0]
        assert narrower == (f"proved equal with --scope {less}" if less else "")


@pytest.mark.usefixtures("few_texts")
@pytest.mark.parametrize(
    ("field", "stage", "step"),
    [
        (
            "normalizer",
            "normalizer",
            {"type": "Replace", "pattern": {"Regex": "aA|[!](?=b)"}, "content": "!"},
        ),
        (
            "pre_tokenizer",
            "pre-tokenizer",
            {
                "type": "Split",
                "pattern": {"Regex": "[!A]|b"},
                "behavior": "Isolated",
                "invert": False,
            },
        ),
    ],
)
def test_a_text_is_shown_that_differs_by_the_stage_it_is_shown_for(
    field: str, stage: str, step: Json
) -> None:
    """Every text differs by its ids; of those that are cut otherwise, few by the cut."""
    vocab = {"a": 0, "b": 1, "A": 2, "!": 3, "ab": 9}
    one = document(vocab, merges=[["a", "b"]])
    model = {**one["model"], "vocab": {token: number + 20 for token, number in vocab.items()}}
    sides = [ByDocument(each) for each in (one, {**one, "model": model, field: step})]
    proof = prove(sides[0].model, sides[1].model)
    assert proof.stage == stage
    assert proof.witness is not None
    assert sides[0].answer(proof.witness) != ByDocument({**one, field: step}).answer(proof.witness)


@pytest.mark.usefixtures("few_texts")
def test_an_id_is_said_to_decode_to_what_it_decodes_to() -> None:
    """Of the ids of the text that is shown."""
    folder = TOKENIZERS / "spm-unk-tiny"
    report = verify(folder / "sentencepiece", folder / "huggingface", scope="ordinary")
    [row] = [row for row in report.stages if row.name == "decoding"]
    assert row.witness is not None
    assert report.mismatch is not None
    assert report.mismatch.decoding is not None
    own = tokenizers.Tokenizer.from_file(str(folder / "huggingface" / "tokenizer.json"))
    number = own.encode(row.witness, add_special_tokens=False).ids[-1]
    spelled = own.decode([number], skip_special_tokens=False)
    assert row.why == (
        f'the id {number} decodes to "{report.mismatch.decoding[0]}" in the first, '
        f'to "{spelled}" in the second'
    )


def test_an_engine_that_runs_both_sides_is_named_once() -> None:
    sides = (TOKENIZERS / name / "tiktoken" for name in ("gpt2-tiny", "cl100k-tiny"))
    assert verify(*sides).replayed == (f"tiktoken {version('tiktoken')}",)


@pytest.mark.usefixtures("few_texts")
@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("gpt2-tiny/tiktoken", "cl100k-tiny/tiktoken"),
        ("cl100k-tiny/huggingface", "gpt2-tiny/huggingface"),
        ("gpt2-tiny/huggingface", "nfc-tiny/huggingface"),
        ("spm-tiny/huggingface", "gpt2-tiny/huggingface"),
        ("template-tiny/huggingface", "gpt2-tiny/huggingface"),
    ],
)
def test_the_stage_of_the_head_is_the_first_row_that_differs(a: str, b: str) -> None:
    report = verify(TOKENIZERS / a, TOKENIZERS / b)
    check_stages(report)


def test_a_difference_of_an_engine_is_no_difference_of_a_stage_that_is_proved() -> None:
    side = side_of(open_source(TOKENIZERS / "gpt2-tiny/huggingface"))
    assert side.model is not None
    found = Mismatch(ORDINARY, "ab", (1,), (2,))
    proof = prove(side.model, side.model)
    ran = Tally(texts=1, compared=1, mismatch=found)
    report = report_of("all", Sides(side, side, (ORDINARY,)), proof, ran, [])
    assert (report.verdict, report.stage) == ("different", None)
    assert report.stages == proof.stages


@pytest.mark.usefixtures("few_texts")
def test_a_mark_in_a_text_that_is_shown_stands_on_a_letter() -> None:
    """A lone accent is hardly seen, and joins what stands before it."""
    plain, nfc = TOKENIZERS / "gpt2-tiny/huggingface", TOKENIZERS / "nfc-tiny/huggingface"
    without = replace(load_source(nfc).model, normalizer=())
    stage = normalizer_stage(TwoModels(without, load_source(nfc).model))
    assert stage.witness is not None
    assert unicodedata.category(stage.witness[0])[0] != "M"
    report = verify(plain, nfc)
    assert report.mismatch is not None
    assert unicodedata.category(report.mismatch.text[0])[0] != "M"


@pytest.mark.usefixtures("few_texts")
def test_the_note_on_few_texts_names_as_many_as_were_compared() -> None:
    report = verify(TOKENIZERS / "gpt2-tiny/tiktoken", TOKENIZERS / "cl100k-tiny/tiktoken")
    [note] = [note for note in report.notes if "--thorough" in note]
    assert f"only {report.texts:,} awkward texts were run" in note


@pytest.mark.usefixtures("few_texts")
def test_a_faithful_directory_passes() -> None:
    folder = TOKENIZERS / "template-tiny" / "huggingface"
    report = verify(folder, folder, engine_a="tokenizers", engine_b="transformers")
    assert report.verdict == "tested"
    assert (report.differing, report.mismatch, report.stage) == (0, None, None)
    assert report.scopes[-1].endswith("template applied")


@pytest.mark.usefixtures("few_texts")
@pytest.mark.parametrize(
    ("name", "stage"),
    [("qwen3/tokenizer.json", "normalizer"), ("olmo-dolma2/allenai_dolma2.json", "pre-tokenizer")],
)
def test_real_directories_served_as_gpt2_are_found_out(
    tmp_path: Path, data: Data, name: str, stage: str
) -> None:
    folder = served_as(data / name, tmp_path, "GPT2Tokenizer")
    report = verify(folder, folder, engine_b="transformers")
    assert report.verdict == "different"
    assert report.stage == stage
    assert report.mismatch
    assert len(report.mismatch.text) <= 4
    assert confirmed(folder, report.mismatch.text, report.mismatch.ids_a, report.mismatch.ids_b)


@pytest.mark.long
def test_formats_and_engines_meet(corpora: list[Path]) -> None:
    tiny = TOKENIZERS / "gpt2-tiny"
    report = verify(
        tiny / "tiktoken",
        tiny / "huggingface" / "tokenizer.json",
        engine_a="tiktoken",
        engine_b="tokenizers",
        corpora=corpora,
    )
    assert report.verdict == "proved"
    assert {stage.outcome for stage in report.stages} == {"proved"}
    assert any("tiktoken 0.14.0, tokenizers 0.23.3" in said for said in report.assumptions)
    assert report.bytes > sum(path.stat().st_size for path in corpora)
    assert any("tiktoken applies none" in note for note in report.notes)


@pytest.mark.usefixtures("few_texts")
def test_stages() -> None:
    hub = "huggingface"
    for a, b, stage in (
        ("gpt2-tiny", "cl100k-tiny", "pre-tokenizer"),
        ("gpt2-tiny", "shuffled-tiny", "core"),
    ):
        report = verify(TOKENIZERS / a / hub, TOKENIZERS / b / hub)
        assert report.verdict == "different"
        refuted = [each.name for each in report.stages if each.outcome == "different"]
        assert refuted[0] == stage
        assert report.stage in refuted


@pytest.mark.usefixtures("few_texts")
def test_what_cannot_be_run_is_an_error(tmp_path: Path) -> None:
    tiny = TOKENIZERS / "gpt2-tiny"
    hub = tiny / "huggingface"
    with pytest.raises(UnstatedError, match="preset-b"):
        verify(hub, tiny / "gpt2")
    with pytest.raises(EngineError, match="does not run"):
        verify(hub, hub, engine_a="tiktoken")
    with pytest.raises(SourceError, match="directory"):
        verify(hub / "tokenizer.json", hub, engine_a="transformers")
    (tmp_path / "latin").write_bytes(b"caf\xe9")
    with pytest.raises(SourceError, match="not UTF-8"):
        verify(hub, hub, corpora=[tmp_path / "latin"])
    with pytest.raises(SourceError, match="No such file"):
        verify(hub, hub, corpora=[tmp_path / "nowhere"])


class Letters:
    """A side that gives code points, fails on some letters, and changes others."""

    name = "letters"
    version = "1"
    parses_special = True
    applies_template = True

    def __init__(self, *, fails: str = "", changes: str = "") -> None:
        self.fails, self.changes = fails, changes

    def encode(
        self, text: str, *, special: str = "text", add_special_tokens: bool = False
    ) -> list[int]:
        if set(text) & set(self.fails):
            raise EngineError("failed")
        return [ord(c) + (c in self.changes) for c in text]

    def encode_batch(
        self, texts: Sequence[str], *, special: str = "text", add_special_tokens: bool = False
    ) -> list[list[int]]:
        return [self.encode(text) for text in texts]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(map(chr, ids))


def test_a_failure_proves_and_refutes_nothing() -> None:
    tally = ask_both(Letters(), Letters(fails="x"), ["a", "x", "bx", "c"], [ORDINARY, PARSED])
    assert (tally.texts, tally.compared, tally.differing, tally.one_failed) == (4, 2, 0, 4)
    assert {failure.text for failure in tally.failures} == {"x", "bx"}
    both = ask_both(Letters(fails="x"), Letters(fails="x"), ["x"], [ORDINARY])
    assert (both.compared, both.one_failed, both.differing) == (0, 0, 0)


def test_a_text_counts_once_and_the_plainest_is_shown() -> None:
    texts = ["\u0301z\u0301", "aaaz" * 9, "bz!"]
    tally = ask_both(Letters(), Letters(changes="z"), texts, [ORDINARY, PARSED])
    assert tally.differing == 3
    assert tally.mismatch
    assert tally.mismatch.text == "z"


def test_shrinking_keeps_the_difference() -> None:
    found = shrink(Letters(), Letters(changes="q"), "x" * 500 + "q" + "y" * 500, ORDINARY)
    assert found.text == "q"
    assert found.ids_a != found.ids_b


def test_patience_ends() -> None:
    tally = ask_both(Letters(), Letters(fails="x"), ["x"] * 10_000, [ORDINARY], patience=10)
    assert tally.texts < 10_000


@pytest.mark.usefixtures("few_texts")
def test_llama_2_under_llamatokenizer_is_found_out_and_explained(
    tmp_path: Path, data: Data
) -> None:
    folder = served_as(data("llama-2/tokenizer.json"), tmp_path, "LlamaTokenizer")
    report = verify(folder, folder, engine_b="transformers")
    assert report.verdict == "different"
    assert report.stage == "normalizer"
    assert report.mismatch
    assert confirmed(folder, report.mismatch.text, report.mismatch.ids_a, report.mismatch.ids_b)
    assert any("PreTrainedTokenizerFast" in note for note in report.notes)
    assert confirmed(folder, " Hello", [29871, 15043], [15043])


PUBLISHED: list[tuple[str, str, str | None, dict[Scope, tuple[str, int] | None]]] = [
    (
        "gpt-oss/tokenizer.json",
        "tiktoken:o200k_base",
        None,
        {"ordinary": None, "all": ("special tokens", 7)},
    ),
    (
        "olmo-dolma2/allenai_dolma2.json",
        "tiktoken:cl100k_base",
        None,
        {"text": None, "ordinary": ("added tokens", 14)},
    ),
    ("gpt2/tokenizer.json", "tiktoken:gpt2", None, {"all": None}),
    ("gpt2/encoder.json", "gpt2/tokenizer.json", None, {"all": None}),
    ("llama-2/tokenizer.model", "llama-2/tokenizer.json", None, {"ordinary": None}),
    ("qwen3/tokenizer.json", "qwen/qwen.tiktoken", "qwen", {"all": ("normalizer", 2)}),
    (
        "mistral-v1/tokenizer.model",
        "mistral-v1/tokenizer.json",
        None,
        {"all": ("normalizer", 1)},
    ),
]


@pytest.mark.parametrize(("a", "b", "preset", "expected"), PUBLISHED)
def test_published_tokenizers_are_decided(
    data: Data,
    monkeypatch: pytest.MonkeyPatch,
    a: str,
    b: str,
    preset: str | None,
    expected: dict[Scope, tuple[str, int] | None],
) -> None:
    """Proved equal, or refuted at a stage by a text of at most so many characters."""
    one = load_source(data(a), format="gpt2" if "encoder" in a else None).model
    two = load_source(b if ":" in b else data(b), preset=preset).model
    # What does not depend on the scope is established once.
    by_name, pair = sys.modules["bpe_interop.proof.prove"]._BY_NAME, TwoModels(one, two)
    for name in ("normalizer", "pre-tokenizer", "core", "lookup", "ids"):
        stage = by_name[name](pair)
        monkeypatch.setitem(by_name, name, lambda pair, stage=stage: stage)
    for scope, refuted in expected.items():
        proof = prove(one, two, scope)
        if refuted is None:
            assert (proof.outcome, proof.stage, proof.witness) == ("proved", None, None)
        else:
            assert (proof.outcome, proof.stage) == ("different", refuted[0])
            assert proof.witness is not None
            assert len(proof.witness) <= refuted[1]


def test_llama_3_is_proved_equal_where_both_formats_speak(data: Data) -> None:
    """The rank file leaves the template unsaid, and its special tokens have other names."""
    one = load_source(data("llama-3.2/tokenizer.json")).model
    two = load_source(data("llama-3/tokenizer.model"), preset="llama-3").model
    assert prove(one, two, "ordinary").outcome == "proved"


@pytest.mark.usefixtures("few_texts")
def test_corpora_are_files_of_many_kinds(tmp_path: Path) -> None:
    tiny = TOKENIZERS / "gpt2-tiny"
    alone = verify(tiny / "tiktoken", tiny / "huggingface")
    rows = [{"text": "hello"}, {"text": "wörld"}]
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    (tmp_path / "rows.jsonl.gz").write_bytes(gzip.compress(lines))
    (tmp_path / "plain.txt").write_bytes(b"one\ntwo\n")
    report = verify(tiny / "tiktoken", tiny / "huggingface", corpora=[tmp_path])
    assert report.texts == alone.texts + 3
    (tmp_path / "bad.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(SourceError, match="not UTF-8"):
        verify(tiny / "tiktoken", tiny / "huggingface", corpora=[tmp_path / "bad.txt"])


# Decoding: every token alone.


@pytest.fixture(scope="module")
def gpt2_tiny() -> tuple[BPEModel, Engine]:
    loaded = load_source(TOKENIZERS / "gpt2-tiny" / "huggingface")
    return loaded.model, from_files("tokenizers", "huggingface", loaded.files)


class Altered(OwnEngine):
    """Our encoder, which takes another byte for the last one of a token."""

    name = "altered"

    def __init__(self, model: BPEModel, token: bytes) -> None:
        super().__init__(model)
        self.token = token

    def decode(self, ids: Sequence[int]) -> str:
        tokens = (self.encoder.token_bytes(number) for number in ids)
        other = self.token[:-1] + bytes([self.token[-1] ^ 1])
        return b"".join(other if t == self.token else t for t in tokens).decode("utf-8", "replace")


@pytest.mark.parametrize("token", [b" the", b"\xe0\xa5", b"\xa5"])
def test_every_token_is_decoded_alone(gpt2_tiny: tuple[BPEModel, Engine], token: bytes) -> None:
    """Parts of characters too, of which two are the same U+FFFD by themselves."""
    model, engine = gpt2_tiny
    assert token in model.vocab.ids
    names = "tokenizers", "bpe_interop"
    count, odd = decode_tokens(LocalPair(engine, OwnEngine(model), [ORDINARY]), model, model, names)
    assert (count, odd) == (len(model.vocab.ids), [])
    assert list(decoding_notes(count, odd)) == [
        f"each of {count:,} tokens decodes alone to the same text on both sides"
    ]
    pair = LocalPair(engine, Altered(model, token), [ORDINARY])
    _, odd = decode_tokens(pair, model, model, names)
    assert token in {content for content, _, _ in odd}
    # Where bytes are made whole by a token, that one is seen in them.
    assert all(token in content or len(ids) > 1 for content, ids, _ in odd)
    texts = [text for content, _, _ in odd for text in texts_with(content, model)]
    tally = ask_both(engine, Altered(model, token), texts, [ORDINARY])
    assert tally.mismatch is not None
    assert tally.mismatch.decoding is not None


def test_a_token_that_a_side_cannot_decode_is_noted(gpt2_tiny: tuple[BPEModel, Engine]) -> None:
    model, engine = gpt2_tiny

    class Mute(OwnEngine):
        name = "mute"

        def decode(self, ids: Sequence[int]) -> str:
            raise EngineError("no")

    pair = LocalPair(engine, Mute(model), [ORDINARY])
    count, odd = decode_tokens(pair, model, model, ("t", "mute"))
    assert len(odd) == count
    [note] = decoding_notes(count, odd)
    assert "decode to other texts" in note
    assert "a failure" in note


def test_control_and_byte_tokens_are_each_formats_own() -> None:
    """``<s>`` and lone byte tokens decode otherwise in sentencepiece, by docs/formats.md."""
    files = TOKENIZERS / "spm-tiny" / "sentencepiece", TOKENIZERS / "spm-tiny" / "huggingface"
    (a, one), (b, two) = ((s.model, s) for s in map(load_source, files))
    engines = (
        from_files("sentencepiece", "sentencepiece", one.files),
        from_files("tokenizers", "huggingface", two.files),
    )
    names = "sentencepiece", "tokenizers"
    count, odd = decode_tokens(LocalPair(*engines, [ORDINARY]), a, b, names)
    normal = {n for n in a.vocab.ids.values() if a.vocab.kinds.get(n, "normal") == "normal"}
    assert odd == []
    assert count == len(normal) > 500


# What is in a scope.


def test_what_holds_an_added_token_is_outside_of_the_scope_text() -> None:
    model = load_source(TOKENIZERS / "gpt2-tiny" / "huggingface").model
    added = (AddedToken("Foo", 900, special=False, normalized=True),)
    lower = replace(model, added=added, normalizer=(Lowercase(),))
    inside = inside_of("text", [model, lower])
    texts = ["a foo", "a fOO", "a Foo", "<|endoftext|>", "a fo o"]
    assert list(filter(inside, texts)) == ["a fo o"]
    assert all(map(inside_of("ordinary", [model, lower]), texts))


# What a difference matters.


def test_a_field_is_blamed_only_where_no_other_can_be() -> None:
    def stages(**refuted: Outcome) -> tuple[Stage, ...]:
        names = (
            *("normalizer", "pre-tokenizer", "core", "lookup", "ids", "added tokens"),
            *("special tokens", "sequence template", "decoding"),
        )
        return tuple(
            Stage(name, refuted.get(name.replace("-", "_").replace(" ", "_"), "proved"), "")
            for name in names
        )

    def said(fields: str, scope: Scope = "all", **refuted: Outcome) -> list[str]:
        differences = [Difference(field, "different", "") for field in fields.split()]
        return list(matters(differences, Proof(scope, "different", stages(**refuted))))

    assert said("merges vocab extras") == [
        "proved to give the same ids",
        "proved to give the same ids",
        "does not change ids: metadata",
    ]
    assert said("merges decoder", core="different") == [
        "changes ids (see stage core)",
        "proved to decode to the same text",
    ]
    assert said("merges vocab", core="different") == ["may change ids (see stage core)"] * 2
    assert said("normalizer merges", normalizer="different", core="unknown") == [
        "may change ids (see stage normalizer)",
        "not established (see stage core)",
    ]
    assert said("added merges", special_tokens="different", core="different") == [
        "changes ids (see stage special tokens)",
        "changes ids (see stage core)",
    ]
    assert said("added", scope="ordinary", special_tokens="different") == [
        "changes ids (see stage special tokens, outside the scope)"
    ]


def test_every_field_has_its_stages() -> None:
    tiny = load_source(TOKENIZERS / "gpt2-tiny" / "huggingface").model
    names = {stage.name for stage in prove(tiny, tiny).stages}
    assert list(STAGES) == list(FIELDS)
    assert set().union(*STAGES.values()) == names


# Lock files.


def test_a_lock_file_is_compared_on_corpora(tmp_path: Path, corpora: list[Path]) -> None:
    source = TOKENIZERS / "gpt2-tiny" / "huggingface"
    held = tmp_path / "tokenizer.lock"
    held.write_bytes(dump(lock(load_source(source).model, "tiny", {})))
    assert verify(held, source).verdict == "proved"
    report = verify(held, source, corpora=corpora)
    assert report.verdict == "proved"
    assert report.corpus is not None
    assert report.corpus.counts.compared > 0


def test_what_its_engine_does_not_run_is_not_called_proved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A file that its engine refuses is equal to itself all the same, and is not its model."""

    def refuse(*_: object) -> NoReturn:
        raise EngineError("tokenizers failed on tokenizer.json: no")

    monkeypatch.setattr(
        importlib.import_module("bpe_interop.compare.verdict"), "from_files", refuse
    )
    source = TOKENIZERS / "gpt2-tiny/huggingface/tokenizer.json"
    report = verify(source, source)
    assert report.verdict == "tested"
    why = f"tokenizers does not run {source}: tokenizers failed on tokenizer.json: no"
    assert report.against == (why,)
    assert summary(report).endswith(f"that is not every text. Not called proved: {why}.")


@pytest.mark.long
def test_split_special_tokens_of_a_directory_acts_in_our_run(
    command: Command, tmp_path: Path
) -> None:
    """A user's call says nothing of it, so a run in transformers does not either."""
    folder = tmp_path / "split"
    shutil.copytree(TOKENIZERS / "cl100k-tiny" / "huggingface", folder)
    config = folder / "tokenizer_config.json"
    stated = {**json.loads(config.read_text("utf-8")), "split_special_tokens": True}
    config.write_text(json.dumps(stated), "utf-8")
    served = transformers.AutoTokenizer.from_pretrained(folder)("<|endoftext|>")["input_ids"]
    report = verify(folder, folder, engine_b="transformers")
    assert (report.verdict, report.mismatch and report.mismatch.text) == (
        "different",
        "<|endoftext|>",
    )
    assert report.mismatch is not None
    assert list(report.mismatch.ids_b) == served
    assert not any("please report" in note for note in report.notes)
    shown = command("inspect", folder).out
    assert "it gives the ids that are read here" not in shown
    assert (
        "split_special_tokens makes transformers 4.57 and 5.24 take special tokens as text" in shown
    )


def test_what_our_reader_refuses_is_compared_in_an_engine(tmp_path: Path) -> None:
    file, source = tmp_path / "tokenizer.json", TOKENIZERS / "gpt2-tiny/huggingface/tokenizer.json"
    twice = json.loads(source.read_text("utf-8"))
    splits = [twice["pre_tokenizer"]] * 2
    twice["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": splits}
    file.write_text(json.dumps(twice), "utf-8")
    with pytest.raises(UnsupportedError, match="--engine-a tokenizers"):
        verify(file, file)
    report = verify(file, source, scope="text", engine_a="tokenizers")
    assert report.verdict == "different"
    assert report.mismatch is not None
    theirs = tokenizers.Tokenizer.from_file(str(file))
    assert report.mismatch.ids_a == tuple(theirs.encode(report.mismatch.text).ids)
