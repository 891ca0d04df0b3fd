"""Which added tokens ``AutoTokenizer`` ends up with.

Measured in transformers 5.24 (``tokenization_utils_tokenizers.py``, ``__init__``), which adds
tokens to those of the ``tokenizer.json``, or, where a class is rebuilt, to none: first those of
``added_tokens_decoder`` in ``tokenizer_config.json``, by id; if there is no such key, those of
``added_tokens.json`` and of ``tokenizer.json``. Then the roles' tokens, then further special
tokens. A token that is there already takes the new one's flags, and keeps its id; the ids that
these files state are never used.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ....model import AddedToken, show
from ....strict_json import Node
from ....theory.added_tokens import normalized_matters
from ....transformers_classes import DECODER, TRANSFORMERS
from ..names import ADDED, CONFIG, SPECIAL_MAP
from .files import Companions
from .roles import Stated

_SIDES = ("lstrip", "rstrip", "single_word")


@dataclass(frozen=True, slots=True)
class Told:
    """A sentence on tokens, and whether a file asks for what the model then is without."""

    sentence: str
    lost: bool = False


@dataclass(frozen=True, slots=True)
class Wish:
    """A token to add, the id that its file states, and the file."""

    token: AddedToken
    by: str


def added_as_served(
    listed: Iterable[AddedToken],
    words: Mapping[str, int],
    wishes: Iterable[Wish],
    roles: Sequence[Stated],
    extra: Iterable[str],
) -> tuple[tuple[AddedToken, ...], dict[str, str]]:
    """The added tokens by id, and for each that is new the file that wants it.

    Args:
        listed: the added tokens to begin with.
        words: the vocabulary of the file's model.
        wishes: the tokens to add, in order.
        roles: the roles' tokens.
        extra: further special tokens.
    """
    tokens = {token.text: token for token in listed}
    named = {stated.text for stated in roles}
    wanted = [
        replace(wish, token=replace(wish.token, special=wish.token.special or by_role))
        for wish in wishes
        for by_role in (wish.token.text in named,)
    ]
    there = {*tokens, *(wish.token.text for wish in wanted)}
    # A token may be assumed by a class for one role, and named by a file for another.
    files = {s.text: s.by for s in reversed(roles) if is_file(s.by)}
    for text, by_whom in [*((s.text, s.by) for s in roles), *((text, CONFIG) for text in extra)]:
        if text not in there:
            there.add(text)
            file = CONFIG if text in extra else by_whom
            wanted.append(Wish(AddedToken(text, 0), files.get(text, file)))
    _add(tokens, words, [wish.token for wish in wanted if wish.token.text])
    by: dict[str, str] = {}
    for wish in wanted:
        by.setdefault(wish.token.text, wish.by)
    return tuple(sorted(tokens.values(), key=lambda token: token.id)), by


def _add(
    tokens: dict[str, AddedToken], words: Mapping[str, int], wanted: Iterable[AddedToken]
) -> None:
    """As ``add_tokens`` of tokenizers does, which is called once for all of them.

    (``tokenizer/added_vocabulary.rs``)
    """
    top = max((token.id for token in tokens.values()), default=-1)
    free = max(top + 1, len(words))
    for token in wanted:
        before = tokens.get(token.text)
        special = token.special or (before is not None and before.special)
        if before is not None:
            number = before.id
        elif token.text in words:
            number = words[token.text]
        else:
            number, free = free, free + 1
        tokens[token.text] = replace(token, id=number, special=special, roles=())


def read_wishes(files_beside: Companions, root: Node, special: Container[str]) -> list[Wish]:
    """The tokens that files want to be there, in the order in which they are added.

    Args:
        files_beside: the files beside the ``tokenizer.json``.
        root: the ``tokenizer.json``.
        special: the texts that files name as special tokens; ``added_tokens.json`` has no flags.

    Raises:
        FormatError: a token or an id is malformed.
    """
    decoder = files_beside.config.get(DECODER)
    if DECODER in files_beside.config:
        entries = decoder.be(dict) if decoder.given else {}
        return sorted(
            (Wish(_token(decoder[key], _number(decoder, key)), CONFIG) for key in entries),
            key=lambda wish: wish.token.id,
        )
    wishes: dict[int, Wish] = {}
    for text in files_beside.added.be(dict):
        number = files_beside.added[text].id()
        flag = text in special
        token = AddedToken(text, number, special=flag, normalized=not flag)
        wishes[number] = Wish(token, ADDED)
    listed = root.get("added_tokens")
    for entry in listed.items() if listed.given else ():
        token = _token(entry, entry["id"].id())
        wishes[token.id] = Wish(token, root.file)
    return [wishes[number] for number in sorted(wishes)]


def _number(node: Node, key: str) -> int:
    if not (key.isascii() and key.isdigit() and len(key) < 20):
        node.fail(f"the key {show(key)} is not an id")
    return int(key)


def _token(node: Node, number: int) -> AddedToken:
    special = node.flag("special", default=False)
    normalized = node.flag("normalized", default=not special)
    lstrip, rstrip, single = (node.flag(f, default=False) for f in _SIDES)
    text = node["content"].be(str)
    return AddedToken(text, number, special, lstrip, rstrip, single, normalized)


def tell_tokens(
    listed: Iterable[AddedToken],
    served: Iterable[AddedToken],
    by: Mapping[str, str],
    roles: Iterable[Stated],
    plain: bool,
) -> Iterator[Told]:
    """What of the added tokens AutoTokenizer has otherwise than ``tokenizer.json``.

    Args:
        listed: those of the ``tokenizer.json``.
        served: those that AutoTokenizer ends up with.
        by: the files that ask for them.
        roles: the roles' tokens.
        plain: whether nothing is normalized.
    """
    before, after = ({t.text: t for t in tokens} for tokens in (listed, served))
    named: dict[str, list[str]] = {}
    for stated in roles:
        named.setdefault(stated.text, []).append(stated.role)
    new: dict[str, list[str]] = {}
    without: dict[str, list[str]] = {}
    for text in after.keys() - before.keys():
        file = by.get(text, CONFIG)
        new.setdefault(file, []).append(f"{show(text)} as {after[text].id}")
        without.setdefault(file, []).extend(named.get(text, []))
    for file in sorted(new):
        yield Told(
            f"{file} asks for {_some(new[file])}, which tokenizer.json lacks: {TRANSFORMERS} adds "
            f"{_them(new[file])}, what is read here does not{_and_no_role(without[file])}",
            is_file(file),
        )
    gone = [show(text) for text in before.keys() - after.keys()]
    if gone:
        yield Told(f"{TRANSFORMERS} forgets the added {_tokens(gone)} {_some(gone)}")
    moved = [
        f"{show(text)} is {after[text].id}, not {token.id}"
        for text, token in before.items()
        if text in after and after[text].id != token.id
    ]
    if moved:
        yield Told(f"{TRANSFORMERS} numbers added tokens anew: {_some(moved)}")
    yield from _flags(before, after, by, plain)


def _flags(
    before: Mapping[str, AddedToken],
    after: Mapping[str, AddedToken],
    by: Mapping[str, str],
    plain: bool,
) -> Iterator[Told]:
    idle = plain and not any(normalized_matters([*each.values()]) for each in (before, after))
    matter = {*_SIDES, "special"} if idle else {*_SIDES, "special", "normalized"}
    changed: dict[tuple[str, bool], list[str]] = {}
    for text, token in before.items():
        other = after.get(text, token)
        flags = [
            flag
            for flag in (*_SIDES, "normalized", "special")
            if getattr(other, flag) != getattr(token, flag)
        ]
        if flags:
            sentence = ", ".join(flag if getattr(other, flag) else f"not {flag}" for flag in flags)
            lost = not matter.isdisjoint(flags)
            changed.setdefault((by.get(text, CONFIG), lost), []).append(f"{show(text)} {sentence}")
    for (file, lost), tokens in sorted(changed.items()):
        why = "which has a role" if file not in (CONFIG, ADDED) else f"as {file} says"
        sentence = f"{TRANSFORMERS} makes {_some(tokens)}, {why}; tokenizer.json says otherwise"
        yield Told(sentence, lost)


def _and_no_role(roles: Sequence[str]) -> str:
    return f", so it has no token for {_some(roles)}" if roles else ""


def is_file(by: str) -> bool:
    """Whether a file beside asks for a token, and not a class, or padding that is written again."""
    return by in (CONFIG, SPECIAL_MAP, ADDED)


def _some(words: Sequence[str]) -> str:
    ordered = sorted(words)
    more = f" and {len(ordered) - 4:,} more" if ordered[4:] else ""
    return ", ".join(ordered[:4]) + more


def _tokens(words: Sequence[str]) -> str:
    return "token" if len(words) == 1 else "tokens"


def _them(words: Sequence[str]) -> str:
    return "it" if len(words) == 1 else "them"


_MOST = 4


def tell_ids(
    files_beside: Companions,
    vocab: Mapping[str, int],
    listed: Iterable[AddedToken],
    served: Iterable[AddedToken],
) -> Iterator[str]:
    """Where the ids of ``added_tokens.json`` are not those that its tokens have.

    Args:
        files_beside: the files beside the ``tokenizer.json``.
        vocab: that of the ``tokenizer.json``.
        listed: its added tokens.
        served: those that AutoTokenizer ends up with.

    Raises:
        FormatError: an id is no integer.
    """
    if not files_beside.added.be(dict):
        return
    unread = DECODER in files_beside.config
    ids = {**vocab, **{token.text: token.id for token in (listed if unread else served)}}
    holders = {number: text for text, number in ids.items()}
    wrong: list[str] = []
    for text in files_beside.added.be(dict):
        number = files_beside.added[text].id()
        if ids.get(text) == number:
            continue
        holder = holders.get(number)
        taken = "" if holder is None else f" (which is {show(holder)})"
        has = f"it has {ids[text]}" if text in ids else "it has none"
        wrong.append(f"{show(text)} {number}{taken}, but {has}")
    if wrong:
        more = f" and {len(wrong) - _MOST:,} more" if wrong[_MOST:] else ""
        why = (
            f"{TRANSFORMERS} does not read that file, because {CONFIG} has {DECODER}"
            if unread
            else f"{TRANSFORMERS} goes by the texts of that file, and not by its ids"
        )
        yield f"{ADDED} gives ids that do not hold: {'; '.join(wrong[:_MOST])}{more}; {why}"
