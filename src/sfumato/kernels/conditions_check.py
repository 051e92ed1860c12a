"""The compiled check of a conjunction on one part: integers wherever integers decide.

The claim and its tests are those of `conditions`; the readable twin is `conditions_twin`.
"""

# mypy: disable-error-code="arg-type, assignment, no-any-return, return-value"
# Compiled code: numba's int64 is no `int` to mypy, and arrays are passed one by one because a compiled call with many
# arrays in a tuple costs more than the work it does.

from __future__ import annotations

from math import log

import numpy as np

from sfumato.kernels.cache import compiled, inlined
from sfumato.kernels.conditions import (
    DELTA,
    DISTINCT,
    EMD,
    ENTROPY,
    FREQUENCY,
    JS,
    LINK,
    RATIO,
    RECURSIVE,
    SIZE,
    Conditions,
    Ints,
)
from sfumato.kernels.linkage import link_score

__all__ = ["check", "holds", "product_at_most"]

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
def _evenly(one: np.void, n: int, counts: Ints, first: int, last: int) -> bool:
    """Say whether at least l codes occur, all equally often: their entropy is ln(codes), no rounding."""
    codes = _distinct(counts, first, last)
    return _largest(counts, first, last) * codes == n and codes * one["denominator"] >= one["numerator"]


@inlined
def _same(rows: int, overall: Ints, n: int, counts: Ints, first: int, last: int) -> bool:
    """Say whether a part is distributed exactly as the whole table."""
    different = False
    for s in range(first, last):
        different = different or counts[s] * rows != overall[s] * n
    return not different


@inlined
def _recursive(one: np.void, n: int, counts: Ints, first: int, last: int) -> bool:
    """r_1 < c (n - r_1 - ... - r_(l-1)); an insertion sort, since compiling `np.sort` takes seconds."""
    falling = np.zeros(last - first, dtype=np.int64)
    for s in range(last - first):
        at = s
        while at > 0 and falling[at - 1] < counts[first + s]:
            falling[at] = falling[at - 1]
            at -= 1
        falling[at] = counts[first + s]
    tail = np.int64(n)
    for s in range(min(one["count"] - 1, last - first)):
        tail -= falling[s]
    return falling[0] * one["denominator"] < one["numerator"] * tail


@inlined
def _js(rows: int, overall: Ints, plogq: float, n: int, counts: Ints, first: int, last: int) -> float:
    """JS = 1/2 (sum p ln p + sum q ln q) - sum m ln m with m = (p + q) / 2."""
    ours, middle = 0.0, 0.0
    for s in range(first, last):
        p, q = counts[s] / n, overall[s] / rows
        if p > 0.0:
            ours += p * log(p)
        if p + q > 0.0:
            middle += 0.5 * (p + q) * log(0.5 * (p + q))
    return 0.5 * (ours + plogq) - middle


@inlined
def _emd_at_most(one: np.void, edges: np.ndarray, rows: int, overall: Ints, n: int, counts: Ints, first: int) -> bool:
    """Sum over edges of length x |n_inside N - N_inside n|, kept as whole x nN + rest."""
    unit = n * rows
    most, over = one["numerator"] // one["denominator"], one["numerator"] % one["denominator"]
    whole, rest = np.int64(0), np.int64(0)
    inside, outside = np.int64(0), np.int64(0)
    low, high = np.int64(-1), np.int64(-1)
    for number in range(one["edge"], one["last_edge"]):
        edge = edges[number]
        if edge["low"] != low or edge["high"] < high:  # else go on from the last interval
            inside, outside, high = np.int64(0), np.int64(0), edge["low"]
        for s in range(first + high, first + edge["high"]):
            inside += counts[s]
            outside += overall[s]
        low, high = edge["low"], edge["high"]
        crossing = abs(inside * rows - outside * n)  # at most nN < 2^62
        for _ in range(edge["length"]):
            rest += crossing
            if rest >= unit:
                rest -= unit
                whole += 1
        if whole > most:
            return False
    return whole < most or (whole == most and product_at_most(rest, one["denominator"], over, unit))


@inlined
def _delta(one: np.void, rows: int, overall: Ints, n: int, counts: Ints, first: int, last: int) -> bool:
    for s in range(first, last):
        if overall[s] == 0:
            continue
        if counts[s] == 0:
            if one["absent_fails"]:
                return False
            continue
        lift = (counts[s] * rows) / (n * overall[s])
        if not one["low"] < lift < one["high"]:
            return False
    return True


@inlined
def _ratio(one: np.void, rows: int, overall: Ints, n: int, counts: Ints, first: int, last: int) -> bool:
    for s in range(first, last):
        left, right = counts[s] * rows, n * overall[s]
        if not product_at_most(left, one["denominator"], right, one["numerator"]):
            return False
    return True


@inlined
def holds(c: Conditions, n: int, counts: Ints, mass: float) -> bool:
    """Say whether a part of n rows with these sensitive counts satisfies the whole conjunction.

    `mass` is the population share of the part's box, which only a LINK condition reads.
    """
    for i in range(c.table.shape[0]):
        one = c.table[i]
        operation = one["operation"]
        if operation == SIZE:
            if n < one["count"]:
                return False
            continue
        if operation == LINK:
            if link_score(c.link, mass, counts, c.plogp) < c.link.alpha:  # no cells here: the last array is not read
                return False
            continue
        j = one["sensitive"]
        first, last = c.offset[j], c.offset[j + 1]
        if operation == DISTINCT:
            kept = _distinct(counts, first, last) >= one["count"]
        elif operation == FREQUENCY:
            kept = _largest(counts, first, last) * one["denominator"] <= n * one["numerator"]
        elif operation == ENTROPY:
            kept = _entropy(n, counts, first, last) >= one["low"] or _evenly(one, n, counts, first, last)
        elif operation == RECURSIVE:
            kept = _recursive(one, n, counts, first, last)
        elif operation == JS:
            near = _js(c.rows, c.overall, c.plogp[j], n, counts, first, last) <= one["high"]
            kept = near or _same(c.rows, c.overall, n, counts, first, last)
        elif operation == EMD:
            kept = _emd_at_most(one, c.edges, c.rows, c.overall, n, counts, first)
        elif operation == DELTA:
            kept = _delta(one, c.rows, c.overall, n, counts, first, last)
        elif operation == RATIO:
            kept = _ratio(one, c.rows, c.overall, n, counts, first, last)
        else:
            kept = False
        if not kept:
            return False
    return True


@compiled
def check(c: Conditions, n: int, counts: Ints) -> bool:
    """`holds` for a caller in Python: n rows, counts of all sensitive columns one after another."""
    return holds(c, n, counts, 1.0)
