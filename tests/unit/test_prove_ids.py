"""Ids and lookups: each pair differs, or may not, in one comparison of a proof alone."""

from __future__ import annotations

from itertools import product
from typing import Any, TypeAlias

import pytest
from small_documents import Json, Side, document

from bpe_interop.proof.prove import prove

Vocabulary: TypeAlias = dict[str, int]

BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
SPACES: Json = {"type": "Split", "pattern": {"Regex": " |[^ ]+"}, "behavior": "Isolated"}
SPACES |= {"invert": False}
TEXTS = ["".join(chosen) for size in range(4) for chosen in product("ab x\u00e9", repeat=size)]


def numbered(*tokens: str, **moved: int) -> Vocabulary:
    return {token: number for number, token in enumerate(tokens)} | moved


AFFIXED = [f"{one}{char}{end}" for one in ("", "##") for char in "ab" for end in ("", "</w>")]
AFFIXED += ["ab", "a</w>b"]

CASES: dict[str, tuple[Vocabulary, Vocabulary, Json, Json]] = {
    "the id of a token that merges build": (
        numbered("a", "b", "ab"),
        numbered("a", "b", ab=7),
        {"merges": [["a", "b"]]},
        {},
    ),
    "the id of a token that merges build, where some tokens are bytes": (
        numbered("a", "b", "ab", *BYTES),
        numbered("a", "b", "ab", *BYTES) | {"ab": 400},
        {"byte_fallback": True, "merges": [["a", "b"]]},
        {},
    ),
    "a merge of what ends a pretoken with what stands later": (
        numbered(*AFFIXED),
        numbered(*AFFIXED),
        {"continuing_subword_prefix": "##", "end_of_word_suffix": "</w>"},
        {"merges": [["a</w>", "##b"]]},
    ),
    "a merge of what begins a pretoken with what stands later": (
        numbered(*AFFIXED),
        numbered(*AFFIXED),
        {"continuing_subword_prefix": "##", "end_of_word_suffix": "</w>"},
        {"merges": [["a", "##b"]]},
    ),
    "a merge that shows only where the end is missing": (
        numbered("a", "b", "ab"),
        numbered("a", "b", "ab"),
        {"end_of_word_suffix": "</w>"},
        {"merges": [["a", "b"]]},
    ),
    "the id of a token that nothing builds": (
        numbered("a", "b", "ab"),
        numbered("a", "b", ab=7),
        {},
        {},
    ),
    "the id of a token that nothing builds, where some tokens are bytes": (
        numbered("a", "b", "ab", *BYTES),
        numbered("a", "b", *("ba", *BYTES)) | {"ba": 300, "ab": 2},
        {"byte_fallback": True},
        {},
    ),
    "the id of a token of a byte": (
        numbered("a", *BYTES),
        numbered("a", *BYTES) | {"<0xC3>": 301},
        {"byte_fallback": True},
        {},
    ),
    "a byte that has a token on one side only": (
        numbered("a", "b", *BYTES[:0x79]),
        numbered("a", "b", *BYTES[:0x78]),
        {"byte_fallback": True, "unk_token": None},
        {},
    ),
    "bytes of which a character has all on one side only": (
        numbered("a", "b", " ", "<0xA9>"),
        numbered("a", "b", " ", "<0xA9>", "<0xC3>"),
        {"byte_fallback": True, "unk_token": None},
        {},
    ),
    "bytes of which no character has all": (
        numbered("a", "b", " ", "<0xA9>"),
        numbered("a", "b", " ", "<0xA9>", "<0xA8>"),
        {"byte_fallback": True, "unk_token": None},
        {},
    ),
    "a byte whose character is a token": (
        numbered("a", "b", " ", "<0x61>"),
        numbered("a", "b", " ", "<0x61>", "<0x62>"),
        {"byte_fallback": True, "unk_token": None},
        {},
    ),
    "the id of what is no token": (
        numbered("a", "b", "uu"),
        numbered("a", "b", uu=7),
        {"unk_token": "uu"},
        {},
    ),
    "the id of what is no token, where nothing is": (
        numbered("a", "uu", *BYTES),
        numbered("a", "uu", *BYTES) | {"uu": 400},
        {"byte_fallback": True, "unk_token": "uu"},
        {},
    ),
    "a token that a lookup finds": (
        numbered("a", "b", "ab"),
        numbered("a", "b", "ab"),
        {},
        {"ignore_merges": True},
    ),
    "a token that a lookup would find, and no pretoken is": (
        numbered("a", "b", " ", "a b"),
        numbered("a", "b", " ", "a b"),
        {"pre_tokenizer": SPACES},
        {"ignore_merges": True},
    ),
    "the id of a token that a lookup finds": (
        numbered("a", "b", "ab"),
        numbered("a", "b", ab=7),
        {"ignore_merges": True},
        {},
    ),
    "a token that a lookup finds, and merges do not build in the end": (
        numbered("a", "b", "ab", "aab", "aa"),
        numbered("a", "b", "ab", "aab", "aa"),
        {"merges": [["a", "a"], ["a", "b"], ["a", "ab"]]},
        {"ignore_merges": True},
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
def test_a_pair_is_proved_where_no_text_differs_in_tokenizers(case: str) -> None:
    left, right, settings, other = CASES[case]
    merges = settings.get("merges", [])
    common = {name: value for name, value in settings.items() if name != "merges"}
    one = Side(document(left, merges=merges, **common))
    two = Side(document(right, **{"merges": merges, **common, **other}))
    equal = all(one.ids(text, "text") == two.ids(text, "text") for text in TEXTS)
    for pair in ((one, two), (two, one)):
        proof = prove(pair[0].model, pair[1].model, "text")
        assert proof.outcome == ("proved" if equal else "different"), [*proof.stages]
        if not equal:
            witness = proof.witness or ""
            assert one.ids(witness, "text") != two.ids(witness, "text")


def test_where_one_side_has_no_ids_at_all_nothing_is_proved() -> None:
    """Missing symbols are an error, and one side alone has the bytes of one."""
    settings: dict[str, Any] = {"byte_fallback": True, "unk_token": "<none>"}
    one = Side(document(numbered("a", "b", *BYTES[:0x80]), **settings))
    two = Side(document(numbered("a", "b", *BYTES[:0x7F]), **settings))
    assert one.ids("\x7f", "text") is not None
    with pytest.raises(Exception, match="<none>"):
        two.ids("\x7f", "text")
    assert prove(one.model, two.model, "text").outcome == "unknown"
    assert prove(two.model, one.model, "text").outcome == "unknown"
