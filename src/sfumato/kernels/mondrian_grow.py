"""The compiled loop of Mondrian: a stack of parts, each cut by a rule or kept as a leaf.

The claim and its tests are those of `mondrian`.
"""

# mypy: disable-error-code="arg-type, assignment, no-any-return, return-value"
# Compiled code: numba's int64 is no `int` to mypy, and arrays are passed one by one because a compiled call with many
# arrays in a tuple costs more than the work it does.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.kernels.cache import compiled, inlined
from sfumato.kernels.conditions import Conditions
from sfumato.kernels.linkage import link_score
from sfumato.kernels.mondrian_counts import add_sensitive
from sfumato.kernels.mondrian_layout import Codes, Ints, Layout, Part, Records, Scratch
from sfumato.kernels.mondrian_median import choose_widest, side_mass
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
def _observe(rows: Codes, weights: Codes, box: Records) -> int:
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
    box: Records,
    rows: Codes,
    weights: Codes,
    rule: int,
    weight: float,
    budget: int,
) -> Grown:
    """Cut until no cut is allowed; `rows` and `weights` are reordered so that each leaf is a stretch."""
    q, room = t.attribute.shape[0], 1024
    nodes = _new_nodes(room, q)
    child_low, child_node = np.zeros(room, dtype=np.int32), np.zeros(room, dtype=np.int64)
    stack = np.zeros(room, dtype=np.int64)
    nodes.end[0], nodes.budget[0] = rows.shape[0], budget
    for a in range(q):
        nodes.high[0, a], nodes.node[0, a] = t.attribute[a]["codes"], t.attribute[a]["root"]
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
        a = _narrowable(t, c, s, part)
        if a >= 0:
            s.cut[0], s.cut[1], s.cut[2] = a, t.attribute[a]["codes"] - 1 if t.attribute[a]["root"] < 0 else -1, -1
        elif n < 2 * c.fewest and nodes.budget[x] == 0:
            continue
        elif rule == BEST:
            if not choose_best(t, c, s, part, n, nodes.budget[x], weight):
                continue
        elif not choose_widest(t, c, s, part, n):
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
