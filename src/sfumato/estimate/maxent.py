"""The maximum-entropy reading: it uses information in the release that the uniform assumption ignores.

Source    Li & Li, KDD 2009, section 6 (future work: better than the uniform assumption).
Claim     What labels hide is read by p(x | s) (`spread`), who in a bucket has which value by p(s | labels) (`link`);
          both are maximum-entropy models of one-way tables, learnt from the release alone. The number of steps is the
          one that best foretells the other half of the groups: none, which is the uniform reading, if no step does.
          Every group keeps its histogram. Labels of single values are read as they are.
Because   each half of the groups (even, odd; groups are numbered by content) is learnt from and the other scored.
          Without that check the models would learn noise: they have more parameters than a coarse release has counts.
Checked   tests/claims/test_maxent.py::test_margins_are_kept
          tests/claims/test_maxent.py::test_recovers_what_other_labels_show
          tests/claims/test_maxent.py::test_nothing_to_learn_reads_as_uniform
Silent on being better for a given table: it foretells the release better, not the truth. It reads only the release,
          but what it infers about people can be more than P_loss counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sfumato.estimate.alignment import View
from sfumato.estimate.regions import ratio
from sfumato.schema import Labels

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


# Estimates of a whole tree of regions at once: each step constrains one more attribute.
#
# Source    Ours; the estimator is that of `estimate/regions.py`.
# Claim     `estimates` gives every population of the tree the estimate that `estimate` gives its region.
# Because   boxes carry the product of their coverages down the tree; the next attribute's table of (label, value)
#           sums, times the coverage of each node by each label, gives all nodes of that attribute in one product.
# Checked   tests/claims/test_estimator.py::test_the_walk_equals_the_definition
# Silent on anything the estimator is silent on.
# Cost      one bincount over the active cells for each population that has populations below it and each attribute.


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
class FineCells:
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
    """As `FineCells`, where groups have many boxes: boxes carry their share of a group, the histogram enters last."""

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


def units_of(view: View, steps: Sequence[Step] | None = None) -> FineCells | Buckets:
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


def cells_of(view: View, coverage: tuple[Cover, ...]) -> FineCells:
    """Spread each group's histogram over its boxes: mass(b, s) = weight_b H_g(s) / weight_g."""
    histogram = view.histogram
    lengths = np.diff(histogram.indptr)[view.group]
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    entry = np.arange(total) + np.repeat(histogram.indptr[view.group] - (ends - lengths), lengths)
    box = np.repeat(np.arange(len(view.group)), lengths)
    rows = view.weight[box] * histogram.data[entry].astype(np.float64)
    of = view.group_weight[view.group[box]].astype(np.float64)
    return FineCells(
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


def estimates(cells: FineCells | Buckets, steps: Sequence[Step], populations: int) -> np.ndarray:
    """Return est(s | y) for every population of the tree: populations x values."""
    found = np.zeros((populations, cells.values))
    if len(cells.mass):
        _descend(cells, steps, np.arange(len(cells.mass)), cells.mass, found)
    return found


def _descend(
    cells: FineCells | Buckets, steps: Sequence[Step], at: np.ndarray, mass: np.ndarray, found: np.ndarray
) -> None:
    for step in steps:
        table = cells.table(at, mass, step.attribute)
        found[step.first : step.first + len(step.nodes)] = cells.nodes(table, step.attribute, step.nodes)
        for node, below in zip(step.nodes.tolist(), step.below, strict=True):
            if below:
                inside = cells.inside(at, step.attribute, node)
                kept = inside > 0
                _descend(cells, below, at[kept], mass[kept] * inside[kept], found)


# p(s | labels) within groups: who in a bucket has which value, learnt from how buckets differ.
#
# Source    Berger, Della Pietra & Della Pietra, Computational Linguistics 22(1), 1996 (conditional maximum entropy);
#           Darroch & Ratcliff, Ann. Math. Stat. 43(5), 1972 (iterative scaling); Deming & Stephan, 1940 (IPF).
# Claim     p(s | labels) is proportional to p(s) times one factor for each attribute (the largest entropy for given
#           (attribute, value) tables). The cells returned have each group's histogram, and each box's rows as far as
#           IPF has converged. The first state is the uniform reading: every box of a group gets the group's shares.
# Because   a step shares out each group's histogram by the model and scales the factors towards the tables that
#           gives. Where buckets do not differ there is nothing to learn, and the first state stays.
# Checked   tests/claims/test_maxent.py::test_margins_are_kept
#           tests/claims/test_maxent.py::test_links_within_small_buckets
# Silent on combinations of attributes that act together. What it links, an attacker can link too.
# Cost      boxes x values in memory, times attributes for each step.

_IPF_ROUNDS = 20
_PSEUDO_ROWS = 0.5  # so that a table's empty cell is unlikely, not impossible


@dataclass(frozen=True)
class ValueFactors:
    """Factors by attribute: labels x values. `box` is the box of each cell."""

    view: View
    cells: FineCells
    box: np.ndarray
    factors: tuple[np.ndarray, ...]

    @classmethod
    def uniform(cls, view: View, cells: FineCells) -> ValueFactors:
        """No attribute tells anything."""
        box = np.repeat(np.arange(len(view.group)), np.diff(view.histogram.indptr)[view.group])
        return cls(view, cells, box, tuple(np.ones((len(table), view.values)) for table in view.tables))

    def _belief(self) -> np.ndarray:
        """p(s | labels of the box): boxes x values."""
        overall = self.view.overall.astype(np.float64)
        found = np.repeat(overall[None, :] / max(overall.sum(), 1.0), len(self.view.weight), axis=0)
        for at, factor in enumerate(self.factors):
            found *= factor[self.view.labels[:, at]]
        totals = found.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(found, totals, where=totals > 0, out=np.zeros_like(found)))

    def _expected(self, belief: np.ndarray) -> np.ndarray:
        """Rows of each (group, value) of a cell that the model expects."""
        mass = self.view.weight[self.box] * belief[self.box, self.cells.value]
        return np.asarray(np.bincount(self._column, weights=mass, minlength=self._size)[self._column])

    @cached_property
    def _column(self) -> np.ndarray:
        """The (group, value) of each cell."""
        return np.asarray(self.view.group[self.box].astype(np.int64) * self.view.values + self.cells.value)

    @cached_property
    def _label_boxes(self) -> tuple[csr_matrix, ...]:
        """Which boxes have each label of an attribute: labels x boxes."""
        from scipy.sparse import csr_matrix

        boxes = np.arange(len(self.view.weight))
        return tuple(
            csr_matrix((np.ones(len(boxes)), (column, boxes)), shape=(len(table), len(boxes)))
            for column, table in zip(self.view.labels.T, self.view.tables, strict=True)
        )

    @property
    def _size(self) -> int:
        return len(self.view.group_weight) * self.view.values

    def score(self, part: np.ndarray) -> float:
        """Log-likelihood of the histograms of some cells' groups, given who is in them."""
        expected = np.maximum(self._expected(self._belief()), np.finfo(np.float64).tiny)
        rows = np.maximum(self.view.group_weight[self.view.group[self.box]], 1)
        return float(self.cells.mass[part] @ np.log(expected[part] / rows[part]))

    def advance(self, part: np.ndarray) -> ValueFactors:
        """Take one step of iterative scaling on some cells."""
        belief = self._belief()
        here = belief[self.box, self.cells.value] * self.view.weight[self.box]
        expected = self._expected(belief)
        said = np.bincount(self._column, weights=self.cells.mass, minlength=self._size)[self._column]
        rows = np.divide(here * said, expected, where=expected > 0, out=np.zeros(len(here)))[part]
        weight = np.bincount(self.box[part], weights=rows, minlength=len(self.view.weight))
        modelled = belief * weight[:, None]
        found = []
        for at, factor in enumerate(self.factors):
            wanted = np.bincount(self.cells.keys[at][part], weights=rows, minlength=factor.size).reshape(factor.shape)
            have = np.asarray(self._label_boxes[at] @ modelled)
            step = (wanted + _PSEUDO_ROWS) / (have + _PSEUDO_ROWS)
            found.append(factor * step ** (1 / len(self.factors)))
        return self._with(tuple(found))

    def _with(self, factors: tuple[np.ndarray, ...]) -> ValueFactors:
        """Return the same cells under other factors; what was worked out of the cells goes along."""
        found = replace(self, factors=factors)
        found.__dict__.update({key: self.__dict__[key] for key in ("_column", "_label_boxes") if key in self.__dict__})
        return found

    def read(self) -> FineCells:
        """Return the cells fitted to the rows of each box and the histogram of each group (IPF)."""
        column, rows = self._column, self.view.weight.astype(np.float64)
        wanted = np.bincount(column, weights=self.cells.mass, minlength=self._size)
        mass = self._belief()[self.box, self.cells.value]
        for _ in range(_IPF_ROUNDS):
            mass = mass * ratio(rows, np.bincount(self.box, weights=mass, minlength=len(rows)))[self.box]
            mass = mass * ratio(wanted, np.bincount(column, weights=mass, minlength=self._size))[column]
        return replace(self.cells, mass=mass)


# p(x | s) within labels: what one label hides is filled in from what other labels show.
#
# Source    Dempster, Laird & Rubin, J. R. Stat. Soc. B 39(1), 1977 (EM for grouped data).
# Claim     A step never lowers the likelihood of the labels it is taken on, under attributes that are independent
#           given the carried value (the largest entropy for given one-way tables). The first state is the uniform
#           reading.
# Because   EM: each label's rows are spread by p(x | s) within the label, then p(x | s) is counted anew.
# Checked   tests/claims/test_maxent.py::test_likelihood_never_falls
# Silent on dependence between attributes given the carried value.


@dataclass(frozen=True)
class ValueSpread:
    """One table of p(x | s) for each attribute, and the cells they are learnt from."""

    cells: FineCells
    models: tuple[_Model, ...]

    @classmethod
    def uniform(cls, view: View, cells: FineCells) -> ValueSpread:
        """Every value of a label is as likely as any other."""
        asked = zip(view.tables, cells.coverage, strict=True)
        return cls(cells, tuple(_uniform(table, view.values, cover) for table, cover in asked))

    def score(self, part: np.ndarray) -> float:
        """Log-likelihood of some cells: sum of mass x ln p(labels | s)."""
        share = np.ones(len(self.cells.mass))
        for at, model in enumerate(self.models):
            share *= model.inside()[self.cells.labels[:, at], self.cells.value]
        return float(self.cells.mass[part] @ np.log(np.maximum(share[part], np.finfo(np.float64).tiny)))

    def advance(self, part: np.ndarray) -> ValueSpread:
        """Take one step of EM on some cells."""
        found = []
        for at, model in enumerate(self.models):
            shape = (len(model.labels), self.cells.values)
            keys, mass = self.cells.keys[at][part], self.cells.mass[part]
            rows = np.bincount(keys, weights=mass, minlength=shape[0] * shape[1]).reshape(shape)
            found.append(model.counted(rows.astype(np.float64)))
        return replace(self, models=tuple(found))

    def read(self) -> FineCells:
        """Return the cells with the coverage this model gives."""
        known = zip(self.models, self.cells.coverage, strict=True)
        return replace(self.cells, coverage=tuple(model.coverage(cover) for model, cover in known))


@dataclass(frozen=True, slots=True)
class _Model:
    """p(x | s) of one attribute over elementary intervals: the pieces between all ends of labels and nodes.

    Within a piece nothing published tells values apart, so they stay equally likely.
    """

    labels: Labels
    ends: np.ndarray
    density: np.ndarray  # pieces x values

    def inside(self, low: np.ndarray | None = None, high: np.ndarray | None = None) -> np.ndarray:
        """p(label | s), or p(label n [low, high) | s): labels x values (x intervals)."""
        sums = np.concatenate([np.zeros((1, self.density.shape[1])), np.cumsum(self.density, axis=0)])
        starts, ends = self.labels.starts, self.labels.ends
        if low is None or high is None:
            pieces = sums[np.searchsorted(self.ends, ends)] - sums[np.searchsorted(self.ends, starts)]
            return np.add.reduceat(pieces, self.labels.offsets[:-1], axis=0)
        first = np.maximum(starts[:, None], low[None, :])
        last = np.maximum(np.minimum(ends[:, None], high[None, :]), first)
        shared = sums[np.searchsorted(self.ends, last)] - sums[np.searchsorted(self.ends, first)]
        return np.add.reduceat(shared, self.labels.offsets[:-1], axis=0).transpose(0, 2, 1)

    def counted(self, rows: np.ndarray) -> _Model:
        """Return p(x | s) counted from rows (labels x values) that are spread within each label by this model."""
        inside = self.inside()
        rate = np.divide(rows, inside, where=inside > 0, out=np.zeros_like(rows))
        steps = np.zeros((len(self.ends), rows.shape[1]))
        per_piece = np.repeat(rate, np.diff(self.labels.offsets), axis=0)
        np.add.at(steps, np.searchsorted(self.ends, self.labels.starts), per_piece)
        np.add.at(steps, np.searchsorted(self.ends, self.labels.ends), -per_piece)
        spread = np.maximum(np.cumsum(steps, axis=0)[:-1], 0.0) * self.density
        totals = spread.sum(axis=0)
        kept = np.divide(spread, totals, where=totals > 0, out=self.density.copy())
        return replace(self, density=kept)

    def coverage(self, asked: Cover) -> Cover:
        """p(label n node | s) / p(label | s): labels x values x nodes; the uniform share where the label has none."""
        nodes = self.labels.attribute.nodes
        whole = self.inside()[:, :, None]
        uniform = asked.share[:, None, :]
        part = self.inside(nodes.low[asked.nodes], nodes.high[asked.nodes])
        found = np.where(whole > 0, np.divide(part, whole, where=whole > 0, out=np.zeros_like(part)), uniform)
        return replace(asked, share=np.minimum(found, 1.0))


def _uniform(labels: Labels, values: int, asked: Cover) -> _Model:
    nodes = labels.attribute.nodes
    ends = np.unique(np.concatenate([labels.starts, labels.ends, nodes.low[asked.nodes], nodes.high[asked.nodes]]))
    width = np.diff(ends).astype(np.float64)
    density = np.repeat((width / width.sum())[:, None], values, axis=1)
    return _Model(labels, ends, density)


_STEPS = 60
_PATIENCE = 3  # steps without a better score before giving up
_GAIN = 1e-5  # of the score, below which another step is not worth its time


@dataclass(frozen=True, slots=True)
class MaxentReading:
    """The cells as read, how many steps were taken, and the held-out score after each step tried."""

    cells: FineCells
    _: KW_ONLY
    steps: int
    scores: tuple[float, ...]


def fit_maxent(view: View, steps: Sequence[Step] | None = None) -> MaxentReading:
    """Learn from the release how its labels (or, for buckets, its groups) are to be read (for these steps, or any)."""
    cells = cells_of(view, coverages(view, steps))
    model: ValueSpread | ValueFactors = (ValueSpread if view.one_box_each else ValueFactors).uniform(view, cells)
    lengths = np.diff(view.histogram.indptr)[view.group]
    even = np.repeat(view.group % 2 == 0, lengths)
    many, scores = _best_number_of_steps(model, even)
    everything = np.ones(len(cells.mass), bool)
    for _ in range(many):
        model = model.advance(everything)
    return MaxentReading(model.read() if many else cells, steps=many, scores=scores)


def _best_number_of_steps(start: ValueSpread | ValueFactors, even: np.ndarray) -> tuple[int, tuple[float, ...]]:
    """Learn on each half of the groups, score on the other; the first of the best wins."""
    halves = [(start, even, ~even), (start, ~even, even)]
    scores = [sum(model.score(other) for model, _, other in halves)]
    for step in range(1, _STEPS + 1):
        halves = [(model.advance(mine), mine, other) for model, mine, other in halves]
        scores.append(sum(model.score(other) for model, _, other in halves))
        little = 0 <= scores[-1] - scores[-2] < _GAIN * abs(scores[-2])
        if little or step - int(np.argmax(scores)) >= _PATIENCE:
            break
    return int(np.argmax(scores)), tuple(scores)
