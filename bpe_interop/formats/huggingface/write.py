"""From the model to ``tokenizer.json`` and the files beside it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar, cast

from ...entries import numbered
from ...errors import PatternError
from ...kernel.files import pairs_text, vocabulary_text
from ...kernel.tables import used_among
from ...merging.canonical import canonical
from ...model import BATCHING, AddedToken, BPEModel, Json, PairList, SequenceTemplate, TemplateToken
from ...steps import (
    Pattern,
    PreTokenizerStep,
    Replace,
    Split,
)
from ...strict_json import Node
from ...text.bytechars import to_chars
from ...text.decoders import verbatim_of
from ...text.patterns import parse, translate
from ...theory.automata import uncovered
from ...theory.cuts import preferred_in
from ..names import MAIN
from .companions.tokenizer_json import write_beside
from .component import byte_level_json
from .decoders import write_decoder
from .normalizers import write_normalizer
from .pieces import in_own_terms
from .post_processors import write_post_processor
from .pretokenizers import write_pretokenizer
from .vocab import WrittenVocabulary

Step = TypeVar("Step")

_BETWEEN = b",\n      "
"""What stands between two entries of the vocabulary, and between two merges."""


def dump(model: BPEModel) -> dict[str, bytes]:
    """Writes ``tokenizer.json``, ``tokenizer_config.json`` and ``special_tokens_map.json``."""
    if model.alphabet == "char":
        model = in_own_terms(model)
    extras, batching = (
        cast("Mapping[str, Json]", model.extras.get(key) or {}) for key in ("huggingface", BATCHING)
    )
    added = held_tokens(model.added or ())
    own = WrittenVocabulary(model)
    stated = {t.text: t.id for t in stated_in_vocab(model, added, own.vocab)}
    names = _names(model, added, own)
    settings, trim = _settings(model, extras, names), extras.get("trim_offsets")
    document: dict[str, Json] = {
        "version": "1.0",
        "truncation": batching.get("truncation"),
        "padding": batching.get("padding"),
        "added_tokens": [_added_json(token) for token in added],
        "normalizer": write_normalizer(in_oniguruma(model.normalizer or ())),
        "pre_tokenizer": write_pretokenizer(oniguruma_steps(model), model.alphabet),
        "post_processor": write_post_processor(
            model.sequence_template or SequenceTemplate(),
            bool(trim.get("add_prefix_space")) if isinstance(trim, dict) else None,
            names,
            plain=model.alphabet == "char",
        ),
        "decoder": _decoder(model),
        "model": settings,
    }
    files = {MAIN: _render(document, model, own, stated)}
    return files | write_beside(model, added, Node(document, MAIN), own.beside(stated))


def held_tokens(added: Iterable[AddedToken]) -> tuple[AddedToken, ...]:
    """The added tokens that the format can hold, by id: one text per id, the first listed."""
    first: dict[int, AddedToken] = {}
    for token in added:
        first.setdefault(token.id, token)
    return tuple(first[number] for number in sorted(first))


def stated_in_vocab(
    model: BPEModel, added: Sequence[AddedToken], vocab: Mapping[str, int]
) -> Sequence[AddedToken]:
    """The added tokens whose ids must stand in ``model.vocab``."""
    new = [token for token in added if token.text not in vocab]
    size = len(vocab)
    # The token for unknown text is looked for in the vocabulary only.
    least = next((n + 1 for n, t in enumerate(new) if t.id == model.fallback.unknown), 0)
    # tokenizers numbers the others by position, from the end of the vocabulary on: only the last of
    # them can be numbered so, in a run that begins exactly there.
    for start in range(least, len(new) + 1):
        run = [token.id for token in new[start:]]
        if run == list(range(size + start, size + start + len(run))):
            return new[:start]
    return new


def in_oniguruma(steps: Sequence[Step]) -> list[Step | Replace]:
    """Steps of a normalizer or decoder, with each pattern in Oniguruma's dialect.

    Raises:
        PatternError: a pattern cannot be expressed there.
    """
    return [_oniguruma(step) if isinstance(step, Replace) else step for step in steps]


def _oniguruma(step: Replace) -> Replace:
    if isinstance(step.pattern, str):
        return step
    return Replace(translate(step.pattern, "oniguruma"), step.content)


def oniguruma_steps(model: BPEModel) -> list[PreTokenizerStep]:
    """Pre-tokenizer steps with each pattern in Oniguruma's dialect, spelled as most engines know.

    Raises:
        PatternError: a pattern cannot be expressed there.
    """
    steps: list[PreTokenizerStep] = []
    for place, step in enumerate(model.pretokenizer or ()):
        if isinstance(step, Split) and isinstance(step.pattern, Pattern):
            pattern = preferred_in(model, step, place, "oniguruma")
            step = _isolated(Split(pattern, step.behavior, step.invert))
        steps.append(step)
    return steps


def _isolated(step: Split) -> Split:
    """The common form of "the matches are the pretokens", where the pattern covers every text."""
    if step.behavior != "removed" or not step.invert or isinstance(step.pattern, str):
        return step
    try:
        covered = uncovered(parse(step.pattern)) is None
    except PatternError:
        return step  # not shown to cover every text
    return Split(step.pattern, "isolated") if covered else step


def _names(model: BPEModel, added: Sequence[AddedToken], own: WrittenVocabulary) -> dict[int, str]:
    """How the ids that the settings and the post-processor name are spelled."""
    template = model.sequence_template or SequenceTemplate()
    parts = (part for part in (*template.single, *template.pair))
    asked = {n for part in parts if isinstance(part, TemplateToken) for n in part.ids}
    if model.fallback.unknown is not None:
        asked.add(model.fallback.unknown)
    contents = numbered(model.vocab.ids, asked) if asked else {}
    names = {number: own.words[content] for number, content in contents.items()}
    names.update({token.id: token.text for token in reversed(added)})
    return names


def _merges(model: BPEModel, own: WrittenVocabulary) -> bytes | bytearray:
    """The merge list: as listed, or each token's one split in rank order (Theorem 4)."""
    pairs = model.merges.pairs if isinstance(model.merges, PairList) else canonical(model).splits
    each = pairs.values() if isinstance(pairs, Mapping) else pairs
    # The kernel spells every token in the byte alphabet.
    if own.in_letters and not (own.literal and used_among(each, own.literal) != set()):
        text = pairs_text(pairs, _BETWEEN)
        if text is not None:
            return text
    words = own.words
    # A byte without a token is dropped before it could be merged.
    there = (pair for pair in each if pair[0] in words and pair[1] in words)
    parts = [(words[left], words[right]) for left, right in there]
    # Strings, which every version reads; but readers skip one that begins with "#version", and
    # cannot tell a part that holds a space.
    listed: list[Json] = [f"{left} {right}" for left, right in parts]
    if any(left.startswith("#version") or " " in left + right for left, right in parts):
        listed = [[left, right] for left, right in parts]
    return _listed(listed)


def _decoder(model: BPEModel) -> Json:
    if model.decoder is None:
        return byte_level_json() if model.alphabet == "byte" else None
    _, steps = verbatim_of(model.decoder)  # no component says what a single id is
    return write_decoder(in_oniguruma(steps))


def _settings(
    model: BPEModel, extras: Mapping[str, Json], names: Mapping[int, str]
) -> dict[str, Json]:
    fallback = model.fallback
    unknown = extras.get("unk_token") if fallback.unknown is None else names[fallback.unknown]
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": unknown,
        "continuing_subword_prefix": _affix(model, model.affixes.prefix),
        "end_of_word_suffix": _affix(model, model.affixes.suffix),
        "fuse_unk": fallback.fuse,
        "byte_fallback": fallback.byte_fallback,
        "ignore_merges": model.lookup_first,
    }


def _affix(model: BPEModel, affix: bytes) -> Json:
    if not affix:
        return None
    return affix.decode("utf-8") if model.alphabet == "char" else to_chars(affix)


def _added_json(token: AddedToken) -> Json:
    return {
        "id": token.id,
        "content": token.text,
        "single_word": token.single_word,
        "lstrip": token.lstrip,
        "rstrip": token.rstrip,
        "normalized": token.normalized,
        "special": token.special,
    }


def _render(
    document: dict[str, Json], model: BPEModel, own: WrittenVocabulary, stated: Mapping[str, int]
) -> bytes:
    """The document indented, with one vocabulary entry and one merge to a line.

    ``stated`` are the added tokens among the entries, which stand in the order of their ids.
    """
    # The model is the last key of the document: its vocabulary and merges are put in before its
    # end.
    head = json.dumps(document, ensure_ascii=False, indent=2)
    tail = "\n  }\n}"
    assert head.endswith(tail)
    return b"".join(
        (
            head[: -len(tail)].encode("utf-8"),
            b',\n    "vocab": {\n      ',
            _entries(model, own, stated),
            b'\n    },\n    "merges": [\n      ',
            _merges(model, own),
            f"\n    ]{tail}\n".encode(),
        )
    )


def _entries(
    model: BPEModel, own: WrittenVocabulary, stated: Mapping[str, int]
) -> bytes | bytearray:
    if own.in_letters:
        ids = model.vocab.ids
        literal = [(content.decode("utf-8"), ids[content]) for content in own.literal]
        named = (*literal, *stated.items())
        others = [(json.dumps(text, ensure_ascii=False), number) for text, number in named]
        text = vocabulary_text(ids, others, literal=own.literal, between=_BETWEEN)
        if text is not None:
            return text
    return _listed(dict(sorted(own.listed(stated).items(), key=lambda entry: entry[1])))


def _listed(value: dict[str, int] | list[Json]) -> bytes:
    """The entries of an object, or of an array, one to a line."""
    separators = (_BETWEEN.decode(), ": ")
    return json.dumps(value, ensure_ascii=False, separators=separators)[1:-1].encode("utf-8")
