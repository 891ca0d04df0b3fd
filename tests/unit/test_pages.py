"""Reports as JSON, JUnit XML, Markdown and HTML, read back with what reads them elsewhere."""

from __future__ import annotations

import ast
import base64
import hashlib
import json
import pickle
import re
import subprocess
import unicodedata
from collections.abc import Iterator
from dataclasses import fields, replace
from html import unescape
from html.parser import HTMLParser
from importlib import resources
from itertools import chain, pairwise
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from reports import CL100K, GPT2, HOSTILE, example, few_texts, glued, hostile, real

from bpe_interop import reports as pages
from bpe_interop.compare import Report, Scope, counts
from bpe_interop.compare.alignment import align, as_rows
from bpe_interop.compare.corpus_report import CorpusReport, Counts
from bpe_interop.compare.report import Example
from bpe_interop.compare.sentences import next_steps
from bpe_interop.compare.sides import ORDINARY, Mismatch
from bpe_interop.fingerprint import PARTS
from bpe_interop.quoting import show
from bpe_interop.reports.fragments import parts, right_to_left, token_parts
from bpe_interop.reports.markdown import code, plain, shown
from bpe_interop.reports.page import AROUND, COLUMNS, rows

SCHEMA = json.loads(
    resources.files("bpe_interop.reports").joinpath("report.schema.json").read_text("utf-8")
)
TEXTS = st.lists(
    st.characters(exclude_categories=["Cs"])
    | st.sampled_from("<>&\"'|`\\*_[]\n\0\u202e")
    | st.sampled_from([*" :/@.(", "http", "www.", "://", ":x:"]),
    max_size=40,
).map("".join)
LINK = re.compile(r"://|@|(?<![0-9A-Za-z])www\.")
"""What GitHub makes a link of, wherever it stands (GitHub Flavored Markdown, 6.9)."""
EMOJI = re.compile(r":[\w+-]+:", re.ASCII)
"""What GitHub makes a picture of, but not in code."""


class Reports(dict[str, Report]):
    def __repr__(self) -> str:
        return "reports"  # Hypothesis shows it with every example


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Reports:
    folder = tmp_path_factory.mktemp("pages")
    corpus = folder / "corpus.txt"
    corpus.write_text("in the year 2023\nplain words only\nit's 12345 <b>\n", "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        few_texts(patch)
        found = {
            "different": real(GPT2, CL100K, corpus=corpus),
            "proved": real("cl100k-tiny/tiktoken", CL100K, corpus=corpus),
            "tested": real("spm-tiny/sentencepiece", "spm-tiny/huggingface"),
            "scoped": real("template-tiny/huggingface", "template-tiny/huggingface", "ordinary"),
        }
    found["unknown"] = replace(found["tested"], verdict="unknown", compared=0)
    mismatch = Mismatch(ORDINARY, "a  b", (1, 2), (1, 2), ("a  b", "a b"))
    shown = (Example(mismatch, align(mismatch.text, mismatch.ids_a, mismatch.ids_b)),)
    found["decoding"] = replace(found["different"], mismatch=mismatch, examples=shown, matters=())
    found["hostile"] = hostile(found["different"])
    return Reports(found)


KINDS = ("different", "proved", "tested", "scoped", "unknown", "decoding", "hostile")
every_kind = pytest.mark.parametrize("kind", KINDS)


def test_the_fixtures_are_what_they_are_called(reports: Reports) -> None:
    for kind in ("different", "proved", "tested", "unknown"):
        assert reports[kind].verdict == kind
    assert reports["different"].examples
    assert reports["different"].corpus is not None


TEXT_STAGES = ["normalizer", "pre-tokenizer", "core", "lookup", "ids", "decoding"]
COUNTED: dict[Scope, tuple[list[str], list[str]]] = {
    # the stages of two tokenizers, and the parts of a lock file
    "all": (
        [*TEXT_STAGES, "added tokens", "special tokens", "sequence template"],
        ["text", "specials", "template", "decoder"],
    ),
    "ordinary": ([*TEXT_STAGES, "added tokens"], ["text", "specials", "decoder"]),
    "text": (TEXT_STAGES, ["text", "decoder"]),
}


@pytest.mark.parametrize("scope", COUNTED)
def test_what_counts_in_a_scope(reports: Reports, scope: Scope) -> None:
    stages, parts = COUNTED[scope]
    told = pages.as_data(replace(reports["proved"], scope=scope))["stages"]
    assert {each["name"] for each in told if each["counts"]} == {*stages}
    assert {each["name"] for each in told} == {*COUNTED["all"][0]}
    assert {part for part in PARTS if counts(part, scope)} == {*parts, "all"}


# JSON


@pytest.mark.long
@every_kind
def test_the_json_follows_its_schema(reports: Reports, kind: str) -> None:
    text = pages.to_json(reports[kind])
    data = json.loads(text)
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(data, SCHEMA, jsonschema.Draft202012Validator)
    assert data["unstated"] == [*reports[kind].unstated]
    assert data.keys() == SCHEMA["properties"].keys() == {*SCHEMA["required"]}
    assert text.isascii()
    assert all(char == "\n" or char.isprintable() for char in text)
    assert text == pages.to_json(pickle.loads(pickle.dumps(reports[kind])))


def test_the_schema_refuses_other_documents(reports: Reports) -> None:
    data = pages.as_data(reports["different"])
    for wrong in (
        {**data, "verdict": "equal"},
        {**data, "schema": 1},
        {**data, "witness": {"text": "a"}},
        {**data, "stages": [{"name": "core"}]},
        {key: value for key, value in data.items() if key != "assumptions"},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(json.loads(json.dumps(wrong)), SCHEMA)


def test_the_schema_knows_all_that_a_corpus_report_has() -> None:
    tally = SCHEMA["$defs"]["tally"]
    assert [*tally["properties"]] == tally["required"] == [each.name for each in fields(Counts)]
    own = {each.name for each in fields(CorpusReport)}
    assert SCHEMA["$defs"]["corpus"]["properties"].keys() == own | {"kind", "schema"}


def test_the_json_says_what_was_found(reports: Reports) -> None:
    report = reports["hostile"]
    data = json.loads(pages.to_json(report))
    assert report.mismatch is not None
    assert data["witness"]["text"] == report.mismatch.text
    assert tuple(data["witness"]["ids_a"]) == report.mismatch.ids_a
    assert tuple(data["witness"]["ids_b"]) == report.mismatch.ids_b
    assert [each["text"] for each in data["examples"]] == [*HOSTILE]
    assert [each["matters"] for each in data["differences"]][:3] == [*HOSTILE[:3]]
    assert CorpusReport.from_json(json.dumps(data["corpus"])) == report.corpus
    assert json.loads(pages.to_json(reports["decoding"]))["witness"]["decoding"] == ["a  b", "a b"]
    assert json.loads(pages.to_json(reports["decoding"]))["differences"][0]["matters"] is None


# JUnit XML

SHAPE: dict[str, tuple[set[str], set[str], set[str]]] = {
    "testsuites": ({"tests", "failures", "errors"}, {"name", "time"}, {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors", "skipped", "time"},
        set(),
        {"properties", "testcase"},
    ),
    "properties": (set(), set(), {"property"}),
    "property": ({"name", "value"}, set(), set()),
    "testcase": (
        {"name", "classname", "time"},
        set(),
        {"failure", "error", "skipped", "system-out"},
    ),
    "failure": ({"message", "type"}, set(), set()),
    "error": ({"message", "type"}, set(), set()),
    "skipped": ({"message"}, set(), set()),
    "system-out": (set(), set(), set()),
}
"""Of each element what it must have, may have and may hold, as in Jenkins' junit-10.xsd."""


def check_junit(text: str) -> dict[str, list[tuple[str, str, str]]]:
    """Name, outcome and message of each case, by suite."""
    root = ElementTree.fromstring(text.encode("utf-8"))
    assert root.tag == "testsuites"
    for element in root.iter():
        needed, allowed, inside = SHAPE[element.tag]
        assert needed <= {*element.keys()} <= needed | allowed
        assert {child.tag for child in element} <= inside
    found: dict[str, list[tuple[str, str, str]]] = {}
    for suite in root:
        assert next(iter(suite)).tag == "properties"
        cases = [case for case in suite if case.tag == "testcase"]
        found[suite.get("name", "")] = [
            (case.get("name", ""), case[0].tag, case[0].get("message", "")) for case in cases
        ]
    for element, suites in [(root, [*found]), *((s, [s.get("name", "")]) for s in root)]:
        kinds = [kind for name in suites for _, kind, _ in found[name]]
        assert element.get("tests") == str(len(kinds))
        assert element.get("failures") == str(kinds.count("failure"))
        assert element.get("errors") == str(kinds.count("error"))
    return found


@every_kind
def test_junit_has_the_common_shape(reports: Reports, kind: str) -> None:
    cases = check_junit(pages.to_junit(reports[kind]))
    assert [name for name, *_ in cases["verdict"]] == ["verdict"]
    if kind != "hostile":
        stages = [stage.name for stage in reports[kind].stages]
        assert [name for name, *_ in cases["stages"]] == stages
    corpus = reports[kind].corpus
    assert len(cases.get("corpora", [])) == (0 if corpus is None else len(corpus.files))


def test_junit_fails_where_ids_differ(reports: Reports) -> None:
    cases = check_junit(pages.to_junit(reports["different"]))
    (_, kind, message), found = cases["verdict"][0], reports["different"].mismatch
    assert found is not None
    assert kind == "failure"
    assert show(found.text) in message
    for ids in (found.ids_a, found.ids_b):
        assert "[" + " ".join(map(str, ids)) + "]" in message
    outcomes = {name: kind for name, kind, _ in cases["stages"]}
    assert outcomes["core"] == "failure"
    assert outcomes["normalizer"] == "system-out"
    assert [kind for _, kind, _ in cases["corpora"]] == ["failure"]


@pytest.mark.parametrize(
    ("kind", "require", "outcome"),
    [
        ("proved", "proved", "system-out"),
        ("proved", "tested", "system-out"),
        ("tested", "tested", "system-out"),
        ("tested", "proved", "error"),
        ("unknown", "tested", "error"),
        ("decoding", "tested", "failure"),
    ],
)
def test_junit_accepts_what_the_exit_code_does(
    reports: Reports, kind: str, require: str, outcome: str
) -> None:
    text = pages.to_junit(reports[kind], require)
    assert check_junit(text)["verdict"][0][1] == outcome


@every_kind
def test_junit_has_the_notes_of_a_verdict(reports: Reports, kind: str) -> None:
    report = replace(reports[kind], notes=("first note", "second\u202e\nnote"))
    root = ElementTree.fromstring(pages.to_junit(report))
    said = [case.findtext("system-out") or "" for case in root.iter("testcase")]
    assert said[0].splitlines()[-2:] == ["note: first note", "note: second\\u202e\\nnote"]
    assert not any("note: " in each for each in said[1:])


def test_junit_takes_no_interrupted_run_for_a_whole_one(reports: Reports) -> None:
    report = replace(reports["tested"], interrupted=True)
    assert check_junit(pages.to_junit(report))["verdict"][0][1] == "error"


def test_junit_skips_what_is_not_proved_and_what_does_not_count(reports: Reports) -> None:
    cases = check_junit(pages.to_junit(reports["tested"]))["stages"]
    assert ("sequence template", "skipped") in [case[:2] for case in cases]
    scoped = replace(reports["different"], scope="text")
    cases = check_junit(pages.to_junit(scoped))["stages"]
    outcomes = {name: (kind, message) for name, kind, message in cases}
    assert outcomes["special tokens"][0] == "skipped"
    assert "outside the scope" in outcomes["special tokens"][1]
    assert outcomes["core"][0] == "failure"


@settings(max_examples=30)
@given(st.lists(TEXTS, min_size=1, max_size=6))
def test_junit_survives_any_text(reports: Reports, texts: list[str]) -> None:
    found = hostile(reports["different"], tuple(texts))
    cases = check_junit(pages.to_junit(found))
    assert show(texts[0]) in cases["verdict"][0][2]


# Markdown

ALLOWED = {
    *("h2", "h3", "p", "table", "thead", "tbody", "tr", "th", "td", "strong", "code"),
    *("details", "summary", "ul", "li", "blockquote"),
}


class Read(HTMLParser):
    """What a page shows: its tags, its tables' rows, and all its text."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.codes: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.open.append(tag)
        assert {name for name, _ in attrs} <= {"open", "style"}
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
        elif tag == "code":
            self.codes.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "code" in self.open:
            self.codes[-1] += data
        if {"td", "th"} & {*self.open}:
            self.tables[-1][-1][-1] += data


def read_markdown(text: str) -> Read:
    """Reads Markdown as GitHub does, raw HTML and tables included; nothing is a link or emoji."""
    assert not LINK.search(text)
    assert not EMOJI.search(re.sub("<code>.*?</code>", "", text))
    found = Read(MarkdownIt("commonmark", {"html": True}).enable("table").render(text))
    assert {*found.tags} <= ALLOWED
    for table in found.tables:
        assert len(table) > 1
        assert len({len(row) for row in table}) == 1
    return found


@every_kind
def test_markdown_is_made_of_what_it_should_be(reports: Reports, kind: str) -> None:
    text = pages.to_markdown(reports[kind])
    found = read_markdown(text)
    assert "\r" not in text
    stages: list[list[str]] = next(
        (table for table in found.tables if table[0][1] == "stage"), [[]]
    )
    assert len(stages) - 1 == len(reports[kind].stages)
    shown = any(stage.witness is not None for stage in reports[kind].stages)
    assert ("a text" in stages[0]) == shown
    names = {"h2", "table"} | ({"details"} if reports[kind].corpus else set())
    assert names <= {*found.tags}
    listed = [*reports[kind].assumptions, *chain.from_iterable(next_steps(reports[kind]))]
    assert found.tags.count("li") == len(listed)
    assert found.tags.count("blockquote") == len(reports[kind].notes)


@pytest.mark.parametrize("text", ["e\u0340", "it's", "a\tb\\n\n", "\u202e -x", "-- \u00e9"])
def test_a_command_of_a_page_gives_the_text_to_a_shell(reports: Reports, text: str) -> None:
    report = reports["different"]
    assert report.mismatch is not None
    mismatch = replace(report.mismatch, text=text)
    page = pages.to_html(replace(report, a="tiktoken:a", b="tiktoken:b", mismatch=mismatch))
    commands = re.findall(r'<code class="command">(.*?)</code>', page)
    assert len(commands) == 2
    for command in commands:
        typed = unescape(re.sub(r"</?span[^>]*>", "", command))
        script = f'set -- {typed}; printf %s "$4"'
        done = subprocess.run(
            ["bash", "-c", script], check=True, capture_output=True, env={"LC_ALL": "C.UTF-8"}
        )
        assert done.stdout.decode() == text


def test_markdown_counts_one_as_one(reports: Reports) -> None:
    """Of files, documents, bytes and texts."""
    report = reports["different"]
    assert report.corpus is not None
    counts = replace(report.corpus.counts, documents=1, bytes=1, compared=1, differing=1)
    one = replace(report, compared=1, bytes=1, corpus=replace(report.corpus, counts=counts))
    text = pages.to_markdown(one)
    assert "<summary>1 file</summary>" in text
    assert "1 document (1 byte): 1 of 1 differs." in text
    assert "1 text (1 byte) was compared: " in text
    files = dict.fromkeys(("a", "b"), counts)
    two = replace(report, compared=2, bytes=2, corpus=replace(report.corpus, files=files))
    text = pages.to_markdown(two)
    assert "<summary>2 files</summary>" in text
    assert "2 texts (2 bytes) were compared: " in text


def test_markdown_shows_the_witness_and_its_ids(reports: Reports) -> None:
    found = read_markdown(pages.to_markdown(reports["different"]))
    mismatch = reports["different"].mismatch
    assert mismatch is not None
    assert {show(mismatch.text), " ".join(map(str, mismatch.ids_a))} <= {*found.codes}
    assert " ".join(map(str, mismatch.ids_b)) in found.codes


def test_markdown_tells_a_mark_by_its_escape() -> None:
    assert shown("e\u0301") != shown("\u00e9")
    assert "u0301" in shown("e\u0301")


def test_a_page_calls_different_what_the_terminal_calls_so(reports: Reports) -> None:
    assert "<dd>refuted</dd>" not in pages.to_html(reports["different"])


def test_the_page_tells_signs_that_look_alike_apart(reports: Reports) -> None:
    """U+0340 and U+0300 are one to the eye."""
    for text, expected in (("a\u0340", r"a\u0340"), ("a\u0300", r"a\u0300")):
        page = pages.to_html(replace(reports["different"], examples=(example(text),)))
        assert expected in page
    assert "\\u" not in pages.to_html(replace(reports["different"], examples=(example("na"),)))


def test_markdown_keeps_tokens_apart_with_commas(reports: Reports) -> None:
    """HTML shows two spaces as one, so they would be written as escapes."""
    report = replace(reports["different"], examples=(example("Hello world it's 2023"),))
    shown = as_rows(report.examples[0].mismatch.text, report.examples[0].spans, between=", ")
    cells = {cell for _, _, a, b in shown for cell in (a, b)}
    assert any(", " in cell for cell in cells)
    assert cells <= {*read_markdown(pages.to_markdown(report)).codes}


@settings(max_examples=30)
@given(st.lists(TEXTS, min_size=1, max_size=6))
def test_markdown_survives_any_text(reports: Reports, texts: list[str]) -> None:
    found = read_markdown(pages.to_markdown(hostile(reports["different"], tuple(texts))))
    spaced = re.sub(" {2,}", lambda run: "\\x20" * len(run[0]), show(texts[0]))
    assert spaced in found.codes


@pytest.mark.parametrize(
    ("text", "words", "letters"),
    [
        ("core: a/b", "core: a/b", "core: a/b"),
        ("/data/x-1 (a.gguf)", "&#47;data/x-1 (a.gguf)", "/data/x-1 (a.gguf)"),
        ("\"a\" + 'b' = 1; c", "&#34;a\" + 'b' = 1; c", "\"a\" + 'b' = 1; c"),
        ("tiktoken:gpt2", "tiktoken&#58;gpt2", "tiktoken:gpt2"),
        (":smile: a", "&#58;smile: a", ":smile: a"),
        ("a:smile:", "a&#58;smile&#58;", "a:smile:"),
        ("http://x", "http&#58;&#47;&#47;x", "http&#58;&#47;&#47;x"),
        ("a //x", "a /&#47;x", "a /&#47;x"),
        ("a www.x", "a www&#46;x", "a www&#46;x"),
        ("a_b @c", "a&#95;b &#64;c", "a&#95;b &#64;c"),
    ],
)
def test_markdown_is_readable_as_it_is(text: str, words: str, letters: str) -> None:
    """What cannot be a link, or an emoji outside code, is written as it is."""
    assert plain(text) == words
    assert code(text) == f"<code>{letters}</code>"


def test_markdown_stays_below_what_github_takes(reports: Reports) -> None:
    source = reports["hostile"].examples[0].source
    long = example("ab1 " * 400, source)
    report = replace(
        hostile(reports["different"]),
        examples=(long,) * 60,
        notes=("|" * 5000,) * 10,
        scopes=("\u202e" * 5000,) * 10,
    )
    text = pages.to_markdown(report)
    assert text.count("<summary>59 more texts") == 0  # not all of them fit
    assert len(text.encode("utf-8")) < 2**20
    assert "more are in the JSON report" in text
    read_markdown(text)


# HTML


def read_html(text: str) -> ElementTree.Element:
    """The page, which holds nothing that runs, and nothing from elsewhere."""
    assert text.startswith("<!DOCTYPE html>\n")
    root = ElementTree.fromstring(text.encode("utf-8"))
    for element in root.iter():
        assert element.tag not in ("script", "iframe", "object", "embed", "form", "base", "img")
        for name, value in element.items():
            assert not name.startswith("on")
            assert name not in ("style", "src", "action", "formaction", "srcdoc")
            if name == "href":
                assert value.startswith("#" if element.tag == "a" else "data:image/svg+xml,")
    style = "".join(each.text or "" for each in root.iter("style"))
    assert not re.search(r"url\(|@import|[<&]", style)
    digest = base64.b64encode(hashlib.sha256(style.encode("utf-8")).digest()).decode("ascii")
    policy = next(m.get("content", "") for m in root.iter("meta") if m.get("http-equiv"))
    assert policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; ")
    assert "unsafe" not in policy
    return root


def classes(element: ElementTree.Element) -> list[str]:
    return element.get("class", "").split()


def of_class(root: ElementTree.Element, name: str) -> Iterator[ElementTree.Element]:
    return (element for element in root.iter() if name in classes(element))


def said(element: ElementTree.Element) -> str:
    """The text that an element shows, characters that are named put back."""
    if "mark" in classes(element):
        return chr(int(element.get("title", "")[2:].split()[0], 16)) + (element.tail or "")
    if "none" in classes(element):
        return element.tail or ""
    inner = (element.text or "") + "".join(map(said, element))
    return inner + (element.tail or "")


@every_kind
def test_the_page_is_whole_and_closed(reports: Reports, kind: str) -> None:
    report = reports[kind]
    root = read_html(pages.to_html(report))
    assert root.get("class") == report.verdict
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(ids) == len({*ids})
    for element in root.iter():
        assert element.get("aria-labelledby", ids[0]) in ids
        assert element.get("href", "#" + str(ids[0]))[1:] in ids or element.tag == "link"
    levels = [int(e.tag[1]) for e in root.iter() if e.tag in ("h1", "h2", "h3")]
    assert levels[0] == 1
    assert all(later - level <= 1 for level, later in pairwise(levels))


@every_kind
def test_no_two_words_of_the_page_are_glued(reports: Reports, kind: str) -> None:
    assert glued(pages.to_html(reports[kind])) == []


def test_the_page_says_what_was_found(reports: Reports) -> None:
    root = read_html(pages.to_html(reports["proved"]))
    assert "".join(root.itertext()).count("Proved equal") == 2  # title and heading
    words = [each.text for each in of_class(root, "outcome")]
    assert words.count("proved") == len(reports["proved"].stages)
    listed = [each.text for each in next(of_class(root, "assumptions"))]
    assert listed == [*reports["proved"].assumptions]
    root = read_html(pages.to_html(reports["different"]))
    report = reports["different"]
    assert report.mismatch is not None
    assert shown_texts(root)[0] == report.mismatch.text
    ids = [int(each.text or "") for each in of_class(next(of_class(root, "rows")), "id")]
    assert sorted(ids) == sorted(report.mismatch.ids_a + report.mismatch.ids_b)


def test_the_page_counts_what_differs(reports: Reports) -> None:
    """Of the texts, of all corpora, and of each file; no two of the numbers are the same."""
    report = reports["different"]
    assert report.corpus is not None
    [(name, counts)] = report.corpus.files.items()
    files = {name: replace(counts, differing=1_003), "other.txt": replace(counts, differing=2_004)}
    total = replace(report.corpus.counts, differing=3_007)
    corpus = replace(report.corpus, counts=total, files=files)
    root = read_html(pages.to_html(replace(report, differing=4_005, corpus=corpus)))
    told = [
        value.text
        for part in root.iter("div")
        for label, value in zip(part.findall("dt"), part.findall("dd"), strict=True)
        if label.text == "differ"
    ]
    cells = [each.text for each in root.iter("td") if each.get("data-label") == "differ"]
    assert (told, cells) == (["4,005", "3,007"], ["1,003", "2,004"])


def shown_texts(root: ElementTree.Element) -> list[str]:
    found = []
    for each in of_class(root, "large"):
        each.tail = None
        found.append(said(each).replace("\u25cc", "", 1))
    return found


def expected(text: str) -> str:
    return text[:400].replace("\u25cc", "", 1)


@settings(max_examples=30)
@given(st.lists(TEXTS, min_size=1, max_size=6))
def test_the_page_survives_any_text(reports: Reports, texts: list[str]) -> None:
    root = read_html(pages.to_html(hostile(reports["different"], tuple(texts))))
    assert shown_texts(root) == list(map(expected, texts))
    for element in root.iter():
        for text in (element.text, element.tail, *element.attrib.values()):
            assert "\u202e" not in (text or "")


def test_the_page_shows_hostile_texts(reports: Reports) -> None:
    root = read_html(pages.to_html(reports["hostile"]))
    assert shown_texts(root) == list(map(expected, HOSTILE))
    assert "49" not in [each.text for each in root.iter("h3")]


# Texts and tokens


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a b", ["a", " ", "b"]),
        ("\n\t\0", ["LF", "TAB", "NUL"]),
        ("x\u202ey", ["x", "U+202E", "y"]),
        ("\U0001f468\u200d\U0001f469", ["\U0001f468\u200d\U0001f469"]),
        ("\u2764\ufe0f\u200d\U0001f525", ["\u2764\ufe0f\u200d\U0001f525"]),
        ("a\u200db\ufe0f", ["a", "ZWJ", "b", "VS16"]),
        ("e\u0301", ["e\u0301"]),
        ("\u0301", ["\u25cc\u0301"]),
        ("\u3164\u00a0\ue000", ["U+3164", "NBSP", "U+E000"]),
    ],
)
def test_what_is_not_seen_is_named(text: str, names: list[str]) -> None:
    assert [part.text for part in parts(text)] == names


@given(TEXTS)
def test_every_part_is_seen(text: str) -> None:
    for part in parts(text):
        kept = part.text.replace("\u200d", "").replace("\ufe0f", "")
        assert kept.isprintable()
        if part.kind == "mark":
            code = int(part.name[2:].split()[0], 16)
            assert chr(code) in text
            assert unicodedata.name(chr(code), "").lower() in part.name


@given(st.binary(max_size=6) | TEXTS.map(lambda text: text.encode("utf-8")))
def test_tokens_are_read_back_from_how_they_are_shown(token: bytes) -> None:
    literal = ast.literal_eval(show(token))
    assert token == (literal.encode("utf-8") if isinstance(literal, str) else literal)


def test_a_line_feed_is_told_from_a_backslash() -> None:
    for content, names in ((b"\n", ["LF"]), (b"\\n", ["\\n"])):
        assert [part.text for part in token_parts(show(content))] == names
    assert [part.text for part in token_parts("b' \\xe2a'")] == [" ", "E2", "a"]


def ids_of(found: Any, side: int) -> list[int]:
    return [t.id for column in found.columns if column.cells for t in column.cells[side].tokens]


@given(TEXTS)
def test_rows_have_all_ids_in_order(text: str) -> None:
    one = example(text)
    found = rows(one)
    if not found.more and not any(column.alike for column in found.columns):
        assert ids_of(found, 0) == [*one.mismatch.ids_a]
        assert ids_of(found, 1) == [*one.mismatch.ids_b]
    for column in found.columns:
        if column.equal and column.cells:
            assert column.cells[0].tokens == column.cells[1].tokens


def test_neighbours_have_other_colours() -> None:
    cells = [cell for column in rows(example("don't you")).columns for cell in column.cells]
    assert max(len(cell.tokens) for cell in cells) > 1
    for cell in cells:
        assert all(one.colour != two.colour for one, two in pairwise(cell.tokens))
    found = rows(example("plain")).columns
    pairs = pairwise(column.cells[0].tokens[0].colour for column in found)
    assert all(one != two for one, two in pairs)


def test_long_rows_are_cut_around_what_differs() -> None:
    found = rows(example("a" * 1000 + "12345" + "b" * 1000))
    gaps = [column.alike for column in found.columns if column.alike]
    assert len(gaps) == 2
    assert len(found.columns) <= 2 + 2 * AROUND + 3
    assert found.cut == "the first 400 of 2,005 characters"
    long = rows(example("2023 " * 500))
    assert len(long.columns) == COLUMNS
    assert long.more > 0


def test_rows_follow_the_direction_of_their_text() -> None:
    assert right_to_left("12 שלום abc")
    assert not right_to_left("abc שלום")
    assert not right_to_left("123 \u202e")
    assert rows(example("שלום")).right_to_left


def test_a_span_that_no_token_stands_for_is_shown_as_text(reports: Reports) -> None:
    dropping = next(each for each in HOSTILE if each)
    one = example(dropping)
    spans = tuple(replace(s, ids_a=(), ids_b=(), tokens_a=(), tokens_b=()) for s in one.spans)
    report = replace(reports["different"], examples=(Example(one.mismatch, spans),))
    shown = next(of_class(read_html(pages.to_html(report)), "rows"))
    assert "no token" in "".join(shown.itertext())
