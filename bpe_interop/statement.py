"""What a user says of a tokenizer whose source does not: normalizer, template, roles and so on.

A source that leaves one of these unsaid has ``None`` there, or no token of that role. A statement
fills such a gap. It never replaces what a source states: that is a contradiction, unless the
tokenizer is meant to change (``extend``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from .errors import SourceError, UnstatedError
from .formats.bos_eos import template_around
from .model import (
    AddedToken,
    BPEModel,
    RankTable,
    SequenceTemplate,
    TemplateText,
)
from .presets import NFC_LEFT_OUT, NORMALIZERS, OwnPreset, Preset, template_notes, ways_to_say
from .quoting import show
from .steps import NormalizerStep

ENDS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "none": ((), ()),
    "bos": (("bos",), ()),
    "bos-eos": (("bos",), ("eos",)),
    "eos": ((), ("eos",)),
}
"""Templates by name: the roles whose tokens stand before a text, and after it."""

_TEXT = "$A"


@dataclass(frozen=True, slots=True)
class Statement:
    """What a user says of a tokenizer that its files leave unsaid.

    ``template`` is a name of :data:`ENDS`, or the texts of special tokens around ``$A``, with
    spaces between them (``"<s> $A"``); a second text of a pair gets its own, as Llama's do.
    ``roles`` map ``bos``, ``eos``, ``pad``, ``unk`` and the like to a special token's text.
    ``chat_template`` is Jinja's source. ``normalizer`` is a name of :data:`NORMALIZERS`: what is
    done to a text before a rank file or a GPT-2 pair, which cannot say it, is run on it.
    """

    template: str | None = None
    roles: Mapping[str, str] = field(default_factory=dict)
    chat_template: str | None = None
    normalizer: str | None = None

    def __bool__(self) -> bool:
        return bool(self.fields)

    def over(self, preset: Preset | None) -> Statement:
        """This, and where it says nothing what a preset of the user's own says.

        Raises:
            SourceError: both say something, and not the same.
        """
        if not isinstance(preset, OwnPreset):
            return self
        theirs = {
            "normalizer": preset.said_normalizer,
            "template": preset.said_template,
            "chat_template": preset.said_chat_template,
        }
        for name, value in theirs.items():
            given = getattr(self, name)
            if None not in (given, value) and given != value:
                option = name.replace("_", "-")
                raise SourceError(
                    f"--{option} says {show(given)}, and the preset {show(str(value))}",
                    where=preset.source,
                    fix="say it in one of them",
                )
        for role, text in preset.said_roles.items():
            if self.roles.get(role, text) != text:
                raise SourceError(
                    f"--{role} says {show(self.roles[role])}, and the preset {show(text)}",
                    where=preset.source,
                    fix="say it in one of them",
                )
        return Statement(
            self.template if self.template is not None else preset.said_template,
            {**preset.said_roles, **self.roles},
            self.chat_template if self.chat_template is not None else preset.said_chat_template,
            self.normalizer if self.normalizer is not None else preset.said_normalizer,
        )

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of the model that it says something of."""
        values = {
            "normalizer": self.normalizer is not None,
            "added": bool(self.roles),
            "sequence_template": self.template is not None,
            "chat_template": self.chat_template is not None,
        }
        return tuple(name for name, given in values.items() if given)


NOTHING = Statement()
"""What a user says who says nothing."""


def with_gaps_filled(model: BPEModel, statement: Statement) -> BPEModel:
    """The model with its gaps filled.

    Raises:
        SourceError: the source states something else, or has no such special token.
        UnstatedError: the source does not say which special tokens there are.
    """
    for role, text in statement.roles.items():
        holder = next((t.text for t in model.added or () if role in t.roles), text)
        if holder != text:
            raise _contradiction(model, f"the {role} token is {show(holder)}", show(text))
    whole = as_stated(model, statement)
    if model.normalizer != whole.normalizer and not _leaves_normalizer_open(model):
        raise _contradiction(
            model, "its normalizer is another one", f"--normalizer {statement.normalizer}"
        )
    before, after = model.sequence_template, whole.sequence_template
    if statement.template is not None and before and after and before.placed != after.placed:
        raise _contradiction(
            model, f"the template is {show(spelled(before))}", show(spelled(after))
        )
    told = model.chat_template
    if statement.chat_template is not None and told not in (None, statement.chat_template):
        raise _contradiction(model, "there is a chat template", "another one")
    return whole


def fields_filled(before: BPEModel, after: BPEModel) -> tuple[str, ...]:
    """The fields of a model that were not stated before, or whose roles are others now."""
    return tuple(
        name
        for name in ("normalizer", "added", "sequence_template", "chat_template")
        if getattr(before, name) != getattr(after, name)
        and (name in ("normalizer", "added") or getattr(before, name) is None)
    )


def as_stated(model: BPEModel, statement: Statement) -> BPEModel:
    """The model with what the statement says, whatever it was before.

    Raises:
        SourceError: there is no such special token, or the chat template is no Jinja.
        UnstatedError: the source does not say which special tokens there are.
    """
    if not statement:
        return model
    if model.added is None and (statement.roles or statement.template not in (None, "none")):
        raise UnstatedError(
            "the source does not state its special tokens, so none of them can be given a place",
            where=model.origin.name,
            fix=ways_to_say(model),
        )
    if statement.roles:
        special = {token.text: token for token in model.added or () if token.special}
        for role, text in statement.roles.items():
            _find(special, text, f"be the {role} token")
        from .extend import with_tokens

        model = with_tokens(model, (), statement.roles)
    if statement.template is not None:
        placed = template_of(statement.template, model.added or ())
        known = template_notes(model)
        left = tuple(note for note in model.origin.notes if note not in known)
        origin = replace(model.origin, notes=left)
        model = replace(model, sequence_template=placed, origin=origin)
    if statement.normalizer is not None:
        normalizer = _normalizer(statement.normalizer)
        left = tuple(note for note in model.origin.notes if note != NFC_LEFT_OUT or not normalizer)
        model = replace(model, normalizer=normalizer, origin=replace(model.origin, notes=left))
    if statement.chat_template is not None:
        from .chat_jinja import check  # where none is given, Jinja is not needed

        check(statement.chat_template, "the chat template")
        model = replace(model, chat_template=statement.chat_template)
    return model


def template_of(template: str, added: Iterable[AddedToken]) -> SequenceTemplate:
    """The sequence template of a name or of a text, as :class:`Statement` describes it.

    Raises:
        SourceError: it holds ``$A`` not once, or a text that is no special token; or a token is
            asked for by a role that none has.
    """
    special = {token.text: token for token in added if token.special}
    if template in ENDS:
        before, after = (
            [_of_role(special, role, template) for role in ends] for ends in ENDS[template]
        )
    else:
        words = template.split()
        if words.count(_TEXT) != 1:
            raise SourceError(
                f"the template {show(template)} does not hold {_TEXT} once",
                fix=f"say {', '.join(ENDS)}, or special tokens around {_TEXT}: '<s> {_TEXT}'",
            )
        place = words.index(_TEXT)
        before, after = (
            [_find(special, word, "stand in a template") for word in part]
            for part in (words[:place], words[place + 1 :])
        )
    return template_around(before, after)


def _normalizer(name: str) -> tuple[NormalizerStep, ...]:
    if name.lower() not in NORMALIZERS:
        raise SourceError(
            f"there is no normalizer {show(name)} to be named",
            fix=f"say {', '.join(NORMALIZERS)}; any other is stated in a tokenizer.json",
        )
    return NORMALIZERS[name.lower()]


def _leaves_normalizer_open(model: BPEModel) -> bool:
    """Whether the files cannot say it: who runs ranks of bytes never normalizes, its caller may."""
    ranks = isinstance(model.merges, RankTable) and model.alphabet == "byte"
    return model.normalizer is None or (ranks and not model.normalizer)


def spelled(template: SequenceTemplate | None) -> str:
    """A template of one text, as a user writes it."""
    parts = template.single if template else ()
    words = (_TEXT if isinstance(part, TemplateText) else part.name for part in parts)
    return " ".join(words) or "none"


def _of_role(special: Mapping[str, AddedToken], role: str, template: str) -> AddedToken:
    held = [token for token in special.values() if role in token.roles]
    if not held:
        raise SourceError(
            f"the template {template} needs a {role} token, and no special token has that role",
            fix=f"name it with --{role} TOKEN (roles={{{role!r}: TOKEN}})",
        )
    return held[0]


def _find(special: Mapping[str, AddedToken], text: str, what: str) -> AddedToken:
    if text not in special:
        some = ", ".join(show(each) for each in list(special)[:4])
        more = ", ..." if len(special) > 4 else ""
        raise SourceError(
            f"{show(text)} cannot {what}: there is no such special token",
            fix=f"the special tokens are {some}{more}"
            if some
            else "there are no special tokens: extend --special (with_special_tokens) adds one",
        )
    return special[text]


def _contradiction(model: BPEModel, stated: str, given: str) -> SourceError:
    error = SourceError(
        f"the source (or its preset) says that {stated}, and {given} was given",
        where=model.origin.name,
        fix="leave it out; extend takes the same options and makes the change",
    )
    error.by_extend = True
    return error
