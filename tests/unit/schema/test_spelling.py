"""Days and numbers as files write them: one meaning each, or none."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.schema.spelling import format_problem, spelt_day, with_point

FORMATS = ["%d.%m.%Y", "%m/%d/%Y", "%Y-%d-%m", "%d %m %Y", "%Y%m%d", "(%d) %m|%Y"]


@given(st.dates(), st.sampled_from(FORMATS))
def test_a_day_comes_back_from_every_format(day: dt.date, form: str) -> None:
    written = form.replace("%d", f"{day.day:02}").replace("%m", f"{day.month:02}").replace("%Y", f"{day.year:04}")
    assert format_problem(form) == ""
    assert spelt_day(written, form) == day
    assert spelt_day(f"{written} 10:15", form) == day
    assert spelt_day(f"{written}x", form) is None


@pytest.mark.parametrize("form", ["", "%d.%m", "%d.%m.%y", "%d.%m.%Y %H", "%d.%d.%Y", "%d.%m.%Y%", "day %d.%m.%Y"])
def test_formats_that_leave_something_to_guess(form: str) -> None:
    assert format_problem(form)


@pytest.mark.parametrize("text", ["29.02.2021", "31.04.2020", "1.13.2020", "1.2.20", "1,2.2020", "01022020", ""])
def test_texts_that_name_no_day(text: str) -> None:
    assert spelt_day(text, "%d.%m.%Y") is None


@pytest.mark.parametrize(
    ("text", "plain"),
    [("3,5", "3.5"), ("-0,25", "-0.25"), ("+7", "+7"), ("1.234", None), ("1.234,5", None), (",5", None)],
)
def test_a_decimal_comma_has_one_meaning(text: str, plain: str | None) -> None:
    assert with_point(text) == plain
