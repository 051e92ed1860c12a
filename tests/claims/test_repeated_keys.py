"""Columns that repeat like the key of a person: the rules at their bounds, and mutants of each bound that fail."""

from __future__ import annotations

import datetime as dt
import sys

import openpyxl
import polars as pl
import pytest

import sfumato as sf
from sfumato.counts import other_keys, row_groups, suspected_keys
from sfumato.drafting import table as draft_table

DRAFT = sys.modules["sfumato.drafting.draft"]  # the package gives its function that name


def schema_attributes() -> dict[str, dict]:
    return {
        "age": {"role": "quasi", "kind": "numeric", "range": [0, 1000]},
        "sex": {"role": "quasi", "values": ["f", "m"]},
        "ill": {"role": "sensitive", "values": ["a", "b"]},
    }


def schema(rows_per_person: int = 1, **more) -> sf.Schema:
    described = {
        "name": "t",
        "rows_per_person": rows_per_person,
        "attribute": schema_attributes(),
    }
    return sf.Schema.parse(described | more)


def visits(
    *, people: int = 100, each: int = 2, disagree: int = 0, single: int = 0, ages: int = 500, name: str = "locker"
) -> pl.DataFrame:
    """`people` values of a column, `each` rows a value; rows of the first `disagree` values differ in age."""
    rows = []
    for one in range(people):
        for at in range(each):
            age = (one + (at if one < disagree else 0)) % ages
            rows.append((f"x{one}", age, "fm"[one % 2], "ab"[at % 2]))
    rows += [(f"y{one}", one % ages, "f", "a") for one in range(single)]
    return pl.DataFrame(rows, schema=[name, "age", "sex", "ill"], orient="row").cast({"age": pl.String})


def asked(frame: pl.DataFrame, **more) -> list:
    return sf.read(frame, schema(**more)).doubts.repeated_keys()


AT_THE_BOUND = {
    "all rows agree": (lambda: asked(visits()), True),
    "nine of ten agree": (lambda: asked(visits(disagree=10)), True),
    "one less agrees": (lambda: asked(visits(disagree=11)), False),
    "five values repeat": (lambda: asked(visits(people=5, single=30)), True),
    "four values repeat": (lambda: asked(visits(people=4, single=30)), False),
    "a twentieth of the rows": (lambda: asked(visits(people=5, single=190)), True),
    "less than a twentieth": (lambda: asked(visits(people=5, single=191)), False),
    "twenty combinations": (lambda: asked(visits(people=60, ages=20)), True),
    "nineteen ages, of one sex each": (lambda: asked(visits(people=57, ages=18)), False),
    "as many rows as are said": (lambda: asked(visits(each=3), rows_per_person=3), False),
    "one row more than is said": (lambda: asked(visits(each=3), rows_per_person=2), True),
    "said not to be a person": (lambda: asked(visits(), not_person=["locker"]), False),
}


def wrong() -> list[str]:
    return [name for name, (find, expected) in AT_THE_BOUND.items() if bool(find()) is not expected]


def test_rows_that_agree_in_every_quasi_identifier_are_those_of_a_person_at_every_bound():
    assert wrong() == []
    (problem,) = asked(visits(each=3))
    assert (problem.path, problem.rows) == ("locker", 3)
    assert 'person = "locker"' in problem.hint


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AGREE", 0.85),
        ("AGREE", 0.95),
        ("_REPEATED", 4),
        ("_REPEATED", 6),
        ("_COMBINATIONS", 18),
        ("_COMBINATIONS", 21),
    ],
)
def test_mutants_of_the_rule_of_agreeing_rows_are_caught(monkeypatch, name, value):
    monkeypatch.setattr(row_groups if name == "AGREE" else suspected_keys, name, value)
    assert wrong() != []


def test_a_mutant_that_reads_no_rows_and_one_that_reads_other_columns_are_caught(monkeypatch):
    with monkeypatch.context() as mutant:
        mutant.setattr(other_keys, "agreeing_columns", lambda *_: [])
        assert "all rows agree" in wrong()
    with monkeypatch.context() as mutant:
        mutant.setattr(row_groups, "FIRST_ROWS", 10)
        assert "all rows agree" in wrong()
    with monkeypatch.context() as mutant:
        mutant.setattr(other_keys, "repeated_keys", lambda *_: [])
        mutant.setattr("sfumato.counts.doubts.repeated_keys", lambda *_: [])
        assert "all rows agree" in wrong()


AMOUNTS = {
    "decimals": lambda at: f"{at * 7 % 900}.{at % 90 + 10}",
    "dollars": lambda at: f"${at % 9 + 1},{at % 800 + 100}.5",
    "euros": lambda at: f"{at % 900},{at % 90 + 10} EUR",
    "floats": lambda at: at % 900 + 0.25,
}


@pytest.mark.parametrize("kind", AMOUNTS)
@pytest.mark.parametrize("name", ["amount", "paid_to", "x"])
def test_amounts_that_repeat_are_not_proposed_as_the_person(kind, name):
    frame = visits(name="policy").sample(200, shuffle=True, seed=2)
    cells = [AMOUNTS[kind](at * at % 180) for at in range(200)]
    frame = frame.select(pl.Series(name, cells), pl.all())
    identifiers = {one: {"role": "identifier"} for one in (name, "policy")}
    attributes = {**schema_attributes(), **identifiers}
    (problem,) = sf.read(frame, schema(attribute=attributes)).doubts.repeated_keys()
    assert problem.path == "attribute.policy"
    assert 'person = "policy"' in problem.hint
    numbers = frame.with_columns(pl.Series(name, [f"N{at * at % 180}" for at in range(200)]))
    found = sf.read(numbers, schema(attribute=attributes)).doubts.repeated_keys()
    assert [one.path for one in found] == [f"attribute.{name}", "attribute.policy"]  # codes are keys by their role


# -- what a draft says of identifiers that repeat -------------------------------------------


def drafted(each: int, *, name: str = "patient_id", blank: int = 0) -> str:
    frame = visits(people=40, each=each, name=name)
    empty = visits(people=max(blank, 1), each=1, name=name).head(blank).with_columns(pl.lit(None).alias(name))
    return sf.draft(pl.concat([frame, empty], how="vertical_relaxed"))


def told_right() -> bool:
    nine, ten = drafted(9), drafted(10)
    return all(
        (
            "# patient_id: 40 values, up to 9 rows each" in nine,
            'person = "patient_id"' in nine,
            "person: does patient_id say who a row is about?" in nine,
            "patient_id repeats: 40 values, up to 9 rows each" in nine,
            "# patient_id: 40 values, up to 10 rows each" in ten,  # said, but rather the key of a clinic
            "\nperson = " not in ten,
            "rows_per_person: who is a row about?" in ten,
            "rows each" not in drafted(1),
            "up to 2 rows each" in drafted(2, blank=30),  # rows without a key are nobody's
            "up to 3 rows each" in drafted(3, name="Patientennummer"),
            "rows each" not in drafted(3, name="ward"),
        )
    )


def test_a_draft_says_how_often_identifiers_repeat():
    assert told_right()


@pytest.mark.parametrize("mutant", [9, 11])
def test_mutants_of_the_drafts_bound_are_caught(monkeypatch, mutant):
    monkeypatch.setattr(DRAFT, "_ROWS_EACH", mutant)
    assert not told_right()


def test_mutants_that_drop_the_items_are_caught(monkeypatch):
    for module, name in ((draft_table, "_repeated"), (DRAFT, "_of_a_person")):
        with monkeypatch.context() as mutant:
            mutant.setattr(module, name, lambda *_: [])
            assert not told_right()


def test_days_of_a_workbook_are_compared_whether_they_are_dates_or_texts(tmp_path):
    """Texts were compared: no draft proposed the key of people, and no check asked about one where some were texts."""
    book, path = openpyxl.Workbook(), tmp_path / "members.xlsx"
    book.active.append(["Member no", "Birth date", "sex", "ill"])
    for at in range(100):
        day = dt.date(1950, 1, 1) + dt.timedelta(days=97 * at)
        book.active.append([f"M{at:03}", day, "fm"[at % 2], "ab"[at % 3 % 2]])
        book.active.append([f"M{at:03}", day if at % 3 else f"{day:%d/%m/%Y}", "fm"[at % 2], "ab"[at % 5 % 2]])
    book.save(path)
    drafted = sf.draft(path)
    assert 'person = "Member no"' in drafted
    assert "differing in" not in drafted
    book.active["A1"] = "locker"
    book.save(path)
    born = {"role": "quasi", "kind": "date", "range": ["1950-01-01", "1980-01-01"], "format": "%d/%m/%Y"}
    (problem,) = sf.read(
        path, schema(attribute=schema_attributes() | {"age": born | {"column": "Birth date"}})
    ).doubts.repeated_keys()
    assert problem.path == "locker"
