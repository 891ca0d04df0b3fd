"""The presets: published facts, and what they may fill."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tiktoken
import tokenizers
from command_line import Command
from conftest import Data

from bpe_interop.encode import Encoder
from bpe_interop.errors import SourceError, UnstatedError
from bpe_interop.formats import by_name as by_format
from bpe_interop.formats.gpt2.read import load as load_pair
from bpe_interop.formats.tiktoken import FORMAT as RANK_FILE
from bpe_interop.model import (
    AddedToken,
    BPEModel,
    Origin,
    PairList,
    RankTable,
    SequenceTemplate,
    Vocab,
)
from bpe_interop.presets import (
    PRESETS,
    Preset,
    by_name,
    by_sha256,
    candidates,
    fill,
    telling_apart,
)
from bpe_interop.presets.table import FAMILIES
from bpe_interop.sources import load_source
from bpe_interop.statement import Statement, with_gaps_filled
from bpe_interop.steps import Pattern, Split, UnicodeForm
from bpe_interop.tokenizer import Tokenizer
from fixtures import TOKENIZERS

OPENAI = [name for name, preset in PRESETS.items() if "openai/tiktoken" in preset.source]
BYTES = {bytes([byte]): byte for byte in range(256)}


def model(**changes: Any) -> BPEModel:
    return replace(BPEModel(Vocab(BYTES), RankTable(BYTES), lookup_first=True), **changes)


def from_files(*presets: Preset) -> BPEModel:
    """A model whose files are those of the presets."""
    hashes = sorted(set().union(*(preset.files[-1] for preset in presets)))
    return model(origin=Origin(files={f"file{n}": digest for n, digest in enumerate(hashes)}))


def test_the_names() -> None:
    from tiktoken_ext import openai_public

    assert set(OPENAI) == set(openai_public.ENCODING_CONSTRUCTORS)
    assert all(name == preset.name for name, preset in PRESETS.items())
    assert {"llama-3", "llama-3.1", "qwen", "qwen2", "qwen2.5"} <= set(PRESETS)


@pytest.mark.parametrize("name", OPENAI)
def test_openai_facts_are_tiktokens(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from tiktoken_ext import openai_public

    seen: set[str] = set()

    def ranks(*_: object, **known: str) -> dict[bytes, int]:
        seen.update(value for key, value in known.items() if key.endswith("hash"))
        return {b"a": 0}

    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", ranks)
    monkeypatch.setattr(openai_public, "data_gym_to_mergeable_bpe_ranks", ranks)
    published = openai_public.ENCODING_CONSTRUCTORS[name]()
    preset = PRESETS[name]
    assert preset.pattern == published["pat_str"]
    assert list(preset.special_tokens.items()) == list(published["special_tokens"].items())
    assert seen in [set(files) for files in preset.files]
    assert preset.template == SequenceTemplate()


@pytest.mark.parametrize("name", list(PRESETS))
def test_every_pattern_compiles_in_tiktoken_and_keeps_all_text(name: str) -> None:
    preset = PRESETS[name]
    encoding = tiktoken.Encoding(
        name, pat_str=preset.pattern, mergeable_ranks=BYTES, special_tokens={}
    )
    text = "It's 12345 naïve\n\n  日本語 don'T\t\x00 ?!/\r\n  "
    assert bytes(encoding.encode_ordinary(text)) == text.encode()


@pytest.mark.parametrize(
    ("name", "first", "last", "count"),
    [
        ("llama-3", ("<|begin_of_text|>", 128000), ("<|reserved_special_token_250|>", 128255), 256),
        (
            "llama-3.1",
            ("<|begin_of_text|>", 128000),
            ("<|reserved_special_token_247|>", 128255),
            256,
        ),
        (
            "llama-3.1-reference",
            ("<|begin_of_text|>", 128000),
            ("<|reserved_special_token_245|>", 128255),
            256,
        ),
        ("qwen", ("<|endoftext|>", 151643), ("<|extra_204|>", 151850), 208),
        ("qwen2", ("<|endoftext|>", 151643), ("<|im_end|>", 151645), 3),
        ("qwen2.5", ("<|endoftext|>", 151643), ("<|file_sep|>", 151664), 22),
        ("kimi-k2", ("[BOS]", 163584), ("[PAD]", 163839), 256),
    ],
)
def test_special_tokens_are_numbered_as_published(
    name: str, first: tuple[str, int], last: tuple[str, int], count: int
) -> None:
    added = [(token.text, token.id) for token in PRESETS[name].added]
    assert (added[0], added[-1], len(added)) == (first, last, count)
    assert len({number for _, number in added}) == count


@pytest.mark.parametrize(
    ("name", "text", "number"),
    [
        ("llama-3", "<|eot_id|>", 128009),
        ("llama-3", "<|reserved_special_token_4|>", 128008),
        ("llama-3.1", "<|eot_id|>", 128009),
        ("llama-3.1", "<|reserved_special_token_2|>", 128005),
        ("llama-3.1-reference", "<|step_id|>", 128005),
        ("llama-3.1-reference", "<|image|>", 128011),
        ("qwen", "<|extra_0|>", 151646),
        ("qwen2.5", "<|video_pad|>", 151656),
        ("qwen2.5", "<tool_call>", 151657),
        ("kimi-k2", "<|im_middle|>", 163601),
        ("kimi-k2", "<|reserved_token_163589|>", 163589),
    ],
)
def test_some_ids(name: str, text: str, number: int) -> None:
    assert {token.text: token.id for token in PRESETS[name].added}[text] == number


def test_what_tells_presets_of_one_file_apart_is_said() -> None:
    llama = telling_apart(["llama-3", "llama-3.1", "llama-3.1-reference"])
    assert llama == (
        '    llama-3 has 256 added tokens, 128004 is "<|reserved_special_token_2|>", '
        'eos is "<|end_of_text|>", pad is not stated; from '
        "https://github.com/meta-llama/llama3/blob/main/llama/tokenizer.py\n"
        '    llama-3.1 has 256 added tokens, 128004 is "<|finetune_right_pad_id|>", '
        "eos is not stated, pad is not stated; from the tokenizer.json published with Llama 3.2 "
        "(https://huggingface.co/meta-llama)\n"
        '    llama-3.1-reference has 256 added tokens, 128004 is "<|finetune_right_pad_id|>", '
        'eos is "<|end_of_text|>", pad is "<|finetune_right_pad_id|>"; from '
        "https://github.com/meta-llama/llama-models/blob/main/models/llama3/tokenizer.py"
    )
    assert "151646 is no token" in telling_apart(["qwen", "qwen2"])


def test_roles_name_special_tokens() -> None:
    for preset in PRESETS.values():
        assert set(preset.roles.values()) <= set(preset.special_tokens)
    (bos,) = [token for token in PRESETS["llama-3"].added if "bos" in token.roles]
    assert bos.text == "<|begin_of_text|>"


def test_an_unknown_name_is_answered_with_the_names() -> None:
    assert by_name("gpt2") is PRESETS["gpt2"]
    with pytest.raises(SourceError, match=r"did you mean cl100k_base\?.*o200k_harmony"):
        by_name("cl100k")
    with pytest.raises(SourceError, match="presets: gpt2"):
        by_name("zzzz\n")


# By sha256


def test_all_files_of_a_set_must_be_there() -> None:
    pair = PRESETS["gpt2"].files[1]
    assert len(pair) == 2
    for digest in pair:
        assert by_sha256([digest]) == []
    assert [preset.name for preset in by_sha256(pair)] == ["gpt2", "r50k_base"]
    assert by_sha256([]) == []


def test_a_known_file_gives_pattern_and_special_tokens() -> None:
    filled = fill(from_files(PRESETS["cl100k_base"]))
    assert filled.pretokenizer == PRESETS["cl100k_base"].pretokenizer
    assert filled.added == PRESETS["cl100k_base"].added
    assert filled.sequence_template == SequenceTemplate()
    assert "cl100k_base" in filled.origin.notes[0]


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("o200k_base", ["o200k_base", "o200k_harmony"]),
        ("p50k_base", ["p50k_base", "p50k_edit"]),
        ("llama-3", ["llama-3", "llama-3.1", "llama-3.1-reference"]),
        ("qwen", ["qwen", "qwen2", "qwen2.5"]),
    ],
)
def test_what_presets_of_one_file_disagree_on_stays_unknown(name: str, names: list[str]) -> None:
    before = from_files(PRESETS[name])
    filled = fill(before)
    assert candidates(before) == candidates(filled) == names
    assert filled.pretokenizer == PRESETS[name].pretokenizer
    assert filled.added is None
    assert any(all(each in note for each in names) for note in filled.origin.notes)


def test_an_unknown_file_is_left_alone() -> None:
    before = model()
    assert fill(before) is before
    assert candidates(before) == []


# Filling


def test_only_what_is_unknown_is_filled() -> None:
    preset = PRESETS["cl100k_base"]
    template = SequenceTemplate()
    before = from_files(preset)
    stated = replace(before, added=(), sequence_template=template)
    assert fill(stated).added == ()
    other = (Split(Pattern("x", "fancy-regex"), "removed", invert=True),)
    assert fill(replace(before, pretokenizer=other)).pretokenizer == other


def test_a_name_fills_any_file() -> None:
    filled = fill(model(), PRESETS["o200k_harmony"])
    assert filled.added == PRESETS["o200k_harmony"].added
    assert fill(filled, PRESETS["o200k_harmony"]).added == filled.added


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"pretokenizer": (Split(Pattern("x", "fancy-regex"), "removed", True),)}, "its pattern"),
        ({"pretokenizer": ()}, "another pre-tokenizer"),
        ({"added": ()}, '"<|endoftext|>" is no added token in it'),
        ({"added": (AddedToken("<|endoftext|>", 9),)}, "special token 9 in it"),
        ({"added": (AddedToken("<x>", 9), AddedToken("<|endoftext|>", 50256))}, '"<x>"'),
        (
            {"vocab": Vocab({**BYTES, b"ab": 50256}), "merges": RankTable(BYTES)},
            'the id 50256 is the token "ab"',
        ),
        (
            {"vocab": Vocab({**BYTES, b"<|endoftext|>": 300}), "merges": RankTable(BYTES)},
            '"<|endoftext|>" has id 300',
        ),
    ],
)
def test_a_preset_that_contradicts_is_an_error(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(SourceError) as caught:
        fill(model(**changes, origin=Origin(name="mine")), PRESETS["gpt2"])
    assert caught.value.where == "mine"
    assert "contradicts it" in caught.value.what
    assert says in caught.value.what


PUBLISHED = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def test_another_spelling_of_the_same_split_is_no_contradiction() -> None:
    stated = model(pretokenizer=(Split(Pattern(PUBLISHED, "oniguruma"), "isolated"),))
    assert fill(stated, PRESETS["cl100k_base"]).pretokenizer == stated.pretokenizer
    straddling = {**BYTES, b"\n\t": 300}
    with pytest.raises(SourceError, match="its pattern"):
        fill(
            replace(stated, vocab=Vocab(straddling), merges=RankTable(straddling)),
            PRESETS["cl100k_base"],
        )


def test_entries_that_only_number_a_special_token_leave_the_vocabulary() -> None:
    ids = {**BYTES, b"<|endoftext|>": 50256}
    assert fill(model(vocab=Vocab(ids), merges=PairList(())), PRESETS["gpt2"]).vocab.ids == BYTES
    ranked = fill(model(vocab=Vocab(ids), merges=RankTable(ids)), PRESETS["gpt2"])
    assert ranked.vocab.ids == ids


# Real files


@pytest.mark.parametrize("name", [name for name, preset in PRESETS.items() if preset.files])
def test_the_hashes_are_those_of_real_files(name: str, data: Any) -> None:
    places = {
        "gpt2": ["gpt2/encoder.json", "gpt2/vocab.bpe", "gpt2/gpt2.tiktoken"],
        "r50k_base": ["r50k_base/r50k_base.tiktoken"],
        "p50k_edit": ["p50k_base/p50k_base.tiktoken"],
        "o200k_harmony": ["o200k_base/o200k_base.tiktoken"],
        "qwen": ["qwen/qwen.tiktoken", "qwen-crlf/qwen.tiktoken"],
    }
    if name.startswith("llama"):
        files = ["llama-3/tokenizer.model"]
    elif name.startswith("qwen"):
        files = places["qwen"]
    else:
        files = places.get(name, [f"{name}/{name}.tiktoken"])
    hashes = {hashlib.sha256(data(file).read_bytes()).hexdigest() for file in files}
    assert hashes <= frozenset().union(*PRESETS[name].files)


@pytest.mark.parametrize(("name", "folder"), [("llama-3.1", "llama-3.2"), ("qwen2.5", "qwen3")])
def test_published_json_files_agree(name: str, folder: str, data: Any) -> None:
    published = json.loads(data(f"{folder}/tokenizer.json").read_bytes())
    split = published["pre_tokenizer"]["pretokenizers"][0]
    assert split["pattern"]["Regex"] == PRESETS[name].pattern
    added = [(t["content"], t["id"], t["special"]) for t in published["added_tokens"]]
    ours = [(token.text, token.id, token.special) for token in PRESETS[name].added]
    assert added[: len(ours)] == ours


def test_the_official_pair_is_known_and_robertas_is_not(data: Any) -> None:
    official = load_pair(
        {name: data(f"gpt2/{name}").read_bytes() for name in ("encoder.json", "vocab.bpe")}
    )
    filled = fill(official)
    assert filled.added == (AddedToken("<|endoftext|>", 50256),)
    assert len(official.vocab.ids) == len(filled.vocab.ids) + 1 == 50257
    roberta = load_pair(
        {name: data(f"roberta/{name}").read_bytes() for name in ("vocab.json", "merges.txt")}
    )
    assert fill(roberta).pretokenizer is None


@pytest.mark.parametrize("name", OPENAI)
def test_a_filled_model_is_tiktokens_encoding(name: str, data: Any) -> None:
    file = {"gpt2": "r50k_base", "p50k_edit": "p50k_base", "o200k_harmony": "o200k_base"}.get(
        name, name
    )
    ranks = data(f"{file}/{file}.tiktoken").read_bytes()
    filled = fill(RANK_FILE.load({f"{name}.tiktoken": ranks}), PRESETS[name])
    written = json.loads(RANK_FILE.dump(filled)[f"{name}.tiktoken.json"])
    data("tiktoken_cache")
    official = tiktoken.get_encoding(name)
    assert written["pat_str"] == official._pat_str
    assert written["special_tokens"] == official._special_tokens
    assert filled.vocab.ids == official._mergeable_ranks


def test_a_pair_that_needs_a_normalizer_gets_the_published_one(data: Data) -> None:
    """Qwen2's pair does not say NFC; its tokenizer.json does, and so does the preset."""
    whole = load_source(data("qwen3/tokenizer.json")).model
    pair = by_format("gpt2").load(by_format("gpt2").dump(replace(whole, added=())))
    assert pair.normalizer is None
    filled = fill(pair, by_name("qwen2"))
    assert filled.normalizer == whole.normalizer == (UnicodeForm("NFC"),)
    theirs = tokenizers.Tokenizer.from_file(str(data("qwen3/tokenizer.json")))
    assert Encoder(filled).encode("e\u0301") == theirs.encode("e\u0301").ids


def test_a_preset_never_overrules_a_rank_file(data: Data) -> None:
    model = load_source(data("qwen/qwen.tiktoken"), preset="qwen2").model
    assert model.normalizer == ()


def test_that_nfc_is_left_out_is_noted_until_it_is_stated() -> None:
    ranks = model(normalizer=())
    notes = fill(ranks, by_name("qwen2")).origin.notes
    assert sum("NFC" in note for note in notes) == 1
    for name, left in (("none", 1), ("nfc", 0)):
        stated = with_gaps_filled(fill(ranks, by_name("qwen2")), Statement(normalizer=name))
        assert sum("NFC" in note for note in stated.origin.notes) == left
    pair = replace(ranks, normalizer=None)
    assert not any("NFC" in note for note in fill(pair, by_name("qwen2")).origin.notes)


def test_a_preset_that_was_named_is_not_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is missing is said, and who says it: of the presets of these files, then of all."""
    silent = replace(PRESETS["gpt2"], name="silent", template=None)
    said = "neither the source nor a preset that was named says it"
    source = model()
    with pytest.raises(UnstatedError, match=said) as alone:
        Tokenizer(fill(source, silent)).encode("hi", add_special_tokens=True)
    assert (
        "name a preset that says it (preset=...): gpt2, r50k_base, p50k_base; a sidecar"
        in alone.value.fix
    )
    monkeypatch.setattr("bpe_interop.presets.PRESETS", {"silent": silent})
    with pytest.raises(UnstatedError, match=said) as none:
        Tokenizer(fill(source, silent)).encode_batch(["hi"], add_special_tokens=True)
    assert "no preset that fits these files says it" in none.value.fix
    other = replace(silent, name="says", template=SequenceTemplate(), plain_tokens={"<x>": 9000})
    monkeypatch.setattr("bpe_interop.presets.PRESETS", {"silent": silent, "says": other})
    own = from_files(silent)
    with pytest.raises(UnstatedError, match=said) as known:
        Tokenizer(fill(own, silent)).encode("hi", add_special_tokens=True)
    assert "of the presets that these files serve, says says it" in known.value.fix


@pytest.mark.parametrize(("preset", "is_theirs"), [("qwen2", True), ("o200k_harmony", False)])
def test_a_preset_of_other_files_than_these_is_noted(
    data: Data, preset: str, is_theirs: bool
) -> None:
    notes = load_source(data("qwen/qwen.tiktoken"), preset=preset).model.origin.notes
    told = f"by sha256 these files are of qwen, qwen2, qwen2.5, not of the preset {preset}"
    assert (told in notes) is not is_theirs
    assert any("by sha256" in note for note in notes) is not is_theirs


@pytest.mark.parametrize("name", ["convert", "extend"])
def test_what_a_preset_supplies_and_whose_files_these_are_too_is_told(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Those with the same special tokens need not be named."""
    ranks = (TOKENIZERS / "gpt2-tiny/tiktoken/gpt2-tiny.tiktoken").read_bytes()
    files = (frozenset({hashlib.sha256(ranks).hexdigest()}),)
    one = replace(PRESETS["qwen2"], name="one", files=files, special_tokens={"<x>": 900})
    presets = {"one": one, "two": replace(one, name="two", special_tokens={"<y>": 900})}
    presets |= {"three": replace(one, name="three")}
    monkeypatch.setattr("bpe_interop.presets.PRESETS", presets)
    (tmp_path / "a.tiktoken").write_bytes(ranks)
    given = [name, tmp_path / "a.tiktoken", tmp_path / "out", "--to", "hf", "--no-verify"]
    given += ["--special", "<new>"] if name == "extend" else []
    done = command(*given, "--preset", "one", "--normalizer", "nfc")
    assert done.code == 0, done.err
    assert f"the sequence template supplied by the preset one ({one.source})" in done.out
    told = (
        "these files are published with two too, whose special tokens are others: if your model is "
        "one of those, name it with --preset"
    )
    assert told in done.out
    assert "normalizes a text to NFC" not in done.out
    assert "normalizes a text to NFC" in command(*given, "--preset", "one", "--force").out


@pytest.mark.usefixtures("few_texts")
@pytest.mark.parametrize(
    "config", [None, {"model_max_length": 9}, {"tokenizer_class": "LlamaTokenizer"}]
)
def test_a_config_that_does_not_say_it_hides_no_published_template(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, config: object
) -> None:
    source = TOKENIZERS / "spm-tiny/sentencepiece/tokenizer.model"
    data = source.read_bytes()
    (tmp_path / "in").mkdir()
    (tmp_path / "in/tokenizer.model").write_bytes(data)
    if config is not None:
        (tmp_path / "in/tokenizer_config.json").write_text(json.dumps(config), "utf-8")
    for to, target in (("hf", "out"), ("gguf", "out.gguf")):
        refused = command("convert", tmp_path / "in", tmp_path / target, "--to", to)
        assert (refused.code, "--template none, bos" in refused.err) == (1, True)
    family = FAMILIES[0]._replace(file=hashlib.sha256(data).hexdigest(), note="")
    monkeypatch.setattr("bpe_interop.presets.FAMILIES", (family,))
    for to, target in (("hf", "out"), ("gguf", "out.gguf")):
        done = command("convert", tmp_path / "in", tmp_path / target, "--to", to)
        assert done.code == 0, done.err
        assert "the sequence template is that of llama-2" in done.out
        assert ("tokenizer_config.json does not say add_bos_token" in done.out) == bool(config)
        assert load_source(tmp_path / target).model.sequence_template == family.template
    extended = ["extend", tmp_path / "in", "--special", "<new>", "--to", "hf", "--no-verify"]
    for template, is_told in (([], True), (["--template", "none"], False)):
        done = command(*extended, tmp_path / f"more-{is_told}", *template)
        assert done.code == 0, done.err
        assert ("the sequence template is that of llama-2" in done.out) is is_told
