"""Convert BPE tokenizers between formats: exactly, or with an error that says why not.

>>> import bpe_interop
>>> tok = bpe_interop.load("tiktoken:gpt2")
>>> tok.encode("    hello world!!!")
[220, 220, 220, 23748, 995, 10185]
"""

from __future__ import annotations

import sys
import types

from .exports import exported

TYPE_CHECKING = False  # type checkers take the name as True; to import typing takes longer
if TYPE_CHECKING:
    from pathlib import Path

    from . import errors
    from .compare import Report, verify
    from .convert import Conversion, convert
    from .diff import Difference, diff
    from .loss import Loss
    from .model import BPEModel
    from .statement import Statement
    from .statistics import measure
    from .text.visible import replace_control_characters
    from .tokenizer import Tokenizer
    from .train import train

    __version__: str

__all__ = [
    "BPEModel",
    "Conversion",
    "Difference",
    "Loss",
    "Report",
    "Statement",
    "Tokenizer",
    "convert",
    "diff",
    "errors",
    "load",
    "measure",
    "replace_control_characters",
    "train",
    "verify",
]


def load(
    source: str | Path,
    *,
    format: str | None = None,
    preset: str | None = None,
    engine: str | None = None,
    offline: bool = False,
    said: Statement | None = None,
) -> Tokenizer:
    """Loads a tokenizer: a file, a directory, ``tiktoken:NAME``, ``hf:org/name[@revision][:FILE]``.

    Args:
        source: the path or name.
        format: read it as this format (``bpe-interop formats`` names them), where it cannot be
            told.
        preset: a preset that says what the files leave unsaid (pattern, special tokens).
        engine: encode with this installed engine, or ``"auto"``; None is our own encoder.
        offline: never use the network.
        said: what the files leave unsaid and you know: ``Statement(template="bos")``.

    Raises:
        BpeInteropError: see :mod:`bpe_interop.errors`.
    """
    from .gc_pause import paused

    with paused():  # also while modules are imported, where it takes a tenth of the time
        from .sources import load_source
        from .statement import Statement
        from .tokenizer import Tokenizer

        loaded = load_source(
            source, format=format, preset=preset, offline=offline, said=said or Statement()
        )
    return Tokenizer(loaded.model, engine=engine)


if not TYPE_CHECKING:  # a type checker would take any name for an Any
    _get = exported(
        __name__,
        {
            "convert": ("Conversion", "convert"),
            "diff": ("Difference", "diff"),
            "errors": (),
            "loss": ("Loss",),
            "model": ("BPEModel",),
            "statement": ("Statement",),
            "text.visible": ("replace_control_characters",),
            "tokenizer": ("Tokenizer",),
            "train": ("train",),
            "compare": ("Report", "verify"),
            "statistics": ("measure",),
        },
    )

    def __getattr__(name):
        if name == "__version__":
            from importlib.metadata import version  # to find it takes 20 ms

            return version("bpe-interop")
        return _get(name)


def __dir__() -> list[str]:
    return sorted({*(name for name in globals() if name.startswith("__")), *__all__})


_FUNCTIONS = frozenset({"convert", "diff", "train"})


class _Package(types.ModuleType):
    """Keeps a function in reach whose module has its name: ``diff``, ``convert``, ``train``.

    Importing a submodule sets it as an attribute here, which would hide the function.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _FUNCTIONS and isinstance(value, types.ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
