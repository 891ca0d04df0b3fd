"""How a format explains, field by field, why a value comes back otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from ..loss import Grade, Loss
from ..model import BPEModel
from ..witnesses import first_apart
from .round_trip import RoundTrip

Apart: TypeAlias = Callable[[Iterable[str]], "str | None"]
"""The first of some texts, or of a few plain ones, whose ids come back otherwise, if any is."""

Reason: TypeAlias = Callable[[BPEModel, Apart], Iterable[Loss]]
"""What this value holds in a field that the format cannot: nothing, where it can hold it.

It does not see what came back. So a fault of a writer, which a comparison shows as well, is not
taken for something that the format cannot hold.
"""


def explained(trip: RoundTrip, reasons: Mapping[str, Reason]) -> Iterator[Loss]:
    """The reasons for the fields that come back otherwise, in their order."""

    def apart(texts: Iterable[str]) -> str | None:
        return first_apart(trip.model, trip.again, texts)

    for difference in trip.differences:
        if difference.field in reasons:
            yield from reasons[difference.field](trip.model, apart)


def shown_by(witness: str | None, field: str, grade: Grade, what: str, consequence: str) -> Loss:
    """A loss that a text shows, or that is only not excluded where none is found."""
    return Loss(field, grade, what, consequence, witness=witness, shown=witness is not None)
