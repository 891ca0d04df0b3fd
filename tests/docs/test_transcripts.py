"""What commands print is what the transcripts say; ``python tests/transcripts.py`` writes them."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Outcome
from transcripts import TRANSCRIPTS, commands, ended, run

NAMES = sorted(path.stem for path in TRANSCRIPTS.glob("*.txt"))


@pytest.mark.parametrize("name", NAMES)
def test_a_command_prints_what_its_transcript_says(name: str, tmp_path: Path) -> None:
    said = (TRANSCRIPTS / f"{name}.txt").read_text("utf-8")
    assert commands(said)
    assert run(commands(said), tmp_path) == said


def test_what_is_printed_otherwise_is_seen(tmp_path: Path) -> None:
    said = run(['bpe-interop encode ranks "the year"'], tmp_path)
    assert said.startswith('$ bpe-interop encode ranks "the year"\n')
    assert said.count("\n") == 2


def test_what_a_command_leaves_that_fails_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def leaving(*arguments: object, stdin: bytes = b"") -> Outcome:
        Path("left").touch()
        return Outcome(2, "", "")

    with pytest.raises(AssertionError, match="it failed, and left something"):
        ended("bpe-interop train x", leaving)
