"""The first rows of a file in groups: those with the same value of a column, or of several columns together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field

import numpy as np
import polars as pl

from sfumato.counts.code_parts import REPEATED_ROWS, numbered
from sfumato.counts.key_spellings import key_texts
from sfumato.io.encode import in_iso, supported
from sfumato.io.source import Source
from sfumato.schema import Missing, Schema

FIRST_ROWS, LOOKED_AT = 20_000, 100  # rows and columns
AGREE = 0.9  # the share from which something holds for nearly all


@dataclass(frozen=True, slots=True)
class FirstRows:
    """The first rows of a file: each column as numbers, -1 for no value; numbers also as such."""

    codes: dict[str, np.ndarray]
    _: KW_ONLY
    texts: dict[str, pl.Series]
    height: int
    numbers: dict[str, np.ndarray | None] = field(default_factory=dict)  # of columns requested so far
    counted: dict[tuple[str, ...], int] = field(default_factory=dict)  # likewise

    def combinations(self, names: Sequence[str]) -> int:
        """Return how many combinations of columns there are, no value being one."""
        key = tuple(names)
        if key not in self.counted:
            self.counted[key] = len(np.unique(joint([self.codes[name] + 1 for name in names])))
        return self.counted[key]

    def grouped(self, names: Sequence[str]) -> RowGroups:
        """Return the rows grouped by columns together; rows that lack one of them are in no group."""
        return RowGroups.of(joint([self.codes[name] for name in names]))

    def number(self, name: str) -> np.ndarray | None:
        """Return a column of numbers, None if fewer than nine in ten cells are numbers."""
        if name not in self.numbers:
            text = self.texts[name].str.replace(",", ".", literal=True)
            found = text.cast(pl.Float64, strict=False).fill_nan(None)
            filled = len(text) - text.null_count()
            some = filled and found.drop_nulls().len() >= AGREE * filled
            self.numbers[name] = found.to_numpy() if some else None
        return self.numbers[name]


@dataclass(frozen=True, slots=True)
class RowGroups:
    """Rows in the order of a key's values, only those of values that repeat."""

    order: np.ndarray
    _: KW_ONLY
    starts: np.ndarray
    sizes: np.ndarray
    first: np.ndarray  # one row of each value, repeated or not

    @classmethod
    def of(cls, key: np.ndarray) -> RowGroups:
        """Group rows by the numbers of a key; those below 0 have none."""
        known = np.flatnonzero(key >= 0)
        short = key[known].astype(np.uint16) if key.max(initial=0) < 1 << 16 else key[known]  # these are sorted fastest
        order = known[np.argsort(short, kind="stable")]
        ranked = key[order]
        at = (
            np.flatnonzero(np.concatenate([[True], ranked[1:] != ranked[:-1]])) if len(order) else np.zeros(0, np.int64)
        )
        sizes = np.diff(np.append(at, len(order)))
        again = np.repeat(sizes > 1, sizes)
        many = sizes[sizes > 1]
        starts = np.concatenate([[0], np.cumsum(many)[:-1]]).astype(np.int64) if len(many) else np.zeros(0, np.int64)
        return cls(order[again], starts=starts, sizes=many, first=order[at])

    @property
    def most(self) -> int:
        """The rows of the value that has the most, 0 if none repeats."""
        return int(self.sizes.max(initial=0))

    def repeats(self, height: int, least: int) -> bool:
        """Whether enough values repeat to judge by them."""
        return len(self.sizes) >= least and int(self.sizes.sum()) * REPEATED_ROWS >= height

    def pairs(self, least: int) -> tuple[np.ndarray, np.ndarray]:
        """Return pairs of rows that follow each other in a value with more than `least` rows."""
        owner = np.repeat(np.arange(len(self.sizes)), self.sizes)
        follows = np.flatnonzero((owner[1:] == owner[:-1]) & (self.sizes[owner[1:]] > least))
        return self.order[follows], self.order[follows + 1]

    def mostly(self, which: np.ndarray, least: int) -> bool:
        """Whether something holds for nearly all values that repeat, also of those with more than `least` rows.

        A declared number of rows explains why those of a value with fewer agree.
        """
        return all(float(some.mean()) >= AGREE for some in (which, which[self.sizes > least]) if len(some))

    def spread(self, column: np.ndarray, *, known: bool = False) -> np.ndarray:
        """Return for each value that repeats how far apart its rows are in a column; NaN where one has none.

        With `known` only the rows that have one are compared.
        """
        rows = column[self.order]
        highest, lowest = (np.fmax, np.fmin) if known else (np.maximum, np.minimum)
        found: np.ndarray = highest.reduceat(rows, self.starts) - lowest.reduceat(rows, self.starts)
        return found


def first_rows(
    source: Source,
    quasi: Sequence[str],
    wanted: Sequence[str],
    schema: Schema | None = None,
    *,
    formats: Mapping[str, str] | None = None,
) -> FirstRows | None:
    """Return the first rows of some columns, None if they cannot be compared.

    A text that the schema calls missing is no value. Columns whose days are written in a format, that of the schema or
    of `formats`, are compared by their days: a workbook may hold some as dates and some as texts.
    """
    if not quasi or not wanted or not set(quasi) <= set(source.columns):
        return None
    frame = source.collect(source.scan([*quasi, *(name for name in wanted if name not in quasi)]).head(FIRST_ROWS))
    if not all(supported(frame[name].dtype) for name in quasi):
        return None
    plain = [name for name in frame.columns if supported(frame[name].dtype) and frame[name].dtype != pl.Object]
    if not set(quasi) <= set(plain):
        return None
    attributes = () if schema is None else schema.attributes
    known = {a.column_name: a.missing for a in attributes}
    written = {**(formats or {}), **{a.column_name: a.format for a in attributes if a.format is not None}}
    texts = {name: _text(frame[name], known.get(name), written.get(name)) for name in plain}
    return FirstRows({name: numbered(text) for name, text in texts.items()}, texts=texts, height=frame.height)


def _text(column: pl.Series, missing: Missing | None, form: str | None) -> pl.Series:
    """Return a column as texts that agree where the keys of people do: 208 and 208.0 are one, days are ISO."""
    text = key_texts(column if column.dtype.is_temporal() else column.cast(pl.String))
    gone = [one.lower() for one in missing.texts] if missing is not None else []
    text = text.set(text.str.to_lowercase().is_in(gone), None)
    return text if form is None else pl.select(in_iso(pl.lit(text), form)).to_series()


def within_first(source: Source, rows: int) -> str:
    """Say that only the first rows were looked at, nothing if these are all."""
    return f"in the first {rows:,} rows " if source.height() > rows else ""


def joint(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Number combinations of codes; -1 where a column has no value."""
    key = np.zeros(len(columns[0]), np.int64)
    gone = np.zeros(len(key), bool)
    for column in columns:
        gone |= column < 0
        key = np.unique(key * (int(column.max(initial=0)) + 2) + column + 1, return_inverse=True)[1].reshape(-1)
    key[gone] = -1
    return key
