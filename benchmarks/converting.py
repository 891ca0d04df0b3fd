"""Works: whole processes from one file to another."""

from __future__ import annotations

from .works import OURS, SINGLE, Limit, Side, Work

_WHY = (
    "More than a quarter of the time goes into imports, a quarter into the one split of every "
    "token, which the proof needs too; the rest into writing, and into reading and comparing what "
    "was written."
)


def _ranks_to_json(preset: str, title: str, limits: tuple[Limit, ...]) -> Work:
    source = "{data}/" + f"{preset}/{preset}.tiktoken"
    given = {"source": source, "out": "{out}", "preset": preset}
    return Work(
        name=f"convert-{preset.removesuffix('_base')}",
        group="convert",
        title=title,
        sides=(
            Side(OURS, "converting.ours", (), {**given, "to": "hf"}),
            Side(
                "transformers",
                "converting.tiktoken_converter",
                ("transformers", "tiktoken"),
                given,
            ),
            Side(
                "kitoken",
                "converting.kitoken",
                ("kitoken",),
                {"source": source, "out": "{out}"},
            ),
        ),
        limits=limits,
        measure="process",
        environ=SINGLE,
        compared="ids",
        note=f"`bpe-interop convert SRC DST --to hf --preset {preset} --no-verify` against "
        "`TikTokenConverter(...).converted().save(...)`. Both files run in tokenizers and give "
        "the same ids; ours holds one split of each token, the other one all. kitoken's converter "
        "writes a file of its own format, which is compared as kitoken reads it.",
        why=_WHY,
    )


_TO_RANKS = Work(
    name="export-o200k",
    group="convert",
    title="`tokenizer.json` to `.tiktoken`, o200k, process",
    sides=(
        Side(
            OURS,
            "converting.ours_to_ranks",
            (),
            {"source": "{made}/o200k-json", "out": "{out}"},
        ),
        Side(
            "autotiktokenizer",
            "converting.autotiktokenizer",
            ("autotiktokenizer",),
            {"source": "{made}/o200k-json"},
        ),
        Side(
            "tiktokenizer",
            "converting.tiktokenizer",
            ("tiktokenizer",),
            {"source": "{made}/o200k-json", "out": "{out}"},
        ),
    ),
    limits=(Limit("at most 0.5x", 0.5, measure="process", peer="autotiktokenizer"),),
    measure="process",
    environ=SINGLE,
    compared="ranks",
    note="The source is ours, made once. Ours writes the file; autotiktokenizer gives a "
    "`tiktoken.Encoding` and writes nothing, tiktokenizer gives one and writes JSON. Compared are "
    "the ranks of all tokens that are not special: autotiktokenizer gives every tokenizer the same "
    "pattern, so its ids are others.",
    why="A third of the time is a check that the peer does not do: whether ids in the order of the "
    "file give the list's merges, for which a canonical form is computed, and whether what was "
    "written reads as the same. A third is imports, a quarter reading both files.",
)

_LLAMA = Work(
    name="convert-llama-2",
    group="convert",
    title="Llama-2 `.model` to `tokenizer.json`, process",
    sides=(
        Side(
            OURS,
            "converting.ours",
            (),
            {"source": "{made}/llama-2-model", "out": "{out}", "to": "hf"},
        ),
        Side(
            "transformers",
            "converting.llama_tokenizer",
            ("transformers", "sentencepiece"),
            {"source": "{made}/llama-2-model", "out": "{out}"},
        ),
    ),
    limits=(Limit("at most 0.20x", 0.20, measure="process", peer="transformers"),),
    measure="process",
    environ=SINGLE,
    compared="ids",
    truth=Side(
        "sentencepiece", "loading.sentencepiece", (), {"source": "{data}/llama-2/tokenizer.model"}
    ),
    note="The source is a folder with nothing but `tokenizer.model`.",
    why="SentencePiece's equal scores are an order that a list of pairs need not have, so it is "
    "decided whether it has, in Python: three canonical forms and a search for pairs that differ "
    "are half of the time, imports a sixth, and comparing what was written a tenth.",
)

_CHECKED = Work(
    name="convert-checked",
    group="convert",
    title="o200k to `tokenizer.json`, checked in both engines and proved, process",
    sides=(
        Side(
            OURS,
            "converting.ours",
            (),
            {
                "source": "{data}/o200k_base/o200k_base.tiktoken",
                "out": "{out}",
                "to": "hf",
                "preset": "o200k_base",
                "verify": "yes",
            },
        ),
    ),
    limits=(Limit("at most 3 s", 3.0, form="absolute", measure="process"),),
    measure="process",
    rounds=3,
    quick=1,
    family=True,
    note="What `bpe-interop convert` does if nothing is said; nobody else has it. Memory is that "
    "of the process and its children together.",
    why="Of 8 s of CPU on two cores, 5 are the processes in which tokenizers and transformers read "
    "what was written and run its texts; of 2.8 s here, reading and writing are 1.8, and tiktoken "
    "on the source 0.9.",
)

_INTO_GGUF = Work(
    name="convert-gguf",
    group="convert",
    title="gpt-oss to GGUF, checked in llama.cpp, process",
    sides=(
        Side(
            OURS,
            "converting.ours_to_gguf",
            ("xllamacpp",),
            {"source": "{data}/gpt-oss/tokenizer.json", "out": "{out}"},
        ),
    ),
    limits=(Limit("at most 30 s", 30.0, form="absolute", measure="process"),),
    measure="process",
    rounds=1,
    quick=1,
    family=True,
    note="With `--drop added --drop pretokenizer`, without which it is refused: llama.cpp has no "
    "splitter that cuts as gpt-oss does. Memory is that of the process and its children together.",
    why="Of 41 s of CPU, 24 are llama.cpp's process, which reads the file and runs its texts. Of "
    "17 here, 11 are deciding what the file cannot hold (which of llama.cpp's splitters cuts most "
    "alike, and a text for each loss), 3 tokenizers on the source, and 2 the proof.",
)

_INSPECT = Work(
    name="inspect",
    group="inspect",
    title="`bpe-interop inspect` of a `tokenizer.json` of Gemma 3's size, process",
    sides=(Side(OURS, "converting.inspect", (), {"source": "{made}/gemma-size/tokenizer.json"}),),
    limits=(Limit("at most 2 s", 2.0, form="absolute", measure="process"),),
    measure="process",
    note="262,144 tokens of characters with byte fallback, made of o200k's: every split of a token "
    "is a merge.",
    why="A quarter of the time is the canonical form; the file's tokens are read twice, which is "
    "another fifth; imports are a sixth.",
)

WORKS = (
    _ranks_to_json(
        "o200k_base",
        "o200k rank file to `tokenizer.json`, process, unverified",
        (
            Limit("at most 0.15x", 0.15, measure="process", peer="transformers"),
            Limit("peak memory at most 0.4x", 0.4, measure="peak", peer="transformers"),
            Limit("at most 1x", 1.0, measure="process", peer="kitoken"),
        ),
    ),
    _ranks_to_json(
        "cl100k_base",
        "cl100k rank file to `tokenizer.json`, process, unverified",
        (Limit("at most 0.15x", 0.15, measure="process", peer="transformers"),),
    ),
    _TO_RANKS,
    _LLAMA,
    _CHECKED,
    _INTO_GGUF,
    _INSPECT,
)
