"""How cost grows: each function is one point, or all points of a curve that need one process."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, TypeAlias

from .converting import command

Side: TypeAlias = "tuple[Callable[[], Any], Callable[[Any], object]]"

FIRST_CJK, LAST_CJK = 0x4E00, 0x9FA5


def _nothing(result: Any) -> None:
    """There is nothing to compare."""


def load(source: str) -> Side:
    """``bpe_interop.load``."""
    return partial(import_module("bpe_interop").load, source), _nothing


def convert(source: str, target: str) -> Side:
    """``bpe-interop convert``, not checked."""
    return command(["convert", source, target, "--to", "hf", "--no-verify"]), _nothing


def canonical(source: str) -> Side:
    """The canonical form of a tokenizer that is loaded."""
    from bpe_interop.merging.canonical import canonical as form

    model = import_module("bpe_interop").load(source).model
    return partial(form, model), _nothing


def prove(source: str, target: str) -> Side:
    """A proof of two tokenizers that are loaded; it has to be one."""
    from bpe_interop.proof.prove import prove as decide

    one, two = (import_module("bpe_interop").load(side).model for side in (source, target))

    def run() -> None:
        found = decide(one, two, "ordinary")
        if found.outcome != "proved":
            raise SystemExit(f"not proved: {found.outcome}")

    return run, _nothing


def encode(corpus: str, source: str, preset: str, sizes: str) -> Side:
    """A text of each size, by an encoder that has seen none; the best of several."""
    kind, model = _fresh(source, preset)
    text = Path(corpus).read_bytes().decode("utf-8", "ignore")
    points: list[tuple[int, float]] = []

    def run() -> None:
        for size in map(int, sizes.split(",")):
            if size <= len(text):
                points.append((size, _least(kind, model, [text[:size]] * _times(size))))

    return run, lambda result: points


def pretoken(letters: str, source: str, preset: str, sizes: str) -> Side:
    """One pretoken of each length; the best of several."""
    kind, model = _fresh(source, preset)
    drawn = random.Random(1)
    alphabets = {
        "equal letters": "a",
        "random letters": "abcdefghijklmnopqrstuvwxyz",
        "random Chinese characters": "".join(map(chr, range(FIRST_CJK, LAST_CJK))),
    }
    alphabet = alphabets[letters]
    points: list[tuple[int, float]] = []

    def run() -> None:
        for size in map(int, sizes.split(",")):
            texts = ["".join(drawn.choices(alphabet, k=size)) for _ in range(_times(size))]
            points.append((size, _least(kind, model, texts)))

    return run, lambda result: points


def _fresh(source: str, preset: str) -> tuple[Any, Any]:
    """What makes a tokenizer, and of what."""
    package = import_module("bpe_interop")
    made = package.load(source, preset=preset)
    made.encode_ordinary("it builds what it needs")
    return package.Tokenizer, made.model


def _times(size: int) -> int:
    return 2 if size > 100_000 else 5


def _least(kind: Any, model: Any, texts: list[str]) -> float:
    taken = []
    for text in texts:
        encode = kind(model).encode_ordinary
        encode("it builds what it needs")
        began = time.perf_counter()
        encode(text)
        taken.append(time.perf_counter() - began)
    return min(taken)


def verify(source: str, preset: str, corpus: str) -> Side:
    """A corpus in a file, by tiktoken and tokenizers."""
    from bpe_interop.compare.corpus import Corpora, compare_corpora
    from bpe_interop.compare.corpus_report import SideName
    from bpe_interop.compare.run import Sides
    from bpe_interop.compare.sides import ORDINARY
    from bpe_interop.compare.sides import Side as Compared
    from bpe_interop.engines import from_model
    from bpe_interop.formats import by_name
    from bpe_interop.io.reader import TokenizerSource

    model = import_module("bpe_interop").load(source, preset=preset).model
    where = TokenizerSource(preset, by_name("tiktoken"), {}, model)
    one, two = (
        Compared(where, model, partial(from_model, name, model), partial(SideName, name, name, ""))
        for name in ("tiktoken", "tokenizers")
    )
    sides = Sides(one, two, (ORDINARY,))

    def run() -> None:
        report, _ = compare_corpora(sides, Corpora((corpus,)))
        counts = report.counts
        if counts.differing or counts.compared != counts.documents:
            raise SystemExit(f"{counts.differing:,} of {counts.documents:,} documents differ")

    return run, _nothing


def write_ranks(source: Path, target: Path, count: int) -> None:
    """A rank file of so many tokens: the first ones of a real file, and then made-up ones.

    Those are two neighbouring tokens of the file as one, where that is not a token.
    """
    from base64 import b64decode, b64encode

    from bpe_interop.presets import by_name

    real = [b64decode(line.split()[0]) for line in source.read_bytes().splitlines()]
    known = set(real)
    pairs = (one + two for one, two in pairwise(real[256:]))
    made: Iterable[bytes] = (token for token in dict.fromkeys(pairs) if token not in known)
    tokens = (token for token, _ in zip(chain(real, made), range(count), strict=False))
    lines = [b"%s %d\n" % (b64encode(token), rank) for rank, token in enumerate(tokens)]
    if len(lines) != count:
        raise ValueError(f"{count:,} tokens cannot be made of {len(real):,}")
    target.write_bytes(b"".join(lines))
    stated = {"name": target.stem, "pat_str": by_name("o200k_base").pattern, "special_tokens": {}}
    json = import_module("json")
    target.with_name(f"{target.name}.json").write_text(json.dumps(stated), "utf-8")


def write_of_pieces(source: Path, target: Path, size: int) -> None:
    """A ``tokenizer.json`` of so many tokens as Gemma's are: characters, with byte fallback.

    Its tokens are those of a rank file that are text, then two words of it as one; its merges are
    every split of each token.
    """
    from base64 import b64decode

    lead = ["<pad>", "<eos>", "<bos>", "<unk>", *(f"<0x{byte:02X}>" for byte in range(256))]
    real: dict[str, None] = {}
    for line in source.read_bytes().splitlines():
        token = b64decode(line.split()[0]).decode("utf-8", "ignore").replace(" ", "\u2581")
        real.setdefault(token)
    real.pop("", None)
    pieces = dict.fromkeys(sorted({letter for token in real for letter in token}))
    pieces.update(real)
    drawn, words = random.Random(7), [t for t in real if 3 <= len(t) <= 7 and t.isalpha()]
    while len(lead) + len(pieces) < size:
        pieces.setdefault(drawn.choice(words) + drawn.choice(words))
    tokens = [*lead, *pieces]
    merges = [
        [token[:at], token[at:]]
        for token in pieces
        for at in range(1, len(token))
        if token[:at] in pieces and token[at:] in pieces
    ]
    space = {"pattern": {"String": " "}, "content": "\u2581"}
    back = {"pattern": {"String": "\u2581"}, "content": " "}
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    written = {
        "version": "1.0",
        "added_tokens": [
            {"id": number, "content": text, "special": True, **flags}
            for number, text in enumerate(lead[:4])
        ],
        "normalizer": {"type": "Replace", **space},
        "decoder": {
            "type": "Sequence",
            "decoders": [{"type": "Replace", **back}, {"type": "ByteFallback"}, {"type": "Fuse"}],
        },
        "model": {
            "type": "BPE",
            "unk_token": "<unk>",
            "fuse_unk": True,
            "byte_fallback": True,
            "vocab": {token: number for number, token in enumerate(tokens)},
            "merges": merges,
        },
    }
    json = import_module("json")
    target.write_text(json.dumps(written, ensure_ascii=False), "utf-8")


def write_corpus(texts: list[str], target: Path, size: int) -> None:
    """A file of so many bytes: the documents again and again, each time with another number."""
    with target.open("wb") as file:
        turn = 0
        while file.tell() < size:
            for text in texts:
                file.write(f"{turn} {turn * 7919 % 10007}: {text}\n".encode())
                if file.tell() >= size:
                    break
            turn += 1
