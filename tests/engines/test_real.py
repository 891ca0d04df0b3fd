"""Our encoder against the real engines on real tokenizers: 0 differing ids, everywhere."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path

import pytest

from bpe_interop.compare.stress import around_added, fixed, random_texts
from bpe_interop.diff import diff
from bpe_interop.encode import Encoder
from bpe_interop.encode.decode import shared_ids
from bpe_interop.engines import Engine, from_files
from bpe_interop.errors import DecodeError, UnsupportedError
from bpe_interop.model import RankTable
from bpe_interop.sources import load_source
from fixtures.code_points import POINTS, WHOLE_SWEEP

Data = Callable[[str], Path]


@dataclass(frozen=True)
class Case:
    """A real tokenizer: a file under the data folder, or a name."""

    path: str
    preset: str | None = None
    source: str | None = None


TIKTOKEN = {
    "gpt2": Case("tiktoken_cache", source="tiktoken:gpt2"),
    "r50k_base": Case("tiktoken_cache", source="tiktoken:r50k_base"),
    "p50k_base": Case("tiktoken_cache", source="tiktoken:p50k_base"),
    "p50k_edit": Case("tiktoken_cache", source="tiktoken:p50k_edit"),
    "cl100k_base": Case("tiktoken_cache", source="tiktoken:cl100k_base"),
    "o200k_base": Case("tiktoken_cache", source="tiktoken:o200k_base"),
    "o200k_harmony": Case("tiktoken_cache", source="tiktoken:o200k_harmony"),
    "llama-3": Case("llama-3/tokenizer.model", "llama-3"),
    "qwen": Case("qwen/qwen.tiktoken", "qwen"),
    "qwen-crlf": Case("qwen-crlf/qwen.tiktoken", "qwen"),
}
HUGGING_FACE = {
    "gpt2": Case("gpt2/tokenizer.json"),
    "gpt-oss": Case("gpt-oss/tokenizer.json"),
    "llama-3.2": Case("llama-3.2/tokenizer.json"),
    "qwen3": Case("qwen3/tokenizer.json"),
    "gpt-neox": Case("gpt-neox/tokenizer.json"),
    "gpt-neox-20B": Case("gpt-neox/20B_tokenizer.json"),
    "falcon": Case("falcon/tokenizer.json"),
    "roberta": Case("roberta/tokenizer.json"),
    "whisper-tiny": Case("whisper-tiny/tokenizer.json"),
    "olmo-dolma2": Case("olmo-dolma2/allenai_dolma2.json"),
    "llama-2": Case("llama-2/tokenizer.json"),
    "mistral-v1": Case("mistral-v1/tokenizer.json"),
    "phi-3-mini": Case("phi-3-mini/tokenizer.json"),
    "clip": Case("clip/tokenizer.json"),
}
SENTENCEPIECE = {
    "llama-2": Case("llama-2/tokenizer.model"),
    "mistral-v1": Case("mistral-v1/tokenizer.model"),
}
REFUSED = {"t5/tokenizer.json", "bert-base-cased/tokenizer.json"}
"""Those of the data's ``tokenizer.json`` files that are no BPE."""
SAME = {
    "tiktoken-r50k_base": "tiktoken-gpt2",
    "tiktoken-p50k_edit": "tiktoken-p50k_base",
    "tiktoken-o200k_harmony": "tiktoken-o200k_base",
    "tiktoken-qwen-crlf": "tiktoken-qwen",
    "huggingface-gpt-neox-20B": "huggingface-gpt-neox",
    "huggingface-phi-3-mini": "huggingface-llama-2",
}
"""Tokenizers that differ from another at most in their special tokens and what stands around a
text, which is tested."""

CASES = {f"tiktoken-{name}": case for name, case in TIKTOKEN.items()}
CASES |= {f"huggingface-{name}": case for name, case in HUGGING_FACE.items()}
CASES |= {f"sentencepiece-{name}": case for name, case in SENTENCEPIECE.items()}

WHOLE = [name for name in CASES if name.endswith(("llama-2", "mistral-v1"))]
"""Where nothing cuts a text before it is merged."""


# With this scope pytest runs all tests of a tokenizer before those of the next: it is read once.
every_case = pytest.mark.parametrize("name", CASES, scope="module")
PIPELINES = [name for name in CASES if name not in SAME]
every_pipeline = pytest.mark.parametrize("name", PIPELINES, scope="module")


@lru_cache(maxsize=2)
def opened(name: str, data: Data) -> tuple[Encoder, Engine]:
    case = CASES[name]
    path = data(case.path)
    loaded = load_source(case.source or path, preset=case.preset)
    engine = from_files(loaded.format.engine, loaded.format.name, loaded.files, loaded.model)
    return Encoder(loaded.model), engine


def chunks(texts: Iterable[str], size: int = 2_000) -> Iterator[list[str]]:
    stream = iter(texts)
    while chunk := list(islice(stream, size)):
        yield chunk


def differing(ours: Encoder, engine: Engine, texts: Iterable[str], special: bool) -> list[str]:
    found = []
    for chunk in chunks(texts):
        theirs = engine.encode_batch(chunk, special="parse" if special else "text")
        for text, expected in zip(chunk, theirs, strict=True):
            if ours.encode(text, "all" if special else frozenset()) != expected:
                found.append(text)
    return found


EVERY = 1 if WHOLE_SWEEP else len(PIPELINES)
"""Each tokenizer has its own parts of the large files, so that together they have them all."""


def corpus_texts(folder: Path, name: str) -> Iterator[str]:
    """Every corpus file, in parts of whole lines of some sixteen thousand characters: the first
    part of each, and of the others every so many, unless the whole sweep is asked for."""
    first = PIPELINES.index(SAME.get(name, name)) % EVERY
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        parts = parts_of(path)
        yield from islice(parts, 1)
        yield from islice(parts, first, None, EVERY)


def parts_of(path: Path) -> Iterator[str]:
    part: list[str] = []
    held = 0
    for line in path.read_bytes().decode("utf-8").splitlines(keepends=True):
        part.append(line)
        held += len(line)
        if held >= 16_000:
            yield "".join(part)
            part, held = [], 0
    yield "".join(part)


@pytest.mark.parametrize("name", SAME, scope="module")
def test_same_but_for_special_tokens(name: str, data: Data) -> None:
    """So the sweeps below need only one of them; the engines are given the same data as well."""
    (one, engine), (two, other) = opened(name, data), opened(SAME[name], data)
    allowed = {"added", "chat_template", "sequence_template"}
    assert {d.field for d in diff(one.model, two.model)} <= allowed
    if engine.name == "tiktoken":
        parts = ("_pat_str", "_mergeable_ranks")
        for part in parts:
            assert getattr(vars(engine)["encoding"], part) == getattr(vars(other)["encoding"], part)


@every_pipeline
def test_every_corpus_file(name: str, data: Data) -> None:
    ours, engine = opened(name, data)
    assert not differing(ours, engine, corpus_texts(data("corpora"), name), special=False)


@pytest.mark.parametrize("name", WHOLE, scope="module")
def test_a_whole_book(name: str, data: Data) -> None:
    """Nothing cuts these texts, so a merge may wait for one a hundred thousand characters away."""
    ours, engine = opened(name, data)
    books = [data(f"corpora/{book}").read_text("utf-8") for book in ("botchan.txt", "xiyou.txt")]
    assert not differing(ours, engine, [book[:400_000] for book in books], special=False)


@every_pipeline
def test_every_tokens_own_text(name: str, data: Data) -> None:
    ours, engine = opened(name, data)
    texts = []
    for content in ours.model.vocab.ids:
        try:
            texts.append(content.decode("utf-8"))
        except UnicodeDecodeError:
            continue
    assert len(texts) > 30_000
    assert not differing(ours, engine, texts, special=False)


def points(name: str, step: int) -> list[str]:
    """The basic plane, and of those above every so many, unless the whole sweep is asked for:
    others for each tokenizer, so that together they have them all."""
    above = bisect_right(POINTS, "\uffff")
    step = 1 if WHOLE_SWEEP else step
    return [*POINTS[:above], *POINTS[above + PIPELINES.index(name) % step :: step]]


@every_pipeline
def test_every_code_point_alone(name: str, data: Data) -> None:
    ours, engine = opened(name, data)
    assert not differing(ours, engine, points(name, EVERY), special=False)


@every_pipeline
def test_every_code_point_in_context(name: str, data: Data) -> None:
    """Between letters, between spaces and before a combining mark; many to a text."""
    ours, engine = opened(name, data)
    lines = [f"a{c}b {c} {c}\u0301\n" for c in points(name, EVERY)]
    texts = ["".join(lines[start : start + 500]) for start in range(0, len(lines), 500)]
    assert not differing(ours, engine, texts, special=False)


@every_case
def test_special_and_added_tokens(name: str, data: Data) -> None:
    ours, engine = opened(name, data)
    texts = [*fixed(), *around_added(ours.model, 400), *random_texts(ours.model, 3_000)]
    for special in (False, True) if engine.parses_special else (False,):
        assert not differing(ours, engine, texts, special)


@every_case
def test_templates(name: str, data: Data) -> None:
    ours, engine = opened(name, data)
    if ours.model.sequence_template is None or engine.name == "tiktoken":
        return
    if not engine.parses_special:  # a bare .model: the template is known by its sha256 alone
        return
    for text in fixed():
        theirs = engine.encode(text, special="parse", add_special_tokens=True)
        assert ours.template(ours.encode(text, "all")) == theirs


@every_case
def test_decoding(name: str, data: Data) -> None:
    ours, engine = opened(name, data)
    shared = shared_ids(ours.model)
    for number in shared:
        with pytest.raises(DecodeError, match="by the order of a hash table"):
            ours.decode([number])
    ids = [*ours.model.vocab.ids.values(), *(token.id for token in ours.model.added or ())]
    ids = [number for number in ids if number not in shared]
    for number in ids:
        assert ours.decode([number]) == engine.decode([number])
    for start in range(0, len(ids), 7):
        some = ids[start : start + 7]
        assert ours.decode(some) == engine.decode(some)
    for text in [*fixed(), *islice(corpus_texts(data("corpora"), name), 0, None, 4)]:
        theirs = engine.encode(text)
        assert ours.decode(theirs) == engine.decode(theirs)


def test_every_tokenizer_json_is_tried_or_refused(data: Data) -> None:
    found = {str(path.relative_to(data(""))) for path in data("").glob("*/*tokenizer*.json")}
    plain = {name for name in found if not name.endswith("_config.json")}
    tried = {case.path for case in HUGGING_FACE.values()}
    assert plain <= tried | REFUSED
    for name in REFUSED:
        with pytest.raises(UnsupportedError, match="not BPE"):
            load_source(data(name))


def test_the_empty_token_is_an_id_and_never_a_merge(data: Data) -> None:
    loaded = load_source(data("whisper/multilingual.tiktoken"))
    assert loaded.model.vocab.ids[b""] == 50256
    assert isinstance(loaded.model.merges, RankTable)
    assert b"" not in loaded.model.merges.ranks


KNOWN = [
    ("gpt2", "    hello world!!!", [220, 220, 220, 23748, 995, 10185]),
    ("cl100k_base", "    hello world!!!", [262, 24748, 1917, 12340]),
    (
        "cl100k_base",
        "안녕하세요 👋 (hello in Korean!)",
        [31495, 230, 75265, 243, 92245, 62904, 233, 320, 15339, 304, 16526, 16715],
    ),
    (
        "o200k_base",
        "The quick brown fox jumps over the lazy dog",
        [976, 4853, 19705, 68347, 65613, 1072, 290, 29082, 6446],
    ),
    ("o200k_base", "My name is صفوان", [5444, 1308, 382, 37315, 10878]),
]


@pytest.mark.parametrize(("name", "text", "ids"), KNOWN)
def test_known_answers(name: str, text: str, ids: list[int], data: Data) -> None:
    data("tiktoken_cache")
    encoder = Encoder(load_source(f"tiktoken:{name}").model)
    assert encoder.encode(text) == ids
    assert encoder.decode(ids) == text
