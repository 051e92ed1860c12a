"""Classes of one person or of one sensitive value are said to be so, whatever the release promises."""

from __future__ import annotations

import json
import random
import tomllib
import warnings
from dataclasses import replace

import polars as pl
import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.cli.main import app
from sfumato.errors import PublicationWarning

SCHEMA = """
name = "members"
rows_per_person = 1
[attribute.age]
role = "quasi"
kind = "numeric"
range = [0, 100]
[attribute.town]
role = "quasi"
values = ["a", "b", "c", "d"]
[attribute.illness]
role = "sensitive"
values = ["flu", "gout", "none"]
"""


def _frame() -> pl.DataFrame:
    draw = random.Random(5)
    return pl.DataFrame(
        {
            "age": [draw.randrange(100) for _ in range(300)],
            "town": [draw.choice("abcd") for _ in range(300)],
            "illness": [draw.choice(["flu", "gout", "none", "none"]) for _ in range(300)],
        }
    )


@pytest.fixture
def files(tmp_path):
    _frame().write_csv(tmp_path / "d.csv")
    (tmp_path / "s.toml").write_text(SCHEMA)
    return [str(tmp_path / "d.csv"), str(tmp_path / "s.toml")]


LOOSE = [["mondrian", "--t", "0.6"], ["bucketize", "--t", "0.6"], ["mondrian", "--beta", "9"]]


@pytest.mark.parametrize("asked", LOOSE, ids=" ".join)
def test_classes_of_one_person_or_one_value_are_said_under_any_requirement(asked, files, tmp_path) -> None:
    out = tmp_path / "out"
    done = CliRunner().invoke(app, ["publish", asked[0], *files, *asked[1:], "-o", str(out)])
    assert done.exit_code == 0, done.exception
    exposed = sf.Release.load(out).exposed()
    told = " ".join(done.output.split())
    assert exposed.single
    assert exposed.alike["illness"] >= exposed.single
    assert f"Warning: in {exposed.single:,} of {exposed.classes:,}" in told
    assert "there is one person only" in told
    assert f"in {exposed.alike['illness']:,} of" in told
    assert "all rows have one value of illness" in told
    assert "Only the link to illness is hidden" not in told
    dictionary = " ".join((out / "dictionary.md").read_text().split())
    assert "so that several records look alike" not in dictionary
    assert "whose is whose" not in dictionary
    assert "there is one person only" in dictionary
    heard = CliRunner().invoke(app, ["publish", asked[0], *files, *asked[1:], "--json", "-o", str(tmp_path / "again")])
    assert any("one person only" in text for text in json.loads(heard.stdout)["warnings"])


def test_where_k_and_l_are_asked_for_the_dictionary_says_that_records_look_alike(files, tmp_path) -> None:
    done = CliRunner().invoke(app, ["publish", "mondrian", *files, "--k", "5", "--l", "2", "-o", str(tmp_path / "out")])
    assert "one person only" not in done.output
    assert "all rows have one value" not in done.output
    assert "several records look alike" in " ".join((tmp_path / "out" / "dictionary.md").read_text().split())


def test_exposed_counts_people_not_rows() -> None:
    schema = sf.Schema.parse(tomllib.loads(SCHEMA))
    release = sf.publish(sf.read(_frame(), schema), sf.Mondrian(sf.TCloseness("0.6")))
    brute = release.frame().group_by("age", "town").agg(pl.len(), pl.col("illness").n_unique().alias("values"))
    exposed = release.exposed()
    assert exposed.classes == brute.height
    assert exposed.single == (brute["len"] == 1).sum()
    assert exposed.alike == {"illness": (brute["values"] == 1).sum()}
    twice = replace(release, schema=replace(release.schema, rows_per_person=2))
    assert twice.exposed().single == (brute["len"] <= 2).sum()
    assert "there may be one person only: they have at most 2 rows" in twice.exposed().alone()


def test_a_recommendation_says_that_classes_hold_one_person() -> None:
    schema = sf.Schema.parse(tomllib.loads(SCHEMA))
    table = sf.read(_frame(), schema)
    front = sf.frontier(table, [sf.Mondrian(sf.TCloseness("0.6"))], panels=False)
    with pytest.raises(sf.Infeasible):
        front.recommend()  # the default policy keeps no class of one person
    asked = front.recommend(sf.Policy({"k": 1}))
    assert "classes there is one person only; ask for k as well." in asked.reason
    safe = sf.frontier(table, [sf.Mondrian(sf.KAnonymity(5))], panels=False)
    assert "one person only" not in safe.recommend().reason


PAYROLL = """
name = "payroll"
person = "employee"
source = "public"
[attribute.employee]
role = "identifier"
[attribute.age]
role = "quasi"
kind = "numeric"
range = [20, 70]
[attribute.illness]
role = "sensitive"
values = ["flu", "gout", "none"]
"""


def _stays() -> pl.DataFrame:
    """Everybody has two stays. Below 45 the first is always for gout; above, illnesses differ."""
    draw = random.Random(3)
    rows = []
    for who in range(120):
        age = draw.randrange(20, 70)
        first = "gout" if age < 45 else draw.choice(["flu", "none", "gout"])
        rows += [(f"e{who}", age, first), (f"e{who}", age, draw.choice(["flu", "none"]))]
    return pl.DataFrame(rows, schema=["employee", "age", "illness"], orient="row")


@pytest.mark.parametrize("asked", [["--k", "5"], ["--k", "5", "--t", "0.4"]], ids=" ".join)
def test_a_value_that_everybody_of_a_class_has_is_said_though_rows_differ(asked, tmp_path) -> None:
    frame = _stays()
    frame.write_csv(tmp_path / "d.csv")
    (tmp_path / "s.toml").write_text(PAYROLL)
    out = tmp_path / "out"
    files = [str(tmp_path / "d.csv"), str(tmp_path / "s.toml")]
    command = ["publish", "mondrian", *files, *asked, "--format", "csv", "-o", str(out)]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    told = " ".join(done.output.split())
    classes = [label.strip("[)").split("-") for label in pl.read_csv(out / "data.csv")["age"].unique()]
    everybody = 0
    for low, *high in classes:
        end = int(high[0]) if high else int(low) + 1
        inside = frame.filter(pl.col("age").is_between(int(low), end, closed="left"))
        people = inside["employee"].n_unique()
        everybody += max(inside.group_by("illness").agg(pl.col("employee").n_unique())["employee"]) == people
    assert everybody
    assert f"in {everybody} of {len(classes)} classes everybody has one value" in told
    assert "in 0 of" not in told


def test_a_count_of_rows_alone_would_not_see_it(tmp_path) -> None:
    """The mutant: classes in which all rows have one value. There is none, and everybody has gout in some."""
    table = sf.read(_stays(), sf.Schema.parse(tomllib.loads(PAYROLL)))
    release = sf.publish(table, sf.Mondrian(sf.KAnonymity(5) & sf.TCloseness(0.4)))
    assert release.exposed().alike["illness"] == release.seen_by_key.alike["illness"] > 0
    assert replace(release, people=None).exposed().alike["illness"] == 0


def test_the_library_and_the_verifier_name_classes_of_one_person(tmp_path) -> None:
    table = sf.read(_frame(), sf.Schema.parse(tomllib.loads(SCHEMA)))
    release = sf.publish(table, sf.Mondrian(sf.TCloseness("0.6")))
    single = release.exposed().single
    assert single
    assert any(f"in {single:,} of" in text for text in release.warnings())
    with pytest.warns(PublicationWarning) as saved:
        release.save(tmp_path / "a")
    with pytest.warns(PublicationWarning) as published:
        sf.publish(table, sf.Mondrian(sf.TCloseness("0.6")), save_to=tmp_path / "b")
    for heard in (saved, published):
        assert any(
            str(one.message).startswith(f"In {single:,} of") and "one person only" in str(one.message) for one in heard
        )
    assert f"Warning: in {single:,} of" in str(sf.verify(tmp_path / "a"))
    hidden = sf.publish(table, sf.Mondrian(sf.KAnonymity(5) & sf.LDiversity(2)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hidden.save(tmp_path / "c")
    assert "Warning" not in str(sf.verify(tmp_path / "c"))
