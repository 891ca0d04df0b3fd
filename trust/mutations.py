"""Comparisons of the proof removed one by one: does a test see it?

Each ``==``, ``is`` and ``in`` becomes true, each ``!=``, ``is not`` and ``not in`` false, as if
there were no difference; of what ``and`` and ``or`` join, each other condition is left out. Then
the tests run that would see another value there (:mod:`.mutants`). What survives is a comparison
that no test needs. Where nothing needs it, :mod:`.needless` says why it stays.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from fixtures import ROOT

from .needless import NEEDLESS
from .page import made_of, put, table, write_option

_STAGES = (
    "test_prove_conditions.py",
    "test_prove_stages.py",
    "test_prove_decoding.py",
    "test_prove_added.py",
    "test_prove_ids.py",
    "test_prove_affixes.py",
    "test_prove_unused.py",
)
_CORE = (
    "test_equality_conditions.py",
    "test_prove_ids.py",
    "test_prove_affixes.py",
    "test_equality.py",
    "test_prove_conditions.py",
)
_CUTS = (
    "test_prove.py",
    "test_prove_cuts.py",
    "test_prove_conditions.py",
    "test_other_tables.py",
)

MODULES: dict[str, tuple[str, ...]] = {
    "proof.normalizer": (*_STAGES, "test_prove.py"),
    "proof.pretokenizer": _CUTS,
    "proof.merging": ("test_prove_merging.py", *_STAGES, "test_prove.py"),
    "proof.ids": ("test_prove_merging.py", *_STAGES),
    "proof.added_tokens": _STAGES,
    "proof.decoder": _STAGES,
    "theory.cuts": _CUTS,
    "theory.symbol_codes": _CORE,
    "theory.equality": (
        *_CORE,
        "test_prove_decoding.py",
        "test_prove_cuts.py",
        "test_byte_ranks.py",
        "test_rewrite.py",
    ),
    "theory.acting_steps": ("test_acting_steps.py",),
    "theory.added_tokens": (*_STAGES, "test_acting_steps.py", "test_format_tiktoken.py"),
    "theory.rewrite": ("test_rewrite.py", "test_prove_unused.py", "test_prove.py"),
    "theory.byte_ranks": ("test_byte_ranks.py", "test_rewrite.py"),
    "theory.pretokens": ("test_pretokens.py", "test_losses_missing_bytes.py"),
    "theory.spines": ("test_small_systems.py", "test_rewrite.py", *_CORE),
    "theory.contexts": ("test_small_systems.py", *_CORE, "test_rewrite.py", "test_byte_ranks.py"),
    "theory.conflicts": (
        "test_small_systems.py",
        *_CORE,
        "test_prove_unused.py",
        "test_prove_merging.py",
    ),
    "theory.normalizers": (
        *_CUTS,
        "test_prove_unused.py",
        "test_diff.py",
        "test_normalize.py",
        *_STAGES,
    ),
    "theory.automata": ("test_automata.py", *_CUTS),
    "theory.utf8": (
        "test_equality.py",
        "test_losses_missing_bytes.py",
        "test_pretokens.py",
        "test_prove_unused.py",
        "test_prove_ids.py",
    ),
    "theory.splitters": ("test_automata.py", *_CUTS),
    "theory.split_tables": ("test_kernel_encoding.py", "test_misreadings.py"),
    "theory.gaps": ("test_kernel_encoding.py",),
    "proof.prove": (
        "test_prove_decoding.py",
        "test_verify.py",
        "test_prove.py",
    ),
    "theory.user_defined": ("test_prove_unused.py", "test_diff.py", *_STAGES),
    "theory.unused_pieces": (
        "test_prove_unused.py",
        "test_equality.py",
        "test_prove_conditions.py",
        "test_prove_merging.py",
    ),
    "diff": (
        "test_diff.py",
        "test_prove_cuts.py",
        "test_prove_conditions.py",
        "test_other_tables.py",
    ),
    "diff.tokens": ("test_diff.py", "test_diff_engines.py", *_STAGES),
    "fingerprint": ("test_fingerprint.py", "test_prove_cuts.py", "test_prove_affixes.py"),
}
"""Where the proof compares, and the files of the tests that are to see it."""

UNASKED = {
    "theory.composition": (
        "what it composes is decided afterwards (Theorems 14 and 29): a comparison that is wrong "
        "gives no pattern, and never a wrong one"
    ),
    "proof.stage": (
        "it looks for texts, and each that it finds is run again; which stages count in a scope is "
        "held by tests of its own (test_prove)"
    ),
}
"""Modules of theory and proof that stand in no row, and why."""

CHANCE = ("every_verdict", "no_verdict", "random", "fuzz", "real")
"""Tests of random pairs see much, but by chance; tests of real files take long."""


def turned(
    modules: Sequence[str], tests: Sequence[str], *options: str, timeout: float | None = None
) -> dict[str, Any]:
    """What each comparison of modules becomes, and which test sees it first.

    Returns:
        ``rows``: ``module``, ``line``, ``text``, ``value``, ``tests`` (how many would see another
        value), ``seen`` (the test that failed, or nothing); ``failed``: the tests that fail as it
        is.

    Raises:
        click.ClickException: the tests could not be run.
    """
    named = [f"bpe_interop.{module}" for module in modules]
    files = [str(path) for name in tests for path in ROOT.glob(f"tests/*/{name}")]
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder, "result.json")
        command = [sys.executable, "-m", "trust.mutants", str(result)]
        run = subprocess.run(
            [*command, *named, "--", *options, *files],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        if run.returncode or not result.exists():
            raise click.ClickException(f"the tests did not run: {run.stdout}{run.stderr}")
        found: dict[str, Any] = json.loads(result.read_text("utf-8"))
        return found


@click.command()
@click.option("--module", type=click.Choice([*MODULES]), multiple=True, help="Only this module.")
@write_option
def mutations(module: tuple[str, ...], page: Path | None) -> None:
    """Remove each comparison of the proof in turn, and see that a test fails."""
    started = time.monotonic()
    rows: list[list[object]] = []
    survived: list[str] = []
    needless: list[str] = []
    unasked = " or ".join(CHANCE)
    for name in module or MODULES:
        found = turned([name], MODULES[name], "-k", f"not ({unasked})")
        if found["failed"]:
            raise click.ClickException(f"these fail as it is: {', '.join(found['failed'])}")
        known = NEEDLESS.get(name, {})
        unseen = [row for row in found["rows"] if not row["seen"]]
        left = [row for row in unseen if row["key"] not in known]
        listed = len(unseen) - len(left)
        seen = len(found["rows"]) - len(unseen)
        rows.append([name, len(found["rows"]), seen, listed, len(left)])
        survived += [f"- `{name}`, line {row['line']}: `{row['text']}`" for row in left]
        said = {row["key"] for row in unseen if row["key"] in known}
        needless += [f"- `{name}`, `{key}`: {known[key]}" for key in known if key in said]
        click.echo(f"{name}: {len(left)} of {len(found['rows'])} not seen", err=True)
    command = " ".join(("mutations", *(f"--module {name}" for name in module)))
    head = made_of(command, time.monotonic() - started, {})
    lines = [*head, "", *table(["module", "comparisons", "seen", "needless", "not seen"], rows)]
    lines += ["", "Not seen:", "", *survived] if survived else []
    lines += ["", "Needless, as no answer depends on them:", "", *needless] if needless else []
    put(page, "mutations", lines)
    if survived:
        raise SystemExit(1)
