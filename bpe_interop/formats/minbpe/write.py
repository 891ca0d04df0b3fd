"""From the model to a ``.model`` file of minbpe."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...loss import Loss
from ...merging.canonical import canonical
from ...model import AddedToken, Affixes, BPEModel, PairList
from ...steps import Pattern, Split
from ...text.matcher import python_source
from ...text.patterns import emit, parse
from ...text.visible import replace_control_characters
from ...theory.byte_ranks import over_bytes
from ...theory.cuts import preferred_in
from .. import Files
from ..one_pattern import one_pattern
from .read import BYTES, SUFFIX, VERSION, captures, load, main_file, stem_of

LISTING = ".vocab"


def dump(model: BPEModel) -> Files:
    """Writes ``NAME.model``, as minbpe's ``save`` does."""
    pairs = pairs_of(model)
    ids = numbered(pairs)
    added = held_tokens(model.added or (), len(ids))
    pattern = express(model)
    lines = [VERSION.decode(), pattern if isinstance(pattern, str) else "", str(len(added))]
    lines += [f"{token.text} {token.id}" for token in added]
    lines += [f"{ids[left]} {ids[right]}" for left, right in pairs]
    name = stem_of(model.origin.name) or "tokenizer"
    return {f"{name}{SUFFIX}": "".join(f"{line}\n" for line in lines).encode()}


def pairs_of(model: BPEModel) -> list[tuple[bytes, bytes]]:
    """The merges to write: as listed if a list of ids can have them, else as they fire.

    A merge comes after those of its parts, and no two make the same bytes.
    """
    if model.alphabet != "byte":
        model = over_bytes(model) or model
    if isinstance(model.merges, PairList) and model.affixes == Affixes():
        listed = [*_writable(model.merges.pairs)]
        if len(listed) == len(model.merges.pairs):
            return listed
    return [*_writable(canonical(model).splits.values())]


def _writable(pairs: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
    made = {bytes([byte]) for byte in range(BYTES)}
    for left, right in pairs:
        if left in made and right in made and left + right not in made:
            made.add(left + right)
            yield left, right


def numbered(pairs: Iterable[tuple[bytes, bytes]]) -> dict[bytes, int]:
    contents = [*(bytes([byte]) for byte in range(BYTES)), *(x + y for x, y in pairs)]
    return {content: number for number, content in enumerate(contents)}


def held_tokens(added: Iterable[AddedToken], size: int) -> list[AddedToken]:
    """The added tokens that minbpe can have beside ``size`` ids, each behind those it begins."""
    kept: list[AddedToken] = []
    for token in added:
        free = token.id >= size and all(token.id != other.id for other in kept)
        if free and token.text.split() == [token.text]:
            kept.append(token)
    # minbpe takes the first of the texts in its list that matches.
    for place, token in enumerate(kept):
        if any(later.text.startswith(token.text) for later in kept[place + 1 :]):
            return sorted(kept, key=lambda one: -len(one.text))
    return kept


def vocab_listing(model: BPEModel, files: Files) -> Files:
    """Adds ``NAME.vocab``: a line with token and id for each, and of a merge its two parts.

    As ``base.py`` writes it for a tokenizer that it has loaded, special tokens last.
    """
    name = main_file(files)
    pairs = pairs_of(model)
    whole = {left + right: (left, right) for left, right in pairs}
    lines = []
    for content, number in numbered(pairs).items():
        line = f"[{rendered(content)}] {number}\n"
        if content in whole:
            left, right = map(rendered, whole[content])
            line = f"[{left}][{right}] -> {line}"
        lines.append(line)
    added = load(files).added or ()
    lines += [f"[{rendered(token.text.encode('utf-8'))}] {token.id}\n" for token in added]
    return {**files, name.removesuffix(SUFFIX) + LISTING: "".join(lines).encode()}


def rendered(content: bytes) -> str:
    """A token as minbpe shows it: what is not UTF-8 replaced, control characters escaped."""
    return replace_control_characters(content.decode("utf-8", "replace"))


def express(model: BPEModel) -> str | Loss:
    """The pattern whose matches are the pretokens (empty: nothing is cut), or why there is none."""
    steps = model.pretokenizer
    if not steps:
        return ""
    return one_pattern(steps, "minbpe", lambda pattern: _one_line(pattern, model))


def _one_line(pattern: Pattern, model: BPEModel) -> str:
    """The pattern for ``regex``, without captures and line ends, and not changed by ``strip``."""
    source = pattern.source
    if pattern.dialect != "python":
        # The best known of those proved equal for this vocabulary; regex's own keeps its spelling.
        best = preferred_in(model, Split(pattern, "removed", invert=True), 0, "fancy-regex")
        source = python_source(best, parse(best))
    if captures(source) or "\n" in source or "\r" in source or source != source.strip():
        source = emit(parse(pattern), "python")
    return source if source and source == source.strip() else f"(?:{source})"
