"""What ``convert``, ``extend`` and ``train`` say alike of what they wrote, or were refused."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ..errors import LossyConversionError
from ..formats import Format
from ..io.names import spelled
from .screen import as_json, lines
from .terminal import say_line

if TYPE_CHECKING:
    from ..cost import Cost
    from . import documents


@contextlib.contextmanager
def refusals(
    source: str,
    target: Path,
    *,
    json_output: bool,
    costs: Callable[[], Sequence[Cost]] = lambda: (),
) -> Iterator[None]:
    """A block whose refused losses are printed as JSON, where that is asked for.

    ``costs`` is asked what they cost on corpora, which is printed either way.
    """
    try:
        yield
    except LossyConversionError as error:
        measured = costs()
        if json_output:
            told: documents.Refused = {
                "source": spelled(source),
                "target": spelled(str(target)),
                "refused": [
                    cast("documents.LossRow", {**asdict(loss), "code": loss.code})
                    for loss in error.losses
                ],
            }
            if measured:
                told["costs"] = [*measured]
            as_json(told)
        else:
            lines("cost", [str(cost) for cost in measured])
        from ..transformers_classes import SAVE_ANEW

        if Path(source).is_dir() and any(loss.consequence == SAVE_ANEW for loss in error.losses):
            from ..compare.sentences import written_as_served

            error.fix = f"to have them: {written_as_served(source)}\n  {error.fix}"
        raise


def show_how_to_load(row: Format, names: Iterable[str], target: Path) -> None:
    """Prints how the target's engine loads what was written, where naming it is not enough.

    Code stands at the margin, so that it can be copied.
    """
    if row.how_to_load is None:
        return
    folder = target if target.is_dir() else target.parent
    files = {name: (folder / name).read_bytes() for name in names}
    for step in row.how_to_load(files, lambda name: str(folder / name)):
        sentence, *code = step.split("\n")
        lines("to load", [sentence])
        for line in code:
            say_line(line)
