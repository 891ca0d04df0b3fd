"""Pages that show tokens, in a real browser; ``.ci/browser`` runs this (see ``browser.py``)."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import CONTRAST, MODES, barriers, browser, take, watched
from playwright.sync_api import Browser, Locator, Page, expect
from reports import HOSTILE, glued
from tokenizers import Tokenizer as Engine

from bpe_interop.model import BPEModel, PairList, Vocab
from bpe_interop.sources import load_source
from bpe_interop.statement import Statement
from bpe_interop.view.live import LIVE_LIMIT, listen
from bpe_interop.view.page import to_view
from bpe_interop.view.panels import Viewed
from fixtures import TOKENIZERS

__all__ = ["browser"]

NAMES = ("gpt2-tiny/huggingface", "cl100k-tiny/huggingface", "spm-tiny/huggingface")
RIGHT_TO_LEFT = "\u05e9\u05dc\u05d5\u05dd 2024"
TEXT = (
    "The year 2023, it's  spaced\tout\n"
    f"{RIGHT_TO_LEFT}\n"
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 caf\u00e9 \u2764\ufe0f <b>bold</b>\n"
    f"{'https://example.org/a/very/long/word' * 4}"
)
BEYOND_ASCII = [chr(n).encode() for n in (*range(0x5D0, 0x5EB), *range(0x620, 0x66A))]
BEYOND = "e => [...e].filter(x => x.getBoundingClientRect().right > innerWidth + 1).length"
every_mode = pytest.mark.parametrize(("width", "colours"), MODES)


@pytest.fixture(scope="module")
def sides() -> list[Viewed]:
    return [Viewed.of(name, load_source(TOKENIZERS / name).model) for name in NAMES]


def added(source: str, preset: str | None) -> Viewed:
    return Viewed.of(source, load_source(source, preset=preset).model)


def served(sides: list[Viewed]) -> str:
    found, answer = listen(sides, load=added)
    threading.Thread(target=answer, daemon=True).start()
    return found


@pytest.fixture(scope="module")
def address(sides: list[Viewed]) -> str:
    return served(sides)


@pytest.fixture(scope="module")
def file(sides: list[Viewed], tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("view") / "page.html"
    path.write_text(to_view(sides, TEXT), "utf-8")
    return path.as_uri()


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """A page that asks nobody but the server and files."""
    with watched(browser, address, "file:", "data:") as (made, _):
        yield made


def fill(page: Page, text: str) -> None:
    """Types a text, and waits for its tokens."""
    page.fill("#text", text)
    settled(page)


def settled(page: Page) -> None:
    """Waits until the panels show what was asked for last."""
    expect(page.locator("#shown[aria-busy=false]")).to_be_attached()
    expect(page.locator("#said")).to_have_text("")


def ids(page: Page, side: int) -> list[int]:
    found = page.locator(f"[data-side='{side}'] .flow i").all_text_contents()
    return list(map(int, found))


def token(page: Page, side: int, at: int) -> Locator:
    return page.locator(f"[data-side='{side}'] .flow b").nth(at)


def shot(page: Page, name: str) -> None:
    if "BPE_INTEROP_SHOTS" in os.environ:
        take(page, Path(os.environ["BPE_INTEROP_SHOTS"], f"{name}.png"))


def fits(page: Page, width: int) -> None:
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.eval_on_selector_all("main *, header *", BEYOND) == 0
    assert page.evaluate(CONTRAST) == []


@every_mode
def test_the_live_page_fits(page: Page, address: str, width: int, colours: str) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme="dark" if colours == "dark" else "light")
    page.goto(address)
    shot(page, f"live-empty-{width}-{colours}")
    fill(page, TEXT)
    shot(page, f"live-{width}-{colours}")
    fits(page, width)
    page.check("#ids")
    shot(page, f"live-ids-{width}-{colours}")
    fits(page, width)
    page.locator("[data-side='2'] .flow b").first.click()
    expect(page.locator("dialog")).to_be_visible()
    shot(page, f"live-merges-{width}-{colours}")
    inside = page.locator("dialog").bounding_box()
    assert inside is not None
    assert inside["x"] >= 0
    assert inside["x"] + inside["width"] <= width
    assert page.evaluate("document.querySelector('dialog').scrollWidth") <= inside["width"]


@every_mode
def test_a_written_page_fits(page: Page, file: str, width: int, colours: str) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme="dark" if colours == "dark" else "light")
    page.goto(file)
    shot(page, f"view-{width}-{colours}")
    fits(page, width)
    page.check("#ids")
    fits(page, width)


@pytest.mark.parametrize("height", [900, 2200])
def test_a_long_text_stays_in_its_panels(
    page: Page, sides: list[Viewed], tmp_path: Path, height: int
) -> None:
    """Lines that are not in sight are not laid out, and have no width of their own."""
    lines = [f"{number} {TEXT} " + "words of a long line " * 20 for number in range(12)]
    (tmp_path / "page.html").write_text(to_view(sides, "\n".join(lines)), "utf-8")
    page.set_viewport_size({"width": 1200, "height": height})
    page.goto((tmp_path / "page.html").as_uri())
    beyond = """panels => panels.flatMap(panel => {
      const right = panel.getBoundingClientRect().right;
      return [...panel.querySelectorAll("*")].filter(e => e.getBoundingClientRect().right > right);
    }).length"""
    assert page.eval_on_selector_all(".panel", beyond) == 0
    assert page.locator(".panel").count() == len(sides)


@pytest.mark.parametrize(("width", "colours"), [(1200, "light"), (390, "dark")])
def test_nothing_keeps_people_out(
    page: Page, address: str, file: str, width: int, colours: str
) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme="dark" if colours == "dark" else "light")
    page.goto(file)
    assert barriers(page) == []
    page.goto(address)
    fill(page, "The year 2023\n\u05e9\u05dc\u05d5\u05dd \xe9")
    page.check("#ids")
    assert barriers(page) == []
    page.locator("[data-side='2'] .flow b").first.click()
    expect(page.locator("dialog")).to_be_visible()
    assert barriers(page) == []


def test_typing_shows_the_tokens_of_every_tokenizer(page: Page, address: str) -> None:
    page.goto(address)
    for text in ("The year 2023", TEXT):
        fill(page, text)
        for side, name in enumerate(NAMES):
            engine = Engine.from_file(str(TOKENIZERS / name / "tokenizer.json"))
            assert ids(page, side) == engine.encode(text, add_special_tokens=False).ids
    page.fill("#text", "")
    expect(page.locator(".none")).to_have_count(3)


def test_the_page_begins_with_a_sample_that_typing_replaces(page: Page, address: str) -> None:
    page.goto(address)
    engine = Engine.from_file(str(TOKENIZERS / NAMES[0] / "tokenizer.json"))
    sample = page.locator("#text").input_value()
    expected = list(map(str, engine.encode(sample, add_special_tokens=False).ids))
    assert len(expected) > 20
    expect(page.locator("[data-side='0'] .flow i")).to_have_text(expected)
    page.click("#text")
    page.keyboard.type("x")
    expect(page.locator("#text")).to_have_value("x")


def test_key_by_key_the_last_text_wins(page: Page, address: str) -> None:
    page.goto(address)
    page.locator("#text").press_sequentially("the year", delay=60)
    engine = Engine.from_file(str(TOKENIZERS / NAMES[0] / "tokenizer.json"))
    expected = list(map(str, engine.encode("the year", add_special_tokens=False).ids))
    expect(page.locator("[data-side='0'] .flow i")).to_have_text(expected)


def test_what_differs_is_seen(page: Page, address: str) -> None:
    page.goto(address)
    fill(page, "it's 12345")
    colour = "e => getComputedStyle(e).borderBottomColor + getComputedStyle(e).borderBottomStyle"
    cut = page.locator("[data-side='1'] .flow b.cut").first.evaluate(colour)
    alike = page.locator("[data-side='1'] .flow b:not(.cut)").first.evaluate(colour)
    assert cut != alike
    assert page.locator("[data-side='0'] .flow b.cut").count() > 0


def test_a_click_tells_how_a_token_was_merged(page: Page, address: str) -> None:
    page.goto(address)
    fill(page, "the")
    page.locator("[data-side='2'] .flow b").first.click()
    expect(page.locator("dialog .merged tbody tr")).to_have_count(3)
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_be_hidden()
    page.locator("[data-side='2'] .flow b").first.click()
    page.click("#close")
    expect(page.locator("dialog")).to_be_hidden()


def test_a_finger_does_what_a_mouse_does(browser: Browser, address: str) -> None:
    context = browser.new_context(has_touch=True, viewport={"width": 360, "height": 700})
    page = context.new_page()
    page.goto(address)
    fill(page, "the year")
    page.locator("[data-side='0'] .flow b").first.tap()
    expect(page.locator("dialog")).to_be_visible()
    page.locator("#close").tap()
    expect(page.locator("dialog")).to_be_hidden()
    context.close()


def test_the_keyboard_gets_everywhere(page: Page, address: str) -> None:
    page.goto(address)
    fill(page, f"a b c\n{RIGHT_TO_LEFT}")
    focus = "document.activeElement.id || document.activeElement.closest('.panel')?.dataset.side"
    page.focus("#text")
    found = []
    for _ in range(16):
        page.keyboard.press("Tab")
        found.append(page.evaluate(focus))
    tools = ["special", "chat", "ids", "share", "source", "preset", "adding"]
    assert found == [*tools, *"000111222"]
    page.locator("[data-side='2'] .flow b").first.focus()
    at = "placeOf(document.activeElement)"
    page.keyboard.press("ArrowRight")
    assert page.evaluate(at) == 1
    page.keyboard.press("Enter")
    expect(page.locator("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    assert page.evaluate(at) == 1  # the focus is back
    page.keyboard.press("End")
    last = page.evaluate(at)
    page.keyboard.press("ArrowRight")  # where the line is read from the right, that is back
    assert page.evaluate(at) == last - 1
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(at) == last
    page.keyboard.press("Home")
    assert page.evaluate(at) == 0


@pytest.fixture(params=["served", "written"])
def year(
    page: Page, address: str, sides: list[Viewed], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """The page shows "The year 2023": the live one, or one in a file."""
    if request.param == "served":
        page.goto(address)
        fill(page, "The year 2023")
    else:
        (tmp_path / "page.html").write_text(to_view(sides, "The year 2023"), "utf-8")
        page.goto((tmp_path / "page.html").as_uri())


TWINS = "all => all.map(x => [x.closest('.panel').dataset.side, placeOf(x)].join(':'))"


def test_a_token_lights_up_its_twins(page: Page, year: None) -> None:
    """Of the text " 2023": [" 2", "0"] and [" ", "20"] are the same part of it."""
    lit = ".twin"
    for at in (4, 5):
        token(page, 0, at).hover()
        assert page.eval_on_selector_all(lit, TWINS) == ["1:4", "1:5", "2:4", "2:5"]
    own = [ids(page, 1)[4:6], ids(page, 2)[4:6]]
    told = page.locator("#told").text_content()
    assert told is not None
    for name, (first, second) in zip(NAMES[1:], own, strict=True):
        assert f"; in {name}: {first} {second}" in told
    page.mouse.move(0, 0)
    token(page, 2, 0).focus()
    assert page.eval_on_selector_all(lit, TWINS) == ["0:0", "1:0"]
    page.keyboard.press("ArrowRight")
    assert page.eval_on_selector_all(lit, TWINS) == ["0:1", "1:1"]
    page.locator("#ids").focus()
    assert page.locator(lit).count() == 0


def test_the_merges_of_a_token_name_its_twins(page: Page, address: str) -> None:
    page.goto(address)
    fill(page, "The year 2023")
    token(page, 0, 4).click()
    expect(page.locator("#elsewhere p")).to_have_count(2)
    found = page.locator("#elsewhere i").all_text_contents()
    assert list(map(int, found)) == [*ids(page, 1)[4:6], *ids(page, 2)[4:6]]


def test_a_tokenizer_is_added_and_removed(browser: Browser, sides: list[Viewed]) -> None:
    page = browser.new_page()
    address = served(sides[:1])
    page.goto(address)
    fill(page, "hello world")
    assert page.locator("#legend").is_hidden()
    assert page.locator(".remove").count() == 0
    name = str(TOKENIZERS / NAMES[1])
    page.fill("#source", name)
    page.keyboard.press("Enter")
    expect(page.locator(".panel")).to_have_count(2)
    settled(page)
    engine = Engine.from_file(str(TOKENIZERS / NAMES[1] / "tokenizer.json"))
    assert ids(page, 1) == engine.encode("hello world", add_special_tokens=False).ids
    assert page.locator("#legend").is_visible()
    link = page.url
    page.goto("about:blank")
    page.goto(link)
    expect(page.locator(".panel")).to_have_count(2)
    page.locator(".remove").first.click()
    expect(page.locator(".panel")).to_have_count(1)
    assert page.locator(".panel h2").text_content() == NAMES[1]  # short, as it was beside another
    assert page.evaluate("document.activeElement.id") == "panels"
    page.fill("#source", "nowhere")
    page.click("#adding")
    expect(page.locator("#said")).to_contain_text("nowhere")
    # Another program does not have it, and loads nothing because a link says so.
    other = served(sides[:1])
    page.goto("about:blank")
    page.goto(other + link.removeprefix(address))
    expect(page.locator("#said")).to_contain_text("not loaded here")
    expect(page.locator("#source")).to_have_value(name)
    assert page.locator(".panel").count() == 1
    page.click("#adding")
    expect(page.locator(".panel")).to_have_count(2)
    page.close()


def test_a_chat_is_written_by_each_chat_template(browser: Browser) -> None:
    said = Statement(
        chat_template="{% for m in messages %}[{{ m.role }}]{{ m.content }}</s>{% endfor %}"
    )
    folder = TOKENIZERS / "spm-tiny" / "sentencepiece"
    with_template = Viewed.of("chats", load_source(folder, said=said).model)
    without = Viewed.of("none", load_source(TOKENIZERS / NAMES[0]).model)
    page = browser.new_page()
    page.goto(served([with_template, without]))
    page.check("#chat")
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]
    for text in (json.dumps(messages), "user: hi\nassistant: ho\n"):
        fill(page, text)
        expected = with_template.encoder.encode("[user]hi</s>[assistant]ho</s>", "all")
        assert ids(page, 0) == expected
        expect(page.locator("[data-side='1'] .warning")).to_contain_text("chat template")
    assert barriers(page) == []
    assert "chat=1" in page.url
    page.fill("#text", "no chat at all")
    expect(page.locator("#said")).to_contain_text("this is no chat")
    page.close()


def test_a_link_brings_the_text_back(page: Page, address: str) -> None:
    page.goto(address)
    fill(page, TEXT)
    page.check("#special")
    settled(page)
    link = page.url
    assert link.startswith(f"{address}#text=")
    expected = ids(page, 1)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.click("#share")
    expect(page.locator("#said")).to_contain_text("copied")
    assert page.evaluate("navigator.clipboard.readText()") == link
    page.goto("about:blank")
    page.goto(link)
    expect(page.locator("#text")).to_have_value(TEXT)
    expect(page.locator("#special")).to_be_checked()
    expect(page.locator("[data-side='1'] .flow b")).to_have_count(len(expected))
    assert ids(page, 1) == expected
    page.evaluate("location.hash = '#text=other+text'")
    expect(page.locator("#text")).to_have_value("other text")
    fill(page, "x" * 7000)
    assert page.url == address
    page.click("#share")
    expect(page.locator("#said")).to_contain_text("too long for a link")


def test_panels_stand_side_by_side_where_there_is_room(page: Page, address: str) -> None:
    page.set_viewport_size({"width": 1400, "height": 800})
    page.goto(address)
    fill(page, TEXT)
    places = "all => all.map(x => x.getBoundingClientRect()).map(r => [r.left, r.top])"
    wide = page.eval_on_selector_all(".panel", places)
    assert len({top for _, top in wide}) == 1
    # The heads are as high as the highest of them, so that the tokens begin on one line.
    page.evaluate("document.querySelector('.panel h2').textContent = 'a long name '.repeat(9)")
    for part in (".counts", ".flow"):
        assert len({top for _, top in page.eval_on_selector_all(part, places)}) == 1
    page.set_viewport_size({"width": 360, "height": 800})
    narrow = page.eval_on_selector_all(".panel", places)
    assert len({left for left, _ in narrow}) == 1
    assert len({top for _, top in narrow}) == 3
    fits(page, 360)


def test_text_from_the_right_reads_as_it_should(page: Page, address: str) -> None:
    """Letters run from the right, digits from the left, in whichever tokens they are."""
    page.goto(address)
    fill(page, RIGHT_TO_LEFT)
    places = (
        "line => { const walk = document.createTreeWalker(line, NodeFilter.SHOW_TEXT), found = {};"
        " while (walk.nextNode()) if (!walk.currentNode.parentElement.closest('i'))"
        "  for (let at = 0; at < walk.currentNode.length; at++) {"
        "   const range = document.createRange();"
        "   range.setStart(walk.currentNode, at); range.setEnd(walk.currentNode, at + 1);"
        "   (found[walk.currentNode.data[at]] ??= []).push(range.getBoundingClientRect().left); }"
        " return found; }"
    )
    found = page.locator("[data-side='2'] .flow p").evaluate(places)
    digits = [found["2"][0], found["0"][0], found["2"][1], found["4"][0]]
    assert digits == sorted(digits)
    letters = [found[letter][0] for letter in "\u05e9\u05dc\u05d5\u05dd"]
    assert letters == sorted(letters, reverse=True)
    assert max(digits) < min(letters)


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_that_is_typed_can_run(page: Page, address: str, text: str) -> None:
    page.goto(address)
    elements = "[...document.querySelectorAll('#shown script, #shown img, #shown style')].length"
    fill(page, text)
    assert page.evaluate(elements) == 0


def test_an_answer_that_does_not_come_is_told(browser: Browser, address: str) -> None:
    page = browser.new_page()
    page.goto(address)
    fill(page, "kept")
    page.fill("#text", "a" * (LIVE_LIMIT + 1))
    expect(page.locator("#said")).to_contain_text("at most")
    page.route("**/tokens", lambda route: route.abort())
    page.fill("#text", "lost")
    expect(page.locator("#said")).to_contain_text("does not answer")
    assert page.locator(".panel").count() == 3
    page.close()


def test_ids_appear_under_the_mouse_and_with_the_focus(page: Page, file: str) -> None:
    page.goto(file)
    told = page.locator("#told")
    expect(told).to_be_hidden()
    tile, other = token(page, 0, 1), token(page, 0, 2)
    tile.hover()
    expect(told).to_contain_text(f"{ids(page, 0)[1]} = 20 79 (other id in {NAMES[1]})")
    page.mouse.move(0, 0)
    expect(told).to_be_hidden()
    tile.click()
    page.keyboard.press("ArrowRight")
    assert other.evaluate("e => e === document.activeElement")
    expect(told).to_contain_text(f"{ids(page, 0)[2]} = ")
    page.locator("#ids").focus()
    expect(told).to_be_hidden()


def test_the_bytes_that_are_told_are_the_tokens_own(
    page: Page, file: str, sides: list[Viewed]
) -> None:
    page.goto(file)
    for number, side in enumerate(sides):
        found = page.locator(f"[data-side='{number}'] .flow b").evaluate_all("e => e.map(bytesOf)")
        own = [side.encoder.token_bytes(each).hex(" ").upper() for each in ids(page, number)]
        assert found == own


def focused(page: Page) -> dict[str, str]:
    """The name and the description of what has the focus, in the accessibility tree."""
    nodes = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    for node in nodes:
        held = {each["name"]: each["value"].get("value") for each in node.get("properties", ())}
        if held.get("focused") and node["role"]["value"] != "RootWebArea":
            return {part: node.get(part, {}).get("value", "") for part in ("name", "description")}
    return {}


def test_twins_are_told_to_those_who_hear_the_page(page: Page, year: None) -> None:
    token(page, 0, 0).focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    heard = focused(page)
    assert re.search(rf", {ids(page, 0)[4]}(, |$)", heard["name"])
    for side in (1, 2):
        first, second = ids(page, side)[4:6]
        assert f"; in {NAMES[side]}: {first} {second}" in heard["description"]


def test_ids_are_copied(page: Page, address: str, file: str) -> None:
    """As a JSON array, from the panel whose button it is."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    for where in (file, address):
        page.goto(where)
        if where == address:
            fill(page, TEXT)
        for side, name in enumerate(NAMES):
            engine = Engine.from_file(str(TOKENIZERS / name / "tokenizer.json"))
            button = page.locator(f"[data-side='{side}'] .copy")
            button.click()
            expect(button).to_have_text("Copied")
            copied = json.loads(page.evaluate("navigator.clipboard.readText()"))
            assert copied == engine.encode(TEXT, add_special_tokens=False).ids
            expect(button).to_have_text("Copy ids")


ORDER = """
tiles => tiles.map((tile, at) => {
  const range = document.createRange();
  range.selectNodeContents(tile);
  range.setEndBefore(tile.lastElementChild);
  return [at, range.getBoundingClientRect().left];
}).sort(([, a], [, b]) => a - b).map(([at]) => at)
"""
TURNED = (
    RIGHT_TO_LEFT,
    "2024 \u05e9\u05dc\u05d5\u05dd 15.75 abc def \u05e9\u05dc",
    "The word \u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd 2024 means peace",
    "\u0627\u0644\u0639\u0627\u0645 2024, \u0662\u0660\u0662\u0664 (abc) 3%",
)


@pytest.mark.parametrize("text", TURNED)
def test_tokens_with_ids_stand_in_the_order_of_the_ids(
    page: Page, tmp_path: Path, text: str
) -> None:
    """The browser orders letters by Unicode's rules; boxes with ids follow the line's direction."""
    alone = BPEModel(
        Vocab(
            {bytes([n]): n for n in range(256)} | {c: 256 + n for n, c in enumerate(BEYOND_ASCII)}
        ),
        PairList(tuple((c[:1], c[1:]) for c in BEYOND_ASCII)),
        normalizer=(),
        pretokenizer=(),
    )
    (tmp_path / "page.html").write_text(to_view([Viewed.of("characters", alone)], text), "utf-8")
    page.set_viewport_size({"width": 1800, "height": 500})
    page.goto((tmp_path / "page.html").as_uri())
    without = page.locator(".flow b").evaluate_all(ORDER)
    page.check("#ids")
    in_order = [*range(len(text))]
    from_the_left = text.startswith("The")
    with_ids = page.locator(".flow b").evaluate_all(ORDER)
    assert with_ids == (in_order if from_the_left else in_order[::-1])
    assert sorted(without) == in_order
    assert without not in (in_order, in_order[::-1])


def test_no_script_runs_in_the_live_page_but_its_own(browser: Browser, address: str) -> None:
    page = browser.new_page()
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto(address)
    ran = page.evaluate(
        "() => { const s = document.createElement('script'); s.textContent = 'window.ran = 1';"
        " document.body.append(s); return window.ran; }"
    )
    page.close()
    assert ran is None
    assert any("Content Security Policy" in text for text in refused)


@pytest.mark.parametrize("role", ["image", "button"])
def test_every_token_has_a_name_in_the_accessibility_tree(
    page: Page, address: str, file: str, role: str
) -> None:
    if role == "image":
        page.goto(file)
    else:
        page.goto(address)
        fill(page, TEXT)
    # What a browser has not shown yet is not in its tree.
    page.evaluate("() => new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")
    nodes = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    names: dict[str, list[str]] = {}
    for node in nodes:
        named = names.setdefault(node.get("role", {}).get("value", ""), [])
        named.append(node.get("name", {}).get("value", ""))
    told = [int(found[1]) for name in names[role] if (found := re.search(r", (\d+)(?:, |$)", name))]
    assert told == [number for side in range(len(NAMES)) for number in ids(page, side)]
    assert "What the marks mean" in names["group"]


def test_the_merges_of_a_token_are_read_as_words(page: Page, address: str) -> None:
    page.goto(address)
    fill(page, "The year 2023")
    token(page, 0, 4).click()
    expect(page.locator("#elsewhere p")).to_have_count(2)
    assert glued(page.evaluate("new XMLSerializer().serializeToString(merges)")) == []
