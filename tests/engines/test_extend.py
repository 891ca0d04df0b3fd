"""Special tokens for a tokenizer that is there already, as the engines then run it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import tokenizers
import transformers
from command_line import Command
from tiktoken_encodings import reference
from tokenizers import AddedToken as AddedTokenOfTokenizers
from tokenizers import Tokenizer as HuggingFaceTokenizer

from bpe_interop import load
from bpe_interop.errors import LossyConversionError, SpecialTokenError, UnstatedError
from bpe_interop.extend import surgery, with_tokens
from bpe_interop.formats import by_name
from bpe_interop.model import AddedToken
from bpe_interop.testing.tiny import document_of, model_of
from bpe_interop.tokenizer import Tokenizer
from fixtures import TOKENIZERS

RANKS = TOKENIZERS / "cl100k-tiny" / "tiktoken"
HUB = TOKENIZERS / "gpt2-tiny" / "huggingface"
LLAMA = TOKENIZERS / "spm-tiny" / "huggingface"
PIECES = TOKENIZERS / "spm-tiny" / "sentencepiece"

CHAT = ["<|im_start|>", "<|im_end|>"]
FILL = ["<fim_prefix>", "<fim_middle>", "<fim_suffix>"]
MARKED = "<|im_start|>user\nHello<|im_end|><fim_prefix>def f(<fim_suffix>)<fim_middle>"


@cache
def read(folder: Path) -> Tokenizer:
    return load(folder)


def marked(ordinary: Any, numbers: Mapping[str, int]) -> list[int]:
    """What an engine of the source gives between the markers of ``MARKED``, and their ids."""
    return [
        numbers["<|im_start|>"],
        *ordinary("user\nHello"),
        numbers["<|im_end|>"],
        numbers["<fim_prefix>"],
        *ordinary("def f("),
        numbers["<fim_suffix>"],
        *ordinary(")"),
        numbers["<fim_middle>"],
    ]


# Ids.


def test_new_ids_come_after_the_last_or_are_those_given() -> None:
    source = read(HUB)
    size = source.n_vocab
    listed = source.with_special_tokens([*CHAT, *FILL])
    assert [listed.encode_single_token(text) for text in [*CHAT, *FILL]] == [*range(size, size + 5)]
    given = source.with_special_tokens({"<a>": None, "<b>": size + 1, "<c>": None, "<d>": size + 9})
    assert [given.encode_single_token(f"<{c}>") for c in "abcd"] == [
        size, size + 1, size + 2, size + 9,
    ]  # fmt: skip
    assert given.special_tokens_set == source.special_tokens_set | {"<a>", "<b>", "<c>", "<d>"}
    assert source.n_vocab == size


def test_an_id_in_a_hole_is_as_good() -> None:
    """tiktoken's cl100k has such holes."""
    source = Tokenizer.from_tiktoken(reference(RANKS))
    taken = {*source.vocab}
    hole = next((n for n in range(source.n_vocab) if n not in taken), None)
    assert hole is not None
    filled = source.with_special_tokens({"<|hole|>": hole})
    assert filled.to_tiktoken().encode("<|hole|>", allowed_special="all") == [hole]
    assert filled.n_vocab == source.n_vocab


def test_what_is_there_keeps_its_id_and_may_be_asked_for_again() -> None:
    source = read(RANKS)
    again = source.with_special_tokens([*sorted(source.special_tokens_set), "<|new|>"])
    assert again.model.added == (*(source.model.added or ()), AddedToken("<|new|>", source.n_vocab))
    engine = source.with_engine("tiktoken").with_special_tokens(["<|new|>"])
    assert engine.engine == "tiktoken"
    assert engine.encode("<|new|>", allowed_special="all") == [source.n_vocab]


def test_an_added_token_becomes_special() -> None:
    engine = HuggingFaceTokenizer.from_file(str(HUB / "tokenizer.json"))
    engine.add_tokens(["<tool>"])
    source = Tokenizer.from_tokenizers(engine)
    made = source.with_special_tokens(["<tool>"])
    engine.add_special_tokens(["<tool>"])
    assert made.special_tokens_set == source.special_tokens_set | {"<tool>"}
    engine.encode_special_tokens = True
    assert made.encode_ordinary("a<tool>") == engine.encode("a<tool>").ids
    assert [token.text for token in made.surgery(source).made_special] == ["<tool>"]
    assert made.surgery(source).new == ()


def test_a_word_of_the_vocabulary_keeps_its_id() -> None:
    engine = HuggingFaceTokenizer.from_file(str(HUB / "tokenizer.json"))
    word = next(t for t in engine.get_vocab() if len(t) > 2 and t.isascii() and t.isalpha())
    made = read(HUB).with_special_tokens([word])
    engine.add_special_tokens([word])
    assert made.encode_single_token(word) == engine.token_to_id(word)
    assert made.to_tokenizers().encode(f"x{word}").ids == engine.encode(f"x{word}").ids
    [note] = made.surgery(read(HUB)).notes
    assert note.startswith(f'"{word}" was an ordinary token')


def test_words_that_are_one_token_each_are_not_added(command: Command, tmp_path: Path) -> None:
    """tokenizers finds an added token inside words, too, which then have other ids."""
    engine = HuggingFaceTokenizer.from_file(str(HUB / "tokenizer.json"))
    first = engine.token_to_id("\u0120the")
    [word] = [t for t in ("the", "in", "er") if len(engine.encode(t).ids) == 1][:1]
    words = tmp_path / "words.txt"
    words.write_text(f"{word}\n the\ncardiomegaly\n")
    done = command("extend", HUB, tmp_path / "out", "--tokens", words, "--no-verify")
    assert done.code == 0
    inner = "king, beginning: another king, therein"
    number = engine.token_to_id(word)
    said = f'not added, for each is one token already (2): "{word}" {number}, " the" {first}'
    assert said in done.out
    written = HuggingFaceTokenizer.from_file(str(tmp_path / "out" / "tokenizer.json"))
    for text in (inner, " the", "other then"):
        assert written.encode(text).ids == engine.encode(text).ids
    engine.add_tokens([word])
    assert engine.encode(inner).ids != written.encode(inner).ids
    # Who asks for it with flags, or in Python, gets what tokenizers gives, and is told.
    made = read(HUB).with_tokens([word])
    assert made.encode(inner) == engine.encode(inner).ids
    [note] = made.surgery(read(HUB)).notes
    assert note.startswith(f'"{word}" was an ordinary token: it is now found wherever it stands')


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        (
            "words.txt",
            "dyspnoea\n\nstridor \nstridor \ndyspnoea\n\trales\t\n",
            [
                'line 4 repeats "stridor " of line 3, and 1 more does so; each is added once',
                'line 3: "stridor " ends with a space, which is part of the token; 2 lines end so',
            ],
        ),
        (
            "words.txt",
            "dyspnoea\r\ndyspnoea\r\n stridor\t\n\u2003rales\n",
            [
                'line 2 repeats "dyspnoea" of line 1; it is added once',
                'line 3: " stridor\\t" ends with a tab, which is part of the token',
            ],
        ),
        ("words.txt", "rales\u2003\n", [r'line 1: "rales\u2003" ends with white space, which']),
        ("words.txt", "dyspnoea\nin stridor\n rales\n", []),
        (
            "words.json",
            '["dyspnoea", {"content": "dyspnoea", "rstrip": false}, "stridor ", "rales"]',
            ['$[1] repeats "dyspnoea" of $[0]; it is added once'],
        ),
    ],
)
def test_a_word_that_a_file_has_twice_is_added_once(
    command: Command, tmp_path: Path, file: str, content: str, said: list[str]
) -> None:
    """As tokenizers adds it; white space at its ends, which it adds too, is pointed out."""
    words = tmp_path / file
    words.write_bytes(content.encode())
    listed = (
        json.loads(content) if file.endswith(".json") else content.replace("\r", "").split("\n")
    )
    texts = [each if isinstance(each, str) else each["content"] for each in listed]
    engine = HuggingFaceTokenizer.from_file(str(HUB / "tokenizer.json"))
    engine.add_tokens(
        [AddedTokenOfTokenizers(text, normalized=False) for text in dict.fromkeys(texts) if text]
    )
    done = command("extend", HUB, tmp_path / "out", "--tokens", words, "--no-verify", "--json")
    assert done.code == 0, done.err
    written = HuggingFaceTokenizer.from_file(str(tmp_path / "out" / "tokenizer.json"))
    assert written.get_vocab() == engine.get_vocab()
    notes = json.loads(done.out)["notes"]
    about = [note for note in notes if note.startswith(str(words))]
    assert len(about) == len(said)
    for note, start in zip(about, said, strict=True):
        assert note.startswith(f"{words}: {start}")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--special", "<a>", "--token", "<a>"], 'with --special "<a>", and with --token "<a>"'),
        (["--token", "<a>", "--token", "<a>=9"], 'with --token "<a>", and with --token "<a>=9"'),
        (["--token", "<a>", "--tokens", "a.txt"], 'a.txt, line 2: the token "<a>" is given twice: '
         'with --token "<a>", and here'),
        (["--specials", "a.txt", "--tokens", "a.txt"], "with --specials a.txt, line 1, and here"),
        (["--tokens", "a.json"], 'a.json: $[1]: the token "<a>" is given twice: with --tokens '
         "a.json: $[0], and here"),
    ],
)  # fmt: skip
def test_a_token_that_is_given_twice_may_be_meant_in_two_ways(
    command: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("<b>\n<a>\n")
    (tmp_path / "a.json").write_text('["<a>", {"content": "<a>", "lstrip": true}]')
    done = command("extend", HUB, "out", *options, "--no-verify")
    assert (done.code, done.out) == (2, "")
    assert said in done.err


@pytest.mark.parametrize(
    "words", [["cardiomegaly"], ["cardiomegaly", " cardiomegaly"], ["stridor", "cardiomegaly"]]
)
def test_a_space_before_a_word_is_told(command: Command, tmp_path: Path, words: list[str]) -> None:
    file = tmp_path / "words.txt"
    file.write_text("\n".join(words))
    done = command("extend", HUB, tmp_path / "out", "--tokens", file, "--no-verify")
    written = HuggingFaceTokenizer.from_file(str(tmp_path / "out" / "tokenizer.json"))
    space, word = written.encode("a cardiomegaly").ids[-2:]
    said = f"leaves the space as a token of its own ({space})"
    has_both = " cardiomegaly" in words
    assert (said in done.out) is not has_both
    assert (f"{said}, and so does 1 more; to have" in done.out) is ("stridor" in words)
    assert (written.id_to_token(space) == "\u0120") is not has_both
    assert word == written.token_to_id(words[-1])


@pytest.mark.parametrize("format", ["huggingface", "sentencepiece"])
def test_a_space_that_comes_in_behind_a_word_is_told(
    command: Command, tmp_path: Path, format: str
) -> None:
    source = TOKENIZERS / "spm-tiny" / format
    given = ("--token", "zzyzx", "--to", "hf", "--template", "none", "--drop", "decoder")
    done = command("extend", source, tmp_path / "out", *given, "--no-verify")
    assert done.code == 0, done.err
    written = HuggingFaceTokenizer.from_file(str(tmp_path / "out" / "tokenizer.json"))
    decoded = written.decode(written.encode("zzyzx-x").ids)
    said = f'"zzyzx-x" is decoded as "{decoded}", because the normalizer puts a space before each'
    assert (said in done.out) is (decoded == "zzyzx -x") is (format == "huggingface")


def test_tokens_of_chats_want_a_template(command: Command, tmp_path: Path) -> None:
    (tmp_path / "chat.jinja").write_text("{{ messages }}")
    for more in ([], ["--chat-template", tmp_path / "chat.jinja"]):
        words = ["--special", "[USER]", "--no-verify", "--force", *more]
        done = command("extend", HUB, tmp_path / "out", *words)
        assert done.code == 0
        assert ("no chat template is stated" in done.out) == (not more)


PLAIN = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
MARKING = "{% for m in messages %}{{ '<|' + m.role + '|>' }}{{ m.content }}[END]{% endfor %}"
ENDING = PLAIN + "{{ eos_token }}"


@pytest.mark.parametrize(
    ("template", "options", "said"),
    [
        (PLAIN, ["--special", "[A]", "--special", "[END]", "--eos", "[END]"],
         'writes none of the new tokens "[A]", "[END]": chats are as before, and a model that is '
         'trained on them does not learn to stop at "[END]" (eos); --chat-template FILE'),
        (ENDING, ["--special", "[A]"],
         'never writes the new token "[A]": chats are as before; --chat-template FILE'),
        (PLAIN, ["--eos", "<|a|>"], 'does not learn to stop at "<|a|>" (eos), which the kept chat'),
        (MARKING, ["--special", "[END]", "--special", "[A]", "--eos", "[A]"],
         'does not learn to stop at "[A]" (eos), which the kept chat template never writes'),
        (MARKING, ["--special", "[END]", "--eos", "[END]"], ""),
        (MARKING, ["--rename", "<|a|>=<|user|>"], ""),
        (ENDING, ["--special", "[END]", "--eos", "[END]"], ""),
        (PLAIN, ["--special", "<pad>", "--pad", "<pad>"], ""),
        (PLAIN, ["--token", "cardiomegaly"], ""),
    ],
)  # fmt: skip
def test_a_chat_template_that_stays_and_knows_no_new_token_is_told(
    command: Command, tmp_path: Path, template: str, options: list[str], said: str
) -> None:
    """What transformers writes of a chat is then as before, and has no eos in it."""
    (tmp_path / "chat.jinja").write_text(template)
    given = ["--special", "<|a|>", "--chat-template", tmp_path / "chat.jinja", "--no-verify"]
    assert command("extend", HUB, tmp_path / "old", *given).code == 0
    done = command("extend", tmp_path / "old", tmp_path / "new", *options, "--no-verify", "--json")
    assert done.code == 0, done.err
    notes = [note for note in json.loads(done.out)["notes"] if "the kept chat template" in note]
    assert len(notes) == bool(said)
    assert said in "".join(notes)
    chat = [{"role": "user", "content": "Hi"}]
    old, new = (
        transformers.AutoTokenizer.from_pretrained(tmp_path / name) for name in ("old", "new")
    )
    written = new.apply_chat_template(chat, tokenize=False)
    if "as before" in said:
        assert written == old.apply_chat_template(chat, tokenize=False)
    if "--eos" in options:
        assert (new.eos_token in written) == ("to stop" not in said)
    # Who gives a template knows what it writes.
    more = ("--chat-template", tmp_path / "chat.jinja", "--no-verify")
    done = command("extend", tmp_path / "old", tmp_path / "more", *options, *more)
    assert (done.code, "the kept chat template" in done.out) == (0, False)


def test_a_word_that_the_vocabulary_spells_otherwise_is_to_be_left_out(
    command: Command, tmp_path: Path
) -> None:
    """tokenizers would give it a second id, by which texts no longer have the first."""
    engine = HuggingFaceTokenizer.from_file(str(HUB / "tokenizer.json"))
    first = engine.token_to_id("\u0120the")
    assert engine.encode(" the").ids == [first]
    engine.add_tokens([" the"])
    assert engine.encode(" the").ids == [engine.token_to_id(" the")] != [first]
    refused = command("extend", HUB, tmp_path / "out", "--special", " the")
    assert refused.code == 2
    assert 'leave " the" out: it is a token of the vocabulary already' in refused.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("token", "text", "settings"),
    [
        ("a", "ab", {"unk_token": "x", "fuse_unk": True}),
        ("a", "ab", {"ignore_merges": True}),
        ("##a", "ba", {"continuing_subword_prefix": "##"}),
    ],
)
def test_an_id_that_makes_a_character_a_symbol_is_refused(
    token: str, text: str, settings: dict[str, Any]
) -> None:
    """Where the id is not the next one, tokenizers has to have it in the vocabulary."""
    few = {"b": 0, "c": 1, "bc": 2, "x": 3, "##b": 4}
    model = model_of(vocab=few, merges=[], **settings)
    engine = HuggingFaceTokenizer.from_str(json.dumps(document_of(model)))
    before = engine.encode(text).ids
    made = Tokenizer.from_tokenizers(engine).with_special_tokens({token: 9})
    assert made.encode(text, disallowed_special=()) == before
    model["vocab"] = {**few, token: 9}
    listed = HuggingFaceTokenizer.from_str(json.dumps(document_of(model)))
    listed.add_special_tokens([token])
    listed.encode_special_tokens = True
    assert 9 in listed.encode(text).ids
    with pytest.raises(LossyConversionError, match="must stand in the vocabulary, where"):
        made.to_tokenizers()


def test_an_entry_that_only_numbers_a_token_is_no_word_any_more(tmp_path: Path) -> None:
    """As in a pair's vocabulary: no merge builds it, and no text gives it before."""
    document = json.loads((HUB / "tokenizer.json").read_text("utf-8"))
    number = len(document["model"]["vocab"])
    document["model"]["vocab"]["<|idle|>"] = number
    source = Tokenizer.from_tokenizers(HuggingFaceTokenizer.from_str(json.dumps(document)))
    assert source.encode("<|idle|>") != [number]
    made = source.with_special_tokens(["<|idle|>"])
    assert b"<|idle|>" not in made.model.vocab.ids
    assert made.save(tmp_path / "out", format="hf") == ()
    again = load(tmp_path / "out")
    assert again.model.vocab.ids == made.model.vocab.ids
    assert again.to_tokenizers().encode("<|idle|>").ids == [number]


@pytest.mark.parametrize(
    ("tokens", "roles", "said"),
    [
        ([""], {}, "a token is empty"),
        (["<a>", "<a>"], {}, '"<a>" is given twice'),
        (["\ud800"], {}, "half of a surrogate pair"),
        ({"<|endoftext|>": 5}, {}, "is there already with the id"),
        ({"a": 5}, {}, '"a" is there already with the id 64, not 5'),
        ({"<a>": 64}, {}, '"<a>" cannot have the id 64, which is that of "a"'),
        ({"<a>": 700}, {}, 'which is that of "<|endoftext|>"'),
        ({"<a>": 900, "<b>": 900}, {}, 'which is that of "<a>"'),
        ({"<a>": -1}, {}, "the id -1"),
        ({"<a>": 2**32}, {}, "the id 4294967296"),
        ({"<a>": 2**32 - 1, "<b>": None, "<c>": 2**32 - 2}, {}, ""),
        (["<a>"], {"eso": "<a>"}, 'there is no role "eso"'),
        (["<a>"], {"eos": "<b>"}, "there is no such special token"),
        ([], {"eos": "a"}, "there is no such special token"),
    ],
)
def test_what_cannot_be_given_is_refused_with_its_reason(
    tokens: Any, roles: dict[str, str], said: str
) -> None:
    source = read(HUB)
    if not said:
        assert source.with_special_tokens(tokens, roles=roles).max_token_value == 2**32 - 1
        return
    with pytest.raises(SpecialTokenError) as caught:
        source.with_special_tokens(tokens, roles=roles)
    assert said in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_special_tokens_that_are_not_stated_could_collide() -> None:
    with pytest.raises(UnstatedError, match="could collide"):
        read(TOKENIZERS / "gpt2-tiny" / "gpt2").with_special_tokens(["<a>"])
    wrongs: list[Any] = ["<a>", [b"<a>"]]
    for wrong in wrongs:
        with pytest.raises(TypeError):
            read(HUB).with_special_tokens(wrong)


def test_bytes_pieces_and_unknown_characters_stay_what_they_are() -> None:
    source = read(PIECES)
    with pytest.raises(SpecialTokenError, match="of the kind byte"):
        source.with_special_tokens(["<0x41>"])
    with pytest.raises(SpecialTokenError, match="cannot be unk"):
        read(TOKENIZERS / "spm-unk-tiny" / "sentencepiece").with_special_tokens(
            ["<x>"], roles={"unk": "<x>"}
        )
    user = read(TOKENIZERS / "spm-user-tiny" / "sentencepiece")
    kinds = user.model.vocab.kinds
    defined = next(c for c, n in user.model.vocab.ids.items() if kinds.get(n) == "user_defined")
    with pytest.raises(SpecialTokenError, match="of the kind user-defined"):
        user.with_special_tokens([defined.decode()])


# What the engines make of it.


def test_in_tiktoken() -> None:
    encoding = reference(RANKS)
    made = read(RANKS).with_special_tokens([*CHAT, *FILL])
    numbers = {text: made.encode_single_token(text) for text in [*CHAT, *FILL]}
    there = made.to_tiktoken()
    expected = marked(encoding.encode_ordinary, numbers)
    assert there.encode(MARKED, allowed_special="all") == expected
    assert there.encode_ordinary(MARKED) == encoding.encode_ordinary(MARKED)
    assert made.encode(MARKED, allowed_special="all") == expected
    assert there.decode(expected) == MARKED
    assert there.n_vocab == made.n_vocab


@pytest.mark.parametrize("folder", [HUB, LLAMA, RANKS], ids=lambda f: f.parent.name)
def test_in_tokenizers_and_auto_tokenizer(folder: Path, tmp_path: Path) -> None:
    source = read(folder)
    before = source.to_tokenizers()
    made = source.with_special_tokens([*CHAT, *FILL], roles={"eos": "<|im_end|>"})
    numbers = {text: made.encode_single_token(text) for text in [*CHAT, *FILL]}
    expected = marked(lambda text: before.encode(text, add_special_tokens=False).ids, numbers)
    made.save(tmp_path / "out", format="hf")
    file = HuggingFaceTokenizer.from_file(str(tmp_path / "out" / "tokenizer.json"))
    served = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    assert file.encode(MARKED, add_special_tokens=False).ids == expected
    assert served.encode(MARKED, add_special_tokens=False) == expected
    assert made.encode(MARKED, allowed_special="all") == expected
    assert (served.eos_token, served.eos_token_id) == ("<|im_end|>", numbers["<|im_end|>"])
    file.encode_special_tokens = before.encode_special_tokens = True
    for text in (MARKED, "Hello world 日本", " a  b"):
        assert (
            file.encode(text, add_special_tokens=False).ids
            == before.encode(text, add_special_tokens=False).ids
        )
    assert served.convert_tokens_to_ids(FILL) == [numbers[text] for text in FILL]


def test_in_sentencepiece() -> None:
    source = read(PIECES)
    engine = sentencepiece.SentencePieceProcessor(model_file=str(next(PIECES.glob("*.model"))))
    size = engine.get_piece_size()
    made = source.with_special_tokens({"<|im_start|>": None, "<|im_end|>": size + 3})
    there = made.to_sentencepiece()
    assert [there.id_to_piece(n) for n in (size, size + 3)] == CHAT
    assert [there.is_control(n) for n in (size, size + 3)] == [True, True]
    assert [there.is_unused(n) for n in (size + 1, size + 2)] == [True, True]
    for text in (MARKED, "Hello  world 日本\n", "<unused_1201>"):
        assert there.encode(text) == engine.encode(text) == made.encode_ordinary(text)
    assert [there.get_score(n) for n in range(size)] == [engine.get_score(n) for n in range(size)]


def test_what_a_format_cannot_hold_is_refused(tmp_path: Path) -> None:
    made = read(RANKS).with_special_tokens(["<|im|>", "<|im|>start"])
    with pytest.raises(LossyConversionError, match="begin another one"):
        made.save(tmp_path / "out.tiktoken")
    with pytest.raises(LossyConversionError, match="which of its tokens are added tokens"):
        made.save(tmp_path / "out", format="gpt2")
    assert [*tmp_path.iterdir()] == []


# Roles.


def test_a_role_moves_and_so_does_the_padding_that_names_it(tmp_path: Path) -> None:
    engine = HuggingFaceTokenizer.from_file(str(HUB / "tokenizer.json"))
    engine.enable_padding(pad_id=700, pad_token="<|endoftext|>")
    source = Tokenizer.from_tokenizers(engine)
    assert [t.text for t in source.model.added or () if "pad" in t.roles] == ["<|endoftext|>"]
    made = source.with_special_tokens(["<pad>"], roles={"pad": "<pad>", "bos": "<|endoftext|>"})
    made.save(tmp_path / "out", format="hf")
    served = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    assert (served.pad_token, served.bos_token) == ("<pad>", "<|endoftext|>")
    padding = HuggingFaceTokenizer.from_file(str(tmp_path / "out" / "tokenizer.json")).padding
    assert padding is not None
    assert (padding["pad_token"], padding["pad_id"]) == ("<pad>", made.max_token_value)
    assert load(tmp_path / "out").model.added == made.model.added


def test_a_template_that_still_places_the_old_token_is_told() -> None:
    source = read(TOKENIZERS / "template-tiny" / "huggingface")
    made = source.with_special_tokens(["<stop>"], roles={"eos": "<stop>"})
    (note,) = made.surgery(source).notes
    assert note.startswith('"<|end_of_text|>" is eos no more, and the sequence template')
    assert made.encode("hello", add_special_tokens=True) == source.encode(
        "hello", add_special_tokens=True
    )


# The network.


def with_config(folder: Path, place: Path, **config: Any) -> Tokenizer:
    shutil.copytree(folder, place)
    (place / "config.json").write_text(json.dumps(config), "utf-8")
    return load(place)


@pytest.mark.parametrize(
    ("declared", "before", "after", "in_place"),
    [
        (None, 701, 706, []),  # as many as the ids
        (701, 701, 706, []),
        (704, 704, 706, [701, 702, 703]),  # three rows of padding
        (768, 768, 768, [701, 702, 703, 704, 705]),  # never fewer than there are
        (650, 650, 706, []),  # too few already
    ],
)
def test_rows_are_those_that_the_configuration_declares(
    tmp_path: Path, declared: int | None, before: int, after: int, in_place: list[int]
) -> None:
    config = {} if declared is None else {"vocab_size": declared}
    source = with_config(HUB, tmp_path / "in", **config)
    assert source.n_vocab == 701
    found = source.with_special_tokens([*CHAT, *FILL]).surgery(source)
    assert [(token.text, token.id) for token in found.new] == [
        *zip([*CHAT, *FILL], range(701, 706), strict=True)
    ]
    assert (found.rows_before, found.rows_after, found.rows_added) == (
        before,
        after,
        after - before,
    )
    assert found.rows_declared is (declared is not None)
    assert [*found.in_place] == in_place
    other = (
        "config.json is probably not of this tokenizer: it declares 650 rows (vocab_size), and the "
        "source has ids up to 700 already"
    )
    assert found.notes == ((other,) if declared == 650 else ())


def test_a_configuration_that_names_another_end_is_told(tmp_path: Path) -> None:
    source = with_config(HUB, tmp_path / "in", vocab_size=701, eos_token_id=700)
    made = source.with_special_tokens(CHAT, roles={"eos": "<|im_end|>"})
    (note,) = made.surgery(source).notes
    assert note.startswith("eos_token_id: config.json says 700, but the tokenizer's eos token")
    kept = source.with_special_tokens(CHAT).surgery(source)
    assert kept.notes == ()


def test_a_configuration_may_be_given() -> None:
    source = read(PIECES)
    made = source.with_special_tokens(CHAT)
    found = made.surgery(source, config=b'{"text_config": {"vocab_size": 1280}}')
    assert (found.rows_before, found.rows_added, found.in_place) == (1280, 0, (1200, 1201))
    with pytest.raises(ValueError, match="vocab_size"):
        made.surgery(source, config=b'{"vocab_size": "many"}')


def test_nothing_new_asks_for_nothing() -> None:
    source = read(HUB)
    found = source.surgery(source)
    assert (found.new, found.made_special, found.rows_added, found.in_place) == ((), (), 0, ())


# The command.


@pytest.mark.long
def test_the_command_writes_checks_and_tells(command: Command, tmp_path: Path) -> None:
    with_config(HUB, tmp_path / "in", vocab_size=702)
    target = tmp_path / "out"
    arguments = [
        "--special",
        "<|im_start|>",
        "--special",
        "<|im_end|>=704",
        "--role",
        "eos=<|im_end|>",
    ]
    done = command("extend", tmp_path / "in", target, *arguments)
    assert (done.code, done.err) == (0, "")
    lines = [line.split(maxsplit=1) for line in done.out.splitlines()]
    said = dict(lines)
    engine = HuggingFaceTokenizer.from_file(str(HUB / "tokenizer.json"))
    before = [" ".join(map(str, engine.encode(text).ids)) for text in CHAT]
    assert [rest for label, rest in lines if label == "new"] == [
        f'701 "<|im_start|>", was {before[0]}', f'704 "<|im_end|>", was {before[1]}',
    ]  # fmt: skip
    assert said["role"] == 'eos is "<|im_end|>"'
    assert said["rows"] == (
        "config.json declares 702 rows in the embedding matrix and the output layer: add 3, "
        "which makes 705; 1 of the new ids has a row already"
    )
    assert said["verdict"].startswith("PROVED equal to the source with these tokens for every text")
    # The source in its engine and as transformers serves it, and so what was written.
    ran = [rest.partition(" on ")[0] for label, rest in lines if label == "checked"]
    run = (f"tokenizers {tokenizers.__version__}", f"transformers {transformers.__version__}")
    assert sorted(ran) == [
        f"{of}: same ids in {engine}" for of in ("source", "target") for engine in run
    ]
    served = transformers.AutoTokenizer.from_pretrained(target)
    assert served.encode("<|im_start|><|im_end|>") == [701, 704]
    assert served.eos_token_id == 704


def test_the_command_finds_the_configuration_beside_any_source(
    command: Command, tmp_path: Path
) -> None:
    with_config(PIECES, tmp_path / "in", vocab_size=1280)
    arguments = ["--special", "<a>=5=1300", "--no-verify", "--json"]
    done = command("extend", tmp_path / "in", tmp_path / "out", *arguments)
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["target_format"] == "sentencepiece"
    assert found["checks"] == []
    surgery = found["surgery"]
    assert [(token["text"], token["id"]) for token in surgery["new"]] == [("<a>=5", 1300)]
    assert (surgery["rows_before"], surgery["rows_added"]) == (1280, 21)
    model = str(tmp_path / "out" / "tokenizer.model")
    assert sentencepiece.SentencePieceProcessor(model_file=model).piece_to_id("<a>=5") == 1300


def test_the_command_writes_a_rank_file(command: Command, tmp_path: Path) -> None:
    target = tmp_path / "mine.tiktoken"
    done = command("extend", RANKS, target, "--special", "<|tool|>", "--no-verify")
    assert done.code == 0, done.err
    stated = json.loads((tmp_path / "mine.tiktoken.json").read_text("utf-8"))
    assert stated["name"] == "mine"
    assert stated["special_tokens"]["<|tool|>"] == reference(RANKS).n_vocab


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "give --special, --token"),
        (["--special", ""], "a token is empty"),
        (["--special", "<a>", "--token", "<a>"], '"<a>" is given twice'),
        (["--tokens", "nowhere.txt"], "nowhere.txt"),
        (["--rename", "<x>"], "write OLD=NEW"),
        (["--rename", "<x>=<y>"], "there is no such added token"),
        (["--rename", "<|endoftext|>=a"], "a token already"),
        (["--special", "<a>", "--multiple-of", "0"], "--multiple-of"),
        (["--special", " the"], "cannot hold this tokenizer"),
        (["--special", "<a>", "--special", "<a>=900"], '"<a>" is given twice'),
        (["--special", "<a>=3"], "cannot have the id 3"),
        (["--special", "<a>=99999999999"], "the id 99999999999"),
        (["--role", "eos"], "is not ROLE=TOKEN"),
        (["--role", "eos=<x>"], "there is no such special token"),
        (["--role", "eos=<|endoftext|>", "--role", "eos=<x>"], '"eos" is given twice'),
        (["--role", "end=<|endoftext|>"], "there is no role"),
        (["--special", "<a>", "--to", "nonsense"], "there is no format"),
        (["--special", "<a>", "--config", "nowhere.json"], "nowhere.json"),
    ],
)
def test_the_command_refuses_with_one_clear_error(
    command: Command, tmp_path: Path, arguments: list[str], said: str
) -> None:
    done = command("extend", HUB, tmp_path / "out", *arguments)
    assert done.code == 2
    assert said in done.err
    assert "Traceback" not in done.err
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("# no JSON", "not JSON: "),
        ("[1]", "$: expected an object"),
        ('{"vocab_size": "many"}', "$.vocab_size: expected an integer"),
        ('{"tokenizer_class": "GPT2Tokenizer"}', "there is no vocab_size"),
    ],
)
def test_a_file_that_is_no_configuration_is_named(
    command: Command, tmp_path: Path, content: str, said: str
) -> None:
    config = tmp_path / "net.txt"
    config.write_text(content)
    given = ("--special", "<a>", "--config", config)
    done = command("extend", HUB, tmp_path / "out", *given)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"error: {config}: {said}")
    assert "give the network's config.json, where vocab_size stands" in done.err
    assert [*tmp_path.iterdir()] == [config]


def test_the_command_refuses_what_would_be_lost_and_keeps_the_source(
    command: Command, tmp_path: Path
) -> None:
    refused = command("extend", HUB, tmp_path / "out", "--special", "<a>", "--to", "gpt2", "--json")
    assert refused.code == 1
    assert {"added"} <= {loss["field"] for loss in json.loads(refused.out)["refused"]}
    shutil.copytree(HUB, tmp_path / "in")
    before = {path.name: path.read_bytes() for path in (tmp_path / "in").iterdir()}
    itself = command("extend", tmp_path / "in", tmp_path / "in", "--special", "<a>", "--force")
    assert itself.code == 2
    assert "the target holds the source" in itself.err
    file = command("extend", HUB, tmp_path / "x.tiktoken", "--special", "<a>", "--to", "hf")
    assert file.code == 2
    assert {path.name: path.read_bytes() for path in (tmp_path / "in").iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


# Tokens that are not special.

WORDS = ["cardiomegaly", "pneumo thorax"]
TEXTS = [
    "cardiomegaly", " cardiomegaly", "x cardiomegaly y", "cardiomegalycardiomegaly",
    "a  pneumo thorax", "pneumo thorax, pneumothorax", "cardiomegal", "", " ",
    "caf\u00e9 cardiomegaly",
]  # fmt: skip


@pytest.mark.parametrize("word", [" cardiomegaly", " the quick"])
def test_what_a_word_was_is_what_a_text_had_where_the_token_is_found(word: str) -> None:
    """Alone, a text has a space more in front, and a row too many would go into the mean."""
    source = read(PIECES)
    old = sentencepiece.SentencePieceProcessor(model_file=str(PIECES / "tokenizer.model"))
    made = source.with_tokens([word])
    there = made.to_sentencepiece()
    [was] = made.surgery(source).was
    head = len(old.encode("x"))
    assert there.encode(f"x{word}")[head:] == [old.get_piece_size()]
    assert old.encode(f"x{word}")[head:] == [*was] != old.encode(word)


@pytest.mark.usefixtures("few_texts")
@pytest.mark.long
def test_words_have_the_same_ids_in_sentencepiece_and_tokenizers(
    command: Command, tmp_path: Path
) -> None:
    words = tmp_path / "words.txt"
    words.write_bytes("\ufeffcardiomegaly\r\n\r\npneumo thorax\n".encode())
    more = ("--template", "bos", "--json")
    for given, kind in (
        (("--tokens", words), "sentencepiece"),
        (("--token", WORDS[0], "--token", WORDS[1]), "hf"),
    ):
        done = command("extend", PIECES, tmp_path / kind, "--to", kind, *given, *more)
        assert done.code == 0, done.err
        said = json.loads(done.out)
        assert said["verdict"]["outcome"] == "proved"
    engine = sentencepiece.SentencePieceProcessor(
        model_file=str(tmp_path / "sentencepiece" / "tokenizer.model")
    )
    old = sentencepiece.SentencePieceProcessor(model_file=str(PIECES / "tokenizer.model"))
    first = old.get_piece_size()
    auto = transformers.AutoTokenizer.from_pretrained(tmp_path / "hf")
    for text in TEXTS:
        ids = engine.encode(text)
        assert auto.encode(text, add_special_tokens=False) == ids
    assert first in engine.encode("x cardiomegaly y")
    back = auto.decode(auto.encode("a cardiomegaly b"), skip_special_tokens=True)
    assert back == "a cardiomegaly b"
    assert said["surgery"]["new"] == [
        {**new, "id": first + place, "text": word, "special": False, "was": old.encode(word)}
        for place, (word, new) in enumerate(zip(WORDS, said["surgery"]["new"], strict=True))
    ]


def test_words_with_flags_stay_added_tokens_which_a_tokenizer_json_holds(
    command: Command, tmp_path: Path
) -> None:
    """The ids are those of tokenizers, where the tokens are added to what convert writes."""
    entries: list[dict[str, Any]] = [
        {"content": "<a>", "lstrip": True},
        {"content": "<c>", "single_word": True, "rstrip": True},
    ]
    listed = tmp_path / "tokens.json"
    listed.write_text(json.dumps(entries), "utf-8")
    usual = ("--to", "hf", "--template", "none", "--no-verify")
    assert command("convert", PIECES, tmp_path / "old", *usual).code == 0
    done = command("extend", PIECES, tmp_path / "new", *usual, "--tokens", listed)
    assert done.code == 0, done.err
    new, expected = (
        HuggingFaceTokenizer.from_file(str(tmp_path / name / "tokenizer.json"))
        for name in ("new", "old")
    )
    first = expected.get_vocab_size()
    expected.add_tokens([AddedTokenOfTokenizers(normalized=False, **each) for each in entries])
    for text in ("x  <a> y", "x<c>  y", "x <c>  y", "<a><c>", "the <c>."):
        ids = expected.encode(text).ids
        assert new.encode(text).ids == ids
    assert {first, first + 1} <= {*new.encode("x <a> <c> y").ids}
    refused = command("extend", PIECES, tmp_path / "new.model", "--tokens", listed)
    assert refused.code == 1
    assert "--to hf" in refused.err


@pytest.mark.parametrize(
    "settings",
    [
        {"normalization_rule_name": "nmt_nfkc"},
        {"normalization_rule_name": "identity", "treat_whitespace_as_suffix": True},
    ],
)
def test_words_are_left_alone_by_a_normalizer_as_sentencepiece_does(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    """``nmt_nfkc`` is what sentencepiece trains with by default; it would make ``fine`` of one."""
    lines = ["so fine and define it is", "a b c d e f g h i k l m n o p r s t u v w x y"] * 20
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_prefix=str(tmp_path / "plain"),
        model_type="bpe",
        vocab_size=60,
        minloglevel=3,
        hard_vocab_limit=False,
        **settings,
    )
    source = tmp_path / "plain.model"
    words = ("\ufb01ne", "a b")
    extended = Tokenizer(with_tokens(load(source).model, plain=words))
    (tmp_path / "words.model").write_bytes(
        by_name("sentencepiece").dump(extended.model)["tokenizer.model"]
    )
    engine = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "words.model"))
    first = sentencepiece.SentencePieceProcessor(model_file=str(source)).get_piece_size()
    assert [engine.piece_to_id(word.replace(" ", "\u2581")) for word in words] == [first, first + 1]
    for text in ("so \ufb01ne", "\ufb01\ufb01nefine", "a b", "xa bx", "  a  b ", ""):
        assert extended.encode(text) == engine.encode(text)
    assert first in engine.encode("so \ufb01ne")


@pytest.mark.usefixtures("few_texts")
@pytest.mark.long
def test_a_list_of_added_tokens_is_what_tokenizers_adds(command: Command, tmp_path: Path) -> None:
    listed = tmp_path / "tokens.json"
    listed.write_text('["<tool>", {"content": "wide", "rstrip": true, "id": 800}]', "utf-8")
    done = command(
        "extend", HUB, tmp_path / "out", "--tokens", listed, "--multiple-of", "64", "--json"
    )
    assert done.code == 0, done.err
    found = json.loads(done.out)["surgery"]
    assert found["rows_after"] == 832  # the next multiple of 64 after 801
    engine = HuggingFaceTokenizer.from_file(str(HUB / "tokenizer.json"))
    assert [new["was"] for new in found["new"]] == [
        engine.encode(text, add_special_tokens=False).ids for text in ("<tool>", "wide")
    ]
    engine.add_tokens([AddedTokenOfTokenizers("<tool>", normalized=False)])
    first = engine.token_to_id("<tool>")
    written = HuggingFaceTokenizer.from_file(str(tmp_path / "out" / "tokenizer.json"))
    assert written.encode("a<tool>b").ids == engine.encode("a<tool>b").ids
    assert found["new"][0]["id"] == first
    [b] = engine.encode("b").ids
    assert written.encode("a wide  b").ids[-2:] == [800, b]


@pytest.mark.usefixtures("few_texts")
@pytest.mark.long
def test_a_reserved_token_gets_a_name_and_keeps_its_id(command: Command, tmp_path: Path) -> None:
    number = HuggingFaceTokenizer.from_file(str(HUB / "tokenizer.json")).token_to_id(
        "<|endoftext|>"
    )
    done = command("extend", HUB, tmp_path / "out", "--rename", "<|endoftext|>=<|tool|>", "--json")
    assert done.code == 0, done.err
    [renamed] = json.loads(done.out)["surgery"]["renamed"]
    assert renamed == {"id": number, "text": "<|tool|>", "was": "<|endoftext|>"}
    written = HuggingFaceTokenizer.from_file(str(tmp_path / "out" / "tokenizer.json"))
    assert written.token_to_id("<|tool|>") == number
    assert written.token_to_id("<|endoftext|>") is None
    assert written.encode("a<|tool|>").ids[-1] == number


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("wanted", [["a"], {"a": 7}, {"a": 3, "<x>": 9}])
def test_a_special_token_of_one_character_is_no_symbol_in_tokenizers(
    mapped: bool, wanted: Any
) -> None:
    """Where its id has to stand in the vocabulary, it would be one, and is refused."""
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    whole: dict[str, Any] = {
        "added_tokens": [],
        "pre_tokenizer": {**level, "use_regex": False} if mapped else None,
        "model": {"type": "BPE", "vocab": {"b": 0, "c": 1, "bc": 2}, "merges": [["b", "c"]]},
    }
    model = by_name("huggingface").load({"tokenizer.json": json.dumps(whole).encode()})
    tokenizer = Tokenizer(model).with_special_tokens(wanted)
    assert tokenizer.encode("bac", disallowed_special=()) == [2]
    if wanted != ["a"]:
        with pytest.raises(LossyConversionError, match="must stand in the vocabulary, where"):
            tokenizer.to_tokenizers()
        return
    engine = tokenizer.to_tokenizers()
    engine.encode_special_tokens = True
    assert engine.encode("bac").ids == [2]
    engine.encode_special_tokens = False
    assert engine.encode("bac").ids == [0, 3, 1]


def test_a_length_that_is_not_the_number_of_rows_is_told(tmp_path: Path) -> None:
    """transformers counts tokens, also where ids between them have none."""
    before = read(HUB).model
    largest = max(token.id for token in before.added or ())
    for number, told in ((largest + 1, False), (largest + 9, True)):
        after = with_tokens(before, {"<|far|>": number})
        notes = [n for n in surgery(before, after).notes if "len(tokenizer)" in n]
        assert bool(notes) is told
        Tokenizer(after).save(tmp_path / str(number), format="hf")
        auto: Any = transformers.AutoTokenizer.from_pretrained(tmp_path / str(number))
        assert (len(auto) <= auto.convert_tokens_to_ids("<|far|>")) is told
        assert all(f"is {len(auto):,}," in note for note in notes)
