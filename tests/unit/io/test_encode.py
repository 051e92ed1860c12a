# ruff: noqa: DTZ001  (data has times without zones)
"""Expressions and the readable oracle give every cell the same code."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from sfumato.counts import read
from sfumato.io.decode_cell import ASK, LEFT_OUT, NULL, OUTSIDE, UNPARSABLE, canonical_text, code_of
from sfumato.io.encode import first_look, settle
from sfumato.schema import Attribute, Schema


def attribute(**given) -> Attribute:
    return Schema.parse({"name": "t", "attribute": {"x": {"role": "quasi", **given}}})["x"]


def encoded(column: Attribute, values: pl.Series, *, padded: bool = False) -> list[int]:
    frame = pl.DataFrame({"x": values})
    codes = frame.select(first_look(column, values.dtype, padded=padded)).to_series().to_numpy()
    if (codes == ASK).any():
        codes = settle(column, codes, values.filter(pl.Series(codes == ASK))).codes
    return codes.tolist()


ATTRIBUTES = {
    "age": attribute(kind="numeric", range=[17, 91]),
    "age clamped": attribute(kind="numeric", range=[17, 91], clamp=True, missing=["?", "99"]),
    "wide steps": attribute(kind="numeric", range=[-10, 90], step=7, missing="suppress"),
    "tenths": attribute(kind="numeric", range=["-0.3", "1.2"], step="0.1", missing=["-9", "0.05"]),
    "thirds": attribute(kind="numeric", range=["0.1", "10"], step="0.3"),
    "millions": attribute(kind="numeric", range=[0, 10**7], step="0.5"),
    "beyond floats": attribute(kind="numeric", range=[0, 10**15], step=10**9, clamp=True),
    "beyond doubles": attribute(kind="numeric", range=[0, "12345678901234567890"], step=10**12),
    "edges": attribute(kind="numeric", edges=[0, "0.1", 1, 10, 1000], missing=["-1"]),
    "listed numbers": attribute(kind="numeric", values=["1", "2.5", "10"], missing=["0"]),
    "grades": attribute(kind="ordered", values=["low", "mid", "high"], other="Other"),
    "spellings": attribute(
        values=["low", "39", "true"], same={"low": ["High", "?", "99.0"], "39": [17, "0.3", 2.5]}, missing=["-9"]
    ),
    "spelt ranks": attribute(kind="ordered", values=["low", "10"], same={"10": ["0", "true"]}, other="Other"),
    "truth": attribute(values=[True, False], missing=[""]),
    "days": attribute(kind="date", range=["2020-01-01", "2021-01-01"]),
    "German days": attribute(
        kind="date", range=["2020-01-01", "2021-01-01"], format="%d.%m.%Y", missing=["?", "31.12.9999"]
    ),
    "American days": attribute(kind="date", range=["2019-12-30", "2021-01-01"], format="%m/%d/%Y", clamp=True),
    "days without a sign": attribute(kind="date", range=["2019-12-30", "2021-01-01"], format="%Y%m%d"),
    "comma": attribute(kind="numeric", range=["-0.3", "1.2"], step="0.1", decimal=",", missing=["-9", "k.A."]),
    "comma on whole cells": attribute(kind="numeric", range=[0, 100], decimal=",", missing=["99"]),
    "comma and edges": attribute(kind="numeric", edges=[0, "0.1", 1, 10, 1000], decimal=",", clamp=True),
    "weeks": attribute(kind="date", range=["2019-12-30", "2021-01-01"], step=7, clamp=True, missing="suppress"),
}
TEXTS = [
    *("39", " 39", "39 ", "+39", "39.0", "39.00", "039", "17", "16.9999999999999999999", "90.9999999999999999999"),
    *(
        "0.3",
        "0.30000000000000004",
        "0.29999999",
        "0.29999995",
        "0.2999999499999",
        "-0.3",
        "-0.30000001",
        "1.2",
        "1e-1",
    ),
    *("", " ", "?", " ?", "NaN", "nan", "inf", "-Infinity", "1e400", "1e999999", "-1e-400", "1_000", "0x10", "１７"),
    *(
        "99",
        "99.0",
        "-9",
        "-9.0",
        "0.05",
        "0.050",
        "-1",
        "2.50",
        "2.5",
        "10.0",
        "1",
        "0",
        "low",
        "low ",
        "High",
        "true",
    ),
    *("True", "FALSE", "2020-02-29", "2020-02-30", "2020-1-1", " 2020-01-01", "2020-01-01T12:00", "2020-01-01x"),
    *(
        "31.12.2020",
        "1.2.2020",
        "01.02.2020 ",
        "29.02.2021",
        "12/31/2020",
        "31/12/2020",
        "1/2/2020",
        "31.12.2020 10:15",
    ),
    *("31.12.20", "31.12.12020", "31-12-2020", "+1.2.2020", "31.12.9999", "31.12.2020T1", "31.12.2020x", "2020011"),
    *("0,3", "1,0", "-0,3", "-9,0", "+1,1", " 0,7", "0,", ",5", "1.000,5", "1,000.5", "1,5,0", "99,0", "k.A.", "1,2e0"),
    *("0,30000000000000004", "0,2999999499999", "16,9999999999999999999", "0,09999999999999999999", "９,５"),
    *("20200101", "2021-01-01", "1999-12-31", "9999999999999999999999999", "123456789012345678", "4503599627370497.5"),
]


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("name", ATTRIBUTES)
def test_expressions_agree_with_the_oracle(name: str, padded: bool) -> None:
    column = ATTRIBUTES[name]
    values = pl.Series([*TEXTS, None])
    assert encoded(column, values, padded=padded) == [code_of(column, value) for value in values.to_list()]


@pytest.mark.parametrize("dtype", [pl.Categorical, pl.Enum(list(dict.fromkeys(TEXTS)))])
@pytest.mark.parametrize("name", ATTRIBUTES)
def test_categories_are_their_texts(name: str, dtype) -> None:
    column = ATTRIBUTES[name]
    values = pl.Series([*TEXTS, None], dtype=pl.String)
    expected = [code_of(column, value) for value in values.to_list()]
    frame = pl.DataFrame({"x": values.cast(dtype)})
    codes = frame.select(first_look(column, values.cast(dtype).dtype)).to_series().to_numpy()
    found = settle(column, codes, values.filter(pl.Series(codes == ASK))).codes
    assert found.tolist() == expected


FLOATS = [0.1 * k for k in range(-5, 20)] + [16.999999999999996, 90.99999999999999, 1e300, -1e300, 2.0**53, 0.05, -9.0]
SERIES = {
    "floats": pl.Series([*FLOATS, float("inf"), float("nan"), None]),
    "small floats": pl.Series([0.1, 0.3, 0.7, 10.7, 1.1, 0.2, 17.0, None], dtype=pl.Float32),
    "integers": pl.Series([0, 1, 16, 17, 39, 90, 91, 99, -9, -1, 2**62, -(2**62), None]),
    "bytes": pl.Series([0, 17, 255], dtype=pl.UInt8),
    "unsigned": pl.Series([2**64 - 1, 5], dtype=pl.UInt64),
    "decimals": pl.Series([Decimal("0.30"), Decimal("2.50"), Decimal("-0.31"), Decimal("17.00"), None]),
    "truth": pl.Series([True, False, None]),
    "dates": pl.Series([dt.date(2020, 1, 1), dt.date(1999, 1, 1), dt.date(2020, 12, 31), None]),
    "times": pl.Series([dt.datetime(2020, 1, 1), dt.datetime(2020, 3, 1, 12, 30), None]),
    "nulls": pl.Series([None, None]),
}


@pytest.mark.parametrize("kind", SERIES)
@pytest.mark.parametrize("name", ATTRIBUTES)
def test_typed_columns_agree_with_the_oracle(name: str, kind: str) -> None:
    column, values = ATTRIBUTES[name], SERIES[kind]
    # What a 32-bit float holds is the decimal it prints.
    plain = [Decimal(v) if v else v for v in values.cast(pl.String)] if values.dtype == pl.Float32 else values.to_list()
    assert encoded(column, values) == [code_of(column, value) for value in plain]


@settings(max_examples=300)
@given(
    st.sampled_from(["tenths", "thirds", "millions", "age", "edges", "wide steps"]),
    st.lists(st.decimals(-20, 200, allow_nan=False, places=None) | st.decimals(-1, 100, places=8), max_size=10),
)
def test_any_decimal_text(name: str, numbers) -> None:
    column = ATTRIBUTES[name]
    values = pl.Series([str(number) for number in numbers], dtype=pl.String)
    assert encoded(column, values) == [code_of(column, value) for value in values.to_list()]


@settings(max_examples=300)
@given(
    st.sampled_from(["tenths", "thirds", "millions", "age clamped", "edges", "beyond floats"]),
    st.lists(st.floats(-20, 200) | st.floats(allow_nan=False), max_size=10),
)
def test_any_float(name: str, numbers) -> None:
    column = ATTRIBUTES[name]
    values = pl.Series(numbers, dtype=pl.Float64)
    assert encoded(column, values) == [code_of(column, value) for value in numbers]


CUPS = ("m", "M", "Mann", "w", "W", "1", "1.0", "true", "True", "-9", "x")


@settings(max_examples=200)
@given(
    st.permutations(CUPS), st.lists(st.sampled_from([*CUPS, " M", "W ", "", "1.00", None]), max_size=12), st.booleans()
)
def test_any_spellings(texts, cells, padded) -> None:
    """The first texts are values, the next are spellings of them, one means missing; the rest is outside."""
    column = attribute(values=texts[:3], same={texts[0]: texts[3:5], texts[2]: texts[5:7]}, missing=[texts[7]])
    values = pl.Series(cells, dtype=pl.String)
    found = encoded(column, values, padded=padded)
    assert found == [code_of(column, value) for value in cells]
    meant = dict.fromkeys(texts[3:5], 0) | dict.fromkeys(texts[5:7], 2) | {t: at for at, t in enumerate(texts[:3])}
    assert all(code == meant[text] for text, code in zip(cells, found, strict=True) if text in meant)


def test_cells_at_the_edge_of_a_cell() -> None:
    column = ATTRIBUTES["tenths"]
    texts = [f"{k / 10:.1f}" for k in range(-3, 12)]
    assert encoded(column, pl.Series(texts)) == [code_of(column, text) for text in texts] == [*range(4), *range(4, 15)]
    floats = [k * 0.1 for k in range(12)]
    assert encoded(column, pl.Series(floats)) == list(range(3, 15))


def test_the_naive_mutant_is_caught() -> None:
    """floor((x - low) / step) in plain floats puts 0.3 into the cell below."""
    column = ATTRIBUTES["tenths"]
    floats = [k * 0.1 for k in range(12)]
    naive = [int(np.floor((x + 0.3) / 0.1)) for x in floats]
    assert naive != encoded(column, pl.Series(floats))


def test_signs_of_the_oracle() -> None:
    age = ATTRIBUTES["age"]
    assert [code_of(age, value) for value in (17, 90, 91, None, "x", float("nan"))] == [
        *(0, 73, OUTSIDE, NULL, UNPARSABLE, NULL)
    ]
    assert code_of(ATTRIBUTES["wide steps"], None) == LEFT_OUT
    assert code_of(ATTRIBUTES["truth"], "") == 2
    assert code_of(ATTRIBUTES["grades"], "unheard") == 3


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (39, "39"),
        (39.0, "39"),
        (0.1, "0.1"),
        (1e-7, "0.0000001"),
        (True, "true"),
        (np.int64(3), "3"),
        (np.float64("nan"), None),
        (" a ", "a"),
        (dt.date(2020, 1, 2), "2020-01-02"),
        (dt.datetime(2020, 1, 2), "2020-01-02"),
        (dt.datetime(2020, 1, 2, 3), "2020-01-02T03:00:00"),
        (Decimal("2.50"), "2.5"),
        (None, None),
    ],
)
def test_canonical_texts(value, text) -> None:
    assert canonical_text(value) == text


def test_numbers_on_an_integer_grid_need_no_oracle_for_each(monkeypatch) -> None:
    import sfumato.io.encode as module

    asked = []
    monkeypatch.setattr(module, "code_of", lambda _column, value: asked.append(value) or 0)
    schema = Schema.parse({"name": "t", "attribute": {"x": {"role": "quasi", "kind": "numeric", "range": [0, 100]}}})
    cells = [f"{k / 7:.9f}" for k in range(500)]
    read(pl.DataFrame({"x": cells}), schema)
    assert not {*asked} & {*cells}  # only what an empty cell is
