"""Where a person may have several rows, attacks speak of people: rates, classes, conditions."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.attacks import Identity, Inference, Knowledge, SinglingOut, attack_all, victims as victims_module
from sfumato.attacks.singling_out import Predicates

SCHEMA = sf.Schema.parse(
    {
        "name": "visits",
        "source": "public",
        "person": "mrn",
        "attribute": {
            "mrn": {"role": "identifier"},
            "age": {"role": "quasi", "kind": "numeric", "range": [0, 100], "step": 1},
            "ward": {"role": "quasi", "kind": "nominal", "values": ["a", "b", "c"]},
            "ill": {"role": "sensitive", "kind": "nominal", "values": ["flu", "asthma", "burn", "gout"]},
            "drug": {"role": "sensitive", "kind": "nominal", "values": ["x", "y"]},
        },
    }
)
EVERYTHING = Knowledge()


def visits(rows):
    """Rows of (mrn, age, ward, ill, drug)."""
    frame = pl.DataFrame(rows, schema=["mrn", "age", "ward", "ill", "drug"], orient="row")
    return sf.read(frame, SCHEMA)


def exact(table):
    """The table as it is, published by somebody else."""
    codes = table.codes(("age", "ward", "ill", "drug"))
    columns = {
        name: [SCHEMA[name].text(int(code)) for code in codes[:, at]]
        for at, name in enumerate(("age", "ward", "ill", "drug"))
    }
    return sf.Release.read(pl.DataFrame(columns), SCHEMA)


def regular():
    """One person with thirty equal rows, and ten people with one row each, of whom two are alike in all but illness."""
    rows = [("p0", 50, "a", "flu", "x")] * 30
    rows += [(f"p{at}", 10 + at // 2 * 2, "b", ("asthma", "burn")[at % 2], "y") for at in range(2, 12)]
    return visits(rows)


def test_rates_are_of_people():
    table = regular()
    assert table.people == 11
    found = Inference().run([exact(table)], Knowledge(attribute="ill"), table)
    assert found.targets.trials == 11
    assert found.targets.successes == 1 + 5  # the person with thirty rows, and one of each pair
    by_rows = 30 + 5
    assert found.targets.successes < by_rows


def test_a_mutant_that_counts_rows_is_caught(monkeypatch):
    monkeypatch.setattr(victims_module, "one_row_each", lambda *_: None)
    with pytest.raises(AssertionError):
        test_rates_are_of_people()


def test_a_class_of_one_persons_rows_hides_nobody():
    """Thirty rows in a class, all of one person: whoever points at one of them points at that person."""
    table = regular()
    found = Identity().run([exact(table)], EVERYTHING, table)
    ages = found.records.codes[:, 0]
    assert found.records.chance[ages == 50].tolist() == [1.0]
    assert set(found.records.chance[ages != 50].tolist()) == {0.5}
    assert "a right row of" in found.sentence
    mixed = visits([("p0", 50, "a", "flu", "x")] * 3 + [("p1", 50, "a", "burn", "y")])
    shared = Identity().run([exact(mixed)], EVERYTHING, mixed)
    assert sorted(shared.records.chance.tolist()) == [0.25, 0.75]


def test_a_condition_singles_out_people_not_rows():
    table = regular()
    conditions = Predicates(
        ("age", "ward"), low=np.array([[50, 0], [0, 1], [12, 1]]), high=np.array([[51, 1], [100, 2], [13, 2]])
    )
    assert conditions.met_by(table.counts(("age", "ward"))).tolist() == [30, 10, 2]
    assert conditions.met_by_one(table).tolist() == [True, False, False]
    assert SinglingOut(columns=2, attempts=20).run([exact(table)], EVERYTHING, table).targets.trials > 0


def test_the_whole_suite_on_people_with_several_rows():
    rng = np.random.default_rng(3)
    rows = [
        (
            f"p{who}",
            int(rng.integers(0, 100)),
            "abc"[rng.integers(0, 3)],
            ("flu", "asthma", "burn", "gout")[ill],
            "xy"[ill % 2],
        )
        for who in range(120)
        for ill in rng.integers(0, 4, 1 + who % 3)
    ]
    table, control = sf.holdout(visits(rows), seed=1)
    found = attack_all(exact(table), table, control)
    for gain in found.gains:
        if gain.attack in ("inference", "skewness", "identity", "learner", "definetti"):
            assert gain.targets.trials == table.people, gain.attack
            assert gain.controls.trials == control.people, gain.attack
