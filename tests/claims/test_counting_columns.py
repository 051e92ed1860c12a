"""A table of frequencies: a line stands for `n` people, and is not counted as one of them."""

from __future__ import annotations

import random
import tomllib

import polars as pl
import pytest

import sfumato as sf
from sfumato.schema.word_hints import holds_counts, named_like_counts

QUASI = {
    "age": {"role": "quasi", "kind": "numeric", "range": [0, 100], "intervals": [5, 20]},
    "sex": {"role": "quasi", "values": ["F", "M"]},
    "illness": {"role": "sensitive", "values": ["flu", "gout", "none"]},
}


def cells(name, seed=1):
    rng = random.Random(seed)
    rows = [
        (age, sex, illness, rng.choice([0, 0, 1, 2, 9]))
        for age in range(18, 80)
        for sex in "FM"
        for illness in ("flu", "gout", "none")
    ]
    return pl.DataFrame(rows, schema=["age", "sex", "illness", name], orient="row")


def schema(more=None, /, **head):
    return sf.Schema.parse({"name": "t", "rows_per_person": 1, **head, "attribute": {**QUASI, **(more or {})}})


@pytest.mark.parametrize("name", ["n", "count", "freq", "Anzahl", "weight", "N", "number of people", "caseCount"])
@pytest.mark.parametrize("role", [None, "other", "target"])
def test_rows_are_not_people_beside_a_number_of_people(name, role):
    frame = cells(name)
    column = {} if role is None else {name: {"role": role, "kind": "numeric", "range": [0, 10]}}
    found = sf.check(frame, schema(column))
    assert len(found) == 1
    assert found[0].path in (name, f"attribute.{name}")
    assert "number of people a row stands for" in found[0].rule
    assert f'not_person = ["{name}"]' in found[0].hint
    with pytest.raises(sf.SchemaError, match="number of people a row stands for"):
        sf.publish(sf.read(frame, schema(column)), sf.Mondrian(sf.KAnonymity(5)))
    assert not sf.check(frame, schema(column, not_person=[name]))
    rows = sf.Schema.parse({"name": "t", "attribute": {**QUASI, **column}})  # claims speak of rows
    assert not sf.check(frame, rows)


@pytest.mark.parametrize("name", ["n", "Anzahl"])
def test_a_draft_asks_whether_a_row_is_a_person(name):
    asked = " ".join(tomllib.loads(sf.draft(cells(name)))["decide"])
    assert f"is each row one person, or is {name} the number of people?" in asked
    assert "number of people?" not in " ".join(tomllib.loads(sf.draft(cells("shoe_size")))["decide"])


def test_names_and_numbers_that_count_nobody():
    for name in ("visit_count", "weight_kg", "children", "n_rooms", "country", "number", "account", "score", "no"):
        assert not named_like_counts(name), name
    for texts in (["1"], ["1.0", "1"], ["0.5", "2"], ["low", "2"], ["-1", "3"], []):
        assert not holds_counts("n", texts), texts
    assert holds_counts("n", ["0", "1"])
    assert holds_counts("weight", ["3", "80"])
    assert not holds_counts("weight", ["48", "80"])  # kilograms


def test_the_hint_of_verify_does_not_lead_to_a_false_verdict(tmp_path):
    """Fourteen lines that stand for seven people: no role in the schema makes them hold."""
    lines = ["age,sex,illness,n"] + [f"[20-40),F,{ill},{n}" for ill in ("flu", "gout") for n in (0, 0, 0, 0, 1, 1, 1)]
    (tmp_path / "f.csv").write_text("\n".join(lines) + "\n")
    plain = sf.verify(tmp_path / "f.csv", schema=schema(), requirement=sf.KAnonymity(10))
    assert not plain.holds
    assert any("--counts n" in problem.hint for problem in plain.problems)
    assert not any("role" in problem.hint for problem in plain.problems)
    for role in ("target", "sensitive"):
        given = {"n": {"role": role, "kind": "numeric", "range": [0, 10]}}
        assert not sf.verify(tmp_path / "f.csv", schema=schema(given), requirement=sf.KAnonymity(10)).holds
        said = schema(given, not_person=["n"])
        assert sf.verify(tmp_path / "f.csv", schema=said, requirement=sf.KAnonymity(10)).holds
