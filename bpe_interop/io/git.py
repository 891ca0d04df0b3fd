"""``git:REV:PATH``: a file or a folder as it is in a commit of the repository one is in."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import SourceError

_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".onnx", ".h5", ".msgpack", ".gguf", ".npz")
"""What lies beside a tokenizer, is none of it, and may be large."""


@contextmanager
def as_committed(label: str) -> Iterator[Path]:
    """A path with the content that a name stands for, while the block runs.

    Filters run as in a checkout, so a pointer of Git LFS is what it points to.

    Raises:
        SourceError: it is no such name, git is not there, or has no such file.
    """
    revision, colon, path = label.removeprefix("git:").partition(":")
    # A revision that begins with a dash would be an option.
    if not (revision and colon and path) or revision.startswith("-"):
        raise SourceError("this names nothing in git", where=label, fix="write git:REV:PATH")
    # git takes a path that begins with a dot as one of the current folder, any other of the top.
    if not path.startswith(("./", "../")):
        path = f"./{path}"
    place = path.rstrip("/")
    is_folder = _git(label, "cat-file", "-t", f"{revision}:{place}").strip() == b"tree"
    parent, _, file = place.rpartition("/")
    inside = place if is_folder else parent
    listed = _git(
        label, "ls-tree", "-r", "-z", "--name-only", "--full-tree", f"{revision}:{inside}/"
    )
    with tempfile.TemporaryDirectory() as folder:
        there = Path(folder, "tokenizer")
        there.mkdir()
        for name in filter(None, listed.decode("utf-8", "surrogateescape").split("\0")):
            if name == file or (name.count("/") < 2 and not name.endswith(_WEIGHTS)):
                target = there / name
                target.parent.mkdir(parents=True, exist_ok=True)
                content = _git(label, "cat-file", "--filters", f"{revision}:{inside}/{name}")
                target.write_bytes(content)
        yield there if is_folder else there / file


def _git(label: str, *arguments: str) -> bytes:
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, check=False)
    except OSError as error:
        fix = "install git, or name a file"
        raise SourceError("git cannot be run", where=label, fix=fix) from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["it failed"]
        raise SourceError(
            f"git says: {said[-1].removeprefix('fatal: ')}",
            where=label,
            fix="name a commit or branch that is here (git fetch), and a path in it",
        )
    return done.stdout
