"""How the files of each format are called, for what looks for them on disk and on the hub.

A format's module is imported when the format is asked for. Where a file lies and what belongs to it
is known without that.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from ..tokenizer_config import CONFIG

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..model import BPEModel


STEM: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
"""What a tokenizer's name must be for its files to be called after it."""


class SideFiles(NamedTuple):
    """Files that belong to another one, if they are there.

    ``ending`` is how the name of the other file ends, ``names`` what these are called:
    ``{}`` stands for that name, ``folder/*.ending`` for every such file in a folder. ``sniffed``:
    only beside a file whose beginning the format recognises, as another format's files may be
    called the same.
    """

    ending: str
    names: tuple[str, ...]
    sniffed: bool = False


class KeptFile(Protocol):
    """What is kept of an existing file when another tokenizer is put into it."""

    @property
    def start(self) -> int:
        """Where in the file the part begins that is copied, up to its end."""

    def __call__(self, model: BPEModel, files: Mapping[str, bytes]) -> Mapping[str, bytes]:
        """What the new file begins with, up to the copied part."""

    def notes(self, files: Mapping[str, bytes]) -> Iterable[str]:
        """What became of what the existing file said, for people."""


@dataclass(frozen=True, slots=True)
class FileNames:
    """The names of a format's files.

    Attributes:
        endings: how the name of a file ends that holds a tokenizer, as few others do.
        common: how the name of a file may end too, though most files called so are others.
        first: the name of the file that is meant where a directory holds several tokenizers;
            empty where there is none.
        halves: two files that are one tokenizer, by the ends of their names.
        whole: what the two are called together.
        beside: what belongs to a file.
        one_file: how the name of a target ends that is written as one file, with what stands
            ``beside`` it, and not as a directory; empty where a target is always a directory.
        alone: how the name of a target ends that is the format's first file and nothing else,
            where the format is asked for by its name; empty where there is no such target.
        called: what a target of one file is called.
        written: patterns of what the format's options write besides.
        hub: patterns of what is downloaded from a repository.
        magic: how a file begins whose rest is not read; empty where files are read whole.
        head: what reads the part that counts, as ``module:function`` within the package; called
            with the open file and its name, it gives the bytes.
        later_part: how the name of a file is known that is a later part of one in several files,
            as a pattern; only the first part has the tokenizer.
        into: what reads an existing file that a tokenizer is put into, as ``module:function``;
            called with the open file, its size in bytes and its name, it gives a
            :class:`KeptFile`. Empty where a file holds nothing but a tokenizer.
    """

    endings: tuple[str, ...] = ()
    common: tuple[str, ...] = ()
    first: str = ""
    halves: Mapping[str, str] = field(default_factory=dict)
    whole: str = ""
    beside: tuple[SideFiles, ...] = ()
    one_file: str = ""
    alone: str = ""
    called: str = "file"
    written: tuple[str, ...] = ()
    hub: tuple[str, ...] = ()
    magic: bytes = b""
    head: str = ""
    later_part: str = ""
    into: str = ""

    def is_one_file(self, name: str) -> bool:
        """Whether a target of this name is one file of the format."""
        return bool(self.one_file) and name.endswith(self.one_file)

    def beside_file(self, name: str) -> tuple[str, ...]:
        """What a target of one file has beside it, by that file's name."""
        return tuple(
            pattern.format(name)
            for each in self.beside
            for pattern in each.names
            if name.endswith(each.ending) and "{}" in pattern
        )


MAIN: Final = "tokenizer.json"
SPECIAL_MAP: Final = "special_tokens_map.json"
ADDED: Final = "added_tokens.json"
MODEL_CONFIG: Final = "config.json"
GENERATION: Final = "generation_config.json"
CHAT_TEMPLATE: Final = "chat_template.jinja"
CHAT_TEMPLATES: Final = "additional_chat_templates/"
"""The folder of further chat templates, ``NAME.jinja`` each."""

OTHERS: Final = "bpe_interop.json"
"""Settings of other formats that change no id; no engine reads it."""

BESIDE = (
    *(CONFIG, SPECIAL_MAP, ADDED, MODEL_CONFIG, GENERATION, CHAT_TEMPLATE),
    f"{CHAT_TEMPLATES}*.jinja",
    OTHERS,
)
"""What lies beside a ``tokenizer.json``, and in a model's directory beside any other format."""

KEPT_BESIDE = frozenset({"tekken"})
"""Formats whose settings a directory of another format keeps, in a file that no engine reads.

Anybody can edit that file, so the writers of these formats take any value for their settings.
"""

TABLE: Mapping[str, FileNames] = MappingProxyType(
    {
        "gpt2": FileNames(
            common=(".json", ".txt", ".bpe"),
            halves={"encoder.json": "vocab.bpe", "vocab.json": "merges.txt"},
            whole="a GPT-2 pair",
            hub=("vocab.json", "merges.txt", "encoder.json", "vocab.bpe"),
        ),
        "tiktoken": FileNames(
            endings=(".tiktoken", ".model"),
            beside=(SideFiles("", ("{}.json",)),),
            one_file=".tiktoken",
            called="rank file",
            written=("plugin/pyproject.toml", "plugin/tiktoken_ext/encoding_*"),
            hub=("*.tiktoken", "*.tiktoken.json"),
        ),
        "huggingface": FileNames(
            common=(".json",),
            alone=".json",
            first=MAIN,
            beside=(SideFiles(MAIN, BESIDE),),
            hub=(MAIN, *BESIDE),
        ),
        "sentencepiece": FileNames(
            endings=(".model",),
            alone=".model",
            beside=(SideFiles(".model", (CONFIG,), sniffed=True),),
            hub=("*.model",),
        ),
        "minbpe": FileNames(endings=(".model",), alone=".model"),
        "tekken": FileNames(common=(".json",), alone=".json"),
        "gguf": FileNames(
            endings=(".gguf",),
            one_file=".gguf",
            called="GGUF file",
            magic=b"GGUF",
            head="formats.gguf.head:read_head",
            later_part=r"-(?!00001)[0-9]{5}-of-[0-9]{5}\.gguf$",
            into="formats.gguf.into:kept_of_file",
        ),
    }
)
"""A key is the name of a format and of the folder here whose ``FORMAT`` it is."""
