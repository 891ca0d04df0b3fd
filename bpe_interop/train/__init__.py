"""Learn a tokenizer from text: as the tutorials do, or with somebody else's trainer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ..arguments import several
from .learner import BYTES, LearnedMerge, learned
from .pretokens import Texts, count, cuts, names_of, read_texts, refuse_names
from .training import (
    ALGORITHMS,
    Algorithm,
    Option,
    Request,
    StepTick,
    Training,
    empty,
    steps,
    untrained,
    with_merges,
)

if TYPE_CHECKING:
    from ..tokenizer import Tokenizer

__all__ = ["ALGORITHMS", "LearnedMerge", "Request", "Training", "learn", "train", "untrained"]


UNCUT = (
    "no pattern: texts were not cut into words, so that tokens go across spaces and lines; "
    "a pattern cuts them, as gpt2, cl100k or o200k do"
)
"""What a training without a pattern says."""


def train(
    texts: Texts,
    *,
    vocab_size: int | None = None,
    merges: int | None = None,
    pattern: str | None = None,
    min_frequency: int | None = None,
    special_tokens: Mapping[str, int] | Iterable[str] = (),
    algorithm: Algorithm = "tutorial",
    options: Mapping[str, Option] | None = None,
    name: str = "",
) -> Tokenizer:
    """Learns a tokenizer from texts.

    Args:
        texts: a text (``str``; refused where it is the name of a file), a corpus (``Path``: a
            file, a directory, a glob pattern, ``FILE.jsonl:FIELD``, as
            :func:`bpe_interop.corpora.find_files` says), or any number of them. Each text, each
            file of plain text, each record of JSONL and each row of Parquet stands alone: no pair
            goes from one to the next.
        vocab_size: the number of ids. The tutorial's special tokens come on top of it; the
            other algorithms count them in.
        merges: the number of merges, instead (tutorial only).
        pattern: how a text is cut before pairs are counted: ``gpt2``, ``cl100k``, ``o200k`` or
            another preset's name, or a regular expression, whose matches are the pretokens.
            None: not at all.
        min_frequency: end when the best pair occurs less often; then there may be fewer ids.
        special_tokens: texts, numbered after the learned tokens, or texts with their ids. In
            the texts learned from they are ordinary text.
        algorithm: ``tutorial`` makes the merges that the teaching implementations print;
            ``huggingface`` is tokenizers' ``BpeTrainer``; ``sentencepiece`` its trainer.
        options: what the trainers of others take besides, by their own names.
        name: the tokenizer's name.

    Raises:
        SourceError: the settings make no sense, there is no text, a file cannot be read or is
            not UTF-8, or the text does not give so many merges (the message says how many).
        PatternError: the pattern is not understood, or does not end on a text.
        EngineMissingError: the algorithm's library is not installed.
        EngineError: the algorithm's library refuses the settings or the text.
        TypeError: what is given is neither ``str`` nor ``Path``.
    """
    from ..tokenizer import Tokenizer

    several(special_tokens, "special tokens", "give [token]")
    special = special_tokens if isinstance(special_tokens, Mapping) else tuple(special_tokens)
    request = Request(
        vocab_size=vocab_size,
        merges=merges,
        min_frequency=min_frequency,
        pattern=pattern,
        special_tokens=special,
        algorithm=algorithm,
        options=options or {},
        name=name,
    )
    return Tokenizer(learn(texts, request).model)


def learn(texts: Texts, request: Request, tick: StepTick = lambda what, number: None) -> Training:
    """Learns a model from texts, and tells what was learned; otherwise as :func:`train`."""
    refuse_names(texts)
    done = _learned(texts, request, tick)
    if request.pattern is None and request.algorithm != "sentencepiece":
        done = replace(done, notes=(*done.notes, UNCUT))
    return done


def _learned(texts: Texts, request: Request, tick: StepTick) -> Training:
    if request.algorithm == "huggingface":
        from .huggingface import learn_with_tokenizers

        return learn_with_tokenizers(texts, request, tick)
    if request.algorithm == "sentencepiece":
        from .sentencepiece import learn_with_sentencepiece

        return learn_with_sentencepiece(texts, request, tick)
    return _tutorial(texts, request, tick)


def _tutorial(texts: Texts, request: Request, tick: StepTick) -> Training:
    cut = steps(request.pattern, request.dialect)
    read = read_texts(texts, cuts(cut), tick)
    counted = count(read, cut, lambda size: tick("reading", size))
    if not counted.counts:
        raise empty(counted.size, names_of(texts))
    merges, tokens = learned(
        counted.counts, request.limit, request.least, lambda made: tick("merging", made)
    )
    if request.limit is not None and len(merges) < request.limit and request.least == 1:
        raise request.short(len(merges), BYTES)
    return Training(
        model=with_merges(request, merges),
        algorithm="tutorial",
        size=counted.size,
        unmatched=counted.unmatched,
        tokens=tokens,
        merges=tuple(merges),
    )
