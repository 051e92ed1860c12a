"""Days and numbers as files write them: one meaning each, or none."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from sfumato.schema.formats import NumberForm, format_problem, parse_day

FORMATS = ["%d.%m.%Y", "%m/%d/%Y", "%Y-%d-%m", "%d %m %Y", "%Y%m%d", "(%d) %m|%Y"]


@given(st.dates(), st.sampled_from(FORMATS))
def test_a_day_comes_back_from_every_format(day: dt.date, form: str) -> None:
    written = form.replace("%d", f"{day.day:02}").replace("%m", f"{day.month:02}").replace("%Y", f"{day.year:04}")
    assert format_problem(form) == ""
    assert parse_day(written, form) == day
    assert parse_day(f"{written} 10:15", form) == day
    assert parse_day(f"{written}x", form) is None


@pytest.mark.parametrize("form", ["", "%d.%m", "%d.%m.%y", "%d.%m.%Y %H", "%d.%d.%Y", "%d.%m.%Y%", "day %d.%m.%Y"])
def test_formats_that_leave_something_to_guess(form: str) -> None:
    assert format_problem(form)


@pytest.mark.parametrize("text", ["29.02.2021", "31.04.2020", "1.13.2020", "1.2.20", "1,2.2020", "01022020", ""])
def test_texts_that_name_no_day(text: str) -> None:
    assert parse_day(text, "%d.%m.%Y") is None


@pytest.mark.parametrize(
    ("text", "plain"),
    [("3,5", "3.5"), ("-0,25", "-0.25"), ("+7", "+7"), ("1.234", None), ("1.234,5", None), (",5", None)],
)
def test_a_decimal_comma_has_one_meaning(text: str, plain: str | None) -> None:
    assert NumberForm(",").number(text) == (None if plain is None else Decimal(plain))


GERMAN = NumberForm(",", thousands=".")
DOLLARS = NumberForm(thousands=",", units=("$", "USD"))


@pytest.mark.parametrize(
    ("form", "text", "number"),
    [
        (GERMAN, "21.269,58", "21269.58"),
        (GERMAN, "1.234", "1234"),
        (GERMAN, "1234", "1234"),
        (GERMAN, "1.23", None),
        (GERMAN, "12.34.567", None),
        (GERMAN, "1,234.5", None),
        (DOLLARS, "$64,300", "64300"),
        (DOLLARS, "64300", "64300"),
        (DOLLARS, "-$64,300.5", "-64300.5"),
        (DOLLARS, "$ -5", "-5"),
        (DOLLARS, "-$-5", None),
        (DOLLARS, "12 USD", "12"),
        (DOLLARS, "12 EUR", None),
        (DOLLARS, "$", None),
        (NumberForm(thousands="'"), "1’234'567", "1234567"),
        (NumberForm(",", thousands=" "), "12\u00a0345,5", "12345.5"),
    ],
)
def test_thousands_and_units_mean_what_is_declared(form: NumberForm, text: str, number: str | None) -> None:
    assert form.problem() is None
    assert form.number(text) == (None if number is None else Decimal(number))


@pytest.mark.parametrize(
    "form",
    [NumberForm(",", thousands=","), NumberForm(units=("",)), NumberForm(units=("5",)), NumberForm(units=("-",))],
)
def test_forms_in_which_a_number_means_two_things(form: NumberForm) -> None:
    assert form.problem() is not None


@given(st.dates())
def test_a_month_is_read_as_its_first_day(day: dt.date) -> None:
    assert format_problem("%m/%Y") == ""
    assert parse_day(f"{day.month:02}/{day.year:04}", "%m/%Y") == day.replace(day=1)
