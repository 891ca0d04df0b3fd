"""The native kernel in its process: forks, interrupts, memory that is not there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bpe_interop.kernel import running

ROOT = Path(__file__).resolve().parent.parent
NATIVE = running().kernel == "native"
needs_library = pytest.mark.skipif(not NATIVE, reason=f"Python only: {running().why_not}")

MODEL = """
import os, signal, sys, threading, warnings
from dataclasses import replace
from bpe_interop.encode import Encoder
from bpe_interop.model import BPEModel, PairList, Vocab
from bpe_interop.steps import Pattern, Split
from bpe_interop.text import spellings
ids = {**{bytes([byte]): byte for byte in range(256)}, b"ab": 256}
split = Split(Pattern(spellings.GPT2, "oniguruma"), "isolated")
model = BPEModel(
    Vocab(ids), PairList(((b"a", b"b"),)), normalizer=(), pretokenizer=(split,), added=()
)
encoder = Encoder(model)
expected = encoder.encode("ab c")
assert encoder.encode("ab c") == expected == [256, 32, 99]
"""


def run(code: str, limit: int = 60) -> str:
    """What a program prints that has a small encoder."""
    done = subprocess.run(
        [sys.executable, "-c", MODEL + code],
        env={"PYTHONPATH": str(ROOT), "BPE_INTEROP_KERNEL": "native", "PATH": ""},
        capture_output=True,
        text=True,
        timeout=limit,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@needs_library
@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="there is no fork here")
def test_a_fork_while_threads_encode_leaves_no_lock_behind() -> None:
    """Each child encodes, and makes an encoder; a lock held for ever would end it by a signal."""
    code = """
warnings.simplefilter("ignore")
stop = False
def work():
    while not stop:
        encoder.encode("ab c")
threads = [threading.Thread(target=work) for _ in range(4)]
[thread.start() for thread in threads]
failed = 0
for _ in range(60):
    child = os.fork()
    if child == 0:
        signal.alarm(5)
        same = encoder.encode("ab c") == expected
        same = same and Encoder(replace(model)).encode("ab c") == expected
        os._exit(not same)
    failed += os.waitpid(child, 0)[1] != 0
    if failed:
        break
stop = True
[thread.join() for thread in threads]
print(failed)
"""
    assert run(code) == "0\n"
