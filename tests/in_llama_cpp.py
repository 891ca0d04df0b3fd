"""llama.cpp's library on many files in one process; an engine starts one for each."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

_EACH = """
import json, sys
from bpe_interop.engines.llamacpp_child import loaded
from bpe_interop.errors import EngineError
for path in sys.argv[2:]:
    try:
        print(json.dumps(loaded(path, print).encode(sys.argv[1], False, False)))
    except EngineError:
        print("null")
"""


def ids_in_each(text: str, files: Iterable[bytes], folder: Path) -> list[list[int] | None]:
    """The ids of a text by each GGUF file; None where llama.cpp does not load the file.

    They are written into a folder. A crash of the library is an error.
    """
    paths = []
    for number, file in enumerate(files):
        path = folder / f"{number}.gguf"
        path.write_bytes(file)
        paths.append(str(path))
    command = [sys.executable, "-c", _EACH, text, *paths]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]
