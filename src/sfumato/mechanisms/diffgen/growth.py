"""Grow the cuts: select a value, specialize it, again. Every choice goes through a `Draw`.

Source    Mohammed, Chen, Fung & Yu, KDD 2011, algorithm 1, lines 4-11. One-way tables instead of a tree of records:
          cuts are global, so every score is a sum over one attribute's (code x class) table.
Claim     The choices made are epsilon-DP for the sum of what they draw: a step for each selection, and with splits
          drawn ahead one for each grid attribute and one for each specialization of an interval.
Because   candidates follow from the schema and from earlier choices, never from the data; each choice is an
          exponential mechanism (or permute-and-flip) on scores of known sensitivity, less handicaps that follow from
          the same (diffgen_handicaps). The two halves of an interval share no row, so both
          splits together cost one step.
Checked   tests/claims/test_diffgen.py::test_the_whole_mechanism_keeps_its_epsilon
          tests/claims/test_diffgen.py::test_one_way_tables_score_as_the_tree_of_records
          tests/claims/test_audit.py::test_every_trap_has_a_mutant_that_is_caught
          tests/claims/test_adversary_dp.py::test_missing_values_cost_nothing_more_in_cells
Silent on how good the cuts are.
Cost      One-way: O(rows x attributes) once, then domain sizes. In cells: one pass a step and attribute. Where codes
          times classes is large, tables are not made and scores cost a sort of the rows (diffgen_sparse).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Literal, Protocol

import numpy as np

from sfumato.arrays import whole_sums
from sfumato.counts import Cuts
from sfumato.mechanisms.diffgen.scores import Rows, Score, sparse_scores
from sfumato.randomness import Entropy, exponential_choice, permute_and_flip
from sfumato.randomness.enclosure import context
from sfumato.schema import Attribute, Labels

# The cut of each attribute as DiffGen grows it: nodes of public trees, intervals of public grids.
#
# Source    Mohammed, Chen, Fung & Yu, KDD 2011, definition 3.3 and section 4.1 (cuts); outer runs of splits: eq. (7).
# Claim     Which nodes there are, and every way to specialize each, follows from the schema and from the choices
#           already made; a cut always holds each code once.
# Because   nothing here takes data. A node is replaced by children that divide it.
# Checked   tests/unit/mechanisms/test_diffgen_parameters.py::test_nodes
#           tests/unit/mechanisms/test_diffgen_parameters.py::test_cuts_and_labels_agree
# Silent on who chooses, and by which law.

GRID = -1  # `tree` of a node that is an interval of the grid


@dataclass(frozen=True, slots=True, order=True)
class Node:
    """Codes `[low, high)` of one attribute; `tree` is its node in the public tree, or GRID."""

    low: int
    _: KW_ONLY
    high: int
    tree: int = GRID
    closed: bool = False  # the part that holds the missing values: never specialized

    def children(self, attribute: Attribute) -> tuple[Node, ...]:
        """Child nodes in the tree; chains of single children are passed over. Empty for a leaf or an interval."""
        if self.tree == GRID or self.closed:
            return ()
        tree, node = attribute.nodes, self.tree
        below = tree.children[node]
        while len(below) == 1:
            below = tree.children[below[0]]
        return tuple(Node(int(tree.low[c]), high=int(tree.high[c]), tree=c) for c in below)

    def splits(self) -> np.ndarray:
        """Grid points at which the interval may be split, the outer runs included; empty for a tree node."""
        if self.tree != GRID or self.closed:
            return np.zeros(0, np.int64)
        return np.arange(self.low + 1, self.high, dtype=np.int64)

    def split(self, point: int) -> tuple[Node, Node]:
        """Return the two halves."""
        return Node(self.low, high=point), Node(point, high=self.high)


Cut = tuple[Node, ...]


def by_splits(attribute: Attribute) -> bool:
    """Whether an attribute is split on its grid: numbers, dates and ranks for which no hierarchy was declared."""
    return attribute.ordered and not attribute.declared_tree


def root_cut(attribute: Attribute) -> Cut:
    """Return the topmost cut. On a grid, missing values are a public part of their own from the start."""
    if not by_splits(attribute):
        return (Node(0, high=attribute.size, tree=0),)
    missing = attribute.missing_code
    if missing is None:
        return (Node(0, high=attribute.size),)
    return Node(0, high=missing), Node(missing, high=missing + 1, closed=True)


def widest_step(attribute: Attribute) -> int:
    """Return how many cells one specialization of this attribute can at most make of one."""
    if by_splits(attribute):
        return min(2, attribute.size)
    return max((len(below) for below in attribute.nodes.children), default=1)


def most_combinations(attributes: Sequence[Attribute], steps: int) -> int:
    """Return at most how many combinations of labels so many specializations lead to, whichever they are.

    Each adds the children of a node less one. The nodes of an attribute are taken in falling order, also below others,
    and the attributes by what multiplies the product most: no other choice has a larger one.
    """
    found, gains = [len(root_cut(a)) for a in attributes], [_gains(a, steps) for a in attributes]
    for _ in range(steps):
        open_ = [at for at, more in enumerate(gains) if more]
        if not open_:
            break
        at = max(open_, key=lambda at: Fraction(gains[at][-1], found[at]))
        found[at] += gains[at].pop()
    return math.prod(found)


def _gains(attribute: Attribute, steps: int) -> list[int]:
    """Return how many labels each specialization of an attribute can add, in rising order, the last `steps`."""
    if by_splits(attribute):
        return [1] * min(steps, attribute.size - len(root_cut(attribute)))
    return sorted(len(below) - 1 for below in attribute.nodes.children if len(below) > 1)[-steps:]


def replaced(cut: Cut, node: Node, children: Sequence[Node]) -> Cut:
    """Return the cut with a node replaced by its children, in code order."""
    at = cut.index(node)
    return (*cut[:at], *children, *cut[at + 1 :])


def cut_labels(attribute: Attribute, cut: Cut) -> Labels:
    """Return the labels of a cut, in code order: label i is node i."""
    low = np.array([node.low for node in cut], np.int64)
    high = np.array([node.high for node in cut], np.int64)
    return Labels(attribute, np.arange(len(cut) + 1, dtype=np.int64), low, high)


def recoding_of_cuts(attributes: Sequence[Attribute], cuts: Sequence[Cut] | None) -> Cuts:
    """Return the lookup code -> label of each attribute (no cuts: every code by itself).

    It is public, since the cuts are part of the release.
    """
    if cuts is None:
        labels = tuple(np.arange(attribute.size, dtype=np.int32) for attribute in attributes)
    else:
        labels = tuple(np.repeat(np.arange(len(cut)), [n.high - n.low for n in cut]).astype(np.int32) for cut in cuts)
    return Cuts(tuple(attribute.name for attribute in attributes), labels=labels)


# What is public in a choice beside its scores: its share of the budget, and what is taken off a score beforehand.
#
# Source    Ours; docs/theory/diffgen.md, Handicaps. Permute-and-flip: McKenna & Sheldon, NeurIPS 2020.
# Claim     Every number here is a function of the parameters, the schema and the choices made so far.
# Because   nothing here takes data. A public number taken off a score changes neither how far one row moves it nor
#           in which direction.
# Checked   tests/claims/test_diffgen.py::test_the_whole_mechanism_keeps_its_epsilon
#           tests/claims/test_audit.py::test_every_trap_has_a_mutant_that_is_caught
#           tests/unit/mechanisms/test_diffgen_parameters.py::test_handicaps_are_whole_and_public
# Silent on whether the handicaps are the best ones.

LEAST = 3  # specializations at epsilon 1/10 and below
FROM = Fraction(1, 10)
_DIGITS = context(40)  # not the caller's: the same handicap everywhere


def shares(many: int, ratio: Fraction) -> list[Fraction]:
    """Divide 1 among choices in order, each getting `ratio` times what the one before gets.

    >>> shares(3, Fraction(2))
    [Fraction(1, 7), Fraction(2, 7), Fraction(4, 7)]
    """
    parts = [ratio**at for at in range(many)]
    return [part / sum(parts) for part in parts]


def affordable(epsilon: Fraction) -> int:
    """Return how many specializations an epsilon pays for: 3 at 1/10, one more each time it doubles.

    >>> [affordable(Fraction(e)) for e in ("0.05", "0.1", "0.25", "0.5", "1", "2")]
    [3, 3, 4, 5, 6, 7]
    """
    found = LEAST
    while epsilon >= 2 * FROM:
        epsilon, found = epsilon / 2, found + 1
    return found


def for_ways(ways: Sequence[int], epsilon: Fraction, score: Score) -> list[int]:
    """Return what each way to specialize a value is set back, so that a value with many ways counts as one.

    It is ln(ways) in units of the score: the best of m equal scores leads by about as much.
    """
    unit = score.sensitivity * (1 if score.monotone else 2) / epsilon
    return [math.floor(Fraction(Decimal(int(many)).ln(_DIGITS)) * unit) for many in ways]


def for_new_cells(borders: Sequence[np.ndarray], held: Sequence[int], price: Fraction, score: Score) -> list[int]:
    """Return what each value is set back for the cells it adds; `held` is how many cells its node has now."""
    return [
        math.floor(price * many * (ways.shape[1] - 2) * score.row) for ways, many in zip(borders, held, strict=True)
    ]


WHOLE = 1 << 32  # base measure of one value; an interval shares it among its split points
CHUNK = 1 << 21  # entries of a table of cells held at once
ONE_TABLE = 1 << 20  # codes x classes up to which a one-way table is made
CELL_TABLE = 1 << 12  # the same for the table of each cell


class Draw(Protocol):
    """Makes the choices: from entropy, or (in an audit) by walking all of them."""

    def choose(self, scores: np.ndarray, *, epsilon: Fraction, score: Score, weights: np.ndarray | None = None) -> int:
        """Exponential mechanism; `weights` is a base measure."""
        ...

    def flip(self, scores: np.ndarray, *, epsilon: Fraction, score: Score) -> int:
        """Permute and flip."""
        ...


@dataclass(frozen=True)
class Drawn:
    """Choices drawn from entropy."""

    entropy: Entropy

    def choose(self, scores: np.ndarray, *, epsilon: Fraction, score: Score, weights: np.ndarray | None = None) -> int:
        """Exponential mechanism."""
        return exponential_choice(
            scores, epsilon, score.sensitivity, self.entropy, monotone=score.monotone, weights=weights
        )

    def flip(self, scores: np.ndarray, *, epsilon: Fraction, score: Score) -> int:
        """Permute and flip."""
        return permute_and_flip(scores, epsilon, score.sensitivity, self.entropy, monotone=score.monotone)


class Tables(Protocol):
    """Class counts along the codes of each attribute, in each cell of the cuts so far."""

    def scored(self, at: int, asked: list[np.ndarray], score: Score) -> list[np.ndarray]:
        """Return the scores of each way to specialize some nodes of an attribute, summed over the cells."""
        ...

    def specialize(self, at: int, node: Node, children: Sequence[Node]) -> None:
        """Take note of a specialization."""
        ...


class OneWay:
    """The d one-way tables, each as one cell that holds all rows. Specializing changes nothing."""

    def __init__(
        self, sizes: Sequence[int], codes: np.ndarray, weights: np.ndarray, label: np.ndarray, classes: int
    ) -> None:
        self._sizes, self._codes, self._weights, self._label = sizes, codes, weights, label
        self._tables = {}
        for at, size in enumerate(sizes):
            if size * classes <= ONE_TABLE:
                key = codes[:, at].astype(np.int64) * classes + label
                self._tables[at] = _running(whole_sums(key, weights, size * classes).reshape(1, size, classes))

    def along(self, at: int) -> Iterator[np.ndarray]:
        """Yield the table of one attribute: running class counts, 1 x (size + 1) x classes."""
        yield self._tables[at]

    def scored(self, at: int, asked: list[np.ndarray], score: Score) -> list[np.ndarray]:
        """Return the scores of each way to specialize some nodes."""
        if at in self._tables:
            return _dense_scores(self.along(at), asked, score)
        cell = np.zeros(len(self._weights), np.int64)
        rows = Rows(self._codes[:, at].astype(np.int64), cell=cell, label=self._label, weight=self._weights)
        return sparse_scores(rows, asked, score, self._sizes[at])

    def specialize(self, at: int, node: Node, children: Sequence[Node]) -> None:
        """Do nothing: a score does not depend on the other attributes' cuts."""


class CellTables:
    """The tables of one attribute inside each cell of the cuts so far."""

    def __init__(
        self, sizes: Sequence[int], codes: np.ndarray, weights: np.ndarray, label: np.ndarray, classes: int
    ) -> None:
        self._sizes, self._codes, self._weights, self._label = sizes, codes, weights, label
        self._classes = classes
        self._cell, self._cells = np.zeros(len(weights), np.int64), 1

    def scored(self, at: int, asked: list[np.ndarray], score: Score) -> list[np.ndarray]:
        """Return the scores of each way to specialize some nodes, summed over the cells."""
        if self._sizes[at] * self._classes <= CELL_TABLE:
            return _dense_scores(self.along(at), asked, score)
        rows = Rows(self._codes[:, at].astype(np.int64), cell=self._cell, label=self._label, weight=self._weights)
        return sparse_scores(rows, asked, score, self._sizes[at])

    def along(self, at: int) -> Iterator[np.ndarray]:
        """Yield running class counts, cells x (size + 1) x classes; cells in chunks, so that memory stays bounded."""
        size, classes = self._sizes[at], self._classes
        many = max(1, CHUNK // (size * classes))
        key = (self._cell * size + self._codes[:, at]) * classes + self._label
        for first in range(0, self._cells, many):
            count = min(many, self._cells - first)
            held = slice(None) if count == self._cells else (self._cell >= first) & (self._cell < first + count)
            part = whole_sums(key[held] - first * size * classes, self._weights[held], count * size * classes)
            yield _running(part.reshape(count, size, classes))

    def specialize(self, at: int, node: Node, children: Sequence[Node]) -> None:
        """Divide the cells below the node; cells are numbered again, those without a row left out."""
        bounds = np.array([child.low for child in children[1:]])
        part = np.searchsorted(bounds, self._codes[:, at], side="right")
        outside = (self._codes[:, at] < node.low) | (self._codes[:, at] >= node.high)
        part[outside] = len(children)
        # Where the attribute was cut before, other nodes are cells of their own already.
        key = self._cell * (len(children) + 1) + part
        if self._cells * (len(children) + 1) > CHUNK:  # a table of all pairs could be far larger than the rows
            used, number = np.unique(key, return_inverse=True)
            self._cell, self._cells = number.ravel().astype(np.int64), max(1, len(used))
            return
        taken = np.zeros(self._cells * (len(children) + 1), bool)
        taken[key] = True
        self._cell, self._cells = (np.cumsum(taken) - 1)[key], max(1, int(taken.sum()))


def _dense_scores(tables: Iterator[np.ndarray], asked: list[np.ndarray], score: Score) -> list[np.ndarray]:
    totals = [np.zeros(len(borders), np.int64) for borders in asked]
    for running in tables if asked else ():
        for place, borders in enumerate(asked):
            counts = running[:, borders[:, 1:]] - running[:, borders[:, :-1]]  # cells x ways x children x classes
            cells = len(counts)
            each = score.of(counts.reshape(-1, *counts.shape[2:]))
            totals[place] += each.reshape(cells, len(borders)).sum(axis=0)
    return totals


def _running(tables: np.ndarray) -> np.ndarray:
    found = np.zeros((tables.shape[0], tables.shape[1] + 1, tables.shape[2]), np.int64)
    np.cumsum(tables, axis=1, out=found[:, 1:])
    return found


@dataclass(frozen=True, slots=True)
class Steps:
    """The public rules of a growth."""

    specializations: int
    _: KW_ONLY
    epsilon: Fraction  # of one split drawn ahead, for one row
    each: tuple[Fraction, ...]  # of each selection, for one row
    score: Score
    first: Score  # of the first selection
    splits: Literal["ahead", "together"]
    selection: Literal["exponential", "permute-and-flip"]
    cell_price: Fraction = Fraction(0)  # rows that a new cell must bring


@dataclass(frozen=True, slots=True)
class Growth:
    """The cuts after each specialization, the topmost first, and how many steps were paid for."""

    cuts: tuple[tuple[Cut, ...], ...]
    _: KW_ONLY
    initial_splits: int
    selections: int
    later_splits: int


def grow(attributes: Sequence[Attribute], tables: Tables, *, steps: Steps, draw: Draw) -> Growth:
    """Run the algorithm; it stops early where nothing is left to specialize."""
    growing = _Growing(attributes, tables, steps, draw)
    initial = growing.initial_splits()
    selections = later = 0
    for step in range(steps.specializations):
        candidates = growing.candidates()
        if not candidates:
            break
        at, node, children = growing.select(candidates, steps.score if step else steps.first, steps.each[step])
        selections += 1
        growing.specialize(at, node, children)
        if steps.splits == "ahead" and step + 1 < steps.specializations:  # line 9; useless in the last round
            later += growing.draw_splits(at, children)
    return Growth(tuple(growing.history), initial_splits=initial, selections=selections, later_splits=later)


# attribute, node, the borders of each way to specialize it (ways x (children + 1))
Candidate = tuple[int, Node, np.ndarray]


class _Growing:
    def __init__(self, attributes: Sequence[Attribute], tables: Tables, steps: Steps, draw: Draw) -> None:
        self.attributes, self.tables, self.steps, self.draw = attributes, tables, steps, draw
        self.cuts = [root_cut(attribute) for attribute in attributes]
        self.history = [tuple(self.cuts)]
        self.points: dict[tuple[int, Node], int] = {}
        for at, cut in enumerate(self.cuts):
            if len(cut) > 1:  # missing values: without cells of their own the current table's sum does not cancel
                tables.specialize(at, Node(0, high=attributes[at].size), cut)

    def initial_splits(self) -> int:
        """Line 4: a split for each grid attribute, one step each, also where there is but one cell."""
        if self.steps.splits == "together":
            return 0
        for at, attribute in enumerate(self.attributes):
            if by_splits(attribute):
                self.draw_splits(at, self.cuts[at])
        return sum(by_splits(attribute) for attribute in self.attributes)

    def draw_splits(self, at: int, nodes: Sequence[Node]) -> bool:
        """Draw the split of each interval that has one; they share no row, so it is one step. Tell whether any had."""
        drawn = False
        for node in nodes:
            points = node.splits()
            if len(points):
                [scores] = self.tables.scored(at, [_at_points(node, points)], self.steps.score)
                chosen = self.draw.choose(scores, epsilon=self.steps.epsilon, score=self.steps.score)
                self.points[at, node] = int(points[chosen])
                drawn = True
        return drawn

    def candidates(self) -> list[Candidate]:
        """Every value of every cut that can be specialized by a public rule, empty ones included."""
        found = []
        for at, attribute in enumerate(self.attributes):
            for node in self.cuts[at]:
                children, points = node.children(attribute), node.splits()
                if children:
                    found.append((at, node, np.array([[*(child.low for child in children), node.high]])))
                elif len(points):
                    if self.steps.splits == "ahead":
                        points = np.array([self.points[at, node]])
                    found.append((at, node, _at_points(node, points)))
        return found

    def select(
        self, candidates: list[Candidate], score: Score, epsilon: Fraction
    ) -> tuple[int, Node, tuple[Node, ...]]:
        """Line 7. With splits chosen together, each way to specialize a value is a candidate of its own."""
        scores: list[np.ndarray] = []
        for at in range(len(self.attributes)):
            scores += self.tables.scored(at, [borders for place, _, borders in candidates if place == at], score)
        ways = np.array([len(borders) for _, _, borders in candidates])
        flat, rules = np.concatenate(scores), self.steps
        if rules.cell_price:
            cells = math.prod(len(cut) for cut in self.cuts)
            held = [cells // len(self.cuts[at]) for at, _, _ in candidates]
            back = for_new_cells([borders for _, _, borders in candidates], held, rules.cell_price, score)
            flat = _set_back(flat, back, ways)
        if rules.selection == "permute-and-flip":
            if rules.splits == "together":
                flat = _set_back(flat, for_ways(ways.tolist(), epsilon, score), ways)
            chosen = self.draw.flip(flat, epsilon=epsilon, score=score)
        else:
            weights = np.repeat(WHOLE // ways, ways) if rules.splits == "together" else None
            chosen = self.draw.choose(flat, epsilon=epsilon, score=score, weights=weights)
        which = int(np.searchsorted(np.cumsum(ways), chosen, side="right"))
        at, node, borders = candidates[which]
        children = node.children(self.attributes[at])
        if not children:
            children = node.split(int(borders[chosen - int(ways[:which].sum()), 1]))
        return at, node, children

    def specialize(self, at: int, node: Node, children: Sequence[Node]) -> None:
        """Line 8."""
        self.cuts[at] = replaced(self.cuts[at], node, children)
        self.history.append(tuple(self.cuts))
        self.tables.specialize(at, node, children)


def _at_points(node: Node, points: np.ndarray) -> np.ndarray:
    ends = np.ones(len(points), np.int64)
    return np.column_stack([node.low * ends, points, node.high * ends])


def _set_back(scores: np.ndarray, back: list[int], ways: np.ndarray) -> np.ndarray:
    """Take a handicap off the scores of each value. Objects where whole numbers could leave int64."""
    small = max(back) < 1 << 60
    taken = np.repeat(np.array(back, np.int64 if small else object), ways)
    found: np.ndarray = (scores if small else scores.astype(object)) - taken
    return found
