"""A format that another package brings goes everywhere, and no file of ours knows of it."""

from __future__ import annotations

import json
import shutil
import sys
import sysconfig
import zipfile
from collections import Counter
from collections.abc import Iterator
from importlib.machinery import BuiltinImporter, FrozenImporter, PathFinder
from importlib.metadata import MetadataPathFinder
from pathlib import Path

import pytest
from command_line import Command

from benchmarks.trust import laws
from bpe_interop import entry_points
from bpe_interop.errors import SourceError
from bpe_interop.formats import GROUP, all_formats, brought, by_name
from bpe_interop.io import names
from fixtures.file_formats import to_bytes

pytestmark = pytest.mark.usefixtures("few_texts")

HERE = Path(__file__).parent
TINY = HERE.parent / "fixtures" / "tokenizers" / "minbpe-tiny" / "huggingface"


def forget() -> None:
    """What was found out of the installed packages."""
    brought.cache_clear()
    for each in vars(names).values():
        if hasattr(each, "cache_clear"):
            each.cache_clear()


def install(folder: Path, value: str, name: str = "toy") -> None:
    """What installing a package of one module leaves: the module, and its metadata."""
    shutil.copy(HERE / "toy_format" / "toy_format.py", folder)
    info = folder / "toy_format-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-format\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\n{name} = {value}\n")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "toy_format", raising=False)
    yield folder
    monkeypatch.undo()
    forget()


def test_packages_are_looked_through_as_python_does(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The quick look finds none only where there is none."""
    group = "a.group.that.no.package.has"
    # Another test may have imported a library that looks for packages in its own way or place:
    # importlib_metadata takes this method from Python's own finder.
    look = staticmethod(MetadataPathFinder.find_distributions)
    monkeypatch.setattr(PathFinder, "find_distributions", look, raising=False)
    standard = sysconfig.get_path("stdlib")
    own = [each for each in sys.path if each.startswith(standard) and "packages" not in each]
    monkeypatch.setattr(sys, "meta_path", [BuiltinImporter, FrozenImporter, PathFinder])
    monkeypatch.setattr(sys, "path", [str(site), *own])
    assert not entry_points._may_have(group)
    assert entry_points.entry_points(group) == []
    info = site / "old.egg-info"
    info.mkdir()
    (info / "entry_points.txt").write_text(f"[{group}]\nold = sys:path\n")
    (info / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: old\nVersion: 1.0\n")
    assert [each.value for each in entry_points.entry_points(group)] == ["sys:path"]
    shutil.rmtree(info)
    assert not entry_points._may_have(group)
    archive = tmp_path / "packages.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("new-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: new\n")
        file.writestr("new-1.0.dist-info/entry_points.txt", f"[{group}]\nnew = sys:version\n")
    with monkeypatch.context() as patch:
        patch.syspath_prepend(archive)
        assert [each.value for each in entry_points.entry_points(group)] == ["sys:version"]
    assert not entry_points._may_have(group)

    class Finder:
        def find_distributions(self, context: object = None) -> list[object]:
            return []

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder()])
    assert entry_points._may_have(group)


@pytest.fixture
def toy(site: Path) -> None:
    install(site, "toy_format:FORMAT")
    forget()


def written(folder: Path) -> Path:
    """A fixture of the format: a known tokenizer, spelled by hand from its own files."""
    source = json.loads((TINY / "tokenizer.json").read_text("utf-8"))
    special = {token["content"]: token["id"] for token in source["added_tokens"]}
    spelled = {
        token: to_bytes(token).hex() for token in source["model"]["vocab"] if token not in special
    }
    said = {
        "toy": 1,
        "pattern": source["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"],
        "ids": {spelled[t]: n for t, n in source["model"]["vocab"].items() if t in spelled},
        "merges": [[spelled[one], spelled[two]] for one, two in source["model"]["merges"]],
        "special": special,
    }
    path = folder / "minbpe-tiny" / "toy" / "tiny.toy"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(said), "utf-8")
    return path


@pytest.mark.usefixtures("toy")
def test_commands_know_it(tmp_path: Path, command: Command) -> None:
    path = written(tmp_path)
    listed = {row["name"]: row for row in json.loads(command("formats", "--json").out)}
    assert listed["toy"]["engine"] == "tokenizers"
    assert json.loads(command("inspect", path, "--json").out)["format"] == "toy"
    there = tmp_path / "there"
    done = command("convert", path, there, "--to", "hf")
    assert done.code == 0, done.err
    back = tmp_path / "back.toy"  # its name says the format
    done = command("convert", there, back)
    assert done.code == 0, done.err
    assert back.is_file()
    assert command("verify", path, back, "--require", "proved").code == 0
    assert command("verify", TINY, back).code == 0
    assert (
        command("encode", back, "--text", "a b").out == command("encode", TINY, "--text", "a b").out
    )


@pytest.mark.usefixtures("toy")
def test_what_it_cannot_hold_is_refused(tmp_path: Path, command: Command) -> None:
    clip = TINY.parent.parent / "clip-tiny" / "huggingface"
    done = command("convert", clip, tmp_path / "clip.toy")
    assert done.code == 1
    assert "affixes: a toy has no such affixes" in done.err
    assert not (tmp_path / "clip.toy").exists()


@pytest.mark.long
@pytest.mark.usefixtures("toy")
def test_it_is_held_to_the_laws(tmp_path: Path) -> None:
    written(tmp_path)
    row, rows = by_name("toy"), all_formats()
    [own] = laws.sources([row], tmp_path)
    laws.home(own)
    laws.repeated(own)
    laws.one_owner(own, rows)
    laws.well_mannered(own)
    laws.sniffs_calmly(own, rows)
    known = laws.sources()
    cases = [
        *(laws.Case(source, row) for source in (own, *known)),
        *(laws.Case(own, other) for other in rows if other.name != "toy"),
    ]
    compared: Counter[tuple[str, str]] = Counter()
    for case in cases:
        if case.writable:
            laws.stable(case)
        if laws.comparable(case):
            laws.same_ids(case)
            compared[case.pair] += 1
    for source, fresh in zip(
        [own, *known], laws.sources([row], tmp_path) + laws.sources(), strict=True
    ):
        laws.untouched(source, fresh)
    assert compared["toy", "toy"] == compared["toy", "huggingface"] == 1
    assert compared["toy", "tiktoken"] == compared["toy", "minbpe"] == 1
    assert compared["huggingface", "toy"] == 2


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("absent_module:FORMAT", "absent_module"),
        ("toy_format:absent", "absent"),
        ("toy_format:SUFFIX", "is no bpe_interop.formats.Format"),
    ],
)
def test_one_that_cannot_be_used_is_named(site: Path, value: str, why: str) -> None:
    install(site, value)
    forget()
    with pytest.raises(SourceError, match=f"the format 'toy' that toy-format brings.*{why}"):
        all_formats()
    assert by_name("gpt2").name == "gpt2"


def test_a_name_that_is_taken_is_refused(site: Path) -> None:
    install(site, "toy_format:TAKEN")
    module = site / "toy_format.py"
    module.write_text(
        f"{module.read_text('utf-8')}\nfrom dataclasses import replace\n"
        "TAKEN = replace(FORMAT, name='minbpe')\n",
        "utf-8",
    )
    forget()
    with pytest.raises(SourceError, match="there is a format 'minbpe' already"):
        all_formats()
