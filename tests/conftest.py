"""What every test may ask for: the fixtures of the repository, and real files from outside it."""

from __future__ import annotations

import ctypes
import gc
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from command_line import Command, in_process
from hypothesis import HealthCheck, settings
from reports import few_texts as with_few_texts
from tokenizers.models import BPE

from bpe_interop.cli import progress
from bpe_interop.encode import Encoder, joined_rows
from bpe_interop.engines.tokenizers import TokenizersEngine
from fixtures import FIXTURES, ROOT, make_golden

OF_TESTS = tuple(str(ROOT / name / "") + os.sep for name in ("tests", "trust", "fixtures"))
CACHE = type(cache(len))

LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None
if LIBC is not None:
    # glibc takes larger and larger blocks from its heap, where one that stays keeps all before it
    # from going back: 100 MB after texts of a million letters. From 1 MB on, each is mapped alone.
    with suppress(AttributeError):  # musl has no mallopt
        LIBC.mallopt(-3, 1 << 20)  # M_MMAP_THRESHOLD

# A panic in a library in Rust loads the names for its stack and keeps them: 50 MB each library.
os.environ["RUST_BACKTRACE"] = "0"

# A shell script starts what it runs with ``&`` with SIGINT ignored, and children inherit that:
# the tests that interrupt a child would wait for it in vain. A handler is not inherited.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests that ask for real files, for ``-m data``."""
    for item in items:
        if "data" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.data)


def pytest_collection_finish() -> None:
    """Takes what was imported and collected out of the collections of garbage.

    These half a million objects stay; going through them again and again took a twentieth of the
    time of tests. And Python collects everything only when a quarter of what it went through
    last time is new: a quarter of them was 100 MB of garbage.
    """
    gc.collect()
    gc.freeze()
    gc.collect()


@pytest.fixture(autouse=True, scope="module")
def forgetful() -> Iterator[None]:
    """Empties the caches when a file of tests is done: those for a few values, and those of tests.

    A worker runs many files: four maps of characters of SentencePiece's take 104 MB, and a
    tokenizer that a test keeps has what its encoder remembers.
    """
    yield
    for module in [*sys.modules.values()]:
        ours = module.__name__.partition(".")[0] == "bpe_interop"
        if ours or str(getattr(module, "__file__", "")).startswith(OF_TESTS):
            for value in [*vars(module).values()]:
                # What is computed once for a process, as a table of Unicode, is not bounded.
                if isinstance(value, CACHE) and (not ours or value.cache_parameters()["maxsize"]):
                    value.cache_clear()
    gc.collect()
    if LIBC is not None:
        # Free pages between blocks that stay go back only when glibc is told so.
        with suppress(AttributeError):
            LIBC.malloc_trim(0)


class Data:
    """Real tokenizer files in the folder named by ``BPE_INTEROP_DATA``.

    ``data("gpt2/encoder.json")``, or ``data / "gpt2/encoder.json"``, is the path of a file or
    folder; where it is missing the test is skipped with one line that says how to get it, and
    fails instead when ``BPE_INTEROP_REQUIRE_DATA=1``.
    """

    def __init__(self, root: str | None, *, required: bool) -> None:
        self._root = Path(root).resolve() if root else None
        self._required = required

    @property
    def root(self) -> Path:
        """The folder itself."""
        return self("")

    def __call__(self, name: str) -> Path:
        if self._root is None:
            return self._miss("BPE_INTEROP_DATA is not set")
        path = self._root / name
        return path if path.exists() else self._miss(f"BPE_INTEROP_DATA has no {name or 'folder'}")

    def __truediv__(self, name: str) -> Path:
        return self(name)

    def _miss(self, what: str) -> Path:
        line = (
            f"{what}: real files are needed, `python -m fixtures.fetch FOLDER` gets the open ones"
        )
        if self._required:
            pytest.fail(line, pytrace=False)
        pytest.skip(line)


@pytest.fixture(autouse=True, scope="session")
def no_beats() -> None:
    """However slow a machine is, no line says how far a run is."""
    progress.BEAT = 1e6


@pytest.fixture(autouse=True, scope="session")
def engines_remember_little() -> Iterator[None]:
    """tokenizers (0.23) frees the words that a ``BPE`` remembers only when the thread ends.

    They are up to 10,000 of 400 bytes for each tokenizer that was ever made. Tests that make many
    ``BPE`` say ``cache_capacity=0``.
    """
    with pytest.MonkeyPatch.context() as patch:
        made = TokenizersEngine.__init__

        def smaller(self: TokenizersEngine, tokenizer: Any) -> None:
            made(self, tokenizer)
            if isinstance(tokenizer.model, BPE):
                tokenizer.model._resize_cache(64)

        patch.setattr(TokenizersEngine, "__init__", smaller)
        yield


@pytest.fixture
def few_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checks run a handful of texts: for tests that are not about what is compared."""
    with_few_texts(monkeypatch)


@pytest.fixture(scope="session")
def data() -> Data:
    """Real files: ``data("cl100k_base/cl100k_base.tiktoken")``."""
    required = os.environ.get("BPE_INTEROP_REQUIRE_DATA") == "1"
    return Data(os.environ.get("BPE_INTEROP_DATA"), required=required)


@pytest.fixture(scope="session", autouse=True)
def tiktoken_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Lets ``tiktoken.get_encoding`` read the real files without a network.

    tiktoken writes into its cache whatever it reads, local files too, so it is given a folder
    of links and never the real one.
    """
    source = Path(os.environ.get("BPE_INTEROP_DATA") or os.devnull, "tiktoken_cache").resolve()
    if not source.is_dir():
        return
    folder = tmp_path_factory.mktemp("tiktoken_cache")
    for file in source.iterdir():
        (folder / file.name).symlink_to(file)
    os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)


@pytest.fixture(scope="session")
def corpora() -> list[Path]:
    """The corpora of the repository. Read them as bytes: their line ends are meant."""
    return sorted((FIXTURES / "corpora").iterdir())


@pytest.fixture(scope="session")
def golden() -> Callable[[str], dict[str, Any]]:
    """``golden("gpt2-tiny/tiktoken")``: what the reference engine gave; see fixtures/README.md."""

    def read(name: str) -> dict[str, Any]:
        text = (FIXTURES / "golden" / f"{name}.json").read_text("utf-8")
        return make_golden.spelled_out(json.loads(text))

    return read


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Iterator[Command]:
    """``command("encode", SOURCE, stdin=b"...")`` runs ``bpe-interop`` in this process."""
    with in_process(monkeypatch) as call:
        yield call


@pytest.fixture
def misread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our encoder takes ``hello`` for ``bye``, however it is asked."""
    right = Encoder.encode

    def wrong(self: Encoder, text: str, *asked: Any) -> list[int]:
        return right(self, text.replace("hello", "bye"), *asked)

    def each(self: Encoder, texts: list[str], *asked: Any, **_: Any) -> list[list[int]]:
        return [wrong(self, text, *asked) for text in texts]

    def joined(self: Encoder, texts: list[str], *asked: Any, **_: Any) -> Any:
        return joined_rows(each(self, texts, *asked))

    for name, way in {"encode": wrong, "encode_each": each, "encode_joined": joined}.items():
        monkeypatch.setattr(Encoder, name, way)
