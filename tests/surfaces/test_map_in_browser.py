"""The map page in a real browser: it opens, asks the network for nothing, and a destination can be picked."""

from __future__ import annotations

import math
import re
import shutil
import stat
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from playwright.sync_api import sync_playwright

import sfumato as sf
from sfumato.commuting import Geography, Shape, map_data, read_flows
from sfumato.commuting.map import _held, of_homes, write_map
from sfumato.commuting.measures import pairs_of

CHROMIUM = shutil.which("chromium")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
DRAWN = "document.querySelectorAll('[data-chart]:not([data-drawn])').length === 0"
HOMES = "#map path[aria-label*='synthetic jobs']"
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed (apt-get install chromium)")


@pytest.fixture(scope="module")
def world():
    data = sf.datasets.commuting(400, 4000, 2)
    geography = Geography.read(data.geography)
    flows = read_flows(data.flows, geography)
    release = sf.publish(flows.table, sf.Synthesize("4.6", "1e-5", prior=Shape(geography, coarsen="tract")))
    return flows, release, geography


def test_the_public_page_holds_nothing_of_the_original(world, tmp_path):
    _, release, geography = world
    data = map_data(release, geography)
    assert not data.confidential
    assert {line["kind"] for line in data.histogram} == {"synthetic"}
    write_map(data, tmp_path / "map.html")
    text = (tmp_path / "map.html").read_text("utf-8")
    assert "For the steward only" not in text
    assert not re.search(r"<(?:link|img|iframe)|src=|@import", text.split("</style>")[0] + text.split("</script>")[-1])
    with pytest.raises(sf.ParameterError, match="exists already"):
        write_map(data, tmp_path / "map.html")


def test_the_stewards_page_is_marked_and_only_readable_by_its_owner(world, tmp_path):
    flows, release, geography = world
    data = map_data(release, geography, original=flows)
    assert data.confidential
    real = sum(line["people"] for line in data.histogram if line["kind"] == "original" and line["destination"] == "all")
    assert real == flows.table.rows
    write_map(data, tmp_path / "map.html")
    assert "For the steward only" in (tmp_path / "map.html").read_text("utf-8")
    assert stat.S_IMODE((tmp_path / "map.html").stat().st_mode) == 0o600


def test_the_largest_destinations_are_shown_as_far_as_pairs_fit(world):
    _, release, geography = world
    few = map_data(release, geography, most=300)
    assert 0 < len(few.destinations) < few.total_destinations
    assert sum(len(line["at"]) for line in few.pairs) <= 300
    people = [line["people"] for line in few.destinations]
    assert people == sorted(people, reverse=True)
    assert few.shown_rows == sum(people)
    assert len(map_data(release, geography, most=1).destinations) == 1


def test_counties_are_cut_to_what_is_shown():
    from sfumato.commuting.map import county_shapes

    shapes = county_shapes((-71.9, 41.1, -71.1, 42.0))  # Rhode Island and its neighbours
    found = {shape["id"] for shape in shapes["objects"]["counties"]["geometries"]}
    assert {"44001", "44003", "44005", "44007", "44009"} <= found
    assert len(found) < 30
    used = [arc for shape in shapes["objects"]["counties"]["geometries"] for arc in _flat(shape["arcs"])]
    assert {arc if arc >= 0 else ~arc for arc in used} == set(range(len(shapes["arcs"])))
    assert county_shapes((0.0, 0.0, 0.1, 0.1))["arcs"] == []


def _flat(nested):
    return [nested] if isinstance(nested, int) else [arc for part in nested for arc in _flat(part)]


@needs_browser
@pytest.mark.parametrize("audience", ["public", "steward"])
def test_it_opens_and_a_destination_can_be_picked(world, audience, tmp_path):
    flows, release, geography = world
    data = map_data(release, geography, original=flows if audience == "steward" else None)
    file = tmp_path / "map.html"
    write_map(data, file)
    said, asked = [], []
    with sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1240, "height": 1000})
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(file.as_uri())
        page.wait_for_function(DRAWN, timeout=60_000)
        before = _chosen(page)
        bars = page.locator("#list g[class*='list_marks'] path")
        assert bars.count() == min(25, len(data.destinations))
        bars.nth(3).click()
        third = data.destinations[3]["destination"]
        page.wait_for_function(f"sfumatoViews.get('one').signal('chosen') === {third!r}", timeout=10_000)
        after = _chosen(page)
        expected = next(line for line in data.pairs if line["destination"] == third)
        page.wait_for_function(f"document.querySelectorAll({HOMES!r}).length === {len(expected['at'])}", timeout=10_000)
        land = page.locator("#map g.mark-shape path").count()
        points = page.locator("#map g[class*='works_marks'] path")
        assert points.count() == len(data.destinations)
        points.nth(points.count() - 1).click()  # the smallest is drawn last, above the others
        smallest = data.destinations[-1]["destination"]
        page.wait_for_function(f"sfumatoViews.get('list').signal('chosen') === {smallest!r}", timeout=10_000)
        browser.close()
    assert said == []
    assert asked == [file.as_uri()]
    assert before == {data.destinations[0]["destination"]}
    assert after == {third}
    assert land == len(data.counties["objects"]["counties"]["geometries"])


@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_any_screen_and_follows_the_scheme(world, scheme, tmp_path):
    flows, release, geography = world
    data = map_data(release, geography, original=flows)
    write_map(data, tmp_path / "map.html")
    with sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme=scheme)
        page.goto((tmp_path / "map.html").as_uri())
        page.wait_for_function(DRAWN, timeout=60_000)
        third = data.destinations[3]["destination"]
        page.locator("#list g[class*='list_marks'] path").nth(3).click()
        wide = page.eval_on_selector("#map svg", "node => node.clientWidth")
        page.set_viewport_size({"width": 400, "height": 900})
        page.wait_for_function(f"document.querySelector('#map svg').clientWidth < {wide}", timeout=10_000)
        page.wait_for_function(f"sfumatoViews.get('map').signal('chosen') === {third!r}", timeout=10_000)
        scroll = page.evaluate("document.documentElement.scrollWidth")
        red = page.evaluate("parseInt(getComputedStyle(document.body).backgroundColor.slice(4))")
        legend = page.inner_text(".legend")
        scale = page.locator("#map text", has_text="mile").count()
        browser.close()
    assert scroll <= 400
    assert (red > 128) == (scheme == "light")
    most = max(people for line in data.pairs for people in line["people"])
    assert "the chosen destination" in legend
    assert f"{most}" in legend
    assert scale == 1


def test_the_scale_is_as_long_as_it_says(world):
    _, release, geography = world
    data = map_data(release, geography)
    spec = _held(data)["charts"]["map"]
    bar = next(layer for layer in spec["layer"] if layer.get("name", "").startswith("scale_bar"))
    miles = bar["data"]["values"][0]["length"]
    share = (bar["encoding"]["x2"]["value"] - bar["encoding"]["x"]["value"]) / spec["width"]
    west, south, east, north = data.box
    middle = math.radians((south + north) / 2)
    across = math.radians(east - west) * math.cos(middle) * 3958.8
    down = math.radians(north - south) * 3958.8
    assert share * max(across, down) == pytest.approx(miles, rel=0.02)


@needs_browser
def test_it_is_zoomed_by_button_wheel_and_key_and_names_say_what_comes_from_the_prior(world, tmp_path):
    _, release, geography = world
    named = replace(geography, names=tuple(f"Place {at}" for at in range(len(geography))))
    method = sf.Synthesize("4.6", "1e-5", prior=Shape(geography, coarsen="tract"))
    data = map_data(release, named, method=method)
    assert data.prior is not None
    write_map(data, tmp_path / "map.html")
    with sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1240, "height": 1000})
        faults = []
        page.on("console", lambda message: faults.append(message.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto((tmp_path / "map.html").as_uri())
        page.wait_for_function(DRAWN, timeout=60_000)
        scale = page.locator("#map text", has_text="mile")
        before = float(scale.text_content().split()[0])
        page.click("[data-zoom='2']")
        page.wait_for_function("sfumatoViews.get('map').signal('zoom') === 2", timeout=10_000)
        assert float(scale.text_content().split()[0]) == pytest.approx(before / 2, rel=0.1)
        page.focus("#map")
        page.keyboard.press("ArrowLeft")
        page.wait_for_function("sfumatoViews.get('map').signal('east') === 60", timeout=10_000)
        page.hover("#map")
        page.mouse.wheel(0, -100)
        page.wait_for_function("sfumatoViews.get('map').signal('zoom') === 2.5", timeout=10_000)
        page.click("[data-zoom='0']")
        page.wait_for_function("sfumatoViews.get('map').signal('zoom') === 1", timeout=10_000)
        third = data.destinations[3]
        page.select_option("#destination", label=third["name"])
        page.wait_for_function(f"sfumatoViews.get('one').signal('chosen') === {third['destination']!r}", timeout=10_000)
        assert page.inner_text("#prior") == third["prior"]
        assert third["name"].startswith("Place ")
        browser.close()
    assert faults == []


def test_the_share_of_the_prior_is_what_a_draw_shows(world):
    _, _, geography = world
    flows = pl.DataFrame({"w_geocode": [geography.codes[0]], "h_geocode": [geography.codes[7]], "S000": [4000]})
    read = read_flows(flows, geography)
    method = sf.Synthesize("1", "1e-5", prior=Shape(geography))
    found = sf.publish(read.table, method, seed=5)
    where, origin, people = pairs_of(found)
    expected = method.prior_shares(read.schema, np.unique(where), np.array([4000]))[0]
    away = people[origin != 7].sum() / people.sum()  # of the prior, all but the part that falls on that block
    assert away == pytest.approx(expected, rel=0.15)
    assert 0.005 < expected < 0.999


@pytest.mark.parametrize(
    ("share", "words"),
    [(0.0, "fewer than"), (0.03, "3 of 100"), (0.5, "50 of 100 homes"), (0.9, "90 of 100 homes"), (1.0, "nearly all")],
)
def test_a_share_in_words(share, words):
    assert of_homes(share).startswith(words)


def _chosen(page) -> set[str]:
    return set(page.evaluate("[...sfumatoViews.values()].map(view => view.signal('chosen'))"))
