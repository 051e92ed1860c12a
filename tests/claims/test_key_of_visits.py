"""A key of visits is not a person because the schema calls it one."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.counts import suspected_keys

TOWNS = ["Bonn", "Hof", "Jena", "Kiel", "Ulm"]
K5 = sf.Mondrian(sf.KAnonymity(5))
QUASI = {
    "age": {"role": "quasi", "kind": "numeric", "range": [0, 100]},
    "sex": {"role": "quasi", "values": ["f", "m"]},
    "town": {"role": "quasi", "values": TOWNS},
    "illness": {"role": "sensitive", "values": ["asthma", "flu", "gout"]},
}


def visits(number=400, seed=5):
    """One to four visits of each person: `at` numbers them, `who` is the person."""
    rng = np.random.default_rng(seed)
    rows = []
    for who in range(number):
        same = (int(rng.integers(18, 90)), str(rng.choice(["f", "m"])), str(rng.choice(TOWNS)))
        rows += [(f"P{100000 + 7 * who}", at, *same) for at in range(int(rng.integers(1, 5)))]
    frame = pl.DataFrame(rows, schema=["who", "at", "age", "sex", "town"], orient="row")
    ill = rng.choice(["asthma", "flu", "gout"], frame.height)
    encounter = rng.permutation(frame.height) + 900_000
    return frame.with_columns(illness=ill, encounter=encounter).sample(fraction=1, shuffle=True, seed=seed)


WRITTEN = {
    "slash": lambda who, at: f"{who}/{at + 1}",
    "dash": lambda who, at: f"{who}-{at + 1:02d}",
    "letter": lambda who, at: f"{who}_{'abcd'[at]}",
    "mixed": lambda who, at: ["{}", "{}/1", "{}-02", "{}_b"][at].format(who),
    "digit": lambda who, at: f"{who}{at}",
    "site before": lambda who, at: f"X{at}{who}",
    "site and sign before": lambda who, at: f"{'ABCD'[at]}-{who}",
}


def keyed(how, frame=None):
    frame = visits() if frame is None else frame
    keys = [WRITTEN[how](who, at) for who, at in frame.select("who", "at").iter_rows()]
    return frame.with_columns(pid=pl.Series(keys)).drop("who", "at")


def schema(*identifiers, **head):
    named = {name: {"role": "identifier"} for name in identifiers}
    return sf.Schema.parse({"name": "t", "source": "public", **head, "attribute": {**QUASI, **named}})


@pytest.mark.parametrize("how", WRITTEN)
def test_a_key_of_visits_named_as_person_is_refused(how):
    frame = keyed(how)
    table = sf.read(frame, schema("pid", "encounter", person="pid"))
    (warned,) = [one for one in table.doubts.remarks() if one.path == "attribute.pid"]
    assert "keys that share that part agree in every quasi-identifier" in warned.rule
    with pytest.raises(sf.SchemaError, match="keys that share that part"):
        sf.publish(table, K5)
    assert not sf.read(frame, schema("pid", "encounter", person="pid", person_exact=True)).doubts.suspected_keys()


def test_a_cap_and_a_second_column_do_not_silence_it():
    frame = keyed("slash").with_columns(clinic=pl.lit("c"))
    for head in ({"person": "pid", "rows_per_person": 4}, {"person": ["clinic", "pid"]}):
        with pytest.raises(sf.SchemaError, match="keys that share that part"):
            sf.publish(sf.read(frame, schema("pid", "encounter", "clinic", **head)), K5)


def test_visits_with_several_rows_are_refused():
    """Two lines for each visit: the key repeats, and is still that of a visit."""
    frame = keyed("slash")
    with pytest.raises(sf.SchemaError, match="keys that share that part"):
        sf.publish(sf.read(pl.concat([frame, frame]), schema("pid", "encounter", person="pid")), K5)


def test_differential_privacy_is_warned_and_not_refused():
    """A refusal that depends on what rows agree in would be a veto."""
    table = sf.read(keyed("slash"), schema("pid", "encounter", person="pid", rows_per_person=1))
    assert table.doubts.suspected_keys()
    assert sf.publish(table, sf.NoisyTable(1), seed=1, allow_noise=True).claim.kind == "proved"


def test_another_key_is_seen_beside_one_of_rows():
    frame = visits().rename({"who": "chart"}).drop("at")
    table = sf.read(frame, schema("encounter", person="encounter"))
    (warned,) = table.doubts.suspected_keys()
    assert warned.path == "chart"
    assert "encounter, which `person` names, hardly repeats" in warned.rule
    assert "rows_per_person" not in warned.hint
    with pytest.raises(sf.SchemaError, match="hardly repeats"):
        sf.publish(table, K5)
    assert not sf.read(frame, schema("encounter", person="encounter", not_person=["chart"])).doubts.suspected_keys()
    assert not sf.read(frame, schema("encounter", person="chart")).doubts.suspected_keys()


def test_cells_with_a_number_are_not_people():
    frame = keyed("slash").select("encounter", "age", "sex", "town", "illness").with_columns(n=pl.int_range(pl.len()))
    assert [one.path for one in sf.read(frame, schema("encounter", person="encounter")).doubts.suspected_keys()] == [
        "n"
    ]


def one_row_each(number=3000, *, by=(), seed=3):
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "age": rng.integers(2, 9, number) * 10,
            "sex": rng.choice(["f", "m"], number),
            "town": rng.choice(TOWNS, number),
            "illness": rng.choice(["asthma", "flu", "gout"], number),
        }
    )
    return frame.sort(by) if by else frame


ORDINARY = {
    "numbered": lambda at: f"P{at:06d}",
    "by sevens": lambda at: f"{100_000 + 7 * at}",
    "year and number": lambda at: f"2024-{at:05d}",
    "number and year": lambda at: f"{at:05d}/24",
    "letters": lambda at: f"{'ABCDEFGHIJ'[at % 10]}{at:05d}",
}


@pytest.mark.parametrize("how", ORDINARY)
@pytest.mark.parametrize("by", [(), ("town", "sex", "age"), ("sex", "town")])
def test_ordinary_keys_are_not_refused(how, by):
    frame = one_row_each(by=by)
    frame = frame.with_columns(pid=pl.Series([ORDINARY[how](at) for at in range(frame.height)]))
    assert not sf.read(frame, schema("pid", person="pid")).doubts.suspected_keys()


def test_mutants_are_caught(monkeypatch):
    """Without the next part in order, a sorted list is one of visits; a key of rows must not be taken at its word."""
    frame = one_row_each(12_000, by=("town", "sex", "age"))
    frame = frame.with_columns(pid=pl.format("P{}", 100_000 + pl.int_range(pl.len())))
    assert not sf.read(frame, schema("pid", person="pid")).doubts.suspected_keys()
    with monkeypatch.context() as mutant:
        mutant.setattr(suspected_keys, "_SORTED", 2)
        assert sf.read(frame, schema("pid", person="pid")).doubts.suspected_keys()
    table = sf.read(visits().drop("at").rename({"who": "chart"}), schema("encounter", person="encounter"))
    assert table.doubts.suspected_keys()
    with monkeypatch.context() as mutant:
        mutant.setattr("sfumato.counts.doubts.keys_beside", lambda *_, **__: [])
        assert not table.doubts.suspected_keys()


def test_rows_that_one_key_has_twice_are_no_reason_against_it():
    """Of 35 pairs of pupils who agreed in name, street and teacher, 33 were one pupil twice: her key was refused."""
    rng = np.random.default_rng(2)
    once = visits(1400, seed=2).unique("who", keep="first", maintain_order=True).drop("at", "encounter")
    parts = {"name": 60, "street": 600, "teacher": 12}
    drawn = {part: rng.choice([f"{part} {n}" for n in range(many)], once.height) for part, many in parts.items()}
    once = once.with_columns(**drawn).rename({"who": "pid"})
    table = sf.read(pl.concat([once, once[:35]]), schema("pid", *parts, person="pid"))
    assert not table.doubts.suspected_keys()
    assert sf.publish(table, K5).people.everyone == once.height


def test_a_number_with_and_without_a_point_is_one_key():
    """Keys written 208 and 208.0 are one person, and were taken for two visits of one."""
    frame = visits(150)
    numbers = [f"{int(who[1:])}{'.0' if at % 2 else ''}" for who, at in frame.select("who", "at").iter_rows()]
    table = sf.read(frame.with_columns(who=pl.Series(numbers)), schema("who", person="who"))
    assert table.doubts.suspected_keys() == []
    assert sf.publish(table, K5).people.everyone == 150
