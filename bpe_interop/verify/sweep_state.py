"""How far a comparison came, in a file from which a later run goes on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from ..corpora import BEGINNING, Mark, Place, Selection, Shard, signatures
from ..errors import SourceError
from ..io import replace_file
from ..shards.state_file import parse_state, state_of
from ..strict_json import Node, check_schema
from .corpus_report import CorpusReport, read_report

SCHEMA = 2
KIND = "bpe-interop comparison begun"


class Saved:
    """A state file: which corpus it is about, how far it was read, and the report so far.

    The documents before the mark are those that the report is about, so what a run that goes on
    from there reports, added to it, is what one run over all of them reports.
    """

    def __init__(
        self,
        path: Path,
        shards: tuple[Shard, ...],
        selection: Selection,
        versions: Mapping[str, str],
    ) -> None:
        self._path, self._versions = path, dict(versions)
        self._corpus = {
            "shards": signatures(shards),
            "selection": asdict(selection),
        }
        self._labels = [shard.label for shard in shards]

    def read(self, report: CorpusReport) -> tuple[CorpusReport, Mark]:
        """The report and the mark that were written last; without a file, those given.

        Args:
            report: an empty one on the same sides.

        Raises:
            SourceError: the file cannot be read, or is about another corpus, another selection of
                its documents, other versions, or other sides.
            FormatError: it is no state file, or one of another version.
        """
        data = state_of(self._path)
        if data is None:
            return report, BEGINNING
        node = parse_state(data, str(self._path), KIND)
        check_schema(node, SCHEMA)
        self._check_same(node)
        mark = node["mark"]
        shard = _number(mark["shard"], len(self._labels))
        place = Place(_number(mark["line"]), _number(mark["offset"]))
        return report + read_report(node["report"]), Mark(shard, place)

    def write(self, report: CorpusReport, mark: Mark) -> None:
        """Writes the file, whole or not at all.

        Raises:
            TargetError: it cannot be written.
        """
        file = self._labels[mark.shard] if mark.shard < len(self._labels) else ""
        place = {"shard": mark.shard, "file": file, **asdict(mark.place)}
        about = {"kind": KIND, "schema": SCHEMA, "versions": self._versions, **self._corpus}
        done = {**about, "mark": place}
        data = json.dumps({**done, "report": report.as_data()}, ensure_ascii=True)
        replace_file(self._path, data.encode("ascii"))

    def _check_same(self, node: Node) -> None:
        if node["versions"].value != self._versions:
            raise SourceError(
                "this state was begun with other versions of Python, bpe-interop or an engine",
                where=str(self._path),
                fix="start again with another state file",
            )
        rows = [*node["shards"].items()]
        before = [tuple(each.be(str) for each in row.items()) for row in rows]
        for row, old, new in zip(rows, before, map(tuple, self._corpus["shards"]), strict=False):
            if len(old) != len(new):
                row.fail(f"expected {len(new)} members, found {len(old)}")
            if old != new:
                raise SourceError(
                    f"this state belongs to another corpus: it is about {old[0]} with other "
                    f"contents, and now there is {new[0]}",
                    where=str(self._path),
                    fix="start again with another state file",
                )
        if len(before) != len(self._labels) or node["selection"].value != self._corpus["selection"]:
            raise SourceError(
                "this state belongs to another corpus, or to another selection of its documents",
                where=str(self._path),
                fix="start again with another state file",
            )


def _number(node: Node, most: int = (1 << 63) - 1) -> int:
    """A place that a file can have, which no seek fails on."""
    number = node.be(int)
    if not 0 <= number <= most:
        node.fail(f"expected a number from 0 to {most:,}, found {number:,}")
    return number
