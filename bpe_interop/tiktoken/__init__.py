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

from typing import TYPE_CHECKING

from ..exports import exported
from . import model
from .core import Encoding
from .model import encoding_for_model, encoding_name_for_model
from .registry import get_encoding, list_encoding_names

if TYPE_CHECKING:
    from . import load

__all__ = [
    "Encoding",
    "__version__",
    "encoding_for_model",
    "encoding_name_for_model",
    "get_encoding",
    "list_encoding_names",
    "load",
    "model",
]

__version__ = "0.14.0"
"""The version of tiktoken whose names these are."""

if not TYPE_CHECKING:  # a type checker would take any name for an Any
    __getattr__ = exported(__name__, {"load": ()})  # it writes files, as few do
