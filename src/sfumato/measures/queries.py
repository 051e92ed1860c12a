"""How wrong a reader's answers to COUNT queries are, and how many stay the same.

Source    Li & Li, KDD 2009, section 5.2 (relative error); the dLink paper, section 6.2 and figure 7 (unchanged answers,
          its way to choose epsilon).
Claim     error = 100 x mean over queries of |estimate - answer| / answer. Bounded: the divisor is at least `sanity` x
          rows. Unchanged: the share of queries whose estimate, rounded to the nearest whole number, is the answer.
          Of several workloads, each about one attribute, the worst, whose attribute is named.
Because   queries are drawn once, with answers of at least 1, and none is ever left out for a release.
Checked   tests/claims/test_workloads.py::test_error_equals_the_definition
          tests/claims/test_workloads.py::test_raw_answers_exactly
          tests/claims/test_workloads.py::test_wrong_twins_are_caught
Silent on which queries matter to anyone, and on answers of 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.claims import Number, plain
from sfumato.claims.exact import fraction
from sfumato.counts import Table
from sfumato.errors import NotComparable, ParameterError
from sfumato.measures.base import Measured, json_number, worst_of
from sfumato.measures.workload import Workload, answers, estimated
from sfumato.reading import align
from sfumato.release import Release

__all__ = ["QueryError", "UnchangedAnswers", "query_error", "unchanged_answers"]

SANITY = "0.001"


@dataclass(frozen=True)
class QueryError:
    """`value` is the mean relative error in percent, `median` its median, `bounded` the mean with a sanity bound.

    Of several workloads `attribute` is the one answered worst; `by_attribute` holds each.
    """

    value: float
    _: KW_ONLY
    median: float
    bounded: float
    sanity: str
    queries: int
    kind: str
    attribute: str
    per_query: np.ndarray = field(repr=False)
    unit: str = "percent"
    formula: str = "100 x mean over queries of |estimate - answer| / answer"
    confidential: bool = True
    by_attribute: Mapping[str, QueryError] = field(default_factory=dict, repr=False)

    def measured(self) -> Measured:
        """Return the figure with its unit and formula."""
        kept = {"median": self.median, "bounded": self.bounded, "sanity": self.sanity, **_named(self)}
        details = {**kept, "queries": self.queries, "kind": self.kind}
        return Measured(self.value, unit=self.unit, formula=self.formula, details=details)

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping."""
        return self.measured().to_json()


@dataclass(frozen=True, slots=True)
class UnchangedAnswers:
    """`value` is the share of queries that a reader answers, after rounding, exactly as the table does.

    Of several workloads `attribute` is the one answered worst; `by_attribute` holds each.
    """

    value: float
    _: KW_ONLY
    unchanged: int
    queries: int
    kind: str
    attribute: str
    unit: str = "share"
    formula: str = "share of queries with floor(estimate + 1/2) = answer"
    confidential: bool = True
    by_attribute: Mapping[str, UnchangedAnswers] = field(default_factory=dict, repr=False)

    def measured(self) -> Measured:
        """Return the figure with its unit and formula."""
        details = {"unchanged": self.unchanged, "queries": self.queries, "kind": self.kind, **_named(self)}
        return Measured(self.value, unit=self.unit, formula=self.formula, details=details)

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping."""
        return self.measured().to_json()


def query_error(
    table: Table, release: Release, work: Workload | Sequence[Workload], *, sanity: Number | None = None
) -> QueryError:
    """Return the mean relative error of a workload; `sanity` is a share of the rows (0.001 unless given).

    The workload must have been drawn on this table, or answer it without a zero. Of several workloads, each about one
    sensitive attribute, the worst is returned.
    """
    bound = fraction("sanity", SANITY if sanity is None else sanity, above=0, most=1, hint=f"try {SANITY}")
    return worst_of(
        {one.attribute: _error_of(table, release, one, bound) for one in _each(work)}, lambda one: one.value
    )


def _each(work: Workload | Sequence[Workload]) -> Sequence[Workload]:
    """The workloads, one for each attribute."""
    several = [work] if isinstance(work, Workload) else list(work)
    names = [one.attribute for one in several]
    if not names or len(set(names)) < len(names):
        raise ParameterError("work", f"{len(names)} workloads", "must be one workload, or one for each attribute")
    return several


def _named(found: QueryError | UnchangedAnswers) -> dict[str, Any]:
    values = {name: json_number(one.value) for name, one in found.by_attribute.items()}
    return {"attribute": found.attribute, "by_attribute": values}


def _error_of(table: Table, release: Release, work: Workload, bound: Fraction) -> QueryError:
    actual = answers(table, work)
    nothing = int((actual == 0).sum())
    if nothing:
        raise NotComparable(
            f"{nothing} of {len(work)} queries have the answer 0 on this table, so a relative error is not defined. "
            "Hint: draw the workload on this table."
        )
    off = np.abs(estimated(align(release, table.schema, work.attribute), work) - actual)
    relative = 100 * off / actual
    least = float(bound * table.rows)
    return QueryError(
        float(relative.mean()),
        median=float(np.median(relative)),
        bounded=float((100 * off / np.maximum(actual, least)).mean()),
        sanity=plain(bound),
        queries=len(work),
        kind=work.kind,
        attribute=work.attribute,
        per_query=relative,
    )


def unchanged_answers(table: Table, release: Release, work: Workload | Sequence[Workload]) -> UnchangedAnswers:
    """Return the share of queries whose rounded answer stays the same; of several workloads, the worst."""
    return worst_of({one.attribute: _unchanged_of(table, release, one) for one in _each(work)}, lambda one: -one.value)


def _unchanged_of(table: Table, release: Release, work: Workload) -> UnchangedAnswers:
    actual = answers(table, work)
    found = np.floor(estimated(align(release, table.schema, work.attribute), work) + 0.5).astype(np.int64)
    same = int((found == actual).sum())
    return UnchangedAnswers(
        same / len(work), unchanged=same, queries=len(work), kind=work.kind, attribute=work.attribute
    )
