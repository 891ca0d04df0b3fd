"""What transformers' tokenizer classes build, and for which models it takes which class.

All that is known here of a class stands in this table. It is knowledge of an engine, and reading
a directory needs it too, so it stands above the formats and the engines: pure data, no import of
transformers. Measured in the lowest and the newest version that are admitted by letting
``AutoTokenizer`` read small directories. ``tests/engines/test_companions.py`` holds it true in the
newest, ``tests/engines/test_kept_class.py`` in both (``python -m trust versions``). Its sources are
``models/auto/tokenization_auto.py`` and the classes themselves. Of a ``tokenizer.json``, a class
of this table keeps vocabulary and merges only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from .model import Json
from .strict_json import Node
from .text.spellings import QWEN2

Steps: TypeAlias = Sequence[Mapping[str, Json]]
Template: TypeAlias = Literal["kept", "none", "bos", "cls sep", "bos eos", "whisper", "own"]

LOWEST = "4.57"
"""The lowest version of transformers that is admitted; :data:`LOADED_ALIKE` was measured in it."""

MEASURED = "5.24"
"""The newest version of transformers; everything else was measured in it."""

TRANSFORMERS = f"transformers {MEASURED}"
"""What sentences name, for an older one may do otherwise."""

DEFAULT = "TokenizersBackend"
"""What ``PreTrainedTokenizerFast`` is called since transformers 5: it runs the file as it is."""

SAVE_ANEW = (
    "to have what AutoTokenizer makes of the folder, let it write a tokenizer.json, and convert "
    "that: AutoTokenizer.from_pretrained(DIR).save_pretrained(OUT)"
)
"""The way where a file beside a pair names a class whose work is not known here."""

NO_PAIR = frozenset({"LlamaTokenizer", "CodeLlamaTokenizer", "GemmaTokenizer", "Qwen3_5Tokenizer"})
"""Classes that read no ``vocab.json`` in transformers 5.24: they have special tokens alone."""


def of_a_pair(name: str) -> str:
    """What ``AutoTokenizer`` does with a pair of files for a class not known here, and the way."""
    if name.removesuffix("Fast") in NO_PAIR:
        return (
            f"for {name}, {TRANSFORMERS} reads no vocab.json, and AutoTokenizer has special "
            "tokens alone: name the class of this pair in tokenizer_config.json"
        )
    return f"what {name} does with a pair is not known here: {SAVE_ANEW}"


FAITHFUL = frozenset({DEFAULT, "PreTrainedTokenizer", "BloomTokenizer", "ParakeetTokenizer"})
"""Names (without ``Fast`` at the end) for which ``AutoTokenizer`` runs the file as it is."""


AROUND: Mapping[str, tuple[str, str]] = {
    "none": ("", ""),
    "bos": ("bos", ""),
    "cls sep": ("cls", "sep"),
    "bos eos": ("bos", "eos"),
}
"""The roles of the tokens before and after a text, by the kind of a class's template."""

WHISPER = ("<|startoftranscript|>", "<|notimestamps|>")
"""What ``WhisperTokenizer`` places before a text, and eos behind it, where no language is set."""

DECODED_OTHERWISE: Mapping[str, str] = {
    "WhisperTokenizer": "leaves out of decoded text what looks like a timestamp (<|0.00|>)",
}
"""Classes whose ``decode`` does more than their decoder."""


class BuiltClass(NamedTuple):
    """What a class builds, each step spelled as in a ``tokenizer.json``.

    ``template``: the file's is kept where it has one; or there is none; or bos comes first, or
    cls first and sep last (bos and eos in one class); or it is Whisper's (:data:`WHISPER`); or
    the class has its own. ``roles`` are special tokens that it assumes where none are named.
    ``unknown``: whether the unk token stands for missing characters. ``prefix_space`` is the
    default of ``add_prefix_space``, None where that is not read; ``legacy``: whether that key is
    read. Whole pretokens are never looked up.
    """

    normalizer: Steps
    pre_tokenizer: Steps
    decoder: Steps
    roles: Mapping[str, str]
    template: Template = "kept"
    unknown: bool = False
    fuse_unk: bool = False
    byte_fallback: bool = False
    suffix: str = ""
    prefix_space: bool | None = None
    legacy: bool = False

    def settled(self, config: Node) -> BuiltClass:
        """With what the class reads from a ``tokenizer_config.json``."""
        if self.prefix_space is None:
            return self
        stated = config.get("add_prefix_space").value
        prefix = stated if isinstance(stated, bool) else self.prefix_space
        scheme = "always" if self.legacy and config.get("legacy").value else "first"
        settings: Mapping[str, Mapping[str, Json]] = {
            "ByteLevel": {"add_prefix_space": prefix},
            "Metaspace": {"prepend_scheme": scheme if prefix else "never"},
        }
        steps = [{**step, **settings.get(str(step["type"]), {})} for step in self.pre_tokenizer]
        # CodeLlamaTokenizer takes a space away in decoding even where it put none.
        kept = [step for step in self.decoder if prefix or not self.legacy or step != _STRIP]
        return self._replace(pre_tokenizer=steps, decoder=kept)

    def components(self) -> dict[str, Json]:
        """Normalizer, pre-tokenizer and decoder as a ``tokenizer.json`` writes them."""
        sequences = {
            "normalizer": ("normalizers", self.normalizer),
            "pre_tokenizer": ("pretokenizers", self.pre_tokenizer),
            "decoder": ("decoders", self.decoder),
        }
        return {
            name: {"type": "Sequence", key: [dict(step) for step in steps]}
            for name, (key, steps) in sequences.items()
        }


_END = "<|endoftext|>"
_BYTE_LEVEL: Mapping[str, Json] = {
    "type": "ByteLevel",
    "add_prefix_space": False,
    "trim_offsets": True,
    "use_regex": True,
}
_NFC: Mapping[str, Json] = {"type": "NFC"}
_PIECES: Steps = (
    {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
    {"type": "ByteFallback"},
    {"type": "Fuse"},
)
_STRIP: Mapping[str, Json] = {"type": "Strip", "content": " ", "start": 1, "stop": 0}


def _regex_split(pattern: str) -> Steps:
    return (
        {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False},
        {**_BYTE_LEVEL, "use_regex": False},
    )


_GPT2 = BuiltClass(
    (),
    (_BYTE_LEVEL,),
    (_BYTE_LEVEL,),
    {"bos": _END, "eos": _END, "unk": _END},
    prefix_space=False,
)
_LLAMA = BuiltClass(
    (),
    ({"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": False},),
    (*_PIECES, _STRIP),
    {"bos": "<s>", "eos": "</s>", "unk": "<unk>"},
    fuse_unk=True,
    byte_fallback=True,
    prefix_space=True,
    legacy=True,
)
_ROBERTA = _GPT2._replace(
    roles={**_LLAMA.roles, "sep": "</s>", "pad": "<pad>", "cls": "<s>", "mask": "<mask>"},
    template="cls sep",
)
_QWEN2 = BuiltClass(
    (_NFC,),
    _regex_split(QWEN2),
    (_BYTE_LEVEL,),
    {"eos": _END, "unk": _END, "pad": _END},
    prefix_space=False,
)

CLASSES: Mapping[str, BuiltClass] = {
    "GPT2Tokenizer": _GPT2,
    "CodeGenTokenizer": _GPT2,
    "WhisperTokenizer": _GPT2._replace(template="whisper"),
    "GPTNeoXTokenizer": _GPT2._replace(
        normalizer=(_NFC,),
        roles={**_GPT2.roles, "pad": "<|padding|>"},
        template="none",
    ),
    "RobertaTokenizer": _ROBERTA,
    "BartTokenizer": _ROBERTA,
    "LEDTokenizer": _ROBERTA,
    "MvpTokenizer": _ROBERTA,
    "BlenderbotTokenizer": _ROBERTA._replace(template="kept", prefix_space=True),
    "DebertaTokenizer": _GPT2._replace(
        roles={
            "bos": "[CLS]",
            "eos": "[SEP]",
            "unk": "[UNK]",
            "sep": "[SEP]",
            "pad": "[PAD]",
            "cls": "[CLS]",
            "mask": "[MASK]",
        },
        template="own",
    ),
    "CohereTokenizer": _GPT2._replace(
        normalizer=(_NFC,),
        pre_tokenizer=({"type": "Digits", "individual_digits": True}, _BYTE_LEVEL),
        roles={
            "bos": "<BOS_TOKEN>",
            "eos": "<|END_OF_TURN_TOKEN|>",
            "unk": "<UNK>",
            "sep": "<SEP>",
            "pad": "<PAD>",
            "cls": "<CLS>",
            "mask": "<MASK_TOKEN>",
        },
    ),
    "Qwen2Tokenizer": _QWEN2,
    "Qwen3_5Tokenizer": _QWEN2._replace(
        pre_tokenizer=_regex_split(
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}"
            r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        ),
    ),
    "LlamaTokenizer": _LLAMA,
    "CodeLlamaTokenizer": _LLAMA._replace(
        roles={
            **_LLAMA.roles,
            "prefix": "\u2581<PRE>",
            "middle": "\u2581<MID>",
            "suffix": "\u2581<SUF>",
            "eot": "\u2581<EOT>",
            "fill": "<FILL_ME>",
        },
        template="bos",
        unknown=True,
        legacy=False,
    ),
    "GemmaTokenizer": BuiltClass(
        ({"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},),
        (
            {
                "type": "Split",
                "pattern": {"String": " "},
                "behavior": "MergedWithPrevious",
                "invert": False,
            },
        ),
        _PIECES,
        {"bos": "<bos>", "eos": "<eos>", "unk": "<unk>", "pad": "<pad>", "mask": "<mask>"},
        unknown=True,
        fuse_unk=True,
        byte_fallback=True,
    ),
    "CLIPTokenizer": BuiltClass(
        (
            _NFC,
            {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "},
            {"type": "Lowercase"},
        ),
        (
            {
                "type": "Split",
                "pattern": {
                    "Regex": r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d"
                    r"|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
                },
                "behavior": "Removed",
                "invert": True,
            },
            _BYTE_LEVEL,
        ),
        (_BYTE_LEVEL,),
        {"bos": "<|startoftext|>", "eos": _END, "unk": _END, "pad": _END},
        template="bos eos",
        unknown=True,
        suffix="</w>",
    ),
    "OpenAIGPTTokenizer": BuiltClass(
        (
            {
                "type": "BertNormalizer",
                "clean_text": True,
                "handle_chinese_chars": True,
                "strip_accents": None,
                "lowercase": True,
            },
        ),
        ({"type": "BertPreTokenizer"},),
        ({"type": "BPEDecoder", "suffix": "</w>"},),
        {"unk": "<unk>"},
        unknown=True,
        suffix="</w>",
    ),
}
"""Class names (without ``Fast``) to what they build."""

REBUILT_SINCE = "5.0"
"""From this version on classes are built anew. Before it, each class of the table that is there
runs the file's normalizer, pre-tokenizer and decoder as they are (measured in :data:`LOWEST`)."""

LOADED_ALIKE = frozenset({"GPT2Tokenizer", "OpenAIGPTTokenizer", "Qwen2Tokenizer"})
"""Classes that the lowest transformers (:data:`LOWEST`) serves as the newest does.

Where a ``tokenizer.json`` is what the table says of them, that is. There the other classes put
a template of their own in place of the file's, fail on a setting, or are not there.
"""

UNKNOWN = ""
"""Stands for every class that is not in the table."""

_TYPES: Mapping[str, str] = {
    "BartTokenizer": "florence2",
    "BlenderbotTokenizer": "blenderbot",
    "CLIPTokenizer": (
        "aimv2 clip clipseg groupvit omdet-turbo oneformer owlv2 owlvit sam3 sam3_video xclip"
    ),
    "CohereTokenizer": "aya_vision cohere cohere2",
    "DebertaTokenizer": "deberta",
    "GPT2Tokenizer": (
        "blip-2 codegen dbrx emu3 gpt2 gpt_neo gptj hyperclovax_vision_v2 instructblip "
        "instructblipvideo jais2 opt phi starcoder2"
    ),
    "GPTNeoXTokenizer": "falcon_mamba gpt_neox mamba mamba2 mpt olmo olmoe rwkv xlstm",
    "GemmaTokenizer": (
        "diffusion_gemma gemma gemma2 gemma3 gemma3_text gemma3n gemma3n_text recurrent_gemma "
        "shieldgemma2 t5gemma zaya"
    ),
    "LEDTokenizer": "led",
    "LlamaTokenizer": "idefics idefics2",
    "MvpTokenizer": "mvp",
    "OpenAIGPTTokenizer": "openai-gpt",
    "Qwen2Tokenizer": (
        "audioflamingo3 colqwen2 cosmos3_omni dots3_note fun_asr_nano hunyuan_vl internvl "
        "lighton_ocr moss_transcribe_diarize ovis2 qianfan_ocr qwen2 qwen2_5_omni qwen2_5_vl "
        "qwen2_audio qwen2_moe qwen2_vl qwen3 qwen3_asr qwen3_moe qwen3_next qwen3_omni_moe "
        "qwen3_vl qwen3_vl_moe vibevoice"
    ),
    "Qwen3_5Tokenizer": "qwen3_5 qwen3_5_moe qwen3_5_moe_text qwen3_5_text qwen4_exp",
    "RobertaTokenizer": (
        "bart bridgetower clap data2vec-text ibert lilt longformer mra roberta roberta-prelayernorm"
    ),
    "TokenizersBackend": (
        "EvollaModel arctic aria beam bigbird_pegasus camembertv2-base canary chatlm cohere_asr "
        "ernie4_5 ernie4_5_moe flex_olmo fuyu glm glm4 glm4_moe glm4_moe_lite glm4v glm4v_moe "
        "glm_image glmasr got_ocr2 gpt_bigcode gradium_phonon_tts granite granitemoe "
        "granitemoehybrid granitemoeshared h2ovl_chat hyperclovax hyperclovax_vlm internlm2 "
        "internlm3 iquestcoder jamba kimi_k25 kimi_linear kosmos-2 llava llava_next mimo_v2_flash "
        "minicpm3 minicpm_ocr minicpmv minicpmv4_6 minicpmv4_7 minimax_m2 ministral ministral3 "
        "mistral mistral3 mistral_large4 mixtral modernbert modernbert-decoder molmo molmo2 "
        "nemo_speechlm nemotron nvfp4 nystromformer olmo2 olmo3 olmo_hybrid omniasr opencua "
        "openvla paddleocr_vl pegasus_x persimmon phi3 phi3_v phimoe pix2struct pixtral "
        "pocket_tts smolvlm stablelm step3_vl umt5 vipllava voxtral voxtral_realtime "
        "xlm-roberta-xl"
    ),
    "WhisperTokenizer": "whisper",
    UNKNOWN: (
        "albert align bark bert bert-generation big_bird biogpt blenderbot-small blip bros "
        "camembert canine chinese_clip clvp convbert cpmant ctrl data2vec-audio deberta-v2 dia "
        "distilbert dpr electra ernie esm esmc esmfold2 fastspeech2_conformer flaubert flava fnet "
        "fsmt funnel git gpt-sw3 gpt_neox_japanese granite_speech5_ctc grounding-dino gte hubert "
        "jina_embeddings_v3 lasr_ctc lasr_encoder layoutlm layoutlmv2 layoutlmv3 layoutxlm luke "
        "lxmert m2m_100 marian markuplm mbart megatron-bert metaclip_2 mgp-str mm-grounding-dino "
        "mobilebert mpnet mt5 musicgen musicgen_melody nemotron3_5_asr nemotron_asr_streaming "
        "nllb-moe nomic_bert nougat omniasr_ctc parakeet_ctc parakeet_rnnt parakeet_tdt pegasus "
        "perceiver plbart pp_formulanet prophetnet rag reformer rembert roc_bert roformer "
        "seamless_m4t seamless_m4t_v2 siglip siglip2 speech_to_text speecht5 splinter squeezebert "
        "switch_transformers t5 tapas tipsv2 trocr tvp udop unispeech unispeech-sat videoprism "
        "vilt visual_bert vits wav2vec2 wav2vec2-bert wav2vec2-conformer xglm xlm xlm-roberta "
        "xlnet xmod yoso"
    ),
}


def _by_type(types: Mapping[str, str]) -> Mapping[str, str]:
    return {kind: name for name, kinds in types.items() for kind in kinds.split()}


MODEL_TYPES = _by_type(_TYPES)
"""``model_type`` of a ``config.json`` to the class that is taken where none is named.

``TokenizersBackend`` here is also taken where another class is named; other types leave a class
that is named alone, but for those of ``FORCED``.
"""

BOS_BY_DEFAULT: Mapping[str, bool] = {
    "CodeLlamaTokenizer": True,
    "CohereTokenizer": True,
    "GPTNeoXTokenizer": False,
    "GemmaTokenizer": True,
    "LlamaTokenizer": True,
}
"""Classes that put bos and eos around a text as ``add_bos_token`` and ``add_eos_token`` say, before
:data:`REBUILT_SINCE` and whatever the file's post-processor says; and the former's default."""

PADS_LEFT = frozenset({"CodeLlamaTokenizer", "CohereTokenizer", "GemmaTokenizer", "LlamaTokenizer"})
"""Classes that pad a batch on the left where no ``padding_side`` is stated, in both versions; all
others of these tables pad on the right."""

_TYPES_BEFORE: Mapping[str, str] = {
    "CodeLlamaTokenizer": "code_llama",
    "CohereTokenizer": "aya_vision cohere cohere2",
    "GPTNeoXTokenizer": (
        "falcon_mamba gpt_neox mamba mamba2 mpt olmo olmo2 olmoe rwkv stablelm xlstm"
    ),
    "GemmaTokenizer": (
        "gemma gemma2 gemma3 gemma3_text gemma3n gemma3n_text recurrent_gemma shieldgemma2 siglip2 "
        "t5gemma"
    ),
    "LlamaTokenizer": (
        "arcee aria chameleon colpali deepseek_v2 deepseek_v3 deepseek_vl deepseek_vl_hybrid "
        "diffllama ernie4_5 ernie4_5_moe idefics idefics2 idefics3 jamba janus jetmoe llama llama4 "
        "llama4_text llava llava_next llava_next_video llava_onevision mistral mixtral mllama "
        "paligemma persimmon phi3 phimoe video_llava vipllava voxtral zamba zamba2"
    ),
}

MODEL_TYPES_BEFORE = _by_type(_TYPES_BEFORE)
"""The model types for which the lowest transformers takes a class of :data:`BOS_BY_DEFAULT`."""

FORCED = frozenset(
    {
        "hyperclovax_vision_v2",
        "qwen2",
        "qwen3_5",
        "qwen3_5_moe",
        "qwen3_5_moe_text",
        "qwen4_exp",
        "siglip2",
    }
)
"""Model types whose class is taken whatever class is named."""

TEKKEN_TYPES = frozenset(
    {
        "ministral",
        "ministral3",
        "mistral",
        "mistral3",
        "mistral_large4",
        "mixtral",
        "pixtral",
        "voxtral",
        "voxtral_realtime",
    }
)
"""Model types of which ``AutoTokenizer`` hands a ``tekken.json`` to mistral-common, if it is there.

It does so even where a ``tokenizer.json`` stands beside it. Of other types, or without
mistral-common, it converts ``tekken.json``, and then finds special tokens in texts.
"""
