"""The laws over the fixtures of the repository: which there are, and what is decided of them.

The laws themselves are :mod:`bpe_interop.testing.laws`; the tests and the deliberate faults run
them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from bpe_interop.formats import Files, Format, all_formats, by_name
from bpe_interop.model import SequenceTemplate
from bpe_interop.testing import laws
from bpe_interop.testing.laws import LawCase, LawSource, need, read_alone, stable
from fixtures import FIXTURES, TOKENIZERS

CORPORA = FIXTURES / "corpora"
ENOUGH = 8_000
"""Bytes of each corpus; the golden tests encode them whole."""


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


def sources(rows: Iterable[Format] | None = None, folder: Path = TOKENIZERS) -> list[LawSource]:
    """Every fixture of these formats, by default of all, with those that are told the rest.

    A fixture lies in ``NAME/FORMAT/``. Where its format leaves the pattern unsaid, and the same
    tokenizer is there in a format that says it, there is a second source which is told it; and
    one which is told that nothing is placed around a text, where that is unsaid.
    """
    table = {row.name: row for row in (all_formats() if rows is None else rows)}
    places = (path for path in sorted(folder.glob("*/*/")) if path.name in table)
    return [source for path in places for source in sources_in(path, table[path.name])]


def sources_in(path: Path, row: Format) -> list[LawSource]:
    """The sources of one fixture: itself, and itself told what its files leave unsaid."""
    files = {each.name: each.read_bytes() for each in sorted(path.iterdir())}
    source = LawSource(path.parent.name, row, files)
    sibling = path.parent / "huggingface"
    if source.model.pretokenizer is None and sibling.is_dir():
        other = {each.name: each.read_bytes() for each in sorted(sibling.iterdir())}
        pattern = by_name("huggingface").load(other).pretokenizer
        told = {"normalizer": (), "pretokenizer": pattern, "added": ()}
        return [source, replace(source, told={**told, "sequence_template": SequenceTemplate()})]
    if source.model.sequence_template is None:
        return [source, replace(source, told={"sequence_template": SequenceTemplate()})]
    return [source]


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


def repeated(source: LawSource) -> None:
    """What its files say is said again by what is written of them: nothing is passed over."""
    said, again = parts_of(source.files), parts_of(source.format.dump(read_alone(source)))
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


def decided(case: LawCase) -> None:
    """What is lost is what the committed table of decisions says."""
    if not case.writable:
        need(case.admitted(()) is None, "it passes, and the source does not say what is needed")
        return
    wanted = decisions().get(case.label)
    if wanted is not None:
        need(decision(case) == wanted, f"decided {decision(case)}, not {wanted}")


DECISIONS = FIXTURES / "decisions.txt"
"""What is lost of each fixture in each format; ``python -m trust decisions`` writes it.

A row: the case, the fields that are refused, and those that are only reported. ``*`` stands behind
a field for which a text is known.
"""


def decision(case: LawCase) -> str:
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
            case = LawCase(source, row)
            if case.writable:
                yield f"{case.label} {decision(case)}"


@cache
def decisions() -> Mapping[str, str]:
    """The rows of the table by their case."""
    rows = (line.split(maxsplit=1) for line in DECISIONS.read_text("utf-8").splitlines())
    return dict(rows)


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


def enough(cases: Iterable[LawCase], least: Mapping[tuple[str, str], int]) -> None:
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


def same_ids(case: LawCase) -> None:
    """:func:`bpe_interop.testing.laws.same_ids`, on the corpora too."""
    laws.same_ids(case, texts())


LAWS: dict[str, Callable[[LawCase], None]] = {
    "decided": decided,
    "stable": stable,
    "same ids": same_ids,
}
"""The laws that deliberate faults are run against, beside ``home``: the quick ones first."""
