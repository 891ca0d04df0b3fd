"""The tokens of a GGUF file: texts, types, roles, and those that are found in a text.

What llama.cpp makes of them when it loads a file is in ``llama_vocab::impl::load``: it guesses from
a token's spelling that it ends a turn, a generation or a gap in code, and then treats it as control
whatever its type says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count
from typing import Final

from ...errors import UnsupportedError
from ...merging.canonical import Canonical, canonical
from ...merging.symbols import characters
from ...model import AddedToken, BPEModel, MergeRule, Vocab
from ...quoting import show
from ...text.bytechars import BYTE_TOKENS
from .keys import ARCHITECTURE, NAME, PRE, ROLES, TOKENS, TYPES, Keys
from .overlaps import equally_long, in_order_of_length

UNDEFINED, NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(7)

FOUND_FIRST: Final = (CONTROL, UNKNOWN, USER_DEFINED)
"""The types of the tokens that are found in a text before anything is merged."""

BYTE_NAMES: Final = frozenset(BYTE_TOKENS.values())
"""How tokens that stand for one byte are spelled in SentencePiece's kind."""

_ENDS_GENERATION: Final = frozenset(
    {
        "<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<|flush|>",
        "<|calls|>", "<end_of_turn>", "<|endoftext|>", "</s>", "<|eom_id|>", "<EOT>", "_<EOT>",
        "[EOT]", "[EOS]", "<|end_of_text|>", "<end_of_utterance>", "<eos>", "<turn|>",
        "<|tool_response>", "<\uff5cend\u2581of\u2581sentence\uff5c>", "[e~[",
    }
)  # fmt: skip

_GAPS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    (
        "fim_pre",
        (
            "<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>", "<\uff5cfim\u2581begin\uff5c>",
            "<PRE>", "\u2581<PRE>", "<|code_prefix|>", "<|prefix|>",
        ),
    ),
    (
        "fim_suf",
        (
            "<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>", "<\uff5cfim\u2581hole\uff5c>",
            "<SUF>", "\u2581<SUF>", "<|code_suffix|>", "<|suffix|>",
        ),
    ),
    (
        "fim_mid",
        (
            "<|fim_middle|>", "<fim-middle>", "<fim_middle>", "<\uff5cfim\u2581end\uff5c>",
            "<MID>", "\u2581<MID>", "<|code_middle|>", "<|middle|>",
        ),
    ),
    ("fim_pad", ("<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]")),
    (
        "fim_rep",
        ("<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"),
    ),
    ("fim_sep", ("<|file_sep|>",)),
)  # fmt: skip
"""Roles in filling a gap, and the spellings that are taken for them where no key names one."""

_FILLER: Final = re.compile(r"\[PAD([0-9]+)\]_*")

_ALWAYS_SHOWN: Final = ("<|channel|>", "<|message|>", "<|start|>", "<|constrain|>")

_GUESSED: Final = _ENDS_GENERATION.union(_ALWAYS_SHOWN, *(spellings for _, spellings in _GAPS))


def effective(
    texts: Sequence[str], types: Sequence[int], given: frozenset[str], file: str
) -> list[int]:
    """The type of each token as llama.cpp treats it.

    ``given``: the roles (``fim_pre``, ...) for which the file names an id.

    Raises:
        UnsupportedError: which of two tokens is control goes by the order of a hash table.
    """
    kinds = list(types)
    place = _guessed(texts)
    for role, spellings in _GAPS:
        if role in given:
            continue
        there = [text for text in spellings if text in place]
        if _left_to_chance([types[place[text]] for text in there]):
            raise UnsupportedError(
                f"{' and '.join(map(show, there[:2]))} could both be the token {role}; which of "
                "them llama.cpp takes, and makes a control token, goes by the order of a hash "
                "table",
                where=f"{file}: tokenizer.ggml.tokens",
                fix=f"name one by tokenizer.ggml.{role}_token_id",
            )
        for text in there:
            kinds[place[text]] = CONTROL
    for text in _ENDS_GENERATION & place.keys():
        kinds[place[text]] = CONTROL
    for text in _ALWAYS_SHOWN:
        if text in place:
            kinds[place[text]] = USER_DEFINED
    ends = place.keys()
    if "<|end|>" in ends and (
        {"<|return|>", "<|call|>"} <= ends
        or {"<|return|>", "<|calls|>"} <= ends
        or ("<|flush|>" in ends and not ends.isdisjoint({"<|call|>", "<|calls|>"}))
    ):
        kinds[place["<|end|>"]] = USER_DEFINED
    if {"<|tool_response>", "</s>"} <= ends:
        kinds[place["</s>"]] = NORMAL
    return kinds


def _guessed(texts: Sequence[str]) -> dict[str, int]:
    """The places of the tokens of which llama.cpp guesses by their spelling what they are for."""
    return {text: texts.index(text) for text in _GUESSED.intersection(texts)}


def fills_hole(text: str, kind: int, number: int) -> bool:
    """Whether this only fills an id that has no token, as llama.cpp's converter does it."""
    filler = _FILLER.fullmatch(text) if kind == UNUSED else None
    return filler is not None and int(filler[1]) == number


def ambiguous(texts: Sequence[str], types: Sequence[int]) -> Iterator[tuple[str, int]]:
    """Roles that several tokens could have, each with an id that a key can name for it."""
    place = _guessed(texts)
    for role, spellings in _GAPS:
        there = [place[text] for text in spellings if text in place]
        if _left_to_chance([types[number] for number in there]):
            yield role, there[0]


def _left_to_chance(types: Sequence[int]) -> bool:
    """Whether it matters which of the tokens that could have a role llama.cpp takes."""
    return len(types) > 1 and any(kind != CONTROL for kind in types)


GAPS: Final = {
    f"fim_{role}": f"tokenizer.ggml.fim_{role}_token_id"
    for role in ("pre", "suf", "mid", "pad", "rep", "sep")
}
_OLD_GAPS: Final = {
    "fim_pre": "tokenizer.ggml.prefix_token_id",
    "fim_suf": "tokenizer.ggml.suffix_token_id",
    "fim_mid": "tokenizer.ggml.middle_token_id",
}

_TAKES_SPACES: Final = {
    PRE: ("jina-v2-de", "jina-v2-es", "jina-v2-code"),
    ARCHITECTURE: ("nomic-bert-moe", "jina-bert-v3"),
}
"""Names under which ``<mask>`` takes the white space before it along."""

NUL: Final = b"\0"

PHI3: Final = "phi-3"
"""A name by which llama.cpp takes a model for Phi-3."""
_WITHOUT_SPACE: Final = ("<unk>", "<s>", "<|endoftext|>")
"""Special tokens of Phi-3 that leave the white space behind them."""


class Tokens:
    """Texts, types and roles of the tokens, by id."""

    def __init__(self, keys: Keys) -> None:
        self.keys = keys
        self.texts = _texts(keys)
        self.every = dict(zip(map(str.encode, self.texts), count()))
        """All of them, whatever their types, and their ids."""
        listed = keys.array(TYPES, "int32")
        if listed is not None and len(listed) < len(self.texts):
            keys.fail(TYPES, f"{len(listed):,} types for {len(self.texts):,} tokens")
        named = [NORMAL] * len(self.texts) if listed is None else listed[: len(self.texts)]
        self.named = [each if 0 <= each <= BYTE else UNDEFINED for each in named]
        given = gaps_named(keys.number, len(self.texts))
        self.types = effective(self.texts, self.named, given, keys.file)
        self._check_bytes()

    def _check_bytes(self) -> None:
        """Refuses tokens that stand for a byte which their text does not name."""
        if BYTE not in self.types:
            return
        for number, kind in enumerate(self.types):
            # llama.cpp reads a number out of the text from its fourth character on, whatever is
            # there, and fails where it is shorter (llama_vocab::impl::token_to_byte).
            if kind == BYTE and (text := self.texts[number]) not in BYTE_NAMES:
                self.keys.refuse(
                    f"{TYPES}[{number}]",
                    f"the token {show(text)} is marked as a byte, and no byte is spelled so "
                    "(<0x00> to <0xFF>); llama.cpp takes it for some byte, or does not load the "
                    "file",
                    "give the token another type, such as 1 (normal)",
                )

    def role(self, role: str, default: int | None) -> int | None:
        """The id of a role: the file's, else llama.cpp's default, if there is such a token."""
        number = self.keys.number(ROLES[role])
        if number is not None and number < len(self.texts):
            return number
        return default if default is not None and default < len(self.texts) else None

    def added(self, roles: Mapping[str, int | None]) -> tuple[AddedToken, ...]:
        """Those that are found in a text: control and unknown if asked, user-defined always."""
        by_id: dict[int, list[str]] = {}
        for role, number in roles.items():
            if number is not None:
                by_id.setdefault(number, []).append(role)
        tokens = tuple(
            AddedToken(
                self.texts[number],
                number,
                special=kind != USER_DEFINED,
                roles=tuple(sorted(by_id.get(number, ()))),
            )
            for number, kind in enumerate(self.types)
            if kind in (CONTROL, UNKNOWN, USER_DEFINED)
        )
        if self._order_counts(tokens):
            tokens = tuple(replace(token, longest_first=True) for token in tokens)
        return self._flagged(tokens)

    def _order_counts(self, added: Sequence[AddedToken]) -> bool:
        """Whether the order in which tokens are looked for matters.

        Raises:
            UnsupportedError: two that overlap are equally long.
        """
        texts = [token.text for token in added]
        taking = taking_spaces(self.keys.text(NAME) or "", texts)
        equal = equally_long(texts, taking)
        if equal is not None:
            self.keys.refuse(
                TOKENS,
                f"the end of {show(equal[0])}, or the white space it takes along, may be the "
                f"begin of {show(equal[1])}, and both are equally long: which of them llama.cpp "
                "finds is left to a sort that is not stable",
            )
        # llama.cpp looks for the longest first, others for the leftmost.
        return in_order_of_length(added, taking) is not None

    def _flagged(self, added: tuple[AddedToken, ...]) -> tuple[AddedToken, ...]:
        """Refuses what llama.cpp does by the name of a model."""
        keys = self.keys
        for key, parts in _TAKES_SPACES.items():
            value = keys.text(key) or ""
            if any(part in value for part in parts) and "<mask>" in self.texts:
                keys.refuse(
                    key,
                    "under this name <mask> takes ASCII white space before it along, "
                    "which is not supported yet",
                )
        name = keys.text(NAME) or ""
        if is_modern_bert(name) and "[MASK]" in self.texts:
            keys.refuse(NAME, "under this name [MASK] takes ASCII white space along")
        if is_phi3(name):
            self._needs(NAME, "</s>", *_WITHOUT_SPACE)
            return tuple(phi3(token) for token in added)
        return added

    def _needs(self, key: str, *texts: str) -> None:
        """Refuses a name under which llama.cpp looks up tokens that are not there, and fails."""
        missing = [text for text in texts if text not in self.texts]
        if missing:
            self.keys.fail(
                key,
                f"under this name llama.cpp needs the token {show(missing[0])}, and does not load "
                "a file without it",
                "give the model another name",
            )


def gaps_named(number: Callable[[str], int | None], count: int) -> frozenset[str]:
    """The roles in filling a gap for which keys name one of so many tokens."""
    return frozenset(
        role
        for table in (GAPS, _OLD_GAPS)
        for role, key in table.items()
        if (named := number(key)) is not None and named < count
    )


def is_phi3(name: str) -> bool:
    """Whether llama.cpp takes a model of this name for Phi-3."""
    return PHI3 in name.lower() or "phi3" in name.lower()


def is_modern_bert(name: str) -> bool:
    """Whether llama.cpp takes a model of this name for ModernBERT."""
    return "modern-bert" in name.lower()


def taking_spaces(name: str, texts: Iterable[str]) -> frozenset[str]:
    """The special tokens that take the white space behind them along, by the name of a model."""
    return frozenset(texts).difference(_WITHOUT_SPACE) if is_phi3(name) else frozenset()


def phi3(token: AddedToken) -> AddedToken:
    """Models named Phi-3: special tokens take the ASCII white space behind them along."""
    plain = token.text in _WITHOUT_SPACE
    return replace(token, rstrip=not plain, ascii_space=not plain)


def as_c_strings(listed: Sequence[bytes]) -> Sequence[bytes]:
    """Strings of an array as llama.cpp takes them: up to the first NUL."""
    # gguf_get_arr_str gives a pointer, of which llama-vocab.cpp makes a std::string.
    return [word.partition(NUL)[0] for word in listed] if NUL in b"".join(listed) else listed


def _texts(keys: Keys) -> list[str]:
    listed = keys.array(TOKENS, "string")
    if listed is None:
        keys.fail(TOKENS, "the key is missing: there is no vocabulary in this file")
    if not listed:
        keys.fail(TOKENS, "there are no tokens")
    listed = as_c_strings(listed)
    once = {*listed}
    # Nearly every file: no text twice, none empty, all UTF-8. What is otherwise is found below.
    if len(once) == len(listed) and b"" not in once:
        with suppress(UnicodeDecodeError):
            return [word.decode("utf-8") for word in listed]
    first: dict[bytes, int] = {}
    texts: list[str] = []
    for number, token in enumerate(listed):
        # The text that llama.cpp gives an empty token (llama_vocab::impl::load).
        word = token or f"[EMPTY_{number}]".encode()
        if first.setdefault(word, number) != number:
            keys.fail(
                f"{TOKENS}[{number}]",
                f"the token {show(word)} is already there, as {TOKENS}[{first[word]}]",
            )
        try:
            texts.append(word.decode("utf-8"))
        except UnicodeDecodeError:
            keys.fail(f"{TOKENS}[{number}]", f"the token {show(word)} is not UTF-8")
    return texts


def form_of_characters(ids: Mapping[bytes, int], merges: MergeRule) -> Canonical:
    """The canonical form of merges that start from characters, whatever the tokens' types."""
    return canonical(BPEModel(Vocab(ids), merges, alphabet="char"))


def built(ids: Mapping[bytes, int], form: Canonical) -> set[bytes]:
    """The tokens that merging builds out of their characters, single characters too."""
    return characters(ids) | (form.splits.keys() & ids.keys())


def lines_of(contents: Iterable[bytes]) -> Iterator[bytes]:
    """Those that are runs of newlines."""
    return (content for content in contents if content and not content.strip(b"\n"))
