"""The matrix of versions: what it installs, and how it tells of what differs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner

from fixtures import ROOT, TOKENIZERS
from trust import versions as matrix
from trust.matrix import Real
from trust.versions import differ, loading, summary, told
from trust.versions.environments import (
    PACKAGES,
    Environment,
    InstallError,
    Made,
    admitted,
    corners,
    installed,
    make,
    pythons,
    requirements,
    singles,
)
from trust.versions.running import (
    TESTS,
    Outcome,
    read_report,
    run_tests,
    unlike,
    write_directories,
)

PYPROJECT = (ROOT / "pyproject.toml").read_text("utf-8")


def test_bounds_are_those_of_the_project() -> None:
    found = admitted(PYPROJECT)
    # A library more than these is one that is put at its lowest beside an engine that refuses it.
    assert set(found) == {*PACKAGES, "click", "rich", "jinja2"}
    low = Environment("low", "3.10", frozenset(found))
    asked = requirements(low, found)
    assert all("==" in one for one in asked[: len(found)])
    assert "tokenizers==0.22.2" in asked
    newest = requirements(Environment("new", "3.10"), found)
    assert newest[: len(found)] == [*found.values()]
    one = requirements(Environment("one", "3.10", frozenset({"regex"})), found)
    assert [each.partition("==")[0] for each in one if "==" in each] == ["regex"]
    with pytest.raises(ValueError, match="lacks dependencies, engines, transformers"):
        admitted("[project]\n")


def test_every_corner_is_there() -> None:
    found = admitted(PYPROJECT)
    names = [each.name for each in corners(["3.10", "3.13"], found)]
    assert names == ["lowest-3.10", "newest-3.10", "newest-3.13"]
    assert {package for each in singles("3.13") for package in each.lowest} == {*PACKAGES}


def test_this_python_is_found_and_its_libraries() -> None:
    assert pythons()
    here = installed(Path(sys.executable))
    assert here["Python"].startswith(f"3.{sys.version_info.minor}")
    assert set(here) == {"Python", *PACKAGES}


def test_what_cannot_be_installed_is_said(tmp_path: Path) -> None:
    with pytest.raises(InstallError):
        make(Environment("none", "3"), str(tmp_path / "python"), {}, tmp_path)


def test_tests_that_are_run_are_there() -> None:
    assert all((ROOT / name).is_file() for name in TESTS)


@pytest.mark.long
def test_a_failing_test_is_named(tmp_path: Path) -> None:
    test = tmp_path / "test_it.py"
    test.write_text("def test_a():\n    assert 1 == 2\n\ndef test_b():\n    pass\n", "utf-8")
    place = tmp_path / "environment" / "bin"
    place.mkdir(parents=True)
    # A link would be another environment: one without a configuration, so without pytest.
    (place / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', "utf-8")
    (place / "python").chmod(0o755)
    made = Made(Environment("here", "3"), place / "python")
    count, failed = run_tests(made, ["-o", "addopts=", str(test)])
    assert count == 2
    [(name, why)] = failed.items()
    assert name.endswith("::test_a")
    assert "1 == 2" in why
    count, failed = run_tests(made, ["--no-such-option"])
    assert (count, *failed) == (0, "pytest")


def test_reports_are_read() -> None:
    text = (
        '<testsuites><testsuite><testcase classname="tests.a" name="x"/>'
        '<testcase classname="tests.a" name="y"><error message="E: no&#10;more"/></testcase>'
        '<testcase classname="tests.a" name="z"><skipped message="no data"/></testcase>'
        "</testsuite></testsuites>"
    )
    assert read_report(text) == (2, {"tests.a::y": "E: no"})


def test_other_ids_and_errors_are_differences() -> None:
    due = {"a": [[1, 2], [3]], "b": [[1], [2]]}
    same = {name: {"transformers": ids, "tokenizers": ids} for name, ids in due.items()}
    assert unlike(same, due, ["x", "y"]) == {}
    other: dict[str, dict[str, Any]] = {
        "a": {"transformers": [[1, 2], [4]], "tokenizers": [[1, 2], [3]]},
        "b": {"transformers": "KeyError: 'b'", "tokenizers": [[1], [2]]},
    }
    assert unlike(other, due, ["x", "y"]) == {
        "a in transformers": "'y': [4], due are [3]",
        "b in transformers": "KeyError: 'b'",
    }
    assert set(unlike({}, due, ["x", "y"])) == {
        f"{name} in {library}" for name in due for library in ("transformers", "tokenizers")
    }


def test_a_written_directory_is_loaded_as_it_is_due(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    source = TOKENIZERS
    chosen = [
        Real("two words", "template-tiny/huggingface", "huggingface"),
        Real("refused", "drop-tiny/tiktoken", "tiktoken"),
    ]
    due = write_directories(source, tmp_path, chosen[:1])
    assert list(due) == ["two-words"]

    texts = json.loads((tmp_path / "texts.json").read_text("utf-8"))
    found = {"two-words": loading.answers(tmp_path / "two-words", texts)}
    assert unlike(found, due, texts) == {}
    (tmp_path / "two-words" / "tokenizer.json").write_text("{}", "utf-8")
    found = {"two-words": loading.answers(tmp_path / "two-words", texts)}
    assert set(unlike(found, due, texts)) == {
        "two-words in transformers",
        "two-words in tokenizers",
    }


def rows(*differences: dict[str, str]) -> list[tuple[Made, Outcome]]:
    return [
        (
            Made(Environment(f"e{at}", "3.10"), Path("python"), {"tiktoken": "0.12.0"}),
            Outcome(5, 2, each),
        )
        for at, each in enumerate(differences)
    ]


def test_a_difference_is_told_by_name_with_where_it_is() -> None:
    assert not differ(rows({}, {}))
    assert not differ(rows({"x": "1"}, {"x": "2"}))
    assert differ(rows({}, {"x": "1"}))
    assert list(told(rows({}, {}))) == ["Nothing differs."]
    assert list(told(rows({"x": "why"}, {}, {"x": "why", "y": "no"}))) == [
        "- `x`: e0, e2: why",
        "- `y`: e2: no",
    ]
    line = summary(rows({"x": "why"}))[-1]
    assert line == "| e0 |  | 0.12.0 |  |  |  |  |  | 5 | 2 | 1 |"


@pytest.mark.parametrize(("wrong", "code"), [({}, 0), ({"tests.a::b": "it failed"}, 1)])
def test_the_command_runs_each_and_says_what_differs(
    wrong: dict[str, str], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    module: ModuleType = matrix
    monkeypatch.delenv("BPE_INTEROP_DATA", raising=False)
    monkeypatch.setattr(module, "pythons", lambda: {"3.10": "python3.10", "3.12": "python3.12"})
    tried: list[str] = []

    def make_none(environment: Environment, *others: object) -> Made:
        tried.append(environment.name)
        if environment.name == "newest-3.10":
            raise InstallError("ERROR: no such version")
        return Made(environment, Path("python"), {"Python": environment.python})

    monkeypatch.setattr(module, "make", make_none)
    monkeypatch.setattr(module, "run_tests", lambda made: (7, wrong))
    done = CliRunner().invoke(module.versions, ["--only", "newest-3.12"])
    assert (done.exit_code, tried) == (code, ["newest-3.12"])
    assert "| newest-3.12 | 3.12 |" in done.output
    tried.clear()
    done = CliRunner().invoke(module.versions, [])
    assert tried[:3] == ["lowest-3.10", "newest-3.10", "newest-3.12"]
    assert [name.split("-")[0] for name in tried[3:]] == [*PACKAGES]
    assert "- `installing`: newest-3.10: ERROR: no such version" in done.output
    assert done.exit_code == 1
    assert CliRunner().invoke(module.versions, ["--only", "x"]).exit_code == 2
