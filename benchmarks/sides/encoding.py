"""Encoding and decoding: sides that share a process."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, TypeAlias

from .texts import (
    Encode,
    array_encoders,
    chat_encoders,
    counters,
    cutters,
    differing,
    encoders,
    engine_of,
    in_arrays,
    piece_encoders,
    pieces,
    read,
    read_chats,
    tokenizer,
)

Inside: TypeAlias = "tuple[dict[str, Callable[[], Any]], Callable[[], dict[str, str]]]"
Side: TypeAlias = "tuple[Callable[[], Any], Callable[[Any], object]]"


def _over(encode: Encode, texts: list[str]) -> Callable[[], Any]:
    return partial(_each, encode, texts)


def warm(sides: str, corpus: str, source: str, preset: str, share: str = "1") -> Inside:
    """Text that was encoded before."""
    texts, encode = read(corpus, share), encoders(sides, source, preset)
    for one in encode.values():
        _over(one, texts)()
    runs = {name: _over(one, texts) for name, one in encode.items()}
    return runs, lambda: differing(encode, "tiktoken", texts)


def warm_chats(sides: str, corpus: str, source: str, name: str) -> Inside:
    """Chats that were encoded before, with their special tokens."""
    texts, encode = read_chats(corpus, name), chat_encoders(sides, source)
    for one in encode.values():
        _over(one, texts)()
    runs = {side: _over(one, texts) for side, one in encode.items()}
    return runs, lambda: differing(encode, "tokenizers", texts)


def warm_pieces(sides: str, corpus: str, source: str, share: str = "1") -> Inside:
    """Text that was encoded before, by a SentencePiece model."""
    texts, encode = read(corpus, share), piece_encoders(sides, source)
    for one in encode.values():
        _over(one, texts)()
    runs = {name: _over(one, texts) for name, one in encode.items()}
    return runs, lambda: differing(encode, "sentencepiece", texts)


def unseen(sides: str, corpus: str, source: str, preset: str) -> Inside:
    """Every other document, right after the ones between were encoded."""
    return _unseen(encoders(sides, source, preset), read(corpus), "tiktoken")


def unseen_arrays(sides: str, corpus: str, source: str, preset: str) -> Inside:
    """The same, with arrays of numpy as answers."""
    texts, encode = read(corpus), array_encoders(sides, source, preset)
    runs, _ = _unseen(encode, texts, "")
    return runs, lambda: _right(encode, texts, source, preset)


def warm_arrays(sides: str, corpus: str, source: str, preset: str) -> Inside:
    """Text that was encoded before, with arrays of numpy as answers."""
    texts, encode = read(corpus), array_encoders(sides, source, preset)
    for one in encode.values():
        _over(one, texts)()
    runs = {name: _over(one, texts) for name, one in encode.items()}
    return runs, lambda: _right(encode, texts, source, preset)


def _right(encode: dict[str, Encode], texts: list[str], source: str, preset: str) -> dict[str, str]:
    """tokenizers takes minutes for all of them, so every fifth text is compared."""
    name, truth = engine_of(source, preset)
    return differing(encode, name, texts[::5], truth=truth)


def beside_itself(
    sides: str, corpus: str, source: str, preset: str, beside: str, seen: str, share: str = "1"
) -> Inside:
    """Our arrays of a tokenizer, and those of cl100k; texts that were seen before, or were not."""
    texts = read(corpus, share)
    ours, other = sides.split(",")
    encode = {ours: in_arrays(source, preset), other: in_arrays(beside, "cl100k_base")}
    # Two tokenizers have different ids; whether ours are right is compared elsewhere (exact).
    if not seen:
        return _unseen(encode, texts, "")[0], dict
    for one in encode.values():
        _over(one, texts)()
    return {name: _over(one, texts) for name, one in encode.items()}, dict


def counting(sides: str, corpus: str, source: str, preset: str) -> Inside:
    """How many ids texts have, which were counted before."""
    texts, count = read(corpus), counters(sides, source, preset)
    for one in count.values():
        _over(one, texts)()
    _, encode = engine_of(source, preset)
    runs = {name: _over(one, texts) for name, one in count.items()}
    return runs, lambda: differing(
        count, "tiktoken", texts, "numbers", truth=lambda text: len(encode(text))
    )


def truncating(sides: str, corpus: str, source: str, preset: str, most: str) -> Inside:
    """The beginning of each text that has so many ids; the texts were cut before."""
    texts, cut = read(corpus), cutters(sides, source, preset, int(most))
    for one in cut.values():
        _over(one, texts)()
    runs = {name: _over(one, texts) for name, one in cut.items()}
    return runs, lambda: differing(cut, "toktok", texts, "beginnings")


def unseen_pieces(sides: str, corpus: str, source: str, share: str = "1") -> Inside:
    """The same, by a SentencePiece model."""
    return _unseen(piece_encoders(sides, source), read(corpus, share), "sentencepiece")


def _unseen(encode: dict[str, Encode], texts: list[str], against: str) -> Inside:
    runs: dict[str, Callable[[], Any]] = {}
    for name, one in encode.items():
        runs[name] = timed = partial(_each, one, texts[1::2])
        # What the others do in between puts a side's tables out of the processor's memory.
        vars(timed)["ready"] = _over(one, texts[::2])
    return runs, lambda: differing(encode, against, texts)


def short(sides: str, corpus: str, source: str, preset: str, share: str = "1") -> Inside:
    """Texts of 64 characters, most of which are a byte."""
    texts, encode = read(corpus, share), encoders(sides, source, preset)
    short = [text[at : at + 64] for text in texts for at in range(0, len(text), 64)]
    for one in encode.values():
        _over(one, short)()
    runs = {name: _over(one, short) for name, one in encode.items()}
    return runs, lambda: differing(encode, "tiktoken", short)


def splitting(sides: str, corpus: str, source: str, preset: str) -> Inside:
    """Where the pretokens of texts lie, in bytes; ``regex`` finds them in characters."""
    from bpe_interop.kernel.splitter import splitter_of
    from bpe_interop.theory.split_tables import split_tables

    texts, steps = read(corpus), tokenizer(source, preset).model.pretokenizer
    ours = splitter_of(split_tables(steps))
    if ours is None:
        raise SystemExit("there is no native kernel here")
    find = import_module("regex").compile(steps[0].pattern.source).finditer
    given = [text.encode("utf-8") for text in texts]

    def theirs(text: str) -> list[tuple[int, int]]:
        return [match.span() for match in find(text)]

    def compare() -> dict[str, str]:
        wrong = sum(ours.cut(t) != [t[start:end] for start, end in theirs(t)] for t in texts)
        return {"bpe_interop": f"pretokens differ on {wrong:,} texts"} if wrong else {}

    known: dict[str, Callable[[], Any]] = {
        "bpe_interop": partial(_each, ours.places, given),
        "regex": partial(_each, theirs, texts),
    }
    return {name: known[name] for name in sides.split(",")}, compare


def threads(sides: str, corpus: str, source: str, preset: str) -> Inside:
    """``encode_batch`` in two threads and in one."""
    texts, ours = read(corpus), tokenizer(source, preset)
    one, *_ = (name for name in sides.split(",") if name != "bpe_interop")
    wanted = {"bpe_interop": 2, one: 1}
    runs: dict[str, Callable[[], Any]] = {
        name: partial(ours.encode_batch, texts, num_threads=count, disallowed_special=())
        for name, count in wanted.items()
    }
    for run in runs.values():
        run()

    def compare() -> dict[str, str]:
        same = len({str(run()) for run in runs.values()}) == 1
        return {} if same else {"bpe_interop": "ids differ with the threads"}

    return runs, compare


def batch(
    sides: str, engine: str, corpus: str, source: str, preset: str, share: str = "1"
) -> Inside:
    """``Tokenizer.encode_batch`` with an engine, and the engine's own call that gives lists."""
    names = import_module("bpe_interop.engines").NAMES
    if engine not in names:
        raise SystemExit(f"bpe_interop has no engine {engine}; it has {', '.join(names)}")
    texts, model = read(corpus, share), tokenizer(source, preset)
    ours = model.with_engine(engine)
    alone = _ALONE[engine](model, source, preset)
    known = {"bpe_interop": ours.encode_batch, engine: alone}
    batches = {name: known[name] for name in sides.split(",")}
    runs: dict[str, Callable[[], Any]] = {
        name: partial(call, texts) for name, call in batches.items()
    }

    def compare() -> dict[str, str]:
        ours, theirs = (
            [list(ids) for ids in batches[name](texts)] if name in batches else None
            for name in ("bpe_interop", engine)
        )
        if ours is None or theirs is None or ours == theirs:
            return {}
        wrong = sum(one != two for one, two in zip(ours, theirs, strict=True))
        return {"bpe_interop": f"ids differ from {engine}'s on {wrong:,} of {len(texts):,} texts"}

    return runs, compare


def _tiktoken_batch(model: Any, source: str, preset: str) -> Callable[[list[str]], Any]:
    call: Callable[[list[str]], Any] = import_module("tiktoken").get_encoding(preset).encode_batch
    return call


def _tokenizers_batch(model: Any, source: str, preset: str) -> Callable[[list[str]], Any]:
    made = model.to_tokenizers()
    return lambda texts: [
        encoding.ids for encoding in made.encode_batch_fast(texts, add_special_tokens=False)
    ]


def _gigatoken_batch(model: Any, source: str, preset: str) -> Callable[[list[str]], Any]:
    kind, scheme = import_module("gigatoken").Tokenizer, preset.removesuffix("_base")
    call: Callable[[list[str]], Any] = kind.from_tiktoken(
        source, pretokenizer=scheme
    ).encode_batch_list
    return call


_ALONE = {
    "tiktoken": _tiktoken_batch,
    "tokenizers": _tokenizers_batch,
    "gigatoken": _gigatoken_batch,
}


def to_numpy(sides: str, corpus: str, source: str, preset: str, share: str = "1") -> Inside:
    """``encode_to_numpy`` of ours on tiktoken, and tiktoken's."""
    texts, model = read(corpus, share), tokenizer(source, preset)
    known: dict[str, Encode] = {
        "bpe_interop": model.with_engine("tiktoken").encode_to_numpy,
        "tiktoken": import_module("tiktoken").get_encoding(preset).encode_to_numpy,
    }
    encode = {name: known[name] for name in sides.split(",")}
    runs = {name: _over(one, texts) for name, one in encode.items()}
    return runs, lambda: differing(encode, "tiktoken", texts)


def decoding(sides: str, corpus: str, source: str, preset: str, share: str, cut: str) -> Inside:
    """``decode``, on what the texts are encoded to: documents, pieces of them, or one text."""
    texts, model = read(corpus, share), tokenizer(source, preset)
    if cut != "documents":
        texts = pieces("".join(texts)) if cut == "pieces" else ["".join(texts)]
    encoding = import_module("tiktoken").get_encoding(preset)
    ids = [encoding.encode_ordinary(text) for text in texts]
    known: dict[str, Callable[[list[int]], str]] = {
        "bpe_interop": model.decode,
        "tiktoken": encoding.decode,
    }
    decode = {name: known[name] for name in sides.split(",")}
    for one in decode.values():
        _each(one, ids)

    def compare() -> dict[str, str]:
        wrong = {
            name: sum(one(i) != t for i, t in zip(ids, texts, strict=True))
            for name, one in decode.items()
        }
        return {name: f"{count:,} texts are others" for name, count in wrong.items() if count}

    return {name: partial(_each, one, ids) for name, one in decode.items()}, compare


def _each(call: Callable[[Any], Any], given: list[Any]) -> list[Any]:
    return [call(one) for one in given]


def letters(count: str, source: str, preset: str, by: str) -> Side:
    """One pretoken of equal letters."""
    from .answers import digest

    encode, text = encoders(by, source, preset)[by], "a" * int(count)
    return lambda: encode(text), lambda ids: {count: digest(ids)}
