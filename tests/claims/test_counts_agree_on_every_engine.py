"""The same data gives the same counts through polars, pandas, pyarrow, duckdb, Spark Connect (Sail) and files."""

from __future__ import annotations

import datetime as dt

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st
from tests.spark_sessions import frame_of, local, sail

from sfumato.counts import Counts, Table, read
from sfumato.io.decode_cell import code_of
from sfumato.schema import Schema

SCHEMA = Schema.parse(
    {
        "name": "people",
        "attribute": {
            "person": {"role": "identifier"},
            "age": {"role": "quasi", "kind": "numeric", "range": [0, 100], "missing": ["-1"]},
            "height": {
                "role": "quasi",
                "kind": "numeric",
                "range": ["0.5", "2.5"],
                "step": "0.1",
                "clamp": True,
                "missing": "suppress",
            },
            "sex": {
                "role": "quasi",
                "values": ["F", "M"],
                "same": {"F": ["f", "weiblich"], "M": ["m"]},
                "missing": ["?"],
            },
            "member": {"role": "quasi", "values": [True, False], "missing": "category"},
            "born": {"role": "quasi", "kind": "date", "range": ["1900-01-01", "2030-01-01"], "missing": "category"},
            "zip": {"role": "quasi", "mask": {"length": 2}, "other": "Other", "missing": "category"},
            "grade": {
                "role": "sensitive",
                "kind": "ordered",
                "values": ["1", "2", "3.5"],
                "same": {"2": [4]},
                "missing": "category",
            },
        },
    }
)
NAMES = [attribute.name for attribute in SCHEMA.published]
TYPES = {
    "age": pl.Int64,
    "height": pl.Float64,
    "sex": pl.String,
    "member": pl.Boolean,
    "born": pl.Date,
    "zip": pl.String,
    "grade": pl.Float64,
}

ROWS = st.fixed_dictionaries(
    {
        "age": st.none() | st.integers(-1, 99),
        "height": st.none() | st.sampled_from([0.1 * k for k in range(40)]) | st.floats(0, 3),
        "sex": st.none() | st.sampled_from(["F", "M", "?", " F", "M ", "f", "weiblich", " m"]),
        "member": st.none() | st.booleans(),
        "born": st.none() | st.dates(dt.date(1900, 1, 1), dt.date(2029, 12, 31)),
        "zip": st.none() | st.sampled_from(["00", "07", "99", "x", "é"]),
        "grade": st.none() | st.sampled_from([1.0, 2.0, 3.5, 4.0]),
    }
).filter(lambda row: any(value is not None for value in row.values()))  # a row without any value is refused


def polars_frame(rows: list[dict]) -> pl.DataFrame:
    return pl.DataFrame({name: pl.Series([row[name] for row in rows], dtype=TYPES[name]) for name in NAMES})


def pandas_objects(frame: pl.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series(frame[name].to_list(), dtype=object) for name in frame.columns})


def pandas_nan(frame: pl.DataFrame) -> pd.DataFrame:
    made = pandas_objects(frame)
    for name in ("age", "height", "grade"):
        made[name] = made[name].astype("float64")
    made["born"] = pd.to_datetime(made["born"])
    return made


def pandas_nullable(frame: pl.DataFrame) -> pd.DataFrame:
    made = pandas_nan(frame)
    made["age"] = made["age"].astype("Int64")
    made["member"] = made["member"].astype("boolean")
    made["sex"] = made["sex"].astype("string")
    return made


def pandas_categories(frame: pl.DataFrame) -> pd.DataFrame:
    made = pandas_objects(frame)
    for name in ("age", "sex", "zip", "grade"):
        made[name] = made[name].astype("category")
    made.index = made.index[::-1] + 7
    return made


def csv_of(frame: pl.DataFrame, folder) -> str:
    path = folder / "table.csv"
    frame.write_csv(path)
    return str(path)


def parquet_of(frame: pl.DataFrame, folder) -> str:
    path = folder / "table.parquet"
    frame.write_parquet(path)
    return str(path)


ENGINES = {
    "polars": lambda frame, _: frame,
    "polars lazy": lambda frame, _: frame.lazy(),
    "polars texts": lambda frame, _: frame.with_columns(pl.all().cast(pl.String)),
    "pandas objects": lambda frame, _: pandas_objects(frame),
    "pandas nan": lambda frame, _: pandas_nan(frame),
    "pandas nullable": lambda frame, _: pandas_nullable(frame),
    "pandas categories": lambda frame, _: pandas_categories(frame),
    "pandas arrow": lambda frame, _: frame.to_pandas(use_pyarrow_extension_array=True),
    "pyarrow": lambda frame, _: frame.to_arrow(),
    "duckdb": lambda frame, _: duckdb.connect().from_arrow(frame.to_arrow()),
    "sail": lambda frame, _: frame_of(sail(), frame),
    "csv": csv_of,
    "parquet": parquet_of,
}
GROUPED = {"duckdb", "sail"}  # their rows are in no order


def by_hand(frame: pl.DataFrame) -> Counts:
    """One dictionary over the rows, each cell coded by the oracle."""
    found: dict[tuple[int, ...], int] = {}
    for row in frame.rows():
        codes = tuple(code_of(SCHEMA[name], value) for name, value in zip(NAMES, row, strict=True))
        if min(codes) >= 0:
            found[codes] = found.get(codes, 0) + 1
    codes = np.array(sorted(found), dtype=np.int32).reshape(-1, len(NAMES))
    weights = np.array([found[tuple(row)] for row in codes.tolist()], dtype=np.int64)
    return Counts(SCHEMA, names=tuple(NAMES), codes=codes, weights=weights)


def checked(frame: pl.DataFrame, folder, engines=ENGINES) -> None:
    expected = by_hand(frame)
    for engine, make in engines.items():
        table = read(make(frame, folder), SCHEMA)
        counts = table.counts()
        assert counts == expected, engine
        assert counts.codes.dtype == np.int32, engine
        assert counts.weights.dtype == np.int64, engine
        assert counts.codes.flags.c_contiguous, engine
        assert (table.rows, table.left_out) == (expected.rows, frame.height - expected.rows), engine


@settings(max_examples=25)
@given(rows=st.lists(ROWS, min_size=1, max_size=12))
def test_any_frame_gives_the_same_counts(tmp_path_factory, rows) -> None:
    checked(polars_frame(rows), tmp_path_factory.mktemp("any"))


PERSON = {"age": 30, "height": 1.7, "sex": "F", "member": True, "born": dt.date(1990, 1, 1), "zip": "07", "grade": 2.0}
NOBODY = dict.fromkeys(PERSON)
SHAPES = {
    "one row": [PERSON],
    "all equal": [PERSON] * 50,
    "all unique": [{**PERSON, "age": age} for age in range(100)],
    "one huge class": [PERSON] * 1000 + [{**PERSON, "age": 31}],
    "only missing": [{**NOBODY, "height": 1.7}] * 3,
    "all left out": [{**NOBODY, "sex": "F"}] * 3,
    "reversed": [{**PERSON, "age": age, "grade": float(1 + age % 2)} for age in range(99, -1, -1)],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_named_shapes(shape: str, tmp_path) -> None:
    checked(polars_frame(SHAPES[shape]), tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("shape", SHAPES)
def test_named_shapes_in_spark(shape: str, tmp_path) -> None:
    checked(polars_frame(SHAPES[shape]), tmp_path, {"spark": lambda frame, _: frame_of(local(), frame)})


def test_an_empty_table(tmp_path) -> None:
    frame = polars_frame([])
    for engine in ("polars", "polars lazy", "pyarrow", "duckdb", "sail", "csv", "parquet"):
        table = read(ENGINES[engine](frame, tmp_path), SCHEMA)
        assert table.rows == 0
        assert table.counts().codes.shape == (0, len(NAMES))


@pytest.mark.parametrize("names", [["sex"], ["grade", "age"], ["zip", "member", "born"], []])
def test_marginals_agree_on_every_way_to_them(names, tmp_path) -> None:
    rng = np.random.default_rng(5)
    rows = [
        {
            **PERSON,
            "age": int(rng.integers(0, 3)),
            "sex": "FM"[int(rng.integers(2))],
            "member": None,
            "zip": "0" + str(rng.integers(3)),
        }
        for _ in range(300)
    ]
    frame = polars_frame(rows)
    fresh = read(frame, SCHEMA).counts(names)
    from_wider = read(frame, SCHEMA)
    from_wider.counts()
    grouped = read(ENGINES["duckdb"](frame, tmp_path), SCHEMA)
    assert fresh == from_wider.counts(names) == grouped.counts(names)
    assert fresh == read(frame, SCHEMA).counts().marginal(names)
    assert fresh.rows == 300


def test_counts_do_not_depend_on_row_order_or_run(tmp_path) -> None:
    rows = [{**PERSON, "age": age % 37, "zip": f"{age % 10}{age % 3}"} for age in range(2000)]
    frame = polars_frame(rows)
    first = read(frame, SCHEMA).counts()
    for seed in range(3):
        assert read(frame.sample(fraction=1, shuffle=True, seed=seed), SCHEMA).counts() == first
    keys = [tuple(row) for row in first.codes.tolist()]
    assert keys == sorted(keys)


def test_row_codes_keep_file_order(tmp_path) -> None:
    frame = polars_frame([{**PERSON, "age": age * 7 % 100} for age in range(100)])
    expected = [age * 7 % 100 for age in range(100)]
    for engine, make in ENGINES.items():
        codes = read(make(frame, tmp_path), SCHEMA).codes(["age"])
        found = codes[:, 0].tolist()
        assert codes.dtype == np.int32
        assert found == (sorted(expected) if engine in GROUPED else expected), engine


def test_encoded_rows_are_the_table_again() -> None:
    frame = polars_frame([{**PERSON, "age": age % 5, "sex": None} for age in range(50)])
    table = read(frame, SCHEMA)
    again = Table.from_codes(SCHEMA, table.codes())
    assert again.counts() == table.counts()
    assert again.rows == table.rows == 50


def test_a_broken_mutant_is_caught() -> None:
    """A reader that numbers values in order of appearance gives other codes for other orders."""

    def appearance(frame: pl.DataFrame) -> list[int]:
        seen: dict[str, int] = {}
        return [seen.setdefault(value, len(seen)) for value in frame["zip"].to_list()]

    frame = polars_frame([{**PERSON, "zip": value} for value in ("99", "07", "00")])
    right = read(frame, SCHEMA).codes(["zip"])[:, 0].tolist()
    assert right == [99, 7, 0]
    assert appearance(frame) != right
