"""The same release in memory, from a stream, from DuckDB and from PostgreSQL, in one phase and in two."""

from __future__ import annotations

import duckdb
import numpy as np
import polars as pl
import pytest
from tests.claims.postgres import server

import sfumato as sf
from sfumato.engines import opened
from sfumato.io import database
from sfumato.schema import Schema

ROWS = 400
WHERE = ["stream", "duckdb", "postgresql"]


def schema_of(*, person: bool = False) -> Schema:
    return Schema.parse(
        {
            "name": "people",
            "source": "public",
            **({"person": "who", "rows_per_person": 3} if person else {}),
            "attribute": {
                "who": {"role": "identifier"},
                "age": {"role": "quasi", "kind": "numeric", "range": [0, 90], "missing": "suppress"},
                "height": {"role": "quasi", "kind": "numeric", "range": ["0.5", "2.5"], "step": "0.1"},
                "town": {"role": "quasi", "values": ["Ulm", "Köln", "O'Fallon", "Bonn"], "missing": ["?"]},
                "born": {"role": "quasi", "kind": "date", "range": ["1990-01-01", "1992-01-01"], "dates": ["month"]},
                "ill": {"role": "sensitive", "values": ["flu", "none", "cough"]},
            },
        }
    )


def frame_of(seed: int = 1, rows: int = ROWS) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    town = np.array(["Ulm", "Köln", "O'Fallon", "Bonn", "?"])
    return pl.DataFrame(
        {
            "who": [f"p{one:04d}" for one in rng.permutation(rows) // 2],
            "age": [int(age) if age < 88 else None for age in rng.integers(0, 90, rows)],
            "height": (rng.random(rows) * 1.9 + 0.55).round(6),
            "town": town[rng.integers(0, 5, rows)],
            "born": (np.datetime64("1990-01-01") + rng.integers(0, 730, rows)).astype("datetime64[D]"),
            "ill": np.array(["flu", "none", "cough"])[rng.integers(0, 3, rows)],
        }
    )


@pytest.fixture(scope="module")
def postgres():
    with server() as running:
        yield running


def load(running, frame: pl.DataFrame, table: str) -> str:
    from adbc_driver_postgresql import dbapi

    address = running.address(table)
    with dbapi.connect(address.partition("#")[0]) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest(table, frame.to_arrow(), mode="replace")
        connection.commit()
    return address


def read(where: str, frame: pl.DataFrame, schema: Schema, cells: int, *, folder, running, monkeypatch):
    if where == "stream":
        monkeypatch.setattr(opened, "HELD_ROWS", 50)
        monkeypatch.setattr(opened, "_BATCH", 64)
        frame.write_parquet(folder / "rows.parquet")
        return sf.read(folder / "rows.parquet", schema, driver_cells=cells)
    if where == "duckdb":
        connection = duckdb.connect()
        connection.register("people", frame.to_arrow())
        return sf.read(connection.table("people"), schema, driver_cells=cells)
    return sf.read(load(running, frame, "people"), schema, driver_cells=cells)


@pytest.mark.parametrize("cells", [10**6, 250], ids=["one phase", "two phases"])
@pytest.mark.parametrize("where", WHERE)
def test_every_engine_gives_the_release_of_the_table_in_memory(where, cells, tmp_path, postgres, monkeypatch):
    frame, schema = frame_of().drop("who"), schema_of()
    near = sf.read(frame, schema)
    far = read(where, frame, schema, cells, folder=tmp_path, running=postgres, monkeypatch=monkeypatch)
    assert (far.rows, far.left_out, far.held) == (near.rows, near.left_out, cells > ROWS)
    assert far.counts(["town", "ill"]) == near.counts(["town", "ill"])
    for requirement in (sf.KAnonymity(5), sf.KAnonymity(4) & sf.LDiversity("1.5") & sf.TCloseness("0.3")):
        expected = sf.publish(near, sf.Mondrian(requirement))
        found = sf.publish(far, sf.Mondrian(requirement), save_to=tmp_path / str(requirement.parts[0]))
        assert found.frame().equals(expected.frame())
        assert sf.verify(tmp_path / str(requirement.parts[0])).holds
    method = sf.DiffGen(1, specializations=3)
    drawn = [sf.publish(table.with_roles(quasi="town", target="ill"), method, seed=5) for table in (near, far)]
    assert drawn[0].frame().equals(drawn[1].frame())


@pytest.mark.parametrize("where", ["duckdb", "postgresql"])
def test_people_are_counted_wherever_the_rows_are(where, tmp_path, postgres, monkeypatch):
    frame, schema = frame_of(), schema_of(person=True)
    expected = sf.publish(sf.read(frame, schema), sf.Mondrian(sf.KAnonymity(4) & sf.LDiversity("1.2")))
    far = read(where, frame, schema, 30, folder=tmp_path, running=postgres, monkeypatch=monkeypatch)
    assert far.engine is not None
    found = sf.publish(far, sf.Mondrian(sf.KAnonymity(4) & sf.LDiversity("1.2")))
    assert found.frame().equals(expected.frame())


def test_problems_are_the_same_in_a_stream(tmp_path, monkeypatch):
    frame = frame_of().with_columns(
        pl.when(pl.col("ill") == "flu").then(pl.lit("influenza")).otherwise("ill").alias("ill")
    )
    expected = [(one.path, one.rule) for one in sf.check(frame, schema_of())]
    monkeypatch.setattr(opened, "HELD_ROWS", 50)
    monkeypatch.setattr(opened, "_BATCH", 64)
    frame.write_parquet(tmp_path / "rows.parquet")
    assert expected
    assert [(one.path, one.rule) for one in sf.check(tmp_path / "rows.parquet", schema_of())] == expected


def test_nothing_but_counts_leaves_the_server(tmp_path, postgres, monkeypatch):
    """Every statement groups and counts, each line that comes back is a count, and no key is among them."""
    said, fetched = [], database.fetch

    def spied(address, statement):
        found = fetched(address, statement)
        said.append((statement, found))
        return found

    monkeypatch.setattr(database, "fetch", spied)
    rows = 3000
    frame = frame_of(rows=rows).with_columns(who=pl.Series([f"p{one:05d}" for one in range(rows)]))
    table = sf.read(load(postgres, frame, "people"), schema_of(), driver_cells=200)
    release = sf.publish(table, sf.Mondrian(sf.KAnonymity(20)), save_to=tmp_path / "out")
    assert release.rows == table.rows
    asked = [(statement, found) for statement, found in said if "pg_attribute" not in statement]
    assert asked
    keys = set(frame["who"])
    for statement, found in asked:
        assert "COUNT(*)" in statement
        assert "GROUP BY" in statement or found.height == 1
        assert found.select(pl.col("^n|__rows__|__kinds__$")).width >= 1
        for column in found.iter_columns():
            assert not keys & set(column.cast(pl.String))


def test_an_address_is_never_said(tmp_path, postgres):
    address = postgres.address("nowhere", password="hush-hush")
    with pytest.raises(sf.ReadError) as caught:
        sf.read(address, schema_of())
    assert "hush" not in repr(caught.value) + str(caught.value)
    load(postgres, frame_of().drop("who"), "people")
    table = sf.read(postgres.address("people", password="hush-hush"), schema_of())
    sf.publish(table, sf.Mondrian(sf.KAnonymity(5)), save_to=tmp_path / "out")
    written = b"".join(path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert b"hush" not in written
    assert b"postgresql://" not in written


def test_a_connection_cut_during_publish_leaves_nothing(tmp_path, postgres, monkeypatch):
    """The server goes away between the summaries and the parts: an error, no folder, the ledger without an entry."""
    table = sf.read(load(postgres, frame_of().drop("who"), "people"), schema_of(), driver_cells=30)
    assert table.engine is not None
    fetched, asked = database.fetch, []

    def cut(address, statement):
        asked.append(statement)
        if len(asked) == 3:
            postgres.stop()
        return fetched(address, statement)

    monkeypatch.setattr(database, "fetch", cut)
    ledger = tmp_path / "ledger.db"
    try:
        with pytest.raises(sf.ReadError, match="did not answer"):
            sf.publish(table, sf.Mondrian(sf.KAnonymity(5)), save_to=tmp_path / "out", ledger=ledger)
    finally:
        postgres.start()
    assert not (tmp_path / "out").exists()
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []
    assert not [entry for entry in sf.Ledger(ledger).entries() if entry.state == "spent"]
    monkeypatch.undo()
    release = sf.publish(table, sf.Mondrian(sf.KAnonymity(5)), save_to=tmp_path / "out", ledger=ledger)
    assert sf.verify(tmp_path / "out").holds
    assert release.rows == table.rows
