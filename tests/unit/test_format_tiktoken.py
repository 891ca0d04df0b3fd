"""The tiktoken rank file, its sidecar and its plugin."""

from __future__ import annotations

import base64
import json
import os
import runpy
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tiktoken
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from bpe_interop.convert import convert
from bpe_interop.encode import Encoder
from bpe_interop.engines import from_model
from bpe_interop.errors import (
    DecodeError,
    FormatError,
    LossyConversionError,
    TargetError,
    UnstatedError,
    UnsupportedError,
)
from bpe_interop.formats import by_name
from bpe_interop.formats.tiktoken import FORMAT, sniff
from bpe_interop.formats.tiktoken.ranks import read_ranks, write_ranks
from bpe_interop.formats.tiktoken.read import load
from bpe_interop.formats.tiktoken.write import dump, plugin
from bpe_interop.gate import refuse
from bpe_interop.kernel import set_aside
from bpe_interop.loss import Field
from bpe_interop.model import (
    AddedToken,
    BPEModel,
    RankTable,
    SequenceTemplate,
    TemplateText,
    TemplateToken,
    Vocab,
)
from bpe_interop.openai_encodings import ENCODINGS
from bpe_interop.presets import PRESETS
from bpe_interop.steps import (
    JoinBytes,
    Pattern,
    PrefixSpace,
    Split,
    UnicodeForm,
    UnicodeScripts,
)
from bpe_interop.theory.utf8 import UTF8_BYTES
from fixtures import TOKENIZERS, piece_model

BYTES = {bytes([byte]): byte for byte in range(256)}
RANKS = {**BYTES, b"ab": 256, b"abc": 257, b" ab": 260}
WORDS = r"\s+|\S+"

OFFICIAL = {
    "r50k_base/r50k_base.tiktoken",
    "p50k_base/p50k_base.tiktoken",
    "cl100k_base/cl100k_base.tiktoken",
    "o200k_base/o200k_base.tiktoken",
    "llama-3/tokenizer.model",
    "qwen/qwen.tiktoken",
    "whisper/multilingual.tiktoken",
}


def lines(ranks: dict[bytes, int], end: str = "\n") -> bytes:
    """A rank file as tiktoken's ``dump_tiktoken_bpe`` writes it."""
    return "".join(
        f"{base64.b64encode(token).decode()} {rank}{end}" for token, rank in ranks.items()
    ).encode()


def files(sidecar: dict[str, Any] | None = None) -> dict[str, bytes]:
    found = {"t.tiktoken": lines(RANKS)}
    if sidecar is not None:
        found["t.tiktoken.json"] = json.dumps(sidecar).encode()
    return found


def model(**changes: Any) -> BPEModel:
    stated = files({"name": "t", "pat_str": WORDS, "special_tokens": {"<|e|>": 261}})
    return replace(load(stated), **changes)


def lost(of: BPEModel) -> set[tuple[str, str]]:
    return {(loss.field, loss.grade) for loss in FORMAT.losses(of)}


def fixture(name: str) -> dict[str, bytes]:
    folder = TOKENIZERS / name / "tiktoken"
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# Rank files


@pytest.mark.parametrize("name", ["gpt2-tiny", "cl100k-tiny", "o200k-tiny"])
def test_reads_what_tiktoken_reads(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from tiktoken.load import load_tiktoken_bpe

    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")  # it would copy the file there
    path = TOKENIZERS / name / "tiktoken" / f"{name}.tiktoken"
    loaded = load(fixture(name))
    assert loaded.vocab.ids == load_tiktoken_bpe(str(path))
    assert isinstance(loaded.merges, RankTable)
    assert loaded.merges.ranks is loaded.vocab.ids
    assert loaded.lookup_first
    assert loaded.normalizer == ()
    assert loaded.decoder == (JoinBytes(),)


@pytest.mark.parametrize("name", ["gpt2-tiny", "cl100k-tiny", "o200k-tiny"])
def test_writes_back_the_same_bytes(name: str) -> None:
    source = fixture(name)
    assert dump(load(source)) == source


@given(
    st.dictionaries(
        st.binary(min_size=1, max_size=6), st.integers(0, 2**32 - 2), min_size=1, max_size=30
    ).filter(lambda ranks: len(set(ranks.values())) == len(ranks)),
    st.sampled_from(["\n", "\r\n", "\n\n", "\r\n\r\n"]),
    st.booleans(),
)
def test_line_ends_and_blank_lines_mean_nothing(
    ranks: dict[bytes, int], end: str, cut: bool
) -> None:
    data = lines(ranks, end)
    if cut:
        data = data.rstrip(b"\r\n")
    assert list(read_ranks(data, "f").items()) == list(ranks.items())
    assert write_ranks(ranks) == lines(ranks)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 400), st.sampled_from([*(bytes([c]) for c in b" \n\r\t=+-_0A\xff"), b""])
        ),
        min_size=1,
        max_size=3,
    )
)
def test_the_kernel_accepts_what_python_does(edits: list[tuple[int, bytes]]) -> None:
    data = lines({**dict(list(BYTES.items())[:40]), b"AB": 300, b"ABC": 301})
    for place, byte in edits:
        place %= len(data)
        data = data[:place] + byte + data[place + 1 :]

    def outcome() -> object:
        try:
            return list(read_ranks(data, "f").items())
        except FormatError as error:
            return str(error)

    by_kernel = outcome()
    with set_aside():
        assert outcome() == by_kernel


def test_the_empty_token_is_an_id_and_no_rank() -> None:
    source = {"m.tiktoken": lines(RANKS) + b"= 300\n"}
    loaded = load(source)
    assert loaded.vocab.ids[b""] == 300
    assert isinstance(loaded.merges, RankTable)
    assert loaded.merges.ranks == RANKS
    assert dump(loaded)["m.tiktoken"] == source["m.tiktoken"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"YWI 258", "wrong length or padding"),
        (b"YWI== 258", "wrong length or padding"),
        (b"YWJ= 258", "stray bits"),
        (b"YW== 258", "stray bits"),
        (b"Y=I= 258", "is not base64"),
        (b"==== 258", "is not base64"),
        (b"-_== 258", "is not base64"),
        (b"YW\xc3\xa9 258", "is not base64"),
        (b"YWI=  258", "expected `base64 number`"),
        (b"YWI=\t258", "expected `base64 number`"),
        (b" YWI= 258", "expected `base64 number`"),
        (b"YWI= 258 ", "expected `base64 number`"),
        (b"YWI= 258\r", "expected `base64 number`"),
        (b"YWI=", "expected `base64 number`"),
        (b"258", "expected `base64 number`"),
        (b"YWI= 1 2", "expected `base64 number`"),
        (b"YWI= -1", "is negative"),
        (b"YWI= 1_0", "not a plain decimal number"),
        (b"YWI= +1", "not a plain decimal number"),
        (b"YWI= 0258", "not a plain decimal number"),
        (b"YWI= 2.5", "not a plain decimal number"),
        (b"YWI= x", "not a plain decimal number"),
        (b"YWI= \xd9\xa1", "not a plain decimal number"),
        (b"YWI= 4294967295", "above 4294967294"),
        (b"YWI= 4294967296", "above 4294967294"),
        (b"YWI= " + b"9" * 5000, "above 4294967294"),
        (b"YQ== 258", 'the token "a" stands already in line 98'),
        (b"YWI= 7", "the number 7 stands already in line 8"),
        (b"= 7", "the number 7 stands already in line 8"),
        (b"\x00\x01\x02", "expected `base64 number`"),
    ],
)
def test_a_bad_line_is_named(line: bytes, says: str) -> None:
    data = lines(BYTES) + b"\r\n" + line + b"\r\n" + b"YWJj 999\n"
    with pytest.raises(FormatError, match=r"^f\.tiktoken:258: ") as caught:
        load({"f.tiktoken": data})
    assert says in str(caught.value)


@pytest.mark.parametrize("data", [b"", b"\n", b"\r\n\r\n"])
def test_an_empty_file_is_an_error(data: bytes) -> None:
    with pytest.raises(FormatError, match="holds no tokens"):
        load({"f.tiktoken": data})


@pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b"\xff\xfe"])
def test_a_byte_order_mark_is_an_error(mark: bytes) -> None:
    with pytest.raises(FormatError, match=r"f\.tiktoken:1: .*byte order mark"):
        load({"f.tiktoken": mark + lines(BYTES)})


def test_missing_bytes_are_noted() -> None:
    assert load({"f": lines(BYTES)}).origin.notes == ()
    only_utf8 = {token: rank for token, rank in BYTES.items() if rank in UTF8_BYTES}
    assert load({"f": lines(only_utf8)}).origin.notes == ()
    del only_utf8[b"\x03"]
    (note,) = load({"f": lines(only_utf8)}).origin.notes
    assert "1 bytes" in note
    assert "(03)" in note


# Which files


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ({"tokenizer.model": lines(RANKS)}, True),
        ({"x": b"= 0\n"}, True),
        ({"x.tiktoken": b""}, True),
        ({"merges.txt": b"#version: 0.2\na b\n"}, False),
        ({"merges.txt": "Ġ t\nh e\n".encode()}, False),
        ({"tokenizer.model": b"\n\x0e\n\x05<unk>\x15\x00\x00\x00\x00\x18\x02"}, False),
        ({"tokenizer.json": b'{"model": {}}'}, False),
        ({}, False),
    ],
)
def test_sniff(names: dict[str, bytes], expected: bool) -> None:
    assert sniff(names) is expected


def test_the_rank_file_is_found_among_others() -> None:
    loaded = load({"README.md": b"words", **files({"name": "n"})})
    assert loaded.vocab.ids == RANKS
    assert loaded.origin.name == "n"
    assert set(loaded.origin.files) == {"t.tiktoken", "t.tiktoken.json"}


@pytest.mark.parametrize(
    "found",
    [{"a.tiktoken": lines(RANKS), "b.tiktoken": lines(RANKS)}, {}, {"x.json": b"{}", "y": b""}],
)
def test_not_one_rank_file_is_an_error(found: dict[str, bytes]) -> None:
    with pytest.raises(FormatError, match="expected one rank file, found"):
        load(found)


# The sidecar


def test_without_a_sidecar_nothing_is_guessed() -> None:
    loaded = load(files())
    assert loaded.pretokenizer is None
    assert loaded.added is None
    assert loaded.sequence_template is None
    assert loaded.chat_template is None
    assert loaded.origin.name == "t"


def test_a_sidecar_states_what_tiktoken_takes() -> None:
    loaded = model()
    assert loaded.pretokenizer == (Split(Pattern(WORDS, "fancy-regex"), "removed", invert=True),)
    assert loaded.added == (AddedToken("<|e|>", 261),)
    assert loaded.sequence_template == SequenceTemplate()


TEMPLATE = SequenceTemplate(
    (TemplateToken("<|e|>", (261,)), TemplateText("A")),
    (TemplateText("A"), TemplateToken("<|e|>", (261, 262), 1), TemplateText("B", 1)),
)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"sequence_template": None},
        {"sequence_template": TEMPLATE},
        {"sequence_template": TEMPLATE, "chat_template": "{{ 'é\u2028' }}"},
        {"chat_template": ""},
        {"sequence_template": None, "chat_template": "x"},
        {"added": None},
        {"added": ()},
        {"added": None, "sequence_template": None},
        {"pretokenizer": None},
        {"pretokenizer": None, "added": None, "sequence_template": None},
        {"added": (AddedToken("<|z|>", 262, roles=("bos", "eos")), AddedToken("<|a|>", 261))},
        {"added": (AddedToken("x1", 261, roles=("more",)), AddedToken("x2", 262, roles=("more",)))},
        {"added": (AddedToken("<|first|>", 261), AddedToken("<|second|>", 261))},
        {"added": (AddedToken('"\\\n\x00\u202e', 2**32 - 1),)},
    ],
)
def test_what_is_stated_and_what_is_not_comes_back(changes: dict[str, Any]) -> None:
    before = model(**changes)
    written = dump(before)
    after = load(written)
    for field in ("pretokenizer", "added", "sequence_template", "chat_template", "vocab"):
        assert getattr(after, field) == getattr(before, field), field
    assert dump(after) == written
    assert lost(before) == set()


@pytest.mark.parametrize(
    ("sidecar", "where", "says"),
    [
        ({"name": "n", "mergeable_ranks": {}}, "$.mergeable_ranks", "not known"),
        ({"name": "n", "bpe_interop": {"normalizer": 1}}, "$.bpe_interop.normalizer", "not known"),
        ({"name": 1}, "$.name", "expected a string"),
        ({"name": None}, "$.name", "expected a string"),
        ({"pat_str": None}, "$.pat_str", "expected a string"),
        ({"special_tokens": []}, "$.special_tokens", "expected an object"),
        ({"special_tokens": {"a": True}}, "$.special_tokens.a", "expected an integer"),
        ({"special_tokens": {"a": 1.0}}, "$.special_tokens.a", "expected an integer"),
        ({"special_tokens": {"a": -1}}, "$.special_tokens.a", "is not an id"),
        ({"special_tokens": {"a": 2**32}}, "$.special_tokens.a", "is not an id"),
        ({"special_tokens": {"": 300}}, "$.special_tokens", "empty"),
        ({"special_tokens": {"<x>": 256}}, "$.special_tokens.<x>", 'the rank of the token "ab"'),
        ({"special_tokens": {"<x>": 300, "<x>y": 301}}, "$.special_tokens", "begins another one"),
        (
            {"special_tokens": {}, "bpe_interop": {"roles": {"bos": "x"}}},
            "$.special_tokens",
            "role",
        ),
        ({"bpe_interop": {"roles": {"bos": "x"}}}, "$.bpe_interop.roles", "no special_tokens"),
        ({"bpe_interop": []}, "$.bpe_interop", "expected an object"),
        (
            {"bpe_interop": {"sequence_template": {"single": [{"text": "C", "type_id": 0}]}}},
            "$.bpe_interop.sequence_template.single[0].text",
            'expected "A" or "B"',
        ),
        (
            {"bpe_interop": {"sequence_template": {"single": [], "pair": [{"token": "x"}]}}},
            "$.bpe_interop.sequence_template.pair[0]",
            "'ids' is missing",
        ),
        ({"special_tokens": {}, "explicit_n_vocab": 258}, "$.explicit_n_vocab", "259 ranks"),
        (
            {"special_tokens": {}, "explicit_n_vocab": 259},
            "$.explicit_n_vocab",
            "largest id is 260",
        ),
        ({"special_tokens": {}, "explicit_n_vocab": "9"}, "$.explicit_n_vocab", "an integer"),
        ({"explicit_n_vocab": 259}, "$.explicit_n_vocab", "not special_tokens"),
    ],
)
def test_a_bad_sidecar_is_named_by_its_path(sidecar: Any, where: str, says: str) -> None:
    with pytest.raises(FormatError) as caught:
        load(files(sidecar))
    assert caught.value.where == f"t.tiktoken.json: {where}"
    assert says in caught.value.what


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"name": NaN}', '{"name": "\\ud800"}', '{"name": "a", "name": "b"}']
)
def test_a_sidecar_that_is_no_object_is_an_error(text: str) -> None:
    with pytest.raises(FormatError, match=r"^t\.tiktoken\.json"):
        load({**files(), "t.tiktoken.json": text.encode()})


def test_unknown_keys_are_refused_not_passed_over() -> None:
    with pytest.raises(UnsupportedError):
        load(files({"name": "n", "normalizer": None}))


@given(st.sets(st.integers(259, 264)), st.integers(0, 266))
def test_n_vocab_is_checked_as_tiktoken_does(ids: set[int], stated: int) -> None:
    ranks = {**BYTES, b"ab": 256, b"abc": 257, b" ab": 258}
    special = {f"<{number}>": number for number in ids}
    arguments: dict[str, Any] = {"name": "n", "pat_str": WORDS, "special_tokens": special}

    def accepts(build: Callable[[], object]) -> bool:
        try:
            build()
        except (AssertionError, FormatError):
            return False
        return True

    sidecar = json.dumps({**arguments, "explicit_n_vocab": stated}).encode()
    ours = accepts(lambda: load({"t": lines(ranks), "t.json": sidecar}))
    theirs = accepts(
        lambda: tiktoken.Encoding(**arguments, mergeable_ranks=ranks, explicit_n_vocab=stated)
    )
    assert ours == theirs
    written = json.loads(
        dump(load({"t": lines(ranks), "t.json": json.dumps(arguments).encode()}))["n.tiktoken.json"]
    )
    assert tiktoken.Encoding(**written, mergeable_ranks=ranks).n_vocab


def test_file_names_are_the_models_or_given() -> None:
    assert set(dump(model())) == {"t.tiktoken", "t.tiktoken.json"}
    assert set(dump(model(), name="u")) == {"u.tiktoken", "u.tiktoken.json"}
    unnamed = model(origin=replace(model().origin, name="../up"))
    assert set(dump(unnamed)) == {"tokenizer.tiktoken", "tokenizer.tiktoken.json"}


# Losses


def test_nothing_is_lost_of_a_rank_file() -> None:
    assert lost(model()) == set()
    assert lost(load(files())) == set()
    assert set(FORMAT.needs) == {"normalizer", "pretokenizer", "added"}


@pytest.mark.parametrize(
    ("changes", "field", "grade", "witness"),
    [
        ({"normalizer": (UnicodeForm("NFC"),)}, "normalizer", "ids", "e\u0340"),
        ({"pretokenizer": (PrefixSpace(),)}, "pretokenizer", "ids", "a"),
        ({"pretokenizer": (UnicodeScripts(),)}, "pretokenizer", "ids", None),
        ({"pretokenizer": (Split("abc", "isolated"),)}, "pretokenizer", "ids", None),
        ({"added": (AddedToken("<x>", 261, special=False),)}, "added", "text", "<x>"),
        ({"added": (AddedToken("<x>", 261, lstrip=True),)}, "added", "text", " <x>"),
        ({"added": (AddedToken("<x>", 261, rstrip=True),)}, "added", "text", "<x> "),
        ({"added": (AddedToken("<x>", 261, single_word=True),)}, "added", "text", "a<x>"),
        ({"added": (AddedToken("<a>", 261), AddedToken("<a>b", 262))}, "added", "text", "<a>"),
        ({"added": (AddedToken("<x>", 256),)}, "added", "text", "<x>"),
        (
            {"added": (AddedToken("ab", 261, normalized=True), AddedToken("bc", 262))},
            "added",
            "text",
            "abc",
        ),
        ({"extras": {"batching": {"padding": {}}}}, "extras", "metadata", None),
        ({"decoder": (JoinBytes(mapped_added=True),)}, "decoder", "metadata", None),
    ],
)
def test_losses(changes: dict[str, Any], field: str, grade: str, witness: str | None) -> None:
    (loss,) = FORMAT.losses(model(**changes))
    assert (loss.field, loss.grade, loss.witness) == (field, grade, witness)


def test_normalized_matters_only_where_it_can() -> None:
    apart = (AddedToken("<x>", 261, normalized=True), AddedToken("{y}", 262))
    assert lost(model(added=apart)) == set()
    assert ("added", "text") in lost(model(added=apart, normalizer=(UnicodeForm("NFC"),)))


def test_a_pattern_that_keeps_unmatched_text_is_lost_with_that_text() -> None:
    pattern = Pattern(r"\p{L}bc", "oniguruma")  # three characters tell where it matches
    (loss,) = FORMAT.losses(model(pretokenizer=(Split(pattern, "isolated"),)))
    assert loss.field == "pretokenizer"
    assert loss.shown
    assert loss.witness is not None
    assert lost(model(pretokenizer=(Split(pattern, "removed", invert=True),))) == set()


@pytest.mark.parametrize(
    ("behavior", "invert"),
    [("isolated", False), ("isolated", True), ("removed", True), ("merged_with_next", False)],
)
def test_a_pattern_that_matches_all_is_written(behavior: Any, invert: bool) -> None:
    step = Split(Pattern(WORDS, "oniguruma"), behavior, invert)
    before = model(pretokenizer=(step,))
    assert lost(before) <= {("pretokenizer", "metadata")}
    sidecar = json.loads(dump(before)["t.tiktoken.json"])
    ids = tiktoken.Encoding(**sidecar, mergeable_ranks=RANKS).encode_ordinary(" ab abcab")
    assert ids == [32, 256, 32, 257, 256]


def test_a_missing_byte_that_is_dropped_is_a_loss() -> None:
    from bpe_interop.model import Fallback

    ranks = {token: rank for token, rank in RANKS.items() if token != b"\xe2"}
    dropping = replace(load({"t": lines(ranks)}), fallback=Fallback("drop"), pretokenizer=None)
    (loss,) = FORMAT.losses(dropping)
    assert (loss.field, loss.grade) == ("fallback", "ids")
    assert loss.witness is not None
    assert 0xE2 in loss.witness.encode()


def test_control_tokens_have_no_line() -> None:
    vocab = Vocab({**RANKS, "日".encode(): 300}, {300: "control"})
    before = model(vocab=vocab, merges=RankTable(RANKS))
    assert ("vocab", "text") in lost(before)
    assert load(dump(before)).vocab.ids == RANKS


# The plugin


def test_the_plugin_is_found_by_tiktoken(tmp_path: Path) -> None:
    source = tmp_path / "source"
    text = "ab abc  ab'ab<|e|>\n日本\x00"
    special = AddedToken("<|f|>\"'\\{}\n\u202e", 261)
    before = model(added=(AddedToken("<|e|>", 262), special))
    for name, content in plugin(before, "my-Name.v1").items():
        path = source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    target = tmp_path / "target"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    environment = {**os.environ, "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    subprocess.run(
        [*pip, "--target", str(target), str(source)], check=True, env=environment, timeout=300
    )
    left = {str(path.relative_to(source)) for path in source.rglob("*") if path.is_file()}
    assert left == {*plugin(before, "my-Name.v1")}
    script = (
        "import json, sys, tiktoken\n"
        "e = tiktoken.get_encoding('my-Name.v1')\n"
        "text = json.loads(sys.argv[1])\n"
        "print(json.dumps([e.name, e.n_vocab, e.encode(text, allowed_special='all'),"
        " sorted(e.special_tokens_set), 'gpt2' in tiktoken.list_encoding_names()]))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, json.dumps(text)],
        check=True,
        capture_output=True,
        text=True,
        env={**environment, "PYTHONPATH": str(target)},
        timeout=120,
    )
    expected = tiktoken.Encoding(
        "x",
        pat_str=WORDS,
        mergeable_ranks=RANKS,
        special_tokens={"<|e|>": 262, special.text: 261},
    )
    assert json.loads(ran.stdout) == [
        "my-Name.v1",
        expected.n_vocab,
        expected.encode(text, allowed_special="all"),
        sorted(expected.special_tokens_set),
        True,
    ]


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../x", "a/b", "a b", "-a", "a-", 'a"', "a\n", "é", "x" * 65, "gpt2"]
)
def test_names_that_cannot_be_used_are_refused(name: str) -> None:
    with pytest.raises(TargetError):
        plugin(model(), name)


def test_the_plugin_stands_beside_the_files() -> None:
    before = model()
    written = FORMAT.options["plugin"](before, dump(before))
    assert set(dump(before)) < set(written)
    assert "plugin/pyproject.toml" in written
    assert sniff(written)
    assert load(written).vocab == before.vocab


def test_the_names_that_tiktoken_has_are_known() -> None:
    from tiktoken_ext import openai_public

    assert set(openai_public.ENCODING_CONSTRUCTORS) == {*ENCODINGS}


def test_a_plugin_needs_to_know() -> None:
    with pytest.raises(UnstatedError, match="the pattern"):
        plugin(model(pretokenizer=None), "n")
    with pytest.raises(UnstatedError, match="special"):
        plugin(model(added=None), "n")


# Real files


@pytest.mark.parametrize("name", sorted(OFFICIAL))
def test_real_files_come_back_byte_for_byte(name: str, data: Any) -> None:
    path = data(name)
    source = {path.name: path.read_bytes()}
    loaded = load(source)
    assert sniff(source)
    assert dump(loaded, name="x")["x.tiktoken"] == source[path.name]


def test_crlf_is_the_same_model(data: Any) -> None:
    windows = load({"q.tiktoken": data("qwen-crlf/qwen.tiktoken").read_bytes()})
    unix = load({"q.tiktoken": data("qwen/qwen.tiktoken").read_bytes()})
    assert windows.vocab == unix.vocab
    assert windows.merges == unix.merges


def test_text_that_is_not_cut_is_one_match() -> None:
    """Without a pre-tokenizer, a text is one pretoken: tiktoken merges across its spaces too."""
    ids = {bytes([byte]): byte for byte in range(256)} | {b"a ": 256, b"a b": 257}
    whole = BPEModel(
        vocab=Vocab(ids),
        merges=RankTable(ids),
        lookup_first=True,
        normalizer=(),
        pretokenizer=(),
        added=(),
        decoder=(JoinBytes(),),
    )
    assert not list(FORMAT.losses(whole))
    files = dump(whole)
    assert load(files).pretokenizer == ()
    sidecar = json.loads(files["tokenizer.tiktoken.json"])
    engine = tiktoken.Encoding(
        "x", pat_str=sidecar["pat_str"], mergeable_ranks=ids, special_tokens={}
    )
    text = "a b\na  b\r\n" * 3
    assert engine.encode_ordinary("a b") == [257]
    assert Encoder(load(files)).encode(text) == engine.encode_ordinary(text)


def ascii_pieces() -> BPEModel:
    """A SentencePiece model of ASCII pieces and byte pieces that leaves texts as they are."""
    kinds = [("<unk>", 0.0, piece_model.UNKNOWN), ("<s>", 0.0, piece_model.CONTROL)]
    pieces = [piece_model.Piece(*kind) for kind in kinds]
    pieces += [piece_model.Piece(f"<0x{b:02X}>", 0.0, piece_model.BYTE) for b in range(256)]
    words = ["th", "the", "in", "ing", " t", " the", "  "]
    pieces += [piece_model.Piece(word, -float(rank)) for rank, word in enumerate(words)]
    pieces += [piece_model.Piece(chr(c), -100.0 - c) for c in range(0x20, 0x7F)]
    path = TOKENIZERS / "spm-tiny" / "sentencepiece" / "tokenizer.model"
    data = piece_model.with_pieces(path.read_bytes(), pieces)
    for flag in (piece_model.DUMMY_PREFIX, piece_model.ESCAPE, piece_model.REMOVE_EXTRA):
        data = piece_model.with_field(data, piece_model.NORMALIZER, flag, 0)
    return by_name("sentencepiece").load({"tokenizer.model": data})


def test_a_sentencepiece_model_is_written_where_it_is_proved_the_same() -> None:
    model = ascii_pieces()
    found = list(FORMAT.losses(model))
    assert {loss.grade for loss in found} == {"metadata"}
    assert {"alphabet", "decoder"} <= {loss.field for loss in found}
    files = dump(model)
    ranks = load(files)
    engine = tiktoken.Encoding(
        "x",
        pat_str=json.loads(files["tokenizer.tiktoken.json"])["pat_str"],
        mergeable_ranks=dict(ranks.vocab.ids),
        special_tokens={},
    )
    theirs = from_model("sentencepiece", model)
    for text in ("the thing in  the", "th\u00e9 \u4e2d\u6587 \U0001f642", "\x00\n\u2581 the", ""):
        assert engine.encode_ordinary(text) == theirs.encode(text)


@pytest.mark.usefixtures("few_texts")
@pytest.mark.long
@pytest.mark.parametrize(
    "texts", [["\u00e9"], ["<s>", "<s>x"]], ids=["the id of a byte", "one begins another"]
)
def test_special_tokens_that_cannot_stand_beside_the_others_are_left_out(
    texts: list[str], tmp_path: Path
) -> None:
    """tokenizers gives a text that spells a byte the id of that byte."""
    source = json.loads(
        (TOKENIZERS / "cl100k-tiny" / "huggingface" / "tokenizer.json").read_bytes()
    )
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    source["added_tokens"] += [
        {"id": 830 + at, "content": text, **flags} for at, text in enumerate(texts)
    ]
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(source))
    target = tmp_path / "made"
    fields: list[Field] = ["added", "decoder"] if texts == ["\u00e9"] else ["added"]
    with pytest.raises(LossyConversionError, match=r"distinguish|begins"):
        convert(path, target, "tiktoken", options=["plugin"], name="made")
    convert(path, target, "tiktoken", options=["plugin"], name="made", drop=fields)
    written = json.loads((target / "made.tiktoken.json").read_bytes())["special_tokens"]
    theirs = tokenizers.Tokenizer.from_file(str(path))
    kept = [e["content"] for e in source["added_tokens"] if e["content"] != texts[0]]
    assert written == {text: theirs.token_to_id(text) for text in kept}
    module = runpy.run_path(str(target / "plugin" / "tiktoken_ext" / "encoding_made.py"))
    build = module["ENCODING_CONSTRUCTORS"]["made"]
    engine = tiktoken.Encoding(**build())
    text = "a<|endoftext|>b"
    assert engine.encode(text, allowed_special="all") == theirs.encode(text).ids
    assert engine._special_tokens == written


@pytest.mark.usefixtures("few_texts")
@pytest.mark.long
def test_a_token_with_the_id_that_tiktoken_has_no_rank_for_is_left_out(tmp_path: Path) -> None:
    source = json.loads((TOKENIZERS / "gpt2-tiny" / "huggingface" / "tokenizer.json").read_bytes())
    source["model"]["vocab"]["b2"] = 2**32 - 1
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(source))
    with pytest.raises(LossyConversionError, match="an id above 4294967294"):
        convert(path, tmp_path / "t.tiktoken", "tiktoken")
    convert(path, tmp_path / "t.tiktoken", "tiktoken", drop=["vocab"])
    ranks = read_ranks((tmp_path / "t.tiktoken").read_bytes(), "t")
    assert b"b2" not in ranks
    assert len(ranks) == len(source["model"]["vocab"]) - 1


@pytest.mark.parametrize(
    "number",
    ["0,1", "1,0", "2,", ",2", "null", "true", '"a"', "[1]", "{}", "[" * 100_000, "1e2", "1.0",
     "-1", "+1", "01", "1_0", " 1", "\t1", "١"],
)  # fmt: skip
def test_what_is_no_plain_number_is_told_with_its_line(number: str) -> None:
    ranks = [f"{base64.b64encode(bytes([byte])).decode()} {byte}" for byte in range(256)]
    for at in (0, 7, 255):
        changed = [*ranks]
        changed[at] = f"{changed[at].split()[0]} {number}"
        data = "".join(f"{line}\n" for line in changed).encode()
        with pytest.raises(FormatError) as caught:
            load({"t.tiktoken": data})
        assert caught.value.where == f"t.tiktoken:{at + 1}"


def test_a_surplus_number_does_not_move_the_others() -> None:
    with pytest.raises(FormatError, match="'2,1' is not a plain decimal number"):
        load({"t.tiktoken": b"YQ== 2,1\nYg== 0\nYw== 1\n"})


EMPTY = ["a*", "a+|b*", "(?=a)|a+", r"^", r"$|.+", r"\b|\w+", "x??", r"(?!\S)|\S+"]


@pytest.mark.parametrize("source", EMPTY)
def test_patterns_that_can_match_the_empty_text_are_refused(source: str) -> None:
    """tiktoken panics where one does, and only with an empty token it does not."""
    engine = tiktoken.Encoding("t", pat_str=source, mergeable_ranks=BYTES, special_tokens={})
    with pytest.raises(BaseException, match="out of range") as panic:
        list(map(engine.encode_ordinary, ("", "b", "a b")))
    assert panic.type.__name__ == "PanicException"
    sidecar = json.dumps({"name": "t", "pat_str": source, "special_tokens": {}}).encode()
    lines = "".join(f"{base64.b64encode(token).decode()} {rank}\n" for token, rank in BYTES.items())
    with pytest.raises(UnsupportedError, match="tiktoken panics") as refused:
        FORMAT.load({"t.tiktoken": lines.encode(), "t.tiktoken.json": sidecar})
    assert refused.value.where == "t.tiktoken.json: $.pat_str"
    step = Split(Pattern(source, "oniguruma"), "removed", invert=True)
    model = BPEModel(Vocab(BYTES), RankTable(BYTES), normalizer=(), pretokenizer=(step,), added=())
    with pytest.raises(LossyConversionError, match="can match the empty text"):
        refuse(model, FORMAT)


@pytest.mark.parametrize(
    ("special", "decoded"),
    [
        ({"<a>": 300, "<b>": 300, "<c>": 301}, "<b>"),
        ({"<b>": 300, "<a>": 300, "<c>": 301}, "<b>"),
        ({"<|endofprompt|>": 200018, "<|reserved_200018|>": 200018}, "<|reserved_200018|>"),
        ({t.text: t.id for t in PRESETS["o200k_harmony"].added or ()}, "<|endofprompt|>"),
    ],
)
def test_an_id_of_two_special_tokens_is_not_decoded(special: dict[str, int], decoded: str) -> None:
    """tiktoken takes the last listed, the first, or either, by the other special tokens."""
    engine = tiktoken.Encoding("t", pat_str=WORDS, mergeable_ranks=RANKS, special_tokens=special)
    shared = special[decoded]
    assert engine.decode([shared]) == decoded
    sidecar = {"pat_str": WORDS, "special_tokens": special}
    files = {"t.tiktoken": write_ranks(RANKS), "t.tiktoken.json": json.dumps(sidecar).encode()}
    encoder = Encoder(load(files))
    text = "a".join(["", *list(special)[:5], decoded])
    assert encoder.encode(text, "all") == engine.encode(text, allowed_special="all")
    for ask in (encoder.decode, encoder.decode_bytes):
        with pytest.raises(DecodeError, match=f"{shared} is that of 2 special tokens") as said:
            ask([97, shared])
        assert all(text in str(said.value) for text in special if special[text] == shared)
    assert encoder.decode([97, shared, *special.values()], skip_special=True) == "a"
    other = next((n for n in special.values() if n != shared), 97)
    assert encoder.decode([97, other]) == engine.decode([97, other])
