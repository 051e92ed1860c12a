"""Mondrian over plain arrays: a weighted table of codes goes in, disjoint boxes come out.

Source    LeFevre, DeWitt & Ramakrishnan, Mondrian, ICDE 2006; docs/theory/partition.md.
Claim     every leaf satisfies the whole conjunction, leaves are disjoint boxes, and no leaf has an allowed cut that its
          rule would take. Result depends on the counts only: not on row order, nor on whether equal rows are merged.
Because   a cut is taken when every part with rows satisfies the conjunction, and the requirements are
          convex (docs/theory/partition.md; one exception in `conditions`), so a part that fails cannot be
          repaired by cutting it. Rules read counts alone.
Checked   tests/claims/test_mondrian_kernel.py::test_every_leaf_holds_and_boxes_are_disjoint
          tests/claims/test_mondrian_kernel.py::test_compiled_equals_the_reference
          tests/claims/test_mondrian_kernel.py::test_merged_rows_and_single_rows_give_the_same_boxes
          tests/claims/test_mondrian_kernel.py::test_suppression_stays_within_its_limit
Silent on what the boxes reveal together with the order of cuts; on the group of suppressed rows, for which
          `suppressed_holds` only says whether the conjunction holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.arrays import Ints
from sfumato.errors import Infeasible, ParameterError
from sfumato.kernels.cache import compiled, inlined
from sfumato.kernels.conditions import MOST_CUT_ROWS, SIZE, Condition, Conditions, all_hold, bind
from sfumato.kernels.dlink.score import link_score
from sfumato.kernels.mondrian.layout import (
    BOX,
    EXTREMES,
    SET,
    Codes,
    CutAttribute,
    Layout,
    Part,
    RowRecords,
    Scratch,
    add_sensitive,
    lay_out,
    scratch,
    whole_box,
)
from sfumato.kernels.mondrian.sweep import choose_best, choose_widest, side_mass

# The compiled loop of Mondrian: a stack of parts, each cut by a rule or kept as a leaf.
#
# The claim and its tests are those of `mondrian`.

# mypy: disable-error-code="arg-type, assignment, no-any-return, return-value"
# Compiled code: numba's int64 is not an `int` to mypy, and arrays are passed one by one because a compiled call with
# many arrays in a tuple costs more than the work it does.


WIDEST, BEST, SPARING = range(3)
RULES = {"best": BEST, "sparing": SPARING, "widest": WIDEST}
LEAF, SUPPRESSED = -1, -2  # in place of a node's attribute
NOBODY = -1  # in place of a child: the interval holds no row


class Grown(NamedTuple):
    """The tree. Node x cuts `attribute[x]` into children child_start[x] .. child_start[x + 1]."""

    attribute: Codes
    start: Ints
    end: Ints
    low: Codes  # nodes x attributes
    high: Codes
    child_first: Ints
    child_count: Ints
    child_low: Codes
    child_node: Ints
    nodes: int  # how much of the arrays is in use
    children: int


class _Nodes(NamedTuple):
    attribute: Codes
    start: Ints
    end: Ints
    low: Codes
    high: Codes
    node: Codes
    budget: Ints
    child_first: Ints
    child_count: Ints


@inlined
def _longer(old: npt.NDArray[np.int64], length: int) -> npt.NDArray[np.int64]:
    new = np.zeros(length, dtype=old.dtype)
    for i in range(old.size):
        new[i] = old[i]
    return new


@inlined
def _longer_table(old: Codes, length: int) -> Codes:
    new = np.zeros((length, old.shape[1]), dtype=old.dtype)
    for i in range(old.shape[0]):
        for a in range(old.shape[1]):
            new[i, a] = old[i, a]
    return new


@inlined
def _new_nodes(room: int, q: int) -> _Nodes:
    return _Nodes(
        np.zeros(room, dtype=np.int32),
        np.zeros(room, dtype=np.int64),
        np.zeros(room, dtype=np.int64),
        np.zeros((room, q), dtype=np.int32),
        np.zeros((room, q), dtype=np.int32),
        np.zeros((room, q), dtype=np.int32),
        np.zeros(room, dtype=np.int64),
        np.zeros(room, dtype=np.int64),
        np.zeros(room, dtype=np.int64),
    )


@inlined
def _more_nodes(nodes: _Nodes) -> _Nodes:
    length = 2 * nodes.start.size
    return _Nodes(
        _longer(nodes.attribute, length),
        _longer(nodes.start, length),
        _longer(nodes.end, length),
        _longer_table(nodes.low, length),
        _longer_table(nodes.high, length),
        _longer_table(nodes.node, length),
        _longer(nodes.budget, length),
        _longer(nodes.child_first, length),
        _longer(nodes.child_count, length),
    )


@inlined
def _observe(rows: Codes, weights: Codes, box: RowRecords) -> int:
    """Fill the extremes of each attribute; return the part's weight."""
    n = np.int64(0)
    for i in range(rows.shape[0]):
        n += weights[i]
    for a in range(box.shape[0]):
        least, most = rows[0, a], rows[0, a]
        for i in range(rows.shape[0]):
            least = min(least, rows[i, a])
            most = max(most, rows[i, a])
        box[a]["least"], box[a]["most"] = least, most
    return n


@inlined
def _still_linked(c: Conditions, s: Scratch, part: Part, a: int, low: int, high: int) -> bool:
    """Say whether the rows of a part pass a LINK condition in a smaller box."""
    if c.link.d == 0:
        return True
    counts = s.sensitive[: s.sensitive.size // 3]
    counts[:] = 0
    for i in range(part.rows.shape[0]):
        add_sensitive(part.rows[i], part.box.shape[0], part.weights[i], c.offset, counts, 0)
    return link_score(c.link, side_mass(c, part.box, a, low, high), counts, c.plogp) >= c.link.alpha


@inlined
def _narrowable(t: Layout, c: Conditions, s: Scratch, part: Part) -> int:
    """Return an attribute whose box can shrink although no rows part, or -1.

    A node whose rows lie below one child, or a whole domain of which only values, or only missing, occur.
    """
    box = part.box
    for a in range(box.shape[0]):
        one, side = t.attribute[a], box[a]
        if one["root"] >= 0:
            parent = t.node[side["node"]]
            for x in range(parent["child"], parent["last_child"]):
                node = t.node[t.child[x]]
                holds_all = node["low"] <= side["least"] and side["most"] < node["high"]
                if holds_all and _still_linked(c, s, part, a, node["low"], node["high"]):
                    return a
            continue
        whole = one["missing"] and side["high"] - side["low"] == one["codes"] > 1
        last = one["codes"] - 1
        if whole and side["most"] < last and _still_linked(c, s, part, a, 0, last):
            return a
        if whole and side["least"] == last and _still_linked(c, s, part, a, last, last + 1):
            return a
    return -1


@inlined
def choose_cut(t: Layout, c: Conditions, s: Scratch, part: Part, n: int, budget: int, rule: int, weight: float) -> bool:
    """Write the cut that the rule takes of a part to `s.cut`; False where it stays whole."""
    a = _narrowable(t, c, s, part)
    if a >= 0:
        s.cut[0], s.cut[1], s.cut[2] = a, t.attribute[a]["codes"] - 1 if t.attribute[a]["root"] < 0 else -1, -1
        return True
    if n < 2 * c.fewest and budget == 0:
        return False
    if rule == WIDEST:
        return choose_widest(t, c, s, part, n)
    return choose_best(t, c, s, part, n, budget, weight, rule == SPARING)


@inlined
def _split(rows: Codes, weights: Codes, start: int, end: int, a: int, position: int) -> int:
    """Move rows with a code below `position` to the front, in place; return where the others begin."""
    low, high = start, end - 1
    while low <= high:
        if rows[low, a] < position:
            low += 1
        elif rows[high, a] >= position:
            high -= 1
        else:
            for column in range(rows.shape[1]):
                rows[low, column], rows[high, column] = rows[high, column], rows[low, column]
            weights[low], weights[high] = weights[high], weights[low]
            low += 1
            high -= 1
    return low


@inlined
def _share_budget(nodes: _Nodes, weights: Codes, child_node: Ints, first: int, last: int, n: int, budget: int) -> None:
    """What a cut suppressed is spent; the rest is shared by weight, rounded down."""
    kept = n
    for j in range(first, last):
        x = child_node[j]
        if x != NOBODY and nodes.attribute[x] == SUPPRESSED:
            lost = np.int64(0)
            for i in range(nodes.start[x], nodes.end[x]):
                lost += weights[i]
            budget, kept = budget - lost, kept - lost
    for j in range(first, last):
        x = child_node[j]
        if x != NOBODY and nodes.attribute[x] != SUPPRESSED:
            own = np.int64(0)
            for i in range(nodes.start[x], nodes.end[x]):
                own += weights[i]
            nodes.budget[x] = (budget * own) // kept


@compiled
def grow(
    t: Layout,
    c: Conditions,
    s: Scratch,
    box: RowRecords,
    rows: Codes,
    weights: Codes,
    rule: int,
    weight: float,
    budget: int,
) -> Grown:
    """Cut `box` until no cut is allowed; `rows` and `weights` are reordered so that each leaf is a stretch."""
    q, room = t.attribute.shape[0], 1024
    nodes = _new_nodes(room, q)
    child_low, child_node = np.zeros(room, dtype=np.int32), np.zeros(room, dtype=np.int64)
    stack = np.zeros(room, dtype=np.int64)
    nodes.end[0], nodes.budget[0] = rows.shape[0], budget
    for a in range(q):
        nodes.low[0, a], nodes.high[0, a], nodes.node[0, a] = box[a]["low"], box[a]["high"], box[a]["node"]
    used, children, waiting = 1, 0, 1
    while waiting > 0:
        waiting -= 1
        x = stack[waiting]
        start, end = nodes.start[x], nodes.end[x]
        for b in range(q):
            box[b]["low"], box[b]["high"], box[b]["node"] = nodes.low[x, b], nodes.high[x, b], nodes.node[x, b]
        part = Part(rows[start:end], weights[start:end], box)
        n = _observe(part.rows, part.weights, box)
        nodes.attribute[x] = LEAF
        if not choose_cut(t, c, s, part, n, nodes.budget[x], rule, weight):
            continue
        a, position, spared = s.cut[0], s.cut[1], s.cut[2]
        parent_low, parent_high, parent = box[a]["low"], box[a]["high"], box[a]["node"]
        count = 2 if position >= 0 else t.node[parent]["last_child"] - t.node[parent]["child"]
        while used + count > nodes.start.size:
            nodes = _more_nodes(nodes)
        while children + count > child_low.size:
            child_low, child_node = _longer(child_low, 2 * child_low.size), _longer(child_node, 2 * child_node.size)
        while waiting + count > stack.size:
            stack = _longer(stack, 2 * stack.size)
        nodes.attribute[x], nodes.child_first[x], nodes.child_count[x] = a, children, count
        begin = start
        for j in range(count):
            node = np.int64(-1)
            low, high = (parent_low, position) if j == 0 else (position, parent_high)
            if position < 0:
                node = t.child[t.node[parent]["child"] + j]
                low, high = t.node[node]["low"], t.node[node]["high"]
            stop = _split(rows, weights, begin, end, a, high) if j < count - 1 else end
            child_low[children] = low
            child_node[children] = NOBODY
            if stop > begin:
                child_node[children] = used
                nodes.start[used], nodes.end[used] = begin, stop
                for b in range(q):
                    nodes.low[used, b], nodes.high[used, b] = box[b]["low"], box[b]["high"]
                    nodes.node[used, b] = box[b]["node"]
                nodes.low[used, a], nodes.high[used, a], nodes.node[used, a] = low, high, node
                if spared == j:
                    nodes.attribute[used] = SUPPRESSED
                else:
                    stack[waiting] = used
                    waiting += 1
                used += 1
            children += 1
            begin = stop
        if nodes.budget[x] > 0:
            _share_budget(nodes, weights, child_node, children - count, children, n, nodes.budget[x])
    return Grown(
        nodes.attribute,
        nodes.start,
        nodes.end,
        nodes.low,
        nodes.high,
        nodes.child_first,
        nodes.child_count,
        child_low,
        child_node,
        used,
        children,
    )


UNIFORMITY_WEIGHT = 0.3
"""What the distance from uniform counts beside the certainty penalty (weight 1) in the `best` rule."""


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
    whether the suppressed rows together satisfy the conjunction (True where there are none). `reordered` lists the
    attributes that were cut in another order of their codes: there low and high are the ends of a set of codes.
    `held`, where rows stand for several combinations, lists each leaf with each code it holds, by attribute.
    """

    low: Codes
    _: KW_ONLY
    high: Codes
    weight: Ints
    leaf: Codes
    tree: CutTree
    suppressed: int
    suppressed_holds: bool
    reordered: tuple[int, ...] = ()
    held: tuple[tuple[Ints, Ints], ...] | None = None


@dataclass(frozen=True, slots=True)
class Inside:
    """One part of a larger table: the rows and overall counts of the whole, and the part's box (`layout.whole_box`)."""

    rows: int
    _: KW_ONLY
    overall: list[Ints]
    box: RowRecords


def refuse_whole(conditions: Sequence[Condition], overall: list[Ints], rows: int) -> None:
    """Raise where the whole table as one class does not satisfy the conditions."""
    if not all_hold(conditions, overall, overall, rows):
        raise Infeasible("the requirement", "none", "the whole table as one class does not satisfy it")


def partition(
    codes: npt.ArrayLike,
    weights: npt.ArrayLike,
    attributes: Sequence[CutAttribute],
    *,
    conditions: Sequence[Condition],
    sensitive: npt.ArrayLike | None = None,
    sensitive_sizes: Sequence[int] = (),
    cut: Literal["best", "sparing", "widest"] = "best",
    uniformity_weight: float = UNIFORMITY_WEIGHT,
    max_suppressed: Fraction = Fraction(0),
    inside: Inside | None = None,
) -> Partition:
    """Cut the table as long as every part satisfies all conditions.

    `codes` is rows x attributes, `weights` how many people share a row, `sensitive` rows x sensitive
    columns. With `max_suppressed` above 0 (not with the rule `widest`) a side of a cut that does not satisfy the
    conditions may be left out where that costs less than keeping it: at most that share of all rows, spent from the top
    down. With `inside` the rows are those of one part of a larger table, which satisfies the conditions.
    """
    table, counts, carried = _read(codes, weights, attributes, sensitive, sensitive_sizes)
    if cut not in RULES:
        raise ParameterError("cut", cut, f"must be one of {', '.join(RULES)}")
    if not 0 <= max_suppressed < 1 or (max_suppressed and cut == "widest"):
        rule = "must be from 0 to below 1, and 0 for the widest cut"
        raise ParameterError("max_suppressed", max_suppressed, rule)
    rows = int(counts.sum())
    if all(condition.operation == SIZE for condition in conditions):
        carried, sensitive_sizes = carried[:, :0], ()
    overall = _overall(carried, counts, sensitive_sizes) if inside is None else inside.overall[: len(sensitive_sizes)]
    bound = bind(conditions, overall, rows if inside is None else inside.rows)
    layout = lay_out(attributes)
    if rows == 0:
        return _nothing(len(attributes))
    if inside is None:
        refuse_whole(conditions, overall, rows)
    working = np.empty((len(counts), table.shape[1] + carried.shape[1] + 1), np.int32)  # by rows: one compiled form
    working[:, : table.shape[1]], working[:, table.shape[1] : -1] = table, carried
    working[:, -1] = np.arange(len(counts), dtype=np.int32)
    moving = counts.astype(np.int32)
    room = scratch(attributes, len(counts), int(bound.offset[-1]), rows)
    budget = int(max_suppressed * rows)
    rule, weight = RULES[cut], float(uniformity_weight)
    box = whole_box(layout) if inside is None else inside.box.copy()
    grown = grow(layout, bound, room, box, working, moving, rule, weight, budget)
    return _result(_trimmed(grown), working[:, -1], counts, carried=carried, conditions=conditions, overall=overall)


def partition_cost(
    found: Partition,
    codes: npt.ArrayLike,
    weights: npt.ArrayLike,
    attributes: Sequence[CutAttribute],
    uniformity_weight: float = UNIFORMITY_WEIGHT,
) -> float:
    """Return what the rule `best` lowers, summed over all leaves; a suppressed row costs q (1 + weight)."""
    width, excess = leaf_costs(found, codes, weights, attributes)
    return total_cost(found.weight, width, excess, attributes, uniformity_weight, suppressed=found.suppressed)


def total_cost(
    weight: Ints,
    width: Ints,
    excess: Ints,
    attributes: Sequence[CutAttribute],
    uniformity_weight: float = UNIFORMITY_WEIGHT,
    *,
    suppressed: int = 0,
) -> float:
    """Add up the costs of leaves, in their order; `width` and `excess` are leaves x attributes."""
    total = suppressed * len(attributes) * (1.0 + uniformity_weight)
    for a, attribute in enumerate(attributes):
        if attribute.size > 1:
            wide, over = width[:, a], excess[:, a]
            total += float(np.sum(weight * (wide - 1)) / (attribute.size - 1) + uniformity_weight * np.sum(over / wide))
    return total


def leaf_costs(
    found: Partition, codes: npt.ArrayLike, weights: npt.ArrayLike, attributes: Sequence[CutAttribute]
) -> tuple[Ints, Ints]:
    """Return how many codes the label of each leaf has, and by how much codes exceed an even share, by attribute."""
    table, counts = np.asarray(codes, dtype=np.int64), np.asarray(weights, dtype=np.int64)
    inside, n = found.leaf >= 0, found.weight
    leaf, counts = found.leaf[inside].astype(np.int64), counts[inside]
    widths = np.ones((len(n), len(attributes)), np.int64)
    excesses = np.zeros((len(n), len(attributes)), np.int64)
    for a, attribute in enumerate(attributes):
        if attribute.size == 1:
            continue
        pairs, place = np.unique(leaf * attribute.size + table[inside, a], return_inverse=True)
        owner, code = pairs // attribute.size, pairs % attribute.size
        held = np.zeros(len(pairs), dtype=np.int64)
        np.add.at(held, place, counts)
        first = np.searchsorted(owner, np.arange(len(n)))
        last = np.append(first[1:], len(pairs)) - 1
        width = {
            BOX: found.high[:, a].astype(np.int64) - found.low[:, a],
            SET: last - first + 1,
            EXTREMES: code[last] - code[first] + 1,
        }[attribute.label]
        if attribute.missing:
            width = np.where((code[last] == attribute.size - 1) & (last > first), attribute.size, width)
        widths[:, a] = width
        np.add.at(excesses[:, a], owner, np.maximum(0, held * width[owner] - n[owner]))
    return widths, excesses


def _read(
    codes: npt.ArrayLike,
    weights: npt.ArrayLike,
    attributes: Sequence[CutAttribute],
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
    if counts.size and (counts.min() < 1 or int(counts.sum()) > MOST_CUT_ROWS):
        raise ParameterError("weights", "rows", f"must be at least 1 each and {MOST_CUT_ROWS} in all")
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
    rank = box_order(low, high)
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


def box_order(low: Codes, high: Codes) -> Ints:
    """Return boxes in their sorted order: by the ends of the first attribute, then of the next."""
    keys = np.stack([low, high], axis=2).reshape(len(low), -1)
    found: Ints = np.lexsort(keys.T[::-1])
    return found


def _assign(grown: Grown, leaf_of_node: Codes, numbers: Codes) -> Codes:
    """Each leaf and each suppressed node is a stretch of the moved rows; together they tile them."""
    ends = np.flatnonzero((grown.attribute == LEAF) | (grown.attribute == SUPPRESSED))
    ends = ends[np.argsort(grown.start[ends])]
    leaf = np.empty(numbers.size, dtype=np.int32)
    leaf[numbers] = np.repeat(leaf_of_node[ends], grown.end[ends] - grown.start[ends])
    return leaf
