"""p(s | labels) within groups: who in a bucket has which value, learnt from how buckets differ.

Source    Berger, Della Pietra & Della Pietra, Computational Linguistics 22(1), 1996 (conditional maximum entropy);
          Darroch & Ratcliff, Ann. Math. Stat. 43(5), 1972 (iterative scaling); Deming & Stephan, 1940 (IPF).
Claim     p(s | labels) is proportional to p(s) times one factor for each attribute (the largest entropy for given
          (attribute, value) tables). The cells returned have each group's histogram, and each box's rows as far as
          IPF has converged. The first state is the uniform reading: every box of a group gets the group's shares.
Because   a step shares out each group's histogram by the model and scales the factors towards the tables that gives.
          Where buckets do not differ there is nothing to learn, and the first state stays.
Checked   tests/claims/test_maxent.py::test_margins_are_kept
          tests/claims/test_maxent.py::test_links_within_small_buckets
Silent on combinations of attributes that act together. What it links, an attacker can link too.
Cost      boxes x values in memory, times attributes for each step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sfumato.reading.alignment import View
from sfumato.reading.walk import Cells

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["Link"]

_IPF_ROUNDS = 20
_PSEUDO_ROWS = 0.5  # so that a table's empty cell is unlikely, not impossible


@dataclass(frozen=True)
class Link:
    """Factors by attribute: labels x values. `box` is the box of each cell."""

    view: View
    cells: Cells
    box: np.ndarray
    factors: tuple[np.ndarray, ...]

    @classmethod
    def uniform(cls, view: View, cells: Cells) -> Link:
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

    def advance(self, part: np.ndarray) -> Link:
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

    def _with(self, factors: tuple[np.ndarray, ...]) -> Link:
        """Return the same cells under other factors; what was worked out of the cells goes along."""
        found = replace(self, factors=factors)
        found.__dict__.update({key: self.__dict__[key] for key in ("_column", "_label_boxes") if key in self.__dict__})
        return found

    def read(self) -> Cells:
        """Return the cells fitted to the rows of each box and the histogram of each group (IPF)."""
        column, rows = self._column, self.view.weight.astype(np.float64)
        wanted = np.bincount(column, weights=self.cells.mass, minlength=self._size)
        mass = self._belief()[self.box, self.cells.value]
        for _ in range(_IPF_ROUNDS):
            mass = mass * _ratio(rows, np.bincount(self.box, weights=mass, minlength=len(rows)))[self.box]
            mass = mass * _ratio(wanted, np.bincount(column, weights=mass, minlength=self._size))[column]
        return replace(self.cells, mass=mass)


def _ratio(wanted: np.ndarray, have: np.ndarray) -> np.ndarray:
    return np.asarray(np.divide(wanted, have, where=have > 0, out=np.zeros(len(have))))
