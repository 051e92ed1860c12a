"""What the merging of classes works on: how labels are joined, the classes, and a tree over them to search in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Axis", "Classes", "Index", "Joins", "join_rules", "new_index"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_TABLE = 512  # codes up to which losses are looked up instead of walked up to


@dataclass(frozen=True, slots=True)
class Axis:
    """How labels of one quasi-identifier are joined: to a common node, or (no nodes) to the interval that holds both.

    Nodes are (low, high, parent, loss), parents first, every code the only one of some node; a loss is what a row with
    that label has lost, 0 to 1. Without nodes the loss of w codes is (w - 1) / (size - 1). With `missing` the last code
    means missing and is joined with a value to the whole domain only.
    """

    size: int
    _: KW_ONLY
    missing: bool = False
    nodes: tuple[tuple[int, int, int, float], ...] = ()


class Joins(NamedTuple):
    """The axes as arrays; attribute a's nodes of single codes stand at leaf[leaf_start[a] + code]; -1: no nodes."""

    size: Ints
    missing: Ints
    leaf_start: Ints
    leaf: Ints
    low: Ints
    high: Ints
    parent: Ints
    loss: Floats
    table_start: Ints  # where attribute a's losses by (first code, last code) begin; -1: walk up the tree
    table: Floats


class Classes(NamedTuple):
    """Classes x attributes; everything is overwritten while classes are united."""

    low: Ints
    high: Ints
    loss: Floats
    mass: Floats  # population share of the box
    rows: Ints
    counts: Ints  # classes x sensitive values, columns one after another
    codes: Ints  # classes x codes of all attributes, or classes x 0: how often each code occurs
    code_start: Ints  # attribute a's codes begin here
    spread: Floats  # rows that a reader puts at a wrong code, summed over attributes


class Index(NamedTuple):
    """A binary tree over the classes. A node knows the hull of what is below it and bounds of sizes and losses."""

    parent: Ints
    left: Ints  # -1: no children
    right: Ints
    low: Ints  # nodes x attributes
    high: Ints
    least_rows: Ints
    least_loss: Floats
    most_loss: Floats
    most_spread: Floats
    alive: Ints
    failing: Ints
    head: Ints  # nodes x (passing, failing): first class kept in the node itself, -1: none
    home: Ints  # classes: the node each is kept in
    after: Ints
    before: Ints


def join_rules(axes: Sequence[Axis]) -> Joins:
    """Return the axes as arrays."""
    low: list[int] = []
    high: list[int] = []
    parent: list[int] = []
    loss: list[float] = []
    leaf_start: list[int] = []
    leaf: list[int] = []
    for axis in axes:
        first = len(low)
        leaf_start.append(len(leaf) if axis.nodes else -1)
        own = [-1] * axis.size if axis.nodes else []
        for number, (begin, end, above, lost) in enumerate(axis.nodes):
            low.append(begin)
            high.append(end)
            parent.append(first + above if above >= 0 else -1)
            loss.append(lost)
            if end - begin == 1:
                own[begin] = first + number
        leaf += own
    return Joins(
        size=np.array([axis.size for axis in axes], np.int64),
        missing=np.array([axis.missing for axis in axes], np.int64),
        leaf_start=np.array(leaf_start, np.int64),
        leaf=np.array(leaf, np.int64),
        low=np.array(low, np.int64),
        high=np.array(high, np.int64),
        parent=np.array(parent, np.int64),
        loss=np.array(loss, np.float64),
        table_start=np.array(_starts(axes), np.int64),
        table=np.concatenate([np.zeros(0), *(_losses(axis) for axis in axes if _tabled(axis))]),
    )


def _tabled(axis: Axis) -> bool:
    return bool(axis.nodes) and axis.size <= _TABLE


def _starts(axes: Sequence[Axis]) -> list[int]:
    found, begin = [], 0
    for axis in axes:
        found.append(begin if _tabled(axis) else -1)
        begin += axis.size**2 if _tabled(axis) else 0
    return found


def _losses(axis: Axis) -> Floats:
    """Loss of the lowest node that holds two codes, for each pair; lower nodes stand later and overwrite."""
    table = np.zeros((axis.size, axis.size))
    for low, high, _, lost in axis.nodes:
        table[low:high, low:high] = lost
    return table.ravel()


def new_index(classes: Classes) -> Index:
    """Return room for a tree over the classes."""
    many, width = classes.low.shape
    nodes = max(1, 2 * many)

    def ints(*shape: int) -> Ints:
        return np.zeros(shape, np.int64)

    return Index(
        parent=ints(nodes) - 1,
        left=ints(nodes) - 1,
        right=ints(nodes) - 1,
        low=ints(nodes, width),
        high=ints(nodes, width),
        least_rows=ints(nodes),
        least_loss=np.zeros((nodes, width)),
        most_loss=np.zeros((nodes, width)),
        most_spread=np.zeros(nodes),
        alive=ints(nodes),
        failing=ints(nodes),
        head=ints(nodes, 2) - 1,
        home=ints(many),
        after=ints(many) - 1,
        before=ints(many) - 1,
    )
