"""The tree over classes that merging searches in: built once, classes taken out and put in higher up.

The claim and its tests are those of `merging`.
"""

# mypy: disable-error-code="arg-type, assignment, no-any-return, return-value"
# Compiled code: numba's int64 is no `int` to mypy.

from __future__ import annotations

import numpy as np

from sfumato.kernels.cache import inlined
from sfumato.kernels.linkage import Ints
from sfumato.kernels.merging_layout import Classes, Index, Joins
from sfumato.kernels.merging_search import loss_of

__all__ = ["build", "node_above_both", "put_in", "take_out"]

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
def put_in(x: Index, c: Classes, i: int, node: int, failed: int) -> None:
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
def _clean_cut(t: Joins, c: Classes, x: Index, node: int, members: Ints, a: int, cover: Ints) -> tuple[float, float]:
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
def _mean_cut(t: Joins, c: Classes, members: Ints, a: int) -> tuple[float, float]:
    """Twice the mean middle of the classes (-1: all have the same), and how far apart they are."""
    least, most, total = np.inf, -np.inf, 0.0
    for at in range(members.size):
        own = float(c.low[members[at], a] + c.high[members[at], a])
        least, most, total = min(least, own), max(most, own), total + own
    return (total / members.size, (most - least) / t.size[a]) if least < most else (-1.0, 0.0)


@inlined
def _summarize(c: Classes, x: Index, node: int, members: Ints, failing: Ints) -> None:
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
def build(t: Joins, c: Classes, x: Index, failing: Ints) -> None:
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
