"""The native kernel in its process: forks, interrupts, memory that is not there."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from bpe_interop.kernel import running
from fixtures import ROOT

NATIVE = running().kernel == "native"
needs_library = pytest.mark.skipif(not NATIVE, reason=f"Python only: {running().why_not}")

MODEL = """
import os, signal, sys, threading, time, warnings
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
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
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


INTERRUPTED = """
from bpe_interop.kernel import library as loaded
library = loaded.library()
text = "ab c " * 1_000_000
encoder.encode_each([text] * 2, threads=2)
signal.signal(signal.SIGALRM, signal.default_int_handler)
interrupted, before = 0, library.objects_held()
for work in (encoder.encode_array, lambda text: encoder.encode_each([text] * 2, threads=2)):
    for _ in range(3):
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.01)
            work(text)
            # On a busy machine it comes after the call; in a __del__ Python ignores it.
            for _ in range(50):
                time.sleep(0.1)
        except KeyboardInterrupt:
            interrupted += 1
print(interrupted > 3, library.objects_held() - before)
assert encoder.encode("ab c") == expected
"""


@needs_library
@pytest.mark.skipif(sys.platform == "win32", reason="there are no timers that interrupt")
def test_an_interrupt_as_a_call_ends_leaves_no_object_behind() -> None:
    assert run(INTERRUPTED) == "True 0\n"


@needs_library
def test_room_is_let_go_of_when_the_constants_of_its_module_are_gone() -> None:
    """As they are when Python ends."""
    code = """
from bpe_interop.kernel import encoder as encoders
from bpe_interop.kernel.library import library
room = encoders._Room(library(), 0)
failed = []
sys.unraisablehook = failed.append
encoders._ROOM = None
del room
print(failed)
"""
    assert run(code) == "[]\n"


@needs_library
def test_what_the_kernel_holds_is_let_go_of_and_is_not_copied() -> None:
    code = """
import copy, pickle
from bpe_interop.kernel import library as loaded
library = loaded.library()
before = library.objects_held()
for _ in range(3):
    other = Encoder(replace(model))
    assert len(other.encode("ab c " * 5000)) == 20000
    held = other._plan.part
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        try:
            copied(held)
        except TypeError as error:
            assert "not copied" in str(error)
        else:
            print("copied")
    del other, held
print(library.objects_held() - before)
"""
    assert run(code) == "0\n"


LIMITED = """
import resource
def limit(more):
    pages = int(open("/proc/self/statm").read().split()[0])
    size = resource.getpagesize() * pages + more * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (size, resource.RLIM_INFINITY))
native = encoder._plan.part
steps = (split, Split("b", "removed"))
again = Encoder(replace(model, pretokenizer=steps))._plan.part
bare = Encoder(replace(model, pretokenizer=()))._plan.part
for each in (native, again, bare):
    each.encode_each(["ab c"] * 5, 1)
"""


@needs_library
@pytest.mark.skipif(sys.platform != "linux", reason="address space is limited on Linux")
@pytest.mark.parametrize(
    ("text", "work"),
    [
        ('"ab c " * 2**21', "native.encode_array(text)"),
        ('"ab c " * 2**21', "native.encode_each([text], 1)[0]"),
        ('"a" * 2**22', "native.encode_array(text)"),
        ('"ab c " * 2**21', "again.encode_array(text)"),
        ('"ab" * 2**21', "bare.encode_array(text)"),
    ],
)
def test_where_memory_ends_the_kernel_leaves_the_text_to_python(text: str, work: str) -> None:
    """With 20 MiB more, none of these texts can be encoded; the process lives, and goes on."""
    code = f"{LIMITED}text = {text}\nlimit(20)\nprint({work})\nlimit(2000)\n"
    code += f"print(len({work}) > 2**20)\nassert native.encode('ab c') == expected\n"
    assert run(code) == "None\nTrue\n"


@needs_library
@pytest.mark.skipif(sys.platform != "linux", reason="address space is limited on Linux")
def test_where_memory_ends_nothing_of_a_text_is_counted() -> None:
    """Wherever that is: a process for each limit, which counts the texts that have room."""
    code = f"""
from bpe_interop.kernel.learner import counter_of
from bpe_interop.train.pretokens import native_splitter
{LIMITED}
def text(at):
    letters = (chr(0x4e00 + number % 20000) + chr(0x4e00 + number // 20000)
               for number in range(at * 25000, at * 25000 + 25000))
    return " ".join(letters).encode()
texts = [text(at) for at in range(4)]
for more in range(1, 31, 2):
    child = os.fork()
    if child == 0:
        splitter = native_splitter(model.pretokenizer)
        whole = counter_of(splitter, [b""])
        limit(more)
        done = []
        for text in texts:
            part = counter_of(splitter, [text])
            done.append(part is not None and whole.absorb(part))
            part = None
        limit(2000)
        wanted = sum(done) * 25000
        os._exit(2 if sum(whole.counts().values()) != wanted else 0 if all(done) else 1)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), end=" ")
"""
    ended = run(code).split()
    assert {*ended} == {"0", "1"}
    assert ended == sorted(ended, reverse=True)


@needs_library
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from Linux")
def test_a_long_pretoken_leaves_no_room_behind() -> None:
    code = """
import gc, resource
def used():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize() >> 20
before = used()
text = "ab" * 2**21
assert len(encoder.encode_array(text)) == 2**21
del text
gc.collect()
print(used() - before < 30, used() - before)
"""
    assert run(code).startswith("True ")


@needs_library
@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted on Linux")
def test_no_more_threads_than_there_are_processors() -> None:
    """Also where their number is none, or below."""
    code = """
texts = ["ab c " * 40] * 3000
held, asked = encoder._plan.part, []
library = held.library
whole = library.encoder_encode_each
library.encoder_encode_each = lambda *given: asked.append(given[-1]) or whole(*given)
for threads in (-1, 0, 1, 10**6):
    assert encoder.encode_each(texts, threads=threads) == [encoder.encode(texts[0])] * 3000
print(asked[:3] == [1, 1, 1], 1 <= asked[3] <= os.cpu_count())
"""
    assert run(code) == "True True\n"


@needs_library
def test_a_text_that_fails_in_a_batch_fails_alone() -> None:
    """And batches that go into several calls are whole."""
    code = """
from bpe_interop.errors import EncodeError
from bpe_interop.kernel import encoder as encoders
some = {content: number for content, number in ids.items() if content != b"z"}
encoder = Encoder(replace(model, vocab=Vocab(some)))
texts = ["ab c", "", "z", "c" * 70, "azb", "ab"]
wanted = [None if "z" in text else encoder.encode(text) for text in texts]
for encoders._BATCH in (1 << 26, 1, 4, 5, 75):
    for threads in (1, 3):
        given = encoder._plan.part.encode_each(texts * 2, threads)
        assert [None if each is None else each.tolist() for each in given] == wanted * 2
try:
    encoder.encode_each(texts)
except EncodeError as error:
    print("error")
print(encoder.encode_each([texts[0], texts[1], texts[3]]) == [wanted[0], [], wanted[3]])
"""
    assert run(code) == "error\nTrue\n"
