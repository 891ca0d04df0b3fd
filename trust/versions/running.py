"""The same tests and the same directories in every environment, and what differs, by name."""

from __future__ import annotations

import json
import os
import re
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bpe_interop import load
from bpe_interop.compare.stress import fixed
from bpe_interop.convert import convert
from bpe_interop.errors import LossyConversionError, UnstatedError
from fixtures import ROOT

from ..matrix import REAL, Real
from .environments import Made

TESTS = (
    *("tests/laws/test_laws.py", "tests/unit/test_golden.py", "tests/unit/test_tiktoken_names.py"),
    *("tests/engines/test_unicode.py", "tests/engines/test_kept_class.py"),
    "tests/engines/test_companions.py",
)
"""Golden ids of every format, the laws, tiktoken's habits, the engines' Unicode tables, and the
classes that transformers serves alike."""

FURTHER = (
    Real("r50k_base", "r50k_base/r50k_base.tiktoken", "tiktoken", "r50k_base"),
    Real("Qwen rank file with CRLF", "qwen-crlf/qwen.tiktoken", "tiktoken", "qwen"),
    Real("Whisper gpt2.tiktoken", "whisper/gpt2.tiktoken", "tiktoken", "gpt2"),
    Real("Whisper multilingual", "whisper/multilingual.tiktoken", "tiktoken"),
    Real("GPT-NeoX 20B_tokenizer.json", "gpt-neox/20B_tokenizer.json", "huggingface"),
    Real("Phi-3 GGUF", "gguf/ggml-vocab-phi-3.gguf", "gguf"),
)
"""The published BPE tokenizers that are not in the matrix of conversions."""

LIBRARIES = ("transformers", "tokenizers")


@dataclass
class Outcome:
    """What an environment gave: how much was run, and what of it differs, by name."""

    tests: int = 0
    directories: int = 0
    differences: dict[str, str] = field(default_factory=dict)


def run_tests(made: Made, chosen: Sequence[str] = TESTS) -> tuple[int, dict[str, str]]:
    """How many tests were run, and those that failed, with the first line of why."""
    report = made.python.parent.parent / "tests.xml"
    report.unlink(missing_ok=True)
    # The table of decisions is that of the newest versions: what minbpe cannot hold follows from
    # the Unicode tables of the installed ``regex``. The other laws ask no library.
    ours = (
        "decided",
        "home",
        "repeated",
        "stable",
        "roundabout",
        "untouched",
        "sniffers",
        "mannered",
    )
    left_out = " and ".join(f"not {name}" for name in ours)
    options = ["-p", "no:cacheprovider", "-q", "-k", left_out, f"--junitxml={report}"]
    done = _run(made, ["-m", "pytest", "-m", "", *options, *chosen])
    if not report.is_file():
        said = (done.stderr.strip() or done.stdout.strip() or "no report").splitlines()
        return 0, {"pytest": said[-1]}
    return read_report(report.read_text("utf-8"))


def read_report(text: str) -> tuple[int, dict[str, str]]:
    """How many tests of a JUnit report were run, and the failed ones by name."""
    found = ElementTree.fromstring(text).iter("testcase")
    cases = [case for case in found if case.find("skipped") is None]
    failed = {}
    for case in cases:
        for wrong in (*case.findall("failure"), *case.findall("error")):
            why = wrong.get("message") or "failed"
            failed[f"{case.get('classname')}::{case.get('name')}"] = why.splitlines()[0]
    return len(cases), failed


def write_directories(
    data: Path, folder: Path, chosen: Iterable[Real] = (*REAL, *FURTHER)
) -> dict[str, Any]:
    """Writes every real tokenizer that can be one as a directory; gives the ids that are due.

    They are our encoder's of the written directory, with special tokens found and the template
    applied, as ``AutoTokenizer(...)(text)`` does it.
    """
    texts = [text for text in fixed() if not any("\ud800" <= char <= "\udfff" for char in text)]
    due = {}
    for real in chosen:
        name = re.sub(r"[ .]+", "-", real.name)
        try:
            convert(
                data / real.path,
                folder / name,
                "huggingface",
                format=real.format,
                preset=real.preset,
                verify=False,
            )
        except (LossyConversionError, UnstatedError):
            continue
        tokenizer = load(folder / name)
        due[name] = [
            tokenizer.encode(text, allowed_special="all", add_special_tokens=True) for text in texts
        ]
    (folder / "texts.json").write_text(json.dumps(texts), "utf-8")
    return due


def run_directories(made: Made, folder: Path, due: Mapping[str, Any]) -> dict[str, str]:
    """What the environment's transformers and tokenizers do otherwise than is due, by name."""
    done = _run(made, [str(Path(__file__).with_name("loading.py")), str(folder)])
    if done.returncode:
        return {"loading.py": done.stderr.strip().splitlines()[-1]}
    found = json.loads(done.stdout)
    texts = json.loads((folder / "texts.json").read_text("utf-8"))
    return unlike(found, due, texts)


def unlike(
    found: Mapping[str, Mapping[str, Any]], due: Mapping[str, Any], texts: Sequence[str]
) -> dict[str, str]:
    """The directories of which a library gives other ids, or none."""
    wrong = {}
    for name, ids in due.items():
        for library in LIBRARIES:
            given = found.get(name, {}).get(library, "was not run")
            if isinstance(given, str):
                wrong[f"{name} in {library}"] = given
            elif given != ids:
                pairs = zip(texts, given, ids, strict=True)
                text, theirs, ours = next(each for each in pairs if each[1] != each[2])
                wrong[f"{name} in {library}"] = f"{text!a}: {theirs[:8]}, due are {ours[:8]}"
    return wrong


def _run(made: Made, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}
    return subprocess.run(
        [str(made.python), *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
