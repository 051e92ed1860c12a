"""The report in a real browser: drawn, readable, silent on the network, in light and dark."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

import sfumato as sf
from sfumato.estimate import exact_tables, read_tables
from sfumato.frontiers import Spread
from sfumato.frontiers.evaluate import rehearsed

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
MARKS = "#frontier-chart a.point"
SERIOUS = ("serious", "critical")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed (apt-get install chromium)")


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as tools:
        started = tools.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def attacked(clinic):
    """The clinic on four privacy axes, with a policy that some releases break."""
    points = sf.sweep(
        sf.sweep(sf.Mondrian, k=[3, 20, 60, 5000]),
        sf.sweep(sf.Bucketize, t=["0.03", "0.1"]),
        sf.sweep(sf.DiffGen, epsilon=["0.1", 2]),
        sf.Suppress(),
    )
    axes = ["inference", "membership", "identity", "privacy_loss", "proved"]
    return sf.frontier(clinic, points, privacy=axes, workers=0, repeats=2, progress=False)


@pytest.fixture(scope="module")
def files(clinic, attacked, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    sf.report(attacked, folder / "steward.html", command="sfumato frontier clinic.csv clinic.toml")
    release = sf.publish(clinic, sf.Mondrian(sf.KAnonymity(20)))
    sf.report(attacked, folder / "public.html", audience="public", release=release, contact="registry@example.org")
    sf.report(crowded(attacked), folder / "crowded.html")
    strict = replace(attacked, policy=sf.Policy({"k": 10_000}, at_most={"proved": 0}))
    sf.report(strict, folder / "nothing.html")
    return folder


def crowded(front):
    """The same with releases just above and to the right of the recommended one, where its name would stand."""
    best = front.recommend().point
    wide = max(point.privacy.mean for point in front.points if not point.failed)
    high = max(point.utility.mean for point in front.points if not point.failed)
    beside = [
        replace(
            best,
            number=100 + at,
            published="",
            efficient=False,
            risks={**best.risks, front.privacy.name: Spread((best.privacy.mean + (0.02 + 0.03 * at) * wide,))},
            privacy=Spread((best.privacy.mean + (0.02 + 0.03 * at) * wide,)),
            utility=Spread((best.utility.mean + 0.01 * high,)),
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
        page.wait_for_selector("[data-drawn]" if name != "public.html" else "#ask[data-ready]")
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
def test_points_line_and_recommendation_are_drawn(opened, attacked, scheme):
    page = opened("steward.html", color_scheme=scheme, viewport={"width": 1200, "height": 900})
    made = [point for point in attacked.points if not point.failed]
    assert page.locator(MARKS).count() == len(made)
    line = page.locator("#frontier-chart .step.all").get_attribute("d")
    assert line.count("V") >= len({(p.privacy.mean, p.utility.mean) for p in attacked.efficient}) - 1 > 0
    best = attacked.recommend().point
    assert page.locator("#recommendation h2").inner_text() == best.label
    assert page.locator("#frontier-chart text.chosen").text_content() == "recommended"
    paper, ink = brightness(page, "body", "backgroundColor"), brightness(page, "body")
    assert (paper > ink) == (scheme == "light")
    for selector in ("body", ".soft", ".formula", "a:not(.skip):not(.point)", ".seal", "th button", ".copy", ".tag"):
        bright, dim = sorted((brightness(page, selector), paper), reverse=True)
        assert (bright + 0.05) / (dim + 0.05) >= 4.5, selector  # WCAG AA
    label = page.eval_on_selector("#frontier-chart text.tick", "node => getComputedStyle(node).fill")
    assert label == page.eval_on_selector(".facts", "node => getComputedStyle(node).color")


def test_the_privacy_axis_is_switched(opened, attacked):
    page = opened("steward.html", viewport={"width": 1200, "height": 900})
    for axis in attacked.axes:
        page.locator(f"input[name=axis][value={axis.name}]").focus()
        page.keyboard.press("Space")
        page.wait_for_selector(f"#frontier-chart[data-drawn={axis.name}]")
        assert axis.words in page.locator("#frontier-chart text.title").first.text_content()
        assert page.locator("figcaption p[data-axis]:visible").count() == 1
        for point in attacked.on(axis.name).points:
            if not point.failed:
                answer = page.locator(f"#frontier-chart a[data-number='{point.number}']").get_attribute("aria-label")
                assert f"{axis.words} {point.risks[axis.name].mean:.4g}" in answer
    page.keyboard.press("ArrowRight")  # a group of radio buttons is one stop; arrows go through it
    page.wait_for_selector(f"#frontier-chart[data-drawn={attacked.axes[0].name}]")


def test_the_legend_shows_each_method_as_it_is_drawn(opened, attacked):
    """Shape, colour and filling of a legend's symbol are those of the marks; private releases are hollow."""
    page = opened("steward.html", viewport={"width": 400, "height": 900})
    strokes = "nodes => nodes.map(n => getComputedStyle(n).stroke)"
    drawn = set(page.eval_on_selector_all(f"{MARKS} path:not(.slash)", strokes))
    assert drawn == set(page.eval_on_selector_all(".legend path", strokes))
    private = {point.family for point in attacked.points if point.bound is not None}
    for entry in page.locator(".legend li").all():
        hollow = entry.locator("path").evaluate("n => getComputedStyle(n).fill") == "none"
        assert hollow == any(entry.inner_text().startswith(f"{family}:") for family in private)


def test_far_points_are_at_the_edge_and_named(opened, attacked):
    page = opened("steward.html", viewport={"width": 1200, "height": 900})
    far = page.locator(f"{MARKS}.far")
    assert far.count() >= 1  # epsilon 0.1 is nothing but noise
    assert "DiffGen epsilon=0.1" in page.inner_text("#far-line")
    inner = page.locator("#frontier-chart svg").bounding_box()
    for mark in far.all():
        box = mark.bounding_box()
        assert inner["x"] <= box["x"] <= inner["x"] + inner["width"]


def test_what_breaks_the_policy_is_struck_through(opened, attacked):
    page = opened("steward.html")
    broken = [point for point in attacked.points if not point.failed and attacked.policy.breaches(point)]
    assert broken
    assert page.locator(f"{MARKS} .slash").count() == len(broken)
    assert page.locator("#all .tag.broken").count() == len(broken)


def places(page, selector):
    """Where things are drawn."""
    return page.eval_on_selector_all(selector, "nodes => nodes.map(node => node.getBoundingClientRect().toJSON())")


def overlap(one, other, gap=0):
    return (
        one["x"] + gap < other["x"] + other["width"]
        and other["x"] + gap < one["x"] + one["width"]
        and one["y"] + gap < other["y"] + other["height"]
        and other["y"] + gap < one["y"] + one["height"]
    )


@pytest.mark.parametrize("width", [360, 1280])
def test_names_do_not_run_into_each_other(opened, attacked, width):
    page = opened("steward.html", viewport={"width": width, "height": 900})
    for axis in attacked.axes:
        page.check(f"input[name=axis][value={axis.name}]", force=True)
        page.wait_for_selector(f"#frontier-chart[data-drawn={axis.name}]")
        boxes = places(page, "#frontier-chart text")
        assert len(boxes) > 6
        for at, one in enumerate(boxes):
            for other in boxes[at + 1 :]:
                assert not overlap(one, other, gap=3), (axis.name, one, other)


@pytest.mark.parametrize("width", [400, 1280])
def test_the_word_recommended_covers_no_mark(opened, width):
    page = opened("crowded.html", viewport={"width": width, "height": 900})
    ring = places(page, "#frontier-chart .ring")[0]
    marks = f"{MARKS} path:not(.slash)"
    assert any(overlap(mark, ring) for mark in places(page, marks))
    for after in (width, 700):  # and again where the window becomes another
        page.set_viewport_size({"width": after, "height": 900})
        page.wait_for_timeout(300)
        word = places(page, "#frontier-chart text.chosen")[0]
        assert [mark for mark in places(page, marks) if overlap(word, mark)] == [], (after, word)


def test_every_release_is_on_the_page_and_not_in_a_box_that_scrolls(opened):
    page = opened("steward.html", viewport={"width": 1280, "height": 900})
    inner, whole = page.eval_on_selector(".wide.all", "node => [node.clientHeight, node.scrollHeight]")
    assert inner == whole
    assert page.locator("#all tbody tr").count() > 7


def test_the_table_is_sorted_by_any_column(opened, attacked):
    page = opened("steward.html", viewport={"width": 1280, "height": 900})

    def column(place):
        return page.eval_on_selector_all(
            f"#all tbody td:nth-child({place})", "nodes => nodes.map(n => n.dataset.value ?? n.textContent.trim())"
        )

    heads = page.locator("#all th button")
    for place in range(2, heads.count() + 1):
        button = heads.nth(place - 1)
        button.focus()
        for direction, press in (("ascending", "Enter"), ("descending", "Space")):
            page.keyboard.press(press)
            assert page.locator("#all th[aria-sort]").get_attribute("aria-sort") == direction
            found = column(place)
            if place > 2:
                found = [float(value) if value else float("inf") for value in found]
            assert found == sorted(found, reverse=direction == "descending", key=str.lower if place == 2 else None)
    assert len(column(2)) == len([point for point in attacked.points if not point.failed])


def test_a_mark_tells_its_figures_and_opens_its_release(opened, attacked):
    page = opened("steward.html", viewport={"width": 1200, "height": 900})
    other = next(p for p in attacked.points if not p.failed and p.number != attacked.recommend().point.number)
    mark = page.locator(f"#frontier-chart a[data-number='{other.number}']")
    mark.focus()
    tip = page.locator("#tip")
    assert other.label in tip.inner_text()
    assert f"{other.privacy.mean:.4g}" in tip.inner_text()
    page.keyboard.press("Enter")
    page.wait_for_selector(f"#release-{other.number}[open]")
    assert tip.is_hidden()
    assert page.locator(f"#release-{other.number} .bars").count() >= 3


def test_everything_is_reached_by_keyboard(opened, attacked):
    page = opened("steward.html", viewport={"width": 1000, "height": 800})
    page.focus("#only")
    page.keyboard.press("Space")
    shown = page.locator("#all tbody tr:visible").count()
    kept = {point.number for point in (*attacked.efficient, *attacked.efficient_without_buckets)}
    kept.add(attacked.recommend().point.number)
    assert shown == len(kept) < page.locator("#all tbody tr").count()
    names = page.eval_on_selector_all(
        "a[href], button, select, input, [tabindex='0']",
        "nodes => nodes.filter(n => n.checkVisibility()).map(n => (n.getAttribute('aria-label') || "
        "n.labels?.[0]?.innerText || n.textContent).trim())",
    )
    assert all(names)  # everything that takes the focus has a name
    assert page.locator(MARKS).count() == page.locator(f"{MARKS}[aria-label]").count()


def test_a_command_is_copied(browser, files):
    context = browser.new_context()
    page = context.new_page()
    page.goto((files / "steward.html").as_uri())
    page.wait_for_selector("[data-drawn]")
    line = page.locator("#recommendation .command")
    line.locator("button.copy").click()
    page.wait_for_selector("button.copy:text('Copied')")
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<textarea id=pasted></textarea>')")
    page.focus("#pasted")
    page.keyboard.press("Control+V")
    assert page.input_value("#pasted") == line.locator("pre").inner_text()
    context.close()


def test_a_count_is_asked(opened, clinic, attacked):
    page = opened("steward.html")
    exact = exact_tables(clinic)
    best = attacked.recommend().point
    release = rehearsed(clinic, best.mechanism, attacked.seed)
    read = read_tables(release, clinic.schema)
    for choice in ({}, {"age": 2}, {"town": 1, "ill": 3}, {"age": 0, "town": 3, "ill": 0}):
        page.click("#ask button[type=reset]")
        for name, value in choice.items():
            page.select_option(f"#ask select[name={name}]", str(value))
        page.wait_for_timeout(50)
        names = list(choice)
        true = exact.counts(*names)[tuple(choice.values())] if names else clinic.rows
        answer = read.counts(*names)[tuple(choice.values())] if names else clinic.rows
        assert float(page.inner_text("#true").replace(",", "")) == true
        assert float(page.inner_text("#estimated").replace(",", "")) == pytest.approx(answer, abs=0.5)


def test_the_public_page_counts_from_what_is_published_alone(opened, clinic, files):
    page = opened("public.html")
    page.select_option("#ask select[name=town]", "1")
    assert page.locator("#true").count() == 0
    held = json.loads(page.inner_text("#held") or page.text_content("#held"))
    assert set(held) == {"asked"}
    release = sf.publish(clinic, sf.Mondrian(sf.KAnonymity(20)))
    expected = read_tables(release).counts("town")[1]
    assert float(page.inner_text("#estimated").replace(",", "")) == pytest.approx(expected, abs=0.5)


@pytest.mark.cells(2)
@pytest.mark.parametrize("name", ["steward.html", "public.html"])
@pytest.mark.parametrize("width", [360, 390, 1400])
def test_nothing_is_wider_than_the_screen(opened, name, width):
    page = opened(name, viewport={"width": width, "height": 800})
    page.evaluate("document.querySelectorAll('details').forEach(node => { node.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_public_page_says_what_is_in_the_file_and_whom_to_ask(opened, attacked):
    page = opened("public.html")
    text = page.inner_text("body")
    heads = page.locator("h2").all_inner_texts()
    assert page.locator("h1").inner_text() == "clinic: the published table"
    assert heads[:2] == ["What is in the file", "How to use it"]
    assert "registry@example.org" in text
    assert "k-anonymity(20)" in text
    assert "Recommended" not in text
    for point in attacked.points:
        for risk in point.risks.values():
            answer = f"{risk.mean:.4g}"
            if len(answer) > 5:  # a shorter one may be a parameter of the sweep
                assert answer not in text


def test_nothing_is_good_enough_names_the_closest_release(opened, attacked):
    page = opened("nothing.html")
    closest, broken = attacked.closest(sf.Policy({"k": 10_000}, at_most={"proved": 0}))
    card = page.inner_text("#recommendation")
    assert "Nothing is good enough" in card
    assert closest.label in card
    for line in broken:
        assert str(line) in card


def test_the_scheme_may_change_while_the_page_is_open(opened):
    page = opened("steward.html", color_scheme="light")
    fill = "getComputedStyle(document.querySelector('#frontier-chart text.tick')).fill"
    before = page.evaluate(fill)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"before => {fill} !== before", arg=before)


def test_it_prints_in_dark_ink_and_in_full(opened, attacked):
    page = opened("steward.html", color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert brightness(page, "body") < 0.1
    assert brightness(page, "body", "backgroundColor") > 0.9
    assert page.locator("#all tbody tr:visible").count() == len([p for p in attacked.points if not p.failed])
    assert page.locator(f"#release-{attacked.recommend().point.number} .bars:visible").count() >= 4
    assert page.locator("button.copy:visible").count() == 0
    assert page.locator("#frontier-chart svg:visible").count() == 1


@pytest.mark.cells(1)
@pytest.mark.parametrize(
    ("name", "scheme"),
    [
        ("steward.html", "light"),
        ("public.html", "dark"),
        *(
            pytest.param(name, scheme, marks=pytest.mark.full)
            for name, scheme in (
                ("steward.html", "dark"),
                ("public.html", "light"),
                ("nothing.html", "light"),
                ("nothing.html", "dark"),
            )
        ),
    ],
)
def test_no_serious_finding_of_axe(browser, files, name, scheme):
    """Names, contrast, order and roles, as axe-core checks them, with every part that can be unfolded open."""
    context = browser.new_context(bypass_csp=True, color_scheme=scheme, viewport={"width": 1200, "height": 900})
    page = context.new_page()
    page.goto((files / name).as_uri())
    page.wait_for_selector("[data-drawn]" if name != "public.html" else "#ask[data-ready]")
    page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
    seen = Axe().run(page).response
    context.close()
    assert seen["passes"]
    serious = [one for one in seen["violations"] if one["impact"] in SERIOUS]
    assert {one["id"]: [node["html"] for node in one["nodes"][:3]] for one in serious} == {}
