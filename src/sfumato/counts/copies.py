"""Rows that are copies of one another in every column, and whether chance can explain them.

Source    Ours. The tree of pairs is that of Chow & Liu, IEEE Trans. Inf. Theory 14(3), 1968.
Claim     Copies are reported only where they are many (more than 5 % of the rows, and 20 different rows that occur
          again) and there are more than 100 times as many pairs of equal rows as there would be if each column
          depended on one other column at most; ten times, where a quarter of the rows are copies and six columns or
          fewer tell them apart. Rows that agree in every quasi-identifier are reported where there are
          ten times as many pairs of them, and 20 combinations that occur again. A join is reported where nearly all
          combinations occur a multiple of m times, and chance would have it so once in a billion tables. Pairs are
          reported where three in five combinations of the quasi-identifiers occur an even number of times, at that
          chance: a warning only, since matched people are paired as well.
Because   the chance that two rows agree in every column is then the product of the chances that they agree in one
          column given that they agree in the column which says most about it; both are counted on pairs of rows that
          are not copies, so that copies do not excuse themselves. A column in which all different rows differ is left
          out of account: of a list of towns with their counties, nobody can tell copies from people of one town.
          Were the number of times left to chance, one combination in m would occur a multiple of m times.
Checked   tests/claims/test_copies.py::test_ordinary_tables_with_equal_rows_are_not_reported
          tests/claims/test_copies.py::test_copied_rows_are_reported
          tests/claims/test_copies.py::test_many_copies_in_a_narrow_table_are_reported
          tests/claims/test_copies.py::test_mutants_are_caught
          tests/claims/test_joined_rows.py::test_a_join_that_repeats_rows_is_refused
          tests/claims/test_joined_rows.py::test_ordinary_tables_are_not_reported
          tests/claims/test_joined_rows.py::test_mutants_are_caught
          tests/claims/test_joined_rows.py::test_two_rows_a_person_are_warned_of
          tests/claims/test_joined_rows.py::test_people_drawn_by_themselves_are_not_paired
          tests/claims/test_rows_of_one_person.py::test_rows_that_agree_in_every_quasi_identifier_are_refused
Silent on joins that repeat some rows more often than others,
          on copies in which one cell was changed, copies that one column alone tells from other rows,
          and on whether the copies are one person: only a steward can tell. Of more rows than are held (30 million)
          those with every n-th hash are looked at, copies with one another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Final

import numpy as np
import polars as pl
from scipy.stats import binom

from sfumato.engines.grouping import group_codes
from sfumato.errors import Problem, count_of
from sfumato.io.encode import supported
from sfumato.io.frames import KINDS, ROWS
from sfumato.io.source import Source, slices
from sfumato.limits import HELD_ROWS

COPIES_SHARE: Final = Fraction(1, 20)
"""More of the rows than this share may not be copies of another, where chance cannot explain them."""

_KINDS = 20  # different rows that occur again: fewer may be one common answer, such as an empty questionnaire
_DIFFERENT = 100  # different rows by which chance can be judged
_TIMES = 100  # as many pairs as chance gives that are still taken for chance
_TIMES_ALIKE = 10  # the same, of rows that agree in the quasi-identifiers alone; public tables of people reach 7
_NARROW, _QUARTER = 6, 4  # columns up to which, and rows a copy from which, ten times are more than chance here too
_SAMPLE, _COLUMNS = 2_000, 40  # different rows and columns by which chance is judged
_ALONE = 0.95  # different values for each different row, from which a column is left out of account
_ENOUGH = 8  # pairs of rows that agree in a column, from which another column is said to depend on it
_MULTIPLES, _NEARLY, _BY_CHANCE = range(12, 1, -1), 0.95, 1e-9  # multiples looked for, their share and its chance
_CASES = 3  # a multiple from which a column may tell the rows apart; two are often cases and their matched controls
_PAIRED = 0.6  # the share of combinations that occur an even number of times, from which rows may be pairs
_LOOKED_AT = 100_000  # combinations by which multiples are judged where a column is left out
_ROW, _OFTEN, _HASH = "\0row", "\0times", "\0hash"
_LOWEST = 2**60  # hashes below it, one in 16: the cells of such rows are kept while all rows are counted
_NOT_WIDE, _CELLS = 250, 20_000_000  # the most columns and cells of a table for which that is done
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


def compared_columns(types: Mapping[str, pl.DataType]) -> list[str]:
    """Return the columns in which copies of a row agree: also lists and spans of time, which are not read."""
    return [name for name, kind in types.items() if not isinstance(kind, pl.Object)]


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
        kept = source.collect(frame)
        return _times(kept["hash"].to_numpy(), kept["place"].to_numpy())
    hashes = np.zeros(0, np.uint64)
    for part, frame in slices(source, names):
        found = source.collect(frame.select(pl.struct(part).hash())).to_series().to_numpy()
        hashes = found if not len(hashes) else hashes * _MIX + found  # wraps round, as hashes do
    return _times(hashes, np.arange(len(hashes)))


def _times(hashes: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(hashes)
    ordered = hashes[order]
    first = np.flatnonzero(np.concatenate([np.ones(min(len(ordered), 1), bool), ordered[1:] != ordered[:-1]]))
    return np.diff(np.append(first, len(ordered))), places[order[first]].astype(np.int64)


def find_copies(source: Source) -> Copies | None:
    """Return the copies of a table where they are many and chance cannot explain them, else None."""
    if source.grouped:
        return _copies_there(source)
    types = source.types(source.scan(source.columns))
    names = [name for name in source.columns if supported(types[name])]
    if len(names) < 2:
        return None
    times, places, cells = _kinds_and_cells(source, compared_columns(types))
    rows, copies = int(times.sum()), int(times.sum()) - len(times)
    if not _many(times):
        return None
    if cells is None:
        frame = source.scan(names).with_row_index(_ROW)
        cells = source.collect(frame.filter(pl.col(_ROW).is_in(np.sort(places[:_SAMPLE]).tolist())))
    weight = pl.DataFrame({_ROW: places[:_SAMPLE], _OFTEN: times[:_SAMPLE]}).with_columns(pl.col(_ROW).cast(pl.UInt32))
    cells = cells.join(weight, on=_ROW, how="inner", maintain_order="left")
    codes = [cells[name].rank("dense").fill_null(0).to_numpy().astype(np.int64) for name in names]
    return Copies(copies, rows=rows) if _far_too_many(codes, cells[_OFTEN].to_numpy(), times) else None


def _kinds_and_cells(source: Source, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray, pl.DataFrame | None]:
    """Return `row_kinds` and, where one scan gives them, rows with the lowest hashes: the sample is among them."""
    if len(names) > _NOT_WIDE or source.height() * len(names) > _CELLS:
        return *row_kinds(source, names), None
    frame = source.scan(names).with_row_index(_ROW).with_columns(pl.struct(names).hash().alias(_HASH))
    found, cells = source.collect_all([frame.select(_HASH), frame.filter(pl.col(_HASH) < _LOWEST)])
    hashes = found[_HASH].to_numpy()
    times, places = _times(hashes, np.arange(len(hashes)))
    kept = bool((hashes[places[:_SAMPLE]] < _LOWEST).all())
    return times, places, cells if kept else None


def _far_too_many(codes: Sequence[np.ndarray], weights: np.ndarray, times: np.ndarray) -> bool:
    """Whether rows that are equal in every column occur beyond chance.

    The columns of a narrow table have few ways to depend on each other that a tree of pairs leaves out, so that less
    is needed where copies are many: tables of people with six columns or fewer reach 4 there.
    """
    rows = int(times.sum())
    narrow = len(codes) <= _NARROW and _QUARTER * (rows - len(times)) >= rows
    return beyond_chance(codes, weights, times, most=_TIMES_ALIKE if narrow else _TIMES)


def _many(times: np.ndarray) -> bool:
    """Whether there are enough copies to be examined."""
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
    return Copies(rows - len(times), rows=rows) if _far_too_many(codes, cells[ROWS].to_numpy(), times) else None


def alike_beyond_chance(codes: np.ndarray, times: np.ndarray) -> int:
    """Return the most rows that agree in every quasi-identifier, 0 if chance may explain that rows agree.

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


def shared_multiple(codes: np.ndarray, times: np.ndarray, least: int = 1) -> tuple[int, tuple[int, ...], bool] | None:
    """Return (m, columns, all): combinations of these columns occur a multiple of m times, all or nearly all of them.

    codes  the combinations that occur, a row each; times  how often each does. One column, and what follows from it,
    may be left out: a join tells the rows apart by what it joined. None if no m above `least` is found.
    """
    width = codes.shape[1]
    found = _multiple(times, max(2, least + 1))
    if found:
        return (*found[:1], tuple(range(width)), found[1])
    tried: set[tuple[int, ...]] = set()
    odd = (np.arange(1, width + 1, dtype=np.uint64) * _MIX) | np.uint64(1)
    hashes, every = (codes.astype(np.uint64) * odd).sum(axis=1, dtype=np.uint64), -(-len(codes) // _LOOKED_AT)
    for at in range(min(width, _COLUMNS)):
        follow = _following(codes, at)
        for gone in ({at}, {at, *follow}):
            kept = tuple(one for one in range(width) if one not in gone)
            if len(kept) < 2 or kept in tried:
                continue
            tried.add(kept)
            part = hashes - sum((codes[:, one].astype(np.uint64) * odd[one] for one in gone), np.uint64(0))
            some = (part * _MIX >> np.uint64(32)) % np.uint64(max(every, 1)) == 0  # combinations with all their rows
            columns = [codes[some, one] for one in kept]
            sizes = [int(column.max(initial=0)) + 1 for column in columns]
            _, again = group_codes(columns, sizes, rows=int(some.sum()), weights=times[some])
            found = _multiple(again, max(_CASES, least + 1))
            if found:
                return (found[0], kept, found[1])
    return None


def paired_share(times: np.ndarray) -> float:
    """Return the share of combinations that occur an even number of times, where it is far above chance; else 0.

    Of people who are drawn by themselves fewer than half of the combinations that occur do so an even number of times,
    whatever their number: of a Poisson number, P(even and not 0) < P(odd).
    """
    even = int((times % 2 == 0).sum())
    share = even / max(len(times), 1)
    return share if share >= _PAIRED and binom.sf(even - 1, len(times), 0.5) < _BY_CHANCE else 0.0


def _multiple(times: np.ndarray, least: int) -> tuple[int, bool] | None:
    """Return the largest m that nearly all numbers are multiples of, more often than by chance, and whether all are."""
    for m in (one for one in _MULTIPLES if one >= least):
        hits = int((times % m == 0).sum())
        if hits >= _NEARLY * len(times) and binom.sf(hits - 1, len(times), 1 / m) < _BY_CHANCE:
            return m, hits == len(times)
    return None


def _following(codes: np.ndarray, at: int) -> set[int]:
    """Return the columns that follow from one, judged on the first combinations, where its values repeat there."""
    some = codes[:_SAMPLE].astype(np.int64)
    values = len(np.unique(some[:, at]))
    if 2 * values > len(some):
        return set()
    others = [one for one in range(codes.shape[1]) if one != at]
    span = int(some.max(initial=0)) + 1
    return {one for one in others if len(np.unique(some[:, at] * span + some[:, one])) == values}


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
