"""Frames of other libraries: those in memory become polars columns, those in a database are grouped where they are."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import narwhals as nw
import polars as pl

from sfumato.io.decode_cell import canonical_text
from sfumato.io.encode import cell_and_certainty
from sfumato.io.read_errors import ONE_VALUE, refuse_names_twice, refused
from sfumato.io.spark import Sql, by_bytes, collected, counted, is_spark, spark_name
from sfumato.schema import Grid

_ONE_TYPE = {"string", "integer", "boolean", "empty"}
_NOT_PLAIN = {"list", "array", "struct", "map", "union", "interval"}  # types of DuckDB; of some polars has none
# Columns beside those of a table: no table of a database has a name with this character.
ROWS = "rows\0"  # how many rows share the values of a line
KINDS = "kinds\0"  # how many lines have so many rows


@dataclass(frozen=True, slots=True)
class InMemory:
    """A frame of another library in memory; a column is converted when it is asked for."""

    frame: Any

    def rows(self, names: Sequence[str], _cells: Mapping[str, Grid], _limit: int | None = None) -> pl.DataFrame:
        """Return the named columns."""
        return pl.DataFrame([_series(self.frame[name]).alias(name) for name in names])

    def objects(self, name: str) -> list[Any] | None:
        """Return the cells of a column as they are, where polars has no type for all of them; else None."""
        column = self.frame[name]
        return column.to_list() if _typed(column) is None else None

    def height(self) -> int:
        """Return how many rows there are."""
        return len(self.frame)


@dataclass(frozen=True, slots=True)
class Grouped:
    """A frame that lives in another engine: it answers one GROUP BY at a time.

    `inside` has the name that a column has in the frame, where it is not its own: some engines take `a.b` apart.
    `unread` says of columns whose cells are not single values what they are and what to do; they are texts here.
    """

    frame: Any
    _: KW_ONLY
    inside: Mapping[str, str] = field(default_factory=dict)
    unread: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def rows(self, names: Sequence[str], cells: Mapping[str, Grid], limit: int | None = None) -> pl.DataFrame:
        """Return the distinct combinations of raw values and, in `ROWS`, how many rows have each.

        With a limit, at most one line more than it. Doubles of a column in `cells` become the middle of their cell
        first, so that few lines come back.
        """
        types = self.frame.collect_schema()
        spark = self.frame.to_native()
        doubles = [name for name in names if name in cells and types[self.name_inside(name)] == nw.Float64]
        if is_spark(spark):
            written = {name: _middle_in_sql(spark_name(name), cells[name]) for name in doubles}
            lines = counted(spark, names, written)
            return _named(collected(lines if limit is None else lines.limit(limit + 1)), [*names, ROWS])
        keys = [self.name_inside(name) for name in names]
        middles = [_middle(self.name_inside(name), cells[name]) for name in doubles]
        frame = self.frame.select(*keys)
        query = (frame.with_columns(*middles) if middles else frame).group_by(*keys).agg(nw.len().alias(_free(keys)))
        query = query if limit is None else query.head(limit + 1)
        found = _named(_fetched(query), [*names, ROWS])
        return found.with_columns(pl.col(ROWS).cast(pl.Int64))  # Decimal or unsigned, by engine

    def first(self, names: Sequence[str], most: int) -> pl.DataFrame:
        """Return the raw values of the first rows, in the order in which the engine has them."""
        keys, frame = self._keyed(names)
        return _named(_fetched(frame.select(*keys).head(most)), names)

    def height(self) -> int:
        """Return how many rows there are."""
        return int(_fetched(self.frame.select(nw.len())).item())

    def spread(self, names: Sequence[str], *, known: bool) -> pl.DataFrame:
        """Return how many combinations of values (`KINDS`) have how many rows (`ROWS`); `known`: no empty cells."""
        keys, frame = self._keyed(names)
        if known:
            types = frame.collect_schema()
            texts = [_key(key).alias(key) for key in keys if types[key] == nw.String]
            frame = frame.with_columns(*texts) if texts else frame
            frame = frame.filter(*(~_empty(key, types[key]) for key in keys))
        rows = _free(keys)
        lines = frame.group_by(*keys).agg(nw.len().alias(rows)).select(rows)
        found = _named(_fetched(lines.group_by(rows).agg(nw.len().alias(f"{rows}_kinds"))), [ROWS, KINDS])
        return found.with_columns(pl.col(ROWS, KINDS).cast(pl.Int64))

    def empty(self, names: Sequence[str]) -> int:
        """Return how many rows have no value in any of the columns."""
        keys, frame = self._keyed(names)
        types = frame.collect_schema()
        return int(_fetched(frame.filter(*(_empty(key, types[key]) for key in keys)).select(nw.len())).item())

    def _keyed(self, names: Sequence[str]) -> tuple[list[str], Any]:
        """Return a frame of some columns, and what they are called in it."""
        keys, frame = [self.name_inside(name) for name in names], self.frame
        if is_spark(frame.to_native()):
            plain = [f"{spark_name(name)} AS k{at}" for at, name in enumerate(names)]
            keys, frame = [f"k{at}" for at in range(len(names))], nw.from_native(frame.to_native().selectExpr(*plain))
        return keys, frame.select(*keys)

    def name_inside(self, name: str) -> str:
        """Return the name that a column has in the frame."""
        return self.inside.get(name, name)


def _key(name: str) -> Any:
    """Return a text as the key of a person is compared: without blanks around it, and 7.0 as 7."""
    text = nw.col(name).str.strip_chars()
    return nw.when(text.str.contains(r"^[+-]?[0-9]+[.]0*$")).then(text.str.replace_all("[.]0*$", "")).otherwise(text)


def _empty(name: str, kind: Any) -> Any:
    """Say whether a cell has no value: a null, a blank text, not a number."""
    cell = nw.col(name)
    if kind in (nw.Float64, nw.Float32):
        return cell.is_null() | cell.is_nan()
    return cell.is_null() | (cell.str.strip_chars() == "") if kind == nw.String else cell.is_null()


def _free(names: Sequence[str]) -> str:
    """Return a name that is none of these."""
    return next(name for at in itertools.count() if (name := f"rows_{at}") not in names)


def _named(found: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Return a frame whose columns are called otherwise, in their order."""
    return found.rename(dict(zip(found.columns, names, strict=True)))


def _fetched(query: Any) -> pl.DataFrame:
    """Run a query where the data is and return what it gives."""
    native = query.to_native()
    return collected(native) if is_spark(native) else pl.DataFrame(query.collect(backend="polars").to_native())


def open_frame(data: Any) -> tuple[tuple[str, ...], pl.LazyFrame | InMemory | Grouped]:
    """Return the column names and a polars lazy frame, or the engine that groups."""
    if isinstance(data, pl.DataFrame):
        return tuple(data.columns), data.lazy()
    if isinstance(data, pl.LazyFrame):
        return tuple(data.collect_schema().names()), data
    pandas_names = _pandas_names(data)
    if pandas_names is not None:
        data = data.copy(deep=False)
        data.columns = list(pandas_names)
        data = _with_index(data)
    elif hasattr(data, "column_names") and isinstance(data.column_names, list):
        refuse_names_twice("the frame", [str(name) for name in data.column_names])
    try:
        frame = nw.from_native(data)
    except TypeError:
        hint = "give a path, or a pandas, polars, pyarrow, duckdb or pyspark frame"
        raise refused("data", f"is not a table ({type(data).__name__})", hint) from None
    columns = tuple(str(name) for name in frame.collect_schema().names())
    refuse_names_twice("the frame", columns)
    if isinstance(frame, nw.LazyFrame):
        return columns, _distinguished(frame)
    return columns, InMemory(frame)


def _distinguished(frame: Any) -> Grouped:
    """Have DuckDB and Spark compare texts by their bytes: under another collation `a` and `A` would count as one."""
    native = frame.to_native()
    if is_spark(native):
        return Grouped(nw.from_native(by_bytes(native)))
    if type(native).__module__.partition(".")[0] != "duckdb":
        return Grouped(frame)
    import duckdb

    chosen, inside, unread = [], {}, {}
    for at, (name, kind) in enumerate(zip(native.columns, native.types, strict=True)):
        column = '"' + name.replace('"', '""') + '"'
        if kind.id in _NOT_PLAIN:  # as a text it does not stop what reads the other columns
            hint = "cast it to a number: epoch(...) gives seconds" if kind.id == "interval" else ONE_VALUE
            unread[name] = (f"holds {kind.id.upper()} cells", hint)
            column = f"CAST({column} AS VARCHAR)"
        text = kind.id == "varchar" or name in unread
        inside[name] = f"column_{at}"
        chosen.append(duckdb.SQLExpression(f'{column} COLLATE "binary"' if text else column).alias(inside[name]))
    return Grouped(nw.from_native(native.select(*chosen)), inside=inside, unread=unread)


def _middle(name: str, grid: Grid) -> Any:
    """Replace numbers by the middle of their cell where the cell is certain; the rest is left for the oracle."""
    x = nw.col(name)
    inside, middle = _cell(x, grid)
    return nw.when(inside).then(middle).otherwise(x).alias(name)


def _middle_in_sql(column: str, grid: Grid) -> Sql:
    inside, middle = _cell(Sql(column), grid)
    return Sql(middle.text).if_(inside, Sql(column))


def _cell(x: Any, grid: Grid) -> tuple[Any, Any]:
    """Return where the cell of a number is certain, and the middle of that cell."""
    code, sure = cell_and_certainty(grid, x)
    low, high, step = float(grid.low), float(grid.high), float(grid.step)
    return (x >= low) & (x < high) & (code < float(grid.size)) & sure, (code + 0.5) * step + low


def _pandas_names(data: Any) -> tuple[str, ...] | None:
    """Column names of a pandas frame as texts, None for anything else."""
    if type(data).__module__.partition(".")[0] != "pandas" or not hasattr(data, "columns"):
        return None
    names = tuple(str(name) for name in data.columns)
    refuse_names_twice("the frame", names)
    return names


def _with_index(data: Any) -> Any:
    """Return a pandas frame with what its index says as columns: the key of a person often stands there.

    Levels with a name, and those without where they repeat; what is different in every row says nothing.
    """
    levels = [data.index.get_level_values(at) for at in range(data.index.nlevels)]
    kept = [level for level in levels if level.name is not None or not level.is_unique]
    gone = [at for at, level in enumerate(levels) if level.name is None and level.is_unique]
    if not kept:
        return data.reset_index(drop=True)
    taken = {*data.columns, *(str(level.name) for level in kept if level.name is not None)}
    free = (name for at in itertools.count() if (name := f"index_{at}" if at else "index") not in taken)
    names = [next(free) if level.name is None else str(level.name) for level in kept]
    refuse_names_twice("the frame", [*names, *map(str, data.columns)])
    data = data.droplevel(gone) if gone else data
    return data.set_axis(data.index.set_names(names)).reset_index()


def _series(column: Any) -> pl.Series:
    """Convert one narwhals column; what polars has no type for becomes canonical text, value by value."""
    series = _typed(column)
    if series is not None:
        return series
    return pl.Series(column.name, [canonical_text(value) for value in column.to_list()], dtype=pl.String)


def _typed(column: Any) -> pl.Series | None:
    """Return the column where polars has a type for it (lists, structs, bytes are refused by type later), else None.

    A column of objects has one only where all cells are of one plain type: what a conversion makes of mixed cells
    (a truth value among numbers, a number among days, times of two zones, floats of four bytes and of eight) depends
    on the other rows.
    """
    if not _of_one_type(column):
        return None
    try:
        series: pl.Series = column.to_polars()
    except Exception:  # noqa: BLE001  (huge integers, odd categories: each library has its own error)
        return None
    return None if isinstance(series.dtype, pl.Object) else series


def _of_one_type(column: Any) -> bool:
    """True where the library gave the column a type, or all its cells share one of the plain types."""
    native = column.to_native()
    categories = getattr(getattr(native, "dtype", None), "categories", None)  # of pandas: values of any type
    cells = native if categories is None else categories
    if str(getattr(cells, "dtype", "")) != "object":
        return True
    from pandas.api.types import infer_dtype

    return infer_dtype(cells, skipna=True) in _ONE_TYPE
