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
          tests/claims/test_privacy_loss.py::test_wrong_mutants_are_caught
Silent on what a reader knows beside the release, on several releases together, and on learning across groups: it
          is not an upper bound on leakage. JS hides large changes of rare values; see `largest_ratio`. Rows that were
          left out have no group and are not counted. For a noisy release false information counts as loss;
          `bound` is what its claim proves, and the two do not compare.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from sfumato.claims import ApproxDP, Claim, ConcentratedDP, Neighbours, Number, ProbabilisticDP, PureDP
from sfumato.counts import Table
from sfumato.errors import NotComparable
from sfumato.estimate import View, align, measured_attributes
from sfumato.exact import choice, fraction, whole
from sfumato.measures.base import MeasureResult, json_number, largest_first, worst_of
from sfumato.measures.distances import js_rows, js_terms, kl_rows, row_shares
from sfumato.release import Release, ground_of
from sfumato.schema import Attribute

# The privacy loss that differential privacy allows at most, whatever the reader knew before.
#
# Source    derived here; for the measure, Li & Li, KDD 2009, section 4.1.
# Claim     If no two values of one person change the probability of any output by more than a factor e^epsilon
#           (replace-one), then JS(prior, posterior) about that person is at most ln 2 - h(1 / (1 + e^(epsilon / 2)))
#           nats, h the entropy of a coin, for every prior. The value is attained.
# Because   as one value's likelihood moves, the posterior moves on a straight line, and JS(prior, .) is convex there:
#           its largest value has likelihoods of two levels, 1 and e^epsilon. With prior mass a on the higher level the
#           posterior has a e^epsilon / (a e^epsilon + 1 - a) there; a = 1 / (1 + e^(epsilon / 2)) makes it 1 - a, two
#           coins that mirror each other. That no other a gives more is checked numerically, not proved.
#           Add-or-remove epsilon is replace-one 2 epsilon: taking a row out and putting another in are two steps.
# Checked   tests/claims/test_privacy_loss.py::test_bound_vectors
#           tests/claims/test_privacy_loss.py::test_no_posterior_exceeds_the_bound_and_one_attains_it
# Silent on approximate and probabilistic differential privacy (no bound is given), on correlations between people,
#           and on the measured loss: noise alone can make that larger. The two are never compared.


def dp_bound(epsilon: Number) -> float:
    """Return ln 2 - h(1 / (1 + e^(epsilon / 2))) for a replace-one epsilon, in nats."""
    exact = fraction("epsilon", epsilon, least=0, hint="try 1/2")
    tilt = math.tanh(float(min(exact, Fraction(1000))) / 4)
    # With t = tanh(epsilon / 4) the coins have (1 + t) / 2 and (1 - t) / 2: no cancellation for small epsilon.
    low = (1 - tilt) * math.log1p(-tilt) if tilt < 1 else 0.0
    return ((1 + tilt) * math.log1p(tilt) + low) / 2


def replace_one_epsilon(claim: Claim) -> Fraction | None:
    """Return the epsilon with which a claim protects what one person's rows say; None where it states no pure one."""
    if not isinstance(claim.promise, PureDP):
        return None
    twice = 2 if claim.neighbours is Neighbours.ADD_OR_REMOVE_ONE else 1
    return twice * claim.promise.epsilon


def proved_bound(claim: Claim) -> float | None:
    """Return the largest privacy loss a pure differential privacy claim allows; None for any other claim."""
    epsilon = replace_one_epsilon(claim)
    return None if epsilon is None else dp_bound(epsilon)


def membership_bound(claim: Claim) -> float:
    """Return the largest gap of hits and false alarms that a claim allows who guesses whether a person is in the table.

    (e^epsilon - 1 + 2 delta) / (e^epsilon + 1): of two probabilities whose ratio stays within e^epsilon, but for delta,
    both for an event and for its complement. 1, which says nothing, where the claim is not differential privacy, or
    where it does not protect who took part.
    """
    promise = claim.promise
    if not isinstance(promise, PureDP | ApproxDP | ConcentratedDP | ProbabilisticDP):
        return 1.0
    if claim.neighbours is not Neighbours.ADD_OR_REMOVE_ONE:
        return 1.0
    epsilon = float(min(promise.epsilon, Fraction(700)))
    delta = float(getattr(promise, "delta", 0))
    return min(1.0, math.tanh(epsilon / 2) + 2 * delta / (math.exp(epsilon) + 1))


# Distance of each group's distribution to the overall one: by JS, KL or earth mover's.
#
# Source    Li & Li, KDD 2009, section 4.1 (JS); Li, Li & Venkatasubramanian, ICDE 2007 (EMD).
# Claim     `distances` is, row by row, the formula that `DISTANCES` prints beside it.
# Because   the three are computed by the functions of measures/distances.py and of t-closeness' own ground distance.
# Checked   tests/claims/test_privacy_loss.py::test_equals_the_definition_record_by_record
#           tests/claims/test_privacy_loss.py::test_other_distances
# Silent on what a distance means for a person: two releases at the same distance may differ in whom they expose.

Distance = Literal["js", "kl", "emd"]


@dataclass(frozen=True, slots=True)
class DistanceKind:
    """Unit and formula of a distance."""

    unit: str
    _: KW_ONLY
    formula: str


DISTANCES: dict[Distance, DistanceKind] = {
    "js": DistanceKind("nats", formula="JS(Q, P(t)) = (KL(Q, M) + KL(P(t), M)) / 2, M = (Q + P(t)) / 2, natural log"),
    "kl": DistanceKind("nats", formula="KL(P(t), Q) = sum p ln(p / q), 0 ln 0 = 0, infinite where q = 0 < p"),
    "emd": DistanceKind("", formula="EMD(P(t), Q), ground distance of t-closeness, between 0 and 1"),
}


def distances(distance: Distance, counts: np.ndarray, overall: np.ndarray, attribute: Attribute) -> np.ndarray:
    """Return the distance of each row of counts (none empty) to the overall counts."""
    if distance == "js":
        return js_rows(row_shares(counts), row_shares(overall))
    if distance == "kl":
        return kl_rows(row_shares(counts), row_shares(overall))
    return _emd(counts, overall, attribute)


def _emd(counts: np.ndarray, overall: np.ndarray, attribute: Attribute) -> np.ndarray:
    """Work / (scale n N), in whole numbers up to the last division."""
    ground = ground_of(attribute)
    total, sizes = int(overall.sum()), counts.sum(axis=1)
    large = total * int(sizes.max(initial=0)) * 4 * len(overall) ** 2 >= 1 << 62
    whole = object if large else np.int64
    occurring = overall + counts.sum(axis=0)  # a noisy release may show values the table lacks
    moves = counts.astype(whole) * total - overall.astype(whole) * sizes.astype(whole)[:, None]
    work = ground.spread(moves, occurring)
    scale = ground.scale(occurring)
    return np.array([int(w) / (scale * int(n) * total) for w, n in zip(work, sizes, strict=True)], np.float64)


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
class PrivacyLoss(MeasureResult):
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

    def details(self) -> dict[str, Any]:
        """Return what goes along with the figure."""
        data = self.to_json()
        left_out = ("value", "unit", "formula", "confidential", "found_by")
        return {key: data[key] for key in data if key not in left_out}

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

    >>> table = sf.datasets.adult("test")
    >>> release = sf.publish(table, sf.Mondrian(sf.KAnonymity(50)))
    >>> 0 < sf.privacy_loss(table, release).value < sf.privacy_loss(table, sf.publish(table, sf.Raw())).value
    True
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
    worst = live[largest_first(losses[live])][:listed]
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
    top = [code for code in largest_first(parts)[:3].tolist() if parts[code] > 0]
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
