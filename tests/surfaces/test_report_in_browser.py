"""The report in a real browser: drawn, readable, silent on the network, in light and dark."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest
from playwright.sync_api import sync_playwright

import sfumato as sf
from sfumato.frontiers import Spread

CHROMIUM = shutil.which("chromium")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
]
MARKS = "#frontier-chart .mark-symbol.role-mark.points_marks path"

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed (apt-get install chromium)")


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as tools:
        started = tools.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def files(clinic, clinic_front, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    sf.report(clinic_front, folder / "steward.html")
    release = sf.publish(clinic, sf.Mondrian(sf.KAnonymity(20)))
    sf.report(clinic_front, folder / "public.html", audience="public", release=release)
    sf.report(crowded(clinic_front), folder / "crowded.html")
    return folder


def crowded(front):
    """The same with releases just above and to the right of the recommended one, where its name would stand."""
    best = front.recommend().point
    wide = max(point.privacy.high for point in front.points if not point.failed)
    high = max(point.utility.high for point in front.points if not point.failed)
    beside = [
        replace(
            best,
            number=100 + at,
            published="",
            efficient=False,
            privacy=Spread((best.privacy.mean + (0.02 + 0.03 * at) * wide,)),
            utility=Spread((best.utility.mean + 0.035 * high,)),
        )
        for at in range(4)
    ]
    return replace(front, points=(*front.points, *beside))


@pytest.fixture
def opened(browser, files):
    """Return a function that opens a page; at the end nothing may have been asked for or complained about."""
    pages, asked, said = [], [], []

    def open_page(name, **options):
        page = browser.new_page(**options)
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto((files / name).as_uri())
        page.wait_for_selector("[data-drawn]")
        pages.append(page)
        return page

    yield open_page
    assert said == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert len([url for url in asked if url.startswith("file:")]) == len(pages)
    for page in pages:
        page.close()


def brightness(page, selector, name="color"):
    text = page.eval_on_selector(selector, f"node => getComputedStyle(node).{name}")
    red, green, blue = (int(part) for part in text.removeprefix("rgb(").removesuffix(")").split(","))
    parts = [value / 255 for value in (red, green, blue)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_points_line_and_recommendation_are_drawn(opened, clinic_front, scheme):
    page = opened("steward.html", color_scheme=scheme, viewport={"width": 1200, "height": 900})
    made = [point for point in clinic_front.points if not point.failed]
    assert page.locator(MARKS).count() == len(made)
    line = page.locator("#frontier-chart .mark-line.role-mark path").first.get_attribute("d")
    corners = line.count("L") + line.count("H") + line.count("V")
    assert corners >= len({(p.privacy.mean, p.utility.mean) for p in clinic_front.efficient}) - 1 > 0
    best = clinic_front.recommend().point
    assert page.locator("#recommendation h2").inner_text() == best.label
    assert page.locator("#frontier-chart .mark-text text", has_text="recommended").count() == 1
    paper, ink = brightness(page, "body", "backgroundColor"), brightness(page, "body")
    assert (paper > ink) == (scheme == "light")
    for selector in ("body", ".soft", ".formula", "a:not(.skip)", ".seal"):
        bright, dim = sorted((brightness(page, selector), paper), reverse=True)
        assert (bright + 0.05) / (dim + 0.05) >= 4.5, selector  # WCAG AA
    label = page.eval_on_selector("#frontier-chart .role-axis-label text", "node => getComputedStyle(node).fill")
    assert label == page.eval_on_selector(".facts", "node => getComputedStyle(node).color")


def test_the_legend_shows_each_method_as_it_is_drawn(opened, clinic_front):
    """Shape, colour and filling of a legend's symbol are those of the marks; private releases are hollow."""
    page = opened("steward.html", viewport={"width": 400, "height": 900})
    styles = "nodes => nodes.map(n => [getComputedStyle(n).fill, getComputedStyle(n).stroke])"
    hollow = ("none", "transparent", "rgba(0, 0, 0, 0)")
    drawn = {(fill in hollow, stroke) for fill, stroke in page.eval_on_selector_all(MARKS, styles)}
    listed = {(fill in hollow, stroke) for fill, stroke in page.eval_on_selector_all(".legend path", styles)}
    assert drawn == listed
    private = {point.family for point in clinic_front.points if point.bound is not None}
    for entry in page.locator(".legend li").all():
        is_hollow = entry.locator("path").evaluate("n => getComputedStyle(n).fill") in hollow
        assert is_hollow == any(entry.inner_text().startswith(f"{family}:") for family in private)
        assert is_hollow == ("measured figure includes noise; see its proved bound" in entry.inner_text())
    caption = page.inner_text("figcaption >> nth=0")
    for point in clinic_front.points:
        if point.bound is not None and not point.failed:
            assert f"{point.label} ≤ {point.bound:.4g}" in caption
    assert page.locator("#frontier-chart [class*=bounds]").count() == 0  # what is proved is not drawn as measured


def test_names_do_not_run_into_each_other_on_a_narrow_screen(opened):
    page = opened("steward.html", viewport={"width": 400, "height": 900})
    page.evaluate("document.querySelectorAll('details').forEach(node => { node.open = true; })")
    page.wait_for_function("!document.querySelector('[data-chart]:not([data-drawn])')")
    for chart in ("#frontier-chart", "[data-chart=sizes] >> nth=0"):
        names = page.locator(chart).locator(".mark-text text, .role-axis-label text").all()
        seen = [name for name in names if name.evaluate("node => getComputedStyle(node).opacity") != "0"]
        boxes = [box for name in seen if (box := name.bounding_box()) and box["width"]]
        assert len(boxes) > 3
        for at, one in enumerate(boxes):
            for other in boxes[at + 1 :]:
                apart = (
                    one["x"] + one["width"] <= other["x"] + 1
                    or other["x"] + other["width"] <= one["x"] + 1
                    or one["y"] + one["height"] <= other["y"] + 3  # a line's box is higher than its letters
                    or other["y"] + other["height"] <= one["y"] + 3
                )
                assert apart, (chart, one, other)


def places(page, selector):
    """Where things are drawn; Playwright's own boxes hold ten times the width of a line, as a mitre might need."""
    return page.eval_on_selector_all(selector, "nodes => nodes.map(node => node.getBoundingClientRect().toJSON())")


def overlap(one, other):
    return (
        one["x"] < other["x"] + other["width"]
        and other["x"] < one["x"] + one["width"]
        and one["y"] < other["y"] + other["height"]
        and other["y"] < one["y"] + one["height"]
    )


@pytest.mark.parametrize("width", [400, 1280])
def test_the_word_recommended_covers_no_mark(opened, width):
    page = opened("crowded.html", viewport={"width": width, "height": 900})
    ring = places(page, "#frontier-chart .ring_marks path")[0]
    assert any(overlap(mark, ring) for mark in places(page, MARKS))
    for after in (width, 700):  # and again where the window becomes another
        page.set_viewport_size({"width": after, "height": 900})
        page.wait_for_timeout(300)
        word = places(page, "#frontier-chart .chosen_marks text")[0]
        assert [mark for mark in places(page, MARKS) if overlap(word, mark)] == [], (after, word)


def test_every_release_is_on_the_page_and_not_in_a_box_that_scrolls(opened):
    page = opened("steward.html", viewport={"width": 1280, "height": 900})
    inner, whole = page.eval_on_selector(".wide.all", "node => [node.clientHeight, node.scrollHeight]")
    assert inner == whole
    assert page.locator("#all tbody tr").count() > 8


def test_the_line_without_buckets_is_dashed_and_goes_through_the_recommended_release(opened, clinic_front):
    best = clinic_front.recommend().point
    assert best in clinic_front.efficient_without_buckets
    page = opened("steward.html", viewport={"width": 1200, "height": 900})
    dashed = page.locator("#frontier-chart .mark-line path[stroke-dasharray]")
    assert dashed.count() == 1
    box, ring = dashed.bounding_box(), page.locator("#frontier-chart .ring_marks path").bounding_box()
    assert overlap(box, ring)


def test_a_point_tells_its_figures_and_opens_its_release(opened, clinic_front):
    page = opened("steward.html", viewport={"width": 1200, "height": 900})
    page.eval_on_selector("#frontier-chart", "node => node.scrollIntoView({block: 'center', behavior: 'instant'})")
    lonely = max(
        (point for point in clinic_front.points if not point.failed), key=lambda point: point.privacy.mean
    )  # nothing is drawn over it
    marks = page.locator(MARKS)
    places = [marks.nth(at).bounding_box() for at in range(marks.count())]
    far = max(range(len(places)), key=lambda at: places[at]["x"])
    box = places[far]
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tooltip = page.locator("#vg-tooltip-element.visible")
    tooltip.wait_for()
    assert lonely.label in tooltip.inner_text()
    assert f"{lonely.privacy.mean:.4g}" in tooltip.inner_text()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    panel = page.locator(f"#release-{lonely.number}")
    page.wait_for_selector(f"#release-{lonely.number}[open] [data-chart=sizes][data-drawn] svg")
    assert panel.locator("[data-chart=queries] svg").count() == 1


def test_everything_is_reached_by_keyboard(opened, clinic_front):
    page = opened("steward.html", viewport={"width": 1000, "height": 800})
    page.focus("#only")
    page.keyboard.press("Space")
    shown = page.locator("#all tbody tr:visible").count()
    kept = {point.number for point in (*clinic_front.efficient, *clinic_front.efficient_without_buckets)}
    assert shown == len(kept) < page.locator("#all tbody tr").count()
    summary = page.locator(f"#release-{clinic_front.efficient[0].number} summary")
    summary.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(f"#release-{clinic_front.efficient[0].number}[open] svg")


def test_the_scheme_may_change_while_the_page_is_open(opened):
    page = opened("steward.html", color_scheme="light")
    before = page.eval_on_selector("#frontier-chart .role-axis-label text", "node => getComputedStyle(node).fill")
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(
        "before => getComputedStyle(document.querySelector('#frontier-chart .role-axis-label text')).fill !== before",
        arg=before,
    )


@pytest.mark.parametrize("width", [360, 1400])
def test_nothing_is_wider_than_the_screen(opened, width):
    page = opened("steward.html", viewport={"width": width, "height": 800})
    page.evaluate("document.querySelectorAll('details').forEach(node => { node.open = true; })")
    page.wait_for_function("!document.querySelector('[data-chart]:not([data-drawn])')")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_public_page_is_drawn_too(opened, clinic_front):
    page = opened("public.html")
    assert page.locator("[data-chart=sizes] svg").count() == 1
    text = page.inner_text("body")
    assert "k-anonymity(20)" in text
    assert "Recommended" not in text
    for point in clinic_front.points:
        if not point.failed and point.privacy.mean:
            assert f"{point.privacy.mean:.4g}" not in text


def test_it_prints_in_dark_ink(opened):
    page = opened("steward.html", color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert brightness(page, "body") < 0.1
    assert brightness(page, "body", "backgroundColor") > 0.9
