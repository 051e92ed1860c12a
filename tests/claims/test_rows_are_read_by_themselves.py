"""The code of a row depends on that row alone, in every engine and file format.

Random tables of awkward cells; each row read alone must have the codes it has in the table, and a row added in front
must not change another. A reader that types columns by their first rows, as spreadsheet readers do, is caught.
"""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import io
import random
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import python_calamine
from tests.claims.light_xls import write_xls
from tests.claims.light_xlsx import write_xlsx
from tests.spark_sessions import frame_of, local, sail

from sfumato.counts import read
from sfumato.counts.encoded_columns import EncodedColumns
from sfumato.errors import ReadError
from sfumato.io.decode_cell import UNPARSABLE, canonical_text, code_of
from sfumato.io.source import open_source
from sfumato.schema import Schema

SCHEMA = Schema.parse(
    {
        "name": "people",
        "attribute": {
            "age": {
                "role": "quasi",
                "kind": "numeric",
                "range": [0, 100],
                "clamp": True,
                "missing": ["90+", "true", "x"],
            },
            "zip": {
                "role": "quasi",
                "values": ["007", "7", "90+", "true", "false", "5"],
                "other": "5",
                "missing": "category",
            },
            "born": {
                "role": "quasi",
                "kind": "date",
                "range": ["1900-01-01", "2030-01-01"],
                "clamp": True,
                "missing": ["7", "true", "x", "5.0", "5"],
            },
            "seen": {
                "role": "quasi",
                "kind": "date",
                "range": ["1900-01-01", "2030-01-01"],
                "format": "%d.%m.%Y",
                "clamp": True,
                "missing": ["7", "true", "x", "2024-05-31"],
            },
            "pay": {
                "role": "sensitive",
                "kind": "numeric",
                "range": [0, 100],
                "step": "0.5",
                "decimal": ",",
                "clamp": True,
                "missing": ["x", "true", "1.5"],
            },
        },
    }
)
NAMES = [attribute.name for attribute in SCHEMA.published]
DAY, OTHER_DAY = dt.date(2024, 5, 31), dt.date(1950, 1, 2)
CELLS = {
    "age": [5, 5.0, "5", "5.0", 17, "90+", True, None, "", 99.5, "x", 250, " 8 "],
    "zip": [7, 7.0, "7", "007", "90+", True, False, "true", None, "", 5, "anything", "é", DAY, 1.5, 2**53 + 1],
    "born": [DAY, OTHER_DAY, dt.datetime(2024, 5, 31, 10, 30), "2024-05-31", 7, "7", True, None, "", "x", 5.0],  # noqa: DTZ001
    "seen": [DAY, OTHER_DAY, dt.datetime(2024, 5, 31, 10, 30), "31.05.2024", "2024-05-31", 7, True, None, "", "x"],  # noqa: DTZ001
    "pay": [1.5, "1,5", "1.5", 30, "30", None, "", True, "x", 99.75, 2],
}
ODD = {"age": [5 + 0j, 1j], "zip": [7 + 0j, 3j, Decimal(7)]}  # of pandas alone
TYPED = {  # what a column of one type may hold
    "age": (pl.Float64, [5.0, 17.0, None, 99.5, float("nan")]),
    "zip": (pl.String, ["7", "007", "90+", "true", None, "", "anything", "7.0"]),
    "born": (pl.Date, [DAY, OTHER_DAY, None]),
    "seen": (pl.Datetime, [dt.datetime(2024, 5, 31), dt.datetime(1950, 1, 2, 3), None]),  # noqa: DTZ001
    "pay": (pl.Int32, [0, 30, None]),
}


def random_rows(rng: random.Random, way: str = "") -> list[list]:
    """Rows of any cells; often most of a column is of one kind and one cell is not."""
    cells = {name: [*CELLS[name], *(ODD.get(name, []) if way.startswith("pandas") else [])] for name in NAMES}
    if way in ("pandas as it guesses", "pandas categories"):  # beside 1.5 it is a float, which is refused
        cells["zip"].remove(2**53 + 1)
    height = rng.randrange(2, 7)
    columns = []
    for name in NAMES:
        usual = rng.choice(cells[name])
        columns.append([usual if rng.random() < 0.5 else rng.choice(cells[name]) for _ in range(height)])
    return [list(row) for row in zip(*columns, strict=True)]


def typed_rows(rng: random.Random) -> list[list]:
    height = rng.randrange(2, 7)
    return [[rng.choice(TYPED[name][1]) for name in NAMES] for _ in range(height)]


# -- the ways in: each makes a source of rows -----------------------------------------------------


def csv_text(rows) -> str:
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(NAMES)
    writer.writerows([["" if cell is None else cell for cell in row] for row in rows])
    return file.getvalue()


def as_csv(rows, folder):
    (folder / "t.csv").write_text(csv_text(rows), encoding="utf-8")
    return folder / "t.csv"


def as_gz(rows, folder):
    (folder / "t.csv.gz").write_bytes(gzip.compress(csv_text(rows).encode(), 1))
    return folder / "t.csv.gz"


def as_excel(rows, folder):
    return write_xlsx(folder / "t.xlsx", {"people": [NAMES, *rows]})


def as_old_excel(rows, folder):
    return write_xls(folder / "t.xls", {"people": [NAMES, *rows]})


def typed_frame(rows) -> pl.DataFrame:
    columns = list(zip(*rows, strict=True))
    return pl.DataFrame(
        {name: pl.Series(cells, dtype=TYPED[name][0], strict=False) for name, cells in zip(NAMES, columns, strict=True)}
    )


def as_parquet(rows, folder):
    typed_frame(rows).write_parquet(folder / "t.parquet")
    return folder / "t.parquet"


def as_categories(rows, _):
    frame = pd.DataFrame(rows, columns=NAMES, dtype=object)
    return frame.astype({"zip": "category", "born": "category"})


def as_arrow(rows, _):
    whole = typed_frame(rows).to_arrow()
    whole = whole.set_column(
        1, "zip", pa.chunked_array([c.cast(pa.string()).dictionary_encode() for c in whole["zip"].chunks])
    )
    return pa.concat_tables([whole.slice(0, 1), whole.slice(1)]).unify_dictionaries()


def as_duckdb(rows, _):
    return duckdb.connect(config={"default_collation": "nocase"}).from_arrow(typed_frame(rows).to_arrow())


MIXED = {
    "csv": as_csv,
    "csv.gz": as_gz,
    "excel": as_excel,
    "old excel": as_old_excel,
    "pandas objects": lambda rows, _: pd.DataFrame(rows, columns=NAMES, dtype=object),
    "pandas as it guesses": lambda rows, _: pd.DataFrame(rows, columns=NAMES),
    "pandas categories": as_categories,
    "polars texts": lambda rows, _: pl.DataFrame(
        [[canonical_text(cell) for cell in row] for row in rows], schema=dict.fromkeys(NAMES, pl.String), orient="row"
    ),
}
PLAIN = {
    "parquet": as_parquet,
    "polars": lambda rows, _: typed_frame(rows),
    "polars lazy": lambda rows, _: typed_frame(rows).lazy(),
    "pandas": lambda rows, _: typed_frame(rows).to_pandas(),
    "pandas arrow": lambda rows, _: typed_frame(rows).to_pandas(use_pyarrow_extension_array=True),
    "pyarrow": as_arrow,
    "duckdb": as_duckdb,
    "sail": lambda rows, _: frame_of(sail(), typed_frame(rows)),
}
GROUPED = {"duckdb", "sail", "spark"}  # their lines are in no order


def codes(source) -> list[tuple[int, ...]]:
    """The codes of all rows, those below zero too: what is wrong with a cell is no business of other rows either."""
    store = EncodedColumns(open_source(source, expected=NAMES))
    store.require(SCHEMA.published)
    rows = [tuple(row) for row in np.column_stack([store.columns[name] for name in NAMES]).tolist()]
    if store.weights is None:
        return rows
    return [row for row, weight in zip(rows, store.weights, strict=True) for _ in range(weight)]


def dependent(make, rows, folder, reader=codes, ordered: bool = True) -> list[int]:
    """Return the rows that are read otherwise alone, or with another row in front of them."""
    kept = [row for row in rows if any(cell not in (None, "") for cell in row)]  # a row without a value is none
    if len(kept) < 2:
        return []
    whole = reader(make(kept, folder))
    alone = [reader(make([row], folder))[0] for row in kept]
    rest = reader(make(kept[1:], folder))  # adding the first row changes none of these
    if not ordered:
        whole, alone, rest = sorted(whole), sorted(alone), sorted([*rest, reader(make(kept[:1], folder))[0]])
        return [at for at in range(len(kept)) if not whole[at] == alone[at] == rest[at]]
    assert len(whole) == len(kept)
    return [at for at in range(len(kept)) if whole[at] != alone[at] or (at > 0 and whole[at] != rest[at - 1])]


def no_row_depends_on_another(folder, tables: int, seed: int, ways) -> int:
    rng, tried = random.Random(seed), 0
    for number in range(tables):
        way = list(ways)[number % len(ways)]
        rows = random_rows(rng, way) if way in MIXED else typed_rows(rng)
        assert dependent(ways[way], rows, folder, ordered=way not in GROUPED) == [], (way, rows)
        tried += 1
    return tried


ALL = {**MIXED, **PLAIN}


def test_each_row_alone_is_the_row_in_the_file(tmp_path) -> None:
    assert no_row_depends_on_another(tmp_path, 11 * len(ALL), 1, ALL) >= 150


@pytest.mark.full
def test_each_row_alone_is_the_row_in_the_file_in_many_tables(tmp_path) -> None:
    assert no_row_depends_on_another(tmp_path, 150 * len(ALL), 2, ALL) >= 2_000


@pytest.mark.full
def test_each_row_alone_is_the_row_in_a_frame_of_spark(tmp_path) -> None:
    ways = {"spark": lambda rows, _: frame_of(local(), typed_frame(rows))}
    assert no_row_depends_on_another(tmp_path, 12, 4, ways) == 12


@pytest.mark.parametrize("way", ["excel", "old excel", "pandas objects"])
def test_cells_of_objects_mean_what_the_oracle_says(tmp_path, way: str) -> None:
    """Each cell of every column, among all the others, has the code it has by itself."""
    for name in NAMES:
        kept = [cell for cell in CELLS[name] if cell not in (None, "")]
        at = NAMES.index(name)
        rows = [[cell if place == at else "x" for place in range(len(NAMES))] for cell in kept]
        found = [row[at] for row in codes(ALL[way](rows, tmp_path))]
        # A spreadsheet holds every number as a double.
        numbers = [float(cell) if "excel" in way and type(cell) is int else cell for cell in kept]
        assert found == [code_of(SCHEMA[name], cell) for cell in numbers], name


# -- broken readers, which must be caught ---------------------------------------------------------


def typed_by_first_rows(path) -> list[tuple[int, ...]]:
    """Give each column the type of its first two cells and make everything else null."""
    rows = python_calamine.CalamineWorkbook.from_path(path).get_sheet_by_index(0).to_python()[1:]
    columns = []
    for name, cells in zip(NAMES, zip(*rows, strict=True), strict=True):
        kinds = {type(cell) for cell in cells[:2] if cell != ""}
        columns.append([code_of(SCHEMA[name], cell if type(cell) in kinds else None) for cell in cells])
    return list(zip(*columns, strict=True))


def typed_by_inference(frame) -> list[tuple[int, ...]]:
    """Let arrow find one type for a column of objects, where it finds one."""
    columns = []
    for name in NAMES:
        try:
            cells = pa.array(frame[name].to_list()).to_pylist()
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            cells = frame[name].to_list()
        columns.append([code_of(SCHEMA[name], cell) for cell in cells])
    return list(zip(*columns, strict=True))


@pytest.mark.parametrize(("way", "reader"), [("excel", typed_by_first_rows), ("pandas objects", typed_by_inference)])
def test_a_reader_that_types_columns_by_their_rows_is_caught(tmp_path, way: str, reader) -> None:
    rng = random.Random(3)
    caught = sum(bool(dependent(ALL[way], random_rows(rng), tmp_path, reader)) for _ in range(120))
    assert caught > 5


# -- the cases that were found ----------------------------------------------------------------------


def test_one_person_in_front_changes_nobody_in_a_spreadsheet(tmp_path) -> None:
    """150 numbers and then 15 texts: the texts were read as missing, unless a text stood in front."""
    rows = [[5, 7, DAY, DAY, 1.5]] * 150 + [["90+", "007", "2024-05-31", "31.05.2024", "1,5"]] * 15
    plain = codes(as_excel(rows, tmp_path))
    assert codes(as_excel([rows[-1], *rows], tmp_path)) == [plain[-1], *plain]
    assert plain[-1] == tuple(code_of(SCHEMA[name], cell) for name, cell in zip(NAMES, rows[-1], strict=True))
    assert plain[0] == tuple(code_of(SCHEMA[name], cell) for name, cell in zip(NAMES, rows[0], strict=True))


@pytest.mark.parametrize(
    "cells",
    [
        [1, True],
        [True, 1],
        [DAY, 5],
        [DAY, dt.datetime(2024, 5, 31, 3)],  # noqa: DTZ001
        [
            dt.datetime(2024, 5, 31, 23, tzinfo=dt.UTC),
            dt.datetime(2024, 5, 31, 23, tzinfo=dt.timezone(dt.timedelta(hours=5))),
        ],
        [Decimal("1.50"), 2],
        [0.5, 2**53 + 1],
        [np.float32(0.5), 7],
        [np.float32(0.7), np.float32(0.7)],
        [np.float32(0.7), 0.5],
        [np.float32(0.7), "x"],
    ],
)
def test_pandas_objects_of_several_types(cells) -> None:
    """What a conversion of the column makes of a cell depends on the others; each is read as what it is."""
    texts = ["1", "true", "5", "2024-05-31", "2024-05-31T03:00:00", "2024-05-31T23:00:00+00:00"]
    texts += ["2024-05-31T23:00:00+05:00", "1.5", "2", "0.5", "7", str(2**53 + 1), "0.7", "x"]
    schema = Schema.parse({"name": "t", "attribute": {"a": {"role": "quasi", "values": texts}}})
    for order in (cells, cells[::-1]):
        frame = pd.DataFrame({"a": pd.Series(order, dtype=object)})
        found = read(frame, schema).codes()[:, 0].tolist()
        assert found == [code_of(schema["a"], cell) for cell in order]


@pytest.mark.parametrize("odd", [1j, 2 + 0j, "x", (1,), b"1", {"a": 1}, 0.5, True], ids=repr)
def test_one_odd_cell_changes_nobody_in_a_column_that_pandas_types(odd) -> None:
    """One complex number made all 600 cells of a column of codes complex, and all were read as another value."""
    schema = Schema.parse(
        {"name": "t", "attribute": {"a": {"role": "quasi", "values": ["1", "2", "Other"], "other": "Other"}}}
    )
    numeric = {"role": "quasi", "kind": "numeric", "range": [0, 9], "missing": ["x"]}
    numbers = Schema.parse({"name": "t", "attribute": {"a": numeric}})
    for one in (schema, numbers):
        for dtype in (None, object):
            frame = pd.DataFrame({"a": pd.Series([1, 2, 1, odd], dtype=dtype)})
            store = EncodedColumns(open_source(frame, expected=["a"]))
            store.require(one.published)
            assert store.columns["a"][:3].tolist() == [code_of(one["a"], cell) for cell in (1, 2, 1)]
            assert store.columns["a"][:3].tolist() == ([0, 1, 0] if one is schema else [1, 2, 1])


@pytest.mark.parametrize("way", ["pandas", "polars", "objects", "duckdb", "excel"])
def test_codes_that_a_float_cannot_hold_are_refused_by_the_cell(way, tmp_path) -> None:
    """2^53 + 1 beside an empty cell is a float of pandas, and was read as the code 2^53."""
    large = 2**53 + 1
    values = ["2", str(2**53 - 1), str(2**53), str(2**53 + 1)]
    schema = Schema.parse({"name": "t", "attribute": {"a": {"role": "quasi", "values": values, "missing": [""]}}})
    cells = [float(large), 2.0, float(2**53 - 1), None]
    frame = {
        "pandas": lambda: pd.DataFrame({"a": [large, 2, 2**53 - 1, None]}),
        "polars": lambda: pl.DataFrame({"a": cells}),
        "objects": lambda: pd.DataFrame({"a": pd.Series([*cells[:3], "2"], dtype=object)}),
        "duckdb": lambda: duckdb.connect().from_arrow(pl.DataFrame({"a": cells}).to_arrow()),
        "excel": lambda: write_xlsx(
            tmp_path / "t.xlsx", {"people": [["a", "b"], *[[cell, "x"] for cell in [large, 2, 2**53 - 1, None]]]}
        ),
    }[way]()
    with pytest.raises(ReadError, match=r"2\^53 or more") as caught:
        read(frame, schema)
    assert [(problem.path, problem.rows) for problem in caught.value.problems] == [("attribute.a", 1)]
    whole = pd.DataFrame({"a": [large, 2]})  # integers, exact
    assert read(whole, schema).codes()[:, 0].tolist() == [3, 0]
    assert code_of(schema["a"], float(large)) == UNPARSABLE
    assert code_of(schema["a"], 2.0) == 0


@pytest.mark.parametrize("way", ["polars", "objects", "excel"])
def test_keys_of_people_that_a_float_cannot_hold_are_refused(way, tmp_path) -> None:
    """Two people whose keys lost their last digits would be one person; a key below 2^53 is itself."""
    schema = {"name": "t", "person": "id", "rows_per_person": 2, "attribute": {"a": {"role": "quasi", "values": ["x"]}}}
    for first, wrong in ((2**53, 2), (2**53 - 9, 0)):
        keys = [first, first + 1, 7]
        frame = {
            "polars": lambda keys=keys: pl.DataFrame({"id": [float(key) for key in keys], "a": ["x"] * 3}),
            "objects": lambda keys=keys: pd.DataFrame(
                {"id": pd.Series([*map(float, keys[:2]), "7"], dtype=object), "a": ["x"] * 3}
            ),
            "excel": lambda keys=keys: write_xlsx(
                tmp_path / "t.xlsx", {"people": [["id", "a"], *([key, "x"] for key in keys)]}
            ),
        }[way]()
        if wrong:
            with pytest.raises(ReadError) as caught:
                read(frame, Schema.parse(schema)).require()
            assert [(problem.path, problem.rows) for problem in caught.value.problems] == [("person", wrong)]
        else:
            assert read(frame, Schema.parse(schema)).rows == 3


@pytest.mark.parametrize("way", ["polars", "pandas", "objects", "duckdb"])
def test_floats_of_four_bytes_lose_more_digits(way) -> None:
    """123456789 and 123456790 are one float of four bytes: two people were one person, and a code another code."""
    values = {"role": "quasi", "values": ["7", "123456792"]}
    for first, wrong in ((123_456_789, 2), (2**24, 2), (2**24 - 2, 0)):
        keys = [np.float32(first), np.float32(first + 1), np.float32(7)]
        typed = pl.DataFrame({"id": pl.Series(keys, dtype=pl.Float32), "a": ["7"] * 3})
        frame = {
            "polars": lambda typed=typed: typed,
            "pandas": lambda typed=typed: typed.to_pandas(),
            "objects": lambda keys=keys: pd.DataFrame({"id": pd.Series(keys, dtype=object), "a": ["7"] * 3}),
            "duckdb": lambda typed=typed: duckdb.connect().from_arrow(typed.to_arrow()),
        }[way]()
        schema = {"name": "t", "person": "id", "rows_per_person": 2, "attribute": {"a": values}}
        codes = Schema.parse({"name": "t", "attribute": {"a": {**values, "column": "id", "other": "7"}}})
        if wrong:
            for one, path in ((Schema.parse(schema), "person"), (codes, "attribute.a")):
                with pytest.raises(ReadError, match=r"2\^24 or more") as caught:
                    read(frame, one).require()
                assert [(problem.path, problem.rows) for problem in caught.value.problems] == [(path, wrong)]
        else:
            assert read(frame, Schema.parse(schema)).people == 3
            assert read(frame, codes).rows == 3
    assert code_of(codes["a"], np.float32(123_456_789)) == UNPARSABLE


def test_a_database_that_takes_two_texts_for_one_is_asked_not_to(tmp_path) -> None:
    schema = Schema.parse({"name": "t", "attribute": {"a": {"role": "quasi", "values": ["a", "A", "é", "e"]}}})
    connection = duckdb.connect(config={"default_collation": "nocase"})
    connection.execute("CREATE TABLE t (a VARCHAR COLLATE NOACCENT)")
    connection.execute("INSERT INTO t VALUES ('a'), ('A'), ('a'), ('é'), ('e')")
    assert read(connection.table("t"), schema).counts().weights.tolist() == [2, 1, 1, 1]


@pytest.mark.full
def test_spark_is_asked_not_to_take_two_texts_for_one() -> None:
    schema = Schema.parse({"name": "t", "attribute": {"a": {"role": "quasi", "values": ["a", "A", "é", "e"]}}})
    frame = local().sql("SELECT a COLLATE UNICODE_CI_AI AS a FROM VALUES ('a'), ('A'), ('a'), ('é'), ('e') AS t(a)")
    assert read(frame, schema).counts().weights.tolist() == [2, 1, 1, 1]


def test_decimals_with_more_digits_than_a_double() -> None:
    schema = Schema.parse(
        {"name": "t", "attribute": {"a": {"role": "quasi", "values": ["1", "9007199254740993"], "other": "1"}}}
    )
    frame = pl.DataFrame({"a": pl.Series([Decimal(9007199254740993), Decimal(1)], dtype=pl.Decimal(38, 0))})
    assert read(frame, schema).codes()[:, 0].tolist() == [1, 0]
