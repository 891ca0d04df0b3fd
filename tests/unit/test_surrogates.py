"""Half of a surrogate pair is in no text: wherever it comes from, it is refused with its place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from bpe_interop import Statement, load
from bpe_interop.errors import BpeInteropError, FormatError, InvalidModelError
from bpe_interop.formats import by_name
from bpe_interop.model import AddedToken, SequenceTemplate, TemplateText, TemplateToken
from bpe_interop.steps import Pattern, Prepend, Replace, Split
from bpe_interop.strict_json import parse
from fixtures import TOKENIZERS

HALF = "\ud800"
TEMPLATE = SequenceTemplate((TemplateToken(HALF, (1,)), TemplateText("A")))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("normalizer", (Replace("a", HALF),)),
        ("normalizer", (Replace(HALF, "a"),)),
        ("normalizer", (Replace(Pattern(HALF, "oniguruma"), "a"),)),
        ("normalizer", (Prepend(HALF),)),
        ("pretokenizer", (Split(HALF, "isolated"),)),
        ("pretokenizer", (Split(Pattern(f"a|{HALF}", "oniguruma"), "isolated"),)),
        ("added", (AddedToken(HALF, 5_000),)),
        ("added", (AddedToken("<s>", 5_000, roles=(HALF,)),)),
        ("sequence_template", TEMPLATE),
        ("decoder", (Replace("a", HALF),)),
        ("chat_template", HALF),
        ("extras", {"x": [{"y": HALF}]}),
        ("extras", {HALF: 1}),
    ],
)
def test_no_field_of_a_model_holds_one(field: str, value: object) -> None:
    model = load(TOKENIZERS / "gpt2-tiny" / "huggingface").model
    changes: Any = {field: value}
    with pytest.raises(InvalidModelError, match="half of a surrogate pair") as caught:
        replace(model, **changes)
    assert caught.value.field == field
    str(caught.value).encode("utf-8")


def strings(document: object, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the strings of a document are; of many alike, three."""
    if isinstance(document, dict):
        for key, value in [*document.items()][:40]:
            yield from strings(value, (*at, key))
    elif isinstance(document, list):
        for place, value in enumerate(document[:3]):
            yield from strings(value, (*at, place))
    elif isinstance(document, str):
        yield at


@pytest.mark.parametrize(
    "folder",
    [
        "template-tiny/huggingface",
        "nfc-tiny/huggingface",
        "metaspace-tiny/huggingface",
        "cl100k-tiny/tiktoken",
        "tekken-tiny/tekken",
    ],
)
def test_no_json_file_holds_one(folder: str) -> None:
    files = {path.name: path.read_bytes() for path in (TOKENIZERS / folder).iterdir()}
    row = by_name(folder.split("/")[1])
    tried = 0
    for name in sorted(each for each in files if each.endswith(".json")):
        for at in strings(json.loads(files[name])):
            document = json.loads(files[name])
            inner = document
            for step in at[:-1]:
                inner = inner[step]
            inner[at[-1]] += HALF
            with pytest.raises(FormatError, match="lone surrogate"):
                row.load(files | {name: json.dumps(document).encode()})
            tried += 1
    assert tried


@pytest.mark.parametrize("said", [{"chat_template": HALF}, {"template": f"{HALF} $A"}])
def test_what_a_user_says_holds_none(said: dict[str, Any]) -> None:
    with pytest.raises(BpeInteropError):
        load(TOKENIZERS / "cl100k-tiny" / "tiktoken", said=Statement(**said))


@pytest.mark.parametrize("count", range(1, 6))
def test_a_half_is_told_from_two_halves_and_from_a_backslash(count: int) -> None:
    parts = ("\\ud83d", "\\ude00", "\\\\", "ud83d", "ude00", "\\n")
    for spelled in map("".join, product(parts, repeat=count)):
        text = json.loads(f'"{spelled}"')
        document = f'["{spelled}"]'.encode()
        if any("\ud800" <= char <= "\udfff" for char in text):
            with pytest.raises(FormatError, match="lone surrogate"):
                parse(document, "a.json")
        else:
            assert parse(document, "a.json").value == [text]
