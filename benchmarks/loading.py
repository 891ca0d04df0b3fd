"""Works: import and load."""

from __future__ import annotations

from .works import OURS, SINGLE, Limit, Side, Work

_PEERS = ("tiktoken", "tokenizers", "sentencepiece", "transformers", "kitoken", "gigatoken")

IMPORT = Work(
    name="import",
    group="import",
    title="`import bpe_interop`",
    sides=(
        Side(OURS, code="import bpe_interop"),
        Side("bare interpreter", code="pass"),
        *(Side(name, code=f"import {name}", packages=(name,)) for name in _PEERS),
    ),
    limits=(
        Limit(
            "at most 5 ms over a bare interpreter",
            0.005,
            form="over",
            measure="process",
            peer="bare interpreter",
        ),
    ),
    measure="process",
    rounds=15,
    quick=2,
    note="`python -c 'import X'`, the whole process.",
)

IMPORT_TIKTOKEN = Work(
    name="import-tiktoken",
    group="start",
    title="`import bpe_interop.tiktoken`",
    sides=(
        Side(OURS, code="import bpe_interop.tiktoken"),
        Side("tiktoken", code="import tiktoken", packages=("tiktoken",)),
    ),
    limits=(Limit("at most 1x", 1.0, measure="process", peer="tiktoken"),),
    measure="process",
    rounds=15,
    quick=2,
    note="`python -c 'import X'`, the whole process.",
)


def _screen(option: str) -> Work:
    code = f"import sys; sys.argv[1:] = ['{option}']; from bpe_interop.__main__ import main; main()"
    return Work(
        name=f"screen{option}",
        group="start",
        title=f"`bpe-interop {option}`",
        sides=(Side(OURS, code=code),),
        limits=(Limit("at most 0.1 s", 0.1, form="absolute", measure="process"),),
        measure="process",
        rounds=15,
        quick=2,
        note="The whole process.",
        why="Python starts and imports what reads a command line; then the words are drawn.",
    )


_O200K = "{data}/o200k_base/o200k_base.tiktoken"

LOAD_O200K = Work(
    name="load-o200k",
    group="load",
    title="load o200k rank file (model ready; no engine built)",
    sides=(
        Side(OURS, "loading.ours", (), {"source": _O200K, "preset": "o200k_base"}),
        Side("tiktoken", "loading.tiktoken", ("tiktoken",), {"name": "o200k_base"}),
        Side("kitoken", "loading.kitoken", ("kitoken",), {"source": _O200K, "kind": "tiktoken"}),
        Side(
            "gigatoken", "loading.gigatoken", ("gigatoken",), {"source": _O200K, "kind": "tiktoken"}
        ),
    ),
    limits=(
        Limit("at most 0.15x", 0.15, peer="tiktoken"),
        Limit("at most 0.5x", 0.5, peer="kitoken"),
        Limit("peak memory at most 1x", 1.0, measure="peak", peer="tiktoken"),
    ),
    rounds=7,
    environ=SINGLE,
    compared="ids",
    note="The others build what encodes as well; ours does that when it first encodes.",
    why="In a new process two thirds of the time go into imports: Python's library (dataclasses, "
    "re, pathlib, typing, hashlib, ctypes: 24 ms without dataclasses), our modules, each 2 ms or "
    "less, and making dataclasses, 25 ms (classes that we made ourselves would bring 0.35x to "
    "0.25x; they were built and not kept, for Python's are well kept). A sixth of all is to read "
    "the lines and make a table of them; then come the file's sha256, and looking for special "
    "tokens among the ids. Without the kernel, splitting, decoding and numbering 200,000 lines is "
    "a third, checking them in bulk another.",
)


def _tokenizer_json(name: str, title: str, limit: Limit, why: str) -> Work:
    source = "{data}/" + name + "/tokenizer.json"
    given = {"source": source}
    return Work(
        name=f"load-{name}",
        group="load",
        title=title,
        sides=(
            Side(OURS, "loading.ours", (), given),
            Side("tokenizers", "loading.tokenizers", ("tokenizers",), given),
            Side("transformers", "loading.transformers", ("transformers",), given),
            Side("kitoken", "loading.kitoken", ("kitoken",), {**given, "kind": "tokenizers"}),
            Side("gigatoken", "loading.gigatoken", ("gigatoken",), {**given, "kind": "json"}),
            Side("tokie", "loading.tokie", ("tokie",), given),
        ),
        limits=(
            limit,
            Limit("peak memory at most 1x", 1.0, measure="peak", peer="tokenizers"),
        ),
        environ=SINGLE,
        compared="ids",
        why=why,
    )


_MODEL = "{data}/llama-2/tokenizer.model"
_PIECES = {"source": _MODEL, "kind": "sentencepiece"}

LOAD_MODEL = Work(
    name="load-llama-2",
    group="load",
    title="load Llama-2 `.model`",
    sides=(
        Side(OURS, "loading.ours", (), {"source": _MODEL}),
        Side("sentencepiece", "loading.sentencepiece", ("sentencepiece",), {"source": _MODEL}),
        Side("kitoken", "loading.kitoken", ("kitoken",), _PIECES),
        Side("gigatoken", "loading.gigatoken", ("gigatoken",), _PIECES),
    ),
    limits=(
        Limit("at most 2x", 2.0, peer="sentencepiece"),
        Limit("at most 1x", 1.0, peer="kitoken"),
    ),
    environ=SINGLE,
    compared="ids",
    why="The kernel reads the pieces. In a new process more than nine tenths of the time go into "
    "importing our own modules and those of Python's library that they need, a third of it to "
    "make dataclasses (25 ms; classes of our own would bring 11x to 7x); the same load again takes "
    "a tenth.",
)

WRITTEN = Work(
    name="written",
    group="load",
    title="`tokenizers` loads o200k's `tokenizer.json`, ours and the one that transformers writes",
    sides=(
        Side(
            OURS,
            "loading.tokenizers",
            ("tokenizers",),
            {"source": "{made}/o200k-json/tokenizer.json"},
        ),
        Side(
            "transformers",
            "loading.tokenizers",
            ("tokenizers", "transformers"),
            {"source": "{made}/o200k-transformers/tokenizer.json"},
        ),
    ),
    environ=SINGLE,
    compared="ids",
    note="Both run in tokenizers; the name says who wrote the file. Ours lists one split of each "
    "token, the other one all.",
)

_JSON = (
    "In a new process half of the time is imports, a third for the largest of the files; "
    "of the rest, looking up both parts of each merge is most. Without the kernel, the standard "
    "`json` takes a third to a half, and each token and merge is an object."
)

WORKS = (
    IMPORT,
    IMPORT_TIKTOKEN,
    _screen("--version"),
    _screen("--help"),
    LOAD_O200K,
    _tokenizer_json(
        "qwen3",
        "load Qwen3 `tokenizer.json`",
        Limit("at most 0.2x", 0.2, peer="tokenizers"),
        _JSON,
    ),
    _tokenizer_json(
        "llama-3.2",
        "load Llama-3.2 `tokenizer.json`",
        Limit("at most 0.2x", 0.2, peer="tokenizers"),
        _JSON,
    ),
    _tokenizer_json(
        "gpt-oss",
        "load gpt-oss `tokenizer.json`",
        Limit("at most 0.2x, canonical form deferred", 0.2, peer="tokenizers"),
        _JSON,
    ),
    LOAD_MODEL,
    WRITTEN,
)
