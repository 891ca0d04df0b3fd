"""From ``tokenizer.json`` and the files beside it to the model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NoReturn

from ...errors import ONLY_BPE, BpeInteropError, FormatError, InvalidModelError, compared_in
from ...model import (
    BATCHING,
    FILE_FLAGS,
    LOADING,
    NETWORK,
    AddedToken,
    Alphabet,
    BPEModel,
    Fallback,
    Json,
    PairList,
)
from ...quoting import show
from ...steps import ByteChars, NormalizerStep, PreTokenizerStep
from ...strict_json import Node, parse
from ...text.added_tokens import vanishing
from ...text.normalize import normalize
from ..names import MAIN
from . import main_file
from .companions.tokenizer_json import read_beside
from .decoders import read_decoder
from .normalizers import read_normalizer
from .post_processors import read_post_processor
from .pretokenizers import check_mapped, read_pretokenizer
from .vocab import (
    NotTakenError,
    Pairs,
    SpelledVocabulary,
    TakenDocument,
    read_fallback,
    read_merges,
    read_words,
    take,
    vocabulary,
)

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


def load(files: Mapping[str, bytes]) -> BPEModel:
    """Reads a BPE ``tokenizer.json``.

    Raises:
        FormatError: a file is malformed; the message names the file and the JSON path.
        UnsupportedError: something that could change ids is not understood.
    """
    main = main_file(files)
    if main not in files:
        raise FormatError(f"there is no {MAIN} among {', '.join(files)}", fix="name that file")
    try:
        taken = take(files[main], main)
        if taken is not None:
            return _load(files, main, taken.root, taken)
    except (BpeInteropError, NotTakenError):
        pass  # Python reads all of it, and says what is wrong
    return _load(files, main, parse(files[main], main))


def _load(
    files: Mapping[str, bytes], main: str, root: Node, taken: TakenDocument | None = None
) -> BPEModel:
    _check_kind(root)
    model = root["model"]
    root.exactly(*_COMPONENTS)
    idle = model.only(*_MODEL_KEYS)
    normalizer, pretokenizer, alphabet = _read_pipeline(root)
    _check_dropout(model.get("dropout"))
    words: SpelledVocabulary
    pairs: Pairs
    if taken is None:
        words = read_words(model, alphabet)
        pairs, left_out = read_merges(model["merges"], words)
    else:
        taken.check(model, alphabet)
        words, pairs, left_out = taken.words, taken.pairs, ()
    listed, notes = _read_added(_added_entries(root), words, normalizer)
    fallback, unused = read_fallback(model, words, pairs)
    beside = read_beside(files, listed, root, alphabet, words.ids)
    lookup_first = model.flag("ignore_merges", default=False)
    looked_up = pretokenizer if lookup_first else None
    vocab, pairs = vocabulary(words, pairs, listed, looked_up, fallback.byte_fallback, main)
    template, trim = read_post_processor(root.get("post_processor"))
    batching, told = read_batching(root)
    extras = {
        "huggingface": _extras(root, trim, words, fallback),
        LOADING: dict(beside.settings),
        BATCHING: batching,
        NETWORK: dict(beside.model_config),
    }
    notes += (
        *left_out,
        *unused,
        *told,
        *(f"the key {key!r} is not known; it is null or empty here" for key in idle),
    )
    try:
        read = BPEModel(
            vocab=vocab,
            merges=PairList(pairs),
            alphabet=alphabet,
            affixes=words.affixes,
            lookup_first=lookup_first,
            fallback=fallback,
            normalizer=normalizer,
            pretokenizer=pretokenizer,
            added=beside.added,
            sequence_template=template,
            decoder=read_decoder(root.get("decoder"), alphabet, beside.added, normalizer),
            chat_template=beside.chat_template,
            extras={**{k: kept for k, kept in extras.items() if kept}, **beside.others},
            origin=replace(beside.origin, notes=(*notes, *beside.origin.notes)),
        )
    except InvalidModelError as error:
        _locate(error, root)
    # Only such models can have user-defined tokens as splits (Theorem 31).
    if not read.lookup_first or read.alphabet == "byte":
        return read
    from .pieces import with_user_defined  # few files have splits like these

    return with_user_defined(read)


def _read_pipeline(
    root: Node,
) -> tuple[tuple[NormalizerStep, ...], tuple[PreTokenizerStep, ...], Alphabet]:
    """The normalizer, the pre-tokenizer, and what pretokens are cut into."""
    pretokenizer, mapped = read_pretokenizer(root.get("pre_tokenizer"))
    normalizer, mapped_before = read_normalizer(root.get("normalizer"))
    if not mapped_before:
        return normalizer, pretokenizer, "byte" if mapped else "char"
    node = root["pre_tokenizer"] if pretokenizer or mapped else root["normalizer"]
    if mapped:
        node.refuse(
            "ByteLevel appears twice, so bytes would be mapped to characters twice",
            fix=compared_in("tokenizers"),
        )
    check_mapped(node, pretokenizer)
    for entry in _added_entries(root):
        if entry["normalized"].be(bool):
            entry.refuse(
                "an added token that is looked for in what a ByteLevel normalizer has mapped "
                "is not supported",
                fix="set its normalized to false",
            )
    # A ByteLevel that ends the normalizer does what one does that begins the pre-tokenizer, except
    # to added tokens that are looked for in between.
    return normalizer, (ByteChars(), *pretokenizer) if pretokenizer else (), "byte"


def _locate(error: InvalidModelError, root: Node) -> NoReturn:
    path = {"vocab": "$.model.vocab", "added": "$.added_tokens"}.get(error.field, "$.model.merges")
    index = f"[{error.index}]" if isinstance(error.index, int) else ""
    raise FormatError(error.what, where=f"{root.file}: {path}{index}") from None


def _check_kind(root: Node) -> None:
    model = root.get("model")
    if "model" not in root and ("vocab" in root and "config" in root):
        root.refuse(
            "this is a tekken.json (Mistral), no Hugging Face tokenizer.json",
            fix="use --from tekken (format='tekken')",
        )
    if not model.given:
        root.fail("there is no model", fix="is this a Hugging Face tokenizer.json?")
    kind = model.get("type")
    name = kind.be(str) if "type" in model else _untyped(model)
    if name != "BPE":
        kind.refuse(f"the model is {name}, not BPE: it cannot be held as merges", fix=ONLY_BPE)
    version = root.get("version")
    if "version" in root and version.value != "1.0":
        version.refuse(
            f"version {version.value!r} is not known (1.0 is)",
            fix="upgrade bpe-interop, if tokenizers loads the file",
        )


def _untyped(model: Node) -> str:
    # An old file without a type: told by the keys that only one kind has.
    if "merges" in model:
        return "BPE"
    if isinstance(model.get("vocab").value, list):
        return "Unigram"
    return "WordPiece" if "max_input_chars_per_word" in model else "WordLevel"


def _check_dropout(dropout: Node) -> None:
    if dropout.given and (isinstance(dropout.value, bool) or dropout.value != 0):
        dropout.refuse(
            "dropout makes encoding random", fix="set it to null to encode as at serving"
        )


def _added_entries(root: Node) -> Iterator[Node]:
    return root["added_tokens"].items() if "added_tokens" in root else iter(())


def _read_added(
    entries: Iterator[Node], words: SpelledVocabulary, normalizer: Sequence[NormalizerStep]
) -> tuple[tuple[AddedToken, ...], tuple[str, ...]]:
    """Added tokens with the ids that tokenizers gives them, and where the file says otherwise."""
    tokens: dict[str, AddedToken] = {}
    forms: dict[int, str] = {}
    notes: list[str] = []
    next_id = len(words.ids)
    for entry in entries:
        entry.only("id", "content", *FILE_FLAGS)
        stated, text = entry["id"].id(), entry["content"].be(str)
        single_word, lstrip, rstrip, normalized, special = (entry[f].be(bool) for f in FILE_FLAGS)
        if not text:
            notes.append(f"{entry.path} is empty; tokenizers passes over it, and so do we")
            continue
        # tokenizers ignores added_tokens[].id: a content in the vocabulary has that id, any other
        # the next number (tokenizer/added_vocabulary.rs).
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
        _check_normal_form(entry, text, number, normalizer, forms)
        tokens.pop(text, None)  # repeated behind another token of its id, it takes that one's place
        tokens[text] = AddedToken(text, number, special, lstrip, rstrip, single_word, normalized)
    return _last_of_each_id(tokens.values(), notes), tuple(notes)


def _check_normal_form(
    entry: Node, text: str, number: int, normalizer: Sequence[NormalizerStep], forms: dict[int, str]
) -> None:
    """Refuses an added token that tokenizers treats otherwise than by the last of its entries.

    ``forms``: by id, the normal forms that are not the token's own text.
    """
    # tokenizers looks for a normalized token by its form, and decodes by it, also where a later
    # entry of the id has none (AddedVocabulary.add_tokens, 0.23: normalized_cache).
    form = normalize(normalizer, text) if normalizer and entry["normalized"].value else text
    if form == "":
        entry.refuse(vanishing(text), fix="remove it, or set its normalized to false")
    if form != text:
        forms[number] = form
    elif forms.get(number, text) != text:
        looks = show(forms[number] if entry["normalized"].value else text)
        entry.refuse(
            f"the id {number} has an added token before this one, with the normal form "
            f"{show(forms[number])}; for {show(text)} tokenizers looks for {looks}, and decodes "
            f"the id as {show(forms[number])}",
            fix="remove one of the two entries",
        )


def _last_of_each_id(tokens: Iterable[AddedToken], notes: list[str]) -> tuple[AddedToken, ...]:
    # tokenizers keeps the last of those that come to one number, and forgets the others.
    kept = {token.id: token for token in tokens}
    for token in tokens:
        if kept[token.id] is not token:
            notes.append(
                f"added tokens {show(token.text)} and {show(kept[token.id].text)} both come to "
                f"the id {token.id}; tokenizers keeps only the last, and so do we"
            )
    return tuple(kept[number] for number in sorted(kept))


def _extras(
    root: Node, trim: bool | None, words: SpelledVocabulary, fallback: Fallback
) -> dict[str, Json]:
    extras: dict[str, Json] = {}
    if trim is not None:
        extras["trim_offsets"] = {"add_prefix_space": trim}
    unknown = root["model"].get("unk_token")
    if unknown.given and (words.alphabet == "byte" or fallback.unknown is None):
        extras["unk_token"] = unknown.value
    return extras


_STRATEGIES = ("LongestFirst", "OnlyFirst", "OnlySecond")
_DIRECTIONS = ("Left", "Right")
_MOST = 2**64 - 1


def read_batching(root: Node) -> tuple[dict[str, Json], tuple[str, ...]]:
    """The settings by their keys, and notes on those that change what a single text becomes.

    Raises:
        FormatError: tokenizers 0.23 does not load these settings (``utils/truncation.rs``,
            ``utils/padding.rs``).
    """
    # Kept and not applied: serving switches them off or sets them anew (no_truncation, no_padding).
    nodes = {key: root.get(key) for key in ("truncation", "padding")}
    given = {key: node for key, node in nodes.items() if node.given}
    for key, node in given.items():
        (_check_truncation if key == "truncation" else _check_padding)(node)
    return {key: node.value for key, node in given.items()}, tuple(_notes(given))


def _check_truncation(node: Node) -> None:
    if "direction" in node:
        _one_of(node["direction"], _DIRECTIONS)
    _count(node["max_length"])
    _one_of(node["strategy"], _STRATEGIES)
    _count(node["stride"])


def _check_padding(node: Node) -> None:
    strategy = node["strategy"]
    if isinstance(strategy.value, dict):
        strategy.exactly("Fixed")
        _count(strategy["Fixed"])
    else:
        _one_of(strategy, ("BatchLongest",))
    _one_of(node["direction"], _DIRECTIONS)
    if node.get("pad_to_multiple_of").given:
        _count(node["pad_to_multiple_of"])
    node["pad_id"].id()
    node["pad_type_id"].id()
    node["pad_token"].be(str)


def _one_of(node: Node, names: tuple[str, ...]) -> None:
    name = node.be(str)
    if name not in names:
        node.fail(f"{show(name)} is not known here", fix=f"one of {', '.join(names)}")


def _count(node: Node) -> None:
    if not 0 <= node.be(int) <= _MOST:
        node.fail(f"expected a number from 0 to {_MOST}")


def _notes(given: dict[str, Node]) -> Iterator[str]:
    without = "ids here are those of whole texts, without it"
    truncation, padding = given.get("truncation"), given.get("padding")
    if truncation is not None:
        most = truncation["max_length"].value
        yield f"truncation: tokenizers itself ends each text after {most} ids; {without}"
    if padding is not None and (
        padding["strategy"].value != "BatchLongest" or padding.get("pad_to_multiple_of").given
    ):
        yield f"padding: tokenizers itself fills up also a single text; {without}"
