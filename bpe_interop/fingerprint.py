"""A fingerprint of what a tokenizer does: sha256 of a normal form, whatever format it came in.

Equal fingerprints mean equal tokenizers: every part of the normal form is a fact from which the
ids follow, and each fact is written in one way only where one is known. Different fingerprints
mean nothing: two merge lists that are proved equal may have two of them, and ``verify`` decides.

- ``text``: what gives an ordinary text its ids. Normalizer; pre-tokenizer, each pattern in the
  preferred spelling of those proved equal to it for this vocabulary; merges in canonical form
  (``docs/theory.md``, Theorem 3); tokens that texts can reach, with their ids; lookup; fallback.
- ``specials``: added tokens, special or not, with the flags that matter.
- ``template``: what is placed around a text, and around a pair.
- ``decoder``: the steps, and each id's content.
- ``all``: of these four.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields, is_dataclass, replace

from .entries import numbered
from .errors import PatternError
from .gc_pause import paused
from .kernel.tables import as_dict
from .merging.canonical import canonical, whole_lookups
from .merging.symbols import textual
from .model import AddedToken, Affixes, BPEModel, Json, checked_model
from .steps import Pattern, Replace, Split
from .text.added_tokens import decoded_text
from .text.patterns import asks_other_tables, parse, translate
from .theory.added_tokens import normalized_matters
from .theory.automata import uncovered
from .theory.cuts import preferred_in
from .theory.equality import base_symbols, system_of
from .theory.pretokens import occurrence
from .theory.symbol_codes import SymbolCodes

PARTS = ("text", "specials", "template", "decoder", "all")
"""The lines of a fingerprint."""


@paused()
def fingerprint(model: BPEModel) -> dict[str, str]:
    """The sha256 (hex) of each part of a model's normal form, by the names in ``PARTS``."""
    checked_model(model, "fingerprint")
    parts: dict[str, Json] = {
        "text": _text(model),
        "specials": _plain(added_of(model)),
        "template": _plain(model.sequence_template),
        "decoder": _decoder(model),
    }
    hashes = {name: _digest(value) for name, value in parts.items()}
    hashes["all"] = _digest([hashes[name] for name in parts])
    return hashes


def added_of(model: BPEModel) -> list[AddedToken] | None:
    """The added tokens as the line ``specials`` has them, by id; None where they are not stated."""
    if model.added is None:
        return None
    # Theorem 18: the pass in which a token is found matters under a normalizer, or where two meet.
    late = bool(model.normalizer) or normalized_matters(model.added)
    return [
        replace(token, roles=(), normalized=token.normalized and late)
        for token in sorted(model.added, key=lambda token: token.id)
    ]


def _digest(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


_LATER = frozenset({"ascii_space", "longest_first"})
"""Fields of added tokens that came after fingerprints were first written: left out where unset,
so that these stay the same."""


def _plain(value: object) -> Json:
    """Steps and the like as JSON that says their type and every field."""
    if is_dataclass(value) and not isinstance(value, type):
        named = {
            f.name: _plain(getattr(value, f.name))
            for f in fields(value)
            if f.name not in _LATER or getattr(value, f.name)
        }
        return {"is": type(value).__name__, **named}
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    if isinstance(value, bytes):
        return value.hex()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"{type(value).__name__} has no normal form")


def _text(model: BPEModel) -> dict[str, Json]:
    looked_up = _looked_up(model)
    return {
        "alphabet": model.alphabet,
        "affixes": _plain(model.affixes),
        "fallback": _plain(model.fallback),
        "normalizer": None
        if model.normalizer is None
        else [_plain(_spelled(step)) for step in model.normalizer],
        "pretokenizer": None
        if model.pretokenizer is None
        else [_split(step, place, model) for place, step in enumerate(model.pretokenizer)],
        "merges": _merges(model),
        "tokens": _tokens(model, looked_up),
        "lookup": _plain(sorted(looked_up)),
    }


def _tokens(model: BPEModel, looked_up: set[bytes]) -> Json:
    """The tokens that texts can reach, with ids and kinds, by id."""
    form, kinds = canonical(model), model.vocab.kinds
    made = {number for number, kind in kinds.items() if kind in ("byte", "user_defined")}
    lone = base_symbols(model)
    if model.affixes != Affixes():
        # A symbol is longer than one character then: all that no merge builds counts.
        lone = textual(model).keys() - form.splits.keys()
    more = {*looked_up, *lone, *numbered(model.vocab.ids, made).values()}
    ids = as_dict(model.vocab.ids)
    return [
        [ids[token], token.hex(), kinds.get(ids[token], "normal")]
        for token in sorted({*form.splits} | more, key=ids.__getitem__)
    ]


def _merges(model: BPEModel) -> Json:
    """Each token with the place of its merge, equal where they are tied, and its two parts.

    With affixes: the number of symbols in its left part, and all its symbols.
    """
    affixes, form = model.affixes, canonical(model)
    rows: list[tuple[int | float, list[Json]]] = []
    if affixes == Affixes():
        priority = as_dict(form.priority)
        rows = [(priority[t], [x.hex(), y.hex()]) for t, (x, y) in form.splits.items()]
    else:
        # Theorem 22: a token may be spelled in two ways, each with a merge of its own.
        system = system_of(model)
        codes = SymbolCodes(affixes, model.alphabet)
        spelled = codes.form(model.merges, system.tokens, model.alphabet, system.base)
        for token, (left, _) in spelled.splits.items():
            symbols: list[Json] = [symbol.hex() for symbol in codes.symbols(token)]
            rows.append((spelled.priority[token], [len(codes.symbols(left)), symbols]))
    places: dict[int | float, int] = {}
    return [[places.setdefault(priority, len(places)), *row] for priority, row in rows]


def _looked_up(model: BPEModel) -> set[bytes]:
    steps = model.pretokenizer
    tokens = whole_lookups(model)
    if steps is None:
        return set(tokens)
    return {token for token in tokens if occurrence(steps, token).possible is not False}


def _spelled(step: object) -> object:
    if isinstance(step, Replace) and isinstance(step.pattern, Pattern):
        try:
            return replace(step, pattern=translate(step.pattern, "oniguruma"))
        except PatternError:
            return step
    return step


def _split(step: object, place: int, model: BPEModel) -> Json:
    """A step, patterns in the preferred spelling; one form for "the matches are the pretokens"."""
    if not isinstance(step, Split) or not isinstance(step.pattern, Pattern):
        return _plain(step)
    try:
        pattern = preferred_in(model, step, place, "oniguruma")
        covers = uncovered(parse(pattern)) is None
    except PatternError:
        return _plain(step)
    if asks_other_tables(step):
        return {"tables": "regex", "split": _plain(replace(step, pattern=pattern))}
    matches = step.invert if step.behavior == "removed" else step.behavior == "isolated"
    if covers and matches:
        return {"matches": pattern.source}
    return _plain(Split(pattern, step.behavior, step.invert))


def _decoder(model: BPEModel) -> dict[str, Json]:
    added: dict[int, Json] = {
        token.id: decoded_text(token, model.normalizer or ())
        for token in reversed(model.added or ())
    }
    steps = None if model.decoder is None else [_plain(step) for step in model.decoder]
    contents = {**{n: token.hex() for token, n in model.vocab.ids.items()}, **added}
    return {"steps": steps, "ids": [[number, contents[number]] for number in sorted(contents)]}
