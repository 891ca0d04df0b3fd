"""Works: encoding and decoding."""

from __future__ import annotations

from .works import OURS, SINGLE, THREADS, Limit, Side, Work

_CORPORA = {"english": "English", "code": "code", "scripts": "many scripts"}
_RANKS = {
    "cl100k_base": "{data}/cl100k_base/cl100k_base.tiktoken",
    "o200k_base": "{data}/o200k_base/o200k_base.tiktoken",
    "gpt2": "{data}/gpt2/gpt2.tiktoken",
}
_ALL = (
    Side(OURS),
    Side("tiktoken", packages=("tiktoken",)),
    Side("tokenizers", packages=("tokenizers",)),
    Side("kitoken", packages=("kitoken",)),
    Side("gigatoken", packages=("gigatoken",)),
)
_TWO = _ALL[:2]

_WHY = "The pattern runs in the `regex` module, and each pretoken is looked up by Python."
_COLD = _WHY + " A pretoken that was not seen before is merged in Python."


def _given(preset: str, corpus: str) -> dict[str, str]:
    return {"corpus": "{made}/" + f"{corpus}.txt", "source": _RANKS[preset], "preset": preset}


def _warm(preset: str, corpus: str) -> Work:
    limits = (Limit("at least 0.5x", 0.5, form="speed", peer="tiktoken"),)
    named = preset.removesuffix("_base")
    return Work(
        name=f"encode-{named}-{corpus}",
        group="encode",
        title=f"our encoder, warm, {_CORPORA[corpus]}, {named}",
        sides=_ALL if preset == "cl100k_base" else _TWO,
        limits=limits if (preset, corpus) == ("cl100k_base", "english") else (),
        rounds=3,
        quick=2,
        inside="encoding.warm",
        settings=_given(preset, corpus),
        corpus=corpus,
        environ=SINGLE,
        compared="ids",
        note="The text was encoded before, by all sides; one text after another, one thread. "
        "gigatoken gives arrays, the others lists.",
        why=_WHY,
    )


def _unseen(preset: str, corpus: str) -> Work:
    bounds = {"english": 0.3, "scripts": 0.2}
    rounds = 3 if preset == "cl100k_base" else 2
    named = preset.removesuffix("_base")
    bound = bounds.get(corpus) if preset == "cl100k_base" else None
    limits = (
        ()
        if bound is None
        else (Limit(f"at least {bound}x", bound, form="speed", peer="tiktoken"),)
    )
    return Work(
        name=f"unseen-{named}-{corpus}",
        group="unseen",
        title=f"our encoder, never-seen text: {_CORPORA[corpus]}, {named}",
        sides=_ALL if preset == "cl100k_base" else _TWO,
        limits=limits,
        rounds=rounds,
        quick=1,
        inside="encoding.unseen",
        settings=_given(preset, corpus),
        processes=rounds,
        corpus=corpus,
        share=0.5,
        environ=SINGLE,
        compared="ids",
        note="Each round is a new process: every other document was encoded before, the ones "
        "between are timed, once; one thread. gigatoken gives arrays, the others lists.",
        why=_COLD,
    )


_PIECES = Work(
    name="encode-llama-2",
    group="pieces",
    title="our encoder, warm, English, Llama-2 `.model`",
    sides=(
        Side(OURS),
        Side("sentencepiece", packages=("sentencepiece",)),
        Side("tokenizers", packages=("tokenizers",)),
        Side("kitoken", packages=("kitoken",)),
        Side("gigatoken", packages=("gigatoken",)),
    ),
    rounds=3,
    inside="encoding.warm_pieces",
    settings={
        "corpus": "{made}/english.txt",
        "source": "{data}/llama-2/tokenizer.model",
        "share": "0.2",
    },
    corpus="english",
    share=0.2,
    environ=SINGLE,
    compared="ids",
    note="The text was encoded before, by all sides; one text after another, one thread. "
    "gigatoken gives arrays, the others lists.",
)


def _batch(engine: str) -> Work:
    return Work(
        name=f"batch-{engine}",
        group="batch",
        title=f"`Tokenizer.encode_batch` with an engine: {engine}",
        sides=(Side(OURS, packages=(engine,)), Side(engine, packages=(engine,))),
        limits=(Limit("at least 0.95x of that engine alone", 0.95, form="speed", peer=engine),),
        rounds=7,
        quick=2,
        inside="encoding.batch",
        settings={**_given("cl100k_base", "english"), "engine": engine, "share": "0.4"},
        corpus="english",
        share=0.4,
        environ=THREADS,
        compared="ids",
        note="Lists of ids on both sides; threads as each library starts them.",
        why="A batch of the engine's is checked for special tokens by us before it is given away.",
    )


_NUMPY = Work(
    name="numpy",
    group="batch",
    title="`Tokenizer.encode_to_numpy` with an engine: tiktoken",
    sides=_TWO,
    rounds=5,
    inside="encoding.to_numpy",
    settings={**_given("cl100k_base", "english"), "share": "0.4"},
    corpus="english",
    share=0.4,
    environ=SINGLE,
    compared="ids",
    note="tiktoken fills the array itself; ours makes one of a list.",
)

_DECODE = Work(
    name="decode",
    group="decode",
    title="`Tokenizer.decode`, English, cl100k",
    sides=_TWO,
    rounds=5,
    inside="encoding.decoding",
    settings={**_given("cl100k_base", "english"), "share": "0.4"},
    corpus="english",
    share=0.4,
    environ=SINGLE,
    compared="texts",
    note="MB/s are of text.",
)


def _letters(name: str, by: str, count: int) -> Side:
    return Side(
        name,
        "encoding.letters",
        () if by == OURS else (by,),
        {"count": str(count), "source": _RANKS["cl100k_base"], "preset": "cl100k_base", "by": by},
        quick={"count": str(count // 10)},
    )


_LETTERS = Work(
    name="letters",
    group="letters",
    title="one pretoken of 1,000,000 equal letters",
    sides=(
        _letters(OURS, OURS, 1_000_000),
        _letters("bpe_interop, 10,000,000 letters", OURS, 10_000_000),
        _letters("tiktoken", "tiktoken", 1_000_000),
        _letters("tokenizers", "tokenizers", 1_000_000),
    ),
    limits=(
        Limit("at most 3 s", 3.0, form="absolute"),
        Limit(
            "10x the letters at most 15x the time",
            15.0,
            peer=OURS,
            title="one pretoken of 10,000,000 equal letters",
            of="bpe_interop, 10,000,000 letters",
        ),
    ),
    rounds=2,
    quick=1,
    environ=SINGLE,
    note="cl100k_base. With `--quick`, a tenth of the letters.",
    why="A linked list and heaps in Python: a few microseconds for each merge.",
)

WORKS = (
    *(_warm(preset, corpus) for preset in _RANKS for corpus in _CORPORA),
    *(_unseen(preset, corpus) for preset in _RANKS for corpus in _CORPORA),
    _PIECES,
    *(_batch(engine) for engine in ("tiktoken", "tokenizers", "gigatoken")),
    _NUMPY,
    _DECODE,
    _LETTERS,
)
