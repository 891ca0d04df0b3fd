"""What the kernel does, by name, and how it is compared."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from .added import around_encoded, forms_written, maps_written
from .comparing import Case, both
from .files import (
    documents_read,
    pairs_of_files_read,
    pieces_read,
    rank_files_read,
)
from .merges import entries_compared, form_found
from .models import cores_compared, files_written, models_compared
from .pieces import decoded_pieces, encoded_pieces, fingerprints
from .texts import cuts, decoded, encoded
from .training import counted, merges_learned

WORKS: dict[str, Callable[[random.Random], list[Case]]] = {
    "rank files": rank_files_read,
    "tokenizer.json": documents_read,
    "pairs of files": pairs_of_files_read,
    "pieces of models": pieces_read,
    "canonical forms": form_found,
    "entries compared": entries_compared,
    "cores compared": cores_compared,
    "models compared": models_compared,
    "fingerprints": fingerprints,
    "pretokens": cuts,
    "ids": encoded,
    "ids of characters": encoded_pieces,
    "added tokens": around_encoded,
    "normal forms": forms_written,
    "maps of characters": maps_written,
    "ids decoded": decoded,
    "ids of characters decoded": decoded_pieces,
    "files written": files_written,
    "pretokens counted": counted,
    "merges learned": merges_learned,
}
"""From random numbers to things that are done."""

DRAWN: dict[str, int] = {
    "rank files": 600,
    "tokenizer.json": 80,
    "pairs of files": 250,
    "pieces of models": 50,
    "canonical forms": 400,
    "entries compared": 200,
    "cores compared": 60,
    "models compared": 4,
    "fingerprints": 100,
    "pretokens": 24,
    "ids": 32,
    "ids of characters": 24,
    "added tokens": 32,
    "normal forms": 40,
    "maps of characters": 40,
    "ids decoded": 60,
    "ids of characters decoded": 40,
    "files written": 2,
    "pretokens counted": 28,
    "merges learned": 200,
}
"""How often each is drawn in a round, which takes about 12 s of CPU."""


COUNTS = ("cases", "damaged files", "texts", "by the kernel", "not refused")
"""The columns of a table."""


@dataclass(slots=True)
class Tally:
    """What became of the cases of one work.

    Attributes:
        cases: how many there were.
        damaged: how many of them read a file that was changed.
        texts: how many texts they encoded or cut.
        native: of how many the kernel gave the answer.
        answered: of how many there was one, and not an error of ours.
        different: from which numbers the cases were drawn on which the two differ.
    """

    cases: int = 0
    damaged: int = 0
    texts: int = 0
    native: int = 0
    answered: int = 0
    different: list[str] = field(default_factory=list)

    def counts(self) -> tuple[int, ...]:
        """What :data:`COUNTS` names."""
        return self.cases, self.damaged, self.texts, self.native, self.answered

    def add(self, other: Tally) -> None:
        """Adds what became of other cases."""
        self.cases += other.cases
        self.damaged += other.damaged
        self.texts += other.texts
        self.native += other.native
        self.answered += other.answered
        self.different += other.different


def compare(name: str, count: int, seed: int, first: int = 0) -> Tally:
    """Does the cases of one work, drawn so many times, with the kernel and without it."""
    tally = Tally()
    for number in range(first, first + count):
        drawn = f"{name}:{seed}:{number}"
        for case in WORKS[name](random.Random(drawn)):
            ours, expected = both(case.work)
            tally.cases += 1
            tally.damaged += case.damaged
            tally.texts += case.texts
            tally.native += ours.native
            tally.answered += ours.answered
            if ours.value != expected.value:
                tally.different.append(drawn)
    return tally
