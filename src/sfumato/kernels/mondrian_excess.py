"""How far the counts of many codes exceed an even share, kept up to date while rows move from right to left.

Source    Fenwick, "A new data structure for cumulative frequency tables", Software: Practice & Experience 24(3), 1994.
Claim     `excess` returns what a loop over all codes would: for each side of a cut how many codes have more than the
          even share, and by how much in all. Whole numbers, so the costs are the same to the last bit.
Because   each side keeps, for every weight up to `TOP`, how many codes have it and their sum (two Fenwick trees);
          a code that may weigh more is looked at by itself: there are at most rows / TOP of them.
Checked   tests/claims/test_mondrian_kernel.py::test_wide_attributes_are_cut_like_narrow_ones
          tests/claims/test_growth.py::test_mondrian_grows_with_the_rows_not_their_square
Silent on memory beyond four trees of 65,536 entries for each attribute that may have many codes.
Cost      log(TOP) for each row that moves and each cut, instead of all codes for each cut.
"""

# mypy: disable-error-code="arg-type, assignment, no-any-return, return-value"
# Compiled code: numba's int64 is no `int` to mypy, and arrays are passed one by one because a compiled call with many
# arrays in a tuple costs more than the work it does.

from __future__ import annotations

import numpy as np

from sfumato.kernels.cache import inlined
from sfumato.kernels.mondrian_layout import (
    COUNT,
    FIRST,
    HEAVY,
    HIGH,
    LOW,
    ON,
    SOME,
    SUM,
    TOP,
    TREES,
    Codes,
    Ints,
    Scratch,
)

__all__ = ["begin_sweep", "excess", "note_move", "occupied"]


@inlined
def _add(tree: Ints, start: int, top: int, at: int, change: int) -> None:
    while at <= top:
        tree[start + at] += change
        at += at & -at


@inlined
def _upto(tree: Ints, start: int, at: int) -> int:
    total = np.int64(0)
    while at > 0:
        total += tree[start + at]
        at -= at & -at
    return total


@inlined
def _put(s: Scratch, b: int, side: int, weight: int, change: int) -> None:
    """Add (1) or take away (-1) a code of some weight on a side; 0 left, 1 right."""
    top, start, room = s.wide[b, TOP], s.wide[b, TREES], s.wide[b, FIRST]
    if weight == 0:
        return
    s.wide[b, SOME + side] += change
    _add(s.trees, start + 2 * side * room, top, weight, change)
    _add(s.trees, start + (2 * side + 1) * room, top, weight, change * weight)
    s.wide[b, COUNT + side] += change
    s.wide[b, SUM + side] += change * weight


@inlined
def begin_sweep(s: Scratch, q: int, a: int, m: int) -> None:
    """Decide for which attributes trees pay, and fill those: all rows are on the right."""
    first, whole, wide, trees = s.first, s.whole, s.wide, s.trees
    cuts, heavy = first[a + 1] - first[a], np.int64(0)
    for b in range(q):
        codes = first[b + 1] - first[b]
        wide[b, ON] = 0
        if wide[b, TREES] < 0 or codes < s.cut[3] or cuts * codes <= s.cut[4] * m:
            continue
        wide[b, ON] = 1
        room, most = wide[b, FIRST], np.int64(0)
        for at in range(first[b], first[b + 1]):
            most = max(most, np.int64(whole[at]))
        top = min(most, room - 1)
        wide[b, TOP] = top
        for part in range(4):
            start = wide[b, TREES] + part * room
            for at in range(start, start + top + 1):
                trees[at] = 0
        for side in range(2):
            wide[b, SOME + side], wide[b, COUNT + side], wide[b, SUM + side] = 0, 0, 0
            wide[b, LOW + side], wide[b, HIGH + side] = first[b + 1] - 1, first[b]
        wide[b, LOW + 1], wide[b, HIGH + 1] = first[b], first[b + 1] - 1
        wide[b, HEAVY] = heavy
        for at in range(first[b], first[b + 1]):
            if whole[at] > top:
                s.heavy[heavy] = at
                heavy += 1
                wide[b, SOME + 1] += 1
            else:
                _put(s, b, 1, whole[at], 1)
        wide[b, HEAVY + 1] = heavy


@inlined
def note_move(s: Scratch, b: int, at: int, weight: int) -> None:
    """Note that a code's weight on the left has grown: `left[at]` is the new one."""
    wide, now, all_of_it = s.wide, np.int64(s.left[at]), np.int64(s.whole[at])
    wide[b, LOW], wide[b, HIGH] = min(wide[b, LOW], at), max(wide[b, HIGH], at)
    if all_of_it > wide[b, TOP]:
        wide[b, SOME] += np.int64(now == weight)
        wide[b, SOME + 1] -= np.int64(now == all_of_it)
        return
    _put(s, b, 0, now - weight, -1)
    _put(s, b, 0, now, 1)
    _put(s, b, 1, all_of_it - now + weight, -1)
    _put(s, b, 1, all_of_it - now, 1)


@inlined
def excess(s: Scratch, b: int, side: int, even: int) -> tuple[int, int]:
    """Return by how much in all, and how many, codes of a side weigh more than the even share."""
    wide, left, whole = s.wide, s.left, s.whole
    above, many, room = np.int64(0), np.int64(0), wide[b, FIRST]
    if even < wide[b, TOP]:
        start = wide[b, TREES] + 2 * side * room
        many = wide[b, COUNT + side] - _upto(s.trees, start, even)
        above = wide[b, SUM + side] - _upto(s.trees, start + room, even) - even * many
    for place in range(wide[b, HEAVY], wide[b, HEAVY + 1]):
        at = s.heavy[place]
        over = np.int64(whole[at] - left[at] if side else left[at]) - even
        if over > 0:
            above += over
            many += 1
    return above, many


@inlined
def occupied(s: Scratch, b: int, code: Codes) -> tuple[int, int, int, int]:
    """Return how many codes each side has, and how wide the stretch from its first to its last is."""
    wide, left, whole = s.wide, s.left, s.whole
    low, high = wide[b, LOW + 1], wide[b, HIGH + 1]
    while low < high and left[low] == whole[low]:  # rows only ever leave the right side
        low += 1
    while low < high and left[high] == whole[high]:
        high -= 1
    wide[b, LOW + 1], wide[b, HIGH + 1] = low, high
    left_span = np.int64(code[wide[b, HIGH]]) - code[wide[b, LOW]] + 1
    return wide[b, SOME], wide[b, SOME + 1], left_span, np.int64(code[high]) - code[low] + 1
