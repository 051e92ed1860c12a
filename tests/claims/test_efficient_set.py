"""The efficient set against its definition: all pairs."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from sfumato.frontiers import efficient_set

FEW = st.sampled_from([0.0, -0.0, 0.1, 0.2, 0.1 + 0.2, 0.3, 1.0, math.inf])  # ties are the point
ANY = st.one_of(FEW, st.floats(allow_nan=True, allow_infinity=True))
POINTS = st.lists(st.tuples(ANY, ANY), max_size=14)


def by_definition(points):
    """No other point with x <= and y <= and at least one strict; NaN has no place."""
    found = []
    for x, y in points:
        beaten = any(a <= x and b <= y and (a < x or b < y) for a, b in points)
        found.append(not (math.isnan(x) or math.isnan(y)) and not beaten)
    return found


def of(points, function=efficient_set):
    return function([x for x, _ in points], [y for _, y in points])


@given(POINTS)
def test_equals_all_pairs(points):
    assert of(points) == by_definition(points)


@given(POINTS, st.randoms())
def test_the_order_of_the_points_does_not_matter(points, random):
    places = list(range(len(points)))
    random.shuffle(places)
    shuffled = of([points[at] for at in places])
    assert shuffled == [of(points)[at] for at in places]


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        ([], []),
        ([(1, 1)], [True]),
        ([(1, 1), (1, 1), (2, 0)], [True, True, True]),  # an exact tie: both stay
        ([(1, 1), (1, 2)], [True, False]),  # equal x
        ([(1, 1), (2, 1)], [True, False]),  # equal y
        ([(0.3, 1), (0.1 + 0.2, 1)], [True, False]),  # the next float is no tie
        ([(0, math.nan), (1, 1)], [False, True]),
        ([(0, math.inf), (1, math.inf)], [True, False]),
        ([(0, math.inf), (1, 1)], [True, True]),
    ],
)
def test_named_shapes(points, expected):
    assert of(points) == expected == by_definition(points)


def strict_only(x, y):
    """Wrong: a point beaten on one axis and equal on the other stays."""
    return [not any(a < x[i] and b < y[i] for a, b in zip(x, y, strict=True)) for i in range(len(x))]


def one_of_a_tie(x, y):
    """Wrong: of equal points only the first stays."""
    found, seen = [], set()
    for at, mark in enumerate(efficient_set(x, y)):
        found.append(mark and (x[at], y[at]) not in seen)
        seen.add((x[at], y[at]))
    return found


def rounded(x, y):
    """Wrong: floats that print alike are taken as equal."""
    return efficient_set([round(v, 6) for v in x], [round(v, 6) for v in y])


@pytest.mark.parametrize(
    ("mutant", "points"),
    [
        (strict_only, [(1.0, 1.0), (1.0, 2.0)]),
        (one_of_a_tie, [(1.0, 1.0), (1.0, 1.0)]),
        (rounded, [(0.3, 1.0), (0.1 + 0.2, 1.0)]),
    ],
)
def test_wrong_mutants_are_caught(mutant, points):
    assert of(points, mutant) != by_definition(points)
    assert of(points) == by_definition(points)
