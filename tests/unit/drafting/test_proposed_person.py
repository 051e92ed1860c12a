"""Which column a draft proposes as the key of people, and what it says of others that repeat."""

from __future__ import annotations

import random
import tomllib

import duckdb
import polars as pl
import pytest

import sfumato as sf
from sfumato.schema import Schema
from sfumato.schema.key_names import measure_like, people_like, record_like, visit_like


def visits(person: str, finer: str, *, people: int = 120, older: bool = False, most: int = 4) -> pl.DataFrame:
    """Two keys: people with up to three visits, each of up to `most` rows; ages differ where people grow older."""
    rng, rows, visit = random.Random(3), [], 0
    for one in range(people):
        age, sex, town = rng.randrange(20, 80), rng.choice("fm"), rng.choice(["Delft", "Leiden", "Gouda", "Breda"])
        for _ in range(rng.randint(1, 3)):
            visit += 1
            later = age + (rng.randrange(3) if older else 0)
            rows += [
                (f"P{one * 37 + 10001}", f"S{visit * 13 + 500001}", later, sex, town, rng.choice("abc"))
                for _ in range(rng.randint(1, most))
            ]
    rng.shuffle(rows)
    return pl.DataFrame(rows, schema=[person, finer, "age", "sex", "town", "illness"], orient="row")


KEYS = [
    ("patient_id", "admission_id"),
    ("patient_id", "case_id"),
    ("patient_id", "stay_id"),
    ("patient_nr", "fallnr"),
    ("MRN", "episode"),
    ("client_no", "record_no"),
    ("patient_id", "sample_id"),
    ("person_id", "prescription_id"),
    ("nhs_number", "referral_id"),
    ("pid", "uuid"),
]


@pytest.mark.parametrize("older", [False, True])
@pytest.mark.parametrize(("person", "finer"), KEYS)
def test_the_key_of_people_is_proposed_and_not_that_of_their_visits(person, finer, older):
    frame = visits(person, finer, older=older)
    for names in (frame.columns, [finer, person, *frame.columns[2:]]):
        drafted = tomllib.loads(sf.draft(frame.select(names)))
        assert drafted["person"] == person
        (asked,) = (item for item in drafted["decide"] if item.startswith("person:"))
        assert f"{finer} ({frame[finer].n_unique()} values, up to" in asked


@pytest.mark.parametrize("finer", ["admission_id", "prescription_id", "case_id"])
def test_a_key_of_visits_alone_is_no_person(finer):
    frame = visits("ward", finer, people=150)
    drafted = tomllib.loads(sf.draft(frame.drop("ward")))
    assert drafted.get("person") == ("case_id" if finer == "case_id" else None)  # in surveys a case is a person
    asked = "\n".join(drafted["decide"])
    assert (f"{finer} names visits" in asked) == (finer != "case_id")
    assert (f"repeat like a key: {finer}" in asked) == (finer != "case_id")


def test_a_key_of_records_beside_one_of_people_that_is_left_out_is_not_proposed():
    frame = visits("patient_id", "case_id", people=40, most=20)  # more than ten rows a patient
    drafted = tomllib.loads(sf.draft(frame))
    assert "person" not in drafted
    assert "patient_id (40 values" in "\n".join(drafted["decide"])


def test_two_keys_of_people_of_which_neither_has_the_other_are_left_open():
    frame = visits("patient_id", "x").drop("x")
    other = frame["patient_id"].shuffle(seed=1).alias("client_id")
    drafted = tomllib.loads(sf.draft(frame.select(pl.lit("Delft").alias("town"), "patient_id", other)))
    assert "person" not in drafted
    assert tomllib.loads(sf.draft(frame.with_columns(client_id="patient_id")))["person"] == "patient_id"


@pytest.mark.parametrize("name", ["prescription_id", "patient_illness_id", "diagnosis_nr"])
def test_a_draft_loads_whatever_its_key_is_called(name, tmp_path):
    frame = visits(name, "x").drop("x")
    schema = Schema.parse(tomllib.loads(sf.draft(frame)))
    sf.read(frame, schema)
    key = visits(name, "person_id").rename({name: "person_id", "person_id": name})
    assert Schema.parse(tomllib.loads(sf.draft(key))).person == ("person_id",)


def test_a_column_that_is_not_listed_and_repeats_like_a_key_is_named():
    frame = visits("worker", "loss_amount", people=300).with_columns(
        loss_amount=pl.int_range(pl.len()).mod(700) + pl.lit(0.5), policy=pl.col("worker").str.replace("P", "POL")
    )
    (asked,) = (item for item in tomllib.loads(sf.draft(frame))["decide"] if "who is a row about" in item)
    assert "columns that repeat like a key: worker (300 values, up to" in asked
    assert "policy (300 values" in asked
    assert "amount" not in asked


def test_numbers_of_rows_are_those_of_rows_where_an_engine_groups(tmp_path):
    frame = visits("patient_id", "admission_id", people=300)
    frame = frame.with_columns(note=pl.when(pl.col("sex") == "f").then(pl.lit("k")))
    plain, grouped = (tomllib.loads(sf.draft(held)) for held in (frame, duckdb.from_arrow(frame.to_arrow())))
    copies = frame.height - frame.n_unique()
    for drafted, text in ((plain, sf.draft(frame)), (grouped, sf.draft(duckdb.from_arrow(frame.to_arrow())))):
        assert f"300 distinct values in {frame.height} rows" in text
        assert f"duplicates: {copies} rows are copies of an earlier row" in "\n".join(drafted["decide"])
    assert plain == grouped


def test_names_of_keys():
    people = [
        "PersNr",
        "Pers-Nr",
        "persnr",
        "Pat-Nr",
        "patient_id",
        "MRN",
        "Kundennr",
        "emp_no",
        "person_key",
        "NHS number",
        "member_id",
    ]
    records = ["case_id", "record_no", "sample_id", "patient_case_id", "Fallakte-Nr", "caseid"]
    assert [name for name in [*people, *records, "visit_id", "ward_id", "worker"] if people_like(name)] == people
    assert all(map(record_like, records))
    assert visit_like("patient_visit_id")
    assert measure_like("claim_amount")
    assert not measure_like("tax_id")


def families(key: str, *, slips: int = 0) -> pl.DataFrame:
    """Keys of 100 families with up to three people each, or of people with up to three rows, some with a slip."""
    rng, rows = random.Random(5), []
    for one in range(100):
        alike = (f"{1950 + one % 50}-03-{1 + one % 28:02}", rng.choice("FM"))
        for member in range(1 + one % 3):
            own = (f"{1950 + rng.randrange(50)}-{1 + rng.randrange(12):02}-11", rng.choice("FM"))
            rows.append((f"S-{one:04}", *(own if not slips or (one < slips and member) else alike), rng.choice("abc")))
    return pl.DataFrame(rows, schema=[key, "Date of birth", "Sex", "illness"], orient="row")


@pytest.mark.parametrize("key", ["member_no", "Client name"])
def test_a_key_of_families_is_not_proposed_as_the_person(key):
    """The number of a family, and names that many share, were proposed, and check then counted them as people."""
    drafted = tomllib.loads(sf.draft(families(key)))
    assert "person" not in drafted
    (asked,) = (item for item in drafted["decide"] if "who is a row about" in item)
    assert f"{key} (100 values, up to 3 rows each, differing in Date of birth and Sex)" in asked
    assert tomllib.loads(sf.draft(families(key, slips=8)))["person"] == key


def test_an_abbreviated_key_of_people_is_the_one_proposed():
    """`PersNr` was taken for a number like any other, and names of people were proposed as their key."""
    frame = visits("PersNr", "Name").with_columns(PersNr=pl.col("PersNr").str.slice(1).cast(pl.Int64))
    drafted = tomllib.loads(sf.draft(frame.with_columns(Name=pl.col("PersNr").mod(50).cast(pl.String) + "n")))
    assert drafted["person"] == "PersNr"
    assert drafted["attribute"]["PersNr"]["role"] == "identifier"
