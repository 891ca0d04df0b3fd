"""Files that hold no tokenizer that is read here: what they are, and the next step."""

from __future__ import annotations

import re
import shlex
import struct
from pathlib import Path
from typing import NoReturn

from ..errors import SourceError, not_utf8
from ..formats import Format, all_formats
from .names import halves, never_alone

OWN_FILE = "name the file of the tokenizer itself, or the directory that it is in"
_AGAIN = "the file is damaged, or another one was meant: get it again, or name that"

_UNPICKLE = (
    "import pickle; from bpe_interop import Tokenizer; "
    "Tokenizer.from_tiktoken(pickle.load(open({!r}, 'rb'))).save('DST', 'hf')"
)
_ZIP, _TORCH = b"PK\x03\x04", b".pkl"
_HTML = rb"(?i)\s*<(!doctype\s+html|html|head|body)\b"
_WORD_PIECE = rb"(?:\A|\n)\[UNK\]\r?\n"
_LFS = b"version https://git-lfs.github.com/spec/"
_RWKV = rb"\A\d+ b?(['\"]).*\1 \d+\r?\n"
_LEARNED = rb"\A#version: 0\.\d\r?\n|\A(?:\S+ \S+ \d+\r?\n)+?\S+ \S+</w> \d+\r?\n"
_LISTED = rb"\A<unk>\t0\r?\n(?:.*\t.*\r?\n)+"
_IDS_ALONE = rb'\A\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\d+\s*[,}]'
_BOM = b"\xef\xbb\xbf"
HEAD_BYTES = 1 << 16
"""As much of a file as shows what it is."""


def explain(path: Path, data: bytes, wanted: Format | None) -> NoReturn:
    """Raises what is known of a file that no reader, or not the wanted one, takes.

    Raises:
        SourceError: what it is, and the next step.
    """
    if not data.strip():
        raise SourceError("the file is empty", where=str(path), fix="get it again")
    refuse_lock(path, data)
    if found := recognised(path, data) or _weights(data):
        what, fix = found
        raise SourceError(what, where=str(path), fix=fix)
    for own, (other, whole) in halves().items():
        if path.name.endswith(own):
            raise SourceError(
                f"half of {whole}; {other} is missing",
                where=str(path),
                fix="put the other half beside it; on the hub, name the repository without a file",
            )
    if path.suffix == ".json":
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise SourceError(not_utf8(error), where=str(path), fix=_AGAIN) from None
        if data.startswith(_BOM):
            raise SourceError(
                "the file begins with a byte order mark, which is no JSON: no engine reads it",
                where=str(path),
                fix="save it as UTF-8 without one: "
                rf"sed -i '1s/^\xEF\xBB\xBF//' {shlex.quote(str(path))}",
            )
        if not data.lstrip().startswith(b"{"):
            raise SourceError("this is not a JSON object", where=str(path), fix=_AGAIN)
    if wanted:
        raise SourceError(
            f"this is no {wanted.title}",
            where=str(path),
            fix=f"{OWN_FILE}, or another format with --from (format=...)",
        )
    titles = ", ".join(row.title for row in all_formats())
    raise SourceError(
        f"this is none of: {titles}",
        where=str(path),
        fix=OWN_FILE,
    )


def refuse_lock(path: Path, data: bytes) -> None:
    """Raises SourceError for a lock file, which a folder of a tokenizer may hold."""
    head = data[:4096].lstrip()
    if b'"bpe_interop_lock"' in head:
        raise SourceError(
            "this is a lock file: verify compares tokenizers with it, and nothing encodes with it",
            where=str(path),
            fix=f"hold a tokenizer against it: bpe-interop verify {path} SRC",
        )


def recognised(path: Path, data: bytes) -> tuple[str, str] | None:
    """What a file that is no tokenizer is, and what to do with it; None where that is not known.

    ``data`` is the file, or its first ``HEAD_BYTES``.
    """
    # Nothing in it is run: a pickle is told by its first bytes.
    pickled = data[:1] == b"\x80" and data[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05")
    if pickled or path.suffix in (".pkl", ".pickle"):
        return (
            "this is a pickle, a program that Python would run; it is never run here",
            "where you trust it, and it holds a tiktoken.Encoding (as nanochat's does): python -c "
            + _quoted(_UNPICKLE.format(str(path))),
        )
    if data.startswith(_LFS):
        return (
            "this is a pointer of Git LFS, which stands for the file itself",
            "get the file: git lfs pull, or download it from the hub",
        )
    if re.match(_HTML, data[:512]):
        return (
            "this is a web page, not the file: the download gave an error or a login page",
            "download it again; for files behind a gate, log in with `hf auth login`",
        )
    if data.startswith(b"\x1f\x8b"):
        return (
            "this is packed (gzip)",
            "unpack it; a list of merges alone, as CLIP's, has no ids: take the tokenizer.json",
        )
    if _is_llama2_c(data):
        return (
            "this is a tokenizer.bin of llama2.c: pieces and scores without what each piece is",
            "take the tokenizer.model that it was exported from (llama2.c's tokenizer.py)",
        )
    if re.search(_WORD_PIECE, data[:65536]):
        return (
            "this is a vocabulary of WordPiece (BERT), which has no merges: it is no BPE",
            "BPE tokenizers only are read here; transformers and tokenizers read WordPiece",
        )
    if re.match(_RWKV, data):
        return (
            "this is a vocabulary of RWKV, whose tokenizer takes the longest token: it is no BPE",
            "run it in RWKV's own tokenizer",
        )
    if path.name not in halves() and re.match(_LEARNED, data):
        return (
            "these are merges without ids (subword-nmt, fastBPE)",
            "take the tokenizer.json, or put both halves in one folder: vocab.json + merges.txt",
        )
    if re.match(_LISTED, data):
        return (
            "this is a listing of pieces and scores, which sentencepiece writes beside a model",
            "take the model: the .model file of the same name",
        )
    if path.name in never_alone():
        return (
            "this belongs beside a tokenizer, and the tokenizer itself is not here",
            "put it beside this file (tokenizer.json, tokenizer.model, vocab.json + merges.txt, "
            "NAME.tiktoken), and name the folder",
        )
    if path.name not in halves() and re.match(_IDS_ALONE, data):
        return (
            "this is a vocabulary, ids by tokens, without merges",
            "take the tokenizer.json; or name it vocab.json, and put its merges.txt beside it",
        )
    return None


def _weights(data: bytes) -> tuple[str, str] | None:
    """What is no tokenizer, and lies beside one in any folder of a model."""
    if data.startswith(_ZIP):
        what = "weights of PyTorch" if _TORCH in data[:4096] else "an archive (zip)"
        return (
            f"this is {what}, and no tokenizer",
            "name the tokenizer's own file or folder; an archive, unpack first",
        )
    if _is_safetensors(data):
        return (
            "these are weights (safetensors), and no tokenizer",
            "name the tokenizer.json or tokenizer.model, or the folder that holds it",
        )
    return None


def _quoted(code: str) -> str:
    """A word for a shell, in double quotes where that reads better."""
    return shlex.quote(code) if re.search(r'["\\$`!]', code) else f'"{code}"'


def _is_safetensors(data: bytes) -> bool:
    if len(data) < 10 or data[8:9] != b"{":
        return False
    (size,) = struct.unpack("<Q", data[:8])
    return bool(size <= len(data) - 8 and data[7 + size : 8 + size] in (b"}", b" "))


def _is_llama2_c(data: bytes) -> bool:
    """``int32`` longest, then ``float32`` score, ``int32`` length and bytes of each piece."""
    if len(data) < 12:
        return False
    (longest,) = struct.unpack("<i", data[:4])
    place = 4
    while 0 < longest < 1 << 16 and place + 8 <= len(data):
        (size,) = struct.unpack("<i", data[place + 4 : place + 8])
        if not 0 <= size <= longest:
            return False
        place += 8 + size
    return place == len(data) or (place > len(data) == HEAD_BYTES)
