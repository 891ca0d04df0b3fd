"""Report pages in a real browser. ``.ci/browser`` runs this; the suite itself needs no browser.

``BPE_INTEROP_BROWSER`` is the Chromium to run. ``BPE_INTEROP_SHOTS`` is a folder for pictures.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Error, Page, expect, sync_playwright
from reports import CL100K, GPT2, example, few_texts, hostile, real

from bpe_interop import reports as pages
from fixtures import ROOT

KINDS = ("proved", "tested", "different", "hostile")
MODES = [(width, colours) for width in (1200, 390, 360) for colours in ("light", "dark")]
every_kind = pytest.mark.parametrize("kind", KINDS)
every_mode = pytest.mark.parametrize(("width", "colours"), MODES)

TEXTS = (
    "12345",
    "It costs $12345, don't you think so, in the year 2023?  \n\n\tHe said: \u201cHELLO\u201d.",
    "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd, \u05e9\u05e0\u05ea 2024",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 family \u2764\ufe0f caf\u00e9 12345",
    "\u202eevil\0 <script>alert(1)</script> \u200b\ufeff x",
)

CONTRAST = """
() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour, under) => {
    canvas.fillStyle = `rgb(${under.join(" ")})`; canvas.fillRect(0, 0, 1, 1);
    canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = c => c.map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  const ground = element => {
    const chain = [];
    for (let at = element; at; at = at.parentElement) chain.unshift(at);
    return chain.reduce((under, at) => rgba(getComputedStyle(at).backgroundColor, under),
                        [255, 255, 255]);
  };
  const poor = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const element = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || element.closest(".unseen, .skip")) continue;
    const under = ground(element), ink = rgba(getComputedStyle(element).color, under);
    const [high, low] = [light(ink), light(under)].sort((a, b) => b - a);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < 4.5) poor.push(`${ratio.toFixed(2)} ${element.className} ${element.textContent}`);
  }
  return poor;
}
"""
"""Texts whose contrast is below what WCAG 2.2, 1.4.3 asks for."""


expect.set_options(timeout=30_000)  # a busy machine is slow, and that is no fault of a page


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as found:
        running = found.chromium.launch(executable_path=os.environ["BPE_INTEROP_BROWSER"])
        yield running
        running.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("browser")
    corpus = made / "corpus.txt"
    corpus.write_text("in the year 2023\nplain words only\nit's 12345 <b>\n", "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        few_texts(patch)
        refuted = real(GPT2, CL100K, corpus=corpus)
        found = {
            "proved": real("cl100k-tiny/tiktoken", CL100K),
            "tested": real("spm-tiny/sentencepiece", "spm-tiny/huggingface"),
            "different": replace(refuted, examples=tuple(map(example, TEXTS))),
            "hostile": hostile(refuted),
        }
    for kind, report in found.items():
        pages.write_reports(report, [made / f"{kind}.html"])
    return made


@contextmanager
def watched(browser: Browser, *own: str) -> Iterator[tuple[Page, list[str]]]:
    """A page and the addresses it asks for; fails where it complains, or asks beyond ``own``."""
    made = browser.new_page()
    said: list[str] = []
    made.on("console", lambda message: said.append(message.text))
    made.on("pageerror", lambda error: said.append(str(error)))
    asked: list[str] = []
    made.on("request", lambda request: asked.append(request.url))
    yield made, asked
    made.close()
    assert said == []
    assert [url for url in asked if not url.startswith(own)] == []


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that asks for nothing but itself."""
    with watched(browser, "file:", "data:") as (made, asked):
        yield made
        assert len({url for url in asked if url.startswith("file:")}) == 1


def show(page: Page, folder: Path, kind: str, width: int = 1200, colours: str = "light") -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme="dark" if colours == "dark" else "light")
    page.goto((folder / f"{kind}.html").as_uri())


def take(page: Page, path: Path) -> None:
    """A picture of the whole page; on a busy machine Chromium may lose one, and is asked again."""
    for left in (2, 1, 0):
        try:
            page.screenshot(path=path, full_page=True)
            return
        except Error:
            if not left:
                raise
            page.wait_for_timeout(500)


RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")


def barriers(page: Page) -> list[str]:
    """What keeps people from using a page, as axe-core finds it: the rule and the elements."""
    found = Axe().run(page, options={"runOnly": [*RULES], "resultTypes": ["violations"]})
    return [
        f"{each['id']}: {node['html'][:200]}"
        for each in found.response["violations"]
        for node in each["nodes"]
    ]


@pytest.mark.parametrize(
    ("breaking", "rule"),
    [
        ("document.documentElement.removeAttribute('lang')", "html-has-lang"),
        ("document.querySelector('h1').remove()", "page-has-heading-one"),
        ("document.body.append(document.createElement('button'))", "button-name"),
        ("document.querySelector('.stages p').style.color = '#aaa'", "color-contrast"),
    ],
)
def test_barriers_are_found(page: Page, folder: Path, breaking: str, rule: str) -> None:
    show(page, folder, "proved")
    assert barriers(page) == []
    page.evaluate(breaking)
    assert [each.partition(":")[0] for each in barriers(page)] == [rule]


@every_kind
@every_mode
def test_a_page_fits_and_can_be_read(
    page: Page, folder: Path, kind: str, width: int, colours: str
) -> None:
    show(page, folder, kind, width, colours)
    if "BPE_INTEROP_SHOTS" in os.environ:
        take(page, Path(os.environ["BPE_INTEROP_SHOTS"], f"{kind}-{width}-{colours}.png"))
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(CONTRAST) == []
    # The hostile report has a stage without a name, which no real one has.
    if kind != "hostile" and (width, colours) in ((1200, "light"), (390, "dark")):
        assert barriers(page) == []
    beyond = "e => [...e].filter(x => x.getBoundingClientRect().right > innerWidth + 1).length"
    assert page.eval_on_selector_all("main *, header *", beyond) == 0


def test_light_and_dark_are_two(page: Page, folder: Path) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    show(page, folder, "proved", colours="light")
    light = page.evaluate(ground)
    show(page, folder, "proved", colours="dark")
    assert page.evaluate(ground) != light


@pytest.mark.parametrize("width", [1200, 360])
def test_both_sides_tokens_stand_below_each_other(page: Page, folder: Path, width: int) -> None:
    show(page, folder, "different", width)
    columns = page.eval_on_selector_all(
        ".column:has(.cell)",
        "all => all.map(c => [...c.querySelectorAll('.cell')].map(x => {"
        " const r = x.getBoundingClientRect(); return [r.left, r.right, r.top, r.bottom]; }))",
    )
    assert len(columns) > 50
    for a, b in columns:
        assert a[:2] == b[:2]
        assert a[3] <= b[2]


def test_what_differs_is_marked(page: Page, folder: Path) -> None:
    show(page, folder, "different")
    borders = "all => [...new Set(all.map(x => getComputedStyle(x).borderColor))]"
    differs = page.eval_on_selector_all(".column.differs", borders)
    alike = page.eval_on_selector_all(".column.equal", borders)
    assert len(differs) == 1
    assert differs != alike


def test_a_text_from_the_right_runs_from_the_right(page: Page, folder: Path) -> None:
    show(page, folder, "different")
    rows = page.locator(".rows[dir=rtl]")
    assert rows.count() == 1
    lefts = rows.locator(".column.equal, .column.differs").evaluate_all(
        "all => all.slice(0, 3).map(x => x.getBoundingClientRect().left)"
    )
    assert lefts == sorted(lefts, reverse=True)


def test_no_character_turns_its_neighbours_round(page: Page, folder: Path) -> None:
    show(page, folder, "different")
    text = page.locator(".text.large").filter(has_text="evil")
    places = text.evaluate(
        "e => { const walk = document.createTreeWalker(e, NodeFilter.SHOW_TEXT), found = [];"
        " while (walk.nextNode()) for (let at = 0; at < walk.currentNode.length; at++) {"
        "  const range = document.createRange();"
        "  range.setStart(walk.currentNode, at); range.setEnd(walk.currentNode, at + 1);"
        "  found.push(range.getBoundingClientRect().left); }"
        " return found; }"
    )
    assert places == sorted(places)


def test_the_keyboard_gets_to_the_details(page: Page, folder: Path) -> None:
    show(page, folder, "different", 360)
    page.keyboard.press("Tab")
    seen = page.evaluate("document.querySelector('.skip:focus').getBoundingClientRect().left")
    assert seen >= 0
    page.keyboard.press("Enter")
    assert page.url.endswith("#details")


@every_kind
def test_a_page_prints(page: Page, folder: Path, kind: str) -> None:
    show(page, folder, kind)
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.querySelector('.skip')).display") == "none"
    assert page.pdf(format="A4").startswith(b"%PDF-")


def test_nothing_that_gets_in_can_run(browser: Browser, folder: Path) -> None:
    page = browser.new_page()
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto((folder / "hostile.html").as_uri())
    assert refused == []
    ran = page.evaluate(
        "() => { const s = document.createElement('script'); s.textContent = 'window.ran = 1';"
        " document.body.append(s); return window.ran; }"
    )
    page.close()
    assert ran is None
    assert any("Content Security Policy" in text for text in refused)


def test_commands_of_the_site_fit_on_a_phone(page: Page, tmp_path: Path) -> None:
    """The style of the site wraps long lines; the theme's own would cut them off."""
    root = ROOT / "docs"
    commands = (root / "start.md").read_text("utf-8").partition("```sh\n")[2].partition("```")[0]
    (tmp_path / "site.html").write_text(
        f"<!DOCTYPE html><html lang='en'><title>x</title><style>pre {{ overflow: auto }}\n"
        f"{(root / '_static' / 'site.css').read_text('utf-8')}</style><body><article>"
        f"<div class='highlight-sh'><div class='highlight'><pre>{commands}</pre></div></div>"
        "</article></html>",
        "utf-8",
    )
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto((tmp_path / "site.html").as_uri())
    box = page.locator("pre")
    assert box.evaluate("e => e.scrollWidth <= e.clientWidth")
