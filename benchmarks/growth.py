"""How cost grows with the size of the vocabulary, of a text, of a pretoken, and of a corpus."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping

from .corpora import documents
from .made import AbsentDataError, Place
from .ratios import slope
from .results import Curve, Point
from .running import FailedError, Said, Tick, run_child
from .sides.growing import write_corpus, write_ranks
from .works import SINGLE, THREADS

O200K = "o200k_base/o200k_base.tiktoken"
VOCABULARIES = tuple(1_000 * 2**power for power in range(9))
TEXTS = tuple(1_000 * 4**power for power in range(7))
PRETOKENS = tuple(256 * 4**power for power in range(6))
GROUP = "growth"
NAMES = ("vocabulary", "text", "pretoken", "corpus")
CORPORA = (1_000_000, 10_000_000, 100_000_000)
LONG = 1_000_000_000
LETTERS = ("equal letters", "random letters", "random Chinese characters")


def curves(place: Place, names: Iterable[str], *, long: bool, tick: Tick) -> Iterator[Curve]:
    """Measures curves of ``NAMES``; one that cannot be measured says why."""
    makers: dict[str, Callable[[], Curve]] = {
        "vocabulary": lambda: vocabulary(place, tick),
        "text": lambda: text(place, tick),
        "pretoken": lambda: pretoken(place, tick),
        "corpus": lambda: verify(place, tick, long=long),
    }
    for name in names:
        try:
            curve = makers[name]()
        except (FailedError, AbsentDataError) as error:
            curve = Curve(name, name, "", said=f"not measured: {error}")
        curve.slopes = {
            series: slope([(point.size, point.seconds) for point in points])
            for series, points in curve.series.items()
        }
        yield curve


def _run(
    place: Place,
    mode: str,
    function: str,
    settings: dict[str, str],
    environ: Mapping[str, str] = SINGLE,
) -> Said:
    given = [f"{key}={value}" for key, value in settings.items()]
    words = ["-m", "benchmarks.child", mode, f"growing.{function}", *given]
    return run_child(place, words, environ)


def vocabulary(place: Place, tick: Tick) -> Curve:
    """Load, convert, canonical form and proof, by the number of tokens."""
    curve = Curve(
        "vocabulary",
        "Load, convert, canonical form and proof, by the size of the vocabulary",
        "tokens",
        note="The first tokens of o200k_base; beyond its 199,998 tokens, made-up ones are added: "
        "two neighbouring tokens as one. `load`, `canonical form` and `proof` (the rank file "
        "against its `tokenizer.json`) are the call alone, without loading what they work on; "
        "`convert` is `bpe-interop convert --no-verify`, the call with its imports. The median of "
        "three for load, one run for the others. The canonical form tries the places where "
        "each token may be cut, and later tokens are longer: from 12,800 to 199,998 tokens of"
        " o200k_base its look-ups grow as n^1.17 (counted: 2.1 and 3.4 cuts for each token, "
        "and 3.7 and 5.7 steps to see whether the parts stay apart). The rest is that a look-"
        "up takes about twice as long in the largest tables as in those of 16,000 tokens. A "
        "proof computes one canonical form and reads the other off it.",
    )
    for count in VOCABULARIES[:4] if place.quick else VOCABULARIES:
        tick(f"growth: {count:,} tokens")
        source, target = place.folder / f"n{count}.tiktoken", place.folder / f"n{count}"
        write_ranks(place.real(O200K), source, count)
        given = {"source": str(source)}
        both = {**given, "target": str(target)}
        loads = [_point(count, _run(place, "time", "load", given)) for _ in range(3)]
        found = {
            "load": sorted(loads, key=lambda point: point.seconds)[1],
            "convert": _point(count, _run(place, "time", "convert", both)),
            "canonical form": _point(count, _run(place, "time", "canonical", given)),
            "proof": _point(count, _run(place, "time", "prove", both)),
        }
        for name, point in found.items():
            curve.series.setdefault(name, []).append(point)
        shutil.rmtree(target)
    return curve


def _point(size: int, said: Said) -> Point:
    return Point(size, said.said["call"], said.said.get("peak"))


def _listed(place: Place, function: str, settings: dict[str, str]) -> list[Point]:
    given = {
        **settings,
        "source": str(place.real("cl100k_base/cl100k_base.tiktoken")),
        "preset": "cl100k_base",
    }
    answer = _run(place, "check", function, given).said["answer"]
    return [Point(size, seconds) for size, seconds in answer]


def text(place: Place, tick: Tick) -> Curve:
    """Encoding, by the length of the text."""
    sizes = TEXTS[:4] if place.quick else TEXTS
    curve = Curve(
        "text",
        "Our encoder, by the length of the text",
        "characters",
        note="cl100k_base; an encoder that has seen no text. Words come again in a longer text, "
        "so it costs less for each character.",
    )
    for name in ("english", "code", "scripts"):
        place.corpora()
        tick(f"growth: texts of {name}")
        corpus = str(place.folder / f"{name}.txt")
        given = {"corpus": corpus, "sizes": ",".join(map(str, sizes))}
        curve.series[name] = _listed(place, "encode", given)
    return curve


def pretoken(place: Place, tick: Tick) -> Curve:
    """Encoding, by the length of one pretoken."""
    curve = Curve(
        "pretoken",
        "Our encoder, by the length of one pretoken",
        "characters",
        note="cl100k_base; the whole text is one pretoken, which was not seen before. Merging "
        "is by heaps, so n log n, which is 1.3 of the 1.8 times that a random letter "
        "costs more in 262,144 than in 16,384; the rest is larger tables, whose look-ups "
        "take longer.",
    )
    for letters in LETTERS:
        tick(f"growth: {letters}")
        sizes = PRETOKENS[:4] if place.quick else PRETOKENS
        given = {"letters": letters, "sizes": ",".join(map(str, sizes))}
        curve.series[letters] = _listed(place, "pretoken", given)
    return curve


def verify(place: Place, tick: Tick, *, long: bool) -> Curve:
    """Comparing over a corpus, by its size."""
    curve = Curve(
        "corpus",
        "`verify` over a corpus, by its size",
        "bytes",
        note="tiktoken against tokenizers, cl100k_base, on all cores; the English corpus again "
        "and again, with other numbers in each document, in one file. Building both engines is "
        "in the time, and their memory in that of the process"
        + ("." if long else "; with `--long`, 1 GB as well."),
    )
    sizes = CORPORA[:2] if place.quick else (*CORPORA, *((LONG,) if long else ()))
    texts = documents(place.corpora()["english"].text)
    for size in sizes:
        tick(f"growth: verify {size / 1e6:,.0f} MB")
        file = place.folder / "verify.txt"
        write_corpus(texts, file, size)
        given = {
            "corpus": str(file),
            "source": str(place.real("cl100k_base/cl100k_base.tiktoken")),
            "preset": "cl100k_base",
        }
        found = _run(place, "time", "verify", given, THREADS)
        curve.series.setdefault("verify", []).append(_point(size, found))
        file.unlink()
    return curve
