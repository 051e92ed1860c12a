"""How far the tables that matter to a reader are from the truth, for any kind of release: partition, noise or rows.

Source    the workload error of McKenna, Mullins, Sheldon & Miklau, AIM, VLDB 2022, section 2: mean total variation of
          declared marginals.
Claim     error = mean over the tables of the workload of 1/2 sum over cells |share in the table - share a reader
          expects|, in 0 .. 1. Cells are those of the columns' public bins. A COUNT query is a table of two cells.
Because   both tables are counted over the same bins (`estimate.tables`) and divided by their own sums; a release
          without rows is wrong by 1. Which tables are asked for depends on the declaration and the schema alone.
Checked   tests/claims/test_workload_error.py::test_error_equals_the_definition
          tests/claims/test_workload_error.py::test_wrong_mutants_are_caught
          tests/claims/test_workload_error.py::test_both_ends
Silent on differences inside a bin, on how far the number of rows is off, and on whether the declared tables matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from sfumato.counts import Table
from sfumato.estimate import ExactTables, align, exact_tables, read_tables
from sfumato.measures.base import MeasureResult, remembered
from sfumato.measures.queries import Workload, answers, estimated
from sfumato.release import Release
from sfumato.schema.workload import read_workload, workload_sets

MOST_TABLES = 300  # that are compared; of a longer workload 300, evenly spaced


@dataclass(frozen=True, slots=True)
class WorkloadError(MeasureResult):
    """`value` is the mean total variation; `worst` the columns of the table that is furthest off, by `largest`."""

    value: float
    _: KW_ONLY
    worst: tuple[str, ...]
    largest: float
    tables: int
    of: int
    unit: str = "share"
    formula: str = "mean over tables of 1/2 sum over cells |share in the table - share a reader expects|"
    confidential: bool = True

    def details(self) -> dict[str, Any]:
        """Return what goes along with the figure."""
        return {"worst": list(self.worst), "largest": self.largest, "tables": self.tables, "of": self.of}


def workload_error(
    table: Table, release: Release, workload: Sequence[Sequence[str]] | Workload | int | str | None = None
) -> WorkloadError:
    """Return the mean total variation between the table and what a reader expects, over a declared workload.

    workload   a number k (all sets of k published attributes; 3 unless given, or as many as there are), one attribute
               (its pairs with all others), sets of attributes, or COUNT queries drawn by `sf.workload`

    >>> table = sf.datasets.adult("test")
    >>> release = sf.publish(table, sf.Mondrian(sf.KAnonymity(50)))
    >>> pairs = sf.workload_error(table, release, 2)
    >>> pairs.tables, 0 < pairs.value < 1
    (28, True)
    """
    if isinstance(workload, Workload):
        return _of_queries(table, release, workload)
    names = [attribute.name for attribute in table.schema.published]
    sets = workload_sets(read_workload(workload), table.schema)
    chosen = [sets[at * len(sets) // MOST_TABLES] for at in range(MOST_TABLES)] if len(sets) > MOST_TABLES else sets
    exact: ExactTables = remembered(table.counts(), "exact tables", lambda: exact_tables(table))
    read = read_tables(release, table.schema)
    asked = [tuple(names[at] for at in one) for one in chosen]
    return _mean([(one, total_variation(exact.counts(*one), read.counts(*one))) for one in asked], len(sets))


def total_variation(truth: np.ndarray, found: np.ndarray) -> float:
    """Return half the sum of the differences of shares; 1 where there is nothing on one side alone.

    >>> total_variation(np.array([3.0, 1.0]), np.array([1.0, 1.0]))
    0.25
    """
    whole, rows = float(truth.sum()), float(found.sum())
    if whole <= 0 or rows <= 0:
        return float((whole > 0) != (rows > 0))
    return min(1.0, float(np.abs(truth / whole - found / rows).sum()) / 2)


def _of_queries(table: Table, release: Release, work: Workload) -> WorkloadError:
    """Each query is a table of two cells: the rows it counts, and the others."""
    view = align(release, table.schema, work.attribute)
    whole = float(view.overall.sum())
    actual, found = answers(table, work).astype(np.float64), estimated(view, work)
    pairs = zip(actual.tolist(), found.tolist(), strict=True)
    tables = [(np.array([a, table.rows - a]), np.array([f, max(whole - f, 0.0)])) for a, f in pairs]
    names = (*(known.name for known in table.schema.quasi), work.attribute)
    return _mean([(names, total_variation(*pair)) for pair in tables], len(tables))


def _mean(found: Sequence[tuple[tuple[str, ...], float]], of: int) -> WorkloadError:
    worst, largest = max(found, key=lambda one: one[1])
    mean = sum(error for _, error in found) / len(found)
    return WorkloadError(mean, worst=worst, largest=largest, tables=len(found), of=of)
