"""The stages of two tokenizers, compared one by one: equal for every text, or shown not to be.

Each function says of one stage *proved* (equal for every text, and by which argument), *refuted*
(a text gives other ids in the end) or *unknown* (neither was established). The theorems named
are in ``docs/theory.md``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, product
from typing import Literal, TypeAlias

from ..diff import Difference, diff, normalized_matters
from ..encode import Encoder
from ..errors import EncodeError, PatternError
from ..model import AddedToken, BPEModel, SequenceTemplate, show
from ..steps import (
    ByteTokens,
    DecoderStep,
    Fuse,
    JoinPieces,
    Pattern,
    Replace,
    Split,
    StripToken,
)
from ..text.patterns import parse
from ..theory.automata import first_difference
from ..theory.core import decide, system_of
from ..theory.merges import canonical, textual, whole_lookups
from ..theory.pretokens import UTF8_BYTES, occurrence

Outcome: TypeAlias = Literal["proved", "refuted", "unknown"]

_CONTEXTS = ("{}", "a{}", "{}a", " {}", "{} ", "a{}b", " {} ", "{}\u0301", "{}\n", "{}1", ".{}")
_SAMPLE = " \t\n\r\u00a0\u3000\u2581aA1.'\u00e9e\u0301\u0340\u4e2d\U0001f642\u200d\x00"
_LENGTH = 3
"""Up to this length, all strings over the sample characters are tried."""


@dataclass(frozen=True, slots=True)
class Stage:
    """What was established of one stage; ``witness`` is a text that shows a refutation."""

    name: str
    outcome: Outcome
    why: str
    witness: str | None = None


class Pair:
    """Two models side by side, on texts in which no added token is looked for."""

    def __init__(self, a: BPEModel, b: BPEModel) -> None:
        self.a, self.b = a, b
        self.one = Encoder(replace(a, added=()))
        self.two = Encoder(replace(b, added=()))
        self.fields: dict[str, Difference] = {d.field: d for d in diff(a, b)}

    def differ(self, text: str) -> bool:
        """Whether both sides encode a text, and otherwise."""
        try:
            return self.one.encode(text) != self.two.encode(text)
        except EncodeError:
            return False

    def tried(self, name: str, why: str, texts: Iterable[str]) -> Stage:
        """Refuted by the first of the texts on which the ids differ, else unknown."""
        witness = next(filter(self.differ, texts), None)
        if witness is None:
            return Stage(name, "unknown", f"{why}; no text was found on which the ids differ")
        return Stage(name, "refuted", why, witness)


def text_stages(pair: Pair) -> Iterator[Stage]:
    """Normalizer, pre-tokenizer, core, lookup and ids: what gives an ordinary text its ids."""
    yield _normalizer(pair)
    yield _pretokenizer(pair)
    yield _core(pair)
    yield _lookup(pair)
    yield _ids(pair)


def _normalizer(pair: Pair) -> Stage:
    found = pair.fields.get("normalizer")
    if found is None:
        steps = pair.a.normalizer
        return Stage("normalizer", "proved", "the same steps" if steps else "none on either side")
    if found.kind == "unstated":
        return Stage("normalizer", "unknown", f"not stated: {found.how}")
    texts = (t for t in _short_texts() if pair.one.normalize(t) != pair.two.normalize(t))
    return pair.tried("normalizer", f"other steps: {found.how}", texts)


def _short_texts() -> Iterator[str]:
    """The empty text, every code point of the basic plane, then strings of sample characters."""
    yield ""
    yield from (chr(point) for point in range(0x10000) if not 0xD800 <= point < 0xE000)
    for length in range(2, _LENGTH + 1):
        yield from map("".join, product(_SAMPLE, repeat=length))


def _pretokenizer(pair: Pair) -> Stage:
    name = "pre-tokenizer"
    found = pair.fields.get("pretokenizer")
    if found is None:
        left, right = pair.a.pretokenizer or (), pair.b.pretokenizer or ()
        if left == right:
            return Stage(name, "proved", "the same steps" if left else "none on either side")
        return Stage(name, "proved", "patterns that split every text alike, for this vocabulary")
    if found.kind == "unstated":
        return Stage(name, "unknown", f"not stated: {found.how}")
    one, two = _only_pattern(pair.a), _only_pattern(pair.b)
    if one is None or two is None:
        return pair.tried(name, f"other steps: {found.how}", _short_texts())
    try:
        text = first_difference(parse(one), parse(two))
    except PatternError as error:
        return pair.tried(name, f"patterns not decided ({error.what})", _short_texts())
    if text is None:
        return Stage(name, "proved", "the patterns' first matches agree on every text (Theorem 11)")
    texts = (context.format(text) for context in _CONTEXTS)
    return pair.tried(
        name, f"the patterns split {show(text)} otherwise", chain(texts, _short_texts())
    )


def _only_pattern(model: BPEModel) -> Pattern | None:
    """The pattern, where the matches of one pattern are the pretokens."""
    steps = model.pretokenizer or ()
    if len(steps) != 1 or not isinstance(step := steps[0], Split):
        return None
    matches = step.behavior == "removed" and step.invert
    return step.pattern if matches and isinstance(step.pattern, Pattern) else None


def _core(pair: Pair) -> Stage:
    name, a, b = "core", pair.a, pair.b
    if a.alphabet != b.alphabet or a.affixes != b.affixes:
        return pair.tried(name, "merging starts from other symbols", _token_texts(pair))
    if "fallback" in pair.fields:
        why = f"other rules for symbols without a token: {pair.fields['fallback'].how}"
        return pair.tried(name, why, chain(_single_characters(), _token_texts(pair)))
    lone = _lone_symbols(a) ^ _lone_symbols(b)
    if lone:
        why = f"{show(min(lone))} is a base symbol on one side only"
        return pair.tried(name, why, chain(_single_characters(), _token_texts(pair)))
    if _frozen(a) != _frozen(b) or _has(a, "unused") or _has(b, "unused"):
        why = "user-defined or unused tokens, about which nothing is proved"
        return pair.tried(name, why, _token_texts(pair))
    texts: dict[bytes, str] = {}

    def shows(content: bytes) -> bool:
        text = next(filter(pair.differ, _texts_of(pair, content)), None)
        if text is not None:
            texts[content] = text
        return text is not None

    found = decide(system_of(a), system_of(b), ok=shows)
    if found.verdict == "proved":
        return Stage(name, "proved", found.why)
    if found.content is not None and found.content in texts:
        split = " and ".join("+".join(map(show, t)) for t in (found.ours, found.theirs))
        return Stage(name, "refuted", f"merging gives {split}", texts[found.content])
    return Stage(name, "unknown", found.why)


def _has(model: BPEModel, kind: str) -> bool:
    return kind in model.vocab.kinds.values()


def _frozen(model: BPEModel) -> set[bytes]:
    kinds = model.vocab.kinds
    return {t for t, number in model.vocab.ids.items() if kinds.get(number) == "user_defined"}


def _lone_symbols(model: BPEModel) -> set[bytes]:
    """The tokens that are one symbol: a byte that occurs in UTF-8, or a character."""
    tokens = textual(model)
    if model.alphabet == "byte":
        return {token for token in tokens if len(token) == 1 and token[0] in UTF8_BYTES}
    found = set()
    for token in tokens:
        try:
            if len(token.decode("utf-8")) == 1:
                found.add(token)
        except UnicodeDecodeError:
            continue
    return found


def _single_characters() -> Iterator[str]:
    return (chr(point) for point in range(0x10000) if not 0xD800 <= point < 0xE000)


def _token_texts(pair: Pair) -> Iterator[str]:
    for content in chain(pair.a.vocab.ids, pair.b.vocab.ids):
        yield from _texts_of(pair, content)


def _texts_of(pair: Pair, content: bytes) -> Iterator[str]:
    """Texts of which this content may be a pretoken."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return
    yield text
    if "\u2581" in text:
        spaced = text.replace("\u2581", " ")
        yield spaced
        if spaced.startswith(" "):
            yield spaced[1:]
    for model in (pair.a, pair.b):
        found = occurrence(model.pretokenizer or (), content)
        if found.text is not None:
            yield found.text


def _lookup(pair: Pair) -> Stage:
    name = "lookup"
    found = {"a": whole_lookups(pair.a), "b": whole_lookups(pair.b)}
    tokens = found["a"] | found["b"]
    if not tokens:
        return Stage(name, "proved", "no token is found by lookup only")
    if found["a"] == found["b"]:
        return Stage(name, "proved", f"the same {len(tokens):,} tokens are found by lookup only")
    open_questions = []
    for content in sorted(tokens, key=len):
        if pair.one.encode_pretoken(content) == pair.two.encode_pretoken(content):
            continue
        if all(
            occurrence(m.pretokenizer or (), content).possible is False for m in (pair.a, pair.b)
        ):
            continue
        witness = next(filter(pair.differ, _texts_of(pair, content)), None)
        why = f"{show(content)} is looked up whole on one side only"
        if witness is not None:
            return Stage(name, "refuted", why, witness)
        open_questions.append(why)
    if open_questions:
        return Stage(name, "unknown", f"{open_questions[0]}; whether it can be a pretoken is open")
    return Stage(name, "proved", "no pretoken is a token on which the lookups differ (Theorem 8)")


def _ids(pair: Pair) -> Stage:
    name = "ids"
    kept = []
    for model in (pair.a, pair.b):
        reached = set(canonical(model).splits) | _lone_symbols(model) | whole_lookups(model)
        reached |= {t for t, n in model.vocab.ids.items() if model.vocab.kinds.get(n) == "byte"}
        reached |= _frozen(model)
        kept.append({token: model.vocab.ids[token] for token in reached})
    left, right = kept
    moved = sorted((t for t in left if t in right and left[t] != right[t]), key=len)
    unknown = [None if _all_bytes(m) else m.fallback.unknown for m in (pair.a, pair.b)]
    if not moved and unknown[0] == unknown[1]:
        return Stage(name, "proved", f"{len(left.keys() & right.keys()):,} tokens, the same ids")
    texts = chain.from_iterable(_texts_of(pair, token) for token in moved)
    first = moved[0] if moved else b""
    why = f"{show(first)} is {left[first]} and {right[first]}" if moved else "other unknown tokens"
    return pair.tried(name, why, chain(texts, _single_characters()))


def added_stages(pair: Pair) -> Iterator[Stage]:
    """Added tokens that are not special (they match in every text), then the special ones."""
    a, b = pair.a, pair.b
    for name, special in (("added tokens", False), ("special tokens", True)):
        if a.added is None or b.added is None:
            side = "the first" if a.added is None else "the second"
            if not special:
                known = [t for t in (a.added or b.added or ()) if not t.special]
                outcome: Outcome = "unknown" if known else "proved"
                yield Stage(name, outcome, f"{side} does not say" if known else "there are none")
            else:
                yield Stage(name, "unknown", f"{side} does not say which there are")
            continue
        left = {t for t in _matching(a) if t.special is special}
        right = {t for t in _matching(b) if t.special is special}
        if left == right:
            why = f"the same {len(left):,}" if left else "none on either side"
            if special and any(map(_is_pieces, (a, b))):
                why += "; sentencepiece itself finds none in a text, and spells them out"
            yield Stage(name, "proved", why)
            continue
        only = sorted(left ^ right, key=lambda t: (len(t.text), t.text))
        sides = f"{len(left):,} and {len(right):,}"
        yield Stage(name, "refuted", f"{sides}; {show(only[0].text)} differs", only[0].text)


def _is_pieces(model: BPEModel) -> bool:
    return any(isinstance(step, JoinPieces) for step in model.decoder or ())


def _matching(model: BPEModel) -> list[AddedToken]:
    """Added tokens by what decides whether and where they match."""
    added = list(model.added or ())
    if model.normalizer or normalized_matters(added):
        return [replace(token, roles=()) for token in added]
    return [replace(token, roles=(), normalized=False) for token in added]


def template_stage(pair: Pair) -> Stage:
    """What is placed around a text where special tokens are asked for."""
    name = "sequence template"
    left, right = pair.a.sequence_template, pair.b.sequence_template
    stated = [template for template in (left, right) if template is not None]
    if all(template == SequenceTemplate() for template in stated):
        return Stage(name, "proved", "nothing is placed around a text on either side")
    if len(stated) < 2:
        side = "the first" if left is None else "the second"
        return Stage(name, "unknown", f"{side} does not say")
    if left == right:
        return Stage(name, "proved", "the same template")
    return Stage(name, "refuted", "other templates", "a")


def decoding_stage(pair: Pair) -> Stage:
    """How ids become text, on ids that some text encodes to."""
    name = "decoding"
    a, b = pair.a.decoder, pair.b.decoder
    if a is None or b is None:
        return Stage(name, "unknown", "a side does not say how ids become text")
    if a == b:
        return Stage(name, "proved", "the same steps")
    for pieces, chain_ in ((a, b), (b, a)):
        if _undone_alike(pieces, chain_) and _all_bytes(pair.a) and _all_bytes(pair.b):
            return Stage(
                name,
                "proved",
                "equal on ids that texts encode to; control tokens and byte tokens out of place "
                "decode otherwise",
            )
    return Stage(name, "unknown", "other steps; compared on texts")


def _undone_alike(pieces: tuple[DecoderStep, ...], steps: tuple[DecoderStep, ...]) -> bool:
    """SentencePiece's decoding, and the steps that do the same where byte tokens are whole."""
    if len(pieces) != 1 or not isinstance(step := pieces[0], JoinPieces):
        return False
    if step.collapse or step.charsmap or step.dummy == "suffix":
        return False
    said = [s for s in steps if not (isinstance(s, Replace) and s.content == step.unknown)]
    expected: list[DecoderStep] = [Replace("\u2581", " "), ByteTokens(), Fuse()]
    return said == expected + [StripToken(" ", 1, 0)] * (step.dummy == "prefix")


def _all_bytes(model: BPEModel) -> bool:
    kinds = list(model.vocab.kinds.values())
    return model.fallback.byte_fallback and kinds.count("byte") == 256
