"""How many rows of a part are spare: how much slack a cut should leave for later cuts.

Source    Ours (docs/theory/partition.md). The same thought for one attribute at a time: Fung, Wang & Yu, "Top-down
          specialization for information and privacy preservation", ICDE 2005 (gain per loss of anonymity).
Claim     `spare` is 0 to n for a part of n rows that holds, and two parts have together at most what their union has.
Because   each condition is n x (1 - used share of its limit), and what is used is convex in the distribution; the
          smallest of several such functions is one again. Ratios of whole numbers in one fixed order; only entropy
          takes logarithms.
Checked   tests/claims/test_mondrian_slack.py::test_compiled_equals_the_reference
          tests/claims/test_mondrian_slack.py::test_parts_have_no_more_to_spare_than_their_union
          tests/claims/test_mondrian_slack.py::test_a_limit_reached_leaves_nothing
Silent on whether a part holds: `conditions.holds` alone decides that. For js a lower bound of the distance stands in: a
          quarter of the triangular discrimination.
"""

from __future__ import annotations

from math import log

import numpy as np

from sfumato.arrays import Ints
from sfumato.kernels.cache import inlined
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
    Conditions,
)

# mypy: disable-error-code="arg-type, assignment, no-any-return, return-value"
# Compiled code: numba's int64 is not an `int` to mypy, and arrays are passed one by one because a compiled call with
# many arrays in a tuple costs more than the work it does.


@inlined
def _falling(counts: Ints, first: int, last: int, top: int) -> Ints:
    """Return the `top` largest counts, falling."""
    found = np.zeros(top, dtype=np.int64)
    for s in range(first, last):
        count = counts[s]
        if count <= found[top - 1]:
            continue
        at = top - 1
        while at > 0 and found[at - 1] < count:
            found[at] = found[at - 1]
            at -= 1
        found[at] = count
    return found


@inlined
def _by_values(one: np.void, n: int, counts: Ints, first: int, last: int) -> float:
    """Distinct l: l x the most classes of l different codes each, min over j < l of (n - the j largest) / (l - j)."""
    asked, rest, least = one["count"], np.int64(n), np.float64(n)
    largest = _falling(counts, first, last, max(asked - 1, 1))
    for j in range(1, asked):
        rest -= largest[j - 1]
        least = min(least, asked * (rest / (asked - j)))
    return least


@inlined
def _by_recursion(one: np.void, n: int, counts: Ints, first: int, last: int) -> float:
    """Recursive (c, l): rows beyond the l - 1 largest counts, less the largest / c."""
    largest = _falling(counts, first, last, max(one["count"] - 1, 1))
    tail = np.int64(n)
    for j in range(one["count"] - 1):
        tail -= largest[j]
    return tail - largest[0] * one["denominator"] / one["numerator"]


@inlined
def _by_entropy(one: np.void, n: int, counts: Ints, first: int, last: int) -> float:
    """Entropy l: entropy beyond ln l, beside the largest there could be."""
    found = 0.0
    for s in range(first, last):
        if counts[s] > 0:
            p = counts[s] / n
            found -= p * log(p)
    return n * ((found - one["low"]) / log(max(last - first, 2)))


@inlined
def _by_discrimination(one: np.void, rows: int, overall: Ints, n: int, counts: Ints, first: int, last: int) -> float:
    """JS at most t: sum of (p - q)^2 / (p + q), a quarter of which is at most JS, beside t."""
    used = 0.0
    for s in range(first, last):
        p, q = counts[s] / n, overall[s] / rows
        if p + q > 0.0:
            used += (p - q) * (p - q) / (p + q)
    return n * (1.0 - used / (4.0 * one["high"]))


@inlined
def _by_transport(one: np.void, edges: np.ndarray, rows: int, overall: Ints, n: int, counts: Ints, first: int) -> float:
    """Earth mover's distance beside its limit."""
    used = 0.0
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
        used += edge["length"] * abs(inside / n - outside / rows)
    return n * (1.0 - used / (one["numerator"] / one["denominator"]))


@inlined
def _by_lift(one: np.void, rows: int, overall: Ints, n: int, counts: Ints, first: int, last: int) -> float:
    """Delta and ratio: how far the lift p / q of each code stays from its bounds, beside how far a lift of 1 does."""
    high, low = one["numerator"] / one["denominator"], 0.0
    if one["operation"] == DELTA:
        high, low = one["high"], one["low"]
    least = np.float64(n)
    for s in range(first, last):
        if overall[s] == 0:
            continue
        lifted = counts[s] * (rows / overall[s])
        if high > 1.0:
            least = min(least, (high * n - lifted) / (high - 1.0))
        if 0.0 < low < 1.0 and (counts[s] > 0 or one["absent_fails"]):
            least = min(least, (lifted - low * n) / (1.0 - low))
    return least


@inlined
def spare(c: Conditions, n: int, counts: Ints) -> float:
    """Return the rows to spare of a part of n rows with these sensitive counts, under its tightest condition."""
    least = np.float64(n)
    for i in range(c.table.shape[0]):
        one = c.table[i]
        operation = one["operation"]
        if operation in (SIZE, LINK):
            continue
        j = one["sensitive"]
        first, last = c.offset[j], c.offset[j + 1]
        own = np.float64(n)
        if operation == DISTINCT:
            own = _by_values(one, n, counts, first, last)
        elif operation == FREQUENCY:
            largest = np.int64(0)
            for s in range(first, last):
                largest = max(largest, counts[s])
            own = n - largest * one["denominator"] / one["numerator"]
        elif operation == ENTROPY:
            own = _by_entropy(one, n, counts, first, last)
        elif operation == RECURSIVE:
            own = _by_recursion(one, n, counts, first, last)
        elif operation == JS:
            if one["high"] > 0.0:
                own = _by_discrimination(one, c.rows, c.overall, n, counts, first, last)
        elif operation == EMD:
            if one["numerator"] > 0:
                own = _by_transport(one, c.edges, c.rows, c.overall, n, counts, first)
        else:
            own = _by_lift(one, c.rows, c.overall, n, counts, first, last)
        least = min(least, own)
    return max(least, 0.0)
