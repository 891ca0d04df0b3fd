"""What ``added_tokens.json`` says of ids, which nothing goes by.

transformers 5.23 reads its texts only, and these only where ``tokenizer_config.json`` has no
``added_tokens_decoder`` (``tokenization_utils_tokenizers.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ....model import AddedToken, show
from ....strict_json import Node
from .papers import ADDED, CONFIG, Papers
from .roles import DECODER

_MOST = 4


def tell_ids(
    papers: Papers, root: Node, listed: Iterable[AddedToken], served: Iterable[AddedToken]
) -> Iterator[str]:
    """Where the ids of ``added_tokens.json`` are not those that its tokens have.

    Args:
        papers: the files beside the ``tokenizer.json``.
        root: the ``tokenizer.json``.
        listed: its added tokens.
        served: those that AutoTokenizer ends up with.

    Raises:
        FormatError: an id is no integer.
    """
    if not papers.added.be(dict):
        return
    unread = DECODER in papers.config
    ids = dict(root["model"]["vocab"].be(dict))
    ids.update({token.text: token.id for token in (listed if unread else served)})
    holders = {number: text for text, number in ids.items()}
    wrong: list[str] = []
    for text in papers.added.be(dict):
        number = papers.added[text].be(int)
        if ids.get(text) == number:
            continue
        holder = holders.get(number)
        taken = "" if holder is None else f" (which is {show(holder)})"
        has = f"it has {ids[text]}" if text in ids else "it has none"
        wrong.append(f"{show(text)} {number}{taken}, but {has}")
    if wrong:
        more = f" and {len(wrong) - _MOST:,} more" if wrong[_MOST:] else ""
        why = (
            f"transformers does not read that file, because {CONFIG} has {DECODER}"
            if unread
            else "transformers goes by the texts of that file, and not by its ids"
        )
        yield f"{ADDED} gives ids that do not hold: {'; '.join(wrong[:_MOST])}{more}; {why}"
