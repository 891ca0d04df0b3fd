"""Whether the ids of encoders are right: each function is one child process.

An encoder is asked in one mode or in two: ``special``, where a text's special tokens are found, and
``ordinary``, where they are text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from .answers import FIXTURES

Side: TypeAlias = "tuple[Callable[[], Any], Callable[[Any], object]]"
Modes: TypeAlias = "Iterator[tuple[str, Callable[[str], Any]]]"

MEMORY = 8 << 30
"""Bytes that an encoder's process may have."""


class Given(NamedTuple):
    """A tokenizer: what kind of file it is, the file, and the name of what the file leaves unsaid.

    ``folder`` is where an encoder may write.
    """

    kind: str
    source: str
    preset: str
    folder: str


class OtherKindError(Exception):
    """The encoder reads no such file, and has no tokenizer of that name."""


def awkward(kind: str, source: str, preset: str, folder: str, count: str, target: str) -> Side:
    """Writes awkward texts and the ids of the engine that the format belongs to."""
    given = Given(kind, source, preset, folder)

    def run() -> Any:
        stress = import_module("bpe_interop.compare.stress")
        model = import_module("bpe_interop").load(source, preset=preset or None).model
        wanted = int(count)
        # Sentences too: contractions and names in which tokens go across what is awkward.
        lines = list(dict.fromkeys(_lines()))[: wanted // 2]
        every = dict.fromkeys([*lines, *stress.awkward(model, scale=-(-wanted // 10_000))])
        rest, left = [*every][len(lines) :], wanted - len(lines)
        # From all of them alike: the kinds of awkward texts follow one another.
        chosen = lines + [rest[at * len(rest) // left] for at in range(min(left, len(rest)))]
        # Some find an added token that is not special in ordinary text too, and some do not.
        plain = [t.text for t in model.added or () if not t.special and kind == "json"]
        asked = {"special": chosen, "ordinary": [t for t in chosen if not _any(plain, t)]}
        ids = {
            mode: [list(encode(text)) for text in asked[mode]]
            for mode, encode in _REFERENCE[kind](given)
        }
        kept = {"texts": asked, "ids": ids}
        Path(target).write_text(json.dumps(kept), "utf-8")
        return {"texts": len(chosen)}

    return run, lambda found: found


def _lines() -> Iterator[str]:
    """The lines of the repository's corpora, with their ends."""
    for file in sorted(FIXTURES.glob("*.txt")):
        yield from file.read_bytes().decode("utf-8").splitlines(keepends=True)


def _any(parts: list[str], text: str) -> bool:
    return any(part in text for part in parts)


def tried(peer: str, kind: str, source: str, preset: str, folder: str, texts: str) -> Side:
    """What an encoder makes of the texts that were written."""
    given = Given(kind, source, preset, folder)

    def run() -> Any:
        kept = json.loads(Path(texts).read_text("utf-8"))
        _limited()
        made = ENCODERS[peer](given)
        found: dict[str, Any] = {"modes": [], "texts": len(kept["texts"]["special"])}
        wrong: set[str] = set()
        while True:
            try:
                mode, encode = next(made)
            except StopIteration:
                break
            except OtherKindError:
                return {"state": "other kind"}
            except BaseException as error:  # a panic of Rust is no Exception
                return {"state": "refuses", "said": _first_line(error)}
            if mode in kept["ids"]:
                told, others = _held(encode, kept["texts"][mode], kept["ids"][mode])
                if others:
                    told |= _shown(encode, _engine(given, mode), others)
                found["modes"].append({"mode": mode, **told})
                wrong |= others
        return {"state": "ran", "differing": len(wrong), **found}

    return run, lambda found: found


def _held(
    encode: Callable[[str], Any], texts: list[str], expected: list[list[int]]
) -> tuple[dict[str, Any], set[str]]:
    """How many texts have other ids, or an error, and which."""
    wrong: set[str] = set()
    raised = 0
    for text, ids in zip(texts, expected, strict=True):
        theirs = _answer(encode, text)
        raised += isinstance(theirs, str)
        if not _same(theirs, ids):
            wrong.add(text)
    return {"texts": len(texts), "differing": len(wrong), "raised": raised}, wrong


def _answer(encode: Callable[[str], Any], text: str) -> list[int] | int | str:
    """Ids, their number from one that only counts, or an error's first line."""
    try:
        answer = encode(text)
        return answer if isinstance(answer, int) else [int(one) for one in answer]
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a panic of Rust is no Exception
        return _first_line(error)


def _same(theirs: list[int] | int | str, ids: list[int]) -> bool:
    return theirs == (len(ids) if isinstance(theirs, int) else ids)


def _shown(
    encode: Callable[[str], Any], right: Callable[[str], Any], wrong: Iterable[str]
) -> dict[str, Any]:
    """The shortest of the texts, cut to what still differs, and both answers."""

    def differs(text: str) -> bool:
        return not _same(_answer(encode, text), list(right(text)))

    text = min(wrong, key=lambda text: (len(text), text))
    size = len(text)
    while size := size // 2:
        at = 0
        while at < len(text):
            shorter = text[:at] + text[at + size :]
            if differs(shorter):
                text = shorter
            else:
                at += size
    return {"text": text, "expected": list(right(text)), "theirs": _answer(encode, text)}


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


def _limited() -> None:
    with suppress(ImportError):
        resource = import_module("resource")
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


# The engines whose ids are right by definition.


def _of_tiktoken(given: Given) -> Modes:
    """OpenAI's encodings are its own; others are what it makes of the published parts."""
    library = import_module("tiktoken")
    if given.preset in library.list_encoding_names():
        made = library.get_encoding(given.preset)
    else:
        known = import_module("bpe_interop.presets").by_name(given.preset)
        made = library.Encoding(
            given.preset,
            pat_str=known.pattern,
            mergeable_ranks=import_module("tiktoken.load").load_tiktoken_bpe(given.source),
            special_tokens=dict(known.special_tokens),
        )
    yield "special", lambda text: made.encode(text, allowed_special="all")
    yield "ordinary", made.encode_ordinary


def _of_tokenizers(given: Given) -> Modes:
    made = import_module("tokenizers").Tokenizer.from_file(given.source)
    yield "special", lambda text: made.encode(text, add_special_tokens=False).ids
    made.encode_special_tokens = True
    yield "ordinary", lambda text: made.encode(text, add_special_tokens=False).ids


def _of_sentencepiece(given: Given) -> Modes:
    """It finds no control symbol in a text."""
    made = import_module("sentencepiece").SentencePieceProcessor(model_file=given.source)
    yield "ordinary", made.encode


_REFERENCE: Mapping[str, Callable[[Given], Modes]] = {
    "ranks": _of_tiktoken,
    "json": _of_tokenizers,
    "pieces": _of_sentencepiece,
}


def _engine(given: Given, mode: str) -> Callable[[str], Any]:
    """The engine's function of a mode; an engine is made for each, which may be set to it."""
    return next(encode for name, encode in _REFERENCE[given.kind](given) if name == mode)


def _only(kind: str, modes: Callable[[Given], Modes]) -> Callable[[Given], Modes]:
    def checked(given: Given) -> Modes:
        if given.kind != kind:
            raise OtherKindError
        yield from modes(given)

    return checked


# Everybody else. A name stands for a vocabulary that comes with the package.

_QUICKTOK = {"cl100k_base": "cl100k_base", "o200k_base": "o200k_base", "llama-3": "llama3"}
_TOKTOK = {
    "cl100k_base": "cl100k_base",
    "o200k_base": "o200k_base",
    "gpt-oss/tokenizer.json": "o200k_harmony",
}
_SPLINTR = ("cl100k_base", "o200k_base")

# What these call a pattern of theirs: they take no possessive quantifiers, or no pattern at all.
_SPLINTR_PATTERNS = {"p50k_base": "GPT2_PATTERN", "r50k_base": "GPT2_PATTERN"}
_GIGATOKEN = {"p50k_base": "r50k", "llama-3": "cl100k", "qwen": "qwen2"}


def _published(given: Given) -> tuple[str, dict[str, int]]:
    """The pattern and the special tokens that a rank file leaves unsaid."""
    known = import_module("bpe_interop.presets").by_name(given.preset)
    return known.pattern, dict(known.special_tokens)


def _bpe_interop(given: Given) -> Modes:
    made = import_module("bpe_interop").load(given.source, preset=given.preset or None)
    if given.kind != "pieces":
        yield "special", lambda text: made.encode(text, allowed_special="all")
    yield "ordinary", made.encode_ordinary


def _kitoken(given: Given) -> Modes:
    kind = {"ranks": "tiktoken", "json": "tokenizers", "pieces": "sentencepiece"}[given.kind]
    made = getattr(import_module("kitoken").Kitoken, f"from_{kind}_file")(given.source)
    # It knows the special tokens of OpenAI's rank files; nobody can tell it those of others.
    if given.kind == "json" or given.preset.endswith("_base"):
        yield "special", lambda text: made.encode(text, True)
    yield "ordinary", made.encode


def _gigatoken(given: Given) -> Modes:
    """It always finds special tokens."""
    kind = import_module("gigatoken").Tokenizer
    if given.kind == "ranks":
        scheme = _GIGATOKEN.get(given.preset)
        special = _published(given)[1] if scheme else None
        made = kind.from_tiktoken(given.source, scheme, special)
    elif given.kind == "json":
        made = kind.from_json(Path(given.source).read_bytes())
    else:
        made = kind.from_sentencepiece(given.source)
    yield "ordinary" if given.kind == "pieces" else "special", made.encode


def _fastokens(given: Given) -> Modes:
    kind = import_module("fastokens").Tokenizer
    if given.kind == "pieces":
        raise OtherKindError
    if given.kind == "ranks":
        made = kind.from_tiktoken(given.source, *_published(given))
    else:
        made = kind.from_file(given.source)
    yield "special", lambda text: made.encode(text).ids
    yield "ordinary", lambda text: made.encode(text, split_special_tokens=True).ids


def _snaptokens(given: Given) -> Modes:
    made = import_module("snaptokens").Tokenizer.from_file(given.source)
    yield "special", lambda text: made.encode(text, add_special_tokens=False).ids


def _splintr(given: Given) -> Modes:
    library = import_module("splintr")
    if given.kind == "pieces":
        raise OtherKindError
    if given.kind == "json":
        made = library.from_json(given.source)
        yield "special", made.encode_raw
        if made.encode_ordinary(""):  # the template is around every text that it encodes so
            return
    elif given.preset in _SPLINTR:
        made = library.Tokenizer.from_pretrained(given.preset)
        yield "special", made.encode_with_special
    else:
        pattern, special = _published(given)
        pattern = getattr(library, _SPLINTR_PATTERNS.get(given.preset, ""), pattern)
        made = library.Tokenizer(given.source, pattern, special)
        yield "special", made.encode_with_special
    yield "ordinary", made.encode_ordinary


def _quicktok(given: Given) -> Modes:
    library = import_module("quicktok")
    if given.kind == "json":
        library.import_tokenizer(given.source, "imported", given.folder)
        made = library.get_encoding("imported", given.folder)
    elif given.preset in _QUICKTOK and given.kind == "ranks":
        made = library.get_encoding(_QUICKTOK[given.preset])
    else:
        raise OtherKindError
    yield "special", made.encode_with_special
    yield "ordinary", made.encode_ordinary


def _toktok(given: Given) -> Modes:
    """It counts; only numbers are compared."""
    count = import_module("toktok").batch_count
    name = _TOKTOK.get(given.preset or "/".join(Path(given.source).parts[-2:]))
    if name is None:
        raise OtherKindError
    yield "special", lambda text: count([text], name, 1, True)[0]
    yield "ordinary", lambda text: count([text], name, 1)[0]


def _tuetoken(given: Given) -> Modes:
    kind = import_module("tuetoken").AutoTokenizer
    if given.kind == "pieces":
        raise OtherKindError
    if given.kind == "ranks":
        made = kind.from_tiktoken_model(given.source, *_published(given))
        ordinary = made._core
    else:
        made = kind.from_file(given.source)
        ordinary = import_module("tuetoken").Tokenizer(given.source)
    yield "special", lambda text: made.encode(text, add_special_tokens=False)
    yield "ordinary", ordinary.encode_ordinary


def _tokie(given: Given) -> Modes:
    made = import_module("tokie").Tokenizer.from_json(given.source)
    yield "special", lambda text: made.encode(text, add_special_tokens=False).ids


ENCODERS: Mapping[str, Callable[[Given], Modes]] = {
    "bpe_interop": _bpe_interop,
    "tiktoken": _only("ranks", _of_tiktoken),
    "tokenizers": _only("json", _of_tokenizers),
    "sentencepiece": _only("pieces", _of_sentencepiece),
    "kitoken": _kitoken,
    "gigatoken": _gigatoken,
    "fastokens": _fastokens,
    "snaptokens": _only("json", _snaptokens),
    "splintr": _splintr,
    "quicktok": _quicktok,
    "toktok": _toktok,
    "tuetoken": _tuetoken,
    "tokie": _only("json", _tokie),
}
