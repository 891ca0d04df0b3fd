"""What stands around encoders in the kernel: added tokens, normalizers, templates.

The twins are ``text/added_tokens.py``, ``text/normalize.py`` and the room ``encode``.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, chain

from .encoder import TextEncoder
from .library import KernelObject, address, answer, library, made


class NormalForm(KernelObject):
    """A Unicode normal form. Threads may share it."""

    def keeps(self, text: str) -> bool:
        """Whether it leaves a text as it is; False also where that is not decided."""
        data = text.encode("utf-8")
        return answer(self.library.normal_form_keeps(self.number, data, len(data))) == 1

    def write(self, text: str) -> str | None:
        """The text in the form; None where the kernel has no tables for that."""
        data = text.encode("utf-8")
        number = made(self.library.normal_form_write(self.number, data, len(data)))
        if number is None:
            return None
        held = KernelObject(self.library, number)
        room = bytearray(answer(self.library.text_size(held.number)) or 0)
        answer(self.library.text_copy(held.number, address(room), len(room)))
        return room.decode("utf-8")


def normal_form_of(
    pages: array[int], classes: bytes, composed: array[int], decomposed: array[int]
) -> NormalForm | None:
    """A normal form by its tables (:class:`.text.unicode.FormTable`); None without a kernel."""
    loaded = library()
    if loaded is None:
        return None
    held = made(
        loaded.normal_form_new(
            *(address(pages), len(pages), classes, len(classes)),
            *(address(composed), len(composed), address(decomposed), len(decomposed)),
        )
    )
    return None if held is None else NormalForm(loaded, held)


@dataclass(frozen=True, slots=True)
class KernelNormalizer:
    """What the kernel does of a normalizer, with each stretch of text between added tokens.

    Attributes:
        form: the normal form that the text is written in, by name (None: none).
        prefix: then put before the text; None: nothing is put there, and no space is written.
        escape: whether spaces, those of the prefix too, are then written as U+2581.
    """

    form: str | None = None
    prefix: str | None = None
    escape: bool = False


def encoder_around(
    encoders: tuple[TextEncoder, TextEncoder],
    normal: KernelNormalizer,
    form: NormalForm | None,
    tokens: Sequence[Sequence[tuple[str, int, int]]],
    words: Sequence[tuple[int, int]],
    template: tuple[Sequence[int], Sequence[int]],
) -> TextEncoder | None:
    """The encoder of whole texts; None where the kernel cannot hold what is asked for.

    Args:
        encoders: of a stretch of normalized text that begins its text, and of the others.
        normal: the normalizer.
        form: its normal form. What the kernel does not write in it, Python normalizes.
        tokens: text, id and flags (``native/src/added.rs``) of each that is looked for in the text
            as it is, and in the normalized one.
        words: the characters of words, as ranges; none where no token is a single word.
        template: the ids before those of a text, and after them.
    """
    loaded = encoders[0].library
    phases: list[KernelObject | None] = []
    for sought in tokens:
        texts = [text.encode("utf-8") for text, _, _ in sought]
        ends = array("Q", accumulate(map(len, texts)))
        listed = array("I", chain.from_iterable((number, flags) for _, number, flags in sought))
        ranges = array("I", chain.from_iterable(words))
        data = b"".join(texts)
        held = None
        if sought:
            held = made(
                loaded.phase_new(
                    *(data, len(data), address(ends), address(listed), len(sought)),
                    *(address(ranges), len(ranges)),
                )
            )
            if held is None:
                return None
        phases.append(None if held is None else KernelObject(loaded, held))
    objects = array("q", [each.number if each else 0 for each in (*encoders, form, *phases)])
    prefix = (normal.prefix or "").encode("utf-8")
    flags = normal.escape | (normal.prefix is None) << 2
    placed = array("I", chain(*template))
    encoder = made(
        loaded.around_new(
            *(address(objects), prefix, len(prefix), flags, address(placed)),
            *map(len, template),
        )
    )
    return None if encoder is None else TextEncoder(loaded, encoder)
