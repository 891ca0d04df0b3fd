"""The laws that hold for every format, as functions: the tests and the deliberate faults run them.

A law takes a :class:`Source` (one fixture, read by its format) or a :class:`Case` (a source and
a target format), and raises :class:`BrokenError` where it does not hold. ``applies`` of a law
says which cases it has something to say about: a case that would pass for want of anything to
look at is none.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from bpe_interop.diff import diff
from bpe_interop.encode import Encoder
from bpe_interop.engines import Engine, from_files
from bpe_interop.errors import BpeInteropError, LossyConversionError, UnstatedError
from bpe_interop.formats import Files, Format, all_formats, by_name
from bpe_interop.formats.round_trip import RoundTrip
from bpe_interop.gate import admit
from bpe_interop.loss import Loss
from bpe_interop.model import FIELDS, BPEModel, SequenceTemplate
from bpe_interop.presets import fill

ROOT = Path(__file__).resolve().parent.parent.parent
TOKENIZERS = ROOT / "fixtures" / "tokenizers"
CORPORA = ROOT / "fixtures" / "corpora"
ENOUGH = 8_000
"""Bytes of each corpus; the golden tests encode them whole."""

SAID_BY_USERS = ("normalizer", "pretokenizer", "added", "sequence_template")
"""What a format may leave to whoever reads it; a preset or the user says it then."""


class BrokenError(AssertionError):
    """A law that does not hold; the message says for what, and how."""


def need(holds: object, what: str) -> None:
    """Raises BrokenError with what is said, unless it holds."""
    if not holds:
        raise BrokenError(what)


@dataclass(frozen=True, eq=False)
class Source:
    """A tokenizer's files, and the format that reads them.

    ``told`` is what the files leave unsaid and whoever wrote them knows.
    """

    name: str
    format: Format
    files: Files
    told: Mapping[str, Any] | None = None

    @cached_property
    def model(self) -> BPEModel:
        """Read once: what is done with a model does not change it (:func:`untouched`)."""
        model = fill(self.format.load(self.files), None)
        return replace(model, **self.told) if self.told else model

    @property
    def label(self) -> str:
        """The fixture and its format; ``+`` where something was told."""
        return f"{self.name}/{self.format.name}{'+' if self.told else ''}"


@dataclass(frozen=True, eq=False)
class Case:
    """A source and the format it is written in."""

    source: Source
    target: Format

    @cached_property
    def trip(self) -> RoundTrip:
        """The model in the target's format, and back."""
        return RoundTrip(self.source.model, self.target)

    @property
    def label(self) -> str:
        """The source and the target."""
        return f"{self.source.label}-{self.target.name}"

    @property
    def pair(self) -> tuple[str, str]:
        """The names of the two formats."""
        return self.source.format.name, self.target.name

    @cached_property
    def writable(self) -> bool:
        """Whether the source says all that the target has to say."""
        model = self.source.model
        return all(getattr(model, field) is not None for field in self.target.needs)

    @cached_property
    def back(self) -> BPEModel:
        """What was written, read back."""
        return fill(self.trip.again, None)

    @cached_property
    def supplied(self) -> dict[str, Any]:
        """What the target leaves to whoever reads it, and the source says."""
        model = self.source.model
        return {
            field: getattr(model, field)
            for field in SAID_BY_USERS
            if field not in self.target.holds
            and getattr(self.back, field) is None
            and getattr(model, field) is not None
        }

    @cached_property
    def lossless(self) -> bool:
        """Whether the gate lets it pass, and nothing at all is lost."""
        return self.admitted(()) == ()

    @cached_property
    def passes(self) -> bool:
        """Whether the gate lets it pass as it stands."""
        return self.writable and self.admitted(()) is not None

    def admitted(self, drop: Iterable[str]) -> tuple[Loss, ...] | None:
        """What the gate lets pass as lost; None where it refuses."""
        try:
            return admit(self.trip, drop)
        except (LossyConversionError, UnstatedError):
            return None


@cache
def part_of(corpus: Path) -> str:
    """Lines from all over a corpus."""
    data = corpus.read_bytes()
    step = -(-len(data) // ENOUGH)
    return "".join(data.decode("utf-8").splitlines(keepends=True)[::step])


def texts() -> list[str]:
    """A part of each corpus of the repository, and some short texts."""
    parts = [part_of(path) for path in sorted(CORPORA.iterdir())]
    return ["", " ", "a", " a  b", "don't\n\n1234", "é🙂", *parts]


def sources(rows: Iterable[Format] | None = None, folder: Path = TOKENIZERS) -> list[Source]:
    """Every fixture of these formats, by default of all, with those that are told the rest.

    A fixture lies in ``NAME/FORMAT/``. Where its format leaves the pattern unsaid, and the same
    tokenizer is there in a format that says it, there is a second source which is told it; and
    one which is told that nothing is placed around a text, where that is unsaid.
    """
    table = {row.name: row for row in (all_formats() if rows is None else rows)}
    places = (path for path in sorted(folder.glob("*/*/")) if path.name in table)
    return [source for path in places for source in sources_in(path, table[path.name])]


def sources_in(path: Path, row: Format) -> list[Source]:
    """The sources of one fixture: itself, and itself told what its files leave unsaid."""
    files = {each.name: each.read_bytes() for each in sorted(path.iterdir())}
    source = Source(path.parent.name, row, files)
    sibling = path.parent / "huggingface"
    if source.model.pretokenizer is None and sibling.is_dir():
        other = {each.name: each.read_bytes() for each in sorted(sibling.iterdir())}
        pattern = by_name("huggingface").load(other).pretokenizer
        told = {"normalizer": (), "pretokenizer": pattern, "added": ()}
        return [source, replace(source, told={**told, "sequence_template": SequenceTemplate()})]
    if source.model.sequence_template is None:
        return [source, replace(source, told={"sequence_template": SequenceTemplate()})]
    return [source]


# Of a source.


def home(source: Source) -> None:
    """What a format's own reader gives, its writer holds: every field, and without any loss."""
    trip = RoundTrip(replace_told(source), source.format)
    losses = list(trip.losses)
    need(not losses, f"its own writer loses {[loss.field for loss in losses]}")
    for field in FIELDS:
        before, after = getattr(trip.model, field), getattr(trip.again, field)
        need(before == after, f"{field} comes back otherwise")


def replace_told(source: Source) -> BPEModel:
    """The model as the reader gives it."""
    return source.format.load(source.files) if source.told else source.model


SPELLED_FREELY: Mapping[str, frozenset[str]] = {
    "huggingface": frozenset(
        {
            "tokenizer.json:normalizer",
            "tokenizer.json:pre_tokenizer",
            "tokenizer.json:post_processor",
            "tokenizer.json:decoder",
            "tokenizer.json:model.vocab",
            "tokenizer.json:model.merges",
        }
    ),
    "tiktoken": frozenset({".tiktoken.json:explicit_n_vocab"}),
    "sentencepiece": frozenset({"tokenizer_config.json:pad_token"}),
    "minbpe": frozenset({".vocab"}),
}
"""What a format says in several ways, or need not say. Ids hold it to its meaning."""


def repeated(source: Source) -> None:
    """What its files say is said again by what is written of them: nothing is passed over."""
    said, again = parts_of(source.files), parts_of(source.format.dump(replace_told(source)))
    free = SPELLED_FREELY.get(source.format.name, frozenset())
    lost = sorted(part for part in said if part not in free and said[part] != again.get(part))
    need(not lost, f"not said again: {', '.join(lost)}")


def parts_of(files: Files) -> dict[str, object]:
    """What files say, part by part: a key of a JSON object, a line of a text, all of another."""
    found: dict[str, object] = {}
    for name, data in files.items():
        key = name if name in NAMED else name[name.index(".") :]
        if name.endswith(".json"):
            for path, value in json.loads(data).items():
                inner = value if path == "model" and isinstance(value, dict) else {"": value}
                for part, each in inner.items():
                    found[f"{key}:{path}{'.' if part else ''}{part}"] = each
        elif key in (".bpe", ".txt"):
            lines = data.decode("utf-8").splitlines()
            found["merges"] = [line for line in lines if not line.startswith("#version")]
        else:
            found[key] = data
    return found


NAMED = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "tekken.json")
"""Files that are told by their whole name; others may be called as one likes."""


def one_owner(source: Source, rows: Iterable[Format]) -> None:
    """Exactly one sniffer says yes."""
    owners = [row.name for row in rows if row.sniff(source.files)]
    need(owners == [source.format.name], f"recognised as {owners}")


def well_mannered(source: Source) -> None:
    """Any truncation and many bit flips give a model or our own error, with words."""
    for key, data in source.files.items():
        cuts = [data[: len(data) * part // 17] for part in range(17)]
        flips = [
            data[:place] + bytes([data[place] ^ (1 << place % 8)]) + data[place + 1 :]
            for place in range(0, len(data), max(1, len(data) // 70))
        ]
        for damaged in [*cuts, *flips]:
            try:
                source.format.load({**source.files, key: damaged})
            except BpeInteropError as error:
                need(error.what, "an error says nothing")


def sniffs_calmly(source: Source, rows: Iterable[Format]) -> None:
    """Sniffers never raise."""
    for row in rows:
        for key, data in source.files.items():
            for part in range(7):
                cut = {**source.files, key: data[: len(data) * part // 7]}
                need(row.sniff(cut) in (True, False), f"{row.name} gives no answer")


# Of a case.


def decided(case: Case) -> None:
    """What is lost is what the committed table of decisions says."""
    if not case.writable:
        need(case.admitted(()) is None, "it passes, and the source does not say what is needed")
        return
    wanted = decisions().get(case.label)
    if wanted is not None:
        need(decision(case) == wanted, f"decided {decision(case)}, not {wanted}")


DECISIONS = ROOT / "fixtures" / "decisions.txt"
"""What is lost of each fixture in each format; ``python -m benchmarks.trust decisions`` writes it.

A row: the case, the fields that are refused, and those that are only reported. ``*`` stands behind
a field for which a text is known.
"""


def decision(case: Case) -> str:
    """The fields that a case loses, as a row of the table."""
    losses = case.trip.losses
    refused = [
        loss.field + ("*" if loss.witness is not None else "")
        for loss in losses
        if loss.grade != "metadata"
    ]
    reported = [loss.field for loss in losses if loss.grade == "metadata"]
    return f"refused: {' '.join(refused) or '-'}; reported: {' '.join(reported) or '-'}"


def decision_rows() -> Iterator[str]:
    """The rows of the table, as they are decided now."""
    for source in sources():
        for row in all_formats():
            case = Case(source, row)
            if case.writable:
                yield f"{case.label} {decision(case)}"


@cache
def decisions() -> Mapping[str, str]:
    """The rows of the table by their case."""
    rows = (line.split(maxsplit=1) for line in DECISIONS.read_text("utf-8").splitlines())
    return dict(rows)


def stable(case: Case) -> None:
    """Writing what was read back gives the same bytes."""
    once = case.trip.files
    need(case.target.dump(case.trip.again) == once, "written again, it has other bytes")


def comparable(case: Case) -> bool:
    """Whether ids can be held to the source's: nothing is lost that changes them.

    What the target leaves to whoever reads it is said by the source.
    """
    if not case.writable or case.source.model.pretokenizer is None:
        return False
    if case.admitted(()) is not None:
        return True
    return case.admitted(case.supplied) is not None


LEAST_COMPARED: Mapping[tuple[str, str], int] = {
    ("gguf", "gguf"): 3,
    ("gguf", "gpt2"): 1,
    ("gguf", "huggingface"): 3,
    ("gguf", "sentencepiece"): 1,
    ("gguf", "tiktoken"): 1,
    ("gpt2", "gguf"): 1,
    ("huggingface", "gguf"): 2,
    ("minbpe", "gguf"): 1,
    ("sentencepiece", "gguf"): 3,
    ("tiktoken", "gguf"): 3,
    ("gpt2", "gpt2"): 3,
    ("gpt2", "huggingface"): 3,
    ("gpt2", "minbpe"): 1,
    ("gpt2", "tiktoken"): 2,
    ("huggingface", "gpt2"): 8,
    ("huggingface", "huggingface"): 22,
    ("huggingface", "minbpe"): 1,
    ("huggingface", "sentencepiece"): 3,
    ("huggingface", "tiktoken"): 6,
    ("minbpe", "gpt2"): 2,
    ("minbpe", "huggingface"): 2,
    ("minbpe", "minbpe"): 2,
    ("minbpe", "tiktoken"): 2,
    ("sentencepiece", "huggingface"): 5,
    ("sentencepiece", "sentencepiece"): 10,
    ("gpt2", "tekken"): 1,
    ("minbpe", "tekken"): 1,
    ("tekken", "gpt2"): 2,
    ("tekken", "huggingface"): 2,
    ("tekken", "tekken"): 2,
    ("tekken", "tiktoken"): 2,
    ("tiktoken", "gpt2"): 4,
    ("tiktoken", "huggingface"): 5,
    ("tiktoken", "minbpe"): 1,
    ("tiktoken", "tiktoken"): 5,
}
"""Of each pair of formats, how many conversions have their ids compared at the least.

Bytes of pretokens are no characters of whole texts, so gpt2, tiktoken and minbpe never pass to
sentencepiece. The other way a model must have neither normalizer nor unknown piece, and training
gives none such. In a tekken.json special tokens have the first ids, in a minbpe model the bytes.
A GGUF file names one of llama.cpp's splitters, which are not those of the other fixtures.
"""


def enough(cases: Iterable[Case], least: Mapping[tuple[str, str], int]) -> None:
    """Each pair of formats has as many cases to compare as it must, and no other pair has any.

    A format that gives a reason to refuse what it could hold has fewer.
    """
    found = Counter(case.pair for case in cases)
    odd = [
        f"{' to '.join(pair)}: {found[pair]}, not {least.get(pair)}"
        for pair in found | Counter(least)
        if pair not in least or found[pair] < least[pair]
    ]
    need(not odd, "; ".join(odd))


def same_ids(case: Case) -> None:
    """Ids agree in our encoder of both models and in the target's engine on what was written.

    So does what they decode to, special tokens that are found, and what stands around a text,
    as far as the engine does these things.
    """
    model = case.source.model
    back = replace(case.back, **case.supplied)
    ours, theirs = Encoder(model), Encoder(back)
    engine = from_files(case.target.engine, case.target.name, case.trip.files, back)
    plain = "added" in case.supplied and model.added
    for text in texts():
        ids = engine.encode(text)
        if not plain or not any(token.text in text for token in model.added or ()):
            need(ours.encode(text) == ids, f"another id than the engine's in {text[:40]!r}")
            need(theirs.encode(text) == ids, f"read back, another id in {text[:40]!r}")
            decoded = engine.decode(ids)
            need(ours.decode(ids) == decoded, f"decoded otherwise: {text[:40]!r}")
            need(theirs.decode(ids) == decoded, f"read back, decoded otherwise: {text[:40]!r}")
    if not plain:
        _same_specials(case, engine, ours)


def _same_specials(case: Case, engine: Engine, ours: Encoder) -> None:
    model = case.source.model
    if engine.parses_special and model.added is not None:
        around = [f"a {token.text} b{token.text}" for token in model.added]
        for text in [*texts(), *around]:
            ids = engine.encode(text, special="parse")
            need(ours.encode(text, "all") == ids, f"specials in {text[:40]!r}")
    if model.sequence_template is None or case.back.sequence_template is None:
        return
    if engine.applies_template:
        for text in ("a", "don't 1234"):
            ids = engine.encode(text, add_special_tokens=True)
            need(ours.template(ours.encode(text)) == ids, f"what stands around {text!r}")


def untouched(source: Source, fresh: Source) -> None:
    """Neither files nor models change by being written: they are as when read anew."""
    need(source.files == fresh.files, "the files changed")
    need(facts_of(source.model) == facts_of(fresh.model), "the model changed")


def facts_of(model: BPEModel) -> dict[str, str]:
    """Every field of a model, spelled out in order."""
    return {field: repr(getattr(model, field)) for field in (*FIELDS, "origin")}


def roundabout(source: Source, middle: Format, target: Format) -> None:
    """A to B to C equals A to C, where A to B loses nothing."""
    direct, there = Case(source, target), Case(source, middle)
    onward = RoundTrip(there.back, target)
    apart = [found.field for found in diff(onward.again, direct.trip.again)]
    need(not apart, f"other {apart} by way of {middle.name}")


LAWS: dict[str, Callable[[Case], None]] = {
    "decided": decided,
    "stable": stable,
    "same ids": same_ids,
}
"""The laws that deliberate faults are run against, beside ``home``: the quick ones first."""
