"""The compiled loop of Mondrian: a stack of parts, each cut by a rule or kept as a leaf.

The claim and its tests are those of `mondrian`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.kernels.cache import compiled, inlined
from sfumato.kernels.conditions import Conditions
from sfumato.kernels.mondrian_layout import Codes, Ints, Layout, Part, Scratch
from sfumato.kernels.mondrian_median import choose_widest
from sfumato.kernels.mondrian_sweep import choose_best

__all__ = ["BEST", "LEAF", "NOBODY", "SUPPRESSED", "WIDEST", "Grown", "grow"]

WIDEST, BEST = range(2)
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
def _observe(rows: Codes, weights: Codes, least: Ints, most: Ints) -> int:
    """Fill the extremes of each attribute; return the part's weight."""
    for a in range(least.size):
        least[a] = rows[0, a]
        most[a] = rows[0, a]
    n = np.int64(0)
    for i in range(rows.shape[0]):
        n += weights[i]
        for a in range(least.size):
            code = np.int64(rows[i, a])
            least[a] = min(least[a], code)
            most[a] = max(most[a], code)
    return n


@inlined
def _narrowable(t: Layout, part: Part) -> int:
    """Return an attribute whose box can shrink although no rows part, or -1.

    A node whose rows lie below one child, or a whole domain of which only values, or only missing, occur.
    """
    for a in range(part.low.size):
        if t.root[a] >= 0:
            for x in range(t.child_start[part.node[a]], t.child_start[part.node[a] + 1]):
                if t.node_low[t.child[x]] <= part.least[a] and part.most[a] < t.node_high[t.child[x]]:
                    return a
        elif t.missing[a] and part.low[a] == 0 and part.high[a] == t.size[a] and t.size[a] > 1:
            if part.most[a] < t.size[a] - 1 or part.least[a] == t.size[a] - 1:
                return a
    return -1


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
def _share_budget(
    nodes: _Nodes, weights: Codes, child_node: Ints, first: int, last: int, n: int, budget: int
) -> None:
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
    t: Layout, c: Conditions, s: Scratch, rows: Codes, weights: Codes, rule: int, weight: float, budget: int
) -> Grown:
    """Cut until no cut is allowed; `rows` and `weights` are reordered so that each leaf is a stretch."""
    q = t.size.size
    room = 1024
    nodes = _Nodes(
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
    child_low, child_node = np.zeros(room, dtype=np.int32), np.zeros(room, dtype=np.int64)
    stack = np.zeros(room, dtype=np.int64)
    nodes.end[0], nodes.budget[0] = rows.shape[0], budget
    for a in range(q):
        nodes.high[0, a] = t.size[a]
        nodes.node[0, a] = t.root[a]
    least, most = np.zeros(q, dtype=np.int64), np.zeros(q, dtype=np.int64)
    box_low, box_high, box_node = least.copy(), least.copy(), least.copy()
    used, children, waiting = 1, 0, 1
    while waiting > 0:
        waiting -= 1
        x = stack[waiting]
        start, end = nodes.start[x], nodes.end[x]
        for b in range(q):
            box_low[b], box_high[b], box_node[b] = nodes.low[x, b], nodes.high[x, b], nodes.node[x, b]
        part = Part(
            rows[start:end],
            weights[start:end],
            box_low,
            box_high,
            box_node,
            least,
            most,
        )
        n = _observe(part.rows, part.weights, least, most)
        a = _narrowable(t, part)
        nodes.attribute[x] = LEAF
        if a >= 0:
            s.cut[0], s.cut[1], s.cut[2] = a, t.size[a] - 1 if t.root[a] < 0 else -1, -1
        elif n < 2 * c.rows[1] and nodes.budget[x] == 0:
            continue
        elif rule == BEST:
            if not choose_best(t, c, s, part, n, nodes.budget[x], weight):
                continue
        elif not choose_widest(t, c, s, part, n):
            continue
        a, position, spared = s.cut[0], s.cut[1], s.cut[2]
        count = 2 if position >= 0 else t.child_start[part.node[a] + 1] - t.child_start[part.node[a]]
        while used + count > nodes.start.size:
            nodes = _more_nodes(nodes)
        while children + count > child_low.size:
            child_low, child_node = _longer(child_low, 2 * child_low.size), _longer(child_node, 2 * child_node.size)
        while waiting + count > stack.size:
            stack = _longer(stack, 2 * stack.size)
        nodes.attribute[x], nodes.child_first[x], nodes.child_count[x] = a, children, count
        begin, left_over = start, nodes.budget[x]
        for j in range(count):
            if position >= 0:
                node = np.int64(-1)
                low, high = (part.low[a], position) if j == 0 else (position, part.high[a])
            else:
                node = t.child[t.child_start[part.node[a]] + j]
                low, high = t.node_low[node], t.node_high[node]
            stop = _split(rows, weights, begin, end, a, high) if j < count - 1 else end
            child_low[children] = low
            child_node[children] = NOBODY
            if stop > begin:
                child_node[children] = used
                nodes.start[used], nodes.end[used] = begin, stop
                for b in range(q):
                    nodes.low[used, b], nodes.high[used, b], nodes.node[used, b] = box_low[b], box_high[b], box_node[b]
                nodes.low[used, a], nodes.high[used, a], nodes.node[used, a] = low, high, node
                if spared == j:
                    nodes.attribute[used] = SUPPRESSED
                else:
                    stack[waiting] = used
                    waiting += 1
                used += 1
            children += 1
            begin = stop
        if left_over > 0:
            _share_budget(nodes, weights, child_node, children - count, children, n, left_over)
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
