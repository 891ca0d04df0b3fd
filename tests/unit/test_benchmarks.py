"""The benchmark: its arithmetic, its order, what it says of who is absent or wrong. No timings."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks import __main__ as command
from benchmarks import exact, page, running, tables
from benchmarks.child import rotated
from benchmarks.corpora import Texts, chats, corpora, documents
from benchmarks.growth import NAMES
from benchmarks.made import AbsentDataError, Place
from benchmarks.memory import watched
from benchmarks.ratios import Spread, over, ratio, slope, spread
from benchmarks.results import (
    Asked,
    Curve,
    Exactness,
    Point,
    Run,
    Sample,
    SideRun,
    Tried,
    WorkRun,
    from_json,
    held_to,
    to_json,
)
from benchmarks.running import run_work, selected
from benchmarks.sides import exact as sides
from benchmarks.sides.growing import write_corpus, write_ranks
from benchmarks.sides.training import Extrapolated, count_pairs, extrapolated, merge_pair
from benchmarks.works import OURS, Limit, Side, Work
from fixtures import ROOT, TOKENIZERS


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path, None, quick=True)


# Arithmetic.


def test_a_ratio_is_of_samples_of_the_same_round() -> None:
    # The ratio of the medians would be 2 / 4.
    assert ratio([1, 2, 30], [10, 4, 3]) == Spread(0.5, 0.1, 10)
    assert ratio([3], [2, 100]) == Spread(1.5, 1.5, 1.5)
    assert ratio([], [1]) is None


def test_differences_and_spreads() -> None:
    assert over([3, 5, 10], [1, 1, 1]) == Spread(4, 2, 9)
    assert spread([4, 1, 2, 3]) == Spread(2.5, 1, 4)
    assert spread([]) is None


def test_the_slope_is_the_power_at_the_end() -> None:
    square = [(n, 7 * n**2) for n in (1, 2, 4, 8, 16)]
    assert slope(square) == pytest.approx(2)
    late = [(1, 100), (2, 100), (4, 1), (8, 2), (16, 4), (32, 8)]
    assert slope(late) == pytest.approx(1)
    assert slope([(1, 5), (10, 5), (100, 50)]) == pytest.approx(1)
    log = [(n, n * math.log(n)) for n in (2**17, 2**18, 2**19, 2**20)]
    assert 1.05 < (slope(log) or 0) < 1.1
    assert slope([(8, 1)]) is None


def test_the_loop_is_extrapolated_by_the_tokens_it_goes_over() -> None:
    found = extrapolated(2.0, 100, [(1, 2)], [50, 40, 10])
    assert isinstance(found, Extrapolated)
    assert found.seconds == pytest.approx(2.0)


def test_the_loop_is_the_tutorials() -> None:
    counts: dict[tuple[int, int], int] = {}
    count_pairs([97, 97, 97, 98], counts)
    assert counts == {(97, 97): 2, (97, 98): 1}
    assert merge_pair([97, 97, 97, 98], (97, 97), 256) == [256, 97, 98]


# Order and choice.


def test_sides_take_turns() -> None:
    turns = [rotated(["a", "b", "c"], turn) for turn in range(4)]
    assert ["".join(turn) for turn in turns] == ["abc", "bca", "cab", "abc"]
    assert rotated([], 3) == []


def test_works_are_chosen_by_name_or_group() -> None:
    assert [work.name for work in selected(command.WORKS, ("import",))] == ["import"]
    assert {work.group for work in selected(command.WORKS, ("load",))} == {"load"}
    assert selected(command.WORKS, ()) == command.WORKS
    with pytest.raises(KeyError):
        selected(command.WORKS, ("nothing",))


def test_curves_are_chosen_too() -> None:
    every = (command.WORKS, NAMES, True)
    assert command.chosen((), None) == command.chosen((), True) == every
    assert command.chosen((), False) == (command.WORKS, (), True)
    assert command.chosen(("text",), None) == ((), ("text",), False)
    assert command.chosen(("growth",), None) == ((), NAMES, False)
    assert command.chosen(("exact",), None) == ((), (), True)
    works, curves, exact = command.chosen(("import", "corpus"), None)
    assert ([work.name for work in works], curves, exact) == (["import"], ("corpus",), False)


def test_names_are_unique_and_limits_name_sides() -> None:
    names = [work.name for work in command.WORKS]
    assert len(set(names)) == len(names)
    for work in command.WORKS:
        sides = {side.name for side in work.sides}
        for limit in work.limits:
            assert {limit.of, limit.peer or limit.of} <= sides


# Limits.


def _held(limit: Limit, ours: SideRun, peer: SideRun) -> bool | None:
    work = Work("w", "g", "a work", (Side(OURS), Side("peer")))
    return held_to(work, limit, {OURS: ours, "peer": peer}).met


def _ran(name: str, *calls: float) -> SideRun:
    return SideRun(name, samples=[Sample(call=call) for call in calls])


@pytest.mark.parametrize(
    ("limit", "met"),
    [
        (Limit("at most 2x", 2.0, peer="peer"), True),
        (Limit("at most 1x", 1.0, peer="peer"), False),
        (Limit("at least 0.5x", 0.5, form="speed", peer="peer"), True),
        (Limit("at least 1x", 1.0, form="speed", peer="peer"), False),
        (Limit("at most 3 s", 3.0, form="absolute"), True),
        (Limit("at most 2 s", 2.0, form="absolute"), False),
        (Limit("at most 1 s over", 1.0, form="over", peer="peer"), True),
        (Limit("memory", 1.0, measure="peak", peer="peer"), None),
    ],
)
def test_limits(limit: Limit, met: bool | None) -> None:
    assert _held(limit, _ran(OURS, 3, 2.5, 3), _ran("peer", 2, 1.5, 2)) is met


@pytest.mark.parametrize(("bound", "met"), [(40e6, True), (60e6, False)])
def test_a_rate_is_bytes_of_text_for_each_second(bound: float, met: bool) -> None:
    limit = Limit("at least so many bytes a second", bound, form="rate")
    work = Work("w", "g", "a work", (Side(OURS),))
    held = held_to(work, limit, {OURS: _ran(OURS, 4, 2, 1)}, 100_000_000)
    assert (held.reached, held.met) == (Spread(50e6, 25e6, 100e6), met)
    assert tables.target(held)[3] == "50 MB/s (25 - 100)"
    assert held_to(work, limit, {OURS: _ran(OURS, 2)}).met is None


_PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", sys.argv[1]])
child.wait()
"""
_HOLDER = "held = bytearray(b'x') * (150 << 20); import time; time.sleep(0.3)"


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="only Linux tells it")
def test_the_memory_of_a_family_is_that_of_all_at_one_time() -> None:
    words = [sys.executable, "-c", _PARENT, _HOLDER]
    with subprocess.Popen(words) as parent, watched(parent.pid) as seen:
        parent.wait()
    assert seen.most is not None
    assert 150 << 20 < seen.most < 400 << 20
    with watched(None) as nobody:
        pass
    assert nobody.most is None


def test_other_answers_meet_no_limit() -> None:
    wrong = _ran(OURS, 1)
    wrong.differs = "ids differ"
    assert _held(Limit("at most 2x", 2.0, peer="peer"), wrong, _ran("peer", 1)) is False


# Whose ids are right.


def test_ids_are_compared_with_those_of_the_engine(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On texts whose right ids are known: an error counts as other ids, the shortest is shown."""

    def encoder(given: sides.Given) -> sides.Modes:
        if given.kind == "pieces":
            raise sides.OtherKindError
        if given.kind == "ranks":
            raise ValueError("no such\nranks")
        yield "special", len
        yield "ordinary", broken

    def broken(text: str) -> list[int]:
        if "d" in text:
            raise KeyError("no d")
        return [*map(ord, text.replace("x", "y"))]

    def engine(given: sides.Given) -> sides.Modes:
        yield "special", lambda text: [0] * len(text.replace("bc", "b"))
        yield "ordinary", lambda text: [*map(ord, text)]

    asked, more = ["a", "abcabc", "bxb"], ["a", "abcabc", "bxb", "long dad"]
    kept = {
        "texts": {"special": asked, "ordinary": more},
        "ids": {"special": [[0], [0] * 4, [0] * 3], "ordinary": [[*map(ord, t)] for t in more]},
    }
    texts = tmp_path / "texts.json"
    texts.write_text(json.dumps(kept), "utf-8")
    monkeypatch.setattr(sides, "ENCODERS", {"peer": encoder})
    monkeypatch.setattr(sides, "_REFERENCE", {"json": engine})
    monkeypatch.setattr(sides, "MEMORY", -1)
    given = {"peer": "peer", "source": "", "preset": "", "folder": "", "texts": str(texts)}

    def child(place: Place, words: list[str], environ: object, *, patience: float) -> running.Said:
        run, _ = sides.tried(**dict(word.split("=", 1) for word in words[4:]))
        return running.Said({"answer": run()}, 0.0, None)

    monkeypatch.setattr(exact, "run_child", child)
    monkeypatch.setattr(Place, "real", lambda self, name: tmp_path / name)
    ran, refused, other = (
        exact._tried(place, "peer", exact.Known("x", kind, "x"), given["texts"], here=True)
        for kind in ("json", "ranks", "pieces")
    )
    assert (ran.state, ran.differing, ran.texts) == ("ran", 3, 3)
    assert ran.modes == [
        Asked("special", 3, 1, 0, "bc", [0], 2),
        Asked("ordinary", 4, 2, 1, "x", [120], [121]),
    ]
    assert (refused.state, refused.said, other.state) == ("refuses", "no such", "other kind")
    found = Exactness("2026-01-01", "abc", {"peer": "1.0"}, [ran, refused, other])
    assert tables.whose_ids(found, "json").splitlines()[2:] == ["| peer 1.0 | 3 of 3 |"]
    assert tables.whose_ids(found, "ranks").splitlines()[2:] == ["| peer 1.0 | refuses |"]
    assert tables.whose_ids(found, "pieces").splitlines()[2:] == []
    assert tables.told_apart(found).splitlines()[2:] == [
        "| peer | x (json) | special: 1 of 3 | `'bc'`: 2 ids, the engine has 1 |",
        "| peer | x (json) | ordinary: 2 of 4, 1 with an error | `'x'`: [121], the engine [120] |",
        "| peer | x (ranks) | refuses | `no such` |",
    ]


def test_an_encoder_whose_process_ends_is_told(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def child(place: Place, words: list[str], environ: object, *, patience: float) -> running.Said:
        raise running.FailedError("code -11")

    monkeypatch.setattr(exact, "run_child", child)
    monkeypatch.setattr(Place, "real", lambda self, name: ROOT / name)
    known = exact.Known("x", "json", "x")
    found = exact._tried(place, "kitoken", known, "texts.json", here=True)
    assert (found.state, found.said) == ("failed", "code -11")
    assert exact._tried(place, "kitoken", known, "texts.json", here=False).state == "absent"


# Runs of small works, in processes as they are.


def _loading(*sides: Side) -> Work:
    limit = Limit("at most 1000x", 1000.0, peer="tokenizers")
    return Work("tiny", "load", "load a tiny tokenizer", sides, (limit,), quick=2, compared="ids")


def _json(name: str) -> dict[str, str]:
    return {"source": str(TOKENIZERS / name / "huggingface" / "tokenizer.json")}


@pytest.mark.long
def test_answers_are_compared_before_anything_counts(place: Place) -> None:
    ours = Side(OURS, "loading.ours", (), _json("cl100k-tiny"))
    same = Side("tokenizers", "loading.tokenizers", (), _json("cl100k-tiny"))
    other = Side("tokenizers", "loading.tokenizers", (), _json("gpt2-tiny"))
    right, wrong = (run_work(_loading(ours, peer), place, {}) for peer in (same, other))
    assert [len(side.samples) for side in right.sides] == [2, 2]
    assert right.limits[0].met is True
    assert wrong.limits[0].met is False
    assert wrong.side(OURS).differs.startswith("ids differ from tokenizers's")


def test_who_is_absent_is_named(place: Place) -> None:
    work = Work(
        "nothing",
        "import",
        "import nothing",
        (
            Side(OURS, code="pass"),
            Side("ghost", code="import ghost", packages=("ghost",)),
            Side("broken", code="raise ValueError('it is broken')"),
        ),
        (Limit("at most 1x", 1.0, measure="process", peer="ghost"),),
        measure="process",
        quick=1,
    )
    run = Run("2026-01-01", "abc", True, {}, {"ghost": None})
    run.works.append(run_work(work, place, run.packages))
    shown, kept = page.markdown(run), json.loads(page.as_text(run))
    said = "absent: not installed (pip install ghost)"
    assert f"| ghost | - | - | {said} |" in shown
    assert "failed: ValueError: it is broken" in shown
    assert "ghost absent" in shown
    assert [side["said"] for side in kept["works"][0]["sides"]][1] == said
    assert kept["packages"] == {"ghost": None}
    assert kept["works"][0]["limits"][0]["met"] is None


def test_who_fails_among_others_is_named(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def run_child(place: Place, words: list[str], environ: dict[str, str]) -> running.Said:
        [given] = [word for word in words if word.startswith("sides=")]
        names = given.removeprefix("sides=").split(",")
        if "broken" in names:
            raise running.FailedError("it is broken")
        calls = {name: [1.0, 2.0] for name in names}
        return running.Said({"differing": {}, "calls": calls}, 0.0, None)

    monkeypatch.setattr(running, "run_child", run_child)
    sides = (Side(OURS), Side("broken"), Side("tiktoken"))
    found = run_work(Work("w", "g", "a work", sides, inside="a.b", quick=2), place, {})
    assert found.side("broken").said == "failed: it is broken"
    assert [len(found.side(name).samples) for name in (OURS, "broken", "tiktoken")] == [2, 0, 2]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    here = Place(tmp_path, str(tmp_path), quick=True)
    side = Side(OURS, "loading.ours", (), {"source": "{data}/none/tokenizer.json"})
    found = run_work(Work("w", "g", "a work", (side,)), here, {})
    assert found.sides[0].said == "absent: BPE_INTEROP_DATA has no none/tokenizer.json"
    with pytest.raises(AbsentDataError, match="is not set"):
        _ = Place(tmp_path, None, quick=True).data


def test_no_folder_is_named(place: Place) -> None:
    text = place.without_paths(f"no {place.folder}/out-1/x in {ROOT}, {sys.prefix}/lib")
    assert text == "no TEMPORARY/out-1/x in REPOSITORY, PYTHON/lib"


# The command.


@pytest.mark.long
def test_one_row_without_real_files(tmp_path: Path) -> None:
    environ = {key: value for key, value in os.environ.items() if key != "BPE_INTEROP_DATA"}
    kept = tmp_path / "run.json"
    words = ["-m", "benchmarks", "--quick", "--only", "import", "--json", str(kept)]
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, env=environ, capture_output=True, text=True, check=True
    )
    assert "| `import bpe_interop` |" in done.stdout
    run = from_json(json.loads(kept.read_text("utf-8")))
    [work] = run.works
    assert work.side(OURS).values("process")
    assert work.limits[0].met is not None
    assert str(ROOT) not in kept.read_text("utf-8")


def test_real_files_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BPE_INTEROP_DATA", raising=False)
    done = CliRunner().invoke(command.main, ["--quick", "--only", "load"])
    assert done.exit_code == 1
    assert "BPE_INTEROP_DATA is not set" in done.output
    done = CliRunner().invoke(command.main, ["--only", "nothing"])
    assert done.exit_code == 2
    assert "there is no work 'nothing'" in done.output
    done = CliRunner().invoke(command.main, ["--quick", "--json", "no such folder/run.json"])
    assert done.exit_code == 2


# The page.


@pytest.fixture
def run() -> Run:
    work = Work(
        "load",
        "load",
        "load a file",
        (Side(OURS), Side("tiktoken"), Side("kitoken")),
        (Limit("at most 0.45x", 0.45, peer="tiktoken"),),
        why="Python is slow.",
    )
    sides = {
        OURS: SideRun(OURS, samples=[Sample(0.2, 0.3, 0.3, 2**20), Sample(0.4, 0.5, 0.5, 2**20)]),
        "tiktoken": SideRun("tiktoken", samples=[Sample(0.1), Sample(0.2)]),
        "kitoken": SideRun("kitoken", "failed", said="failed: no | such file"),
    }
    found = Run("2026-01-01", "abc123", False, {"CPU": "a fast one"}, {"tiktoken": "1.0"})
    limits = [held_to(work, limit, sides) for limit in work.limits]
    found.works.append(
        WorkRun("load", "load", work.title, "call", 2, [*sides.values()], limits, why=work.why)
    )
    points = [Point(1000, 0.5, 2**20), Point(2000, 1.0, 2**21)]
    found.growth.append(Curve("vocabulary", "By size", "tokens", {"load": points}, {"load": 1.0}))
    found.corpora.append(
        {"name": "english", "bytes": 10, "documents": 1, "sha256": "ab", "made_of": "a novel"}
    )
    asked = [Asked("special", 9, 2, 0, "a|\n", [1, 2, 3], [1, 4])]
    tried = [Tried("kitoken", "gpt2", "json", "ran", "", 2, 9, asked)]
    found.exactness = Exactness("2026-01-02", "def456", {"kitoken": "1.0"}, tried)
    return found


def test_json_comes_back(run: Run) -> None:
    kept = to_json(run)
    assert from_json(json.loads(json.dumps(kept))) == run
    assert kept["works"][0]["sides"][0]["spreads"]["call"] == {
        "median": pytest.approx(0.3),
        "least": 0.2,
        "most": 0.4,
    }
    with pytest.raises(ValueError, match="format"):
        from_json({"format": 0})


def test_the_page_is_written_from_what_was_kept(run: Run, tmp_path: Path) -> None:
    kept, target = tmp_path / "kept.json", tmp_path / "performance.md"
    kept.write_text(page.as_text(run), "utf-8")
    done = CliRunner().invoke(command.main, ["--from", str(kept), "--write", str(target)])
    assert done.exit_code == 0, done.output
    text = target.read_text("utf-8")
    for line in (
        "| load a file | 300 ms | 150 ms (tiktoken) | 2.00x | at most 0.45x | **not met** |",
        "- load a file: 2.00x, where the target is at most 0.45x. Python is slow.",
        "| load a file | tiktoken 2.00x |  |",
        "| bpe_interop | 300 ms (200 - 400) | 400 ms (300 - 500) | 1 MiB | - |  |",
        "| kitoken | - | - | - | - | failed: no \\| such file |",
        "| load | 500 ms, 1 MiB | 1.00 s, 2 MiB | n^1.00 |",
        "| english | 10 | 1 | `ab` | a novel |",
        "| CPU | a fast one |",
        "| kitoken 1.0 | 2 of 9 |",
        "| kitoken | gpt2 (json) | special: 2 of 9 "
        "| `'a\\|\\n'`: [4], the engine [2, 3] (after 1) |",
    ):
        assert line in text.splitlines()
    assert "Commit abc123, " in text
    assert "Found on 2026-01-02, at commit def456." in text
    done = CliRunner().invoke(command.main, ["--from", str(kept), "--only", "load"])
    assert done.exit_code == 2
    assert "only exact is found anew" in done.output


def test_numbers_for_people() -> None:
    assert [tables.seconds(x) for x in (2e-5, 0.0213, 0.25, 1.2345, 120.4, 36_000, -0.002)] == [
        "20 µs",
        "21.3 ms",
        "250 ms",
        "1.23 s",
        "120 s",
        "10.0 h",
        "-2.0 ms",
    ]
    assert tables.spread(Spread(0.5, 0.0213, 1)) == "500 ms (21.3 ms - 1.00 s)"
    assert tables.spread(Spread(1, 0.5, 12), tables.times) == "1.00x (0.50 - 12.0)"
    assert tables.times(1234) == "1,234x"


# Texts.


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    names = ("war-and-peace", "donquixote", "pride_and_prejudice", "botchan", "taylorswift")
    for number, name in enumerate(names):
        (tmp_path / f"{name}.txt").write_text(f"\ufeffline {number} of a novel\n" * 3000, "utf-8")
    for name in ("xiyou", "wagahaiwa_nekodearu", "udhr/udhr_all"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.txt").write_text(f"第一回 {name}\n" * 50_000, "utf-8")
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "a.c").write_text("int main(void) { return 0; }\n" * 2000, "utf-8")
    return tmp_path


@pytest.mark.long
def test_corpora_are_the_same_every_time(texts: Path) -> None:
    first, again = (corpora(texts, Texts.QUICK) for _ in range(2))
    assert list(first) == ["english", "code", "scripts", "chat"]
    assert len(chats(first["chat"].text)) > 100
    assert first == again
    for corpus in first.values():
        assert 0.9 * 1e6 < corpus.bytes <= 1e6
        assert len(corpus.sha256) == 64
    for name in ("xiyou", "wagahaiwa_nekodearu", "udhr/udhr_all"):
        assert name in first["scripts"].text


def test_documents_are_whole_lines_and_all_of_the_text() -> None:
    lines, long = "".join(f"line {number:04}\n" for number in range(5000)), "x" * 50_000
    found = documents(lines + long)
    assert "".join(found) == lines + long
    assert {len(one) for one in found[:11]} == {4_010}
    assert max(map(len, found)) == 16_000
    assert [len(one) for one in documents("a\n" * 50, 10)] == [12] * 8 + [4]


def test_files_of_growth(tmp_path: Path) -> None:
    source = next((TOKENIZERS / "cl100k-tiny" / "tiktoken").glob("*.tiktoken"))
    count = len(source.read_bytes().splitlines())
    target = tmp_path / "grown.tiktoken"
    write_ranks(source, target, count + 100)
    lines = target.read_bytes().splitlines()
    assert lines[:count] == source.read_bytes().splitlines()
    assert len({line.split()[0] for line in lines}) == count + 100
    write_corpus(["a text", "another"], tmp_path / "corpus.txt", 100)
    kept = (tmp_path / "corpus.txt").read_text("utf-8").splitlines()
    assert kept[:3] == ["0 0: a text", "0 0: another", "1 7919: a text"]
