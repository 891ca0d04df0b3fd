"""The native kernel, where it is there: the one room that knows whether it is.

``native/`` (Rust) does some work on whole vocabularies and texts many times as fast as Python.
Each function here has a twin in Python, which is the reference: what the kernel does not hold,
or finds irregular, it answers with None, and the caller does it in Python. So a message about a
file is made in one place only, and without the library everything works the same.

``BPE_INTEROP_KERNEL=python`` leaves the kernel unused. ``native`` makes it an error that it is
not there, or that it fails.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..exports import exported

if TYPE_CHECKING:
    from .canonical import (
        CanonicalForm,
        form_of_list,
        form_of_ranks,
        listed_as_ranked,
        ranked_as_listed,
    )
    from .decoder import ByteDecoder, decoder_of
    from .encoder import (
        PieceSettings,
        TextEncoder,
        encoder_of_form,
        encoder_of_list,
        encoder_of_pieces,
        spaced,
    )
    from .learner import MergeLearner, PretokenCounter, counter_of, learner_of
    from .library import VARIABLE, Running, is_aside, running, set_aside
    from .readers import read_pair, read_ranks, take_pieces, take_vocabulary
    from .splitter import SplitTable, TableSplitter, splitter_of
    from .tables import (
        LazyDict,
        Numbers,
        Pairs,
        are_checked,
        as_dict,
        differing,
        in_order,
        is_checked,
        may_hold,
        table_without,
        tokens_by_id,
        tokens_by_place,
        used_among,
        without_tokens,
    )
    from .whole_text import (
        KernelNormalizer,
        NormalForm,
        SoughtToken,
        encoder_around,
        normal_form_of,
    )
    from .writers import pairs_text, ranks_text, vocabulary_text

__all__ = [
    "VARIABLE",
    "ByteDecoder",
    "CanonicalForm",
    "KernelNormalizer",
    "LazyDict",
    "MergeLearner",
    "NormalForm",
    "Numbers",
    "Pairs",
    "PieceSettings",
    "PretokenCounter",
    "Running",
    "SoughtToken",
    "SplitTable",
    "TableSplitter",
    "TextEncoder",
    "are_checked",
    "as_dict",
    "counter_of",
    "decoder_of",
    "differing",
    "encoder_around",
    "encoder_of_form",
    "encoder_of_list",
    "encoder_of_pieces",
    "form_of_list",
    "form_of_ranks",
    "in_order",
    "is_aside",
    "is_checked",
    "learner_of",
    "listed_as_ranked",
    "may_hold",
    "normal_form_of",
    "pairs_text",
    "ranked_as_listed",
    "ranks_text",
    "read_pair",
    "read_ranks",
    "running",
    "set_aside",
    "spaced",
    "splitter_of",
    "table_without",
    "take_pieces",
    "take_vocabulary",
    "tokens_by_id",
    "tokens_by_place",
    "used_among",
    "vocabulary_text",
    "without_tokens",
]

if not TYPE_CHECKING:  # a type checker would take any name for an Any
    __getattr__ = exported(
        __name__,
        {
            "canonical": (
                "CanonicalForm",
                "form_of_list",
                "form_of_ranks",
                "listed_as_ranked",
                "ranked_as_listed",
            ),
            "decoder": ("ByteDecoder", "decoder_of"),
            "encoder": (
                "PieceSettings",
                "TextEncoder",
                "encoder_of_form",
                "encoder_of_list",
                "encoder_of_pieces",
                "spaced",
            ),
            "learner": ("MergeLearner", "PretokenCounter", "counter_of", "learner_of"),
            "library": ("VARIABLE", "Running", "is_aside", "running", "set_aside"),
            "readers": (
                "read_pair",
                "read_ranks",
                "take_pieces",
                "take_vocabulary",
            ),
            "splitter": ("SplitTable", "TableSplitter", "splitter_of"),
            "tables": (
                "LazyDict",
                "Numbers",
                "Pairs",
                "are_checked",
                "as_dict",
                "differing",
                "in_order",
                "is_checked",
                "may_hold",
                "table_without",
                "tokens_by_id",
                "tokens_by_place",
                "used_among",
                "without_tokens",
            ),
            "whole_text": (
                "KernelNormalizer",
                "NormalForm",
                "SoughtToken",
                "encoder_around",
                "normal_form_of",
            ),
            "writers": ("pairs_text", "ranks_text", "vocabulary_text"),
        },
    )
