"""Where a tokenizer is written: a directory, or one file with what stands beside it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from ..errors import TargetError
from ..formats import Files, Format, by_name, each_format
from ..model import BPEModel
from .names import one_file_endings
from .writer import check_target, is_file_target, is_one_file, staged

_FILES = frozenset({".json", ".model", ".bpe", ".vocab", ".txt", ".gguf"})
"""Ends of names that a directory of a tokenizer does not have."""


@dataclass(frozen=True, slots=True)
class Target:
    """A place, and the format of what is written there."""

    place: Path
    format: Format

    @classmethod
    def of(cls, place: Path, to: str | None) -> Target:
        """A place with its format, as it is asked for or as the place's name says.

        Raises:
            TargetError: neither says it, or they contradict each other.
            ArgumentError: there is no such format.
        """
        single: list[Format] = []
        if is_file_target(place):  # only then: to look at all formats takes the import of all
            single = [row for row in each_format() if row.names.is_one_file(place.name)]
        if to is None and single:
            return cls(place, single[0])
        if to is None:
            every = list(each_format())
            fitting = [row for row in every if cls(place, row).is_alone]
            names = ", ".join((*row.aliases, row.name)[0] for row in fitting or every)
            raise TargetError(
                "the target's format is not given",
                where=str(place),
                fix=f"name it with --to (to=...; in Tokenizer.save format=...): {names}",
            )
        target = cls(place, by_name(to))
        title = target.format.title
        if single and target.format not in single:
            raise TargetError(
                f"{title} is a directory, and this is the name of a {single[0].names.called}",
                where=str(place),
                fix="name a directory, or leave --to out (to=...)",
            )
        if not single and place.suffix in _FILES and not (place.is_dir() or target.is_alone):
            raise TargetError(
                f"{title} is written as a directory, and this is the name of another file",
                where=str(place),
                fix=f"name a directory, such as {place.with_suffix('')}",
            )
        return target

    @property
    def is_alone(self) -> bool:
        """Whether it is the format's first file alone (a ``tokenizer.json`` under any name)."""
        names, place = self.format.names, self.place
        return bool(names.alone) and place.name.endswith(names.alone) and not os.path.isdir(place)

    def alone(self, *, further: bool = False) -> str:
        """The name of the first file where that is written alone; empty for any other target.

        Raises:
            TargetError: it is, and an option asks for ``further`` files.
        """
        if self.is_alone and further:
            raise TargetError(
                "an option asks for a further file, and the target is one file",
                where=str(self.place),
                fix="name a directory",
            )
        return self.place.name if self.is_alone else ""

    @property
    def stem(self) -> str:
        """The name of one file without the ending that says its format; empty for a directory."""
        if not is_file_target(self.place):
            return ""
        name = self.place.name
        return name.removesuffix(next(end for end in one_file_endings() if name.endswith(end)))

    def named(self, _: BPEModel, files: Files) -> Files:
        """Files under the target's name, where it is one file: what stands beside it follows it.

        Formats write names that every tool and Python package can use; a user's file may have any.
        """
        if not is_file_target(self.place):
            return files
        main, own = next(iter(files)), self.place.name
        return {
            f"{own}{name.removeprefix(main)}" if name.startswith(main) else name: data
            for name, data in files.items()
        }

    def check(self, *, force: bool) -> None:
        """Raises TargetError where the place holds something that must not be replaced."""
        check_target(self.place, force=force)

    def staged(self, files: Files, *, force: bool) -> AbstractContextManager[Path]:
        """Writes files beside the place, and puts them there when the block ends well."""
        return staged(self.place, files, force=force)

    def listed(self, names: Iterable[str]) -> str:
        """How its files are listed for people."""
        given = list(names)
        if is_one_file(self.place, given):
            return ", ".join(str(self.place.parent / name) for name in given)
        return ", ".join([str(self.place / given[0]), *given[1:]])
