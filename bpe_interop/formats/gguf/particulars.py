"""What is to be told of a GGUF file's ``tokenizer.ggml.pre``: what it means, and its equals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from ...model import BPEModel, Json
from .characters import OVER_CHARACTERS, PATTERN, OverCharacters
from .pre_names import Group, group_of, groups
from .splitters import NOT_HELD, SOURCE, SPLITTERS


def particulars(model: BPEModel) -> dict[str, Json]:
    """``pre``: the name that the model was read with, and what llama.cpp does under it.

    ``name`` is null where the file has none, ``equal`` lists the names that are proved to cut
    every text alike, ``lookup_first``, ``bos`` and ``cleans`` are the flags of the name. Under
    SentencePiece's kind a name means nothing, and there is nothing to tell. Where characters are
    merged, ``lines`` says whether runs of newlines are looked up before.
    """
    own = model.extras.get("gguf", {})
    name = own.get("pre") if isinstance(own, dict) else None
    if model.alphabet == "char":
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
        "patterns": [PATTERN],
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
            "spellings": [[PATTERN]],
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
