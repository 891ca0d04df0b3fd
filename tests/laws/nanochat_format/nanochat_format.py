"""nanochat's ``tokenizer.pkl``, a pickled ``tiktoken.Encoding``, as another package brings it.

A pickle is a program. This one is read only where the format is asked for by its name
(``--from nanochat``), and then nothing in it is run: whatever it names but the one
class is refused, and of that class only the four facts of its state are taken.
(``nanochat/tokenizer.py``: ``pickle.dump(enc)``; ``tiktoken/core.py``: ``__getstate__``.)
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import pickle
from dataclasses import replace
from typing import Any

import tiktoken

from bpe_interop.engines import Engine, from_files
from bpe_interop.errors import FormatError
from bpe_interop.formats import Files, Format, by_name
from bpe_interop.formats.names import FileNames
from bpe_interop.model import BPEModel

RANKS = by_name("tiktoken")
NAME, UNCUT = "tokenizer.pkl", r"[\s\S]+"


class _State:
    """Stands for the class: it takes the state, and runs nothing."""

    def __setstate__(self, state: object) -> None:
        self.state = state


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> type[_State]:
        if (module, name) != ("tiktoken.core", "Encoding"):
            raise pickle.UnpicklingError(f"it names {module}.{name}, which is never run")
        return _State


def rank_files(files: Files) -> Files:
    """The encoding's facts as a rank file and its sidecar."""
    [(name, data)] = files.items()
    try:
        state: Any = vars(_Reader(io.BytesIO(data)).load())["state"]
        facts = {key: state[key] for key in ("name", "pat_str", "special_tokens")}
        ranks = dict(state["mergeable_ranks"]).items()
        lines = [b"%s %d\n" % (base64.b64encode(token), rank) for token, rank in ranks]
        sidecar = json.dumps({**facts, "explicit_n_vocab": None}).encode()
    except Exception as error:  # whatever bytes make of the machine that reads pickles
        fix = "let nanochat write it again"
        raise FormatError(f"no pickled encoding: {error!r}", where=name, fix=fix) from None
    return {"nanochat.tiktoken": b"".join(lines), "nanochat.tiktoken.json": sidecar}


def sniff(files: Files) -> bool:
    return len(files) == 1 and all(data[:1] == b"\x80" for data in files.values())


def load(files: Files) -> BPEModel:
    model = RANKS.load(rank_files(files))
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    return replace(model, origin=replace(model.origin, format="nanochat", files=digests))


def dump(model: BPEModel) -> Files:
    ranks, sidecar = RANKS.dump(model).values()
    rows = (line.split() for line in ranks.splitlines())
    said = json.loads(sidecar)
    encoding = tiktoken.Encoding(
        model.origin.name or "nanochat",
        pat_str=said.get("pat_str", UNCUT),
        mergeable_ranks={base64.b64decode(token): int(rank) for token, rank in rows},
        special_tokens=said.get("special_tokens", {}),
    )
    return {NAME: pickle.dumps(encoding)}


def engine(files: Files, model: BPEModel | None) -> Engine:
    return from_files("tiktoken", "tiktoken", rank_files(files), model)


FORMAT = Format(
    name="nanochat",
    title="nanochat tokenizer.pkl",
    spec="https://github.com/karpathy/nanochat/blob/master/nanochat/tokenizer.py",
    engines={"tiktoken": "nanochat_format:engine"},
    holds=RANKS.holds - {"sequence_template"},
    sniff=sniff,
    load=load,
    dump=dump,
    names=FileNames(common=(".pkl",), one_file=".pkl", called="pickle"),
    only_by_name=True,
)
