"""Cuts that no token crosses (Theorem 10), and where one side only cuts (Theorem 26)."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import islice, product
from typing import Any

import pytest
import tokenizers

from bpe_interop.diff import diff, difference
from bpe_interop.fingerprint import fingerprint
from bpe_interop.formats import by_name
from bpe_interop.model import BPEModel
from bpe_interop.proof.pretokenizer import _strings_cut_differently
from bpe_interop.proof.prove import prove
from bpe_interop.steps import Behavior, Pattern, Replace, Split
from bpe_interop.testing.tiny import document_of, model_of
from bpe_interop.text.bytechars import BYTE_TO_CHAR
from bpe_interop.text.patterns import translate
from bpe_interop.text.spellings import CL100K, CL100K_TRAILING
from bpe_interop.text.split import split
from bpe_interop.theory.cuts import DifferingCuts

FORMAT = by_name("huggingface")
TRAILING = translate(Pattern(CL100K_TRAILING, "fancy-regex"), "oniguruma").source
"""In Oniguruma ``$`` is also the end of a line."""
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
BYTE_LEVEL |= {"use_regex": False}
PREFIXED = BYTE_LEVEL | {"add_prefix_space": True}
METASPACE: dict[str, Any] = {
    "type": "Metaspace",
    "replacement": "\u2581",
    "prepend_scheme": "always",
}
METASPACE |= {"split": False}
REMOVED = {"type": "Split", "pattern": {"String": "\n\t"}, "behavior": "Removed", "invert": False}


def spelled(text: str) -> str:
    return "".join(BYTE_TO_CHAR[byte] for byte in text.encode())


def cut(source: str, behavior: str = "Isolated", *, invert: bool = False) -> dict[str, Any]:
    return {
        "type": "Split",
        "pattern": {"Regex": source},
        "behavior": behavior,
        "invert": invert,
    }


def sides(
    tokens: list[str],
    later: list[dict[str, Any]],
    *,
    behavior: str = "Isolated",
    invert: bool = False,
    without: str = "",
    **settings: Any,
) -> list[tuple[BPEModel, tokenizers.Tokenizer]]:
    """A vocabulary behind both spellings of cl100k's pattern; tokens are merged of two parts."""
    listed = [char for byte, char in BYTE_TO_CHAR.items() if chr(byte) not in (*without,)]
    suffix = settings.get("end_of_word_suffix") or ""
    listed += [char + suffix for char in listed] if suffix else []
    merges = (
        [] if settings.get("ignore_merges") else [[spelled(t[:1]), spelled(t[1:])] for t in tokens]
    )
    listed += ["<unk>", *map(spelled, tokens)]
    model = {"vocab": {token: n for n, token in enumerate(listed)}, "merges": merges, **settings}
    found = []
    for source in (CL100K, TRAILING):
        steps = {
            "type": "Sequence",
            "pretokenizers": [cut(source, behavior, invert=invert), *later],
        }
        data = json.dumps(document_of(model_of(**model), pre_tokenizer=steps)).encode()
        loaded = FORMAT.load({"tokenizer.json": data})
        found.append((loaded, tokenizers.Tokenizer.from_buffer(data)))
    return found


def ids(engine: tokenizers.Tokenizer, text: str) -> list[int]:
    found: list[int] = engine.encode(text, add_special_tokens=False).ids
    return found


CASES: dict[str, tuple[str, list[str], list[dict[str, Any]], dict[str, Any]]] = {
    "a later step puts a space before each pretoken": ("a\n\t", [], [PREFIXED], {}),
    "a later step drops what lies across the cut": ("\n\t", [], [REMOVED, BYTE_LEVEL], {}),
    "a later step writes a mark before each pretoken": ("\n\t", [], [METASPACE, BYTE_LEVEL], {}),
    "a missing symbol is fused with the next": (
        "\n\t",
        [],
        [BYTE_LEVEL],
        {"without": "\n\t", "unk_token": "<unk>", "fuse_unk": True},
    ),
    "a missing symbol is dropped from between two": (
        "\t\n\t",
        ["\t\t"],
        [BYTE_LEVEL],
        {"without": "\n"},
    ),
    "a suffix is glued to the last symbol": (
        "\n\t",
        [],
        [BYTE_LEVEL],
        {"end_of_word_suffix": "!"},
    ),
    "a token stands across the cut": ("\n\t", ["\n\t"], [BYTE_LEVEL], {}),
    "a lookup finds what begins at the cut": (
        "\n\t\t",
        ["\t\t"],
        [BYTE_LEVEL],
        {"ignore_merges": True},
    ),
    "a lookup finds what ends at the cut": (
        "\t\n\t",
        ["\t\n"],
        [BYTE_LEVEL],
        {"ignore_merges": True},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_each_condition_is_asked_for(case: str) -> None:
    """Theorem 10 in ``docs/theory.md``."""
    text, tokens, later, settings = CASES[case]
    (one, first), (two, second) = sides(tokens, later, **settings)
    if ids(first, text) == ids(second, text):
        pytest.fail(f"{case}: the engine gives {text!r} the same ids")
    assert prove(one, two).outcome != "proved"
    assert prove(two, one).outcome != "proved"
    assert fingerprint(one)["text"] != fingerprint(two)["text"]
    assert any(found.field == "pretokenizer" for found in diff(one, two))
    # A conversion writes no other spelling than it was given.
    again = FORMAT.load(FORMAT.dump(two))
    assert prove(two, again).outcome == "proved"
    assert fingerprint(again)["text"] == fingerprint(two)["text"]


@pytest.mark.parametrize(
    ("tokens", "settings"),
    [
        (["ab", " a", "\t\t", "\t\n", "\n\n"], {}),
        (["ab", "!!"], {"ignore_merges": True}),
    ],
)
def test_where_all_hold_the_spellings_are_equal(tokens: list[str], settings: Any) -> None:
    """Theorem 27 in ``docs/theory.md``."""
    (one, first), (two, second) = sides(tokens, [BYTE_LEVEL], **settings)
    for text in ("\n\t", "a\n\t\t", " \n  \n ", "\n\t\n\t", "ab \n"):
        assert ids(first, text) == ids(second, text)
    stages = {stage.name: stage.outcome for stage in prove(one, two).stages}
    assert stages["pre-tokenizer"] == "proved"
    assert fingerprint(one)["text"] == fingerprint(two)["text"]


def test_a_step_that_never_acts_is_no_later_cut() -> None:
    """Theorems 27 and 30: what would be a later cut, where a text could hold a ``~``."""
    later = {"type": "Split", "pattern": {"String": "~"}, "behavior": "Isolated", "invert": False}
    (plain, _), _ = sides(["ab"], [BYTE_LEVEL])
    _, (more, _) = sides(["ab"], [later, BYTE_LEVEL])
    assert difference(plain, more, "pretokenizer") is not None
    without = (Replace("~", "-"),)
    one, two = (replace(model, normalizer=without) for model in (plain, more))
    assert difference(one, two, "pretokenizer") is None
    assert prove(one, two).outcome == "proved"


BEHAVIORS = ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")


@pytest.mark.parametrize("invert", [False, True])
@pytest.mark.parametrize("behavior", BEHAVIORS)
def test_the_spellings_are_equal_whatever_is_done_with_matches(behavior: str, invert: bool) -> None:
    """The patterns match every character, so only cuts between matches can differ."""
    tokens = ["ab", " a", "\t\t", "\t\n", "\n\n"]
    (one, first), (two, second) = sides(tokens, [BYTE_LEVEL], behavior=behavior, invert=invert)
    for text in ("\n\t", "a\n\t\t", " \n  \n ", "\n\t\n\t", "ab \n"):
        assert ids(first, text) == ids(second, text)
    assert prove(one, two).outcome == "proved"
    assert fingerprint(one)["text"] == fingerprint(two)["text"]


@pytest.mark.parametrize("behavior", BEHAVIORS[1:])
@pytest.mark.parametrize("token", ["b.", ".b", "..", "!.", "ab"])
def test_cuts_beside_matches_that_are_joined_to_others(behavior: str, token: str) -> None:
    """One side cuts at ``!`` only, the other at ``.`` too: whether the token stands across."""
    listed = [*BYTE_TO_CHAR.values(), token]
    model = {"vocab": {text: n for n, text in enumerate(listed)}, "merges": [[*token]]}
    found = []
    for source in ("!", "[!.]"):
        steps = {"type": "Sequence", "pretokenizers": [cut(source, behavior), BYTE_LEVEL]}
        data = json.dumps(document_of(model_of(**model), pre_tokenizer=steps)).encode()
        loaded = FORMAT.load({"tokenizer.json": data})
        found.append((loaded, tokenizers.Tokenizer.from_buffer(data)))
    (one, first), (two, second) = found
    texts = ["".join(chosen) for size in range(5) for chosen in product("ab.!", repeat=size)]
    equal = all(ids(first, text) == ids(second, text) for text in texts)
    assert (prove(one, two).outcome == "proved") is equal


def splitter(source: str, behavior: Behavior = "isolated") -> Split:
    return Split(Pattern(source, "oniguruma"), behavior, False)


def test_tokens_far_from_every_such_cut_are_no_doubt_however_many() -> None:
    differing = DifferingCuts([splitter(" ")], [splitter(" ", "merged_with_next")])
    tokens = [f"{one}{two}".encode() for one, two in product("abcdefghijklmnopqrst", repeat=2)]
    assert differing.none_across(tokens)
    assert not differing.none_across([*tokens, b" a"])


def test_a_token_is_read_from_its_start() -> None:
    """Between y and a only what stands after an x is cut."""
    differing = DifferingCuts([splitter("xy")], [])
    assert split([splitter("xy")], "zya")[0] == ["zya"]
    assert split([splitter("xy")], "xya")[0] == ["xy", "a"]
    assert differing.none_across([b"zya"])
    assert not differing.none_across([b"xya"])
    assert not differing.none_across([b"ya"])


def test_short_strings_that_are_tried_are_cut_otherwise() -> None:
    tried = [*islice(_strings_cut_differently((splitter("xy"),), ())[0], 5)]
    assert len(tried) == 5
    assert all("xy" in text for text in tried)


def test_a_cut_off_character_is_one_that_ends_with_its_bytes() -> None:
    differing = DifferingCuts([splitter("\u00e9")], [])
    assert "\u00e9".encode()[1:] == b"\xa9"
    assert not differing.none_across([b"\xa9a"])
    assert differing.none_across([b"\xaaa"])
