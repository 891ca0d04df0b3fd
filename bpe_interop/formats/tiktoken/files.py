"""Reading and writing a rank file and its sidecar."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from ...errors import FormatError
from ...model import (
    BPEModel,
    Origin,
    RankTable,
    Vocab,
    text_of,
)
from ...steps import (
    JoinBytes,
    PreTokenizerStep,
)
from ...text.bytechars import is_mapped, to_chars
from ...theory.utf8 import missing_bytes
from .. import Files
from ..names import STEM
from ..one_pattern import pat_str, read_pattern
from .ranks import PLUGIN, SUFFIX, looks_like_ranks, read_ranks, write_ranks, written_tokens
from .sidecar import OWN_KEY, Sidecar, held_tokens, n_vocab, read_sidecar, write_sidecar


def load(files: Files) -> BPEModel:
    """Reads a rank file and its sidecar ``<rank file name>.json``, if that is there.

    Without the sidecar, pattern, added tokens and sequence template are unknown (``None``).

    Raises:
        FormatError: a file is malformed, or it is not clear which one is the rank file; the
            message names the line or the JSON path.
    """
    name = _rank_file(files)
    numbers = read_ranks(files[name], name)
    beside = f"{name}.json"
    stated = Sidecar(name=_stem(name))
    if beside in files:
        stated = read_sidecar(files[beside], beside, numbers)
    _check_spelling(numbers, name)
    ranks = numbers
    if b"" in numbers:
        ranks = {token: number for token, number in numbers.items() if token}
    pretokenizer: tuple[PreTokenizerStep, ...] | None = None
    if stated.pattern is not None:
        pretokenizer = read_pattern(stated.pattern, f"{beside}: $.pat_str")
    return BPEModel(
        vocab=Vocab(numbers),
        merges=RankTable(ranks),
        lookup_first=True,
        normalizer=(),
        pretokenizer=pretokenizer,
        added=stated.added,
        sequence_template=stated.sequence_template,
        decoder=(JoinBytes(),),
        chat_template=stated.chat_template,
        origin=Origin(
            "tiktoken",
            name=stated.name or _stem(name),
            files={
                key: hashlib.sha256(files[key]).hexdigest()
                for key in (name, beside)
                if key in files
            },
            notes=_remarks(numbers),
        ),
    )


def dump(model: BPEModel, *, name: str | None = None) -> Files:
    """Writes ``NAME.tiktoken`` and ``NAME.tiktoken.json``.

    The sidecar holds what the model states; what is unknown is left out of it.

    Args:
        model: the model.
        name: the files' name; else the model's own, or ``tokenizer`` where that is no file name.
    """
    own = model.origin.name if STEM.fullmatch(model.origin.name) else ""
    stem = name or own or "tokenizer"
    numbers = written_tokens(model)
    added = None if model.added is None else held_tokens(model.added, numbers)
    sidecar = Sidecar(
        name=own or stem,
        pattern=pat_str(model),
        added=added,
        explicit_n_vocab=None if added is None else n_vocab(numbers, added),
        sequence_template=model.sequence_template,
        chat_template=model.chat_template,
    )
    return {
        f"{stem}{SUFFIX}": write_ranks(numbers),
        f"{stem}{SUFFIX}.json": write_sidecar(sidecar),
    }


def notes(files: Files) -> list[str]:
    """What a user of the written files should know."""
    return [
        f"{name}: tiktoken.Encoding takes the other keys; tiktoken itself does not apply "
        f"{OWN_KEY!r} (sequence template, roles, chat template)"
        for name, data in files.items()
        if name.endswith(f"{SUFFIX}.json") and f'"{OWN_KEY}"'.encode() in data
    ]


def with_plugin(model: BPEModel, files: Files) -> Files:
    """The files, and an installable plugin."""
    from .plugin import plugin

    name = model.origin.name or "tokenizer"
    return {**files, **{f"{PLUGIN}{key}": data for key, data in plugin(model, name).items()}}


def _check_spelling(numbers: Mapping[bytes, int], name: str) -> None:
    """Refuses tokens that are GPT-2's letters for bytes: no space of a text is among them."""
    if b" " in numbers or to_chars(b" ").encode() not in numbers:
        return
    if all(is_mapped(text_of(token) or "\n") for token in numbers if token):
        raise FormatError(
            "its tokens are spelled in GPT-2's letters (Ġ for a space), not in bytes: in no engine "
            "would a space have an id",
            where=name,
            fix="write it from what it was made from, a tokenizer.json or vocab.json and "
            "merges.txt: bpe-interop convert SRC DST --to tiktoken",
        )


def _rank_file(files: Files) -> str:
    names = [name for name in files if not (name.endswith(".json") and name[:-5] in files)]
    names = [name for name in names if not name.startswith(PLUGIN)]
    if len(names) > 1:
        likely = [name for name in names if looks_like_ranks(files[name])]
        names = likely or [name for name in names if name.endswith(SUFFIX)] or names
    if len(names) == 1:
        return names[0]
    raise FormatError(
        f"expected one rank file, found {', '.join(sorted(names)) or 'none'}",
        fix="name the rank file; its sidecar is its name followed by .json",
    )


def _stem(name: str) -> str:
    stem = name.removesuffix(SUFFIX)
    return stem if stem != name and STEM.fullmatch(stem) else ""


def _remarks(numbers: Mapping[bytes, int]) -> tuple[str, ...]:
    missing = sorted(missing_bytes(numbers))
    if not missing:
        return ()
    shown = " ".join(f"{byte:02X}" for byte in missing[:8]) + (" ..." if len(missing) > 8 else "")
    return (
        f"{len(missing)} bytes that occur in UTF-8 have no token ({shown}): a text that needs one "
        "has no encoding, and tiktoken itself panics on it",
    )
