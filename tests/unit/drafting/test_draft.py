"""Drafts load, read their own file, and name what a person must decide."""

from __future__ import annotations

import datetime as dt
import random
import re
import tomllib
from collections import Counter
from decimal import Decimal
from pathlib import Path

import duckdb
import openpyxl
import polars as pl
import pytest
from hypothesis import example, given, settings, strategies as st
from tests.claims.light_xlsx import write_xlsx

from sfumato.counts import check, read
from sfumato.drafting import decisions, draft
from sfumato.drafting.columns import column_facts
from sfumato.drafting.roles import public_looking
from sfumato.drafting.table import table_facts
from sfumato.errors import ReadError, SchemaError
from sfumato.io.source import Source, open_source
from sfumato.schema import Schema
from sfumato.schema.formats import NumberForm

SIZES = {"age": 80, "sex": 2, "region": 12, "colour": 5, "year": 40}
DOLLARS = NumberForm(thousands=",", units=("$",))
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
        "occupation": ("quasi", "nominal"),
        "height": ("other", "numeric"),
        "quote\"d\n'text'": ("other", "nominal"),
    }
    assert "range = [0, 100]" in text
    assert schema["age"].source == schema["sex"].source == schema["date of birth"].source == "data"
    assert schema["zip"].source == "unstated"  # all five-digit codes; that they are public is for a person to say
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
        assert [a.name for a in schema.quasi] == ["age", "sex", "date of birth", "occupation"]
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
        ("287.25", "610.99", False, ("0", "700", "2")),  # in cells of 1, 312.49 would be called 312
        ("0.5", "101.5", False, ("0", "200", "0.5")),
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
@example(rows=[("9" * 20, "")], typed=True)
@example(rows=[("1", "a"), ("inf", "a")], typed=True)
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


@pytest.mark.parametrize("way", ["frame", "excel"])
def test_a_column_of_large_floats_is_not_listed_but_asked_about(tmp_path, way) -> None:
    """A draft listed 1e20 as a code, which reading refuses; a number of Excel has lost its last digits before."""
    rows = [[2**53 + 1 + at % 4, "ab"[at % 2]] for at in range(20)]
    frame = pl.DataFrame(rows, schema={"code": pl.Float64, "x": pl.String}, orient="row")
    data = frame if way == "frame" else write_xlsx(tmp_path / "t.xlsx", {"people": [["code", "x"], *rows]})
    schema = loaded(draft(data), tmp_path)
    assert schema["code"].role == "other"
    assert any(question.startswith("kind: 20 cells") for question in schema["code"].decide)
    assert check(data, schema) == []
    whole = loaded(draft(frame.with_columns(pl.col("code").cast(pl.Int64))), tmp_path)  # integers keep their digits
    assert whole["code"].size == 3


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
        (
            [f"{k} {k:03},5 €" for k in range(1, 40)],
            "1 234,5, with € beside",
            NumberForm(",", thousands=" ", units=("€",)),
        ),
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


@pytest.mark.parametrize(
    ("texts", "form"),
    [
        ([f"{31 * k} EUR" for k in range(1, 40)], NumberForm(units=("EUR",))),
        ([f"{31 * k}" if k % 2 else f"{31 * k} EUR" for k in range(1, 40)], NumberForm(units=("EUR",))),
        ([f"€{k}.50" for k in range(1, 40)], NumberForm(units=("€",))),
        ([f"€{k},50" for k in range(1, 40)], NumberForm(",", units=("€",))),
    ],
)
def test_no_mark_is_proposed_that_no_cell_has(texts, form) -> None:
    """A comma between thousands was proposed and asked about for 3100 EUR: no cell of the column had one."""
    text = draft(pl.DataFrame({"amount": texts * 2, "sex": ["f", "m"] * len(texts)}))
    assert Schema.parse(tomllib.loads(text))["amount"].numbers == form
    assert "thousands" not in text
    assert f"{form.units[0]} beside" in text


PERCENT = NumberForm(units=("%",))


@pytest.mark.parametrize(
    ("texts", "question", "form"),
    [
        ([f"{k},{k % 10}%" for k in range(1, 40)], "units: ", NumberForm(",", units=("%",))),
        ([f"{k}.{k % 10} %" for k in range(1, 40)], "units: ", PERCENT),
        ([f"{k} %" for k in range(1, 40)], "units: ", PERCENT),
        (
            [f"{k},{k:03} %" for k in range(1, 40)],
            "decimal: do the commas mark decimals?",
            NumberForm(",", units=("%",)),
        ),
        ([f"{k}.{k:03} %" for k in range(1, 40)], "thousands: do the points mark decimals?", PERCENT),
        ([f"1,{k:03}.5 %" for k in range(1, 40)], "thousands: ", NumberForm(thousands=",", units=("%",))),
    ],
)
def test_no_mark_of_thousands_is_proposed_for_percentages(tmp_path, texts, question, form) -> None:
    """A comma between thousands was proposed for 12.5 %, and for 7,250 %, which is rather seven and a quarter."""
    frame = pl.DataFrame({"share": texts * 2, "sex": ["f", "m"] * len(texts)})
    share = loaded(draft(frame), tmp_path)["share"]
    assert share.numbers == form
    assert any(item.startswith(question) for item in share.decide)


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


@pytest.mark.parametrize(
    "word",
    [
        *(
            "k.A.",
            "k. A.",
            "kA",
            "ka",
            "KA",
            "k A",
            "k/A",
            "k. Ang.",
            "w. n.",
            "keine Angabe",
            "n.a.",
            "Unbekannt",
            "non renseigné",
            "onbekend",
        ),
        *("n.v.t.", "nvt", "Niet van toepassing", "geen antwoord", "wil niet zeggen", "weiß nicht", "weiss nicht"),
        *("trifft nicht zu", "entfällt", "sans objet", "s.o.", "ne sait pas", "no procede", "no aplica", "no contesta"),
    ],
)
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


def asked_of(schema: Schema, name: str, topic: str) -> list[str]:
    return [item for item in schema[name].decide if item.startswith(f"{topic}:")]


@pytest.mark.parametrize(
    "word", ["-", "None", "NA", "N/A", ".", "?", "*", "null", "NULL", "NaN", "nan", "n/a", "unknown"]
)
def test_every_text_that_is_taken_for_no_value_is_asked_about(tmp_path, word) -> None:
    """A religion None and a test `-` are answers: no draft can tell, so it asks, with how many rows there are."""
    frame = pl.DataFrame({"religion": ["Christian", "Muslim", word, ""] * 20, "age": [*"1234567", word] * 10})
    schema = loaded(draft(frame), tmp_path)
    assert word in schema["religion"].missing.texts
    assert asked_of(schema, "religion", "missing") == [
        f"missing: does '{word}' (20 rows) say that there is no value? else move it to `values`"
    ]
    usual = word in ("NaN", "nan")  # which programs write among numbers
    found = [] if usual else [f"missing: does '{word}' (10 rows) say that there is no value?"]
    assert asked_of(schema, "age", "missing") == found
    assert check(frame, schema) == []


def test_only_empty_cells_are_not_asked_about(tmp_path) -> None:
    frame = pl.DataFrame({"religion": ["Christian", "Muslim", "", None] * 20})
    assert asked_of(loaded(draft(frame), tmp_path), "religion", "missing") == []


@pytest.mark.parametrize(
    ("cells", "answer"),
    [
        ("+ -", "-"),
        ("- + ++ +++", "-"),
        ("-- - + ++", "-"),
        ("+/- + -", "-"),
        ("ZA BW NA", "NA"),
        ("za bw na", "na"),
        ("ND NA SD MT", "NA"),
        ("HD MA KA S", "KA"),
        ("de en ka", "ka"),
    ],
)
def test_what_is_an_answer_beside_the_others_is_listed_and_asked_about(tmp_path, cells, answer) -> None:
    frame = pl.DataFrame({"test": cells.split() * 12, "sex": ["F", "M", "F", "F"] * (3 * len(cells.split()))})
    schema = loaded(draft(frame), tmp_path)
    assert sorted(schema["test"].texts()) == sorted(set(cells.split()))
    assert not schema["test"].no_value_codes
    (asked,) = asked_of(schema, "test", "values")
    assert f"'{answer}' (12 rows)" in asked
    assert asked_of(schema, "test", "missing") == []


@pytest.mark.parametrize(
    "cells", ["yes no NA", "yes no na", "ja nein ka", "W M KA", "ZH BE kA", "A+ A- -", "north south -", "M F NA"]
)
def test_beside_other_words_they_are_proposed_as_missing(tmp_path, cells) -> None:
    schema = loaded(draft(pl.DataFrame({"region": cells.split() * 20})), tmp_path)
    assert schema["region"].missing.texts == (cells.split()[-1],)
    assert len(asked_of(schema, "region", "missing")) == 1


@pytest.mark.parametrize(
    ("spellings", "side"),
    [
        (("None", "none"), "values"),
        (("None", "NONE", "none."), "values"),
        (("unknown", "Unknown."), "missing"),
        (("N/A", "n-a"), "missing"),
    ],
)
def test_spellings_of_one_text_are_values_or_missing_together(tmp_path, spellings, side) -> None:
    frame = pl.DataFrame({"allergy": [*spellings, "nuts", "latex", "dust"] * 20})
    schema = loaded(draft(frame), tmp_path)
    listed, missing = set(schema["allergy"].values.names), schema["allergy"].missing
    none = set() if missing is None else set(missing.texts)
    assert set(spellings) == (listed - {"nuts", "latex", "dust"} if side == "values" else none)
    assert len(asked_of(schema, "allergy", side)) == 1
    assert not [one for one in schema.alike_spellings(["allergy"]) if one.path.endswith("missing")]


def test_rows_without_a_value_are_counted_in_numbers_and_on_every_engine(tmp_path) -> None:
    frame = pl.DataFrame({"age": [30.0, 31.5, 40.0, 999.0] * 10 + [*range(20, 70)], "sex": ["F", "?"] * 45})
    for held in (frame, frame.to_pandas(), duckdb.from_arrow(frame.to_arrow())):
        schema = loaded(draft(held), tmp_path)
        assert "'999' (10 rows)" in asked_of(schema, "age", "missing")[0]
        assert "'?' (45 rows)" in asked_of(schema, "sex", "missing")[0]


@pytest.mark.parametrize(("blank", "proposed"), [(1934, False), (250, False), (20, True), (0, True)])
@pytest.mark.parametrize("none", ["", "n/a"])
def test_a_column_that_many_rows_lack_is_not_proposed_as_the_person(tmp_path, blank, proposed, none) -> None:
    keys = [none] * blank + [f"R{at // 3:05}" for at in range(2000 - blank)]
    frame = pl.DataFrame(
        {"Reporter ID": keys, "age": [20 + at % 50 for at in range(2000)], "sex": ["F"] * 1000 + ["M"] * 1000}
    )
    assert ("\nperson = " in draft(frame)) == proposed


@pytest.mark.parametrize("word", ["NR", "ND", "NS", "NC"])
def test_short_words_for_no_value_are_codes_beside_other_codes(tmp_path, word) -> None:
    answers = pl.DataFrame(
        {"benefit": ["pension", "grant", "none yet", word] * 20, "state": ["SD", "MN", "WY", word] * 20}
    )
    schema = loaded(draft(answers), tmp_path)
    assert schema["benefit"].missing.texts == (word,)
    assert any(item.startswith("missing:") for item in schema["benefit"].decide)
    assert word in schema["state"].texts()
    assert not schema["state"].no_value_codes


@pytest.mark.parametrize(
    ("numbers", "codes"),
    [
        ([*range(18, 67), -9], ("-9",)),
        ([*range(18, 67), -9, -8, 999], ("-8", "-9", "999")),
        ([*range(18, 100)], None),
        ([*range(-20, 40)], None),
        ([*range(0, 90_000, 1000), 99_999], ()),
        ([-1, 1], None),
        (["never", "former", "now", -9, 99], ("-9", "99")),
        (["never", "former", "now", 3], None),
    ],
)
def test_numbers_that_stand_for_no_value(tmp_path, numbers, codes) -> None:
    frame = pl.DataFrame({"age": [str(number) for number in numbers]})
    age = loaded(draft(frame), tmp_path)["age"]
    assert (age.missing.texts if age.missing else None) == (codes or None)
    assert any(item.startswith("missing:") for item in age.decide) == (
        codes is not None
    )  # (): asked, not taken for one


@pytest.mark.parametrize(
    ("name", "role"),
    [
        *((name, "sensitive") for name in ("injury", "Injuries", "illness", "disability", "medication", "ethnicity")),
        *((name, "sensitive") for name in ("religion", "salary", "annualSalary", "criminal_record", "hiv-status")),
        *((name, "sensitive") for name in ("sexual orientation", "trade union", "political_party", "CauseOfDeath")),
        *((name, "quasi") for name in ("age", "sex", "city of residence", "date_of_birth", "PostalCode")),
        *((name, "identifier") for name in ("emp_no", "CaseNumber", "patient name", "Member Nr.")),
        *((name, "other") for name in ("colour", "number of rooms", "Farbe")),
        *((name, "quasi") for name in ("job_title", "occupation", "employer", "Arbeitgeber", "Beruf", "town", "Ort")),
        *((name, "quasi") for name in ("PLZ", "Geburtsdatum", "Geschlecht", "Wohnort", "Familienstand", "Tätigkeit")),
        *((name, "quasi") for name in ("sexe", "ville", "métier", "date de naissance", "code_postal", "employeur")),
        *((name, "quasi") for name in ("sexo", "ciudad", "profesión", "fecha_nacimiento", "empresa", "edad")),
        *((name, "quasi") for name in ("sesso", "comune", "professione", "data di nascita", "età", "azienda")),
        *((name, "quasi") for name in ("geslacht", "woonplaats", "beroep", "geboortedatum", "leeftijd", "werkgever")),
        *((name, "sensitive") for name in ("Krankheit", "Diagnose", "Gehalt", "Einkommen", "Religionszugehörigkeit")),
        *((name, "sensitive") for name in ("salaire", "diagnostic", "maladie", "salario", "enfermedad", "reddito")),
        *((name, "sensitive") for name in ("malattia", "salaris", "inkomen", "ziekte", "Behinderung")),
        *((name, "identifier") for name in ("Patientennummer", "Nachname", "prénom", "apellidos", "cognome")),
        *((name, "identifier") for name in ("achternaam", "BSN", "Kundennr", "matricule")),
        *((name, "identifier") for name in ("Patienten-Nr", "PatientenNr", "Mitglieds Nr.", "Kunden-Nummer")),
        *((name, "other") for name in ("nr of patients", "Nummer der Falldokumentation", "Nr")),
    ],
)
def test_names_in_six_languages_suggest_roles(name: str, role: str, tmp_path) -> None:
    frame = pl.DataFrame({name: ["a", "b", "c"] * 20, "gender": ["f", "m"] * 30})
    assert loaded(draft(frame), tmp_path)[name].role == role


@pytest.mark.parametrize("name", ["birth_id", "town_id", "salary number name"])
def test_a_number_of_its_own_in_each_row_is_a_key_whatever_else_its_name_says(name: str, tmp_path) -> None:
    """The key of a register of births was proposed as a quasi-identifier, and buckets published it exactly."""
    frame = pl.DataFrame({name: list(range(60)), "year_of_birth": list(range(1940, 2000)), "gender": ["f", "m"] * 30})
    found = loaded(draft(frame), tmp_path)
    assert found[name].role == "identifier"
    assert found["year_of_birth"].role == "quasi"  # also a value of its own in each row, but nothing names a key
    repeats = pl.DataFrame({"town_id": [1, 2, 3] * 20, "gender": ["f", "m"] * 30})
    assert loaded(draft(repeats), tmp_path)["town_id"].role == "quasi"


def test_an_identifier_that_repeats_puts_rows_per_person_in_doubt(tmp_path) -> None:
    frame = pl.DataFrame({"patient_id": [k // 2 for k in range(60)], "sex": ["f"] * 30 + ["m"] * 30})
    assert "patient_id repeats" in loaded(draft(frame), tmp_path).decide[1]
    assert "repeats" not in draft(PEOPLE)


def test_no_columns() -> None:
    with pytest.raises(SchemaError, match="no columns"):
        draft(pl.DataFrame())


def test_a_wide_table_is_drafted_in_bounded_queries(monkeypatch) -> None:
    """30,000 columns took 7.8 GB, as one query of all columns; now no query sees more than a few."""
    asked = []
    collect = Source.collect

    def watched(self: Source, query: pl.LazyFrame) -> pl.DataFrame:
        asked.append(len(query.collect_schema()))
        return collect(self, query)

    monkeypatch.setattr(Source, "collect", watched)
    frame = pl.DataFrame({f"c{k}": [k % 7, k % 5, k % 3] for k in range(1200)})
    text = draft(frame)
    assert text.count("[attribute.") == 1200
    assert sorted(asked)[-3] <= 2 * 250 + 1  # a table of few cells is held whole for each of two passes
    assert "duplicates:" not in text


def test_a_table_of_too_many_columns_is_refused_before_the_work(tmp_path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text(",".join(f"c{k}" for k in range(50_001)) + "\n" + ",".join("1" * 50_001) + "\n")
    with pytest.raises(ReadError, match="has 50001 columns, and a draft describes at most 50000"):
        draft(path)


@pytest.mark.parametrize(
    ("name", "what", "columns"),
    [
        ("adult/adult.data", "UCI Adult", 15),
        pytest.param(
            "census_income_kdd/census_income_kdd.parquet", "UCI Census-Income (KDD)", 43, marks=pytest.mark.full
        ),
        pytest.param(
            "lodes_ri_2019/ri_od_main_JT00_2019.csv.gz", "LODES of Rhode Island 2019", 13, marks=pytest.mark.full
        ),
        pytest.param("lodes_ri_2019/ri_xwalk.csv.gz", "LODES of Rhode Island 2019", 43, marks=pytest.mark.full),
    ],
)
def test_real_files(tmp_path, public_data, name: str, what: str, columns: int) -> None:
    path = public_data(name, what)
    schema = loaded(draft(path), tmp_path)
    assert len(schema.names) == columns
    assert check(path, schema) == []
    assert schema.decisions()
    assert schema.quasi


def test_a_real_hierarchy_with_three_lines_dropped(tmp_path, public_data) -> None:
    data = public_data("adult/adult.data", "UCI Adult")
    source = next(data.parent.glob("hierarchies_arx/*education*.csv"))
    lines = source.read_text().splitlines()
    dropped = sorted(lines[at].split(";")[0] for at in (1, 5, 9))
    (tmp_path / "education.csv").write_text("\n".join(line for line in lines if line.split(";")[0] not in dropped))
    toml = 'name = "adult"\n[attribute.education]\nrole = "quasi"\ncolumn = "column_4"\nhierarchy = "education.csv"\n'
    problems = check(data, loaded(toml, tmp_path))
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
    assert any("looks like free text" in answer.rule for answer in schema.remarks())


def test_values_that_differ_in_case_are_asked_about_and_not_named(tmp_path) -> None:
    frame = pl.DataFrame({"sex": ["xf", "XF", "xm", "xm "] * 5, "town": ["A", "B", "C", "D"] * 5})
    schema = loaded(draft(frame), tmp_path)
    (asked,) = (item for item in schema["sex"].decide if item.startswith("same:"))
    assert "xf" not in asked.casefold()
    assert not any(item.startswith("same:") for item in schema["town"].decide)


@pytest.mark.cells(2)
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
    assert any("cells then read 50***" in item for item in schema["zip"].decide)
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


def hospital(folder: Path) -> Path:
    """Up to 7 rows a patient, copies of rows, towns that follow from codes, ages from birthdays, dates gone wrong."""
    codes, towns = ["01067", "04103", "50667", "79098"], ["Dresden", "Leipzig", "Köln", "Freiburg"]
    rows = []
    for patient in range(150):
        born = dt.date(1930 + patient % 70, patient % 12 + 1, patient % 27 + 1)
        for visit in range(1 + patient % 7):
            where = (patient * 7 + patient // 3) % 4
            day = dt.date(2020, 1, 1) + dt.timedelta(days=(patient * 37 + visit * 11) % 700)
            rows.append(
                [f"M{patient:04}", born.isoformat(), 2020 - born.year, codes[where], towns[where], f"{day:%d.%m.%Y}"]
            )
    rows += [rows[5], rows[5], rows[9]]
    for place, wrong in (
        (3, "12.13.2020"),
        (40, "gestern"),
        (41, "31.02.2020"),
        (77, "1. Mai"),
        (90, "2020"),
        (91, "x"),
    ):
        rows[place] = [*rows[place][:5], wrong]
    path = folder / "hospital.csv"
    lines = ["MRN;Geburtsdatum;Alter;PLZ;Ort;Aufnahme", *(";".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_draft_says_what_the_rows_show_together(tmp_path) -> None:
    """Item 13: how often an identifier repeats, copies of rows, cells not read, columns that tell each other."""
    path = hospital(tmp_path)
    text = draft(path)
    schema = loaded(text, tmp_path)
    assert "# MRN: 150 values, up to 7 rows each" in text
    assert any(
        item.startswith("rows_per_person:") and "150 values, up to 7 rows each" in item for item in schema.decide
    )
    assert any(item.startswith("person: does MRN") for item in schema.decide)
    assert 'person = "MRN"' in text
    assert any(item.startswith("duplicates: 3 rows are copies") for item in schema.decide)
    assert "# not read: lines 5, 42, 43, 79, 92, 93" in text
    assert any("values are dates day.month.year" in item for item in schema["Aufnahme"].decide)
    told = [line for line in text.splitlines() if "determine" in line]  # of one role both: there is nothing to decide
    assert "# PLZ and Ort determine each other in nearly all rows" in told
    assert "# Geburtsdatum and Alter determine each other: a date and the years since then" in told
    assert len(told) == 2  # rows of one patient agree in everything, and prove nothing
    assert "M0003" not in text
    assert "gestern" not in text


def test_columns_that_tell_each_other_are_asked_about_where_it_is_news() -> None:
    """The draft asked for the same role where both had it, and what a column tells whose values are one person each."""
    rng, rows = random.Random(1), []
    for at in range(150):
        born = f"{rng.randrange(1, 13)}/{rng.randrange(1, 29)}/{rng.randrange(1940, 2005)}"
        one = (born, rng.choice("fm"), rng.choice(["Bonn", "Hof", "Jena"]), rng.choice(["flu", "gout", "asthma"]))
        rows += [(f"M{at:03}", f"V{at}-{visit}", *one) for visit in range(rng.randint(1, 4))]
    frame = pl.DataFrame(rows, ["member no", "visit id", "birth date", "sex", "town", "diagnosis"], orient="row")
    for held in (frame, frame.drop("member no", "visit id"), pl.concat([frame, frame[::7]]).drop("sex")):
        assert "determine" not in draft(held)
    job = [rng.randrange(12) for _ in range(600)]
    groups = pl.DataFrame({"job": [f"job {one}" for one in job], "diagnosis": [f"ill {one % 5}" for one in job]})
    assert "related: job determines diagnosis in nearly all rows; anyone who knows one" in draft(groups)
    assert "determine" not in draft(groups.rename({"diagnosis": "town"}))  # both are quasi-identifiers


def test_columns_that_are_independent_are_not_said_to_tell_each_other(tmp_path) -> None:
    drawn = random.Random(3)
    frame = pl.DataFrame({name: [drawn.randrange(size) for _ in range(3000)] for name, size in SIZES.items()})
    assert "related:" not in draft(frame)
    assert "duplicates:" not in draft(frame.with_row_index("row_id"))


def test_lines_are_those_of_the_file_where_cells_go_over_several(tmp_path) -> None:
    cells = [f"{k % 27 + 1:02}.03.2020" for k in range(100)]
    cells[7] = cells[8] = cells[9] = cells[10] = "soon"
    cells[30] = "?!"
    cells[31:33] = ["??", "!!"]
    frame = pl.DataFrame({"visit": cells, "note": ["two\nlines", "one"] * 50, "sex": ["f", "m"] * 50})
    frame.write_csv(tmp_path / "t.csv")
    assert "# not read: lines 13, 14, 16, 17, 47, 49, 50" in draft(tmp_path / "t.csv")
    assert "# not read: rows 8, 9, 10, 11, 31, 32, 33" in draft(frame)


def test_many_values_that_are_nearly_numbers_name_their_rows(tmp_path) -> None:
    frame = pl.DataFrame({"income": [*map(str, range(12_000)), "12 000 Euro or so", "about 5"], "sex": ["f"] * 12_002})
    frame.write_csv(tmp_path / "t.csv")
    text = draft(tmp_path / "t.csv")
    assert "# not read: lines 12002, 12003" in text
    assert "about 5" not in text


def test_places_jobs_and_employers_are_quasi_identifiers_with_the_reason(tmp_path) -> None:
    """Item 7: 1,388 of 1,400 rows were unique on job title, grade and salary."""
    titles = [
        f"Senior {kind} Engineer {level}" for kind in ("Data", "Test", "Site") for level in ("I", "II", "III", "IV")
    ]
    frame = pl.DataFrame({"job title": titles * 10, "employer": ["A", "B", "C"] * 40, "city": ["Ulm", "Bath"] * 60})
    text = draft(frame)
    schema = loaded(text, tmp_path)
    assert {name: schema[name].role for name in schema.names} == dict.fromkeys(schema.names, "quasi")
    assert text.count("# a job or an employer: colleagues know it") == 2
    assert text.count("# a place: neighbours know it") == 1


@pytest.mark.parametrize("head", ["age,   ,x", "age,,x", 'age,"\t",x'])
def test_a_column_without_a_name_is_called_by_its_place(tmp_path, head):
    data, schema = tmp_path / "d.csv", tmp_path / "d.toml"
    data.write_text(f"{head}\n" + "1,2,3\n2,3,4\n" * 20, "utf-8")
    schema.write_text(draft(data, header=True), "utf-8")
    assert Schema.load(schema).names == ("age", "column_2", "x")
    read(data, Schema.load(schema), header=True)


def test_a_column_of_a_frame_without_a_name_is_omitted_from_the_draft(tmp_path):
    frame, schema = pl.DataFrame({"age": [1, 2] * 20, "  ": [2, 3] * 20}), tmp_path / "d.toml"
    text = draft(frame)
    assert "1 column without a name omitted" in text
    schema.write_text(text, "utf-8")
    assert Schema.load(schema).names == ("age",)
    with pytest.raises(ReadError, match="has no column with a name"):
        draft(frame.select("  "))


@pytest.mark.parametrize(
    ("low", "high", "start"), [("-8946.59", "184000.5", -10_000), ("-3", "120", -10), ("-250", "250", -300)]
)
def test_a_lower_end_a_little_below_nothing_stays_near(low, high, start):
    """An income of -8,946.59 made the range begin at -100,000."""
    found = public_looking(Decimal(low), Decimal(high), whole="." not in low)
    assert found[0] == start
    assert (found[1] - found[0]) % found[2] == 0


def test_an_end_that_surveys_use_for_no_answer_is_asked_about(tmp_path) -> None:
    """998 of an age, 99999 of an income, -1 of a sum: nothing was asked, and they were published as numbers."""
    frame = pl.DataFrame(
        {
            "age": [998 if at % 50 == 0 else 18 + at % 70 for at in range(3000)],
            "income": [99999 if at % 90 == 0 else 900 + 31 * at for at in range(3000)],
            "children": [-1.0 if at % 70 == 0 else at % 9 / 2 for at in range(3000)],
            "height": [1500 + at % 300 for at in range(3000)],
        }
    )
    path = tmp_path / "survey.csv"
    frame.write_csv(path)
    asked = {one.attribute: one.question for one in decisions(draft(path)) if one.topic == "missing"}
    assert set(asked) == {"age", "income", "children"}
    assert asked["income"].startswith(
        "does 99999, the largest number, say that there is no value? then add it to `missing`"
    )
    assert asked["children"].startswith("does -1, the smallest number, say ")


def test_sentences_of_a_draft_say_what_was_counted():
    """Rows without a value have none of their own; `unknown` is nobody's key; 97 in 100 rows are not each value."""
    keys = [f"P{at // 2:04d}" if at % 20 else "unknown" for at in range(1000)]
    region = ["NSEW"[at * 7 // 3 % 4] for at in range(1000)]
    columns = {
        "patient_id": keys,
        "device": [f"D{at:05d}" if at < 40 else None for at in range(1000)],
        "region": region,
        "state": [f"s{one}" if at % 50 else "sN" for at, one in enumerate(region)],
        "share": [f"{at % 100} %" for at in range(1000)],
    }
    text = draft(pl.DataFrame(columns))
    flat = " ".join(text.replace("#", " ").split())
    most = max(Counter(key for key in keys if key != "unknown").values())
    assert f"{len(set(keys)) - 1} values, up to {most} rows each" in flat
    assert "40 distinct values in 1000 rows: nearly every row that has one has its own" in flat
    assert "each value of one goes" not in flat
    assert "%1,234.5" not in flat
    assert "does the file write % beside its numbers" in flat


def test_rows_that_differ_in_a_list_are_no_copies():
    rows = {"age": [30, 30, 41], "sex": ["f", "f", "m"], "tags": [[1], [2], [3]]}
    source = open_source(pl.DataFrame(rows))
    assert table_facts(source, column_facts(source)).copies == 0


def test_a_digit_above_the_others_is_asked_about(tmp_path) -> None:
    """Sex 1, 2 and 9, a scale of 1 to 5 with 8 and 9, an age of 99: published as numbers, without a question."""
    frame = pl.DataFrame(
        {
            "sex": [9 if at % 16 == 0 else 1 + at % 2 for at in range(600)],
            "health": [8 + at // 20 % 2 if at % 10 == 0 else 1 + at % 5 for at in range(600)],
            "age": [99 if at % 19 == 0 else 18 + at % 73 for at in range(600)],
            "children": [at % 7 for at in range(600)],
        }
    )
    path = tmp_path / "survey.csv"
    frame.write_csv(path)
    asked = {one.attribute: one.question for one in decisions(draft(path)) if one.topic == "missing"}
    assert {name: question.split(" say ")[0] for name, question in asked.items()} == {
        "sex": "does 9",
        "health": "do 8 and 9",
        "age": "does 99",
    }


def codes_asked_about(cells, folder) -> set[str]:
    """Return the texts that a draft asks about in the one column that these cells are in."""
    frame = pl.DataFrame({"vote": [cells[at % len(cells)] for at in range(60 * len(cells))]})
    frame.write_csv(folder / "vote.csv")
    asked = [one.question for one in decisions(draft(folder / "vote.csv")) if one.topic in ("missing", "values")]
    named = [word.strip("',") for question in asked for word in re.split("[?;]", question)[0].split()]
    return {word for word in named if word in cells}


@pytest.mark.parametrize(
    ("cells", "codes"),
    [
        *(("1 2 3 9 kA", "9 kA"), ("1 2 3 99 kA", "99 kA"), ("1 2 3 8 9 kA", "8 9 kA"), ("1 2 3 4 9 99 kA", "9 99 kA")),
        *(("1 2 3 9 99 kA", "9 99 kA"), ("1 2 3 4 5 9 kA", "9 kA"), ("1 2 3 9", "9"), ("1 2 9", "9"), ("0 1 9", "9")),
        *(("1 9", "9"), ("0 9", "9"), ("0 1 99", "99"), ("1 2 3 9 99", "9 99"), ("1 2 3 9 98 99", "9 98 99")),
        *(("1 2 3 98 99", "98 99"), ("1 2 3 998 999", "998 999"), ("1 2 3 97 98 99", "97 98 99")),
        *(("1 2 3 4 77 88 99", "77 88 99"), ("01 02 03 09", "09"), ("1.0 2.0 9.0", "9.0"), ("yes no 9", "9")),
        *(("yes no 8 9", "8 9"), ("CDU SPD FDP 9 99", "9 99"), ("1 2 3 9 other", "9"), ("1 2 3 -9 other", "-9")),
        *(("18-29 30-44 45+ 9", "9"), ("1 2 3 9 kA never often", "9 kA")),
        *(("1 2 3 4 5 6 7 8 9", ""), ("0 1 2 3 4 5 6 7 8 9 10", ""), ("1 2 3 4 5 6", ""), ("0 1 2 3 4 5 6 7 9", "")),
        *(("F32.1 E11.9 A01 9", ""), ("Q1 Q2 7 8 9", ""), ("5 6 7 8 9 10 EF", ""), ("1.5 2 9", ""), ("3a 3b 9a", "")),
        *(("5 8 9 10 11 12", ""), (" ".join(map(str, range(18, 78))), ""), (" ".join(map(str, range(40, 89))), "")),
    ],
)
def test_codes_for_no_answer_are_asked_about(tmp_path, cells, codes) -> None:
    """Of 1, 2, 3, 9, 99 and kA nothing was asked, and in 41 of 117 classes all known votes were one."""
    assert codes_asked_about(cells.split(), tmp_path) == set(codes.split())


def test_ages_beside_a_word_for_no_value_are_numbers(tmp_path) -> None:
    """79 ages and kA were listed as 80 words, and cantons and kA were as many cantons."""
    rows = {
        "canton": ["ZH", "BE", "kA", "AG"] * 100,
        "age": [str(18 + at % 78) if at % 9 else "kA" for at in range(400)],
    }
    schema = loaded(draft(pl.DataFrame(rows)), tmp_path)
    assert (schema["age"].kind, schema["age"].missing.texts) == ("numeric", ("kA",))
    assert schema["canton"].missing.texts == ("kA",)
    assert all(len(asked_of(schema, name, "missing")) == 1 for name in rows)


def test_dates_of_a_spreadsheet_beside_dates_in_texts_are_drafted_as_dates(tmp_path) -> None:
    """They were drafted as 800 words, and as pairs of spellings of one value; `check` reads both under one format."""
    days = [dt.date(1950, 1, 1) + dt.timedelta(days=37 * at) for at in range(400)]
    cells = [day if at % 3 else f"{day:%d.%m.%Y}" for at, day in enumerate(days)]
    path = tmp_path / "mixed.xlsx"
    book = openpyxl.Workbook()
    for row in [("born", "sex"), *((cell, "mf"[at % 2]) for at, cell in enumerate(cells))]:
        book.active.append(row)
    book.save(path)
    schema = loaded(draft(path), tmp_path)
    assert (schema["born"].kind, schema["born"].format) == ("date", "%d.%m.%Y")
    assert asked_of(schema, "born", "format") == [
        "format: 266 values are dates in the file and 134 are texts; do those texts mean day.month.year?"
    ]
    assert check(path, schema) == []
    texts = pl.DataFrame({"born": [str(cell) for cell in cells], "sex": ["m", "f"] * 200})
    texts.write_csv(tmp_path / "texts.csv")  # here nothing tells the two apart, and one format reads one of them
    assert loaded(draft(tmp_path / "texts.csv"), tmp_path)["born"].kind == "nominal"


def test_values_in_several_spellings_are_named_in_the_comment_unless_they_are_names(tmp_path) -> None:
    results = ["Pos", "pos", "NEG", "neg", "open", "Open.", "void", "VOID", "late"] * 20
    text = draft(pl.DataFrame({"result": results}))
    schema = loaded(text, tmp_path)
    (asked,) = asked_of(schema, "result", "same")
    assert "(the comment at `values` names some)" in asked
    assert "; one value? NEG and neg; one value? Open. and open; one value? Pos and pos\n" in text
    (problem,) = schema.with_roles(sensitive=["result"]).alike_spellings(["result"])
    assert problem.values == ("NEG", "neg", "Open.", "open", "Pos", "pos", "VOID", "void")
    assert "neg" not in str(problem)
    people = ["Mary Miller", "mary miller", "Peter Smith", "John Brown", "Anna Jones", "Emma Clark", "other"] * 20
    assert "one value?" not in draft(pl.DataFrame({"result": people, "sex": ["f", "m"] * 70}))


@pytest.mark.parametrize(("name", "said"), [("claims_2024_01", True), ("claims", False)])
def test_a_number_in_the_name_of_the_population_is_asked_about(tmp_path, name, said) -> None:
    """The name of a month's file was offered as that of its people, so that Enter each month began a new account."""
    path = tmp_path / f"{name}.csv"
    PEOPLE.write_csv(path)
    (asked,) = (one.question for one in decisions(draft(path)) if one.topic == "population")
    assert ("has a number: leave out what differs from file to file" in asked) == said


def test_columns_that_repeat_each_other_are_named_where_one_is_not_published() -> None:
    """A code and its town determine each other; as the code was drafted as other, the draft did not say so."""
    rng = random.Random(1)
    codes = [rng.randrange(30) for _ in range(400)]
    frame = pl.DataFrame({"code": [1000 + one * 37 for one in codes], "town": [f"Town{one}" for one in codes]})
    frame = frame.with_columns(sex=pl.Series([rng.choice("fm") for _ in codes]))
    table = draft(frame).partition("[attribute.town]")[2].partition("[attribute")[0]
    assert "# code and town determine each other in nearly all rows; code is not published" in table
    assert "related:" not in table


@pytest.mark.parametrize(("name", "numbers", "said"), [("plz", 10, True), ("plz", 10_000, False), ("wage", 10, False)])
def test_codes_that_lost_their_leading_zeros_are_asked_about(name, numbers, said) -> None:
    """Postcodes read as integers or floats were drafted as numbers with a range, and nobody was asked."""
    cells = pl.Series(name, [numbers + at * 223 % 90_000 for at in range(300)])
    for held in (cells, cells.cast(pl.Float64), cells.cast(pl.String)):
        assert ("codes without their leading zeros" in draft(held.to_frame())) == said


@pytest.mark.parametrize(
    ("day", "rows", "said"),
    [
        ("1900-01-01", 1, True),  # the first day of a program, and of the column
        ("1970-01-01", 1, False),  # somebody's birthday
        ("1970-01-01", 30, True),
        ("1811-05-03", 30, True),
        ("1811-05-03", 1, False),
        ("1939-05-03", 30, False),  # twins of a day near the others
        ("2999-12-31", 2, True),
    ],
)
@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d.%m.%Y"])
def test_a_day_that_may_stand_for_none_is_asked_about(day, rows, said, form) -> None:
    """Of 1900-01-01 in a twentieth of the rows nothing was asked, while 999 and -9 were."""
    born = [dt.date(1940, 1, 1) + dt.timedelta(days=at * 7919 % 25_000) for at in range(500)]
    cells = [*born, *[dt.date.fromisoformat(day)] * rows]
    frame = pl.DataFrame({"birth": [one.strftime(form) for one in cells], "sex": ["f"] * len(cells)})
    asked = [one.question for one in decisions(draft(frame)) if "there is no date" in one.question]
    assert bool(asked) == said
    assert all(f"does {cells[-1].strftime(form)} ({rows} row" in one for one in asked)
    if form == "%Y-%m-%d":
        assert ("there is no date" in draft(pl.DataFrame({"birth": cells, "sex": ["f"] * len(cells)}))) == said
