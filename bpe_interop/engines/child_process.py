"""How a Python process is started as a child: nothing in the current folder is executed.

The interpreter puts the current folder first among those that modules are looked for in, for
``-c`` and ``-m``. That may be a model's folder from somewhere, with a ``pickle.py`` in it.
"""

from __future__ import annotations

import sys
from typing import Final

_WITHOUT_FOLDER: Final = "import sys; sys.path[:] = filter(None, sys.path); "
"""``sys`` is part of the interpreter. ``-P`` does the same, and Python 3.10 does not have it;
``-I`` would leave ``PYTHONPATH`` out."""


def python(code: str, *arguments: str) -> list[str]:
    """The command that runs code in a new interpreter, which imports nothing from where it runs.

    The code then takes over the parent's ``sys.path``: what the parent imports, it may.
    """
    return [sys.executable, "-c", _WITHOUT_FOLDER + code, *arguments]
