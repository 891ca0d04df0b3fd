"""A sequence template that is one token before and one behind each text."""

from __future__ import annotations

from ..model import (
    AddedToken,
    BPEModel,
    SequenceTemplate,
    TemplatePart,
    TemplateText,
    TemplateToken,
)


def template_of(bos: AddedToken | None, eos: AddedToken | None) -> SequenceTemplate:
    """What is placed around one text, and around each of a pair (as ``LlamaTokenizer`` does)."""

    def beside(which: TemplateText) -> tuple[TemplatePart, ...]:
        before = [TemplateToken(bos.text, (bos.id,), which.type_id)] if bos else []
        after = [TemplateToken(eos.text, (eos.id,), which.type_id)] if eos else []
        return (*before, which, *after)

    if not bos and not eos:
        return SequenceTemplate()
    first = beside(TemplateText("A", 0))
    return SequenceTemplate(first, (*first, *beside(TemplateText("B", 1))))


def ends_of(model: BPEModel) -> tuple[AddedToken | None, AddedToken | None] | None:
    """The tokens before and after a text, if the template is one of these."""
    template = model.sequence_template
    if template is None:
        return None
    by_id = {token.id: token for token in model.added or ()}
    tokens = [part for part in template.single if isinstance(part, TemplateToken)]
    ends = [by_id.get(part.ids[0]) if len(part.ids) == 1 else None for part in tokens]
    before = bool(template.single) and isinstance(template.single[0], TemplateToken)
    bos = ends[0] if ends and before else None
    eos = ends[-1] if ends and not isinstance(template.single[-1], TemplateText) else None
    return (bos, eos) if around(template_of(bos, eos)) == around(template) else None


def around(template: SequenceTemplate | None) -> tuple[list[str | tuple[int, ...]], ...]:
    """What a template places where, without type ids and names."""
    template = template or SequenceTemplate()
    return tuple(
        [part.which if isinstance(part, TemplateText) else part.ids for part in parts]
        for parts in (template.single, template.pair)
    )
