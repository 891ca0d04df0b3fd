"""What a real notebook shows, in a real browser; ``.ci/browser`` runs this (see ``browser.py``)."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import nbformat
import pytest
from browser import CONTRAST, browser, take
from nbclient import NotebookClient
from nbconvert import HTMLExporter
from playwright.sync_api import Browser

from fixtures import FIXTURES, ROOT

__all__ = ["browser"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The notebook of the docs, run by a kernel of its own, as a page."""
    folder = tmp_path_factory.mktemp("notebook")
    shutil.copytree(FIXTURES, folder / "fixtures")
    notebook = nbformat.read(ROOT / "docs" / "first-look.ipynb", as_version=4)
    NotebookClient(notebook, resources={"metadata": {"path": str(folder)}}, timeout=300).execute()
    for theme in ("light", "dark"):
        page, _ = HTMLExporter(theme=theme).from_notebook_node(notebook)
        (folder / f"{theme}.html").write_text(page, "utf-8")
    return folder


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 390])
def test_a_notebook_shows_blocks_that_can_be_read(
    browser: Browser, made: Path, theme: str, width: int
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.route("http*://**", lambda route: route.abort())  # scripts that nbconvert links to
    page.goto((made / f"{theme}.html").as_uri())
    shown = page.locator(".jp-RenderedHTMLCommon > div")
    assert shown.count() == 6
    if "BPE_INTEROP_SHOTS" in os.environ:
        take(page, Path(os.environ["BPE_INTEROP_SHOTS"], f"notebook-{width}-{theme}.png"))
    told = " ".join(shown.all_text_contents())
    for said in ("<Tokenizer", "<BPEModel", "Proved equal", "Different", "<Statistics"):
        assert said in told
    own = CONTRAST.replace(
        'element.closest(".unseen, .skip")', '!element.closest(".jp-RenderedHTMLCommon > div")'
    )
    assert own != CONTRAST
    assert page.evaluate(own) == []
    if width == 1200:
        right = "all => Math.max(...all.map(x => x.getBoundingClientRect().right))"
        assert page.eval_on_selector_all(".jp-RenderedHTMLCommon > div *", right) <= width
    page.close()
