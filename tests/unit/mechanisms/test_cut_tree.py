"""A tree of cuts becomes a recoding; the slow way, node by node, stands here."""

from __future__ import annotations

import numpy as np

from sfumato.kernels.mondrian.partition import CutTree
from sfumato.mechanisms.mondrian.cutting import tree_recoding


def tree(rng: np.random.Generator, nodes: int) -> CutTree:
    """Cut nodes with two to four children each, some of them without a row; the children stand in any order."""
    attribute = np.where(rng.random(nodes) < 0.5, rng.integers(0, 3, nodes), -1).astype(np.int32)
    count = np.where(attribute >= 0, rng.integers(2, 5, nodes), 0)
    order = rng.permutation(nodes)
    first = np.zeros(nodes, np.int64)
    first[order] = np.cumsum(count[order]) - count[order]
    total = int(count.sum())
    low, node = rng.integers(0, 99, total).astype(np.int32), rng.integers(-1, nodes, total)
    leaf = np.where(attribute < 0, np.arange(nodes), -1).astype(np.int32)
    return CutTree(attribute, child_first=first, child_count=count, child_low=low, child_node=node, leaf=leaf)


def test_the_recoding_equals_one_made_node_by_node():
    rng = np.random.default_rng(2)
    for nodes in (1, 2, 7, 60):
        made = tree(rng, nodes)
        found = tree_recoding(made, ("a", "b", "c"))
        boundaries: list[int] = []
        children: list[int] = []
        for at in np.flatnonzero(made.attribute >= 0):
            span = slice(made.child_first[at], made.child_first[at] + made.child_count[at])
            boundaries += made.child_low[span][1:].tolist()
            children += [nodes if child < 0 else child for child in made.child_node[span].tolist()]
        assert found.boundaries.tolist() == boundaries
        assert found.children.tolist() == children
        assert found.attribute.tolist() == [*made.attribute, -1]
        assert found.leaf.tolist() == [*made.leaf, -1]
