"""Finding and loading the library, and what its functions are called with.

The twin is ``native/src/interface.rs``.
"""

from __future__ import annotations

import os
import sys
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, NoReturn, Protocol

from ..errors import EngineError, EngineMissingError

VARIABLE = "BPE_INTEROP_KERNEL"
"""The environment variable that chooses: ``python`` or ``native``; else what is there."""

_INTERFACE = 24
"""Raised with every change of ``interface.rs``: a library of other sources is not called."""

_NOT_MINE = -1
_FOLDER = Path(__file__).parent / "built"
_SUFFIX = {"darwin": "dylib", "win32": "dll"}.get(sys.platform, "so")
_FIX = "install Rust (cargo), then install bpe-interop again"


_aside: ContextVar[bool] = ContextVar("kernel_set_aside", default=False)


class Running(NamedTuple):
    """Which kernel does the work.

    ``how``: for the native one, what built it and for which platform. ``why_not``: why the
    native one does not run.
    """

    kernel: Literal["native", "python"]
    how: str = ""
    why_not: str = ""

    def __str__(self) -> str:
        if self.kernel == "native":
            return f"native ({self.how})"
        return f"python (not native: {self.why_not})"


_OTHER = "it was built from other sources; install bpe-interop again"


class OwnedNumber(Protocol):
    """What a function of the library gives that makes an object: its number, or a status.

    It lets go of the object when it goes itself. ctypes makes it in C, within the call: where an
    interrupt arrives as the call ends, the object is let go of too.
    """

    value: int


class _Declared:
    """Declares functions of a loaded library: those that give a number, those that make an object.

    Attributes:
        owner: what the latter give; see :class:`OwnedNumber`.
        release: lets go of an object.
    """

    def __init__(self, loaded: Any) -> None:
        import ctypes

        self._loaded, self._number = loaded, ctypes.c_int64
        self.release = release = self("object_release", ctypes.c_int64)

        class Owner(ctypes.c_int64):
            """See :class:`OwnedNumber`."""

            def __del__(self) -> None:
                if self.value > 0:
                    release(self.value)

        self.owner = Owner

    def __call__(self, name: str, *arguments: object) -> Callable[..., int]:
        """A function that gives a number.

        Raises:
            OSError: the library has none of this name.
        """
        function = self._named(name)
        function.restype, function.argtypes = self._number, arguments
        called: Callable[..., int] = function
        return called

    def making(self, name: str, *arguments: object) -> Callable[..., OwnedNumber]:
        """A function that makes an object; raises the same."""
        function = self._named(name)
        function.restype, function.argtypes = self.owner, arguments
        called: Callable[..., OwnedNumber] = function
        return called

    def _named(self, name: str) -> Any:
        try:
            return getattr(self._loaded, name)
        except AttributeError:
            raise OSError(_OTHER) from None


class Library:
    """The library's functions. Every result above 0 is an object's number, or a count."""

    def __init__(self, path: Path) -> None:
        """Loads it.

        Raises:
            OSError: it cannot be loaded, or has another interface.
        """
        import ctypes

        loaded = ctypes.CDLL(str(path))
        try:
            interface = loaded.kernel_interface
            interface.restype, interface.argtypes = ctypes.c_uint32, []
            version = interface()
        except AttributeError:
            version = 0
        if version != _INTERFACE:
            raise OSError(_OTHER)

        declared = _Declared(loaded)
        self.owner: Callable[[int], OwnedNumber] = declared.owner
        self.release = declared.release
        self.sources = declared("kernel_sources", ctypes.c_void_p, ctypes.c_size_t)
        self.panics = declared("kernel_panics")
        self.objects_held = declared("objects_held")
        self.before_fork, self.after_fork = declared("before_fork"), declared("after_fork")
        self._declare_tables(declared)
        self._declare_forms(declared)
        self._declare_encoding(declared)
        self._declare_writing(declared)
        self._declare_training(declared)
        self._hook_forks()

    def _declare_tables(self, declared: _Declared) -> None:
        """What reads and holds vocabularies and merges."""
        import ctypes

        pointer, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64
        self.ranks_read = declared.making("ranks_read", ctypes.c_char_p, size)
        self.table_new = declared.making("table_new", ctypes.c_char_p, size, pointer, pointer, size)
        self.table_sizes = declared("table_sizes", number, pointer)
        self.table_tokens = declared("table_tokens", number, pointer, size, pointer, size)
        self.table_numbers = declared("table_numbers", number, pointer, size)
        self.table_find = declared("table_find", number, ctypes.c_char_p, size)
        self.table_token = declared("table_token", number, size, pointer, size)
        self.merges_new = declared.making(
            "merges_new", number, ctypes.c_char_p, size, pointer, size
        )
        flag, text = ctypes.c_uint32, ctypes.c_char_p
        self.json_read = declared("json_read", text, size, flag, pointer, pointer, size)
        self.pair_read = declared("pair_read", text, size, text, size, pointer, pointer, size)
        self.merges_used = declared("merges_used", number, number, pointer, size)
        self.merges_count = declared("merges_count", number)
        self.merges_copy = declared("merges_copy", number, pointer, pointer, size)
        self.table_without = declared("table_without", number, number, pointer, size, pointer)
        self.table_numbered = declared("table_numbered", number, pointer, size, pointer)
        self.table_place = declared("table_place", number, ctypes.c_char_p, size)
        self.tables_apart = declared("tables_apart", number, number, pointer, pointer, size)
        self.merges_same = declared("merges_same", number, number, number, number)
        self.pieces_read = declared("pieces_read", text, size, pointer)
        self.pieces_sizes = declared("pieces_sizes", number, pointer)
        self.pieces_copy = declared(
            "pieces_copy", number, pointer, size, pointer, size, pointer, size
        )

    def _declare_forms(self, declared: _Declared) -> None:
        """What finds and compares canonical forms."""
        import ctypes

        pointer, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64
        flag = ctypes.c_uint32
        self.canonical_form = declared.making("canonical_form", number, number, flag, flag)
        self.form_of_ties = declared.making("form_of_ties", number, flag)
        self.form_listed = declared.making("form_listed", number, number, number, number, flag)
        self.ranks_listed = declared("ranks_listed", number, number, number)
        self.form_sizes = declared("form_sizes", number, pointer)
        self.form_copy = declared("form_copy", number, pointer, pointer, pointer, pointer, size)
        self.form_copy_rest = declared("form_copy_rest", number, pointer, size, pointer, size)

    def _declare_training(self, declared: _Declared) -> None:
        """What counts pretokens, and learns merges."""
        import ctypes

        pointer, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64
        text, wide = ctypes.c_char_p, ctypes.c_uint64
        self.counter_of = declared.making("counter_of", number, text, size, pointer, size)
        self.counter_absorb = declared("counter_absorb", number, number)
        self.counter_sizes = declared("counter_sizes", number, pointer)
        self.counter_copy = declared("counter_copy", number, pointer, size, pointer, pointer, size)
        self.learner_new = declared.making("learner_new", text, size, pointer, pointer, size)
        self.learner_more = declared("learner_more", number, wide, pointer, pointer, size)
        self.learner_tokens = declared("learner_tokens", number)

    def _hook_forks(self) -> None:
        """A child must not find a lock that a thread of its parent held."""
        if sys.platform != "win32":
            # The functions themselves: no signal comes between a hook and what it calls.
            os.register_at_fork(
                before=self.before_fork,
                after_in_parent=self.after_fork,
                after_in_child=self.after_fork,
            )

    def _declare_writing(self, declared: _Declared) -> None:
        """What makes the texts of files."""
        import ctypes

        pointer, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64
        text, flag = ctypes.c_char_p, ctypes.c_uint32
        self.vocabulary_text = declared.making(
            "vocabulary_text",
            *(number, pointer, size, text, size, pointer, pointer, size, flag, text, size),
        )
        self.pairs_text = declared.making("pairs_text", number, number, flag, text, size)
        self.ranks_text = declared.making("ranks_text", number)
        self.text_size = declared("text_size", number)
        self.text_copy = declared("text_copy", number, pointer, size)

    def _declare_encoding(self, declared: _Declared) -> None:
        """What splits texts, and gives their ids."""
        import ctypes

        pointer, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64
        text, flag = ctypes.c_char_p, ctypes.c_uint32
        self.splitter_after = declared.making(
            "splitter_after", number, pointer, size, text, size, pointer, size, pointer
        )
        self.splitter_cut = declared("splitter_cut", number, text, size, pointer, pointer, size)
        three = (number, number, number)
        self.encoder_new = declared.making(
            "encoder_new", *three, *three, text, size, *(pointer, size) * 2, flag
        )
        self.piece_encoder_new = declared.making(
            "piece_encoder_new", *three, pointer, size, pointer, size
        )
        self.piece_encoder_spaced = declared.making(
            "piece_encoder_spaced", number, text, size, flag
        )
        self.phase_new = declared.making(
            "phase_new", text, size, pointer, pointer, size, pointer, size
        )
        self.normal_form_new = declared.making(
            "normal_form_new", pointer, size, text, size, pointer, size, pointer, size
        )
        self.normal_form_keeps = declared("normal_form_keeps", number, text, size)
        self.normal_form_write = declared.making("normal_form_write", number, text, size)
        self.character_map_new = declared.making(
            "character_map_new", pointer, size, text, size, pointer, size, pointer, size
        )
        self.character_map_write = declared.making("character_map_write", number, text, size)
        self.around_new = declared.making(
            "around_new", pointer, size, text, size, flag, pointer, size, size
        )
        self.encoder_encode = declared("encoder_encode", pointer, text)
        self.encoder_encode_each = declared.making(
            "encoder_encode_each", number, text, size, pointer, size, size
        )
        self.encoder_encode_placed = declared.making(
            "encoder_encode_placed", number, text, size, size
        )
        self.placed_count = declared("placed_count", number)
        self.placed_copy = declared("placed_copy", number, pointer, pointer, pointer, size)
        self.ids_count = declared("ids_count", number)
        self.ids_copy = declared("ids_copy", number, pointer, size, pointer, size)
        self.decoder_new = declared.making("decoder_new", text, size, pointer, pointer, size)
        self.decoder_size = declared("decoder_size", number, pointer, size)
        self.decoder_join = declared("decoder_join", pointer)


@cache
def _loaded() -> tuple[Library | None, Running]:
    if os.environ.get(VARIABLE) == "python":
        return None, Running("python", why_not=f"{VARIABLE}=python")
    path = _FOLDER / f"kernel.{_SUFFIX}"
    why_not = "it was not built"
    try:
        if path.is_file():
            return Library(path), Running("native", how=_text("how.txt"))
        why_not = _text("why-not.txt") or why_not
    except OSError as error:
        why_not = str(error)
    if os.environ.get(VARIABLE) == "native":
        raise EngineMissingError(
            f"the native kernel is not there: {why_not}", where=f"{VARIABLE}=native", fix=_FIX
        )
    return None, Running("python", why_not=why_not)


def _text(name: str) -> str:
    path = _FOLDER / name
    return path.read_text("utf-8").strip() if path.is_file() else ""


def library() -> Library | None:
    """The library, loaded once; None where Python does everything.

    Raises:
        EngineMissingError: ``BPE_INTEROP_KERNEL=native``, and it is not there.
    """
    return None if _aside.get() else _loaded()[0]


def is_aside() -> bool:
    """Whether Python does everything just now (:func:`set_aside`)."""
    return _aside.get()


@contextmanager
def set_aside() -> Iterator[None]:
    """Within the block, Python does everything; so the two can be compared in one process."""
    before = _aside.set(True)
    try:
        yield
    finally:
        _aside.reset(before)


def running() -> Running:
    """Which kernel does the work here.

    Raises:
        EngineMissingError: ``BPE_INTEROP_KERNEL=native``, and it is not there.
    """
    return _loaded()[1]


def answer(status: int) -> int | None:
    """A function's result; None where the work is left to Python.

    Raises:
        EngineError: ``BPE_INTEROP_KERNEL=native``, and the kernel has failed by a defect of its
            own. Without that, Python does the work.
    """
    if status >= 0:
        return status
    if status != _NOT_MINE and os.environ.get(VARIABLE) == "native":
        raise defect()
    return None


def defect() -> EngineError:
    """What to raise where the kernel failed, and Python does not do its work."""
    return EngineError(
        "the native kernel failed by a defect of its own",
        fix=f"set {VARIABLE}=python: Python does the same work without it",
    )


def made(result: OwnedNumber) -> OwnedNumber | None:
    """What a function has made; None where the work is left to Python.

    Raises:
        EngineError: see :func:`answer`.
    """
    return None if answer(result.value) is None else result


class KernelObject:
    """An object of the library's, let go of with this one."""

    __slots__ = ("__weakref__", "_made", "library", "number")

    def __init__(self, library: Library, made: OwnedNumber) -> None:
        self.library = library
        self.number = made.value
        self._made = made

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} belongs to its process and is not copied")


class NumberSlots:
    """Where the library writes the numbers of objects that it makes, and other numbers.

    It is there before they are, so that an interrupt leaves none behind: it lets go of those that
    nobody has taken. A number is never given twice, so letting go twice does nothing.

    Args:
        objects: how many of the values, the first ones, are numbers of objects.
    """

    __slots__ = ("_objects", "library", "values")

    def __init__(self, library: Library, count: int, objects: int = 2) -> None:
        self.library = library
        self.values = array("Q", bytes(8 * count))
        self._objects = objects

    def take(self, place: int) -> OwnedNumber:
        """An object, to be held from now on by who asks."""
        taken = self.library.owner(self.values[place])
        self.values[place] = 0
        return taken

    def __del__(self) -> None:
        for number in self.values[: self._objects]:
            if number:
                self.library.release(number)


def numbers(count: int) -> array[int]:
    """Room for numbers of 32 bits."""
    return array("I", (0,)) * count


def address(values: array[int] | array[float] | bytearray) -> int:
    """Where an array's values are; it must live as long as the address is used."""
    if isinstance(values, bytearray):
        import ctypes

        # Of one character: an array type for each length would be made, and kept.
        first = ctypes.c_char if values else ctypes.c_char * 0
        return ctypes.addressof(first.from_buffer(values))
    return values.buffer_info()[0]
