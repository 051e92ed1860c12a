"""The same release in memory, from a stream, from DuckDB and from PostgreSQL, in one phase and in two."""

from __future__ import annotations

import pickle

import duckdb
import numpy as np
import polars as pl
import pytest
from tests.claims.postgres import server

import sfumato as sf
from sfumato.counts.row_groups import FIRST_ROWS
from sfumato.engines import Parts, large_tables, sql
from sfumato.io import database
from sfumato.schema import Schema

ROWS = 400
WHERE = ["stream", "duckdb", "postgresql"]


RAW = {
    "name": "people",
    "source": "public",
    "attribute": {
        "who": {"role": "identifier"},
        "age": {"role": "quasi", "kind": "numeric", "range": [0, 90], "missing": "suppress"},
        "height": {"role": "quasi", "kind": "numeric", "range": ["0.5", "2.5"], "step": "0.1"},
        "town": {"role": "quasi", "values": ["Ulm", "Köln", "O'Fallon", "Bonn"], "missing": ["?"]},
        "born": {"role": "quasi", "kind": "date", "range": ["1990-01-01", "1992-01-01"], "dates": ["month"]},
        "ill": {"role": "sensitive", "values": ["flu", "none", "cough"]},
    },
}


def schema_of(*, person: bool = False) -> Schema:
    return Schema.parse({**RAW, **({"person": "who", "rows_per_person": 3} if person else {})})


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
        monkeypatch.setattr(large_tables, "HELD_ROWS", 50)
        monkeypatch.setattr(large_tables, "_BATCH", 64)
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
    monkeypatch.setattr(large_tables, "HELD_ROWS", 50)
    monkeypatch.setattr(large_tables, "_BATCH", 64)
    frame.write_parquet(tmp_path / "rows.parquet")
    assert expected
    assert [(one.path, one.rule) for one in sf.check(tmp_path / "rows.parquet", schema_of())] == expected


def test_nothing_but_counts_leaves_the_server(tmp_path, postgres, monkeypatch):
    """Each line that comes back is a count, and no key is among them; but for the first rows, which are not kept."""
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
    first = [statement for statement, _ in said if statement.endswith(f"LIMIT {FIRST_ROWS}")]
    assert len(first) == 1
    asked = [(statement, found) for statement, found in said if statement not in first]
    asked = [(statement, found) for statement, found in asked if "pg_attribute" not in statement]
    assert asked
    written = b"".join(path.read_bytes() for path in (tmp_path / "out").iterdir())
    assert not [who for who in frame["who"] if who.encode() in written]
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
        if len(asked) == 5:
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


# What a referee found: rows that were counted several times, rows that change, tables without a sensitive column.


def run_on(running, *statements: str) -> None:
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(running.address("people").partition("#")[0]) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        connection.commit()


def test_values_of_one_text_are_counted_once(postgres):
    """A server that writes doubles with 15 digits gives one text to several values: each row still counts once."""
    base = np.repeat(np.arange(100) / 10 + 0.1, 3)
    heights = base + np.tile([0, 2e-16, 4e-16], 100) * base
    frame = frame_of(rows=300).with_columns(height=pl.Series(np.clip(heights / 5, 0.5, 2.4)))
    address = load(postgres, frame.drop("who"), "people")
    run_on(postgres, "ALTER DATABASE postgres SET extra_float_digits = 0")
    try:
        for cells in (10**6, 60):
            table = sf.read(address, schema_of(), driver_cells=cells)
            assert table.rows + table.left_out == 300
            release = sf.publish(table, sf.Mondrian(sf.KAnonymity(5)))
            assert release.frame().equals(
                sf.publish(sf.read(frame.drop("who"), schema_of()), sf.Mondrian(sf.KAnonymity(5))).frame()
            )
    finally:
        run_on(postgres, "ALTER DATABASE postgres RESET extra_float_digits")


def test_texts_of_two_codes_are_refused():
    """The mutant's way: a dictionary with a text twice would multiply the rows of a join."""
    attribute = schema_of()["height"]
    assert sql._codes_of_texts(["0.6", "0.7", None], np.array([1, 2, 3]), "people", attribute) == (
        {"0.6": 1, "0.7": 2},
        3,
    )
    with pytest.raises(sf.ReadError, match="one text"):
        sql._codes_of_texts(["0.6", "0.6"], np.array([1, 2]), "people", attribute)


@pytest.mark.parametrize("at", [2, 4, 7, 9, 12])
def test_rows_that_change_between_two_statements_make_no_false_claim(at, tmp_path, postgres, monkeypatch):
    """All statements see one snapshot, so another session's update is not seen by any of them."""
    frame, schema = frame_of().drop("who"), schema_of()
    table = sf.read(load(postgres, frame, "people"), schema, driver_cells=60)
    fetched, asked = database.fetch, []

    def changed(session, statement):
        asked.append(statement)
        if len(asked) == at:
            run_on(postgres, "UPDATE people SET ill = 'flu', age = 20 WHERE age BETWEEN 30 AND 60")
        return fetched(session, statement)

    monkeypatch.setattr(database, "fetch", changed)
    asked_for = sf.KAnonymity(5) & sf.LDiversity("1.5")
    release = sf.publish(table, sf.Mondrian(asked_for), save_to=tmp_path / "out")
    assert sf.verify(tmp_path / "out").holds
    assert release.frame().equals(sf.publish(sf.read(frame, schema), sf.Mondrian(asked_for)).frame())


@pytest.mark.cells(1)
@pytest.mark.parametrize(
    "at", [2, 7, 13, *(pytest.param(at, marks=pytest.mark.full) for at in (3, 4, 5, 6, 8, 9, 10, 11, 12))]
)
def test_without_a_snapshot_a_changed_table_is_refused(at, monkeypatch):
    """DuckDB answers each statement from the rows of the moment: what was fetched is compared, or nothing changed."""
    connection = duckdb.connect()
    connection.register("given", frame_of().drop("who").to_arrow())
    connection.execute("CREATE TABLE people AS SELECT * FROM given")
    table = sf.read(connection.table("people"), schema_of(), driver_cells=60)
    run, asked = table.engine.run, []

    def changed(statement):
        asked.append(statement)
        if len(asked) == at:
            connection.execute("UPDATE people SET ill = 'flu', age = 20 WHERE age BETWEEN 30 AND 60")
        return run(statement)

    object.__setattr__(table.engine, "run", changed)
    requirement = sf.KAnonymity(5) & sf.LDiversity("1.5")
    try:
        release = sf.publish(table, sf.Mondrian(requirement))
    except (sf.ReadError, sf.Infeasible):
        return
    for part in requirement.parts:
        held = release.groups.histogram("ill")
        counted = release.groups.weight[:, None] if not part.reads_sensitive else held
        overall = np.asarray(held.sum(axis=0)).ravel() if part.reads_sensitive else None
        assert part.check(counted, overall).all()


@pytest.mark.cells(3)
@pytest.mark.parametrize("where", ["memory", *WHERE])
@pytest.mark.parametrize("k", [5, 300])
def test_a_table_without_a_sensitive_column(where, k, tmp_path, postgres, monkeypatch):
    """Two phases without anything carried, also where no cut is allowed: the release has every row."""
    plain = {name: one for name, one in RAW["attribute"].items() if name not in ("ill", "who", "age")}
    schema, frame = Schema.parse({**RAW, "attribute": plain}), frame_of().select(*plain)
    expected = sf.publish(sf.read(frame, schema), sf.Mondrian(sf.KAnonymity(k)))
    if where == "memory":
        far = sf.read(frame, schema, driver_cells=30)
    else:
        far = read(where, frame, schema, 30, folder=tmp_path, running=postgres, monkeypatch=monkeypatch)
    found = sf.publish(far, sf.Mondrian(sf.KAnonymity(k)))
    assert found.rows == expected.rows == ROWS
    assert found.frame().equals(expected.frame())


@pytest.mark.parametrize("where", ["duckdb", "postgresql"])
def test_columns_may_be_named_as_the_statements_name_theirs(where, tmp_path, postgres, monkeypatch):
    names = {"height": "c", "town": "v", "born": "part", "ill": "n"}
    columns = {names.get(name, name): one for name, one in RAW["attribute"].items() if name != "who"}
    schema, frame = Schema.parse({**RAW, "attribute": columns}), frame_of().drop("who").rename(names)
    far = read(where, frame, schema, 60, folder=tmp_path, running=postgres, monkeypatch=monkeypatch)
    found = sf.publish(far, sf.Mondrian(sf.KAnonymity(5)))
    assert found.frame().equals(sf.publish(sf.read(frame, schema), sf.Mondrian(sf.KAnonymity(5))).frame())


def test_a_password_is_in_no_error_and_no_pickle(postgres):
    load(postgres, frame_of().drop("who"), "people")
    table = sf.read(postgres.address("people", password="hush-hush"), schema_of(), driver_cells=60)
    with pytest.raises(sf.ReadError) as caught:
        pickle.dumps(table)
    assert "hush" not in str(caught.value)
    for address in (
        "postgresql://u:hu#hush@127.0.0.1:1/db#people",
        "postgresql://u:hush@127.0.0.1:1/db#x@y",
        "postgresql://u:hush@127.0.0.1:1/db",
        "host=127.0.0.1 user=u password=hush",
        "mysql://u:hush@127.0.0.1/db#people",
    ):
        with pytest.raises(sf.ReadError) as caught:
            sf.read(address, schema_of())
        assert "hush" not in repr(caught.value) + str(caught.value)


NAMED = ("__rows__", "a.b", " padded ", 'x"; DROP TABLE people; --', "sfumato_value_0")


@pytest.mark.parametrize("cells", [10**6, 40], ids=["one phase", "two phases"])
@pytest.mark.parametrize("where", ["duckdb", "postgresql"])
def test_columns_of_any_name_are_read(where, cells, tmp_path, postgres, monkeypatch):
    rng = np.random.default_rng(2)
    frame = pl.DataFrame({name: rng.integers(0, 4, 160) for name in NAMED})
    schema = Schema.parse(
        {
            "name": "people",
            "source": "public",
            "attribute": {name: {"role": "quasi", "kind": "numeric", "range": [0, 4]} for name in NAMED},
        }
    )
    far = read(where, frame, schema, cells, folder=tmp_path, running=postgres, monkeypatch=monkeypatch)
    found = sf.publish(far, sf.Mondrian(sf.KAnonymity(5)))
    assert found.frame().equals(sf.publish(sf.read(frame, schema), sf.Mondrian(sf.KAnonymity(5))).frame())


def test_tables_of_more_columns_than_grouping_has_bits(postgres):
    """PostgreSQL tells at most 31 columns of a grouping apart, so that many columns are asked for in turns."""
    names = [f"q{at}" for at in range(34)]
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({name: rng.integers(0, 2, 60) for name in names})
    attribute = {name: {"role": "quasi", "kind": "numeric", "range": [0, 2]} for name in names}
    schema = Schema.parse({"name": "people", "source": "public", "attribute": attribute})
    far = sf.read(load(postgres, frame, "wide"), schema, driver_cells=20)
    assert far.engine is not None
    wanted = [*((at, at) for at in range(34)), (0, 33), (5, 16), (14, 29), (31, 32)]
    found = far.engine.pairs(Parts.whole(60), wanted)
    assert set(found) == set(wanted)
    for (a, b), mine in found.items():
        counted = frame.group_by(*dict.fromkeys((names[a], names[b]))).len()
        stated = zip(mine.first.tolist(), mine.second.tolist(), mine.weight.tolist(), strict=True)
        assert sorted(stated) == sorted((row[0], row[-2], row[-1]) for row in counted.iter_rows())
    far.close()


def test_a_server_reads_a_long_chain_of_cuts(postgres):
    cuts = 2000
    inner = np.arange(0, 2 * cuts, 2)
    attribute, position, left, right, part = (np.zeros(2 * cuts + 1, np.int64) for _ in range(5))
    attribute[:], attribute[inner], position[inner] = -1, 0, np.arange(1, cuts + 1)
    left[inner], right[inner], part[inner + 1], part[-1] = inner + 1, inner + 2, np.arange(cuts), cuts
    chain = Parts(attribute, position=position, left=left, right=right, part=part, rows=(1,) * (cuts + 1))
    session = database.Session(postgres.address("none").partition("#")[0])
    found = session.run(f"SELECT {chain.sql(['a'])} AS part FROM generate_series(0, {cuts + 5}) AS t(a) ORDER BY a")
    session.close()
    assert found["part"].to_list() == [*range(cuts), *[cuts] * 6]


def test_a_table_of_duckdb_may_have_any_name():
    """Statements see the rows under a name of ours, which once was a name that a table can have."""
    frame, schema = frame_of().drop("who"), schema_of()
    connection = duckdb.connect()
    connection.register("people", frame.to_arrow())
    connection.execute("CREATE TABLE sfumato_rows AS SELECT * FROM people")
    far = sf.read(connection.table("sfumato_rows"), schema, driver_cells=100)
    assert far.counts(["town", "ill"]) == sf.read(frame, schema).counts(["town", "ill"])
    assert ("sfumato_rows",) in connection.execute("SHOW TABLES").fetchall()


def ask(running, *statements: str) -> None:
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(running.address("t").partition("#")[0]) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        connection.commit()


@pytest.mark.parametrize("cells", [10**6, 250], ids=["one phase", "two phases"])
@pytest.mark.parametrize("where", WHERE)
def test_rows_without_a_value_are_refused_everywhere(where, cells, tmp_path, postgres, monkeypatch):
    raw = {**RAW, "attribute": {name: {**held, "missing": ["?"]} for name, held in RAW["attribute"].items()}}
    del raw["attribute"]["who"]
    frame = frame_of().drop("who").with_columns(pl.when(pl.int_range(pl.len()) >= 7).then(pl.all()))
    frame = frame.with_columns(pl.when(pl.int_range(pl.len()) < 3).then(pl.lit("  ")).otherwise("ill").alias("ill"))
    with pytest.raises(sf.ReadError) as error:
        read(where, frame, Schema.parse(raw), cells, folder=tmp_path, running=postgres, monkeypatch=monkeypatch)
    assert [problem.rows for problem in error.value.problems] == [7]


@pytest.mark.parametrize(
    "keys",
    [
        ["" if at % 4 == 0 else f"P{at}" for at in range(40)],
        [float("nan") if at % 4 == 0 else float(at) for at in range(40)],
        [f"P{at // 2}{' ' * (at % 2)}" for at in range(40)],
        [f"{at // 2}{'.0' * (at % 2)}" for at in range(40)],
    ],
    ids=["blank", "not a number", "blanks around", "point zero"],
)
def test_keys_that_repeat_are_told_as_of_a_frame(keys, postgres):
    """A blank is no key, and a key is one whatever blanks or zeros stand around it."""
    schema = Schema.parse({**{key: RAW[key] for key in ("name", "source")}, "rows_per_person": 1, "attribute": _KEYED})
    frame = pl.DataFrame({"patient_id": keys, "ill": ["flu", "none"] * 20})
    connection = duckdb.connect()
    connection.register("people", frame.to_arrow())
    expected = [(one.path, one.rows) for one in sf.check(frame, schema)]
    for far in (connection.table("people"), load(postgres, frame, "keyed")):
        assert [(one.path, one.rows) for one in sf.check(far, schema)] == expected


_KEYED = {"patient_id": {"role": "identifier"}, "ill": {"role": "sensitive", "values": ["flu", "none"]}}


@pytest.mark.parametrize("cells", [10**6, 1], ids=["one phase", "two phases"])
def test_exact_numbers_of_a_server_have_a_point_whatever_files_write(cells, postgres):
    ask(
        postgres,
        "DROP TABLE IF EXISTS t",
        "CREATE TABLE t (pay numeric(10, 3), ill text)",
        "INSERT INTO t SELECT 1.5, CASE WHEN i % 2 = 0 THEN 'flu' ELSE 'none' END FROM generate_series(1, 20) i",
    )
    pay = {"role": "quasi", "kind": "numeric", "range": [0, 5000], "decimal": ",", "thousands": "."}
    ill = {"role": "sensitive", "values": ["flu", "none"]}
    schema = Schema.parse({"name": "t", "source": "public", "attribute": {"pay": pay, "ill": ill}})
    counts = sf.read(postgres.address("t"), schema, driver_cells=cells).counts(["pay"])
    assert counts.codes[:, 0].tolist() == [1]


@pytest.mark.parametrize("kind", ["date", "timestamp", "timestamptz"])
def test_infinity_is_later_than_every_day_and_minus_infinity_before(kind, postgres):
    ask(
        postgres,
        "DROP TABLE IF EXISTS t",
        f"CREATE TABLE t (born {kind}, ill text)",
        "INSERT INTO t VALUES ('infinity', 'flu'), ('-infinity', 'none'), ('2000-01-03', 'flu'), ('infinity', 'none')",
    )
    born = {"role": "quasi", "kind": "date", "range": ["2000-01-01", "2000-02-01"], "clamp": True}
    ill = {"role": "sensitive", "values": ["flu", "none"]}
    schema = Schema.parse({"name": "t", "source": "public", "attribute": {"born": born, "ill": ill}})
    counts = sf.read(postgres.address("t"), schema).counts(["born"])
    assert dict(zip(counts.codes[:, 0].tolist(), counts.weights.tolist(), strict=True)) == {0: 1, 2: 1, 30: 2}


@pytest.mark.parametrize("rows", [60, 10_400])
def test_exact_numbers_of_a_server_are_clear_and_a_draft_asks_nothing_about_their_marks(rows, postgres):
    name = f"clear{rows}"
    ask(
        postgres,
        f"CREATE TABLE {name} (pay numeric(10, 3), town text)",
        f"INSERT INTO {name} SELECT 1.234 + i * 0.001, substr('ABC', i % 3 + 1, 1) "
        f"FROM generate_series(1, {rows}) AS i",
    )
    address = postgres.address(name)
    pay = {"role": "quasi", "kind": "numeric", "range": [0, 50], "step": 1}
    town = {"role": "quasi", "values": ["A", "B", "C"]}
    table = sf.read(address, Schema.parse({"name": "t", "attribute": {"pay": pay, "town": town}}))
    assert table.doubts.unclear() == []
    drafted = sf.draft(address)
    assert "do the points mark decimals" not in drafted
    assert 'kind = "numeric"' in drafted.partition("[attribute.pay]")[2].partition("[attribute")[0]
    table_of_texts = pl.DataFrame({"pay": [f"{1.234 + i * 0.001:.3f}" for i in range(1, rows + 1)], "town": "A"})
    assert "do the points mark decimals" in sf.draft(table_of_texts)  # which a text file leaves open
