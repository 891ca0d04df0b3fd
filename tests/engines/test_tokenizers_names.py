"""``bpe_interop.tokenizers`` in the place of tokenizers: the same calls and answers."""

from __future__ import annotations

import asyncio
import json
import pickle
from collections.abc import Callable
from copy import copy, deepcopy
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
import tokenizers
import tokenizers.decoders
from conftest import Data

import bpe_interop.tokenizers as ours
from bpe_interop.errors import (
    ArgumentError,
    DecodeError,
    EncodeError,
    EngineMissingError,
    FormatError,
    SourceError,
    UnsupportedError,
)

TINY = Path("fixtures/tokenizers").resolve()
FIXTURES = sorted(path.parent.parent.name for path in TINY.glob("*/huggingface/tokenizer.json"))
REAL = (
    *("clip", "falcon", "gpt-neox", "gpt-oss", "gpt2", "llama-2", "llama-3.2", "mistral-v1"),
    *("phi-3-mini", "qwen3", "roberta", "whisper-tiny"),
)
PIECES = (
    *("hello", " world", "the", " cat", "'s", " don't", "123", " 4567", "xxxxx", "!", "...", "A"),
    *("  ", "\n", "\n\n", "\t", "", "\u00a0", "\u2003", "\ufeff", "\x00", "▁", "Ġ"),
    *("é", "e\u0301", "日本", "🙂", "ﬁ", "İ", "한", "\u1112\u1161"),
    *("<mask>", " <mask> ", "</s>", "<s>"),
)
FIELDS = (
    *("ids", "tokens", "offsets", "type_ids", "attention_mask", "special_tokens_mask"),
    *("word_ids", "sequence_ids", "n_sequences"),
)


def fields(encoding: Any) -> dict[str, Any]:
    """All that an encoding holds, and the parts that were cut off it."""
    told = {field: getattr(encoding, field) for field in FIELDS}
    return {**told, "over": [fields(e) for e in encoding.overflowing]}


def view(encoding: Any) -> dict[str, Any]:
    """All that an encoding holds, and what it says of its tokens, words and characters.

    There may be hundreds of parts that were cut off: of the first few it is all of this.
    """
    told = fields(encoding)
    sequences = range(2)
    told["of tokens"] = [
        (encoding.token_to_sequence(n), encoding.token_to_chars(n), encoding.token_to_word(n))
        for n in range(len(encoding) + 2)
    ]
    told["of words"] = [
        (encoding.word_to_tokens(n, m), encoding.word_to_chars(n, m))
        for m in sequences
        for n in range(4)
    ]
    told["of characters"] = [
        (encoding.char_to_token(n, m), encoding.char_to_word(n, m))
        for m in sequences
        for n in range(6)
    ]
    return {**told, "repr": repr(encoding), "cut": [view(e) for e in encoding.overflowing[:3]]}


def views(call: Callable[..., list[Any]], *given: Any) -> list[dict[str, Any]]:
    """The encodings that a call gives."""
    return [*map(view, call(*given))]


def drawn(rng: Random, added: list[str]) -> str:
    return "".join(rng.choice([*PIECES, *added]) for _ in range(rng.randrange(12)))


def set_at_random(rng: Random, both: tuple[Any, Any]) -> None:
    """Truncation and padding, the same on both sides."""
    kind = rng.random()
    if kind < 0.3:
        truncation: dict[str, Any] = {
            "max_length": rng.randrange(4, 10),
            "stride": rng.randrange(3),
            "strategy": rng.choice(["longest_first", "only_first", "only_second"]),
            "direction": rng.choice(["left", "right"]),
        }
        refused = [raised(partial(one.enable_truncation, **truncation)) for one in both]
        assert refused[0] == refused[1], truncation
    elif kind < 0.5:
        padding: dict[str, Any] = {
            "direction": rng.choice(["left", "right"]),
            "length": rng.choice([None, 5, 20]),
            "pad_to_multiple_of": rng.choice([None, 4]),
            "pad_id": 3,
            "pad_type_id": 1,
            "pad_token": "<p>",
        }
        for one in both:
            one.enable_padding(**padding)
    elif kind < 0.7:
        for one in both:
            one.no_padding()
            one.no_truncation()
    assert both[0].padding == both[1].padding
    assert both[0].truncation == both[1].truncation


def raised(call: Callable[[], object]) -> bool:
    """Whether it raises; a panic of tokenizers is no ``Exception``."""
    try:
        call()
    except BaseException:
        return True
    return False


def outcome(call: Callable[[], Any]) -> Any:
    """What a call gives, as all that its encodings say; or that it raises."""
    try:
        return call()
    except BaseException:
        return "raises"


def is_without_room(one: Any, pair: bool, special: bool) -> bool:
    """Whether special tokens alone are more than ``max_length``; tokenizers truncates nothing."""
    rule = one.truncation
    beside = one.num_special_tokens_to_add(pair) if special else 0
    return rule is not None and rule["max_length"] < beside


def hold(file: Path, rounds: int) -> None:
    """Random calls on both libraries."""
    theirs, mine = tokenizers.Tokenizer.from_file(str(file)), ours.Tokenizer.from_file(str(file))
    rng = Random(file.parent.name)
    added = [token.content for token in theirs.get_added_tokens_decoder().values()][:6]
    for _ in range(rounds):
        set_at_random(rng, (theirs, mine))
        special, words = rng.random() < 0.7, rng.random() < 0.2
        theirs.encode_special_tokens = mine.encode_special_tokens = rng.random() < 0.1
        batch: list[Any] = []
        for _ in range(rng.choice([1, 1, 3])):
            texts: list[Any] = [drawn(rng, added) for _ in range(rng.choice([1, 1, 2]))]
            if words:
                texts = [[text, drawn(rng, added), "a"] for text in texts]
            batch.append(texts[0] if len(texts) == 1 else tuple(texts))
        if any(is_without_room(mine, isinstance(each, tuple), special) for each in batch):
            with pytest.raises(EncodeError, match="no place"):
                mine.encode_batch(batch, words, special)
            continue
        for name in ("encode_batch", "encode_batch_fast"):
            told = [
                outcome(partial(views, getattr(one, name), batch, words, special))
                for one in (theirs, mine)
            ]
            assert told[0] == told[1], (name, batch, words, special, mine.truncation, mine.padding)
        if told[0] != "raises":
            hold_decoding(theirs, mine, [e["ids"] for e in told[0]])


def hold_decoding(theirs: Any, mine: Any, rows: list[list[int]]) -> None:
    for skip in (True, False):
        assert theirs.decode_batch(rows, skip) == mine.decode_batch(rows, skip), rows
        streams = tokenizers.decoders.DecodeStream([], skip), ours.decoders.DecodeStream([], skip)
        for number in rows[0]:
            steps = (
                outcome(partial(streams[0].step, theirs, number)),
                outcome(partial(streams[1].step, mine, number)),
            )
            assert steps[0] == steps[1], (rows[0], number)
            if steps[0] == "raises":
                break


@pytest.mark.parametrize("name", FIXTURES)
def test_encodings_are_tokenizers(name: str) -> None:
    hold(TINY / name / "huggingface" / "tokenizer.json", 60)


@pytest.mark.parametrize("name", REAL)
def test_encodings_of_real_files_are_tokenizers(name: str, data: Data) -> None:
    hold(data(name) / "tokenizer.json", 60)


@pytest.fixture
def file() -> Path:
    return TINY / "gpt2-tiny" / "huggingface" / "tokenizer.json"


def both(file: Path) -> tuple[Any, Any]:
    return tokenizers.Tokenizer.from_file(str(file)), ours.Tokenizer.from_file(str(file))


@pytest.mark.parametrize("name", FIXTURES)
def test_questions_of_the_vocabulary(name: str) -> None:
    theirs, mine = both(TINY / name / "huggingface" / "tokenizer.json")
    for with_added in (True, False):
        assert mine.get_vocab(with_added) == theirs.get_vocab(with_added)
        assert mine.get_vocab_size(with_added) == theirs.get_vocab_size(with_added)
    for number in range(mine.get_vocab_size() + 2):
        assert mine.id_to_token(number) == theirs.id_to_token(number)
    for token in (*theirs.get_vocab(), "nothing like it"):
        assert mine.token_to_id(token) == theirs.token_to_id(token)
    listed = mine.get_added_tokens_decoder().items()
    assert {n: repr(t) for n, t in listed} == {
        n: repr(t) for n, t in theirs.get_added_tokens_decoder().items()
    }
    for pair in (True, False):
        assert mine.num_special_tokens_to_add(pair) == theirs.num_special_tokens_to_add(pair)
    assert tokenizers.Tokenizer.from_str(mine.to_str()).to_str() == theirs.to_str()


@pytest.mark.parametrize("name", FIXTURES)
def test_tokens_that_are_added(name: str) -> None:
    theirs, mine = both(TINY / name / "huggingface" / "tokenizer.json")
    rng = Random(name)
    made: list[dict[str, Any]] = [
        {"content": "<new>", "special": True},
        {"content": "hello", "single_word": True},
        {"content": "cat", "lstrip": True, "rstrip": True, "normalized": False},
        {"content": ""},
        {"content": "<new>", "special": True},
    ]
    for module, one in ((tokenizers, theirs), (ours, mine)):
        tokens = [module.AddedToken(**each) for each in made]
        assert one.add_tokens(tokens[:2]) == 2
        assert one.add_special_tokens(["<again>", tokens[2]]) == 2
        assert one.add_tokens(tokens[3:]) == 0
        assert [t.normalized for t in tokens] == [False, True, False, True, False]
    assert mine.get_vocab() == theirs.get_vocab()
    for _ in range(20):
        text = drawn(rng, ["<new>", "hello", " cat ", "<again>"])
        assert view(mine.encode(text)) == view(theirs.encode(text)), text
    # What was added after a hole has another id once it is read again, in both.
    again = tokenizers.Tokenizer.from_str(theirs.to_str())
    assert pickle.loads(pickle.dumps(mine)).get_vocab() == again.get_vocab()
    assert tokenizers.Tokenizer.from_str(mine.to_str()).to_str() == again.to_str()


def test_settings_of_a_file_are_obeyed_and_kept(file: Path, tmp_path: Path) -> None:
    document = json.loads(file.read_bytes())
    document["truncation"] = {"max_length": 3, "strategy": "LongestFirst", "stride": 1}
    document["padding"] = {
        "strategy": {"Fixed": 5},
        "direction": "Left",
        "pad_to_multiple_of": 4,
        "pad_id": 1,
        "pad_type_id": 0,
        "pad_token": "x",
    }
    written = tmp_path / "tokenizer.json"
    written.write_text(json.dumps(document), "utf-8")
    theirs, mine = both(written)
    assert (mine.truncation, mine.padding) == (theirs.truncation, theirs.padding)
    assert view(mine.encode("hello world the cat")) == view(theirs.encode("hello world the cat"))
    mine.save(str(tmp_path / "saved.json"))
    again = tokenizers.Tokenizer.from_file(str(tmp_path / "saved.json"))
    assert again.to_str() == theirs.to_str()
    assert ours.Tokenizer.from_buffer(mine.to_str(pretty=True).encode()).padding == theirs.padding


def test_encodings_are_merged_cut_and_filled_up_by_hand(file: Path) -> None:
    rng = Random(5)
    sides = both(file)
    for _ in range(150):
        texts = [drawn(rng, []) for _ in range(rng.randrange(4))]
        growing, most, stride = rng.random() < 0.5, rng.randrange(1, 6), rng.randrange(2)
        direction, length = rng.choice(["left", "right"]), rng.randrange(12)
        told: list[Any] = []
        for module, one in zip((tokenizers, ours), sides, strict=True):
            encodings = [one.encode(text) for text in texts]
            for each in encodings[:2]:
                if stride < most:
                    each.truncate(most, stride, direction)
            whole = module.Encoding.merge(encodings, growing)
            told.append([view(whole)])
            whole.pad(length, direction=direction, pad_id=2, pad_type_id=1, pad_token="p")
            told[-1].append(view(whole))
            told[-1].append(view(pickle.loads(pickle.dumps(whole))))
            told[-1].append(view(one.post_process(whole)))
            # Where two sequences have a token, which one it is of is left to chance there.
            whole.set_sequence_id(1)
            told[-1].append(whole.sequence_ids)
        assert told[0] == told[1], (texts, growing, most, stride, direction, length)


def test_what_is_shared_is_not_changed(file: Path) -> None:
    tokenizer = ours.Tokenizer.from_file(str(file))
    encoding = tokenizer.encode("hello world the cat")
    before = view(encoding)
    whole = ours.Encoding.merge([encoding])
    whole.truncate(2)
    whole.overflowing[0].pad(9)
    assert len(whole.overflowing[0]) == 2
    assert view(encoding) == before


def test_an_added_token() -> None:
    for module in (tokenizers, ours):
        token: Any = module.AddedToken("<mask>", lstrip=True)
        assert (token.lstrip, token.rstrip, token.single_word) == (True, False, False)
        assert token.normalized is True
        token.special, token.content = True, "<MASK>"
        assert token.normalized is False
        assert str(token) == "<MASK>"
        assert repr(token) == (
            'AddedToken("<MASK>", rstrip=False, lstrip=True, single_word=False, normalized=False, '
            "special=True)"
        )
        assert token == pickle.loads(pickle.dumps(token))
        assert token != module.AddedToken("<MASK>")


def test_calls_that_wait(file: Path) -> None:
    theirs, mine = both(file)

    async def asked() -> tuple[Any, Any, Any, Any]:
        return (
            await mine.async_encode("the cat", "a"),
            (await mine.async_encode_batch(["the cat"]))[0],
            (await mine.async_encode_batch_fast(["the cat"]))[0],
            await mine.async_decode_batch([[4, 5]]),
        )

    pair, alone, fast, texts = asyncio.run(asked())
    assert view(pair) == view(theirs.encode("the cat", "a"))
    assert view(alone) == view(theirs.encode("the cat"))
    assert view(fast) == view(theirs.encode_batch_fast(["the cat"])[0])
    assert texts == theirs.decode_batch([[4, 5]])


def test_words_in_arrays(file: Path) -> None:
    np = pytest.importorskip("numpy")
    theirs, mine = both(file)
    words = np.array([["the", "cat"], ["a", "b"]], dtype=object)
    for one in (theirs, mine):
        assert one.encode(words[0], is_pretokenized=True).ids
    assert view(mine.encode(words[0], words[1], is_pretokenized=True)) == view(
        theirs.encode(words[0], words[1], is_pretokenized=True)
    )


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.encode(5),
        lambda t: t.encode("a", 5),
        lambda t: t.encode("half \ud800"),
        lambda t: t.encode("a", is_pretokenized=True),
        lambda t: t.encode([1], is_pretokenized=True),
        lambda t: t.encode_batch("text"),
        lambda t: t.encode_batch([["a", "b", "c"]]),
        lambda t: t.encode_batch([("a", 1)]),
        lambda t: t.encode_batch(5),
        lambda t: t.enable_truncation(3, strategy="shortest"),
        lambda t: t.enable_truncation(3, direction="up"),
        lambda t: t.enable_truncation(3, stride=4),
        lambda t: t.enable_padding(direction="up"),
        lambda t: t.encode("a").truncate(1, direction="up"),
        lambda t: t.encode("a").pad(3, direction="up"),
        lambda t: t.decode([-1]),
        lambda t: t.encode("a").token_to_word(-1),
    ],
)
def test_errors_are_of_the_same_kind(file: Path, call: Callable[[Any], object]) -> None:
    theirs, mine = both(file)
    with pytest.raises(Exception) as error:  # noqa: PT011
        call(theirs)
    with pytest.raises(error.type):
        call(mine)


def test_an_unknown_id_is_passed_over(file: Path) -> None:
    theirs, mine = both(file)
    assert mine.decode([5, 1 << 31, 6]) == theirs.decode([5, 1 << 31, 6])


def test_what_tokenizers_panics_at_is_an_error(file: Path) -> None:
    encoding = ours.Tokenizer.from_file(str(file)).encode("hello world the cat")
    with pytest.raises(ArgumentError, match="in common"):
        encoding.truncate(2, stride=2)


@pytest.mark.parametrize(
    "call",
    [
        lambda t: ours.Tokenizer(),
        lambda t: ours.Tokenizer(tokenizers.models.BPE()),
        lambda t: ours.models,
        lambda t: t.normalizer,
        lambda t: setattr(t, "pre_tokenizer", None),
        lambda t: t.train([]),
        lambda t: t.train_from_iterator([]),
        lambda t: ours.Tokenizer.from_pretrained("org/name", token="x"),
        lambda t: ours.Tokenizer.from_str(
            tokenizers.Tokenizer(tokenizers.models.WordLevel()).to_str()
        ),
    ],
)
def test_what_is_not_held_raises_by_name(file: Path, call: Callable[[Any], object]) -> None:
    with pytest.raises(UnsupportedError) as error:
        call(ours.Tokenizer.from_file(str(file)))
    assert error.value.fix


def test_sources_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        ours.Tokenizer.from_file(str(tmp_path / "nothing.json"))
    with pytest.raises(FormatError):
        ours.Tokenizer.from_str("{}")
    with pytest.raises(AttributeError):
        _ = ours.nothing


def test_without_tokenizers_only_what_it_must_say_is_missing(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ids need no other library; offsets through a prefix do."""
    monkeypatch.setitem(__import__("sys").modules, "tokenizers", None)
    encoding = ours.Tokenizer.from_file(str(file)).encode("hello <mask> world")
    assert len(encoding.offsets) == len(encoding.ids) == len(encoding.word_ids)
    changed = TINY / "spm-tiny" / "huggingface" / "tokenizer.json"
    encoding = ours.Tokenizer.from_file(str(changed)).encode("hello world")
    assert encoding.ids
    assert encoding.attention_mask
    with pytest.raises(EngineMissingError, match="offsets"):
        _ = encoding.offsets


def test_a_stream_goes_on_from_ids_before_and_is_copied(file: Path) -> None:
    theirs, mine = both(file)
    ids = mine.encode("hello 日本 the cat").ids
    streams = tokenizers.decoders.DecodeStream(ids[:3]), ours.decoders.DecodeStream(ids[:3])
    copies = copy(streams[1]), deepcopy(streams[1])
    given = [streams[0].step(theirs, ids[3:6]), *(streams[0].step(theirs, n) for n in ids[6:])]
    for one in (streams[1], *copies):
        assert [one.step(mine, ids[3:6]), *(one.step(mine, n) for n in ids[6:])] == given


def test_a_stream_that_would_take_text_back(data: Data) -> None:
    """WordPieces of Llama-2 lose a space at the start of what is decoded again."""
    _, mine = both(data("llama-2") / "tokenizer.json")
    stream = ours.decoders.DecodeStream()
    stream._ids, stream._given, stream._of_given = [mine.token_to_id("▁a")], "other", 1
    with pytest.raises(DecodeError, match="was given"):
        stream.step(mine, mine.encode("some longer word").ids)
