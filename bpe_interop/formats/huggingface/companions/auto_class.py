"""Which class ``AutoTokenizer`` takes for a directory, and where it is not what the file says.

Told from the files alone, by the table in ``transformers_classes.py``. ``bpe-interop verify DIR DIR
--engine-b transformers`` asks the installed transformers itself.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from ....model import (
    LOOKS_BESIDE,
    AddedToken,
    Alphabet,
    SequenceTemplate,
    TemplatePart,
    TemplateToken,
)
from ....quoting import show
from ....steps import NormalizerStep, PreTokenizerStep
from ....strict_json import Node
from ....text.bytechars import BYTE_TOKENS, CHAR_TO_BYTE
from ....theory.added_tokens import normalized_matters
from ....tokenizer_config import CONFIG, DECODER, ROLES, WHISPER_SETTINGS
from ....transformers_classes import (
    AROUND,
    BOS_BY_DEFAULT,
    CLASSES,
    DECODED_OTHERWISE,
    DEFAULT,
    FAITHFUL,
    FORCED,
    LOWEST,
    MEASURED,
    MODEL_TYPES,
    MODEL_TYPES_BEFORE,
    REBUILT_SINCE,
    TRANSFORMERS,
    UNKNOWN,
    WHISPER,
    BuiltClass,
)
from ...names import ADDED, MODEL_CONFIG, SPECIAL_MAP
from ..decoders import read_decoder
from ..normalizers import read_normalizer
from ..post_processors import read_post_processor
from ..pretokenizers import read_pretokenizer
from .files import Companions, StatedRole, extra_tokens, padding_role, read_roles, with_assumed


class Choice(NamedTuple):
    """The class that ``AutoTokenizer`` takes, without ``Fast``, and who decides it.

    ``name`` is empty where it is not known here. ``forced``: what ``tokenizer_config.json``
    names would not change it.
    """

    name: str
    because: str
    forced: bool = False

    @property
    def built(self) -> BuiltClass | None:
        """What the class builds; None where it runs the file as it is, or is not known."""
        return CLASSES.get(self.name)

    @property
    def known(self) -> bool:
        """Whether what it runs is known here."""
        return self.name == DEFAULT or self.name in CLASSES


WORDS: Mapping[str, str] = {
    "normalizer": "normalizer",
    "pretokenizer": "pre-tokenizer",
    "affixes": "affixes",
    "lookup_first": "ignore_merges",
    "fallback": "rule for unknown characters",
    "decoder": "decoder",
    "sequence_template": "post-processor",
}
"""What fields of the model are called in a ``tokenizer.json``."""


def explain(choice: Choice, fields: Sequence[str], taken: str = "", version: str = MEASURED) -> str:
    """A sentence on what transformers serves, and what to do about it; empty if there is no need.

    ``fields`` are other than the file's; ``taken`` is the class that an installed transformers of
    this version was seen to take.
    """
    name, by = taken or choice.name, f"transformers {version}"
    if not (taken or choice.known):
        what = f"{by}'s {name}" if name else f"what {by} takes then"
        return (
            f"{choice.because}: {what} is not known here, and may not run tokenizer.json as it is; "
            "to see: bpe-interop verify DIR DIR --engine-b transformers"
        )
    also = DECODED_OTHERWISE.get(name, "")
    if not fields:
        return f"{choice.because}, and that class {also}" if also else ""
    lost = _listing([WORDS[field] for field in fields])
    if name == DEFAULT or is_before(version, REBUILT_SINCE):
        return f"{choice.because}: {by}'s {name} runs another {lost} than tokenizer.json says"
    fix = (
        "PreTrainedTokenizerFast.from_pretrained serves the file as it is, AutoTokenizer does not, "
        f"whatever {CONFIG} names"
        if choice.forced
        else f"where {CONFIG} names PreTrainedTokenizerFast, it serves the file as it is"
    )
    what = "that class" if name in choice.because else name
    return (
        f"{choice.because}: {by} rebuilds {what} from vocabulary and merges, and "
        f"discards tokenizer.json's {lost}; {also and f'it {also}; '}{fix}"
    )


def is_before(version: str, other: str) -> bool:
    """Whether a version of transformers is older than another one."""
    return _numbers(version) < _numbers(other)


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)[:2]]


def _listing(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)


def choose(files_beside: Companions, byte_level: bool) -> Choice:
    """The class that ``AutoTokenizer`` takes (``models/auto/tokenization_auto.py``).

    ``byte_level``: whether ``"ByteLevel"`` stands anywhere in the ``tokenizer.json``.

    Raises:
        FormatError: a class or a model type is not named by a string.
    """
    hub, by_name = _named(files_beside)
    stated = files_beside.model_config.get("model_type")
    kind = stated.be(str) if stated.given else ""
    by_type = f"{MODEL_CONFIG} says model_type {show(kind)}"
    by_kind = MODEL_TYPES.get(kind)
    if files_beside.config.get("auto_map").value:
        return Choice(UNKNOWN, f"{CONFIG} names code of its own (auto_map)")
    if kind in FORCED and by_kind is not None and by_kind != hub:
        return Choice(by_kind, by_type, forced=True)
    if hub == "LlamaTokenizer" and byte_level:
        return Choice(DEFAULT, f"{by_name}, and tokenizer.json is byte-level")
    if hub and by_kind == DEFAULT:
        return Choice(DEFAULT, by_type)
    if hub:
        return Choice(DEFAULT if hub in FAITHFUL else hub, by_name)
    if by_kind is not None:
        return Choice(by_kind, by_type)
    return Choice(DEFAULT, "no file names a class")


def _named(files_beside: Companions) -> tuple[str, str]:
    """The class that a file names, without ``Fast``, and where it does; empty if none does."""
    own = files_beside.config.get("tokenizer_class")
    file, node = (
        (CONFIG, own)
        if own.value
        else (MODEL_CONFIG, files_beside.model_config.get("tokenizer_class"))
    )
    named = node.be(str) if node.given else ""
    return named.removesuffix("Fast"), f"{file} names {show(named)[1:-1]}"


def differing(
    choice: Choice,
    root: Node,
    config: Node,
    alphabet: Alphabet,
    roles: Mapping[str, int],
    vocab: Mapping[str, int],
) -> tuple[str, ...]:
    """The fields of the model in which what a class builds is not what the file says.

    ``roles``: the ids of the roles' tokens as they are served.
    """
    if choice.built is None:
        return ()
    built, model = choice.built.settled(config), root["model"]
    own = Node(built.components(), choice.name)
    pretokens = read_pretokenizer(own["pre_tokenizer"])
    cut: Alphabet = "byte" if pretokens[1] else "char"
    affixes = [
        model.get(k).value or "" for k in ("end_of_word_suffix", "continuing_subword_prefix")
    ]
    fields = {
        "normalizer": read_normalizer(own["normalizer"]) != read_normalizer(root.get("normalizer")),
        "pretokenizer": pretokens != read_pretokenizer(root.get("pre_tokenizer")),
        "affixes": affixes != [built.suffix, ""],
        "lookup_first": bool(model.get("ignore_merges").value),
        "fallback": _other_fallback(built, model, cut, vocab),
        "decoder": cut != alphabet
        or read_decoder(own["decoder"], cut, (), ())
        != read_decoder(root.get("decoder"), alphabet, (), ()),
        "sequence_template": _other_template(built, root, config, roles),
    }
    return tuple(name for name, differs in fields.items() if differs)


def components(
    choice: Choice, config: Node
) -> tuple[tuple[NormalizerStep, ...], tuple[PreTokenizerStep, ...]]:
    """The normalizer and the pre-tokenizer that a class of the table builds."""
    own = Node(CLASSES[choice.name].settled(config).components(), choice.name)
    return read_normalizer(own["normalizer"])[0], read_pretokenizer(own["pre_tokenizer"])[0]


def _other_fallback(
    built: BuiltClass, model: Node, cut: Alphabet, vocab: Mapping[str, int]
) -> bool:
    """Whether a character without a token becomes something else."""
    if cut == "byte" and all(char in vocab for char in CHAR_TO_BYTE):
        return False
    by_bytes = bool(model.get("byte_fallback").value)
    if by_bytes and built.byte_fallback and all(t in vocab for t in BYTE_TOKENS.values()):
        return False
    unknown = model.get("unk_token").given
    if (by_bytes, unknown) != (built.byte_fallback, built.unknown):
        return True
    return unknown and bool(model.get("fuse_unk").value) != built.fuse_unk


def _other_template(built: BuiltClass, root: Node, config: Node, roles: Mapping[str, int]) -> bool:
    processor = root.get("post_processor")
    if built.template == "kept":
        return False
    if built.template == "own":
        return True
    if built.template == "whisper":
        listed = root["added_tokens"].items() if "added_tokens" in root else ()
        ids = {entry["content"].value: entry["id"].value for entry in listed}
        if any(config.get(key).value for key in WHISPER_SETTINGS) or not ids.keys() >= {*WHISPER}:
            return True
        ends = [[ids[text] for text in WHISPER], [roles["eos"]] if "eos" in roles else []]
        return ids_around(processor) != ends
    wanted = [[roles[role]] if role in roles else [] for role in AROUND[built.template]]
    return ids_around(processor) != wanted


def ids_around(post_processor: Node) -> list[list[int]]:
    """The ids that it places before a single text, and those after it."""
    return ids_of(read_post_processor(post_processor)[0])


def ids_of(template: SequenceTemplate) -> list[list[int]]:
    """The ids before a single text, and those after it."""
    parts = template.single
    place = next((n for n, part in enumerate(parts) if not isinstance(part, TemplateToken)), 0)
    return [_ids(parts[:place]), _ids(parts[place:])]


def _ids(parts: tuple[TemplatePart, ...]) -> list[int]:
    return [number for p in parts if isinstance(p, TemplateToken) for number in p.ids]


class Serving(NamedTuple):
    """What ``AutoTokenizer`` runs for a directory.

    ``fields`` of the model are not what the file says; ``added`` are the added tokens that it
    ends up with, and ``on_tokens`` sentences on where these are others. ``lost`` are those of
    them that a file asks for and that ids, texts or roles depend on; what a class does by itself
    is not among them. ``before``: what the lowest transformers does otherwise.
    """

    choice: Choice
    fields: tuple[str, ...]
    added: tuple[AddedToken, ...]
    on_tokens: tuple[str, ...]
    lost: tuple[str, ...] = ()
    before: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on all of it."""
        sentence = explain(self.choice, self.fields)
        return (*([sentence] if sentence else []), *self.on_tokens, *self.before)


def serve(
    files_beside: Companions,
    root: Node,
    added: Iterable[AddedToken],
    alphabet: Alphabet,
    byte_level: bool,
    vocab: Mapping[str, int],
) -> Serving:
    """What ``AutoTokenizer`` runs, as far as it is known here.

    ``root`` is the ``tokenizer.json`` but for its vocabulary and merges; ``byte_level``: whether
    ``"ByteLevel"`` stands anywhere in it.

    Raises:
        FormatError: a file is malformed.
    """
    choice = choose(files_beside, byte_level)
    roles = served_roles(files_beside, root, choice)
    listed = tuple(added)
    # A class that is rebuilt begins without the file's added tokens.
    start = () if choice.built else listed
    extra = extra_tokens(files_beside)
    special = {
        *extra,
        *(s.text for s in roles if s.by in (CONFIG, SPECIAL_MAP) and s.role in ROLES),
    }
    wishes = read_wishes(files_beside, root, special)
    served, by = added_as_served(start, vocab, wishes, roles, extra)
    ids = {token.text: token.id for token in served}
    numbers = {stated.role: ids[stated.text] for stated in roles if stated.text in ids}
    fields = differing(choice, root, files_beside.config, alphabet, numbers, vocab)
    plain = not root.get("normalizer").given
    told = tuple(tell_tokens(listed, served, by, roles, plain))
    lost = tuple(sentence for sentence, is_lost in told if is_lost)
    on_tokens = [sentence for sentence, _ in told]
    if files_beside.config.get("split_special_tokens").value:
        on_tokens.append(
            f"{CONFIG}: split_special_tokens makes transformers {LOWEST} and {MEASURED} take "
            "special tokens as text, unless a call says otherwise"
        )
    before = tuple(_before(files_beside, root, ids, roles))
    return Serving(choice, fields, served, tuple(on_tokens), lost, before)


def _before(
    files_beside: Companions, root: Node, ids: Mapping[str, int], roles: Iterable[StatedRole]
) -> Iterator[str]:
    """What the lowest transformers does otherwise than the file says, and the newest does not."""
    prefix, config = space_of_pretokenizer(root), files_beside.config
    stated = config.get("add_prefix_space")
    # A null is no value that ByteLevel takes, so the file's stays.
    asks = bool(config.value) and (stated.given or "add_prefix_space" not in config)
    if prefix is not None and asks and bool(stated.value) is not prefix:
        said = f"says {str(stated.value).lower()}" if stated.given else "does not say it"
        yield (
            f"tokenizer.json's pre-tokenizer has add_prefix_space {str(prefix).lower()}, and "
            f"{CONFIG} {said}: transformers {LOWEST} goes by {CONFIG}, where none is false"
        )
    # ids and roles are those that the newest gives.
    name, because = _named(files_beside)
    if not name:
        kind = str(files_beside.model_config.get("model_type").value)
        name = MODEL_TYPES_BEFORE.get(kind, "")
        because = f"{MODEL_CONFIG} says model_type {show(kind)}"
    if name not in CLASSES:
        return
    by = f"{because}: transformers {LOWEST}'s {name}"
    _, none = read_roles(files_beside, [])
    texts = {
        **{role: text for role, text in CLASSES[name].roles.items() if role not in none},
        **{stated.role: stated.text for stated in roles},
    }
    new = sorted({show(text) for text in texts.values() if text not in ids})
    if new:
        yield f"{by} adds {', '.join(new)}, which tokenizer.json lacks"
    if name not in BOS_BY_DEFAULT:
        return
    flags = {"bos": BOS_BY_DEFAULT[name], "eos": False}
    for role, default in flags.items():
        stated = files_beside.config.get(f"add_{role}_token").value
        flags[role] = stated if isinstance(stated, bool) else default
    # What it adds itself is new there, and in no template of the file.
    wanted = [
        [ids.get(texts[role], -1)] if flag and role in texts else [] for role, flag in flags.items()
    ]
    if ids_around(root.get("post_processor")) != wanted:
        put = _listing([role for role, flag in flags.items() if flag]) or "nothing"
        said = " and ".join(f"add_{role}_token {str(on).lower()}" for role, on in flags.items())
        yield f"{by} puts {put} around a text ({said}), whatever tokenizer.json's post-processor is"


def space_of_pretokenizer(root: Node) -> bool | None:
    """Whether a pre-tokenizer that is ``ByteLevel`` alone puts a space first; None if it is not."""
    node = root.get("pre_tokenizer")
    if not isinstance(node.value, dict) or node.get("type").value != "ByteLevel":
        return None
    return bool(node.get("add_prefix_space").value)


def served_roles(files_beside: Companions, root: Node, choice: Choice) -> list[StatedRole]:
    """The roles as transformers gives them, in the order in which it adds their tokens."""
    stated, none = read_roles(files_beside, [])
    if choice.built is not None:
        return with_assumed(stated, none, choice.built.roles, choice.name)
    return with_assumed(stated, none, padding_role(root), root.file)


AskedToken: TypeAlias = tuple[AddedToken, str]
"""A token to add, with the id that its file states, and the file."""


def added_as_served(
    listed: Iterable[AddedToken],
    words: Mapping[str, int],
    wishes: Iterable[AskedToken],
    roles: Sequence[StatedRole],
    extra: Iterable[str],
) -> tuple[tuple[AddedToken, ...], dict[str, str]]:
    """The added tokens by id, and for each that is new the file that wants it.

    Measured in transformers 5.24 (``tokenization_utils_tokenizers.py``, ``__init__``).
    """
    tokens = {token.text: token for token in listed}
    named = {stated.text for stated in roles}
    # transformers adds to the tokens of the tokenizer.json (of a class that is rebuilt, to none):
    # first those of added_tokens_decoder in tokenizer_config.json, by id; without that key, those
    # of added_tokens.json and of tokenizer.json. Then the roles' tokens, then further special
    # tokens.
    wanted = [
        (replace(token, special=token.special or token.text in named), file)
        for token, file in wishes
    ]
    there = {*tokens, *(token.text for token, _ in wanted)}
    # A token may be assumed by a class for one role, and named by a file for another.
    files = {s.text: s.by for s in reversed(roles) if is_file(s.by)}
    for text, by_whom in [*((s.text, s.by) for s in roles), *((text, CONFIG) for text in extra)]:
        if text not in there:
            there.add(text)
            file = CONFIG if text in extra else by_whom
            wanted.append((AddedToken(text, 0), files.get(text, file)))
    # A token that is there takes the new one's flags and keeps its id; the ids that the files state
    # are never used.
    _add(tokens, words, [token for token, _ in wanted if token.text])
    by: dict[str, str] = {}
    for token, file in wanted:
        by.setdefault(token.text, file)
    return tuple(sorted(tokens.values(), key=lambda token: token.id)), by


def _add(
    tokens: dict[str, AddedToken], words: Mapping[str, int], wanted: Iterable[AddedToken]
) -> None:
    """As ``add_tokens`` of tokenizers does, which is called once for all of them."""
    top = max((token.id for token in tokens.values()), default=-1)
    # Behind the vocabulary and all added tokens (tokenizer/added_vocabulary.rs).
    free = max(top + 1, len(words))
    for token in wanted:
        before = tokens.get(token.text)
        special = token.special or (before is not None and before.special)
        if before is not None:
            number = before.id
        elif token.text in words:
            # A token of the vocabulary keeps its id.
            number = words[token.text]
        else:
            number, free = free, free + 1
        tokens[token.text] = replace(token, id=number, special=special, roles=())


def read_wishes(files_beside: Companions, root: Node, special: Container[str]) -> list[AskedToken]:
    """The tokens that files want to be there, in the order in which they are added.

    Raises:
        FormatError: a token or an id is malformed.
    """
    decoder = files_beside.config.get(DECODER)
    if DECODER in files_beside.config:
        entries = decoder.be(dict) if decoder.given else {}
        return sorted(
            ((_token(decoder[key], _number(decoder, key)), CONFIG) for key in entries),
            key=lambda wish: wish[0].id,
        )
    wishes: dict[int, AskedToken] = {}
    for text in files_beside.added.be(dict):
        number = files_beside.added[text].id()
        # added_tokens.json has no flags; what a file names as a special token has them.
        flag = text in special
        token = AddedToken(text, number, special=flag, normalized=not flag)
        wishes[number] = token, ADDED
    listed = root.get("added_tokens")
    for entry in listed.items() if listed.given else ():
        token = _token(entry, entry["id"].id())
        wishes[token.id] = token, root.file
    return [wishes[number] for number in sorted(wishes)]


def _number(node: Node, key: str) -> int:
    if not (key.isascii() and key.isdigit() and len(key) < 20):
        node.fail(f"the key {show(key)} is not an id")
    return int(key)


def _token(node: Node, number: int) -> AddedToken:
    special = node.flag("special", default=False)
    normalized = node.flag("normalized", default=not special)
    lstrip, rstrip, single = (node.flag(f, default=False) for f in LOOKS_BESIDE)
    text = node["content"].be(str)
    return AddedToken(text, number, special, lstrip, rstrip, single, normalized)


def tell_tokens(
    listed: Iterable[AddedToken],
    served: Iterable[AddedToken],
    by: Mapping[str, str],
    roles: Iterable[StatedRole],
    plain: bool,
) -> Iterator[tuple[str, bool]]:
    """What of the added tokens AutoTokenizer has otherwise than ``tokenizer.json``, as sentences.

    Each with whether a file asks for what the model then is without.
    ``by``: the files that ask for tokens; ``plain``: nothing is normalized.
    """
    before, after = ({t.text: t for t in tokens} for tokens in (listed, served))
    named: dict[str, list[str]] = {}
    for stated in roles:
        named.setdefault(stated.text, []).append(stated.role)
    new: dict[str, list[str]] = {}
    without: dict[str, list[str]] = {}
    for text in after.keys() - before.keys():
        file = by.get(text, CONFIG)
        new.setdefault(file, []).append(f"{show(text)} as {after[text].id}")
        without.setdefault(file, []).extend(named.get(text, []))
    for file in sorted(new):
        yield (
            f"{file} asks for {_some(new[file])}, which tokenizer.json lacks: {TRANSFORMERS} adds "
            f"{_them(new[file])}, what is read here does not{_and_no_role(without[file])}",
            is_file(file),
        )
    gone = [show(text) for text in before.keys() - after.keys()]
    if gone:
        yield f"{TRANSFORMERS} forgets the added {_tokens(gone)} {_some(gone)}", False
    moved = [
        f"{show(text)} is {after[text].id}, not {token.id}"
        for text, token in before.items()
        if text in after and after[text].id != token.id
    ]
    if moved:
        yield f"{TRANSFORMERS} numbers added tokens anew: {_some(moved)}", False
    yield from _flags(before, after, by, plain)


def _flags(
    before: Mapping[str, AddedToken],
    after: Mapping[str, AddedToken],
    by: Mapping[str, str],
    plain: bool,
) -> Iterator[tuple[str, bool]]:
    idle = plain and not any(normalized_matters([*each.values()]) for each in (before, after))
    matter = {*LOOKS_BESIDE, "special"} if idle else {*LOOKS_BESIDE, "special", "normalized"}
    changed: dict[tuple[str, bool], list[str]] = {}
    for text, token in before.items():
        other = after.get(text, token)
        flags = [
            flag
            for flag in (*LOOKS_BESIDE, "normalized", "special")
            if getattr(other, flag) != getattr(token, flag)
        ]
        if flags:
            sentence = ", ".join(flag if getattr(other, flag) else f"not {flag}" for flag in flags)
            lost = not matter.isdisjoint(flags)
            changed.setdefault((by.get(text, CONFIG), lost), []).append(f"{show(text)} {sentence}")
    for (file, lost), tokens in sorted(changed.items()):
        why = "which has a role" if file not in (CONFIG, ADDED) else f"as {file} says"
        sentence = f"{TRANSFORMERS} makes {_some(tokens)}, {why}; tokenizer.json says otherwise"
        yield sentence, lost


def _and_no_role(roles: Sequence[str]) -> str:
    return f", so it has no token for {_some(roles)}" if roles else ""


def is_file(by: str) -> bool:
    """Whether a file beside asks for a token, and not a class, or padding that is written again."""
    return by in (CONFIG, SPECIAL_MAP, ADDED)


def _some(words: Sequence[str]) -> str:
    ordered = sorted(words)
    more = f" and {len(ordered) - 4:,} more" if ordered[4:] else ""
    return ", ".join(ordered[:4]) + more


def _tokens(words: Sequence[str]) -> str:
    return "token" if len(words) == 1 else "tokens"


def _them(words: Sequence[str]) -> str:
    return "it" if len(words) == 1 else "them"


_MOST = 4


def tell_ids(
    files_beside: Companions,
    vocab: Mapping[str, int],
    listed: Iterable[AddedToken],
    served: Iterable[AddedToken],
) -> Iterator[str]:
    """Where the ids of ``added_tokens.json`` are not those that its tokens have.

    Raises:
        FormatError: an id is no integer.
    """
    if not files_beside.added.be(dict):
        return
    unread = DECODER in files_beside.config
    # Where that file is not read, the tokens are those of the tokenizer.json.
    ids = {**vocab, **{token.text: token.id for token in (listed if unread else served)}}
    holders = {number: text for text, number in ids.items()}
    wrong: list[str] = []
    for text in files_beside.added.be(dict):
        number = files_beside.added[text].id()
        if ids.get(text) == number:
            continue
        holder = holders.get(number)
        taken = "" if holder is None else f" (which is {show(holder)})"
        has = f"it has {ids[text]}" if text in ids else "it has none"
        wrong.append(f"{show(text)} {number}{taken}, but {has}")
    if wrong:
        more = f" and {len(wrong) - _MOST:,} more" if wrong[_MOST:] else ""
        why = (
            f"{TRANSFORMERS} does not read that file, because {CONFIG} has {DECODER}"
            if unread
            else f"{TRANSFORMERS} goes by the texts of that file, and not by its ids"
        )
        yield f"{ADDED} gives ids that do not hold: {'; '.join(wrong[:_MOST])}{more}; {why}"
