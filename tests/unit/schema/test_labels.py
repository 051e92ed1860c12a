from __future__ import annotations

import numpy as np
import pytest

from sfumato.schema import Labels, Schema

X = Schema.parse(
    {"name": "t", "attribute": {"x": {"role": "quasi", "kind": "numeric", "range": [0, 10], "missing": ["?"]}}}
)["x"]


def test_hulls_become_distinct_labels_in_order():
    labels, ids = Labels.from_hulls(X, np.array([5, 0, 5, 0]), np.array([10, 5, 10, 11]))
    assert ids.tolist() == [2, 0, 2, 1]
    assert [labels.intervals(at) for at in range(len(labels))] == [((0, 5),), ((0, 11),), ((5, 10),)]
    assert labels.names == ("[0-5)", "*", "[5-10)")
    assert ids.dtype == np.int32


def test_sets_of_several_intervals():
    labels, ids = Labels.from_sets(X, [((0, 2), (5, 6)), ((3, 4),), ((0, 2), (5, 6))])
    assert ids.tolist() == [0, 1, 0]
    assert labels.size.tolist() == [3, 1]
    assert (labels.low.tolist(), labels.high.tolist()) == ([0, 3], [6, 4])
    assert labels.names == ("[0-2) | 5", "3")


def test_overlap_and_coverage_equal_counting_codes():
    sets = [((0, 2), (5, 9)), ((3, 4),), ((0, 11),), ((10, 11),)]
    labels, _ = Labels.from_sets(X, sets)
    members = [{c for low, high in labels.intervals(at) for c in range(low, high)} for at in range(len(labels))]
    regions = [(low, high) for low in range(11) for high in range(low + 1, 12)]
    low, high = (np.array(ends) for ends in zip(*regions, strict=True))
    counted = np.array([[len(label & set(range(a, b))) for a, b in regions] for label in members])
    assert (labels.overlap(low, high) == counted).all()
    assert np.allclose(labels.coverage(low, high), counted / np.array([[len(label)] for label in members]))
    held = np.array([[code in label for code in range(11)] for label in members])
    assert (labels.holds(np.arange(11)) == held).all()


def test_one_label_for_each_code():
    labels = Labels.of_codes(X)
    assert len(labels) == 11
    assert labels.names == (*map(str, range(10)), "(missing)")


def test_no_labels_at_all():
    labels, ids = Labels.from_sets(X, [])
    assert (len(labels), len(ids), labels.names) == (0, 0, ())
    assert labels.size.tolist() == []
    assert labels.overlap(np.array([0]), np.array([5])).shape == (0, 1)


def test_the_largest_codes_do_not_overflow():
    big = Schema.parse(
        {"name": "t", "attribute": {"x": {"role": "quasi", "kind": "numeric", "range": [0, 2**31 - 1]}}}
    )["x"]
    top = 2**31 - 1
    labels, ids = Labels.from_hulls(big, np.array([top - 1, 0]), np.array([top, top]))
    assert [labels.intervals(at) for at in ids] == [((top - 1, top),), ((0, top),)]


def test_arrays_can_not_be_written():
    with pytest.raises(ValueError, match="read-only"):
        Labels.of_codes(X).starts[0] = 3
