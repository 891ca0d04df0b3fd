"""From a rank file and its sidecar to the model."""

from __future__ import annotations

from collections.abc import Mapping

from ...errors import FormatError
from ...model import BPEModel, Origin, RankTable, Vocab, digests, text_of
from ...steps import JoinBytes, PreTokenizerStep
from ...text.bytechars import is_mapped, to_chars
from ...theory.utf8 import missing_bytes
from .. import Files
from ..names import STEM
from ..one_pattern import read_pattern
from .ranks import PLUGIN, SUFFIX, looks_like_ranks, read_ranks
from .sidecar import Sidecar, read_sidecar


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
            files=digests({key: files[key] for key in (name, beside) if key in files}),
            notes=_remarks(numbers),
        ),
    )


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
