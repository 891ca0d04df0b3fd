"""Are two tokenizers the same? Run both, and say exactly what was run.

What is asked for is imported when it is asked for: a page that shows a report needs no proof.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..exports import exported

if TYPE_CHECKING:
    from ..corpora import Errors, Selection
    from ..proof.prove import SCOPES, about
    from ..proof.stage import Scope, Stage, counts
    from ..workers import Progress
    from .comparison import RunOptions, parity, verify
    from .corpus import Corpora
    from .report import Example, Report
    from .sides import Failure, Mismatch

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
    "parity",
    "verify",
]


if not TYPE_CHECKING:  # a type checker would take any name for an Any
    __getattr__ = exported(
        __name__,
        {
            ".corpora": ("Errors", "Selection"),
            ".proof.prove": ("SCOPES", "about"),
            ".proof.stage": ("Scope", "Stage", "counts"),
            ".workers": ("Progress",),
            "corpus": ("Corpora",),
            "report": ("Example", "Report"),
            "comparison": ("RunOptions", "parity", "verify"),
            "sides": ("Failure", "Mismatch"),
        },
    )
