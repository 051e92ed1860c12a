"""Where rows come from: files, globs and frames, opened without encoding a row; errors never quote a cell."""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from sfumato.errors import ParameterError, Problem, SfumatoError, count_of
from sfumato.io.database import SCHEMES, SqlTable, open_database
from sfumato.io.decode_cell import too_large_for_a_float
from sfumato.io.dialect import CsvFile, guesses_of, line_numbers, open_csv
from sfumato.io.encode import no_value, whole_floats, with_decimal_marks
from sfumato.io.excel import Sheet, open_sheet
from sfumato.io.frames import ROWS, Grouped, InMemory, open_frame
from sfumato.io.read_errors import refused
from sfumato.io.spark import is_session, spark_frame
from sfumato.io.stats_files import NO_LABELS, ScaleLabels, stats_table
from sfumato.raw_files import EXCEL, PARQUET, SQLITE, STATS, engine_path
from sfumato.schema import Attribute, Grid

_COLUMNS, _CELLS = 250, 20_000_000  # columns looked at in one query; cells of a wide table that are held at once

_MAGIC = ((b"PAR1", "parquet"), (b"PK\x03\x04", "excel"))
_DATABASES = ((0, SQLITE, "SQLite"), (8, b"DUCK", "DuckDB"))  # where in a file, what, of which program
_FRAME = "the frame"
_PLACES = 20  # rows named by their place
_PANIC = "PanicException"  # of any engine written in Rust: each has a class of its own, none of them an Exception
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Source:
    """An opened table: names and types of its columns and a lazy frame that reads only what is selected."""

    name: str
    _: KW_ONLY
    columns: tuple[str, ...]
    frame: pl.LazyFrame | InMemory | Sheet | Grouped | SqlTable
    streaming: bool = True
    files: tuple[CsvFile, ...] = ()
    total: int | None = None  # rows of the table of which these are the first, in no order
    scales: Mapping[str, ScaleLabels] = field(default_factory=dict)
    unread: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # columns that cannot be read: rule and hint

    @property
    def padded(self) -> bool:
        """True when cells start with blanks, as in `a, b`."""
        return any(file.form.padded for file in self.files)

    @property
    def guessed(self) -> bool:
        """True when it was guessed whether the file has a header line."""
        return any(file.form.guessed for file in self.files)

    @property
    def grouped(self) -> bool:
        """True when lines are combinations with a number of rows, in no order of their own."""
        return isinstance(self.frame, Grouped | SqlTable)

    @property
    def counted(self) -> int | None:
        """How many rows a text file has by a count of its lines; None for what is not text."""
        return sum(file.rows for file in self.files) if self.files else None

    @property
    def blank(self) -> int:
        """How many lines or rows of a file are empty and therefore no rows."""
        if isinstance(self.frame, Sheet):
            return self.frame.blank
        return sum(file.blank for file in self.files)

    def places(self, rows: Sequence[int]) -> str:
        """Say where rows stand, counted from 0 and in order: by the line of a file, or by the row where it has none."""
        if self.total is not None:
            return count_of(len(rows), "row")
        shown = [int(row) for row in rows[:_PLACES]]
        word, numbers = "row", [row + 1 for row in shown]
        if isinstance(self.frame, Sheet) and self.frame.lines:
            word, numbers = "sheet row", [self.frame.lines[row] for row in shown]
        elif len(self.files) == 1 and (lines := line_numbers(self.files[0], shown)):
            word, numbers = "line", lines
        more = f" and {len(rows) - len(shown)} more" if len(rows) > len(shown) else ""
        return f"{word}{'' if len(rows) == 1 else 's'} {', '.join(map(str, numbers))}{more}"

    def guesses(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Return which of encoding, delimiter and header were guessed from rows, when these columns are read."""
        return guesses_of([file.form for file in self.files], columns)

    def scale_labels(self, column: str) -> ScaleLabels:
        """Return the labels that a file gives to single numbers of a column."""
        return self.scales.get(column, NO_LABELS)

    @property
    def backend(self) -> str:
        """Whose frame it is: "pandas", else "polars"."""
        held = self.frame
        return "pandas" if isinstance(held, InMemory) and held.frame.implementation.is_pandas() else "polars"

    def types(self, frame: pl.LazyFrame) -> dict[str, pl.DataType]:
        """Return the types of a frame's columns."""
        return guarded(self.name, lambda: dict(frame.collect_schema()))

    def scan(
        self, columns: Sequence[str], cells: Mapping[str, Grid] | None = None, limit: int | None = None
    ) -> pl.LazyFrame:
        """Return a lazy frame of the named columns; of an engine that groups, with the number of rows in `ROWS`.

        Such an engine may give the middle of a cell for any number of the cell in the columns `cells`, and stops one
        line after `limit`.
        """
        frame = self.frame
        if isinstance(frame, pl.LazyFrame):
            return frame.select(columns)
        if isinstance(frame, Grouped | SqlTable):
            return guarded(self.name, lambda: frame.rows(columns, cells or {}, limit)).lazy()
        return guarded(self.name, lambda: frame.rows(columns, cells or {})).lazy()

    def spelt(self, frame: pl.LazyFrame, attributes: Sequence[Attribute]) -> pl.LazyFrame:
        """Return what `scan` gave with a server's exact numbers, which are texts, as the attributes' file writes them.

        Read as they come, 1.500 would be 1500 where a point marks thousands.
        """
        if not isinstance(self.frame, SqlTable):
            return frame
        return frame.with_columns(with_decimal_marks([a for a in attributes if self.exact(a.column_name)]))

    def exact(self, column: str) -> bool:
        """Whether a column holds a server's exact numbers: texts whose point marks decimals, whatever files write."""
        return isinstance(self.frame, SqlTable) and self.frame.exact(column)

    def objects(self, column: str) -> list[Any] | None:
        """Return the cells of a column of mixed objects, which `scan` gives as canonical texts; else None."""
        frame = self.frame
        return guarded(self.name, lambda: frame.objects(column)) if isinstance(frame, InMemory | Sheet) else None

    def lost_digits(self, column: str) -> int:
        """Return how many cells of a column are floats that may stand for other whole numbers as well."""
        cells = self.objects(column)
        if cells is not None:
            return sum(map(too_large_for_a_float, cells))
        frame = self.scan([column])
        dtype = self.types(frame)[column]
        if not dtype.is_float():
            return 0
        large = pl.col(column).cast(pl.Float64).abs() >= whole_floats(dtype)
        return int(self.collect(frame.select(pl.col(ROWS).filter(large).sum() if self.grouped else large.sum())).item())

    def collect(self, query: pl.LazyFrame) -> pl.DataFrame:
        """Run a query on what `scan` returned."""
        return guarded(self.name, lambda: query.collect(engine="streaming" if self.streaming else "in-memory"))

    def collect_all(self, queries: Sequence[pl.LazyFrame]) -> list[pl.DataFrame]:
        """Run several queries on one scan."""
        streaming = self.streaming
        return guarded(
            self.name, lambda: pl.collect_all(queries, engine="streaming" if streaming else "in-memory", lazy=False)
        )

    def read(self, columns: Sequence[str]) -> pl.DataFrame:
        """Return the cells of the named columns; of an engine that groups, with the number of rows in `ROWS`."""
        found = self.collect(self.scan(columns))
        self.same_rows(found.height)
        return found

    def first_rows(self, most: int) -> Source:
        """Return the table itself; of an engine that groups its first rows, which are read here and nowhere kept.

        Whose the rows are cannot be seen in counts: it takes the rows of one key beside each other.
        """
        frame = self.frame
        if not isinstance(frame, Grouped | SqlTable):
            return self
        found = guarded(self.name, lambda: frame.first(self.columns, most))
        return Source(self.name, columns=self.columns, frame=found.lazy(), streaming=False, total=self.height())

    def height(self) -> int:
        """Return how many rows there are, without reading a column."""
        if self.total is not None:
            return self.total
        frame = self.frame
        if not isinstance(frame, pl.LazyFrame):
            return guarded(self.name, frame.height)
        return self.same_rows(int(self.collect(frame.select(pl.len())).item()))

    def spread(self, names: Sequence[str], *, known: bool = False) -> pl.DataFrame:
        """Return how many combinations of values have how many rows, of an engine that groups: no value comes back."""
        frame = self.frame
        assert isinstance(frame, Grouped | SqlTable)
        return guarded(self.name, lambda: frame.spread(names, known=known))

    def empty(self) -> int:
        """Return how many rows have no value in any column, of an engine that groups."""
        frame = self.frame
        assert isinstance(frame, Grouped | SqlTable)
        return guarded(self.name, lambda: frame.empty(self.columns))

    def same_rows(self, read: int) -> int:
        """Return the number of rows read; raise when the count of the lines says another."""
        if self.counted is not None and read != self.counted:
            rule = f"has {self.counted} rows by its lines, and {read} were read"
            raise refused(self.name, rule, "check that the file has not changed since it was opened; read it again")
        return read


def empty_problems(source: Source, limit: int | None = None) -> list[Problem]:
    """Return a problem where rows have no value: each cell of the file is empty or blank.

    As a person such a row would make a class larger, and a person in that class easier to find. In a table of one
    column such a cell is somebody's missing value. An engine that groups is asked for at most `limit` combinations;
    where there are more, it counts such rows itself, as it does where the limit is 0.
    """
    if len(source.columns) < 2:
        return []
    number, places = source.empty() if source.grouped and limit == 0 else None, ""
    if number is None:
        frame = source.scan(source.columns, limit=limit)
        empty = no_value(source.columns, source.types(frame))
    if number is None and source.grouped:
        counted = source.collect(frame.select(pl.len(), rows=pl.col(ROWS).filter(empty).sum())).row(0, named=True)
        number = source.empty() if limit is not None and counted["len"] > limit else int(counted["rows"])
    elif number is None:
        rows = source.collect(frame.with_row_index("\0row").filter(empty).select("\0row")).to_series().to_list()
        number, places = len(rows), f": {source.places(rows)}"
    if not number:
        return []
    rule = f"{count_of(number, 'row has', 'rows have')} no value in any column{places}"
    hint = "delete these lines; if they are people, add a column to the file that numbers every row"
    return [Problem(source.name, rule, hint, rows=number)]


def guarded(where: str, action: Callable[[], Result]) -> Result:
    """Run what an engine does; its messages quote cells, so none of them is passed on."""
    try:
        return action()
    except SfumatoError:
        raise
    except OSError as error:
        rule = f"cannot be read ({error.strerror or 'the file is damaged'})"
        problem = refused(where, rule, "check the path and the file")
    except MemoryError:
        problem = refused(where, "does not fit in memory", "use Parquet, or publish fewer columns")
    except Exception as error:  # noqa: BLE001  (five engines, each with its own tree of errors)
        kind = type(error).__name__
        hint = "check the delimiter, the quotes and the encoding, and that the file is complete"
        if Path(where).suffix.lower() in STATS:
            hint = "check that the file is complete, and that the program that made it opens it"
        if where == _FRAME:
            hint = "check that its own library can still read it and that its columns hold plain values"
        problem = refused(where, f"cannot be read as a table ({kind})", hint)
    except BaseException as error:
        if type(error).__name__ != _PANIC:
            raise
        problem = refused(where, "cannot be read: the engine gave up", "check that the file is complete")
    raise problem  # out here, so that not even its context is the engine's error


def open_source(
    data: Any,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool | Sequence[str] | None = None,
    sheet: str | None = None,
    engine: Any = None,
    expected: Sequence[str] = (),
) -> Source:
    """Open a path, a glob or a frame; `expected` are the columns a header is likely to name.

    `engine` is a session of Spark, which then opens the path.
    """
    text = {"delimiter": delimiter, "encoding": encoding, "header": header}
    if isinstance(data, str) and data.startswith(SCHEMES):
        if sheet is not None or any(value is not None for value in text.values()):
            raise refused("delimiter, encoding, header, sheet", "are for files", "omit them for a database")
        table = open_database(data)
        return Source(table.name, columns=table.columns, frame=table, streaming=False)
    if engine is not None:
        return _open_in_spark(data, engine, text, sheet)
    if isinstance(data, str) and (
        "password=" in data or "://" in data
    ):  # it may hold a password: nothing of it is said
        hint = "give a file, or postgresql://user@host/database#table"
        raise refused("data", "is an address of a kind that is not read", hint)
    if isinstance(data, str | PathLike):
        return _open_paths(_paths(fspath(data)), text, sheet, expected)
    if sheet is not None or any(value is not None for value in text.values()):
        raise refused("delimiter, encoding, header, sheet", "are for files", "omit them for a frame")
    columns, frame = guarded(_FRAME, lambda: open_frame(data))
    unread = frame.unread if isinstance(frame, Grouped) else {}
    return Source(_FRAME, columns=columns, frame=frame, streaming=isinstance(data, pl.LazyFrame), unread=unread)


def _open_in_spark(data: Any, session: Any, text: dict[str, Any], sheet: str | None) -> Source:
    """Open a path that Spark finds; it has a header line where it is a CSV, and nothing is guessed."""
    if not is_session(session):
        hint = "spark = SparkSession.builder.getOrCreate()"
        raise ParameterError("engine", type(session).__name__, "is not a session of Spark", hint=hint)
    if not isinstance(data, str | PathLike):
        raise ParameterError("engine", "a session", "opens paths", hint="a frame of Spark is read without it")
    if sheet is not None or text["header"] not in (None, True):
        raise refused("header, sheet", "are not for Spark", "give Parquet, or a CSV with a header line")
    path = str(fspath(data))
    frame = spark_frame(path, session, delimiter=text["delimiter"], encoding=text["encoding"])
    name = Path(path).name or path
    columns, opened = guarded(name, lambda: open_frame(frame))
    return Source(name, columns=columns, frame=opened)


def _paths(text: str | bytes) -> list[Path]:
    if isinstance(text, bytes):
        raise refused("data", "is not a path or a frame", "give a path as text")
    if "\0" in text:
        raise refused("data", "is not a path", "a path holds no null character")
    path = Path(text)
    try:
        if path.is_dir():
            folder = path.name or text
            raise refused(folder, "is a directory", f"name the files in it: {folder}/*.parquet or {folder}/*.csv")
        if path.exists() and not path.is_file():  # it is read several times, and a pipe may never end
            raise refused(path.name, "is not a file", "save its output as a file first")
        if path.exists():
            return [path]
    except OSError as error:
        raise refused("data", f"cannot be opened ({error.strerror})", "check the path") from None
    found = sorted(Path(name) for name in glob.glob(text, recursive=True)) if glob.has_magic(text) else []  # noqa: PTH207
    files = [name for name in found if name.is_file()]
    if not files:
        raise refused(path.name or "data", "no such file", "check the path; globs like data/*.csv work too")
    return files


def _open_paths(paths: Sequence[Path], text: dict[str, Any], sheet: str | None, expected: Sequence[str]) -> Source:
    kinds = {_kind(path) for path in paths}
    if len(kinds) > 1:
        raise refused("data", "the files are of different kinds", "read files of each kind separately")
    kind, name = kinds.pop(), paths[0].name
    if kind != "csv" and any(value is not None for value in text.values()):
        other = "a file of SPSS, Stata or SAS" if kind == "stats" else kind
        raise refused("delimiter, encoding, header", "are for CSV files", f"omit them for {other}")
    if kind != "excel" and sheet is not None:
        raise refused("sheet", "is for Excel files", f"omit it for {kind}")
    if kind == "excel":
        sheets = [guarded(path.name, lambda path=path: open_sheet(path, sheet)) for path in paths]  # type: ignore[misc]
        _same_columns(paths, [found.names for found in sheets])
        return Source(name, columns=sheets[0].names, frame=Sheet.chained(sheets), streaming=False)
    if kind == "stats":
        return _open_stats(paths)
    if kind != "csv":
        frames = [guarded(path.name, lambda path=path: _scan_parquet(path)) for path in paths]  # type: ignore[misc]
        columns = [tuple(guarded(name, lambda frame=frame: frame.collect_schema().names())) for frame in frames]  # type: ignore[misc]
        _same_columns(paths, columns)
        return Source(name, columns=columns[0], frame=guarded(name, lambda: pl.concat(frames)))
    return open_texts(paths, expected=expected, **text)


def open_texts(
    paths: Sequence[Path],
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool | Sequence[str] | None = None,
    expected: Sequence[str] = (),
) -> Source:
    """Open text files as one table, whatever their names end with."""
    files = tuple(
        open_csv(path, delimiter=delimiter, encoding=encoding, header=header, expected=expected) for path in paths
    )
    _same_columns(paths, [file.form.names for file in files])
    frames = [guarded(file.path.name, lambda file=file: _scan_csv(file)) for file in files]  # type: ignore[misc]
    name = paths[0].name
    return Source(name, columns=files[0].form.names, frame=guarded(name, lambda: pl.concat(frames)), files=files)


def _same_columns(paths: Sequence[Path], columns: Sequence[tuple[str, ...]]) -> None:
    for path, names in zip(paths[1:], columns[1:], strict=True):
        if names != columns[0]:
            rule = f"has other columns than {paths[0].name}"
            raise refused(path.name, rule, "files of one glob must have the same columns in the same order")


def _kind(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix in PARQUET:
        return "parquet"
    if suffix in EXCEL:
        return "excel"
    if suffix in STATS:
        return "stats"
    try:
        with path.open("rb") as file:
            head = file.read(16)
    except OSError as error:
        raise refused(path.name, f"cannot be read ({error.strerror})", "check the path and the file") from None
    for at, mark, program in _DATABASES:
        if head[at:].startswith(mark):
            hint = "export the table as Parquet or CSV"
            if program == "DuckDB":
                hint += ", or in Python: sfumato.read(duckdb.connect(path).table(name), schema)"
            raise refused(path.name, f"is a database of {program}", hint)
    return next((kind for magic, kind in _MAGIC if head.startswith(magic)), "csv")


def _open_stats(paths: Sequence[Path]) -> Source:
    """Open files of a statistics program."""
    for path in paths:
        _refuse_empty(path)
    tables = [guarded(path.name, lambda path=path: stats_table(path)) for path in paths]  # type: ignore[misc]
    columns = [tuple(table.frame.columns) for table in tables]
    _same_columns(paths, columns)
    frame = guarded(paths[0].name, lambda: pl.concat([table.frame for table in tables]).lazy())
    unread = {name: why for table in tables for name, why in table.unread.items()}
    scales = {name: labels for table in tables for name, labels in table.scales.items()}
    return Source(paths[0].name, columns=columns[0], frame=frame, scales=scales, unread=unread)


def _scan_parquet(path: Path) -> pl.LazyFrame:
    _refuse_empty(path)
    return pl.scan_parquet(engine_path(path), glob=False)


def _refuse_empty(path: Path) -> None:
    if path.stat().st_size == 0:
        raise refused(path.name, "is empty", "write the file again")


def _scan_csv(file: CsvFile) -> pl.LazyFrame:
    """Scan with every column as text, under our own names."""
    form = file.form
    frame = pl.scan_csv(
        engine_path(file.path) if file.text is None else file.text,
        has_header=form.header,
        separator=form.delimiter,
        infer_schema=False,
        glob=False,
    )
    given = frame.collect_schema().names()
    if len(given) != len(form.names):
        rule = f"has lines of different lengths (its first line has {len(form.names)} cells)"
        raise refused(file.path.name, rule, "check the delimiter and the quotes")
    return frame if tuple(given) == form.names else frame.rename(dict(zip(given, form.names, strict=True)))


def slices(source: Source, names: Sequence[str]) -> Iterator[tuple[Sequence[str], pl.LazyFrame]]:
    """Yield a few hundred columns at a time: what one query of all costs grows with the square of their number."""
    if source.grouped or len(names) <= _COLUMNS:
        yield names, source.scan(names)
        return
    rows = int(source.collect(source.scan(names[:1]).select(pl.len())).item())
    held = source.collect(source.scan(names)) if rows * len(names) <= _CELLS else None
    for at in range(0, len(names), _COLUMNS):
        part = names[at : at + _COLUMNS]
        yield part, source.scan(part) if held is None else held.select(part).lazy()
