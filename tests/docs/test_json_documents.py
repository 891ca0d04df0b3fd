"""What ``--json`` prints is what its JSON Schema in docs/schemas says, and docs/json.md lists."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from command_line import in_process
from reports import few_texts
from schemas import BY_LINE, DOCUMENTS, FOLDER, path_of, schema_of, text_of
from transcripts import TRANSCRIPTS, prepare

from bpe_interop.cli import COMMANDS
from fixtures import ROOT, TOKENIZERS

REPORT = ROOT / "bpe_interop" / "reports" / "report.schema.json"
OPEN = {"StepFacts"}
"""Objects that have other keys: the settings of a step."""

CASES = {
    "convert hub new --to tiktoken": "convert",
    "convert pieces new --to gguf --template bos": "convert",
    "convert hub new --to hf --no-verify": "convert",
    "convert hub new --to gpt2 --drop added,pretokenizer --corpus text.txt": "convert",
    "convert hub new --to gpt2": "convert-refused",
    "convert hub new --to gpt2 --corpus text.txt": "convert-refused",
    "decode hub 656 13": "decode",
    "decode hub --lines": "decode",
    "encode hub hello": "encode",
    "encode hub --lines": "encode",
    "encode hub hello --show": "encode-show",
    "encode template hello --show --add-special-tokens": "encode-show",
    "encode hub --lines --show": "encode-show",
    "encode hub 'hello hello' --explain": "encode-explain",
    "encode cl100k '<|endoftext|>' --explain --special parse": "encode-explain",
    "encode template hello --explain --add-special-tokens": "encode-explain",
    "encode hub --lines --explain": "encode-explain",
    "encode hub --corpus text.txt -o ids": "encode-corpus",
    "encode hub --corpus text.txt --corpus abab.txt -o ids --max-length 2 --pack "
    "--validation 0.5": "encode-corpus",
    "explain loss-added": "explain",
    "explain": "explain-codes",
    "extend hub new --special '<|a|>' --token hello --to hf": "extend",
    "extend cl100k new --special '<|fim_prefix|>' --pad '<|endoftext|>'": "extend",
    "fingerprint hub": "fingerprint",
    "formats": "formats",
    "formats --pre": "formats-pre",
    "inspect hub": "inspect",
    "inspect ranks": "inspect",
    "inspect pair": "inspect",
    "inspect pieces": "inspect",
    "inspect cl100k": "inspect",
    "inspect hub cl100k --corpus text.txt --corpus abab.txt": "inspect-corpus",
    "inspect hub --corpus text.txt --state kept": "inspect-corpus",
    "inspect nowhere": "error",
    "verify hub": "error",
    "explain LOSS-aded": "error",
    "lock nowhere": "error",
    "lock hub -o text.txt": "error",
    "view hub": "error",
    "view hub --text long.txt -o page.html": "error",
    "lock hub": "lock",
    "lock ranks -o old.lock": "lock",
    "lock hub -o half.lock": "lock",
    "train text.txt -o new --vocab-size 258 --to minbpe": "train",
    "train text.txt -o new --vocab-size 258 --algorithm huggingface --to hf": "train",
    "verify hub ranks": "verify",
    "verify-shards written": "verify-shards",
    "view hub cl100k --text text.txt -o page.html": "view",
    "view pieces -o page.htm --special parse": "view",
    "view hub --serve --port 0": "view-serve",
}


def strict(schema: dict[str, Any]) -> dict[str, Any]:
    """The same, without keys that it does not name: the published one leaves room for more."""
    closed: dict[str, Any] = json.loads(json.dumps(schema))
    for name, part in closed.get("$defs", {}).items():
        if "properties" in part and name not in OPEN:
            part["additionalProperties"] = False
    return closed


def check(document: Any, name: str) -> None:
    if name == "verify":
        jsonschema.validate(document, json.loads(REPORT.read_text("utf-8")))
        return
    schema = json.loads(path_of(name).read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(document, schema)
    jsonschema.validate(document, strict(schema))


def test_the_schemas_are_those_of_the_types() -> None:
    """``python tests/schemas.py`` writes them."""
    assert {path.name for path in FOLDER.iterdir()} == {path_of(name).name for name in DOCUMENTS}
    assert {
        name for name in DOCUMENTS if path_of(name).read_text("ascii") != text_of(name)
    } == set()


def test_the_page_lists_each() -> None:
    page = (ROOT / "docs" / "json.md").read_text("utf-8")
    linked = re.findall(r"\]\(schemas/([\w-]+)\.json\)", page)
    assert sorted(linked) == sorted(path_of(name).stem for name in DOCUMENTS)


@pytest.mark.parametrize("line", CASES)
def test_a_document_is_as_its_schema_says(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(tmp_path)
    shutil.copytree(TOKENIZERS / "template-tiny" / "huggingface", tmp_path / "template")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("waitress.server.BaseWSGIServer.run", lambda server: None)  # it is endless
    few_texts(monkeypatch)
    with in_process(monkeypatch) as call:
        if "old.lock" in line:
            assert call("lock", "hub", "-o", "old.lock").code == 0
        if "written" in line:
            assert call("encode", "hub", "--corpus", "text.txt", "-o", "written").code == 0
        given = b"[1, 2]\n[3]\n" if line.startswith("decode") else b"a b\n\nc\n"
        done = call(*shlex.split(line), "--json", stdin=given)
    refused = CASES[line] in ("convert-refused", "error")
    assert done.code == (2 if CASES[line] == "error" else 1 if refused else 0), done.err
    document = json.loads(done.out)
    assert document
    check(document, CASES[line])


def test_every_document_is_tried() -> None:
    assert set(CASES.values()) == {*DOCUMENTS, "verify"}
    assert {CASES[line] for line in CASES if "--lines" in line} == BY_LINE
    assert {line.split()[0] for line in CASES if CASES[line] != "error"} == {*COMMANDS}


def documents() -> dict[str, Any]:
    """Those that the transcripts hold, by the commands that print them."""
    found = {}
    for path in sorted(TRANSCRIPTS.glob("*.txt")):
        for block in re.split(r"^\$ ", path.read_text("utf-8"), flags=re.M)[1:]:
            command, _, printed = block.partition("\n")
            if "--json" in command.split():
                lines = [each for each in printed.splitlines() if not re.match(r"!|\[\d\]$", each)]
                found[command] = json.loads("\n".join(lines))
    return found


def named(command: str, document: Any) -> str:
    """The schema of what a command printed."""
    _, name, *words = command.split(" < ")[0].split()
    if isinstance(document, dict) and "error" in document:
        return "error"
    if isinstance(document, dict) and "refused" in document:
        return "convert-refused"
    kinds = [f"{name}-{word[2:]}" for word in words if f"{name}-{word[2:]}" in DOCUMENTS]
    return kinds[0] if kinds else name


def test_the_documents_of_the_transcripts_are_as_their_schemas_say() -> None:
    found = documents()
    assert len(found) >= 10
    for command, document in found.items():
        check(document, named(command, document))


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("encode-show", [{"id": 1, "hex": "61", "text": "a", "characters": [0, 1]}]),
        ("encode", ["1"]),
        ("fingerprint", {"text": "", "specials": "", "template": "", "decoder": "", "all": 1}),
        ("error", {"error": {"code": "", "what": "", "where": "", "fix": "", "more": ""}}),
    ],
)
def test_what_is_missing_or_of_another_kind_is_found(name: str, document: Any) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, strict(schema_of(name)))
