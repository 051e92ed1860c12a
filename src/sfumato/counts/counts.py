"""`Counts`: how many rows share each combination of codes. Confidential."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field

import numpy as np
import polars as pl

from sfumato.errors import ParameterError
from sfumato.schema import Schema

__all__ = ["Counts", "checked_names", "group_codes", "packed"]


# Group rows of codes: one line for each combination that occurs, in lexicographic order, with its weight.

_SORTED = 1 << 22  # rows up to which sorting the keys beats a hash table
_DENSE = 1 << 22  # cells for which a table of all combinations is faster than a hash


def packed(columns: Sequence[np.ndarray], sizes: Sequence[int]) -> np.ndarray:
    """Return one int64 key a row, ordered as the rows are; the product of the sizes must stay below 2^63."""
    key = np.zeros(len(columns[0]), dtype=np.int64)
    for column, size in zip(columns, sizes, strict=True):
        key *= size
        key += column
    return key


def group_codes(
    columns: Sequence[np.ndarray], sizes: Sequence[int], *, rows: int, weights: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct rows (m x q int32, lexicographic) and their weights (int64)."""
    if not columns:
        total = rows if weights is None else int(weights.sum())
        return np.zeros((int(total > 0), 0), np.int32), np.full(int(total > 0), total, np.int64)
    if not len(columns[0]):
        return np.zeros((0, len(sizes)), np.int32), np.zeros(0, np.int64)
    cells = math.prod(sizes)
    if cells >= 1 << 62:
        return _by_columns(columns, weights)
    key = packed(columns, sizes)
    keys, sums = _dense(key, cells, weights) if cells <= min(_DENSE, 16 * rows + 64) else _sparse(key, weights)
    codes = np.empty((len(keys), len(sizes)), dtype=np.int32)
    for at in range(len(sizes) - 1, -1, -1):
        keys, codes[:, at] = np.divmod(keys, sizes[at])
    return codes, sums


def _dense(key: np.ndarray, cells: int, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    if weights is None:
        table = np.bincount(key, minlength=cells)
    else:
        table = np.zeros(cells, dtype=np.int64)
        np.add.at(table, key, weights)
    keys = np.flatnonzero(table)
    return keys, table[keys].astype(np.int64)


def _sparse(key: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    if weights is None and len(key) <= _SORTED:
        key = np.sort(key)
        first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
        return key[first], np.diff(np.append(first, len(key)))
    if weights is None:
        found = pl.DataFrame({"key": key}).group_by("key").len("weight")
    else:
        found = pl.DataFrame({"key": key, "weight": weights}).group_by("key").agg(pl.col("weight").sum())
    found = found.sort("key")
    return found["key"].to_numpy(), found["weight"].cast(pl.Int64).to_numpy()


def _by_columns(columns: Sequence[np.ndarray], weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    names = [str(at) for at in range(len(columns))]
    frame = pl.DataFrame(dict(zip(names, columns, strict=True)))
    if weights is None:
        found = frame.group_by(names).len("weight")
    else:
        found = frame.with_columns(weight=pl.Series(weights)).group_by(names).agg(pl.col("weight").sum())
    found = found.sort(names)
    codes = np.column_stack([found[name].to_numpy() for name in names]).astype(np.int32)
    return np.ascontiguousarray(codes), found["weight"].cast(pl.Int64).to_numpy()


def checked_names(schema: Schema, names: str | Sequence[str]) -> tuple[str, ...]:
    """Return attribute names that exist, have a domain and are named once."""
    wanted = (names,) if isinstance(names, str) else tuple(names)
    for at, name in enumerate(wanted):
        attribute = schema[name]
        if attribute.role == "identifier":
            raise ParameterError("names", name, "is an identifier", hint="identifiers are never read")
        if attribute.domain is None:
            raise ParameterError(
                "names", name, "has no domain in the schema", hint="declare its range, values or hierarchy"
            )
        if name in wanted[:at]:
            raise ParameterError("names", name, "is named twice", hint="name each attribute once")
    return wanted


@dataclass(frozen=True, eq=False)
class Counts:
    """Distinct rows of codes in lexicographic order with their weights. Confidential: prints no number.

    >>> table = sf.datasets.adult("test")
    >>> table.counts(["sex", "race"])
    Counts('adult', 2 attributes, confidential)
    """

    schema: Schema
    _: KW_ONLY
    names: tuple[str, ...]
    codes: np.ndarray = field(repr=False)
    weights: np.ndarray = field(repr=False)

    def __post_init__(self) -> None:
        self.codes.setflags(write=False)
        self.weights.setflags(write=False)

    def __repr__(self) -> str:
        return f"Counts({self.schema.name!r}, {len(self.names)} attributes, confidential)"

    def __len__(self) -> int:
        return len(self.weights)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Counts)
            and self.names == other.names
            and np.array_equal(self.codes, other.codes)
            and np.array_equal(self.weights, other.weights)
        )

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def from_arrays(cls, schema: Schema, names: Sequence[str], codes: np.ndarray, weights: np.ndarray) -> Counts:
        """Return counts of any rows of codes: sorted, equal rows merged, weights of 0 dropped."""
        wanted = checked_names(schema, names)
        codes, weights = np.asarray(codes), np.asarray(weights)
        if codes.ndim != 2 or codes.shape != (len(weights), len(wanted)):
            rule = f"must be {len(weights)} rows of {len(wanted)} codes"
            raise ParameterError("codes", f"array of shape {codes.shape}", rule)
        if len(weights) and weights.min() < 0:
            raise ParameterError("weights", "some", "must be 0 or above")
        sizes = [schema[name].size for name in wanted]
        for at, name in enumerate(wanted):
            column = codes[:, at]
            if len(column) and (column.min() < 0 or column.max() >= sizes[at]):
                raise ParameterError("codes", name, f"has codes outside 0 .. {sizes[at] - 1}")
        kept = weights > 0
        columns = [np.ascontiguousarray(codes[kept, at]) for at in range(len(wanted))]
        found, sums = group_codes(columns, sizes, rows=int(kept.sum()), weights=weights[kept].astype(np.int64))
        return cls(schema, names=wanted, codes=found, weights=sums)

    @property
    def rows(self) -> int:
        """How many rows there are in all."""
        return int(self.weights.sum())

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many codes each attribute has, missing included."""
        return tuple(self.schema[name].size for name in self.names)

    def column(self, name: str) -> np.ndarray:
        """Return the codes of one attribute, one for each distinct row."""
        return np.ascontiguousarray(self.codes[:, self._place(name)])

    def marginal(self, names: str | Sequence[str]) -> Counts:
        """Return the counts of fewer attributes, in the order named."""
        wanted = (names,) if isinstance(names, str) else tuple(names)
        if wanted == self.names:
            return self
        checked_names(self.schema, wanted)
        columns = [self.column(name) for name in wanted]
        sizes = [self.schema[name].size for name in wanted]
        codes, weights = group_codes(columns, sizes, rows=len(self), weights=self.weights)
        return Counts(self.schema, names=wanted, codes=codes, weights=weights)

    def histogram(self, name: str) -> np.ndarray:
        """Return how many rows have each code of an attribute (int64, one for each code)."""
        table = np.zeros(self.schema[name].size, dtype=np.int64)
        np.add.at(table, self.codes[:, self._place(name)], self.weights)
        return table

    def _place(self, name: str) -> int:
        try:
            return self.names.index(name)
        except ValueError:
            raise ParameterError(
                "names", name, "is not among the counted attributes", hint=f"one of {', '.join(self.names)}"
            ) from None
