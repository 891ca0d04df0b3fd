"""Reading and writing tables of ranks, as ``tiktoken.load`` does."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from ..errors import FormatError, SourceError
from ..formats import by_name
from ..formats.tiktoken.ranks import read_ranks, write_ranks
from ..io import cached, read, staged

__all__ = ["data_gym_to_mergeable_bpe_ranks", "dump_tiktoken_bpe", "load_tiktoken_bpe"]

_ENDS = (b"<|endoftext|>", b"<|startoftext|>")
"""Tokens of GPT-2's vocabulary that tiktoken has as special tokens (``tiktoken/load.py``)."""


def load_tiktoken_bpe(tiktoken_bpe_file: str, expected_hash: str | None = None) -> dict[bytes, int]:
    """The ranks of a rank file: bytes of tokens to their ids.

    Args:
        tiktoken_bpe_file: a path, or an address whose file lies in tiktoken's cache.
        expected_hash: the file's sha256 (hex), to be checked.

    Raises:
        FileNotFoundError: the file is not there.
        SourceError: it cannot be read, or its address is not in tiktoken's cache.
        FormatError: it is no rank file, or has another sha256 (also ValueError).
    """
    return dict(read_ranks(_contents(tiktoken_bpe_file, expected_hash), tiktoken_bpe_file))


def dump_tiktoken_bpe(bpe_ranks: Mapping[bytes, int], tiktoken_bpe_file: str) -> None:
    """Writes a rank file in the order of the ranks; a file that is there is replaced.

    Raises:
        TargetError: the file cannot be written.
    """
    ordered = dict(sorted(bpe_ranks.items(), key=lambda item: item[1]))
    target = Path(tiktoken_bpe_file)
    with staged(target, {target.name: write_ranks(ordered)}, force=True):
        return


def data_gym_to_mergeable_bpe_ranks(
    vocab_bpe_file: str,
    encoder_json_file: str,
    vocab_bpe_hash: str | None = None,
    encoder_json_hash: str | None = None,
) -> dict[bytes, int]:
    """The ranks that GPT-2's two files stand for: bytes of tokens to their ids.

    Raises:
        FileNotFoundError: a file is not there.
        SourceError: one cannot be read, or its address is not in tiktoken's cache.
        FormatError: the two are no pair, or one has another sha256 (also ValueError).
    """
    pair = {
        "vocab.bpe": _contents(vocab_bpe_file, vocab_bpe_hash),
        "encoder.json": _contents(encoder_json_file, encoder_json_hash),
    }
    ids = by_name("gpt2").load(pair).vocab.ids
    return {token: number for token, number in ids.items() if token not in _ENDS}


def _contents(name: str, expected: str | None) -> bytes:
    """The bytes of a file, or of an address that is in tiktoken's cache."""
    if "://" not in name:
        try:
            data = read(Path(name))
        except SourceError as error:
            if isinstance(error.__context__, FileNotFoundError):  # as tiktoken raises it
                raise error.__context__ from None
            raise
        if expected is not None and sha256(data).hexdigest() != expected:
            raise FormatError(
                f"the sha256 is {sha256(data).hexdigest()}, and {expected} was expected",
                where=name,
                fix="get the file again, or correct the hash",
            )
        return data
    kept = cached(name, expected or "")
    if kept is None:
        raise SourceError(
            "the file is not in tiktoken's cache",
            where=name,
            fix="download it and give its path, or name the encoding: get_encoding(...)",
        )
    return kept
