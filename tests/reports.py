"""Reports for the tests of pages: real ones over few texts, and ones full of hostile texts."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bpe_interop.compare import Corpora, Report, Scope, Stage, verify
from bpe_interop.compare.alignment import align
from bpe_interop.compare.corpus_report import (
    CorpusReport,
    Counts,
    FailedDocument,
    Found,
    SideName,
    Source,
)
from bpe_interop.compare.report import Example
from bpe_interop.compare.sides import ORDINARY, Failure, Mismatch
from bpe_interop.diff import Difference
from bpe_interop.encode import Encoder
from bpe_interop.sources import load_source
from fixtures import TOKENIZERS

GPT2, CL100K = "gpt2-tiny/tiktoken", "cl100k-tiny/huggingface"

HOSTILE = (
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</style><style>body{display:none}",
    "\u202egnp.exe\u2066",
    "\0\x01\x1b[31m\x7f\x85\ufffe\U0001ffff",
    "&amp;&lt;&#60;]]><!-- --",
    "{{ 7 * 7 }}{% raw %}",
    "| a | b |\n|---|---|\r\n# h\n- x\n```\n",
    "- item",
    "1. item",
    "+ item",
    "`code` **b** _i_ ~~s~~ [l](javascript:1) ![i](x) <b> @me #1 :+1: $x$ https://x.example www.x",
    "a www.x.example (www.y.example) _www.z.example *www.z.example ://www.z.example",
    "http://x ftp://x https:///x //x :// :/ /: https: //x mailto:a@b.example xmpp:a@b.example",
    "a :smile: a:smile:b :+1:: :a: b: c:d :e",
    "e\u0301 \u0301 \u200d\U0001f468\u200d\U0001f469\u200d\U0001f467 \u2764\ufe0f \ufe0f",
    "שלום עולם 2024 مرحبا",
    "a  b   c    \u00a0\u3000\u200b\ufeff\u3164",
    "\\n \\\\ \\x00 \\u202e",
    "x" * 600,
    "",
)
"""Texts that pages must show and not obey."""


def few_texts(patch: pytest.MonkeyPatch) -> None:
    """Lets checks run a handful of texts, where what counts is what is said of them."""
    for name in ("comparison", "conversion"):
        running = importlib.import_module(f"bpe_interop.compare.{name}")
        patch.setattr(running, "awkward", lambda *given, **more: _texts())


def _texts() -> Iterator[str]:
    yield from ("a", "1234", " hello", "don't", "\u0340")


def real(a: str, b: str, scope: Scope = "all", corpus: Path | None = None) -> Report:
    """What ``verify`` finds of two fixtures."""
    corpora = Corpora(() if corpus is None else (corpus,), processes=0)
    return verify(TOKENIZERS / a, TOKENIZERS / b, scope=scope, corpora=corpora)


_SIDES = tuple(Encoder(load_source(TOKENIZERS / name).model) for name in (GPT2, CL100K))


def example(text: str, source: Source | None = None) -> Example:
    """A text with the ids of two fixtures beside each other, whether they differ or not."""
    one, two = _SIDES
    ids_a, ids_b = one.encode(text), two.encode(text)
    found = Mismatch(ORDINARY, text, tuple(ids_a), tuple(ids_b))
    return Example(found, align(text, ids_a, ids_b, one, two), source)


def hostile(report: Report, texts: tuple[str, ...] = HOSTILE) -> Report:
    """A report in which every text, name and reason is a hostile one."""

    def each(at: int) -> str:
        return texts[at % len(texts)]

    source = Source(each(4), 12, 345, 6, False, "ab12")
    examples = tuple(example(text, source) for text in texts)
    side = SideName(each(0), "tiktoken", "0.14.0")
    counts = Counts(10, 1000, 300, 290, 9, 2, 1, 1, 0, 1, 1)
    found = Found(source, each(8), 0, each(1), (1, 2), (3,))
    decoding = Found(source, each(8), 0, each(5), (1,), (1,), (each(3), each(4)))
    failed = FailedDocument(source, "a", "killed", each(6), each(7))
    corpus = CorpusReport(
        side,
        side,
        (each(8),),
        counts,
        {f"{text} {at}": counts for at, text in enumerate(texts)} | {each(4): counts},
        (found, decoding),
        (failed,),
    )
    return replace(
        report,
        verdict="different",
        a=each(0),
        b=each(1),
        engine_a=each(2),
        engine_b=each(3),
        scopes=texts,
        mismatch=examples[0].mismatch,
        stage=each(4),
        stages=tuple(Stage(text, "different", text, text) for text in texts),
        assumptions=texts,
        replayed=texts,
        failures=tuple(Failure(text, text, text, "panicked") for text in texts),
        differences=tuple(Difference(text, "different", text) for text in texts),
        matters=texts,
        notes=texts,
        examples=examples,
        corpus=corpus,
    )


Run = tuple[str, ElementTree.Element]
"""A text of a page and the element whose one text it belongs to."""


def glued(page: str) -> list[tuple[str, str]]:
    """Words of neighbouring elements of a page without white space between them.

    Who hears it, or copies from it, gets them as one word. Tokens with a name of their own are
    heard apart, and stand in a text as they are; those of a ``flow`` get theirs from the script.
    """
    root = ElementTree.fromstring(page.strip().removeprefix("<!DOCTYPE html>"))
    return [
        (before, after)
        for (before, one), (after, other) in pairwise(_runs(root, None))
        if one is not other
        and not (one.get("role") and other.get("role"))
        and before[-1].isalnum()
        and after[0].isalnum()
    ]


def _runs(element: ElementTree.Element, outer: ElementTree.Element | None) -> Iterator[Run]:
    if element.tag in ("style", "script", "title"):
        return
    named = element.get("role") and element.get("aria-label")
    whole = element.tag == "bdi" or element.get("class") == "flow" or named
    own = element if outer is None and whole else outer
    at = element if own is None else own
    if element.text:
        yield element.text, at
    for child in element:
        yield from _runs(child, own)
        if child.tail:
            yield child.tail, at
