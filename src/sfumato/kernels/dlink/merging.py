"""Uniting classes until each passes the linkability test: the merge loop of dLink, compiled.

Source    Sattar et al., the dLink paper, algorithm 1; distance: Li, Wong, Fu & Pei (KACA), DaWaK 2006; theory B.
Claim     the failing class with the least (score, number) is united with the class at the least (distance, number),
          among the failing ones while there is another, else among all; until none fails or one class is left. The
          search returns what a search of all pairs returns.
Because   a node's bound is below the distance of every class kept in or under it: labels cannot be joined to less than
          the nearest code of the node's hull asks for, nor to less than the least loss below it. Hulls and losses of
          nodes only widen. Nearest classes are never remembered: uniting others can bring a class nearer.
Checked   tests/claims/test_dlink_merging.py::test_indexed_merge_equals_all_pairs
          tests/claims/test_dlink_merging.py::test_remembered_neighbours_are_caught
          tests/claims/test_dlink_merging.py::test_last_failing_class_joins_a_passing_one
Silent on the best set of unions: the loop is greedy. What the order of unions tells is not analysed.
Cost      one best-first search for each union; a united class is kept in the lowest node that holds both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

import numpy as np

from sfumato.arrays import Floats, Ints
from sfumato.kernels.cache import compiled, inlined
from sfumato.kernels.dlink.score import CELLS, Link, box_mass, link_score

# What the merging of classes works on: how labels are joined, the classes, and a tree over them to search in.


_TABLE = 512  # codes up to which losses are looked up instead of walked up to


@dataclass(frozen=True, slots=True)
class JoinAxis:
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


class UnitedClasses(NamedTuple):
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


def join_rules(axes: Sequence[JoinAxis]) -> Joins:
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


def _tabled(axis: JoinAxis) -> bool:
    return bool(axis.nodes) and axis.size <= _TABLE


def _starts(axes: Sequence[JoinAxis]) -> list[int]:
    found, begin = [], 0
    for axis in axes:
        found.append(begin if _tabled(axis) else -1)
        begin += axis.size**2 if _tabled(axis) else 0
    return found


def _losses(axis: JoinAxis) -> Floats:
    """Loss of the lowest node that holds two codes, for each pair; lower nodes stand later and overwrite."""
    table = np.zeros((axis.size, axis.size))
    for low, high, _, lost in axis.nodes:
        table[low:high, low:high] = lost
    return table.ravel()


def new_index(classes: UnitedClasses) -> Index:
    """Return empty arrays for a tree over the classes."""
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


# Searching the tree over classes for the nearest one: labels joined, distances, bounds, best first.
#
# The claim and its tests are those at the head of this module.

# mypy: disable-error-code="arg-type, assignment, no-any-return, return-value"
# Compiled code: numba's int64 is not an `int` to mypy.


class Heap(NamedTuple):
    """Entries by (key, value), the least first; how many are in use is kept by the caller."""

    key: Floats
    value: Ints
    version: Ints


@inlined
def _before(heap: Heap, i: int, j: int) -> bool:
    return heap.key[i] < heap.key[j] or (heap.key[i] == heap.key[j] and heap.value[i] < heap.value[j])


@inlined
def _swap(heap: Heap, i: int, j: int) -> None:
    heap.key[i], heap.key[j] = heap.key[j], heap.key[i]
    heap.value[i], heap.value[j] = heap.value[j], heap.value[i]
    heap.version[i], heap.version[j] = heap.version[j], heap.version[i]


@inlined
def push(heap: Heap, size: int, key: float, value: int, version: int) -> int:
    """Add an entry to a heap of `size` entries; return the new size."""
    heap.key[size], heap.value[size], heap.version[size] = key, value, version
    at = size
    while at > 0 and _before(heap, at, (at - 1) // 2):
        _swap(heap, at, (at - 1) // 2)
        at = (at - 1) // 2
    return size + 1


@inlined
def pop(heap: Heap, size: int) -> int:
    """Move the first entry to the end and drop it there; return the new size."""
    size -= 1
    _swap(heap, 0, size)
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and _before(heap, child + 1, child):
            child += 1
        if not _before(heap, child, at):
            break
        _swap(heap, at, child)
        at = child
    return size


@inlined
def join(t: Joins, a: int, low: int, high: int) -> tuple[int, int, float]:
    """The label that holds low <= code < high of attribute a, and what a row loses by it."""
    size = t.size[a]
    if t.leaf_start[a] < 0:
        if t.missing[a] and high == size and low < size - 1:
            low = 0
        return low, high, (high - low - 1) / (size - 1) if size > 1 else 0.0
    node = t.leaf[t.leaf_start[a] + low]
    while t.high[node] < high:
        node = t.parent[node]
    return t.low[node], t.high[node], t.loss[node]


@inlined
def loss_of(t: Joins, a: int, low: int, high: int) -> float:
    """The loss of `join`, looked up where it can be."""
    if t.table_start[a] >= 0:
        return t.table[t.table_start[a] + low * t.size[a] + high - 1]
    _, _, loss = join(t, a, low, high)
    return loss


@inlined
def spread_of(c: UnitedClasses, i: int, j: int, low: int, high: int, a: int, n: int) -> float:
    """Rows of i (and j, unless j is -1) that an even spread over low <= code < high puts at a wrong code."""
    even, total, first = n / (high - low), 0.0, c.code_start[a]
    for code in range(first + low, first + high):
        count = c.codes[i, code] + (c.codes[j, code] if j >= 0 else 0)
        total += max(0.0, count - even)
    return total


@inlined
def distance(t: Joins, c: UnitedClasses, i: int, j: int, weight: float, most: float) -> float:
    """n_i (loss of the join - loss_i) + n_j (...), plus weight x what an even spread gets wrong more than before."""
    total, own, other = 0.0, c.rows[i], c.rows[j]
    slack = weight * (c.spread[i] + c.spread[j]) if weight > 0.0 else 0.0
    for a in range(c.low.shape[1]):
        loss = loss_of(t, a, min(c.low[i, a], c.low[j, a]), max(c.high[i, a], c.high[j, a]))
        total += own * (loss - c.loss[i, a]) + other * (loss - c.loss[j, a])
        if total - slack > most:
            return np.inf
    if weight > 0.0:
        spread = 0.0
        for a in range(c.low.shape[1]):
            if c.code_start[a] < 0:
                continue
            low, high, _ = join(t, a, min(c.low[i, a], c.low[j, a]), max(c.high[i, a], c.high[j, a]))
            spread += spread_of(c, i, j, low, high, a, own + other)
            if total + weight * spread - slack > most:
                return np.inf
        total += weight * spread - slack
    return total


@inlined
def _bound(t: Joins, c: UnitedClasses, x: Index, i: int, node: int, weight: float, most: float) -> float:
    """Below the distance from class i to every class kept in or under a node; infinite once it exceeds `most`."""
    total, own, other = 0.0, c.rows[i], x.least_rows[node]
    if weight > 0.0:
        total -= weight * (c.spread[i] + x.most_spread[node])
    for a in range(c.low.shape[1]):
        loss = c.loss[i, a]
        if x.low[node, a] >= c.high[i, a]:
            loss = loss_of(t, a, c.low[i, a], x.low[node, a] + 1)
        elif x.high[node, a] <= c.low[i, a]:
            loss = loss_of(t, a, x.high[node, a] - 1, c.high[i, a])
        loss = max(loss, x.least_loss[node, a])
        total += own * max(loss - c.loss[i, a], 0.0) + other * max(loss - x.most_loss[node, a], 0.0)
        if total > most:
            return np.inf
    return total


@inlined
def nearest(
    t: Joins, c: UnitedClasses, x: Index, i: int, only_failing: bool, weight: float, heap: Heap
) -> tuple[int, float, int]:
    """Return the nearest class to i by (distance, number), its distance, and how many distances were computed."""
    best, chosen, looked, most = np.inf, np.int64(-1), 0, np.inf
    size = push(heap, 0, _bound(t, c, x, i, 0, weight, np.inf), 0, 0)
    while size > 0:
        node, bound = heap.value[0], heap.key[0]
        size = pop(heap, size)
        if bound > most:
            break
        for kind in range(1 if only_failing else 0, 2):
            j = x.head[node, kind]
            while j >= 0:
                if j != i:
                    looked += 1
                    near = distance(t, c, i, j, weight, most)
                    if near < best or (near == best and j < chosen):
                        best, chosen = near, j
                        most = best + 1e-9 * (1.0 + abs(best))  # sums in another order may differ in the last digits
                j = x.after[j]
        for child in (x.left[node], x.right[node]):
            if child < 0 or (x.failing[child] if only_failing else x.alive[child]) == 0:
                continue
            bound = _bound(t, c, x, i, child, weight, most)
            if bound < np.inf:
                size = push(heap, size, bound, child, 0)
    return chosen, best, looked


# The tree over classes that merging searches in: built once, classes taken out and put in higher up.
#
# The claim and its tests are those at the head of this module.

# mypy: disable-error-code="arg-type, assignment, no-any-return, return-value"
# Compiled code: numba's int64 is not an `int` to mypy.


_WIDEST = 4096  # codes up to which clean cuts are looked for
_BUCKET = 4  # classes in one leaf of the search tree


@inlined
def take_out(x: Index, i: int, failed: int) -> None:
    """Remove class i from the tree."""
    node = x.home[i]
    if x.before[i] >= 0:
        x.after[x.before[i]] = x.after[i]
    else:
        x.head[node, failed] = x.after[i]
    if x.after[i] >= 0:
        x.before[x.after[i]] = x.before[i]
    while node >= 0:
        x.alive[node] -= 1
        x.failing[node] -= failed
        node = x.parent[node]


@inlined
def _hang(x: Index, i: int, node: int, failed: int) -> None:
    """Put class i at the front of a node's own classes."""
    x.home[i], x.before[i], x.after[i] = node, -1, x.head[node, failed]
    if x.head[node, failed] >= 0:
        x.before[x.head[node, failed]] = i
    x.head[node, failed] = i


@inlined
def put_in(x: Index, c: UnitedClasses, i: int, node: int, failed: int) -> None:
    """Keep class i in a node; hulls and bounds above it widen."""
    _hang(x, i, node, failed)
    while node >= 0:
        x.alive[node] += 1
        x.failing[node] += failed
        for a in range(c.low.shape[1]):
            x.low[node, a] = min(x.low[node, a], c.low[i, a])
            x.high[node, a] = max(x.high[node, a], c.high[i, a])
            x.most_loss[node, a] = max(x.most_loss[node, a], c.loss[i, a])
        x.most_spread[node] = max(x.most_spread[node], c.spread[i])
        node = x.parent[node]


@inlined
def node_above_both(x: Index, node: int, other: int) -> int:
    """The lowest node above both; children have larger numbers than their parents."""
    while node != other:
        if node > other:
            node = x.parent[node]
        else:
            other = x.parent[other]
    return node


@inlined
def _clean_cut(
    t: Joins, c: UnitedClasses, x: Index, node: int, members: Ints, a: int, cover: Ints
) -> tuple[float, float]:
    """Twice the code that parts the classes most evenly without cutting one (-1: none), and how much loss it saves.

    A partition made by cuts always has one, and then no hull of one half reaches into the other.
    """
    first, codes = x.low[node, a], x.high[node, a] - x.low[node, a]
    if codes > _WIDEST:
        return -1.0, 0.0
    cover[: codes + 1] = 0
    for at in range(members.size):
        low, high = c.low[members[at], a] - first, c.high[members[at], a] - first
        cover[low + 1, 0] += 1  # positions low + 1 .. high - 1 would cut it
        cover[high, 0] -= 1
        cover[high, 1] += 1
    covered, left, best, chosen, before = 0, 0, 0, -1, 0
    for position in range(1, codes):
        covered += cover[position, 0]
        left += cover[position, 1]
        if covered == 0 and min(left, members.size - left) > best:
            best, chosen, before = min(left, members.size - left), first + position, left
    if chosen < 0:
        return -1.0, 0.0
    halves = before * loss_of(t, a, first, chosen) + (members.size - before) * loss_of(t, a, chosen, first + codes)
    return 2.0 * chosen, members.size * loss_of(t, a, first, first + codes) - halves


@inlined
def _mean_cut(t: Joins, c: UnitedClasses, members: Ints, a: int) -> tuple[float, float]:
    """Twice the mean middle of the classes (-1: all have the same), and how far apart they are."""
    least, most, total = np.inf, -np.inf, 0.0
    for at in range(members.size):
        own = float(c.low[members[at], a] + c.high[members[at], a])
        least, most, total = min(least, own), max(most, own), total + own
    return (total / members.size, (most - least) / t.size[a]) if least < most else (-1.0, 0.0)


@inlined
def _summarize(c: UnitedClasses, x: Index, node: int, members: Ints, failing: Ints) -> None:
    """Fill a node's hull and bounds from the classes under it."""
    first, x.alive[node] = members[0], members.size
    x.least_rows[node], x.most_spread[node] = c.rows[first], c.spread[first]
    for a in range(c.low.shape[1]):
        x.low[node, a], x.high[node, a] = c.low[first, a], c.high[first, a]
        x.least_loss[node, a], x.most_loss[node, a] = c.loss[first, a], c.loss[first, a]
    for at in range(members.size):
        i = members[at]
        x.least_rows[node] = min(x.least_rows[node], c.rows[i])
        x.most_spread[node] = max(x.most_spread[node], c.spread[i])
        x.failing[node] += failing[i]
        for a in range(c.low.shape[1]):
            x.low[node, a] = min(x.low[node, a], c.low[i, a])
            x.high[node, a] = max(x.high[node, a], c.high[i, a])
            x.least_loss[node, a] = min(x.least_loss[node, a], c.loss[i, a])
            x.most_loss[node, a] = max(x.most_loss[node, a], c.loss[i, a])


@inlined
def build(t: Joins, c: UnitedClasses, x: Index, failing: Ints) -> None:
    """Part the classes where that saves most loss, without cutting one if that can be, until few are left."""
    many, q = c.low.shape
    order, begin, end = np.arange(many), np.zeros(x.parent.size, np.int64), np.zeros(x.parent.size, np.int64)
    end[0], used, node = many, 1, 0
    cover = np.zeros((_WIDEST + 1, 2), np.int64)
    while node < used:
        members = order[begin[node] : end[node]]
        _summarize(c, x, node, members, failing)
        best, chosen, where = -1.0, -1, 0.0
        for turn in range(2 if members.size > _BUCKET else 0):
            for a in range(q if chosen < 0 or turn == 0 else 0):
                if turn == 0:
                    middle, gain = _clean_cut(t, c, x, node, members, a, cover)
                else:
                    middle, gain = _mean_cut(t, c, members, a)
                if middle >= 0.0 and gain > best:
                    best, chosen, where = gain, a, middle
        if chosen < 0:
            for at in range(members.size):
                _hang(x, members[at], node, failing[members[at]])
        else:
            low, high = 0, members.size - 1
            while low <= high:
                if c.low[members[low], chosen] + c.high[members[low], chosen] <= where:
                    low += 1
                else:
                    members[low], members[high] = members[high], members[low]
                    high -= 1
            x.left[node], x.right[node], x.parent[used], x.parent[used + 1] = used, used + 1, node, node
            begin[used], end[used] = begin[node], begin[node] + low
            begin[used + 1], end[used + 1] = begin[node] + low, end[node]
            used += 2
        node += 1


# mypy: disable-error-code="arg-type, assignment, no-any-return, return-value"
# Compiled code: numba's int64 is not an `int` to mypy.


GONE = -1  # in place of the class that another was united with: its rows are suppressed


class Merged(NamedTuple):
    """`into[i]` is the class that i ended in, GONE where suppressed; `first` and `second` are the unions in order."""

    into: Ints
    score: Floats
    first: Ints
    second: Ints
    suppressed: int
    failed: int  # classes that failed before any union
    looked_at: int  # distances computed in all


@inlined
def _cell_shares(k: Link, c: UnitedClasses, i: int, cells: Floats) -> None:
    """Population share of (box of class i, value) by declared cells; a cell cut by the box gives its part of it."""
    cells[:] = 0.0
    for cell in range(k.cell_value.size):
        share = k.cell_weight[cell]
        for a in range(c.low.shape[1]):
            begin, end = k.cell_low[cell, a], k.cell_high[cell, a]
            low, high = max(begin, c.low[i, a]), min(end, c.high[i, a])
            if low >= high:
                share = 0.0
                break
            if low != begin or high != end:
                whole = box_mass(k, a, begin, end)
                share = share * box_mass(k, a, low, high) / whole if whole > 0.0 else 0.0
        cells[k.cell_value[cell]] += share


@inlined
def _score(k: Link, c: UnitedClasses, i: int, cells: Floats) -> float:
    if k.source == CELLS:
        _cell_shares(k, c, i, cells)
    return link_score(k, c.mass[i], c.counts[i], cells)


@inlined
def _absorb(t: Joins, k: Link, c: UnitedClasses, i: int, j: int, weight: float) -> None:
    """Make class i the union of i and j."""
    c.rows[i] += c.rows[j]
    for s in range(c.counts.shape[1]):
        c.counts[i, s] += c.counts[j, s]
    for code in range(c.codes.shape[1]):
        c.codes[i, code] += c.codes[j, code]
    mass, spread = 1.0, 0.0
    for a in range(c.low.shape[1]):
        low, high, loss = join(t, a, min(c.low[i, a], c.low[j, a]), max(c.high[i, a], c.high[j, a]))
        c.low[i, a], c.high[i, a], c.loss[i, a] = low, high, loss
        mass *= box_mass(k, a, low, high)
        if weight > 0.0 and c.code_start[a] >= 0:
            spread += spread_of(c, i, -1, low, high, a, c.rows[i])
    c.mass[i], c.spread[i] = mass, spread


@compiled
def unite(
    t: Joins, k: Link, c: UnitedClasses, x: Index, weight: float, failing_first: bool, lost: float, budget: int
) -> Merged:
    """Unite classes until none fails or one is left; `c` and `x` are overwritten.

    A failing class may be suppressed, for `lost` a row, while `budget` rows are left and uniting it costs more.
    """
    many, nodes = c.rows.size, x.parent.size
    into, score, version = np.arange(many), np.zeros(many), np.zeros(many, np.int64)
    failing, cells = np.zeros(many, np.int64), np.zeros(k.share.size)
    first, second = np.zeros(many, np.int64), np.zeros(many, np.int64)
    waiting = Heap(np.zeros(2 * many + 1), np.zeros(2 * many + 1, np.int64), np.zeros(2 * many + 1, np.int64))
    search = Heap(np.zeros(nodes + 1), np.zeros(nodes + 1, np.int64), np.zeros(nodes + 1, np.int64))
    size, left, bad, unions, looked, gone = 0, many, 0, 0, 0, 0
    for i in range(many):
        score[i] = _score(k, c, i, cells)
        if score[i] < k.alpha:
            failing[i] = 1
            bad += 1
            size = push(waiting, size, score[i], i, 0)
    failed = bad
    if bad > 0:
        build(t, c, x, failing)
    while size > 0 and left > 1:
        i, known = waiting.value[0], waiting.version[0]
        size = pop(waiting, size)
        if not failing[i] or known != version[i]:
            continue
        j, far, more = nearest(t, c, x, i, failing_first and bad > 1, weight, search)
        looked += more
        if 0 < c.rows[i] <= budget - gone and far >= lost * c.rows[i]:
            take_out(x, i, 1)
            failing[i], into[i] = 0, GONE
            gone += c.rows[i]
            left -= 1
            bad -= 1
            continue
        node = node_above_both(x, x.home[i], x.home[j])
        take_out(x, i, failing[i])
        take_out(x, j, failing[j])
        bad -= failing[i] + failing[j]
        keep, drop = min(i, j), max(i, j)
        _absorb(t, k, c, keep, drop, weight)
        first[unions], second[unions] = keep, drop
        unions += 1
        into[drop] = keep
        failing[drop], version[drop] = 0, version[drop] + 1
        left -= 1
        score[keep] = _score(k, c, keep, cells)
        version[keep] += 1
        failing[keep] = 1 if score[keep] < k.alpha else 0
        bad += failing[keep]
        put_in(x, c, keep, node, failing[keep])
        if failing[keep]:
            size = push(waiting, size, score[keep], keep, version[keep])
    for i in range(many):  # a class was united with a smaller number, so one pass settles all
        if into[i] != i and into[i] != GONE:
            into[i] = into[into[i]]
    return Merged(into, score, first[:unions], second[:unions], gone, failed, looked)
