"""The readable twin of `mondrian.partition`: the same boxes from masks and summaries, slowly.

The claim and its tests are those of `mondrian` and `mondrian_rules`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt

from sfumato.kernels.conditions import LINK, Condition
from sfumato.kernels.conditions_twin import all_hold
from sfumato.kernels.mondrian_layout import Attribute
from sfumato.kernels.mondrian_rules import Best, Cut, Summary, Widest

__all__ = ["TwinPartition", "WeightedTable", "partition_twin", "summarize"]

Codes = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class WeightedTable:
    """Codes (rows x attributes), weights and sensitive codes (rows x columns) with their domain sizes."""

    codes: Codes
    _: KW_ONLY
    weights: Ints
    sensitive: Codes
    sensitive_sizes: Sequence[int]

    def overall(self) -> list[Ints]:
        """Counts of the whole table for each sensitive column."""
        columns = zip(self.sensitive.T, self.sensitive_sizes, strict=True)
        return [np.bincount(column, self.weights, size).astype(np.int64) for column, size in columns]


@dataclass(frozen=True, slots=True)
class TwinPartition:
    """What `mondrian.Partition` holds, without the tree."""

    low: Codes
    _: KW_ONLY
    high: Codes
    weight: Ints
    leaf: Codes
    suppressed: int


@dataclass(frozen=True, slots=True)
class _Part:
    rows: Ints
    _: KW_ONLY
    low: tuple[int, ...]
    high: tuple[int, ...]
    node: tuple[int, ...]
    budget: int


def partition_twin(
    table: WeightedTable,
    attributes: Sequence[Attribute],
    *,
    conditions: Sequence[Condition],
    cut: Literal["best", "widest"],
    uniformity_weight: float,
    max_suppressed: Fraction = Fraction(0),
) -> TwinPartition:
    """Cut until the rule finds nothing, then number the boxes in sorted order."""
    overall, total = table.overall(), int(table.weights.sum())
    rule: Best | Widest = Widest(conditions, overall=overall)
    if cut == "best":
        rule = Best(uniformity_weight, conditions=conditions, overall=overall)
    zeros, sizes = (0,) * len(attributes), tuple(a.size for a in attributes)
    root = _Part(np.arange(len(table.codes)), low=zeros, high=sizes, node=zeros, budget=int(max_suppressed * total))
    waiting, leaves = ([root], []) if total else ([], [])
    if total:
        assert all_hold(conditions, overall, overall, total)
    while waiting:
        part = waiting.pop()
        summary = summarize(
            table, attributes, part.rows, low=part.low, high=part.high, node=part.node, budget=part.budget
        )
        chosen = _narrowing(summary, conditions, overall) or rule.choose(summary)
        if chosen is None:
            leaves.append(part)
        else:
            waiting.extend(_apply(table, summary, part, chosen))
    return _numbered(table, leaves, len(attributes))


def summarize(
    table: WeightedTable,
    attributes: Sequence[Attribute],
    rows: Ints,
    *,
    low: tuple[int, ...],
    high: tuple[int, ...],
    node: tuple[int, ...],
    budget: int = 0,
) -> Summary:
    """Count a part: every code, every code with every sensitive code, every pair of codes."""
    weights, codes = table.weights[rows], table.codes[rows]
    one_way, counts = [], []
    for a, attribute in enumerate(attributes):
        counts.append(_counted((codes[:, a],), (attribute.size,), weights))
        columns = zip(table.sensitive[rows].T, table.sensitive_sizes, strict=True)
        one_way.append([_counted((codes[:, a], column), (attribute.size, size), weights) for column, size in columns])
    pairs = {
        (a, b): _counted((codes[:, a], codes[:, b]), (attributes[a].size, attributes[b].size), weights)
        for a, b in combinations(range(len(attributes)), 2)
    }
    return Summary(
        attributes, low=low, high=high, node=node, counts=counts, one_way=one_way, pairs=pairs, budget=budget
    )


def _counted(columns: tuple[Codes, ...], shape: tuple[int, ...], weights: Ints) -> Ints:
    table = np.zeros(shape, dtype=np.int64)
    np.add.at(table, columns, weights)
    return table


def _narrowing(part: Summary, conditions: Sequence[Condition], overall: Sequence[Ints]) -> Cut | None:
    """A box that can shrink although no rows part: below one child, or to values or missing alone.

    Where the smaller box itself is tested (LINK), it must still hold.
    """
    reads_box = any(condition.operation == LINK for condition in conditions)
    for a, attribute in enumerate(part.attributes):
        if attribute.nodes:
            bounds = part.children(a)
        elif attribute.missing and part.high[a] - part.low[a] == attribute.size > 1:
            bounds = (0, attribute.size - 1, attribute.size)
        else:
            continue
        sides = part.occupied(a, bounds) if len(bounds) > 1 else []
        if len(sides) == 1 and (not reads_box or part.holds(a, *sides[0], conditions, overall)):
            return Cut(a, bounds=bounds)
    return None


def _apply(table: WeightedTable, summary: Summary, part: _Part, cut: Cut) -> list[_Part]:
    a = cut.attribute
    tree = summary.attributes[a].nodes
    kept, budget, children = summary.rows, part.budget, []
    for number, (low, high) in enumerate(summary.occupied(a, cut.bounds)):
        if number == cut.suppressed:
            kept, budget = kept - summary.size(a, low, high), budget - summary.size(a, low, high)
            continue
        inside = part.rows[(table.codes[part.rows, a] >= low) & (table.codes[part.rows, a] < high)]
        node = next((child for child in tree[part.node[a]][2] if tree[child][:2] == (low, high)), -1) if tree else 0
        sides = (_put(part.low, a, low), _put(part.high, a, high), _put(part.node, a, node))
        children.append((inside, *sides))
    return [
        _Part(rows, low=low, high=high, node=node, budget=budget * int(table.weights[rows].sum()) // kept)
        for rows, low, high, node in children
    ]


def _put(values: tuple[int, ...], a: int, value: int) -> tuple[int, ...]:
    return (*values[:a], value, *values[a + 1 :])


def _numbered(table: WeightedTable, leaves: list[_Part], attributes: int) -> TwinPartition:
    leaves = sorted(leaves, key=lambda part: tuple(zip(part.low, part.high, strict=True)))
    leaf = np.full(len(table.codes), -1, dtype=np.int32)
    for number, part in enumerate(leaves):
        leaf[part.rows] = number
    return TwinPartition(
        np.array([part.low for part in leaves], dtype=np.int32).reshape(-1, attributes),
        high=np.array([part.high for part in leaves], dtype=np.int32).reshape(-1, attributes),
        weight=np.array([table.weights[part.rows].sum() for part in leaves], dtype=np.int64),
        leaf=leaf,
        suppressed=int(table.weights[leaf < 0].sum()),
    )
