"""Which of llama.cpp's names split texts as a model does, by proof, and which are one splitter.

The names themselves are in ``splitters.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache, lru_cache
from itertools import islice, product
from typing import Any, AnyStr, Final, Literal, TypeAlias

from ...errors import PatternError
from ...memo import Memo
from ...merging.canonical import whole_lookups
from ...merging.symbols import textual
from ...model import BPEModel, Json, PairList
from ...steps import Pattern, PreTokenizerStep, Split
from ...text.bytechars import to_chars
from ...text.patterns import preferred
from ...text.split import split
from ...theory.acting_steps import acting_normalizer, acting_splits
from ...theory.cuts import DifferingCuts, only_merges_bytes
from ...theory.splitters import (
    ComparedCuts,
    CutsTheorem,
    Steps,
    compared_cuts,
    first_cut_difference,
    newer_characters,
    representatives,
)
from ...witnesses import Probe
from ..bos_eos import ends_of
from .splitters import (
    GEMMA4,
    LINES_PATTERN,
    LINES_STEPS,
    NOT_HELD,
    OVER_CHARACTERS,
    SOURCE,
    SPACES,
    SPLITTERS,
    OverCharacters,
)
from .tokens import built, form_of_characters, lines_of

By: TypeAlias = Literal["the same patterns", "Theorem 10"] | CutsTheorem

_CLOSELY: Final = 4
"""So many names are tried with the vocabulary: the nearest ones."""
_STRINGS: Final = 5_000
"""So many short strings are tried for a text that shows a difference."""


_CHARACTERS: Final = "aZs'\n 1~/.\u00e9\u0301\u4e2d\u00b2"
PROBES: Final = (
    *("".join(pair) for pair in product(_CHARACTERS, repeat=2)),
    "12345", "it's", "IT'S", "a\n\nb", "a  b", "a\n  b", "   ", "!!/\n", "aB\u00c9\u00e9", "a1b22",
    "\u4e2da", "a\u0301 b", "IMGIMGAZ", "'\u017f", "12\u00b2345", "a = b; // c\n\tif (x) {\n",
    "\u0928\u092e\u0938\u094d\u0924\u0947", "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35",
    "ART\u00cdCULO 1", "\u0421\u0442\u0430\u0442\u044c\u044f",
    "\u0627\u0644\u0645\u0627\u062f\u0629 \u0661\u0662",
    "\u7b2c\u4e00\u6761", "\u3059\u3079\u3066\u306e", "\uc81c1\uc870",
    "don't you've WE'LL", "x!=y  &&  z",
    "HelloWorld helloWORLD", "3.14 1,000,000",
    "\u00abA\u00bb \u2026 \u2014", "e\u0301a\u0300\u0323 b\u0301",
)  # fmt: skip


Cuts: TypeAlias = tuple["tuple[str, ...] | None", ...]
"""The pretokens of each probe; None where a step cannot be run."""


@lru_cache(maxsize=128)
def cuts(steps: tuple[PreTokenizerStep, ...]) -> Cuts:
    """The pretokens of each probe, in GPT-2's byte alphabet."""
    rows: list[tuple[str, ...] | None] = []
    for text in PROBES:
        try:
            pretokens, mapped = split(steps, text)
        except PatternError:
            rows.append(None)  # it does not run to its end on this probe
        else:
            rows.append(tuple(pretokens if mapped else (to_chars(p.encode()) for p in pretokens)))
    return tuple(rows)


def cut_apart(one: Cuts, two: Cuts) -> int:
    """How many probes are cut otherwise, of those that both can be run on."""
    return sum(a is not None and b is not None and a != b for a, b in zip(one, two, strict=True))


@dataclass(frozen=True, slots=True)
class Chosen:
    """A name, and what shows that its splitter gives every text the model's tokens.

    By Theorem 10 it cuts ``text`` otherwise, but no token stands across such a cut.
    """

    name: str
    by: By
    text: str = ""


@dataclass(frozen=True, slots=True)
class Near:
    """A name that is near, a shortest text that is cut otherwise, and one that has other ids.

    Either is empty where none is known, and no proof that there is none.
    """

    name: str
    cut: str
    text: str


@Memo
def chosen(model: BPEModel) -> Chosen | None:
    """A name in ``tokenizer.ggml.pre`` that splits and looks up as the model does; None if none."""
    model = replace(model, pretokenizer=_respelled(acting_splits(model)))
    steps, lookups = model.pretokenizer or (), whole_lookups(model)
    names = [name for name in _in_order(model) if _looks_up_alike(name, model, lookups)]
    for name in names:
        # Probes refute nearly all names, and cost less than a proof.
        if cut_apart(cuts(SPLITTERS[name].steps), cuts(steps)):
            continue
        by = same_cuts(SPLITTERS[name].steps, steps)
        if by is not None:
            return Chosen(name, by)
    # Last, those that only the vocabulary makes equal: no token stands across a cut (Theorem 10).
    for name in _by_cuts(steps)[:_CLOSELY]:
        if name in names and _same_tokens(SPLITTERS[name].steps, model, lookups):
            text = _compared(SPLITTERS[name].steps, steps).text
            return Chosen(name, "Theorem 10", text or _text_apart(SPLITTERS[name].steps, steps))
    return None


def cause(model: BPEModel, other: BPEModel) -> tuple[str, bool]:
    """That a file's ``tokenizer.ggml.pre`` is not the name under which another model is cut.

    And whether a file with that name would be right: it may be that there is none.
    """
    if model.alphabet != "byte" or other.alphabet != "byte" or other.pretokenizer is None:
        return "", False
    own = model.extras.get("gguf")
    name = own.get("pre") if isinstance(own, dict) else None
    said = f"tokenizer.ggml.pre is {name}" if isinstance(name, str) else "no tokenizer.ggml.pre"
    right = chosen(other)
    if right is not None:
        why = f"{said}, and llama.cpp cuts texts as the other side does under {right.name}"
        return ("", False) if right.name == name else (why, True)
    near, none = written_name(other), "is proved to cut every text as the other side does"
    own_row = SPLITTERS.get(name) if isinstance(name, str) else None
    if own_row is not None and own_row.steps == SPLITTERS[near].steps:
        return f"{said}, the nearest name that there is: none {none}", False
    return f"{said}; no name {none}, and the nearest is {near}", False


def _by_cuts(steps: Steps) -> list[str]:
    """The names, those first that cut the fewest probes otherwise."""
    counted = sorted(
        (cut_apart(cuts(SPLITTERS[name].steps), cuts(steps)), place, name)
        for place, name in enumerate(_one_of_each())
    )
    return [name for _, _, name in counted]


def written_name(model: BPEModel) -> str:
    """The name of :func:`chosen`; where there is none, the nearest one."""
    choice = chosen(model)
    return choice.name if choice is not None else _in_order_of_distance(model)[0]


def nearest_names(model: BPEModel, most: int = 3) -> list[Near]:
    """The names whose splitters are nearest to the model's, the nearest first."""
    steps, probe = _respelled(model.pretokenizer or ()), Probe(model)
    lookups = whole_lookups(model)
    return [_near(name, steps, probe, lookups) for name in _in_order_of_distance(model)[:most]]


def nearest_models(model: BPEModel, again: BPEModel) -> Mapping[str, BPEModel]:
    """What would come back under the nearest names; where one is proved, under that alone."""
    if model.alphabet == "char":
        return {}
    choice = chosen(model)
    names = [choice.name] if choice is not None else _in_order_of_distance(model)[:3]
    rows = {name: SPLITTERS[name] for name in names}
    return {
        name: replace(again, pretokenizer=row.steps, lookup_first=row.lookup_first)
        for name, row in rows.items()
    }


@Memo
def _in_order_of_distance(model: BPEModel) -> list[str]:
    """One name of each splitter, the nearest first."""
    steps = _respelled(model.pretokenizer or ())
    probe, lookups = Probe(model), whole_lookups(model)
    # Nearest is what gives the fewest probes other ids, and then what cuts the fewest otherwise.
    own = [_ids(probe, text, steps) for text in PROBES]
    counted = []
    for place, name in enumerate(_one_of_each()):
        under = SPLITTERS[name].steps
        one, two = cuts(under), cuts(steps)
        other = sum(
            ids != _ids(probe, text, under)
            for text, ids, left, right in zip(PROBES, own, one, two, strict=True)
            if left != right
        )
        counted.append(
            (other, cut_apart(one, two), not _looks_up_alike(name, model, lookups), place, name)
        )
    return [name for *_, name in sorted(counted)]


def _near(name: str, steps: Steps, probe: Probe, lookups: Collection[bytes]) -> Near:
    """A name with a text that shows it to be another splitter."""
    under = SPLITTERS[name].steps
    cut = _compared(under, steps).text or _text_apart(under, steps)
    for text in _texts(cut, under, steps, lookups):
        ids, others = _ids(probe, text, steps), _ids(probe, text, under)
        if ids is not None and others is not None and ids != others:
            return Near(name, cut, text)
    return Near(name, cut, "")


def _ids(probe: Probe, text: str, steps: Steps) -> list[int] | None:
    try:
        return probe.ids(text, steps)
    except PatternError:
        return None  # a text on which it does not end shows nothing


def _texts(first: str, one: Steps, two: Steps, lookups: Collection[bytes]) -> Iterator[str]:
    """Texts that may show two splitters to be apart, short ones first.

    ``first`` is cut otherwise.
    """
    characters = representatives((*one, *two))
    strings = (
        "".join(letters) for length in (1, 2, 3) for letters in product(characters, repeat=length)
    )
    yield from sorted({first, *PROBES, *islice(strings, _STRINGS)} - {""}, key=_by_length)
    # Behind the cut, a token that only lookup finds is a pretoken for one side only.
    for content in islice(sorted(lookups, key=_by_length), _STRINGS if first else 0):
        # A token that is no text by itself is no end of one.
        with suppress(UnicodeDecodeError):
            yield first[:-1] + content.decode("utf-8")


def _by_length(text: AnyStr) -> tuple[int, AnyStr]:
    return len(text), text


def _text_apart(one: Steps, two: Steps) -> str:
    """A probe that is cut otherwise; empty where none is."""
    pairs = zip(PROBES, cuts(one), cuts(two), strict=True)
    return min((text for text, left, right in pairs if left != right), key=len, default="")


def _one_of_each() -> Iterator[str]:
    """One name of each splitter."""
    seen: set[Steps] = set()
    for name, row in SPLITTERS.items():
        if row.steps not in seen:
            seen.add(row.steps)
            yield name


def _respelled(steps: Steps) -> Steps:
    """The steps, patterns of Python spelled so that proofs read them, where that can be."""
    return tuple(map(_read_by_proofs, steps))


def _read_by_proofs(step: PreTokenizerStep) -> PreTokenizerStep:
    if not isinstance(step, Split) or not isinstance(step.pattern, Pattern):
        return step
    if step.pattern.dialect != "python":
        return step
    try:
        return replace(step, pattern=preferred(step.pattern, "fancy-regex"))
    except PatternError:
        return step  # then proofs do not decide it


def _in_order(model: BPEModel) -> list[str]:
    own = model.extras.get("gguf", {})
    first = own.get("pre", "default") if isinstance(own, dict) else "default"
    return [name for name in dict.fromkeys([str(first), *SPLITTERS]) if name in SPLITTERS]


def _looks_up_alike(name: str, model: BPEModel, lookups: Collection[bytes]) -> bool:
    """Whether it is all one that a name looks up pretokens before merging, or does not."""
    return SPLITTERS[name].lookup_first == model.lookup_first or not lookups


def _same_tokens(steps: Steps, model: BPEModel, lookups: Collection[bytes]) -> bool:
    """Whether no token of this vocabulary stands where only one of the two cuts (Theorem 10)."""
    if not only_merges_bytes(model):
        return False
    try:
        places = DifferingCuts(steps, model.pretokenizer or ())
    except PatternError:
        return False  # not decided
    return places.none_beside(lookups) and places.none_across(textual(model))


def same_cuts(a: Steps, b: Steps) -> By | None:
    """What proves that two sequences of steps cut every text alike; None if nothing does."""
    if a == b:
        return "the same patterns"
    compared = _compared(a, b)
    return None if compared.text is not None or compared.why else compared.by


@lru_cache(maxsize=256)
def _compared(a: Steps, b: Steps) -> ComparedCuts:
    # llama.cpp's tables are those of Unicode 15.1 (Theorem 14).
    return compared_cuts(a, b, newer_characters())


@dataclass(frozen=True, slots=True)
class Group:
    """Names whose splitters cut every text alike.

    Attributes:
        names: in the order of the table.
        spellings: their patterns, each a sequence; the first is that of the first name.
        by: what shows that they are one: ``"the same patterns"`` or ``"Theorem 14"``.
        open: first names of groups from which no text tells this one apart, and which are not
            proved equal either.
    """

    names: tuple[str, ...]
    spellings: tuple[tuple[str, ...], ...]
    by: str
    open: tuple[str, ...] = ()


@cache
def groups() -> tuple[Group, ...]:
    """All names that are described, each in one group."""
    rows: dict[tuple[PreTokenizerStep, ...], list[str]] = {}
    for name, row in SPLITTERS.items():
        rows.setdefault(row.steps, []).append(name)
    sharing: list[list[tuple[PreTokenizerStep, ...]]] = []
    undecided: dict[str, list[str]] = {}
    for steps, names in rows.items():
        for group in sharing:
            first = group[0]
            # A probe that is cut otherwise spares the proof.
            if cuts(first) != cuts(steps):
                continue
            try:
                alike = first_cut_difference(first, steps) is None
            except PatternError:
                undecided.setdefault(names[0], []).append(rows[first][0])
                undecided.setdefault(rows[first][0], []).append(names[0])
                continue
            if alike:
                group.append(steps)
                break
        else:
            sharing.append([steps])
    made = []
    for group in sharing:
        together = {name for steps in group for name in rows[steps]}
        named = tuple(name for name in SPLITTERS if name in together)
        spellings = tuple(SPLITTERS[rows[steps][0]].patterns for steps in group)
        by = "Theorem 14" if len(group) > 1 else "the same patterns"
        made.append(Group(named, spellings, by, tuple(undecided.get(named[0], ()))))
    return tuple(made)


def group_of(name: str) -> Group:
    return next(group for group in groups() if name in group.names)


def name_over_characters(model: BPEModel, kept: Mapping[str, Any]) -> str | None:
    """The name under which llama.cpp does what the model does; None if there is none.

    ``kept``: what a GGUF file that the model was read from said besides; its name comes first.
    """
    if model.alphabet != "char" or not isinstance(model.merges, PairList):
        return None
    if acting_normalizer(model.normalizer or ()) != SPACES:
        return None
    if same_cuts(LINES_STEPS, acting_splits(model)) is None:
        return None
    if whole_lookups(model):
        return None
    for name in dict.fromkeys([str(kept.get("pre")), "sarvam-moe", GEMMA4]):
        row = OVER_CHARACTERS.get(name)
        if row is not None and _fits(row, model):
            return name
    return None


def _fits(row: OverCharacters, model: BPEModel) -> bool:
    """Whether newlines are looked up, and BOS is added, as under a name."""
    if row.lines:
        every = {**model.vocab.ids, **{t.text.encode(): t.id for t in model.added or ()}}
        if any(lines_of(every.keys() - built(every, form_of_characters(every, model.merges)))):
            return False
    ends = ends_of(model)
    return not row.bos or (ends is not None and ends[0] is not None)


def particulars(model: BPEModel) -> dict[str, Json]:
    """``pre``: the name that the model was read with, and what llama.cpp does under it.

    ``name`` is null where the file has none; ``equal`` are the names that are proved to cut every
    text alike; ``lookup_first``, ``bos``, ``cleans`` and ``lines`` are the flags of the name.
    """
    own = model.extras.get("gguf", {})
    name = own.get("pre") if isinstance(own, dict) else None
    if model.alphabet == "char":
        # Under SentencePiece's kind a name means nothing.
        known = isinstance(name, str) and name in OVER_CHARACTERS
        return {"pre": _over_characters(str(name))} if known else {}
    called = name if isinstance(name, str) else "default"
    group = group_of(called)
    facts: dict[str, Json] = {"name": name, **_flags(called)}
    facts["patterns"] = list(SPLITTERS[called].patterns)
    facts["equal"] = [other for other in group.names if other != called]
    facts["by"] = group.by
    return {"pre": facts}


def sentences(model: BPEModel) -> Iterator[tuple[str, str]]:
    """The same for people: labels and sentences."""
    for key, facts in particulars(model).items():
        if isinstance(facts, dict):
            called = str(facts["name"] or "default")
            others = facts["equal"]
            equal = ", ".join(map(str, others)) if isinstance(others, list) else ""
            yield (
                key,
                "; ".join(
                    [
                        called if facts["name"] else "default, as the file names none",
                        f"splits as {equal} do ({facts['by']})" if equal else "no other splits so",
                        *(words for flag, words in _FLAGS.items() if facts.get(flag)),
                    ]
                ),
            )


def _over_characters(name: str) -> dict[str, Json]:
    row = OVER_CHARACTERS[name]
    return {
        "name": name,
        "over_characters": True,
        **asdict(row),
        "patterns": [LINES_PATTERN],
        "equal": [
            other for other, each in OVER_CHARACTERS.items() if each == row and other != name
        ],
        "by": "the same patterns",
    }


_FLAGS = {
    "over_characters": "characters are merged, not bytes",
    "lines": "a run of newlines that is a token is not merged",
    "lookup_first": "a pretoken that is a token is not merged",
    "bos": "BOS is added where the file does not say",
}


def table() -> list[dict[str, Json]]:
    """Every name in its group, as plain data; names that are refused stand in the last row."""
    alike: dict[OverCharacters, list[str]] = {}
    for name, row in OVER_CHARACTERS.items():
        alike.setdefault(row, []).append(name)
    over_characters: list[dict[str, Json]] = [
        {
            "names": {name: {"lookup_first": False, **asdict(row)} for name in names},
            "spellings": [[LINES_PATTERN]],
            "by": "the same patterns",
            "undecided": [],
            "over_characters": True,
            "source": SOURCE,
        }
        for row, names in alike.items()
    ]
    return [*map(_row, groups()), *over_characters, {"refused": dict(NOT_HELD)}]


def _row(group: Group) -> dict[str, Json]:
    return {
        "names": {name: _flags(name) for name in group.names},
        "spellings": [list(spelling) for spelling in group.spellings],
        "by": group.by,
        "undecided": list(group.open),
        "source": SOURCE,
    }


def _flags(name: str) -> dict[str, Json]:
    row = SPLITTERS[name]
    return {"lookup_first": row.lookup_first, "bos": row.bos, "cleans": row.cleans}
