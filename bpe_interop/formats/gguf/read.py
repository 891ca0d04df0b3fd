"""From the head of a GGUF file to the model, with the meaning that llama.cpp gives to its keys."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from math import isnan
from typing import Final

from ...errors import ONLY_BPE, FormatError, InvalidModelError, compared_in
from ...merging.canonical import Canonical, keep_without_idle
from ...model import (
    CHATS,
    AddedToken,
    BPEModel,
    Fallback,
    Json,
    Kind,
    Origin,
    PairList,
    RankTable,
    SequenceTemplate,
    Vocab,
    digests,
)
from ...quoting import show
from ...steps import (
    ByteTokens,
    DecoderStep,
    Fuse,
    JoinBytes,
    NormalizerStep,
    Prepend,
    Replace,
    StripToken,
    Verbatim,
)
from ...text.bytechars import is_mapped, to_bytes
from ...theory.pretokens import occurrence
from ...theory.utf8 import missing_bytes
from .. import Files
from ..bos_eos import template_of
from .head import parse_head
from .keys import (
    ADD,
    ARCHITECTURE,
    CHAT,
    DEFAULTS,
    EMBEDDED,
    EMBEDDED_NAME,
    MERGES,
    MODEL,
    NAME,
    PRE,
    PREFIXED,
    ROLES,
    SCORES,
    SPLIT_NUMBER,
    TOKENS,
    TYPES,
    Keys,
    kept_keys,
    named_templates,
)
from .splitters import (
    GEMMA4,
    LINES_STEPS,
    NOT_HELD,
    OVER_CHARACTERS,
    SPLITTERS,
    UNREADABLE,
    NamedSplitter,
    nearest,
)
from .tokens import (
    BYTE,
    BYTE_NAMES,
    CONTROL,
    FOUND_FIRST,
    NORMAL,
    UNDEFINED,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    Tokens,
    as_c_strings,
    built,
    fills_hole,
    form_of_characters,
    lines_of,
)

_OTHER_MODELS: Final = {
    "bert": "WordPiece", "t5": "Unigram", "rwkv": "a trie of greedy matches",
    "plamo2": "a table of its own", "hybriddna": "k-mers",
    "none": "no vocabulary", "no_vocab": "no vocabulary",
    "whitespace": f"BPE on words without the white space, for which {UNREADABLE}",
}  # fmt: skip

_ENGINE: Final = "llama.cpp"
_ORIGINAL: Final = "read the files that the GGUF was made of, a tokenizer.json for example"
_INSTEAD: Final = {
    **dict.fromkeys(("bert", "t5"), ONLY_BPE),
    **dict.fromkeys(("none", "no_vocab", "whitespace"), _ORIGINAL),
}
"""What to do where even llama.cpp has no BPE for it, or ends on usual texts."""

_PART: Final = r"-[0-9]{5}-of-"
"""How the name of a part says its number."""


def load(files: Files) -> BPEModel:
    """Reads the head of a GGUF file.

    Raises:
        FormatError: it is malformed, or llama.cpp would refuse it; the message names the key.
        UnsupportedError: it is no BPE tokenizer, or llama.cpp does something with it that is
            not understood.
    """
    if len(files) != 1:
        raise FormatError(
            f"expected one GGUF file, found {', '.join(sorted(files)) or 'none'}",
            fix="name the file",
        )
    [(name, data)] = files.items()
    head = parse_head(data, name)
    keys = Keys(head, name)
    kind = keys.text(MODEL)
    if kind is None:
        if keys.part():
            keys.refuse(
                SPLIT_NUMBER,
                f"this is part {keys.part() + 1:,} of a model in several files, and only the first "
                "has the tokenizer",
                f"name {re.sub(_PART, '-00001-of-', name)}",
            )
        keys.fail(MODEL, "the key is missing: there is no tokenizer in this file")
    if kind in _OTHER_MODELS:
        what = f"{show(kind)} is {_OTHER_MODELS[kind]}, which is not read"
        keys.refuse(MODEL, what, _INSTEAD.get(kind, compared_in(_ENGINE)))
    if kind not in DEFAULTS:
        keys.refuse(MODEL, f"{show(kind)} is not known", f"upgrade bpe-interop, or {_ORIGINAL}")
    keys.check_types()
    tokens = Tokens(keys)
    _listed_scores(keys, len(tokens.texts))
    origin = Origin(
        "gguf",
        name=keys.text(NAME) or name.removesuffix(".gguf"),
        files=digests({name: data[: head.size]}),
        notes=tuple(notes_on(keys, kind, tokens)),
        older_tables=True,
    )
    read: Callable[[Keys, Tokens, Origin], tuple[BPEModel, Canonical | None]]
    read, of_bytes = (_read_llama, False) if kind == "llama" else (_read_gpt2, True)
    if kind == GEMMA4 or (kind == "gpt2" and keys.text(PRE) in OVER_CHARACTERS):
        read, of_bytes = _read_characters, False
    try:
        model, form = read(keys, tokens, origin)
    except InvalidModelError as error:
        raise FormatError(error.what, where=name) from None
    there = {*model.vocab.ids.values(), *(token.id for token in model.added or ())}
    verbatim = tuple(
        (number, shown)
        for number, (text, each) in enumerate(zip(tokens.texts, tokens.types, strict=True))
        if (of_bytes or each != NORMAL or text in BYTE_NAMES)
        and (shown := _verbatim(text, each, of_bytes)) is not None
        and number in there
    )
    if verbatim:
        model = replace(model, decoder=(Verbatim(verbatim), *(model.decoder or ())))
    if form is not None:
        keep_without_idle(model, form)
    return model


def _verbatim(text: str, kind: int, of_bytes: bool) -> bytes | None:
    """What a token decodes to where that is not what its spelling says, whatever stands beside it.

    ``of_bytes``: merging starts from bytes, so tokens are spelled in GPT-2's letters.
    """
    # llama_vocab::impl::token_to_piece; llama_decode_text for GPT-2's letters.
    if kind in (UNUSED, UNDEFINED):
        return b""
    if of_bytes and kind == BYTE:
        return bytes((int(text[3:5], 16),))
    if of_bytes and kind == NORMAL and not is_mapped(text):
        return b"".join(_letter(char, text) for char in text)
    if not of_bytes and (
        (kind == NORMAL and text in BYTE_NAMES) or (kind in FOUND_FIRST and "\u2581" in text)
    ):
        return text.encode()
    return None


def _letter(char: str, text: str) -> bytes:
    if is_mapped(char):
        return to_bytes(char)
    # llama.cpp's mark for a character that is no letter of GPT-2's (llama_decode_text).
    return f"[UNK_BYTE_0x{char.encode().hex()}{text}]".encode()


# SentencePiece's kind ("llama").


def _read_llama(keys: Keys, tokens: Tokens, origin: Origin) -> tuple[BPEModel, Canonical]:
    scores = _scores(keys, len(tokens.texts))
    roles = {role: tokens.role(role, DEFAULTS["llama"].get(role)) for role in ROLES}
    added = tokens.added(roles)
    prefixed = keys.flag(PREFIXED, True)
    # llama.cpp looks up every token, whatever its type (llm_tokenizer_spm_session): merging builds
    # special ones too.
    table = _ranked(tokens.every, scores)
    form = form_of_characters(tokens.every, RankTable(table))
    ids, kinds = _pieces(tokens, built(tokens.every, form), "fails")
    model = BPEModel(
        vocab=Vocab(ids, kinds, dict(enumerate(scores))),
        merges=RankTable({content: rank for content, rank in table.items() if content in ids}),
        alphabet="char",
        fallback=bytes_first(added),
        normalizer=normalizer_of(prefixed),
        pretokenizer=(),
        added=added,
        sequence_template=_template(keys, tokens, roles, keys.flag(ADD["bos"], True)),
        decoder=decoder_of(prefixed),
        chat_template=keys.text(CHAT),
        extras=_extras(keys, tokens, roles["unk"], keys.text(PRE), llama=True),
        origin=origin,
    )
    return model, form


def normalizer_of(prefixed: bool) -> tuple[NormalizerStep, ...]:
    """Spaces as U+2581, with one before each text where ``prefixed``."""
    spaces = Replace(" ", "\u2581")
    return (Prepend("\u2581"), spaces) if prefixed else (spaces,)


def decoder_of(prefixed: bool) -> tuple[DecoderStep, ...]:
    """The way back, which leaves the space before a text out."""
    space = (StripToken(" ", 1, 0),) if prefixed else ()
    return (Replace("\u2581", " "), ByteTokens(), Fuse(), *space)


def _listed_scores(keys: Keys, count: int) -> Sequence[float] | None:
    """The scores, of which llama.cpp wants one for each token whatever the kind."""
    listed: Sequence[float] | None = keys.array(SCORES, "float32", "int32")
    if listed is not None and len(listed) < count:
        keys.fail(SCORES, f"{len(listed):,} scores for {count:,} tokens")
    return listed


def _scores(keys: Keys, count: int) -> list[float]:
    listed = _listed_scores(keys, count)
    if listed is None:
        return [0.0] * count
    scores = [float(each) for each in listed[:count]]
    wrong = next((number for number, score in enumerate(scores) if isnan(score)), None)
    if wrong is not None:
        keys.fail(f"{SCORES}[{wrong}]", "the score is no number")
    return scores


def _pieces(
    tokens: Tokens, reached: Collection[bytes], without: str
) -> tuple[dict[bytes, int], dict[int, Kind]]:
    """The tokens that merging may end in, in the file's order, and the byte tokens.

    Args:
        tokens: all that the file lists.
        reached: those that merging builds, special ones too.
        without: what becomes of a text that needs a byte token which is not there.
    """
    texts = tokens.texts
    out = {
        number: texts[number]
        for number, kind in enumerate(tokens.types)
        if kind in FOUND_FIRST or (kind == UNUSED and fills_hole(texts[number], kind, number))
    }
    for number, text in out.items():
        if text in BYTE_NAMES:
            tokens.keys.refuse(
                f"{TYPES}[{number}]",
                f"{show(text)} is marked as a special token; llama.cpp gives its id to the "
                "byte all the same, and to the text, which is not supported",
                fix="give it the type 6 (byte)",
            )
    _no_byte_built(tokens, reached)
    idle = {number for number, text in out.items() if text.encode() not in reached}
    ids = {content: number for content, number in tokens.every.items() if number not in idle}
    names = map(str.encode, BYTE_NAMES)
    kinds: dict[int, Kind] = {ids[name]: "byte" for name in names if name in ids}
    missing = sorted(BYTE_NAMES.difference(tokens.texts))
    if missing:
        tokens.keys.refuse(
            TOKENS,
            f"{len(missing)} of the 256 byte tokens are missing, such as {missing[0]}; on a text "
            f"that needs one llama.cpp {without}",
        )
    return ids, kinds


def _ranked(contents: Iterable[bytes], scores: Sequence[float]) -> dict[bytes, int]:
    """Every token by descending score, whatever its type: all may be merged into."""
    # llama.cpp compares floats, so 0.0 and -0.0 are a tie here (llm_bigram_spm::comparator).
    places = {score: place for place, score in enumerate(sorted({*scores}, reverse=True))}
    return dict(zip(contents, map(places.__getitem__, scores), strict=True))


def bytes_first(added: Iterable[AddedToken]) -> Fallback:
    # No text gives the unknown token; it is named all the same, as other formats name it.
    unknown = next((token.id for token in added if "unk" in token.roles), None)
    if unknown is None:
        return Fallback(byte_fallback=True, after_merging=True)
    return Fallback("unknown", unknown, fuse=True, byte_fallback=True, after_merging=True)


def _no_byte_built(tokens: Tokens, reached: Collection[bytes]) -> None:
    """Refuses a byte token that merging builds, which no other engine does."""
    for content in map(str.encode, sorted(BYTE_NAMES)):
        if content in reached:
            tokens.keys.refuse(
                f"{TOKENS}[{tokens.every[content]}]",
                f"merging the characters of {show(content)} builds it, though it stands for a "
                "byte; llama.cpp does so, and no other engine",
                fix=compared_in(_ENGINE),
            )


# GPT-2's kind.


def _read_gpt2(keys: Keys, tokens: Tokens, origin: Origin) -> tuple[BPEModel, None]:
    splitter = _splitter(keys)
    roles = {role: tokens.role(role, DEFAULTS["gpt2"].get(role)) for role in ROLES}
    added = tokens.added(roles)
    pairs = _pairs(keys, _Contents("GPT-2's byte alphabet", to_bytes))
    ids, kinds = _contents(keys, tokens, pairs, splitter)
    every_byte = map(bytes, zip(range(256)))
    missing = missing_bytes([b for b in every_byte if b in ids and ids[b] not in kinds])
    # A byte without a token is left out of the ids, after merging.
    fallback = Fallback("drop", after_merging=True) if missing else Fallback()
    model = BPEModel(
        vocab=Vocab(ids, kinds),
        merges=PairList(pairs),
        lookup_first=splitter.lookup_first,
        fallback=fallback,
        normalizer=(),
        pretokenizer=splitter.steps,
        added=added,
        sequence_template=_template(keys, tokens, roles, keys.flag(ADD["bos"], splitter.bos)),
        decoder=(JoinBytes(),),
        chat_template=keys.text(CHAT),
        extras=_extras(keys, tokens, roles["unk"], keys.text(PRE), llama=False),
        origin=origin,
    )
    return model, None


def _splitter(keys: Keys) -> NamedSplitter:
    name = keys.text(PRE) or "default"
    splitter = SPLITTERS.get(name)
    if splitter is not None:
        return splitter
    near = ", ".join(nearest(name)) or "none"
    if name in NOT_HELD:
        keys.refuse(PRE, f"{show(name)} is not read: {NOT_HELD[name]}", _ORIGINAL)
    return keys.refuse(PRE, f"llama.cpp knows no {show(name)}", fix=f"near names: {near}")


def _pairs(keys: Keys, contents: _Contents) -> tuple[tuple[bytes, bytes], ...]:
    """The merges in order, each once."""
    listed = keys.array(MERGES, "string")
    if listed is None and keys.text(PRE) == "kimi-k2":
        return ()
    if listed is None:
        keys.fail(MERGES, "the key is missing: there are no merges in this file")
    pairs: dict[tuple[bytes, bytes], None] = {}
    for place, line in enumerate(as_c_strings(listed)):
        # From the second character on, as llama.cpp does (llama_vocab::impl::load): a part may
        # begin with a space.
        cut = line.find(b" ", 1)
        try:
            if cut < 0:
                raise ValueError
            left, right = contents[line[:cut]], contents[line[cut + 1 :]]
        except ValueError:
            keys.fail(
                f"{MERGES}[{place}]",
                f"expected two tokens in {contents.alphabet} with a space between them, found "
                f"{show(line[:60])}",
            )
        # Of a pair that appears twice llama.cpp keeps the first.
        pairs.setdefault((left, right))
    return tuple(pairs)


class _Contents(dict[bytes, bytes]):
    """Tokens as they are spelled to their bytes; most stand in many merges."""

    def __init__(self, alphabet: str, content: Callable[[str], bytes]) -> None:
        self.alphabet, self._content = alphabet, content

    def __missing__(self, spelled: bytes) -> bytes:
        self[spelled] = content = self._content(spelled.decode("utf-8"))
        return content


def _contents(
    keys: Keys, tokens: Tokens, pairs: Iterable[tuple[bytes, bytes]], splitter: NamedSplitter
) -> tuple[dict[bytes, int], dict[int, Kind]]:
    """The vocabulary that pretokens are merged and looked up in."""
    products = {part for left, right in pairs for part in (left, right, left + right)}
    ids: dict[bytes, int] = {}
    literal: dict[bytes, int] = {}
    for number, (text, kind) in enumerate(zip(tokens.texts, tokens.types, strict=True)):
        special = kind in FOUND_FIRST or fills_hole(text, kind, number)
        if not is_mapped(text):
            if not special:
                literal[text.encode()] = number
            continue
        content = to_bytes(text)
        # llama.cpp looks up every token, special ones too; those are taken in only where a pretoken
        # can be one of them.
        if special and content not in products and not is_pretoken(content, splitter):
            continue
        ids[content] = number
    for content, number in literal.items():
        if content in ids or content in products:
            keys.refuse(
                f"{TOKENS}[{number}]",
                f"the token {show(content)} is not spelled in GPT-2's letters for bytes, and texts "
                "with these bytes have other tokens: llama.cpp gives its id to no text",
                fix="make it a user-defined token (type 4), or spell it in these letters",
            )
    if literal:  # by id
        ids = dict(sorted((ids | literal).items(), key=lambda each: each[1]))
    return ids, dict.fromkeys(literal.values(), "control")


def is_pretoken(content: bytes, splitter: NamedSplitter) -> bool:
    """Whether a pretoken can be this, and is looked up (or is one byte, which needs no merge)."""
    if len(content) == 1:
        return True
    return splitter.lookup_first and occurrence(splitter.steps, content).possible is not False


# Merges of characters.


def _read_characters(keys: Keys, tokens: Tokens, origin: Origin) -> tuple[BPEModel, Canonical]:
    kind = keys.text(MODEL) or ""
    name = GEMMA4 if kind == GEMMA4 else keys.text(PRE) or ""
    row = OVER_CHARACTERS[name]
    roles = {role: tokens.role(role, DEFAULTS[kind].get(role)) for role in ROLES}
    added = tokens.added(roles)
    merges = PairList(_pairs(keys, _Contents("UTF-8", str.encode)))
    every = tokens.every
    form = form_of_characters(every, merges)
    reached = built(every, form)
    ids, kinds = _pieces(tokens, reached, "leaves the byte out, which is not supported")
    for content in lines_of(every.keys() - reached) if row.lines else ():
        keys.refuse(
            f"{TOKENS}[{every[content]}]",
            f"no merge builds {show(content)}; under {show(name)} llama.cpp looks up runs of "
            "newlines that are tokens, and nothing else, which is not supported",
            fix=compared_in(_ENGINE),
        )
    if row.bos and roles["bos"] is None:
        keys.fail(
            ROLES["bos"],
            f"under {show(name)} llama.cpp puts the bos token before each text, and ends itself "
            "where the file names none",
            "name the token",
        )
    model = BPEModel(
        vocab=Vocab(ids, kinds),
        merges=merges,
        alphabet="char",
        fallback=bytes_first(added),
        normalizer=normalizer_of(False),
        pretokenizer=LINES_STEPS,
        added=added,
        sequence_template=_template(keys, tokens, roles, row.bos or keys.flag(ADD["bos"], False)),
        decoder=decoder_of(False),
        chat_template=keys.text(CHAT),
        extras=_extras(keys, tokens, roles["unk"], name, llama=True),
        origin=origin,
    )
    return model, form


# All kinds.


def _template(
    keys: Keys, tokens: Tokens, roles: Mapping[str, int | None], bos: bool
) -> SequenceTemplate:
    ends: list[AddedToken | None] = []
    for role, adds in (("bos", bos), ("eos", keys.flag(ADD["eos"], False))):
        key = ADD[role]
        if not adds:
            ends.append(None)
            continue
        number = roles[role]
        if number is None:
            keys.fail(key, f"it is true, and the file names no {role} token")
        ends.append(AddedToken(tokens.texts[number], number))
    return template_of(*ends)


def _derived(tokens: Tokens, number: int, unknown: int | None, llama: bool) -> int:
    """The type that follows from what the model says of a token."""
    text, kind = tokens.texts[number], tokens.types[number]
    if kind == USER_DEFINED or fills_hole(text, kind, number):
        return kind
    if kind in (CONTROL, UNKNOWN):
        return UNKNOWN if number == unknown else CONTROL
    return BYTE if llama and text in BYTE_NAMES else NORMAL


def _extras(
    keys: Keys, tokens: Tokens, unknown: int | None, pre: str | None, *, llama: bool
) -> dict[str, Json]:
    """What changes no id, and a file of the same kind can hold."""
    read = {ADD["bos"], ADD["eos"]} | ({PREFIXED} if keys.text(MODEL) == "llama" else set())
    read |= {
        key
        for role, key in ROLES.items()
        if (number := tokens.role(role, None)) is not None and tokens.types[number] in FOUND_FIRST
    }
    held = kept_keys(keys, read)
    for key in (NAME, ARCHITECTURE):
        entry = keys.head.keys.get(key)
        if entry is not None and isinstance(entry.value, bytes):
            held[key] = entry.value.decode("utf-8", "replace")
    changed: dict[str, Json] = {
        str(number): kind
        for number, (kind, treated) in enumerate(zip(tokens.named, tokens.types, strict=True))
        if (kind != NORMAL or treated != NORMAL or (llama and tokens.texts[number] in BYTE_NAMES))
        and kind != _derived(tokens, number, unknown, llama)
    }
    found_extras: dict[str, Json] = {"keys": held, "types": changed}
    if pre is not None:
        found_extras["pre"] = pre
    others = named_templates(keys)
    return {"gguf": found_extras, **({CHATS: others} if others else {})}


def embedded(files: Files) -> Files:
    """The tokenizer.json inside a file; nothing where it has none.

    Raises:
        FormatError, UnsupportedError: the head is malformed, or the key is no text.
    """
    [(name, data)] = files.items()
    text = Keys(parse_head(data, name), name).text(EMBEDDED)
    return {} if text is None else {EMBEDDED_NAME: text.encode("utf-8")}


def notes_on(keys: Keys, kind: str, tokens: Tokens) -> Iterable[str]:
    """The notes that follow from the keys; ``kind`` is ``tokenizer.ggml.model``."""
    if kind == "gpt2" and keys.text(PRE) is None:
        yield (
            f"{keys.file}: there is no {PRE}, so llama.cpp splits texts by its 'default', which "
            "is no publisher's; it warns of that when it loads the file"
        )
    yield from _ended_by_default(keys, kind, tokens)
    architecture = keys.head.keys.get(ARCHITECTURE)
    if architecture is None or not architecture.value:
        yield f"{keys.file}: it names no {ARCHITECTURE}, and llama.cpp loads no file without one"
    if keys.head.keys.get(EMBEDDED) is not None:
        yield (
            f"{keys.file} also holds a tokenizer.json, as the key {EMBEDDED}; llama.cpp does not "
            "read it, --from hf does"
        )


def _ended_by_default(keys: Keys, kind: str, tokens: Tokens) -> Iterable[str]:
    """Where no eos token is named, llama.cpp ends generation at an id of its own choice."""
    if keys.number(ROLES["eos"]) is not None:
        return
    # llama_vocab::impl::load in llama-vocab.cpp, special_eog_ids.
    number = tokens.role("eos", DEFAULTS[kind].get("eos"))
    if number is None or tokens.types[number] != NORMAL:
        return
    text = tokens.texts[number]
    of_bytes = kind == "gpt2" and keys.text(PRE) not in OVER_CHARACTERS and is_mapped(text)
    yield (
        f"{keys.file}: no eos token is named, so llama.cpp ends generation at the id {number}, "
        f"which is {show(to_bytes(text) if of_bytes else text)}; name one with convert --eos TOKEN"
    )
