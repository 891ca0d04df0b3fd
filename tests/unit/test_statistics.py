"""Statistics of corpora against the reference engines' counts: numbers, tables and drawings."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import pytest
from command_line import Command
from in_tokenizers import token_of
from reports import HOSTILE
from tokenizers import Tokenizer as Engine

from bpe_interop.corpora import find_files
from bpe_interop.errors import EncodeError
from bpe_interop.model import BPEModel, PairList, Vocab
from bpe_interop.sources import load_source
from bpe_interop.statistics import measure
from bpe_interop.token_counts import Statistics
from bpe_interop.tokenizer import Tokenizer
from bpe_interop.view.plot import ROWS, to_svg
from fixtures import FIXTURES, TOKENIZERS

GPT2, CL100K, SPM = (
    TOKENIZERS / name / "huggingface" for name in ("gpt2-tiny", "cl100k-tiny", "spm-tiny")
)
EMOJI = FIXTURES / "corpora" / "emoji.txt"
NUMBERS = FIXTURES / "corpora" / "numbers.txt"


def tokenizer(folder: Path) -> Tokenizer:
    return Tokenizer(load_source(folder).model)


@pytest.fixture(scope="module")
def found() -> list[Statistics]:
    sides = [("gpt2", tokenizer(GPT2)), ("cl100k", tokenizer(CL100K))]
    return measure(sides, find_files([EMOJI, NUMBERS])).statistics


def test_there_is_one_for_each_file_and_tokenizer(found: list[Statistics]) -> None:
    names = [(Path(each.file).name, each.tokenizer) for each in found]
    assert names == [
        (file, name) for file in ("emoji.txt", "numbers.txt", "") for name in ("gpt2", "cl100k")
    ]


@pytest.mark.parametrize(("at", "folder"), [(0, GPT2), (1, CL100K)])
def test_counts_are_the_references(found: list[Statistics], at: int, folder: Path) -> None:
    """The file is shorter than a document may be, so it is one."""
    text = EMOJI.read_bytes().decode("utf-8")
    engine = Engine.from_file(str(folder / "tokenizer.json"))
    special = {n for n, t in engine.get_added_tokens_decoder().items() if t.special}
    assert not any(token_of(engine, number) in text for number in special)
    expected = Counter(engine.encode(text, add_special_tokens=False).ids)
    each = found[at]
    assert each.counts == expected
    assert (each.documents, each.bytes, each.words) == (1, EMOJI.stat().st_size, len(text.split()))
    assert each.tokens == expected.total()
    assert each.bytes_per_token == each.bytes / each.tokens
    assert each.tokens_per_word == each.tokens / each.words
    usable = {*engine.get_vocab().values()} - special
    assert each.unused == sorted(usable - expected.keys())
    assert each.usable == len(usable)
    # In GPT-2's byte alphabet every byte is one character.
    lengths: Counter[int] = Counter()
    for number, count in expected.items():
        lengths[len(token_of(engine, number))] += count
    assert each.lengths == dict(sorted(lengths.items()))


def test_all_files_are_their_sum(found: list[Statistics]) -> None:
    for at in (0, 1):
        parts, total = (found[at], found[2 + at]), found[4 + at]
        assert total.counts == parts[0].counts + parts[1].counts
        assert total.bytes == parts[0].bytes + parts[1].bytes
        assert total.words == parts[0].words + parts[1].words
        assert total.documents == parts[0].documents + parts[1].documents
        assert set(total.unused) == set(parts[0].unused) & set(parts[1].unused)


def test_a_tokens_own_bytes_are_counted(tmp_path: Path) -> None:
    """Where tokens are spelled as text: U+2581 is one byte, and so is a token for a byte."""
    path = tmp_path / "text.txt"
    path.write_text("the\u65e5", "utf-8")
    (each,) = measure([("spm", tokenizer(SPM))], find_files([path])).statistics
    assert each.lengths == {1: 3, 4: 1}
    assert (each.bytes, each.tokens) == (6, 4)


def test_nothing_is_measured_of_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").touch()
    (each,) = measure([("gpt2", tokenizer(GPT2))], find_files([tmp_path])).statistics
    assert (each.tokens, each.bytes_per_token, each.tokens_per_word) == (0, None, None)
    assert len(each.unused) == each.usable


def test_where_a_text_without_encoding_stands_is_said(tmp_path: Path) -> None:
    path = tmp_path / "texts.jsonl"
    path.write_text('{"text": "aa"}\n{"text": "ab"}\n', "utf-8")
    model = BPEModel(Vocab({b"a": 0}), PairList(()), normalizer=(), pretokenizer=(), added=())
    with pytest.raises(EncodeError, match=r"texts\.jsonl:2: .*\"b\""):
        measure([("a", Tokenizer(model))], find_files([path]))


# The drawing.


def test_the_drawing_says_what_it_shows(found: list[Statistics]) -> None:
    root = ElementTree.fromstring(to_svg(found))
    assert root.attrib["role"] == "img"
    said = "".join(root.itertext())
    for each in found:
        assert f"{each.bytes_per_token:.2f} bytes per token" in said
        assert f"{len(each.unused):,} of {each.usable:,}" in said
    bars = [float(bar.attrib["width"]) for bar in root.findall(".//{*}rect[@rx]")]
    rates = [each.bytes_per_token or 0 for each in found]
    assert len(bars) == len(found)
    for bar, rate in zip(bars, rates, strict=True):
        assert bar / max(bars) == pytest.approx(rate / max(rates), abs=0.01)


def test_any_name_can_be_drawn(found: list[Statistics]) -> None:

    named = [replace(found[0], file=text, tokenizer=text) for text in HOSTILE]
    root = ElementTree.fromstring(to_svg(named))
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags == {"svg", "title", "desc", "style", "rect", "text", "line"}
    long = ["/" + "a" * 50 + "/tokenizer.json", "/" + "b" * 50 + "/tokenizer.json", "語" * 60]
    long += [f"{name[:8]}/x/{'same' * 9}/tokenizer.json" for name in long]
    drawn = ElementTree.fromstring(
        to_svg([replace(found[0], file="a", tokenizer=name) for name in long])
    )
    texts = [each for each in drawn.findall("{*}text") if each.find("{*}title") is not None]
    shown = {
        "".join(each.itertext()).removeprefix(each.findtext("{*}title") or "") for each in texts
    }
    assert len(shown) == len(long)
    assert [each.findtext("{*}title") for each in texts] == long
    # The bars begin at 300.
    assert all(24 + float(each.attrib["textLength"]) < 300 for each in texts)
    many = ElementTree.fromstring(to_svg(found * ROWS))
    assert f"{5 * ROWS} rows are not drawn" in "".join(many.itertext()).replace(",", "")


# The command.


@pytest.fixture
def run(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs ``inspect`` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return partial(command, "inspect")


def test_a_table_and_a_drawing(run: Command, found: list[Statistics]) -> None:
    given = ("--corpus", EMOJI, "--corpus", NUMBERS, "--plot", "out.svg")
    code, out, err = run(GPT2, CL100K, *given)
    assert (code, err) == (0, "")
    rows = [line.split() for line in out.splitlines()]
    for each, row in zip(found, rows[1:7], strict=True):
        assert f"{each.tokens:,}" in row
        assert f"{each.bytes_per_token:.2f}" in row
        assert f"{len(each.unused):,}" in row
    shares = [row for row in rows[8:15] if row and row[-1].endswith("%")]
    for each, row in zip(found, shares, strict=True):
        assert f"{each.lengths[1] / each.tokens:.1%}" in row
    ElementTree.parse("out.svg")
    assert out.endswith("drawn       out.svg\n")


def test_numbers_as_json(run: Command, found: list[Statistics]) -> None:
    code, out, _ = run(GPT2, CL100K, "--json", "--corpus", EMOJI, "--corpus", NUMBERS)
    data = json.loads(out)["statistics"]
    assert code == 0
    assert [each["tokens"] for each in data] == [each.tokens for each in found]
    assert [each["unused"] for each in data] == [each.unused for each in found]
    assert data[0]["lengths"] == {str(n): count for n, count in found[0].lengths.items()}
    assert (data[0]["file"], data[-1]["file"]) == (EMOJI.as_posix(), None)


def test_standard_input_is_read_once_for_all(run: Command) -> None:
    out = run(GPT2, CL100K, "--json", "--corpus", "-", stdin=b"in the year 2023\n")[1]
    assert [each["bytes"] for each in json.loads(out)["statistics"]] == [17, 17]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((GPT2, CL100K), "name some with --corpus; or inspect one, or compare two with"),
        ((GPT2, "--plot", "out.svg"), "--corpus"),
        ((GPT2, "--corpus", EMOJI, "--plot", "out.png"), "in SVG\n  end its name in .svg"),
        ((GPT2, "--corpus", "missing.txt"), "No such file"),
        ((GPT2, "--corpus", EMOJI, "--plot", "no/folder/out.svg"), "No such file"),
    ],
)
def test_what_makes_no_sense_is_refused(run: Command, arguments: tuple[object], said: str) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert not Path("out.svg").exists()
    assert not Path("out.png").exists()
