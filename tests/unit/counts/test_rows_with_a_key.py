"""A table that names the person of each row is held here, so a larger one is refused with the number, not begun."""

from __future__ import annotations

import duckdb
import polars as pl
import pytest

import sfumato as sf

ROWS = 60


def schema() -> sf.Schema:
    listed = {"role": "quasi", "values": ["a", "b"]}
    raw = {"name": "keyed", "person": "who", "rows_per_person": 2, "attribute": {"place": listed}}
    return sf.Schema.parse(raw)


def frame() -> pl.DataFrame:
    return pl.DataFrame({"who": [f"p{at // 2}" for at in range(ROWS)], "place": ["a", "b"] * (ROWS // 2)})


@pytest.fixture
def few(monkeypatch):
    """Only so few rows are held."""
    monkeypatch.setattr("sfumato.counts.encoded_columns.HELD_ROWS", 50)
    monkeypatch.setattr("sfumato.engines.large_tables.HELD_ROWS", 50)


@pytest.mark.usefixtures("few")
def test_a_file_with_a_key_and_too_many_rows_is_refused_with_the_number(tmp_path):
    frame().write_parquet(tmp_path / "keyed.parquet")
    with pytest.raises(sf.ReadError, match=r"has 60 rows.* at most 50 rows"):
        sf.read(tmp_path / "keyed.parquet", schema(), driver_cells=10).counts()
    assert sf.read(tmp_path / "keyed.parquet", schema(), driver_cells=ROWS).people == ROWS // 2


@pytest.mark.usefixtures("few")
def test_a_database_with_a_key_and_too_many_different_rows_is_refused():
    keyed = frame()  # noqa: F841  (DuckDB finds it by name)
    with pytest.raises(sf.ReadError, match=r"has 60 rows.* at most 50 rows"):
        sf.read(duckdb.sql("FROM keyed"), schema(), driver_cells=10).counts()
    assert sf.read(duckdb.sql("FROM keyed"), schema(), driver_cells=ROWS).people == ROWS // 2
