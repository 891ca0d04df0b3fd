"""What a BPE tokenizer is, whatever file it comes in: one frozen value, no behaviour.

One rule holds for every field: ``None`` means *the source does not say*, empty means *there is
none*. A token's ``rank`` (its merge priority) and its ``id`` (a number in data) are never the
same field, though some formats write one number for both.

Contents of tokens are always ``bytes``. Where ``alphabet`` is ``"char"`` they are the UTF-8 of
the token's text and a pretoken is cut into characters before merging; where it is ``"byte"``
it is cut into bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import chain, compress, count, islice
from operator import not_
from typing import Literal, TypeAlias, Union, get_args

from .errors import InvalidModelError
from .kernel.tables import are_checked, as_dict, is_checked
from .loss import Field
from .memo import Memo
from .quoting import escaped, show
from .steps import DecoderStep, NormalizerStep, PreTokenizerStep

MAX_ID = 2**32 - 1
"""The largest id and rank: engines hold them in 32 unsigned bits."""

Alphabet: TypeAlias = Literal["byte", "char"]
Kind: TypeAlias = Literal["normal", "byte", "control", "unknown", "user_defined", "unused"]
Allowed: TypeAlias = Literal["all"] | AbstractSet[str]
"""Special tokens that are found in a text; the others are ordinary text."""

Json: TypeAlias = Union[bool, int, float, str, list["Json"], dict[str, "Json"], None]


# A new flag also goes into LOOKS_BESIDE and FILE_FLAGS below, and _LATER in fingerprint.py. It is
# looked for by FLAGS in text/added_tokens.py and by native/src/added.rs; added_tokens.py of theory/
# and of proof/ would else prove what is not so. formats/huggingface/, presets/own.py and
# tokenizers/texts.py read it; flag_witness in formats/losses.py shows what is lost without it, and
# as_run_by in compare/sides.py is of engines that do not have it.
@dataclass(frozen=True, slots=True)
class AddedToken:
    """A token that is cut out of a text before everything else.

    Flags are Hugging Face's: ``special`` tokens can be asked for or refused one by one, the
    others always match; ``lstrip``/``rstrip`` take the White_Space beside the token along;
    ``single_word`` matches only between non-word characters; ``normalized`` tokens are looked
    for after the normalizer, in their own normalized form. ``roles`` are names such as ``bos``,
    ``eos``, ``pad``, ``unk``, sorted. With ``ascii_space``, ``lstrip`` and ``rstrip`` take only
    ASCII's White_Space (llama.cpp asks C's ``isspace`` of each byte). With ``longest_first``
    (of all tokens of a model or of none), the token that is longest in bytes is looked for in the
    whole text, then the next one in what is left (llama.cpp); else the leftmost is found first,
    and of those the longest.
    """

    text: str
    id: int
    special: bool = True
    lstrip: bool = False
    rstrip: bool = False
    single_word: bool = False
    normalized: bool = False
    roles: tuple[str, ...] = ()
    ascii_space: bool = False
    longest_first: bool = False

    @property
    def looks_around(self) -> bool:
        """Whether what it takes of a text, or where it matches, depends on what is beside it."""
        return self.lstrip or self.rstrip or self.single_word


LOOKS_BESIDE = ("lstrip", "rstrip", "single_word")
"""The flags of an added token that depend on what is beside it."""
FLAGS_IN_WORDS = {
    "ascii_space": "takes only ASCII white space along",
    "longest_first": "looked for before shorter ones",
}
"""The flags of an added token that no file spells, as messages name them."""
FILE_FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")
"""The flags of an added token in a ``tokenizer.json``, in its order."""


@dataclass(frozen=True, slots=True)
class TemplateText:
    """Where the first (``"A"``) or second (``"B"``) text of a sequence stands."""

    which: Literal["A", "B"]
    type_id: int = 0


@dataclass(frozen=True, slots=True)
class TemplateToken:
    """Ids that a template puts beside the texts, and the name it calls them by."""

    name: str
    ids: tuple[int, ...]
    type_id: int = 0


TemplatePart: TypeAlias = Union[TemplateText, TemplateToken]


@dataclass(frozen=True, slots=True)
class SequenceTemplate:
    """What is placed around one text, and around a pair. Empty: nothing is."""

    single: tuple[TemplatePart, ...] = ()
    pair: tuple[TemplatePart, ...] = ()

    @property
    def placed(self) -> tuple[tuple[int | str, ...], tuple[int | str, ...]]:
        """The ids around one text (``"A"``), and around a pair, without names and type ids."""
        return _placed(self.single, "A"), _placed(self.pair, "AB")

    def __str__(self) -> str:
        """What stands around one text, for people; empty where nothing does."""
        shown = (
            f"text {part.which}" if isinstance(part, TemplateText) else show(part.name)
            for part in self.single
        )
        return " + ".join(shown)

    @property
    def places_nothing(self) -> bool:
        """Whether texts stand alone, however that is said."""
        return self.placed == SequenceTemplate().placed


def _placed(parts: tuple[TemplatePart, ...], empty: str) -> tuple[int | str, ...]:
    placed: list[int | str] = []
    for part in parts:
        placed += [part.which] if isinstance(part, TemplateText) else part.ids
    return tuple(placed or empty)


@dataclass(frozen=True)
class RankTable:
    """Any adjacent pair whose product has a rank may merge; lowest rank first, then leftmost.

    Equal ranks are ties (SentencePiece's equal scores): the leftmost pair merges, whatever it is.
    """

    ranks: Mapping[bytes, int]

    def __repr__(self) -> str:
        return f"<RankTable, {len(self.ranks):,} ranks>"


@dataclass(frozen=True)
class PairList:
    """Exactly the listed pairs may merge; earliest first, then leftmost.

    A pair listed twice counts at its last place (tokenizers' ``BPE`` builds a map).
    """

    pairs: Sequence[tuple[bytes, bytes]]

    def __repr__(self) -> str:
        return f"<PairList, {len(self.pairs):,} pairs>"


MergeRule: TypeAlias = Union[RankTable, PairList]


@dataclass(frozen=True, slots=True)
class Affixes:
    """What is glued to a pretoken's symbols before they are looked up and merged.

    ``prefix`` stands before every symbol but the first (``continuing_subword_prefix``) and is
    cut from the right part where two merge; ``suffix`` stands after the last symbol
    (``end_of_word_suffix``). Both are spelled as in the vocabulary's contents.
    """

    prefix: bytes = b""
    suffix: bytes = b""


@dataclass(frozen=True, slots=True)
class Fallback:
    """What becomes of a base symbol that is not in the vocabulary.

    With ``byte_fallback`` it becomes the tokens of kind ``byte`` for its UTF-8, where all of
    these exist. Otherwise, ``missing`` says: ``error``: there is no encoding (tiktoken panics);
    ``drop``: it vanishes and its neighbours may merge (tokenizers without ``unk_token``);
    ``unknown``: it becomes the token ``unknown`` (an id), runs of them fused into one if
    ``fuse``. Loaders say ``error`` where no symbol that can occur is missing, because the
    question never arises then.

    ``after_merging``: a missing symbol may merge, and only what is no token in the end falls
    back (SentencePiece); else it is replaced before merging, and never merges.
    """

    missing: Literal["error", "drop", "unknown"] = "error"
    unknown: int | None = None
    fuse: bool = False
    byte_fallback: bool = False
    after_merging: bool = False


@dataclass(frozen=True, slots=True)
class Vocab:
    """Tokens: content to id, and per id the kind and score where the source has one.

    Kinds are ``normal`` where none is given. ``byte``: stands for one byte, is spelled
    ``<0xE4>``, and is reached by byte fallback only. ``control``: no text can spell it.
    ``user_defined``: found in the normalized text first (leftmost, longest), and never merged
    further. ``unused``: may be merged into, and is split again in the end. Control and unknown
    pieces of a SentencePiece model are not here but in ``BPEModel.added``. ``scores`` are
    float32 values, of those too.
    """

    ids: Mapping[bytes, int]
    kinds: Mapping[int, Kind] = field(default_factory=dict)
    scores: Mapping[int, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Vocab, {len(self.ids):,} tokens>"


def digests(files: Mapping[str, bytes]) -> dict[str, str]:
    """The sha256 (hex) of each file, by its name."""
    return {name: sha256(data).hexdigest() for name, data in files.items()}


def digest_of(files: Mapping[str, bytes], more: bytes = b"") -> str:
    """One sha256 (hex) of all names and contents, in the order of the names, and of more bytes."""
    # Manifests and states hold it: another way of hashing would end them.
    digest = sha256()
    for name, data in sorted(files.items()):
        digest.update(f"{name}\0{len(data)}\0".encode("utf-8", "surrogateescape"))
        digest.update(data)
    digest.update(more)
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a model came from. Not part of what it is: two models may differ here and be equal.

    ``files`` maps file names to sha256 (hex); ``notes`` are sentences for people about what the
    loader found (a contradiction inside the files and which counts, a preset that filled a gap).
    ``lost`` are those of the notes that name special or added tokens, or their roles, which the
    files ask for and the model has not or has otherwise: no conversion passes over them.
    ``served_as`` is the class of a library that the files ask to be served by; empty for none,
    and for one that runs the files as they are. ``older_tables``: the engine that the files are
    for has character classes of an older version of Unicode than the other engines.
    ``settings`` are the keys that loaders of the files obey (``tokenizer_class``,
    ``add_bos_token`` ...), None where the format has none. ``assumed`` are those of the notes on
    which a proof rests, where what runs the files is no engine that was asked.
    """

    format: str = ""
    name: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    served_as: str = ""
    older_tables: bool = False
    settings: Mapping[str, Json] | None = None
    assumed: tuple[str, ...] = ()


NETWORK, BATCHING, CHATS = "model_config", "batching", "chat_templates"
LOADING = "tokenizer_config"
"""Keys of ``extras`` that are no format's: settings of the network beside a tokenizer; those of
batches, ``truncation`` and ``padding``, which are not applied; further chat templates by name; and
what ``tokenizer_config.json`` asks of every loader alike."""


@dataclass(frozen=True, eq=False)
class BPEModel:
    """All facts of a tokenizer, whatever file they came from; see :func:`bpe_interop.diff`."""

    vocab: Vocab
    merges: MergeRule
    alphabet: Alphabet = "byte"
    affixes: Affixes = Affixes()
    lookup_first: bool = False
    fallback: Fallback = Fallback()
    normalizer: tuple[NormalizerStep, ...] | None = None
    pretokenizer: tuple[PreTokenizerStep, ...] | None = None
    added: tuple[AddedToken, ...] | None = None
    sequence_template: SequenceTemplate | None = None
    decoder: tuple[DecoderStep, ...] | None = None
    chat_template: str | None = None
    extras: Mapping[str, Json] = field(default_factory=dict)
    origin: Origin = Origin()

    def __post_init__(self) -> None:
        _check_vocab(self.vocab)
        _check_merges(self.merges, self.vocab, len(self.affixes.prefix))
        _check_added(self.added or ())
        for name in _WITH_TEXTS:
            _check_texts(name, getattr(self, name))

    def __repr__(self) -> str:
        name = f" {self.origin.name!r}" if self.origin.name else ""
        added = "unstated" if self.added is None else f"{len(self.added):,}"
        return (
            f"<BPEModel{name}, {len(self.vocab.ids):,} tokens, {self.alphabet} alphabet, "
            f"added tokens: {added}>"
        )

    def __str__(self) -> str:
        """One line for each field, cut where it is long."""
        lines = [repr(self)]
        for name in FIELDS:
            text = _in_words(getattr(self, name))
            if len(text) > _WIDEST:
                text = f"{text[:_WIDEST]}... ({len(text):,} characters)"
            lines.append(f"  {name}: {text}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """What a notebook shows: the fields, and tokens from all over the vocabulary."""
        from .notebook import framed

        head, *rest = str(self).splitlines()
        contents = {number: token for token, number in self.vocab.ids.items()}
        return framed(head, rest, ((each, contents[each]) for each in self.sample()))

    def sample(self, most: int = 60) -> list[int]:
        """Ids from all over the vocabulary, in order: a glance at what is in it."""
        ids = sorted(self.vocab.ids.values())
        return ids[:: max(1, len(ids) // most)][:most]


_WIDEST = 100
"""Characters of a field that ``str`` shows."""

# A new one also has its stages in STAGES of proof/prove.py, its part in fingerprint.py if it
# changes ids or text, its comparison in diff/, its place in holds and words of the formats, and its
# page docs/refusals/LOSS-FIELD.md with a line in index.md there.
FIELDS: tuple[Field, ...] = get_args(Field)
"""The shared names of ``diff()``, ``Loss.field``, ``--drop`` and every report."""


def all_ids(model: BPEModel) -> set[int]:
    """The ids of all tokens, those of added ones too."""
    return {*model.vocab.ids.values(), *(token.id for token in model.added or ())}


def text_of(content: bytes) -> str | None:
    """Bytes as UTF-8; None where they are not."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _check_vocab(vocab: Vocab) -> None:
    ids = vocab.ids
    if is_checked(ids):
        return
    if not ids:
        raise InvalidModelError("the vocabulary is empty", field="vocab")
    if min(ids.values()) < 0 or max(ids.values()) > MAX_ID:
        token = next(t for t, i in ids.items() if not 0 <= i <= MAX_ID)
        raise InvalidModelError(
            f"token {show(token)} has id {ids[token]}, which is not in 0..{MAX_ID}",
            field="vocab",
            index=token,
        )
    if len(set(ids.values())) != len(ids):
        first: dict[int, bytes] = {}
        for token, number in ids.items():
            other = first.setdefault(number, token)
            if other is not token:
                raise InvalidModelError(
                    f"tokens {show(other)} and {show(token)} have the same id {number}",
                    field="vocab",
                    index=token,
                )


def _check_merges(merges: MergeRule, vocab: Vocab, cut: int) -> None:
    ids = vocab.ids
    if isinstance(merges, RankTable):
        ranks = merges.ranks
        if ranks is ids or _fitting_vocab(merges) is vocab:
            return
        if are_checked(ids, ranks):
            _fitting_vocab.keep(merges, vocab)
            return
        ids, numbers = as_dict(ids), ranks.values()
        in_range = not ranks or (min(numbers) >= 0 and max(numbers) <= MAX_ID)
        fits = in_range and ids.keys() >= ranks.keys()
        for token, rank in () if fits else ranks.items():
            if token not in ids:
                raise InvalidModelError(
                    f"ranked token {show(token)} is not in the vocabulary",
                    field="merges",
                    index=token,
                )
            if not 0 <= rank <= MAX_ID:
                raise InvalidModelError(
                    f"token {show(token)} has rank {rank}, which is not in 0..{MAX_ID}",
                    field="merges",
                    index=token,
                )
        _fitting_vocab.keep(merges, vocab)
        return
    if _fitting_vocab(merges) is vocab and not cut:
        return
    pairs = merges.pairs
    if not cut and are_checked(ids, pairs):
        return
    ids = as_dict(ids)
    first = 0
    if b"" not in ids and not cut:
        known, parts = ids.__contains__, chain.from_iterable(pairs)
        if all(map(known, parts)) and all(map(known, map(b"".join, pairs))):
            _fitting_vocab.keep(merges, vocab)
            return
        # The merges of one model over the tokens of another: no line runs for each of so many.
        wrong = map(not_, map(known, chain.from_iterable(pairs)))
        first = next(compress(count(), wrong), 2 * len(pairs)) // 2
        wrong = map(not_, map(known, map(b"".join, islice(pairs, first))))
        first = next(compress(count(), wrong), first)
    for index, (left, right) in enumerate(islice(pairs, first, None), first):
        product = left + right[cut:]
        if left in ids and right in ids and product in ids and left and right:
            continue
        missing = next((t for t in (left, right, product) if t not in ids), b"")
        raise InvalidModelError(
            f"the merge of {show(left)} and {show(right)} needs the token {show(missing)}, "
            "which is not in the vocabulary"
            if missing
            else "a merge has an empty part",
            field="merges",
            index=index,
        )


@Memo
def _fitting_vocab(_: MergeRule) -> Vocab | None:
    """The vocabulary that a rule was found to fit; a changed model is not checked all over."""
    return None


def _check_added(added: tuple[AddedToken, ...]) -> None:
    numbers: dict[str, int] = {}
    for index, token in enumerate(added):
        if not token.text:
            raise InvalidModelError("an added token is empty", field="added", index=index)
        if not 0 <= token.id <= MAX_ID:
            raise InvalidModelError(
                f"added token {show(token.text)} has id {token.id}, which is not in 0..{MAX_ID}",
                field="added",
                index=index,
            )
        if numbers.setdefault(token.text, token.id) != token.id:
            raise InvalidModelError(
                f"added token {show(token.text)} has two ids, {numbers[token.text]} and {token.id}",
                field="added",
                index=index,
            )


_WITH_TEXTS = (
    "normalizer",
    "pretokenizer",
    "added",
    "sequence_template",
    "decoder",
    "chat_template",
    "extras",
)


def _check_texts(name: str, value: object) -> None:
    for text in _texts(value):
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise InvalidModelError(
                f"{show(text[:80])} is no text: it holds half of a surrogate pair", field=name
            ) from None


def _texts(value: object) -> Iterator[str]:
    """The strings in a field's value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from map(str, value)
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from _texts(each)
    else:
        for attribute in getattr(value, "__slots__", ()):
            yield from _texts(getattr(value, attribute))


def _in_words(value: object) -> str:
    """A field's value for people."""
    if value is None:
        return "not stated"
    if isinstance(value, tuple):
        shown = ", ".join(map(_in_words, value[:4]))
        return f"{shown}, ... ({len(value):,})" if len(value) > 4 else shown or "none"
    if isinstance(value, AddedToken):
        kind = " special" if value.special else ""
        return f"{show(value.text)} {value.id}{kind}"
    if isinstance(value, Mapping):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, str):
        return escaped(value)
    if isinstance(value, SequenceTemplate):
        return str(value) or "none"
    from dataclasses import fields, is_dataclass

    if not is_dataclass(value) or isinstance(value, type) or repr(value).startswith("<"):
        return repr(value)
    # A step is what it is, and those of its settings that are on.
    words = [] if isinstance(value, (Affixes, Fallback)) else [type(value).__name__]
    for each in fields(value):
        setting = getattr(value, each.name)
        if setting is True:
            words.append(each.name)
        elif is_dataclass(setting):
            words.append(" ".join(str(getattr(setting, part.name)) for part in fields(setting)))
        elif setting or setting == 0:
            quoted = show(setting) if isinstance(setting, (str, bytes)) else setting
            words += [] if setting is False else [f"{each.name} {quoted}"]
    return escaped(" ".join(words)) or "none"


def without_numbering(model: BPEModel, added: Iterable[AddedToken]) -> Vocab:
    """The vocabulary without entries that are an added token's text and id and nothing else."""
    ids = model.vocab.ids
    listed = tuple(added)
    contents = [token.text.encode() for token in listed if len(token.text) > 1]
    numbers = {token.id for token in listed}
    entries = {c for c in contents if ids.get(c) in numbers}
    if not entries:
        return model.vocab
    if isinstance(model.merges, PairList):
        for left, right in model.merges.pairs:
            entries.difference_update((left, right, left + right))
    else:
        entries.difference_update(model.merges.ranks)
    kinds = {n: kind for n, kind in model.vocab.kinds.items() if n not in {ids[c] for c in entries}}
    rest = {content: number for content, number in ids.items() if content not in entries}
    return replace(model.vocab, ids=rest, kinds=kinds)


def checked_model(given: BPEModel, who: str) -> BPEModel:
    """The model itself; TypeError if it is none, such as a tokenizer that has one."""
    if not isinstance(given, BPEModel):
        kind = type(given).__name__
        raise TypeError(f"{who} takes a model, not {kind}: give load(...).model")
    return given
