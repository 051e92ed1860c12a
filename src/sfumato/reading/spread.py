"""p(x | s) within labels: what one label hides is filled in from what other labels show.

Source    Dempster, Laird & Rubin, J. R. Stat. Soc. B 39(1), 1977 (EM for grouped data).
Claim     A step never lowers the likelihood of the labels it is taken on, under attributes that are independent given
          the carried value (the largest entropy for given one-way tables). The first state is the uniform reading.
Because   EM: each label's rows are spread by p(x | s) within the label, then p(x | s) is counted anew.
Checked   tests/claims/test_maxent.py::test_likelihood_never_falls
Silent on dependence between attributes given the carried value.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sfumato.reading.alignment import View
from sfumato.reading.walk import Cells, Cover
from sfumato.schema import Labels

__all__ = ["Spread"]


@dataclass(frozen=True)
class Spread:
    """One table of p(x | s) for each attribute, and the cells they are learnt from."""

    cells: Cells
    models: tuple[_Model, ...]

    @classmethod
    def uniform(cls, view: View, cells: Cells) -> Spread:
        """Every value of a label is as likely as any other."""
        asked = zip(view.tables, cells.coverage, strict=True)
        return cls(cells, tuple(_uniform(table, view.values, cover) for table, cover in asked))

    def score(self, part: np.ndarray) -> float:
        """Log-likelihood of some cells: sum of mass x ln p(labels | s)."""
        share = np.ones(len(self.cells.mass))
        for at, model in enumerate(self.models):
            share *= model.inside()[self.cells.labels[:, at], self.cells.value]
        return float(self.cells.mass[part] @ np.log(np.maximum(share[part], np.finfo(np.float64).tiny)))

    def advance(self, part: np.ndarray) -> Spread:
        """Take one step of EM on some cells."""
        found = []
        for at, model in enumerate(self.models):
            shape = (len(model.labels), self.cells.values)
            keys, mass = self.cells.keys[at][part], self.cells.mass[part]
            rows = np.bincount(keys, weights=mass, minlength=shape[0] * shape[1]).reshape(shape)
            found.append(model.counted(rows.astype(np.float64)))
        return replace(self, models=tuple(found))

    def read(self) -> Cells:
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
