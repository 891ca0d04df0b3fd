"""Run in another environment: what transformers and tokenizers do with written directories.

``python loading.py FOLDER``: ``FOLDER/texts.json`` lists texts; every directory in it is loaded.
It imports nothing of this project. The answer, in JSON, goes to standard output.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any


def answers(directory: Path, texts: list[str]) -> dict[str, Any]:
    """The ids of each text as a user of each library gets them, or what the library said."""
    from tokenizers import Tokenizer
    from transformers import AutoTokenizer

    found: dict[str, Any] = {}
    try:
        served: Any = AutoTokenizer.from_pretrained(str(directory))
        found["class"] = type(served).__name__.removesuffix("Fast")
        found["transformers"] = [served(text)["input_ids"] for text in texts]
    except Exception as error:
        found["transformers"] = f"{type(error).__name__}: {error}".splitlines()[0]
    try:
        plain = Tokenizer.from_file(str(directory / "tokenizer.json"))
        found["tokenizers"] = [plain.encode(text).ids for text in texts]
    except Exception as error:
        found["tokenizers"] = f"{type(error).__name__}: {error}".splitlines()[0]
    return found


def main(folder: Path) -> None:
    """Answers for every directory of a folder."""
    texts: list[str] = json.loads((folder / "texts.json").read_text("utf-8"))
    places = sorted(path for path in folder.iterdir() if path.is_dir())
    json.dump({place.name: answers(place, texts) for place in places}, sys.stdout)


if __name__ == "__main__":
    os.environ["HF_HUB_OFFLINE"] = "1"
    main(Path(sys.argv[1]))
