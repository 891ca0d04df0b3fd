"""Copies of a ``tokenizer.json`` with something changed in it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

Edit: TypeAlias = Callable[[dict[str, Any]], None]


def edited_file(source: Path, folder: Path, edit: Edit) -> Path:
    """A copy of the directory ``source`` in ``folder``, in whose file ``edit`` changed the root."""
    copy = folder / "edited"
    shutil.copytree(source, copy)
    path = copy / "tokenizer.json"
    root = json.loads(path.read_text("utf-8"))
    edit(root)
    path.write_text(json.dumps(root, ensure_ascii=False), "utf-8")
    return copy
