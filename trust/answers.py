"""What one Python answers for every small tokenizer, as digests: run by ``interpreters``.

It needs the library and ``fixtures``, and none of the engines.
"""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256

from bpe_interop import load
from bpe_interop.compare.stress import awkward
from bpe_interop.errors import BpeInteropError, EngineMissingError
from bpe_interop.formats import all_formats
from bpe_interop.formats.round_trip import RoundTrip
from bpe_interop.kernel import running
from bpe_interop.proof.prove import prove
from fixtures import TOKENIZERS

THREADS = 8
_EVERY = 4
"""Of the awkward texts, one in so many is encoded."""


def _digest(parts: Iterable[object]) -> str:
    made = sha256()
    for part in parts:
        made.update(
            part if isinstance(part, bytes) else f"{part}\n".encode("utf-8", "surrogatepass")
        )
    return made.hexdigest()[:16]


def answers(only: Sequence[str] = ()) -> tuple[dict[str, str], list[str], int]:
    """A digest of each kind of answer by tokenizer, and how many texts were encoded.

    ``only``: tokenizers by name; else all. Second, what needs an engine that is not installed: a
    tokenizer whose normalizer asks one.
    """
    found: dict[str, str] = {}
    unasked: list[str] = []
    count = 0
    for folder in sorted(TOKENIZERS.glob("*/*")):
        name = f"{folder.parent.name}/{folder.name}"
        if only and name not in only:
            continue
        try:
            tokenizer = load(folder)
            texts = [*awkward(tokenizer.model)][::_EVERY]
            rows = [tokenizer.encode(text, allowed_special="all") for text in texts]
        except EngineMissingError:
            unasked.append(name)
            continue
        except BpeInteropError as error:
            found[name] = error.__class__.__name__  # the same on every Python, too
            continue
        count += len(texts)
        found[f"{name} ids"] = _digest(rows)
        found[f"{name} texts"] = _digest(map(tokenizer.decode, rows))
        with ThreadPoolExecutor(THREADS) as pool:
            parts = pool.map(
                lambda place, tokenizer=tokenizer, texts=texts: [
                    tokenizer.encode(text, allowed_special="all") for text in texts[place::THREADS]
                ],
                range(THREADS),
            )
            if [*parts] != [rows[place::THREADS] for place in range(THREADS)]:
                found[f"{name} ids"] = "other ids in threads"
        for row in all_formats():
            trip = RoundTrip(tokenizer.model, row)
            try:
                # Sentences escape what this Python's own tables do not know.
                lost = [(loss.field, loss.grade, loss.witness) for loss in trip.losses]
                proof = prove(tokenizer.model, trip.again).stages
                stages = [(stage.name, stage.outcome, stage.witness) for stage in proof]
                wrote = [*trip.files.values()]
            except EngineMissingError:
                unasked.append(f"{name} as {row.name}")
                continue
            except BpeInteropError as error:
                found[f"{name} as {row.name}"] = error.__class__.__name__
                continue
            found[f"{name} as {row.name}"] = _digest([*wrote, *lost, *stages])
    return found, unasked, count


def main() -> None:
    """Prints the answers as JSON; arguments are the tokenizers to ask."""
    given, unasked, count = answers(sys.argv[1:])
    is_locked = getattr(sys, "_is_gil_enabled", lambda: True)()
    python = f"{platform.python_implementation()} {platform.python_version()}"
    told = {
        "python": python if is_locked else f"{python}, free-threaded",
        "kernel": running()[0],
        "texts": count,
        "answers": given,
        "unasked": unasked,
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main()
