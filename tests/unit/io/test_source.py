"""Files as they come: delimiters, encodings, headers, compression, globs. Mangled ones end in a ReadError."""

from __future__ import annotations

import gzip
import io
import pickle
import sqlite3
import time

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given, settings, strategies as st

from sfumato.counts import check, read
from sfumato.drafting import draft
from sfumato.errors import ReadError, SchemaError, SfumatoError
from sfumato.io.dialect import open_csv
from sfumato.io.frames import open_frame
from sfumato.schema import Schema

SCHEMA = Schema.parse(
    {
        "name": "people",
        "attribute": {
            "id": {"role": "identifier"},
            "age": {"role": "quasi", "kind": "numeric", "range": [0, 100]},
            "town": {"role": "quasi", "values": ["Nîmes", "Bath", "Ulm"]},
            "job": {"role": "sensitive", "values": ["baker", "smith"]},
        },
    }
)
LINES = [("1", "30", "Nîmes", "baker"), ("2", "40", "Bath", "smith"), ("3", "50", "Ulm", "baker")]
HEADER = ("id", "age", "town", "job")


def text_of(delimiter: str = ",", header: bool = True, end: str = "\n") -> str:
    rows = [HEADER, *LINES] if header else LINES
    return "".join(delimiter.join(row) + end for row in rows)


EXPECTED = [[30, 0, 0], [40, 1, 1], [50, 2, 0]]


def codes(path, schema=SCHEMA, **options) -> list[list[int]]:
    return read(path, schema, **options).codes().tolist()


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", ", "])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_delimiters_are_found(tmp_path, delimiter: str, end: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(text_of(delimiter, end=end).encode())
    assert codes(path) == EXPECTED
    assert codes(str(path), delimiter=delimiter[0]) == EXPECTED


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16"])
def test_encodings_are_found(tmp_path, encoding: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(text_of().encode(encoding))
    assert codes(path) == EXPECTED
    assert codes(path, encoding=encoding) == EXPECTED


def test_latin1_that_shows_late(tmp_path) -> None:
    path = tmp_path / "t.csv"
    filler = "7,20,Bath,smith\n" * 40_000
    path.write_bytes(("id,age,town,job\n" + filler + "8,21,Nîmes,baker\n").encode("latin-1"))
    table = read(path, SCHEMA)
    assert table.rows == 40_001
    assert table.counts(["town"]).histogram("town").tolist() == [1, 40_000, 0]
    with pytest.raises(ReadError, match="is not utf-8 text throughout"):
        read(path, SCHEMA, encoding="utf-8")


@pytest.mark.parametrize("filler", [0, 40_000])
def test_signs_of_windows_are_found_wherever_they_show(tmp_path, filler: int) -> None:
    """The euro sign and the dash of Windows-1252 were read as control characters."""
    path = tmp_path / "t.csv"
    lines = ["id,age,town,job", *["7,20,Bath,smith"] * filler, "8,21,N\u00eemes\u2013Est,baker"]
    path.write_bytes("\r\n".join(lines).encode("cp1252"))
    found = open_csv(path)
    assert found.form.encoding == "cp1252"
    assert found.form.guesses(found.form.names) == ("encoding",)
    assert found.text is not None
    assert found.text.decode().endswith("N\u00eemes\u2013Est,baker")
    assert open_csv(path, encoding="latin-1").form.encoding == "latin-1"
    path.write_bytes(path.read_bytes() + b"\x81")  # no sign of Windows-1252
    assert open_csv(path).form.encoding == "latin-1"


def test_header_given_as_names_or_not_there(tmp_path) -> None:
    path = tmp_path / "t.data"
    path.write_text(text_of(header=False))
    assert codes(path, header=HEADER) == EXPECTED
    by_place = {
        "name": "t",
        "attribute": {
            "age": {"role": "quasi", "kind": "numeric", "range": [0, 100], "column": "column_2"},
            "job": {"role": "sensitive", "values": ["baker", "smith"], "column": "column_4"},
        },
    }
    schema = Schema.parse(by_place)
    assert codes(path, schema) == [[30, 0], [40, 1], [50, 0]]
    assert codes(path, schema, header=False) == [[30, 0], [40, 1], [50, 0]]
    with pytest.raises(ReadError, match="2 names were given"):
        read(path, SCHEMA, header=["a", "b"])


@pytest.mark.parametrize("tail", ["\n", "\n\n\n", "\r\n\r\n"])
def test_blank_lines_at_the_end_are_no_rows(tmp_path, tail: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text_of() + tail, newline="")
    assert codes(path) == EXPECTED
    other = tmp_path / "u.csv"
    other.write_text(text_of())
    assert codes(tmp_path / "*.csv") == EXPECTED * 2


def test_a_line_of_empty_cells_is_refused_as_one_row(tmp_path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text_of() + ",,,\n")
    with pytest.raises(ReadError) as caught:
        read(path, SCHEMA)
    assert {problem.rows for problem in caught.value.problems} == {1}
    assert "no value in any column" in caught.value.problems[0].rule


@pytest.mark.parametrize("suffix", ["gz", "zst"])
def test_compressed(tmp_path, suffix: str) -> None:
    path = tmp_path / f"t.csv.{suffix}"
    raw = text_of(";").encode()
    path.write_bytes(gzip.compress(raw) if suffix == "gz" else pa.compress(raw, codec="zstd", asbytes=True))
    assert codes(path) == EXPECTED


def test_quotes(tmp_path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('id,age,town,job\n"1,\n""x""",30,"Bath","smith"\n2," 40 ",Ulm,baker\n')
    assert codes(path) == [[30, 1, 1], [40, 2, 0]]


def test_parquet_excel_and_globs(tmp_path) -> None:
    frame = pl.DataFrame(LINES, schema=list(HEADER), orient="row").with_columns(pl.col("age").cast(pl.Int16))
    frame.write_parquet(tmp_path / "a.parquet")
    frame.write_parquet(tmp_path / "b.parquet")
    assert codes(tmp_path / "a.parquet") == EXPECTED
    assert codes(str(tmp_path / "*.parquet")) == EXPECTED * 2
    frame.to_pandas().to_excel(tmp_path / "t.xlsx", index=False)
    assert codes(tmp_path / "t.xlsx") == EXPECTED


def test_only_published_columns_are_read(tmp_path) -> None:
    frame = pl.DataFrame({"id": [["list"]] * 2, "age": [1, 2], "town": ["Ulm"] * 2, "job": ["baker"] * 2})
    path = tmp_path / "t.parquet"
    frame.write_parquet(path)
    table = read(path, SCHEMA)
    assert sorted(table._encoded.columns) == ["age", "job", "town"]

    class Watched(pd.DataFrame):
        asked: tuple[str, ...] = ()

        def __getitem__(self, key):
            Watched.asked += (str(key),)
            return super().__getitem__(key)

    read(Watched(frame.drop("id").to_pandas().assign(id=1)), SCHEMA)
    assert not any("id" in key for key in Watched.asked)


# -- mangled ---------------------------------------------------------------------------------

GOOD = text_of().encode()
PARQUET = io.BytesIO()
pl.DataFrame(LINES, schema=list(HEADER), orient="row").write_parquet(PARQUET)
MANGLED = {
    "empty.csv": b"",
    "blank.csv": b"\n \n\n",
    "header only wrong.csv": b"a,b\n",
    "binary.csv": bytes(range(256)) * 40,
    "nulls.csv": b"id,age\0,town\n1,2,3\n",
    "truncated.csv": GOOD[:-12],
    "cut in a quote.csv": GOOD + b'4,30,"Ba',
    "too many cells.csv": GOOD + b"4,30,Bath,smith,extra,extra\n",
    "too few cells.csv": GOOD + b"4,30\n",
    "twice.csv": b"age,age,town,job\n1,2,Ulm,baker\n",
    "huge.csv": GOOD + b"5,99999999999999999999999999999,Ulm,baker\n",
    "nan.csv": GOOD + b"5,NaN,Ulm,baker\n",
    "not a number.csv": GOOD + b"5,secret-cell,Ulm,baker\n",
    "mixed encodings.csv": GOOD + "5,30,Nîmes,baker\n".encode("latin-1") + "6,30,Nîmes,baker\n".encode("utf-16-le"),
    "no value.csv": GOOD + b"5,,Ulm,baker\n",
    "cut.csv.gz": gzip.compress(GOOD * 50)[:-20],
    "not gzip.csv.gz": GOOD,
    "bad.csv.zst": b"nothing",
    "cut.parquet": PARQUET.getvalue()[:-30],
    "empty.parquet": b"",
    "text.parquet": GOOD,
    "text.xlsx": GOOD,
    "zip.csv": b"PK\x03\x04 nothing",
    "bom only.csv": b"\xff\xfe",
    "long cell.csv": b"id,age,town,job\n1," + b"9" * 200_000 + b",Ulm,baker\n",
}


@pytest.mark.parametrize("name", MANGLED)
def test_mangled_files_end_in_a_read_error_that_says_what_to_do(tmp_path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(MANGLED[name])
    with pytest.raises(ReadError) as caught:
        read(path, SCHEMA)
    answer = str(caught.value) + repr(caught.value) + str(caught.value.as_json()) + str(pickle.dumps(caught.value))
    assert all(problem.hint for problem in caught.value.problems)
    answer += repr((caught.value.__cause__, caught.value.__context__))
    for cell in ("secret-cell", "99999999999999", "Nîmes", "baker", "Ulm"):
        assert cell not in answer
    assert check(path, SCHEMA)


@pytest.mark.parametrize("place", [0, 400])
def test_a_long_cell_is_read_wherever_it_stands(tmp_path, place: int) -> None:
    """Among the first 200 lines it was refused, further down it was read."""
    lines = ["1,30,Ulm,baker"] * 500
    lines[place] = "9" * 200_000 + ",30,Ulm,baker"
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["id,age,town,job", *lines]), encoding="utf-8")
    table = read(path, SCHEMA, encoding="utf-8", delimiter=",", header=True)
    assert (table.rows, table.guesses) == (500, ())


def test_errors_do_not_hold_those_of_an_engine_that_quote_cells(tmp_path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("id,age,town,job\n1,5,Ulm,secret-cell\n2,5,Nîmes,baker\n".encode("latin-1"))
    duckdb.connect().execute(f"COPY (SELECT 'secret-cell' AS age) TO '{tmp_path}/t.parquet'")
    cast = duckdb.connect().sql(f"SELECT CAST(age AS INT) AS age, 1 AS id FROM '{tmp_path}/t.parquet'")
    for tried in (lambda: read(path, SCHEMA, encoding="ascii"), lambda: read(path, SCHEMA, encoding="utf-16-le"),
                  lambda: read(cast, SCHEMA)):  # fmt: skip
        with pytest.raises(ReadError) as caught:
            tried()
        assert "secret-cell" not in repr((caught.value, caught.value.__cause__, caught.value.__context__))


@pytest.mark.parametrize(
    ("cells", "kind", "hint"),
    [
        ("to_days(CAST(id AS INT))", "INTERVAL", "epoch"),
        ("[id]", "LIST", "one number"),
        ("{'a': id}", "STRUCT", "one number"),
        ("union_value(a := id)", "UNION", "one number"),
    ],
)
def test_a_column_of_duckdb_that_holds_no_single_values_is_named(cells: str, kind: str, hint: str) -> None:
    """It was "cannot be read as a table (ComputeError)", for `check` and `draft` also where nobody asked for it."""
    rows = "(VALUES ('1', 30, 'Ulm', 'baker'), ('2', 30, 'Ulm', 'smith')) AS t(id, age, town, job)"
    beside = duckdb.connect().sql(f"SELECT *, {cells} AS z FROM {rows}")
    assert read(beside, SCHEMA).rows == 2
    assert check(beside, SCHEMA) == []
    assert "[attribute.z]" in draft(beside)
    asked = duckdb.connect().sql(f"SELECT * EXCLUDE job, {cells} AS job FROM {rows}")
    with pytest.raises(ReadError, match=f"column job holds {kind} cells") as error:
        read(asked, SCHEMA)
    assert hint in error.value.problems[0].hint
    keyed = Schema.parse({"name": "v", "person": "z", "attribute": {"age": {"role": "quasi", "values": ["30"]}}})
    with pytest.raises(ReadError, match=f"column z holds {kind} cells"):
        read(beside, keyed)


@pytest.mark.cells(6)
@pytest.mark.parametrize("name", MANGLED)
def test_drafts_of_mangled_files_load_or_are_refused(tmp_path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(MANGLED[name])
    try:
        text = draft(path)
    except SchemaError:
        return
    schema_path = tmp_path / "schema.toml"
    schema_path.write_text(text)
    assert check(path, Schema.load(schema_path)) == []


def test_latin1_in_a_column_nobody_publishes(tmp_path) -> None:
    path = tmp_path / "t.csv"
    rows = "".join(f"{at},20,Ulm,smith\n" for at in range(40_000)).encode()
    path.write_bytes(b"id,age,town,job\n" + rows + b"\xe9,21,Ulm,baker\n")
    assert check(path, SCHEMA) == []
    assert read(path, SCHEMA).rows == 40_001


def test_a_long_line_far_down_is_found_by_read_and_check(tmp_path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(GOOD + b"4,30,Ulm,baker\n" * 20_000 + b"5,30,Ulm,baker,x,y\n" + b"4,30,Ulm,baker\n" * 50)
    problems = check(path, SCHEMA)
    assert [problem.path for problem in problems] == ["t.csv"]
    assert "line 20005 has more cells than the 4 columns" in problems[0].rule
    with pytest.raises(ReadError, match="line 20005 has more cells"):
        read(path, SCHEMA)


@pytest.mark.parametrize("delimiter", [";", "\t", "x"])
def test_a_wrong_delimiter_names_all_missing_columns(tmp_path, delimiter: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(GOOD)
    with pytest.raises(ReadError) as caught:
        read(path, SCHEMA, delimiter=delimiter)
    assert [problem.path for problem in caught.value.problems] == ["attribute.age", "attribute.town", "attribute.job"]


def test_names_in_a_first_line_of_data_are_not_stated(tmp_path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("secret,person\nhidden,man\n")
    with pytest.raises(ReadError) as caught:
        read(path, SCHEMA)
    assert "secret" not in str(caught.value)
    assert "secret" in str(caught.value.reveal())


@pytest.mark.parametrize(
    "data",
    [17, None, [1, 2], {"age": [1]}, b"age", "no/such/file.csv", "no*such?.csv", "", np.zeros(3), "a\0b", "x" * 5000],
)
def test_what_is_no_table(data) -> None:
    with pytest.raises(ReadError):
        read(data, SCHEMA)


def test_directories_options_and_mixed_globs(tmp_path) -> None:
    with pytest.raises(ReadError, match="directory"):
        read(tmp_path, SCHEMA)
    (tmp_path / "a.csv").write_bytes(GOOD)
    (tmp_path / "b.csv").write_bytes(b"age,town,job,id\n1,Ulm,baker,3\n")
    with pytest.raises(ReadError, match="other columns"):
        read(tmp_path / "*.csv", SCHEMA)
    (tmp_path / "c.parquet").write_bytes(PARQUET.getvalue())
    with pytest.raises(ReadError, match="different kinds"):
        read(tmp_path / "*", SCHEMA)
    for options in ({"encoding": "no-such"}, {"delimiter": ";;"}, {"encoding": "utf-16"}):
        with pytest.raises(ReadError):
            read(tmp_path / "a.csv", SCHEMA, **options)
    with pytest.raises(ReadError, match="for files"):
        read(pl.DataFrame(), SCHEMA, delimiter=";")


def test_frames_with_duplicate_or_odd_columns() -> None:
    twice = pd.DataFrame([[1, 2]], columns=["age", "age"])
    with pytest.raises(ReadError, match=r"1 column name that occurs twice: age \(columns 1, 2\)"):
        read(twice, SCHEMA)
    arrow = pa.table([pa.array([1]), pa.array([2])], names=["age", "age"])
    with pytest.raises(ReadError, match="1 column name that occurs twice"):
        read(arrow, SCHEMA)
    lists = pl.DataFrame({"age": [[1]], "town": ["Ulm"], "job": ["baker"]})
    with pytest.raises(ReadError, match="List"):
        read(lists, SCHEMA)
    mixed = pd.DataFrame({"age": [1, "2"], "town": ["Ulm", "Ulm"], "job": ["baker", "smith"], 7: [0, 0]})
    assert codes(mixed) == [[1, 2, 0], [2, 2, 1]]


@settings(max_examples=150)
@example(b"\x01\t\n\x02")  # a name that ends with a tab: check must cut it as draft did
@given(st.binary(max_size=300) | st.text(alphabet='ab,;"\n\r\t |1é\0', max_size=200).map(str.encode))
def test_any_bytes_are_read_or_refused(tmp_path_factory, raw: bytes) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "t.csv"
    path.write_bytes(raw)
    check(path, SCHEMA)
    try:
        text = draft(path)
    except SfumatoError:
        return
    schema_path = path.with_suffix(".toml")
    schema_path.write_text(text, encoding="utf-8")
    assert check(path, Schema.load(schema_path)) == []


@settings(max_examples=60)
@given(st.integers(0, len(GOOD) - 1), st.integers(0, 255))
def test_one_wrong_byte_is_read_or_refused(tmp_path_factory, at: int, byte: int) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "t.csv"
    path.write_bytes(GOOD[:at] + bytes([byte]) + GOOD[at + 1 :])
    check(path, SCHEMA)


def test_columns_that_share_a_name_are_named_unless_the_line_may_be_a_row(tmp_path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("town,age,town,age,sex\nUlm,31,Ulm,32,f\nBonn,45,Ulm,46,m\n")
    with pytest.raises(ReadError, match=r"twice: age \(columns 2, 4\); town \(columns 1, 3\)\. Hint: give each"):
        open_csv(path, header=True)
    with pytest.raises(ReadError, match=r"twice: columns 2, 4; columns 1, 3\. Hint") as guessed:
        open_csv(path)
    assert "town" not in str(guessed.value)
    path.write_text(",".join(["a", "b", "c", "d", "e", "f"] * 7) + "\n")
    with pytest.raises(ReadError, match=r"a \(columns 1, 7, 13, 19, 25\); .*; 1 more\. Hint"):
        open_csv(path, header=True)


def test_a_header_of_many_names_takes_time_in_proportion(tmp_path) -> None:
    """Names that occur twice are counted once; 64,000 names took minutes."""
    path = tmp_path / "t.csv"
    names = [f"column number {k}" for k in range(64_000)]
    path.write_text(",".join(names) + "\n" + ",".join("1" * 64_000) + "\n")  # longer than the sample
    begun = time.process_time()
    assert len(open_csv(path, expected=names[:2000]).form.names) == 64_000
    assert time.process_time() - begun < 10  # comparing all pairs takes over a minute
    path.write_text(",".join([*names, *names[:2]]) + "\n" + ",".join("1" * 64_002) + "\n")
    with pytest.raises(ReadError, match="2 column names that occur twice"):
        open_csv(path, header=True)


def test_levels_of_an_index_without_names_are_judged_one_by_one() -> None:
    """`pd.concat` of a frame for each patient: together the levels are different in every row, the keys are not."""
    frame = pd.DataFrame({"age": [30, 30], "sex": ["f", "f"]})
    names, held = open_frame(pd.concat({"P0": frame, "P1": frame}))
    assert names == ("index", "index_1", "age", "sex")
    assert held.rows(["index"], {})["index"].to_list() == ["P0", "P0", "P1", "P1"]
    assert open_frame(frame)[0] == ("age", "sex")
    twice = pd.MultiIndex.from_tuples([("P0", 1), ("P0", 2)], names=["key", None])
    assert open_frame(frame.set_axis(twice))[0] == ("key", "age", "sex")


@pytest.mark.parametrize("program", ["DuckDB", "SQLite"])
def test_a_file_of_a_database_is_called_one(program, tmp_path):
    """It "is not text", and the hint was to name the encoding of that text."""
    path = tmp_path / "visits.db"
    connection = (duckdb if program == "DuckDB" else sqlite3).connect(str(path))
    connection.execute("create table v (a integer)")
    connection.close()
    with pytest.raises(ReadError, match=f"is a database of {program}.*export the table as Parquet or CSV"):
        draft(path)
