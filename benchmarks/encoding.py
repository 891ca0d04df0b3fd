"""Works: encoding and decoding."""

from __future__ import annotations

from typing import NamedTuple

from .works import OURS, SINGLE, THREADS, Limit, Side, Work

ONE_THREAD = f"{OURS} (one thread)"
_ENGLISH_AND_CODE = ("english", "code")
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
_MORE = (
    Side("quicktok", packages=("quicktok-v1",)),
    Side("splintr", packages=("splintr-rs",)),
    Side("toktok", packages=("toktok-rs",)),
    Side("tuetoken", packages=("tuetoken",)),
    Side("fastokens", packages=("fastokens",)),
)
IN_ARRAYS, IN_LISTS = f"{OURS} (arrays)", f"{OURS} (lists)"
ON_CL100K = f"{OURS} (cl100k)"

_WHY = (
    "To make the lists is two thirds of the time for English, three fifths for code and nearly "
    "half for many scripts (CPU time beside arrays: 119 and 42 ms, 55 and 22, 90 and 49)."
)
_WARM = (
    "Of the time for English, looking up known pretokens and taking their ids is 45 % (code: 39), "
    "splitting 17 (24), and the calls, with Python, UTF-8 and the array, 27 (25); pretokens that "
    "are not found at once are the rest (perf)."
)
_COLD = (
    "Pretokens that were not met before are three fifths of the time for English and code, and "
    "four fifths for many scripts: the same text again takes the rest (CPU time, arrays: 20 of 51 "
    "to 67 ms, 11 of 25 to 33, 26 of 118 to 135)."
)
_SEEN = {"english": 5.0, "code": 5.0, "scripts": 1.5}
"""How many times tiktoken's speed is the target for never-seen texts."""


def _given(preset: str, corpus: str) -> dict[str, str]:
    return {"corpus": "{made}/" + f"{corpus}.txt", "source": _RANKS[preset], "preset": preset}


def _warm(preset: str, corpus: str) -> Work:
    limits = (Limit("at least 4x", 4.0, form="speed", peer="tiktoken"),)
    named = preset.removesuffix("_base")
    return Work(
        name=f"encode-{named}-{corpus}",
        group="encode",
        title=f"our encoder, warm, {_CORPORA[corpus]}, {named}",
        sides=(*_ALL, *_MORE) if preset == "cl100k_base" else _TWO,
        limits=limits if preset == "cl100k_base" else (),
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
    rounds = 3 if preset == "cl100k_base" else 2
    named = preset.removesuffix("_base")
    return Work(
        name=f"unseen-{named}-{corpus}",
        group="unseen",
        title=f"our encoder, never-seen text: {_CORPORA[corpus]}, {named}",
        sides=(*_ALL, *_MORE) if preset == "cl100k_base" else _TWO,
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


class _Tokenizer(NamedTuple):
    """A tokenizer whose arrays are measured, the file and the preset of a rank file."""

    name: str
    source: str
    preset: str = ""


_TOKENIZERS = (
    _Tokenizer("cl100k", _RANKS["cl100k_base"], "cl100k_base"),
    _Tokenizer("o200k", _RANKS["o200k_base"], "o200k_base"),
    _Tokenizer("Llama-3.2", "{data}/llama-3.2/tokenizer.json"),
    _Tokenizer("Qwen3", "{data}/qwen3/tokenizer.json"),
)
_REFUSED = (
    _Tokenizer("p50k", "{data}/p50k_base/p50k_base.tiktoken", "p50k_base"),
    _Tokenizer("Llama-3's ranks", "{data}/llama-3/tokenizer.model", "llama-3"),
    _Tokenizer("DeepSeek-LLM", "{data}/gguf/ggml-vocab-deepseek-llm.gguf"),
    _Tokenizer("Falcon", "{data}/falcon/tokenizer.json"),
    _Tokenizer("CLIP", "{data}/clip/tokenizer.json"),
)
"""Those that gigatoken refuses (docs/performance.md lists them), and a file it does not read."""


def _named(kind: str, of: _Tokenizer, corpus: str) -> str:
    return f"{kind}-{of.name.lower().replace(' ', '-').replace(chr(39), '')}-{corpus}"


def _arrays(of: _Tokenizer, corpus: str) -> Work:
    """Never-seen text again, with arrays as answers."""
    bound = _SEEN[corpus]
    most = 0.6 if corpus == "scripts" else 1.0
    limits: tuple[Limit, ...] = (
        Limit(f"at least {most:g}x", most, form="speed", peer="gigatoken"),
    )
    sides: tuple[Side, ...] = (Side(OURS, packages=("numpy",)), _ALL[4])
    if of.name == "cl100k":
        limits = (Limit(f"at least {bound:g}x", bound, form="speed", peer="tiktoken"), *limits)
        sides = (sides[0], _ALL[1], sides[1])
    return Work(
        name=_named("arrays", of, corpus),
        group="arrays",
        title=f"our encoder, never-seen text, ids in numpy: {_CORPORA[corpus]}, {of.name}",
        sides=sides,
        limits=limits,
        rounds=3,
        quick=1,
        inside="encoding.unseen_arrays",
        settings={
            "corpus": "{made}/" + f"{corpus}.txt",
            "source": of.source,
            "preset": of.preset,
        },
        processes=3,
        corpus=corpus,
        share=0.5,
        environ=SINGLE,
        compared="ids",
        note="Each round is a new process: every other document was encoded before, the ones "
        "between are timed, once; one thread. Everybody gives arrays (`encode_to_numpy`, "
        "gigatoken's `encode`). Ids are compared on every fifth document.",
        why=_COLD,
    )


def _warm_arrays(of: _Tokenizer, corpus: str) -> Work:
    """Text that was seen, with arrays as answers, beside our lists."""
    return Work(
        name=_named("warm-arrays", of, corpus),
        group="warm-arrays",
        title=f"our encoder, warm, ids in numpy: {_CORPORA[corpus]}, {of.name}",
        sides=(Side(OURS, packages=("numpy",)), Side(IN_LISTS), _ALL[4]),
        limits=(
            Limit("at least 0.7x", 0.7, form="speed", peer="gigatoken"),
            Limit("never slower than lists", 1.0, peer=IN_LISTS),
        ),
        rounds=5,
        quick=1,
        inside="encoding.warm_arrays",
        settings={
            "corpus": "{made}/" + f"{corpus}.txt",
            "source": of.source,
            "preset": of.preset,
        },
        corpus=corpus,
        environ=SINGLE,
        compared="ids",
        note="The text was encoded before, by all sides; one text after another, one thread. "
        "Ids are compared on every fifth document.",
        why=_WARM,
    )


def _beside(of: _Tokenizer, corpus: str, *, seen: bool, least: float) -> Work:
    """A tokenizer beside our own speed on cl100k."""
    seen_or_not = "warm" if seen else "never-seen text"
    return Work(
        name=_named("own-warm" if seen else "own", of, corpus),
        group="own",
        title=f"our encoder, {seen_or_not}, ids in numpy: {_CORPORA[corpus]}, {of.name} beside "
        "cl100k",
        sides=(Side(OURS, packages=("numpy",)), Side(ON_CL100K, packages=("numpy",))),
        limits=(
            Limit(f"at least {least:g}x our own on cl100k", least, form="speed", peer=ON_CL100K),
        ),
        rounds=4,
        quick=1,
        inside="encoding.beside_itself",
        settings={
            "corpus": "{made}/" + f"{corpus}.txt",
            "source": of.source,
            "preset": of.preset,
            "beside": _RANKS["cl100k_base"],
            "seen": "yes" if seen else "",
            "share": "0.2",
        },
        processes=0 if seen else 4,  # each is first as often
        corpus=corpus,
        share=0.2 if seen else 0.1,
        environ=SINGLE,
        note="gigatoken refuses all of these but Qwen3, so they are measured beside our own speed "
        "on cl100k, on the same texts. Each round of never-seen text is a new process.",
        why="DeepSeek's six steps are not known to be one pattern, so each runs on the pretokens "
        "of the one before. CLIP's texts are written in lower case first, which is a third of its "
        "time for English that was met, and its second step runs on each new word. Qwen3's texts "
        "are looked through for what NFC changes, and for its 12 added tokens that are not "
        "special. p50k and Falcon cut English into 6 and 7 % more pretokens, code into 10 and 17 "
        "%, and code has 26 and 20 % more ids.",
    )


def _chat(name: str) -> Work:
    return Work(
        name=f"chat-{name}",
        group="chat",
        title=f"our encoder, chats with their special tokens, {name}",
        sides=(
            Side(OURS),
            Side(IN_ARRAYS, packages=("numpy",)),
            Side("tokenizers", packages=("tokenizers",)),
            Side("fastokens", packages=("fastokens",)),
            Side("snaptokens", packages=("snaptokens",)),
            Side("splintr", packages=("splintr-rs",)),
            Side("tuetoken", packages=("tuetoken",)),
            Side("gigatoken", packages=("gigatoken",)),
        ),
        limits=(
            Limit(
                *("at least 0.8x", 0.8, "speed"),
                peer="fastokens",
                of=IN_ARRAYS,
                title=f"our encoder, chats, ids in numpy, {name}",
            ),
            Limit(
                *("at least 60 MB/s", 60e6, "rate"),
                of=IN_ARRAYS,
                title=f"our encoder, chats, ids in numpy, {name}",
            ),
            Limit(
                "never slower than lists",
                1.0,
                peer=OURS,
                of=IN_ARRAYS,
                title=f"our encoder, chats, ids in numpy, {name}",
            ),
        ),
        rounds=3,
        quick=2,
        inside="encoding.warm_chats",
        settings={
            "corpus": "{made}/chat.txt",
            "source": "{data}/" + f"{name}/tokenizer.json",
            "name": name,
        },
        corpus="chat",
        environ=SINGLE,
        compared="ids",
        note="Chats of 2 to 12 messages as the model's template writes them, one call for each; "
        "one thread, encoded before. MB/s are of the text as ChatML. gigatoken gives arrays, "
        "the others lists.",
        why="Five sixths of the time are the text between special tokens, where these stand or "
        "not, and a twelfth the calls (2.7 µs each). NFC is more than a third of Qwen3's: 9 of 24 "
        "ms (CPU time, beside the same tokenizer without it).",
    )


def _counting(corpus: str) -> Work:
    return Work(
        name=f"count-{corpus}",
        group="count",
        title=f"`Tokenizer.count`, {_CORPORA[corpus]}, cl100k",
        sides=(
            Side(OURS),
            Side("toktok", packages=("toktok-rs",)),
            Side("quicktok", packages=("quicktok-v1",)),
            Side("tuetoken", packages=("tuetoken",)),
        ),
        limits=(Limit("at least 1x", 1.0, form="speed", peer="toktok"),),
        rounds=5,
        quick=1,
        inside="encoding.counting",
        settings=_given("cl100k_base", corpus),
        corpus=corpus,
        environ=SINGLE,
        compared="numbers",
        note="How many ids a text has, without making them; one text after another, one thread, "
        "counted before.",
        why=_WARM,
    )


def _truncating(corpus: str) -> Work:
    return Work(
        name=f"truncate-{corpus}",
        group="count",
        title=f"`Tokenizer.truncate` to 200 ids, {_CORPORA[corpus]}, cl100k",
        sides=(Side(OURS), Side("toktok", packages=("toktok-rs",))),
        limits=(Limit("at least 1x", 1.0, form="speed", peer="toktok"),),
        rounds=5,
        quick=1,
        inside="encoding.truncating",
        settings={**_given("cl100k_base", corpus), "most": "200"},
        corpus=corpus,
        environ=SINGLE,
        compared="beginnings",
        note="The longest beginning of each document of about 4 kB that has so many ids and cuts "
        "no character; MB/s are of the whole documents. toktok counts the rest as well.",
        why="Of 38 µs for 4 kB (CPU time), splitting it and encoding the beginning take 11, making "
        "Python's pairs of places 15, and encoding what is kept once more 3, which shows that its "
        "own ids are no more; the rest is calls.",
    )


_SHORT = Work(
    name="short",
    group="short",
    title="our encoder, texts of 64 bytes, cl100k",
    sides=_ALL,
    limits=(Limit("at most 0.5x", 0.5, peer="tiktoken"),),
    rounds=5,
    inside="encoding.short",
    settings={**_given("cl100k_base", "english"), "share": "0.1"},
    corpus="english",
    share=0.1,
    environ=SINGLE,
    compared="ids",
    note="English in pieces of 64 characters, one call for each; warm, lists.",
    why="Of 2.1 µs for a call (CPU time, the least of 25 runs; tiktoken: 6.6), 1.2 are what an "
    "empty text costs too: the call of the library is 0.3 of them, the rest Python's. The text in "
    "the kernel takes 0.45, the list of its 16 ids 0.3.",
)


def _split(preset: str, corpus: str) -> Work:
    named = preset.removesuffix("_base")
    return Work(
        name=f"split-{named}-{corpus}",
        group="split",
        title=f"split only, {_CORPORA[corpus]}, {named}'s pattern",
        sides=(Side(OURS), Side("regex", packages=("regex",))),
        limits=(Limit("at least 300 MB/s", 300e6, form="rate"),),
        rounds=3,
        quick=2,
        inside="encoding.splitting",
        settings=_given(preset, corpus),
        corpus=corpus,
        environ=SINGLE,
        compared="pretokens",
        note="Where each pretoken of a text starts and ends, in arrays; `regex` is the module of "
        "that name with the same pattern. One text after another, one thread.",
        why="ASCII is decided 64 bytes at a time; other text takes one step of a table for each "
        "character, each after the one before.",
    )


_BY_PIECES = (
    Side(OURS),
    Side("sentencepiece", packages=("sentencepiece",)),
    Side("tokenizers", packages=("tokenizers",)),
    Side("kitoken", packages=("kitoken",)),
    Side("gigatoken", packages=("gigatoken",)),
)


def _given_pieces(corpus: str) -> dict[str, str]:
    source = "{data}/llama-2/tokenizer.model"
    return {"corpus": "{made}/" + f"{corpus}.txt", "source": source, "share": "0.2"}


def _warm_pieces(corpus: str) -> Work:
    return Work(
        name="encode-llama-2" if corpus == "english" else f"encode-llama-2-{corpus}",
        group="pieces",
        title=f"our encoder, warm, {_CORPORA[corpus]}, Llama-2 `.model`",
        sides=_BY_PIECES,
        limits=(Limit("at least 10x", 10.0, form="speed", peer="sentencepiece"),),
        rounds=3,
        inside="encoding.warm_pieces",
        settings=_given_pieces(corpus),
        corpus=corpus,
        share=0.2,
        environ=SINGLE,
        compared="ids",
        note="The text was encoded before, by all sides; one text after another, one thread. "
        "gigatoken gives arrays, the others lists.",
        why="A quarter of the time for English is making the list (22 ns for each id); Chinese and "
        "Japanese cost sentencepiece about 45 ns an id in all.",
    )


def _unseen_pieces(corpus: str) -> Work:
    return Work(
        name=f"unseen-llama-2-{corpus}",
        group="pieces",
        title=f"our encoder, never-seen text: {_CORPORA[corpus]}, Llama-2 `.model`",
        sides=_BY_PIECES[:2],
        limits=(Limit("at least 5x", 5.0, form="speed", peer="sentencepiece"),),
        rounds=3,
        quick=1,
        inside="encoding.unseen_pieces",
        settings=_given_pieces(corpus),
        processes=3,
        corpus=corpus,
        share=0.1,
        environ=SINGLE,
        compared="ids",
        note="Each round is a new process: every other document was encoded before, the ones "
        "between are timed, once; one thread.",
        why="Of the kernel's time, merging is two fifths (many scripts: a third), and cutting "
        "where no token goes across, with looking up what is known, as much; the kernel is two "
        "thirds of the process, and Python most of the rest (perf).",
    )


_THREADS = Work(
    name="threads",
    group="batch",
    title="`Tokenizer.encode_batch`, our encoder, two threads, cl100k",
    sides=(Side(OURS), Side(ONE_THREAD)),
    limits=(Limit("at least 1.8x one thread", 1.8, form="speed", peer=ONE_THREAD),),
    rounds=7,
    inside="encoding.threads",
    settings=_given("cl100k_base", "english"),
    corpus="english",
    compared="ids",
    note="A list of lists of ids; the text was encoded before.",
    why="The lists of Python's integers are made by one thread, and are two thirds of the time.",
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
        why="A batch of the engine's is checked for special tokens by us before it is given away, "
        "which is 6 of 74 ms (4 MB of English, gigatoken, CPU time).",
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
    settings={**_given("cl100k_base", "english"), "share": "0.4", "cut": "documents"},
    corpus="english",
    share=0.4,
    environ=SINGLE,
    compared="texts",
    limits=(Limit("at least 1x", 1.0, form="speed", peer="tiktoken"),),
    note="MB/s are of text. The ids were decoded before, by both.",
    why="Ids come as a list, and are read one by one.",
)


_DECODE_ONE = Work(
    name="decode-one",
    group="decode",
    title="`Tokenizer.decode`, War and Peace as one text, cl100k",
    sides=_TWO,
    rounds=5,
    inside="encoding.decoding",
    settings={
        **_given("cl100k_base", "english"),
        "corpus": "{data}/corpora/war-and-peace.txt",
        "share": "1",
        "cut": "one",
    },
    environ=SINGLE,
    compared="texts",
    limits=(Limit("at least 1x", 1.0, form="speed", peer="tiktoken"),),
    note="One call; the ids were decoded before, by both.",
    why="Ids come as a list: to read them one by one is two fifths of the time.",
)


_DECODE_SHORT = Work(
    name="decode-short",
    group="decode",
    title="`Tokenizer.decode`, texts of 10 to 100 characters, cl100k",
    sides=_TWO,
    rounds=5,
    inside="encoding.decoding",
    settings={**_given("cl100k_base", "english"), "share": "0.1", "cut": "pieces"},
    corpus="english",
    share=0.1,
    environ=SINGLE,
    compared="texts",
    limits=(Limit("at most 1x", 1.0, peer="tiktoken"),),
    note="One call for each text; the ids were decoded before, by both.",
    why="Of 1.6 µs for 12 to 25 ids (CPU time; tiktoken: 0.85), the call of the library is 0.2, to "
    "check the ids and copy them into an array 0.4, to make a text of the bytes 0.2; the rest is "
    "Python's functions. Fewer ids are looked up in a dictionary: 1.4 µs for 8 to 11 (0.5).",
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
        Limit("at most 0.2 s", 0.2, form="absolute"),
        Limit(
            "10x the letters at most 13x the time",
            13.0,
            peer=OURS,
            title="one pretoken of 10,000,000 equal letters",
            of="bpe_interop, 10,000,000 letters",
        ),
    ),
    rounds=2,
    quick=1,
    environ=SINGLE,
    note="cl100k_base. With `--quick`, a tenth of the letters.",
    why="A linked list and heaps: the more letters, the farther apart in memory.",
)

WORKS = (
    *(_warm(preset, corpus) for preset in _RANKS for corpus in _CORPORA),
    *(_unseen(preset, corpus) for preset in _RANKS for corpus in _CORPORA),
    *(_arrays(_TOKENIZERS[0], corpus) for corpus in _CORPORA),
    *(_arrays(of, corpus) for of in _TOKENIZERS[1:] for corpus in _ENGLISH_AND_CODE),
    *(_warm_arrays(of, corpus) for of in _TOKENIZERS for corpus in _ENGLISH_AND_CODE),
    *(_beside(_TOKENIZERS[3], corpus, seen=True, least=0.9) for corpus in _ENGLISH_AND_CODE),
    *(
        _beside(of, corpus, seen=seen, least=0.7 if seen else 1.0)
        for of in _REFUSED
        for seen in (False, True)
        for corpus in _ENGLISH_AND_CODE
    ),
    *(_chat(name) for name in ("qwen3", "llama-3.2", "gpt-oss")),
    _SHORT,
    *(_counting(corpus) for corpus in _CORPORA),
    *(_truncating(corpus) for corpus in _ENGLISH_AND_CODE),
    *(_split(preset, corpus) for preset in _RANKS for corpus in _CORPORA),
    *(_warm_pieces(corpus) for corpus in _CORPORA),
    *(_unseen_pieces(corpus) for corpus in _CORPORA),
    *(_batch(engine) for engine in ("tiktoken", "tokenizers", "gigatoken")),
    _THREADS,
    _NUMPY,
    _DECODE,
    _DECODE_ONE,
    _DECODE_SHORT,
    _LETTERS,
)
