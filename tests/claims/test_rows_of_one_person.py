"""Several rows of a person in a file without a key: one for each subject, or visits under a birthday and initials."""

from __future__ import annotations

import dataclasses
import datetime as dt
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.counts import copies, suspected_keys

BIRTH = {"role": "quasi", "kind": "date", "range": ["1940-01-01", "2015-01-01"]}
SEX = {"role": "quasi", "values": ["F", "M"]}
ILL = {"role": "sensitive", "values": ["a", "b", "c", "d"]}
K5 = sf.Mondrian(sf.KAnonymity(5))


def day(rng, first=1940, last=2010):
    return dt.date(int(rng.integers(first, last)), 1, 1) + dt.timedelta(days=int(rng.integers(0, 365)))


def table(frame, *, rows_per_person=1, **attributes):
    schema = sf.Schema.parse({"name": "t", "rows_per_person": rows_per_person, "attribute": attributes})
    return sf.read(frame, schema)


def marks(seed=1):
    """One row for each pupil and subject; no column says which pupil."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(100):
        birth, sex = day(rng, 2008, 2012), "FM"[rng.integers(0, 2)]
        rows += [(birth, sex, subject, "abcd"[rng.integers(0, 4)]) for subject in ("maths", "art", "music", "sport")]
    frame = pl.DataFrame(rows, schema=["birth", "sex", "subject", "mark"], orient="row")
    return table(frame, birth=BIRTH, sex=SEX, mark=ILL)


def visits(seed=1):
    """One to three visits of each patient, in whichever ward; a birthday and initials say who it is."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(300):
        birth, who = day(rng), "".join(rng.choice(list("ABCDEFGH"), 2))
        rows += [(birth, who, "FM"[rng.integers(0, 2)], "abcd"[rng.integers(0, 4)]) for _ in range(rng.integers(1, 4))]
    frame = pl.DataFrame(rows, schema=["birth", "who", "ward", "ill"], orient="row")
    return table(frame, birth=BIRTH, ward=SEX, ill=ILL)


def paths(read):
    return [problem.path for problem in read.doubts.suspected_keys()]


@pytest.mark.parametrize("seed", range(5))
def test_one_row_for_each_subject_is_refused(seed):
    read = marks(seed)
    assert paths(read) == ["subject"]
    with pytest.raises(sf.SchemaError):
        sf.publish(read, K5)


@pytest.mark.parametrize("seed", range(5))
def test_a_birthday_with_initials_is_refused(seed):
    read = visits(seed)
    assert paths(read) == ["attribute.birth"]
    with pytest.raises(sf.SchemaError):
        sf.publish(read, K5)


def test_two_people_of_one_birthday_are_not_one_person_with_more_rows():
    """At most three rows agree in day and bonus; two people born on one day have four, which nothing true answered."""
    rng = np.random.default_rng(5)
    days = [dt.date(1940, 1, 1) + dt.timedelta(days=int(day)) for day in rng.integers(0, 23_000, 500)]
    people = [(day, "FM"[rng.integers(2)], int(rng.integers(0, 21))) for day in days]
    people[1] = (people[0][0], people[1][1], (people[0][2] + 1) % 21)
    times = [2, 2, *rng.choice([1, 2, 3], 498, p=[0.7, 0.2, 0.1])]
    every = [who for who, number in zip(people, times, strict=True) for _ in range(number)]
    rows = [(str(day), sex, bonus, "ab"[rng.integers(2)]) for day, sex, bonus in every]
    frame = pl.DataFrame(rows, schema=["birth", "sex", "bonus", "ill"], orient="row")
    assert paths(table(frame, rows_per_person=3, birth=BIRTH, sex=SEX, ill=ILL)) == []
    assert paths(table(frame, rows_per_person=2, birth=BIRTH, sex=SEX, ill=ILL)) == ["attribute.birth"]


AGE = {"role": "quasi", "kind": "numeric", "range": [18, 90]}
TOWN = {"role": "quasi", "values": [f"t{at}" for at in range(40)]}


def waves(seed=1, kinds=4, left=1.0):
    """A trial: 200 people of an age and a sex that others share, a row for each visit that was not missed."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(200):
        age, sex = int(rng.integers(18, 78)), "FM"[rng.integers(0, 2)]
        stays = [visit for visit in range(kinds) if rng.random() < left]
        rows += [(age, sex, f"week {visit}", "abcd"[rng.integers(0, 4)]) for visit in stays]
    frame = pl.DataFrame(rows, schema=["age", "sex", "visit", "ill"], orient="row")
    return table(frame, age=AGE, sex=SEX, ill=ILL)


def prescriptions(seed=1, most=8):
    """Up to `most` rows of each of 350 people, on days that differ; nothing says whose they are."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(350):
        age, sex, town = int(rng.integers(18, 78)), "FM"[rng.integers(0, 2)], f"t{rng.integers(0, 40)}"
        often = int(rng.integers(min(2, most), most + 1))
        rows += [(age, sex, town, day(rng), "abcd"[rng.integers(0, 4)]) for _ in range(often)]
    frame = pl.DataFrame(rows, schema=["age", "sex", "town", "dispensed", "ill"], orient="row")
    return table(frame, age=AGE, sex=SEX, town=TOWN, ill=ILL)


@pytest.mark.parametrize("seed", range(3))
def test_waves_of_people_who_look_alike_are_refused(seed):
    read = waves(seed)
    assert paths(read) == ["visit"]
    with pytest.raises(sf.SchemaError, match="as if every person had 4 rows"):
        sf.publish(read, K5)
    assert paths(waves(seed, kinds=2)) == []  # cases and their controls look so too
    assert paths(waves(seed, left=0.5)) == []  # not found: most have missed a visit


@pytest.mark.parametrize("seed", range(3))
def test_rows_that_agree_in_every_quasi_identifier_are_refused(seed):
    read = prescriptions(seed)
    with pytest.raises(sf.SchemaError, match="rows agree in every quasi-identifier, far more often than by chance"):
        sf.publish(read, K5)
    assert any("far more often" in problem.rule for problem in read.doubts.remarks())
    said = dataclasses.replace(read.schema, copies_are_people=True)
    assert sf.Table.from_codes(said, read.codes()).doubts.alike() == []
    assert prescriptions(seed, most=1).doubts.alike() == []


def resits(seed=1, again=0.25):
    """An exam: who sits it again gets another number. Nothing else says who it is."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(900):
        who = (day(rng), "FM"[rng.integers(0, 2)], f"t{rng.integers(0, 8)}")
        rows += [(*who, at, "abcd"[rng.integers(0, 4)]) for at in range(1 + (rng.random() < again))]
    frame = pl.DataFrame(rows, schema=["birth", "sex", "town", "attempt", "result"], orient="row")
    return frame.with_columns(number=pl.Series(rng.permutation(90_000)[: len(rows)] + 10_000))


def exam(frame, *, birth="quasi", **head):
    columns = {
        "number": {"role": "identifier"},
        "birth": BIRTH | {"role": birth},
        "age": {"role": "quasi", "kind": "numeric", "range": [0, 100]},
        "sex": SEX,
        "town": TOWN,
        "result": ILL,
    }
    frame = frame.with_columns(age=2020 - pl.col("birth").dt.year())
    return sf.read(frame, sf.Schema.parse({"name": "t", **head, "attribute": columns}))


SAID = [
    {"person": "number", "not_person": ["birth"]},
    {"person": ["number", "birth"]},
    {"rows_per_person": 1, "not_person": ["number", "birth"]},
    {"rows_per_person": 1, "not_person": ["number", "birth", "age", "sex", "town", "attempt"]},
]


@pytest.mark.parametrize("birth", ["quasi", "other"])
@pytest.mark.parametrize("said", SAID)
def test_that_a_birthday_is_no_person_does_not_explain_rows_that_agree(said, birth):
    """It is true of every birthday. Only that the rows are different people explains it, and that is asked for."""
    read = exam(resits(), birth=birth, **said)
    (found,) = read.doubts.suspected_keys()
    assert found.path == "attribute.birth"
    assert "not_person" not in found.hint
    assert "copies_are_people = true" in found.hint
    with pytest.raises(sf.SchemaError, match="as the rows of one person do"):
        sf.publish(read, K5)
    yes = exam(resits(), birth=birth, **said, copies_are_people=True)
    assert yes.doubts.suspected_keys() == []
    assert sf.publish(yes, K5).rows == resits().height


@pytest.mark.parametrize("seed", range(5))
def test_exams_sat_once_are_not_refused(seed):
    for said in SAID:
        assert exam(resits(seed, again=0), **said).doubts.suspected_keys() == []


def test_what_tells_rows_apart_does_not_explain_that_they_agree():
    for read in (marks(), waves()):
        (found,) = read.doubts.suspected_keys()
        assert "not_person" not in found.hint
        said = dataclasses.replace(read.schema, not_person=(found.path,))
        assert [one.path for one in suspected_keys.suspected_keys(read._encoded.source, said)] == [found.path]
        yes = dataclasses.replace(read.schema, copies_are_people=True)
        assert suspected_keys.suspected_keys(read._encoded.source, yes) == []


def test_tables_of_people_with_one_row_each_agree_no_more_than_by_chance():
    adult, census = sf.datasets.adult("test"), sf.datasets.census(5000)
    for read in (adult, census):
        for quasi in ([a.name for a in read.schema.quasi], [a.name for a in read.schema.quasi][:2]):
            assert read.with_roles(quasi=quasi).doubts.alike() == []


@pytest.mark.parametrize("seed", range(10))
def test_people_with_one_row_each_are_not_refused(seed):
    """Visits on days of one year with what the calendar tells of them, pairs that were matched, days of a clinic."""
    rng = np.random.default_rng(seed)
    days = [dt.date(2014, 1, 1) + dt.timedelta(days=int(rng.integers(0, 365))) for _ in range(800)]
    frame = pl.DataFrame(
        {
            "birth": days,
            "day": [one.day for one in days],
            "week": [one.isocalendar().week for one in days],
            "sex": rng.choice(["F", "M"], 800),
            "doctor": rng.choice([f"d{at}" for at in range(30)], 800),
            "ill": rng.choice(list("abcd"), 800),
        }
    )
    assert paths(table(frame, birth=BIRTH, sex=SEX, ill=ILL)) == []
    births = [day(rng) for _ in range(400)]
    matched = pl.DataFrame(
        {
            "birth": [one for one in births for _ in range(2)],
            "sex": [one for one in rng.choice(["F", "M"], 400) for _ in range(2)],
            "case": ["yes", "no"] * 400,
            "ill": rng.choice(list("abcd"), 800),
        }
    )
    assert paths(table(matched, birth=BIRTH, sex=SEX, ill=ILL)) == []
    assert sf.datasets.adult("test").doubts.suspected_keys() == []


def test_who_says_so_may_publish():
    schema = visits().schema
    assert schema.unit == "person"
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"birth": [day(rng)] * 10, "ward": ["F"] * 10, "ill": ["a"] * 10})
    assert paths(table(frame, birth=BIRTH, ward=SEX, ill=ILL)) == []  # ten rows are no evidence


def test_chance_is_exact():
    """Of every draw of rows, by hand, the share in which no two agree."""
    column = np.array([0, 0, 1, 2, 2, 2])
    shares = [2 / 6, 1 / 6, 3 / 6]
    two = 1 - sum(share**2 for share in shares)
    three = 6 * shares[0] * shares[1] * shares[2]
    for sizes, expected in (([2], two), ([3], three), ([4], 0.0), ([2, 3], (two + three) / 2)):
        assert suspected_keys._apart_by_chance(column, np.array(sizes)) == pytest.approx(expected)
    assert all(one > other for one, other in pairwise([two, three, 0.0]))


def test_mutants_are_caught(monkeypatch):
    with monkeypatch.context() as mutant:
        mutant.setattr(suspected_keys, "_apart_by_chance", lambda *_: 1.0)
        mutant.setattr(suspected_keys, "_balanced", lambda *_: 0)
        assert paths(marks()) != ["subject"]
    with monkeypatch.context() as mutant:
        mutant.setattr(suspected_keys, "_balanced", lambda *_: 0)
        assert paths(waves()) == []
    with monkeypatch.context() as mutant:
        mutant.setattr(copies, "_TIMES_ALIKE", 10**6)
        assert prescriptions().doubts.alike() == []
    with monkeypatch.context() as mutant:
        mutant.setattr(suspected_keys, "explained_share", lambda *_, **__: 0.0)
        assert paths(visits()) == []


def test_what_tells_rows_of_a_person_apart_and_days_are_not_proposed_as_person():
    for read in (marks(), waves(), visits()):
        for problem in read.doubts.suspected_keys():
            for name in ("subject", "visit", "birth"):
                assert f'person = "{name}"' not in problem.hint
    assert 'person = "code"' in suspected_keys.key_hint(["code"])
    for name in ("day", "year", "lat", "date_of_birth", "town"):
        assert "name the `person` in a column of its own" in suspected_keys.key_hint([name])
    assert 'person = ["birth", "who"]' in suspected_keys.key_hint(["birth", "who"])
    assert 'person = "city_id"' in suspected_keys.key_hint(["city_id"])
