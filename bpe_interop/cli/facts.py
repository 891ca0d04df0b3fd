"""What there is to know about a tokenizer: what ``inspect`` shows, and prints with ``--json``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from hashlib import sha256
from typing import TYPE_CHECKING, Any, cast

from ..encode.plan import plan_of
from ..engines.transformers import served_facts
from ..formats.names import GENERATION, MODEL_CONFIG
from ..io.reader import TokenizerSource
from ..merging.canonical import canonical
from ..model import FIELDS, NETWORK, BPEModel, PairList, all_ids, text_of
from ..presets import candidates
from ..strict_json import parse
from ..text.unicode import UNICODE_TABLES
from ..theory.utf8 import missing_bytes
from ..tokenizer_config import CONFIG, unread_keys
from ..usage_notes import usage_notes

if TYPE_CHECKING:
    from . import documents

_IN_PART = {MODEL_CONFIG, GENERATION}
"""Files of the network, of which only the rows and the ids of roles are read."""


def _in_part(name: str, loaded: TokenizerSource[BPEModel]) -> bool:
    # Of a file with a head, only that is read, and the sha256 is that of the head.
    beside = name.endswith((".json", ".jinja"))
    return name in _IN_PART or (bool(loaded.format.names.head) and not beside)


def _others(loaded: TokenizerSource[BPEModel]) -> list[str]:
    """The files of a source's folder that were not read, and are no tokenizer that was passed over.

    Names that begin with a dot are left out.
    """
    folder = loaded.directory
    if folder is None or not folder.is_dir():
        return []
    read = {*loaded.model.origin.files, *loaded.files, *loaded.twins}
    names = (path.name for path in folder.iterdir() if path.is_file())
    return sorted(name for name in names if name not in read and not name.startswith("."))


def _unread_keys(loaded: TokenizerSource[BPEModel]) -> dict[str, list[str]]:
    files = {**loaded.files, **loaded.beside}
    stated = parse(files[CONFIG], CONFIG).be(dict) if CONFIG in files else {}
    given = [key for key, value in stated.items() if value is not None]
    keys = [*unread_keys(given, loaded.format.name)]
    return {CONFIG: keys} if keys else {}


def facts_of(loaded: TokenizerSource[BPEModel]) -> documents.Inspection:
    """All facts about a source."""
    model = loaded.model
    return {
        "source": loaded.label,
        "format": loaded.format.name,
        "files": dict(model.origin.files),
        "in_part": sorted(name for name in model.origin.files if _in_part(name, loaded)),
        "unread_keys": _unread_keys(loaded),
        "not_read": list(loaded.twins),
        "others": _others(loaded),
        "alphabet": model.alphabet,
        "affixes": _affixes(model),
        "tokens": len(model.vocab.ids),
        "ids": _ids(model),
        "rows": _rows(model),
        "merges": _merges(model),
        "unreachable": _unreachable(model),
        "missing_bytes": (
            sorted(missing_bytes(model.vocab.ids)) if model.alphabet == "byte" else None
        ),
        "fallback": model.fallback,
        "normalizer": _steps(model.normalizer),
        "pretokenizer": _steps(model.pretokenizer),
        "decoder": _steps(model.decoder),
        "added": None if model.added is None else [*model.added],
        "roles": [
            {"role": role, "text": token.text, "id": token.id}
            for token in model.added or ()
            for role in token.roles
        ],
        "sequence_template": _template(model),
        "chat_template": model.chat_template,
        "extras": dict(model.extras),
        "unsaid": [name for name in FIELDS if getattr(model, name) is None],
        "encoding": _encoding(model),
        "particulars": dict(loaded.format.particulars(model)),
        "presets": candidates(model) if model.pretokenizer is None or model.added is None else [],
        "unicode": {"version": UNICODE_TABLES.unicode, "engines": dict(UNICODE_TABLES.engines)},
        "served": served_facts(loaded.files, model, loaded.directory),
        "notes": [*model.origin.notes, *usage_notes(model)],
    }


def token(content: bytes, number: int) -> documents.TokenFacts:
    return {"id": number, "hex": content.hex(), "text": text_of(content)}


def _affixes(model: BPEModel) -> documents.AffixFacts:
    return {"prefix": text_of(model.affixes.prefix), "suffix": text_of(model.affixes.suffix)}


def _ids(model: BPEModel) -> documents.IdRange:
    ids = all_ids(model)
    holes = max(ids) + 1 - len(ids)
    first = next(number for number in range(max(ids)) if number not in ids) if holes else None
    return {"smallest": min(ids), "largest": max(ids), "holes": holes, "first_hole": first}


def _rows(model: BPEModel) -> documents.RowFacts | None:
    config = model.extras.get(NETWORK)
    declared = config.get("vocab_size") if isinstance(config, dict) else None
    if not isinstance(declared, int):
        return None
    ids = all_ids(model)
    return {
        "declared": declared,
        "used": sum(number < declared for number in ids),
        "padding": max(0, declared - 1 - max(ids)),
        "beyond": sum(number >= declared for number in ids),
    }


def _merges(model: BPEModel) -> documents.MergeFacts:
    rule, form = model.merges, canonical(model)
    listed = len(rule.pairs) if isinstance(rule, PairList) else None
    return {
        "rule": "ranks" if listed is None else "pairs",
        "listed": listed,
        "firing": len(form.splits),
        "in_order": form.monotone,
    }


def _unreachable(model: BPEModel) -> documents.Unreachable:
    ids = model.vocab.ids
    contents = sorted(canonical(model).unreachable, key=lambda content: ids[content])
    return {
        "count": len(contents),
        "whole": model.lookup_first,
        "tokens": [token(content, ids[content]) for content in contents],
    }


def _steps(steps: Iterable[Any] | None) -> list[documents.StepFacts] | None:
    if steps is None:
        return None
    written = [{"type": type(step).__name__, **_settings(asdict(step))} for step in steps]
    return cast("list[documents.StepFacts]", written)


def _settings(settings: dict[str, Any]) -> dict[str, Any]:
    return {
        name: {"bytes": len(value), "sha256": sha256(value).hexdigest()}
        if isinstance(value, bytes)
        else value
        for name, value in settings.items()
    }


def _template(model: BPEModel) -> documents.TemplateFacts | None:
    template = model.sequence_template
    return None if template is None else cast("documents.TemplateFacts", asdict(template))


def _encoding(model: BPEModel) -> documents.EncodingFacts:
    plan = plan_of(model)
    return {"by": "python" if plan.part is None else "native", "because": plan.why_not}
