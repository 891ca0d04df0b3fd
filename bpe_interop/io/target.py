"""Where a tokenizer is written, and what may be replaced there.

A target is a directory, or one file with what stands beside it. What a format of ours wrote may be
replaced, and never what was read.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from ..errors import TargetError
from ..formats import Files, Format, by_name, each_format
from ..model import BPEModel
from .names import (
    beside,
    beside_one_file,
    endings,
    firsts,
    folders,
    halves,
    mains,
    one_file_endings,
    refuse_nul,
    written_patterns,
)

_FILES = frozenset({".json", ".model", ".bpe", ".vocab", ".txt", ".gguf"})
"""Ends of names that a directory of a tokenizer does not have."""
_MOST = 8
"""So many names of files that are in the way are listed."""


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

    def listed(self, names: Iterable[str]) -> str:
        """How its files are listed for people."""
        given = list(names)
        if is_one_file(self.place, given):
            return ", ".join(str(self.place.parent / name) for name in given)
        return ", ".join([str(self.place / given[0]), *given[1:]])


def is_file_target(target: Path) -> bool:
    """Whether a target's name is that of one file rather than of a directory."""
    return target.name.endswith(one_file_endings()) and not os.path.isdir(target)


def is_one_file(target: Path, names: Container[str]) -> bool:
    """Whether these files are no directory: one of them is the target itself."""
    return is_file_target(target) or (target.name in names and not os.path.isdir(target))


def check_target(target: Path, *, force: bool | None = False) -> None:
    """Raises TargetError where the target holds something that must not be replaced.

    ``force`` is None for what is never replaced.
    """
    refuse_nul(target, written=True)
    if str(target).startswith("hf:"):
        name = str(target).removeprefix("hf:")
        raise TargetError(
            "a target is a folder or a file, and this is a repository of the hub",
            where=str(target),
            fix=f"write to a folder, and send that: hf upload {name} FOLDER",
        )
    if force:
        place = target.resolve()
        with naming_target(target):
            repository = (place / ".git").exists()
        if repository or place in (Path.cwd(), Path.home(), *Path.cwd().parents):
            raise TargetError(
                "replacing this directory as a whole would delete more than a tokenizer",
                where=str(target),
                fix="choose another target",
            )
        with naming_target(target):
            _check_replaceable(place)
        for name in beside_one_file(target.name) if is_file_target(target) else ():
            if os.path.isdir(target.with_name(name)):
                raise TargetError(
                    f"{name} is a directory, and the sidecar has that name",
                    where=str(target),
                    fix="choose another target",
                )
        return
    if is_file_target(target):
        beside = map(target.with_name, beside_one_file(target.name))
        taken = any(map(os.path.lexists, (target, *beside)))
    else:
        with naming_target(target):
            taken = target.exists() and not (os.path.isdir(target) and not any(target.iterdir()))
    if taken:
        raise TargetError(
            "the target is already there",
            where=str(target),
            fix="choose a new one"
            + ("" if force is None else ", or replace it as a whole with --force (force=True)"),
        )


@contextlib.contextmanager
def naming_target(target: Path) -> Iterator[None]:
    """Turns what the system refuses into a TargetError that names the target."""
    try:
        yield
    except (FileExistsError, NotADirectoryError):
        raise TargetError(
            "a folder that it should be in is a file", where=str(target), fix="choose another"
        ) from None
    except OSError as error:
        why = f": {error.strerror}" if error.strerror else ""
        missing = isinstance(error, FileNotFoundError) and not target.parent.is_dir()
        room = "choose a folder where you may write, with enough free space"
        raise TargetError(
            f"cannot be written{why}",
            where=str(target),
            fix="make the directory first" if missing else room,
        ) from None


def keep_apart(read: Iterable[str | Path], place: Path) -> None:
    """Writing to a place must neither delete nor replace what was read.

    Args:
        read: names of sources, of which those that are no paths do not count, and files.
        place: a file, a folder that is replaced as a whole, or ``NAME.tiktoken``.

    Raises:
        TargetError: it would, or a link on the way to it.
    """
    refuse_nul(place, written=True)
    target = Path(os.path.realpath(place))
    lost = {target, _place(place)}
    if not os.path.isdir(place):
        lost |= {_place(place.with_name(name)) for name in beside_one_file(place.name)}
    for source in read:
        for path in _files_of(Path(source)):
            for hop in _hops(path):
                if hop in lost or target in hop.parents:
                    raise TargetError(
                        "the target holds the source, which would be deleted",
                        where=str(place),
                        fix=f"choose another target: {path} was read",
                    )


def _files_of(source: Path) -> Iterator[Path]:
    """The path of a source, and the files that belong to a tokenizer there."""
    if "\0" in str(source) or not os.path.lexists(source):
        return
    yield source
    folder = source if os.path.isdir(source) else source.parent
    own = source.name if folder != source else ""
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        if own:
            belongs = name in beside(own)
            belongs |= any(
                name.endswith(half) and own.endswith(other) for half, (other, _) in halves().items()
            )
        else:
            belongs = _is_written(name) or name.endswith((*firsts(), *endings(), *folders()))
        if belongs:
            yield folder / name


def _place(path: Path) -> Path:
    """Where the name itself stands, whatever it links to."""
    return Path(os.path.realpath(path.parent), path.name)


def _hops(path: Path) -> Iterator[Path]:
    """Every place that must stay for a path to lead where it leads: itself, links, their ends."""
    todo, seen = [Path(os.path.join(os.getcwd(), path))], set[Path]()
    while todo:
        current = todo.pop()
        for step in (current, *current.parents):
            hop = _place(step)
            if hop in seen:
                continue
            seen.add(hop)
            if step == current or hop.is_symlink():
                yield hop
            if hop.is_symlink():
                todo.append(hop.parent / hop.readlink())


def _check_replaceable(target: Path) -> None:
    """Raises TargetError where a folder holds what no format of ours writes."""
    if not os.path.isdir(target):
        return
    held = list(_below(target))
    other = [name for name in held if not _is_ours(target, name)]
    if held and not other and not any(map(_is_main, held)):
        other = held
    if other:
        more = f" and {len(other) - _MOST:,} more" if len(other) > _MOST else ""
        raise TargetError(
            f"the folder holds what was not written by a conversion: {', '.join(other[:_MOST])}"
            f"{more}",
            where=str(target),
            fix="choose another target, or move these files away",
        )


def _below(folder: Path) -> Iterator[str]:
    """The names of files, links and empty folders below a folder, in order."""
    for root, inside, files in os.walk(folder):
        inside.sort()
        inner = Path(root).relative_to(folder)
        linked = [name for name in inside if Path(root, name).is_symlink()]
        for name in sorted([*files, *linked]):
            yield (inner / name).as_posix()
        if inner.parts and not files and not inside:
            yield inner.as_posix()


def _is_ours(folder: Path, name: str) -> bool:
    path = folder / name
    if path.is_symlink() or not path.is_file():
        return False
    if _is_written(name):
        return True
    if "/" not in name and name.endswith(".model"):
        return _is_model(path)
    twin = path.with_suffix(".model")
    return "/" not in name and name.endswith(".vocab") and twin.is_file() and _is_model(twin)


def _is_written(name: str) -> bool:
    """Whether a file has a name that says which format wrote it."""
    return any(
        fnmatchcase(name, known) and name.count("/") == known.count("/")
        for known in written_patterns()
    )


def _is_main(name: str) -> bool:
    return name in mains() or name.endswith(endings())


def _is_model(path: Path) -> bool:
    """Whether a ``.model`` begins as those of our formats do: other programs use that name too."""
    try:
        with path.open("rb") as file:
            head = file.read(4096)
    except OSError:
        return False
    whole = head.rpartition(b"\n")[0] + b"\n" if len(head) == 4096 else head
    return any(row.sniff({path.name: part}) for row in each_format() for part in (head, whole))
