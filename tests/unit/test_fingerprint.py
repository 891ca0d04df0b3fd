"""Fingerprints: equal ones mean equal tokenizers, and each line says which part changed."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import Data
from hypothesis import given
from hypothesis import strategies as st

from bpe_interop.fingerprint import PARTS, fingerprint
from bpe_interop.formats import by_name
from bpe_interop.kernel import set_aside
from bpe_interop.model import (
    AddedToken,
    Affixes,
    BPEModel,
    Kind,
    PairList,
    RankTable,
    SequenceTemplate,
    Vocab,
)
from bpe_interop.presets import fill
from bpe_interop.sources import load_source
from bpe_interop.steps import Dialect, Fuse, JoinBytes, Lowercase, Pattern, Replace, Split
from bpe_interop.text.split import split
from bpe_interop.theory.equality import decide, system_of
from bpe_interop.theory.utf8 import UTF8_BYTES
from fixtures import TOKENIZERS

DIALECTS: tuple[Dialect, ...] = ("oniguruma", "fancy-regex", "python")
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
R50K = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"


def tiny(**changes: Any) -> BPEModel:
    ids = {bytes([byte]): byte for byte in range(256)} | {b"ab": 256, b"abc": 257}
    model = BPEModel(
        vocab=Vocab(ids),
        merges=RankTable(ids),
        normalizer=(),
        pretokenizer=(Split(Pattern(GPT2, "oniguruma"), "isolated"),),
        added=(AddedToken("<e>", 300),),
        sequence_template=SequenceTemplate(),
        decoder=(JoinBytes(),),
    )
    return replace(model, **changes)


def changed(**changes: Any) -> set[str]:
    before, after = fingerprint(tiny()), fingerprint(tiny(**changes))
    return {part for part in PARTS if before[part] != after[part]}


def text_line(**changes: Any) -> str:
    return fingerprint(tiny(**changes))["text"]


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


def test_patterns_of_other_tables_do_not_share_a_fingerprint() -> None:
    """Python's ``regex`` knows code points that the engines' tables do not have."""
    own = (Split(Pattern(GPT2, "python"), "removed", invert=True),)
    assert changed(pretokenizer=own) == {"text", "all"}
    letters = (Split(Pattern("[a-z]+|[^a-z]+", dialect), "isolated") for dialect in DIALECTS)
    assert len({text_line(pretokenizer=(step,)) for step in letters}) == 1


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
    for folder in (TOKENIZERS / name).iterdir():
        files = {path.name: path.read_bytes() for path in folder.iterdir()}
        model = fill(by_name(folder.name).load(files), None)
        if model.pretokenizer is not None:
            model = replace(model, normalizer=model.normalizer or ())
            found.add(fingerprint(model)["text"])
    assert len(found) == 1


@pytest.mark.long
def test_published_files_share_what_they_share(data: Data) -> None:
    def prints(source: str | Path, **how: Any) -> dict[str, str]:
        return fingerprint(load_source(source, **how).model)

    oss, harmony = prints(data("gpt-oss/tokenizer.json")), prints("tiktoken:o200k_harmony")
    assert oss["text"] == harmony["text"]
    assert oss["specials"] != harmony["specials"]
    pair = prints(data("gpt2/encoder.json"), format="gpt2")
    assert pair["text"] == prints(data("gpt2/tokenizer.json"))["text"]
    assert pair["text"] == prints("tiktoken:gpt2")["text"]
    assert pair["text"] != oss["text"]


# What must not share a line, and what should: each condition of the normal form alone.


def test_steps_that_keep_what_others_drop_or_join_do_not_share_a_line() -> None:
    """Texts: ``b`` is dropped by the first two; ``ab`` is one pretoken of the last two."""
    only = Pattern("a+", "oniguruma")
    every = Pattern(r"[\s\S]", "oniguruma")
    steps = (
        Split(only, "removed", invert=True),
        Split(only, "removed"),
        Split(only, "isolated"),
        Split(only, "isolated", invert=True),
        Split(every, "isolated"),
        Split(every, "contiguous"),
        Split(every, "removed"),
    )
    cuts = [tuple(split((step,), "ab")) for step in steps]
    lines = [text_line(pretokenizer=(step,)) for step in steps]
    for one, line in zip(cuts, lines, strict=True):
        for other, again in zip(cuts, lines, strict=True):
            assert line != again or one == other
    assert text_line(pretokenizer=(Split(every, "removed", invert=True),)) == lines[4]


def test_tokens_that_only_a_lookup_finds_count_where_they_can_be_a_pretoken() -> None:
    ids = {**tiny().vocab.ids, b"xyz": 400}
    merges = PairList(((b"a", b"b"), (b"ab", b"c")))
    model = {"vocab": Vocab(ids), "merges": merges}
    looked_up = text_line(**model, lookup_first=True)
    assert looked_up != text_line(**model)
    moved = {**model, "vocab": Vocab({**ids, b"xyz": 401})}
    assert looked_up != text_line(**moved, lookup_first=True)
    digits = {"pretokenizer": (Split(Pattern(r"[a-z]|[^a-z]", "python"), "isolated"),)}
    assert text_line(**model, **digits, lookup_first=True) == text_line(**model, **digits)


def test_tokens_that_no_text_gives_do_not_count() -> None:
    ids = tiny().vocab.ids
    merges = PairList(((b"a", b"b"), (b"ab", b"c")))
    assert 0xFF not in UTF8_BYTES
    more = {**ids, b"\xff": 600, b"xy": 601, "\u00e9".encode(): 602}
    assert text_line(vocab=Vocab(more), merges=merges) == text_line(merges=merges)
    characters = {"alphabet": "char", "merges": merges, "added": (), "decoder": (Fuse(),)}
    less = {token: n for token, n in ids.items() if token < b"\x80"}
    plain = text_line(vocab=Vocab(less), **characters)
    assert text_line(vocab=Vocab({**less, b"xy": 601}), **characters) == plain
    kinds: tuple[Kind, ...] = ("control", "unused")
    for kind in kinds:
        vocab = Vocab({**less, b"xy": 601}, {601: kind})
        assert text_line(vocab=vocab, **characters) == plain
    assert text_line(vocab=Vocab({**less, "\u00e9".encode(): 602}), **characters) != plain


def test_tokens_by_their_kinds_count() -> None:
    """Byte tokens, and what is cut out before merging, are given though nothing merges to them."""
    ids = {b"a": 0, b"b": 1, b"ab": 2, b"<0xC3>": 3, b"\xe2\x96\x81x": 4}
    kinds = {3: "byte", 4: "user_defined"}
    merges = PairList(((b"a", b"b"),))
    fields = {"alphabet": "char", "added": (), "decoder": (Fuse(),), "merges": merges}

    def line(ids: Mapping[bytes, int], kinds: Any) -> str:
        return text_line(vocab=Vocab(ids, kinds), **fields)

    plain = line(ids, kinds)
    for token in (b"<0xC3>", b"\xe2\x96\x81x"):
        moved = {**ids, token: 9}
        assert line(moved, {moved[t]: kinds[n] for t, n in ids.items() if n in kinds}) != plain
    assert line(ids, {**kinds, 2: "unused"}) != plain


def test_flags_of_added_tokens_count_where_they_matter() -> None:
    plain = AddedToken("A", 300, special=False)
    late = replace(plain, normalized=True)
    assert changed(added=(late,)) & {"specials"} == changed(added=(plain,)) & {"specials"}

    def specials(*added: AddedToken, **changes: Any) -> str:
        return fingerprint(tiny(added=added, **changes))["specials"]

    assert specials(late) == specials(plain)
    assert specials(late, normalizer=(Lowercase(),)) != specials(plain, normalizer=(Lowercase(),))
    # The pass in which a token is found shows beside one that takes its space.
    early, beside = (AddedToken(" b", 300, special=False, normalized=n) for n in (False, True))
    taking = AddedToken("a", 301, special=False, rstrip=True)
    assert specials(early, taking) != specials(beside, taking)
    for flagged in (replace(plain, ascii_space=True), replace(plain, longest_first=True)):
        assert specials(flagged) != specials(plain)


def test_decoders_count() -> None:
    assert changed(decoder=(Fuse(),)) == {"decoder", "all"}
    assert changed(decoder=None) == {"decoder", "all"}


def test_spellings_of_what_is_replaced_share_a_fingerprint() -> None:
    literal = text_line(normalizer=(Replace("a", "b"),))
    assert literal != text_line(normalizer=(Replace("a", "c"),))
    spelled = [text_line(normalizer=(Replace(Pattern("[x]", d), "b"),)) for d in DIALECTS]
    assert len(set(spelled)) == 1


def test_fingerprints_stay_what_they_were() -> None:
    """Lock files hold them: one that changes without a reason breaks each lock that there is."""
    stored = {
        "text": "1748ad6db9af3112",
        "specials": "c8e5070b556c7cc9",
        "template": "1e19036a5da3c194",
        "decoder": "e8a951e268c4319d",
    }
    found = fingerprint(tiny())
    assert {name: found[name][:16] for name in stored} == stored
    # Beside affixes, tokens that no text gives have always counted.
    ids = {b"a": 0, b"a</w>": 1, b"aa</w>": 2, b"ba</w>": 3}
    merges = PairList(((b"a", b"a</w>"),))
    suffixed = {"alphabet": "char", "affixes": Affixes(suffix=b"</w>"), "added": ()}
    line = text_line(vocab=Vocab(ids), merges=merges, decoder=(Fuse(),), **suffixed)
    assert line[:16] == "b8cba79f9734c298"


SOURCES = sorted(
    path
    for path in TOKENIZERS.glob("*/*")
    if path.name in ("huggingface", "sentencepiece", "tekken", "minbpe")
)


def both_ways(path: Path) -> tuple[dict[str, str], dict[str, str]]:
    with set_aside():
        by_python = fingerprint(load_source(path).model)
    return fingerprint(load_source(path).model), by_python


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_the_kernel_writes_what_python_writes(path: Path) -> None:
    native, by_python = both_ways(path)
    assert native == by_python


@pytest.mark.parametrize("name", ["gpt2/encoder.json", "gpt2/tokenizer.json"])
def test_the_kernel_writes_what_python_writes_of_real_files(name: str, data: Data) -> None:
    native, by_python = both_ways(data(name))
    assert native == by_python


def test_the_kernel_writes_symbols_that_are_no_tokens() -> None:
    tokens = [bytes([byte]) for byte in range(256) if byte != 5] + [b"\x05\x06", b"\x05\x06a"]
    lines = [b"%b %d" % (b64encode(token), rank) for rank, token in enumerate(tokens)]
    files = {"some.tiktoken": b"\n".join(lines)}
    with set_aside():
        by_python = fingerprint(by_name("tiktoken").load(files))
    assert fingerprint(by_name("tiktoken").load(files)) == by_python
