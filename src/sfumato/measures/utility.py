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
          tests/claims/test_utility_loss.py::test_wrong_mutants_are_caught
Silent on populations over many attributes where there are too many (`deepest` and the formula say so), on small
          populations, on single people, and on populations the public trees do not name: other trees give
          other numbers, so releases are compared on the same trees and the same `min_support`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from sfumato.claims import Number, plain
from sfumato.counts import Table
from sfumato.errors import Infeasible, ParameterError, count_of
from sfumato.estimate import (
    Step,
    View,
    align,
    estimates,
    fit_maxent,
    measured_attribute,
    measured_attributes,
    normalised,
    units_of,
)
from sfumato.exact import choice, fraction, whole
from sfumato.limits import POPULATION_TABLES, POPULATIONS, POPULATIONS_OF_ONE
from sfumato.measures.base import MeasureResult, largest_first, remembered, worst_of
from sfumato.measures.distances import js_rows, row_shares
from sfumato.release import Release
from sfumato.schema import Attribute

# Large populations: every conjunction of nodes of the public trees that enough rows satisfy.
#
# Source    Li & Li, KDD 2009, section 4.2 (they use FP-growth on rows extended by ancestors).
# Claim     Finds exactly the conjunctions of at least one and at most `deepest` nodes, at most one for each
#           quasi-identifier, root excluded, with support >= min_support |D| (an exact fraction), each with the true
#           counts of the carried attribute. A chain of single children counts once; a missing value is a node of its
#           own. `deepest` is the number of quasi-identifiers, unless that gives more than `POPULATIONS` of them or
#           finding them takes more than `POPULATION_TABLES` tables of one attribute: then the most attributes for which
#           it does not, at least 1 (sfumato.limits).
# Because   support never grows when a node is added, so going depth-first over the attributes and stopping below the
#           threshold loses nothing. One bincount over (code, value) and its running sums give all nodes of an
#           attribute. A node together with its ancestor would be the same population twice: one node for each
#           attribute. Levels are searched whole, so that the bound never depends on the order of attributes: d is one,
#           then two, ...
# Checked   tests/claims/test_utility_loss.py::test_populations_equal_brute_force
#           tests/claims/test_utility_loss.py::test_min_support_is_exact
#           tests/claims/test_utility_loss.py::test_bounded_populations_are_whole_levels
# Silent on populations the public trees do not name.
# Cost      one pass over the rows of each population for each attribute after its last; Adult, 5 %: 1,800
#           populations.

_DENSE = 1000  # codes of a carried attribute up to which `truth` has a column for each


@dataclass(frozen=True)
class Populations:
    """`members[i, j]` is the node of quasi-identifier j in population i, -1 for none; `truth` its counts by value.

    `values` are the codes that the columns of `truth` count: all, or of a wide domain those that occur.
    `deepest` is how many attributes a population names at most; None where the search needed no bound.
    """

    quasi: tuple[Attribute, ...]
    _: KW_ONLY
    attribute: Attribute
    min_support: Fraction
    rows: int
    steps: tuple[Step, ...] = field(repr=False)
    members: np.ndarray = field(repr=False)
    truth: np.ndarray = field(repr=False)
    values: np.ndarray = field(repr=False)
    deepest: int | None = None

    def __len__(self) -> int:
        return len(self.members)

    @property
    def support(self) -> np.ndarray:
        """Rows of each population."""
        return np.asarray(self.truth.sum(axis=1))

    def where(self, population: int) -> dict[str, str]:
        """Return the names of a population's nodes by attribute."""
        chosen = zip(self.quasi, self.members[population].tolist(), strict=True)
        return {attribute.name: attribute.nodes.names[node] for attribute, node in chosen if node >= 0}

    def trees(self) -> dict[str, dict[str, int | str]]:
        """Say which tree was used for each attribute and how many of its nodes can be part of a population."""
        return {
            attribute.name: {
                "tree": "declared" if attribute.declared_tree else "built from the domain",
                "nodes": len(_eligible(attribute)),
                "levels": attribute.nodes.height,
            }
            for attribute in self.quasi
        }


def smallest_support(min_support: Number, rows: int) -> int:
    """Return the least whole number of rows that is at least min_support x rows, and at least 1."""
    share = fraction("min_support", min_support, above=0, most=1, hint="try 0.05")
    return max(1, -(-share.numerator * rows // share.denominator))


def large_populations(table: Table, min_support: Number = 0.05, attribute: str | None = None) -> Populations:
    """Find all large populations of a table; asked again for the same table, they are not searched again."""
    wanted = measured_attribute(table.schema, attribute)
    quasi = table.schema.quasi
    if not quasi:
        raise ParameterError(
            "table", table.schema.name, "has no quasi-identifier", hint="table.with_roles(quasi=[...])"
        )
    counts = table.counts([*(known.name for known in quasi), wanted.name])
    share = fraction("min_support", min_support, above=0, most=1, hint="try 0.05")
    return remembered(
        counts,
        ("populations", share),
        lambda: _Search(quasi, wanted, counts.codes, counts.weights, share).populations(),
    )


def _eligible(attribute: Attribute) -> np.ndarray:
    """Nodes that may be part of a population: no root, and of a chain of single children the first."""
    nodes = np.flatnonzero(attribute.nodes.distinct)
    return nodes[nodes > 0]


class _TooManyError(Exception):
    """The search was given up: more populations, or more work, than is allowed."""


class _Search:
    """Depth-first over attributes. The one with most nodes comes last, where a whole tree is one lookup."""

    def __init__(
        self, quasi: Sequence[Attribute], wanted: Attribute, codes: np.ndarray, weights: np.ndarray, share: Fraction
    ) -> None:
        self.quasi, self.wanted, self.share = tuple(quasi), wanted, share
        self.weights = weights.astype(np.float64)  # bincount adds floats: exact below 2^53 rows
        self.rows = int(self.weights.sum())
        self.least = smallest_support(share, self.rows)
        every = [_eligible(attribute) for attribute in quasi]
        self.order = sorted(range(len(quasi)), key=lambda at: (len(every[at]), at))
        self.codes = np.arange(wanted.size) if wanted.size <= _DENSE else np.unique(codes[:, -1])
        self.value = np.searchsorted(self.codes, codes[:, -1]).astype(np.int64)
        self.nodes, self.columns, self.low, self.high, self.sizes = [], [], [], [], []
        for attribute, nodes, column in zip(quasi, every, codes[:, :-1].T, strict=True):
            # Codes that occur, renumbered: running sums then cost what occurs, not what the domain allows.
            occurring, place = np.unique(column, return_inverse=True)
            place = place.reshape(-1).astype(np.int64)
            low = np.searchsorted(occurring, attribute.nodes.low[nodes])
            high = np.searchsorted(occurring, attribute.nodes.high[nodes])
            sums = np.concatenate([[0.0], np.cumsum(np.bincount(place, self.weights, minlength=len(occurring)))])
            large = sums[high] - sums[low] >= self.least  # no other node is ever part of a large population
            self.nodes.append(nodes[large])
            self.columns.append(place)
            self.sizes.append(len(occurring))
            self.low.append(low[large])
            self.high.append(high[large])
        self.order = [at for at in self.order if len(self.nodes[at])]

    def populations(self) -> Populations:
        """Search without a bound; where that is too much, attribute by attribute until it is."""
        if sum(len(nodes) for nodes in self.nodes) > POPULATIONS_OF_ONE:
            rule = f"gives more than {POPULATIONS_OF_ONE:,} populations"
            raise ParameterError("min_support", "as given", rule, hint="ask for a larger share")
        try:
            return self._found(None)
        except _TooManyError:
            found = self._found(1, bounded=False)
        for deepest in range(2, len(self.order) + 1):
            try:
                found = self._found(deepest)
            except _TooManyError:
                break
        return found

    def _found(self, deepest: int | None, *, bounded: bool = True) -> Populations:
        self.members: list[np.ndarray] = []
        self.truth: list[np.ndarray] = []
        self.found, self.tables = 0, 0
        self.deepest = len(self.order) if deepest is None else deepest
        self.bounded = bounded
        prefix = np.full(len(self.quasi), -1, np.int32)
        steps = self._below(np.arange(len(self.value)), 0, prefix, 1) if self.rows else ()
        return Populations(
            self.quasi,
            attribute=self.wanted,
            min_support=self.share,
            rows=self.rows,
            steps=steps,
            members=np.concatenate(self.members) if self.members else np.zeros((0, len(self.quasi)), np.int32),
            truth=np.concatenate(self.truth) if self.truth else np.zeros((0, len(self.codes)), np.int64),
            values=self.codes,
            deepest=deepest,
        )

    def _below(self, at: np.ndarray, start: int, prefix: np.ndarray, depth: int) -> tuple[Step, ...]:
        """Every way to go on from a prefix: `at` are its distinct rows, `start` the first attribute still free."""
        steps = []
        for place in range(start, len(self.order)):
            attribute = self.order[place]
            truth = self._node_counts(at, attribute)
            large = np.flatnonzero(truth.sum(axis=1) >= self.least)
            if not len(large):
                continue
            first = self._record(prefix, attribute, large, truth)
            below: list[tuple[Step, ...]] = []
            for node in large.tolist():
                if place + 1 == len(self.order) or depth == self.deepest:
                    below.append(())
                    continue
                codes = self.columns[attribute][at]
                inside = at[(codes >= self.low[attribute][node]) & (codes < self.high[attribute][node])]
                longer = prefix.copy()
                longer[attribute] = self.nodes[attribute][node]
                below.append(self._below(inside, place + 1, longer, depth + 1))
            steps.append(Step(attribute, nodes=self.nodes[attribute][large], first=first, below=tuple(below)))
        return tuple(steps)

    def _node_counts(self, at: np.ndarray, attribute: int) -> np.ndarray:
        """Counts of the carried attribute in every node: nodes x values."""
        self.tables += 1
        if self.bounded and self.tables > POPULATION_TABLES:
            raise _TooManyError
        values, size = len(self.codes), self.sizes[attribute]
        key = self.columns[attribute][at] * values + self.value[at]
        table = np.bincount(key, weights=self.weights[at], minlength=size * values).reshape(size, values)
        sums = np.zeros((size + 1, values))
        np.cumsum(table, axis=0, out=sums[1:])
        return np.asarray(sums[self.high[attribute]] - sums[self.low[attribute]])

    def _record(self, prefix: np.ndarray, attribute: int, large: np.ndarray, truth: np.ndarray) -> int:
        first = self.found
        self.found += len(large)
        if self.bounded and self.found > POPULATIONS:
            raise _TooManyError
        members = np.repeat(prefix[None, :], len(large), axis=0)
        members[:, attribute] = self.nodes[attribute][large]
        self.members.append(members)
        self.truth.append(truth[large].astype(np.int64))
        return first


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
class UtilityLoss(MeasureResult):
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

    def details(self) -> dict[str, Any]:
        """Return what goes along with the figure."""
        data = self.to_json()
        kept = ("attribute", "by_attribute", "populations", "deepest", "min_support", "estimator", "trees", "worst")
        return {key: data[key] for key in kept if key in data}

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

    >>> table = sf.datasets.adult("test")
    >>> sf.utility_loss(table, sf.publish(table, sf.Raw())).value
    0.0
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
    order = largest_first(losses)[:listed].tolist()
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


def unbounded(formula: str) -> str:
    """Return a formula without the bound on attributes, which depends on the table; any other formula as it is.

    >>> from sfumato.measures.utility import unbounded
    >>> unbounded("mean over rows")
    'mean over rows'
    """
    return _FORMULA if formula.startswith(f"{_FORMULA}; ") else formula


def _estimated(view: View, found: Populations, estimator: Estimator) -> np.ndarray:
    cells = units_of(view, found.steps) if estimator == "uniform" else fit_maxent(view, found.steps).cells
    return estimates(cells, found.steps, len(found))
