"""The rival of figure 4: its choices keep their epsilon exactly, and a path spends no more than it was given."""

from __future__ import annotations

import importlib.util
import math
import sys
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from sfumato.randomness import Entropy, exponential_choice_pmf

PATH = Path(__file__).resolve().parents[2] / "benchmarks" / "diffp_c45.py"
spec = importlib.util.spec_from_file_location("diffp_c45", PATH)
rival = importlib.util.module_from_spec(spec)
sys.modules["diffp_c45"] = rival
spec.loader.exec_module(rival)

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
    grower = rival.Grower(columns, 2, Fraction(epsilon), 3, Entropy.seeded(5))
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
