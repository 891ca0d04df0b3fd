"""Reading and writing tokenizer.json: meanings, refusals by path, hostile input."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
import tokenizers

import bpe_interop.tokenizers
from bpe_interop.encode import Encoder
from bpe_interop.errors import BpeInteropError, FormatError, UnsupportedError
from bpe_interop.formats import by_name
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
    ByteChars,
    Digits,
    JoinBytes,
    JoinTokens,
    Pattern,
    PrefixSpace,
    Punctuation,
    Replace,
    Split,
    UnicodeForm,
)
from bpe_interop.text.bytechars import BYTE_TO_CHAR
from fixtures import TOKENIZERS

FORMAT = by_name("huggingface")
TINY = TOKENIZERS / "gpt2-tiny" / "huggingface"
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}


def document(**model: Any) -> dict[str, Any]:
    """A small valid tokenizer.json: all bytes, and the tokens ab, abc."""
    vocab: dict[str, Any] = {BYTE_TO_CHAR[byte]: byte for byte in range(256)}
    vocab |= {"ab": 256, "abc": 257}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {**BYTE_LEVEL, "use_regex": False},
        "post_processor": None,
        "decoder": {**BYTE_LEVEL, "use_regex": True},
        "model": {"type": "BPE", "vocab": vocab, "merges": ["a b", "ab c"], **model},
    }


def added(number: int, content: str, **flags: bool) -> dict[str, Any]:
    entry = {"id": number, "content": content, "single_word": False, "lstrip": False}
    return {**entry, "rstrip": False, "normalized": False, "special": True, **flags}


def load(value: Any) -> BPEModel:
    return FORMAT.load({"tokenizer.json": json.dumps(value).encode()})


def engine(files: dict[str, bytes]) -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer.from_str(files["tokenizer.json"].decode())


def test_merges_as_strings_and_as_pairs_mean_the_same() -> None:
    pairs = document(merges=[["a", "b"], ["ab", "c"]])
    assert load(document()).merges == load(pairs).merges


def test_minus_zero_is_no_id_as_in_the_engine() -> None:
    """serde_json reads ``-0`` as a float."""
    value = document()
    value["added_tokens"] = [added(0, "\u0100")]
    text = json.dumps(value)
    FORMAT.load({"tokenizer.json": text.encode()})
    for whole in (r'"\u0100": 0,', '"id": 0,'):
        assert whole in text
        data = text.replace(whole, whole.replace(": 0", ": -0"))
        with pytest.raises(Exception, match=r"floating point `-0"):
            tokenizers.Tokenizer.from_str(data)
        with pytest.raises(FormatError, match=r"-0|integer"):
            FORMAT.load({"tokenizer.json": data.encode()})


PART = {"Sequence": {"id": "A", "type_id": 0}}
PADDING = {"direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0}


def template(**more: Any) -> dict[str, Any]:
    """A post-processor whose first part has further keys."""
    pieces = {"single": [{**PART, **more}], "pair": [PART, PART]}
    special = {"a": {"id": "a", "ids": [97], "tokens": ["a"]}}
    return {"type": "TemplateProcessing", **pieces, "special_tokens": special}


@pytest.mark.parametrize("said", [None, False, {}, "", {"id": "a", "type_id": 0}])
@pytest.mark.parametrize(
    "place", ["root", "split", "normalizer", "decoder", "template", "both", "padding"]
)
def test_a_further_key_is_refused_where_the_engine_has_none_whatever_it_says(
    place: str, said: Any
) -> None:
    pattern = {"String": "a", "x": said}
    changes: dict[str, dict[str, Any]] = {
        "root": {"x": said},
        "split": {
            "pre_tokenizer": {
                "type": "Sequence",
                "pretokenizers": [
                    {"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": False},
                    BYTE_LEVEL,
                ],
            }
        },
        "normalizer": {"normalizer": {"type": "Replace", "pattern": pattern, "content": "b"}},
        "decoder": {
            "decoder": {
                "type": "Sequence",
                "decoders": [BYTE_LEVEL, {"type": "Replace", "pattern": pattern, "content": "b"}],
            }
        },
        "template": {"post_processor": template(x=said)},
        "both": {"post_processor": template(SpecialToken=said)},
        "padding": {"padding": {**PADDING, "pad_token": "a", "strategy": {"Fixed": 5, "x": said}}},
    }
    data = json.dumps({**document(), **changes[place]})
    with pytest.raises(Exception, match=r"expected|did not match"):
        tokenizers.Tokenizer.from_str(data)
    with pytest.raises((FormatError, UnsupportedError), match=r"not understood|this is both"):
        FORMAT.load({"tokenizer.json": data.encode()})


def test_old_files_without_a_model_type_are_bpe() -> None:
    old = document()
    del old["model"]["type"]
    assert load(old).merges == load(document()).merges


def test_byte_level_is_taken_apart_in_its_place() -> None:
    value = document()
    value["pre_tokenizer"] = {
        "type": "Sequence",
        "pretokenizers": [
            {"type": "Punctuation", "behavior": "Contiguous"},
            {**BYTE_LEVEL, "add_prefix_space": True},
            {"type": "Digits", "individual_digits": True},
        ],
    }
    steps = load(value).pretokenizer
    assert steps is not None
    assert [type(step) for step in steps] == [Punctuation, PrefixSpace, Split, ByteChars, Digits]
    assert steps[-1] == Digits(individual=True)


def test_two_byte_levels_in_sequence_are_refused() -> None:
    value = document()
    twice = [{**BYTE_LEVEL, "use_regex": False}] * 2
    value["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": twice}
    with pytest.raises(UnsupportedError, match="twice"):
        load(value)


def test_normalizers_keep_their_order_and_dialect() -> None:
    value = document()
    replace = {"type": "Replace", "pattern": {"Regex": "a+"}, "content": "b"}
    value["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "NFC"}, replace]}
    steps = (UnicodeForm("NFC"), Replace(Pattern("a+", "oniguruma"), "b"))
    assert load(value).normalizer == steps


def test_roberta_and_template_processing_are_one_thing() -> None:
    roberta, template = document(), document()
    roberta["post_processor"] = {
        "type": "RobertaProcessing",
        "sep": ["b", 98],
        "cls": ["a", 97],
        "trim_offsets": False,
        "add_prefix_space": False,
    }
    cls, sep = TemplateToken("a", (97,)), TemplateToken("b", (98,))
    a, b = TemplateText("A"), TemplateText("B")
    expected = SequenceTemplate((cls, a, sep), (cls, a, sep, sep, b, sep))
    assert load(roberta).sequence_template == expected
    files = dict(FORMAT.dump(load(roberta)))
    template = json.loads(files["tokenizer.json"])
    assert template["post_processor"]["type"] == "TemplateProcessing"
    ours, theirs = engine(files), tokenizers.Tokenizer.from_str(json.dumps(roberta))
    assert ours.encode("abc").ids == theirs.encode("abc").ids
    assert ours.encode("abc", "ab").ids == theirs.encode("abc", "ab").ids


@pytest.mark.parametrize("key", ["normalizer", "pre_tokenizer", "post_processor", "decoder"])
def test_a_component_that_is_not_known_is_left_to_tokenizers(key: str) -> None:
    """``verify`` takes such a file where an engine is named (tests/engines/test_verify.py)."""
    value = document()
    value[key] = {"type": "Odd"}
    with pytest.raises(UnsupportedError, match="'Odd' is not supported") as refused:
        load(value)
    assert "verify A B --engine-a tokenizers" in refused.value.fix


def test_bert_gives_the_second_text_a_type_of_its_own() -> None:
    value = document()
    value["post_processor"] = {"type": "BertProcessing", "sep": ["b", 98], "cls": ["a", 97]}
    theirs = tokenizers.Tokenizer.from_str(json.dumps(value))
    written = engine(dict(FORMAT.dump(load(value))))
    ours = bpe_interop.tokenizers.Tokenizer.from_str(json.dumps(value))
    for texts in (("abc",), ("abc", "ab")):
        expected = theirs.encode(*texts)
        for each in (written.encode(*texts), ours.encode(*texts)):
            assert (each.ids, each.type_ids) == (expected.ids, expected.type_ids)
    assert {*theirs.encode("abc", "ab").type_ids} == {0, 1}


def test_added_token_ids_are_those_that_tokenizers_gives() -> None:
    value = document()
    value["model"]["vocab"]["<v>"] = 900
    value["added_tokens"] = [added(5, "<v>"), added(6, "<x>"), added(7, "a"), added(8, "<y>")]
    model = load(value)
    theirs = tokenizers.Tokenizer.from_str(json.dumps(value))
    assert {t.text: t.id for t in model.added or ()} == {
        t: theirs.token_to_id(t) for t in ("<v>", "<x>", "a", "<y>")
    }
    assert sum("ignores that key" in note for note in model.origin.notes) == 4


def ids_in_both(value: dict[str, Any], text: str) -> tuple[list[int], list[int]]:
    """What tokenizers and our encoder give where special strings are ordinary text."""
    theirs = tokenizers.Tokenizer.from_str(json.dumps(value))
    theirs.encode_special_tokens = True
    return theirs.encode(text).ids, Encoder(load(value)).encode(text)


def test_of_two_added_tokens_with_one_number_the_last_is_kept() -> None:
    value = document()
    value["model"]["vocab"]["<A>"] = 259
    value["added_tokens"] = [added(259, "<A>"), added(259, "<y>")]
    model = load(value)
    theirs = tokenizers.Tokenizer.from_str(json.dumps(value))
    for text in ("<A>", "<y>", "a<A>b<y>"):
        assert Encoder(model).encode(text, "all") == theirs.encode(text).ids
    assert any("keeps only the last" in note for note in model.origin.notes)


@pytest.mark.parametrize("texts", [*product(("<A>", "<y>", "<z>"), repeat=4)], ids="".join)
def test_entries_that_stand_again_are_those_that_tokenizers_keeps(texts: tuple[str, ...]) -> None:
    """``<A>`` and the first one that is not in the vocabulary come to one id."""
    value = document()
    value["model"]["vocab"]["<A>"] = 259
    value["added_tokens"] = [added(259, text) for text in texts]
    theirs = tokenizers.Tokenizer.from_str(json.dumps(value))
    kept = {number: token.content for number, token in theirs.get_added_tokens_decoder().items()}
    model = load(value)
    assert {token.id: token.text for token in model.added or ()} == kept
    for text in ("<A>", "<y>", "<z>"):
        assert Encoder(model).encode(text, "all") == theirs.encode(text).ids


def test_a_token_once_special_stays_special() -> None:
    value = document()
    value["added_tokens"] = [added(258, "<x>"), added(258, "<x>", special=False)]
    theirs, ours = ids_in_both(value, "a<x>b")
    assert ours == theirs


def test_a_literal_entry_beside_a_mapped_one_only_numbers_its_added_token() -> None:
    value = document(merges=["a b", "ab c", "\u0120 a"])
    value["model"]["vocab"] |= {"\u0120a": 258, " a": 300}
    value["added_tokens"] = [added(300, " a", special=False)]
    theirs, ours = ids_in_both(value, "b a a")
    assert ours == theirs
    assert load(value).vocab.ids[b" a"] == 258


@pytest.mark.parametrize("lookup", [False, True])
@pytest.mark.parametrize("complete", [False, True])
def test_merges_of_what_is_not_spelled_in_the_byte_alphabet_never_happen(
    complete: bool, lookup: bool
) -> None:
    vocab = document()["model"]["vocab"] | {
        "\u2019": 258,
        "\u2019a": 259,
        "\u4e2da": 260,
        "\u4e2d": 261,
    }
    if not complete:
        del vocab["z"]
    merges = [["\u2019", "a"], ["a", "b"], ["\u4e2d", "a"], ["ab", "c"]]
    value = document(vocab=vocab, merges=merges, ignore_merges=lookup)
    model = load(value)
    assert model.merges == PairList(((b"a", b"b"), (b"ab", b"c")))
    assert any(note.endswith("never happen, and are left out: 2") for note in model.origin.notes)
    for text in ("\u2019abc", "\u4e2dab", "\u2019a", "\u00e4\u00bd\u0143a"):
        given, wanted = ids_in_both(value, text)
        assert given == wanted
    again = load(json.loads(FORMAT.dump(model)["tokenizer.json"]))
    assert (again.merges, again.vocab) == (model.merges, model.vocab)


@pytest.mark.parametrize("single", [[], ["A", "A"], ["B"], ["<x>"]])
def test_a_template_that_changes_the_text_is_refused(single: list[str]) -> None:
    parts: list[Any] = [
        {"Sequence": {"id": name, "type_id": 0}}
        if name in "AB"
        else {"SpecialToken": {"id": name, "type_id": 0}}
        for name in single
    ]
    value = document()
    value["post_processor"] = {
        "type": "TemplateProcessing",
        "single": parts,
        "pair": [{"Sequence": {"id": name, "type_id": 0}} for name in "AB"],
        "special_tokens": {"<x>": {"id": "<x>", "ids": [1], "tokens": ["<x>"]}},
    }
    assert path_of(value, UnsupportedError).endswith("$.post_processor.single")


@pytest.mark.parametrize("pattern", [{"Regex": "x*"}, {"String": ""}, {"Regex": "$"}])
def test_replacing_empty_matches_is_refused(pattern: dict[str, str]) -> None:
    value = document()
    value["normalizer"] = {"type": "Replace", "pattern": pattern, "content": "-"}
    assert path_of(value, UnsupportedError).endswith("$.normalizer.pattern")


def test_a_special_token_that_its_normalizer_changes_is_not_skipped() -> None:
    value = document()
    value["normalizer"] = {"type": "Lowercase"}
    value["added_tokens"] = [added(258, "<X>", normalized=True), added(259, "<p>")]
    theirs = tokenizers.Tokenizer.from_str(json.dumps(value))
    ours = Encoder(load(value)).decode([97, 258, 259], skip_special=True)
    assert ours == theirs.decode([97, 258, 259], skip_special_tokens=True)


def test_an_entry_that_only_numbers_an_added_token_leaves_the_vocabulary() -> None:
    value = document()
    value["model"]["vocab"]["<x>"] = 900
    value["added_tokens"] = [added(900, "<x>"), added(256, "ab")]
    model = load(value)
    assert b"<x>" not in model.vocab.ids
    assert model.vocab.ids[b"ab"] == 256


def test_it_stays_where_a_lookup_can_find_it() -> None:
    value = document(ignore_merges=True)
    value["model"]["vocab"]["<x>"] = 900
    value["added_tokens"] = [added(900, "<x>")]
    model = load(value)
    assert model.vocab.ids[b"<x>"] == 900
    theirs = tokenizers.Tokenizer.from_str(json.dumps(value))
    theirs.encode_special_tokens = True
    assert theirs.encode("<x>").ids == [900] == Encoder(model).encode("<x>")


@pytest.mark.parametrize("ids", [[258, 259], [258, 260], [300], [259, 258, 400], [258, 270, 271]])
def test_ids_with_holes_survive_writing(ids: list[int]) -> None:
    tokens = tuple(AddedToken(f"<{number}>", number) for number in ids)
    model = load(document())
    held = BPEModel(
        model.vocab,
        model.merges,
        normalizer=(),
        pretokenizer=model.pretokenizer,
        added=tokens,
        sequence_template=SequenceTemplate(),
        decoder=(JoinBytes(),),
    )
    theirs = engine(dict(FORMAT.dump(held)))
    assert [theirs.token_to_id(token.text) for token in tokens] == ids
    assert not list(FORMAT.losses(held))


def test_a_rank_table_is_written_as_merges_that_give_the_same_ids() -> None:
    ranks = {bytes([byte]): byte for byte in range(256)}
    ranks |= {b"bb": 256, b"ab": 257, b"abb": 258, b"ba": 259, b"bab": 260}
    model = BPEModel(
        Vocab(ranks),
        RankTable(ranks),
        lookup_first=True,
        normalizer=(),
        pretokenizer=(),
        added=(),
        decoder=(JoinBytes(),),
    )
    theirs, ours = engine(dict(FORMAT.dump(model))), Encoder(model)
    for text in ("ab", "abb", "babab", "abbabba", "bbbb", "babb"):
        assert theirs.encode(text).ids == ours.encode(text)


def test_a_pattern_is_translated_for_oniguruma() -> None:
    pattern = Pattern(r"\p{N}{1,3}+|\P{N}++", "fancy-regex")
    model = load(document())
    split = BPEModel(
        model.vocab,
        model.merges,
        normalizer=(),
        pretokenizer=(Split(pattern, "removed", invert=True),),
        added=(),
        decoder=(JoinBytes(),),
    )
    theirs = engine(dict(FORMAT.dump(split)))
    assert [len(piece) for piece, _ in theirs.pre_tokenizer.pre_tokenize_str("1234567")] == [
        3,
        3,
        1,
    ]


def test_a_prefix_space_may_stand_before_any_split() -> None:
    model = load(document())
    steps = (PrefixSpace(), Split(Pattern(r"\s+|\S+", "oniguruma"), "isolated"))
    held = BPEModel(model.vocab, model.merges, normalizer=(), pretokenizer=steps, added=())
    files = dict(FORMAT.dump(held))
    assert not list(FORMAT.losses(held))
    assert FORMAT.load(files).pretokenizer == steps
    for text in ("ab", " ab", "", " ", "a b"):
        assert engine(files).encode(text).ids == Encoder(held).encode(text)


def test_missing_bytes_are_dropped_or_unknown() -> None:
    value = document()
    del value["model"]["vocab"][BYTE_TO_CHAR[3]]
    assert load(value).fallback == Fallback("drop")
    value["model"]["vocab"]["<unk>"] = 300
    value["model"]["unk_token"] = "<unk>"
    assert load(value).fallback == Fallback("unknown", 300)
    theirs = tokenizers.Tokenizer.from_str(json.dumps(value))
    assert theirs.encode("a\x03b").ids == Encoder(load(value)).encode("a\x03b")


@pytest.mark.parametrize("byte", [0, 0x80, 0xC2, 0xE0, 0xED, 0xEE, 0xEF, 0xF0, 0xF3, 0xF4])
def test_a_byte_without_a_token_is_shown_in_a_text(byte: int) -> None:
    """The bytes 0xEE and 0xEF begin the characters behind the surrogates."""
    whole = load(document())
    ids = {token: n for token, n in whole.vocab.ids.items() if token != bytes([byte])}
    lost = [loss for loss in FORMAT.losses(replace(whole, vocab=Vocab(ids))) if loss.witness]
    shown = [loss for loss in lost if loss.field == "fallback"]
    assert [byte in (loss.witness or "").encode("utf-8") for loss in shown] == [True]


def test_bytes_that_utf8_never_has_do_not_matter() -> None:
    value = document()
    for byte in (0xC0, 0xC1, 0xF5, 0xFF):
        del value["model"]["vocab"][BYTE_TO_CHAR[byte]]
    assert load(value).fallback == Fallback()


def test_no_decoder_joins_tokens_with_spaces() -> None:
    value = document()
    value["decoder"] = None
    assert load(value).decoder == (JoinTokens(),)
    theirs = tokenizers.Tokenizer.from_str(json.dumps(value))
    assert theirs.decode([256, 99]) == Encoder(load(value)).decode([256, 99])


def test_roles_come_from_the_files_beside_it() -> None:
    value = document()
    value["added_tokens"] = [added(258, "<x>"), added(259, "<p>")]
    files = {
        "tokenizer.json": json.dumps(value).encode(),
        "special_tokens_map.json": b'{"eos_token": "<x>", "pad_token": {"content": "<p>"}}',
        "tokenizer_config.json": b'{"eos_token": "<p>", "chat_template": "{{x}}"}',
    }
    model = FORMAT.load(files)
    assert {t.text: t.roles for t in model.added or ()} == {"<x>": ("eos",), "<p>": ("pad",)}
    assert model.chat_template == "{{x}}"


def complaint(data: bytes) -> str | None:
    """What our own error says; None where the bytes can be read. Any other error is raised."""
    try:
        FORMAT.load({"tokenizer.json": data})
    except BpeInteropError as error:
        return str(error)
    return None


def path_of(value: Any, error: type[BpeInteropError] = FormatError) -> str:
    with pytest.raises(error) as caught:
        load(value)
    return caught.value.where


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"normalizer": {"type": "Odd"}}, "$.normalizer"),
        ({"pre_tokenizer": {"type": "Odd"}}, "$.pre_tokenizer"),
        ({"post_processor": {"type": "Odd"}}, "$.post_processor"),
        ({"decoder": {"type": "CTC"}}, "$.decoder"),
        ({"surprise": 1}, "$.surprise"),
        ({"version": "2.0"}, "$.version"),
        ({"version": None}, "$.version"),
        ({"model": {"type": "Unigram", "vocab": [["a", 0.0]]}}, "$.model.type"),
        ({"model": {"type": "WordPiece", "vocab": {"a": 0}}}, "$.model.type"),
    ],
)
def test_what_is_not_understood_is_refused_by_path(change: dict[str, Any], path: str) -> None:
    assert path_of({**document(), **change}, UnsupportedError) == f"tokenizer.json: {path}"


@pytest.mark.parametrize(
    ("key", "value", "path"),
    [
        ("dropout", 0.1, "$.model.dropout"),
        ("dropout", True, "$.model.dropout"),
        ("end_of_word_suffix", "\u2581", "$.model.end_of_word_suffix"),
        ("new_rule", True, "$.model.new_rule"),
    ],
)
def test_model_settings_that_change_ids_are_refused(key: str, value: Any, path: str) -> None:
    assert path_of(document(**{key: value}), UnsupportedError) == f"tokenizer.json: {path}"


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"merges": ["a b", "a z9"]}, "$.model.merges[1]"),
        ({"merges": ["a b", "b a"]}, "$.model.merges[1]"),
        ({"merges": ["a b", "ab"]}, "$.model.merges[1]"),
        ({"merges": ["a b", ["ab", "c"]]}, "$.model.merges[1]"),
        ({"merges": [["a", "b"], ["ab", 7]]}, "$.model.merges[1][1]"),
        ({"merges": [3]}, "$.model.merges[0]"),
        ({"merges": "a b"}, "$.model.merges"),
        ({"vocab": {}}, "$.model.vocab"),
        ({"vocab": {"a": True}, "merges": []}, '$.model.vocab["a"]'),
        ({"vocab": {"a": -1}, "merges": []}, '$.model.vocab["a"]'),
        ({"vocab": {"a": 2**32}, "merges": []}, '$.model.vocab["a"]'),
        ({"vocab": {"a": 1.5}, "merges": []}, '$.model.vocab["a"]'),
        ({"vocab": {"a": 1, "b": 1}, "merges": []}, "$.model.vocab"),
        ({"vocab": {"\u0120": 1, " ": 2}, "merges": []}, "$.model.vocab"),
        ({"ignore_merges": "yes"}, "$.model.ignore_merges"),
        ({"type": None}, "$.model.type"),
        ({"fuse_unk": "yes"}, "$.model.fuse_unk"),
        ({"byte_fallback": "yes"}, "$.model.byte_fallback"),
        ({"unk_token": 3}, "$.model.unk_token"),
    ],
)
def test_a_malformed_model_is_an_error_with_its_path(change: dict[str, Any], path: str) -> None:
    assert path_of(document(**change)).endswith(path)


def test_a_token_that_shares_its_id_with_an_added_token_is_an_error() -> None:
    """tokenizers then knows the id by either, at random in each process."""
    whole = document()
    whole["model"]["vocab"] |= {"<a>": 258, "<b>": 258}
    whole["added_tokens"] = [added(258, "<a>"), added(258, "<b>")]
    with pytest.raises(FormatError, match='"<a>" and "<b>" have the same id 258'):
        load(whole)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"  \n",
        b"{",
        b'{"model": {"type": "BPE"',
        b"[]",
        b"null",
        b"\xff\xfe{}",
        b"\xef\xbb\xbf{}",
        b'{"model": NaN}',
        b'{"model": {"type": "BPE", "vocab": {"a": 1, "a": 2}, "merges": []}}',
        b'{"model": {"type": "BPE", "vocab": {"\\ud800": 1}, "merges": []}}',
        b"[" * 100_000,
        b'{"model":' * 50_000,
    ],
)
def test_hostile_bytes_are_one_clear_error(data: bytes) -> None:
    with pytest.raises(FormatError) as caught:
        FORMAT.load({"tokenizer.json": data})
    assert caught.value.where


def test_a_repeated_key_names_its_lines() -> None:
    data = b'{"model": {"type": "BPE", "vocab": {\n"a": 1,\n"b": 2,\n"a": 3}, "merges": []}}'
    with pytest.raises(FormatError, match=r'"a" appears twice .*\(lines 2, 4\)'):
        FORMAT.load({"tokenizer.json": data})


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    if isinstance(value, dict):
        for key in list(value)[:12]:
            found += _places(value[key], (*path, key))
    if isinstance(value, list):
        for index in range(min(len(value), 3)):
            found += _places(value[index], (*path, index))
    return found


_WHOLE = json.loads(
    (TINY.parent.parent / "template-tiny" / "huggingface" / "tokenizer.json").read_text("utf-8")
)


@pytest.mark.parametrize(
    "wrong", [None, True, -1, 2**70, 1.5, "", "x", [], {}, [[]], {"type": "NFC"}]
)
@pytest.mark.parametrize("path", _places(_WHOLE), ids=lambda path: ".".join(map(str, path)))
def test_a_wrong_json_type_gives_a_model_or_our_own_error(
    path: tuple[Any, ...], wrong: Any
) -> None:
    value = copy.deepcopy(_WHOLE)
    place = value
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = wrong
    assert complaint(json.dumps(value).encode()) != ""
