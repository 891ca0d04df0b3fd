"""``docs/ci.md`` and the pre-commit hook are true: their commands run, and fail when they must."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from transformers import AutoTokenizer

from bpe_interop import pytest_plugin
from bpe_interop.pytest_plugin import assert_parity
from fixtures import FIXTURES, ROOT, TOKENIZERS

PAGE = (ROOT / "docs" / "ci.md").read_text("utf-8")
BLOCKS: list[tuple[str, str]] = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
HOOKS = ROOT / ".pre-commit-hooks.yaml"


def blocks(kind: str) -> list[str]:
    return [text for found, text in BLOCKS if found == kind]


WORKFLOW, OWN_ACTION, PRE_COMMIT = (yaml.safe_load(text) for text in blocks("yaml"))
STEPS: list[dict[str, Any]] = WORKFLOW["jobs"]["tokenizer"]["steps"]
COMMANDS = [line for text in blocks("sh") for line in text.splitlines()]


def run(command: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a command as a CI step does, with this Python's programs first."""
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    # The library may be importable without being installed beside this Python's programs.
    command = re.sub(r"^bpe-interop", '"$PYTHON" -m bpe_interop', command)
    command = re.sub(r"^pytest", '"$PYTHON" -m pytest -p no:cacheprovider', command)
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": programs, "PYTHON": sys.executable, **environment},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project as the page describes it, with a lock file."""
    folder = tmp_path_factory.mktemp("project")
    shutil.copytree(TOKENIZERS / "cl100k-tiny" / "tiktoken", folder / "original")
    shutil.copytree(TOKENIZERS / "cl100k-tiny" / "huggingface", folder / "my-tok")
    (folder / "corpus").mkdir()
    shutil.copy(FIXTURES / "corpora" / "apostrophes.txt", folder / "corpus")
    (folder / "tests").mkdir()
    (folder / "tests" / "test_tokenizer.py").write_text(blocks("python")[0], "utf-8")
    done = run(COMMANDS[0], folder)
    assert done.returncode == 0, done.stderr
    return folder


def runs() -> list[str]:
    """What the steps of the workflow run, but for installing."""
    return [step["run"] for step in STEPS if "run" in step and "pip install" not in step["run"]]


def test_the_workflow_runs_the_commands_of_the_page() -> None:
    assert COMMANDS[0].startswith("bpe-interop lock ")
    assert set(COMMANDS[2:]) <= set(runs())
    assert WORKFLOW["env"] == {"BPE_INTEROP": "bpe-interop[engines]"}
    assert all(("run" in step) != ("uses" in step) for step in STEPS)
    first = next(n for n, step in enumerate(STEPS) if step.get("run", "").startswith("bpe-interop"))
    assert all("cancelled" in step["if"] for step in STEPS[first + 1 :])


@pytest.mark.long
def test_every_step_of_the_workflow_passes(project: Path) -> None:
    summary = project / "summary.md"
    said = {}
    for command in [COMMANDS[1], *runs()]:
        # The test without texts takes seconds, and its verdict is that of the step before.
        command = command.replace("pytest tests", "pytest tests -k 'not shipped_tokenizer_is'")
        done = run(command, project, GITHUB_STEP_SUMMARY=str(summary))
        assert done.returncode == 0, done.stdout + done.stderr
        said[command] = done.stdout
    assert said[COMMANDS[1]].startswith("PROVED")
    assert said[COMMANDS[3]].startswith("PROVED")
    assert "2 passed" in next(out for command, out in said.items() if "pytest" in command)
    for step in STEPS:
        for pattern in str(step.get("with", {}).get("path", "")).split():
            assert list(project.glob(pattern))
    assert "PROVED" in summary.read_text("utf-8").upper()
    assert {path.suffix for path in project.glob("parity.*")} == {".md", ".html", ".json", ".xml"}


@pytest.mark.long
def test_a_tokenizer_that_changed_fails_and_is_still_reported(
    project: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "project"
    shutil.copytree(project, folder, ignore=shutil.ignore_patterns("lock.*", "parity.*"))
    shutil.rmtree(folder / "my-tok")
    shutil.copytree(TOKENIZERS / "o200k-tiny" / "huggingface", folder / "my-tok")
    done = run(COMMANDS[2], folder)
    assert done.returncode == 1
    assert done.stdout.startswith("DIFFERENT at stage: pre-tokenizer")
    assert (folder / "lock.md").stat().st_size > 0
    assert (folder / "lock.xml").stat().st_size > 0


@pytest.mark.long
def test_what_transformers_decodes_is_compared(project: Path, tmp_path: Path) -> None:
    folder, lasting = tmp_path / "project", "for_bpe_even_though_it_will_corrupt_output"
    shutil.copytree(project, folder, ignore=shutil.ignore_patterns("lock.*", "parity.*"))
    clean_up = {f"clean_up_tokenization_spaces{more}": True for more in ("", f"_{lasting}")}
    assert all(f"`{name}`" in PAGE for name in clean_up)
    config = {"tokenizer_class": "PreTrainedTokenizerFast", **clean_up}
    (folder / "my-tok" / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")
    served = AutoTokenizer.from_pretrained(folder / "my-tok")
    assert served.decode(served(" !").input_ids) == "!"
    command = "bpe-interop verify tokenizer.lock my-tok --engine-b transformers"
    assert f"`{command}`" in PAGE
    done = run(command, folder)
    assert done.returncode == 1
    assert done.stdout.startswith("DIFFERENT")


def test_a_failing_test_reads_as_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(TOKENIZERS / "gpt2-tiny" / "tiktoken", tmp_path / "original")
    shutil.copytree(TOKENIZERS / "cl100k-tiny" / "huggingface", tmp_path / "my-tok")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError) as caught:
        assert_parity("original", "my-tok", ["a 1234"], scope="text")
    versions = re.compile(r"(tiktoken|tokenizers) [0-9.]+")
    said = versions.sub(r"\1", f"AssertionError: {caught.value}\n")
    assert said == versions.sub(r"\1", blocks("text")[0])


def test_the_settings_of_the_page_are_those_of_the_plugin() -> None:
    source = Path(pytest_plugin.__file__).read_text("utf-8")
    for line in blocks("ini")[0].splitlines()[1:]:
        assert f'"{line.split(" = ")[0]}"' in source


# The pre-commit hook.


def test_the_hook_is_the_one_that_the_page_names() -> None:
    (hook,) = yaml.safe_load(HOOKS.read_text("utf-8"))
    named = PRE_COMMIT["repos"][0]["hooks"][0]
    assert named["id"] == hook["id"] == "bpe-interop-verify-lock"
    assert hook["pass_filenames"] is False
    assert hook["language"] == "python"
    found = re.compile(hook["files"])
    for path in (TOKENIZERS / "cl100k-tiny").rglob("*.*"):
        assert found.search(path.relative_to(FIXTURES).as_posix())
    for name in ("my-tok/vocab.bpe", "merges.txt", "a/tokenizer.model", "tokenizer.lock"):
        assert found.search(name)
    for name in ("README.md", "poetry.lock", "package.json", "src/tokenizer.py", "my.json"):
        assert not found.search(name)


def test_the_hooks_command_is_one_that_is_run_here() -> None:
    (hook,) = yaml.safe_load(HOOKS.read_text("utf-8"))
    arguments = PRE_COMMIT["repos"][0]["hooks"][0]["args"]
    assert " ".join([hook["entry"], *arguments]) == COMMANDS[1]


def test_the_step_that_uses_the_action_gives_inputs_that_it_has() -> None:
    (step,) = OWN_ACTION
    inputs = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))["inputs"]
    assert step["with"].keys() < inputs.keys()
    needed = {name for name, given in inputs.items() if given.get("required")}
    assert needed <= step["with"].keys()
