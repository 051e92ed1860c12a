"""Anyone's table may write days and numbers as the schema says its file does: never another meaning in silence."""

from __future__ import annotations

import datetime as dt

import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from sfumato.errors import ReleaseError
from sfumato.io.decode_cell import code_of
from sfumato.release import Release
from sfumato.schema import Schema, label_name, parse_label

TENTHS = {"kind": "numeric", "range": [0, 100], "step": "0.1", "decimal": ",", "missing": ["99,9"]}
WHOLE = {"kind": "numeric", "range": [0, 100], "decimal": ","}
EDGES = {"kind": "numeric", "edges": [0, "0.5", 10, 100], "decimal": ","}
YEAR = {"kind": "date", "range": ["2020-01-01", "2021-01-01"]}


def described(**table) -> Schema:
    return Schema.parse({"name": "t", "attribute": {"x": {"role": "quasi", **table}}})


def codes(source, schema: Schema) -> list[tuple[int, int]]:
    table = Release.read(source, schema).boxes.tables[0]
    return [interval for label in range(len(table)) for interval in table.intervals(label)]


@pytest.mark.parametrize(
    ("table", "text", "intervals"),
    [
        (TENTHS, "5,5", ((55, 56),)),
        (TENTHS, "5,9", ((59, 60),)),
        (TENTHS, "5,5 | 7,25", ((55, 56), (72, 73))),
        (TENTHS, "{5,5; 7,25}", ((55, 56), (72, 73))),
        (TENTHS, "{5,5, 7,25}", ((55, 56), (72, 73))),
        (TENTHS, "{5,5}", None),
        (TENTHS, "120,5", None),
        (TENTHS, "99,90", ((1000, 1001),)),
        (TENTHS, "5.5", ((55, 56),)),
        (TENTHS, "[5.5-7.5)", ((55, 75),)),
        (TENTHS, "[5, 7[", ((50, 70),)),
        (TENTHS, "*", ((0, 1001),)),
        (WHOLE, "20,5", ((20, 21),)),
        (WHOLE, "20-29", ((20, 30),)),
        (EDGES, "0,7", ((1, 2),)),
        ({"kind": "numeric", "range": [0, 100]}, "5,9", ((5, 10),)),
        ({**YEAR, "format": "%d.%m.%Y"}, "01.05.2020", ((121, 122),)),
        ({**YEAR, "format": "%d.%m.%Y"}, "1.5.2020 10:15", ((121, 122),)),
        ({**YEAR, "format": "%d.%m.%Y"}, "2020-05-01", ((121, 122),)),
        ({**YEAR, "format": "%d.%m.%Y"}, "01.05.2020 - 09.05.2020", None),
        ({**YEAR, "format": "%Y-%d-%m"}, "2020-05-01", ((4, 5),)),
        ({**YEAR, "format": "%Y-%d-%m"}, "2020-05-13", None),
        ({**YEAR, "format": "%d.%m.%Y", "missing": ["01.01.1900", "31.02.2020"]}, "1.1.1900", ((366, 367),)),
        ({**YEAR, "format": "%d.%m.%Y", "missing": ["31.02.2020"]}, "30.02.2020", None),
        (YEAR, "2020-05-01 - 2020-05-09", ((121, 130),)),
        (YEAR, "2020-05-01 10:15", ((121, 122),)),
    ],
)
def test_labels_as_the_file_writes_them(table, text, intervals) -> None:
    assert parse_label(described(**table)["x"], text, written=True) == intervals


def test_a_national_table_is_read_as_the_schema_says(tmp_path) -> None:
    (tmp_path / "t.csv").write_text("x;k\n5,5;a\n5,9;b\n7;c\n", encoding="utf-8")
    assert codes(tmp_path / "t.csv", described(**TENTHS)) == [(55, 56), (59, 60), (70, 71)]
    (tmp_path / "t.csv").write_text("x;k\n01.05.2020;a\n13.05.2020;b\n", encoding="utf-8")
    assert codes(tmp_path / "t.csv", described(**YEAR, format="%d.%m.%Y")) == [(121, 122), (133, 134)]


@pytest.mark.parametrize("kind", ["polars", "pandas", "parquet"])
def test_typed_days_are_the_days_they_are(tmp_path, kind: str) -> None:
    frame = pl.DataFrame({"x": [dt.date(2020, 5, 1), dt.date(2020, 5, 13)]})
    frame.write_parquet(tmp_path / "t.parquet")
    source = {"polars": frame, "pandas": frame.to_pandas(), "parquet": tmp_path / "t.parquet"}[kind]
    assert codes(source, described(**YEAR, format="%Y-%d-%m")) == [(121, 122), (133, 134)]


def test_a_column_of_mixed_types_is_refused_without_its_cells() -> None:
    frame = pd.DataFrame({"x": pd.Series([1.5, "secret"], dtype=object)})
    with pytest.raises(ReleaseError, match="mixed types") as caught:
        Release.read(frame, described(**TENTHS))
    assert "secret" not in str(caught.value)


@settings(max_examples=200, deadline=None)
@given(st.decimals(0, 100, places=3), st.sampled_from(["tenths", "whole", "edges"]))
def test_a_bare_number_means_what_it_means_in_the_original(number, name: str) -> None:
    attribute = described(**{"tenths": TENTHS, "whole": WHOLE, "edges": EDGES}[name])["x"]
    text = str(number).replace(".", ",")
    code = code_of(attribute, text)
    assert parse_label(attribute, text, written=True) == (((code, code + 1),) if code >= 0 else None)


@pytest.mark.parametrize("form", ["%d.%m.%Y", "%Y-%d-%m", "%Y%m%d"])
@given(st.dates(dt.date(2019, 12, 1), dt.date(2021, 1, 31)))
def test_a_bare_day_means_what_it_means_in_the_original(form: str, day: dt.date) -> None:
    attribute = described(**YEAR, format=form)["x"]
    text = f"{day:{form}}"
    code = code_of(attribute, text)
    assert parse_label(attribute, text, written=True) == (((code, code + 1),) if code >= 0 else None)


@pytest.mark.parametrize("table", [TENTHS, WHOLE, EDGES, {**YEAR, "format": "%d.%m.%Y", "dates": ["month", "year"]}])
def test_our_own_labels_keep_their_names_and_read_back(table) -> None:
    attribute = described(**table)["x"]
    plain = described(**{key: value for key, value in table.items() if key not in ("decimal", "format")})["x"]
    for low in range(0, attribute.size - 1, 7):
        for high in (low + 1, low + 2, attribute.size):
            label = label_name(attribute, [(low, high)])
            assert label == label_name(plain, [(low, high)])
            assert parse_label(attribute, label, written=True) == parse_label(attribute, label) == ((low, high),)
