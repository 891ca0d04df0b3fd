"""Which tokens, merges and added tokens of a model its pieces do not stand for."""

from __future__ import annotations

from collections.abc import Iterator

from ...diff import normalized_matters
from ...loss import Loss
from ...merging.canonical import canonical
from ...model import AddedToken, BPEModel, RankTable, all_ids, show
from ...text.normalize import normalize
from ..reasons import flag_witness, merges_lost
from .flags import has_byte_tokens
from .pieces import found_as_piece, pieces_of
from .schema import MAX_PIECES
from .scores import ranking
from .specs import ROLES


def vocab_losses(model: BPEModel, again: BPEModel) -> Iterator[Loss]:
    """Contents, ids, kinds and scores that come back otherwise."""
    ours, theirs = model.vocab, again.vocab
    unknown = model.fallback.unknown
    others = [c for c, n in ours.ids.items() if theirs.ids.get(c) != n and n != unknown]
    lost = [content for content in others if _has_no_piece(content, model)]
    if lost:
        built = canonical(model).splits
        used = [c for c in lost if c in built or len(c.decode("utf-8")) == 1]
        yield Loss(
            "vocab",
            "ids" if used else "text",
            f"{len(lost)} tokens cannot be pieces with their ids, such as {show(lost[0])}",
            "a piece has no null character, one surface and one id, and its id is its position",
            witness=used[0].decode("utf-8") if used else None,
            shown=bool(used),
        )
        return
    taken = {*ours.ids.values(), *(token.id for token in model.added or ())}
    empty = next((number for number in range(max(taken)) if number not in taken), None)
    if empty is not None:
        yield Loss(
            "vocab",
            "metadata",
            f"{max(taken) + 1 - len(taken)} ids stand for nothing, such as {empty}",
            "each becomes an UNUSED piece, which no text gives",
        )
    idle = _never_built(model)
    if idle:
        yield Loss(
            "vocab",
            "metadata",
            f"{len(idle)} tokens are never built, such as id {idle[0]}",
            "they become UNUSED pieces of the least score, which no text gives either",
        )
    pieces = pieces_of(model)
    scored = all(ours.scores.get(number) == piece.score for number, piece in enumerate(pieces))
    if empty is None and not idle and (not scored or _has_other_types(model)):
        yield Loss(
            "vocab", "metadata", "tokens have scores and types as pieces", "no id changes by that"
        )


def _never_built(model: BPEModel) -> list[int]:
    """The ids of ordinary tokens of several characters that nothing merges into."""
    ranks, kinds = ranking(model).ranks, model.vocab.kinds
    return [
        number
        for content, number in model.vocab.ids.items()
        if number not in kinds and content not in ranks and len(content.decode("utf-8")) > 1
    ]


def _merges_become_scores(model: BPEModel) -> bool:
    """Whether the merges are not those that the ranks of pieces say, or run over other tokens."""
    rule = model.merges
    if not isinstance(rule, RankTable) or rule.ranks != ranking(model).ranks:
        return True
    moved = any(found_as_piece(token, model) for token in model.added or ())
    lost = any(_has_no_piece(content, model) for content in model.vocab.ids)
    return moved or lost or bool(_never_built(model)) or replaces_parts(model)


def replaces_parts(model: BPEModel) -> bool:
    """Whether characters that tokens merge from have no token, and are replaced before that."""
    if model.fallback.after_merging:
        return False
    chars = {char for token in ranking(model).ranks for char in token.decode("utf-8")}
    return any(char.encode("utf-8") not in model.vocab.ids for char in chars)


def _has_no_piece(content: bytes, model: BPEModel) -> bool:
    """Whether no piece with a token's id has its content as surface."""
    control = model.vocab.kinds.get(model.vocab.ids[content]) == "control"
    return not content or 0 in content or control or is_too_large(model)


def is_too_large(model: BPEModel) -> bool:
    """Whether ids are too large to be positions of pieces."""
    return max(all_ids(model)) >= MAX_PIECES


def _has_other_types(model: BPEModel) -> bool:
    """Whether tokens of the vocabulary become pieces of types that are written elsewhere here."""
    byte_tokens = "byte" in model.vocab.kinds.values() and not has_byte_tokens(model)
    unknown = model.fallback.unknown in model.vocab.ids.values()
    defined = any(found_as_piece(token, model) for token in model.added or ())
    return byte_tokens or unknown or defined


def merge_losses(model: BPEModel, again: BPEModel) -> Iterator[Loss]:
    """Merges as scores: any two tokens whose product is a piece may merge."""
    losses = [*merges_lost(ranking(model).rewrite)]
    yield from losses
    if not losses and _merges_become_scores(model):
        yield Loss(
            "merges",
            "metadata",
            "the merges are written as the scores of what they build",
            "other pairs may build the same tokens; no id changes",
        )


def added_losses(model: BPEModel, again: BPEModel) -> Iterator[Loss]:
    """Added tokens that come back otherwise."""
    read = {token.text: token for token in again.added or ()}
    refused: dict[tuple[str, str], list[AddedToken]] = {}
    defined: list[str] = []
    gained: list[str] = []
    renamed: list[str] = []
    for token in model.added or ():
        held = read.pop(token.text, None)
        if held == token:
            continue
        if held is None and not _shares(token, model) and not found_as_piece(token, model):
            continue  # the value gives no reason
        if held is None and found_as_piece(token, model) and _is_piece(token, again):
            defined.append(show(token.text))
        elif reason := _reason(token, held, model):
            refused.setdefault(reason, []).append(token)
        elif _has_other_roles(token, model):
            is_gain = held is not None and {*token.roles} < {*held.roles}
            (gained if is_gain else renamed).append(show(token.text))
    for (what, consequence), tokens in refused.items():
        yield Loss(
            "added",
            "text",
            f"{len(tokens)} added tokens {what}, such as {show(tokens[0].text)}",
            consequence,
            witness=flag_witness(tokens[0]) or ("a" * tokens[0].normalized + tokens[0].text),
        )
    changes = []
    if defined:
        changes.append(f"{len(defined)} added tokens become user-defined pieces, as {defined[0]}")
    if gained:
        changes.append(
            f"{', '.join(gained[:4])} gain the roles that SentencePiece gives them, and lose none"
        )
    if renamed:
        changes.append(f"the roles of {', '.join(renamed[:4])} are those that SentencePiece gives")
    others = model.fallback.unknown is None or "control" in model.vocab.kinds.values()
    if read and (others or model.fallback.unknown in model.vocab.ids.values()):
        changes.append(f"the piece {show(next(iter(read)))} is added, which every .model has")
    if changes:
        yield Loss("added", "metadata", "; ".join(changes), "no text is encoded otherwise")


def _has_other_roles(token: AddedToken, model: BPEModel) -> bool:
    """Whether a token has flags, or not one role, its alone, of those that a ``.model`` gives."""
    named = [role for other in model.added or () for role in other.roles]
    own = token.roles
    if len(own) != 1 or token != AddedToken(token.text, token.id, roles=own):
        return True
    other_unknown = own[0] == "unk" and token.id != model.fallback.unknown
    return other_unknown or own[0] not in ROLES or named.count(own[0]) > 1


def _shares(token: AddedToken, model: BPEModel) -> bool:
    """Whether a token has no piece of its own, because another has its id or its text."""
    ids = model.vocab.ids
    twins = [t for t in model.added or () if t.id == token.id or t.text == token.text]
    taken = token.id in ids.values() or token.text.encode() in ids or "\0" in token.text
    return taken or len(twins) > 1 or is_too_large(model)


def _is_piece(token: AddedToken, again: BPEModel) -> bool:
    number = again.vocab.ids.get(token.text.encode())
    return number == token.id and again.vocab.kinds.get(token.id) == "user_defined"


def _reason(token: AddedToken, held: AddedToken | None, model: BPEModel) -> tuple[str, str] | None:
    """What is lost of an added token, and what follows; None where only its roles are."""
    if not token.special:
        return (
            "that are found in every text",
            "SentencePiece finds user-defined pieces only, as they are spelled and in normalized "
            "text, and would spell these tokens in parts",
        )
    if held is None:
        return (
            "share their id or their text with another token",
            "a piece has one type: it would be an ordinary piece, not a special token",
        )
    if token.looks_around:
        return (
            "with lstrip, rstrip or single_word",
            "a control piece has no such flags: where it is looked for, the text around it would "
            "be kept or matched",
        )
    if held.id != token.id and _shares(token, model):
        return "with ids that are no positions", "the pieces are numbered anew"
    if token.normalized and _normalized_matters(token, model):
        return (
            "that are looked for in normalized text",
            "a control piece is looked for in the text as it is, if at all",
        )
    return None


def _normalized_matters(token: AddedToken, model: BPEModel) -> bool:
    changed = normalize(model.normalizer or (), token.text) != token.text
    return changed or normalized_matters(list(model.added or ()))
