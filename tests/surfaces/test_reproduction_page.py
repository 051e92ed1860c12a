"""The page of a reproduction on a narrow screen: every verdict can be read without scrolling sideways."""

from __future__ import annotations

import shutil

import pytest
from papers.framework import Curve, Figure, Reproduction, Statement, near
from papers.page import reproduction_page
from playwright.sync_api import sync_playwright

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed (apt-get install chromium)")


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    said = Statement(
        "Section 5.1",
        says="utility loss with all quasi-identifiers removed, for every requirement that is compared",
        printed="below 0.0288 in all",
        ours="at most 0.0469 of the table",
        judged=near(0.0288, 0.0469, within=0.0005),
        why="hierarchies, age bins and Mondrian's rule are not named in the paper, so these are targets for shape",
    )
    curve = Curve("k-anonymity", points=((0.1, 0.2), (0.3, 0.1)))
    figure = Figure("Figure 2(a)", about="privacy requirements", x="privacy loss", y="utility loss", curves=(curve,))
    settings = {"title": "A paper", "size": "quick", "data": "", "notes": ("a note",), "results": {}}
    found = Reproduction("tradeoff", figures=(figure,), statements=(said,) * 4, **settings)
    return reproduction_page(found, tmp_path_factory.mktemp("page") / "tradeoff.html")


@pytest.mark.parametrize(("width", "stacked"), [(400, True), (1280, False)])
def test_verdicts_are_on_the_screen(file, width, stacked):
    with sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": width, "height": 800})
        page.goto(file.as_uri())
        page.wait_for_function("document.querySelectorAll('[data-chart]:not([data-drawn])').length === 0")
        boxes = [cell.bounding_box() for cell in page.locator(".stacked tbody tr").first.locator("td").all()]
        high = page.locator(".stacked tbody tr").first.bounding_box()["height"]
        scroll = page.evaluate("document.documentElement.scrollWidth")
        inner = page.eval_on_selector(".wide", "node => [node.scrollWidth, node.clientWidth]")
        browser.close()
    assert scroll <= width
    assert inner[0] <= inner[1]
    assert all(box["x"] + box["width"] <= width for box in boxes)
    assert (len({box["x"] for box in boxes}) == 1) == stacked
    assert high < 400
