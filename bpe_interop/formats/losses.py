"""What a format cannot hold of a model: what came back otherwise, and what the proof says of it.

One rule decides for all formats. The fields are those in which the model and what came back
differ. A field is lost, so that ids or texts may change, unless the stages of the proof that look
at it are proved. A format brings sentences, and no decision; what could be done about a loss is
said in ``gate.py``, for a format knows no presets.

After a change, ``python -m trust decisions`` writes ``fixtures/decisions.txt``: review each row
that is other. A grade that a field never had needs its line under *Grades* in its page
``LOSS-FIELD``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, filterfalse, islice
from typing import Any, TypeAlias, cast

from ..diff import Difference
from ..errors import BpeInteropError, PatternError
from ..gc_pause import paused
from ..kernel.tables import as_dict, used_among
from ..loss import MERGING, Field, Grade, Loss
from ..merging.canonical import whole_lookups
from ..model import (
    FIELDS,
    LOADING,
    NETWORK,
    AddedToken,
    BPEModel,
    Json,
    PairList,
    SequenceTemplate,
    all_ids,
)
from ..proof.decoder import decoded, decoding_stage
from ..proof.prove import STAGES, stage_of
from ..proof.stage import Stage, TwoModels, differing_in, short_strings
from ..quoting import show
from ..steps import JoinBytes, JoinPieces, Pattern, PreTokenizerStep, Split
from ..text.decoders import joins_pieces
from ..text.normalize import normalize
from ..text.patterns import asks_other_tables, is_misread
from ..theory.added_tokens import normalized_matters
from ..theory.byte_ranks import over_bytes
from ..theory.pretokens import occurrence
from ..theory.rewrite import Rewrite
from ..tokenizer_config import CONFIG
from ..witnesses import decoded_otherwise, first_differing_text
from .names import GENERATION, MODEL_CONFIG
from .round_trip import RoundTrip

METADATA = frozenset({"chat_template", "extras"})
"""The fields that change no id and no text."""

EMPTY: Mapping[str, Any] = {
    "normalizer": (),
    "pretokenizer": (),
    "added": (),
    "sequence_template": SequenceTemplate(),
}
"""What a reader takes for granted where a file leaves a field unsaid."""

_MERGED = {*MERGING, "normalizer", "pretokenizer", "added", "decoder"}
"""Fields of texts that mean nothing where other symbols of other texts are merged."""

_STAGES = {**STAGES, "vocab": (*STAGES["vocab"], "lookup")}
"""The stages that look at a field; a token more may be found as a whole pretoken."""

_OF_MERGING = frozenset({"core", "lookup", "ids"})
"""The stages of what becomes of a pretoken."""

_FEW = 10
"""Of so many tokens that one side only builds, texts are tried before a field alone is decided."""

_USUAL = ("Hello world", "the tokenizer")

_MOST = 1_000
"""So many texts are run on both sides where no theorem decides."""


@dataclass(frozen=True)
class Decided:
    """What the rule says of a field that came back otherwise.

    ``refused``: ids or texts may change by it. ``unsaid``: the target does not state it.
    ``by_text``: no id of a text changes, but what ids decode to. ``with_alphabet``: it says nothing
    by itself where other symbols are merged, and the alphabet is refused. ``stage`` is the proof's,
    or None where none was asked.
    """

    field: str
    how: str
    refused: bool
    unsaid: bool = False
    stage: Stage | None = None
    by_text: bool = False
    with_alphabet: bool = False

    @property
    def witness(self) -> str | None:
        """A text that shows it."""
        return self.stage.witness if self.refused and self.stage is not None else None


TEXT = frozenset({"added", "sequence_template", "decoder"})
"""The fields whose loss changes what special strings do, or what ids decode to."""

Words: TypeAlias = "tuple[str, str] | tuple[str, str, str | None]"
"""What is lost, the consequence, and a text that shows it where the proof has none."""


def one_sentence(
    sentence: Callable[[RoundTrip, Decided], Words | None],
) -> Callable[[RoundTrip, Decided], Iterable[Words]]:
    """A ``words`` of a format that has at most one for a field."""

    def words(trip: RoundTrip, decided: Decided) -> Iterable[Words]:
        made = sentence(trip, decided)
        return () if made is None else (made,)

    return words


def losses_of(trip: RoundTrip) -> Iterator[Loss]:
    """What a round trip loses: a loss for each field that came back otherwise."""
    row = trip.format
    whole = {(each.field, each.how) for each in trip.whole.differences} if trip.alone else None
    for each in decide(trip.model, trip.again, trip.differences, row.proves(trip.model)):
        if whole is not None and (each.field, each.how) not in whole:
            sentences = [_beside(trip, each)]
        elif each.with_alphabet and not each.refused:
            sentences = [(each.how, "it goes with the alphabet")]
        else:
            sentences = list(row.words(trip, each)) or [plain_words(trip, each)]
        for what, consequence, *more in sentences:
            witness = (next(iter(more), None) or each.witness) if each.refused else None
            # Where other symbols are merged, ids of most texts are others, and so is their text.
            sure = each.unsaid or not each.refused or witness is not None
            sure |= each.field == "decoder" and trip.model.alphabet != trip.again.alphabet
            # All that a model differs in from another is a field; metadata beside it has no loss.
            yield Loss(cast("Field", each.field), _grade(each), what, consequence, witness, sure)
        if each.field == "added" and each.refused:
            # Dropping what is found otherwise must not hide that generation ends elsewhere.
            gained = gained_roles(trip)
            if gained:
                yield Loss("added", "metadata", f"roles: {gained}", "no id changes by it")


def gained_roles(trip: RoundTrip) -> str:
    """The tokens that the target gives a role to which the source has no token; mostly empty."""
    had = {(token.text, role) for token in trip.model.added or () for role in token.roles}
    given = [(token.text, role) for token in trip.again.added or () for role in token.roles]
    gained = [f"{show(text)} becomes {role}" for text, role in given if (text, role) not in had]
    if not gained:
        return ""
    holder = trip.format.holder or trip.format.title
    return f"{', '.join(gained)}: the source names no token for it, {holder} or the file does"


def _grade(decided: Decided) -> Grade:
    if not decided.refused:
        return "metadata"
    return "text" if decided.by_text or decided.field in TEXT else "ids"


def _beside(trip: RoundTrip, decided: Decided) -> Words:
    """What has no place beside the one file that is written."""
    what = {
        "added": "what special tokens are for (roles)",
        "chat_template": "the chat template",
        "extras": "further settings",
        "sequence_template": "what is placed around a text",
    }.get(decided.field, decided.how)
    others = ", ".join(list(trip.whole.files)[1:])
    return (
        f"{what}: it belongs in {others}, and one file is written",
        "it is left out; to keep it, name a directory as the target, not a file",
    )


def plain_words(trip: RoundTrip, decided: Decided) -> Words:
    """What is said where a format has no sentence of its own: how the two differ, by the field."""
    model, holder = trip.model, trip.format.holder or trip.format.title
    field, refused = decided.field, decided.refused
    if decided.unsaid:
        what, lost, kept = _UNSAID[field]
        return f"{holder} does not say {what}", lost if refused else kept
    if field == "extras":
        keys = [
            key for key in sorted(model.extras) if trip.again.extras.get(key) != model.extras[key]
        ]
        told = extras_told(model.extras, trip.again.extras, keys)
        return f"settings of the source format: {told}", "they are left out; no id changes"
    if field == "chat_template":
        return "the chat template", "it is left out"
    if field == "affixes":
        what = f"symbols are merged with something glued to them; {holder} has no such thing"
        return what, "the ids of most texts would differ"
    if field == "alphabet":
        ours, theirs = (
            "characters" if each.alphabet == "char" else "bytes" for each in (model, trip.again)
        )
        what = f"merging starts from {ours}, {holder}'s from {theirs}"
        return what, "the ids of most texts would differ" if refused else "no id changes"
    if field == "normalizer" and not trip.again.normalizer:
        what = f"texts are normalized before they are cut; {holder} never does"
        return what, _CHANGED if refused else "no id changes"
    if field == "decoder" and trip.again.decoder == (JoinBytes(),):
        what = f"{holder} joins the tokens' bytes and reads them as UTF-8"
        if not refused:
            return what, _IDLE
        return what, "some ids would decode to another text", decoded_otherwise(model)
    what, lost = _OTHERWISE[field]
    return f"{what} otherwise: {decided.how}", lost if refused else "no id changes"


_CHANGED = (
    "texts that the normalizer changes would have other ids, unless they are normalized before"
)
_IDLE = "ids that no text gives would decode to another text"

_UNSAID: Mapping[str, tuple[str, str, str]] = {
    "normalizer": (
        "how texts are normalized",
        "texts that the normalizer changes would have other ids",
        "that nothing is normalized becomes unknown",
    ),
    "pretokenizer": (
        "how a text is cut into pretokens",
        "its reader must already know the pattern",
        "its reader must already know the pattern",
    ),
    "added": (
        "which of its tokens are added tokens",
        "they keep their ids, but texts that contain them are spelled out",
        "that there are none becomes unknown",
    ),
    "sequence_template": (
        "what is placed around a text",
        "whoever reads it has to know it",
        "that nothing is becomes unknown",
    ),
}
"""What a file does not say; what follows where it matters, and where it does not."""

_OTHERWISE: Mapping[str, tuple[str, str]] = {
    "vocab": ("tokens are kept", "texts would have other ids"),
    "merges": ("symbols merge", "texts would have other ids"),
    "lookup_first": ("whole pretokens are looked up", "texts would have other ids"),
    "fallback": ("missing characters are treated", "texts with such a character would differ"),
    "normalizer": ("texts are normalized", "texts that it changes would have other ids"),
    "pretokenizer": ("texts are cut", "texts would be cut elsewhere"),
    "added": ("added tokens are found", "texts that hold them would be read otherwise"),
    "sequence_template": ("what is placed around a text is said", "other tokens would be placed"),
    "decoder": ("ids become text", "some ids would decode to another text"),
}


def extras_told(extras: Mapping[str, Json], again: Mapping[str, Json], keys: Iterable[str]) -> str:
    """Further settings for people: by their format, or by the files that have them.

    ``again``: what came back of them.
    """
    stated, back = (each.get(LOADING) for each in (extras, again))
    own, kept = (each if isinstance(each, dict) else {} for each in (stated, back))
    gone = [key for key, value in own.items() if kept.get(key) != value]
    by_files = {
        NETWORK: f"those of the network ({' and '.join(network_files(extras))})",
        LOADING: f"{', '.join(gone)} of {CONFIG}",
    }
    return ", ".join(by_files.get(key, key) for key in keys)


def network_files(extras: Mapping[str, Json]) -> tuple[str, ...]:
    """The files of the network beside a tokenizer, of which some settings were kept."""
    settings = extras.get(NETWORK)
    keys = {*settings} if isinstance(settings, dict) else set[str]()
    if "generation" not in keys:
        return (MODEL_CONFIG,)
    return (*((MODEL_CONFIG,) if len(keys) > 1 else ()), GENERATION)


def merges_words(rewrite: Rewrite) -> Words | None:
    """Why merges have no other form; None where there is one."""
    return None if rewrite.rule is not None else (rewrite.what, rewrite.consequence)


def looked_up_words(trip: RoundTrip, decided: Decided, target: str) -> Words | None:
    """A token that merging does not build, and that only one side finds as a whole pretoken."""
    model = trip.model if trip.model.lookup_first else replace(trip.model, lookup_first=True)
    tokens = sorted(whole_lookups(model), key=model.vocab.ids.__getitem__)
    shown = (decided.witness or "").encode()
    occurring = (t for t in tokens if occurrence(model.pretokenizer or (), t).possible is not False)
    token = shown if shown in tokens else next(occurring, next(iter(tokens), None))
    if token is None:
        return None
    told = f"{show(token)} is a token that no merge builds"
    if not decided.refused:
        return told, "no pretoken is such a token, so no id changes"
    if trip.model.lookup_first:
        what = f"{told}; whole pretokens are looked up"
        return what, f"{target}, and the text would be several tokens"
    return f"{told}, and {target}", "a pretoken that is such a token would be encoded as its id"


def flag_witness(token: AddedToken) -> str | None:
    """A text on which the first of a token's flags does something; None for other flags."""
    if token.lstrip:
        return f" {token.text}"
    if token.rstrip:
        return f"{token.text} "
    return f"a{token.text}" if token.single_word else None


def decide(
    model: BPEModel,
    again: BPEModel,
    differences: Iterable[Difference],
    proved: Collection[str] = (),
) -> tuple[Decided, ...]:
    """Of each field that came back otherwise, whether ids or texts may change by it.

    ``proved``: those of which a theorem of the format says that they change nothing.
    """
    decided: dict[str, Decided] = {}
    asked: dict[str, str] = {}
    for each in differences:
        field, value = each.field, getattr(model, each.field)
        if field in METADATA or field in proved:
            decided[field] = Decided(field, each.how, refused=False)
        elif field in EMPTY and getattr(again, field) is None:
            decided[field] = _unsaid(model, each, same_symbols=model.alphabet == again.alphabet)
        elif field == "added" and without_roles(value) == without_roles(again.added):
            decided[field] = Decided(field, each.how, refused=False)
        elif model.alphabet == "byte" and again.alphabet == "char" and field in _MERGED:
            # Characters of whole texts are merged, not bytes of pretokens: all else goes with it.
            follows = field != "alphabet"
            decided[field] = Decided(field, each.how, not follows, with_alphabet=follows)
        else:
            asked[field] = each.how
    if asked or _other_tables(model, again):
        decided.update(_by_proof(*_both_stated(model, again), asked))
    if "vocab" in asked and not decided["vocab"].refused and _without_meaning(model, again):
        decided["vocab"] = replace(decided["vocab"], refused=True, by_text=True)
    return tuple(decided[field] for field in FIELDS if field in decided)


def _without_meaning(model: BPEModel, again: BPEModel) -> set[int]:
    """The ids that stand for a token, which a network may give, and for nothing afterwards."""
    idle = {n for n, kind in model.vocab.kinds.items() if kind in ("unused", "byte")}
    ours = {n for t, n in model.vocab.ids.items() if t} - idle
    if model.alphabet == again.alphabet:
        there = {(token.text.encode(), token.id) for token in again.added or ()}
        ours &= {n for t, n in model.vocab.ids.items() if (t, n) not in there}
        return ours - {n for t, n in again.vocab.ids.items() if model.vocab.ids.get(t) == n}
    return ours - all_ids(again)


def without_roles(tokens: Iterable[AddedToken] | None) -> list[AddedToken]:
    """Added tokens but for what they are for."""
    return [replace(token, roles=()) for token in tokens or ()]


def _unsaid(model: BPEModel, difference: Difference, *, same_symbols: bool) -> Decided:
    """A field that the target does not state: refused, unless a reader loses nothing by it."""
    field, value = difference.field, getattr(model, difference.field)
    lost = not value.places_nothing if field == "sequence_template" else bool(value)
    lost = lost or field == "pretokenizer"  # a reader takes the pattern that it knows, not none
    if not lost:
        return Decided(field, difference.how, refused=False, unsaid=True)
    stage = None
    if field != "pretokenizer" and (field != "normalizer" or same_symbols):
        one, two = _both_stated(model, replace(model, **{field: EMPTY[field]}))
        stage = _alone(one, two, field)
    return Decided(field, difference.how, refused=True, unsaid=True, stage=stage)


def _both_stated(model: BPEModel, again: BPEModel) -> tuple[BPEModel, BPEModel]:
    """Two models of which each has what only the other states: nothing is lost by silence."""
    sides = []
    for one, two in ((model, again), (again, model)):
        silent = {
            field: empty if getattr(two, field) is None else getattr(two, field)
            for field, empty in EMPTY.items()
            if getattr(one, field) is None
        }
        sides.append(replace(one, **silent) if silent else one)
    return sides[0], sides[1]


@paused()
def _by_proof(one: BPEModel, two: BPEModel, asked: Mapping[str, str]) -> dict[str, Decided]:
    """What the proof of both says of fields, and of what no field says (Unicode tables)."""
    if _other_tables(one, two):
        asked = {"pretokenizer": _TABLES, **asked}
    try:
        open_ = _open(one, two, asked)
    except PatternError as error:  # no text can be cut with it, and no proof reads it
        return {
            field: Decided(
                field, how, refused=True, stage=Stage(_STAGES[field][0], "unknown", error.what)
            )
            for field, how in asked.items()
            if how != _TABLES
        }
    if len(open_) > 1:
        open_ = _each_alone(one, two, open_)
    gone = {*MERGING} - open_.keys() if "alphabet" in open_ else set[Field]()
    return {
        field: Decided(
            field, how, field in open_, stage=open_.get(field), with_alphabet=field in gone
        )
        for field, how in asked.items()
        if how != _TABLES or field in open_
    }


def _open(one: BPEModel, two: BPEModel, asked: Iterable[str]) -> dict[str, Stage]:
    """The fields of which not all stages are proved, each with its worst one."""
    same = over_bytes(one) if one.alphabet == "char" and two.alphabet == "byte" else None
    pair = TwoModels(one, two, most=_MOST)
    # The same ids (Theorem 13).
    merging = pair if same is None else TwoModels(same, two, most=_MOST)
    known = cache(lambda name: _stage(name, merging if name in _OF_MERGING else pair))
    open_: dict[str, Stage] = {}
    for field in asked:
        if field in MERGING and "alphabet" in open_:
            continue  # it goes with the alphabet
        worst = _worst(map(known, _STAGES[field]))
        if worst.outcome == "proved":
            continue
        if field == "alphabet":
            # It shows in most texts, so in one that people know.
            usual = next(filter(pair.differ_in_scope, _USUAL), worst.witness)
            worst = replace(worst, witness=usual)
        open_[field] = worst
    return open_


def _each_alone(one: BPEModel, two: BPEModel, open_: Mapping[str, Stage]) -> dict[str, Stage]:
    """The fields that change ids or texts when nothing else does, each with its own stage."""
    kept: dict[str, Stage] = {}
    whole = TwoModels(one, two, most=_MOST)
    few = [] if open_.keys().isdisjoint(MERGING) else whole.built_once()[:_FEW]
    for field, joint in open_.items():
        other_symbols = field in MERGING and one.alphabet != two.alphabet
        if other_symbols or (field == "vocab" and _merges_lost(one, two)):
            kept[field] = joint
            continue
        try:
            tokens = few if field in MERGING else ()
            alone = _alone(one, two, field, chain.from_iterable(map(whole.texts_of, tokens)))
        except (BpeInteropError, UnicodeDecodeError):
            # What alone is no tokenizer stays.
            kept[field] = replace(joint, witness=None) if field == "decoder" else joint
            continue
        if alone.outcome == "proved":
            continue
        kept[field] = alone
        if field in (*MERGING, "normalizer", "pretokenizer"):
            # What shows a field alone may be hidden by another: a token that is now an added one, a
            # space that one side's normalizer puts before a text, and the other's pre-tokenizer.
            texts = (each for each in (alone.witness, joint.witness) if each is not None)
            if field in MERGING:
                shown = next(filter(whole.differ_in_scope, texts), None)
            else:  # a text that one side cannot encode shows the field, too
                shown = next(filterfalse(whole.equal_in_scope, texts), None)
            kept[field] = replace(joint if alone.witness is None else alone, witness=shown)
    # Where each changes nothing alone, together they may.
    return kept or dict(open_)


def _merges_lost(one: BPEModel, two: BPEModel) -> bool:
    """Whether merges are known to name tokens that the other vocabulary lacks: no tokenizer."""
    lost = as_dict(one.vocab.ids).keys() - as_dict(two.vocab.ids).keys()
    return isinstance(one.merges, PairList) and bool(used_among(one.merges.pairs, lost))


def _alone(one: BPEModel, two: BPEModel, field: str, texts: Iterable[str] = ()) -> Stage:
    """The worst stage of a model and the same with the field of another.

    ``texts``: one that shows a difference spares the proof.
    """
    pair = differing_in(field, one, two, most=_MOST)
    shown = next(filter(pair.differ_in_scope, texts), None)
    if shown is not None:
        return Stage(_STAGES[field][0], "different", "a text shows it", shown)
    return _worst(_stage(name, pair) for name in _STAGES[field])


def _worst(stages: Iterable[Stage]) -> Stage:
    """Of stages the first that differs, else unknown; after one that differs none is asked for."""
    worst: Stage | None = None
    for stage in stages:
        if stage.outcome == "different":
            return stage
        if worst is None or (worst.outcome, stage.outcome) == ("proved", "unknown"):
            worst = stage
    assert worst is not None
    return worst


def _stage(name: str, pair: TwoModels) -> Stage:
    """A stage of the proof, and what texts say where no theorem decides."""
    one, two = pair.a, pair.b
    if name == "decoding" and (joins_pieces(one.decoder) or joins_pieces(two.decoder)):
        return _decoding(one, two)
    stage = stage_of(name, pair)
    if name == "pre-tokenizer" and stage.outcome != "proved":
        return _by_tables(one, two, stage)
    if name == "special tokens" and stage.outcome != "proved":
        return _specials(one, two, stage)
    return stage


def _specials(one: BPEModel, two: BPEModel, stage: Stage) -> Stage:
    """Special tokens, where one side is SentencePiece, which finds none in a text."""
    if not (joins_pieces(one.decoder) or joins_pieces(two.decoder)):
        return stage
    # Nothing is lost where each has its id, and is found as it was by who looks for it.
    there = {token.text: token for token in two.added or ()}
    special = [token for token in one.added or () if token.special]
    late = normalized_matters(special)
    for token in special:
        other = there.get(token.text)
        alike = other and replace(other, roles=token.roles, normalized=token.normalized) == token
        moved = token.normalized and normalize(one.normalizer or (), token.text) != token.text
        if not alike or (other and other.normalized != token.normalized and (late or moved)):
            if other and replace(other, roles=token.roles, longest_first=False) == token:
                return replace(stage, outcome="unknown")  # the order shows beside others only
            return replace(stage, outcome="different", witness=flag_witness(token) or token.text)
    return replace(stage, outcome="proved")


def _decoding(one: BPEModel, two: BPEModel) -> Stage:
    """How ids become text, where one side is SentencePiece."""
    steps = (*(one.decoder or ()), *(two.decoder or ()))
    # It never finds special tokens in a text, so ids that only they give are none of a text's.
    pair = TwoModels(one, two, "ordinary", _MOST)
    stage = decoding_stage(pair)
    if stage.outcome != "unknown" or any(isinstance(s, JoinPieces) and s.charsmap for s in steps):
        return stage
    # No theorem compares its decoder with such a chain of steps; texts do.
    compared = False
    for text in islice(short_strings(), _MOST):
        ids, others = (side.ids(text) for side in pair.in_scope)
        if ids is None or ids != others:
            continue
        compared = True
        left, right = (decoded(side.encoder, ids) for side in pair.in_scope)
        if left != right:
            return replace(stage, outcome="different", witness=text)
    return replace(stage, outcome="proved") if compared else stage


# Unicode tables: Python's ``regex`` has those of another version than other engines, and it takes
# some patterns for others (``text/misreadings.py``). No field says so.

_TABLES = "Python's regex cuts with Unicode tables of another version than the other engine's"


def _other_tables(one: BPEModel, two: BPEModel) -> bool:
    left, right = one.pretokenizer, two.pretokenizer
    if not left or not right or left == right:
        return False
    return any(map(asks_other_tables, left)) is not any(map(asks_other_tables, right))


def _by_tables(one: BPEModel, two: BPEModel, stage: Stage) -> Stage:
    """The stage, which no text refutes, as it is where all engines have the same tables."""
    misread = any(map(_is_misread, (*_cuts(one), *_cuts(two))))
    if stage.outcome != "unknown" or misread or not _other_tables(one, two):
        return stage
    alike = [replace(each, pretokenizer=tuple(map(_ported, _cuts(each)))) for each in (one, two)]
    return stage_of("pre-tokenizer", TwoModels(alike[0], alike[1], most=_MOST))


def _cuts(model: BPEModel) -> tuple[PreTokenizerStep, ...]:
    return model.pretokenizer or ()


def _is_misread(step: PreTokenizerStep) -> bool:
    return (
        isinstance(step, Split) and isinstance(step.pattern, Pattern) and is_misread(step.pattern)
    )


def _ported(step: PreTokenizerStep) -> PreTokenizerStep:
    if (
        isinstance(step, Split)
        and isinstance(step.pattern, Pattern)
        and step.pattern.dialect == "python"
    ):
        return replace(step, pattern=replace(step.pattern, dialect="fancy-regex"))
    return step


def lost_by_tables(model: BPEModel, again: BPEModel, text: str) -> Loss | None:
    """The loss of Unicode tables, where a text has other ids because of them alone."""
    if not _other_tables(model, again):
        return None
    if first_differing_text(model, replace(model, pretokenizer=again.pretokenizer), [text]) is None:
        return None
    consequence = (
        "texts would be cut elsewhere; write out in the pattern which characters are meant"
    )
    return Loss("pretokenizer", "ids", _TABLES, consequence, witness=text)
