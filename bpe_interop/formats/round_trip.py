"""A model written in a format and read back: from it follows what the format cannot hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from ..errors import FormatError
from ..loss import Loss
from ..model import FIELDS, BPEModel

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
            FormatError: the format's own reader refuses them: nothing that can be written in it
                is this tokenizer.
        """
        try:
            return self.format.load(self.files)
        except FormatError as error:
            # Where in the source's file that stands, nobody knows: it is about the target's.
            error.what = f"{self.format.title} cannot hold this tokenizer: {error.what}"
            error.where = f"what would be written, {error.where}"
            error.fix = f"{error.fix}; or name another format with --to (to=...)"
            raise

    @cached_property
    def differences(self) -> tuple[Difference, ...]:
        """The fields that come back otherwise; what the model does not state cannot be lost."""
        if all(getattr(self.model, field) == getattr(self.again, field) for field in FIELDS):
            return ()
        from ..diff import diff  # reading a file does not wait for what only writing needs

        return stated(self.model, self.again, diff(self.model, self.again))

    @cached_property
    def losses(self) -> tuple[Loss, ...]:
        """What the format cannot hold of this value, decided by what came back."""
        from .losses import losses_of  # reading does not wait for what only writing needs

        return tuple(losses_of(self))


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
