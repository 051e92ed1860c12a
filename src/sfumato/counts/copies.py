"""Rows that are copies of one another in every column, and whether chance can explain them.

Source    Ours. The tree of pairs is that of Chow & Liu, IEEE Trans. Inf. Theory 14(3), 1968.
Claim     Copies are reported only where they are many (more than 5 % of the rows, and 20 different rows that occur
          again) and there are more than 100 times as many pairs of equal rows as there would be if each column
          depended on one other column at most. Rows that agree in every quasi-identifier are reported where there are
          ten times as many pairs of them, and 20 combinations that occur again.
Because   the chance that two rows agree in every column is then the product of the chances that they agree in one
          column given that they agree in the column which says most about it; both are counted on pairs of rows that
          are not copies, so that copies do not excuse themselves. A column in which all different rows differ is left
          out of account: of a list of towns with their counties, nobody can tell copies from people of one town.
Checked   tests/claims/test_copies.py::test_ordinary_tables_with_equal_rows_are_not_reported
          tests/claims/test_copies.py::test_copied_rows_are_reported
          tests/claims/test_copies.py::test_mutants_are_caught
          tests/claims/test_rows_of_one_person.py::test_rows_that_agree_in_every_quasi_identifier_are_refused
Silent on copies in which one cell was changed, copies that one column alone tells from other rows,
          and on whether the copies are one person: only a steward can tell. Of more rows than are held (30 million)
          those with every n-th hash are looked at, copies with one another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Final

import numpy as np
import polars as pl

from sfumato.errors import Problem, count_of
from sfumato.io.encode import supported
from sfumato.io.source import KINDS, ROWS, Source, slices
from sfumato.limits import HELD_ROWS

__all__ = ["COPIES_SHARE", "Copies", "alike_beyond_chance", "beyond_chance", "find_copies", "row_kinds"]

COPIES_SHARE: Final = Fraction(1, 20)
"""More of the rows than this share may not be copies of another, where chance cannot explain them."""

_KINDS = 20  # different rows that occur again: fewer may be one common answer, such as an empty questionnaire
_DIFFERENT = 100  # different rows by which chance can be judged
_TIMES = 100  # as many pairs as chance gives that are still taken for chance
_TIMES_ALIKE = 10  # the same, of rows that agree in the quasi-identifiers alone; public tables of people reach 7
_SAMPLE, _COLUMNS = 2_000, 40  # different rows and columns by which chance is judged
_ALONE = 0.95  # different values for each different row, from which a column is left out of account
_ENOUGH = 8  # pairs of rows that agree in a column, from which another column is said to depend on it
_ROW, _OFTEN = "\0row", "\0times"
_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class Copies:
    """How many of the rows equal an earlier one in every column, more than chance explains."""

    copies: int
    _: KW_ONLY
    rows: int

    def problem(self, name: str) -> Problem:
        """Return what is wrong where rows are counted as people."""
        of = count_of(self.rows, "row")
        rule = (
            f"{self.copies:,} of {of} are copies of another row in every column, far more than would agree by chance: "
            "people would be counted twice"
        )
        hint = "remove the copies, or name the `person`; copies_are_people = true where they are different people"
        return Problem(name, rule, hint, rows=self.copies)


def row_kinds(source: Source, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return how often each different row occurs, and the place of one of them; a hash of 64 bits stands for a row.

    The order is that of the hashes, which has nothing to do with what the rows are.
    """
    every = max(1, -(-source.height() // HELD_ROWS))
    if every > 1:
        kind = pl.struct(names).hash()
        frame = (
            source.scan(names).select(kind.alias("hash")).with_row_index("place").filter(pl.col("hash") % every == 0)
        )
        return _times(source.collect(frame))
    hashes = np.zeros(0, np.uint64)
    for part, frame in slices(source, names):
        found = source.collect(frame.select(pl.struct(part).hash())).to_series().to_numpy()
        hashes = found if not len(hashes) else hashes * _MIX + found  # wraps round, as hashes do
    return _times(pl.DataFrame({"hash": hashes}).with_row_index("place"))


def _times(rows: pl.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    kinds = rows.group_by("hash").agg(rows=pl.len(), place=pl.col("place").first()).sort("hash")
    return kinds["rows"].to_numpy().astype(np.int64), kinds["place"].to_numpy().astype(np.int64)


def find_copies(source: Source) -> Copies | None:
    """Return the copies of a table where they are many and chance cannot explain them, else None."""
    if source.grouped:
        return _copies_there(source)
    types = source.types(source.scan(source.columns))
    names = [name for name in source.columns if supported(types[name])]
    if len(names) < 2:
        return None
    times, places = row_kinds(source, names)
    rows, copies = int(times.sum()), int(times.sum()) - len(times)
    if not _many(times):
        return None
    kept = np.sort(places[:_SAMPLE])
    frame = source.scan(names).with_row_index(_ROW)
    cells = source.collect(frame.filter(pl.col(_ROW).is_in(kept.tolist())).select(_ROW, *names))
    weight = pl.DataFrame({_ROW: places, _OFTEN: times}).with_columns(pl.col(_ROW).cast(pl.UInt32))
    cells = cells.join(weight, on=_ROW, how="left", maintain_order="left")
    codes = [cells[name].rank("dense").fill_null(0).to_numpy().astype(np.int64) for name in names]
    return Copies(copies, rows=rows) if beyond_chance(codes, cells[_OFTEN].to_numpy(), times) else None


def _many(times: np.ndarray) -> bool:
    """Whether there are so many copies that they are looked at."""
    rows, copies = int(times.sum()), int(times.sum()) - len(times)
    return copies > COPIES_SHARE * rows and int((times > 1).sum()) >= _KINDS and len(times) >= _DIFFERENT


def _copies_there(source: Source) -> Copies | None:
    """Return the copies of a table that an engine groups: how often rows occur is counted there."""
    if len(source.columns) < 2:
        return None
    spread = source.spread(source.columns)
    times = np.repeat(spread[ROWS].to_numpy(), spread[KINDS].to_numpy())
    if not _many(times):
        return None
    cells = source.collect(source.scan(source.columns, limit=_SAMPLE - 1))
    codes = [cells[name].rank("dense").fill_null(0).to_numpy().astype(np.int64) for name in source.columns]
    rows = int(times.sum())
    return Copies(rows - len(times), rows=rows) if beyond_chance(codes, cells[ROWS].to_numpy(), times) else None


def alike_beyond_chance(codes: np.ndarray, times: np.ndarray) -> int:
    """Return the most rows that agree in every quasi-identifier, 0 where chance may explain that rows agree.

    codes  the combinations that occur, a row each; times  how often each does. Ten times as many pairs of rows agree as
    would if each column depended on one other: so it is where people have several rows and nothing says whose they are.
    """
    if int((times > 1).sum()) < _KINDS or len(times) < _DIFFERENT:
        return 0
    key = np.zeros(len(codes), np.uint64)
    for column in codes.T:
        key = (key ^ column.astype(np.uint64)) * _MIX
        key ^= key >> np.uint64(29)
    kept = np.argsort(key, kind="stable")[:_SAMPLE]  # an order that has nothing to do with what the rows are
    columns = [codes[kept, at].astype(np.int64) for at in range(codes.shape[1])]
    far = beyond_chance(columns, times[kept], times, most=_TIMES_ALIKE)
    return int(times.max()) if far else 0


def beyond_chance(codes: Sequence[np.ndarray], weights: np.ndarray, times: np.ndarray, *, most: int = _TIMES) -> bool:
    """Whether rows occur again more than `most` times as often as chance explains.

    codes  columns of a sample of different rows; weights  how often each of these occurs; times  the same of all rows.
    """
    rows = int(times.sum())
    observed = int((times * (times - 1)).sum()) // 2
    values = [len(np.unique(column)) for column in codes]
    chosen = sorted((at for at in range(len(codes)) if values[at] < _ALONE * len(weights)), key=lambda at: -values[at])
    informed = [codes[at] for at in chosen[:_COLUMNS]]
    return len(informed) > 1 and observed > most * _chance(informed, weights) * rows * (rows - 1) / 2


def _chance(codes: Sequence[np.ndarray], weights: np.ndarray) -> float:
    """Return the chance that two rows agree in every column, where each depends on one other column at most."""
    single = [_agreeing(column, weights) for column in codes]
    order = sorted(range(len(codes)), key=lambda at: single[at][0])
    product = 1.0
    for place, at in enumerate(order):
        share = single[at][0]
        for before in order[:place]:
            if single[before][1] >= _ENOUGH:
                both = codes[before] * (int(codes[at].max(initial=0)) + 1) + codes[at]
                share = max(share, _agreeing(both, weights)[0] / single[before][0])
        product *= min(share, 1.0)
    return product


def _agreeing(column: np.ndarray, weights: np.ndarray) -> tuple[float, int]:
    """Return the share of pairs of rows that agree, and the number of pairs of different rows that do.

    A pair of copies is not counted; one pair is added, so that no chance is nothing.
    """
    _, place, counts = np.unique(column, return_inverse=True, return_counts=True)
    sums = np.bincount(place.reshape(-1), weights=weights)
    squares = float((weights.astype(float) ** 2).sum())
    whole = float(weights.sum()) ** 2 - squares
    pairs = int((counts.astype(np.int64) * (counts - 1)).sum()) // 2
    return (float((sums**2).sum()) - squares + 2) / (whole + 2), pairs
