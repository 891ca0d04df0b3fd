"""Whether everybody's ids are right: which tokenizers an encoder takes, and on how many texts.

Right is what the engine gives that a format belongs to: tiktoken for rank files, tokenizers for
``tokenizer.json``, sentencepiece for ``.model``.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, NamedTuple

from .machine import commit
from .made import AbsentDataError, Place
from .results import Asked, Exactness, Tried
from .running import FailedError, Tick, run_child
from .works import OURS, SINGLE

GROUP = "exact"
TEXTS, QUICK = 50_000, 1_000
"""How many awkward texts of each tokenizer, and with ``--quick``."""
PATIENCE = 300.0
"""Seconds that an encoder has for the texts of a tokenizer."""

KINDS = {"ranks": "rank files", "json": "`tokenizer.json`", "pieces": "SentencePiece `.model`"}
REFERENCE = {"ranks": "tiktoken", "json": "tokenizers", "pieces": "sentencepiece"}

PEERS = {
    OURS: "",
    "tiktoken": "tiktoken",
    "tokenizers": "tokenizers",
    "sentencepiece": "sentencepiece",
    "kitoken": "kitoken",
    "gigatoken": "gigatoken",
    "fastokens": "fastokens",
    "snaptokens": "snaptokens",
    "splintr": "splintr-rs",
    "quicktok": "quicktok-v1",
    "toktok": "toktok-rs",
    "tuetoken": "tuetoken",
    "tokie": "tokie",
}
"""Who encodes, and the distribution that brings it."""


class Known(NamedTuple):
    """A real tokenizer: its name, its file, and the preset that says what the file does not."""

    name: str
    kind: str
    path: str
    preset: str = ""


def _json(name: str, file: str = "tokenizer.json") -> Known:
    return Known(name, "json", f"{name}/{file}")


def _ranks(preset: str, path: str = "") -> Known:
    return Known(preset, "ranks", path or f"{preset}/{preset}.tiktoken", preset)


TOKENIZERS = (
    _ranks("cl100k_base"),
    _ranks("o200k_base"),
    _ranks("p50k_base"),
    _ranks("r50k_base"),
    _ranks("llama-3", "llama-3/tokenizer.model"),
    _ranks("qwen", "qwen/qwen.tiktoken"),
    _json("gpt2"),
    _json("gpt-oss"),
    _json("llama-3.2"),
    _json("qwen3"),
    _json("gpt-neox"),
    _json("falcon"),
    _json("roberta"),
    _json("whisper-tiny"),
    _json("olmo-dolma2", "allenai_dolma2.json"),
    _json("llama-2"),
    _json("mistral-v1"),
    _json("phi-3-mini"),
    _json("clip"),
    Known("llama-2", "pieces", "llama-2/tokenizer.model"),
    Known("mistral-v1", "pieces", "mistral-v1/tokenizer.model"),
)


def exactness(
    place: Place, versions: Mapping[str, str | None], tick: Tick = lambda what: None
) -> Exactness:
    """Asks everybody about every tokenizer, each in a process of its own."""
    count = QUICK if place.quick else TEXTS
    found = Exactness(
        date=datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        commit=commit(),
        versions={peer: versions.get(name) for peer, name in PEERS.items() if name},
    )
    for known in TOKENIZERS:
        try:
            source = str(place.real(known.path))
        except AbsentDataError:
            continue
        target = place.folder / "exact.json"
        given = {"kind": known.kind, "source": source, "preset": known.preset}
        tick(f"exact: {known.name}")
        given |= {"count": str(count), "target": str(target)}
        try:
            _child(place, "exact.awkward", given)
        except FailedError as error:
            said = f"its texts could not be made: {error}"
            found.tried.append(Tried("", known.name, known.kind, "failed", said))
            continue
        for peer, package in PEERS.items():
            tick(f"exact: {known.name}: {peer}")
            here = not package or versions.get(package) is not None
            found.tried.append(_tried(place, peer, known, str(target), here=here))
    return found


def _tried(place: Place, peer: str, known: Known, texts: str, *, here: bool) -> Tried:
    if not here:
        return Tried(peer, known.name, known.kind, "absent")
    given = {"peer": peer, "kind": known.kind, "preset": known.preset, "texts": texts}
    given["source"] = str(place.real(known.path))
    try:
        answer = _child(place, "exact.tried", given)
    except FailedError as error:
        return Tried(peer, known.name, known.kind, "failed", str(error))
    modes = [Asked(**mode) for mode in answer.pop("modes", ())]
    answer["said"] = place.without_paths(answer.get("said", ""))
    return Tried(peer, known.name, known.kind, modes=modes, **answer)


def _child(place: Place, function: str, given: dict[str, str]) -> dict[str, Any]:
    """What a function of :mod:`benchmarks.sides.exact` answers.

    Raises:
        FailedError: it crashed, or took longer than ``PATIENCE``.
    """
    settings = place.settle({**given, "folder": "{out}"})
    words = ["-m", "benchmarks.child", "check", function]
    words += [f"{key}={value}" for key, value in settings.items()]
    try:
        said = run_child(
            place, words, {**SINGLE, "HOME": settings["folder"]}, patience=PATIENCE
        ).said
    finally:
        place.swept({"out": settings["folder"]})
    answer: dict[str, Any] = said["answer"]
    return answer
