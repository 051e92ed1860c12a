"""Frames of other libraries: those in memory become polars columns, those in a database are grouped where they are."""

from __future__ import annotations

import numbers
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import polars as pl

from sfumato.counts.canonical import canonical_text
from sfumato.counts.encoding import cell_and_certainty
from sfumato.counts.refusal import refused
from sfumato.schema import Grid

__all__ = ["ROWS", "Grouped", "InMemory", "open_frame"]

ROWS = "__rows__"  # how many rows share the values of a line


@dataclass(frozen=True, slots=True)
class InMemory:
    """A frame of another library in memory; a column is converted when it is asked for."""

    frame: Any

    def rows(self, names: Sequence[str], _cells: Mapping[str, Grid]) -> pl.DataFrame:
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
    """A frame that lives in another engine: it answers one GROUP BY at a time."""

    frame: Any

    def rows(self, names: Sequence[str], cells: Mapping[str, Grid]) -> pl.DataFrame:
        """Return the distinct combinations of raw values and, in `ROWS`, how many rows have each.

        Doubles of a column in `cells` become the middle of their cell first, so that few lines come back.
        """
        types = self.frame.collect_schema()
        middles = [_middle(name, cells[name]) for name in names if name in cells and types[name] == nw.Float64]
        frame = self.frame.select(*names)
        query = (frame.with_columns(*middles) if middles else frame).group_by(*names).agg(nw.len().alias(ROWS))
        found = query.collect(backend="polars").to_native()
        return pl.DataFrame(found).with_columns(pl.col(ROWS).cast(pl.Int64))  # Decimal or unsigned, by engine

    def height(self) -> int:
        """Return how many rows there are."""
        return int(self.frame.select(nw.len()).collect(backend="polars").item())


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
    elif hasattr(data, "column_names") and isinstance(data.column_names, list):
        _check_names([str(name) for name in data.column_names])
    try:
        frame = nw.from_native(data)
    except TypeError:
        hint = "give a path, or a pandas, polars, pyarrow or duckdb frame"
        raise refused("data", f"is not a table ({type(data).__name__})", hint) from None
    columns = tuple(str(name) for name in frame.collect_schema().names())
    _check_names(columns)
    if isinstance(frame, nw.LazyFrame):
        return columns, Grouped(frame)
    return columns, InMemory(frame)


def _middle(name: str, grid: Grid) -> Any:
    """Replace numbers by the middle of their cell where the cell is certain; the rest is left for the oracle."""
    x = nw.col(name)
    code, sure = cell_and_certainty(grid, x)
    low, high, step = float(grid.low), float(grid.high), float(grid.step)
    inside = (x >= low) & (x < high) & (code < grid.size) & sure
    return nw.when(inside).then((code + 0.5) * step + low).otherwise(x).alias(name)


def _check_names(names: Sequence[str]) -> None:
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if twice:
        rule = f"has {len(twice)} column names that occur twice"
        raise refused("the frame", rule, "give each column a name of its own", values=twice, count=len(twice))


def _pandas_names(data: Any) -> tuple[str, ...] | None:
    """Column names of a pandas frame as texts, None for anything else."""
    if type(data).__module__.partition(".")[0] != "pandas" or not hasattr(data, "columns"):
        return None
    names = tuple(str(name) for name in data.columns)
    _check_names(names)
    return names


def _series(column: Any) -> pl.Series:
    """Convert one narwhals column; what polars has no type for becomes canonical text, value by value."""
    series = _typed(column)
    if series is not None:
        return series
    return pl.Series(column.name, [canonical_text(value) for value in column.to_list()], dtype=pl.String)


def _typed(column: Any) -> pl.Series | None:
    """Return the column where polars has a type for it (lists, structs, bytes are refused by type later), else None."""
    try:
        series: pl.Series = column.to_polars()
    except Exception:  # noqa: BLE001  (mixed objects, huge integers, odd categories: each library has its own error)
        return None
    if isinstance(series.dtype, pl.Object) or (series.dtype.is_temporal() and _holds_numbers(column)):
        return None
    return series


def _holds_numbers(column: Any) -> bool:
    """Whether a column of objects that became days or times holds plain numbers too: they were taken for days."""
    if column.dtype != nw.Object:
        return False
    return any(isinstance(value, numbers.Number) and value == value for value in column.to_list())  # noqa: PLR0124
