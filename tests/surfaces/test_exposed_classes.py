"""Classes of one person or of one sensitive value are said to be so, whatever the release promises."""

from __future__ import annotations

import json
import random
import tomllib
from dataclasses import replace

import polars as pl
import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.cli.main import app

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
    assert "nobody can tell" not in dictionary
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
