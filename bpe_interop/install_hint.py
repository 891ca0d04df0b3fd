"""How to install what is not always needed."""

from __future__ import annotations


def by_extra(extra: str) -> str:
    """The commands that install an extra of ours: from an index, and in a checkout."""
    return f"pip install 'bpe-interop[{extra}]' (in a checkout: pip install -e '.[{extra}]')"
