"""The compiled `best` and `sparing` rules: every allowed cut of every attribute, by one sweep per attribute.

Source    Ours (docs/theory/partition.md); LeFevre, DeWitt & Ramakrishnan, Mondrian, ICDE 2006 (the frame).
Claim     of all allowed cuts the one with the least cost is chosen; ties go to the first attribute, then
          to the lowest cut. cost(part) = sum over attributes of n (w - 1) / (size - 1) + weight x excess / w,
          w codes in the label, excess = sum over codes of max(0, count x w - n). `sparing` takes the cut with the
          largest (cost saved) x (rows to spare on both sides), of those that save some; the same ties.
Because   excess / w is n x the total variation from uniform over the label: what a reader who spreads
          the rows evenly over the label gets wrong. Rows move from right to left in the order of one
          attribute, so the counts of all attributes on both sides are at hand at each cut.
          A cut that cannot be the cheapest is not worked out: at equal widths max(0, l w - n) + max(0, r w - m) is at
          least max(0, (l + r) w - (n + m)), so the terms of the other attributes do not fall, and a's own terms
          follow from its counts alone. Bounds are left a margin; costs are compared to the last bit.
Checked   tests/claims/test_mondrian_kernel.py::test_compiled_equals_the_reference
          tests/claims/test_mondrian_kernel.py::test_chosen_cut_is_the_cheapest_of_all_cuts
Silent on the best partition: the rule is greedy. An empty stretch between two codes is given whole to one side.
Cost      per part rows x attributes^2, and cuts x codes that occur; many codes: rows and cuts x log (mondrian_excess).
"""

from __future__ import annotations

import numpy as np

from sfumato.arrays import Ints
from sfumato.kernels.cache import borrowing, inlined
from sfumato.kernels.conditions import Conditions, holds
from sfumato.kernels.dlink.score import box_mass
from sfumato.kernels.mondrian.layout import (
    BOX,
    COUNT,
    FIRST,
    HEAVY,
    HIGH,
    LOW,
    MOVING,
    ON,
    SET,
    SOME,
    SUM,
    TOP,
    TREES,
    Codes,
    Layout,
    Part,
    RowRecords,
    Scratch,
    add_sensitive,
    count_codes,
    dense,
    sort_rows,
)
from sfumato.kernels.mondrian.slack import spare

TIED = 1e-9
"""Costs that differ by less, relatively, are compared to the last bit before one is left out by a bound."""


# The compiled `widest` rule: the widest attribute first, cut at its median, the next where that is not allowed.
#
# Source    LeFevre, DeWitt & Ramakrishnan, Mondrian, ICDE 2006; Li & Li, KDD 2009, section 5;
#           docs/theory/partition.md.
# Claim     attributes are tried by falling (largest - smallest code) / (size - 1), ties in their order. The median
#           is the smallest code with at least half of the rows at or below it; of the cuts below and above it the
#           more even one is tried first, ties the lower. The first allowed cut is taken.
# Because   widths are compared by integer cross-multiplication, evenness by |2 x left - n|.
# Checked   tests/claims/test_mondrian_kernel.py::test_compiled_equals_the_reference
# Silent on what is lost: the rule never looks at it.
# Cost      rows x attributes per part.

# mypy: disable-error-code="arg-type, assignment, no-any-return, return-value"
# Compiled code: numba's int64 is not an `int` to mypy, and arrays are passed one by one because a compiled call with
# many arrays in a tuple costs more than the work it does.


@borrowing
def side_mass(c: Conditions, box: RowRecords, a: int, low: int, high: int) -> float:
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


@borrowing
def held_back(t: Layout, c: Conditions, box: RowRecords, a: int) -> bool:
    """Say whether a LINK condition keeps the whole domain although only values, or only missing, occur.

    Then attribute a is not cut: no label but the whole domain may hold missing beside values.
    """
    one, side = t.attribute[a], box[a]
    if c.link.d == 0 or not one["missing"] or side["high"] - side["low"] < one["codes"]:
        return False
    return side["most"] < one["codes"] - 1 or side["least"] == one["codes"] - 1


@borrowing
def _weight_below(s: Scratch, rows: Codes, weights: Codes, a: int, code: int) -> int:
    weight = np.int64(0)
    if s.moves.size > 0:
        for at in range(s.first[a], s.first[a + 1]):
            if s.code[at] < code:
                weight += s.whole[at]
        return weight
    for i in range(rows.shape[0]):
        if rows[i, a] < code:
            weight += weights[i]
    return weight


@borrowing
def _median(s: Scratch, rows: Codes, weights: Codes, a: int, least: int, most: int, n: int) -> tuple[int, int, int]:
    """Return the median code of attribute a, the weight below it and the weight up to it."""
    m, span, seen = rows.shape[0], most - least + 1, s.seen
    if s.moves.size > 0:
        at, below = s.first[a], np.int64(0)
        while 2 * (below + s.whole[at]) < n:
            below += s.whole[at]
            at += 1
        return np.int64(s.code[at]), below, below + s.whole[at]
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
        if 2 * _weight_below(s, rows, weights, a, middle + 1) >= n:
            high = middle
        else:
            low = middle + 1
    return low, _weight_below(s, rows, weights, a, low), _weight_below(s, rows, weights, a, low + 1)


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
    for at in range(s.first[a], s.first[a + 1] if s.moves.size > 0 else s.first[a]):
        if low <= s.code[at] < high:
            n += s.whole[at]
            for move in range(s.moves[at], s.moves[at + 1]):
                if s.to[move] < 0:
                    sensitive[half - 1 - s.to[move]] += s.moved[move]
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
        below, reached = _weight_below(s, rows, weights, a, code), n
    else:
        code, below, reached = _median(s, rows, weights, a, side["least"], side["most"], n)
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


# How far the counts of many codes exceed an even share, kept up to date while rows move from right to left.
#
# Source    Fenwick, "A new data structure for cumulative frequency tables", Software: Practice & Experience 24(3),
#           1994.
# Claim     `excess` returns what a loop over all codes would: for each side of a cut how many codes have more than
#           the even share, and by how much in all. Whole numbers, so the costs are the same to the last bit.
# Because   each side keeps, for every weight up to `TOP`, how many codes have it and their sum (two Fenwick trees);
#           a code that may weigh more is looked at by itself: there are at most rows / TOP of them.
# Checked   tests/claims/test_mondrian_kernel.py::test_wide_attributes_are_cut_like_narrow_ones
#           tests/claims/test_growth.py::test_mondrian_grows_with_the_rows_not_their_square
# Silent on memory beyond four trees of 65,536 entries for each attribute that may have many codes.
# Cost      log(TOP) for each row that moves and each cut, instead of all codes for each cut.

# mypy: disable-error-code="arg-type, assignment, no-any-return, return-value"
# Compiled code: numba's int64 is not an `int` to mypy, and arrays are passed one by one because a compiled call with
# many arrays in a tuple costs more than the work it does.


@borrowing
def _add(tree: Ints, start: int, top: int, at: int, change: int) -> None:
    while at <= top:
        tree[start + at] += change
        at += at & -at


@borrowing
def _upto(tree: Ints, start: int, at: int) -> int:
    total = np.int64(0)
    while at > 0:
        total += tree[start + at]
        at -= at & -at
    return total


@borrowing
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


@borrowing
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


@borrowing
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


@borrowing
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


@borrowing
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


# mypy: disable-error-code="arg-type, assignment, no-any-return, return-value"
# Compiled code: numba's int64 is not an `int` to mypy, and arrays are passed one by one because a compiled call with
# many arrays in a tuple costs more than the work it does.


@borrowing
def _tight_widths(
    s: Scratch, trees: bool, b: int, one: np.void, code: Codes, left: Codes, whole: Codes, first: int, last: int
) -> tuple[int, int]:
    """Return how many codes the tight label has on the left and on the right."""
    if trees:
        some, other_side, span, other_span = occupied(s, b, code)
        widths = (some, other_side) if one["label"] == SET else (span, other_span)
    elif one["label"] == SET:
        found, other = np.int32(0), np.int32(0)
        for at in range(first, last):
            found += np.int32(left[at] > 0)
            other += np.int32(whole[at] > left[at])
        widths = np.int64(found), np.int64(other)
    else:
        low, high, low_right, high_right = first, last - 1, first, last - 1
        while low < high and left[low] == 0:
            low += 1
        while low < high and left[high] == 0:
            high -= 1
        while low_right < high_right and left[low_right] == whole[low_right]:
            low_right += 1
        while low_right < high_right and left[high_right] == whole[high_right]:
            high_right -= 1
        widths = np.int64(code[high]) - code[low] + 1, np.int64(code[high_right]) - code[low_right] + 1
    if one["missing"] and code[last - 1] == one["codes"] - 1:
        on_left, on_right = left[last - 1] > 0, whole[last - 1] > left[last - 1]
        if on_left and widths[0] > 1:
            widths = one["codes"], widths[1]
        if on_right and widths[1] > 1:
            widths = widths[0], one["codes"]
    return widths


@borrowing
def _term(codes: int, n: int, width: int, even: int, above: int, many: int, weight: float) -> float:
    """One term: n (w - 1) / (size - 1) + weight x excess / w, where `many` codes are `above` the even share in all."""
    excess = width * np.int64(above) + (width * np.int64(even) - n) * np.int64(many)
    return (n * (width - 1)) / (codes - 1) + weight * (excess / width)


@borrowing
def _costs(
    s: Scratch,
    sweeping: bool,
    attribute: np.ndarray,
    box: np.ndarray,
    first: Ints,
    code: Codes,
    left: Codes,
    whole: Codes,
    n_left: int,
    n_right: int,
    a: int,
    position: int,
    weight: float,
    most: float,
) -> tuple[float, float]:
    """Costs of the two sides of a cut of attribute a at `position`; infinite once they reach `most`."""
    cost_left, cost_right = 0.0, 0.0
    for b in range(attribute.shape[0]):
        one, begin, end = attribute[b], first[b], first[b + 1]
        trees = sweeping and s.wide[b, ON] == 1
        if one["label"] != BOX:
            if end - begin == 1:
                continue
            width_left, width_right = _tight_widths(s, trees, b, one, code, left, whole, begin, end)
        elif b == a:
            width_left, width_right = position - box[b]["low"], box[b]["high"] - position
        else:
            width_left = box[b]["high"] - box[b]["low"]
            width_right = width_left
        if one["codes"] == 1:
            continue
        width_left, width_right = max(width_left, 1), max(width_right, 1)  # a side without rows
        even_left, even_right = np.int32(n_left / width_left), np.int32(n_right / width_right)  # exact below 2^31
        above_left, above_right, many_left, many_right = np.int32(0), np.int32(0), np.int32(0), np.int32(0)
        if trees:
            all_left, number_left = excess(s, b, 0, np.int64(even_left))
            all_right, number_right = excess(s, b, 1, np.int64(even_right))
            above_left, above_right = np.int32(all_left), np.int32(all_right)
            many_left, many_right = np.int32(number_left), np.int32(number_right)
        for at in range(begin, begin if trees else end):
            over_left = np.int32(left[at] - even_left)
            over_right = np.int32(np.int32(whole[at] - left[at]) - even_right)
            above_left += np.int32(max(over_left, np.int32(0)))
            above_right += np.int32(max(over_right, np.int32(0)))
            many_left += np.int32(over_left > 0)
            many_right += np.int32(over_right > 0)
        cost_left += _term(one["codes"], n_left, width_left, even_left, above_left, many_left, weight)
        cost_right += _term(one["codes"], n_right, width_right, even_right, above_right, many_right, weight)
        if cost_left + cost_right >= most:
            return np.inf, np.inf
    return cost_left, cost_right


@borrowing
def _move_codes(s: Scratch, sweeping: bool, begin: int, end: int) -> int:
    """Do moves begin .. end of the moving attribute of a summary; return the weight that went to the left."""
    first, half, a = s.first, s.sensitive.size // 3, s.cut[MOVING]
    start, gone = s.moves[first[a]], np.int64(0)
    for move in range(start + begin, start + end):
        at, weight = s.to[move], s.moved[move]
        if at < 0:
            s.sensitive[half - 1 - at] += weight
            continue
        s.left[at] += weight
        if first[a] <= at < first[a + 1]:
            gone += weight
        if sweeping:
            b = 0
            while at >= first[b + 1]:
                b += 1
            if s.wide[b, ON] == 1:
                note_move(s, b, at, weight)
    return gone


@borrowing
def _line_up(part: Part, s: Scratch, a: int) -> None:
    """Bring the rows, or the moves of a summary, into the order of attribute a's codes."""
    if s.moves.size > 0:
        s.cut[MOVING] = a
    else:
        sort_rows(s.place, part.rows.shape[0], a, s.first[a], s.first[a + 1], s.occurs, s.left, s.order)


@borrowing
def _move(part: Part, s: Scratch, sweeping: bool, offset: Ints, begin: int, end: int) -> int:
    """Move rows order[begin:end] to the left; return their weight."""
    rows, weights, order, place, left, sensitive = part.rows, part.weights, s.order, s.place, s.left, s.sensitive
    q, half = place.shape[1], sensitive.size // 3
    moved = np.int64(0)
    if s.moves.size > 0:
        return _move_codes(s, sweeping, begin, end)
    for at in range(begin, end):
        i = order[at]
        weight = weights[i]
        moved += weight
        for b in range(q):
            left[place[i, b]] += weight
            if sweeping and s.wide[b, ON] == 1:
                note_move(s, b, place[i, b], weight)
        for j in range(offset.size - 1):
            sensitive[half + offset[j] + rows[i, q + j]] += weight
    return moved


@borrowing
def _clear(left: Codes, codes: int, sensitive: Ints) -> None:
    for at in range(codes):
        left[at] = 0
    for at in range(sensitive.size // 3, 2 * (sensitive.size // 3)):
        sensitive[at] = 0


@borrowing
def _take_right(sensitive: Ints) -> None:
    half = sensitive.size // 3
    for at in range(half):
        sensitive[2 * half + at] = sensitive[at] - sensitive[half + at]


@inlined
def _spared(
    c: Conditions, sensitive: Ints, box: np.ndarray, a: int, position: int, n_left: int, n_right: int, budget: int
) -> int:
    """-1: both sides hold; 0 or 1: that side may be suppressed, the other holds; 2: not allowed."""
    half = sensitive.size // 3
    mass = side_mass(c, box, a, box[a]["low"], position)
    left = n_left >= c.fewest and holds(c, n_left, sensitive[half : 2 * half], mass)
    if not left and n_left > budget:
        return 2
    mass = side_mass(c, box, a, position, box[a]["high"])
    right = n_right >= c.fewest and holds(c, n_right, sensitive[2 * half :], mass)
    if left and right:
        return -1
    if left and n_right <= budget:
        return 1
    return 0 if right else 2


@inlined
def _left_over(c: Conditions, sensitive: Ints, n_left: int, n_right: int, suppressed: int) -> float:
    """Rows to spare of the two sides together, of those that are kept."""
    half = sensitive.size // 3
    rows = 0.0
    if suppressed != 0:
        rows += spare(c, n_left, sensitive[half : 2 * half])
    if suppressed != 1:
        rows += spare(c, n_right, sensitive[2 * half :])
    return rows


@inlined
def _sweep_sparing(
    t: Layout,
    c: Conditions,
    s: Scratch,
    part: Part,
    n: int,
    a: int,
    budget: int,
    weight: float,
    start: float,
    best: float,
) -> float:
    """Try every cut of attribute a under conditions that a cut uses up; return the highest merit so far."""
    attribute, box, first, code, left, whole = t.attribute, part.box, s.first, s.code, s.left, s.whole
    begin, end, one = first[a], first[a + 1], attribute[a]
    lost = attribute.shape[0] * (1.0 + weight)
    only = end - 2 if one["missing"] and code[end - 1] == one["codes"] - 1 else -1  # values | missing
    _line_up(part, s, a)
    _clear(left, first[attribute.shape[0]], s.sensitive)
    begin_sweep(s, attribute.shape[0], a, s.order.size if s.moves.size > 0 else part.rows.shape[0])
    n_left, row = np.int64(0), np.int64(0)
    for at in range(begin, end - 1):
        n_left += _move(part, s, True, c.offset, row, row + s.occurs[at])
        row += s.occurs[at]
        n_right = n - n_left
        if (n_left < c.fewest and n_left > budget) or (only >= 0 and at != only):
            continue
        if n_right < c.fewest and n_right > budget:
            if budget == 0:
                break
            continue
        _take_right(s.sensitive)
        most = np.int64(code[at + 1])
        least = np.int64(code[at]) + 1 if only < 0 else most
        side, rows = np.int64(2), 0.0
        for turn in range(2 if one["label"] == BOX and most > least else 1):
            position = most if turn else least
            if turn == 0 or c.link.d > 0:  # the place of an empty stretch matters to LINK only
                side = _spared(c, s.sensitive, box, a, position, n_left, n_right, budget)
                if side != 2:
                    rows = _left_over(c, s.sensitive, n_left, n_right, side)
            if side == 2:
                continue
            limit = start
            if side < 0 and best > 0.0 and rows > 0.0:
                limit = start - (best / rows) * (1.0 - 1e-9)  # what costs more cannot have the highest merit
            elif side >= 0:
                limit = np.inf
            cost, other = _costs(
                s, True, attribute, box, first, code, left, whole, n_left, n_right, a, position, weight, limit
            )
            if side == 0:
                cost = n_left * lost
            elif side == 1:
                other = n_right * lost
            gain = start - (cost + other)
            if gain > 0.0 and gain * rows > best:
                best = gain * rows
                s.cut[0], s.cut[1], s.cut[2] = a, position, side
    return best


@borrowing
def _alone(s: Scratch, one: np.void, begin: int, end: int, n: int, width: int, weight: float) -> float:
    """One attribute's term of a side that holds all rows with its codes begin .. end."""
    even, above, many = np.int32(n / width), np.int32(0), np.int32(0)
    for at in range(begin, end):
        over = np.int32(s.whole[at] - even)
        above += np.int32(max(over, np.int32(0)))
        many += np.int32(over > 0)
    return _term(one["codes"], n, width, even, above, many, weight)


@borrowing
def _both_sides(
    s: Scratch, one: np.void, side: np.void, a: int, at: int, position: int, n_left: int, n_right: int, weight: float
) -> float:
    """Attribute a's terms of both sides of a cut of a behind its code `at`, or less."""
    begin, end = s.first[a], s.first[a + 1]
    if s.wide[a, TREES] >= 0 and end - begin >= s.cut[3]:  # many codes: only the part that needs no count
        return (n_left * (position - side["low"] - 1) + n_right * (side["high"] - position - 1)) / (one["codes"] - 1)
    left = _alone(s, one, begin, at + 1, n_left, position - side["low"], weight)
    return left + _alone(s, one, at + 1, end, n_right, side["high"] - position, weight)


@borrowing
def _others(t: Layout, s: Scratch, box: np.ndarray, n: int, a: int, weight: float) -> float:
    """The terms of all attributes but a, uncut: no cut of a makes them smaller together."""
    total = 0.0
    for b in range(box.shape[0]):
        one = t.attribute[b]
        if b != a and one["codes"] > 1:
            total += _alone(s, one, s.first[b], s.first[b + 1], n, box[b]["high"] - box[b]["low"], weight)
    return total


@borrowing
def _least_cost(t: Layout, c: Conditions, s: Scratch, box: np.ndarray, n: int, a: int, weight: float) -> float:
    """Return what no cut of attribute a costs less than; infinite where none leaves enough rows on both sides."""
    one, side, least = t.attribute[a], box[a], np.inf
    begin, end, n_left = s.first[a], s.first[a + 1], np.int64(0)
    others = _others(t, s, box, n, a, weight)
    if one["root"] >= 0:
        parent, at, own = t.node[side["node"]], begin, 0.0
        for x in range(parent["child"], parent["last_child"]):
            node = t.node[t.child[x]]
            start, n_left = at, np.int64(0)
            while at < end and s.code[at] < node["high"]:
                n_left += s.whole[at]
                at += 1
            if 0 < n_left < c.fewest:
                return np.inf
            if n_left > 0:
                own += _alone(s, one, start, at, n_left, node["high"] - node["low"], weight)
        return others + own
    only = end - 2 if one["missing"] and s.code[end - 1] == one["codes"] - 1 else -1
    for at in range(begin, end - 1):
        n_left += s.whole[at]
        if n_left < c.fewest or (only >= 0 and at != only):
            continue
        if n - n_left < c.fewest:
            break
        most = np.int64(s.code[at + 1])
        first = np.int64(s.code[at]) + 1 if only < 0 else most
        least = min(least, others + _both_sides(s, one, side, a, at, first, n_left, n - n_left, weight))
        if most > first:
            least = min(least, others + _both_sides(s, one, side, a, at, most, n_left, n - n_left, weight))
    return least


@inlined
def _sweep_cuts(
    t: Layout,
    c: Conditions,
    s: Scratch,
    part: Part,
    n: int,
    a: int,
    budget: int,
    weight: float,
    best: float,
    bounded: bool,
) -> float:
    """Try every cut of attribute a between two codes; return the least cost so far.

    Of equal costs the first attribute's stays; `s.cut` names the one found so far.
    """
    attribute, box, first, code, left, whole = t.attribute, part.box, s.first, s.code, s.left, s.whole
    begin, end, one = first[a], first[a + 1], attribute[a]
    lost = attribute.shape[0] * (1.0 + weight)  # what a suppressed row costs: every label *, nothing known
    only = end - 2 if one["missing"] and code[end - 1] == one["codes"] - 1 else -1  # values | missing
    others = _others(t, s, box, n, a, weight) if bounded else 0.0
    _line_up(part, s, a)
    _clear(left, first[attribute.shape[0]], s.sensitive)
    begin_sweep(s, attribute.shape[0], a, s.order.size if s.moves.size > 0 else part.rows.shape[0])
    n_left, row = np.int64(0), np.int64(0)
    for at in range(begin, end - 1):
        n_left += _move(part, s, True, c.offset, row, row + s.occurs[at])
        row += s.occurs[at]
        n_right = n - n_left
        if (n_left < c.fewest and n_left > budget) or (only >= 0 and at != only):
            continue
        if n_right < c.fewest and n_right > budget:
            if budget == 0:
                break
            continue
        _take_right(s.sensitive)
        most = np.int64(code[at + 1])
        least = np.int64(code[at]) + 1 if only < 0 else most  # missing alone: the empty stretch belongs to the values
        side = np.int64(-1)
        for turn in range(2 if one["label"] == BOX and most > least else 1):
            position = most if turn else least
            if budget > 0 and (turn == 0 or c.link.d > 0):  # the place of an empty stretch matters to LINK only
                side = _spared(c, s.sensitive, box, a, position, n_left, n_right, budget)
            if side == 2:
                continue
            above = best * (1.0 + TIED)
            if bounded and others + _both_sides(s, one, box[a], a, at, position, n_left, n_right, weight) > above:
                continue
            limit = above if side < 0 else np.inf
            cost, other = _costs(
                s, True, attribute, box, first, code, left, whole, n_left, n_right, a, position, weight, limit
            )
            if side == 0:
                cost = n_left * lost
            elif side == 1:
                other = n_right * lost
            cost += other
            if cost < best or (cost == best and a < s.cut[0]):
                if budget == 0 and _spared(c, s.sensitive, box, a, position, n_left, n_right, budget) != -1:
                    if c.link.d > 0:
                        continue
                    break
                best = cost
                s.cut[0], s.cut[1], s.cut[2] = a, position, side
    return best


@inlined
def _try_children(
    t: Layout, c: Conditions, s: Scratch, part: Part, n: int, a: int, weight: float, sparing: bool
) -> tuple[float, float]:
    """Return the cost of attribute a's node cut into its children, and their rows to spare.

    Infinite where a child with rows does not hold.
    """
    attribute, box, first, code, left, whole = t.attribute, part.box, s.first, s.code, s.left, s.whole
    parent, half = t.node[box[a]["node"]], s.sensitive.size // 3
    _line_up(part, s, a)
    cost, rows, row, at = 0.0, 0.0, np.int64(0), first[a]
    for x in range(parent["child"], parent["last_child"]):
        node = t.node[t.child[x]]
        begin = row
        while at < first[a + 1] and code[at] < node["high"]:
            row += s.occurs[at]
            at += 1
        if row == begin:
            continue
        _clear(left, first[attribute.shape[0]], s.sensitive)
        n_left = _move(part, s, False, c.offset, begin, row)
        mass = side_mass(c, box, a, node["low"], node["high"])
        if n_left < c.fewest or not holds(c, n_left, s.sensitive[half : 2 * half], mass):
            return np.inf, 0.0
        if sparing:
            rows += spare(c, n_left, s.sensitive[half : 2 * half])
        position = box[a]["low"] + node["high"] - node["low"]  # the same width as the child
        n_right = n - n_left
        cost += _costs(
            s, False, attribute, box, first, code, left, whole, n_left, n_right, a, position, weight, np.inf
        )[0]
    return cost, rows


@borrowing
def _can_be_cut(t: Layout, c: Conditions, s: Scratch, box: np.ndarray, a: int) -> bool:
    """Say whether attribute a has two codes that occur, and children where it is cut into children."""
    if s.first[a + 1] - s.first[a] < 2 or held_back(t, c, box, a):
        return False
    return t.attribute[a]["root"] < 0 or t.node[box[a]["node"]]["child"] < t.node[box[a]["node"]]["last_child"]


@inlined
def _choose_sparing(
    t: Layout, c: Conditions, s: Scratch, part: Part, n: int, budget: int, weight: float, start: float
) -> bool:
    merit = -1.0
    for a in range(t.attribute.shape[0]):
        if not _can_be_cut(t, c, s, part.box, a):
            continue
        if t.attribute[a]["root"] < 0:
            merit = _sweep_sparing(t, c, s, part, n, a, budget, weight, start, merit)
            continue
        cost, rows = _try_children(t, c, s, part, n, a, weight, True)
        if cost < start and (start - cost) * rows > merit:
            merit = (start - cost) * rows
            s.cut[0], s.cut[1], s.cut[2] = a, -1, -1
    return merit >= 0.0


@inlined
def _choose_cheapest(
    t: Layout, c: Conditions, s: Scratch, part: Part, n: int, budget: int, weight: float, start: float
) -> bool:
    """Attributes that may have the cheapest cut come first, so that the others need not be swept.

    A bound is at hand where nothing is suppressed and labels are boxes: tight ones shrink with every cut.
    """
    q, best, bounded = t.attribute.shape[0], start, budget == 0
    least = np.full(q, np.inf)
    for a in range(q):
        bounded = bounded and t.attribute[a]["label"] == BOX
    for a in range(q):
        if _can_be_cut(t, c, s, part.box, a):
            least[a] = _least_cost(t, c, s, part.box, n, a, weight) if bounded else 0.0
    for _ in range(q):
        a = 0
        for b in range(1, q):
            if least[b] < least[a]:
                a = b
        if least[a] > best * (1.0 + TIED) or least[a] == np.inf:
            break
        least[a] = np.inf
        if t.attribute[a]["root"] < 0:
            best = _sweep_cuts(t, c, s, part, n, a, budget, weight, best, bounded)
            continue
        cost, _ = _try_children(t, c, s, part, n, a, weight, False)
        if cost < best or (cost == best and a < s.cut[0]):
            best = cost
            s.cut[0], s.cut[1], s.cut[2] = a, -1, -1
    return best < start


@inlined
def choose_best(
    t: Layout, c: Conditions, s: Scratch, part: Part, n: int, budget: int, weight: float, sparing: bool
) -> bool:
    """Write the cheapest allowed cut to `s.cut`; False where no allowed cut lowers the cost.

    `sparing`: the cut with the largest product of what it saves and the rows it leaves to spare.
    """
    first, sensitive, q = s.first, s.sensitive, t.attribute.shape[0]
    if s.moves.size == 0:
        count_codes(part.rows, part.weights, part.box, first, s.code, s.place, s.order, s.seen, s.occurs, s.whole)
        for at in range(sensitive.size // 3):
            sensitive[at] = 0
    for i in range(part.rows.shape[0] if c.offset.size > 1 else 0):
        add_sensitive(part.rows[i], q, part.weights[i], c.offset, sensitive, 0)
    for a in range(q):  # missing leaves first: once its rows are scattered over parts, it never can
        last = first[a + 1] - 1
        mixed = t.attribute[a]["missing"] and last > first[a] and s.code[last] == t.attribute[a]["codes"] - 1
        if mixed and t.attribute[a]["root"] < 0 and _sweep_cuts(t, c, s, part, n, a, 0, weight, np.inf, False) < np.inf:
            return True
    start, _ = _costs(
        s,
        False,
        t.attribute,
        part.box,
        first,
        s.code,
        s.whole,
        s.whole,
        n,
        0,
        np.int64(0),
        part.box[0]["high"],
        weight,
        np.inf,
    )
    s.cut[0] = -1
    if sparing:
        return _choose_sparing(t, c, s, part, n, budget, weight, start)
    return _choose_cheapest(t, c, s, part, n, budget, weight, start)
