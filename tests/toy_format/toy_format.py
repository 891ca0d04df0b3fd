"""A small format as another package brings it: one JSON file, ``NAME.toy``, byte-level only.

``toy``: 1; ``pattern``: a regex whose matches are isolated; ``ids``: tokens in hex to ids;
``merges``: pairs of tokens in hex; ``special``: texts to ids.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from bpe_interop.engines import Engine, from_files
from bpe_interop.errors import FormatError
from bpe_interop.formats import Files, Format, by_name
from bpe_interop.formats.names import FileNames
from bpe_interop.formats.round_trip import RoundTrip
from bpe_interop.loss import Loss
from bpe_interop.merging.canonical import canonical
from bpe_interop.model import (
    AddedToken,
    Affixes,
    BPEModel,
    Fallback,
    Origin,
    PairList,
    SequenceTemplate,
    Vocab,
)
from bpe_interop.steps import JoinBytes, Pattern, Split
from bpe_interop.strict_json import parse

SUFFIX = ".toy"
UNCUT = r"[\s\S]+"


def sniff(files: Files) -> bool:
    return len(files) == 1 and all(data.startswith(b'{"toy"') for data in files.values())


def load(files: Files) -> BPEModel:
    names = [name for name in files if name.endswith(SUFFIX)] or list(files)
    root = parse(files[names[0]], names[0])
    root.only("toy", "pattern", "ids", "merges", "special")
    try:
        ids = {bytes.fromhex(token): root["ids"][token].be(int) for token in root["ids"].value}
        pairs = [[bytes.fromhex(p.be(str)) for p in m.items()] for m in root["merges"].items()]
        merges = PairList(tuple((one, two) for one, two in pairs))
    except (TypeError, ValueError) as error:
        raise FormatError(str(error) or "malformed", where=names[0], fix="write it again") from None
    special = {text: root["special"][text].be(int) for text in root["special"].value}
    return BPEModel(
        vocab=Vocab(ids),
        merges=merges,
        normalizer=(),
        pretokenizer=(Split(Pattern(root["pattern"].be(str), "oniguruma"), "isolated"),),
        added=tuple(AddedToken(text, number) for text, number in special.items()),
        sequence_template=SequenceTemplate(),
        decoder=(JoinBytes(),),
        origin=Origin("toy", name=names[0].removesuffix(SUFFIX)),
    )


def dump(model: BPEModel) -> Files:
    ids = model.vocab.ids
    rule = model.merges
    pairs = rule.pairs if isinstance(rule, PairList) else canonical(model).splits.values()
    said = {
        "toy": 1,
        "pattern": pattern_of(model) or UNCUT,
        "ids": {token.hex(): number for token, number in ids.items()},
        "merges": [
            [one.hex(), two.hex()]
            for one, two in pairs
            if one in ids and two in ids and one + two in ids
        ],
        "special": {token.text: token.id for token in model.added or ()},
    }
    return {f"{model.origin.name or 'tokenizer'}{SUFFIX}": json.dumps(said).encode()}


def pattern_of(model: BPEModel) -> str | None:
    match model.pretokenizer:
        case (Split(Pattern(source, "oniguruma"), "isolated", False),):
            return source
    return None


def explain(trip: RoundTrip) -> Iterator[Loss]:
    model = trip.model
    plain = {AddedToken(token.text, token.id) for token in model.added or ()}
    odd = model.alphabet == "char" or model.affixes != Affixes()
    reasons = {
        "alphabet": model.alphabet == "char",
        "affixes": model.affixes != Affixes(),
        "vocab": odd or bool(model.vocab.kinds or model.vocab.scores),
        "merges": odd,
        "lookup_first": model.lookup_first,
        "fallback": odd or model.fallback != Fallback(),
        "normalizer": bool(model.normalizer),
        "pretokenizer": pattern_of(model) is None,
        "added": {*(model.added or ())} != plain or len(plain) != len(model.added or ()),
        "sequence_template": model.sequence_template != SequenceTemplate(),
        "decoder": model.decoder != (JoinBytes(),),
        "chat_template": model.chat_template is not None,
        "extras": bool(model.extras),
    }
    light = ("chat_template", "extras")
    for found in trip.differences:
        if reasons[found.field]:
            grade = "metadata" if found.field in light else "ids"
            yield Loss(found.field, grade, f"a toy has no such {found.field}", "it would be lost")


def engine(files: Files, model: BPEModel | None) -> Engine:
    written = by_name("huggingface").dump(load(files))
    return from_files("tokenizers", "huggingface", written)


FORMAT = Format(
    name="toy",
    title="toy",
    spec="https://example.org/toy",
    engines={"tokenizers": "toy_format:engine"},
    holds=frozenset({"alphabet", "vocab", "merges", "pretokenizer", "added", "decoder"}),
    sniff=sniff,
    load=load,
    dump=dump,
    explain=explain,
    names=FileNames(endings=(SUFFIX,), one_file=SUFFIX, called="toy"),
)
