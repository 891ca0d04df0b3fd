"""transformers (https://github.com/huggingface/transformers) as an engine: ``AutoTokenizer``.

``special="text"`` is ``split_special_tokens=True``; ``special="parse"`` passes nothing, so that the
directory's own setting acts, as in a user's call. Tokenizers with a ``tokenizers`` pipeline
inside (``PreTrainedTokenizerFast`` and every class that transformers 5 rebuilds) take it as
tokenizers' ``encode_special_tokens``. Classes in Python split *every* added token then, the ones
that are not special too (``tokenization_python.py``).
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict, Union

from ..errors import EngineError, FormatError
from ..formats import Files
from ..formats.huggingface import main_file
from ..formats.huggingface.companions.auto_class import Serving, serve
from ..formats.huggingface.companions.files import read_companions
from ..formats.huggingface.vocab import take
from ..formats.names import BESIDE, MAIN, MODEL_CONFIG
from ..io.reader import read as read_file
from ..model import BPEModel
from ..strict_json import parse
from ..transformers_classes import DECODED_OTHERWISE, DEFAULT, TEKKEN_TYPES, TRANSFORMERS
from .library import LibraryEngine, Special, folder_of, installed, library, reading
from .live import model_from_transformers

_SEE = (
    "AutoTokenizer.from_pretrained(DIR) fails alike, and shows where: often the class that "
    "tokenizer_config.json names needs a file that is not there"
)


class TransformersEngine(LibraryEngine):
    """What ``AutoTokenizer`` gives, as an engine; nothing is truncated or padded."""

    name = "transformers"

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.version = installed("transformers") or ""
        # split_special_tokens is set on the object that threads would share.
        self._one_at_a_time = threading.Lock()

    def _encode(self, text: str, special: Special, add_special_tokens: bool) -> list[int]:
        # Parsed is what a call gives that says nothing: the directory's own settings
        # (split_special_tokens, model_input_names) then act, as they do for whoever is served.
        flags = {"split_special_tokens": True} if special == "text" else {}
        with self._one_at_a_time:
            encoded = self.tokenizer(
                text,
                add_special_tokens=add_special_tokens,
                **flags,
                verbose=False,
            )
        return list(encoded["input_ids"])

    def _decode(self, ids: list[int]) -> str:
        # Cleaned up or not as the directory's configuration says.
        return str(self.tokenizer.decode(ids, skip_special_tokens=False))

    @property
    def class_name(self) -> str:
        return type(self.tokenizer).__name__

    def model(self) -> BPEModel | None:
        """The model that runs here; None where it has no pipeline that can be read as one."""
        if getattr(self.tokenizer, "backend_tokenizer", None) is None:
            return None
        try:
            return model_from_transformers(self.tokenizer)
        except FormatError:
            return None


def read_directory(path: str | Path) -> TransformersEngine:
    """Reads a directory as it stands: no network, no code from the directory.

    Raises:
        EngineMissingError, EngineError: as :func:`engines.from_directory`.
    """
    with _without_advice():
        transformers = library("transformers")
    if not Path(path).is_dir():
        raise EngineError("transformers reads a directory, and there is none", where=str(path))
    fix = _SEE
    if installed("protobuf") is None and any(Path(path).glob("*.model")):
        # Without it transformers takes the file for another, and says so (measured with 5.24).
        fix = "pip install protobuf, with which transformers reads a .model"
    other = _named_otherwise(Path(path))
    if other:
        fix = f"transformers reads {MAIN}, and this folder has {other}: rename it"
    with (
        _named_in_ascii(Path(path)) as named,
        reading("transformers", f"the directory {path}", fix),
    ):
        tokenizer = transformers.AutoTokenizer.from_pretrained(
            str(named), local_files_only=True, trust_remote_code=False
        )
    return TransformersEngine(tokenizer)


def _named_otherwise(folder: Path) -> str:
    """The one file of a folder that may be its ``tokenizer.json``; empty where it has another."""
    names = [path.name for path in folder.iterdir()]
    if MAIN in names or any(name.endswith((".model", ".txt", ".vocab")) for name in names):
        return ""
    others = [name for name in names if name.endswith(".json") and name not in BESIDE]
    return others[0] if len(others) == 1 else ""


@contextlib.contextmanager
def _named_in_ascii(path: Path) -> Iterator[Path]:
    """A directory under a name that its engine can spell."""
    # Rust wants UTF-8. A name that is not ASCII may be no UTF-8, or not be it in this locale.
    whole = path.resolve()
    if str(whole).isascii() or os.name != "posix":
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        link = Path(folder, "tokenizer")
        link.symlink_to(whole, target_is_directory=True)
        yield link


@contextlib.contextmanager
def _without_advice() -> Iterator[None]:
    """Keeps transformers from advising, at import, to install libraries that run models."""
    name = "TRANSFORMERS_NO_ADVISORY_WARNINGS"
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def read(files: Files, model: BPEModel | None = None) -> TransformersEngine:
    """Reads files as a directory that holds just them, which says all.

    Raises:
        EngineMissingError, EngineError: as :func:`engines.from_files`.
    """
    with folder_of(files) as folder:
        return read_directory(folder)


@dataclass(frozen=True, slots=True)
class TekkenServing:
    """What ``AutoTokenizer`` makes of a directory with a ``tekken.json``.

    ``backend`` is the class, ``because`` says why that one; ``converts`` is whether it makes a
    tokenizer of its own from the file, which finds special tokens in texts.
    """

    backend: str
    because: str
    converts: bool


def serving_tekken(directory: Path) -> TekkenServing | None:
    """What ``AutoTokenizer`` does for a directory that may have a ``tekken.json``.

    Returns:
        None where there is none, or where a ``tokenizer.json`` beside it is run instead.

    Raises:
        SourceError, FormatError: ``config.json`` cannot be read, or is malformed.
    """
    if not (directory / "tekken.json").is_file():
        return None
    config = directory / MODEL_CONFIG
    of_type = (
        parse(read_file(config), str(config)).get("model_type").value if config.is_file() else None
    )
    why = f"model_type {of_type!r}" if of_type else f"no model_type in a {MODEL_CONFIG}"
    if of_type in TEKKEN_TYPES:
        if installed("mistral-common") is not None:
            return TekkenServing("MistralCommonBackend", f"{why}, and tekken.json", False)
        why += ", and mistral-common is not installed"
    if (directory / "tokenizer.json").is_file():
        return None
    return TekkenServing(DEFAULT, why, True)


def serving(files: Files, model: BPEModel) -> Serving | None:
    """What ``AutoTokenizer`` would run for files, as far as it is known without asking it.

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
    taken = take(files[main], main)
    root = parse(files[main], main) if taken is None else taken.root
    vocab = root["model"]["vocab"].be(dict) if taken is None else taken.words.ids
    beside, added = read_companions(files), model.added or ()
    return serve(beside, root, added, model.alphabet, byte_level, vocab)


Served = TypedDict(
    "Served", {"class": Union[str, None], "because": str, "other": list[str], "notes": list[str]}
)
"""What transformers runs: a class, null where it is not known here, and the fields in which it is
``other`` than what is read here.
"""


def served_facts(files: Files, model: BPEModel, directory: Path | None) -> Served | None:
    """What ``AutoTokenizer`` runs.

    Args:
        files: the files that were read.
        model: what reading them gave.
        directory: the folder that they are in, where one was named.

    Returns:
        None where it runs none of these files.
    """
    tekken = serving_tekken(directory) if directory is not None else None
    if tekken is not None:
        reads = "tekken.json" in files
        return {
            "class": tekken.backend,
            "because": tekken.because,
            "other": ["added"] if tekken.converts or not reads else [],
            "notes": [] if reads else ["it runs tekken.json, and not the file that is read here"],
        }
    served = serving(files, model)
    if served is None:
        return None
    return {
        "class": served.choice.name or None if served.choice.known else None,
        "because": served.choice.because,
        "other": [*served.fields, *(["added"] if served.on_tokens else [])],
        "notes": list(served.notes),
    }


_OTHER = {"added": "set of added tokens, or takes them otherwise"}


def tell_served(served: Mapping[str, Any], ask: str) -> str:
    """The facts as a sentence; ``ask`` says how to see what is not what was read."""
    name, why = served["class"], f"({served['because']})"
    if name is None:
        return f"it is not known here what {TRANSFORMERS} runs {why}; {ask}"
    also = DECODED_OTHERWISE.get(name, "")
    if not served["other"]:
        what = "it gives the ids that are read here" + (f", but {also}" if also else "")
        return f"{TRANSFORMERS} runs {name} {why}: {what}"
    fields = " and another ".join(
        _OTHER.get(name, name.replace("_", " ")) for name in served["other"]
    )
    return f"{TRANSFORMERS} runs {name} {why}: it has another {fields}; {ask}"
