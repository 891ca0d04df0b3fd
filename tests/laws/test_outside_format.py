"""A format that another package brings goes everywhere, and no file of ours knows of it.

The package is ``nanochat_format/``; its own tests would be ``check_format`` alone.
"""

from __future__ import annotations

import gc
import json
import os
import pickle
import shutil
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from importlib.machinery import BuiltinImporter, FrozenImporter, PathFinder
from importlib.metadata import MetadataPathFinder
from pathlib import Path
from typing import Any

import pytest
import tiktoken
import tokenizers
from command_line import Command

from bpe_interop import entry_points
from bpe_interop.encode import Encoder
from bpe_interop.errors import BpeInteropError, SourceError
from bpe_interop.formats import GROUP, Files, Format, all_formats, brought, by_name
from bpe_interop.io import names
from bpe_interop.model import AddedToken, BPEModel, Vocab
from bpe_interop.testing import BrokenError, check_format, laws, tiny_tokenizers

pytestmark = pytest.mark.usefixtures("few_texts")

HERE = Path(__file__).parent
TINY = HERE.parents[1] / "fixtures" / "tokenizers" / "minbpe-tiny" / "huggingface"


def forget() -> None:
    """What was found out of the installed packages."""
    brought.cache_clear()
    for each in vars(names).values():
        if hasattr(each, "cache_clear"):
            each.cache_clear()


def install(folder: Path, value: str, name: str = "nanochat") -> None:
    """What installing a package of one module leaves: the module, and its metadata."""
    shutil.copy(HERE / "nanochat_format" / "nanochat_format.py", folder)
    info = folder / "nanochat_format-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: nanochat-format\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\n{name} = {value}\n")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "nanochat_format", raising=False)
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
def nanochat(site: Path) -> Any:
    install(site, "nanochat_format:FORMAT")
    forget()
    return by_name("nanochat")


@pytest.fixture
def pickled(tmp_path: Path) -> Path:
    """What nanochat's trainer leaves: an encoding that tiktoken has no name for, pickled."""
    ranks = {bytes([n]): n for n in range(256)} | {b"th": 256, b"the": 257, b" the": 258}
    encoding = tiktoken.Encoding(
        "rustbpe",
        pat_str=r" ?\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
        mergeable_ranks=ranks,
        special_tokens={"<|bos|>": 259, "<|user_start|>": 260},
    )
    path = tmp_path / "nanochat" / "tokenizer.pkl"
    path.parent.mkdir()
    path.write_bytes(pickle.dumps(encoding))
    return path


@pytest.mark.usefixtures("nanochat")
def test_commands_know_it(pickled: Path, tmp_path: Path, command: Command) -> None:
    listed = {row["name"]: row for row in json.loads(command("formats", "--json").out)}
    assert listed["nanochat"]["engine"] == "tiktoken"
    asked = ("--from", "nanochat")
    assert json.loads(command("inspect", pickled, *asked, "--json").out)["format"] == "nanochat"
    there = tmp_path / "there"
    done = command("convert", pickled.parent, there, "--to", "hf", *asked)
    assert done.code == 0, done.err
    back = tmp_path / "back.pkl"
    done = command("convert", there, back, "--to", "nanochat")
    assert done.code == 0, done.err
    theirs = pickle.loads(back.read_bytes())
    assert theirs.encode_ordinary("the theme 2026") == pickle.loads(
        pickled.read_bytes()
    ).encode_ordinary("the theme 2026")
    assert theirs.encode("<|bos|>", allowed_special="all") == [259]


@pytest.mark.usefixtures("nanochat")
def test_a_pickle_is_read_where_the_format_is_asked_for_and_never_run(
    pickled: Path, tmp_path: Path, command: Command
) -> None:
    for source in (pickled, pickled.parent):
        assert "this is a pickle" in command("inspect", source).err
    ran = tmp_path / "ran"
    pickled.write_bytes(pickle.dumps(Harmful(ran)))
    done = command("inspect", pickled, "--from", "nanochat")
    assert done.code == 2
    assert "which is never run" in done.err
    assert not ran.exists()
    pickle.loads(pickled.read_bytes())
    assert ran.exists()


class Harmful:
    """As a pickle, it makes a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (self.folder,)


def test_it_is_held_to_the_laws(nanochat: Any, pickled: Path) -> None:
    checked = check_format(nanochat, pickled.parent)
    assert checked.sources == ("tokenizer.pkl",)
    others = ("nanochat", "gpt2", "tiktoken", "minbpe", "gguf")
    assert checked.compared == {"huggingface": 5, **dict.fromkeys(others, 1)}
    assert checked.refused["normalizer"] == ("normalizer",)


def moved(model: BPEModel) -> tuple[AddedToken, ...]:
    return tuple(replace(token, id=token.id + 5) for token in model.added or ())


def with_more(vocab: Vocab) -> Vocab:
    return Vocab({**vocab.ids, b"q": 999})


@pytest.mark.parametrize(
    ("part", "fault", "law"),
    [
        ("load", lambda model: replace(model, added=()), "says that it holds added, and loses"),
        ("load", lambda model: replace(model, added=moved(model)), r"loses \['added'\]"),
        ("load", lambda model: replace(model, vocab=with_more(model.vocab)), "merges"),
        (
            "dump",
            lambda files: {n: data + os.urandom(8) for n, data in files.items()},
            "other bytes",
        ),
    ],
)
def test_the_laws_see_a_fault(
    nanochat: Any, pickled: Path, part: str, fault: Any, law: str
) -> None:
    good = getattr(nanochat, part)
    faulty = replace(nanochat, **{part: lambda value: fault(good(value))})
    with pytest.raises((BrokenError, BpeInteropError), match=law):
        check_format(faulty, pickled.parent)


def test_the_laws_see_an_error_of_another_kind(nanochat: Any, pickled: Path) -> None:
    whole = pickled.read_bytes()

    def load(files: Files) -> BPEModel:
        if whole not in files.values():
            raise KeyError("x")
        model: BPEModel = nanochat.load(files)
        return model

    with pytest.raises(BrokenError, match=r"damaged tokenizer.pkl is no error of ours but KeyErr"):
        check_format(replace(nanochat, load=load), pickled.parent)


@pytest.mark.parametrize("row", all_formats(), ids=lambda row: row.name)
def test_our_own_formats_hold_the_tiny_tokenizers_or_refuse_them(row: Format) -> None:
    gc.collect()  # the models of a check are in circles of few objects: 10 to 30 MB of each format
    checked = check_format(row)
    assert checked.compared["huggingface"] + len(checked.refused) == len(tiny_tokenizers())
    assert checked.compared["huggingface"]


def test_the_tiny_tokenizers_are_what_tokenizers_runs() -> None:
    for name, files in tiny_tokenizers().items():
        theirs = tokenizers.Tokenizer.from_str(files["tokenizer.json"].decode())
        ours = Encoder(by_name("huggingface").load(files))
        for text in laws.TEXTS:
            ids = theirs.encode(text, add_special_tokens=False).ids
            assert ours.encode(text, "all") == ids, (name, text)


BLAMED = "the format 'nanochat', which nanochat-format brings, failed: KeyError('x')"


@pytest.mark.parametrize(
    ("part", "value", "said"),
    [
        *((part, "fault", BLAMED) for part in ("sniff", "load", "dump")),
        ("engines", "{'tiktoken': 'nanochat_format:fault'}", "as nanochat_format hands them to it"),
    ],
)
def test_a_fault_in_it_names_its_package(
    site: Path, pickled: Path, tmp_path: Path, part: str, value: str, said: str, command: Command
) -> None:
    install(site, "nanochat_format:FAULTY")
    module = site / "nanochat_format.py"
    module.write_text(
        f"{module.read_text('utf-8')}\ndef fault(*values):\n    return {{}}['x']\n\n"
        f"FAULTY = replace(FORMAT, {part}={value})\n",
        "utf-8",
    )
    forget()
    if part == "dump":
        done = command("convert", TINY, tmp_path / "out", "--to", "nanochat")
    else:
        done = command("convert", pickled, tmp_path / "out", "--to", "hf", "--from", "nanochat")
    assert done.code == 2
    assert said in done.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("absent_module:FORMAT", "absent_module"),
        ("nanochat_format:absent", "absent"),
        ("nanochat_format:NAME", "is no bpe_interop.formats.Format"),
    ],
)
def test_one_that_cannot_be_used_is_named(site: Path, value: str, why: str) -> None:
    install(site, value)
    forget()
    with pytest.raises(
        SourceError, match=f"the format 'nanochat' that nanochat-format brings.*{why}"
    ):
        all_formats()
    assert by_name("gpt2").name == "gpt2"


def test_a_name_that_is_taken_is_refused(site: Path) -> None:
    install(site, "nanochat_format:TAKEN")
    module = site / "nanochat_format.py"
    module.write_text(
        f"{module.read_text('utf-8')}\nfrom dataclasses import replace\n"
        "TAKEN = replace(FORMAT, name='minbpe')\n",
        "utf-8",
    )
    forget()
    with pytest.raises(SourceError, match="there is a format 'minbpe' already"):
        all_formats()
