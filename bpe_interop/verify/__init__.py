"""Are two tokenizers the same? Run both, and say exactly what was run.

What is asked for is imported when it is asked for: a page that shows a report needs no proof.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..corpora import Errors, Selection
    from ..proof.prove import SCOPES, about
    from ..proof.stage import Scope, Stage, counts
    from ..shards import Progress
    from .corpus import Corpora
    from .report import Example, Report
    from .runs import RunOptions
    from .sides import Failure, Mismatch
    from .two_sources import verify

__all__ = [
    "SCOPES",
    "Corpora",
    "Errors",
    "Example",
    "Failure",
    "Mismatch",
    "Progress",
    "Report",
    "RunOptions",
    "Scope",
    "Selection",
    "Stage",
    "about",
    "counts",
    "verify",
]

_HOMES = {
    "SCOPES": "..proof.prove",
    "Corpora": ".corpus",
    "Errors": "..corpora",
    "Example": ".report",
    "Failure": ".sides",
    "Mismatch": ".sides",
    "Progress": "..shards",
    "Report": ".report",
    "RunOptions": ".runs",
    "Scope": "..proof.stage",
    "Selection": "..corpora",
    "Stage": "..proof.stage",
    "about": "..proof.prove",
    "counts": "..proof.stage",
    "verify": ".two_sources",
}


if not TYPE_CHECKING:  # a type checker would take any name for an Any

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(_HOMES[name], __name__), name)
