from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from sfumato.schema.domain import Days, Edges, Grid, Values, decimal_or_none, decimal_text, domain_from_json, value_text


def grid(low: str, step: str, size: int) -> Grid:
    return Grid(Decimal(low), step=Decimal(step), size=size)


def test_three_tenths_on_a_step_of_a_tenth_is_cell_three():
    assert 0.3 // 0.1 == 2  # what floats would say
    assert grid("0", "0.1", 10).code("0.3") == 3
    assert grid("0", "0.1", 10).code(repr(0.1 + 0.2)) == 3  # 0.30000000000000004
    assert grid("0", "0.1", 10).code(repr(0.7 - 0.4)) == 3  # 0.29999999999999993: within the six further digits


@given(st.integers(-(10**6), 10**6), st.integers(1, 10**4), st.integers(1, 500), st.integers(0, 6), st.data())
def test_codes_equal_exact_arithmetic(low, step, size, places, data):
    unit = Decimal(1).scaleb(-places)
    cells = Grid(low * unit, step=step * unit, size=size)
    number = (low + data.draw(st.integers(-step, step * size + step))) * unit
    exact = (Fraction(number) - Fraction(cells.low)) // Fraction(cells.step)
    assert cells.code(str(number)) == (exact if 0 <= exact < size else None)


@pytest.mark.parametrize(
    ("text", "code"),
    [("17", 0), ("17.0", 0), (" 17 ", 0), ("17.9", 0), ("90", 73), ("91", None), ("16.999999999", None), ("1e1", None),
     ("2e1", 3), ("nan", None), ("inf", None), ("x", None), ("", None), ("1e999999999", None), ("-1e999999999", None)],
)  # fmt: skip
def test_a_grid_takes_what_is_in_its_range(text, code):
    assert grid("17", "1", 74).code(text) == code


def test_a_value_just_below_the_end_stays_in_the_last_cell():
    assert grid("0", "1", 10).code("9.99999999999") == 9
    assert Edges((Decimal(0), Decimal(1))).code("0.99999999999") == 0
    assert Edges((Decimal(0), Decimal(1))).code("-0.00000000001") is None


def test_tiny_and_very_long_numbers():
    assert grid("0", "1", 10).code("1e-999999999") == 0
    assert grid("0", "1", 10).code("3." + "1" * 500) == 3
    assert grid("0", "1e50", 100).code("1e51") == 10
    assert grid("1" + "0" * 29, "1e-30", 7).code("1" + "0" * 29 + "." + "0" * 29 + "5") == 5


@pytest.mark.parametrize(
    ("text", "number"), [("1e999999999", "1e60"), ("-1e61", "-1e60"), ("-1e-999", "0"), ("0e999999999", "0")]
)
def test_numbers_no_range_can_hold_are_cut_but_keep_their_order(text, number):
    assert decimal_or_none(text) == Decimal(number)


def test_huge_ranges_are_exact_at_both_ends():
    cells = grid("-1000000000000000000000", "0.000000001", 2**31 - 1)
    last = 2**31 - 2
    assert decimal_text(cells.edge(last)) == "-999999999999999999997.852516354"
    assert cells.code(decimal_text(cells.edge(last))) == last
    assert cells.text(0) == "[-1000000000000000000000--999999999999999999999.999999999)"


def test_names_of_cells():
    assert grid("17", "1", 3).text(2) == "19"
    assert grid("17", "5", 3).text(2) == "[27-32)"
    assert grid("-0.5", "0.25", 3).text(0) == "[-0.5--0.25)"
    assert grid("0.5", "1", 3).text(0) == "[0.5-1.5)"
    assert Edges((Decimal(0), Decimal(1), Decimal("1e3"))).text(1) == "[1-1000)"


def test_edges_are_half_open():
    cells = Edges(tuple(map(Decimal, ("-1", "0", "10"))))
    assert [cells.code(text) for text in ("-1", "-0.5", "0", "9.9", "10", "-1.1", "x")] == [
        0,
        0,
        1,
        1,
        None,
        None,
        None,
    ]


def test_days_and_leap_years():
    cells = Days(dt.date(2023, 12, 31), step=1, size=400)
    assert cells.code("2024-02-29") == 60
    assert cells.code("2024-03-01") == 61
    assert cells.code("2023-02-29") is None
    assert cells.text(60) == "2024-02-29"
    assert Days(dt.date(2100, 2, 28), step=1, size=2).text(1) == "2100-03-01"  # 2100 is no leap year
    assert Days(dt.date(2000, 2, 28), step=1, size=2).text(1) == "2000-02-29"  # 2000 is one


@pytest.mark.parametrize(
    ("text", "code"),
    [("2020-01-03", 2), ("2020-01-03T10:00:00", 2), ("2020-01-03 10:00", 2), ("2019-12-31", None), ("2020-01-11", None),
     ("2020-01-03..2020-01-05", None), ("2020-W01-5", None), ("20200103", None), ("2020-01-03x", None), ("", None)],
)  # fmt: skip
def test_a_day_is_an_iso_date_with_or_without_a_time(text, code):
    assert Days(dt.date(2020, 1, 1), step=1, size=10).code(text) == code


def test_cells_of_several_days():
    cells = Days(dt.date(2020, 1, 1), step=7, size=2)
    assert [cells.code(f"2020-01-{day:02d}") for day in (1, 7, 8, 14, 15)] == [0, 0, 1, 1, None]
    assert cells.text(1) == "[2020-01-08..2020-01-15)"
    assert Days(dt.date(9999, 12, 30), step=400, size=1).text(0) == "[9999-12-30..9999-12-31)"


@pytest.mark.parametrize(
    "domain",
    [
        Values(("a", "b")),
        grid("-0.1", "0.05", 7),
        Edges((Decimal(0), Decimal("0.001"), Decimal("1e9"))),
        Days(dt.date(2020, 2, 29), step=3, size=9),
    ],
)
def test_json_round_trip(domain):
    assert domain_from_json(domain.to_json()) == domain


def test_values_have_codes_by_name():
    assert [Values(("a", "b")).code(text) for text in ("a", "b", "c")] == [0, 1, None]


@pytest.mark.parametrize(
    ("value", "text"),
    [("1.500", "1.5"), ("1e3", "1000"), ("-0.0", "0"), ("100", "100"), ("1" * 40 + ".5", "1" * 40 + ".5")],
)  # fmt: skip
def test_decimals_are_written_out_without_rounding(value, text):
    assert decimal_text(Decimal(value)) == text


@pytest.mark.parametrize("text", ["nan", "snan", "inf", "-inf", "", "1 2", "0x1", "a"])
def test_what_is_no_number(text):
    assert decimal_or_none(text) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [(True, "true"), (1, "1"), (1.0, "1"), (0.1, "0.1"), (1e-7, "0.0000001"), (" a ", "a"),
     (dt.date(2020, 1, 2), "2020-01-02"), (float("inf"), "inf")],
)  # fmt: skip
def test_declared_values_have_one_text(value, text):
    assert value_text(value) == text


def test_a_number_longer_than_python_writes_has_a_text():
    assert value_text(10**5000) == "1" + "0" * 5000
