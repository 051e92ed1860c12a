# ruff: noqa: INP001
"""Takes report.png and map.png beside this file: what tutorials 2 and 5 make, from generated data, in a real browser.

Needs Chromium (`CHROMIUM`, or /usr/bin/chromium): `python docs/images/take_pictures.py`.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

import sfumato as sf
from sfumato.commuting import Geography, Shape, read_flows
from sfumato.commuting.map import write_map

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
WIDE = 900


def report(folder: Path) -> Path:
    """Write the steward's report of the sweep of tutorial 2."""
    table = sf.read(EXAMPLES / "patients.csv", sf.Schema.load(EXAMPLES / "patients.toml"))
    points = sf.sweep(
        sf.sweep(sf.Mondrian, k=[5, 20, 80]), sf.sweep(sf.Mondrian, sf.Bucketize, t=["0.1", "0.2"]), sf.Suppress()
    )
    front = sf.frontier(table, points, progress=False, workers=0)
    return Path(sf.report(front, folder / "report.html"))


def commuters(folder: Path) -> Path:
    """Write the map of made-up commuters."""
    made = sf.datasets.commuting(blocks=300, jobs=3_000, seed=3)
    geography = Geography.read(made.geography)
    flows = read_flows(made.flows, geography)
    release = sf.publish(flows.table, sf.Synthesize("4.6", "0.00001", prior=Shape(geography)), seed=1)
    target = folder / "map.html"
    write_map(sf.commuting.map_data(release, geography), target)
    return target


def take(page: Page, source: Path, name: str) -> None:
    """Photograph the first picture of a page."""
    page.goto(source.as_uri())
    page.wait_for_timeout(1500)
    page.locator("figure").first.screenshot(path=HERE / name)


def main() -> None:
    """Take both pictures."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(color_scheme="light", viewport={"width": WIDE, "height": 900})
        take(page, report(Path(folder)), "report.png")
        take(page, commuters(Path(folder)), "map.png")
        browser.close()


if __name__ == "__main__":
    main()
