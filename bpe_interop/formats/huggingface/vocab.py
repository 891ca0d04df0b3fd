"""The model of a ``tokenizer.json``: vocabulary, merges, affixes, what becomes of the unknown.

Source of the meanings: tokenizers' ``models/bpe/`` (Rust), version 0.23.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, ValuesView
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple, NoReturn, TypeAlias, cast

from ...entries import numbered
from ...errors import FormatError, compared_in
from ...kernel.files import take_vocabulary
from ...kernel.tables import table_without, used_among
from ...model import (
    AddedToken,
    Affixes,
    Alphabet,
    BPEModel,
    Fallback,
    Kind,
    Vocab,
)
from ...quoting import show
from ...steps import PreTokenizerStep
from ...strict_json import Node, parse
from ...text.bytechars import BYTE_TOKENS, all_to_bytes, all_to_chars, is_mapped, to_bytes, to_chars
from ...theory.pretokens import can_occur
from ...theory.utf8 import UTF8_BYTES

_COMMENT = "#version"
_INSIDE = frozenset(bytes([byte]) for byte in range(0x80, 0xC0))
"""The bytes that go on with a character in UTF-8."""

Pairs: TypeAlias = Sequence[tuple[bytes, bytes]]

_NO_MORE: Mapping[str, int] = MappingProxyType({})


class Spellings(Mapping[str, int]):
    """Spellings and their ids, each looked up among the contents: none is made that is not asked.

    ``literal`` are the tokens that are not spelled in GPT-2's byte alphabet, as UTF-8; ``more`` are
    further entries, of which none is a token of the vocabulary.
    """

    def __init__(
        self,
        ids: Mapping[bytes, int],
        alphabet: Alphabet,
        literal: Collection[bytes],
        more: Mapping[str, int] = _NO_MORE,
    ) -> None:
        self._ids, self._alphabet = ids, alphabet
        self._literal, self._more = frozenset(literal), more

    def __len__(self) -> int:
        return len(self._ids) + len(self._more)

    def __iter__(self) -> Iterator[str]:
        return chain(map(self._spelled, self._ids), self._more)

    def __getitem__(self, key: str) -> int:
        number = self._own(key)
        return self._more[key] if number is None else number

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and (self._own(key) is not None or key in self._more)

    def values(self) -> ValuesView[int]:
        """The ids, in order; no spelling is made for them."""
        return super().values() if self._more else self._ids.values()

    def _own(self, key: str) -> int | None:
        if self._alphabet == "char":
            return self._ids.get(key.encode("utf-8"))
        mapped = is_mapped(key)
        content = to_bytes(key) if mapped else key.encode("utf-8")
        # The same bytes may be a token that is spelled otherwise.
        return None if (content in self._literal) == mapped else self._ids.get(content)

    def _spelled(self, content: bytes) -> str:
        if self._alphabet == "char" or content in self._literal:
            return content.decode("utf-8")
        return to_chars(content)


class WrittenVocabulary:
    """A model's vocabulary as a ``tokenizer.json`` spells it.

    Attributes:
        literal: the contents that are spelled as the text that they are, and not in GPT-2's byte
            alphabet.
        in_letters: whether all others are spelled in it, and no two contents are spelled alike.
    """

    def __init__(self, model: BPEModel) -> None:
        self._ids, self._alphabet = model.vocab.ids, model.alphabet
        kinds = model.vocab.kinds.items()
        control = frozenset(number for number, kind in kinds if kind == "control")
        is_byte = model.alphabet == "byte"
        found = numbered(self._ids, control) if control and is_byte else {}
        self.literal = tuple(found.values())
        self.in_letters = is_byte and not any(is_mapped(each.decode()) for each in self.literal)

    @cached_property
    def words(self) -> Mapping[bytes, str]:
        """The spelling of each content."""
        if self._alphabet == "char":
            return {content: content.decode("utf-8") for content in self._ids}
        words = dict(zip(self._ids, all_to_chars(self._ids), strict=True))
        words.update((content, content.decode("utf-8")) for content in self.literal)
        return words

    @property
    def vocab(self) -> Mapping[str, int]:
        return self.beside(_NO_MORE)

    def beside(self, more: Mapping[str, int]) -> Mapping[str, int]:
        """The same, and further entries that it has not."""
        if self.in_letters or self._alphabet == "char":
            return Spellings(self._ids, self._alphabet, self.literal, more)
        return self.listed(more)

    def listed(self, more: Mapping[str, int]) -> dict[str, int]:
        """The same as a dictionary."""
        return {**dict(zip(self.words.values(), self._ids.values(), strict=True)), **more}


@dataclass(frozen=True)
class SpelledVocabulary:
    """The model's vocabulary as spelled in the file.

    ``literal``: the spellings of a byte-level vocabulary that are not in the byte alphabet.
    """

    alphabet: Alphabet
    affixes: Affixes
    ids: Mapping[str, int]
    literal: frozenset[str]

    def content(self, spelling: str) -> bytes:
        """What a spelling stands for."""
        if self.alphabet == "char" or spelling in self.literal:
            return spelling.encode("utf-8")
        return to_bytes(spelling)

    @cached_property
    def contents(self) -> dict[str, bytes]:
        if self.alphabet == "byte" and not self.literal:
            return dict(zip(self.ids, all_to_bytes(self.ids), strict=True))
        return {spelling: self.content(spelling) for spelling in self.ids}

    def cores(self, content: bytes) -> Iterator[bytes]:
        """What a content may be without the affixes that are glued to symbols."""
        prefix, suffix = self.affixes.prefix, self.affixes.suffix
        yield content
        if prefix and content.startswith(prefix):
            yield content[len(prefix) :]
        if suffix and content.endswith(suffix):
            content = content[: -len(suffix)]
            yield content
            if prefix and content.startswith(prefix):
                yield content[len(prefix) :]

    def is_symbol(self, content: bytes) -> bool:
        """Whether a pretoken may have this as a symbol before merging."""
        if self.alphabet == "byte":
            return any(len(core) == 1 for core in self.cores(content))
        return any(len(core.decode("utf-8")) == 1 for core in self.cores(content))

    def has_every_byte(self) -> bool:
        """Whether a byte-level vocabulary has a token for every symbol that can occur."""
        prefix, suffix = self.affixes.prefix, self.affixes.suffix
        return all(
            to_chars(start + bytes([byte]) + end) in self.ids
            for byte in UTF8_BYTES
            for start in {b"", prefix}
            for end in {b"", suffix}
        )


class NotTakenError(Exception):
    """The kernel has read what it cannot hold after all: Python reads the file from the start."""


class TakenDocument(NamedTuple):
    """A ``tokenizer.json`` of which the kernel has read vocabulary and merges.

    ``root`` has empty ones in their places. The twins are :func:`read_words` and
    :func:`read_merges`.
    """

    root: Node
    words: SpelledVocabulary
    pairs: Pairs

    def check(self, model: Node, alphabet: Alphabet) -> None:
        """Sees that it was read as what it is.

        Raises:
            NotTakenError: it was not, or there are affixes, or a byte has no token.
        """
        affixes = ("continuing_subword_prefix", "end_of_word_suffix")
        if self.words.alphabet != alphabet or any(
            model.get(key).value not in (None, "") for key in affixes
        ):
            raise NotTakenError
        if alphabet == "byte" and not self.words.has_every_byte():
            raise NotTakenError


def take(document: bytes, file: str) -> TakenDocument | None:
    """What the kernel has read of a document; None where it leaves all to Python."""
    # A guess, which `TakenDocument.check` compares with what the components say.
    alphabet: Alphabet = "byte" if b'"ByteLevel"' in document else "char"
    read = take_vocabulary(document, alphabet)
    if read is None:
        return None
    ids, pairs, literal, rest = read
    try:
        root = parse(rest, file)
    except FormatError:
        return None  # Python reads it from the start, and says what is wrong where
    spellings = Spellings(ids, alphabet, literal)
    texts = frozenset(token.decode("utf-8") for token in literal)
    return TakenDocument(root, SpelledVocabulary(alphabet, Affixes(), spellings, texts), pairs)


def read_words(model: Node, alphabet: Alphabet) -> SpelledVocabulary:
    """Reads the vocabulary and the affixes.

    Raises:
        FormatError: an id is none, or that of two tokens; two contents are the same.
        UnsupportedError: an affix that a byte-level vocabulary cannot spell.
    """
    node = model["vocab"]
    ids = node.ids()
    if len(set(ids.values())) != len(ids):
        _explain_shared(node, ids)
    affixes = Affixes(
        _read_affix(model.get("continuing_subword_prefix"), alphabet),
        _read_affix(model.get("end_of_word_suffix"), alphabet),
    )
    literal: frozenset[str] = frozenset()
    if alphabet == "byte" and not is_mapped("".join(ids)):
        literal = frozenset(spelling for spelling in ids if not is_mapped(spelling))
    return SpelledVocabulary(alphabet, affixes, ids, literal)


def _explain_shared(node: Node, ids: dict[str, int]) -> NoReturn:
    first: dict[int, str] = {}
    for spelling, number in ids.items():
        other = first.setdefault(number, spelling)
        if other is not spelling:
            # As where a user adds " the", which byte-level vocabularies hold as "\u0120the".
            same = next(
                (b for a, b in ((other, spelling), (spelling, other)) if _is_of(a, b)), None
            )
            node.fail(
                f"the tokens {show(other)} and {show(spelling)} have the same id {number}: which "
                "of them tokenizers knows it by goes by the order of a hash table",
                fix="give each token an id of its own"
                if same is None
                else f"leave {show(same)} out: it is a token of the vocabulary already",
            )
    raise AssertionError("no two tokens have the same id")


def _is_of(spelling: str, text: str) -> bool:
    """Whether a token of a byte-level vocabulary is that text."""
    return spelling == to_chars(text.encode("utf-8", "surrogatepass"))


def _read_affix(node: Node, alphabet: Alphabet) -> bytes:
    """An affix as it stands in contents; null and empty are none."""
    affix = node.be(str) if node.given else ""
    if alphabet == "char":
        return affix.encode("utf-8")
    if not is_mapped(affix):
        node.refuse("an affix that is not spelled in the byte alphabet, in a byte-level model")
    return to_bytes(affix)


def read_merges(node: Node, words: SpelledVocabulary) -> tuple[Pairs, tuple[str, ...]]:
    """Reads the merges, which are strings of two parts and one space, or pairs; and notes.

    Raises:
        FormatError: an entry is malformed or names what is not in the vocabulary.
        UnsupportedError: tokenizers cuts the prefix off a right part that does not begin with it.
    """
    contents, pairs, idle = words.contents, list[tuple[bytes, bytes]](), 0
    for entry, (left, right) in _entries(node):
        for part in (left, right):
            if part not in contents:
                entry.fail(f"the token {show(part)} is not in the vocabulary")
        if words.affixes.prefix:
            _check_cut(entry, right, words)
        # What is merged is spelled in the byte alphabet, so a merge of anything else never happens.
        if left in words.literal or right in words.literal:
            idle += 1
        else:
            pairs.append((contents[left], contents[right]))
    if not idle:
        return tuple(pairs), ()
    note = (
        "merges that name a token not spelled in the byte alphabet never happen, and are left "
        f"out: {idle:,}"
    )
    return tuple(pairs), (note,)


def _check_cut(entry: Node, right: str, words: SpelledVocabulary) -> None:
    # models/bpe/model.rs cuts as many bytes as the prefix has off the right part, whatever that
    # begins with. It panics where the part is shorter, and ends the process where the cut is inside
    # a character.
    prefix, content = words.affixes.prefix, words.content(right)
    if len(content) < len(prefix):
        entry.fail(f"the right part {show(right)} is shorter than the prefix {show(prefix)}")
    if words.alphabet == "byte" and not content.startswith(prefix):
        entry.refuse(f"the right part {show(right)} does not begin with {show(prefix)}")
    if words.alphabet == "char" and content[len(prefix) :][:1] in _INSIDE:
        entry.refuse(
            f"the right part {show(right)} does not begin with {show(prefix)}, and cutting as "
            "many bytes ends inside a character; tokenizers ends the process there"
        )


def _entries(node: Node) -> Iterator[tuple[Node, list[str]]]:
    """The merges that count, with their two parts.

    Raises:
        FormatError: one is malformed.
    """
    first: type | None = None
    for entry in node.items():
        merge = entry.value
        # tokenizers reads the whole list in one of the two ways (models/bpe/serialization.rs).
        first = first or type(merge)
        if type(merge) is not first or not isinstance(merge, (str, list)):
            entry.fail("merges must all be strings or all be pairs")
        if isinstance(merge, list):
            if set(map(type, merge)) - {str}:
                for part in entry.items():
                    part.be(str)
            parts = cast("list[str]", merge)
        elif merge.startswith(_COMMENT):
            continue  # readers pass over it (tokenizers, models/bpe/model.rs)
        else:
            parts = merge.split(" ")
        if len(parts) != 2:
            entry.fail("a merge has two parts" + (" and one space" if first is str else ""))
        yield entry, parts


def read_fallback(
    model: Node, words: SpelledVocabulary, pairs: Pairs
) -> tuple[Fallback, tuple[str, ...]]:
    """What becomes of symbols that have no token, and notes on settings that never matter.

    Raises:
        UnsupportedError: byte fallback that tokenizers does out of order, or a merge that
            names the unknown token or a byte token.
    """
    node = model.get("unk_token")
    unknown = words.ids.get(node.be(str)) if node.given else None
    fuse, by_bytes = (model.flag(key, default=False) for key in ("fuse_unk", "byte_fallback"))
    # Every symbol has a token, so nothing is ever missing.
    if words.alphabet == "byte" and words.has_every_byte():
        return Fallback(), ()
    present = {byte for byte, spelling in BYTE_TOKENS.items() if spelling in words.ids}
    notes: tuple[str, ...] = ()
    if by_bytes and not present:
        by_bytes = False
        notes = ("byte_fallback is on, but there are no byte tokens; it never falls back",)
    if by_bytes:
        _check_bytes(model, words, present, unknown is not None)
        _check_unmerged(model["merges"], words, pairs, {*BYTE_TOKENS.values()}, "a byte token")
    complete = by_bytes and present >= UTF8_BYTES
    if node.given and unknown is not None and not complete:
        text = node.be(str)
        _check_unmerged(model["merges"], words, pairs, {text}, "the token for unknown text")
    if unknown is not None and not (complete and _is_merged(model["merges"], pairs, node)):
        return Fallback("unknown", unknown, fuse or complete, by_bytes), notes
    if node.given and not complete:
        return Fallback("error", None, False, by_bytes), notes
    return Fallback("drop", None, complete, by_bytes), notes


def _check_bytes(model: Node, words: SpelledVocabulary, present: set[int], unknown: bool) -> None:
    node = model["byte_fallback"]
    if words.alphabet == "byte":
        node.refuse(
            "byte fallback in a byte-level model is not supported",
            fix=compared_in("tokenizers"),
        )
    if unknown and not present >= UTF8_BYTES:
        missing = BYTE_TOKENS[min(UTF8_BYTES - present)]
        node.refuse(
            f"the byte token {missing} is missing; tokenizers then puts unknown tokens after "
            "the byte tokens that follow them",
            fix="add the byte tokens that are missing, or set byte_fallback to false",
        )


def _check_unmerged(
    node: Node, words: SpelledVocabulary, pairs: Pairs, spellings: set[str], what: str
) -> None:
    # Its content is not what it covers in a text, so a merge with it would say something else.
    contents = {spelling.encode("utf-8") for spelling in spellings}
    if _known_unused(pairs, contents):
        return
    cut = len(words.affixes.prefix)
    for entry, (left, right) in _entries(node):
        product = words.content(left) + words.content(right)[cut:]
        if left in spellings or right in spellings or product in contents:
            entry.refuse(f"this merge names or makes {what}")


def _is_merged(node: Node, pairs: Pairs, unknown: Node) -> bool:
    spelling = unknown.be(str)
    if _known_unused(pairs, {spelling.encode("utf-8")}):
        return False
    return any(spelling in parts for _, parts in _entries(node))


def _known_unused(pairs: Pairs, contents: set[bytes]) -> bool:
    """Whether the kernel knows that no pair has one of these as a part or product.

    Raises:
        NotTakenError: it knows of one that has; which one, Python says.
    """
    used = used_among(pairs, contents)
    if used:
        raise NotTakenError
    return used is not None


def vocabulary(
    words: SpelledVocabulary,
    pairs: Pairs,
    added: Iterable[AddedToken],
    looked_up: tuple[PreTokenizerStep, ...] | None,
    by_bytes: bool,
    file: str,
) -> tuple[Vocab, Pairs]:
    """The vocabulary without the entries that only give an added token its number; the merges."""
    byte_tokens = [*BYTE_TOKENS.values()] if by_bytes else []
    dropped = _numbering_only(words, pairs, added, looked_up, byte_tokens)
    kept = words.ids
    taken = table_without(pairs, (words.content(text) for text in sorted(dropped)))
    if taken is not None:
        ids, pairs = taken
    else:
        kept, every = {t: n for t, n in words.ids.items() if t not in dropped}, words.contents
        contents = [every[text] for text in kept]
        ids = dict(zip(contents, kept.values(), strict=True))
        # Two spellings may stand for the same bytes.
        if len(ids) != len(kept):
            _explain_twins(contents, kept.values(), file)
    kinds: dict[int, Kind] = {kept[text]: "byte" for text in byte_tokens if text in kept}
    kinds.update({kept[text]: "control" for text in sorted(words.literal - dropped)})
    return Vocab(ids, kinds), pairs


def _numbering_only(
    words: SpelledVocabulary,
    pairs: Pairs,
    added: Iterable[AddedToken],
    looked_up: tuple[PreTokenizerStep, ...] | None,
    byte_tokens: Collection[str],
) -> set[str]:
    """The entries that :func:`vocabulary` leaves out, by their spellings."""
    numbering = {t.text: words.content(t.text) for t in added if t.text in words.ids}
    if not numbering:
        return set()
    used = _used(pairs, {*numbering.values()}, words.affixes)
    return {
        text
        for text, content in numbering.items()
        # No merge's part or product, no symbol, no byte token that is used, and, where whole
        # pretokens are looked up, no possible pretoken: no text gives it but as an added token.
        if text in words.literal
        or (
            content not in used
            and not words.is_symbol(content)
            and text not in byte_tokens
            and not (looked_up is not None and can_occur(looked_up, content) is not False)
        )
    }


def _used(pairs: Pairs, contents: set[bytes], affixes: Affixes) -> set[bytes]:
    known = used_among(pairs, contents)
    if known is not None:
        return known
    used = contents.intersection(chain.from_iterable(pairs))
    if affixes.prefix:
        cut = len(affixes.prefix)
        return used | contents.intersection(left + right[cut:] for left, right in pairs)
    return used | contents.intersection(map(b"".join, pairs))


def _explain_twins(contents: Iterable[bytes], numbers: Iterable[int], file: str) -> NoReturn:
    ids: dict[bytes, int] = {}
    for content, number in zip(contents, numbers, strict=True):
        if content in ids:
            raise FormatError(
                f"the token {show(content)} has two ids, {ids[content]} and {number}",
                where=f"{file}: $.model.vocab",
            )
        ids[content] = number
    raise AssertionError("no two contents are the same")
