"""What in a tokenizer is of no use, or not what it looks like, however exactly it is read.

Each note is a sentence for people: what happens, with a text or a token that shows it, and the
way out. Notes on the markers of a chat template are in ``chat_notes``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set
from dataclasses import replace

from .encode import Encoder
from .entries import numbered
from .errors import BpeInteropError
from .model import AddedToken, BPEModel, TemplateText, all_ids, text_of
from .quoting import show
from .steps import JoinBytes, Pattern, Split
from .text.spellings import PREFERRED
from .theory.cuts import only_merges_bytes

_WORD = re.compile(r"\s*[^\W\d_]+(?:[ '-][^\W\d_]+)*\s*")
"""Letters only; what has brackets, digits or underscores is meant as a marker."""

_TEXTS = ("a the", "unbelievable")
"""Plain words: no normalizer and no white space of a SentencePiece model changes them."""


def usage_notes(model: BPEModel) -> tuple[str, ...]:
    """The notes on a tokenizer that is shown or written."""
    return (
        *stale_template(model),
        *_words(model),
        *_undecoded(model),
        *_uncovered(model),
        *_on_chats(model),
    )


def _on_chats(model: BPEModel) -> tuple[str, ...]:
    if model.chat_template is None:
        return ()
    from .chat_notes import chat_notes  # it imports Jinja, and most have no chat template

    return chat_notes(model)


def stale_template(model: BPEModel) -> Iterator[str]:
    """Ids in the sequence template that are not those of the tokens that it names."""
    template = model.sequence_template
    # Where added tokens are not stated, the id may well be one's.
    parts = () if template is None or model.added is None else (*template.single, *template.pair)
    # tokenizers places the ids, and never looks at the names (processors/template.rs).
    named = {
        (part.name, number): len(part.ids)
        for part in parts
        if not isinstance(part, TemplateText)
        for number in part.ids
    }
    numbers = {number for _, number in named}
    taken, texts = all_ids(model), texts_of_ids(model, numbers)
    # Bytes that are no text are never a token that is named.
    contents: dict[int, bytes | str] = {
        **numbered(model.vocab.ids, numbers.difference(texts)),
        **texts,
    }
    for (name, number), count in named.items():
        places = f"the sequence template names {show(name)}, and places the id {number}"
        if number not in taken:
            yield (
                f"{places}, which no token has: a network has no row for it, and formats that "
                "place a token cannot hold it; correct the id, or write another template: "
                f"bpe-interop extend SRC DST --bos {show(name)} --template bos"
            )
        elif count == 1 and (held := contents.get(number, name)) != name:
            yield (
                f"{places}, which is {show(held)} here: engines place the id, whatever "
                "the name; correct it in the template"
            )


def _words(model: BPEModel) -> Iterator[str]:
    """Special tokens that are words: decoding may leave them out, and they are found in words."""
    words = [t for t in model.added or () if t.special and not t.roles and _WORD.fullmatch(t.text)]
    if words:
        shown = ", ".join(f"{show(token.text)} {token.id}" for token in words[:4])
        more = f" and {len(words) - 4:,} more" if words[4:] else ""
        inside = "" if all(t.single_word for t in words) else ", and finds it inside other words"
        yield (
            f"special tokens that look like words: {shown}{more}; transformers leaves such a token "
            f"out of decode(skip_special_tokens=True){inside}; a word should be an added token "
            'that is not special ("special": false in tokenizer.json)'
        )


def texts_of_ids(model: BPEModel, some: Set[int]) -> dict[int, str]:
    """Of some ids the texts, of added tokens and of tokens that are text, by id."""
    texts = {n: text_of(content) for n, content in numbered(model.vocab.ids, some).items()}
    texts |= {token.id: token.text for token in reversed(model.added or ()) if token.id in some}
    return {number: text for number, text in texts.items() if text is not None}


def _undecoded(model: BPEModel) -> Iterator[str]:
    """Where decoding does not give a text back: what is to blame, and a text that shows it."""
    shown = _not_given_back(model)
    if shown is None:
        return
    text, back = shown
    what = f"the ids of {show(text)} decode to {show(back)}"
    remover = _remover_of_spaces(model, text)
    if remover:
        out = f"{remover}, so no token has them, and no decoder can bring them back"
    elif model.alphabet == "byte" and not _not_given_back(replace(model, decoder=(JoinBytes(),))):
        out = 'tokens of bytes are decoded by "decoder": {"type": "ByteLevel"} in tokenizer.json'
    elif shared := _sharing(model, Encoder(model).encode(text)):
        out = f"{show(shared.text)} has the id {shared.id}, which is another token's too"
    else:
        out = "the decoder does not undo what the steps before it do to a text"
    yield f"decoding an encoded text does not give it back: {what}; {out}"


def _sharing(model: BPEModel, ids: Iterable[int]) -> AddedToken | None:
    """An added token with one of some ids, which a token with another text has too."""
    there = numbered(model.vocab.ids, {*ids})
    return next(
        (t for t in model.added or () if t.id in there and there[t.id] != t.text.encode()), None
    )


def _remover_of_spaces(model: BPEModel, text: str) -> str:
    """What takes the spaces out of a text before it is merged; empty where nothing does."""
    encoder, bare, joined = Encoder(model), Encoder(replace(model, added=())), text.replace(" ", "")
    if joined == text:
        return ""
    if encoder.normalize(text) == encoder.normalize(joined):
        return "the normalizer removes spaces"
    # An affix marks where a word ends, as CLIP's </w>, which a decoder can make a space.
    affixed = model.affixes.prefix or model.affixes.suffix
    if not affixed and _cut(encoder, text) == _cut(encoder, joined):
        return "the pre-tokenizer removes spaces"
    try:
        if encoder.encode(text) != encoder.encode(joined):
            return ""
        if bare.encode(text) != bare.encode(joined):
            return "an added token takes the spaces beside it along"
    except BpeInteropError:  # what only an added token has ids for
        return ""
    return "characters without a token are dropped, and a space is one"


def _cut(encoder: Encoder, text: str) -> bytes:
    """What is merged of a text, without the places of its cuts."""
    pretokens = encoder.pretokenize(text)
    return b"".join(each if isinstance(each, bytes) else each.encode() for each in pretokens)


def _not_given_back(model: BPEModel) -> tuple[str, str] | None:
    """The first text whose ids decode to another one; None where none is known."""
    if _joins_what_it_cuts(model):
        return None
    try:
        encoder = Encoder(model)
        for text in _TEXTS:
            ids = encoder.encode(text)
            if not ids or model.fallback.unknown in ids:
                continue  # a character without a token is lost whatever decodes
            back = encoder.decode(ids)
            # Templates and dummy prefixes place white space at the ends.
            if back.strip() != text:
                return text, back
    except BpeInteropError:
        return None
    return None


def _joins_what_it_cuts(model: BPEModel) -> bool:
    """Whether it is plain that ids decode to their text, so that no encoder need be built."""
    # The bytes of a text are cut, merged (Theorem 10) and joined again. The patterns of known
    # families match every character. An added token may take spaces along, or another's id.
    added = model.added or ()
    own = numbered(model.vocab.ids, {token.id for token in added})
    return (
        model.alphabet == "byte"
        and not model.normalizer
        and not any(
            t.looks_around or own.get(t.id, t.text.encode()) != t.text.encode() for t in added
        )
        and [*map(type, model.decoder or ())] == [JoinBytes]
        and all(
            isinstance(step, Split)
            and isinstance(step.pattern, Pattern)
            and step.pattern.source in PREFERRED
            and (step.behavior != "removed" or step.invert)
            for step in model.pretokenizer or ()
        )
        and only_merges_bytes(model)
    )


def _uncovered(model: BPEModel) -> Iterator[str]:
    """A text, or its first characters, that the pattern drops, so that they have no ids."""
    for step in model.pretokenizer or ():
        if not isinstance(step, Split) or isinstance(step.pattern, str):
            continue
        if step.behavior != "removed" or not step.invert:
            continue
        from .text.patterns import parse
        from .theory.automata import uncovered

        try:
            text = uncovered(parse(step.pattern))
            # White space alone is dropped on purpose, by CLIP for one.
            lost = text is not None and bool(text.strip()) and not Encoder(model).encode(text)
        except BpeInteropError:
            continue
        if lost and text is not None:
            yield (
                f"the pattern leaves text without ids: {show(text)} has none, alone and in other "
                "texts; give the pattern a last alternative for what it does not match"
            )
