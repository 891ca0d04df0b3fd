"""The GitHub Action's own steps, run as a job runs them; the metadata; the container's recipe."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from bpe_interop.engines.library import to_install
from bpe_interop.engines.rows import ROWS
from bpe_interop.errors import by_extra
from fixtures import FIXTURES, ROOT, TOKENIZERS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def run(folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Runs the action's last step in a folder, with inputs as GitHub hands them over."""
    (step,) = [step for step in STEPS if step.get("name") == "Run"]
    programs = folder / "bin"
    programs.mkdir()
    program = programs / "bpe-interop"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m bpe_interop "$@"\n', "utf-8")
    program.chmod(0o755)
    given = {name: each.get("default") for name, each in ACTION["inputs"].items()} | inputs
    variables = {}
    for name, value in step["env"].items():
        (asked,) = re.findall(r"^\$\{\{ inputs\.(\S+) \}\}$", value)
        variables[name] = given[asked]
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=folder,
        env={
            **os.environ,
            **variables,
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
            "GITHUB_OUTPUT": str(folder / "outputs"),
        },
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


@pytest.mark.long
def test_the_action_locks_and_verifies_with_a_summary(tmp_path: Path) -> None:
    source, lock = str(TOKENIZERS / "gpt2-tiny" / "huggingface"), str(tmp_path / "tokenizer.lock")
    for name in ("one", "two", "three"):
        (tmp_path / name).mkdir()
    made = run(tmp_path / "one", command="lock", source=source, target=lock)
    assert made.returncode == 0, made.stderr
    assert "Locked" in (tmp_path / "one" / "summary.md").read_text("utf-8")
    same = run(tmp_path / "two", source=lock, target=source, arguments="--require\nproved\n")
    assert same.returncode == 0, same.stderr
    assert "PROVED" in (tmp_path / "two" / "summary.md").read_text("utf-8").upper()
    (tmp_path / "four").mkdir()
    in_a_line = run(tmp_path / "four", source=lock, target=source, arguments="--require proved\n")
    assert in_a_line.returncode == 0, in_a_line.stderr
    (tmp_path / "five").mkdir()
    laid_out = "\n# no doubt is left\n  --require proved  \n\n\t# --scope text\n  --seed 1\r\n"
    indented = run(tmp_path / "five", source=lock, target=source, arguments=laid_out)
    assert indented.returncode == 0, indented.stderr
    assert {path.suffix for path in (tmp_path / "two").glob("bpe-interop-report.*")} == {
        ".md",
        ".html",
        ".json",
        ".xml",
    }
    other = run(
        tmp_path / "three", source=lock, target=str(TOKENIZERS / "cl100k-tiny" / "huggingface")
    )
    assert other.returncode == 1
    assert "DIFFERENT" in (tmp_path / "three" / "summary.md").read_text("utf-8").upper()
    for folder, verdict in (("two", "proved"), ("three", "different")):
        assert (tmp_path / folder / "outputs").read_text("utf-8") == f"verdict={verdict}\n"
    (shown,) = [line for line in other.stdout.splitlines() if line.startswith("::error ")]
    assert re.match(r"::error file=\S+cl100k-tiny/huggingface,title=bpe-interop::DIFFERENT", shown)
    assert "%0Aa gives " in shown
    assert "::error" not in same.stdout


def test_a_run_without_an_answer_does_not_show_the_report_of_an_earlier_one(tmp_path: Path) -> None:
    (tmp_path / "bpe-interop-report.md").write_text("an earlier report", "utf-8")
    done = run(tmp_path, source=str(tmp_path / "no.lock"), target=str(TOKENIZERS / "gpt2-tiny"))
    assert done.returncode == 2
    summary = (tmp_path / "summary.md").read_text("utf-8")
    assert "an earlier report" not in summary
    assert "No answer" in summary
    assert "::error file=" in done.stdout
    assert not (tmp_path / "outputs").exists()


@pytest.mark.parametrize("given", ["$(touch owned)", "`touch owned`", "a; touch owned", "publish"])
def test_what_an_input_holds_is_never_run(given: str, tmp_path: Path) -> None:
    done = run(tmp_path, command=given, source=given, target=given, arguments=given)
    assert done.returncode == 2
    assert not (tmp_path / "owned").exists()


def test_no_script_of_the_action_or_the_release_has_an_expression_in_it() -> None:
    release = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text("utf-8"))
    steps = [*STEPS, *(step for job in release["jobs"].values() for step in job["steps"])]
    assert all("${{" not in step.get("run", "") for step in steps)
    assert any(step.get("run") == ".ci/package dist" for step in steps)
    assert os.access(ROOT / ".ci" / "package", os.X_OK)


def test_the_container_copies_what_the_build_needs() -> None:
    text = (ROOT / "Containerfile").read_text("utf-8")
    for copied in re.findall(r"^COPY (?!--from)(.*) \S+$", text, re.M):
        assert all((ROOT / name).exists() for name in copied.split())
    assert PROJECT["readme"] in text
    # Where cargo is, the kernel is built from these, and a wheel cannot be built without them.
    assert {"native/Cargo.toml", "native/Cargo.lock", "native/src"} <= {*text.split()}
    extras = re.findall(r"^ARG EXTRAS=(.*)$", text, re.M)[0].split(",")
    assert {*extras} <= {*PROJECT["optional-dependencies"]}


def test_links_are_real_or_absent(tmp_path: Path) -> None:
    """The project does not know where it is published: the release does, and says it."""
    assert "urls" not in PROJECT
    texts = [ROOT / name for name in ("pyproject.toml", "README.md", "action.yml")]
    texts += [*(ROOT / "docs").rglob("*.md"), *(ROOT / ".github").rglob("*.yml")]
    found = re.compile(r"example\.(?:org|com|net)|\bTODO\b|\bFIXME\b|<URL>")
    assert [path.name for path in texts if found.search(path.read_text("utf-8"))] == []
    release = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8"))
    (step,) = [s for s in release["jobs"]["build"]["steps"] if "Links" in s.get("name", "")]
    (tmp_path / "pyproject.toml").write_bytes((ROOT / "pyproject.toml").read_bytes())
    here = {"GITHUB_SERVER_URL": "https://git.test", "GITHUB_REPOSITORY": "me/tokens"}
    subprocess.run(
        ["bash", "-eo", "pipefail", "-c", step["run"]],
        cwd=tmp_path,
        env={**os.environ, **here, "GITHUB_REF_NAME": "v0.2.0"},
        check=True,
    )
    after = tomllib.loads((tmp_path / "pyproject.toml").read_text("utf-8"))
    urls = after["project"].pop("urls")
    assert urls["Source"] == "https://git.test/me/tokens"
    assert urls["Changelog"] == "https://git.test/me/tokens/blob/v0.2.0/CHANGELOG.md"
    assert set(urls) == {"Source", "Documentation", "Changelog"}
    assert after["project"] == PROJECT


def test_the_metadata_says_what_people_look_for() -> None:
    assert {"tokenizer", "tiktoken", "sentencepiece"} <= set(PROJECT["keywords"])
    assert "Typing :: Typed" in PROJECT["classifiers"]


def test_one_table_lists_every_extra() -> None:
    table = (ROOT / "docs" / "start.md").read_text("utf-8").partition("| extra | for |")[2]
    rows = table.partition("\n\n")[0].splitlines()[2:]
    named = [name for row in rows for name in re.findall(r"`([a-z]+)`", row.split("|")[1])]
    assert sorted(named) == sorted(PROJECT["optional-dependencies"])


def test_the_core_needs_no_engine() -> None:
    """What is always installed runs no tokenizer; the extra ``engines`` has what conversions are
    checked with, and tests and benchmarks bring it."""
    needs = {re.split("[<>=]", need)[0] for need in PROJECT["dependencies"]}
    assert needs.isdisjoint(known.distribution or name for name, known in ROWS.items())
    for extra in ("test", "benchmarks", "docs"):
        assert "bpe-interop[engines]" in PROJECT["optional-dependencies"][extra]


@pytest.mark.long
def test_without_engines_all_is_read_encoded_and_proved(tmp_path: Path) -> None:
    """In a process where no engine can be imported; the ids are those that the engines gave."""
    script = tmp_path / "bare.py"
    script.write_text(
        "import sys\n"
        f"sys.path[:0] = [{str(ROOT)!r}, {str(ROOT / 'tests')!r}]\n"
        "for name in ('tiktoken', 'tokenizers', 'sentencepiece', 'transformers', 'xllamacpp'):\n"
        "    sys.modules[name] = None\n"
        "import json\nfrom pathlib import Path\nimport bpe_interop as b\n"
        "from bpe_interop.encode import Encoder\n"
        "from bpe_interop.errors import EngineMissingError\n"
        "from golden_models import NAMES, model_of\n"
        "counted = 0\n"
        "def missed(do):\n"
        "    try:\n"
        "        return do()\n"
        "    except EngineMissingError as error:\n"
        "        assert 'tokenizers' in str(error), error\n"
        "for name in NAMES:\n"
        "    encoder = missed(lambda: Encoder(model_of(name)))\n"
        f"    golden = Path({str(FIXTURES / 'golden')!r}, *name.split('/')).with_suffix('.json')\n"
        "    for entry in json.loads(golden.read_text('utf-8'))['texts'] if encoder else ():\n"
        "        ids = missed(lambda: encoder.encode(entry['text']))\n"
        "        if ids is None: continue\n"
        "        assert ids == entry['ids']['ordinary'], (name, entry)\n"
        "        counted += 1\n"
        f"source = Path({str(TOKENIZERS)!r}, 'cl100k-tiny/tiktoken')\n"
        "b.convert(source, 'out', 'huggingface', verify=False)\n"
        "assert b.verify(source, 'out').verdict == 'proved'\n"
        "try:\n    b.convert(source, 'checked', 'huggingface')\n"
        "except EngineMissingError as error:\n    print(error)\n"
        "print(counted)\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert int(said[-1]) > 1000
    assert "tokenizers is not installed" in done.stdout
    assert not (tmp_path / "checked").exists()


def test_a_missing_library_is_installed_by_the_extra_that_brings_it() -> None:
    """What is no extra's is always needed; what several bring has one of its own."""
    first = {
        extra: re.split("[>=]", needs[0])[0]
        for extra, needs in PROJECT["optional-dependencies"].items()
    }
    alone = {extra for extra, needs in PROJECT["optional-dependencies"].items() if len(needs) == 1}
    # With transformers comes what it reads a .model with.
    libraries = {name: extra for extra, name in first.items() if extra in {*alone, name}}
    for name, known in ROWS.items():
        library = known.distribution or name
        plain = f"pip install {library}"
        brought = by_extra(libraries[library]) if library in libraries else plain
        assert to_install(library) == brought
    assert to_install("huggingface_hub") == (
        "pip install 'bpe-interop[hub]' (in a checkout: pip install -e '.[hub]')"
    )


@pytest.mark.long
def test_sources_that_are_not_installed_verify_too(tmp_path: Path) -> None:
    """Without metadata of the package, as in a checkout that is put on the path."""
    blind = tmp_path / "sitecustomize.py"
    blind.write_text(
        "import importlib.metadata as m\nright = m.version\n"
        "def version(name):\n"
        "    if name == 'bpe-interop': raise m.PackageNotFoundError(name)\n"
        "    return right(name)\n"
        "m.version = version\n",
        "utf-8",
    )
    source = ROOT / "fixtures" / "tokenizers" / "gpt2-tiny" / "tiktoken"
    done = subprocess.run(
        [sys.executable, "-m", "bpe_interop", "verify", str(source), str(source), "--json"],
        env=os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["versions"]["bpe-interop"] == "from source"


def test_the_recipe_for_conda_needs_what_the_package_needs() -> None:
    recipe = yaml.safe_load((ROOT / ".ci" / "conda" / "recipe.yaml").read_text("utf-8"))
    run = {each.replace(" ", "") for each in recipe["requirements"]["run"]}
    assert run == {*PROJECT["dependencies"], f"python{PROJECT['requires-python']}"}
    assert recipe["context"]["version"] == PROJECT["version"]
    assert recipe["about"]["summary"] == PROJECT["description"]


def test_the_program_of_the_space_makes_a_page() -> None:
    text = (ROOT / ".ci" / "space" / "index.html").read_text("utf-8")
    (program,) = re.findall(r'<script type="text/x-python" id="program">(.*?)</script>', text, re.S)
    names: dict[str, Any] = {}
    exec(program, names)
    path = str(TOKENIZERS / "gpt2-tiny" / "huggingface" / "tokenizer.json")
    page = names["page"]([path, path], "the <b>")
    assert page.startswith("<!DOCTYPE html>")
    assert "2 tokenizers" in page
    assert "/no &amp; such" in names["page"](["/no & such"], "x")


@pytest.mark.long
def test_a_man_page_that_is_there_comes_with_the_wheel(tmp_path: Path) -> None:
    """Sphinx writes it before a release; a checkout has none."""
    source = tmp_path / "source"
    listed = ["setup.py", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE"]
    for name in listed:
        (source / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(ROOT / name, source / name)
    shutil.copytree(ROOT / "docs" / "refusals", source / "docs" / "refusals")
    (source / "bpe_interop").mkdir()
    (source / "bpe_interop" / "__init__.py").write_text("", "utf-8")
    build = "from setuptools import build_meta as b; b.build_sdist('out'); b.build_wheel('out')"
    for pages in ([], ["bpe-interop.1"]):
        for page in pages:
            (source / "man").mkdir()
            (source / "man" / page).write_text(".TH\n", "utf-8")
        shutil.rmtree(source / "out", ignore_errors=True)
        subprocess.run(
            [sys.executable, "-c", build],
            cwd=source,
            env=os.environ | {"BPE_INTEROP_KERNEL": "python"},
            capture_output=True,
            check=True,
        )
        [wheel] = (source / "out").glob("*.whl")
        with zipfile.ZipFile(wheel) as files:
            found = [each for each in files.namelist() if "/share/man/man1/" in each]
        assert [each.rpartition("/")[2] for each in found] == pages
        [sources] = (source / "out").glob("*.tar.gz")
        with tarfile.open(sources) as packed:
            inside = [each for each in packed.getnames() if each.endswith(".1")]
        assert [each.partition("/")[2] for each in inside] == [f"man/{page}" for page in pages]
