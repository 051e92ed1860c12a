"""Drafts load, read their own file, and name what a person must decide."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import duckdb
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.counts import check, draft, read
from sfumato.counts.draft_roles import public_looking
from sfumato.errors import ReadError, SchemaError
from sfumato.schema import Schema
from sfumato.schema.spelling import NumberForm

DOLLARS = NumberForm(thousands=",", units=("$",))
DATA = Path(__file__).resolve().parents[3].parent / "shared" / "data"
PEOPLE = pl.DataFrame(
    {
        "person_id": range(1000, 1040),
        "Full Name": [f"n{k}" for k in range(40)],
        "age": [17 + k * 73 // 39 for k in range(40)],
        "sex": ["F", "M"] * 20,
        "zip": [f"0{k % 7}123" for k in range(40)],
        "date of birth": [dt.date(1950 + k, 3, 1) for k in range(40)],
        "occupation": ["baker", "smith", "?", "?"] * 10,
        "height": [1.5 + k / 100 for k in range(40)],
        "quote\"d\n'text'": ["a", 'b"', "c\\", "\x7f"] * 10,
    }
)


def loaded(text: str, folder: Path) -> Schema:
    path = folder / "draft.toml"
    path.write_text(text, encoding="utf-8")
    return Schema.load(path)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_draft_says_what_it_saw_and_what_is_open(tmp_path, suffix: str) -> None:
    path = tmp_path / f"people.{suffix}"
    PEOPLE.write_csv(path) if suffix == "csv" else PEOPLE.write_parquet(path)
    text = draft(path)
    schema = loaded(text, tmp_path)
    roles = {attribute.name: (attribute.role, attribute.kind) for attribute in schema.attributes}
    assert roles == {
        "person_id": ("identifier", "nominal"),
        "Full Name": ("identifier", "nominal"),
        "age": ("quasi", "numeric"),
        "sex": ("quasi", "nominal"),
        "zip": ("quasi", "nominal"),
        "date of birth": ("quasi", "date"),
        "occupation": ("sensitive", "nominal"),
        "height": ("other", "numeric"),
        "quote\"d\n'text'": ("other", "nominal"),
    }
    assert "range = [0, 100]" in text
    assert schema["age"].source == schema["sex"].source == schema["date of birth"].source == "data"
    assert schema["zip"].source == "public"  # all five-digit codes: nothing of it was read off the file
    assert schema["occupation"].missing is not None
    assert check(path, schema) == []
    assert read(path, schema).rows == 40
    open_ones = schema.decisions()
    assert all(any(p.path == a.where for p in open_ones) for a in schema.attributes)
    for question in [*schema.decide, *(item for a in schema.attributes for item in a.decide)]:
        assert question in text
    assert "# decide" not in text  # a question has one home
    assert [p.path for p in open_ones[:2]] == ["population", "rows_per_person"]
    assert not any("range" in item for item in schema["height"].decide)  # other: not published, so nothing to bound
    assert "n1" not in text.split()


def test_frames_are_drafted_too(tmp_path) -> None:
    people = PEOPLE.drop("zip")
    arrow = people.to_arrow()
    for data in (people, people.lazy(), people.to_pandas(), arrow, duckdb.connect().from_arrow(arrow)):
        schema = loaded(draft(data, name="people"), tmp_path)
        assert schema.name == "people"
        assert [a.name for a in schema.quasi] == ["age", "sex", "date of birth"]
        assert check(data, schema) == []


def test_many_texts_are_not_listed(tmp_path) -> None:
    frame = pl.DataFrame({"word": [f"w{k % 11_000}" for k in range(30_000)], "sex": ["F", "M"] * 15_000})
    text = draft(frame)
    schema = loaded(text, tmp_path)
    assert schema["word"].role == "other"
    assert schema["word"].decide
    assert "w77" not in text


def test_many_numbers_and_days_get_ranges(tmp_path) -> None:
    frame = pl.DataFrame(
        {
            "income": [str(k * 3) if k % 100 else "NA" for k in range(20_000)],
            "measure": [k / 7 - 100 if k % 9 else None for k in range(20_000)],
            "visited": [
                f"{2000 + k // 3000}-01-01T{k % 24:02d}:{k % 60:02d}:{k // 60 % 60:02d}.{k}" for k in range(20_000)
            ],
            "zip": ["12345"] * 20_000,
        }
    )
    schema = loaded(draft(frame), tmp_path)
    kinds = {a.name: a.kind for a in schema.attributes}
    assert kinds == {"income": "numeric", "measure": "numeric", "visited": "date", "zip": "nominal"}
    everything = schema.with_roles(quasi=["measure", "visited", "zip"], sensitive="income")
    assert check(frame, everything) == []


def test_nothing_named_like_a_quasi_identifier(tmp_path) -> None:
    path = tmp_path / "t.data"
    path.write_text("39, State-gov, 77516\n50, Private, 83311\n38, Private, 215646\n\n")
    schema = loaded(draft(path), tmp_path)
    assert schema.names == ("column_1", "column_2", "column_3")
    assert len(schema.quasi) == 3
    assert check(path, schema) == []
    assert read(path, schema).rows == 3


@pytest.mark.parametrize(
    ("low", "high", "whole", "expected"),
    [
        ("17", "90", True, ("0", "100", "1")),
        ("1", "16", True, ("0", "20", "1")),
        ("1994", "1995", True, ("1990", "2000", "1")),
        ("0", "99999", True, ("0", "100000", "100")),
        ("-5", "40", True, ("-10", "50", "1")),
        ("5", "5", True, ("0", "10", "1")),
        ("0.2", "1.15", False, ("0", "1.2", "0.01")),
    ],
)
def test_bounds_look_public(low, high, whole, expected) -> None:
    found = public_looking(Decimal(low), Decimal(high), whole=whole)
    assert tuple(map(Decimal, expected)) == found


@given(st.decimals(-(10**9), 10**9, places=3), st.decimals(0, 10**9, places=3))
def test_bounds_hold_the_data_in_at_most_a_thousand_cells(low: Decimal, span: Decimal) -> None:
    start, end, step = public_looking(low, low + span, whole=False)
    assert start <= low
    assert low + span < end
    assert 1 <= (end - start) / step <= 1000
    assert (end - start) % step == 0


CELLS = [
    "",
    "a",
    "1",
    "01",
    "-1",
    "1.5",
    "1e300",
    "nan",
    "inf",
    "?",
    "*",
    "(missing)",
    "NULL",
    "2020-01-01",
    "9999-12-31",
]
CELLS += [
    "0001-01-01",
    "True",
    "9" * 20,
    "é",
    "\x7f",
    "a,b",
    'q"q',
    "x\ny",
    " a",
    "\\",
    "1_0",
    "１",
    "+5",
    "\u2028",
    "1.0",
]


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from(CELLS), st.sampled_from(CELLS)), min_size=1, max_size=6), st.booleans())
def test_any_table_can_be_drafted_and_read(tmp_path_factory, rows, typed: bool) -> None:
    folder = tmp_path_factory.mktemp("draft")
    frame = pl.DataFrame(rows, schema=["age", "some income"], orient="row")
    if typed:
        frame = frame.with_columns(pl.col("age").cast(pl.Float64, strict=False))
    path = folder / "t.csv"
    frame.write_csv(path)
    for data in (frame, path):
        try:
            schema = loaded(draft(data), folder)
        except ReadError:
            continue
        assert check(data, schema) == []


DAYS = [dt.date(2020, 1, 1) + dt.timedelta(days=7 * k) for k in range(120)]


@pytest.mark.parametrize(
    ("written", "extra", "question"),
    [
        ("%d.%m.%Y", [], "does the file write its dates as day.month.year?"),
        ("%m/%d/%Y", ["unknown"], "does the file write its dates as month/day/year?"),
        ("%Y%m%d", [], "does the file write its dates as yearmonthday?"),
        ("%d.%m.%Y", ["31.12.9999"], "does the file write its dates as day.month.year?"),
    ],
)
def test_days_in_other_formats_are_offered_and_asked_about(tmp_path, written, extra, question) -> None:
    frame = pl.DataFrame(
        {"visit": [*(day.strftime(written) for day in DAYS), *extra], "sex": ["f"] * (120 + len(extra))}
    )
    for data in (frame, frame.to_arrow()):
        schema = loaded(draft(data), tmp_path)
        visit = schema["visit"]
        assert (visit.kind, visit.format) == ("date", written)
        assert f"format: {question}" in visit.decide
        used = schema.with_roles(quasi=["visit", "sex"])
        assert check(data, used) == []
        codes = read(data, used).codes("visit")[:120, 0]
        assert codes.tolist() == [(day - dt.date(2020, 1, 1)).days for day in DAYS]


def test_days_that_do_not_tell_day_from_month_are_asked_about(tmp_path) -> None:
    frame = pl.DataFrame({"visit": [f"{d:02}/{m:02}/2020" for d in range(1, 13) for m in range(1, 13)]})
    assert loaded(draft(frame), tmp_path)["visit"].decide[1] == (
        "format: no date of the file tells day/month/year from month/day/year; which is it?"
    )


def test_many_spelt_days_and_numbers(tmp_path) -> None:
    """More distinct values than are looked at one by one."""
    days = [dt.date(1940, 1, 1) + dt.timedelta(days=k) for k in range(12_000)]
    frame = pl.DataFrame(
        {
            "birthday": [day.strftime("%d.%m.%Y") for day in days] + ["NA"],
            "income": [f"{k},{k % 9 + 1}" for k in range(12_000)] + ["NA"],
        }
    )
    schema = loaded(draft(frame), tmp_path)
    assert (schema["birthday"].format, schema["income"].numbers.decimal) == ("%d.%m.%Y", ",")
    assert check(frame, schema) == []


def test_decimal_commas_are_read_and_asked_about(tmp_path) -> None:
    frame = pl.DataFrame({"weight": [f"{40 + k},{k % 10}" for k in range(60)], "sex": ["f", "m"] * 30})
    schema = loaded(draft(frame), tmp_path)
    assert schema["weight"].numbers.decimal == ","
    assert "decimal: do the commas mark decimals?" in schema["weight"].decide
    used = schema.with_roles(quasi=["weight", "sex"])
    assert check(frame, used) == []
    grid = used["weight"].values
    assert read(frame, used).codes("weight")[3, 0] == grid.code("43.3")


@pytest.mark.parametrize(
    ("texts", "question", "form"),
    [
        ([f"{k},{k:03}" for k in range(1, 40)], "do the commas mark thousands?", NumberForm(thousands=",")),
        ([f"{k}.{k:03},50" for k in range(1, 40)], "1.234,5?", NumberForm(",", thousands=".")),
        ([f"{k}.{k:03}" for k in range(1, 40)], "where they mark thousands", NumberForm()),
        ([f"${k},{k:03}" if k % 2 else f"{k}000" for k in range(1, 40)], "mark thousands", DOLLARS),
        ([f"{k} {k:03},5 €" for k in range(1, 40)], "€1 234,5?", NumberForm(",", thousands=" ", units=("€",))),
        ([f"{k:02}.05.{k + 20}" for k in range(1, 29)], "years of two digits", NumberForm()),
    ],
)
def test_how_amounts_are_written_is_proposed_and_asked(tmp_path, texts, question, form) -> None:
    """Item 13: 21.269,58 and $64,300 beside 64300. What has two meanings is declared, and the declaration is asked."""
    frame = pl.DataFrame({"amount": texts * 2, "sex": ["f", "m"] * len(texts)})
    schema = loaded(draft(frame), tmp_path)
    assert any(question in item for item in schema["amount"].decide)
    assert schema["amount"].numbers == form
    assert schema["amount"].format is None
    assert check(frame, schema) == []


def test_ambiguous_amounts_of_many_values_are_asked_about(tmp_path) -> None:
    texts = [f"{k // 1000 + 1},{k % 1000:03}" for k in range(12_000)]
    frame = pl.DataFrame({"amount": texts * 2, "sex": ["f", "m"] * len(texts)})
    amount = loaded(draft(frame), tmp_path)["amount"]
    assert amount.numbers == NumberForm(thousands=",")
    assert any("do the commas mark thousands?" in item for item in amount.decide)
    points = frame.with_columns(pl.col("amount").str.replace(",", ".", literal=True))
    assert any("where they mark thousands" in item for item in loaded(draft(points), tmp_path)["amount"].decide)


@pytest.mark.parametrize("form", ["%m/%Y", "%m.%Y", "%Y-%m"])
def test_months_of_a_year_are_drafted_as_months(tmp_path, form) -> None:
    """Item 13: 03/1994."""
    days = [dt.date(1990 + k % 30, k % 12 + 1, 1) for k in range(200)]
    frame = pl.DataFrame({"entry": [day.strftime(form) for day in days], "sex": ["f", "m"] * 100})
    schema = loaded(draft(frame), tmp_path).with_roles(quasi=["entry", "sex"])
    assert schema["entry"].format == form
    assert schema["entry"].values.months
    assert check(frame, schema) == []
    texts = [schema["entry"].text(code) for code in read(frame, schema).codes("entry").ravel()]
    assert texts == [f"{day:%Y-%m}" for day in days]


@pytest.mark.parametrize("word", ["k.A.", "k. A.", "keine Angabe", "n.a.", "Unbekannt", "non renseigné", "onbekend"])
def test_words_for_no_value_are_proposed_as_missing(tmp_path, word) -> None:
    """Item 13: `k.A.` and the like, in a column of numbers, of dates, of categories and of many values."""
    few = pl.DataFrame({"age": [*map(str, range(20, 60)), word], "sex": ["f", "m"] * 20 + [word]})
    many = pl.DataFrame({"income": [*map(str, range(12_000)), word], "sex": ["f"] * 12_001})
    for frame, names in ((few, ("age", "sex")), (many, ("income",))):
        schema = loaded(draft(frame), tmp_path)
        for name in names:
            assert schema[name].missing.texts == (word,)
            assert any(item.startswith("missing:") for item in schema[name].decide)
        assert check(frame, schema) == []


@pytest.mark.parametrize(
    ("numbers", "codes"),
    [
        ([*range(18, 67), -9], ("-9",)),
        ([*range(18, 67), -9, -8, 999], ("-8", "-9", "999")),
        ([*range(18, 100)], None),
        ([*range(-20, 40)], None),
        ([*range(0, 90_000, 1000), 99_999], None),
        ([-1, 1], None),
        (["never", "former", "now", -9, 99], ("-9", "99")),
        (["never", "former", "now", 3], None),
    ],
)
def test_numbers_that_stand_for_no_value(tmp_path, numbers, codes) -> None:
    frame = pl.DataFrame({"age": [str(number) for number in numbers]})
    age = loaded(draft(frame), tmp_path)["age"]
    assert (age.missing.texts if age.missing else None) == codes
    assert any(item.startswith("missing:") for item in age.decide) == bool(codes)


@pytest.mark.parametrize(
    ("name", "role"),
    [
        *((name, "sensitive") for name in ("injury", "Injuries", "illness", "disability", "medication", "ethnicity")),
        *((name, "sensitive") for name in ("religion", "salary", "annualSalary", "criminal_record", "hiv-status")),
        *((name, "sensitive") for name in ("sexual orientation", "trade union", "political_party", "CauseOfDeath")),
        *((name, "quasi") for name in ("age", "sex", "city of residence", "date_of_birth", "PostalCode")),
        *((name, "identifier") for name in ("emp_no", "CaseNumber", "patient name", "Member Nr.")),
        *((name, "other") for name in ("colour", "number of rooms", "Krankheit")),
    ],
)
def test_english_names_suggest_roles(name: str, role: str, tmp_path) -> None:
    frame = pl.DataFrame({name: ["a", "b", "c"] * 20, "gender": ["f", "m"] * 30})
    assert loaded(draft(frame), tmp_path)[name].role == role


def test_an_identifier_that_repeats_puts_rows_per_person_in_doubt(tmp_path) -> None:
    frame = pl.DataFrame({"patient_id": [k // 2 for k in range(60)], "sex": ["f", "m"] * 30})
    assert "patient_id repeats" in loaded(draft(frame), tmp_path).decide[1]
    assert "repeats" not in draft(PEOPLE)


def test_no_columns() -> None:
    with pytest.raises(SchemaError, match="no columns"):
        draft(pl.DataFrame())


@pytest.mark.skipif(not DATA.exists(), reason="the shared data folder is not there")
@pytest.mark.parametrize(
    ("pattern", "columns"),
    [
        ("adult/adult.data", 15),
        ("census_income_kdd/*.parquet", 43),
        ("lodes_ri_2019/*main*.csv.gz", 13),
        ("lodes_ri_2019/*xwalk.csv.gz", 43),
    ],
)
def test_real_files(tmp_path, pattern: str, columns: int) -> None:
    path = next(iter(sorted(DATA.glob(pattern))))
    schema = loaded(draft(path), tmp_path)
    assert len(schema.names) == columns
    assert check(path, schema) == []
    assert schema.decisions()
    assert schema.quasi


@pytest.mark.skipif(not DATA.exists(), reason="the shared data folder is not there")
def test_a_real_hierarchy_with_three_lines_dropped(tmp_path) -> None:
    source = next(DATA.glob("adult/hierarchies_arx/*education*.csv"))
    lines = source.read_text().splitlines()
    dropped = sorted(lines[at].split(";")[0] for at in (1, 5, 9))
    (tmp_path / "education.csv").write_text("\n".join(line for line in lines if line.split(";")[0] not in dropped))
    toml = 'name = "adult"\n[attribute.education]\nrole = "quasi"\ncolumn = "column_4"\nhierarchy = "education.csv"\n'
    problems = check(DATA / "adult" / "adult.data", loaded(toml, tmp_path))
    assert [(p.path, sorted(p.values)) for p in problems] == [("attribute.education", dropped)]
    assert "hierarchy education.csv" in problems[0].rule


NOTES = [f"wife calls: {first} {last}" for first in ("Anna", "Ingo", "Zoë") for last in ("Becker", "Wolf", "Koch")]


@pytest.mark.parametrize("other", [["F", "M"], ["x", "y"]])  # with and without a name that is known for a quasi
@pytest.mark.parametrize("name", ["Notiz", "treatment"])
def test_free_text_is_left_out_and_not_listed(name: str, other: list[str], tmp_path) -> None:
    named = "sex" if other == ["F", "M"] else "Spalte"
    frame = pl.DataFrame({name: [*NOTES, "motivated", None] * 3 + ["motivated"] * 27, named: other * 30})
    text = draft(frame)
    schema = loaded(text, tmp_path)
    assert schema[name].role == "other"
    assert schema[name].domain is None
    assert "is it free text? it may hold names" in schema[name].decide[0]
    assert "Becker" not in text
    assert schema.quasi
    assert check(frame, schema) == []


def test_categories_of_several_words_keep_the_role_of_their_name(tmp_path) -> None:
    races = ["White", "Black or African American", "Native Hawaiian or Other Pacific Islander", "Two or More Races"]
    schema = loaded(draft(pl.DataFrame({"race": races * 20, "sex": ["F", "M"] * 40})), tmp_path)
    assert schema["race"].role == "sensitive"
    assert schema["race"].decide[0].startswith("role: is it free text? it may hold names: then other; must it stay")
    assert any("looks like free text" in told.rule for told in schema.remarks())


def test_values_that_differ_in_case_are_asked_about_and_not_named(tmp_path) -> None:
    frame = pl.DataFrame({"sex": ["xf", "XF", "xm", "xm "] * 5, "town": ["A", "B", "C", "D"] * 5})
    schema = loaded(draft(frame), tmp_path)
    (asked,) = (item for item in schema["sex"].decide if item.startswith("same:"))
    assert "xf" not in asked.casefold()
    assert not any(item.startswith("same:") for item in schema["town"].decide)


@pytest.mark.parametrize("sign", ["-9", "99", "k.A."])
@pytest.mark.parametrize("first", ["0", "2"])
def test_a_short_text_among_codes_may_mean_no_value(sign: str, first: str, tmp_path) -> None:
    codes = [f"{first}{at:04}" for at in range(1000, 1026)]
    frame = pl.DataFrame({"zip": [*codes, sign] * 3, "sex": ["F"] * 81})
    text = draft(frame)
    schema = loaded(text, tmp_path)
    assert f'missing = ["{sign}"]' in text
    assert 'mask = { length = 5, from = "right" }' in text
    assert any(item.startswith("missing:") for item in schema["zip"].decide)
    assert any("--nominal nodes" in item for item in schema["zip"].decide)
    assert check(frame, schema) == []


def test_a_slip_among_codes_is_no_sign_for_none(tmp_path) -> None:
    codes = [f"0{at:04}" for at in range(1000, 1026)]
    for slip in ("0410", "791O2", "unclear"):
        text = draft(pl.DataFrame({"zip": [*codes, slip] * 3, "sex": ["F"] * 81}))
        assert f'"{slip}"' in text
        assert f'missing = ["{slip}"]' not in text


def test_numbers_of_one_length_may_be_codes(tmp_path) -> None:
    frame = pl.DataFrame({"residence": [*range(20000, 20100)] * 2, "born": [*range(1950, 2000)] * 4})
    schema = loaded(draft(frame), tmp_path)
    assert schema["residence"].kind == "numeric"
    (asked,) = (item for item in schema["residence"].decide if item.startswith("kind:"))
    assert 'are these codes, such as postcodes? then kind = "nominal" and mask = { length = 5, from' in asked
    assert not any(item.startswith("kind:") for item in schema["born"].decide)  # four digits are rather years
