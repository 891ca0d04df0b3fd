"""One sample: a process that sets something up, runs it once, and says how long that took.

``python -m benchmarks.child MODE MODULE.FUNCTION NAME=VALUE...`` calls a function of
:mod:`benchmarks.sides` and prints one line of JSON, its last. A side that fails ends with a
traceback, as any program does.

Little is imported before the clock starts, and nothing that a side could need: what it imports
is part of what it costs.
"""

import sys
import time
from importlib import import_module
from typing import Any


def main(argv: list[str]) -> None:
    """Runs a sample; MODE is ``time``, ``check``, ``rounds`` or ``compare``."""
    mode, function, *given = argv
    settings = dict(part.split("=", 1) for part in given)
    module, _, name = function.rpartition(".")
    side = getattr(import_module(f"benchmarks.sides.{module}"), name)
    if mode in ("time", "check"):
        said = once(side, settings, checked=mode == "check")
    else:
        said = many(side, settings, compared=mode == "compare")
    import json

    print("\n" + json.dumps(said))


def once(side: Any, settings: dict[str, str], *, checked: bool) -> dict[str, Any]:
    """A side is a function that gives what to run, and how to check what that gave."""
    run, check = side(**settings)
    began = time.perf_counter()
    result = run()
    seconds = time.perf_counter() - began
    said: dict[str, Any] = {"call": seconds, "peak": peak()}
    if hasattr(result, "seconds"):  # it was extrapolated
        said |= {"call": result.seconds, "note": result.note}
    if checked:
        said["answer"] = check(result)
    return said


def many(side: Any, settings: dict[str, str], *, compared: bool) -> dict[str, Any]:
    """Several sides in this process, turn by turn; comparing them is a run of its own."""
    rounds, turn = int(settings.pop("rounds")), int(settings.pop("turn"))
    runs, compare = side(**settings)
    if compared:
        return {"differing": compare()}
    calls: dict[str, list[float]] = {name: [] for name in runs}
    for at in range(rounds):
        for name in rotated(list(runs), turn + at):
            ready = getattr(runs[name], "ready", None)
            if ready is not None:
                ready()
            began = time.perf_counter()
            result = runs[name]()
            calls[name].append(time.perf_counter() - began)
            del result
    return {"calls": calls, "peak": peak()}


def rotated(names: list[str], turn: int) -> list[str]:
    """The names in the order of a turn, A B C, B C A, C A B, so that nobody is always first."""
    if not names:
        return []
    at = turn % len(names)
    return names[at:] + names[:at]


def peak() -> int | None:
    """The most memory this process has had, in bytes; None where nothing says.

    ``ru_maxrss`` comes last: on Linux a process inherits it from the one that started it.
    """
    try:
        with open("/proc/self/status", encoding="ascii") as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) << 10
    except OSError:
        pass
    try:
        resource = import_module("resource")
    except ImportError:
        return None
    most: int = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most << 10


if __name__ == "__main__":
    main(sys.argv[1:])
