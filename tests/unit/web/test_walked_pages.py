"""What stewards stopped at: what cannot be made, gains, attacks without a try, wide tables, the icon."""

from __future__ import annotations

import re
import time
from importlib.resources import files

import polars as pl
import pytest
from tests.unit.web.served import HOME, client

import sfumato as sf
from sfumato.attacks.base import Share
from sfumato.frontiers.panel import group_sizes
from sfumato.frontiers.sweep import sweep
from sfumato.web.choosing import _in_words, _unmakeable
from sfumato.web.publishing import overridden
from sfumato.web.wording import attack_tried

ROWS = "nr,age,sex,pay\n" + "".join(f"N{at},{20 + at % 40},{'fm'[at % 2]},{1000 + 37 * at}\n" for at in range(200))


@pytest.fixture(scope="module")
def web(tmp_path_factory):
    return client(tmp_path_factory.mktemp("space"))


def ready(web, address, done):
    until = time.monotonic() + 60
    while time.monotonic() < until:
        data = web.get(f"{address}.json").json()
        if done(data):
            return data
        time.sleep(0.05)
    raise AssertionError(address)


@pytest.fixture(scope="module")
def base(web):
    answer = web.put("/upload", params={"name": "t.csv"}, content=ROWS.encode(), headers=HOME)
    found = answer.json()["next"].rpartition("/")[0]
    ready(web, f"{found}/describe", lambda data: data["look"] is not None and data.get("checked") is not None)
    return found


def test_what_cannot_be_made_is_said_before_the_wait(web, base):
    data = ready(web, f"{base}/compare", lambda data: data["cannot"])
    listed = data["cannot"]["sweeps"]["standard"]
    assert listed
    assert sum(one["releases"] for one in listed) < len(sweep("standard"))
    page = web.get(f"{base}/compare").text
    assert "cannot be made with this description" in page
    assert f'href="{base}/column/age"' in page
    assert f'href="{base}/person"' in page
    assert not re.search(r"source = |rows_per_person|target = ", page.partition("<footer")[0])


def test_a_method_that_predicts_says_that_it_needs_a_column_for_it():
    column = {"role": "quasi", "values": ["f", "m"], "source": "public"}
    schema = sf.Schema.parse({"name": "t", "population": "t", "rows_per_person": 1, "attribute": {"sex": column}})
    (found,) = _unmakeable(schema, [sf.DiffGen.recommended(1), sf.Mondrian(sf.KAnonymity(5))])
    assert (found["releases"], found["public"], found["why"]) == (1, False, "needs a column to be predicted")


def test_the_largest_gain_is_named_first():
    """The headline said two points, and telling who is in the table gained 42."""
    risks = {"inference": {"mean": 0.02}, "membership": {"mean": 0.416}, "identity": {"mean": 0.9}}
    point = {"number": 1, "label": "M", "form": "generalized", "people": 5, "risks": risks}
    assert _in_words(point)["text"] == (
        "Every group has at least 5 rows; an attacker tells who is in the table 42 points more often; "
        "an attacker guesses a private value 2 points more often."
    )
    assert "a private value no more often." in _in_words({**point, "risks": {"inference": {"mean": -0.03}}})["text"]


def test_an_attack_without_a_try_is_not_shown_as_a_result():
    assert not attack_tried({"targets": Share(0, trials=0).to_json()})
    assert attack_tried({"targets": Share(0, trials=9).to_json()})


def test_sizes_of_groups_begin_with_the_smallest():
    release = sf.publish(sf.datasets.census(400), sf.Mondrian(sf.KAnonymity(4)))
    sizes = group_sizes(release)
    smallest = min(weight for weight in release.groups.weight if weight)
    assert sizes[0]["low"] == smallest
    assert sum(one["groups"] for one in sizes) == len(release.groups.weight)


def test_describe_and_compare_say_that_publishing_will_be_refused(web, base):
    web.post(f"{base}/roles", data={"column": "pay", "role": "sensitive"}, headers=HOME)
    web.post(
        f"{base}/column/pay/keys",
        data={"fields": "range", "low": "0", "high": "9000", "step": "1"},
        headers=HOME,
    )
    data = ready(web, f"{base}/describe", lambda data: data.get("checked") is not None)
    assert data["checked"]["above"]
    assert "Publishing will be refused for this" in web.get(f"{base}/describe").text
    assert "is refused unless you tick it" in web.get(f"{base}/compare").text


def test_no_page_asks_for_an_icon_in_vain(web):
    """The page that holds the token named none, and the browser asked for /favicon.ico."""
    assert 'rel="icon"' in web.get("/?token=t0ken").text
    assert web.get("/favicon.ico").status_code == 204


def test_every_table_stands_in_a_box_that_scrolls_with_an_edge_where_it_goes_on(web):
    for path in (files("sfumato.web") / "templates").iterdir():
        text = path.read_text("utf-8")
        assert text.count("<table") == len(re.findall(r'class="wide"[^>]*>\s*<table', text)), path.name
    (box,) = re.findall(r"^\.wide \{(.*?)\}", web.get("/static/app.css").text, re.MULTILINE)
    assert "overflow-x: auto" in box
    assert box.count("no-repeat local") == 2  # covers the dark edge on the side where nothing is hidden


def test_all_columns_leads_back_to_the_column(web, base):
    assert f'href="{base}/describe#column-3"' in web.get(f"{base}/column/sex").text


def test_no_column_in_intervals_is_called_unchanged(web, base):
    """Gross salary in steps of 20,000 was said to be published unchanged."""
    web.post(f"{base}/roles", data={"column": "pay", "role": "sensitive"}, headers=HOME)
    form = {"fields": "range", "low": "0", "high": "9000", "step": "30"}
    web.post(f"{base}/column/pay/keys", data=form, headers=HOME)
    data = ready(web, f"{base}/describe", lambda data: data.get("checked") is not None)
    assert data["checked"]["above"]
    for page in ("describe", "publish?method=mondrian&k=5"):
        text = web.get(f"{base}/{page}").text
        assert "published as described (pay in intervals of 30)" in text, page
        assert "published unchanged" not in text, page
    assert not [check for check in overridden(["--allow-fingerprints"]) if "unchanged" in check]
    for path in (files("sfumato.web") / "templates").iterdir():
        assert "published unchanged" not in path.read_text("utf-8"), path.name


def test_a_column_that_follows_from_another_is_not_called_unchanged():
    """The warning stands on Describe, of columns in intervals too."""
    rows = [(at % 40, 100 * (at % 40)) for at in range(400)]
    attributes = {
        "age": {"role": "quasi", "kind": "numeric", "range": [0, 40]},
        "pay": {"role": "sensitive", "kind": "numeric", "range": [0, 4000], "step": 100},
    }
    schema = sf.Schema.parse({"name": "t", "population": "t", "rows_per_person": 1, "attribute": attributes})
    table = sf.read(pl.DataFrame(rows, schema=["age", "pay"], orient="row"), schema)
    (said,) = [one.rule for one in table.doubts.remarks() if "follows from" in one.rule or "follow from" in one.rule]
    assert "not made coarser" in said
    assert "unchanged" not in said


def test_a_typical_count_names_the_tables_it_is_from():
    """A count was said to be exact, and counts by department were off by a third."""
    typical = {"count": 20, "off": 3.2, "share": 0.16}
    point = {"number": 1, "label": "M", "form": "generalized", "people": 5, "risks": {}, "typical": typical}
    assert _in_words(point)["text"] == (
        "Every group has at least 5 rows; in tables of a column that others may know and another one a count of 20 is "
        "typically off by 3.2 (16 %)."
    )
    exact = {**point, "typical": {**typical, "off": 0.0, "share": 0.0, "of": "two columns"}}
    assert "in tables of two columns a count of 20 is typically exact" in _in_words(exact)["text"]


def test_describe_offers_the_same_range_for_several_columns(web, base):
    page = web.get(f"{base}/describe").text
    assert f'formaction="{base}/ranges"' in page
    form = {"column": ["age"], "low": "10", "high": "90", "step": "5"}
    assert web.post(f"{base}/ranges", data=form, headers=HOME).headers["location"] == f"{base}/describe"
    assert "range = [10, 90]" in web.get(f"{base}/describe.json").json()["toml"]


def test_it_is_said_which_rows_of_a_person_are_kept(web, base):
    ready(web, f"{base}/person", lambda data: data["ready"])
    assert "another order of the file keeps the same ones" in web.get(f"{base}/person").text


def test_a_question_on_how_numbers_are_written_has_no_keys(web):
    rows = "nr;fee\n" + "".join(f"N{at};{at % 9 + 1}.{100 + at}\n" for at in range(60))
    answer = web.put("/upload", params={"name": "fees.csv"}, content=rows.encode(), headers=HOME)
    mine = answer.json()["next"].rpartition("/")[0]
    data = ready(web, f"{mine}/describe", lambda data: data["look"] is not None and data.get("checked") is not None)
    asked = [one["words"] for card in data["cards"] for one in card["questions"] if one["topic"] == "thousands"]
    assert asked
    page = re.sub(r"<[^>]*>", "", web.get(f"{mine}/describe").text.partition('<details class="toml"')[0])
    assert "of the column" in page
    assert "thousands = " not in page
    assert "decimal = " not in page


def test_promises_and_examples_of_cells_are_not_cut_off():
    """A long promise ended in three dots just where releases differ, and pushed the last column out of sight."""
    there = files("sfumato.web") / "templates"
    for name, begins in (("compare", "(one.promise"), ("again", "one.promise"), ("macros", "% for example")):
        assert (
            f'<td class="prose">{{{"" if name == "macros" else "{ "}{begins}' in (there / f"{name}.html.j2").read_text()
        )
    css = (files("sfumato.web") / "static" / "app.css").read_text()
    assert "td.prose { white-space: normal;" in css
