# ruff: noqa: DTZ001  (data has times without zones)
"""Days and numbers as a file writes them: typed or text, alone or in company, a cell means one thing."""

from __future__ import annotations

import datetime as dt
import tomllib
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

import sfumato as sf
from sfumato.counts import read
from sfumato.drafting import draft
from sfumato.errors import ReadError, SchemaError
from sfumato.io.decode_cell import ASK, code_of
from sfumato.io.encode import first_look, settle
from sfumato.schema import Attribute, Schema

YEAR = {"kind": "date", "range": ["2020-01-01", "2021-01-01"]}
TENTHS = {"kind": "numeric", "range": [0, 100], "step": "0.1"}
GONE = 366  # the missing code of YEAR
NONE = 1000  # and of TENTHS


def schema(**given) -> Schema:
    return Schema.parse({"name": "t", "attribute": {"x": {"role": "quasi", **given}}})


def attribute(**given) -> Attribute:
    return schema(**given)["x"]


def objects(values, described: Schema) -> list[int]:
    frame = pd.DataFrame({"x": pd.Series(list(values), dtype=object)})
    return read(frame, described).codes("x").ravel().tolist()


def encoded(column: Attribute, values: pl.Series, *, padded: bool = False) -> list[int]:
    codes = pl.DataFrame({"x": values}).select(first_look(column, values.dtype, padded=padded)).to_series().to_numpy()
    if (codes == ASK).any():
        codes = settle(column, codes, values.filter(pl.Series(codes == ASK))).codes
    return codes.tolist()


# -- one row's value never changes another row's code ---------------------------------------

ODD = {
    "days": schema(**YEAR, format="%Y-%d-%m", clamp=True, missing=["?", "2020-09-09"]),
    "German days": schema(**YEAR, format="%d.%m.%Y", clamp=True, missing=["?", "09.09.2020"]),
    "digits": schema(**YEAR, format="%Y%m%d", clamp=True, missing=["?", "0"]),
    "ISO days": schema(**YEAR, clamp=True, missing=["?", "2020-09-09"]),
    "comma": schema(**TENTHS, decimal=",", clamp=True, missing=["?", "99,9"]),
    "point": schema(**TENTHS, clamp=True, missing=["?", "99.9"]),
    "thousands": schema(**TENTHS, thousands=".", clamp=True, missing=["?", "99,9"]),
    "dollars": schema(**TENTHS, thousands=",", units=["$"], clamp=True, missing=["?", "99.9"]),
    "months": schema(**YEAR, step="month", format="%m/%Y", clamp=True, missing=["?", "09/2020"]),
}
DAYS = st.dates(dt.date(2019, 12, 1), dt.date(2021, 1, 31))
CELLS = {
    "days": DAYS | DAYS.map(lambda day: f"{day:%Y-%d-%m}"),
    "German days": DAYS | DAYS.map(lambda day: f"{day:%d.%m.%Y}"),
    "digits": DAYS | DAYS.map(lambda day: int(f"{day:%Y%m%d}")) | DAYS.map(lambda day: f"{day:%Y%m%d}"),
    "ISO days": DAYS | DAYS.map(str) | DAYS.map(pd.Timestamp),
    "comma": st.floats(-1, 101) | st.decimals(-1, 101, places=2) | st.sampled_from(["1,5", "99,90", "7"]),
    "point": st.floats(-1, 101) | st.decimals(-1, 101, places=2) | st.sampled_from(["1.5", "99.90", "7"]),
    "thousands": st.floats(-1, 9999) | st.sampled_from(["1,5", "99,90", "1.234", "12.345,6"]),
    "dollars": st.floats(-1, 9999) | st.sampled_from(["$1.5", "99.90", "$1,234", "1,234.5 $", "-$5"]),
    "months": DAYS | DAYS.map(lambda day: f"{day:%m/%Y}") | DAYS.map(pd.Timestamp),
}


def test_a_word_among_days_leaves_the_days_alone() -> None:
    described = schema(**YEAR, format="%Y-%d-%m", missing=["?"])
    assert objects([dt.date(2020, 5, 1), dt.date(2020, 5, 2)], described) == [121, 122]
    assert objects([dt.date(2020, 5, 1), "?"], described) == [121, GONE]
    assert objects([dt.date(2020, 5, 1), "2020-01-05", pd.Timestamp("2020-05-01"), pd.NA], described) == [
        *[121] * 3,
        GONE,
    ]


def test_a_number_among_days_is_no_day_since_1970() -> None:
    described = schema(**YEAR, format="%Y%m%d", clamp=True)
    for day in (dt.date(2020, 5, 1), dt.datetime(2020, 5, 1), pd.Timestamp("2020-05-01")):
        assert objects([day, 20200502], described) == [121, 122]


def test_a_word_among_floats_leaves_the_numbers_alone() -> None:
    described = schema(**TENTHS, decimal=",", missing=["?"])
    assert objects([1.5, "?", "1,5", Decimal("1.5"), np.float64(1.5), 2, None], described) == [
        15,
        NONE,
        15,
        15,
        15,
        20,
        NONE,
    ]


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(list(ODD)), st.data())
def test_mixed_columns_are_read_as_each_cell_alone(name: str, data) -> None:
    cells = data.draw(st.lists(CELLS[name] | st.sampled_from(["?", None, " ? "]), min_size=1, max_size=6))
    together = objects(cells, ODD[name])
    assert together == [objects([cell], ODD[name])[0] for cell in cells]
    assert together == [code_of(ODD[name]["x"], cell) for cell in cells]


# -- what means missing is read as a cell is -------------------------------------------------


def test_typed_days_may_mean_missing() -> None:
    described = schema(**YEAR, clamp=True, missing=["2020-05-05", "9999-12-31"])
    days = [dt.date(2020, 5, 5), dt.date(9999, 12, 31), dt.date(2020, 5, 6)]
    times = [dt.datetime(2020, 5, 5), dt.datetime(9999, 12, 31, 23, 59), dt.datetime(2020, 5, 6, 1)]
    for values in (days, times, [str(day) for day in days], [str(time) for time in times]):
        assert read(pl.DataFrame({"x": values}), described).codes("x").ravel().tolist() == [GONE, GONE, 126]


def test_days_mean_missing_in_the_format_of_the_file() -> None:
    described = schema(**YEAR, clamp=True, format="%d.%m.%Y", missing=["01.01.1900"])
    for values in ([dt.date(1900, 1, 1)], [dt.datetime(1900, 1, 1, 8)], ["01.01.1900"], ["1.1.1900"]):
        assert read(pl.DataFrame({"x": values}), described).codes("x").ravel().tolist() == [GONE]
        assert code_of(described["x"], values[0]) == GONE
    swapped = attribute(**YEAR, format="%Y-%d-%m", missing=["2020-05-01"])  # the 5th of January
    assert [code_of(swapped, dt.date(2020, 5, 1)), code_of(swapped, dt.date(2020, 1, 5))] == [121, GONE]
    assert encoded(swapped, pl.Series([dt.date(2020, 5, 1), dt.date(2020, 1, 5)])) == [121, GONE]


@pytest.mark.parametrize(
    "values",
    [["99,9", "99,90", "+99,9"], [99.9, 99.9], [Decimal("99.9"), Decimal("99.90")]],
    ids=["texts", "floats", "decimals"],
)
def test_numbers_mean_missing_with_the_comma_of_the_file(values) -> None:
    described = schema(**TENTHS, decimal=",", missing=["99,9"])
    assert set(read(pl.DataFrame({"x": list(values)}), described).codes("x").ravel().tolist()) == {NONE}
    assert {code_of(described["x"], value) for value in values} == {NONE}


def test_a_point_means_no_number_where_commas_do() -> None:
    described = schema(**TENTHS, decimal=",", missing=["1.5"])
    for values in (["1,5", "1,50"], [1.5, 1.5], [Decimal("1.5")] * 2):
        assert read(pl.DataFrame({"x": values}), described).codes("x").ravel().tolist() == [15, 15]
    assert objects(["1.5", 1.5], described) == [NONE, 15]


MISSING = {
    "ISO": attribute(**YEAR, clamp=True, missing=["2020-05-05", "9999-12-31", "0000-01-01", "2020-07-07T12:00"]),
    "German": attribute(**YEAR, format="%d.%m.%Y", missing=["01.01.1900", "5.5.2020", "2020-03-03"]),
    "swapped": attribute(**YEAR, format="%Y-%d-%m", clamp=True, missing=["2020-05-01", "2020-13-01"]),
    "digits": attribute(**YEAR, format="%Y%m%d", clamp=True, missing=["20200505", "0"]),
    "suppressed": attribute(**YEAR, missing={"values": ["2020-05-05"], "action": "suppress"}),
}
SHAPES = ["%Y-%m-%d", "%d.%m.%Y", "%Y-%d-%m", "%Y%m%d"]


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(list(MISSING)), st.lists(st.dates() | DAYS, min_size=1, max_size=8), st.booleans())
def test_days_of_every_type_agree_with_the_oracle(name: str, days, padded: bool) -> None:
    column = MISSING[name]
    days = [*days, dt.date(2020, 5, 5), dt.date(2020, 1, 5), dt.date(1900, 1, 1), dt.date(2020, 7, 7)]
    for values in (days, [dt.datetime.combine(day, dt.time(12)) for day in days]):
        assert encoded(column, pl.Series(values)) == [code_of(column, value) for value in values]
    for shape in SHAPES:
        texts = [day.strftime(shape.replace("%Y", f"{day.year:04}")) for day in days]
        assert encoded(column, pl.Series(texts), padded=padded) == [code_of(column, text) for text in texts]
    digits = [int(f"{day:%Y%m%d}") for day in days]
    for dtype in (pl.Int64, pl.UInt32, pl.Float64):
        assert encoded(column, pl.Series(digits).cast(dtype)) == [code_of(column, number) for number in digits]


COMMAS = {
    "grid": attribute(**TENTHS, decimal=",", missing=["99,9", "1.5", "-9"]),
    "whole": attribute(kind="numeric", range=[0, 100], decimal=",", clamp=True, missing=["99,0", "1.5"]),
    "edges": attribute(kind="numeric", edges=[0, "0.5", 10, 100], decimal=",", missing=["0,5", "10"]),
    "many edges": attribute(kind="numeric", edges=list(range(101)), decimal=",", missing=["0,5", "10"]),
    "many edges, points": attribute(kind="numeric", edges=list(range(101)), missing=["0.5", "10"]),
    "no double": attribute(kind="numeric", range=["0.1234567890123456", "10"], step="0.1", clamp=True, missing=["9.5"]),
}


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(list(COMMAS)), st.lists(st.decimals(-1, 101, places=2), max_size=8), st.booleans())
def test_numbers_of_every_type_agree_with_the_oracle(name: str, numbers, padded: bool) -> None:
    column = COMMAS[name]
    numbers = [*numbers, Decimal("99.90"), Decimal("1.5"), Decimal("0.5"), Decimal(10), Decimal("99.0"), Decimal("9.5")]
    for texts in ([str(number) for number in numbers], [str(number).replace(".", ",") for number in numbers]):
        assert encoded(column, pl.Series(texts), padded=padded) == [code_of(column, text) for text in texts]
    for values in (pl.Series(numbers), pl.Series([float(number) for number in numbers])):
        assert encoded(column, values) == [code_of(column, value) for value in values.to_list()]


THOUSANDS = {
    "points": attribute(**TENTHS, thousands=".", missing=["99,9", "1.500", "-9"]),
    "commas": attribute(kind="numeric", range=[0, 100_000], thousands=",", clamp=True, missing=["9,999", "-9"]),
    "dollars": attribute(kind="numeric", range=[0, 100_000], thousands=",", units=["$", "Fr."], missing=["$99,999"]),
    "blanks": attribute(kind="numeric", edges=[0, "0.5", 10, 50_000], decimal=",", thousands=" ", clamp=True),
    "primes": attribute(kind="numeric", range=[0, 100_000], step=500, thousands="'", units=["CHF"], clamp=True),
    "units": attribute(kind="numeric", range=[0, 100], units=["%"]),
}
WRITTEN = st.from_regex(r"-?[$]?[0-9]{1,3}([.,' ][0-9]{3}){0,2}([.,][0-9]{1,2})?( ?(CHF|Fr\.|%|[$]))?", fullmatch=True)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(list(THOUSANDS)), st.lists(WRITTEN, min_size=1, max_size=8), st.booleans())
def test_thousands_and_units_agree_with_the_oracle(name: str, texts, padded: bool) -> None:
    """Item 13: texts with marks for thousands and signs of currencies are read by expressions as by the oracle."""
    column = THOUSANDS[name]
    texts = [*texts, "99.999", "99,999", "$99,999", "1.500", "-9", "64300", " 12 ", "5\u00a0%", "1\u202f234", "1e3"]
    for values in (pl.Series(texts), pl.Series(texts, dtype=pl.Categorical)):
        assert encoded(column, values, padded=padded) == [code_of(column, text) for text in texts]
    numbers = [64_300, 99_999, -9, 9_999, 7]
    for dtype in (pl.Int64, pl.Float64, pl.Float32, pl.Decimal(12, 2)):
        values = pl.Series(numbers).cast(dtype)
        assert encoded(column, values) == [code_of(column, value) for value in values.to_list()]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.dates(dt.date(1990, 1, 1), dt.date(2000, 12, 31)) | st.dates(), min_size=1, max_size=8))
def test_months_agree_with_the_oracle(days) -> None:
    """Item 13: 03/1994 is the month, in texts and in typed days."""
    ends = {"kind": "date", "range": ["1990-01-01", "2001-01-01"], "step": "month"}
    for given_keys in ({"format": "%m/%Y", "missing": ["01/1900"]}, {"missing": ["1900-01-01"]}, {"clamp": True}):
        column = attribute(**ends, **given_keys)
        found = [*days, dt.date(1900, 1, 15), dt.date(1900, 1, 1), dt.date(1994, 3, 31)]
        for values in (found, [dt.datetime.combine(day, dt.time(9)) for day in found]):
            assert encoded(column, pl.Series(values)) == [code_of(column, value) for value in values]
        for texts in (
            [f"{day.month}/{day.year:04}" for day in found],
            [f"{day.year:04}-{day.month:02}" for day in found],
            [day.isoformat() for day in found],
        ):
            assert encoded(column, pl.Series(texts)) == [code_of(column, text) for text in texts]
    column = attribute(**ends, format="%m/%Y")
    assert column.text(code_of(column, "03/1994")) == "1994-03"


@pytest.mark.parametrize(("step", "months"), [("quarter", 3), ("year", 12), ("decade", 120)])
def test_longer_steps_of_the_calendar_agree_with_the_oracle(step, months) -> None:
    ends = {"kind": "date", "range": ["1980-01-01", "2010-01-01"], "step": step}
    found = [
        dt.date(1980, 1, 1),
        dt.date(1989, 12, 31),
        dt.date(1990, 1, 1),
        dt.date(2009, 12, 31),
        dt.date(1979, 12, 1),
    ]
    for form in ("%m/%Y", "%d.%m.%Y"):
        column = attribute(**ends, format=form, clamp=True)
        texts = [
            form.replace("%d", "07").replace("%m", f"{day.month:02}").replace("%Y", f"{day.year}") for day in found
        ]
        inside = [(day.year * 12 + day.month - 1 - 1980 * 12) // months for day in found[:-1]]
        assert encoded(column, pl.Series(texts)) == [code_of(column, text) for text in texts] == [*inside, 0]
        assert encoded(column, pl.Series(found)) == [*inside, 0]
    with pytest.raises(SchemaError, match=f"first day of a {step}"):
        schema(**{**ends, "range": ["1980-02-01", "2010-01-01"]})
    with pytest.raises(SchemaError, match="finer than the step"):
        schema(**ends, dates=["month"])


def test_a_release_in_years_is_verified_from_its_files(tmp_path) -> None:
    column = {"kind": "date", "range": ["1980-01-01", "2000-01-01"]}
    keys = {"role": "quasi", **column, "step": "quarter", "dates": ["year"]}
    plan = Schema.parse({"name": "t", "attribute": {"x": keys, "y": {"role": "sensitive", **column, "step": "year"}}})
    days = [dt.date(1980 + at % 20, 1 + at % 12, 1 + at % 28) for at in range(120)]
    release = sf.publish(read(pl.DataFrame({"x": days, "y": days[::-1]}), plan), sf.Mondrian(sf.KAnonymity(5)))
    release.save(tmp_path / "r", allow_fingerprints=True)
    assert sf.verify(tmp_path / "r").holds
    assert "[1999-01-01..2000-01-01)" in pl.read_parquet(tmp_path / "r" / "data.parquet")["y"].cast(pl.String)


def test_what_a_point_means_is_declared_and_never_inferred_from_other_rows() -> None:
    """Item 13: 1.234 is read by the declaration, whatever stands beside it."""
    plain = schema(kind="numeric", range=[0, 10_000], step="0.001")
    german = schema(kind="numeric", range=[0, 10_000], thousands=".")
    for rest in ([], ["2.5"], ["5.678", "9.999"]):
        assert read(pl.DataFrame({"x": ["1.234", *rest]}), plain).codes("x")[0, 0] == 1234
    for rest in ([], ["2,5"], ["5.678", "9.999"]):
        assert read(pl.DataFrame({"x": ["1.234", *rest]}), german).codes("x")[0, 0] == 1234
    assert german["x"].text(1234) == "1234"
    with pytest.raises(ReadError, match=r"written like 1\.234,5"):
        read(pl.DataFrame({"x": ["1.234", "2.5"]}), german)


@pytest.mark.parametrize(
    ("keys", "rule"),
    [
        ({"thousands": ".", "decimal": "."}, "is also the mark before decimals"),
        ({"units": ["5"]}, "holds a text with a digit"),
        ({"thousands": "_"}, "wrong form"),
    ],
)
def test_forms_of_numbers_that_can_not_be_read_are_refused(keys, rule) -> None:
    with pytest.raises(SchemaError, match=rule):
        schema(kind="numeric", range=[0, 10], **keys)


def test_a_format_without_days_needs_cells_of_months() -> None:
    with pytest.raises(SchemaError, match='step = "month"'):
        schema(**YEAR, format="%m/%Y")
    with pytest.raises(SchemaError, match="first day of a month"):
        schema(kind="date", range=["2020-01-02", "2021-01-01"], step="month")


# -- odd days, formats and edges ---------------------------------------------------------------


@pytest.mark.parametrize("form", [None, "%d.%m.%Y", "%Y%m%d"])
def test_there_is_no_year_0(form: str | None) -> None:
    column = attribute(**YEAR, clamp=True, **({} if form is None else {"format": form}))
    shape = form or "%Y-%m-%d"
    texts = [shape.replace("%Y", year).replace("%m", "03").replace("%d", "04") for year in ("0000", "0001", "9999")]
    assert encoded(column, pl.Series(texts)) == [code_of(column, text) for text in texts] == [-3, 0, 365]


def test_days_python_can_not_hold() -> None:
    far = pl.Series([-800_000, 18_383, 9_000_000]).cast(pl.Date)
    for series in (far, far.cast(pl.Datetime("ms"))):
        assert encoded(attribute(**YEAR, format="%Y-%d-%m"), series) == [-3, 121, -3]
        assert "attribute.x" in draft(pl.DataFrame({"x": series}))


def test_a_draft_of_very_many_days_with_a_year_0() -> None:
    days = [str(dt.date(1980, 1, 1) + dt.timedelta(day)) for day in range(10_001)]
    assert "attribute.day" in draft(pl.DataFrame({"day": ["0000-01-01", *days] * 2}))


@pytest.mark.parametrize(
    "form", [" %d.%m.%Y", "%d.%m.%Y ", "%d\t%m\t%Y", "%d.%m.%Y\0", "%d\u200b%m.%Y", "%d\ud800%m.%Y"]
)
def test_formats_nobody_can_see_are_refused_in_words(form: str) -> None:
    with pytest.raises(SchemaError, match=r"attribute\.x\.format: (may not begin or end with a blank|holds a control)"):
        schema(**YEAR, format=form)


@settings(max_examples=100, deadline=None)
@given(
    st.text(
        st.characters(exclude_categories=("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "L", "N"), exclude_characters="%")
    ),
    st.permutations(["%d", "%m", "%Y"]),
    st.lists(DAYS, min_size=1, max_size=4),
)
def test_any_sign_may_stand_between(sign: str, parts, days) -> None:
    form = sign.join(parts)
    column = attribute(**YEAR, format=form, clamp=True)
    texts = [form.replace("%d", f"{d.day:02}").replace("%m", f"{d.month:02}").replace("%Y", str(d.year)) for d in days]
    expected = [min(max((day - dt.date(2020, 1, 1)).days, 0), 365) for day in days]
    assert encoded(column, pl.Series(texts)) == [code_of(column, text) for text in texts] == expected


def test_many_edges_on_a_file(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x\n1\n5\n7\n", encoding="utf-8")
    described = schema(kind="numeric", edges=list(range(100)))
    assert read(tmp_path / "t.csv", described).codes("x").ravel().tolist() == [1, 5, 7]
    described = schema(kind="numeric", range=["0.1234567890123456", "10"], step="0.1")
    assert read(tmp_path / "t.csv", described).codes("x").ravel().tolist() == [8, 48, 68]


# -- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("mark", [";", "\t", "|"])
@pytest.mark.parametrize(("decimals", "words"), [(1, 1), (2, 0), (2, 1), (3, 0), (3, 1)])
def test_decimal_commas_do_not_cut_cells(tmp_path: Path, mark: str, decimals: int, words: int) -> None:
    names = [f"d{at}" for at in range(decimals)] + ["k"] * words
    rows = [[f"{row},{at}" for at in range(decimals)] + ["x"] * words for row in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(mark.join(line) for line in [names, *rows]) + "\n", encoding="utf-8")
    described = Schema.parse({"name": "t", "attribute": {"d0": {"role": "quasi", **TENTHS, "decimal": ","}}})
    assert read(tmp_path / "t.csv", described).codes("d0").ravel().tolist() == [10 * row for row in range(60)]


@pytest.mark.parametrize("library", ["polars", "pandas", "pandas with gaps", "parquet"])
def test_drafts_of_days_in_integers_read_their_own_table(tmp_path: Path, library: str) -> None:
    numbers = [20200101 + day for day in range(28)] * 3
    frame = pl.DataFrame({"visit_date": numbers})
    if library == "parquet":
        frame.write_parquet(tmp_path / "t.parquet")
    data = {
        "polars": frame,
        "pandas": pd.DataFrame({"visit_date": numbers}),
        "pandas with gaps": pd.DataFrame({"visit_date": [*numbers, None]}),
        "parquet": tmp_path / "t.parquet",
    }[library]
    proposed = tomllib.loads(draft(data))
    proposed["attribute"]["visit_date"]["role"] = "quasi"
    described = Schema.parse(proposed)
    assert described["visit_date"].format == "%Y%m%d"
    assert read(data, described).codes("visit_date").ravel().tolist()[:28] == list(range(28))


def test_two_days_are_no_day_with_a_time() -> None:
    for form, text in ((None, "2020-05-01 - 2020-05-09"), ("%d.%m.%Y", "01.05.2020 - 09.05.2020")):
        described = schema(**YEAR, **({} if form is None else {"format": form}))
        with pytest.raises(ReadError):
            read(pl.DataFrame({"x": [text]}), described)
