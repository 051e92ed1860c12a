"""U_loss: how wrong a reader is, on average, about the sensitive values of large populations.

Source    Li & Li, KDD 2009, section 4.2; the other estimator is their section 6.
Claim     U_loss = mean over large populations y of JS(P_y, Pbar_y), nats: P_y the true distribution of the sensitive
          attribute in y, Pbar_y the one a reader estimates from the release. The original itself has exactly 0. Of
          several sensitive attributes the worst, which is named.
Because   every population counts once; the estimate is divided by its own sum; a population of which the release says
          nothing is estimated by the published overall distribution.
Checked   tests/claims/test_utility_loss.py::test_equals_brute_force_in_fractions
          tests/claims/test_utility_loss.py::test_raw_is_exactly_zero
          tests/claims/test_utility_loss.py::test_adult_as_in_the_paper
          tests/claims/test_utility_loss.py::test_wrong_twins_are_caught
Silent on populations over many attributes where there are too many (`deepest` and the formula say so), on small
          populations, on single people, and on populations the public trees do not name: other trees give
          other numbers, so releases are compared on the same trees and the same `min_support`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Literal

import numpy as np

from sfumato.claims import Number, plain
from sfumato.claims.exact import choice, whole
from sfumato.counts import Table
from sfumato.errors import Infeasible, count_of
from sfumato.limits import POPULATIONS
from sfumato.measures.base import Measured, worst_of
from sfumato.measures.divergence import js_rows, row_shares
from sfumato.measures.populations import Populations, large_populations
from sfumato.reading import View, align, estimates, fit_maxent, measured_attributes, normalised, units_of
from sfumato.release import Release

__all__ = ["Estimator", "PopulationLoss", "UtilityLoss", "utility_loss"]

Estimator = Literal["uniform", "maxent"]
_FORMULA = "mean over large populations y of JS(P_y, estimate of P_y), natural log"


@dataclass(frozen=True, slots=True)
class PopulationLoss:
    """One population and how wrong the release is about it."""

    where: dict[str, str]
    _: KW_ONLY
    rows: int
    loss: float


@dataclass(frozen=True)
class UtilityLoss:
    """`value` is the mean over `populations` populations; `worst` lists those read worst, `trees` what named them.

    Of several sensitive attributes `attribute` is the one read worst; `by_attribute` holds each.
    `deepest` is how many attributes a population names at most, None where none was left out for their number.
    """

    value: float
    _: KW_ONLY
    attribute: str
    populations: int
    worst: tuple[PopulationLoss, ...] = field(repr=False)
    trees: dict[str, dict[str, int | str]] = field(repr=False)
    per_population: np.ndarray = field(repr=False)
    min_support: str
    estimator: Estimator
    deepest: int | None = None
    unit: str = "nats"
    formula: str = _FORMULA
    confidential: bool = True
    by_attribute: Mapping[str, UtilityLoss] = field(default_factory=dict, repr=False)

    def measured(self) -> Measured:
        """Return the figure with its unit and formula."""
        data = self.to_json()
        kept = ("attribute", "by_attribute", "populations", "deepest", "min_support", "estimator", "trees", "worst")
        details = {key: data[key] for key in kept if key in data}
        return Measured(self.value, unit=self.unit, formula=self.formula, details=details)

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping."""
        return {
            "value": self.value,
            "unit": self.unit,
            "formula": self.formula,
            "confidential": self.confidential,
            "attribute": self.attribute,
            "by_attribute": {name: one.value for name, one in self.by_attribute.items()},
            "populations": self.populations,
            **({} if self.deepest is None else {"deepest": self.deepest}),
            "min_support": self.min_support,
            "estimator": self.estimator,
            "trees": self.trees,
            "worst": [{"where": one.where, "rows": one.rows, "loss": one.loss} for one in self.worst],
        }


def utility_loss(
    table: Table,
    release: Release,
    *,
    min_support: Number = 0.05,
    estimator: Estimator = "uniform",
    attribute: str | None = None,
    worst: int = 10,
) -> UtilityLoss:
    """Measure the mean information loss about large populations; `worst` says how many to list.

    Every sensitive attribute that the release carries is measured unless one is named.
    """
    choice("estimator", estimator, ("uniform", "maxent"))
    listed = whole("worst", worst, least=0)
    attributes = measured_attributes(table.schema, attribute, release=release)
    each = {
        wanted.name: _loss_of(table, release, large_populations(table, min_support, wanted.name), estimator, listed)
        for wanted in attributes
    }
    return worst_of(each, lambda one: one.value)


def _loss_of(table: Table, release: Release, found: Populations, estimator: Estimator, listed: int) -> UtilityLoss:
    """The loss about one attribute."""
    if not len(found):
        why = "no conjunction of nodes of the public trees has that many rows"
        raise Infeasible(f"min_support {plain(found.min_support)}", "none", why, hint="ask for a smaller share")
    view = align(release, table.schema, found.attribute.name)
    view, truth = _on_the_same_values(view, found)
    losses = js_rows(row_shares(truth), normalised(_estimated(view, found, estimator), view.overall))
    order = np.argsort(-losses, kind="stable")[:listed].tolist()
    support = found.support
    return UtilityLoss(
        float(losses.mean()),
        attribute=found.attribute.name,
        populations=len(found),
        worst=tuple(PopulationLoss(found.where(at), rows=int(support[at]), loss=float(losses[at])) for at in order),
        trees=found.trees(),
        per_population=losses,
        min_support=plain(found.min_support),
        estimator=estimator,
        deepest=found.deepest,
        formula=_FORMULA if found.deepest is None else f"{_FORMULA}; {_bounded(found.deepest)}",
    )


def _bounded(deepest: int) -> str:
    return f"populations over at most {count_of(deepest, 'attribute')}, for there are more than {POPULATIONS:,} in all"


def _on_the_same_values(view: View, found: Populations) -> tuple[View, np.ndarray]:
    """Return the release and the true counts on the values that occur in either, where the domain is wide."""
    if len(found.values) == view.values:
        return view, found.truth
    codes = np.union1d(found.values, view.histogram.indices)
    truth = np.zeros((len(found), len(codes)), np.int64)
    truth[:, np.searchsorted(codes, found.values)] = found.truth
    return replace(view, histogram=view.histogram[:, codes]), truth


def _estimated(view: View, found: Populations, estimator: Estimator) -> np.ndarray:
    cells = units_of(view, found.steps) if estimator == "uniform" else fit_maxent(view, found.steps).cells
    return estimates(cells, found.steps, len(found))
