"""What there is to know about a tokenizer, as plain data: the shape of ``inspect --json``.

::

    source, format      what was named, and the format that it was read as
    files               names to sha256
    in_part             those of the files of which only a part is read
    unread_keys         of tokenizer_config.json, by name of the file: keys that nothing here reads
    not_read            names of other tokenizer files in the same directory
    others              names of all other files there
    alphabet, affixes   "byte" or "char"; {prefix, suffix}, glued to symbols before merging
    tokens              how many, added tokens aside
    ids                 smallest, largest, holes (ids between 0 and largest without a token; how
                        many), first_hole; added tokens are counted
    rows                of the model's embedding, where a config.json declares them: declared,
                        used (ids with a token), padding (rows after the largest id), beyond
                        (ids that have no row); else null
    merges              rule ("ranks" or "pairs"), listed (pairs in the file, null for ranks),
                        firing (how many can ever be used), in_order (no token is merged before
                        its own parts)
    unreachable         tokens that no merge builds: count, whole (they are found as whole
                        pretokens), tokens
    missing_bytes       bytes of UTF-8 that no token stands for; null for characters
    fallback            what becomes of a symbol without a token: missing, unknown, fuse,
                        byte_fallback, after_merging
    normalizer, pretokenizer, decoder
                        lists of steps {"type": ..., its settings}, null where unsaid
    added               {text, id, special, lstrip, rstrip, single_word, normalized, roles}, or null
    roles               {role, text, id}
    sequence_template   {single, pair}, or null
    chat_template, extras
    unsaid              names of the fields that the source does not state
    encoding            who encodes with our own encoder here: by ("native", "python"), because (why
                        it is not the native kernel, or not it alone; empty where it is)
    particulars         what is peculiar to the format, by name; of GGUF: pre (name, lookup_first,
                        bos, cleans, patterns, equal, by), what llama.cpp does under its name and
                        which names are proved to be the same splitter
    presets             presets that can state what is unsaid
    unicode             version, and the engines' versions that it was measured from
    served              what transformers' AutoTokenizer runs: class (null where it is not known
                        here), because, other (fields in which it is not what is read here),
                        notes; null where there is no tokenizer.json
    notes               sentences for people

A token is {"id", "hex", "text"}; text is null where its bytes are not UTF-8. Other bytes are told
by their number and sha256.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from hashlib import sha256
from typing import Any

from ..encode.plan import plan_of
from ..engines.transformers import served_facts
from ..io.reader import TokenizerSource
from ..merging.canonical import canonical
from ..model import FIELDS, BPEModel, PairList, all_ids, text_of
from ..presets import candidates
from ..strict_json import parse
from ..text.unicode import UNICODE_TABLES
from ..theory.utf8 import missing_bytes
from ..tokenizer_config import CONFIG, unread_keys
from ..usage_notes import usage_notes

_IN_PART = {"config.json", "generation_config.json"}
"""Files of the network, of which only the rows and the ids of roles are read."""


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


def facts_of(loaded: TokenizerSource[BPEModel]) -> dict[str, Any]:
    """All facts about a source, in the shape above."""
    model = loaded.model
    return {
        "source": loaded.label,
        "format": loaded.format.name,
        "files": dict(model.origin.files),
        "in_part": sorted(_IN_PART & model.origin.files.keys()),
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
        "fallback": asdict(model.fallback),
        "normalizer": _steps(model.normalizer),
        "pretokenizer": _steps(model.pretokenizer),
        "decoder": _steps(model.decoder),
        "added": None if model.added is None else [asdict(token) for token in model.added],
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


def token(content: bytes, number: int) -> dict[str, Any]:
    """A token as plain data; any bytes can be told."""
    return {"id": number, "hex": content.hex(), "text": text_of(content)}


def _affixes(model: BPEModel) -> dict[str, Any]:
    return {name: text_of(content) for name, content in asdict(model.affixes).items()}


def _ids(model: BPEModel) -> dict[str, Any]:
    ids = all_ids(model)
    holes = max(ids) + 1 - len(ids)
    first = next(number for number in range(max(ids)) if number not in ids) if holes else None
    return {"smallest": min(ids), "largest": max(ids), "holes": holes, "first_hole": first}


def _rows(model: BPEModel) -> dict[str, Any] | None:
    config = model.extras.get("model_config")
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


def _merges(model: BPEModel) -> dict[str, Any]:
    rule, form = model.merges, canonical(model)
    listed = len(rule.pairs) if isinstance(rule, PairList) else None
    return {
        "rule": "ranks" if listed is None else "pairs",
        "listed": listed,
        "firing": len(form.splits),
        "in_order": form.monotone,
    }


def _unreachable(model: BPEModel) -> dict[str, Any]:
    ids = model.vocab.ids
    contents = sorted(canonical(model).unreachable, key=lambda content: ids[content])
    return {
        "count": len(contents),
        "whole": model.lookup_first,
        "tokens": [token(content, ids[content]) for content in contents],
    }


def _steps(steps: Iterable[Any] | None) -> list[dict[str, Any]] | None:
    if steps is None:
        return None
    return [{"type": type(step).__name__, **_settings(asdict(step))} for step in steps]


def _settings(settings: dict[str, Any]) -> dict[str, Any]:
    return {
        name: {"bytes": len(value), "sha256": sha256(value).hexdigest()}
        if isinstance(value, bytes)
        else value
        for name, value in settings.items()
    }


def _template(model: BPEModel) -> dict[str, Any] | None:
    template = model.sequence_template
    return None if template is None else asdict(template)


def _encoding(model: BPEModel) -> dict[str, str]:
    plan = plan_of(model)
    return {"by": "python" if plan.part is None else "native", "because": plan.why_not}
