"""Names of a package that lie in its modules, each imported when one of its names is asked for.

So whoever needs one of them does not wait for the import of all.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # type checkers take the name as True; to import typing takes longer
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any


def exported(package: str, homes: Mapping[str, Iterable[str]]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package.

    Args:
        package: its ``__name__``.
        homes: its modules, and the names that each has for it; they are names too.
    """
    home_of = {name: module for module, names in homes.items() for name in names}

    def get(name: str) -> Any:
        home = home_of.get(name)
        if home is None and name in homes:
            return importlib.import_module(f".{name}", package)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f".{home}", package), name)
        vars(importlib.import_module(package))[name] = value
        return value

    return get
