"""One pair of tokenizers: what is said of it, and what the engines do."""

from __future__ import annotations

import re
import signal
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from types import FrameType
from typing import TypeVar

from bpe_interop.compare import Scope, verify
from bpe_interop.diff import diff
from bpe_interop.encode import Encoder
from bpe_interop.errors import BpeInteropError, EncodeError, PatternError
from bpe_interop.fingerprint import fingerprint
from bpe_interop.model import BPEModel
from bpe_interop.proof.added_tokens import left_to_chance
from bpe_interop.proof.prove import SCOPES, Proof, prove
from bpe_interop.text.patterns import asks_other_tables

from .byte_formats import RANDOM
from .changes import changed, with_beside
from .documents import random_document
from .features import features
from .ranked import random_gpt2, random_pieces, random_ranks
from .sources import EngineRefusedError, Ids, Oracle, Source
from .texts import texts_for

T = TypeVar("T")

IN_SCOPE: dict[Scope, tuple[str, ...]] = {
    "all": ("ordinary", "parsed", "templated"),
    "ordinary": ("ordinary",),
    "text": ("text",),
}
"""How engines are asked in a scope."""

OWN_TEXTS = 12
"""How many texts our own encoder encodes too, of each side."""


@dataclass
class Wrong:
    """A verdict that the engines contradict."""

    kind: str
    scope: str
    text: str
    mode: str
    said: str
    shown: tuple[str, str]


@dataclass
class Trial:
    """A pair, what was said of it, and what was wrong with that.

    ``verdicts``: by who said it and in which scope. ``stages``: name, outcome, and the kind of
    argument. ``refused``: who refused the files and why, if somebody did.
    """

    change: str
    sources: tuple[Source, Source]
    features: frozenset[str]
    texts: int = 0
    verdicts: dict[tuple[str, str], str] = field(default_factory=dict)
    stages: set[tuple[str, str, str]] = field(default_factory=set)
    refused: str = ""
    wrong: list[Wrong] = field(default_factory=list)


def random_pair(seed: int, number: int) -> tuple[str, Source, Source]:
    """What was changed, and two sources; the same for the same numbers."""
    rng = Random(f"{seed}:{number}")
    if number % RARE == RARE - 1:
        one = _of_bytes(rng)
        change, two = changed(rng, one)
        return change, one, two
    make = rng.choices([random_document, random_ranks, random_pieces, random_gpt2], [58, 14, 22, 6])
    one = make[0](rng)
    if rng.random() < 0.1:
        with_beside(rng, one)
    change, two = changed(rng, one)
    return (change, two, one) if rng.random() < 0.3 else (change, one, two)


RARE = 10
"""Of so many pairs, the last is of minbpe, tekken.json or GGUF, whose engines take longer."""


def _of_bytes(rng: Random) -> Source:
    [name] = rng.choices(["minbpe", "tekken", "gguf"], [10, 9, 1])
    one = Source(*RANDOM[name](rng))
    if rng.random() < 0.1:
        with_beside(rng, one)
    return one


def _scopes(sources: Sequence[Source]) -> tuple[Scope, ...]:
    """The scopes in which the engines can be asked.

    mistral-common finds no special token in a text, and llama.cpp finds user-defined ones
    whatever it is asked.
    """
    formats = {source.format for source in sources}
    left_out = {"all"} if "tekken" in formats else {"text"} if "gguf" in formats else set()
    return tuple(scope for scope in SCOPES if scope not in left_out)


def trial(seed: int, number: int, *, verified: bool = False) -> Trial:
    """Holds what is said of a random pair to the engines."""
    change, one, two = random_pair(seed, number)
    return tried(change, one, two, f"{seed}:{number}", verified=verified)


def tried(change: str, one: Source, two: Source, seed: str, *, verified: bool = False) -> Trial:
    """Holds what is said of a pair to the engines, on texts that a seed draws."""
    found = Trial(change, (one, two), features(one) | features(two))
    try:
        _hold(found, Random(f"{seed}:texts"), verified)
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-4:]
        where = " > ".join(f"{Path(frame.filename).name}:{frame.name}" for frame in last)
        found.wrong.append(Wrong("an error that is not ours", "", where, "", repr(error), ("", "")))
    return found


def _hold(found: Trial, rng: Random, verified: bool) -> None:
    one, two = found.sources
    try:
        models = one.model(), two.model()
        for source, model in zip(found.sources, models, strict=True):
            if source.takes_tokens_on and model.origin.lost:
                found.refused = f"we: {kind_of(model.origin.lost[0])}"
                return
        oracles = one.oracle(), two.oracle()
    except BpeInteropError as error:
        found.refused = f"we: {kind_of(error.what)}"
        return
    except EngineRefusedError as error:
        found.refused = f"engine: {kind_of(str(error))}"
        return
    texts = texts_for(rng, one, two)
    found.texts = len(texts)
    answers = Answers(oracles, texts)
    try:
        for scope in _scopes(found.sources):
            proof = _soon(partial(prove, *models, scope))
            if proof is None:
                found.verdicts["prove", scope] = "not waited for"
                break
            found.verdicts["prove", scope] = proof.outcome
            found.stages |= {(s.name, s.outcome, kind_of(s.why)) for s in proof.stages}
            found.wrong += _held(proof, models, answers)
    except BpeInteropError as error:
        found.refused = f"prove: {kind_of(error.what)}"
        return
    found.wrong += _fingerprints(models, answers, _scopes(found.sources))
    found.wrong += _fields(models, answers, _scopes(found.sources))
    for side in (0, 1):
        found.wrong += _own(models[side], answers, side)
    if verified:
        scope = rng.choice([*_scopes(found.sources)])
        outcome, wrong = _verified((one, two), models, scope, answers)
        found.verdicts["verify", scope] = outcome
        found.wrong += wrong


PATIENCE = 0.4
"""For how many seconds of CPU a verdict is waited for: a search for a witness may be long."""


class _TooLongError(Exception):
    """A verdict takes longer than it is waited for."""


def _stop(signum: int, frame: FrameType | None) -> None:
    raise _TooLongError


def _soon(say: Callable[[], T]) -> T | None:
    """What is said, where it is said soon."""
    try:
        return _timed(say)
    except _TooLongError:  # the signal came between the answer and the end of the timer
        return None


def _timed(say: Callable[[], T]) -> T | None:
    before = signal.signal(signal.SIGVTALRM, _stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE)
    try:
        return say()
    except Exception as error:
        # Raised inside an engine that calls back, it comes out as an error of the engine.
        if _TooLongError.__name__ in repr(error):
            return None
        raise
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|(?<![\w.])[\d,]+")

_ROLE = r"(?: \((?:byte|control|unknown)\))?"
_NAMED = re.compile(rf"b?…(?:{_ROLE}\+?b?…)*{_ROLE}")
"""Tokens after ``_QUOTED``: texts, bytes, lists of parts, with what they are."""

_OPENINGS = {
    "other steps: ": "other steps",
    "other steps (": "other steps, which are named",
    "other rules for symbols without a token: ": "other rules for symbols without a token",
    "… and … added tokens; ": "other added tokens",
    "… and … special tokens; ": "other special tokens",
}


def kind_of(said: str) -> str:
    """A sentence without what it quotes and counts."""
    plain = _NAMED.sub("…", _QUOTED.sub("…", said))
    for opening, kind in _OPENINGS.items():
        if plain.startswith(opening):
            return kind
    return plain[:120]


class Answers:
    """What two engines answer on the same texts. ``deaf``: one finds no special token in a text."""

    def __init__(self, oracles: tuple[Oracle, Oracle], texts: Sequence[str]) -> None:
        self.oracles = oracles
        self.texts = texts
        self.deaf = any(oracle.deaf for oracle in oracles)
        self.decodes = all(oracle.decodes for oracle in oracles)
        self._ids: dict[str, tuple[list[Ids], list[Ids]]] = {}

    def ids(self, mode: str) -> tuple[list[Ids], list[Ids]]:
        """The ids of both on all texts."""
        if mode not in self._ids:
            one, two = self.oracles
            self._ids[mode] = one.ids(self.texts, mode), two.ids(self.texts, mode)
        return self._ids[mode]

    def differing(self, mode: str) -> tuple[str, str, str] | None:
        """The shortest text on which ids differ, or one side alone fails; with both."""
        found = [
            (text, a, b) for text, a, b in zip(self.texts, *self.ids(mode), strict=True) if a != b
        ]
        shown = [row for row in found if row[1] is not None and row[2] is not None] or found
        if not shown:
            return None
        text, a, b = min(shown, key=lambda row: (len(row[0]), row[0]))
        return text, str(a), str(b)

    def decoded_apart(self, mode: str) -> tuple[str, str, str] | None:
        """A text with the same ids, of which both make other texts."""
        one, two = self.oracles
        if not self.decodes:
            return None
        ids = [list(row) for row in dict.fromkeys(tuple(i) for i in self.ids(mode)[0] if i)]
        for each, a, b in zip(ids, one.decoded(ids), two.decoded(ids), strict=True):
            if a != b:
                place = self.ids(mode)[0].index(each)
                return self.texts[place], f"{each} decodes as {a!r}", f"{b!r}"
        return None

    def shows(self, text: str, modes: Sequence[str]) -> bool:
        """Whether the engines differ on a text in one of the modes, decoding included."""
        one, two = self.oracles
        for mode in modes:
            left, right = one.ids([text], mode), two.ids([text], mode)
            if left != right or one.decoded(left) != two.decoded(right):
                return True
        return False


OF_SPECIAL_TOKENS = ("added tokens", "special tokens")
"""Stages that refute by special tokens in a text, which some engines do not look for."""


def _held(proof: Proof, models: tuple[BPEModel, BPEModel], answers: Answers) -> Iterator[Wrong]:
    modes = IN_SCOPE[proof.scope]
    if proof.outcome == "proved":
        said = "; ".join(f"{s.name}: {s.why}" for s in proof.counted)
        yield from _apart(proof.scope, modes, said, answers)
    elif proof.outcome == "different":
        witness = proof.witness
        if proof.stage in OF_SPECIAL_TOKENS and _parsed_apart(models, answers, witness):
            return
        if proof.stage == "decoding" and _decoded_apart(models, answers, witness):
            return
        if proof.stage == "decoding" and not answers.decodes:
            return
        if witness is None or not answers.shows(witness, modes):
            said = next((s.why for s in proof.stages if s.name == proof.stage), "")
            yield Wrong(
                "called different, and the engines do not differ",
                proof.scope,
                str(witness),
                modes[-1],
                f"{proof.stage}: {said}",
                ("", ""),
            )


def _parsed_apart(models: tuple[BPEModel, BPEModel], answers: Answers, text: str | None) -> bool:
    """Whether an engine finds no special tokens, and a text has one that the other side has not."""
    if not answers.deaf:
        return False
    one, two = ({token for token in each.added or () if token.special} for each in models)
    return text is not None and any(token.text in text for token in one ^ two)


def _decoded_apart(models: tuple[BPEModel, BPEModel], answers: Answers, text: str | None) -> bool:
    """Whether an engine finds no special tokens, and decodes the id of one in a text otherwise."""
    if not answers.deaf or text is None:
        return False
    held = {t.id for each in models for t in each.added or () if t.special and t.text in text}
    one, two = answers.oracles
    return any(one.decoded([[number]]) != two.decoded([[number]]) for number in sorted(held))


def _apart(scope: str, modes: Sequence[str], said: str, answers: Answers) -> Iterator[Wrong]:
    for mode in modes:
        found = answers.differing(mode)
        if found is not None:
            alone = "None" in found[1:]
            kind = "one engine alone fails" if alone else "ids differ"
            yield Wrong(f"called proved, and {kind}", scope, found[0], mode, said, found[1:])
            return
    for mode in modes:
        found = answers.decoded_apart(mode)
        if found is not None:
            kind = "called proved, and decoding differs"
            yield Wrong(kind, scope, found[0], mode, said, found[1:])
            return


LINES: dict[Scope, tuple[str, ...]] = {
    "text": ("text", "decoder"),
    "ordinary": ("text", "specials", "decoder"),
    "all": ("all",),
}
"""The lines of a fingerprint that are equal only where tokenizers are, by scope."""


def _fingerprints(
    models: tuple[BPEModel, BPEModel], answers: Answers, scopes: Sequence[Scope]
) -> Iterator[Wrong]:
    """Equal lines of fingerprints are a claim too."""
    one, two = map(fingerprint, models)
    chance = any(map(left_to_chance, models))
    for scope, lines in LINES.items():
        if scope not in scopes:
            continue
        if chance and scope != "text":  # a lock does not call it proved either
            continue
        if all(one[line] == two[line] for line in lines):
            found = list(_apart(scope, IN_SCOPE[scope], ", ".join(lines), answers))
            for wrong in found:
                wrong.kind = wrong.kind.replace("called proved", "the same fingerprint")
            if found:
                yield from found
                return


def _fields(
    models: tuple[BPEModel, BPEModel], answers: Answers, scopes: Sequence[Scope]
) -> Iterator[Wrong]:
    """That no field differs is a claim of all texts in which added tokens are looked for.

    ``diff`` compares patterns as they are written, not the Unicode tables of their engines.
    """
    tables = {any(map(asks_other_tables, each.pretokenizer or ())) for each in models}
    if len(tables) > 1:
        return
    if _soon(partial(diff, *models)) != () or any(map(left_to_chance, models)):
        return
    for scope in scopes:
        if scope != "text":
            found = list(_apart(scope, IN_SCOPE[scope], "no field differs", answers))
            for wrong in found:
                wrong.kind = wrong.kind.replace("called proved", "no field differs")
            yield from found


def _own(model: BPEModel, answers: Answers, side: int) -> Iterator[Wrong]:
    """Our own encoder, on which witnesses are run, beside the engine of the format."""
    encoder = Encoder(model)
    for mode in ("ordinary", "parsed"):
        ids = answers.ids(mode)[side]
        for place in range(0, len(ids), max(1, len(ids) // OWN_TEXTS)):
            text, expected = answers.texts[place], ids[place]
            parsing = mode == "parsed" and bool(model.added)
            if parsing and answers.oracles[side].deaf:
                continue
            try:
                given: Ids = encoder.encode(text, "all" if parsing else frozenset())
            except (EncodeError, PatternError):
                continue
            if given != expected:
                kind = "our encoder and the engine differ"
                yield Wrong(kind, f"side {side}", text, mode, "", (str(given), str(expected)))
                return


_MODE_NAMES = {
    "special tokens as text": "ordinary",
    "special tokens parsed": "parsed",
    "special tokens as text, template applied": "templated",
    "special tokens parsed, template applied": "templated",
}


def _verified(
    sources: tuple[Source, Source],
    models: tuple[BPEModel, BPEModel],
    scope: Scope,
    answers: Answers,
) -> tuple[str, list[Wrong]]:
    """What ``verify`` says of the files on the disk."""
    presets = [("gpt-2" if source.format == "gpt2" else None) for source in sources]
    with tempfile.TemporaryDirectory() as folder:
        places = [_placed(Path(folder, name), s) for name, s in zip("ab", sources, strict=True)]
        try:
            report = verify(
                *places, scope=scope, preset_a=presets[0], preset_b=presets[1], offline=True
            )
        except BpeInteropError as error:
            return f"refused: {kind_of(error.what)}", []
    modes = IN_SCOPE[scope]
    if report.verdict == "proved":
        said = "; ".join(f"{s.name}: {s.why}" for s in report.stages)
        found = list(_apart(scope, modes, said, answers))
        for wrong in found:
            wrong.kind = wrong.kind.replace("called proved", "called proved by verify")
        return report.verdict, found
    shown = report.mismatch
    if shown is None:
        return report.verdict, []
    mode = _MODE_NAMES.get(shown.mode.scope, "ordinary")
    mode = "text" if scope == "text" else mode
    if answers.shows(shown.text, [mode]):
        return report.verdict, []
    if mode in ("parsed", "templated") and _parsed_apart(models, answers, shown.text):
        return report.verdict, []
    if shown.decoding is not None and _decoded_apart(models, answers, shown.text):
        return report.verdict, []
    kind = "called different by verify, and the engines do not differ"
    ids = str(list(shown.ids_a)), str(list(shown.ids_b))
    return report.verdict, [Wrong(kind, scope, shown.text, mode, str(shown.decoding), ids)]


def _placed(folder: Path, source: Source) -> Path:
    folder.mkdir()
    files = source.files()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder / next(iter(files)) if source.format != "gpt2" else folder
