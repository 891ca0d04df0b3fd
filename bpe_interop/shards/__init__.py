"""One function over the parts of a corpus, run by any executor, with results merged in order.

``cut`` (in corpora) gives the parts, ``orders`` says what travels, ``worker`` is the function,
``running`` gives the parts to an executor and takes what comes of them, ``done`` keeps it.
"""

from __future__ import annotations

from .executors import Pool, Workers, pool_of
from .orders import Job, Work
from .running import LIMIT, Run, Tick, run_parts
from .state_file import Done
from .tickets import Carried, Ticket, carry, opened_from

__all__ = [
    "LIMIT",
    "Carried",
    "Done",
    "Job",
    "Pool",
    "Run",
    "Tick",
    "Ticket",
    "Work",
    "Workers",
    "carry",
    "opened_from",
    "pool_of",
    "run_parts",
]
