"""What a comparison over a corpus did and found. Reports over its parts add up to the whole."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from operator import add, attrgetter
from typing import Protocol, TypeVar

from ..errors import SourceError
from ..strict_json import Node, check_schema, parse, read_as

SCHEMA = 1
"""The version of the JSON that is written, and the only one that is read."""
KIND = "bpe-interop corpus report"

EXAMPLES_KEPT = 10
"""How many differing texts, and how many failures, a report keeps, and JSON has. All are counted.

On the screen are fewer (``_EXAMPLES_IN_LINES`` in ``sentences.py``), in Markdown as many as fit.
"""


@dataclass(frozen=True, slots=True)
class SideName:
    """Who answered: what people call the tokenizer, what ran it, and what tells it from others.

    ``digest`` is any text that differs where the tokenizers differ (a sha256 of its files or of
    its normal form); where it is empty, ``label`` stands for it.
    """

    label: str
    engine: str
    version: str
    digest: str = ""

    def same(self, other: SideName) -> bool:
        """Whether both are one tokenizer in one engine, whatever its label."""
        if (self.engine, self.version, self.digest) != (other.engine, other.version, other.digest):
            return False
        return bool(self.digest) or self.label == other.label


@dataclass(frozen=True, slots=True)
class Counts:
    """How much was compared, and what came of it.

    ``bytes`` are of UTF-8. ``tokens_a`` and ``tokens_b`` are each side's ids with special strings
    as text. On ``compared`` documents both sides answered, on ``differing`` of them they did not
    agree, and of these ``decoding`` have equal ids that decode to different texts.
    ``failed_a`` and ``failed_b`` are documents on which a side failed, neither equal nor
    different. ``replaced`` are documents in which malformed UTF-8 was read as U+FFFD, and
    ``left_out`` those, of ``left_out_bytes``, that were given to no side, because they are outside
    the scope.
    """

    documents: int = 0
    bytes: int = 0
    tokens_a: int = 0
    tokens_b: int = 0
    compared: int = 0
    differing: int = 0
    decoding: int = 0
    failed_a: int = 0
    failed_b: int = 0
    replaced: int = 0
    left_out: int = 0
    left_out_bytes: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*map(add, _numbers(self), _numbers(other)))


_COUNTS = tuple(each.name for each in fields(Counts))
_numbers = attrgetter(*_COUNTS)


@dataclass(frozen=True, slots=True)
class Source:
    """The document in which something was found, and the line and byte where it lies.

    ``size`` is its length in characters, ``plain`` whether it is printable ASCII, ``digest`` the
    start of the sha256 of its UTF-8. ``before`` and ``after`` are what stands there, up to
    30 characters on each side of the place where the ids begin to differ.
    """

    file: str
    line: int
    offset: int
    size: int
    plain: bool
    digest: str
    before: str = ""
    after: str = ""

    def holds(self, text: str) -> bool:
        """Whether a text is the document itself, and not what is left of it."""
        return len(text) == self.size and digest_of(text) == self.digest


def digest_of(document: str) -> str:
    # 16 of 64 digits are enough to tell the documents of one report apart.
    return hashlib.sha256(document.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Found:
    """A document on which the sides differ, and the text that is left of it after shrinking.

    ``scope`` says how the sides were asked, ``rank`` orders the scopes. Where both give the same
    ids, ``decoding`` has the two texts that they decode to. ``shrunk`` is False where ``text`` is
    the document still.
    """

    source: Source
    scope: str
    rank: int
    text: str
    ids_a: tuple[int, ...]
    ids_b: tuple[int, ...]
    decoding: tuple[str, str] | None = None
    shrunk: bool = False

    @property
    def order(self) -> tuple[object, ...]:
        """Plain documents first."""
        s = self.source
        # By the document and not by the text that is left of it: shrinking must not change which
        # are kept.
        kind = (self.decoding is not None, self.rank, not s.plain, s.size, s.digest)
        where = (s.file, s.line, s.offset)
        return (*kind, *where, self.scope, self.text, self.ids_a, self.ids_b, self.decoding or ())

    @property
    def group(self) -> tuple[object, ...]:
        """The same for equal documents; one of each group is kept."""
        return self.source.digest, self.source.size, self.scope, self.decoding is not None


@dataclass(frozen=True, slots=True)
class FailedDocument:
    """A document on which a side failed, and how: ``failed``, ``panicked`` or ``killed``.

    ``side`` is ``a`` or ``b``; ``text`` is the start of the document.
    """

    source: Source
    side: str
    how: str
    what: str
    text: str

    @property
    def order(self) -> tuple[object, ...]:
        """Short ones first."""
        s = self.source
        where = (s.file, s.line, s.offset)
        return s.size, s.digest, self.side, *where, self.how, self.what, self.text

    @property
    def group(self) -> tuple[object, ...]:
        """The same for equal documents."""
        return self.source.digest, self.source.size, self.side


@dataclass(frozen=True)
class CorpusReport:
    """What a comparison of two tokenizers over documents did and found.

    ``report + report`` is the report over both parts, for parts that hold no document in common:
    in whatever order and grouping parts are added, the sum is the same, and it is what one run
    over all of them reports. ``sum(reports)`` works as well.

    ``counts`` are of all files, ``files`` of each by its label. ``found`` keeps the plainest
    differences and ``failures`` as many failures (``EXAMPLES_KEPT``); equal documents count once.
    ``scopes`` are the ways in which both sides were asked. ``versions`` maps libraries to the
    versions that ran. ``interrupted`` says that the comparison ended before its corpus did.
    """

    a: SideName
    b: SideName
    scopes: tuple[str, ...]
    counts: Counts = Counts()
    files: Mapping[str, Counts] = field(default_factory=dict)
    found: tuple[Found, ...] = ()
    failures: tuple[FailedDocument, ...] = ()
    versions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    interrupted: bool = False

    def __add__(self, other: CorpusReport) -> CorpusReport:
        """The report over both parts.

        Raises:
            SourceError: the reports are of different tokenizers, engines, versions or scopes.
        """
        if not isinstance(other, CorpusReport):
            return NotImplemented
        self._check_same(other)
        return CorpusReport(
            # Whichever part comes first, the sum has the same label.
            a=min(self.a, other.a, key=lambda side: side.label),
            b=min(self.b, other.b, key=lambda side: side.label),
            scopes=self.scopes,
            counts=self.counts + other.counts,
            files=_added(self.files, other.files),
            found=keep((*self.found, *other.found)),
            failures=keep((*self.failures, *other.failures)),
            versions=_united(self.versions, other.versions),
            notes=tuple(sorted({*self.notes, *other.notes})),
            interrupted=self.interrupted or other.interrupted,
        )

    def __radd__(self, other: object) -> CorpusReport:
        # `sum` begins with 0.
        return self if other == 0 else NotImplemented

    def _check_same(self, other: CorpusReport) -> None:
        for side, one, two in (("a", self.a, other.a), ("b", self.b, other.b)):
            if not one.same(two):
                raise SourceError(
                    f"reports on different tokenizers cannot be added: {side} is "
                    f"{_spoken(one)} in one and {_spoken(two)} in the other"
                )
        if self.scopes != other.scopes:
            raise SourceError(
                "reports with different scopes cannot be added: "
                f"{'; '.join(self.scopes)} and {'; '.join(other.scopes)}"
            )

    @property
    def witnesses(self) -> tuple[Found, ...]:
        """The kept differences with distinct texts, the plainest and smallest first."""
        distinct: dict[tuple[str, str], Found] = {}
        for each in sorted(self.found, key=_plainness):
            distinct.setdefault((each.scope, each.text), each)
        return tuple(distinct.values())

    @property
    def plainest(self) -> Found | None:
        return next(iter(self.witnesses), None)

    def to_json(self) -> str:
        """The report as one JSON document in ASCII; equal reports give equal text."""
        return json.dumps(self.as_data(), ensure_ascii=True, sort_keys=True, indent=2) + "\n"

    def as_data(self) -> dict[str, object]:
        return {"kind": KIND, "schema": SCHEMA, **asdict(self)}

    @classmethod
    def from_json(cls, data: str | bytes, where: str = "report") -> CorpusReport:
        """Reads what :meth:`to_json` wrote.

        Raises:
            FormatError: it is no such report, or one of another version.
        """
        content = data.encode("utf-8") if isinstance(data, str) else data
        return read_report(parse(content, where))


class _Kept(Protocol):
    @property
    def order(self) -> tuple[object, ...]: ...
    @property
    def group(self) -> tuple[object, ...]: ...


K = TypeVar("K", bound=_Kept)


def keep(items: Iterable[K]) -> tuple[K, ...]:
    """The first ``EXAMPLES_KEPT`` in order, one of each group."""
    first: dict[object, K] = {}
    # The order is total and knows nothing of the other items, so keeping part by part keeps what
    # keeping from the whole does.
    for item in sorted(items, key=lambda each: each.order):
        first.setdefault(item.group, item)
    return tuple(first.values())[:EXAMPLES_KEPT]


def is_plain(text: str) -> bool:
    """Whether a text prints everywhere as it is."""
    return text.isascii() and text.isprintable()


def oddness_of(text: str) -> tuple[bool, int]:
    """The order of texts that are shown: what prints everywhere, then short ones."""
    return not is_plain(text), len(text)


def _plainness(difference: Found) -> tuple[object, ...]:
    text = difference.text
    return difference.decoding is not None, difference.rank, *oddness_of(text), text


def _added(one: Mapping[str, Counts], two: Mapping[str, Counts]) -> dict[str, Counts]:
    names = sorted({*one, *two})
    return {name: one.get(name, Counts()) + two.get(name, Counts()) for name in names}


def _united(
    one: Mapping[str, tuple[str, ...]], two: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    names = sorted({*one, *two})
    return {name: tuple(sorted({*one.get(name, ()), *two.get(name, ())})) for name in names}


def _spoken(side: SideName) -> str:
    digest = f" {side.digest[:12]}" if side.digest else ""
    return f"{side.label}{digest} in {side.engine} {side.version}"


def read_report(node: Node) -> CorpusReport:
    """A report out of JSON that was parsed.

    Raises:
        FormatError: it is no such report, or one of another version.
    """
    if node.get("kind").value != KIND:
        node.fail(f"this is no {KIND}")
    check_schema(node, SCHEMA)
    report = read_as(CorpusReport, node, "kind", "schema")
    for difference, place in zip(report.found, node["found"].items(), strict=True):
        if difference.scope not in report.scopes:
            place["scope"].fail(f"this is none of the ways to ask: {', '.join(report.scopes)}")
    return report
