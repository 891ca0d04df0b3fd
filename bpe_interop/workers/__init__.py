"""One function over the parts of a corpus, run by any executor, with results merged in order.

``cut`` (in corpora) gives the parts, ``orders`` says what travels, ``worker`` is the function,
``run`` gives the parts to an executor and takes what comes of them, ``state`` keeps it.
"""

from __future__ import annotations

from .orders import Carried, Job, Ticket, Work, carry, opened_from
from .run import (
    LIMIT,
    PartTick,
    Progress,
    Run,
    Workers,
    pool_of,
    run_corpus,
    run_parts,
)

__all__ = [
    "LIMIT",
    "Carried",
    "Job",
    "PartTick",
    "Progress",
    "Run",
    "Ticket",
    "Work",
    "Workers",
    "carry",
    "opened_from",
    "pool_of",
    "run_corpus",
    "run_parts",
]
