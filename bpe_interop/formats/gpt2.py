"""The GPT-2 pair: a vocabulary in JSON and a list of merges.

Defined by OpenAI's GPT-2 (https://github.com/openai/gpt-2, ``src/encoder.py``); today's reader is
``BPE.from_file`` of tokenizers (``models/bpe/model.rs``), and what it accepts is followed here.
The wire format:

- ``encoder.json`` (also ``vocab.json``): one JSON object, token to id.
- ``vocab.bpe`` (also ``merges.txt``): one merge per line, two tokens and one space between them,
  best first. A line that begins with ``#version`` is passed over, wherever it stands.
- Lines end in LF or CRLF, the last one may end in neither; an empty line is an error.
- A pair that is listed twice counts at its last place.
- Tokens are spelled in GPT-2's byte alphabet: one printable character per byte.
- An entry that is no byte and no product of merges has an id to decode, and no text encodes to it.
  If it is not spelled in the byte alphabet, its content is its own UTF-8 (kind ``control``).
- Pattern, special tokens and sequence template are not in it: they are unknown (``None``).

OpenAI's ``encoder.py`` merges every occurrence of the best pair in one pass. Where a merge comes
before one that builds a part of it, this differs from tokenizers, whose BPE is the engine here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NoReturn

from ..errors import FormatError
from ..loss import Grade, Loss
from ..model import (
    MAX_ID,
    BPEModel,
    Fallback,
    Kind,
    Origin,
    PairList,
    SequenceTemplate,
    Vocab,
    show,
)
from ..steps import JoinBytes
from ..strict_json import Node, parse
from ..text.bytechars import is_mapped, to_bytes, to_chars
from ..theory.equality import missing_bytes
from ..theory.merges import canonical, textual, whole_lookups
from ..theory.pretokens import Occurrence, occurrence
from ..theory.witness import first_changed, text_with
from . import Files, Format

NAMES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {"encoder": ("encoder.json", "vocab.bpe"), "vocab": ("vocab.json", "merges.txt")}
)
"""The two ways of naming the vocabulary and the merges."""

_HEADER = "#version: 0.2"
_COMMENT = "#version"


def sniff(files: Files) -> bool:
    """Whether a vocabulary and its merges are here, and no ``tokenizer.json`` beside them."""
    return "tokenizer.json" not in files and bool(_pairs(files))


def load(files: Files) -> BPEModel:
    """Reads ``encoder.json`` + ``vocab.bpe``, or ``vocab.json`` + ``merges.txt``.

    Longer names with these endings are accepted too (``gpt2-vocab.json``).

    Raises:
        FormatError: a file is missing or malformed; the message names the line or the JSON path.
    """
    vocab_name, merges_name, name = _one_pair(files)
    contents, ids, literal = _read_vocab(parse(files[vocab_name], vocab_name))
    pairs = tuple(_read_merges(files[merges_name], merges_name, contents, literal))
    kinds: dict[int, Kind] = {ids[text.encode()]: "control" for text in literal}
    spelled = (content for content, number in ids.items() if number not in kinds)
    return BPEModel(
        vocab=Vocab(ids, kinds),
        merges=PairList(pairs),
        fallback=_fallback(spelled),
        decoder=(JoinBytes(),),
        origin=Origin(
            "gpt2",
            name=name,
            files={
                key: hashlib.sha256(files[key]).hexdigest() for key in (vocab_name, merges_name)
            },
        ),
    )


def dump(model: BPEModel, *, names: str = "encoder") -> Files:
    """Writes the pair, as OpenAI's own files are written.

    Added tokens stand in the vocabulary with their ids. For a rank table, the merges are the
    split of each token that merging reaches, in rank order.

    Args:
        model: the model.
        names: ``encoder`` (``encoder.json`` and ``vocab.bpe``) or ``vocab`` (``vocab.json`` and
            ``merges.txt``).
    """
    vocab_name, merges_name = NAMES[names]
    in_order = dict(sorted(_entries(model).items(), key=lambda item: item[1]))
    lines = [_HEADER, *(f"{to_chars(left)} {to_chars(right)}" for left, right in _pair_list(model))]
    return {
        vocab_name: json.dumps(in_order).encode(),
        merges_name: "".join(f"{line}\n" for line in lines).encode(),
    }


def losses(model: BPEModel) -> Iterable[Loss]:
    """What a pair cannot hold. What the model does not state (``None``) cannot be lost."""
    yield from _core_losses(model)
    yield from _fallback_losses(model)
    yield from _text_losses(model)
    yield from _added_losses(model)
    if model.decoder not in (None, (JoinBytes(),)):
        yield Loss(
            "decoder",
            "text",
            "a pair's tokens are joined as bytes and read as UTF-8",
            "some ids would decode to another text",
        )
    if model.chat_template is not None:
        yield Loss("chat_template", "metadata", "the chat template", "it is left out")
    if model.extras:
        yield Loss(
            "extras",
            "metadata",
            f"settings of the source format: {', '.join(sorted(model.extras))}",
            "they are left out; no id changes",
        )


FORMAT = Format(
    name="gpt2",
    aliases=(),
    title="GPT-2 vocabulary and merges",
    spec="https://github.com/openai/gpt-2/blob/master/src/encoder.py",
    engine="tokenizers",
    holds=frozenset({"alphabet", "vocab", "merges", "decoder"}),
    needs=frozenset(),
    sniff=sniff,
    load=load,
    dump=dump,
    losses=losses,
    options={"vocab-names": lambda model, _: dump(model, names="vocab")},
)


def _pairs(files: Files) -> list[tuple[str, str, str]]:
    """Vocabulary, merges and the common beginning of their names."""
    found = []
    for vocab_end, merges_end in NAMES.values():
        for key in sorted(files):
            begin = key.removesuffix(vocab_end)
            if begin != key and f"{begin}{merges_end}" in files:
                found.append((key, f"{begin}{merges_end}", begin.strip("-_.")))
    return found


def _one_pair(files: Files) -> tuple[str, str, str]:
    found = _pairs(files)
    if len(found) == 1:
        return found[0]
    known = " or ".join(f"{vocab} + {merges}" for vocab, merges in NAMES.values())
    if found:
        listed = "; ".join(f"{vocab} + {merges}" for vocab, merges, _ in found)
        raise FormatError(f"more than one pair is here: {listed}", fix="name one of them")
    raise FormatError(
        f"no vocabulary with its merges among {', '.join(sorted(files)) or 'no files'}",
        fix=f"a pair is {known}, with the same beginning",
    )


def _read_vocab(root: Node) -> tuple[dict[str, bytes], dict[bytes, int], frozenset[str]]:
    """Spelling to content, content to id, and the spellings outside the byte alphabet."""
    spelled: dict[str, int] = root.be(dict)
    if not spelled:
        root.fail("the vocabulary is empty")
    contents: dict[str, bytes] = {}
    ids: dict[bytes, int] = {}
    owners: dict[int, str] = {}
    literal: list[str] = []
    for text, number in spelled.items():
        if type(number) is not int or not 0 <= number <= MAX_ID:
            root[text].fail(f"expected an id (an integer from 0 to {MAX_ID})")
        other = owners.setdefault(number, text)
        if other is not text:
            root[text].fail(f"the id {number} is also that of {show(other)}")
        try:
            content = to_bytes(text)
        except ValueError:
            content = text.encode()
            literal.append(text)
        if content in ids:
            root[text].fail(f"it stands for the same bytes as {show(owners[ids[content]])}")
        contents[text] = content
        ids[content] = number
    return contents, ids, frozenset(literal)


def _read_merges(
    data: bytes, name: str, contents: Mapping[str, bytes], literal: frozenset[str]
) -> Iterator[tuple[bytes, bytes]]:
    for at, line in _lines(data, name):
        left, _, right = line.partition(" ")
        if not (left and right) or " " in right:
            found = f"expected a merge, found {show(line[:60])}" if line else "the line is empty"
            _fail(name, at, found, "a merge is two tokens with one space between them")
        for token in (left, right, left + right):
            if token not in contents:
                role = "the merge gives" if token == left + right else "the merge names"
                what = f"{role} {show(token)}, which is not in the vocabulary"
                _fail(name, at, what, "do the two files belong together?")
            if token in literal:
                _fail(name, at, f"{show(token)} is not spelled in GPT-2's byte alphabet")
        yield contents[left], contents[right]


def _lines(data: bytes, name: str) -> Iterator[tuple[int, str]]:
    """Number (from 1) and text of each merge line, cut as Rust's ``BufRead::lines`` does."""
    if not data.strip():
        raise FormatError("the file is empty", where=name, fix="get the file again")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        at = data.count(b"\n", 0, error.start) + 1
        _fail(name, at, f"not UTF-8: byte 0x{data[error.start]:02X} at offset {error.start}")
    if text.startswith("\ufeff"):
        _fail(name, 1, "the file begins with a byte order mark", "save it as UTF-8 without one")
    *ended, last = text.split("\n")
    lines = [line.removesuffix("\r") for line in ended]
    if last:
        lines.append(last)
    for at, line in enumerate(lines, 1):
        if not line.startswith(_COMMENT):
            yield at, line


def _fail(name: str, at: int, what: str, fix: str = "") -> NoReturn:
    raise FormatError(what, where=f"{name}:{at}", fix=fix)


def _fallback(contents: Iterable[bytes]) -> Fallback:
    """A byte without a token vanishes: tokenizers reads a pair without an unknown token."""
    return Fallback("drop") if missing_bytes(contents) else Fallback()


def _entries(model: BPEModel) -> dict[str, int]:
    """Spellings to ids: the vocabulary, and each added token that it has a place for."""
    ids, kinds = model.vocab.ids, model.vocab.kinds
    entries: dict[str, int] = {}
    for content, number in ids.items():
        literal = kinds.get(number) == "control"
        entries[content.decode("utf-8", "replace") if literal else to_chars(content)] = number
    taken = set(ids.values())
    for token in model.added or ():
        text = token.text
        read_as = to_bytes(text) if is_mapped(text) else text.encode()
        if token.id not in taken and read_as not in ids and len(read_as) > 1:
            entries[text] = token.id
            taken.add(token.id)
    return entries


def _pair_list(model: BPEModel) -> Iterable[tuple[bytes, bytes]]:
    if isinstance(model.merges, PairList):
        return model.merges.pairs
    return canonical(model).splits.values()


def _core_losses(model: BPEModel) -> Iterator[Loss]:
    if model.alphabet != "byte":
        yield Loss(
            "alphabet",
            "ids",
            "merging starts from characters, a pair's from bytes",
            "the ids of most texts would differ",
            shown=False,
        )
    kinds = model.vocab.kinds
    contents = {number: content for content, number in model.vocab.ids.items()} if kinds else {}
    if model.vocab.scores or any(
        kind != "control" or is_mapped(contents[number].decode("utf-8", "replace"))
        for number, kind in kinds.items()
        if number in contents
    ):
        yield Loss("vocab", "metadata", "kinds and scores of tokens", "they are left out")
    comment = next((p for p in _pair_list(model) if p[0].startswith(_COMMENT.encode())), None)
    if comment is not None:
        yield Loss(
            "merges",
            "ids",
            f"the merge of {show(comment[0])} and {show(comment[1])}",
            f"a line that begins with {_COMMENT} is passed over",
            witness=(comment[0] + comment[1]).decode("utf-8", "replace"),
            shown=False,
        )
    yield from _lookup_losses(model)


def _lookup_losses(model: BPEModel) -> Iterator[Loss]:
    """Tokens that the model finds by looking whole pretokens up, and a pair never does."""
    undecided = None
    found = sorted(whole_lookups(model), key=model.vocab.ids.__getitem__)
    steps = model.pretokenizer
    for content in found:
        answer = Occurrence(None) if steps is None else occurrence(steps, content)
        if answer.possible:
            yield _lookup_loss(content, "ids", answer.text)
            return
        if answer.possible is None:
            undecided = undecided or content
    if found:
        yield _lookup_loss(undecided or found[0], "ids" if undecided else "metadata", None)


def _lookup_loss(content: bytes, grade: Grade, witness: str | None) -> Loss:
    return Loss(
        "lookup_first",
        grade,
        f"{show(content)} is a token that no merge builds; whole pretokens are looked up",
        "a pair has no such lookup, and the text would be several tokens"
        if grade == "ids"
        else "no pretoken is such a token, so no id changes",
        witness=witness,
        shown=witness is not None or grade != "ids",
    )


def _fallback_losses(model: BPEModel) -> Iterator[Loss]:
    if model.fallback == _fallback(textual(model)):
        return
    missing = missing_bytes(textual(model))
    if missing:
        yield Loss(
            "fallback",
            "ids",
            f"{len(missing)} bytes without a token ({model.fallback.missing})",
            "read from a pair, such a byte vanishes from the text",
            witness=text_with(min(missing)),
        )
    else:
        yield Loss("fallback", "metadata", "a rule for missing bytes", "no byte is missing")


def _text_losses(model: BPEModel) -> Iterator[Loss]:
    if model.normalizer is not None:
        witness = first_changed(model.normalizer)
        yield Loss(
            "normalizer",
            "ids" if model.normalizer else "metadata",
            "a pair does not say how texts are normalized",
            "texts that the normalizer changes would have other ids"
            if model.normalizer
            else "that nothing is normalized becomes unknown",
            witness=witness,
            shown=not model.normalizer or witness is not None,
        )
    if model.pretokenizer is not None:
        yield Loss(
            "pretokenizer",
            "ids",
            "a pair does not say how a text is cut into pretokens",
            "whoever reads it has to know the pattern; nothing encodes without it",
        )
    if model.sequence_template is not None:
        empty = model.sequence_template == SequenceTemplate()
        yield Loss(
            "sequence_template",
            "metadata" if empty else "text",
            "a pair does not say what is placed around a sequence",
            "whoever reads it has to know it",
        )


def _added_losses(model: BPEModel) -> Iterator[Loss]:
    if model.added is None:
        return
    if not model.added:
        yield Loss("added", "metadata", "that there are no added tokens", "it becomes unknown")
        return
    token = model.added[0]
    yield Loss(
        "added",
        "text",
        f"a pair does not say which of its tokens are added tokens ({len(model.added)} here)",
        "they keep their ids, but texts that contain them are spelled out",
        witness=token.text,
    )
    if len(_entries(model)) > len(model.vocab.ids):
        yield Loss(
            "vocab",
            "metadata",
            "added tokens are written into the vocabulary",
            "read back, they are entries that no text encodes to",
        )
