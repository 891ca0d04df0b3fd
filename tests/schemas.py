"""The JSON Schemas of what ``--json`` prints: ``python tests/schemas.py`` writes them.

They are made of the types in ``bpe_interop.cli.documents``, by msgspec.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import msgspec

from bpe_interop.cli import documents

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "schemas"
COMMANDS = {
    "convert": "convert --json",
    "convert-refused": "convert, extend or train --json, refused",
    "decode": "decode --json",
    "encode": "encode --json",
    "encode-corpus": "encode --corpus --json",
    "encode-explain": "encode --explain --json",
    "encode-show": "encode --show --json",
    "error": "any command --json, where it ends with an error",
    "explain": "explain CODE --json",
    "explain-codes": "explain --json, without a code",
    "extend": "extend --json",
    "fingerprint": "fingerprint --json",
    "formats": "formats --json",
    "formats-pre": "formats --pre --json",
    "inspect": "inspect --json",
    "inspect-corpus": "inspect --corpus --json",
    "lock": "lock --json",
    "train": "train --json",
    "verify-shards": "verify-shards --json",
    "view": "view -o PAGE.html --json",
    "view-serve": "view --serve --json",
}


DOCUMENTS: dict[str, Any] = {
    "convert": documents.Converted,
    "convert-refused": documents.Refused,
    "decode": documents.Text,
    "encode": documents.Ids,
    "encode-corpus": documents.EncodedCorpusDocument,
    "encode-explain": list[documents.Explanation],
    "encode-show": list[documents.PlacedToken],
    "error": documents.ErrorDocument,
    "explain": documents.CodePage,
    "explain-codes": list[documents.ExplainedCode],
    "extend": documents.Extended,
    "fingerprint": documents.Fingerprint,
    "formats": list[documents.FormatRow],
    "formats-pre": list[documents.Splitters],
    "inspect": documents.Inspection,
    "inspect-corpus": documents.Measured,
    "lock": documents.Locked,
    "train": documents.Trained,
    "verify-shards": documents.CheckedShards,
    "view": documents.ViewedPage,
    "view-serve": documents.ServedPage,
}
"""The documents by the names of their schemas; that of ``verify`` is in the package."""
BY_LINE = {"decode", "encode", "encode-explain", "encode-show"}
"""Those of which ``--lines`` prints an array, one for each line."""
VERSIONS = {"convert": 2, "extend": 2, "train": 2}
"""The versions of the documents; of one that is not here 1."""


def path_of(name: str) -> Path:
    return FOLDER / f"{name}-{VERSIONS.get(name, 1)}.json"


def schema_of(name: str) -> dict[str, Any]:
    """The schema of a document, of JSON Schema's draft 2020-12."""
    [whole], parts = msgspec.json.schema_components(
        [DOCUMENTS[name]], ref_template="#/$defs/{name}"
    )
    for part in parts.values():
        _tidy(part)
    if name in BY_LINE:
        whole = {"anyOf": [whole, {"type": "array", "items": whole}]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"{COMMANDS[name]}, version {VERSIONS.get(name, 1)}",
        **whole,
        **({"$defs": dict(sorted(parts.items()))} if parts else {}),
    }


def _tidy(part: dict[str, Any]) -> None:
    """What has a default in Python is written all the same; and docstrings as text."""
    part["description"] = inspect.cleandoc(part.get("description", "")).replace("``", "`")
    for name, property in part.get("properties", {}).items():
        if "default" in property:
            del property["default"]
            part["required"].append(name)


def text_of(name: str) -> str:
    return json.dumps(schema_of(name), indent=2) + "\n"


def main() -> None:
    """Writes them, and nothing else stays in the folder."""
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.glob("*.json"):
        path.unlink()
    for name in DOCUMENTS:
        path_of(name).write_text(text_of(name), "ascii")


if __name__ == "__main__":
    main()
