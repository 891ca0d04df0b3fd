"""What transformers would make of the files that a model was read from."""

from __future__ import annotations

from ...model import BPEModel
from ...strict_json import parse
from .. import Files
from .companions import Serving, read_companions, serve
from .read import main_file


def serving(files: Files, model: BPEModel) -> Serving | None:
    """What ``AutoTokenizer`` runs for files, as far as it is known here.

    Args:
        files: a ``tokenizer.json`` and what stands beside it.
        model: what reading them gave.

    Returns:
        None where the model was not read from a ``tokenizer.json``.

    Raises:
        FormatError: one of the files is malformed.
    """
    if model.origin.format != "huggingface":
        return None
    main = main_file(files)
    byte_level = b'"ByteLevel"' in files[main]
    root = parse(files[main], main)
    return serve(read_companions(files), root, model.added or (), model.alphabet, byte_level)
