"""Searching the tree over classes for the nearest one: labels joined, distances, bounds, best first.

The claim and its tests are those of `merging`.
"""

# mypy: disable-error-code="arg-type, assignment, no-any-return, return-value"
# Compiled code: numba's int64 is no `int` to mypy.

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.kernels.cache import inlined
from sfumato.kernels.linkage import Floats, Ints
from sfumato.kernels.merging_layout import Classes, Index, Joins

__all__ = ["Heap", "distance", "join", "loss_of", "nearest", "pop", "push", "spread_of"]


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
    """Add an entry to a heap of so many; return the new size."""
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
def spread_of(t: Joins, c: Classes, i: int, j: int, low: int, high: int, a: int, n: int) -> float:
    """Rows of i (and j, unless j is -1) that an even spread over low <= code < high puts at a wrong code."""
    even, total, first = n / (high - low), 0.0, c.code_start[a]
    for code in range(first + low, first + high):
        count = c.codes[i, code] + (c.codes[j, code] if j >= 0 else 0)
        total += max(0.0, count - even)
    return total


@inlined
def distance(t: Joins, c: Classes, i: int, j: int, weight: float, most: float) -> float:
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
            spread += spread_of(t, c, i, j, low, high, a, own + other)
            if total + weight * spread - slack > most:
                return np.inf
        total += weight * spread - slack
    return total


@inlined
def _bound(t: Joins, c: Classes, x: Index, i: int, node: int, weight: float, most: float) -> float:
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
    t: Joins, c: Classes, x: Index, i: int, only_failing: bool, weight: float, heap: Heap
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
