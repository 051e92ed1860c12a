"""The generated census table: shape, determinism, and its dependence beside a real table's."""

from __future__ import annotations

import csv
import math
import tomllib

import numpy as np
import polars as pl
import pytest

from sfumato.datasets import (
    CENSUS_COLUMNS,
    CENSUS_SCHEMA,
    KDD,
    census_frame,
    census_information,
    census_parameters,
    mutual_information,
)
from sfumato.datasets.census import CHUNK, _Alias, _model, _occupation
from sfumato.errors import ParameterError

SCHEMA = tomllib.loads(CENSUS_SCHEMA.read_text(encoding="utf-8"))["attribute"]
QUASI = {name: name for name in ("age", "sex", "education", "race")} | {"birthplace": "country_of_birth_self"}


@pytest.fixture(scope="module")
def census() -> pl.DataFrame:
    return census_frame(300_000, seed=3)


def share(frame: pl.DataFrame, **values: str) -> float:
    return frame.select(pl.all_horizontal(pl.col(name) == value for name, value in values.items())).mean().item()


def declared(name: str) -> list[str]:
    attribute = SCHEMA[name]
    if "values" in attribute:
        return attribute["values"]
    with (CENSUS_SCHEMA.parent / attribute["hierarchy"]).open(encoding="utf-8", newline="") as lines:
        return [line[0] for line in csv.reader(lines, delimiter=";")]


def test_mutual_information_is_census_like():
    table = census_information(300_000, seed=3)
    assert table.height == 15
    assert table["ratio"].min() > 0.5
    assert table["ratio"].max() < 2


def test_mutual_information_also_agrees_with_the_plain_estimate():
    # The same KDD figures without the correction for bias, which is largest in the 16,888 hourly wages.
    plain = {
        "occupation": (0.0911, 0.1683, 0.3048, 0.0175, 0.0489),
        "salary above 50,000": (0.0287, 0.0201, 0.0550, 0.0024, 0.0042),
        "salary": (0.2131, 0.0267, 0.0938, 0.0086, 0.0487),
    }
    table = census_information(300_000, seed=4)
    for about, figures in plain.items():
        generated = table.filter(pl.col("about") == about)
        assert generated["attribute"].to_list() == list(QUASI)
        ratios = generated["generated"].to_numpy() / np.array(figures)
        assert ((ratios > 0.5) & (ratios < 2)).all(), about


def test_kdd_figures_are_those_of_the_file(public_data):
    file = public_data("census_income_kdd/census_income_kdd.parquet", "UCI Census-Income (KDD)")
    people = pl.read_parquet(file).filter(pl.col("detailed_occupation_recode") != 0)
    hourly = people.filter(pl.col("wage_per_hour") > 0)
    assert (people.height, hourly.height) == (148_318, 16_888)
    wage = hourly["wage_per_hour"].to_numpy()
    classes = np.searchsorted(np.quantile(wage, np.arange(1, 50) / 50), wage, side="right")
    assert np.unique(classes).size == 40
    sources = {
        "occupation": (people, people["detailed_occupation_recode"].to_numpy()),
        "salary above 50,000": (people, people["income"].to_numpy()),
        "salary": (hourly, classes),
    }
    for about, (frame, target) in sources.items():
        for name, column in QUASI.items():
            found = mutual_information(frame[column].to_physical().to_numpy(), target)
            assert round(found, 4) == KDD[about][name], (about, name)


def test_mutual_information_of_known_tables():
    four = np.array([0, 0, 1, 1])
    # identical: ln 2, and the correction is (2 - 2 - 2 + 1) / 8; independent: 0, and it is (4 - 2 - 2 + 1) / 8
    assert mutual_information(four, four) == pytest.approx(math.log(2) + 1 / 8)
    assert mutual_information(four, np.array([0, 1, 0, 1])) == pytest.approx(-1 / 8)


def test_domains_are_those_of_the_schema(census):
    assert tuple(census.columns) == CENSUS_COLUMNS == tuple(SCHEMA)
    sizes = {"sex": 2, "education": 20, "race": 6, "birthplace": 41, "occupation": 50}
    for name, size in sizes.items():
        assert len(declared(name)) == size
        assert census[name].dtype == pl.Enum(list(census_parameters()[name]))
        assert list(census_parameters()[name]) == declared(name), "codes follow the tree's leaves"
    assert set(census["occupation"].cast(pl.String)) == set(declared("occupation"))
    assert SCHEMA["age"]["range"] == [0, 100]
    assert census["age"].is_between(15, 99).all()
    low, high = SCHEMA["salary"]["range"]
    assert set(census["salary"].unique()) == set(range(low, high, SCHEMA["salary"]["step"]))
    assert len(range(low, high, SCHEMA["salary"]["step"])) == 50


def test_it_looks_like_a_labour_force(census):
    assert share(census, birthplace="United States") == pytest.approx(0.890, abs=0.005)
    assert share(census, sex="Female") == pytest.approx(0.473, abs=0.005)
    assert 0.8 < share(census, race="White") < 0.9
    assert 30 < census["age"].median() < 45
    assert (census["salary"] >= 50_000).mean() == pytest.approx(0.116, abs=0.02)  # 0.116 in KDD
    secretaries = census.filter(pl.col("occupation") == "Secretaries and typists")
    assert share(secretaries, sex="Female") > 0.9
    teenagers = census.filter(pl.col("age") < 18)
    assert set(teenagers["education"].cast(pl.String)).isdisjoint({"Bachelor", "High school diploma"})
    japan = census.filter(pl.col("birthplace") == "Japan")
    assert share(japan, race="Asian") > 0.8
    pay = census.group_by("education").agg(pl.col("salary").mean()).sort("education")["salary"]
    assert pay[17] > 1.3 * pay[11] > 1.5 * pay[5]  # master, high school diploma, grades 7 and 8


def test_the_same_seed_gives_the_same_table_and_another_seed_another(census):
    assert census_frame(300_000, seed=3).equals(census)
    other = census_frame(300_000, seed=2)
    assert (other["age"] == census["age"]).mean() < 0.1


def test_a_shorter_table_is_the_beginning_of_a_longer_one(census):
    assert census.height > CHUNK, "the longer table must span two chunks"
    for rows in (0, 1, 1000, CHUNK, CHUNK + 1):
        assert census_frame(rows, seed=3).equals(census.head(rows))
    start, second = census.head(30_000), census.slice(CHUNK, 30_000)
    assert (start["age"] == second["age"]).mean() < 0.1, "chunks must not repeat one another"


def test_alias_tables_hold_the_weights_they_were_made_of():
    weights = _occupation(census_parameters())[::97]
    alias = _Alias.of(weights)
    m, n = weights.shape
    found = alias.keep.astype(np.float64)
    for column in range(n):
        np.add.at(found, (np.arange(m), alias.other[:, column]), 1 - alias.keep[:, column].astype(np.float64))
    expected = weights / weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found / n, expected, atol=1e-6)


def test_a_value_of_weight_zero_is_never_drawn():
    alias = _Alias.of(np.array([[0.0, 3.0, 0.0, 1.0]]))
    drawn = alias.draw(np.random.Generator(np.random.Philox(1)), np.zeros(10_000, np.intp))
    assert np.bincount(drawn, minlength=4)[[0, 2]].tolist() == [0, 0]
    assert (drawn == 1).mean() == pytest.approx(0.75, abs=0.02)


def test_occupations_follow_their_law():
    # One condition drawn often: the lookup must land in the row of that condition.
    p, rows = census_parameters(), 200_000
    region, race, sex, band, education = 1, 0, 1, 8, 11
    cell = ((((region * 6 + race) * 2 + sex) * 20 + band) * 20) + education
    drawn = _model().occupation.draw(np.random.Generator(np.random.Philox(2)), np.full(rows, cell))
    row = list(p["region"].values())[region], list(p["race"].values())[race], list(p["education"].values())[education]
    weights = []
    for job in p["occupation"].values():
        women, men = job["women"] ** p["strength"]["women"], (1 - job["women"]) ** p["strength"]["women"]
        years = (row[2]["years"] - job["schooling"]) / p["strength"]["schooling_spread"]
        age = (band * 5 + 2 - job["age"]) / p["strength"]["age_spread"]
        pull = sum(row[0][kind] * job[kind] for kind in ("labour", "science")) + row[1]["minority"] * job["minority"]
        weights.append(job["weight"] * women / (women + men) * math.exp(pull - years**2 / 2 - age**2 / 2))
    expected = np.array(weights) / sum(weights) * rows
    chi2 = ((np.bincount(drawn, minlength=50) - expected) ** 2 / expected).sum()
    assert chi2 < 110  # 49 degrees of freedom: above with probability 1e-6


@pytest.mark.parametrize("wrong", [{"rows": -1, "seed": 0}, {"rows": 1, "seed": -1}, {"rows": 1, "seed": 1 << 64}])
def test_wrong_parameters_are_named(wrong):
    with pytest.raises(ParameterError, match="rows" if wrong["rows"] < 0 else "seed"):
        census_frame(**wrong)


@pytest.mark.full
def test_ten_million_rows_fit_in_memory():
    frame = census_frame(10_000_000, seed=0)
    assert frame.height == 10_000_000
    assert frame.estimated_size() < 200e6
