"""``NAME.vocab``: the tokens for people, as minbpe writes them."""

from __future__ import annotations

from ...model import BPEModel
from ...text.visible import replace_control_characters
from .. import Files
from .read import SUFFIX, load, main_file
from .write import numbered, pairs_of

LISTING = ".vocab"


def vocab_listing(model: BPEModel, files: Files) -> Files:
    """Adds ``NAME.vocab``: a line with token and id for each, and of a merge its two parts.

    As ``base.py`` writes it for a tokenizer that it has loaded, special tokens last.
    """
    name = main_file(files)
    pairs = pairs_of(model)
    whole = {left + right: (left, right) for left, right in pairs}
    lines = []
    for content, number in numbered(pairs).items():
        line = f"[{rendered(content)}] {number}\n"
        if content in whole:
            left, right = map(rendered, whole[content])
            line = f"[{left}][{right}] -> {line}"
        lines.append(line)
    added = load(files).added or ()
    lines += [f"[{rendered(token.text.encode('utf-8'))}] {token.id}\n" for token in added]
    return {**files, name.removesuffix(SUFFIX) + LISTING: "".join(lines).encode()}


def rendered(content: bytes) -> str:
    """A token as minbpe shows it: what is not UTF-8 replaced, control characters escaped."""
    return replace_control_characters(content.decode("utf-8", "replace"))
