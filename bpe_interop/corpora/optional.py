"""Libraries that only some corpora need."""

from __future__ import annotations

import importlib
from types import ModuleType

from ..errors import EngineMissingError, by_extra


def optional(name: str, extra: str) -> ModuleType:
    """A library that only some corpora need.

    Raises:
        EngineMissingError: it is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise EngineMissingError(
            f"{name.partition('.')[0]} is needed to read this and is not installed",
            fix=by_extra(extra),
        ) from error
