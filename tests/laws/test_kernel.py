"""The native kernel beside Python: the same answers, the same errors, nothing that is half done.

Without the library only what Python does is tested: it is not built where there is no ``cargo``.
"""

from __future__ import annotations

import json
import pickle
import random
import subprocess
import sys
from base64 import b64encode
from collections.abc import Mapping
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from conftest import Data

from bpe_interop.errors import EngineError, FormatError
from bpe_interop.formats import by_name
from bpe_interop.formats.tiktoken.ranks import read_ranks
from bpe_interop.kernel import files, library, running, set_aside
from bpe_interop.kernel.canonical import (
    Splits,
    form_of_list,
    form_of_ranks,
    listed_as_ranked,
    ranked_as_listed,
)
from bpe_interop.kernel.files import take_pieces
from bpe_interop.kernel.tables import Numbers, Pairs
from bpe_interop.merging.canonical import canonical, canonical_of
from bpe_interop.model import PairList, RankTable
from bpe_interop.text.bytechars import to_chars
from bpe_interop.theory import equality
from bpe_interop.theory.equality import System
from fixtures import ROOT, TOKENIZERS
from trust.kernel.comparing import Case, outcome, seen
from trust.kernel.files import rank_file
from trust.kernel.merges import merge_system
from trust.kernel.works import WORKS, compare

NATIVE = running().kernel == "native"
needs_library = pytest.mark.skipif(not NATIVE, reason=f"Python only: {running().why_not}")


def test_unsafe_is_in_two_modules_only() -> None:
    """And every other module has the compiler see to it."""
    for path in sorted((ROOT / "native" / "src").glob("*.rs")):
        text = path.read_text("utf-8")
        if path.stem not in ("interface", "lib", "processor"):
            assert "#![forbid(unsafe_code)]" in text
        assert ("unsafe " in text) == (path.stem in ("interface", "processor"))


def test_no_other_room_asks_for_the_library() -> None:
    for path in (ROOT / "bpe_interop").rglob("*.py"):
        if path.parent.name != "kernel":
            text = path.read_text("utf-8")
            assert "kernel.library" not in text
            assert "kernel.built" not in text


def run(kernel: str, *code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "\n".join(code)],
        env={"PYTHONPATH": str(ROOT), "BPE_INTEROP_KERNEL": kernel, "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_kernel_can_be_chosen() -> None:
    code = "from bpe_interop.kernel import running; print(running())"
    done = run("python", code)
    assert done.stdout == "python (not native: BPE_INTEROP_KERNEL=python)\n"
    if NATIVE:
        assert run("native", code).stdout.startswith("native (cargo ")


def test_a_kernel_that_is_not_there_is_an_error() -> None:
    done = run(
        "native",
        "from pathlib import Path",
        "from bpe_interop.kernel import library",
        "library._FOLDER = Path('nowhere')",
        "library.running()",
    )
    assert "EngineMissingError: BPE_INTEROP_KERNEL=native: the native kernel" in done.stderr
    assert "it was not built" in done.stderr


def test_a_library_of_another_interface_is_not_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "_INTERFACE", 0)
    path = library._FOLDER / f"kernel.{library._SUFFIX}"
    if NATIVE:
        with pytest.raises(OSError, match="built from other sources"):
            library.Library(path)
    with pytest.raises(OSError, match="nothing"):
        library.Library(tmp_path / "nothing.so")


@needs_library
def test_the_library_is_built_from_these_sources() -> None:
    """Else the other tests are about another kernel: install the package again."""
    script = "import runpy, setuptools; setuptools.setup = lambda **_: None; "
    script += "print(runpy.run_path('setup.py')['sources_hash']())"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    found = library.library()
    assert found is not None
    room = bytearray(64)
    assert library.answer(found.sources(library.address(room), 64)) == 0
    assert room.decode() == done.stdout.strip()


@needs_library
def test_a_panic_and_a_wrong_number_are_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    found = library.library()
    assert found is not None
    monkeypatch.delenv(library.VARIABLE, raising=False)
    assert library.answer(found.panics()) is None
    assert library.answer(found.table_find(10**9, b"a", 1)) is None
    monkeypatch.setenv(library.VARIABLE, "native")
    with pytest.raises(EngineError, match="defect of its own"):
        library.answer(found.panics())


@needs_library
def test_rank_files_are_read_the_same() -> None:
    """What the kernel reads, Python reads the same; what Python refuses, the kernel never reads."""
    rng, seen = random.Random(14), {True: 0, False: 0}
    for _ in range(4000):
        data = rank_file(rng)
        found = files.read_ranks(data)
        with set_aside():
            try:
                expected = dict(read_ranks(data, "x"))
            except FormatError:
                expected = {}
        seen[found is not None] += 1
        if found is not None:
            assert [*found.items()] == [*expected.items()]
        elif expected:
            assert b"" in expected
    assert min(seen.values()) > 500


@needs_library
def test_numbers_are_a_mapping_before_and_after_they_are_a_dictionary() -> None:
    def made() -> Numbers:
        found = files.read_ranks(b"YQ== 0\nYmM= 7\n")
        assert found is not None
        return found

    expected = {b"a": 0, b"bc": 7}
    for whole in (False, True):
        found = made()
        other: Mapping[Any, int] = found
        assert (other.get("a"), other.get(0)) == (None, None)
        if whole:
            assert found.whole() == expected
        assert len(found) == 2
        assert found[b"bc"] == 7
        assert b"a" in found
        assert b"b" not in found
        assert "a" not in other
        assert found.get(b"b") is None
        assert found.get(b"b", 5) == 5
        with pytest.raises(KeyError):
            found[b""]
    assert [*made()] == [*expected]
    assert [*made().values()] == [0, 7]
    assert made() == expected == made()
    assert {**made()} == expected
    assert pickle.loads(pickle.dumps(made())) == expected
    assert repr(made()) == repr(expected)


@needs_library
def test_canonical_forms_are_the_same() -> None:
    rng, native, disordered, unreachable = random.Random(16), 0, 0, 0
    for _ in range(3000):
        rule, ids, alphabet = merge_system(rng)
        known = rng.random() < 0.3
        if not ids:
            continue
        found = (
            form_of_ranks(rule.ranks, ids, alphabet, known=known)
            if isinstance(rule, RankTable)
            else form_of_list(rule.pairs, ids, alphabet, known=known)
        )
        if found is None:
            continue
        native += 1
        with set_aside():
            expected = canonical_of(rule, ids, alphabet, ids if known else None)
        assert [*found.splits.items()] == [*expected.splits.items()]
        assert [*found.priority.items()] == [*expected.priority.items()]
        assert found.unreachable == expected.unreachable
        assert found.disordered == expected.disordered
        disordered += bool(found.disordered)
        unreachable += bool(found.unreachable)
    assert native > 1500
    assert min(disordered, unreachable) > 150


@needs_library
def test_forms_that_only_runs_tell_are_left_to_python() -> None:
    ids = {b"a": 0, b"b": 1, b"ab": 2, b"ba": 3}
    assert form_of_ranks({b"ab": 5, b"ba": 5}, ids, "byte", known=False) is None
    assert form_of_ranks({b"abb": 5}, ids, "byte", known=False) is None
    assert form_of_ranks({b"ab": 5}, {**ids, b"": 9}, "byte", known=False) is None
    assert form_of_ranks({b"a\xff": 5}, {**ids, b"a\xff": 9}, "char", known=False) is None
    assert form_of_list([(b"b", b"b")], ids, "byte", known=False) is None
    long = {b"a": 0, b"a" * 5000: 1}
    assert form_of_ranks(long, long, "byte", known=False) is None


def ranks_and_list(rng: random.Random) -> tuple[Numbers, Numbers, Pairs] | None:
    """Ranks and a list in the kernel, often of the same merges; None where a file is irregular."""
    rule, ids, alphabet = merge_system(rng)
    with set_aside():
        form = canonical_of(rule, ids, alphabet)
    pairs = [*form.splits.values()]
    if pairs and rng.random() < 0.3:
        pairs.insert(rng.randrange(len(pairs)), rng.choice(pairs))
    if len(pairs) > 1 and rng.random() < 0.2:
        del pairs[rng.randrange(len(pairs))]
    if isinstance(rule, PairList) and rng.random() < 0.5:
        pairs = [*rule.pairs]
    tokens = {token: number for number, token in enumerate({**dict.fromkeys(ids), **form.splits})}
    ranked = [b64encode(token) + b" %d" % at for token, at in tokens.items() if rng.random() < 0.98]
    vocab = {to_chars(token): number for token, number in tokens.items()}
    merges = [[*map(to_chars, pair)] for pair in pairs]
    document = {"model": {"vocab": vocab, "merges": merges}}
    ranks = files.read_ranks(b"\n".join(ranked))
    taken = files.take_vocabulary(json.dumps(document).encode(), "byte")
    return None if ranks is None or taken is None else (ranks, *taken[:2])


@needs_library
def test_lists_in_the_order_of_ranks_are_found_the_same() -> None:
    rng, seen = random.Random(4), {True: 0, False: 0}
    for _ in range(3000):
        made = ranks_and_list(rng)
        if made is None:
            continue
        ranks, ids, pairs = made
        form = form_of_ranks(ranks, ranks, "byte", known=False)
        assert form is not None
        found = listed_as_ranked(form.splits, ranks, pairs)
        with set_aside():
            one = System(RankTable({**ranks}), {**ranks})
            other = System(PairList(pairs.whole()), {**ids})
            expected = equality._listed_as_ranked(one, other)
            whole = canonical_of(PairList(pairs.whole()), {**ids})
        assert found is not None
        assert bool(found) == (expected is not None)
        seen[bool(found)] += 1
        if found:
            assert [*found.splits.items()] == [*whole.splits.items()]
            assert [*found.priority.items()] == [*whole.priority.items()]
            assert found.disordered == whole.disordered
            assert sorted(found.unreachable) == sorted(whole.unreachable)
    assert min(seen.values()) > 200


@needs_library
def test_ranks_in_the_order_of_a_list_are_found_the_same() -> None:
    rng, seen = random.Random(13), {True: 0, False: 0}
    for _ in range(2000):
        made = ranks_and_list(rng)
        if made is None:
            continue
        ranks, ids, pairs = made
        form = form_of_list(pairs, ids, "byte", known=False)
        if form is None:
            continue
        found = ranked_as_listed(form.splits, ranks)
        with set_aside():
            one = System(RankTable({**ranks}), {**ranks})
            other = System(PairList(pairs.whole()), {**ids})
            expected = equality._ranked_as_listed(one, other)
        assert found is (expected is not None)
        seen[found] += 1
    assert min(seen.values()) > 100


@pytest.mark.long
@needs_library
@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("rank files", 25),
        ("tokenizer.json", 14),
        ("pairs of files", 10),
        ("pieces of models", 9),
        ("canonical forms", 500),
        ("entries compared", 500),
        ("cores compared", 60),
        ("models compared", 12),
        ("fingerprints", 120),
        ("files written", 10),
        ("merges learned", 100),
    ],
)
def test_the_kernel_answers_as_python_does(name: str, count: int) -> None:
    """The short run of ``python -m trust kernel``."""
    found = compare(name, count, seed=14)
    assert found.different == []
    assert found.cases >= count
    assert found.native > found.cases // 20
    assert found.answered >= found.native
    assert (found.damaged > found.cases // 2) is name.endswith(("files", ".json", "models"))


@needs_library
@pytest.mark.parametrize("name", ["llama-2", "mistral-v1"])
def test_real_pieces_are_read_as_by_python(name: str, data: Data) -> None:
    """To the last score and rank, and in the same order."""
    files = {"tokenizer.model": data(f"{name}/tokenizer.model").read_bytes()}
    ours = by_name("sentencepiece").load(files)
    assert isinstance(ours.vocab.ids, Numbers)
    with set_aside():
        expected = by_name("sentencepiece").load(files)
    assert seen(ours) == seen(expected)
    assert [*map(str, ours.vocab.scores.values())] == [*map(str, expected.vocab.scores.values())]


@needs_library
def test_equal_scores_have_a_canonical_form_in_the_kernel(data: Data) -> None:
    """Llama-2's runs of spaces: 14 tokens of one score, of which each is built of two others."""
    files = {"tokenizer.model": data("llama-2/tokenizer.model").read_bytes()}
    ours = canonical(by_name("sentencepiece").load(files))
    with set_aside():
        expected = canonical(by_name("sentencepiece").load(files))
    assert isinstance(ours.splits, Splits)
    assert ours.splits.found.tied
    assert seen(ours) == seen(expected)
    tied = {b"a": 0, b"b": 1, b"ab": 2, b"ba": 2}
    assert form_of_ranks(tied, tied, "byte", known=False) is None
    assert form_of_ranks(tied, tied, "char", known=False) is not None


@needs_library
def test_pieces_that_protobuf_writes_otherwise_are_left_to_python() -> None:
    """The same message in other bytes: a size that is longer than it must be, specs first."""
    folder = TOKENIZERS / "spm-tiny" / "sentencepiece"
    data = (folder / "tokenizer.model").read_bytes()
    taken = take_pieces(data)
    assert taken is not None
    pieces = data[: len(data) - len(taken.rest)]
    longer = bytes((data[0], data[1] | 0x80, 0)) + data[2:]
    for other in (longer, taken.rest + pieces, taken.rest, data[:-1]):
        read = partial(by_name("sentencepiece").load, {"x.model": other})
        with set_aside():
            expected = outcome(read)
        ours = outcome(read)
        assert ours == expected
        assert not ours.native


@needs_library
def test_differences_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(WORKS, "rank files", lambda rng: [Case(lambda: library.library() is None)])
    assert compare("rank files", 3, seed=1).different == [f"rank files:1:{n}" for n in range(3)]


@pytest.mark.parametrize("affix", [False, 0, [], {}])
def test_an_affix_that_is_no_text_is_refused_by_both(affix: Any) -> None:
    vocabulary = {to_chars(bytes([byte])): byte for byte in range(256)}
    model = {"type": "BPE", "vocab": vocabulary, "merges": [], "end_of_word_suffix": affix}
    step = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    file = {"model": model, "pre_tokenizer": step, "decoder": step, "added_tokens": []}
    for without in (nullcontext, set_aside):
        with without(), pytest.raises(FormatError) as refused:
            by_name("huggingface").load({"tokenizer.json": json.dumps(file).encode()})
        assert refused.value.where == "tokenizer.json: $.model.end_of_word_suffix"
