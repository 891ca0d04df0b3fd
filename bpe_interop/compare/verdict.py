"""The one verdict: what a proof and texts say together of two sides, as a report.

``verify``, ``parity``, a lock file and a conversion differ in how their sides are opened, and in
which texts are run; what is concluded of them is concluded here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ..diff import Difference, diff
from ..encode import Encoder
from ..engines import NAMES, Engine, from_files, versions
from ..engines.rows import assumed_of_texts, engine_row
from ..errors import EncodeError, EngineError, EngineMissingError, UnstatedError
from ..model import BATCHING, BPEModel
from ..proof.prove import STAGES, Proof
from ..proof.stage import Scope, Stage, changed_by, counts, is_stray
from ..quoting import show
from ..text.normalize import EngineStep
from ..text.unicode import UNICODE_TABLES
from .alignment import align
from .corpus_report import EXAMPLES_KEPT, CorpusReport, Source
from .metadata import metadata_apart
from .report import Example, Report, Verdict
from .run import Sides, Tally, ask_both, mismatch_of
from .sides import (
    ORDINARY,
    PARSED,
    TEMPLATED,
    Failure,
    Mismatch,
    Mode,
    OwnEngine,
    Side,
    as_run_by,
    difference_on,
    encode_one,
    unstated,
)
from .stress import fixed


def unexamined(engines: set[str]) -> tuple[str, ...]:
    """The installed ones of these engines whose version our tests do not run on."""
    installed = versions()
    return tuple(
        f"{name} {installed[name]}"
        for name in sorted(engines)
        if installed.get(name) is not None and installed[name] not in engine_row(name).examined
    )


def doubts(engines: Iterable[str]) -> tuple[str, ...]:
    """Why a proof, which is about models, does not speak for engines; empty where it does."""
    names = {*engines}
    strangers = tuple(
        engine_row(name).doubt for name in NAMES if name in names and engine_row(name).doubt
    )
    other = unexamined(names)
    if strangers or not other:
        return strangers
    return (f"our tests do not run on {', '.join(other)}",)


def engines_of(sides: Iterable[Side]) -> set[str]:
    """The engines that a proof about two sides speaks of: those they are run in, and their own."""
    engines = {n for side in sides for n in (side.source.format.engine, side.engine.name)}
    return engines & {*NAMES}


def report_of(
    scope: Scope,
    both: Sides,
    proof: Proof | None,
    ran: Tally,
    notes: Iterable[str],
    against: Iterable[str] = (),
) -> Report:
    """The report on two sides: what was proved and what was run, put together.

    ``proof`` is None where nothing was tried, ``ran`` what was run. ``against`` says why the two
    are not called proved, as far as it is known already.
    """
    a, b, modes = both.a, both.b, both.modes
    sides = a, b
    one, two = a.model, b.model
    notes, against = [*notes, *ran.notes], [*against]
    tally = ran.total()
    counted = None if ran.corpus is None else ran.corpus.counts
    silent = unstated(side.source.model for side in sides) if scope == "all" else ()
    stages = () if proof is None else proof.stages
    mismatch, stage = None, None
    replayed, assumed = tuple[str, ...](), tuple[str, ...]()
    witness = witnessed(proof, (a.engine, b.engine))
    # A text on which the sides differ refutes, whatever was proved: an engine may do otherwise
    # than its files say.
    if witness is not None or tally.mismatch is not None:
        verdict: Verdict = "different"
        stages, mismatch, stage = _shown(proof, witness, tally.mismatch, sides)
        if proof is not None and proof.outcome == "proved":
            notes.append(_unexplained(mismatch, sides))
        # Not in threads: an interrupt would wait for the one that waits for a child process.
        ids = mismatch.ids_a, mismatch.ids_b
        again = (_replay(*each, mismatch, notes) for each in zip(sides, ids, strict=True))
        replayed = tuple(dict.fromkeys(filter(None, again)))
    elif one is not None and two is not None and _proves(proof, sides, notes, against):
        verdict, assumed = "proved", assumptions((one, two), engines_of(sides))
    else:
        # Awkward texts are ours; the documents of a corpus are what somebody asked about, so one
        # that a side did not answer leaves the question open.
        answered = counted is None or not (counted.failed_a or counted.failed_b)
        # Texts that were given up are no test.
        answered = answered and not ran.ended
        verdict = "tested" if tally.compared and answered and not silent else "unknown"
    differences = () if one is None or two is None else diff(one, two)
    told = None if proof is None else replace(proof, stages=stages)
    return Report(
        verdict=verdict,
        scope=scope,
        a=a.source.label,
        b=b.source.label,
        engine_a=f"{a.engine.name} {a.engine.version}".rstrip(),
        engine_b=f"{b.engine.name} {b.engine.version}".rstrip(),
        texts=tally.texts,
        bytes=tally.bytes,
        compared=tally.compared,
        differing=tally.differing,
        differing_in={mode.scope: ran.differing_in[mode.scope] for mode in modes},
        scopes=tuple(mode.scope for mode in modes),
        mismatch=mismatch,
        stage=stage,
        stages=stages,
        assumptions=assumed,
        replayed=replayed,
        failures=tuple(tally.failures),
        differences=differences,
        notes=tuple(notes),
        against=tuple(against),
        examples=examples_of(mismatch, ran.corpus, modes, (one, two)),
        corpus=ran.corpus,
        matters=() if told is None else matters(differences, told),
        interrupted=ran.interrupted,
        metadata=metadata_apart(
            one or a.source.model,
            two or b.source.model,
            differences,
            (a.source.model, b.source.model),
        ),
        unstated=silent,
        whole=tally.whole if mismatch is tally.mismatch else None,
    )


def _proves(
    proof: Proof | None, sides: tuple[Side, Side], notes: list[str], against: list[str]
) -> bool:
    """Whether a proof, which is about models, holds for the engines and the files of two sides."""
    if proof is None or proof.outcome != "proved":
        return False
    against += doubts(engines_of(sides))
    if against:
        return False
    for side in sides:  # engines take much memory
        if isinstance(side.engine, OwnEngine):
            side.engine.forget()
    same = sides[0].engine is sides[1].engine
    return same or all(_runs_alike(side, notes, against) for side in sides)


def _runs_alike(side: Side, notes: list[str], against: list[str]) -> bool:
    source = side.source
    # A proof is about models; a file that its engine refuses, or runs otherwise, is not its model.
    # An engine that runs already was asked.
    if not isinstance(side.engine, OwnEngine) or source.model is None or not source.files:
        return True  # of a lock file there is a model alone
    name, model = source.format.engine, source.model
    if model.added is None:
        # Special strings are asked for as text only, so it is no matter which there are.
        model = replace(model, added=())
    try:
        engine = from_files(name, source.format.name, source.files, model)
    except EngineMissingError as error:
        # Not installed: that says nothing against the proof, and the note says that it was not
        # asked.
        notes.append(f"{source.label}: not run in {name}: {error.fix}")
        return True
    except (EngineError, UnstatedError) as error:
        against.append(f"{name} does not run {source.label}: {error.what}")
        return False
    run = as_run_by(name, side.engine.model)
    own = side.engine if run is side.engine.model else OwnEngine(run)
    tally = ask_both(own, engine, fixed(), [replace(ORDINARY, decodes=False)])
    if tally.mismatch is not None:
        text = show(tally.mismatch.text)
        against.append(f"{name} gives {source.label} other ids on {text}")
    return tally.mismatch is None


def _unexplained(mismatch: Mismatch, sides: tuple[Side, Side]) -> str:
    """A note on an engine that differs where the models are proved equal."""
    doubts = [engine_row(side.engine.name).doubt for side in sides]
    if mismatch.decoding and any(doubts):
        return (
            f"the models were proved equal: {next(filter(None, doubts))} when it decodes; "
            "bpe-interop inspect says what is known of it"
        )
    if any(doubts):
        return (
            f"the models that were read are equal: {next(filter(None, doubts))}, and by its own "
            "settings it gives other ids; bpe-interop inspect says what is known of it"
        )
    names = " and ".join(side.engine.name for side in sides if side.engine.name != OwnEngine.name)
    for side in sides:
        model = side.source.model
        if model is not None and as_run_by(side.engine.name, model) is not model:
            return (
                f"the models that were read are equal: {side.engine.name} takes a text as it is, "
                "and of added tokens their texts alone, so what a normalizer and flags do is left "
                "to its callers"
            )
    return (
        f"the models that were read are equal, and {names or 'an engine'} gives something else "
        "than its files say: what an engine gives is what it serves, so run both sides in the one "
        "that you use (--engine-a, --engine-b)"
    )


def _shown(
    proof: Proof | None, shown: Mismatch | None, plainest: Mismatch | None, sides: tuple[Side, Side]
) -> tuple[tuple[Stage, ...], Mismatch, str | None]:
    """The stages with what the run found, the text to show, and the stage that it shows.

    ``shown`` is the text of the proof's first stage that differs, where the sides differ on it,
    ``plainest`` the text that the run found.
    """
    stages = {stage.name: stage for stage in (() if proof is None else proof.stages)}
    order = {name: at for at, name in enumerate(stages)}
    stage = None if plainest is None else _stage(sides[0].model, sides[1].model, plainest)
    if stage is not None and stage in stages and stages[stage].outcome == "proved":
        stage = None  # the models agree there, so an engine does otherwise
    mismatch = plainest
    if proof is not None and proof.stage is not None and shown is not None:
        at, proved_at = (order.get(name or "", len(order)) for name in (stage, proof.stage))
        # Of two texts the one whose stage is first; of one stage, the shorter one.
        own = proved_at, is_stray(shown.text), len(shown.text)
        if plainest is None or (at, is_stray(plainest.text), len(plainest.text)) >= own:
            mismatch, stage = shown, proof.stage
    if mismatch is None:
        raise AssertionError("a refutation has a text")
    if stage is not None and stage in stages:
        stages[stage] = stages[stage].shown_by(mismatch.text)
    return tuple(stages.values()), mismatch, stage


def witnessed(proof: Proof | None, sides: tuple[Engine, Engine]) -> Mismatch | None:
    """The witness of a proof, run on the two sides; None if they do not differ on it."""
    if proof is None or proof.witness is None:
        return None
    modes = [mode_of(proof.scope, proof.stage), ORDINARY]
    if proof.scope == "all" and all(side.parses_special for side in sides):
        modes += [PARSED, TEMPLATED]
    decoded = proof.stage == "decoding"
    shown = (
        difference_on(proof.witness, mode, *sides, decoded=decoded) for mode in dict.fromkeys(modes)
    )
    return next(filter(None, shown), None)


def mode_of(scope: Scope, stage: str | None) -> Mode:
    """The plainest way of asking for ids in which a difference at a stage shows."""
    if scope == "all" and stage == "special tokens":
        return PARSED
    placed = stage in ("sequence template", "decoding")
    return TEMPLATED if scope == "all" and placed else ORDINARY


def _stage(a: BPEModel | None, b: BPEModel | None, mismatch: Mismatch) -> str | None:
    if mismatch.decoding is not None:
        return "decoding"
    if a is None or b is None:
        return None
    return first_stage(Encoder(a), Encoder(b), mismatch.text, mismatch.mode)


def _replay(
    side: Side, expected: tuple[int, ...], mismatch: Mismatch, notes: list[str]
) -> str | None:
    """Runs a witness in the engine of a side's format; a note where it says otherwise."""
    run, source, mode = side.engine, side.source, mismatch.mode
    # An engine gave the ids itself, so nothing need be run again.
    if run.name != OwnEngine.name:
        return f"{run.name} {run.version}"
    if mismatch.decoding is not None or not source.files:
        return None
    name = source.format.engine
    try:
        engine = from_files(name, source.format.name, source.files, source.model)
    except (EngineError, UnstatedError) as error:
        notes.append(f"{source.label}: the text was not run in {name}: {error.what}")
        return None
    if mode.special == "parse" and not engine.parses_special:
        return None
    if mode.add_special_tokens and not engine.applies_template:
        return None
    ids = encode_one(engine, mismatch.text, mode)
    if isinstance(ids, Failure):
        notes.append(f"{source.label}: {name} failed on the text: {ids.what}")
        return None
    if tuple(ids) != expected:
        notes.append(f"{source.label}: {name} {engine.version} gives {ids}")
        return None
    return f"{name} {engine.version}"


def examples_of(
    first: Mismatch | None,
    corpus: CorpusReport | None,
    modes: Sequence[Mode],
    models: tuple[BPEModel | None, BPEModel | None],
) -> tuple[Example, ...]:
    """The text that refutes, and others of the corpora."""
    if first is None:
        return ()
    sources: dict[tuple[str, str], Source] = {}
    shown = [first]
    for difference in () if corpus is None else corpus.witnesses:
        sources.setdefault((difference.scope, difference.text), difference.source)
        if (difference.scope, difference.text) != (first.mode.scope, first.text):
            shown.append(mismatch_of(difference, modes))
    one, two = (None if model is None else Encoder(model) for model in models)
    return tuple(
        Example(
            each,
            align(each.text, each.ids_a, each.ids_b, one, two, each.mode),
            sources.get((each.mode.scope, each.text)),
        )
        for each in shown[:EXAMPLES_KEPT]
    )


_TEXT = frozenset({"normalizer", "pre-tokenizer", "core", "lookup", "ids"})
"""The stages of texts in which no added token is looked for."""


def matters(differences: Sequence[Difference], proof: Proof) -> tuple[str, ...]:
    return tuple(_said(each, differences, proof) for each in differences)


def _said(difference: Difference, differences: Sequence[Difference], proof: Proof) -> str:
    names = STAGES[difference.field]
    if not names:
        return "does not change ids: metadata"
    mine = [stage for stage in proof.stages if stage.name in names]
    for stage in mine:
        if stage.outcome == "different" and stage.name == "decoding":
            return f"changes texts (see stage {stage.name})"
        if stage.outcome == "different":
            verb = "may change" if _beside_others(names, differences, proof) else "changes"
            return f"{verb} ids (see stage {stage.name}{_outside(stage, proof)})"
    for stage in mine:
        if stage.outcome == "unknown":
            return f"not established (see stage {stage.name}{_outside(stage, proof)})"
    same = "decode to the same text" if difference.field == "decoder" else "give the same ids"
    return f"proved to {same}"


def _beside_others(names: tuple[str, ...], differences: Sequence[Difference], proof: Proof) -> bool:
    """Whether another field may be what changes ids: a text shows what they do together."""
    if not _TEXT.issuperset(names):
        return False
    open_ = {stage.name for stage in proof.stages if stage.outcome != "proved"} & _TEXT
    return sum(not open_.isdisjoint(STAGES[each.field]) for each in differences) > 1


def _outside(stage: Stage, proof: Proof) -> str:
    return "" if counts(stage.name, proof.scope) else ", outside the scope"


def first_stage(a: Encoder, b: Encoder, text: str, mode: Mode) -> str:
    """The first stage at which two models treat a text differently.

    Of a stage whose steps neither can take over from the other, that is where these differ.
    """
    plain = a.encode(text) != b.encode(text)
    if not plain and mode.special == "parse":
        parsed = a.encode(text, "all") != b.encode(text, "all")
        return "sequence template" if mode.add_special_tokens and not parsed else "special tokens"
    perhaps = ""  # steps that differ on the text, though they alone change no ids
    if a.normalize(text) != b.normalize(text):
        perhaps = "normalizer"
        changed = changed_by(a.model, b.model, "normalizer")
        if changed is None or changed(text):
            return perhaps
    left = a.pretokenize(text)
    if left != b.pretokenize(text):
        perhaps = perhaps or "pre-tokenizer"
        changed = changed_by(a.model, b.model, "pretokenizer")
        if changed is None or changed(text):
            return "pre-tokenizer"
    for pretoken in left:
        content = pretoken.encode("utf-8") if isinstance(pretoken, str) else pretoken
        try:
            x, y = a.encode_pretoken(content), b.encode_pretoken(content)
        except EncodeError:
            return perhaps or "core"  # one side has no token for what the other merges
        if x != y:
            # The same tokens under other numbers are a difference of ids, not of merging.
            same = [a.token_bytes(i) for i in x] == [b.token_bytes(i) for i in y]
            return "ids" if same else "core"
    return perhaps or "added tokens"


def assumptions(models: tuple[BPEModel, BPEModel], engines: set[str]) -> tuple[str, ...]:
    """What a proof about two models, run in these engines, takes for granted."""
    installed = versions()
    examined = {name: engine_row(name).examined for name in sorted(engines)}
    named = ", ".join(
        f"{n} {installed.get(n) or known[-1]}" for n, known in examined.items() if known
    )
    sentences = [
        f"the engines do what our encoder does (tested, on {named or 'none'})",
        f"character classes are those of Unicode {UNICODE_TABLES.unicode}",
        "the engines' resources suffice: no limit of a regex engine or of memory is reached",
        "texts are valid Unicode",
    ]
    sentences += assumed_of_texts(engines)
    for name in sorted(engines):
        if engine_row(name).bare:
            sentences += _left_to_callers(name, models)
    if any(isinstance(step, EngineStep) for model in models for step in model.normalizer or ()):
        sentences.append("normal forms and case are those of the installed tokenizers")
    sentences += dict.fromkeys(each for model in models for each in model.origin.assumed)
    if any(model.extras.get(BATCHING) for model in models):
        sentences.append("truncation and padding are off, though a file asks for them")
    return tuple(sentences)


def _left_to_callers(engine: str, models: tuple[BPEModel, BPEModel]) -> Iterator[str]:
    """What an engine that is bare does only with its caller's help."""
    added = [token for model in models for token in model.added or ()]
    if not all(token.special for token in added):
        yield (
            f"who calls {engine} asks it for the added tokens that are not special: "
            "encode(text, allowed_special={...}, disallowed_special=())"
        )
    if any(token.looks_around for token in added):
        yield f"who calls {engine} does what the flags of added tokens say (lstrip, rstrip, ...)"
    if any(model.normalizer for model in models):
        yield f"who calls {engine} normalizes a text before"
