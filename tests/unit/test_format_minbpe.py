"""minbpe's saved models: read and written as minbpe does, and what they cannot hold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from bpe_interop import Tokenizer, load
from bpe_interop.diff import diff
from bpe_interop.engines import Engine, Special, from_files
from bpe_interop.errors import EngineError, FormatError, LossyConversionError, TargetError
from bpe_interop.formats import Files, by_name
from bpe_interop.gate import describe, refuse
from bpe_interop.loss import Loss
from bpe_interop.model import AddedToken, BPEModel, PairList, RankTable, SequenceTemplate, Vocab
from bpe_interop.sources import load_source
from bpe_interop.steps import JoinBytes, Lowercase, Pattern, PrefixSpace, PreTokenizerStep, Split
from bpe_interop.train import train
from fixtures import TOKENIZERS, minbpe_models

MINBPE = by_name("minbpe")
NAMES = ("minbpe-tiny", "minbpe-basic-tiny")


def written(model: BPEModel) -> str:
    (data,) = MINBPE.dump(model).values()
    return data.decode("utf-8")


def read(*lines: str) -> BPEModel:
    return MINBPE.load({"tok.model": "".join(f"{line}\n" for line in lines).encode()})


def files_of(name: str) -> Files:
    return {path.name: path.read_bytes() for path in (TOKENIZERS / name / "minbpe").iterdir()}


# Reading and writing.


def test_what_a_file_says() -> None:
    model = read("minbpe v1", r"\S+|\s+", "2", "<|a|> 300", "<|b|> 258", "97 98", "256 99")
    assert [model.vocab.ids[token] for token in (b"\0", b"a", b"\xff")] == [0, 97, 255]
    assert [model.vocab.ids[token] for token in (b"ab", b"abc")] == [256, 257]
    assert model.merges == PairList(((b"a", b"b"), (b"ab", b"c")))
    pattern = Pattern(r"\S+|\s+", "python")
    assert model.pretokenizer == (Split(pattern, "removed", invert=True),)
    assert model.added == (AddedToken("<|a|>", 300), AddedToken("<|b|>", 258))
    assert (model.normalizer, model.sequence_template) == ((), SequenceTemplate())
    assert model.decoder == (JoinBytes(),)
    assert (model.origin.format, model.origin.name) == ("minbpe", "tok")


def test_what_depends_on_unicode_tables_is_said() -> None:
    assert "Unicode tables" in read("minbpe v1", r"\p{L}+|\P{L}", "0").origin.notes[0]
    for pattern in ("", "[a-z]+|[^a-z]"):
        assert not read("minbpe v1", pattern, "0").origin.notes


@pytest.mark.parametrize("name", NAMES)
def test_both_files_are_written_as_minbpe_writes_them(name: str) -> None:
    files = files_of(name)
    model = MINBPE.load(files)
    plain = MINBPE.dump(model)
    assert plain == {f"{name}.model": files[f"{name}.model"]}
    assert MINBPE.options["vocab-listing"](model, plain) == files


def test_line_ends_and_a_missing_last_one() -> None:
    files = files_of("minbpe-tiny")
    data = files["minbpe-tiny.model"]
    model = MINBPE.load({"x.model": data})
    for other in (data.replace(b"\n", b"\r\n"), data.replace(b"\n", b"\r"), data[:-1]):
        assert MINBPE.load({"x.model": other}).merges == model.merges
        engine = from_files("tokenizers", "minbpe", {"x.model": other})
        assert engine.encode("hello world") == load(TOKENIZERS / "minbpe-tiny/minbpe").encode(
            "hello world"
        )


def test_a_file_is_recognised_by_its_first_line(tmp_path: Path) -> None:
    (tmp_path / "tok.model").write_bytes(files_of("minbpe-tiny")["minbpe-tiny.model"])
    assert load_source(tmp_path / "tok.model").format is MINBPE
    (tmp_path / "tok.vocab").write_bytes(b"[a] 97\n")
    assert load_source(tmp_path).format is MINBPE


def test_saving_and_loading(tmp_path: Path) -> None:
    tokenizer = train("low lower lowest", merges=4, special_tokens=["<|end|>"], name="low")
    tokenizer.save(tmp_path / "out", format="minbpe")
    assert (tmp_path / "out" / "low.model").read_text("utf-8") == (
        "minbpe v1\n\n1\n<|end|> 260\n108 111\n256 119\n32 257\n258 101\n"
    )
    again = load(tmp_path / "out")
    assert again.encode("low<|end|>", allowed_special="all") == [257, 260]
    assert not diff(tokenizer.model, again.model)


def test_saving_takes_the_formats_options(tmp_path: Path) -> None:
    files = files_of("minbpe-tiny")
    tokenizer = Tokenizer(MINBPE.load(files))
    tokenizer.save(tmp_path / "out", format="minbpe", options=["vocab-listing"])
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == files
    wrong: list[tuple[Any, str]]
    wrong = [("plugin", "it belongs to: tiktoken"), ("nothing", "no such option")]
    for option, said in wrong:
        with pytest.raises(TargetError, match=said):
            tokenizer.save(tmp_path / "new", format="minbpe", options=option)
    assert not (tmp_path / "new").exists()


SYMBOLS = st.text("ab \u00e9", max_size=40)
PATTERNS = ("", r"\S+|\s+", r" ?\S+|\s+", r"a+|b")


@given(SYMBOLS, SYMBOLS, st.sampled_from(PATTERNS), st.booleans())
def test_ids_are_minbpes(text: str, other: str, pattern: str, special: bool) -> None:
    """Learned, written, read and run by minbpe's algorithm, and read and run by ours.

    Theorem 9 in ``docs/theory.md``.
    """
    tokenizer = train(f"{text}ab ba", min_frequency=2, pattern=pattern or None)
    names = ("ab", "abb") if special else ()
    added = tuple(AddedToken(one, 900 + place) for place, one in enumerate(names))
    model = replace(tokenizer.model, added=added)
    lines = written(model).split("\n")
    merges = {}
    for place, line in enumerate(lines[3 + len(names) : -1], 256):
        left, right = map(int, line.split())
        merges[left, right] = place
    theirs = minbpe_models.Model(lines[1], merges)
    for line in lines[3 : 3 + len(names)]:
        one, number = line.split()
        theirs.special[one] = int(number)
    ours = Tokenizer(MINBPE.load(MINBPE.dump(model)))
    for source in (ours, Tokenizer(model)):
        assert source.encode_ordinary(other) == theirs.encode_ordinary(other)
        ids = source.encode(other, allowed_special="all")
        assert ids == theirs.encode(other)
        assert source.decode(ids) == theirs.decode(ids)


def test_a_special_token_that_begins_another_stands_behind_it() -> None:
    model = read("minbpe v1", "", "1", "<a> 500")
    model = replace(model, added=(AddedToken("<a>", 500), AddedToken("<a>b", 501)))
    assert written(model).split("\n")[3:5] == ["<a>b 501", "<a> 500"]
    assert not list(MINBPE.losses(model))


# Patterns.


@pytest.mark.parametrize(
    ("source", "dialect"),
    [
        (r" ?\S+|\s+", "python"),
        (r"\S+|\s+(?# it ends in a space) ", "python"),
        ("a\n|[^a]+|a", "python"),
        (r"(a|b)+|[^ab]", "python"),
        (r"(?i:'s)?[^\p{Lu}k]+.|.", "fancy-regex"),
        (r"\s+\z|\s|\S+", "fancy-regex"),
        (r"(\p{L}+)|\P{L}", "oniguruma"),
    ],
)
def test_a_pattern_is_one_line_that_findall_runs(source: str, dialect: Any) -> None:
    step = Split(Pattern(source, dialect), "removed", invert=True)
    model = replace(read("minbpe v1", "", "0"), pretokenizer=(step,))
    if "(?#" in source:  # not understood, so it cannot be written otherwise
        assert {loss.field for loss in MINBPE.losses(model)} == {"pretokenizer"}
        return
    assert not [loss for loss in MINBPE.losses(model) if loss.grade != "metadata"]
    line = written(model).split("\n")[1]
    assert line == line.strip() != ""
    tokenizer = Tokenizer(model)
    for text in ("a b  ab\u00e9'S K\u00e9 1\n", "  ", "a\n\na", "\u00e9K", "x's \n"):
        found = regex.findall(line, text)
        assert found == tokenizer.pretokenize(text), text


def test_what_a_step_keeps_must_all_be_matched() -> None:
    def lost(*steps: PreTokenizerStep) -> dict[str, str | None]:
        model = replace(read("minbpe v1", "", "0"), pretokenizer=steps)
        return {loss.field: loss.witness for loss in MINBPE.losses(model)}

    assert not lost(Split(Pattern(r"\S+|\s+", "oniguruma"), "isolated"))
    assert not lost(Split(Pattern("[^b]", "oniguruma"), "isolated"))  # as [^b]|b+ (Theorem 29)
    assert lost(Split(Pattern("[^b]cde", "oniguruma"), "isolated")).keys() == {"pretokenizer"}
    assert lost(PrefixSpace()).keys() == {"pretokenizer"}
    assert lost(Split("bcd", "isolated")).keys() == {"pretokenizer"}
    assert not lost(Split(Pattern("b", "oniguruma"), "removed"))


# What cannot be held.


def losses_of(model: BPEModel) -> dict[str, Loss]:
    return {loss.field: loss for loss in MINBPE.losses(model)}


def test_gpt4s_byte_order_is_a_named_loss() -> None:
    loaded = load_source(TOKENIZERS / "cl100k-tiny" / "tiktoken")
    with pytest.raises(LossyConversionError, match="a byte's id is its value") as found:
        refuse(loaded.model, MINBPE)
    (loss,) = found.value.losses
    assert (loss.field, loss.grade, loss.witness) == ("vocab", "ids", "!")
    theirs = from_files("tiktoken", "tiktoken", loaded.files)
    renumbered = from_files("tokenizers", "minbpe", MINBPE.dump(loaded.model))
    assert (theirs.encode("A"), renumbered.encode("A")) == ([32], [65])


def base() -> BPEModel:
    return read("minbpe v1", r"\S+|\s+", "0", "97 98", "256 99")


def test_a_merge_before_those_of_its_parts() -> None:
    model = base()
    assert isinstance(model.merges, PairList)
    model = replace(model, merges=PairList(model.merges.pairs[::-1]))
    found = losses_of(model)
    assert found.keys() == {"vocab", "merges"}
    assert found["merges"].witness == "abc"


def test_a_rank_table_with_a_token_that_only_a_lookup_finds() -> None:
    ids = {**base().vocab.ids, b"xyz": 258}
    model = replace(base(), vocab=Vocab(ids), merges=RankTable(ids), lookup_first=True)
    found = losses_of(model)
    assert found.keys() == {"vocab", "lookup_first"}
    assert found["lookup_first"].witness == "xyz"
    assert "xyz" in found["lookup_first"].what
    control = Vocab({**base().vocab.ids, b"xyz": 258}, {258: "control"})
    assert losses_of(replace(base(), vocab=control))["vocab"].grade == "text"


@pytest.mark.parametrize(
    ("token", "grade", "why", "witness"),
    [
        (AddedToken("a b", 300), "text", "white space", "a b"),
        (AddedToken("<x>", 257), "text", "of a byte or a merge", "<x>"),
        (AddedToken("<x>", 300, special=False), "text", "not special", "<x>"),
        (AddedToken("<x>", 300, lstrip=True), "text", "lstrip", " <x>"),
        (AddedToken("<x>", 300, rstrip=True), "text", "rstrip", "<x> "),
        (AddedToken("<x>", 300, single_word=True), "text", "single_word", "a<x>"),
        (AddedToken("<x>", 300, roles=("bos",)), "metadata", "bos", None),
    ],
)
def test_added_tokens(token: AddedToken, grade: str, why: str, witness: str | None) -> None:
    found = losses_of(replace(base(), added=(token,)))
    assert found.keys() == {"added"}
    assert (found["added"].grade, found["added"].witness) == (grade, witness)
    assert why in found["added"].what


def test_two_special_tokens_of_one_id() -> None:
    model = replace(base(), added=(AddedToken("<x>", 300), AddedToken("<y>", 300)))
    assert losses_of(model)["added"].witness == "<y>"


def test_a_normalizer() -> None:
    loss = losses_of(replace(base(), normalizer=(Lowercase(),)))["normalizer"]
    assert (loss.grade, loss.witness) == ("ids", "A")


def answers(engine: Engine, text: str) -> list[object]:
    """All that an engine makes of a text: ids in every way, and their text."""
    said: list[object] = []
    ways: tuple[Special, ...] = ("text", "parse") if engine.parses_special else ("text",)
    for special in ways:
        for template in (False, True) if engine.name == "tokenizers" else (False,):
            try:
                ids = engine.encode(text, special=special, add_special_tokens=template)
                said += [ids, engine.decode(ids)]
            except EngineError:
                said.append("failed")
    return said


ODD = ("nfc-tiny", "shuffled-tiny", "template-tiny", "stacked-tiny", "prefix-tiny")
SOURCES = [f"{name}/huggingface" for name in (*ODD, "nonmonotone-tiny", "clip-tiny", "spm-tiny")]


@pytest.mark.long
@pytest.mark.parametrize("name", SOURCES)
def test_a_witness_is_true(name: str) -> None:
    """The source's engine and the written file's differ on it."""
    loaded = load_source(TOKENIZERS / name)
    own = from_files(loaded.format.engine, loaded.format.name, loaded.files, loaded.model)
    other = from_files("tokenizers", "minbpe", MINBPE.dump(loaded.model))
    losses = [loss for loss in MINBPE.losses(loaded.model) if loss.grade != "metadata"]
    assert {"vocab", "alphabet"} & {loss.field for loss in losses}
    for loss in losses:
        assert describe(loss).startswith(f"{loss.field}: ")
        if loss.witness is not None and loss.shown:
            assert answers(own, loss.witness) != answers(other, loss.witness), describe(loss)


# Bad input.


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("", "x.model", "the file ends before the version"),
        ("minbpe v2\n", "x.model:1", "the first line is not 'minbpe v1'"),
        ("\ufeffminbpe v1\n\n0\n", "x.model:1", "the first line is not"),
        ("minbpe v1\n", "x.model", "the file ends before the pattern"),
        ("minbpe v1\n\n", "x.model", "the file ends before the number of special tokens"),
        ("minbpe v1\n ?a\n0\n", "x.model:2", "begins or ends with white space"),
        ("minbpe v1\n(a)|b\n0\n", "x.model:2", "groups that capture"),
        ("minbpe v1\n(?P<x>a)|b\n0\n", "x.model:2", "groups that capture"),
        ("minbpe v1\na{2}{3}\n0\n", "x.model:2", "does not compile: multiple repeat"),
        ("minbpe v1\n(?:a\n0\n", "x.model:2", "does not compile: missing )"),
        (f"minbpe v1\n{'(' * 5000}a{')' * 5000}\n0\n", "x.model:2", "limit PATTERN_NESTING"),
        ("minbpe v1\n\n-1\n", "x.model:3", "expected a number from 0 to 4294967295"),
        ("minbpe v1\n\n1_0\n", "x.model:3", 'found "1_0"'),
        ("minbpe v1\n\n2\n<a> 300\n", "x.model", "ends before the last of 2 special tokens"),
        ("minbpe v1\n\n1\n<a> <b> 300\n", "x.model:4", "expected a special token and its id"),
        ("minbpe v1\n\n1\n<a> 4294967296\n", "x.model:4", "expected a number"),
        ("minbpe v1\n\n1\n<a> 97\n", "x.model", 'also that of "a"'),
        ("minbpe v1\n\n1\n<a> 256\n97 98\n", "x.model", 'also that of "ab"'),
        ("minbpe v1\n\n2\n<a> 300\n<a> 301\n", "x.model:5", "appears twice"),
        ("minbpe v1\n\n2\n<a> 300\n<b> 300\n", "x.model:5", "the id of another one, 300"),
        ("minbpe v1\n\n2\n<a> 300\n<a>b 301\n", "x.model:5", "minbpe never finds"),
        ("minbpe v1\n\n0\n97\n", "x.model:4", "expected the two ids of a merge"),
        ("minbpe v1\n\n0\n97 98\n\n", "x.model:5", 'found ""'),
        ("minbpe v1\n\n0\n97 256\n", "x.model:4", "names the id 256, and is itself 256"),
        ("minbpe v1\n\n0\n97 98\n97 98\n", "x.model:5", "which the id 256 is already"),
        ("minbpe v1\n\n0\n97 98\n98 99\n256 99\n97 257\n", "x.model:7", 'the merge makes "abc"'),
    ],
)
def test_bad_files(text: str, where: str, what: str) -> None:
    with pytest.raises(FormatError) as found:
        MINBPE.load({"x.model": text.encode()})
    assert found.value.where == where
    assert what in found.value.what


def test_bytes_that_are_no_text_and_files_that_are_not_told_apart() -> None:
    with pytest.raises(FormatError, match="0xFF at offset 10") as found:
        MINBPE.load({"x.model": b"minbpe v1\n\xff\n0\n"})
    assert found.value.where == "x.model:2"
    good = b"minbpe v1\n\n0\n"
    with pytest.raises(FormatError, match=r"found x\.model, y\.model"):
        MINBPE.load({"x.model": good, "y.model": good})
    assert not MINBPE.sniff({"x.model": good, "y.model": good})


def test_the_engine_says_what_it_cannot_tell_apart() -> None:
    files = {"x.model": b"minbpe v1\n\n1\nab 300\n97 98\n"}
    with pytest.raises(EngineError, match='cannot tell the special token "ab" from the token'):
        from_files("tokenizers", "minbpe", files)
    assert load_bytes(files).encode("abab", allowed_special="all") == [300, 300]
    assert load_bytes(files).encode_ordinary("abab") == [256, 256]


def load_bytes(files: Files) -> Tokenizer:
    return Tokenizer(MINBPE.load(files))
