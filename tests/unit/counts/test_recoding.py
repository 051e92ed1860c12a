"""Recodings route each row of codes to the label or group that a walk by hand finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from sfumato.counts import Cuts, Quota, RoutingTree
from sfumato.counts.recoding import row_ids
from sfumato.errors import ParameterError


def codes_of(rows: int, sizes, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.integers(0, size, rows) for size in sizes]).astype(np.int32)


def nary_tree() -> RoutingTree:
    # node 0 cuts a at 2, 5, 7; node 2 cuts b at 1; the rest are leaves
    return RoutingTree(
        ("a", "b"),
        attribute=np.array([0, -1, 1, -1, -1, -1, -1]),
        offsets=np.array([0, 3, 3, 4, 4, 4, 4, 4]),
        boundaries=np.array([2, 5, 7, 1]),
        children=np.array([1, 2, 3, 4, 5, 6]),
        leaf=np.array([-1, 0, -1, 1, 2, 3, 4]),
    )


def by_hand(a: int, b: int) -> int:
    if a < 2:
        return 0
    if a < 5:
        return 3 if b < 1 else 4
    return 1 if a < 7 else 2


def test_a_tree_of_many_boundaries_routes_as_read() -> None:
    codes = np.array([(a, b) for a in range(10) for b in range(3)], dtype=np.int32)
    assert nary_tree().route(codes).tolist() == [by_hand(int(a), int(b)) for a, b in codes]


def test_groups_can_be_merged() -> None:
    codes = np.array([[0, 0], [3, 0], [3, 2], [6, 0], [9, 0]], dtype=np.int32)
    assert nary_tree().with_groups(np.array([9, 9, 8, 7, 7])).route(codes).tolist() == [9, 7, 7, 9, 8]


def test_a_tree_of_one_leaf() -> None:
    tree = RoutingTree.binary(("a",), attribute=[-1], position=[0], left=[0], right=[0], leaf=np.array([5]))
    assert tree.route(np.zeros((3, 1), np.int32)).tolist() == [5, 5, 5]


def random_tree(seed: int, size: int) -> RoutingTree:
    """A random tree over two attributes of `size` codes, with nodes of one to four boundaries."""
    rng = np.random.default_rng(seed)
    attribute, bounds, kids, leaf, groups = [], [], [], [], 0
    todo = [(0, {0: (0, size), 1: (0, size)})]
    nodes = 1
    found = {}
    while todo:
        node, box = todo.pop()
        which = int(rng.integers(0, 2))
        low, high = box[which]
        if high - low < 2 or rng.random() < 0.3 or nodes > 40:
            found[node] = (-1, [], [], groups)
            groups += 1
            continue
        cuts = sorted(
            rng.choice(
                np.arange(low + 1, high), size=min(high - low - 1, int(rng.integers(1, 5))), replace=False
            ).tolist()
        )
        children = []
        for start, end in zip([low, *cuts], [*cuts, high], strict=True):
            children.append(nodes)
            todo.append((nodes, {**box, which: (start, end)}))
            nodes += 1
        found[node] = (which, cuts, children, -1)
    for node in range(nodes):
        which, cuts, children, group = found[node]
        attribute.append(which)
        bounds.append(cuts)
        kids += children
        leaf.append(group)
    offsets = np.concatenate([[0], np.cumsum([len(cuts) for cuts in bounds])])
    flat = [cut for cuts in bounds for cut in cuts]
    return RoutingTree(
        ("a", "b"),
        attribute=np.array(attribute),
        offsets=offsets,
        boundaries=np.array(flat, dtype=np.int64),
        children=np.array(kids, dtype=np.int64),
        leaf=np.array(leaf),
    )


def walked(tree: RoutingTree, row) -> int:
    node = 0
    while tree.attribute[node] >= 0:
        inner = int((tree.attribute[:node] >= 0).sum())
        cuts = tree.boundaries[tree.offsets[node] : tree.offsets[node + 1]]
        node = int(tree.children[tree.offsets[node] + inner + int((cuts <= row[tree.attribute[node]]).sum())])
    return int(tree.leaf[node])


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000), size=st.integers(2, 30))
def test_a_walk_by_hand_ends_in_the_same_group(seed: int, size: int) -> None:
    tree, codes = random_tree(seed, size), codes_of(30, (size, size), seed)
    assert tree.route(codes).tolist() == [walked(tree, row) for row in codes]


def recodings() -> dict:
    quota_codes = np.array([[0, 0], [0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.int32)
    quota = Quota(("a", "b"), codes=quota_codes, group=np.array([2, 0, 1, 1, 0]), quota=np.array([3, 100, 5, 80, 90]))
    cuts = Cuts(("a", "b"), labels=(np.array([0, 0, 1, 1, 1, 2, 2, 2, 3, 3]), np.array([1, 0, 0])))
    return {"cuts": cuts, "tree": nary_tree(), "quota": quota, "deep": random_tree(3, 10)}


def test_a_quota_serves_as_many_as_it_says() -> None:
    quota = recodings()["quota"]
    codes = np.zeros((105, 2), dtype=np.int32)
    group = quota.route(codes)
    assert np.bincount(group[group >= 0]).tolist() == [100, 0, 3]
    assert (group == -1).sum() == 2
    assert quota.route(np.array([[7, 7]])).tolist() == [-1]


def test_row_numbers_do_not_depend_on_packing() -> None:
    small = codes_of(100, (3, 4, 2))
    wide = small.astype(np.int64) * [2**30, 2**29, 2**30]
    assert row_ids(small).tolist() == row_ids(wide).tolist()


@given(st.lists(st.integers(0, 5), min_size=1, max_size=50), st.lists(st.integers(0, 5), min_size=1, max_size=50))
def test_cuts_come_back_from_json(first, second) -> None:
    cuts = Cuts(("a", "b"), labels=(np.array(first), np.array(second)))
    back = Cuts.from_json(cuts.to_json())
    assert back.names == cuts.names
    assert [labels.tolist() for labels in back.labels] == [first, second]


def test_shapes_are_checked() -> None:
    with pytest.raises(ParameterError, match="codes"):
        recodings()["cuts"].route(np.zeros((3, 5), np.int32))
    with pytest.raises(ParameterError, match="labels"):
        Cuts(("a", "b"), labels=(np.array([0]),))


def test_equal_rows_are_served_in_row_order() -> None:
    """The reference of `Quota.route`: one row after another, each takes the first line with something left."""
    quota, codes = recodings()["quota"], codes_of(400, (2, 3), 4)
    left = sorted(np.column_stack([quota.codes, quota.group, quota.quota]).tolist())
    expected = []
    for row in codes.tolist():
        line = next((line for line in left if line[:2] == row and line[3] > 0), None)
        if line is not None:
            line[3] -= 1
        expected.append(-1 if line is None else line[2])
    assert quota.route(codes).tolist() == expected
    assert -1 in expected
