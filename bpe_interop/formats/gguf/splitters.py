r"""What llama.cpp does for each name in ``tokenizer.ggml.pre``: how it splits, and its flags.

A GGUF file holds no pattern: the name chooses code (``src/llama-vocab.cpp``, ``llama_vocab::impl
::load`` and ``llm_tokenizer_bpe``; ``src/unicode.cpp``; read at llama.cpp 00ad355e, October
2026). The patterns here say in the dialect of fancy-regex what that code does, which is not
always what the publisher's own pattern does:

- Several patterns are applied in order, each to the pieces of the one before. Matches and what
  lies between them are pieces.
- Contractions are ASCII letters in either case; ``(?i:'s)`` also takes U+017F elsewhere.
- Where the source writes ``((?=[\p{L}])([^a-z]))*`` for "no small letter", case is ASCII's and
  marks are no letters: here ``[^\P{L}a-z]*``.
- Of patterns that run in ``std::regex`` on one byte per code point, ``\p{Lu}`` and its like all
  mean ``\p{L}``.
- A list of characters never matches white space beyond ASCII, even if it is in the list.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from ...steps import Pattern, PreTokenizerStep, Replace, Split
from ...text.spellings import GPT2

SOURCE: Final = "src/llama-vocab.cpp and src/unicode.cpp of llama.cpp 00ad355e (October 2026)"
"""Where the names were read."""

_CONTRACTION: Final = r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
_TAIL: Final = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_LLAMA3: Final = rf"{_CONTRACTION}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}|{_TAIL}"
_QWEN2: Final = rf"{_CONTRACTION}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}|{_TAIL}"
_QWEN35: Final = (
    rf"{_CONTRACTION}|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}\p{{M}}]+|\p{{N}}"
    r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_NO_CONTRACTION: Final = rf"[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}|{_TAIL}"


def _cased(end: str, numbers: str) -> str:
    """o200k's shape with ASCII case: capitals and then small letters, or only capitals."""
    start = r"[^\r\n\p{L}\p{N}]?"
    return (
        rf"{start}[^\P{{L}}a-z]*[^\P{{L}}A-Z]+{end}|{start}[^\P{{L}}a-z]+[^\P{{L}}A-Z]*{end}"
        rf"|{numbers}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    )


_WORD: Final = r"[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+"
_YOUTU_SCRIPTS: Final = (
    "[\uac00-\ud7a3\u3131-\u318e]+|[\uff01\u2026\u201c\u201d\u2018\u2019\u2014\uff1a\uff1b\uff0c"
    "\u3001-\u303f\ufe30-\ufe4f]+|[\u3105-\u312f]+|[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"
)
_YOUTU: Final = (
    rf"{_WORD}{_CONTRACTION}?|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_GRANITE: Final = (
    r"[^\r\n\p{L}\p{N}]?[[^\P{L}a-z]\p{M}]*[[^\P{L}A-Z]\p{M}]+"
    rf"{_CONTRACTION}?|[^\r\n\p{{L}}\p{{N}}]?[[^\P{{L}}a-z]\p{{M}}]+[[^\P{{L}}A-Z]\p{{M}}]*"
    rf"{_CONTRACTION}?|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_TEKKEN: Final = _cased("", r"\p{N}")
_GPT4O: Final = _cased(f"{_CONTRACTION}?", r"\p{N}{1,3}")
_FALCON_PUNCTUATION: Final = r"[\p{P}$+<=>^~|`]+"
_DEFAULT_PUNCTUATION: Final = r"[\p{P}$+<=>^~|]+"
_THREE_DIGITS: Final = "[0-9][0-9][0-9]"
_NUMBERS: Final = r"\p{N}{1,3}"
_HAN_KANA: Final = "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"
_HAN_HANGUL: Final = r"[^\s\x00-\u07ff\u9fa6-\uabff\ue000-\U0010ffff]+"
_DEEPSEEK_LETTERS: Final = (
    "\\s?[A-Za-z\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u01bc-\u01bf\u01c4-\u0293\u0295-\u02af"
    "\u0370-\u0373\u0376\u0377\u037b-\u037d\u037f\u0386\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03f5"
    "\u03f7-\u0481\u048a-\u052f\u0531-\u0556\u10a0-\u10c5\u13a0-\u13f5\u13f8-\u13fd\u1c90-\u1cba"
    "\u1cbd-\u1cbf\u1d00-\u1d2b\u1d6b-\u1d77\u1d79-\u1d9a\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45"
    "\u1f48-\u1f4d\u1f50-\u1f57\u1f59\u1f5b\u1f5d\u1f5f-\u1f7d\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe"
    "\u1fc2-\u1fc4\u1fc6-\u1fcc\u1fd0-\u1fd3\u1fd6-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffc"
    "\u2102\u2107\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134\u2139"
    "\u213c-\u213f\u2145-\u2149\u214e\u2183\u2184\u2c00-\u2c7b\u2c7e-\u2ce4\u2ceb-\u2cee\u2cf2\u2cf3"
    "\ua640-\ua66d\ua680-\ua69b\ua722-\ua76f\ua771-\ua787\ua78b-\ua78e\uab70-\uabbf\ufb00-\ufb06"
    "\ufb13-\ufb17\uff21-\uff3a\uff41-\uff5a\U00010400-\U0001044f\U000104b0-\U000104d3"
    "\U000104d8-\U000104fb\U00010c80-\U00010cb2\U00010cc0-\U00010cf2\U000118a0-\U000118df"
    "\U0001e900-\U0001e943]+"
)
_DEEPSEEK_MARKS: Final = "\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3001-\u3002]+"
_ASCII_P_AND_S: Final = r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~]"
_DEEPSEEK3: Final = (
    rf"{_ASCII_P_AND_S}[A-Za-z]+|[^\r\n\p{{L}}\p{{P}}\p{{S}}]?[\p{{L}}\p{{M}}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_SPARK: Final = (
    rf"{_ASCII_P_AND_S}[A-Za-z]+|[^\r\n\p{{L}}\p{{P}}\p{{S}}]?[\p{{L}}\p{{M}}]+"
    r"| ?[\p{P}\p{S}]+|[\r\n]|\s+(?!\S)|\s+"
)
_JAIS2: Final = _LLAMA3.replace(
    r"|\s+(?!\S)|\s+",
    "".join(rf"|\s{{{size}}}(?!\S)" for size in (512, 256, 128, 64, 32, 16, 8, 4))
    + r"|\s{1,2}(?!\S)|\s{1}",
)
_EXAONE_MOE: Final = (
    rf"{_CONTRACTION}|[^\r\n\p{{L}}\p{{N}}]?(?:\p{{L}}\p{{M}}*(?: \p{{L}}\p{{M}}*)*)+|\p{{N}}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+"
)
_BLOOM: Final = " ?[^(\\s|.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c)]+"
_SEED: Final = (
    rf"{_CONTRACTION}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}| ?[^\s\p{{L}}\p{{N}}\r\n]+"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_BAILING: Final = (
    r"'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
)

_HAN: Final = (
    "\u4e00-\u9fff\u3400-\u4dbf\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002b73f"
    "\U0002b740-\U0002b81f\U0002b820-\U0002ceaf\U0002ceb0-\U0002ebef\U0002f800-\U0002fa1f"
)
_KIMI: Final = (
    rf"[{_HAN}]+|[^\r\n\p{{L}}\p{{N}}]?[^\P{{L}}{_HAN}]+{_CONTRACTION}?|\p{{N}}{{1,3}}|{_TAIL}"
)
_DIGITS_AND_BEFORE: Final = r"\P{N}*\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))"
"""Groups of three digits from the right; the first one is not cut off from what is before it."""
_AFMOE_SCRIPTS: Final = (
    "[\u4e00-\u9fff\u3400-\u4dbf\uf900-\ufaff\u3040-\u309f\u30a0-\u30ff\uff65-\uff9f"
    "\u2f00-\u2fdf\u0e40-\u0e7f\u0e80-\u0eff\u1780-\u17ff\u1000-\u109f\uaa60-\uaa7f"
    "\ua9e0-\ua9ff\uac00-\ud7af\u1100-\u11ff]+"
)
_CHAMELEON: Final = (
    "<sentinel:[0-9]+>", "IMGIMG[A-I]{1,4}Z", r"[\t\n]|    |  ", r"\p{N}",
    r"[\p{P}!-/:-@\[-`{-~]", GPT2,
)  # fmt: skip
_THREES: Final = r"(?=(?:[0-9]{3})+(?![0-9]))"
"""Cuts before each group of three digits, counted from the right."""
_AYA: Final = _YOUTU.replace(r"|\p{N}|", r"|\p{N}{1,3}|")


@dataclass(frozen=True, slots=True)
class NamedSplitter:
    """How texts are split under a name, and what else the name decides.

    ``lookup_first`` (``ignore_merges``): a pretoken that is a token is not merged. ``bos``:
    ``add_bos_token`` where the file does not say. ``cleans`` (``clean_spaces``): spaces before
    punctuation are taken out of decoded text, if that is asked for.
    """

    patterns: tuple[str, ...]
    lookup_first: bool = False
    bos: bool = False
    cleans: bool = True

    @property
    def steps(self) -> tuple[PreTokenizerStep, ...]:
        return tuple(Split(Pattern(source, "fancy-regex"), "isolated") for source in self.patterns)


_GPT2_ALONE: Final = NamedSplitter((GPT2,))
_LLAMA3_ALL: Final = NamedSplitter((_LLAMA3,), lookup_first=True, bos=True)
_DIGITS_GPT2: Final = NamedSplitter((r"\p{N}", GPT2))


def _same(row: NamedSplitter, *names: str) -> dict[str, NamedSplitter]:
    return dict.fromkeys(names, row)


# The tests load every name here, and in NOT_HELD, in the engine. Where llama.cpp is newer than the
# engine, raise xllamacpp in pyproject.toml, and "examined" of its row in engines/rows.py. Then
# "python -m trust gguf" writes docs/gguf-names.md and docs/trust/gguf.md.
SPLITTERS: Final[Mapping[str, NamedSplitter]] = MappingProxyType(
    {
        "default": NamedSplitter((_DEFAULT_PUNCTUATION, GPT2, r"\p{N}+", _THREE_DIGITS)),
        **_same(
            _LLAMA3_ALL,
            "llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0",
            "lfm2", "jina-v5-nano",
        ),
        **_same(NamedSplitter((_LLAMA3,)), "dbrx", "smaug-bpe", "glm4", "chatglm-bpe"),
        "minicpm5": NamedSplitter(
            (_NUMBERS, _LLAMA3.replace(r"\p{N}{1,3}|", r"\p{N}+|")), lookup_first=True
        ),
        "deepseek-coder": NamedSplitter(
            (r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", _HAN_HANGUL, r"\p{N}"), cleans=False
        ),
        "deepseek-llm": NamedSplitter(
            (r"[\r\n]", _DEEPSEEK_LETTERS, _DEEPSEEK_MARKS, r"\s+\z", _HAN_HANGUL, r"\p{N}+"),
            cleans=False,
        ),
        **_same(
            NamedSplitter((_NUMBERS, _HAN_KANA, _DEEPSEEK3), cleans=False),
            "deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4",
        ),
        "spark2_5": NamedSplitter((_NUMBERS, _HAN_KANA, _SPARK, r"\p{N}"), cleans=False),
        "jais-2": NamedSplitter((_JAIS2,)),
        "exaone-moe": NamedSplitter((_EXAONE_MOE,)),
        "laguna": NamedSplitter((r"[^\n]+|[\n]+", _QWEN2), cleans=False),
        "falcon": NamedSplitter((_FALCON_PUNCTUATION, GPT2, _THREE_DIGITS)),
        **_same(
            _DIGITS_GPT2,
            "starcoder", "refact", "codeshell", "exaone", "minerva-7b", "mellum2",
        ),
        **_same(NamedSplitter((r"\p{N}", GPT2), cleans=False), "command-r", "smollm"),
        **_same(
            _GPT2_ALONE,
            "gpt-2", "phi-2", "jina-es", "jina-de", "gigachat", "jina-v2-es", "jina-v2-de",
            "a.x-4.0", "mellum", "modern-bert", "jina-v1-en", "jina-v2-code", "roberta-bpe",
            "mpt", "olmo", "jais", "exaone4",
        ),
        **_same(NamedSplitter((GPT2,), cleans=False), "trillion", "granite-docling"),
        **_same(
            NamedSplitter((_QWEN2,), cleans=False),
            "qwen2", "deepseek-r1-qwen", "kormo", "f2llmv2", "hunyuan", "solar-open", "grok-2",
        ),
        **_same(NamedSplitter((_QWEN2,)), "megrez", "stablelm2"),
        "qwen35": NamedSplitter((_QWEN35,), cleans=False),
        **_same(NamedSplitter((_BLOOM,)), "bloom", "gpt3-finnish"),
        "poro-chat": NamedSplitter((_BLOOM,), cleans=False),
        "viking": NamedSplitter((_BLOOM, r"\p{N}"), cleans=False),
        "tekken": NamedSplitter((_TEKKEN,), lookup_first=True, bos=True, cleans=False),
        **_same(
            NamedSplitter((_GPT4O,), cleans=False),
            "gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2",
        ),
        **_same(
            NamedSplitter((_BAILING,), cleans=False), "bailingmoe", "bailingmoe2", "llada-moe"
        ),
        "granite-embed-multi-97m": NamedSplitter((_GRANITE,), lookup_first=True, cleans=False),
        "youtu": NamedSplitter((_YOUTU_SCRIPTS, _YOUTU), lookup_first=True, cleans=False),
        "seed-coder": NamedSplitter((_SEED,), cleans=False),
        "ufakzeka": NamedSplitter((_NO_CONTRACTION,), cleans=False),
        "kimi-k2": NamedSplitter((_KIMI,), cleans=False),
        "afmoe": NamedSplitter((_DIGITS_AND_BEFORE, _AFMOE_SCRIPTS, _DEEPSEEK3), cleans=False),
        "chameleon": NamedSplitter(_CHAMELEON, bos=True, cleans=False),
        "superbpe": NamedSplitter((r"\p{N}+", _THREES), cleans=False),
        **_same(NamedSplitter((_DIGITS_AND_BEFORE, _AYA), cleans=False), "tiny_aya", "cohere2moe"),
    }
)  # fmt: skip
"""Names to splitters."""


# Names under which llama.cpp merges the characters of a text, not GPT-2's letters for bytes. The
# kind is still that of merges (``llm_tokenizer_bpe`` in ``src/llama-vocab.cpp``, with
# ``byte_encode`` false): spaces become U+2581, runs of newlines are cut off, characters are merged
# by rank, and what is no token in the end becomes the tokens ``<0xE4>`` of its bytes.

GEMMA4: Final = "gemma4"
"""A name, and a kind of its own (``tokenizer.ggml.model``) that stands for the name."""

SPACES: Final = (Replace(" ", "\u2581"),)
LINES_PATTERN: Final = r"[^\n]+|[\n]+"
LINES_STEPS: Final[tuple[PreTokenizerStep, ...]] = (
    Split(Pattern(LINES_PATTERN, "fancy-regex"), "isolated"),
)


@dataclass(frozen=True, slots=True)
class OverCharacters:
    """What else a name decides.

    ``lines``: a run of newlines that is a token is not merged. ``bos``: BOS is added whatever
    the file says, and llama.cpp ends itself where there is none. ``cleans``: as of a splitter.
    """

    lines: bool
    bos: bool
    cleans: bool


_GEMMA4: Final = OverCharacters(lines=True, bos=True, cleans=True)

OVER_CHARACTERS: Final[Mapping[str, OverCharacters]] = MappingProxyType(
    {
        GEMMA4: _GEMMA4,
        "granite-embed-multi-311m": _GEMMA4,
        "sarvam-moe": OverCharacters(lines=False, bos=False, cleans=False),
    }
)

UNREADABLE: Final = (
    "llama.cpp has no way back: it decodes every token as if it were spelled in GPT-2's letters "
    "for bytes, which these are not"
)
NOT_HELD: Final[Mapping[str, str]] = MappingProxyType(
    {
        "whitespace": f"llama.cpp ends on any text with two spaces in a row, and {UNREADABLE}",
    }
)
"""Names that llama.cpp knows and that are refused, with the reason."""


def nearest(name: str) -> list[str]:
    """The names that are spelled most like one that is not known."""
    from difflib import get_close_matches

    return get_close_matches(name, [*SPLITTERS, *NOT_HELD], n=3, cutoff=0.5)
