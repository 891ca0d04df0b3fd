"""The files beside a tokenizer of another format than ``tokenizer.json``.

They say which added tokens there are, which roles tokens have, the chat template, and the class
that ``AutoTokenizer`` takes. What the main file leaves unsaid is filled. Where a file asks for a
token that the main file contradicts, the model stays as it is, and no conversion passes over that
(:attr:`~bpe_interop.model.Origin.lost`).

A GGUF, a ``tekken.json``, a minbpe model and a rank file with a sidecar say all of their tokens;
beside them only roles and the chat template can be unsaid. A ``.model`` and a pair of GPT-2 do not:
transformers adds tokens to them, numbered as ``added_as_served`` says (measured in transformers
5.24). Beside a rank file, the publishers' own code takes the ids that are stated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from ....model import (
    CHATS,
    LOADING,
    NETWORK,
    AddedToken,
    BPEModel,
    Json,
    SequenceTemplate,
    TemplateToken,
    all_ids,
    digests,
    without_numbering,
)
from ....quoting import show
from ....steps import JoinBytes, NormalizerStep, Prepend, SentencePieceText
from ....strict_json import Node
from ....text.bytechars import to_chars
from ....tokenizer_config import CONFIG, OPEN, ROLES
from ....transformers_classes import (
    AROUND,
    CLASSES,
    DEFAULT,
    LOWEST,
    MEASURED,
    SAVE_ANEW,
    TRANSFORMERS,
    of_a_pair,
)
from ...bos_eos import template_asked
from ..post_processors import cls_sep_template
from .auto_class import (
    Choice,
    added_as_served,
    choose,
    components,
    read_wishes,
)
from .files import (
    Companions,
    StatedRole,
    extra_tokens,
    loader_settings,
    read_chat_templates,
    read_companions,
    read_model_config,
    read_roles,
    settings_of_classes,
    tell_model_config,
    with_assumed,
)

_PAIR_CLASSES = (
    *("GPT2Tokenizer", "CodeGenTokenizer", "GPTNeoXTokenizer", "CohereTokenizer"),
    *("RobertaTokenizer", "BartTokenizer", "LEDTokenizer", "MvpTokenizer", "Qwen2Tokenizer"),
)
"""Classes whose work on a pair is known, measured in transformers 5.24."""


def filled(model: BPEModel, files: Mapping[str, bytes]) -> BPEModel:
    """The model with what the files beside it say and its own files do not.

    Raises:
        FormatError: one of them is malformed.
    """
    beside = read_companions(files)
    if model.origin.format in OPEN:
        # transformers reads them beside such a file, or the publishers' own class does.
        model = replace(model, origin=replace(model.origin, settings=loader_settings(beside)))
    notes, assumed = list[str](), tuple[str, ...]()
    chat_template, named = read_chat_templates(files, beside.config, notes)
    if model.origin.format == "sentencepiece" and beside.config.get("chat_template").given:
        # A .model has none: this one was read from one of the files, and all of them count.
        model = replace(model, chat_template=None)
    choice = choose(beside, byte_level=False)
    said = model
    model = _with_class(said, beside.config, choice, notes)
    of_class = model is not said
    own = len(model.added or ())
    model, lost = _with_tokens(model, beside, choice, notes)
    if of_class and model.sequence_template is None:
        template = _template_of(choice, beside.config, model, notes)
        model = replace(model, sequence_template=template)
    if model.origin.format == "sentencepiece" and beside.config.get("add_bos_token").given:
        # The tokens of the roles may stand in any of the files.
        by_role = {role: token for token in model.added or () for role in token.roles}
        template = template_asked(beside.config, by_role, notes)
        model = replace(model, sequence_template=template)
    prefixed = any(map(_puts_a_space, model.normalizer or ()))
    of_llama = choice.name in ("LlamaTokenizer", DEFAULT)
    if model.origin.format == "sentencepiece":
        assumed = tuple(_otherwise_served(model, beside, choice, prefixed))
    if model.origin.format == "sentencepiece" and prefixed and len(model.added or ()) > own:
        assumed += (
            "a space is put before every part of a text between added tokens, as sentencepiece "
            "does to a text" + f"; {TRANSFORMERS}'s LlamaTokenizer puts none before a part "
            f"that begins with a space, and unless {CONFIG} says legacy: true, only before the "
            "first part" * of_llama,
        )
    finds = [token.text for token in model.added or () if token.normalized]
    if model.origin.format == "sentencepiece" and prefixed and finds and of_llama:
        assumed += (
            f"an added token that is normalized, such as {show(finds[0])}, is found only where a "
            f"space or the start of a part is before it, and takes that space, as in transformers "
            f"{LOWEST}; {TRANSFORMERS}'s LlamaTokenizer finds it anywhere and takes no space",
        )
    notes += assumed
    if model.chat_template not in (None, chat_template) and chat_template is not None:
        notes.append(f"the chat template beside {_main(model)} is another one; its own is read")
    listed = model.extras.get(CHATS)
    own_chats: Mapping[str, Json] = listed if isinstance(listed, dict) else {}
    notes += [
        f"the chat template {show(name)} beside {_main(model)} is another one; its own is read"
        for name, template in named.items()
        if own_chats.get(name, template) != template
    ]
    config = read_model_config(beside)
    notes += tell_model_config(config, model.added or (), all_ids(model))
    origin = replace(
        model.origin,
        files={**model.origin.files, **digests(files)},
        notes=tuple(dict.fromkeys((*model.origin.notes, *notes, *lost))),
        lost=(*model.origin.lost, *lost),
        assumed=(*model.origin.assumed, *assumed),
    )
    extras = {**model.extras, NETWORK: dict(config)} if config else model.extras
    settings = settings_of_classes(beside, {token.text for token in model.added or ()}, choice.name)
    if settings and model.origin.format in OPEN:
        extras = {**extras, LOADING: settings}
    if named:
        extras = {**extras, CHATS: {**named, **own_chats}}
    chat_template = model.chat_template if model.chat_template is not None else chat_template
    return replace(model, chat_template=chat_template, extras=extras, origin=origin)


def _otherwise_served(
    model: BPEModel, beside: Companions, choice: Choice, prefixed: bool
) -> Iterator[str]:
    """What the class that a file names does otherwise than sentencepiece does with a ``.model``."""
    # Measured in both versions. The file counts, as in sentencepiece.
    main, versions = _main(model), f"transformers {LOWEST} and {MEASURED}"
    if choice.name == "LlamaTokenizer":
        stated = beside.config.get("add_prefix_space").value
        said = f"add_prefix_space in {CONFIG} is {str(stated).lower()}"
        if not isinstance(stated, bool):
            stated, said = True, f"{CONFIG} does not say add_prefix_space, which is true then"
        if stated is not prefixed:
            yield f"{said}, and {main} says the opposite, which counts; {versions} go by {CONFIG}"
    elif choice.name == "GemmaTokenizer" and choice.built is not None:
        if prefixed:
            yield (
                f"{choice.because}: {versions} then put no space before a text, and {main} says "
                f"that one is put, which counts; {SAVE_ANEW}"
            )
        texts = {token.text for token in model.added or ()}
        roles = with_assumed(*read_roles(beside, []), choice.built.roles, choice.name)
        own = (each.text for each in roles if each.by == choice.name)
        new = [show(text) for text in own if text not in texts]
        if new:
            yield (
                f"{choice.because}: {TRANSFORMERS} adds tokens of that class, which {main} lacks "
                f"and which are not added here: {', '.join(new)}; {SAVE_ANEW}"
            )
    elif choice.name != DEFAULT:
        yield (
            f"{choice.because}, and what that makes of {main} is not known here, which is read as "
            f"sentencepiece reads it; {SAVE_ANEW}"
        )


def _puts_a_space(step: NormalizerStep) -> bool:
    return isinstance(step, Prepend) or (
        isinstance(step, SentencePieceText) and step.dummy == "prefix"
    )


def _main(model: BPEModel) -> str:
    return next(iter(model.origin.files), model.origin.format)


def _with_class(model: BPEModel, config: Node, choice: Choice, notes: list[str]) -> BPEModel:
    """What a class of transformers, which a file names, does with a pair of GPT-2."""
    if model.origin.format != "gpt2" or model.pretokenizer is not None:
        return model
    if choice.name not in _PAIR_CLASSES:
        if choice.name in CLASSES:
            notes.append(
                f"{choice.because}, and what that does is not taken over here; "
                f"{of_a_pair(choice.name)}"
            )
        return model
    normalizer, pretokenizer = components(choice, config)
    notes.append(f"{choice.because}: the normalizer and the pre-tokenizer are those of that class")
    return replace(
        model,
        normalizer=normalizer if model.normalizer is None else model.normalizer,
        pretokenizer=pretokenizer,
    )


def _template_of(
    choice: Choice, config: Node, model: BPEModel, notes: list[str]
) -> SequenceTemplate | None:
    """What a class of transformers places around texts of a pair; None where a role is missing."""
    by_role = {role: token for token in model.added or () for role in token.roles}
    if choice.built is not None and choice.built.template == "cls sep":
        # That class does not read add_bos_token.
        ends = [by_role.get(role) for role in AROUND["cls sep"]]
        if None in ends:
            notes.append(f"{choice.because}, and it has no cls or no sep token to place")
            return None
        cls, sep = (TemplateToken(each.text, (each.id,)) for each in ends if each is not None)
        return cls_sep_template(cls, sep, roberta=True)
    if not any(config.get(f"add_{role}_token").given for role in ("bos", "eos")):
        return SequenceTemplate()
    template = template_asked(config, by_role, notes)
    if template and not template.places_nothing and choice.name == "Qwen2Tokenizer":
        notes.append(f"transformers {LOWEST}'s {choice.name} does not read add_bos_token")
    return template


def _with_tokens(
    model: BPEModel, beside: Companions, choice: Choice, notes: list[str]
) -> tuple[BPEModel, tuple[str, ...]]:
    """The model with added tokens and roles, and sentences on those that it cannot have."""
    stated, none = read_roles(beside, notes)
    built = choice.built if model.origin.format == "gpt2" else None
    roles = with_assumed(stated, none, built.roles if built else {}, choice.name)
    extra = extra_tokens(beside)
    named = {*extra, *(each.text for each in roles if each.role in ROLES)}
    wishes = read_wishes(beside, Node({}, _main(model)), named)
    if not (wishes or roles or extra or none):
        return model, ()
    listed = {token.text: replace(token, roles=()) for token in model.added or ()}
    words = _words(model)
    served, by = added_as_served(listed.values(), words, wishes, roles, extra)
    asked = {token.text: token.id for token, _ in wishes}
    open_ended = model.origin.format in OPEN and not _says_all(model)
    holders = {number: text for text, number in words.items()}
    holders.update({token.id: token.text for token in listed.values()})
    kept: dict[str, AddedToken] = {}
    lost: list[str] = []
    for token in served:
        number = asked.get(token.text, token.id)
        is_rank_file = model.origin.format == "tiktoken"
        file = by.get(token.text, CONFIG)
        is_new = token.text not in listed
        holder = holders.get(number, token.text)
        if is_new and not open_ended:
            lost.append(f"{file} asks for {show(token.text)}, which {_main(model)} lacks")
        elif holder != token.text:
            lost.append(
                f"{file} gives {show(token.text)} the id {number}, which is {show(holder)} in "
                f"{_main(model)}"
            )
        # Beside a rank file, the publishers' own code takes the ids that are stated; transformers
        # numbers tokens itself (measured in 5.24).
        elif is_new and is_rank_file and token.text not in asked:
            lost.append(f"{file} names {show(token.text)}, and no file gives its id")
        elif number != token.id and not (is_new and is_rank_file):
            lost.append(
                f"{file} gives {show(token.text)} the id {number}, and it has {token.id} "
                + (f"in {TRANSFORMERS}" if is_new else f"in {_main(model)}")
            )
        else:
            kept[token.text] = replace(token, id=number)
            holders[number] = token.text
    marked = _with_roles(model, {**listed, **kept}, roles, none, notes)
    vocab = without_numbering(model, marked) if model.added is None else model.vocab
    decoder = model.decoder
    if model.origin.format == "gpt2" and decoder is not None and kept.keys() - listed.keys():
        # Such tokens are AutoTokenizer's, whose ByteLevel decodes their letters as bytes too.
        decoder = tuple(
            replace(step, mapped_added=True) if isinstance(step, JoinBytes) else step
            for step in decoder
        )
    return replace(model, added=marked, vocab=vocab, decoder=decoder), tuple(lost)


def _with_roles(
    model: BPEModel,
    added: Mapping[str, AddedToken],
    roles: Iterable[StatedRole],
    none: frozenset[str],
    notes: list[str],
) -> tuple[AddedToken, ...]:
    """The added tokens by id, with the roles that count: those of the files beside."""
    before = {role: token.text for token in model.added or () for role in token.roles}
    # A role that a file says to be none (null) is none.
    now = {role: text for role, text in before.items() if role not in none}
    for each in roles:
        if each.text not in added:
            continue
        if before.get(each.role, each.text) != each.text:
            notes.append(
                f"{each.role} is {show(before[each.role])} in {_main(model)} and "
                f"{show(each.text)} in {each.by}, which counts"
            )
        now[each.role] = each.text
    return tuple(
        replace(token, roles=tuple(sorted(role for role, text in now.items() if text == name)))
        for name, token in sorted(added.items(), key=lambda item: item[1].id)
    )


def _says_all(model: BPEModel) -> bool:
    """Whether a rank file has a sidecar, which says its special tokens."""
    return model.origin.format == "tiktoken" and any(
        name.endswith(".json") for name in model.origin.files
    )


def _words(model: BPEModel) -> dict[str, int]:
    """The entries of the vocabulary as transformers spells them, to their ids."""
    ids: Iterable[tuple[bytes, int]] = model.vocab.ids.items()
    if model.alphabet == "byte":
        literal = {number for number, kind in model.vocab.kinds.items() if kind == "control"}
        words = {c.decode() if n in literal else to_chars(c): n for c, n in ids}
    else:
        words = {content.decode("utf-8", "replace"): number for content, number in ids}
    return {**words, **{token.text: token.id for token in model.added or ()}}
