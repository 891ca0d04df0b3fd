"""The canonical form of a tokenizer that is loaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

Side: TypeAlias = "tuple[Callable[[], Any], Callable[[Any], object]]"


def canonical(source: str, preset: str) -> Side:
    """``bpe_interop.merging.canonical.canonical``."""
    from bpe_interop.merging.canonical import canonical as form

    from .texts import tokenizer

    model = tokenizer(source, preset).model
    return lambda: form(model), lambda found: {"merges": len(found.splits)}
