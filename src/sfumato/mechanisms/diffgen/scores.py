"""DiffGen's scores from the combinations that occur: no table of all codes and classes is made.

Source    Ours. A combination that nobody has contributes 0 to every score, so that it need not be stored.
Claim     `sparse_scores` returns the whole numbers that the dense tables give, in memory that follows the rows and the
          codes of one attribute, however many classes the carried columns have together.
Because   a score is a sum over (cell, child) of a function of the class counts there. A split moves along the codes:
          running class counts give the left part at each code that occurs, and between two such codes it is constant.
Checked   tests/claims/test_diffgen_sparse.py::test_sparse_scores_are_the_dense_ones
          tests/claims/test_diffgen_sparse.py::test_a_mutant_that_forgets_a_class_is_caught
Silent on time, which follows the rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np

from sfumato.randomness import STEPS, rounded_log2_sums, rounded_sensitivity

# How well a specialization tells the class: the scores DiffGen selects by, as whole numbers.
#
# Source    Mohammed, Chen, Fung & Yu, "Differentially private data release for data mining", KDD 2011, eq. (3) and
#           (4). Gini gain: Breiman et al., 1984, times the number of rows; docs/theory/diffgen.md proves its
#           sensitivity.
# Claim     One row added or removed moves a score by at most its `sensitivity`; those marked `monotone` all move the
#           same way. One-way: max 1 (monotone), gain 1, infogain 1 bit, gini 2. In cells: max 1 (monotone), gini 1.
# Because   a row is in one child. max: that child's largest count moves by 0 or 1. gini: sum of squares / size moves
#           by more than -1 and at most 1 in the child, and as much in the parent. infogain: docs/theory/diffgen.md, and
#           one step for rounding. A floor of x moves by at most K when x does, K whole.
# Checked   tests/claims/test_diffgen_scores.py::test_no_row_moves_a_score_by_more_than_its_sensitivity
#           tests/claims/test_diffgen_scores.py::test_sensitivities_are_tight
#           tests/claims/test_diffgen_scores.py::test_a_smaller_sensitivity_is_caught
# Silent on replacing a row (twice as much), and on which score serves a learner best.

ScoreName = Literal["max", "gain", "infogain", "gini"]
SCORES: tuple[ScoreName, ...] = ("max", "gain", "infogain", "gini")


@dataclass(frozen=True, slots=True)
class Score:
    """A score of class counts (candidates x children x classes), and what one row can do to it.

    `summed` is what a cell or a child contributes, None where a score is not a sum over children.
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


BLOCK = 1 << 21  # entries of a table of codes and classes held at once (information gain)
WIDE = 1 << 31  # rows from which squares could leave int64


@dataclass(frozen=True)
class Rows:
    """Distinct rows: the code of one attribute, the cell, the number of the class, how many there are. Confidential."""

    code: np.ndarray
    _: KW_ONLY
    cell: np.ndarray
    label: np.ndarray
    weight: np.ndarray

    def at(self, places: np.ndarray) -> Rows:
        """Return some of the rows, by place or by mask."""
        return Rows(self.code[places], cell=self.cell[places], label=self.label[places], weight=self.weight[places])


def sparse_scores(rows: Rows, asked: Sequence[np.ndarray], score: Score, size: int) -> list[np.ndarray]:
    """Return the scores of each way to specialize each node, summed over the cells.

    `asked` holds the borders of each node (ways x (children + 1)); nodes share no code. With several ways a node
    is an interval that is split in two. `size` is the number of codes.
    """
    found: list[np.ndarray] = [np.zeros(len(borders), np.int64) for borders in asked]
    one = [place for place, borders in enumerate(asked) if len(borders) == 1]
    several = [place for place, borders in enumerate(asked) if len(borders) > 1]
    if score.summed is None:
        for place, borders in enumerate(asked):
            inside = rows.at((rows.code >= borders[0, 0]) & (rows.code < borders[0, -1]))
            found[place] = _information(inside, borders)
        return found
    if one:
        children = _intervals([asked[place][0] for place in one], rows.code)
        owner = np.repeat(np.arange(len(one)), [asked[place].shape[1] - 1 for place in one])
        totals = _totals(rows, children, owner, len(one), score)
        if score.minus_parent:
            nodes = _intervals([asked[place][0][[0, -1]] for place in one], rows.code)
            totals = totals - _totals(rows, nodes, np.arange(len(one)), len(one), score)
        for at, place in enumerate(one):
            found[place] = totals[at : at + 1]
    if several:
        for place, scores in zip(several, _splits(rows, [asked[p] for p in several], score, size), strict=True):
            found[place] = scores
    return found


def _intervals(borders: Sequence[np.ndarray], code: np.ndarray) -> np.ndarray:
    """Return the number of the interval that holds each code, -1 where none does; the borders' lists are disjoint."""
    lows = np.concatenate([part[:-1] for part in borders])
    highs = np.concatenate([part[1:] for part in borders])
    order = np.argsort(lows)
    at = np.searchsorted(lows[order], code, side="right") - 1
    held = (at >= 0) & (code < highs[order][at])
    return np.where(held, order[at], -1)


def _totals(rows: Rows, part: np.ndarray, owner: np.ndarray, nodes: int, score: Score) -> np.ndarray:
    """Sum what each (cell, part) contributes over the parts of each node."""
    held = part >= 0
    kept, part = rows.at(held), part[held]
    totals = np.zeros(nodes, np.int64)
    if not len(part):
        return totals
    order = np.lexsort((kept.label, part, kept.cell))
    cell, part, label, weight = kept.cell[order], part[order], kept.label[order], kept.weight[order]
    new_part = _changes(cell, part)
    new_class = new_part | _changes(label)
    starts = np.flatnonzero(new_class)
    counts = np.add.reduceat(weight, starts)
    first = np.flatnonzero(new_part[starts])
    np.add.at(totals, owner[part[starts[first]]], _values(counts, first, score))
    return totals


def _values(counts: np.ndarray, first: np.ndarray, score: Score) -> np.ndarray:
    """Return what class counts contribute, in groups that begin at `first`."""
    if score.name != "gini":
        largest: np.ndarray = np.maximum.reduceat(counts, first)
        return largest
    exact = counts if int(counts.sum()) < WIDE else counts.astype(object)
    return squares_in_steps(np.add.reduceat(exact * exact, first), np.add.reduceat(exact, first))


def _splits(rows: Rows, asked: Sequence[np.ndarray], score: Score, size: int) -> list[np.ndarray]:
    """Return the scores of every split of some disjoint intervals: left part and right part, less the whole."""
    ends = [np.array([borders[0, 0], borders[0, -1]]) for borders in asked]
    node = _intervals(ends, rows.code)
    held = node >= 0
    kept, node = rows.at(held), node[held]
    lows, highs = (np.array([end[side] for end in ends]) for side in (0, 1))
    _, segment = np.unique(kept.cell * len(asked) + node, return_inverse=True)
    left = _below(kept.code, segment.ravel(), kept, highs[node], score, size)
    # From the other end: codes >= p are codes' < size - p.
    right = _below(size - 1 - kept.code, segment.ravel(), kept, size - lows[node], score, size)
    scores = []
    for borders, high in zip(asked, highs.tolist(), strict=True):
        points = borders[:, 1]
        whole = left[high] if score.minus_parent else 0
        scores.append(left[points] + right[size - points] - whole)
    return scores


def _below(code: np.ndarray, segment: np.ndarray, rows: Rows, high: np.ndarray, score: Score, size: int) -> np.ndarray:
    """Return, for p = 0 .. size, the sum over the segments whose interval holds p of what rows with codes < p give.

    A segment is one cell of one interval; `high` is where its interval ends, one for each row.
    """
    found = np.zeros(size + 2, np.int64)
    if not len(code):
        return found
    by_class = np.lexsort((code, rows.label, segment))
    running = np.empty(len(code), np.int64)  # rows of the same class and segment with at most this code
    running[by_class] = _sums_within(rows.weight[by_class], _changes(segment[by_class], rows.label[by_class]))
    order = np.lexsort((code, segment))
    owner, places, counts, weight = segment[order], code[order], running[order], rows.weight[order]
    fresh = _changes(owner)
    if score.name == "gini":
        if int(weight.sum()) >= WIDE:
            counts, weight = counts.astype(object), weight.astype(object)
        squares = _sums_within(counts * counts - (counts - weight) ** 2, fresh)
        values = squares_in_steps(squares, _sums_within(weight, fresh))
    else:
        values = _largest_within(counts, fresh)
    last = np.append(_changes(owner, places)[1:], True)  # all rows of a segment's code are in
    values, places, owner = values[last], places[last], owner[last]
    begins = _changes(owner)
    steps = values - np.where(begins, 0, np.concatenate([[0], values[:-1]]))
    np.add.at(found, places + 1, steps)
    ends = np.append(begins[1:], True)
    np.add.at(found, high[order][last][ends] + 1, -values[ends])  # past its interval a segment counts no more
    return np.cumsum(found)


def _changes(*columns: np.ndarray) -> np.ndarray:
    """Return where a row differs from the one above it; the first does."""
    new = np.ones(len(columns[0]), bool)
    new[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return new


def _sums_within(values: np.ndarray, fresh: np.ndarray) -> np.ndarray:
    """Running sums that begin anew at each `fresh` place."""
    sums = np.cumsum(values)
    starts = np.flatnonzero(fresh)
    before = sums[starts] - values[starts]
    found: np.ndarray = sums - np.repeat(before, np.diff(np.append(starts, len(values))))
    return found


def _largest_within(values: np.ndarray, fresh: np.ndarray) -> np.ndarray:
    """Running maxima, of numbers of at least 0, that begin anew at each `fresh` place."""
    number = np.cumsum(fresh) - 1
    above = int(values.max()) + 1
    if above * (int(number[-1]) + 1) >= 1 << 62:
        number, above = number.astype(object), int(above)
    found: np.ndarray = np.maximum.accumulate(values + number * above) - number * above
    return found.astype(np.int64)


def _information(rows: Rows, borders: np.ndarray) -> np.ndarray:
    """Information gain of every way to specialize one node, over all rows in it."""
    if not len(rows.code):
        return np.zeros(len(borders), np.int64)
    classes, label = np.unique(rows.label, return_inverse=True)
    if len(borders) == 1:
        places = np.searchsorted(borders[0, 1:-1], rows.code, side="right")
    else:
        codes, places = np.unique(rows.code, return_inverse=True)
    table = (places.ravel(), label.ravel(), rows.weight, len(classes))
    if len(borders) == 1:
        used, child = np.unique(places, return_inverse=True)  # children without rows contribute nothing
        return information_steps(_dense((child.ravel(), *table[1:]), 0, len(used))[None])
    total = _dense((np.zeros(len(rows.code), np.int64), *table[1:]), 0, 1)[0]
    scores, base = [np.zeros(1, np.int64)], np.zeros(len(classes), np.int64)
    many = max(1, BLOCK // len(classes))
    for start in range(0, len(codes), many):
        left = base + np.cumsum(_dense(table, start, min(start + many, len(codes))), axis=0)
        scores.append(information_steps(np.stack([left, total - left], axis=1)))
        base = left[-1]
    found: np.ndarray = np.concatenate(scores)[np.searchsorted(codes, borders[:, 1])]
    return found


def _dense(table: tuple[np.ndarray, np.ndarray, np.ndarray, int], start: int, end: int) -> np.ndarray:
    """Return places start .. end x classes as a table of counts."""
    places, label, weight, classes = table
    held = (places >= start) & (places < end)
    found = np.zeros((end - start, classes), np.int64)
    np.add.at(found, (places[held] - start, label[held]), weight[held])
    return found
