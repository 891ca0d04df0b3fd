"""``Encoding``, as ``tiktoken.core`` has it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NoReturn

from ..errors import WrongSizeError
from ..formats import by_name
from ..formats.tiktoken.ranks import write_ranks
from ..model import BPEModel
from ..special import disallowed
from ..tokenizer import Tokenizer

__all__ = ["Encoding", "raise_disallowed_special_token"]


class Encoding(Tokenizer):
    """A tokenizer that is made of what ``tiktoken.Encoding`` is made of.

    Args:
        name: any name.
        pat_str: the pattern whose matches are the pretokens, in fancy-regex syntax.
        mergeable_ranks: the tokens' bytes to their ids, which are their priorities too.
        special_tokens: the special tokens' texts to their ids.
        explicit_n_vocab: how many tokens there are, to be checked; None or 0: not stated.

    Raises:
        WrongSizeError: there are not ``explicit_n_vocab`` tokens, or their ids have holes (also
            AssertionError).
        FormatError: the ranks or special tokens contradict each other (also ValueError).
        PatternError: the pattern cannot be read (also ValueError).
    """

    def __init__(
        self,
        name: str,
        *,
        pat_str: str,
        mergeable_ranks: Mapping[bytes, int],
        special_tokens: Mapping[str, int],
        explicit_n_vocab: int | None = None,
    ) -> None:
        if explicit_n_vocab:
            _check_size(mergeable_ranks, special_tokens, explicit_n_vocab)
        ordered = dict(sorted(mergeable_ranks.items(), key=lambda item: item[1]))
        super().__init__(stated(name, pat_str, write_ranks(ordered), special_tokens))
        self.pretokenize("")  # a pattern that cannot be run is told of now

    def __repr__(self) -> str:
        return f"<Encoding {self.name!r}>"

    __str__ = __repr__  # logs of programs that call tiktoken have one line, as before

    def __reduce__(self) -> tuple[object, ...]:
        from .registry import get_encoding, is_published  # it makes Encodings

        # The published files are the same everywhere: their sha256 was checked.
        if is_published(self):
            return get_encoding, (self.name,)
        return _again, (self.model, self._asked_engine)


def raise_disallowed_special_token(token: str) -> NoReturn:
    """Raises DisallowedSpecialError (also ValueError), as ``encode`` does for this token."""
    raise disallowed(token)


def _again(model: BPEModel, engine: str | None) -> Encoding:
    return Encoding._of(model, engine)


def _check_size(ranks: Mapping[bytes, int], special: Mapping[str, int], stated: int) -> None:
    count = len(ranks) + len(special)
    top = max(max(ranks.values(), default=0), max(special.values(), default=0))
    if count != stated or top != stated - 1:
        raise WrongSizeError(
            f"explicit_n_vocab is {stated}, but there are {len(ranks)} ranks and {len(special)} "
            f"special tokens, and the largest id is {top}",
            fix="correct the number, or leave it out",
        )


def stated(name: str, pattern: str, ranks: bytes, special: Mapping[str, int]) -> BPEModel:
    """The model of the lines of a rank file and what they do not say."""
    facts = {"name": name, "pat_str": pattern, "special_tokens": dict(special)}
    sidecar = json.dumps(facts).encode("utf-8")
    file = "mergeable_ranks"
    return by_name("tiktoken").load({file: ranks, f"{file}.json": sidecar})
