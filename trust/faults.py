"""Formats with one deliberate fault each: a law must catch every one of them.

A fault is at one of three stages. A *writer* has it when it writes a changed model; a *writer
abroad* only where the model is another format's, which has losses that could hide it; a *reader*
when it changes what it read. What a fault changes comes back otherwise, so it is a loss like any
other: the committed table of decisions sees it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import click

from bpe_interop.diff import diff
from bpe_interop.errors import BpeInteropError, InvalidModelError
from bpe_interop.formats import Files, Format, all_formats, by_name
from bpe_interop.model import Affixes, BPEModel, Fallback, PairList, RankTable, SequenceTemplate
from bpe_interop.testing.laws import BrokenError, LawCase, LawSource, comparable, home

from . import laws
from .page import made_of, put, table, write_option

Change: TypeAlias = Callable[[BPEModel], "BPEModel | None"]
Stage: TypeAlias = Literal["writer", "writer abroad", "reader"]
Where: TypeAlias = Literal["passing", "refused", "nowhere"]
STAGES: tuple[Stage, ...] = ("writer", "writer abroad", "reader")


def _rebuilt(model: BPEModel, ids: dict[bytes, int]) -> BPEModel:
    """The model with these tokens only, and the merges that they leave."""
    if isinstance(model.merges, RankTable):
        merges: RankTable | PairList = RankTable(
            {token: rank for token, rank in model.merges.ranks.items() if token in ids}
        )
    else:
        cut = len(model.affixes.prefix)
        merges = PairList(
            tuple(
                (one, two)
                for one, two in model.merges.pairs
                if one in ids and two in ids and one + two[cut:] in ids
            )
        )
    return replace(model, vocab=replace(model.vocab, ids=ids), merges=merges)


def drop_token(model: BPEModel) -> BPEModel | None:
    """Forgets the last token that merges build."""
    built = _built(model)
    if not built:
        return None
    ids = {token: number for token, number in model.vocab.ids.items() if token != built[-1]}
    return _rebuilt(model, ids)


def drop_long_tokens(model: BPEModel) -> BPEModel | None:
    """Forgets every token that merges build of more than four bytes."""
    long = {token for token in _built(model) if len(token) > 4}
    ids = {token: number for token, number in model.vocab.ids.items() if token not in long}
    return _rebuilt(model, ids) if long else None


def drop_merge(model: BPEModel) -> BPEModel | None:
    """Forgets the first merge that can be, and keeps its token."""
    rule = model.merges
    if isinstance(rule, PairList):
        return replace(model, merges=PairList(rule.pairs[1:])) if rule.pairs else None
    built = _built(model)
    if not built or rule.ranks == model.vocab.ids:
        return None
    return replace(
        model,
        merges=RankTable({t: rank for t, rank in rule.ranks.items() if t != built[0]}),
    )


def swap_merges(model: BPEModel) -> BPEModel | None:
    """Exchanges the priorities of the first and the last merge."""
    rule = model.merges
    if isinstance(rule, PairList):
        first, *between, last = rule.pairs
        return replace(model, merges=PairList((last, *between, first)))
    built = _built(model)
    if len(built) < 2:
        return None
    ranks = dict(rule.ranks)
    ranks[built[0]], ranks[built[-1]] = ranks[built[-1]], ranks[built[0]]
    return replace(model, merges=RankTable(ranks))


def _built(model: BPEModel) -> list[bytes]:
    """The tokens of several symbols, in the order of their priority."""
    rule = model.merges
    if isinstance(rule, RankTable):
        long = [token for token in rule.ranks if len(token) > 1]
        return sorted(long, key=rule.ranks.__getitem__)
    cut = len(model.affixes.prefix)
    return list(dict.fromkeys(one + two[cut:] for one, two in rule.pairs))


def shift_id(model: BPEModel) -> BPEModel | None:
    """Exchanges the ids of two tokens, which have no kinds: those go by id."""
    ids = dict(model.vocab.ids)
    built = [token for token in _built(model) if ids[token] not in model.vocab.kinds]
    if len(built) < 2:
        return None
    one, two = built[0], built[-1]
    ids[one], ids[two] = ids[two], ids[one]
    return replace(model, vocab=replace(model.vocab, ids=ids))


def drop_special(model: BPEModel) -> BPEModel | None:
    """Forgets every special token."""
    if not any(token.special for token in model.added or ()):
        return None
    plain = tuple(token for token in model.added or () if not token.special)
    return replace(model, added=plain)


def shift_special(model: BPEModel) -> BPEModel | None:
    """Gives the last added token the next id."""
    if not model.added:
        return None
    *others, last = sorted(model.added, key=lambda token: token.id)
    taken = {*model.vocab.ids.values(), *(token.id for token in others)}
    number = next(number for number in count(last.id + 1) if number not in taken)
    return replace(model, added=(*others, replace(last, id=number)))


def flip(flag: str) -> Change:
    """Turns one flag of every added token off, where one has it."""

    def change(model: BPEModel) -> BPEModel | None:
        off: dict[str, Any] = {flag: False}
        added = tuple(replace(token, **off) for token in model.added or ())
        return replace(model, added=added) if added != (model.added or ()) else None

    change.__doc__ = f"Forgets that added tokens are {flag}."
    return change


def drop_roles(model: BPEModel) -> BPEModel | None:
    """Forgets what special tokens are for."""
    added = tuple(replace(token, roles=()) for token in model.added or ())
    return replace(model, added=added) if added != (model.added or ()) else None


def forget(field: str, value: Any) -> Change:
    """Forgets a field."""

    def change(model: BPEModel) -> BPEModel | None:
        kept = getattr(model, field)
        forgotten: dict[str, Any] = {field: value}
        return None if kept is None or kept == value else replace(model, **forgotten)

    change.__doc__ = f"Forgets the {field.replace('_', ' ')}."
    return change


def drop_kinds(model: BPEModel) -> BPEModel | None:
    """Forgets the kinds of tokens."""
    return replace(model, vocab=replace(model.vocab, kinds={})) if model.vocab.kinds else None


def negate_scores(model: BPEModel) -> BPEModel | None:
    """Forgets the sign of scores; where the merges follow from them, these are turned round."""
    scores = {number: -score for number, score in model.vocab.scores.items()}
    return replace(model, vocab=replace(model.vocab, scores=scores)) if any(scores) else None


def drop_last_step(field: str) -> Change:
    """Forgets the last step of several."""

    def change(model: BPEModel) -> BPEModel | None:
        steps = getattr(model, field) or ()
        fewer: dict[str, Any] = {field: steps[:-1]}
        return replace(model, **fewer) if len(steps) > 1 else None

    change.__doc__ = f"Forgets the last step of the {field}."
    return change


FAULTS: Mapping[str, Change] = MappingProxyType(
    {
        "drop a token": drop_token,
        "drop long tokens": drop_long_tokens,
        "drop a merge": drop_merge,
        "swap two merges": swap_merges,
        "swap two ids": shift_id,
        "drop special tokens": drop_special,
        "shift an added id": shift_special,
        "forget special": flip("special"),
        "forget lstrip": flip("lstrip"),
        "forget rstrip": flip("rstrip"),
        "forget single_word": flip("single_word"),
        "forget normalized": flip("normalized"),
        "forget roles": drop_roles,
        "forget kinds": drop_kinds,
        "negate scores": negate_scores,
        "forget the affixes": forget("affixes", Affixes()),
        "forget the lookup": forget("lookup_first", False),
        "forget the fallback": forget("fallback", Fallback()),
        "forget the normalizer": forget("normalizer", ()),
        "forget a normalizer": drop_last_step("normalizer"),
        "forget the pattern": forget("pretokenizer", ()),
        "forget a pre-tokenizer": drop_last_step("pretokenizer"),
        "forget the template": forget("sequence_template", SequenceTemplate()),
        "forget a decoder": drop_last_step("decoder"),
        "forget the decoder": forget("decoder", ()),
        "forget the chat template": forget("chat_template", None),
        "forget the settings": forget("extras", {}),
    }
)
"""What a faulty writer or reader does to a model. None: this model has nothing of the kind."""


def changed(change: Change, model: BPEModel) -> BPEModel | None:
    """A model with a fault; None where it is the same tokenizer, or none at all."""
    try:
        return change(model)
    except InvalidModelError:
        return None


def _struck(row: Format, stage: Stage, change: Change, model: BPEModel) -> BPEModel | None:
    """What a faulty writer takes a model for; None where it has no fault."""
    if stage == "writer abroad" and model.origin.format == row.name:
        return None
    return changed(change, model)


def mutant(row: Format, stage: Stage, change: Change) -> Format:
    """The format with a fault in its writer or its reader."""
    if stage != "reader":
        return replace(
            row, dump=lambda model: row.dump(_struck(row, stage, change, model) or model)
        )

    def load(files: Files) -> BPEModel:
        model = row.load(files)
        return changed(change, model) or model

    return replace(row, load=load)


def shows(row: Format, stage: Stage, change: Change, sources: Iterable[LawSource]) -> Where:
    """Where a fault shows: in files that a writer gives, or a model that is read.

    A model with a fault may be written as before, or be the same tokenizer. ``refused``: only in
    conversions that the gate refuses, where the loss of what is changed is named anyway.
    """
    where: Where = "nowhere"
    for source in sources:
        if stage == "reader":
            if source.format.name != row.name or source.told:
                continue
            other = changed(change, source.model)
            if other is not None and diff(source.model, other):
                return "passing"
            continue
        case = LawCase(source, row)
        other = _struck(row, stage, change, source.model)
        if other is None or not case.writable or _written(row, other) == case.trip.files:
            continue
        if comparable(case):
            return "passing"
        where = "refused"
    return where


def _written(row: Format, model: BPEModel) -> Files:
    """What is written of a model with a fault; nothing where the writer fails."""
    try:
        return row.dump(model)
    except BpeInteropError:
        return {}


def caught_by(row: Format, stage: Stage, change: Change, sources: Iterable[LawSource]) -> str:
    """The first law that a faulty format breaks; empty where it passes all of them.

    What fails with another error than a law's is caught as well, by the law that was run.
    """
    faulty = mutant(row, stage, change)
    for law, hold in _held(faulty, list(sources)):
        try:
            hold()
        except (BrokenError, BpeInteropError, LookupError, ValueError):
            return law
    return ""


def _held(faulty: Format, sources: list[LawSource]) -> Iterator[tuple[str, Callable[[], None]]]:
    """Every law on every case that a faulty format has a part in."""
    own = [
        replace(source, format=faulty) for source in sources if source.format.name == faulty.name
    ]
    cases = [LawCase(source, faulty) for source in [*own, *sources]]
    for source in own:
        if not source.told:
            yield "home", partial(home, source)
            yield "repeated", partial(laws.repeated, source)
    least = {pair: most for pair, most in laws.LEAST_COMPARED.items() if pair[1] == faulty.name}
    yield "enough", lambda: laws.enough(filter(comparable, cases[len(own) :]), least)
    for name, law in laws.LAWS.items():
        for case in cases:
            if comparable(case) if name == "same ids" else case.writable:
                yield name, partial(law, case)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a fault: where it shows, and the law that caught it, if one did."""

    format: str
    stage: Stage
    fault: str
    where: Where
    law: str

    @property
    def missed(self) -> bool:
        """Whether it shows in a conversion that passes, and no law caught it."""
        return self.where == "passing" and not self.law


def run(
    rows: Iterable[Format] | None = None,
    faults: Iterable[str] | None = None,
    stages: Iterable[Stage] = STAGES,
) -> Iterator[Outcome]:
    """Each fault that shows, in each stage of each format, and what caught it."""
    known = laws.sources()
    wanted = list(FAULTS if faults is None else faults)
    for row in all_formats() if rows is None else rows:
        for stage in stages:
            for fault in wanted:
                where = shows(row, stage, FAULTS[fault], known)
                if where != "nowhere":
                    law = caught_by(row, stage, FAULTS[fault], known)
                    yield Outcome(row.name, stage, fault, where, law)


def lines_of(outcomes: Iterable[Outcome]) -> list[str]:
    """A table: faults down, stages of formats across, in each cell the law that caught it."""
    found = {
        (each.fault, each.format, each.stage): each.law
        or ("**none**" if each.missed else "(refused)")
        for each in outcomes
    }
    columns = list(dict.fromkeys((format, stage) for _, format, stage in found))
    faults = [fault for fault in FAULTS if any(fault == key[0] for key in found)]
    head = ["fault", *(f"{format}, {stage}" for format, stage in columns)]
    return table(head, ([f, *(found.get((f, *column), "") for column in columns)] for f in faults))


@click.command()
@click.option("--format", "name", help="Only this format.")
@write_option
def faults(name: str | None, page: Path | None) -> None:
    """Break formats on purpose, and see which law catches each fault."""
    began = time.perf_counter()
    rows = [by_name(name)] if name else all_formats()
    outcomes = []
    for outcome in run(rows):
        outcomes.append(outcome)
        said = outcome.law or ("NOT CAUGHT" if outcome.missed else "only where refused")
        click.echo(f"{outcome.format} {outcome.stage}: {outcome.fault}: {said}", err=True)
    missed = [each for each in outcomes if each.missed]
    refused = [each for each in outcomes if not each.law and not each.missed]
    made = made_of("faults", time.perf_counter() - began, {"format": name} if name else {})
    said = (
        f"{len(outcomes)} faults, {len(missed)} not caught, {len(refused)} more that show only in "
        "conversions that are refused."
    )
    put(page, "faults", [*made, "", said, "", *lines_of(outcomes)])
    if missed:
        raise SystemExit(1)
