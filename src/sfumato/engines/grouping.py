"""Group rows of codes: one line for each combination that occurs, in lexicographic order, with its weight.

A weight is a number of rows, or, where every person counts the same, shares of people.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import polars as pl

from sfumato.errors import ParameterError

_MERGED = 1 << 20  # lines that wait before they are added up
_DENSE = 1 << 22  # cells for which a table of all combinations is faster than a hash


def packed(columns: Sequence[np.ndarray], sizes: Sequence[int], dtype: type[np.signedinteger] = np.int64) -> np.ndarray:
    """Return one key a row, ordered as the rows are; the product of the sizes must fit the type."""
    key = np.zeros(len(columns[0]), dtype)
    for column, size in zip(columns, sizes, strict=True):
        key *= dtype(size)
        np.add(key, column, out=key, casting="same_kind")
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
    key = packed(columns, sizes, np.int64 if cells >= 1 << 31 else np.int32)  # half as wide sorts twice as fast
    keys, sums = _dense(key, cells, weights) if cells <= min(_DENSE, 16 * rows + 64) else _sparse(key, weights)
    codes = np.empty((len(keys), len(sizes)), dtype=np.int32)
    for at in range(len(sizes) - 1, 0, -1):
        rest = keys // sizes[at]
        codes[:, at] = keys - rest * sizes[at]
        keys = rest
    codes[:, 0] = keys
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
    """Sort the keys, which are ours to change: several times as fast as a hash table whose lines are sorted after."""
    if weights is None:
        key.sort()
    else:
        order = np.argsort(key)
        key, weights = key[order], weights[order]
    first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    sums = np.diff(np.append(first, len(key))) if weights is None else np.add.reduceat(weights, first)
    return key[first], sums.astype(np.int64, copy=False)


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


class CodeTally:
    """Adds up weights by combination of codes, batch by batch; what it holds follows the combinations, not the rows."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = tuple(sizes)
        self._codes = np.zeros((0, len(self.sizes)), np.int32)
        self._weights = np.zeros(0, np.int64)
        self._waiting: list[tuple[np.ndarray, np.ndarray]] = []
        self._lines = 0  # of what waits

    def add(self, columns: Sequence[np.ndarray], weights: np.ndarray | None = None) -> None:
        """Add a batch of rows, one array for each column."""
        if not columns or not len(columns[0]):
            return
        self._waiting.append(group_codes(columns, self.sizes, rows=len(columns[0]), weights=weights))
        self._lines += len(self._waiting[-1][1])
        if self._lines > max(len(self._weights), _MERGED):
            self._merge()

    def result(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the distinct rows (m x q int32, lexicographic) and their weights (int64)."""
        if self._waiting:
            self._merge()
        return self._codes, self._weights

    def exceeds(self, limit: int) -> bool:
        """Whether there are more than `limit` combinations so far; what waits is added up only where it could be."""
        if len(self._weights) + self._lines > limit and self._waiting:
            self._merge()
        return len(self._weights) > limit

    def _merge(self) -> None:
        codes = np.concatenate([self._codes, *(codes for codes, _ in self._waiting)])
        weights = np.concatenate([self._weights, *(weights for _, weights in self._waiting)])
        self._waiting, self._lines = [], 0
        columns = [np.ascontiguousarray(codes[:, at]) for at in range(codes.shape[1])]
        del codes
        self._codes, self._weights = group_codes(columns, self.sizes, rows=len(weights), weights=weights)


# Shares of people: weights of lines when every person has the same whole, divided among their lines.


MOST_SHARES = 2**31 - 1
"""The most a cut can count, `kernels.conditions.MOST_CUT_ROWS`: repeated, because a verifier imports no kernel."""

_WHOLE = 60  # parts of a vote, where there is room: 1 to 6 rows share it evenly


def whole_of(people: int, most: int) -> int:
    """Return the whole that each of these people has, where none has more than `most` different rows."""
    room = MOST_SHARES // people
    if most > room:
        rule = f"has up to {most} different rows, too many for {people} people"
        raise ParameterError("person", "a person", rule, hint="rows_per_person = m keeps at most m rows of each person")
    return min(max(most, _WHOLE), room)


def shares_of(person: np.ndarray, line: np.ndarray, lines: int) -> tuple[np.ndarray, int]:
    """Return the weight of each line when every person has the same whole, and that whole.

    A person's whole is divided evenly among the person's lines, the remainder to the first of them.
    """
    if not len(person):
        return np.zeros(lines, np.int64), 1
    _, number, many = np.unique(person, return_inverse=True, return_counts=True)
    number = number.reshape(-1)
    whole = whole_of(len(many), int(many.max()))
    order = np.lexsort((line, number))
    first = np.ones(len(order), bool)
    first[1:] = number[order][1:] != number[order][:-1]
    share = whole // many[number]
    share[order[first]] += whole % many
    weights = np.zeros(lines, np.int64)
    np.add.at(weights, line, share)
    return weights, whole


def scrambled(value: np.ndarray) -> np.ndarray:
    """Splitmix64's finalizer (Steele, Lea & Flood, OOPSLA 2014): a fixed scrambling of 64 bits."""
    value = value + np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    result: np.ndarray = value ^ (value >> np.uint64(31))
    return result
