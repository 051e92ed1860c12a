"""The readable reference of `mondrian.partition`: the same boxes from masks and summaries, slowly.

The claim and its tests are those of `mondrian` and `mondrian_rules`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from fractions import Fraction
from itertools import combinations, pairwise
from math import log
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from sfumato.kernels.conditions import (
    DELTA,
    DISTINCT,
    EMD,
    ENTROPY,
    FREQUENCY,
    JS,
    LINK,
    RECURSIVE,
    SIZE,
    Condition,
    all_hold,
)
from sfumato.kernels.mondrian.layout import BOX, SET, CutAttribute
from sfumato.kernels.mondrian.partition import NOBODY, CutTree

__all__ = [
    "Best",
    "Cut",
    "ReferencePartition",
    "Summary",
    "WeightedTable",
    "Widest",
    "label_width",
    "part_cost",
    "partition_reference",
    "route",
    "spare",
    "summarize",
]


# Mondrian's cut rules as pure functions of a part's summary: what a compiled sweep must equal.
#
# Source    LeFevre, DeWitt & Ramakrishnan, Mondrian, ICDE 2006; docs/theory/partition.md.
# Claim     `choose(summary)` sees counts alone: one-way counts (code x sensitive) of each attribute and, for a rule
#           that needs them, two-way counts of each pair. Equal summaries give equal cuts on every machine.
# Because   costs are sums of ratios of integers in one fixed order; ties go to the first attribute, then the
#           lowest cut. So an engine may decide the top cuts from summaries and leave the rest to workers.
# Checked   tests/claims/test_mondrian_kernel.py::test_compiled_equals_the_reference
#           tests/claims/test_mondrian_kernel.py::test_chosen_cut_is_the_cheapest_of_all_cuts
#           tests/claims/test_mondrian_kernel.py::test_equal_summaries_give_equal_cuts
# Silent on speed; `mondrian` is the fast way.

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Cut:
    """Children are the intervals between successive `bounds`; `suppressed` is the number of the child left out."""

    attribute: int
    _: KW_ONLY
    bounds: tuple[int, ...]
    suppressed: int = -1


@dataclass(frozen=True, slots=True)
class Summary:
    """All that a rule may know of a part.

    `one_way[a]` is one table (code x sensitive code) for each sensitive column, `counts[a]` the rows of each
    code, `pairs[a, b]` the rows of each pair of codes. `node[a]` is the tree node of the box, `budget` how many rows
    may be suppressed.
    """

    attributes: Sequence[CutAttribute]
    _: KW_ONLY
    low: tuple[int, ...]
    high: tuple[int, ...]
    node: tuple[int, ...]
    counts: Sequence[Ints]
    one_way: Sequence[Sequence[Ints]]
    pairs: Mapping[tuple[int, int], Ints] = field(default_factory=dict)
    budget: int = 0

    @property
    def rows(self) -> int:
        """Rows of the part."""
        return int(self.counts[0].sum())

    def codes(self, a: int) -> list[int]:
        """Codes of attribute a that occur, rising."""
        return [int(code) for code in np.flatnonzero(self.counts[a])]

    def holds(self, a: int, low: int, high: int, conditions: Sequence[Condition], overall: Sequence[Ints]) -> bool:
        """Say whether the rows with low <= code < high satisfy every condition."""
        parts = [table[low:high].sum(axis=0) for table in self.one_way[a]]
        box = [(low, high) if b == a else sides for b, sides in enumerate(zip(self.low, self.high, strict=True))]
        return all_hold(conditions, parts, overall, self.size(a, low, high), box)

    def size(self, a: int, low: int, high: int) -> int:
        """Rows with low <= code < high."""
        return int(self.counts[a][low:high].sum())

    def mixed(self, a: int) -> bool:
        """Say whether attribute a has both values and missing here."""
        codes = self.codes(a)
        return self.attributes[a].missing and len(codes) > 1 and codes[-1] == self.attributes[a].size - 1

    def held_back(self, a: int, conditions: Sequence[Condition]) -> bool:
        """Say whether a LINK condition keeps a's whole domain although only values, or only missing, occur."""
        attribute = self.attributes[a]
        whole = attribute.missing and self.high[a] - self.low[a] == attribute.size
        return whole and not self.mixed(a) and any(condition.operation == LINK for condition in conditions)

    def children(self, a: int) -> tuple[int, ...]:
        """Bounds of the children of attribute a's node."""
        tree = self.attributes[a].nodes
        return (self.low[a], *(tree[child][1] for child in tree[self.node[a]][2]))

    def occupied(self, a: int, bounds: tuple[int, ...]) -> list[tuple[int, int]]:
        """The intervals between bounds that hold rows."""
        return [(low, high) for low, high in pairwise(bounds) if self.size(a, low, high)]


def label_width(attribute: CutAttribute, counts: Ints, low: int, high: int) -> int:
    """Number of codes in a part's label: of its box, of the set it holds, or between its extremes."""
    if attribute.label == BOX:
        return high - low
    codes = np.flatnonzero(counts)
    if attribute.missing and codes.size > 1 and codes[-1] == attribute.size - 1:
        return attribute.size
    return int(codes.size) if attribute.label == SET else int(codes[-1] - codes[0] + 1)


def part_cost(
    attributes: Sequence[CutAttribute], counts: Sequence[Ints], low: Sequence[int], high: Sequence[int], weight: float
) -> float:
    """Certainty penalty + weight x total variation from uniform over the label, summed over rows and attributes."""
    n, total = int(counts[0].sum()), 0.0
    for attribute, own, begin, end in zip(attributes, counts, low, high, strict=True):
        if attribute.size > 1:
            width = label_width(attribute, own, begin, end)
            excess = sum(max(0, int(count) * width - n) for count in own)
            total += (n * (width - 1)) / (attribute.size - 1) + weight * (excess / width)
    return total


def spare(conditions: Sequence[Condition], parts: Sequence[Ints], overall: Sequence[Ints], n: int) -> float:
    """Rows to spare under the tightest condition on the sensitive counts: 0 at its limit, at most n."""
    read = [one for one in conditions if one.operation not in (SIZE, LINK)]
    return max(0.0, min([float(n), *(_spare(one, parts[one.sensitive], overall[one.sensitive], n) for one in read)]))


def _spare(one: Condition, part: Ints, overall: Ints, n: int) -> float:
    counts, whole, rows = [int(count) for count in part], [int(count) for count in overall], int(overall.sum())
    falling = [*sorted(counts, reverse=True), *(0 for _ in range(one.count))]
    limit = float(one.limit)
    match one.operation:
        case code if code == DISTINCT:
            return min(one.count * ((n - sum(falling[:j])) / (one.count - j)) for j in range(one.count))
        case code if code == FREQUENCY:
            return n - falling[0] * one.limit.denominator / one.limit.numerator
        case code if code == ENTROPY:
            found = 0.0
            for count in counts:
                if count:
                    found -= (count / n) * log(count / n)
            return n * ((found - one.low) / log(max(len(counts), 2)))
        case code if code == RECURSIVE:
            return n - sum(falling[: one.count - 1]) - falling[0] * one.limit.denominator / one.limit.numerator
        case code if code == JS:
            used = 0.0
            for count, all_of_it in zip(counts, whole, strict=True):
                p, q = count / n, all_of_it / rows
                used += (p - q) * (p - q) / (p + q) if p + q else 0.0
            return n * (1 - used / (4 * one.high)) if one.high > 0 else n
        case code if code == EMD:
            assert one.ground is not None
            scaled, used = one.limit * one.ground.scale, 0.0
            for low, high, length in one.ground.edges:
                used += length * abs(sum(counts[low:high]) / n - sum(whole[low:high]) / rows)
            return n * (1 - used / (scaled.numerator / scaled.denominator)) if scaled else n
    high, low = (one.high, one.low) if one.operation == DELTA else (limit, 0.0)
    bounds = [float(n)]
    for count, all_of_it in zip(counts, whole, strict=True):
        if all_of_it:
            lifted = count * (rows / all_of_it)
            bounds += [(high * n - lifted) / (high - 1)] if high > 1 else []
            bounds += [(lifted - low * n) / (1 - low)] if 0 < low < 1 and (count or one.absent_fails) else []
    return min(bounds)


@dataclass(frozen=True, slots=True)
class Best:
    """Of all allowed cuts the one that lowers the cost most; None where none lowers it.

    `sparing`: of those that lower it, the one with the largest (cost saved) x (rows to spare of the parts it makes).
    """

    needs: ClassVar[Literal["pairs"]] = "pairs"
    weight: float
    _: KW_ONLY
    conditions: Sequence[Condition]
    overall: Sequence[Ints]
    sparing: bool = False

    def choose(self, part: Summary) -> Cut | None:
        """Return the cheapest allowed cut; one that parts missing from values comes before all others."""
        for cut in _candidates(part):
            attribute = part.attributes[cut.attribute]
            if not attribute.nodes and part.mixed(cut.attribute):
                allowed = self._allowed(part, cut)
                if allowed is not None and allowed.suppressed < 0:
                    return allowed
        start = part_cost(part.attributes, part.counts, part.low, part.high, self.weight)
        best, chosen = -np.inf, None
        for cut in _candidates(part):
            if part.held_back(cut.attribute, self.conditions):
                continue
            allowed = self._allowed(part, cut)
            if allowed is None or (cost := self.cost(part, allowed)) >= start:
                continue
            # Costs are compared themselves: what they save may round to the same float for two of them.
            merit = (start - cost) * self.left_over(part, allowed) if self.sparing else -cost
            if merit > best:
                best, chosen = merit, allowed
        return chosen

    def left_over(self, part: Summary, cut: Cut) -> float:
        """Return the rows to spare of the parts that the cut makes."""
        total = 0.0
        for number, (low, high) in enumerate(part.occupied(cut.attribute, cut.bounds)):
            if number != cut.suppressed:
                held = [table[low:high].sum(axis=0) for table in part.one_way[cut.attribute]]
                total += spare(self.conditions, held, self.overall, part.size(cut.attribute, low, high))
        return total

    def cost(self, part: Summary, cut: Cut) -> float:
        """Return the cost of the parts that the cut makes."""
        total, a = 0.0, cut.attribute
        for number, (low, high) in enumerate(part.occupied(a, cut.bounds)):
            if number == cut.suppressed:
                total += part.size(a, low, high) * (len(part.attributes) * (1.0 + self.weight))
                continue
            counts = [_side(part, a, b, low, high) for b in range(len(part.attributes))]
            lows = [low if b == a else part.low[b] for b in range(len(part.attributes))]
            highs = [high if b == a else part.high[b] for b in range(len(part.attributes))]
            total += part_cost(part.attributes, counts, lows, highs, self.weight)
        return total

    def _allowed(self, part: Summary, cut: Cut) -> Cut | None:
        """Return the cut, with a side suppressed if that is what makes it allowed; else None."""
        a = cut.attribute
        sides = part.occupied(a, cut.bounds)
        failing = [
            s for s, (low, high) in enumerate(sides) if not part.holds(a, low, high, self.conditions, self.overall)
        ]
        if not failing:
            return cut
        binary = not part.attributes[a].nodes
        if binary and len(failing) == 1 and part.size(a, *sides[failing[0]]) <= part.budget:
            return Cut(a, bounds=cut.bounds, suppressed=failing[0])
        return None


@dataclass(frozen=True, slots=True)
class Widest:
    """The widest attribute first, cut beside its median; the next where that is not allowed."""

    needs: ClassVar[Literal["single"]] = "single"
    conditions: Sequence[Condition]
    _: KW_ONLY
    overall: Sequence[Ints]

    def choose(self, part: Summary) -> Cut | None:
        """Return the first allowed cut."""
        for a in self._by_width(part):
            if part.held_back(a, self.conditions):
                continue
            for cut in self._cuts(part, a):
                sides = part.occupied(a, cut.bounds)
                if len(sides) > 1 and all(part.holds(a, *side, self.conditions, self.overall) for side in sides):
                    return cut
        return None

    def _by_width(self, part: Summary) -> list[int]:
        def wider(a: int) -> tuple[float, int]:
            codes = part.codes(a)
            return (-(codes[-1] - codes[0]) / (part.attributes[a].size - 1), a)

        return sorted((a for a in range(len(part.attributes)) if len(part.codes(a)) > 1), key=wider)

    def _cuts(self, part: Summary, a: int) -> list[Cut]:
        if part.attributes[a].nodes:
            return [Cut(a, bounds=part.children(a))]
        if part.mixed(a):
            return [Cut(a, bounds=(part.low[a], part.attributes[a].size - 1, part.high[a]))]
        upto, n = np.cumsum(part.counts[a]), part.rows
        median = int(np.argmax(2 * upto >= n))
        tries = sorted((median, median + 1), key=lambda p: abs(2 * part.size(a, 0, p) - n))
        return [Cut(a, bounds=(part.low[a], p, part.high[a])) for p in tries]


def _candidates(part: Summary) -> Iterator[Cut]:
    """All cuts, by attribute and position. An empty stretch goes whole to one side: its two ends are tried."""
    for a, attribute in enumerate(part.attributes):
        if attribute.nodes:
            if len(part.occupied(a, part.children(a))) > 1:
                yield Cut(a, bounds=part.children(a))
            continue
        codes = part.codes(a)
        for before, after in pairwise(codes):
            if part.mixed(a):  # missing alone: the empty stretch before it belongs to the values
                if after == attribute.size - 1:
                    yield Cut(a, bounds=(part.low[a], after, part.high[a]))
                continue
            for position in sorted({before + 1, after if attribute.label == BOX else before + 1}):
                yield Cut(a, bounds=(part.low[a], position, part.high[a]))


def _side(part: Summary, a: int, b: int, low: int, high: int) -> Ints:
    """One-way counts of attribute b among the rows with low <= code of a < high."""
    if a == b:
        counts = np.zeros_like(part.counts[a])
        counts[low:high] = part.counts[a][low:high]
        return counts
    if a < b:
        return np.asarray(part.pairs[a, b][low:high].sum(axis=0))
    return np.asarray(part.pairs[b, a][:, low:high].sum(axis=1))


Codes = npt.NDArray[np.int32]


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
class ReferencePartition:
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


def partition_reference(
    table: WeightedTable,
    attributes: Sequence[CutAttribute],
    *,
    conditions: Sequence[Condition],
    cut: Literal["best", "sparing", "widest"],
    uniformity_weight: float,
    max_suppressed: Fraction = Fraction(0),
) -> ReferencePartition:
    """Cut until the rule finds nothing, then number the boxes in sorted order."""
    overall, total = table.overall(), int(table.weights.sum())
    rule: Best | Widest = Widest(conditions, overall=overall)
    if cut != "widest":
        rule = Best(uniformity_weight, conditions=conditions, overall=overall, sparing=cut == "sparing")
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
    attributes: Sequence[CutAttribute],
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


def _numbered(table: WeightedTable, leaves: list[_Part], attributes: int) -> ReferencePartition:
    leaves = sorted(leaves, key=lambda part: tuple(zip(part.low, part.high, strict=True)))
    leaf = np.full(len(table.codes), -1, dtype=np.int32)
    for number, part in enumerate(leaves):
        leaf[part.rows] = number
    return ReferencePartition(
        np.array([part.low for part in leaves], dtype=np.int32).reshape(-1, attributes),
        high=np.array([part.high for part in leaves], dtype=np.int32).reshape(-1, attributes),
        weight=np.array([table.weights[part.rows].sum() for part in leaves], dtype=np.int64),
        leaf=leaf,
        suppressed=int(table.weights[leaf < 0].sum()),
    )


def route(tree: CutTree, codes: npt.ArrayLike) -> npt.NDArray[np.int32]:
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
