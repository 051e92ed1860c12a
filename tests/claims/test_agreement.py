"""Keys of people that no name gives away: found by rows that agree, in every role, and never in ordinary columns."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.counts import agreement

TOWNS = ["Arnhem", "Breda", "Delft", "Gouda"]
ILL = ["asthma", "flu", "gout", "migraine"]
QUASI = {
    "age": {"role": "quasi", "kind": "numeric", "range": [0, 120]},
    "sex": {"role": "quasi", "values": ["F", "M"]},
    "town": {"role": "quasi", "values": TOWNS},
    "illness": {"role": "sensitive", "values": ILL},
}
K5 = sf.Mondrian(sf.KAnonymity(5))


def schema(more=None, /, **head):
    return sf.Schema.parse({"name": "t", "rows_per_person": 1, **head, "attribute": {**QUASI, **(more or {})}})


def people(seed=3, number=250, most=9):
    """One line for each row of each person: number, row of the person, age, sex, town."""
    rng = np.random.default_rng(seed)
    rows = []
    for person in range(number):
        age, sex, town = int(rng.integers(18, 90)), str(rng.choice(["F", "M"])), str(rng.choice(TOWNS))
        times = 1 if rng.random() < 0.4 else int(rng.integers(3, most + 1))
        rows += [(person, at, age, sex, town, str(rng.choice(ILL))) for at in range(times)]
    frame = pl.DataFrame(rows, schema=["person", "at", "age", "sex", "town", "illness"], orient="row")
    return frame.sample(fraction=1, shuffle=True, seed=seed)


def told(frame, described):
    """What check warns of or refuses, by column."""
    problems = sf.check(frame, described)
    return problems or list(sf.read(frame, described).remarks())


@pytest.mark.parametrize("name", ["patient_id", "actor"])
@pytest.mark.parametrize("role", ["quasi", "sensitive", "target", "other", "identifier"])
def test_a_key_in_any_role_is_refused(name, role):
    frame = people().with_columns(pl.format("u{}", "person").alias(name)).drop("person", "at")
    column = {name: {"role": role, "values": sorted(frame[name].unique())}}
    found = sf.check(frame, schema(column))
    assert [problem.path for problem in found] == [f"attribute.{name}"]
    assert f'person = "{name}"' in found[0].hint
    assert ('role = "identifier"' in found[0].hint) == (role in ("quasi", "sensitive", "target"))
    with pytest.raises(sf.SchemaError, match="of one person do|looks like the key of a person"):
        sf.publish(sf.read(frame, schema(column)), K5)
    assert not sf.check(frame, schema(column, not_person=[name]))
    assert not sf.check(frame, schema(column, rows_per_person=9))


def test_the_second_look_at_a_table_says_the_same():
    frame = people().with_columns(clinic=pl.format("c{}", pl.col("person") // 8)).drop("person", "at")
    frame = frame.with_columns(age=pl.col("clinic").str.slice(1).cast(int), sex=pl.lit("F"), town=pl.lit("Breda"))
    table = sf.read(frame, schema({"clinic": {"role": "identifier"}}))
    assert (found := [str(one) for one in table.repeated_keys()])
    assert found == [str(one) for one in table.repeated_keys()]


def test_a_hint_proposes_no_number_read_off_the_data():
    frame = people().with_columns(mrn=pl.format("u{}", "person")).drop("person", "at")
    hint = sf.check(frame, schema())[0].hint
    assert "rows_per_person = m" in hint
    assert "without looking at the data" in hint
    assert hint.startswith('person = "mrn"')
