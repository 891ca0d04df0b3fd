"""Post-processors of a ``tokenizer.json``: what stands around a sequence, and offset trimming.

Sources: tokenizers' ``processors/template.rs``, ``roberta.rs``, ``bert.rs``, ``sequence.rs``.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...errors import compared_in
from ...model import Json, SequenceTemplate, TemplatePart, TemplateText, TemplateToken
from ...strict_json import Node
from .component import byte_level_json, check_byte_level, components

_PLAIN = SequenceTemplate((TemplateText("A", 0),), (TemplateText("A", 0), TemplateText("B", 1)))


def read_post_processor(node: Node) -> tuple[SequenceTemplate, bool | None]:
    """The two effects of a post-processor; a null has none.

    Returns:
        What is placed around a text, and how offsets are trimmed: the flag ``add_prefix_space``,
        None where they are not. That changes offsets only, never ids.

    Raises:
        UnsupportedError: a post-processor that is not understood, or two templates in sequence.
    """
    if not node.given:
        return SequenceTemplate(), None
    kind = node["type"].be(str)
    if kind == "Sequence":
        node.only("type", "processors")
        parts = [read_post_processor(child) for child in components(node["processors"])]
        templates = [template for template, _ in parts if template != SequenceTemplate()]
        if len(templates) > 1:
            node.refuse(
                "more than one template in sequence is not supported",
                fix=compared_in("tokenizers"),
            )
        trims = [trim for _, trim in parts if trim is not None]
        return templates[0] if templates else SequenceTemplate(), trims[-1] if trims else None
    if kind == "ByteLevel":
        check_byte_level(node)
        return SequenceTemplate(), _trim(node)
    template = read_template(node)
    trim = _trim(node) if kind == "RobertaProcessing" else None
    return SequenceTemplate() if template == _PLAIN else template, trim


def _trim(node: Node) -> bool | None:
    prefix = node.flag("add_prefix_space")
    return prefix if node.flag("trim_offsets") else None


def read_template(node: Node) -> SequenceTemplate:
    """What one post-processor places, and the type ids that it gives to texts.

    Raises:
        UnsupportedError: it is none that places tokens, or is not understood.
    """
    kind = node["type"].be(str)
    if kind in ("RobertaProcessing", "BertProcessing"):
        roberta = kind == "RobertaProcessing"
        node.only("type", "sep", "cls", *(("trim_offsets", "add_prefix_space") if roberta else ()))
        cls, sep = (_named_id(node[key]) for key in ("cls", "sep"))
        return cls_sep_template(cls, sep, roberta=roberta)
    if kind != "TemplateProcessing":
        node.refuse(f"the post-processor {kind!r} is not supported", fix=compared_in("tokenizers"))
    node.only("type", "single", "pair", "special_tokens")
    tokens = node["special_tokens"]
    for name in tokens.be(dict):
        _check_token(tokens[name])
    template = SequenceTemplate(
        tuple(_read_part(part, tokens) for part in node["single"].items()),
        tuple(_read_part(part, tokens) for part in node["pair"].items()),
    )
    _once_each(node["single"], template.single, ["A"])
    _once_each(node["pair"], template.pair, ["A", "B"])
    return template


def _once_each(node: Node, parts: tuple[TemplatePart, ...], texts: list[str]) -> None:
    # tokenizers places the texts as the template says even where no special tokens are asked for.
    if sorted(part.which for part in parts if isinstance(part, TemplateText)) != texts:
        node.refuse(f"a template that does not hold {' and '.join(texts)} once changes the text")


def _read_part(node: Node, tokens: Node) -> TemplatePart:
    node.exactly("Sequence", "SpecialToken")
    if "Sequence" in node and "SpecialToken" in node:
        node.refuse("a part is a Sequence or a SpecialToken, and this is both")
    if "Sequence" in node:
        text = node["Sequence"]
        text.only("id", "type_id")
        which = text["id"].be(str)
        if which not in ("A", "B"):
            text["id"].fail(f'expected "A" or "B", found {which!r}')
        return TemplateText("A" if which == "A" else "B", text["type_id"].id())
    special = node["SpecialToken"]
    special.only("id", "type_id")
    name = special["id"].be(str)
    ids = tokens[name]["ids"].items()
    return TemplateToken(name, tuple(map(Node.id, ids)), special["type_id"].id())


def _check_token(entry: Node) -> None:
    """Refuses an entry that tokenizers would not load, whether the template names it or not."""
    entry.only("id", "ids", "tokens")
    entry["id"].be(str)
    for number in entry["ids"].items():
        number.id()
    for token in entry["tokens"].items():
        token.be(str)


def cls_sep_template(cls: TemplateToken, sep: TemplateToken, *, roberta: bool) -> SequenceTemplate:
    """What stands around texts for RoBERTa, or for BERT; the type ids of both tokens are 0."""
    # RoBERTa has two separators in a pair, and no second type (processors/roberta.rs, bert.rs).
    second = 0 if roberta else 1
    middle = (sep,) if roberta else ()
    single = (cls, TemplateText("A", 0), sep)
    last = TemplateToken(sep.name, sep.ids, second)
    return SequenceTemplate(single, (*single, *middle, TemplateText("B", second), last))


def _named_id(node: Node) -> TemplateToken:
    parts = list(node.items())
    if len(parts) != 2:
        node.fail("expected a token and its id")
    return TemplateToken(parts[0].be(str), (parts[1].id(),))


def write_post_processor(
    template: SequenceTemplate, trim: bool | None, names: Mapping[int, str], *, plain: bool
) -> Json:
    """The JSON of a post-processor; ``names`` spells each id of the template as the file does.

    A ``ByteLevel`` stands for none, and with ``plain`` a null does.
    """
    parts: list[Json] = []
    empty = template == SequenceTemplate()
    if trim is not None or (empty and not plain):
        parts.append(byte_level_json(bool(trim), trim=trim is not None))
    if not empty:
        parts.append(_template_json(template, names))
    if len(parts) < 2:
        return parts[0] if parts else None
    return {"type": "Sequence", "processors": parts}


def _template_json(template: SequenceTemplate, names: Mapping[int, str]) -> Json:
    tokens: dict[str, Json] = {}
    for part in (*template.single, *template.pair):
        if isinstance(part, TemplateToken):
            tokens[part.name] = {
                "id": part.name,
                "ids": list(part.ids),
                "tokens": [names.get(number, part.name) for number in part.ids],
            }
    return {
        "type": "TemplateProcessing",
        "single": [_part_json(part) for part in template.single],
        "pair": [_part_json(part) for part in template.pair],
        "special_tokens": dict(sorted(tokens.items())),
    }


def _part_json(part: TemplatePart) -> Json:
    if isinstance(part, TemplateText):
        return {"Sequence": {"id": part.which, "type_id": part.type_id}}
    return {"SpecialToken": {"id": part.name, "type_id": part.type_id}}
