"""Sequence templates that are tokens before and after each text, mostly one on a side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..model import (
    AddedToken,
    BPEModel,
    SequenceTemplate,
    TemplatePart,
    TemplateText,
    TemplateToken,
)
from ..strict_json import Node


def template_of(bos: AddedToken | None, eos: AddedToken | None) -> SequenceTemplate:
    """At most one token on each side, as ``LlamaTokenizer`` has it."""
    return template_around([bos] if bos else [], [eos] if eos else [])


def template_asked(
    config: Node, tokens: Mapping[str, AddedToken | None], notes: list[str]
) -> SequenceTemplate | None:
    """The template that ``add_bos_token`` and ``add_eos_token`` ask for, None if it is not said.

    ``tokens``: those of the roles. Adds a note where a role has none.
    """
    if not config.get("add_bos_token").given:
        return None  # the default differs between the classes that read this file
    placed: dict[str, AddedToken] = {}
    for role in ("bos", "eos"):
        if not config.flag(f"add_{role}_token", default=False):
            continue
        token = tokens.get(role)
        if token is None:
            # transformers 5.24 then places nothing there, and 4.57 refuses to load the folder.
            notes.append(
                f"{config.get(f'add_{role}_token').where} is true, and the model has no such "
                f"{role} token; the tokens around a text are not stated"
            )
            return None
        placed[role] = token
    return template_of(placed.get("bos"), placed.get("eos"))


def template_around(before: Iterable[AddedToken], after: Iterable[AddedToken]) -> SequenceTemplate:
    """Tokens before and after one text, and before and after each of a pair."""
    first, last = list(before), list(after)
    if not first and not last:
        return SequenceTemplate()

    def around(text: TemplateText) -> tuple[TemplatePart, ...]:
        ends = (
            [TemplateToken(token.text, (token.id,), text.type_id) for token in part]
            for part in (first, last)
        )
        left, right = ends
        return (*left, text, *right)

    single = around(TemplateText("A", 0))
    return SequenceTemplate(single, (*single, *around(TemplateText("B", 1))))


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
    return (bos, eos) if template_of(bos, eos).placed == template.placed else None
