"""The tables of names in the reference: ``python tests/reference.py`` writes what they say.

A row has one name or several of one meaning; what it says is the first sentence of the docstring.
"""

from __future__ import annotations

import inspect
import pkgutil
import re

import bpe_interop
from bpe_interop.tokenizer import Tokenizer
from fixtures import ROOT

PAGE = ROOT / "docs" / "reference" / "api.md"
_ROW = re.compile(r"^\| (`[^|]+`) \| .* \|$", re.M)


def names(row: str) -> list[str]:
    """The names of a row, as they are imported; those of a tokenizer begin with ``tok.``."""
    return re.findall(r"`([\w.]+)`", row)


def named(page: str) -> list[str]:
    """All names of the page's tables."""
    return [name for row in _ROW.findall(page) for name in names(row)]


def first_sentence(name: str) -> str:
    """The first sentence of the docstring, in Markdown."""
    owner, _, attribute = name.rpartition(".")
    if owner in ("tok", "Tokenizer"):
        found = inspect.getattr_static(Tokenizer, attribute)
    elif owner == "bpe_interop" and attribute in bpe_interop.__all__:
        found = getattr(bpe_interop, attribute)  # `convert` is a function, and a module beside it
    else:
        found = pkgutil.resolve_name(name)
    paragraph = " ".join((inspect.getdoc(found) or "").partition("\n\n")[0].split())
    sentence = re.split(r"(?<=\.) (?=[A-Z:])|; see :", paragraph)[0].rstrip(".")
    linked = re.sub(r":\w+:`[.~]*(?:\w+\.)*(\w+)`", r"`\1`", sentence)
    return linked.replace("``", "`").replace("|", "\\|")


def rewritten(page: str) -> str:
    """The page with the sentences of today's docstrings."""
    return _ROW.sub(lambda row: f"| {row[1]} | {first_sentence(names(row[1])[0])} |", page)


if __name__ == "__main__":
    PAGE.write_text(rewritten(PAGE.read_text("utf-8")), "utf-8")
