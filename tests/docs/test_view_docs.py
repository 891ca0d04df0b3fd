"""``docs/view.md`` is true: its commands print what it says, and its numbers are the code's."""

from __future__ import annotations

import re
import shlex
import shutil
import signal
import sys
from pathlib import Path

import pytest
from conftest import FIXTURES, ROOT

from bpe_interop.cli import main
from bpe_interop.cli.view import view_command
from bpe_interop.view.live import LIVE_LIMIT
from bpe_interop.view.page import LIMIT

PAGE = (ROOT / "docs" / "view.md").read_text("utf-8")
BLOCKS: list[str] = re.findall(r"^```console\n\$ bpe-interop (.*?)^```$", PAGE, re.S | re.M)


@pytest.mark.parametrize("block", BLOCKS, ids=[block.split()[0] for block in BLOCKS])
def test_commands_print_what_the_page_says(
    block: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    command, _, expected = block.partition("\n")
    shutil.copytree(FIXTURES / "tokenizers" / "cl100k-tiny" / "tiktoken", tmp_path / "my-tok")
    shutil.copytree(FIXTURES / "tokenizers" / "gpt2-tiny" / "tiktoken", tmp_path / "old-tok")
    (tmp_path / "story.txt").write_text("the year 2023\n" * 8, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["bpe-interop", *shlex.split(command)])
    hook, handler = sys.excepthook, signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SystemExit) as done:
            main()
    finally:
        sys.excepthook = hook
        signal.signal(signal.SIGTERM, handler)
    assert done.value.code == 0
    printed = [line.rstrip() for line in capsys.readouterr().out.rstrip().splitlines()]
    assert printed == expected.rstrip().splitlines()


def test_there_are_commands() -> None:
    assert {block.split()[0] for block in BLOCKS} == {"encode", "view", "inspect"}


def test_limits_are_those_of_the_code() -> None:
    assert f"at most {LIMIT:,} bytes" in PAGE
    assert f"up to {LIVE_LIMIT:,} bytes" in PAGE
    port = next(each for each in view_command.params if each.name == "port")
    assert f"port {port.default};" in PAGE
