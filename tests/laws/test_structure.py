"""The laws of the house that can be read off the source: who imports whom, state, disk, paths.

One test a law: it lists every place that breaks it.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

import pytest

from bpe_interop.engines.rows import ROWS
from bpe_interop.formats import all_formats
from bpe_interop.kernel import running

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "bpe_interop"
MODULES = sorted(PACKAGE.rglob("*.py"))
KERNEL = sorted((PACKAGE / "kernel").glob("*.py"))

When: TypeAlias = Literal["now", "later", "never"]

LAYERS: tuple[tuple[str, ...], ...] = (
    ("loss",),
    (
        *("memo", "entry_points", "errors", "exports", "gc_pause"),
        *("limits", "notebook", "quoting", "ticks"),
    ),
    ("kernel", "arguments", "optional"),
    ("entries",),
    ("steps",),
    ("model",),
    ("chat_jinja", "merging", "special", "text", "strict_json"),
    ("openai_encodings", "theory", "tokenizer_config", "transformers_classes"),
    ("diff",),
    ("encode",),
    ("witnesses",),
    ("proof",),
    ("formats", "presets"),
    ("extend",),
    ("batches", "chat_notes", "completions", "gate", "fingerprint", "statement", "token_counts"),
    ("usage_notes",),
    ("vocabulary",),
    ("io",),
    ("engines", "corpora"),
    ("sources",),
    ("tokenizer",),
    ("tiktoken", "tokenizers", "workers"),
    ("compare",),
    ("convert",),
    ("reports", "pytest_plugin", "testing"),
    ("cost", "statistics", "token_files", "train", "view"),
    ("cli",),
)
"""A room may import the rooms above it, never those beside or below, wherever in a file it does.

The last but one are wings: they import the core, and only commands import them. The front of the
package exports two of them, and imports them when somebody asks for these names.
"""

WINGS = LAYERS[-2]

FORBIDDEN: dict[str, frozenset[str]] = {
    "theory": frozenset({"loss", "strict_json"}),
    "diff": frozenset({"strict_json"}),
    "encode": frozenset({"strict_json"}),
    "formats": frozenset({"encode"}),
    "presets": frozenset({"encode", "witnesses"}),
    "io": frozenset({"encode", "completions", "vocabulary"}),
}
"""Rooms above that are none of a room's business all the same."""

ASKING = {"text.normalize", "text.split"}
ENGINES = {
    *("tiktoken", "tokenizers", "transformers", "sentencepiece"),
    *("gigatoken", "mistral_common", "xllamacpp", "llama_cpp"),
}
OPTIONAL = ENGINES - {"tiktoken", "tokenizers", "sentencepiece"}
"""Engines that a plain install has not."""
SLOW = ENGINES | {"huggingface_hub", "numpy", "regex", "google"}
SCREEN = {"click", "rich", "typer"}
DISK = {"os", "pathlib", "shutil", "tempfile", "glob", "io"}
UNDOCUMENTED = 14
VAGUE = {"utils", "util", "helpers", "helper", "common", "manager", "base", "misc"}

NAMED_IN = {"formats", "engines", "presets", "train"}
"""Rooms that may ask which it is: what companions mean depends on the file beside them, and an
algorithm of training has an engine's name."""

_PURE = ("text", "merging", "theory", "model", "loss", "errors", "diff")
"""Rooms without a disk and without an engine."""

PLACE = {room: place for place, layer in enumerate(LAYERS) for room in layer}


def name_of(path: Path) -> str:
    """``bpe_interop/text/split.py`` is ``text.split``; a package's own file is the package."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def room_of(module: str) -> str:
    """The room that a module is in; the package's own door has none."""
    return module.split(".")[0]


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@dataclass(frozen=True)
class Facts:
    """What the laws ask of a file of the package. The trees of all files would take 200 MB."""

    imports: tuple[tuple[str, When], ...]
    """What it imports (``.text.split`` is inside the package) and when."""
    classes: tuple[str, ...]
    calls: tuple[tuple[str, int], ...]
    """What it calls, as it is written, and in which line."""
    compared: frozenset[str]
    undocumented: tuple[str, ...]


@cache
def facts(path: Path) -> Facts:
    tree = tree_of(path)
    nodes = [*ast.walk(tree)]
    return Facts(
        tuple(_imports(path, tree)),
        tuple(node.name for node in nodes if isinstance(node, ast.ClassDef)),
        tuple((ast.unparse(n.func), n.lineno) for n in nodes if isinstance(n, ast.Call)),
        frozenset(compared(tree)),
        tuple(undocumented(tree)),
    )


def imports(path: Path) -> tuple[tuple[str, When], ...]:
    return facts(path).imports


def is_function(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)


def is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def _imports(path: Path, tree: ast.Module) -> Iterator[tuple[str, When]]:
    here = [*path.relative_to(PACKAGE).parent.parts]
    todo: list[tuple[ast.AST, When]] = [(tree, "now")]
    while todo:
        node, when = todo.pop()
        if is_for_types(node):
            when = "never"
        elif is_function(node) and when == "now":
            when = "later"
        todo += [(inner, when) for inner in ast.iter_child_nodes(node)]
        for name in imported(node):
            dots = len(name) - len(name.lstrip("."))
            if dots:
                name = "." + ".".join([*here[: len(here) - dots + 1], name[dots:]])
            yield re.sub(r"^bpe_interop\.", ".", name), when


def imported(node: ast.AST) -> list[str]:
    """The names that a node imports, relative ones with their dots; of a package its parts."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.level:
        stem = "." * node.level + (f"{node.module}." if node.module else "")
        return [stem + alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    if isinstance(node, ast.Call) and node.args and called_last(node) == LOADS:
        name = node.args[0]
        if isinstance(name, ast.Constant) and isinstance(name.value, str):
            return [name.value]
    return []


LOADS = "import_module"
"""The function that imports by a string, which is seen where the string stands in the call."""


def called_last(call: ast.Call) -> str:
    """``b`` of ``a.b()`` and of ``b()``."""
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def outside(path: Path, *, at_import: bool) -> set[str]:
    """Top-level names of what a file imports from elsewhere, type checkers' business aside."""
    wanted = ("now",) if at_import else ("now", "later")
    return {
        name.split(".")[0]
        for name, when in imports(path)
        if when in wanted and not name.startswith(".")
    }


def rooms_used(path: Path) -> set[str]:
    """The other rooms that a file imports from, wherever it does so."""
    own = room_of(name_of(path))
    found = {name.lstrip(".").split(".")[0] for name, _ in imports(path) if name.startswith(".")}
    return found - {own}


def offenders(law: Callable[[Path], Iterable[str]], paths: Iterable[Path] = MODULES) -> list[str]:
    """What breaks a law, each with its module."""
    return [f"{name_of(path)}: {what}" for path in paths for what in law(path)]


def unlawful_imports(path: Path) -> Iterator[str]:
    room = room_of(name_of(path))
    if room in ("", "__main__"):
        return
    if room not in PLACE:
        yield f"the room {room} has no place in LAYERS: give it one"
        return
    for other in sorted(rooms_used(path)):
        if other not in PLACE:
            yield f"imports {other}, which is no room"
        elif PLACE[other] >= PLACE[room]:
            yield f"imports {other}, which is not above {room}"
        elif other in FORBIDDEN.get(room, frozenset()):
            yield f"imports {other}, which is forbidden to {room}"


def test_who_may_import_whom() -> None:
    assert offenders(unlawful_imports) == []


def test_the_front_imports_wings_when_they_are_asked_for() -> None:
    at = {"now": set[str](), "later": set[str](), "never": set[str]()}
    for name, when in imports(PACKAGE / "__init__.py"):
        at[when] |= {name.lstrip(".").split(".")[0]} & {*WINGS}
    assert at == {"now": set(), "later": set(), "never": {"statistics", "train"}}


def test_the_package_has_no_circle() -> None:
    """Between modules; an import inside a function counts."""
    known = {name_of(path): path for path in MODULES}
    edges = {
        module: {
            found
            for name, when in imports(path)
            if when != "never" and name.startswith(".")
            for found in [resolve(name[1:], known)]
            if found in known and found != module
        }
        for module, path in known.items()
    }
    for start in edges:
        seen, todo = set[str](), [*edges[start]]
        while todo:
            module = todo.pop()
            if module not in seen:
                seen.add(module)
                todo.extend(edges[module])
        assert start not in seen or is_package_pair(start, edges), f"{start} imports itself"


HOUSE = ("bpe_interop", "fixtures", "benchmarks", "trust", "tests")
"""The folders of the project: each may import those before it, never one behind it."""


def behind_it(tree: ast.Module, folder: str) -> set[str]:
    """The folders behind this one that a file of it imports from."""
    names = {name for node in ast.walk(tree) for name in imported(node)}
    return {name.partition(".")[0] for name in names} & {*HOUSE[HOUSE.index(folder) + 1 :]}


def test_no_folder_imports_one_behind_it() -> None:
    found = dict[str, set[str]]()
    for place, folder in enumerate(HOUSE):
        files = sorted((ROOT / folder).rglob("*.py"))
        assert files
        for path in files:
            text = path.read_text("utf-8")
            # Few name one at all, and to parse all files takes seconds.
            if any(later in text for later in HOUSE[place + 1 :]):
                found[str(path.relative_to(ROOT))] = behind_it(ast.parse(text), folder)
    assert {path: later for path, later in found.items() if later} == {}


@pytest.mark.parametrize(
    ("source", "folder", "later"),
    [
        ("from trust.page import put", "benchmarks", {"trust"}),
        ("def f():\n    import trust", "fixtures", {"trust"}),
        ("from benchmarks.machine import commit", "trust", set[str]()),
        ("from .trust import x", "benchmarks", set[str]()),
        ("a = import_module('trust.page').put", "benchmarks", {"trust"}),
        ("import_module('bpe_interop.train')", "benchmarks", set[str]()),
    ],
)
def test_what_is_imported_from_behind_is_seen(source: str, folder: str, later: set[str]) -> None:
    assert behind_it(ast.parse(source), folder) == later


PRESCRIBED = {
    "tiktoken": {"Encoding"},
    "tokenizers": {"AddedToken", "DecodeStream", "Encoding", "Tokenizer"},
}
"""Names of another library's classes, which what stands in its place must have."""


def test_a_class_name_stands_in_one_module() -> None:
    homes: dict[str, set[str]] = {}
    for path in MODULES:
        for name in facts(path).classes:
            if name not in PRESCRIBED.get(room_of(name_of(path)), ()):
                homes.setdefault(name, set()).add(name_of(path))
    assert {name: at for name, at in homes.items() if len(at) > 1} == {}


def resolve(name: str, known: dict[str, Path]) -> str:
    """The module that ``from .a.b import c`` reads: ``a.b.c`` if that is one, else ``a.b``."""
    return name if name in known else name.rpartition(".")[0]


def is_package_pair(module: str, edges: dict[str, set[str]]) -> bool:
    """Whether the only circles are between a package and its own parts (Python allows those)."""
    room = room_of(module)
    seen, todo = set[str](), [m for m in edges[module] if room_of(m) != room]
    while todo:
        other = todo.pop()
        if other not in seen:
            seen.add(other)
            todo.extend(edges[other])
    return module not in seen


def formats_of(path: Path) -> str:
    """The format that a file in ``formats`` belongs to; empty for what lies beside them."""
    parts = path.relative_to(PACKAGE).parts
    return parts[1] if len(parts) > 2 else ""


def beyond_its_format(path: Path) -> Iterator[str]:
    if room_of(name_of(path)) != "formats":
        return
    own = formats_of(path)
    others = {formats_of(other) for other in MODULES if name_of(other).startswith("formats.")}
    others -= {own, ""}
    for name, when in imports(path):
        parts = name.lstrip(".").split(".")
        asks = name.startswith(".formats") and len(parts) > 1 and (own or when == "now")
        if asks and parts[1] in others:
            yield f"imports the format {parts[1]}"
    yield from outside(path, at_import=False) & DISK


def test_a_format_knows_no_other_format_and_no_disk() -> None:
    assert offenders(beyond_its_format) == []


def test_text_and_theory_are_pure() -> None:
    """``normalize.py`` and ``split.py`` alone may ask tokenizers for what has Unicode tables."""
    pure = [path for path in MODULES if room_of(name_of(path)) in _PURE]
    assert {room_of(name_of(path)) for path in pure} == {*_PURE}
    assert offenders(impure, pure) == []


def impure(path: Path) -> set[str]:
    own = {"tokenizers"} if name_of(path) in ASKING else set[str]()
    return outside(path, at_import=False) & (ENGINES | {"shutil", "tempfile", "glob"}) - own


def test_only_engines_import_engines() -> None:
    others = [
        path
        for path in MODULES
        if room_of(name_of(path)) != "engines" and name_of(path) not in ASKING
    ]
    assert offenders(lambda path: outside(path, at_import=False) & ENGINES, others) == []


def test_what_a_format_or_an_engine_does_is_asked_of_its_row() -> None:
    """No room compares with the name of one: another that does the same would be forgotten."""
    names = {row.name for row in all_formats()} | {*ROWS}
    others = [path for path in MODULES if room_of(name_of(path)) not in NAMED_IN]
    assert offenders(lambda path: facts(path).compared & names, others) == []


def compared(tree: ast.Module) -> set[str]:
    """The strings that a source compares something with, alone or in a row."""
    sides = {
        side
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare)
        for side in (node.left, *node.comparators)
    }
    rows = {part for side in sides if isinstance(side, ast.Tuple | ast.Set) for part in side.elts}
    return {
        part.value
        for part in sides | rows
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    }


def test_comparisons_with_a_name_are_seen() -> None:
    assert compared(ast.parse("if a == 'x' or b in ('y', 'z'): f('w')")) == {"x", "y", "z"}


def kernel_types_named(path: Path) -> set[str]:
    """The classes of the kernel that a file of another room imports, be it for a type checker."""
    if room_of(name_of(path)) == "kernel":
        return set()
    names = {name.rpartition(".")[2] for name, _ in imports(path) if name.startswith(".kernel.")}
    return names & {name for each in KERNEL for name in facts(each).classes}


NAMES_THEM: dict[str, str] = {
    "encode": "what the plan chose is handed on to where it runs",
    "encode.decode": "what joins bytes is part of who decodes",
    "encode.plan": "says who encodes",
    "theory.equality": "keeps a form that was found for the model that it belongs to",
    "theory.gaps": "reads off such a table what it leaves out",
    "theory.split_tables": "makes the tables that the kernel splits by",
    "train.pretokens": "says who counts, and takes the counts over",
}
"""Modules that name classes of the kernel, and why. To all others its answers are mappings and
sequences, as the model has them."""


def test_the_kernel_answers_in_the_types_of_the_model() -> None:
    named = {name_of(path) for path in MODULES if kernel_types_named(path)}
    assert named == NAMES_THEM.keys()


def test_named_types_of_the_kernel_are_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "PACKAGE", tmp_path)
    file = tmp_path / "formats" / "read.py"
    file.parent.mkdir()
    file.write_text("def f():\n    from ..kernel import Numbers, read_pair", "utf-8")
    assert kernel_types_named(file) == {"Numbers"}


def test_slow_libraries_are_imported_when_used() -> None:
    assert offenders(lambda path: outside(path, at_import=True) & SLOW) == []


def prints(path: Path) -> Iterator[str]:
    if room_of(name_of(path)) in ("cli", "__main__"):
        return
    for called, line in facts(path).calls:
        if called in ("print", "sys.stdout.write", "sys.stderr.write"):
            yield f"{called} in line {line}"
    yield from outside(path, at_import=False) & SCREEN


def test_only_the_command_line_prints() -> None:
    assert offenders(prints) == []


CHANGING = {
    "append", "add", "update", "setdefault", "pop", "popitem", "clear", "extend", "insert",
    "remove", "discard", "move_to_end",
}  # fmt: skip
"""Methods that change what they belong to."""

REMEMBERED: dict[str, str] = {
    "tiktoken.registry": "tiktoken gives one object for a name, and callers compare it",
    "workers.worker": "a worker's process holds files and what it built between two orders",
    "engines.llamacpp_child": "llama.cpp calls back with its messages, in a process of its own",
    "engines.transformers": "the environment is another one while transformers is imported",
    "workers.dask": "the environment is another one while workers start",
    "engines.child_process": "what a child shows when it fails",
    "cli": "the command line puts its own in place of Python's",
    "cli.interrupts": "the command line puts its own in place of Python's",
}
"""Modules in which a function changes what outlives its call, and why each must."""


def changed_for_all(tree: ast.Module) -> Iterator[str]:
    """What functions change that belongs to their module or to what it imports.

    Also ``global``, and every way round a frozen value. What is remembered of a value is a
    function's answer: ``cache`` and ``Memo`` hold it, and no value depends on who asked.
    """
    outer = {alias.asname or alias.name for node in tree.body for alias in names_of(node)}
    outer |= {
        node.id
        for each in tree.body
        if isinstance(each, ast.Assign | ast.AnnAssign)
        for node in ast.walk(each)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    for function in filter(is_function, ast.walk(tree)):
        own = bound(function)
        for node in ast.walk(function):
            if isinstance(node, ast.Global):
                yield from node.names
            elif isinstance(node, ast.Call) and ast.unparse(node.func) == "object.__setattr__":
                yield ast.unparse(node)
            elif isinstance(node, ast.Attribute | ast.Subscript):
                is_call = isinstance(node, ast.Attribute) and node.attr in CHANGING
                owner = root_of(node)
                if (is_call or not isinstance(node.ctx, ast.Load)) and owner in outer - own:
                    yield ast.unparse(node)


def bound(tree: ast.AST) -> set[str]:
    """The names of variables, functions and parameters; fields are read with their owner's name."""
    fields = {
        each.target
        for owner in ast.walk(tree)
        if isinstance(owner, ast.ClassDef)
        for each in owner.body
        if isinstance(each, ast.AnnAssign)
    }
    names = {
        each.id
        for each in ast.walk(tree)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store) and each not in fields
    }
    names |= {name.rpartition(".")[2] for name, _, _ in functions(tree)}
    return names | {each.arg for each in ast.walk(tree) if isinstance(each, ast.arg)}


def names_of(node: ast.AST) -> list[ast.alias]:
    return node.names if isinstance(node, ast.Import | ast.ImportFrom) else []


def root_of(node: ast.expr) -> str:
    """``a`` of ``a.b[c].d``; empty where no name stands there."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


@pytest.mark.long
def test_no_state_is_hidden() -> None:
    changed = {name_of(path): {*changed_for_all(tree_of(path))} for path in MODULES}
    changing = {name: changes for name, changes in changed.items() if changes}
    assert {name: changes for name, changes in changing.items() if name not in REMEMBERED} == {}
    assert REMEMBERED.keys() - changing.keys() == set(), "these change nothing any more"


@pytest.mark.parametrize(
    ("source", "changes"),
    [
        ("x = {}\ndef f(): x[1] = 2", {"x[1]"}),
        ("x = {}\ndef f(x): x[1] = 2", set()),
        ("x = []\ndef f(): x.append(1)", {"x.append"}),
        ("x = []\ndef f():\n    x = []\n    x.append(1)", set()),
        ("x = 1\ndef f():\n    global x\n    x = 2", {"x"}),
        ("import a\ndef f(): del a.b", {"a.b"}),
        ("class A:\n    def f(self): object.__setattr__(self, 'x', 1)",
         {"object.__setattr__(self, 'x', 1)"}),
    ],
)  # fmt: skip
def test_what_is_changed_for_all_is_seen(source: str, changes: set[str]) -> None:
    assert set(changed_for_all(ast.parse(source))) == changes


ASKS_THE_DISK = {
    "open", "fdopen", "read_bytes", "read_text", "write_bytes", "write_text",
    "is_file", "is_dir", "is_symlink", "exists", "stat", "lstat", "resolve", "readlink",
    "iterdir", "listdir", "scandir", "glob", "rglob",
    "mkdir", "unlink", "rename", "rmdir", "rmtree", "touch", "symlink_to", "fsync",
    "TemporaryDirectory", "NamedTemporaryFile", "mkdtemp", "mkstemp", "copyfile",
}  # fmt: skip
"""Functions and methods that look at files or change them; many are methods of other things too."""

ON_DISK = {
    "io": "reads and writes tokenizer files",
    "sources": "the hub's cache",
    "corpora": "reads corpora",
    "workers": "states of runs",
    "token_files": "corpora as files of ids",
    "engines": "some libraries read files only: these get a folder of their own",
    "entry_points": "looks through the installed packages, faster than Python's own way",
    "kernel": "the library beside it",
    "convert": "whether a source is a file, for its name",
    "compare": "whether a source is a lock file or a folder",
    "testing": "the folder of tokenizers that a format is held to the laws on",
    "cli": "files that commands are given",
}
"""Rooms that look at the disk, and what for; no other does, and of these each does."""


def asks_the_disk(path: Path) -> set[str]:
    """The calls by which a file looks at the disk, as far as it has any means to."""
    calls = {called for called, _ in facts(path).calls}
    if not outside(path, at_import=False) & DISK:
        return {"open"} & calls
    return {called.rpartition(".")[2] for called in calls} & ASKS_THE_DISK


def test_the_disk_is_touched_where_the_house_says_so() -> None:
    rooms = {room_of(name_of(path)): "" for path in MODULES if asks_the_disk(path)}
    assert rooms.keys() == ON_DISK.keys()


@pytest.mark.parametrize("module", ["bpe_interop", "bpe_interop.cli", "bpe_interop.tokenizer"])
def test_importing_loads_nothing_slow(module: str) -> None:
    assert not SLOW & imported_by(f"import {module}")


LATER = {
    *("importlib.metadata", "importlib.resources", "difflib", "html"),
}
"""What only few need who read a file: to import it would take longer than to read the file."""


def test_reading_a_file_waits_for_nothing_that_others_need() -> None:
    tiny = ROOT / "fixtures" / "tokenizers"
    files = [
        tiny / "gpt2-tiny" / "tiktoken" / "gpt2-tiny.tiktoken",
        tiny / "gpt2-tiny" / "huggingface" / "tokenizer.json",
        tiny / "spm-tiny" / "sentencepiece" / "tokenizer.model",
    ]
    script = "from bpe_interop import load; [load(path) for path in sys.argv[1:]]"
    modules = imported_by(script, *map(str, files))
    assert not SLOW & modules
    assert not LATER & modules


MUCH_LATER = {
    *("rich", "importlib.metadata", "importlib.resources", "difflib", "html"),
    *("concurrent.futures", "bpe_interop.workers", "bpe_interop.corpora", "bpe_interop.compare"),
}
"""What most conversions that go into a pipe and are not verified have no need of."""


def test_converting_waits_for_nothing_that_others_need(tmp_path: Path) -> None:
    source = ROOT / "fixtures" / "tokenizers" / "gpt2-tiny" / "tiktoken" / "gpt2-tiny.tiktoken"
    words = ["convert", str(source), str(tmp_path / "new"), "--to", "hf", "--no-verify"]
    script = "from bpe_interop.cli import cli; cli(sys.argv[1:], standalone_mode=False)"
    modules = imported_by(script, *words)
    if running().kernel != "native":
        modules -= {"regex"}  # without the kernel, it cuts the texts that a proof runs
    assert not SLOW & modules
    assert not MUCH_LATER & modules


def test_the_version_waits_for_no_model() -> None:
    modules = imported_by(
        "from bpe_interop.cli import cli; cli(['--version'], standalone_mode=False)"
    )
    assert not {"bpe_interop.model", "bpe_interop.formats", "bpe_interop.engines"} & modules


def test_importing_tiktokens_names_waits_for_none_of_them() -> None:
    modules = imported_by("import bpe_interop.tiktoken")
    ours = {name for name in modules if name.partition(".")[0] == "bpe_interop"}
    assert ours == {"bpe_interop", "bpe_interop.exports", "bpe_interop.tiktoken"}


def imported_by(script: str, *arguments: str) -> set[str]:
    """The modules that are there when a new process has run a script."""
    wholly = f"import sys; {script}; print(' '.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", wholly, *arguments], capture_output=True, text=True, check=True
    )
    return {*done.stdout.splitlines()[-1].split()}


def test_a_module_is_named_for_what_it_holds() -> None:
    assert offenders(lambda path: {path.stem} & VAGUE) == []


Function: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef"


def functions(
    tree: ast.AST, name: str = "", public: bool = True
) -> Iterator[tuple[str, bool, Function]]:
    """Every function, with its name in the module, and whether others may call it."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            full, is_public = f"{name}{node.name}", public and not node.name.startswith("_")
            yield full, is_public, node
            yield from functions(node, f"{full}.", public=False)
        elif isinstance(node, ast.ClassDef):
            inner = public and not node.name.startswith("_")
            yield from functions(node, f"{name}{node.name}.", inner)
        else:
            yield from functions(node, name, public)


def undocumented(tree: ast.Module) -> Iterator[str]:
    for name, is_public, function in functions(tree):
        size = (function.end_lineno or 0) - function.lineno + 1
        if is_public and size > UNDOCUMENTED and not ast.get_docstring(function):
            yield name


def test_public_functions_say_what_they_do() -> None:
    """Those of more lines than can be read at a glance; others do if their name does not."""
    assert offenders(lambda path: facts(path).undocumented) == []


@pytest.mark.parametrize(
    ("source", "name", "is_public"),
    [
        ("def f(a, *b, c, **d):\n    return 1", "f", True),
        ("class A:\n    async def f(self, a): ...", "A.f", True),
        ("class _A:\n    def f(self): ...", "_A.f", False),
        ("if x:\n    def _f(): ...", "_f", False),
    ],
)
def test_functions_are_seen(source: str, name: str, is_public: bool) -> None:
    ((*seen, _),) = functions(ast.parse(source))
    assert seen == [name, is_public]


def tracked() -> list[Path]:
    """Files of the project: what git knows, or everything but caches where there is no git."""
    done = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, text=True, check=False
    )
    if done.returncode == 0 and done.stdout:
        return [ROOT / name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()]
    hidden = re.compile(r"/(\.venv|\.git|__pycache__|build|dist|\.\w+_cache)/|\.egg-info/")
    return [p for p in ROOT.rglob("*") if p.is_file() and not hidden.search(p.as_posix())]


def test_project_text_names_no_machine() -> None:
    """No absolute path of somebody's home or working folder; the corpora are only texts."""
    machine = re.compile(
        r"(?<![\w./-])/(?:work|home|Users|root|mnt|private|farm)/\w|[A-Z]:\\Users\\"
    )
    found: list[str] = []
    for path in tracked():
        if "fixtures" in path.parts and path.suffix in (".json", ".txt"):
            continue
        try:
            text = path.read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{path.relative_to(ROOT)}: {m[0]}" for m in machine.finditer(text)]
    assert found == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import tiktoken", {"tiktoken"}),
        ("def f():\n    import tiktoken", set()),
        ("a = importlib.import_module('tiktoken.core')", {"tiktoken"}),
        ("a = import_module(name)", set()),
        ("class A:\n    import regex", {"regex"}),
        ("if TYPE_CHECKING:\n    import tokenizers", set()),
        ("try:\n    from numpy import array\nexcept ImportError:\n    array = None", {"numpy"}),
    ],
)
def test_the_laws_see_what_they_look_for(
    source: str, expected: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "PACKAGE", tmp_path)
    file = tmp_path / "room.py"
    file.write_text(source, "utf-8")
    assert outside(file, at_import=True) == expected


def test_relative_imports_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "PACKAGE", tmp_path)
    file = tmp_path / "formats" / "gpt2.py"
    file.parent.mkdir()
    file.write_text(
        "from . import Files\nfrom .tiktoken import x\nfrom ..encode import E\n"
        "import_module('..merging', __package__)\nimport_module('bpe_interop.theory.cuts')",
        "utf-8",
    )
    assert {name for name, _ in imports(file)} == {
        ".formats.Files",
        ".formats.tiktoken.x",
        ".encode.E",
        ".merging",
        ".theory.cuts",
    }
    assert rooms_used(file) == {"encode", "merging", "theory"}


@pytest.mark.parametrize(
    ("statement", "needed"),
    [
        ("import bpe_interop.compare", set[str]()),
        ("from bpe_interop.compare import Scope", set()),
        ("from bpe_interop.compare import counts", set()),
        ("from bpe_interop.compare.stress import awkward", {"stress"}),
        ("from bpe_interop.compare.lock import lock", {"lock"}),
    ],
)
def test_verify_imports_what_is_asked_for(statement: str, needed: set[str]) -> None:
    room = "bpe_interop.compare."
    done = subprocess.run(
        [sys.executable, "-c", f"{statement}\nimport sys\nprint(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = {name[len(room) :] for name in done.stdout.split() if name.startswith(room)}
    assert loaded == needed


def test_unit_tests_run_no_engine_that_is_optional() -> None:
    """They are the inner loop; what asks llama.cpp or transformers is in ``tests/engines``."""
    optional = OPTIONAL | {"llamacpp", "llamacpp_server", "mistral"}  # modules of our engines
    for path in sorted((ROOT / "tests" / "unit").glob("test_*.py")):
        text = path.read_text("utf-8")
        if any(name in text for name in optional):  # to parse all files takes seconds
            for node in ast.walk(ast.parse(text)):
                for name in imported(node):
                    assert optional.isdisjoint(name.split(".")), (path.name, name)
