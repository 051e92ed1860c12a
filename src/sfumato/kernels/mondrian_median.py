"""The compiled `widest` rule: the widest attribute first, cut at its median, the next where that is not allowed.

Source    LeFevre, DeWitt & Ramakrishnan, Mondrian, ICDE 2006; Li & Li, KDD 2009, section 5; docs/theory/partition.md.
Claim     attributes are tried by falling (largest - smallest code) / (size - 1), ties in their order. The median
          is the smallest code with at least half of the rows at or below it; of the cuts below and above it the more
          even one is tried first, ties the lower. The first allowed cut is taken.
Because   widths are compared by integer cross-multiplication, evenness by |2 x left - n|.
Checked   tests/claims/test_mondrian_kernel.py::test_compiled_equals_the_twin
Silent on what is lost: the rule never looks at it.
Cost      rows x attributes per part.
"""

# mypy: disable-error-code="arg-type, assignment, no-any-return, return-value"
# Compiled code: numba's int64 is no `int` to mypy, and arrays are passed one by one because a compiled call with many
# arrays in a tuple costs more than the work it does.

from __future__ import annotations

import numpy as np

from sfumato.kernels.cache import inlined
from sfumato.kernels.conditions import Conditions
from sfumato.kernels.conditions_check import holds
from sfumato.kernels.linkage import box_mass
from sfumato.kernels.mondrian_counts import add_sensitive, dense
from sfumato.kernels.mondrian_layout import Codes, Layout, Part, Records, Scratch

__all__ = ["choose_widest", "held_back", "side_mass"]


@inlined
def side_mass(c: Conditions, box: Records, a: int, low: int, high: int) -> float:
    """Population share of a box whose attribute a is low <= code < high; 1 where nothing reads it."""
    if c.link.d == 0 or c.link.start.size == 1:
        return 1.0
    mass = 1.0
    for b in range(box.shape[0]):
        if b == a:
            mass *= box_mass(c.link, b, low, high)
        else:
            mass *= box_mass(c.link, b, box[b]["low"], box[b]["high"])
    return mass


@inlined
def held_back(t: Layout, c: Conditions, box: Records, a: int) -> bool:
    """Say whether a LINK condition keeps the whole domain although only values, or only missing, occur.

    Then attribute a is not cut: no label but the whole domain may hold missing beside values.
    """
    one, side = t.attribute[a], box[a]
    if c.link.d == 0 or not one["missing"] or side["high"] - side["low"] < one["codes"]:
        return False
    return side["most"] < one["codes"] - 1 or side["least"] == one["codes"] - 1


@inlined
def _weight_below(rows: Codes, weights: Codes, a: int, code: int) -> int:
    weight = np.int64(0)
    for i in range(rows.shape[0]):
        if rows[i, a] < code:
            weight += weights[i]
    return weight


@inlined
def _median(rows: Codes, weights: Codes, seen: Codes, a: int, least: int, most: int, n: int) -> tuple[int, int, int]:
    """Return the median code of attribute a, the weight below it and the weight up to it."""
    m, span = rows.shape[0], most - least + 1
    if dense(span, m):
        for i in range(m):
            seen[rows[i, a] - least] += weights[i]
        below, code = np.int64(0), np.int64(0)
        while 2 * (below + seen[code]) < n:
            below += seen[code]
            code += 1
        reached = below + seen[code]
        for at in range(span):
            seen[at] = 0
        return least + code, below, reached
    low, high = least, most  # few codes in a wide span: halve the span
    while low < high:
        middle = (low + high) // 2
        if 2 * _weight_below(rows, weights, a, middle + 1) >= n:
            high = middle
        else:
            low = middle + 1
    return low, _weight_below(rows, weights, a, low), _weight_below(rows, weights, a, low + 1)


@inlined
def _interval_holds(c: Conditions, s: Scratch, part: Part, a: int, low: int, high: int) -> bool:
    """Say whether the rows with low <= code < high in attribute a satisfy the conjunction; no rows do."""
    rows, weights, sensitive, q = part.rows, part.weights, s.sensitive, part.box.shape[0]
    half, n = sensitive.size // 3, np.int64(0)
    for at in range(half, 2 * half):
        sensitive[at] = 0
    for i in range(rows.shape[0]):
        if low <= rows[i, a] < high:
            n += weights[i]
            if half > 0:
                add_sensitive(rows[i], q, weights[i], c.offset, sensitive, half)
    if n == 0:
        return True
    return n >= c.fewest and holds(c, n, sensitive[half : 2 * half], side_mass(c, part.box, a, low, high))


@inlined
def _cut_median(t: Layout, c: Conditions, s: Scratch, part: Part, a: int, n: int) -> bool:
    """Try the two cuts beside the median, the more even one first; values and missing are cut apart."""
    one, side, rows, weights = t.attribute[a], part.box[a], part.rows, part.weights
    apart = one["missing"] and side["most"] == one["codes"] - 1
    if apart:
        code = one["codes"] - 1
        below, reached = _weight_below(rows, weights, a, code), n
    else:
        code, below, reached = _median(rows, weights, s.seen, a, side["least"], side["most"], n)
    lower_first = apart or n - 2 * below <= 2 * reached - n
    for turn in range(1 if apart else 2):
        lower = lower_first == (turn == 0)
        position, left = (code, below) if lower else (code + 1, reached)
        if left < c.fewest or n - left < c.fewest:
            continue
        s.cut[0], s.cut[1], s.cut[2] = a, position, -1
        held = True
        for right in range(2 if s.sensitive.size > 0 else 0):  # nothing but the size asked: already known
            low, high = (position, side["high"]) if right else (side["low"], position)
            held = held and _interval_holds(c, s, part, a, low, high)
        if held:
            return True
    return False


@inlined
def _cut_children(t: Layout, c: Conditions, s: Scratch, part: Part, a: int) -> bool:
    parent = t.node[part.box[a]["node"]]
    if parent["child"] == parent["last_child"]:
        return False
    for x in range(parent["child"], parent["last_child"]):
        node = t.node[t.child[x]]
        if not _interval_holds(c, s, part, a, node["low"], node["high"]):
            return False
    s.cut[0], s.cut[1], s.cut[2] = a, -1, -1
    return True


@inlined
def choose_widest(t: Layout, c: Conditions, s: Scratch, part: Part, n: int) -> bool:
    """Write the first allowed cut to `s.cut`; False where there is none."""
    box, attribute, q = part.box, t.attribute, t.attribute.shape[0]
    tried = np.zeros(q, dtype=np.bool_)
    for _ in range(q):
        widest, width, codes = np.int64(-1), np.int64(0), np.int64(2)
        for a in range(q):
            own = box[a]["most"] - box[a]["least"]
            if not tried[a] and own * (codes - 1) > width * (attribute[a]["codes"] - 1):
                widest, width, codes = a, own, attribute[a]["codes"]
        if widest < 0:
            return False
        tried[widest] = True
        if held_back(t, c, box, widest):
            continue
        if attribute[widest]["root"] >= 0:
            allowed = _cut_children(t, c, s, part, widest)
        else:
            allowed = _cut_median(t, c, s, part, widest, n)
        if allowed:
            return True
    return False
