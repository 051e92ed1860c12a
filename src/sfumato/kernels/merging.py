"""Uniting classes until each passes the linkability test: the merge loop of dLink, compiled.

Source    Sattar et al., the dLink paper, algorithm 1; distance: Li, Wong, Fu & Pei (KACA), DaWaK 2006; theory B.
Claim     the failing class with the least (score, number) is united with the class at the least (distance, number),
          among the failing ones while there is another, else among all; until none fails or one class is left. The
          search returns what a search of all pairs returns.
Because   a node's bound is below the distance of every class kept in or under it: labels can not be joined to less than
          the nearest code of the node's hull asks for, nor to less than the least loss below it. Hulls and losses of
          nodes only widen. Nearest classes are never remembered: uniting others can bring a class nearer.
Checked   tests/claims/test_dlink_merging.py::test_indexed_merge_equals_all_pairs
          tests/claims/test_dlink_merging.py::test_remembered_neighbours_are_caught
          tests/claims/test_dlink_merging.py::test_last_failing_class_joins_a_passing_one
Silent on the best set of unions: the loop is greedy. What the order of unions tells is not analysed.
Cost      one best-first search for each union; a united class is kept in the lowest node that holds both.
"""

# mypy: disable-error-code="arg-type, assignment, no-any-return, return-value"
# Compiled code: numba's int64 is no `int` to mypy.

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.kernels.cache import compiled, inlined
from sfumato.kernels.linkage import CELLS, Floats, Ints, Link, box_mass, link_score
from sfumato.kernels.merging_index import build, node_above_both, put_in, take_out
from sfumato.kernels.merging_layout import Classes, Index, Joins
from sfumato.kernels.merging_search import Heap, distance, join, nearest, pop, push, spread_of

__all__ = ["GONE", "Merged", "distance_between", "unite"]

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
def _cell_shares(k: Link, c: Classes, i: int, cells: Floats) -> None:
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
def _score(k: Link, c: Classes, i: int, cells: Floats) -> float:
    if k.source == CELLS:
        _cell_shares(k, c, i, cells)
    return link_score(k, c.mass[i], c.counts[i], cells)


@inlined
def _absorb(t: Joins, k: Link, c: Classes, i: int, j: int, weight: float) -> None:
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
            spread += spread_of(t, c, i, -1, low, high, a, c.rows[i])
    c.mass[i], c.spread[i] = mass, spread


@compiled
def unite(
    t: Joins, k: Link, c: Classes, x: Index, weight: float, failing_first: bool, lost: float, budget: int
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


@compiled
def distance_between(t: Joins, c: Classes, i: int, j: int, weight: float) -> float:
    """The distance of two classes, for a caller in Python."""
    return distance(t, c, i, j, weight, np.inf)
