"""Names of the files that a tokenizer is made of."""

from __future__ import annotations

PARTNERS = {
    "encoder.json": "vocab.bpe",
    "vocab.json": "merges.txt",
    "vocab.bpe": "encoder.json",
    "merges.txt": "vocab.json",
}
"""Each half of a GPT-2 pair, and the other one."""

MAIN = ("tokenizer.json", *PARTNERS)
"""Files that a tokenizer can be told by."""

BESIDE = (
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "config.json",
    "generation_config.json",
    "chat_template.jinja",
)
"""Files that stand beside a ``tokenizer.json``."""

TEMPLATES = "additional_chat_templates"
"""A folder of further chat templates."""
