"""Pages that show tokens, written and served, without a browser (browser.py has one)."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from dataclasses import replace
from functools import partial
from html import unescape
from html.parser import HTMLParser
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from command_line import Command
from hypothesis import given, settings
from hypothesis import strategies as st
from reports import HOSTILE, glued
from tokenizers import Tokenizer as Engine
from werkzeug.test import Client, TestResponse

from bpe_interop.errors import SourceError, TargetError
from bpe_interop.limits import PAGE_TOKENIZERS
from bpe_interop.model import AddedToken, BPEModel, Fallback, PairList, Vocab
from bpe_interop.sources import load_source
from bpe_interop.view.chats import read_chat
from bpe_interop.view.live import BODY_LIMIT, LIVE_LIMIT, LivePage, how_merged, listen
from bpe_interop.view.page import sheet, shortest, to_view
from bpe_interop.view.panels import Panel, Viewed, chat_panels, panels
from fixtures import TOKENIZERS

NAMES = ("gpt2-tiny/huggingface", "cl100k-tiny/huggingface", "spm-tiny/huggingface")
SIDES = [Viewed.of(name, load_source(TOKENIZERS / name).model) for name in NAMES]
HOST = "127.0.0.1:8765"
TEXT = "The year 2023,\n\n\t\u05e9\u05dc\u05d5\u05dd \u65e5 <b>"


def read(path: str) -> Engine:
    return Engine.from_file(str(TOKENIZERS / path / "tokenizer.json"))


def tiles(panel: Panel) -> list[int]:
    return [tile.id for line in panel.lines for tile in line.tiles]


def marked(panel: Panel, mark: str) -> list[int]:
    return [tile.id for line in panel.lines for tile in line.tiles if tile.mark == mark]


class Elements(HTMLParser):
    """The elements of a page or of a part of one, and all attributes in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs


# Panels.


TURNS = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"


def chatting(template: str) -> Viewed:
    model = load_source(TOKENIZERS / NAMES[1]).model
    added = tuple(
        AddedToken(text, 5000 + number)
        for number, text in enumerate(("<|im_start|>", "<|im_end|>"))
    )
    return Viewed.of("chat", replace(model, added=added, chat_template=template))


CHAT = '[{"role": "user", "content": " a <|im_end|> b "}, {"role": "x", "content": "c"}]'


@pytest.mark.parametrize("template", [TURNS, TURNS.replace("m.content", "m.content | trim")])
def test_special_tokens_that_a_message_holds_are_marked(template: str) -> None:
    [panel] = chat_panels([chatting(template)], read_chat(CHAT), LIVE_LIMIT)
    special = [t for line in panel.lines for t in line.tiles if t.id >= 5000]
    assert [tile.injected for tile in special] == [False, True, False, False, False]
    assert panel.injected == 1


def test_whose_a_special_token_is_cannot_be_told_where_the_template_changes_messages() -> None:
    without = TURNS.replace("m.content", "m.content | replace('<|im_end|>', '')")
    [panel] = chat_panels([chatting(without)], read_chat(CHAT), LIVE_LIMIT)
    assert panel.injected is None
    [panel] = chat_panels(
        [chatting(without)], read_chat(CHAT.replace("<|im_end|>", "")), LIVE_LIMIT
    )
    assert panel.injected == 0


def test_where_vocabularies_number_tokens_otherwise_not_all_are_marked() -> None:
    first = SIDES[0]
    model = first.encoder.model
    ids = {token: number + 1 for token, number in model.vocab.ids.items()}
    shifted = replace(model, vocab=Vocab(ids), added=())
    same, other = panels([first, Viewed.of("shifted", shifted)], "the year of the cat")
    assert other.renumbered
    assert other.other == other.tokens
    assert not marked(other, "other")
    assert not marked(same, "other")


def test_panels_have_the_ids_of_the_reference() -> None:
    for panel, name in zip(panels(SIDES, TEXT), NAMES, strict=True):
        expected = read(name).encode(TEXT, add_special_tokens=False).ids
        assert tiles(panel) == expected
        assert panel.tokens == len(expected)
        assert panel.per_token == f"{len(TEXT.encode()) / len(expected):.2f}"


def test_a_line_ends_behind_a_line_feed_and_has_its_own_direction() -> None:
    """The browser finds the direction, as of any text (tests/engines/browser_view.py)."""
    text = "ab\n\u05e9\u05dc cd\nef"
    assert len(panels(SIDES[:1], text)[0].lines) == 3
    assert to_view(SIDES[:1], text).count('<p dir="auto">') == 3


def test_what_differs_is_marked() -> None:
    def side(name: str, pairs: list[tuple[bytes, bytes]], shift: int) -> Viewed:
        tokens = [b"a", b"b", b"c", *(x + y for x, y in pairs)]
        ids = {token: n + (shift if len(token) > 1 else 0) for n, token in enumerate(tokens)}
        model = BPEModel(Vocab(ids), PairList(tuple(pairs)), normalizer=(), pretokenizer=())
        return Viewed.of(name, model)

    ab, bc = (b"a", b"b"), (b"b", b"c")
    first, same, moved, cut = panels(
        [side("1", [ab], 0), side("2", [ab], 0), side("3", [ab], 5), side("4", [bc], 9)], "abcc"
    )
    assert (tiles(first), tiles(cut)) == ([3, 2, 2], [0, 12, 2])
    assert (same.cut, same.other) == (0, 0)
    assert (moved.cut, moved.other, marked(moved, "other")) == (0, 1, [8])
    assert (cut.cut, cut.other, marked(cut, "cut")) == (2, 0, [0, 12])
    assert (first.cut, marked(first, "cut")) == (0, [3, 2])
    where = [tile.where for line in first.lines for tile in line.tiles]
    assert where == [("3", "4"), ("4",), ()]
    assert not [tile.where for line in cut.lines for tile in line.tiles if tile.where]


def test_how_many_tokens_differ_is_told_beside_how_many_there_are() -> None:
    page = re.sub(r"<[^>]+>", "", to_view([SIDES[0], SIDES[2]], TEXT))
    other = panels([SIDES[0], SIDES[2]], TEXT)[1]
    assert other.cut == len(marked(other, "cut")) > 1
    assert f"cut differently {other.cut} of {other.tokens}" in page


def test_a_place_without_a_token_is_told() -> None:
    ids = {b"a": 0, b"b": 1}
    whole = BPEModel(Vocab(ids), PairList(()), normalizer=(), pretokenizer=())
    part = BPEModel(
        Vocab({b"a": 0}),
        PairList(()),
        fallback=Fallback("drop"),
        normalizer=(),
        pretokenizer=(),
    )
    sides = [Viewed.of("1", whole), Viewed.of("2", part)]
    other = panels(sides, "aba")[1]
    assert (other.cut, other.missed) == (0, 1)
    assert "places without a token" in to_view(sides, "aba")
    assert "places without a token" not in to_view(sides, "a")


def test_twins_stand_for_the_same_part_of_the_text() -> None:
    """Parts end where every panel has a cut; the letters of a part are the same in each."""
    found = panels(SIDES, TEXT)
    parts: list[dict[int | None, bytes]] = []
    for panel, side in zip(found, SIDES, strict=True):
        parts.append({})
        for tile in (tile for line in panel.lines for tile in line.tiles):
            content = side.encoder.token_bytes(tile.id).replace("\u2581".encode(), b" ")
            parts[-1][tile.twin] = parts[-1].get(tile.twin, b"") + content
    first, second, third = parts
    assert first == second
    assert {part: content.lstrip() for part, content in third.items()} == {
        part: content.lstrip() for part, content in first.items()
    }
    assert len(first) > 15
    alone = panels(SIDES[:1], TEXT)[0]
    assert {tile.twin for line in alone.lines for tile in line.tiles} == {None}


def test_a_text_without_encoding_says_so() -> None:
    model = BPEModel(Vocab({b"a": 0}), PairList(()), normalizer=(), pretokenizer=())
    first, other = panels([SIDES[0], Viewed.of("a only", model)], "ab")
    assert first.tokens
    assert not marked(first, "cut")
    assert "no encoding" in other.error


# The page of one text.


def test_a_page_says_how_special_tokens_were_read() -> None:
    text, parsed = (
        re.sub(r"<[^>]+>", "", to_view(SIDES[:1], TEXT, each)) for each in ("text", "parse")
    )
    assert "Special tokens in the text are read as ordinary text" in text
    assert "Special tokens in the text are read as tokens" in parsed


def test_a_page_is_well_formed_and_needs_nothing_else() -> None:
    page = to_view(SIDES, TEXT)
    ElementTree.fromstring(page.removeprefix("<!DOCTYPE html>"))
    found = Elements(page)
    assert not {"img", "iframe", "form"} & {*found.tags}
    assert found.tags.count("script") == 1
    own = page.partition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(own.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in page
    assert [value for name, value in found.attributes if name in ("src", "action")] == []
    links = [value or "" for name, value in found.attributes if name == "href"]
    assert [link.partition(",")[0] for link in links] == ["data:image/svg+xml", "#panels"]
    assert "default-src 'none'" in page
    for panel, name in zip(panels(SIDES, TEXT), NAMES, strict=True):
        assert f"<bdi>{name.replace('/', '/<wbr/>')}</bdi>" in page
        assert f"<dd>{panel.tokens:,}</dd>" in page


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_becomes_markup(text: str) -> None:
    page = to_view([*SIDES[:2], Viewed.of(text, SIDES[0].encoder.model)], text)
    ElementTree.fromstring(page.removeprefix("<!DOCTYPE html>"))
    found = Elements(page)
    assert found.tags.count("script") == 1
    assert "img" not in found.tags
    first, second = panels(SIDES[:2], text)
    tokens = 2 * first.tokens + second.tokens
    assert [found.tags.count(tag) for tag in ("b", "i")] == [tokens, tokens]
    assert [name for name, _ in found.attributes if name.startswith("on")] == []
    assert "\u202e" not in page
    assert "\x1b" not in page


@given(st.text(max_size=20))
@settings(max_examples=60)
def test_any_text_can_be_shown(text: str) -> None:
    ElementTree.fromstring(to_view(SIDES, text).removeprefix("<!DOCTYPE html>"))


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (
            ["/data/llama/tokenizer.json", "/data/qwen/tokenizer.json"],
            "llama/tokenizer.json qwen/tokenizer.json",
        ),
        (["a/my-tok/", "old-tok"], "my-tok old-tok"),
        (["x/tok", "y/tok", "tiktoken:gpt2"], "x/tok y/tok tiktoken:gpt2"),
        (["hf:org/a", "hf:org/b"], "hf:org/a hf:org/b"),
        (["tok", "a/tok"], "tok a/tok"),
        (["a/tok", "a/tok"], "tok tok"),
        (["/deep/down/tok"], "tok"),
    ],
)
def test_titles_are_the_shortest_names_that_differ(names: list[str], shown: str) -> None:
    assert " ".join(shortest(names)) == shown


def test_a_text_too_long_for_a_page_is_refused() -> None:
    assert to_view(SIDES[:1], "\xe9" * 10)
    with pytest.raises(SourceError, match=r"100,002 bytes; a page shows at most 100,000"):
        to_view(SIDES[:1], "\xe9" * 50_001)


# The live page.


@pytest.fixture(scope="module")
def client() -> Client:
    return Client(LivePage(SIDES, {HOST}))


def ask(client: Client, path: str, sent: Any, **more: Any) -> TestResponse:
    return client.post(path, json=sent, headers={"Host": HOST} | more.pop("headers", {}), **more)


def get(client: Client, path: str, **headers: str) -> TestResponse:
    return client.get(path, headers={"Host": HOST, **headers})


def test_the_live_page_and_its_script(client: Client) -> None:
    page = get(client, "/")
    assert page.status_code == 200
    found = Elements(page.text)
    loaded = [value for name, value in found.attributes if name == "src"]
    assert loaded == ["/tokens.js", "/view.js"]
    assert [name for name, _ in found.attributes if name.startswith("on")] == []
    for path in loaded:
        script = get(client, str(path))
        assert script.mimetype == "text/javascript"
        assert "innerHTML" not in script.text


@pytest.mark.parametrize("path", ["/", "/view.js", "/tokens.js", "/nothing", "/tokens"])
def test_every_answer_is_guarded(client: Client, path: str) -> None:
    headers = get(client, path).headers
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'; script-src 'self'; style-src 'sha256-" in policy
    assert "unsafe" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert not [name for name, _ in headers if name.startswith("Access-Control")]


def test_tokens_of_a_typed_text(client: Client) -> None:
    answer = ask(client, "/tokens", {"text": TEXT})
    assert (answer.status_code, answer.mimetype) == (200, "text/html")
    for panel in panels(SIDES, TEXT):
        for tile in (tile for line in panel.lines for tile in line.tiles):
            assert f"<i>{tile.id}</i>" in answer.text
    assert ask(client, "/tokens", {"text": ""}).text.count("no tokens") == 3
    assert ask(client, "/tokens", {"text": "\ud800"}).status_code == 200


def test_special_tokens_are_parsed_when_asked_for(client: Client) -> None:
    special = next(t for t in SIDES[1].encoder.model.added or () if t.special)
    small = f"<i>{special.id}</i>"
    assert small not in ask(client, "/tokens", {"text": special.text}).text
    assert small in ask(client, "/tokens", {"text": special.text, "special": True}).text


def test_how_a_token_was_merged(client: Client) -> None:
    ids = read(NAMES[2]).encode("the\u65e5", add_special_tokens=False).ids
    answer = ask(client, "/merges", {"text": "the\u65e5", "side": 2, "token": 0})
    assert f'<span class="id">{ids[0]}</span>' in answer.text
    assert answer.text.count("<tr><td") == 3  # "\u2581t", "he", "\u2581the"
    missing = ask(client, "/merges", {"text": "the\u65e5", "side": 2, "token": len(ids) - 1})
    assert "becomes the tokens of its bytes" in unescape(missing.text)


def test_only_what_became_the_token_is_told() -> None:
    """Of a pretoken with other tokens, and of characters that share a byte."""
    text = "the he\u65e5\u672c"
    panel = panels(SIDES, text)[2]
    found, first = how_merged(SIDES[2], text, 0, "text")
    assert [merge.token for merge in first.merges] == [b"\xe2\x96\x81t", b"he", b"\xe2\x96\x81the"]
    assert not first.replaced
    assert len(found.ids) == panel.tokens
    for at, symbol in ((-6, "\u65e5"), (-3, "\u672c")):
        last = how_merged(SIDES[2], text, panel.tokens + at, "text")[1]
        assert last.content == b"\xe6"
        assert [each.symbol.decode() for each in last.replaced] == [symbol]
        assert not last.merges


def test_every_token_can_be_asked_about(client: Client) -> None:
    for side, panel in enumerate(panels(SIDES, TEXT)):
        for at, number in enumerate(tiles(panel)):
            answer = ask(client, "/merges", {"text": TEXT, "side": side, "token": at})
            assert answer.status_code == 200
            assert f'<span class="id">{number}</span>' in answer.text


@pytest.mark.parametrize("text", HOSTILE)
def test_no_typed_text_becomes_markup(client: Client, text: str) -> None:
    plain = Elements(ask(client, "/tokens", {"text": "a b\t\n\u05d0 a"}).text)
    found = Elements(ask(client, "/tokens", {"text": text}).text)
    assert {*found.tags} <= {*plain.tags, "p"}
    assert {name for name, _ in found.attributes} <= {name for name, _ in plain.attributes}
    if text:
        answer = ask(client, "/merges", {"text": text, "side": 0, "token": 0})
        assert not {"script", "img", "style"} & {*Elements(answer.text).tags}


@pytest.mark.parametrize(
    ("host", "status"),
    [(HOST, 200), ("evil.example", 421), ("127.0.0.1", 421), ("127.0.0.1:80", 421), ("", 421)],
)
def test_only_its_own_name_is_answered(client: Client, host: str, status: int) -> None:
    assert get(client, "/", Host=host).status_code == status
    sent = ask(client, "/tokens", {"text": "a"}, headers={"Host": host})
    assert sent.status_code == status


@pytest.mark.parametrize(
    ("path", "sent", "status"),
    [
        ("/tokens", {}, 400),
        ("/tokens", [], 400),
        ("/tokens", {"text": 1}, 400),
        ("/tokens", {"text": "a" * (LIVE_LIMIT + 1)}, 413),
        ("/tokens", {"text": "a" * BODY_LIMIT}, 413),
        ("/merges", {"text": "a"}, 400),
        ("/merges", {"text": "a", "side": 9, "token": 0}, 400),
        ("/merges", {"text": "a", "side": -1, "token": 0}, 400),
        ("/merges", {"text": "a", "side": True, "token": 0}, 400),
        ("/merges", {"text": "a", "side": 0, "token": 7}, 422),
        ("/tokens", {"text": "a", "sides": []}, 400),
        ("/tokens", {"text": "a", "sides": [0] * 99}, 400),
        ("/tokens", {"text": "a", "sides": [3]}, 400),
        ("/tokens", {"text": "a", "sides": [True]}, 400),
        ("/tokens", {"text": "no chat", "chat": True}, 422),
        ("/merges", {"text": "[]", "chat": True, "side": 0, "token": 0}, 422),
        ("/add", {"source": "x"}, 404),
        ("/nothing", {"text": "a"}, 404),
        ("/", {"text": "a"}, 405),
    ],
)
def test_what_makes_no_sense_is_refused(client: Client, path: str, sent: Any, status: int) -> None:
    answer = ask(client, path, sent)
    assert (answer.status_code, answer.mimetype) == (status, "text/plain")


def test_the_tokenizers_that_are_asked_for_stand_in_that_order(client: Client) -> None:
    answer = ask(client, "/tokens", {"text": "a", "sides": [2, 0]}).text
    found = [value for name, value in Elements(answer).attributes if name == "data-side"]
    assert found == ["2", "0"]


def loading(source: str, preset: str | None) -> Viewed:
    return Viewed.of(source, load_source(source, preset=preset).model)


def test_a_tokenizer_is_added_once() -> None:
    client = Client(LivePage(SIDES[:1], {HOST}, loading))
    sent = {"source": str(TOKENIZERS / NAMES[1])}
    for _ in range(2):
        assert ask(client, "/add", sent).get_json() == {"side": 1, "label": sent["source"]}
    shown = ask(client, "/tokens", {"text": TEXT, "sides": [1]}).text
    expected = read(NAMES[1]).encode(TEXT, add_special_tokens=False).ids
    assert list(map(int, re.findall(r"<i>(\d+)</i>", shown))) == expected
    assert "cl100k-tiny" in get(client, "/").text
    # The panels of the command stay what they are.
    assert "cl100k-tiny" not in ask(client, "/tokens", {"text": "a"}).text


@pytest.mark.parametrize(
    ("sent", "status", "said"),
    [
        ({"source": "nowhere"}, 422, "nowhere"),
        ({"source": ""}, 422, "names no tokenizer"),
        ({"source": 1}, 400, "send a source"),
        ({"source": "x", "preset": 1}, 400, "send a source"),
        ({"source": str(TOKENIZERS / NAMES[1]), "preset": "nothing"}, 422, "no preset"),
        ({}, 400, "send a source"),
    ],
)
def test_what_cannot_be_added_says_why(sent: dict[str, object], status: int, said: str) -> None:
    client = Client(LivePage(SIDES[:1], {HOST}, loading))
    answer = ask(client, "/add", sent)
    assert (answer.status_code, answer.mimetype) == (status, "text/plain")
    assert said in answer.text
    evil = ask(client, "/add", sent, headers={"Host": "evil.example"})
    assert evil.status_code == 421


def test_live_panels_have_the_shortest_names_and_links_whole_ones() -> None:
    paths = ["/a/b/one/tokenizer.json", "/a/b/two/tokenizer.json"]
    sides = [replace(side, label=path) for side, path in zip(SIDES, paths, strict=False)]
    client = Client(LivePage(sides, {HOST}))
    for sent in (None, {"text": "a"}):
        page = get(client, "/").text if sent is None else ask(client, "/tokens", sent).text
        assert "one/" in page
        assert "b/one/" not in re.sub(r'data-known="[^"]*"', "", page)
    assert all(path in get(client, "/").text for path in paths)


def test_no_more_are_added_than_a_page_shows() -> None:
    given = SIDES[:1] * PAGE_TOKENIZERS.most
    client = Client(LivePage(given, {HOST}, loading))
    answer = ask(client, "/add", {"source": str(TOKENIZERS / NAMES[1])})
    assert (answer.status_code, "PAGE_TOKENIZERS" in answer.text) == (409, True)


def test_none_is_added_from_another_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page at an address that others reach must not open files by names that they send."""
    made: list[object] = []
    monkeypatch.setattr(
        "bpe_interop.view.live.LivePage", lambda sides, hosts, load: made.append(load)
    )
    monkeypatch.setattr("waitress.server.create_server", lambda *_, **__: None)
    for host in ("127.0.0.1", "127.0.0.2"):
        listen(SIDES, host, load=loading)
    assert made == [loading, None]


def test_only_json_is_read(client: Client) -> None:
    headers = {"Host": HOST}
    form = client.post("/tokens", data={"text": "a"}, headers=headers)
    plain = client.post("/tokens", data=b'{"text": "a"}', headers=headers)
    broken = client.post("/tokens", data=b"{", mimetype="application/json", headers=headers)
    deep = client.post("/tokens", data=b"[" * 9000, mimetype="application/json", headers=headers)
    found = [answer.status_code for answer in (form, plain, broken, deep)]
    assert found == [415, 415, 400, 400]


def test_a_tokenizer_that_cannot_say_is_told() -> None:
    model = load_source(TOKENIZERS / "gpt2-tiny" / "gpt2").model
    client = Client(LivePage([SIDES[0], Viewed.of("x", model)], {HOST}))
    told = ask(client, "/tokens", {"text": "a"})
    assert told.status_code == 200
    assert told.text.count("is not known") == 1
    assert told.text.count('class="flow"') == 1
    refused = ask(client, "/merges", {"text": "a", "side": 1, "token": 0})
    assert refused.status_code == 422
    assert "is not known" in refused.text


def test_a_port_in_use_and_an_address_for_all_are_refused() -> None:
    taken = socket.create_server(("127.0.0.1", 0))
    with taken, pytest.raises(TargetError, match="in use"):
        listen(SIDES, port=taken.getsockname()[1])
    with pytest.raises(TargetError, match="every address"):
        listen(SIDES, "0.0.0.0")


# Who hears the page.


class Named(HTMLParser):
    """The attributes of the elements of a class or id."""

    def __init__(self, text: str, name: str) -> None:
        super().__init__()
        self.name = name
        self.found: list[dict[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        own = dict(attrs)
        if self.name in (own.get("class") or "").split() or self.name == own.get("id"):
            self.found.append(own)


def test_tokens_of_both_pages_are_the_same(client: Client) -> None:
    """What they are called is worked out by the script (tests/engines/browser_view.py)."""
    written = Named(to_view(SIDES, TEXT), "flow").found
    served = Named(ask(client, "/tokens", {"text": TEXT}).text, "flow").found
    assert written == served
    assert all(flow["data-twins"] for flow in written)
    ids = list(map(int, re.findall(r"<i>(\d+)</i></b>", to_view(SIDES, TEXT))))
    engines = [read(name).encode(TEXT, add_special_tokens=False).ids for name in NAMES]
    assert ids == [number for found in engines for number in found]


def test_a_long_text_makes_a_small_page() -> None:
    """A token takes few bytes, and where it stands in the text adds none."""
    text = "The year 2023, it's spaced out.\n" * 100
    tokens = sum(panel.tokens for panel in panels(SIDES, text))
    assert len(to_view(SIDES, text)) - len(to_view(SIDES, "")) < 45 * tokens
    parts = to_view(SIDES, text).count('<div><p dir="auto">')
    assert parts > len(SIDES)  # they are laid out when they are seen


def test_no_line_ends_inside_a_token_but_in_a_long_one() -> None:
    assert ".flow b { white-space: pre; } .flow b.long { white-space: break-spaces; }" in sheet()

    def shown(token: bytes) -> str:
        vocab = Vocab({b"a": 0, token: 1})
        model = BPEModel(vocab, PairList(()), lookup_first=True, normalizer=(), pretokenizer=())
        return to_view([Viewed.of("x", model)], token.decode())

    assert "<b><u> </u>interoperability<i>1</i></b>" in shown(b" interoperability")
    assert '<b class="long">' in shown(b"-" * 21)
    assert '<b class="long">' in shown("\u65e5".encode() * 11)  # wide letters
    assert '<b class="long">' in shown(b"\t" * 6)  # marks, with a frame around each
    assert '<b class="long">' not in shown(b"\t" * 5)


def test_the_legend_has_a_name(client: Client) -> None:
    for page in (to_view(SIDES, TEXT), get(client, "/").text):
        (legend,) = Named(page, "legend").found
        assert (legend["role"], legend["aria-label"]) == ("group", "What the marks mean")


def test_no_two_words_are_glued(client: Client) -> None:
    assert glued(to_view(SIDES, TEXT)) == []
    assert glued(get(client, "/").text) == []
    assert glued(f"<p>{ask(client, '/tokens', {'text': TEXT}).text}</p>") == []
    for side in range(len(SIDES)):
        for token in range(6):
            asked = {"text": TEXT, "side": side, "token": token}
            assert glued(ask(client, "/merges", asked).text) == []


# The command.


@pytest.fixture
def run(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs ``view`` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return partial(command, "view")


def test_a_page_is_written(run: Command) -> None:
    sources = [TOKENIZERS / name for name in NAMES]
    assert run(*sources, "-o", "page.html", stdin=TEXT.encode()) == (
        0,
        "wrote       page.html\n",
        "",
    )
    written = Path("page.html").read_text("utf-8")
    labelled = [Viewed(str(path), side.encoder) for path, side in zip(sources, SIDES, strict=True)]
    assert written == to_view(labelled, TEXT)
    Path("text.txt").write_text(TEXT, "utf-8")
    assert run(*sources, "--text", "text.txt", "-o", "other.html")[0] == 0
    assert Path("other.html").read_text("utf-8") == written


def test_what_a_page_shows_is_in_json_too(run: Command) -> None:
    """Ids are those of tokenizers; where they are cut follows from the lengths of its tokens."""
    text = "The year 2023 and 12345 words, don't they?"
    answers = [read(name).encode(text) for name in NAMES[:2]]
    first, second = (
        dict(zip(pairwise(accumulate(map(len, each.tokens), initial=0)), each.ids, strict=True))
        for each in answers
    )
    cut = len(second.keys() - first.keys())
    other = sum(first[place] != second[place] for place in first.keys() & second.keys())
    assert cut
    assert other
    sources = [str(TOKENIZERS / name) for name in NAMES[:2]]
    done = run(*sources, "-o", "page.html", "--json", stdin=text.encode())
    assert Path("page.html").read_text("utf-8").startswith("<!DOCTYPE html>")
    sides = [
        {"source": source, "ids": each.ids, "error": None}
        for source, each in zip(sources, answers, strict=True)
    ]
    assert json.loads(done.out) == {
        "page": "page.html",
        "bytes": len(text),
        "special": "text",
        "sides": [
            {**sides[0], "cut": None, "other": None, "missed": None},
            {**sides[1], "cut": cut, "other": other, "missed": 0},
        ],
    }


def test_a_side_without_ids_says_why_in_json(run: Command) -> None:
    """tiktoken has no ids for a byte that no rank stands for."""
    numbers = [number for number in range(256) if number != ord("z")]
    lines = [f"{base64.b64encode(bytes([number])).decode()} {number}\n" for number in numbers]
    Path("x.tiktoken").write_text("".join(lines), "ascii")
    Path("mine.json").write_text(json.dumps({"pat_str": "(?s:.+)"}), "utf-8")
    sources = ("x.tiktoken", TOKENIZERS / NAMES[0])
    done = run(*sources, "--preset", "mine.json", "-o", "a.html", "--json", stdin=b"az")
    without, with_ids = json.loads(done.out)["sides"]
    assert without["ids"] is None
    assert without["error"].startswith('"z" is not in the vocabulary')
    assert with_ids["ids"] == read(NAMES[0]).encode("az").ids
    assert [side["cut"] for side in (without, with_ids)] == [None, None]


def test_each_source_that_leaves_something_unsaid_has_its_own_preset(run: Command) -> None:
    lines = [f"{base64.b64encode(bytes([number])).decode()} {number}\n" for number in range(256)]
    for name, number in (("one", 300), ("two", 400)):
        Path(f"{name}.tiktoken").write_text("".join(lines), "ascii")
        stated = {"pat_str": "(?s:.+)", "special_tokens": {"<a>": number}}
        Path(f"{name}.json").write_text(json.dumps(stated), "utf-8")
    Path("text.txt").write_text("<a>", "utf-8")
    stating, given = TOKENIZERS / NAMES[0], ("-o", "page.html", "--special", "parse")

    def ids(*presets: str) -> list[str]:
        named = [each for preset in presets for each in ("--preset", preset)]
        sources = ("one.tiktoken", stating, "two.tiktoken")
        code, _, err = run(*sources, "--text", "text.txt", *given, *named)
        assert (code, err) == (0, "")
        return re.findall(r"<i>([34]00)</i></b>", Path("page.html").read_text("utf-8"))

    assert ids("one.json", "two.json") == ["300", "400"]
    assert ids("two.json", "one.json") == ["400", "300"]
    assert ids("two.json") == ["400", "400"]
    three = [each for name in ("one.json", "two.json", "one.json") for each in ("--preset", name)]
    code, _, err = run(
        "one.tiktoken", stating, "two.tiktoken", "--text", "text.txt", *given, *three
    )
    assert code == 2
    assert "3 presets are named" in err
    assert "special tokens unsaid are one.tiktoken, two.tiktoken\n" in err


@pytest.mark.parametrize("name", ["a.htm", "A.HTML"])
def test_a_page_may_be_called_htm(run: Command, name: str) -> None:
    Path(name).write_text("before")
    assert run(TOKENIZERS / NAMES[0], "-o", name, stdin=b"a")[0] == 0
    assert Path(name).read_text("utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("number", "code", "options"),
    [(signal.SIGINT, 130, []), (signal.SIGTERM, 143, []), (signal.SIGINT, 130, ["--json"])],
)
def test_a_page_is_served_until_it_is_interrupted(
    number: int, code: int, options: list[str]
) -> None:
    command = [sys.executable, "-m", "bpe_interop", "view", "--serve", "--port", "0", *options]
    with subprocess.Popen(
        [*command, str(TOKENIZERS / NAMES[0])], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        assert running.stdout is not None
        try:
            if options:
                printed = b"".join(running.stdout.readline() for _ in range(3))
                address = json.loads(printed)["address"]
            else:
                address = running.stdout.readline().split()[1].decode()
            body = json.dumps({"text": "a"}).encode()
            sent = urllib.request.Request(
                f"{address}tokens", body, {"Content-Type": "application/json"}
            )
            with urllib.request.urlopen(sent) as answer:
                assert b'class="panels"' in answer.read()
        finally:
            running.send_signal(number)
        _, err = running.communicate(timeout=60)
    assert (running.returncode, err.split()) == (code, [b"ended"])
