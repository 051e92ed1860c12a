"""How well a specialization tells the class: the scores DiffGen selects by, as whole numbers.

Source    Mohammed, Chen, Fung & Yu, "Differentially private data release for data mining", KDD 2011, eq. (3) and (4).
          Gini gain: Breiman et al., 1984, times the number of rows; docs/theory/diffgen.md proves its sensitivity.
Claim     One row added or removed moves a score by at most its `sensitivity`; those marked `monotone` all move the
          same way. One-way: max 1 (monotone), gain 1, infogain 1 bit, gini 2. In cells: max 1 (monotone), gini 1.
Because   a row is in one child. max: that child's largest count moves by 0 or 1. gini: sum of squares / size moves by
          more than -1 and at most 1 in the child, and as much in the parent. infogain: docs/theory/diffgen.md, and
          one step for rounding. A floor of x moves by at most K when x does, K whole.
Checked   tests/claims/test_diffgen_scores.py::test_no_row_moves_a_score_by_more_than_its_sensitivity
          tests/claims/test_diffgen_scores.py::test_sensitivities_are_tight
          tests/claims/test_diffgen_scores.py::test_a_smaller_sensitivity_is_caught
Silent on replacing a row (twice as much), and on which score serves a learner best.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np

from sfumato.randomness import STEPS, rounded_log2_sums, rounded_sensitivity

__all__ = [
    "SCORES", "Score", "ScoreName", "information_gain", "information_steps", "max_score", "score_of",
    "squares_in_steps",
]  # fmt: skip

ScoreName = Literal["max", "gain", "infogain", "gini"]
SCORES: tuple[ScoreName, ...] = ("max", "gain", "infogain", "gini")


@dataclass(frozen=True, slots=True)
class Score:
    """A score of class counts (candidates x children x classes), and what one row can do to it.

    `summed` is what a cell or a child contributes, None where a score is no sum over children.
    """

    name: ScoreName
    _: KW_ONLY
    sensitivity: int
    monotone: bool
    summed: Callable[[np.ndarray], np.ndarray] | None
    minus_parent: bool

    @property
    def row(self) -> int:
        """What one row is worth in it, where it is a number of rows (max, gain, gini)."""
        return STEPS if self.name == "gini" else 1

    def of(self, children: np.ndarray) -> np.ndarray:
        """Return the score of each candidate as int64."""
        if self.summed is None:
            return information_steps(children)
        found: np.ndarray = self.summed(children).sum(axis=1)
        if self.minus_parent:
            found = found - self.summed(children.sum(axis=1))
        return found


def score_of(name: ScoreName, *, classes: int, in_cells: bool = False, paper: bool = False) -> Score:
    """Return a score with its sensitivity: in cells a candidate is judged by the whole refined table."""
    if name == "max":
        return Score(name, sensitivity=1, monotone=not paper, summed=_largest, minus_parent=in_cells)
    if name == "gain":
        return Score(name, sensitivity=1, monotone=False, summed=_largest, minus_parent=True)
    if name == "gini":
        # In cells the current table's own sum is the same for all candidates, so that it cancels: one term moves.
        weight = STEPS if in_cells else 2 * STEPS
        return Score(name, sensitivity=weight, monotone=False, summed=_squares, minus_parent=True)
    sensitivity = _log2_classes(classes) if paper else rounded_sensitivity(1)
    return Score(name, sensitivity=sensitivity, monotone=False, summed=None, minus_parent=False)


def max_score(child_class_counts: Sequence[Sequence[int]]) -> int:
    """Return eq. (4): the sum over children of their largest class count.

    >>> max_score([[5, 1, 0], [2, 3, 4]])
    9
    """
    return sum(max(counts, default=0) for counts in child_class_counts)


def information_gain(child_class_counts: Sequence[Sequence[int]]) -> float:
    """Return eq. (3) in bits; 0 where there is no row.

    >>> information_gain([[2, 0], [0, 2]])
    1.0
    """
    children = [list(counts) for counts in child_class_counts]
    whole = [sum(column) for column in zip(*children, strict=True)]
    total = sum(whole)
    if total == 0:
        return 0.0
    return _entropy(whole) - math.fsum(sum(counts) / total * _entropy(counts) for counts in children)


def _entropy(counts: Sequence[int]) -> float:
    total = sum(counts)
    return -math.fsum(n / total * math.log2(n / total) for n in counts if n)


def _largest(counts: np.ndarray) -> np.ndarray:
    found: np.ndarray = counts.max(axis=-1)
    return found


def _squares(counts: np.ndarray) -> np.ndarray:
    """Sum of squares over the size, in steps of 2^-20, rounded down; 0 for no rows. Exact for any number of rows."""
    if int(counts.max(initial=0)) > math.isqrt((1 << 62) // counts.shape[-1]):
        counts = counts.astype(object)  # in int64 the squares would wrap around, and the choice with them
    return squares_in_steps((counts * counts).sum(axis=-1), counts.sum(axis=-1))


def squares_in_steps(squares: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Return sums of squares over sizes in steps of 2^-20, rounded down; 0 for no rows."""
    size = np.maximum(size, 1)
    whole, rest = squares // size, squares % size
    found: np.ndarray = (whole * STEPS + rest * STEPS // size).astype(np.int64)
    return found


def information_steps(children: np.ndarray) -> np.ndarray:
    """Information gain in steps of 2^-20, as a sum of k log2 m over the number of rows."""
    parent = children.sum(axis=1)
    sizes, total = children.sum(axis=2), parent.sum(axis=1)
    signed: list[Any] = [(1, total[:, None]), (-1, parent), (-1, sizes), (1, children.reshape(len(children), -1))]
    coefficients = np.concatenate([sign * part for sign, part in signed], axis=1)
    arguments = np.concatenate([part for _, part in signed], axis=1)
    return rounded_log2_sums(coefficients, arguments, total)


def _log2_classes(classes: int) -> int:
    """Steps of log2 |classes|, the paper's bound, rounded up, and one step for rounding scores."""
    if classes > 1 << 53:
        return classes.bit_length() * STEPS + 2
    one = np.ones((1, 1), np.int64)
    return int(rounded_log2_sums(one, one * max(classes, 2), one[0])[0]) + 2
