"""``python -m bpe_interop`` is the command line."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Runs the command line; Ctrl-C while it is still being imported ends it as it does later."""
    try:
        from .cli import main as run
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.stderr.flush()
        os._exit(130)
    run()


if __name__ == "__main__":
    main()
