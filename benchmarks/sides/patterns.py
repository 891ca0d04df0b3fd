"""What transformers has to be told of rank files: patterns as tokenizers runs them, and tokens.

cl100k's is the spelling in which transformers ships it; o200k's that of
``tiktoken_ext/openai_public.py``. tokenizers' ``{1,3}+`` is not possessive, so tiktoken's own
spelling of cl100k's pattern would cut some texts otherwise.
"""

from __future__ import annotations

_ENDINGS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"

PATTERNS = {
    "cl100k_base": _ENDINGS
    + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    + r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "o200k_base": rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_ENDINGS}?"
    rf"|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_ENDINGS}?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
}

SPECIAL = {
    "cl100k_base": (
        "<|endoftext|>",
        "<|fim_prefix|>",
        "<|fim_middle|>",
        "<|fim_suffix|>",
        "<|endofprompt|>",
    ),
    "o200k_base": ("<|endoftext|>", "<|endofprompt|>"),
}
