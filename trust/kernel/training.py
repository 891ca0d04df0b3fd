"""What the kernel learns from: texts of which the pretokens are counted, and words with counts."""

from __future__ import annotations

import random

from bpe_interop.kernel import is_aside
from bpe_interop.kernel.learner import learner_of
from bpe_interop.text.surrogates import repair
from bpe_interop.train.learner import learned
from bpe_interop.train.pretokens import Content, count, native_splitter

from .comparing import Answered, Case
from .texts import random_steps, random_text, short_texts

_LONG = 4
_LETTERS = ("a", "ab", "abc", "ab \u00e9", "\u4e2d\u6587\u5b57 ", "aA1 '\n", "\x00\x7f\u0080")
_COUNTS = (1, 1, 3, 1 << 40, 1 << 62)


def counted(rng: random.Random) -> list[Case]:
    """Counts the pretokens of texts, in the order they first came."""
    steps = random_steps(rng)
    texts = (*short_texts(rng), *(random_text(rng) for _ in range(_LONG)))
    contents = [Content(repair(text).encode("utf-8")) for text in texts]

    def work() -> Answered:
        found = count(contents, steps)
        by_kernel = not is_aside() and native_splitter(steps) is not None
        return Answered(([*found.counts.items()], found.size, found.unmatched), native=by_kernel)

    return [Case(work, texts=len(texts))]


def merges_learned(rng: random.Random) -> list[Case]:
    """Learns merges from words: long and short, overlapping, with equal and with huge counts."""
    letters, most = rng.choice(_LETTERS), rng.choice(_COUNTS)
    longest = rng.choice((3, 12, 12, 60))
    words: dict[bytes, int] = {}
    for _ in range(rng.choice((0, 1, 4, 8, 30))):
        word = "".join(rng.choices(letters, k=rng.randint(1, longest))).encode()
        words[word] = rng.randint(1, most)
    limit, least = rng.choice((None, None, 0, 1, 5, 40)), rng.choice((1, 1, 2, 3, 1 << 41))
    ticks: list[int] = []

    def work() -> Answered:
        ticks.clear()
        merges, tokens = learned(words, limit, least, ticks.append)
        by_kernel = not is_aside() and learner_of(words) is not None
        return Answered((merges, tokens, [*ticks]), native=by_kernel)

    return [Case(work)]
