"""minbpe's saved tokenizers (https://github.com/karpathy/minbpe, ``minbpe/base.py``).

One text file, ``NAME.model``; beside it, for people, ``NAME.vocab``, which is never read. Lines:

- ``minbpe v1``;
- the pattern, empty for a ``BasicTokenizer``, which cuts no text. ``regex.findall`` gives the
  pretokens, so text that is not matched is dropped. minbpe strips this line;
- the number of special tokens, then each with a space and its id;
- a merge per line, two ids with a space between them, best first. Its own id is 256 plus its
  place; the ids below are the bytes by their values.

So tokens need no spelling, a merge comes after those of its parts, and ids are in merge order.
minbpe merges every occurrence of the best pair at once; as later merges have later ids, that is
the same as one after the other from left to right (``docs/theory.md``, Theorem 9). Nothing is
normalized and nothing is placed around a text. minbpe's ``load`` does not compile the pattern
that it reads: to use it there, give it to ``RegexTokenizer(pattern)`` too.
"""

from __future__ import annotations

from .. import Files, Format, when_called
from ..names import TABLE
from .read import VERSION, load

__all__ = ["FORMAT", "load", "sniff"]


def sniff(files: Files) -> bool:
    """Whether exactly one file begins with minbpe's version line."""
    return sum(data.split(b"\n", 1)[0].strip() == VERSION for data in files.values()) == 1


FORMAT = Format(
    name="minbpe",
    title="minbpe model",
    spec="https://github.com/karpathy/minbpe/blob/master/minbpe/base.py",
    engines={"tokenizers": "bpe_interop.engines.tokenizers:read_minbpe"},
    holds=frozenset({"alphabet", "vocab", "merges", "pretokenizer", "added", "decoder"}),
    says=frozenset({"sequence_template"}),
    sniff=sniff,
    load=load,
    dump=when_called(".write", "dump", __name__),
    words=when_called(".words", "words", __name__),
    holder="minbpe",
    options={"vocab-listing": when_called(".write", "vocab_listing", __name__)},
    names=TABLE["minbpe"],
    called_after_name=True,
    dialect="python",
)
