"""From the model to a rank file and its sidecar, and an installable ``tiktoken_ext`` plugin.

With the plugin, ``tiktoken.get_encoding(name)`` finds the model: tiktoken imports every module of
the namespace package ``tiktoken_ext`` and reads its ``ENCODING_CONSTRUCTORS``
(``tiktoken/registry.py``). What goes into the module is a JSON string and file names made here;
nothing of a model is code in it.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable

from ...errors import TargetError, UnstatedError
from ...model import BPEModel
from ...openai_encodings import ENCODINGS
from .. import Files
from ..names import STEM
from ..one_pattern import pat_str
from .ranks import PLUGIN, SUFFIX, write_ranks, written_tokens
from .sidecar import Sidecar, held_tokens, n_vocab, write_sidecar


def dump(model: BPEModel, *, name: str | None = None) -> Files:
    """Writes ``NAME.tiktoken`` and ``NAME.tiktoken.json``.

    ``name`` is the files' name; else the model's own, or ``tokenizer`` where that is no file name.
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


def with_plugin(model: BPEModel, files: Files) -> Files:
    """The files, and an installable plugin."""
    name = model.origin.name or "tokenizer"
    return {**files, **{f"{PLUGIN}{key}": data for key, data in plugin(model, name).items()}}


_SETTINGS = re.compile(r"plugin/tiktoken_ext/.*\.json")
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?")

_PYPROJECT = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "tiktoken-ext-{distribution}"
version = "1.0"
description = "The encoding {name} for tiktoken"
dependencies = ["tiktoken"]

[tool.hatch.build.targets.wheel]
only-include = ["tiktoken_ext"]
"""
"""It is built with hatchling, which leaves no folders beside what it builds from."""

_MODULE = '''\
"""The encoding {name}, for tiktoken.get_encoding("{name}")."""

import base64
import json
import pathlib


def _encoding():
    here = pathlib.Path(__file__)
    ranks = {{}}
    for line in here.with_name("{module}.tiktoken").read_bytes().splitlines():
        token, rank = line.split()
        ranks[b"" if token == b"=" else base64.b64decode(token)] = int(rank)
    arguments = json.loads(here.with_name("{module}.json").read_text(encoding="utf-8"))
    return {{**arguments, "mergeable_ranks": ranks}}


ENCODING_CONSTRUCTORS = {{"{name}": _encoding}}
'''


def plugin(model: BPEModel, name: str) -> Files:
    """The files of a plugin: install the directory that holds them with ``pip install``.

    Raises:
        TargetError: the name cannot be used.
        UnstatedError: the pattern or the special tokens are not known.
    """
    if _NAME.fullmatch(name) is None:
        raise TargetError(
            f"{name!r} cannot name an encoding",
            fix="use letters, digits and . _ - (at most 64, a letter or digit at both ends)",
        )
    if name in ENCODINGS:
        raise TargetError(
            f"{name} is the name of an encoding that tiktoken ships",
            fix="choose another with --name (name=...): tiktoken refuses to load any "
            "encoding when two have one name",
        )
    pattern = pat_str(model)
    if pattern is None or model.added is None:
        lacking = "the pattern" if pattern is None else "which tokens are special"
        raise UnstatedError(f"a plugin needs {lacking}", fix="name a preset, or add a sidecar")
    numbers = written_tokens(model)
    added = held_tokens(model.added, numbers)
    arguments = {
        "name": name,
        "pat_str": pattern,
        "special_tokens": {token.text: token.id for token in added},
        "explicit_n_vocab": n_vocab(numbers, added),
    }
    module = "encoding_" + re.sub(r"[^a-z0-9]", "_", name.lower())
    words = {
        "name": name,
        "module": module,
        "distribution": re.sub(r"[._-]+", "-", name.lower()),
    }
    return {
        "pyproject.toml": _PYPROJECT.format(**words).encode(),
        f"tiktoken_ext/{module}.py": _MODULE.format(**words).encode(),
        f"tiktoken_ext/{module}.json": json.dumps(arguments, ensure_ascii=False).encode(),
        f"tiktoken_ext/{module}.tiktoken": write_ranks(numbers),
    }


def how_to_load(files: Files, path: Callable[[str], str]) -> list[str]:
    """How tiktoken, which has no reader of a sidecar, loads what was written."""
    ranks = [path(name) for name in files if name.endswith(".tiktoken") and "/" not in name]
    if not ranks:
        return []
    sidecar = next((data for name, data in files.items() if name.endswith(".tiktoken.json")), b"{}")
    if "pat_str" not in json.loads(sidecar):
        return ["tiktoken needs a pattern (pat_str), which these files do not state: give your own"]
    # Not by its load_tiktoken_bpe: that keeps a copy of each file by its path, and gives the old
    # ranks where the file was written anew (tiktoken/load.py, read_file_cached).
    snippet = [
        "import base64, json, tiktoken",
        f"words = open({ranks[0]!r}, 'rb').read().split()",
        "ranks = {base64.b64decode(t): int(r) for t, r in zip(words[::2], words[1::2])}",
        f"rest = json.load(open({ranks[0] + '.json'!r}, encoding='utf-8'))",
        'rest.pop("bpe_interop", None)',
        "encoding = tiktoken.Encoding(mergeable_ranks=ranks, **rest)",
    ]
    settings = [data for name, data in files.items() if _SETTINGS.fullmatch(name)]
    if not settings:
        return ["\n".join(["in Python:", *snippet])]
    encoding = json.loads(settings[0])["name"]
    return [
        f"pip install {shlex.quote(path('plugin'))}, then in Python: "
        f"tiktoken.get_encoding({encoding!r})",
        "\n".join(["without the plugin, in Python:", *snippet]),
    ]
