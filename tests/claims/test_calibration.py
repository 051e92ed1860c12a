"""Calibration: right where the model is true, and able to tell where it is not."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import sfumato as sf
import sfumato.attacks.calibration as calibration
from sfumato.attacks import Calibration, calibrate
from sfumato.counts import Table

SCHEMA = sf.Schema.parse(
    {
        "name": "people",
        "attribute": {
            "age": {"role": "quasi", "kind": "numeric", "range": [0, 40], "step": 1},
            "sex": {"role": "quasi", "kind": "nominal", "values": ["f", "m"]},
            "job": {"role": "quasi", "kind": "nominal", "values": list("abcdef")},
            "ill": {"role": "sensitive", "values": [f"s{i}" for i in range(12)]},
        },
    }
)
BASE = sf.Mondrian(sf.KAnonymity(5))


def people(rows=3000, seed=1) -> Table:
    """Independent attributes: the model is true."""
    rng = np.random.default_rng(seed)
    ill = rng.choice(12, rows, p=np.arange(12, 0, -1) / 78)
    codes = np.stack([rng.integers(0, 40, rows), rng.integers(0, 2, rows), rng.integers(0, 6, rows), ill], axis=1)
    return Table.from_codes(SCHEMA, codes)


def four_illnesses(rows=3000, seed=1) -> Table:
    """With d = 4 of 4 values there is no other subset to fall back on: the model has no slack."""
    ill = {"role": "sensitive", "values": ["s0", "s1", "s2", "s3"]}
    answer = {
        "age": {"role": "quasi", "kind": "numeric", "range": [0, 40], "step": 1},
        "sex": {"role": "quasi", "kind": "nominal", "values": ["f", "m"]},
        "job": {"role": "quasi", "kind": "nominal", "values": list("abcdef")},
    }
    rng = np.random.default_rng(seed)
    sick = rng.choice(4, rows, p=[0.5, 0.3, 0.15, 0.05])
    codes = np.stack([rng.integers(0, 40, rows), rng.integers(0, 2, rows), rng.integers(0, 6, rows), sick], axis=1)
    return Table.from_codes(sf.Schema.parse({"name": "four", "attribute": {**answer, "ill": ill}}), codes)


@pytest.mark.full
def test_rate_reaches_alpha_where_the_model_is_true() -> None:
    found = calibrate(people(), sf.DLink(BASE, d=4, alpha=0.8), repeats=4, victims=600)
    assert isinstance(found, Calibration)
    assert found.same_region.rate >= 0.8  # false alarm below 1e-6: every class has at least 0.8, most have more
    assert found.same_region.trials > 1000
    inside = calibrate(people(), sf.Mondrian(sf.KAnonymity(5) & sf.Linkability(4, 0.8)), repeats=2, victims=600)
    assert inside.same_region.rate >= 0.8


def test_without_uniting_the_rate_is_far_below() -> None:
    """The power of the test: classes of the base alone do not reach alpha."""
    loose = calibrate(people(), sf.DLink(BASE, d=4, alpha="1/1000"), repeats=2, victims=600)
    assert loose.same_region.rate < 0.5


def test_a_model_with_wrong_frequencies_is_caught() -> None:
    """A declared population in which the rarest value is as frequent as the others."""
    table = four_illnesses()
    right = calibrate(table, sf.DLink(BASE, d=4, alpha=0.8), repeats=3, victims=600)
    assert right.same_region.rate >= 0.8
    population = sf.Population("wrong", one_way={"ill": np.ones(4)})
    mechanism = sf.DLink(BASE, d=4, alpha=0.8, population=population)
    wrong = calibrate(table, mechanism, model="resampled", repeats=3, victims=600)
    assert wrong.same_region.interval[1] < 0.8
    assert not wrong.holds


def test_a_smaller_region_lowers_the_released_rate() -> None:
    """Theory B3-4: if others cut finer, fewer values are shared than the model says."""
    table, mechanism = four_illnesses(), sf.DLink(BASE, d=4, alpha=0.8)
    fine = calibrate(table, mechanism, other=sf.Mondrian(sf.KAnonymity(5)), repeats=2, victims=400)
    coarse = calibrate(table, mechanism, other=sf.Mondrian(sf.KAnonymity(150)), repeats=2, victims=400)
    assert fine.released.rate < 0.3
    assert not fine.holds
    assert coarse.released.rate > 0.9
    assert fine.same_region.rate == coarse.same_region.rate  # the same draws


def test_it_says_what_it_is_and_is_confidential() -> None:
    found = calibrate(people(800), sf.DLink(BASE, d=3, alpha=0.6), repeats=1, victims=100)
    answer = json.loads(json.dumps(found.to_json()))
    assert answer["confidential"]
    assert answer["same_region"]["trials"] > 0
    assert "no guarantee" in found.describe()
    again = calibrate(people(800), sf.DLink(BASE, d=3, alpha=0.6), repeats=1, victims=100)
    assert again == found
    with pytest.raises(sf.ParameterError, match="states no linkability"):
        calibrate(people(800), BASE)


def keyed(table: Table) -> Table:
    """The same rows, each with a person's key."""
    schema = replace(table.schema, person=("pid",), rows_per_person=1, rows_stated=True)
    return Table.from_codes(schema, table.codes(), people=range(table.rows))


def test_a_key_of_people_with_one_row_each_changes_nothing() -> None:
    """The other organisations' rows are of people, too; each of them has one, as stated."""
    mechanism = sf.DLink(BASE, d=3, alpha=0.6)
    plain = calibrate(people(800), mechanism, repeats=2, victims=200)
    named = calibrate(keyed(people(800)), mechanism, repeats=2, victims=200)
    assert (named.same_region, named.released) == (plain.same_region, plain.released)
    assert named.released.trials == 400
    for model in ("population", "resampled"):
        assert calibrate(keyed(people(800)), mechanism, model=model, repeats=1, victims=50).released.trials == 50


def test_other_tables_without_people_are_a_mutant_that_is_caught(monkeypatch) -> None:
    monkeypatch.setattr(calibration, "_one_each", Table.from_codes)
    with pytest.raises((AssertionError, sf.SfumatoError)):
        test_a_key_of_people_with_one_row_each_changes_nothing()


def test_of_many_classes_some_are_drawn_at_random():
    """Classes are numbered by their labels: of the first 200 alone the youngest were looked at."""
    schema = sf.Schema.parse(
        {
            "name": "ages",
            "attribute": {
                "age": {"role": "quasi", "kind": "numeric", "range": [0, 300], "step": 1},
                "ill": {"role": "sensitive", "values": ["a", "b"]},
            },
        }
    )
    age = np.arange(3000) % 300
    codes = np.column_stack([age, (age >= 200) & (np.arange(3000) // 300 % 2 == 0)]).astype(np.int64)
    table = Table.from_codes(schema, codes)
    ours = sf.publish(table, sf.Mondrian(sf.KAnonymity(10)))
    assert len(ours.groups) == 300
    stream = sf.Entropy.seeded(1)
    rates = [calibration._same_region(ours, table, codes, codes, 2, stream.child(str(turn))).rate for turn in range(20)]
    assert np.mean(rates) == pytest.approx(1 / 3, abs=0.03)  # a standard error of 0.004
