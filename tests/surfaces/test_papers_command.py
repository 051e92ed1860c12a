"""`python -m papers`: every paper runs, and writes one page that needs nothing from elsewhere."""

from __future__ import annotations

import json
import re
import shutil
import time
from pathlib import Path

import pytest
from papers import PAPERS
from papers.__main__ import reproduce

from sfumato.cli.main import main

CHROMIUM = shutil.which("chromium")


def command(*arguments):
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments], command=reproduce, name="python -m papers")
    return stopped.value.code


@pytest.mark.cells(1)
@pytest.mark.parametrize("paper", PAPERS)
def test_tiny_runs(paper, tmp_path, capsys):
    page = tmp_path / f"{paper}.html"
    assert command(paper, "--tiny", "--json", "-o", page, "--keep", tmp_path / "kept") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["paper"] == paper
    assert found["size"] == "tiny"
    assert sum(found["tally"].values()) == len(found["statements"]) > 0
    assert all(curve["points"] for figure in found["figures"] for curve in figure["curves"])
    text = page.read_text("utf-8")
    assert not re.search(r"<script[^>]+src=", text)
    markup, scripts = re.subn(r"<script[^>]*>.*?</script>", "", text, flags=re.DOTALL)
    assert scripts == 3  # the charts, the drawing library once, the page's own
    assert not re.search(r"<(link|img|iframe)|(src|href)=|url\(|@import", markup)
    assert text.count("data-chart=") == len(found["figures"])
    assert "no verdict here means anything" in text
    again = tmp_path / f"{paper}.json"
    assert command(paper, "--tiny", "-o", again, "--keep", tmp_path / "kept") == 0
    printed = capsys.readouterr().out
    assert "Verdict" in printed
    kept = json.loads(again.read_text("utf-8"))
    assert kept["statements"] == found["statements"]  # times too: they were kept, not measured again


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed (apt-get install chromium)")
def test_figures_fill_the_page_and_nothing_is_asked_for(tmp_path):
    from playwright.sync_api import sync_playwright

    page = tmp_path / "onthemap.html"
    assert command("onthemap", "--tiny", "--json", "-o", page) == 0
    asked, said = [], []
    with sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        opened = browser.new_page(viewport={"width": 1200, "height": 900})
        opened.on("request", lambda request: asked.append(request.url))
        opened.on("pageerror", lambda error: said.append(str(error)))
        opened.goto(page.as_uri())
        opened.wait_for_function("document.querySelectorAll('[data-chart]:not([data-drawn])').length === 0")
        widths = opened.eval_on_selector_all("[data-chart] svg", "all => all.map(one => one.clientWidth)")
        browser.close()
    assert (asked, said) == ([page.as_uri()], [])
    assert len(widths) == 6
    assert min(widths) > 600


def test_a_wrong_name_or_ending_is_the_users_input(tmp_path, capsys):
    assert command("hamlet") == 2
    assert "hamlet" in capsys.readouterr().err
    assert command("onthemap", "--tiny", "--data", tmp_path / "none", "-o", tmp_path / "x.html") == 2
    assert "does not exist" in capsys.readouterr().err


def test_lodes_must_be_a_folder_with_both_files(tmp_path, capsys):
    (tmp_path / "od.csv").write_text("w_geocode,h_geocode,S000\n", "utf-8")
    assert command("onthemap", "--tiny", "--data", tmp_path, "-o", tmp_path / "x.html") == 2
    assert "od_main" in capsys.readouterr().err


@pytest.mark.full
@pytest.mark.parametrize("paper", PAPERS)
def test_quick_runs_in_three_minutes(paper, tmp_path, capsys):
    start = time.process_time()
    assert command(paper, "--quick", "--json", "-o", tmp_path / "page.html") == 0
    assert time.process_time() - start <= 180
    found = json.loads(capsys.readouterr().out)
    assert found["tally"]["differs"] < len(found["statements"]) / 2


@pytest.mark.full
@pytest.mark.parametrize(
    ("paper", "where"), [("onthemap", "lodes_ri_2019"), ("dlink", "census_income_kdd/census_income_kdd.parquet")]
)
def test_quick_runs_on_given_data(paper, where, tmp_path, capsys, public_data):
    given = public_data(where, "LODES of Rhode Island 2019" if paper == "onthemap" else "UCI Census-Income (KDD)")
    assert command(paper, "--quick", "--json", "--data", given, "-o", tmp_path / "page.html") == 0
    assert json.loads(capsys.readouterr().out)["data"] == Path(where).name
    assert (tmp_path / "page.html").stat().st_mode & 0o077 == 0  # statistics of what was given
