"""The tokens and the merges of a GGUF file of GPT-2's kind, read by the kernel.

The lists are handed over as GPT-2's pair of files has them. ``read.py`` is the twin, which takes
whatever is irregular, and says what is wrong with it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence

from ...kernel import read_pair
from ...model import Kind
from ...text.bytechars import to_bytes, to_chars

_HEADER = b"#version"


def taken(
    texts: Sequence[str], left_out: Collection[int], merges: Sequence[bytes]
) -> tuple[Mapping[bytes, int], dict[int, Kind], Sequence[tuple[bytes, bytes]]] | None:
    """Contents to ids, the kinds that differ, and the merges; None where Python is to read them.

    Args:
        texts: the tokens by id.
        left_out: the ids of tokens that are found in texts only.
        merges: the lines.
    """
    lines = b"\n".join(merges)
    if not merges or lines.count(b"\n") != len(merges) - 1 or len({*merges}) != len(merges):
        return None
    if lines.startswith(_HEADER) or b"\n" + _HEADER in lines or b"\r" in lines:
        return None
    try:
        to_bytes(lines.replace(b" ", b"").replace(b"\n", b"").decode("utf-8"))
    except ValueError:
        return None
    numbered = {text: number for number, text in enumerate(texts) if number not in left_out}
    spelled = json.dumps(numbered, ensure_ascii=False).encode("utf-8")
    read = read_pair(spelled, b"".join((_HEADER, b": 0.2\n", lines, b"\n")))
    if read is None:
        return None
    ids, pairs, literal = read
    if any(to_chars(content) in numbered for content in literal) or pairs.used(literal):
        return None
    return ids, {ids[content]: "control" for content in sorted(literal)}, pairs
