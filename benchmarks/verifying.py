"""Works: the canonical form, proofs, and comparing over documents."""

from __future__ import annotations

from .works import OURS, THREADS, Limit, Side, Work

_O200K = "{data}/o200k_base/o200k_base.tiktoken"
LOOP, BATCHES = "naive loop", "both engines' batch calls"

_CANONICAL = Work(
    name="canonical",
    group="theory",
    title="canonical form, 200,000 tokens",
    sides=(Side(OURS, "theory.canonical", (), {"source": _O200K, "preset": "o200k_base"}),),
    limits=(Limit("at most 0.1 s", 0.1, form="absolute"),),
    note="o200k_base, in a new process; loading it is not counted.",
    why="Of each token 3.4 places are tried where it may be cut, on average, with a few look-ups "
    "each: half a microsecond a token.",
)

_PROOF = Work(
    name="proof",
    group="theory",
    title="`verify` proof, gpt-oss json vs o200k_base, cold process",
    sides=(
        Side(
            OURS,
            "verifying.proof",
            ("tiktoken",),
            {"source": "{data}/gpt-oss/tokenizer.json", "other": "tiktoken:o200k_base"},
        ),
    ),
    limits=(
        Limit("at most 4 s", 4.0, form="absolute", measure="process"),
        Limit("peak memory at most 400 MiB", 400 * 2**20, form="absolute", measure="peak"),
    ),
    measure="process",
    rounds=3,
    quick=1,
    family=True,
    note="`bpe-interop verify A tiktoken:o200k_base --scope ordinary --require proved`; it has to "
    "end with exit code 0. The awkward texts are compared as well. Memory is that of the "
    "process and its children together.",
    why="The whole command does more than prove: it opens both files in their engines, and runs "
    "25,000 awkward texts on both sides. tokenizers alone takes more than 300 MiB to open the "
    "file. The proof alone is the next row.",
)

_PROOF_ALONE = Work(
    name="proof-alone",
    group="theory",
    title="the same proof alone, cold process",
    sides=(
        Side(
            OURS,
            "verifying.proof_alone",
            (),
            {
                "source": "{data}/gpt-oss/tokenizer.json",
                "other": "{data}/o200k_base/o200k_base.tiktoken",
                "preset": "o200k_base",
            },
        ),
    ),
    limits=(Limit("at most 0.6 s", 0.6, form="absolute", measure="process"),),
    measure="process",
    rounds=3,
    quick=1,
    note="Both files are read and `prove` decides every stage; no text is run.",
    why="Both files are read, a canonical form is found; a third of it is imports.",
)


def _documents(size: int) -> Work:
    return Work(
        name=f"verify-{size // 1000}kb",
        group="verify",
        title=f"`verify` over documents of about {size // 1000} kB",
        sides=(
            Side(OURS, packages=("tiktoken", "tokenizers")),
            Side(BATCHES, packages=("tiktoken", "tokenizers")),
            Side(LOOP, packages=("tiktoken", "tokenizers")),
        ),
        limits=(
            Limit("at most 1.05x the sum of the two engines' own batch time", 1.05, peer=BATCHES),
        ),
        rounds=5,
        quick=2,
        inside="verifying.documents",
        settings={
            "corpus": "{made}/english.txt",
            "source": "{data}/cl100k_base/cl100k_base.tiktoken",
            "preset": "cl100k_base",
            "size": str(size),
            "share": "0.3",
        },
        corpus="english",
        share=0.3,
        environ=THREADS,
        compared="ids",
        note="tiktoken against tokenizers, cl100k, English; both with threads on all cores. Ours "
        "is `bpe_interop.compare.run`; it compares what the ids decode to as well.",
        why="What ids decode to is compared as well, which the peers do not do: tokenizers takes a "
        "sixth of its time for ids to make text of them again, though in one call and in threads; "
        "to compare ids costs nearly nothing.",
    )


_BOTH_OURS = Work(
    name="verify-ours",
    group="verify",
    title="`verify` over documents of about 4 kB, both sides our encoder",
    sides=(Side(OURS),),
    limits=(Limit("at least 50 MB/s", 50e6, form="rate"),),
    rounds=5,
    quick=2,
    inside="verifying.both_ours",
    settings={
        "corpus": "{made}/english.txt",
        "source": "{data}/cl100k_base/cl100k_base.tiktoken",
        "preset": "cl100k_base",
    },
    corpus="english",
    note="cl100k's rank file against its `tokenizer.json`, English, both encoded by us; ids and "
    "what they decode to are compared.",
    why="Each side encodes every text, which is 54 % of the time, and decodes its ids, a call for "
    "each text, which is 33 %; the rest is comparing, and handing texts on.",
)

WORKS = (_CANONICAL, _PROOF, _PROOF_ALONE, _documents(1_000), _documents(4_000), _BOTH_OURS)
