"""Awkward texts: every kind that is promised, the same ones again, and strong enough to find."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

import pytest

from bpe_interop.compare.run import ask_both
from bpe_interop.compare.sides import ORDINARY, PARSED, OwnEngine
from bpe_interop.compare.stress import (
    SCALARS,
    alone,
    around_added,
    awkward,
    code_points,
    cuts,
    fixed,
    random_classes,
    random_texts,
    runs,
    tokens,
    twins,
)
from bpe_interop.engines import from_files
from bpe_interop.model import AddedToken, BPEModel, PairList, Vocab
from bpe_interop.sources import load_source
from fixtures import TOKENIZERS


def model_of(name: str) -> BPEModel:
    return load_source(TOKENIZERS / name).model


CL100K = model_of("cl100k-tiny/tiktoken")
MADE: list[Callable[[int], Iterator[str]]] = [
    lambda seed: tokens(CL100K, 500, seed),
    lambda seed: cuts(CL100K, 100, seed),
    lambda seed: code_points(500, seed),
    lambda seed: alone(100, seed),
    lambda seed: twins(50, seed),
    lambda seed: random_texts(CL100K, 100, seed),
    lambda seed: random_classes(100, seed),
    lambda seed: awkward(CL100K, seed=seed),
]


@pytest.mark.parametrize("made", MADE)
def test_the_seed_decides(made: Callable[[int], Iterator[str]]) -> None:
    assert [*made(7)] == [*made(7)]
    assert [*made(7)] != [*made(8)]


def test_texts_are_the_same_on_every_python() -> None:
    """Their number is printed in reports, which are compared."""
    texts = [*awkward(None)]
    digest = hashlib.sha256("\0".join(texts).encode("utf-8")).hexdigest()
    assert (len(texts), digest[:12]) == (4044, "9a78eb3bbd38")


def test_every_text_can_be_written() -> None:
    for text in chain(awkward(CL100K), awkward(model_of("spm-tiny/sentencepiece"))):
        text.encode("utf-8")


def test_a_larger_scale_gives_more_of_each_kind() -> None:
    one, two = ([*awkward(CL100K, scale=scale)] for scale in (1, 3))
    assert len(two) > 1.6 * len(one)
    assert set(fixed()) <= set(one)
    assert len([*awkward(None)]) < len(one)


def test_fixed_texts_hold_every_promised_kind() -> None:
    texts = [*fixed()]
    assert "" in texts
    for kind in (
        "\x00",
        "\r\n",
        "\u0301",
        "\u200d",
        "\ue000",
        "\U000f0000",
        "\u0378",
        "\ufdd0",
        "\u202e",
        "\u05d0",
        "\u0661",
        "\u2581",
        "1234567890"[:9],
        "'S",
        "\u2019LL",
        "<0x41>",
        "\U000e0067",
    ):
        assert any(kind in text for text in texts), ascii(kind)
    for space in (" ", "\t", "\u00a0", "\u2028", "\u3000", "\r\n", "\x1c"):
        assert {space, f"a{space}", f"{space}a", f"a{space}b"} <= set(texts)


def test_every_token_is_there_alone_beside_spaces_and_doubled() -> None:
    model = model_of("gpt2-tiny/tiktoken")
    texts = set(tokens(model, 10_000))
    for content in model.vocab.ids:
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError:
            continue
        assert {text, f" {text}", f"{text} ", text + text} <= texts


def test_parts_of_characters_are_made_whole() -> None:
    model = model_of("gpt2-tiny/tiktoken")
    ids = {"parts": b"\x98\x80 x", "head": b" \xe6\x97", "inner": b"\x9f\x99", "last": b"\x80"}
    vocab = Vocab({content: n for n, content in enumerate(ids.values())})
    parts = replace(model, vocab=vocab, merges=PairList(()))
    texts = [text.encode("utf-8") for text in tokens(parts, 10)]
    for content in ids.values():
        assert any(content in text for text in texts), content


def test_pieces_of_sentencepiece_stand_as_texts() -> None:
    model = model_of("spm-tiny/sentencepiece")
    words = [text for text in tokens(model, 10_000) if len(text) > 3]
    assert not any("\u2581" in text for text in words)
    clip = model_of("clip-tiny/huggingface")
    assert not any("</w>" in text for text in tokens(clip, 10_000))
    assert not any(
        "##" in text.strip("# ") for text in tokens(model_of("hash-tiny/huggingface"), 9_999)
    )


def test_around_a_cut_another_token_fits() -> None:
    """``u + v`` with a token that begins inside ``u`` and ends inside ``v``."""
    model = model_of("gpt2-tiny/tiktoken")
    known = {c.decode() for c in model.vocab.ids if c.isascii() and len(c) > 1}
    texts = [text for text in cuts(model, 50) if text.isascii()]
    assert len(texts) > 100
    across = [text for text in texts if any(token in text[1:-1] for token in known)]
    assert len(across) > len(texts) / 3
    assert all(any(token in text for token in known) for text in texts)


@pytest.mark.long
def test_every_code_point_is_in_some_context() -> None:
    seen: set[str] = set()
    for text in code_points(SCALARS):
        seen.update(text)
    assert len(seen) == SCALARS == 1_112_064
    few = "".join(code_points(500))
    assert {*map(chr, range(0x3000))} <= set(few)
    assert "a\u00e9b" in few
    assert " \u00e9 " in few
    assert "\u00e9\u0301" in few
    assert {chr(c) for c in range(0x180)} <= set(alone(10))
    assert len([*alone(SCALARS)]) == SCALARS


def test_twins_are_one_text_in_two_forms() -> None:
    texts = [*twins(20)]
    forms = {text for text in texts if unicodedata.is_normalized("NFC", text)}
    pairs = [t for t in texts if unicodedata.normalize("NFC", t) in forms and t not in forms]
    assert len(pairs) > 20
    assert any("\uac00" <= c <= "\ud7a3" for text in texts for c in text)
    assert any("\ufb01" in text for text in texts)
    assert any("fi" in text for text in texts)
    orders = [text for text in texts if 1 < len(text) < 8]
    assert any(unicodedata.normalize("NFD", text) != text for text in orders)


def test_runs_are_as_long_as_asked() -> None:
    for longest in (1_000, 100_000):
        texts = [*runs(longest)]
        assert max(map(len, texts)) == longest
        assert {"a" * longest, " " * longest, "\n" * longest, "aaax", " aaa\n"} <= set(texts)
    assert "a" * 1_000_000 in awkward(None, longest=1_000_000)
    assert max(map(len, awkward(CL100K))) == 1_000


def test_classes_are_mixed() -> None:
    texts = [*random_classes(500)]
    categories = [{unicodedata.category(c)[0] for c in text} for text in texts]
    assert {kind for found in categories for kind in found} == set("LMNPSZC")
    assert sum(len(found) > 1 for found in categories) > 250


# What they find.


def mutated_id(model: BPEModel) -> BPEModel:
    """The two longest tokens have each other's ids."""
    *_, one, two = sorted(model.vocab.ids, key=lambda token: (len(token), token))
    ids = dict(model.vocab.ids)
    ids[one], ids[two] = ids[two], ids[one]
    return replace(model, vocab=replace(model.vocab, ids=ids))


def flagged(**flags: Any) -> Callable[[BPEModel], BPEModel]:
    def change(model: BPEModel) -> BPEModel:
        added: tuple[AddedToken, ...] = model.added or ()
        return replace(model, added=(replace(added[0], **flags), *added[1:]))

    return change


CHANGES = [
    ("gpt2-tiny/tiktoken", mutated_id),
    ("nfc-tiny/huggingface", lambda model: replace(model, normalizer=())),
    ("template-tiny/huggingface", flagged(lstrip=True)),
    ("template-tiny/huggingface", flagged(rstrip=True)),
    ("template-tiny/huggingface", flagged(single_word=True)),
    ("template-tiny/huggingface", lambda model: replace(model, added=())),
    ("gpt2-tiny/tiktoken", lambda m: replace(m, pretokenizer=CL100K.pretokenizer)),
    ("spm-tiny/sentencepiece", lambda model: replace(model, normalizer=())),
]


@pytest.mark.long
@pytest.mark.parametrize(("name", "change"), CHANGES)
def test_a_change_is_found(name: str, change: Callable[[BPEModel], BPEModel]) -> None:
    loaded = load_source(TOKENIZERS / name)
    engine = from_files(loaded.format.engine, loaded.format.name, loaded.files, loaded.model)
    modes = [ORDINARY, PARSED] if engine.parses_special else [ORDINARY]
    changed = ask_both(OwnEngine(change(loaded.model)), engine, awkward(loaded.model), modes)
    assert changed.differing > 0


def test_added_tokens_stand_everywhere() -> None:
    model = model_of("template-tiny/huggingface")
    texts = set(around_added(model, 100))
    for token in model.added or ():
        text = token.text
        assert {text, f" {text}", f"{text} ", f"a{text}b", f"a {text} b", text + text} <= texts
        assert {text[:-1], text[1:], f"\n{text}\n"} <= texts
