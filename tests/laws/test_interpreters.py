"""A short run of the long test of interpreters: without the kernel this Python answers alike."""

from __future__ import annotations

import sys

import pytest

from trust.answers import answers
from trust.interpreters import answers_of, differing

NAMES = ("gguf-tiny/gguf", "spm-user-tiny/sentencepiece")


@pytest.mark.long
def test_another_interpreter_answers_alike_and_other_answers_are_seen() -> None:
    given, unasked, texts = answers(NAMES)
    here = {"answers": given, "unasked": unasked}
    there = answers_of(f"env BPE_INTEROP_KERNEL=python {sys.executable}", NAMES)
    assert there["texts"] == texts > 2_000
    assert (there["kernel"], there["python"].split()[0]) == ("python", "CPython")
    assert differing(there, here) == ([], len(given))
    assert len(given) == 2 * 9
    name = f"{NAMES[0]} ids"
    assert differing({**there, "answers": {**given, name: ""}}, here) == ([name], len(given))
    left = {"answers": {}, "unasked": [NAMES[0]]}
    assert differing(left, here) == ([each for each in given if NAMES[1] in each], 9)
