"""The min-max-entropy reading: what a label hides is filled in from what other labels show.

Source    Li & Li, KDD 2009, section 6 (future work: better than the uniform assumption); Zhu, Wu & Mumford, Neural
          Computation 9(8), 1997 (minimax entropy); Deming & Stephan, Ann. Math. Stat. 11(4), 1940 (IPF).
Claim     Where each group has one box: among tables in which the attributes are independent given the carried
          value (the largest entropy for given one-way tables), one whose likelihood for the published boxes no
          further step raises by more than the tolerance. In buckets the same model is fitted to the rows of each
          box and the histogram of each group. Every group keeps its histogram. Labels of single values are read
          as they are; a release of one box reads as the uniform one does.
Because   EM: each label's rows are spread by p(x | s) within the label, then p(x | s) is counted anew, which never
          lowers the likelihood. In buckets the linking step is IPF to both margins; it ends with the histogram.
Checked   tests/claims/test_maxent.py::test_margins_are_kept
          tests/claims/test_maxent.py::test_likelihood_never_falls
          tests/claims/test_maxent.py::test_recovers_what_other_labels_show
Silent on tables where attributes depend on each other given the carried value; it can be worse than uniform there.
          It reads only the release, but what it infers about people can be more than P_loss counts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sfumato.reading.alignment import View
from sfumato.reading.walk import Cells, cells_of, coverages
from sfumato.schema import Labels

__all__ = ["MaxentReading", "fit_maxent"]

_STEPS = 60
_TOLERANCE = 1e-7  # relative change of the log-likelihood
_IPF_ROUNDS = 12


@dataclass(frozen=True, slots=True)
class MaxentReading:
    """Cells whose coverage depends on the carried value, with the log-likelihood after each step."""

    cells: Cells
    log_likelihood: tuple[float, ...]


def fit_maxent(view: View) -> MaxentReading:
    """Fit p(x | s) for each attribute by EM, and return the release read with it."""
    cells = cells_of(view, coverages(view))
    group = _groups(view)
    models = [_uniform(table, view.values) for table in view.tables]
    history: list[float] = []
    for _ in range(_STEPS):
        inside = [model.inside() for model in models]
        if not view.one_box_each:
            cells = replace(cells, mass=_linked(view, cells, group, inside))
        history.append(_log_likelihood(cells, inside))
        if len(history) > 1 and history[-1] - history[-2] <= _TOLERANCE * abs(history[-1]):
            break
        models = [model.counted(_sums(cells, at, len(table))) for at, (model, table) in _each(models, view)]
    covers = tuple(model.coverage() for model in models)
    return MaxentReading(replace(cells, coverage=covers), tuple(history))


def _each(models: list[_Model], view: View) -> list[tuple[int, tuple[_Model, Labels]]]:
    return list(enumerate(zip(models, view.tables, strict=True)))


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

    def coverage(self) -> np.ndarray:
        """p(label n node | s) / p(label | s): labels x values x nodes; the uniform share where the label has none."""
        nodes = self.labels.attribute.nodes
        whole = self.inside()[:, :, None]
        uniform = self.labels.coverage(nodes.low, nodes.high)[:, None, :]
        part = self.inside(nodes.low, nodes.high)
        found = np.where(whole > 0, np.divide(part, whole, where=whole > 0, out=np.zeros_like(part)), uniform)
        # A node that holds all of a label, or nothing of it, does so whatever the model says, to the last digit.
        return np.where((uniform == 0) | (uniform == 1), uniform, np.clip(found, 0.0, 1.0))


def _uniform(labels: Labels, values: int) -> _Model:
    nodes = labels.attribute.nodes
    ends = np.unique(np.concatenate([labels.starts, labels.ends, nodes.low, nodes.high]))
    width = np.diff(ends).astype(np.float64)
    density = np.repeat((width / width.sum())[:, None], values, axis=1)
    return _Model(labels, ends, density)


def _groups(view: View) -> np.ndarray:
    """The group of each cell, in the order of `cells_of`."""
    return np.repeat(view.group, np.diff(view.histogram.indptr)[view.group])


def _sums(cells: Cells, attribute: int, labels: int) -> np.ndarray:
    sums = np.bincount(cells.keys[attribute], weights=cells.mass, minlength=labels * cells.values)
    return sums.reshape(labels, cells.values).astype(np.float64)  # of no cells at all, bincount gives whole numbers


def _model_share(cells: Cells, inside: list[np.ndarray]) -> np.ndarray:
    """Product over attributes of p(label | s), for each cell."""
    share = np.ones(len(cells.mass))
    for at, part in enumerate(inside):
        share *= part[cells.labels[:, at], cells.value]
    return share


def _log_likelihood(cells: Cells, inside: list[np.ndarray]) -> float:
    """Sum over cells of mass x ln p(labels | s); cells without mass say nothing."""
    share = _model_share(cells, inside)
    some = (cells.mass > 0) & (share > 0)
    return float(np.sum(cells.mass[some] * np.log(share[some])))


def _linked(view: View, cells: Cells, group: np.ndarray, inside: list[np.ndarray]) -> np.ndarray:
    """Fit the model's cells to the rows of each box and the histogram of each group (IPF)."""
    lengths = np.diff(view.histogram.indptr)[view.group]
    box = np.repeat(np.arange(len(view.group)), lengths)
    _, column = np.unique(group.astype(np.int64) * cells.values + cells.value, return_inverse=True)
    column = column.reshape(-1)
    rows, wanted = view.weight.astype(np.float64), np.bincount(column, weights=cells.mass)
    mass = np.maximum(_model_share(cells, inside), np.finfo(np.float64).tiny)
    for _ in range(_IPF_ROUNDS):
        mass = mass * _factor(rows, np.bincount(box, weights=mass, minlength=len(rows)))[box]
        mass = mass * _factor(wanted, np.bincount(column, weights=mass))[column]
    return np.asarray(mass)


def _factor(wanted: np.ndarray, have: np.ndarray) -> np.ndarray:
    return np.asarray(np.divide(wanted, have, where=have > 0, out=np.zeros(len(have))))
