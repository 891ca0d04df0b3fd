"""The native kernel, where it is there: the one room that knows whether it is.

``native/`` (Rust) does some work on whole vocabularies and texts many times as fast as Python.
Each function here has a twin in Python, which is the reference: what the kernel does not hold,
or finds irregular, it answers with None, and the caller does it in Python. So a message about a
file is made in one place only, and without the library everything works the same.

``BPE_INTEROP_KERNEL=python`` leaves the kernel unused. ``native`` makes it an error that it is
not there, or that it fails.
"""

from .library import VARIABLE, defect, is_aside, running, set_aside

__all__ = ["THREADS", "VARIABLE", "defect", "is_aside", "running", "set_aside"]

THREADS = 8
"""The most threads that encode a batch, where nobody says how many; tiktoken has as many."""
