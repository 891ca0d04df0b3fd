"""Tokens for a tokenizer that is there already, and what that asks of a network.

New tokens get the ids after the last one, or those that are given; no id of an existing token
changes, and no text without the new tokens is encoded otherwise. A network has one row for each
id in its embedding matrix and, unless the two are tied, in its output layer. Where a
``config.json`` says how many rows there are (``vocab_size``), there may be more than tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, Union

from .arguments import several
from .encode import Encoder
from .errors import ArgumentError, BpeInteropError, SpecialTokenError, UnstatedError
from .formats.huggingface.companions.files import (
    read_companions,
    read_model_config,
    tell_model_config,
)
from .formats.names import MODEL_CONFIG
from .model import (
    BATCHING,
    MAX_ID,
    NETWORK,
    AddedToken,
    BPEModel,
    Json,
    Kind,
    RankTable,
    TemplateText,
    TemplateToken,
    Vocab,
    all_ids,
    text_of,
)
from .presets import ways_to_say
from .quoting import show
from .steps import SentencePieceText
from .text.decoders import joins_pieces
from .theory.pretokens import occurrence
from .tokenizer_config import ROLES

Wanted: TypeAlias = Union[Mapping[str, "int | None"], Iterable[str]]
"""Texts of tokens; with an id each where it matters, None for the next one."""

Flags: TypeAlias = Mapping[str, Mapping[str, bool]]
"""Texts of tokens, and those of their flags that are not as usual."""


@dataclass(frozen=True, slots=True)
class Surgery:
    """What a network made for one tokenizer needs to take the ids of another.

    Attributes:
        new: the tokens whose ids stood for nothing before, by id.
        was: for each of ``new`` the ids that its text had before, special tokens in it as text,
            and behind a word if it begins with a space: the mean of their rows is a start for its
            own.
        renamed: the tokens that have another text now: before, and now.
        made_special: the tokens that were there before and are special now, by id.
        rows_before: the rows of the embedding matrix: those that ``config.json`` declares, else
            the largest id plus one.
        rows_declared: whether ``config.json`` declares them. If not, there may be more.
        rows_after: the rows that all ids need; never fewer than before, because a network may
            use rows that have no token.
        in_place: ids of ``new`` that have a row already, which no token was trained on.
        notes: sentences for people: where ``config.json`` and the tokenizer disagree now, and
            what still is as it was.
    """

    new: tuple[AddedToken, ...]
    was: tuple[tuple[int, ...], ...]
    renamed: tuple[tuple[AddedToken, AddedToken], ...]
    made_special: tuple[AddedToken, ...]
    rows_before: int
    rows_declared: bool
    rows_after: int
    in_place: tuple[int, ...]
    notes: tuple[str, ...]

    @property
    def rows_added(self) -> int:
        """By how many rows the embedding matrix and the output layer grow."""
        return self.rows_after - self.rows_before


def with_tokens(
    model: BPEModel,
    special: Wanted = (),
    roles: Mapping[str, str] | None = None,
    *,
    plain: Wanted = (),
    flags: Flags | None = None,
    names: Mapping[str, str] | None = None,
) -> BPEModel:
    """A model with further tokens that are found in a text before everything else.

    Where the model is SentencePiece's, those that are not special and have no flags become
    user-defined pieces, which are what sentencepiece finds in a text.

    Args:
        model: the model.
        special: texts, or texts with their ids (None: the next one that is free after the
            largest), of special tokens. A text that the model has as a token keeps its id; an
            added token that was not special becomes special.
        roles: role (``bos``, ``eos``, ``unk``, ``sep``, ``pad``, ``cls``, ``mask``) to the text
            of a special token, one of the new ones or another. The token that had it loses it.
        plain: the same of tokens that are not special: they are found in every text.
        flags: ``lstrip``, ``rstrip``, ``single_word`` or ``normalized`` of new tokens.
        names: texts of added tokens to the texts that they get; they keep their ids.

    Raises:
        SpecialTokenError: a text is empty, no text, or given twice; it is there already with
            another id, or its id is another token's; a role is not known, or its token is not
            there.
        UnstatedError: the source does not say which special tokens there are.
    """
    if model.added is None:
        raise UnstatedError(
            "the source does not state its special tokens, so new ones could collide with them",
            where=model.origin.name,
            fix=ways_to_say(model),
        )
    model = _renamed(model, names or {})
    asked, others = _checked(special), _checked(plain)
    for text in asked.keys() & others.keys():
        raise SpecialTokenError(
            f"{show(text)} is asked for as special and as not special", fix="give it once"
        )
    if others and joins_pieces(model.decoder):
        # sentencepiece finds a piece as it stands, so a token with flags stays an added token: a
        # tokenizer.json holds it, and a .model is refused.
        flagged = {text for text in others if any((flags or {}).get(text, {}).values())}
        names_of = {text: text if text in flagged else _as_piece(text) for text in others}
        ids = _with_ids(model, {names_of[t]: number for t, number in others.items()}, pieces=True)
        given = {text: ids[name] for text, name in names_of.items()}
        model = _with_pieces(model, {t: n for t, n in given.items() if t not in flagged})
        others = {text: number for text, number in given.items() if text in flagged}
    numbers = _with_ids(model, {**asked, **others})
    joined = _joined(model.added or (), numbers, {*others}, flags or {})
    added = _with_roles(model, list(joined), roles or {})
    new = {number for text, number in numbers.items() if text.encode() not in model.vocab.ids}
    return replace(
        model,
        vocab=_vocab(model, numbers, new),
        added=added,
        extras=_extras(model, added, roles or {}),
    )


def _renamed(model: BPEModel, names: Mapping[str, str]) -> BPEModel:
    """The model with other texts for added tokens, wherever their old ones stand."""
    if not names:
        return model
    there = {token.text: token for token in model.added or ()}
    taken = {*there, *(text for text in map(text_of, model.vocab.ids) if text is not None)}
    for old, new in names.items():
        if old not in there:
            raise SpecialTokenError(
                f"{show(old)} has no other name to get: there is no such added token",
                fix="bpe-interop inspect SRC lists those that there are",
            )
        if new != old and new in taken:
            raise SpecialTokenError(
                f"{show(old)} cannot be called {show(new)}, which is a token already",
                fix="choose another text",
            )
        taken.add(new)
    _checked(names.values())
    listed = {old.encode() for old in names} & model.vocab.ids.keys()
    for content in sorted(listed):
        if not _is_idle(model, content):
            raise SpecialTokenError(
                f"{show(content)} has no other name to get: texts give it as an ordinary token too",
                fix="add a token instead: --special, --token",
            )
    vocab = model.vocab
    if listed:
        ids = {t: number for t, number in vocab.ids.items() if t not in listed}
        ids |= {names[t.decode()].encode(): vocab.ids[t] for t in listed}
        vocab = replace(vocab, ids=ids)

    def placed(part: TemplateText | TemplateToken) -> TemplateText | TemplateToken:
        if isinstance(part, TemplateText):
            return part
        return replace(part, name=names.get(part.name, part.name))

    def pad(padding: Mapping[str, Json]) -> Mapping[str, Json]:
        token = padding.get("pad_token")
        return {"pad_token": names[token]} if isinstance(token, str) and token in names else {}

    template = model.sequence_template
    return replace(
        model,
        vocab=vocab,
        added=tuple(replace(t, text=names.get(t.text, t.text)) for t in model.added or ()),
        sequence_template=template
        and replace(
            template,
            single=tuple(map(placed, template.single)),
            pair=tuple(map(placed, template.pair)),
        ),
        extras=_with_padding(model.extras, pad),
    )


def _as_piece(text: str) -> str:
    return text.replace(" ", "\u2581")


def _with_pieces(model: BPEModel, asked: Mapping[str, int]) -> BPEModel:
    """Tokens as user-defined pieces, which sentencepiece looks for where spaces are U+2581."""
    numbers = {_as_piece(text): number for text, number in asked.items()}
    vocab = model.vocab
    ids = {**vocab.ids, **{text.encode(): number for text, number in numbers.items()}}
    there = {token.text for token in model.added or ()}
    for text in numbers:
        if text in there:
            raise SpecialTokenError(
                f"{show(text)} is a control piece, which cannot be user-defined as well",
                fix="choose another text, or give it with --special",
            )
    kinds: dict[int, Kind] = {**vocab.kinds, **dict.fromkeys(numbers.values(), "user_defined")}
    rule = model.merges
    if isinstance(rule, RankTable):
        gone = {text.encode() for text in numbers}
        rule = RankTable({text: rank for text, rank in rule.ranks.items() if text not in gone})
    scores = {**vocab.scores, **dict.fromkeys(numbers.values(), 0.0)} if vocab.scores else {}
    # sentencepiece's normalizer leaves user-defined pieces as they are (src/normalizer.cc).
    defined = sorted(
        (n, text.decode()) for text, n in ids.items() if kinds.get(n) == "user_defined"
    )
    kept = tuple(text for _, text in defined)
    normalizer = model.normalizer and tuple(
        replace(step, kept=kept) if isinstance(step, SentencePieceText) else step
        for step in model.normalizer
    )
    return replace(model, vocab=Vocab(ids, kinds, scores), merges=rule, normalizer=normalizer)


def surgery(
    before: BPEModel, after: BPEModel, config: bytes | None = None, multiple_of: int = 1
) -> Surgery:
    """What a network made for ``before`` needs to take the ids of ``after``.

    Args:
        before: the tokenizer that the network was made for.
        after: the one that it shall be used with.
        config: the network's ``config.json``, where the model was not read together with it.
        multiple_of: the rows are to be a multiple of this.

    Raises:
        FormatError: ``config`` is malformed.
        ArgumentError: ``multiple_of`` is not positive.
    """
    if multiple_of < 1:
        raise ArgumentError(
            f"rows cannot be a multiple of {multiple_of}", fix="give a number from 1 on, such as 64"
        )
    known = _config(before, config)
    declared = known.get("vocab_size")
    taken = all_ids(before)
    rows = declared if isinstance(declared, int) else max(taken) + 1
    largest = max(all_ids(after))
    special = {token.id for token in before.added or () if token.special}
    tokens = sorted({t.id: t for t in (*_pieces(after), *reversed(after.added or ()))}.items())
    new = {number: token for number, token in tokens if number not in taken}
    needed = -(-max(rows, largest + 1) // multiple_of) * multiple_of
    texts = {token.id: token for token in reversed(before.added or ())}
    told = {**known, "vocab_size": needed} if isinstance(declared, int) else known
    return Surgery(
        new=tuple(new.values()),
        was=tuple(_ids_before(before, [token.text for token in new.values()])),
        renamed=tuple(
            (texts[number], token)
            for number, token in tokens
            if number in texts and texts[number].text != token.text
        ),
        made_special=tuple(
            t for number, t in tokens if t.special and number in taken and number not in special
        ),
        rows_before=rows,
        rows_declared=isinstance(declared, int),
        rows_after=needed,
        in_place=tuple(number for number in new if number < rows),
        notes=(
            *_of_another(rows, max(taken)),
            *tell_model_config(told, after.added or (), (largest,)),
            *_holes(all_ids(after)),
            *_left(before, after),
            *_found_first(before, after),
        ),
    )


def _pieces(model: BPEModel) -> Iterator[AddedToken]:
    """SentencePiece's user-defined pieces, which are found in every text, as added tokens."""
    defined = {number for number, kind in model.vocab.kinds.items() if kind == "user_defined"}
    for content, number in model.vocab.ids.items() if defined else ():
        if number in defined:
            yield AddedToken(content.decode().replace("\u2581", " "), number, special=False)


def _ids_before(model: BPEModel, texts: Sequence[str]) -> Iterator[tuple[int, ...]]:
    encoder = Encoder(model) if texts and model.pretokenizer is not None else None
    for text in texts:
        try:
            yield () if encoder is None else _ids_in_a_text(encoder, text)
        except BpeInteropError:  # a text that has no ids
            yield ()


def one_token_each(model: BPEModel, texts: Iterable[str]) -> dict[str, int]:
    """Those of the texts that are an ordinary token of the model already, and the tokens' ids.

    As an added token such a text would be found inside others too, whose ids would change.
    """
    listed = [*texts]
    idle = {token.id for token in model.added or ()} | {model.fallback.unknown}
    return {
        text: ids[0]
        for text, ids in zip(listed, _ids_before(model, listed), strict=True)
        if len(ids) == 1 and ids[0] not in idle
    }


def spaces_before(model: BPEModel, tokens: Iterable[AddedToken]) -> Iterator[tuple[str, int]]:
    """Of added tokens those before which a space in a text is a token of its own, and its id."""
    if model.pretokenizer is None:
        return
    encoder = Encoder(model)
    for token in tokens:
        try:
            alone, ids = encoder.encode("a"), encoder.encode(f"a {token.text}")
        except BpeInteropError:
            continue
        left = ids[len(alone) : -1]
        if left and (*alone, left[0], token.id) == (*ids,):
            yield token.text, left[0]


def _ids_in_a_text(encoder: Encoder, text: str) -> tuple[int, ...]:
    alone = tuple(encoder.encode(text))
    if not text.startswith(" "):
        return alone
    # A text may begin with a space that its normalizer puts there: alone, the token's own space is
    # a second one. Behind a word there is only one.
    word, behind = encoder.encode("a"), encoder.encode(f"a{text}")
    fewer = behind[: len(word)] == word and len(behind) < len(word) + len(alone)
    return tuple(behind[len(word) :]) if fewer else alone


def _config(model: BPEModel, config: bytes | None) -> Mapping[str, Json]:
    if config is not None:
        if not isinstance(config, bytes):
            raise TypeError(
                f"config is the file's bytes, not {type(config).__name__}: Path(NAME).read_bytes()"
            )
        return read_model_config(read_companions({MODEL_CONFIG: config}))
    known = model.extras.get(NETWORK)
    return known if isinstance(known, dict) else {}


def _of_another(rows: int, largest: int) -> Iterator[str]:
    """Where the tokenizer that was there has ids for which ``config.json`` declares no rows."""
    if rows <= largest:
        yield (
            f"{MODEL_CONFIG} is probably not of this tokenizer: it declares {rows:,} rows "
            f"(vocab_size), and the source has ids up to {largest:,} already"
        )


def _holes(ids: Collection[int]) -> Iterator[str]:
    """Where code that takes the number of tokens for the number of rows makes too few."""
    if max(ids) >= len(ids):
        yield (
            f"some ids have no token: len(tokenizer) in transformers is {len(ids):,}, and the "
            f"largest id is {max(ids):,}; give resize_token_embeddings the rows, not that length"
        )


def _left(before: BPEModel, after: BPEModel) -> Iterator[str]:
    """Tokens that lost a role, and are placed around texts all the same."""
    template = after.sequence_template
    placed = {
        number
        for part in (template.single if template else ())
        if isinstance(part, TemplateToken)
        for number in part.ids
    }
    roles = {token.id: token.roles for token in after.added or ()}
    for token in before.added or ():
        lost = [role for role in token.roles if role not in roles.get(token.id, ())]
        if lost and token.id in placed:
            yield (
                f"{show(token.text)} is {' and '.join(lost)} no more, and the sequence template "
                "still places it around a text"
            )


def _found_first(before: BPEModel, after: BPEModel) -> Iterator[str]:
    """Tokens that only merging built, and that added ones are now: they cut a text first."""
    known = {token.id for token in before.added or ()}
    built = {number: content for content, number in before.vocab.ids.items()}
    for token in after.added or ():
        if token.id in built and token.id not in known:
            where = "where special tokens are parsed, it is now" if token.special else "it is now"
            yield (
                f"{show(token.text)} was an ordinary token: {where} found wherever it stands, "
                "inside words too"
            )


def _checked(tokens: Wanted) -> dict[str, int | None]:
    """The texts and ids that are asked for, each sound by itself."""
    several(tokens, "tokens", "give [token]")
    asked: dict[str, int | None] = {}
    listed = tokens.items() if isinstance(tokens, Mapping) else ((text, None) for text in tokens)
    for text, number in listed:
        if not isinstance(text, str):
            raise TypeError(f"a token is a str, not {type(text).__name__}")
        if not text:
            raise SpecialTokenError("a token is empty", fix="give it a text")
        if any("\ud800" <= char <= "\udfff" for char in text):
            raise SpecialTokenError(
                f"the token {show(text)} is no text: it holds half of a surrogate pair",
                fix="give it a text that UTF-8 can hold",
            )
        if text in asked:
            raise SpecialTokenError(f"the token {show(text)} is given twice", fix="give it once")
        if number is not None and not 0 <= number <= MAX_ID:
            raise SpecialTokenError(
                f"the id {number} of {show(text)} is not valid: ids are 0 to {MAX_ID}",
                fix="give one of these, or none",
            )
        asked[text] = number
    return asked


def _with_ids(
    model: BPEModel, asked: Mapping[str, int | None], *, pieces: bool = False
) -> dict[str, int]:
    """Each text's id: the one it has, the one that is given, or the next after the largest."""
    added = {token.text: token.id for token in model.added or ()}
    holders = {number: content for content, number in model.vocab.ids.items()}
    holders.update({token.id: token.text.encode() for token in reversed(model.added or ())})
    given = {text: number for text, number in asked.items() if number is not None}
    free = (n for n in _from(max(holders) + 1) if n not in given.values())
    numbers: dict[str, int] = {}
    for text, number in asked.items():
        own = added.get(text, model.vocab.ids.get(text.encode()))
        if own is not None:
            _check_own(model, text, own, number, text in added, pieces)
            numbers[text] = own
            continue
        numbers[text] = next(free) if number is None else number
        holder = holders.setdefault(numbers[text], text.encode())
        if holder != text.encode():
            raise SpecialTokenError(
                f"{show(text)} cannot have the id {number}, which is that of {show(holder)}",
                fix=f"give it another, or none: the first free one is {max(holders) + 1}",
            )
        if numbers[text] > MAX_ID:
            raise SpecialTokenError(
                f"there is no id left for {show(text)}: the last is {MAX_ID}",
                fix="give it one that has no token",
            )
    return numbers


def _from(number: int) -> Iterator[int]:
    while True:
        yield number
        number += 1


def _check_own(
    model: BPEModel, text: str, own: int, asked: int | None, added: bool, pieces: bool
) -> None:
    if asked not in (None, own):
        raise SpecialTokenError(
            f"{show(text)} is there already with the id {own}, not {asked}",
            fix=f"leave its id out, or give {own}",
        )
    kind = model.vocab.kinds.get(own, "normal")
    if pieces and kind == "user_defined":
        return
    if not added and kind in ("byte", "user_defined", "unused"):
        raise SpecialTokenError(
            f"{show(text)} is there already as a token of the kind {kind.replace('_', '-')} "
            f"({own}), which cannot be an added token as well",
            fix="choose another text",
        )


def _joined(
    added: Iterable[AddedToken], numbers: Mapping[str, int], plain: Collection[str], flags: Flags
) -> Iterator[AddedToken]:
    """The added tokens, each special or not as it is asked for, and the new ones after them."""
    there = set[str]()
    for token in added:
        there.add(token.text)
        asked = token.text in numbers
        yield replace(token, special=token.text not in plain) if asked else token
    for text, number in numbers.items():
        if text not in there:
            own = flags.get(text, {})
            yield AddedToken(
                text,
                number,
                text not in plain,
                own.get("lstrip", False),
                own.get("rstrip", False),
                own.get("single_word", False),
                own.get("normalized", False),
            )


def _with_roles(
    model: BPEModel, added: Sequence[AddedToken], roles: Mapping[str, str]
) -> tuple[AddedToken, ...]:
    special = {token.text: token for token in added if token.special}
    for role, text in roles.items():
        if role not in ROLES:
            raise SpecialTokenError(
                f"there is no role {show(role)}", fix=f"the roles are {', '.join(ROLES)}"
            )
        if text not in special:
            raise SpecialTokenError(
                f"{show(text)} has no place as {role}: there is no such special token",
                fix=f"add it too: --special {show(text)}, or among the tokens in Python",
            )
        unknown = model.fallback.unknown
        if role == "unk" and unknown not in (None, special[text].id):
            raise SpecialTokenError(
                f"{show(text)} cannot be unk: what becomes of an unknown character is the token "
                f"{unknown}",
                fix="leave that role where it is",
            )
    return tuple(replace(token, roles=_roles(token, roles)) for token in added)


def _roles(token: AddedToken, roles: Mapping[str, str]) -> tuple[str, ...]:
    kept = {role for role in token.roles if role not in roles}
    return tuple(sorted(kept | {role for role, text in roles.items() if text == token.text}))


def _vocab(model: BPEModel, numbers: Mapping[str, int], new: Collection[int]) -> Vocab:
    """Without entries that only give a special token its number, with scores for what is new."""
    vocab = model.vocab
    idle = {t.encode() for t in numbers if t.encode() in vocab.ids and _is_idle(model, t.encode())}
    scores = {**vocab.scores, **dict.fromkeys(new, 0.0)} if vocab.scores else vocab.scores
    if not idle:
        # A rank table may be the very mapping of ids, which is worth keeping.
        return replace(vocab, scores=scores)
    gone = {vocab.ids[content] for content in idle}
    return Vocab(
        {content: number for content, number in vocab.ids.items() if content not in idle},
        {number: kind for number, kind in vocab.kinds.items() if number not in gone},
        scores,
    )


def _is_idle(model: BPEModel, content: bytes) -> bool:
    """Whether no ordinary text can give this token: it is neither merged nor a symbol."""
    rule, (prefix, suffix) = model.merges, (model.affixes.prefix, model.affixes.suffix)
    if isinstance(rule, RankTable):
        used = content in rule.ranks
    else:
        cut = len(prefix)
        used = any(content in (left, right, left + right[cut:]) for left, right in rule.pairs)
    core = content.removeprefix(prefix).removesuffix(suffix)
    if used or len(core if model.alphabet == "byte" else core.decode()) <= 1:
        return False
    if not model.lookup_first:
        return True
    return occurrence(model.pretokenizer or (), content).possible is False


def _extras(
    model: BPEModel, added: Iterable[AddedToken], roles: Mapping[str, str]
) -> Mapping[str, Json]:
    if "pad" not in roles:
        return model.extras
    token = next(token for token in added if token.text == roles["pad"])
    return _with_padding(
        model.extras, lambda padding: {"pad_id": token.id, "pad_token": token.text}
    )


def _with_padding(
    extras: Mapping[str, Json], change: Callable[[Mapping[str, Json]], Mapping[str, Json]]
) -> Mapping[str, Json]:
    """Settings of batching name the padding token once more: they, with a change."""
    batching = extras.get(BATCHING)
    padding = batching.get("padding") if isinstance(batching, dict) else None
    if not isinstance(batching, dict) or not isinstance(padding, dict):
        return extras
    named: dict[str, Json] = {**padding, **change(padding)}
    return {**extras, BATCHING: {**batching, "padding": named}}
