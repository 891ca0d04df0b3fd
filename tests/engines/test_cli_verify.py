"""``bpe-interop verify`` on corpora: what it prints, how it ends, and bad input."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import re
import shutil
import signal
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from command_line import Command
from tokenizers import Tokenizer

from bpe_interop.cli.progress import Seen
from bpe_interop.compare import comparison, verify
from bpe_interop.compare.corpus_report import CorpusReport, Counts, SideName
from bpe_interop.compare.opening import side_of
from bpe_interop.compare.sentences import corpus_lines, summary
from bpe_interop.compare.sides import Side
from bpe_interop.convert import convert
from bpe_interop.engines import from_files
from bpe_interop.errors import EngineError
from bpe_interop.model import BPEModel
from bpe_interop.proof.prove import Proof
from bpe_interop.quoting import show
from bpe_interop.reports import to_markdown
from bpe_interop.statement import Statement
from bpe_interop.text.visible import show_text
from fixtures import TOKENIZERS

NFC = TOKENIZERS / "nfc-tiny" / "huggingface"
RANKS, HUB = TOKENIZERS / "gpt2-tiny" / "tiktoken", TOKENIZERS / "gpt2-tiny" / "huggingface"
OTHER = TOKENIZERS / "cl100k-tiny" / "huggingface"


@pytest.fixture
def run(command: Command, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs ``verify`` on few awkward texts."""

    def few(model: BPEModel | None, seed: int = 0) -> list[str]:
        return ["a", "hello world", "\n"]

    monkeypatch.setattr(comparison, "awkward", few)
    return partial(command, "verify")


def said(out: str, label: str) -> list[str]:
    """What stands behind a label."""
    return [line[12:] for line in out.splitlines() if line[:12].strip() == label]


def ids_of(source: Path, text: str) -> list[int]:
    """What tokenizers itself gives."""
    own = Tokenizer.from_file(str(source / "tokenizer.json"))
    own.encode_special_tokens = True
    return list(own.encode(text, add_special_tokens=False).ids)


# What is printed.


def test_a_difference_is_shown_with_both_sides_beside_each_other(
    run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is proved here, so that the text comes from the corpus."""
    content = json.loads((NFC / "tokenizer.json").read_text("utf-8"))
    plain, corpus = tmp_path / "plain", tmp_path / "corpus.txt"
    plain.mkdir()
    (plain / "tokenizer.json").write_text(json.dumps({**content, "normalizer": None}), "utf-8")
    corpus.write_text("fine\nfine\nabc e\u0301 def\n" + "fine\n" * 9_000, "utf-8", newline="")
    monkeypatch.setattr(comparison, "prove", lambda a, b, scope: Proof(scope, "unknown", ()))
    monkeypatch.setattr(comparison, "every_token", lambda model: ())
    code, out, _ = run(NFC, plain, "--corpus", corpus)
    assert code == 1
    lines = out.splitlines()
    text = "e\u0301"
    assert lines[0].startswith(f"DIFFERENT at stage: normalizer; a text: {show_text(text)} (")
    assert said(out, "a gives") == [" ".join(map(str, ids_of(NFC, text)))]
    assert said(out, "b gives") == [" ".join(map(str, ids_of(plain, text)))]
    table = next(place for place, line in enumerate(lines) if line.startswith("aligned"))
    assert lines[table].split() == ["aligned", "text", "a", "b"]
    assert lines[table + 1].startswith(" " * 12 + "> ")
    shown = lines[table + 1].split()
    assert [str(n) for n in ids_of(NFC, text)] == [w for w in shown if w.isdecimal()][:1]
    place = f"{corpus} at line 3, byte 13"
    made = "the text was made from what stands there, with fewer and other characters"
    passage = [show("fine\nfine\nabc"), show(" e\u0301 def\nfine\nfine\nfine\nfine\nfi")]
    assert said(out, "found in") == [f"{place}: {' | '.join(passage)}; {made}"]
    counts = [len(ids_of(side, corpus.read_text("utf-8"))) for side in (NFC, plain)]
    assert said(out, "texts") == ["0 of 3 awkward texts differ and 1 of 3 documents differs"]
    tokens = f"{counts[0]:,} and {counts[1]:,} tokens"
    assert said(out, "corpus")[0].endswith(f"documents (45,022 bytes), 1 differs, {tokens}")


def test_nothing_differs(run: Command, tmp_path: Path) -> None:
    for name in ("one.txt", "two.txt"):
        (tmp_path / name).write_text("some text\n" * 3, "utf-8")
    code, out, err = run(RANKS, HUB, "--corpus", tmp_path)
    assert (code, err) == (0, "")
    assert out.startswith("PROVED      equal for every text")
    assert said(out, "ran")[0].startswith("5 texts (73 bytes): ")
    assert said(out, "corpus") == [
        "2 files: 2 documents (60 bytes), 0 differ",
        f"  {tmp_path}/one.txt: 1 document (30 bytes), 0 differ",
        f"  {tmp_path}/two.txt: 1 document (30 bytes), 0 differ",
    ]
    fields = {line.split()[0]: line for line in said(out, "field")}
    assert fields["added"].split(maxsplit=1)[1].startswith("proved to give the same ids; ")
    assert fields["extras"].split(maxsplit=1)[1].startswith("does not change ids: metadata; ")


def test_files_that_differ_are_counted_among_those_that_are_not_shown(
    run: Command, tmp_path: Path
) -> None:
    content = json.loads((NFC / "tokenizer.json").read_text("utf-8"))
    plain, corpus = tmp_path / "plain", tmp_path / "corpus"
    plain.mkdir()
    (plain / "tokenizer.json").write_text(json.dumps({**content, "normalizer": None}), "utf-8")
    corpus.mkdir()
    for number in range(9):
        text = "fine" if number < 2 else "e\u0301"
        (corpus / f"{number}.txt").write_text(text, "utf-8")
    shown = run(NFC, plain, "--corpus", corpus).out
    assert said(shown, "corpus")[0].startswith("9 files: 9 documents (")
    assert said(shown, "corpus")[-1] == "  ... 3 files more, of which 1 differs"
    (corpus / "8.txt").unlink()
    shown = run(NFC, plain, "--corpus", corpus).out
    assert said(shown, "corpus")[-1] == "  ... 2 files more"


def test_what_is_not_shown_of_a_corpus_counts_failures_too() -> None:
    differs, failed = Counts(1, 3, compared=1, differing=1), Counts(1, 3, failed_b=1)
    files = {f"{at}.txt": each for at, each in enumerate([*[differs] * 7, failed, failed])}
    side = SideName("a", "own", "1")
    shown = corpus_lines(CorpusReport(side, side, (), Counts(9, 27), files))
    assert shown[-1] == "  ... 3 files more, of which 1 differs and a side failed in 2"


def test_a_narrower_scope_stands_directly_below_the_verdict(run: Command, tmp_path: Path) -> None:
    content = json.loads((HUB / "tokenizer.json").read_text("utf-8"))
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    content["added_tokens"] += [{"id": 9_999, "content": "<think>", "special": True, **flags}]
    (tmp_path / "tokenizer.json").write_text(json.dumps(content), "utf-8")
    first, second, *_ = run(HUB, tmp_path).out.splitlines()
    assert first.startswith("DIFFERENT at stage: ")
    assert second.startswith("but         proved equal with --scope ordinary")


def test_what_stands_against_a_proof_stands_below_the_verdict(run: Command) -> None:
    why = "transformers may do more than the pipeline it built"
    out = run(HUB, HUB, "--engine-b", "transformers").out
    first, second, *rest = out.splitlines()
    assert first.startswith("TESTED      equal on ")
    assert second == f"not proved  {why}"
    assert not any(why in line for line in rest)


def silent(folder: Path) -> Path:
    """A rank file that does not state its special tokens."""
    folder.mkdir()
    for path in (TOKENIZERS / "cl100k-tiny/tiktoken").iterdir():
        shutil.copy(path, folder)
    [sidecar] = folder.glob("*.json")
    stated = json.loads(sidecar.read_text("utf-8"))
    del stated["special_tokens"]
    sidecar.write_text(json.dumps(stated), "utf-8")
    return next(folder.glob("*.tiktoken"))


def test_a_gate_does_not_pass_by_omission(run: Command, tmp_path: Path) -> None:
    """Where special tokens count and a side does not state them, nobody knows them equal."""
    one, two = silent(tmp_path / "one"), TOKENIZERS / "cl100k-tiny/tiktoken"
    done = run(one, two)
    lines = done.out.splitlines()
    assert done.code == 2
    assert lines[0].startswith("UNKNOWN ")
    assert "special tokens are not stated by a, so not compared" in lines[0]
    assert "included" not in done.out
    assert "--preset-a" in done.out
    assert "--scope ordinary" in done.out
    assert run(one, two, "--scope", "ordinary").code == 0
    report = verify(two, one)
    assert "stated by b" in summary(report)
    assert "included" not in to_markdown(report)
    assert run(one, one).code == 2


def test_what_was_found_and_what_it_is_about_are_two_facts(run: Command) -> None:
    spm = TOKENIZERS / "spm-tiny"
    done = run(spm / "sentencepiece", spm / "huggingface")
    lines = done.out.splitlines()
    assert lines[0].startswith("TESTED ")
    assert lines[0].endswith("; not proved")
    about = "every text, special tokens included; the sequence template is not compared"
    assert said(done.out, "scope") == [about]


def test_whether_fields_matter(run: Command) -> None:
    _, out, _ = run(HUB, OTHER)
    fields = {line.split()[0]: line.split(maxsplit=1)[1] for line in said(out, "field")}
    assert fields["merges"].startswith("may change ids (see stage core); ")
    assert fields["added"].startswith("changes ids (see stage special tokens); ")
    _, out, _ = run(HUB, OTHER, "--scope", "text")
    assert "(see stage special tokens, outside the scope); " in out


def test_a_stage_that_does_not_count_says_so(run: Command) -> None:
    """Beside a verdict of equality its difference would read as a contradiction."""
    _, out, _ = run(HUB, OTHER, "--scope", "text")
    stages = {line[:18].rstrip(): line[30:] for line in said(out, "stage")}
    outside = {name for name, why in stages.items() if why.startswith("outside the scope: ")}
    assert outside == {"added tokens", "special tokens", "sequence template"}
    _, out, _ = run(HUB, OTHER)
    assert "outside the scope" not in out


def test_json_says_the_same(run: Command, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    rows = [{"body": f"{n}0000 we'LL"} for n in range(40)]
    corpus.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    code, out, _ = run(
        *(HUB, OTHER, "--corpus", corpus, "--field", "body", "--sample", "10", "--json")
    )
    assert code == 1
    report = json.loads(out)
    counts = report["corpus"]["counts"]
    assert (counts["documents"], counts["differing"]) == (10, 10)
    assert all(each["matters"] for each in report["differences"])
    first, *others = report["examples"]
    assert {key: first[key] for key in report["witness"]} == report["witness"]
    assert 1 <= len(others) <= 9
    for found in others:
        assert found["ids_a"] == ids_of(HUB, found["text"])
        assert found["ids_b"] == ids_of(OTHER, found["text"])
        assert [i for span in found["spans"] for i in span["ids_a"]] == found["ids_a"]
        assert found["source"]["file"] == str(corpus)
    again = json.loads(
        run(HUB, OTHER, "--corpus", f"{corpus}:body", "--max-bytes", 50, "--json")[1]
    )
    assert 50 <= again["corpus"]["counts"]["bytes"] < 100


def test_a_note_says_that_only_a_part_of_the_corpora_was_read(run: Command, tmp_path: Path) -> None:
    corpus = tmp_path / "c.jsonl"
    corpus.write_text('{"text": "0123456789"}\n' * 3)
    said = "corpora: only a part was read, as --max-bytes"
    for most, cut in ((10, True), (20, True), (30, False), (31, False)):
        report = json.loads(run(HUB, OTHER, "--corpus", corpus, "--max-bytes", most, "--json")[1])
        assert any(note.startswith(said) for note in report["notes"]) == cut


def test_progress_is_for_terminals(
    run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one.txt").write_text("some text\n", "utf-8")
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich then takes any stream for a terminal
    code, out, err = run(RANKS, HUB, "--corpus", tmp_path)
    assert code == 0
    assert "awkward texts" in err
    assert "corpora" in err
    assert "10 bytes" in err
    assert "\x1b" not in out


# How it ends.


def interrupting(after: int) -> Callable[[str], Any]:
    """Ctrl-C after so many batches of a corpus, or of awkward texts where it is 0."""

    class Interrupting(Seen):
        batches = 0

        def __call__(self, count: int) -> None:
            if after == 0:
                raise KeyboardInterrupt

        def watch(self, seen: object) -> None:
            self.batches += 1
            if self.batches >= after:
                raise KeyboardInterrupt

    return lambda usual: contextlib.nullcontext(Interrupting(usual))


@pytest.mark.parametrize("after", [0, 1])
def test_control_c_reports_what_was_done(
    run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    corpus, state = tmp_path / "corpus.txt", tmp_path / "compared.state"
    corpus.write_text("a line of text\n" * 100_000, "utf-8")
    monkeypatch.setattr("bpe_interop.cli.verify.progress", interrupting(after))
    spm = TOKENIZERS / "spm-tiny" / "sentencepiece", TOKENIZERS / "spm-tiny" / "huggingface"
    settings = ("--corpus", corpus, "--state", state, "--processes", "0")
    code, out, _ = run(*spm, *settings)
    assert code == 130
    assert out.startswith("TESTED      equal on ")
    assert "interrupted before all were compared" in out.splitlines()[0]
    with contextlib.closing(sqlite3.connect(state)) as database:
        kept = [json.loads(row[0]) for row in database.execute("SELECT result FROM parts")]
    counts = [each["report"]["counts"] for each in kept]
    assert len(counts) == after
    assert all(0 < each["bytes"] < corpus.stat().st_size for each in counts)
    # A proof stands by itself, and what was not compared is said.
    code, out, _ = run(RANKS, HUB, *settings[:2])
    assert code == 130
    assert out.startswith("PROVED")
    assert "interrupted: not all texts were compared" in said(out, "note")


def test_control_c_does_not_hide_a_difference(
    run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("we'LL 0000\n" * 10_000, "utf-8")
    monkeypatch.setattr("bpe_interop.cli.verify.progress", interrupting(1))
    code, out, _ = run(HUB, OTHER, "--corpus", corpus)
    assert code == 1
    assert out.startswith("DIFFERENT")


def test_a_run_goes_on_from_its_state(
    run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus, state = tmp_path / "corpus.txt", tmp_path / "compared.state"
    corpus.write_text("a line of text\n" * 100_000, "utf-8")
    settings = (RANKS, HUB, "--corpus", corpus, "--state", state, "--processes", "0")
    with monkeypatch.context() as patch:
        patch.setattr("bpe_interop.cli.verify.progress", interrupting(1))
        assert run(*settings)[0] == 130
    seen: list[int] = []
    tick = Seen("")
    monkeypatch.setattr(tick, "watch", lambda corpus: seen.append(corpus.bytes))
    monkeypatch.setattr(
        "bpe_interop.cli.verify.progress", lambda usual: contextlib.nullcontext(tick)
    )
    code, out, _ = run(*settings)
    assert code == 0
    size = corpus.stat().st_size
    assert f"({size:,} bytes), 0 differ" in said(out, "corpus")[0]
    assert 0 < seen[-1] < size  # the first batch was not compared again


# Engines that fail.


class Failing:
    """tokenizers, which raises on one text and is killed by another."""

    def __init__(self, files: dict[str, bytes], fails: str, kills: str) -> None:
        self._inner = from_files("tokenizers", "huggingface", files)
        self.name, self.version = "tokenizers", self._inner.version
        self.parses_special = True
        self.applies_template = True
        self._fails, self._kills = fails, kills

    def encode(self, text: str, **how: Any) -> list[int]:
        if self._kills and self._kills in text:
            os.kill(os.getpid(), signal.SIGKILL)
        if self._fails and self._fails in text:
            raise EngineError("no answer")
        return self._inner.encode(text, **how)

    def encode_batch(self, texts: Sequence[str], **how: Any) -> list[list[int]]:
        return [self.encode(text, **how) for text in texts]

    def decode(self, ids: Sequence[int]) -> str:
        return self._inner.decode(ids)


def failing_on(monkeypatch: pytest.MonkeyPatch, *, fails: str = "", kills: str = "") -> None:
    """Lets the side that runs in tokenizers fail."""

    def build(source: Any, engine: str | None, preset: str | None) -> Side:
        side = side_of(source, engine, preset)
        if engine != "tokenizers":
            return side
        return replace(side, build=partial(Failing, dict(source.files), fails, kills))

    monkeypatch.setattr(comparison, "side_of", build)


def test_an_engine_that_raises_is_an_outcome(
    run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"text": "fine"}\n{"text": "an odd text"}\n', "utf-8")
    failing_on(monkeypatch, fails="odd")
    code, out, _ = run(RANKS, HUB, "--engine-b", "tokenizers", "--corpus", corpus)
    assert code == 0
    assert said(out, "corpus") == [f"{corpus}: 2 documents (15 bytes), 0 differ, 1 failed in b"]
    assert said(out, "failed") == [f'b failed on "an odd text" ({corpus}:2): no answer']


def test_an_engine_that_fails_always_ends_it(
    run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"text": "an odd text"}\n' * 3_000, "utf-8")
    failing_on(monkeypatch, fails="odd")
    settings = ("--scope", "ordinary", "--engine-b", "tokenizers", "--corpus", corpus)
    code, out, _ = run(RANKS, HUB, *settings)
    assert code == 0
    assert "corpora: ended early: one side alone failed 1,024 times" in said(out, "note")
    assert said(out, "failed")[-1] == "... 1,023 times more"


def test_an_engine_that_panics_is_an_outcome(run: Command, tmp_path: Path) -> None:
    """A million spaces: tiktoken's regex engine runs out of its stack."""
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(json.dumps({"text": " " * 1_000_000 + "x"}) + "\n", "utf-8")
    settings = ("--scope", "ordinary", "--engine-a", "tiktoken", "--corpus", corpus)
    code, out, _ = run(RANKS, HUB, *settings)
    assert code == 0
    assert said(out, "failed")[0].startswith(f'a panicked on "{" " * 50}" ... ')
    assert f"({corpus}:1)" in said(out, "failed")[0]


@pytest.mark.long
def test_a_text_that_kills_an_engine_is_an_outcome(
    run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"text": "fine"}\n{"text": "a bomb"}\n{"text": "fine, too"}\n', "utf-8")
    failing_on(monkeypatch, kills="bomb")
    monkeypatch.setattr(comparison, "awkward", lambda model, seed=0: ["one", "bomb", "two"])
    settings = ("--engine-b", "tokenizers", "--corpus", corpus, "--isolate")
    code, out, _ = run(RANKS, HUB, *settings)
    assert code == 0
    assert said(out, "corpus") == [f"{corpus}: 3 documents (19 bytes), 0 differ, 1 failed in b"]
    assert said(out, "failed") == [
        f'b killed on "a bomb" ({corpus}:2): was killed by SIGKILL',
        'b (tokenizers) killed on "bomb": was killed by SIGKILL',
    ]


# Bad input.


def test_a_corpus_that_is_not_utf_8(run: Command, tmp_path: Path) -> None:
    corpus = tmp_path / "latin.txt"
    corpus.write_bytes(b"one\ncaf\xe9\n")
    code, out, err = run(RANKS, HUB, "--corpus", corpus)
    assert (code, out) == (2, "")
    assert "latin.txt:2: not UTF-8: byte 0xE9 at offset 7" in err
    assert "--errors replace" in err
    code, out, _ = run(RANKS, HUB, "--corpus", corpus, "--errors", "replace")
    assert code == 0
    assert "1 not UTF-8, read with U+FFFD" in said(out, "corpus")[0]


def test_a_shard_that_cannot_be_read(run: Command, tmp_path: Path) -> None:
    corpus = tmp_path / "cut.txt.gz"
    corpus.write_bytes(gzip.compress(b"some text\n" * 1_000)[:-20])
    code, out, err = run(RANKS, HUB, "--corpus", corpus)
    assert (code, out) == (2, "")
    assert "cut.txt.gz: cut off or damaged" in err


def test_a_state_of_another_comparison(run: Command, tmp_path: Path) -> None:
    state, corpus, other = (tmp_path / name for name in ("compared.state", "one.txt", "two.txt"))
    corpus.write_text("one\n", "utf-8")
    other.write_text("two\n", "utf-8")
    assert run(RANKS, HUB, "--corpus", corpus, "--state", state)[0] == 0
    before = state.read_bytes()
    code, out, err = run(RANKS, HUB, "--corpus", other, "--state", state)
    assert (code, out) == (2, "")
    assert "begun on another corpus" in err
    code, out, err = run(RANKS, OTHER, "--corpus", corpus, "--state", state)
    assert (code, out) == (2, "")
    assert "begun for other tokenizers" in err
    code, out, err = run(RANKS, HUB, "--corpus", corpus, "--state", tmp_path / "no" / "state")
    assert (code, out) == (2, "")
    assert state.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 3


def test_a_stage_shows_one_text(run: Command) -> None:
    """The one whose ids differ, and no second one that the patterns cut otherwise."""
    a, b = (TOKENIZERS / name / "huggingface" for name in ("cl100k-tiny", "o200k-tiny"))
    (line,) = (each for each in said(run(a, b).out, "stage") if each.startswith("pre-tokenizer"))
    (stage,) = (each for each in verify(a, b).stages if each.name == "pre-tokenizer")
    assert stage.witness is not None
    assert ids_of(a, stage.witness) != ids_of(b, stage.witness)
    assert line.split(maxsplit=2)[2] == f"they split {show_text(stage.witness)} differently"


def test_all_stages_that_differ_are_named_in_the_head(command: Command) -> None:
    one, two = (TOKENIZERS / name / "huggingface" for name in ("cl100k-tiny", "o200k-tiny"))
    head, *lines = command("verify", one, two).out.split("\n")
    assert head.startswith("DIFFERENT at stage: pre-tokenizer;")
    also = [line.removeprefix("also at     ") for line in lines if line.startswith("also at")]
    tokens = [json.loads(each.joinpath("tokenizer.json").read_bytes()) for each in (one, two)]
    left, right = (
        {*each["model"]["vocab"]} - {token["content"] for token in each["added_tokens"]}
        for each in tokens
    )
    assert [line.split(":")[0] for line in also] == ["core", "ids", "special tokens"]
    assert left < right
    assert also[0].startswith(f"core: {len(right - left)} only in the second, ")


def test_texts_are_counted_by_the_way_of_asking(command: Command, tmp_path: Path) -> None:
    source = TOKENIZERS / "spm-tiny" / "sentencepiece"
    for name in ("none", "bos"):
        convert(source, tmp_path / name, "hf", said=Statement(template=name), verify=False)
    ran = command("verify", tmp_path / "none", tmp_path / "bos").out
    [texts] = [line for line in ran.split("\n") if line.startswith("texts ")]
    found = re.fullmatch(
        r"texts +(\S+) of (\S+) awkward texts differ "
        r"\(as text 0, parsed 0, template applied (\S+)\)",
        texts,
    )
    assert found is not None
    assert len({*found.groups()}) == 1
    assert "also at" not in ran
