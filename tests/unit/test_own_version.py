"""Which version of this library is installed, as ``importlib.metadata`` has it."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

import pytest

from bpe_interop.entry_points import own_version


def put(folder: Path, name: str, version: str) -> str:
    """A folder with an installation of this library; gives its path."""
    inner = folder / name
    inner.mkdir(parents=True)
    file = "METADATA" if name.endswith(".dist-info") else "PKG-INFO"
    (inner / file).write_text(f"Metadata-Version: 2.1\nName: bpe-interop\nVersion: {version}\n")
    return str(folder)


@pytest.mark.parametrize(
    ("first", "version"),
    [
        ("bpe_interop-9.8.dist-info", "9.8"),
        ("bpe_interop-9.8+a.b.dist-info", "9.8+a.b"),
        ("bpe_interop.egg-info", "9.8"),
        ("bpe_interop_more-9.8.dist-info", "1.0"),
    ],
)
def test_the_first_that_is_installed_counts(
    first: str, version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = str(tmp_path / "absent")
    one = put(tmp_path / "one", first, version)
    if "_more" in first:
        (tmp_path / "one" / first / "METADATA").write_text("Name: bpe-interop-more\nVersion: 9.8\n")
    two = put(tmp_path / "two", "bpe_interop-1.0.dist-info", "1.0")
    monkeypatch.setattr(sys, "path", [absent, one, two])
    assert own_version() == version == metadata.version("bpe-interop")


def test_none_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert own_version() == "from source"
