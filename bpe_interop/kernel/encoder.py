"""Encoders in the kernel, of bytes and of characters, and what stands around them.

Around them are added tokens, normalizers and templates. The twins are ``encode``,
``text/added_tokens.py`` and ``text/normalize.py``.
"""

from __future__ import annotations

import os
import sys
from array import array
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING, Literal

from .canonical import found_form, merges_over
from .library import KernelObject, Library, OwnedNumber, address, answer, library, made, numbers
from .splitter import TableSplitter
from .tables import Numbers, Pairs, Table, packed

if TYPE_CHECKING:
    from concurrent.futures import Future

    import numpy as np
    import numpy.typing as npt


_ROOM, _HELD = 4096, -3
"""Ids up to which a text is answered in one call; the status that says that they are held."""

_SHARE = 1 << 16
"""Bytes of a batch from which a further thread pays."""

_BATCH = 1 << 18
"""The characters of several texts that go into one call, for each thread. What a call of this size
needs is memory that the one before has left; larger pieces come from the system each time."""

NO_LIMIT = 2**32
"""More ids than a text has."""

_FAILED = 1 << 63
"""The mark of a text of a batch that is left to Python."""


class _Room:
    """Where the kernel writes ids, and behind them the number of the object that holds more.

    It is there before the object, so that an interrupt leaves none behind.

    Attributes:
        asked: what the kernel reads: the encoder, the address of ``ids``, the size of the text.
        start: the address of ``asked``.
    """

    __slots__ = ("_library", "asked", "ids", "start")

    def __init__(self, loaded: Library, encoder: int) -> None:
        self._library = loaded
        self.ids = numbers(_ROOM + 2)
        self.asked = array("Q", (encoder, address(self.ids), 0))
        self.start = address(self.asked)

    def _number(self) -> int:
        low, high = self.ids[-2:]  # when Python ends, a module's constants may be gone
        return high << 32 | low

    def take(self) -> OwnedNumber:
        """The object that was made, to be held from now on by who asks."""
        taken = self._library.owner(self._number())
        self.ids[_ROOM] = self.ids[_ROOM + 1] = 0
        return taken

    def __del__(self) -> None:
        number = self._number()
        if number:
            self._library.release(number)


class TextEncoder(KernelObject):
    """Texts to ids, without what goes before the pre-tokenizer. Threads may share it.

    None stands for what the kernel leaves to Python: a byte or a character without an encoding, a
    text of 2 GiB.
    """

    __slots__ = ("_encode", "_rooms")

    def __init__(self, loaded: Library, made: OwnedNumber) -> None:
        super().__init__(loaded, made)
        self._encode = loaded.encoder_encode
        self._rooms: list[_Room] = []

    def encode(self, text: str) -> list[int] | None:
        """The ids of a text. Of one with surrogates, or what is none, the kernel cannot tell."""
        ids = self.encode_array(text)
        if ids is None or len(ids) < FEW:  # most texts of a user: a call less
            return None if ids is None else ids.tolist()
        return SHARED.as_list(ids)

    def encode_array(self, text: str) -> array[int] | None:
        """The same as an array of 32 bits."""
        try:
            data = str.encode(text, "utf-8")
        except (UnicodeEncodeError, TypeError):
            return None
        try:
            room = self._rooms.pop()
        except IndexError:
            room = _Room(self.library, self.number)
        room.asked[2] = len(data)
        count: int = self._encode(room.start, data)
        if count >= 0:
            ids = room.ids[:count]
            self._rooms.append(room)
            return ids
        held = room.take() if count == _HELD else None
        self._rooms.append(room)
        if held is None:
            answer(count)
            return None
        return _taken(KernelObject(self.library, held), 1)[0]

    def encode_placed(
        self, text: str, most: int = NO_LIMIT
    ) -> tuple[list[int], list[tuple[int, int]]] | None:
        """The ids, and the characters (start, end) of the text that each stands for; a token that
        begins or ends inside a character covers it. The text is without surrogates. If there are
        more than ``most`` ids, those at the end may be left out.

        None also where characters have vanished, or an id has tokens of several sizes.
        """
        data = text.encode("utf-8")
        number = made(self.library.encoder_encode_placed(self.number, data, len(data), most))
        if number is None:
            return None
        held = KernelObject(self.library, number)
        count = answer(self.library.placed_count(held.number)) or 0
        ids, starts, ends = numbers(count), numbers(count), numbers(count)
        places = (address(ids), address(starts), address(ends))
        if answer(self.library.placed_copy(held.number, *places, count)) is None:
            raise AssertionError("ids are as many as they were counted")
        return SHARED.as_list(ids), [*zip(starts, ends, strict=True)]

    def encode_each(self, texts: Sequence[str], threads: int) -> list[array[int] | None]:
        """The ids of each text, in so many threads at most."""
        made: list[array[int] | None] = []
        for batch in _batches(texts, threads):
            ids = self._each(batch, threads)
            made += [None] * len(batch) if ids is None else ids
        return made

    def lists_of_each(self, texts: Sequence[str], threads: int) -> list[list[int] | None]:
        """The same as lists. With several threads, those of some texts are made while the next
        texts are encoded.
        """
        if threads < 2 or sum(map(len, texts)) <= _BATCH:
            return [*map(_listed, self.encode_each(texts, threads))]
        from concurrent.futures import ThreadPoolExecutor  # takes long to import

        rows: list[list[int] | None] = []
        with ThreadPoolExecutor(1) as ahead:
            running: deque[Future[list[array[int] | None]]] = deque()
            for batch in _batches(texts, threads):
                running.append(ahead.submit(self.encode_each, batch, threads))
                if len(running) > 1:
                    rows += map(_listed, running.popleft().result())
            for last in running:
                rows += map(_listed, last.result())
        return rows

    def encode_joined(
        self, texts: Sequence[str], threads: int
    ) -> tuple[array[int], array[int]] | None:
        """The ids of all texts one after the other, and where those of each end; no text has its
        own array. None where one is left to Python, has surrogates or is none.
        """
        ids, ends = array("I"), array("Q")
        try:
            for batch in _batches(texts, threads):
                part = self._joined(batch, threads)
                if part is None or max(part[1]) & _FAILED:
                    return None
                ends.extend(map(len(ids).__add__, part[1]))
                ids.extend(part[0])
        except (UnicodeEncodeError, TypeError):
            return None
        return ids, ends

    def _each(self, texts: Sequence[str], threads: int) -> list[array[int] | None] | None:
        joined = self._joined(texts, threads)
        if joined is None:
            return None
        ids, ends = joined
        places = pairwise((0, *ends))
        return [None if end & _FAILED else ids[start & ~_FAILED : end] for start, end in places]

    def _joined(self, texts: Sequence[str], threads: int) -> tuple[array[int], array[int]] | None:
        """What a call gives: an end has the mark ``_FAILED`` where a text is left to Python."""
        each = [str.encode(text, "utf-8") for text in texts]
        ends = array("Q", accumulate(map(len, each)))
        data = b"".join(each)
        wanted = max(1, min(threads, os.cpu_count() or 1, len(data) // _SHARE + 1))
        held = made(
            self.library.encoder_encode_each(
                self.number, data, len(data), address(ends), len(ends), wanted
            )
        )
        return None if held is None else _taken(KernelObject(self.library, held), len(each))


def _listed(ids: array[int] | None) -> list[int] | None:
    return None if ids is None else SHARED.as_list(ids)


def _batches(texts: Sequence[str], threads: int) -> Iterator[Sequence[str]]:
    """The texts that go into each call of so many threads; one that is too long goes alone."""
    most = _BATCH * max(1, min(threads, os.cpu_count() or 1))
    first = size = 0
    for place, text in enumerate(texts):
        if size + len(text) > most and place > first:
            yield texts[first:place]
            first, size = place, 0
        size += len(text)
    if texts:
        yield texts[first:]


def _taken(held: KernelObject, texts: int) -> tuple[array[int], array[int]]:
    """What an object holds: ids, and where those of each of its texts end."""
    count = answer(held.library.ids_count(held.number)) or 0
    ids, ends = numbers(count), array("Q", bytes(8 * texts))
    done = held.library.ids_copy(held.number, address(ids), count, address(ends), texts)
    if answer(done) is None:
        raise AssertionError("ids are as many as they were counted")
    return ids, ends


@dataclass(frozen=True, slots=True)
class Cutting:
    """What cuts a text of a model of bytes.

    Attributes:
        whole: cuts the text (None: it is one pretoken).
        gaps: the characters that are left out at the beginning of each pretoken, as ranges.
        again: then cuts each pretoken once more (None: nothing).
        letters: then cuts the bytes of each, spelled in GPT-2's alphabet (None: nothing).
    """

    whole: TableSplitter | None
    gaps: Sequence[tuple[int, int]] = ()
    again: TableSplitter | None = None
    letters: TableSplitter | None = None


def encoder_of_list(
    ids: Mapping[bytes, int],
    pairs: Sequence[tuple[bytes, bytes]],
    splitters: Cutting,
    *,
    lookup_first: bool,
    suffix: bytes,
) -> TextEncoder | None:
    """An encoder that merges the pairs of a list; None where the kernel cannot hold it.

    Args:
        ids: of all tokens that a text can spell.
        pairs: in the order of their ranks; one that comes twice counts at its last place.
        splitters: of texts and of pretokens.
        lookup_first: whether a pretoken that is a token becomes it, whatever merging gives.
        suffix: glued to the last byte of a pretoken, as in ``Affixes``.
    """
    loaded = library()
    if loaded is None:
        return None
    if isinstance(pairs, Pairs) and isinstance(ids, Numbers) and pairs.table is ids.table:
        table, merges = pairs.table, pairs.merges
    else:
        made = packed(loaded, [*ids], ids.values())
        listed = None if made is None else merges_over(loaded, made, pairs)
        if made is None or listed is None:
            return None
        table, merges = made, listed
    return _encoder(loaded, splitters, (table, merges, None), None, lookup_first, suffix)


def encoder_of_form(
    ids: Mapping[bytes, int],
    splits: Mapping[bytes, tuple[bytes, bytes]],
    splitters: Cutting,
    *,
    lookup_first: bool,
) -> TextEncoder | None:
    """An encoder that merges by a canonical form; it is None unless the kernel found the form."""
    loaded = library()
    form = found_form(splits)
    if loaded is None or form is None:
        return None
    own = None
    if not (isinstance(ids, Numbers) and ids.table is form.table):
        tokens = form.table.tokens
        if len(tokens) != len(ids):
            return None
        try:
            own = array("I", map(ids.__getitem__, tokens))
        except KeyError:
            return None
    return _encoder(loaded, splitters, (form.table, None, form), own, lookup_first, b"")


def _encoder(
    loaded: Library,
    splitters: Cutting,
    rule: tuple[KernelObject, KernelObject | None, KernelObject | None],
    ids: array[int] | None,
    lookup_first: bool,
    suffix: bytes,
) -> TextEncoder | None:
    cutting = splitters.whole, splitters.again, splitters.letters
    gaps = array("I", chain.from_iterable(splitters.gaps))
    held = made(
        loaded.encoder_new(
            *(each.number if each else 0 for each in (*cutting, *rule)),
            suffix,
            len(suffix),
            address(gaps) if gaps else 0,
            len(splitters.gaps),
            address(ids) if ids else 0,
            len(ids) if ids else 0,
            lookup_first,
        )
    )
    return None if held is None else TextEncoder(loaded, held)


_NONE = 2**32 - 1
_MISSING = ("error", "drop", "unknown")


@dataclass(frozen=True, slots=True)
class PieceSettings:
    """What a model of characters says beside its tokens and merges.

    Attributes:
        lookup_first, missing, unknown, fuse: as in ``BPEModel`` and ``Fallback``.
        after_merging: whether a missing character may merge before it falls back.
        byte_ids: the ids of the tokens that missing characters become, by byte.
        unused, defined: the ids of the tokens of these kinds (``user_defined``).
    """

    lookup_first: bool
    missing: Literal["error", "drop", "unknown"]
    unknown: int | None
    fuse: bool
    after_merging: bool
    byte_ids: Mapping[int, int]
    unused: Iterable[int]
    defined: Iterable[int]


def encoder_of_pieces(
    ids: Mapping[bytes, int],
    rule: Mapping[bytes, int] | Sequence[tuple[bytes, bytes]],
    splitter: TableSplitter | None,
    settings: PieceSettings,
) -> TextEncoder | None:
    """An encoder that merges characters; None where the kernel cannot hold it.

    Args:
        ids: of all tokens that a text can spell, contents in UTF-8.
        rule: ranks, of which some may be equal; or pairs in the order of their ranks, of which
            one that comes twice counts at its last place.
        splitter: None: a text is one pretoken.
        settings: the rest.
    """
    loaded = library()
    if loaded is None:
        return None
    table = ids.table if isinstance(ids, Numbers) else packed(loaded, [*ids], ids.values())
    held = None if table is None else _rule(loaded, table, rule)
    if table is None or held is None:
        return None
    kinds = array("I")
    for kind, ids_of_kind in ((1, settings.unused), (2, settings.defined)):
        for number in ids_of_kind:
            kinds.extend((number, kind))
    unknown = _NONE if settings.unknown is None else settings.unknown
    flags = (settings.fuse, settings.after_merging)
    missing = _MISSING.index(settings.missing)
    listed = array("I", (settings.lookup_first, missing, unknown, *flags))
    listed.extend(settings.byte_ids.get(byte, _NONE) for byte in range(256))
    encoder = made(
        loaded.piece_encoder_new(
            splitter.number if splitter else 0,
            table.number,
            held.number,
            address(kinds),
            len(kinds),
            address(listed),
            len(listed),
        )
    )
    return None if encoder is None else TextEncoder(loaded, encoder)


def _rule(
    loaded: Library,
    table: Table,
    rule: Mapping[bytes, int] | Sequence[tuple[bytes, bytes]],
) -> KernelObject | None:
    if isinstance(rule, Mapping):
        return rule.table if isinstance(rule, Numbers) else packed(loaded, [*rule], rule.values())
    if isinstance(rule, Pairs) and rule.table is table:
        return rule.merges
    return merges_over(loaded, table, rule)


def spaced(
    encoder: TextEncoder, prefix: str, *, escape: bool, once: bool = False
) -> TextEncoder | None:
    """The same encoder for texts before spaces are written; None if it is none of characters.

    Args:
        encoder: from :func:`encoder_of_pieces`.
        prefix: put before every text that is not empty.
        escape: whether spaces, those of the prefix too, are then written as U+2581.
        once: whether a text that begins with U+2581 by then is left without the prefix.
    """
    written = prefix.encode("utf-8")
    flags = escape | once << 1
    held = made(encoder.library.piece_encoder_spaced(encoder.number, written, len(written), flags))
    return None if held is None else TextEncoder(encoder.library, held)


COUNT = 1 << 18
"""The integers that are shared begin with 0, and are so many: the ids of nearly all tokenizers."""

_MANY = 1 << 18
"""So many ids are listed before the integers are made: that takes about as long as so many ids."""

FEW = 256
"""Of fewer ids, a list is made sooner without."""
# Measured with CPython 3.11 and numpy 2: a list that is kept is made in 0.8 of the time at 256 ids
# and 0.5 from 4,000 on; one that is dropped at once in 1.35 at 256, 1.0 at 1,000, 0.7 at 100,000.
# gpt2 encodes 460 kB of prose in 0.6 of the time. An id takes 8 bytes of a list instead of 36.


class SharedIntegers:
    """Makes lists of ids. Threads may share it."""

    __slots__ = ("_integers", "_listed")

    def __init__(self) -> None:
        self._listed = 0
        self._integers: npt.NDArray[np.object_] | None = None

    def as_list(self, ids: array[int]) -> list[int]:
        """The same ids as a list."""
        if len(ids) < FEW or "numpy" not in sys.modules:
            return ids.tolist()
        integers = self._integers
        if integers is None:
            self._listed += len(ids)
            if self._listed < _MANY:
                return ids.tolist()
            integers = self._integers = _integers()
        import numpy as np  # it is there; where another thread loads it, this one waits

        try:
            taken: list[int] = integers.take(np.frombuffer(ids, np.uint32)).tolist()
        except IndexError:  # an id that is larger
            return ids.tolist()
        return taken


def _integers() -> npt.NDArray[np.object_]:
    import numpy as np

    return np.arange(COUNT).astype(object)


SHARED = SharedIntegers()
"""For all encoders of the process."""


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
        return None if number is None else _text_of(KernelObject(self.library, number))


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


class CharacterMapper(KernelObject):
    """A map of characters. Threads may share it."""

    def write(self, text: str) -> str | None:
        """What a text becomes; None where Python tells."""
        data = text.encode("utf-8")
        number = made(self.library.character_map_write(self.number, data, len(data)))
        return None if number is None else _text_of(KernelObject(self.library, number))


def _text_of(held: KernelObject) -> str:
    room = bytearray(answer(held.library.text_size(held.number)) or 0)
    answer(held.library.text_copy(held.number, address(room), len(room)))
    return room.decode("utf-8")


def mapper_of(
    pages: array[int], kinds: bytes, changed: array[int], runs: array[int]
) -> CharacterMapper | None:
    """A map of characters by its tables (:class:`.text.character_maps.CharacterMap`).

    None without a kernel, or where it cannot hold it.
    """
    loaded = library()
    if loaded is None:
        return None
    held = made(
        loaded.character_map_new(
            *(address(pages), len(pages), kinds, len(kinds)),
            *(address(changed), len(changed), address(runs), len(runs)),
        )
    )
    return None if held is None else CharacterMapper(loaded, held)


@dataclass(frozen=True, slots=True)
class KernelNormalizer:
    """What the kernel does at last of a normalizer, with each stretch between added tokens.

    Attributes:
        prefix: put before the text; None: nothing is put there, and no space is written.
        escape: whether spaces, those of the prefix too, are then written as U+2581.
    """

    prefix: str | None = None
    escape: bool = False


def encoder_around(
    encoders: tuple[TextEncoder, TextEncoder],
    normal: KernelNormalizer,
    changes: Sequence[KernelObject],
    tokens: Sequence[Sequence[tuple[str, int, int]]],
    words: Sequence[tuple[int, int]],
    template: tuple[Sequence[int], Sequence[int]],
) -> TextEncoder | None:
    """The encoder of whole texts; None where the kernel cannot hold what is asked for.

    Args:
        encoders: of a stretch of normalized text that begins its text, and of the others.
        normal: the end of the normalizer.
        changes: what does the changes that it begins with, in their order. What the kernel does
            not write so, Python normalizes.
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
    objects = array("q", [each.number if each else 0 for each in (*encoders, *phases, *changes)])
    prefix = (normal.prefix or "").encode("utf-8")
    flags = normal.escape | (normal.prefix is None) << 2
    placed = array("I", chain(*template))
    encoder = made(
        loaded.around_new(
            *(address(objects), len(objects), prefix, len(prefix), flags, address(placed)),
            *map(len, template),
        )
    )
    return None if encoder is None else TextEncoder(loaded, encoder)
