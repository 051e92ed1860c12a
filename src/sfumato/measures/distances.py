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

from sfumato.arrays import Floats
from sfumato.counts import Table
from sfumato.errors import NotComparable, ParameterError
from sfumato.estimate import View, align, holding_boxes, measured_attributes
from sfumato.measures.base import MeasureResult, json_number, worst_of
from sfumato.release import Release
from sfumato.schema import Attribute


@dataclass(frozen=True, slots=True)
class HistogramDistance(MeasureResult):
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

    def details(self) -> dict[str, Any]:
        """Return what goes along with the figure."""
        return {
            "attribute": self.attribute,
            "by_attribute": {name: json_number(one.value) for name, one in self.by_attribute.items()},
            "city_block": self.city_block,
            "rows_apart": self.rows_apart,
        }


@dataclass(frozen=True, slots=True)
class ReconstructionDistance(MeasureResult):
    """`value` is KL(table, reconstructed); `uncovered` the share of rows at combinations that no box holds."""

    value: float
    _: KW_ONLY
    uncovered: float
    covered_value: float
    unit: str = "nats"
    formula: str = "KL(P, R) over combinations of quasi-identifiers, R spread uniformly over each box"
    confidential: bool = True

    def details(self) -> dict[str, Any]:
        """Return what goes along with the figure."""
        return {"uncovered": self.uncovered, "covered_value": json_number(self.covered_value)}


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


# Divergences of distributions: Jensen-Shannon, Kullback-Leibler, city block. Small, pure, checkable by hand.
#
# Source    Li & Li, KDD 2009, section 4.1 (JS); Kullback & Leibler, Ann. Math. Stat. 22(1), 1951 (KL).
# Claim     JS(P, Q) = (KL(P, M) + KL(Q, M)) / 2 with M = (P + Q) / 2, natural logarithm, 0 ln 0 = 0: at most ln 2, the
#           divergence and not its square root. KL(P, Q) = sum p ln(p / q), infinite where q = 0 < p.
#           City block = sum |p - q|. Counts are divided by their sum first; P = Q gives exactly 0.
# Because   with m = (p + q) / 2 and d = (p - q) / (p + q) a value adds m [(1 + d) ln(1 + d) + (1 - d) ln(1 - d)] / 2,
#           never below 0. Equal ratios of whole numbers below 2^53 divide to equal floats, so d is exactly 0.
# Checked   tests/unit/measures/test_divergences.py::test_vectors_of_the_paper
#           tests/unit/measures/test_divergences.py::test_equals_the_definition
#           tests/unit/measures/test_divergences.py::test_wrong_mutants_are_caught
# Silent on rare values: a share that rises from 0.0003 to 0.03 costs little. See the likelihood ratio beside it.


def js_divergence(p: Any, q: Any) -> float:
    """Return JS(P, Q) in nats (not its square root); counts or shares."""
    first, second = _pair(p, q)
    return float(js_terms(first, second).sum())


def kl_divergence(p: Any, q: Any) -> float:
    """Return KL(P, Q) = sum p ln(p / q) in nats; infinite where q = 0 < p, and 0 ln 0 = 0."""
    first, second = _pair(p, q)
    return float(kl_rows(first[None, :], second)[0])


def city_block(p: Any, q: Any) -> float:
    """Return the sum of |p - q|: between 0 and 2, twice the largest difference of any event."""
    first, second = _pair(p, q)
    return float(np.abs(first - second).sum())


def js_terms(p: Floats, q: Floats) -> Floats:
    """Return what each value adds to JS(P, Q); arrays of shares that broadcast. No term is below 0."""
    total = p + q
    difference = np.divide(p - q, total, where=total > 0, out=np.zeros(np.broadcast_shapes(p.shape, q.shape)))
    up, down = 1 + difference, 1 - difference
    found = up * np.log1p(np.maximum(difference, -1), where=up > 0, out=np.zeros_like(up))
    found += down * np.log1p(-np.minimum(difference, 1), where=down > 0, out=np.zeros_like(down))
    return np.asarray(np.maximum(total * found / 4, 0.0))


def js_rows(p: Floats, q: Floats) -> Floats:
    """Return JS of each row of P to Q (one distribution, or one for each row)."""
    return np.asarray(js_terms(p, q).sum(axis=-1))


def kl_rows(p: Floats, q: Floats) -> Floats:
    """Return KL(P, Q) of each row of P to Q (one distribution, or one for each row)."""
    q = np.broadcast_to(q, p.shape)
    ratio = np.divide(p, q, where=(p > 0) & (q > 0), out=np.ones_like(p))
    found = np.maximum((p * np.log(ratio)).sum(axis=-1), 0.0)
    return np.asarray(np.where(((p > 0) & (q == 0)).any(axis=-1), np.inf, found))


def row_shares(counts: Any) -> Floats:
    """Divide each row by its sum; a row of zeros stays zero."""
    counts = np.asarray(counts)
    totals = counts.sum(axis=-1, keepdims=True)
    return np.asarray(np.divide(counts, totals, where=totals > 0, out=np.zeros(counts.shape)))


def _pair(p: Any, q: Any) -> tuple[Floats, Floats]:
    found = []
    for name, given in (("p", p), ("q", q)):
        values = np.asarray(given)
        if values.ndim != 1 or values.dtype.kind not in "iufb":
            raise ParameterError(name, "something else", "must be a list of numbers")
        if not np.isfinite(values).all() or (values < 0).any() or not values.sum() > 0:
            raise ParameterError(name, f"{len(values)} numbers", "must be finite, 0 or above, and not all 0")
        found.append(row_shares(values))
    if len(found[0]) != len(found[1]):
        raise ParameterError("q", f"{len(found[1])} numbers", f"must have as many numbers as p: {len(found[0])}")
    return found[0], found[1]
