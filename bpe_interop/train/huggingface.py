"""tokenizers' ``BpeTrainer`` (https://github.com/huggingface/tokenizers, ``trainer.rs``)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..engines.library import guarded, library
from ..errors import SourceError
from ..formats import by_name
from ..gate import renamed
from ..model import PairList, all_ids
from ..text.bytechars import to_chars
from .learner import BYTES
from .pretokens import Handed, Texts, cuts, names_of, read_texts
from .training import Request, StepTick, Training, known_options, steps, untrained

OPTIONS = (
    "limit_alphabet",
    "initial_alphabet",
    "continuing_subword_prefix",
    "end_of_word_suffix",
    "max_token_length",
)
"""What ``BpeTrainer`` takes besides the vocabulary's size, the frequency and special tokens."""


def learn_with_tokenizers(texts: Texts, request: Request, tick: StepTick) -> Training:
    """Learns with tokenizers, behind a byte-level pre-tokenizer with the pattern that was given.

    All 256 bytes are tokens, seen or not, unless the option ``initial_alphabet`` says otherwise.

    Raises:
        SourceError, EngineMissingError, EngineError: as :func:`bpe_interop.train.train`.
    """
    known_options(request.options, OPTIONS, "tokenizers' BpeTrainer")
    special = list(request.special_tokens)
    smallest, size = BYTES + len(special), request.vocab_size or 0
    if size < smallest and not request.options:
        raise SourceError(
            f"vocab_size is {size:,}, and {BYTES} bytes with {len(special)} special tokens are "
            f"{smallest:,}, which this algorithm counts in",
            fix=f"give {smallest:,} or more",
        )
    tokenizers = library("tokenizers", without="the algorithm huggingface cannot train")
    row = by_name("huggingface")
    # Our writer knows how tokenizers has to spell the pattern.
    bare = row.dump(untrained(replace(request, special_tokens=())))["tokenizer.json"]
    with guarded("tokenizers", "on the settings"):
        tokenizer = tokenizers.Tokenizer.from_str(bare.decode("utf-8"))
        trainer = tokenizers.trainers.BpeTrainer(**_settings(request, special))
    handed = Handed(
        read_texts(texts, cuts(steps(request.pattern, request.dialect)), tick),
        lambda read: tick("reading", read),
        names_of(texts),
    )
    with handed.watched(), guarded("tokenizers", "to train"):
        tokenizer.train_from_iterator(iter(handed), trainer=trainer)
    model = renamed(row.load({"tokenizer.json": tokenizer.to_str().encode("utf-8")}), request.name)
    made = len(model.merges.pairs) if isinstance(model.merges, PairList) else 0
    numbers = all_ids(model)
    if len(numbers) < size and (request.min_frequency or 0) < 2:
        raise request.short(made, len(numbers) - made)
    return Training(model=model, algorithm="huggingface", size=handed.size)


def _settings(request: Request, special: list[str]) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "vocab_size": request.vocab_size,
        "min_frequency": request.min_frequency or 0,
        "special_tokens": special,
        "show_progress": False,
        "initial_alphabet": [to_chars(bytes([byte])) for byte in range(BYTES)],
    }
    return settings | dict(request.options)
