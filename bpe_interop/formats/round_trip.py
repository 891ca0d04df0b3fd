"""A model written in a format and read back: from it follows what the format cannot hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from ..errors import CheckFailedError
from ..loss import Grade, Loss
from ..model import FIELDS, AddedToken, BPEModel

if TYPE_CHECKING:
    from ..diff import Difference
    from . import Files, Format

Way: TypeAlias = "Callable[[BPEModel, Files], Files]"
"""Another way of writing: what it makes of the model and of what ``dump`` gave."""


class RoundTrip:
    """One dump, one load and one comparison, each made when it is first asked for, then kept.

    Args:
        model: what is written.
        format: the format it is written in.
        ways: the format's own options, in order.
        alone: the name of the one file that is written, the format's first, where nothing
            shall stand beside it; empty for all files.
    """

    def __init__(
        self, model: BPEModel, format: Format, ways: Iterable[Way] = (), alone: str = ""
    ) -> None:
        self.model = model
        self.format = format
        self.alone = alone
        self.ways = tuple(ways)

    @cached_property
    def whole(self) -> RoundTrip:
        """The same with all files."""
        return RoundTrip(self.model, self.format, self.ways) if self.alone else self

    @cached_property
    def files(self) -> Files:
        """What is written: file names to contents."""
        if self.alone:
            return {self.alone: next(iter(self.whole.files.values()))}
        files = self.format.dump(self.model)
        for way in self.ways:
            files = way(self.model, files)
        return files

    @cached_property
    def again(self) -> BPEModel:
        """What reading the files gives.

        Raises:
            FormatError: the format's own reader refuses them.
        """
        return self.format.load(self.files)

    @cached_property
    def differences(self) -> tuple[Difference, ...]:
        """The fields that come back otherwise; what the model does not state cannot be lost."""
        if all(getattr(self.model, field) == getattr(self.again, field) for field in FIELDS):
            return ()
        from ..diff import diff  # reading a file does not wait for what only writing needs

        return stated(self.model, self.again, diff(self.model, self.again))

    @cached_property
    def losses(self) -> tuple[Loss, ...]:
        """Why the format cannot hold this value: its own explanations, and what stands beside."""
        if self.alone:
            return (*self.whole.losses, *_left_out(self))
        from .reasons import tables_lost  # reading does not wait for what only writing needs

        return (*self.format.explain(self), *tables_lost(self))

    @cached_property
    def expected(self) -> BPEModel:
        """The value with the fields that the format says it has when it comes back."""
        return replace(self.model, **self.foretold)

    @cached_property
    def foretold(self) -> Mapping[str, Any]:
        """What fields come back as, by what the format says of the value."""
        return self.format.read_back(self)

    @cached_property
    def unexplained(self) -> tuple[Difference, ...]:
        """Differences for which the format has no reason, or which are others than it says.

        They are defects of its writer or reader.
        """
        if not self.differences:
            return ()
        named = {loss.field for loss in self.losses} - self.whole.unexpected
        return tuple(difference for difference in self.differences if difference.field not in named)

    @cached_property
    def unexpected(self) -> frozenset[str]:
        """The fields that come back otherwise than the format says."""
        wanted = self.foretold
        if all(value == getattr(self.again, field) for field, value in wanted.items()):
            return frozenset()
        from ..diff import diff

        apart = {each.field for each in diff(replace(self.again, **wanted), self.again)}
        return frozenset(apart & wanted.keys())

    def check(self) -> None:
        """Raises CheckFailedError where something came back otherwise and nothing explains it."""
        for difference in self.unexplained:
            raise CheckFailedError(
                f"what was written reads back with another {difference.field}: {difference.how}",
                fix="nothing was kept; please report this with the source file",
            )


_GRADES: Mapping[str, Grade] = {"added": "text", "chat_template": "metadata", "extras": "metadata"}
"""What is lost with a field that stands beside the file; of the others, ids."""


_WORDS: Mapping[str, str] = {
    "added": "what special tokens are for (roles)",
    "chat_template": "the chat template",
    "extras": "further settings",
    "sequence_template": "what is placed around a text",
}


def _left_out(trip: RoundTrip) -> Iterator[Loss]:
    """What the files say that have no place beside the one that is written."""
    held = {(each.field, each.how) for each in trip.whole.differences}
    beside = ", ".join(list(trip.whole.files)[1:])
    for each in trip.differences:
        if (each.field, each.how) in held:
            continue
        grade = _GRADES.get(each.field, "ids")
        if each.field == "added" and _without_roles(trip.model) == _without_roles(trip.again):
            grade = "metadata"
        yield Loss(
            each.field,
            grade,
            f"{_WORDS.get(each.field, each.how)}: it belongs in {beside}, and one file is written",
            "it is left out; to keep it, name a directory as the target, not a file",
            shown=grade != "ids",
        )


def _without_roles(model: BPEModel) -> list[AddedToken]:
    return [replace(token, roles=()) for token in model.added or ()]


def stated(
    model: BPEModel, again: BPEModel, differences: Iterable[Difference]
) -> tuple[Difference, ...]:
    """The differences in what a model says; where it says nothing (``None``), nothing is lost.

    Nor is it where its own extras are all kept, and the format has more.
    """
    kept = all(
        key in again.extras and again.extras[key] == model.extras[key] for key in model.extras
    )
    return tuple(
        each
        for each in differences
        if getattr(model, each.field) is not None and not (kept and each.field == "extras")
    )
