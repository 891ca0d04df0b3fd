"""What a preset is, and the published facts: patterns, special tokens, sha256 of their files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from ..model import AddedToken, SequenceTemplate, TemplateText, TemplateToken
from ..openai_encodings import ENCODINGS
from ..steps import NormalizerStep, Pattern, PreTokenizerStep, Split, UnicodeForm
from ..text.spellings import (
    CL100K,
    KIMI_K2,
    MEGATRON_V1,
    QWEN2,
    TEKKEN,
)


class ModelFamily(NamedTuple):
    """What is published about a ``.model``, which says everything but what stands around a text.

    ``file`` is its sha256 (hex).
    """

    name: str
    file: str
    source: str
    template: SequenceTemplate
    note: str = ""


@dataclass(frozen=True)
class Preset:
    """What is published about one tokenizer, and where.

    ``pattern`` is in fancy-regex syntax, its matches are the pretokens. ``special_tokens`` map
    texts to ids in the order published; ``plain_tokens`` are added tokens that are not special.
    ``normalizer`` is that of the publisher's files that do not say it (a pair); of ranks, which
    are read without any, a note says it (:data:`NFC_LEFT_OUT`).
    ``files`` lists the sets of files (by sha256, hex) that are this tokenizer's vocabulary.
    ``roles`` maps ``bos`` and the like to a special token's text. ``template`` is None where
    the publisher leaves it to the caller. ``flags`` are those of an added token that has any, by
    its text (``lstrip, rstrip, single_word, normalized``). ``says_added``: whether all added tokens
    are known; if not, there are none here.
    """

    name: str
    pattern: str
    special_tokens: Mapping[str, int]
    files: tuple[frozenset[str], ...]
    source: str
    roles: Mapping[str, str] = field(default_factory=dict)
    template: SequenceTemplate | None = field(default_factory=SequenceTemplate)
    plain_tokens: Mapping[str, int] = field(default_factory=dict)
    normalizer: tuple[NormalizerStep, ...] = ()
    flags: Mapping[str, Mapping[str, bool]] = field(default_factory=dict)
    says_added: bool = True

    @property
    def pretokenizer(self) -> tuple[PreTokenizerStep, ...]:
        """The pattern as a step: its matches are the pretokens, other text is dropped."""
        return (Split(Pattern(self.pattern, "fancy-regex"), "removed", invert=True),)

    @property
    def added(self) -> tuple[AddedToken, ...]:
        """The special tokens, then the plain ones, in the order published."""
        return tuple(
            AddedToken(
                text,
                number,
                special=text in self.special_tokens,
                roles=tuple(sorted(role for role, named in self.roles.items() if named == text)),
                **self.flags.get(text, {}),
            )
            for text, number in (*self.special_tokens.items(), *self.plain_tokens.items())
        )


@dataclass(frozen=True)
class OwnPreset(Preset):
    """A preset from a user's file: what it says besides is said as the user's own statement."""

    said_roles: Mapping[str, str] = field(default_factory=dict)
    said_normalizer: str | None = None
    said_template: str | None = None
    said_chat_template: str | None = None


SUFFIX = ".json"
"""How the name of a file ends that holds a preset of a user's own (``own.py`` reads it)."""

NORMALIZERS: Mapping[str, tuple[NormalizerStep, ...]] = {
    "none": (),
    **{form.lower(): (UnicodeForm(form),) for form in ("NFC", "NFD", "NFKC", "NFKD")},
}
"""Normalizers by name, in small letters."""

NFC_LEFT_OUT = (
    "the publisher's tokenizer normalizes a text to NFC before it encodes it, which a rank file "
    "cannot say and tiktoken does not do; to state it: convert or extend with --normalizer nfc"
)
"""The note on a model whose preset normalizes to NFC, and which does not itself."""

# The files.

_LLAMA3_FILES = (frozenset({"82e9d31979e92ab929cd544440f129d9ecd797b69e327f80f17e1c50d5551b55"}),)
_QWEN_FILES = (
    frozenset({"b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186"}),
    frozenset({"6cf5f2a2560a7d581548aeb0c31c6a60de2d3e873152346e421affc871699be4"}),  # CRLF
)

# The special tokens.


def _numbered(first: int, texts: Iterable[str]) -> dict[str, int]:
    return {text: number for number, text in enumerate(texts, first)}


def _reserved(begin: int, end: int) -> list[str]:
    return [f"<|reserved_special_token_{number}|>" for number in range(begin, end)]


_LLAMA_HEAD = ["<|begin_of_text|>", "<|end_of_text|>", *_reserved(0, 2)]
_HEADERS = ["<|start_header_id|>", "<|end_header_id|>"]
_LLAMA_3 = _numbered(
    128000,
    [*_LLAMA_HEAD, *_reserved(2, 4), *_HEADERS, *_reserved(4, 5), "<|eot_id|>", *_reserved(5, 251)],
)
_LLAMA_31 = _numbered(
    128000,
    [
        *(*_LLAMA_HEAD, "<|finetune_right_pad_id|>", *_reserved(2, 3), *_HEADERS),
        *("<|eom_id|>", "<|eot_id|>", "<|python_tag|>", *_reserved(3, 248)),
    ],
)
_LLAMA_REFERENCE = _numbered(
    128000,
    [
        *(*_LLAMA_HEAD, "<|finetune_right_pad_id|>", "<|step_id|>", *_HEADERS),
        *("<|eom_id|>", "<|eot_id|>", "<|python_tag|>", "<|image|>", *_reserved(2, 246)),
    ],
)
_QWEN_FIRST = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
_QWEN_1 = _numbered(151643, [*_QWEN_FIRST, *(f"<|extra_{number}|>" for number in range(205))])
_QWEN_2 = _numbered(151643, _QWEN_FIRST)
_QWEN_25 = _numbered(
    151643,
    [
        *_QWEN_FIRST,
        *("<|object_ref_start|>", "<|object_ref_end|>", "<|box_start|>", "<|box_end|>"),
        *("<|quad_start|>", "<|quad_end|>", "<|vision_start|>", "<|vision_end|>"),
        *("<|vision_pad|>", "<|image_pad|>", "<|video_pad|>"),
    ],
)
_QWEN_25_PLAIN = _numbered(
    151657,
    [
        *("<tool_call>", "</tool_call>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>"),
        *("<|fim_pad|>", "<|repo_name|>", "<|file_sep|>"),
    ],
)


_KIMI_NAMES = {
    163584: "[BOS]",
    163585: "[EOS]",
    163586: "<|im_end|>",
    163587: "<|im_user|>",
    163588: "<|im_assistant|>",
    163590: "<|start_header_id|>",
    163591: "<|end_header_id|>",
    163593: "[EOT]",
    163594: "<|im_system|>",
    163595: "<|tool_calls_section_begin|>",
    163596: "<|tool_calls_section_end|>",
    163597: "<|tool_call_begin|>",
    163598: "<|tool_call_argument_begin|>",
    163599: "<|tool_call_end|>",
    163601: "<|im_middle|>",
    163838: "[UNK]",
    163839: "[PAD]",
}
_KIMI_K2 = {
    _KIMI_NAMES.get(number, f"<|reserved_token_{number}|>"): number
    for number in range(163584, 163840)
}


def _bos_first(text: str, number: int) -> SequenceTemplate:
    """A token before each text, as all of Llama's tokenizers place it."""
    one, two = (TemplateToken(text, (number,), type_id) for type_id in (0, 1))
    single = (one, TemplateText("A", 0))
    return SequenceTemplate(single, (*single, two, TemplateText("B", 1)))


# Meta's reference code asks its callers for ``bos=True`` or ``False``; all of its own calls that
# begin a sequence say True, and the tokenizer.json that Meta publishes says it too.
_LLAMA_TEMPLATE = _bos_first("<|begin_of_text|>", 128000)
_LLAMA_ROLES = {"bos": "<|begin_of_text|>", "eos": "<|end_of_text|>"}

_TIKTOKEN = "https://github.com/openai/tiktoken/blob/main/tiktoken_ext/openai_public.py"
_NFC = (UnicodeForm("NFC"),)


_MEGATRON = "https://github.com/NVIDIA/Megatron-LM (tokenizers, tiktoken_tokenizer.py)"
_MEGATRON_NAMES = ("<unk>", "<s>", "</s>", "<mask>", "<pad>", "<cls>", "<sep>")
_MEGATRON_SPECIAL = _numbered(
    0,
    [*_MEGATRON_NAMES, *(f"<SPECIAL_{number}>" for number in range(len(_MEGATRON_NAMES), 1_000))],
)


def _megatron(name: str, pattern: str) -> Preset:
    """Who runs it asks for bos and eos; the names are those that it takes by default."""
    roles = {role: f"<{role}>" for role in ("unk", "mask", "pad", "cls", "sep")}
    roles |= {"bos": "<s>", "eos": "</s>"}
    return Preset(name, pattern, _MEGATRON_SPECIAL, (), _MEGATRON, roles=roles, template=None)


_ALL = (
    *(
        Preset(
            each.name,
            each.pattern,
            each.special_tokens,
            tuple(frozenset(file.sha256 for file in files) for files in each.files),
            _TIKTOKEN,
        )
        for each in ENCODINGS.values()
    ),
    Preset(
        "llama-3",
        CL100K,
        _LLAMA_3,
        _LLAMA3_FILES,
        "https://github.com/meta-llama/llama3/blob/main/llama/tokenizer.py",
        roles=_LLAMA_ROLES,
        template=_LLAMA_TEMPLATE,
    ),
    Preset(
        "llama-3.1",
        CL100K,
        _LLAMA_31,
        _LLAMA3_FILES,
        "the tokenizer.json published with Llama 3.2 (https://huggingface.co/meta-llama)",
        roles={"bos": "<|begin_of_text|>"},
        template=_LLAMA_TEMPLATE,
    ),
    Preset(
        "llama-3.1-reference",
        CL100K,
        _LLAMA_REFERENCE,
        _LLAMA3_FILES,
        "https://github.com/meta-llama/llama-models/blob/main/models/llama3/tokenizer.py",
        roles={**_LLAMA_ROLES, "pad": "<|finetune_right_pad_id|>"},
        template=_LLAMA_TEMPLATE,
    ),
    Preset(
        "qwen",
        QWEN2,
        _QWEN_1,
        _QWEN_FILES,
        "https://huggingface.co/Qwen/Qwen-7B/blob/main/tokenization_qwen.py",
        normalizer=_NFC,
    ),
    Preset(
        "qwen2",
        QWEN2,
        _QWEN_2,
        _QWEN_FILES,
        "https://huggingface.co/Qwen/Qwen2-7B/blob/main/tokenizer.json",
        normalizer=_NFC,
    ),
    Preset(
        "qwen2.5",
        QWEN2,
        _QWEN_25,
        _QWEN_FILES,
        "https://huggingface.co/Qwen/Qwen2.5-7B/blob/main/tokenizer.json",
        plain_tokens=_QWEN_25_PLAIN,
        normalizer=_NFC,
    ),
    Preset(
        "kimi-k2",
        KIMI_K2,
        _KIMI_K2,
        (),
        "https://huggingface.co/moonshotai/Kimi-K2-Instruct (tokenization_kimi.py, "
        "tokenizer_config.json)",
        roles={"bos": "[BOS]", "eos": "[EOS]", "unk": "[UNK]", "pad": "[PAD]"},
    ),
    _megatron("megatron-v1", MEGATRON_V1),
    _megatron("megatron-v2", TEKKEN),
)

PRESETS: Mapping[str, Preset] = MappingProxyType({preset.name: preset for preset in _ALL})
"""Every preset by its name."""

_SPM_BOS = _bos_first("<s>", 1)

FAMILIES: tuple[ModelFamily, ...] = (
    ModelFamily(
        "llama-2",
        "9e556afd44213b6bd1be2b850ebbbd98f5481437a8021afaf58ee7fb1818d347",
        "https://github.com/meta-llama/llama/blob/main/llama/tokenizer.py",
        _SPM_BOS,
        note="models made from Llama 2 may have the same file and no BOS before a text, as "
        "Phi-3-mini: for such a one keep a tokenizer_config.json that has add_bos_token beside the "
        "file, or say --template none",
    ),
    ModelFamily(
        "mistral-v1",
        "dadfd56d766715c61d2ef780a525ab43b8e6da4de6865bda3d95fdef5e134055",
        "the tokenizer.json published with Mistral-7B-v0.1 (https://huggingface.co/mistralai)",
        _SPM_BOS,
    ),
)
"""The ``.model`` files of which it is published what stands around a text."""
