"""What a value holds that a GGUF file cannot: reasons that follow from what its keys can say."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TypeAlias

from ...diff import diff
from ...diff.tokens import compare_added
from ...loss import Loss
from ...merging.canonical import whole_lookups
from ...model import AddedToken, Affixes, BPEModel, Fallback, SequenceTemplate, Vocab, show
from ...steps import JoinBytes, JoinPieces, MetaspaceText, PreTokenizerStep
from ...text.normalize import normalize
from ...theory.idle import acting_splits
from ...theory.plain import plain_normalizer
from ...theory.pretokens import missing_bytes
from ...theory.rewrite import as_pairs, as_ranks
from ...theory.witness import decoded_otherwise, first_changed, text_for, text_with
from ...witnesses import met_as_it_vanishes
from ..bos_eos import ends_of, template_of
from ..reasons import affixes_lost, changed_fields, extras_told, flag_witness, merges_lost, shown_by
from ..round_trip import RoundTrip
from .contents import Contents, contents_of
from .overlaps import equally_long, in_order_of_length
from .pre_names import Near, chosen, nearest_names
from .read import built_by_scores, decoder_of, normalizer_of
from .write import puts_space, scores_of, scores_stay

Losses: TypeAlias = Iterator[Loss]

_TEXTS = ("a", " ", " a", "a  b", "A", "\u00e9", "e\u0301", "\ufb01", "\u2126", "\u2581a", "\n")
_FLAGS = ("lstrip", "rstrip", "single_word", "normalized", "ascii_space")
_BEFORE = "in the text as it stands, SentencePiece in what the normalizer makes of it"
"""Where user-defined tokens are looked for."""
_LOOKING = _FLAGS[:3]
"""The flags by which a token looks at what is beside it."""


def explain(trip: RoundTrip) -> Iterator[Loss]:
    """Why fields come back otherwise, where the value gives a reason.

    A reason sees the value and the existing file that it is put into, not what came back.
    """
    contents = contents_of(trip)
    for field in changed_fields(trip):
        if field in _BY_FIELD:
            yield from _BY_FIELD[field](contents)


def _affixes(contents: Contents) -> Losses:
    return affixes_lost(contents.model, "llama.cpp")


def _vocab(contents: Contents) -> Losses:
    model, ids = contents.model, contents.model.vocab.ids
    gone = [t for t in ids if t in contents.gone or ids[t] in contents.moved]
    lost = next(filter(None, gone), None)
    more = next(iter(contents.more), None)
    if lost is not None:
        place = None if lost in contents.gone else contents.listing.places[ids[lost]]
        yield shown_by(
            text_for(model, lost),
            "vocab",
            "ids",
            f"{show(lost)} would be {'gone' if place is None else place}, not {ids[lost]}: "
            + _why_gone(contents, lost),
            "texts that need it would have other ids",
        )
    elif gone and not contents.missing_bytes:
        yield Loss(
            "vocab",
            "metadata",
            f"the empty token {ids[b'']} has no text, and llama.cpp needs one: it gets a stand-in",
            "no text has it, so no id changes",
        )
    elif contents.missing_bytes:
        yield shown_by(
            None,
            "vocab",
            "ids",
            "the 256 byte tokens must be there, and some are not",
            "characters without a token would become bytes",
        )
    elif more is not None:
        yield Loss(
            "vocab",
            "metadata",
            f"llama.cpp looks up every token, those that are found first too: {show(more)}",
            "where it is not found first, a text gives its id all the same",
        )
    elif model.vocab.kinds != contents.kinds:
        yield Loss(
            "vocab", "metadata", "kinds that only SentencePiece's tokens have", "no id changes"
        )
    elif model.vocab.scores and not scores_stay(model):
        yield Loss(
            "vocab", "metadata", "scores that say another order than the merges", "no id changes"
        )


def _why_gone(contents: Contents, lost: bytes) -> str:
    """Why a token cannot have its id, or is not merged or looked up into."""
    number = contents.model.vocab.ids[lost]
    if lost not in contents.gone:
        return "ids are places in a list, and these have too large holes"
    if number in contents.crowded:
        return "another token or an added one is spelled like it, and no two may be"
    if contents.model.vocab.kinds.get(number) == "user_defined":
        return f"llama.cpp finds such a token {_BEFORE}"
    return "llama.cpp finds it in a text before anything is merged, and merges nothing into it"


def _merges(contents: Contents) -> Losses:
    model = contents.model
    pairs = model.alphabet == "byte" or contents.over_characters is not None
    rewrite = as_pairs(model) if pairs else as_ranks(model)
    yield from merges_lost(rewrite)
    if rewrite.rule is None:
        return
    if not pairs and rewrite.left_out:
        yield shown_by(
            None,
            "merges",
            "ids",
            f"no merge builds {show(rewrite.left_out[0])}; in llama.cpp any two tokens whose text "
            "together is a token may merge",
            "other pairs would merge first",
        )
    elif model.affixes != Affixes() or not contents.as_before:
        yield shown_by(
            None, "merges", "ids", "merges of tokens that are lost", "other pairs would merge first"
        )
    elif not pairs:
        yield from _merged_unused(contents)


def _merged_unused(contents: Contents) -> Losses:
    """UNUSED tokens that merging builds: sentencepiece splits them again, llama.cpp does not."""
    model, listing = contents.model, contents.listing
    kinds = model.vocab.kinds
    unused = [token for token, number in model.vocab.ids.items() if kinds.get(number) == "unused"]
    if not unused:
        return
    every = built_by_scores(listing.texts, scores_of(model, listing))
    token = next((token for token in unused if token in every), None)
    if token is not None:
        yield shown_by(
            None,
            "merges",
            "ids",
            f"{show(token)} is UNUSED: sentencepiece splits it again, llama.cpp gives its id",
            "texts in which it is merged would have other ids",
        )


def _lookup_first(contents: Contents) -> Losses:
    model, name = contents.model, contents.splitter
    same_tokens = model.affixes == Affixes() and not (contents.gone or contents.more)
    if model.lookup_first == name.lookup_first and same_tokens:
        return
    lookups = whole_lookups(replace(model, lookup_first=True))
    tokens = sorted(lookups, key=model.vocab.ids.__getitem__) or [*contents.more]
    merged = replace(model, lookup_first=False)
    texts = (text_for(merged, token) for token in tokens[:40]) if model.lookup_first else ()
    yield shown_by(
        next(filter(None, texts), None),
        "lookup_first",
        "ids",
        "whether a pretoken that is a token is looked up belongs to the name of the splitter, "
        "and none has both",
        f"such as {show(tokens[0])} would have other ids" if tokens else "ids may differ",
    )


def _fallback(contents: Contents) -> Losses:
    model, fallback = contents.model, contents.model.fallback
    if model.alphabet == "byte":
        missing = missing_bytes(model.vocab.ids)
        if missing and fallback == Fallback("drop"):
            yield shown_by(
                met_as_it_vanishes(model, text_with(min(missing))),
                "fallback",
                "ids",
                "bytes without a token vanish before merging (drop), in llama.cpp after it",
                "their neighbours would not merge",
            )
        elif fallback != (Fallback("drop", after_merging=True) if missing else Fallback()):
            yield Loss(
                "fallback",
                "ids" if missing else "metadata",
                f"what becomes of bytes without a token ({fallback.missing})",
                "in llama.cpp they vanish" if missing else "none is missing; no id changes",
                witness=text_with(min(missing)) if missing else None,
            )
    elif not (fallback.byte_fallback and fallback.after_merging) or contents.missing_bytes:
        yield shown_by(
            None,
            "fallback",
            "ids",
            f"what becomes of characters without a token ({fallback.missing})",
            "in llama.cpp they become the tokens of their bytes, after merging",
        )


def _normalizer(contents: Contents) -> Losses:
    model, steps = contents.model, contents.model.normalizer or ()
    if model.alphabet == "byte":
        if steps:
            yield shown_by(
                first_changed(steps),
                "normalizer",
                "ids",
                "texts are normalized before they are cut; llama.cpp never does that",
                "texts that the normalizer changes would have other ids",
            )
    elif plain_normalizer(steps) not in map(normalizer_of, (False, True)):
        there = normalizer_of(puts_space(model))
        texts = (text for text in _TEXTS if normalize(steps, text) != normalize(there, text))
        yield shown_by(
            next(texts, None),
            "normalizer",
            "ids",
            "texts are normalized otherwise than by writing spaces as U+2581, with one before a "
            "text",
            "texts that the normalizer changes would have other ids",
        )


def _pretokenizer(contents: Contents) -> Losses:
    model = contents.model
    if contents.over_characters is not None:
        if _differs_from(model, contents.splitter.steps):
            yield _cut_alike(f"texts are cut as llama.cpp does it under {contents.over_characters}")
        return
    if model.alphabet == "char":
        if acting_splits(model):
            yield shown_by(
                None,
                "pretokenizer",
                "ids",
                "texts are cut before they are merged; in SentencePiece's kind they are not",
                "tokens could merge across the cuts, and spaces be put in otherwise",
            )
        return
    name = chosen(model)
    if name is None:
        near = nearest_names(model)
        yield shown_by(
            near[0].text or None,
            "pretokenizer",
            "ids",
            "llama.cpp has splitters by name, and none is proved to cut every text as this one "
            f"does (nearest: {', '.join(map(_told, near))})",
            f"texts would be cut elsewhere; without this field the file names {near[0].name}",
        )
    elif _differs_from(model, contents.splitter.steps):
        yield _cut_alike(
            f"texts are cut as llama.cpp does it under {name.name}, which gives the same tokens "
            f"({name.by})"
        )


def _differs_from(model: BPEModel, steps: tuple[PreTokenizerStep, ...]) -> bool:
    """Whether a model would be another one with these steps, as models are compared."""
    other = replace(model, pretokenizer=steps)
    return any(difference.field == "pretokenizer" for difference in diff(model, other))


def _cut_alike(what: str) -> Loss:
    return Loss("pretokenizer", "metadata", what, "no id changes")


def _told(near: Near) -> str:
    """What shows that a near name is another splitter."""
    if not near.cut and not near.text:
        return f"{near.name}, for which this is not decided"
    words = [f"cuts {show(near.cut)} differently"] if near.cut and near.cut != near.text else []
    words += [f"gives {show(near.text)} other ids"] if near.text else []
    return f"{near.name} {' and '.join(words)}"


def _added(contents: Contents) -> Losses:
    bare = replace(contents.model, added=_without_roles(contents.model.added or ()))
    there = _without_roles(contents.added)
    plain = replace(bare, vocab=Vocab(bare.vocab.ids), added=there)
    if compare_added(bare, plain):
        reasons = list(_found_otherwise(bare.added or (), there, contents.crowded))
        yield from reasons or _found_too(contents, there)
    elif contents.added != (contents.model.added or ()):
        yield Loss(
            "added",
            "metadata",
            f"roles: {_roles_apart(contents.model.added or (), contents.added)}",
            "no id changes",
        )


def _roles_apart(ours: Iterable[AddedToken], theirs: Iterable[AddedToken]) -> str:
    """Which roles tokens lose in llama.cpp, and which they gain."""
    left, right = ([(t.text, role) for t in each for role in t.roles] for each in (ours, theirs))
    lost = [f"{show(text)} is no longer {role}" for text, role in left if (text, role) not in right]
    gained = [f"{show(text)} becomes {role}" for text, role in right if (text, role) not in left]
    parts = [f"{', '.join(lost)}: a GGUF file cannot say it"] if lost else []
    if gained:
        parts.append(
            f"{', '.join(gained)}: the source names no token for it, llama.cpp or the file does"
        )
    return "; ".join(parts) or "those of a token stand in another order"


def _found_otherwise(
    added: Collection[AddedToken], there: Collection[AddedToken], crowded: Collection[int]
) -> Iterator[Loss]:
    """The loss of a token, of a flag, or of the order in which tokens are looked for.

    The first reason that applies is given.

    Args:
        added: the tokens of the model.
        there: those that llama.cpp finds.
        crowded: the ids that cannot have the text of their token.
    """
    ours = {token.text: token for token in added}
    theirs = {token.text: token for token in there}
    gone = next((token for text, token in ours.items() if text not in theirs), None)
    if gone is not None:
        if gone.id not in crowded:
            return
        taking = {text for text, token in ours.items() if token.rstrip}
        chance = equally_long([*ours], taking) is not None
        yield _added_lost(
            f"{show(gone.text)} would not be found: "
            + (
                "another that overlaps it is equally long, and llama.cpp takes one by chance"
                if chance
                else "a token has one text there, and no two tokens have the same"
            ),
            gone.text,
        )
        return
    for text, token in ours.items():
        other = theirs[text]
        if token.id != other.id:
            yield _added_lost(f"{show(text)} would be {other.id}, not {token.id}", text)
            return
        if token.special != other.special:
            yield _added_lost(
                f"llama.cpp takes {show(text)} for a "
                f"{'control token' if other.special else 'user-defined token'} by its spelling",
                text,
            )
            return
        flag = next((n for n in _FLAGS if getattr(token, n) != getattr(other, n)), None)
        if flag is not None:
            yield _added_lost(
                f"{show(text)} is {flag}, which no key says",
                flag_witness(token) if flag in _LOOKING else None,
            )
            return
    if theirs.keys() - ours.keys():
        return
    taking = {text for text, token in ours.items() if token.rstrip}
    pair = in_order_of_length([*ours.values()], taking)
    if pair is not None:
        how = f"is in {show(pair[1])}" if pair[0] in pair[1] else f"and {show(pair[1])} overlap"
        yield _added_lost(f"llama.cpp looks for the longest first: {show(pair[0])} {how}", None)


def _found_too(contents: Contents, there: Iterable[AddedToken]) -> Losses:
    """The loss where llama.cpp finds a token in a text that is no added token of the model."""
    ours = {token.text for token in contents.model.added or ()}
    more = next((token for token in there if token.text not in ours), None)
    if more is None:
        return
    if contents.model.vocab.kinds.get(more.id) == "user_defined":
        yield _added_lost(f"llama.cpp finds {show(more.text)} {_BEFORE}", more.text)
    else:
        yield _added_lost(
            f"llama.cpp takes {show(more.text)} for a special token by its spelling", more.text
        )


def _added_lost(what: str, witness: str | None) -> Loss:
    return shown_by(witness, "added", "text", what, "texts that hold it would be read otherwise")


def _without_roles(added: tuple[AddedToken, ...]) -> tuple[AddedToken, ...]:
    return tuple(replace(token, roles=()) for token in added)


def _sequence_template(contents: Contents) -> Losses:
    model = contents.model
    ours, ends = model.sequence_template or SequenceTemplate(), ends_of(model)
    if ends is None or any(end is not None and end.id in contents.moved for end in ends):
        yield Loss(
            "sequence_template",
            "text",
            "what is placed around a text is more than a bos before and an eos after each",
            "llama.cpp would place something else",
            witness="a",
        )
    elif ours != template_of(*ends):
        what = "the type ids and names in the sequence template"
        yield Loss("sequence_template", "metadata", what, "llama.cpp has none; no id changes")


def _decoder(contents: Contents) -> Losses:
    model, steps = contents.model, contents.model.decoder or ()
    strips, over_characters = puts_space(model), model.alphabet == "char"
    if steps == (decoder_of(strips) if over_characters else (JoinBytes(),)):
        return
    first = steps[0] if steps else None
    if isinstance(first, JoinPieces) and not first.collapse and not first.charsmap:
        alike = (first.dummy == "prefix") == strips and first.dummy != "suffix"
    else:
        alike = isinstance(first, MetaspaceText) and (first.prepend != "never") == strips
    if alike and over_characters and "\u2581".encode() in model.vocab.ids:
        yield Loss(
            "decoder",
            "metadata",
            "SentencePiece's own decoder is said as llama.cpp's steps",
            "ids of texts are decoded alike; malformed bytes and special tokens are not",
        )
        return
    yield shown_by(
        decoded_otherwise(model),
        "decoder",
        "text",
        "llama.cpp joins the tokens, writes U+2581 as a space and leaves the first one out"
        if over_characters
        else "llama.cpp joins the tokens' bytes",
        "some ids would decode to another text",
    )


def _extras(contents: Contents) -> Losses:
    settings = sorted(
        key
        for key, value in contents.model.extras.items()
        if not (key == "huggingface" and isinstance(value, dict) and [*value] == ["chat_templates"])
    )
    if contents.into is not None and settings:
        yield Loss(
            "extras",
            "metadata",
            f"settings of the source's file: {extras_told(contents.model.extras, settings)}",
            "the keys of the file that the tokenizer is put into stay as they are; no id changes",
        )
        return
    others = [key for key in settings if key != "gguf"]
    if others:
        yield Loss(
            "extras",
            "metadata",
            f"settings of the source format: {extras_told(contents.model.extras, others)}",
            "they are left out; no id changes",
        )


_BY_FIELD: Mapping[str, Callable[[Contents], Losses]] = MappingProxyType(
    {
        "affixes": _affixes,
        "vocab": _vocab,
        "merges": _merges,
        "lookup_first": _lookup_first,
        "fallback": _fallback,
        "normalizer": _normalizer,
        "pretokenizer": _pretokenizer,
        "added": _added,
        "sequence_template": _sequence_template,
        "decoder": _decoder,
        "extras": _extras,
    }
)
