"""The cut of each attribute as DiffGen grows it: nodes of public trees, intervals of public grids.

Source    Mohammed, Chen, Fung & Yu, KDD 2011, definition 3.3 and section 4.1 (cuts); outer runs of splits: eq. (7).
Claim     Which nodes there are, and every way to specialize each, follows from the schema and from the choices already
          made; a cut always holds each code once.
Because   nothing here takes data. A node is replaced by children that divide it.
Checked   tests/unit/mechanisms/test_diffgen_parameters.py::test_nodes
          tests/unit/mechanisms/test_diffgen_parameters.py::test_cuts_and_labels_agree
Silent on who chooses, and by which law.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np

from sfumato.counts import Cuts
from sfumato.schema import Attribute, Labels

__all__ = ["GRID", "Cut", "Node", "by_splits", "cut_labels", "public_recoding", "replaced", "root_cut", "widest_step"]

GRID = -1  # `tree` of a node that is an interval of the grid


@dataclass(frozen=True, slots=True, order=True)
class Node:
    """Codes `[low, high)` of one attribute; `tree` is its node in the public tree, or GRID."""

    low: int
    _: KW_ONLY
    high: int
    tree: int = GRID
    closed: bool = False  # the part that holds the missing values: never specialized

    def children(self, attribute: Attribute) -> tuple[Node, ...]:
        """Child nodes in the tree; chains of single children are passed over. Empty for a leaf or an interval."""
        if self.tree == GRID or self.closed:
            return ()
        tree, node = attribute.nodes, self.tree
        below = tree.children[node]
        while len(below) == 1:
            below = tree.children[below[0]]
        return tuple(Node(int(tree.low[c]), high=int(tree.high[c]), tree=c) for c in below)

    def splits(self) -> np.ndarray:
        """Grid points at which the interval may be split, the outer runs included; empty for a tree node."""
        if self.tree != GRID or self.closed:
            return np.zeros(0, np.int64)
        return np.arange(self.low + 1, self.high, dtype=np.int64)

    def split(self, point: int) -> tuple[Node, Node]:
        """Return the two halves."""
        return Node(self.low, high=point), Node(point, high=self.high)


Cut = tuple[Node, ...]


def by_splits(attribute: Attribute) -> bool:
    """Whether an attribute is split on its grid: numbers, dates and ranks for which no hierarchy was declared."""
    return attribute.ordered and not attribute.declared_tree


def root_cut(attribute: Attribute) -> Cut:
    """Return the topmost cut. On a grid, missing values are a public part of their own from the start."""
    if not by_splits(attribute):
        return (Node(0, high=attribute.size, tree=0),)
    missing = attribute.missing_code
    if missing is None:
        return (Node(0, high=attribute.size),)
    return Node(0, high=missing), Node(missing, high=missing + 1, closed=True)


def widest_step(attribute: Attribute) -> int:
    """Return how many cells one specialization of this attribute can at most make of one."""
    if by_splits(attribute):
        return min(2, attribute.size)
    return max((len(below) for below in attribute.nodes.children), default=1)


def replaced(cut: Cut, node: Node, children: Sequence[Node]) -> Cut:
    """Return the cut with a node replaced by its children, in code order."""
    at = cut.index(node)
    return (*cut[:at], *children, *cut[at + 1 :])


def cut_labels(attribute: Attribute, cut: Cut) -> Labels:
    """Return the labels of a cut, in code order: label i is node i."""
    low = np.array([node.low for node in cut], np.int64)
    high = np.array([node.high for node in cut], np.int64)
    return Labels(attribute, np.arange(len(cut) + 1, dtype=np.int64), low, high)


def public_recoding(attributes: Sequence[Attribute], cuts: Sequence[Cut] | None) -> Cuts:
    """Return the lookup code -> label of each attribute (no cuts: every code by itself).

    It is public, since the cuts are part of the release.
    """
    if cuts is None:
        labels = tuple(np.arange(attribute.size, dtype=np.int32) for attribute in attributes)
    else:
        labels = tuple(np.repeat(np.arange(len(cut)), [n.high - n.low for n in cut]).astype(np.int32) for cut in cuts)
    return Cuts(tuple(attribute.name for attribute in attributes), labels=labels)
