"""From the model to ``tokenizer.json`` and the files beside it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from ...errors import PatternError
from ...model import (
    AddedToken,
    BPEModel,
    Json,
    PairList,
    SequenceTemplate,
)
from ...steps import (
    DecoderStep,
    NormalizerStep,
    Pattern,
    PreTokenizerStep,
    Replace,
    Split,
)
from ...strict_json import Node
from ...text.bytechars import all_to_chars, to_chars
from ...text.patterns import parse, translate
from ...theory.automata import uncovered
from ...theory.cuts import preferred_in
from ...theory.merges import canonical
from .companions import write_beside
from .component import byte_level_json
from .decoders import write_decoder
from .normalizers import write_normalizer
from .pieces import in_own_terms
from .read import MAIN
from .steps import write_pretokenizer
from .template import PostProcessor, write_post_processor


def dump(model: BPEModel) -> dict[str, bytes]:
    """Writes ``tokenizer.json``, ``tokenizer_config.json`` and ``special_tokens_map.json``.

    The configuration names ``PreTrainedTokenizerFast``: transformers 5 rebuilds the tokenizers
    of model classes from vocabulary and merges, and would discard the pipeline written here. The
    class of the source is named where it builds just this pipeline.
    """
    if model.alphabet == "char":
        model = in_own_terms(model)
    extras = cast("Mapping[str, Json]", model.extras.get("huggingface") or {})
    added = held_tokens(model.added or ())
    words = spellings(model)
    names = {number: words[content] for content, number in model.vocab.ids.items()}
    names.update({token.id: token.text for token in reversed(added)})
    vocab = {words[content]: number for content, number in model.vocab.ids.items()}
    for token in stated_in_vocab(model, added, words):
        vocab.setdefault(token.text, token.id)
    settings = _settings(model, extras, names)
    document: dict[str, Json] = {
        "version": "1.0",
        "truncation": extras.get("truncation"),
        "padding": extras.get("padding"),
        "added_tokens": [_added_json(token) for token in added],
        "normalizer": write_normalizer(oniguruma_normalizer(model.normalizer or ())),
        "pre_tokenizer": write_pretokenizer(oniguruma_steps(model), model.alphabet),
        "post_processor": write_post_processor(
            _processor(model, extras), names, plain=model.alphabet == "char"
        ),
        "decoder": _decoder(model),
        "model": settings,
    }
    files = {MAIN: _render(document, vocab, _merges(model, words))}
    root = Node({**document, "model": {**settings, "vocab": {**vocab}}}, MAIN)
    return files | write_beside(model, added, extras, root)


def spellings(model: BPEModel) -> dict[bytes, str]:
    """Each token's content, and how ``model.vocab`` spells it."""
    ids, kinds = model.vocab.ids, model.vocab.kinds
    if model.alphabet == "char":
        return {content: content.decode("utf-8") for content in ids}
    spelled = dict(zip(ids, all_to_chars(ids), strict=True))
    if kinds:
        control = (content for content, number in ids.items() if kinds.get(number) == "control")
        spelled.update((content, content.decode("utf-8")) for content in control)
    return spelled


def held_tokens(added: Iterable[AddedToken]) -> tuple[AddedToken, ...]:
    """The added tokens that the format can hold, by id: one text per id, the first listed."""
    first: dict[int, AddedToken] = {}
    for token in added:
        first.setdefault(token.id, token)
    return tuple(first[number] for number in sorted(first))


def stated_in_vocab(
    model: BPEModel, added: Sequence[AddedToken], words: Mapping[bytes, str]
) -> Sequence[AddedToken]:
    """The added tokens whose ids must stand in ``model.vocab``.

    tokenizers numbers the others by position: the next number after the vocabulary. Only the
    last of them can be numbered so, in a run that begins exactly there. The token for unknown
    text is looked for in the vocabulary only.
    """
    spelled = {*words.values()}
    new = [token for token in added if token.text not in spelled]
    size = len(spelled)
    least = next((n + 1 for n, t in enumerate(new) if t.id == model.fallback.unknown), 0)
    for start in range(least, len(new) + 1):
        run = [token.id for token in new[start:]]
        if run == list(range(size + start, size + start + len(run))):
            return new[:start]
    return new


def oniguruma_normalizer(steps: Sequence[NormalizerStep]) -> list[NormalizerStep]:
    """Normalizer steps with each pattern in Oniguruma's dialect.

    Raises:
        PatternError: a pattern cannot be expressed there.
    """
    return [_oniguruma(step) if isinstance(step, Replace) else step for step in steps]


def oniguruma_decoder(steps: Sequence[DecoderStep]) -> list[DecoderStep]:
    """Decoder steps with each pattern in Oniguruma's dialect.

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
        return step
    return Split(step.pattern, "isolated") if covered else step


def _merges(model: BPEModel, words: Mapping[bytes, str]) -> list[Json]:
    """The merge list: as listed, or each token's one split in rank order (Theorem 4).

    Strings, which every version reads; but readers skip a string that begins with "#version",
    and cannot tell a part that holds a space.
    """
    pairs: Iterable[tuple[bytes, bytes]]
    if isinstance(model.merges, PairList):
        pairs = model.merges.pairs
    else:
        pairs = canonical(model).splits.values()
    spelled = [(words[left], words[right]) for left, right in pairs]
    if any(left.startswith("#version") or " " in left + right for left, right in spelled):
        return [[left, right] for left, right in spelled]
    return [f"{left} {right}" for left, right in spelled]


def _processor(model: BPEModel, extras: Mapping[str, Json]) -> PostProcessor:
    trim = extras.get("trim_offsets")
    prefix = bool(trim.get("add_prefix_space")) if isinstance(trim, dict) else None
    return PostProcessor(model.sequence_template or SequenceTemplate(), prefix)


def _decoder(model: BPEModel) -> Json:
    if model.decoder is None:
        return byte_level_json() if model.alphabet == "byte" else None
    return write_decoder(oniguruma_decoder(model.decoder))


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


def _render(document: dict[str, Json], vocab: dict[str, int], merges: list[Json]) -> bytes:
    """The document indented, with one vocabulary entry and one merge to a line."""
    ordered = dict(sorted(vocab.items(), key=lambda entry: entry[1]))
    listing = (",\n      ", ": ")
    head = json.dumps(document, ensure_ascii=False, indent=2)
    tail = "\n  }\n}"
    assert head.endswith(tail)
    entries = json.dumps(ordered, ensure_ascii=False, separators=listing)[1:-1]
    listed = json.dumps(merges, ensure_ascii=False, separators=listing)[1:-1]
    body = (
        f'{head[: -len(tail)]},\n    "vocab": {{\n      {entries}\n    }},\n'
        f'    "merges": [\n      {listed}\n    ]{tail}\n'
    )
    return body.encode("utf-8")
