"""The tokens of a GGUF file: texts, types, roles, and those that are found in a text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from ...model import AddedToken, show
from .keys import ARCHITECTURE, NAME, PRE, ROLES, TOKENS, TYPES, Keys
from .overlaps import equally_long, in_order_of_length
from .types import BYTE, BYTE_NAMES, CONTROL, NORMAL, UNDEFINED, UNKNOWN, USER_DEFINED, effective

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
        listed = keys.array(TYPES, "int32")
        if listed is not None and len(listed) < len(self.texts):
            keys.fail(TYPES, f"{len(listed):,} types for {len(self.texts):,} tokens")
        named = [NORMAL] * len(self.texts) if listed is None else listed[: len(self.texts)]
        self.named = [each if 0 <= each <= BYTE else UNDEFINED for each in named]
        given = gaps_named(keys.number, len(self.texts))
        self.types = effective(self.texts, self.named, given, keys.file)
        self._check_bytes()

    def _check_bytes(self) -> None:
        """Refuses tokens that stand for a byte which their text does not name.

        llama.cpp reads a number out of the text from its fourth character on, whatever is there
        (``llama_vocab::impl::token_to_byte``); where the text is shorter, it fails.
        """
        if BYTE not in self.types:
            return
        for number, (text, kind) in enumerate(zip(self.texts, self.types, strict=True)):
            if kind == BYTE and text not in BYTE_NAMES:
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

        llama.cpp looks for the longest first, others for the leftmost.

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
                    "which is not held yet",
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
    """Strings of an array as llama.cpp takes them: up to the first NUL.

    ``gguf_get_arr_str`` gives a pointer, of which ``llama-vocab.cpp`` makes a ``std::string``.
    """
    return [word.partition(NUL)[0] for word in listed] if NUL in b"".join(listed) else listed


def _texts(keys: Keys) -> list[str]:
    listed = keys.array(TOKENS, "string")
    if listed is None:
        keys.fail(TOKENS, "the key is missing: there is no vocabulary in this file")
    if not listed:
        keys.fail(TOKENS, "there are no tokens")
    listed = as_c_strings(listed)
    once = {*listed}
    if len(once) == len(listed) and b"" not in once:
        with suppress(UnicodeDecodeError):
            return [word.decode("utf-8") for word in listed]
    first: dict[bytes, int] = {}
    texts: list[str] = []
    for number, token in enumerate(listed):
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
