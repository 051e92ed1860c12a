from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from tests.oracles.compiled import holds_compiled

from sfumato.errors import ParameterError
from sfumato.kernels import conditions as sc


def test_fewest_rows_comes_from_sizes_and_distinct_values():
    bound = sc.bind([sc.distinct(4), sc.size(3), sc.frequency(Fraction(1, 2))], [[9, 9, 9, 9]], 36)
    assert bound.fewest == 4
    assert bound.table["operation"].tolist() == [sc.SIZE, sc.DISTINCT, sc.FREQUENCY]


def test_an_empty_conjunction_asks_for_one_row():
    assert sc.bind([], [], 5).fewest == 1


def test_a_conjunction_needs_all_and_each_reads_its_column():
    overall = [[6, 6], [4, 4, 4]]
    bound = sc.bind([sc.distinct(2, sensitive=1), sc.frequency(Fraction(3, 4))], overall, 12)
    assert holds_compiled(bound, 4, np.array([3, 1, 2, 2, 0]))
    assert not holds_compiled(bound, 4, np.array([4, 0, 2, 2, 0]))
    assert not holds_compiled(bound, 4, np.array([3, 1, 4, 0, 0]))


@pytest.mark.parametrize(
    ("condition", "overall", "rows", "name"),
    [
        (sc.distinct(2), [], 5, "sensitive"),
        (sc.distinct(2), [[1, 1]], 5, "overall"),
        (sc.frequency(Fraction(1, 2**31)), [[1, 1]], 2, "limit"),
        (sc.emd(Fraction(1, 5), sc.GroundEdges(((0, 3, 1),), scale=2)), [[1, 1]], 2, "ground"),
        (sc.emd(Fraction(1, 5), sc.GroundEdges(((0, 1, 1),), scale=0)), [[1, 1]], 2, "ground"),
        (sc.size(2), [], 2**31, "rows"),
    ],
)
def test_what_can_not_be_checked_exactly_is_refused(condition, overall, rows, name):
    with pytest.raises(ParameterError) as caught:
        sc.bind([condition], overall, rows)
    assert caught.value.name == name


def test_a_tree_with_a_circle_is_refused():
    with pytest.raises(ParameterError, match="circle"):
        sc.GroundEdges.hierarchical([0, 0], [1, 1], [1, 0])


def test_ordered_ranks_count_only_values_that_occur():
    assert sc.GroundEdges.ordered([3, 0, 2, 1]).edges == ((0, 1, 1), (0, 3, 1))
    assert sc.GroundEdges.ordered([0, 4]).scale == 1
