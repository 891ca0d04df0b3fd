"""What may be replaced: what a format of ours wrote, and never what was read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from ..errors import TargetError
from ..formats import each_format
from .names import (
    beside,
    beside_one_file,
    endings,
    firsts,
    folders,
    halves,
    mains,
    written,
)

_MOST = 8


def keep_apart(read: Iterable[str | Path], place: Path) -> None:
    """Writing to a place must neither delete nor replace what was read.

    Args:
        read: names of sources, of which those that are no paths do not count, and files.
        place: a file, a folder that is replaced as a whole, or ``NAME.tiktoken``.

    Raises:
        TargetError: it would, or a link on the way to it.
    """
    if "\0" in str(place):
        raise TargetError("a name cannot hold a NUL character", fix="choose another target")
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


def check_replaceable(target: Path) -> None:
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
        fnmatchcase(name, known) and name.count("/") == known.count("/") for known in written()
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
