"""Where a run works: a folder of its own, and in it what several works start from, made once.

Nothing is ever written into the folder of real files. tiktoken writes whatever it reads into its
cache, so that is a folder of links.
"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from .corpora import Corpus, Texts, corpora, documents
from .sides.growing import write_corpus, write_of_pieces

ROOT = Path(__file__).resolve().parent.parent
VARIABLE = "BPE_INTEROP_DATA"
QUICK = 10_000_000
"""Bytes of a large text, with ``--quick``."""


class AbsentDataError(Exception):
    """A file, or the folder of them, is not there."""


class Place:
    """The folder of a run, and the names that settings of sides may hold."""

    def __init__(self, folder: Path, data: str | None, *, quick: bool) -> None:
        self.folder = folder
        self.quick = quick
        self._data = Path(data).resolve() if data else None
        self._numbers = itertools.count()
        self._texts: dict[str, Corpus] | None = None
        self._makers: Mapping[str, Callable[[Path], None]] = {
            "o200k-json": self._o200k_json,
            "o200k-transformers": self._o200k_transformers,
            "llama-2-model": self._llama_model,
            "large-1-gb": partial(self._large, size=1_000_000_000),
            "large-10-gb": partial(self._large, size=10_000_000_000),
            "gemma-size": self._gemma_size,
        }

    @property
    def data(self) -> Path:
        """The folder of real files.

        Raises:
            AbsentDataError: nobody said where it is.
        """
        if self._data is None:
            raise AbsentDataError(f"{VARIABLE} is not set")
        return self._data

    def real(self, name: str) -> Path:
        """A real file or folder.

        Raises:
            AbsentDataError: it is not there; the message names it.
        """
        path = self.data / name
        if not path.exists():
            raise AbsentDataError(f"{VARIABLE} has no {name}")
        return path

    def corpora(self) -> dict[str, Corpus]:
        """The texts, by name, each written to ``{made}/NAME.txt``."""
        if self._texts is None:
            self._texts = corpora(self.real("corpora"), Texts.QUICK if self.quick else Texts.WHOLE)
            for name, corpus in self._texts.items():
                (self.folder / f"{name}.txt").write_bytes(corpus.text.encode("utf-8"))
        return self._texts

    def used(self) -> list[Corpus]:
        """The texts that somebody asked for."""
        return list((self._texts or {}).values())

    def settle(self, settings: Mapping[str, str]) -> dict[str, str]:
        """Settings with their names replaced by paths; what they name is made.

        Raises:
            AbsentDataError: a real file is not there.
        """
        return {key: self._settled(value) for key, value in settings.items()}

    def _settled(self, value: str) -> str:
        if value.startswith("{data}/"):
            return str(self.real(value.removeprefix("{data}/")))
        if value.startswith("{made}/"):
            return str(self._made(value.removeprefix("{made}/")))
        if value == "{out}":
            out = self.folder / f"out-{next(self._numbers)}"
            out.mkdir()
            return str(out)
        return value

    def _made(self, name: str) -> Path:
        path = self.folder / name
        if name.endswith(".txt"):
            self.corpora()
            return path
        folder, _, _ = name.partition("/")
        if not (self.folder / folder).exists():
            self._makers[folder](self.folder / folder)
        return path

    def swept(self, settings: Mapping[str, str]) -> None:
        """Removes what a sample wrote."""
        out = settings.get("out")
        if out is not None:
            shutil.rmtree(out, ignore_errors=True)

    def _o200k_json(self, path: Path) -> None:
        source = self.real("o200k_base/o200k_base.tiktoken")
        words = ["convert", str(source), str(path), "--to", "hf", "--preset", "o200k_base"]
        self._make(path, ["-m", "bpe_interop", *words, "--no-verify"])

    def _o200k_transformers(self, path: Path) -> None:
        source = self.real("o200k_base/o200k_base.tiktoken")
        path.mkdir()
        given = [f"source={source}", f"out={path}", "preset=o200k_base"]
        words = ["-m", "benchmarks.child", "time", "converting.tiktoken_converter", *given]
        self._make(path, words)

    def _make(self, path: Path, words: list[str]) -> None:
        """Runs Python with arguments, which writes to a path.

        Raises:
            AbsentDataError: it fails.
        """
        done = subprocess.run(
            [sys.executable, *words],
            check=False,
            capture_output=True,
            cwd=ROOT,
            env=self.environ({}),
        )
        if done.returncode:
            shutil.rmtree(path, ignore_errors=True)
            raise AbsentDataError(f"{path.name} could not be made")

    def _llama_model(self, path: Path) -> None:
        source = self.real("llama-2/tokenizer.model")
        path.mkdir()
        shutil.copy(source, path)

    def _large(self, path: Path, *, size: int) -> None:
        """The English corpus again and again, with other numbers, in a file."""
        path.mkdir()
        texts = documents(self.corpora()["english"].text)
        write_corpus(texts, path / "text", QUICK if self.quick else size)

    def _gemma_size(self, path: Path) -> None:
        path.mkdir()
        source = self.real("o200k_base/o200k_base.tiktoken")
        write_of_pieces(source, path / "tokenizer.json", 262_144)

    def environ(self, given: Mapping[str, str]) -> dict[str, str]:
        """The environment of a child: this library, byte code, no network, tiktoken's cache."""
        environ = {**os.environ, **given, "HF_HUB_OFFLINE": "1"}
        environ.pop("PYTHONDONTWRITEBYTECODE", None)
        before = environ.get("PYTHONPATH")
        environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *([before] if before else [])])
        cache = self.folder / "tiktoken_cache"
        if not cache.exists():
            cache.mkdir()
            known = self._data / "tiktoken_cache" if self._data else None
            for file in sorted(known.iterdir()) if known and known.is_dir() else ():
                (cache / file.name).symlink_to(file)
        environ["TIKTOKEN_CACHE_DIR"] = str(cache)
        return environ

    def without_paths(self, text: str) -> str:
        """A text in which no folder of this machine is named."""
        known = {
            str(self.folder): "TEMPORARY",
            str(ROOT): "REPOSITORY",
            sys.prefix: "PYTHON",
            sys.base_prefix: "PYTHON",
            str(Path.home()): "HOME",
            tempfile.gettempdir(): "TEMPORARY",
        }
        if self._data is not None:
            known[str(self._data)] = "DATA"
        for path in sorted(known, key=len, reverse=True):
            if len(path) > 1:
                text = text.replace(path, known[path])
        return text


@contextmanager
def place(*, quick: bool) -> Iterator[Place]:
    """A place to work in, removed at the end."""
    with tempfile.TemporaryDirectory(prefix="benchmarks-") as folder:
        yield Place(Path(folder), os.environ.get(VARIABLE), quick=quick)
