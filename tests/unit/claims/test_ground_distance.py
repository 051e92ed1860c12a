from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sfumato.claims import Ground, TCloseness
from sfumato.errors import ParameterError

TREE = Ground.hierarchical([-1, 0, 0, 1, 1, 2, 2], [3, 4, 5, 6])


def distance(ground, overall, row):
    return TCloseness(1, distance="emd").found([row], overall, ground=ground)


def test_salaries_of_the_t_closeness_paper():
    """ICDE 2007: {3k, 4k, 5k} against 3k..11k is 0.375, {6k, 8k, 11k} is 0.167 (rounded)."""
    overall = [1] * 9
    assert distance(Ground.ordered(), overall, [1, 1, 1, 0, 0, 0, 0, 0, 0]) == Fraction(3, 8)
    assert distance(Ground.ordered(), overall, [0, 0, 0, 1, 0, 1, 0, 0, 1]) == Fraction(1, 6)


def test_equal_is_half_the_city_block():
    assert distance(Ground.equal(), [5, 5], [1, 0]) == Fraction(1, 2)


def test_ranks_skip_values_that_do_not_occur():
    assert distance(Ground.ordered(), [1, 0, 0, 1], [1, 0, 0, 0]) == Fraction(1, 2)
    assert distance(Ground.ordered(), [1, 1, 1, 1], [1, 0, 0, 0]) == Fraction(1, 2)
    assert distance(Ground.ordered(), [4, 0, 0, 0], [1, 0, 0, 0]) == 0


def test_siblings_are_nearer_than_cousins():
    overall = [1, 1, 1, 1]
    assert TREE.heights() == [2, 1, 1, 0, 0, 0, 0]
    siblings = distance(TREE, [1, 1, 0, 0], [1, 0, 0, 0])
    cousins = distance(TREE, [1, 0, 1, 0], [1, 0, 0, 0])
    assert (siblings, cousins) == (Fraction(1, 4), Fraction(1, 2))
    assert distance(TREE, overall, [1, 1, 0, 0]) == Fraction(1, 2)


@pytest.mark.parametrize(
    ("parents", "leaves", "name"),
    [
        ([-1, -1], [0, 1], "parents"),
        ([-1, 5], [1], "parents"),
        ([1, 0], [], "parents"),
        ([-1, 0, 3, 2], [1], "parents"),
        ([-1, 0, 0], [1], "leaves"),
        ([-1, 0, 0], [1, 1], "leaves"),
        ([-1, 0, 0], [0, 1, 2], "leaves"),
    ],
)
def test_what_is_no_tree_is_refused(parents, leaves, name):
    with pytest.raises(ParameterError) as caught:
        Ground.hierarchical(parents, leaves)
    assert caught.value.name == name


def test_a_tree_must_fit_the_values():
    with pytest.raises(ParameterError, match="one leaf for each of 3 values"):
        distance(TREE, [1, 1, 1], [1, 0, 0])


def test_a_tree_of_one_value_has_no_distance():
    assert distance(Ground.hierarchical([-1], [0]), [3], [1]) == 0


@pytest.mark.parametrize("ground", [Ground.equal(), Ground.ordered(), TREE], ids=lambda g: g.kind)
def test_round_trip_through_json(ground):
    assert Ground.from_json(ground.to_json()) == ground
    assert hash(Ground.from_json(ground.to_json())) == hash(ground)


def test_kind_is_closed():
    with pytest.raises(ParameterError, match="equal, ordered, hierarchical"):
        Ground("euclidean")


def test_numpy_arrays_make_the_same_tree():
    assert Ground.hierarchical(np.array(TREE.parents), np.array(TREE.leaves)) == TREE
