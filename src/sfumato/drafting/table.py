"""What a file shows of its rows together: identifiers that repeat, copies of rows, columns that tell each other.

Nothing here holds a cell of the data: names of columns, numbers of rows and their places only.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field

import numpy as np
import polars as pl

from sfumato.counts.copies import compared_columns, row_kinds
from sfumato.counts.row_groups import FIRST_ROWS
from sfumato.counts.stray_rows import StrayRows, hidden_rows, merged_columns, stray_rows
from sfumato.drafting.columns import ColumnFacts, cell_text
from sfumato.errors import Problem, count_of
from sfumato.io.encode import days_in, in_iso
from sfumato.io.frames import KINDS, ROWS
from sfumato.io.source import Source
from sfumato.schema.word_hints import NO_VALUE, means_none, suggested

_COMPARED = 60  # columns compared with one another
_SAMPLE = 10_000  # rows in which they are
_AGREE, _COMMON, _ENOUGH = 0.97, 0.85, 20  # share of pairs that agree, of the commonest value, rows that can tell
_YEARS = 0.95  # share of rows in which a date and a number of years point to the same one or two years
_FEW, _ROUGHLY = 1_000, 0.9  # rows that are looked at first, and the share that makes a closer look worth while
_IDENTIFIERS = 50
_ROWS_EACH = 10  # a column with more rows a value tells groups rather than people


@dataclass(frozen=True, slots=True)
class Repeated:
    """An identifier that stands in several rows; in the columns of `apart` they differ as those of several people."""

    name: str
    _: KW_ONLY
    values: int
    most: int
    apart: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{_shown(self.name)}: {count_of(self.values, 'value')}, up to {count_of(self.most, 'row')} each"


@dataclass(frozen=True, slots=True)
class Related:
    """Two columns of which the first tells the second; with `ways` 2, the second tells the first as well."""

    first: str
    second: str
    _: KW_ONLY
    ways: int = 1
    years: bool = False

    def __str__(self) -> str:
        first, second = _shown(self.first), _shown(self.second)
        if self.years:
            return f"{first} and {second} determine each other: a date and the years since then"
        if self.ways == 2:
            return f"{first} and {second} determine each other in nearly all rows"
        return f"{first} determines {second} in nearly all rows"


@dataclass(frozen=True, slots=True)
class TableFacts:
    """What the rows show together; `unread` says for a column which rows are not read."""

    rows: int
    _: KW_ONLY
    copies: int = 0
    repeated: tuple[Repeated, ...] = ()
    related: tuple[Related, ...] = ()
    unread: Mapping[str, str] = field(default_factory=dict)
    stray: StrayRows | None = None
    merged: tuple[str, ...] = ()
    hidden: tuple[Problem, ...] = ()


def _shown(name: str) -> str:
    return " ".join(name.split())


def table_facts(source: Source, facts: Sequence[ColumnFacts]) -> TableFacts:
    """Look at the rows of a source once more, for what no column shows alone."""
    plain = [column for column in facts if column.plain]
    if not plain:
        return TableFacts(0)
    rows, kinds = _rows_and_kinds(source)
    first = source.first_rows(FIRST_ROWS)
    repeated = tuple(_repeated(source, plain))
    return TableFacts(
        rows,
        copies=rows - kinds,
        repeated=repeated,
        related=tuple(_related(first, plain, repeated)),
        unread={} if source.grouped else _unread(source, plain),
        stray=stray_rows(first),
        merged=tuple(merged_columns(first)),
        hidden=tuple(hidden_rows(source)),
    )


def _rows_and_kinds(source: Source) -> tuple[int, int]:
    """Return how many rows there are, and how many that differ in some column."""
    if source.grouped:
        spread = source.spread(source.columns)
        return int((spread[ROWS] * spread[KINDS]).sum()), int(spread[KINDS].sum())
    times, _ = row_kinds(source, compared_columns(source.types(source.scan(source.columns))))
    return int(times.sum()), len(times)


def _repeated(source: Source, columns: Sequence[ColumnFacts]) -> list[Repeated]:
    return repeated_columns(source, [one for one in columns if "identifier" in suggested(one.name)])


def repeated_columns(source: Source, columns: Sequence[ColumnFacts]) -> list[Repeated]:
    """Return those of the columns, of the first fifty, of which some value stands in several rows."""
    found = []
    weight = pl.col(ROWS).sum() if source.grouped else pl.len()
    for column in columns[:_IDENTIFIERS]:
        if not 0 < column.distinct < column.rows - column.nulls:
            continue
        frame = source.scan([column.name])
        key = cell_text(column.name, source.types(frame)[column.name]).alias("key")
        keys = frame.with_columns(key).filter(pl.col("key").is_not_null() & ~pl.col("key").is_in(["", *NO_VALUE]))
        times = keys.group_by("key").agg(weight.alias("n"))
        values, top = source.collect_all([times.select(pl.len()), times.top_k(_IDENTIFIERS, by="n")])
        held = {text: int(many) for text, many in top.select("key", "n").iter_rows() if not means_none(text)}
        most = max(held.values(), default=0)
        if most > 1:
            found.append(Repeated(column.name, values=values.item() - top.height + len(held), most=most))
    return found


# -- columns that tell each other ------------------------------------------------------------


def _related(source: Source, columns: Sequence[ColumnFacts], repeated: Sequence[Repeated]) -> list[Related]:
    """Compare columns with one another, on one row for each value of an identifier: rows of one person agree anyway.

    Of several such identifiers the coarsest with few rows a value: a person has several visits.
    """
    wanted = [column for column in columns if column.distinct > 1 and "identifier" not in suggested(column.name)]
    wanted = wanted[:_COMPARED]
    if len(wanted) < 2 or wanted[0].rows < _ENOUGH:
        return []
    names = [column.name for column in wanted]
    few = [one for one in repeated if wanted[0].rows < _ROWS_EACH * one.values]
    first = min(few, key=lambda one: one.values) if few else max(repeated, key=lambda one: one.values, default=None)
    whom = None if first is None else first.name
    sample = source.collect(source.scan([*names, whom] if whom else names).head(_SAMPLE))
    if whom is not None:
        sample = sample.unique(subset=[whom], keep="first", maintain_order=True)
    years = _years(sample, wanted)
    dated = {frozenset((pair.first, pair.second)) for pair in years}
    codes = {column.name: _numbered(_compared(sample, column)) for column in wanted}
    common = {name: _commonest(codes[name]) for name in names}
    found: dict[tuple[str, str], bool] = {}
    for one, other in itertools.permutations(names, 2):
        if frozenset((one, other)) not in dated and common[other] <= _COMMON:
            roughly = _tells(codes[one][:_FEW], codes[other][:_FEW], _ROUGHLY, enough=0)
            found[one, other] = roughly and _tells(codes[one], codes[other], _AGREE, enough=_ENOUGH)
    mutual = {pair for pair, holds in found.items() if holds and found.get((pair[1], pair[0]))}
    people = {name for name in names if _is_like_a_key(name, codes[name], found)}
    place = {name: at for at, name in enumerate(names)}
    return [
        *years,
        *(
            Related(*pair, ways=2 if pair in mutual else 1)
            for pair, holds in found.items()
            if holds and not people.issuperset(pair if pair in mutual else pair[:1])
            if pair not in mutual or place[pair[0]] < place[pair[1]]
        ),
    ]


def _compared(sample: pl.DataFrame, column: ColumnFacts) -> pl.Series:
    """Return the cells of a column as they are compared: days of one format by the day."""
    cells = sample[column.name]
    if column.days is None or column.spelling.format is None or not isinstance(cells.dtype, pl.String):
        return cells
    return sample.select(in_iso(cell_text(column.name, cells.dtype), column.spelling.format)).to_series()


def _is_like_a_key(name: str, codes: np.ndarray, found: Mapping[tuple[str, str], bool]) -> bool:
    """Whether a column tells others that say nothing of each other, in few rows a value: these are one person's."""
    known = codes[codes >= 0]
    told = [other for (one, other), holds in found.items() if holds and one == name]
    apart = any(
        not found.get((one, other)) and not found.get((other, one)) for one, other in itertools.combinations(told, 2)
    )
    return apart and len(known) < _ROWS_EACH * len(np.unique(known))


def _numbered(cells: pl.Series) -> np.ndarray:
    """Number the values of a column from 0 on; a null is -1."""
    known = cells.drop_nulls().unique()
    place = pl.DataFrame({"value": known, "place": np.arange(len(known))})
    found = pl.DataFrame({"value": cells}).join(place, on="value", how="left", maintain_order="left")["place"]
    return found.fill_null(-1).to_numpy()


def _commonest(codes: np.ndarray) -> float:
    """Return the share of the commonest value among those there are."""
    known = codes[codes >= 0]
    return float(np.bincount(known).max() / len(known)) if len(known) else 1.0


def _tells(one: np.ndarray, other: np.ndarray, share: float, *, enough: int) -> bool:
    """True when rows that share a value of the one nearly always share that of the other.

    The first row of each value proves nothing; values of a single row are not looked at.
    """
    known = (one >= 0) & (other >= 0)
    one, other = one[known].astype(np.int64), other[known].astype(np.int64)
    if not len(one):
        return not enough
    width = int(other.max()) + 1
    pairs, counts = np.unique(one * width + other, return_counts=True)
    rows, most = np.zeros(int(one.max()) + 1, np.int64), np.zeros(int(one.max()) + 1, np.int64)
    np.add.at(rows, pairs // width, counts)
    np.maximum.at(most, pairs // width, counts)
    several = rows > 1
    tries, agree = int((rows[several] - 1).sum()), int((most[several] - 1).sum())
    return tries >= enough and (not enough or several.sum() > 1) and agree >= share * tries


def _years(sample: pl.DataFrame, columns: Sequence[ColumnFacts]) -> list[Related]:
    """Return pairs of a date (or a year) and a number of years since then, such as an age."""
    spans = [c for c in columns if c.numbers is not None and c.whole and c.numbers[0] >= 0 and c.numbers[1] <= 130]
    dates = [(c, _year(sample, c)) for c in columns if c.days is not None]
    dates += [
        (c, _number(sample, c))
        for c in columns
        if c.numbers and c.whole and 1850 <= c.numbers[0] <= c.numbers[1] < 2200
    ]
    found = []
    for (date, year), span in itertools.product(dates, spans):
        sums = (year + _number(sample, span)).drop_nulls()
        if len(sums) < _ENOUGH or span.distinct < 5:
            continue
        tops = Counter(sums.to_list())
        if max(times + tops.get(total + 1, 0) for total, times in tops.items()) >= _YEARS * len(sums):
            found.append(Related(date.name, span.name, ways=2, years=True))
    return found


def _year(sample: pl.DataFrame, column: ColumnFacts) -> pl.Series:
    series = sample[column.name]
    if isinstance(series.dtype, pl.Date | pl.Datetime):
        return series.dt.year().cast(pl.Int64)
    form = column.spelling.format
    text = cell_text(column.name, series.dtype)
    day = days_in(text.str.slice(0, 10) if form is None else text, form)
    return sample.select(day.dt.year().cast(pl.Int64)).to_series()


def _number(sample: pl.DataFrame, column: ColumnFacts) -> pl.Series:
    text = cell_text(column.name, sample[column.name].dtype)
    return sample.select(text.cast(pl.Float64, strict=False).cast(pl.Int64, strict=False)).to_series()


# -- rows that keep a column from being read -------------------------------------------------


def _unread(source: Source, columns: Sequence[ColumnFacts]) -> dict[str, str]:
    """Say for each column that is nearly read which rows are not: by the line of the file, where that is certain."""
    odd = [column for column in columns if column.unread]
    if not odd:
        return {}
    found = {}
    for column in odd:
        frame = source.scan([column.name])
        text = cell_text(column.name, source.types(frame)[column.name])
        asked = frame.with_row_index(ROWS).filter(text.is_in(list(column.unread))).select(ROWS)
        found[column.name] = source.places(source.collect(asked).to_series().sort().to_list())
    return found
