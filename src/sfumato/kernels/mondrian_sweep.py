"""The compiled `best` rule: every allowed cut of every attribute, by one sweep per attribute.

Source    design 1 and 5; LeFevre, DeWitt & Ramakrishnan, Mondrian, ICDE 2006 (the frame).
Claim     of all allowed cuts the one with the least cost is chosen; ties go to the first attribute, then
          to the lowest cut. cost(part) = sum over attributes of n (w - 1) / (size - 1) + weight x excess / w,
          w codes in the label, excess = sum over codes of max(0, count x w - n).
Because   excess / w is n x the total variation from uniform over the label: what a reader who spreads
          the rows evenly over the label gets wrong. Rows move from right to left in the order of one
          attribute, so the counts of all attributes on both sides are at hand at each cut.
Checked   tests/claims/test_mondrian_kernel.py::test_compiled_equals_the_twin
          tests/claims/test_mondrian_kernel.py::test_chosen_cut_is_the_cheapest_of_all_cuts
Silent on the best partition: the rule is greedy. An empty stretch between two codes is given whole to one side.
Cost      rows x attributes^2 + cuts x codes that occur, per part.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.cache import inlined
from sfumato.kernels.conditions import Conditions
from sfumato.kernels.conditions_check import holds
from sfumato.kernels.mondrian_layout import BOX, SET, Codes, Layout, Part, Scratch, rank_codes

__all__ = ["choose_best", "count_sensitive"]


@inlined
def _tight_width(t: Layout, s: Scratch, counts: Codes, b: int) -> int:
    """Number of codes in the tight label of attribute b for these counts."""
    first, last = s.first[b], s.first[b + 1]
    if t.label[b] == SET:
        found = np.int32(0)
        for at in range(first, last):
            found += np.int32(counts[at] > 0)
        width = np.int64(found)
    else:
        low, high = first, last - 1
        while low < high and counts[low] == 0:
            low += 1
        while low < high and counts[high] == 0:
            high -= 1
        width = np.int64(s.code[high]) - s.code[low] + 1
    if t.missing[b] and width > 1 and s.code[last - 1] == t.size[b] - 1 and counts[last - 1] > 0:
        width = t.size[b]
    return width


@inlined
def _term(t: Layout, s: Scratch, counts: Codes, b: int, n: int, width: int, weight: float) -> float:
    """Cost of attribute b for n rows with these counts under a label of `width` codes."""
    even = np.int32(n / width)  # exact: both are below 2^31
    above, codes = np.int32(0), np.int32(0)
    for at in range(s.first[b], s.first[b + 1]):
        above += np.int32(max(np.int32(counts[at] - even), np.int32(0)))
        codes += np.int32(counts[at] > even)
    excess = width * np.int64(above) + (width * even - n) * np.int64(codes)
    return (n * (width - 1)) / (t.size[b] - 1) + weight * (excess / width)


@inlined
def _cost(t: Layout, s: Scratch, part: Part, counts: Codes, n: int, a: int, box: int, weight: float, most: float) -> float:
    """Cost of n rows with these counts, whose box is `box` codes wide in attribute a; gives up above `most`."""
    total = 0.0
    for b in range(t.size.size):
        if t.label[b] != BOX:
            if s.first[b + 1] - s.first[b] == 1:
                continue
            width = _tight_width(t, s, counts, b)
        else:
            width = box if b == a else part.high[b] - part.low[b]
        if width > 1:
            total += _term(t, s, counts, b, n, width, weight)
            if total >= most:
                return total
    return total


@inlined
def count_sensitive(c: Conditions, part: Part, counts: np.ndarray, i: int) -> None:
    """Add row i to a part's sensitive counts."""
    q = part.low.size
    for j in range(c.offset.size - 1):
        counts[c.offset[j] + part.rows[i, q + j]] += part.weights[i]


@inlined
def _sort_rows(s: Scratch, part: Part, a: int) -> None:
    """Counting sort: `order` lists the rows by their code of attribute a."""
    first, last = s.first[a], s.first[a + 1]
    at = np.int32(0)
    for code in range(first, last):
        s.left[code] = at
        at += s.occurs[code]
    for i in range(part.rows.shape[0]):
        place = s.place[i, a]
        s.order[s.left[place]] = i
        s.left[place] += 1


@inlined
def _clear(s: Scratch, q: int, sensitive: int) -> None:
    for at in range(s.first[q]):
        s.left[at] = 0
    for at in range(s.sensitive.shape[1]):
        s.sensitive[sensitive, at] = 0


@inlined
def _move_code(c: Conditions, s: Scratch, part: Part, begin: int, end: int) -> int:
    """Move rows order[begin:end] to the left; return their weight."""
    q = part.low.size
    moved = np.int64(0)
    for at in range(begin, end):
        i = s.order[at]
        weight = part.weights[i]
        moved += weight
        for b in range(q):
            s.left[s.place[i, b]] += weight
        if c.offset.size > 1:
            count_sensitive(c, part, s.sensitive[1], i)
    return moved


@inlined
def _take_right(s: Scratch, q: int) -> None:
    for at in range(s.first[q]):
        s.right[at] = s.whole[at] - s.left[at]
    for at in range(s.sensitive.shape[1]):
        s.sensitive[2, at] = s.sensitive[0, at] - s.sensitive[1, at]


@inlined
def _may_cut(t: Layout, s: Scratch, part: Part, a: int, at: int) -> bool:
    """A part that holds values and missing may only be cut between the two."""
    last = s.first[a + 1] - 1
    both = t.missing[a] and s.code[last] == t.size[a] - 1
    return not both or at == last - 1


@inlined
def _spared(c: Conditions, s: Scratch, n_left: int, n_right: int, budget: int) -> int:
    """-1: both sides hold; 0 or 1: that side may be suppressed, the other holds; 2: not allowed."""
    left = n_left >= c.rows[1] and holds(c, n_left, s.sensitive[1])
    if not left and n_left > budget:
        return 2
    right = n_right >= c.rows[1] and holds(c, n_right, s.sensitive[2])
    if left and right:
        return -1
    if left and n_right <= budget:
        return 1
    return 0 if right else 2


@inlined
def _sweep_cuts(t: Layout, c: Conditions, s: Scratch, part: Part, n: int, a: int, budget: int, weight: float, best: float) -> float:
    """Try every cut of attribute a between two codes; return the least cost so far."""
    q = part.low.size
    lost = q * (1.0 + weight)  # what a suppressed row costs: every label *, nothing known
    _sort_rows(s, part, a)
    _clear(s, q, 1)
    n_left, row = np.int64(0), np.int64(0)
    for at in range(s.first[a], s.first[a + 1] - 1):
        n_left += _move_code(c, s, part, row, row + s.occurs[at])
        row += s.occurs[at]
        n_right = n - n_left
        if n_left < c.rows[1] and n_left > budget:
            continue
        if n_right < c.rows[1] and n_right > budget:
            if budget == 0:
                break
            continue
        if not _may_cut(t, s, part, a, at):
            continue
        _take_right(s, q)
        side = _spared(c, s, n_left, n_right, budget) if budget > 0 else -1
        if side == 2:
            continue
        least, most = np.int64(s.code[at]) + 1, np.int64(s.code[at + 1])
        for turn in range(2 if t.label[a] == BOX and most > least else 1):
            position = most if turn else least
            cost = n_left * lost
            if side != 0:
                cost = _cost(t, s, part, s.left, n_left, a, position - part.low[a], weight, best)
            if side == 1:
                cost += n_right * lost
            elif cost < best:
                cost += _cost(t, s, part, s.right, n_right, a, part.high[a] - position, weight, best - cost)
            if cost < best:
                if budget == 0 and not (holds(c, n_left, s.sensitive[1]) and holds(c, n_right, s.sensitive[2])):
                    break
                best = cost
                s.cut[0], s.cut[1], s.cut[2] = a, position, side
    return best


@inlined
def _try_children(t: Layout, c: Conditions, s: Scratch, part: Part, a: int, weight: float, best: float) -> float:
    """Try to cut attribute a's node into its children; every child with rows must hold."""
    q = part.low.size
    _sort_rows(s, part, a)
    cost, row, at = 0.0, np.int64(0), s.first[a]
    for x in range(t.child_start[part.node[a]], t.child_start[part.node[a] + 1]):
        node = t.child[x]
        begin = row
        while at < s.first[a + 1] and s.code[at] < t.node_high[node]:
            row += s.occurs[at]
            at += 1
        if row == begin:
            continue
        _clear(s, q, 1)
        n = _move_code(c, s, part, begin, row)
        if n < c.rows[1] or not holds(c, n, s.sensitive[1]):
            return best
        cost += _cost(t, s, part, s.left, n, a, t.node_high[node] - t.node_low[node], weight, np.inf)
    if cost < best:
        best = cost
        s.cut[0], s.cut[1], s.cut[2] = a, -1, -1
    return best


@inlined
def choose_best(t: Layout, c: Conditions, s: Scratch, part: Part, n: int, budget: int, weight: float) -> bool:
    """Write the cheapest allowed cut to `s.cut`; False where no allowed cut lowers the cost."""
    q = part.low.size
    rank_codes(s, part)
    for at in range(s.sensitive.shape[1]):
        s.sensitive[0, at] = 0
    for i in range(part.rows.shape[0] if c.offset.size > 1 else 0):
        count_sensitive(c, part, s.sensitive[0], i)
    start = _cost(t, s, part, s.whole, n, np.int64(0), part.high[0] - part.low[0], weight, np.inf)
    best = start
    for a in range(q):
        if s.first[a + 1] - s.first[a] < 2:
            continue
        if t.root[a] < 0:
            best = _sweep_cuts(t, c, s, part, n, a, budget, weight, best)
        else:
            best = _try_children(t, c, s, part, a, weight, best)
    return best < start
