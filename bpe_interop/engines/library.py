"""Somebody else's library: its import, its version, and its failures as errors of ours."""

from __future__ import annotations

import importlib
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import ClassVar, Literal, Protocol, TypeAlias

from ..errors import BpeInteropError, EngineError, EngineMissingError, by_extra
from ..formats import Files
from ..text.visible import short_text
from .rows import engine_row

Special: TypeAlias = Literal["text", "parse"]

SHOWN = 60
"""So many characters of a text are shown at most where a library fails on it."""

LONG = 1000
"""Mean characters of a text from which a library's batch call pays (measured: tiktoken and
tokenizers start threads for each call, which costs more than a short text)."""


_EXTRAS = {
    "gigatoken": "gigatoken",
    "huggingface_hub": "hub",
    "mistral-common": "mistral",
    "transformers": "transformers",
    "xllamacpp": "llamacpp",
}
"""Distributions that are not always needed, and the extra of ours that brings each."""


def to_install(distribution: str) -> str:
    """The command that installs a distribution, by our extra where there is one."""
    extra = _EXTRAS.get(distribution)
    return f"pip install {distribution}" if extra is None else by_extra(extra)


def library(name: str, distribution: str = "", without: str = "not checked") -> ModuleType:
    """Imports a library, or a module of a distribution; ``without`` says what is not done else.

    Raises:
        EngineMissingError: it is not installed, or cannot be imported, or a module of ours stands
            in for it (``bpe_interop.tiktoken``).
    """
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        named = distribution or name
        if installed(named) is None or error.name == name:
            what = f"{without}: {named} is not installed"
        else:
            what = f"{without}: {named} cannot be imported ({error})"
        raise EngineMissingError(what, fix=to_install(named)) from error
    own = getattr(module, "__name__", name)
    if own.startswith("bpe_interop."):
        raise EngineMissingError(
            f"{without}: {own} stands in for {name} (sys.modules), so {name} itself is not there",
            fix=f"run this where {name} is not replaced",
        )
    return module


def installed(name: str) -> str | None:
    """The installed version of a distribution; None if there is none. Imports none of it."""
    from importlib import metadata  # slow to import, and most uses need no version

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


class guarded:
    """A block in which whatever a library raises becomes an ``EngineError`` that names the text.

    Interrupts, exhausted memory and our own errors pass. ``fix``: what to do next.
    """

    def __init__(self, engine: str, doing: str, text: str | None = None, fix: str = "") -> None:
        self._engine = engine
        self._doing = doing
        self._text = text
        self._fix = fix

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None or isinstance(error, (BpeInteropError, MemoryError)):
            return
        # pyo3_runtime.PanicException is a BaseException of each extension's own.
        panicked = type(error).__name__ == "PanicException"
        if not panicked and not isinstance(error, Exception):
            return
        how = "panicked" if panicked else "failed"
        message = str(error).strip().split("\n")[0][:200] or type(error).__name__
        on = "" if self._text is None else f" {short_text(self._text, SHOWN)}"
        raise EngineError(
            f"{self._engine} {how} {self._doing}{on}: {message}", fix=self._fix
        ) from error


def reading(engine: str, what: str, fix: str = "") -> guarded:
    """A block in which a library reads files; ``fix``: what to do before all else."""
    other = (
        f"another version of {engine} may read it; where no engine is named, our own encoder runs "
        "what the files say"
    )
    return guarded(engine, f"on {what}", fix=f"{fix}; {other}" if fix else other)


@contextmanager
def folder_of(files: Files) -> Iterator[Path]:
    """A folder with these files while the block runs: some libraries read paths only.

    Raises:
        EngineError: a name is not that of a file in the folder.
    """
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        for file, data in files.items():
            path = folder / file
            if folder not in path.resolve().parents:
                raise EngineError(f"{file!r} is not the name of a file")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        yield folder


class OneByOne(Protocol):
    """What encodes texts: a batch as its texts one by one, unless it has a better way."""

    @abstractmethod
    def encode(
        self, text: str, *, special: Special = "text", add_special_tokens: bool = False
    ) -> list[int]:
        """The ids of a text."""

    def encode_batch(
        self,
        texts: Sequence[str],
        *,
        special: Special = "text",
        add_special_tokens: bool = False,
    ) -> list[list[int]]:
        return [
            self.encode(text, special=special, add_special_tokens=add_special_tokens)
            for text in texts
        ]


class LibraryEngine(OneByOne):
    """An :class:`~.engines.Engine` that runs in this process; ``_encode`` and the like call it."""

    name: ClassVar[str]
    version: str

    @property
    def parses_special(self) -> bool:
        return engine_row(self.name).parses_special

    @property
    def applies_template(self) -> bool:
        return engine_row(self.name).applies_template

    def encode(
        self, text: str, *, special: Special = "text", add_special_tokens: bool = False
    ) -> list[int]:
        """The ids of a text; ``add_special_tokens`` adds what ``applies_template`` says.

        Raises:
            EngineError: the library fails on the text, or never finds special tokens in one.
        """
        self._refuse(special)
        with guarded(self.name, "on the text", text):
            return self._encode(text, special, add_special_tokens)

    def encode_batch(
        self,
        texts: Sequence[str],
        *,
        special: Special = "text",
        add_special_tokens: bool = False,
    ) -> list[list[int]]:
        """The ids of each text: in threads where the library has them and texts are long.

        Raises:
            EngineError: as :meth:`encode`; in a batch the library does not say on which text.
        """
        listed = list(texts)
        if not self._pays_as_batch(listed):
            return super().encode_batch(
                listed, special=special, add_special_tokens=add_special_tokens
            )
        self._refuse(special)
        with guarded(self.name, f"on one of {len(listed)} texts"):
            return self._encode_batch(listed, special, add_special_tokens)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids, special tokens included; each malformed part is U+FFFD.

        Raises:
            EngineError: the library fails on these ids.
        """
        with guarded(self.name, f"to decode {list(ids[:8])}"):
            return self._decode(list(ids))

    @abstractmethod
    def _encode(self, text: str, special: Special, add_special_tokens: bool) -> list[int]: ...

    @abstractmethod
    def _decode(self, ids: list[int]) -> str: ...

    def _encode_batch(
        self, texts: list[str], special: Special, add_special_tokens: bool
    ) -> list[list[int]]:
        return [self._encode(text, special, add_special_tokens) for text in texts]

    def _pays_as_batch(self, texts: list[str]) -> bool:
        """Whether texts are long enough, and more than one, for the library's batch call."""
        batches = type(self)._encode_batch is not LibraryEngine._encode_batch
        return batches and len(texts) > 1 and sum(map(len, texts)) >= LONG * len(texts)

    def _refuse(self, special: Special) -> None:
        if special == "parse" and not self.parses_special:
            raise EngineError(f"{self.name} never finds special tokens in a text")
