"""The rival of figure 4: whole trees keep epsilon exactly, and a path spends no more than it was given."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest
from benchmarks import diffp_c45 as rival

from sfumato.attacks.audit import Walk, walked
from sfumato.randomness import Entropy, discrete_laplace_pmf, discrete_laplace_tail, exponential_choice_pmf

STEP = Fraction(1, 2)


def points_pmf(codes, classes, low, high):
    """Probability of every split point: the run's, spread evenly over it."""
    scores, lengths, starts = rival.max_scores(np.array(codes, int), np.array(classes, int), 2, low, high)
    found = {}
    for share, length, start in zip(
        exponential_choice_pmf(scores, STEP, 1, weights=lengths), lengths, starts, strict=True
    ):
        found |= {int(start) + step: float(share) / int(length) for step in range(int(length))}
    return found


def brute_score(codes, classes, at):
    sides = [[c for v, c in zip(codes, classes, strict=True) if (v < at) == left] for left in (True, False)]
    return sum(max(side.count(0), side.count(1)) for side in sides)


ROWS = [(value, label) for value in range(4) for label in (0, 1)]


@pytest.mark.parametrize("rows", [(), *product(ROWS, repeat=1), *list(product(ROWS, repeat=2))[::5]])
def test_split_points_keep_epsilon_for_every_added_row(rows):
    codes, classes = [r[0] for r in rows], [r[1] for r in rows]
    here = points_pmf(codes, classes, 0, 4)
    weights = {at: math.exp(brute_score(codes, classes, at) / 4) for at in (1, 2, 3)}
    assert here == pytest.approx({at: w / sum(weights.values()) for at, w in weights.items()})
    for more in ROWS:
        there = points_pmf([*codes, more[0]], [*classes, more[1]], 0, 4)
        assert here.keys() == there.keys()  # outer runs are never left out
        assert max(abs(math.log(here[at] / there[at])) for at in here) <= float(STEP) + 1e-12


def grown(epsilon, rows=400):
    rng = np.random.default_rng(1)
    columns = [rival.Column(50, numeric=True), rival.Column(3, numeric=False), rival.Column(8, numeric=True)]
    x = np.column_stack([rng.integers(0, column.size, rows) for column in columns])
    y = (x[:, 0] >= 20).astype(int)
    grower = rival.Grower(columns, 2, Fraction(epsilon), 3, rival.Drawn(Entropy.seeded(5)))
    tree = grower.grow(x, y, [0, 1, 2], {0: (0, 50), 2: (0, 8)}, 3)
    return grower, tree, x, y


@pytest.mark.parametrize("epsilon", ["0.1", "1", "40"])
def test_no_path_spends_more_than_epsilon(epsilon):
    grower, *_ = grown(epsilon)
    assert 0 < max(grower.spent) <= Fraction(epsilon)


def test_with_a_large_budget_it_learns():
    _, tree, x, y = grown("4000")
    assert np.mean(rival.predict(tree, x) == y) >= 0.95
    assert tree.children


class Walked(Walk):
    """The four questions answered by their exact laws, one path of answers at a time."""

    factor = 1  # a mutant asks each choice with a larger budget than its step

    def reaches(self, count, least, step):
        yes = discrete_laplace_tail(step, least - count)
        return self.taken([yes, 1 - yes]) == 0

    def point(self, scores, lengths, starts, step):
        law = exponential_choice_pmf(scores, self.factor * step, 1, weights=[int(n) for n in lengths])
        single = [share / int(n) for share, n in zip(law, lengths, strict=True) for _ in range(int(n))]
        points = [int(start) + more for start, n in zip(starts, lengths, strict=True) for more in range(int(n))]
        return points[self.taken(single)]

    def attribute(self, scores, step):
        return self.taken(exponential_choice_pmf(scores, self.factor * step, 1))

    def label(self, counts, step):
        return self.taken(largest_noisy(tuple(int(c) for c in counts), step))


@cache
def largest_noisy(counts, step):
    """Law of the larger of two noisy counts; a tie goes to the first. What is left out is below 1e-30."""
    first, second = counts
    reach = int(80 / step)
    # The first wins when second + noise <= its own value.
    wins = sum(
        discrete_laplace_pmf(step, j) * (1 - discrete_laplace_tail(step, first + j - second + 1))
        for j in range(-reach, reach + 1)
    )
    return [wins, 1 - wins]


COLUMNS = [rival.Column(3, numeric=True), rival.Column(2, numeric=False)]
CELLS = [(v, w, label) for v in range(3) for w in range(2) for label in range(2)]
EPSILON = Fraction(4)


def said(node):
    """What a reader sees of a tree."""
    return (node.label, node.attribute, node.at, tuple((v, said(child)) for v, child in node.children.items()))


def tree_law(rows, depth, walk=Walked):
    x = np.array([row[:2] for row in rows], int).reshape(-1, 2)
    y = np.array([row[2] for row in rows], int)

    def run(draw):
        return rival.Grower(COLUMNS, 2, EPSILON, depth, draw).grow(x, y, [0, 1], {0: (0, 3)}, depth)

    law = {}
    for chance, tree in walked(run, walk):
        law[said(tree)] = law.get(said(tree), Decimal(0)) + chance
    return law


def largest_loss(one, other):
    assert one.keys() == other.keys()
    return max(abs(float((one[tree] / other[tree]).ln())) for tree in one)


TABLES = [
    (),
    ((0, 0, 0), (2, 1, 1)),
    tuple((v, w, int(v == 2)) for v in range(3) for w in range(2)) * 2,
    ((1, 0, 0),) * 9 + ((2, 1, 1),) * 8,
]


@pytest.mark.parametrize("depth", [1, pytest.param(2, marks=pytest.mark.full)])
@pytest.mark.parametrize("rows", TABLES)
def test_the_law_of_whole_trees_keeps_epsilon(rows, depth):
    here = tree_law(rows, depth)
    assert float(sum(here.values())) == pytest.approx(1, abs=1e-12)
    worst = max(largest_loss(here, tree_law((*rows, more), depth)) for more in CELLS)
    assert 0.05 < worst <= float(EPSILON)


class Overspending(Walked):
    factor = 40


def test_a_rival_that_overspends_on_its_choices_is_caught():
    rows = TABLES[2] * 4
    losses = [largest_loss(tree_law(rows, 1, Overspending), tree_law((*rows, more), 1, Overspending)) for more in CELLS]
    assert max(losses) > float(EPSILON)


class OwnThreshold(Walked):
    """A rival that compares the true count, not the noisy one."""

    def reaches(self, count, least, step):
        return count >= least


def test_a_rival_that_looks_at_the_true_count_is_caught():
    least = rival.needed(2, 2, rival.step_epsilon(EPSILON, 1, 1))
    rows = (TABLES[2] * 4)[: least - 1]
    assert tree_law(rows, 1, OwnThreshold).keys() != tree_law((*rows, CELLS[0]), 1, OwnThreshold).keys()


def test_the_walk_is_the_law_of_the_real_draws():
    rows, many = TABLES[2] * 2, 4000
    law = tree_law(rows, 1)
    x, y = np.array([row[:2] for row in rows]), np.array([row[2] for row in rows])
    draw = rival.Drawn(Entropy.seeded(21))
    seen = {}
    for _ in range(many):
        tree = said(rival.Grower(COLUMNS, 2, EPSILON, 1, draw).grow(x, y, [0, 1], {0: (0, 3)}, 1))
        seen[tree] = seen.get(tree, 0) + 1
    assert seen.keys() <= law.keys()
    for tree, chance in law.items():
        expected = many * float(chance)
        assert abs(seen.get(tree, 0) - expected) <= 5 * math.sqrt(expected + 1)
