"""Does one row move a score by no more than its sensitivity, and is a smaller one wrong?"""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from sfumato.mechanisms.diffgen.scores import SCORES, information_gain, max_score, score_of
from sfumato.randomness import STEPS

SMALL = [
    np.array(counts, np.int64).reshape(2, 2)
    for counts in itertools.product(range(4), repeat=4)
]  # fmt: skip


def moves(score, children):
    """What adding one row to each child and class does to the score."""
    for part, label in itertools.product(range(children.shape[0]), range(children.shape[1])):
        more = children.copy()
        more[part, label] += 1
        before, after = score.of(np.stack([children, more]))
        yield int(after - before)


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("paper", [False, True])
def test_no_row_moves_a_score_by_more_than_its_sensitivity(name, paper):
    score = score_of(name, classes=2, paper=paper)
    for children in SMALL:
        for move in moves(score, children):
            assert abs(move) <= score.sensitivity
            assert move >= 0 or not score.monotone


@given(
    st.integers(2, 4).flatmap(
        lambda classes: st.lists(
            st.lists(st.integers(0, 60), min_size=classes, max_size=classes), min_size=2, max_size=4
        )
    )
)
@settings(max_examples=150)
def test_no_row_moves_larger_tables_either(counts):
    children = np.array(counts, np.int64)
    for name in SCORES:
        score = score_of(name, classes=children.shape[1])
        assert max(abs(move) for move in moves(score, children)) <= score.sensitivity


@pytest.mark.parametrize("name", ["max", "gini"])
def test_in_cells_only_one_cell_moves(name):
    """Refined sums over all cells: within 1 (max: never down); what is subtracted is the same for all candidates."""
    score = score_of(name, classes=2, in_cells=True)
    for children in SMALL:
        for part, label in itertools.product(range(2), repeat=2):
            more = children.copy()
            more[part, label] += 1
            move = int((score.summed(more) - score.summed(children)).sum())
            assert abs(move) <= score.sensitivity
            assert name != "max" or move >= 0


def test_sensitivities_are_tight():
    """max and infogain reach theirs; gini comes as near to 2 (in cells 1) as one likes."""
    assert max(max(moves(score_of("max", classes=2), c)) for c in SMALL) == 1
    gain = score_of("infogain", classes=2)
    assert max(max(moves(gain, c)) for c in SMALL) == STEPS
    gini = score_of("gini", classes=2)
    rising = np.array([[1000, 0], [0, 0]], np.int64)
    assert max(moves(gini, rising)) > 1.99 * STEPS
    falling = np.array([[10**6, 0], [0, 10**3]], np.int64)
    assert min(moves(gini, falling)) < -1.99 * STEPS


def test_a_smaller_sensitivity_is_caught():
    """The mutant that takes gini's sensitivity for 1, as in cells, is refuted by a table."""
    wrong = score_of("gini", classes=2, in_cells=True)
    assert any(abs(move) > wrong.sensitivity for children in SMALL for move in moves(wrong, children))
    monotone = score_of("gain", classes=2)
    assert any(move < 0 for children in SMALL for move in moves(monotone, children))


def test_information_gain_has_sensitivity_one_for_many_classes():
    """Theory A3-1: one bit, not log2 of the number of classes, which the paper takes."""
    assert score_of("infogain", classes=10).sensitivity == STEPS + 1
    assert score_of("infogain", classes=10, paper=True).sensitivity > 3.3 * STEPS
    assert score_of("infogain", classes=4, paper=True).sensitivity >= 2 * STEPS + 1


@given(st.lists(st.lists(st.integers(0, 500), min_size=3, max_size=3), min_size=1, max_size=4))
def test_whole_number_scores_are_the_formulas(counts):
    children = np.array([counts], np.int64)
    assert score_of("max", classes=3).of(children)[0] == max_score(counts)
    assert abs(score_of("infogain", classes=3).of(children)[0] / STEPS - information_gain(counts)) < 1e-6
    square = lambda c: Fraction(sum(n * n for n in c), sum(c)) if sum(c) else Fraction(0)  # noqa: E731
    exact = sum(map(square, counts)) - square([sum(column) for column in zip(*counts, strict=True)])
    assert abs(score_of("gini", classes=3).of(children)[0] - exact * STEPS) <= len(counts)


def test_squares_are_exact_for_a_billion_rows():
    n = 2**30
    score = score_of("gini", classes=2)
    assert score.summed(np.array([[n, n]]))[0] == n * STEPS


@pytest.mark.parametrize("name", ["max", "gini"])
@pytest.mark.parametrize("largest", [1_518_500_250, 3_037_000_500, 1 << 40])
def test_a_square_that_int64_can_not_hold_does_not_wrap_around(name, largest):
    """Where n^2 leaves int64 a wrapped score would move by 10^12 steps for one row."""
    score = score_of(name, classes=2)
    for children in (np.array([[largest - 1, 3], [largest, 0]]), np.array([[2 * largest - 1, 0], [0, largest]])):
        assert max(abs(move) for move in moves(score, children)) <= score.sensitivity
