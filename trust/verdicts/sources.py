"""Small tokenizers as values: what stands in their files, and the engine that reads these."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias

import sentencepiece
import tiktoken
import tokenizers

from bpe_interop.formats import by_name
from bpe_interop.formats.huggingface.companions import with_companions
from bpe_interop.model import BPEModel, SequenceTemplate
from bpe_interop.steps import Pattern, Split
from bpe_interop.testing.tiny import document_of, model_of
from bpe_interop.text.bytechars import BYTE_TO_CHAR, to_chars
from bpe_interop.text.spellings import GPT2
from fixtures.piece_model import CONTROL, UNKNOWN, Piece, with_pieces, write

from .beside import OPEN, Beside, PartsOracle, files_of, raised
from .byte_formats import (
    MinbpeOracle,
    gguf_files,
    gguf_oracle,
    minbpe_facts,
    minbpe_files,
    tekken_files,
    tekken_oracle,
)

Json: TypeAlias = dict[str, Any]
Ids: TypeAlias = list[int] | None
"""The ids of a text; None where the engine fails on it."""

MODES = ("text", "ordinary", "parsed", "templated")
"""How an engine is asked: no added token matches; special strings are text; parsed; template."""


class Oracle(Protocol):
    """An engine that has read the files of a source.

    ``deaf``: it finds no special token. ``decodes``: it can be asked what ids become.
    """

    deaf: bool
    decodes: bool

    def ids(self, texts: Sequence[str], mode: str) -> list[Ids]:
        """The ids of each text."""

    def decoded(self, ids: Sequence[Ids]) -> list[str | None]:
        """What ids become."""


class EngineRefusedError(Exception):
    """The engine does not take the files."""


@dataclass
class Source:
    """A tokenizer of one format. What ``facts`` hold is as the format has it, and JSON.

    ``letters``: what its texts are made of. ``likely``: the changes that it was made for, if any.
    ``beside``: the tokens that files beside it add.
    """

    format: str
    facts: Json
    letters: str
    likely: tuple[str, ...] = ()
    beside: Beside = field(default_factory=list)

    def copy(self) -> Source:
        """Another one, to be changed."""
        both = copy.deepcopy((self.facts, self.beside))
        return replace(self, facts=both[0], beside=both[1])

    @property
    def takes_tokens_on(self) -> bool:
        """Whether the files beside it add tokens to those of its own files."""
        return bool(self.beside) and self.format in OPEN

    def own_files(self) -> dict[str, bytes]:
        """The files of its format; a rank file that others complete has no sidecar."""
        files = _FILES[self.format](self.facts)
        if self.format == "tiktoken" and self.beside:
            del files["t.tiktoken.json"]
        return files

    def files(self) -> dict[str, bytes]:
        """The files, and those beside them."""
        return self.own_files() | (files_of(self.beside) if self.beside else {})

    def model(self) -> BPEModel:
        """What this library reads; a pair of files is given the pattern that it never states.

        Raises:
            BpeInteropError: it refuses the files.
        """
        if self.format == "huggingface":
            return by_name(self.format).load(self.files())
        model = by_name(self.format).load(self.own_files())
        if self.format == "gpt2":
            model = replace(model, added=())
        if self.format == "gpt2" or (self.format == "tiktoken" and self.beside):
            pattern = GPT2 if self.format == "gpt2" else self.facts["pat_str"]
            step = Split(Pattern(pattern, "fancy-regex"), "removed", True)
            nothing = SequenceTemplate()
            model = replace(model, pretokenizer=(step,), normalizer=(), sequence_template=nothing)
        return with_companions(model, files_of(self.beside)) if self.beside else model

    def oracle(self) -> Oracle:
        """The engine.

        Raises:
            EngineRefusedError: it refuses the files.
        """
        try:
            facts = [self.facts, self.beside] if self.takes_tokens_on else [self.facts]
            oracle: Oracle = _ORACLES[self.format](*facts)
            return oracle
        except BaseException as error:
            raise EngineRefusedError(raised(error)) from error


# Files.


def _json_file(facts: Json) -> dict[str, bytes]:
    return {"tokenizer.json": json.dumps(facts, ensure_ascii=False).encode()}


def _rank_files(facts: Json) -> dict[str, bytes]:
    lines = (b"%s %d\n" % (base64.b64encode(_raw(t)), n) for t, n in facts["ranks"])
    stated = {key: facts[key] for key in ("name", "pat_str", "special_tokens")}
    sidecar = json.dumps(stated | {"explicit_n_vocab": None}).encode()
    return {"t.tiktoken": b"".join(lines), "t.tiktoken.json": sidecar}


def _model_file(facts: Json) -> dict[str, bytes]:
    return {"tokenizer.model": _proto(facts)}


def _pair_files(facts: Json) -> dict[str, bytes]:
    merges = "".join(f"{left} {right}\n" for left, right in facts["merges"])
    return {
        "encoder.json": json.dumps(facts["vocab"]).encode(),
        "vocab.bpe": f"#version: 0.2\n{merges}".encode(),
    }


def _raw(spelled: str) -> bytes:
    return spelled.encode("latin-1")


def _proto(facts: Json) -> bytes:
    """The bytes of a ``.model``: BPE, with what is asked for."""
    trainer: list[tuple[int, int | float | bytes]] = [(3, 2), (4, len(facts["pieces"]))]
    trainer += [(35, 1)] if facts["byte_fallback"] else []
    trainer += [(24, 1)] if facts["suffix"] else []
    trainer += [(44, facts["unknown"].encode())] if facts["unknown"] is not None else []
    normalizer = [
        (3, int(facts["dummy"])),
        (4, int(facts["remove_extra"])),
        (5, int(facts["escape"])),
    ]
    plain = write([(2, write(trainer)), (3, write(normalizer))])
    return with_pieces(plain, [Piece(text, score, kind) for text, score, kind in facts["pieces"]])


_FILES = {
    "huggingface": _json_file,
    "tiktoken": _rank_files,
    "sentencepiece": _model_file,
    "gpt2": _pair_files,
    "minbpe": minbpe_files,
    "tekken": tekken_files,
    "gguf": gguf_files,
}


# Engines.


class _Tokenizers:
    """One object that finds added tokens, and one that has none.

    Truncation and padding are off: they are settings of batches, which loading tells of.
    """

    deaf = False
    decodes = True

    def __init__(self, document: Json) -> None:
        self._tokenizer = tokenizers.Tokenizer.from_str(json.dumps(document))
        bare = document | {"added_tokens": []}
        self._bare = tokenizers.Tokenizer.from_str(json.dumps(bare))
        for tokenizer in (self._tokenizer, self._bare):
            tokenizer.no_truncation()
            tokenizer.no_padding()

    def ids(self, texts: Sequence[str], mode: str) -> list[Ids]:
        tokenizer = self._bare if mode == "text" else self._tokenizer
        tokenizer.encode_special_tokens = mode == "ordinary"
        template = mode == "templated"
        try:
            found = tokenizer.encode_batch_fast(list(texts), add_special_tokens=template)
            return [encoding.ids for encoding in found]
        except BaseException as error:
            raised(error)
        return [self._one(tokenizer, text, template) for text in texts]

    def _one(self, tokenizer: Any, text: str, template: bool) -> Ids:
        try:
            ids: list[int] = tokenizer.encode(text, add_special_tokens=template).ids
            return ids
        except BaseException as error:
            raised(error)
            return None

    def decoded(self, ids: Sequence[Ids]) -> list[str | None]:
        return [None if each is None else self._decode(each) for each in ids]

    def _decode(self, ids: list[int]) -> str | None:
        try:
            return str(self._tokenizer.decode(ids, skip_special_tokens=False))
        except BaseException as error:
            raised(error)
            return None


class _Tiktoken:
    deaf = False
    decodes = True

    def __init__(self, facts: Json, beside: Sequence[Json] = ()) -> None:
        added = {token["content"]: token["id"] for token in beside}
        self._plain = {
            token["content"] for token in beside if not (token["special"] or token["role"])
        }
        self._encoding = tiktoken.Encoding(
            "t",
            pat_str=facts["pat_str"],
            mergeable_ranks={_raw(token): rank for token, rank in facts["ranks"]},
            special_tokens=added if beside else facts["special_tokens"],
        )
        if beside:  # where the pattern matches nothing, it panics as soon as it looks for tokens
            self._encoding.encode("", allowed_special="all")

    def ids(self, texts: Sequence[str], mode: str) -> list[Ids]:
        found: dict[str, set[str]] = {"text": set(), "ordinary": self._plain}
        return [
            self._one(text, found.get(mode, self._encoding.special_tokens_set)) for text in texts
        ]

    def _one(self, text: str, special: set[str]) -> Ids:
        try:
            if not special:
                return self._encoding.encode_ordinary(text)
            return self._encoding.encode(text, allowed_special=special, disallowed_special=())
        except BaseException as error:
            raised(error)
            return None

    def decoded(self, ids: Sequence[Ids]) -> list[str | None]:
        return [None if each is None else self._decode(each) for each in ids]

    def _decode(self, ids: list[int]) -> str | None:
        try:
            return self._encoding.decode(ids)
        except BaseException as error:
            raised(error)
            return None


class SentencePieceOracle:
    """It never finds a control symbol in a text, whatever it is asked."""

    deaf = True
    decodes = True

    def __init__(self, facts: Json) -> None:
        sentencepiece.set_min_log_level(3)
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=_proto(facts))

    def ids(self, texts: Sequence[str], mode: str) -> list[Ids]:
        try:
            return [list(ids) for ids in self._processor.encode(list(texts))]
        except BaseException as error:
            raised(error)
        return [self.one(text) for text in texts]

    def one(self, text: str) -> Ids:
        """The ids of a text."""
        try:
            return list(self._processor.encode(text))
        except BaseException as error:
            raised(error)
            return None

    def decoded(self, ids: Sequence[Ids]) -> list[str | None]:
        return [None if each is None else str(self._processor.decode(each)) for each in ids]


class _Pair(_Tokenizers):
    """A GPT-2 pair in tokenizers, put together as its authors' code runs it."""

    def __init__(self, facts: Json, beside: Sequence[Json] = ()) -> None:
        level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
        model = model_of(vocab=facts["vocab"], merges=facts["merges"])
        step = level | {"use_regex": True}
        document = document_of(model, pre_tokenizer=step, decoder=step)
        listed = [{**t, "special": t["special"] or bool(t["role"])} for t in beside]
        for token in listed:
            del token["role"]
        super().__init__(document | {"added_tokens": listed})


def _pieces(facts: Json, beside: Sequence[Json] = ()) -> Oracle:
    """sentencepiece; where tokens are added, between these, with its control pieces."""
    if not beside:
        return SentencePieceOracle(facts)
    control = [
        {"content": text, "id": number, "special": True}
        for number, (text, _, kind) in enumerate(facts["pieces"])
        if kind in (CONTROL, UNKNOWN)
    ]
    return PartsOracle([*control, *beside], SentencePieceOracle(facts).one)


_ORACLES: dict[str, Any] = {
    "huggingface": _Tokenizers,
    "tiktoken": _Tiktoken,
    "sentencepiece": _pieces,
    "gpt2": _Pair,
    "minbpe": MinbpeOracle,
    "tekken": tekken_oracle,
    "gguf": gguf_oracle,
}


# Files of this library's writers, taken in again.


def taken_in(format: str, files: dict[str, bytes], letters: str) -> Source:
    """A source from files that this library wrote."""
    if format == "huggingface":
        facts = json.loads(files["tokenizer.json"])
        facts["model"] = model_of(**facts["model"])
        merges = facts["model"]["merges"]
        facts["model"]["merges"] = [m.split(" ") if isinstance(m, str) else m for m in merges]
    elif format == "tiktoken":
        name = next(name for name in files if name.endswith(".tiktoken"))
        stated = json.loads(files[f"{name}.json"])
        facts = {key: stated[key] for key in ("name", "pat_str", "special_tokens")}
        rows = (line.split() for line in files[name].splitlines())
        facts["ranks"] = [[base64.b64decode(t).decode("latin-1"), int(n)] for t, n in rows]
    elif format == "gpt2":
        vocab, merges = (next(v for k, v in files.items() if end in k) for end in ("json", "bpe"))
        pairs = [line.split(" ") for line in merges.decode().splitlines()[1:]]
        facts = {"vocab": json.loads(vocab), "merges": pairs}
    elif format == "minbpe":
        facts = minbpe_facts(files)
    else:
        raise ValueError(format)
    return Source(format, facts, letters)


def spelled(content: bytes) -> str:
    """Bytes in GPT-2's byte alphabet."""
    return to_chars(content)


ALL_BYTES = [BYTE_TO_CHAR[byte] for byte in range(256)]
