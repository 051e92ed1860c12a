"""The compiled `widest` rule: the widest attribute first, cut at its median, the next where that is not allowed.

Source    LeFevre, DeWitt & Ramakrishnan, Mondrian, ICDE 2006; tradeoff 5 and theory C2 (what the papers use).
Claim     attributes are tried by falling (largest - smallest code) / (size - 1), ties in their order. The median
          is the smallest code with at least half of the rows at or below it; of the cuts below and above it the more
          even one is tried first, ties the lower. The first allowed cut is taken.
Because   widths are compared by integer cross-multiplication, evenness by |2 x left - n|.
Checked   tests/claims/test_mondrian_kernel.py::test_compiled_equals_the_twin
Silent on what is lost: the rule never looks at it.
Cost      rows x attributes per part.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.cache import inlined
from sfumato.kernels.conditions import Conditions
from sfumato.kernels.conditions_check import holds
from sfumato.kernels.mondrian_layout import Layout, Part, Scratch
from sfumato.kernels.mondrian_sweep import count_sensitive

__all__ = ["choose_widest"]


@inlined
def _wider(t: Layout, part: Part, a: int, b: int) -> bool:
    return (part.most[a] - part.least[a]) * (t.size[b] - 1) > (part.most[b] - part.least[b]) * (t.size[a] - 1)


@inlined
def _weight_below(part: Part, a: int, code: int) -> int:
    weight = np.int64(0)
    for i in range(part.rows.shape[0]):
        if part.rows[i, a] < code:
            weight += part.weights[i]
    return weight


@inlined
def _median(s: Scratch, part: Part, a: int, n: int) -> tuple[int, int, int]:
    """Return the median code of attribute a, the weight below it and the weight up to it."""
    m, least = part.rows.shape[0], part.least[a]
    span = part.most[a] - least + 1
    below, code = np.int64(0), np.int64(0)
    if span <= 4 * m + 64:
        for i in range(m):
            s.seen[part.rows[i, a] - least] += part.weights[i]
        while 2 * (below + s.seen[code]) < n:
            below += s.seen[code]
            code += 1
        reached = below + s.seen[code]
        for at in range(span):
            s.seen[at] = 0
        return least + code, below, reached
    low, high = least, np.int64(part.most[a])  # few codes in a wide span: halve the span
    while low < high:
        middle = (low + high) // 2
        if 2 * _weight_below(part, a, middle + 1) >= n:
            high = middle
        else:
            low = middle + 1
    return low, _weight_below(part, a, low), _weight_below(part, a, low + 1)


@inlined
def _interval_holds(c: Conditions, s: Scratch, part: Part, a: int, low: int, high: int) -> bool:
    """Say whether the rows with low <= code < high in attribute a satisfy the conjunction; no rows do."""
    n = np.int64(0)
    for at in range(s.sensitive.shape[1]):
        s.sensitive[1, at] = 0
    for i in range(part.rows.shape[0]):
        if low <= part.rows[i, a] < high:
            n += part.weights[i]
            if c.offset.size > 1:
                count_sensitive(c, part, s.sensitive[1], i)
    return n == 0 or (n >= c.rows[1] and holds(c, n, s.sensitive[1]))


@inlined
def _cut_at(c: Conditions, s: Scratch, part: Part, a: int, position: int, left: int, n: int) -> bool:
    if left < c.rows[1] or n - left < c.rows[1]:
        return False
    s.cut[0], s.cut[1], s.cut[2] = a, position, -1
    if c.offset.size == 1:  # nothing but the size is asked
        return True
    low, high = part.low[a], part.high[a]
    return _interval_holds(c, s, part, a, low, position) and _interval_holds(c, s, part, a, position, high)


@inlined
def _cut_median(t: Layout, c: Conditions, s: Scratch, part: Part, a: int, n: int) -> bool:
    if t.missing[a] and part.most[a] == t.size[a] - 1:  # values and missing: cut between the two
        code = t.size[a] - 1
        return _cut_at(c, s, part, a, code, _weight_below(part, a, code), n)
    code, below, reached = _median(s, part, a, n)
    lower_first = n - 2 * below <= 2 * reached - n
    for turn in range(2):
        if lower_first == (turn == 0):
            allowed = _cut_at(c, s, part, a, code, below, n)
        else:
            allowed = _cut_at(c, s, part, a, code + 1, reached, n)
        if allowed:
            return True
    return False


@inlined
def _cut_children(t: Layout, c: Conditions, s: Scratch, part: Part, a: int) -> bool:
    for x in range(t.child_start[part.node[a]], t.child_start[part.node[a] + 1]):
        node = t.child[x]
        if not _interval_holds(c, s, part, a, t.node_low[node], t.node_high[node]):
            return False
    s.cut[0], s.cut[1], s.cut[2] = a, -1, -1
    return True


@inlined
def choose_widest(t: Layout, c: Conditions, s: Scratch, part: Part, n: int) -> bool:
    """Write the first allowed cut to `s.cut`; False where there is none."""
    q = part.low.size
    tried = np.zeros(q, dtype=np.bool_)
    for _ in range(q):
        widest = -1
        for a in range(q):
            if not tried[a] and part.most[a] > part.least[a] and (widest < 0 or _wider(t, part, a, widest)):
                widest = a
        if widest < 0:
            return False
        tried[widest] = True
        if t.root[widest] < 0:
            if _cut_median(t, c, s, part, widest, n):
                return True
        elif _cut_children(t, c, s, part, widest):
            return True
    return False
