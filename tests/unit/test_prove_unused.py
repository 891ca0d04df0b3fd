"""An UNUSED character of a SentencePiece model is as if missing (Theorem 28)."""

from __future__ import annotations

import base64
from dataclasses import replace
from itertools import product

import pytest

from bpe_interop.encode import Encoder
from bpe_interop.formats import by_name
from bpe_interop.merging.canonical import canonical
from bpe_interop.model import Affixes, BPEModel, PairList, Vocab
from bpe_interop.proof import stage
from bpe_interop.proof.prove import prove
from bpe_interop.steps import SentencePieceText
from bpe_interop.theory.normalizers import has_plain_steps
from bpe_interop.theory.rewrite import as_pairs
from bpe_interop.theory.unused_pieces import without_unused_characters
from bpe_interop.theory.user_defined import is_as_good_as_normal
from fixtures.piece_model import BYTE, NORMAL, UNKNOWN, UNUSED, USER_DEFINED
from trust.verdicts.documents import precompiled
from trust.verdicts.sources import Json, Source, taken_in


def pieces(unused: str, *more: list[object], fallback: bool = True) -> Source:
    """A ``.model`` with an UNUSED piece beside a few others."""
    rows: list[list[object]] = [["<unk>", 0.0, UNKNOWN], [unused, 0.0, UNUSED]]
    rows += [[f"<0x{byte:02X}>", 0.0, BYTE] for byte in range(256) if fallback]
    rows += [["a", -1.0, NORMAL], ["b", -2.0, NORMAL], ["ab", -3.0, NORMAL]]
    facts: Json = {
        "pieces": [*rows, ["\u2581", -4.0, NORMAL], *more],
        "byte_fallback": fallback,
        "suffix": False,
        "unknown": None,
        "dummy": True,
        "remove_extra": False,
        "escape": True,
    }
    return Source("sentencepiece", facts, f"ab{unused}")


@pytest.mark.parametrize("unused", ["\0", "c", "\u00e9", "\u65e5"])
def test_an_unused_character_is_as_if_missing(unused: str) -> None:
    one = pieces(unused)
    two = taken_in("huggingface", dict(by_name("huggingface").dump(one.model())), one.letters)
    assert unused not in two.facts["model"]["vocab"]
    texts = ["".join(chosen) for n in range(6) for chosen in product(one.letters, repeat=n)]
    assert one.oracle().ids(texts, "text") == two.oracle().ids(texts, "text")
    assert prove(one.model(), two.model(), "ordinary").outcome == "proved"
    assert prove(two.model(), one.model(), "text").outcome == "proved"


def test_each_condition_is_asked() -> None:
    """Alone, each of these makes of an UNUSED token more than a missing symbol."""
    usual = pieces("c").model()
    without = without_unused_characters(usual).vocab
    assert b"c" not in without.ids
    assert "unused" not in without.kinds.values()
    assert without.scores.keys() <= {*without.ids.values()}
    unused = {n for n, kind in usual.vocab.kinds.items() if kind == "unused"}
    kinds = {n: kind for n, kind in usual.vocab.kinds.items() if n not in unused}
    without_e4 = {t: n for t, n in usual.vocab.ids.items() if t != b"<0xE4>"}
    others: list[BPEModel] = [
        pieces("c", ["ac", -5.0, NORMAL]).model(),
        pieces("c", ["ac", -5.0, USER_DEFINED]).model(),
        pieces("cd").model(),
        pieces("c", fallback=False).model(),
        replace(usual, lookup_first=True),
        replace(usual, affixes=Affixes(suffix=b"x")),
        replace(usual, vocab=Vocab(usual.vocab.ids, kinds, usual.vocab.scores)),
        replace(
            usual,
            vocab=Vocab(
                without_e4,
                {n: k for n, k in usual.vocab.kinds.items() if n != usual.vocab.ids[b"<0xE4>"]},
                usual.vocab.scores,
            ),
        ),
    ]
    for model in others:
        assert without_unused_characters(model) is model


TEXTS = ["".join(chosen) for n in range(6) for chosen in product("ab ", repeat=n)]
KINDS: dict[str, list[list[object]]] = {
    "none": [],
    "user-defined": [["ba", -5.0, USER_DEFINED]],
    "user-defined, with two spaces": [["a  b", -5.0, USER_DEFINED]],
    "unused": [["aab", -5.0, UNUSED], ["aa", -1.5, UNUSED]],
    "unused, and a part of another": [["aa", -1.5, UNUSED], ["aab", -1.0, NORMAL]],
}


FLAGS = ["", "dummy", "remove_extra", "dummy escape", "remove_extra dummy escape"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("kinds", "flags"), [*product(KINDS, FLAGS), ("none", "dummy suffix"), ("none", "suffix")]
)
def test_what_is_written_of_pieces_is_proved_only_where_it_is_the_same(
    kinds: str, flags: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each flag and kind of a ``.model``, in sentencepiece and in tokenizers."""
    monkeypatch.setattr(stage, "single_characters", lambda: iter("aAb."))
    one = pieces("c", *KINDS[kinds])
    for name in ("dummy", "suffix", "remove_extra", "escape"):
        one.facts[name] = name in flags.split()
    two = taken_in("huggingface", dict(by_name("huggingface").dump(one.model())), one.letters)
    equal = one.oracle().ids(TEXTS, "text") == two.oracle().ids(TEXTS, "text")
    for a, b in ((one, two), (two, one)):
        said = {each.outcome for each in prove(a.model(), b.model(), "text").stages[:6]}
        assert said == {"proved"} if equal else "different" in said


def test_kinds_of_pieces_that_are_as_good_as_normal() -> None:
    tied: list[object] = ["ba", -3.0, NORMAL]
    for unused, more, expected in (
        ("c", [], False),
        ("xyz", [], True),
        ("xyz", [tied], True),
        ("bb", [tied], False),
    ):
        model = pieces(unused, *more).model()
        assert (as_pairs(model).rule is None) is bool(more)
        assert is_as_good_as_normal(model, unused.encode()) is expected


@pytest.mark.parametrize("unused", ["aa", "ba", "bb"])
def test_a_list_that_builds_an_unused_token_is_not_written_as_it_is(unused: str) -> None:
    ranked = pieces(unused, ["bb", -5.0, UNUSED] if unused != "bb" else ["ba", -6.0, UNUSED])
    model = ranked.model()
    splits = tuple(canonical(model).splits.values())
    listed = replace(model, merges=PairList(splits))
    assert Encoder(listed).encode("aabba") == ranked.oracle().ids(["aabba"], "text")[0]
    assert as_pairs(listed).rule == as_pairs(model).rule
    assert as_pairs(listed).rule != listed.merges
    never_built = replace(model, merges=PairList(((b"a", b"b"),)))
    assert as_pairs(never_built).rule is never_built.merges


def test_steps_that_do_what_sentencepiece_does() -> None:
    plain = SentencePieceText(b"", True, "prefix", True, ())
    assert has_plain_steps(plain)
    assert has_plain_steps(replace(plain, kept=("ab",)))
    assert not has_plain_steps(replace(plain, kept=("a  b",)))
    assert has_plain_steps(replace(plain, kept=("a  b",), collapse=False))
    assert not has_plain_steps(
        replace(plain, charsmap=base64.b64decode(precompiled()["precompiled_charsmap"]))
    )
    assert not has_plain_steps(replace(plain, dummy="suffix"))
