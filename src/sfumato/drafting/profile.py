"""A file as a person looks at it: its first rows, and for each column how its values are spread. Confidential.

Nothing here is published or goes into a claim: it is for the steward's own screen.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import polars as pl

from sfumato.drafting.columns import LISTED, ColumnFacts, cell_text
from sfumato.drafting.draft import Look
from sfumato.errors import ParameterError
from sfumato.io.encode import days_in, numbers_with_point
from sfumato.io.frames import ROWS
from sfumato.io.source import Source

_BARS, _BINS = 12, 20
_CELL = 80  # letters of a cell that a preview shows
UNREAD_TEXTS = 6  # cells that are not read, shown as they are


@dataclass(frozen=True, slots=True)
class Preview:
    """The first rows as they were read, and how the file was understood."""

    columns: tuple[str, ...]
    _: KW_ONLY
    rows: tuple[tuple[str | None, ...], ...] = field(repr=False)
    total: int
    blank: int = 0
    encoding: str = ""
    delimiter: str = ""
    header: bool | None = None
    guesses: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping, cells included: for the steward's own screen."""
        return {
            "columns": list(self.columns),
            "rows": [list(row) for row in self.rows],
            "total": self.total,
            "blank": self.blank,
            "encoding": self.encoding,
            "delimiter": self.delimiter,
            "header": self.header,
            "guesses": list(self.guesses),
        }


@dataclass(frozen=True, slots=True)
class Bar:
    """How many rows have a value, or lie in an interval."""

    label: str
    _: KW_ONLY
    rows: int


@dataclass(frozen=True, slots=True)
class Profile:
    """One column: what kind of values, how many, how they are spread, and which texts mean no value."""

    name: str
    _: KW_ONLY
    kind: str
    rows: int
    distinct: int
    missing: int
    missing_texts: tuple[str, ...] = field(default=(), repr=False)
    bars: tuple[Bar, ...] = field(default=(), repr=False)
    rest: int = 0  # rows of values that no bar shows
    unread: str = ""  # the lines of cells that are not read in a column of numbers or dates
    unread_texts: tuple[str, ...] = field(default=(), repr=False)
    repeats: str = ""
    why: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping, values included: for the steward's own screen."""
        return {
            "name": self.name,
            "kind": self.kind,
            "rows": self.rows,
            "distinct": self.distinct,
            "missing": self.missing,
            "missing_texts": list(self.missing_texts),
            "bars": [[bar.label, bar.rows] for bar in self.bars],
            "rest": self.rest,
            "unread": self.unread,
            "unread_texts": list(self.unread_texts),
            "repeats": self.repeats,
            "why": list(self.why),
        }


def preview(source: Source, rows: int = 20) -> Preview:
    """Return the first rows of an opened file, each cell as text."""
    if rows < 1:
        raise ParameterError("rows", rows, "must be at least 1")
    names = list(source.columns)
    found = source.collect(source.scan(names).head(rows))
    texts = found.select(pl.col(name).cast(pl.String, strict=False) for name in names if name != ROWS)
    form = source.files[0].form if source.files else None
    return Preview(
        tuple(names),
        rows=tuple(tuple(None if cell is None else cell[:_CELL] for cell in row) for row in texts.iter_rows()),
        total=source.height(),
        blank=source.blank,
        encoding="" if form is None else form.encoding,
        delimiter="" if form is None else form.delimiter,
        header=None if form is None else form.header,
        guesses=source.guesses(names) if source.files else (),
    )


def profiles(look: Look, only: Collection[str] | None = None) -> list[Profile]:
    """Return the profile of every column that a draft describes, or of some, in the order of the file."""
    facts = {one.name: one for one in look.facts}
    repeated = {one.name: str(one) for one in look.seen.repeated}
    found = []
    for proposal in (one for one in look.proposals if only is None or one.name in only):
        column = facts[proposal.name]
        bars, rest = _bars(look.source, column)
        found.append(
            Profile(
                column.name,
                kind=_kind(column),
                rows=column.rows,
                distinct=column.distinct,
                missing=column.nulls,
                missing_texts=column.no_value,
                bars=tuple(bars),
                rest=rest,
                unread=look.seen.unread.get(column.name, ""),
                unread_texts=column.unread[:UNREAD_TEXTS] if column.name in look.seen.unread else (),
                repeats=repeated.get(column.name, ""),
                why=proposal.why,
            )
        )
    return found


def _kind(column: ColumnFacts) -> str:
    if column.days is not None:
        return "date"
    if column.numbers is not None:
        return "number"
    return "text" if column.plain and column.distinct else "nothing"


def _bars(source: Source, column: ColumnFacts) -> tuple[list[Bar], int]:
    """Return bars of values or of equal intervals, and how many rows have a value that no bar shows."""
    if not column.plain or not column.distinct:
        return [], 0
    frame = source.scan([column.name])
    text = cell_text(column.name, source.types(frame)[column.name])
    weight = pl.col(ROWS).sum() if source.grouped else pl.len()
    if column.days is not None and column.distinct > _BARS:
        return _day_bars(source, frame, text, column, weight), 0
    if column.numbers is not None and column.distinct > _BARS:
        return _number_bars(source, frame, text, column, weight), 0
    if column.distinct > LISTED:
        return [], column.rows - column.nulls
    counted = source.collect(frame.filter(text.is_not_null()).group_by(text.alias("value")).agg(weight.alias("n")))
    ordered = counted.sort(["n", "value"], descending=[True, False])
    shown = ordered.head(_BARS)
    bars = [Bar(str(value), rows=int(n)) for value, n in shown.iter_rows()]
    if column.numbers is not None or column.days is not None:  # they stand in their own order, as intervals do
        read = column.spelling.number if column.days is None else column.spelling.day
        places = {bar.label: place for bar in bars if (place := read(bar.label)) is not None}
        bars.sort(key=lambda bar: (bar.label not in places, places.get(bar.label, 0)))
    return bars, int(ordered["n"].sum() or 0) - sum(bar.rows for bar in bars)


def _binned(source: Source, frame: pl.LazyFrame, place: pl.Expr, weight: pl.Expr, bins: int) -> Sequence[int]:
    inside = place.clip(0, bins - 1).cast(pl.Int64).alias("bin")
    counted = source.collect(frame.with_columns(inside).drop_nulls("bin").group_by("bin").agg(weight.alias("n")))
    rows = [0] * bins
    for at, n in counted.iter_rows():
        rows[int(at)] = int(n)
    return rows


def _number_bars(source: Source, frame: pl.LazyFrame, text: pl.Expr, column: ColumnFacts, weight: pl.Expr) -> list[Bar]:
    assert column.numbers is not None
    low, high = (float(end) for end in column.numbers)
    width = (high - low + (1 if column.whole else 0)) / _BINS or 1.0
    if column.whole:
        width = max(1.0, -(-(high - low + 1) // _BINS))
    bins = max(1, min(_BINS, int((high - low) // width) + 1))
    x = numbers_with_point(text, column.spelling.numbers).cast(pl.Float64, strict=False)
    place = pl.when(x.is_finite()).then(((x - low) / width).floor())
    rows = _binned(source, frame, place, weight, bins)
    starts = [low + width * at for at in range(bins)]
    ends = [start + width - (1 if column.whole else 0) for start in starts]
    ends[-1] = high  # of the file, not of the interval
    return [
        Bar(f"{_number(start)} to {_number(end)}", rows=n) for start, end, n in zip(starts, ends, rows, strict=True)
    ]


def _number(value: float) -> str:
    """Write an end of a bar; four digits, which may be a year, without a mark of thousands."""
    return f"{value:.6g}" if abs(value) < 10_000 else f"{value:,.6g}"


def _day_bars(source: Source, frame: pl.LazyFrame, text: pl.Expr, column: ColumnFacts, weight: pl.Expr) -> list[Bar]:
    assert column.days is not None
    first, last = column.days
    form = column.spelling.format
    dtype = source.types(frame)[column.name]
    if isinstance(dtype, pl.Date | pl.Datetime):
        day = pl.col(column.name).dt.date()
    else:
        day = days_in(text.str.slice(0, 10) if form is None else text, form)
    width = max(1, -(-((last - first).days + 1) // _BINS))
    bins = max(1, min(_BINS, (last - first).days // width + 1))
    place = ((day - pl.lit(first)).dt.total_days() / width).floor()
    rows = _binned(source, frame, place, weight, bins)
    ends = [first + dt.timedelta(days=width * at) for at in range(bins + 1)]
    lasts = [min(end - dt.timedelta(days=1), last) for end in ends[1:]]  # the last is that of the file
    return [Bar(f"{ends[at]} to {lasts[at]}", rows=rows[at]) for at in range(bins)]
