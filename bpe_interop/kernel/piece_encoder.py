"""Encoders in the kernel: models that merge characters. The twin is the room ``encode``."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from .canonical import merges_over
from .encoder import TextEncoder
from .library import KernelObject, Library, address, library, made
from .splitter import TableSplitter
from .tables import Numbers, Pairs, Table, packed

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
    for kind, numbers in ((1, settings.unused), (2, settings.defined)):
        for number in numbers:
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
