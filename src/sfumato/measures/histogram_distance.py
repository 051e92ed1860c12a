"""How far the histograms of a release are from those of the table.

Source    the dLink paper, section 6.2 and figure 9 (histogram of the sensitive attribute: KL and city block);
          Kifer & Gehrke, SIGMOD 2006 (KL of the reconstructed distribution over all quasi-identifier values).
Claim     histogram: KL(P, R) and sum |p - r|, P the table's shares of the sensitive values, R the release's;
          `rows_apart` is the city block of the counts. reconstruction: KL(P, R) over combinations x of
          quasi-identifiers; R(x) = sum over boxes that hold x of weight / (cells of the box), over published rows.
          KL is in nats, 0 ln 0 = 0, and infinite where the release gives no weight to what the table has.
Because   under the uniform reading each cell of a box has the same share; combinations that do not occur add 0 to KL.
Checked   tests/unit/measures/test_distances.py::test_histogram_by_hand
          tests/unit/measures/test_distances.py::test_reconstruction_equals_the_definition
Silent on anything between attributes (histogram), and on the sensitive attribute (reconstruction).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from sfumato.counts import Table
from sfumato.errors import NotComparable
from sfumato.estimate import View, align, holding_boxes, measured_attributes
from sfumato.measures.base import Measured, json_number, worst_of
from sfumato.measures.divergence import kl_rows, row_shares
from sfumato.release import Release
from sfumato.schema import Attribute

__all__ = ["HistogramDistance", "ReconstructionDistance", "histogram_distance", "reconstruction_distance"]


@dataclass(frozen=True, slots=True)
class HistogramDistance:
    """`value` is KL(table, release) of the sensitive values; `city_block` of shares, `rows_apart` of counts.

    Of several sensitive attributes `attribute` is the one whose histogram is farthest; `by_attribute` holds each.
    """

    value: float
    _: KW_ONLY
    city_block: float
    rows_apart: int
    attribute: str
    unit: str = "nats"
    formula: str = "KL(P, R) = sum p ln(p / r): P the table's shares of the sensitive values, R the release's"
    confidential: bool = True
    by_attribute: Mapping[str, HistogramDistance] = field(default_factory=dict, repr=False)

    def measured(self) -> Measured:
        """Return the figure with its unit and formula."""
        details = {
            "attribute": self.attribute,
            "by_attribute": {name: json_number(one.value) for name, one in self.by_attribute.items()},
            "city_block": self.city_block,
            "rows_apart": self.rows_apart,
        }
        return Measured(self.value, unit=self.unit, formula=self.formula, details=details)

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping."""
        return self.measured().to_json()


@dataclass(frozen=True, slots=True)
class ReconstructionDistance:
    """`value` is KL(table, reconstructed); `uncovered` the share of rows at combinations that no box holds."""

    value: float
    _: KW_ONLY
    uncovered: float
    covered_value: float
    unit: str = "nats"
    formula: str = "KL(P, R) over combinations of quasi-identifiers, R spread uniformly over each box"
    confidential: bool = True

    def measured(self) -> Measured:
        """Return the figure with its unit and formula."""
        details = {"uncovered": self.uncovered, "covered_value": json_number(self.covered_value)}
        return Measured(self.value, unit=self.unit, formula=self.formula, details=details)

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping."""
        return self.measured().to_json()


def histogram_distance(table: Table, release: Release, *, attribute: str | None = None) -> HistogramDistance:
    """Compare the histogram of each sensitive attribute (or of the one named) in the table and in the release."""
    attributes = measured_attributes(table.schema, attribute, release=release)
    each = {wanted.name: _histogram_distance(table, release, wanted) for wanted in attributes}
    return worst_of(each, lambda one: (one.value, one.city_block))


def _histogram_distance(table: Table, release: Release, wanted: Attribute) -> HistogramDistance:
    original = table.counts([wanted.name]).histogram(wanted.name)
    published = align(release, table.schema, wanted.name).overall
    _not_empty(original, published)
    p, r = row_shares(original), row_shares(published)
    return HistogramDistance(
        float(kl_rows(p[None, :], r)[0]),
        city_block=float(np.abs(p - r).sum()),
        rows_apart=int(np.abs(original - published).sum()),
        attribute=wanted.name,
    )


def reconstruction_distance(table: Table, release: Release) -> ReconstructionDistance:
    """Compare the joint distribution of the quasi-identifiers with what a reader rebuilds from the boxes."""
    counts = table.counts([attribute.name for attribute in table.schema.quasi])
    any_carried = measured_attributes(table.schema, release=release)[0]  # only the boxes are read
    view = align(release, table.schema, any_carried.name)
    _not_empty(counts.weights, view.weight)
    p = counts.weights / counts.rows
    r = _rebuilt(view, counts.codes) / view.weight.sum()
    covered = r > 0
    value = float(kl_rows(p[None, :], r)[0])
    inside = p[covered] / p[covered].sum() if covered.any() else p[covered]
    return ReconstructionDistance(
        value,
        uncovered=float(p[~covered].sum()),
        covered_value=float(np.sum(inside * np.log(inside / r[covered]))) if covered.any() else float("inf"),
    )


def _rebuilt(view: View, codes: np.ndarray) -> np.ndarray:
    """Rows a reader expects at each combination."""
    rows = view.weight.astype(np.float64)
    for at, labels in enumerate(view.tables):
        rows = rows / labels.size[view.labels[:, at]]
    person, box = holding_boxes(view, codes)
    return np.bincount(person, weights=rows[box], minlength=len(codes))


def _not_empty(original: np.ndarray, published: np.ndarray) -> None:
    if not original.sum() or not published.sum():
        raise NotComparable("the table or the release has no rows.")
