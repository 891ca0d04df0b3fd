"""The GPT-2 pair."""

from __future__ import annotations

import json
import unicodedata
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from bpe_interop.errors import FormatError
from bpe_interop.formats.gpt2 import FORMAT, sniff
from bpe_interop.formats.gpt2.read import load
from bpe_interop.formats.gpt2.write import dump
from bpe_interop.formats.huggingface.pretokenizers import BYTE_LEVEL_SPLIT
from bpe_interop.merging.canonical import canonical
from bpe_interop.model import (
    AddedToken,
    BPEModel,
    Fallback,
    PairList,
    RankTable,
    SequenceTemplate,
    TemplateText,
    TemplateToken,
    Vocab,
)
from bpe_interop.steps import (
    JoinBytes,
    JoinTokens,
    Pattern,
    Split,
    UnicodeForm,
)
from fixtures import TOKENIZERS

ALPHABET = sorted(pre_tokenizers.ByteLevel.alphabet())
VOCAB = {char: number for number, char in enumerate(ALPHABET)}
VOCAB.update({"ab": 256, "Ġab": 257, "abc": 258, "<|e|>": 259})
MERGES = ["a b", "Ġ ab", "ab c"]


def pair(
    vocab: dict[str, Any] | str | bytes = VOCAB, merges: str | bytes | list[str] = MERGES
) -> dict[str, bytes]:
    if isinstance(merges, list):
        merges = "#version: 0.2\n" + "".join(f"{merge}\n" for merge in merges)
    if isinstance(vocab, dict):
        vocab = json.dumps(vocab)
    return {
        "encoder.json": vocab if isinstance(vocab, bytes) else vocab.encode(),
        "vocab.bpe": merges if isinstance(merges, bytes) else merges.encode(),
    }


def engine_accepts(files: dict[str, bytes], folder: Path) -> bool:
    """Whether tokenizers' own reader takes the pair."""
    for name, content in files.items():
        (folder / name).write_bytes(content)
    try:
        models.BPE.from_file(str(folder / "encoder.json"), str(folder / "vocab.bpe"))
    except Exception as error:  # tokenizers has no class of its own for a file it refuses
        if type(error) is not Exception:
            raise
        return False
    return True


def lost(of: BPEModel) -> set[tuple[str, str]]:
    return {(loss.field, loss.grade) for loss in FORMAT.losses(of)}


def test_what_a_pair_says_and_does_not() -> None:
    loaded = load(pair())
    assert loaded.merges == PairList(((b"a", b"b"), (b" ", b"ab"), (b"ab", b"c")))
    assert loaded.vocab.ids[b" ab"] == 257
    assert loaded.vocab.ids[b"<|e|>"] == 259
    assert not loaded.lookup_first
    assert loaded.normalizer is None
    assert loaded.decoder == (JoinBytes(),)
    assert loaded.fallback == Fallback()
    for field in ("pretokenizer", "added", "sequence_template", "chat_template"):
        assert getattr(loaded, field) is None
    assert set(loaded.origin.files) == {"encoder.json", "vocab.bpe"}
    assert lost(loaded) == set()


@pytest.mark.parametrize("name", ["gpt2-tiny", "shuffled-tiny"])
def test_reads_what_tokenizers_reads(name: str) -> None:
    folder = TOKENIZERS / name / "gpt2"
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    loaded = load(files)
    vocab_name = next(key for key in files if key.endswith(".json"))
    merges_name = next(key for key in files if not key.endswith(".json"))
    theirs = models.BPE.read_file(str(folder / vocab_name), str(folder / merges_name))
    characters = dict(zip(range(256), _byte_characters(), strict=True))
    spelled = {"".join(characters[b] for b in t): n for t, n in loaded.vocab.ids.items()}
    assert spelled == theirs[0]
    assert isinstance(loaded.merges, PairList)
    assert [
        tuple("".join(characters[b] for b in part) for part in merge)
        for merge in loaded.merges.pairs
    ] == theirs[1]


def _byte_characters() -> list[str]:
    """Each byte's character, by the rule in GPT-2's ``encoder.py``."""
    others = iter(range(256, 512))
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    return [chr(byte if byte in printable else next(others)) for byte in range(256)]


@pytest.mark.parametrize(
    "merges",
    [
        "#version: 0.2\na b\nĠ ab\nab c\n",
        "a b\nĠ ab\nab c\n",
        "a b\nĠ ab\nab c",
        "#version: 0.2\r\na b\r\nĠ ab\r\nab c\r\n",
        "a b\r\nĠ ab\nab c",
        "a b\n#version: late\nĠ ab\n#versionless is passed over too\nab c\n",
    ],
)
def test_line_ends_and_version_lines(merges: str, tmp_path: Path) -> None:
    assert engine_accepts(pair(merges=merges), tmp_path)
    assert load(pair(merges=merges)).merges == load(pair()).merges


@pytest.mark.parametrize(
    ("merges", "line", "says"),
    [
        ("a b\n\nab c\n", 2, "the line is empty"),
        ("a b\n\n", 2, "the line is empty"),
        ("a b\nab\n", 2, 'found "ab"'),
        ("a b\na  b\n", 2, 'found "a  b"'),
        ("a b\nab c Ġ\n", 2, "expected a merge"),
        (" a\n", 1, "expected a merge"),
        ("a \n", 1, "expected a merge"),
        ("a\tb\n", 1, "expected a merge"),
        ("#version: 0.2\na b\nzz a\n", 3, 'the merge names "zz", which is not in the vocabulary'),
        ("a b\na zz\n", 2, 'the merge names "zz"'),
        ("a b\nb c\n", 2, 'the merge gives "bc"'),
        ("a b\r", 1, 'the merge names "b\\r"'),
        ("\ufeff#version: 0.2\na b\n", 1, "byte order mark"),
        (b"a b\n\xff c\n", 2, "not UTF-8: byte 0xFF at offset 4"),
        ("日 本\n", 1, "is not in the vocabulary"),
    ],
)
def test_a_bad_merge_line_is_named(
    merges: str | bytes, line: int, says: str, tmp_path: Path
) -> None:
    with pytest.raises(FormatError) as caught:
        load(pair(merges=merges))
    assert caught.value.where == f"vocab.bpe:{line}"
    assert says in caught.value.what
    assert not engine_accepts(pair(merges=merges), tmp_path)


def test_a_merge_outside_the_byte_alphabet_is_an_error() -> None:
    vocab = {**VOCAB, "日": 260, "日a": 261}
    with pytest.raises(FormatError, match=r'vocab.bpe:2: "日" is not spelled in GPT-2'):
        load(pair(vocab, ["日 a"]))


@pytest.mark.parametrize(
    ("vocab", "says"),
    [
        ("", "the file is empty"),
        ("{", "not JSON"),
        ("[]", "expected an object"),
        ("{}", "the vocabulary is empty"),
        ('{"a": 0, "a": 1}', "appears twice"),
        ('{"a": 0, "b": 0}', 'the id 0 is also that of "a"'),
        ('{"a": "0"}', "expected an id"),
        ('{"a": 1.0}', "expected an id"),
        ('{"a": true}', "expected an id"),
        ('{"a": null}', "expected an id"),
        ('{"a": -1}', "expected an id"),
        ('{"a": 4294967296}', "expected an id"),
        ('{"a": NaN}', "NaN"),
        ('{"a": 1e999}', "expected an id"),
        ('{"a": ' + "9" * 5000 + "}", "not JSON"),
        ('{"\\ud800": 0}', "lone surrogate"),
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
        (b"\xef\xbb\xbf{}", "JSON"),
        (b'{"\xff": 0}', "not UTF-8"),
        ('{"a": 0} x', "not JSON"),
        ('{"æĹ¥": 0, "日": 1}', 'the same bytes as "æĹ¥"'),
    ],
)
def test_a_bad_vocabulary_is_one_clear_error(vocab: str | bytes, says: str) -> None:
    with pytest.raises(FormatError, match=r"^encoder\.json") as caught:
        load(pair(vocab))
    assert says in str(caught.value)


def test_empty_merges_are_an_error_and_a_bare_header_is_not() -> None:
    with pytest.raises(FormatError, match=r"vocab\.bpe: the file is empty"):
        load(pair(merges=""))
    assert load(pair(merges=[])).merges == PairList(())


def test_duplicate_merges_are_kept_as_listed() -> None:
    merges = load(pair(merges=["a b", "Ġ ab", "a b"])).merges
    assert merges == PairList(((b"a", b"b"), (b" ", b"ab"), (b"a", b"b")))


def test_a_missing_byte_is_dropped_as_tokenizers_does() -> None:
    def without(char: str) -> dict[str, bytes]:
        return pair({key: number for key, number in VOCAB.items() if key != char})

    assert load(without("!")).fallback == Fallback("drop")
    assert load(without("õ")).fallback == Fallback()  # F5 never occurs in UTF-8
    bpe = models.BPE({k: n for k, n in VOCAB.items() if k != "!"}, [("a", "b")])
    tokenizer = Tokenizer(bpe)
    assert tokenizer.encode("a!b").ids == [VOCAB["ab"]]


def test_decode_only_entries() -> None:
    vocab = {**VOCAB, "Ġzz": 300, "<日>": 301, " ": 302, "": 303}
    del vocab["Ġ"], vocab["Ġab"]
    loaded = load(pair(vocab, ["a b"]))
    assert loaded.vocab.ids[b" zz"] == 300
    assert loaded.vocab.ids["<日>".encode()] == 301
    assert loaded.vocab.ids[b""] == 303
    assert loaded.vocab.kinds == {301: "control", 302: "control"}
    assert loaded.fallback == Fallback("drop")  # the literal space is no byte
    again = json.loads(dump(loaded)["encoder.json"])
    assert again == vocab
    tokenizer = Tokenizer(models.BPE(vocab, []))
    tokenizer.decoder = decoders.ByteLevel()
    for content, number in loaded.vocab.ids.items():
        if number >= 300:
            assert tokenizer.decode([number], skip_special_tokens=False) == content.decode()


# Which files


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("encoder.json", "vocab.bpe"), True),
        (("vocab.json", "merges.txt"), True),
        (("gpt2-vocab.json", "gpt2-merges.txt"), True),
        (("vocab.json", "merges.txt", "tokenizer.json"), False),
        (("vocab.json", "vocab.bpe"), False),
        (("a-vocab.json", "b-merges.txt"), False),
        (("vocab.json",), False),
        ((), False),
    ],
)
def test_sniff(names: tuple[str, ...], expected: bool) -> None:
    assert sniff(dict.fromkeys(names, b"")) is expected


def test_longer_names_give_the_model_its_name() -> None:
    vocab, merges = pair().values()
    loaded = load({"gpt2-vocab.json": vocab, "gpt2-merges.txt": merges})
    assert loaded.origin.name == "gpt2"
    assert load(pair()).origin.name == ""


def test_two_pairs_or_none_are_an_error() -> None:
    vocab, merges = pair().values()
    both = {**pair(), "vocab.json": vocab, "merges.txt": merges}
    with pytest.raises(FormatError, match=r"encoder.json \+ vocab.bpe; vocab.json \+ merges.txt"):
        load(both)
    with pytest.raises(FormatError, match=r"no vocabulary with its merges among vocab\.json"):
        load({"vocab.json": vocab})


# Writing


def test_written_as_openai_writes() -> None:
    files = pair()
    assert dump(load(files)) == files
    renamed = FORMAT.options["vocab-names"](load(files), dump(load(files)))
    assert list(renamed) == ["vocab.json", "merges.txt"]
    assert list(renamed.values()) == list(files.values())


@given(st.lists(st.sampled_from(["a b", "b c", "ab c", "a bc", "Ġ ab", "a a"]), max_size=8))
def test_any_list_comes_back(merges: list[str]) -> None:
    vocab = {**VOCAB, "bc": 260, "aa": 261}
    loaded = load(pair(vocab, merges))
    assert load(dump(loaded)).merges == loaded.merges
    assert dump(load(dump(loaded))) == dump(loaded)


@given(st.permutations(["ab", "bc", "abc", "bcd", "cd", "abcd", "dd"]))
def test_a_rank_table_is_written_as_its_splits(order: list[str]) -> None:
    ids = {bytes([byte]): byte for byte in range(256)}
    ids.update({token.encode(): 256 + place for place, token in enumerate(order)})
    ranked = BPEModel(Vocab(ids), RankTable(ids))
    read = load(dump(ranked))
    assert read.vocab.ids == ids
    assert canonical(read).splits == dict(canonical(ranked).splits)


def test_added_tokens_get_their_ids_in_order() -> None:
    added = (AddedToken("<b>", 400), AddedToken("<a>", 300), AddedToken("again", 300))
    written = json.loads(dump(replace(load(pair()), added=added))["encoder.json"])
    assert list(written.items())[-3:] == [("<|e|>", 259), ("<a>", 300), ("<b>", 400)]
    assert "again" not in written


@pytest.mark.parametrize("text", ["a", "é", "日本", "æĹ¥æľ¬", " "])
def test_what_is_written_can_be_read(text: str) -> None:
    ids = {**load(pair()).vocab.ids, "日本".encode(): 500}
    before = replace(load(pair()), vocab=Vocab(ids), added=(AddedToken(text, 600),))
    assert load(dump(before)).vocab.ids[b"a"] == VOCAB["a"]


# Losses

SPLIT = (Split(Pattern(r"\s+|\S+", "oniguruma"), "isolated"),)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"pretokenizer": SPLIT}, {("pretokenizer", "ids")}),
        ({"pretokenizer": ()}, {("pretokenizer", "ids")}),
        ({"normalizer": (UnicodeForm("NFC"),)}, {("normalizer", "ids")}),
        ({"normalizer": ()}, {("normalizer", "metadata")}),
        ({"added": ()}, {("added", "metadata")}),
        ({"added": (AddedToken("<x>", 300),)}, {("added", "text"), ("vocab", "metadata")}),
        ({"added": (AddedToken("<|e|>", 259),)}, {("added", "text")}),
        ({"sequence_template": SequenceTemplate()}, {("sequence_template", "metadata")}),
        (
            {"sequence_template": SequenceTemplate((TemplateText("A", 1),))},
            {("sequence_template", "metadata")},
        ),
        (
            {"sequence_template": SequenceTemplate((TemplateToken("<|e|>", (259,)),))},
            {("sequence_template", "text")},
        ),
        ({"decoder": (JoinTokens(),)}, {("decoder", "text")}),
        ({"chat_template": "x"}, {("chat_template", "metadata")}),
        ({"extras": {"x": 1}}, {("extras", "metadata")}),
        ({"fallback": Fallback("unknown", 259)}, {("fallback", "metadata")}),
        ({"normalizer": None, "decoder": None}, set()),
    ],
)
def test_losses(changes: dict[str, Any], expected: set[tuple[str, str]]) -> None:
    assert lost(replace(load(pair()), **changes)) == expected


def test_the_normalizer_is_shown_by_a_text() -> None:
    (loss,) = FORMAT.losses(replace(load(pair()), normalizer=(UnicodeForm("NFC"),)))
    assert loss.witness is not None
    assert unicodedata.normalize("NFC", loss.witness) != loss.witness


def test_a_lost_pattern_is_shown_by_a_text_that_gpt2s_own_splits_otherwise() -> None:
    (loss,) = FORMAT.losses(replace(load(pair()), pretokenizer=SPLIT))
    assert loss.witness is not None
    gpt2 = pre_tokenizers.ByteLevel(add_prefix_space=False).pre_tokenize_str(loss.witness)
    ours = regex.findall(r"\s+|\S+", loss.witness)
    assert len(gpt2) != len(ours)


def test_a_lost_pattern_that_is_gpt2s_own_has_no_such_text() -> None:
    (loss,) = FORMAT.losses(replace(load(pair()), pretokenizer=(BYTE_LEVEL_SPLIT,)))
    assert (loss.field, loss.witness) == ("pretokenizer", None)


def test_a_lost_decoder_is_shown_by_a_text() -> None:
    (loss,) = FORMAT.losses(replace(load(pair()), decoder=(JoinTokens(),)))
    assert loss.witness is not None
    engine = Tokenizer(models.BPE(VOCAB, [("a", "b"), ("Ġ", "ab"), ("ab", "c")]))
    engine.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    assert engine.decode(engine.encode(loss.witness).ids) != loss.witness


def test_lookup_of_a_token_that_no_merge_builds_is_lost() -> None:
    known = replace(load(pair()), lookup_first=True, pretokenizer=SPLIT)
    found = {loss.field: loss for loss in FORMAT.losses(known)}["lookup_first"]
    assert (found.grade, found.witness, found.shown) == ("ids", "<|e|>", True)
    unknown = replace(known, pretokenizer=None)
    (found,) = FORMAT.losses(unknown)
    assert (found.field, found.witness) == ("lookup_first", "<|e|>")
    reachable = replace(load(pair({k: n for k, n in VOCAB.items() if k != "<|e|>"})))
    assert lost(replace(reachable, lookup_first=True)) == set()


def test_a_missing_byte_that_is_an_error_is_shown_by_a_text() -> None:
    loaded = load(pair({key: number for key, number in VOCAB.items() if key != "!"}))
    (loss,) = FORMAT.losses(replace(loaded, fallback=Fallback()))
    assert (loss.field, loss.grade, loss.witness) == ("fallback", "ids", "!")


def test_a_merge_that_looks_like_a_comment_is_lost() -> None:
    ids = {bytes([byte]): byte for byte in range(256)}
    ids.update({b"#version"[:end]: 300 + end for end in range(2, 9)})
    ids[b"#version:"] = 400
    (loss,) = FORMAT.losses(BPEModel(Vocab(ids), RankTable(ids), decoder=(JoinBytes(),)))
    assert (loss.field, loss.grade) == ("merges", "ids")


# Real files


@pytest.mark.parametrize("names", [("encoder.json", "vocab.bpe"), ("vocab.json", "merges.txt")])
def test_the_official_pair_comes_back_byte_for_byte(names: tuple[str, str], data: Any) -> None:
    files = {name: data(f"gpt2/{name}").read_bytes() for name in names}
    assert dump(load(files), names="vocab" if "vocab.json" in names else "encoder") == files


def test_the_rank_file_gives_the_official_pair(data: Any) -> None:
    from bpe_interop.formats.tiktoken import FORMAT as RANK_FILE
    from bpe_interop.presets import fill

    ranks = data("gpt2/gpt2.tiktoken").read_bytes()
    written = dump(fill(RANK_FILE.load({"gpt2.tiktoken": ranks})))
    for name, content in written.items():
        assert content == data(f"gpt2/{name}").read_bytes()
