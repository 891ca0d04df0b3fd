"""From ``tokenizer.json`` and the files beside it to the model."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NoReturn

from ...errors import FormatError, InvalidModelError
from ...model import (
    MAX_ID,
    AddedToken,
    BPEModel,
    Fallback,
    Json,
    Kind,
    Origin,
    PairList,
    Vocab,
    show,
)
from ...steps import (
    DecoderStep,
    JoinBytes,
    JoinTokens,
    NormalizerStep,
    PreTokenizerStep,
)
from ...strict_json import Node, parse
from ...text.added import decoded_text
from ...text.bytechars import is_mapped, to_bytes
from ...theory.pretokens import UTF8_BYTES, occurrence
from .beside import CONFIG, SPECIAL_MAP, Beside, read_beside
from .steps import read_normalizer, read_pretokenizer
from .template import read_post_processor

MAIN = "tokenizer.json"

_COMPONENTS = [
    "version",
    "truncation",
    "padding",
    "added_tokens",
    "normalizer",
    "pre_tokenizer",
    "post_processor",
    "decoder",
    "model",
]
_MODEL_KEYS = [
    "type",
    "dropout",
    "unk_token",
    "continuing_subword_prefix",
    "end_of_word_suffix",
    "fuse_unk",
    "byte_fallback",
    "ignore_merges",
    "vocab",
    "merges",
]
_FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")


@dataclass(frozen=True, slots=True)
class _Words:
    """The model's vocabulary as spelled in the file, and what each spelling stands for."""

    ids: dict[str, int]
    contents: dict[str, bytes]
    literal: frozenset[str]


def load(files: Mapping[str, bytes]) -> BPEModel:
    """Reads a byte-level BPE ``tokenizer.json``.

    Raises:
        FormatError: a file is malformed; the message names the file and the JSON path.
        UnsupportedError: something that could change ids is not understood.
    """
    main = main_file(files)
    root = parse(files[main], main)
    _check_kind(root)
    model = root["model"]
    idle = [*root.only(*_COMPONENTS), *model.only(*_MODEL_KEYS)]
    pretokenizer, mapped = read_pretokenizer(root.get("pre_tokenizer"))
    if not mapped:
        root.get("pre_tokenizer").refuse(
            "a character-level BPE (no ByteLevel pre-tokenizer) is not supported yet"
        )
    _check_settings(model)
    words = _read_vocab(model["vocab"])
    pairs = _read_merges(model["merges"], words)
    listed, notes = _read_added(root.get("added_tokens"), words)
    beside = read_beside(files, listed)
    lookup_first = model.flag("ignore_merges", default=False)
    vocab = _vocab(words, pairs, listed, pretokenizer if lookup_first else None, main)
    normalizer = read_normalizer(root.get("normalizer"))
    processor = read_post_processor(root.get("post_processor"))
    extras = _extras(root, processor.trim, beside)
    notes += tuple(f"the key {key!r} is not known; it is null or empty here" for key in idle)
    try:
        return BPEModel(
            vocab=vocab,
            merges=PairList(pairs),
            lookup_first=lookup_first,
            fallback=_fallback(model, words),
            normalizer=normalizer,
            pretokenizer=pretokenizer,
            added=beside.added,
            sequence_template=processor.template,
            decoder=(_read_decoder(root.get("decoder"), beside.added, normalizer),),
            chat_template=beside.chat_template,
            extras={"huggingface": extras} if extras else {},
            origin=Origin(
                "huggingface",
                files={name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
                notes=(*notes, *beside.notes),
            ),
        )
    except InvalidModelError as error:
        _locate(error, root)


def main_file(files: Mapping[str, bytes]) -> str:
    """The name of the ``tokenizer.json`` among the files, which may be called otherwise."""
    named = [name for name in files if name.endswith(".json") and name not in (CONFIG, SPECIAL_MAP)]
    return MAIN if MAIN in files or len(named) != 1 else named[0]


def _locate(error: InvalidModelError, root: Node) -> NoReturn:
    path = {"vocab": "$.model.vocab", "added": "$.added_tokens"}.get(error.field, "$.model.merges")
    index = f"[{error.index}]" if isinstance(error.index, int) else ""
    raise FormatError(error.what, where=f"{root.file}: {path}{index}") from None


def _check_kind(root: Node) -> None:
    model = root.get("model")
    if "model" not in root and ("vocab" in root and "config" in root):
        root.refuse("this is a tekken.json (Mistral), which is not supported")
    if not model.given:
        root.fail("there is no model", fix="is this a Hugging Face tokenizer.json?")
    kind = model.get("type")
    name = kind.be(str) if kind.given else _untyped(model)
    if name != "BPE":
        kind.refuse(f"the model is {name}, not BPE: it cannot be held as merges")
    version = root.get("version")
    if version.given and version.be(str) != "1.0":
        version.refuse(f"version {version.value!r} is not known (1.0 is)")


def _untyped(model: Node) -> str:
    """What an old file without a model type holds, told by the keys that only it has."""
    if "merges" in model:
        return "BPE"
    if isinstance(model.get("vocab").value, list):
        return "Unigram"
    return "WordPiece" if "max_input_chars_per_word" in model else "WordLevel"


def _check_settings(model: Node) -> None:
    dropout = model.get("dropout")
    if dropout.given and dropout.value != 0:
        dropout.refuse(
            "dropout makes encoding random", fix="set it to null to encode as at serving"
        )
    for key in ("continuing_subword_prefix", "end_of_word_suffix"):
        affix = model.get(key)
        if affix.given and affix.be(str):
            affix.refuse("affixes on base symbols are not supported yet")


def _read_vocab(node: Node) -> _Words:
    ids: dict[str, int] = node.be(dict)
    if not ids:
        node.fail("the vocabulary is empty")
    for spelling, number in ids.items():
        if type(number) is not int or not 0 <= number <= MAX_ID:
            Node(number, node.file, f"{node.path}[{show(spelling)}]").fail(
                f"expected an id (an integer from 0 to {MAX_ID})"
            )
    contents: dict[str, bytes] = {}
    literal: list[str] = []
    for spelling in ids:
        try:
            contents[spelling] = to_bytes(spelling)
        except ValueError:
            contents[spelling] = spelling.encode("utf-8")
            literal.append(spelling)
    return _Words(ids, contents, frozenset(literal))


def _read_merges(node: Node, words: _Words) -> tuple[tuple[bytes, bytes], ...]:
    listed = node.be(list)
    contents = words.contents
    try:
        if listed and isinstance(listed[0], str):
            split = [entry.split(" ") for entry in listed if not _is_comment(entry)]
            pairs = tuple((contents[left], contents[right]) for left, right in split)
        else:
            pairs = tuple((contents[left], contents[right]) for left, right in listed)
    except (KeyError, ValueError, TypeError, AttributeError):
        _explain_merges(node, words)
    if words.literal:
        for entry in node.items():
            if _is_comment(entry.value):
                continue
            is_text = isinstance(entry.value, str)
            parts = entry.be(str).split(" ") if is_text else entry.be(list)
            if not words.literal.isdisjoint(parts):
                entry.fail("a merge names a token that is not spelled in the byte alphabet")
    return pairs


def _is_comment(merge: Json) -> bool:
    """Readers pass over a string that begins so (tokenizers, ``models/bpe/model.rs``)."""
    return isinstance(merge, str) and merge.startswith("#version")


def _explain_merges(node: Node, words: _Words) -> NoReturn:
    first: type | None = None
    for entry in node.items():
        first = first or type(entry.value)
        if type(entry.value) is not first or first not in (str, list):
            entry.fail("merges must all be strings or all be pairs")
        if isinstance(entry.value, str):
            if _is_comment(entry.value):
                continue
            parts = entry.value.split(" ")
        else:
            parts = [part.be(str) for part in entry.items()]
        if len(parts) != 2:
            entry.fail("a merge has two parts" + (" and one space" if first is str else ""))
        for part in parts:
            if part not in words.ids:
                entry.fail(f"the token {show(part)} is not in the vocabulary")
    node.fail("the merges cannot be read")


def _read_added(node: Node, words: _Words) -> tuple[tuple[AddedToken, ...], tuple[str, ...]]:
    """Added tokens with the ids that tokenizers gives them, and where the file says otherwise.

    tokenizers ignores ``added_tokens[].id``: a content in the vocabulary has that id, any other
    gets the next number (``tokenizer/added_vocabulary.rs``).
    """
    tokens: dict[str, AddedToken] = {}
    notes: list[str] = []
    next_id = len(words.ids)
    for entry in node.items() if node.given else ():
        entry.only("id", "content", *_FLAGS)
        stated, text = entry["id"].be(int), entry["content"].be(str)
        single_word, lstrip, rstrip, normalized, special = (entry[f].be(bool) for f in _FLAGS)
        if not text:
            notes.append(f"{entry.path} is empty; tokenizers passes over it, and so do we")
            continue
        if text in words.ids:
            number = words.ids[text]
        elif text in tokens:
            number = tokens[text].id
        else:
            number, next_id = next_id, next_id + 1
        if number != stated:
            notes.append(
                f"{entry.path} says that {show(text)} has id {stated}; tokenizers numbers it "
                f"{number}, because it ignores that key, and so do we"
            )
        if text in tokens and tokens[text].special and not special:
            special = True
            notes.append(f"{entry.path} repeats {show(text)}, which stays special in tokenizers")
        tokens[text] = AddedToken(text, number, special, lstrip, rstrip, single_word, normalized)
    return _last_of_each_id(tokens.values(), notes), tuple(notes)


def _last_of_each_id(tokens: Iterable[AddedToken], notes: list[str]) -> tuple[AddedToken, ...]:
    """Tokenizers keeps the last token of those that come to one number, and forgets the others."""
    kept = {token.id: token for token in tokens}
    for token in tokens:
        if kept[token.id] is not token:
            notes.append(
                f"added tokens {show(token.text)} and {show(kept[token.id].text)} both come to "
                f"the id {token.id}; tokenizers keeps only the last, and so do we"
            )
    return tuple(kept[number] for number in sorted(kept))


def _vocab(
    words: _Words,
    pairs: Iterable[tuple[bytes, bytes]],
    added: Iterable[AddedToken],
    looked_up: tuple[PreTokenizerStep, ...] | None,
    file: str,
) -> Vocab:
    """The vocabulary without the entries that only give an added token its number.

    Such an entry is no merge's part or product and no single byte; with whole-pretoken lookup
    (``looked_up`` is then the pre-tokenizer) it must also be no possible pretoken.
    """
    numbering = [t.text for t in added if t.text in words.ids]
    dropped: set[str] = set()
    if numbering:
        used = {part for pair in pairs for part in pair}
        used.update(left + right for left, right in pairs)
        dropped = {
            text
            for text in numbering
            if text in words.literal
            or (
                words.contents[text] not in used
                and len(words.contents[text]) > 1
                and not (
                    looked_up is not None
                    and occurrence(looked_up, words.contents[text]).possible is not False
                )
            )
        }
    ids: dict[bytes, int] = {}
    kinds: dict[int, Kind] = {}
    for spelling, number in words.ids.items():
        if spelling in dropped:
            continue
        content = words.contents[spelling]
        if content in ids:
            raise FormatError(
                f"the token {show(content)} has two ids, {ids[content]} and {number}",
                where=f"{file}: $.model.vocab",
            )
        ids[content] = number
        if spelling in words.literal:
            kinds[number] = "control"
    return Vocab(ids, kinds)


def _fallback(model: Node, words: _Words) -> Fallback:
    present = {
        content[0]
        for spelling, content in words.contents.items()
        if len(content) == 1 and spelling not in words.literal
    }
    if present >= UTF8_BYTES:
        return Fallback()
    if model.flag("byte_fallback", default=False) and any(
        f"<0x{byte:02X}>" in words.ids for byte in range(256)
    ):
        model["byte_fallback"].refuse("byte fallback in a byte-level model is not supported")
    unknown = model.get("unk_token")
    if not unknown.given:
        return Fallback("drop")
    if unknown.be(str) not in words.ids:
        return Fallback("error")
    return Fallback("unknown", words.ids[unknown.be(str)], model.flag("fuse_unk", default=False))


def _read_decoder(
    node: Node, added: Iterable[AddedToken], steps: tuple[NormalizerStep, ...]
) -> DecoderStep:
    if not node.given:
        return JoinTokens()
    kind = node["type"].be(str)
    if kind == "Sequence":
        node.only("type", "decoders")
        parts = list(node["decoders"].items())
        if len(parts) == 1:
            return _read_decoder(parts[0], added, steps)
        node.refuse("a sequence of decoders in a byte-level model is not supported yet")
    if kind != "ByteLevel":
        node.refuse(f"the decoder {kind!r} in a byte-level model is not supported yet")
    node.only("type", "add_prefix_space", "trim_offsets", "use_regex")
    texts = [decoded_text(token, steps) for token in added]
    return JoinBytes(any(not text.isascii() and is_mapped(text) for text in texts))


def _extras(root: Node, trim: bool | None, beside: Beside) -> dict[str, Json]:
    extras: dict[str, Json] = {}
    for key in ("truncation", "padding"):
        if root.get(key).given:
            extras[key] = root[key].value
    if trim is not None:
        extras["trim_offsets"] = {"add_prefix_space": trim}
    unknown = root["model"].get("unk_token")
    if unknown.given:
        extras["unk_token"] = unknown.value
    if beside.settings:
        extras["tokenizer_config"] = dict(beside.settings)
    return extras
