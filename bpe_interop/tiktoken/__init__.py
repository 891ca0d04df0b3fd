"""tiktoken's functions and its ``Encoding``, to be imported in tiktoken's place.

>>> from bpe_interop import tiktoken
>>> enc = tiktoken.get_encoding("gpt2")
>>> enc.decode(enc.encode("hello world"))
'hello world'

Its modules are tiktoken's too: ``core``, ``load``, ``model``, ``registry``. The names, arguments,
ids and kinds of errors are those of tiktoken 0.14. OpenAI's encodings are read from the folder in
which tiktoken keeps its files, checked by sha256; tiktoken itself is asked only for what is not
there. Its plugins are imported where one of their encodings, or the list of all, is asked for.
"""

from __future__ import annotations

from ..exports import exported

TYPE_CHECKING = False  # type checkers take the name as True; to import typing takes longer
if TYPE_CHECKING:
    from . import core, load, model, registry
    from .core import Encoding
    from .model import encoding_for_model, encoding_name_for_model
    from .registry import get_encoding, list_encoding_names

__all__ = [
    "Encoding",
    "__version__",
    "core",
    "encoding_for_model",
    "encoding_name_for_model",
    "get_encoding",
    "list_encoding_names",
    "load",
    "model",
    "registry",
]

__version__ = "0.14.0"
"""The version of tiktoken whose names these are."""

if not TYPE_CHECKING:  # a type checker would take any name for an Any
    __getattr__ = exported(
        __name__,
        {
            "core": ("Encoding",),
            "load": (),
            "model": ("encoding_for_model", "encoding_name_for_model"),
            "registry": ("get_encoding", "list_encoding_names"),
        },
    )


def __dir__() -> list[str]:
    return sorted({*(name for name in globals() if name.startswith("__")), *__all__})
