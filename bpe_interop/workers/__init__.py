"""One function over the parts of a corpus, run by any executor, with results merged in order.

``cut`` (in corpora) gives the parts, ``orders`` says what travels, ``worker`` is the function,
``run`` gives the parts to an executor and takes what comes of them, ``state`` keeps it.
"""

from __future__ import annotations

from .orders import Carried, Job, Ticket, Work, carry, opened_from
from .run import (
    LIMIT,
    Progress,
    Run,
    Tick,
    Workers,
    pool_of,
    run_corpus,
    run_parts,
)

__all__ = [
    "LIMIT",
    "Carried",
    "Job",
    "Progress",
    "Run",
    "Tick",
    "Ticket",
    "Work",
    "Workers",
    "carry",
    "opened_from",
    "pool_of",
    "run_corpus",
    "run_parts",
]
