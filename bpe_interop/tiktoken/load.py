"""Reading and writing tables of ranks, as ``tiktoken.load`` does.

Two things are otherwise. No address is fetched: its file comes from tiktoken's cache, if its sha256
is given, or from a ``read_file`` that you put in place of this one. And nothing is written to that
cache, so a path always gives what lies there now.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from ..engines.tiktoken import cached
from ..errors import FormatError, SourceError
from ..formats import by_name
from ..formats.tiktoken.ranks import read_ranks, write_ranks
from ..io.reader import read
from ..io.writer import staged
from ..model import PairList
from ..text.bytechars import BYTE_TO_CHAR

__all__ = [
    "check_hash",
    "data_gym_to_mergeable_bpe_ranks",
    "dump_tiktoken_bpe",
    "load_tiktoken_bpe",
    "read_file",
    "read_file_cached",
]

_ENDS = (b"<|endoftext|>", b"<|startoftext|>")
"""Tokens of GPT-2's vocabulary that tiktoken has as special tokens (``tiktoken/load.py``)."""


def read_file(blobpath: str) -> bytes:
    """The bytes of a file; of a GGUF file, those of its head.

    Raises:
        OSError: the file cannot be read, as FileNotFoundError where it is not there.
        SourceError: it is too large for a tokenizer or no regular file, or this is an address.
    """
    if "://" in blobpath:
        raise SourceError(
            "no address is fetched here",
            where=blobpath,
            fix="download the file and give its path, give the sha256 of a file that is in "
            "tiktoken's cache, or name the encoding: get_encoding(...)",
        )
    try:
        return read(Path(blobpath))
    except SourceError as error:
        if isinstance(error.__context__, OSError):  # as tiktoken raises it
            raise error.__context__ from None
        raise


def check_hash(data: bytes, expected_hash: str) -> bool:
    """Whether bytes have this sha256 (hex, in small letters)."""
    return sha256(data).hexdigest() == expected_hash


def read_file_cached(blobpath: str, expected_hash: str | None = None) -> bytes:
    """The bytes of a file, or of an address whose file lies in tiktoken's cache.

    Args:
        blobpath: a path or an address.
        expected_hash: the sha256 (hex), to be checked. Without it, the cache is not asked: anyone
            may write to it.

    Raises:
        OSError, SourceError: as :func:`read_file`.
        FormatError: the file has another sha256 (also ValueError).
    """
    kept = cached(blobpath, expected_hash) if expected_hash and "://" in blobpath else None
    data = read_file(blobpath) if kept is None else kept
    if expected_hash and not check_hash(data, expected_hash):
        raise FormatError(
            f"the sha256 is {sha256(data).hexdigest()}, and {expected_hash} was expected",
            where=blobpath,
            fix="get the file again, or correct the hash",
        )
    return data


def load_tiktoken_bpe(tiktoken_bpe_file: str, expected_hash: str | None = None) -> dict[bytes, int]:
    """The ranks of a rank file: bytes of tokens to their ids.

    Args:
        tiktoken_bpe_file: a path, or an address whose file lies in tiktoken's cache.
        expected_hash: the file's sha256 (hex), to be checked.

    Raises:
        OSError, SourceError: it cannot be read, as :func:`read_file_cached`.
        FormatError: it is no rank file, or has another sha256 (also ValueError).
    """
    return dict(read_ranks(read_file_cached(tiktoken_bpe_file, expected_hash), tiktoken_bpe_file))


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
    clobber_one_byte_tokens: bool = False,
) -> dict[bytes, int]:
    """The ranks that GPT-2's two files stand for: bytes of tokens to their ids.

    Args:
        vocab_bpe_file: a path or an address.
        encoder_json_file: a path or an address.
        vocab_bpe_hash: the first file's sha256 (hex), to be checked.
        encoder_json_hash: the second one's.
        clobber_one_byte_tokens: tokens of one byte may have any ids, not only GPT-2's.

    Raises:
        OSError, SourceError: one cannot be read, as :func:`read_file_cached`.
        FormatError: the two are no pair, the ids are not in the order of the merges, or a file has
            another sha256 (also ValueError).
    """
    pair = {
        "vocab.bpe": read_file_cached(vocab_bpe_file, vocab_bpe_hash),
        "encoder.json": read_file_cached(encoder_json_file, encoder_json_hash),
    }
    model = by_name("gpt2").load(pair)
    ids = {token: id for token, id in model.vocab.ids.items() if token not in _ENDS}
    letters = [bytes([byte]) for byte in sorted(BYTE_TO_CHAR, key=BYTE_TO_CHAR.__getitem__)]
    pairs = model.merges.pairs if isinstance(model.merges, PairList) else ()
    order = [*letters, *(left + right for left, right in pairs)]
    ranks = {token: rank for rank, token in enumerate(order)}
    if clobber_one_byte_tokens:
        ranks |= {token: ids[token] for token in letters if token in ids}
    if ranks != ids:
        raise FormatError(
            "the ids are not those of GPT-2's 256 bytes and then of the merges in their order",
            where=encoder_json_file,
            fix="name the two files of one tokenizer; where only its bytes have other ids, give "
            "clobber_one_byte_tokens=True",
        )
    return ids
