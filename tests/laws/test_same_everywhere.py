"""The same bytes and ids whatever surrounds the run: hash seeds, locales, places, threads."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import resource
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import bpe_interop
from fixtures import ROOT, TOKENIZERS

TEXTS = [f"Hello {n} world\u00e9 {'x' * (n % 7)}\n" for n in range(50)]

SURROUNDINGS: dict[str, dict[str, str]] = {
    "as it is": {},
    "another hash seed": {"PYTHONHASHSEED": "1"},
    "a third hash seed": {"PYTHONHASHSEED": "4294967295"},
    "the locale C": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "another time zone": {"TZ": "Pacific/Kiritimati"},
    "one core": {"RAYON_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "0"},
}

SCRIPT = """
import hashlib, os, pathlib, sys
if hasattr(os, "sched_setaffinity") and os.environ.get("RAYON_NUM_THREADS"):
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
import bpe_interop
from bpe_interop.fingerprint import fingerprint
root = pathlib.Path(sys.argv[1])
os.chdir(sys.argv[2])
for name, to in (("cl100k-tiny/tiktoken", "hf"), ("spm-tiny/sentencepiece", "hf"),
                 ("cl100k-tiny/huggingface", "tiktoken")):
    said = bpe_interop.Statement("none" if "spm" in name else None)
    bpe_interop.convert(root / name, "out", to, force=True, verify=False, said=said)
    for path in sorted(pathlib.Path("out").rglob("*")):
        print(name, path.name, hashlib.sha256(path.read_bytes()).hexdigest())
    print(sorted(fingerprint(bpe_interop.load(root / name).model).items()))
text = "one two three two one " * 30
made = bpe_interop.train(text, merges=3, pattern="gpt2")
made.save("out", format="hf", force=True)
print(hashlib.sha256(pathlib.Path("out/tokenizer.json").read_bytes()).hexdigest())
"""


@pytest.mark.long
def test_bytes_are_the_same_in_all_surroundings(tmp_path: Path) -> None:
    said = set()
    for number, (what, surrounding) in enumerate(SURROUNDINGS.items()):
        folder = tmp_path / f"{number} f\u00f6lder"
        folder.mkdir()
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(TOKENIZERS), str(folder)],
            env={**os.environ, "PYTHONPATH": str(ROOT), **surrounding},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (what, done.stderr)
        assert len(done.stdout.splitlines()) > 8
        said.add(done.stdout)
    assert len(said) == 1


@pytest.mark.parametrize("name", ["cl100k-tiny/tiktoken", "spm-tiny/sentencepiece"])
def test_sixteen_threads_share_a_tokenizer(name: str) -> None:
    tokenizer = bpe_interop.load(TOKENIZERS / name)
    alone = [tokenizer.encode(text) for text in TEXTS]

    def encode(worker: int) -> bool:
        order = range(worker, worker + 200)
        return all(tokenizer.encode(TEXTS[n % 50]) == alone[n % 50] for n in order)

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(encode, range(16)))


def test_many_different_texts_take_bounded_memory() -> None:
    tokenizer = bpe_interop.load(TOKENIZERS / "cl100k-tiny" / "tiktoken")

    def encode(start: int) -> None:
        for n in range(start, start + 5_000):
            tokenizer.encode(hashlib.sha256(str(n).encode()).hexdigest())

    encode(0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(encode, range(5_000, 25_000, 5_000)))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 64 * 1024, f"{grown} KiB"


def encoded(tokenizer: bpe_interop.Tokenizer) -> list[list[int]]:
    return [tokenizer.encode(text) for text in TEXTS]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_child_processes_encode_alike(method: str) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    tokenizer = bpe_interop.load(TOKENIZERS / "cl100k-tiny" / "tiktoken")
    alone = encoded(tokenizer)
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(encoded, [tokenizer] * 3) == [alone] * 3
