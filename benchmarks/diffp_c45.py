"""DiffP-C4.5, the interactive rival of the DiffGen paper's figure 4, written from its description.

Source    Friedman & Schuster, "Data mining with differential privacy", KDD 2010, as the DiffGen paper (Mohammed et al.,
          KDD 2011, sections 2 and 5) and the literature describe it: a decision tree whose every question to the data
          is noisy. At each node a noisy count decides whether to go on; a split point is drawn for each numeric
          attribute, then the attribute, by the exponential mechanism; leaves take the largest noisy class count.
Claim     epsilon-DP when one row is added or removed, for the tree (structure and labels).
Because   along a path each level spends one count, one draw for each numeric attribute and one for the attribute,
          the leaf two counts: (2 + n) d + 2 questions of epsilon / ((2 + n) d + 2) each. Siblings hold disjoint rows.
          The score is Max, of sensitivity 1 (monotone, but drawn with the factor 2 as printed). Domains are public.
Checked   tests/claims/test_diffp_c45.py: the law of whole trees, every choice walked, on all neighbours of small tables
Silent on pruning, which the original does on noisy counts and which is left out here; on its other scores.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import isqrt
from typing import Protocol

import numpy as np

from sfumato.randomness import Entropy, discrete_laplace, exponential_choice

DEPTH = 5


@dataclass
class Node:
    """A leaf (label), or a split: of codes at `at`, or by value where `at` is None."""

    label: int = 0
    attribute: int = -1
    at: int | None = None
    children: dict[int, Node] = field(default_factory=dict)


@dataclass(frozen=True)
class Column:
    """A public domain: codes 0 .. size-1, on a line or not."""

    size: int
    numeric: bool


def step_epsilon(epsilon: Fraction, numeric: int, depth: int) -> Fraction:
    """What one question may spend."""
    return epsilon / ((2 + numeric) * depth + 2)


def max_scores(codes: np.ndarray, classes: np.ndarray, many: int, low: int, high: int):
    """Runs of split points in (low, high) with equal Max score: scores, lengths and the first point of each run."""
    values, where = np.unique(codes, return_inverse=True)
    counts = np.zeros((len(values) + 1, many), np.int64)
    np.add.at(counts[1:], (where, classes), 1)
    left = counts.cumsum(axis=0)
    scores = left.max(axis=1) + (left[-1] - left).max(axis=1)
    # Points s with values[k-1] < s <= values[k] have the first k values on their left.
    starts = np.concatenate([[low + 1], values + 1])
    ends = np.concatenate([values + 1, [high]])
    starts, ends = np.maximum(starts, low + 1), np.minimum(ends, high)
    lengths = np.maximum(ends - starts, 0)
    return scores[lengths > 0], lengths[lengths > 0], starts[lengths > 0]


def value_score(codes: np.ndarray, classes: np.ndarray, many: int, size: int) -> int:
    """Max of a split by value."""
    table = np.bincount(codes * many + classes, minlength=size * many).reshape(size, many)
    return int(table.max(axis=1).sum())


def needed(branches: int, many: int, step: Fraction) -> int:
    """Return the smallest count worth a split: branches * many * sqrt(2) / step, rounded up without a float."""
    square = 2 * (branches * many / step) ** 2
    floor = isqrt(int(square))
    return floor if floor * floor >= square else floor + 1


class Draw(Protocol):
    """The four noisy questions; the audit answers them by their laws instead."""

    def reaches(self, count: int, least: int, step: Fraction) -> bool:
        """Whether the noisy count is at least that."""
        ...

    def point(self, scores: np.ndarray, lengths: np.ndarray, starts: np.ndarray, step: Fraction) -> int:
        """A split point, by its score."""
        ...

    def attribute(self, scores: list[int], step: Fraction) -> int:
        """An attribute, by its score."""
        ...

    def label(self, counts: np.ndarray, step: Fraction) -> int:
        """The class of the largest noisy count."""
        ...


@dataclass
class Drawn:
    """Answers drawn from entropy."""

    entropy: Entropy

    def reaches(self, count: int, least: int, step: Fraction) -> bool:
        return count + int(discrete_laplace(step, 1, self.entropy)[0]) >= least

    def point(self, scores: np.ndarray, lengths: np.ndarray, starts: np.ndarray, step: Fraction) -> int:
        run = exponential_choice(scores, step, 1, self.entropy, weights=lengths)
        return int(starts[run]) + self.entropy.below(int(lengths[run]))

    def attribute(self, scores: list[int], step: Fraction) -> int:
        return exponential_choice(scores, step, 1, self.entropy)

    def label(self, counts: np.ndarray, step: Fraction) -> int:
        return int(np.argmax(counts + discrete_laplace(step, len(counts), self.entropy)))


class Grower:
    """Grows one tree; `spent` holds what each path has cost, for the audit."""

    def __init__(self, columns, many: int, epsilon: Fraction, depth: int, draw: Draw) -> None:
        self.columns, self.many, self.draw = columns, many, draw
        self.step = step_epsilon(epsilon, sum(column.numeric for column in columns), depth)
        self.spent: list[Fraction] = []

    def grow(self, x, y, attributes, ranges, depth: int, spent: Fraction = Fraction(0)) -> Node:
        spent += self.step
        least = needed(max((self._branches(a) for a in attributes), default=1), self.many, self.step)
        if not attributes or depth == 0 or not self.draw.reaches(len(y), least, self.step):
            return self._leaf(y, spent)
        scores, splits = [], {}
        for attribute in attributes:
            if not self.columns[attribute].numeric:
                scores.append(value_score(x[:, attribute], y, self.many, self.columns[attribute].size))
                continue
            low, high = ranges[attribute]
            found, lengths, starts = max_scores(x[:, attribute], y, self.many, low, high)
            spent += self.step
            splits[attribute] = self.draw.point(found, lengths, starts, self.step)
            inside = x[:, attribute] < splits[attribute]
            scores.append(sum(int(np.bincount(y[side], minlength=self.many).max()) for side in (inside, ~inside)))
        spent += self.step
        chosen = attributes[self.draw.attribute(scores, self.step)]
        node = Node(attribute=chosen, at=splits.get(chosen))
        for value, rows, left, inner in self._parts(x, chosen, node.at, attributes, ranges):
            node.children[value] = self.grow(x[rows], y[rows], left, inner, depth - 1, spent)
        return node

    def _parts(self, x, chosen: int, at: int | None, attributes, ranges):
        if at is None:
            rest = [attribute for attribute in attributes if attribute != chosen]
            for value in range(self.columns[chosen].size):
                yield value, x[:, chosen] == value, rest, ranges
            return
        low, high = ranges[chosen]
        for value, (start, end) in enumerate(((low, at), (at, high))):
            inside = x[:, chosen] < at if value == 0 else x[:, chosen] >= at
            left = attributes if end - start > 1 else [a for a in attributes if a != chosen]
            yield value, inside, left, {**ranges, chosen: (start, end)}

    def _branches(self, attribute: int) -> int:
        column = self.columns[attribute]
        return 2 if column.numeric else column.size

    def _leaf(self, y, spent: Fraction) -> Node:
        self.spent.append(spent + self.step)
        return Node(label=self.draw.label(np.bincount(y, minlength=self.many), self.step))


def predict(node: Node, x: np.ndarray) -> np.ndarray:
    if not node.children:
        return np.full(len(x), node.label)
    found = np.zeros(len(x), int)
    branch = x[:, node.attribute] if node.at is None else (x[:, node.attribute] >= node.at).astype(int)
    for value, child in node.children.items():
        rows = branch == value
        if rows.any():
            found[rows] = predict(child, x[rows])
    return found


def accuracy(train, test, *, epsilon: str, seed: int, depth: int = DEPTH) -> float:
    """Grow on the rows of one table, ask about those of another; both have the income as target."""
    names = [attribute.name for attribute in train.schema.quasi]
    goal = next(attribute.name for attribute in train.schema.attributes if attribute.role == "target")
    columns = [Column(train.schema[name].size, train.schema[name].kind == "numeric") for name in names]
    x, y = train.codes(names), train.codes([goal])[:, 0]
    draw = Drawn(Entropy.seeded(seed).child("rival"))
    grower = Grower(columns, train.schema[goal].size, Fraction(epsilon), depth, draw)
    ranges = {at: (0, column.size) for at, column in enumerate(columns) if column.numeric}
    tree = grower.grow(x, y, list(range(len(columns))), ranges, depth)
    return float(np.mean(predict(tree, test.codes(names)) == test.codes([goal])[:, 0]))
