"""Libraries that only some uses need: imported when they are, and an error where they are not."""

from __future__ import annotations

import importlib
from types import ModuleType

from .errors import EngineMissingError, by_extra


def optional(name: str, extra: str, *, to: str = "to read this", instead: str = "") -> ModuleType:
    """Imports a library, or a module of one.

    Args:
        name: its name.
        extra: the extra of this package that brings it.
        to: what it is needed for.
        instead: what can be done without it.

    Raises:
        EngineMissingError: it is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise EngineMissingError(
            f"{name.partition('.')[0]} is needed {to} and is not installed",
            fix=f"{by_extra(extra)}; {instead}" if instead else by_extra(extra),
        ) from error
