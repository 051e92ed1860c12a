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
    assert f'not_count = ["{name}"]' in found[0].hint
    with pytest.raises(sf.SchemaError, match="number of people a row stands for"):
        sf.publish(sf.read(frame, schema(column)), sf.Mondrian(sf.KAnonymity(5)))
    assert not sf.check(frame, schema(column, not_count=[name]))
    assert not sf.check(frame, schema(column, not_person=[name]))
    rows = sf.Schema.parse({"name": "t", "attribute": {**QUASI, **column}})  # claims speak of rows
    assert not sf.check(frame, rows)


@pytest.mark.parametrize(
    "name", ["Fälle", "Faelle", "Bevölkerung", "Bevoelkerung", "FÄLLE", "Fa\u0308lle", "Häufigkeit"]
)
def test_a_number_of_people_is_known_with_its_umlaut(name):
    """Names of counts lost their marks, ä became a: Fälle and Bevölkerung were no numbers of people, Faelle was."""
    assert named_like_counts(name)
    with pytest.raises(sf.SchemaError, match="number of people a row stands for"):
        sf.publish(sf.read(cells(name), schema()), sf.Mondrian(sf.KAnonymity(5)))


NAMES = ["cases", "Personen", "Einwohner", "inhabitants", "N_OBS", "population", "patients", "wt", "hochrechnung"]
FACTORS = ["pond", "expansion", "expansion_factor", "multiplicity"]


@pytest.mark.parametrize(
    "name", [*NAMES, "residents", "personnes", "habitantes", "abitanti", "inwoners", "gew", "N_pers", *FACTORS]
)
def test_other_names_of_a_number_of_people(name):
    assert "number of people a row stands for" in sf.check(cells(name), schema())[0].rule


@pytest.mark.parametrize("name", ["num", "total", "number", "zzz"])
@pytest.mark.parametrize("share", [1, 0.7])
def test_a_cross_table_is_known_by_its_look(name, share):
    frame = cells(name).sample(fraction=share, seed=1)
    assert not sf.check(frame, schema())
    table = sf.read(frame, schema())
    (found,) = table.doubts.suspected_keys()
    assert found.path == name
    assert "as in a table of counts" in found.rule
    with pytest.raises(sf.SchemaError, match="as in a table of counts"):
        sf.publish(table, sf.Mondrian(sf.KAnonymity(5)))
    assert not [
        one for one in sf.read(frame, schema(not_count=[name])).doubts.suspected_keys() if "table of" in one.rule
    ]


@pytest.mark.parametrize("head", [{}, {"rows_per_person": 1}])
def test_a_cross_table_with_an_unpublished_column_is_known_too(head):
    """With a column left out the others repeat, and a table of counts was published as one of people."""
    rng = random.Random(4)
    frame = pl.concat(
        cells("zzz", at).with_columns(pl.lit(channel).alias("channel")) for at, channel in enumerate("op")
    )
    frame = frame.with_columns(pl.Series("note", [rng.choice("xyz") for _ in range(frame.height)]))
    column = {"zzz": {"role": "sensitive", "kind": "numeric", "range": [0, 10]}}
    parsed = sf.Schema.parse({"name": "t", **head, "attribute": {**QUASI, **column}})
    (found,) = sf.read(frame, parsed).doubts.suspected_keys()
    assert found.path == "attribute.zzz"
    assert "no two rows agree in the other published columns and in channel, as in a table of counts" in found.rule
    with pytest.raises(sf.SchemaError, match="as in a table of counts"):
        sf.publish(sf.read(frame, parsed), sf.Mondrian(sf.KAnonymity(5)))
    agreeing = pl.concat([frame, frame.head(1)])
    assert not [one for one in sf.read(agreeing, parsed).doubts.suspected_keys() if "table of" in one.rule]


def test_people_with_unpublished_columns_are_no_cross_table():
    rng = random.Random(5)
    size = 2000
    known = {"age": [rng.randrange(18, 80) for _ in range(size)], "sex": [rng.choice("FM") for _ in range(size)]}
    frame = pl.DataFrame(known | {"illness": [rng.choice(["flu", "gout", "none"]) for _ in range(size)]})
    whose = {
        "number": [*range(size)],
        "household": [at // 3 for at in range(size)],
        "seat": [at % 3 for at in range(size)],
    }
    more = {name: [rng.randrange(9) for _ in range(size)] for name in ("children", "rooms", "score", "visits_before")}
    frame = frame.with_columns(pl.Series(name, values) for name, values in (whose | more).items())
    found = sf.read(frame, schema()).doubts.suspected_keys()
    assert not [one for one in found if "table of" in one.rule]


def test_people_with_a_whole_number_are_no_cross_table(monkeypatch):
    rng = random.Random(3)
    rows = [
        (rng.randrange(18, 80), rng.choice("FM"), rng.choice(["flu", "gout", "none"]), rng.randrange(9))
        for _ in range(400)
    ]
    frame = pl.DataFrame(rows, schema=["age", "sex", "illness", "zzz"], orient="row")
    for some in (frame, frame.head(20)):  # twenty people may all differ
        assert not sf.read(some, schema()).doubts.suspected_keys()
    monkeypatch.setattr("sfumato.counts.counting_columns._NO_CHANCE", 0)
    distinct = frame.unique(["age", "sex", "illness"]).head(20)
    assert sf.read(distinct, schema()).doubts.suspected_keys()  # the mutant


def test_no_hint_proposes_a_sensitive_column_as_person():
    (found,) = sf.read(cells("zzz").drop("zzz"), schema()).doubts.suspected_keys()
    assert found.path == "attribute.illness"
    assert 'person = "' not in found.hint
    assert "name the `person` in a column of its own" in found.hint


@pytest.mark.parametrize("name", ["n", "Anzahl", "total", "qty", "Quantity", "numero", "Número", "N_pers", *FACTORS])
def test_a_draft_asks_whether_a_row_is_a_person(name):
    asked = " ".join(tomllib.loads(sf.draft(cells(name)))["decide"])
    assert f"is each row one person, or is {name} the number of people?" in asked
    assert "number of people?" not in " ".join(tomllib.loads(sf.draft(cells("shoe_size")))["decide"])
    numbered = cells(name).with_columns(pl.Series("total", range(372)))  # numbers of rows
    assert "is total the number" not in " ".join(tomllib.loads(sf.draft(numbered))["decide"])


def test_names_and_numbers_that_count_nobody():
    for name in (
        "visit_count",
        "weight_kg",
        "children",
        "n_rooms",
        "country",
        "number",
        "account",
        "score",
        "no",
        "gewerbe",
        "risk_factor",
        "factor",
        "pers",
    ):
        assert not named_like_counts(name), name
    for texts in (["1"], ["1.0", "1"], ["0.5", "2"], ["low", "2"], ["-1", "3"], []):
        assert not holds_counts("n", texts), texts
    assert holds_counts("n", ["0", "1"])
    assert holds_counts("weight", ["3", "80"])
    assert not holds_counts("weight", ["48", "80"])  # kilograms
    assert not holds_counts("gew", ["48", "80"])


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
        said = schema(given, not_count=["n"])
        assert sf.verify(tmp_path / "f.csv", schema=said, requirement=sf.KAnonymity(10)).holds
