"""Compares a tokenizer with its lock file: the fingerprint first, then the locked ids."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice, takewhile
from pathlib import Path
from typing import TypeAlias

from ..diff import Difference
from ..encode import Encoder
from ..engines import Engine
from ..engines.facts import facts
from ..errors import SourceError
from ..fingerprint import PARTS, fingerprint, states
from ..io import TokenizerSource, beginning, read, spelled
from ..merging.canonical import canonical
from ..model import AddedToken, BPEModel, show
from ..proof.around import left_to_chance
from ..proof.stage import Scope, Stage, counts
from ..ticks import begin
from .alignment import Span, align
from .assumptions import EXAMINED, assumptions
from .compare import oddness
from .lock import (
    ASKED,
    BLOCK,
    Lock,
    answered_by,
    answers,
    chat_template_of,
    is_lock,
    load,
    merge_blocks,
    roles_of,
)
from .lock_stated import (
    Stated,
    first_of,
    other_decoder,
    other_fields,
    stated_by,
    what_changed,
)
from .metadata import beyond_lock
from .report import Example, Report
from .sides import (
    ORDINARY,
    PARSED,
    TEMPLATED,
    Failure,
    Mismatch,
    Own,
    encode_one,
    noted_on_files,
    run_in_transformers,
    served_otherwise,
    ways_to_name,
)
from .stress import texts_with
from .verdict import Verdict, doubts, not_called_proved, verdict_of

Golden: TypeAlias = tuple[str, str, tuple[int, ...]]
"""How ids are asked for, a text, and its locked ids."""

_MODES = {"text": ORDINARY, "parse": PARSED, "template": TEMPLATED}
_LINES = tuple(part for part in PARTS if part != "all")
_NAMES = {"specials": "added tokens", "template": "sequence template", "decoder": "decoding"}
"""Lines of a fingerprint by the names of the stages that are about the same."""
_IDS = ("text", "specials", "template")
"""The lines of a fingerprint of which ids depend; of the decoder none do."""


def locked(source: str | Path) -> Lock | None:
    """The lock file at a path, or None if there is none.

    Raises:
        FormatError: it is a lock file, and malformed or newer than this version.
    """
    path = Path(source)
    if not path.is_file():
        return None
    try:
        if not is_lock(beginning(path)) and path.suffix != ".lock":
            return None
        data = read(path)
    except SourceError:
        return None
    return load(data, str(path))


def compare_with_lock(
    held: Lock,
    path: str | Path,
    source: TokenizerSource[BPEModel | None],
    side: Engine,
    *,
    scope: Scope,
    first: bool,
    tick: Callable[[int], None],
) -> Report:
    """Holds a tokenizer against what was locked.

    Args:
        held: the lock file.
        path: where it lies.
        source: the tokenizer.
        side: what runs it: our encoder, or a library. Of one whose version our tests do not run
            on, and of transformers, nothing is proved.
        scope: what counts.
        first: whether the lock file is side ``a``.
        tick: called with the number of texts compared since the last call.

    Raises:
        SourceError: the tokenizer is none that our encoder reads.
    """
    model = source.model
    if model is None:
        raise SourceError(source.refusal, where=source.label, fix="give the tokenizer's own files")
    lines = _lines(held, model)
    changed = [part for part in _LINES if not lines.same(part) and counts(part, scope)]
    ways = _ways(lines, model, side, scope)
    derived = _derived(held, lines, ways, model) if "specials" in changed else []
    answered = _hold(chain(_asked(held, ways, model, scope), derived), side, first, tick)
    mismatch = answered.mismatch
    letters = ("a", "b") if first else ("b", "a")
    unsaid = tuple(part for part in changed if any(lines.silent(part)))
    unfound = [part for part in changed if (part in _IDS or lines.decodes) and mismatch is None]
    meant = [part for part in unfound if part not in unsaid]
    notes = [_unsaid(part, lines, letters, model) for part in unsaid]
    notes += _unfound(meant)
    notes += changes(held, model, lines.stated, changed) if changed else ()
    notes += _on_lock(held, "" if changed or mismatch is None else side.name)
    notes += [_DERIVED] if mismatch and mismatch.text in {text for _, text, _ in derived} else []
    notes += (*beyond_lock(model), *_on_source(letters[1], source, side, mismatch))
    beside = tuple(_beside(held, model, roles=not any(lines.silent("specials"))))
    chance = left_to_chance(model) if counts("specials", scope) else ""
    verdict = _verdict(answered, changed, unfound, side, chance, notes)
    shown_by = _shown_by(mismatch, changed, held, model)
    names = (spelled(str(path)), "locked ids"), (source.label, f"{side.name} {side.version}")
    (a, engine_a), (b, engine_b) = names if first else names[::-1]
    return Report(
        verdict=verdict,
        scope=scope,
        a=a,
        b=b,
        engine_a=engine_a,
        engine_b=engine_b,
        texts=answered.asked,
        bytes=answered.bytes,
        compared=answered.asked - len(answered.failures),
        differing=answered.differing,
        scopes=tuple(_MODES[how].scope for how in ways),
        mismatch=mismatch,
        stage=_NAMES.get(shown_by, shown_by) or None,
        stages=tuple(_stages(lines, shown_by, ways if scope == "all" else ASKED)),
        assumptions=_assumed(model, side) if verdict == "proved" else (),
        replayed=(),
        failures=tuple(answered.failures),
        differences=beside,
        matters=tuple(_MATTERS[each.field] for each in beside),
        notes=tuple(notes),
        unstated=_unstated(lines, letters) if scope == "all" else (),
        examples=() if mismatch is None else (_example(mismatch, held, model, first),),
        known=_known(lines, meant, sure=unfound == meant and not (doubts({side.name}) or chance)),
    )


def _on_source(
    letter: str, source: TokenizerSource[BPEModel | None], side: Engine, mismatch: Mismatch | None
) -> list[str]:
    """What its files say otherwise, and what the libraries that serve them do."""
    notes = [*noted_on_files(source), *served_otherwise(letter, source, side)]
    if mismatch is not None and facts(side.name).directories:
        run_in_transformers(source, notes)  # it notes which class is to blame, and what to do
    return notes


_OLDER = (
    "this lock file was written in layout 3, which does not hold flags of tokens and patterns: "
    "lock again (bpe-interop lock SRC -o FILE), and the next report names those that changed"
)


def _on_lock(held: Lock, apart: str) -> Iterator[str]:
    """With what it was written, what it does not hold, and who gives other ids all the same."""
    if apart:
        yield f"the fingerprint is the locked one, but {apart} gives other ids"
    if held.versions:
        versions = ", ".join(f"{name} {number}" for name, number in held.versions.items())
        yield f"locked with {versions}"
    if held.stated is None:
        yield _OLDER


@dataclass(frozen=True, slots=True)
class _Lines:
    """The lines of two fingerprints: the locked one, and that of the tokenizer now.

    ``stated`` is what the tokenizer states now, where a line is another one and the lock file
    says what was stated; ``others`` has the fields that make a line another, in words.
    ``decodes`` says that the line ``decoder`` is another one for more than its added tokens.
    """

    locked: Mapping[str, str]
    now: Mapping[str, str]
    stated: Stated | None
    others: Mapping[str, str]
    decodes: bool

    def same(self, part: str) -> bool:
        """Whether a line is the locked one."""
        return self.now[part] == self.locked[part]

    def silent(self, part: str) -> tuple[bool, bool]:
        """Whether the lock file does not state what a line is of, and whether the source."""
        return not states(self.locked[part]), not states(self.now[part])


def _lines(held: Lock, model: BPEModel) -> _Lines:
    prints, others = fingerprint(model), dict[str, str]()
    changed = [part for part in _LINES if prints[part] != held.fingerprint[part]]
    now = stated_by(model) if changed and held.stated is not None else None
    for part in changed:
        if held.stated is not None and now is not None:
            fields = other_fields(held.stated, now, part)
            others[part] = f" ({', '.join(fields)})" if fields else ""
    decodes = "decoder" in changed
    if "specials" in changed:  # it holds what their ids stand for, too
        silent = not (states(prints["specials"]) and states(held.fingerprint["specials"]))
        decodes &= (
            not silent if held.stated is None or now is None else other_decoder(held.stated, now)
        )
    return _Lines(held.fingerprint, prints, now, others, decodes)


def _unstated(lines: _Lines, letters: tuple[str, str]) -> tuple[str, ...]:
    """The sides, ``a`` or ``b``, that do not state their special tokens."""
    sides = zip(letters, lines.silent("specials"), strict=False)
    return tuple(sorted(letter for letter, silent in sides if silent))


_UNSAID = {
    "specials": ("special tokens are not stated", "which there are", "text"),
    "template": ("what is placed around a text is not stated", "it", "ordinary"),
}
"""What a line is of, what there is to say of it, and the scope in which it does not count."""


def _unsaid(part: str, lines: _Lines, letters: tuple[str, str], model: BPEModel) -> str:
    """What one side states and the other does not, and how to say it."""
    what, which, scope = _UNSAID[part]
    of_lock, of_source = letters
    if states(lines.now[part]):
        who = f"{of_lock}, the lock file"
        how = f"say {which} when you lock, with --preset (preset=...)"
    else:
        who, how = of_source, f"say {which} with {ways_to_name({of_source: model})}"
    return f"{what} by {who}: {how}; or compare without: --scope {scope} (scope={scope!r})"


_MATTERS = {
    "added": "roles do not change ids: metadata",
    "chat_template": "does not change ids: metadata",
}


def _beside(held: Lock, model: BPEModel, *, roles: bool) -> Iterator[Difference]:
    """What changes no id, and is other than what was locked: roles, and the chat template.

    Without ``roles`` these are not looked at: a side does not state the tokens that have them.
    """
    now, then = roles_of(model), held.roles
    if roles and now != then:
        new, gone = (
            ", ".join(role for role in roles if role not in others) or "none"
            for roles, others in ((now, then), (then, now))
        )
        yield Difference("added", "different", f"other roles: {new}; locked: {gone}")
    if chat_template_of(model) != held.chat_template:
        how = "the chat template is not the locked one"
        if not held.chat_template:
            how = "a chat template, where none was locked"
        elif model.chat_template is None:
            how = "no chat template, where one was locked"
        yield Difference("chat_template", "different", how)


def _shown_by(
    mismatch: Mismatch | None, changed: Sequence[str], held: Lock, model: BPEModel
) -> str:
    """The line of the fingerprint whose change a text shows; empty where it may be another's.

    Added tokens that are not special match where special strings are text, too. Only the template
    has no part in ids without one, and added tokens have none in a text that holds none.
    """
    if mismatch is None:
        return ""
    placed = mismatch.mode == TEMPLATED
    able = [part for part in (_IDS if placed else _IDS[:2]) if part in changed]
    if able == ["text", "specials"] and not placed:
        added = _locked_added(held) | {token.text for token in model.added or ()}
        able = [] if any(text in mismatch.text for text in added) else ["text"]
    return able[0] if len(able) == 1 else ""


def _locked_added(held: Lock) -> set[str]:
    """The texts that have the id of an added token alone; a few may be of other tokens."""
    numbers = {row.id for row in held.tokens}
    alone = ((how, text, ids[0]) for how, text, ids in held.golden if text and len(ids) == 1)
    return {text for how, text, number in alone if how == "parse" or number not in numbers}


def _stages(lines: _Lines, shown: str, ways: Sequence[str]) -> Iterator[Stage]:
    """Each line of a fingerprint, and whether it is the locked one; one that a text shows.

    What no side states, and what the ``ways`` of asking do not ask for, is not called proved.
    """
    asked = {"specials": "parse", "template": "template"}
    for part in _LINES:
        name, silent = _NAMES.get(part, part), lines.silent(part)
        if any(silent):
            yield Stage(name, "unknown", f"{_WHO[silent]} {_WHAT[part]}")
        elif lines.same(part) and asked.get(part, "text") not in ways:
            yield Stage(name, "unknown", "the same fingerprint, but not compared")
        elif lines.same(part):
            yield Stage(name, "proved", "the same fingerprint")
        elif part == shown:
            why = f"another fingerprint{lines.others.get(part, '')}, and a text with other ids"
            yield Stage(name, "refuted", why)
        else:
            yield Stage(name, "unknown", f"another fingerprint{lines.others.get(part, '')}")


_WHO = {
    (True, True): "neither side says",
    (True, False): "the lock file does not say",
    (False, True): "the source does not say",
}
_WHAT = {"specials": "which there are", "template": "what is placed around a text"}


def _verdict(
    answered: _Held,
    changed: Sequence[str],
    unfound: Sequence[str],
    side: Engine,
    chance: str,
    notes: list[str],
) -> Verdict:
    """The verdict; what keeps it from a better one is noted, ``chance`` among it."""
    if chance:
        notes.append(f"{chance}, and tokenizers takes one of them by chance: nothing is proved")
    same = answered.mismatch is None
    complete = bool(answered.asked) and not answered.failures
    speaks = same and not changed and _speaks_for_all_texts(side, notes) and not chance
    return verdict_of(refuted=not same, proved=complete and speaks, tested=complete and not unfound)


def _ways(lines: _Lines, model: BPEModel, side: Engine, scope: Scope) -> tuple[str, ...]:
    """The ways of asking for ids that count and that both the lock file and a side can answer."""
    if scope != "all" or not side.parses_special or any(lines.silent("specials")):
        return ("text",)
    placed = side.applies_template and not any(lines.silent("template"))
    return tuple(how for how in answers(model) if how != "template" or placed)


def _unfound(lines: list[str]) -> Iterator[str]:
    """Another tokenizer than was locked must not pass because the texts were the wrong ones."""
    if lines:
        names = ", ".join(_NAMES.get(line, line) for line in lines)
        what = "but other texts may have changed"
        if lines == ["decoder"]:
            what = "but what ids decode to is not in a lock file, and may have changed"
        yield (
            f"the fingerprint is not the locked one ({names}): all locked texts still have the "
            f"same ids, {what}; if you meant the change, lock again; else compare with the old "
            "files: git show REV:PATH > OLD, then bpe-interop verify OLD NEW decides"
        )


def _known(lines: _Lines, meant: Sequence[str], *, sure: bool) -> str:
    """What is known where no text shows that ids changed; empty where nothing was changed.

    ``sure`` says that lines of ids that are the locked ones speak for every text.
    """
    if not meant:
        return ""
    fields = "; ".join(
        lines.others.get(part, "").strip(" ()") or _NAMES.get(part, part) for part in meant
    )
    other = f"not the locked tokenizer (other {fields})"
    if meant == ["decoder"]:
        ids = "no id changed" if sure else "no locked text has other ids"
        return f"{other}: {ids}, but what ids decode to may have changed"
    return f"{other}, but no text shows whether ids changed"


def _speaks_for_all_texts(side: Engine, notes: list[str]) -> bool:
    """Whether a side is known to do what our encoder does; a note where it is not."""
    reasons = doubts({side.name})
    notes += map(not_called_proved, reasons)
    return not reasons


def _assumed(model: BPEModel, side: Engine) -> tuple[str, ...]:
    hashed = "no two normal forms have one sha256"
    if side.name not in EXAMINED:
        return (hashed,)
    return hashed, *assumptions((model, model), {side.name})


def _example(mismatch: Mismatch, held: Lock, model: BPEModel, first: bool) -> Example:
    """What a locked id stood for is known where a locked text was this id alone."""
    sides = (None, Encoder(model)) if first else (Encoder(model), None)
    spans = align(mismatch.text, mismatch.ids_a, mismatch.ids_b, sides[0], sides[1], mismatch.mode)
    texts = {row.id: show(row.text) for row in held.tokens if row.ids == (row.id,)}
    return Example(mismatch, tuple(_with_locked(span, texts, first) for span in spans))


def _with_locked(span: Span, texts: Mapping[int, str], first: bool) -> Span:
    """A span with what the locked ids stood for, where it is known of all."""
    ids = span.ids_a if first else span.ids_b
    if not texts.keys() >= {*ids}:
        return span
    tokens = tuple(texts[number] for number in ids)
    return replace(span, tokens_a=tokens) if first else replace(span, tokens_b=tokens)


@dataclass(slots=True)
class _Held:
    """What became of the locked texts: how many were asked for, and how many have other ids."""

    asked: int = 0
    bytes: int = 0
    differing: int = 0
    mismatch: Mismatch | None = None
    failures: list[Failure] = field(default_factory=list)

    def keep(self, mismatch: Mismatch) -> None:
        """Keeps a difference, if it is plainer than the one there is."""
        self.differing += 1
        if self.mismatch is None or oddness(mismatch) < oddness(self.mismatch):
            self.mismatch = mismatch


def _hold(
    golden: Iterable[Golden], side: Engine, first: bool, tick: Callable[[int], None]
) -> _Held:
    """Asks a side for the ids of locked texts.

    Where a library fails, nothing is said of the text; where our encoder has no ids for it any
    more, that is a difference.
    """
    held = _Held()
    asked = list(golden)
    begin(tick, "locked texts", len(asked))
    for how, text, then in asked:
        held.asked += 1
        held.bytes += len(text.encode("utf-8", "surrogatepass"))
        tick(1)
        answer = encode_one(side, text, _MODES[how])
        if isinstance(answer, Failure):
            held.failures.append(answer)
            if not isinstance(side, Own):
                continue
        now = () if isinstance(answer, Failure) else tuple(answer)
        if now != then or isinstance(answer, Failure):
            ids = (then, now) if first else (now, then)
            held.keep(Mismatch(_MODES[how], text, *ids))
    return held


def _asked(held: Lock, ways: tuple[str, ...], model: BPEModel, scope: Scope) -> Iterator[Golden]:
    """The locked answers that count. Engines find added tokens that are not special anyway."""
    added = [] if scope != "text" else [token.text for token in model.added or ()]
    own: Iterator[Golden] = (("text", row.text, row.ids) for row in held.tokens)
    for how, text, ids in chain(held.golden, own):
        if how in ways and not any(token in text for token in added):
            yield how, text, ids


def new_tokens(held: Lock, model: BPEModel) -> list[AddedToken]:
    """The added tokens that were none when the lock file was written.

    It has each added token's own text, as parsed, or as text where that is its id already.
    """
    known = {text for how, text, _ in held.golden if how == "parse"}
    whole = {(text, ids) for _, text, ids in held.golden}
    return [
        token
        for token in model.added or ()
        if token.text not in known and (token.text, (token.id,)) not in whole
    ]


_DERIVED = (
    "without the added tokens that are new the fingerprint is the locked one: the locked ids of "
    "the text follow from that"
)


def _derived(held: Lock, lines: _Lines, ways: Iterable[str], model: BPEModel) -> list[Golden]:
    """The locked ids of the texts of new tokens, which no lock file has, as far as they are known.

    If the tokenizer without these tokens has the locked fingerprint, its ids are the locked ones.
    """
    new = new_tokens(held, model)
    if not new or any(lines.silent("specials")) or not lines.same("text"):
        return []
    before = replace(model, added=tuple(token for token in model.added or () if token not in new))
    prints = fingerprint(before)
    if any(prints[part] != lines.locked[part] for part in ("text", "specials")):
        return []
    asked = [(how, token.text) for token in new for how in ways if how != "template"]
    return list(answered_by(before, asked))


def changes(
    held: Lock, model: BPEModel, now: Stated | None, changed: Sequence[str]
) -> Iterator[str]:
    """Sentences; none where none of these changed, whatever else did."""
    if held.stated is not None and now is not None:
        yield from what_changed(held.stated, now, changed)
    yield from _tokens(held, model)
    yield from _merges(held, model)
    if held.stated is None:
        yield from _added(held, model)


def _tokens(held: Lock, model: BPEModel) -> Iterator[str]:
    contents = {number: content for content, number in model.vocab.ids.items()}
    sentences: list[str] = []
    # Of two rows of a token the first has the text that is plainer.
    for row in {row.id: row for row in reversed(held.tokens)}.values():
        content = contents.pop(row.id, None)
        if content is None:
            sentences.append(f"id {row.id} is no token any more; its text was {show(row.text)}")
        elif row.text not in texts_with(content, model):
            sentences.append(f"id {row.id} is {show(content)}; its text was {show(row.text)}")
    new = (
        f"id {number} is {show(content)}, and was no token"
        for number, content in contents.items()
        if next(texts_with(content, model), None) is not None
    )
    sentences.reverse()
    yield from first_of(sentences + list(new), "ids have other tokens")


def _merges(held: Lock, model: BPEModel) -> Iterator[str]:
    """Blocks after the first that differs are shifted, and say nothing."""
    now = merge_blocks(model)
    if now == held.merges:
        return
    pairs = zip(held.merges, now, strict=False)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    place = BLOCK * same
    begins = next(islice(canonical(model).splits.values(), place, None), None)
    at = "" if begins is None else f" (from {show(begins[0])} + {show(begins[1])} on)"
    if place:
        many = f"the first {place:,} merges are the locked ones"
        yield f"{many}; within the next {BLOCK} one is not{at}"
    else:
        yield f"within the first {BLOCK} merges one is not the locked one{at}"


def _added(held: Lock, model: BPEModel) -> Iterator[str]:
    if not states(held.fingerprint["specials"]):
        return
    new = [
        f"added token {show(token.text)} (id {token.id}) is new"
        for token in new_tokens(held, model)
    ]
    yield from first_of(new, "added tokens are new")
