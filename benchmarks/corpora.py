"""The texts: English, code, many scripts, chats; documents of about 4 kB. The same every time.

English is four novels and an encyclopedia's article, filled up with the docstrings of the
standard library; code is C, C++, Go, Python, HTML and JSON, filled up with the standard library's
modules. So both depend on the version of Python a little; their hashes say whether two runs had
the same. Chats are made up of lines of the repository's own texts.
"""

from __future__ import annotations

import hashlib
import random
import re
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import chain
from pathlib import Path

DOCUMENT = 4_000
"""Characters from which on a document ends at the next LF."""
LONGEST = 16_000
"""Characters after which it ends inside a line."""

ENGLISH = ("war-and-peace", "donquixote", "pride_and_prejudice", "botchan", "taylorswift")
CHATS = ("english", "code", "scripts", "numbers", "emoji", "apostrophes")
BEGIN = "<|im_start|>system\n"
"""What a chat begins with."""
SCRIPTS = ("xiyou.txt", "wagahaiwa_nekodearu.txt", "udhr/udhr_all.txt")

FIXTURES = Path(__file__).parents[1] / "fixtures" / "corpora"
_DOCSTRING = re.compile(r'^\s*[rR]?"""(.*?)"""', re.DOTALL | re.MULTILINE)


class Texts(Enum):
    """How large the corpora are, in bytes of UTF-8: English, code, many scripts, chats."""

    WHOLE = (10_000_000, 5_000_000, 5_000_000, 2_000_000)
    QUICK = (1_000_000, 1_000_000, 1_000_000, 1_000_000)


@dataclass(frozen=True)
class Corpus:
    """A text, and what it is made of."""

    name: str
    made_of: str
    text: str

    @property
    def bytes(self) -> int:
        """Its size in UTF-8."""
        return len(self.text.encode("utf-8"))

    @property
    def sha256(self) -> str:
        """The hash of its UTF-8."""
        return hashlib.sha256(self.text.encode("utf-8")).hexdigest()


def documents(text: str, size: int = DOCUMENT) -> list[str]:
    """The text in documents of whole lines of about ``size`` characters."""
    cuts, start = [], 0
    while start < len(text):
        end = text.find("\n", start + size, start + LONGEST) + 1
        end = end or start + LONGEST
        cuts.append(text[start:end])
        start = end
    return cuts


def corpora(folder: Path, size: Texts) -> dict[str, Corpus]:
    """The corpora, cut to their size.

    Args:
        folder: where the texts lie.
        size: how large.

    Raises:
        OSError: a text is missing.
    """
    english, code, scripts, chats = size.value
    stories = (_read(folder / f"{name}.txt") for name in ENGLISH)
    modules = (_read(file) for file in sorted((folder / "code").iterdir()))
    return {
        corpus.name: corpus
        for corpus in (
            Corpus(
                "english",
                ", ".join(ENGLISH) + "; docstrings of the standard library",
                _filled(chain(stories, _docstrings()), english),
            ),
            Corpus(
                "code",
                "C, C++, Go, Python, HTML, JSON; the standard library's modules",
                _filled(chain(modules, _modules()), code),
            ),
            Corpus(
                "scripts",
                ", ".join(SCRIPTS) + ", a share of each",
                _shared([_read(folder / name) for name in SCRIPTS], scripts),
            ),
            Corpus("chat", "lines of fixtures/corpora, as ChatML", _filled(_chats(), chats)),
        )
    }


def _read(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace").removeprefix("\ufeff")


def _modules() -> Iterator[str]:
    """The standard library's modules without its tests, in the order of their names."""
    root = Path(sysconfig.get_paths()["stdlib"])
    for file in sorted(root.rglob("*.py")):
        if not {"site-packages", "test", "tests"} & set(file.relative_to(root).parts):
            yield _read(file)


def _docstrings() -> Iterator[str]:
    root = Path(sysconfig.get_paths()["stdlib"])
    for file in sorted(root.rglob("*.py")):
        if "site-packages" not in file.relative_to(root).parts:
            yield from (f"{text.strip()}\n" for text in _DOCSTRING.findall(_read(file)))


def chats(text: str) -> list[str]:
    """The chats of a text of chats."""
    return [BEGIN + chat for chat in text.split(BEGIN)[1:]]


def _chats() -> Iterator[str]:
    """Chats without end, of two to twelve messages, in ChatML."""
    rng = random.Random(5)
    lines = {name: _read(FIXTURES / f"{name}.txt").splitlines(keepends=True) for name in CHATS}
    while True:
        yield f"{BEGIN}You are a helpful assistant.<|im_end|>\n"
        for turn in range(rng.randrange(2, 13)):
            some = lines[rng.choices(CHATS, (8, 4, 2, 1, 1, 1))[0]]
            first = rng.randrange(len(some))
            said = "".join(some[first : first + rng.choice((1, 1, 3, 8, 20))]).strip()
            yield f"<|im_start|>{('user', 'assistant')[turn % 2]}\n{said}<|im_end|>\n"


def _filled(texts: Iterable[str], size: int) -> str:
    """Texts one after another, up to a size in bytes."""
    taken: list[str] = []
    left = size
    for text in texts:
        data = text.encode("utf-8")[:left]
        taken.append(data.decode("utf-8", "ignore"))
        left -= len(data)
        if left <= 0:
            break
    return "".join(taken)


def _shared(texts: list[str], size: int) -> str:
    """The same share of each text, in documents taken evenly from all of it."""
    share = size / sum(len(text.encode("utf-8")) for text in texts)
    if share >= 1:
        return "".join(texts)
    taken: list[str] = []
    for text in texts:
        for at, document in enumerate(documents(text)):
            if int((at + 1) * share) > int(at * share):
                taken.append(document)
    return "".join(taken)
