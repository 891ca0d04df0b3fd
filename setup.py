"""Builds the native kernel beside the package where ``cargo`` is; all else is in pyproject.toml.

Without ``cargo``, or where it fails, the package is pure Python, and a text file in it says why.
``BPE_INTEROP_KERNEL=python`` builds none; ``native`` fails where it cannot be built.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import ClassVar

from setuptools import Command, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build import build
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
CRATE = ROOT / "native"
PLACE = Path("bpe_interop", "kernel", "built")
LIBRARY = {"darwin": "dylib", "win32": "dll"}.get(sys.platform, "so")


class CannotBuildError(Exception):
    """Why there is no kernel."""


def sources_hash() -> str:
    """The SHA-256 of what the library is built from; ``tests/laws/test_kernel.py`` compares it."""
    digest = hashlib.sha256()
    for path in [CRATE / "Cargo.toml", *sorted((CRATE / "src").glob("*.rs"))]:
        digest.update(path.name.encode() + b"\0" + path.read_bytes().replace(b"\r\n", b"\n"))
    return digest.hexdigest()


def build_library() -> tuple[Path, str]:
    """Builds the library; returns its path and the first line of what built it."""
    cargo = shutil.which("cargo")
    if cargo is None:
        raise CannotBuildError("cargo was not found on PATH")
    variables = {**os.environ, "BPE_INTEROP_SOURCES": sources_hash()}
    target = CRATE / "target"
    command = [cargo, "build", "--release", "--offline", "--locked", "--target-dir", str(target)]
    try:
        version = subprocess.run([cargo, "--version"], capture_output=True, text=True, check=True)
        subprocess.run(
            command, cwd=CRATE, env=variables, capture_output=True, text=True, check=True
        )
    except subprocess.CalledProcessError as error:
        lines = [line for line in str(error.stderr).splitlines() if line.strip()]
        said = next((line for line in lines if line.startswith("error")), (lines or ["?"])[-1])
        raise CannotBuildError(f"cargo failed: {said.strip()}") from error
    except OSError as error:
        raise CannotBuildError(f"cargo cannot be run: {error}") from error
    found = [*(target / "release").glob(f"*bpe_interop_kernel.{LIBRARY}")]
    if len(found) != 1:
        raise CannotBuildError(f"cargo made no library for {sysconfig.get_platform()}")
    return found[0], version.stdout.strip()


class BuildKernel(Command):
    """Puts the library, and a text about it, into the package's folder ``kernel/built``."""

    description = "build the native kernel, if cargo is there"
    user_options: ClassVar = [("inplace", "i", "put it into the source tree")]

    def initialize_options(self) -> None:
        """Sets what setuptools and the command line may change."""
        self.inplace = False
        self.editable_mode = False
        self.build_lib: str | None = None
        self.built = False

    def finalize_options(self) -> None:
        """Takes over where packages are built."""
        self.set_undefined_options("build", ("build_lib", "build_lib"))

    def run(self) -> None:
        """Builds, or says in the text why not."""
        in_place = self.inplace or self.editable_mode
        folder = (ROOT if in_place else Path(self.build_lib or "build")) / PLACE
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        wanted = os.environ.get("BPE_INTEROP_KERNEL", "")
        try:
            if wanted == "python":
                raise CannotBuildError("it was built with BPE_INTEROP_KERNEL=python")
            library, version = build_library()
        except CannotBuildError as error:
            if wanted == "native":
                raise SystemExit(f"BPE_INTEROP_KERNEL=native: {error}") from error
            (folder / "why-not.txt").write_text(f"{error}\n", "utf-8")
            return
        # A process that runs the old library keeps it: this is another file.
        new = folder / f"new.{LIBRARY}"
        shutil.copyfile(library, new)
        new.replace(folder / f"kernel.{LIBRARY}")
        about = f"{version}, {sysconfig.get_platform()}, sources {sources_hash()[:12]}"
        (folder / "how.txt").write_text(f"{about}\n", "utf-8")
        self.built = True

    def get_source_files(self) -> list[str]:
        """What a source distribution needs for it (``MANIFEST.in`` lists the same)."""
        files = [CRATE / "Cargo.toml", CRATE / "Cargo.lock", *sorted((CRATE / "src").glob("*.rs"))]
        return [path.relative_to(ROOT).as_posix() for path in files]

    def get_outputs(self) -> list[str]:
        """Files of the built package; found in its folder, so that they are listed as they are."""
        folder = Path(self.build_lib or "build") / PLACE
        return [str(path) for path in folder.glob("*")] if folder.is_dir() else []

    def get_output_mapping(self) -> dict[str, str]:
        """Nothing is copied from the source tree."""
        return {}


class BuildPackage(build_py):
    """The usual package, and the pages that ``bpe-interop explain`` prints."""

    def run(self) -> None:
        """In a checkout that is installed as it is, they are read where they are."""
        super().run()
        if not self.editable_mode:
            folder = Path(self.build_lib, "bpe_interop", "refusals")
            folder.mkdir(parents=True, exist_ok=True)
            for page in (ROOT / "docs" / "refusals").glob("*-*.md"):
                shutil.copyfile(page, folder / page.name)


class Build(build):
    """The usual build, and the kernel."""

    sub_commands: ClassVar = [*build.sub_commands, ("build_kernel", None)]


class Wheel(bdist_wheel):
    """One wheel for every Python of a platform; for every platform where there is no kernel."""

    def run(self) -> None:
        """Builds the kernel first: it decides what the wheel is called."""
        self.run_command("build_kernel")
        self.root_is_pure = not self.get_finalized_command("build_kernel").built
        # Where a package with a library is installed, and so the root of the wheel.
        self.distribution.has_ext_modules = lambda: not self.root_is_pure
        super().run()

    def get_tag(self) -> tuple[str, str, str]:
        """The library is called over C: no version of Python is in it."""
        platform = "any" if self.root_is_pure else super().get_tag()[2]
        return "py3", "none", platform


MAN_PAGES = [path.relative_to(ROOT).as_posix() for path in (ROOT / "man").glob("*.1")]
"""Sphinx writes them (``.ci/package``); a checkout has none."""

setup(
    data_files=[("share/man/man1", MAN_PAGES)] if MAN_PAGES else [],
    cmdclass={
        "build": Build,
        "build_py": BuildPackage,
        "build_kernel": BuildKernel,
        "bdist_wheel": Wheel,
    },
)
