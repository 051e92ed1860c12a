"""Estimates of a whole tree of regions at once: each step constrains one more attribute.

Source    Ours; the estimator is that of `reading/estimate.py`.
Claim     `estimates` gives every population of the tree the estimate that `estimate` gives its region.
Because   boxes carry the product of their coverages down the tree; the next attribute's table of (label, value)
          sums, times the coverage of each node by each label, gives all nodes of that attribute in one product.
Checked   tests/claims/test_estimator.py::test_the_walk_equals_the_definition
Silent on anything the estimator is silent on.
Cost      one bincount over the active cells for each population that has populations below it and each attribute.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sfumato.reading.alignment import View

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["Buckets", "Cells", "Cover", "Step", "cells_of", "coverages", "estimates", "units_of"]


@dataclass(frozen=True, slots=True)
class Step:
    """One more attribute: population `first + i` is the prefix with node `nodes[i]`; `below[i]` goes on from there."""

    attribute: int
    _: KW_ONLY
    nodes: np.ndarray
    first: int
    below: tuple[tuple[Step, ...], ...]


@dataclass(frozen=True, slots=True)
class Cover:
    """How much of each label some nodes of a tree hold: `share` is labels x nodes, the nodes in rising order.

    Where it depends on the carried value it is labels x values x nodes.
    """

    share: np.ndarray
    _: KW_ONLY
    nodes: np.ndarray

    @property
    def labels(self) -> int:
        """How many labels there are."""
        return int(self.share.shape[0])

    def columns(self, nodes: np.ndarray | int) -> np.ndarray:
        """Return the place of each node in `share`."""
        return np.searchsorted(self.nodes, nodes)


@dataclass(frozen=True)
class Cells:
    """Rows expected in each (box, carried value), and how much of a label each node covers."""

    labels: np.ndarray
    _: KW_ONLY
    value: np.ndarray
    mass: np.ndarray
    values: int
    coverage: tuple[Cover, ...]

    @cached_property
    def keys(self) -> tuple[np.ndarray, ...]:
        """The place of each cell in a labels x values table, for each attribute."""
        return tuple(column.astype(np.int64) * self.values + self.value for column in self.labels.T)

    def table(self, at: np.ndarray, mass: np.ndarray, attribute: int) -> np.ndarray:
        """Sum the mass of some cells by (label, value) of an attribute."""
        labels = self.coverage[attribute].labels
        sums = np.bincount(self.keys[attribute][at], weights=mass, minlength=labels * self.values)
        return sums.reshape(labels, self.values)

    def nodes(self, table: np.ndarray, attribute: int, nodes: np.ndarray) -> np.ndarray:
        """Return nodes x values: what each node holds of a table of sums."""
        known = self.coverage[attribute]
        cover = known.share[..., known.columns(nodes)]
        if cover.ndim == 2:
            return np.asarray(cover.T @ table)
        return np.asarray(np.einsum("ls,lsn->ns", table, cover))

    def inside(self, at: np.ndarray, attribute: int, node: int) -> np.ndarray:
        """Return the share of each cell that lies in a node."""
        known = self.coverage[attribute]
        cover = known.share[..., known.columns(node)]
        if cover.ndim == 1:
            return np.asarray(cover[self.labels[at, attribute]])
        return np.asarray(cover[self.labels[at, attribute], self.value[at]])


@dataclass(frozen=True)
class Buckets:
    """As `Cells`, where groups have many boxes: boxes carry their share of a group, the histogram enters last."""

    labels: np.ndarray
    _: KW_ONLY
    group: np.ndarray
    mass: np.ndarray
    histogram: csr_matrix
    coverage: tuple[Cover, ...]

    @property
    def values(self) -> int:
        """How many values the carried attribute may take."""
        return int(self.histogram.shape[1])

    def table(self, at: np.ndarray, mass: np.ndarray, attribute: int) -> np.ndarray:
        """Sum the shares of some boxes by (label, group), then spread them over the values."""
        from scipy.sparse import csr_matrix

        labels, groups = self.coverage[attribute].labels, self.histogram.shape[0]
        column = self.labels[at, attribute]
        if labels * groups <= 4 * len(at) + 10_000:
            keys = column.astype(np.int64) * groups + self.group[at]
            sums = np.bincount(keys, weights=mass, minlength=labels * groups).reshape(labels, groups)
            return np.asarray(sums @ self.histogram)
        return np.asarray((csr_matrix((mass, (column, self.group[at])), (labels, groups)) @ self.histogram).toarray())

    def nodes(self, table: np.ndarray, attribute: int, nodes: np.ndarray) -> np.ndarray:
        """Return nodes x values: what each node holds of a table of sums."""
        known = self.coverage[attribute]
        return np.asarray(known.share[:, known.columns(nodes)].T @ table)

    def inside(self, at: np.ndarray, attribute: int, node: int) -> np.ndarray:
        """Return the share of each box that lies in a node."""
        known = self.coverage[attribute]
        return np.asarray(known.share[self.labels[at, attribute], known.columns(node)])


def units_of(view: View, steps: Sequence[Step] | None = None) -> Cells | Buckets:
    """Return the release as `estimates` walks it (these steps, or any), under the uniform reading."""
    coverage = coverages(view, steps)
    if view.one_box_each:
        return cells_of(view, coverage)
    of = view.group_weight[view.group].astype(np.float64)
    return Buckets(
        view.labels,
        group=view.group,
        mass=np.divide(view.weight, of, where=of > 0, out=np.zeros(len(of))),
        histogram=view.histogram.astype(np.float64),
        coverage=coverage,
    )


def cells_of(view: View, coverage: tuple[Cover, ...]) -> Cells:
    """Spread each group's histogram over its boxes: mass(b, s) = weight_b H_g(s) / weight_g."""
    histogram = view.histogram
    lengths = np.diff(histogram.indptr)[view.group]
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    entry = np.arange(total) + np.repeat(histogram.indptr[view.group] - (ends - lengths), lengths)
    box = np.repeat(np.arange(len(view.group)), lengths)
    rows = view.weight[box] * histogram.data[entry].astype(np.float64)
    of = view.group_weight[view.group[box]].astype(np.float64)
    return Cells(
        view.labels[box],
        value=histogram.indices[entry].astype(np.int64),
        mass=np.divide(rows, of, where=of > 0, out=np.zeros(total)),
        values=view.values,
        coverage=coverage,
    )


def coverages(view: View, steps: Sequence[Step] | None = None) -> tuple[Cover, ...]:
    """Return |label n node| / |label| for the nodes of each public tree: those the steps ask for, else all."""
    everything = [np.arange(len(table.attribute.nodes)) for table in view.tables]
    found = []
    for table, nodes in zip(view.tables, everything if steps is None else _asked(steps, everything), strict=True):
        tree = table.attribute.nodes
        share = table.coverage(tree.low[nodes], tree.high[nodes]) if len(table) else np.zeros((0, len(nodes)))
        found.append(Cover(share, nodes=nodes))
    return tuple(found)


def _asked(steps: Sequence[Step], everything: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the nodes that occur in a tree of steps, by attribute: few, where a mask has a hundred thousand."""
    asked = [np.zeros(len(nodes), bool) for nodes in everything]
    waiting = list(steps)
    while waiting:
        step = waiting.pop()
        asked[step.attribute][step.nodes] = True
        waiting += [below for inner in step.below for below in inner]
    return [np.flatnonzero(nodes) for nodes in asked]


def estimates(cells: Cells | Buckets, steps: Sequence[Step], populations: int) -> np.ndarray:
    """Return est(s | y) for every population of the tree: populations x values."""
    found = np.zeros((populations, cells.values))
    if len(cells.mass):
        _descend(cells, steps, np.arange(len(cells.mass)), cells.mass, found)
    return found


def _descend(
    cells: Cells | Buckets, steps: Sequence[Step], at: np.ndarray, mass: np.ndarray, found: np.ndarray
) -> None:
    for step in steps:
        table = cells.table(at, mass, step.attribute)
        found[step.first : step.first + len(step.nodes)] = cells.nodes(table, step.attribute, step.nodes)
        for node, below in zip(step.nodes.tolist(), step.below, strict=True):
            if below:
                inside = cells.inside(at, step.attribute, node)
                kept = inside > 0
                _descend(cells, below, at[kept], mass[kept] * inside[kept], found)
