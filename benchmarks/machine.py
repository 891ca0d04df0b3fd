"""On what a run was measured: the machine, and the versions of everything."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path

import bpe_interop
from bpe_interop.kernel import running

from .made import ROOT

PACKAGES = (
    "tiktoken",
    "tokenizers",
    "sentencepiece",
    "transformers",
    "kitoken",
    "gigatoken",
    "fastokens",
    "snaptokens",
    "quicktok-v1",
    "splintr-rs",
    "toktok-rs",
    "tuetoken",
    "gigabpe",
    "tiktokenizer",
    "autotiktokenizer",
    "tokie",
    "xllamacpp",
    "regex",
    "protobuf",
    "numpy",
    "matplotlib",
)
"""The peers, and what a result could depend on."""


def versions() -> dict[str, str | None]:
    """The version of each package, None where it is not installed. Imports none of them."""
    found: dict[str, str | None] = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found


def machine() -> dict[str, str]:
    """What this machine is, without any name that is only its own."""
    memory = _memory()
    return {
        "CPU": _cpu_model(),
        "cores": str(os.cpu_count() or "not known"),
        "memory": f"{memory / 2**30:.0f} GiB" if memory else "not known",
        "OS": f"{platform.system()} {platform.release()}",
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "kernel": _kernel(),
        "installed": _installed(),
    }


def _installed() -> str:
    """How this library was installed: what users have is a wheel."""
    here = Path(bpe_interop.__file__).is_relative_to(ROOT)
    return "from the sources" if here else "from a wheel"


def _kernel() -> str:
    """Which kernel of this library was measured."""
    found = running()
    return f"{found.kernel} ({found.how})" if found.how else found.kernel


def commit() -> str:
    """The commit that was measured, with ``+`` where files had been changed since."""
    short = _git("rev-parse", "--short=12", "HEAD")
    if not short:
        return "not known"
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", "bpe_interop")
    return f"{short}+" if changed else short


def sources() -> str:
    """What names the code that was measured, whatever the commit says beside it.

    Twelve hexadecimal digits of git's own names of ``bpe_interop`` and ``native/src``, with ``+``
    where files had been changed since. Commits that change neither have the same.
    """
    trees = [_git("rev-parse", f"HEAD:{folder}") for folder in SOURCES]
    if not all(trees):
        return "not known"
    changed = _git("status", "--porcelain", "--", *SOURCES)
    return hashlib.sha256(" ".join(trees).encode()).hexdigest()[:12] + ("+" if changed else "")


SOURCES = ("bpe_interop", "native/src")
"""The folders of the library's own code."""


def _git(*words: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine() or "not known"


def _memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 0
