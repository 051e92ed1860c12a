"""Mondrian over plain arrays: a weighted table of codes goes in, disjoint boxes come out.

Source    LeFevre, DeWitt & Ramakrishnan, Mondrian, ICDE 2006; docs/theory/partition.md.
Claim     every leaf satisfies the whole conjunction, leaves are disjoint boxes, and no leaf has an allowed cut that its
          rule would take. Result depends on the counts only: not on row order, nor on whether equal rows are merged.
Because   a cut is taken when every part with rows satisfies the conjunction, and the requirements are
          convex (docs/theory/partition.md; one exception in `conditions`), so a part that fails can not be
          repaired by cutting it. Rules read counts alone.
Checked   tests/claims/test_mondrian_kernel.py::test_every_leaf_holds_and_boxes_are_disjoint
          tests/claims/test_mondrian_kernel.py::test_compiled_equals_the_twin
          tests/claims/test_mondrian_kernel.py::test_merged_rows_and_single_rows_give_the_same_boxes
          tests/claims/test_mondrian_kernel.py::test_suppression_stays_within_its_limit
Silent on what the boxes reveal together with the order of cuts; on the group of suppressed rows, for which
          `suppressed_holds` only says whether the conjunction holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
import numpy.typing as npt

from sfumato.errors import Infeasible, ParameterError
from sfumato.kernels.conditions import MOST_ROWS, SIZE, Condition, bind
from sfumato.kernels.conditions_twin import all_hold
from sfumato.kernels.mondrian_grow import BEST, LEAF, NOBODY, SUPPRESSED, WIDEST, Grown, grow
from sfumato.kernels.mondrian_layout import Attribute, lay_out, new_box, scratch

__all__ = ["UNIFORMITY_WEIGHT", "CutTree", "Partition", "partition", "route"]

UNIFORMITY_WEIGHT = 0.3
"""What the distance from uniform counts beside the certainty penalty (weight 1) in the `best` rule."""

Codes = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class CutTree:
    """Node 0 is the root. Node x cuts `attribute[x]` (-1: a leaf) at the `child_low` of its children.

    Its children stand at child_first[x] .. child_first[x] + child_count[x]; `child_node` -1 is an
    interval without a row. `leaf[x]` is the leaf's number, -1 for a cut node or suppressed rows.
    """

    attribute: Codes
    _: KW_ONLY
    child_first: Ints
    child_count: Ints
    child_low: Codes
    child_node: Ints
    leaf: Codes


@dataclass(frozen=True, slots=True)
class Partition:
    """Leaves are half-open boxes low <= code < high, numbered in sorted order of their boxes.

    `leaf[i]` is row i's leaf, -1 where suppressed; `suppressed` counts rows; `suppressed_holds` says
    whether the suppressed rows together satisfy the conjunction (True where there are none).
    """

    low: Codes
    _: KW_ONLY
    high: Codes
    weight: Ints
    leaf: Codes
    tree: CutTree
    suppressed: int
    suppressed_holds: bool


def partition(
    codes: npt.ArrayLike,
    weights: npt.ArrayLike,
    attributes: Sequence[Attribute],
    *,
    conditions: Sequence[Condition],
    sensitive: npt.ArrayLike | None = None,
    sensitive_sizes: Sequence[int] = (),
    cut: Literal["best", "widest"] = "best",
    uniformity_weight: float = UNIFORMITY_WEIGHT,
    max_suppressed: Fraction = Fraction(0),
) -> Partition:
    """Cut the table as long as every part satisfies all conditions.

    `codes` is rows x attributes, `weights` how many people share a row, `sensitive` rows x sensitive
    columns. With `max_suppressed` above 0 (rule `best` only) a side of a cut that does not satisfy the conditions may
    be left out where that costs less than keeping it: at most that share of all rows, spent from the top down.
    """
    table, counts, carried = _read(codes, weights, attributes, sensitive, sensitive_sizes)
    if cut not in ("best", "widest"):
        raise ParameterError("cut", cut, "must be one of best, widest")
    if not 0 <= max_suppressed < 1 or (max_suppressed and cut == "widest"):
        rule = "must be from 0 to below 1, and 0 for the widest cut"
        raise ParameterError("max_suppressed", max_suppressed, rule)
    rows = int(counts.sum())
    if all(condition.operation == SIZE for condition in conditions):
        carried, sensitive_sizes = carried[:, :0], ()
    overall = _overall(carried, counts, sensitive_sizes)
    bound = bind(conditions, overall, rows)
    layout = lay_out(attributes)
    if rows == 0:
        return _nothing(len(attributes))
    if not all_hold(conditions, overall, overall, rows):
        raise Infeasible("the requirement", "none", "the whole table as one class does not satisfy it")
    working = np.concatenate([table, carried, np.arange(len(counts), dtype=np.int32)[:, None]], axis=1)
    moving = counts.astype(np.int32)
    room = scratch(attributes, len(counts), int(bound.offset[-1]), rows)
    budget = int(max_suppressed * rows)
    best = BEST if cut == "best" else WIDEST
    grown = grow(layout, bound, room, new_box(len(attributes)), working, moving, best, float(uniformity_weight), budget)
    return _result(_trimmed(grown), working[:, -1], counts, carried=carried, conditions=conditions, overall=overall)


def route(tree: CutTree, codes: npt.ArrayLike) -> Codes:
    """Return the leaf of each row of codes; -1 where the tree has none for it."""
    table = np.asarray(codes, dtype=np.int32)
    at = np.zeros(len(table), dtype=np.int64)
    found = np.full(len(table), -1, dtype=np.int32)
    moving = np.arange(len(table)) if tree.attribute.size else np.zeros(0, dtype=np.int64)
    while moving.size:
        attribute = tree.attribute[at[moving]]
        done = moving[attribute < 0]
        found[done] = tree.leaf[at[done]]
        moving, attribute = moving[attribute >= 0], attribute[attribute >= 0]
        node = at[moving]
        value, child = table[moving, attribute], tree.child_first[node]
        last = child + tree.child_count[node] - 1
        while (onward := (child < last) & (tree.child_low[np.minimum(child + 1, last)] <= value)).any():
            child = child + onward
        at[moving] = tree.child_node[child]
        moving = moving[at[moving] != NOBODY]
    return found


def _read(
    codes: npt.ArrayLike,
    weights: npt.ArrayLike,
    attributes: Sequence[Attribute],
    sensitive: npt.ArrayLike | None,
    sizes: Sequence[int],
) -> tuple[Codes, Ints, Codes]:
    counts = np.asarray(weights, dtype=np.int64)
    table = np.asarray(codes, dtype=np.int32)
    carried = np.zeros((len(counts), 0), dtype=np.int32)
    if sensitive is not None:
        carried = np.asarray(sensitive, dtype=np.int32)
    for name, array, domains in (("codes", table, [a.size for a in attributes]), ("sensitive", carried, sizes)):
        if array.shape != (len(counts), len(domains)):
            raise ParameterError(name, array.shape, f"must be {len(counts)} rows x {len(domains)} columns")
        if array.size and (array.min() < 0 or (array >= np.asarray(domains)).any()):
            raise ParameterError(name, "codes", "must lie inside their domains")
    if not attributes:
        raise ParameterError("attributes", 0, "must name at least one quasi-identifier")
    if counts.size and (counts.min() < 1 or int(counts.sum()) > MOST_ROWS):
        raise ParameterError("weights", "rows", f"must be at least 1 each and {MOST_ROWS} in all")
    return table, counts, carried


def _overall(carried: Codes, counts: Ints, sizes: Sequence[int]) -> list[Ints]:
    found = []
    for column, size in enumerate(sizes):
        total = np.zeros(size, dtype=np.int64)
        np.add.at(total, carried[:, column], counts)
        found.append(total)
    return found


def _nothing(attributes: int) -> Partition:
    box, none, ints = np.zeros((0, attributes), np.int32), np.zeros(0, np.int32), np.zeros(0, np.int64)
    tree = CutTree(none, child_first=ints, child_count=ints, child_low=none, child_node=ints, leaf=none)
    return Partition(box, high=box, weight=ints, leaf=none, tree=tree, suppressed=0, suppressed_holds=True)


def _trimmed(grown: Grown) -> Grown:
    nodes, children = slice(grown.nodes), slice(grown.children)
    by_node = {name: getattr(grown, name)[nodes] for name in Grown._fields[:7]}
    by_child = {name: getattr(grown, name)[children] for name in Grown._fields[7:9]}
    return grown._replace(**by_node, **by_child)


def _result(
    grown: Grown,
    numbers: Codes,
    counts: Ints,
    *,
    carried: Codes,
    conditions: Sequence[Condition],
    overall: list[Ints],
) -> Partition:
    leaves = np.flatnonzero(grown.attribute == LEAF)
    low, high = grown.low[leaves], grown.high[leaves]
    keys = np.stack([low, high], axis=2).reshape(len(leaves), -1)
    rank = np.lexsort(keys.T[::-1])
    leaf_of_node = np.full(grown.attribute.size, -1, dtype=np.int32)
    leaf_of_node[leaves[rank]] = np.arange(leaves.size, dtype=np.int32)
    leaf = _assign(grown, leaf_of_node, numbers)
    weight = np.zeros(leaves.size, dtype=np.int64)
    np.add.at(weight, leaf[leaf >= 0], counts[leaf >= 0])
    out = leaf < 0
    lost = int(counts[out].sum())
    parts = _overall(carried[out], counts[out], [column.size for column in overall])
    tree = CutTree(
        np.maximum(grown.attribute, -1),
        child_first=grown.child_first,
        child_count=grown.child_count,
        child_low=grown.child_low,
        child_node=grown.child_node,
        leaf=leaf_of_node,
    )
    return Partition(
        low[rank],
        high=high[rank],
        weight=weight,
        leaf=leaf,
        tree=tree,
        suppressed=lost,
        suppressed_holds=lost == 0 or all_hold(conditions, parts, overall, lost),
    )


def _assign(grown: Grown, leaf_of_node: Codes, numbers: Codes) -> Codes:
    """Each leaf and each suppressed node is a stretch of the moved rows; together they tile them."""
    ends = np.flatnonzero((grown.attribute == LEAF) | (grown.attribute == SUPPRESSED))
    ends = ends[np.argsort(grown.start[ends])]
    leaf = np.empty(numbers.size, dtype=np.int32)
    leaf[numbers] = np.repeat(leaf_of_node[ends], grown.end[ends] - grown.start[ends])
    return leaf
