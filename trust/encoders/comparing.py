"""One damaged tokenizer in our encoder and in its engine: ids of texts, and texts of ids."""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from random import Random
from types import FrameType

from bpe_interop.compare.sides import AROUND, ORDINARY, PARSED, TEMPLATED, Mode, OwnEngine
from bpe_interop.engines import Engine, from_files
from bpe_interop.errors import BpeInteropError, EngineError
from bpe_interop.formats import Files, by_name
from bpe_interop.model import BPEModel
from bpe_interop.presets import PRESETS
from fixtures import TOKENIZERS

from .damage import damaged

FORMATS = {
    "huggingface": "tokenizers",
    "gpt2": "tokenizers",
    "tiktoken": "tiktoken",
    "sentencepiece": "sentencepiece",
    "minbpe": "tokenizers",
    "tekken": "mistral-common",
    "gguf": "llama.cpp",
}
"""Each format that is damaged, and the engine that reads it."""

TEXTS = (
    *("", "a", "ab a", " a  b\n", "The warm bread is 1234.", "caf\u00e9 cafe\u0301 \u65e5\u672c"),
    *(
        "<s> x</s><unk>",
        "\U0001f642\u2581a\u2581\u2581b",
        "\0\t a",
        "it's IT'S  \n\n",
        "\u00df\u017f",
    ),
)

KNOWN: tuple[tuple[str, str, str], ...] = (
    (
        "gpt2",
        "expected a GPT-2 pair",
        "the pair is handed to tokenizers by us, which names its halves",
    ),
    (
        "gguf",
        "unknown model architecture",
        "which there are goes by the version of llama.cpp; where none is named, a note says so",
    ),
)
"""What an engine refuses and we do not, rightly: the format, words of the engine, the reason."""

_TOLD = "llama.cpp decodes"
"""In a note on what is decoded otherwise, by types of tokens that the model does not hold."""


SECONDS = 10.0
"""Of CPU for one file, in our encoder and the engine together."""
_SEQUENCES = 12
"""How many sequences of ids that no text gave are decoded."""


@dataclass
class Found:
    """What became of damaged tokenizers, by format and outcome, and the ones that went wrong.

    ``texts`` counts texts with equal ids, by the way of asking for them; ``decoded`` sequences of
    ids with equal texts.
    """

    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    texts: Counter[str] = field(default_factory=Counter)
    decoded: int = 0
    failures: list[str] = field(default_factory=list)


class _TooLongError(BaseException):
    """A file took more than its seconds; nothing may take it for an error of its own."""


class _DifferentError(Exception):
    """What we and the engine say of one text, or of one sequence of ids."""


def sources(format: str) -> list[tuple[str, dict[str, bytes]]]:
    """The small tokenizers of a format: names and files."""
    return [
        (folder.parent.name, {file.name: file.read_bytes() for file in sorted(folder.iterdir())})
        for folder in sorted(TOKENIZERS.glob(f"*/{format}"))
    ]


def run(count: int, seed: int) -> Found:
    """Damages so many tokenizers, and compares our encoder with the engine on each."""
    found = Found()
    handler = signal.signal(signal.SIGPROF, _stop)
    try:
        for number, (format, name, files, what) in enumerate(_damaged(count, seed)):
            outcome, why = _in_time(format, files, found)
            found.outcomes[format, outcome] += 1
            if outcome in ("different", "only we load it", "too long"):
                found.failures.append(f"{outcome}: {format} {name}, {what}, {seed}/{number}: {why}")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, handler)
    return found


def _stop(number: int, frame: FrameType | None) -> None:
    raise _TooLongError


def _in_time(format: str, files: Files, found: Found) -> tuple[str, str]:
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        return compared(format, files, found)
    except _TooLongError:
        return "too long", f"more than {SECONDS:g} s of CPU"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _damaged(count: int, seed: int) -> Iterator[tuple[str, str, dict[str, bytes], str]]:
    rng = Random(seed)
    listed = {format: sources(format) for format in FORMATS}
    names = [format for format in FORMATS if listed[format]]
    for _ in range(count):
        format = rng.choice(names)
        name, files = rng.choice(listed[format])
        changed, what = damaged(files, rng)
        yield format, name, changed, what


def compared(format: str, files: Files, found: Found) -> tuple[str, str]:
    """What became of one tokenizer, and why."""
    model = _read(format, files)
    if model is None:
        return "we refuse it", ""
    try:
        engine = from_files(FORMATS[format], format, files, model)
    except (BpeInteropError, KeyError, ValueError, TypeError) as error:
        said = str(error)
        if any(format == known and words in said for known, words, _ in KNOWN):
            return "a known exception", ""
        return "only we load it", said
    ours = OwnEngine(model)
    try:
        encoded = _encoded(ours, engine, _texts(model), found)
        _decoded(ours, engine, _sequences(model), found)
    except _DifferentError as error:
        return "different", str(error)
    return ("the same ids" if encoded else "both load it, we refuse each text"), ""


def _read(format: str, files: Files) -> BPEModel | None:
    try:
        model = by_name(format).load(files)
        if model.pretokenizer is None:
            stated = PRESETS["gpt2"].pretokenizer
            model = replace(model, pretokenizer=stated, normalizer=())
        model = replace(model, added=model.added or ())
        OwnEngine(model).encoder.pretokenize("a")
    except BpeInteropError:
        return None
    return model


def _texts(model: BPEModel) -> list[str]:
    """The texts for every tokenizer, and its own added tokens among others."""
    own = [token.text for token in (model.added or ())[:12]]
    return [*TEXTS, *(f"a {text}b {text}" for text in own), "".join(own)]


def _encoded(ours: OwnEngine, engine: Engine, texts: list[str], found: Found) -> int:
    """How many texts got the same ids, and these the same text, in some way of asking."""
    equal = 0
    for mode in _modes(ours, engine):
        for text in texts:
            ids = _ids(ours, text, mode)
            if ids is None:
                continue  # we refuse the text, whatever the engine does
            theirs = _ids(engine, text, mode)
            if ids != theirs:
                raise _DifferentError(f"{mode.scope}: {json.dumps([text, ids, theirs])}")
            found.texts[mode.scope] += 1
            equal += 1
            if mode.decodes:
                _same_text(ours, engine, ids, found)
    return equal


def _modes(ours: OwnEngine, engine: Engine) -> list[Mode]:
    modes = [ORDINARY]
    if engine.parses_special:
        modes.append(PARSED)
    if engine.applies_template and ours.encoder.model.sequence_template is not None:
        modes.append(AROUND)
        if engine.parses_special:
            modes.append(TEMPLATED)
    return modes


def _ids(side: Engine, text: str, mode: Mode) -> list[int] | None:
    try:
        return side.encode(text, special=mode.special, add_special_tokens=mode.add_special_tokens)
    except BpeInteropError:
        return None


def _sequences(model: BPEModel) -> Iterator[list[int]]:
    """Ids as no text gives them: each added token, and the first and last tokens in disorder."""
    rng = Random(len(model.vocab.ids))
    ids = sorted({*model.vocab.ids.values(), *(token.id for token in model.added or ())})
    yield from ([token.id] for token in (model.added or ())[:_SEQUENCES])
    for size in range(1, _SEQUENCES + 1):
        yield rng.choices(ids[:20] + ids[-20:] if size % 2 else ids, k=size)


def _decoded(ours: OwnEngine, engine: Engine, sequences: Iterator[list[int]], found: Found) -> None:
    for ids in sequences:
        _same_text(ours, engine, ids, found)


def _same_text(ours: OwnEngine, engine: Engine, ids: list[int], found: Found) -> None:
    try:
        text = ours.decode(ids)
    except BpeInteropError:
        return
    try:
        theirs = engine.decode(ids)
    except EngineError:
        theirs = None
    if text != theirs:
        if _TOLD in " ".join(ours.encoder.model.origin.notes):
            return
        raise _DifferentError(f"decoded: {json.dumps([ids, text, theirs])}")
    found.decoded += 1
