"""What famous vocabulary files leave unsaid: the pattern and the special tokens.

A rank file and a GPT-2 pair hold neither. A preset may supply them, by the name a user gave or
by the sha256 of the files, and never against what a source states. One file may serve several
presets (o200k_base and o200k_harmony): then only what all of them agree on is supplied.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from ..entries import numbered
from ..errors import PatternError, SourceError
from ..model import (
    BPEModel,
    RankTable,
    without_numbering,
)
from ..openai_encodings import MODEL_TO_ENCODING
from ..quoting import show
from ..steps import Pattern, Split
from ..tokenizer_config import CONFIG
from .table import (
    FAMILIES,
    NFC_LEFT_OUT,
    NORMALIZERS,
    PRESETS,
    SUFFIX,
    ModelFamily,
    OwnPreset,
    Preset,
)

__all__ = [
    "NFC_LEFT_OUT",
    "NORMALIZERS",
    "PRESETS",
    "SUFFIX",
    "OwnPreset",
    "Preset",
    "by_name",
    "by_sha256",
    "candidates",
    "fill",
    "fill_template",
    "telling_apart",
    "template_notes",
    "ways_to_say",
    "with_template",
]


def by_name(name: str) -> Preset:
    """The preset of this name, or the one that a JSON text says (a user's own, carried).

    Raises:
        SourceError: there is none; the message lists the names.
        FormatError: the text is no preset.
    """
    if name.startswith("{"):
        from .own import read_preset  # most have no such preset, and wait for no reader of JSON

        return read_preset(name.encode(), "the preset")
    preset = PRESETS.get(name)
    if preset is None:
        raise SourceError(
            f"there is no preset {show(name)}", fix=f"{_meant(name)}presets: {', '.join(PRESETS)}"
        )
    return preset


def _meant(name: str) -> str:
    """Which preset was probably meant.

    One of another version is no misspelling of a name: its tokens may be others.
    """
    import difflib

    for pattern, preset, why in _KNOWN_AS:
        if re.fullmatch(pattern, name.lower()):
            return f"name {preset}: {why}; "
    encoding = MODEL_TO_ENCODING.get(name.lower())
    if encoding is not None:
        return f"name {encoding}, which {name} has; "
    if any(name.lower() == family.name for family in FAMILIES):
        return (
            "a .model states its tokens itself, and only its template may be unsaid: convert takes "
            "--template, and all commands read a tokenizer_config.json beside it (add_bos_token); "
        )
    near = next(iter(difflib.get_close_matches(name.lower(), PRESETS, n=1, cutoff=0.5)), "")
    if near and _numbers(near) != _numbers(name) and _letters(near) == _letters(name.lower()):
        return f"{near} is another version, whose tokens may be others; "
    return f"did you mean {near}? " if near else ""


_KNOWN_AS = (
    (r"llama-?3\.2", "llama-3.1", "its tokens are those of the tokenizer.json of Llama 3.2"),
    (r"gpt-oss.*", "o200k_harmony", "tiktoken has it for gpt-oss"),
)
"""Names of models that have the tokenizer of a preset with another name, and how that is known."""


def _numbers(name: str) -> str:
    return re.sub(r"\D", "", name)


def _letters(name: str) -> str:
    return re.sub(r"[\d._-]", "", name)


def by_sha256(hashes: Iterable[str]) -> list[Preset]:
    """The presets whose vocabulary files are all among these (sha256, hex)."""
    present = set(hashes)
    return [p for p in PRESETS.values() if any(files <= present for files in p.files)]


def candidates(model: BPEModel) -> list[str]:
    """Names of the presets whose files this model was read from."""
    return [preset.name for preset in by_sha256(model.origin.files.values())]


def telling_apart(names: Iterable[str]) -> str:
    """What tells presets of the same files apart, a line for each.

    That is roles, the first added token that differs, and where each was published.
    """
    presets = [PRESETS[name] for name in names]
    differences = [f"{preset.name} has {len(preset.added):,} added tokens" for preset in presets]
    tokens = [{token.id: token.text for token in preset.added} for preset in presets]
    for number in sorted(set().union(*tokens)):
        held = [texts.get(number) for texts in tokens]
        if len(set(held)) > 1:
            break
    else:
        held = []
    for at, text in enumerate(held):
        differences[at] += f", {number} is {'no token' if text is None else show(text)}"
    for at, preset in enumerate(presets):
        for role in dict.fromkeys(role for each in presets for role in each.roles):
            text = preset.roles.get(role)
            if any(other.roles.get(role) != text for other in presets):
                differences[at] += f", {role} is {'not stated' if text is None else show(text)}"
    lines = zip(differences, presets, strict=True)
    return "\n".join(f"    {each}; from {preset.source}" for each, preset in lines)


def ways_to_say(model: BPEModel, preset: str = "--preset (preset=...)") -> str:
    """How to supply what a source leaves unsaid; ``preset`` is the option to name one with."""
    known = candidates(model)
    if known:
        return (
            f"name one of {', '.join(known)} with {preset}; these files fit all of them:\n"
            f"{telling_apart(known)}"
        )
    way = f"name a preset with {preset}, or a JSON file of your own that says it"
    if isinstance(model.merges, RankTable):
        way += ", or put a sidecar file beside the source"
    elif beside := [name for name in (CONFIG, "added_tokens.json") if name in model.origin.files]:
        from ..transformers_classes import SAVE_ANEW, of_a_pair  # sentences alone, of a large table

        stated = (model.origin.settings or {}).get("tokenizer_class")
        if isinstance(stated, str):
            way = f"{of_a_pair(stated)}; or {way}"
        else:
            way = f"for what transformers makes of {' and '.join(beside)}: {SAVE_ANEW}; or {way}"
    return f"{way}; no preset knows these files by their sha256; there are {', '.join(PRESETS)}"


def with_template(model: BPEModel) -> list[str]:
    """Names of the presets that say what is placed around texts, and may be named for a model.

    They are those of the model's files; where no preset knows these, those that contradict
    nothing that the model states.
    """
    known = by_sha256(model.origin.files.values())
    stating = [preset for preset in known or PRESETS.values() if preset.template is not None]
    return [preset.name for preset in stating if known or not _clash(model, preset)]


def fill(model: BPEModel, preset: Preset | None = None, where: str = "") -> BPEModel:
    """Supplies what a model leaves unsaid (``None``), and overwrites nothing.

    Without a preset, the sha256 of the model's files decide, and what several presets of these
    files disagree on stays unknown. Entries of the vocabulary that only number a special token
    are taken out of it. ``where`` is what errors call the source.

    Raises:
        SourceError: the preset contradicts what the model states.
    """
    known = by_sha256(model.origin.files.values())
    if preset is not None:
        _check(model, preset, where)
        filled = _supply(model, [preset], f"the preset {preset.name} ({preset.source})")
        others = [each for each in known if each.added != preset.added]
        if preset in known and others and model.added is None:
            note = (
                f"these files are published with {_names(others)} too, whose special tokens are "
                "others: if your model is one of those, name it with --preset (preset=...)"
            )
        elif not known or preset in known or preset.name not in PRESETS:
            return filled
        else:
            note = f"by sha256 these files are of {_names(known)}, not of the preset {preset.name}"
        origin = filled.origin
        return replace(filled, origin=replace(origin, notes=(*origin.notes, note)))
    if not known:
        return model
    return _supply(model, known, f"the files' sha256, known as {_names(known)}")


def fill_template(model: BPEModel) -> BPEModel:
    """With what is known to stand around a text, where neither a ``.model`` nor its folder says it.

    Nobody states it there, so what a user says comes before.
    """
    family = _family(model)
    if model.sequence_template is not None or family is None:
        return model
    notes = (*model.origin.notes, *template_notes(model))
    return replace(
        model, sequence_template=family.template, origin=replace(model.origin, notes=notes)
    )


def template_notes(model: BPEModel) -> tuple[str, ...]:
    """What :func:`fill_template` says of the files of a model; it does not hold of a stated one."""
    family = _family(model)
    if family is None:
        return ()
    notes = [
        f"the sequence template is that of {family.name} ({family.source}), whose file has the "
        "same sha256",
        *filter(None, [family.note]),
    ]
    if CONFIG in model.origin.files:
        from ..transformers_classes import LOWEST, TRANSFORMERS  # waits for JSON

        notes.append(
            f"{CONFIG} does not say add_bos_token: {TRANSFORMERS} then places nothing "
            f"around a text, and the LlamaTokenizer of {LOWEST} a BOS; where it says true, "
            "both place one"
        )
    return tuple(notes)


def _family(model: BPEModel) -> ModelFamily | None:
    return next((each for each in FAMILIES if each.file in model.origin.files.values()), None)


def _supply(model: BPEModel, presets: list[Preset], because: str) -> BPEModel:
    first = presets[0]
    pretokenizer, added = model.pretokenizer, model.added
    vocab, template, normalizer = model.vocab, model.sequence_template, model.normalizer
    supplied: list[str] = []
    notes: list[str] = []
    if pretokenizer is None and all(p.pattern == first.pattern for p in presets):
        pretokenizer = first.pretokenizer
        supplied.append("the pre-tokenizer")
    listed = [p.added for p in presets if p.says_added] if added is None else []
    if listed and listed.count(listed[0]) == len(listed):
        added, vocab = listed[0], without_numbering(model, listed[0])
        supplied.append("the added tokens")
    elif listed:
        notes.append(
            "tokenizers with these files have different special tokens: they stay unknown until "
            "one is named"
        )
    if normalizer is None and all(p.normalizer == first.normalizer for p in presets):
        normalizer = first.normalizer
    if template is None and all(p.template == first.template for p in presets):
        template = first.template
        if template is not None:
            supplied.append("the sequence template")
    if supplied:
        *most, last = supplied
        what = f"{', '.join(most)} and {last}" if most else last
        notes.insert(0, f"{what} supplied by {because}")
        if not normalizer and any(p.normalizer for p in presets):
            notes.append(NFC_LEFT_OUT)
    return replace(
        model,
        normalizer=normalizer,
        pretokenizer=pretokenizer,
        added=added,
        vocab=vocab,
        sequence_template=template,
        origin=replace(model.origin, notes=(*model.origin.notes, *notes)),
    )


def _check(model: BPEModel, preset: Preset, where: str) -> None:
    origin = where or model.origin.name or ", ".join(model.origin.files) or "the model"
    clash = _clash(model, preset)
    if clash:
        raise SourceError(
            f"the preset {preset.name} ({preset.source}) contradicts it: {clash}",
            where=origin,
            fix="leave the preset out, name the right one, or say what the file leaves unsaid in a "
            "sidecar file beside it",
        )


def _clash(model: BPEModel, preset: Preset) -> str:
    """In what a preset contradicts a model; empty where it does not."""
    clash = _pattern_clash(model, preset) or _added_clash(model, preset) or _id_clash(model, preset)
    template = model.sequence_template
    if not clash and None not in (template, preset.template) and template != preset.template:
        clash = "they place different tokens around a sequence"
    return clash


def _pattern_clash(model: BPEModel, preset: Preset) -> str:
    if model.pretokenizer is None or model.pretokenizer == preset.pretokenizer:
        return ""
    step = model.pretokenizer[0] if len(model.pretokenizer) == 1 else None
    if not isinstance(step, Split) or not isinstance(step.pattern, Pattern):
        return "it states another pre-tokenizer"
    # Every preset's pattern matches all text, so what becomes of unmatched text is no matter.
    matches = step.behavior == "isolated" or (step.behavior == "removed" and step.invert)
    if matches and _split_alike(step.pattern, Pattern(preset.pattern, "fancy-regex"), model):
        return ""
    return f"its pattern is {step.pattern.source}, the preset's {preset.pattern}"


def _split_alike(a: Pattern, b: Pattern, model: BPEModel) -> bool:
    """Whether two patterns are known to give the same tokens with this vocabulary."""
    from ..merging.canonical import canonical
    from ..merging.symbols import textual
    from ..text.patterns import preferred, same
    from ..theory.cuts import only_merges_bytes

    tokens = textual(model) if only_merges_bytes(model) else None
    try:
        left, right = (
            preferred(
                each,
                "fancy-regex",
                vocabulary=tokens,
                unreachable=lambda: canonical(model).unreachable,
            )
            for each in (a, b)
        )
        return same(left, right)
    except PatternError:
        return False


def _added_clash(model: BPEModel, preset: Preset) -> str:
    if model.added is None or not preset.says_added:
        return ""
    stated = {token.text: (token.id, token.special) for token in model.added}
    wanted = {token.text: (token.id, token.special) for token in preset.added}
    for text in (*stated, *wanted):
        if stated.get(text) != wanted.get(text):
            ours, theirs = stated.get(text), wanted.get(text)
            return f"{show(text)} is {_say(ours)} in it and {_say(theirs)} in the preset"
    return ""


def _say(special: tuple[int, bool] | None) -> str:
    if special is None:
        return "no added token"
    return f"{'special' if special[1] else 'plain'} token {special[0]}"


def _id_clash(model: BPEModel, preset: Preset) -> str:
    ids = model.vocab.ids
    wanted = {token.id: token.text for token in preset.added}
    for number, content in numbered(ids, wanted.keys()).items():
        if all(content != t.text.encode() for t in preset.added if t.id == number):
            return (
                f"the id {number} is the token {show(content)} in it and "
                f"{show(wanted[number])} in the preset"
            )
    for token in preset.added:
        number = ids.get(token.text.encode(), token.id)
        if number != token.id:
            return f"{show(token.text)} has id {number} in it and {token.id} in the preset"
    return ""


def _names(presets: Iterable[Preset]) -> str:
    return ", ".join(preset.name for preset in presets)
