"""A wrong join repeats every row: the combinations of its columns occur a multiple of times."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.counts import copies
from sfumato.errors import PublicationWarning

TOWNS = ["Bonn", "Hof", "Jena", "Kiel", "Ulm"]
CLINICS = [f"C{at}" for at in range(15)]
QUASI = {
    "age": {"role": "quasi", "kind": "numeric", "range": [0, 100]},
    "sex": {"role": "quasi", "values": ["f", "m"]},
    "town": {"role": "quasi", "values": TOWNS},
    "illness": {"role": "sensitive", "values": ["asthma", "flu", "gout", "HIV"]},
}
BESIDE = {
    "clinic": {"role": "quasi", "values": CLINICS},
    "beds": {"role": "quasi", "kind": "numeric", "range": [0, 1000]},
}
K5 = sf.Mondrian(sf.KAnonymity(5))


def schema(*more, **head):
    named = {name: BESIDE[name] for name in more}
    return sf.Schema.parse({"name": "t", "rows_per_person": 1, **head, "attribute": {**QUASI, **named}})


def people(number=300, seed=5):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, number),
            "sex": rng.choice(["f", "m"], number),
            "town": rng.choice(TOWNS, number),
            "illness": rng.choice(["asthma", "flu", "gout", "HIV"], number),
        }
    )


def joined(each=3, seed=5):
    """Every row once for each clinic of its town."""
    rng = np.random.default_rng(seed)
    clinics = pl.DataFrame({"town": np.repeat(TOWNS, each), "clinic": CLINICS[: 5 * each]})
    clinics = clinics.with_columns(beds=pl.Series(rng.permutation(500)[: 5 * each] + 20))
    return people().join(clinics, on="town")


@pytest.mark.parametrize("published", [(), ("clinic",), ("clinic", "beds")])
def test_a_join_that_repeats_rows_is_refused(published):
    table = sf.read(joined(), schema(*published))
    (warned,) = [one for one in table.doubts.remarks() if "multiple" in one.rule]
    assert "occurs a multiple of 3 times, as after a join that repeats rows" in warned.rule
    with pytest.raises(sf.SchemaError, match="every combination of age, sex"):
        sf.publish(table, K5)
    assert not sf.read(joined(), schema(*published, copies_are_people=True)).doubts.joined()
    rows = {**QUASI, **{name: BESIDE[name] for name in published}}
    assert not sf.read(
        joined(), sf.Schema.parse({"name": "t", "attribute": rows})
    ).doubts.joined()  # claims speak of rows


def test_large_tables_are_judged_by_some_combinations(monkeypatch):
    monkeypatch.setattr(copies, "_LOOKED_AT", 300)
    assert sf.read(joined(), schema("clinic", "beds")).doubts.joined()
    assert not sf.read(people(5000), schema()).doubts.joined()


def test_rows_twice_and_a_few_that_were_lost():
    (found,) = sf.read(joined(2), schema()).doubts.joined()
    assert "every combination of age, sex, town and illness occurs a multiple of 2 times" in found.rule
    lost = joined().filter(pl.int_range(pl.len()) % 150 != 0)  # six rows of 900
    (found,) = sf.read(lost, schema()).doubts.joined()
    assert found.rule.startswith("nearly every combination of age, sex, town and illness occurs a multiple of 3 times")
    assert not sf.read(joined(), schema(rows_per_person=3)).doubts.joined()


def test_differential_privacy_is_not_refused():
    table = sf.read(joined(), schema(source="public"))
    assert sf.publish(table, sf.NoisyTable(1), seed=1, allow_noise=True).claim.kind == "proved"


def matched(controls=1):
    """Each case with as many controls of the same age, sex and town."""
    frame = people(200).drop("illness")
    return pl.concat([frame.with_columns(illness=pl.lit(ill)) for ill in ["HIV", *["flu"] * controls]])


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("number", [30, 300, 5000, 60_000])
def test_ordinary_tables_are_not_reported(number, seed):
    frame = people(number, seed)
    assert not sf.read(frame, schema()).doubts.joined()
    coarse = frame.with_columns(pl.col("age") // 20 * 20)  # hundreds of rows in each combination
    assert not sf.read(coarse, schema()).doubts.joined()


def test_adult_and_matched_controls_are_not_reported():
    adult = sf.datasets.adult()
    names = [attribute.name for attribute in adult.schema.published]
    for some in itertools.combinations(names, 3):
        counts = adult.counts(some)
        assert copies.shared_multiple(counts.codes, counts.weights) is None, some
    assert copies.shared_multiple(adult.counts().codes, adult.counts().weights) is None
    assert not sf.read(matched(), schema()).doubts.joined()


def test_mutants_are_caught(monkeypatch):
    """Without chance ten rows that happen to be twice are a join; without cases matched controls are."""
    few = pl.concat([people(10), people(10)])
    assert not sf.read(few, schema()).doubts.joined()
    with monkeypatch.context() as mutant:
        mutant.setattr(copies, "_BY_CHANCE", 1.0)
        assert sf.read(few, schema()).doubts.joined()
    with monkeypatch.context() as mutant:
        mutant.setattr(copies, "_CASES", 2)
        assert sf.read(matched(), schema()).doubts.joined()
    with monkeypatch.context() as mutant:
        mutant.setattr(copies, "_following", lambda *_: set())
        assert not sf.read(joined(), schema("clinic", "beds")).doubts.joined()


def visits(number, twice, seed, towns=3):
    """Somebody has two rows with a chance of `twice`, which differ in the illness alone."""
    rng = np.random.default_rng(seed)
    rows = np.repeat(np.arange(number), 1 + (rng.random(number) < twice))
    who = people(number, seed).with_columns(town=pl.Series(rng.choice(TOWNS[:towns], number)))
    return who[rows].with_columns(illness=pl.Series(rng.choice(["asthma", "flu", "gout", "HIV"], len(rows))))


@pytest.mark.parametrize(("number", "twice"), [(100, 1), (300, 1), (1000, 1), (300, 0.9), (5000, 1)])
def test_two_rows_a_person_are_warned_of(number, twice):
    """No key is in the file, and nothing but the illness differs: "every class holds at least 10 people" was false."""
    table = sf.read(visits(number, twice, seed=number), schema())
    (found,) = [one for one in table.doubts.remarks() if "an even number of times" in one.rule]
    assert "two rows each" in found.rule
    with pytest.warns(PublicationWarning, match="an even number of times"):
        sf.publish(table, sf.Mondrian(sf.KAnonymity(10)))
    declared = sf.read(visits(number, twice, seed=number), schema(copies_are_people=True))
    assert not declared.doubts.paired()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("number", "towns"), [(100, 1), (300, 3), (1000, 3), (5000, 1), (20_000, 5)])
def test_people_drawn_by_themselves_are_not_paired(seed, number, towns):
    assert not sf.read(visits(number, 0, seed, towns), schema()).doubts.paired()
    assert not sf.read(visits(number, 0.3, seed, towns), schema()).doubts.paired()
