"""How many people a class holds: a lower bound where no key tells whose rows are whose, and nobody counted twice."""

from __future__ import annotations

import random

import polars as pl
import pytest

import sfumato as sf
from sfumato.cli.frontier import show
from sfumato.cli.main import main
from sfumato.frontiers.panel import identity_of

SCHEMA = """name = "visits"
{unit}
[attribute.id]
role = "identifier"
[attribute.age]
role = "quasi"
kind = "numeric"
range = [0, 100]
step = 10
source = "public"
[attribute.sex]
role = "quasi"
values = ["F", "M"]
same = {{ F = ["female"], M = ["male"] }}
source = "public"
[attribute.town]
role = "quasi"
values = ["a", "b", "c", "d"]
source = "public"
[attribute.ill]
role = "sensitive"
values = ["x", "y", "z"]
source = "public"
"""


def table_of(rows, unit, folder):
    lines = ["id,age,sex,town,ill", *(",".join(map(str, row)) for row in rows)]
    (folder / "visits.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "visits.toml").write_text(SCHEMA.format(unit=unit), encoding="utf-8")
    return sf.read(folder / "visits.csv", sf.Schema.load(folder / "visits.toml"))


def test_people_who_cannot_be_told_apart_are_counted_at_least(tmp_path):
    drawn = random.Random(1)
    rows = [
        (f"V{at}", 10 * drawn.randrange(9), drawn.choice("FM"), drawn.choice("abcd"), drawn.choice("xyz"))
        for at in range(240)
    ]
    table = table_of(rows, "rows_per_person = 3", tmp_path)
    front = sf.frontier(table, [sf.Mondrian(sf.KAnonymity(5))], progress=False, workers=0)
    (point,) = front.points
    assert point.at_least
    assert point.smallest == f"at least {point.people} people"
    assert point.to_json()["at_least"] is True
    found = identity_of(table, sf.publish(table, point.mechanism))
    assert found["at_most"]
    assert found["below"] == {}  # who is in a small class is not known
    sf.report(front, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert f"The smallest class holds at least {point.people} people." in page
    assert "people, at least</th>" in page
    assert "with a chance of at most" in page
    assert " people in classes below" not in page


def test_one_row_a_person_is_counted_exactly(tmp_path):
    rows = [(f"P{at}", 10 * (at % 9), "FM"[at % 2], "abcd"[at % 4], "xyz"[at % 3]) for at in range(240)]
    table = table_of(rows, "rows_per_person = 1\ncopies_are_people = true", tmp_path)
    (point,) = sf.frontier(table, [sf.Mondrian(sf.KAnonymity(5))], progress=False, workers=0).points
    assert point.smallest == f"{point.people} people"
    assert "at_least" not in point.to_json()


def test_a_person_with_rows_in_several_classes_is_counted_once(tmp_path):
    rows = []
    for at in range(120):  # everybody has two ages, in two classes
        rows += [(f"P{at}", age, "FM"[at % 2], "abcd"[at // 2 % 4], "xyz"[at % 3]) for age in (10, 80)]
    table = table_of(rows, 'person = "id"', tmp_path)
    release = sf.publish(table, sf.Mondrian(sf.KAnonymity(5)))
    assert int(release.people.classes.sum()) == 240  # each of them in two
    found = identity_of(table, release)
    assert found["people"] == 120
    assert found["below"]["20"] == 120
    sizes = release.people.classes
    assert found["highest"] == pytest.approx(1 / sizes.min())
    assert found["average"] == pytest.approx(sum(1 / 15 for _ in range(120)) / 120)


def test_a_report_of_people_says_how_many_and_counts_them_in_the_smallest_class(tmp_path, capsys):
    """The column "smallest" counted rows beside a k of people, and nothing said how many people there are."""
    rows = [(f"P{at}", 10 * (at % 9), "FM"[at % 2], "abcd"[at % 4], "xyz"[at % 3]) for at in range(240)] * 2
    table = table_of(rows, 'person = "id"', tmp_path)
    front = sf.frontier(table, [sf.Mondrian(k=5), sf.Mondrian(k=500)], progress=False, workers=0)
    assert 2 * front.points[0].people == front.points[0].summary["smallest"]
    sf.report(front, tmp_path / "report.md")
    page = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "480 rows of 240 people. Known to others" in page
    assert "| smallest class | standing |" in page
    assert f"| {front.points[0].people} people |" in page
    assert front.compared == "2 releases asked for: 1 compared, 1 not made or not measured"
    show(front, front.recommend())
    assert f"{front.compared}." in capsys.readouterr().out


@pytest.mark.parametrize("keyed", [True, False])
def test_the_chance_of_somebody_with_many_rows_is_said_to_be_by_person(tmp_path, keyed):
    """20 % at worst was said where a person with 3 of 7 rows is picked by row with 43 %."""
    drawn = random.Random(5)
    rows = []
    for at in range(150):
        same = (10 * drawn.randrange(9), drawn.choice("FM"), drawn.choice("abcd"))
        rows += [(f"P{at}", *same, drawn.choice("xyz")) for _ in range(1 + 4 * (at % 5 == 0) if keyed else 1)]
    table = table_of(rows, 'person = "id"' if keyed else "rows_per_person = 1\ncopies_are_people = true", tmp_path)
    front = sf.frontier(table, [sf.Mondrian(sf.KAnonymity(5))], progress=False, workers=0)
    assert identity_of(table, sf.publish(table, front.points[0].mechanism)).get("several_rows", False) == keyed
    sf.report(front, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "known to be in the table is picked out of their class with a chance of" in page
    assert ("whoever picks one of its rows comes more often upon somebody with more rows than others." in page) == keyed


@pytest.mark.parametrize("really", [False, True])
def test_two_spellings_of_a_value_are_no_sign_of_several_people(tmp_path, capsys, really):
    rows = []
    for at in range(120):
        other = "FM"[(at + really) % 2] if really else ("female", "male")[at % 2]
        rows.append((f"P{at}", 30, "FM"[at % 2], "a", "x"))
        rows.append((f"P{at}", 30, other, "b", "y"))
    table_of(rows, 'person = "id"', tmp_path)
    with pytest.raises(SystemExit):
        main(["check", str(tmp_path / "visits.csv"), str(tmp_path / "visits.toml")])
    answer = " ".join(capsys.readouterr().out.split())
    assert ("of 120 keys 120 have rows that differ in at least two of sex, town" in answer) is really


def test_where_every_row_is_suppressed_there_is_no_smallest_class():
    """It was said to hold 4,611,686,018,427,387,904 people."""
    schema = sf.Schema.parse({"name": "t", "rows_per_person": 1, "attribute": {
        "age": {"role": "quasi", "kind": "numeric", "range": [0, 10], "step": 1},
        "ill": {"role": "sensitive", "values": ["a", "b", "c", "d"]}}})  # fmt: skip
    drawn = random.Random(5)
    rows = {"age": [at % 10 for at in range(40)], "ill": [drawn.choice("abcd") for _ in range(40)]}
    table = sf.read(pl.DataFrame(rows), schema)
    method = sf.DLink(sf.Mondrian(sf.KAnonymity(3)), d=4, alpha="0.985", max_suppressed="0.99")
    release = sf.publish(table, method)
    assert release.summary().classes == 0
    (point,) = sf.frontier(table, [method], workers=0, progress=False, panels=False).points
    assert (point.people, point.smallest) == (None, "")
