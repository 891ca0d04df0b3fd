"""Fingerprints: equal ones mean equal tokenizers, and each line says which part changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import Data
from hypothesis import given
from hypothesis import strategies as st

from bpe_interop.fingerprint import PARTS, fingerprint
from bpe_interop.formats import by_name
from bpe_interop.model import AddedToken, BPEModel, PairList, RankTable, SequenceTemplate, Vocab
from bpe_interop.presets import fill
from bpe_interop.sources import load_source
from bpe_interop.steps import JoinBytes, Lowercase, Pattern, Split
from bpe_interop.theory.core import decide, system_of

FIXTURES = Path(__file__).parent.parent / "fixtures" / "tokenizers"
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
R50K = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"


def tiny(**changes: Any) -> BPEModel:
    ids = {bytes([byte]): byte for byte in range(256)} | {b"ab": 256, b"abc": 257}
    model = BPEModel(
        vocab=Vocab(ids),
        merges=RankTable(ids),
        normalizer=(),
        pretokenizer=(Split(Pattern(GPT2, "python"), "isolated"),),
        added=(AddedToken("<e>", 300),),
        sequence_template=SequenceTemplate(),
        decoder=(JoinBytes(),),
    )
    return replace(model, **changes)


def changed(**changes: Any) -> set[str]:
    before, after = fingerprint(tiny()), fingerprint(tiny(**changes))
    return {part for part in PARTS if before[part] != after[part]}


def test_the_lines_say_which_part_changed() -> None:
    assert changed() == set()
    assert changed(normalizer=(Lowercase(),)) == {"text", "all"}
    assert changed(added=(AddedToken("<f>", 300),)) >= {"specials", "all"}
    assert changed(added=(AddedToken("<e>", 300, special=False),)) == {"specials", "all"}
    assert changed(sequence_template=None) == {"template", "all"}
    assert changed(chat_template="x", extras={"x": 1}) == set()


def test_what_the_source_does_not_say_is_not_what_it_says_there_is_none_of() -> None:
    assert changed(normalizer=None) == {"text", "all"}
    assert changed(added=None) >= {"specials"}


def test_spellings_that_split_alike_share_a_fingerprint() -> None:
    r50k = (Split(Pattern(R50K, "fancy-regex"), "removed", invert=True),)
    assert changed(pretokenizer=r50k) == set()
    assert changed(pretokenizer=(Split(Pattern(r"\s+|\S+", "python"), "isolated"),)) == {
        "text",
        "all",
    }


def test_a_merge_list_shares_the_fingerprint_of_its_ranks() -> None:
    pairs = PairList(((b"a", b"b"), (b"ab", b"c")))
    assert changed(merges=pairs) == set()
    assert changed(merges=PairList(((b"a", b"b"),))) == {"text", "all"}


letters = st.lists(st.text("ab", min_size=2, max_size=4), max_size=6, unique=True)


@given(letters, letters)
def test_equal_fingerprints_of_text_mean_that_the_merges_are_equal(
    x: list[str], y: list[str]
) -> None:
    def model(words: list[str]) -> BPEModel:
        ids = {b"a": 0, b"b": 1}
        for word in words:
            ids[word.encode()] = len(ids)
        return tiny(vocab=Vocab(ids), merges=RankTable(ids), pretokenizer=(), added=())

    a, b = model(x), model(y)
    if fingerprint(a)["text"] == fingerprint(b)["text"]:
        assert decide(system_of(a), system_of(b)).verdict == "proved"


@pytest.mark.parametrize("name", ["cl100k-tiny", "gpt2-tiny", "o200k-tiny"])
def test_a_fixture_has_one_fingerprint_of_text_in_every_format(name: str) -> None:
    found = set()
    for folder in (FIXTURES / name).iterdir():
        files = {path.name: path.read_bytes() for path in folder.iterdir()}
        model = fill(by_name(folder.name).load(files), None)
        if model.pretokenizer is not None:
            model = replace(model, normalizer=model.normalizer or ())
            found.add(fingerprint(model)["text"])
    assert len(found) == 1


def test_published_files_share_what_they_share(data: Data) -> None:
    def prints(source: str | Path, **how: str) -> dict[str, str]:
        return fingerprint(load_source(source, **how).model)

    oss, harmony = prints(data("gpt-oss/tokenizer.json")), prints("tiktoken:o200k_harmony")
    assert oss["text"] == harmony["text"]
    assert oss["specials"] != harmony["specials"]
    pair = prints(data("gpt2/encoder.json"), format="gpt2")
    assert pair["text"] == prints(data("gpt2/tokenizer.json"))["text"]
    assert pair["text"] == prints("tiktoken:gpt2")["text"]
    assert pair["text"] != oss["text"]
