"""P_loss: how far the worst person's sensitive value is given away, beyond what the overall distribution tells.

Source    Li & Li, KDD 2009, section 4.1; likelihood ratio and bound beside it: ours.
Claim     P_loss = max over records t of D(Q, P(t)): Q is the distribution of the sensitive attribute in the TABLE,
          P(t) that of the published group of t. Of several sensitive attributes the worst, which is named. D = JS in
          nats by default; kl is KL(P(t), Q), infinite only where a group shows a value that the table does not
          have; emd is the earth mover's distance of t-closeness.
Because   all records of a group have the same loss, so the maximum over records is the one over groups that hold
          records: by residence where the release knows it, else all groups with published rows.
Checked   tests/claims/test_privacy_loss.py::test_equals_the_definition_record_by_record
          tests/claims/test_privacy_loss.py::test_suppress_is_exactly_zero
          tests/claims/test_privacy_loss.py::test_wrong_twins_are_caught
Silent on what a reader knows beside the release, on several releases together, and on learning across groups: it
          is no upper bound on leakage. JS hides large changes of rare values; see `largest_ratio`. Rows that were
          left out have no group and are not counted. For a noisy release false information counts as loss;
          `bound` is what its claim proves, and the two do not compare.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Literal

import numpy as np

from sfumato.claims.exact import choice, whole
from sfumato.counts import Table
from sfumato.errors import NotComparable
from sfumato.measures.base import Measured, json_number, worst_of
from sfumato.measures.bound import proved_bound
from sfumato.measures.distance import DISTANCES, Distance, distances
from sfumato.measures.divergence import js_terms, row_shares
from sfumato.reading import View, align, measured_attributes
from sfumato.release import Release
from sfumato.schema import Attribute

__all__ = ["Driver", "PrivacyLoss", "Shift", "privacy_loss"]

_ENTRIES = 4_000_000  # of a groups x values matrix held at a time
_QUANTILES = (0.0, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0)


@dataclass(frozen=True, slots=True)
class Shift:
    """How a group changes the belief in one value."""

    value: str
    _: KW_ONLY
    here: float
    overall: float
    ratio: float
    js_part: float


@dataclass(frozen=True, slots=True)
class Driver:
    """One of the groups with the largest loss: its published labels, and the values that drive it."""

    group: int
    _: KW_ONLY
    loss: float
    records: int
    boxes: int
    labels: dict[str, str]
    values: tuple[Shift, ...]


@dataclass(frozen=True)
class PrivacyLoss:
    """`value` is the worst case. `bound` is proved by a differential privacy claim and is not a measurement.

    Of several sensitive attributes `attribute` is the one with the largest loss, and groups, quantiles and drivers are
    its own; `largest_ratio` and `smallest_ratio` are the extremes over all, and `by_attribute` holds each.
    """

    value: float
    _: KW_ONLY
    attribute: str
    distance: Distance
    per_group: np.ndarray = field(repr=False)
    records: np.ndarray = field(repr=False)
    largest_ratio: float
    smallest_ratio: float
    drivers: tuple[Driver, ...] = field(repr=False)
    bound: float | None
    found_by: Literal["residence", "published rows"]
    unit: str = "nats"
    formula: str = ""
    confidential: bool = True
    by_attribute: Mapping[str, PrivacyLoss] = field(default_factory=dict, repr=False)

    def quantile(self, share: float) -> float:
        """Return the smallest loss that at least this share of the records do not exceed."""
        some = self.records > 0
        order = np.argsort(self.per_group[some], kind="stable")
        upto = np.cumsum(self.records[some][order])
        place = np.searchsorted(upto, share * upto[-1], side="left") if len(upto) else 0
        return float(self.per_group[some][order][min(int(place), len(upto) - 1)]) if len(upto) else 0.0

    @property
    def mean(self) -> float:
        """The average over records. Not the privacy loss: one person's breach does not average out."""
        some = self.records > 0
        total = int(self.records[some].sum())
        return float(self.per_group[some] @ self.records[some] / total) if total else 0.0

    def measured(self) -> Measured:
        """Return the figure with its unit and formula."""
        data = self.to_json()
        left_out = ("value", "unit", "formula", "confidential", "found_by")
        details = {key: data[key] for key in data if key not in left_out}
        return Measured(self.value, unit=self.unit, formula=self.formula, details=details)

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping; the bound stands apart from the measured value."""
        return {
            "value": json_number(self.value),
            "unit": self.unit,
            "formula": self.formula,
            "confidential": self.confidential,
            "attribute": self.attribute,
            "by_attribute": {name: json_number(one.value) for name, one in self.by_attribute.items()},
            "largest_ratios": {name: json_number(one.largest_ratio) for name, one in self.by_attribute.items()},
            "distance": self.distance,
            "largest_ratio": json_number(self.largest_ratio),
            "smallest_ratio": json_number(self.smallest_ratio),
            "quantiles": {str(share): json_number(self.quantile(share)) for share in _QUANTILES},
            "mean": json_number(self.mean),
            "bound": self.bound,
            "found_by": self.found_by,
            "drivers": [_driver_json(driver) for driver in self.drivers],
        }


def privacy_loss(
    table: Table,
    release: Release,
    *,
    distance: Distance = "js",
    attribute: str | None = None,
    drivers: int = 5,
) -> PrivacyLoss:
    """Measure the worst-case privacy loss of a release; `drivers` says how many groups to list.

    Every sensitive attribute that the release carries is measured unless one is named.
    """
    choice("distance", distance, tuple(DISTANCES))
    listed = whole("drivers", drivers, least=0)
    attributes = measured_attributes(table.schema, attribute, release=release)
    each = {wanted.name: _loss_of(table, release, wanted, distance, listed) for wanted in attributes}
    worst = worst_of(each, lambda one: one.value)
    return replace(
        worst,
        largest_ratio=max(one.largest_ratio for one in each.values()),
        smallest_ratio=min(one.smallest_ratio for one in each.values()),
    )


def _loss_of(table: Table, release: Release, wanted: Attribute, distance: Distance, listed: int) -> PrivacyLoss:
    """The loss of one attribute."""
    view = align(release, table.schema, wanted.name)
    overall = table.counts([wanted.name]).histogram(wanted.name)
    if not overall.sum():
        raise NotComparable("the table has no rows, so there is no overall distribution.")
    records = _records(view, release)
    live = np.flatnonzero((records > 0) & (np.diff(view.histogram.indptr) > 0))
    losses, ratios = np.zeros(len(records)), [1.0]
    step = max(1, _ENTRIES // wanted.size)
    for part in (live[start : start + step] for start in range(0, len(live), step)):
        counts = np.asarray(view.histogram[part].toarray(), np.int64)
        losses[part] = distances(distance, counts, overall, wanted)
        ratios += _extremes(counts, overall)
    worst = live[np.lexsort((live, -losses[live]))][:listed]
    return PrivacyLoss(
        float(losses[live].max(initial=0.0)),
        attribute=wanted.name,
        distance=distance,
        per_group=losses,
        records=records,
        largest_ratio=max(ratios),
        smallest_ratio=min(ratios),
        drivers=tuple(_driver(view, release, group, overall, (losses, records)) for group in worst.tolist()),
        bound=proved_bound(release.claim),
        found_by="published rows" if release.residence is None else "residence",
        unit=DISTANCES[distance].unit,
        formula=f"max over records t of {DISTANCES[distance].formula}, Q over all rows of the table",
    )


def _records(view: View, release: Release) -> np.ndarray:
    """How many records each group holds."""
    if release.residence is None:
        return view.group_weight.astype(np.int64)
    found = np.bincount(release.residence.group, weights=release.residence.weight, minlength=len(view.group_weight))
    return found.astype(np.int64)


def _extremes(counts: np.ndarray, overall: np.ndarray) -> list[float]:
    """Smallest and largest p(s) / q(s) over groups and values that either has; infinite where the table has none."""
    either = (counts > 0) | (overall > 0)
    p, q = row_shares(counts), np.broadcast_to(row_shares(overall), counts.shape)
    ratio = np.divide(p, q, where=q > 0, out=np.full(p.shape, np.inf))
    return [float(ratio[either].min()), float(ratio[either].max())]


def _driver(
    view: View, release: Release, group: int, overall: np.ndarray, figures: tuple[np.ndarray, np.ndarray]
) -> Driver:
    losses, records = figures
    here, everywhere = row_shares(view.histogram[[group]].toarray())[0], row_shares(overall)
    parts = js_terms(here, everywhere)
    top = [code for code in np.argsort(-parts, kind="stable")[:3].tolist() if parts[code] > 0]
    boxes = np.flatnonzero(release.boxes.group == group)
    labels: dict[str, str] = {}
    if len(boxes) == 1:
        row = release.boxes.labels[boxes[0]].tolist()
        labels = {t.attribute.name: t.name(at) for t, at in zip(release.boxes.tables, row, strict=True)}
    shifts = tuple(
        Shift(
            view.attribute.text(code),
            here=float(here[code]),
            overall=float(everywhere[code]),
            ratio=float(here[code] / everywhere[code]) if everywhere[code] else float("inf"),
            js_part=float(parts[code]),
        )
        for code in top
    )
    return Driver(
        group, loss=float(losses[group]), records=int(records[group]), boxes=len(boxes), labels=labels, values=shifts
    )


def _driver_json(driver: Driver) -> dict[str, Any]:
    return {
        "group": driver.group,
        "loss": json_number(driver.loss),
        "records": driver.records,
        "boxes": driver.boxes,
        "labels": driver.labels,
        "values": [
            {
                "value": shift.value,
                "here": shift.here,
                "overall": shift.overall,
                "ratio": json_number(shift.ratio),
                "js_part": shift.js_part,
            }
            for shift in driver.values
        ],
    }
