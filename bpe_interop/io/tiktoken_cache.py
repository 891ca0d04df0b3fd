"""Published files that tiktoken has fetched already, in the folder where it keeps them."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from ..limits import FILE_BYTES


def cached(address: str, sha256: str) -> bytes | None:
    """The file of an address, if tiktoken's cache has it with this sha256 (hex).

    The folder is that of ``read_file_cached`` in tiktoken's ``load.py``: ``TIKTOKEN_CACHE_DIR``,
    else ``DATA_GYM_CACHE_DIR``, else ``data-gym-cache`` in the system's temporary folder; an
    empty name is no cache. Anyone may write to the last one, so the sha256 decides.
    """
    named = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    if named == "":
        return None
    folder = Path(named) if named else Path(tempfile.gettempdir(), "data-gym-cache")
    file = folder / hashlib.sha1(address.encode()).hexdigest()
    try:
        if not file.is_file() or file.stat().st_size > FILE_BYTES.most:
            return None
        data = file.read_bytes()
    except OSError:
        return None
    return data if hashlib.sha256(data).hexdigest() == sha256 else None
