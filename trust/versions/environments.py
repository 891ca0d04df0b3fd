"""Virtual environments with the lowest or the newest versions that ``pyproject.toml`` admits."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PACKAGES = ("tiktoken", "tokenizers", "sentencepiece", "protobuf", "regex", "transformers")
"""The libraries whose versions are told."""

_BESIDE = (
    "pytest>=9.0",
    "hypothesis>=6.100",
    "mistral-common>=1.11",
    "xllamacpp>=2026.10",
    "gguf>=0.17",
)
"""What the tests need besides: the engines of formats that no dependency brings."""

_ADMITTED = ("dependencies", "engines", "transformers")
_PYTHONS = range(10, 30)
_QUIET = ("--quiet", "--disable-pip-version-check", "--no-compile")


class InstallError(Exception):
    """An environment cannot be made; the text is the last line of what pip said."""


@dataclass(frozen=True)
class Environment:
    """A Python, and the packages that stand at the lowest version that is admitted."""

    name: str
    python: str
    lowest: frozenset[str] = frozenset()


@dataclass
class Made:
    """An environment that was made: its interpreter, and what is installed in it."""

    environment: Environment
    python: Path
    versions: Mapping[str, str] = field(default_factory=dict)


def admitted(pyproject: str) -> dict[str, str]:
    """Package to the requirement as ``pyproject.toml`` has it: the core, engines, transformers."""
    project = tomllib.loads(pyproject).get("project", {})
    lists = {"dependencies": project.get("dependencies", [])}
    lists |= project.get("optional-dependencies", {})
    if missing := [name for name in _ADMITTED if not lists.get(name)]:
        raise ValueError(f"pyproject.toml lacks {', '.join(missing)}")
    listed = [need for name in _ADMITTED for need in lists[name]]
    return {re.split(r"[<>=]", one)[0]: one for one in listed}


def requirements(environment: Environment, admitted: Mapping[str, str]) -> list[str]:
    """What pip is asked for."""
    asked = []
    for package, requirement in admitted.items():
        bound = re.search(r">=([\d.]+)", requirement)
        low = package in environment.lowest and bound is not None
        asked.append(f"{package}=={bound[1]}" if low and bound else requirement)
    return [*asked, *_BESIDE]


def pythons() -> dict[str, str]:
    """Version (``3.12``) to interpreter: what is on the path, then what pyenv has."""
    roots = [Path(os.environ["PYENV_ROOT"])] if "PYENV_ROOT" in os.environ else []
    roots.append(Path.home() / ".pyenv")
    found = {}
    for minor in _PYTHONS:
        version = f"3.{minor}"
        kept = [one for root in roots for one in root.glob(f"versions/{version}.*/bin/python")]
        for candidate in (shutil.which(f"python{version}"), *map(str, sorted(kept)[-1:])):
            if candidate is not None and _is(candidate, version):
                found[version] = candidate
                break
    return found or {f"3.{sys.version_info.minor}": sys.executable}


def _is(python: str, version: str) -> bool:
    script = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([python, "-c", script], capture_output=True, text=True, check=False)
    return done.stdout.strip() == version


def corners(found: Iterable[str], admitted: Mapping[str, str]) -> list[Environment]:
    """All lowest on the lowest Python, and all newest on each."""
    versions = list(found)
    low = Environment(f"lowest-{versions[0]}", versions[0], frozenset(admitted))
    return [low, *(Environment(f"newest-{version}", version) for version in versions)]


def singles(python: str) -> list[Environment]:
    """All newest but one."""
    return [
        Environment(f"{package}-lowest-{python}", python, frozenset({package}))
        for package in PACKAGES
    ]


def make(environment: Environment, python: str, admitted: Mapping[str, str], folder: Path) -> Made:
    """An environment in a folder; one that was made of the same requirements is taken again.

    Raises:
        InstallError: pip does not find, or not install, what is asked for.
    """
    place = folder / environment.name
    asked = requirements(environment, admitted)
    mark = place / "requirements.json"
    own = place / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not (mark.is_file() and json.loads(mark.read_text("utf-8")) == asked):
        _run([python, "-m", "venv", str(place)])
        _run([str(own), "-m", "pip", "install", *_QUIET, "--upgrade", *asked])
        mark.write_text(json.dumps(asked), "utf-8")
    return Made(environment, own, installed(own))


def installed(python: Path) -> dict[str, str]:
    """Which version of each library an interpreter has, and its own."""
    script = (
        "import json, platform; from importlib.metadata import version; "
        f"print(json.dumps({{'Python': platform.python_version(), "
        f"**{{name: version(name) for name in {PACKAGES!r}}}}}))"
    )
    found: dict[str, str] = json.loads(_run([str(python), "-c", script]))
    return found


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise InstallError(f"{command[0]}: {error.strerror}") from None
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or "it failed").splitlines()
        raise InstallError(next((line for line in said if "ERROR" in line), said[-1]))
    return done.stdout
