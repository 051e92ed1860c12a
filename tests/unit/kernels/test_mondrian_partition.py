from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from tests.oracles.mondrian import route

from sfumato.errors import Infeasible, ParameterError
from sfumato.kernels import conditions as sc
from sfumato.kernels.mondrian.layout import EXTREMES, CutAttribute
from sfumato.kernels.mondrian.partition import grow, partition

FOUR = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
TWO = [CutAttribute(2), CutAttribute(2)]
K5 = (sc.size(5),)


def run(codes=FOUR, weights=(5, 5, 5, 5), attributes=TWO, conditions=K5, **options):
    return partition(codes, weights, attributes, conditions=conditions, **options)


def test_four_cells_of_five_rows():
    found = run()
    assert found.low.tolist() == FOUR.tolist()
    assert found.high.tolist() == (FOUR + 1).tolist()
    assert found.leaf.tolist() == [0, 1, 2, 3]
    assert found.weight.tolist() == [5, 5, 5, 5]
    assert found.tree.attribute.tolist().count(-1) == 4


def test_median_cut_is_the_more_even_side():
    found = run([[0], [1], [2]], [4, 3, 5], [CutAttribute(3)], [sc.size(5)], cut="widest")
    assert found.high.tolist() == [[2], [3]]


def test_labels_decide_where_an_empty_stretch_goes():
    codes, weights = [[0], [9]], [9, 5]
    box = run(codes, weights, [CutAttribute(10)])
    assert box.high.tolist() == [[1], [10]]  # 9 rows get the short label
    box = run(codes, weights[::-1], [CutAttribute(10)])
    assert box.high.tolist() == [[9], [10]]
    tight = run(codes, weights[::-1], [CutAttribute(10, label=EXTREMES)])
    assert tight.high.tolist() == [[1], [10]]  # the lowest of equal cuts


def test_a_failing_table_is_infeasible():
    with pytest.raises(Infeasible):
        run(conditions=[sc.size(21)])
    with pytest.raises(Infeasible):
        run(conditions=[sc.distinct(2)], sensitive=np.zeros((4, 1)), sensitive_sizes=[2])


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"codes": FOUR + 1}, "codes"),
        ({"codes": FOUR - 1}, "codes"),
        ({"codes": FOUR[:, :1]}, "codes"),
        ({"weights": (1, 0, 1, 1)}, "weights"),
        ({"weights": (2**31, 1, 1, 1)}, "weights"),
        ({"attributes": [CutAttribute(0), CutAttribute(2)], "codes": np.zeros((0, 2)), "weights": ()}, "attribute 0"),
        ({"codes": np.zeros((4, 0)), "attributes": []}, "attributes"),
        ({"cut": "median"}, "cut"),
        ({"max_suppressed": Fraction(1)}, "max_suppressed"),
        ({"max_suppressed": Fraction(1, 9), "cut": "widest"}, "max_suppressed"),
        ({"sensitive": np.full((4, 1), 3), "sensitive_sizes": [3]}, "sensitive"),
        ({"attributes": [CutAttribute(2, nodes=((0, 1, ()),)), CutAttribute(2)]}, "attribute 0"),
        ({"attributes": [CutAttribute(2, nodes=((0, 2, (1,)), (0, 1, ()))), CutAttribute(2)]}, "attribute 0"),
        ({"attributes": [CutAttribute(2, nodes=((0, 2, (0,)),)), CutAttribute(2)]}, "attribute 0"),
    ],
)
def test_wrong_input_is_refused_by_name(options, name):
    with pytest.raises(ParameterError) as caught:
        run(**options)
    assert caught.value.name == name


def test_a_node_that_is_not_cut_keeps_its_children_together():
    tree = ((0, 4, (1, 2)), (0, 2, (3, 4)), (2, 4, ()), (0, 1, ()), (1, 2, ()))
    found = run([[0], [1], [2], [3]], [5, 5, 5, 5], [CutAttribute(4, nodes=tree)])
    assert list(zip(found.low[:, 0].tolist(), found.high[:, 0].tolist(), strict=True)) == [(0, 1), (1, 2), (2, 4)]


def test_route_has_no_leaf_where_no_row_went():
    found = run([[0], [1]], [5, 5], [CutAttribute(3, missing=True)])
    assert route(found.tree, [[0], [1], [2]]).tolist() == [0, 1, -1]
    assert route(run(np.zeros((0, 2)), ()).tree, FOUR).tolist() == [-1] * 4


def test_input_is_left_alone():
    codes, weights = FOUR.astype(np.int32)[::-1].copy(), np.array([5, 6, 7, 8])
    run(codes, weights)
    assert codes.tolist() == FOUR[::-1].tolist()
    assert weights.tolist() == [5, 6, 7, 8]


def test_codes_by_rows_and_by_columns_are_cut_by_one_compiled_form():
    """The first table in the other order took half a minute longer: a second form was compiled for it."""
    codes = np.asarray(FOUR, np.int32)
    by_rows = run(codes)
    forms = grow.signatures
    by_columns = run(np.asfortranarray(codes))
    assert grow.signatures == forms
    assert by_columns.leaf.tolist() == by_rows.leaf.tolist()
