"""The compiled check of a conjunction on one part: integers wherever integers decide.

The claim and its tests are those of `conditions`; the readable twin is `conditions_twin`.
"""

from __future__ import annotations

from math import log

import numpy as np

from sfumato.kernels.cache import inlined
from sfumato.kernels.conditions import (
    DELTA,
    DISTINCT,
    EMD,
    ENTROPY,
    FREQUENCY,
    JS,
    RATIO,
    RECURSIVE,
    SIZE,
    Conditions,
    Ints,
)

__all__ = ["holds", "product_at_most"]

_LOW32 = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)


@inlined
def _product(a: int, b: int) -> tuple[np.uint64, np.uint64]:
    """Return a x b of two non-negative int64 as (upper 64 bits, lower 64 bits)."""
    x, y = np.uint64(a), np.uint64(b)
    x_high, x_low, y_high, y_low = x >> _32, x & _LOW32, y >> _32, y & _LOW32
    low = x_low * y_low
    middle = x_high * y_low + (low >> _32)
    other = x_low * y_high + (middle & _LOW32)
    return x_high * y_high + (middle >> _32) + (other >> _32), (other << _32) | (low & _LOW32)


@inlined
def product_at_most(a: int, b: int, c: int, d: int) -> bool:
    """Say whether a x b <= c x d, exactly, for non-negative int64."""
    left_high, left_low = _product(a, b)
    right_high, right_low = _product(c, d)
    return left_high < right_high or (left_high == right_high and left_low <= right_low)


@inlined
def _distinct(counts: Ints, first: int, last: int) -> int:
    found = 0
    for s in range(first, last):
        if counts[s] > 0:
            found += 1
    return found


@inlined
def _largest(counts: Ints, first: int, last: int) -> int:
    largest = np.int64(0)
    for s in range(first, last):
        largest = max(largest, counts[s])
    return largest


@inlined
def _entropy(n: int, counts: Ints, first: int, last: int) -> float:
    total = 0.0
    for s in range(first, last):
        if counts[s] > 0:
            p = counts[s] / n
            total -= p * log(p)
    return total


@inlined
def _recursive(c: Conditions, i: int, n: int, counts: Ints, first: int, last: int) -> bool:
    """r_1 < c (n - r_1 - ... - r_(l-1)); an insertion sort, since compiling `np.sort` takes seconds."""
    falling = np.zeros(last - first, dtype=np.int64)
    for s in range(last - first):
        at = s
        while at > 0 and falling[at - 1] < counts[first + s]:
            falling[at] = falling[at - 1]
            at -= 1
        falling[at] = counts[first + s]
    tail = np.int64(n)
    for s in range(min(c.count[i] - 1, last - first)):
        tail -= falling[s]
    return falling[0] * c.denominator[i] < c.numerator[i] * tail


@inlined
def _js(c: Conditions, n: int, counts: Ints, j: int) -> float:
    """JS = 1/2 (sum p ln p + sum q ln q) - sum m ln m with m = (p + q) / 2."""
    ours, middle = 0.0, 0.0
    for s in range(c.offset[j], c.offset[j + 1]):
        p, q = counts[s] / n, c.overall[s] / c.rows[0]
        if p > 0.0:
            ours += p * log(p)
        if p + q > 0.0:
            middle += 0.5 * (p + q) * log(0.5 * (p + q))
    return 0.5 * (ours + c.plogp[j]) - middle


@inlined
def _emd_at_most(c: Conditions, i: int, n: int, counts: Ints) -> bool:
    """Sum over edges of length x |n_low..high N - N_low..high n|, kept as whole x nN + rest."""
    j = c.sensitive[i]
    unit = n * c.rows[0]
    most = c.numerator[i] // c.denominator[i]
    over = c.numerator[i] % c.denominator[i]
    whole, rest = np.int64(0), np.int64(0)
    inside, outside = np.int64(0), np.int64(0)
    low, high = np.int64(-1), np.int64(-1)
    for edge in range(c.edge_start[i], c.edge_start[i + 1]):
        if c.edge_low[edge] != low or c.edge_high[edge] < high:  # else go on from the last interval
            inside, outside, high = np.int64(0), np.int64(0), c.edge_low[edge]
        for s in range(c.offset[j] + high, c.offset[j] + c.edge_high[edge]):
            inside += counts[s]
            outside += c.overall[s]
        low, high = c.edge_low[edge], c.edge_high[edge]
        crossing = abs(inside * c.rows[0] - outside * n)  # at most nN < 2^62
        for _ in range(c.edge_length[edge]):
            rest += crossing
            if rest >= unit:
                rest -= unit
                whole += 1
        if whole > most:
            return False
    return whole < most or (whole == most and product_at_most(rest, c.denominator[i], over, unit))


@inlined
def _delta(c: Conditions, i: int, n: int, counts: Ints) -> bool:
    j = c.sensitive[i]
    for s in range(c.offset[j], c.offset[j + 1]):
        if c.overall[s] == 0:
            continue
        if counts[s] == 0:
            if c.absent_fails[i]:
                return False
            continue
        lift = (counts[s] * c.rows[0]) / (n * c.overall[s])
        if not c.low[i] < lift < c.high[i]:
            return False
    return True


@inlined
def _ratio(c: Conditions, i: int, n: int, counts: Ints) -> bool:
    j = c.sensitive[i]
    for s in range(c.offset[j], c.offset[j + 1]):
        left, right = counts[s] * c.rows[0], n * c.overall[s]
        if not product_at_most(left, c.denominator[i], right, c.numerator[i]):
            return False
    return True


@inlined
def holds(c: Conditions, n: int, counts: Ints) -> bool:
    """Say whether a part of n rows with these sensitive counts satisfies the whole conjunction."""
    for i in range(c.operation.size):
        operation = c.operation[i]
        first, last = c.offset[c.sensitive[i]], c.offset[min(c.sensitive[i] + 1, c.offset.size - 1)]
        if operation == SIZE:
            kept = n >= c.count[i]
        elif operation == DISTINCT:
            kept = _distinct(counts, first, last) >= c.count[i]
        elif operation == FREQUENCY:
            kept = _largest(counts, first, last) * c.denominator[i] <= n * c.numerator[i]
        elif operation == ENTROPY:
            kept = _entropy(n, counts, first, last) >= c.low[i]
        elif operation == RECURSIVE:
            kept = _recursive(c, i, n, counts, first, last)
        elif operation == JS:
            kept = _js(c, n, counts, c.sensitive[i]) <= c.high[i]
        elif operation == EMD:
            kept = _emd_at_most(c, i, n, counts)
        elif operation == DELTA:
            kept = _delta(c, i, n, counts)
        elif operation == RATIO:
            kept = _ratio(c, i, n, counts)
        else:
            kept = False
        if not kept:
            return False
    return True


